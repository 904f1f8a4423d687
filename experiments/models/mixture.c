/*
 * Two-component mixture of the DP-Fast MH paper [Zhang2023]: x_i ~ 0.5 N(theta_1, v) +
 * 0.5 N(theta_1 + theta_2, v), theta_j ~ N(0, prior_var_j).
 */
#include <math.h>

#include "base/error.h"
#include "models/analytic.h"

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
  TACIT_THEN(status, tacit_analytic_check_positive(prior_var, 2, "prior_var", err));
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
  tacit_analytic_set_functions(model, &tacit_analytic_functions()->mixture);
  model->parameters.log_prior = log_prior;
  return TACIT_OK;
}
