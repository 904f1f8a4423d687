/* Records in columns: the schema's rules for values, persons, files as they are shipped. */
#include "base/memory.h"
#include "base/pool.h"
#include "data/records.h"
#include "data_testing.h"

static void test_rules_for_values(void **state) {
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

/* A gap in any column that is used leaves its record out, and no other; verification knows it for one. */
static void test_gaps_leave_their_records_out(void **state) {
  const char *text = "x,s,b,k\n1,F,1,3\n,F,0,3\n2,NA,1,3\n3,M,,3\n4,M,0,\n";
  static const char *const used[] = {"s", "x", "b"};
  tacit_schema_t *schema = schema_of("columns:\n  x: {type: numeric, lower: 0, upper: 9, missing: drop}\n  "
                                     "s: {type: categorical, levels: [F, M], "
                                     "missing: drop}\n  b: {type: binary, missing: drop}\n  k: {type: "
                                     "integer, lower: 0, upper: 5, missing: drop}\n");
  tacit_table_t *table;
  tacit_table_notes_t notes;
  tacit_records_t *records;
  tacit_error_t err;
  char said[256];
  write_file(text, strlen(text));
  assert_ok(tacit_table_read(&table, file, schema, NULL, 0, &notes, &err), err);
  assert_int_equal(notes.n_missing, 4);
  assert_ok(tacit_table_verify(table, schema, &err), err);
  assert_true(isnan(tacit_table_column(table, "x")[1]) && isnan(tacit_table_column(table, "s")[2]));
  assert_ok(tacit_table_pack(&records, table, used, 3, 1, NULL, &err), err);
  for (size_t i = 0; i < 5; i++) {
    for (size_t j = 0; j < 3; j++) {
      assert_int_equal(isnan(tacit_records_block(records, 0)[j * TACIT_BLOCK + i]) != 0, i >= 1 && i <= 3);
    }
  }
  assert_string_equal(tacit_schema_dropping(schema, used, 3), "s");
  assert_null(tacit_schema_dropping(schema, used, 0));
  tacit_column_notes_t of_x = tacit_table_column_notes(table, "x");
  tacit_column_notes_say(tacit_schema_find(schema, "x"), &of_x, 5, false, said, sizeof said);
  assert_string_equal(said, "column 'x': 1 of 5 values are missing: their records add nothing");
  tacit_records_free(records);
  tacit_table_free(table);
  tacit_schema_free(schema);
}

/* Random numbers in random legal spellings are read back as strtod reads them. */
static void test_random_tables_are_read_exactly(void **state) {
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

/* Thousands of persons in random order, beside counting them one by one. */
static void test_many_persons_keep_order_and_first_rows(void **state) {
  enum { n_rows = 30000, n_ids = 5000 };
  static size_t ids[n_rows], unit_of_id[n_ids], n_seen[n_ids];
  tacit_text_t text = {0};
  uint64_t seed = 3;
  size_t n_units = 0, n_dropped = 0;
  memset(unit_of_id, 0xFF, sizeof unit_of_id);
  tacit_text_printf(&text, "id,x\n");
  for (size_t i = 0; i < n_rows; i++) {
    ids[i] = draw_below(&seed, n_ids);
    if (unit_of_id[ids[i]] == SIZE_MAX) {
      unit_of_id[ids[i]] = n_units++;
    }
    tacit_text_printf(&text, "p%zu,%.3f\n", ids[i], (double)i * 0x1p-9);
  }
  tacit_schema_t *schema = schema_of(person_schema);
  tacit_table_t *table;
  tacit_table_notes_t notes;
  tacit_error_t err;
  write_file(text.data, text.length);
  assert_ok(tacit_table_read(&table, file, schema, NULL, 0, &notes, &err), err);
  size_t n_found;
  const size_t *offsets = tacit_table_unit_offsets(table, &n_found);
  const double *x = tacit_table_column(table, "x");
  assert_int_equal(n_found, n_units);
  for (size_t i = 0; i < n_rows; i++) {
    size_t unit = unit_of_id[ids[i]], seen = n_seen[ids[i]]++;
    n_dropped += seen >= 2;
    if (seen < 2) {
      assert_close(x[offsets[unit] + seen], (double)i * 0x1p-9, 0.0006);
    }
  }
  for (size_t id = 0; id < n_ids; id++) {
    size_t unit = unit_of_id[id], n_kept = n_seen[id] < 2 ? n_seen[id] : 2;
    assert_true(unit == SIZE_MAX || offsets[unit + 1] - offsets[unit] == n_kept);
  }
  assert_int_equal(notes.n_rows_dropped, n_dropped);
  tacit_table_free(table);
  tacit_text_clear(&text);
  tacit_schema_free(schema);
}

/* A dropped row is checked as any other, but its clamped values are not counted. */
static void test_dropped_rows_obey_the_schema(void **state) {
  tacit_schema_t *schema = schema_of(person_schema);
  tacit_table_t *table;
  tacit_table_notes_t notes;
  tacit_error_t err;
  const char *text = "id,x\na,1\na,2\na,900\nb,-4\n";
  write_file(text, strlen(text));
  assert_ok(tacit_table_read(&table, file, schema, NULL, 0, &notes, &err), err);
  assert_int_equal(notes.n_clamped, 1);
  assert_int_equal(notes.n_rows_dropped, 1);
  tacit_table_free(table);
  text = "id,x\na,1\na,2\na,nonsense\n";
  write_file(text, strlen(text));
  assert_int_equal(tacit_table_read(&table, file, schema, NULL, 0, &notes, &err), TACIT_ERR_DATA);
  assert_non_null(strstr(err.message, "data.csv:4:3: column 'x': expected a number"));
  tacit_schema_free(schema);
}

static void test_failed_allocations_leak_nothing(void **state) {
  tacit_text_t text = {0};
  tacit_text_printf(&text, "id,x,s\n");
  for (int i = 0; i < 1500; i++) { /* more than the first capacity of rows, persons and slots */
    tacit_text_printf(&text, "%d,%d,%s\n", i % 1100, i % 7, i % 2 ? "F" : "M");
  }
  tacit_schema_t *schema =
      schema_of("unit: id\nmax_rows: 2\ncolumns: {id: {type: id}, s: {type: categorical, "
                "levels: [F, M]}, x: {type: numeric, lower: 0, upper: 100}}\n");
  write_file(text.data, text.length);
  tacit_text_clear(&text);
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
  enum { n_rows = 1000000 };
  tacit_schema_t *schema =
      schema_of("columns: {x: {type: numeric, lower: 0, upper: 1}, k: {type: integer, lower: 0, upper: 9}}");
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

/* Counts taken from the file by another reader (Python's csv module). */
static void test_shipped_file_is_read(void **state) {
  tacit_schema_t *schema;
  tacit_table_t *table;
  tacit_error_t err;
  const char *const names[] = {"age", "sex", "death"};
  const double expected[] = {506244, 3524, 2169};
  assert_ok(tacit_schema_read(&schema, TEST_DATA "/flchain/flchain.yaml", &err), err);
  assert_ok(tacit_table_read(&table, TEST_DATA "/flchain/flchain.csv", schema, names, 3, NULL, &err), err);
  assert_int_equal(tacit_table_n_rows(table), 7874);
  for (size_t j = 0; j < 3; j++) {
    double sum = 0;
    for (size_t i = 0; i < 7874; i++) {
      sum += tacit_table_column(table, names[j])[i];
    }
    assert_close(sum, expected[j], 0);
  }
  assert_null(tacit_table_column(table, "flc"));
  tacit_table_free(table);
  tacit_schema_free(schema);
}

static void test_shared_files_are_read(void **state) {
  if (testing_shared() == NULL) {
    skip();
  }
  char path[512];
  tacit_schema_t *schema = schema_of("unit: patient_id\nmax_rows: 3\ncolumns: {patient_id: {type: id}, "
                                     "hdl: {type: numeric, lower: 10, upper: 120}}\n");
  tacit_table_t *table;
  tacit_table_notes_t notes;
  tacit_error_t err;
  snprintf(path, sizeof path, "%s/data/patient_labs.csv", testing_shared());
  assert_ok(tacit_table_read(&table, path, schema, NULL, 0, &notes, &err), err);
  assert_int_equal(tacit_table_n_rows(table), 10138);
  assert_int_equal(notes.n_rows_dropped, 13925);
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
      cmocka_unit_test(test_rules_for_values),
      cmocka_unit_test(test_gaps_leave_their_records_out),
      cmocka_unit_test(test_random_tables_are_read_exactly),
      cmocka_unit_test(test_persons_are_grouped_and_limited),
      cmocka_unit_test(test_many_persons_keep_order_and_first_rows),
      cmocka_unit_test(test_dropped_rows_obey_the_schema),
      cmocka_unit_test(test_failed_allocations_leak_nothing),
      cmocka_unit_test(test_a_million_rows),
      cmocka_unit_test(test_shipped_file_is_read),
      cmocka_unit_test(test_shared_files_are_read),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
