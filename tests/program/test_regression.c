/* Formulas as programs: what is written, that it compiles, what is refused. */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "formula/model.h"
#include "formula/names.h"
#include "program/identifier.h"
#include "program/program.h"
#include "program/regression.h"
#include "program/written.h"
#include "tacit/data.h"

static const char schema_text[] = "unit: who\nmax_rows: 2\ncolumns:\n"
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
                                  "  two: {type: integer, lower: 1, upper: 2}\n"
                                  "  w: {type: numeric, lower: 0, upper: 2}\n";

static tacit_schema_t *schema(void) {
  tacit_schema_t *made;
  tacit_error_t err;
  assert_ok(tacit_schema_parse(&made, schema_text, sizeof schema_text - 1, "test", &err), err);
  return made;
}

static void test_families_compile(void **state) {
  static const char *const responses[][2] = {{"bernoulli", "y"},
                                             {"probit", "y"},
                                             {"gaussian", "t | cens(y)"},
                                             {"student", "t"},
                                             {"lognormal", "t"},
                                             {"weibull", "t | cens(y)"},
                                             {"exponential", "t"},
                                             {"gamma", "t | weights(w)"},
                                             {"beta", "share"},
                                             {"poisson", "k"},
                                             {"negbinomial", "k"},
                                             {"binomial", "k | trials(n)"},
                                             {"beta_binomial", "k | trials(n)"},
                                             {"cumulative", "ward"},
                                             {"zero_inflated_poisson", "k"},
                                             {"zero_inflated_negbinomial", "k"},
                                             {"zero_inflated_binomial", "k | trials(n)"},
                                             {"hurdle_poisson", "k"},
                                             {"hurdle_negbinomial", "k"},
                                             {"hurdle_lognormal", "w"},
                                             {"hurdle_gamma", "w"},
                                             {"categorical", "ward"}};
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
             "%s ~ age * sex + poly(age, 3) + ns(age, 4) + bs(age, 5) + scale(w)%s + years * ward + "
             "poly(years, 2) + ns(years, 3) + I(years / 10) + "
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
      {"k ~ (1 | who)", "poisson", "'who' is the protected unit"},
      {"k ~ (1 | age)", "poisson", "expected a column with levels"},
      {"share ~ age", "weibul", "unknown family 'weibul'"},
      {"y ~ aeg", "bernoulli", "no column 'aeg' (did you mean 'age'?)"},
      {"w ~ age", "gamma", "lower bound above 0"},
      {"k ~ age", "binomial", "needs 'k | trials(column)'"},
      {"k | cens(y) ~ age", "poisson", "has no cens()"},
      {"y ~ log(w)", "bernoulli", "log needs values above 0"},
      {"y ~ age +", "bernoulli", "expected a column"},
      {"y ~ (age", "bernoulli", "expected )"},
      {"y ~ poly(age)", "bernoulli", "whole number from 1 to 10"},
      {"y ~ who", "bernoulli", "says whose record it is"},
      {"y age", "bernoulli", "expected ~"},
      {"y ~ relevel(ward, \"z\")", "bernoulli", "one of the levels of 'ward'"},
      {"ward ~ age + offset(w)", "categorical", "has no offset"},
      {"Surv(t, n) ~ age", "weibull", "needs a binary status"},
      {"Surv(t, y, type = 'left') ~ age", "weibull", "censored to the right"},
      {"Surv(t) ~ age", "weibull", "expected Surv(time, status)"},
      {"y ~ age", "categorical", "categorical with levels"}};
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
  static const char *const meant[][2] = {{"nbinom", "negbinomial"},
                                         {"Negative Binomial", "negbinomial"},
                                         {"Gamma", "gamma"},
                                         {"ordinal", "cumulative"},
                                         {"multinomial", "categorical"},
                                         {"binomal", "binomial"},
                                         {"zero-inflated poisson", "zero_inflated_poisson"},
                                         {"normal", "gaussian"},
                                         {"student.t", "student"}};
  size_t n = 0;
  for (; tacit_program_family(n) != NULL; n++) {
    const tacit_family_about_t *about = tacit_program_family_about(n);
    assert_non_null(about);
    assert_string_equal(about->name, tacit_program_family(n));
    assert_string_equal(tacit_program_family_meant(about->name), about->name);
    assert_true(about->response[0] != '\0' && about->link[0] != '\0' && strlen(about->summary) > 10 &&
                strpbrk(about->summary, "\"\\") == NULL);
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

static const char odd_text[] = "columns:\n"
                               "  sex: {type: categorical, levels: [F, M]}\n"
                               "  sexM: {type: numeric, lower: -1, upper: 1}\n"
                               "  se: {type: categorical, levels: [a, xM]}\n"
                               "  Intercept: {type: numeric, lower: 0, upper: 4}\n"
                               "  sigma: {type: numeric, lower: 0, upper: 4}\n"
                               "  phi: {type: numeric, lower: 0, upper: 4}\n"
                               "  b_phi: {type: numeric, lower: 0, upper: 4}\n"
                               "  \"a b\": {type: numeric, lower: 0, upper: 4}\n"
                               "  a.b: {type: numeric, lower: 0, upper: 4}\n"
                               "  a_b: {type: numeric, lower: 0, upper: 4}\n"
                               "  gr\u00f6\u00dfe: {type: numeric, lower: 0, upper: 4}\n"
                               "  \u03b1x: {type: numeric, lower: 0, upper: 4}\n"
                               "  2nd: {type: integer, lower: 0, upper: 4}\n"
                               "  vector: {type: categorical, levels: [p, \"q:r\", \"s\\n} model {\"]}\n"
                               "  for: {type: numeric, lower: 1, upper: 4}\n"
                               "  eta: {type: numeric, lower: 0, upper: 4}\n"
                               "  x1_: {type: numeric, lower: 0, upper: 4}\n"
                               "  s: {type: numeric, lower: 0, upper: 4}\n"
                               "  target: {type: numeric, lower: 0, upper: 4}\n"
                               "  u/v: {type: numeric, lower: 1, upper: 4}\n"
                               "  y: {type: binary}\n"
                               "  k: {type: integer, lower: 0, upper: 9}\n"
                               "  t: {type: numeric, lower: 1, upper: 9}\n";

static tacit_schema_t *odd_schema(void) {
  tacit_schema_t *made;
  tacit_error_t err;
  assert_ok(tacit_schema_parse(&made, odd_text, sizeof odd_text - 1, "test", &err), err);
  return made;
}

/* The program of a formula, compiled with its labels. */
static tacit_program_t *compile(const char *formula, const char *family, const tacit_schema_t *columns,
                                tacit_model_t *model) {
  tacit_written_t written;
  tacit_program_t *program;
  tacit_program_label_t labels[100];
  tacit_error_t err;
  assert_ok(tacit_written_new(&written, formula, family, columns, NULL, &err), err);
  for (size_t i = 0; i < written.names.n; i++) {
    labels[i] = (tacit_program_label_t){written.names.names[i], written.names.labels[i]};
  }
  tacit_program_settings_t settings = {
      .schema = columns, .records = "", .labels = labels, .n_labels = written.names.n};
  assert_ok(tacit_program_parse(&program, written.text, strlen(written.text), &settings, &err), err);
  assert_ok(tacit_program_compile(program, model, &err), err);
  tacit_written_clear(&written);
  return program;
}

/* A family's own kernels and its program: the same features, called the same, and coefficients of the same
 * scale. */
static void test_both_routes_call_coefficients_the_same(void **state) {
  static const char *const formulas[] = {
      "sex + sexM",
      "sex * sexM",
      "sex + se + sexM",
      "Intercept",
      "0 + Intercept",
      "sigma + phi + b_phi",
      "`a b` + a.b + a_b",
      "gr\u00f6\u00dfe * \u03b1x",
      "`gr\u00f6\u00dfe` + gr\u00f6\u00dfe",
      "`2nd` + factor(`2nd`)",
      "0 + vector",
      "vector - 1 + sex",
      "0 + sexM + sex:vector",
      "vector:sex",
      "sexM:vector + sex",
      "`for` + eta + x1_ + target",
      "log(`u/v`) + sqrt(phi) + exp(-phi) + I(`2nd`^2/3 - -phi * (1 + eta))",
      "0 + phi + sexM + vector:phi",
      "(sex + phi + eta):vector",
      "s + sex:s",
      "base::log(t) + I(phi/t) + I(- 2 * phi)",
      "sex:se"};
  tacit_schema_t *columns = odd_schema();
  for (size_t i = 0; i < sizeof formulas / sizeof formulas[0]; i++) {
    for (int f = 0; f < 2; f++) {
      tacit_family_t family = f == 0 ? TACIT_FAMILY_BERNOULLI : TACIT_FAMILY_GAUSSIAN;
      char formula[300];
      tacit_design_t *design;
      tacit_model_t own, model;
      tacit_error_t err;
      tacit_glm_settings_t glm = {.family = family};
      snprintf(formula, sizeof formula, "%s ~ %s", f == 0 ? "y" : "t", formulas[i]);
      if (f == 1 && strstr(formulas[i], "log(t)") != NULL) {
        continue;
      }
      assert_ok(tacit_design_new(&design, formula, columns, family, &err), err);
      assert_ok(tacit_model_init_glm(&own, design, &glm, &err), err);
      tacit_program_t *program = compile(formula, tacit_family_string(family), columns, &model);
      size_t n = own.parameters.n_reported, p = tacit_design_n_features(design),
             first = tacit_design_has_intercept(design);
      assert_true(model.parameters.n_reported > n);
      for (size_t j = 0; j < n; j++) {
        assert_string_equal(model.parameters.labels[j], own.parameters.labels[j]);
        assert_string_equal(model.parameters.names[j], own.parameters.names[j]);
      }
      for (size_t j = 0; j < model.parameters.n_reported; j++) { /* each its own */
        for (size_t l = 0; l < j; l++) {
          assert_string_not_equal(model.parameters.labels[j], model.parameters.labels[l]);
        }
      }
      assert_int_equal(model.parameters.dim, own.parameters.dim);
      double theta[64], reported[200], other[200];
      for (size_t j = 0; j < model.parameters.dim;
           j++) { /* both have the intercept first, then the features, then log sigma */
        theta[j] = 0.1 * (double)j - 0.3;
      }
      own.parameters.report(own.parameters.ctx, theta, reported);
      model.parameters.report(model.parameters.ctx, theta, other);
      for (size_t j = 0; j < n; j++) {
        assert_true(fabs(other[j] - reported[j]) < 1e-5 * (1 + fabs(reported[j])));
      }
      assert_true(p >= first);
      tacit_model_clear(&model);
      tacit_model_clear(&own);
      tacit_program_free(program);
      tacit_design_free(design);
    }
  }
  tacit_schema_free(columns);
}

/* Without an intercept a feature is divided, never moved: what is reported is what multiplies the column. */
static void test_no_intercept_moves_nothing(void **state) {
  (void)state;
  tacit_schema_t *columns = odd_schema();
  static const char *const families[][2] = {
      {"negbinomial", "k"}, {"weibull", "t"}, {"student", "t"}, {"zero_inflated_poisson", "k"}};
  for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
    char formula[80];
    tacit_written_t written;
    tacit_error_t err;
    snprintf(formula, sizeof formula, "%s ~ %s", families[f][1],
             f % 2 == 0 ? "0 + sex + phi" : "sex + phi - 1");
    assert_ok(tacit_written_new(&written, formula, families[f][0], columns, NULL, &err), err);
    assert_non_null(strstr(written.text, "real x1_ = ((sex == 1)) / 1.0;"));
    assert_non_null(strstr(written.text, "real x2_ = ((sex == 2)) / 1.0;"));
    assert_non_null(strstr(written.text, "real x3_ = (phi_column) / 4.0;"));
    assert_null(strstr(written.text, "Intercept"));
    if (strcmp(families[f][0], "student") == 0) {
      assert_non_null(strstr(written.text, "real y_ = (t) / 9.0;"));
    }
    tacit_written_clear(&written);
  }
  tacit_schema_free(columns);
}

/* Every name works in every family, its dispersion and all; what could end a comment does not. */
static void test_any_column_may_be_called_anything(void **state) {
  (void)state;
  tacit_schema_t *columns = odd_schema();
  static const char *const families[][2] = {{"negbinomial", "k"},
                                            {"student", "t"},
                                            {"hurdle_gamma", "t"},
                                            {"categorical", "vector"},
                                            {"lognormal", "t"}};
  for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
    char formula[400];
    tacit_model_t model;
    snprintf(formula, sizeof formula,
             "%s ~ sexM + sex + Intercept + sigma + phi + b_phi + `a b` + a.b + a_b + gr\u00f6\u00dfe + "
             "\u03b1x + `2nd` + `for` + eta + x1_ + s + "
             "target + `u/v` + (1 | se)%s",
             families[f][1], f == 3 ? "" : " + offset(log(`u/v`)) + sex:vector");
    tacit_program_t *program = compile(formula, families[f][0], columns, &model);
    size_t n_columns;
    tacit_program_columns(program, &n_columns);
    assert_int_equal(n_columns, f == 3 ? 20 : 21);
    tacit_model_clear(&model);
    tacit_program_free(program);
  }
  tacit_arena_t arena = {0};
  for (size_t i = 0; i < tacit_schema_n_columns(columns); i++) { /* there and back */
    const tacit_column_schema_t *column = tacit_schema_column(columns, i);
    const char *name = tacit_identifier_of(&arena, columns, column, NULL, NULL);
    assert_non_null(name);
    assert_true(tacit_name_is_legal(name));
    assert_ptr_equal(tacit_identifier_column(columns, name), column);
  }
  assert_null(tacit_identifier_column(columns, "a_b_4"));
  assert_null(tacit_identifier_column(columns, "groess"));
  tacit_arena_clear(&arena);
  tacit_schema_free(columns);
}

/* What R's survival means by a status, and brms by cens(). */
static void test_censoring_as_it_is_written(void **state) {
  (void)state;
  tacit_schema_t *columns = schema();
  static const char *const cases[][2] = {{"t | cens(y) ~ age", "censored_right(t, 1 - y)"},
                                         {"Surv(t, y) ~ age", "censored_right(t, y)"},
                                         {"survival::Surv(t, y) ~ age", "censored_right(t, y)"},
                                         {"Surv(t, two) ~ age", "censored_right(t, two - 1)"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char *text;
    tacit_error_t err;
    assert_ok(tacit_program_of_formula(&text, cases[i][0], "weibull", columns, &err), err);
    assert_non_null(strstr(text, cases[i][1]));
    tacit_free(text);
  }
  tacit_schema_free(columns);
}

/* Whole names before a parenthesis: what is wrong with such a formula the parser of programs says. */
static void test_what_only_programs_have(void **state) {
  static const char *const own[] = {
      "y ~ x + (1 | g)", "y ~ .",          "y ~ poly(x, 2",         "y ~ poly (x, 0)",   "y ~ a + bs(x)",
      "y~scale(z)",      "Surv(t, d) ~ x", "y ~ splines::ns(x, 3)", "y ~ x + offset(zz)"};
  static const char *const common[] = {"y ~ x",      "y ~ bins(x)",      "y ~ rescale(x)",
                                       "y ~ ns + x", "y ~ ns * (x + z)", "y ~ log(x) + factor(k)",
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_families_compile),
                                     cmocka_unit_test(test_families_are_described_and_guessed),
                                     cmocka_unit_test(test_what_only_programs_have),
                                     cmocka_unit_test(test_binomial_of_zero_and_one_names_bernoulli),
                                     cmocka_unit_test(test_features_are_rs),
                                     cmocka_unit_test(test_both_routes_call_coefficients_the_same),
                                     cmocka_unit_test(test_no_intercept_moves_nothing),
                                     cmocka_unit_test(test_any_column_may_be_called_anything),
                                     cmocka_unit_test(test_censoring_as_it_is_written),
                                     cmocka_unit_test(test_what_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
