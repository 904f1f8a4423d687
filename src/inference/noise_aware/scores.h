/* A regression by released scores: bernoulli and poisson. What is known of it after each release. */
#ifndef TACIT_NOISE_AWARE_SCORES_H
#define TACIT_NOISE_AWARE_SCORES_H

#include "noise_aware/engine.h"
#include "noise_aware/wide.h"

/* ---- scores_plan.c: public numbers alone ---- */

/* Share of mu^2 of the release of squares of scores, after the last score; 0: there is none. */
double tacit_scores_squares_share(const tacit_noise_aware_settings_t *settings);
/* Of residuals along features, after that; 0: there is none. */
double tacit_scores_residuals_share(const tacit_noise_aware_settings_t *settings);
/* Of the last score. */
double tacit_scores_last_share(const tacit_noise_aware_settings_t *settings);

size_t tacit_scores_events(const tacit_noise_aware_settings_t *settings,
                           tacit_event_t events[TACIT_NOISE_AWARE_N_EVENTS]);
double tacit_scores_inflation(const tacit_noise_aware_settings_t *settings, size_t dim, double n_units);
double tacit_scores_inflation_poor(const tacit_noise_aware_settings_t *settings, size_t dim, double n_units);
double tacit_scores_scale_doubt(const tacit_noise_aware_settings_t *settings, size_t dim, double n_units);
size_t tacit_scores_most(const tacit_noise_aware_settings_t *settings);
/* Refuse a budget at which some of the information of many features may be as good as none. TACIT_ERR_BUDGET
 */
TACIT_MUST_USE tacit_status_t tacit_scores_check_budget(const tacit_noise_aware_settings_t *settings,
                                                        tacit_error_t *err);
/*
 * Up to so many features what is not known of them is a process in all their products, as it is up to 20
 * where the released information is mostly noise.
 */
enum { TACIT_AWARE_MOST_PROCESSED = 12 };
bool tacit_wide_is(const tacit_noise_aware_settings_t *settings, size_t dim, double n_units);

/* ---- features.c ---- */

TACIT_MUST_USE tacit_status_t tacit_scores_draw_moments(tacit_aware_site_t *site, tacit_rng_t *rng,
                                                        double *mean, double *cov, tacit_error_t *err);

#endif
