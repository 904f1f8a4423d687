/*
 * No combination of released numbers ends a fit without an answer: fifty fits each of data that used to fail
 * after their budget was spent. Rare two-valued features with clamped means as the second moments' centre
 * made a matrix that was not positive; a column beyond its bound is constant.
 */
#include <stdlib.h>
#include <string.h>

#include "noise_aware/simulation.h"
#include "tacit/fit.h"
#include "testing.h"

static const char *root; /* of the sources */

static tacit_status_t fit_flchain(const char *formula, const char *epsilon, int seed, tacit_error_t *err) {
  char path[1024], number[16];
  tacit_fit_t *fit;
  tacit_status_t status = tacit_fit_new(&fit, formula, err);
  snprintf(path, sizeof path, "%s/data/flchain/flchain.yaml", root);
  snprintf(number, sizeof number, "%d", seed);
  const char *const settings[][2] = {{"family", "bernoulli"}, {"schema", path}, {"epsilon", epsilon},
                                     {"delta", "1e-6"},       {"seed", number}, {"chains", "2"},
                                     {"warmup", "40"},        {"draws", "20"}};
  for (size_t i = 0; i < sizeof settings / sizeof settings[0] && status == TACIT_OK; i++) {
    status = tacit_fit_set(fit, settings[i][0], settings[i][1], err);
  }
  snprintf(path, sizeof path, "%s/data/flchain/flchain.csv", root);
  if (status == TACIT_OK) {
    status = tacit_fit_read(fit, path, err);
  }
  if (status == TACIT_OK) {
    status = tacit_fit_run(fit, NULL, NULL, err);
  }
  const tacit_draws_t *draws = tacit_fit_draws(fit);
  for (size_t i = 0; status == TACIT_OK && i < draws->n_chains * draws->n_saved * draws->n_reported; i++) {
    assert_true(isfinite(draws->values[i]));
  }
  tacit_fit_free(fit);
  return status;
}

static void check_formula(const char *formula) {
  static const char *const budgets[] = {"1", "0.3", "3"};
  for (int seed = 0; seed < 50; seed++) {
    tacit_error_t err;
    assert_ok(fit_flchain(formula, budgets[seed < 30 ? 0 : seed % 2 + 1], seed, &err), err);
  }
}

static void test_rare_two_valued_features_are_answered(void **state) {
  (void)state;
  check_formula("death ~ age + sex + mgus + creatinine");
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rare_two_valued_features_are_answered)};
  if (argc < 2) {
    return 77;
  }
  root = argv[1];
  return cmocka_run_group_tests(tests, NULL, NULL);
}
