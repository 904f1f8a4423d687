/* The public schema: what is accepted, and one clear line with file:line:column for what is not. */
#include <string.h>

#include "base/memory.h"
#include "data/rules.h"
#include "tacit/data.h"
#include "testing.h"

static tacit_status_t parse(tacit_schema_t **schema, const char *text, tacit_error_t *err) {
  return tacit_schema_parse(schema, text, strlen(text), "s.yaml", err);
}

static void test_full_schema_is_read(void **state) {
  const char *text = "dataset: clinic\n"
                     "relation: add-remove\n"
                     "unit: patient\n"
                     "max_rows: 5\n"
                     "delta_meaning: chance that the promise fails\n"
                     "columns:\n"
                     "  patient: {type: id}\n"
                     "  age: {type: integer, lower: 50, upper: 105, missing: upper}\n"
                     "  'odd name': {type: categorical, levels: [F, M, \"0-19\"], missing: M}\n"
                     "  flc:\n    type: numeric\n    lower: 0.3\n    upper: 3e1\n    typical: [1, 5]\n    "
                     "units: mg/L\n    missing: error\n    out_of_range: error\n"
                     "  death: {type: binary, missing: 0}\n";
  tacit_schema_t *schema;
  tacit_error_t err;
  assert_ok(parse(&schema, text, &err), err);
  assert_string_equal(tacit_schema_dataset(schema), "clinic");
  assert_int_equal(tacit_schema_relation(schema), TACIT_RELATION_ADD_REMOVE);
  assert_string_equal(tacit_schema_unit(schema), "patient");
  assert_int_equal(tacit_schema_max_rows(schema), 5);
  assert_string_equal(tacit_schema_delta_meaning(schema), "chance that the promise fails");
  assert_int_equal(tacit_schema_n_columns(schema), 5);
  assert_null(tacit_schema_column(schema, 5));
  const tacit_column_schema_t *age = tacit_schema_find(schema, "age"),
                              *odd = tacit_schema_find(schema, "odd name");
  assert_int_equal(age->type, TACIT_COLUMN_INTEGER);
  assert_close(age->lower, 50, 0);
  assert_close(age->missing_value, 105, 0);
  assert_int_equal(odd->n_levels, 3);
  assert_string_equal(odd->levels[2], "0-19");
  assert_int_equal(odd->missing, TACIT_MISSING_VALUE);
  assert_close(odd->missing_value, 1, 0);
  const tacit_column_schema_t *flc = tacit_schema_find(schema, "flc"),
                              *death = tacit_schema_find(schema, "death");
  assert_int_equal(flc->out_of_range, TACIT_RANGE_ERROR);
  assert_string_equal(flc->units, "mg/L");
  assert_true(flc->has_typical && flc->typical_low <= 1 && flc->typical_low >= 1 && flc->typical_high <= 5 &&
              flc->typical_high >= 5);
  assert_close(flc->upper, 30, 0);
  assert_close(death->upper, 1, 0);
  assert_null(tacit_schema_find(schema, "nothing"));
  tacit_schema_free(schema);
}

static void test_defaults_are_row_and_substitute(void **state) {
  tacit_schema_t *schema;
  tacit_error_t err;
  assert_ok(parse(&schema, "columns: {y: {type: binary}}", &err), err);
  assert_string_equal(tacit_schema_dataset(schema), "unnamed");
  assert_int_equal(tacit_schema_relation(schema), TACIT_RELATION_SUBSTITUTE);
  assert_null(tacit_schema_unit(schema));
  assert_int_equal(tacit_schema_max_rows(schema), 1);
  tacit_schema_free(schema);
  tacit_schema_free(NULL);
}

#define COLUMN(text) "columns:\n  a: " text "\n"

static const struct {
  const char *text, *expected;
} bad[] = {
    {"", "s.yaml is empty"},
    {"# only a comment\n", "s.yaml is empty"},
    {"columns: [1, 2", "s.yaml:2:1: not valid YAML"},
    {"a: b: c\n", "not valid YAML"},
    {"\tcolumns: {}\n", "s.yaml:1:1: not valid YAML"},
    {"- columns\n", "s.yaml:1:1: the schema: expected `key: value` pairs"},
    {"hello\n", "the schema: expected `key: value` pairs"},
    {"column: {}\n", "s.yaml:1:1: the schema has no key 'column' (did you mean 'columns'?)"},
    {"dataset: x\n", "s.yaml:1:1: the schema needs the key columns"},
    {"columns: {}\n", "s.yaml:1:10: columns: expected `name: {type: ...}` pairs"},
    {"columns: 3\n", "columns: expected `name: {type: ...}` pairs"},
    {"dataset: a\ndataset: b\ncolumns: {y: {type: binary}}\n", "s.yaml:2:1: 'dataset' is given twice"},
    {"dataset: [a]\ncolumns: {y: {type: binary}}\n", "s.yaml:1:10: dataset: expected one word or text"},
    {"relation: swap\ncolumns: {y: {type: binary}}\n",
     "s.yaml:1:11: relation: expected substitute or add-remove"},
    {"relation: {}\ncolumns: {y: {type: binary}}\n", "relation: expected substitute or add-remove"},
    {"[a]: b\n", "s.yaml:1:1: the schema: expected a word as key"},
    {"columns: {y: {type: binary}}\n---\nmore: 1\n", "s.yaml:2:1: expected one YAML document only"},
    {"columns: {y: {type: binary}}\n...\n{", "not valid YAML"},
    {"max_rows: 2\ncolumns: {y: {type: binary}}\n", "s.yaml:1:1: max_rows only goes with a person column"},
    {"unit: p\ncolumns: {y: {type: binary}}\n", "s.yaml:1:7: unit: 'p' must be a column of type id"},
    {"unit: y\nmax_rows: 2\ncolumns: {y: {type: binary}}\n", "unit: 'y' must be a column of type id"},
    {"unit: p\ncolumns: {p: {type: id}}\n", "s.yaml:1:7: unit: 'p' needs max_rows"},
    {"unit: p\nmax_rows: 0\ncolumns: {p: {type: id}}\n",
     "s.yaml:2:11: max_rows: expected a whole number from 1"},
    {"unit: p\nmax_rows: 1.5\ncolumns: {p: {type: id}}\n", "max_rows: expected a whole number from 1"},
    {"unit: p\nmax_rows: many\ncolumns: {p: {type: id}}\n", "max_rows: expected a whole number from 1"},
    {"columns:\n  y: {type: binary}\n  y: {type: binary}\n", "s.yaml:3:3: 'y' is given twice"},
    {"columns:\n  '': {type: binary}\n", "s.yaml:2:3: columns: a column without a name"},
    {"columns:\n  [y]: {type: binary}\n", "columns: expected a column name"},
    {COLUMN("numeric"), "s.yaml:2:6: a column: expected `key: value` pairs"},
    {COLUMN("{}"), "s.yaml:2:6: column 'a' needs a type"},
    {COLUMN("{type: number}"), "s.yaml:2:13: type: 'number' is called numeric here"},
    {COLUMN("{type: nothing}"), "s.yaml:2:13: type: expected numeric, integer, categorical, binary or id"},
    {COLUMN("{type: Date}"), "s.yaml:2:13: type: 'Date' is called numeric here, with since: a public date"},
    {COLUMN("{type: numerik, lower: 0, upper: 1}"), "(did you mean 'numeric'?)"},
    {COLUMN("{type: [numeric]}"), "type: expected numeric"},
    {COLUMN("{type: numeric, lowr: 1}"), "a column has no key 'lowr' (did you mean 'lower'?)"},
    {COLUMN("{type: numeric}"), "s.yaml:2:13: column 'a' needs lower and upper"},
    {COLUMN("{type: numeric, lower: 1}"), "column 'a' needs lower and upper"},
    {COLUMN("{type: numeric, lower: x, upper: 1}"), "s.yaml:2:29: lower: expected a finite number"},
    {COLUMN("{type: numeric, lower: .nan, upper: 1}"), "lower: expected a finite number"},
    {COLUMN("{type: numeric, lower: 0, upper: 1e999}"), "upper: expected a finite number"},
    {COLUMN("{type: numeric, lower: \"?\", upper: 1}"),
     "lower: still to be filled in, with a bound that is known without"},
    {COLUMN("{type: numeric, lower: 2, upper: 1}"),
     "s.yaml:2:22: column 'a': lower (2) must be below upper (1): the bounds are reversed"},
    {COLUMN("{type: numeric, lower: 1, upper: 1}"), "lower (1) must be below upper (1)"},
    {COLUMN("{type: integer, lower: 0.5, upper: 3}"), "the bounds of an integer must be whole numbers"},
    {COLUMN("{type: binary, lower: 0}"), "only numeric and integer columns have bounds"},
    {COLUMN("{type: categorical, levels: [x], upper: 0}"), "only numeric and integer columns have bounds"},
    {COLUMN("{type: binary, out_of_range: clamp}"), "only numeric and integer columns have a range"},
    {COLUMN("{type: binary, units: years}"), "only numeric and integer columns have units"},
    {COLUMN("{type: numeric, lower: 0, upper: 1, units: ''}"), "units: expected a word or two"},
    {COLUMN("{type: binary, typical: [0, 1]}"), "only numeric and integer columns have typical values"},
    {COLUMN("{type: numeric, lower: 0, upper: 1, typical: 0.5}"), "typical: expected [low, high]"},
    {COLUMN("{type: numeric, lower: 0, upper: 1, typical: [0.1, 0.5, 0.7]}"),
     "typical: expected [low, high]"},
    {COLUMN("{type: numeric, lower: 0, upper: 1, typical: [0.1, x]}"), "typical: expected a finite number"},
    {COLUMN("{type: numeric, lower: 0, upper: 1, typical: [0.5, 0.1]}"), "low must be below high"},
    {COLUMN("{type: numeric, lower: 0, upper: 1, typical: [0.5, 1.1]}"), "both within the bounds"},
    {COLUMN("{type: numeric, lower: 0, upper: 1, out_of_range: wrap}"),
     "out_of_range: expected clamp or error"},
    {COLUMN("{type: categorical}"), "column 'a' needs levels"},
    {COLUMN("{type: categorical, levels: []}"), "levels: expected a list of level names, as in [F, M]"},
    {COLUMN("{type: categorical, levels: F}"), "levels: expected a list of level names, as in [F, M]"},
    {COLUMN("{type: categorical, levels: [F, F]}"), "levels: 'F' is given twice"},
    {COLUMN("{type: categorical, levels: [F, '']}"), "levels: expected a list of level names, known without"},
    {COLUMN("{type: categorical, levels: [\"?\"]}"), "levels: expected a list of level names, known without"},
    {COLUMN("{type: categorical, levels: [F, NA]}"),
     "levels: NA stands for a missing value in the data, and is no level"},
    {COLUMN("{type: numeric, lower: 0, upper: 1, levels: [x]}"), "only a categorical column has levels"},
    {COLUMN("{type: numeric, lower: 0, upper: 1, missing: 2}"),
     "missing: expected error, drop, lower, upper, or a value within"},
    {COLUMN("{type: integer, lower: 0, upper: 3, missing: 1.5}"),
     "missing: expected error, drop, lower, upper, or a value"},
    {COLUMN("{type: numeric, lower: 0, upper: 1, missing: [1]}"),
     "missing: expected error, drop, lower, upper"},
    {COLUMN("{type: categorical, levels: [x], missing: y}"),
     "missing: expected error, drop or one of the levels of 'a'"},
    {COLUMN("{type: categorical, levels: [x, drop], missing: drop}"),
     "missing: drop leaves the record out, and is a level of 'a' too"},
    {COLUMN("{type: id, missing: 3}"), "an identifier cannot be missing"},
    {COLUMN("{type: numeric, lower: , upper: 1}"), "s.yaml:2:29: lower: still to be filled in"},
    {COLUMN("{type: numeric, lower: -1e308, upper: 1e308}"),
     "s.yaml:2:22: column 'a': the bounds are too far apart"},
    {COLUMN("{type: \"binary\\0x\"}"), "s.yaml:2:13: a text with a NUL byte"},
    {COLUMN("{\"type\\0\": binary}"), "s.yaml:2:7: a text with a NUL byte"},
    {COLUMN("&b {type: binary}\n  c: *b"), "s.yaml:2:6: anchors (&) and aliases (*) have no place here"},
    {COLUMN("{type: categorical, levels: &l [x]}"), "s.yaml:2:34: anchors (&) and aliases (*)"},
    {COLUMN("{type: categorical, levels: [&l x]}"), "s.yaml:2:35: anchors (&) and aliases (*)"},
    {"columns: *c\n", "s.yaml:1:10: anchors (&) and aliases (*)"},
    {"columns: {y: {type: binary}}\n...\n---\n", "s.yaml:3:1: expected one YAML document only"},
};

static void test_bad_schemas_name_place_and_remedy(void **state) {
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    tacit_schema_t *schema;
    tacit_error_t err = {0};
    tacit_status_t status = parse(&schema, bad[i].text, &err);
    if (status != TACIT_ERR_SCHEMA && status != TACIT_ERR_SYNTAX) {
      fail_msg("status %d for:\n%s", status, bad[i].text);
    }
    assert_null(schema);
    if (strstr(err.message, bad[i].expected) == NULL || strchr(err.message, '\n') != NULL) {
      fail_msg("expected '%s' in '%s'", bad[i].expected, err.message);
    }
  }
}

static void test_shipped_schemas_are_valid(void **state) {
  const char *names[] = {"flchain/flchain.yaml", "nhanes/nhanes_cholesterol.yaml"};
  for (size_t i = 0; i < 2; i++) {
    char path[512];
    tacit_schema_t *schema;
    tacit_error_t err;
    snprintf(path, sizeof path, "%s/%s", TEST_DATA, names[i]);
    assert_ok(tacit_schema_read(&schema, path, &err), err);
    tacit_schema_free(schema);
  }
  tacit_schema_t *schema;
  tacit_error_t err;
  assert_int_equal(tacit_schema_read(&schema, "/nowhere/s.yaml", &err), TACIT_ERR_MISSING);
  assert_int_equal(tacit_schema_read(&schema, "/tmp", &err), TACIT_ERR_IO);
}

static void test_draft_is_of_questions(void **state) {
  char path[512], *text;
  tacit_error_t err;
  snprintf(path, sizeof path, "%s/flchain/flchain.csv", TEST_DATA);
  assert_ok(tacit_schema_draft(path, &text, &err), err);
  assert_non_null(strstr(text, "\n  age: {type: \"?\"}\n"));
  assert_non_null(strstr(text, "WITHOUT looking at the data"));
  tacit_schema_t *schema;
  assert_int_equal(parse(&schema, text, &err), TACIT_ERR_SCHEMA);
  assert_non_null(strstr(err.message, "still to be filled in"));
  tacit_text_free(text);
  assert_int_equal(tacit_schema_draft("/nowhere.csv", &text, &err), TACIT_ERR_MISSING);
  assert_null(text);
}

/* Thousands of levels that are one level written once: refused at the first, whatever it would expand to. */
static void test_nested_aliases_are_refused_at_once(void **state) {
  tacit_text_t text = {0};
  tacit_schema_t *schema;
  tacit_error_t err;
  tacit_text_printf(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
  for (int i = 1; i < 40; i++) {
    int j = i - 1;
    tacit_text_printf(&text, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i, i, j, j, j, j, j, j);
  }
  assert_int_equal(parse(&schema, text.data, &err), TACIT_ERR_SCHEMA);
  assert_non_null(strstr(err.message, "s.yaml:1:5: anchors"));
  tacit_text_clear(&text);
}

/* Every text cut short anywhere ends in success or in an error with one line. */
static void test_truncated_schemas_are_answered(void **state) {
  static const char text[] = "dataset: d\nunit: p\nmax_rows: 2\ncolumns:\n  p: {type: id}\n  'o''s':\n"
                             "    type: numeric\n    lower: -1\n    upper: 1\n    missing: lower\n"
                             "  s: {type: categorical, levels: [a, \"b\"]}\n";
  for (size_t n = 0; n < sizeof text; n++) {
    tacit_schema_t *schema;
    tacit_error_t err = {0};
    tacit_status_t status = tacit_schema_parse(&schema, text, n, "s.yaml", &err);
    assert_true((status == TACIT_OK) == (schema != NULL));
    assert_true(status == TACIT_OK || (err.message[0] != '\0' && strchr(err.message, '\n') == NULL));
    tacit_schema_free(schema);
  }
}

static void test_failed_allocations_leak_nothing(void **state) {
  const char *text =
      "unit: p\nmax_rows: 2\ndataset: d\ncolumns: {p: {type: id}, s: {type: categorical, levels: [F, M]}}\n";
  for (size_t k = 1; k < 100; k++) {
    tacit_schema_t *schema;
    tacit_error_t err;
    tacit_alloc_fail_at(k);
    tacit_status_t status = parse(&schema, text, &err);
    tacit_alloc_fail_at(0);
    if (status == TACIT_OK) {
      tacit_schema_free(schema);
      return;
    }
    assert_int_equal(status, TACIT_ERR_MEMORY);
  }
  fail_msg("an allocation failed in every round");
}

/* A schema that was made from a dictionary has no lines that its user knows. */
static void test_without_a_name_messages_name_the_key(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"{\"columns\": {\"smoker\": {\"type\": \"bool\"}}}",
       "columns.smoker.type: type: 'bool' is called binary here"},
      {"{\"columns\": {\"a\": {\"type\": \"binary\"}, \"b\": {\"type\": \"categorical\", \"levels\": [\"x\", "
       "\"x\"]}}}",
       "columns.b.levels[1]: levels: 'x' is given twice"},
      {"{\"columns\": {\"b\": {\"type\": \"numeric\", \"lower\": 3, \"upper\": 2}}}",
       "columns.b.lower: column 'b': lower (3)"},
      {"{\"colums\": {}}", "colums: the schema has no key 'colums'"},
      {"{}", "the schema: the schema needs the key columns"},
      {"", "the schema is empty"},
      {"[", "the schema:2:1: not valid YAML"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tacit_schema_t *schema;
    tacit_error_t err;
    assert_true(tacit_schema_parse(&schema, cases[i][0], strlen(cases[i][0]), "", &err) != TACIT_OK);
    assert_non_null(strstr(err.message, cases[i][1]) == err.message ? err.message : NULL);
    assert_true(err.field[0] != '\0');
  }
}

/* A level that says NA is one in quotes alone; then a field that says so has it, and an empty one is missing.
 */
static void test_na_in_quotes_is_a_level(void **state) {
  (void)state;
  static const char text[] = "columns:\n  c: {type: categorical, levels: [DE, \"NA\"], missing: DE}\n";
  tacit_schema_t *schema;
  tacit_error_t err;
  assert_ok(tacit_schema_parse(&schema, text, sizeof text - 1, "test", &err), err);
  const tacit_column_schema_t *column = tacit_schema_find(schema, "c");
  assert_int_equal(column->n_levels, 2);
  assert_string_equal(column->levels[1], "NA");
  tacit_rule_t rule;
  double value;
  assert_ok(tacit_rule_init(&rule, column, &err), err);
  assert_null(tacit_rule_text(&rule, "NA", 2, true, &value));
  assert_true(value == 1 && rule.n_missing == 0);
  assert_null(tacit_rule_text(&rule, "", 0, true, &value));
  assert_true(value == 0 && rule.n_missing == 1);
  assert_non_null(tacit_rule_text(&rule, "NAM", 3, true, &value));
  tacit_rule_clear(&rule);
  tacit_schema_free(schema);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_na_in_quotes_is_a_level),
      cmocka_unit_test(test_without_a_name_messages_name_the_key),
      cmocka_unit_test(test_full_schema_is_read),
      cmocka_unit_test(test_defaults_are_row_and_substitute),
      cmocka_unit_test(test_bad_schemas_name_place_and_remedy),
      cmocka_unit_test(test_shipped_schemas_are_valid),
      cmocka_unit_test(test_draft_is_of_questions),
      cmocka_unit_test(test_nested_aliases_are_refused_at_once),
      cmocka_unit_test(test_truncated_schemas_are_answered),
      cmocka_unit_test(test_failed_allocations_leak_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
