/* Draws where effects of a factor's levels have an sd of their own (effects.c). */
#ifndef TACIT_NOISE_AWARE_EFFECTS_H
#define TACIT_NOISE_AWARE_EFFECTS_H

#include "noise_aware/noise_aware_internal.h"

/* The posterior that a walk has drawn from, with the priors that the releases were chosen by. */
typedef struct tacit_effects_start {
  size_t dim;               /* unconstrained parameters */
  const double *mean, *cov; /* (dim), (dim, dim): of them */
  /* Log density at theta, up to a constant; -INFINITY: none. */
  double (*log_density)(void *ctx, const double *theta);
  void *ctx;
  const tacit_parameters_t *parameters;
  const tacit_noise_aware_settings_t *settings;
} tacit_effects_start_t;

/* draws, which have been initialised, <- as many of settings->effects. */
TACIT_MUST_USE tacit_status_t tacit_effects_walk(const tacit_effects_start_t *start, tacit_draws_t *draws,
                                                 tacit_error_t *err);

#endif
