/*
 * Brackets by contour integration: against the shared reference numbers where they are at hand, against the
 * closed form for unsampled Gaussians, and by properties on random compositions.
 */
#include "base/memory.h"
#include "support.h"

#include <float.h>
#include <jansson.h>
#include <string.h>

#include "account/account.h"
#include "account/contour.h"

static const tacit_direction_t directions[] = {TACIT_DIRECTION_REMOVE, TACIT_DIRECTION_ADD};

static tacit_event_t poisson(double q, double sigma, uint64_t count) {
  return (tacit_event_t){.noise_multiplier = sigma,
                         .sampling_rate = q,
                         .sampling = q < 1 ? TACIT_SAMPLING_POISSON : TACIT_SAMPLING_NONE,
                         .count = count};
}

static tacit_event_t multiplicity(double q, double sigma, uint64_t count) {
  tacit_event_t event = poisson(q, sigma, count);
  event.sampling = TACIT_SAMPLING_MULTIPLICITY;
  return event;
}

static tacit_bracket_t epsilon_of(const tacit_event_t *events, size_t n, tacit_direction_t direction,
                                  double log_delta) {
  tacit_bracket_t bracket;
  tacit_error_t err;
  assert_ok(tacit_contour_epsilon(events, n, direction, log_delta, &bracket, &err), err);
  assert_true(bracket.lower >= 0 && bracket.lower <= bracket.upper && bracket.lower < INFINITY);
  return bracket;
}

static tacit_bracket_t log_delta_of(const tacit_event_t *events, size_t n, tacit_direction_t direction,
                                    double epsilon) {
  tacit_bracket_t bracket;
  tacit_error_t err;
  assert_ok(tacit_contour_log_delta(events, n, direction, epsilon, &bracket, &err), err);
  assert_true(bracket.lower <= bracket.upper && bracket.upper <= 0);
  return bracket;
}

/* ---- reference numbers ---- */

typedef struct tally {
  size_t rows, numbers, covered;
  double widest;
} tally_t;

static double number_of(const json_t *row, const char *key) {
  const json_t *value = json_object_get(row, key);
  return json_is_number(value) ? json_number_value(value) : NAN;
}

/* truth, known within error, in the bracket; unless trivial, the relative width is counted. */
static void check(tally_t *tally, const char *id, tacit_bracket_t b, double truth, double error,
                  double trivial) {
  tally->numbers++;
  if (!(b.lower - error <= truth && truth <= b.upper + error)) {
    fail_msg("%s: [%.17g, %.17g] does not hold %.17g within %g", id, b.lower, b.upper, truth, error);
  }
  bool is_trivial = trivial > 0 ? isinf(b.upper) : isinf(b.lower);
  double width = (b.upper - b.lower) / (trivial > 0 ? fmax(b.upper, 1e-4) : 1);
  if (!is_trivial) {
    tally->covered++;
    tally->widest = fmax(tally->widest, width);
  }
  if (getenv("TACIT_VERBOSE") != NULL && !(width <= 1e-9)) {
    print_message("%s: %.17g %.17g width %g\n", id, b.lower, b.upper, width);
  }
}

static void check_epsilon(tally_t *tally, const json_t *row, const tacit_event_t *events, size_t n) {
  static const char *const keys[] = {"reference_remove", "reference_add"};
  const char *id = json_string_value(json_object_get(row, "id"));
  double log_delta = log(number_of(row, "delta")), error = number_of(row, "reference_error");
  for (size_t i = 0; i < LENGTH(directions); i++) {
    double truth = number_of(row, keys[i]);
    if (!isnan(truth) && !isnan(error)) {
      /* log rounds by half a unit, which moves epsilon by far less than this */
      check(tally, id, epsilon_of(events, n, directions[i], log_delta), truth, error + 1e-13 * (1 + truth),
            INFINITY);
    }
  }
}

static void check_delta(tally_t *tally, const json_t *row, const tacit_event_t *events, size_t n) {
  static const char *const keys[] = {"reference_remove", "reference_add"};
  const char *id = json_string_value(json_object_get(row, "id"));
  double epsilon = number_of(row, "epsilon"), error = number_of(row, "reference_rel_error");
  for (size_t i = 0; i < LENGTH(directions); i++) {
    double truth = number_of(row, keys[i]);
    if (truth > 0 && !isnan(error)) {
      double log_truth = log(truth);
      check(tally, id, log_delta_of(events, n, directions[i], epsilon), log_truth, error - 1e-14 * log_truth,
            -INFINITY);
    }
  }
}

static void check_row(tally_t *tally, const json_t *row, const tacit_event_t *events, size_t n) {
  const char *query = json_string_value(json_object_get(row, "query"));
  assert_true(tacit_contour_applies(events, n, TACIT_RELATION_ADD_REMOVE));
  tally->rows++;
  if (query != NULL && strcmp(query, "delta") == 0) {
    check_delta(tally, row, events, n);
  } else {
    check_epsilon(tally, row, events, n);
  }
}

static json_t *load(const char *name) {
  char path[4096];
  json_error_t error;
  snprintf(path, sizeof path, "%s/reference/%s", testing_shared(), name);
  json_t *root = json_load_file(path, 0, &error);
  if (root == NULL) {
    fail_msg("%s: %s", path, error.text);
  }
  return root;
}

static void report(const char *name, const tally_t *tally) {
  print_message("%s: %zu rows, %zu numbers, %zu not trivial, widest relative bracket %.2g\n", name,
                tally->rows, tally->numbers, tally->covered, tally->widest);
}

static void test_poisson_reference(void **state) {
  if (testing_shared() == NULL) {
    skip();
  }
  tally_t tally = {0};
  json_t *root = load("accounting_poisson_gaussian.json"), *row;
  size_t i;
  json_array_foreach(json_object_get(root, "rows"), i, row) {
    tacit_event_t event =
        poisson(number_of(row, "q"), number_of(row, "sigma"), (uint64_t)number_of(row, "compositions"));
    check_row(&tally, row, &event, 1);
  }
  report("poisson", &tally);
  assert_true(tally.covered >= 750 && tally.widest <= 1e-3); /* all but single releases: 1e-6 */
  json_decref(root);
}

static size_t schedule(const json_t *row, tacit_event_t *events) {
  size_t n = (size_t)number_of(row, "T");
  double c = number_of(row, "C"), l = number_of(row, "L"), q = number_of(row, "q");
  for (size_t t = 1; t <= n; t++) {
    double eta = 3 * pow((double)t, -1.0 / 3);
    events[t - 1] = poisson(q, sqrt(2 * c / (eta * l * l)), (uint64_t)number_of(row, "J"));
  }
  return n;
}

static size_t listed(const json_t *row, tacit_event_t *events) {
  size_t i;
  json_t *event;
  json_array_foreach(json_object_get(row, "events"), i, event) {
    events[i] =
        poisson(number_of(event, "q"), number_of(event, "sigma"), (uint64_t)number_of(event, "count"));
  }
  return i;
}

static void test_heterogeneous_reference(void **state) {
  if (testing_shared() == NULL) {
    skip();
  }
  static tacit_event_t events[1000];
  tally_t tally = {0};
  json_t *root = load("accounting_heterogeneous.json"), *row;
  size_t i;
  json_array_foreach(json_object_get(root, "rows"), i, row) {
    size_t n = json_object_get(row, "events") != NULL ? listed(row, events) : schedule(row, events);
    check_row(&tally, row, events, n);
  }
  report("heterogeneous", &tally);
  assert_true(tally.covered == tally.numbers && tally.widest <= 1e-6);
  json_decref(root);
}

/* ---- closed forms ---- */

static void test_unsampled_gaussians(void **state) {
  uint64_t seed = 3;
  double widest = 0;
  for (int i = 0; i < (int)(500 * testing_multiplier()); i++) {
    double rho = log_uniform(&seed, -8, 2.5), log_delta = -log_uniform(&seed, -1, 2.8);
    tacit_event_t event = i % 2 ? gaussian(sqrt(0.5 / rho), 1) : gaussian(sqrt(500 / rho), 1000);
    event.sampling = i % 3 ? TACIT_SAMPLING_NONE : TACIT_SAMPLING_POISSON;
    event.sampling_rate = 1;
    tacit_bracket_t b = epsilon_of(&event, 1, directions[i / 2 % 2], log_delta);
    double upper = tacit_gaussian_epsilon(rho, log_delta),
           lower = tacit_gaussian_epsilon_lower(rho, log_delta);
    assert_true(b.lower <= upper * (1 + 1e-13) &&
                lower <= b.upper * (1 + 1e-13) + 1e-300); /* rho is rounded twice */
    widest = fmax(widest, (b.upper - b.lower) / (b.upper + 1e-6));
    double epsilon = rho + log_uniform(&seed, -2, 1) * sqrt(rho),
           error = tacit_gaussian_log_delta_error(rho, epsilon);
    double log_truth = tacit_gaussian_log_delta(rho, epsilon);
    b = log_delta_of(&event, 1, directions[i % 2], epsilon);
    assert_true(b.lower - error <= log_truth + 1e-12 && log_truth <= b.upper + error + 1e-12);
  }
  print_message("unsampled: widest relative bracket of epsilon %.2g\n", widest);
  assert_true(widest <= 1e-8);
}

/* One release: delta by the tails of its loss. */
static void test_single_releases(void **state) {
  uint64_t seed = 5;
  size_t covered = 0;
  int n_cases = (int)(300 * testing_multiplier());
  for (int i = 0; i < n_cases; i++) {
    tacit_event_t event = i % 2 ? poisson(log_uniform(&seed, -2, -0.001), log_uniform(&seed, -0.3, 1), 1)
                                : multiplicity(log_uniform(&seed, -2, 0), log_uniform(&seed, 0, 1.3), 1);
    double epsilon = log_uniform(&seed, -2, 0.6), error;
    tacit_direction_t direction = directions[i / 2 % 2];
    tacit_pair_t pair;
    tacit_error_t err;
    assert_ok(tacit_pair_init(&pair, &event, TACIT_RELATION_ADD_REMOVE, direction, &err), err);
    double truth = tacit_pair_delta(&pair, epsilon, &error);
    tacit_pair_clear(&pair);
    tacit_bracket_t b = log_delta_of(&event, 1, direction, epsilon);
    assert_true(exp(b.upper) * (1 + 1e-13) >= truth - error - pair.infinite);
    assert_true(exp(b.lower) * (1 - 1e-13) <= truth + error);
    covered += isfinite(b.lower) ? 1 : 0;
  }
  print_message("single releases: %zu not trivial\n", covered);
  assert_true((double)covered >= 0.1 * n_cases);
}

/* ---- an independent method ---- */

/* Its upper bounds are not below our lower bounds, and close to them. */
static void compare_with_grid(const tacit_event_t *events, size_t n, double log_delta, double epsilon) {
  for (size_t d = 0; d < 2; d++) {
    tacit_pair_t pairs[2];
    tacit_error_t err;
    for (size_t i = 0; i < n; i++) {
      assert_ok(tacit_pair_init(&pairs[i], &events[i], TACIT_RELATION_ADD_REMOVE, directions[d], &err), err);
    }
    tacit_composition_t composition = {pairs, n};
    tacit_bracket_t grid, ours = epsilon_of(events, n, directions[d], log_delta);
    assert_ok(tacit_pld_epsilon(&composition, log_delta, 1e-2, &grid, &err), err);
    assert_true(ours.lower <= grid.upper && (isinf(ours.upper) || ours.upper >= grid.upper * 0.98));
    ours = log_delta_of(events, n, directions[d], epsilon);
    assert_ok(tacit_pld_log_delta(&composition, epsilon, 1e-2, &grid, &err), err);
    assert_true(ours.lower <= grid.upper);
  }
}

static void test_agrees_with_the_grid(void **state) {
  uint64_t seed = 17;
  for (int i = 0; i < (int)(8 * testing_multiplier()); i++) {
    double q = log_uniform(&seed, -1.3, -0.3), sigma = log_uniform(&seed, 0.1, 1);
    uint64_t count = (uint64_t)log_uniform(&seed, 1, 2);
    tacit_event_t events[] = {i % 2 ? poisson(q, sigma, count) : multiplicity(q, sigma + 1, count),
                              poisson(0.5 * q, 2 * sigma, 2 * count)};
    compare_with_grid(events, 2, -log_uniform(&seed, 0.2, 1.2), log_uniform(&seed, -1, 0.3));
  }
}

/* ---- properties ---- */

static tacit_event_t random_event(uint64_t *seed) {
  double q = log_uniform(seed, -4, 0), sigma = log_uniform(seed, -0.52, 3), kind = uniform(seed);
  uint64_t count = (uint64_t)log_uniform(seed, 0, 6);
  if (kind < 0.2) {
    return gaussian(sigma, count);
  }
  return kind < 0.27 ? multiplicity(q, sigma, count) : poisson(q, sigma, count);
}

/* A change that cannot lower the loss. */
static void worsen(tacit_event_t *event, double by, int which) {
  switch (which) {
  case 0:
    event->count += 1 + (uint64_t)(by * (double)event->count);
    break;
  case 1:
    event->noise_multiplier /= 1 + by;
    break;
  default:
    event->sampling_rate = fmin(event->sampling_rate * (1 + by), 1);
    break;
  }
}

static void test_random_compositions(void **state) {
  uint64_t seed = 29;
  size_t covered = 0;
  int n_cases = (int)(1000 * testing_multiplier());
  for (int i = 0; i < n_cases; i++) {
    tacit_event_t events[4];
    size_t n = 1 + (size_t)(4 * uniform(&seed));
    for (size_t j = 0; j < n; j++) {
      events[j] = random_event(&seed);
    }
    double log_delta = -log_uniform(&seed, -3, 2.84), by = log_uniform(&seed, -10, 0.5);
    tacit_direction_t direction = directions[i % 2];
    tacit_bracket_t b = epsilon_of(events, n, direction, log_delta);
    assert_true(log_delta_of(events, n, direction, b.upper).lower <= log_delta);
    assert_true(b.lower <= 0 || log_delta_of(events, n, direction, b.lower).upper >= log_delta);
    assert_true(epsilon_of(events, n, direction, log_delta * (1 + by)).upper >= b.lower);
    worsen(&events[0], by, i / 2 % 3);
    assert_true(epsilon_of(events, n, direction, log_delta).upper >= b.lower);
    covered += b.upper < INFINITY ? 1 : 0;
  }
  print_message("random: %zu of %d not trivial\n", covered, n_cases);
  assert_true((double)covered >= 0.5 * n_cases);
}

/* With a plan exact to a few per cent, the errors are visible, and their bounds must cover them. */
static void test_coarse_plans(void **state) {
  uint64_t seed = 37;
  double widest = 0;
  size_t covered = 0;
  int n_cases = (int)(1000 * testing_multiplier());
  for (int i = 0; i < n_cases; i++) {
    tacit_event_t events[2] = {random_event(&seed), random_event(&seed)};
    tacit_direction_t direction = directions[i % 2];
    size_t n = 1 + (size_t)(i / 2 % 2);
    tacit_bracket_t at = epsilon_of(events, n, direction, -log_uniform(&seed, -2, 2)), coarse;
    double epsilon = isinf(at.upper) ? log_uniform(&seed, -2, 1) : at.upper;
    tacit_bracket_t fine = log_delta_of(events, n, direction, epsilon);
    tacit_error_t err;
    assert_ok(
        tacit_contour_log_delta_planned(events, n, direction, epsilon, 3 + 4 * uniform(&seed), &coarse, &err),
        err);
    assert_true(coarse.lower <= fine.upper && fine.lower <= coarse.upper);
    if (isfinite(coarse.lower) && isfinite(fine.lower)) {
      widest = fmax(widest, coarse.upper - coarse.lower);
      covered++;
    }
  }
  print_message("coarse plans: %zu not trivial, widest %.2g\n", covered, widest);
  assert_true((double)covered >= 0.3 * n_cases && widest > 0.01);
}

/* The same releases, listed in another order and split. */
static void test_order_and_merging(void **state) {
  const tacit_event_t once[] = {poisson(0.01, 1, 300), poisson(0.02, 2, 200), gaussian(30, 10)};
  const tacit_event_t split[] = {gaussian(30, 4),      poisson(0.02, 2, 150), poisson(0.01, 1, 299),
                                 poisson(0.02, 2, 50), poisson(0.01, 1, 1),   gaussian(30, 6)};
  for (size_t d = 0; d < 2; d++) {
    tacit_bracket_t a = epsilon_of(once, 3, directions[d], -20), b = epsilon_of(split, 6, directions[d], -20);
    assert_close(a.lower, b.lower, 1e-13);
    assert_close(a.upper, b.upper, 1e-13);
    assert_true(a.upper - a.lower <= 1e-9);
  }
}

static void test_edges(void **state) {
  tacit_event_t free_of_charge = poisson(0.5, INFINITY, 10), event = poisson(0.01, 1, 10000);
  for (size_t d = 0; d < 2; d++) {
    assert_close(epsilon_of(NULL, 0, directions[d], -5).upper, 0, 0);
    assert_close(epsilon_of(&free_of_charge, 1, directions[d], -5).upper, 0, 0);
    assert_true(isinf(log_delta_of(&free_of_charge, 1, directions[d], 0).upper));
    assert_close(epsilon_of(&event, 1, directions[d], 0).upper, 0, 0);
    assert_close(epsilon_of(&event, 1, directions[d], -1e-6).upper, 0, 0);
    assert_true(isinf(epsilon_of(&event, 1, directions[d], -INFINITY).upper));
    assert_true(isinf(epsilon_of(&event, 1, directions[d], NAN).upper));
    log_delta_of(&event, 1, directions[d], INFINITY);
    log_delta_of(&event, 1, directions[d], 1e300);
    log_delta_of(&event, 1, directions[d], 0);
    tacit_bracket_t at_zero = log_delta_of(&event, 1, directions[d], 0);
    assert_true(at_zero.upper - at_zero.lower < 1e-8);
  }
  const double sigmas[] = {DBL_MIN, 1e-100, 1e-3, 0.05, 1, 1e5, 1e100, DBL_MAX};
  const double rates[] = {DBL_MIN, 1e-30, 1e-8, 0.3, 1 - 0x1p-53, 1};
  const uint64_t counts[] = {1, 1000, 1000000000, TACIT_MAX_COUNT};
  const double log_deltas[] = {-1e-300, -1e-9, -1, -40, -690, -1e5, -1e300};
  for (size_t i = 0; i < LENGTH(sigmas) * LENGTH(rates) * LENGTH(counts) * LENGTH(log_deltas); i++) {
    size_t j = i / LENGTH(sigmas), k = j / LENGTH(rates), l = k / LENGTH(counts);
    double sigma = sigmas[i % LENGTH(sigmas)], rate = rates[j % LENGTH(rates)];
    uint64_t count = counts[k % LENGTH(counts)];
    tacit_event_t extreme = i % 3 ? poisson(rate, sigma, count) : multiplicity(rate, sigma, count);
    epsilon_of(&extreme, 1, directions[i % 2], log_deltas[l]);
    log_delta_of(&extreme, 1, directions[i % 2], -log_deltas[l]);
  }
}

static void test_out_of_memory(void **state) {
  tacit_event_t event = poisson(0.01, 1, 10000);
  tacit_status_t status = TACIT_ERR_MEMORY;
  for (size_t k = 1; status == TACIT_ERR_MEMORY; k++) {
    tacit_bracket_t bracket;
    tacit_error_t err;
    tacit_alloc_fail_at(k);
    status = tacit_contour_epsilon(&event, 1, TACIT_DIRECTION_REMOVE, -10, &bracket, &err);
    assert_true(k <= 20 && bracket.upper >= bracket.lower);
  }
  tacit_alloc_fail_at(0);
  assert_int_equal(status, TACIT_OK);
}

static void test_what_it_applies_to(void **state) {
  tacit_event_t events[] = {gaussian(1, 1), poisson(0.1, 1, 1), multiplicity(0.1, 1, 1), gaussian(1, 1)};
  assert_true(tacit_contour_applies(events, 4, TACIT_RELATION_ADD_REMOVE));
  assert_true(tacit_contour_applies(events, 1, TACIT_RELATION_SUBSTITUTE));
  assert_false(tacit_contour_applies(events, 2, TACIT_RELATION_SUBSTITUTE));
  events[3].kind = TACIT_EVENT_LAPLACE;
  assert_false(tacit_contour_applies(events, 4, TACIT_RELATION_ADD_REMOVE));
  events[3].kind = TACIT_EVENT_GAUSSIAN;
  events[3].sampling = TACIT_SAMPLING_WITHOUT_REPLACEMENT;
  assert_false(tacit_contour_applies(events, 4, TACIT_RELATION_ADD_REMOVE));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_poisson_reference),
      cmocka_unit_test(test_heterogeneous_reference),
      cmocka_unit_test(test_unsampled_gaussians),
      cmocka_unit_test(test_single_releases),
      cmocka_unit_test(test_agrees_with_the_grid),
      cmocka_unit_test(test_random_compositions),
      cmocka_unit_test(test_coarse_plans),
      cmocka_unit_test(test_order_and_merging),
      cmocka_unit_test(test_edges),
      cmocka_unit_test(test_out_of_memory),
      cmocka_unit_test(test_what_it_applies_to),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
