/*
 * The Gaussian profile and its inverses: against 50-digit values (reference.h, made by reference.py), at the
 * edges of the domain, and by properties on random arguments.
 */
#include "support.h"

#include <float.h>

#include "account/account.h"
#include "reference.h"

static void test_erfcx_matches_reference(void **state) {
  double worst = 0, worst_slope = 0;
  for (size_t i = 0; i < LENGTH(reference_erfcx); i++) {
    worst = fmax(worst, fabs(tacit_erfcx(reference_erfcx[i][0]) / reference_erfcx[i][1] - 1));
  }
  for (size_t i = 0; i < LENGTH(reference_slope); i++) {
    const double *row = reference_slope[i];
    worst_slope = fmax(worst_slope, fabs(tacit_erfcx_slope(row[0], row[1]) / row[2] - 1));
  }
  print_message("worst relative error: erfcx %.2g, slope %.2g\n", worst, worst_slope);
  assert_true(worst <= 1e-15);
  assert_true(worst_slope <= 2e-15);
}

/* Inputs are exact doubles and so are the bounds: no tolerance but the half unit of the reference number. */
static void test_bounds_enclose_the_reference(void **state) {
  double worst = 0, widest = 0;
  for (size_t i = 0; i < LENGTH(reference_log_delta); i++) {
    const double rho = reference_log_delta[i][0], epsilon = reference_log_delta[i][1];
    const double truth = reference_log_delta[i][2];
    double error = tacit_gaussian_log_delta_error(rho, epsilon);
    worst = fmax(worst, fabs(tacit_gaussian_log_delta(rho, epsilon) - truth) / error);
    double below = nextafter(truth, -INFINITY), above = nextafter(truth, INFINITY);
    assert_true(tacit_gaussian_log_delta_upper(rho, epsilon) >= below);
    if (truth > -700) {
      assert_true(tacit_gaussian_delta(rho, epsilon) >= exp(truth) * (1 - 4e-16 * (1 - truth)));
      assert_true(tacit_gaussian_delta(rho, epsilon) <= exp(truth) * (1 + 3 * error + 1e-14));
    }
    double upper = tacit_gaussian_epsilon(rho, below), lower = tacit_gaussian_epsilon_lower(rho, above);
    assert_true(lower <= epsilon && epsilon <= upper);
    widest = fmax(widest, (upper - lower) / (epsilon + sqrt(rho)) * (truth < -0.1));
    assert_true(tacit_gaussian_rho(epsilon, above) >= rho * (1 - 1e-12) || truth > -0.1);
    assert_true(tacit_gaussian_rho(epsilon, below) <= rho);
  }
  print_message("error of log delta at most %.2g of its bound; widest bracket %.2g (epsilon + sqrt rho)\n",
                worst, widest);
  assert_true(worst <= 1);
  assert_true(widest <= 1e-12);
}

static void test_log_delta_outside_its_domain(void **state) {
  const double bad[][2] = {{-1, 1}, {NAN, 1}, {1, -1}, {1, NAN}, {INFINITY, INFINITY}};
  for (size_t i = 0; i < LENGTH(bad); i++) {
    assert_true(isnan(tacit_gaussian_log_delta(bad[i][0], bad[i][1])));
    assert_true(isnan(tacit_gaussian_delta(bad[i][0], bad[i][1])));
  }
  assert_true(isinf(tacit_gaussian_log_delta(0, 1)) && tacit_gaussian_log_delta(0, 1) < 0);
  assert_true(isfinite(tacit_gaussian_log_delta(1e-300, 1))); /* -2.5e299 */
  assert_true(tacit_gaussian_delta(0, 0) <= 0);
  assert_true(tacit_gaussian_delta(1e-3, 500) > 0); /* never rounded down to zero */
  assert_true(tacit_gaussian_delta(1e-300, 1e300) > 0);
  assert_close(tacit_gaussian_delta(1e300, 1), 1, 0);
  assert_close(tacit_gaussian_delta(INFINITY, 1), 1, 0);
}

static void test_inverses_at_the_edges(void **state) {
  assert_close(tacit_gaussian_epsilon(0, -10), 0, 0);
  assert_close(tacit_gaussian_epsilon(1, 0), 0, 0);
  assert_close(tacit_gaussian_epsilon(1e-12, -10), 0, 0); /* delta(0) is below e^-10 */
  assert_true(isinf(tacit_gaussian_epsilon(INFINITY, -10)));
  assert_true(isinf(tacit_gaussian_epsilon(1, -INFINITY)));
  assert_true(isinf(tacit_gaussian_epsilon(DBL_MAX, -1e300)));
  assert_true(isnan(tacit_gaussian_epsilon(NAN, -1)) && isnan(tacit_gaussian_epsilon(1, NAN)));
  assert_close(tacit_gaussian_epsilon_lower(INFINITY, -10), 0, 0);
  assert_close(tacit_gaussian_rho(0, -INFINITY), 0, 0);
  assert_close(tacit_gaussian_rho(0, -1e6), 0, 0); /* about e^-2000000 */
  assert_true(isinf(tacit_gaussian_rho(1, 0)) && isinf(tacit_gaussian_rho(INFINITY, -1)));
  assert_true(isnan(tacit_gaussian_rho(-1, -1)) && isnan(tacit_gaussian_rho(1, NAN)));
  const double rhos[] = {DBL_TRUE_MIN, 1e-300, 1e-12, 1, 1e4, 1e100, 1e300};
  const double log_deltas[] = {-DBL_TRUE_MIN, -1e-12, -1e-3, -1, -690, -1e6};
  for (size_t i = 0; i < LENGTH(rhos); i++) {
    for (size_t j = 0; j < LENGTH(log_deltas); j++) {
      double epsilon = tacit_gaussian_epsilon(rhos[i], log_deltas[j]), alpha;
      assert_true(epsilon >= 0 && isfinite(epsilon));
      assert_true(tacit_gaussian_epsilon_lower(rhos[i], log_deltas[j]) <= epsilon);
      assert_true(tacit_gaussian_log_delta(rhos[i], epsilon) <= log_deltas[j]);
      assert_true(tacit_zcdp_epsilon(rhos[i], log_deltas[j]) >= epsilon * (1 - 1e-12));
      assert_true(tacit_rdp_gaussian_epsilon(rhos[i], log_deltas[j], &alpha) >= epsilon * (1 - 1e-12));
      assert_true(alpha > 1 || rhos[i] > 1e30 || log_deltas[j] > -1e-3);
    }
  }
}

/* Twice such a rho is no number. */
static void test_rho_of_the_largest_epsilons(void **state) {
  const double epsilons[] = {4e307, 8e307, 1e308, DBL_MAX};
  for (size_t i = 0; i < LENGTH(epsilons); i++) {
    double rho = tacit_gaussian_rho(epsilons[i], -14);
    assert_true(rho >= 0.4 * epsilons[i] && rho <= epsilons[i]);
    assert_true(tacit_gaussian_log_delta_upper(rho, epsilons[i]) <= -14);
  }
}

/* Conservative to the last bit and consistent between the inverses, over the whole domain. */
static void test_inverses_are_conservative(void **state) {
  uint64_t seed = 7;
  for (int i = 0; i < (int)(12000 * testing_multiplier()); i++) {
    double rho = log_uniform(&seed, -12, 4), log_delta = -log_uniform(&seed, -2, 6);
    double epsilon = tacit_gaussian_epsilon(rho, log_delta),
           lower = tacit_gaussian_epsilon_lower(rho, log_delta);
    assert_true(isfinite(epsilon) && epsilon >= 0 && lower <= epsilon);
    assert_true(tacit_gaussian_log_delta_upper(rho, epsilon) <= log_delta);
    assert_true(lower <= 0 || tacit_gaussian_log_delta(rho, lower) >= log_delta);
    if (log_delta < -0.1) {
      assert_true(epsilon - lower <= 1e-12 * (epsilon + sqrt(rho)));
    }
    assert_true(epsilon <= tacit_rdp_gaussian_epsilon(rho, log_delta, NULL));
    assert_true(epsilon <= tacit_zcdp_epsilon(rho, log_delta));
    if (epsilon > 0) {
      double again = tacit_gaussian_rho(epsilon, log_delta);
      assert_true(again >= rho * (1 - 1e-12));
      assert_true(tacit_gaussian_log_delta_upper(again, epsilon) <= log_delta);
      assert_true(tacit_gaussian_epsilon(again, log_delta) <= epsilon * (1 + 1e-12) + 1e-12 * sqrt(rho));
    }
  }
}

static void test_everything_is_monotone(void **state) {
  uint64_t seed = 11;
  for (int i = 0; i < (int)(12000 * testing_multiplier()); i++) {
    double rho = log_uniform(&seed, -12, 4), log_delta = -log_uniform(&seed, -1, 5);
    double epsilon = rho + log_uniform(&seed, -3, 3) * sqrt(rho), up = 1 + log_uniform(&seed, -9, 1);
    double (*const epsilons[])(double, double) = {tacit_gaussian_epsilon, tacit_gaussian_epsilon_lower,
                                                  tacit_zcdp_epsilon};
    for (size_t j = 0; j < LENGTH(epsilons); j++) {
      assert_true(epsilons[j](rho * up, log_delta) >= epsilons[j](rho, log_delta));
      assert_true(epsilons[j](rho, log_delta * up) >= epsilons[j](rho, log_delta));
    }
    assert_true(tacit_rdp_gaussian_epsilon(rho * up, log_delta, NULL) >=
                tacit_rdp_gaussian_epsilon(rho, log_delta, NULL));
    assert_true(tacit_gaussian_delta(rho * up, epsilon) >= tacit_gaussian_delta(rho, epsilon));
    assert_true(tacit_gaussian_delta(rho, epsilon * up) <= tacit_gaussian_delta(rho, epsilon));
    assert_true(tacit_gaussian_rho(epsilon * up, log_delta) >= tacit_gaussian_rho(epsilon, log_delta));
    assert_true(tacit_gaussian_rho(epsilon, log_delta * up) <= tacit_gaussian_rho(epsilon, log_delta));
  }
}

/* The conversions solved for delta undo those solved for epsilon, from above. */
static void test_conversions_for_delta_undo_those_for_epsilon(void **state) {
  uint64_t seed = 13;
  for (int i = 0; i < (int)(2000 * testing_multiplier()); i++) {
    double rho = log_uniform(&seed, -9, 4), log_delta = -log_uniform(&seed, 0.5, 5);
    double zcdp = tacit_zcdp_epsilon(rho, log_delta), rdp = tacit_rdp_gaussian_epsilon(rho, log_delta, NULL);
    assert_close(tacit_zcdp_log_delta(rho, zcdp) / log_delta, 1, 1e-12 * (1 + sqrt(rho)));
    if (rdp > 0) {
      assert_close(tacit_rdp_gaussian_log_delta(rho, rdp) / log_delta, 1, 1e-12 * (1 + sqrt(rho)));
    }
    double epsilon = rho + log_uniform(&seed, -2, 2) * sqrt(rho);
    assert_true(tacit_rdp_gaussian_log_delta(rho, epsilon) >= tacit_gaussian_log_delta_upper(rho, epsilon));
    assert_true(tacit_zcdp_log_delta(rho, epsilon) >= tacit_gaussian_log_delta_upper(rho, epsilon));
  }
  double alpha;
  assert_true(isnan(tacit_zcdp_epsilon(-1, -1)) && isnan(tacit_rdp_gaussian_epsilon(-1, -1, NULL)));
  assert_close(tacit_rdp_gaussian_epsilon(0, -1, &alpha), 0, 0);
  assert_true(isinf(alpha) && isinf(tacit_rdp_gaussian_epsilon(INFINITY, -1, &alpha)) && isnan(alpha));
  assert_true(isinf(tacit_rdp_gaussian_log_delta(0, 1)) && isinf(tacit_zcdp_log_delta(0, 1)));
  assert_close(tacit_rdp_gaussian_log_delta(INFINITY, 1), 0, 0);
  assert_close(tacit_zcdp_log_delta(INFINITY, 1), 0, 0);
}

static void test_logarithms_are_rounded_outwards(void **state) {
  uint64_t seed = 23;
  for (int i = 0; i < (int)(10000 * testing_multiplier()); i++) {
    double delta = i % 2 ? log_uniform(&seed, -300, 0) : 1 - log_uniform(&seed, -16, 0);
    long double truth = logl((long double)delta);
    double below = tacit_log_below(delta), above = tacit_log_above(delta);
    assert_true(delta >= 1 || ((long double)below < truth && truth < (long double)above));
    assert_true(delta >= 1 || below >= above * (1 + 2e-15));
    assert_true((long double)tacit_exp_above(below) >= expl((long double)below));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_erfcx_matches_reference),
      cmocka_unit_test(test_bounds_enclose_the_reference),
      cmocka_unit_test(test_log_delta_outside_its_domain),
      cmocka_unit_test(test_inverses_at_the_edges),
      cmocka_unit_test(test_rho_of_the_largest_epsilons),
      cmocka_unit_test(test_inverses_are_conservative),
      cmocka_unit_test(test_everything_is_monotone),
      cmocka_unit_test(test_conversions_for_delta_undo_those_for_epsilon),
      cmocka_unit_test(test_logarithms_are_rounded_outwards),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
