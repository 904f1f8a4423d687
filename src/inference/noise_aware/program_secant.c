/*
 * Slopes are what a program expects. Where records are not as it says, scores fall by another slope, and
 * steps that go by the first come no nearer, or turn about the answer. What scores that are neither clipped
 * nor centred changed by from one point to the next tells of theirs, along the way at least: the slope is
 * corrected by the least symmetric matrix that explains it [Powell1970], as far as noise does not.
 * (docs/theory.md, section 18.14)
 */
#include <math.h>
#include <string.h>

#include "noise_aware/program.h"

/* What a change must be beside its noise, in squares. */
static const double sure = 3;

/* Corrected, it tells of no direction less than this share of what it told. */
static const double least_steep = 0.1;

enum { N_HALVINGS = 6 };

/* to <- matrix + weight ((r s' + s r') / s's - (s'r) s s' / (s's)^2) */
static void correct(size_t d, const double *matrix, const double *s, const double *r, double weight,
                    double *to) {
  double ss = tacit_dot(d, s, s), sr = tacit_dot(d, s, r);
  for (size_t i = 0; i < d * d; i++) {
    size_t a = i / d, b = i % d;
    to[i] = matrix[i] + weight * ((r[a] * s[b] + s[a] * r[b]) / ss - sr * s[a] * s[b] / (ss * ss));
  }
}

/* steep <- corrected, as far as it stays a slope. */
static void take_secant(size_t d, const double *s, const double *r, double weight, double *steep) {
  double factor[MATRIX], inverse[MATRIX] = {0}, next[MATRIX];
  memcpy(factor, steep, d * d * sizeof *factor);
  if (!tacit_cholesky(d, factor)) {
    return;
  }
  tacit_invert_lower(d, factor, inverse);
  for (int i = 0; i < N_HALVINGS; i++, weight *= 0.5) {
    correct(d, steep, s, r, weight, next);
    if (tacit_program_ratios_between(d, inverse, next, least_steep, INFINITY)) {
      memcpy(steep, next, d * d * sizeof *next);
      return;
    }
  }
}

/* steep <- by what changed between point k - 1 and point k; back: of whiten, inverse. */
static void learn_between(const tacit_program_secants_t *of, size_t k, size_t d, const double *whiten,
                          const double *back, double *steep) {
  double step[PARAMETERS], fall[PARAMETERS], s[PARAMETERS], r[PARAMETERS], expected[PARAMETERS];
  for (size_t j = 0; j < d; j++) {
    step[j] = of->theta[k][j] - of->theta[k - 1][j];
    fall[j] = of->score[k - 1][j] - of->score[k][j];
  }
  tacit_program_apply_back(d, back, step, s);
  tacit_program_apply(d, whiten, fall, r);
  tacit_program_apply(d, steep, s, expected);
  for (size_t j = 0; j < d; j++) {
    r[j] -= expected[j];
  }
  double r2 = tacit_dot(d, r, r), noise2 = sure * (double)d * (of->noise2[k - 1] + of->noise2[k]);
  if (r2 > noise2 && tacit_dot(d, s, s) > 0) {
    take_secant(d, s, r, 1 - noise2 / r2, steep);
  }
}

void tacit_program_learn_secants(tacit_program_run_t *run, tacit_program_seen_t *seen) {
  tacit_program_secants_t *of = &run->secants;
  size_t d = run->parameters->dim, n = of->n;
  double copy[MATRIX], back[MATRIX];
  memcpy(copy, seen->whiten, d * d * sizeof *copy);
  if (n == TACIT_PROGRAM_MOST_PLAIN || !tacit_program_invert(d, copy, back)) {
    return;
  }
  memcpy(of->theta[n], seen->theta, sizeof seen->theta);
  tacit_program_apply(d, back, seen->score, of->score[n]);
  of->noise2[n] = seen->score_sd * seen->score_sd;
  of->n++;
  for (size_t k = 1; k < of->n; k++) {
    learn_between(of, k, d, seen->whiten, back, seen->steep);
  }
}
