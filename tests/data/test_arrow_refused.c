/* Arrow streams that are refused, in which words; streams that fail, are interrupted or were released. */
#include "base/memory.h"
#include "arrow_reading.h"

static void refuse(stream_t *stream, const char *schema, tacit_status_t expected, const char *field,
                   const char *message) {
  tacit_table_t *table;
  tacit_error_t err;
  tacit_status_t status = read_watched(stream, schema, NULL, &table, NULL, &err);
  if (status != expected || strcmp(err.message, message) != 0 || strcmp(err.field, field) != 0) {
    fail_msg("status %d, field '%s': %s\nexpected %d, field '%s': %s", status, err.field, err.message,
             expected, field, message);
  }
}

/* ---- what is refused ---- */

static void test_types_that_are_not_read(void **state) {
  const double g[] = {1};
  const column_t column = plain(g, 1);
  static const struct {
    const char *format, *schema, *message;
  } cases[] = {
      {"tdD", NUMERIC,
       "column 'x': dates and times are read where the schema says since: DATE, a public date: they are "
       "numbers of days then"},
      {"tsu:UTC", LEVELS,
       "column 'x': dates and times are read where the schema says since: DATE, a public date: they are "
       "numbers of days then"},
      {"ttm", NUMERIC, "column 'x': times of a day and durations are not read: make a number of them"},
      {"+l", NUMERIC,
       "column 'x': lists, structures and encoded runs are not read: give each part a plain column of its "
       "own"},
      {"+r", NUMERIC,
       "column 'x': lists, structures and encoded runs are not read: give each part a plain column of its "
       "own"},
      {"z", LEVELS, "column 'x': bytes are not read: make text or numbers of them"},
      {"w:16", LEVELS, "column 'x': bytes are not read: make text or numbers of them"},
      {"d:76,2,256", NUMERIC,
       "column 'x': decimals of 256 bits are not read: make decimals of 128 bits or floats of them"},
      {"q", NUMERIC, "column 'x': a type that is not read: make numbers, text or booleans of it"},
      {"d:", NUMERIC, "column 'x': a type that is not read: make numbers, text or booleans of it"},
      {"u", NUMERIC, "column 'x': text, where the schema wants a number: convert it"},
      {"vu", INTEGER, "column 'x': text, where the schema wants a number: convert it"},
      {"b", NUMERIC,
       "column 'x': true and false, where the schema wants none: make it type: binary, or convert it"},
      {"b", LEVELS,
       "column 'x': true and false, where the schema wants none: make it type: binary, or convert it"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    stream_t stream = one("x", cases[k].format, &column);
    refuse(&stream, cases[k].schema, TACIT_ERR_DATA, "x", cases[k].message);
    assert_int_equal(stream.n_next, 0); /* before a row is read */
  }
}

#define STRICT "columns: {x: {type: integer, lower: 0, upper: 5, out_of_range: error}}"
#define STRICT_LEVELS "columns: {x: {type: categorical, levels: ['1', a]}}"

static void test_values_that_break_a_rule(void **state) {
  const double g[] = {1, 2, 4711};
  const unsigned char nulls[] = {0xFB};
  column_t column = plain(g, 3);
  stream_t stream = one("x", "g", &column);
  refuse(&stream, STRICT, TACIT_ERR_DATA, "x",
         "row 3, column 'x': outside its bounds (the schema says out_of_range: error)");
  refuse(&stream, "columns: {x: {type: binary}}", TACIT_ERR_DATA, "x",
         "row 2, column 'x': expected 0 or 1, or FALSE or TRUE; of two other words say type: categorical");
  refuse(&stream, STRICT_LEVELS, TACIT_ERR_DATA, "x",
         "row 2, column 'x': not one of the levels in the schema: expected 1, a");
  column = with_nulls(column, nulls);
  stream = one("x", "g", &column);
  refuse(&stream, STRICT, TACIT_ERR_DATA, "x",
         "row 3, column 'x': a missing value (the schema says missing: error): say there missing: drop (its "
         "record adds nothing), lower, upper or a "
         "public value");
  column = plain((const double[]){1, 0.5}, 2);
  stream = one("x", "g", &column);
  refuse(&stream, STRICT, TACIT_ERR_DATA, "x", "row 2, column 'x': expected a whole number");
  refuse(&stream, STRICT_LEVELS, TACIT_ERR_DATA, "x",
         "row 2, column 'x': expected a whole number below 2^53, to be a level");
  refuse(&stream, "unit: x\nmax_rows: 1\ncolumns: {x: {type: id}}", TACIT_ERR_DATA, "x",
         "row 2, column 'x': expected text or a whole number below 2^53, to identify a person");
  column =
      plain((const double[]){0x1p53 - 1, 0x1p53}, 2); /* where two identifiers may have become one float */
  refuse(&stream, "unit: x\nmax_rows: 1\ncolumns: {x: {type: id}}", TACIT_ERR_DATA, "x",
         "row 2, column 'x': expected text or a whole number below 2^53, to identify a person");
  column = text((const int32_t[]){0, 1, 1}, "a", 2);
  stream = one("x", "u", &column);
  refuse(&stream, STRICT_LEVELS, TACIT_ERR_DATA, "x",
         "row 2, column 'x': a missing value (the schema says missing: error): say there missing: drop (its "
         "record adds nothing) or missing: LEVEL");
  refuse(&stream, "unit: x\nmax_rows: 1\ncolumns: {x: {type: id}}", TACIT_ERR_DATA, "x",
         "row 2, column 'x': a row without its unit of privacy");
}

/* The first in the order of rows is told, as a reader of rows would, whatever the chunks and the order of
 * columns. */
static void test_the_first_bad_row_is_told(void **state) {
  enum { n = 10000 };
  static double x[n], z[n];
  x[9000] = 9;
  z[8999] = 9;
  const char *schema = "columns: {x: {type: binary}, z: {type: binary}}";
  const column_t columns[] = {plain(x, n), plain(z, n)};
  stream_t stream = {.names = {"x", "z"},
                     .formats = {"g", "g"},
                     .n_columns = 2,
                     .chunks = {{.length = n, .columns = columns, .n_columns = 2}},
                     .n_chunks = 1};
  refuse(&stream, schema, TACIT_ERR_DATA, "z",
         "row 9000, column 'z': expected 0 or 1, or FALSE or TRUE; of two other words say type: categorical");
  x[8990] = 9;
  refuse(&stream, schema, TACIT_ERR_DATA, "x",
         "row 8991, column 'x': expected 0 or 1, or FALSE or TRUE; of two other words say type: categorical");
  x[8990] = 0;
  stream.chunks[0].length = 7000;
  stream.chunks[1] = (chunk_t){.length = 3000, .offset = 7000, .columns = columns, .n_columns = 2};
  stream.n_chunks = 2;
  refuse(&stream, schema, TACIT_ERR_DATA, "z",
         "row 9000, column 'z': expected 0 or 1, or FALSE or TRUE; of two other words say type: categorical");
}

static void test_streams_against_the_specification(void **state) {
  const double g[] = {1, 0};
  const column_t good = plain(g, 2);
  column_t column = good;
  stream_t stream = one("x", "g", &column);
#define BROKEN(what)                                                                                         \
  refuse(&stream, BINARY, TACIT_ERR_SYNTAX, "x", "the data are no valid Arrow stream: column 'x': " what)
  column.length = 1;
  BROKEN("a column shorter than the table");
  column = good, column.buffers[1] = NULL;
  BROKEN("an array without its buffers");
  column = good, column.n_buffers = 3;
  BROKEN("an array with another number of buffers than its type has");
  column = good, column.length = -1;
  BROKEN("an array without a length and an offset");
  column = good, column.offset = INT64_MAX;
  BROKEN("an array without a length and an offset");
  column = good, column.null_count = 1;
  BROKEN("an array of nulls without a bitmap that says where");
  column = good;
  stream.chunks[0].n_columns = 0;
  refuse(&stream, BINARY, TACIT_ERR_SYNTAX, "",
         "the data are no valid Arrow stream: a chunk that does not agree with the schema");
  stream = one("x", "g", &column);
  stream.root = "g";
  refuse(&stream, BINARY, TACIT_ERR_SYNTAX, "",
         "the data are no valid Arrow stream: it has no columns (a table or a data frame has)");
  stream = one("x", "g", &column);
  stream.chunks[0].validity = (const unsigned char[]){1};
  stream.chunks[0].null_count = 1;
  refuse(&stream, BINARY, TACIT_ERR_DATA, "data", "row 2: a row that is null as a whole");
  stream = one("x", "g", &column);
  stream.names[1] = "x", stream.formats[1] = "g", stream.n_columns = 2;
  refuse(&stream, BINARY, TACIT_ERR_SYNTAX, "x", "the data name column 1 and column 2 alike: 'x'");
  stream = one("z", "g", &column);
  refuse(&stream, BINARY, TACIT_ERR_UNKNOWN, "x", "the data have no column 'x'");
  stream = one("x", "g", &column);
  stream.n_chunks = 0;
  refuse(&stream, BINARY, TACIT_ERR_DATA, "the stream",
         "the stream has no records: under relation substitute at least one is expected");
  tacit_table_t *none = read_stream(&stream, "relation: add-remove\n" BINARY); /* a neighbour of one record */
  assert_int_equal(tacit_table_n_rows(none), 0);
  tacit_table_free(none);
}

static void test_text_and_places_out_of_bounds(void **state) {
  column_t column = text((const int32_t[]){0, 2, 1}, "1a", 2);
  stream_t stream = one("x", "u", &column);
  refuse(&stream, LEVELS, TACIT_ERR_DATA, "x",
         "row 1, column 'x': not one of the levels in the schema: expected -1, 0, 12, long enough for a "
         "view"); /* row 1 comes first */
  column.buffers[2] = "12";
  refuse(&stream, LEVELS, TACIT_ERR_SYNTAX, "x", "row 2, column 'x': a text that ends before it begins");
  column.buffers[1] = (const int32_t[]){0, 2, 2 + (1 << 20) + 1};
  refuse(&stream, LEVELS, TACIT_ERR_SYNTAX, "x", "row 2, column 'x': a text longer than 1 MiB");
  const int64_t sizes[] = {10};
  int32_t views[] = {13, 0, 0, 0};
  column = (column_t){.buffers = {NULL, views, "0123456789", sizes}, .n_buffers = 4, .length = 1};
  stream = one("x", "vu", &column);
  refuse(&stream, LEVELS, TACIT_ERR_SYNTAX, "x", "row 1, column 'x': a text beyond the end of its buffer");
  views[3] = 1;
  column.buffers[3] = (const int64_t[]){13};
  refuse(&stream, LEVELS, TACIT_ERR_SYNTAX, "x", "row 1, column 'x': a text beyond the end of its buffer");
  views[2] = 1;
  refuse(&stream, LEVELS, TACIT_ERR_SYNTAX, "x",
         "row 1, column 'x': a text in a buffer that there is none of");
  const column_t entries = text((const int32_t[]){0, 2}, "12", 1);
  column = plain((const int32_t[]){0, 1}, 2);
  column.dictionary = &entries;
  stream = one("x", "i", &column);
  stream.dictionaries[0] = "u";
  refuse(&stream, LEVELS, TACIT_ERR_SYNTAX, "x",
         "row 2, column 'x': a place beyond the end of its dictionary");
  column.dictionary = NULL;
  refuse(&stream, LEVELS, TACIT_ERR_SYNTAX, "x",
         "the data are no valid Arrow stream: column 'x': an array without a length and an offset");
  stream = one("x", "g", &column);
  stream.dictionaries[0] = "u";
  refuse(&stream, LEVELS, TACIT_ERR_SYNTAX, "x",
         "the data are no valid Arrow stream: column 'x': a dictionary whose places are no whole numbers");
}

/* ---- failures, watching, releases ---- */

static void hear(void *user, const char *what) { snprintf(user, 64, "%s", what); }

static void test_a_failing_stream_may_quote_values_but_tacit_does_not(void **state) {
  const column_t column = plain((const double[]){1, 0}, 2);
  stream_t stream = one("x", "g", &column);
  stream.says = "could not convert 'Smith'";
  char heard[64] = "";
  const tacit_stream_watch_t watch = {.said = hear, .user = heard};
  tacit_table_t *table;
  tacit_error_t err;
  stream.fails_at = 2;
  assert_int_equal(read_watched(&stream, BINARY, &watch, &table, NULL, &err), TACIT_ERR_IO);
  assert_string_equal(err.message, "the data's Arrow stream failed: Input/output error");
  assert_string_equal(heard, "could not convert 'Smith'");
  stream.code_at_schema = ENOMEM;
  refuse(&stream, BINARY, TACIT_ERR_IO, "data", "the data's Arrow stream failed: Cannot allocate memory");
  assert_null(strstr(err.message, "Smith"));
}

static bool count_down(void *user) { return --*(int *)user > 0; }

static void test_reading_is_interrupted(void **state) {
  enum { n = 20000 };
  static double x[n];
  const column_t column = plain(x, n);
  stream_t stream = one("x", "g", &column);
  tacit_table_t *table;
  tacit_error_t err;
  for (int calls = 1; calls < 7; calls++) {
    int left = calls;
    const tacit_stream_watch_t watch = {.go_on = count_down, .user = &left};
    assert_int_equal(read_watched(&stream, BINARY, &watch, &table, NULL, &err), TACIT_ERR_INTERRUPTED);
    assert_string_equal(err.message, "interrupted while reading the data: nothing was spent or written");
  }
}

static void test_a_released_stream_is_refused(void **state) {
  struct ArrowArrayStream stream = {0};
  tacit_schema_t *schema = schema_of(BINARY);
  tacit_table_t *table;
  tacit_error_t err;
  assert_int_equal(tacit_table_read_stream(&table, &stream, schema, NULL, 0, NULL, NULL, &err),
                   TACIT_ERR_ARGUMENT);
  assert_string_equal(err.message, "the Arrow stream was released or read before: ask for a new one");
  tacit_schema_free(schema);
}

/* Each allocation fails once: an error, and everything is released. */
static void test_every_allocation_may_fail(void **state) {
  const column_t columns[] = {plain((const double[]){1, 0, 1}, 3), plain((const int64_t[]){5, 6, 5}, 3)};
  stream_t stream = {.names = {"x", "id"},
                     .formats = {"g", "l"},
                     .n_columns = 2,
                     .chunks = {{.length = 3, .columns = columns, .n_columns = 2}},
                     .n_chunks = 1};
  tacit_schema_t *schema = schema_of("unit: id\nmax_rows: 2\ncolumns: {id: {type: id}, x: {type: binary}}");
  tacit_status_t status = TACIT_ERR_MEMORY;
  for (size_t k = 1; status != TACIT_OK; k++) {
    struct ArrowArrayStream arrow = stream_of(&stream);
    tacit_table_t *table;
    tacit_error_t err;
    tacit_alloc_fail_at(k);
    status = tacit_table_read_stream(&table, &arrow, schema, NULL, 0, NULL, NULL, &err);
    tacit_alloc_fail_at(0);
    assert_true(status == TACIT_OK || status == TACIT_ERR_MEMORY);
    assert_true(is_settled(&stream) && arrow.release == NULL);
    tacit_table_free(table);
    assert_true(status != TACIT_OK || k > 8);
  }
  tacit_schema_free(schema);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_types_that_are_not_read),
      cmocka_unit_test(test_values_that_break_a_rule),
      cmocka_unit_test(test_the_first_bad_row_is_told),
      cmocka_unit_test(test_streams_against_the_specification),
      cmocka_unit_test(test_text_and_places_out_of_bounds),
      cmocka_unit_test(test_a_failing_stream_may_quote_values_but_tacit_does_not),
      cmocka_unit_test(test_reading_is_interrupted),
      cmocka_unit_test(test_a_released_stream_is_refused),
      cmocka_unit_test(test_every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
