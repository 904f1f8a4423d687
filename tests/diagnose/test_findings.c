/* Chains made to be wrong in one way each: the finding names it, and sound chains have none. */
#include <string.h>

#include "diagnose/diagnose.h"
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
      *tacit_draws_row(draws, c, i) =
          x + apart * (double)c + (i % repeat == 0 ? drift * (double)i / n_draws : 0);
    }
    tacit_rng_free(rng);
  }
}

static void expect(double correlation, double apart, double drift, size_t repeat, tacit_severity_t worst,
                   const char *what) {
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
  expect(0, 0, 0, 1, TACIT_SEVERITY_NOTE, NULL);
  expect(0, 2, 0, 1, TACIT_SEVERITY_PROBLEM, "the chains disagree");
  expect(0.98, 0, 0, 1, TACIT_SEVERITY_PROBLEM, "independent ones");
  expect(0, 0, 1, 1, TACIT_SEVERITY_WARNING, "drifts");
  expect(0, 0, 0, 400, TACIT_SEVERITY_PROBLEM, "hardly ever moved");
}

/* w[1] = 0 in a program is no fault of the chains; that nothing at all varies is. */
static void test_constants(void **state) {
  static const char *const names[] = {"w[1]", "x"};
  for (size_t n_varying = 0; n_varying < 2; n_varying++) {
    tacit_draws_t one, two;
    tacit_findings_t findings;
    tacit_error_t err;
    make(&one, 0, 0, 0, 1);
    assert_ok(tacit_draws_init(&two, n_chains, 0, n_draws, 2, &err), err);
    two.n_saved = n_draws;
    for (size_t i = 0; i < n_chains * n_draws; i++) {
      double *row = tacit_draws_row(&two, i / n_draws, i % n_draws);
      row[0] = 0;
      row[1] = n_varying == 0 ? 1 : *tacit_draws_row(&one, i / n_draws, i % n_draws);
    }
    assert_ok(tacit_diagnose(&two, names, &findings, &err), err);
    assert_int_equal(findings.worst, n_varying == 0 ? TACIT_SEVERITY_PROBLEM : TACIT_SEVERITY_NOTE);
    assert_string_equal(findings.items[n_varying == 0 ? 1 : 0].what, "w[1]: 0 in every draw of every chain");
    tacit_draws_clear(&one);
    tacit_draws_clear(&two);
  }
}

/* Notes, however many, leave room for what forbids intervals: it is looked at last. */
static void test_a_problem_is_said_after_many_notes(void **state) {
  enum { MOST = TACIT_MAX_FINDINGS + 6 };
  const char *names[MOST];
  tacit_draws_t one, many;
  tacit_checks_t checks = {0};
  tacit_findings_t findings;
  tacit_error_t err;
  make(&one, 0, 0, 0, 1);
  assert_ok(tacit_draws_init(&many, n_chains, 0, n_draws, MOST, &err), err);
  many.n_saved = n_draws;
  for (size_t i = 0; i < n_chains * n_draws; i++) {
    tacit_draws_row(&many, i / n_draws, i % n_draws)[MOST - 1] =
        *tacit_draws_row(&one, i / n_draws, i % n_draws);
  }
  for (size_t j = 0; j < MOST; j++) {
    names[j] = "w";
  }
  tacit_checks_add(&checks, TACIT_CHECK_BENT, SIZE_MAX, 9);
  assert_ok(tacit_diagnose_fit(&many, names, NULL, &checks, &findings, &err), err);
  assert_int_equal(findings.n, TACIT_MAX_FINDINGS);
  assert_int_equal(findings.worst, TACIT_SEVERITY_PROBLEM);
  assert_non_null(strstr(findings.items[0].what, "along a curve"));
  tacit_draws_clear(&one);
  tacit_draws_clear(&many);
}

static void expect_sampler(double accepted, double variance, double signal, double divergent,
                           tacit_severity_t worst, const char *what) {
  tacit_findings_t findings = {.worst = TACIT_SEVERITY_NOTE};
  const tacit_published_t published = {{[TACIT_DIAGNOSTIC_ACCEPT_RATE] = accepted,
                                        [TACIT_DIAGNOSTIC_RATIO_NOISE_VARIANCE] = variance,
                                        [TACIT_DIAGNOSTIC_GRADIENT_SIGNAL] = signal,
                                        [TACIT_DIAGNOSTIC_DIVERGENT_SHARE] = divergent}};
  tacit_diagnose_sampler(&published, &findings);
  assert_int_equal(findings.worst, worst);
  assert_int_equal(findings.n, what == NULL ? 0 : 1);
  if (what != NULL && strstr(findings.items[0].what, what) == NULL) {
    fail_msg("nothing about '%s', but: %s", what, findings.items[0].what);
  }
}

static void test_sampler_findings(void **state) {
  expect_sampler(0.4, 1, 2, 0, TACIT_SEVERITY_NOTE, NULL);
  expect_sampler(NAN, NAN, NAN, NAN, TACIT_SEVERITY_NOTE, NULL);
  expect_sampler(0.05, 1, 2, 0, TACIT_SEVERITY_WARNING, "privacy noise is not the reason");
  expect_sampler(0.001, NAN, NAN, 0, TACIT_SEVERITY_PROBLEM, "privacy noise is not the reason");
  expect_sampler(0.05, 9, 2, 0, TACIT_SEVERITY_WARNING,
                 "variance 9 in the acceptance test: the best proposal is accepted 13 %");
  expect_sampler(0.01, 25, 2, 0, TACIT_SEVERITY_PROBLEM, "in the acceptance test");
  expect_sampler(0.4, 1, 0.1, 0, TACIT_SEVERITY_PROBLEM, "drowned");
  expect_sampler(0.4, 1, 2, 0.05, TACIT_SEVERITY_WARNING, "diverged");
}

static void test_tally_becomes_diagnostics(void **state) {
  const tacit_sampler_tally_t tally = {.n_moves = 200,
                                       .n_decisions = 100,
                                       .n_accepted = 25,
                                       .n_divergent = 4,
                                       .n_ratios = 50,
                                       .ratio_noise = 200,
                                       .n_gradients = 10,
                                       .grad_square = 50};
  tacit_diagnostics_t d = tacit_diagnostics_of(&tally);
  assert_true(d.values[TACIT_DIAGNOSTIC_ACCEPT_RATE] == 0.25 &&
              d.values[TACIT_DIAGNOSTIC_DIVERGENT_SHARE] == 0.02);
  assert_true(d.values[TACIT_DIAGNOSTIC_RATIO_NOISE_VARIANCE] == 4 &&
              d.values[TACIT_DIAGNOSTIC_GRADIENT_SIGNAL] == 2);
  for (size_t i = TACIT_N_PUBLISHABLE; i < TACIT_N_DIAGNOSTICS; i++) {
    assert_true(isnan(d.values[i]));
  }
  d = tacit_diagnostics_of(&(tacit_sampler_tally_t){0});
  for (size_t i = 0; i < TACIT_N_DIAGNOSTICS; i++) {
    assert_true(isnan(d.values[i]));
  }
}

/* The table and the order of the names say the same of every diagnostic, and only what may be published gets
 * through. */
static void test_visibility(void **state) {
  tacit_diagnostics_t all;
  for (size_t i = 0; i < TACIT_N_DIAGNOSTICS; i++) {
    const tacit_diagnostic_info_t *info = tacit_diagnostic_info(i);
    assert_non_null(info->name);
    assert_non_null(info->meaning);
    assert_int_equal(info->visibility, i < TACIT_N_PUBLISHABLE ? TACIT_PUBLISHABLE : TACIT_CURATOR_ONLY);
    for (size_t k = 0; k < i; k++) {
      assert_string_not_equal(info->name, tacit_diagnostic_info(k)->name);
    }
    all.values[i] = (double)i;
  }
  assert_null(tacit_diagnostic_info(TACIT_N_DIAGNOSTICS));
  /* whoever moves one of these must look here: they are computed from records without noise */
  const tacit_diagnostic_t curators[] = {TACIT_DIAGNOSTIC_GRADIENTS_CLIPPED, TACIT_DIAGNOSTIC_RATIOS_CLIPPED,
                                         TACIT_DIAGNOSTIC_NOT_FINITE,        TACIT_DIAGNOSTIC_VALUES_CLAMPED,
                                         TACIT_DIAGNOSTIC_VALUES_REPLACED,   TACIT_DIAGNOSTIC_ROWS_DROPPED};
  for (size_t i = 0; i < sizeof curators / sizeof curators[0]; i++) {
    assert_int_equal(tacit_diagnostic_info((size_t)curators[i])->visibility, TACIT_CURATOR_ONLY);
  }
  const tacit_published_t published = tacit_diagnostics_publish(&all);
  for (size_t i = 0; i < TACIT_N_PUBLISHABLE; i++) {
    assert_true(published.values[i] == (double)i);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_findings),
                                     cmocka_unit_test(test_constants),
                                     cmocka_unit_test(test_a_problem_is_said_after_many_notes),
                                     cmocka_unit_test(test_sampler_findings),
                                     cmocka_unit_test(test_tally_becomes_diagnostics),
                                     cmocka_unit_test(test_visibility)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
