/*
 * How far the expected score is from a straight line within the posterior, on made-up records
 * (docs/theory.md, section 18.14): foretold at the prior's centre, and looked at where the posterior is.
 */
#include <math.h>
#include <string.h>

#include "noise_aware/program.h"

/* More records only tell more: beyond so many, the error of simulation would be all that is seen. */
static const double most_units = 1e5;

/* off (d, d), one a row: one posterior sd each along the axes of the posterior's correlations. */
static void find_axes(size_t d, const double *cov, double *off) {
  double correlation[MATRIX], values[PARAMETERS], vectors[MATRIX];
  for (size_t i = 0; i < d * d; i++) {
    correlation[i] = cov[i] / sqrt(cov[i / d * (d + 1)] * cov[i % d * (d + 1)]);
  }
  tacit_eigen(d, correlation, values, vectors);
  for (size_t i = 0; i < d * d; i++) {
    off[i] = sqrt(fmax(values[i / d], 0) * cov[i % d * (d + 1)]) * vectors[i % d * d + i / d];
  }
}

static void expect_off(tacit_public_t *p, const tacit_centred_point_t *point, const double *mode, double sign,
                       const double *off, double *mean) {
  double there[PARAMETERS];
  for (size_t j = 0; j < p->d; j++) {
    there[j] = mode[j] + sign * off[j];
  }
  tacit_public_expect(p, point, there, mean);
}

double tacit_program_bend(tacit_public_t *p, const tacit_centred_point_t *point, double n, double noise_sd,
                          const double *mode, const double *cov) {
  size_t d = p->d;
  double weight[MATRIX], solved[PARAMETERS], bend[PARAMETERS], off[MATRIX], before[PARAMETERS],
      here[PARAMETERS], after[PARAMETERS], worst = 0;
  find_axes(d, cov, off);
  tacit_public_slope(p, point, weight);
  for (size_t i = 0; i < d * d; i++) {
    weight[i] = n * weight[i] + (i / d == i % d ? noise_sd * noise_sd : 0);
  }
  if (!tacit_program_invert_positive(d, weight)) {
    return INFINITY;
  }
  tacit_public_expect(p, point, mode, here);
  for (size_t k = 0; k < d; k++) {
    expect_off(p, point, mode, -1, off + k * d, before);
    expect_off(p, point, mode, 1, off + k * d, after);
    for (size_t j = 0; j < d; j++) {
      bend[j] = n * (0.5 * (before[j] + after[j]) - here[j]);
    }
    tacit_program_apply(d, weight, bend, solved);
    worst = fmax(worst, sqrt(fmax(tacit_dot(d, bend, solved), 0)));
  }
  return worst;
}

/* Of a step of so many sds, where squares of scores are so far from the slope, the same share of its
 * threshold is told of as of slopes that change: measured, docs/theory.md, 18.14. */
static const double long_step = 3, long_misfit = 0.6, step_threshold = 0.3;

/* (off' weight off / d)^1/2. */
static double size_of(size_t d, const double *weight, const double *off) {
  double by[PARAMETERS];
  tacit_program_apply(d, weight, off, by);
  double square = tacit_dot(d, off, by) / (double)d;
  return square >= 0 ? sqrt(square) : INFINITY;
}

double tacit_program_last_step(tacit_program_run_t *run, const double *theta, const double *cov) {
  tacit_public_t *p = &run->public;
  size_t d = p->d;
  const tacit_program_seen_t *seen = &run->seen;
  double here[MATRIX], there[MATRIX], step[PARAMETERS], e[PARAMETERS], off[PARAMETERS], all[PARAMETERS],
      weight[MATRIX];
  tacit_centred_point_t point = {
      seen->theta, seen->whiten, seen->clip, seen->most, TACIT_PROGRAM_SIMULATED, TACIT_PROGRAM_LAST_SEED};
  tacit_public_slope(p, &point, here);
  point.theta = theta;
  tacit_public_slope(p, &point, there);
  for (size_t j = 0; j < d; j++) {
    step[j] = theta[j] - seen->theta[j];
  }
  tacit_program_apply(d, run->own.at[0].back, step, e);
  tacit_program_apply(d, seen->slope, e, all);
  for (size_t i = 0; i < d * d; i++) {
    there[i] = 0.5 * run->n * (there[i] - here[i]);
  }
  tacit_program_apply(d, there, e, off);
  memcpy(weight, cov, d * d * sizeof *weight);
  if (!tacit_program_invert_positive(d, weight)) {
    return INFINITY;
  }
  double sds = size_of(d, weight, all),
         far = fmin(sds / long_step, sds * tacit_program_misfit(run) / long_misfit);
  return fmax(size_of(d, weight, off), step_threshold * far);
}

/* At the prior's centre, the slope being what is expected there. */
static double foretell(tacit_public_t *p, const tacit_noise_aware_settings_t *s,
                       const tacit_parameters_t *parameters, double n) {
  size_t d = p->d;
  double theta[PARAMETERS] = {0}, whiten[MATRIX], slope[MATRIX], inverse[MATRIX], squares[MATRIX],
         at_e[MATRIX], back[MATRIX], cov[MATRIX], prior[MATRIX];
  tacit_program_climb(d, tacit_program_prior_density, parameters, theta);
  if (!tacit_public_metric(p, theta, whiten)) {
    return INFINITY;
  }
  double clip = tacit_program_clip(s, n, 0), noise = tacit_program_usual_noise(s, n);
  const tacit_centred_point_t point = {
      theta, whiten, clip, 1e15, TACIT_PROGRAM_SIMULATED, TACIT_PROGRAM_LAST_SEED};
  tacit_public_slope(p, &point, slope);
  memcpy(inverse, slope, d * d * sizeof *inverse);
  if (!tacit_program_invert_positive(d, inverse)) {
    return INFINITY;
  }
  for (size_t i = 0; i < d * d; i++) {
    squares[i] = (slope[i] + (i / d == i % d ? noise * noise / n : 0)) / n;
    back[i] = whiten[i % d * d + i / d];
  }
  tacit_program_sandwich(d, inverse, squares, at_e);
  tacit_program_sandwich(d, back, at_e, cov);
  tacit_program_prior_precision(parameters, theta, prior);
  bool is_told = tacit_program_invert_positive(d, cov);
  for (size_t i = 0; i < d * d; i++) {
    cov[i] += prior[i];
  }
  return is_told && tacit_program_invert_positive(d, cov)
             ? tacit_program_bend(p, &point, n, noise, theta, cov)
             : INFINITY;
}

tacit_status_t tacit_noise_aware_bend(const tacit_noise_aware_settings_t *s,
                                      const tacit_parameters_t *parameters, double n_units, double *bend,
                                      tacit_error_t *err) {
  tacit_public_t public;
  tacit_status_t status = tacit_public_open(&public, s->records, err);
  if (status == TACIT_OK) {
    *bend = foretell(&public, s, parameters, fmin(n_units, most_units));
  }
  tacit_public_close(&public);
  return status;
}
