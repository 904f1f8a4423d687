/* Weighted pseudo-rows that have the released moments, and what those leave uncertain. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "noise_aware/builder.h"
#include "noise_aware/schedule.h"

enum { MIN_ROWS = 512, N_CALIBRATIONS = 3, ROWS_A_FEATURE = 40, N_EACH = 3, N_SWEEPS = 8 };

static const double least_share = 5e-4; /* of records without any of a factor's levels */

/* Weights of the rows that are in, and of others, so that their sums are `share` and 1 - share. */
static void weigh_rows(tacit_surrogate_t *s, const bool *is_in, double share) {
  double total = 0, in = 0;
  for (size_t k = 0; k < s->n_rows; k++) {
    total += s->weight[k];
    in += is_in[k] ? s->weight[k] : 0;
  }
  for (size_t k = 0; k < s->n_rows && in > 0 && in < total; k++) {
    s->weight[k] *= is_in[k] ? share / in : (1 - share) / (total - in);
  }
}

/* The share of records with the value of group g (tacit_rare_rows()), as released. */
static double share_of(const tacit_builder_t *b, size_t g) {
  const tacit_shape_t *shape = &b->shape;
  if (g < b->d) {
    double share = 0.5 + 0.5 * shape->mean[g - 1];
    return fmin(share, 1 - share);
  }
  double none = 1;
  for (size_t j = 0; j < shape->p; j++) {
    none -= shape->makeup[j].factor == g - b->d ? 0.5 + 0.5 * shape->mean[j] : 0;
  }
  return fmin(fmax(none, least_share), 1 - least_share);
}

/* Weights: one for all rows, but those with a rare value weigh what was released, which in few rows their
 * number does not tell; of several such values by turns [Deming1940]. */
static tacit_status_t weigh_rare_values(const tacit_builder_t *b, tacit_error_t *err) {
  tacit_surrogate_t *s = b->s;
  const tacit_rows_t rows = {b->settings, s->n_rows, b->d, b->d, 1, s->x, s->weight};
  bool *is_in = tacit_alloc(s->n_rows, sizeof *is_in);
  if (is_in == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t k = 0; k < s->n_rows; k++) {
    s->weight[k] = 1 / (double)s->n_rows;
  }
  for (size_t i = 0; i < 2 * b->d * N_SWEEPS; i++) {
    size_t g = i % (2 * b->d);
    bool is_asked = g >= b->d || (g > 0 && tacit_shape_is_two_valued(&b->shape, g - 1));
    if (is_asked && tacit_rare_rows(&rows, g, is_in)) {
      weigh_rows(s, is_in, share_of(b, g));
    }
  }
  tacit_free(is_in);
  return TACIT_OK;
}

tacit_status_t tacit_builder_populate(tacit_builder_t *b, tacit_error_t *err) {
  tacit_population(&b->shape, b->s->n_rows, b->normals, b->s->x, b->work);
  return weigh_rare_values(b, err);
}

/* gram <- covariance of the products under the weights; fresh averages. */
static void fill_gram(tacit_builder_t *b) {
  size_t m = b->n_moments;
  const tacit_surrogate_t *s = b->s;
  memset(b->average, 0, m * sizeof *b->average);
  memset(b->gram, 0, m * m * sizeof *b->gram);
  for (size_t r = 0; r < s->n_rows; r++) {
    for (size_t i = 0; i < m; i++) {
      b->average[i] += s->weight[r] * b->products[r * m + i];
    }
  }
  for (size_t r = 0; r < s->n_rows; r++) {
    const double *product = b->products + r * m;
    for (size_t i = 0; i < m; i++) {
      double weighted = s->weight[r] * (product[i] - b->average[i]);
      for (size_t j = 0; j <= i; j++) {
        b->gram[i * m + j] += weighted * (product[j] - b->average[j]);
      }
    }
  }
}

/*
 * One round of regression calibration [Deville1992] of the weighted average of the products to their
 * posterior means, with their variances as ridge; weights stay positive.
 */
static void calibrate(tacit_builder_t *b) {
  size_t m = b->n_moments;
  tacit_surrogate_t *s = b->s;
  double *slope = b->work, total = 0, trace = 0;
  fill_gram(b);
  for (size_t i = 0; i < m; i++) {
    trace += b->gram[i * m + i];
  }
  for (size_t i = 0; i < m; i++) {
    b->gram[i * m + i] += b->variances[i] + 1e-9 * trace + 1e-12;
    slope[i] = b->moments[i] - b->average[i];
  }
  if (!tacit_cholesky(m, b->gram)) {
    return; /* the weights stay as they are, and the error of the averages is carried on by basis_shift */
  }
  tacit_solve_lower(m, b->gram, slope);
  tacit_solve_upper(m, b->gram, slope);
  double constant = tacit_dot(m, slope, b->average);
  for (size_t r = 0; r < s->n_rows; r++) {
    double factor = 1 + tacit_dot(m, slope, b->products + r * m) - constant;
    s->weight[r] = fmax(s->weight[r] * fmax(0.1, fmin(4, factor)), 0.05 / (double)s->n_rows);
    total += s->weight[r];
  }
  for (size_t r = 0; r < s->n_rows; r++) {
    s->weight[r] /= total;
  }
}

/*
 * Cholesky factor of gram with pivoting, stopped where the products that are left are combinations of those
 * before to within 1e-4 of their variance (the square of a +-1 feature is constant); returns the rank. In the
 * upper left of gram: the lower factor; order: the products taken.
 */
static size_t pivoted_factor(tacit_builder_t *b, size_t *order) {
  size_t m = b->n_moments;
  double *gram = b->gram, *left = b->work;
  for (size_t i = 0; i < m; i++) {
    order[i] = i;
    left[i] = gram[i * m + i];
    for (size_t j = 0; j < i; j++) {
      gram[j * m + i] = gram[i * m + j];
    }
  }
  for (size_t k = 0; k < m; k++) {
    size_t best = k;
    for (size_t i = k + 1; i < m; i++) {
      best = left[i] > left[best] ? i : best;
    }
    if (!(left[best] > 1e-4 * left[0] && left[best] > 1e-10)) { /* left[0]: the largest variance of all */
      return k;
    }
    for (size_t i = 0; i < m;
         i++) { /* exchange rows, then columns, of what is left and of the factor so far */
      double swapped = gram[k * m + i];
      gram[k * m + i] = gram[best * m + i];
      gram[best * m + i] = swapped;
    }
    for (size_t i = k; i < m; i++) {
      double swapped = gram[i * m + k];
      gram[i * m + k] = gram[i * m + best];
      gram[i * m + best] = swapped;
    }
    size_t index = order[k];
    double variance = left[k];
    order[k] = order[best];
    order[best] = index;
    left[k] = left[best];
    left[best] = variance;
    double pivot = sqrt(left[k]);
    gram[k * m + k] = pivot;
    for (size_t i = k + 1; i < m; i++) {
      gram[i * m + k] = (gram[i * m + k] - tacit_dot(k, gram + i * m, gram + k * m)) / pivot;
      left[i] -= gram[i * m + k] * gram[i * m + k];
    }
  }
  return m;
}

/*
 * basis_cov <- V (I + V)^-1 and basis_shift <- (I + V)^-1 e for the noise V and the error e in coordinates of
 * the basis: a standard normal prior on the mean of each coordinate, which has variance 1 in the population.
 * It matters only in directions that the pseudo-rows hardly fill.
 */
static bool regularise(tacit_surrogate_t *s, double *noise, double *work) {
  size_t r = s->n_basis;
  memcpy(work, noise, r * r * sizeof *work);
  for (size_t i = 0; i < r; i++) {
    work[i * r + i] += 1;
  }
  if (!tacit_cholesky(r, work)) {
    return false;
  }
  tacit_solve_lower(r, work, s->basis_shift);
  tacit_solve_upper(r, work, s->basis_shift);
  for (size_t i = 0; i < r; i++) { /* V is symmetric and commutes with (I + V)^-1 */
    memcpy(s->basis_cov + i * r, noise + i * r, r * sizeof *noise);
    tacit_solve_lower(r, work, s->basis_cov + i * r);
    tacit_solve_upper(r, work, s->basis_cov + i * r);
  }
  return true;
}

/* The basis Q of centred products, orthonormal under the weights; V_Q and e_Q. */
static tacit_status_t make_basis(tacit_builder_t *b, tacit_error_t *err) {
  tacit_surrogate_t *s = b->s;
  size_t m = b->n_moments, *order = tacit_alloc(m, sizeof *order);
  if (order == NULL) {
    return tacit_error_memory(err);
  }
  fill_gram(b);
  size_t r = s->n_basis = pivoted_factor(b, order);
  double *factor = tacit_alloc_zero(3 * r * r, sizeof *factor);
  s->basis = tacit_alloc(s->n_rows * r, sizeof *s->basis);
  s->basis_cov = tacit_alloc(r * r, sizeof *s->basis_cov);
  s->basis_shift = tacit_alloc(r, sizeof *s->basis_shift);
  bool ok = factor != NULL && s->basis != NULL && s->basis_cov != NULL && s->basis_shift != NULL;
  double *inverse = ok ? factor + r * r : NULL, *noise = ok ? inverse + r * r : NULL;
  for (size_t i = 0; ok && i < r; i++) {
    memcpy(factor + i * r, b->gram + i * m, (i + 1) * sizeof *factor);
    s->basis_shift[i] = b->moments[order[i]] - b->average[order[i]];
  }
  for (size_t k = 0; ok && k < s->n_rows; k++) {
    for (size_t i = 0; i < r; i++) {
      s->basis[k * r + i] = b->products[k * m + order[i]] - b->average[order[i]];
    }
    tacit_solve_lower(r, factor, s->basis + k * r);
  }
  if (ok) {
    tacit_solve_lower(r, factor, s->basis_shift);
    tacit_invert_lower(r, factor, inverse);
    for (size_t i = 0; i < r * r; i++) {
      for (size_t l = 0; l < r; l++) {
        noise[i] += inverse[i / r * r + l] * inverse[i % r * r + l] * b->variances[order[l]];
      }
    }
    ok = regularise(s, noise, factor);
  }
  tacit_free(factor);
  tacit_free(order);
  return ok ? TACIT_OK : tacit_error_memory(err);
}

/* The pseudo-rows are wanted line by line from now on; and the second moments of their shape. */
static void finish(tacit_builder_t *b) {
  tacit_surrogate_t *s = b->s;
  double *rows = b->products;
  memcpy(rows, s->x, s->n_rows * b->d * sizeof *rows);
  for (size_t i = 0; i < s->n_rows * b->d; i++) {
    s->x[i % b->d * s->n_rows + i / b->d] = rows[i];
  }
  tacit_second_moments(&b->shape, s->second);
}

static tacit_status_t allocate(tacit_builder_t *b, tacit_error_t *err) {
  tacit_surrogate_t *s = b->s;
  size_t d = b->d, m = b->n_moments, n = s->n_rows;
  size_t n_gram = s->is_wide || m * m < 2 * d * d ? 2 * d * d : m * m, n_work = 6 * d * d + 4 * d + 4 * m;
  size_t n_products = s->is_wide ? (n * d > m ? n * d : m) : n * m;
  s->x = tacit_alloc(n * d, sizeof *s->x);
  s->weight = tacit_alloc(n, sizeof *s->weight);
  s->second = tacit_alloc(d * d, sizeof *s->second);
  double **const arrays[] = {&b->normals, &b->released,   &b->moments,   &b->variances,
                             &b->average, &b->products,   &b->gram,      &b->metric,
                             &b->inverse, &b->shape.mean, &b->shape.cov, &b->work};
  const size_t sizes[] = {n * d, m, m, m, m, n_products, n_gram, d * d, d * d, d, d * d, n_work};
  b->memory = tacit_alloc_arrays(sizeof sizes / sizeof sizes[0], arrays, sizes);
  bool ok = s->x != NULL && s->weight != NULL && s->second != NULL && b->memory != NULL;
  return ok ? TACIT_OK : tacit_error_memory(err);
}

/* Rows of standard normals, each followed by its mirror image. */
static void draw_normals(tacit_builder_t *b, tacit_rng_t *rng) {
  size_t p = b->d - 1;
  for (size_t k = 0; k + 1 < b->s->n_rows; k += 2) {
    for (size_t j = 0; j < p; j++) {
      double g = tacit_rng_normal(rng);
      b->normals[k * p + j] = g;
      b->normals[(k + 1) * p + j] = -g;
    }
  }
}

/* Of many features weights cannot mend what few rows have by chance: the normals get mean 0, which they have,
 * and covariance I. */
static void whiten_normals(tacit_builder_t *b) {
  size_t p = b->d - 1, n = b->s->n_rows;
  double *gram = b->gram;
  memset(gram, 0, p * p * sizeof *gram);
  for (size_t k = 0; k < n; k++) {
    const double *g = b->normals + k * p;
    for (size_t i = 0; i < p; i++) {
      for (size_t j = 0; j <= i; j++) {
        gram[i * p + j] += g[i] * g[j] / (double)n;
      }
    }
  }
  if (!tacit_cholesky(p, gram)) { /* of 40 p rows: does not happen */
    return;
  }
  for (size_t k = 0; k < n; k++) {
    tacit_solve_lower(p, gram, b->normals + k * p);
  }
}

static tacit_status_t build(tacit_builder_t *b, tacit_error_t *err) {
  tacit_surrogate_t *s = b->s;
  tacit_status_t status = tacit_builder_learn(b, err);
  /* new rows of the better shape; products stay those of the metric that the release was made in */
  TACIT_THEN(status, tacit_builder_populate(b, err));
  if (status != TACIT_OK) {
    return status;
  }
  if (s->is_wide) {
    finish(b);
    return TACIT_OK;
  }
  tacit_builder_fill_products(b);
  for (size_t i = 0; i < N_CALIBRATIONS && status == TACIT_OK; i++) {
    calibrate(b);
    status = tacit_aware_may_start(b->settings, err);
  }
  TACIT_THEN(status, make_basis(b, err));
  finish(b);
  return status;
}

tacit_status_t tacit_surrogate_init(tacit_surrogate_t *surrogate, tacit_curator_t *curator,
                                    const tacit_noise_aware_settings_t *settings, tacit_aware_count_t count,
                                    bool is_wide, tacit_rng_t *rng, tacit_error_t *err) {
  static const bool none[TACIT_NOISE_AWARE_MAX_FEATURES];
  size_t d = tacit_aware_n_features(curator, settings), n_moments = d * (d + 1) / 2;
  size_t enough = ((is_wide ? ROWS_A_FEATURE * d : 4 * n_moments) + 15) / 16 * 16;
  *surrogate =
      (tacit_surrogate_t){.d = d, .is_wide = is_wide, .n_rows = enough > MIN_ROWS ? enough : MIN_ROWS};
  tacit_builder_t b = {.s = surrogate,
                       .curator = curator,
                       .settings = settings,
                       .count = count,
                       .d = d,
                       .n_moments = n_moments};
  b.shape.p = d - 1;
  b.shape.is_two_valued =
      settings->is_two_valued != NULL ? settings->is_two_valued + 1 : none; /* past the intercept */
  b.shape.makeup = settings->makeup != NULL ? settings->makeup + 1 : NULL;
  b.shape.n_each = N_EACH;
  tacit_status_t status = allocate(&b, err);
  if (status == TACIT_OK) {
    draw_normals(&b, rng);
    if (is_wide) {
      whiten_normals(&b);
    }
    status = build(&b, err);
  }
  tacit_free(b.memory);
  return status;
}

void tacit_surrogate_clear(tacit_surrogate_t *surrogate) {
  tacit_free(surrogate->x);
  tacit_free(surrogate->weight);
  tacit_free(surrogate->basis);
  tacit_free(surrogate->basis_cov);
  tacit_free(surrogate->basis_shift);
  tacit_free(surrogate->second);
  *surrogate = (tacit_surrogate_t){0};
}
