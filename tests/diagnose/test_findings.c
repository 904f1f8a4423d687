/* Chains made to be wrong in one way each: the finding names it, and sound chains have none. */
#include <string.h>

#include "tacit/diagnose.h"
#include "tacit/random.h"
#include "testing.h"

enum { n_chains = 4, n_draws = 400 };

static const char *const labels[] = {"x"};

static void make(tacit_draws_t *draws, double correlation, double apart, double drift, size_t repeat) {
  tacit_error_t err;
  unsigned char key[32];
  assert_ok(tacit_draws_init(draws, n_chains, 0, n_draws, 1, &err), err);
  draws->n_saved = n_draws;
  for (size_t c = 0; c < n_chains; c++) {
    tacit_rng_t *rng;
    tacit_rng_key_from_seed(key, 5);
    assert_ok(tacit_rng_new(&rng, key, c, &err), err);
    double x = tacit_rng_normal(rng);
    for (size_t i = 0; i < n_draws; i++) {
      x = i % repeat == 0 ? correlation * x + sqrt(1 - correlation * correlation) * tacit_rng_normal(rng) : x;
      *tacit_draws_row(draws, c, i) = x + apart * (double)c + (i % repeat == 0 ? drift * (double)i / n_draws : 0);
    }
    tacit_rng_free(rng);
  }
}

static void expect(double correlation, double apart, double drift, size_t repeat, tacit_severity_t worst, const char *what) {
  tacit_draws_t draws;
  tacit_findings_t findings;
  tacit_error_t err;
  make(&draws, correlation, apart, drift, repeat);
  assert_ok(tacit_diagnose(&draws, labels, &findings, &err), err);
  assert_int_equal(findings.worst, worst);
  bool is_said = what == NULL;
  for (size_t i = 0; i < findings.n; i++) {
    is_said = is_said || strstr(findings.items[i].what, what) != NULL;
  }
  if (!is_said) {
    fail_msg("nothing about '%s', but: %s", what, findings.n > 0 ? findings.items[0].what : "nothing");
  }
  tacit_draws_clear(&draws);
}

static void test_findings(void **state) {
  (void)state;
  expect(0, 0, 0, 1, TACIT_SEVERITY_NOTE, NULL);
  expect(0, 2, 0, 1, TACIT_SEVERITY_PROBLEM, "the chains disagree");
  expect(0.98, 0, 0, 1, TACIT_SEVERITY_PROBLEM, "independent ones");
  expect(0, 0, 1, 1, TACIT_SEVERITY_WARNING, "drifts");
  expect(0, 0, 0, 400, TACIT_SEVERITY_PROBLEM, "hardly ever moved");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_findings)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
