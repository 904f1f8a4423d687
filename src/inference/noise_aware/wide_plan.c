/* Which budgets buy an answer of many features. */
#include <math.h>

#include "base/error.h"
#include "base/number.h"
#include "noise_aware/gaussian.h"
#include "noise_aware/schedule.h"
#include "noise_aware/wide.h"

/* Bounds of noise in the release of the information and of the last score; beyond, what is evaluated does not
 * hold (docs/theory.md, 18.17). */
static const double most_information = 0.2, most_score = 3;

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
  double inflation = tacit_noise_aware_inflation(s, dim, n_units);
  return inflation * inflation - 1;
}

bool tacit_wide_takes(const tacit_noise_aware_settings_t *s) {
  return s->max_rows <= 1 && s->records == NULL && s->family != TACIT_FAMILY_GAUSSIAN;
}

bool tacit_wide_is(const tacit_noise_aware_settings_t *s, size_t dim, double n_units) {
  bool is_needed = dim > TACIT_NOISE_AWARE_MAX_NARROW, is_as_narrow = dim > TACIT_AWARE_MOST_PROCESSED;
  return tacit_wide_takes(s) &&
         (is_needed || (is_as_narrow && information_noise(s, dim, n_units) <= most_information &&
                        score_noise(s, dim, n_units) <= most_score));
}

tacit_status_t tacit_wide_check(const tacit_noise_aware_settings_t *s, tacit_error_t *err) {
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
