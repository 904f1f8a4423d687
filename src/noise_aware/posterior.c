/*
 * The posterior density of theta given the releases:
 *
 *     log prior(theta) + log N(T - n m_F(theta); 0, C(theta)),
 *     C(theta) = n sum_k omega_k Var(y | x_k . theta) r_k r_k' + sigma_T^2 I + n^2 V_F(theta),
 *
 * r_k the weighted rows, m_F and V_F mean and covariance of F/n given its releases. The gradient is by the reverse mode.
 */
#include <math.h>
#include <string.h>

#include "noise_aware/kernel.h"
#include "noise_aware/noise_aware_internal.h"

tacit_status_t tacit_aware_posterior_init(tacit_aware_posterior_t *posterior, const tacit_surrogate_t *surrogate,
                                          const tacit_discrepancy_t *discrepancy, const tacit_parameters_t *parameters,
                                          const tacit_noise_aware_settings_t *settings, double n_units,
                                          tacit_error_t *err) {
  size_t d = surrogate->d, n = surrogate->n_rows, most = 1 + surrogate->n_basis + TACIT_MAX_FITTED * d;
  *posterior = (tacit_aware_posterior_t){.surrogate = surrogate,
                                         .discrepancy = discrepancy,
                                         .parameters = parameters,
                                         .settings = settings,
                                         .n = n_units};
  posterior->response = tacit_alloc_zero(d, sizeof *posterior->response);
  posterior->moments = tacit_alloc_zero(n, sizeof *posterior->moments);
  posterior->f = tacit_alloc_zero(n * d, sizeof *posterior->f);
  posterior->y = tacit_alloc_zero(d * most, sizeof *posterior->y);
  posterior->adjoint = tacit_alloc_zero(d * most, sizeof *posterior->adjoint);
  posterior->temporary = tacit_alloc_zero(d * most + 4 * d * d + 2 * d, sizeof *posterior->temporary);
  posterior->cov = tacit_alloc_zero(d * d, sizeof *posterior->cov);
  posterior->cov_factor = tacit_alloc_zero(d * d, sizeof *posterior->cov_factor);
  posterior->cov_inverse = tacit_alloc_zero(d * d, sizeof *posterior->cov_inverse);
  posterior->solved = tacit_alloc_zero(d, sizeof *posterior->solved);
  double *lines = tacit_alloc_zero(4 * n, sizeof *lines);
  for (size_t i = 0; lines != NULL && i < 4; i++) {
    posterior->lines[i] = lines + i * n;
  }
  bool ok = posterior->response != NULL && posterior->moments != NULL && posterior->f != NULL && posterior->y != NULL &&
            posterior->adjoint != NULL && posterior->temporary != NULL && posterior->cov != NULL &&
            posterior->cov_factor != NULL && posterior->cov_inverse != NULL && posterior->solved != NULL && lines != NULL;
  return ok ? TACIT_OK : tacit_error_memory(err);
}

void tacit_aware_posterior_clear(tacit_aware_posterior_t *posterior) {
  tacit_free(posterior->response);
  tacit_free(posterior->moments);
  tacit_free(posterior->f);
  tacit_free(posterior->y);
  tacit_free(posterior->adjoint);
  tacit_free(posterior->temporary);
  tacit_free(posterior->cov);
  tacit_free(posterior->cov_factor);
  tacit_free(posterior->cov_inverse);
  tacit_free(posterior->solved);
  tacit_free(posterior->lines[0]);
  *posterior = (tacit_aware_posterior_t){0};
}

void tacit_aware_posterior_fitted(tacit_aware_posterior_t *posterior, const double *theta) {
  const tacit_surrogate_t *s = posterior->surrogate;
  double upper = posterior->settings->upper, *spread = posterior->lines[0];
  double *eta = posterior->lines[1];
  memset(eta, 0, s->n_rows * sizeof *eta);
  for (size_t i = 0; i < s->d; i++) {
    for (size_t k = 0; k < s->n_rows; k++) {
      eta[k] += theta[i] * s->x[i * s->n_rows + k];
    }
  }
  for (size_t k = 0; k < s->n_rows; k++) {
    posterior->moments[k] = tacit_family_moments(posterior->settings->family, upper, eta[k]);
    spread[k] = posterior->moments[k].mean - upper / 2;
  }
  for (size_t i = 0; i < s->d; i++) {
    for (size_t k = 0; k < s->n_rows; k++) {
      posterior->f[i * s->n_rows + k] = s->rows[i * s->n_rows + k] * spread[k];
    }
  }
}

static double discrepancy_weight(const tacit_aware_posterior_t *p) {
  return p->settings->fault_for_tests == TACIT_NOISE_AWARE_NO_DISCREPANCY ? 0 : p->n * p->n;
}

/* solved <- T - n m_F(theta); cov <- C(theta), the lower triangle. */
static void fill_law(tacit_aware_posterior_t *p) {
  const tacit_surrogate_t *s = p->surrogate;
  const tacit_discrepancy_t *process = p->discrepancy;
  size_t n = s->n_rows, d = s->d, nb = process->n_columns;
  double n2 = discrepancy_weight(p), *spread = p->lines[0], *own = p->lines[1], *weighted = p->lines[2];
  for (size_t k = 0; k < n; k++) {
    own[k] = s->weight[k] * (p->n * p->moments[k].variance + n2 * spread[k] * spread[k] / process->weight);
  }
  tacit_aware_kernel()->project(n, d, nb, p->f, process->columns, p->y);
  tacit_multiply(d, nb, nb, p->y, process->quadratic, p->adjoint);
  for (size_t i = 0; i < d; i++) {
    const double *row = s->rows + i * n;
    p->solved[i] = p->response[i] - p->n * tacit_dot(n, process->scale, p->f + i * n);
    for (size_t k = 0; k < n; k++) {
      weighted[k] = own[k] * row[k];
    }
    for (size_t j = 0; j <= i; j++) {
      p->cov[i * d + j] = tacit_dot(n, weighted, s->rows + j * n) + (i == j ? p->response_var : 0) +
                          n2 * tacit_dot(nb, p->adjoint + i * nb, p->y + j * nb);
    }
  }
}

/* cov_factor, then solved <- C^-1 solved; returns log N(.; 0, C) up to a constant. */
static double normal_log_density(tacit_aware_posterior_t *p) {
  size_t d = p->surrogate->d;
  double log_density = 0;
  memcpy(p->cov_factor, p->cov, d * d * sizeof *p->cov);
  if (!tacit_cholesky(d, p->cov_factor)) {
    return -INFINITY;
  }
  tacit_solve_lower(d, p->cov_factor, p->solved);
  for (size_t i = 0; i < d; i++) {
    log_density -= 0.5 * p->solved[i] * p->solved[i] + log(p->cov_factor[i * d + i]);
  }
  tacit_solve_upper(d, p->cov_factor, p->solved);
  return log_density;
}

/* cov_inverse <- C^-1 from cov_factor. */
static void invert_covariance(tacit_aware_posterior_t *p) {
  size_t d = p->surrogate->d;
  double *inverse = p->temporary;
  tacit_invert_lower(d, p->cov_factor, inverse);
  memset(p->cov_inverse, 0, d * d * sizeof *p->cov_inverse);
  for (size_t k = 0; k < d; k++) {
    for (size_t i = 0; i <= k; i++) {
      for (size_t j = 0; j <= k; j++) {
        p->cov_inverse[i * d + j] += inverse[k * d + i] * inverse[k * d + j];
      }
    }
  }
}

/*
 * grad += derivative of the normal part. With alpha = C^-1 (T - n m_F) and S = (alpha alpha' - C^-1) / 2, the derivative
 * by m_F is n alpha, by C it is S; f_k enters both, Var(y) the latter.
 */
static void add_normal_gradient(tacit_aware_posterior_t *p, double *grad) {
  const tacit_surrogate_t *s = p->surrogate;
  const tacit_discrepancy_t *process = p->discrepancy;
  size_t n = s->n_rows, d = s->d, nb = process->n_columns;
  double n2 = discrepancy_weight(p), *slope = p->cov_inverse, *weight = p->temporary;
  double *spread = p->lines[0], *along = p->lines[1], *quadratic = p->lines[2], *lifted = p->lines[3];
  double *by_eta = along;
  invert_covariance(p);
  for (size_t i = 0; i < d * d; i++) {
    slope[i] = 0.5 * (p->solved[i / d] * p->solved[i % d] - p->cov_inverse[i]);
  }
  tacit_aware_kernel()->lift(n, d, d, s->rows, slope, s->rows, quadratic); /* r_k' S r_k */
  tacit_multiply(d, d, nb, slope, p->adjoint, weight);
  tacit_aware_kernel()->lift(n, d, nb, s->rows, weight, process->columns, lifted); /* r_k' S y quadratic columns_k */
  memset(along, 0, n * sizeof *along);
  for (size_t i = 0; i < d; i++) {
    for (size_t k = 0; k < n; k++) {
      along[k] += p->solved[i] * s->rows[i * n + k];
    }
  }
  for (size_t k = 0; k < n; k++) {
    tacit_family_moments_t m = p->moments[k];
    double by_mean = p->n * process->scale[k] * along[k] +
                     2 * n2 * (s->weight[k] * spread[k] * quadratic[k] / process->weight + lifted[k]);
    by_eta[k] = by_mean * m.slope + p->n * s->weight[k] * quadratic[k] * m.variance_slope;
  }
  for (size_t j = 0; j < d; j++) {
    grad[j] += tacit_dot(n, by_eta, s->x + j * n);
  }
}

double tacit_aware_posterior_log_density(tacit_aware_posterior_t *posterior, const double *theta, double *grad) {
  const tacit_parameters_t *parameters = posterior->parameters;
  double log_prior = parameters->log_prior(parameters->ctx, theta, grad);
  tacit_aware_posterior_fitted(posterior, theta);
  fill_law(posterior);
  double value = log_prior + normal_log_density(posterior);
  if (!isfinite(value)) {
    return -INFINITY;
  }
  if (grad != NULL) {
    add_normal_gradient(posterior, grad);
  }
  return value;
}

/* precision += negative Hessian of the log prior by central differences, its eigenvalues raised to 0. */
static void add_prior_precision(const tacit_aware_posterior_t *p, const double *theta, double *precision) {
  const tacit_parameters_t *parameters = p->parameters;
  size_t d = p->surrogate->d;
  double *hessian = p->temporary, *work = hessian + d * d, *above = work + 2 * d * d + d;
  double point[TACIT_NOISE_AWARE_MAX_FEATURES], below[TACIT_NOISE_AWARE_MAX_FEATURES];
  memcpy(point, theta, d * sizeof *point);
  for (size_t j = 0; j < d; j++) {
    const double h = 1e-4 * (1 + fabs(theta[j]));
    point[j] = theta[j] + h;
    parameters->log_prior(parameters->ctx, point, above);
    point[j] = theta[j] - h;
    parameters->log_prior(parameters->ctx, point, below);
    point[j] = theta[j];
    for (size_t i = 0; i < d; i++) {
      hessian[i * d + j] = (below[i] - above[i]) / (2 * h);
    }
  }
  for (size_t i = 0; i < d; i++) {
    for (size_t j = 0; j < i; j++) {
      hessian[i * d + j] = hessian[j * d + i] = 0.5 * (hessian[i * d + j] + hessian[j * d + i]);
    }
  }
  tacit_raise_eigenvalues(d, hessian, 0, work);
  for (size_t i = 0; i < d * d; i++) {
    precision[i] += hessian[i];
  }
}

void tacit_aware_posterior_precision(tacit_aware_posterior_t *posterior, const double *theta, double *precision) {
  const tacit_surrogate_t *s = posterior->surrogate;
  size_t d = s->d;
  double *jacobian = posterior->temporary + d * d; /* transposed: row j is the derivative by theta_j */
  double *weighted = posterior->lines[2], *line = posterior->lines[1];
  for (size_t k = 0; k < s->n_rows; k++) {
    weighted[k] = posterior->n * s->weight[k] * posterior->moments[k].slope;
  }
  for (size_t j = 0; j < d; j++) {
    for (size_t k = 0; k < s->n_rows; k++) {
      line[k] = weighted[k] * s->x[j * s->n_rows + k];
    }
    tacit_aware_kernel()->project(s->n_rows, 1, d, line, s->rows, jacobian + j * d);
  }
  for (size_t j = 0; j < d; j++) {
    tacit_solve_lower(d, posterior->cov_factor, jacobian + j * d);
  }
  for (size_t i = 0; i < d * d; i++) {
    precision[i] = tacit_dot(d, jacobian + i / d * d, jacobian + i % d * d);
  }
  add_prior_precision(posterior, theta, precision);
}
