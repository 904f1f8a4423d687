/*
 * Discrete Gaussians that a record moves by several steps, against sums over all tests; and the Gaussian that
 * bounds a pure mechanism. Errors planted to see that these tests catch them: a shift of 1 whatever the
 * sensitivity, sigma not times the sensitivity, half of mu for mu.
 */
#include <string.h>

#include "tacit/account.h"
#include "testing.h"

/* sum_x max(P(x) - e^epsilon P(x - shift), 0) */
static double exact_delta(double sigma, double shift, double epsilon) {
  double total = 0, sum = 0, reach = ceil(40 * sigma) + shift;
  for (double x = -reach; x <= reach; x++) {
    total += exp(-0.5 * x * x / (sigma * sigma));
  }
  for (double x = -reach; x <= reach; x++) {
    double far = x - shift;
    sum += fmax(exp(-0.5 * x * x / (sigma * sigma)) - exp(epsilon - 0.5 * far * far / (sigma * sigma)), 0);
  }
  return sum / total;
}

static void test_discrete_gaussians_of_any_sensitivity(void **state) {
  static const double multipliers[] = {0.5, 1, 4}, shifts[] = {1, 2, 7, 100};
  for (size_t i = 0; i < 12; i++) {
    double multiplier = multipliers[i % 3], shift = shifts[i / 3];
    char text[80];
    tacit_event_t event;
    tacit_guarantee_t guarantee;
    tacit_error_t err;
    snprintf(text, sizeof text, "discrete-gaussian:sigma=%g,sensitivity=%g", multiplier, shift);
    assert_ok(tacit_event_parse(&event, text, &err), err);
    char again[TACIT_EVENT_TEXT_SIZE];
    assert_string_equal(tacit_event_format(&event, again), text);
    for (double epsilon = 0; epsilon < 3; epsilon += 0.7) {
      double exact = exact_delta(multiplier * shift, shift, epsilon);
      assert_ok(tacit_account_delta(NULL, &event, 1, NULL, epsilon, &guarantee, &err), err);
      assert_true(guarantee.delta >= exact * (1 - 1e-12));
      assert_close(guarantee.delta, exact, 1e-6 * exact + 1e-12);
    }
  }
}

static void test_bad_sensitivities_are_refused(void **state) {
  static const char *const bad[] = {
      "discrete-gaussian:sigma=1,sensitivity=0", "discrete-gaussian:sigma=1,sensitivity=1.5",
      "discrete-gaussian:sigma=1,sensitivity=2e6", "discrete-gaussian:sensitivity=2"};
  for (size_t i = 0; i < 4; i++) {
    tacit_event_t event;
    tacit_error_t err;
    assert_int_equal(tacit_event_parse(&event, bad[i], &err), TACIT_ERR_SYNTAX);
  }
}

static double phi(double z) { return 0.5 * erfc(-z / sqrt(2)); }

/* At type I errors a of both sides of the vertex, type II errors of the Gaussian are below those that
 * epsilon-DP allows. */
static void test_gaussian_that_bounds_pure_mechanisms(void **state) {
  static const double epsilons[] = {1e-3, 0.1, 1, 5, 30};
  for (size_t i = 0; i < 5; i++) {
    double epsilon = epsilons[i], mu = 1 / tacit_pure_gaussian_multiplier(epsilon),
           vertex = 1 / (1 + exp(epsilon));
    for (double z = -8; z < 8; z += 0.01) {
      double a = phi(z), gaussian = phi(-z - mu), pure = fmax(1 - exp(epsilon) * a, exp(-epsilon) * phi(-z));
      assert_true(gaussian <= fmax(pure, 0) + 1e-14);
    }
    double z = -0.5 * mu; /* attained at the vertex */
    assert_close(phi(z), vertex, 1e-6 * vertex);
  }
  assert_true(isnan(tacit_pure_gaussian_multiplier(0)) && isnan(tacit_pure_gaussian_multiplier(INFINITY)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_discrete_gaussians_of_any_sensitivity),
      cmocka_unit_test(test_bad_sensitivities_are_refused),
      cmocka_unit_test(test_gaussian_that_bounds_pure_mechanisms),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
