/*
 * Events, accountants and budgets: what is refused, that refusals charge nothing, and that no sequence of
 * charges passes a budget.
 */
#include "account/account.h"
#include "base/memory.h"
#include "support.h"

#include <float.h>
#include <string.h>

static void test_budget_rejects_bad_guarantees(void **state) {
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
  tacit_budget_t *budget;
  tacit_error_t err;
  assert_ok(tacit_budget_new(&budget, 1, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), err);
  tacit_event_t bad[] = {gaussian(0, 1),
                         gaussian(-1, 1),
                         gaussian(NAN, 1),
                         gaussian(-INFINITY, 1),
                         gaussian(1, 0),
                         gaussian(1, UINT64_MAX),
                         gaussian(1e30, TACIT_MAX_COUNT + 1),
                         gaussian(9, 1),
                         gaussian(9, 1)};
  const char *const fields[] = {"sigma", "sigma", "sigma", "sigma", "count",
                                "count", "count", "kind",  "label"};
  bad[7].kind = (tacit_event_kind_t)77;
  memset(bad[8].label, 'x', sizeof bad[8].label);
  for (size_t i = 0; i < LENGTH(bad); i++) {
    tacit_guarantee_t guarantee;
    uint64_t k;
    assert_int_equal(tacit_budget_charge(budget, &bad[i], &err), TACIT_ERR_ARGUMENT);
    assert_string_equal(err.field, fields[i]);
    assert_int_equal(tacit_budget_charge(budget, &bad[i], NULL), TACIT_ERR_ARGUMENT);
    assert_int_equal(tacit_account_max_repetitions(&bad[i], 1, NULL, 0, NULL, 1, 1e-6, &k, &err),
                     TACIT_ERR_ARGUMENT);
    assert_int_equal(tacit_account_max_repetitions(NULL, 0, &bad[i], 1, NULL, 1, 1e-6, &k, &err),
                     TACIT_ERR_ARGUMENT);
    for (size_t j = 0; i > 0 && tacit_accountant_get(j) != NULL;
         j++) { /* no noise costs all there is: account-limits */
      assert_int_equal(
          tacit_account_epsilon(tacit_accountant_get(j), &bad[i], 1, NULL, 1e-6, &guarantee, &err),
          TACIT_ERR_ARGUMENT);
      assert_int_equal(tacit_account_delta(tacit_accountant_get(j), &bad[i], 1, NULL, 1, &guarantee, &err),
                       TACIT_ERR_ARGUMENT);
    }
  }
  tacit_event_t dear[] = {gaussian(1e-200, 1), gaussian(1, TACIT_MAX_COUNT),
                          gaussian(DBL_TRUE_MIN, TACIT_MAX_COUNT)};
  for (size_t i = 0; i < LENGTH(dear); i++) {
    assert_int_equal(tacit_budget_charge(budget, &dear[i], &err), TACIT_ERR_BUDGET);
  }
  assert_close(tacit_budget_rho_spent(budget), 0, 0);
  size_t n;
  tacit_budget_events(budget, &n);
  assert_int_equal(n, 0);
  assert_close(tacit_budget_spent(budget).epsilon, 0, 0);
  tacit_budget_free(budget);
}

static void test_refusal_says_what_would_fit(void **state) {
  tacit_budget_t *budget;
  tacit_error_t err;
  assert_ok(tacit_budget_new(&budget, 2, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), err);
  tacit_event_t event = gaussian(10, 1000);
  assert_int_equal(tacit_budget_charge(budget, &event, &err), TACIT_ERR_BUDGET);
  assert_string_equal(err.message,
                      "the budget (epsilon 2, delta 1e-06) has room for 20 more releases with noise "
                      "multiplier 10, not for 1000");
  event.count = 19;
  assert_ok(tacit_budget_charge(budget, &event, &err), err);
  event.count = 2;
  assert_int_equal(tacit_budget_charge(budget, &event, &err), TACIT_ERR_BUDGET);
  assert_non_null(strstr(err.message, "room for 1 more release with"));
  event.count = 1;
  assert_ok(tacit_budget_charge(budget, &event, &err), err);
  assert_int_equal(tacit_budget_charge(budget, &event, &err), TACIT_ERR_BUDGET);
  assert_non_null(strstr(err.message, "room for 0 more releases"));
  tacit_budget_free(budget);
}

/* The count in a refusal is the very largest that a charge accepts. */
static void test_what_a_refusal_offers_fits_exactly(void **state) {
  uint64_t seed = 5;
  for (int i = 0; i < (int)(1000 * testing_multiplier()); i++) {
    tacit_budget_t *budget;
    tacit_error_t err;
    assert_ok(tacit_budget_new(&budget, log_uniform(&seed, -2, 2), log_uniform(&seed, -12, -1),
                               TACIT_RELATION_SUBSTITUTE, &err),
              err);
    tacit_event_t event = gaussian(log_uniform(&seed, -3, 8), TACIT_MAX_COUNT);
    assert_int_equal(tacit_budget_charge(budget, &event, &err), TACIT_ERR_BUDGET);
    uint64_t room = strtoull(strstr(err.message, "room for ") + 9, NULL, 10);
    event.count = room + 1;
    assert_int_equal(tacit_budget_charge(budget, &event, &err), TACIT_ERR_BUDGET);
    event.count = room;
    assert_true(room == 0 || tacit_budget_charge(budget, &event, &err) == TACIT_OK);
    assert_true(tacit_budget_rho_spent(budget) <= tacit_budget_rho(budget));
    tacit_budget_free(budget);
  }
}

/* Random adaptive sequences: what is charged composes to at most the budget, to the last bit. */
static void test_budget_is_never_exceeded(void **state) {
  uint64_t seed = 3;
  for (int round = 0; round < (int)(300 * testing_multiplier()); round++) {
    tacit_budget_t *budget;
    tacit_error_t err;
    double epsilon = 0.1 * (double)(1 + round % 100), delta = pow(10, -(double)(1 + round % 17));
    assert_ok(tacit_budget_new(&budget, epsilon, delta, TACIT_RELATION_ADD_REMOVE, &err), err);
    long double total = 0; /* of all that was charged, by another sum */
    for (int i = 0; i < 400; i++) {
      tacit_event_t event = gaussian(log_uniform(&seed, 0, 3), 1 + (uint64_t)(3 * uniform(&seed)));
      tacit_status_t status = tacit_budget_charge(budget, &event, &err);
      assert_true(status == TACIT_OK || status == TACIT_ERR_BUDGET);
      long double sigma = event.noise_multiplier;
      total += status == TACIT_OK ? 0.5L * (long double)event.count / (sigma * sigma) : 0;
      assert_true(total <= (long double)tacit_budget_rho_spent(budget));
      assert_true(tacit_budget_rho_spent(budget) <= tacit_budget_rho(budget));
    }
    size_t n;
    const tacit_event_t *events = tacit_budget_events(budget, &n);
    tacit_guarantee_t guarantee;
    assert_ok(tacit_account_epsilon(tacit_accountant_find("auto"), events, n, NULL, delta, &guarantee, &err),
              err);
    assert_true(guarantee.epsilon <= epsilon * (1 + 1e-13));
    assert_true(tacit_budget_spent(budget).epsilon <= epsilon);
    assert_close(tacit_budget_spent(budget).epsilon / guarantee.epsilon, 1, 1e-13);
    tacit_budget_free(budget);
  }
}

static void test_equal_events_are_merged(void **state) {
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
  tacit_event_t other = gaussian(100, 1);
  strcpy(other.label, "log-ratio");
  assert_ok(tacit_budget_charge(budget, &other, &err), err);
  tacit_event_t costless =
      gaussian(INFINITY, TACIT_MAX_COUNT); /* counts that no event could hold stay apart */
  double before = tacit_budget_rho_spent(budget);
  assert_ok(tacit_budget_charge(budget, &costless, &err), err);
  assert_ok(tacit_budget_charge(budget, &costless, &err), err);
  assert_close(tacit_budget_rho_spent(budget), before, 0);
  events = tacit_budget_events(budget, &n);
  assert_int_equal(n, 5);
  assert_string_equal(events[2].label, "log-ratio");
  tacit_budget_free(budget);
}

/* However small its cost, a release that costs something counts. */
static void test_tiny_costs_are_not_lost(void **state) {
  tacit_event_t wide = gaussian(1e157, TACIT_MAX_COUNT);
  assert_close(tacit_event_rho(&wide) / 5e-297, 1, 1e-15);
  tacit_budget_t *budget;
  tacit_error_t err;
  assert_ok(tacit_budget_new(&budget, 1, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), err);
  tacit_event_t tiny = gaussian(1e300, 1), large = gaussian(10, 1);
  assert_ok(tacit_budget_charge(budget, &tiny, &err), err);
  assert_true(tacit_budget_rho_spent(budget) > 0);
  assert_ok(tacit_budget_charge(budget, &large, &err), err);
  double with_large = tacit_budget_rho_spent(budget);
  tiny = gaussian(1e7, 1); /* 5e-15 each: the low part of the sum must carry them */
  for (int i = 0; i < 10000; i++) {
    assert_ok(tacit_budget_charge(budget, &tiny, &err), err);
  }
  assert_close((tacit_budget_rho_spent(budget) - with_large) / 5e-11, 1, 1e-6);
  tacit_budget_free(budget);
}

/* Fail each allocation in turn: nothing is charged, and the same call then succeeds. */
static void test_failed_allocation_charges_nothing(void **state) {
  tacit_budget_t *budget;
  tacit_error_t err;
  tacit_alloc_fail_at(1);
  assert_int_equal(tacit_budget_new(&budget, 1, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), TACIT_ERR_MEMORY);
  assert_null(budget);
  assert_ok(tacit_budget_new(&budget, 1, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), err);
  int n_failed = 0;
  for (int i = 0; i < 40; i++) { /* distinct, so that the array grows */
    tacit_event_t event = gaussian(100 + i, 1);
    double before = tacit_budget_rho_spent(budget);
    size_t n_before, n;
    tacit_budget_events(budget, &n_before);
    tacit_alloc_fail_at(1);
    if (tacit_budget_charge(budget, &event, &err) == TACIT_ERR_MEMORY) {
      tacit_budget_events(budget, &n);
      assert_int_equal(n, n_before);
      assert_close(tacit_budget_rho_spent(budget), before, 0);
      assert_ok(tacit_budget_charge(budget, &event, &err), err);
      n_failed++;
    }
    tacit_alloc_fail_at(0);
  }
  assert_int_equal(n_failed, 4); /* at 0, 8, 16 and 32 events */
  tacit_budget_free(budget);
}

static void test_accountants_agree_and_never_undercut_the_exact_one(void **state) {
  tacit_event_t events[] = {gaussian(20, 100), gaussian(INFINITY, 5), gaussian(7, 3)};
  tacit_error_t err;
  for (size_t i = 0; tacit_accountant_get(i) != NULL; i++) {
    const tacit_accountant_t *accountant = tacit_accountant_get(i);
    assert_ptr_equal(tacit_accountant_find(accountant->name), accountant);
    tacit_guarantee_t by_delta, by_epsilon, exact;
    assert_ok(tacit_account_epsilon(accountant, events, 3, NULL, 1e-6, &by_delta, &err), err);
    assert_ok(tacit_account_epsilon(tacit_accountant_find("gaussian"), events, 3, NULL, 1e-6, &exact, &err),
              err);
    assert_true(by_delta.epsilon >= exact.epsilon && by_delta.epsilon_lower <= exact.epsilon);
    assert_ok(tacit_account_delta(accountant, events, 3, NULL, by_delta.epsilon, &by_epsilon, &err), err);
    assert_close(by_epsilon.delta / 1e-6, 1, 1e-8);
    assert_ok(tacit_account_epsilon(accountant, events, 3, NULL, 0, &exact, &err), err);
    assert_true(isinf(exact.epsilon) && exact.epsilon > 0); /* no epsilon is enough at delta 0 */
    assert_int_equal(tacit_account_delta(accountant, events, 3, NULL, NAN, &exact, &err), TACIT_ERR_ARGUMENT);
    assert_ok(tacit_account_epsilon(accountant, NULL, 0, NULL, 1e-6, &exact, &err), err);
    assert_close(exact.epsilon, 0, 0);
  }
  assert_null(tacit_accountant_find("nonsense"));
  assert_null(tacit_accountant_find(NULL));
}

/* What a guarantee says is true: epsilon_lower, at its delta, does not hold, and delta is never rounded to 0.
 */
static void test_guarantees_are_certified(void **state) {
  uint64_t seed = 17;
  for (int i = 0; i < (int)(2000 * testing_multiplier()); i++) {
    tacit_event_t event = gaussian(log_uniform(&seed, -2, 4), 1 + (uint64_t)log_uniform(&seed, 0, 4));
    double epsilon = log_uniform(&seed, -2, 3), delta = log_uniform(&seed, -300, -0.1);
    double rho = tacit_event_rho(&event);
    for (size_t j = 0; tacit_accountant_get(j) != NULL; j++) {
      tacit_guarantee_t of_delta, of_epsilon;
      tacit_error_t err;
      assert_ok(tacit_account_delta(tacit_accountant_get(j), &event, 1, NULL, epsilon, &of_delta, &err), err);
      assert_ok(tacit_account_epsilon(tacit_accountant_get(j), &event, 1, NULL, delta, &of_epsilon, &err),
                err);
      assert_true(of_delta.delta > 0 && of_delta.delta <= 1);
      assert_true(of_delta.epsilon_lower <= epsilon && of_epsilon.epsilon_lower <= of_epsilon.epsilon);
      const tacit_guarantee_t *both[] = {&of_delta, &of_epsilon};
      for (size_t k = 0; k < 2; k++) {
        double truth = tacit_gaussian_log_delta(rho, both[k]->epsilon_lower);
        assert_true(both[k]->epsilon_lower <= 0 || truth >= log(both[k]->delta));
        assert_true(tacit_gaussian_log_delta(rho, both[k]->epsilon) <= log(both[k]->delta) * (1 - 1e-15));
      }
    }
  }
}

/* ---- schedules ---- */

static bool charges(tacit_budget_t *budget, const char *text, uint64_t count) {
  tacit_event_t event = parse(text, count);
  tacit_error_t err;
  tacit_status_t status = tacit_budget_charge(budget, &event, &err);
  assert_true(status == TACIT_OK || status == TACIT_ERR_BUDGET);
  return status == TACIT_OK;
}

static void test_schedules_follow_their_list(void **state) {
  const tacit_event_t events[] = {parse("poisson-gaussian:q=0.1,sigma=4", 5),
                                  parse("poisson-gaussian:q=0.1,sigma=5", 3), parse("laplace:scale=50", 2)};
  const tacit_account_options_t options = {.relation = TACIT_RELATION_ADD_REMOVE};
  tacit_guarantee_t all;
  tacit_budget_t *budget;
  tacit_error_t err;
  assert_ok(tacit_account_epsilon(NULL, events, 3, &options, 1e-6, &all, &err), err);
  assert_ok(tacit_budget_new(&budget, all.epsilon * 0.999, 1e-6, TACIT_RELATION_ADD_REMOVE, &err), err);
  assert_int_equal(tacit_budget_set_schedule(budget, events, 3, &err), TACIT_ERR_BUDGET);
  assert_int_equal(tacit_budget_set_schedule(budget, events, 0, &err), TACIT_ERR_ARGUMENT);
  assert_false(tacit_budget_is_scheduled(budget));
  assert_true(charges(budget, "gaussian:sigma=1000", 1));
  assert_int_equal(tacit_budget_set_schedule(budget, events, 1, &err), TACIT_ERR_STATE);
  tacit_budget_free(budget);
  assert_ok(tacit_budget_new(&budget, all.epsilon, 1e-6, TACIT_RELATION_ADD_REMOVE, &err), err);
  assert_ok(tacit_budget_set_schedule(budget, events, 3, &err), err);
  assert_close(tacit_budget_spent(budget).epsilon, 0, 0);
  assert_false(charges(budget, "poisson-gaussian:q=0.1,sigma=4", 6));
  assert_false(charges(budget, "gaussian:sigma=1000", 1));
  assert_true(charges(budget, "poisson-gaussian:q=0.1,sigma=4", 4));
  assert_false(charges(budget, "poisson-gaussian:q=0.1,sigma=4", 2));
  assert_true(charges(budget, "poisson-gaussian:q=0.1,sigma=5", 1)); /* forfeits the one left of the first */
  assert_false(charges(budget, "poisson-gaussian:q=0.1,sigma=4", 1));
  assert_true(charges(budget, "laplace:scale=50", 2));
  assert_false(charges(budget, "poisson-gaussian:q=0.1,sigma=5", 1));
  assert_false(charges(budget, "laplace:scale=50", 1));
  assert_close(tacit_budget_spent(budget).epsilon, all.epsilon, 0);
  size_t n;
  tacit_budget_events(budget, &n);
  assert_int_equal(n, 3);
  tacit_budget_free(budget);
}

/* Two chains: of every iteration the Gaussian releases of both come before both bits. */
static void test_schedules_of_bits(void **state) {
  const tacit_event_t events[] = {parse("gaussian:sigma=20", 2),
                                  parse("penalty-bit:sensitivity=0.1,sigma=1,rho=0.01,together=2", 6)};
  tacit_budget_t *budget;
  tacit_error_t err;
  assert_ok(tacit_budget_new(&budget, 4, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), err);
  assert_ok(tacit_budget_set_schedule(budget, events, 2, &err), err);
  const char *const bit = "penalty-bit:sensitivity=0.1,sigma=1", *const gradient =
                                                                     "gaussian:sigma=10"; /* rho 0.005 */
  assert_true(charges(budget, "gaussian:sigma=20", 2));
  assert_false(charges(budget, bit, 3));
  assert_false(charges(budget, gradient, 5));
  assert_true(charges(budget, gradient, 4)); /* the first group of three */
  assert_false(charges(budget, "penalty-bit:sensitivity=0.2,sigma=1", 1));
  assert_true(charges(budget, bit, 1));
  assert_true(charges(budget, gradient, 2)); /* the second: a bit is forfeited */
  assert_true(charges(budget, gradient, 2));
  assert_true(charges(budget, bit, 2));
  assert_true(charges(budget, bit, 1)); /* the third: nothing Gaussian any more */
  assert_true(charges(budget, bit, 1));
  assert_false(charges(budget, bit, 1));
  assert_false(charges(budget, gradient, 1));
  tacit_budget_free(budget);
}

/* Order within a group costs something, order of the whole more, and RDP knows neither. */
static void test_order_of_bits(void **state) {
  tacit_event_t events[] = {parse("gaussian:sigma=20", 2), parse("barker-bit:sensitivity=0.1,rho=0.001", 60)};
  tacit_account_options_t options = {.relation = TACIT_RELATION_SUBSTITUTE};
  tacit_guarantee_t any, ordered, together;
  tacit_error_t err;
  assert_ok(tacit_account_epsilon(NULL, events, 2, &options, 1e-6, &any, &err), err);
  options.is_in_order = true;
  assert_ok(tacit_account_epsilon(NULL, events, 2, &options, 1e-6, &ordered, &err), err);
  events[1].together = 4;
  assert_ok(tacit_account_epsilon(NULL, events, 2, &options, 1e-6, &together, &err), err);
  assert_string_equal(ordered.method, "bits");
  assert_true(ordered.epsilon < 0.98 * any.epsilon);
  assert_true(together.epsilon >= 0.999 * ordered.epsilon && together.epsilon < any.epsilon);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_schedules_follow_their_list),
      cmocka_unit_test(test_schedules_of_bits),
      cmocka_unit_test(test_order_of_bits),
      cmocka_unit_test(test_budget_rejects_bad_guarantees),
      cmocka_unit_test(test_bad_events_are_refused_and_not_charged),
      cmocka_unit_test(test_refusal_says_what_would_fit),
      cmocka_unit_test(test_what_a_refusal_offers_fits_exactly),
      cmocka_unit_test(test_budget_is_never_exceeded),
      cmocka_unit_test(test_equal_events_are_merged),
      cmocka_unit_test(test_tiny_costs_are_not_lost),
      cmocka_unit_test(test_failed_allocation_charges_nothing),
      cmocka_unit_test(test_accountants_agree_and_never_undercut_the_exact_one),
      cmocka_unit_test(test_guarantees_are_certified),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
