/* Several sites together, of released scores and of linear regressions. */
#ifndef TACIT_NOISE_AWARE_SITES_H
#define TACIT_NOISE_AWARE_SITES_H

#include "noise_aware/exchange.h"
#include "noise_aware/run.h"

/* pooled (d) <- mean and variance of each feature in all sites together; scales (n_sites, d), n (n_sites):
 * their records. */
void tacit_aware_pool_scales(const tacit_feature_scale_t *const *scales, const double *n, size_t n_sites,
                             size_t d, tacit_feature_scale_t *pooled);

/* ---- gaussian_sites.c ---- */

/* Draws of linear regressions together; `together` lacks sites and kind, scales (d) are those it points to.
 */
TACIT_MUST_USE tacit_status_t tacit_gaussian_combine(const tacit_noise_aware_settings_t *settings,
                                                     tacit_aware_together_t *together,
                                                     tacit_feature_scale_t *scales, tacit_draws_t *draws,
                                                     tacit_error_t *err);

/* ---- program_sites.c ---- */

/* Draws of fits of one program together, likewise; between 0: draws of the program's own parameters. */
TACIT_MUST_USE tacit_status_t tacit_program_combine(const tacit_noise_aware_settings_t *settings,
                                                    tacit_aware_together_t *together,
                                                    tacit_feature_scale_t *scales, tacit_draws_t *draws,
                                                    tacit_error_t *err);

#endif
