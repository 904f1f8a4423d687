/*
 * What the door asks of the generators and when: the linker sends its calls here (--wrap). Scales, log
 * ratios, sigmas, rates and clips are those that were charged for; a subset is drawn for each point; nothing
 * is drawn, and no record of the data shown, before it is charged.
 *
 * Mutations tried, each of which fails here: one subset for all points; a rate or scale a little off; clips
 * of a decision by minibatch 2 % wider; a clip, a sigma or a public part left out of a decision; the charge
 * after the noise, or after the sum.
 */
#include <math.h>
#include <string.h>

#include "door/door_internal.h"
#include "random/tally.h"
#include "testing.h"

enum { N = 40, MOST_CALLS = 64 };

typedef enum what {
  CHARGE,
  GAUSSIAN,
  LAPLACE,
  DISCRETE_GAUSSIAN,
  DISCRETE_LAPLACE,
  SUBSET,
  PENALTY,
  LOGISTIC,
  ARCSINE,
  TALLY,
  RECORDS
} what_t;

typedef struct call {
  what_t what;
  size_t n;
  double scale;
  int64_t number;
} call_t;

static call_t calls[MOST_CALLS];
static size_t n_calls;

static void note(what_t what, size_t n, double scale, int64_t number) {
  if (n_calls < MOST_CALLS) {
    calls[n_calls++] = (call_t){what, n, scale, number};
  }
}

static const call_t *call_of(what_t what, size_t k) {
  for (size_t i = 0; i < n_calls; i++) {
    if (calls[i].what == what && k-- == 0) {
      return &calls[i];
    }
  }
  fail_msg("call %d is missing", (int)what);
  return NULL;
}

/* ---- in the place of the generators ---- */

tacit_status_t __real_tacit_budget_charge(tacit_budget_t *budget, const tacit_event_t *event,
                                          tacit_error_t *err);
tacit_status_t __wrap_tacit_budget_charge(tacit_budget_t *budget, const tacit_event_t *event,
                                          tacit_error_t *err);
tacit_status_t __wrap_tacit_budget_charge(tacit_budget_t *budget, const tacit_event_t *event,
                                          tacit_error_t *err) {
  note(CHARGE, event->count, event->noise_multiplier, 0);
  return __real_tacit_budget_charge(budget, event, err);
}

#define NOISE(name, kind)                                                                                    \
  tacit_status_t __wrap_tacit_noise_##name(tacit_noise_t *noise, double scale, size_t n, int64_t *out,       \
                                           tacit_error_t *err);                                              \
  tacit_status_t __wrap_tacit_noise_##name(tacit_noise_t *noise, double scale, size_t n, int64_t *out,       \
                                           tacit_error_t *err) {                                             \
    (void)noise, (void)err;                                                                                  \
    note(kind, n, scale, 0);                                                                                 \
    memset(out, 0, n * sizeof *out);                                                                         \
    return TACIT_OK;                                                                                         \
  }
NOISE(rounded_gaussian, GAUSSIAN)
NOISE(rounded_laplace, LAPLACE)
NOISE(discrete_gaussian, DISCRETE_GAUSSIAN)
NOISE(discrete_laplace, DISCRETE_LAPLACE)

tacit_status_t __wrap_tacit_noise_subset(tacit_noise_t *noise, uint64_t rate, size_t n, uint64_t *mask,
                                         tacit_error_t *err);
tacit_status_t __wrap_tacit_noise_subset(tacit_noise_t *noise, uint64_t rate, size_t n, uint64_t *mask,
                                         tacit_error_t *err) {
  (void)noise, (void)err;
  mask[0] = (uint64_t)1 << n_calls; /* one record, another for each subset */
  note(SUBSET, n, (double)rate, 0);
  return TACIT_OK;
}

tacit_status_t __wrap_tacit_noise_penalty_bit(tacit_noise_t *noise, double sigma, int64_t log_ratio,
                                              bool *bit, tacit_error_t *err);
tacit_status_t __wrap_tacit_noise_penalty_bit(tacit_noise_t *noise, double sigma, int64_t log_ratio,
                                              bool *bit, tacit_error_t *err) {
  (void)noise, (void)err;
  note(PENALTY, 1, sigma, log_ratio);
  *bit = true;
  return TACIT_OK;
}

tacit_status_t __wrap_tacit_noise_logistic_bit(tacit_noise_t *noise, int64_t log_odds, bool *bit,
                                               tacit_error_t *err);
tacit_status_t __wrap_tacit_noise_logistic_bit(tacit_noise_t *noise, int64_t log_odds, bool *bit,
                                               tacit_error_t *err) {
  (void)noise, (void)err;
  note(LOGISTIC, 1, 0, log_odds);
  *bit = true;
  return TACIT_OK;
}

tacit_status_t __wrap_tacit_noise_arcsine_bit(tacit_noise_t *noise, double kappa, double cap,
                                              int64_t log_ratio, bool *bit, tacit_error_t *err);
tacit_status_t __wrap_tacit_noise_arcsine_bit(tacit_noise_t *noise, double kappa, double cap,
                                              int64_t log_ratio, bool *bit, tacit_error_t *err) {
  (void)noise, (void)err;
  note(ARCSINE, 1, kappa + 100 * cap, log_ratio);
  *bit = true;
  return TACIT_OK;
}

static double looked_at[N]; /* what the records were said to be worth */

tacit_status_t __wrap_tacit_noise_tally(tacit_noise_t *noise, uint64_t n, int64_t a, int64_t b,
                                        tacit_tally_function function, void *user, int64_t *sum,
                                        tacit_error_t *err);
tacit_status_t __wrap_tacit_noise_tally(tacit_noise_t *noise, uint64_t n, int64_t a, int64_t b,
                                        tacit_tally_function function, void *user, int64_t *sum,
                                        tacit_error_t *err) {
  uint64_t items[N];
  (void)noise, (void)err;
  note(TALLY, (size_t)n, (double)b, a);
  for (uint64_t i = 0; i < N; i++) {
    items[i] = (7 * i) % N;
  }
  function(user, N, items, looked_at);
  *sum = 5;
  return TACIT_OK;
}

/* ---- a door, and contributions that note when they are shown records and not made-up ones ---- */

static void show(const float *block) {
  if (block[0] > 1 || block[0] < 0) { /* made-up numbers are in [0, 1] */
    note(RECORDS, 0, 0, 0);
  }
}

static void rows(const void *ctx, const float *block, size_t n_blocks, size_t n_points, const float *points,
                 float *out) {
  (void)ctx, (void)points;
  show(block);
  for (size_t i = 0; i < n_blocks * n_points * 16; i++) {
    out[i] = block[i / 16 / n_points * 16 + i % 16];
  }
}

static void values(const void *ctx, const float *block, size_t n_blocks, double *work, double *const *out) {
  (void)ctx, (void)work;
  show(block);
  for (size_t i = 0; i < n_blocks * 16; i++) {
    out[0][i] = 0x1p30 * (double)block[i];
  }
}

static void number(const void *ctx, size_t n_rows, const float *x, double *work, int64_t *k) {
  (void)ctx, (void)n_rows, (void)work;
  show(x);
  k[0] = 1;
}

typedef struct box {
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_door_t *door;
} box_t;

/* Record i is +-(i + 2); exposed where there is no event and no budget is needed. */
static box_t box_of(tacit_relation_t relation, const tacit_event_t *schedule) {
  tacit_error_t err;
  tacit_records_t *records;
  box_t box;
  assert_ok(tacit_records_new(&records, N, 1, &err), err);
  for (size_t i = 0; i < N; i++) {
    double x = (i % 2 ? -1 : 1) * (double)(i + 2);
    tacit_records_set(records, i, &x);
  }
  assert_ok(tacit_budget_new(&box.budget, 1e9, 1e-6, relation, &err), err);
  assert_ok(tacit_noise_new_seeded_not_private(&box.noise, 3, &err), err);
  if (schedule != NULL) {
    assert_ok(tacit_budget_set_schedule(box.budget, schedule, 1, &err), err);
  }
  tacit_door_settings_t settings = {.name = "test", .n_columns = 1, .max_unit_rows = 1, .n_threads = 1};
  assert_ok(tacit_door_new(&box.door, records, box.budget, box.noise, &settings, &err), err);
  n_calls = 0;
  return box;
}

static void clear(box_t *box) {
  tacit_door_free(box->door);
  tacit_noise_free(box->noise);
  tacit_budget_free(box->budget);
}

/* Charged first, drawn next, and no record shown before. */
static void assert_order(what_t drawn) {
  assert_int_equal(calls[0].what, CHARGE);
  bool is_before = drawn != PENALTY && drawn != LOGISTIC && drawn != ARCSINE && drawn != TALLY;
  assert_int_equal(calls[1].what, is_before ? drawn : drawn == TALLY ? TALLY : RECORDS);
}

static void assert_scale(const call_t *call, double exact) {
  assert_true(call->scale >= exact && call->scale <= exact * (1 + 0x1p-48));
}

static void test_vectors(void **unused) {
  (void)unused;
  tacit_error_t err;
  const float points[3] = {0};
  double out[3];
  tacit_piece_t piece = {.kind = TACIT_PIECE_DENSE, .n = 1};
  tacit_vectors_t of = {.n_points = 3,
                        .dim = 1,
                        .n_rows = 1,
                        .n_pieces = 1,
                        .n_blocks = 2,
                        .pieces = &piece,
                        .rows = rows,
                        .points = points,
                        .scale = 1e-3,
                        .clip = 1,
                        .rate = 1,
                        .label = "test"};
  for (int two = 0; two < 2; two++) {
    box_t box = box_of(two ? TACIT_RELATION_SUBSTITUTE : TACIT_RELATION_ADD_REMOVE, NULL);
    assert_ok(tacit_door_release_vectors(box.door, &of, 3.7, out, &err), err);
    assert_order(GAUSSIAN);
    assert_int_equal(calls[0].n, 3);
    assert_int_equal(call_of(GAUSSIAN, 0)->n, 3);
    assert_scale(call_of(GAUSSIAN, 0), 3.7 * (1 + two) * 0x1p20);
    clear(&box);
  }
}

/* The one record of each subset, of which each is drawn anew. */
static void test_a_subset_is_drawn_for_each_point(void **unused) {
  (void)unused;
  tacit_error_t err;
  const float points[3] = {0};
  double out[3];
  tacit_piece_t piece = {.kind = TACIT_PIECE_DENSE, .n = 1};
  tacit_vectors_t of = {.n_points = 3,
                        .dim = 1,
                        .n_rows = 1,
                        .n_pieces = 1,
                        .n_blocks = 2,
                        .pieces = &piece,
                        .rows = rows,
                        .points = points,
                        .scale = 1e-3,
                        .clip = 1,
                        .rate = 0.25,
                        .label = "test"};
  tacit_event_t event = {.kind = TACIT_EVENT_GAUSSIAN,
                         .noise_multiplier = 2,
                         .count = 3,
                         .sampling = TACIT_SAMPLING_POISSON,
                         .sampling_rate = 0.25};
  box_t box = box_of(TACIT_RELATION_ADD_REMOVE, &event);
  assert_ok(tacit_door_release_vectors(box.door, &of, 2, out, &err), err);
  assert_order(GAUSSIAN);
  assert_int_equal(calls[0].n, 3);
  assert_scale(call_of(GAUSSIAN, 0), 2 * 0x1p20);
  for (size_t k = 0; k < 3; k++) {
    const call_t *subset = call_of(SUBSET, k);
    size_t record = (size_t)(subset - calls);
    assert_int_equal(subset->n, N);
    assert_true(subset->scale >= 0x1p30 && subset->scale <= 0x1p30);
    assert_true(fabs(out[k] - (record % 2 ? -1 : 1) * 1e-3 * (double)(record + 2)) < 1e-5);
  }
  assert_int_equal(n_calls, 2 + 3 + 3); /* charge, noise, and for each point a subset and its records */
  clear(&box);
}

static void test_scalars(void **unused) {
  (void)unused;
  tacit_error_t err;
  static const size_t at[2] = {0, 0}, none[2] = {SIZE_MAX, SIZE_MAX};
  static const double clips[2] = {0x1p31, 0x1p33};
  double out[2], sd[2];
  tacit_scalars_t of = {.n_pairs = 2,
                        .n_fresh = 1,
                        .values = values,
                        .fresh_at = at,
                        .before = none,
                        .after = at,
                        .clips = clips,
                        .rate = 1,
                        .label = "test"};
  box_t box = box_of(TACIT_RELATION_SUBSTITUTE, NULL);
  assert_ok(tacit_door_release_scalars(box.door, &of, 3, out, sd, &err), err);
  assert_order(GAUSSIAN);
  for (size_t k = 0; k < 2; k++) {
    assert_int_equal(call_of(GAUSSIAN, k)->n, 1);
    assert_scale(call_of(GAUSSIAN, k), 3 * 2 * clips[k]);
  }
  clear(&box);
}

static void test_units(void **unused) {
  (void)unused;
  tacit_error_t err;
  double out, scale;
  const what_t drawn[] = {GAUSSIAN, LAPLACE, DISCRETE_GAUSSIAN, DISCRETE_LAPLACE};
  for (int noise = 0; noise < 4; noise++) {
    tacit_units_t of = {
        .shape = {.kind = TACIT_SHAPE_BOX, .dim = 1, .low = -1, .high = 6}, .unit = number, .label = "test"};
    tacit_event_t event = tacit_door_shape_event(&of.shape, (tacit_door_noise_t)noise, true, 2.3, "test");
    box_t box = box_of(TACIT_RELATION_SUBSTITUTE, noise == 0 ? NULL : &event);
    assert_ok(tacit_door_release_units(box.door, &of, (tacit_door_noise_t)noise, 2.3, &out, &scale, &err),
              err);
    assert_order(drawn[noise]);
    assert_scale(call_of(drawn[noise], 0), 2.3 * 7);
    clear(&box);
  }
}

/* sum of the records' clipped numbers, in units of the log ratio */
static int64_t clipped_sum(double clip) {
  int64_t sum = 0;
  for (size_t i = 0; i < N; i++) {
    double x = (i % 2 ? -1 : 1) * 0x1p30 * (double)(i + 2);
    sum += (int64_t)fmax(fmin(x, clip), -clip);
  }
  return sum;
}

static void test_decisions(void **unused) {
  (void)unused;
  tacit_error_t err;
  static const size_t at = 0, none = SIZE_MAX;
  const what_t drawn[] = {LOGISTIC, PENALTY, PENALTY, ARCSINE};
  const double clip = 0x1p32, correction = 0.25;
  bool accepted;
  tacit_scalars_t of = {.n_pairs = 1,
                        .n_fresh = 1,
                        .values = values,
                        .fresh_at = &at,
                        .before = &none,
                        .after = &at,
                        .clips = &clip,
                        .rate = 1,
                        .label = "test"};
  for (int kind = TACIT_ACCEPT_BARKER; kind <= TACIT_ACCEPT_ARCSINE; kind++) {
    tacit_accept_rule_t rule = {
        .kind = (tacit_accept_kind_t)kind, .max_bound = 2, .sigma = 1.5, .kappa = 0.5, .cap = 0.9};
    box_t box = box_of(TACIT_RELATION_SUBSTITUTE, NULL);
    assert_ok(tacit_door_decide(box.door, &of, &rule, &correction, &accepted, &err), err);
    assert_order(drawn[kind]);
    const call_t *call = call_of(drawn[kind], 0);
    assert_int_equal(call->number, clipped_sum(clip) + (INT64_C(1) << 30));
    double sigma = kind == TACIT_ACCEPT_PENALTY   ? 1.5
                   : kind == TACIT_ACCEPT_PROBIT  ? 1.5 * 2
                   : kind == TACIT_ACCEPT_ARCSINE ? 0.5 + 90
                                                  : 0;
    assert_true(call->scale >= sigma && call->scale <= sigma * (1 + 0x1p-50));
    clear(&box);
  }
}

static void test_decisions_by_minibatch(void **unused) {
  (void)unused;
  tacit_error_t err;
  static const size_t at = 0, none = SIZE_MAX;
  const double clip = 3 * 0x1p30;
  bool accepted, has_clipped = false, has_not = false;
  tacit_minibatch_rule_t rule = {.max_bound = 1, .intensity = 1.5, .n_public = N, .max_batch = 1e9};
  tacit_scalars_t of = {.n_pairs = 1,
                        .n_fresh = 1,
                        .values = values,
                        .fresh_at = &at,
                        .before = &none,
                        .after = &at,
                        .clips = &clip,
                        .rate = 1,
                        .is_sampled = true,
                        .label = "test"};
  box_t box = box_of(TACIT_RELATION_SUBSTITUTE, NULL);
  assert_ok(tacit_door_decide_minibatch(box.door, &of, &rule, 0.25, &accepted, &err), err);
  assert_order(TALLY);
  assert_int_equal(call_of(TALLY, 0)->n, N);
  assert_true(call_of(TALLY, 0)->number == (int64_t)(1.5 * 0x1p32) && call_of(TALLY, 0)->scale >= clip &&
              call_of(TALLY, 0)->scale <= clip);
  assert_int_equal(call_of(LOGISTIC, 0)->number, 5 + (INT64_C(1) << 30));
  for (size_t i = 0; i < N; i++) {
    size_t record = 7 * i % N;
    double x = (record % 2 ? -1 : 1) * 0x1p30 * (double)(record + 2), expected = fmax(fmin(x, clip), -clip);
    assert_true(looked_at[i] >= expected && looked_at[i] <= expected);
    has_clipped = has_clipped || fabs(x) > clip;
    has_not = has_not || fabs(x) < clip;
  }
  assert_true(has_clipped && has_not);
  clear(&box);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_vectors),   cmocka_unit_test(test_a_subset_is_drawn_for_each_point),
      cmocka_unit_test(test_scalars),   cmocka_unit_test(test_units),
      cmocka_unit_test(test_decisions), cmocka_unit_test(test_decisions_by_minibatch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
