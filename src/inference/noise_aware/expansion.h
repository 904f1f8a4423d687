/*
 * The covariance C(theta) of the scores of one site as a polynomial of the second degree in coordinates in
 * which the posterior is about standard normal: expansion.c evaluates it, expansion_fit.c makes it.
 */
#ifndef TACIT_NOISE_AWARE_EXPANSION_H
#define TACIT_NOISE_AWARE_EXPANSION_H

#include "noise_aware/noise_aware_internal.h"

enum { TACIT_EXPANSION_TILE = 32 }; /* entries that are summed together: what kernels keep in registers */

struct tacit_expansion {
  size_t d, width, n_terms, n_tiles;
  double *centre, *factor; /* (d), (d, d): coordinates z, theta = centre + factor z */
  double *terms;           /* (n_tiles, n_terms, TILE): coefficients of 1, z_a, z_a z_b (b <= a) of the lower
                              triangle */
  size_t n_rows;
  double *by_mean, *constant; /* (width, n_rows), (width): the scores less their means are constant - by_mean
                                 m, m the mean responses of the pseudo-rows */
  double *memory;
};

/* Fill in terms. */
TACIT_MUST_USE tacit_status_t tacit_expansion_fit(tacit_expansion_t *expansion,
                                                  tacit_aware_posterior_t *posterior, tacit_error_t *err);

#endif
