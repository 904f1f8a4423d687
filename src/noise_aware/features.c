/* Rows of features as what was released tells of them: normal in shape, two-valued where that is public, with moments drawn from their posterior. */
#include <math.h>
#include <string.h>

#include "noise_aware/noise_aware_internal.h"

/* weights (n_rows) <- those of the pseudo-rows with the means of Q drawn from N(e, V), their posterior; not negative, of sum 1. */
static void draw_weights(const tacit_surrogate_t *s, tacit_rng_t *rng, double *work, double *weights) {
  size_t q = s->n_basis;
  double *factor = work, *mean = work + q * q, *z = mean + q, sum = 0;
  memcpy(factor, s->basis_cov, q * q * sizeof *factor);
  bool has_factor = tacit_cholesky(q, factor);
  for (size_t a = 0; a < q; a++) {
    z[a] = tacit_rng_normal(rng);
  }
  for (size_t a = 0; a < q; a++) { /* without a factor a coordinate's own sd: wider, if anything */
    double noise = has_factor ? tacit_dot(a + 1, factor + a * q, z) : sqrt(fmax(s->basis_cov[a * q + a], 0)) * z[a];
    mean[a] = s->basis_shift[a] + noise;
  }
  for (size_t k = 0; k < s->n_rows; k++) {
    weights[k] = fmax(s->weight[k] * (1 + tacit_dot(q, s->basis + k * q, mean)), 0);
    sum += weights[k];
  }
  for (size_t k = 0; k < s->n_rows; k++) {
    weights[k] /= sum;
  }
}

/* shape <- moments of the weighted pseudo-rows, of features at[0], at[1], ... */
static void weigh_moments(const tacit_surrogate_t *s, const double *weights, const size_t *at, tacit_shape_t *shape, double *work) {
  size_t p = shape->p, n = s->n_rows;
  for (size_t i = 0; i < p; i++) {
    shape->mean[i] = tacit_dot(n, weights, s->x + at[i] * n);
  }
  for (size_t i = 0; i < p; i++) {
    for (size_t j = 0; j <= i; j++) {
      double sum = 0;
      for (size_t k = 0; k < n; k++) {
        sum += weights[k] * (s->x[at[i] * n + k] - shape->mean[i]) * (s->x[at[j] * n + k] - shape->mean[j]);
      }
      shape->cov[i * p + j] = shape->cov[j * p + i] = sum;
    }
  }
  tacit_raise_eigenvalues(p, shape->cov, 1e-6, work);
}

/* rows (n, d): features that are not wanted are 0. */
static void spread_out(size_t n, size_t d, const size_t *at, size_t p, double *rows) {
  for (size_t k = n; k-- > 0;) { /* from the end: narrow rows make room as they go */
    double narrow[TACIT_NOISE_AWARE_MAX_FEATURES], *wide = rows + k * d;
    memcpy(narrow, rows + k * (p + 1), (p + 1) * sizeof *narrow);
    memset(wide, 0, d * sizeof *wide);
    wide[0] = 1;
    for (size_t i = 0; i < p; i++) {
      wide[at[i]] = narrow[i + 1];
    }
  }
}

static tacit_status_t make_rows(const tacit_surrogate_t *s, const tacit_noise_aware_settings_t *settings, const bool *is_wanted, size_t n,
                                tacit_rng_t *rng, double *rows, tacit_error_t *err) {
  bool is_two_valued[TACIT_NOISE_AWARE_MAX_FEATURES];
  size_t at[TACIT_NOISE_AWARE_MAX_FEATURES], p = 0, q = s->n_basis;
  for (size_t j = 1; j < s->d; j++) {
    if (is_wanted[j]) {
      is_two_valued[p] = settings->is_two_valued != NULL && settings->is_two_valued[j];
      at[p++] = j;
    }
  }
  tacit_shape_t shape = {.p = p, .is_two_valued = is_two_valued};
  double *memory = tacit_alloc_zero(s->n_rows + q * q + 2 * q + 7 * (p + 1) * (p + 1) + 5 * (p + 1), sizeof *memory);
  double *normals = tacit_alloc(n, (p + 1) * sizeof *normals);
  if (memory == NULL || normals == NULL) {
    tacit_free(memory);
    tacit_free(normals);
    return tacit_error_memory(err);
  }
  double *weights = memory, *work = weights + s->n_rows + q * q + 2 * q;
  shape.mean = work;
  shape.cov = shape.mean + p;
  work = shape.cov + p * p;
  draw_weights(s, rng, memory + s->n_rows, weights);
  weigh_moments(s, weights, at, &shape, work);
  for (size_t i = 0; i < n * p; i++) {
    normals[i] = tacit_rng_normal(rng);
  }
  tacit_population(&shape, n, normals, rows, work);
  spread_out(n, s->d, at, p, rows);
  tacit_free(memory);
  tacit_free(normals);
  return TACIT_OK;
}

tacit_status_t tacit_noise_aware_features(const tacit_noise_aware_settings_t *settings, const bool *is_wanted, uint64_t stream, size_t n,
                                          double *rows, tacit_feature_scale_t *scales, tacit_error_t *err) {
  tacit_surrogate_t surrogate = {0};
  tacit_rng_t *rng = NULL;
  tacit_aware_count_t count;
  tacit_status_t status = TACIT_OK;
  if (settings->family == TACIT_FAMILY_GAUSSIAN) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "family", "fits of family gaussian keep no releases of their features alone: rows are made of "
                                                              "bernoulli and poisson ones");
  }
  if (tacit_aware_has_clusters(settings)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "unit", "rows of one unit hang together, and rows are made one by one: fits of units of several rows are no "
                                                            "source of them");
  }
  settings->releases->n_taken = 0;
  status = tacit_aware_learn_count(NULL, settings, &count, err);
  if (status == TACIT_OK) {
    status = tacit_rng_new(&rng, settings->key, stream, err);
  }
  if (status == TACIT_OK) {
    status = tacit_surrogate_init(&surrogate, NULL, settings, count, rng, err);
  }
  if (status == TACIT_OK) {
    tacit_surrogate_scales(&surrogate, scales);
    status = make_rows(&surrogate, settings, is_wanted, n, rng, rows, err);
  }
  tacit_surrogate_clear(&surrogate);
  tacit_rng_free(rng);
  return status;
}
