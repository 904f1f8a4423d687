/*
 * Settings of the literature (tables.h) and, where the shared reference numbers are at hand, all of theirs
 * that concern Gaussian events, through the accountants.
 */
#include "support.h"

#include <jansson.h>
#include <string.h>

#include "account/account.h"
#include "tables.h"

static void test_delta_table(void **state) {
  for (size_t i = 0; i < LENGTH(table_delta); i++) {
    const double *row = table_delta[i];
    double delta = tacit_gaussian_delta(row[0], row[1]);
    assert_true(delta >= row[2] * (1 - 1e-14) && delta <= row[2] * (1 + 1e-12));
  }
  assert_close(tacit_gaussian_log_delta(200, 1100), log(5.15449528083004) - 443 * log(10), 1e-12);
}

static void test_epsilon_table(void **state) {
  for (size_t i = 0; i < LENGTH(table_epsilon); i++) {
    const double *row = table_epsilon[i];
    double log_delta = log(row[1]), alpha;
    double epsilon = tacit_gaussian_epsilon(row[0], log_delta);
    assert_true(epsilon >= row[2] * (1 - 1e-14) && epsilon <= row[2] * (1 + 1e-12));
    assert_true(tacit_gaussian_epsilon_lower(row[0], log_delta) <= row[2] * (1 + 1e-14));
    assert_close(tacit_zcdp_epsilon(row[0], log_delta) / row[3], 1, 1e-14);
    assert_close(tacit_rdp_gaussian_epsilon(row[0], log_delta, &alpha) / row[4], 1, 1e-13);
    assert_close(alpha / row[5], 1, 1e-7);
  }
  for (size_t i = 0; i < LENGTH(table_rho); i++) {
    double rho = tacit_gaussian_rho(table_rho[i][0], log(1e-6));
    assert_true(rho <= table_rho[i][1] * (1 + 1e-14) && rho >= table_rho[i][1] * (1 - 1e-12));
  }
}

static uint64_t repetitions(const tacit_event_t *first, const tacit_event_t *events, size_t n,
                            double epsilon) {
  uint64_t k;
  tacit_error_t err;
  assert_ok(tacit_account_max_repetitions(first, first != NULL, events, n, NULL, epsilon, 1e-6, &k, &err),
            err);
  return k;
}

/* k repetitions of events satisfy (epsilon, 1e-6) by zCDP, k + 1 do not. */
static bool is_zcdp_count(const tacit_event_t *events, size_t n, double epsilon, uint64_t k) {
  double upper[2];
  for (uint64_t extra = 0; extra < 2; extra++) {
    tacit_event_t repeated[2];
    memcpy(repeated, events, n * sizeof *events);
    for (size_t i = 0; i < n; i++) {
      repeated[i].count *= k + extra;
    }
    tacit_guarantee_t guarantee;
    tacit_error_t err;
    assert_ok(tacit_account_epsilon(tacit_accountant_find("zcdp"), repeated, n, NULL, 1e-6, &guarantee, &err),
              err);
    upper[extra] = guarantee.epsilon;
  }
  return upper[0] <= epsilon && upper[1] > epsilon;
}

#define CHECK_COUNTS(row, name, events)                                                                      \
  do {                                                                                                       \
    uint64_t k_ = repetitions(NULL, events, LENGTH(events), (row)->epsilon);                                 \
    assert_int_equal(k_, (row)->name.in_all);                                                                \
    assert_int_equal(k_ / 4, (row)->name.a_chain);                                                           \
    assert_true(is_zcdp_count(events, LENGTH(events), (row)->epsilon, (row)->name.by_zcdp));                 \
  } while (0)

static void test_count_table(void **state) {
  double root_n = sqrt(1e5);
  const tacit_event_t banana[] = {gaussian(0.55 * root_n, 26), gaussian(0.1 * root_n, 1)};
  const tacit_event_t gauss[] = {gaussian(0.25 * root_n, 13), gaussian(0.1 * root_n, 1)};
  const tacit_event_t penalty_banana[] = {gaussian(0.17 * root_n, 1)};
  const tacit_event_t penalty_gauss[] = {gaussian(0.05 * root_n, 1)};
  /* one gradient fewer an iteration, and one before the first */
  const tacit_event_t reuse_banana[] = {gaussian(0.55 * root_n, 25), banana[1]};
  const tacit_event_t reuse_gauss[] = {gaussian(0.25 * root_n, 12), gauss[1]};
  const tacit_event_t first_banana = gaussian(0.55 * root_n, 1), first_gauss = gaussian(0.25 * root_n, 1);
  for (size_t i = 0; i < LENGTH(table_counts); i++) {
    const table_counts_t *row = &table_counts[i];
    CHECK_COUNTS(row, hmc_banana, banana);
    CHECK_COUNTS(row, hmc_gauss, gauss);
    CHECK_COUNTS(row, penalty_banana, penalty_banana);
    CHECK_COUNTS(row, penalty_gauss, penalty_gauss);
    assert_int_equal(repetitions(&first_banana, reuse_banana, 2, row->epsilon), row->hmc_banana.reused);
    assert_int_equal(repetitions(&first_gauss, reuse_gauss, 2, row->epsilon), row->hmc_gauss.reused);
  }
}

/* ---- the shared reference numbers ---- */

static json_t *load(const char *set) {
  if (testing_shared() == NULL) {
    skip();
  }
  char path[512];
  snprintf(path, sizeof path, "%s/reference/accounting_%s.json", testing_shared(), set);
  json_t *file = json_load_file(path, 0, NULL);
  assert_non_null(file);
  return file;
}

static double field(const json_t *row, const char *key) {
  json_t *value = json_object_get(row, key);
  assert_true(json_is_number(value));
  return json_number_value(value);
}

static bool has_text(const json_t *row, const char *key, const char *text) {
  const char *value = json_string_value(json_object_get(row, key));
  return value != NULL && strcmp(value, text) == 0;
}

static size_t read_events(const json_t *row, tacit_event_t *events, size_t capacity) {
  if (!has_text(row, "mechanism", "gaussian_heterogeneous")) {
    events[0] = gaussian(1 / field(row, "sensitivity_over_sigma"), (uint64_t)field(row, "compositions"));
    return 1;
  }
  json_t *sigmas = json_object_get(row, "sigmas"), *counts = json_object_get(row, "counts");
  json_t *sensitivities = json_object_get(row, "sensitivities");
  size_t n = json_array_size(sigmas);
  assert_true(n > 0 && n <= capacity);
  for (size_t i = 0; i < n; i++) {
    double sigma = json_number_value(json_array_get(sigmas, i));
    events[i] = gaussian(sigma / json_number_value(json_array_get(sensitivities, i)),
                         (uint64_t)json_integer_value(json_array_get(counts, i)));
  }
  return n;
}

/*
 * Multipliers are quotients, so rho is off by up to 2^-51: the bounds may miss the truth by that much, times
 * the condition of epsilon (below 2) or of log delta (a^2 + rho).
 */
static double check_gaussian_row(const json_t *row) {
  tacit_event_t events[1024];
  size_t n = read_events(row, events, LENGTH(events));
  const tacit_accountant_t *accountant = tacit_accountant_find("auto");
  tacit_guarantee_t guarantee;
  tacit_error_t err;
  double epsilon = field(row, "epsilon"), delta = field(row, "delta");
  if (has_text(row, "query", "delta")) {
    double rho = 0.5 * pow(field(row, "mu"), 2), a = (epsilon - rho) / (2 * sqrt(rho)),
           log_delta = field(row, "log_delta");
    double slack = 4e-15 * (1 + a * a + rho);
    assert_ok(tacit_account_delta(accountant, events, n, NULL, epsilon, &guarantee, &err), err);
    assert_true(guarantee.epsilon_lower <= epsilon * (1 + 1e-14));
    assert_true(log(guarantee.delta) >= log_delta - slack && log(guarantee.delta) <= log_delta + 20 * slack);
    assert_close(tacit_gaussian_log_delta(rho, epsilon), log_delta, slack);
    return 0;
  }
  assert_ok(tacit_account_epsilon(accountant, events, n, NULL, delta, &guarantee, &err), err);
  assert_true(guarantee.epsilon >= epsilon * (1 - 2e-15) && guarantee.epsilon_lower <= epsilon * (1 + 2e-15));
  return epsilon > 0 ? (guarantee.epsilon - guarantee.epsilon_lower) / epsilon : guarantee.epsilon;
}

static void test_shared_gaussian_rows(void **state) {
  json_t *file = load("gaussian"), *row;
  size_t i;
  double widest = 0;
  json_array_foreach(json_object_get(file, "rows"), i, row) {
    widest = fmax(widest, check_gaussian_row(row));
  }
  print_message("%zu rows; widest certified bracket %.2g of epsilon\n", i, widest);
  assert_int_equal(i, 421);
  assert_true(widest <= 1e-12);
  json_decref(file);
}

static void test_shared_conversion_rows(void **state) {
  json_t *file = load("conversions"), *row;
  size_t i, n_rows = 0;
  json_array_foreach(json_object_get(file, "rows"), i, row) {
    if (!has_text(row, "mechanism", "zcdp")) {
      continue;
    }
    double rho = field(row, "rho"), log_delta = log(field(row, "delta")), alpha;
    double exact = field(row, "epsilon_gaussian_same_rho"),
           improved = field(row, "epsilon_canonne_kamath_steinke");
    assert_close(tacit_zcdp_epsilon(rho, log_delta) / field(row, "epsilon_bun_steinke"), 1, 1e-14);
    assert_close(tacit_rdp_gaussian_epsilon(rho, log_delta, &alpha), improved, 1e-12 * (1 + improved));
    assert_true(improved <= 0 || fabs(alpha / field(row, "optimal_alpha") - 1) < 1e-6);
    double upper = tacit_gaussian_epsilon(rho, log_delta),
           lower = tacit_gaussian_epsilon_lower(rho, log_delta);
    assert_true(upper >= exact * (1 - 2e-15) && lower <= exact * (1 + 2e-15));
    assert_true(upper - lower <= 1e-12 * (exact + sqrt(rho)));
    n_rows++;
  }
  assert_int_equal(n_rows, 37);
  json_decref(file);
}

static void check_inversion_row(const json_t *row) {
  double sigma = field(row, "sigma_over_sensitivity"), epsilon = field(row, "epsilon"),
         delta = field(row, "delta");
  tacit_error_t err;
  uint64_t k;
  if (has_text(row, "query", "max_compositions")) {
    tacit_event_t event = gaussian(sigma, 1);
    assert_ok(tacit_account_max_repetitions(NULL, 0, &event, 1, NULL, epsilon, delta, &k, &err), err);
    assert_int_equal(k, (uint64_t)field(row, "max_compositions"));
    return;
  }
  /* just enough noise, and just too little */
  uint64_t compositions = (uint64_t)field(row, "compositions");
  for (int side = -1; side <= 1; side += 2) {
    tacit_event_t event = gaussian(sigma * (1 + side * 1e-12), compositions);
    assert_ok(tacit_account_max_repetitions(NULL, 0, &event, 1, NULL, epsilon, delta, &k, &err), err);
    assert_int_equal(k, side > 0);
  }
}

static void test_shared_inversion_rows(void **state) {
  json_t *file = load("inversion"), *row;
  size_t i, n_rows = 0;
  json_array_foreach(json_object_get(file, "rows"), i, row) {
    if (has_text(row, "mechanism", "gaussian")) {
      check_inversion_row(row);
      n_rows++;
    }
  }
  assert_int_equal(n_rows, 196);
  json_decref(file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_delta_table),
      cmocka_unit_test(test_epsilon_table),
      cmocka_unit_test(test_count_table),
      cmocka_unit_test(test_shared_gaussian_rows),
      cmocka_unit_test(test_shared_conversion_rows),
      cmocka_unit_test(test_shared_inversion_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
