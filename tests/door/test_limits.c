/*
 * Sizes and scales for which no rounding is proved to be covered, or that cannot be drawn, are refused before
 * anything is charged; at the largest that are let through, what is clipped is as short as it is said to be.
 */
#include <math.h>
#include <string.h>

#include "door/door_internal.h"
#include "testing.h"

typedef struct box {
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_door_t *door;
} box_t;

static box_t box_of(const tacit_event_t *schedule) {
  const double x[2] = {0.5, 1};
  tacit_error_t err;
  tacit_records_t *records;
  box_t box;
  assert_ok(tacit_records_new(&records, 3, 2, &err), err);
  for (size_t i = 0; i < 3; i++) {
    tacit_records_set(records, i, x);
  }
  assert_ok(tacit_budget_new(&box.budget, 1e6, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), err);
  assert_ok(tacit_noise_new_seeded_not_private(&box.noise, 3, &err), err);
  if (schedule != NULL) {
    assert_ok(tacit_budget_set_schedule(box.budget, schedule, 1, &err), err);
  }
  tacit_door_settings_t settings = {.name = "test", .n_columns = 2, .max_unit_rows = 1, .n_threads = 1};
  assert_ok(tacit_door_new(&box.door, records, box.budget, box.noise, &settings, &err), err);
  return box;
}

static void clear(box_t *box) {
  tacit_door_free(box->door);
  tacit_noise_free(box->noise);
  tacit_budget_free(box->budget);
}

static void assert_refused(const box_t *box, tacit_status_t status, const tacit_error_t *err) {
  size_t n_events;
  tacit_budget_events(box->budget, &n_events);
  assert_int_equal(status, TACIT_ERR_ARGUMENT);
  assert_int_equal(n_events, 0);
  assert_true(strlen(err->message) > 20);
}

static void ones(const void *ctx, const float *block, size_t n_blocks, size_t n_points, const float *points,
                 float *out) {
  (void)block, (void)points;
  for (size_t i = 0; i < n_blocks * n_points * *(const size_t *)ctx * 16; i++) {
    out[i] = 1;
  }
}

static void number(const void *ctx, size_t n_rows, const float *x, double *work, int64_t *k) {
  (void)ctx, (void)n_rows, (void)x, (void)work;
  k[0] = 1;
}

static void value(const void *ctx, const float *block, size_t n_blocks, double *work, double *const *out) {
  (void)ctx, (void)block, (void)work;
  for (size_t i = 0; i < n_blocks * 16; i++) {
    out[0][i] = 1;
  }
}

static void no_lanes(const void *ctx, const float *block, const float *norms, void *work, int64_t *lanes) {
  (void)ctx, (void)block, (void)norms, (void)work, (void)lanes;
}

static void test_sizes_of_vectors(void **unused) {
  (void)unused;
  static const size_t most = TACIT_MAX_NUMBERS, more = TACIT_MAX_NUMBERS + 1, one = 1;
  tacit_error_t err;
  box_t box = box_of(NULL);
  tacit_piece_t piece = {.kind = TACIT_PIECE_DENSE, .n = 1};
  float *points = calloc(more, sizeof *points);
  double *out = malloc(more * sizeof *out);
  const tacit_vectors_t good = {.n_points = 1,
                                .dim = 1,
                                .n_rows = 1,
                                .n_pieces = 1,
                                .n_blocks = 1,
                                .pieces = &piece,
                                .rows = ones,
                                .ctx = &one,
                                .points = points,
                                .scale = 1,
                                .clip = 1,
                                .rate = 1,
                                .label = "test"};
  for (size_t i = 0; i < 4; i++) {
    tacit_vectors_t bad = good;
    *(i == 0 ? &bad.dim : i == 1 ? &bad.n_points : i == 2 ? &bad.n_rows : &bad.n_pieces) = more;
    assert_refused(&box, tacit_door_release_vectors(box.door, &bad, 1, out, &err), &err);
  }
  tacit_piece_t wide = {.kind = TACIT_PIECE_GATHER, .n = ((size_t)1 << 24) + 4, .stride = 1};
  tacit_vectors_t gather = good;
  gather.pieces = &wide;
  assert_refused(&box, tacit_door_release_vectors(box.door, &gather, 1, out, &err), &err);
  assert_ok(tacit_door_release_vectors(box.door, &good, 1, out, &err), err);
  clear(&box);
  tacit_records_t *records;
  tacit_door_t *door;
  assert_ok(tacit_records_new(&records, 1, more, &err), err);
  tacit_door_settings_t settings = {.name = "test", .n_columns = more, .max_unit_rows = 1, .n_threads = 1};
  assert_int_equal(tacit_door_new(&door, records, NULL, NULL, &settings, &err), TACIT_ERR_ARGUMENT);
  assert_true(door == NULL && most < more);
  free(points);
  free(out);
}

/* Of equal numbers, near the bound and far beyond it: float32 adds up 2^18 squares. */
static void test_long_vectors_are_as_short_as_is_said(void **unused) {
  (void)unused;
  static const size_t dim = (size_t)1 << 18;
  tacit_piece_t piece = {.kind = TACIT_PIECE_DENSE, .n = dim};
  tacit_vectors_t of = {.n_points = 1,
                        .dim = dim,
                        .n_rows = dim,
                        .n_pieces = 1,
                        .n_blocks = 1,
                        .pieces = &piece,
                        .scale = 1,
                        .clip = 1,
                        .rate = 1};
  float *rows = malloc(dim * 16 * sizeof *rows), norms[16], block[2 * 16] = {0};
  int32_t *lanes = calloc(dim * 16, sizeof *lanes);
  for (size_t i = 0; i < dim * 16; i++) {
    static const float sizes[16] = {1,    1.0000001f, 0.9999999f, 1.001f, 1.03f, 1.1f, 2,     3,
                                    1000, 1e10f,      0.97f,      1.01f,  1.7f,  33,   1e18f, 1.3f};
    rows[i] = sizes[i % 16] * 0x1p-9f * (i / 16 % 3 == 0 ? 1.0001f : 1);
    norms[i % 16] = 1;
  }
  tacit_door_round(&of, 2, block, norms, rows, lanes);
  for (size_t lane = 0; lane < 16; lane++) {
    tacit_wide_t square = 0;
    for (size_t j = 0; j < dim; j++) {
      square += (tacit_wide_t)lanes[j * 16 + lane] * lanes[j * 16 + lane];
    }
    assert_true(square <= (tacit_wide_t)1 << 2 * TACIT_LATTICE_BITS);
    assert_true(
        square >=
        (tacit_wide_t)(0.8 * 0x1p40)); /* slack, truncation of numbers near 2^11, and sizes down to 0.97 */
  }
  free(rows);
  free(lanes);
}

static void test_noise_that_cannot_be_drawn(void **unused) {
  (void)unused;
  tacit_error_t err;
  double out, scale;
  const struct {
    int64_t high;
    double multiplier;
    tacit_door_noise_t noise;
  } bad[] = {{1 << 26, 0x1p27, TACIT_DOOR_GAUSSIAN},
             {1, 0x1p-21, TACIT_DOOR_GAUSSIAN},
             {1, 0.5, TACIT_DOOR_LAPLACE},
             {1 << 26, 0x1p27, TACIT_DOOR_LAPLACE},
             {1, 0x1p-9, TACIT_DOOR_DISCRETE_LAPLACE},
             {1000000, 100, TACIT_DOOR_DISCRETE_GAUSSIAN},
             {1, 0x1p-5, TACIT_DOOR_DISCRETE_GAUSSIAN}};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    tacit_units_t units = {
        .shape = {TACIT_SHAPE_BOX, 1, 0, 0, bad[i].high, 0}, .unit = number, .label = "test"};
    tacit_door_shape_t step = {TACIT_SHAPE_BOX, 1, 0, 0, 1, 0};
    tacit_event_t event =
        tacit_door_shape_event(&step, bad[i].noise, true, 16, "test"); /* any: it is not reached */
    box_t box = box_of(bad[i].noise == TACIT_DOOR_GAUSSIAN ? NULL : &event);
    assert_refused(
        &box, tacit_door_release_units(box.door, &units, bad[i].noise, bad[i].multiplier, &out, &scale, &err),
        &err);
    clear(&box);
  }
}

/* Less at every call, and never above 0. */
static void ever_less(const void *ctx, size_t n_rows, const float *x, double *work, int64_t *k) {
  static int64_t n_calls;
  (void)ctx, (void)n_rows, (void)x, (void)work;
  k[0] = -1 - n_calls++ % 5;
}

/* Their bits are those of numbers that are none, which all are one. */
static void test_negative_numbers_that_change_are_caught(void **unused) {
  (void)unused;
  tacit_error_t err;
  double out, scale;
  tacit_units_t units = {.shape = {TACIT_SHAPE_BOX, 1, 0, -9, 9, 0}, .unit = ever_less, .label = "test"};
  box_t box = box_of(NULL);
  size_t n_events;
  assert_int_equal(tacit_door_release_units(box.door, &units, TACIT_DOOR_GAUSSIAN, 1, &out, &scale, &err),
                   TACIT_ERR_SENSITIVITY);
  tacit_budget_events(box.budget, &n_events);
  assert_int_equal(n_events, 0);
  clear(&box);
}

static void test_decisions_out_of_range(void **unused) {
  (void)unused;
  static const size_t at = 0, none = SIZE_MAX;
  static const double zero = 0, clip = 0x1p51, one = 1, zeros[1] = {0};
  tacit_error_t err;
  bool accepted;
  box_t box = box_of(NULL);
  tacit_accept_rule_t probit = {.kind = TACIT_ACCEPT_PROBIT, .max_bound = 0x1p18, .sigma = 0x1p18},
                      barker = {.kind = TACIT_ACCEPT_BARKER, .max_bound = 1};
  double wide = fmin(clip, tacit_ratio_clip(0x1p18));
  tacit_scalars_t scalars = {.n_pairs = 1,
                             .n_fresh = 1,
                             .values = value,
                             .fresh_at = &at,
                             .before = &none,
                             .after = &at,
                             .clips = &wide,
                             .rate = 1,
                             .label = "test"};
  assert_refused(&box, tacit_door_decide(box.door, &scalars, &probit, &zero, &accepted, &err), &err);
  scalars.n_pairs = (size_t)TACIT_MAX_NUMBERS + 1;
  double *many = calloc(scalars.n_pairs, sizeof *many), *sd = calloc(scalars.n_pairs, sizeof *sd);
  assert_refused(&box, tacit_door_release_scalars(box.door, &scalars, 1, many, sd, &err), &err);
  free(many);
  free(sd);
  tacit_door_product_t product = {.dim = 1,
                                  .weight = 1,
                                  .scale = &one,
                                  .add = {zeros, zeros},
                                  .radius = {1, 1},
                                  .clip = {1e15, 1e15},
                                  .most = 1 << 20,
                                  .lanes = no_lanes};
  assert_refused(&box, tacit_door_decide_product(box.door, &product, &barker, 0, &accepted, &err), &err);
  static const double far[1] = {1e30};
  product = (tacit_door_product_t){.dim = 1,
                                   .weight = 1,
                                   .scale = &one,
                                   .add = {far, zeros},
                                   .radius = {1, 1},
                                   .clip = {1, 1},
                                   .most = 1 << 20,
                                   .lanes = no_lanes};
  assert_refused(&box, tacit_door_decide_product(box.door, &product, &barker, 0, &accepted, &err), &err);
  clear(&box);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes_of_vectors),
      cmocka_unit_test(test_long_vectors_are_as_short_as_is_said),
      cmocka_unit_test(test_noise_that_cannot_be_drawn),
      cmocka_unit_test(test_negative_numbers_that_change_are_caught),
      cmocka_unit_test(test_decisions_out_of_range),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
