/* Sites whose effects differ: what exchange.c needs of each, and the draws it makes. */
#ifndef TACIT_NOISE_AWARE_EXCHANGE_H
#define TACIT_NOISE_AWARE_EXCHANGE_H

#include "noise_aware/noise_aware_internal.h"

typedef struct tacit_aware_site {
  tacit_aware_posterior_t *posterior; /* of its releases alone; prior and settings of the first are those of all */
  const double *mode;                 /* (d): of that posterior */
} tacit_aware_site_t;

/*
 * Chains over mean effects, spreads between sites and the sites' own effects (docs/theory.md, section 18.16), into draws of n_reported columns: the
 * parameters at the mean effects, then a spread for each of the d coefficients, in its unit (of the intercept: at the features' means).
 * scales (d): of the features of all sites together. mean (d), cov (d, d): of the kept mean effects, unconstrained.
 */
TACIT_MUST_USE tacit_status_t tacit_aware_exchange(const tacit_aware_site_t *sites, size_t n, const tacit_feature_scale_t *scales, double between,
                                                   tacit_draws_t *draws, double *mean, double *cov, tacit_error_t *err);

#endif
