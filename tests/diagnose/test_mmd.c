/* The maximum mean discrepancy against closed forms. */
#include "testing.h"

#include "base/memory.h"
#include "diagnose/diagnose.h"
#include "models/models.h"

static void test_mmd2_two_points_is_the_formula(void **state) {
  double x[2] = {0, 1}, y[2] = {3, 5}, mmd2;
  tacit_error_t err;
  assert_ok(tacit_mmd2(x, 2, y, 2, 1, 2, &mmd2, &err), err);
  double within = exp(-1.0 / 8) + exp(-4.0 / 8);
  double between = (exp(-9.0 / 8) + exp(-25.0 / 8) + exp(-4.0 / 8) + exp(-16.0 / 8)) / 4;
  assert_close(mmd2, within - 2 * between, 1e-15);
}

static void test_mmd2_default_bandwidth_is_the_median_distance(void **state) {
  /* Distances 1, 3, 5, 2, 4, 2: the median is 2.5. */
  double x[2] = {0, 1}, y[2] = {3, 5}, a, b;
  tacit_error_t err;
  assert_ok(tacit_mmd2(x, 2, y, 2, 1, 0, &a, &err), err);
  assert_ok(tacit_mmd2(x, 2, y, 2, 1, 2.5, &b, &err), err);
  assert_close(a, b, 1e-15);
}

static double uniform(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(*state >> 11) * 0x1p-53;
}

static double *normals(size_t n, double shift, uint64_t seed) {
  double *x = malloc(n * sizeof *x);
  assert_non_null(x);
  for (size_t i = 0; i < n; i++) {
    double radius = sqrt(-2 * log1p(-uniform(&seed)));
    x[i] = shift + radius * cos(6.283185307179586 * uniform(&seed));
  }
  return x;
}

/*
 * For N(0, I) and N(m, I) in d dimensions and bandwidth s, with c = (s^2 / (s^2 + 2))^(d/2):
 * MMD^2 = 2 c (1 - exp(-|m|^2 / (2 (s^2 + 2)))).
 */
static void test_mmd2_normals_match_the_closed_form(void **state) {
  enum { N = 1000, D = 3 };
  for (int shifted = 0; shifted < 2; shifted++) {
    double m = shifted ? 0.5 : 0, mmd2;
    double *x = normals((size_t)N * D, 0, 21), *y = normals((size_t)N * D, m, 22);
    tacit_error_t err;
    assert_ok(tacit_mmd2(x, N, y, N, D, 1.5, &mmd2, &err), err);
    double v = 1.5 * 1.5, c = pow(v / (v + 2), 1.5);
    double expected = 2 * c * (1 - exp(-D * m * m / (2 * (v + 2))));
    /* The standard deviation is below 0.005 when shifted and 0.0007 when not: six of them. */
    assert_close(mmd2, expected, shifted ? 0.03 : 0.0042);
    free(x);
    free(y);
  }
}

static void test_mmd2_extreme_values_stay_finite(void **state) {
  double x[2] = {-1e300, 1e300}, y[2] = {0, 1e-300}, mmd2;
  tacit_error_t err;
  assert_ok(tacit_mmd2(x, 2, y, 2, 1, 1e-200, &mmd2, &err), err);
  assert_close(mmd2, 1, 1e-15);
}

static void test_mmd2_bad_input_is_refused(void **state) {
  double x[4] = {1, 1, 1, 1}, bad[2] = {1, NAN}, mmd2;
  tacit_error_t err;
  assert_int_equal(tacit_mmd2(x, 1, x, 2, 1, 1, &mmd2, &err), TACIT_ERR_ARGUMENT);
  assert_int_equal(tacit_mmd2(x, 2, x, 0, 1, 1, &mmd2, &err), TACIT_ERR_ARGUMENT);
  assert_int_equal(tacit_mmd2(x, 2, x, 2, 0, 1, &mmd2, &err), TACIT_ERR_ARGUMENT);
  assert_int_equal(tacit_mmd2(x, 2, x, 2, 1, -1, &mmd2, &err), TACIT_ERR_ARGUMENT);
  assert_int_equal(tacit_mmd2(x, 2, x, 2, 1, NAN, &mmd2, &err), TACIT_ERR_ARGUMENT);
  assert_int_equal(tacit_mmd2(x, 2, x, 2, 1, INFINITY, &mmd2, &err), TACIT_ERR_ARGUMENT);
  assert_int_equal(tacit_mmd2(x, 2, bad, 2, 1, 1, &mmd2, &err), TACIT_ERR_ARGUMENT);
  assert_true(isnan(mmd2));
  assert_int_equal(tacit_mmd2(x, 2, x, 2, 1, 0, &mmd2, &err), TACIT_ERR_NUMERIC);
  double y[4] = {0, 1, 2, 3};
  for (size_t k = 1; k <= 3; k++) {
    tacit_alloc_fail_at(k);
    assert_int_equal(tacit_mmd2(x, 2, y, 4, 1, 0, &mmd2, &err), TACIT_ERR_MEMORY);
  }
  assert_ok(tacit_mmd2(x, 2, y, 4, 1, 0, &mmd2, &err), err);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mmd2_two_points_is_the_formula),
      cmocka_unit_test(test_mmd2_default_bandwidth_is_the_median_distance),
      cmocka_unit_test(test_mmd2_normals_match_the_closed_form),
      cmocka_unit_test(test_mmd2_extreme_values_stay_finite),
      cmocka_unit_test(test_mmd2_bad_input_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
