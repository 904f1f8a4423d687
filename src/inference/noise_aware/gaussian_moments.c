/* Metric, fit and scale of a linear regression from joint moments: of rows in units of their columns, then of
 * whitened rows. */
#include "base/error.h"
#include "noise_aware/gaussian.h"

#include <math.h>
#include <string.h>

#include "noise_aware/schedule.h"

enum { MAX = GAUSSIAN_MAX, JOINT = GAUSSIAN_JOINT };

/* Residuals are clamped at so many sds, and are that times the rows' radius at most. */
static const double reach = 3.5, residual_radius = 0.8;
/* What weights and clamp may move each coefficient of whitened rows by, in sds of residuals. */
static const double moved = 0.2;
/* How long rows of a rare level are at most, in sqrt(d). */
static const double rare_most = 1.5;
/* Share of noise up to which radii grow, and between what they lie, in sqrt(d). */
static const double off_diagonal_noise = 0.06, least_radius = 1.2, most_radius = 3.5;

void tacit_normal_rows(size_t d, double radius, double *once, double *twice) {
  enum { N_NODES = 2000 };
  double p = (double)d - 1, far = 10 + sqrt(p), total = 0;
  *once = *twice = 0;
  for (size_t i = 0; i < N_NODES; i++) {
    double t = p > 0 ? far * ((double)i + 0.5) / N_NODES : 0, norm = sqrt(1 + t * t),
           within = fmin(norm, radius);
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

tacit_status_t tacit_gaussian_joint(tacit_gaussian_t *g, const tacit_aware_joint_t *at, double share,
                                    double *moments, double *sd, tacit_error_t *err) {
  double released[GAUSSIAN_PACKED];
  *sd = 0;
  tacit_status_t status = tacit_aware_release_joint_moments(
      g->curator, g->settings, schedule_multiplier(g->settings->rho, share), at, released, sd, err);
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

static double clamp(double value, double low, double high) { return fmin(fmax(value, low), high); }

double tacit_gaussian_shrink_moments(tacit_gaussian_t *g, const double *joint, double sd, double kept,
                                     double least, double *moments, double *variances) {
  size_t d = g->d, m = d + 1;
  double all[MAX * MAX];
  for (size_t i = 0; i < d; i++) {
    for (size_t j = 0; j < d; j++) {
      double guess = sqrt(g->expected[i] * g->expected[j]);
      moments[i * d + j] = i == j ? tacit_gaussian_shrink(joint[i * m + j], sd, kept * guess,
                                                          0.6 * sqrt(guess), &variances[i * d + j])
                                  : tacit_gaussian_shrink(joint[i * m + j], sd / sqrt(2), 0,
                                                          0.4 * sqrt(guess), &variances[i * d + j]);
    }
  }
  memcpy(all, variances, d * d * sizeof *all);
  double floor_at = clamp(0.5 * sqrt(tacit_median(d * d, all) * (double)d), least, 0.5), smallest = INFINITY;
  tacit_raise_eigenvalues(d, moments, floor_at, g->work);
  for (size_t i = 0; i < d; i++) { /* what they were is left there */
    smallest = fmin(smallest, g->work[2 * d * d + i]);
  }
  return smallest / floor_at;
}

static tacit_status_t not_positive(tacit_error_t *err) {
  return tacit_error_set(err, TACIT_ERR_NUMERIC, "moments",
                         "the noisy second moments could not be made a covariance matrix; this should not "
                         "happen, please report it");
}

/* ---- of whitened rows ---- */

/* Fit <- a ridge step on it: gamma = L' (theta - theta_0) has sd s0 / sqrt(2 sqrt d). Returns what residuals
 * gain by the step's error. */
static bool step(tacit_gaussian_t *g, const double *slope, const double *response, double variance,
                 double *gamma, double *error) {
  size_t d = g->d;
  double precision[MAX * MAX], inverse[MAX * MAX], right[MAX],
      prior = 0.5 * g->scale * g->scale / sqrt((double)d);
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

tacit_feature_scale_t tacit_gaussian_feature_scale(const tacit_gaussian_t *g, const double *moments,
                                                   const double *variances, size_t j) {
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
  return (tacit_feature_scale_t){
      .mean = clamp(mean, -1, 1), .sd = sqrt(variance), .relative_error = error / variance};
}

/*
 * Rows of a rare level are long and weighted: their moments make the sd of a two-valued column, which counts
 * of it tell, too small, and its rows longer yet. Where the metric has it below, row j of the factor is
 * raised to it.
 */
static void keep_two_valued(tacit_gaussian_t *g) {
  size_t d = g->d;
  for (size_t j = 1; j < d; j++) {
    double *row = g->factor + j * d, sd = sqrt(tacit_dot(j, row + 1, row + 1));
    for (size_t i = 1; i <= j && sd < g->level_sd[j]; i++) {
      row[i] *= g->level_sd[j] / sd;
    }
  }
}

/* L <- factor of L N L' over its first entry. */
static tacit_status_t move_metric(tacit_gaussian_t *g, const double *moments, tacit_error_t *err) {
  size_t d = g->d;
  double product[MAX * MAX], second[MAX * MAX];
  tacit_sandwich(d, g->factor, moments, product, second);
  for (size_t i = d * d; i-- > 0;) {
    second[i] /= second[0];
  }
  if (!tacit_cholesky(d, second)) {
    return not_positive(err);
  }
  memcpy(g->factor, second, d * d * sizeof *second);
  keep_two_valued(g);
  tacit_invert_lower(d, g->factor, g->inverse);
  return TACIT_OK;
}

/* How long rows of column j's rarer level are along it; 0 where it has none. */
static double rare_length(const tacit_gaussian_t *g, size_t j) {
  return g->level_sd[j] > 0 ? (1 + fabs(g->factor[j * g->d])) / g->factor[j * g->d + j] : 0;
}

/* By what weights at a radius make rows of column j's rarer level shorter than they are; 1 where it has none.
 */
static double longer(const tacit_gaussian_t *g, size_t j, double radius) {
  return fmax(hypot(rare_length(g, j), sqrt((double)g->d - 1)) / radius, 1);
}

/*
 * Rows of a rare level are many times as long as others, along its column alone, and the noise of their band
 * is as large in every direction. In coordinates that are shorter along it that column has the noise that it
 * had, and the others less.
 */
static void shorten_rare(tacit_gaussian_t *g) {
  size_t d = g->d;
  for (size_t j = 1; j < d; j++) {
    double by = fmin(1, rare_most * sqrt((double)d) / fmax(rare_length(g, j), 1e-9));
    g->expected[j] = by * by;
    for (size_t i = 0; i < d; i++) {
      g->inverse[j * d + i] *= by;
      g->factor[i * d + j] /= by;
    }
  }
}

/* Before the step; var: of the response, entry_var: of the slope. */
static void keep_step(tacit_gaussian_t *g, const double *slope, const double *response, double var,
                      double entry_var, double radius) {
  tacit_linear_before_t *before = &g->posterior.before;
  size_t d = g->d;
  memcpy(before->slope, slope, d * d * sizeof *slope);
  memcpy(before->response, response, d * sizeof *response);
  memcpy(before->factor, g->factor, d * d * sizeof *slope);
  memcpy(before->theta, g->theta, d * sizeof *g->theta);
  before->var = var + moved * moved * g->scale * g->scale;
  before->slope_var = entry_var;
  for (size_t j = 0; j < d; j++) {
    before->is_rare[j] = j > 0 && longer(g, j, radius) > 1;
  }
}

/* Of the whitened rows that it was made by: the first of them is the constant. */
static double explained_by(const tacit_gaussian_t *g, double error) {
  size_t d = g->d;
  double fitted[MAX];
  tacit_multiply_upper(d, g->factor, g->theta, fitted);
  return error * ((double)d - 1) / (double)d + tacit_dot(d - 1, fitted + 1, fitted + 1);
}

/* least: floor of eigenvalues. */
static tacit_status_t learn(tacit_gaussian_t *g, double share, double least, tacit_error_t *err) {
  size_t d = g->d, m = d + 1;
  double joint[JOINT * JOINT], moments[MAX * MAX], variances[MAX * MAX], slope[MAX * MAX], response[MAX],
      gamma[MAX], once, twice, sd, error;
  double mu = tacit_gaussian_mu(g->settings) * sqrt(share), s2 = g->scale * g->scale;
  double radius = sqrt((double)d) *
                  clamp(sqrt(off_diagonal_noise * mu * g->n / (2 * (double)d)), least_radius, most_radius);
  double clamp_at = residual_radius * radius, unit = reach * g->scale / clamp_at; /* unit: of the response */
  tacit_status_t status = tacit_gaussian_joint(
      g, &(tacit_aware_joint_t){d, g->inverse, &radius, g->theta, &unit, &clamp_at}, share, joint, &sd, err);
  if (status != TACIT_OK) {
    return status;
  }
  double square = fmax(joint[d * m + d] * unit * unit, 0),
         square_sd = hypot(sd * unit * unit, g->count_error * square);
  tacit_normal_rows(d, radius, &once, &twice);
  g->eigenvalue = tacit_gaussian_shrink_moments(g, joint, sd, twice / (double)d, least, moments, variances);
  for (size_t i = 0; i < d; i++) {
    response[i] = joint[i * m + d] * unit;
  }
  for (size_t i = 0; i < d * d; i++) {
    slope[i] = moments[i] * once / twice;
  }
  for (size_t j = 1; j < d; j++) {
    slope[j * d + j] = moments[j * d + j] * fmax(longer(g, j, radius), once / twice);
  }
  double entry_var = sd * sd / 2, variance = entry_var * unit * unit + s2 / g->n;
  keep_step(g, slope, response, variance, entry_var, radius);
  if (!step(g, slope, response, variance, gamma, &error)) {
    return not_positive(err);
  }
  g->explained = explained_by(g, error);
  for (size_t i = 0; i < d; i++) {
    square -= gamma[i] * tacit_dot(d, moments + i * d, gamma);
  }
  double unused, left = tacit_gaussian_shrink(square, square_sd, 0.5 * s2, 0.5 * s2, &unused);
  g->scale = fmin(sqrt(clamp(left, 0.01 * s2, 1.44 * s2) + fmin(error, 0.5 * s2)), 1.4 * g->location.sd);
  for (size_t i = 0; i < d * d; i++) {
    moments[i] *= (double)d / twice;
    variances[i] *= pow((double)d / twice, 2);
    g->expected[i % d] = 1;
  }
  g->entry_var = tacit_median(d * d, variances);
  return move_metric(g, moments, err);
}

/* The second one sees further into what is nearly collinear, and says how nearly. */
tacit_status_t tacit_gaussian_learn_first(tacit_gaussian_t *g, tacit_error_t *err) {
  return learn(g, g->shares.first, 0.005, err);
}
tacit_status_t tacit_gaussian_learn_whitened(tacit_gaussian_t *g, tacit_error_t *err) {
  tacit_status_t status = learn(g, g->shares.whitened, 0.05, err);
  if (status == TACIT_OK) {
    shorten_rare(g);
  }
  return status;
}
