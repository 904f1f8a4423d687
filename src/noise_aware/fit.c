/* The schedule: which release is made when, from what is known so far. */
#include <math.h>
#include <stdio.h>
#include <string.h>

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

size_t tacit_noise_aware_events(const tacit_noise_aware_settings_t *settings, tacit_event_t events[TACIT_NOISE_AWARE_N_EVENTS]) {
  bool has_count = settings->relation == TACIT_RELATION_ADD_REMOVE;
  const planned_t of_scores[] = {{share_cube, "second moments"},        {share_whitened, "whitened second moments"},
                                 {share_score[0], "weighted score"},    {share_score[1], "weighted score"},
                                 {share_information, "information"},    {share_score[2] - (has_count ? share_count : 0), "weighted score"},
                                 {share_count, "number of units"}};
  if (settings->family == TACIT_FAMILY_GAUSSIAN) {
    return tacit_gaussian_events(settings, events);
  }
  size_t n = sizeof of_scores / sizeof of_scores[0] - !has_count;
  for (size_t i = 0; i < n; i++) {
    events[i] = (tacit_event_t){
        .kind = TACIT_EVENT_GAUSSIAN, .noise_multiplier = schedule_multiplier(settings->rho, of_scores[i].share), .count = 1};
    snprintf(events[i].label, sizeof events[i].label, "%s", of_scores[i].label);
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
  if (settings->family == TACIT_FAMILY_GAUSSIAN) {
    return gaussian_inflation(*settings, dim, n_units, 1);
  }
  double mu2 = 2 * settings->rho * share_score[2], factor = settings->relation == TACIT_RELATION_ADD_REMOVE ? 1 : 2;
  double variance = settings->family == TACIT_FAMILY_BERNOULLI ? 0.15 : 1;
  double noise = factor * factor * nominal_radius * nominal_radius * (double)dim * settings->upper * settings->upper / variance;
  return sqrt(1 + noise / (mu2 * n_units));
}

double tacit_noise_aware_inflation_poor(const tacit_noise_aware_settings_t *settings, size_t dim, double n_units) {
  if (settings->family == TACIT_FAMILY_GAUSSIAN) {
    return gaussian_inflation(*settings, dim, n_units, gaussian_poor);
  }
  double factor = settings->relation == TACIT_RELATION_ADD_REMOVE ? 1 : 2, n_columns = (double)dim;
  double spread = dim > 1 ? rare_variance : 1, mu2 = 2 * settings->rho * share_score[2];
  double noise = poor_excess * factor * factor * n_columns * settings->upper * settings->upper / (settings->family == TACIT_FAMILY_BERNOULLI ? 0.15 : 1);
  return fmax(sqrt(1 + noise / (mu2 * n_units * spread)), tacit_noise_aware_inflation(settings, dim, n_units));
}

tacit_status_t tacit_noise_aware_check_budget(const tacit_noise_aware_settings_t *settings, tacit_error_t *err) {
  return settings->family == TACIT_FAMILY_GAUSSIAN ? tacit_gaussian_check(settings, err) : TACIT_OK;
}

bool tacit_noise_aware_is_noisy(const tacit_noise_aware_settings_t *settings) {
  return settings->family == TACIT_FAMILY_GAUSSIAN && tacit_gaussian_noise_ratio(settings) > ratio_noisy;
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
  if (tacit_curator_is_exposed(curator)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "curator",
                           "noise-aware regression models the noise of its releases: it needs a private curator");
  }
  bool is_gaussian = s->family == TACIT_FAMILY_GAUSSIAN;
  size_t n_extra = is_gaussian && !(s->known_sd > 0);
  if (parameters->dim != tacit_curator_dim(curator) || parameters->dim < 1 + n_extra ||
      parameters->dim > TACIT_NOISE_AWARE_MAX_FEATURES + n_extra) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "dim",
                           "noise-aware regression takes 1 to %d features, the intercept included, and no other parameter; "
                           "there are %zu",
                           (int)TACIT_NOISE_AWARE_MAX_FEATURES, parameters->dim);
  }
  if (!is_gaussian && !tacit_family_has_moments(s->family, s->upper)) {
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
  if ((tacit_curator_sensitivity_factor(curator) > 1) != (s->relation == TACIT_RELATION_SUBSTITUTE)) {
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
  double n, last_share, moved2;
  bool has_normal_tails;
  tacit_rng_t *rng;
  tacit_surrogate_t surrogate;
  tacit_rounds_t rounds;
  tacit_aware_posterior_t posterior;
  tacit_feature_scale_t scales[TACIT_NOISE_AWARE_MAX_FEATURES];
  double mean[TACIT_NOISE_AWARE_MAX_FEATURES], cov[TACIT_NOISE_AWARE_MAX_FEATURES * TACIT_NOISE_AWARE_MAX_FEATURES];
  double theta[TACIT_NOISE_AWARE_MAX_FEATURES], factor[TACIT_NOISE_AWARE_MAX_FEATURES * TACIT_NOISE_AWARE_MAX_FEATURES];
} run_t;

/* Number of units, public or released, and the noise in it. */
static tacit_status_t learn_count(tacit_curator_t *curator, const tacit_noise_aware_settings_t *settings, double *n, double *noise_sd,
                                  tacit_error_t *err) {
  *noise_sd = 0;
  if (settings->relation == TACIT_RELATION_SUBSTITUTE) {
    size_t n_units = 0;
    tacit_status_t status = tacit_curator_n_units(curator, &n_units, err);
    *n = (double)n_units;
    return status == TACIT_OK && n_units < 1 ? tacit_error_set(err, TACIT_ERR_ARGUMENT, "n", "there are no records to fit") : status;
  }
  tacit_status_t status = tacit_aware_may_start(settings, err);
  if (status != TACIT_OK) {
    return status;
  }
  status = tacit_curator_release_count(curator, schedule_multiplier(settings->rho, share_count), n, noise_sd, err);
  *n = fmax(*n, fmax(*noise_sd, 1)); /* no number of records must end a run */
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
    place.share = is_last ? run->last_share : share_score[j];
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
  return status;
}

static tacit_status_t run_rounds(run_t *run, tacit_draws_t *draws, tacit_error_t *err) {
  double noise_sd;
  tacit_status_t status = learn_count(run->curator, run->settings, &run->n, &noise_sd, err);
  run->last_share = share_score[TACIT_AWARE_ROUNDS - 1] - (noise_sd > 0 ? share_count : 0);
  if (status == TACIT_OK) {
    status = tacit_rng_new(&run->rng, run->settings->key, surrogate_stream, err);
  }
  if (status == TACIT_OK) {
    status = tacit_surrogate_init(&run->surrogate, run->curator, run->settings, run->n, run->rng, err);
  }
  if (status == TACIT_OK) {
    tacit_surrogate_scales(&run->surrogate, run->scales);
    if (run->settings->scaled != NULL) {
      run->settings->scaled(run->settings->prior_user, run->scales);
    }
  }
  if (status == TACIT_OK) {
    status = tacit_rounds_init(&run->rounds, &run->surrogate, run->n, err);
  }
  if (status == TACIT_OK) {
    status = tacit_aware_posterior_init(&run->posterior, &run->rounds, run->parameters, run->settings, err);
  }
  if (status == TACIT_OK) {
    status = learn(run, err);
  }
  if (status == TACIT_OK) {
    status = tacit_aware_walk(&run->posterior, run->theta, run->factor, draws, run->mean, run->cov, err);
  }
  if (status == TACIT_OK) {
    const tacit_surrogate_t *s = &run->surrogate;
    tacit_aware_check(&(tacit_aware_end_t){
        {s->d, run->parameters, run->settings, run->scales, run->mean, run->cov, s->mean_noise, s->eigenvalue},
        &run->rounds, run->moved2, run->has_normal_tails});
  }
  return status;
}

tacit_status_t tacit_noise_aware_fit(tacit_curator_t *curator, const tacit_parameters_t *parameters,
                                     const tacit_noise_aware_settings_t *settings, tacit_draws_t *draws,
                                     tacit_error_t *err) {
  *draws = (tacit_draws_t){0};
  tacit_status_t status = check(curator, parameters, settings, err);
  if (status == TACIT_OK) {
    status = tacit_draws_init(draws, settings->n_chains, settings->n_warmup, settings->n_draws, parameters->n_reported, err);
  }
  if (status == TACIT_OK && settings->family == TACIT_FAMILY_GAUSSIAN) {
    double n, noise_sd;
    status = learn_count(curator, settings, &n, &noise_sd, err);
    return status == TACIT_OK ? tacit_aware_gaussian(curator, parameters, settings, n, noise_sd / n, draws, err) : status;
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
  tacit_aware_posterior_clear(&run->posterior);
  tacit_rounds_clear(&run->rounds);
  tacit_surrogate_clear(&run->surrogate);
  tacit_rng_free(run->rng);
  tacit_free(run);
  return status;
}
