/*
 * Density of coefficients and sigma given the last release: T, the moments of weighted rows with clamped residuals, and S, their mean square.
 * With t^2 = sigma^2 + gamma' N gamma / k2 the variance of residuals around theta_1, and q, kappa, q4 their clamped moments,
 *
 *     T ~ N(kappa J gamma - D e_1, q V_M / n + (v_T + 2 b'^2 / d) I + bc'^2 e_1 e_1' + kappa^2 (k12^2 V_N(gamma) + Delta Delta')),
 *     S ~ N(q, v_S + (q4 - q^2) / n + (q count_error)^2),
 *
 * the residuals' histogram tells t as well, to the power at which the records' own variation is not counted twice; and the response's says how large
 * its sd roughly is, fitted values and sigma together.
 */
#include <math.h>
#include <string.h>

#include "noise_aware/gaussian.h"

/* What a normal law may be off by in the log sd of a response. */
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
  double fitted = quadratic(p->d, p->moments, point) / p->kept_twice;
  if (p->dim == p->d) {
    *sigma2 = pow(p->known_sd / p->scale, 2);
    *t2 = *sigma2 + fitted;
    return true;
  }
  *t2 = exp(2 * point[p->d]);
  *sigma2 = *t2 - fitted;
  return fabs(point[p->d]) < 20 && *sigma2 > 1e-12 * *t2;
}

/* cov (d, d), lower triangle, of T at gamma; doubt = kappa times half the difference of J's ends, times gamma. */
static void fill_cov(const tacit_linear_posterior_t *p, const double *gamma, const double *doubt, const tacit_clamped_t *at, double *cov) {
  size_t d = p->d;
  double own = p->response_var + 2 * p->radii.shift_rows * p->radii.shift_rows / (double)d, k2 = pow(at->inside * p->kept_ratio, 2);
  for (size_t i = 0; i < d; i++) {
    double unknown = 0;
    for (size_t j = 0; j < d; j++) {
      unknown += gamma[j] * gamma[j] * p->variances[i * d + j];
    }
    for (size_t j = 0; j <= i; j++) {
      double of_moments = i == j ? unknown : gamma[i] * gamma[j] * p->variances[i * d + j];
      cov[i * d + j] = p->shape[i * d + j] * at->second / p->n + k2 * of_moments + doubt[i] * doubt[j] + (i == j ? own : 0);
    }
  }
  cov[0] += p->radii.shift_intercept * p->radii.shift_intercept;
}

static double density_of_response(tacit_linear_posterior_t *p, const double *gamma, const tacit_clamped_t *at) {
  size_t d = p->d;
  double *cov = p->work, *doubt = cov + d * d, *rest = doubt + d, sum = 0;
  for (size_t i = 0; i < d; i++) {
    doubt[i] = at->inside * tacit_dot(d, p->doubt + i * d, gamma);
    rest[i] = p->response[i] - at->inside * tacit_dot(d, p->slope + i * d, gamma);
  }
  rest[0] += p->radii.asymmetry;
  fill_cov(p, gamma, doubt, at, cov);
  if (!tacit_cholesky(d, cov)) {
    return -INFINITY;
  }
  tacit_solve_lower(d, cov, rest);
  for (size_t i = 0; i < d; i++) {
    sum -= 0.5 * rest[i] * rest[i] + log(cov[i * d + i]);
  }
  return sum;
}

static double density_of_square(const tacit_linear_posterior_t *p, const tacit_clamped_t *at) {
  double variance = p->square_var + (at->fourth - at->second * at->second) / p->n + pow(at->second * p->count_error, 2);
  double off = p->square - at->second;
  return -0.5 * (off * off / variance + log(variance));
}

/* Variance of the response in units of scale^2: that of fitted values, and sigma^2. */
static double density_of_location(const tacit_linear_posterior_t *p, const double *gamma, double sigma2) {
  size_t d = p->d;
  double fit[GAUSSIAN_MAX];
  for (size_t i = 0; i < d; i++) {
    fit[i] = p->centre[i] / p->scale + gamma[i];
  }
  double mean = tacit_dot(d, p->moments, fit) / p->kept_twice;
  double variance = fmax(quadratic(d, p->moments, fit) / p->kept_twice - mean * mean, 0) + sigma2;
  double off = 0.5 * log(variance) + log(p->scale / p->location.sd), error = hypot(p->location.log_error, location_misfit);
  return -0.5 * off * off / (error * error);
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

/* gamma solves kappa J gamma = T + D e_1, and has precision kappa^2 J' C^-1 J, C the covariance there. */
void tacit_linear_look(tacit_linear_posterior_t *p, double *gamma, double *precision) {
  size_t d = p->d;
  double slope[GAUSSIAN_MAX * GAUSSIAN_MAX], cov[GAUSSIAN_MAX * GAUSSIAN_MAX], doubt[GAUSSIAN_MAX] = {0}, column[GAUSSIAN_MAX];
  tacit_clamped_t at = tacit_law_at(p->law, p->law->best, log(p->law->best_scale));
  memcpy(slope, p->slope, d * d * sizeof *slope);
  memcpy(gamma, p->response, d * sizeof *gamma);
  memset(precision, 0, d * d * sizeof *precision);
  gamma[0] += p->radii.asymmetry;
  if (!tacit_cholesky(d, slope)) {
    memset(gamma, 0, d * sizeof *gamma);
    return;
  }
  tacit_solve_lower(d, slope, gamma);
  tacit_solve_upper(d, slope, gamma);
  for (size_t i = 0; i < d; i++) {
    gamma[i] /= at.inside;
  }
  for (size_t i = 0; i < d; i++) {
    doubt[i] = at.inside * tacit_dot(d, p->doubt + i * d, gamma);
  }
  fill_cov(p, gamma, doubt, &at, cov);
  if (!tacit_cholesky(d, cov)) {
    return;
  }
  for (size_t j = 0; j < d; j++) { /* slope is symmetric: row j is column j */
    for (size_t i = 0; i < d; i++) {
      column[i] = at.inside * p->slope[j * d + i];
    }
    tacit_solve_lower(d, cov, column);
    memcpy(slope + j * d, column, d * sizeof *column);
  }
  for (size_t i = 0; i < d * d; i++) {
    precision[i] = tacit_dot(d, slope + i / d * d, slope + i % d * d);
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

/* d log sigma = t^2/sigma^2 d log t. */
double tacit_linear_log_density(tacit_linear_posterior_t *p, const double *point, size_t shape) {
  double theta[GAUSSIAN_MAX + 1], t2, sigma2;
  if (!variances_at(p, point, &t2, &sigma2) || !tacit_linear_unmap(p, point, theta)) {
    return -INFINITY;
  }
  double level = 0.5 * log(t2), value = p->dim > p->d ? log(t2 / sigma2) : 0;
  tacit_clamped_t at = tacit_law_at(p->law, shape, level);
  value += p->parameters->log_prior(p->parameters->ctx, theta, NULL) + density_of_response(p, point, &at) + density_of_square(p, &at) +
           density_of_location(p, point, sigma2) + p->profile_weight * tacit_law_profile(p->law, shape, level);
  return isnan(value) ? -INFINITY : value;
}

double tacit_linear_hidden(const tacit_linear_posterior_t *p, const double *point, size_t shape) {
  double t2, sigma2;
  if (!variances_at(p, point, &t2, &sigma2)) {
    return 0;
  }
  return fmin(fmax(sigma2 / tacit_law_at(p->law, shape, 0.5 * log(sigma2)).second - 1, 0), 1);
}
