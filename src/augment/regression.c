/*
 * Linear regression from noisy sums of products of clamped columns, without latent records. A row w = (features, response) is
 * normal, each of its columns a regression on those before it (the response is the last one), so that theta has as many
 * numbers as there are sums: intercept, slopes and log sd of each column. By the central limit theorem the sums of n rows are
 * N(n m(theta), n V(theta)), m and V those of t(w), products of *clamped* columns [Bernstein2019, without their
 * assumption that nothing is clamped]; the noise is folded in exactly.
 *
 * m is exact to quadrature: one column in closed form, pairs by Gauss-Legendre panels of one column with the other, given it,
 * in closed form. V only weighs, so that a fixed set of nodes serves (error some per cent).
 */
#include <string.h>

#include "augment/augment_internal.h"

enum { N_NODES = 512, N_GAUSS = 10, MAX_PANELS = 32 };

static const double gauss_node[N_GAUSS / 2] = {0.14887433898163121, 0.43339539412924719, 0.67940956829902441,
                                               0.86506336668898451, 0.97390652851717172};
static const double gauss_weight[N_GAUSS / 2] = {0.29552422471475287, 0.26926671930999636, 0.21908636251598204,
                                                 0.14945134915058059, 0.06667134430868814};

typedef struct tacit_regression {
  size_t d, q;        /* columns; sums, and parameters */
  double *at, *trial; /* shape (q): parameters, column by column: intercept, slopes, log sd */
  double *step;       /* shape (q) */
  double *columns;    /* shape (q, q): directions of slices, the rows */
  double *nodes;      /* shape (N_NODES, d) */
  double *mean;       /* shape (d) */
  double *factor;     /* shape (d, d): lower triangular, covariance = factor factor' */
  double *expected;   /* shape (q) */
  double *spread;     /* shape (q, q), lower triangle */
  double *jacobian, *work, *shifted; /* shapes (q, q), (q), (q) */
} tacit_regression_t;

static size_t offset(size_t column) {
  return column * (column + 3) / 2;
}

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
 * Half the nodes by an additive recurrence in powers of the generalised golden ratio, the root of x^(d + 1) = x + 1; the
 * other half mirrored. Each column is scaled to variance 1.
 */
static void set_nodes(tacit_regression_t *r) {
  double ratio = 1.5, power = 1;
  for (int i = 0; i < 60; i++) {
    ratio = pow(1 + ratio, 1 / ((double)r->d + 1));
  }
  for (size_t j = 0; j < r->d; j++) {
    double square = 0;
    power /= ratio;
    for (size_t i = 0; i < N_NODES / 2; i++) {
      double u = fmod(0.5 + power * (double)(i + 1), 1), z = quantile(fmin(fmax(u, 1e-4), 1 - 1e-4));
      r->nodes[2 * i * r->d + j] = z;
      r->nodes[(2 * i + 1) * r->d + j] = -z;
      square += 2 * z * z;
    }
    for (size_t i = 0; i < N_NODES; i++) {
      r->nodes[i * r->d + j] *= sqrt(N_NODES / square);
    }
  }
}

/* ---- moments of clamped rows ---- */

/* Mean and Cholesky factor of an unclamped row. */
static void set_row_law(tacit_regression_t *r, const double *parameters) {
  size_t d = r->d;
  for (size_t j = 0; j < d; j++) {
    const double *own = parameters + offset(j);
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

static double clamp(double x) {
  return x < -1 ? -1 : x > 1 ? 1 : x;
}

/* E clamp(x), x ~ N(mean, sd^2); sd may be tiny. */
static double clamped_mean(double mean, double sd) {
  double a = (-1 - mean) / sd, b = (1 - mean) / sd, partial[2];
  if (!(sd > 1e-9)) {
    return clamp(mean);
  }
  tacit_normal_partial_moments(a, b, 2, partial);
  return mean * partial[0] + sd * partial[1] + 0.5 * erfc(b * 0.70710678118654752440) - 0.5 * erfc(-a * 0.70710678118654752440);
}

/* Ends of panels in (-8.5, 8.5): where a column meets its bounds, and where the other's conditional mean does. */
static size_t set_panels(const double *kinks, size_t n_kinks, double *ends) {
  const double reach = 8.5, widest = 3;
  double sorted[8];
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
  double sd = sqrt(covariance(r, i, i)), slope = covariance(r, i, j) / sd, mean_i = r->mean[i], mean_j = r->mean[j];
  double rest = sqrt(fmax(covariance(r, j, j) - slope * slope, 0)), sum = 0;
  double kinks[4] = {(-1 - mean_i) / sd, (1 - mean_i) / sd, (-1 - mean_j) / slope, (1 - mean_j) / slope}, ends[MAX_PANELS];
  size_t n = set_panels(kinks, fabs(slope) > 1e-12 ? 4 : 2, ends);
  for (size_t p = 0; p + 1 < n; p++) {
    double middle = 0.5 * (ends[p] + ends[p + 1]), half = 0.5 * (ends[p + 1] - ends[p]);
    for (size_t k = 0; k < N_GAUSS; k++) {
      double u = middle + (k % 2 == 0 ? half : -half) * gauss_node[k / 2];
      double density = 0.39894228040143267794 * exp(-0.5 * u * u);
      sum += half * gauss_weight[k / 2] * density * clamp(mean_i + sd * u) * clamped_mean(mean_j + slope * u, rest);
    }
  }
  return sum;
}

static void set_expected(tacit_regression_t *r) {
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
}

/* Lower triangle of the covariance of t(w), over the nodes. */
static void set_spread(tacit_regression_t *r) {
  size_t d = r->d, q = r->q;
  double *t = r->work, row[64];
  memset(r->spread, 0, q * q * sizeof *r->spread);
  memset(r->shifted, 0, q * sizeof *r->shifted);
  for (size_t i = 0; i < N_NODES; i++) {
    const double *node = r->nodes + i * d;
    for (size_t j = 0; j < d; j++) {
      row[j] = r->mean[j];
      for (size_t k = 0; k <= j; k++) {
        row[j] += r->factor[j * d + k] * node[k];
      }
      t[j] = row[j] = clamp(row[j]);
    }
    for (size_t j = 0, m = d; j < d; j++) {
      for (size_t k = j; k < d; k++) {
        t[m++] = row[j] * row[k];
      }
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
      double mean_a = r->shifted[a] / N_NODES, mean_b = r->shifted[b] / N_NODES;
      r->spread[a * q + b] = r->spread[a * q + b] / N_NODES - mean_a * mean_b;
    }
  }
}

/* ---- small dense algebra ---- */

/* matrix <- its Cholesky factor (lower triangle); false if it is not positive definite. */
static bool factorise(double *matrix, size_t n) {
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j <= i; j++) {
      double sum = matrix[i * n + j];
      for (size_t k = 0; k < j; k++) {
        sum -= matrix[i * n + k] * matrix[j * n + k];
      }
      if (i == j && !(sum > 0 && sum < INFINITY)) {
        return false;
      }
      matrix[i * n + j] = i == j ? sqrt(sum) : sum / matrix[j * n + j];
    }
  }
  return true;
}

/* x <- L^-1 x */
static void solve_lower(const double *factor, size_t n, double *x) {
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < i; k++) {
      x[i] -= factor[i * n + k] * x[k];
    }
    x[i] /= factor[i * n + i];
  }
}

/* x <- L'^-1 x */
static void solve_upper(const double *factor, size_t n, double *x) {
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; k++) {
      x[i] -= factor[k * n + i] * x[k];
    }
    x[i] /= factor[i * n + i];
  }
}

/* ---- the posterior ---- */

static double log_prior(const tacit_chain_t *chain, const double *parameters) {
  const tacit_latent_model_t *model = chain->model;
  double sum = 0;
  for (size_t j = 0; j < chain->regression->d; j++) {
    const double *own = parameters + offset(j);
    for (size_t i = 0; i <= j; i++) {
      double z = own[i] / model->coefficient_scale;
      sum -= 0.5 * z * z;
    }
    sum -= 2 * model->variance_shape * own[j + 1] + model->variance_scale * exp(-2 * own[j + 1]);
  }
  return sum;
}

/* Covariance of the released sums, factorised, into spread; false where it is not one. */
static bool set_release_law(const tacit_chain_t *chain, const double *parameters) {
  tacit_regression_t *r = chain->regression;
  set_row_law(r, parameters);
  set_expected(r);
  set_spread(r);
  for (size_t a = 0; a < r->q; a++) {
    for (size_t b = 0; b <= a; b++) {
      r->spread[a * r->q + b] *= (double)chain->n;
    }
    r->spread[a * r->q + a] += tacit_noise_variance(chain, a);
  }
  return factorise(r->spread, r->q);
}

static double log_posterior(const tacit_chain_t *chain, const double *parameters) {
  tacit_regression_t *r = chain->regression;
  for (size_t j = 0; j < r->d; j++) { /* beyond it nothing but the prior's far tail */
    if (!(fabs(parameters[offset(j) + j + 1]) < 12)) {
      return -INFINITY;
    }
  }
  if (!set_release_law(chain, parameters)) {
    return -INFINITY;
  }
  double sum = log_prior(chain, parameters), *e = r->work;
  for (size_t a = 0; a < r->q; a++) {
    e[a] = chain->values[a] - (double)chain->n * r->expected[a];
  }
  solve_lower(r->spread, r->q, e);
  for (size_t a = 0; a < r->q; a++) {
    sum -= 0.5 * e[a] * e[a] + log(r->spread[a * r->q + a]);
  }
  return isnan(sum) ? -INFINITY : sum;
}

/* ---- start: Gauss-Newton steps to about the mode, and slices along the axes of the curvature there ---- */

/* Parameters from means and second moments as if nothing were clamped, the noise met by a ridge. */
static void crude_start(const tacit_chain_t *chain, double *parameters) {
  tacit_regression_t *r = chain->regression;
  size_t d = r->d;
  double n = (double)chain->n, ridge = 1e-3, *matrix = r->spread;
  bool is_definite = false;
  for (; !is_definite; ridge *= 2) {
    for (size_t i = 0, k = d; i < d; i++) {
      for (size_t j = i; j < d; j++, k++) {
        matrix[j * d + i] = chain->values[k] / n - clamp(chain->values[i] / n) * clamp(chain->values[j] / n) + (i == j ? ridge : 0);
      }
    }
    is_definite = factorise(matrix, d);
  }
  for (size_t j = 0; j < d; j++) { /* row j of the factor is slopes times the rows before it, and its own sd */
    double *own = parameters + offset(j);
    own[0] = clamp(chain->values[j] / n);
    for (size_t i = j; i-- > 0;) {
      double sum = matrix[j * d + i];
      for (size_t k = i + 1; k < j; k++) {
        sum -= own[1 + k] * matrix[k * d + i];
      }
      own[1 + i] = fmin(fmax(sum / matrix[i * d + i], -3), 3);
    }
    for (size_t i = 0; i < j; i++) {
      own[0] -= own[1 + i] * clamp(chain->values[i] / n);
    }
    own[j + 1] = log(fmin(fmax(matrix[j * d + j], 0.02), 2));
  }
}

/* columns <- J' V^-1 J n^2 + prior precision, factorised; step <- the rise of the log posterior, by differences. */
static bool set_curvature(tacit_chain_t *chain, const double *parameters) {
  const double h = 1e-4;
  tacit_regression_t *r = chain->regression;
  size_t q = r->q;
  memcpy(r->trial, parameters, q * sizeof *r->trial);
  for (size_t p = 0; p < q; p++) {
    for (int side = -1; side <= 1; side += 2) {
      r->trial[p] = parameters[p] + side * h;
      double density = log_posterior(chain, r->trial);
      r->step[p] = (side < 0 ? 0 : r->step[p]) + side * density / (2 * h);
      for (size_t a = 0; a < q; a++) {
        double change = side * r->expected[a] * (double)chain->n / (2 * h);
        r->jacobian[p * q + a] = side < 0 ? change : r->jacobian[p * q + a] + change;
      }
    }
    r->trial[p] = parameters[p];
  }
  if (!set_release_law(chain, parameters)) {
    return false;
  }
  for (size_t p = 0; p < q; p++) {
    solve_lower(r->spread, q, r->jacobian + p * q);
  }
  for (size_t p = 0; p < q; p++) {
    for (size_t s = 0; s <= p; s++) {
      double sum = 0;
      for (size_t a = 0; a < q; a++) {
        sum += r->jacobian[p * q + a] * r->jacobian[s * q + a];
      }
      r->columns[p * q + s] = sum;
    }
  }
  for (size_t j = 0; j < r->d; j++) {
    double scale = chain->model->coefficient_scale, sd = exp(parameters[offset(j) + j + 1]);
    for (size_t i = 0; i <= j; i++) {
      r->columns[(offset(j) + i) * q + offset(j) + i] += 1 / (scale * scale);
    }
    size_t last = offset(j) + j + 1;
    r->columns[last * q + last] += 4 * chain->model->variance_scale / (sd * sd) + 1e-6;
  }
  return factorise(r->columns, q);
}

/* Towards the mode, never downwards. */
static void climb(tacit_chain_t *chain) {
  tacit_regression_t *r = chain->regression;
  double here = log_posterior(chain, r->at);
  for (int i = 0; i < 20 && set_curvature(chain, r->at); i++) {
    double length = 1, gained = 0;
    solve_lower(r->columns, r->q, r->step);
    solve_upper(r->columns, r->q, r->step);
    for (int halving = 0; halving < 8 && !(gained > 0); halving++, length *= 0.5) {
      for (size_t p = 0; p < r->q; p++) {
        r->trial[p] = r->at[p] + length * fmin(fmax(r->step[p], -1), 1);
      }
      gained = log_posterior(chain, r->trial) - here;
    }
    if (!(gained > 0)) {
      break;
    }
    memcpy(r->at, r->trial, r->q * sizeof *r->at);
    here += gained;
    if (gained < 1e-3) {
      break;
    }
  }
}

void tacit_regression_start(tacit_chain_t *chain) {
  tacit_regression_t *r = chain->regression;
  size_t q = r->q;
  crude_start(chain, r->at);
  climb(chain);
  bool has_curvature = set_curvature(chain, r->at);
  for (size_t p = 0; p < q; p++) { /* directions: rows p of L^-1, so that steps of 1 are posterior sds */
    memset(r->step, 0, q * sizeof *r->step);
    r->step[p] = has_curvature ? 1 : 0.1;
    if (has_curvature) {
      solve_upper(r->columns, q, r->step);
    }
    memcpy(r->jacobian + p * q, r->step, q * sizeof *r->step);
  }
  memcpy(r->columns, r->jacobian, q * q * sizeof *r->columns);
  memcpy(r->trial, r->at, q * sizeof *r->trial);
  for (size_t p = 0; p < q; p++) { /* overdispersed, if that is not outside of the prior's reach */
    double z = 1.5 * tacit_rng_normal(chain->rng);
    for (size_t s = 0; s < q; s++) {
      r->trial[s] += z * r->columns[p * q + s];
    }
  }
  if (log_posterior(chain, r->trial) > -INFINITY) {
    memcpy(r->at, r->trial, q * sizeof *r->at);
  }
}

/* ---- an iteration: slices along all directions ---- */

typedef struct line {
  const tacit_chain_t *chain;
  const double *direction;
} line_t;

static double along(void *user, double x) {
  const line_t *line = user;
  tacit_regression_t *r = line->chain->regression;
  for (size_t p = 0; p < r->q; p++) {
    r->trial[p] = r->at[p] + x * line->direction[p];
  }
  return log_posterior(line->chain, r->trial);
}

void tacit_regression_step(tacit_chain_t *chain) {
  tacit_regression_t *r = chain->regression;
  double log_at = log_posterior(chain, r->at);
  for (size_t p = 0; p < r->q; p++) {
    line_t line = {.chain = chain, .direction = r->columns + p * r->q};
    double width = tacit_rng_uniform(chain->rng) < 0.25 ? 12 : 3; /* some long ones, for tails */
    double x = tacit_slice(along, &line, 0, &log_at, width, chain->rng);
    for (size_t s = 0; s < r->q; s++) {
      r->at[s] += x * line.direction[s];
    }
  }
}

void tacit_regression_report(const tacit_chain_t *chain, double *reported) {
  const tacit_regression_t *r = chain->regression;
  const double *own = r->at + offset(r->d - 1);
  memcpy(reported, own, r->d * sizeof *reported);
  reported[r->d] = exp(own[r->d]);
}

double tacit_regression_log_prior(const tacit_chain_t *chain) {
  return log_prior(chain, chain->regression->at);
}

/* ---- memory ---- */

tacit_status_t tacit_regression_init(tacit_chain_t *chain, tacit_error_t *err) {
  tacit_regression_t *r = chain->regression = tacit_alloc_zero(1, sizeof *r);
  if (r == NULL) {
    return tacit_error_memory(err);
  }
  size_t d = chain->model->n_features + 1, q = offset(d);
  r->d = d;
  r->q = q;
  double **arrays[] = {&r->at, &r->trial, &r->step, &r->columns, &r->nodes, &r->mean, &r->factor, &r->expected, &r->spread,
                       &r->jacobian, &r->work, &r->shifted};
  size_t sizes[] = {q, q, q, q * q, N_NODES * d, d, d * d, q, q * q, q * q, q, q};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    *arrays[i] = tacit_alloc_zero(sizes[i], sizeof **arrays[i]);
    if (*arrays[i] == NULL) {
      return tacit_error_memory(err);
    }
  }
  set_nodes(r);
  return TACIT_OK;
}

void tacit_regression_clear(tacit_chain_t *chain) {
  tacit_regression_t *r = chain->regression;
  if (r == NULL) {
    return;
  }
  double *arrays[] = {r->at,       r->trial,  r->step,     r->columns, r->nodes, r->mean, r->factor,
                      r->expected, r->spread, r->jacobian, r->work,    r->shifted};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    tacit_free(arrays[i]);
  }
  tacit_free(r);
  chain->regression = NULL;
}

void tacit_regression_moments(const tacit_chain_t *chain, const double *parameters, double *expected) {
  set_row_law(chain->regression, parameters);
  set_expected(chain->regression);
  memcpy(expected, chain->regression->expected, chain->regression->q * sizeof *expected);
}
