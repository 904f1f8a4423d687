/* What a fit releases and may cost, what can be said of it beforehand, and where it begins. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "noise_aware/gaussian.h"
#include "noise_aware/run.h"
#include "noise_aware/schedule.h"
#include "noise_aware/wide.h"

/* The radius that the predicted inflation takes, in units of sqrt(d / Var y): typical of what the rule for R
 * chooses. */
static const double nominal_radius = 1;

/* What is assumed where the worst is forecast: of a feature at -1 in 2 % of records, else 1. */
static const double rare_variance = 4 * 0.02 * 0.98;

/* Noise of scores then beside that of rows in the cube: what a surrogate does not know of a few records comes
 * on top; measured. */
static const double poor_excess = 4;

/* The same of a linear regression, by its noise ratio; and the ratio above which it is warned. */
static const double gaussian_poor = 3.5, ratio_noisy = 2;

tacit_noise_aware_settings_t tacit_noise_aware_settings_default(void) {
  return (tacit_noise_aware_settings_t){.family = TACIT_FAMILY_BERNOULLI,
                                        .upper = 1,
                                        .n_chains = 4,
                                        .n_warmup = 500,
                                        .n_draws = 1000,
                                        .thin = 1};
}

typedef struct planned {
  double share;
  const char *label;
} planned_t;

bool tacit_aware_is_count_private(const tacit_noise_aware_settings_t *settings) {
  return settings->relation == TACIT_RELATION_ADD_REMOVE || settings->may_drop;
}

/* Of the release of squares of scores, after the last score; 0: there is none. */
double tacit_aware_squares_share(const tacit_noise_aware_settings_t *settings) {
  return tacit_aware_has_clusters(settings)         ? share_clusters
         : settings->family == TACIT_FAMILY_POISSON ? share_squares
                                                    : 0;
}

/* Residuals along features: of few features, and one at least. */
double tacit_aware_residuals_share(const tacit_noise_aware_settings_t *settings) {
  return settings->n_features >= 2 && settings->n_features <= TACIT_NOISE_AWARE_MAX_NARROW ? share_residuals
                                                                                           : 0;
}

/* Share of the last score. */
double tacit_aware_last_share(const tacit_noise_aware_settings_t *settings) {
  double others = tacit_aware_squares_share(settings) + tacit_aware_residuals_share(settings) +
                  (tacit_aware_has_clusters(settings) ? share_rows : 0);
  return share_score[TACIT_AWARE_ROUNDS - 1] - (tacit_aware_is_count_private(settings) ? share_count : 0) -
         others;
}

size_t tacit_noise_aware_events(const tacit_noise_aware_settings_t *settings,
                                tacit_event_t events[TACIT_NOISE_AWARE_N_EVENTS]) {
  const double last = tacit_aware_last_share(settings);
  const planned_t of_scores[] = {{share_cube, "second moments"},
                                 {share_whitened, "whitened second moments"},
                                 {share_score[0], "weighted score"},
                                 {share_score[1], "weighted score"},
                                 {share_information, "information"},
                                 {last, "weighted score"},
                                 {share_count, "number of units"},
                                 {tacit_aware_squares_share(settings), "squares of scores"},
                                 {share_rows, "numbers of rows"},
                                 {tacit_aware_residuals_share(settings), "residuals along features"}};
  if (settings->records != NULL) {
    return tacit_program_events(settings, events);
  }
  if (settings->family == TACIT_FAMILY_GAUSSIAN) {
    return tacit_gaussian_events(settings, events);
  }
  const bool is_made[] = {true,
                          true,
                          true,
                          true,
                          true,
                          true,
                          tacit_aware_is_count_private(settings),
                          tacit_aware_squares_share(settings) > 0,
                          tacit_aware_has_clusters(settings),
                          tacit_aware_residuals_share(settings) > 0};
  size_t n = 0;
  for (size_t i = 0; i < sizeof of_scores / sizeof of_scores[0]; i++) {
    events[n] = (tacit_event_t){.kind = TACIT_EVENT_GAUSSIAN,
                                .noise_multiplier = schedule_multiplier(settings->rho, of_scores[i].share),
                                .count = 1};
    snprintf(events[n].label, sizeof events[n].label, "%s", of_scores[i].label);
    n += is_made[i];
  }
  return n;
}

/* Of a linear regression, by the noise ratio P: measured, see experiments/honesty. */
static double gaussian_inflation(tacit_noise_aware_settings_t settings, size_t dim, double n_units,
                                 double excess) {
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
  double mu2 = 2 * settings->rho * share_score[2],
         factor = settings->relation == TACIT_RELATION_ADD_REMOVE ? 1 : 2;
  double variance = settings->family == TACIT_FAMILY_BERNOULLI ? 0.15 : 1;
  double noise = factor * factor * nominal_radius * nominal_radius * (double)dim * settings->upper *
                 settings->upper / variance;
  return sqrt(1 + noise / (mu2 * n_units));
}

double tacit_noise_aware_inflation_poor(const tacit_noise_aware_settings_t *settings, size_t dim,
                                        double n_units) {
  if (settings->records != NULL) {
    return tacit_program_inflation(settings, n_units);
  }
  if (settings->family == TACIT_FAMILY_GAUSSIAN) {
    return gaussian_inflation(*settings, dim, n_units, gaussian_poor);
  }
  double factor = settings->relation == TACIT_RELATION_ADD_REMOVE ? 1 : 2, n_columns = (double)dim;
  double spread = dim > 1 ? rare_variance : 1, mu2 = 2 * settings->rho * share_score[2];
  double rows = (double)(settings->max_rows > 1
                             ? settings->max_rows
                             : 1); /* at worst independent: then they tell as much more without privacy */
  double noise = rows * poor_excess * factor * factor * n_columns * settings->upper * settings->upper /
                 (settings->family == TACIT_FAMILY_BERNOULLI ? 0.15 : 1);
  return fmax(sqrt(1 + noise / (mu2 * n_units * spread)),
              tacit_noise_aware_inflation(settings, dim, n_units));
}

tacit_status_t tacit_noise_aware_check_budget(const tacit_noise_aware_settings_t *settings,
                                              tacit_error_t *err) {
  return settings->records != NULL                   ? tacit_program_check(settings, err)
         : settings->family == TACIT_FAMILY_GAUSSIAN ? tacit_gaussian_check(settings, err)
                                                     : tacit_wide_check(settings, err);
}

bool tacit_noise_aware_is_noisy(const tacit_noise_aware_settings_t *settings) {
  return settings->records == NULL && settings->family == TACIT_FAMILY_GAUSSIAN &&
         tacit_gaussian_noise_ratio(settings) > ratio_noisy;
}

bool tacit_aware_goes_on(const tacit_noise_aware_settings_t *settings, size_t done, double accept_rate) {
  tacit_progress_t progress = {done, settings->n_warmup + settings->n_draws * settings->thin, accept_rate};
  return settings->progress == NULL || settings->progress(&progress, settings->progress_user);
}

tacit_status_t tacit_aware_may_start(const tacit_noise_aware_settings_t *settings, tacit_error_t *err) {
  return tacit_aware_goes_on(settings, 0, 1) ? TACIT_OK
                                             : tacit_error_set(err, TACIT_ERR_INTERRUPTED, "progress",
                                                               "interrupted before the first iteration");
}

tacit_status_t tacit_aware_check_settings(const tacit_curator_t *curator,
                                          const tacit_parameters_t *parameters,
                                          const tacit_noise_aware_settings_t *s, tacit_error_t *err) {
  if (curator == NULL && s->releases == NULL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "releases",
                           "without a curator the releases must be there");
  }
  if (curator != NULL && tacit_curator_is_exposed(curator)) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "curator",
        "noise-aware regression models the noise of its releases: it needs a private curator");
  }
  bool is_gaussian = s->records == NULL && s->family == TACIT_FAMILY_GAUSSIAN;
  if (s->max_rows > 1 && s->may_drop) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "max_rows",
                           "of units of several rows all rows must count: none may be dropped");
  }
  if (s->records != NULL) {
    tacit_status_t status = tacit_centred_check(s->records, err);
    if (status != TACIT_OK) {
      return status;
    }
  }
  size_t most = tacit_wide_takes(s) ? TACIT_NOISE_AWARE_MAX_FEATURES : TACIT_NOISE_AWARE_MAX_NARROW;
  size_t n_extra = is_gaussian && !(s->known_sd > 0),
         dim = curator != NULL ? tacit_curator_dim(curator) : s->releases->dim + n_extra;
  if (parameters->dim != dim || parameters->dim < 1 + n_extra || parameters->dim > most + n_extra) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "dim",
        "noise-aware regression takes 1 to %d features, the intercept included, and no other parameter; "
        "there are %zu",
        (int)most, parameters->dim);
  }
  if (s->records == NULL && !is_gaussian && !tacit_family_has_moments(s->family, s->upper)) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "family",
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
                               "noise-aware regression needs a proper prior on every coefficient: where "
                               "noise hides it, a flat one "
                               "leaves no posterior; %s has none",
                               parameters->labels[j]);
      }
    }
  }
  if (curator != NULL &&
      (tacit_curator_sensitivity_factor(curator) > 1) != (s->relation == TACIT_RELATION_SUBSTITUTE)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "relation",
                           "the settings' relation is not that of the curator's budget");
  }
  if (is_gaussian && s->rho > 0 && s->n_features != parameters->dim - n_extra) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "n_features",
                           "the settings' number of features is not that of the model");
  }
  if (!(s->rho > 0 && isfinite(s->rho)) || s->n_chains < 1 || s->n_draws < 1 || s->thin < 1) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "settings",
        "noise-aware regression needs a finite rho above 0 and at least one chain, draw and thin");
  }
  return s->records != NULL && curator == NULL
             ? TACIT_OK
             : tacit_noise_aware_check_budget(
                   s, err); /* of programs it goes by the prior, which may be another */
}

static tacit_status_t fit_scores(tacit_curator_t *curator, const tacit_parameters_t *parameters,
                                 const tacit_noise_aware_settings_t *settings, tacit_draws_t *draws,
                                 tacit_error_t *err) {
  tacit_aware_run_t *run = tacit_alloc_zero(1, sizeof *run);
  if (run == NULL) {
    return tacit_error_memory(err);
  }
  run->curator = curator;
  run->parameters = parameters;
  run->settings = settings;
  run->may_be_wide = true;
  tacit_status_t status = tacit_aware_run_all(run, draws, err);
  tacit_aware_run_clear(run);
  tacit_free(run);
  return status;
}

/* Once settings are seen to be right; settings->releases: begun. */
static tacit_status_t fit(tacit_curator_t *curator, const tacit_parameters_t *parameters,
                          const tacit_noise_aware_settings_t *settings, tacit_draws_t *draws,
                          tacit_error_t *err) {
  tacit_status_t status = tacit_draws_init(draws, settings->n_chains, settings->n_warmup, settings->n_draws,
                                           parameters->n_reported, err);
  if (status == TACIT_OK && settings->records != NULL) {
    return tacit_aware_program(curator, parameters, settings, draws, err);
  }
  if (status == TACIT_OK && settings->family == TACIT_FAMILY_GAUSSIAN) {
    tacit_aware_count_t count;
    status = tacit_aware_learn_count(curator, settings, &count, err);
    return status == TACIT_OK ? tacit_aware_gaussian(curator, parameters, settings, count, draws, err)
                              : status;
  }
  return status == TACIT_OK ? fit_scores(curator, parameters, settings, draws, err) : status;
}

tacit_status_t tacit_noise_aware_fit(tacit_curator_t *curator, const tacit_parameters_t *parameters,
                                     const tacit_noise_aware_settings_t *settings, tacit_draws_t *draws,
                                     tacit_error_t *err) {
  tacit_noise_aware_settings_t own = *settings; /* releases are kept for a run that is begun again */
  tacit_releases_t kept = {0};
  *draws = (tacit_draws_t){0};
  tacit_status_t status = tacit_aware_check_settings(curator, parameters, settings, err);
  if (status != TACIT_OK) {
    return status;
  }
  own.releases = settings->releases != NULL ? settings->releases : &kept;
  own.releases->n_taken = 0;
  if (curator != NULL) {
    tacit_releases_clear(own.releases);
    own.releases->dim =
        settings->records == NULL && settings->family == TACIT_FAMILY_GAUSSIAN && !(settings->known_sd > 0)
            ? parameters->dim - 1
            : parameters->dim;
  }
  status = fit(curator, parameters, &own, draws, err);
  tacit_releases_clear(&kept);
  return status;
}
