/* Regressions by released scores, bernoulli and poisson: which release is made when, from what is known so
 * far. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "diagnose/diagnose.h"
#include "noise_aware/scores.h"

/* Stream of the surrogate's normals; chains take the streams from 0. */
static const uint64_t surrogate_stream = UINT64_MAX;

typedef struct tacit_aware_run {
  tacit_aware_site_t *site;
  double moved2; /* see tacit_aware_end_t */
  tacit_rng_t *rng;
  tacit_surrogate_t surrogate;
  tacit_rounds_t rounds;
  tacit_aware_posterior_t posterior;
  tacit_wide_t wide;
  bool is_wide; /* sites together are not */
  double theta[TACIT_NOISE_AWARE_MAX_FEATURES],
      factor[TACIT_NOISE_AWARE_MAX_FEATURES * TACIT_NOISE_AWARE_MAX_FEATURES];
} tacit_aware_run_t;

/* Are pseudo-rows no ground for the posterior of many features, where the process can be afforded? */
static bool must_begin_again(const tacit_aware_site_t *site) {
  const tacit_aware_run_t *run = site->of;
  return run->is_wide && run->surrogate.d <= TACIT_NOISE_AWARE_MAX_NARROW &&
         (!(run->wide.likeness >= tacit_check_info(TACIT_CHECK_UNLIKE)->threshold) || run->wide.is_off);
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
static tacit_status_t seek_mode(tacit_aware_run_t *run, tacit_error_t *err) {
  const tacit_noise_aware_settings_t *s = run->site->settings;
  tacit_status_t status = climb(run, err);
  if (status != TACIT_ERR_NUMERIC || s->normal_tails == NULL || run->site->has_normal_tails) {
    return status;
  }
  s->normal_tails(s->prior_user);
  run->site->has_normal_tails = true;
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
static double astray(const tacit_aware_run_t *run, const double *mean) {
  double mean2 = distance2(run, mean, run->factor) / (double)run->surrogate.d;
  return isnan(mean2) ? INFINITY : sqrt(mean2);
}

/* All releases after the surrogate; theta ends at the mode, factor holds the shape there. */
static tacit_status_t learn(tacit_aware_run_t *run, tacit_error_t *err) {
  const tacit_noise_aware_settings_t *settings = run->site->settings;
  tacit_round_place_t place = {
      .settings = settings, .parameters = run->site->parameters, .rng = run->rng, .theta = run->theta};
  tacit_status_t status = TACIT_OK;
  for (size_t j = 0; j < TACIT_AWARE_ROUNDS && status == TACIT_OK; j++) {
    bool is_last = j + 1 == TACIT_AWARE_ROUNDS;
    place.curator = tacit_aware_curator(run->site);
    if (run->is_wide && !is_last) {
      status = tacit_wide_take_moments(&run->wide, &place, err);
    } else if (is_last) {
      place.share = share_information;
      status = run->is_wide ? tacit_wide_learn_information(&run->wide, &place, err)
                            : tacit_rounds_learn_information(&run->rounds, &place, err);
      TACIT_THEN(status, seek_mode(run, err));
      if (status == TACIT_OK && must_begin_again(run->site)) {
        return TACIT_OK;
      }
      place.curator = tacit_aware_curator(run->site);
    }
    place.share = is_last ? tacit_scores_last_share(settings) : share_score[j];
    double before[TACIT_NOISE_AWARE_MAX_FEATURES], factor[sizeof run->factor / sizeof run->factor[0]];
    memcpy(before, run->theta, sizeof before);
    memcpy(factor, run->factor, sizeof factor);
    TACIT_THEN(status, tacit_rounds_release(&run->rounds, &place, err));
    if (status == TACIT_OK && run->is_wide) {
      tacit_wide_add_round(&run->wide);
    }
    TACIT_THEN(status, seek_mode(run, err));
    if (status == TACIT_OK && is_last) {
      run->moved2 = run->wide.is_off ? INFINITY : distance2(run, before, factor);
    }
    place.factor = run->factor;
  }
  place.share = tacit_scores_squares_share(settings);
  place.curator = tacit_aware_curator(run->site);
  if (status == TACIT_OK && place.share > 0) {
    status = (tacit_aware_has_clusters(settings) ? tacit_rounds_learn_clusters
                                                 : tacit_rounds_learn_dispersion)(&run->rounds, &place, err);
    TACIT_THEN(status, seek_mode(run, err));
  }
  place.share = tacit_scores_residuals_share(settings);
  place.curator = tacit_aware_curator(run->site);
  return status == TACIT_OK && place.share > 0 ? tacit_rounds_look_at_residuals(&run->rounds, &place, err)
                                               : status;
}

static tacit_status_t learn_features(tacit_aware_site_t *site, tacit_error_t *err) {
  tacit_aware_run_t *run = site->of;
  run->site = site;
  run->is_wide = site->is_alone && !site->has_begun_again &&
                 tacit_wide_is(site->settings, site->parameters->dim, site->count.n);
  tacit_status_t status = tacit_rng_new(&run->rng, site->settings->key, surrogate_stream, err);
  TACIT_THEN(status, tacit_surrogate_init(&run->surrogate, tacit_aware_curator(site), site->settings,
                                          site->count, run->is_wide, run->rng, err));
  if (status == TACIT_OK) {
    tacit_surrogate_scales(&run->surrogate, site->scales);
    site->mean_noise = run->surrogate.mean_noise;
    site->eigenvalue = run->surrogate.eigenvalue;
  }
  return status;
}

/* All releases of scores; the posterior given them. */
static tacit_status_t learn_scores(tacit_aware_site_t *site, tacit_error_t *err) {
  tacit_aware_run_t *run = site->of;
  const tacit_parameters_t *parameters = site->parameters;
  tacit_status_t status =
      tacit_rounds_init(&run->rounds, &run->surrogate, site->count, &site->unit_rows, err);
  if (status == TACIT_OK && run->is_wide) {
    status = tacit_wide_init(&run->wide, &run->rounds, parameters, site->settings, run->rng, err);
    run->posterior = (tacit_aware_posterior_t){.wide = &run->wide,
                                               .surrogate = &run->surrogate,
                                               .parameters = parameters,
                                               .settings = site->settings};
    run->posterior.temporary =
        tacit_alloc(run->surrogate.d * run->surrogate.d, sizeof *run->posterior.temporary);
    status = status == TACIT_OK && run->posterior.temporary == NULL ? tacit_error_memory(err) : status;
  } else
    TACIT_THEN(status,
               tacit_aware_posterior_init(&run->posterior, &run->rounds, parameters, site->settings, err));
  return status == TACIT_OK ? learn(run, err) : status;
}

static void clear(void *of) {
  tacit_aware_run_t *run = of;
  tacit_aware_posterior_clear(&run->posterior);
  tacit_wide_clear(&run->wide);
  tacit_rounds_clear(&run->rounds);
  tacit_surrogate_clear(&run->surrogate);
  tacit_rng_free(run->rng);
}

/* ---- the likelihood ---- */

static double log_likelihood(void *of, const double *theta) {
  return tacit_aware_posterior_log_likelihood(&((tacit_aware_run_t *)of)->posterior, theta);
}

static void look(void *of, double *at, double *slope, double *precision) {
  tacit_aware_run_t *run = of;
  memcpy(at, run->theta, run->surrogate.d * sizeof *at);
  tacit_aware_posterior_likelihood_shape(&run->posterior, at, slope, precision);
}

static double log_density(void *of, const double *theta) {
  return tacit_aware_posterior_log_density(&((tacit_aware_run_t *)of)->posterior, theta, NULL);
}

/* ---- the fit ---- */

/* Of several sites: one set of effects for all. */
static tacit_status_t draw(tacit_aware_fit_t *fit, tacit_error_t *err) {
  tacit_aware_run_t *run = fit->sites->of;
  for (size_t i = 0; i + 1 < fit->n; i++) {
    ((tacit_aware_run_t *)fit->sites[i].of)->posterior.next =
        &((tacit_aware_run_t *)fit->sites[i + 1].of)->posterior;
  }
  tacit_status_t status = fit->is_combined ? seek_mode(run, err) : TACIT_OK;
  return status == TACIT_OK ? tacit_aware_walk(&run->posterior, run->theta, run->factor, fit->draws,
                                               fit->mean, fit->cov, err)
                            : status;
}

/* What rows of a unit share is not noise, and information leaves it out. */
static bool add_information(const tacit_aware_fit_t *fit, size_t i, double *precision) {
  const tacit_aware_run_t *run = fit->sites[i].of;
  tacit_aware_add_information(&fit->common, &run->surrogate, run->rounds.n, precision);
  return run->rounds.unit_rows.n == 1;
}

/* As if all units were behind one surrogate: what is least known of a site, is so of all. */
static tacit_status_t conclude(const tacit_aware_fit_t *fit, tacit_evidence_t *evidence, tacit_error_t *err) {
  const tacit_aware_run_t *first = fit->sites->of;
  tacit_surrogate_t surrogate = first->surrogate;
  tacit_rounds_t rounds = first->rounds;
  tacit_aware_end_t end = {fit->common,
                           &rounds,
                           first->moved2,
                           first->is_wide ? first->wide.likeness : INFINITY,
                           first->is_wide ? astray(first, fit->mean) : 0,
                           fit->sites->has_normal_tails};
  double units = first->rounds.n, count_noise = first->rounds.count_noise * first->rounds.count_noise;
  (void)err;
  for (size_t i = 1; i < fit->n; i++) {
    const tacit_aware_run_t *run = fit->sites[i].of;
    units += fit->sites[i].count.n;
    count_noise += run->rounds.count_noise * run->rounds.count_noise;
    rounds.moved = fmax(rounds.moved, run->rounds.moved);
    end.moved2 = fmax(end.moved2, run->moved2);
    end.has_normal_tails = end.has_normal_tails || fit->sites[i].has_normal_tails;
  }
  rounds.surrogate = &surrogate;
  rounds.n = units;
  rounds.count_noise = sqrt(count_noise);
  tacit_aware_check(&end, evidence);
  return TACIT_OK;
}

static tacit_status_t check(const tacit_noise_aware_settings_t *s, const tacit_parameters_t *parameters,
                            tacit_error_t *err) {
  (void)parameters;
  return tacit_family_has_moments(s->family, s->upper)
             ? TACIT_OK
             : tacit_error_set(
                   err, TACIT_ERR_ARGUMENT, "family",
                   "noise-aware regression is for families bernoulli and gaussian, and for poisson with an "
                   "upper bound "
                   "of the response between 1 and %d",
                   (int)TACIT_FAMILY_MAX_COUNT);
}

const tacit_aware_provider_t tacit_provider_scores = {.events = tacit_scores_events,
                                                      .inflation = tacit_scores_inflation,
                                                      .inflation_poor = tacit_scores_inflation_poor,
                                                      .check_budget = tacit_scores_check_budget,
                                                      .scale_doubt = tacit_scores_scale_doubt,
                                                      .most = tacit_scores_most,
                                                      .check = check,
                                                      .is_regression = true,
                                                      .counts_unit_rows = true,
                                                      .size = sizeof(tacit_aware_run_t),
                                                      .learn_features = learn_features,
                                                      .learn_scores = learn_scores,
                                                      .must_begin_again = must_begin_again,
                                                      .clear = clear,
                                                      .log_likelihood = log_likelihood,
                                                      .look = look,
                                                      .log_density = log_density,
                                                      .draw = draw,
                                                      .add_information = add_information,
                                                      .conclude = conclude,
                                                      .draw_moments = tacit_scores_draw_moments};
