/* The covariance of the released scores as a polynomial around the mode; see noise_aware_internal.h. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "noise_aware/kernel.h"
#include "noise_aware/noise_aware_internal.h"

/* Entries that are summed together: what the kernels keep in registers. */
enum { TILE = 32, MAX = TACIT_AWARE_MOST_EXPANDED, MAX_TERMS = 1 + MAX + MAX * (MAX + 1) / 2 };

/* Where the polynomial is the covariance itself, in sds of a coordinate: nodes of the Gauss-Hermite rule of
 * three points. */
static const double node = 1.7320508075688772;

struct tacit_expansion {
  size_t d, width, n_terms, n_tiles;
  double *centre, *factor; /* (d), (d, d): coordinates z, theta = centre + factor z */
  double
      *terms; /* (n_tiles, n_terms, TILE): coefficients of 1, z_a, z_a z_b (b <= a) of the lower triangle */
  size_t n_rows;
  double *by_mean, *constant; /* (width, n_rows), (width): the scores less their means are constant - by_mean
                                 m, m the mean responses of the pseudo-rows */
  double *memory;
};

static double *place_of(const tacit_expansion_t *x, size_t term, size_t entry) {
  return x->terms + (entry / TILE * x->n_terms + term) * TILE + entry % TILE;
}

/* out <- the lower triangle of C at centre + factor (along_a e_a + along_b e_b). */
static void look(const tacit_expansion_t *x, tacit_aware_posterior_t *p, size_t a, size_t b, double along_a,
                 double along_b, double *out) {
  double theta[MAX];
  for (size_t i = 0; i < x->d; i++) {
    theta[i] = x->centre[i] + along_a * x->factor[i * x->d + a] + along_b * x->factor[i * x->d + b];
  }
  tacit_aware_posterior_covariance(p, theta);
  for (size_t i = 0, e = 0; i < x->width; i++) {
    for (size_t j = 0; j <= i; j++, e++) {
      out[e] = p->cov[i * x->width + j];
    }
  }
}

/*
 * With values at 0, at +-node along each axis and at +-(node, node) along each pair: the polynomial of the
 * second degree that goes through those along the axes, and through the mean of both along a pair, where what
 * is of the third degree cancels. work (3 + 2 d, n_entries).
 */
static void interpolate(tacit_expansion_t *x, tacit_aware_posterior_t *p, double *work) {
  size_t d = x->d, n = x->width * (x->width + 1) / 2;
  double *middle = work, *pair = middle + n, *opposite = pair + n, *both = opposite + n;
  look(x, p, 0, 0, 0, 0, middle);
  for (size_t e = 0; e < n; e++) {
    *place_of(x, 0, e) = middle[e];
  }
  for (size_t a = 0, term = 1 + d; a < d; a++, term++) {
    double *own = both + a * n; /* f(node) + f(-node) - 2 f(0) */
    look(x, p, a, a, node, 0, pair);
    look(x, p, a, a, -node, 0, opposite);
    for (size_t e = 0; e < n; e++) {
      own[e] = pair[e] + opposite[e] - 2 * middle[e];
      *place_of(x, 1 + a, e) = (pair[e] - opposite[e]) / (2 * node);
    }
    for (size_t b = 0; b < a; b++, term++) {
      look(x, p, a, b, node, node, pair);
      look(x, p, a, b, -node, -node, opposite);
      for (size_t e = 0; e < n; e++) {
        double second = pair[e] + opposite[e] - 2 * middle[e] - own[e] - both[b * n + e];
        *place_of(x, term, e) = second / (2 * node * node);
      }
    }
    for (size_t e = 0; e < n; e++) {
      *place_of(x, term, e) = own[e] / (2 * node * node);
    }
  }
}

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
  double *work = tacit_alloc((3 + d) * n, sizeof *work);
  bool ok = x->memory != NULL && work != NULL;
  if (ok) {
    x->centre = x->memory;
    x->factor = x->centre + d;
    x->terms = x->factor + d * d;
    x->by_mean = x->terms + n_terms;
    x->constant = x->by_mean + width * x->n_rows;
    memcpy(x->centre, mode, d * sizeof *mode);
    memcpy(x->factor, factor, d * d * sizeof *factor);
    interpolate(x, posterior, work);
    fill_means(x, r, posterior->settings->upper);
  }
  tacit_free(work);
  return ok ? TACIT_OK : tacit_error_memory(err);
}

void tacit_expansion_residual(const tacit_expansion_t *x, const double *means, double *out) {
  tacit_aware_kernel()->project(x->n_rows, x->width, 1, x->by_mean, means, out);
  for (size_t i = 0; i < x->width; i++) {
    out[i] = x->constant[i] - out[i];
  }
}

void tacit_expansion_free(tacit_expansion_t *expansion) {
  if (expansion != NULL) {
    tacit_free(expansion->memory);
    tacit_free(expansion);
  }
}

void tacit_expansion_covariance(const tacit_expansion_t *x, const double *theta, double *cov) {
  double z[MAX], monomials[MAX_TERMS], entries[TILE];
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
