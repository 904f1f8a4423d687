/*
 * Gaussian accounting against 50-digit values (reference.h, made by reference.py), against the tables of the
 * literature, and, where the shared reference numbers are at hand, against all of theirs.
 */
#include "testing.h"

#include <jansson.h>
#include <string.h>

#include "account/account_internal.h"
#include "reference.h"

#define LENGTH(array) (sizeof array / sizeof array[0])

static void test_erfcx_matches_reference(void **state) {
  (void)state;
  double worst = 0, worst_difference = 0;
  for (size_t i = 0; i < LENGTH(reference_erfcx); i++) {
    worst = fmax(worst, fabs(tacit_erfcx(reference_erfcx[i][0]) / reference_erfcx[i][1] - 1));
  }
  for (size_t i = 0; i < LENGTH(reference_difference); i++) {
    const double *row = reference_difference[i];
    worst_difference = fmax(worst_difference, fabs(tacit_erfcx_difference(row[0], row[1]) / row[2] - 1));
  }
  print_message("worst relative error: erfcx %.2g, difference %.2g\n", worst, worst_difference);
  assert_true(worst <= 4e-15);
  assert_true(worst_difference <= 1e-14);
  assert_close(tacit_erfcx(0), 1, 0);
}

static void test_log_delta_error_is_within_its_stated_bound(void **state) {
  (void)state;
  for (size_t i = 0; i < LENGTH(reference_log_delta); i++) {
    const double *row = reference_log_delta[i];
    double error = tacit_gaussian_log_delta_error(row[0], row[1]);
    assert_close(tacit_gaussian_log_delta(row[0], row[1]), row[2], error);
    if (row[2] > -700) {
      double delta = tacit_gaussian_delta(row[0], row[1]), truth = exp(row[2]);
      assert_true(delta >= truth * (1 - 4e-16 * fabs(row[2])) && delta <= fmin(truth * (1 + 3 * error + 1e-14), 1));
    }
  }
}

/* (rho, delta, exact, zCDP, improved RDP, optimal order): 60-digit values of the literature's formulas. */
static const double conversions[][6] = {
    {0.005, 1e-2, 0.0927075662256785, 0.308485425877029, 0.133184708506071, 19.174614},
    {0.005, 1e-12, 0.647008125924982, 0.748384437769968, 0.674461603597806, 69.397615},
    {0.125, 1e-5, 1.99309140441512, 2.52426295609404, 2.16571554517549, 9.6027334},
    {0.5, 1e-6, 4.88655411746221, 5.75652176975693, 5.22153444453017, 5.9070094},
    {1, 1e-9, 9.09255836858179, 10.1045627763109, 9.52146367179223, 5.3638945},
    {2, 1e-6, 10.9971512142207, 12.5130435395139, 11.6885962493549, 3.5060934},
    {10, 1e-5, 28.3734738032574, 31.4596602628935, 30.1108573037957, 2.0392471},
    {50, 1e-12, 119.588408712313, 124.338443776997, 122.734604859781, 1.7359277},
};

static void test_conversions_match_tables(void **state) {
  (void)state;
  for (size_t i = 0; i < LENGTH(conversions); i++) {
    const double *row = conversions[i];
    double log_delta = log(row[1]), alpha;
    assert_close(tacit_gaussian_epsilon(row[0], log_delta) / row[2], 1, 1e-12);
    assert_close(tacit_zcdp_epsilon(row[0], log_delta) / row[3], 1, 1e-13);
    assert_close(tacit_rdp_gaussian_epsilon(row[0], log_delta, &alpha) / row[4], 1, 1e-12);
    assert_close(alpha, row[5], 1e-5);
    assert_true(tacit_gaussian_epsilon_lower(row[0], log_delta) <= row[2]);
    assert_true(tacit_gaussian_epsilon_lower(row[0], log_delta) >= row[2] * (1 - 1e-11));
  }
}

/* Iterations that the budgets of the DP-HMC paper buy: n = 1e5, delta = 1e-6, noise tau sqrt(n). */
static void test_iteration_counts_match_tables(void **state) {
  (void)state;
  static const struct {
    double epsilon;
    uint64_t hmc_banana, hmc_gauss, penalty_banana, penalty_gauss, reuse_banana, reuse_gauss;
  } rows[] = {{2, 108, 65, 580, 50, 110, 68},           {4, 377, 227, 2028, 175, 384, 240},
              {6, 769, 464, 4136, 357, 783, 490},       {8, 1261, 761, 6778, 586, 1284, 803},
              {10, 1836, 1108, 9871, 853, 1870, 1169},  {12, 2483, 1499, 13348, 1154, 2528, 1581},
              {15, 3569, 2154, 19180, 1659, 3633, 2272}};
  double root_n = sqrt(1e5);
  tacit_event_t g[2] = {{0, 0.55 * root_n, 26, "gradient"}, {0, 0.1 * root_n, 1, "log-ratio"}};
  tacit_event_t h[2] = {{0, 0.25 * root_n, 13, "gradient"}, {0, 0.1 * root_n, 1, "log-ratio"}};
  tacit_event_t p = {0, 0.17 * root_n, 1, ""}, q = {0, 0.05 * root_n, 1, ""};
  tacit_error_t err;
  uint64_t k;
  for (size_t i = 0; i < LENGTH(rows); i++) {
    double epsilon = rows[i].epsilon;
    assert_ok(tacit_account_max_repetitions(NULL, 0, g, 2, epsilon, 1e-6, &k, &err), err);
    assert_int_equal(k, rows[i].hmc_banana);
    assert_ok(tacit_account_max_repetitions(NULL, 0, h, 2, epsilon, 1e-6, &k, &err), err);
    assert_int_equal(k, rows[i].hmc_gauss);
    assert_ok(tacit_account_max_repetitions(NULL, 0, &p, 1, epsilon, 1e-6, &k, &err), err);
    assert_int_equal(k, rows[i].penalty_banana);
    assert_ok(tacit_account_max_repetitions(NULL, 0, &q, 1, epsilon, 1e-6, &k, &err), err);
    assert_int_equal(k, rows[i].penalty_gauss);
    tacit_event_t first[2] = {{0, 0.55 * root_n, 1, ""}, {0, 0.25 * root_n, 1, ""}};
    tacit_event_t gr[2] = {g[0], g[1]}, hr[2] = {h[0], h[1]};
    gr[0].count = 25;
    hr[0].count = 12;
    assert_ok(tacit_account_max_repetitions(&first[0], 1, gr, 2, epsilon, 1e-6, &k, &err), err);
    assert_int_equal(k, rows[i].reuse_banana);
    assert_ok(tacit_account_max_repetitions(&first[1], 1, hr, 2, epsilon, 1e-6, &k, &err), err);
    assert_int_equal(k, rows[i].reuse_gauss);
  }
}

static void test_edges_of_the_domain(void **state) {
  (void)state;
  assert_true(isnan(tacit_gaussian_log_delta(-1, 1)) && isnan(tacit_gaussian_log_delta(NAN, 1)));
  assert_true(isnan(tacit_gaussian_log_delta(1, -1)) && isnan(tacit_gaussian_log_delta(1, NAN)));
  assert_true(isinf(tacit_gaussian_log_delta(0, 1)) && tacit_gaussian_log_delta(0, 1) < 0);
  assert_true(tacit_gaussian_delta(0, 0) <= 0);
  assert_true(tacit_gaussian_delta(1e-3, 500) > 0); /* never rounded down to zero */
  assert_true(tacit_gaussian_delta(1e300, 1) <= 1);
  assert_true(tacit_gaussian_epsilon(0, -10) <= 0);
  assert_true(isinf(tacit_gaussian_epsilon(INFINITY, -10)));
  assert_true(isinf(tacit_gaussian_epsilon(1, -INFINITY)));
  assert_true(tacit_gaussian_rho(0, -INFINITY) <= 0);
  assert_true(isfinite(tacit_gaussian_epsilon(1e-300, -1e6)));
  assert_true(isfinite(tacit_gaussian_epsilon(1e6, -1e6)));
  assert_true(isfinite(tacit_gaussian_rho(1e-4, log(1e-300))));
}

/* The inverses are consistent and conservative over the whole domain, and monotone. */
static void test_inverses_are_consistent_and_monotone(void **state) {
  (void)state;
  uint64_t seed = 7;
  for (int i = 0; i < (int)(4000 * testing_multiplier()); i++) {
    double u[3];
    for (int j = 0; j < 3; j++) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      u[j] = (double)(seed >> 11) * 0x1p-53;
    }
    double rho = pow(10, -8 + 12 * u[0]), log_delta = -pow(10, -1 + 3.8 * u[1]);
    double epsilon = tacit_gaussian_epsilon(rho, log_delta);
    assert_true(isfinite(epsilon) && epsilon >= 0);
    assert_true(tacit_gaussian_log_delta(rho, epsilon) <= log_delta);
    assert_true(epsilon <= tacit_rdp_gaussian_epsilon(rho, log_delta, NULL) * (1 + 1e-11) + 1e-300);
    assert_true(tacit_gaussian_epsilon(rho * (1 + u[2]), log_delta) >= epsilon);
    assert_true(tacit_gaussian_epsilon(rho, log_delta * (1 + u[2])) >= epsilon);
    double lower = tacit_gaussian_epsilon_lower(rho, log_delta);
    assert_true(lower <= epsilon && lower >= epsilon * (1 - 1e-9) - 1e-300);
    if (epsilon > 0) {
      double again = tacit_gaussian_rho(epsilon, log_delta);
      assert_true(again >= rho * (1 - 1e-10));
      assert_true(tacit_gaussian_log_delta(again, epsilon) <= log_delta);
    }
  }
}

static void check_shared_row(const json_t *row, double *widest) {
  const char *query = json_string_value(json_object_get(row, "query"));
  double mu = json_number_value(json_object_get(row, "mu")), rho = mu * mu / 2;
  double delta = json_number_value(json_object_get(row, "delta"));
  double epsilon = json_number_value(json_object_get(row, "epsilon"));
  const json_t *log_delta_value = json_object_get(row, "log_delta");
  if (query == NULL || json_object_get(row, "mu") == NULL) {
    return;
  }
  if (strcmp(query, "delta") == 0 && json_is_number(log_delta_value)) {
    double log_delta = json_number_value(log_delta_value), a = (epsilon - rho) / (2 * sqrt(rho));
    /* mu itself is a rounded double: its relative error of 2^-53 moves a^2 by as much again */
    assert_close(tacit_gaussian_log_delta(rho, epsilon), log_delta, 1e-12 * (1 + a * a));
  } else if (strcmp(query, "epsilon") == 0) {
    double upper = tacit_gaussian_epsilon(rho, log(delta)), lower = tacit_gaussian_epsilon_lower(rho, log(delta));
    assert_true(upper >= epsilon * (1 - 2e-14) && lower <= epsilon * (1 + 2e-14));
    *widest = fmax(*widest, epsilon > 0 ? (upper - lower) / epsilon : 0);
  }
}

static void test_shared_reference_rows(void **state) {
  (void)state;
  if (testing_shared() == NULL) {
    skip();
  }
  char path[512];
  snprintf(path, sizeof path, "%s/reference/accounting_gaussian.json", testing_shared());
  json_t *file = json_load_file(path, 0, NULL);
  assert_non_null(file);
  json_t *rows = json_object_get(file, "rows"), *row;
  size_t i;
  double widest = 0;
  json_array_foreach(rows, i, row) {
    check_shared_row(row, &widest);
  }
  print_message("%zu rows; widest certified bracket %.2g of epsilon\n", json_array_size(rows), widest);
  assert_true(widest <= 1e-10);
  json_decref(file);
  snprintf(path, sizeof path, "%s/reference/accounting_conversions.json", testing_shared());
  file = json_load_file(path, 0, NULL);
  assert_non_null(file);
  size_t n_zcdp = 0;
  json_array_foreach(json_object_get(file, "rows"), i, row) {
    if (strcmp(json_string_value(json_object_get(row, "mechanism")), "zcdp") == 0) {
      double rho = json_number_value(json_object_get(row, "rho"));
      double log_delta = log(json_number_value(json_object_get(row, "delta")));
      double classic = json_number_value(json_object_get(row, "epsilon_bun_steinke"));
      double improved = json_number_value(json_object_get(row, "epsilon_canonne_kamath_steinke"));
      double exact = json_number_value(json_object_get(row, "epsilon_gaussian_same_rho"));
      assert_close(tacit_zcdp_epsilon(rho, log_delta), classic, 1e-12 * (1 + classic));
      assert_close(tacit_rdp_gaussian_epsilon(rho, log_delta, NULL), improved, 1e-9 * (1 + improved));
      assert_close(tacit_gaussian_epsilon(rho, log_delta), exact, 1e-11 * (1 + exact));
      n_zcdp++;
    }
  }
  assert_true(n_zcdp > 0);
  json_decref(file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_erfcx_matches_reference),
      cmocka_unit_test(test_log_delta_error_is_within_its_stated_bound),
      cmocka_unit_test(test_conversions_match_tables),
      cmocka_unit_test(test_iteration_counts_match_tables),
      cmocka_unit_test(test_edges_of_the_domain),
      cmocka_unit_test(test_inverses_are_consistent_and_monotone),
      cmocka_unit_test(test_shared_reference_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
