/* Units of several rows, whole fits: the sandwich by units at a large budget, what is charged and refused. */
#include "noise_aware/person_simulation.h"
#include "testing.h"

static person_setup_t setup(tacit_family_t family, double phi, double epsilon, tacit_relation_t relation) {
  return (person_setup_t){.s = {.family = family,
                                .upper = family == TACIT_FAMILY_BERNOULLI ? 1 : 20,
                                .truth = TRUTH_FIXED,
                                .d = 4,
                                .n = 2000,
                                .relation = relation,
                                .epsilon = epsilon,
                                .delta = 1e-6,
                                .n_chains = 2,
                                .n_warmup = 150,
                                .n_draws = 500},
                          .max_rows = 6,
                          .phi = phi};
}

/* Standard deviations beside the sandwich's, and means; seeds are fixed, Monte Carlo error is about .04 of a
 * sd. Returns the least ratio. */
static double check_sandwich(person_setup_t p, bool must_agree) {
  simulation_fit_t fit;
  double least = INFINITY;
  person_run(&p, 3, &fit, NULL);
  for (size_t j = 0; j < p.s.d; j++) {
    double ratio = fit.sd[j] / p.plain_sd[j];
    least = fmin(least, ratio);
    assert_true(!must_agree ||
                (fabs(fit.mean[j] - p.plain_mean[j]) < 0.35 * p.plain_sd[j] && ratio > 0.88 && ratio < 1.2));
  }
  return least;
}

/*
 * At a budget without noise to speak of: the sandwich by persons, of coefficients of the person and of the
 * row. Where rows of a person are taken for independent, sds of the former are .7 of it.
 */
static void test_a_large_budget_gives_the_sandwich_by_persons(void **state) {
  (void)state;
  const tacit_relation_t relations[] = {TACIT_RELATION_SUBSTITUTE, TACIT_RELATION_ADD_REMOVE};
  for (size_t i = 0; i < 2; i++) {
    person_setup_t p = setup(TACIT_FAMILY_BERNOULLI, 0.4, 1e6, relations[i]);
    check_sandwich(p, true);
    p.s.fault = TACIT_FAULT_ROWS_INDEPENDENT;
    assert_true(check_sandwich(p, false) < 0.8);
  }
  check_sandwich(setup(TACIT_FAMILY_BERNOULLI, 1, 1e6, TACIT_RELATION_SUBSTITUTE),
                 true); /* rows that are independent */
  check_sandwich(setup(TACIT_FAMILY_POISSON, 0.7, 1e6, TACIT_RELATION_SUBSTITUTE), true);
  const double phis[] = {0.3, 1};
  for (size_t i = 0; i < 4; i++) {
    check_sandwich(setup(TACIT_FAMILY_GAUSSIAN, phis[i / 2], 1e6, relations[i % 2]), true);
  }
  person_setup_t informative = setup(TACIT_FAMILY_BERNOULLI, 0.6, 1e6, TACIT_RELATION_SUBSTITUTE);
  informative.is_row_by_effect = true; /* persons count once, rows do not */
  check_sandwich(informative, true);
}

/*
 * A linear regression at moderate budgets: coefficients within 4.5 private sds of the sandwich's mean, and
 * sds between .9 and 2 of its, at epsilon 1 up to 6 (seeds are fixed). Without the tails and what is not
 * known of the matrix, as is planted, sds are smaller.
 */
static void test_a_linear_regression_knows_its_noise(void **state) {
  (void)state;
  const double epsilons[] = {1, 4};
  for (size_t i = 0; i < 4; i++) {
    person_setup_t p =
        setup(TACIT_FAMILY_GAUSSIAN, i < 2 ? 0.3 : 1, epsilons[i % 2], TACIT_RELATION_SUBSTITUTE);
    simulation_fit_t fit, less;
    p.s.n = 6000;
    person_run(&p, 5, &fit, NULL);
    for (size_t j = 0; j < p.s.d; j++) {
      double ratio = fit.sd[j] / p.plain_sd[j];
      assert_true(fabs(fit.mean[j] - p.plain_mean[j]) < 4.5 * fit.sd[j]);
      assert_true(ratio > 0.9 && ratio < (i % 2 == 0 ? 6 : 2));
    }
    p.s.fault = TACIT_FAULT_NO_DISCREPANCY;
    person_run(&p, 5, &less, NULL);
    assert_true(less.sd[1] < (i % 2 == 0 ? 0.8 : 0.97) * fit.sd[1]);
  }
}

static double contrast_of(person_setup_t p, uint64_t seed) {
  static tacit_evidence_t evidence;
  simulation_fit_t fit;
  double found = NAN;
  person_run(&p, seed, &fit, &evidence);
  for (size_t i = 0; i < evidence.checks.n; i++) {
    bool is_it = evidence.checks.items[i].id == TACIT_CHECK_MORE_ROWS;
    found = is_it ? evidence.checks.items[i].statistic : found;
  }
  return found;
}

/* Where persons with larger effects of their own have more rows it is said; where they have not, or have them
 * by a feature of the regression, it is not (a false alarm in 10 000 of each; seeds are fixed). */
static void test_it_is_said_where_numbers_of_rows_tell_of_responses(void **state) {
  (void)state;
  const tacit_family_t families[] = {TACIT_FAMILY_BERNOULLI, TACIT_FAMILY_POISSON, TACIT_FAMILY_GAUSSIAN};
  for (size_t i = 0; i < 6; i++) {
    person_setup_t p =
        setup(families[i / 2], 0.5, 20, i % 2 ? TACIT_RELATION_ADD_REMOVE : TACIT_RELATION_SUBSTITUTE);
    p.s.n = 6000;
    p.is_row_by_effect = true;
    assert_true(contrast_of(p, 11) > 1);
    p.is_row_by_effect = false;
    p.is_row_by_x = i % 2;
    assert_true(contrast_of(p, 12) < 1);
  }
}

/* What is charged is what was announced. */
static void test_units_are_charged_as_announced(void **state) {
  (void)state;
  tacit_noise_aware_settings_t settings = tacit_noise_aware_settings_default();
  tacit_event_t events[TACIT_NOISE_AWARE_N_EVENTS];
  settings.rho = 0.02;
  for (size_t i = 0; i < 4; i++) {
    settings.family = i % 2 == 0 ? TACIT_FAMILY_BERNOULLI : TACIT_FAMILY_POISSON;
    settings.relation = i < 2 ? TACIT_RELATION_SUBSTITUTE : TACIT_RELATION_ADD_REMOVE;
    settings.max_rows = 6;
    size_t n = tacit_noise_aware_events(&settings, events);
    double rho = 0;
    assert_int_equal(n, i < 2 ? 9 : 10);
    for (size_t k = 0; k < n; k++) {
      rho += 1 / (2 * events[k].noise_multiplier * events[k].noise_multiplier);
    }
    assert_close(rho, settings.rho, 1e-12);
  }
  settings.family = TACIT_FAMILY_GAUSSIAN;
  settings.n_units = 2000;
  settings.n_features = 4;
  size_t n = tacit_noise_aware_events(&settings, events);
  double rho = 0;
  for (size_t k = 0; k < n; k++) {
    rho += (double)events[k].count / (2 * events[k].noise_multiplier * events[k].noise_multiplier);
  }
  assert_close(rho, settings.rho, 1e-12);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_large_budget_gives_the_sandwich_by_persons),
      cmocka_unit_test(test_a_linear_regression_knows_its_noise),
      cmocka_unit_test(test_it_is_said_where_numbers_of_rows_tell_of_responses),
      cmocka_unit_test(test_units_are_charged_as_announced)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
