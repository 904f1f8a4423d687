/*
 * (1 | g) and (1 + x | g) by method noise-aware: what is released is that of `+ g`, or of `+ g + x:g`, by
 * kernels or as a program, and the prior of the coefficients of g, which is post-processing, that of effects
 * with sds of their own (noise_aware/effects.c). Draws are reported as those of the formula's program, by
 * which predictions are made.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "fit/fit_internal.h"
#include "formula/names.h"

/* ---- what is reported ---- */

const char *tacit_fit_fixed_label(const tacit_fit_effects_t *effects, size_t i) {
  return effects->fixed_design != NULL ? tacit_design_label(effects->fixed_design, i)
                                       : effects->fixed_names.names.labels[i];
}

/* Of the regression's features; of a program's reported numbers these are the first. */
static const char *own_label(const tacit_fit_t *fit, size_t j) {
  return fit->design != NULL ? tacit_design_label(fit->design, j) : fit->effects->names.names.labels[j];
}

static void report(const tacit_fit_effects_t *effects, const double *theta, const double *sds,
                   const double *levels, double *row) {
  const tacit_parameters_t *parameters = &effects->model.parameters;
  for (size_t j = 0; j < parameters->dim; j++) {
    tacit_fit_place_t place = effects->places[j];
    effects->point[j] = place.of == TACIT_FIT_PLACE_OF_SD      ? log(sds[place.at])
                        : place.of == TACIT_FIT_PLACE_OF_LEVEL ? levels[place.at]
                                                               : theta[place.at];
  }
  parameters->report(parameters->ctx, effects->point, row);
}

static void begin(void *user) {
  tacit_fit_t *fit = user;
  if (fit->program != NULL) {
    /* The likelihood is that of the releases, the prior that of the other program. */
    tacit_model_t own = fit->model;
    fit->model = fit->effects->flat;
    fit->effects->flat = own;
    return;
  }
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

size_t tacit_fit_find_reported(const tacit_fit_effects_t *effects, const char *label) {
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

/* Is it a program's intercept, slope or cut point at mapped features? Cut points of the regression are those
 * at the middle of the levels. */
static bool is_of_predictor(const char *name) {
  return strcmp(name, "Intercept_s") == 0 || strncmp(name, "b_s", 3) == 0 || strncmp(name, "cut.", 4) == 0;
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
    theta[effects->aware.level_at] -= effects->aware.level_sign * first;
    report(effects, theta, sds, levels, row);
  }
  for (size_t j = 0; j < effects->n_fixed && ok; j++) {
    size_t k = tacit_fit_find_reported(effects, tacit_fit_fixed_label(effects, j));
    double wanted = fixed_of(effects, at, j);
    ok = k < effects->aware.n_reported && fabs(row[k] - wanted) <= 1e-9 * (1 + fabs(wanted));
  }
  for (size_t j = effects->n_features; j < own->n_reported && ok; j++) {
    /* Sigma, and what else a family has. */
    size_t k = tacit_fit_find_reported(effects, own->labels[j]);
    ok = is_of_predictor(own->names[j]) ||
         (k < effects->aware.n_reported && fabs(row[k] - at[j]) <= 1e-9 * fabs(at[j]));
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
    const char *label = i < effects->n_fixed ? tacit_fit_fixed_label(effects, i) : "";
    tacit_fit_slope_t *slope = i < effects->n_fixed ? tacit_fit_find_slope(effects, label) : NULL;
    if (slope == NULL && strcmp(label, own_label(fit, j)) != 0) {
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
  bool ok = place_fixed(fit, others, &n_others);
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
             (pass == 1 || fit->design == NULL || tacit_design_is_two_valued(fit->design, f->first + k));
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

/* By the regression's kernels; what these do not take, TACIT_ERR_MEMORY aside, its program may. */
static tacit_status_t open_designs(tacit_fit_t *fit,
                                   tacit_status_t (*open_regression)(tacit_fit_t *, const char *,
                                                                     tacit_error_t *),
                                   tacit_error_t *err) {
  tacit_fit_effects_t *effects = fit->effects;
  tacit_status_t status =
      tacit_design_new(&effects->fixed_design, effects->fixed.data, fit->schema, fit->family, err);
  TACIT_THEN(status, open_regression(fit, effects->regression.data, err));
  if (status == TACIT_OK && tacit_design_has_intercept(effects->fixed_design)) {
    effects->n_fixed = tacit_design_n_features(effects->fixed_design);
    effects->n_features = tacit_design_n_features(fit->design);
  }
  return status;
}

/* As a program, and the same with the priors flat that effects take the place of. */
static tacit_status_t open_programs(tacit_fit_t *fit, tacit_error_t *err) {
  tacit_fit_effects_t *effects = fit->effects;
  tacit_status_t status = tacit_written_new(&effects->fixed_names, effects->fixed.data,
                                            tacit_fit_value(fit, "family"), fit->schema, NULL, err);
  const tacit_written_priors_t priors = tacit_fit_written_priors(fit);
  TACIT_THEN(status, tacit_fit_open_written(fit, effects->regression.data, &priors, &effects->names,
                                            &fit->program, &fit->model, err));
  effects->n_fixed = effects->fixed_names.n_features;
  effects->n_features = effects->names.has_cuts && effects->n_slopes > 0 ? 0 : effects->names.n_features;
  return status;
}

/* ->flat: priors flat of the intercept, of levels, and of slopes that have effects. */
static tacit_status_t open_flat(tacit_fit_t *fit, tacit_error_t *err) {
  tacit_fit_effects_t *effects = fit->effects;
  size_t n = fit->n_priors;
  tacit_prior_entry_t *priors = tacit_alloc_zero(n + effects->n_features, sizeof *priors);
  tacit_written_t written = {0};
  bool ok = priors != NULL;
  for (size_t i = 0; i < n && ok; i++) {
    priors[i] = fit->priors[i];
  }
  for (size_t j = 0; j < effects->n_features && ok; j++) {
    if ((j == 0 && !effects->names.has_cuts) || tacit_fit_is_of_effects(effects, j)) {
      priors[n++] = (tacit_prior_entry_t){tacit_strdup(own_label(fit, j)), {.kind = TACIT_PRIOR_FLAT}};
      ok = priors[n - 1].term != NULL;
    }
  }
  tacit_written_priors_t all = tacit_fit_written_priors(fit);
  all.entries = priors;
  all.n = n;
  all.is_level_flat = true;
  tacit_status_t status = ok ? tacit_fit_open_written(fit, effects->regression.data, &all, &written,
                                                      &effects->flat_program, &effects->flat, err)
                             : tacit_error_memory(err);
  tacit_written_clear(&written);
  for (size_t i = fit->n_priors; i < n; i++) {
    tacit_prior_entry_clear(&priors[i]);
  }
  tacit_free(priors);
  return status;
}

/* The regression, and which of its features are what; *is_placed false: it is not one of these. */
static tacit_status_t open_parts(tacit_fit_t *fit,
                                 tacit_status_t (*open_regression)(tacit_fit_t *, const char *,
                                                                   tacit_error_t *),
                                 bool *is_placed, tacit_error_t *err) {
  tacit_fit_effects_t *effects = fit->effects;
  tacit_error_t why;
  tacit_status_t status =
      open_regression != NULL ? open_designs(fit, open_regression, &why) : open_programs(fit, &why);
  if (status != TACIT_OK) { /* its program takes the formula, or says why not */
    return status == TACIT_ERR_MEMORY ? tacit_error_memory(err) : TACIT_OK;
  }
  effects->fixed_at = tacit_alloc_zero(effects->n_fixed + 1, sizeof *effects->fixed_at);
  size_t *others = tacit_alloc(effects->n_features + 1, sizeof *others);
  if (effects->fixed_at == NULL || others == NULL) {
    status = tacit_error_memory(err);
  } else {
    bool has_fixed = effects->n_fixed > 0 || effects->names.has_cuts; /* cut points alone do, too */
    *is_placed = effects->n_features > 0 && has_fixed && place(fit, others);
  }
  tacit_free(others);
  return status;
}

/* Where the formula's program has what; false: it has what is nowhere. */
static bool place_parameters(const tacit_fit_t *fit) {
  const tacit_fit_effects_t *effects = fit->effects;
  size_t n_coefficients = 0, n_levels = 0, n_sds = 0, n_others = 0, dim = fit->model.parameters.dim;
  const size_t has_intercept = !effects->names.has_cuts;
  for (size_t j = 0; j < effects->model.parameters.dim; j++) {
    const char *name = tacit_program_parameter(effects->program, j);
    tacit_fit_place_t *place = &effects->places[j];
    place->of = strncmp(name, "sd_", 3) == 0  ? TACIT_FIT_PLACE_OF_SD
                : strncmp(name, "r_", 2) == 0 ? TACIT_FIT_PLACE_OF_LEVEL
                                              : TACIT_FIT_PLACE_OF_REGRESSION;
    place->at = place->of == TACIT_FIT_PLACE_OF_SD      ? n_sds++
                : place->of == TACIT_FIT_PLACE_OF_LEVEL ? n_levels++
                : strcmp(name, "Intercept_s") == 0      ? 0
                : strcmp(name, "b_s") == 0              ? has_intercept + n_coefficients++
                                                        : effects->n_features + n_others++;
    if (strcmp(name, "b_s") == 0) {
      place->at = place->at < effects->n_fixed ? effects->fixed_at[place->at] : dim;
    }
    if (place->of == TACIT_FIT_PLACE_OF_REGRESSION && place->at >= dim) {
      return false;
    }
  }
  return n_sds == effects->aware.n && n_levels == effects->n_levels && effects->n_features + n_others == dim;
}

/* The formula's own program, whose parameters are reported; ->model and ->program of the fit stay. */
static tacit_status_t open_reported(tacit_fit_t *fit, tacit_error_t *err) {
  tacit_fit_effects_t *effects = fit->effects;
  tacit_model_t own = fit->model;
  tacit_program_t *program = fit->program;
  fit->model = (tacit_model_t){0};
  fit->program = NULL;
  tacit_status_t status = tacit_fit_open_program(fit, err);
  effects->model = fit->model;
  effects->program = fit->program;
  fit->model = own;
  fit->program = program;
  if (status == TACIT_OK) {
    size_t dim = effects->model.parameters.dim;
    effects->aware.factors = effects->factors;
    effects->aware.n_reported = effects->model.parameters.n_reported;
    effects->aware.level_at = effects->names.has_cuts ? effects->n_features : 0;
    effects->aware.level_sign = effects->names.has_cuts ? -1 : 1;
    effects->aware.report = report_of_fit;
    effects->aware.begin = begin;
    effects->aware.user = fit;
    effects->point = tacit_alloc(dim, sizeof *effects->point);
    effects->places = tacit_alloc_zero(dim, sizeof *effects->places);
    status = effects->point == NULL || effects->places == NULL ? tacit_error_memory(err) : TACIT_OK;
  }
  return status;
}

/* Nobody asked for the method by name, and it does not take the regression. */
static bool is_barred(const tacit_fit_t *fit) {
  char obstacle[TACIT_FIT_OBSTACLE_SIZE];
  return !tacit_fit_has(fit, "method") && tacit_fit_aware_obstacle(fit, obstacle);
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
  is_placed = is_placed && !is_barred(fit);
  TACIT_THEN(status, is_placed ? check_priors(fit, true, err) : TACIT_OK);
  if (status != TACIT_OK || !is_placed) {
    return status;
  }
  status = open_reported(fit, err);
  if (fit->design == NULL) {
    TACIT_THEN(status, open_flat(fit, err));
  }
  *is_taken = status == TACIT_OK && place_parameters(fit) && is_alike(fit);
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
    tacit_written_clear(&fit->effects->fixed_names);
    tacit_written_clear(&fit->effects->names);
    tacit_model_clear(&fit->effects->flat);
    tacit_program_free(fit->effects->flat_program);
    tacit_model_clear(&fit->effects->model);
    tacit_program_free(fit->effects->program);
    tacit_free(fit->effects->places);
    tacit_free(fit->effects->point);
    tacit_free(fit->effects);
    fit->effects = NULL;
  }
}
