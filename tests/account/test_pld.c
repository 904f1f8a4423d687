/*
 * Privacy loss distributions: the discretisation against the profiles it must bound, the composition against
 * independent values (contour integrals, exact sums, other libraries), and properties over random mechanisms.
 */
#include "rows.h"

#include <complex.h>

#include "account/composition.h"
#include "account/fft.h"
#include "account/grid.h"

/* ---- transforms ---- */

static size_t reversed(size_t k, unsigned bits) {
  size_t position = 0;
  for (unsigned b = 0; b < bits; b++) {
    position |= (k >> b & 1) << (bits - 1 - b);
  }
  return position;
}

static void test_transforms(void **state) {
  uint64_t seed = 5;
  for (unsigned bits = 0; bits <= 13; bits++) {
    size_t n = (size_t)1 << bits;
    tacit_fft_t fft;
    tacit_error_t err;
    assert_ok(tacit_fft_init(&fft, bits, &err), err);
    double *x = malloc(4 * n * sizeof *x), *original = x + 2 * n, norm = 0, error = 0;
    for (size_t i = 0; i < 2 * n; i++) {
      original[i] = x[i] = uniform(&seed) - 0.5;
      norm += x[i] * x[i];
    }
    tacit_fft_forward(&fft, x);
    for (size_t k = 0; k < n; k += 1 + n / 16) {
      double complex sum = 0;
      for (size_t j = 0; j < n; j++) {
        double angle = -6.283185307179586 * (double)(j * k % n) / (double)n;
        sum += (original[2 * j] + I * original[2 * j + 1]) * (cos(angle) + I * sin(angle));
      }
      size_t at = reversed(k, bits), mate = reversed((n - k) % n, bits);
      assert_close(x[2 * at], creal(sum), 1e-12 * sqrt((double)n));
      assert_close(x[2 * at + 1], cimag(sum), 1e-12 * sqrt((double)n));
      assert_int_equal(tacit_fft_mirror(at), mate);
    }
    tacit_fft_backward(&fft, x);
    for (size_t i = 0; i < 2 * n; i++) {
      error += pow(x[i] / (double)n - original[i], 2);
    }
    assert_true(sqrt(error / norm) <= 2.01 * tacit_fft_error(&fft) + 1e-300);
    tacit_fft_clear(&fft);
    free(x);
  }
}

/* ---- one mechanism on a grid ---- */

static double grid_delta(const tacit_grid_t *grid, const double *masses, double epsilon) {
  double delta = 0;
  for (size_t i = 0; i < grid->n; i++) {
    double loss = (double)(grid->first + (int64_t)i) * grid->step;
    delta += loss > epsilon ? masses[i] * -expm1(epsilon - loss) : 0;
  }
  return delta;
}

/* The upper distribution's profile is nowhere below the mechanism's, the lower distribution's nowhere above;
 * both within a triangle of it. */
static void check_grid(const char *spec, tacit_relation_t relation, tacit_direction_t direction, double step,
                       double low, double high, double drift) {
  tacit_event_t event = parse(spec, 1);
  tacit_pair_t pair;
  tacit_grid_t grid;
  tacit_error_t err;
  assert_ok(tacit_pair_init(&pair, &event, relation, direction, &err), err);
  assert_ok(
      tacit_grid_init(&grid, &pair, step, fmax(low, pair.min_loss), fmin(high, pair.max_loss), drift, &err),
      err);
  tacit_tails_t at_low, at_high;
  pair.tails(&pair, fmax(low, pair.min_loss) - step, &at_low);
  pair.tails(&pair, fmin(high, pair.max_loss) + step, &at_high);
  double gap = 3 * step + 2 * at_low.p_below + 2 * at_high.p_above;
  int n_points = (int)(400 * fmin(1, testing_multiplier()));
  for (int i = 0; i < n_points; i++) {
    double error, epsilon = low + (high - low) * (i + 0.37) / n_points;
    /* the shift and the rounding of losses, as the composition accounts for them */
    double above = tacit_pair_delta(&pair, epsilon + grid.loss_error, &error);
    double below = tacit_pair_delta(&pair, epsilon - grid.loss_error, &error);
    assert_true(grid_delta(&grid, grid.upper, epsilon) + grid.infinite >= above - error - 1e-15);
    assert_true(grid_delta(&grid, grid.lower, epsilon) <= below + error + 1e-15);
    double between = grid_delta(&grid, grid.upper, epsilon) - grid_delta(&grid, grid.lower, epsilon);
    /* wider cells may hold a whole distribution, of which the lower side then knows little */
    if (step < 2e-3 && at_low.p_below < 1e-6 && between > gap) {
      fail_msg("%s at %g, step %g, from %g: gap %g above %g", spec, epsilon, step, low, between, gap);
    }
  }
  tacit_grid_clear(&grid);
  tacit_pair_clear(&pair);
  tacit_event_clear(&event);
}

static void test_grids_bound_profiles(void **state) {
  static const char *const specs[] = {"gaussian:sigma=1",
                                      "gaussian:sigma=7",
                                      "poisson-gaussian:q=0.01,sigma=1",
                                      "poisson-gaussian:q=0.3,sigma=0.6",
                                      "poisson-gaussian:q=0.001,sigma=3",
                                      "multiplicity-gaussian:q=0.05,sigma=1",
                                      "laplace:scale=1",
                                      "poisson-laplace:q=0.1,scale=2",
                                      "discrete-gaussian:sigma=2",
                                      "poisson-discrete-gaussian:q=0.2,sigma=1"};
  for (size_t i = 0; i < LENGTH(specs); i++) {
    for (int direction = 0; direction < 2; direction++) {
      for (double step = 0.1; step > 1e-4; step *= 0.2) {
        check_grid(specs[i], TACIT_RELATION_ADD_REMOVE, (tacit_direction_t)direction, step, -2, 2.5, 0);
        check_grid(specs[i], TACIT_RELATION_ADD_REMOVE, (tacit_direction_t)direction, step, -40 * step, 12,
                   1e-3);
      }
    }
  }
  static const char *const substitution[] = {
      "poisson-gaussian:q=0.1,sigma=1", "fixed-size-gaussian:q=0.05,sigma=0.8",
      "multiplicity-gaussian:q=0.1,sigma=2", "randomized-response:p=0.5,buckets=4"};
  for (size_t i = 0; i < LENGTH(substitution); i++) {
    check_grid(substitution[i], TACIT_RELATION_SUBSTITUTE, TACIT_DIRECTION_REMOVE, 0.003, -3, 3, 0);
  }
}

/* ---- compositions with a known answer ---- */

static tacit_bracket_t epsilon_of(const tacit_event_t *events, size_t n, tacit_relation_t relation,
                                  double delta, double width) {
  tacit_bracket_t bracket;
  tacit_error_t err;
  const tacit_account_options_t options = {.relation = relation, .relative_width = width};
  assert_ok(tacit_composition_epsilon(events, n, &options, log(delta), &bracket, &err), err);
  assert_true(bracket.lower >= 0 && bracket.lower <= bracket.upper);
  return bracket;
}

static tacit_bracket_t log_delta_of(const tacit_event_t *events, size_t n, tacit_relation_t relation,
                                    double epsilon) {
  tacit_bracket_t bracket;
  tacit_error_t err;
  const tacit_account_options_t options = {.relation = relation};
  assert_ok(tacit_composition_log_delta(events, n, &options, epsilon, &bracket, &err), err);
  assert_true(bracket.lower <= bracket.upper && bracket.upper <= 0);
  return bracket;
}

/* Contour integrals with 30 digits, or 50-digit closed forms for one use: see the shared reference numbers.
 */
static const struct {
  const char *spec;
  uint64_t count;
  double delta, epsilon;
} known[] = {{"poisson-gaussian:q=0.01,sigma=1", 10000, 1e-6, 6.907384495},
             {"poisson-gaussian:q=0.001,sigma=0.5", 1, 1e-5, 0.3375997968374231},
             {"poisson-gaussian:q=0.001,sigma=0.5", 10000, 1e-6, 6.3461121234641125},
             {"poisson-gaussian:q=0.001,sigma=0.5", 100000, 1e-8, 17.93802233438491}};

static void test_known_compositions(void **state) {
  for (size_t i = 0; i < LENGTH(known); i++) {
    tacit_event_t event = parse(known[i].spec, known[i].count);
    tacit_bracket_t found = epsilon_of(&event, 1, TACIT_RELATION_ADD_REMOVE, known[i].delta, 0);
    assert_true(found.lower <= known[i].epsilon + 1e-8 && found.upper >= known[i].epsilon - 1e-8);
    assert_true(found.upper - found.lower <= 1e-3 * found.upper);
  }
}

/* Gaussians split into many different ones on the grid, against their closed form, down to delta 1e-15 and
 * far up. */
static void test_gaussians_on_the_grid(void **state) {
  const double deltas[] = {1e-3, 1e-6, 1e-9, 1e-12, 1e-15};
  for (double mu = 0.03; mu < 20; mu *= 3) {
    for (size_t i = 0; i < LENGTH(deltas); i++) {
      tacit_pair_t pairs[3];
      for (int j = 0; j < 3; j++) {
        tacit_pair_init_gaussian(&pairs[j], 0.5 * mu * mu / 8 / (j + 1));
        pairs[j].count = 2 + (uint64_t)j;
      }
      double rho = 0.5 * mu * mu / 8 * (2 + 3 / 2. + 4 / 3.),
             truth = tacit_gaussian_epsilon(rho, log(deltas[i]));
      const tacit_composition_t composition = {pairs, 3};
      tacit_bracket_t found;
      tacit_error_t err;
      assert_ok(tacit_pld_epsilon(&composition, log(deltas[i]), 1e-3, &found, &err), err);
      assert_true(found.lower <= truth * (1 + 1e-10) && found.upper >= truth * (1 - 1e-10));
      assert_true(found.upper - found.lower <= 1.0001e-3 * found.upper);
    }
  }
}

/* Randomised response with two answers, k times: delta = sum_j [b(j; k, p) - e^eps b(j; k, 1 - p)]+. */
static double binary_log_delta(double keep, uint64_t k, double epsilon) {
  double delta = 0;
  for (uint64_t j = 0; j <= k; j++) {
    double choose = lgamma((double)k + 1) - lgamma((double)j + 1) - lgamma((double)(k - j) + 1);
    double p = exp(choose + (double)j * log(keep) + (double)(k - j) * log1p(-keep));
    double q = exp(choose + (double)j * log1p(-keep) + (double)(k - j) * log(keep));
    delta += fmax(p - exp(epsilon) * q, 0);
  }
  return log(delta);
}

static void test_randomized_response(void **state) {
  const double probabilities[] = {0.2, 0.5, 0.9};
  for (size_t i = 0; i < LENGTH(probabilities); i++) {
    for (uint64_t k = 1; k <= 64; k *= 4) {
      tacit_event_t event = {
          .kind = TACIT_EVENT_RANDOMIZED_RESPONSE, .probability = probabilities[i], .buckets = 2, .count = k};
      double most = (double)k * log(2 / probabilities[i] - 1);
      for (int j = 0; j < 5; j++) {
        double epsilon = most * (j + 0.3) / 5.5,
               truth = binary_log_delta(1 - 0.5 * probabilities[i], k, epsilon);
        tacit_bracket_t found = log_delta_of(&event, 1, TACIT_RELATION_SUBSTITUTE, epsilon);
        assert_true(found.lower <= truth + 1e-9 && found.upper >= truth - 1e-9);
        assert_true(truth < -25 || found.upper - found.lower < 0.02);
      }
    }
  }
}

/* ---- refusals ---- */

static void test_refusals(void **state) {
  static const struct {
    const char *spec;
    tacit_relation_t relation;
  } bad[] = {{"replacement-gaussian:records=10,draws=1,sigma=1", TACIT_RELATION_ADD_REMOVE},
             {"zcdp:rho=1", TACIT_RELATION_ADD_REMOVE},
             {"repeat-poisson:mean=3,sigma=1", TACIT_RELATION_SUBSTITUTE},
             {"poisson-laplace:q=0.1,scale=1", TACIT_RELATION_SUBSTITUTE},
             {"barker-bit:sensitivity=0.1", TACIT_RELATION_SUBSTITUTE}};
  for (size_t i = 0; i < LENGTH(bad); i++) {
    tacit_event_t event = parse(bad[i].spec, 3);
    tacit_bracket_t bracket;
    tacit_error_t err;
    const tacit_account_options_t options = {.relation = bad[i].relation};
    assert_int_equal(tacit_composition_epsilon(&event, 1, &options, log(1e-6), &bracket, &err),
                     TACIT_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, bad[i].spec));
  }
}

/* ---- properties over random mechanisms ---- */

typedef struct mechanism {
  tacit_event_t event;
  tacit_relation_t relation;
  double delta;
} mechanism_t;

static mechanism_t random_mechanism(uint64_t *seed) {
  static const tacit_sampling_t samplings[] = {TACIT_SAMPLING_NONE,
                                               TACIT_SAMPLING_POISSON,
                                               TACIT_SAMPLING_POISSON,
                                               TACIT_SAMPLING_POISSON,
                                               TACIT_SAMPLING_WITHOUT_REPLACEMENT,
                                               TACIT_SAMPLING_MULTIPLICITY};
  tacit_sampling_t sampling = samplings[(size_t)(6 * uniform(seed))];
  bool is_substitute = sampling == TACIT_SAMPLING_WITHOUT_REPLACEMENT || uniform(seed) < 0.2;
  tacit_event_t event = {.kind = sampling == TACIT_SAMPLING_NONE ? TACIT_EVENT_LAPLACE : TACIT_EVENT_GAUSSIAN,
                         .sampling = sampling,
                         .noise_multiplier = log_uniform(seed, -0.5, 3),
                         .sampling_rate = sampling == TACIT_SAMPLING_NONE ? 0 : log_uniform(seed, -4, -0.05),
                         .count = (uint64_t)log_uniform(seed, 0, 6)};
  return (mechanism_t){event, is_substitute ? TACIT_RELATION_SUBSTITUTE : TACIT_RELATION_ADD_REMOVE,
                       log_uniform(seed, -15, -1)};
}

/* The same, no less private in one respect. */
static mechanism_t more_private(const mechanism_t *than, int respect) {
  mechanism_t more = *than;
  switch (respect) {
  case 0:
    more.event.count = (more.event.count + 1) / 2;
    break;
  case 1:
    more.event.noise_multiplier *= 1.5;
    break;
  case 2:
    more.event.sampling_rate *= 0.7;
    break;
  default:
    more.delta = fmin(10 * more.delta, 0.9);
    break;
  }
  return more;
}

/* Losses that are as large as one likes: no delta is 0, however small. Bounded ones have deltas of 0. */
static void test_no_delta_of_unbounded_losses_is_zero(void **state) {
  static const char *const unbounded[] = {"poisson-gaussian:q=0.01,sigma=20", "discrete-gaussian:sigma=20",
                                          "gaussian:sigma=20", "fixed-size-gaussian:q=0.01,sigma=20"};
  tacit_guarantee_t guarantee;
  tacit_error_t err;
  for (size_t i = 0; i < LENGTH(unbounded); i++) {
    for (uint64_t count = 1; count <= 2; count++) {
      tacit_event_t event = parse(unbounded[i], count);
      assert_ok(tacit_account_delta(NULL, &event, 1, NULL, 200, &guarantee, &err), err);
      assert_true(guarantee.delta > 0 && guarantee.delta < 1e-300);
    }
  }
  tacit_event_t bounded = parse("laplace:scale=20", 1);
  assert_ok(tacit_account_delta(NULL, &bounded, 1, NULL, 200, &guarantee, &err), err);
  assert_close(guarantee.delta, 0, 0);
}

static void test_monotone(void **state) {
  uint64_t seed = 2026;
  for (int i = 0; i < (int)(300 * testing_multiplier()); i++) {
    mechanism_t less = random_mechanism(&seed), more = more_private(&less, i % 4);
    tacit_bracket_t low = epsilon_of(&more.event, 1, more.relation, more.delta, 0.05);
    tacit_bracket_t high = epsilon_of(&less.event, 1, less.relation, less.delta, 0.05);
    if (!(low.lower <= high.upper && isfinite(high.upper))) {
      char text[TACIT_EVENT_TEXT_SIZE];
      tacit_event_format(&less.event, text);
      fail_msg("%s, %llu times, relation %s, delta %g: [%g, %g], but [%g, %g] with less of %d", text,
               (unsigned long long)less.event.count, tacit_relation_string(less.relation), less.delta,
               high.lower, high.upper, low.lower, low.upper, i % 4);
    }
  }
}

/* delta at the epsilon that was found is what was asked for. */
static void test_inverse(void **state) {
  uint64_t seed = 77;
  for (int i = 0; i < (int)(60 * testing_multiplier()); i++) {
    mechanism_t of = random_mechanism(&seed);
    tacit_bracket_t epsilon = epsilon_of(&of.event, 1, of.relation, of.delta, 0.01);
    tacit_bracket_t above = log_delta_of(&of.event, 1, of.relation, epsilon.upper);
    tacit_bracket_t below = log_delta_of(&of.event, 1, of.relation, epsilon.lower);
    assert_true(above.lower <= log(of.delta) * (1 - 1e-12));
    assert_true(epsilon.lower <= 0 || below.upper >= log(of.delta) * (1 + 1e-12));
  }
}

/* ---- all shared reference rows ---- */

static void check_epsilon_row(const json_t *row, const tacit_event_t *events, size_t n,
                              tacit_relation_t relation) {
  const char *id = json_string_value(json_object_get(row, "id"));
  tacit_bracket_t found = epsilon_of(events, n, relation, row_get(row, "delta", 0), 0);
  double truth = row_get(row, "reference", row_get(row, "epsilon_exact", NAN)),
         error = row_get(row, "reference_error", 1e-13);
  if (found.lower > truth + error || found.upper < truth - error ||
      found.upper - found.lower > 1e-3 * found.upper) {
    fail_msg("%s: epsilon %.12g is not within [%.12g, %.12g], or that is too wide", id, truth, found.lower,
             found.upper);
  }
}

static void check_delta_row(const json_t *row, const tacit_event_t *events, size_t n,
                            tacit_relation_t relation) {
  const char *id = json_string_value(json_object_get(row, "id"));
  tacit_bracket_t found = log_delta_of(events, n, relation, row_get(row, "epsilon", 0));
  double truth = row_get(row, "reference", row_get(row, "delta_exact", NAN)),
         error = row_get(row, "reference_rel_error", 1e-13);
  if (exp(found.lower) > truth * (1 + error + 1e-12) || exp(found.upper) < truth * (1 - error - 1e-12)) {
    fail_msg("%s: delta %.12g is not within [%.12g, %.12g]", id, truth, exp(found.lower), exp(found.upper));
  }
}

/* Where a step is hardly noticed, or noticed in a thousand ways, an answer takes a second. */
static void check_row(const json_t *row, const tacit_event_t *events, size_t n) {
  bool is_response = events[0].kind == TACIT_EVENT_RANDOMIZED_RESPONSE;
  tacit_relation_t relation = is_response ? TACIT_RELATION_SUBSTITUTE : TACIT_RELATION_ADD_REMOVE;
  bool is_slow = n > 300 || row_get(row, "sigma", 1) * row_get(row, "q", 1) < 1e-3;
  if (is_slow && !(testing_multiplier() > 1)) {
    return;
  }
  if (strcmp(row_text(row, "query"), "epsilon") == 0) {
    check_epsilon_row(row, events, n, relation);
  } else {
    check_delta_row(row, events, n, relation);
  }
}

/* What a budget buys: never more than the truth, and no less than the width of the bracket explains. */
static void check_inversion(const json_t *row, const tacit_event_t *events, size_t n) {
  (void)events;
  (void)n;
  tacit_error_t err;
  const tacit_account_options_t options = {.relation = TACIT_RELATION_ADD_REMOVE};
  double epsilon = row_get(row, "epsilon", 0), delta = row_get(row, "delta", 0);
  double sigma = row_get(row, "sigma_over_sensitivity", 0);
  tacit_event_t event = {.sampling = TACIT_SAMPLING_POISSON,
                         .noise_multiplier = sigma,
                         .sampling_rate = row_get(row, "q", 1),
                         .count = 1};
  if (strcmp(row_text(row, "mechanism"), "poisson_subsampled_gaussian") != 0 || event.sampling_rate >= 1) {
    return;
  }
  if (strcmp(row_text(row, "query"), "max_compositions") == 0) {
    uint64_t k,
        truth = (uint64_t)row_get(row, "max_compositions", row_get(row, "google_max_compositions", 0));
    bool is_estimate = isnan(row_get(row, "max_compositions", NAN)); /* by a library, within its own grid */
    assert_ok(tacit_account_max_repetitions(NULL, 0, &event, 1, &options, epsilon, delta, &k, &err), err);
    if ((k > truth && !is_estimate) || (double)k < 0.99 * (double)truth - 1) {
      fail_msg("%s: %llu times fit, not %llu", row_text(row, "id"), (unsigned long long)k,
               (unsigned long long)truth);
    }
    return;
  }
  double factor;
  event.count = (uint64_t)row_get(row, "compositions", 1);
  assert_ok(tacit_account_noise_factor(&event, 1, &options, epsilon, delta, &factor, &err), err);
  if (factor < 1 - 1e-6 || factor > 1.003) {
    fail_msg("%s: sigma %g times the least", row_text(row, "id"), factor);
  }
}

/* Of a curve that has no logarithm at the budget: the least factor all the same, delta(0) = erf(mu / 8^.5).
 */
static void test_noise_for_no_epsilon(void **state) {
  (void)state;
  tacit_error_t err;
  const tacit_event_t event = {.noise_multiplier = 20, .count = 10};
  double factor;
  assert_ok(tacit_account_noise_factor(&event, 1, NULL, 0, 1e-6, &factor, &err), err);
  double mu = sqrt(10) / (20 * factor);
  assert_true(fabs(erf(mu / sqrt(8)) / 1e-6 - 1) < 2e-6);
}

static void test_shared_reference(void **state) {
  if (testing_shared() == NULL) {
    skip();
  }
  for_each_row("accounting_poisson_gaussian", check_row);
  for_each_row("accounting_other_mechanisms", check_row);
  for_each_row("accounting_heterogeneous", check_row);
  for_each_row("accounting_inversion", check_inversion);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_delta_of_unbounded_losses_is_zero),
      cmocka_unit_test(test_transforms),
      cmocka_unit_test(test_grids_bound_profiles),
      cmocka_unit_test(test_known_compositions),
      cmocka_unit_test(test_gaussians_on_the_grid),
      cmocka_unit_test(test_randomized_response),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_monotone),
      cmocka_unit_test(test_inverse),
      cmocka_unit_test(test_noise_for_no_epsilon),
      cmocka_unit_test(test_shared_reference),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
