/*
 * The library's own steps with every random number taken from a tape, so that sums over tapes are integrals
 * over the noise.
 *
 * The linker calls __wrap_NAME where the library calls NAME: normal and uniform numbers of samplers, privacy
 * noise, random bits, subsets. Everything else, releases and decisions included, is the library's. Numbers
 * come in the order in which the sampler asks for them and must be of the kind it asks for: n normal, u
 * uniform, c component, g noise of a gradient, s subset.
 *
 * Decisions are asked for their probability and then told their outcome; noise inside a decision is
 * integrated over there.
 */
#ifndef TACIT_TESTS_TAPE_H
#define TACIT_TESTS_TAPE_H

#include <string.h>

#include "curator/curator.h"
#include "logistic.h"
#include "random/noise.h"
#include "sample/sample_internal.h"
#include "tacit/account.h"
#include "tacit/data.h"
#include "testing.h"

#define WRAPPED(result, name, ...)                                                                           \
  result __real_##name(__VA_ARGS__);                                                                         \
  result __wrap_##name(__VA_ARGS__);                                                                         \
  result __wrap_##name(__VA_ARGS__)

enum { TAPE_LENGTH = 16, GAUSS_POINTS = 20 };

typedef struct tape {
  char kind[TAPE_LENGTH];
  double value[TAPE_LENGTH];
  size_t n, at;
  bool accepts;       /* the outcome to be told */
  double probability; /* out: of an acceptance, averaged over the noise inside the decision; 0 where public
                         facts reject */
  /* planted errors: noise of decisions larger by this share; added to log ratios of bits */
  double excess;
  double (*shift)(const tacit_run_t *run);

  const tacit_run_t *deciding; /* NULL outside decisions */
  double node, bit;            /* of the noise inside; probability of the bits asked for, NaN if none was */
} tape_t;

static tape_t tape;

static inline void tape_clear(void) { tape.n = tape.at = 0; }

static inline void tape_push(char kind, double value) {
  assert_true(tape.n < TAPE_LENGTH);
  tape.kind[tape.n] = kind;
  tape.value[tape.n++] = value;
}

static inline double tape_next(char kind) {
  if (tape.at >= tape.n || tape.kind[tape.at] != kind) {
    fail_msg("number %zu asked for is of kind %c, on the tape %c", tape.at, kind,
             tape.at < tape.n ? tape.kind[tape.at] : '-');
  }
  return tape.value[tape.at++];
}

/* ---- random numbers ---- */

WRAPPED(double, tacit_rng_normal, tacit_rng_t *rng) {
  (void)rng;
  return tape_next('n');
}

WRAPPED(double, tacit_rng_uniform, tacit_rng_t *rng) {
  (void)rng;
  return tape.deciding == NULL ? tape_next('u') : tape.accepts ? 0 : 1;
}

WRAPPED(uint64_t, tacit_rng_below, tacit_rng_t *rng, uint64_t n) {
  (void)rng;
  (void)n;
  return (uint64_t)tape_next('c');
}

WRAPPED(tacit_status_t, tacit_noise_rounded_gaussian, tacit_noise_t *noise, double sd, size_t n, int64_t *out,
        tacit_error_t *err) {
  (void)noise;
  (void)err;
  for (size_t i = 0; i < n; i++) {
    out[i] = llrint(sd * (tape.deciding == NULL ? tape_next('g') : (1 + tape.excess) * tape.node));
  }
  return TACIT_OK;
}

WRAPPED(tacit_status_t, tacit_noise_logistic_bit, tacit_noise_t *noise, int64_t log_odds, bool *bit,
        tacit_error_t *err) {
  (void)noise;
  (void)err;
  double shift = tape.shift != NULL ? tape.shift(tape.deciding) : 0;
  tape.bit = 1 / (1 + exp(-(double)log_odds * 0x1p-32 - shift));
  *bit = tape.accepts;
  return TACIT_OK;
}

WRAPPED(tacit_status_t, tacit_noise_exp_bit, tacit_noise_t *noise, uint64_t exponent, bool *bit,
        tacit_error_t *err) {
  (void)noise;
  (void)err;
  tape.bit = exp(-(double)exponent * 0x1p-32);
  *bit = tape.accepts;
  return TACIT_OK;
}

WRAPPED(tacit_status_t, tacit_noise_subset, tacit_noise_t *noise, uint64_t rate, size_t n, uint64_t *mask,
        tacit_error_t *err) {
  (void)noise;
  (void)err;
  assert_true(n < 64);
  mask[0] = rate < (uint64_t)1 << 32 ? (uint64_t)tape_next('s') : ((uint64_t)1 << n) - 1;
  return TACIT_OK;
}

WRAPPED(tacit_status_t, tacit_budget_charge, tacit_budget_t *budget, const tacit_event_t *event,
        tacit_error_t *err) {
  (void)budget;
  (void)event;
  (void)err;
  return TACIT_OK;
}

/* ---- quadrature ---- */

typedef struct gauss {
  double x[GAUSS_POINTS], weight[GAUSS_POINTS]; /* on [-1, 1] */
} gauss_t;

/* Legendre's polynomial of degree n, and its derivative. */
static inline double gauss_legendre(size_t n, double x, double *slope) {
  double before = 1, now = x;
  for (size_t k = 2; k <= n; k++) {
    double next = ((2 * (double)k - 1) * x * now - ((double)k - 1) * before) / (double)k;
    before = now;
    now = next;
  }
  *slope = (double)n * (x * now - before) / (x * x - 1);
  return now;
}

static inline const gauss_t *gauss_rule(void) {
  static gauss_t rule;
  for (size_t i = 0; rule.weight[GAUSS_POINTS - 1] <= 0 && i < GAUSS_POINTS; i++) {
    double x = cos(acos(-1) * ((double)i + 0.75) / (GAUSS_POINTS + 0.5)), slope;
    for (int step = 0; step < 10; step++) {
      x -= gauss_legendre(GAUSS_POINTS, x, &slope) / slope;
    }
    rule.x[i] = x;
    rule.weight[i] = 2 / ((1 - x * x) * slope * slope);
  }
  return &rule;
}

static inline double normal_density(double z) { return exp(-0.5 * z * z) / sqrt(2 * acos(-1)); }

/* ---- decisions ---- */

static const double widest = 6.5; /* of normal distributions, 4e-11 is beyond on either side */

WRAPPED(tacit_status_t, tacit_run_accept, tacit_run_t *run, tacit_error_t *err);

/* Of an acceptance, with the noise inside the decision at a node; nothing has moved afterwards. */
static inline double tape_probability_at(tacit_run_t *run, double node) {
  tacit_error_t err;
  double theta[4], log_prior = run->log_prior[0];
  memcpy(theta, run->theta, run->dim * sizeof *theta);
  tape.node = node;
  tape.bit = NAN;
  assert_ok(__real_tacit_run_accept(run, &err), err);
  bool is_by_ratio = tacit_decision_is_by_ratio(run->traits.decision);
  double told = run->accepted[0] ? 1 : 0;
  memcpy(run->theta, theta, run->dim * sizeof *theta);
  run->log_prior[0] = log_prior;
  return is_by_ratio ? run->accept_prob[0] : isnan(tape.bit) ? told : tape.bit;
}

/*
 * Metropolis' rule of a ratio l + s z bends where it reaches 1, and its logarithm is linear in z before:
 * piece by piece, by Gauss' rule. Barker's is smooth.
 */
static inline double tape_averaged(tacit_run_t *run) {
  const gauss_t *rule = gauss_rule();
  double low = log(tape_probability_at(run, -30)), slope = log(tape_probability_at(run, -29)) - low, sum = 0;
  double bend = slope > 0 ? fmax(fmin(-30 - low / slope, widest), -widest) : isfinite(low) ? 0 : NAN;
  if (isnan(bend)) { /* rejected unseen */
    return 0;
  }
  for (int piece = 0; piece < 2; piece++) {
    double from = piece == 0 ? -widest : bend, to = piece == 0 ? bend : widest;
    for (size_t i = 0; i < GAUSS_POINTS && to > from; i++) {
      double z = 0.5 * (from + to) + 0.5 * (to - from) * rule->x[i];
      sum += 0.5 * (to - from) * rule->weight[i] * normal_density(z) * tape_probability_at(run, z);
    }
  }
  return sum;
}

static inline bool tape_has_noise(const tacit_run_t *run) {
  tacit_accept_kind_t kind = run->settings->accept_rule.kind;
  return tacit_decision_is_by_ratio(run->traits.decision)
             ? !tacit_curator_is_exposed(run->curator)
             : kind == TACIT_ACCEPT_PENALTY || kind == TACIT_ACCEPT_PROBIT;
}

tacit_status_t __wrap_tacit_run_accept(tacit_run_t *run, tacit_error_t *err) {
  bool outcome = tape.accepts;
  tape.deciding = run;
  tape.accepts = false;
  tape.probability = tape_has_noise(run) ? tape_averaged(run) : tape_probability_at(run, 0);
  tape.accepts = outcome;
  tape.node = outcome ? 0 : -60; /* no bit is asked for where noise alone decides */
  tacit_status_t status = __real_tacit_run_accept(run, err);
  tape.deciding = NULL;
  return status;
}

#endif
