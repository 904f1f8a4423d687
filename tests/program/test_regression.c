/* Formulas as programs: what is written, that it compiles, what is refused. */
#include "testing.h"

#include <string.h>

#include "program/regression.h"
#include "tacit/data.h"
#include "tacit/model.h"
#include "tacit/program.h"

static const char schema_text[] =
    "unit: who\nmax_rows: 2\ncolumns:\n"
    "  who: {type: id}\n"
    "  age: {type: numeric, lower: 20, upper: 80}\n"
    "  sex: {type: categorical, levels: [F, M]}\n"
    "  ward: {type: categorical, levels: [a, b, c]}\n"
    "  t: {type: numeric, lower: 0.01, upper: 14}\n"
    "  share: {type: numeric, lower: 0.01, upper: 0.99}\n"
    "  y: {type: binary}\n"
    "  n: {type: integer, lower: 1, upper: 9}\n"
    "  years: {type: integer, lower: 18, upper: 100}\n"
    "  k: {type: integer, lower: 0, upper: 9}\n"
    "  w: {type: numeric, lower: 0, upper: 2}\n";

static tacit_schema_t *schema(void) {
  tacit_schema_t *made;
  tacit_error_t err;
  assert_ok(tacit_schema_parse(&made, schema_text, sizeof schema_text - 1, "test", &err), err);
  return made;
}

static void test_families_compile(void **state) {
  static const char *const responses[][2] = {
      {"bernoulli", "y"}, {"gaussian", "t | cens(y)"}, {"student", "t"}, {"lognormal", "t"}, {"weibull", "t | cens(y)"}, {"exponential", "t"},
      {"gamma", "t | weights(w)"}, {"beta", "share"}, {"poisson", "k"}, {"negbinomial", "k"}, {"binomial", "k | trials(n)"},
      {"beta_binomial", "k | trials(n)"}, {"cumulative", "ward"}, {"zero_inflated_poisson", "k"}, {"zero_inflated_negbinomial", "k"},
      {"zero_inflated_binomial", "k | trials(n)"}, {"hurdle_poisson", "k"}, {"hurdle_negbinomial", "k"},
      {"hurdle_lognormal", "w"}, {"hurdle_gamma", "w"}, {"categorical", "ward"}};
  tacit_schema_t *columns = schema();
  size_t n = 0;
  for (; tacit_program_family(n) != NULL; n++) {
    char formula[200], *text;
    tacit_error_t err;
    tacit_program_t *program;
    tacit_model_t model;
    tacit_program_settings_t settings = {.schema = columns, .records = ""};
    assert_string_equal(tacit_program_family(n), responses[n][0]);
    snprintf(formula, sizeof formula,
             "%s ~ age * sex + poly(age, 3) + ns(age, 4) + bs(age, 5) + scale(w)%s + years * ward + poly(years, 2) + ns(years, 3) + I(years / 10) + "
             "(1 + years | sex)",
             responses[n][1], strcmp(responses[n][0], "categorical") == 0 ? "" : " + offset(log(n))");
    assert_ok(tacit_program_of_formula(&text, formula, responses[n][0], columns, &err), err);
    assert_ok(tacit_program_parse(&program, text, strlen(text), &settings, &err), err);
    assert_ok(tacit_program_compile(program, &model, &err), err);
    assert_true(model.records.dim >= 14);
    tacit_model_clear(&model);
    tacit_program_free(program);
    tacit_free(text);
  }
  assert_int_equal(n, sizeof responses / sizeof responses[0]);
  tacit_schema_free(columns);
}

/* The features of a formula, in order. */
static void test_features_are_rs(void **state) {
  static const char *const cases[][2] = {{"age + sex", "age|sexM|"},
                                         {"age * sex", "age|sexM|age:sexM|"},
                                         {"(age + sex + w)^2 - age:w", "age|sexM|w|age:sexM|sexM:w|"},
                                         {"0 + ward", "warda|wardb|wardc|"},
                                         {"relevel(ward, \"c\") + age - age", "warda|wardb|"},
                                         {". - who2", ""},
                                         {"I(age^2) + log(age)", "I(age^2)|log(age)|"},
                                         {"factor(n):sex", NULL}};
  tacit_schema_t *columns = schema();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char formula[100], found[2000] = "", *text;
    tacit_error_t err;
    snprintf(formula, sizeof formula, "y ~ %s", cases[i][0]);
    tacit_status_t status = tacit_program_of_formula(&text, formula, "bernoulli", columns, &err);
    if (cases[i][1] != NULL && cases[i][1][0] == '\0') {
      assert_int_equal(status, TACIT_ERR_SYNTAX);
      continue;
    }
    assert_ok(status, err);
    for (const char *s = strstr(text, "  real x1_"); s != NULL; s = strstr(s + 1, "\n  real x")) {
      const char *label = strstr(s, "; // ") + 5;
      strncat(found, label, strcspn(label, "\n"));
      strcat(found, "|");
    }
    if (cases[i][1] != NULL) {
      assert_string_equal(found, cases[i][1]);
    }
    tacit_free(text);
  }
  tacit_schema_free(columns);
}

static void test_what_is_refused(void **state) {
  static const char *const cases[][3] = {
      {"k ~ (1 | who)", "poisson", "'who' is the protected unit"}, {"k ~ (1 | age)", "poisson", "expected a column with levels"},
      {"share ~ age", "weibul", "unknown family 'weibul'"},         {"y ~ aeg", "bernoulli", "no column 'aeg' (did you mean 'age'?)"},
      {"w ~ age", "gamma", "lower bound above 0"},                  {"k ~ age", "binomial", "needs 'k | trials(column)'"},
      {"k | cens(y) ~ age", "poisson", "has no cens()"},            {"y ~ log(w)", "bernoulli", "log() of values down to 0"},
      {"y ~ age +", "bernoulli", "expected a column"},              {"y ~ (age", "bernoulli", "expected )"},
      {"y ~ poly(age)", "bernoulli", "whole number from 1 to 10"},  {"y ~ who", "bernoulli", "says whose record it is"},
      {"y age", "bernoulli", "expected ~"},                         {"y ~ relevel(ward, \"z\")", "bernoulli", "one of the levels of 'ward'"},
      {"ward ~ age + offset(w)", "categorical", "has no offset"},   {"y ~ age", "categorical", "categorical with levels"}};
  tacit_schema_t *columns = schema();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char *text;
    tacit_error_t err = {0};
    assert_int_not_equal(tacit_program_of_formula(&text, cases[i][0], cases[i][1], columns, &err), TACIT_OK);
    assert_null(text);
    if (strstr(err.message, cases[i][2]) == NULL) {
      fail_msg("%s: %s", cases[i][0], err.message);
    }
  }
  tacit_schema_free(columns);
}

static void test_families_are_described_and_guessed(void **state) {
  (void)state;
  static const char *const meant[][2] = {
      {"nbinom", "negbinomial"}, {"Negative Binomial", "negbinomial"}, {"Gamma", "gamma"}, {"ordinal", "cumulative"},
      {"multinomial", "categorical"}, {"binomal", "binomial"}, {"zero-inflated poisson", "zero_inflated_poisson"}, {"normal", "gaussian"},
      {"student.t", "student"}};
  size_t n = 0;
  for (; tacit_program_family(n) != NULL; n++) {
    const tacit_family_about_t *about = tacit_program_family_about(n);
    assert_non_null(about);
    assert_string_equal(about->name, tacit_program_family(n));
    assert_string_equal(tacit_program_family_meant(about->name), about->name);
    assert_true(about->response[0] != '\0' && about->link[0] != '\0' && strlen(about->summary) > 10 && strpbrk(about->summary, "\"\\") == NULL);
  }
  assert_null(tacit_program_family_about(n));
  for (size_t i = 0; i < sizeof meant / sizeof meant[0]; i++) {
    assert_string_equal(tacit_program_family_meant(meant[i][0]), meant[i][1]);
  }
  char longest[300];
  memset(longest, 'a', sizeof longest - 1);
  longest[sizeof longest - 1] = '\0';
  assert_null(tacit_program_family_meant(longest));
  assert_null(tacit_program_family_meant(""));
  assert_null(tacit_program_family_meant("wishart"));
}

/* Whole names before a parenthesis: what is wrong with such a formula the parser of programs says. */
static void test_what_only_programs_have(void **state) {
  static const char *const own[] = {"y ~ x + (1 | g)", "y ~ .",      "y ~ poly(x, 2",     "y ~ poly (x, 0)",
                                    "y ~ a + bs(x)",   "y~scale(z)", "y ~ x + offset(zz)"};
  static const char *const common[] = {"y ~ x",     "y ~ bins(x)", "y ~ rescale(x)", "y ~ ns + x", "y ~ ns * (x + z)", "y ~ log(x) + factor(k)",
                                       "y ~ ns2(x)"};
  for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
    assert_true(tacit_regression_is_own(own[i]));
  }
  for (size_t i = 0; i < sizeof common / sizeof common[0]; i++) {
    assert_false(tacit_regression_is_own(common[i]));
  }
}

/* What R calls binomial of 0 and 1. */
static void test_binomial_of_zero_and_one_names_bernoulli(void **state) {
  (void)state;
  tacit_schema_t *columns = schema();
  tacit_error_t err;
  char *text = NULL;
  assert_int_equal(tacit_program_of_formula(&text, "y ~ age", "binomial", columns, &err), TACIT_ERR_SYNTAX);
  assert_non_null(strstr(err.message, "take family bernoulli"));
  assert_int_equal(tacit_program_of_formula(&text, "k ~ age", "binomial", columns, &err), TACIT_ERR_SYNTAX);
  assert_null(strstr(err.message, "take family bernoulli"));
  assert_int_equal(tacit_program_of_formula(&text, "k ~ age", "nbinom", columns, &err), TACIT_ERR_ARGUMENT);
  assert_non_null(strstr(err.message, "did you mean 'negbinomial'"));
  tacit_schema_free(columns);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_families_compile), cmocka_unit_test(test_families_are_described_and_guessed),
                                     cmocka_unit_test(test_what_only_programs_have),
                                     cmocka_unit_test(test_binomial_of_zero_and_one_names_bernoulli), cmocka_unit_test(test_features_are_rs),
                                     cmocka_unit_test(test_what_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
