/* The schedule: which release is made when, from what is known so far. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "noise_aware/exchange.h"
#include "noise_aware/gaussian.h"
#include "noise_aware/schedule.h"

/* Stream of the surrogate's normals; chains take the streams from 0. */
static const uint64_t surrogate_stream = UINT64_MAX;

/* The radius that the predicted inflation takes, in units of sqrt(d / Var y): typical of what the rule for R chooses. */
static const double nominal_radius = 0.7;

/* What is assumed where the worst is forecast: of a feature at -1 in 2 % of records, else 1. */
static const double rare_variance = 4 * 0.02 * 0.98;

/* Noise of scores then beside that of rows in the cube: what a surrogate does not know of a few records comes on top; measured. */
static const double poor_excess = 4;

/* The same of a linear regression, by its noise ratio; and the ratio above which it is warned. */
static const double gaussian_poor = 3.5, ratio_noisy = 2;

tacit_noise_aware_settings_t tacit_noise_aware_settings_default(void) {
  return (tacit_noise_aware_settings_t){
      .family = TACIT_FAMILY_BERNOULLI, .upper = 1, .n_chains = 4, .n_warmup = 500, .n_draws = 1000, .thin = 1};
}

typedef struct planned {
  double share;
  const char *label;
} planned_t;

bool tacit_aware_is_count_private(const tacit_noise_aware_settings_t *settings) {
  return settings->relation == TACIT_RELATION_ADD_REMOVE || settings->may_drop;
}

/* Of the release of squares of scores, after the last score; 0: there is none. */
static double squares_share(const tacit_noise_aware_settings_t *settings) {
  return tacit_aware_has_clusters(settings) ? share_clusters : settings->family == TACIT_FAMILY_POISSON ? share_squares : 0;
}

/* Share of the last score. */
static double last_share(const tacit_noise_aware_settings_t *settings) {
  double others = squares_share(settings) + (tacit_aware_has_clusters(settings) ? share_rows : 0);
  return share_score[TACIT_AWARE_ROUNDS - 1] - (tacit_aware_is_count_private(settings) ? share_count : 0) - others;
}

size_t tacit_noise_aware_events(const tacit_noise_aware_settings_t *settings, tacit_event_t events[TACIT_NOISE_AWARE_N_EVENTS]) {
  const double last = last_share(settings);
  const planned_t of_scores[] = {{share_cube, "second moments"},        {share_whitened, "whitened second moments"},
                                 {share_score[0], "weighted score"},    {share_score[1], "weighted score"},
                                 {share_information, "information"},    {last, "weighted score"},
                                 {share_count, "number of units"},      {squares_share(settings), "squares of scores"},
                                 {share_rows, "rows of units"}};
  if (settings->records != NULL) {
    return tacit_program_events(settings, events);
  }
  if (settings->family == TACIT_FAMILY_GAUSSIAN) {
    return tacit_gaussian_events(settings, events);
  }
  const bool is_made[] = {true, true, true, true, true, true, tacit_aware_is_count_private(settings), squares_share(settings) > 0,
                          tacit_aware_has_clusters(settings)};
  size_t n = 0;
  for (size_t i = 0; i < sizeof of_scores / sizeof of_scores[0]; i++) {
    events[n] = (tacit_event_t){
        .kind = TACIT_EVENT_GAUSSIAN, .noise_multiplier = schedule_multiplier(settings->rho, of_scores[i].share), .count = 1};
    snprintf(events[n].label, sizeof events[n].label, "%s", of_scores[i].label);
    n += is_made[i];
  }
  return n;
}

/* Of a linear regression, by the noise ratio P: measured, see experiments/honesty. */
static double gaussian_inflation(tacit_noise_aware_settings_t settings, size_t dim, double n_units, double excess) {
  settings.n_features = dim;
  settings.n_units = n_units;
  return hypot(1, excess * tacit_gaussian_noise_ratio(&settings));
}

double tacit_noise_aware_inflation(const tacit_noise_aware_settings_t *settings, size_t dim, double n_units) {
  if (settings->records != NULL) {
    return tacit_program_inflation(settings, n_units);
  }
  if (settings->family == TACIT_FAMILY_GAUSSIAN) {
    return gaussian_inflation(*settings, dim, n_units, 1);
  }
  double mu2 = 2 * settings->rho * share_score[2], factor = settings->relation == TACIT_RELATION_ADD_REMOVE ? 1 : 2;
  double variance = settings->family == TACIT_FAMILY_BERNOULLI ? 0.15 : 1;
  double noise = factor * factor * nominal_radius * nominal_radius * (double)dim * settings->upper * settings->upper / variance;
  return sqrt(1 + noise / (mu2 * n_units));
}

double tacit_noise_aware_inflation_poor(const tacit_noise_aware_settings_t *settings, size_t dim, double n_units) {
  if (settings->records != NULL) {
    return tacit_program_inflation(settings, n_units);
  }
  if (settings->family == TACIT_FAMILY_GAUSSIAN) {
    return gaussian_inflation(*settings, dim, n_units, gaussian_poor);
  }
  double factor = settings->relation == TACIT_RELATION_ADD_REMOVE ? 1 : 2, n_columns = (double)dim;
  double spread = dim > 1 ? rare_variance : 1, mu2 = 2 * settings->rho * share_score[2];
  double rows = (double)(settings->max_rows > 1 ? settings->max_rows : 1); /* at worst independent: then they tell as much more without privacy */
  double noise = rows * poor_excess * factor * factor * n_columns * settings->upper * settings->upper / (settings->family == TACIT_FAMILY_BERNOULLI ? 0.15 : 1);
  return fmax(sqrt(1 + noise / (mu2 * n_units * spread)), tacit_noise_aware_inflation(settings, dim, n_units));
}

tacit_status_t tacit_noise_aware_check_budget(const tacit_noise_aware_settings_t *settings, tacit_error_t *err) {
  return settings->records != NULL                     ? tacit_program_check(settings, err)
         : settings->family == TACIT_FAMILY_GAUSSIAN ? tacit_gaussian_check(settings, err)
                                                     : TACIT_OK;
}

bool tacit_noise_aware_is_noisy(const tacit_noise_aware_settings_t *settings) {
  return settings->records == NULL && settings->family == TACIT_FAMILY_GAUSSIAN && tacit_gaussian_noise_ratio(settings) > ratio_noisy;
}

bool tacit_aware_goes_on(const tacit_noise_aware_settings_t *settings, size_t done, double accept_rate) {
  tacit_progress_t progress = {done, settings->n_warmup + settings->n_draws * settings->thin, accept_rate};
  return settings->progress == NULL || settings->progress(&progress, settings->progress_user);
}

tacit_status_t tacit_aware_may_start(const tacit_noise_aware_settings_t *settings, tacit_error_t *err) {
  return tacit_aware_goes_on(settings, 0, 1)
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_INTERRUPTED, "progress", "interrupted before the first iteration");
}

static tacit_status_t check(const tacit_curator_t *curator, const tacit_parameters_t *parameters,
                            const tacit_noise_aware_settings_t *s, tacit_error_t *err) {
  if (curator == NULL && s->releases == NULL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "releases", "without a curator the releases must be there");
  }
  if (curator != NULL && tacit_curator_is_exposed(curator)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "curator",
                           "noise-aware regression models the noise of its releases: it needs a private curator");
  }
  bool is_gaussian = s->records == NULL && s->family == TACIT_FAMILY_GAUSSIAN;
  if (s->max_rows > 1 && (is_gaussian || s->records != NULL || s->may_drop)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "max_rows", "units of several rows, all of which count, are for families bernoulli and poisson");
  }
  if (s->records != NULL) {
    tacit_status_t status = tacit_centred_check(s->records, err);
    if (status != TACIT_OK) {
      return status;
    }
  }
  size_t n_extra = is_gaussian && !(s->known_sd > 0), dim = curator != NULL ? tacit_curator_dim(curator) : s->releases->dim + n_extra;
  if (parameters->dim != dim || parameters->dim < 1 + n_extra ||
      parameters->dim > TACIT_NOISE_AWARE_MAX_FEATURES + n_extra) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "dim",
                           "noise-aware regression takes 1 to %d features, the intercept included, and no other parameter; "
                           "there are %zu",
                           (int)TACIT_NOISE_AWARE_MAX_FEATURES, parameters->dim);
  }
  if (s->records == NULL && !is_gaussian && !tacit_family_has_moments(s->family, s->upper)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "family",
                           "noise-aware regression is for families bernoulli and gaussian, and for poisson with an upper bound "
                           "of the response between 1 and %d",
                           (int)TACIT_FAMILY_MAX_COUNT);
  }
  double precision[(TACIT_NOISE_AWARE_MAX_FEATURES + 1) * (TACIT_NOISE_AWARE_MAX_FEATURES + 1)] = {0};
  const double origin[TACIT_NOISE_AWARE_MAX_FEATURES + 1] = {0};
  if (parameters->prior_precision != NULL) {
    parameters->prior_precision(parameters->ctx, origin, precision);
    for (size_t j = 0; j < parameters->dim - n_extra; j++) {
      if (!(precision[j * parameters->dim + j] > 0)) {
        return tacit_error_set(err, TACIT_ERR_ARGUMENT, "prior",
                               "noise-aware regression needs a proper prior on every coefficient: where noise hides it, a flat one "
                               "leaves no posterior; %s has none",
                               parameters->labels[j]);
      }
    }
  }
  if (curator != NULL && (tacit_curator_sensitivity_factor(curator) > 1) != (s->relation == TACIT_RELATION_SUBSTITUTE)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "relation", "the settings' relation is not that of the curator's budget");
  }
  if (is_gaussian && s->rho > 0 && s->n_features != parameters->dim - n_extra) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "n_features", "the settings' number of features is not that of the model");
  }
  if (!(s->rho > 0 && isfinite(s->rho)) || s->n_chains < 1 || s->n_draws < 1 || s->thin < 1) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "settings",
                           "noise-aware regression needs a finite rho above 0 and at least one chain, draw and thin");
  }
  return tacit_noise_aware_check_budget(s, err);
}

/* Everything of one run. */
typedef struct run {
  tacit_curator_t *curator;
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
  tacit_feature_scale_t scales[TACIT_NOISE_AWARE_MAX_FEATURES];
  double mean[TACIT_NOISE_AWARE_MAX_FEATURES], cov[TACIT_NOISE_AWARE_MAX_FEATURES * TACIT_NOISE_AWARE_MAX_FEATURES];
  double theta[TACIT_NOISE_AWARE_MAX_FEATURES], factor[TACIT_NOISE_AWARE_MAX_FEATURES * TACIT_NOISE_AWARE_MAX_FEATURES];
} run_t;

tacit_status_t tacit_aware_learn_count(tacit_curator_t *curator, const tacit_noise_aware_settings_t *settings, tacit_aware_count_t *count,
                                       tacit_error_t *err) {
  bool is_substitute = settings->relation == TACIT_RELATION_SUBSTITUTE;
  *count = (tacit_aware_count_t){0};
  tacit_status_t status = is_substitute ? tacit_aware_n_units(curator, settings, &count->n, err) : TACIT_OK;
  if (status != TACIT_OK || !tacit_aware_is_count_private(settings)) {
    return status;
  }
  double n = 0, noise_sd = 0, multiplier = schedule_multiplier(settings->rho, share_count);
  status = tacit_aware_may_start(settings, err);
  if (status == TACIT_OK) {
    status = tacit_aware_release_count(curator, settings, multiplier, &n, &noise_sd, err);
  }
  n = fmax(n, fmax(noise_sd, 1)); /* no number of records must end a run */
  *count = (tacit_aware_count_t){n, noise_sd / n};
  return status;
}

/* Where heavy tails leave nothing to climb, normal ones do: what was spent must lead to an answer. */
static tacit_status_t find_mode(run_t *run, tacit_error_t *err) {
  const tacit_noise_aware_settings_t *s = run->settings;
  bool must_fail = s->fault_for_tests == TACIT_NOISE_AWARE_NO_DENSITY && !run->has_normal_tails;
  tacit_status_t status = must_fail ? TACIT_ERR_NUMERIC : tacit_aware_mode(&run->posterior, run->theta, run->factor, err);
  if (status != TACIT_ERR_NUMERIC || s->normal_tails == NULL || run->has_normal_tails) {
    return status;
  }
  s->normal_tails(s->prior_user);
  run->has_normal_tails = true;
  memset(run->theta, 0, sizeof run->theta);
  return tacit_aware_mode(&run->posterior, run->theta, run->factor, err);
}

/* The squared distance of theta from `before`, in the normal approximation there. */
static double distance2(const run_t *run, const double *before, const double *factor) {
  size_t d = run->surrogate.d;
  double step[TACIT_NOISE_AWARE_MAX_FEATURES];
  for (size_t j = 0; j < d; j++) {
    step[j] = run->theta[j] - before[j];
  }
  tacit_solve_lower(d, factor, step);
  return tacit_dot(d, step, step);
}

/* All releases after the surrogate; theta ends at the mode, factor holds the shape there. */
static tacit_status_t learn(run_t *run, tacit_error_t *err) {
  tacit_round_place_t place = {.curator = run->curator,
                               .settings = run->settings,
                               .parameters = run->parameters,
                               .rng = run->rng,
                               .theta = run->theta};
  tacit_status_t status = TACIT_OK;
  for (size_t j = 0; j < TACIT_AWARE_ROUNDS && status == TACIT_OK; j++) {
    bool is_last = j + 1 == TACIT_AWARE_ROUNDS;
    if (is_last) {
      place.share = share_information;
      status = tacit_rounds_learn_information(&run->rounds, &place, err);
      if (status == TACIT_OK) {
        status = find_mode(run, err);
      }
    }
    place.share = is_last ? last_share(run->settings) : share_score[j];
    double before[TACIT_NOISE_AWARE_MAX_FEATURES], factor[sizeof run->factor / sizeof run->factor[0]];
    memcpy(before, run->theta, sizeof before);
    memcpy(factor, run->factor, sizeof factor);
    if (status == TACIT_OK) {
      status = tacit_rounds_release(&run->rounds, &place, err);
    }
    if (status == TACIT_OK) {
      status = find_mode(run, err);
    }
    if (status == TACIT_OK && is_last) {
      run->moved2 = distance2(run, before, factor);
    }
    place.factor = run->factor;
  }
  place.share = squares_share(run->settings);
  if (status != TACIT_OK || !(place.share > 0)) {
    return status;
  }
  status = (tacit_aware_has_clusters(run->settings) ? tacit_rounds_learn_clusters : tacit_rounds_learn_dispersion)(&run->rounds, &place, err);
  return status == TACIT_OK ? find_mode(run, err) : status;
}

/* All that is learned before the prior's scale is known. */
static tacit_status_t learn_features(run_t *run, tacit_error_t *err) {
  tacit_status_t status = tacit_aware_learn_count(run->curator, run->settings, &run->count, err);
  if (status == TACIT_OK) {
    status = tacit_aware_learn_rows(run->curator, run->settings, run->count, &run->unit_rows, err);
  }
  if (status == TACIT_OK) {
    status = tacit_rng_new(&run->rng, run->settings->key, surrogate_stream, err);
  }
  if (status == TACIT_OK) {
    status = tacit_surrogate_init(&run->surrogate, run->curator, run->settings, run->count, run->rng, err);
  }
  if (status == TACIT_OK) {
    tacit_surrogate_scales(&run->surrogate, run->scales);
  }
  return status;
}

/* All releases of scores; the posterior given them. */
static tacit_status_t learn_scores(run_t *run, tacit_error_t *err) {
  tacit_status_t status = tacit_rounds_init(&run->rounds, &run->surrogate, run->count, &run->unit_rows, err);
  if (status == TACIT_OK) {
    status = tacit_aware_posterior_init(&run->posterior, &run->rounds, run->parameters, run->settings, err);
  }
  return status == TACIT_OK ? learn(run, err) : status;
}

static void clear_run(run_t *run) {
  tacit_aware_posterior_clear(&run->posterior);
  tacit_rounds_clear(&run->rounds);
  tacit_surrogate_clear(&run->surrogate);
  tacit_rng_free(run->rng);
}

/* What the same records would tell without noise, those of several sites together. What rows of a unit share is not noise, and information leaves it out. */
static void compare_to_none(const tacit_aware_common_t *of, const run_t *runs, size_t n) {
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

static tacit_status_t run_rounds(run_t *run, tacit_draws_t *draws, tacit_error_t *err) {
  tacit_status_t status = learn_features(run, err);
  if (status == TACIT_OK && run->settings->scaled != NULL) {
    run->settings->scaled(run->settings->prior_user, run->scales);
  }
  if (status == TACIT_OK) {
    status = learn_scores(run, err);
  }
  if (status == TACIT_OK) {
    status = tacit_aware_walk(&run->posterior, run->theta, run->factor, draws, run->mean, run->cov, err);
  }
  if (status == TACIT_OK) {
    const tacit_surrogate_t *s = &run->surrogate;
    const tacit_aware_end_t end = {{s->d, run->parameters, run->settings, run->scales, run->mean, run->cov, s->mean_noise, s->eigenvalue},
                                   &run->rounds, run->moved2, run->has_normal_tails};
    tacit_aware_check(&end);
    compare_to_none(&end.common, run, 1);
  }
  return status;
}

tacit_status_t tacit_noise_aware_fit(tacit_curator_t *curator, const tacit_parameters_t *parameters,
                                     const tacit_noise_aware_settings_t *settings, tacit_draws_t *draws,
                                     tacit_error_t *err) {
  *draws = (tacit_draws_t){0};
  tacit_status_t status = check(curator, parameters, settings, err);
  if (status == TACIT_OK && settings->releases != NULL) {
    settings->releases->n_taken = 0;
    if (curator != NULL) {
      tacit_releases_clear(settings->releases);
      settings->releases->dim = settings->records == NULL && settings->family == TACIT_FAMILY_GAUSSIAN && !(settings->known_sd > 0) ? parameters->dim - 1 : parameters->dim;
    }
  }
  if (status == TACIT_OK) {
    status = tacit_draws_init(draws, settings->n_chains, settings->n_warmup, settings->n_draws, parameters->n_reported, err);
  }
  if (status == TACIT_OK && settings->records != NULL) {
    return tacit_aware_program(curator, parameters, settings, draws, err);
  }
  if (status == TACIT_OK && settings->family == TACIT_FAMILY_GAUSSIAN) {
    tacit_aware_count_t count;
    status = tacit_aware_learn_count(curator, settings, &count, err);
    return status == TACIT_OK ? tacit_aware_gaussian(curator, parameters, settings, count, draws, err) : status;
  }
  if (status != TACIT_OK) {
    return status;
  }
  run_t *run = tacit_alloc_zero(1, sizeof *run);
  if (run == NULL) {
    return tacit_error_memory(err);
  }
  run->curator = curator;
  run->parameters = parameters;
  run->settings = settings;
  status = run_rounds(run, draws, err);
  clear_run(run);
  tacit_free(run);
  return status;
}

/* ---- several sites ---- */

/* Mean and variance of each feature in all sites together. */
static void pool_scales(const run_t *runs, size_t n, tacit_feature_scale_t *scales) {
  for (size_t j = 0; j < runs->surrogate.d; j++) {
    double units = 0, mean = 0, square = 0, doubt = 0;
    for (size_t i = 0; i < n; i++) {
      const tacit_feature_scale_t *s = &runs[i].scales[j];
      double variance = s->sd * s->sd, uncertainty = runs[i].count.n * variance * s->relative_error;
      units += runs[i].count.n;
      mean += runs[i].count.n * s->mean;
      square += runs[i].count.n * (variance + s->mean * s->mean);
      doubt += uncertainty * uncertainty;
    }
    mean /= units;
    double variance = square / units - mean * mean;
    scales[j] = (tacit_feature_scale_t){mean, sqrt(fmax(variance, 0)), variance > 0 ? sqrt(doubt) / units / variance : 0};
  }
}

/* As if all units were behind one surrogate: what is least known of a site, is so of all. */
static void check_sites(run_t *runs, size_t n, bool is_common, const tacit_feature_scale_t *scales) {
  tacit_surrogate_t surrogate = runs->surrogate;
  tacit_rounds_t rounds = runs->rounds;
  double units = 0, mean_noise = 0, count_noise = 0, moved2 = 0;
  for (size_t i = 0; i < n; i++) {
    double noise = runs[i].count.n * runs[i].surrogate.mean_noise;
    units += runs[i].count.n;
    mean_noise += noise * noise;
    count_noise += runs[i].rounds.count_noise * runs[i].rounds.count_noise;
    moved2 = fmax(moved2, runs[i].moved2);
    runs->has_normal_tails = runs->has_normal_tails || runs[i].has_normal_tails;
    surrogate.eigenvalue = fmin(surrogate.eigenvalue, runs[i].surrogate.eigenvalue);
  }
  surrogate.mean_noise = sqrt(mean_noise) / units;
  rounds.surrogate = &surrogate;
  rounds.n = units;
  rounds.count_noise = sqrt(count_noise);
  const tacit_aware_end_t end = {
      {surrogate.d, runs->parameters, runs->settings, scales, runs->mean, runs->cov, surrogate.mean_noise, surrogate.eigenvalue},
      &rounds, moved2, runs->has_normal_tails};
  tacit_aware_check(&end);
  if (is_common) { /* else intervals are wide by what sites differ */
    compare_to_none(&end.common, runs, n);
  }
}

/* One set of effects for all sites. */
static tacit_status_t draw_common(run_t *runs, size_t n, tacit_draws_t *draws, tacit_error_t *err) {
  for (size_t i = 0; i + 1 < n; i++) {
    runs[i].posterior.next = &runs[i + 1].posterior;
  }
  tacit_status_t status = find_mode(runs, err);
  return status == TACIT_OK ? tacit_aware_walk(&runs->posterior, runs->theta, runs->factor, draws, runs->mean, runs->cov, err) : status;
}

static tacit_status_t draw_exchangeable(run_t *runs, size_t n, const tacit_feature_scale_t *scales, double between, tacit_draws_t *draws,
                                        tacit_error_t *err) {
  tacit_aware_site_t *sites = tacit_alloc(n, sizeof *sites);
  if (sites == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < n; i++) {
    sites[i] = (tacit_aware_site_t){&runs[i].posterior, runs[i].theta};
  }
  tacit_status_t status = tacit_aware_exchange(sites, n, scales, between, draws, runs->mean, runs->cov, err);
  tacit_free(sites);
  return status;
}

static tacit_status_t run_sites(run_t *runs, size_t n, double between, tacit_draws_t *draws, tacit_error_t *err) {
  tacit_feature_scale_t scales[TACIT_NOISE_AWARE_MAX_FEATURES] = {{0}};
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < n && status == TACIT_OK; i++) {
    status = learn_features(&runs[i], err);
  }
  if (status == TACIT_OK) {
    pool_scales(runs, n, scales);
    if (runs->settings->scaled != NULL) {
      runs->settings->scaled(runs->settings->prior_user, scales);
    }
  }
  for (size_t i = 0; i < n && status == TACIT_OK; i++) {
    status = learn_scores(&runs[i], err);
  }
  if (status == TACIT_OK) {
    status = between > 0 ? draw_exchangeable(runs, n, scales, between, draws, err) : draw_common(runs, n, draws, err);
  }
  if (status == TACIT_OK) {
    check_sites(runs, n, !(between > 0), scales);
  }
  return status;
}

tacit_status_t tacit_noise_aware_combine(const tacit_noise_aware_settings_t *sites, size_t n, double between, const tacit_parameters_t *parameters,
                                         tacit_draws_t *draws, tacit_error_t *err) {
  size_t n_reported = parameters->n_reported + (between > 0 ? parameters->dim : 0);
  tacit_status_t status = TACIT_OK;
  *draws = (tacit_draws_t){0};
  for (size_t i = 0; i < n && status == TACIT_OK; i++) {
    status = sites[i].family == TACIT_FAMILY_GAUSSIAN || sites[i].records != NULL
                 ? tacit_error_set(err, TACIT_ERR_ARGUMENT, "family", "releases of several sites are combined for families bernoulli and poisson")
                 : check(NULL, parameters, &sites[i], err);
  }
  if (status == TACIT_OK) {
    status = tacit_draws_init(draws, sites->n_chains, sites->n_warmup, sites->n_draws, n_reported, err);
  }
  run_t *runs = status == TACIT_OK ? tacit_alloc_zero(n, sizeof *runs) : NULL;
  if (runs == NULL) {
    return status == TACIT_OK ? tacit_error_memory(err) : status;
  }
  for (size_t i = 0; i < n; i++) {
    sites[i].releases->n_taken = 0;
    runs[i].parameters = parameters;
    runs[i].settings = &sites[i];
  }
  status = run_sites(runs, n, between, draws, err);
  for (size_t i = 0; i < n; i++) {
    clear_run(&runs[i]);
  }
  tacit_free(runs);
  return status;
}
