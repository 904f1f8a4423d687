/* A regression by released scores: what is known of it after each release. */
#ifndef TACIT_NOISE_AWARE_RUN_H
#define TACIT_NOISE_AWARE_RUN_H

#include "noise_aware/wide.h"

/* ---- fit.c ---- */

/* Share of mu^2 of the release of squares of scores, after the last score; 0: there is none. */
double tacit_aware_squares_share(const tacit_noise_aware_settings_t *settings);
/* Of residuals along features, after that; 0: there is none. */
double tacit_aware_residuals_share(const tacit_noise_aware_settings_t *settings);
/* Of the last score. */
double tacit_aware_last_share(const tacit_noise_aware_settings_t *settings);

/* What can be seen to be wrong before anything is released; curator NULL: of kept releases. */
TACIT_MUST_USE tacit_status_t tacit_aware_check_settings(const tacit_curator_t *curator,
                                                         const tacit_parameters_t *parameters,
                                                         const tacit_noise_aware_settings_t *settings,
                                                         tacit_error_t *err);

/* ---- run.c ---- */

/* Everything of one run. */
typedef struct tacit_aware_run {
  tacit_curator_t *curator;
  size_t n_kept; /* so many releases are there already, of a run that is begun again */
  const tacit_parameters_t *parameters;
  const tacit_noise_aware_settings_t *settings;
  tacit_aware_count_t count;
  tacit_unit_rows_t unit_rows;
  double moved2;
  bool has_normal_tails;
  tacit_rng_t *rng;
  tacit_surrogate_t surrogate;
  tacit_rounds_t rounds;
  tacit_aware_posterior_t posterior;
  tacit_wide_t wide;
  bool may_be_wide, is_wide; /* sites together are not */
  tacit_feature_scale_t scales[TACIT_NOISE_AWARE_MAX_FEATURES];
  double mean[TACIT_NOISE_AWARE_MAX_FEATURES],
      cov[TACIT_NOISE_AWARE_MAX_FEATURES * TACIT_NOISE_AWARE_MAX_FEATURES];
  double theta[TACIT_NOISE_AWARE_MAX_FEATURES],
      factor[TACIT_NOISE_AWARE_MAX_FEATURES * TACIT_NOISE_AWARE_MAX_FEATURES];
} tacit_aware_run_t;

/* All that is learned before the prior's scale is known. */
TACIT_MUST_USE tacit_status_t tacit_aware_run_features(tacit_aware_run_t *run, tacit_error_t *err);
/* All releases of scores; the posterior given them, its mode and the shape there. */
TACIT_MUST_USE tacit_status_t tacit_aware_run_scores(tacit_aware_run_t *run, tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_aware_run_mode(tacit_aware_run_t *run, tacit_error_t *err);
/* Both, and draws. */
TACIT_MUST_USE tacit_status_t tacit_aware_run_all(tacit_aware_run_t *run, tacit_draws_t *draws,
                                                  tacit_error_t *err);
void tacit_aware_run_clear(tacit_aware_run_t *run);
/* What the same records would tell without noise, those of n sites together. */
void tacit_aware_run_compare(const tacit_aware_common_t *of, const tacit_aware_run_t *runs, size_t n);

#endif
