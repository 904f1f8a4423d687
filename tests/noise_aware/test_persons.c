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
  for (size_t j = 0; j < fit.d; j++) {
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
  person_setup_t informative = setup(TACIT_FAMILY_BERNOULLI, 0.6, 1e6, TACIT_RELATION_SUBSTITUTE);
  informative.is_row_by_effect = true; /* persons count once, rows do not */
  check_sandwich(informative, true);
}

/* What is charged is what was announced; a model of which rows of a unit are not known to be handled is
 * refused before anything is. */
static void test_units_are_charged_as_announced_or_refused(void **state) {
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
    assert_int_equal(n, i < 2 ? 8 : 9);
    for (size_t k = 0; k < n; k++) {
      rho += 1 / (2 * events[k].noise_multiplier * events[k].noise_multiplier);
    }
    assert_close(rho, settings.rho, 1e-12);
  }
  simulation_t s = setup(TACIT_FAMILY_GAUSSIAN, 1, 1, TACIT_RELATION_SUBSTITUTE).s;
  tacit_model_t model;
  tacit_draws_t draws;
  tacit_error_t err;
  tacit_releases_t none = {.dim = s.d};
  simulation_model(&s, &model);
  settings.family = TACIT_FAMILY_GAUSSIAN;
  settings.upper = 1;
  settings.releases = &none;
  assert_int_equal(tacit_noise_aware_fit(NULL, &model.parameters, &settings, &draws, &err),
                   TACIT_ERR_ARGUMENT);
  assert_string_equal(err.field, "max_rows");
  tacit_model_clear(&model);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_large_budget_gives_the_sandwich_by_persons),
                                     cmocka_unit_test(test_units_are_charged_as_announced_or_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
