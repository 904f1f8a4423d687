/*
 * Banana [Raisa2021, section 5]: u(theta) = (theta_1, theta_2 + a (theta_1 - m)^2 + b, theta_3, ...),
 * u ~ N(0, prior_var I), x_i ~ N(u, diag(obs_var)). theta -> u is a shear: its Jacobian is 1.
 */
#include <math.h>

#include "base/base_internal.h"
#include "base/vector.h"
#include "model/analytic.h"

/* u_j for j in 0 .. dim-1 */
static double bend(const tacit_analytic_t *model, const double *theta, size_t j) {
  double offset = theta[0] - model->m;
  return j == 1 ? theta[1] + model->a * offset * offset + model->b : theta[j];
}

static void log_lik(const void *ctx, const float *block, size_t n_theta, const double *theta, double *out) {
  const tacit_analytic_t *model = ctx;
  for (size_t k = 0; k < n_theta; k++) {
    v16d sum = v16d_set(0);
    for (size_t j = 0; j < model->dim; j++) {
      v16d x = __builtin_convertvector(v16f_load(block + j * 16), v16d) - bend(model, theta + k * model->dim, j);
      sum -= x * x * (0.5 * model->inv_obs_var[j]);
    }
    v16d_store(out + k * 16, sum);
  }
}

/* d l / d u_j = (x_j - u_j) / obs_var_j; theta_1 also moves u_2, at the rate 2 a (theta_1 - m). */
static void grad(const void *ctx, const float *block, size_t n_theta, const float *theta, float *out) {
  const tacit_analytic_t *model = ctx;
  for (size_t k = 0; k < n_theta; k++) {
    const float *t = theta + k * model->dim;
    float *g = out + k * model->dim * 16;
    float a = (float)model->a, offset = t[0] - (float)model->m;
    for (size_t j = 0; j < model->dim; j++) {
      float u = j == 1 ? t[1] + a * offset * offset + (float)model->b : t[j];
      v16f_store(g + j * 16, (v16f_load(block + j * 16) - u) * (float)model->inv_obs_var[j]);
    }
    v16f_store(g, v16f_load(g) + v16f_load(g + 16) * (2 * a * offset));
  }
}

static double log_prior(const void *ctx, const double *theta, double *gradient) {
  const tacit_analytic_t *model = ctx;
  double sum = 0;
  for (size_t j = 0; j < model->dim; j++) {
    double u = bend(model, theta, j);
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
  if (status == TACIT_OK) {
    status = tacit_analytic_check_positive(&prior_var, 1, "prior_var", err);
  }
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
  model->records.log_lik = log_lik;
  model->records.grad = grad;
  model->parameters.log_prior = log_prior;
  return TACIT_OK;
}
