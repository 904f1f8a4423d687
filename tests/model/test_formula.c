/* Formulas: labels as R writes them, errors with the caret in its place. */
#include "base/memory.h"
#include "base/number.h"
#include "model_testing.h"

#include <locale.h>

#include "formula/model_text.h"

static void join_labels(const tacit_design_t *design, char *out, size_t size) {
  size_t used = 0;
  out[0] = '\0';
  for (size_t j = 0; j < tacit_design_n_features(design); j++) {
    int n = snprintf(out + used, size - used, "%s%s", j > 0 ? "|" : "", tacit_design_label(design, j));
    used += (size_t)n;
    assert_true(used < size);
  }
}

/* The columns of R's model.matrix(). */
static void test_formula_labels_are_those_of_r(void **state) {
  static const struct {
    const char *formula, *labels;
  } cases[] = {
      {"death ~ 1", "Intercept"},
      {"death ~ age", "Intercept|age"},
      {"death~age+sex+log(flc)", "Intercept|age|sexM|log(flc)"},
      {"  death\t~\nage ", "Intercept|age"},
      {"death ~ + age", "Intercept|age"},
      {"death ~ age + 0", "age"},
      {"death ~ age - 1", "age"},
      {"death ~ -1 + age", "age"},
      {"death ~ 0 + age + 1", "Intercept|age"},
      {"death ~ age - 0", "Intercept|age"},
      {"death ~ age + age + sex + age", "Intercept|age|sexM"},
      {"death ~ age:age", "Intercept|age"},
      {"death ~ grp", "Intercept|grpb|grpc"},
      {"death ~ 0 + grp", "grpa|grpb|grpc"},
      {"death ~ 0 + grp + sex", "grpa|grpb|grpc|sexM"},
      {"death ~ 0 + age + sex + grp", "age|sexF|sexM|grpb|grpc"},
      {"death ~ 0 + age:sex", "age:sexF|age:sexM"},
      {"death ~ age*sex", "Intercept|age|sexM|age:sexM"},
      {"death ~ age:sex + age + sex", "Intercept|age|sexM|age:sexM"},
      {"death ~ age:sex", "Intercept|age:sexF|age:sexM"},
      {"death ~ age + age:sex", "Intercept|age|age:sexM"},
      {"death ~ sex*grp", "Intercept|sexM|grpb|grpc|sexM:grpb|sexM:grpc"},
      {"death ~ sex + sex:grp", "Intercept|sexM|sexF:grpb|sexM:grpb|sexF:grpc|sexM:grpc"},
      {"death ~ sex:grp", "Intercept|sexF:grpa|sexM:grpa|sexF:grpb|sexM:grpb|sexF:grpc|sexM:grpc"},
      {"death ~ bmi:age + age", "Intercept|age|bmi:age"},
      {"death ~ age*sex*bmi", "Intercept|age|sexM|bmi|age:sexM|age:bmi|sexM:bmi|age:sexM:bmi"},
      {"death ~ (age + bmi):sex", "Intercept|age:sexF|age:sexM|bmi:sexF|bmi:sexM"},
      {"death ~ (age + bmi)*z", "Intercept|age|bmi|z|age:z|bmi:z"},
      {"death ~ age*bmi:z", "Intercept|age|bmi:z|age:bmi:z"},
      {"death ~ factor(stage)", "Intercept|factor(stage)2|factor(stage)3|factor(stage)4"},
      {"death ~ factor( smoker )", "Intercept|factor(smoker)1"},
      {"death ~ factor(sex)", "Intercept|factor(sex)M"},
      {"death ~ smoker", "Intercept|smoker"},
      {"death ~ base::log(flc)", "Intercept|log(flc)"},
      {"death ~ I(age^2)", "Intercept|I(age^2)"},
      {"death ~ I( age ^2+3*z -1.5e0/ flc)", "Intercept|I(age^2 + 3 * z - 1.5e0/flc)"},
      {"death ~ I(-z)", "Intercept|I(-z)"},
      {"death ~ I(-z^2) + I((-z)^2)", "Intercept|I(-z^2)|I((-z)^2)"},
      {"death ~ I(age^2) + I(age ^ 2)", "Intercept|I(age^2)"},
      {"death ~ log(flc):sex + sex", "Intercept|sexM|log(flc):sexF|log(flc):sexM"},
      {"death ~ sqrt(age) + exp(z)", "Intercept|sqrt(age)|exp(z)"},
      {"death ~ log(1 + age*bmi)", "Intercept|log(1 + age * bmi)"},
      {"death ~ `odd name`", "Intercept|`odd name`"},
      {"death ~ `age`", "Intercept|age"},
      {"death ~ I(flc^-2)", "Intercept|I(flc^-2)"},
      {"death ~ I(2^z)", "Intercept|I(2^z)"},
      {"death ~ I(flc^0.5)", "Intercept|I(flc^0.5)"},
      {"death ~ I(z^3) + I(z^2)", "Intercept|I(z^3)|I(z^2)"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tacit_design_t *design = model_testing_design(cases[i].formula, TACIT_FAMILY_BERNOULLI);
    char labels[1024];
    join_labels(design, labels, sizeof labels);
    if (strcmp(labels, cases[i].labels) != 0) {
      fail_msg("%s gives %s, expected %s", cases[i].formula, labels, cases[i].labels);
    }
    tacit_design_free(design);
  }
}

typedef struct error_case {
  const char *marked; /* '@' stands before the character under the caret */
  tacit_family_t family;
  tacit_status_t status;
  const char *fragment;
} error_case_t;

static void check_error(const tacit_schema_t *schema, const error_case_t *error) {
  const char *mark = strchr(error->marked, '@');
  assert_non_null(mark);
  char formula[512], expected[600];
  size_t caret = (size_t)(mark - error->marked);
  snprintf(formula, sizeof formula, "%.*s%s", (int)caret, error->marked, mark + 1);
  snprintf(expected, sizeof expected, "\n  %s\n  %*s^", formula, (int)caret, "");
  tacit_error_t err = {0};
  tacit_design_t *design = (tacit_design_t *)1;
  tacit_status_t status = tacit_design_new(&design, formula, schema, error->family, &err);
  assert_null(design);
  if (status != error->status) {
    fail_msg("%s: status %d, expected %d: %s", error->marked, status, error->status, err.message);
  }
  const char *lines = strchr(err.message, '\n');
  if (lines == NULL || strcmp(lines, expected) != 0 || strncmp(err.message, "formula: ", 9) != 0) {
    fail_msg("%s: caret or text misplaced:\n%s", error->marked, err.message);
  }
  if (strstr(err.message, error->fragment) == NULL) {
    fail_msg("%s: no '%s' in:\n%s", error->marked, error->fragment, err.message);
  }
  assert_string_equal(err.field, "formula");
  assert_int_equal(err.status, error->status);
}

static void test_formula_errors_point_at_the_fault(void **state) {
#define B TACIT_FAMILY_BERNOULLI
#define G TACIT_FAMILY_GAUSSIAN
#define P TACIT_FAMILY_POISSON
#define C TACIT_FAMILY_CATEGORICAL
  static const error_case_t cases[] = {
      {"death ~ @agee + sex", B, TACIT_ERR_UNKNOWN, "unknown column 'agee' (did you mean 'age'?)"},
      {"death ~ age + @creatinine", B, TACIT_ERR_UNKNOWN, "must be declared in the schema"},
      {"death ~ log(@fcl)", B, TACIT_ERR_UNKNOWN, "did you mean 'flc'?"},
      {"@dead ~ age", B, TACIT_ERR_UNKNOWN, "did you mean 'death'?"},
      {"death ~ @.", B, TACIT_ERR_SYNTAX, "'.' is not expanded"},
      {"@", B, TACIT_ERR_SYNTAX, "found the end"},
      {"@~ age", B, TACIT_ERR_SYNTAX, "there is no response"},
      {"death@", B, TACIT_ERR_SYNTAX, "expected '~'"},
      {"death @+ age", B, TACIT_ERR_SYNTAX, "expected '~' between the response and its terms, found '+'"},
      {"death ~@", B, TACIT_ERR_SYNTAX, "found the end"},
      {"death ~ age +@", B, TACIT_ERR_SYNTAX, "found the end"},
      {"death ~ age + @+ sex", B, TACIT_ERR_SYNTAX, "found '+'"},
      {"death ~ age @sex", B, TACIT_ERR_SYNTAX, "found 'sex'"},
      {"death ~ age @~ sex", B, TACIT_ERR_SYNTAX, "found '~'"},
      {"death ~ age @| sex", B, TACIT_ERR_SYNTAX, "the character '|' has no meaning"},
      {"death ~ (age + sex@", B, TACIT_ERR_SYNTAX, "expected ')'"},
      {"death ~ age@)", B, TACIT_ERR_SYNTAX, "found ')'"},
      {"death ~ (age + @0)", B, TACIT_ERR_SYNTAX, "write + 0 outside"},
      {"death ~ age + @2", B, TACIT_ERR_SYNTAX, "only 0 and 1"},
      {"death ~ age - @sex", B, TACIT_ERR_SYNTAX, "only the intercept can be removed"},
      {"death ~ 0 @* age", B, TACIT_ERR_SYNTAX, "after 0 or 1"},
      {"death ~ 0@", B, TACIT_ERR_SYNTAX, "neither a term nor an intercept"},
      {"death ~ age@^2", B, TACIT_ERR_SYNTAX, "write I(x^2)"},
      {"death ~ age@/bmi", B, TACIT_ERR_SYNTAX, "write I(x/2)"},
      {"death ~ @lgo(flc)", B, TACIT_ERR_SYNTAX, "unknown function 'lgo' (did you mean 'log'?)"},
      {"death ~ @sin(age)", B, TACIT_ERR_SYNTAX, "there are factor, log, exp, sqrt and I, poly"},
      {"death ~ @cut(age, 3)", B, TACIT_ERR_SYNTAX, "I(x > 40) + I(x > 60)"},
      {"death ~ @C(sex)", B, TACIT_ERR_SYNTAX, "factor(x), or x alone"},
      {"death ~ age @> 60", B, TACIT_ERR_SYNTAX, "write I(x > 2)"},
      {"death ~ I(age > 60 @> 1)", B, TACIT_ERR_SYNTAX, "expected ')'"},
      {"death ~ I(age @= 60)", B, TACIT_ERR_SYNTAX, "the character '='"},
      {"death ~ I(age @> 105)", B, TACIT_ERR_SCHEMA, "always comes out the same"},
      {"death ~ I(age @>= 50)", B, TACIT_ERR_SCHEMA, "always comes out the same"},
      {"death ~ I(age @== 20)", B, TACIT_ERR_SCHEMA, "always comes out the same"},
      {"death ~ log(@)", B, TACIT_ERR_SYNTAX, "found ')'"},
      {"death ~ log(flc@", B, TACIT_ERR_SYNTAX, "expected ')'"},
      {"death ~ log(flc@, 2)", B, TACIT_ERR_SYNTAX, "the character ','"},
      {"death ~ I(age + @factor(stage))", B, TACIT_ERR_SYNTAX, "cannot stand inside arithmetic"},
      {"death ~ I(@I(age))", B, TACIT_ERR_SYNTAX, "plain parentheses do"},
      {"death ~ factor(@2)", B, TACIT_ERR_SYNTAX, "expected one column name"},
      {"death ~ factor(stage @+ 1)", B, TACIT_ERR_SYNTAX, "expected ')' after the column"},
      {"death ~ I(age + @1e999)", B, TACIT_ERR_SYNTAX, "too large"},
      {"death ~ I(2@age)", B, TACIT_ERR_SYNTAX, "runs into a name"},
      {"death ~ @`odd name", B, TACIT_ERR_SYNTAX, "never closed"},
      {"death ~ @``", B, TACIT_ERR_SYNTAX, "no name in these backticks"},
      {"death ~ age + @death", B, TACIT_ERR_SYNTAX, "'death' is the response"},
      {"death ~ age:@death", B, TACIT_ERR_SYNTAX, "'death' is the response"},
      {"log(flc) ~ age + I(@flc^2)", G, TACIT_ERR_SYNTAX, "'flc' belongs to the response"},
      {"death ~ @pid", B, TACIT_ERR_SCHEMA, "identifies the unit of privacy"},
      {"death ~ I(1 + @sex)", B, TACIT_ERR_SCHEMA, "'sex' is categorical and cannot enter arithmetic"},
      {"death ~ @factor(flc)", B, TACIT_ERR_SCHEMA, "numeric and has no levels"},
      {"death ~ @factor(wide)", B, TACIT_ERR_SCHEMA, "more than 1000 levels"},
      {"death ~ @one", B, TACIT_ERR_SCHEMA, "a single level"},
      {"death ~ @log(z)", B, TACIT_ERR_SCHEMA, "public bounds of 'z' are [-2, 3]"},
      {"death ~ age + @log(count)", B, TACIT_ERR_SCHEMA, "a lower bound above 0"},
      {"death ~ @sqrt(z - 1)", B, TACIT_ERR_SCHEMA, "the argument ranges over [-3, 2]"},
      {"death ~ I(1@/z)", B, TACIT_ERR_SCHEMA, "a divisor must not reach 0"},
      {"death ~ I(z@^-1)", B, TACIT_ERR_SCHEMA, "a negative power divides by its base"},
      {"death ~ I(z@^0.5)", B, TACIT_ERR_SCHEMA, "needs a base above 0"},
      {"death ~ I(z@^z)", B, TACIT_ERR_SCHEMA, "needs a base above 0"},
      {"death ~ @exp(big)", B, TACIT_ERR_SCHEMA, "overflows"},
      {"death ~ I(big @* big)", B, TACIT_ERR_SCHEMA, "overflows"},
      {"death ~ @big:I(big + 1)", B, TACIT_ERR_SCHEMA, "overflows"},
      {"death ~ @I(3)", B, TACIT_ERR_SCHEMA, "constant"},
      {"death ~ @log(2)", B, TACIT_ERR_SCHEMA, "constant"},
      {"@age ~ sex", B, TACIT_ERR_SCHEMA, "family bernoulli cannot take 'age'"},
      {"@grp ~ sex", B, TACIT_ERR_SCHEMA, "a binary column"},
      {"@z ~ age", P, TACIT_ERR_SCHEMA, "counts"},
      {"@factor(count) ~ age", P, TACIT_ERR_SCHEMA, "counts"},
      {"@sex ~ age", G, TACIT_ERR_SCHEMA, "a number"},
      {"@I(2) ~ age", G, TACIT_ERR_SCHEMA, "can vary"},
      {"@stage ~ age", C, TACIT_ERR_SCHEMA, "factor() of an integer one"},
      {"@one ~ age", C, TACIT_ERR_SCHEMA, "two levels or more"},
      {"@log(z) ~ age", G, TACIT_ERR_SCHEMA, "log needs values above 0"},
  };
#undef B
#undef G
#undef P
#undef C
  tacit_schema_t *schema = model_testing_schema_new();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    check_error(schema, &cases[i]);
  }
  tacit_schema_free(schema);
}

static void test_formula_caret_counts_characters_not_bytes(void **state) {
  tacit_error_t err = {0};
  (void)tacit_caret_error(&err, TACIT_ERR_SYNTAX, "formula", "\xC3\xA4\xE2\x82\xAC + x\ty", 8, "here");
  assert_string_equal(err.message, "formula: here\n  \xC3\xA4\xE2\x82\xAC + x y\n       ^");
  assert_int_equal(tacit_caret_error(NULL, TACIT_ERR_SYNTAX, "formula", "x", 0, "here"), TACIT_ERR_SYNTAX);
}

static void test_formula_caret_of_a_long_formula_stays_in_its_window(void **state) {
  char text[2000];
  memset(text, 'a', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  for (size_t offset = 0; offset < sizeof text; offset += 37) {
    if (offset < sizeof text - 1) {
      text[offset] = 'X';
    }
    tacit_error_t err = {0};
    (void)tacit_caret_error(&err, TACIT_ERR_SYNTAX, "formula", text, offset, "%0*d", 600, 0);
    const char *shown = strchr(err.message, '\n') + 1;
    const char *caret = strchr(shown, '\n') + 1;
    assert_int_equal(caret[strlen(caret) - 1], '^');
    if (offset < sizeof text - 1) {
      assert_int_equal(shown[strlen(caret) - 1], 'X');
      text[offset] = 'a';
    }
  }
}

static void test_formula_limits_are_refused_not_exceeded(void **state) {
  tacit_schema_t *schema = model_testing_schema_new();
  tacit_error_t err = {0};
  tacit_design_t *design;
  char deep[400] = "death ~ I(";
  for (size_t i = 0; i < 100; i++) {
    strcat(deep, "(");
  }
  assert_int_equal(tacit_design_new(&design, deep, schema, TACIT_FAMILY_BERNOULLI, &err), TACIT_ERR_SYNTAX);
  assert_non_null(strstr(err.message, "nested"));
  char crossed[1000] = "death ~ age";
  for (size_t i = 1; i < 20; i++) {
    char factor[32];
    snprintf(factor, sizeof factor, "*I(age + %zu)", i);
    strcat(crossed, factor);
  }
  assert_int_equal(tacit_design_new(&design, crossed, schema, TACIT_FAMILY_BERNOULLI, &err),
                   TACIT_ERR_SYNTAX);
  assert_non_null(strstr(err.message, "more than 4096 terms"));
  char again[1000] = "death ~ (age";
  for (size_t copy = 0; copy < 2; copy++) {
    for (size_t i = 1; i < 9; i++) {
      char factor[32];
      snprintf(factor, sizeof factor, "*I(age + %zu)", i);
      strcat(again, factor);
    }
    strcat(again, copy == 0 ? "):(age" : ")");
  }
  assert_int_equal(tacit_design_new(&design, again, schema, TACIT_FAMILY_BERNOULLI, &err), TACIT_ERR_SYNTAX);
  assert_non_null(strstr(err.message, "more than 4096 terms"));
  char order[1000] = "death ~ age";
  for (size_t i = 1; i < 20; i++) {
    char factor[32];
    snprintf(factor, sizeof factor, ":I(age + %zu)", i);
    strcat(order, factor);
  }
  assert_int_equal(tacit_design_new(&design, order, schema, TACIT_FAMILY_BERNOULLI, &err), TACIT_ERR_SYNTAX);
  assert_non_null(strstr(err.message, "more than 16 variables"));
  const char *many = "death ~ factor(count)*factor(age)*factor(stage)*grp";
  assert_int_equal(tacit_design_new(&design, many, schema, TACIT_FAMILY_BERNOULLI, &err), TACIT_ERR_SCHEMA);
  assert_non_null(strstr(err.message, "more than 16384 features"));
  assert_int_equal(tacit_design_new(&design, NULL, schema, TACIT_FAMILY_BERNOULLI, &err), TACIT_ERR_ARGUMENT);
  assert_int_equal(tacit_design_new(&design, "death ~ 1", schema, (tacit_family_t)9, &err),
                   TACIT_ERR_ARGUMENT);
  tacit_schema_free(schema);
}

/* Any text ends in success or in one of the documented statuses, and never in a crash. */
static void test_formula_random_token_soup_never_crashes(void **state) {
  static const char *const pieces[] = {"death", "age",  "sex", "~",    "+",    "-", "*",          ":",
                                       "(",     ")",    "I(",  "log(", "exp(", "^", "/",          "0",
                                       "1",     "2.5",  " ",   "grp",  "z",    "`", "`odd name`", "factor(",
                                       "1e",    "\xC3", "x1",  "@",    "flc^2"};
  tacit_schema_t *schema = model_testing_schema_new();
  uint64_t rng = 1;
  size_t n_good = 0, n_rounds = (size_t)(20000 * testing_multiplier());
  for (size_t round = 0; round < n_rounds; round++) {
    char text[256] = "";
    if (round % 2 == 0) {
      strcpy(text, "death ~ ");
    }
    for (size_t n = model_testing_bits(&rng) % 12; n > 0; n--) {
      strcat(text, pieces[model_testing_bits(&rng) % (sizeof pieces / sizeof pieces[0])]);
    }
    tacit_design_t *design;
    tacit_error_t err = {0};
    tacit_status_t status = tacit_design_new(&design, text, schema, TACIT_FAMILY_BERNOULLI, &err);
    n_good += status == TACIT_OK;
    bool is_documented = status == TACIT_OK || status == TACIT_ERR_SYNTAX || status == TACIT_ERR_UNKNOWN ||
                         status == TACIT_ERR_SCHEMA;
    if (!is_documented || (status == TACIT_OK) != (design != NULL)) {
      fail_msg("'%s' gives status %d", text, status);
    }
    tacit_design_free(design);
  }
  assert_true(n_good > 0);
  tacit_schema_free(schema);
}

static void test_formula_numbers_do_not_depend_on_the_locale(void **state) {
  const char *const commas[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8"};
  for (size_t i = 0; i < sizeof commas / sizeof commas[0] && setlocale(LC_ALL, commas[i]) == NULL; i++) {
  }
  double value, lower, upper;
  assert_int_equal(tacit_number_scan("2.5e-1)", &value), 6);
  assert_true(value == 0.25);
  char text[TACIT_NUMBER_SIZE];
  assert_string_equal(tacit_number_format(-0.5, text), "-0.5");
  tacit_design_t *design = model_testing_design("death ~ I(0.5 * smoker)", TACIT_FAMILY_BERNOULLI);
  tacit_design_range(design, 1, &lower, &upper);
  assert_true(lower == 0 && upper == 0.5);
  tacit_design_free(design);
  setlocale(LC_ALL, "C");
}

static void test_formula_number_scan_edge_cases(void **state) {
  static const struct {
    const char *text;
    size_t length;
    double value;
  } cases[] = {{"", 0, 0},
               {".", 0, 0},
               {"-1", 0, 0},
               {"1", 1, 1},
               {"1.", 2, 1},
               {".5", 2, 0.5},
               {"1e", 1, 1},
               {"1e+", 1, 1},
               {"0x10", 1, 0},
               {"1e5x", 3, 1e5},
               {"1.2.3", 3, 1.2},
               {"inf", 0, 0},
               {"4.9e-324", 8, 4.9e-324},
               {"9007199254740993", 16, 9007199254740992.0}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    double value;
    assert_int_equal(tacit_number_scan(cases[i].text, &value), cases[i].length);
    if (cases[i].length > 0) {
      assert_true(value == cases[i].value);
    }
  }
  double value;
  char longest[80];
  memset(longest, '1', sizeof longest);
  longest[70] = '\0';
  assert_int_equal(tacit_number_scan(longest, &value), 70);
  assert_true(isinf(value));
  assert_int_equal(tacit_number_scan("1e400", &value), 5);
  assert_true(isinf(value));
}

static void test_formula_every_failing_allocation_is_an_error(void **state) {
  tacit_schema_t *schema = model_testing_schema_new();
  const char *formula = "grp ~ age*sex + log(flc + 1) + I(z^2):factor(stage) + (bmi + smoker)*z";
  bool has_ended = false;
  for (size_t k = 1; !has_ended; k++) {
    assert_true(k < 10000);
    tacit_error_t err = {0};
    tacit_design_t *design;
    tacit_alloc_fail_at(k);
    tacit_status_t status = tacit_design_new(&design, formula, schema, TACIT_FAMILY_CATEGORICAL, &err);
    tacit_alloc_fail_at(0);
    has_ended = status == TACIT_OK;
    assert_true(has_ended ||
                (status == TACIT_ERR_MEMORY && design == NULL && err.status == TACIT_ERR_MEMORY));
    tacit_design_free(design);
  }
  tacit_schema_free(schema);
}

static void test_family_parse_knows_its_names(void **state) {
  tacit_error_t err = {0};
  for (int f = 0; f < 4; f++) {
    tacit_family_t family;
    assert_ok(tacit_family_parse(&family, tacit_family_string((tacit_family_t)f), &err), err);
    assert_int_equal(family, f);
  }
  tacit_family_t family;
  assert_int_equal(tacit_family_parse(&family, "gausian", &err), TACIT_ERR_UNKNOWN);
  assert_non_null(strstr(err.message, "did you mean 'gaussian'?"));
  assert_int_equal(tacit_family_parse(&family, "", &err), TACIT_ERR_UNKNOWN);
  assert_null(tacit_family_string((tacit_family_t)4));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_formula_labels_are_those_of_r),
      cmocka_unit_test(test_formula_errors_point_at_the_fault),
      cmocka_unit_test(test_formula_caret_counts_characters_not_bytes),
      cmocka_unit_test(test_formula_caret_of_a_long_formula_stays_in_its_window),
      cmocka_unit_test(test_formula_limits_are_refused_not_exceeded),
      cmocka_unit_test(test_formula_random_token_soup_never_crashes),
      cmocka_unit_test(test_formula_numbers_do_not_depend_on_the_locale),
      cmocka_unit_test(test_formula_number_scan_edge_cases),
      cmocka_unit_test(test_formula_every_failing_allocation_is_an_error),
      cmocka_unit_test(test_family_parse_knows_its_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
