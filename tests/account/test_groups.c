/*
 * Bits in groups: the Gaussian releases of a group come before any of its bits, so that a group that is not
 * finished costs what a whole one does, whoever adds it up.
 *
 * Counting the bits alone fails each of these (1 bit of a group of 8: epsilon 5.22 where eight Gaussian
 * releases of sigma 1 cost 16.86).
 */
#include <string.h>

#include "account/account.h"
#include "support.h"

static const char *const specs[] = {"barker-bit:sensitivity=0.1,rho=0.5,together=8",
                                    "penalty-bit:sensitivity=0.1,sigma=2,rho=0.01,together=8",
                                    "probit-bit:sensitivity=0.1,sigma=1,rho=0.01,together=8",
                                    "arcsine-bit:sensitivity=0.1,kappa=0.5,cap=0.9,rho=0.01,together=8"};

/* By blocks of bits where they are followed in order, which is slow; by Renyi's bound alone where not. */
static double epsilon_of(const tacit_accountant_t *accountant, const char *spec, uint64_t count,
                         bool is_in_order) {
  const tacit_account_options_t options = {.is_in_order = is_in_order, .is_quick = !is_in_order};
  const tacit_event_t events[] = {gaussian(1e3, 1), parse(spec, count)};
  tacit_guarantee_t guarantee;
  tacit_status_t status = tacit_account_epsilon(accountant, events, 2, &options, 1e-6, &guarantee, NULL);
  assert_true(status == TACIT_OK || status == TACIT_ERR_ARGUMENT);
  return status == TACIT_OK ? guarantee.epsilon : NAN;
}

static void test_every_accountant_counts_whole_groups(void **unused) {
  size_t n_answers = 0;
  const tacit_accountant_t *accountant;
  for (size_t a = 0; (accountant = tacit_accountant_get(a)) != NULL; a++) {
    for (size_t s = 0; s < LENGTH(specs); s++) {
      for (uint64_t groups = 1; groups <= 3; groups += 2) {
        uint64_t part = 8 * (groups - 1) + 1 + (a + s) % 7;
        bool is_in_order = a == 0 && s == 0;
        double whole = epsilon_of(accountant, specs[s], 8 * groups, is_in_order);
        n_answers += !isnan(whole) ? 1 : 0;
        assert_true(isnan(whole) ||
                    fabs(epsilon_of(accountant, specs[s], part, is_in_order) / whole - 1) < 1e-12);
      }
    }
  }
  assert_int_equal(
      n_answers,
      2 * (4 + 4 + 3)); /* auto and rdp; zcdp has no bound of the arcsine rule; the others refuse bits */
}

static void test_deltas(void **unused) {
  tacit_error_t err;
  const tacit_account_options_t options = {.is_quick = true};
  for (size_t s = 0; s < 2; s++) {
    tacit_guarantee_t guarantees[2];
    for (int i = 0; i < 2; i++) {
      const tacit_event_t event = parse(specs[s], i == 0 ? 9 : 16);
      assert_ok(tacit_account_delta(NULL, &event, 1, &options, 3, &guarantees[i], &err), err);
    }
    assert_close(guarantees[0].delta / guarantees[1].delta, 1, 1e-12);
  }
}

/* The eight Gaussian releases of one group are within rho 1.69, epsilon 5.3, for none of its counts. */
static void test_budgets_admit_no_unfinished_group(void **unused) {
  tacit_error_t err;
  const tacit_account_options_t options = {.is_quick = true};
  for (uint64_t count = 1; count <= 8; count += 7) {
    const tacit_event_t event = parse(specs[0], count), one = parse(specs[0], 1);
    tacit_budget_t *budget;
    uint64_t k;
    assert_ok(tacit_budget_new(&budget, 5.3, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), err);
    assert_int_equal(tacit_budget_set_schedule(budget, &event, 1, &err), TACIT_ERR_BUDGET);
    assert_int_equal(tacit_budget_charge(budget, &event, &err), TACIT_ERR_BUDGET);
    assert_non_null(strstr(err.message, "has room for 0 more"));
    tacit_budget_free(budget);
    assert_ok(tacit_account_max_repetitions(NULL, 0, &event, 1, &options, 5.3, 1e-6, &k, &err), err);
    assert_int_equal(k, 0);
    assert_ok(tacit_account_max_repetitions(NULL, 0, &one, 1, &options, 19, 1e-6, &k, &err), err);
    assert_int_equal(k, 8);
  }
}

static bool admits(uint64_t count, uint64_t releases) {
  const tacit_event_t event = parse(specs[0], count), release = gaussian(1, releases);
  tacit_budget_t *budget;
  tacit_error_t err;
  assert_ok(tacit_budget_new(&budget, 60, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), err);
  assert_ok(tacit_budget_set_schedule(budget, &event, 1, &err), err);
  bool answer = tacit_budget_charge(budget, &release, &err) == TACIT_OK;
  tacit_budget_free(budget);
  return answer;
}

/* What a group takes is bounded by its own bits, too. */
static void test_the_last_group_takes_no_more_than_its_bits(void **unused) {
  assert_true(admits(3, 3));
  assert_false(admits(3, 4));
  assert_false(admits(11, 9));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_accountant_counts_whole_groups),
      cmocka_unit_test(test_deltas),
      cmocka_unit_test(test_budgets_admit_no_unfinished_group),
      cmocka_unit_test(test_the_last_group_takes_no_more_than_its_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
