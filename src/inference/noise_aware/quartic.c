/* The log likelihood by a polynomial, evaluated; see quartic.h. */
#include "noise_aware/quartic.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "noise_aware/kernel.h"

enum { MAX = TACIT_AWARE_MOST_EXPANDED, MAX_PAIRS = MAX * (MAX + 1) / 2, TILE = 32 };
enum { MAX_STRIDE = (MAX_PAIRS + TILE - 1) / TILE * TILE };

/* Beyond sqrt(d) and this a parabola along the ray goes on: a polynomial may rise there. */
static const double margin = 2.5;

/* The parabola's step of differences, as a share of the way to there, and the slope that it has at least. */
static const double inward = 0.02, least_slope = 1;

/* 1 - P / kappa at the least: as high as values can be, where a polynomial is none of a likelihood's. */
static const double least_rest = 0.01;

tacit_status_t tacit_quartic_new(tacit_quartic_t **out, tacit_aware_posterior_t *posterior,
                                 const double *mode, const double *factor, tacit_error_t *err) {
  size_t d = posterior->surrogate->d, n_pairs = d * (d + 1) / 2, stride = (n_pairs + TILE - 1) / TILE * TILE;
  tacit_quartic_t *q = *out = tacit_alloc_zero(1, sizeof *q);
  if (q == NULL) {
    return tacit_error_memory(err);
  }
  *q = (tacit_quartic_t){.d = d, .n_pairs = n_pairs, .stride = stride};
  q->centre = tacit_alloc_zero(2 * d + d * d + (1 + d + n_pairs) * stride, sizeof *q->centre);
  if (q->centre == NULL) {
    return tacit_error_memory(err);
  }
  q->slope = q->centre + d;
  q->inverse = q->slope + d;
  q->terms = q->inverse + d * d;
  memcpy(q->centre, mode, d * sizeof *mode);
  tacit_invert_lower(d, factor, q->inverse);
  return tacit_quartic_fit(q, posterior, factor, err);
}

void tacit_quartic_free(tacit_quartic_t *quartic) {
  if (quartic != NULL) {
    tacit_free(quartic->centre);
    tacit_free(quartic);
  }
}

static double value_at(const tacit_quartic_t *q, const double *z) {
  double monomials[1 + MAX + MAX_PAIRS], factors[MAX_STRIDE], *pairs = monomials + 1 + q->d;
  monomials[0] = 1;
  for (size_t a = 0; a < q->d; a++) {
    monomials[1 + a] = z[a];
    for (size_t b = 0; b <= a; b++) {
      pairs[tacit_quartic_pair(a, b)] = z[a] * z[b];
    }
  }
  tacit_aware_kernel()->multiply(1, 1 + q->d + q->n_pairs, q->stride, monomials, q->terms, factors);
  double polynomial = tacit_dot(q->d, q->slope, z) + tacit_dot(q->n_pairs, factors, pairs);
  return q->constant - q->kappa * log1p(fmax(-polynomial / q->kappa, least_rest - 1));
}

double tacit_quartic_value(const tacit_quartic_t *q, const double *theta) {
  double from[MAX], z[MAX], radius = sqrt((double)q->d) + margin;
  for (size_t j = 0; j < q->d; j++) {
    from[j] = theta[j] - q->centre[j];
    z[j] = tacit_dot(j + 1, q->inverse + j * q->d, from);
  }
  double length = sqrt(tacit_dot(q->d, z, z));
  if (length <= radius) {
    return value_at(q, z);
  }
  double values[3], step = inward * radius;
  for (size_t i = 0; i < 3; i++) {
    double at[MAX], part = (1 - inward * (double)i) * radius / length;
    for (size_t j = 0; j < q->d; j++) {
      at[j] = part * z[j];
    }
    values[i] = value_at(q, at);
  }
  double bend = fmin((values[0] - 2 * values[1] + values[2]) / (step * step), 0);
  double slope = fmin((values[0] - values[1]) / step + 0.5 * bend * step, -least_slope);
  return values[0] + (length - radius) * (slope + 0.5 * bend * (length - radius));
}
