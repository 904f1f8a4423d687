/*
 * What the surrogate does not know: F(theta)/n is a Gaussian process around the surrogate's value with covariance
 *
 *     k(theta, theta') = c V c'^T + (Cov(f, f') - c c'^T) / (tau + 1),        c = Cov(f, Q),
 *
 * and each release of F is one observation of it. Everything is linear in f, so that conditioning changes weights.
 */
#include <math.h>
#include <string.h>

#include "noise_aware/kernel.h"
#include "noise_aware/noise_aware_internal.h"
#include "noise_aware/schedule.h"

tacit_status_t tacit_discrepancy_init(tacit_discrepancy_t *discrepancy, const tacit_surrogate_t *surrogate,
                                      tacit_family_t family, tacit_error_t *err) {
  size_t n = surrogate->n_rows, d = surrogate->d, most = 1 + surrogate->n_basis + TACIT_MAX_FITTED * d;
  *discrepancy = (tacit_discrepancy_t){
      .surrogate = surrogate, .weight = family == TACIT_FAMILY_BERNOULLI ? weight_bernoulli : weight_poisson};
  discrepancy->columns = tacit_alloc_zero(n * most, sizeof *discrepancy->columns);
  discrepancy->scale = tacit_alloc_zero(n, sizeof *discrepancy->scale);
  discrepancy->quadratic = tacit_alloc_zero(most * most, sizeof *discrepancy->quadratic);
  discrepancy->fitted = tacit_alloc_zero(TACIT_MAX_FITTED * n * d, sizeof *discrepancy->fitted);
  discrepancy->released = tacit_alloc_zero(TACIT_MAX_FITTED * d, sizeof *discrepancy->released);
  if (discrepancy->columns == NULL || discrepancy->scale == NULL || discrepancy->quadratic == NULL ||
      discrepancy->fitted == NULL || discrepancy->released == NULL) {
    return tacit_error_memory(err);
  }
  return tacit_discrepancy_condition(discrepancy, NULL, NULL, 0, err);
}

void tacit_discrepancy_clear(tacit_discrepancy_t *discrepancy) {
  tacit_free(discrepancy->columns);
  tacit_free(discrepancy->scale);
  tacit_free(discrepancy->quadratic);
  tacit_free(discrepancy->fitted);
  tacit_free(discrepancy->released);
  *discrepancy = (tacit_discrepancy_t){0};
}

/* columns <- omega [1, Q, f_1 - mean, ...] */
static void fill_columns(tacit_discrepancy_t *p) {
  const tacit_surrogate_t *s = p->surrogate;
  size_t n = s->n_rows, r = s->n_basis, m = p->n_fitted * s->d;
  for (size_t k = 0; k < n; k++) {
    p->columns[k] = s->weight[k];
    for (size_t i = 0; i < r; i++) {
      p->columns[(1 + i) * n + k] = s->weight[k] * s->basis[k * r + i];
    }
  }
  for (size_t i = 0; i < m; i++) {
    const double *f = p->fitted + i * n;
    double mean = tacit_dot(n, s->weight, f);
    for (size_t k = 0; k < n; k++) {
      p->columns[(1 + r + i) * n + k] = s->weight[k] * (f[k] - mean);
    }
  }
}

/*
 * loading (n_columns, m), m = n_fitted d, with k(theta, Theta) = y(theta) loading: rows of Q get (V - I/weight) c_Theta', those
 * of the f_j get I/weight, the first 0.
 */
static void fill_loading(const tacit_discrepancy_t *p, const double *projected, double *loading) {
  const tacit_surrogate_t *s = p->surrogate;
  size_t r = s->n_basis, m = p->n_fitted * s->d, nb = p->n_columns;
  memset(loading, 0, nb * m * sizeof *loading);
  for (size_t i = 0; i < m; i++) {
    const double *c = projected + i * nb + 1;
    for (size_t a = 0; a < r; a++) {
      loading[(1 + a) * m + i] = tacit_dot(r, s->basis_cov + a * r, c) - c[a] / p->weight;
    }
    loading[(1 + r + i) * m + i] = 1 / p->weight;
  }
}

/* scale <- omega_k (1 + Q_k . e + (columns_k / omega_k) . (loading z)). */
static void fill_scale(tacit_discrepancy_t *p, const double *lift) {
  const tacit_surrogate_t *s = p->surrogate;
  size_t r = s->n_basis, nb = p->n_columns;
  for (size_t k = 0; k < s->n_rows; k++) {
    double value = p->columns[k];
    for (size_t b = 0; b < nb; b++) {
      double shift = b >= 1 && b <= r ? s->basis_shift[b - 1] : 0;
      value += p->columns[b * s->n_rows + k] * (lift[b] + shift);
    }
    p->scale[k] = value;
  }
}

/* quadratic <- diag(-1/weight, V - I/weight, 0) - X X' with X (n_columns, m). */
static void fill_quadratic(tacit_discrepancy_t *p, const double *x, size_t m) {
  const tacit_surrogate_t *s = p->surrogate;
  size_t r = s->n_basis, nb = p->n_columns;
  memset(p->quadratic, 0, nb * nb * sizeof *p->quadratic);
  p->quadratic[0] = -1 / p->weight;
  for (size_t a = 0; a < r; a++) {
    for (size_t b = 0; b < r; b++) {
      p->quadratic[(1 + a) * nb + 1 + b] = s->basis_cov[a * r + b] - (a == b ? 1 / p->weight : 0);
    }
  }
  for (size_t a = 0; a < nb; a++) {
    for (size_t b = 0; b < nb; b++) {
      p->quadratic[a * nb + b] -= tacit_dot(m, x + a * m, x + b * m);
    }
  }
}

/* Conditioning: gram = k(Theta, Theta) + noise; z = gram^-1 (released - prior mean). */
static bool condition(tacit_discrepancy_t *p, double *memory) {
  const tacit_surrogate_t *s = p->surrogate;
  size_t d = s->d, m = p->n_fitted * d, nb = p->n_columns, r = s->n_basis;
  double *projected = memory, *loading = projected + m * nb, *gram = loading + nb * m,
         *z = gram + m * m, *lift = z + m;
  fill_columns(p);
  tacit_aware_kernel()->project(s->n_rows, m, nb, p->fitted, p->columns, projected);
  fill_loading(p, projected, loading);
  tacit_multiply(m, nb, m, projected, loading, gram);
  for (size_t i = 0; i < m; i++) {
    gram[i * m + i] += p->noise_var[i / d];
    z[i] = p->released[i] - projected[i * nb] - tacit_dot(r, projected + i * nb + 1, s->basis_shift);
  }
  if (!tacit_cholesky(m, gram)) {
    return false;
  }
  tacit_solve_lower(m, gram, z);
  tacit_solve_upper(m, gram, z);
  tacit_multiply(nb, m, 1, loading, z, lift);
  fill_scale(p, lift);
  for (size_t b = 0; b < nb; b++) { /* X' = L^-1 loading' */
    tacit_solve_lower(m, gram, loading + b * m);
  }
  fill_quadratic(p, loading, m);
  return true;
}

tacit_status_t tacit_discrepancy_condition(tacit_discrepancy_t *discrepancy, const double *f, const double *released,
                                           double noise_var, tacit_error_t *err) {
  const tacit_surrogate_t *s = discrepancy->surrogate;
  size_t n = s->n_rows, d = s->d, j = discrepancy->n_fitted;
  if (f != NULL) {
    memcpy(discrepancy->fitted + j * n * d, f, n * d * sizeof *f);
    memcpy(discrepancy->released + j * d, released, d * sizeof *released);
    discrepancy->noise_var[j] = noise_var;
    discrepancy->n_fitted++;
  }
  size_t m = discrepancy->n_fitted * d, nb = discrepancy->n_columns = 1 + s->n_basis + m;
  double *memory = tacit_alloc(m + 2 * m * nb + m * m + nb, sizeof *memory);
  if (memory == NULL) {
    return tacit_error_memory(err);
  }
  bool ok = condition(discrepancy, memory);
  tacit_free(memory);
  return ok ? TACIT_OK
            : tacit_error_set(err, TACIT_ERR_NUMERIC, "fitted",
                              "the covariance of the released fitted means is not positive; this should not happen, please "
                              "report it");
}
