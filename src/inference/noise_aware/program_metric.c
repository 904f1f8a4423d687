/* What is known of a record's information, look by look, the coordinates made of it, and steps in them
 * (docs/theory.md, section 18.14). */
#include <math.h>
#include <string.h>

#include "noise_aware/program.h"

/*
 * Least eigenvalue of a metric, in sds of its noise and sqrt(d); what the information changes by from point
 * to point; no step moves a coordinate by more, nor so far that a record tells so many times as much, or as
 * little; least level of a slope.
 */
static const double least_known = 0.7, drift = 0.1, most_step = 1.5, most_change = 3, least_level = 0.05;

enum { N_HALVINGS = 6 };

static void unpack(size_t d, const double *svec, double scale, double *matrix) {
  for (size_t i = 0, k = 0; i < d; i++) {
    for (size_t j = i; j < d; j++, k++) {
      matrix[i * d + j] = matrix[j * d + i] = svec[k] * (i == j ? 1 : sqrt(0.5)) * scale;
    }
  }
}

/* The released slope overrules what was known as far as its noise lets it: elements are normal around those
 * of a multiple of I. */
static void weigh(tacit_program_run_t *run, const double *released, bool is_first,
                  tacit_program_seen_t *seen) {
  size_t d = run->parameters->dim;
  double noise = seen->slope_sd / run->n, level = 0;
  unpack(d, released, 1 / run->n, seen->slope);
  for (size_t j = 0; j < d; j++) {
    level += seen->slope[j * d + j] / (double)d;
  }
  level = is_first ? 1 : fmax(level, least_level);
  seen->worst = 0;
  for (size_t i = 0; i < d * d; i++) {
    bool is_diagonal = i / d == i % d;
    double before = run->metric.unknown[i / d] * run->metric.unknown[i % d],
           share = before / (before + noise * noise);
    double middle = is_diagonal ? level : 0;
    seen->slope[i] = run->n * (middle + share * (seen->slope[i] - middle));
    seen->doubt[i] = share * seen->slope_sd * seen->slope_sd * (is_diagonal ? 1 : 0.5);
    seen->worst = fmax(seen->worst, sqrt(share));
  }
}

/* The next coordinates: along the axes of what is known now, in units of it, as large at least as its noise.
 */
void tacit_program_turn(tacit_program_run_t *run, tacit_program_seen_t *seen) {
  size_t d = run->parameters->dim;
  double copy[MATRIX], values[PARAMETERS], vectors[MATRIX], before[MATRIX];
  memcpy(copy, seen->slope, d * d * sizeof *copy);
  memcpy(before, seen->whiten, d * d * sizeof *before);
  tacit_eigen(d, copy, values, vectors);
  for (size_t j = 0; j < d; j++) {
    double noise2 = 0;
    for (size_t i = 0; i < d; i++) {
      noise2 += vectors[i * d + j] * vectors[i * d + j] * seen->doubt[i * d + i];
    }
    double value = fmax(values[j], fmax(least_known * sqrt((double)d * noise2), 1e-9 * run->n));
    run->metric.unknown[j] = fmin(1, hypot(sqrt(noise2) / value, drift));
    values[j] = value;
  }
  for (size_t i = 0; i < d * d; i++) {
    double sum = 0, next = 0;
    for (size_t k = 0; k < d; k++) {
      sum += vectors[i / d * d + k] * values[k] * vectors[i % d * d + k];
      next += vectors[k * d + i / d] * before[k * d + i % d];
    }
    seen->steep[i] = sum;
    run->metric.whiten[i] = next / sqrt(values[i / d] / run->n);
  }
}

void tacit_program_look(tacit_program_run_t *run, const double *released, bool is_first,
                        tacit_program_seen_t *seen) {
  weigh(run, released, is_first, seen);
  tacit_program_turn(run, seen);
}

/* slope (d, d) <- what records that are nobody's tell at t + share step. */
static void tell(tacit_public_t *public, const tacit_program_seen_t *seen, double share, const double *step,
                 double *slope) {
  double theta[PARAMETERS];
  for (size_t j = 0; j < public->d; j++) {
    theta[j] = seen->theta[j] + share * step[j];
  }
  const tacit_centred_point_t point = {theta, seen->whiten, seen->clip, seen->most, TACIT_PROGRAM_SIMULATED,
                                       1};
  tacit_public_slope(public, &point, slope);
}

/* How far to go: what records tell must not become another thing on the way. */
static double find_share(tacit_public_t *public, const tacit_program_seen_t *seen, const double *step) {
  size_t d = public->d;
  double here[MATRIX], inverse[MATRIX], there[MATRIX], share = 1;
  tell(public, seen, 0, step, here);
  for (size_t j = 0; j < d; j++) {
    here[j * (d + 1)] *= 1 + 1e-6;
    here[j * (d + 1)] += 1e-9;
  }
  if (!tacit_cholesky(d, here)) {
    return 1;
  }
  tacit_invert_lower(d, here, inverse);
  for (int i = 0; i < N_HALVINGS; i++, share *= 0.5) {
    tell(public, seen, share, step, there);
    if (tacit_program_ratios_between(d, inverse, there, 1 / most_change, most_change)) {
      break;
    }
  }
  return share;
}

/* S ~ N(J e, (n + noise^2) I), and the prior's touching normal. */
void tacit_program_step(tacit_program_run_t *run, tacit_public_t *public, const tacit_program_seen_t *seen) {
  size_t d = run->parameters->dim;
  double precision[MATRIX], prior[MATRIX], grad[PARAMETERS], right[PARAMETERS], slope[PARAMETERS],
      step[PARAMETERS], e[PARAMETERS], most = 0;
  double weight = 1 / (run->n + seen->score_sd * seen->score_sd);
  (void)tacit_program_prior_density(run->parameters, run->theta, grad, prior);
  tacit_program_sandwich(d, seen->whiten, prior, precision);
  tacit_program_apply(d, seen->whiten, grad, right);
  tacit_program_apply(d, seen->steep, seen->score, slope);
  for (size_t i = 0; i < d; i++) {
    right[i] += weight * slope[i];
    for (size_t j = 0; j < d; j++) {
      precision[i * d + j] += weight * tacit_dot(d, seen->steep + i * d, seen->steep + j * d);
    }
  }
  if (!tacit_program_invert_positive(d, precision)) {
    return; /* what is not known at all is not moved in */
  }
  tacit_program_apply(d, precision, right, e);
  for (size_t j = 0; j < d; j++) {
    most = fmax(most, fabs(e[j]));
  }
  for (size_t j = 0; j < d; j++) {
    e[j] *= most > most_step ? most_step / most : 1;
  }
  tacit_program_apply_back(d, seen->whiten, e, step);
  double share = isfinite(most) ? find_share(public, seen, step) : 0;
  for (size_t j = 0; j < d; j++) {
    run->theta[j] += share * step[j];
  }
}
