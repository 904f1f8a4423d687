/*
 * The posterior density of theta given the released scores s, stacked:
 *
 *     log prior(theta) + log N(s; mean(theta), C(theta)),   mean and C as of tacit_rounds_t,
 *
 * determinant included. The gradient is by the reverse mode.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/fault.h"
#include "noise_aware/kernel.h"
#include "noise_aware/wide.h"

tacit_status_t tacit_aware_posterior_init(tacit_aware_posterior_t *posterior, const tacit_rounds_t *rounds,
                                          const tacit_parameters_t *parameters,
                                          const tacit_noise_aware_settings_t *settings, tacit_error_t *err) {
  const tacit_surrogate_t *s = rounds->surrogate;
  size_t d = s->d, n = s->n_rows, most_d = TACIT_AWARE_ROUNDS * d, most = 1 + s->n_basis + d * (d + 1) / 2;
  *posterior = (tacit_aware_posterior_t){
      .surrogate = s, .rounds = rounds, .parameters = parameters, .settings = settings};
  posterior->moments = tacit_alloc_zero(n, sizeof *posterior->moments);
  posterior->f = tacit_alloc_zero(n * most_d, sizeof *posterior->f);
  posterior->y = tacit_alloc_zero(most_d * most, sizeof *posterior->y);
  posterior->adjoint = tacit_alloc_zero(most_d * most, sizeof *posterior->adjoint);
  posterior->temporary = tacit_alloc_zero(most_d * most + most_d * most_d, sizeof *posterior->temporary);
  posterior->cov = tacit_alloc_zero(most_d * most_d, sizeof *posterior->cov);
  posterior->cov_factor = tacit_alloc_zero(most_d * most_d, sizeof *posterior->cov_factor);
  posterior->cov_inverse = tacit_alloc_zero(most_d * most_d, sizeof *posterior->cov_inverse);
  posterior->solved = tacit_alloc_zero(most_d, sizeof *posterior->solved);
  enum { N_LINES = 3 + 2 * TACIT_AWARE_ROUNDS };
  double *lines = tacit_alloc_zero(N_LINES * n, sizeof *lines);
  for (size_t i = 0; lines != NULL && i < 3 + TACIT_AWARE_ROUNDS; i++) {
    posterior->lines[i] = lines + i * n;
  }
  posterior->spread = lines != NULL ? lines + (3 + TACIT_AWARE_ROUNDS) * n : NULL;
  bool ok = posterior->moments != NULL && posterior->f != NULL && posterior->y != NULL &&
            posterior->adjoint != NULL && posterior->temporary != NULL && posterior->cov != NULL &&
            posterior->cov_factor != NULL && posterior->cov_inverse != NULL && posterior->solved != NULL &&
            lines != NULL;
  return ok ? TACIT_OK : tacit_error_memory(err);
}

void tacit_aware_posterior_clear(tacit_aware_posterior_t *posterior) {
  tacit_free(posterior->moments);
  double *const arrays[] = {posterior->f,           posterior->y,      posterior->adjoint,
                            posterior->temporary,   posterior->cov,    posterior->cov_factor,
                            posterior->cov_inverse, posterior->solved, posterior->lines[0]};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    tacit_free(arrays[i]);
  }
  *posterior = (tacit_aware_posterior_t){0};
}

/* moments, spread and f at theta. */
static void fill_rows(tacit_aware_posterior_t *p, const double *theta) {
  const tacit_surrogate_t *s = p->surrogate;
  const tacit_rounds_t *r = p->rounds;
  size_t n = s->n_rows, d = s->d;
  double upper = p->settings->upper, *eta = p->lines[0];
  tacit_aware_kernel()->multiply(1, d, n, theta, s->x, eta);
  for (size_t k = 0; k < n; k++) {
    p->moments[k] = tacit_family_moments(p->settings->family, upper, eta[k]);
    tacit_rounds_disperse(r, &p->moments[k]);
  }
  for (size_t j = 0; j < r->n_rounds; j++) {
    double *spread = p->spread + j * n;
    for (size_t k = 0; k < n; k++) {
      spread[k] = p->moments[k].mean - upper / 2 - r->spread[j * n + k];
    }
    tacit_aware_kernel()->scale(n, d, r->rows + j * d * n, spread, p->f + j * d * n);
  }
}

double tacit_aware_discrepancy_weight(const tacit_aware_posterior_t *p) {
  return TACIT_IS_PLANTED(TACIT_FAULT_NO_DISCREPANCY) ? 0 : p->rounds->n * p->rounds->n;
}

/* block (d, d) += what varies from unit to unit, where these have several rows; own and weighted: as in
 * fill_block(). */
static void add_clustered(tacit_aware_posterior_t *p, size_t a, size_t b, double *own, double *weighted,
                          double *block) {
  const tacit_rounds_t *r = p->rounds;
  size_t n = p->surrogate->n_rows, d = p->surrogate->d;
  double *sampling = block + d * d;
  for (size_t k = 0; k < n; k++) {
    own[k] = p->surrogate->weight[k] * r->n * p->moments[k].variance;
  }
  tacit_aware_kernel()->scale(n, d, r->sampled + a * d * n, own, weighted);
  tacit_aware_kernel()->project(n, d, d, weighted, r->sampled + b * d * n, sampling);
  for (size_t i = 0; i < d * d; i++) {
    block[i] += sampling[i] + r->clustered[(a * d + i / d) * TACIT_AWARE_ROUNDS * d + b * d + i % d];
  }
}

/* cov <- C(theta), blocks of rounds a, b <= a; the lower triangle. The lines of f of round a are overwritten:
 * they are done with. */
static void fill_block(tacit_aware_posterior_t *p, size_t a, size_t b) {
  const tacit_surrogate_t *s = p->surrogate;
  const tacit_rounds_t *r = p->rounds;
  size_t n = s->n_rows, d = s->d, width = d * r->n_rounds, nb = r->n_columns;
  double n2 = tacit_aware_discrepancy_weight(p), *own = p->lines[1], *weighted = p->f + a * d * n,
         *block = p->temporary;
  const double *spread_a = p->spread + a * n, *spread_b = p->spread + b * n;
  for (size_t k = 0; k < n; k++) {
    double sampled = r->clustered == NULL ? r->n * p->moments[k].variance : 0;
    own[k] = s->weight[k] * (sampled + n2 * spread_a[k] * spread_b[k] / r->weight);
  }
  tacit_aware_kernel()->scale(n, d, r->rows + a * d * n, own, weighted);
  if (a == b) {
    tacit_aware_kernel()->project_lower(n, d, weighted, r->rows + b * d * n, block);
  } else {
    tacit_aware_kernel()->project(n, d, d, weighted, r->rows + b * d * n, block);
  }
  if (r->clustered != NULL) {
    add_clustered(p, a, b, own, weighted, block);
  }
  for (size_t i = a * d; i < (a + 1) * d; i++) {
    memcpy(p->cov + i * width + b * d, block + (i - a * d) * d, d * sizeof *block);
    for (size_t j = b * d; j < (b + 1) * d && j <= i; j++) {
      p->cov[i * width + j] += n2 * tacit_dot(nb, p->adjoint + i * nb, p->y + j * nb);
    }
    if (a == b) {
      p->cov[i * width + i] += r->noise_var[a];
      for (size_t j = 0; j < d; j++) {
        p->cov[i * width + a * d + j] += r->doubt[i * d + j];
      }
    }
  }
}

/* solved <- s - mean(theta); cov <- C(theta). */
static void fill_distribution(tacit_aware_posterior_t *p) {
  const tacit_rounds_t *r = p->rounds;
  size_t n = p->surrogate->n_rows, width = p->surrogate->d * r->n_rounds, nb = r->n_columns;
  tacit_aware_kernel()->project(n, width, nb, p->f, r->columns, p->y);
  tacit_aware_kernel()->multiply(width, nb, nb, p->y, r->quadratic, p->adjoint);
  for (size_t i = 0; i < width; i++) {
    p->solved[i] =
        r->released[i] - r->n * (p->y[i * nb] + tacit_dot(nb - 1, p->y + i * nb + 1, r->basis_shift));
  }
  for (size_t a = 0; a < r->n_rounds; a++) {
    for (size_t b = 0; b <= a; b++) {
      fill_block(p, a, b);
    }
  }
}

void tacit_aware_posterior_covariance(tacit_aware_posterior_t *posterior, const double *theta) {
  fill_rows(posterior, theta);
  fill_distribution(posterior);
}

/* The same with the expansion in the place of C. */
static void fill_expanded(tacit_aware_posterior_t *p, const double *theta) {
  size_t n = p->surrogate->n_rows;
  double *eta = p->lines[0], *mean = p->lines[1];
  tacit_aware_kernel()->multiply(1, p->surrogate->d, n, theta, p->surrogate->x, eta);
  for (size_t k = 0; k < n; k++) {
    p->moments[k] = tacit_family_moments(p->settings->family, p->settings->upper, eta[k]);
    mean[k] = p->moments[k].mean;
  }
  tacit_expansion_residual(p->expansion, mean, p->solved);
  tacit_expansion_covariance(p->expansion, theta, p->cov);
}

/* cov_factor, then solved <- C^-1 solved; returns log N(.; 0, C) up to a constant. */
static double normal_log_density(tacit_aware_posterior_t *p) {
  size_t width = p->surrogate->d * p->rounds->n_rounds;
  double log_density = 0;
  memcpy(p->cov_factor, p->cov, width * width * sizeof *p->cov);
  if (!tacit_cholesky(width, p->cov_factor)) {
    return -INFINITY;
  }
  tacit_solve_lower(width, p->cov_factor, p->solved);
  for (size_t i = 0; i < width; i++) {
    log_density -= 0.5 * p->solved[i] * p->solved[i] + log(p->cov_factor[i * width + i]);
  }
  tacit_solve_upper(width, p->cov_factor, p->solved);
  return log_density;
}

/* cov_inverse <- C^-1 from cov_factor. */
static void invert_covariance(tacit_aware_posterior_t *p) {
  size_t width = p->surrogate->d * p->rounds->n_rounds;
  double *inverse = p->temporary;
  tacit_invert_lower(width, p->cov_factor, inverse);
  memset(p->cov_inverse, 0, width * width * sizeof *p->cov_inverse);
  for (size_t k = 0; k < width; k++) {
    for (size_t i = 0; i <= k; i++) {
      for (size_t j = 0; j <= k; j++) {
        p->cov_inverse[i * width + j] += inverse[k * width + i] * inverse[k * width + j];
      }
    }
  }
}

/* cov_inverse <- S = (alpha alpha' - C^-1) / 2 for alpha = C^-1 (s - mean): the derivative by C; that by the
 * mean is alpha. */
static void fill_slope(tacit_aware_posterior_t *p) {
  size_t width = p->surrogate->d * p->rounds->n_rounds;
  invert_covariance(p);
  for (size_t i = 0; i < width * width; i++) {
    p->cov_inverse[i] = 0.5 * (p->solved[i / width] * p->solved[i % width] - p->cov_inverse[i]);
  }
}

/* grad += derivative of the normal part; the fitted mean of row k enters mean and C, Var(y) the latter. */
static void add_normal_gradient(tacit_aware_posterior_t *p, double *grad) {
  const tacit_surrogate_t *s = p->surrogate;
  const tacit_rounds_t *r = p->rounds;
  size_t n = s->n_rows, d = s->d, width = d * r->n_rounds, nb = r->n_columns;
  double n2 = tacit_aware_discrepancy_weight(p), *slope = p->cov_inverse, *weight = p->temporary;
  double *along = p->lines[0], *lifted = p->lines[1], *by_eta = p->lines[2], *const *quadratic = p->lines + 3,
         *varied = p->f; /* f is done with */
  fill_slope(p);
  for (size_t a = 0; a < r->n_rounds; a++) { /* sum over rows i of round a and all j of u_i S_ij u_j */
    tacit_aware_kernel()->lift(n, d, width, r->rows + a * d * n, slope + a * d * width, r->rows,
                               quadratic[a]);
  }
  if (r->clustered != NULL) { /* the same of what varies, all rounds together */
    tacit_aware_kernel()->lift(n, width, width, r->sampled, slope, r->sampled, varied);
  }
  tacit_aware_kernel()->multiply(width, width, nb, slope, p->adjoint, weight);
  tacit_aware_kernel()->lift(n, width, nb, r->rows, weight, r->columns,
                             lifted); /* u_k' S y quadratic columns_k */
  memset(along, 0, n * sizeof *along);
  for (size_t i = 0; i < width; i++) {
    for (size_t k = 0; k < n; k++) {
      along[k] += p->solved[i] * r->rows[i * n + k];
    }
  }
  for (size_t k = 0; k < n; k++) {
    tacit_family_moments_t m = p->moments[k];
    double own = 0, all = 0;
    for (size_t a = 0; a < r->n_rounds; a++) {
      own += p->spread[a * n + k] * quadratic[a][k];
      all += quadratic[a][k];
    }
    all = r->clustered != NULL ? varied[k] : all;
    double by_mean = r->n * r->scale[k] * along[k] + 2 * n2 * (s->weight[k] * own / r->weight + lifted[k]);
    by_eta[k] = by_mean * m.slope + r->n * s->weight[k] * all * m.variance_slope;
  }
  for (size_t j = 0; j < d; j++) {
    grad[j] += tacit_dot(n, by_eta, s->x + j * n);
  }
}

/* The same with the expansion in the place of C. */
static void add_expanded_gradient(tacit_aware_posterior_t *p, const double *theta, double *grad) {
  size_t n = p->surrogate->n_rows;
  double *by_eta = p->lines[0];
  fill_slope(p);
  tacit_expansion_along(p->expansion, p->solved, by_eta);
  for (size_t k = 0; k < n; k++) {
    by_eta[k] *= p->moments[k].slope;
  }
  for (size_t j = 0; j < p->surrogate->d; j++) {
    grad[j] += tacit_dot(n, by_eta, p->surrogate->x + j * n);
  }
  tacit_expansion_add_slope(p->expansion, theta, p->cov_inverse, grad);
}

double tacit_aware_posterior_likelihood(tacit_aware_posterior_t *posterior, const double *theta,
                                        double *grad) {
  double value = 0;
  for (tacit_aware_posterior_t *p = posterior; p != NULL; p = p->next) {
    if (p->expansion != NULL) {
      fill_expanded(p, theta);
    } else {
      tacit_aware_posterior_covariance(p, theta);
    }
    value += normal_log_density(p);
  }
  for (tacit_aware_posterior_t *p = posterior; isfinite(value) && grad != NULL && p != NULL; p = p->next) {
    if (p->expansion != NULL) {
      add_expanded_gradient(p, theta, grad);
    } else {
      add_normal_gradient(p, grad);
    }
  }
  return value;
}

double tacit_aware_posterior_log_density(tacit_aware_posterior_t *posterior, const double *theta,
                                         double *grad) {
  if (posterior->density != NULL) {
    return posterior->density(posterior->of, theta, grad);
  }
  const tacit_parameters_t *parameters = posterior->parameters;
  double value = parameters->log_prior(parameters->ctx, theta, grad);
  for (int i = 0; i < (TACIT_IS_PLANTED(TACIT_FAULT_LIKELIHOOD_TWICE) ? 2 : 1); i++) {
    value += posterior->wide != NULL      ? tacit_wide_log_density(posterior->wide, theta, grad)
             : posterior->quartic != NULL ? tacit_quartic_value(posterior->quartic, theta)
                                          : tacit_aware_posterior_likelihood(posterior, theta, grad);
  }
  return isfinite(value) ? value : -INFINITY;
}

/* precision (d, d) += that of the likelihood of one site's releases. */
static void add_precision(tacit_aware_posterior_t *posterior, double *precision) {
  const tacit_surrogate_t *s = posterior->surrogate;
  const tacit_rounds_t *r = posterior->rounds;
  size_t n = s->n_rows, d = s->d, width = d * r->n_rounds;
  double *jacobian = posterior->temporary; /* transposed: row j is the derivative by theta_j */
  double *weighted = posterior->lines[2], *line = posterior->lines[1];
  for (size_t k = 0; k < n; k++) {
    weighted[k] = r->n * s->weight[k] * posterior->moments[k].slope;
  }
  for (size_t j = 0; j < d; j++) {
    for (size_t k = 0; k < n; k++) {
      line[k] = weighted[k] * s->x[j * n + k];
    }
    tacit_aware_kernel()->project(n, 1, width, line, r->rows, jacobian + j * width);
    tacit_solve_lower(width, posterior->cov_factor, jacobian + j * width);
  }
  for (size_t i = 0; i < d * d; i++) {
    precision[i] += tacit_dot(width, jacobian + i / d * width, jacobian + i % d * width);
  }
}

double tacit_aware_posterior_log_likelihood(tacit_aware_posterior_t *posterior, const double *theta) {
  tacit_aware_posterior_covariance(posterior, theta);
  double value = normal_log_density(posterior);
  return isnan(value) ? -INFINITY : value;
}

void tacit_aware_posterior_likelihood_shape(tacit_aware_posterior_t *posterior, const double *theta,
                                            double *grad, double *precision) {
  size_t d = posterior->surrogate->d;
  memset(grad, 0, d * sizeof *grad);
  memset(precision, 0, d * d * sizeof *precision);
  (void)tacit_aware_posterior_log_likelihood(posterior, theta);
  add_precision(posterior, precision); /* first: the gradient uses up the rows' lines */
  (void)tacit_aware_posterior_log_likelihood(posterior, theta);
  add_normal_gradient(posterior, grad);
}

void tacit_aware_posterior_precision(tacit_aware_posterior_t *posterior, const double *theta,
                                     double *precision) {
  size_t d = posterior->surrogate->d;
  memset(precision, 0, d * d * sizeof *precision);
  if (posterior->wide != NULL) {
    tacit_wide_add_precision(posterior->wide, precision);
  }
  for (tacit_aware_posterior_t *p = posterior; p != NULL && p->wide == NULL; p = p->next) {
    add_precision(p, precision);
  }
  tacit_add_prior_precision(posterior->parameters, d, theta, precision);
}
