/* CSV in every legal spelling, the schema's rules for values, persons, and what is refused with its place. */
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/base_internal.h"
#include "tacit/data.h"
#include "testing.h"

static char folder[] = "/tmp/tacit-table-XXXXXX";
static char file[64];

static int set_up(void **state) {
  (void)state;
  if (mkdtemp(folder) == NULL) {
    return -1;
  }
  snprintf(file, sizeof file, "%s/data.csv", folder);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  unlink(file);
  return rmdir(folder);
}

static void write_file(const char *bytes, size_t n) {
  FILE *out = fopen(file, "wb");
  assert_non_null(out);
  assert_int_equal(fwrite(bytes, 1, n, out), n);
  assert_int_equal(fclose(out), 0);
}

static tacit_schema_t *schema_of(const char *text) {
  tacit_schema_t *schema;
  tacit_error_t err;
  assert_ok(tacit_schema_parse(&schema, text, strlen(text), "s.yaml", &err), err);
  return schema;
}

static const char *const plain_schema =
    "columns:\n  x: {type: numeric, lower: -10, upper: 10}\n  k: {type: integer, lower: 0, upper: 5, missing: 2}\n"
    "  s: {type: categorical, levels: [F, M, 'a \"b\"']}\n  y: {type: binary}\n";

static tacit_status_t read_text(const char *text, size_t n, tacit_table_t **table, tacit_table_notes_t *notes,
                                tacit_error_t *err) {
  tacit_schema_t *schema = schema_of(plain_schema);
  write_file(text, n);
  tacit_status_t status = tacit_table_read(table, file, schema, NULL, 0, notes, err);
  tacit_schema_free(schema);
  return status;
}

static void test_spellings_of_the_same_table_read_alike(void **state) {
  (void)state;
  static const char *const spellings[] = {
      "x,k,s,y\n1.5,3,F,1\n-2,0,\"a \"\"b\"\"\",0\n",
      "x,k,s,y\r\n1.5,3,F,1\r\n-2,0,\"a \"\"b\"\"\",0\r\n",
      "x,k,s,y\n1.5,3,F,1\n-2,0,\"a \"\"b\"\"\",0",
      "\xEF\xBB\xBFx,k,s,y\n\"1.5\",\"3\",\"F\",\"1\"\n\"-2\",\"0\",\"a \"\"b\"\"\",\"0\"\n\n\n",
      "x\tk\ts\ty\n1.5\t3\tF\t1\n-2\t0\t\"a \"\"b\"\"\"\t0\n",
      "y,other,s,k,x\nTRUE,\"new\nline\",F,3.0,+1.5\nFALSE,,\"a \"\"b\"\"\",0, -2e0 \n",
      "x,k,s,y\n15e-1,3,F,1\n-0.2e1,0,\"a \"\"b\"\"\",0\n",
  };
  for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
    tacit_table_t *table;
    tacit_error_t err;
    assert_ok(read_text(spellings[i], strlen(spellings[i]), &table, NULL, &err), err);
    assert_int_equal(tacit_table_n_rows(table), 2);
    const double *x = tacit_table_column(table, "x"), *k = tacit_table_column(table, "k"),
                 *s = tacit_table_column(table, "s"), *y = tacit_table_column(table, "y");
    assert_true(x[0] == 1.5 && x[1] == -2 && k[0] == 3 && k[1] == 0 && s[0] == 0 && s[1] == 2 && y[0] == 1 && y[1] == 0);
    assert_null(tacit_table_column(table, "other"));
    size_t n_units;
    assert_null(tacit_table_unit_offsets(table, &n_units));
    assert_int_equal(n_units, 2);
    tacit_table_free(table);
  }
}

static void test_rules_for_values(void **state) {
  (void)state;
  const char *text = "x,k,s,y\n99,NA,F,1\n-inf,,M,0\n-10,5,F,1\nInf,7,F,1\n";
  tacit_table_t *table;
  tacit_table_notes_t notes;
  tacit_error_t err;
  assert_ok(read_text(text, strlen(text), &table, &notes, &err), err);
  const double *x = tacit_table_column(table, "x"), *k = tacit_table_column(table, "k");
  assert_true(x[0] == 10 && x[1] == -10 && x[2] == -10 && x[3] == 10);
  assert_true(k[0] == 2 && k[1] == 2 && k[2] == 5 && k[3] == 5);
  assert_int_equal(notes.n_clamped, 4);
  assert_int_equal(notes.n_missing, 2);
  tacit_table_free(table);
}

static const struct {
  const char *text, *expected;
} bad[] = {
    {"", "is empty: expected a header row"},
    {"x,k,s,y\n", "has a header but no records"},
    {"x,k,s,y\n\n\n", "has a header but no records"},
    {"x,k,s,y\n1,2,F\n", "data.csv:2:1: a row of 3 fields; the header has 4"},
    {"x,k,s,y\n1,2,F,1,9\n", "data.csv:2:1: a row of 5 fields; the header has 4"},
    {"x,k,s,y\n1,2,F,1\n\n1,2,F,1\n", "data.csv:3:1: an empty line among the records"},
    {"x,k,s,y\n1,2,X,1\n", "data.csv:2:5: column 's': not one of the levels"},
    {"x,k,s,y\nabc,2,F,1\n", "data.csv:2:1: column 'x': expected a number"},
    {"x,k,s,y\n0x10,2,F,1\n", "data.csv:2:1: column 'x': expected a number"},
    {"x,k,s,y\n\"1,5\",2,F,1\n", "data.csv:2:1: column 'x': expected a number"},
    {"x,k,s,y\n1 2,2,F,1\n", "expected a number"},
    {"x,k,s,y\n1,2.5,F,1\n", "data.csv:2:3: column 'k': expected a whole number"},
    {"x,k,s,y\n1,2,F,2\n", "data.csv:2:7: column 'y': expected 0 or 1"},
    {"x,k,s,y\n1,2,F,yes\n", "column 'y': expected 0 or 1"},
    {"x,k,s,y\n,2,F,1\n", "data.csv:2:1: column 'x': a missing value (the schema says missing: error)"},
    {"x,k,s,y\nNaN,2,F,1\n", "column 'x': a missing value"},
    {"x,k,s,y\n1,2,NA,1\n", "data.csv:2:5: column 's': a missing value"},
    {"x,k,s,y\n1,2,F,1\n1,2,\"F,1\n", "data.csv:3:5: a quotation mark is never closed"},
    {"x,k,s,y\n1,2,F\"M,1\n", "data.csv:2:6: a quotation mark inside a field"},
    {"x,k,s,y\n1,2,\"F\"M,1\n", "data.csv:2:8: expected a separator or the end of the line after a quoted field"},
    {"x,k,s\n1,2,F\n", "has no column 'y' in its header"},
    {"x,k,s,y,x\n1,2,F,1,1\n", "data.csv:1:9: the header names column 1 and column 5 alike"},
    {"x,k,\xFF,y\n1,2,F,1\n", "data.csv:1:5: the header is not valid UTF-8"},
    {"x,k,s,y\n1,2,F,1\r1,2,F,1\n", "expected a separator or the end of the line"},
};

static void test_bad_files_name_place_and_never_a_value(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    tacit_table_t *table;
    tacit_error_t err = {0};
    tacit_status_t status = read_text(bad[i].text, strlen(bad[i].text), &table, NULL, &err);
    assert_true(status == TACIT_ERR_SYNTAX || status == TACIT_ERR_DATA || status == TACIT_ERR_UNKNOWN);
    assert_null(table);
    if (strstr(err.message, bad[i].expected) == NULL) {
      fail_msg("expected '%s' in '%s'", bad[i].expected, err.message);
    }
    assert_null(strstr(err.message, "abc"));
  }
  tacit_table_t *table;
  tacit_error_t err;
  static const char nul[] = "x,k,s,y\n1,2,F,1\n1,\0,F,1\n";
  assert_int_equal(read_text(nul, sizeof nul - 1, &table, NULL, &err), TACIT_ERR_SYNTAX);
  assert_non_null(strstr(err.message, "data.csv:3:3: a NUL byte"));
}

static void test_wrong_places_are_refused(void **state) {
  (void)state;
  tacit_schema_t *schema = schema_of(plain_schema);
  tacit_table_t *table;
  tacit_error_t err;
  const char *const unknown[] = {"nonsense"};
  assert_int_equal(tacit_table_read(&table, "/nowhere.csv", schema, NULL, 0, NULL, &err), TACIT_ERR_MISSING);
  assert_int_equal(tacit_table_read(&table, folder, schema, NULL, 0, NULL, &err), TACIT_ERR_IO);
  write_file("x,k,s,y\n1,2,F,1\n", 16);
  assert_int_equal(tacit_table_read(&table, file, schema, unknown, 1, NULL, &err), TACIT_ERR_UNKNOWN);
  tacit_schema_free(schema);
}

static void test_gzip_reads_alike_and_truncation_is_seen(void **state) {
  (void)state;
  tacit_schema_t *schema = schema_of(plain_schema);
  tacit_table_t *table;
  tacit_error_t err;
  gzFile out = gzopen(file, "wb");
  assert_non_null(out);
  gzputs(out, "x,k,s,y\n");
  for (int i = 0; i < 50000; i++) {
    gzprintf(out, "%d.%d,%d,%s,%d\n", i % 10, i % 7919, i % 6, i % 3 ? "F" : "M", i & 1);
  }
  assert_int_equal(gzclose(out), Z_OK);
  assert_ok(tacit_table_read(&table, file, schema, NULL, 0, NULL, &err), err);
  assert_int_equal(tacit_table_n_rows(table), 50000);
  assert_close(tacit_table_column(table, "k")[49999], 49999 % 6, 0);
  tacit_table_free(table);
  assert_int_equal(truncate(file, 40000), 0);
  assert_int_equal(tacit_table_read(&table, file, schema, NULL, 0, NULL, &err), TACIT_ERR_IO);
  assert_non_null(strstr(err.message, "truncated"));
  tacit_schema_free(schema);
}

/* Random numbers in random legal spellings are read back as strtod reads them. */
static void test_random_tables_are_read_exactly(void **state) {
  (void)state;
  enum { n_rows = 20000 };
  tacit_schema_t *schema = schema_of("columns: {x: {type: numeric, lower: -1e300, upper: 1e300}}\n");
  double *expected = malloc(n_rows * sizeof *expected);
  tacit_text_t text = {0};
  uint64_t seed = 1;
  tacit_text_printf(&text, "x,pad\n");
  for (size_t i = 0; i < n_rows; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    double magnitude = pow(10, (double)(seed >> 32 & 63) - 32);
    expected[i] = ((double)(seed >> 11) * 0x1p-53 - 0.5) * magnitude;
    char number[64];
    snprintf(number, sizeof number, seed % 3 == 0 ? "%.17g" : seed % 3 == 1 ? "%.6f" : "%.3e", expected[i]);
    expected[i] = strtod(number, NULL);
    const char *eol = seed & 4096 ? "\r\n" : "\n";
    tacit_text_printf(&text, seed & 8192 ? "\"%s\",\"a,\"\"b\nc\"%s" : " %s,z%s", number, eol);
  }
  write_file(text.data, text.length);
  tacit_table_t *table;
  tacit_error_t err;
  assert_ok(tacit_table_read(&table, file, schema, NULL, 0, NULL, &err), err);
  assert_int_equal(tacit_table_n_rows(table), n_rows);
  assert_memory_equal(tacit_table_column(table, "x"), expected, n_rows * sizeof *expected);
  tacit_table_free(table);
  tacit_text_clear(&text);
  free(expected);
  tacit_schema_free(schema);
}

static const char *const person_schema =
    "unit: id\nmax_rows: 2\ncolumns: {id: {type: id}, x: {type: numeric, lower: 0, upper: 100}}\n";

static void test_persons_are_grouped_and_limited(void **state) {
  (void)state;
  const char *text = "id,x\nb,1\na,2\nb,3\nc,4\nb,5\na,6\n";
  tacit_schema_t *schema = schema_of(person_schema);
  tacit_table_t *table;
  tacit_table_notes_t notes;
  tacit_error_t err;
  write_file(text, strlen(text));
  assert_ok(tacit_table_read(&table, file, schema, NULL, 0, &notes, &err), err);
  size_t n_units;
  const size_t *offsets = tacit_table_unit_offsets(table, &n_units);
  const double *x = tacit_table_column(table, "x");
  assert_int_equal(n_units, 3);
  assert_int_equal(tacit_table_n_rows(table), 5);
  assert_true(offsets[0] == 0 && offsets[1] == 2 && offsets[2] == 4 && offsets[3] == 5);
  assert_true(x[0] == 1 && x[1] == 3 && x[2] == 2 && x[3] == 6 && x[4] == 4);
  assert_int_equal(notes.n_rows_dropped, 1);
  tacit_table_free(table);
  text = "id,x\n,1\n";
  write_file(text, strlen(text));
  assert_int_equal(tacit_table_read(&table, file, schema, NULL, 0, NULL, &err), TACIT_ERR_DATA);
  assert_non_null(strstr(err.message, "data.csv:2:1: column 'id': a row without its unit"));
  tacit_schema_free(schema);
}

static void test_failed_allocations_leak_nothing(void **state) {
  (void)state;
  const char *text = "id,x\nb,1\na,2\nb,3\n";
  tacit_schema_t *schema = schema_of(person_schema);
  write_file(text, strlen(text));
  for (size_t k = 1; k < 200; k++) {
    tacit_table_t *table;
    tacit_error_t err;
    tacit_alloc_fail_at(k);
    tacit_status_t status = tacit_table_read(&table, file, schema, NULL, 0, NULL, &err);
    tacit_alloc_fail_at(0);
    tacit_table_free(table);
    if (status == TACIT_OK) {
      tacit_schema_free(schema);
      return;
    }
    assert_int_equal(status, TACIT_ERR_MEMORY);
  }
  fail_msg("an allocation failed in every round");
}

static void test_a_million_rows(void **state) {
  (void)state;
  enum { n_rows = 1000000 };
  tacit_schema_t *schema = schema_of("columns: {x: {type: numeric, lower: 0, upper: 1}, k: {type: integer, lower: 0, upper: 9}}");
  FILE *out = fopen(file, "wb");
  assert_non_null(out);
  fputs("x,k,note\n", out);
  for (int i = 0; i < n_rows; i++) {
    fprintf(out, "0.%06d,%d,text of no interest\n", i, i % 10);
  }
  double bytes = (double)ftell(out);
  fclose(out);
  tacit_table_t *table;
  tacit_error_t err;
  double start = tacit_clock();
  assert_ok(tacit_table_read(&table, file, schema, NULL, 0, NULL, &err), err);
  print_message("CSV: %.0f MB/s\n", bytes / (tacit_clock() - start) * 1e-6);
  assert_int_equal(tacit_table_n_rows(table), n_rows);
  tacit_table_free(table);
  tacit_schema_free(schema);
}

static void test_records_layout_and_units(void **state) {
  (void)state;
  tacit_records_t *records;
  tacit_error_t err;
  size_t n_units, offsets[3] = {0, 20, 33}, wrong[3] = {0, 20, 32};
  assert_ok(tacit_records_new(&records, 33, 2, &err), err);
  for (size_t i = 0; i < 33; i++) {
    double x[2] = {(double)i, -(double)i};
    tacit_records_set(records, i, x);
  }
  assert_int_equal(tacit_records_n_blocks(records), 3);
  assert_int_equal((uintptr_t)tacit_records_block(records, 1) % 64, 0);
  for (size_t i = 0; i < 48; i++) {
    float expected = i < 33 ? (float)i : 0;
    assert_true(tacit_records_block(records, i / 16)[i % 16] == expected);
    assert_true(tacit_records_block(records, i / 16)[16 + i % 16] == -expected);
  }
  assert_null(tacit_records_unit_offsets(records, &n_units));
  assert_int_equal(n_units, 33);
  assert_int_equal(tacit_records_set_units(records, wrong, 2, &err), TACIT_ERR_ARGUMENT);
  assert_ok(tacit_records_set_units(records, offsets, 2, &err), err);
  assert_memory_equal(tacit_records_unit_offsets(records, &n_units), offsets, sizeof offsets);
  assert_int_equal(n_units, 2);
  tacit_records_free(records);
  assert_int_equal(tacit_records_new(&records, 1, 0, &err), TACIT_ERR_ARGUMENT);
  assert_int_equal(tacit_records_new(&records, SIZE_MAX - 20, 1 << 20, &err), TACIT_ERR_MEMORY);
  assert_ok(tacit_records_new(&records, 0, 1, &err), err);
  assert_int_equal(tacit_records_n_blocks(records), 0);
  tacit_records_free(records);
  tacit_records_free(NULL);
}

static void test_shared_files_are_read(void **state) {
  (void)state;
  if (testing_shared() == NULL) {
    skip();
  }
  char path[512];
  tacit_schema_t *schema = schema_of("unit: patient_id\nmax_rows: 3\ncolumns: {patient_id: {type: id}, "
                                     "hdl: {type: numeric, lower: 10, upper: 120}}\n");
  tacit_table_t *table;
  tacit_error_t err;
  snprintf(path, sizeof path, "%s/data/patient_labs.csv", testing_shared());
  assert_ok(tacit_table_read(&table, path, schema, NULL, 0, NULL, &err), err);
  size_t n_units;
  const size_t *offsets = tacit_table_unit_offsets(table, &n_units);
  assert_int_equal(n_units, 4000);
  for (size_t u = 0; u < n_units; u++) {
    assert_in_range(offsets[u + 1] - offsets[u], 1, 3);
  }
  tacit_table_free(table);
  tacit_schema_free(schema);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_spellings_of_the_same_table_read_alike),
      cmocka_unit_test(test_rules_for_values),
      cmocka_unit_test(test_bad_files_name_place_and_never_a_value),
      cmocka_unit_test(test_wrong_places_are_refused),
      cmocka_unit_test(test_gzip_reads_alike_and_truncation_is_seen),
      cmocka_unit_test(test_random_tables_are_read_exactly),
      cmocka_unit_test(test_persons_are_grouped_and_limited),
      cmocka_unit_test(test_failed_allocations_leak_nothing),
      cmocka_unit_test(test_a_million_rows),
      cmocka_unit_test(test_records_layout_and_units),
      cmocka_unit_test(test_shared_files_are_read),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
