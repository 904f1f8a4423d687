/* Priors: densities against closed forms, derivatives against differences, the text form. */
#include "base/memory.h"
#include "model_testing.h"

static double density(const tacit_prior_t *prior, double x) {
  return tacit_prior_log_density(prior, x, NULL);
}

static void test_prior_densities_have_their_closed_forms(void **state) {
  const tacit_prior_t normal = {TACIT_PRIOR_NORMAL, 0, 1, 2};
  const tacit_prior_t student = {TACIT_PRIOR_STUDENT_T, 3, -1, 0.5};
  const tacit_prior_t cauchy = {TACIT_PRIOR_CAUCHY, 0, 2, 3};
  const tacit_prior_t flat = {TACIT_PRIOR_FLAT, 0, 0, 1};
  for (double x = -20; x <= 20; x += 0.37) {
    double z = (x - 1) / 2, t = (x + 1) / 0.5, c = (x - 2) / 3;
    assert_close(density(&normal, x) - density(&normal, 1), -z * z / 2, 1e-12);
    assert_close(density(&student, x) - density(&student, -1), -2 * log(1 + t * t / 3), 1e-12);
    assert_close(density(&cauchy, x) - density(&cauchy, 2), -log(1 + c * c), 1e-12);
    assert_true(density(&flat, x) == 0);
  }
  const tacit_prior_t one_df = {TACIT_PRIOR_STUDENT_T, 1, 2, 3};
  assert_close(density(&one_df, 7.5), density(&cauchy, 7.5), 1e-14);
}

static void test_prior_sds(void **state) {
  const tacit_prior_t priors[] = {{TACIT_PRIOR_NORMAL, 0, 1, 2},
                                  {TACIT_PRIOR_STUDENT_T, 7, -1, 0.5},
                                  {TACIT_PRIOR_STUDENT_T, 2, 0, 1},
                                  {TACIT_PRIOR_CAUCHY, 0, 2, 3},
                                  {TACIT_PRIOR_FLAT, 0, 0, 1}};
  assert_close(tacit_prior_sd(&priors[0]), 2, 1e-15);
  assert_close(tacit_prior_sd(&priors[1]), 0.5 * sqrt(1.4), 1e-15); /* df / (df - 2) */
  for (size_t i = 2; i < 5; i++) {
    assert_true(isinf(tacit_prior_sd(&priors[i])));
  }
}

static void test_prior_derivatives_match_differences(void **state) {
  uint64_t rng = 3;
  for (size_t round = 0; round < 20000; round++) {
    tacit_prior_t prior = {.kind = (tacit_prior_kind_t)(model_testing_bits(&rng) % 4),
                           .df = model_testing_uniform(&rng, 0.5, 30),
                           .location = model_testing_uniform(&rng, -3, 3),
                           .scale = exp(model_testing_uniform(&rng, -3, 3))};
    double x = prior.location + prior.scale * model_testing_uniform(&rng, -8, 8);
    double h = 1e-4 * prior.scale, grad;
    assert_true(tacit_prior_log_density(&prior, x, &grad) == density(&prior, x));
    double slope = (density(&prior, x + h) - density(&prior, x - h)) / (2 * h);
    assert_close(grad * prior.scale, slope * prior.scale, 2e-6);
  }
}

static void test_prior_extreme_arguments_stay_finite(void **state) {
  const tacit_prior_t student = {TACIT_PRIOR_STUDENT_T, 3, 0, 1}, cauchy = {TACIT_PRIOR_CAUCHY, 0, 0, 1};
  double grad;
  assert_close(tacit_prior_log_density(&student, 1e200, &grad), -2 * (400 * log(10) - log(3)), 1e-9);
  assert_close(grad * 1e200, -4, 1e-12);
  assert_close(tacit_prior_log_density(&cauchy, -1e300, &grad), -600 * log(10), 1e-9);
  assert_close(grad * 1e300, 2, 1e-12);
  assert_true(tacit_prior_log_density(&cauchy, 0, &grad) == 0 && grad == 0);
  assert_true(isnan(tacit_prior_log_density(&student, NAN, &grad)) && isnan(grad));
}

static void test_prior_parse_reads_each_form(void **state) {
  static const struct {
    const char *text, *term;
    tacit_prior_t prior;
  } cases[] = {
      {"normal(0, 2.5)", NULL, {TACIT_PRIOR_NORMAL, 0, 0, 2.5}},
      {"normal(0,2.5)", NULL, {TACIT_PRIOR_NORMAL, 0, 0, 2.5}},
      {"  age :\tstudent_t( 3 , -1e-1, 1. ) ", "age", {TACIT_PRIOR_STUDENT_T, 3, -0.1, 1}},
      {"Intercept: cauchy(+1, .5)", "Intercept", {TACIT_PRIOR_CAUCHY, 0, 1, 0.5}},
      {"flat", NULL, {TACIT_PRIOR_FLAT, 0, 0, 1}},
      {"sigma:flat()", "sigma", {TACIT_PRIOR_FLAT, 0, 0, 1}},
      {"age:sexM: normal(0, 1)", "age:sexM", {TACIT_PRIOR_NORMAL, 0, 0, 1}},
      {"log(flc): normal(0, 1)", "log(flc)", {TACIT_PRIOR_NORMAL, 0, 0, 1}},
      {"I(age + 2 * z): flat", "I(age + 2 * z)", {TACIT_PRIOR_FLAT, 0, 0, 1}},
      {"[B] age: normal(0, 1)", "[B] age", {TACIT_PRIOR_NORMAL, 0, 0, 1}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tacit_prior_entry_t entry;
    tacit_error_t err = {0};
    assert_ok(tacit_prior_parse(&entry, cases[i].text, &err), err);
    assert_int_equal(entry.prior.kind, cases[i].prior.kind);
    assert_true(entry.prior.df == cases[i].prior.df && entry.prior.location == cases[i].prior.location &&
                entry.prior.scale == cases[i].prior.scale);
    if (cases[i].term == NULL) {
      assert_null(entry.term);
    } else {
      assert_string_equal(entry.term, cases[i].term);
    }
    tacit_prior_entry_clear(&entry);
  }
  tacit_prior_entry_clear(NULL);
}

static void test_prior_parse_errors_point_at_the_fault(void **state) {
  static const struct {
    const char *marked, *fragment;
  } cases[] = {
      {"@", "expected normal(location, scale)"},
      {"@nomral(0, 1)", "did you mean 'normal'?"},
      {"age: @gamma(1, 1)", "expected normal(location, scale)"},
      {"normal@", "expected '(' in normal(location, scale)"},
      {"normal(@)", "expected a number of normal(location, scale)"},
      {"normal(0@)", "expected ',' in normal(location, scale)"},
      {"normal(0, 1@", "expected ')' in normal(location, scale)"},
      {"normal(0, 1@, 2)", "expected ')'"},
      {"normal(0, 1) @x", "expected the end"},
      {"normal(0, @0)", "scale must be above 0"},
      {"normal(0, @-1)", "scale must be above 0"},
      {"age: cauchy(0, @-0.5)", "scale must be above 0"},
      {"student_t(@0, 0, 1)", "df must be above 0"},
      {"student_t(3, 0@)", "expected ',' in student_t(df, location, scale)"},
      {"normal(@nan, 1)", "expected a number"},
      {"normal(0, @inf)", "expected a number"},
      {"normal(@1e999, 1)", "too large"},
      {"normal(0, 0@x10)", "expected ')'"},
      {"flat(@1)", "expected ')' in flat"},
      {"@: normal(0, 1)", "there is no term before ':'"},
      {"age: @", "expected normal(location, scale)"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[100], expected[200];
    size_t caret = (size_t)(strchr(cases[i].marked, '@') - cases[i].marked);
    snprintf(text, sizeof text, "%.*s%s", (int)caret, cases[i].marked, cases[i].marked + caret + 1);
    snprintf(expected, sizeof expected, "\n  %s\n  %*s^", text, (int)caret, "");
    tacit_prior_entry_t entry;
    tacit_error_t err = {0};
    assert_int_equal(tacit_prior_parse(&entry, text, &err), TACIT_ERR_SYNTAX);
    assert_null(entry.term);
    const char *lines = strchr(err.message, '\n');
    if (lines == NULL || strcmp(lines, expected) != 0 || strstr(err.message, cases[i].fragment) == NULL) {
      fail_msg("%s gives:\n%s", cases[i].marked, err.message);
    }
  }
}

static void test_prior_parse_failing_allocation_is_an_error(void **state) {
  tacit_prior_entry_t entry;
  tacit_error_t err = {0};
  tacit_alloc_fail_at(1);
  assert_int_equal(tacit_prior_parse(&entry, "age: flat", &err), TACIT_ERR_MEMORY);
  tacit_alloc_fail_at(0);
  assert_null(entry.term);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_prior_densities_have_their_closed_forms),
      cmocka_unit_test(test_prior_sds),
      cmocka_unit_test(test_prior_derivatives_match_differences),
      cmocka_unit_test(test_prior_extreme_arguments_stay_finite),
      cmocka_unit_test(test_prior_parse_reads_each_form),
      cmocka_unit_test(test_prior_parse_errors_point_at_the_fault),
      cmocka_unit_test(test_prior_parse_failing_allocation_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
