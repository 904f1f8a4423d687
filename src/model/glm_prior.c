/* Priors and the map to the original scale of a generalised linear model. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/base_internal.h"
#include "model/glm.h"
#include "model/model_text.h"

static const tacit_prior_t default_slope = {TACIT_PRIOR_NORMAL, 0, 0, 2.5};
static const tacit_prior_t default_intercept = {TACIT_PRIOR_NORMAL, 0, 0, 10};
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
    const char *label = j < n ? tacit_design_label(design, j) : "sigma";
    tacit_nearest_offer(&nearest, label);
    if (used < sizeof known - 1) {
      int length = snprintf(known + used, sizeof known - used, "%s'%s'", j > 0 ? ", " : "", label);
      used += length > 0 ? (size_t)length : 0;
    }
  }
  bool is_cut = used >= sizeof known;
  return tacit_error_set(err, TACIT_ERR_UNKNOWN, "prior",
                         "the prior's term '%.64s' is not in the model%s; there are %s%s", term, tacit_nearest_hint(&nearest, hint), known, is_cut ? "..." : "");
}

/* A term is a feature's label (of all classes), the label of one coefficient, or sigma. */
static bool matches(const tacit_design_t *design, const tacit_glm_t *glm, size_t i, const char *term) {
  size_t p = glm->kernel.n_features;
  bool is_sigma = i == glm->kernel.n_linear * p;
  bool is_intercept = glm->has_intercept && i % p == 0;
  if (term == NULL) {
    return !is_sigma && !is_intercept;
  }
  return strcmp(term, glm->names.labels[i]) == 0 ||
         (!is_sigma && strcmp(term, tacit_design_label(design, i % p)) == 0);
}

tacit_status_t tacit_glm_set_priors(tacit_glm_t *glm, const tacit_design_t *design,
                                    const tacit_glm_settings_t *settings, tacit_error_t *err) {
  size_t p = glm->kernel.n_features, n_coefficients = glm->kernel.n_linear * p;
  for (size_t i = 0; i < glm->dim; i++) {
    bool is_intercept = glm->has_intercept && i % p == 0;
    glm->priors[i] = i == n_coefficients ? default_sigma : is_intercept ? default_intercept : default_slope;
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
        is_found = true;
      }
    }
    if (!is_found) {
      return unknown_term(design, glm, entry->term, err);
    }
  }
  return TACIT_OK;
}

static double original_intercept(const tacit_glm_t *glm, const double *theta) {
  double shift = 0;
  for (size_t j = 1; j < glm->kernel.n_features; j++) {
    shift += glm->centre[j] * (glm->slope[j] * theta[j]);
  }
  return glm->centre_y + glm->half_y * theta[0] - shift;
}

/* Priors on the scaled coefficients of one class. */
static double log_prior_scaled(size_t p, const tacit_prior_t *priors, const double *theta, double *grad) {
  double sum = 0;
  for (size_t j = 0; j < p; j++) {
    sum += tacit_prior_log_density(&priors[j], theta[j], grad != NULL ? &grad[j] : NULL);
  }
  return sum;
}

/*
 * Priors on the original coefficients beta of one class: with g = d log p / d beta,
 * d / d theta_0 = half_y g_0 and d / d theta_j = slope_j (g_j - centre_j g_0). The map is linear:
 * its Jacobian is a constant.
 */
static double log_prior_original(const tacit_glm_t *glm, const tacit_prior_t *priors, const double *theta,
                                 double *grad) {
  double sum = 0, g_0 = 0;
  size_t first = glm->has_intercept ? 1 : 0;
  if (glm->has_intercept) {
    sum = tacit_prior_log_density(&priors[0], original_intercept(glm, theta), &g_0);
    if (grad != NULL) {
      grad[0] = glm->half_y * g_0;
    }
  }
  for (size_t j = first; j < glm->kernel.n_features; j++) {
    double g;
    sum += tacit_prior_log_density(&priors[j], glm->slope[j] * theta[j], &g);
    if (grad != NULL) {
      grad[j] = glm->slope[j] * (g - glm->centre[j] * g_0);
    }
  }
  return sum;
}

/* The prior of sigma = unit e^u at u, truncated to sigma > 0, with the Jacobian e^u. */
static double log_prior_sigma(const tacit_prior_t *prior, double unit, double u, double *grad) {
  double sigma = unit * exp(u), slope;
  double value = tacit_prior_log_density(prior, sigma, &slope);
  if (grad != NULL) {
    *grad = slope * sigma + 1;
  }
  return value + u;
}

double tacit_glm_log_prior(const void *ctx, const double *theta, double *grad) {
  const tacit_glm_t *glm = ctx;
  size_t p = glm->kernel.n_features;
  double sum = 0;
  for (size_t r = 0; r < glm->kernel.n_linear; r++) {
    double *grad_r = grad != NULL ? grad + r * p : NULL;
    sum += glm->prior_on_original_scale ? log_prior_original(glm, glm->priors + r * p, theta + r * p, grad_r)
                                        : log_prior_scaled(p, glm->priors + r * p, theta + r * p, grad_r);
  }
  if (glm->kernel.n_extra == 1) {
    size_t last = glm->dim - 1;
    double unit = glm->prior_on_original_scale ? glm->half_y : 1;
    sum += log_prior_sigma(&glm->priors[last], unit, theta[last], grad != NULL ? &grad[last] : NULL);
  }
  return sum;
}

void tacit_glm_report(const void *ctx, const double *theta, double *reported) {
  const tacit_glm_t *glm = ctx;
  size_t p = glm->kernel.n_features, first = glm->has_intercept ? 1 : 0;
  for (size_t r = 0; r < glm->kernel.n_linear; r++) {
    if (glm->has_intercept) {
      reported[r * p] = original_intercept(glm, theta + r * p);
    }
    for (size_t j = first; j < p; j++) {
      reported[r * p + j] = glm->slope[j] * theta[r * p + j];
    }
  }
  if (glm->kernel.n_extra == 1) {
    reported[glm->dim - 1] = glm->half_y * exp(theta[glm->dim - 1]);
  }
}
