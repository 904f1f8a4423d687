/*
 * (1 | g) and (1 + x | g) by method noise-aware: what is released is that of `+ g`, or of `+ g + x:g`, and
 * the prior of the coefficients of g, which is post-processing, that of effects with sds of their own
 * (noise_aware/effects.c). Draws are reported as those of the formula's program, by which predictions are
 * made.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "fit/fit_internal.h"
#include "formula/names.h"

/* ---- what is reported ---- */

static void report(const void *user, const double *theta, const double *sds, const double *levels,
                   double *row) {
  const tacit_fit_effects_t *effects = user;
  const tacit_parameters_t *parameters = &effects->model.parameters;
  size_t n_coefficients = 0, n_levels = 0, n_sds = 0;
  for (size_t j = 0; j < parameters->dim; j++) {
    const char *name = tacit_program_parameter(effects->program, j);
    effects->point[j] = strcmp(name, "Intercept_s") == 0 ? theta[0]
                        : strcmp(name, "b_s") == 0       ? theta[effects->fixed_at[1 + n_coefficients++]]
                        : strcmp(name, "sigma_s") == 0   ? theta[effects->n_features]
                        : strncmp(name, "sd_", 3) == 0   ? log(sds[n_sds++])
                                                         : levels[n_levels++];
  }
  parameters->report(parameters->ctx, effects->point, row);
}

static void begin(void *user) {
  tacit_fit_t *fit = user;
  for (size_t j = 1; j < fit->effects->n_features; j++) {
    if (tacit_fit_is_of_effects(fit->effects, j)) {
      tacit_model_flatten_priors(&fit->model, j, 1);
    }
  }
}

static void report_of_fit(const void *user, const double *theta, const double *sds, const double *levels,
                          double *row) {
  report(((const tacit_fit_t *)user)->effects, theta, sds, levels, row);
}

/* Where something is reported by the program; n_reported: nowhere. */
static size_t find(const tacit_fit_effects_t *effects, const char *label) {
  size_t j = 0, n = effects->model.parameters.n_reported;
  while (j < n && strcmp(effects->model.parameters.labels[j], label) != 0) {
    j++;
  }
  return j;
}

/* What is reported of fixed terms, of the regression's `at`: slopes there are in units of the mapped column,
 * and the intercept where that is 0. */
static double fixed_of(const tacit_fit_effects_t *effects, const double *at, size_t j) {
  double value = at[effects->fixed_at[j]];
  for (size_t i = 0; i < effects->n_slopes; i++) {
    const tacit_fit_slope_t *slope = &effects->slopes[i];
    value = slope->fixed == j ? value / slope->half : value;
    value -= j == 0 ? at[slope->at] / slope->half * slope->centre : 0;
  }
  return value;
}

/* Do program and regression scale coefficients alike? */
static bool is_alike(const tacit_fit_t *fit) {
  const tacit_fit_effects_t *effects = fit->effects;
  const tacit_parameters_t *own = &fit->model.parameters;
  double sds[TACIT_FIT_MAX_GROUPS], *levels = tacit_alloc_zero(effects->n_levels, sizeof *levels),
                                    *theta = tacit_alloc_zero(own->dim, sizeof *theta),
                                    *at = tacit_alloc_zero(own->n_reported, sizeof *at),
                                    *row = tacit_alloc_zero(effects->aware.n_reported, sizeof *row);
  bool ok = levels != NULL && theta != NULL && at != NULL && row != NULL;
  for (size_t t = 0; t < effects->aware.n; t++) {
    sds[t] = 1;
  }
  for (size_t j = 0; j < effects->n_fixed && ok; j++) {
    theta[effects->fixed_at[j]] = 0.25 + 0.5 / (double)(j + 1);
  }
  double first = 0;
  for (size_t t = 0; t < effects->aware.n && ok; t++) {
    tacit_level_effects_t f = effects->factors[t];
    for (size_t k = f.first; k < f.first + f.n_levels - 1; k++) {
      theta[k] = 0.125;
      first += f.main > 0 ? 0 : theta[k]; /* features are -1 at the first levels */
    }
  }
  if (ok) {
    own->report(own->ctx, theta, at);
    theta[0] -= first;
    report(effects, theta, sds, levels, row);
  }
  for (size_t j = 0; j < effects->n_fixed && ok; j++) {
    size_t k = find(effects, tacit_design_label(effects->fixed_design, j));
    double wanted = fixed_of(effects, at, j);
    ok = k < effects->aware.n_reported && fabs(row[k] - wanted) <= 1e-9 * (1 + fabs(wanted));
  }
  if (fit->family == TACIT_FAMILY_GAUSSIAN) {
    size_t k = find(effects, tacit_design_sigma_label(fit->design));
    ok = ok && own->dim == effects->n_features + 1 && k < effects->aware.n_reported &&
         fabs(row[k] - at[effects->n_features]) <= 1e-9 * at[effects->n_features];
  }
  tacit_free(levels);
  tacit_free(theta);
  tacit_free(at);
  tacit_free(row);
  return ok;
}

/* ---- preparing ---- */

bool tacit_fit_may_have_effects(const tacit_fit_t *fit) {
  return !fit->is_exposed && fit->method != NULL && fit->method->is_one_off &&
         strchr(fit->formula, '|') != NULL;
}

bool tacit_fit_is_of_effects(const tacit_fit_effects_t *effects, size_t j) {
  for (size_t t = 0; t < effects->aware.n; t++) {
    tacit_level_effects_t f = effects->factors[t];
    if ((j >= f.first && j < f.first + f.n_levels - 1) || (f.main > 0 && j == f.main)) {
      return true;
    }
  }
  return false;
}

/*
 * ->fixed_at, and where slopes are: fixed terms are in the regression in the same order, with main effects of
 * groups before the first interaction and products after those of two. others (*n_others) <- those of groups.
 */
static bool place_fixed(tacit_fit_t *fit, size_t *others, size_t *n_others) {
  tacit_fit_effects_t *effects = fit->effects;
  size_t i = 0;
  *n_others = 0;
  for (size_t j = 0; j < effects->n_features; j++) {
    const char *label = i < effects->n_fixed ? tacit_design_label(effects->fixed_design, i) : "";
    tacit_fit_slope_t *slope = i < effects->n_fixed ? tacit_fit_find_slope(effects, label) : NULL;
    if (slope == NULL && strcmp(label, tacit_design_label(fit->design, j)) != 0) {
      others[(*n_others)++] = j;
      continue;
    }
    if (slope != NULL) {
      slope->at = j;
      slope->fixed = i;
    }
    effects->fixed_at[i++] = j;
  }
  bool ok = i == effects->n_fixed;
  for (size_t k = 0; k < effects->n_slopes; k++) {
    ok = ok && effects->slopes[k].at > 0;
  }
  return ok;
}

/* Places of the factors' features: of levels first, of slopes then; false: they are not there. */
static bool place(tacit_fit_t *fit, size_t *others) {
  tacit_fit_effects_t *effects = fit->effects;
  size_t n_others = 0, at = 0;
  bool ok = tacit_design_has_intercept(effects->fixed_design) && place_fixed(fit, others, &n_others);
  for (size_t pass = 0; pass < 2; pass++) {
    for (size_t t = 0; t < effects->aware.n && ok; t++) {
      tacit_level_effects_t *f = &effects->factors[t];
      if ((effects->slope_of[t] > 0) != (pass == 1)) {
        continue;
      }
      effects->n_levels += f->n_levels;
      ok = at + f->n_levels - 1 <= n_others;
      f->first = ok ? others[at] : 0;
      f->main = pass == 1 ? effects->slopes[effects->slope_of[t] - 1].at : 0;
      for (size_t k = 0; k + 1 < f->n_levels && ok; k++) {
        ok = others[at + k] == f->first + k &&
             (pass == 1 || tacit_design_is_two_valued(fit->design, f->first + k));
      }
      at += f->n_levels - 1;
    }
  }
  return ok && at == n_others;
}

/* Priors that become flat: of a slope whatever the regression is, as it has another name there, of the
 * intercept where it is taken. */
static tacit_status_t check_priors(const tacit_fit_t *fit, bool is_taken, tacit_error_t *err) {
  for (size_t i = 0; i < fit->n_priors; i++) {
    const char *term = fit->priors[i].term;
    bool is_intercept =
        is_taken && term != NULL && (strcmp(term, "Intercept") == 0 || strcmp(term, "(Intercept)") == 0);
    if (is_intercept || (term != NULL && tacit_fit_find_slope(fit->effects, term) != NULL)) {
      return tacit_error_set(
          err, TACIT_ERR_ARGUMENT, "prior",
          "beside (%s | g) method noise-aware takes no other prior of %s%.64s: leave it out, "
          "or use --method dp-hmc or dp-penalty",
          is_intercept ? "1" : "1 + x", is_intercept ? "the intercept" : "", is_intercept ? "" : term);
    }
  }
  return TACIT_OK;
}

/* The regression, and which of its features are what; *is_placed false: it is not one of these. */
static tacit_status_t open_parts(tacit_fit_t *fit,
                                 tacit_status_t (*open_regression)(tacit_fit_t *, const char *,
                                                                   tacit_error_t *),
                                 bool *is_placed, tacit_error_t *err) {
  tacit_fit_effects_t *effects = fit->effects;
  tacit_error_t why;
  tacit_status_t status =
      tacit_design_new(&effects->fixed_design, effects->fixed.data, fit->schema, fit->family, &why);
  TACIT_THEN(status, open_regression(fit, effects->regression.data, &why));
  if (status != TACIT_OK) { /* its program takes the formula, or says why not */
    return status == TACIT_ERR_MEMORY ? tacit_error_memory(err) : TACIT_OK;
  }
  effects->n_fixed = tacit_design_n_features(effects->fixed_design);
  effects->n_features = tacit_design_n_features(fit->design);
  effects->fixed_at = tacit_alloc_zero(effects->n_fixed, sizeof *effects->fixed_at);
  size_t *others = tacit_alloc(effects->n_features, sizeof *others);
  if (effects->fixed_at == NULL || others == NULL) {
    status = tacit_error_memory(err);
  } else {
    *is_placed = place(fit, others);
  }
  tacit_free(others);
  return status;
}

tacit_status_t tacit_fit_open_effects(tacit_fit_t *fit,
                                      tacit_status_t (*open_regression)(tacit_fit_t *, const char *,
                                                                        tacit_error_t *),
                                      bool *is_taken, tacit_error_t *err) {
  tacit_fit_effects_t *effects = fit->effects = tacit_alloc_zero(1, sizeof *effects);
  bool is_placed = false;
  *is_taken = false;
  if (effects == NULL) {
    return tacit_error_memory(err);
  }
  bool is_split = tacit_fit_split_effects(effects, fit->formula, fit->schema);
  if (effects->fixed.failed || effects->regression.failed) {
    return tacit_error_memory(err);
  }
  tacit_status_t status = is_split ? check_priors(fit, false, err) : TACIT_OK;
  if (is_split) {
    TACIT_THEN(status, open_parts(fit, open_regression, &is_placed, err));
  }
  TACIT_THEN(status, is_placed ? check_priors(fit, true, err) : TACIT_OK);
  if (status != TACIT_OK || !is_placed) {
    return status;
  }
  tacit_model_t own = fit->model;
  fit->model = (tacit_model_t){0};
  status = tacit_fit_open_program(fit, err);
  effects->model = fit->model;
  effects->program = fit->program;
  fit->model = own;
  fit->program = NULL;
  if (status == TACIT_OK) {
    effects->aware.factors = effects->factors;
    effects->aware.n_reported = effects->model.parameters.n_reported;
    effects->aware.report = report_of_fit;
    effects->aware.begin = begin;
    effects->aware.user = fit;
    effects->point = tacit_alloc(effects->model.parameters.dim, sizeof *effects->point);
    status = effects->point == NULL ? tacit_error_memory(err) : TACIT_OK;
    *is_taken = status == TACIT_OK && is_alike(fit);
  }
  return status;
}

void tacit_fit_free_effects(tacit_fit_t *fit) {
  if (fit->effects != NULL) {
    tacit_text_clear(&fit->effects->fixed);
    tacit_text_clear(&fit->effects->regression);
    for (size_t i = 0; i < fit->effects->n_slopes; i++) {
      tacit_free(fit->effects->slopes[i].column);
    }
    tacit_free(fit->effects->fixed_at);
    tacit_design_free(fit->effects->fixed_design);
    tacit_model_clear(&fit->effects->model);
    tacit_program_free(fit->effects->program);
    tacit_free(fit->effects->point);
    tacit_free(fit->effects);
    fit->effects = NULL;
  }
}

/* ---- what is known of the regression's terms, of what is reported ---- */

/* Where the effects of factor t begin among what is reported. */
static size_t effects_at(const tacit_fit_effects_t *effects, size_t t) {
  size_t at = effects->model.parameters.n_reported;
  for (size_t k = t; k < effects->aware.n; k++) {
    at -= effects->factors[k].n_levels + (k > t);
  }
  return at;
}

/* Where term j of the regression is reported: a coefficient by its label, that of a level by its effect. */
static size_t reported_at(const tacit_fit_t *fit, size_t j) {
  const tacit_fit_effects_t *effects = fit->effects;
  for (size_t t = 0; t < effects->aware.n; t++) {
    tacit_level_effects_t f = effects->factors[t];
    if (j >= f.first && j < f.first + f.n_levels - 1) {
      return effects_at(effects, t) + 1 + (j - f.first);
    }
  }
  size_t i = 0;
  while (i + 1 < effects->n_fixed && effects->fixed_at[i] != j) {
    i++;
  }
  return find(effects, tacit_design_label(effects->fixed_design, i));
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
    row[effects->n_features] = reported[find(effects, tacit_design_sigma_label(fit->design))];
  }
  for (size_t j = 0; j < effects->n_fixed; j++) {
    row[effects->fixed_at[j]] = reported[find(effects, tacit_design_label(effects->fixed_design, j))];
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
  for (size_t j = 1; j < of->n_terms && j < fit->effects->n_features; j++) {
    size_t i = reported_at(fit, j);
    if (i < to->n_terms && !tacit_fit_is_of_effects(fit->effects, j)) {
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
    bool is_term = check.term != SIZE_MAX,
         is_level = is_term && tacit_fit_is_of_effects(fit->effects, check.term);
    check.term = is_term ? reported_at(fit, check.term) : SIZE_MAX;
    if (!(is_level && is_of_prior(check.id))) {
      to->checks.items[to->checks.n++] = check;
    }
  }
  tacit_free(of);
  return TACIT_OK;
}
