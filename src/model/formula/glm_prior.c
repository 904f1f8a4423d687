/* Priors and the map to the original scale of a generalised linear model. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "formula/glm.h"
#include "formula/model_text.h"

/*
 * Heavy tails, since bounds tell little of a feature's scale. An intercept of student_t(7, 0, 1.5) is about
 * uniform as a probability; that of a gaussian is in units of half the response's range.
 */
static const tacit_prior_t default_slope = {TACIT_PRIOR_STUDENT_T, 3, 0, 2.5},
                           default_indicator = {TACIT_PRIOR_STUDENT_T, 3, 0, 1.25};
static const tacit_prior_t default_intercept = {TACIT_PRIOR_STUDENT_T, 7, 0, 1.5},
                           default_mean = {TACIT_PRIOR_STUDENT_T, 3, 0, 2.5};
/* For a feature whose scale was released: a coefficient for one sd of it, see docs/theory.md, "Noise-aware
 * regression". */
static const tacit_prior_t released_slope = {TACIT_PRIOR_STUDENT_T, 7, 0, 1.25};
static const tacit_prior_t default_sigma = {TACIT_PRIOR_STUDENT_T, 3, 0, 1};

static tacit_status_t check_prior(const tacit_prior_t *prior, tacit_error_t *err) {
  bool is_known = (unsigned)prior->kind <= TACIT_PRIOR_CAUCHY;
  bool is_scaled = prior->kind == TACIT_PRIOR_FLAT ||
                   (isfinite(prior->location) && prior->scale > 0 && isfinite(prior->scale));
  bool has_df = prior->kind != TACIT_PRIOR_STUDENT_T || (prior->df > 0 && isfinite(prior->df));
  if (is_known && is_scaled && has_df) {
    return TACIT_OK;
  }
  return tacit_error_set(err, TACIT_ERR_ARGUMENT, "prior",
                         "a prior needs a known kind, a finite location, a finite scale above 0 and, for "
                         "student_t, a finite df above 0");
}

static tacit_status_t unknown_term(const tacit_design_t *design, const tacit_glm_t *glm, const char *term,
                                   tacit_error_t *err) {
  tacit_nearest_t nearest = {.name = term};
  char known[320], hint[TACIT_HINT_SIZE];
  size_t used = 0, n = tacit_design_n_features(design);
  for (size_t j = 0; j < n + glm->kernel.n_extra; j++) {
    const char *label = j < n ? tacit_design_label(design, j) : tacit_design_sigma_label(design);
    tacit_nearest_offer(&nearest, label);
    if (used < sizeof known - 1) {
      int length = snprintf(known + used, sizeof known - used, "%s'%s'", j > 0 ? ", " : "", label);
      used += length > 0 ? (size_t)length : 0;
    }
  }
  bool is_cut = used >= sizeof known;
  return tacit_error_set(err, TACIT_ERR_UNKNOWN, "prior",
                         "the prior's term '%.64s' is not in the model%s; there are %s%s", term,
                         tacit_nearest_hint(&nearest, hint), known, is_cut ? "..." : "");
}

/* Is it "(Intercept)" or the like, which is what is no column, whether a column is called so or not? */
static bool is_in_parentheses(const char *term, const char *name) {
  size_t n = strlen(name);
  return term[0] == '(' && strncmp(term + 1, name, n) == 0 && strcmp(term + 1 + n, ")") == 0;
}

/* A term is a feature's label (of all classes), the label of one coefficient, or sigma. */
static bool matches(const tacit_design_t *design, const tacit_glm_t *glm, size_t i, const char *term) {
  size_t p = glm->kernel.n_features;
  bool is_sigma = i == glm->kernel.n_linear * p;
  bool is_intercept = glm->has_intercept && i % p == 0;
  if (term == NULL) {
    return !is_sigma && !is_intercept;
  }
  return strcmp(term, glm->names.labels[i]) == 0 || (is_sigma && is_in_parentheses(term, "sigma")) ||
         (is_intercept && is_in_parentheses(term, "Intercept")) ||
         (!is_sigma && strcmp(term, tacit_design_label(design, i % p)) == 0);
}

tacit_status_t tacit_glm_set_priors(tacit_glm_t *glm, const tacit_design_t *design,
                                    const tacit_glm_settings_t *settings, tacit_error_t *err) {
  size_t p = glm->kernel.n_features, n_coefficients = glm->kernel.n_linear * p;
  for (size_t i = 0; i < glm->dim; i++) {
    bool is_intercept = glm->has_intercept && i % p == 0;
    tacit_prior_t intercept = glm->kernel.family == TACIT_FAMILY_GAUSSIAN ? default_mean : default_intercept;
    glm->priors[i] = i == n_coefficients         ? default_sigma
                     : is_intercept              ? intercept
                     : glm->is_two_valued[i % p] ? default_indicator
                                                 : default_slope;
    if (i < n_coefficients && !is_intercept &&
        glm->typical[i % p].sd > 0) { /* 2.5 for half of what is typical */
      glm->priors[i].scale /= 1.65 * glm->typical[i % p].sd;
      glm->sources[i] = (tacit_prior_source_t){.basis = TACIT_PRIOR_BASIS_TYPICAL};
    }
  }
  for (size_t j = 0; j < p; j++) {
    glm->prior_at[j] = glm->typical[j].sd > 0 ? glm->typical[j].mean : 0;
  }
  for (size_t e = 0; e < settings->n_priors; e++) {
    const tacit_prior_entry_t *entry = &settings->priors[e];
    tacit_status_t status = check_prior(&entry->prior, err);
    if (status != TACIT_OK) {
      return status;
    }
    bool is_found = entry->term == NULL;
    for (size_t i = 0; i < glm->dim; i++) {
      if (matches(design, glm, i, entry->term)) {
        glm->priors[i] = entry->prior;
        glm->sources[i] = (tacit_prior_source_t){.basis = TACIT_PRIOR_BASIS_USER};
        is_found = true;
      }
    }
    if (!is_found) {
      return unknown_term(design, glm, entry->term, err);
    }
  }
  return TACIT_OK;
}

/* NULL for other models. */
static tacit_glm_t *glm_of(const tacit_parameters_t *parameters) {
  return parameters->log_prior == tacit_glm_log_prior ? parameters->ctx : NULL;
}

/* Of a slope, in sds of the response. Half the difference between two levels is larger than the effect of one
 * sd where one is rare, but not above what it is where nothing is known. */
static double slope_unit(const tacit_feature_scale_t *y, const tacit_feature_scale_t *x, bool is_two_valued) {
  double most = released_slope.scale, effect = y->effect > 0 ? y->effect : most, sd = fmax(x->sd, 1e-9);
  return is_two_valued ? fmin(effect / fmin(sd, 1), most) : effect * (1 + x->relative_error) / sd;
}

/* All in units of Y, an upper end of the response's sd: a released one that is too low would deny what the
 * data say. */
static void scale_gaussian(tacit_glm_t *glm, const tacit_feature_scale_t *scales, tacit_prior_basis_t basis) {
  const tacit_feature_scale_t *y = &scales[0];
  for (size_t j = 0; j < glm->dim; j++) {
    bool is_sigma = j == glm->kernel.n_features, is_intercept = j == 0 && glm->has_intercept;
    bool is_typical = !is_sigma && !is_intercept && glm->typical[j].sd > 0;
    if (!is_sigma) {
      glm->prior_at[j] = is_intercept ? 0 : is_typical ? glm->typical[j].mean : scales[j].mean;
    }
    if (glm->sources[j].basis == TACIT_PRIOR_BASIS_USER) {
      continue;
    }
    tacit_feature_scale_t scale = is_sigma || is_intercept ? *y : is_typical ? glm->typical[j] : scales[j];
    double unit = is_sigma       ? 2.5 * y->sd
                  : is_intercept ? 2.5 * hypot(y->sd, 2 * y->relative_error)
                                 : slope_unit(y, &scale, glm->is_two_valued[j]) * y->sd;
    glm->priors[j] = (tacit_prior_t){TACIT_PRIOR_STUDENT_T, 3, is_intercept ? y->mean : 0, unit};
    glm->sources[j] =
        (tacit_prior_source_t){basis, scale.sd, is_sigma || is_intercept ? 0 : scale.relative_error};
  }
}

void tacit_model_scale_priors(tacit_model_t *model, const tacit_feature_scale_t *scales,
                              tacit_prior_basis_t basis) {
  tacit_glm_t *glm = glm_of(&model->parameters);
  if (glm == NULL || glm->kernel.family == TACIT_FAMILY_CATEGORICAL) {
    return;
  }
  if (glm->kernel.family == TACIT_FAMILY_GAUSSIAN) {
    scale_gaussian(glm, scales, basis);
    return;
  }
  for (size_t j = 0; j < glm->kernel.n_features; j++) {
    bool is_intercept = glm->has_intercept && j == 0, is_typical = glm->typical[j].sd > 0;
    tacit_feature_scale_t scale =
        is_typical ? glm->typical[j] : scales[j]; /* what is public needs no release */
    glm->prior_at[j] = is_intercept ? 0 : scale.mean;
    if (glm->sources[j].basis == TACIT_PRIOR_BASIS_USER) {
      continue;
    }
    glm->priors[j] = is_intercept ? default_intercept : released_slope;
    glm->sources[j] = (tacit_prior_source_t){is_typical ? TACIT_PRIOR_BASIS_TYPICAL : basis,
                                             is_typical ? 0 : scale.sd, scale.relative_error};
    if (!is_intercept && !glm->is_two_valued[j]) {
      glm->priors[j].scale *= (1 + scale.relative_error) / scale.sd;
    }
  }
}

void tacit_model_normal_tails(tacit_model_t *model) {
  tacit_glm_t *glm = glm_of(&model->parameters);
  for (size_t i = 0; glm != NULL && i < glm->dim; i++) {
    bool is_heavy = glm->priors[i].kind == TACIT_PRIOR_STUDENT_T || glm->priors[i].kind == TACIT_PRIOR_CAUCHY;
    glm->priors[i].kind = is_heavy ? TACIT_PRIOR_NORMAL : glm->priors[i].kind;
  }
}

void tacit_model_flatten_priors(tacit_model_t *model, size_t first, size_t n) {
  tacit_glm_t *glm = glm_of(&model->parameters);
  for (size_t i = first; glm != NULL && i < first + n && i < glm->dim; i++) {
    glm->priors[i] = (tacit_prior_t){.kind = TACIT_PRIOR_FLAT};
  }
}

bool tacit_parameters_prior(const tacit_parameters_t *parameters, size_t i, tacit_prior_view_t *view) {
  const tacit_glm_t *glm = glm_of(parameters);
  if (glm == NULL || i >= glm->dim) {
    return false;
  }
  size_t p = glm->kernel.n_features, j = i % p;
  bool is_original = glm->sources[i].basis == TACIT_PRIOR_BASIS_USER && glm->prior_on_original_scale;
  bool is_sigma = i == glm->kernel.n_linear * p, is_intercept = glm->has_intercept && j == 0;
  double unit = is_sigma || is_intercept ? glm->half_y : glm->slope[j];
  *view = (tacit_prior_view_t){glm->priors[i], glm->sources[i], is_original ? 1 : unit,
                               is_sigma || is_intercept ? 0 : glm->half_y / glm->slope[j]};
  return true;
}

double tacit_parameters_prior_argument(const tacit_parameters_t *parameters, size_t i, const double *theta,
                                       double *weights) {
  const tacit_glm_t *glm = glm_of(parameters);
  if (weights != NULL) {
    memset(weights, 0, parameters->dim * sizeof *weights);
  }
  if (glm == NULL || i >= glm->kernel.n_linear * glm->kernel.n_features) {
    return NAN;
  }
  size_t p = glm->kernel.n_features, first = i / p * p;
  return tacit_glm_argument(glm, i, theta + first, weights != NULL ? weights + first : NULL);
}
