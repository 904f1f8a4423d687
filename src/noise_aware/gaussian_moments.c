/* Metric, fit and scale of a linear regression from joint moments: in the cube, then of whitened rows. */
#include "noise_aware/gaussian.h"

#include <math.h>
#include <string.h>

#include "noise_aware/schedule.h"

enum { MAX = GAUSSIAN_MAX, JOINT = GAUSSIAN_JOINT };

/* Residuals are clamped at so many sds. */
static const double reach = 3.5;
/* Share of noise up to which radii grow, and between what they lie, in sqrt(d). */
static const double off_diagonal_noise = 0.06, least_radius = 1.4, most_radius = 3.5;

void tacit_normal_rows(size_t d, double radius, double *once, double *twice) {
  enum { N_NODES = 2000 };
  double p = (double)d - 1, far = 10 + sqrt(p), total = 0;
  *once = *twice = 0;
  for (size_t i = 0; i < N_NODES; i++) {
    double t = p > 0 ? far * ((double)i + 0.5) / N_NODES : 0, norm = sqrt(1 + t * t), within = fmin(norm, radius);
    double share = p > 0 ? exp((p - 1) * log(t) - 0.5 * t * t) : i == 0;
    total += share;
    *once += share * norm * within;
    *twice += share * within * within;
  }
  *once /= total;
  *twice /= total;
}

void tacit_gaussian_unpack(size_t d, const double *released, double n, double *matrix) {
  for (size_t i = 0; i < d; i++) {
    for (size_t j = i; j < d; j++, released++) {
      matrix[i * d + j] = matrix[j * d + i] = *released / (i == j ? 1 : sqrt(2)) / n;
    }
  }
}

tacit_status_t tacit_gaussian_joint(tacit_gaussian_t *g, const tacit_aware_joint_t *at, double share, double *moments, double *sd,
                                    tacit_error_t *err) {
  double released[GAUSSIAN_PACKED];
  *sd = 0;
  tacit_status_t status = tacit_aware_release_joint_moments(g->curator, g->settings, schedule_multiplier(g->settings->rho, share), at,
                                                            released, sd, err);
  if (status == TACIT_OK) {
    tacit_gaussian_unpack(g->d + 1, released, g->n, moments);
    *sd /= g->n;
  }
  return status;
}

double tacit_gaussian_shrink(double value, double sd, double guess, double guess_sd, double *variance) {
  double weight = guess_sd * guess_sd / (guess_sd * guess_sd + sd * sd);
  *variance = weight * sd * sd;
  return guess + weight * (value - guess);
}

static double clamp(double value, double low, double high) {
  return fmin(fmax(value, low), high);
}

double tacit_gaussian_shrink_moments(tacit_gaussian_t *g, const double *joint, double sd, double kept, double *moments, double *variances) {
  size_t d = g->d, m = d + 1;
  double all[MAX * MAX];
  for (size_t i = 0; i < d; i++) {
    for (size_t j = 0; j < d; j++) {
      moments[i * d + j] = i == j ? tacit_gaussian_shrink(joint[i * m + j], sd, kept, 0.6, &variances[i * d + j])
                                  : tacit_gaussian_shrink(joint[i * m + j], sd / sqrt(2), 0, 0.4, &variances[i * d + j]);
    }
  }
  memcpy(all, variances, d * d * sizeof *all);
  double floor_at = clamp(0.5 * sqrt(tacit_median(d * d, all) * (double)d), 0.05, 0.5), least = INFINITY;
  tacit_raise_eigenvalues(d, moments, floor_at, g->work);
  for (size_t i = 0; i < d; i++) { /* what they were is left there */
    least = fmin(least, g->work[2 * d * d + i]);
  }
  return least / floor_at;
}

/* second (m, m) <- the same with means clamped and eigenvalues of the covariance raised; index 0 is the constant. */
static void make_positive(size_t m, double *second, double least, double *work) {
  size_t p = m - 1;
  double mean[JOINT], *cov = work;
  for (size_t i = 0; i < p; i++) {
    mean[i] = clamp(second[i + 1], -0.98, 0.98);
  }
  for (size_t i = 0; i < p * p; i++) {
    cov[i] = second[(i / p + 1) * m + i % p + 1] - mean[i / p] * mean[i % p];
  }
  tacit_raise_eigenvalues(p, cov, least, work + m * m);
  for (size_t i = 0; i < p * p; i++) {
    second[(i / p + 1) * m + i % p + 1] = cov[i] + mean[i / p] * mean[i % p];
  }
  for (size_t i = 0; i < p; i++) {
    second[i + 1] = second[(i + 1) * m] = mean[i];
  }
}

static tacit_status_t not_positive(tacit_error_t *err) {
  return tacit_error_set(err, TACIT_ERR_NUMERIC, "moments",
                         "the noisy second moments could not be made a covariance matrix; this should not happen, please report it");
}

/* ---- in the cube ---- */

/* Public guesses of moments of features and of the response, in 3.5 of its sds. */
static void guess_cube(tacit_gaussian_t *g, double sd, double *second, double *variances) {
  size_t d = g->d, m = d + 1;
  for (size_t i = 0; i <= d; i++) {
    for (size_t j = i; j <= d; j++) {
      const bool *is_two_valued = g->settings->is_two_valued;
      bool is_square = i == j, is_known = is_square && i < d && (i == 0 || (is_two_valued != NULL && is_two_valued[i]));
      double guess = !is_square ? 0 : i == d ? 1.0 / 12 : 1.0 / 3, guess_sd = is_square ? (i == d ? 0.1 : 0.25) : i == 0 ? 0.5 : 0.3;
      double at = second[i * m + j], error = hypot(is_square ? sd : sd / sqrt(2), g->count_error * at);
      double value = tacit_gaussian_shrink(at, error, guess, guess_sd, &variances[i * m + j]);
      second[i * m + j] = second[j * m + i] = is_known ? 1 : value;
    }
  }
}

static double median_off_diagonal(size_t m, const double *variances) {
  double values[JOINT * JOINT / 2];
  size_t n = 0;
  for (size_t i = 0; i < m; i++) {
    for (size_t j = i + 1; j < m; j++) {
      values[n++] = variances[i * m + j];
    }
  }
  return tacit_median(n, values);
}

/* Regression of the response on x by a factor of their joint moments; per: units of the response there. */
static void set_fit(tacit_gaussian_t *g, const double *joint, double noise, double per) {
  size_t d = g->d, m = d + 1;
  double size = 1, uncertain = 0, pivot = joint[d * m + d];
  for (size_t i = 0; i < d; i++) {
    memcpy(g->factor + i * d, joint + i * m, d * sizeof *joint);
    g->theta[i] = joint[d * m + i];
  }
  tacit_solve_upper(d, g->factor, g->theta);
  tacit_invert_lower(d, g->factor, g->inverse);
  for (size_t i = 0; i < d; i++) {
    size += g->theta[i] * g->theta[i];
  }
  for (size_t i = 0; i < d * d; i++) {
    uncertain += g->inverse[i] * g->inverse[i];
  }
  for (size_t i = 0; i < d; i++) {
    g->theta[i] = per * g->theta[i] + (i == 0 ? g->location.mean : 0);
  }
  g->scale = fmin(per * fmin(sqrt(pivot * pivot + uncertain * noise * size), 0.45), 1.3 * g->location.sd);
}

tacit_status_t tacit_gaussian_learn_cube(tacit_gaussian_t *g, tacit_error_t *err) {
  size_t d = g->d, m = d + 1;
  double second[JOINT * JOINT], variances[JOINT * JOINT], origin[MAX] = {g->location.mean}, half = reach * g->location.sd, sd;
  double radius = sqrt((double)d) * (1 + 1e-12), clamp_at = 1;
  tacit_status_t status = tacit_gaussian_joint(g, &(tacit_aware_joint_t){d, NULL, &radius, origin, &half, &clamp_at}, g->shares.cube, second,
                                               &sd, err);
  if (status != TACIT_OK) {
    return status;
  }
  guess_cube(g, sd, second, variances);
  double noise = median_off_diagonal(m, variances);
  make_positive(m, second, clamp(0.5 * sqrt(noise * (double)d), 3e-4, 0.3), g->work);
  if (!tacit_cholesky(m, second)) {
    return not_positive(err);
  }
  g->mean_noise = sd / sqrt(2);
  set_fit(g, second, noise, half);
  return TACIT_OK;
}

/* ---- of whitened rows ---- */

/* Fit <- a ridge step on it: gamma = L' (theta - theta_0) has sd s0 / sqrt(2 sqrt d). Returns what residuals gain by the step's error. */
static bool step(tacit_gaussian_t *g, const double *slope, const double *response, double variance, double *gamma, double *error) {
  size_t d = g->d;
  double precision[MAX * MAX], inverse[MAX * MAX], right[MAX], prior = 0.5 * g->scale * g->scale / sqrt((double)d);
  for (size_t i = 0; i < d; i++) {
    for (size_t j = 0; j < d; j++) { /* slope is symmetric */
      precision[i * d + j] = tacit_dot(d, slope + i * d, slope + j * d) / variance + (i == j ? 1 / prior : 0);
    }
    right[i] = tacit_dot(d, slope + i * d, response) / variance;
  }
  if (!tacit_cholesky(d, precision)) {
    return false;
  }
  tacit_invert_lower(d, precision, inverse);
  *error = tacit_dot(d * d, inverse, inverse);
  memcpy(gamma, right, d * sizeof *gamma);
  tacit_solve_lower(d, precision, gamma);
  tacit_solve_upper(d, precision, gamma);
  memcpy(right, gamma, d * sizeof *right);
  tacit_solve_upper(d, g->factor, right);
  for (size_t i = 0; i < d; i++) {
    g->theta[i] += right[i];
  }
  return true;
}

tacit_feature_scale_t tacit_gaussian_feature_scale(const tacit_gaussian_t *g, const double *moments, const double *variances, size_t j) {
  size_t d = g->d;
  double l[MAX], mean = 0, variance = 0, noise = 0;
  for (size_t b = 0; b < d; b++) {
    mean += g->factor[j * d + b] * moments[b];
  }
  memcpy(l, g->factor + j * d, d * sizeof *l);
  l[0] -= mean;
  for (size_t a = 0; a < d; a++) {
    for (size_t b = a; b < d; b++) {
      double part = l[a] * l[b] * (a == b ? 1 : 2);
      variance += part * moments[a * d + b];
      noise += part * part * variances[a * d + b];
    }
  }
  double error = sqrt(noise);
  variance = fmax(fmax(variance, error), 1e-6);
  return (tacit_feature_scale_t){clamp(mean, -1, 1), sqrt(variance), error / variance};
}

/* L <- factor of L N L' over its first entry. */
static tacit_status_t move_metric(tacit_gaussian_t *g, const double *moments, tacit_error_t *err) {
  size_t d = g->d;
  double product[MAX * MAX], second[MAX * MAX];
  tacit_multiply(d, d, d, g->factor, moments, product);
  for (size_t i = 0; i < d * d; i++) {
    second[i] = tacit_dot(d, product + i / d * d, g->factor + i % d * d);
  }
  for (size_t i = d * d; i-- > 0;) {
    second[i] /= second[0];
  }
  make_positive(d, second, 1e-4, g->work);
  if (!tacit_cholesky(d, second)) {
    return not_positive(err);
  }
  memcpy(g->factor, second, d * d * sizeof *second);
  tacit_invert_lower(d, g->factor, g->inverse);
  return TACIT_OK;
}

tacit_status_t tacit_gaussian_learn_whitened(tacit_gaussian_t *g, tacit_error_t *err) {
  size_t d = g->d, m = d + 1;
  double joint[JOINT * JOINT], moments[MAX * MAX], variances[MAX * MAX], slope[MAX * MAX], response[MAX], gamma[MAX], once, twice, sd, error;
  double mu = tacit_gaussian_mu(g->settings) * sqrt(g->shares.whitened), s2 = g->scale * g->scale;
  double radius = sqrt((double)d) * clamp(sqrt(off_diagonal_noise * mu * g->n / (2 * (double)d)), least_radius, most_radius);
  double unit = reach * g->scale / radius, clamp_at = radius; /* unit: of the response */
  tacit_status_t status = tacit_gaussian_joint(g, &(tacit_aware_joint_t){d, g->inverse, &radius, g->theta, &unit, &clamp_at},
                                               g->shares.whitened, joint, &sd, err);
  if (status != TACIT_OK) {
    return status;
  }
  double square = fmax(joint[d * m + d] * unit * unit, 0), square_sd = hypot(sd * unit * unit, g->count_error * square);
  tacit_normal_rows(d, radius, &once, &twice);
  g->eigenvalue = tacit_gaussian_shrink_moments(g, joint, sd, twice / (double)d, moments, variances);
  for (size_t i = 0; i < d; i++) {
    response[i] = joint[i * m + d] * unit;
  }
  for (size_t i = 0; i < d * d; i++) {
    slope[i] = moments[i] * once / twice;
  }
  if (!step(g, slope, response, sd * sd / 2 * unit * unit + s2 / g->n, gamma, &error)) {
    return not_positive(err);
  }
  for (size_t i = 0; i < d; i++) {
    square -= gamma[i] * tacit_dot(d, moments + i * d, gamma);
  }
  double unused, left = tacit_gaussian_shrink(square, square_sd, 0.5 * s2, 0.5 * s2, &unused);
  g->scale = fmin(sqrt(clamp(left, 0.01 * s2, 1.44 * s2) + fmin(error, 0.5 * s2)), 1.4 * g->location.sd);
  for (size_t i = 0; i < d * d; i++) {
    moments[i] *= (double)d / twice;
  }
  return move_metric(g, moments, err);
}
