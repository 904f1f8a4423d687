/* Densities of a generalised linear model's priors, and the map to the original scale. */
#include <math.h>

#include "formula/glm.h"

static double original_intercept(const tacit_glm_t *glm, const double *theta) {
  double shift = 0;
  for (size_t j = 1; j < glm->kernel.n_features; j++) {
    shift += glm->centre[j] * (glm->slope[j] * theta[j]);
  }
  return glm->centre_y + glm->half_y * theta[0] - shift;
}

/*
 * Every prior of a coefficient is a density of a linear function u of its class's theta: a default slope's of
 * theta_j, a default intercept's of the predictor at prior_at, the user's of what is reported or of theta.
 * This is du / dtheta_l.
 */
static double form_of(const tacit_glm_t *glm, size_t i, size_t l) {
  size_t j = i % glm->kernel.n_features;
  bool is_user = glm->sources[i].basis == TACIT_PRIOR_BASIS_USER,
       is_original = is_user && glm->prior_on_original_scale;
  bool is_intercept = glm->has_intercept && j == 0;
  if (l == j) {
    return !is_original ? 1 : is_intercept ? glm->half_y : glm->slope[j];
  }
  return !is_intercept || (is_user && !is_original) ? 0
         : is_original                              ? -glm->centre[l] * glm->slope[l]
                                                    : glm->prior_at[l];
}

/* u, and weights (n_features) += scale times du / dtheta unless NULL. */
static double add_argument(const tacit_glm_t *glm, size_t i, const double *theta, double scale,
                           double *weights) {
  size_t p = glm->kernel.n_features, j = i % p;
  bool is_intercept = glm->has_intercept && j == 0, is_user = glm->sources[i].basis == TACIT_PRIOR_BASIS_USER;
  double u = is_intercept && is_user && glm->prior_on_original_scale ? glm->centre_y : 0;
  for (size_t l = is_intercept ? 0 : j; l < (is_intercept ? p : j + 1); l++) {
    double factor = form_of(glm, i, l);
    u += factor * theta[l];
    if (weights != NULL) {
      weights[l] += scale * factor;
    }
  }
  return u;
}

double tacit_glm_argument(const tacit_glm_t *glm, size_t i, const double *theta, double *weights) {
  return add_argument(glm, i, theta, 1, weights);
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
  size_t p = glm->kernel.n_features, n = glm->kernel.n_linear * p;
  double sum = 0;
  for (size_t i = 0; grad != NULL && i < n; i++) {
    grad[i] = 0;
  }
  for (size_t i = 0; i < n; i++) {
    double slope, u = add_argument(glm, i, theta + i / p * p, 0, NULL);
    sum += tacit_prior_log_density(&glm->priors[i], u, grad != NULL ? &slope : NULL);
    if (grad != NULL) {
      add_argument(glm, i, theta + i / p * p, slope, grad + i / p * p);
    }
  }
  if (glm->kernel.n_extra == 1) {
    size_t last = glm->dim - 1;
    bool is_original = glm->sources[last].basis == TACIT_PRIOR_BASIS_USER && glm->prior_on_original_scale;
    sum += log_prior_sigma(&glm->priors[last], is_original ? glm->half_y : 1, theta[last],
                           grad != NULL ? &grad[last] : NULL);
  }
  return sum;
}

void tacit_glm_prior_precision(const void *ctx, const double *theta, double *precision) {
  const tacit_glm_t *glm = ctx;
  size_t p = glm->kernel.n_features, dim = glm->dim;
  for (size_t i = 0; i < glm->kernel.n_linear * p; i++) {
    size_t first = i / p * p;
    double weight = tacit_prior_precision(&glm->priors[i], add_argument(glm, i, theta + first, 0, NULL));
    bool is_intercept = glm->has_intercept && i == first;
    for (size_t l = is_intercept ? 0 : i - first; l < (is_intercept ? p : i - first + 1); l++) { /* w a a' */
      add_argument(glm, i, theta + first, weight * form_of(glm, i, l), precision + (first + l) * dim + first);
    }
  }
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
