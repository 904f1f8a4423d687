/*
 * Inference for any model whose responses can be simulated (docs/theory.md, section 18.14). At nine points t,
 * or twelve, each where the last leads, in coordinates e (theta = t + A' e) in which a record's information
 * is about 1, two sums over records are released: of scores, and of what they change by in e, J, a function
 * of each record's own x. At the first seven, which show the way, scores are clipped and centred; after these
 * they are as they are, in bands by their length (program_bands.c).
 *
 * Everything of first order is released: nothing that the answer rests on is made up.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/memory.h"
#include "diagnose/diagnose.h"
#include "noise_aware/program.h"

/* ---- releases ---- */

static tacit_status_t release(tacit_program_run_t *run, tacit_aware_centred_kind_t kind, size_t round,
                              tacit_program_seen_t *seen, double *out, double *noise_sd, tacit_error_t *err) {
  double clip = kind == TACIT_CENTRED_SLOPE ? tacit_program_open_clip(run->settings) : seen->clip;
  const tacit_aware_centred_t at = {seen->theta, seen->whiten, &clip, &seen->most, TACIT_PROGRAM_SIMULATED,
                                    round};
  tacit_status_t status = tacit_aware_may_start(run->settings, err);
  return status != TACIT_OK
             ? status
             : tacit_aware_release_centred(run->curator, run->settings, kind,
                                           tacit_program_multiplier(run->settings, kind, round), &at, out,
                                           noise_sd, err);
}

/* The slope where the run is, which the metric learns from. round: looks come first. */
static tacit_status_t look_at_slope(tacit_program_run_t *run, size_t round, tacit_program_seen_t *seen,
                                    tacit_error_t *err) {
  double released[PARAMETERS * (PARAMETERS + 1) / 2];
  bool is_before = round < TACIT_PROGRAM_LOOKS;
  tacit_status_t status = release(run, TACIT_CENTRED_SLOPE, round, seen, released, &seen->slope_sd, err);
  if (status == TACIT_OK) {
    tacit_program_look(run, released, is_before, seen);
  }
  return status;
}

static void place(const tacit_program_run_t *run, size_t point, size_t round, tacit_program_seen_t *seen) {
  bool is_last = point + 1 == tacit_program_n_points(run->settings); /* nothing is clipped there */
  double clip = tacit_program_clip(run->settings, run->n, point);
  *seen = (tacit_program_seen_t){.clip = clip,
                                 .most = is_last ? 1e15 : tacit_program_most(run->settings, run->n, round)};
  memcpy(seen->theta, run->theta, sizeof seen->theta);
  memcpy(seen->whiten, run->metric.whiten, sizeof seen->whiten);
}

/* A point; the run moves on. */
static tacit_status_t visit(tacit_program_run_t *run, size_t point, tacit_error_t *err) {
  tacit_program_seen_t *seen = &run->seen;
  bool is_centred = point < TACIT_PROGRAM_CENTRED;
  place(run, point, TACIT_PROGRAM_LOOKS + point, seen);
  tacit_status_t status =
      is_centred ? release(run, TACIT_CENTRED_SCORE, point, seen, seen->score, &seen->score_sd, err)
                 : TACIT_OK;
  TACIT_THEN(status, look_at_slope(run, TACIT_PROGRAM_LOOKS + point, seen, err));
  if (status == TACIT_OK && !is_centred) {
    status = tacit_program_learn_plain(run, seen, err);
    if (status == TACIT_OK) {
      tacit_program_learn_secants(run, seen);
    }
  }
  if (status == TACIT_OK) { /* kept releases have points of their own */
    memcpy(run->theta, seen->theta, sizeof run->theta);
    if (run->curator != NULL) {
      tacit_program_step(run, &run->public, seen);
    }
  }
  return status;
}

static tacit_status_t visit_last(tacit_program_run_t *run, tacit_error_t *err) {
  size_t point = tacit_program_n_points(run->settings) - 1;
  place(run, point, TACIT_PROGRAM_LOOKS + point, &run->seen);
  tacit_status_t status = tacit_program_learn_last(run, &run->seen, err);
  memcpy(run->theta, run->seen.theta, sizeof run->theta);
  return status;
}

/* Where the way begins: the prior's mode, and coordinates by records that are spread evenly. */
static tacit_status_t start(tacit_aware_site_t *site, tacit_error_t *err) {
  tacit_program_run_t *run = site->of;
  tacit_public_t *public = &run->public;
  run->curator = site->curator;
  run->parameters = site->parameters;
  run->settings = site->settings;
  for (size_t j = 0; j < run->parameters->dim; j++) {
    run->metric.unknown[j] = 1;
  }
  tacit_status_t status = tacit_public_open(public, run->settings->records, err);
  if (status == TACIT_OK && run->curator != NULL) {
    tacit_program_climb(public->d, tacit_program_prior_density, run->parameters, run->theta);
    status = tacit_public_metric(public, run->theta, run->metric.whiten)
                 ? TACIT_OK
                 : tacit_error_set(err, TACIT_ERR_NUMERIC, "prior",
                                   "at the prior's centre no record tells anything of the parameters: "
                                   "nothing was spent on scores");
  }
  return status;
}

static tacit_status_t learn_scores(tacit_aware_site_t *site, tacit_error_t *err) {
  tacit_program_run_t *run = site->of;
  tacit_status_t status = TACIT_OK;
  run->n = site->count.n;
  for (size_t r = 0; r < TACIT_PROGRAM_LOOKS && status == TACIT_OK; r++) {
    place(run, 0, r, &run->seen);
    status = look_at_slope(run, r, &run->seen, err);
  }
  for (size_t point = 0; point + 1 < tacit_program_n_points(run->settings) && status == TACIT_OK; point++) {
    status = visit(run, point, err);
  }
  TACIT_THEN(status, visit_last(run, err));
  if (status == TACIT_OK) {
    tacit_program_conclude(run);
  }
  return status;
}

static void scores_at(const tacit_aware_site_t *site, tacit_aware_scores_at_t *at) {
  tacit_program_run_t *run = site->of;
  tacit_program_seen_t *seen = &run->seen;
  size_t d = run->parameters->dim;
  at->program = (tacit_program_point_t){
      run->settings->records,
      {seen->theta, seen->whiten, seen->clip, seen->most, TACIT_PROGRAM_SIMULATED, TACIT_PROGRAM_LAST_SEED}};
  at->banded = (tacit_aware_banded_t){.of = tacit_program_scores(&at->program),
                                      .n_parts = 2,
                                      .parts = {{"theta", d, seen->theta}, {"whiten", d * d, seen->whiten}}};
}

static void clear(void *of) { tacit_public_close(&((tacit_program_run_t *)of)->public); }

/* ---- the posterior ---- */

/* Of this site and those before it. */
static double posterior_density(const void *of, const double *theta, double *grad, double *precision) {
  const tacit_program_run_t *run = of;
  double value = run->before != NULL ? posterior_density(run->before, theta, grad, precision)
                                     : tacit_program_prior_density(run->parameters, theta, grad, precision);
  for (int i = 0; i < (TACIT_IS_PLANTED(TACIT_FAULT_LIKELIHOOD_TWICE) ? 2 : 1); i++) {
    value += tacit_program_log_likelihood(&run->own, theta, grad, precision);
  }
  return value;
}

static double log_density(const void *of, const double *theta, double *grad) {
  double value = posterior_density(of, theta, grad, NULL);
  return isnan(value) ? -INFINITY : value;
}

static double log_density_at(void *of, const double *theta) { return log_density(of, theta, NULL); }

static double log_likelihood(void *of, const double *theta) {
  return tacit_program_log_likelihood(&((const tacit_program_run_t *)of)->own, theta, NULL, NULL);
}

/* Where the site's own posterior is highest. */
static void look(void *of, double *at, double *slope, double *precision) {
  const tacit_program_run_t *run = of;
  size_t d = run->own.d;
  memcpy(at, run->theta, d * sizeof *at);
  memset(slope, 0, d * sizeof *slope);
  memset(precision, 0, d * d * sizeof *precision);
  (void)tacit_program_log_likelihood(&run->own, at, slope, precision);
}

tacit_status_t tacit_program_find_posterior(const tacit_program_run_t *run, double *mode, double *cov,
                                            tacit_error_t *err) {
  size_t d = run->parameters->dim;
  memcpy(mode, run->theta, sizeof run->theta);
  tacit_program_climb(d, posterior_density, run, mode);
  return isfinite(posterior_density(run, mode, NULL, cov)) && tacit_program_invert_positive(d, cov)
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_NUMERIC, "posterior",
                               "the posterior given the releases has no density to climb: give every "
                               "parameter a proper prior");
}

static tacit_status_t factorise(size_t d, double *cov, tacit_error_t *err) {
  return tacit_cholesky(d, cov)
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_NUMERIC, "posterior",
                               "the posterior given the releases has no spread that numbers can hold");
}

/* How bent the expected score is on made-up records, weighted as the last slope tells: scores are clipped,
 * which simulation knows better, and bends alike. */
static tacit_status_t look_at_bend(tacit_program_run_t *run, tacit_error_t *err) {
  const tacit_program_seen_t *last = &run->seen;
  const tacit_centred_point_t point = {last->theta,
                                       last->whiten,
                                       tacit_program_clip(run->settings, run->n, 0),
                                       last->most,
                                       TACIT_PROGRAM_SIMULATED,
                                       TACIT_PROGRAM_LAST_SEED};
  double mode[PARAMETERS], cov[MATRIX];
  tacit_status_t status = tacit_program_find_posterior(run, mode, cov, err);
  if (status == TACIT_OK) {
    run->said.bend = tacit_program_bend(&run->public, &point, fmin(run->n, 1e5), last->score_sd, mode, cov);
  }
  return status;
}

static tacit_status_t draw(tacit_aware_fit_t *fit, tacit_error_t *err) {
  size_t d = fit->common.d;
  tacit_program_run_t *run = fit->sites[fit->n - 1].of;
  tacit_surrogate_t only_size = {.d = d};
  tacit_aware_posterior_t posterior = {.surrogate = &only_size,
                                       .parameters = run->parameters,
                                       .settings = fit->common.settings,
                                       .density = log_density,
                                       .of = run};
  double mode[PARAMETERS], cov[MATRIX];
  for (size_t i = 1; i < fit->n; i++) {
    ((tacit_program_run_t *)fit->sites[i].of)->before = fit->sites[i - 1].of;
  }
  tacit_status_t status = fit->is_combined ? TACIT_OK : look_at_bend(run, err);
  TACIT_THEN(status, tacit_program_find_posterior(run, mode, cov, err));
  TACIT_THEN(status, factorise(d, cov, err));
  return status == TACIT_OK ? tacit_aware_walk(&posterior, mode, cov, fit->draws, fit->mean, fit->cov, err)
                            : status;
}

/* The root of what a record of all sites together tells of each parameter, the others known: the diagonal of
 * back' J back / n. */
static double pool(tacit_aware_fit_t *fit) {
  size_t d = fit->common.d;
  double told[PARAMETERS] = {0}, units = 0;
  for (size_t i = 0; i < fit->n; i++) {
    const tacit_program_run_t *run = fit->sites[i].of;
    double slope[MATRIX], own[PARAMETERS] = {0};
    tacit_multiply(d, d, d, run->seen.steep, run->own.at[0].back, slope);
    for (size_t k = 0; k < d * d; k++) {
      own[k % d] += run->own.at[0].back[k] * slope[k] / run->n;
    }
    for (size_t j = 0; j < d; j++) {
      told[j] += run->n * own[j];
    }
    units += run->n;
  }
  for (size_t j = 0; j < d; j++) {
    fit->scales[j] = (tacit_feature_scale_t){.sd = sqrt(told[j] / units)};
  }
  return 1;
}

/* Of scores by theta, as the last ones and their slopes tell. */
static bool find_sampling(const tacit_aware_fit_t *fit, size_t i, double *slope, double *cov) {
  const tacit_program_run_t *run = fit->sites[i].of;
  double sampling[MATRIX];
  tacit_program_in_theta(&run->own, run->seen.slope, slope);
  return tacit_program_find_sampling(run, &run->seen, sampling) &&
         (tacit_program_in_theta(&run->own, sampling, cov), true);
}

/* What is worst at a site is told of all; what of the reported quantities is the prior's, where draws are
 * from one prior. */
static tacit_status_t conclude(const tacit_aware_fit_t *fit, tacit_evidence_t *evidence, tacit_error_t *err) {
  size_t n = fit->common.parameters->n_reported;
  tacit_program_said_t worst = ((const tacit_program_run_t *)fit->sites->of)->said;
  for (size_t i = 1; i < fit->n; i++) {
    const tacit_program_said_t *of = &((const tacit_program_run_t *)fit->sites[i].of)->said;
    worst =
        (tacit_program_said_t){fmax(worst.last_step, of->last_step), fmin(worst.information, of->information),
                               fmax(worst.lost, of->lost),           fmax(worst.bend, of->bend),
                               fmax(worst.unseen, of->unseen),       fmax(worst.tails, of->tails)};
  }
  *evidence = (tacit_evidence_t){.n_terms = n < TACIT_MAX_EVIDENCE ? n : TACIT_MAX_EVIDENCE};
  for (size_t i = 0; i < evidence->n_terms; i++) {
    evidence->prior_sd[i] = evidence->prior_share[i] = NAN;
  }
  tacit_checks_add(&evidence->checks, TACIT_CHECK_LAST_STEP, SIZE_MAX, worst.last_step);
  tacit_checks_add(&evidence->checks, TACIT_CHECK_INFORMATION, SIZE_MAX, worst.information);
  tacit_checks_add(&evidence->checks, TACIT_CHECK_LOST, SIZE_MAX, worst.lost);
  tacit_checks_add(&evidence->checks, TACIT_CHECK_BENT, SIZE_MAX, worst.bend);
  tacit_checks_add(&evidence->checks, TACIT_CHECK_UNSEEN, SIZE_MAX, worst.unseen);
  tacit_checks_add(&evidence->checks, TACIT_CHECK_TAILS, SIZE_MAX, worst.tails);
  return fit->between > 0 ? TACIT_OK
                          : tacit_program_share(fit->sites[fit->n - 1].of, fit->mean, evidence, err);
}

const tacit_aware_provider_t tacit_provider_program = {.events = tacit_program_events,
                                                       .inflation = tacit_program_inflation,
                                                       .inflation_poor = tacit_program_inflation,
                                                       .check_budget = tacit_program_check_budget,
                                                       .hidden = tacit_program_hidden,
                                                       .most = tacit_program_most_parameters,
                                                       .check = tacit_program_check,
                                                       .counts_unit_rows = true,
                                                       .size = sizeof(tacit_program_run_t),
                                                       .open = start,
                                                       .learn_scores = learn_scores,
                                                       .scores_at = scores_at,
                                                       .clear = clear,
                                                       .log_likelihood = log_likelihood,
                                                       .look = look,
                                                       .log_density = log_density_at,
                                                       .pool = pool,
                                                       .draw = draw,
                                                       .sampling = find_sampling,
                                                       .conclude = conclude};

/* ---- what is known of records ---- */

tacit_status_t tacit_noise_aware_known(const tacit_noise_aware_settings_t *settings,
                                       const tacit_parameters_t *parameters, tacit_noise_aware_known_t *known,
                                       tacit_error_t *err) {
  tacit_aware_fit_t *fit = NULL;
  size_t d = parameters->dim;
  double mode[PARAMETERS], cov[MATRIX];
  *known = (tacit_noise_aware_known_t){0};
  settings->releases->n_taken = 0;
  known->theta = tacit_alloc_zero(d + d * d, sizeof *known->theta);
  tacit_status_t status = known->theta != NULL ? TACIT_OK : tacit_error_memory(err);
  TACIT_THEN(status, tacit_aware_open(settings, 1, parameters, &fit, err));
  TACIT_THEN(status, tacit_aware_learn(fit, err));
  TACIT_THEN(status, tacit_program_find_posterior(fit->sites->of, mode, cov, err));
  TACIT_THEN(status, factorise(d, cov, err));
  if (status == TACIT_OK) {
    tacit_program_run_t *run = fit->sites->of;
    for (size_t i = 0; i < d * d; i++) { /* columns of the factor, as rows */
      known->theta[i / d] = mode[i / d];
      known->theta[d + i] = i / d <= i % d ? cov[i % d * d + i / d] : 0;
    }
    known->axes = known->theta + d;
    known->n_units = run->n;
    known->n_records = run->public.n;
    known->seed = TACIT_PROGRAM_MADE_UP;
    known->weights = run->public.weights;
    run->public.weights = NULL;
  } else {
    tacit_noise_aware_known_clear(known);
  }
  tacit_aware_close(fit);
  return status;
}

void tacit_noise_aware_known_clear(tacit_noise_aware_known_t *known) {
  tacit_free(known->theta);
  tacit_free(known->weights);
  *known = (tacit_noise_aware_known_t){0};
}
