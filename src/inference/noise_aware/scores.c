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
  double moved2; /* how far the last score moved the mode, squared, in sds */
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

/*
 * theta <- of counts, whose first score is at 0, the intercept that has their mean by it. The posterior given
 * one score has other modes: where one of exp(x theta) is large those of all others are as if they were not
 * there, and from 0 an ascent by a slope that is the mean of 1 goes far beyond the answer.
 */
static void begin_at_mean(tacit_aware_run_t *run) {
  const tacit_rounds_t *r = &run->rounds;
  const double least = 0.05;
  double upper = run->site->settings->upper,
         residual = r->released[0] * r->count_noise / sqrt(r->noise_var[0]) / r->n;
  if (run->site->settings->family == TACIT_FAMILY_POISSON && isfinite(residual)) {
    run->theta[0] = log(fmin(fmax(1 + residual, least), fmax(upper, least)));
  }
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
    if (status == TACIT_OK && j == 0) {
      begin_at_mean(run);
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

static void scores_at(const tacit_aware_site_t *site, tacit_aware_scores_at_t *at) {
  tacit_aware_run_t *run = site->of;
  tacit_rounds_t *r = &run->rounds;
  size_t d = run->surrogate.d;
  at->family = (tacit_score_point_t){.family = (int)site->settings->family,
                                     .upper = site->settings->upper,
                                     .theta = r->last_theta,
                                     .whiten = r->last_whiten,
                                     .radius = 1};
  at->of_family = (tacit_family_point_t){&at->family, d};
  at->banded =
      (tacit_aware_banded_t){.of = tacit_family_scores(&at->of_family),
                             .n_parts = 2,
                             .parts = {{"theta", d, r->last_theta}, {"whiten", d * d, r->last_whiten}}};
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

/* What a response at pseudo-row k is expected to be at the draws' mean. */
static tacit_family_moments_t moments_at(const tacit_aware_fit_t *fit, const tacit_surrogate_t *s, size_t k) {
  double eta = 0;
  for (size_t j = 0; j < s->d; j++) {
    eta += fit->mean[j] * s->x[j * s->n_rows + k];
  }
  return tacit_family_moments(fit->common.settings->family, fit->common.settings->upper, eta);
}

/* out (d, d) += weight x x' of pseudo-row k. */
static void add_row(const tacit_surrogate_t *s, size_t k, double weight, double *out) {
  for (size_t a = 0; a < s->d * s->d; a++) {
    out[a] += weight * s->x[a / s->d * s->n_rows + k] * s->x[a % s->d * s->n_rows + k];
  }
}

/* What rows of a unit share is not noise, and information leaves it out. */
static bool add_information(const tacit_aware_fit_t *fit, size_t i, double *precision) {
  const tacit_aware_run_t *run = fit->sites[i].of;
  const tacit_surrogate_t *s = &run->surrogate;
  for (size_t k = 0; k < s->n_rows; k++) {
    tacit_family_moments_t m = moments_at(fit, s, k);
    add_row(s, k, m.variance > 0 ? run->rounds.n * s->weight[k] * m.slope * m.slope / m.variance : 0,
            precision);
  }
  return run->rounds.unit_rows.n == 1;
}

/* out (d, d) += n L^-1 (middle + excess I) L^-T. */
static void add_in_frame(size_t d, const double *inverse, const double *middle, double excess, double n,
                         double *out) {
  enum { MOST = TACIT_NOISE_AWARE_MAX_FEATURES };
  double sum[MOST * MOST] = {0}, work[MOST * MOST];
  for (size_t a = 0; a < d * d; a++) {
    sum[a] = middle[a] + (a / d == a % d ? excess : 0);
  }
  tacit_sandwich(d, inverse, sum, work, sum);
  for (size_t a = 0; a < d * d; a++) {
    out[a] += n * sum[a];
  }
}

/* cov (d, d) += what rows of a unit share, by the last round. */
static void add_shared(const tacit_rounds_t *r, double *cov) {
  enum { MOST = TACIT_NOISE_AWARE_MAX_NARROW };
  size_t d = r->surrogate->d, width = TACIT_AWARE_ROUNDS * d, last = (r->n_rounds - 1) * d;
  double inverse[MOST * MOST] = {0}, shared[MOST * MOST];
  tacit_invert_lower(d, r->last_whiten, inverse);
  for (size_t a = 0; a < d * d; a++) {
    shared[a] = r->clustered[(last + a / d) * width + last + a % d];
  }
  add_in_frame(d, inverse, shared, 0, 1, cov);
}

/* Of rows without weights, which tell more. Of many features with the information's error, and the largest
 * eigenvalue that its noise has. */
static bool find_sampling(const tacit_aware_fit_t *fit, size_t i, double *slope, double *cov) {
  const tacit_aware_run_t *run = fit->sites[i].of;
  const tacit_surrogate_t *s = &run->surrogate;
  const tacit_rounds_t *r = &run->rounds;
  const tacit_frame_t *frame = &run->wide.frame;
  double sum, root;
  tacit_aware_weigh(&r->unit_rows, INFINITY, &sum, &root);
  for (size_t k = 0; k < s->n_rows; k++) {
    tacit_family_moments_t m = moments_at(fit, s, k);
    add_row(s, k, r->n * sum * (s->is_wide ? s->weight[k] : r->scale[k]) * m.slope, slope);
    tacit_rounds_disperse(r, &m);
    add_row(s, k, r->n * root * root * s->weight[k] * m.variance, cov);
  }
  if (r->clustered != NULL) {
    add_shared(r, cov);
  }
  if (run->is_wide) {
    double most = 2 * sqrt((double)s->d * frame->variance);
    add_in_frame(s->d, frame->inverse, frame->error, most, r->n, slope);
    add_in_frame(s->d, frame->inverse, frame->error, most, r->n, cov);
  }
  return true;
}

/* Records of the rarer outcome, of n, by the fitted means of the surrogate at the posterior mean. */
static double count_rarer(const tacit_aware_fit_t *fit, const tacit_surrogate_t *s, double n) {
  double *spread = tacit_alloc(s->n_rows, sizeof *spread), mean = NAN;
  if (spread != NULL) {
    tacit_round_spread(s, fit->common.settings, fit->mean, spread);
    mean = 0.5 + tacit_dot(s->n_rows, s->weight, spread);
  }
  tacit_free(spread);
  return n * fmin(mean, 1 - mean);
}

/* As if all units were behind one surrogate: what is least known of a site, is so of all. */
static tacit_status_t conclude(const tacit_aware_fit_t *fit, tacit_evidence_t *evidence, tacit_error_t *err) {
  const tacit_aware_run_t *first = fit->sites->of;
  tacit_checks_t *checks = &evidence->checks;
  double units = 0, noise2 = 0, moved2 = first->moved2, moved = first->rounds.moved;
  bool has_normal_tails = false;
  (void)err;
  for (size_t i = 0; i < fit->n; i++) {
    const tacit_aware_run_t *run = fit->sites[i].of;
    units += run->rounds.n;
    noise2 += run->rounds.count_noise * run->rounds.count_noise;
    moved = fmax(moved, run->rounds.moved);
    moved2 = fmax(moved2, run->moved2);
    has_normal_tails = has_normal_tails || fit->sites[i].has_normal_tails;
  }
  tacit_aware_check_common(&fit->common, evidence);
  tacit_checks_add(checks, TACIT_CHECK_FAR, SIZE_MAX,
                   tacit_chi_square_quantile(moved2, (double)fit->common.d));
  tacit_checks_add(checks, TACIT_CHECK_WRONG_MEAN, SIZE_MAX, moved);
  tacit_checks_add(checks, TACIT_CHECK_NORMAL_TAILS, SIZE_MAX, has_normal_tails);
  if (first->is_wide) {
    tacit_checks_add(checks, TACIT_CHECK_UNLIKE, SIZE_MAX, first->wide.likeness);
    tacit_checks_add(checks, TACIT_CHECK_ASTRAY, SIZE_MAX, astray(first, fit->mean));
  }
  if (fit->common.settings->family == TACIT_FAMILY_BERNOULLI) {
    tacit_checks_add(checks, TACIT_CHECK_FEW_POSITIVES, SIZE_MAX,
                     count_rarer(fit, &first->surrogate, units) / sqrt(noise2));
  }
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
                                                      .scores_at = scores_at,
                                                      .clear = clear,
                                                      .log_likelihood = log_likelihood,
                                                      .look = look,
                                                      .log_density = log_density,
                                                      .draw = draw,
                                                      .add_information = add_information,
                                                      .sampling = find_sampling,
                                                      .conclude = conclude,
                                                      .draw_moments = tacit_scores_draw_moments};
