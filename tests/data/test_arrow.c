/* Arrow streams: the same records as a CSV file of the same values; drafts and reports of streams. */
#include <dirent.h>

#include "arrow_reading.h"
#include "data/records.h"

static void expect(stream_t *stream, const char *schema, const char *name, const double *expected, size_t n) {
  tacit_table_t *table = read_stream(stream, schema);
  assert_int_equal(tacit_table_n_rows(table), n);
  assert_memory_equal(tacit_table_column(table, name), expected, n * sizeof *expected);
  tacit_table_free(table);
}

/* ---- values ---- */

static void test_every_width_of_number(void **state) {
  const int8_t c[] = {-1, 0, 12};
  const uint8_t C[] = {1, 0, 12};
  const int16_t s[] = {-1, 0, 12};
  const uint16_t S[] = {1, 0, 12};
  const int32_t i[] = {-1, 0, 12};
  const uint32_t I[] = {1, 0, 12};
  const int64_t l[] = {-1, 0, 12};
  const uint64_t L[] = {1, 0, 12};
  const uint16_t e[] = {0xBC00, 0x8000, 0x4A00};
  const float f[] = {-1, 0, 12};
  const double g[] = {-1, 0, 12};
  const struct {
    const char *format;
    const void *values;
  } cases[] = {{"c", c}, {"s", s}, {"i", i}, {"l", l}, {"e", e}, {"f", f},
               {"g", g}, {"C", C}, {"S", S}, {"I", I}, {"L", L}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    column_t column = plain(cases[k].values, 3);
    stream_t stream = one("x", cases[k].format, &column);
    bool is_signed = k < 7;
    for (size_t type = 0; type < 2; type++) {
      tacit_table_t *table = read_stream(&stream, type == 0 ? NUMERIC : INTEGER);
      const double *x = tacit_table_column(table, "x");
      assert_true(x[0] == (is_signed ? -1 : 1) && x[1] == 0 && x[2] == 12);
      tacit_table_free(table);
    }
    if (is_signed) { /* the digits of whole numbers are levels, and of whole floats too */
      expect(&stream, LEVELS, "x", (const double[]){0, 1, 2}, 3);
    }
  }
}

static void test_half_floats(void **state) {
  const uint16_t e[] = {0x0001, 0x3C01, 0x7BFF, 0xFC00, 0x7E00, 0x0400};
  column_t column = plain(e, 6);
  stream_t stream = one("x", "e", &column);
  expect(&stream, "columns: {x: {type: numeric, lower: -70000, upper: 70000, missing: 7}}", "x",
         (const double[]){0x1p-24, 1 + 0x1p-10, 65504, -70000, 7, 0x1p-14}, 6);
}

/* What a CSV file of the same digits gives, correctly rounded. */
static void test_numbers_round_as_csv_does(void **state) {
  const int64_t l[] = {INT64_MAX, INT64_MIN, 9007199254740993};
  column_t column = plain(l, 3);
  stream_t stream = one("x", "l", &column);
  expect(&stream, NUMERIC, "x",
         (const double[]){strtod("9223372036854775807", NULL), strtod("-9223372036854775808", NULL),
                          strtod("9007199254740993", NULL)},
         3);
  const uint64_t decimals[] = {123456789, 0, (uint64_t)-5, UINT64_MAX, 0x4B3B4CA85A86C47A, 0x098A2240, 10, 0};
  column = plain(decimals, 4); /* 128 bits each */
  const struct {
    const char *format;
    double expected[4];
  } cases[] = {
      {"d:38,6", {123.456789, -0.000005, strtod("708669603840.0000000000000000000000", NULL), 0.00001}},
      {"d:38,0", {123456789, -5, 0, 10}},
      {"d:38,20", {strtod("1.23456789e-12", NULL), -5e-20, 0, 1e-19}},
      {"d:38,-3,128", {123456789e3, -5e3, 0, 1e4}},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    stream = one("x", cases[k].format, &column);
    tacit_table_t *table = read_stream(&stream, NUMERIC);
    const double *x = tacit_table_column(table, "x");
    assert_true(x[0] == cases[k].expected[0] && x[1] == cases[k].expected[1] && x[3] == cases[k].expected[3]);
    tacit_table_free(table);
  }
  const int32_t small[] = {-1234, 500, 0};
  column = plain(small, 3);
  stream = one("x", "d:4,2,32", &column);
  expect(&stream, NUMERIC, "x", (const double[]){-12.34, 5, 0}, 3);
  const int64_t medium[] = {-100, 0, 1200};
  column = plain(medium, 3);
  stream = one("x", "d:18,2,64", &column);
  expect(&stream, LEVELS, "x", (const double[]){0, 1, 2}, 3);
}

static void test_booleans_and_numbers_are_binary(void **state) {
  const unsigned char bits[] = {0x35}, nulls[] = {0xFB}; /* 1 0 (1: null) 0 1 1 */
  column_t column = with_nulls(plain(bits, 6), nulls);
  stream_t stream = one("x", "b", &column);
  expect(&stream, BINARY, "x", (const double[]){1, 0, 0, 0, 1, 1}, 6);
  const double g[] = {1, 0, NAN};
  column = plain(g, 3);
  stream = one("x", "g", &column);
  expect(&stream, BINARY, "x", (const double[]){1, 0, 0}, 3);
  const int32_t offsets[] = {0, 1, 6, 10, 10, 12};
  column = text(offsets, "1FALSETRUENA", 5);
  stream = one("x", "u", &column);
  expect(&stream, BINARY, "x", (const double[]){1, 0, 1, 0, 0}, 5);
}

/* "12", a null, "long enough for a view", "", "NA" in every layout that text has. */
static const char words[] = "12long enough for a viewNA";
static const double level_places[] = {2, 1, 3, 1, 1};

static void test_layouts_of_text(void **state) {
  const unsigned char nulls[] = {0xFD};
  const int32_t offsets[] = {0, 2, 2, 24, 24, 26};
  const int64_t wide[] = {0, 2, 2, 24, 24, 26};
  column_t column = with_nulls(text(offsets, words, 5), nulls);
  stream_t stream = one("x", "u", &column);
  expect(&stream, LEVELS, "x", level_places, 5);
  column.buffers[1] = wide;
  stream = one("x", "U", &column);
  expect(&stream, LEVELS, "x", level_places, 5);
  int32_t views[5][4] = {{2}, {0}, {22, 0, 1, 2}, {0}, {2}};
  memcpy(&views[0][1], "12", 2);
  memcpy(&views[4][1], "NA", 2);
  const int64_t sizes[] = {0, 26};
  column =
      (column_t){.buffers = {nulls, views, "", words, sizes}, .n_buffers = 5, .length = 5, .null_count = 1};
  stream = one("x", "vu", &column);
  expect(&stream, LEVELS, "x", level_places, 5);
}

/* The order of a dictionary and its unused entries, be they no level at all, mean nothing; its places may
 * have any width. */
static void test_dictionaries(void **state) {
  const int32_t offsets[] = {0, 6, 28, 28, 30, 32};
  const unsigned char entry_nulls[] = {0xFB};
  const column_t entries = with_nulls(text(offsets, "unusedlong enough for a view12NA", 5), entry_nulls);
  const int8_t c[] = {3, 2, 1, 0, 4};
  const uint16_t S[] = {3, 2, 1, 77, 4};
  const int64_t l[] = {3, 2, 1, -1, 4};
  const unsigned char nulls[] = {0xF7};
  const struct {
    const char *format;
    const void *places;
  } cases[] = {{"c", c}, {"S", S}, {"l", l}};
  for (size_t k = 0; k < 3; k++) {
    column_t column = with_nulls(plain(cases[k].places, 5), nulls);
    column.dictionary = &entries;
    stream_t stream = one("x", cases[k].format, &column);
    stream.dictionaries[0] = "u";
    expect(&stream, LEVELS, "x", (const double[]){2, 1, 3, 1, 1}, 5);
  }
  const double numbers[] = {0.25, NAN, 3};
  const column_t values = plain(numbers, 3);
  const uint8_t C[] = {2, 1, 0, 0};
  column_t column = plain(C, 4);
  column.dictionary = &values;
  stream_t stream = one("x", "C", &column);
  stream.dictionaries[0] = "g";
  expect(&stream, NUMERIC, "x", (const double[]){3, 7, 0.25, 0.25}, 4);
}

/* Offsets of the table, of its columns, of dictionaries; chunks of any size, empty ones too. */
static void test_offsets_slices_and_chunks(void **state) {
  const double g[] = {99, 98, 1, 2, 3, 4};
  const int32_t offsets[] = {0, 1, 3, 4, 5, 6};
  const unsigned char bits[] = {
      0x17}; /* of g, from its own offset 1 and the table's 1: 1 and 3 are there, 2 is null */
  const unsigned char rows[] = {0x0E}; /* of the table, from its offset 1 */
  column_t columns[] = {{.buffers = {bits, g}, .n_buffers = 2, .length = 5, .offset = 1, .null_count = 2},
                        {.buffers = {NULL, offsets, "???FMF"}, .n_buffers = 3, .length = 4, .offset = 1}};
  stream_t stream = {
      .names = {"x", "s", "unused"}, .formats = {"g", "u", "tdD"}, .n_columns = 2, .n_chunks = 3};
  stream.chunks[0] = (chunk_t){.length = 0, .columns = columns, .n_columns = 2};
  stream.chunks[1] = (chunk_t){
      .length = 3, .offset = 1, .null_count = 1, .validity = rows, .columns = columns, .n_columns = 2};
  stream.chunks[2] = (chunk_t){.length = 1, .offset = 1, .columns = columns, .n_columns = 2};
  const char *schema = "columns: {x: {type: numeric, lower: 0, upper: 50, missing: 7}, s: {type: "
                       "categorical, levels: [F, M]}}";
  tacit_table_t *table = read_stream(&stream, schema);
  const double *x = tacit_table_column(table, "x"), *s = tacit_table_column(table, "s");
  assert_int_equal(tacit_table_n_rows(table), 4);
  assert_true(x[0] == 1 && x[1] == 7 && x[2] == 3 && x[3] == 1);
  assert_true(s[0] == 0 && s[1] == 1 && s[2] == 0 && s[3] == 0);
  tacit_table_free(table);
}

/* ---- beside CSV ---- */

/* Random records, missing values and bad ranges among them, in random chunks: the same table, notes and all,
 * as from a file. */
static void test_random_streams_equal_csv(void **state) {
  enum { n_rows = 9000 };
  static double x[n_rows];
  static int64_t id[n_rows];
  static unsigned char bits[n_rows / 8 + 1], y[n_rows / 8 + 1];
  static int32_t level[n_rows];
  uint64_t seed = 11;
  tacit_text_t csv = {0};
  tacit_text_printf(&csv, "x,who,s,y\n");
  for (size_t i = 0; i < n_rows; i++) {
    bool is_null = draw_below(&seed, 7) == 0, is_true = draw_below(&seed, 2) == 1;
    x[i] = (double)draw_below(&seed, 3000) / 64 - 20;
    id[i] = (int64_t)draw_below(&seed, 4000) - 2000;
    level[i] = (int32_t)draw_below(&seed, 3);
    bits[i / 8] = (unsigned char)(bits[i / 8] | !is_null << i % 8);
    y[i / 8] = (unsigned char)(y[i / 8] | is_true << i % 8);
    tacit_text_printf(&csv, is_null ? "," : "%.9f,", x[i]);
    tacit_text_printf(&csv, "%d,%s,%d\n", (int)id[i],
                      level[i] == 0   ? "F"
                      : level[i] == 1 ? "M"
                                      : "NA",
                      is_true);
  }
  const column_t entries = text((const int32_t[]){0, 1, 2, 4}, "FMNA", 3);
  const char *schema_text = "unit: who\nmax_rows: 3\ncolumns:\n  who: {type: id}\n"
                            "  x: {type: numeric, lower: -10, upper: 10, missing: 2}\n"
                            "  s: {type: categorical, levels: [F, M], missing: drop}\n  y: {type: binary}\n";
  tacit_schema_t *schema = schema_of(schema_text);
  tacit_table_t *from_csv, *from_stream;
  tacit_table_notes_t csv_notes, stream_notes;
  tacit_error_t err;
  write_file(csv.data, csv.length);
  assert_ok(tacit_table_read(&from_csv, file, schema, NULL, 0, &csv_notes, &err), err);
  for (int repeat = 0; repeat < 6; repeat++) {
    static column_t columns[ARROW_CHUNKS][4];
    stream_t stream = {.names = {"s", "who", "y", "x"},
                       .formats = {"i", "l", "b", "g"},
                       .dictionaries = {"u"},
                       .n_columns = 4,
                       .n_chunks = ARROW_CHUNKS};
    int64_t first = 0;
    for (int64_t k = 0; k < ARROW_CHUNKS; k++) {
      int64_t n =
          k + 1 < ARROW_CHUNKS ? (int64_t)draw_below(&seed, (size_t)(n_rows - first + 1)) : n_rows - first;
      column_t of[] = {plain(level, n), plain(id, n), plain(y, n), with_nulls(plain(x, n), bits)};
      of[0].dictionary = &entries;
      for (size_t j = 0; j < 4; j++) {
        of[j].offset = first;
        columns[k][j] = of[j];
      }
      stream.chunks[k] = (chunk_t){.length = n, .columns = columns[k], .n_columns = 4};
      first += n;
    }
    assert_ok(read_watched(&stream, schema_text, NULL, &from_stream, &stream_notes, &err), err);
    size_t n_units, n_csv_units;
    const size_t *offsets = tacit_table_unit_offsets(from_stream, &n_units),
                 *csv_offsets = tacit_table_unit_offsets(from_csv, &n_csv_units);
    assert_int_equal(n_units, n_csv_units);
    assert_memory_equal(offsets, csv_offsets, (n_units + 1) * sizeof *offsets);
    size_t n = tacit_table_n_rows(from_csv);
    assert_int_equal(tacit_table_n_rows(from_stream), n);
    for (size_t j = 0; j < 3; j++) {
      const char *name = j == 0 ? "x" : j == 1 ? "s" : "y";
      assert_memory_equal(tacit_table_column(from_stream, name), tacit_table_column(from_csv, name),
                          n * sizeof(double));
    }
    assert_memory_equal(&stream_notes, &csv_notes, sizeof csv_notes);
    tacit_table_free(from_stream);
  }
  assert_true(csv_notes.n_clamped > 0 && csv_notes.n_missing > 0 && csv_notes.n_rows_dropped > 0);
  tacit_table_free(from_csv);
  tacit_schema_free(schema);
  tacit_text_clear(&csv);
}

static void test_import_of_a_stream_equals_reading_it(void **state) {
  enum { n = 20000 };
  static double x[n];
  static int64_t id[n];
  uint64_t seed = 5;
  for (size_t i = 0; i < n; i++) {
    x[i] = (double)draw_below(&seed, 1000);
    id[i] = (int64_t)draw_below(&seed, 6000);
  }
  const column_t columns[] = {plain(x, n), plain(id, n)};
  stream_t stream = {.names = {"x", "id"},
                     .formats = {"g", "l"},
                     .n_columns = 2,
                     .chunks = {{.length = n, .columns = columns, .n_columns = 2}},
                     .n_chunks = 1};
  const char *text_of_schema =
      "unit: id\nmax_rows: 2\ncolumns: {id: {type: id}, x: {type: numeric, lower: 0, upper: 900}}";
  tacit_schema_t *schema = schema_of(text_of_schema);
  char directory[128], path[512];
  snprintf(directory, sizeof directory, "%s/columns", folder);
  tacit_table_t *read = read_stream(&stream, text_of_schema), *imported;
  struct ArrowArrayStream arrow = stream_of(&stream);
  tacit_error_t err;
  assert_ok(
      tacit_table_import_source(&(tacit_data_source_t){.stream = &arrow}, schema, directory, NULL, &err),
      err);
  assert_true(arrow.release == NULL && is_settled(&stream));
  assert_ok(tacit_table_read(&imported, directory, schema, NULL, 0, NULL, &err), err);
  assert_int_equal(tacit_table_n_rows(imported), tacit_table_n_rows(read));
  assert_memory_equal(tacit_table_column(imported, "x"), tacit_table_column(read, "x"),
                      tacit_table_n_rows(read) * sizeof(double));
  tacit_table_free(imported);
  tacit_table_free(read);
  arrow = stream_of(&stream);
  assert_int_equal(
      tacit_table_import_source(&(tacit_data_source_t){.stream = &arrow}, schema, directory, NULL, &err),
      TACIT_ERR_EXISTS);
  assert_true(arrow.release == NULL && stream.n_streams_released == 1); /* though it was never looked at */
  tacit_schema_free(schema);
  DIR *dir = opendir(directory);
  for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
    snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
    unlink(path);
  }
  closedir(dir);
  assert_int_equal(rmdir(directory), 0);
}

/* Names and types, in comments: not a chunk is asked for. */
static void test_a_draft_asks_for_no_record(void **state) {
  (void)state;
  stream_t stream = {.names = {"age", "ill", "ward", "born", "odd"},
                     .formats = {"g", "b", "i", "tdD", "+l"},
                     .dictionaries = {NULL, NULL, "u", NULL, NULL},
                     .n_columns = 5};
  struct ArrowArrayStream arrow = stream_of(&stream);
  char *draft;
  tacit_error_t err;
  assert_ok(tacit_schema_draft_source(&(tacit_data_source_t){.stream = &arrow}, false, &draft, &err), err);
  static const char *const lines[] = {"\n  age: {type: \"?\"}   # numbers\n",
                                      "\n  ill: {type: \"?\"}   # true or false\n",
                                      "\n  ward: {type: \"?\"}   # text, in categories\n",
                                      "\n  born: {type: \"?\"}   # dates\n",
                                      "\n  odd: {type: \"?\"}\n",
                                      "the type that the frame gives it"};
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    if (strstr(draft, lines[i]) == NULL) {
      fail_msg("%s is not in\n%s", lines[i], draft);
    }
  }
  assert_int_equal(stream.n_next, 0);
  assert_true(is_settled(&stream));
  tacit_text_free(draft);
}

/* What is said of records is for their holder; of the schema alone for anybody. */
static void test_a_report_tells_records_apart(void **state) {
  (void)state;
  static const char yaml[] =
      "columns: {age: {type: numeric, lower: 0, upper: 2}, only: {type: categorical, levels: [a]}}\n";
  static const double ages[] = {1, 2, 50, 2};
  static const int32_t ends[] = {0, 1, 2, 3, 4};
  const column_t columns[] = {{.buffers = {NULL, ages}, .n_buffers = 2, .length = 4},
                              {.buffers = {NULL, ends, "aaaa"}, .n_buffers = 3, .length = 4}};
  stream_t stream = {.names = {"age", "only"},
                     .formats = {"g", "u"},
                     .n_columns = 2,
                     .chunks = {{.length = 4, .columns = columns, .n_columns = 2}},
                     .n_chunks = 1};
  tacit_schema_t *schema;
  tacit_schema_report_t report;
  tacit_error_t err;
  assert_ok(tacit_schema_parse(&schema, yaml, sizeof yaml - 1, "", &err), err);
  assert_ok(tacit_schema_report(schema, &report, &err), err);
  assert_string_equal(report.says, "ok: 2 columns, relation substitute, unit row\n");
  assert_non_null(strstr(report.warns, "column 'only' has a single level"));
  assert_null(report.for_holder);
  struct ArrowArrayStream arrow = stream_of(&stream);
  assert_ok(tacit_schema_report_records(schema, &(tacit_data_source_t){.stream = &arrow}, &report, &err),
            err);
  assert_non_null(strstr(report.for_holder, "for the holder of the data only: "));
  assert_int_equal(report.n_rows, 4);
  assert_int_equal(report.n_units, 4);
  assert_int_equal(report.notes.n_clamped, 1);
  assert_int_equal(stream.n_streams_released, 1);
  tacit_schema_report_clear(&report);
  tacit_schema_free(schema);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_draft_asks_for_no_record),
      cmocka_unit_test(test_a_report_tells_records_apart),
      cmocka_unit_test(test_every_width_of_number),
      cmocka_unit_test(test_half_floats),
      cmocka_unit_test(test_numbers_round_as_csv_does),
      cmocka_unit_test(test_booleans_and_numbers_are_binary),
      cmocka_unit_test(test_layouts_of_text),
      cmocka_unit_test(test_dictionaries),
      cmocka_unit_test(test_offsets_slices_and_chunks),
      cmocka_unit_test(test_random_streams_equal_csv),
      cmocka_unit_test(test_import_of_a_stream_equals_reading_it),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
