/* x_i ~ N(theta, diag(sd^2)), theta ~ N(0, prior_sd^2 I). */
#include <math.h>

#include "base/error.h"
#include "models/analytic.h"

static double log_prior(const void *ctx, const double *theta, double *gradient) {
  const tacit_analytic_t *model = ctx;
  double sum = 0;
  for (size_t j = 0; j < model->dim; j++) {
    sum -= 0.5 * theta[j] * theta[j] * model->inv_prior_var[j];
    if (gradient != NULL) {
      gradient[j] = -theta[j] * model->inv_prior_var[j];
    }
  }
  return sum;
}

tacit_status_t tacit_model_init_gaussian_mean(tacit_model_t *model, size_t dim, const double *sd,
                                              double prior_sd, tacit_error_t *err) {
  *model = (tacit_model_t){0};
  if (dim == 0) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "dim", "dim must be at least 1");
  }
  tacit_status_t status = tacit_analytic_check_positive(sd, dim, "sd", err);
  TACIT_THEN(status, tacit_analytic_check_positive(&prior_sd, 1, "prior_sd", err));
  if (status != TACIT_OK) {
    return status;
  }
  tacit_analytic_t *analytic = tacit_analytic_init(model, "gaussian_mean", dim, dim, err);
  if (analytic == NULL) {
    return TACIT_ERR_MEMORY;
  }
  for (size_t j = 0; j < dim; j++) {
    analytic->inv_obs_var[j] = 1 / (sd[j] * sd[j]);
    analytic->inv_prior_var[j] = 1 / (prior_sd * prior_sd);
    analytic->unit_scale[j] = sd[j];
  }
  tacit_analytic_set_functions(model, &tacit_analytic_functions()->mean);
  model->parameters.log_prior = log_prior;
  return TACIT_OK;
}
