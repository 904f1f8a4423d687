/* What a regression by scores releases, what that may cost, and which budgets buy an answer. */
#include <math.h>

#include "base/error.h"
#include "base/number.h"
#include "noise_aware/scores.h"

/* The radius that the predicted inflation takes, in units of sqrt(d / Var y): typical of what the rule for R
 * chooses. */
static const double nominal_radius = 1;

/* What is assumed where the worst is forecast: of a feature at -1 in 2 % of records, else 1. */
static const double rare_variance = 4 * 0.02 * 0.98;

/* Noise of scores then beside that of rows in the cube: what a surrogate does not know of a few records comes
 * on top; measured. */
static const double poor_excess = 4;

/* Of a feature with sd a quarter of its half range; and how far noise in the cube drives the whitening from
 * its variance, fitted to the grid. */
static const double quarter_variance = 1.0 / 16, cube_excess = 0.8;

/* Bounds of noise in the release of the information and of the last score; beyond, what is evaluated does not
 * hold (docs/theory.md, 18.17). */
static const double most_information = 0.2, most_score = 3;

/* Of the release of squares of scores, after the last score; 0: there is none. */
double tacit_scores_squares_share(const tacit_noise_aware_settings_t *settings) {
  return tacit_aware_has_clusters(settings)         ? share_clusters
         : settings->family == TACIT_FAMILY_POISSON ? share_squares
                                                    : 0;
}

/* Residuals along features: of few features, and one at least. */
double tacit_scores_residuals_share(const tacit_noise_aware_settings_t *settings) {
  return settings->n_features >= 2 && settings->n_features <= TACIT_NOISE_AWARE_MAX_NARROW ? share_residuals
                                                                                           : 0;
}

/* Share of the last score. */
double tacit_scores_last_share(const tacit_noise_aware_settings_t *settings) {
  double others = tacit_scores_squares_share(settings) + tacit_scores_residuals_share(settings) +
                  (tacit_aware_has_clusters(settings) ? share_rows + share_contrast : 0);
  return share_score[TACIT_AWARE_ROUNDS - 1] - (tacit_aware_is_count_private(settings) ? share_count : 0) -
         others;
}

size_t tacit_scores_events(const tacit_noise_aware_settings_t *settings,
                           tacit_event_t events[TACIT_NOISE_AWARE_N_EVENTS]) {
  const struct {
    double share;
    const char *label;
  } of_scores[] = {{share_cube, "second moments"},
                   {share_whitened, "whitened second moments"},
                   {share_score[0], "weighted score"},
                   {share_score[1], "weighted score"},
                   {share_information, "information"},
                   {tacit_scores_last_share(settings), "weighted score"},
                   {tacit_aware_is_count_private(settings) ? share_count : 0, "number of units"},
                   {tacit_scores_squares_share(settings), "squares of scores"},
                   {tacit_aware_has_clusters(settings) ? share_rows : 0, "numbers of rows"},
                   {tacit_aware_has_clusters(settings) ? share_contrast : 0, "bands of contrasts"},
                   {tacit_scores_residuals_share(settings), "residuals along features"}};
  size_t n = 0;
  for (size_t i = 0; i < sizeof of_scores / sizeof of_scores[0]; i++) {
    tacit_aware_plan(settings, of_scores[i].share, 1, of_scores[i].label, events, &n);
  }
  return n;
}

double tacit_scores_inflation(const tacit_noise_aware_settings_t *settings, size_t dim, double n_units) {
  double mu2 = 2 * settings->rho * share_score[2],
         factor = settings->relation == TACIT_RELATION_ADD_REMOVE ? 1 : 2;
  double variance = settings->family == TACIT_FAMILY_BERNOULLI ? 0.15 : 1;
  double noise = factor * factor * nominal_radius * nominal_radius * (double)dim * settings->upper *
                 settings->upper / variance;
  return sqrt(1 + noise / (mu2 * n_units));
}

double tacit_scores_inflation_poor(const tacit_noise_aware_settings_t *settings, size_t dim, double n_units) {
  double factor = settings->relation == TACIT_RELATION_ADD_REMOVE ? 1 : 2, n_columns = (double)dim;
  double spread = dim > 1 ? rare_variance : 1, mu2 = 2 * settings->rho * share_score[2];
  double rows = (double)(settings->max_rows > 1
                             ? settings->max_rows
                             : 1); /* at worst independent: then they tell as much more without privacy */
  double noise = rows * poor_excess * factor * factor * n_columns * settings->upper * settings->upper /
                 (settings->family == TACIT_FAMILY_BERNOULLI ? 0.15 : 1);
  return fmax(sqrt(1 + noise / (mu2 * n_units * spread)), tacit_scores_inflation(settings, dim, n_units));
}

double tacit_scores_scale_doubt(const tacit_noise_aware_settings_t *settings, size_t dim, double n_units) {
  if (dim < 2) {
    return 0;
  }
  double factor = settings->relation == TACIT_RELATION_ADD_REMOVE ? 1 : sqrt(2), d = (double)dim;
  double cube = factor * d * schedule_multiplier(settings->rho, share_cube) / n_units;
  double whitened =
      factor * schedule_multiplier(settings->rho, share_whitened) / n_units; /* for a square of the radius */
  whitened = fmax(whitened_radius * whitened_radius * d * whitened,
                  whitened_noise); /* the radius grows up to this noise */
  return whitened * (1 + cube_excess * cube / quarter_variance);
}

/* ---- of many features ---- */

/*
 * Half of the largest eigenvalue of the noise of the information, in units of the information: sqrt(d) sds of
 * an entry. At a half some of it may be as good as none; fits at 0.45 were wrong, at 0.2 right.
 */
static double information_noise(const tacit_noise_aware_settings_t *s, size_t dim, double n_units) {
  double d = (double)dim, factor = s->relation == TACIT_RELATION_ADD_REMOVE ? sqrt(0.5) : 1;
  return sqrt(d) * factor * whitened_radius * whitened_radius * d *
         schedule_multiplier(s->rho, share_information) / n_units;
}

/* Predicted variance of the noise of the last score over that of sampling. */
static double score_noise(const tacit_noise_aware_settings_t *s, size_t dim, double n_units) {
  double inflation = tacit_scores_inflation(s, dim, n_units);
  return inflation * inflation - 1;
}

size_t tacit_scores_most(const tacit_noise_aware_settings_t *s) {
  return tacit_aware_has_clusters(s) ? TACIT_NOISE_AWARE_MAX_NARROW : TACIT_NOISE_AWARE_MAX_FEATURES;
}

bool tacit_wide_is(const tacit_noise_aware_settings_t *s, size_t dim, double n_units) {
  bool is_needed = dim > TACIT_NOISE_AWARE_MAX_NARROW, is_as_narrow = dim > TACIT_AWARE_MOST_PROCESSED;
  return !tacit_aware_has_clusters(s) &&
         (is_needed || (is_as_narrow && information_noise(s, dim, n_units) <= most_information &&
                        score_noise(s, dim, n_units) <= most_score));
}

tacit_status_t tacit_scores_check_budget(const tacit_noise_aware_settings_t *s, tacit_error_t *err) {
  if (s->n_features <= TACIT_NOISE_AWARE_MAX_NARROW || !(s->n_units >= 1 && s->rho > 0)) {
    return TACIT_OK;
  }
  double information = information_noise(s, s->n_features, s->n_units) / most_information,
         score = score_noise(s, s->n_features, s->n_units) / most_score;
  if (!(fmax(information, score) > 1)) {
    return TACIT_OK;
  }
  double n = tacit_number_round_up(s->n_units * fmax(information, score)),
         factor = fmax(information * information, score);
  if (s->delta > 0) {
    return tacit_error_set(err, TACIT_ERR_BUDGET, "epsilon",
                           "this budget would buy next to nothing of a regression of %zu features on %.0f "
                           "rows: at delta %g it takes epsilon %.2g, or with this "
                           "epsilon about %.2g rows; nothing was spent",
                           s->n_features, s->n_units, s->delta,
                           tacit_number_round_up(tacit_gaussian_epsilon(s->rho * factor, log(s->delta))), n);
  }
  return tacit_error_set(err, TACIT_ERR_BUDGET, "epsilon",
                         "this budget would buy next to nothing of a regression of %zu features on %.0f "
                         "rows: it takes %.2g times rho, or about %.2g rows; "
                         "nothing was spent",
                         s->n_features, s->n_units, tacit_number_round_up(factor), n);
}
