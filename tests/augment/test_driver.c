/* The driver of chains: repeats, stops, the method for n, failed allocations, and what is refused. */
#include "base/memory.h"
#include "support.h"

static void test_seeded_runs_repeat_on_any_number_of_threads(void **state) {
  (void)state;
  scenario_t s;
  scenario_gaussian(&s, 60, 0, TACIT_RELEASE_LAPLACE, 2, 20);
  for (int m = TACIT_AUGMENT_GIBBS; m <= TACIT_AUGMENT_MARGINAL; m++) {
    tacit_augment_settings_t settings = settings_for((tacit_augment_method_t)m, 50, 9);
    tacit_draws_t one, three;
    tacit_error_t err;
    settings.n_warmup = 20;
    assert_ok(tacit_augment(&s.model, &s.release, &settings, &one, NULL, &err), err);
    settings.n_threads = 3;
    assert_ok(tacit_augment(&s.model, &s.release, &settings, &three, NULL, &err), err);
    assert_memory_equal(one.values, three.values, 4 * 70 * 2 * sizeof(double));
    assert_true(one.n_saved == 70 && tacit_draws_row(&one, 0, 60)[0] != tacit_draws_row(&one, 1, 60)[0]);
    tacit_draws_clear(&one);
    tacit_draws_clear(&three);
  }
}

static bool stop_after(size_t chain, size_t iteration, void *user) {
  (void)chain;
  return iteration < *(size_t *)user;
}

static void test_stopped_run_keeps_common_draws(void **state) {
  (void)state;
  scenario_t s;
  scenario_poisson(&s, 20, TACIT_RELEASE_LAPLACE, 2, 30);
  tacit_augment_settings_t settings = settings_for(TACIT_AUGMENT_AUTO, 50, 9);
  tacit_augment_result_t result;
  tacit_draws_t draws;
  tacit_error_t err;
  size_t limit = 41;
  settings.n_warmup = 20;
  settings.thin = 2;
  settings.proceed = stop_after;
  settings.user = &limit;
  assert_ok(tacit_augment(&s.model, &s.release, &settings, &draws, &result, &err), err);
  assert_false(result.is_complete);
  assert_int_equal(result.method, TACIT_AUGMENT_GIBBS);
  assert_int_equal(tacit_draws_n_kept(&draws), 10);
  tacit_draws_clear(&draws);
}

static void test_auto_chooses_by_n(void **state) {
  (void)state;
  scenario_t s;
  scenario_gaussian(&s, 1000, 0.5, TACIT_RELEASE_GAUSSIAN, 2, 20);
  assert_int_equal(tacit_augment_choose(&s.model, &s.release, TACIT_AUGMENT_AUTO), TACIT_AUGMENT_GIBBS);
  s.model.n_records++;
  assert_int_equal(tacit_augment_choose(&s.model, &s.release, TACIT_AUGMENT_AUTO), TACIT_AUGMENT_MARGINAL);
  scenario_gaussian(&s, 20000, 0.5, TACIT_RELEASE_LAPLACE, 2, 20);
  assert_int_equal(tacit_augment_choose(&s.model, &s.release, TACIT_AUGMENT_AUTO), TACIT_AUGMENT_GIBBS);
  s.model.n_records++;
  assert_int_equal(tacit_augment_choose(&s.model, &s.release, TACIT_AUGMENT_AUTO), TACIT_AUGMENT_MARGINAL);
  scenario_moments(&s, 100000, TACIT_RELEASE_LAPLACE, 2, 20, 30);
  assert_int_equal(tacit_augment_choose(&s.model, &s.release, TACIT_AUGMENT_AUTO), TACIT_AUGMENT_GIBBS);
}

static void test_failed_allocations_are_errors(void **state) {
  (void)state;
  static const double counts[6] = {2, 0, 3, 1, 1, 0};
  for (int m = TACIT_AUGMENT_GIBBS; m <= TACIT_AUGMENT_MARGINAL; m++) {
    for (int kind = 0; kind < 2; kind++) {
      scenario_t s;
      scenario_gaussian(&s, 10, 0.5, TACIT_RELEASE_GAUSSIAN, 2, 3);
      if (kind == 1) {
        scenario_table(&s, 7, TACIT_RELEASE_GAUSSIAN, 2, counts);
      }
      bool is_done = kind == 1 && m == TACIT_AUGMENT_HMC;
      for (size_t k = 1; !is_done && k < 200; k++) {
        tacit_augment_settings_t settings = settings_for((tacit_augment_method_t)m, 5, 9);
        tacit_draws_t draws;
        tacit_error_t err;
        settings.n_warmup = 2;
        settings.path = TACIT_PATH_JOINT;
        tacit_alloc_fail_at(k);
        tacit_status_t status = tacit_augment(&s.model, &s.release, &settings, &draws, NULL, &err);
        tacit_alloc_fail_at(0);
        is_done = status == TACIT_OK;
        assert_true(is_done || (status == TACIT_ERR_MEMORY && err.message[0] != '\0' &&
                                tacit_draws_n_kept(&draws) == 0));
        assert_true(!is_done || k > 5);
        tacit_draws_clear(&draws);
      }
      assert_true(is_done);
    }
  }
}

static void expect_refusal(const scenario_t *s, const tacit_augment_settings_t *settings, const char *field) {
  tacit_draws_t draws;
  tacit_error_t err;
  tacit_status_t status = tacit_augment(&s->model, &s->release, settings, &draws, NULL, &err);
  if (status != TACIT_ERR_ARGUMENT || strcmp(err.field, field) != 0) {
    fail_msg("expected a refusal of %s, got status %d, field %s: %s", field, (int)status,
             status ? err.field : "", status ? err.message : "");
  }
  tacit_draws_clear(&draws);
}

static void test_bad_models_and_releases_are_refused(void **state) {
  (void)state;
  static const double counts[6] = {2, 0, 3, 1, 1, 0};
  scenario_t good, s;
  tacit_augment_settings_t settings = settings_for(TACIT_AUGMENT_AUTO, 5, 9), bad;
  scenario_gaussian(&good, 10, 0.5, TACIT_RELEASE_GAUSSIAN, 2, 3);
#define REFUSED(change, field)                                                                               \
  do {                                                                                                       \
    s = good;                                                                                                \
    s.release.values = s.values;                                                                             \
    s.release.scales = s.scales;                                                                             \
    s.model.n_levels = s.levels;                                                                             \
    s.model.concentration = s.concentration;                                                                 \
    change;                                                                                                  \
    expect_refusal(&s, &settings, field);                                                                    \
  } while (0)
  REFUSED(s.model.n_records = 0, "n");
  REFUSED(s.model.n_records = (size_t)1 << 31, "n");
  REFUSED(s.model.mean_scale = 0, "mean");
  REFUSED(s.model.mean_location = NAN, "mean");
  REFUSED(s.model.known_sd = -1, "sd");
  REFUSED((s.model.known_sd = 0, s.model.variance_shape = 0), "variance");
  REFUSED(s.model.kind = (tacit_latent_kind_t)7, "records");
  REFUSED(s.release.kind = TACIT_RELEASE_COUNTS, "statistic");
  REFUSED(s.release.kind = TACIT_RELEASE_MOMENTS, "value");
  REFUSED(s.release.lower = 2, "lower");
  REFUSED(s.release.upper = INFINITY, "lower");
  REFUSED(s.release.step = 0.5, "step");
  REFUSED(s.release.noise = TACIT_RELEASE_DISCRETE_LAPLACE, "step");
  REFUSED((s.release.noise = TACIT_RELEASE_DISCRETE_LAPLACE, s.release.step = 0.3), "step");
  REFUSED((s.release.noise = TACIT_RELEASE_DISCRETE_LAPLACE, s.release.step = 0.5, s.values[0] = 3.2),
          "value");
  REFUSED(s.values[0] = NAN, "value");
  REFUSED(s.scales[0] = 0, "scale");
  scenario_poisson(&good, 10, TACIT_RELEASE_GAUSSIAN, 2, 3);
  REFUSED(s.release.upper = 2.5, "lower");
  REFUSED(s.release.lower = -1, "lower");
  REFUSED(s.model.rate_shape = 0, "rate");
  REFUSED(s.model.rate_rate = 1e-300, "rate");
  REFUSED(s.release.kind = TACIT_RELEASE_MOMENTS, "statistic");
  REFUSED((s.release.noise = TACIT_RELEASE_DISCRETE_GAUSSIAN, s.values[0] = 3.5), "value");
  scenario_table(&good, 10, TACIT_RELEASE_GAUSSIAN, 2, counts);
  REFUSED(s.levels[0] = 1, "levels");
  REFUSED(s.levels[0] = 70000, "levels");
  REFUSED(s.levels[1] = 40000, "levels");
  REFUSED(s.concentration[4] = 0, "probabilities");
  REFUSED(s.release.n_values = 5, "value");
  REFUSED(s.release.kind = TACIT_RELEASE_SUM, "statistic");
  REFUSED(s.model.n_factors = 0, "levels");
#undef REFUSED
  bad = settings;
  bad.method = TACIT_AUGMENT_HMC;
  expect_refusal(&good, &bad, "method");
  scenario_moments(&s, 10, TACIT_RELEASE_LAPLACE, 2, 3, 4);
  bad.method = TACIT_AUGMENT_MARGINAL;
  expect_refusal(&s, &bad, "method");
  scenario_gaussian(&s, 10, 0.5, TACIT_RELEASE_DISCRETE_GAUSSIAN, 2, 3);
  s.release.step = 1.0 / 4096;
  s.release.upper = 1;
  expect_refusal(&s, &bad, "method");
  bad.method = TACIT_AUGMENT_HMC;
  expect_refusal(&s, &bad, "method");
  bad = settings;
  bad.n_chains = 0;
  expect_refusal(&good, &bad, "chains");
  bad = settings;
  bad.thin = 0;
  expect_refusal(&good, &bad, "draws");
  bad = settings;
  bad.n_threads = 0;
  expect_refusal(&good, &bad, "threads");
  bad = settings;
  bad.step_size = -1;
  expect_refusal(&good, &bad, "step-size");
  bad = settings;
  bad.method = TACIT_AUGMENT_HMC;
  bad.n_warmup = 0;
  expect_refusal(&good, &bad, "step-size");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_seeded_runs_repeat_on_any_number_of_threads),
      cmocka_unit_test(test_stopped_run_keeps_common_draws),
      cmocka_unit_test(test_auto_chooses_by_n),
      cmocka_unit_test(test_failed_allocations_are_errors),
      cmocka_unit_test(test_bad_models_and_releases_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
