/*
 * Where a door puts the records of units: every unit is in its range, once and whole, its records in their
 * order; 16 of equally many records are lanes of as many blocks.
 *
 * Mutations tried, each of which fails here: groups that begin in the midst of a block; one group too many
 * where too few others lie before them; a group of units of two lengths; offsets left as they were; units of
 * a range in the order of another's; single records that begin in the midst of a block left there, or with a
 * unit of none among them.
 */
#include <string.h>

#include "base/memory.h"
#include "data/records.h"
#include "door/door_internal.h"
#include "testing.h"

enum { N_COLUMNS = 3, MOST_UNITS = 3000, MOST_ROWS = 40 };

static uint64_t draw(uint64_t *state, uint64_t n) {
  *state = *state * 0x5851F42D4C957F2Du + 0x14057B7EF767814Fu;
  return (*state >> 33) % n;
}

/* Columns: number of the unit, of the record in it, of records of the unit. */
static tacit_records_t *make_records(size_t n_units, const size_t *offsets) {
  tacit_error_t err;
  tacit_records_t *records;
  assert_ok(tacit_records_new(&records, offsets[n_units], N_COLUMNS, &err), err);
  for (size_t u = 0; u < n_units; u++) {
    for (size_t i = offsets[u]; i < offsets[u + 1]; i++) {
      double x[N_COLUMNS] = {(double)u, (double)(i - offsets[u]), (double)(offsets[u + 1] - offsets[u])};
      tacit_records_set(records, i, x);
    }
  }
  assert_ok(tacit_records_set_units(records, offsets, n_units, &err), err);
  return records;
}

static tacit_status_t open_door(tacit_door_t **door, size_t n_units, const size_t *offsets, size_t n_threads,
                                tacit_error_t *err) {
  tacit_door_settings_t settings = {
      .name = "test", .n_columns = N_COLUMNS, .max_unit_rows = MOST_ROWS, .n_threads = n_threads};
  return tacit_door_new(door, make_records(n_units, offsets), NULL, NULL, &settings, err);
}

static float value(const tacit_door_t *door, size_t record, size_t column) {
  return tacit_records_block(door->records, record / 16)[column * 16 + record % 16];
}

/* How many of a range's units lie in lanes. */
static size_t check_range(const tacit_door_t *door, const tacit_range_t *r, const size_t *offsets,
                          unsigned char *is_seen) {
  for (size_t u = r->first; u < r->last; u++) {
    size_t n_rows = tacit_door_n_rows(door, u), was = SIZE_MAX, lane = (u - r->first) % 16,
           first = n_rows > 0 ? tacit_door_record(door, r, u, 0) : 0;
    for (size_t t = 0; t < n_rows; t++) {
      size_t record = tacit_door_record(door, r, u, t);
      was = t == 0 ? (size_t)value(door, record, 0) : was;
      assert_true(was >= r->first && was < r->last && value(door, record, 0) == (float)was);
      assert_true(value(door, record, 1) == (float)t && value(door, record, 2) == (float)n_rows);
      assert_true(record >= offsets[r->first] && record < offsets[r->last]); /* of the range's own places */
      assert_false(is_seen[record]);
      is_seen[record] = 1;
      assert_true(u - r->first >= r->n_laned || (record % 16 == lane && record == first + 16 * t));
    }
    if (u - r->first < r->n_laned) {
      assert_int_equal(n_rows, tacit_door_n_rows(door, u - lane));
      assert_int_equal(first / 16, tacit_door_record(door, r, u - lane, 0) / 16);
    }
  }
  return r->n_laned;
}

static void test_units_keep_their_records(void **unused) {
  (void)unused;
  static size_t offsets[MOST_UNITS + 1];
  static unsigned char is_seen[MOST_UNITS * MOST_ROWS];
  uint64_t state = 1;
  for (size_t round = 0; round < 300; round++) {
    size_t n_units = draw(&state, round % 4 == 0 ? MOST_UNITS : 200), n_laned = 0,
           n_sizes = round % 3 == 0 ? 1 : 1 + draw(&state, 10), least = round % 5 == 0 ? 1 : 3;
    for (size_t u = 0; u < n_units; u++) {
      size_t n_rows =
          draw(&state, 32) == 0 ? draw(&state, least == 1 ? 2 : MOST_ROWS) : least + draw(&state, n_sizes);
      offsets[u + 1] = offsets[u] + n_rows;
    }
    tacit_error_t err;
    tacit_door_t *door;
    assert_ok(open_door(&door, n_units, offsets, 1 + round % 7, &err), err);
    memset(is_seen, 0, sizeof is_seen);
    size_t size = tacit_door_range_size(door, true);
    for (size_t first = 0; first < n_units; first += size) {
      tacit_range_t r = tacit_door_range(door, first, first + size < n_units ? first + size : n_units);
      n_laned += check_range(door, &r, offsets, is_seen);
    }
    for (size_t i = 0; i < offsets[n_units]; i++) {
      assert_true(is_seen[i]);
    }
    assert_true(n_laned > n_units / 2 || size < 40 * n_sizes || n_units < 40 * n_sizes);
    tacit_door_free(door);
  }
}

static void test_a_door_without_memory_is_none(void **unused) {
  (void)unused;
  static size_t offsets[101];
  tacit_error_t err;
  tacit_door_t *door;
  for (size_t u = 0; u < 100; u++) {
    offsets[u + 1] = offsets[u] + 1 + u % 3;
  }
  tacit_status_t status = TACIT_ERR_MEMORY;
  for (size_t k = 1; status != TACIT_OK; k++) {
    tacit_door_settings_t settings = {
        .name = "test", .n_columns = N_COLUMNS, .max_unit_rows = MOST_ROWS, .n_threads = 2};
    tacit_records_t *records = make_records(100, offsets);
    tacit_alloc_fail_at(k);
    status = tacit_door_new(&door, records, NULL, NULL, &settings, &err);
    tacit_alloc_fail_at(0);
    assert_true(status == TACIT_OK ? k > 8 : status == TACIT_ERR_MEMORY && door == NULL);
    assert_true(k < 40);
  }
  tacit_door_free(door);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_units_keep_their_records),
      cmocka_unit_test(test_a_door_without_memory_is_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
