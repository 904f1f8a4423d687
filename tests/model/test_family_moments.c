/* Moments of clamped responses: against plain sums, their own derivatives, and limits. */
#include "model_testing.h"

/* E min(Y, C) and Var min(Y, C) for Poisson(e^eta) by direct summation. */
static void poisson_directly(double upper, double eta, double *mean, double *variance) {
  double rate = exp(eta), first = 0, second = 0;
  for (int k = 0; k < 2000; k++) {
    double p = exp(k * eta - rate - lgamma(k + 1.0)), y = fmin(k, upper);
    first += p * y;
    second += p * y * y;
  }
  *mean = first;
  *variance = second - first * first;
}

static void test_poisson_moments_are_those_of_the_clamped_count(void **state) {
  const double uppers[] = {1, 2, 10, 60, TACIT_FAMILY_MAX_COUNT};
  for (size_t i = 0; i < 5; i++) {
    for (double eta = -6; eta < 6.5; eta += 0.37) {
      double mean, variance, tolerance = 1e-11 * uppers[i] * uppers[i];
      poisson_directly(uppers[i], eta, &mean, &variance);
      tacit_family_moments_t moments = tacit_family_moments(TACIT_FAMILY_POISSON, uppers[i], eta);
      assert_close(moments.mean, mean, tolerance);
      assert_close(moments.variance, variance, tolerance);
    }
  }
}

static void check_slopes(tacit_family_t family, double upper) {
  for (double eta = -8; eta < 8; eta += 0.31) {
    const double h = 1e-4;
    tacit_family_moments_t at = tacit_family_moments(family, upper, eta);
    tacit_family_moments_t below = tacit_family_moments(family, upper, eta - h);
    tacit_family_moments_t above = tacit_family_moments(family, upper, eta + h);
    assert_true(at.mean >= 0 && at.mean <= upper && at.slope >= 0 && at.variance >= 0);
    assert_close(at.slope, (above.mean - below.mean) / (2 * h), 2e-6 * upper);
    assert_close(at.variance_slope, (above.variance - below.variance) / (2 * h), 2e-6 * upper * upper);
  }
}

static void test_slopes_are_derivatives(void **state) {
  check_slopes(TACIT_FAMILY_BERNOULLI, 1);
  check_slopes(TACIT_FAMILY_POISSON, 1);
  check_slopes(TACIT_FAMILY_POISSON, 20);
}

static void test_limits_are_finite(void **state) {
  const double etas[] = {-1e300, -800, -50, 50, 800, 1e300};
  for (size_t i = 0; i < 6; i++) {
    for (int family = 0; family < 2; family++) {
      double upper = family == 0 ? 1 : 30;
      tacit_family_moments_t m =
          tacit_family_moments(family == 0 ? TACIT_FAMILY_BERNOULLI : TACIT_FAMILY_POISSON, upper, etas[i]);
      assert_close(m.mean, etas[i] < 0 ? 0 : upper, 1e-12);
      assert_close(m.slope, 0, 1e-12);
      assert_close(m.variance, 0, 1e-12);
      assert_close(m.variance_slope, 0, 1e-12);
    }
  }
  assert_true(tacit_family_has_moments(TACIT_FAMILY_BERNOULLI, 1) &&
              !tacit_family_has_moments(TACIT_FAMILY_BERNOULLI, 2));
  assert_true(tacit_family_has_moments(TACIT_FAMILY_POISSON, 3) &&
              !tacit_family_has_moments(TACIT_FAMILY_POISSON, 0));
  assert_true(!tacit_family_has_moments(TACIT_FAMILY_POISSON, 1e9) &&
              !tacit_family_has_moments(TACIT_FAMILY_POISSON, NAN));
  assert_true(!tacit_family_has_moments(TACIT_FAMILY_GAUSSIAN, 1));
}

static void test_two_valued_features_are_indicators_and_binaries(void **state) {
  tacit_design_t *design = model_testing_design(
      "death ~ age + sex + smoker + flag + sex:smoker + age:sex + I(smoker * 2)", TACIT_FAMILY_BERNOULLI);
  size_t n = tacit_design_n_features(design), n_two_valued = 0;
  for (size_t j = 0; j < n; j++) {
    const char *label = tacit_design_label(design, j);
    bool is_two_valued = tacit_design_is_two_valued(design, j);
    bool should =
        (strstr(label, "sexM") != NULL || strstr(label, "smoker") != NULL || strstr(label, "flag") != NULL) &&
        strstr(label, "age") == NULL && strstr(label, "I(") == NULL;
    assert_int_equal(is_two_valued, should);
    n_two_valued += is_two_valued;
  }
  assert_int_equal(n, 8);
  assert_int_equal(n_two_valued, 4);
  tacit_design_free(design);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_poisson_moments_are_those_of_the_clamped_count),
                                     cmocka_unit_test(test_slopes_are_derivatives),
                                     cmocka_unit_test(test_limits_are_finite),
                                     cmocka_unit_test(test_two_valued_features_are_indicators_and_binaries)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
