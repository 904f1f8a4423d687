/* The shape of the features: mean and covariance, from two noisy matrices of second moments shrunk towards
 * public guesses. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "noise_aware/builder.h"
#include "noise_aware/schedule.h"

/* Symmetric matrix from entries of the upper triangle, row by row. */
static void unpack(size_t d, const double *entries, double *matrix) {
  for (size_t i = 0, k = 0; i < d; i++) {
    for (size_t j = i; j < d; j++, k++) {
      matrix[i * d + j] = matrix[j * d + i] = entries[k];
    }
  }
}

/* Median of the off-diagonal entries of a packed triangle. */
static double median_off_diagonal(const tacit_builder_t *b, const double *entries) {
  size_t n = 0;
  for (size_t i = 0, k = 0; i < b->d; i++) {
    for (size_t j = i; j < b->d; j++, k++) {
      if (i != j) {
        b->work[n++] = entries[k];
      }
    }
  }
  return tacit_median(n, b->work);
}

/*
 * Posterior mean and variance of one entry with a normal prior, given a released sum with noise of sd
 * `noise_sd`. What n may be off by scales all entries alike; here it is as much of each by itself.
 */
static void shrink(tacit_builder_t *b, size_t k, double prior_mean, double prior_sd, bool is_diagonal,
                   double noise_sd) {
  double root = is_diagonal ? 1 : sqrt(2); /* svec */
  double sd = noise_sd / root / b->count.n, trust = prior_sd * prior_sd / (prior_sd * prior_sd + sd * sd);
  b->moments[k] = prior_mean + trust * (b->released[k] / root / b->count.n - prior_mean);
  b->variances[k] = trust * sd * sd + pow(b->count.error * b->moments[k], 2);
}

/*
 * Of many features: entries from row `first` on, off the diagonal, released less `expected`, shrunk by how
 * much all of them vary beyond their noise, which tells where none by itself does. expected, rest: (d, d).
 */
static double shrink_together(tacit_builder_t *b, size_t first, const double *expected, double noise_sd,
                              double *rest) {
  size_t d = b->d, p = d - first;
  double n = b->count.n, entry_var = 0.5 * noise_sd * noise_sd / (n * n);
  for (size_t i = 0, k = 0; i < d; i++) {
    for (size_t j = i; j < d; j++, k++) {
      if (i >= first && i < j) {
        rest[(j - first) * p + i - first] = b->released[k] / sqrt(2) / n - expected[i * d + j];
      }
    }
  }
  tacit_shrinkage_t by = tacit_shrinkage(p, rest, entry_var);
  for (size_t i = 0, k = 0; i < d; i++) {
    for (size_t j = i; j < d; j++, k++) {
      if (i >= first && i < j) {
        b->moments[k] = expected[i * d + j] + tacit_shrink_entry(&by, rest[(j - first) * p + i - first]);
        b->variances[k] = by.variance + pow(b->count.error * b->moments[k], 2);
      }
    }
  }
  return by.variance;
}

/* First release: second moments of the features in the cube; the shape they suggest. */
static tacit_status_t learn_in_cube(tacit_builder_t *b, tacit_error_t *err) {
  size_t d = b->d, p = d - 1;
  double noise_sd, radius = sqrt((double)d) * (1 + 1e-12),
                   multiplier = schedule_multiplier(b->settings->rho, share_cube);
  tacit_status_t status = tacit_aware_release_moments(b->curator, b->settings, multiplier, NULL, &radius,
                                                      b->released, &noise_sd, err);
  if (status != TACIT_OK) {
    return status;
  }
  for (size_t i = 0, k = 0; i < d; i++) {
    for (size_t j = i; j < d; j++, k++) {
      bool is_square = i == j, is_mean = i == 0;
      shrink(b, k, is_square ? 1.0 / 3 : 0, is_square ? 0.25 : is_mean ? 0.5 : 0.3, is_square, noise_sd);
      if (is_square && (i == 0 || b->shape.is_two_valued[i - 1])) { /* 1 for every record, publicly */
        b->moments[k] = 1;
        b->variances[k] = 0;
      }
    }
  }
  b->s->mean_noise = noise_sd / sqrt(2) / b->count.n;
  double *second = b->metric;
  if (b->s->is_wide) {
    for (size_t i = 0; i < d * d; i++) {
      second[i] = b->moments[i / d] * b->moments[i % d]; /* the first row: means */
    }
    (void)shrink_together(b, 1, second, noise_sd, b->inverse);
  }
  unpack(d, b->moments, second);
  tacit_shape_from(&b->shape, second);
  double noise = 0.5 * sqrt(median_off_diagonal(b, b->variances) * (double)p);
  tacit_raise_eigenvalues(p, b->shape.cov, fmin(0.3, fmax(3e-4, noise)), b->work);
  return TACIT_OK;
}

tacit_status_t tacit_builder_factorise(tacit_builder_t *b, tacit_error_t *err) {
  tacit_second_moments(&b->shape, b->metric);
  if (!tacit_cholesky(b->d, b->metric)) {
    return tacit_error_set(
        err, TACIT_ERR_NUMERIC, "moments",
        "the noisy second moments could not be made a covariance matrix; this should not happen, please "
        "report it");
  }
  tacit_invert_lower(b->d, b->metric, b->inverse);
  return TACIT_OK;
}

void tacit_builder_fill_products(tacit_builder_t *b) {
  tacit_surrogate_t *s = b->s;
  double row[TACIT_NOISE_AWARE_MAX_FEATURES], *many = b->products;
  memset(b->average, 0, b->n_moments * sizeof *b->average);
  for (size_t r = 0; r < s->n_rows; r++) {
    double *product =
        s->is_wide ? many : many + r * b->n_moments; /* of many features the average alone is wanted */
    tacit_weigh_row(b->d, b->inverse, s->x + r * b->d, b->radius, row);
    for (size_t i = 0, k = 0; i < b->d; i++) {
      for (size_t j = i; j < b->d; j++, k++) {
        product[k] = row[i] * row[j];
        b->average[k] += s->weight[r] * product[k];
      }
    }
  }
}

/* rest <- what was released less what is expected, an entry of a symmetric matrix each. */
static void fill_rest(const tacit_builder_t *b, double *rest) {
  size_t d = b->d;
  for (size_t i = 0, k = 0; i < d; i++) {
    for (size_t j = i; j < d; j++, k++) {
      double entry = b->released[k] / (i == j ? 1 : sqrt(2)) / b->count.n;
      rest[i * d + j] = rest[j * d + i] = entry - b->average[k];
    }
  }
}

/* How many records have a rare value is seen along the rows that have it, however short these are: it is
 * taken as released, rather than shrunk as what is like the rest of it. */
static tacit_status_t expect_rare_values(tacit_builder_t *b, tacit_error_t *err) {
  const tacit_surrogate_t *s = b->s;
  size_t d = b->d, n = s->n_rows;
  const tacit_rows_t rows = {b->settings, n, d, d, 1, s->x, s->weight};
  bool *is_in = tacit_alloc(n, sizeof *is_in);
  double *rest = tacit_alloc(2 * d * d, sizeof *rest), sum[TACIT_NOISE_AWARE_MAX_FEATURES],
         row[TACIT_NOISE_AWARE_MAX_FEATURES], *expected = rest != NULL ? rest + d * d : NULL;
  bool ok = is_in != NULL && rest != NULL;
  if (ok) {
    fill_rest(b, rest);
    unpack(d, b->average, expected);
  }
  for (size_t g = 0; g < 2 * d && ok; g++) {
    if (!tacit_rare_rows(&rows, g, is_in)) {
      continue;
    }
    memset(sum, 0, d * sizeof *sum);
    for (size_t k = 0; k < n; k++) {
      if (!is_in[k]) {
        continue;
      }
      (void)tacit_weigh_row(d, b->inverse, s->x + k * d, b->radius, row);
      for (size_t i = 0; i < d; i++) {
        sum[i] += s->weight[k] * row[i];
      }
    }
    tacit_take_along(d, sum, rest, expected);
  }
  for (size_t i = 0, k = 0; i < d && ok; i++) {
    for (size_t j = i; j < d; j++, k++) {
      b->average[k] = expected[i * d + j];
    }
  }
  tacit_free(is_in);
  tacit_free(rest);
  return ok ? TACIT_OK : tacit_error_memory(err);
}

/*
 * turn <- T, lower triangular: T A T' = sum omega z z', the second moments of the pseudo-rows in the metric,
 * A those of rows shortened to the radius, of which was released. work: 3 d^2. False: there is none.
 */
static bool fill_turn(const tacit_builder_t *b, double *turn, double *work) {
  const tacit_surrogate_t *s = b->s;
  size_t d = b->d;
  double *full = work, *shortened = full + d * d, *inverse = shortened + d * d,
         row[TACIT_NOISE_AWARE_MAX_FEATURES];
  memset(full, 0, d * d * sizeof *full);
  for (size_t k = 0; k < s->n_rows; k++) {
    (void)tacit_weigh_row(d, b->inverse, s->x + k * d, INFINITY, row);
    for (size_t i = 0; i < d; i++) {
      for (size_t j = 0; j < d; j++) {
        full[i * d + j] += s->weight[k] * row[i] * row[j];
      }
    }
  }
  unpack(d, b->average, shortened);
  if (!tacit_cholesky(d, full) || !tacit_cholesky(d, shortened)) {
    return false;
  }
  tacit_invert_lower(d, shortened, inverse);
  for (size_t i = 0; i < d * d; i++) {
    full[i] = i % d > i / d ? 0 : full[i];
  }
  tacit_multiply(d, d, d, full, inverse, turn);
  return true;
}

/* matrix <- a matrix a' */
static void act(size_t d, const double *a, double *matrix, double *work) {
  tacit_multiply(d, d, d, a, matrix, work);
  for (size_t i = 0; i < d; i++) {
    for (size_t j = 0; j < d; j++) {
      matrix[i * d + j] = tacit_dot(d, work + i * d, a + j * d);
    }
  }
}

/* The least eigenvalue of the release over the floor below which noise is all that there is. */
static void look_at_eigenvalues(tacit_builder_t *b, const double *matrix, double floor) {
  size_t d = b->d;
  double *values = b->work + 2 * d * d;
  memcpy(b->work, matrix, d * d * sizeof *matrix);
  tacit_eigen(d, b->work, values, b->work + d * d);
  b->s->eigenvalue = INFINITY;
  for (size_t i = 0; i < d; i++) {
    b->s->eigenvalue = fmin(b->s->eigenvalue, values[i] / floor);
  }
}

/* b->released, in the metric -> moments and variances, and a better shape. turn: (d, d), or NULL. */
static void take_whitened(tacit_builder_t *b, double noise_sd, const double *turn) {
  size_t d = b->d;
  for (size_t i = 0, k = 0; i < d; i++) {
    for (size_t j = i; j < d; j++, k++) {
      shrink(b, k, b->average[k], i == j ? 0.6 : 0.4, i == j, noise_sd);
    }
  }
  double *matrix = b->gram, *product = matrix + d * d; /* not in use yet */
  if (b->s->is_wide) {
    unpack(d, b->average, matrix);
    b->s->entry_variance = shrink_together(b, 0, matrix, noise_sd, product);
  }
  unpack(d, b->moments, matrix);
  double noise = 0.5 * sqrt(median_off_diagonal(b, b->variances) * (double)d);
  double floor = fmax(0.02, fmin(0.5, noise));
  look_at_eigenvalues(b, matrix, floor);
  if (turn != NULL) {
    act(d, turn, matrix, product);
  }
  tacit_raise_eigenvalues(d, matrix, floor, b->work);
  act(d, b->metric, matrix, product);
  tacit_shape_from(&b->shape, matrix);
  tacit_raise_eigenvalues(b->d - 1, b->shape.cov, 1e-6, b->work);
}

/* The same where no calibration follows, which would mend what the shortening of rows did. */
static tacit_status_t take_whitened_of_many(tacit_builder_t *b, double noise_sd, tacit_error_t *err) {
  double *memory = tacit_alloc(4 * b->d * b->d, sizeof *memory);
  if (memory == NULL) {
    return tacit_error_memory(err);
  }
  bool has_turn = fill_turn(b, memory, memory + b->d * b->d);
  tacit_status_t status = expect_rare_values(b, err);
  if (status == TACIT_OK) {
    take_whitened(b, noise_sd, has_turn ? memory : NULL);
  }
  tacit_free(memory);
  return status;
}

/* Second release: second moments in the whitened metric, shrunk to those of the pseudo-rows; a better shape.
 */
static tacit_status_t learn_whitened(tacit_builder_t *b, tacit_error_t *err) {
  size_t d = b->d;
  double noise_sd, multiplier = schedule_multiplier(b->settings->rho, share_whitened);
  tacit_status_t status = tacit_builder_populate(b, err);
  TACIT_THEN(status, tacit_builder_factorise(b, err));
  if (status != TACIT_OK) {
    return status;
  }
  b->radius = tacit_matrix_radius(d, b->inverse, b->count.n, multiplier);
  status = tacit_aware_release_moments(b->curator, b->settings, multiplier, b->inverse, &b->radius,
                                       b->released, &noise_sd, err);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_builder_fill_products(b);
  if (b->s->is_wide) {
    return take_whitened_of_many(b, noise_sd, err);
  }
  take_whitened(b, noise_sd, NULL);
  return TACIT_OK;
}

tacit_status_t tacit_builder_learn(tacit_builder_t *b, tacit_error_t *err) {
  tacit_status_t status = tacit_aware_may_start(b->settings, err);
  TACIT_THEN(status, learn_in_cube(b, err));
  TACIT_THEN(status, tacit_aware_may_start(b->settings, err));
  return status == TACIT_OK ? learn_whitened(b, err) : status;
}
