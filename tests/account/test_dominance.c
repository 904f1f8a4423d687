/*
 * Dominating pairs against mechanisms that they must dominate, by brute force over what records may be, and
 * against the mechanism that attains them.
 */
#include "support.h"

#include <unistd.h>

#include "account/composition.h"

enum { n_nodes = 8001, max_parts = 600 };
static const double reach = 14;

/* A mixture of N(at, 1). */
typedef struct mixture {
  size_t n;
  double weight[max_parts], at[max_parts];
} mixture_t;

static void add(mixture_t *mixture, double weight, double at) {
  assert_true(mixture->n < max_parts);
  mixture->weight[mixture->n] = weight;
  mixture->at[mixture->n++] = at;
}

static double density(const mixture_t *mixture, double x) {
  double sum = 0;
  for (size_t i = 0; i < mixture->n; i++) {
    sum += mixture->weight[i] * exp(-0.5 * (x - mixture->at[i]) * (x - mixture->at[i]));
  }
  return sum * 0.39894228040143267794;
}

/* Integral of (p - y q)+ by the trapezoidal rule: the kinks cost some 1e-6. */
static double hockey_stick(const mixture_t *p, const mixture_t *q, double y) {
  double sum = 0, step = 2 * reach / (n_nodes - 1);
  for (int i = 0; i < n_nodes; i++) {
    double x = -reach + i * step;
    sum += fmax(density(p, x) - y * density(q, x), 0);
  }
  return sum * step;
}

static const double epsilons[] = {-3, -1, -0.2, 0, 0.1, 0.5, 1, 2, 4};

/* Of the event's pair the profile at an epsilon; the larger of two directions, or that of one. */
static double profile(const char *spec, tacit_relation_t relation, tacit_direction_t direction,
                      double epsilon) {
  tacit_event_t event = parse(spec, 1);
  tacit_pair_t pair;
  tacit_error_t err;
  assert_ok(tacit_pair_init(&pair, &event, relation, direction, &err), err);
  double error, delta = tacit_pair_delta(&pair, epsilon, &error);
  assert_true(error < 1e-8);
  tacit_pair_clear(&pair);
  tacit_event_clear(&event);
  return delta;
}

static void check_below(const char *spec, tacit_relation_t relation, tacit_direction_t direction,
                        const mixture_t *p, const mixture_t *q) {
  for (size_t i = 0; i < LENGTH(epsilons); i++) {
    double truth = hockey_stick(p, q, exp(epsilons[i])),
           bound = profile(spec, relation, direction, epsilons[i]);
    if (truth > bound + 3e-6 * (1 + exp(epsilons[i]))) {
      fail_msg("%s at %g: %.9g above %.9g", spec, epsilons[i], truth, bound);
    }
  }
}

static void check_equal(const char *spec, tacit_relation_t relation, tacit_direction_t direction,
                        const mixture_t *p, const mixture_t *q) {
  for (size_t i = 0; i < LENGTH(epsilons); i++) {
    double truth = hockey_stick(p, q, exp(epsilons[i])),
           bound = profile(spec, relation, direction, epsilons[i]);
    assert_close(truth, bound, 3e-6 * (1 + exp(epsilons[i])));
  }
}

/* ---- sampled records, sensitivity 1 / sigma under the relation ---- */

static const double noise = 0.6; /* sigma of all events below */

/* A record's part in units of the noise: at most 1 / sigma against none, or half of it either way against
 * another. */
static double part(uint64_t *seed, double largest) {
  double u = uniform(seed);
  return u < 0.3 ? largest : u < 0.6 ? -largest : largest * (2 * uniform(seed) - 1);
}

static void multiples(mixture_t *mixture, const double *weights, size_t n, double at) {
  *mixture = (mixture_t){0};
  for (size_t k = 0; k < n; k++) {
    add(mixture, weights[k], (double)k * at);
  }
}

static void test_replaced_records(void **state) {
  const double q = 0.3, half = 0.5 / noise, once[] = {1 - q, q};
  double poisson[12] = {exp(-q)};
  uint64_t seed = 3;
  mixture_t left, right;
  for (int k = 1; k < 12; k++) {
    poisson[k] = poisson[k - 1] * q / k;
  }
  const char *specs[] = {"poisson-gaussian:q=0.3,sigma=0.6", "multiplicity-gaussian:q=0.3,sigma=0.6"};
  for (int i = 0; i < 2; i++) {
    const double *weights = i == 0 ? once : poisson;
    size_t n = i == 0 ? 2 : 12;
    multiples(&left, weights, n, half);
    multiples(&right, weights, n, -half);
    check_equal(specs[i], TACIT_RELATION_SUBSTITUTE, TACIT_DIRECTION_REMOVE, &left, &right);
    for (int trial = 0; trial < 12; trial++) {
      multiples(&left, weights, n, part(&seed, half));
      multiples(&right, weights, n, part(&seed, half));
      check_below(specs[i], TACIT_RELATION_SUBSTITUTE, TACIT_DIRECTION_REMOVE, &left, &right);
    }
  }
}

/* ---- samples of a fixed or limited size, of few records, all enumerated ---- */

/* Sum over the draws of `size` of n records in every order, with or without replacement. */
static void draw(mixture_t *out, const double *records, int n, int size, bool replaces, double weight,
                 double sum, unsigned used) {
  if (size == 0) {
    add(out, weight, sum);
    return;
  }
  int left = replaces ? n : n - __builtin_popcount(used);
  for (int i = 0; i < n; i++) {
    if (replaces || !(used & 1u << i)) {
      draw(out, records, n, size - 1, replaces, weight / left, sum + records[i], used | 1u << i);
    }
  }
}

static void test_samples_of_a_size(void **state) {
  const double half = 0.5 / noise;
  uint64_t seed = 7;
  for (int trial = 0; trial < 25; trial++) {
    double records[5], other[5];
    for (int i = 0; i < 5; i++) {
      records[i] = other[i] = trial == 0 ? -half : part(&seed, half);
    }
    records[4] = trial == 0 ? half : part(&seed, half);
    other[4] = trial == 0 ? -half : part(&seed, half);
    for (int replaces = 0; replaces < 2; replaces++) {
      const char *spec = replaces ? "replacement-gaussian:records=5,draws=3,sigma=0.6"
                                  : "fixed-size-gaussian:q=0.6,sigma=0.6";
      mixture_t left = {0}, right = {0};
      draw(&left, records, 5, 3, replaces, 1, 0, 0);
      draw(&right, other, 5, 3, replaces, 1, 0, 0);
      check_below(spec, TACIT_RELATION_SUBSTITUTE, TACIT_DIRECTION_REMOVE, &left, &right);
      if (trial == 0) { /* shifted by the sum of three others */
        for (size_t i = 0; i < left.n; i++) {
          left.at[i] += 3 * half;
          right.at[i] += 3 * half;
        }
        check_equal(spec, TACIT_RELATION_SUBSTITUTE, TACIT_DIRECTION_REMOVE_ATTAINED, &left, &right);
        check_equal(spec, TACIT_RELATION_SUBSTITUTE, TACIT_DIRECTION_ADD_ATTAINED, &right, &left);
      }
    }
    /* a record more: three of five, or of the four others */
    mixture_t left = {0}, right = {0};
    for (int i = 0; i < 5; i++) {
      records[i] = trial == 0 ? (i < 4 ? -2 : 2) * half : 2 * records[i];
    }
    draw(&left, records, 5, 3, false, 1, 0, 0);
    draw(&right, records, 4, 3, false, 1, 0, 0);
    check_below("fixed-size-gaussian:q=0.6,sigma=0.6", TACIT_RELATION_ADD_REMOVE, TACIT_DIRECTION_REMOVE,
                &left, &right);
    check_below("fixed-size-gaussian:q=0.6,sigma=0.6", TACIT_RELATION_ADD_REMOVE, TACIT_DIRECTION_ADD, &right,
                &left);
  }
}

static void subset(mixture_t *out, const double *records, int n, double q, int limit) {
  for (unsigned set = 0; set < 1u << n; set++) {
    double drawn[8], weight = 1;
    int size = 0;
    for (int i = 0; i < n; i++) {
      weight *= set & 1u << i ? q : 1 - q;
      if (set & 1u << i) {
        drawn[size++] = records[i];
      }
    }
    draw(out, drawn, size, size < limit ? size : limit, false, weight, 0, 0);
  }
}

static void test_truncated_samples(void **state) {
  const char *spec = "truncated-gaussian:q=0.4,records=5,limit=2,sigma=0.6";
  uint64_t seed = 11;
  for (int trial = 0; trial < 25; trial++) {
    double records[5], other[5];
    mixture_t left = {0}, right = {0}, without = {0};
    for (int i = 0; i < 5; i++) {
      records[i] = other[i] = trial == 0 ? 0 : part(&seed, 0.5 / noise);
    }
    records[4] = trial == 0 ? 0.5 / noise : records[4];
    other[4] = trial == 0 ? -0.5 / noise : part(&seed, 0.5 / noise);
    subset(&left, records, 5, 0.4, 2);
    subset(&right, other, 5, 0.4, 2);
    check_below(spec, TACIT_RELATION_SUBSTITUTE, TACIT_DIRECTION_REMOVE, &left, &right);
    if (trial == 0) {
      check_equal(spec, TACIT_RELATION_SUBSTITUTE, TACIT_DIRECTION_REMOVE_ATTAINED, &left, &right);
    }
    for (int i = 0; i < 5; i++) {
      records[i] *= 2;
    }
    left = (mixture_t){0};
    subset(&left, records, 5, 0.4, 2);
    subset(&without, records, 4, 0.4, 2);
    check_below(spec, TACIT_RELATION_ADD_REMOVE, TACIT_DIRECTION_REMOVE, &left, &without);
    check_below(spec, TACIT_RELATION_ADD_REMOVE, TACIT_DIRECTION_ADD, &without, &left);
    if (trial == 0) {
      check_equal(spec, TACIT_RELATION_ADD_REMOVE, TACIT_DIRECTION_REMOVE_ATTAINED, &left, &without);
    }
  }
}

/* By hand: of four others at least two are drawn with t = .5248; then the record is kept with f = 2 P(more
 * than 2 of 5)/(5 t) = .31744 / 1.312. */
static void test_truncated_pair(void **state) {
  const char *spec = "truncated-gaussian:q=0.4,records=5,limit=2,sigma=0.6";
  const double t = 0.5248, f = 2 * 0.31744 / (5 * t), shift = 1 / noise;
  const mixture_t none = {.n = 1, .weight = {1}, .at = {0}},
                  few = {.n = 2, .weight = {0.6, 0.4}, .at = {0, shift}},
                  full = {.n = 2, .weight = {1 - f, f}, .at = {0, 2 * shift}};
  for (size_t i = 0; i < LENGTH(epsilons); i++) {
    double y = exp(epsilons[i]), within = 3e-6 * (1 + y);
    assert_close(profile(spec, TACIT_RELATION_ADD_REMOVE, TACIT_DIRECTION_REMOVE, epsilons[i]),
                 (1 - t) * hockey_stick(&few, &none, y) + t * hockey_stick(&full, &none, y), within);
    assert_close(profile(spec, TACIT_RELATION_ADD_REMOVE, TACIT_DIRECTION_ADD, epsilons[i]),
                 (1 - t) * hockey_stick(&none, &few, y) + t * hockey_stick(&none, &full, y), within);
  }
}

/* ---- mixtures from a file ---- */

static void test_mixture_of_gaussians(void **state) {
  char path[] = "/tmp/tacit-mixture-XXXXXX", spec[64];
  const double weights[] = {0.5, 0.2, 0.3}, shifts[] = {0, 2, 0.7};
  int file = mkstemp(path);
  assert_true(file >= 0);
  const char rows[] = "weight,shift\n.5,0\n.2,2\n.3,.7\n";
  assert_int_equal(write(file, rows, sizeof rows - 1), sizeof rows - 1);
  close(file);
  snprintf(spec, sizeof spec, "gaussian-mixture:%s", path);
  mixture_t left = {0}, right = {0}, none = {.n = 1, .weight = {1}, .at = {0}};
  for (int k = 0; k < 3; k++) {
    add(&left, weights[k], shifts[k]);
  }
  check_equal(spec, TACIT_RELATION_ADD_REMOVE, TACIT_DIRECTION_REMOVE, &left, &none);
  check_equal(spec, TACIT_RELATION_ADD_REMOVE, TACIT_DIRECTION_ADD, &none, &left);
  for (int k = 0; k < 3; k++) {
    left.at[k] = 0.5 * shifts[k];
    add(&right, weights[k], -0.5 * shifts[k]);
  }
  check_equal(spec, TACIT_RELATION_SUBSTITUTE, TACIT_DIRECTION_REMOVE, &left, &right);
  unlink(path);
}

/* ---- discrete mechanisms ---- */

static double discrete_hockey_stick(const double *p, const double *q, size_t n, double y) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += fmax(p[i] - y * q[i], 0);
  }
  return sum;
}

/* Scores that a record moves by at most 1 each way: weights e^(score epsilon / 2). */
static void test_exponential_mechanism(void **state) {
  uint64_t seed = 5;
  double closest = 1;
  for (int trial = 0; trial < 3000; trial++) {
    double p[4], q[4], sums[2] = {0, 0}, epsilon = epsilons[(size_t)trial % LENGTH(epsilons)];
    for (int i = 0; i < 4; i++) {
      double score = i == 0 ? 0 : 12 * (uniform(&seed) - 0.5), to = uniform(&seed);
      p[i] = exp(score);
      q[i] = exp(score + (to < 0.5 ? -1 : to < 0.9 ? 1 : 2 * uniform(&seed) - 1));
      sums[0] += p[i];
      sums[1] += q[i];
    }
    for (int i = 0; i < 4; i++) {
      p[i] /= sums[0];
      q[i] /= sums[1];
    }
    double bound =
        profile("exponential:epsilon=2", TACIT_RELATION_SUBSTITUTE, TACIT_DIRECTION_REMOVE, epsilon);
    double truth = discrete_hockey_stick(p, q, 4, exp(epsilon));
    assert_true(truth <= bound + 1e-12);
    closest = epsilon > -1.5 && epsilon < 1.5 ? fmin(closest, 1 - truth / bound) : closest;
  }
  assert_true(closest < 0.01); /* the bound is reached */
}

static void test_discrete_laplace(void **state) {
  enum { n = 4001 };
  static double p[n], q[n];
  const double r = exp(-1 / 6.0); /* scale 2 of sensitivity 3: weight e^(-|x| / 6) */
  for (int i = 0; i < n; i++) {
    p[i] = (1 - r) / (1 + r) * pow(r, fabs((double)i - n / 2 - 3.0));
    q[i] = (1 - r) / (1 + r) * pow(r, fabs((double)i - n / 2));
  }
  for (size_t i = 0; i < LENGTH(epsilons); i++) {
    double delta = profile("discrete-laplace:scale=2,sensitivity=3", TACIT_RELATION_SUBSTITUTE,
                           TACIT_DIRECTION_REMOVE, epsilons[i]);
    assert_close(delta, discrete_hockey_stick(p, q, n, exp(epsilons[i])), 1e-13);
  }
}

static void test_absent_response(void **state) {
  const double p[] = {0.625, 0.125, 0.125, 0.125}, q[] = {0.25, 0.25, 0.25, 0.25};
  for (size_t i = 0; i < LENGTH(epsilons); i++) {
    const char *spec = "randomized-response:p=0.5,buckets=4";
    double y = exp(epsilons[i]);
    assert_close(profile(spec, TACIT_RELATION_ADD_REMOVE, TACIT_DIRECTION_REMOVE, epsilons[i]),
                 discrete_hockey_stick(p, q, 4, y), 1e-14);
    assert_close(profile(spec, TACIT_RELATION_ADD_REMOVE, TACIT_DIRECTION_ADD, epsilons[i]),
                 discrete_hockey_stick(q, p, 4, y), 1e-14);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_replaced_records),     cmocka_unit_test(test_samples_of_a_size),
      cmocka_unit_test(test_truncated_samples),    cmocka_unit_test(test_truncated_pair),
      cmocka_unit_test(test_mixture_of_gaussians), cmocka_unit_test(test_exponential_mechanism),
      cmocka_unit_test(test_discrete_laplace),     cmocka_unit_test(test_absent_response),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
