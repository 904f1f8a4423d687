/*
 * What is charged, and how large noise is, against the lemmas of proofs/, formula by formula and for random
 * arguments: never less, and more by no more than rounding. Formulas stand here a second time, in whole
 * numbers of 128 bits and long doubles.
 *
 * Mutations tried, each of which fails here: every formula of tacit_door_shape_sensitivity() 2 % smaller, or
 * with the other relation's factor; rounding of products down; a penalty, probit or Barker bit, a product and
 * a minibatch that cost 2 % less; the events of cells counted as under the other relation.
 */
#include <math.h>

#include "door/door_internal.h"
#include "testing.h"

static uint64_t state;

static uint64_t bits(void) { /* SplitMix64 */
  uint64_t z = state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

static double between(double low, double high) {
  return low + (high - low) * (double)(bits() >> 11) * 0x1p-53;
}

/* From 1 to 2^most_bits, of any size. */
static int64_t any_whole(int most_bits) { return (int64_t)exp2(between(0, most_bits)); }

/* At least what is proved, and not above it by more than a part of `room`. */
static void check(long double charged, long double proved, double sizes, const char *what) {
  if (!(charged >= proved * (1 - 0x1p-60L) && charged <= proved * (1 + (long double)sizes))) {
    fail_msg("%s: %.21Lg is charged, %.21Lg is proved", what, charged, proved);
  }
}

/* ---- lemmas 1.1 to 1.5, theorem 2 ---- */

typedef struct distances {
  tacit_wide_t square, l1; /* D^2; l1: that of the L1 norm, or its square where it has a root */
} distances_t;

static tacit_wide_t wide(int64_t x) { return x; }

static distances_t proved(const tacit_door_shape_t *s, bool is_substitute) {
  const tacit_wide_t r = s->radius, f = is_substitute ? 2 : 1, d = (tacit_wide_t)s->dim,
                     t = f * (s->high > 0 ? s->high : 1);
  const tacit_wide_t side = is_substitute       ? wide(s->high) - s->low
                            : s->high > -s->low ? s->high
                                                : -s->low,
                     n = s->high > 0 ? d - 1 : d;
  const tacit_wide_t product = (n + 1) * r * r + wide(s->high) * s->high;
  switch (s->kind) {
  case TACIT_SHAPE_BALL:
    return (distances_t){f * f * r * r, f * f * r * r * d};
  case TACIT_SHAPE_BOX:
    return (distances_t){side * side * d, side * d};
  case TACIT_SHAPE_CELL:
    return (distances_t){t * r * r, t * r};
  case TACIT_SHAPE_SQUARES:
    return (distances_t){f * r * r * r * r, 0};
  default:
    return (distances_t){product * product, 0};
  }
}

static tacit_door_shape_t any_shape(tacit_door_shape_kind_t kind) {
  bool is_multiplied = kind >= TACIT_SHAPE_SQUARES;
  int most = is_multiplied ? 22 : 26;
  tacit_door_shape_t s = {
      .kind = kind, .dim = (size_t)any_whole(is_multiplied ? 11 : 20) + 1, .radius = any_whole(most)};
  switch (kind) {
  case TACIT_SHAPE_BOX:
    s.low = bits() % 2 ? -any_whole(most) : 0, s.high = any_whole(most), s.dim -= bits() % 2;
    break;
  case TACIT_SHAPE_CELL:
    s.high = bits() % 2 ? any_whole(10) : 0;
    break;
  case TACIT_SHAPE_SQUARES:
    s.high = bits() % 2 ? any_whole(10) : 0;
    break;
  case TACIT_SHAPE_PRODUCTS:
    s.high = bits() % 2 ? any_whole(most) : 0;
    break;
  default:
    break;
  }
  return s;
}

static void test_shapes_are_charged_what_is_proved(void **unused) {
  (void)unused;
  for (size_t i = 0; i < 200000; i++) {
    tacit_door_shape_t s = any_shape((tacit_door_shape_kind_t)(i % 5));
    bool is_substitute = i / 5 % 2 == 0;
    tacit_error_t err;
    assert_ok(tacit_door_shape_check(&s, TACIT_DOOR_GAUSSIAN, &err), err);
    distances_t d = proved(&s, is_substitute);
    double charged = tacit_door_shape_sensitivity(&s, TACIT_DOOR_GAUSSIAN, is_substitute);
    check(charged, sqrtl((long double)d.square), 1e-14, "L2");
    if (s.kind == TACIT_SHAPE_PRODUCTS ||
        (s.kind == TACIT_SHAPE_BOX && s.dim == 1)) { /* whole numbers: exactly */
      tacit_wide_t least = (tacit_wide_t)charged;
      assert_true((long double)least * (long double)least >= (long double)d.square * (1 - 0x1p-62L) &&
                  least >= 1);
    }
    if (s.kind < TACIT_SHAPE_SQUARES) {
      long double l1 = s.kind == TACIT_SHAPE_BALL ? sqrtl((long double)d.l1) : (long double)d.l1;
      check(tacit_door_shape_sensitivity(&s, TACIT_DOOR_LAPLACE, is_substitute), l1, 1e-14, "L1");
    }
  }
}

/* Noise of sd m D in all numbers is charged as multiplier m; cells with discrete noise as so many events that
 * move by one. */
static void test_shapes_events_are_of_their_noise(void **unused) {
  (void)unused;
  for (size_t i = 0; i < 20000; i++) {
    bool is_substitute = i % 2 == 0;
    double m = exp2(between(-4, 8));
    tacit_door_shape_t cells = any_shape(TACIT_SHAPE_CELL), box = any_shape(TACIT_SHAPE_BOX),
                       ball = any_shape(TACIT_SHAPE_BALL);
    cells.radius = 1, box.dim = 1;
    tacit_event_t event = tacit_door_shape_event(&ball, TACIT_DOOR_GAUSSIAN, is_substitute, m, "test");
    assert_true(event.kind == TACIT_EVENT_GAUSSIAN && event.count == 1 && event.noise_multiplier <= m &&
                event.noise_multiplier >= m);
    event = tacit_door_shape_event(&cells, TACIT_DOOR_DISCRETE_GAUSSIAN, is_substitute, m, "test");
    assert_int_equal(event.count, (is_substitute ? 2 : 1) * (cells.high > 0 ? cells.high : 1));
    /* the sd of the noise in whole numbers, of which each event moves one */
    check(m * tacit_door_shape_sensitivity(&cells, TACIT_DOOR_DISCRETE_GAUSSIAN, is_substitute),
          event.noise_multiplier, 1e-14, "cells");
    event = tacit_door_shape_event(&box, TACIT_DOOR_DISCRETE_GAUSSIAN, is_substitute, m, "test");
    check(event.sensitivity, sqrtl((long double)proved(&box, is_substitute).square), 1e-14, "number");
    event = tacit_door_shape_event(&ball, TACIT_DOOR_LAPLACE, is_substitute, m,
                                   "test"); /* epsilon 1/m: e^eps of two answers */
    long double ratio = (2 - (long double)event.probability) / (long double)event.probability;
    check(logl(ratio), 1 / (long double)m, 1e-11, "Laplace");
  }
}

/* ---- lemmas 3.1 and 3.2, theorem 4 ---- */

/* That of a model's bound: whole, and no smaller; from 2^10 on. */
static long double clip_of(double bound) {
  double clip = tacit_ratio_clip(bound);
  assert_true(clip >= fmax(bound * 0x1p32, 0x1p10) && clip <= fmax(bound * 0x1p32 + 3, 0x1p10) &&
              clip <= floor(clip));
  return (long double)clip;
}

static void test_decisions_are_charged_what_is_proved(void **unused) {
  (void)unused;
  for (size_t i = 0; i < 20000; i++) {
    double factor = i % 2 == 0 ? 2 : 1;
    tacit_accept_rule_t rule = {
        .max_bound = exp2(between(-30, 18)), .sigma = exp2(between(-10, 10)), .kappa = 0.5, .cap = 0.9};
    long double moves = (long double)factor * clip_of(rule.max_bound);
    rule.kind = TACIT_ACCEPT_BARKER;
    tacit_event_t event = tacit_accept_event(&rule, factor);
    assert_true(event.kind == TACIT_EVENT_BARKER_BIT && event.count == 1);
    check(event.sensitivity, moves * 0x1p-32L, 1e-14, "Barker");
    rule.kind = TACIT_ACCEPT_ARCSINE;
    event = tacit_accept_event(&rule, factor);
    assert_true(event.kind == TACIT_EVENT_ARCSINE_BIT && event.kappa >= rule.kappa && event.cap >= rule.cap);
    check(event.sensitivity, moves * 0x1p-32L, 1e-14, "arcsine");
    rule.kind = TACIT_ACCEPT_PENALTY; /* and the noise is rounded */
    event = tacit_accept_event(&rule, factor);
    assert_true(event.kind == TACIT_EVENT_PENALTY_BIT);
    check((long double)event.sensitivity / (long double)event.sigma,
          (moves + 1) * 0x1p-32L / (long double)rule.sigma, 1e-14, "penalty");
    rule.kind = TACIT_ACCEPT_PROBIT; /* noise of rule.sigma times what a pair's own clip, which may be the
                                        smallest, moves */
    event = tacit_accept_event(&rule, factor);
    assert_true(event.kind == TACIT_EVENT_PROBIT_BIT);
    check((long double)event.sensitivity / (long double)event.sigma,
          (factor * 0x1p10L + 1) / (factor * 0x1p10L) / (long double)rule.sigma, 2e-3, "probit");
  }
}

static void test_products_are_charged_what_is_proved(void **unused) {
  (void)unused;
  for (size_t i = 0; i < 20000; i++) {
    double factor = i % 2 == 0 ? 2 : 1, scale[3], add[3] = {0};
    tacit_accept_rule_t rule = {.kind = i / 2 % 2 ? TACIT_ACCEPT_BARKER : TACIT_ACCEPT_PENALTY,
                                .max_bound = 1,
                                .sigma = exp2(between(-10, 10))};
    tacit_door_product_t of = {.dim = 3,
                               .weight = between(-1, 1),
                               .scale = scale,
                               .add = {add, add},
                               .radius = {any_whole(26), any_whole(26)},
                               .clip = {exp2(between(-10, 20)), exp2(between(-10, 20))},
                               .most = any_whole(51)};
    long double root = 0;
    for (size_t j = 0; j < 3; j++) {
      scale[j] = between(-1, 1);
      root = fmaxl(root, fabsl((long double)scale[j]));
    }
    long double product = (long double)of.radius[0] * of.clip[1] + (long double)of.radius[1] * of.clip[0];
    long double moves =
        factor * ((long double)of.most * 0x1p-32L + fabsl((long double)of.weight) * root * product);
    tacit_event_t event = tacit_product_event(&rule, factor, &of);
    double sigma = rule.kind == TACIT_ACCEPT_PENALTY ? event.sigma / rule.sigma : 1;
    /* two numbers are rounded on the way, and in a penalty's decision the noise */
    check((long double)event.sensitivity / sigma, moves + 2 * 0x1p-32L, 2e-9 + (double)(3 * 0x1p-32L / moves),
          "product");
  }
}

static void test_minibatches_are_charged_what_is_proved(void **unused) {
  (void)unused;
  for (size_t i = 0; i < 20000; i++) {
    double factor = i % 2 == 0 ? 2 : 1;
    tacit_minibatch_rule_t rule = {.max_bound = exp2(between(-20, 6)), .intensity = exp2(between(-20, 6))};
    long double b = clip_of(rule.max_bound) * 0x1p-32L,
                a = ceill((long double)rule.intensity * 0x1p32L) * 0x1p-32L, t = 1 + b / a;
    long double moves = factor > 1 ? b * (1 + t) : b * t,
                rounding = (a + b) * t * 0x1p-32L; /* of either end, by half a unit a count */
    tacit_event_t event = tacit_minibatch_event(&rule, factor);
    assert_true(event.kind == TACIT_EVENT_BARKER_BIT && event.count == 1 &&
                event.sampling == TACIT_SAMPLING_NONE);
    check(event.sensitivity, moves + rounding, 1e-11 + (double)((rounding + 2 * 0x1p-32L) / moves),
          "minibatch");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_shapes_are_charged_what_is_proved),
      cmocka_unit_test(test_shapes_events_are_of_their_noise),
      cmocka_unit_test(test_decisions_are_charged_what_is_proved),
      cmocka_unit_test(test_products_are_charged_what_is_proved),
      cmocka_unit_test(test_minibatches_are_charged_what_is_proved),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
