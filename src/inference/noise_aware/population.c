/* Pseudo-rows with given moments: the public stand-in for the features. */
#include <math.h>
#include <string.h>

#include "noise_aware/noise_aware_internal.h"

static const double max_mean = 0.98, max_two_valued_mean = 0.999;
static const double max_latent_correlation = 0.98;
enum { MOST_EACH = 4 }; /* of n_each */

static double normal_cdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752); }

static double normal_density(double x) { return 0.3989422804014327 * exp(-0.5 * x * x); }

/* Inverse of normal_cdf for probabilities in [1e-4, 1 - 1e-4]; Newton's method approaches from the side of 0,
 * where it started. */
static double normal_quantile(double probability) {
  double x = 0;
  for (int i = 0; i < 40; i++) {
    x -= (normal_cdf(x) - probability) / normal_density(x);
  }
  return x;
}

static double clamp(double x, double bound) { return fmax(fmin(x, bound), -bound); }

static bool is_product(const tacit_shape_t *shape, size_t j) {
  return shape->makeup != NULL && shape->makeup[j].first > 0;
}

bool tacit_shape_is_two_valued(const tacit_shape_t *shape, size_t j) {
  return shape->is_two_valued[j] && !is_product(shape, j);
}

/* Do columns j and k stand for levels of one factor? */
static bool are_levels(const tacit_shape_t *shape, size_t j, size_t k) {
  return shape->makeup != NULL && shape->makeup[j].factor > 0 &&
         shape->makeup[j].factor == shape->makeup[k].factor;
}

/*
 * A column that has two values is +1 where its latent normal is above -threshold and no level before it is +1
 * already: of the share `left` of rows. Levels' latent normals are independent, so that a covariance with
 * theirs becomes one with the levels' by a lower triangular matrix T: level j moves by 2 left_j phi_j with
 * its own, and by -2 P_j phi_k / (1 - share_k) with that of a level k before it, which leaves it fewer rows,
 * P_j = left_j share_j. Any other column moves by its sd with its own alone.
 */
typedef struct latent {
  double *threshold, *share, *left; /* (p) each; share: of rows that are left */
  double *correlation;              /* (p, p), then its lower factor */
  double *work;                     /* 2 p^2 + p */
} latent_t;

static void place_thresholds(const tacit_shape_t *shape, latent_t *of) {
  double least = 0.5 - 0.5 * max_two_valued_mean;
  for (size_t j = 0; j < shape->p; j++) {
    double left = 1;
    for (size_t k = 0; k < j; k++) {
      left -= are_levels(shape, j, k) ? of->left[k] * of->share[k] : 0;
    }
    of->left[j] = fmax(left, least);
    of->share[j] = fmin(fmax((0.5 + 0.5 * shape->mean[j]) / of->left[j], least), 1 - least);
    of->threshold[j] = tacit_shape_is_two_valued(shape, j) ? normal_quantile(of->share[j]) : 0;
  }
}

/* T_jk, k <= j. */
static double move(const tacit_shape_t *shape, const latent_t *of, size_t j, size_t k) {
  if (!tacit_shape_is_two_valued(shape, j)) {
    return k == j ? sqrt(shape->cov[j * shape->p + j]) : 0;
  }
  double density = 2 * of->left[j] * normal_density(of->threshold[k]);
  return k == j ? density : are_levels(shape, j, k) ? -density * of->share[j] / (1 - of->share[k]) : 0;
}

/* correlation <- T^-1 cov T^-T, made a matrix of correlations. */
static void latent_correlations(const tacit_shape_t *shape, latent_t *of) {
  size_t p = shape->p;
  double *latent = of->correlation, *scale = of->work + 2 * p * p;
  memcpy(latent, shape->cov, p * p * sizeof *latent);
  for (int side = 0; side < 2; side++) {
    size_t along = side == 0 ? 1 : p, across = side == 0 ? p : 1;
    for (size_t j = 0; j < p; j++) {
      for (size_t k = 0; k <= j; k++) {
        double by = k == j || are_levels(shape, j, k) ? move(shape, of, j, k) : 0;
        for (size_t i = 0; i < p && by != 0; i++) {
          double *value = &latent[j * across + i * along];
          *value = k == j ? *value / by : *value - by * latent[k * across + i * along];
        }
      }
    }
  }
  for (size_t i = 0; i < p; i++) {
    for (size_t j = 0; j < p; j++) {
      bool is_independent = are_levels(shape, i, j) || is_product(shape, i) || is_product(shape, j);
      latent[i * p + j] = i == j ? 1 : is_independent ? 0 : clamp(latent[i * p + j], max_latent_correlation);
    }
  }
  tacit_raise_eigenvalues(p, latent, 1e-3, of->work);
  for (size_t i = 0; i < p; i++) {
    scale[i] = 1 / sqrt(latent[i * p + i]);
  }
  for (size_t i = 0; i < p * p; i++) {
    latent[i] *= scale[i / p] * scale[i % p];
  }
}

static bool is_taken(const tacit_shape_t *shape, size_t j, const double *row) {
  bool is = false;
  for (size_t k = 0; k < j; k++) {
    is = is || (are_levels(shape, j, k) && row[k + 1] > 0);
  }
  return is;
}

/* Keep the n largest of what is offered, in descending order. */
static void offer(double value, size_t n, double *largest) {
  for (size_t i = 0; i < n; i++) {
    if (value > largest[i]) {
      double other = largest[i];
      largest[i] = value;
      value = other;
    }
  }
}

/* A threshold by which n_each rows at least have each value, in column j of latent normals. */
static double allow_for_rare(const tacit_shape_t *shape, size_t j, size_t n, const double *rows,
                             double threshold) {
  size_t each = shape->n_each < MOST_EACH ? shape->n_each : MOST_EACH, n_free = 0;
  double high[MOST_EACH + 1], low[MOST_EACH + 1];
  for (size_t i = 0; i <= MOST_EACH; i++) {
    high[i] = low[i] = -INFINITY;
  }
  for (size_t k = 0; k < n; k++) {
    const double *row = rows + k * (shape->p + 1);
    if (!is_taken(shape, j, row)) {
      offer(row[j + 1], each + 1, high);
      offer(-row[j + 1], each + 1, low);
      n_free++;
    }
  }
  if (each == 0 || n_free <= 2 * each) {
    return threshold;
  }
  threshold = fmax(threshold, -0.5 * (high[each - 1] + high[each]));
  return fmin(threshold, 0.5 * (low[each - 1] + low[each]));
}

/* Column j of rows whose columns before it are there. */
static void fill_column(const tacit_shape_t *shape, const latent_t *of, size_t j, size_t n,
                        const double *normals, double *rows) {
  size_t p = shape->p;
  for (size_t k = 0; k < n; k++) {
    double *row = rows + k * (p + 1);
    if (is_product(shape, j)) {
      tacit_feature_makeup_t m = shape->makeup[j], a = shape->makeup[m.first - 1],
                             b = shape->makeup[m.second - 1];
      row[j + 1] = clamp(
          ((a.centre + a.half * row[m.first]) * (b.centre + b.half * row[m.second]) - m.centre) / m.half, 1);
    } else {
      row[j + 1] = tacit_dot(j + 1, of->correlation + j * p, normals + k * p);
    }
  }
  if (is_product(shape, j)) {
    return;
  }
  double threshold = shape->is_two_valued[j] ? allow_for_rare(shape, j, n, rows, of->threshold[j]) : 0;
  for (size_t k = 0; k < n; k++) {
    double *row = rows + k * (p + 1), g = row[j + 1];
    row[j + 1] = !shape->is_two_valued[j] ? clamp(shape->mean[j] + sqrt(shape->cov[j * p + j]) * g, 1)
                 : g + threshold > 0 && !is_taken(shape, j, row) ? 1
                                                                 : -1;
  }
}

void tacit_population(const tacit_shape_t *shape, size_t n, const double *normals, double *rows,
                      double *work) {
  size_t p = shape->p;
  latent_t latent = {.correlation = work, .threshold = work + p * p};
  latent.share = latent.threshold + p;
  latent.left = latent.share + p;
  latent.work = latent.left + p;
  place_thresholds(shape, &latent);
  latent_correlations(shape, &latent);
  if (!tacit_cholesky(p, latent.correlation)) { /* eigenvalues were raised, and a scaling keeps a matrix
                                                   positive: does not happen */
    for (size_t i = 0; i < p * p; i++) {
      latent.correlation[i] = i / p == i % p;
    }
  }
  for (size_t k = 0; k < n; k++) {
    rows[k * (p + 1)] = 1;
  }
  for (size_t j = 0; j < p; j++) {
    fill_column(shape, &latent, j, n, normals, rows);
  }
}

void tacit_second_moments(const tacit_shape_t *shape, double *second) {
  size_t p = shape->p, d = p + 1;
  second[0] = 1;
  for (size_t i = 0; i < p; i++) {
    second[i + 1] = second[(i + 1) * d] = shape->mean[i];
    for (size_t j = 0; j < p; j++) {
      second[(i + 1) * d + j + 1] = shape->cov[i * p + j] + shape->mean[i] * shape->mean[j];
    }
  }
}

void tacit_shape_from(tacit_shape_t *shape, const double *second) {
  size_t p = shape->p, d = p + 1;
  for (size_t i = 0; i < p * p; i++) { /* of means as they are: clamped ones could leave no covariance */
    double mean_i = second[i / p + 1] / second[0], mean_j = second[i % p + 1] / second[0];
    shape->cov[i] = second[(i / p + 1) * d + i % p + 1] / second[0] - mean_i * mean_j;
  }
  for (size_t i = 0; i < p; i++) {
    bool is_two_valued = shape->is_two_valued != NULL && shape->is_two_valued[i];
    shape->mean[i] = clamp(second[i + 1] / second[0], is_two_valued ? max_two_valued_mean : max_mean);
  }
}

const double tacit_rare_share = 0.05;

/* Has row k value +1 of feature j; or none of the levels of the factor whose first feature is j? */
static bool has_value(const tacit_rows_t *rows, size_t k, size_t j, bool is_of_none) {
  const tacit_feature_makeup_t *makeup = rows->settings->makeup;
  const double *row = rows->x + k * rows->by_row;
  if (!is_of_none) {
    return row[j * rows->by_feature] > 0;
  }
  bool has_none = true;
  for (size_t i = 1; i < rows->d; i++) {
    has_none = has_none && !(makeup[i].factor == j && row[i * rows->by_feature] > 0);
  }
  return has_none;
}

bool tacit_rare_rows(const tacit_rows_t *rows, size_t g, bool *is_in) {
  const tacit_noise_aware_settings_t *s = rows->settings;
  bool is_of_none = g >= rows->d;
  size_t j = is_of_none ? g - rows->d : g;
  double share = 0;
  if (j == 0 || s->is_two_valued == NULL || !s->is_two_valued[j] ||
      (is_of_none && (s->makeup == NULL || s->makeup[j].factor != j))) {
    return false;
  }
  for (size_t k = 0; k < rows->n; k++) {
    is_in[k] = has_value(rows, k, j, is_of_none);
    share += is_in[k] ? rows->weight[k] : 0;
  }
  for (size_t k = 0; k < rows->n && share > 0.5; k++) {
    is_in[k] = !is_in[k];
  }
  share = fmin(share, 1 - share);
  return share > 0 && share < tacit_rare_share;
}
