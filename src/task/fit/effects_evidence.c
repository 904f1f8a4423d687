/*
 * Of a fit with effects of groups (effects.c): what is known of the regression's terms, of what is reported,
 * and back.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/sort.h"
#include "diagnose/diagnose.h"
#include "fit/fit_internal.h"

/* Where the effects of factor t begin among what is reported. */
static size_t effects_at(const tacit_fit_effects_t *effects, size_t t) {
  size_t at = effects->model.parameters.n_reported;
  for (size_t k = t; k < effects->aware.n; k++) {
    at -= effects->factors[k].n_levels + (k > t);
  }
  return at;
}

/* The feature that reported number j of the regression is of; SIZE_MAX: of none. */
static size_t feature_of(const tacit_fit_t *fit, size_t j) {
  size_t k = 0;
  if (j < fit->effects->n_features) {
    return j;
  }
  const char *name = fit->model.parameters.names[j];
  return strcmp(name, "Intercept_s") == 0   ? 0
         : sscanf(name, "b_s.%zu", &k) == 1 ? k - fit->effects->names.has_cuts
                                            : SIZE_MAX;
}

/* Where that is reported of the formula: a coefficient by its label, that of a level by its effect. */
static size_t reported_at(const tacit_fit_t *fit, size_t j) {
  const tacit_fit_effects_t *effects = fit->effects;
  size_t feature = feature_of(fit, j), i = 0;
  if (feature == SIZE_MAX) {
    return tacit_fit_find_reported(effects, fit->model.parameters.labels[j]);
  }
  for (size_t t = 0; t < effects->aware.n; t++) {
    tacit_level_effects_t f = effects->factors[t];
    if (feature >= f.first && feature < f.first + f.n_levels - 1) {
      return effects_at(effects, t) + 1 + (feature - f.first);
    }
  }
  while (i + 1 < effects->n_fixed && effects->fixed_at[i] != feature) {
    i++;
  }
  return tacit_fit_find_reported(effects, tacit_fit_fixed_label(effects, i));
}

static bool is_of_level(const tacit_fit_t *fit, size_t j) {
  size_t feature = feature_of(fit, j);
  return feature != SIZE_MAX && tacit_fit_is_of_effects(fit->effects, feature);
}

void tacit_fit_regression_row(const tacit_fit_t *fit, const double *reported, double *row) {
  const tacit_fit_effects_t *effects = fit->effects;
  double lower, upper, unit = 1;
  if (effects == NULL) {
    memcpy(row, reported, fit->model.parameters.n_reported * sizeof *row);
    return;
  }
  if (fit->family == TACIT_FAMILY_GAUSSIAN) { /* effects are of the response in [-1, 1] */
    tacit_design_response_range(fit->design, &lower, &upper);
    unit = (upper - lower) / 2;
    row[effects->n_features] =
        reported[tacit_fit_find_reported(effects, tacit_design_sigma_label(fit->design))];
  }
  for (size_t j = 0; j < effects->n_fixed; j++) {
    row[effects->fixed_at[j]] = reported[tacit_fit_find_reported(effects, tacit_fit_fixed_label(effects, j))];
  }
  for (size_t i = 0; i < effects->n_slopes; i++) { /* to the mapped column, and the intercept in its middle */
    const tacit_fit_slope_t *slope = &effects->slopes[i];
    row[0] += row[slope->at] * slope->centre;
    row[slope->at] *= slope->half;
  }
  for (size_t t = 0; t < effects->aware.n; t++) {
    tacit_level_effects_t f = effects->factors[t];
    const double *of = reported + effects_at(effects, t);
    row[f.main] += unit * of[0];
    for (size_t k = 1; k < f.n_levels; k++) {
      row[f.first + k - 1] = unit * (of[k] - of[0]);
    }
  }
}

/* Is it said of the prior that the releases were chosen by? That of effects is another. */
static bool is_of_prior(tacit_check_id_t id) {
  return id == TACIT_CHECK_PRIOR_PULLS || id == TACIT_CHECK_PRIOR_SHARE || id == TACIT_CHECK_CONFLICT ||
         id == TACIT_CHECK_SEPARATION;
}

/*
 * Half of a factor's levels in at most twice the noise of the first release: what is released of them is
 * mostly noise, which shrinks effects and their sd, with nothing else to be seen. Of linear regressions,
 * whose slopes are these releases; others learn theirs from scores later. noise: workspace, a number a check.
 */
static void check_levels(tacit_fit_t *fit, const tacit_checks_t *checks, size_t t, double *noise) {
  tacit_level_effects_t f = fit->effects->factors[t];
  size_t n = 0;
  for (size_t k = 0; k < checks->n; k++) {
    const tacit_check_t *check = &checks->items[k];
    size_t feature = check->id == TACIT_CHECK_RARE_LEVEL ? feature_of(fit, check->term) : SIZE_MAX;
    if (feature >= f.first && feature < f.first + f.n_levels - 1) {
      noise[n++] = check->statistic;
    }
  }
  if (n > 0) {
    tacit_sort_numbers(n, noise);
    tacit_checks_add(&fit->evidence.checks, TACIT_CHECK_RARE_LEVELS, effects_at(fit->effects, t) - 1,
                     noise[n / 2]);
  }
}

tacit_status_t tacit_fit_evidence_of_effects(tacit_fit_t *fit, tacit_error_t *err) {
  tacit_evidence_t *of = tacit_alloc(1, sizeof *of), *to = &fit->evidence;
  size_t n = fit->effects->aware.n_reported;
  if (of == NULL) {
    return tacit_error_memory(err);
  }
  *of = *to;
  to->n_terms = n < TACIT_MAX_EVIDENCE ? n : TACIT_MAX_EVIDENCE;
  for (size_t i = 0; i < to->n_terms; i++) {
    to->prior_sd[i] = to->prior_share[i] = NAN;
    to->feature_sd[i] = to->feature_mean[i] = to->noise_factor[i] = 0;
  }
  for (size_t j = fit->effects->names.has_cuts ? 0 : 1; j < of->n_terms; j++) { /* the intercept's is flat */
    size_t i = reported_at(fit, j);
    bool is_again = j >= fit->effects->n_features && feature_of(fit, j) != SIZE_MAX;
    if (i < to->n_terms && !is_again && !is_of_level(fit, j)) {
      to->prior_sd[i] = of->prior_sd[j];
      to->prior_share[i] = of->prior_share[j];
      to->feature_sd[i] = of->feature_sd[j];
      to->feature_mean[i] = of->feature_mean[j];
      to->noise_factor[i] = of->noise_factor[j];
    }
  }
  to->checks.n = 0;
  for (size_t k = 0; k < of->checks.n; k++) {
    tacit_check_t check = of->checks.items[k];
    bool is_term = check.term != SIZE_MAX, is_level = is_term && is_of_level(fit, check.term);
    check.term = is_term ? reported_at(fit, check.term) : SIZE_MAX;
    if (!(is_level && is_of_prior(check.id))) {
      to->checks.items[to->checks.n++] = check;
    }
  }
  double *noise = tacit_alloc(of->checks.n + 1, sizeof *noise);
  bool is_linear = fit->family == TACIT_FAMILY_GAUSSIAN;
  for (size_t t = 0; noise != NULL && is_linear && t < fit->effects->aware.n; t++) {
    check_levels(fit, &of->checks, t, noise);
  }
  tacit_status_t status = noise != NULL ? TACIT_OK : tacit_error_memory(err);
  tacit_free(noise);
  tacit_free(of);
  return status;
}
