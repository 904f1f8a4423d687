/*
 * Inference for any model whose responses can be simulated (docs/theory.md, section 18.14): moments of columns, which made-up records are
 * made like (program_spread.c), then centred scores at five points, each where the last leads (program_follow.c). At the last two squares of
 * scores are released as well. The root t + H^-1 S of a round has privacy noise of its own and a sampling error H^-1 M H^-T that all rounds
 * share, S = sum v, M = sum v v' (v of a unit: the mean over its rows), and by the information identity, over made-up records,
 *
 *     H = d E S / d theta = n E v s'.
 *
 * The posterior is made of the last two roots.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "noise_aware/program.h"

/* The releases of a round at run->theta. */
static tacit_status_t release(tacit_program_run_t *run, size_t round, tacit_program_seen_t *seen, tacit_error_t *err) {
  const tacit_noise_aware_settings_t *settings = run->settings;
  double clip = 2 * sqrt((double)run->public.d);
  seen->are_of_rows = tacit_aware_has_clusters(settings) && round + 1 < TACIT_PROGRAM_ROUNDS;
  const tacit_aware_centred_t at = {run->theta, run->whiten, &clip, TACIT_PROGRAM_SIMULATED, round};
  tacit_status_t status = tacit_aware_may_start(settings, err);
  if (status == TACIT_OK) {
    status = tacit_aware_release_centred(run->curator, settings, TACIT_CENTRED_SCORE, tacit_program_score_multiplier(settings, round), &at,
                                         seen->score, &seen->noise_sd, err);
  }
  if (status == TACIT_OK && tacit_program_has_squares(round)) {
    status = tacit_aware_release_centred(run->curator, settings, seen->are_of_rows ? TACIT_CENTRED_ROW_SQUARES : TACIT_CENTRED_SQUARES,
                                         tacit_program_square_multiplier(settings, round), &at, seen->squares, &seen->square_sd, err);
  }
  if (status == TACIT_OK) {
    memcpy(seen->theta, run->theta, sizeof seen->theta);
    memcpy(seen->whiten, run->whiten, sizeof seen->whiten);
    seen->point = (tacit_centred_point_t){seen->theta, seen->whiten, clip, TACIT_PROGRAM_SIMULATED, round};
  }
  return status;
}

/* A round; the point moves on. */
static tacit_status_t make_round(tacit_program_run_t *run, size_t round, tacit_program_seen_t *seen, tacit_error_t *err) {
  tacit_status_t status = release(run, round, seen, err);
  if (status == TACIT_OK && round + 1 < TACIT_PROGRAM_ROUNDS && run->curator != NULL) { /* kept releases have points of their own */
    tacit_program_follow(run, seen);
    (void)tacit_public_metric(&run->public, run->theta, run->whiten);
  }
  return status;
}

static double posterior_density(const void *of, const double *theta, double *grad, double *precision) {
  const tacit_program_run_t *run = of;
  size_t d = run->public.d;
  double value = tacit_program_prior_density(run->parameters, theta, grad, precision);
  double off[TACIT_NOISE_AWARE_MAX_NARROW], solved[TACIT_NOISE_AWARE_MAX_NARROW];
  for (size_t j = 0; j < d; j++) {
    off[j] = theta[j] - run->normal.theta[j];
  }
  tacit_program_apply(d, run->normal.precision, off, solved);
  for (size_t j = 0; j < d && grad != NULL; j++) {
    grad[j] -= solved[j];
  }
  for (size_t i = 0; i < d * d && precision != NULL; i++) {
    precision[i] += run->normal.precision[i];
  }
  return value - 0.5 * tacit_dot(d, off, solved);
}

double tacit_program_log_density(const tacit_program_run_t *run, const double *theta, double *grad) {
  double value = posterior_density(run, theta, grad, NULL);
  return isnan(value) ? -INFINITY : value;
}

tacit_status_t tacit_program_find_posterior(const tacit_program_run_t *run, double *mode, double *cov, tacit_error_t *err) {
  memcpy(mode, run->theta, sizeof run->theta);
  tacit_program_climb(run->public.d, posterior_density, run, mode);
  return isfinite(posterior_density(run, mode, NULL, cov)) && tacit_program_invert_positive(run->public.d, cov)
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_NUMERIC, "posterior",
                               "the posterior given the releases has no density to climb: give every parameter a proper prior");
}

/* Draw from the posterior given the normal law. */
tacit_status_t tacit_program_draw(tacit_program_run_t *run, tacit_draws_t *draws, tacit_error_t *err) {
  size_t d = run->public.d;
  tacit_surrogate_t only_size = {.d = d};
  tacit_aware_posterior_t posterior = {.surrogate = &only_size, .parameters = run->parameters, .settings = run->settings, .program = run};
  double mode[TACIT_NOISE_AWARE_MAX_NARROW], factor[MATRIX], mean[TACIT_NOISE_AWARE_MAX_NARROW], cov[MATRIX];
  tacit_status_t status = tacit_program_find_posterior(run, mode, factor, err);
  if (status == TACIT_OK && !tacit_cholesky(d, factor)) {
    status = tacit_error_set(err, TACIT_ERR_NUMERIC, "posterior", "the posterior given the releases has no spread that numbers can hold");
  }
  return status == TACIT_OK ? tacit_aware_walk(&posterior, mode, factor, draws, mean, cov, err) : status;
}

tacit_status_t tacit_program_end(const tacit_program_run_t *run, bool has_shares, tacit_error_t *err) {
  tacit_evidence_t *evidence = run->settings->evidence;
  size_t n = run->parameters->n_reported;
  if (evidence == NULL) {
    return TACIT_OK;
  }
  *evidence = (tacit_evidence_t){.n_terms = n < TACIT_MAX_EVIDENCE ? n : TACIT_MAX_EVIDENCE};
  for (size_t i = 0; i < evidence->n_terms; i++) {
    evidence->prior_sd[i] = evidence->prior_share[i] = NAN;
  }
  tacit_checks_add(&evidence->checks, TACIT_CHECK_LAST_STEP, SIZE_MAX, tacit_chi_square_quantile(run->moved2, (double)run->public.d));
  tacit_checks_add(&evidence->checks, TACIT_CHECK_OUTCOMES_VARY_MORE, SIZE_MAX, fmax(run->excess, 0));
  tacit_checks_add(&evidence->checks, TACIT_CHECK_COLUMN_UNKNOWN, SIZE_MAX, run->public.unknown);
  tacit_checks_add(&evidence->checks, TACIT_CHECK_BENT, SIZE_MAX, run->bend);
  return has_shares ? tacit_program_share(run, evidence, err) : TACIT_OK;
}

/* What records' columns are like; made-up ones are chosen by it. */
static tacit_status_t learn_columns(tacit_program_run_t *run, tacit_error_t *err) {
  tacit_aware_columns_t *columns = &run->public.columns;
  double moments[(TACIT_AWARE_MAX_COLUMNS + 1) * (TACIT_AWARE_MAX_COLUMNS + 2) / 2], noise_sd;
  tacit_status_t status = TACIT_OK;
  for (int is_whitened = 0; is_whitened < 2 && columns->n > 0 && status == TACIT_OK; is_whitened++) {
    columns->is_whitened = is_whitened;
    status = tacit_aware_release_columns(run->curator, run->settings, tacit_program_columns_multiplier(run->settings, is_whitened), columns, moments,
                                         &noise_sd, err);
    for (size_t k = 0; k < (columns->n + 1) * (columns->n + 2) / 2 && status == TACIT_OK; k++) {
      moments[k] /= run->n;
    }
    if (status == TACIT_OK) {
      status = (is_whitened ? tacit_public_learn : tacit_public_scale)(&run->public, moments, noise_sd / run->n, err);
    }
  }
  return status;
}

/* Where the way begins: the prior's mode. Kept releases have points of their own. */
static tacit_status_t start(tacit_program_run_t *run, tacit_error_t *err) {
  if (run->curator == NULL) {
    return TACIT_OK;
  }
  tacit_program_climb(run->public.d, tacit_program_prior_density, run->parameters, run->theta);
  return tacit_public_metric(&run->public, run->theta, run->whiten)
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_NUMERIC, "prior",
                               "at the prior's centre no record tells anything of the parameters: nothing was spent on scores");
}

tacit_status_t tacit_program_learn(tacit_program_run_t *run, tacit_error_t *err) {
  tacit_program_seen_t seen[2]; /* of the last two rounds */
  tacit_aware_count_t count;
  tacit_status_t status = tacit_aware_learn_count(run->curator, run->settings, &count, err);
  if (status == TACIT_OK) {
    run->n = count.n;
    status = tacit_public_open(&run->public, run->settings->records, err);
  }
  if (status == TACIT_OK) {
    status = learn_columns(run, err);
  }
  if (status == TACIT_OK) {
    status = start(run, err);
  }
  for (size_t r = 0; r < TACIT_PROGRAM_ROUNDS && status == TACIT_OK; r++) {
    status = make_round(run, r, &seen[(TACIT_PROGRAM_ROUNDS - 1 - r) % 2 == 0], err);
  }
  return status == TACIT_OK ? tacit_program_settle(run, seen, err) : status;
}

tacit_status_t tacit_noise_aware_known(const tacit_noise_aware_settings_t *settings, const tacit_parameters_t *parameters,
                                       tacit_noise_aware_known_t *known, tacit_error_t *err) {
  tacit_program_run_t *run = tacit_alloc_zero(1, sizeof *run);
  *known = (tacit_noise_aware_known_t){0};
  if (run == NULL) {
    return tacit_error_memory(err);
  }
  size_t d = parameters->dim;
  run->parameters = parameters;
  run->settings = settings;
  settings->releases->n_taken = 0;
  known->theta = tacit_alloc_zero(d + d * d, sizeof *known->theta);
  tacit_status_t status = known->theta != NULL ? tacit_program_learn(run, err) : tacit_error_memory(err);
  if (status == TACIT_OK) {
    double mode[TACIT_NOISE_AWARE_MAX_NARROW], cov[MATRIX];
    status = tacit_program_find_posterior(run, mode, cov, err);
    if (status == TACIT_OK && !tacit_cholesky(d, cov)) {
      status = tacit_error_set(err, TACIT_ERR_NUMERIC, "posterior", "the posterior given the releases has no spread that numbers can hold");
    }
    for (size_t i = 0; i < d * d && status == TACIT_OK; i++) { /* columns of the factor, as rows */
      known->theta[i / d] = mode[i / d];
      known->theta[d + i] = i / d <= i % d ? cov[i % d * d + i / d] : 0;
    }
  }
  known->n_units = run->n;
  known->n_records = run->public.n;
  known->seed = TACIT_PROGRAM_MADE_UP;
  known->weights = run->public.weights;
  known->numbers = run->public.spread;
  run->public.weights = run->public.spread = NULL;
  tacit_public_close(&run->public);
  tacit_free(run);
  if (status == TACIT_OK) {
    size_t n = settings->records->n_sources;
    known->axes = known->theta + d;
    known->spread = (tacit_spread_t){known->numbers, known->numbers + n, known->numbers + 2 * n};
    return TACIT_OK;
  }
  tacit_noise_aware_known_clear(known);
  return status;
}

void tacit_noise_aware_known_clear(tacit_noise_aware_known_t *known) {
  tacit_free(known->theta);
  tacit_free(known->weights);
  tacit_free(known->numbers);
  *known = (tacit_noise_aware_known_t){0};
}

tacit_status_t tacit_aware_program(tacit_curator_t *curator, const tacit_parameters_t *parameters, const tacit_noise_aware_settings_t *settings,
                                   tacit_draws_t *draws, tacit_error_t *err) {
  tacit_program_run_t *run = tacit_alloc_zero(1, sizeof *run);
  if (run == NULL) {
    return tacit_error_memory(err);
  }
  run->curator = curator;
  run->parameters = parameters;
  run->settings = settings;
  tacit_status_t status = tacit_program_learn(run, err);
  status = status == TACIT_OK ? tacit_program_draw(run, draws, err) : status;
  if (status == TACIT_OK) {
    status = tacit_program_end(run, true, err);
  }
  tacit_public_close(&run->public);
  tacit_free(run);
  return status;
}

