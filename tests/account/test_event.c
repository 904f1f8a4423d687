/* Events: their text, and how often one may be repeated within a guarantee. */
#include "account/account.h"
#include "support.h"

static void test_event_parse(void **state) {
  tacit_event_t event;
  tacit_error_t err;
  const char *good[] = {"gaussian:sigma=20", "gaussian:sigma=.5", "gaussian:sigma=2e1",
                        "gaussian:sigma=20.0"};
  double values[] = {20, 0.5, 20, 20};
  for (size_t i = 0; i < 4; i++) {
    assert_ok(tacit_event_parse(&event, good[i], &err), err);
    assert_close(event.noise_multiplier, values[i], 0);
    assert_int_equal(event.count, 1);
  }
  static const struct {
    const char *text;
    tacit_status_t status;
    const char *says;
  } bad[] = {{"", TACIT_ERR_UNKNOWN, "unknown mechanism"},
             {"laplace:1", TACIT_ERR_SYNTAX, "as in laplace:scale=B"},
             {"laplac:scale=1", TACIT_ERR_UNKNOWN, "did you mean 'laplace'"},
             {"gauss:sigma=1", TACIT_ERR_UNKNOWN, "unknown mechanism"},
             {"gaussian ", TACIT_ERR_UNKNOWN, "unknown mechanism"},
             {"gaussian", TACIT_ERR_SYNTAX, "gaussian:sigma=S"},
             {"gaussian:", TACIT_ERR_SYNTAX, "gaussian:sigma=S"},
             {"gaussian:sigma", TACIT_ERR_SYNTAX, "gaussian:sigma=S"},
             {"gaussian:20", TACIT_ERR_SYNTAX, "gaussian:sigma=S"},
             {"gaussian:sigma=1,", TACIT_ERR_SYNTAX, "gaussian:sigma=S"},
             {"gaussian:,sigma=1", TACIT_ERR_SYNTAX, "gaussian:sigma=S"},
             {"gaussian:scale=1", TACIT_ERR_UNKNOWN, "unknown key 'scale'"},
             {"gaussian:sigma=1,count=3", TACIT_ERR_UNKNOWN, "unknown key 'count'"},
             {"gaussian:=1", TACIT_ERR_UNKNOWN, "unknown key ''"},
             {"gaussian:sigma=1,sigma=2", TACIT_ERR_SYNTAX, "given twice"},
             {"gaussian:sigma=", TACIT_ERR_SYNTAX, "finite number: noise sd / sensitivity, from 0"},
             {"approximate:epsilon=0", TACIT_ERR_SYNTAX, "finite number: a number above 0"},
             {"gaussian:sigma=-1", TACIT_ERR_SYNTAX, "finite number: noise sd / sensitivity, from 0"},
             {"gaussian:sigma=1x", TACIT_ERR_SYNTAX, "finite number: noise sd / sensitivity, from 0"},
             {"gaussian:sigma=1=2", TACIT_ERR_SYNTAX, "finite number: noise sd / sensitivity, from 0"},
             {"gaussian:sigma=0x10", TACIT_ERR_SYNTAX, "finite number: noise sd / sensitivity, from 0"},
             {"gaussian:sigma=nan", TACIT_ERR_SYNTAX, "finite number: noise sd / sensitivity, from 0"},
             {"gaussian:sigma=inf", TACIT_ERR_SYNTAX, "finite number: noise sd / sensitivity, from 0"},
             {"gaussian:sigma=1e9999", TACIT_ERR_SYNTAX, "finite number: noise sd / sensitivity, from 0"}};
  for (size_t i = 0; i < LENGTH(bad); i++) {
    assert_int_equal(tacit_event_parse(&event, bad[i].text, &err), bad[i].status);
    assert_non_null(strstr(err.message, bad[i].says));
    assert_int_equal(tacit_event_parse(&event, bad[i].text, NULL), bad[i].status);
  }
  assert_true(tacit_event_names_file("gaussian-mixture:x") && tacit_event_names_file("pair:x") &&
              tacit_event_names_file("profile:x"));
  assert_false(tacit_event_names_file("gaussian:sigma=1") || tacit_event_names_file("") ||
               tacit_event_names_file("pairs:x"));
  char text[5000]; /* the message still says what to do */
  memset(text, 'g', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  assert_int_equal(tacit_event_parse(&event, text, &err), TACIT_ERR_UNKNOWN);
  assert_non_null(strstr(err.message, "unknown mechanism"));
}

static void test_max_repetitions_edges(void **state) {
  tacit_event_t event = gaussian(3, 1), costless = gaussian(INFINITY, 1), big = gaussian(0.01, 1);
  tacit_event_t dear = gaussian(1e-200, 1), cheap = gaussian(1e12, 1);
  uint64_t k;
  tacit_error_t err;
  assert_ok(tacit_account_max_repetitions(NULL, 0, &costless, 1, NULL, 1, 1e-6, &k, &err), err);
  assert_true(k == UINT64_MAX);
  assert_ok(tacit_account_max_repetitions(&event, 1, NULL, 0, NULL, 10, 1e-6, &k, &err), err);
  assert_true(k == UINT64_MAX);
  assert_ok(tacit_account_max_repetitions(NULL, 0, &cheap, 1, NULL, 1, 1e-6, &k, &err), err);
  assert_int_equal(k, TACIT_MAX_COUNT);
  assert_ok(tacit_account_max_repetitions(NULL, 0, &big, 1, NULL, 1, 1e-6, &k, &err), err);
  assert_int_equal(k, 0);
  assert_ok(tacit_account_max_repetitions(NULL, 0, &dear, 1, NULL, 1, 1e-6, &k, &err), err);
  assert_int_equal(k, 0);
  assert_ok(tacit_account_max_repetitions(NULL, 0, &event, 1, NULL, 0, 1e-6, &k, &err), err);
  assert_int_equal(k, 0);
  assert_int_equal(tacit_account_max_repetitions(&big, 1, &event, 1, NULL, 1, 1e-6, &k, &err),
                   TACIT_ERR_BUDGET);
  const double bad[][2] = {{-1, 1e-6}, {NAN, 1e-6}, {INFINITY, 1e-6}, {1, 0}, {1, 1}, {1, NAN}};
  for (size_t i = 0; i < LENGTH(bad); i++) {
    assert_int_equal(tacit_account_max_repetitions(NULL, 0, &event, 1, NULL, bad[i][0], bad[i][1], &k, &err),
                     TACIT_ERR_ARGUMENT);
  }
}

/* k repetitions fit, k + 1 do not; more epsilon or delta never buys fewer; and a budget pays for k, one by
 * one. */
static void test_max_repetitions_is_the_largest(void **state) {
  uint64_t seed = 19;
  for (int i = 0; i < (int)(10000 * testing_multiplier()); i++) {
    tacit_event_t fixed = gaussian(log_uniform(&seed, 1, 3), 1),
                  event = gaussian(log_uniform(&seed, 0, 3), 1);
    double epsilon = log_uniform(&seed, -0.3, 1.5), delta = log_uniform(&seed, -12, -1),
           up = 1 + uniform(&seed);
    uint64_t k, more;
    tacit_error_t err;
    tacit_status_t status =
        tacit_account_max_repetitions(&fixed, 1, &event, 1, NULL, epsilon, delta, &k, &err);
    if (status == TACIT_ERR_BUDGET) {
      assert_true(tacit_gaussian_epsilon(tacit_event_rho(&fixed), log(delta)) >= epsilon * (1 - 1e-12));
      continue;
    }
    assert_int_equal(status, TACIT_OK);
    double each = tacit_event_rho(&event), base = tacit_event_rho(&fixed);
    assert_true(tacit_gaussian_log_delta(base + each * (double)k, epsilon) <= log(delta));
    assert_true(tacit_gaussian_log_delta((base + each * ((double)k + 1)) * (1 + 1e-14), epsilon) >
                log(delta) - 1e-11);
    assert_ok(tacit_account_max_repetitions(&fixed, 1, &event, 1, NULL, epsilon * up, delta, &more, &err),
              err);
    assert_true(more >= k);
    assert_ok(tacit_account_max_repetitions(&fixed, 1, &event, 1, NULL, epsilon, fmin(delta * up, 0.5), &more,
                                            &err),
              err);
    assert_true(more >= k);
    if (k > 1000) {
      continue;
    }
    tacit_budget_t *budget;
    assert_ok(tacit_budget_new(&budget, epsilon, delta, TACIT_RELATION_SUBSTITUTE, &err), err);
    assert_ok(tacit_budget_charge(budget, &fixed, &err), err);
    for (uint64_t j = 0; j < k; j++) {
      assert_ok(tacit_budget_charge(budget, &event, &err), err);
    }
    assert_int_equal(tacit_budget_charge(budget, &event, &err), TACIT_ERR_BUDGET);
    tacit_budget_free(budget);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_event_parse),
      cmocka_unit_test(test_max_repetitions_edges),
      cmocka_unit_test(test_max_repetitions_is_the_largest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
