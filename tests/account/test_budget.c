#include <string.h>

#include "account/account_internal.h"
#include "testing.h"

static tacit_event_t gaussian(double sigma, uint64_t count) {
  return (tacit_event_t){.noise_multiplier = sigma, .count = count, .label = "gradient"};
}

static void test_budget_rejects_bad_guarantees(void **state) {
  (void)state;
  double bad_epsilon[] = {0, -1, NAN, INFINITY}, bad_delta[] = {0, 1, 2, -1e-6, NAN};
  tacit_budget_t *budget;
  tacit_error_t err;
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(tacit_budget_new(&budget, bad_epsilon[i], 1e-6, TACIT_RELATION_SUBSTITUTE, &err),
                     TACIT_ERR_ARGUMENT);
    assert_null(budget);
    assert_string_equal(err.field, "epsilon");
  }
  for (size_t i = 0; i < 5; i++) {
    assert_int_equal(tacit_budget_new(&budget, 1, bad_delta[i], TACIT_RELATION_SUBSTITUTE, &err),
                     TACIT_ERR_ARGUMENT);
    assert_string_equal(err.field, "delta");
  }
  tacit_budget_free(NULL);
}

static void test_bad_events_are_refused_and_not_charged(void **state) {
  (void)state;
  tacit_budget_t *budget;
  tacit_error_t err;
  assert_ok(tacit_budget_new(&budget, 1, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), err);
  tacit_event_t bad[] = {gaussian(0, 1), gaussian(-1, 1), gaussian(NAN, 1), gaussian(1, 0), gaussian(9, 1)};
  bad[4].kind = (tacit_event_kind_t)77;
  for (size_t i = 0; i < 5; i++) {
    assert_int_equal(tacit_budget_charge(budget, &bad[i], &err), TACIT_ERR_ARGUMENT);
  }
  tacit_event_t huge[] = {gaussian(1e-200, 1), gaussian(1, UINT64_MAX), gaussian(5e-324, UINT64_MAX)};
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(tacit_budget_charge(budget, &huge[i], &err), TACIT_ERR_BUDGET);
  }
  assert_true(tacit_budget_rho_spent(budget) <= 0);
  size_t n;
  tacit_budget_events(budget, &n);
  assert_int_equal(n, 0);
  assert_true(tacit_budget_spent(budget).epsilon <= 0);
  tacit_event_t unlabelled = gaussian(9, 1);
  memset(unlabelled.label, 'x', sizeof unlabelled.label);
  assert_int_equal(tacit_budget_charge(budget, &unlabelled, &err), TACIT_ERR_ARGUMENT);
  tacit_budget_free(budget);
}

static void test_refusal_says_what_would_fit(void **state) {
  (void)state;
  tacit_budget_t *budget;
  tacit_error_t err;
  assert_ok(tacit_budget_new(&budget, 2, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), err);
  tacit_event_t event = gaussian(10, 1000);
  assert_int_equal(tacit_budget_charge(budget, &event, &err), TACIT_ERR_BUDGET);
  assert_non_null(strstr(err.message, "room for 20 more"));
  event.count = 20;
  assert_ok(tacit_budget_charge(budget, &event, &err), err);
  event.count = 1;
  assert_int_equal(tacit_budget_charge(budget, &event, &err), TACIT_ERR_BUDGET);
  assert_non_null(strstr(err.message, "room for 0 more"));
  tacit_budget_free(budget);
}

/* Random adaptive sequences: what is charged composes to at most the budget, to the last bit. */
static void test_budget_is_never_exceeded(void **state) {
  (void)state;
  uint64_t seed = 3;
  for (int round = 0; round < (int)(300 * testing_multiplier()); round++) {
    tacit_budget_t *budget;
    tacit_error_t err;
    double epsilon = 0.1 * (double)(1 + round % 100), delta = pow(10, -(double)(1 + round % 17));
    assert_ok(tacit_budget_new(&budget, epsilon, delta, TACIT_RELATION_ADD_REMOVE, &err), err);
    for (int i = 0; i < 400; i++) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      tacit_event_t event = gaussian(pow(10, 3 * (double)(seed >> 11) * 0x1p-53), 1 + seed % 3);
      tacit_status_t status = tacit_budget_charge(budget, &event, &err);
      assert_true(status == TACIT_OK || status == TACIT_ERR_BUDGET);
      assert_true(tacit_budget_rho_spent(budget) <= tacit_budget_rho(budget));
    }
    size_t n;
    const tacit_event_t *events = tacit_budget_events(budget, &n);
    tacit_guarantee_t guarantee;
    assert_ok(tacit_accountant_find("auto")->epsilon(events, n, delta, &guarantee, &err), err);
    assert_true(guarantee.epsilon <= epsilon * (1 + 1e-9));
    assert_true(tacit_budget_spent(budget).epsilon <= epsilon);
    assert_close(tacit_budget_spent(budget).epsilon / guarantee.epsilon, 1, 1e-9);
    tacit_budget_free(budget);
  }
}

static void test_equal_events_are_merged(void **state) {
  (void)state;
  tacit_budget_t *budget;
  tacit_error_t err;
  assert_ok(tacit_budget_new(&budget, 10, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), err);
  for (int i = 0; i < 1000; i++) {
    tacit_event_t event = gaussian(i % 2 ? 100 : 200, 1);
    assert_ok(tacit_budget_charge(budget, &event, &err), err);
  }
  size_t n;
  const tacit_event_t *events = tacit_budget_events(budget, &n);
  assert_int_equal(n, 2);
  assert_int_equal(events[0].count, 500);
  assert_int_equal(events[1].count, 500);
  tacit_budget_free(budget);
}

static void test_failed_allocation_charges_nothing(void **state) {
  (void)state;
  tacit_budget_t *budget;
  tacit_error_t err;
  tacit_alloc_fail_at(1);
  assert_int_equal(tacit_budget_new(&budget, 1, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), TACIT_ERR_MEMORY);
  assert_ok(tacit_budget_new(&budget, 1, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), err);
  tacit_event_t event = gaussian(50, 1);
  tacit_alloc_fail_at(1);
  assert_int_equal(tacit_budget_charge(budget, &event, &err), TACIT_ERR_MEMORY);
  assert_true(tacit_budget_rho_spent(budget) <= 0);
  assert_ok(tacit_budget_charge(budget, &event, &err), err);
  tacit_budget_free(budget);
}

static void test_accountants_agree_and_never_undercut_the_exact_one(void **state) {
  (void)state;
  tacit_event_t events[] = {gaussian(20, 100), gaussian(INFINITY, 5), gaussian(7, 3)};
  tacit_error_t err;
  for (size_t i = 0; tacit_accountant_get(i) != NULL; i++) {
    const tacit_accountant_t *accountant = tacit_accountant_get(i);
    assert_ptr_equal(tacit_accountant_find(accountant->name), accountant);
    tacit_guarantee_t by_delta, by_epsilon, exact;
    assert_ok(accountant->epsilon(events, 3, 1e-6, &by_delta, &err), err);
    assert_ok(tacit_accountant_find("gaussian")->epsilon(events, 3, 1e-6, &exact, &err), err);
    assert_true(by_delta.epsilon >= exact.epsilon && by_delta.epsilon_lower <= exact.epsilon);
    assert_ok(accountant->delta(events, 3, by_delta.epsilon, &by_epsilon, &err), err);
    assert_close(by_epsilon.delta / 1e-6, 1, 1e-8);
    assert_int_equal(accountant->epsilon(events, 3, 0, &exact, &err), TACIT_ERR_ARGUMENT);
    assert_int_equal(accountant->delta(events, 3, NAN, &exact, &err), TACIT_ERR_ARGUMENT);
    assert_ok(accountant->epsilon(NULL, 0, 1e-6, &exact, &err), err);
    assert_true(exact.epsilon <= 0);
  }
  assert_null(tacit_accountant_find("nonsense"));
}

static void test_event_parse(void **state) {
  (void)state;
  tacit_event_t event;
  tacit_error_t err;
  const char *good[] = {"gaussian:sigma=20", "gaussian:sigma=.5", "gaussian:sigma=2e1", "gaussian:sigma=20.0"};
  double values[] = {20, 0.5, 20, 20};
  for (size_t i = 0; i < 4; i++) {
    assert_ok(tacit_event_parse(&event, good[i], &err), err);
    assert_close(event.noise_multiplier, values[i], 0);
    assert_int_equal(event.count, 1);
  }
  const char *bad[] = {"",          "gaussian",           "gaussian:",         "gaussian:sigma=",  "gaussian:sigma=0",
                       "laplace:1", "gaussian:sigma=-1",  "gaussian:sigma=1x", "gaussian:scale=1", "gaussian:sigma=nan",
                       "gauss:sigma=1", "gaussian:sigma=1e9999", "gaussian:sigma=1,sigma=2", "gaussian:sigma=0x10"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    tacit_status_t status = tacit_event_parse(&event, bad[i], &err);
    assert_true(status == TACIT_ERR_SYNTAX || status == TACIT_ERR_UNKNOWN);
    assert_true(strlen(err.message) > 20);
  }
}

static void test_max_repetitions_edges(void **state) {
  (void)state;
  tacit_event_t event = gaussian(3, 1), free_event = gaussian(INFINITY, 1), big = gaussian(0.01, 1);
  uint64_t k;
  tacit_error_t err;
  assert_ok(tacit_account_max_repetitions(NULL, 0, &free_event, 1, 1, 1e-6, &k, &err), err);
  assert_true(k == UINT64_MAX);
  assert_ok(tacit_account_max_repetitions(NULL, 0, &big, 1, 1, 1e-6, &k, &err), err);
  assert_int_equal(k, 0);
  assert_int_equal(tacit_account_max_repetitions(&big, 1, &event, 1, 1, 1e-6, &k, &err), TACIT_ERR_BUDGET);
  for (int i = 1; i < 2000; i++) { /* k fits, k + 1 does not */
    event.noise_multiplier = 1 + 0.05 * i;
    double epsilon = 0.05 * i;
    assert_ok(tacit_account_max_repetitions(NULL, 0, &event, 1, epsilon, 1e-6, &k, &err), err);
    double each = 0.5 / (event.noise_multiplier * event.noise_multiplier);
    assert_true(tacit_gaussian_epsilon(each * (double)k, log(1e-6)) <= epsilon * (1 + 1e-12));
    assert_true(tacit_gaussian_epsilon(each * ((double)k + 1) * (1 + 1e-12), log(1e-6)) > epsilon * (1 - 1e-12));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_budget_rejects_bad_guarantees),
      cmocka_unit_test(test_bad_events_are_refused_and_not_charged),
      cmocka_unit_test(test_refusal_says_what_would_fit),
      cmocka_unit_test(test_budget_is_never_exceeded),
      cmocka_unit_test(test_equal_events_are_merged),
      cmocka_unit_test(test_failed_allocation_charges_nothing),
      cmocka_unit_test(test_accountants_agree_and_never_undercut_the_exact_one),
      cmocka_unit_test(test_event_parse),
      cmocka_unit_test(test_max_repetitions_edges),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
