/*
 * The filter of budgets without a schedule (docs/theory.md, section 9.11): what it takes a decision or a
 * release with lattice noise to cost really covers it, alone, in random mixes, and under strategies that look
 * at what was released. Errors planted to see that these tests catch them: no reserve counted, costs without
 * the reserve's factor or 1 % too small, slopes of the arcsine rule left out, lattices below their least
 * reserve.
 */
#include <math.h>
#include <string.h>

#include "account/account.h"
#include "account/bit.h"
#include "account/filter.h"
#include "support.h"

static double normal_below(double z) { return 0.5 * erfc(-z * 0.70710678118654752440); }

/* E_Q (z Z - 1)+ for the likelihood ratio Z of a Gaussian release of rho r. */
static double value(double z, double r) {
  double x = log(z);
  return z <= 0   ? 0
         : r <= 0 ? fmax(z - 1, 0)
                  : z * normal_below((x + r) / sqrt(2 * r)) - normal_below((x - r) / sqrt(2 * r));
}

/* A pair of distributions on n outcomes. */
enum { MAX_OUTCOMES = 20000 };
typedef struct pair {
  size_t n;
  double p[MAX_OUTCOMES], q[MAX_OUTCOMES];
} pair_t;

/* Is the pair, followed by a Gaussian release of rho `after`, dominated by one of rho `before`, in both
 * orders? */
static void check_pair(const pair_t *pair, double after, double before) {
  double reach = fmin(12 * sqrt(2 * before) + 2 * before, 300);
  for (int order = 0; order < 2; order++) {
    const double *p = order == 0 ? pair->p : pair->q, *q = order == 0 ? pair->q : pair->p;
    for (int k = -40; k <= 40; k++) {
      double z = exp(reach * k / 40), sum = 0, bound = value(z, before);
      for (size_t i = 0; i < pair->n; i++) {
        sum += q[i] > 0 ? q[i] * value(z * p[i] / q[i], after) : z * p[i];
      }
      if (!(sum <= bound + 1e-13 * (z + 1))) {
        fail_msg("z %g, rho %g then %g: %.17g > %.17g", z, before - after, after, sum, bound);
      }
    }
  }
}

static void check_bit(const tacit_event_t *event, double after, double before) {
  static pair_t pair = {.n = 2};
  for (double l = -30; l < 30; l += 0.03 * (1 + 0.1 * fabs(l))) {
    tacit_bit_accept(event, l, &pair.p[0], &pair.p[1]);
    tacit_bit_accept(event, l + event->sensitivity, &pair.q[0], &pair.q[1]);
    if (pair.p[1] > 1e-300 && pair.q[1] > 1e-300) {
      check_pair(&pair, after, before);
    }
  }
}

static void test_decisions_cost_enough(void **state) {
  static const char *const texts[] = {
      "barker-bit:sensitivity=0.02",
      "barker-bit:sensitivity=0.3",
      "barker-bit:sensitivity=2",
      "arcsine-bit:sensitivity=0.3,kappa=0.3,cap=0.9",
      "arcsine-bit:sensitivity=0.2,kappa=0.3,cap=0.1",
      "arcsine-bit:sensitivity=0.2,kappa=0.5,cap=0.51",
      "arcsine-bit:sensitivity=0.1,kappa=1,cap=0.999",
  };
  for (size_t i = 0; i < LENGTH(texts); i++) {
    tacit_event_t event = parse(texts[i], 1);
    double least = tacit_filter_cost(&event, INFINITY);
    const double reserves[] = {0, 0.1, 1, 2.7, 3.4, 5, 20, 100, 1000}; /* in units of that */
    for (size_t k = 0; k < LENGTH(reserves); k++) {
      double cost = tacit_filter_cost(&event, reserves[k] * least);
      assert_true(cost >= least && cost < 1.571 * least);
      check_bit(&event, reserves[k] * least, reserves[k] * least + cost);
    }
  }
}

static void test_noisy_decisions_are_gaussian(void **state) {
  static const char *const texts[] = {"penalty-bit:sensitivity=0.5,sigma=1.8",
                                      "penalty-bit:sensitivity=0.1,sigma=0.25",
                                      "probit-bit:sensitivity=1,sigma=2"};
  for (size_t i = 0; i < LENGTH(texts); i++) {
    tacit_event_t event = parse(texts[i], 1);
    tacit_exact_sum_t sum = {0, 0};
    tacit_exact_sum_add(&sum, tacit_filter_rho(&event));
    check_bit(&event, 0, tacit_rho_upper(&sum));
    assert_close(tacit_rho_upper(&sum), 0.5 * pow(event.sensitivity / event.sigma, 2), 1e-12);
  }
}

static void test_lattice_noise_costs_enough(void **state) {
  static const double sds[] = {1.05, 1.5, 3, 20}, shifts[] = {1, 3};
  static pair_t pair;
  for (size_t i = 0; i < LENGTH(sds) * LENGTH(shifts); i++) {
    double sd = sds[i / 2], shift = shifts[i % 2], reach = ceil(38 * sd) + shift;
    tacit_event_t event = {.kind = TACIT_EVENT_DISCRETE_GAUSSIAN,
                           .noise_multiplier = sd / shift,
                           .sensitivity = shift,
                           .count = 1};
    double rho = 0.5 * shift * shift / sd / sd, edge = rho / (sd * sd - 1);
    for (double moved = 1; moved <= shift; moved++) { /* smaller shifts are covered too */
      pair.n = 0;
      double total = 0;
      for (double x = -reach; x <= reach; x++) {
        total += exp(-0.5 * x * x / sd / sd);
      }
      for (double x = -reach; x <= reach + moved; x++, pair.n++) {
        pair.p[pair.n] = exp(-0.5 * x * x / sd / sd) / total;
        pair.q[pair.n] = exp(-0.5 * (x - moved) * (x - moved) / sd / sd) / total;
      }
      for (double reserve = edge * 1.001; reserve < 1e4 * edge; reserve *= 30) {
        double cost = tacit_filter_cost(&event, reserve);
        assert_true(cost >= rho && cost < rho * 1.001);
        check_pair(&pair, reserve, reserve + cost);
      }
    }
    assert_true(isinf(tacit_filter_cost(&event, edge * 0.99)));
  }
}

/* ---- budgets ---- */

static tacit_budget_t *new_budget(double epsilon) {
  tacit_budget_t *budget;
  tacit_error_t err;
  assert_ok(tacit_budget_new(&budget, epsilon, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), err);
  return budget;
}

static void charge(tacit_budget_t *budget, const tacit_event_t *event) {
  tacit_error_t err;
  assert_ok(tacit_budget_charge(budget, event, &err), err);
}

/*
 * Releases fixed in advance, as the exact accountant sees them: a Barker decision whose log ratio lies in the
 * middle is randomised response between two answers. In either order, and never below what is true.
 */
static void test_mixes_cost_no_less_than_their_composition(void **unused) {
  uint64_t state = 7;
  double slack = 0;
  for (int i = 0; i < 24; i++) {
    double d = log_uniform(&state, -1.7, 0);
    uint64_t n = (uint64_t)log_uniform(&state, 0, 3.2),
             n_lattice = i % 3 == 0 ? 0 : 1 + (uint64_t)(4 * uniform(&state));
    double share = 8 / (d * d) * 0.3;
    n = n < (uint64_t)share ? n : (uint64_t)share + 1;
    tacit_event_t events[] = {{.kind = TACIT_EVENT_BARKER_BIT, .sensitivity = d, .count = n},
                              gaussian(log_uniform(&state, 0.6, 1.5), 1 + (uint64_t)(9 * uniform(&state))),
                              {.kind = TACIT_EVENT_DISCRETE_GAUSSIAN,
                               .noise_multiplier = log_uniform(&state, 0.5, 1.3),
                               .sensitivity = floor(1 + 3 * uniform(&state)),
                               .count = n_lattice}};
    tacit_budget_t *forward = new_budget(50), *backward = new_budget(50);
    for (size_t k = 0; k < 3; k++) {
      if (events[k].count > 0) {
        charge(forward, &events[k]);
      }
      if (events[2 - k].count > 0) {
        charge(backward, &events[2 - k]);
      }
    }
    double spent = tacit_budget_rho_spent(forward);
    assert_close(tacit_budget_rho_spent(backward) / spent, 1, 1e-10);
    events[0] = (tacit_event_t){.kind = TACIT_EVENT_RANDOMIZED_RESPONSE,
                                .probability = 2 / (1 + exp(0.5 * d)),
                                .buckets = 2,
                                .count = n};
    tacit_guarantee_t exact;
    tacit_error_t err;
    assert_ok(tacit_account_epsilon(NULL, events, n_lattice > 0 ? 3 : 2, NULL, 1e-6, &exact, &err), err);
    double epsilon = tacit_budget_spent(forward).epsilon;
    if (!(epsilon >= exact.epsilon_lower) || !(exact.epsilon_lower > 0)) {
      fail_msg("%g charged, at least %g true: %llu decisions of %g", epsilon, exact.epsilon_lower,
               (unsigned long long)n, d);
    }
    slack = fmax(slack, n > 200 ? epsilon / exact.epsilon - 1 : 0);
    tacit_budget_free(forward);
    tacit_budget_free(backward);
  }
  assert_true(slack < 0.15);
}

/* What k decisions and nothing else cost, with a reserve or without, in units of D^2 / 8. */
static double units(double k) { return fmin(pow(sqrt(k) + 1, 2), 1.57079632679489661923 * k); }

/* With lattice noise about its rho more; Gaussian budgets are as they were. */
static void test_what_a_mix_costs(void **unused) {
  for (double k = 1; k < 1e7; k *= 9) {
    tacit_event_t bits = parse("barker-bit:sensitivity=0.01", (uint64_t)k);
    tacit_budget_t *budget = new_budget(1e4);
    charge(budget, &bits);
    assert_close(tacit_budget_rho_spent(budget) / (0.125e-4 * units(k)), 1, 1e-9);
    tacit_event_t fine = {
        .kind = TACIT_EVENT_DISCRETE_GAUSSIAN, .noise_multiplier = 10, .sensitivity = 1e3, .count = 1};
    charge(budget, &fine);
    double both = tacit_budget_rho_spent(budget);
    assert_close(both - 0.005, 0.125e-4 * units(k), 2e-5 * both);
    tacit_event_t noisy = parse("barker-bit:sensitivity=0.01,rho=0.0001,together=4", 1000);
    charge(budget, &noisy);
    assert_close(tacit_budget_rho_spent(budget) - 0.005 - 0.1, 0.125e-4 * pow(sqrt(k + 1000) + 1, 2),
                 1e-6 * both);
    tacit_budget_free(budget);
  }
  tacit_budget_t *budget = new_budget(3);
  tacit_event_t plain = gaussian(10, 3);
  charge(budget, &plain);
  tacit_exact_sum_t sum = {0, 0};
  tacit_exact_sum_add(&sum, tacit_event_rho(&plain));
  assert_true(tacit_budget_rho_spent(budget) == tacit_rho_upper(&sum));
  assert_string_equal(tacit_budget_spent(budget).method, "gaussian");
  tacit_budget_free(budget);
}

static void test_what_has_no_bound_is_refused(void **unused) {
  static const char *const texts[] = {
      "poisson-gaussian:q=0.1,sigma=4",         "fixed-size-gaussian:q=0.1,sigma=4",
      "multiplicity-gaussian:q=0.1,sigma=4",    "laplace:scale=9",
      "randomized-response:p=0.9,buckets=3",    "discrete-gaussian:sigma=1",
      "poisson-discrete-gaussian:q=0.1,sigma=3"};
  tacit_budget_t *budget = new_budget(50);
  tacit_error_t err;
  for (size_t i = 0; i < LENGTH(texts); i++) {
    tacit_event_t event = parse(texts[i], 1);
    assert_int_equal(tacit_budget_charge(budget, &event, &err), TACIT_ERR_ARGUMENT);
    assert_int_equal(tacit_filter_check(&event, &err), TACIT_ERR_ARGUMENT);
  }
  tacit_event_t dear = parse("barker-bit:sensitivity=1", 1000);
  assert_int_equal(tacit_budget_charge(budget, &dear, &err), TACIT_ERR_BUDGET);
  unsigned long long room = 0;
  assert_int_equal(sscanf(strstr(err.message, "has room for "), "has room for %llu", &room), 1);
  dear.count = room + 1;
  assert_int_equal(tacit_budget_charge(budget, &dear, &err), TACIT_ERR_BUDGET);
  dear.count = room;
  charge(budget, &dear);
  tacit_budget_free(budget);
}

/* ---- strategies ---- */

/*
 * An adversary charges a budget, Gaussian releases or decisions at log ratios of his choice, all by what came
 * out before. Every path of decisions is followed; Gaussian releases are made last, all that the budget has
 * left, or nothing.
 */
typedef struct strategy {
  uint64_t seed;
  double sensitivity, epsilon, delta;
} strategy_t;

enum { N_DECISIONS = 9, N_RATIOS = 41 };

typedef struct path {
  tacit_event_t events[N_DECISIONS];
  size_t n;
  double p, q;
} path_t;

static double hash(uint64_t seed, uint64_t node) {
  uint64_t state = seed * 0x9e3779b97f4a7c15u + node * 0xbf58476d1ce4e5b9u + 1;
  uniform(&state);
  uniform(&state);
  return uniform(&state);
}

static double rest_of(const strategy_t *of, const path_t *path, bool *fits) {
  tacit_budget_t *budget;
  tacit_error_t err;
  assert_ok(tacit_budget_new(&budget, of->epsilon, of->delta, TACIT_RELATION_SUBSTITUTE, &err), err);
  *fits = true;
  for (size_t i = 0; i < path->n && *fits; i++) {
    *fits = tacit_budget_charge(budget, &path->events[i], &err) == TACIT_OK;
  }
  double low = 0, high = tacit_budget_rho(budget);
  for (int i = 0; i < 30 && *fits; i++) { /* the largest Gaussian release that is granted */
    double middle = 0.5 * (low + high);
    tacit_event_t event = gaussian(sqrt(0.5 / middle), 1);
    const tacit_filter_t filter = {{tacit_event_rho(&event), 0}, path->events, NULL, path->n, 0};
    *(tacit_filter_total(&filter) <= tacit_budget_rho(budget) ? &low : &high) = middle;
  }
  if (low > 0) {
    tacit_event_t event = gaussian(sqrt(0.5 / low) * (1 + 1e-9), 1);
    assert_ok(tacit_budget_charge(budget, &event, &err), err);
  }
  tacit_budget_free(budget);
  return low;
}

static void follow(const strategy_t *of, path_t *path, uint64_t node, double *sums) {
  bool fits, goes_on = path->n < N_DECISIONS && (path->n < 2 || hash(of->seed, node) < 0.93);
  double rest = rest_of(of, path, &fits);
  path_t next = *path;
  if (goes_on) {
    next.events[next.n++] =
        (tacit_event_t){.kind = TACIT_EVENT_BARKER_BIT, .sensitivity = of->sensitivity, .count = 1};
    rest_of(of, &next, &goes_on);
  }
  if (!goes_on) {
    for (int k = 0; k < N_RATIOS; k++) {
      double z = exp((k - N_RATIOS / 2) * 0.25);
      sums[k] += path->q * value(z * path->p / path->q, rest);
    }
    return;
  }
  double middle = of->seed % 2 == 0
                      ? 0
                      : 3 * (hash(of->seed, node + 77) - 0.5); /* even seeds: where a decision tells most */
  double sign = hash(of->seed, node + 99) < 0.5 || of->seed % 4 == 0 ? 1 : -1, p, q, not_p, not_q;
  tacit_bit_accept(&next.events[0], middle - 0.5 * sign * of->sensitivity, &p, &not_p);
  tacit_bit_accept(&next.events[0], middle + 0.5 * sign * of->sensitivity, &q, &not_q);
  next.p = path->p * p;
  next.q = path->q * q;
  follow(of, &next, 2 * node, sums);
  next.p = path->p * not_p;
  next.q = path->q * not_q;
  follow(of, &next, 2 * node + 1, sums);
}

static void test_strategies_stay_within_the_budget(void **unused) {
  for (uint64_t seed = 1; seed <= 10; seed++) {
    strategy_t of = {.seed = seed,
                     .sensitivity = seed % 3 == 0 ? 0.3 : 0.8,
                     .epsilon = 0.4 + 0.4 * (double)seed,
                     .delta = 1e-3};
    double sums[N_RATIOS] = {0};
    path_t path = {.p = 1, .q = 1};
    follow(&of, &path, 1, sums);
    tacit_budget_t *budget;
    tacit_error_t err;
    assert_ok(tacit_budget_new(&budget, of.epsilon, of.delta, TACIT_RELATION_SUBSTITUTE, &err), err);
    for (int k = 0; k < N_RATIOS; k++) {
      double z = exp((k - N_RATIOS / 2) * 0.25), bound = value(z, tacit_budget_rho(budget));
      if (!(sums[k] <= bound + 1e-12 * (1 + z))) {
        fail_msg("strategy %d at z %g: %.12g > %.12g", (int)seed, z, sums[k], bound);
      }
    }
    tacit_budget_free(budget);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_decisions_cost_enough),
      cmocka_unit_test(test_noisy_decisions_are_gaussian),
      cmocka_unit_test(test_lattice_noise_costs_enough),
      cmocka_unit_test(test_mixes_cost_no_less_than_their_composition),
      cmocka_unit_test(test_what_a_mix_costs),
      cmocka_unit_test(test_what_has_no_bound_is_refused),
      cmocka_unit_test(test_strategies_stay_within_the_budget),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
