/* Dates as numbers of days, from text and from Arrow. */
#include <time.h>

#include "arrow_testing.h"
#include "data/rules.h"
#include "data_testing.h"

static double days_of(const char *text) {
  double days = 0;
  assert_true(tacit_date_parse(text, strlen(text), &days));
  return days;
}

/* Every day of 1600 to 2400, against the C library's calendar. */
static void test_days_agree_with_the_c_library(void **state) {
  char text[TACIT_DATE_SIZE], expected[32];
  for (int64_t day = -135140; day < 157054; day++) {
    time_t seconds = (time_t)(day * 86400);
    struct tm utc;
    assert_non_null(gmtime_r(&seconds, &utc));
    assert_true(strftime(expected, sizeof expected, "%Y-%m-%d", &utc) > 0);
    assert_string_equal(tacit_date_format((double)day, text), expected);
    assert_true(days_of(text) == (double)day);
  }
  assert_true(days_of("0000-03-01") == -719468 && days_of("9999-12-31") == 2932896);
}

static void test_times_are_parts_of_days(void **state) {
  assert_true(days_of("1970-01-02 12:00") == 1.5);
  assert_true(days_of("1970-01-02T18:00:00") == 1.75);
  assert_close(days_of("1970-01-01 00:00:00.5"), 0.5 / 86400, 1e-15);
  static const char *const wrong[] = {"",
                                      "1999",
                                      "1999-1-1",
                                      "1999-02-29",
                                      "1900-02-29",
                                      "1999-13-01",
                                      "1999-00-01",
                                      "1999-04-31",
                                      "31.12.1999",
                                      "1999-12-31 ",
                                      "1999-12-31 24:00",
                                      "1999-12-31 23:60",
                                      "1999-12-31 23",
                                      "1999-12-31 23:59:",
                                      "1999-12-31 23:59:59.",
                                      "1999-12-31 23:59Z",
                                      "1999/12/31",
                                      "-999-12-31",
                                      "1999-12-31x"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    double days;
    assert_false(tacit_date_parse(wrong[i], strlen(wrong[i]), &days));
  }
}

#define SINCE "columns: {d: {type: numeric, since: 2000-01-01, lower: 0, upper: 3653, missing: 100}}"

static void test_dates_of_csv_and_arrow_are_alike(void **state) {
  const char *csv = "d\n2000-01-01\n2001-01-01 12:00\n1999-12-31\n2020-01-01\n\"\"\nNA\n";
  static const double expected[] = {0, 366.5, 0, 3653, 100, 100};
  const int32_t days[] = {10957, 11323, 10956, 18262, 0, 0};
  const int64_t micro[] = {946684800000000, 978350400000000, 946598400000000, 1577836800000000, 0, 0};
  const unsigned char bits[] = {0x0F};
  tacit_schema_t *schema = schema_of(SINCE);
  tacit_table_notes_t notes;
  tacit_table_t *table;
  tacit_error_t err;
  for (int source = 0; source < 3; source++) {
    const column_t column = {.buffers = {bits, source == 1 ? (const void *)days : micro},
                             .n_buffers = 2,
                             .length = 6,
                             .null_count = 2};
    stream_t stream = {.names = {"d"},
                       .formats = {source == 1 ? "tdD" : "tsu:UTC"},
                       .n_columns = 1,
                       .chunks = {{.length = 6, .columns = &column, .n_columns = 1}},
                       .n_chunks = 1};
    struct ArrowArrayStream arrow = stream_of(&stream);
    write_file(csv, strlen(csv));
    tacit_data_source_t from = {.path = source == 0 ? file : NULL, .stream = source > 0 ? &arrow : NULL};
    assert_ok(tacit_table_read_source(&table, &from, schema, NULL, 0, &notes, &err), err);
    const double *d = tacit_table_column(table, "d");
    for (size_t i = 0; i < 6; i++) {
      assert_true(d[i] == (source == 1 && i == 1 ? 366 : expected[i]));
    }
    assert_true(notes.n_clamped == 2 && notes.n_missing == 2);
    tacit_table_free(table);
  }
  tacit_schema_free(schema);
}

static void test_what_is_no_date_is_refused(void **state) {
  static const struct {
    const char *schema, *csv, *message;
  } cases[] = {{SINCE, "d\n12\n",
                "data.csv:2:1: column 'd': expected a date, as the schema says since: write 1999-12-31, or "
                "1999-12-31 23:59:59"},
               {SINCE, "d\n31.12.1999\n", "expected a date"},
               {"columns: {d: {type: integer, since: 2000-01-01, lower: 0, upper: 9}}",
                "d\n2000-01-01 12:00\n", "expected a whole number"},
               {"columns: {d: {type: numeric, lower: 0, upper: 9}}", "d\n2000-01-01\n",
                "say since: DATE in the schema"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tacit_schema_t *schema = schema_of(cases[i].schema);
    tacit_table_t *table;
    tacit_error_t err;
    write_file(cases[i].csv, strlen(cases[i].csv));
    assert_int_equal(tacit_table_read(&table, file, schema, NULL, 0, NULL, &err), TACIT_ERR_DATA);
    assert_non_null(strstr(err.message, cases[i].message));
    tacit_schema_free(schema);
  }
  static const char *const schemas[] = {
      "columns: {d: {type: numeric, since: 1999-02-29, lower: 0, upper: 9}}",
      "columns: {d: {type: numeric, since: [1], lower: 0, upper: 9}}",
      "columns: {d: {type: binary, since: 1999-02-28}}", "columns: {d: {type: binary, labels: true}}",
      "columns: {d: {type: categorical, levels: [a], labels: maybe}}"};
  for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
    tacit_schema_t *schema;
    tacit_error_t err;
    assert_int_equal(tacit_schema_parse(&schema, schemas[i], strlen(schemas[i]), "s", &err),
                     TACIT_ERR_SCHEMA);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_days_agree_with_the_c_library),
                                     cmocka_unit_test(test_times_are_parts_of_days),
                                     cmocka_unit_test(test_dates_of_csv_and_arrow_are_alike),
                                     cmocka_unit_test(test_what_is_no_date_is_refused)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
