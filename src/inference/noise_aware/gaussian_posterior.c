/*
 * Density of coefficients and sigma given bands of scores: T, their mean, N, the features' moments, and S,
 * the mean square of residuals around theta_1.
 *
 *     T ~ N(N gamma, C + V_N(gamma)),   S ~ N(t^2, v_S),   t^2 = sigma^2 + gamma' N gamma
 *
 * N's noise is integrated out: its entries are independent and normal, and V_N(gamma) is what they make of N
 * gamma. The response's histogram says how large its sd roughly is, fitted values and sigma together; of
 * responses with tails it knows the core alone, so that it gives way (a t of 1 degree of freedom).
 */
#include <math.h>
#include <string.h>

#include "base/fault.h"
#include "noise_aware/gaussian.h"

/* What a normal distribution may be off by in the log sd of a response. */
static const double location_misfit = 0.3;

static double quadratic(size_t d, const double *matrix, const double *v) {
  double sum = 0;
  for (size_t i = 0; i < d; i++) {
    sum += v[i] * tacit_dot(d, matrix + i * d, v);
  }
  return sum;
}

/* t^2 and sigma^2; false where the point's t leaves no room for sigma. */
static bool variances_at(const tacit_linear_posterior_t *p, const double *point, double *t2, double *sigma2) {
  double fitted = quadratic(p->d, p->moments, point);
  if (p->dim == p->d) {
    *sigma2 = pow(p->known_sd / p->scale, 2);
    *t2 = *sigma2 + fitted;
    return true;
  }
  *t2 = exp(2 * point[p->d]);
  *sigma2 = *t2 - fitted;
  return fabs(point[p->d]) < 20 && *sigma2 > 1e-12 * *t2;
}

/* cov (d, d), lower triangle, of T at gamma. */
static void fill_cov(const tacit_linear_posterior_t *p, const double *gamma, double *cov) {
  size_t d = p->d;
  for (size_t i = 0; i < d; i++) {
    for (size_t j = 0; j < i; j++) {
      cov[i * d + j] = p->cov[i * d + j] + gamma[i] * gamma[j] * p->variances[i * d + j];
    }
    cov[i * d + i] = p->cov[i * d + i];
    for (size_t j = 0; j < d; j++) {
      cov[i * d + i] += gamma[j] * gamma[j] * p->variances[i * d + j];
    }
  }
}

static double density_of_score(tacit_linear_posterior_t *p, const double *gamma) {
  size_t d = p->d;
  double *cov = p->work, *rest = cov + d * d, sum = 0;
  for (size_t i = 0; i < d; i++) {
    rest[i] = p->score[i] - tacit_dot(d, p->moments + i * d, gamma);
  }
  fill_cov(p, gamma, cov);
  if (!tacit_cholesky(d, cov)) {
    return -INFINITY;
  }
  tacit_solve_lower(d, cov, rest);
  for (size_t i = 0; i < d; i++) {
    sum -= 0.5 * rest[i] * rest[i] + log(cov[i * d + i]);
  }
  return TACIT_IS_PLANTED(TACIT_FAULT_LIKELIHOOD_TWICE) ? 2 * sum : sum;
}

/* Variance of the response in units of scale^2: that of fitted values, and sigma^2. */
static double density_of_location(const tacit_linear_posterior_t *p, const double *gamma, double sigma2) {
  size_t d = p->d;
  double fit[GAUSSIAN_MAX];
  for (size_t i = 0; i < d; i++) {
    fit[i] = p->centre[i] / p->scale + gamma[i];
  }
  double mean = tacit_dot(d, p->moments, fit);
  double variance = fmax(quadratic(d, p->moments, fit) - mean * mean, 0) + sigma2;
  double off = 0.5 * log(variance) + log(p->scale / p->location.sd),
         error = hypot(p->location.log_error, location_misfit);
  return -log1p(off * off / (error * error));
}

/* Of what was known before: tails of a t, since how far weights and clamp move a fit is not known. */
static double density_of_before(const tacit_linear_posterior_t *p, const double *theta) {
  const double df = 5;
  const tacit_linear_before_t *before = &p->before;
  size_t d = p->d;
  double away[GAUSSIAN_MAX], gamma[GAUSSIAN_MAX], square = 0, n = 0;
  for (size_t i = 0; i < d; i++) {
    away[i] = theta[i] - before->theta[i];
  }
  tacit_multiply_upper(d, before->factor, away, gamma);
  for (size_t i = 0; i < d; i++) {
    double off = before->response[i] - tacit_dot(d, before->slope + i * d, gamma);
    square += before->is_rare[i] ? 0 : off * off;
    n += !before->is_rare[i];
  }
  double var = before->var + before->slope_var * tacit_dot(d, gamma, gamma);
  return isfinite(var) ? -0.5 * ((df + n) * log1p(square / (df * var)) + n * log(var)) : 0;
}

void tacit_linear_map(const tacit_linear_posterior_t *p, const double *theta, double *gamma) {
  size_t d = p->d;
  for (size_t i = 0; i < d; i++) {
    gamma[i] = 0;
    for (size_t j = i; j < d; j++) {
      gamma[i] += p->factor[j * d + i] * (theta[j] - p->theta[j]) / p->scale;
    }
  }
}

/* gamma solves N gamma = T, and has precision N' C^-1 N, C the covariance there. */
void tacit_linear_look(tacit_linear_posterior_t *p, double *gamma, double *precision) {
  size_t d = p->d;
  double factor[GAUSSIAN_MAX * GAUSSIAN_MAX], cov[GAUSSIAN_MAX * GAUSSIAN_MAX],
      rows[GAUSSIAN_MAX * GAUSSIAN_MAX];
  memcpy(factor, p->moments, d * d * sizeof *factor);
  memcpy(rows, p->moments, d * d * sizeof *rows);
  memcpy(gamma, p->score, d * sizeof *gamma);
  memset(precision, 0, d * d * sizeof *precision);
  if (!tacit_cholesky(d, factor)) {
    memset(gamma, 0, d * sizeof *gamma);
    return;
  }
  tacit_solve_lower(d, factor, gamma);
  tacit_solve_upper(d, factor, gamma);
  fill_cov(p, gamma, cov);
  if (!tacit_cholesky(d, cov)) {
    return;
  }
  for (size_t j = 0; j < d; j++) { /* moments are symmetric: row j is column j */
    tacit_solve_lower(d, cov, rows + j * d);
  }
  for (size_t i = 0; i < d * d; i++) {
    precision[i] = tacit_dot(d, rows + i / d * d, rows + i % d * d);
  }
}

bool tacit_linear_unmap(const tacit_linear_posterior_t *p, const double *point, double *theta) {
  size_t d = p->d;
  double t2, sigma2;
  if (!variances_at(p, point, &t2, &sigma2)) {
    return false;
  }
  for (size_t i = 0; i < d; i++) {
    theta[i] = p->scale * point[i];
  }
  tacit_solve_upper(d, p->factor, theta);
  for (size_t i = 0; i < d; i++) {
    theta[i] += p->theta[i];
  }
  if (p->dim > d) {
    theta[d] = 0.5 * log(sigma2) + log(p->scale);
  }
  return true;
}

bool tacit_linear_place(const tacit_linear_posterior_t *p, const double *theta, double *point) {
  tacit_linear_map(p, theta, point);
  if (p->dim > p->d) {
    double log_sigma = theta[p->d] - log(p->scale);
    point[p->d] = 0.5 * log(exp(2 * log_sigma) + quadratic(p->d, p->moments, point));
    return isfinite(point[p->d]);
  }
  return true;
}

/* d log sigma = t^2/sigma^2 d log t. */
double tacit_linear_log_density(tacit_linear_posterior_t *p, const double *point) {
  double theta[GAUSSIAN_MAX + 1], t2, sigma2;
  if (!variances_at(p, point, &t2, &sigma2) || !tacit_linear_unmap(p, point, theta)) {
    return -INFINITY;
  }
  double off = p->square - t2, value = p->dim > p->d ? log(t2 / sigma2) - 0.5 * off * off / p->square_var : 0;
  value += p->parameters->log_prior(p->parameters->ctx, theta, NULL) + density_of_score(p, point) +
           density_of_location(p, point, sigma2) + density_of_before(p, theta);
  return isnan(value) ? -INFINITY : value;
}
