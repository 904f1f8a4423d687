/*
 * The log likelihood of the releases of few features as -kappa log(1 - P(z) / kappa), P a polynomial of the
 * fourth degree in coordinates z in which the posterior is about standard normal: quartic.c evaluates it,
 * quartic_fit.c makes it.
 */
#ifndef TACIT_NOISE_AWARE_QUARTIC_H
#define TACIT_NOISE_AWARE_QUARTIC_H

#include "noise_aware/noise_aware_internal.h"

struct tacit_quartic {
  size_t d, n_pairs, stride; /* n_pairs = d (d + 1) / 2: of z_a z_b, b <= a; stride: that, in whole tiles */
  double constant, kappa;    /* value at the centre; above 0 */
  double *centre, *inverse;  /* (d), (d, d): z = inverse (theta - centre) */
  double *slope;             /* (d) */
  double *terms; /* (1 + d + n_pairs, stride): what 1, z_c and z_c z_e add to the factor of z_a z_b */
};

static inline size_t tacit_quartic_pair(size_t a, size_t b) { return a * (a + 1) / 2 + b; } /* b <= a */

/* Fill in all but d, n_pairs, stride, centre and inverse. factor (d, d): theta = centre + factor z. */
TACIT_MUST_USE tacit_status_t tacit_quartic_fit(tacit_quartic_t *quartic, tacit_aware_posterior_t *posterior,
                                                const double *factor, tacit_error_t *err);

#endif
