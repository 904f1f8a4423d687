/*
 * Banana [Raisa2021, section 5]: u(theta) = (theta_1, theta_2 + a (theta_1 - m)^2 + b, theta_3, ...),
 * u ~ N(0, prior_var I), x_i ~ N(u, diag(obs_var)). theta -> u is a shear: its Jacobian is 1.
 */
#include <math.h>

#include "base/error.h"
#include "models/analytic.h"

static double log_prior(const void *ctx, const double *theta, double *gradient) {
  const tacit_analytic_t *model = ctx;
  double sum = 0;
  for (size_t j = 0; j < model->dim; j++) {
    double u = tacit_banana_bend(model, theta, j);
    sum -= 0.5 * u * u * model->inv_prior_var[j];
    if (gradient != NULL) {
      gradient[j] = -u * model->inv_prior_var[j];
    }
  }
  if (gradient != NULL) {
    gradient[0] += gradient[1] * (2 * model->a * (theta[0] - model->m));
  }
  return sum;
}

tacit_status_t tacit_model_init_banana(tacit_model_t *model, size_t dim, double a, double b, double m,
                                       double prior_var, const double *obs_var, tacit_error_t *err) {
  *model = (tacit_model_t){0};
  if (dim < 2) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "dim", "dim must be at least 2 for a banana");
  }
  if (!(isfinite(a) && isfinite(b) && isfinite(m))) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "a", "a, b and m must be finite");
  }
  tacit_status_t status = tacit_analytic_check_positive(obs_var, dim, "obs_var", err);
  TACIT_THEN(status, tacit_analytic_check_positive(&prior_var, 1, "prior_var", err));
  if (status != TACIT_OK) {
    return status;
  }
  tacit_analytic_t *analytic = tacit_analytic_init(model, "banana", dim, dim, err);
  if (analytic == NULL) {
    return TACIT_ERR_MEMORY;
  }
  analytic->a = a;
  analytic->b = b;
  analytic->m = m;
  for (size_t j = 0; j < dim; j++) {
    analytic->inv_obs_var[j] = 1 / obs_var[j];
    analytic->inv_prior_var[j] = 1 / prior_var;
    analytic->unit_scale[j] = sqrt(obs_var[j]); /* of u_j, which is theta_j where the bend is flat */
  }
  tacit_analytic_set_functions(model, &tacit_analytic_functions()->banana);
  model->parameters.log_prior = log_prior;
  return TACIT_OK;
}
