/*
 * Moments of clamped rows. Means are exact to quadrature: one column in closed form, pairs by Gauss-Legendre
 * panels of one column with the other, given it, in closed form, a logistic response by panels of its linear
 * predictor. Covariances only weigh, so that a fixed set of nodes serves (error some per cent).
 */
#include <string.h>

#include "augment/regression.h"

enum { N_GAUSS = 10, MAX_PANELS = 32 };

static const double gauss_node[N_GAUSS / 2] = {0.14887433898163121, 0.43339539412924719, 0.67940956829902441,
                                               0.86506336668898451, 0.97390652851717172};
static const double gauss_weight[N_GAUSS / 2] = {
    0.29552422471475287, 0.26926671930999636, 0.21908636251598204, 0.14945134915058059, 0.06667134430868814};

/* ---- fixed nodes ---- */

static double quantile(double p) {
  double low = -9, high = 9;
  for (int i = 0; i < 60; i++) {
    double z = 0.5 * (low + high);
    *(0.5 * erfc(-z * 0.70710678118654752440) < p ? &low : &high) = z;
  }
  return 0.5 * (low + high);
}

/*
 * Half the nodes by an additive recurrence in powers of the generalised golden ratio, the root of x^(d + 1) =
 * x + 1; the other half mirrored. Each column is scaled to variance 1.
 */
void tacit_row_set_nodes(tacit_regression_t *r) {
  double ratio = 1.5, power = 1;
  for (int i = 0; i < 60; i++) {
    ratio = pow(1 + ratio, 1 / ((double)r->d + 1));
  }
  for (size_t j = 0; j < r->d; j++) {
    double square = 0;
    power /= ratio;
    for (size_t i = 0; i < TACIT_ROW_NODES / 2; i++) {
      double u = fmod(0.5 + power * (double)(i + 1), 1), z = quantile(fmin(fmax(u, 1e-4), 1 - 1e-4));
      r->nodes[2 * i * r->d + j] = z;
      r->nodes[(2 * i + 1) * r->d + j] = -z;
      square += 2 * z * z;
    }
    for (size_t i = 0; i < TACIT_ROW_NODES; i++) {
      r->nodes[i * r->d + j] *= sqrt(TACIT_ROW_NODES / square);
    }
  }
}

/* ---- moments of clamped rows ---- */

void tacit_row_set_distribution(tacit_regression_t *r, const double *parameters) {
  size_t d = r->d;
  for (size_t j = 0; j < d; j++) {
    const double *own = parameters + tacit_row_offset(j);
    r->mean[j] = own[0];
    for (size_t k = 0; k < d; k++) {
      r->factor[j * d + k] = 0;
    }
    for (size_t i = 0; i < j; i++) {
      r->mean[j] += own[1 + i] * r->mean[i];
      for (size_t k = 0; k <= i; k++) {
        r->factor[j * d + k] += own[1 + i] * r->factor[i * d + k];
      }
    }
    r->factor[j * d + j] = exp(own[1 + j]);
  }
}

static double covariance(const tacit_regression_t *r, size_t i, size_t j) {
  double sum = 0;
  for (size_t k = 0; k <= i && k <= j; k++) {
    sum += r->factor[i * r->d + k] * r->factor[j * r->d + k];
  }
  return sum;
}

/* E clamp(x), x ~ N(mean, sd^2); sd may be tiny. */
static double clamped_mean(double mean, double sd) {
  double a = (-1 - mean) / sd, b = (1 - mean) / sd, partial[2];
  if (!(sd > 1e-9)) {
    return tacit_row_clamp(mean);
  }
  tacit_normal_partial_moments(a, b, 2, partial);
  return mean * partial[0] + sd * partial[1] + 0.5 * erfc(b * 0.70710678118654752440) -
         0.5 * erfc(-a * 0.70710678118654752440);
}

/* Ends of panels in (-8.5, 8.5): where a column meets its bounds, and where the other's conditional mean
 * does. */
static size_t set_panels(const double *kinks, size_t n_kinks, double *ends) {
  const double reach = 8.5, widest = 3;
  double sorted[16];
  size_t n = 0, n_ends = 0;
  for (size_t i = 0; i < n_kinks; i++) {
    size_t at = n;
    if (!(fabs(kinks[i]) < reach)) {
      continue;
    }
    for (; at > 0 && sorted[at - 1] > kinks[i]; at--) {
      sorted[at] = sorted[at - 1];
    }
    sorted[at] = kinks[i];
    n++;
  }
  sorted[n++] = reach;
  ends[n_ends++] = -reach;
  for (size_t i = 0; i < n; i++) {
    double low = ends[n_ends - 1], pieces = ceil((sorted[i] - low) / widest);
    for (double k = 1; k <= pieces && n_ends < MAX_PANELS; k++) {
      ends[n_ends++] = k < pieces ? low + k * (sorted[i] - low) / pieces : sorted[i];
    }
  }
  return n_ends;
}

/* E clamp(w_i) clamp(w_j). */
static double clamped_product(const tacit_regression_t *r, size_t i, size_t j) {
  double sd = sqrt(covariance(r, i, i)), slope = covariance(r, i, j) / sd, mean_i = r->mean[i],
         mean_j = r->mean[j];
  double rest = sqrt(fmax(covariance(r, j, j) - slope * slope, 0)), sum = 0;
  double kinks[4] = {(-1 - mean_i) / sd, (1 - mean_i) / sd, (-1 - mean_j) / slope, (1 - mean_j) / slope},
         ends[MAX_PANELS];
  size_t n = set_panels(kinks, fabs(slope) > 1e-12 ? 4 : 2, ends);
  for (size_t p = 0; p + 1 < n; p++) {
    double middle = 0.5 * (ends[p] + ends[p + 1]), half = 0.5 * (ends[p + 1] - ends[p]);
    for (size_t k = 0; k < N_GAUSS; k++) {
      double u = middle + (k % 2 == 0 ? half : -half) * gauss_node[k / 2];
      double density = 0.39894228040143267794 * exp(-0.5 * u * u);
      sum += half * gauss_weight[k / 2] * density * tacit_row_clamp(mean_i + sd * u) *
             clamped_mean(mean_j + slope * u, rest);
    }
  }
  return sum;
}

/*
 * E (y - 1/2) and E (y - 1/2) clamp(w_j) of a logistic regression on the unclamped columns: its predictor is
 * normal, and w_j given it is too, with a clamped mean in closed form. Panels end where the logistic function
 * is steep.
 */
static void set_expected_response(tacit_regression_t *r, const double *coefficients) {
  double mean = coefficients[0], variance = 0, *along = r->work, *out = r->expected + tacit_row_offset(r->d);
  for (size_t i = 0; i < r->d; i++) {
    mean += coefficients[1 + i] * r->mean[i];
    along[i] = 0;
    for (size_t k = 0; k < r->d; k++) {
      along[i] += covariance(r, i, k) * coefficients[1 + k];
    }
    variance += along[i] * coefficients[1 + i];
  }
  double sd = sqrt(fmax(variance, 0)), at = -mean / sd;
  for (size_t j = 0; j <= r->d; j++) {
    double centre = j == 0 ? 1 : r->mean[j - 1], slope = j == 0 || !(sd > 1e-12) ? 0 : along[j - 1] / sd;
    double rest = j == 0 ? 0 : sqrt(fmax(covariance(r, j - 1, j - 1) - slope * slope, 0)), ends[MAX_PANELS];
    double kinks[7] = {at,          at - 3 / sd,           at + 3 / sd,         at - 9 / sd,
                       at + 9 / sd, (-1 - centre) / slope, (1 - centre) / slope};
    size_t n = set_panels(kinks, fabs(slope) > 1e-12 ? 7 : 5, ends);
    out[j] = 0;
    for (size_t p = 0; p + 1 < n; p++) {
      double middle = 0.5 * (ends[p] + ends[p + 1]), half = 0.5 * (ends[p + 1] - ends[p]);
      for (size_t k = 0; k < N_GAUSS; k++) {
        double u = middle + (k % 2 == 0 ? half : -half) * gauss_node[k / 2];
        double density = 0.39894228040143267794 * exp(-0.5 * u * u),
               value = j == 0 ? 1 : clamped_mean(centre + slope * u, rest);
        out[j] += half * gauss_weight[k / 2] * density * (tacit_logistic(mean + sd * u) - 0.5) * value;
      }
    }
  }
}

void tacit_row_set_expected(tacit_regression_t *r, const double *parameters) {
  size_t k = r->d;
  for (size_t i = 0; i < r->d; i++) {
    double moments[2];
    tacit_clamped_normal_moments(r->mean[i], sqrt(covariance(r, i, i)), -1, 1, 2, moments);
    r->expected[i] = moments[0];
    r->expected[k++] = moments[1];
    for (size_t j = i + 1; j < r->d; j++) {
      r->expected[k++] = clamped_product(r, i, j);
    }
  }
  if (r->is_logistic) {
    set_expected_response(r, parameters + tacit_row_offset(r->d));
  }
}

/* What the row of a node adds to the sums, its response by its mean; returns the response's variance. */
static double add_node(const tacit_regression_t *r, const double *node, const double *coefficients,
                       double *t) {
  size_t d = r->d, m = d;
  double row[64], eta = r->is_logistic ? coefficients[0] : 0;
  for (size_t j = 0; j < d; j++) {
    row[j] = r->mean[j];
    for (size_t k = 0; k <= j; k++) {
      row[j] += r->factor[j * d + k] * node[k];
    }
    eta += r->is_logistic ? coefficients[1 + j] * row[j] : 0;
    t[j] = row[j] = tacit_row_clamp(row[j]);
  }
  for (size_t j = 0; j < d; j++) {
    for (size_t k = j; k < d; k++) {
      t[m++] = row[j] * row[k];
    }
  }
  double p = tacit_logistic(eta);
  for (size_t j = 0; r->is_logistic && j <= d; j++) {
    t[m++] = (p - 0.5) * (j == 0 ? 1 : row[j - 1]);
  }
  return p * (1 - p);
}

/* spread += variance (1, columns) (1, columns)' for the response's sums. */
static void add_response_variance(tacit_regression_t *r, const double *columns, double variance) {
  size_t first = tacit_row_offset(r->d), q = r->q;
  for (size_t a = 0; a <= r->d; a++) {
    double left = variance * (a == 0 ? 1 : columns[a - 1]);
    for (size_t b = 0; b <= a; b++) {
      r->spread[(first + a) * q + first + b] += left * (b == 0 ? 1 : columns[b - 1]);
    }
  }
}

void tacit_row_set_spread(tacit_regression_t *r, const double *parameters) {
  size_t q = r->q;
  double *t = r->work;
  memset(r->spread, 0, q * q * sizeof *r->spread);
  memset(r->shifted, 0, q * sizeof *r->shifted);
  for (size_t i = 0; i < TACIT_ROW_NODES; i++) {
    double variance = add_node(r, r->nodes + i * r->d, parameters + tacit_row_offset(r->d), t);
    if (r->is_logistic) {
      add_response_variance(r, t, variance);
    }
    for (size_t a = 0; a < q; a++) {
      t[a] -= r->expected[a];
      r->shifted[a] += t[a];
      for (size_t b = 0; b <= a; b++) {
        r->spread[a * q + b] += t[a] * t[b];
      }
    }
  }
  for (size_t a = 0; a < q; a++) {
    for (size_t b = 0; b <= a; b++) {
      double mean_a = r->shifted[a] / TACIT_ROW_NODES, mean_b = r->shifted[b] / TACIT_ROW_NODES;
      r->spread[a * q + b] = r->spread[a * q + b] / TACIT_ROW_NODES - mean_a * mean_b;
    }
  }
}
