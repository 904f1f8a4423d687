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

/* What the squares of a record's score may be off the model's by, in whitened units, and the least eigenvalue that they are left with. */
static const double misfit_sd = 0.5, least_square = 0.05;

/* The releases of a round at run->theta. */
static tacit_status_t release(tacit_program_run_t *run, size_t round, tacit_program_seen_t *seen, tacit_error_t *err) {
  const tacit_noise_aware_settings_t *settings = run->settings;
  double clip = 2 * sqrt((double)run->public.d);
  seen->are_of_rows = tacit_aware_has_clusters(settings) && round + 1 < TACIT_PROGRAM_ROUNDS;
  const tacit_aware_centred_t at = {run->theta, run->whiten, &clip, TACIT_PROGRAM_SIMULATED, round};
  tacit_status_t status = tacit_aware_may_start(settings, err);
  if (status == TACIT_OK) {
    status = tacit_aware_release_centred(run->curator, settings, TACIT_CENTRED_SCORE, tacit_program_score_multiplier(settings, round), &at, seen->score, &seen->noise_sd, err);
  }
  if (status == TACIT_OK && tacit_program_has_squares(round)) {
    status = tacit_aware_release_centred(run->curator, settings, seen->are_of_rows ? TACIT_CENTRED_ROW_SQUARES : TACIT_CENTRED_SQUARES,
                                         tacit_program_square_multiplier(settings, round), &at, seen->squares, &seen->square_sd, err);
  }
  if (status == TACIT_OK) {
    memcpy(seen->theta, run->theta, sizeof seen->theta);
    seen->point = (tacit_centred_point_t){seen->theta, run->whiten, clip, TACIT_PROGRAM_SIMULATED, round};
  }
  return status;
}

/*
 * squares (d, d) <- those expected now, and of what the released ones are off by the part that noise does not explain. Where units have several rows those of
 * the means of these are at most what is expected, and tell nothing of the program's law: rows' squares do, of the round before.
 */
static void find_squares(tacit_program_run_t *run, const tacit_program_seen_t *seen, double *squares) {
  size_t d = run->public.d;
  double work[2 * MATRIX + TACIT_NOISE_AWARE_MAX_NARROW], noise = seen->square_sd / run->n, share = misfit_sd * misfit_sd / (misfit_sd * misfit_sd + noise * noise);
  tacit_public_mean(&run->public, d * d, run->public.squares, squares);
  double expected = 0, seen_more = -3 * noise * sqrt((double)d);
  for (size_t i = 0, k = 0; i < d; k += d - i, i++) {
    expected += squares[i * d + i];
    seen_more += seen->squares[k] / run->n - squares[i * d + i];
  }
  run->excess = tacit_aware_has_clusters(run->settings) && !seen->are_of_rows ? run->excess : seen_more / expected;
  for (size_t i = 0, k = 0; i < d; i++) {
    for (size_t j = i; j < d; j++, k++) {
      squares[i * d + j] += share * (seen->squares[k] * (i == j ? 1 : sqrt(0.5)) / run->n - squares[i * d + j]);
      squares[j * d + i] = squares[i * d + j];
    }
  }
  tacit_raise_eigenvalues(d, squares, least_square, work);
  for (size_t i = 0; i < d * d; i++) {
    squares[i] *= run->n;
  }
}

/* The root that a round's releases lead to, and what is known of it: H = n E v s' as the model has it, M what was released. */
static tacit_status_t find_root(tacit_program_run_t *run, const tacit_program_seen_t *seen, tacit_root_t *root, tacit_error_t *err) {
  size_t d = run->public.d;
  double slope[MATRIX], inverse[MATRIX], squares[MATRIX], moved[TACIT_NOISE_AWARE_MAX_NARROW];
  tacit_public_expect(&run->public, &seen->point, seen->theta);
  tacit_program_slope(run, run->settings->fault_for_tests == TACIT_NOISE_AWARE_SQUARES_FOR_SLOPES ? run->public.squares : run->public.with_score, slope);
  find_squares(run, seen, squares);
  memcpy(root->at, run->theta, sizeof root->at);
  if (!tacit_program_invert(d, slope, inverse)) {
    return tacit_error_set(err, TACIT_ERR_NUMERIC, "releases", "the released scores do not tell how they depend on the parameters");
  }
  tacit_program_apply(d, inverse, seen->score, moved);
  for (size_t j = 0; j < d; j++) {
    root->theta[j] = run->theta[j] + moved[j];
  }
  tacit_program_sandwich(d, inverse, squares, root->sampling);
  for (size_t i = 0; i < d * d; i++) {
    root->noise[i] = seen->noise_sd * seen->noise_sd * tacit_dot(d, inverse + i / d * d, inverse + i % d * d);
  }
  return TACIT_OK;
}

/* A round: *root <- where its releases lead, of the last two; the point moves on. */
static tacit_status_t make_round(tacit_program_run_t *run, size_t round, tacit_root_t roots[2], tacit_error_t *err) {
  tacit_program_seen_t seen;
  tacit_status_t status = release(run, round, &seen, err);
  if (status == TACIT_OK && tacit_program_has_squares(round)) {
    status = find_root(run, &seen, &roots[round + 2 - TACIT_PROGRAM_ROUNDS], err);
  }
  if (status == TACIT_OK && round + 1 < TACIT_PROGRAM_ROUNDS && run->curator != NULL) { /* kept releases have points of their own */
    tacit_program_follow(run, &seen);
    (void)tacit_public_metric(&run->public, run->theta, run->whiten);
  }
  return status;
}

/* The last two roots, whose noises are independent and whose sampling error is the same, as one normal law around theta. */
static tacit_status_t join(tacit_program_run_t *run, const tacit_root_t roots[2], tacit_error_t *err) {
  size_t d = run->public.d;
  bool is_wrong = run->settings->fault_for_tests == TACIT_NOISE_AWARE_ROUNDS_INDEPENDENT;
  tacit_program_normal_t *normal = &run->normal;
  double weights[2][MATRIX], part[TACIT_NOISE_AWARE_MAX_NARROW], sum[TACIT_NOISE_AWARE_MAX_NARROW] = {0}, cov[MATRIX];
  normal->d = d;
  for (size_t r = 0; r < 2; r++) {
    for (size_t i = 0; i < d * d; i++) {
      weights[r][i] = roots[r].noise[i] + (is_wrong ? roots[r].sampling[i] : 1e-12 * roots[r].sampling[i]);
    }
    if (!tacit_program_invert_positive(d, weights[r])) {
      return tacit_error_set(err, TACIT_ERR_NUMERIC, "releases", "the noise of the released scores has no inverse");
    }
    tacit_program_apply(d, weights[r], roots[r].theta, part);
    for (size_t j = 0; j < d; j++) {
      sum[j] += part[j];
    }
  }
  for (size_t i = 0; i < d * d; i++) {
    cov[i] = weights[0][i] + weights[1][i];
  }
  bool ok = tacit_program_invert_positive(d, cov);
  tacit_program_apply(d, cov, sum, normal->theta);
  for (size_t i = 0; i < d * d; i++) {
    normal->cov[i] = normal->precision[i] = cov[i] + (is_wrong ? 0 : roots[1].sampling[i]);
  }
  ok = ok && tacit_program_invert_positive(d, normal->precision);
  /* how far the last step goes, in what it may be */
  double step[TACIT_NOISE_AWARE_MAX_NARROW], may[MATRIX], solved[TACIT_NOISE_AWARE_MAX_NARROW];
  for (size_t i = 0; i < d * d; i++) {
    may[i] = normal->cov[i] + roots[0].noise[i] + roots[1].noise[i];
  }
  for (size_t j = 0; j < d; j++) {
    step[j] = roots[1].theta[j] - roots[1].at[j];
  }
  ok = ok && tacit_program_invert_positive(d, may);
  tacit_program_apply(d, may, step, solved);
  run->moved2 = tacit_dot(d, step, solved);
  return ok ? TACIT_OK : tacit_error_set(err, TACIT_ERR_NUMERIC, "releases", "the released scores do not tell how uncertain they are");
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

tacit_status_t tacit_program_draw(tacit_program_run_t *run, tacit_draws_t *draws, tacit_error_t *err) {
  size_t d = run->public.d;
  tacit_surrogate_t only_size = {.d = d};
  tacit_aware_posterior_t posterior = {.surrogate = &only_size, .parameters = run->parameters, .settings = run->settings, .program = run};
  double mode[TACIT_NOISE_AWARE_MAX_NARROW], factor[MATRIX], grad[TACIT_NOISE_AWARE_MAX_NARROW], mean[TACIT_NOISE_AWARE_MAX_NARROW], cov[MATRIX];
  memcpy(mode, run->theta, sizeof mode);
  tacit_program_climb(d, posterior_density, run, mode);
  if (!isfinite(posterior_density(run, mode, grad, factor)) || !tacit_program_invert_positive(d, factor) || !tacit_cholesky(d, factor)) {
    return tacit_error_set(err, TACIT_ERR_NUMERIC, "posterior", "the posterior given the releases has no density to climb: give every parameter a proper prior");
  }
  return tacit_aware_walk(&posterior, mode, factor, draws, mean, cov, err);
}

void tacit_program_end(const tacit_program_run_t *run) {
  tacit_evidence_t *evidence = run->settings->evidence;
  size_t n = run->parameters->n_reported;
  if (evidence == NULL) {
    return;
  }
  *evidence = (tacit_evidence_t){.n_terms = n < TACIT_MAX_EVIDENCE ? n : TACIT_MAX_EVIDENCE};
  for (size_t i = 0; i < evidence->n_terms; i++) {
    evidence->prior_sd[i] = evidence->prior_share[i] = NAN;
  }
  tacit_checks_add(&evidence->checks, TACIT_CHECK_LAST_STEP, SIZE_MAX, tacit_chi_square_quantile(run->moved2, (double)run->public.d));
  tacit_checks_add(&evidence->checks, TACIT_CHECK_OUTCOMES_VARY_MORE, SIZE_MAX, fmax(run->excess, 0));
  tacit_checks_add(&evidence->checks, TACIT_CHECK_COLUMN_UNKNOWN, SIZE_MAX, run->public.unknown);
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
             : tacit_error_set(err, TACIT_ERR_NUMERIC, "prior", "at the prior's centre no record tells anything of the parameters: nothing was spent on scores");
}

tacit_status_t tacit_program_learn(tacit_program_run_t *run, tacit_error_t *err) {
  tacit_root_t roots[2];
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
    status = make_round(run, r, roots, err);
  }
  return status == TACIT_OK ? join(run, roots, err) : status;
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
    tacit_program_end(run);
  }
  tacit_public_close(&run->public);
  tacit_free(run);
  return status;
}

