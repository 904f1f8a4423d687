/* Fits of many features: the density and its gradient, limits of large budgets, errors that match their
 * intervals, refusals. */
#include <string.h>

#include "noise_aware/fixture.h"
#include "noise_aware/wide.h"

/* Two scores, the information between them, joined around 0. */
static void open_wide(fixture_t *f, tacit_wide_t *w, double *factor) {
  tacit_error_t err;
  fixture_is_wide = true;
  open_fixture(f, TACIT_FAMILY_BERNOULLI, 1, 16, 20);
  fixture_is_wide = false;
  size_t d = f->s.d;
  double theta[16] = {0};
  assert_ok(tacit_wide_init(w, &f->rounds, &f->model.parameters, &f->settings, f->rng, &err), err);
  for (size_t i = 0; i < d; i++) {
    factor[i * d + i] = 0.1;
  }
  tacit_round_place_t place = {.curator = f->curator,
                               .settings = &f->settings,
                               .parameters = &f->model.parameters,
                               .rng = f->rng,
                               .theta = theta};
  assert_ok(tacit_wide_take_moments(w, &place, &err), err);
  for (size_t j = 0; j < 2; j++) {
    place.share = share_score[j];
    assert_ok(tacit_rounds_release(&f->rounds, &place, &err), err);
    tacit_wide_add_round(w);
    place.factor = factor;
    place.share = share_information;
    if (j == 0) {
      assert_ok(tacit_wide_learn_information(w, &place, &err), err);
    }
    for (size_t i = 0; i < d; i++) {
      theta[i] = 0.3 * tacit_rng_normal(f->rng);
    }
  }
  assert_true(w->frame.variance > 0);
  assert_ok(tacit_wide_join(w, theta, factor, &err), err);
}

static void test_gradient_is_that_of_the_density(void **state) {
  (void)state;
  static fixture_t f;
  static double factor[16 * 16];
  tacit_wide_t w;
  open_wide(&f, &w, factor);
  double at[16], grad[16] = {0};
  for (size_t i = 0; i < 16; i++) {
    at[i] = 0.3 * tacit_rng_normal(f.rng);
  }
  assert_true(isfinite(tacit_wide_log_density(&w, at, grad)));
  for (size_t i = 0; i < 16; i++) {
    const double h = 1e-5;
    double before = at[i];
    at[i] = before + h;
    double above = tacit_wide_log_density(&w, at, NULL);
    at[i] = before - h;
    double below = tacit_wide_log_density(&w, at, NULL);
    at[i] = before;
    assert_close(grad[i], (above - below) / (2 * h), 1e-5 * (1 + fabs(grad[i])));
  }
  tacit_wide_clear(&w);
  close_fixture(&f);
}

static void test_precision_is_that_of_the_residuals(void **state) {
  (void)state;
  static fixture_t f;
  static double factor[16 * 16], jacobian[16 * 16], precision[16 * 16], variance[16];
  tacit_wide_t w;
  open_wide(&f, &w, factor);
  double at[16] = {0.1, -0.2, 0.3};
  for (size_t j = 0; j < 16; j++) {
    const double h = 1e-5;
    for (int side = -1; side <= 1; side += 2) {
      at[j] += side * h;
      (void)tacit_wide_log_density(&w, at, NULL);
      at[j] -= side * h;
      for (size_t i = 0; i < 16; i++) {
        jacobian[i * 16 + j] += side * w.residual[i] / (2 * h);
      }
    }
  }
  (void)tacit_wide_log_density(&w, at, NULL);
  for (size_t i = 0; i < 16; i++) {
    variance[i] = 1 + w.beyond * w.gain[i];
    assert_true(variance[i] > 0.04 && w.gain[i] >= 0);
  }
  tacit_wide_add_precision(&w, precision);
  for (size_t i = 0; i < 16 * 16; i++) {
    double sum = 0;
    for (size_t k = 0; k < 16; k++) {
      sum += jacobian[k * 16 + i / 16] * jacobian[k * 16 + i % 16] / variance[k];
    }
    assert_close(precision[i], sum, 1e-5 * (1 + sqrt(precision[i / 16 * 17] * precision[i % 16 * 17])));
  }
  tacit_wide_clear(&w);
  close_fixture(&f);
}

static simulation_t wide(size_t d, size_t n, double epsilon) {
  return (simulation_t){.family = TACIT_FAMILY_BERNOULLI,
                        .upper = 1,
                        .truth = TRUTH_FIXED,
                        .d = d,
                        .n = n,
                        .epsilon = epsilon,
                        .delta = 1e-6,
                        .n_chains = 2,
                        .n_warmup = 250,
                        .n_draws = 500};
}

static void test_large_budget_gives_the_non_private_posterior(void **state) {
  (void)state;
  simulation_t s = wide(30, 6000, 1e4);
  static simulation_fit_t fit;
  s.has_reference = true;
  simulation_run(&s, 3, &fit);
  for (size_t j = 0; j < fit.d; j++) { /* seeds are fixed; Monte Carlo error is about 0.05 of a sd */
    assert_close((fit.mean[j] - fit.reference_mean[j]) / fit.reference_sd[j], 0, 0.5);
    assert_close(fit.sd[j] / fit.reference_sd[j], 1.05, 0.2);
  }
}

/* Mean squared error in posterior sds, over all coefficients of two fits. */
static double error_of(simulation_t s, tacit_fault_t fault) {
  static simulation_fit_t fit;
  double square = 0;
  s.fault = fault;
  for (uint64_t seed = 1; seed <= 2; seed++) {
    simulation_run(&s, seed, &fit);
    for (size_t j = 0; j < fit.d; j++) {
      double z = (fit.mean[j] - fit.theta[j]) / fit.sd[j];
      square += z * z / (2 * (double)fit.d);
    }
  }
  return square;
}

/*
 * Of 60 squares about 1, sd .18 were they independent; seeds are fixed. Without the error of the information,
 * and with half of the noise, they are more.
 */
static void test_errors_are_as_wide_as_intervals_say(void **state) {
  (void)state;
  const simulation_t s = wide(30, 15000, 2);
  double sound = error_of(s, TACIT_FAULT_NONE), half = error_of(s, TACIT_FAULT_HALF_NOISE),
         known = error_of(s, TACIT_FAULT_NO_DISCREPANCY);
  if (!(sound > 0.5 && sound < 1.5 && half > sound + 0.1 && known > sound + 0.1)) {
    fail_msg(
        "mean squared errors: %.3f; with half of the noise %.3f, without the error of the information %.3f",
        sound, half, known);
  }
}

static void test_budgets_that_buy_nothing_are_refused(void **state) {
  (void)state;
  tacit_error_t err;
  tacit_noise_aware_settings_t s = tacit_noise_aware_settings_default();
  s.rho = 0.026;
  s.n_features = 50;
  s.n_units = 5000;
  assert_int_equal(tacit_noise_aware_check_budget(&s, &err), TACIT_ERR_BUDGET);
  assert_non_null(strstr(err.message, "50 features on 5000 rows"));
  double factor = 0, rows = 0;
  assert_int_equal(
      sscanf(strstr(err.message, "it takes"), "it takes %lf times rho, or about %lf rows", &factor, &rows),
      2);
  s.n_units = rows;
  assert_ok(tacit_noise_aware_check_budget(&s, &err), err);
  s.n_units = 5000;
  s.rho *= factor;
  assert_ok(tacit_noise_aware_check_budget(&s, &err), err);
}

/* Rates of counts spread the weights of rows far: were what that hides guessed, and not learned from the
 * information, squares would be .34 (seen). */
static void test_counts_have_errors_as_wide_as_intervals_say(void **state) {
  (void)state;
  simulation_t s = wide(30, 30000, 4);
  s.family = TACIT_FAMILY_POISSON;
  s.upper = 12;
  s.is_steep = true;
  double sound = error_of(s, TACIT_FAULT_NONE), half = error_of(s, TACIT_FAULT_HALF_NOISE);
  if (!(sound > 0.5 && sound < 1.5 && half > sound + 0.1)) {
    fail_msg("mean squared errors: %.3f; with half of the noise %.3f", sound, half);
  }
}

static void test_large_budget_of_counts_gives_the_non_private_posterior(void **state) {
  (void)state;
  simulation_t s = wide(25, 6000, 1e4);
  static simulation_fit_t fit;
  s.family = TACIT_FAMILY_POISSON;
  s.upper = 12;
  s.has_reference = true;
  simulation_run(&s, 3, &fit);
  for (size_t j = 0; j < fit.d; j++) { /* rows that weigh less than one widen */
    assert_close((fit.mean[j] - fit.reference_mean[j]) / fit.reference_sd[j], 0, 0.5);
    assert_close(fit.sd[j] / fit.reference_sd[j], 1.1, 0.25);
  }
}

static void test_linear_regressions_of_many_features_are_refused(void **state) {
  (void)state;
  tacit_error_t err;
  tacit_model_t model;
  tacit_draws_t draws;
  simulation_t of = {.family = TACIT_FAMILY_GAUSSIAN, .upper = 1, .d = 21};
  simulation_model(&of, &model);
  tacit_releases_t releases = {.dim = 21};
  tacit_noise_aware_settings_t s = tacit_noise_aware_settings_default();
  s.family = TACIT_FAMILY_GAUSSIAN;
  s.rho = 1;
  s.n_features = 21;
  s.n_units = 1e6;
  s.releases = &releases;
  assert_int_equal(tacit_noise_aware_fit(NULL, &model.parameters, &s, &draws, &err), TACIT_ERR_ARGUMENT);
  assert_non_null(strstr(err.message, "1 to 20 features"));
  tacit_draws_clear(&draws);
  tacit_model_clear(&model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gradient_is_that_of_the_density),
      cmocka_unit_test(test_precision_is_that_of_the_residuals),
      cmocka_unit_test(test_large_budget_gives_the_non_private_posterior),
      cmocka_unit_test(test_errors_are_as_wide_as_intervals_say),
      cmocka_unit_test(test_budgets_that_buy_nothing_are_refused),
      cmocka_unit_test(test_counts_have_errors_as_wide_as_intervals_say),
      cmocka_unit_test(test_large_budget_of_counts_gives_the_non_private_posterior),
      cmocka_unit_test(test_linear_regressions_of_many_features_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
