/* x_i ~ N(theta, diag(sd^2)), theta ~ N(0, prior_sd^2 I). */
#include <math.h>

#include "base/base_internal.h"
#include "base/vector.h"
#include "model/analytic.h"

static void log_lik(const void *ctx, const float *block, size_t n_theta, const double *theta, double *out) {
  const tacit_analytic_t *model = ctx;
  for (size_t k = 0; k < n_theta; k++) {
    v16d sum = v16d_set(0);
    for (size_t j = 0; j < model->dim; j++) {
      v16d x = __builtin_convertvector(v16f_load(block + j * 16), v16d) - theta[k * model->dim + j];
      sum -= x * x * (0.5 * model->inv_obs_var[j]);
    }
    v16d_store(out + k * 16, sum);
  }
}

static void grad(const void *ctx, const float *block, size_t n_theta, const float *theta, float *out) {
  const tacit_analytic_t *model = ctx;
  for (size_t k = 0; k < n_theta; k++) {
    for (size_t j = 0; j < model->dim; j++) {
      size_t at = k * model->dim + j;
      v16f_store(out + at * 16, (v16f_load(block + j * 16) - theta[at]) * (float)model->inv_obs_var[j]);
    }
  }
}

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

tacit_status_t tacit_model_init_gaussian_mean(tacit_model_t *model, size_t dim, const double *sd, double prior_sd,
                                              tacit_error_t *err) {
  *model = (tacit_model_t){0};
  if (dim == 0) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "dim", "dim must be at least 1");
  }
  tacit_status_t status = tacit_analytic_check_positive(sd, dim, "sd", err);
  if (status == TACIT_OK) {
    status = tacit_analytic_check_positive(&prior_sd, 1, "prior_sd", err);
  }
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
  model->records.log_lik = log_lik;
  model->records.grad = grad;
  model->parameters.log_prior = log_prior;
  return TACIT_OK;
}
