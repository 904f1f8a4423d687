/*
 * What the door lends to contributions holds nothing of other records: not of an earlier unit, pass or
 * release, nor of those beside a unit's own. Workspaces are filled with rubbish between releases, and the
 * sums must not notice.
 *
 * Mutations tried, each of which fails here: rows, values, scratch, sums or whole numbers of units not
 * cleared; a unit shown its neighbour; what an earlier release left; what lies behind a unit's last record in
 * a group's copy.
 */
#include <math.h>
#include <string.h>

#include "data/records.h"
#include "door/door_internal.h"
#include "testing.h"

enum { N_UNITS = 20000 /* several groups a range */, ROWS = 3, N_NUMBERS = 64 };

typedef enum fault {
  NONE,
  KEEPS_SUMS,
  READS_AROUND,
  WRITES_HALF,
  READS_SCRATCH,
  READS_BEHIND,
  N_FAULTS
} fault_t;

static fault_t fault;

static void rows(const void *ctx, const float *block, size_t n_blocks, size_t n_points, const float *points,
                 float *out) {
  (void)ctx, (void)points;
  for (size_t i = 0; i < n_blocks * n_points * 16; i++) {
    if (fault != WRITES_HALF || block[i / 16 * 32 + i % 16] > 0) { /* as one that gives up on some records */
      out[i] = 1;
    }
  }
}

static void units(const tacit_vectors_t *of, const tacit_layers_t *layers, double *sums, int32_t *k,
                  tacit_door_notes_t *notes) {
  (void)of, (void)notes;
  for (size_t i = 0; k == NULL && i < layers->n * 16; i++) {
    double x = (double)layers->x[i / 16 * layers->n_columns * 16 + i % 16];
    sums[i % 16] += x * (fault == READS_BEHIND ? 1 : (double)layers->rows[i]) * layers->scale;
  }
  for (size_t lane = 0; k != NULL && lane < 16; lane++) {
    if (fault != WRITES_HALF || sums[lane] > 0) {
      k[lane] = (int32_t)(fmax(fmin(sums[lane], 1), -1) * layers->most);
    }
    sums[lane] = fault == KEEPS_SUMS ? sums[lane] : 0;
  }
}

static void values(const void *ctx, const float *block, size_t n_blocks, double *work, double *const *out) {
  (void)ctx;
  for (size_t i = 0; i < n_blocks * 16; i++) {
    double x = (double)block[i / 16 * 32 + i % 16];
    if (fault != WRITES_HALF || x > 0) {
      out[0][i] = 1024 * x + (fault == READS_SCRATCH ? work[0] : 0);
    }
  }
  work[0] = 1e5 * (double)block[0];
}

static void whole(const void *ctx, size_t n_rows, const float *x, double *work, int64_t *k) {
  (void)ctx;
  k[0] = (int64_t)(1000 * (double)x[0]) +
         (fault == READS_AROUND ? (int64_t)(1000 * (double)x[2 * n_rows]) : 0) +
         (fault == READS_SCRATCH ? (int64_t)work[0] : 0);
  work[0] = 1000 * (double)x[0];
}

static void whole_lanes(const void *ctx, size_t n_layers, const double *n_rows, const float *x, int32_t *k) {
  (void)ctx;
  for (size_t lane = 0; lane < 16; lane++) {
    double sum = 0;
    for (size_t t = 0; t < n_layers; t++) {
      sum += (double)x[t * 32 + lane];
    }
    if (fault == READS_BEHIND) {
      k[lane] = (int32_t)(1000 * fmax(fmin(sum, 1), -1));
    } else if (n_rows[lane] > 0 && (fault != WRITES_HALF || x[lane] > 0)) {
      k[lane] = (int32_t)(1000 * (double)x[lane]);
    }
  }
}

/* Of the units of one size, 16 by 16 in lanes: the last of each, so that all are copied; every other 16, of
 * which nothing is, so that what was copied before would be seen. */
static bool is_left_out(size_t u) {
  size_t place = u / ROWS;
  return place % 16 == 15 || place / 16 % 2 == 1;
}

static tacit_door_t *door_of(size_t n_units, double x, bool has_units) {
  tacit_error_t err;
  tacit_records_t *records;
  tacit_door_t *door;
  size_t offsets[N_UNITS + 1] = {0};
  for (size_t u = 0; u < n_units; u++) {
    offsets[u + 1] = offsets[u] + 1 + (has_units ? u % ROWS : 0);
  }
  assert_ok(tacit_records_new(&records, offsets[n_units], 2, &err), err);
  for (size_t i = 0; i < offsets[n_units]; i++) {
    double row[2] = {i == 1 ? x : 0.001 * (double)(i % 7) - 0.0065, 1};
    tacit_records_set(records, i, row);
  }
  for (size_t u = 0; has_units && u < n_units; u++) {
    for (size_t i = offsets[u]; is_left_out(u) && i < offsets[u + 1]; i++) {
      tacit_records_leave_out(records, i);
    }
  }
  if (has_units) {
    assert_ok(tacit_records_set_units(records, offsets, n_units, &err), err);
  }
  tacit_door_settings_t settings = {
      .name = "test", .n_columns = 2, .max_unit_rows = has_units ? ROWS : 1, .n_threads = 2};
  assert_ok(tacit_door_new(&door, records, NULL, NULL, &settings, &err), err);
  return door;
}

/* Rubbish in all that is lent. */
static void spoil(tacit_door_t *door, int byte) {
  for (size_t t = 0; door->workspaces != NULL && t < door->settings.n_threads; t++) {
    tacit_workspace_t *w = &door->workspaces[t];
#define SPOIL(type, name) memset(w->name, byte, door->sizes.name * sizeof *w->name);
    TACIT_LENT(SPOIL)
  }
}

/* The sums of four releases, one after another. */
static void sums_of(double x, bool has_units, int byte, double sums[4]) {
  static const double clip = 1 << 20;
  static const size_t at = 0, none = SIZE_MAX;
  static const float point;
  tacit_error_t err;
  double sd;
  tacit_piece_t piece = {.kind = TACIT_PIECE_LINEAR, .n = 1};
  tacit_vectors_t vectors = {.n_points = 1,
                             .dim = 1,
                             .n_rows = 1,
                             .n_pieces = 1,
                             .n_blocks = 2,
                             .pieces = &piece,
                             .rows = rows,
                             .units = units,
                             .points = &point,
                             .scale = 1,
                             .clip = 1,
                             .rate = 1,
                             .label = "test"};
  tacit_scalars_t scalars = {.n_pairs = 1,
                             .n_fresh = 1,
                             .values = values,
                             .n_work = 4,
                             .fresh_at = &at,
                             .before = &none,
                             .after = &at,
                             .clips = &clip,
                             .rate = 1,
                             .label = "test"};
  tacit_units_t units = {.shape = {.kind = TACIT_SHAPE_BOX, .dim = 1, .low = -1000, .high = 1000},
                         .unit = whole,
                         .n_work = 4,
                         .label = "test"},
                in_lanes = {.shape = {.kind = TACIT_SHAPE_BALL, .dim = 1, .radius = 1000},
                            .unit = whole,
                            .lanes = whole_lanes,
                            .n_work = 4,
                            .label = "test"};
  tacit_door_t *door = door_of(N_UNITS, x, has_units);
  for (size_t pass = 0; pass < 2; pass++) {
    spoil(door, byte);
    assert_ok(tacit_door_release_units(door, &units, TACIT_DOOR_GAUSSIAN, 1, &sums[0], &sd, &err), err);
    spoil(door, byte);
    assert_ok(tacit_door_release_vectors(door, &vectors, 1, &sums[1], &err), err);
    spoil(door, byte);
    assert_ok(tacit_door_release_scalars(door, &scalars, 1, &sums[2], &sd, &err), err);
    spoil(door, byte);
    assert_ok(tacit_door_release_units(door, &in_lanes, TACIT_DOOR_GAUSSIAN, 1, &sums[3], &sd, &err), err);
  }
  tacit_door_free(door);
}

static void test_a_unit_moves_a_sum_by_what_is_charged(void **unused) {
  (void)unused;
  static const double most[4] = {2000, 2, 2 << 20, 2000};
  for (int f = NONE; f < N_FAULTS; f++) {
    fault = (fault_t)f;
    for (int has_units = 0; has_units < 2; has_units++) {
      double up[4], down[4], spoilt[4];
      sums_of(1, has_units, 0x42, up);
      sums_of(-1, has_units, 0x42, down);
      sums_of(1, has_units, 0x3B, spoilt);
      for (size_t i = 0; i < 4; i++) {
        if (!(fabs(up[i] - down[i]) <= most[i] * (1 + 1e-9))) {
          fail_msg("fault %d, units %d: release %zu moves by %g, charged %g", f, has_units, i,
                   up[i] - down[i], most[i]);
        }
      }
      assert_memory_equal(up, spoilt, sizeof up);
    }
  }
}

/* Numbers of persons in one release, then nothing in one of vectors: other places of the same memory. */
static void no_rows(const void *ctx, const float *block, size_t n_blocks, size_t n_points,
                    const float *points, float *out) {
  (void)ctx, (void)block, (void)points;
  memset(out, 0, n_blocks * n_points * 16 * sizeof *out);
}

static void numbers(const void *ctx, size_t n_rows, const float *x, double *work, int64_t *k) {
  (void)ctx, (void)work, (void)n_rows;
  for (size_t i = 0; i < N_NUMBERS; i++) {
    k[i] = (int64_t)lrint(1000 * fabs((double)x[0])) + 1;
  }
}

static void test_nothing_is_left_of_the_release_before(void **unused) {
  (void)unused;
  static const float point;
  tacit_error_t err;
  tacit_door_t *door = door_of(10, 1, true);
  double out, sums[N_NUMBERS], sd;
  tacit_piece_t piece = {.kind = TACIT_PIECE_LINEAR, .n = 1};
  tacit_vectors_t vectors = {.n_points = 1,
                             .dim = 1,
                             .n_rows = 1,
                             .n_pieces = 1,
                             .n_blocks = 1,
                             .pieces = &piece,
                             .rows = no_rows,
                             .units = units,
                             .points = &point,
                             .scale = 1,
                             .clip = 1,
                             .rate = 1,
                             .label = "test"};
  tacit_units_t units = {.shape = {.kind = TACIT_SHAPE_BALL, .dim = N_NUMBERS, .radius = 1 << 22},
                         .unit = numbers,
                         .label = "test"};
  fault = NONE;
  for (size_t pass = 0; pass < 2; pass++) {
    assert_ok(tacit_door_release_vectors(door, &vectors, 1, &out, &err), err);
    assert_true(out >= 0 && out <= 0);
    assert_ok(tacit_door_release_units(door, &units, TACIT_DOOR_GAUSSIAN, 1, sums, &sd, &err), err);
  }
  tacit_door_free(door);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nothing_is_left_of_the_release_before),
      cmocka_unit_test(test_a_unit_moves_a_sum_by_what_is_charged),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
