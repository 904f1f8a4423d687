/*
 * Two-component mixture of the DP-Fast MH paper [Zhang2023]: x_i ~ 0.5 N(theta_1, v) +
 * 0.5 N(theta_1 + theta_2, v), theta_j ~ N(0, prior_var_j).
 */
#include <math.h>

#include "base/base_internal.h"
#include "base/vector.h"
#include "model/analytic.h"

/* log(e^p + e^q) = max(p, q) + log(1 + e^-|p - q|), p and q the exponents of the two components. */
static void log_lik(const void *ctx, const float *block, size_t n_theta, const double *theta, double *out) {
  const tacit_analytic_t *model = ctx;
  double half_inv_var = 0.5 * model->inv_obs_var[0];
  v16d x = __builtin_convertvector(v16f_load(block), v16d);
  for (size_t k = 0; k < n_theta; k++) {
    v16d first = x - theta[2 * k], second = x - (theta[2 * k] + theta[2 * k + 1]);
    v16d p = first * first * -half_inv_var, q = second * second * -half_inv_var;
    v16d_store(out + k * 16, v16d_max(p, q) + v16d_log1p_unit(v16d_exp(-v16d_abs(p - q))));
  }
}

/* With w the probability of the second component: d l / d theta_2 = w (x - theta_1 - theta_2) / v. */
static void grad(const void *ctx, const float *block, size_t n_theta, const float *theta, float *out) {
  const tacit_analytic_t *model = ctx;
  float inv_var = (float)model->inv_obs_var[0];
  v16f x = v16f_load(block);
  for (size_t k = 0; k < n_theta; k++) {
    v16f first = x - theta[2 * k], second = x - (theta[2 * k] + theta[2 * k + 1]);
    v16f w = 1.0f / (1.0f + v16f_exp((second * second - first * first) * (0.5f * inv_var)));
    v16f d_second = w * second * inv_var;
    v16f_store(out + 2 * k * 16, (1.0f - w) * first * inv_var + d_second);
    v16f_store(out + (2 * k + 1) * 16, d_second);
  }
}

static double log_prior(const void *ctx, const double *theta, double *gradient) {
  const tacit_analytic_t *model = ctx;
  double sum = 0;
  for (size_t j = 0; j < 2; j++) {
    sum -= 0.5 * theta[j] * theta[j] * model->inv_prior_var[j];
    if (gradient != NULL) {
      gradient[j] = -theta[j] * model->inv_prior_var[j];
    }
  }
  return sum;
}

tacit_status_t tacit_model_init_mixture(tacit_model_t *model, double obs_var, const double prior_var[2],
                                        tacit_error_t *err) {
  *model = (tacit_model_t){0};
  tacit_status_t status = tacit_analytic_check_positive(&obs_var, 1, "obs_var", err);
  if (status == TACIT_OK) {
    status = tacit_analytic_check_positive(prior_var, 2, "prior_var", err);
  }
  if (status != TACIT_OK) {
    return status;
  }
  tacit_analytic_t *analytic = tacit_analytic_init(model, "mixture", 2, 1, err);
  if (analytic == NULL) {
    return TACIT_ERR_MEMORY;
  }
  analytic->inv_obs_var[0] = 1 / obs_var;
  for (size_t j = 0; j < 2; j++) {
    analytic->inv_prior_var[j] = 1 / prior_var[j];
  }
  /* Components far apart: information n/v (1, 1/2; 1/2, 1/2), whose inverse has diagonal 2, 4 times v/n. */
  analytic->unit_scale[0] = sqrt(2 * obs_var);
  analytic->unit_scale[1] = 2 * sqrt(obs_var);
  model->records.log_lik = log_lik;
  model->records.grad = grad;
  model->parameters.log_prior = log_prior;
  return TACIT_OK;
}
