/* The covariance of the released scores as a polynomial around the mode, evaluated; see expansion.h. */
#include "noise_aware/expansion.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "noise_aware/kernel.h"

enum {
  TILE = TACIT_EXPANSION_TILE,
  MAX = TACIT_AWARE_MOST_EXPANDED,
  MAX_TERMS = 1 + MAX + MAX * (MAX + 1) / 2
};

static void fill_means(tacit_expansion_t *x, const tacit_rounds_t *r, double upper) {
  size_t n = x->n_rows;
  for (size_t i = 0; i < x->width; i++) {
    const double *spread = r->spread + i / x->d * n;
    x->constant[i] = r->released[i];
    for (size_t k = 0; k < n; k++) {
      x->by_mean[i * n + k] = r->n * r->scale[k] * r->rows[i * n + k];
      x->constant[i] += x->by_mean[i * n + k] * (upper / 2 + spread[k]);
    }
  }
}

tacit_status_t tacit_expansion_new(tacit_expansion_t **out, tacit_aware_posterior_t *posterior,
                                   const double *mode, const double *factor, tacit_error_t *err) {
  const tacit_rounds_t *r = posterior->rounds;
  size_t d = posterior->surrogate->d, width = d * r->n_rounds, n = width * (width + 1) / 2;
  tacit_expansion_t *x = *out = tacit_alloc_zero(1, sizeof *x);
  if (x == NULL) {
    return tacit_error_memory(err);
  }
  *x = (tacit_expansion_t){.d = d,
                           .width = width,
                           .n_terms = 1 + d + d * (d + 1) / 2,
                           .n_tiles = (n + TILE - 1) / TILE,
                           .n_rows = posterior->surrogate->n_rows};
  size_t n_terms = x->n_tiles * x->n_terms * TILE;
  x->memory = tacit_alloc_zero(d + d * d + n_terms + width * x->n_rows + width, sizeof *x->memory);
  bool ok = x->memory != NULL;
  if (ok) {
    x->centre = x->memory;
    x->factor = x->centre + d;
    x->terms = x->factor + d * d;
    x->by_mean = x->terms + n_terms;
    x->constant = x->by_mean + width * x->n_rows;
    memcpy(x->centre, mode, d * sizeof *mode);
    memcpy(x->factor, factor, d * d * sizeof *factor);
    fill_means(x, r, posterior->settings->upper);
  }
  return ok ? tacit_expansion_fit(x, posterior, err) : tacit_error_memory(err);
}

void tacit_expansion_residual(const tacit_expansion_t *x, const double *means, double *out) {
  tacit_aware_kernel()->project(x->n_rows, x->width, 1, x->by_mean, means, out);
  for (size_t i = 0; i < x->width; i++) {
    out[i] = x->constant[i] - out[i];
  }
}

void tacit_expansion_along(const tacit_expansion_t *x, const double *alpha, double *out) {
  tacit_aware_kernel()->multiply(1, x->width, x->n_rows, alpha, x->by_mean, out);
}

void tacit_expansion_free(tacit_expansion_t *expansion) {
  if (expansion != NULL) {
    tacit_free(expansion->memory);
    tacit_free(expansion);
  }
}

/* z (d), theta = centre + factor z; monomials <- 1, z_a, z_a z_b. */
static void fill_monomials(const tacit_expansion_t *x, const double *theta, double *z, double *monomials) {
  size_t d = x->d, term = 1 + d;
  for (size_t i = 0; i < d; i++) {
    z[i] = theta[i] - x->centre[i];
  }
  tacit_solve_lower(d, x->factor, z);
  monomials[0] = 1;
  for (size_t a = 0; a < d; a++) {
    monomials[1 + a] = z[a];
    for (size_t b = 0; b <= a; b++) {
      monomials[term++] = z[a] * z[b];
    }
  }
}

void tacit_expansion_covariance(const tacit_expansion_t *x, const double *theta, double *cov) {
  double z[MAX], monomials[MAX_TERMS], entries[TILE];
  fill_monomials(x, theta, z, monomials);
  for (size_t tile = 0, i = 0, j = 0; tile < x->n_tiles; tile++) {
    tacit_aware_kernel()->multiply(1, x->n_terms, TILE, monomials, x->terms + tile * x->n_terms * TILE,
                                   entries);
    for (size_t e = 0; e < TILE && i < x->width; e++) {
      cov[i * x->width + j] = entries[e];
      if (j++ == i) {
        i++;
        j = 0;
      }
    }
  }
}

void tacit_expansion_add_slope(const tacit_expansion_t *x, const double *theta, const double *slope,
                               double *grad) {
  double z[MAX], monomials[MAX_TERMS], by_term[MAX_TERMS] = {0}, some[MAX_TERMS], by_z[MAX];
  size_t d = x->d, term = 1 + d;
  fill_monomials(x, theta, z, monomials);
  for (size_t tile = 0, i = 0, j = 0; tile < x->n_tiles; tile++) {
    double entries[TILE] = {0};
    for (size_t e = 0; e < TILE && i < x->width; e++) {
      entries[e] = (i == j ? 1 : 2) * slope[i * x->width + j];
      if (j++ == i) {
        i++;
        j = 0;
      }
    }
    tacit_aware_kernel()->project(TILE, 1, x->n_terms, entries, x->terms + tile * x->n_terms * TILE, some);
    for (size_t t = 0; t < x->n_terms; t++) {
      by_term[t] += some[t];
    }
  }
  memcpy(by_z, by_term + 1, d * sizeof *by_z);
  for (size_t a = 0; a < d; a++) {
    for (size_t b = 0; b <= a; b++, term++) {
      by_z[a] += by_term[term] * z[b];
      by_z[b] += by_term[term] * z[a];
    }
  }
  tacit_solve_upper(d, x->factor, by_z);
  for (size_t a = 0; a < d; a++) {
    grad[a] += by_z[a];
  }
}
