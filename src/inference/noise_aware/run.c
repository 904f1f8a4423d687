/* The schedule: which release is made when, from what is known so far. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "diagnose/diagnose.h"
#include "noise_aware/effects.h"
#include "noise_aware/run.h"

/* Stream of the surrogate's normals; chains take the streams from 0. */
static const uint64_t surrogate_stream = UINT64_MAX;

/* NULL: the next release was made before. */
static tacit_curator_t *curator_of(const tacit_aware_run_t *run) {
  return run->settings->releases->n_taken < run->n_kept ? NULL : run->curator;
}

/* Are pseudo-rows no ground for the posterior of many features, where the process can be afforded? */
static bool is_unlike(const tacit_aware_run_t *run) {
  return run->is_wide && run->surrogate.d <= TACIT_NOISE_AWARE_MAX_NARROW &&
         (!(run->wide.likeness >= tacit_check_info(TACIT_CHECK_UNLIKE)->threshold) || run->wide.is_off);
}

tacit_status_t tacit_aware_learn_count(tacit_curator_t *curator, const tacit_noise_aware_settings_t *settings,
                                       tacit_aware_count_t *count, tacit_error_t *err) {
  bool is_substitute = settings->relation == TACIT_RELATION_SUBSTITUTE;
  *count = (tacit_aware_count_t){0};
  tacit_status_t status = is_substitute ? tacit_aware_n_units(curator, settings, &count->n, err) : TACIT_OK;
  if (status != TACIT_OK || !tacit_aware_is_count_private(settings)) {
    return status;
  }
  double n = 0, noise_sd = 0, multiplier = schedule_multiplier(settings->rho, share_count);
  status = tacit_aware_may_start(settings, err);
  TACIT_THEN(status, tacit_aware_release_count(curator, settings, multiplier, &n, &noise_sd, err));
  n = fmax(n, fmax(noise_sd, 1)); /* no number of records must end a run */
  *count = (tacit_aware_count_t){n, noise_sd / n};
  return status;
}

/* Of many features what is evaluated holds around a point, and is made anew where the mode is found. */
static tacit_status_t climb(tacit_aware_run_t *run, tacit_error_t *err) {
  enum { N_JOINS = 3 };
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < N_JOINS && status == TACIT_OK && run->is_wide; i++) {
    status = tacit_wide_join(&run->wide, run->theta, run->factor, err);
    status = status == TACIT_OK && i + 1 < N_JOINS
                 ? tacit_aware_mode(&run->posterior, run->theta, run->factor, err)
                 : status;
  }
  return status == TACIT_OK ? tacit_aware_mode(&run->posterior, run->theta, run->factor, err) : status;
}

/* Where heavy tails leave nothing to climb, normal ones do: what was spent must lead to an answer. */
tacit_status_t tacit_aware_run_mode(tacit_aware_run_t *run, tacit_error_t *err) {
  const tacit_noise_aware_settings_t *s = run->settings;
  tacit_status_t status = climb(run, err);
  if (status != TACIT_ERR_NUMERIC || s->normal_tails == NULL || run->has_normal_tails) {
    return status;
  }
  s->normal_tails(s->prior_user);
  run->has_normal_tails = true;
  memset(run->theta, 0, sizeof run->theta);
  memset(run->factor, 0, sizeof run->factor);
  return climb(run, err);
}

/* The squared distance of theta from `before`, in the normal approximation there. */
static double distance2(const tacit_aware_run_t *run, const double *before, const double *factor) {
  size_t d = run->surrogate.d;
  double step[TACIT_NOISE_AWARE_MAX_FEATURES];
  for (size_t j = 0; j < d; j++) {
    step[j] = run->theta[j] - before[j];
  }
  tacit_solve_lower(d, factor, step);
  return tacit_dot(d, step, step);
}

/* How far draws of many features are from the mode, in normal sds of an axis, root mean square. */
static double astray(const tacit_aware_run_t *run) {
  double mean2 = distance2(run, run->mean, run->factor) / (double)run->surrogate.d;
  return isnan(mean2) ? INFINITY : sqrt(mean2);
}

/* All releases after the surrogate; theta ends at the mode, factor holds the shape there. */
static tacit_status_t learn(tacit_aware_run_t *run, tacit_error_t *err) {
  tacit_round_place_t place = {
      .settings = run->settings, .parameters = run->parameters, .rng = run->rng, .theta = run->theta};
  tacit_status_t status = TACIT_OK;
  for (size_t j = 0; j < TACIT_AWARE_ROUNDS && status == TACIT_OK; j++) {
    bool is_last = j + 1 == TACIT_AWARE_ROUNDS;
    place.curator = curator_of(run);
    if (run->is_wide && !is_last) {
      status = tacit_wide_take_moments(&run->wide, &place, err);
    } else if (is_last) {
      place.share = share_information;
      status = run->is_wide ? tacit_wide_learn_information(&run->wide, &place, err)
                            : tacit_rounds_learn_information(&run->rounds, &place, err);
      TACIT_THEN(status, tacit_aware_run_mode(run, err));
      if (status == TACIT_OK && is_unlike(run)) {
        return TACIT_OK; /* tacit_aware_run_all() begins again */
      }
      place.curator = curator_of(run);
    }
    place.share = is_last ? tacit_aware_last_share(run->settings) : share_score[j];
    double before[TACIT_NOISE_AWARE_MAX_FEATURES], factor[sizeof run->factor / sizeof run->factor[0]];
    memcpy(before, run->theta, sizeof before);
    memcpy(factor, run->factor, sizeof factor);
    TACIT_THEN(status, tacit_rounds_release(&run->rounds, &place, err));
    if (status == TACIT_OK && run->is_wide) {
      tacit_wide_add_round(&run->wide);
    }
    TACIT_THEN(status, tacit_aware_run_mode(run, err));
    if (status == TACIT_OK && is_last) {
      run->moved2 = run->wide.is_off ? INFINITY : distance2(run, before, factor);
    }
    place.factor = run->factor;
  }
  place.share = tacit_aware_squares_share(run->settings);
  place.curator = curator_of(run);
  if (status == TACIT_OK && place.share > 0) {
    status =
        (tacit_aware_has_clusters(run->settings) ? tacit_rounds_learn_clusters
                                                 : tacit_rounds_learn_dispersion)(&run->rounds, &place, err);
    TACIT_THEN(status, tacit_aware_run_mode(run, err));
  }
  place.share = tacit_aware_residuals_share(run->settings);
  place.curator = curator_of(run);
  return status == TACIT_OK && place.share > 0 ? tacit_rounds_look_at_residuals(&run->rounds, &place, err)
                                               : status;
}

/* All that is learned before the prior's scale is known. */
tacit_status_t tacit_aware_run_features(tacit_aware_run_t *run, tacit_error_t *err) {
  tacit_status_t status = tacit_aware_learn_count(curator_of(run), run->settings, &run->count, err);
  run->is_wide = run->may_be_wide && tacit_wide_is(run->settings, run->parameters->dim, run->count.n);
  TACIT_THEN(status,
             tacit_aware_learn_rows(curator_of(run), run->settings, run->count, &run->unit_rows, err));
  TACIT_THEN(status, tacit_rng_new(&run->rng, run->settings->key, surrogate_stream, err));
  TACIT_THEN(status, tacit_surrogate_init(&run->surrogate, curator_of(run), run->settings, run->count,
                                          run->is_wide, run->rng, err));
  if (status == TACIT_OK) {
    tacit_surrogate_scales(&run->surrogate, run->scales);
  }
  return status;
}

/* All releases of scores; the posterior given them. */
tacit_status_t tacit_aware_run_scores(tacit_aware_run_t *run, tacit_error_t *err) {
  tacit_status_t status = tacit_rounds_init(&run->rounds, &run->surrogate, run->count, &run->unit_rows, err);
  if (status == TACIT_OK && run->is_wide) {
    status = tacit_wide_init(&run->wide, &run->rounds, run->parameters, run->settings, run->rng, err);
    run->posterior = (tacit_aware_posterior_t){.wide = &run->wide,
                                               .surrogate = &run->surrogate,
                                               .parameters = run->parameters,
                                               .settings = run->settings};
    run->posterior.temporary =
        tacit_alloc(run->surrogate.d * run->surrogate.d, sizeof *run->posterior.temporary);
    status = status == TACIT_OK && run->posterior.temporary == NULL ? tacit_error_memory(err) : status;
  } else
    TACIT_THEN(status, tacit_aware_posterior_init(&run->posterior, &run->rounds, run->parameters,
                                                  run->settings, err));
  return status == TACIT_OK ? learn(run, err) : status;
}

void tacit_aware_run_clear(tacit_aware_run_t *run) {
  tacit_aware_posterior_clear(&run->posterior);
  tacit_wide_clear(&run->wide);
  tacit_rounds_clear(&run->rounds);
  tacit_surrogate_clear(&run->surrogate);
  tacit_rng_free(run->rng);
  run->rng = NULL;
}

/*
 * Begin again from the releases so far, without what holds where pseudo-rows are like the records: all that
 * is asked for up to here is the same. What the first attempt made of the prior stays.
 */
static tacit_status_t learn_by_process(tacit_aware_run_t *run, tacit_error_t *err) {
  tacit_releases_t *releases = run->settings->releases;
  run->n_kept = run->curator != NULL ? releases->n : 0; /* without one all are there */
  releases->n_taken = 0;
  tacit_aware_run_clear(run);
  run->may_be_wide = false;
  run->moved2 = 0;
  memset(run->theta, 0, sizeof run->theta);
  memset(run->factor, 0, sizeof run->factor);
  tacit_status_t status = tacit_aware_run_features(run, err);
  return status == TACIT_OK ? tacit_aware_run_scores(run, err) : status;
}

/*
 * What the same records would tell without noise, those of several sites together. What rows of a unit share
 * is not noise, and information leaves it out.
 */
void tacit_aware_run_compare(const tacit_aware_common_t *of, const tacit_aware_run_t *runs, size_t n) {
  double precision[TACIT_NOISE_AWARE_MAX_FEATURES * TACIT_NOISE_AWARE_MAX_FEATURES] = {0};
  bool is_known = true;
  for (size_t i = 0; i < n; i++) {
    is_known = is_known && runs[i].rounds.unit_rows.n == 1;
    tacit_aware_add_information(of, &runs[i].surrogate, runs[i].rounds.n, precision);
  }
  if (is_known) {
    tacit_aware_noise_factors(of, precision);
  }
}

static double log_density(void *posterior, const double *theta) {
  return tacit_aware_posterior_log_density(posterior, theta, NULL);
}

tacit_status_t tacit_aware_run_all(tacit_aware_run_t *run, tacit_draws_t *draws, tacit_error_t *err) {
  tacit_status_t status = tacit_aware_run_features(run, err);
  if (status == TACIT_OK && run->settings->scaled != NULL) {
    run->settings->scaled(run->settings->prior_user, run->scales);
  }
  TACIT_THEN(status, tacit_aware_run_scores(run, err));
  if (status == TACIT_OK && is_unlike(run)) {
    status = learn_by_process(run, err);
  }
  TACIT_THEN(status,
             tacit_aware_walk(&run->posterior, run->theta, run->factor, draws, run->mean, run->cov, err));
  if (status == TACIT_OK) {
    const tacit_surrogate_t *s = &run->surrogate;
    const tacit_aware_end_t end = {{s->d, run->parameters, run->settings, run->scales, run->mean, run->cov,
                                    s->mean_noise, s->eigenvalue},
                                   &run->rounds,
                                   run->moved2,
                                   run->is_wide ? run->wide.likeness : INFINITY,
                                   run->is_wide ? astray(run) : 0,
                                   run->has_normal_tails};
    tacit_aware_check(&end);
    tacit_aware_run_compare(&end.common, run, 1);
  }
  if (run->settings->effects != NULL) {
    TACIT_THEN(status,
               tacit_effects_walk(&(tacit_effects_start_t){run->surrogate.d, run->mean, run->cov, log_density,
                                                           &run->posterior, run->parameters, run->settings},
                                  draws, err));
  }
  return status;
}
