/* The template of a schema: names that come back as they were, questions, and what cannot be drafted. */
#include "base/memory.h"
#include "data_testing.h"

static char *draft_of(const char *text, size_t n) {
  char *draft;
  tacit_error_t err;
  write_file(text, n);
  assert_ok(tacit_schema_draft_of_header(file, &draft, &err), err);
  return draft;
}

/* Parse a draft with each type filled in. */
static tacit_status_t parse_filled(tacit_schema_t **schema, const char *draft, tacit_error_t *err) {
  static const char question[] = "{type: \"?\"}\n";
  tacit_text_t text = {0};
  const char *columns = strstr(draft, "\ncolumns:"),
             *at = columns; /* the instructions have the question, too */
  assert_non_null(columns);
  for (const char *next; (next = strstr(at, question)) != NULL; at = next + strlen(question)) {
    tacit_text_append(&text, at, (size_t)(next - at));
    tacit_text_printf(&text, "{type: binary}\n");
  }
  tacit_text_printf(&text, "%s", at);
  assert_false(text.failed);
  tacit_status_t status = tacit_schema_parse(schema, text.data, text.length, "draft", err);
  tacit_text_clear(&text);
  return status;
}

static void test_names_and_questions_and_nothing_else(void **state) {
  static const char text[] =
      "\"\",whole,real,flag,word,mixed,unseen\n1,62,0.25,1,F,7,\n2,NA,731e-2,0,M,x,NA\n";
  char *draft, *of_header = draft_of(text, sizeof text - 1);
  static const char expected[] = "columns:\n"
                                 "  # a column without a name in the header cannot be used\n"
                                 "  whole: {type: \"?\"}\n"
                                 "  real: {type: \"?\"}\n"
                                 "  flag: {type: \"?\"}\n"
                                 "  word: {type: \"?\"}\n"
                                 "  mixed: {type: \"?\"}\n"
                                 "  unseen: {type: \"?\"}\n";
  tacit_error_t err;
  tacit_schema_t *schema;
  assert_ok(tacit_schema_draft(file, &draft, &err), err);
  assert_string_equal(draft, of_header);
  assert_non_null(strstr(draft, "WITHOUT looking at the data"));
  assert_string_equal(strstr(draft, "\ncolumns:") + 1, expected);
  assert_int_equal(tacit_schema_parse(&schema, draft, strlen(draft), "draft", &err), TACIT_ERR_SCHEMA);
  assert_non_null(strstr(err.message, "column 'whole': type: still to be filled in"));
  tacit_text_free(draft);
  tacit_text_free(of_header);
}

/* Two files that differ in their records alone have the same template. */
static void test_records_leave_no_trace(void **state) {
  char *a = draft_of("x,s\n1.5,F\n-3,M\n", 15), *b = draft_of("x,s\nzebra,0\nNA,12-12-2012\nx,s\n", 30);
  assert_string_equal(a, b);
  tacit_text_free(a);
  tacit_text_free(b);
}

/* A first row that may be somebody's record is asked about, and its values are not in the question. */
static void test_a_record_is_not_taken_for_names(void **state) {
  static const struct {
    const char *text, *at, *why;
  } rows[] = {
      {"62,F,yes\n63,M,no\n", "data.csv:1:1:", "looks like a number"},
      {"name,1.5e3\na,2\n", "data.csv:1:6:", "looks like a number"},
      {"name,\"1,5\"\na,2\n", "data.csv:1:6:", "a number with a comma"},
      {"id,2019-03-01\n1,2019-03-02\n", "data.csv:1:4:", "a date or time"},
      {"id,31.12.99 23:59\n1,x\n", "data.csv:1:4:", "a date or time"},
      {"id,1-Mar-2020\n1,x\n", "data.csv:1:4:", "a date or time"},
      {"id,NA\n1,x\n", "data.csv:1:4:", "a missing value"},
      {"id,FALSE\n1,x\n", "data.csv:1:4:", "true or false"},
      {"F,ward B\nM,ward A\nM,ward B\n", "data.csv:3:3:", "a value of it here"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char *draft;
    tacit_error_t err;
    write_file(rows[i].text, strlen(rows[i].text));
    assert_int_equal(tacit_schema_draft(file, &draft, &err), TACIT_ERR_SYNTAX);
    assert_null(draft);
    if (strstr(err.message, rows[i].at) == NULL || strstr(err.message, rows[i].why) == NULL ||
        strstr(err.message, "--header") == NULL || strstr(err.message, "ward") != NULL ||
        strstr(err.message, "2019") != NULL) {
      fail_msg("%s", err.message);
    }
    tacit_text_free(draft_of(rows[i].text, strlen(rows[i].text)));
  }
  static const char fine[] = "id,age_2019,v1.2,date,T0,1st,M-1,Q1-2\n1,2,3,4,5,6,7,8\n";
  write_file(fine, sizeof fine - 1);
  char *draft;
  tacit_error_t err;
  assert_ok(tacit_schema_draft(file, &draft, &err), err);
  tacit_text_free(draft);
}

/* Pieces that names are drawn from: what YAML could misread, and what it cannot print. */
static const char *const pieces[] = {
    "a",      " ",      "\"\"",   "\\",     "\n",  ":",   "#",    "'",    "- ",         "? ",     "{",
    "]",      "&x",     "*x",     "!t",     "%",   "\t",  "\x01", "\x7F", "\xC2\x85",   "\u00a0", "\u2028",
    "\uFEFF", "\uFFFE", "\u00e9", "\u20ac", "1.5", "yes", "Null", "~",    "\U0001F600", "_"};

static void test_any_name_comes_back(void **state) {
  size_t n_pieces = sizeof pieces / sizeof pieces[0], n_rounds = (size_t)(2000 * testing_multiplier());
  uint64_t seed = 11;
  for (size_t t = 0; t < n_rounds; t++) {
    tacit_text_t csv = {0}, name = {0};
    tacit_text_append(&csv, "\"", 1);
    for (size_t i = 0, n = 1 + draw_below(&seed, 4); i < n; i++) {
      const char *piece = t < n_pieces ? pieces[t] : pieces[draw_below(&seed, n_pieces)];
      tacit_text_append(&csv, piece, strlen(piece));
      tacit_text_append(&name, piece, piece[0] == '"' ? 1 : strlen(piece));
    }
    tacit_text_printf(&csv, "\"\n1\n0\n");
    char *draft = draft_of(csv.data, csv.length);
    tacit_schema_t *schema;
    tacit_error_t err;
    if (parse_filled(&schema, draft, &err) != TACIT_OK) {
      fail_msg("%s\n%s", err.message, draft);
    }
    assert_string_equal(tacit_schema_column(schema, 0)->name, name.data);
    assert_int_equal(tacit_schema_column(schema, 0)->type, TACIT_COLUMN_BINARY);
    tacit_schema_free(schema);
    tacit_text_free(draft);
    tacit_text_clear(&csv);
    tacit_text_clear(&name);
  }
}

static void test_long_names_come_back(void **state) {
  for (size_t n = 100; n < 3000; n += 29) {
    for (size_t kind = 0; kind < 2; kind++) {
      tacit_text_t csv = {0};
      for (size_t i = 0; i < n; i++) {
        tacit_text_append(&csv, kind ? "\x7F" : "a", 1);
      }
      tacit_text_printf(&csv, ",b\n1,0\n");
      char *draft = draft_of(csv.data, csv.length);
      tacit_schema_t *schema;
      tacit_error_t err;
      assert_ok(parse_filled(&schema, draft, &err), err);
      assert_int_equal(strlen(tacit_schema_column(schema, 0)->name), n);
      assert_non_null(tacit_schema_find(schema, "b"));
      tacit_schema_free(schema);
      tacit_text_free(draft);
      tacit_text_clear(&csv);
    }
  }
}

static void test_words_of_yaml_are_quoted(void **state) {
  char *draft = draft_of("no,Y,null,TRUE,note,_a,9\n1,1,1,1,1,1,1\n", 38);
  assert_non_null(strstr(draft, "  \"no\": {"));
  assert_non_null(strstr(draft, "  \"Y\": {"));
  assert_non_null(strstr(draft, "  \"null\": {"));
  assert_non_null(strstr(draft, "  \"TRUE\": {"));
  assert_non_null(strstr(draft, "  note: {"));
  assert_non_null(strstr(draft, "  \"_a\": {"));
  assert_non_null(strstr(draft, "  \"9\": {"));
  tacit_text_free(draft);
}

static const struct {
  const char *text, *expected;
} bad[] = {
    {"", "is empty: expected a header row"},
    {"a,b,a\n1,2,3\n", "data.csv:1:5: the header names column 1 and column 3 alike"},
    {"a,\xFF\n1,2\n", "data.csv:1:3: the header is not valid UTF-8"},
    {"a,b\n1,\"2\n", "data.csv:2:3: a quotation mark is never closed"},
};

static void test_bad_files_are_refused(void **state) {
  char *draft;
  tacit_error_t err;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    write_file(bad[i].text, strlen(bad[i].text));
    assert_int_equal(tacit_schema_draft(file, &draft, &err), TACIT_ERR_SYNTAX);
    assert_null(draft);
    assert_non_null(strstr(err.message, bad[i].expected));
  }
  assert_int_equal(tacit_schema_draft("/nowhere.csv", &draft, &err), TACIT_ERR_MISSING);
  assert_int_equal(tacit_schema_draft(folder, &draft, &err), TACIT_ERR_IO);
  tacit_text_free(NULL);
}

static void test_failed_allocations_leak_nothing(void **state) {
  static const char text[] = "a,b,c\n1,2,F\n";
  write_file(text, sizeof text - 1);
  for (size_t k = 1; k < 200; k++) {
    char *draft;
    tacit_error_t err;
    tacit_alloc_fail_at(k);
    tacit_status_t status = tacit_schema_draft(file, &draft, &err);
    tacit_alloc_fail_at(0);
    tacit_text_free(draft);
    if (status == TACIT_OK) {
      assert_true(k > 8);
      return;
    }
    assert_int_equal(status, TACIT_ERR_MEMORY);
    assert_null(draft);
  }
  fail_msg("an allocation failed in every round");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names_and_questions_and_nothing_else),
      cmocka_unit_test(test_records_leave_no_trace),
      cmocka_unit_test(test_a_record_is_not_taken_for_names),
      cmocka_unit_test(test_any_name_comes_back),
      cmocka_unit_test(test_long_names_come_back),
      cmocka_unit_test(test_words_of_yaml_are_quoted),
      cmocka_unit_test(test_bad_files_are_refused),
      cmocka_unit_test(test_failed_allocations_leak_nothing),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
