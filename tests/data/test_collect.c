/* Records packed as they are read are those of a table that was read first; whatever fails leaves nothing. */
#include "base/memory.h"
#include "data/data_testing.h"

#include "data/collect.h"
#include "data/records.h"

enum { N_COLUMNS = 4 };
static const char *const columns[N_COLUMNS] = {"x", "k", "s", "y"};
static const char persons[] =
    "unit: who\nmax_rows: 3\ncolumns:\n  who: {type: id}\n  x: {type: numeric, lower: -10, upper: 10}\n"
    "  k: {type: integer, lower: 0, upper: 5}\n  s: {type: categorical, levels: [F, M]}\n  y: {type: "
    "binary}\n";

static tacit_status_t pack(void *user, const tacit_table_t *table, tacit_records_t **records,
                           tacit_error_t *err) {
  size_t *n_calls = user;
  ++*n_calls;
  return tacit_table_pack(records, table, columns, N_COLUMNS, 1, NULL, err);
}

/* n rows, some clamped, some missing; the one at `bad` breaks a rule. */
static void write_rows(size_t n, size_t bad) {
  tacit_text_t text = {0};
  uint64_t seed = 7;
  tacit_text_printf(&text, "who,x,k,s,y\n");
  for (size_t i = 0; i < n; i++) {
    const char *k = draw_below(&seed, 9) == 0 ? "" : "3";
    tacit_text_printf(&text, "p%zu,%.3f,%s,%s,%zu\n", draw_below(&seed, n / 2 + 1),
                      (double)draw_below(&seed, 21000) / 1000 - 10.5,
                      strcmp(k, "") == 0 && bad == SIZE_MAX - 1 ? "1" : k,
                      i == bad     ? "other"
                      : i % 3 == 0 ? "F"
                                   : "M",
                      i % 2);
  }
  assert_false(text.failed);
  write_file(text.data, text.length);
  tacit_text_clear(&text);
}

typedef struct collected {
  tacit_records_t *records;
  tacit_table_t *table;
  tacit_table_notes_t notes;
  size_t n_calls;
} collected_t;

static tacit_status_t collect(collected_t *c, const char *schema_text, bool is_whole, size_t n_threads,
                              const tacit_stream_watch_t *watch, tacit_error_t *err) {
  *c = (collected_t){0};
  tacit_schema_t *schema = schema_of(schema_text);
  const tacit_packer_t packer = {
      .pack = pack, .user = &c->n_calls, .is_whole = is_whole, .n_threads = n_threads};
  const tacit_data_source_t source = {.path = file, .watch = watch};
  tacit_status_t status = tacit_records_collect(&c->records, &c->table, &source, schema, columns, N_COLUMNS,
                                                &packer, &c->notes, err);
  assert_true((c->records != NULL) == (status == TACIT_OK) && (c->table != NULL) == (status == TACIT_OK));
  tacit_schema_free(schema);
  return status;
}

static void drop(collected_t *c) {
  tacit_records_free(c->records);
  tacit_table_free(c->table);
}

static void assert_same(const collected_t *a, const collected_t *b) {
  size_t n_blocks = tacit_records_n_blocks(a->records), n_units[2];
  assert_int_equal(tacit_records_n(a->records), tacit_records_n(b->records));
  assert_memory_equal(tacit_records_block(a->records, 0), tacit_records_block(b->records, 0),
                      n_blocks * N_COLUMNS * TACIT_BLOCK * sizeof(float));
  assert_memory_equal(&a->notes, &b->notes, sizeof a->notes);
  assert_int_equal(tacit_table_n_rows(a->table), tacit_table_n_rows(b->table));
  const size_t *of_a = tacit_records_unit_offsets(a->records, &n_units[0]),
               *of_b = tacit_records_unit_offsets(b->records, &n_units[1]);
  assert_true(n_units[0] == n_units[1] && (of_a == NULL) == (of_b == NULL));
  for (size_t j = 0; j < N_COLUMNS; j++) {
    tacit_column_notes_t first = tacit_table_column_notes(a->table, columns[j]),
                         second = tacit_table_column_notes(b->table, columns[j]);
    assert_memory_equal(&first, &second, sizeof first);
    assert_null(tacit_table_column(a->table, columns[j]));
  }
}

static const char gaps[] = "columns:\n  x: {type: numeric, lower: -10, upper: 10}\n  k: {type: integer, "
                           "lower: 0, upper: 5, missing: drop}\n"
                           "  s: {type: categorical, levels: [F, M]}\n  y: {type: binary}\n";

static void test_records_are_those_of_the_whole_table(void **state) {
  static const size_t sizes[] = {1, 15, 16384, 16385, 60001};
  tacit_error_t err;
  for (size_t i = 0; i < 2 * (sizeof sizes / sizeof sizes[0]); i++) {
    const char *schema = i % 2 == 0 ? plain_schema : gaps;
    collected_t whole, windows;
    write_rows(sizes[i / 2], SIZE_MAX);
    assert_ok(collect(&whole, schema, true, 1, NULL, &err), err);
    for (size_t n_threads = 1; n_threads <= 3; n_threads += 2) {
      assert_ok(collect(&windows, schema, false, n_threads, NULL, &err), err);
      assert_true(whole.n_calls == 1 && windows.n_calls == (sizes[i / 2] + 16383) / 16384);
      assert_same(&whole, &windows);
      assert_true(sizes[i / 2] < 1000 || (whole.notes.n_clamped > 0 && whole.notes.n_missing > 0));
      drop(&windows);
    }
    drop(&whole);
  }
}

static void test_no_rows_and_persons(void **state) {
  collected_t c;
  tacit_error_t err;
  tacit_text_t private_n = {0};
  write_rows(0, SIZE_MAX);
  assert_int_equal(collect(&c, plain_schema, false, 1, NULL, &err), TACIT_ERR_DATA);
  tacit_text_printf(&private_n, "relation: add-remove\n%s", plain_schema);
  assert_ok(collect(&c, private_n.data, false, 1, NULL, &err), err);
  assert_true(tacit_records_n(c.records) == 0 && c.n_calls == 1);
  drop(&c);
  tacit_text_clear(&private_n);
  write_rows(40000, SIZE_MAX - 1);
  assert_ok(collect(&c, persons, false, 1, NULL, &err), err);
  assert_true(c.n_calls == 1 && c.notes.n_rows_dropped > 0 &&
              tacit_records_n(c.records) == 40000 - c.notes.n_rows_dropped);
  drop(&c);
}

static bool stop(void *user) {
  size_t *left = user;
  return (*left)-- > 0;
}

static void test_what_fails_late_leaves_nothing(void **state) {
  collected_t c;
  tacit_error_t err;
  size_t left = 30; /* after every 1024 rows */
  const tacit_stream_watch_t watch = {.go_on = stop, .user = &left};
  write_rows(40000, 39000);
  assert_int_equal(collect(&c, plain_schema, false, 1, NULL, &err), TACIT_ERR_DATA);
  assert_non_null(strstr(err.message, ":39002:"));
  assert_int_equal(c.n_calls, 2);
  write_rows(40000, SIZE_MAX);
  assert_int_equal(collect(&c, plain_schema, false, 1, &watch, &err), TACIT_ERR_INTERRUPTED);
  assert_int_equal(c.n_calls, 1);
}

static void test_every_failed_allocation_is_an_error_return(void **state) {
  tacit_status_t status = TACIT_ERR_MEMORY;
  size_t k = 1;
  write_rows(33000, SIZE_MAX);
  tacit_schema_t *schema = schema_of(plain_schema);
  for (; status != TACIT_OK; k++) {
    collected_t c = {0};
    tacit_error_t err = {0};
    const tacit_packer_t packer = {.pack = pack, .user = &c.n_calls, .n_threads = 2};
    const tacit_data_source_t source = {.path = file};
    tacit_alloc_fail_at(k);
    status = tacit_records_collect(&c.records, &c.table, &source, schema, columns, N_COLUMNS, &packer,
                                   &c.notes, &err);
    tacit_alloc_fail_at(0);
    assert_true(status == TACIT_OK || (status == TACIT_ERR_MEMORY && err.status == status));
    assert_true((c.records != NULL) == (status == TACIT_OK));
    drop(&c);
    assert_true(k < 500);
  }
  assert_true(k > 20);
  tacit_schema_free(schema);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_records_are_those_of_the_whole_table),
                                     cmocka_unit_test(test_no_rows_and_persons),
                                     cmocka_unit_test(test_what_fails_late_leaves_nothing),
                                     cmocka_unit_test(test_every_failed_allocation_is_an_error_return)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
