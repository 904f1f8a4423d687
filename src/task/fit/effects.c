/*
 * (1 | g) by method noise-aware: what is released is that of `+ g`, and the prior of the coefficients of g,
 * which is post-processing, that of effects with an sd of their own (noise_aware/effects.c). Draws are
 * reported as those of the formula's program, by which predictions are made.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "fit/fit_internal.h"
#include "formula/names.h"

/* ---- the formula ---- */

/* Past the quoted name, or the bracket, that begins at s; the end of the text where it never ends. */
static const char *skip(const char *s) {
  if (*s == '`') {
    const char *end = strchr(s + 1, '`');
    return end != NULL ? end + 1 : s + strlen(s);
  }
  for (int depth = 0; *s != '\0';) {
    depth += *s == '(';
    depth -= *s == ')';
    s = *s == '`' ? skip(s) : s + 1;
    if (depth == 0) {
      break;
    }
  }
  return s;
}

/* The bar of "(1 | g)", which ends before `end`; NULL: there is none. */
static const char *find_bar(const char *begin, const char *end) {
  for (const char *s = begin + 1; s < end && *s != '\0';) {
    if (*s == '|') {
      return s;
    }
    s = *s == '(' || *s == '`' ? skip(s) : s + 1;
  }
  return NULL;
}

/* The words from begin to end without spaces around them. */
static void trim(const char **begin, const char **end) {
  for (; *begin < *end && isspace((unsigned char)**begin); ++*begin) {
  }
  for (; *begin < *end && isspace((unsigned char)(*end)[-1]); --*end) {
  }
}

/* Takes the plus at the end of a formula back; false: something else than a plus or the tilde is there. */
static bool take_plus(tacit_text_t *text) {
  while (text->length > 0 && isspace((unsigned char)text->data[text->length - 1])) {
    text->data[--text->length] = '\0';
  }
  if (text->length > 0 && text->data[text->length - 1] == '+') {
    text->data[--text->length] = '\0';
    return true;
  }
  return text->length > 0 && text->data[text->length - 1] == '~';
}

/* Add the group (1 | g) at begin; false: it is another. */
static bool add_group(tacit_fit_effects_t *effects, const tacit_schema_t *schema, const char *begin,
                      const char *bar, const char *end) {
  const char *before = begin + 1, *before_end = bar, *name = bar + 1, *name_end = end - 1;
  trim(&before, &before_end);
  trim(&name, &name_end);
  tacit_text_append(&effects->groups, " + ", 3);
  tacit_text_append(&effects->groups, name, (size_t)(name_end - name));
  bool is_quoted = name_end - name > 2 && *name == '`';
  tacit_text_t called = {0};
  tacit_text_append(&called, name + is_quoted, (size_t)(name_end - name) - (is_quoted ? 2 : 0));
  const tacit_column_schema_t *column = called.data != NULL ? tacit_schema_find(schema, called.data) : NULL;
  tacit_text_clear(&called);
  if (before_end - before != 1 || *before != '1' || effects->aware.n == TACIT_FIT_MAX_GROUPS ||
      column == NULL || column->n_levels < 2) {
    return false;
  }
  effects->factors[effects->aware.n++].n_levels = column->n_levels;
  return true;
}

/* effects->fixed <- the formula without its groups; false: it has none, or others than (1 | g). */
static bool split(tacit_fit_effects_t *effects, const char *formula, const tacit_schema_t *schema) {
  for (const char *s = formula; *s != '\0';) {
    const char *end = *s == '(' || *s == '`' ? skip(s) : s + 1,
               *bar = *s == '(' && strchr("+~ \t\n", s > formula ? s[-1] : '(') != NULL ? find_bar(s, end)
                                                                                        : NULL;
    if (bar == NULL) {
      tacit_text_append(&effects->fixed, s, (size_t)(end - s));
    } else if (!take_plus(&effects->fixed) || !add_group(effects, schema, s, bar, end)) {
      return false;
    }
    s = end;
  }
  const char *last = effects->fixed.data != NULL ? strrchr(effects->fixed.data, '~') : NULL;
  bool is_empty = last != NULL && last[1 + strspn(last + 1, " \t\n")] == '\0';
  tacit_text_append(&effects->fixed, " 1", is_empty ? 2 : 0);
  return effects->aware.n > 0 && last != NULL;
}

/* ---- what is reported ---- */

static void report(const void *user, const double *theta, const double *sds, const double *levels,
                   double *row) {
  const tacit_fit_effects_t *effects = user;
  const tacit_parameters_t *parameters = &effects->model.parameters;
  size_t n_coefficients = 0, n_levels = 0, n_sds = 0;
  for (size_t j = 0; j < parameters->dim; j++) {
    const char *name = tacit_program_parameter(effects->program, j);
    effects->point[j] = strcmp(name, "Intercept_s") == 0 ? theta[0]
                        : strcmp(name, "b_s") == 0       ? theta[1 + n_coefficients++]
                        : strcmp(name, "sigma_s") == 0   ? theta[effects->n_features]
                        : strncmp(name, "sd_", 3) == 0   ? log(sds[n_sds++])
                                                         : levels[n_levels++];
  }
  parameters->report(parameters->ctx, effects->point, row);
}

static void begin(void *user) {
  tacit_fit_t *fit = user;
  for (size_t t = 0; t < fit->effects->aware.n; t++) {
    tacit_level_effects_t f = fit->effects->factors[t];
    tacit_model_flatten_priors(&fit->model, f.first, f.n_levels - 1);
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
    theta[j] = 0.25 + 0.5 / (double)(j + 1);
  }
  double first = 0;
  for (size_t k = effects->n_fixed; k < effects->n_features && ok; k++) {
    theta[k] = 0.125;
    first += theta[k]; /* features are -1 at the first levels */
  }
  if (ok) {
    own->report(own->ctx, theta, at);
    theta[0] -= first;
    report(effects, theta, sds, levels, row);
  }
  for (size_t j = 0; j < effects->n_fixed && ok; j++) {
    size_t k = find(effects, tacit_design_label(fit->design, j));
    ok = k < effects->aware.n_reported && fabs(row[k] - at[j]) <= 1e-9 * (1 + fabs(at[j]));
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

/* Places of the factors' features behind the n_fixed others; false: they are not there. */
static bool place(tacit_fit_t *fit, const tacit_design_t *fixed) {
  tacit_fit_effects_t *effects = fit->effects;
  size_t at = effects->n_fixed = tacit_design_n_features(fixed);
  effects->n_features = tacit_design_n_features(fit->design);
  for (size_t t = 0; t < effects->aware.n; t++) {
    effects->factors[t].first = at;
    at += effects->factors[t].n_levels - 1;
    effects->n_levels += effects->factors[t].n_levels;
  }
  bool ok = at == effects->n_features && tacit_design_has_intercept(fixed);
  for (size_t j = 0; j < effects->n_fixed && ok; j++) {
    ok = strcmp(tacit_design_label(fixed, j), tacit_design_label(fit->design, j)) == 0;
  }
  for (size_t j = effects->n_fixed; j < at && ok; j++) {
    ok = tacit_design_is_two_valued(fit->design, j);
  }
  return ok;
}

static tacit_status_t check_priors(const tacit_fit_t *fit, tacit_error_t *err) {
  for (size_t i = 0; i < fit->n_priors; i++) {
    const char *term = fit->priors[i].term;
    if (term != NULL && (strcmp(term, "Intercept") == 0 || strcmp(term, "(Intercept)") == 0)) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "prior",
                             "beside (1 | g) method noise-aware takes no other prior of the intercept: leave "
                             "it out, or use --method dp-hmc or dp-penalty");
    }
  }
  return TACIT_OK;
}

tacit_status_t tacit_fit_open_effects(tacit_fit_t *fit,
                                      tacit_status_t (*open_regression)(tacit_fit_t *, const char *,
                                                                        tacit_error_t *),
                                      bool *is_taken, tacit_error_t *err) {
  tacit_fit_effects_t *effects = fit->effects = tacit_alloc_zero(1, sizeof *effects);
  tacit_design_t *fixed = NULL;
  tacit_error_t why;
  *is_taken = false;
  if (effects == NULL) {
    return tacit_error_memory(err);
  }
  bool is_split = split(effects, fit->formula, fit->schema);
  tacit_text_t inner = {0};
  tacit_text_printf(&inner, "%s%s", is_split ? effects->fixed.data : "",
                    is_split ? effects->groups.data : "");
  if (inner.failed || effects->fixed.failed || effects->groups.failed) {
    tacit_text_clear(&inner);
    return tacit_error_memory(err);
  }
  tacit_status_t status = is_split
                              ? tacit_design_new(&fixed, effects->fixed.data, fit->schema, fit->family, &why)
                              : TACIT_ERR_SYNTAX;
  TACIT_THEN(status, open_regression(fit, inner.data, &why));
  bool is_placed = status == TACIT_OK && place(fit, fixed);
  tacit_design_free(fixed);
  tacit_text_clear(&inner);
  if (!is_placed) { /* its program takes it, or says why not */
    return status == TACIT_ERR_MEMORY ? tacit_error_memory(err) : TACIT_OK;
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
    status = effects->point == NULL ? tacit_error_memory(err) : check_priors(fit, err);
    *is_taken = status == TACIT_OK && is_alike(fit);
  }
  return status;
}

void tacit_fit_free_effects(tacit_fit_t *fit) {
  if (fit->effects != NULL) {
    tacit_text_clear(&fit->effects->fixed);
    tacit_text_clear(&fit->effects->groups);
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
  if (j < effects->n_fixed) {
    return find(effects, tacit_design_label(fit->design, j));
  }
  size_t t = 0;
  while (t + 1 < effects->aware.n && j >= effects->factors[t + 1].first) {
    t++;
  }
  return effects_at(effects, t) + 1 + (j - effects->factors[t].first);
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
    row[j] = reported[find(effects, tacit_design_label(fit->design, j))];
  }
  for (size_t t = 0; t < effects->aware.n; t++) {
    tacit_level_effects_t f = effects->factors[t];
    const double *of = reported + effects_at(effects, t);
    row[0] += unit * of[0];
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
  for (size_t j = 1; j < of->n_terms && j < fit->effects->n_fixed; j++) {
    size_t i = reported_at(fit, j);
    if (i < to->n_terms) {
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
         is_level = is_term && check.term >= fit->effects->n_fixed && check.term < fit->effects->n_features;
    check.term = is_term ? reported_at(fit, check.term) : SIZE_MAX;
    if (!(is_level && is_of_prior(check.id))) {
      to->checks.items[to->checks.n++] = check;
    }
  }
  tacit_free(of);
  return TACIT_OK;
}
