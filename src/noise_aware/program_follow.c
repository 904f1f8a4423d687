/*
 * From a released score to where it leads: theta such that responses by the model at theta would have the score that was released, records as
 * public ones, weighted; Gauss and Newton's steps, the slope by the information identity, d E v / d theta = E v s(theta)'. Nothing is
 * linearised but the last bit of the way, so that a score far from the truth leads there.
 */
#include <math.h>
#include <string.h>

#include "noise_aware/program.h"

/* No whitened coordinate moves by more in a step. */
static const double most_step = 0.5;

enum { N_STEPS = 40, N_HALVINGS = 8 };

void tacit_program_slope(const tacit_program_run_t *run, const double *whiten, const double *of, double *slope) {
  size_t d = run->public.d;
  double mean[MATRIX], factor[MATRIX];
  tacit_public_mean(&run->public, d * d, of, mean);
  tacit_invert_lower(d, whiten, factor);
  for (size_t i = 0; i < d * d; i++) {
    slope[i] = run->n * tacit_dot(d, mean + i / d * d, factor + i % d * d);
  }
}

/* What is expected at theta, and how well it fits. */
typedef struct state {
  double theta[TACIT_NOISE_AWARE_MAX_NARROW], left[TACIT_NOISE_AWARE_MAX_NARROW]; /* the score less its expectation */
  double value;                                                                            /* log density, up to a constant */
} state_t;

bool tacit_program_weigh(const tacit_program_run_t *run, const tacit_program_seen_t *seen, double *weight) {
  size_t d = run->public.d;
  tacit_public_mean(&run->public, d * d, run->public.squares, weight);
  for (size_t i = 0; i < d * d; i++) {
    weight[i] = run->n * weight[i] + (i / d == i % d ? seen->noise_sd * seen->noise_sd : 0);
  }
  return tacit_program_invert_positive(d, weight);
}

static void expect_at(tacit_program_run_t *run, const tacit_program_seen_t *seen, state_t *state) {
  tacit_public_expect(&run->public, &seen->point, state->theta);
  tacit_public_mean(&run->public, run->public.d, run->public.means, state->left);
  for (size_t j = 0; j < run->public.d; j++) {
    state->left[j] = seen->score[j] - run->n * state->left[j];
  }
}

static double value_of(const tacit_program_run_t *run, const double *weight, const state_t *state) {
  double solved[TACIT_NOISE_AWARE_MAX_NARROW];
  tacit_program_apply(run->public.d, weight, state->left, solved);
  return tacit_program_prior_density(run->parameters, state->theta, NULL, NULL) - 0.5 * tacit_dot(run->public.d, state->left, solved);
}

/* step (d) <- Gauss and Newton's, shortened; false: none can be told. */
static bool find_step(const tacit_program_run_t *run, const double *whiten, const double *weight, const state_t *at, double *step) {
  size_t d = run->public.d;
  double slope[MATRIX], factor[MATRIX], gain[MATRIX], precision[MATRIX], right[TACIT_NOISE_AWARE_MAX_NARROW], most = 0;
  tacit_program_slope(run, whiten, run->public.with_score, slope);
  tacit_invert_lower(d, whiten, factor);
  for (size_t i = 0; i < d * d; i++) { /* slope' weight */
    gain[i] = 0;
    for (size_t k = 0; k < d; k++) {
      gain[i] += slope[k * d + i / d] * weight[k * d + i % d];
    }
  }
  tacit_program_prior_density(run->parameters, at->theta, right, NULL);
  tacit_program_prior_precision(run->parameters, at->theta, precision);
  for (size_t i = 0; i < d; i++) {
    right[i] += tacit_dot(d, gain + i * d, at->left);
    for (size_t j = 0; j < d; j++) {
      for (size_t k = 0; k < d; k++) {
        precision[i * d + j] += gain[i * d + k] * slope[k * d + j];
      }
    }
  }
  if (!tacit_program_invert_positive(d, precision)) {
    return false;
  }
  tacit_program_apply(d, precision, right, step);
  for (size_t j = 0; j < d; j++) { /* L' step */
    double whitened = 0;
    for (size_t k = j; k < d; k++) {
      whitened += factor[k * d + j] * step[k];
    }
    most = fmax(most, fabs(whitened));
  }
  for (size_t j = 0; j < d; j++) {
    step[j] *= most > most_step ? most_step / most : 1;
  }
  return isfinite(most) && most > 1e-3 / sqrt(run->n);
}

void tacit_program_follow(tacit_program_run_t *run, const tacit_program_seen_t *seen) {
  size_t d = run->public.d;
  double weight[MATRIX], step[TACIT_NOISE_AWARE_MAX_NARROW];
  state_t at = {.value = 0};
  memcpy(at.theta, run->theta, sizeof at.theta);
  expect_at(run, seen, &at);
  for (int n = 0; n < N_STEPS; n++) {
    if (!tacit_program_weigh(run, seen, weight) || !find_step(run, seen->whiten, weight, &at, step)) {
      break;
    }
    at.value = value_of(run, weight, &at);
    state_t next = at;
    bool is_better = false;
    for (int halving = 0; halving < N_HALVINGS && !is_better; halving++) {
      for (size_t j = 0; j < d; j++) {
        next.theta[j] = at.theta[j] + ldexp(step[j], -halving);
      }
      expect_at(run, seen, &next);
      next.value = value_of(run, weight, &next);
      is_better = next.value > at.value;
    }
    if (!is_better) {
      break;
    }
    at = next;
  }
  memcpy(run->theta, at.theta, sizeof run->theta);
}
