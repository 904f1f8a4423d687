/* Record blocks: their layout, units, values that are not finite, blocks in a file. */
#include <dirent.h>
#include "base/memory.h"
#include "data/records.h"
#include "data_testing.h"

static void test_records_layout_and_units(void **state) {
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

static void test_records_keep_what_is_not_finite_for_the_curator(void **state) {
  tacit_records_t *records;
  tacit_error_t err;
  const double x[5] = {NAN, -INFINITY, 1e300, 1e-40, 1.0 / 3}; /* denormals would be told by time */
  assert_ok(tacit_records_new(&records, 1, 5, &err), err);
  tacit_records_set(records, 0, x);
  const float *block = tacit_records_block(records, 0);
  assert_true(isnan(block[0]));
  assert_true(block[16] == -INFINITY && block[32] == INFINITY && block[48] == 0 && block[64] == 1.0f / 3);
  tacit_records_set_column(records, 0, 1, 4, &x[3]);
  assert_true(block[64] == 0);
  tacit_records_free(records);
  for (size_t k = 1; k <= 2; k++) {
    tacit_alloc_fail_at(k);
    assert_int_equal(tacit_records_new(&records, 1, 5, &err), TACIT_ERR_MEMORY);
    tacit_alloc_fail_at(0);
    assert_null(records);
  }
  assert_ok(tacit_records_new(&records, 0, 1, &err), err);
  tacit_alloc_fail_at(1);
  assert_int_equal(tacit_records_set_units(records, (size_t[]){0}, 0, &err), TACIT_ERR_MEMORY);
  tacit_alloc_fail_at(0);
  assert_ok(tacit_records_set_units(records, (size_t[]){0}, 0, &err), err);
  tacit_records_free(records);
}

static size_t count_files(void) {
  DIR *entries = opendir(folder);
  size_t n = 0;
  assert_non_null(entries);
  while (readdir(entries) != NULL) {
    n++;
  }
  closedir(entries);
  return n;
}

/* In a file as in memory, by rows as by columns, dropped or not; and the file has no name. */
static void test_records_in_a_file(void **state) {
  enum { n = 5000, n_columns = 7 };
  tacit_records_t *memory, *by_rows, *by_columns;
  tacit_error_t err;
  uint64_t seed = 5;
  size_t n_files = count_files();
  assert_ok(tacit_records_new(&memory, n, n_columns, &err), err);
  assert_ok(tacit_records_new_in(&by_rows, n, n_columns, folder, &err), err);
  assert_ok(tacit_records_new_in(&by_columns, n, n_columns, folder, &err), err);
  double *columns = malloc(n_columns * n * sizeof *columns);
  for (size_t i = 0; i < n; i++) {
    double x[n_columns];
    for (size_t j = 0; j < n_columns; j++) {
      x[j] = columns[j * n + i] = (double)draw_below(&seed, 1u << 30) / 3;
    }
    tacit_records_set(memory, i, x);
    tacit_records_set(by_rows, i, x);
    if (i % 500 == 0) {
      tacit_records_drop(by_rows, 0, i / 16);
      tacit_records_need(by_rows, i / 16, i / 16 + 10000);
    }
  }
  for (size_t first = 0, some; first < n; first += some) {
    some = 1 + draw_below(&seed, 70);
    some = some < n - first ? some : n - first;
    for (size_t j = 0; j < n_columns; j++) {
      tacit_records_set_column(by_columns, first, some, j, columns + j * n + first);
    }
  }
  tacit_records_drop(by_columns, 0, SIZE_MAX / 1024);
  tacit_records_drop(memory, 0, n / 16);
  for (size_t b = 0; b < tacit_records_n_blocks(memory); b++) {
    size_t size = n_columns * 16 * sizeof(float);
    assert_memory_equal(tacit_records_block(by_rows, b), tacit_records_block(memory, b), size);
    assert_memory_equal(tacit_records_block(by_columns, b), tacit_records_block(memory, b), size);
  }
  assert_int_equal((uintptr_t)tacit_records_block(by_rows, 1) % 64, 0);
  assert_null(tacit_records_scratch(memory));
  assert_string_equal(tacit_records_scratch(by_rows), folder);
  assert_int_equal(count_files(), n_files);
  tacit_records_free(memory);
  tacit_records_free(by_rows);
  tacit_records_free(by_columns);
  free(columns);
}

static void test_records_without_room_in_a_file(void **state) {
  tacit_records_t *records;
  tacit_error_t err;
  assert_int_equal(tacit_records_new_in(&records, 1, 1, "/nowhere", &err), TACIT_ERR_MISSING);
  assert_null(records);
  assert_non_null(strstr(err.message, "cannot make a file in /nowhere: No such file"));
  assert_int_equal(tacit_records_new_in(&records, (size_t)1 << 55, 1, folder, &err), TACIT_ERR_IO);
  assert_null(records);
  assert_non_null(strstr(err.message, "the room that the records need in /tmp/"));
  for (size_t k = 1; k <= 2; k++) {
    tacit_alloc_fail_at(k);
    assert_int_equal(tacit_records_new_in(&records, 1, 5, folder, &err), TACIT_ERR_MEMORY);
    tacit_alloc_fail_at(0);
  }
  assert_ok(tacit_records_new_in(&records, 0, 3, folder, &err), err);
  tacit_records_drop(records, 0, 1);
  tacit_records_free(records);
}

/* Columns as they are, in the order asked for, whatever the number of threads, in memory or in a file. */
static void test_columns_become_records(void **state) {
  enum { n = 40037 };
  static const char schema_text[] =
      "columns:\n  x: {type: numeric, lower: -9, upper: 9}\n  y: {type: binary}\n"
      "  s: {type: categorical, levels: [F, M]}\n";
  static const char *const names[] = {"s", "x"}, *const unknown[] = {"s", "w"};
  tacit_error_t err;
  tacit_schema_t *schema;
  tacit_table_t *table;
  uint64_t seed = 8;
  char path[300];
  snprintf(path, sizeof path, "%s/columns.csv", folder);
  FILE *out = fopen(path, "w");
  fputs("x,y,s\n", out);
  for (size_t i = 0; i < n; i++) {
    fprintf(out, "%.3f,%d,%c\n", (double)draw_below(&seed, 18000) / 1000 - 9, (int)draw_below(&seed, 2),
            "FM"[draw_below(&seed, 2)]);
  }
  fclose(out);
  assert_ok(tacit_schema_parse(&schema, schema_text, strlen(schema_text), "columns", &err), err);
  assert_ok(tacit_table_read(&table, path, schema, NULL, 0, NULL, &err), err);
  unlink(path);
  const double *x = tacit_table_column(table, "x"), *s = tacit_table_column(table, "s");
  for (size_t n_threads = 1; n_threads <= 5; n_threads++) {
    tacit_records_t *records;
    assert_ok(
        tacit_table_pack(&records, table, names, 2, n_threads, n_threads % 2 == 0 ? folder : NULL, &err),
        err);
    assert_int_equal(tacit_records_n(records), n);
    for (size_t i = 0; i < tacit_records_n_blocks(records) * TACIT_BLOCK; i++) {
      const float *lane = tacit_records_block(records, i / TACIT_BLOCK) + i % TACIT_BLOCK;
      assert_true(lane[0] == (i < n ? (float)s[i] : 0) && lane[TACIT_BLOCK] == (i < n ? (float)x[i] : 0));
    }
    tacit_records_free(records);
    assert_int_equal(tacit_table_pack(&records, table, unknown, 2, n_threads, NULL, &err), TACIT_ERR_UNKNOWN);
    assert_null(records);
    assert_non_null(strstr(err.message, "without column 'w'"));
    for (size_t k = 1; k <= 5; k++) {
      tacit_alloc_fail_at(k);
      assert_int_equal(tacit_table_pack(&records, table, names, 2, n_threads, NULL, &err), TACIT_ERR_MEMORY);
      tacit_alloc_fail_at(0);
      assert_null(records);
    }
  }
  tacit_table_free(table);
  tacit_schema_free(schema);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_records_layout_and_units),
      cmocka_unit_test(test_records_keep_what_is_not_finite_for_the_curator),
      cmocka_unit_test(test_records_in_a_file),
      cmocka_unit_test(test_columns_become_records),
      cmocka_unit_test(test_records_without_room_in_a_file),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
