/*
 * Curvature of the families' log-likelihoods by their linear predictors, for metrics. Expected where it
 * depends on the response (sigma), so that no response is looked at.
 */
#include <math.h>

#include "formula/glm.h"

static double linear_predictor(const tacit_glm_kernel_t *glm, const double *x, const double *theta) {
  double eta = 0;
  for (size_t j = 0; j < glm->n_features; j++) {
    eta += theta[j] * x[j];
  }
  return eta;
}

/* Largest linear predictor of features in [-1, 1], the intercept's being 1. */
static double largest_predictor(const tacit_glm_kernel_t *glm, const double *theta) {
  double eta = glm->has_intercept ? theta[0] : 0;
  for (size_t j = glm->has_intercept ? 1 : 0; j < glm->n_features; j++) {
    eta += fabs(theta[j]);
  }
  return eta;
}

static double inverse_variance(const tacit_glm_kernel_t *glm, const double *theta) {
  return glm->n_extra == 1 ? exp(-2 * theta[glm->n_features]) : 1 / (glm->known_sd * glm->known_sd);
}

void tacit_glm_curvature_bound(const void *ctx, const double *theta, double *bound) {
  const tacit_glm_kernel_t *glm = ctx;
  for (size_t r = 0; r < glm->n_linear; r++) {
    bound[r] = 0.25; /* p (1 - p) */
  }
  if (glm->family == TACIT_FAMILY_POISSON) {
    bound[0] = exp(largest_predictor(glm, theta));
  } else if (glm->family == TACIT_FAMILY_GAUSSIAN) {
    bound[0] = inverse_variance(glm, theta);
    if (glm->n_extra == 1) {
      bound[1] = 2; /* of log sigma */
    }
  }
}

/* p_r (1 - p_r) of a softmax whose reference class has predictor 0; one class: logistic. */
static void softmax_curvature(const tacit_glm_kernel_t *glm, const double *x, const double *theta,
                              double *weights) {
  double top = 0, sum;
  for (size_t r = 0; r < glm->n_linear; r++) {
    weights[r] = linear_predictor(glm, x, theta + r * glm->n_features);
    top = fmax(top, weights[r]);
  }
  sum = exp(-top);
  for (size_t r = 0; r < glm->n_linear; r++) {
    weights[r] = exp(weights[r] - top);
    sum += weights[r];
  }
  for (size_t r = 0; r < glm->n_linear; r++) {
    weights[r] = weights[r] / sum * (1 - weights[r] / sum);
  }
}

void tacit_glm_curvature(const void *ctx, const double *x, const double *theta, double *weights) {
  const tacit_glm_kernel_t *glm = ctx;
  switch (glm->family) {
  case TACIT_FAMILY_POISSON:
    weights[0] = exp(linear_predictor(glm, x, theta));
    return;
  case TACIT_FAMILY_GAUSSIAN:
    tacit_glm_curvature_bound(ctx, theta, weights);
    return;
  default:
    softmax_curvature(glm, x, theta, weights);
  }
}
