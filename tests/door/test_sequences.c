/*
 * One door, many releases. Random sequences of all kinds of releases are asked of the doors of neighbours, by
 * contributions that are honest, lie, keep state in what they are lent, read around what they are shown, stop
 * half way or write no numbers: the whole numbers summed differ, release by release, by no more than what was
 * charged; or the release is refused, for both alike, and nothing is charged. Between releases all memory
 * that is lent is filled with rubbish, another for either neighbour. Two ranks sum what one process does.
 *
 * Mutations tried, each of which fails here: nothing cleared between ranges; sums, whole numbers or copies of
 * a unit not cleared; scratch, rows or values not cleared; a unit shown the memory of the block; the probe
 * from what an earlier release left; products in doubles, at clips of 10^15.
 */
#include <pthread.h>

#include "contributions.h"
#include "data/records.h"

enum {
  MOST_UNITS = 40,
  MOST_ROWS = 200,
  SOME_ROWS = 12, /* of a unit, and of most units */
  N_STEPS = 8,
  /* lies of memory, after those of contributions.h */
  KEEPS = N_LIES, /* leaves its sums, and writes to scratch for the next */
  AROUND,         /* reads past what it is shown */
  HALF,           /* writes nothing for some records */
  N_ALL_LIES
};

/* ---- units ---- */

typedef struct units {
  size_t n, n_rows[MOST_UNITS];
  size_t usual; /* records of most units; 0: any */
  double x[MOST_UNITS][MOST_ROWS][N_COLUMNS];
} units_t;

static size_t below(size_t n) { return (size_t)(bits() % n); }

static void any_rows(units_t *units, size_t u, size_t max_rows, bool is_wild) {
  units->n_rows[u] = max_rows == 1                        ? 1
                     : units->usual > 0 && below(32) != 0 ? units->usual
                     : below(4) != 0                      ? 1 + below(2)
                                     : 1 + below(below(16) == 0 ? max_rows : SOME_ROWS) - below(2);
  for (size_t t = 0; t < units->n_rows[u]; t++) {
    for (size_t j = 0; j < N_COLUMNS; j++) {
      uint64_t draw = bits();
      units->x[u][t][j] = is_wild && draw % 16 == 0 ? (double)any_float(bits())
                          : draw % 3 == 0           ? (draw & 8 ? 1 : -1)
                                                    : (double)(draw >> 11) * 0x1p-52 - 1;
    }
  }
}

static void remove_unit(units_t *units, size_t u) {
  for (units->n--; u < units->n; u++) {
    units->n_rows[u] = units->n_rows[u + 1];
    memcpy(units->x[u], units->x[u + 1], sizeof units->x[u]);
  }
}

/* Units from .. to - 1. */
static tacit_records_t *records_of(const units_t *units, size_t from, size_t to, bool has_persons) {
  tacit_error_t err;
  tacit_records_t *records;
  size_t offsets[MOST_UNITS + 1] = {0}, at = 0;
  for (size_t u = from; u < to; u++) {
    offsets[u - from + 1] = offsets[u - from] + units->n_rows[u];
  }
  assert_ok(tacit_records_new(&records, offsets[to - from], N_COLUMNS, &err), err);
  for (size_t u = from; u < to; u++) {
    for (size_t t = 0; t < units->n_rows[u]; t++) {
      tacit_records_set(records, at++, units->x[u][t]);
    }
  }
  if (has_persons) {
    assert_ok(tacit_records_set_units(records, offsets, to - from, &err), err);
  }
  return records;
}

/* ---- contributions that do more with memory ---- */

static int lie; /* one of those below N_LIES is liar.lie, too */

static void rows(const void *ctx, const float *block, size_t n_blocks, size_t n_points, const float *points,
                 float *out) {
  size_t n_rows = *(const size_t *)ctx, n = n_points * n_rows;
  if (lie != HALF) {
    vector_rows(ctx, block, n_blocks, n_points, points, out);
    return;
  }
  for (size_t i = 0; i < n_blocks * n * 16; i++) {
    const float *own = block + i / (n * 16) * N_COLUMNS * 16;
    if (record_hash(own, i % 16, 0) % 2 == 0) {
      out[i] = (float)number(own, i % 16, i / 16 % n);
    }
  }
}

static void group(const tacit_vectors_t *of, const tacit_layers_t *layers, double *sums, int32_t *k,
                  tacit_door_notes_t *notes) {
  const size_t n_sums = of->n_points * of->dim * 16;
  double was[4 * 6 * 16];
  memcpy(was, sums, n_sums * sizeof *sums);
  vector_units(of, layers, sums, k, notes);
  if (lie == KEEPS && k != NULL) {
    memcpy(sums, was, n_sums * sizeof *sums);
  }
}

static void values(const void *ctx, const float *block, size_t n_blocks, double *work, double *const *out) {
  double *own[2] = {out[0], out[1]}, half[2 * TACIT_DOOR_RUN_BLOCKS * 16];
  for (size_t i = 0; lie == HALF && i < 2; i++) {
    own[i] = half + i * TACIT_DOOR_RUN_BLOCKS * 16;
  }
  scalar_values(ctx, block, n_blocks, work, own);
  for (size_t i = 0; i < n_blocks * 16; i++) {
    const float *at = block + i / 16 * N_COLUMNS * 16;
    for (size_t f = 0; lie == HALF && f < 2; f++) {
      if (record_hash(at, i % 16, 0) % 2 == 0) {
        out[f][i] = own[f][i];
      }
    }
    out[0][i] += lie == KEEPS ? 0x1p30 * work[1] : 0;
  }
  work[1] = (double)block[0];
}

static void lanes(const void *ctx, const float *block, const float *norms, void *work, int64_t *out) {
  int64_t half[5 * 16];
  int64_t *kept = work;
  product_lanes(ctx, block, norms, work, lie == HALF ? half : out);
  for (size_t i = 0; i < 5 * 16; i++) {
    if (lie == HALF && record_hash(block, i % 16, 0) % 2 == 0) {
      out[i] = half[i];
    }
  }
  out[0] += lie == KEEPS ? kept[0] : 0;
  kept[0] = (int64_t)fmax(fmin(0x1p18 * (double)block[0], 0x1p40), -0x1p40);
}

static void whole(const void *ctx, size_t n_rows, const float *x, double *work, int64_t *k) {
  size_t n = tacit_door_shape_n_written(ctx, n_rows);
  double around = lie == AROUND ? (double)x[n_rows * N_COLUMNS] : lie == KEEPS ? work[0] : 0;
  unit_numbers(ctx, n_rows, x, work, k);
  k[0] += fabs(around) < 0x1p30 ? (int64_t)(1024 * around) : 0;
  for (size_t i = 0; lie == HALF && i < n; i++) {
    k[i] = x[0] > 0 ? k[i] : 0;
  }
  work[0] = (double)x[0];
}

/* ---- releases ---- */

typedef enum kind {
  VECTORS,
  SUBSET,
  SCALARS,
  SAMPLED,
  KEPT,
  UNITS,
  DECISION,
  MINIBATCH,
  PRODUCT,
  N_KINDS
} kind_t;

static const tacit_door_shape_t shapes[] = {
    {TACIT_SHAPE_BALL, 4, 1 << 20, 0, 0, 0},          {TACIT_SHAPE_BALL, 40, 1 << 20, 0, 0, 0},
    {TACIT_SHAPE_BOX, 3, 0, -5, 1 << 20, 0},          {TACIT_SHAPE_CELL, 7, 1 << 20, 0, 0, 0},
    {TACIT_SHAPE_CELL, 7, 1 << 20, 0, 3, 0},          {TACIT_SHAPE_SQUARES, 3, 1 << 20, 0, 0, 0},
    {TACIT_SHAPE_SQUARES, 3, 1 << 20, 0, 5, 0},       {TACIT_SHAPE_SQUARES, 3, 1 << 20, 0, 5, 1},
    {TACIT_SHAPE_SQUARES, 2, 1 << 20, 0, 0, 2},       {TACIT_SHAPE_PRODUCTS, 3, 1 << 16, 0, 0, 0},
    {TACIT_SHAPE_PRODUCTS, 4, 1 << 16, 0, 1 << 16, 0}};

typedef struct step {
  kind_t kind;
  int lie;
  size_t which, n_points, n_blocks;
  double scale, size; /* of what an honest contribution writes; of a product's clips */
} step_t;

typedef struct sequence {
  bool has_persons, is_exposed, is_spoilt;
  tacit_relation_t relation;
  size_t n_threads, n_features;
  step_t steps[N_STEPS];
} sequence_t;

enum { MOST_SUMS = 64 };

typedef struct outcome {
  tacit_status_t status;
  size_t n_groups, n_a_group, n_charged;
  double most; /* by which a group of sums may move, in scales */
  double scales[MOST_SUMS];
  tacit_wide_t sums[MOST_SUMS];
} outcome_t;

/* The whole numbers, or those that an exposed door told of all subsets. */
static void take_sums(const tacit_door_t *door, outcome_t *o, const double *out, double spacing) {
  for (size_t i = 0; o->status == TACIT_OK && i < o->n_groups * o->n_a_group; i++) {
    o->sums[i] = out != NULL ? (tacit_wide_t)llrint(out[i] / spacing) : door->sums[i];
  }
}

/* Sensitivity of a group, and scales of its numbers: of a private door what the noise was drawn with and what
 * the budget says was charged. */
static void take_charge(const tacit_door_t *door, const size_t *counts, outcome_t *o, double sensitivity,
                        bool is_bit) {
  size_t n_events = 0, n = o->n_groups * o->n_a_group;
  const tacit_event_t *events = door->budget != NULL ? tacit_budget_events(door->budget, &n_events) : NULL,
                      *event = NULL;
  for (size_t i = 0; i < n_events; i++) { /* equal ones are counted together */
    event = events[i].count > counts[i] ? &events[i] : event;
    o->n_charged += events[i].count - counts[i];
  }
  o->most = sensitivity;
  for (size_t i = 0; i < n; i++) {
    o->scales[i] = 1;
  }
  if (event != NULL && is_bit) {
    o->most = event->kind == TACIT_EVENT_PROBIT_BIT ? sensitivity : event->sensitivity * 0x1p32;
  } else if (event != NULL) {
    o->most = 1 / event->noise_multiplier;
    memcpy(o->scales, door->workspaces->scales, n * sizeof *o->scales);
  }
}

static tacit_status_t vectors_step(tacit_door_t *door, const step_t *s, outcome_t *o, double *out,
                                   tacit_error_t *err) {
  static const float points[4 * 6];
  const size_t which = door->settings.n_features > 0 ? s->which % 2 : 2;
  tacit_vectors_t of = {.n_points = s->n_points,
                        .dim = 6,
                        .n_rows = vectors_of[which].n_rows,
                        .n_pieces = vectors_of[which].n_pieces - (s->which / 2 % 2 && which < 2),
                        .pieces = vectors_of[which].pieces,
                        .n_features = door->settings.n_features,
                        .n_blocks = s->n_blocks,
                        .rows = rows,
                        .units = group,
                        .ctx = &vectors_of[which].n_rows,
                        .points = points,
                        .scale = s->scale,
                        .clip = 1,
                        .rate = s->kind == SUBSET ? 0.5 : 1,
                        .label = "test"};
  o->n_groups = s->n_points, o->n_a_group = 6;
  return tacit_door_release_vectors(door, &of, 2, out, err);
}

static tacit_scalars_t scalars_of(const step_t *s, const size_t *places, const size_t *before,
                                  const double *clips) {
  bool is_one = s->kind == SAMPLED || s->kind == MINIBATCH;
  return (tacit_scalars_t){.n_pairs = is_one ? 1 : 2,
                           .n_fresh = 2,
                           .values = values,
                           .n_work = 8,
                           .fresh_at = places,
                           .before = before,
                           .after = places,
                           .clips = clips,
                           .rate = s->kind == SAMPLED ? 0.5 : 1,
                           .is_sampled = is_one,
                           .label = "test"};
}

/* Make a step; what it may move by. */
static void make(tacit_door_t *door, const step_t *s, outcome_t *o) {
  static const size_t places[2] = {0, 1}, from[2] = {SIZE_MAX, 0};
  static const double clips[2] = {1 << 21, 1 << 20}, none[2] = {0, 0}, one[2] = {1e-6, 1e-6};
  double out[MOST_SUMS * 24], sd[MOST_SUMS], factor = tacit_door_factor(door), sensitivity = 0, spacing = 0;
  tacit_error_t err = {0};
  tacit_scalars_t scalars = scalars_of(s, places, from, clips);
  bool accepted[2], is_bit = s->kind == DECISION || s->kind == PRODUCT;
  size_t counts[2 * N_STEPS] = {0}, n_events = 0, n_kept;
  const tacit_event_t *events = door->budget != NULL ? tacit_budget_events(door->budget, &n_events) : NULL;
  for (size_t i = 0; i < n_events; i++) {
    counts[i] = events[i].count;
  }
  liar.lie = s->lie < N_LIES ? (lie_t)s->lie : HONEST;
  liar.scale = 1;
  lie = s->lie;
  switch (s->kind) {
  case VECTORS:
  case SUBSET:
    sensitivity = factor * (1 << TACIT_LATTICE_BITS), spacing = ldexp(1, -TACIT_LATTICE_BITS);
    o->status = vectors_step(door, s, o, out, &err);
    break;
  case KEPT:
    assert_ok(tacit_door_keep(door, 2, 1 << 20, &n_kept, &err), err);
    /* fall through */
  case SCALARS:
  case SAMPLED:
    o->n_groups = scalars.n_pairs, o->n_a_group = 1, sensitivity = factor * clips[0], spacing = 1;
    o->status = tacit_door_release_scalars(door, &scalars, 2, out, sd, &err);
    break;
  case UNITS: {
    const tacit_door_shape_t *shape = &shapes[s->which % (sizeof shapes / sizeof shapes[0])];
    tacit_units_t units = {.shape = *shape,
                           .unit = whole,
                           .lanes = s->n_points % 2 == 0 && has_lanes(shape) ? unit_lanes : NULL,
                           .ctx = shape,
                           .n_work = 4,
                           .label = "test"};
    o->n_groups = 1, o->n_a_group = tacit_door_shape_n_sums(shape);
    sensitivity = tacit_door_shape_sensitivity(shape, TACIT_DOOR_GAUSSIAN, factor > 1);
    o->status = tacit_door_release_units(door, &units, TACIT_DOOR_GAUSSIAN, 2, out, sd, &err);
    break;
  }
  case DECISION: {
    tacit_accept_rule_t rule = {.kind = (tacit_accept_kind_t)(s->which % 4),
                                .max_bound = 0x1p-11,
                                .sigma = 1,
                                .kappa = 0.5,
                                .cap = 0.9};
    tacit_accept_rule_t half = rule; /* charged for less than what the pairs may move by: refused */
    half.max_bound *= 0.5;
    assert_int_not_equal(tacit_door_decide(door, &scalars, &half, none, accepted, &err), TACIT_OK);
    o->n_groups = 2, o->n_a_group = 1, sensitivity = factor * clips[0];
    o->status = tacit_door_decide(door, &scalars, &rule, none, accepted, &err);
    break;
  }
  case MINIBATCH: {
    tacit_minibatch_rule_t rule = {
        .max_bound = 0x1p-11, .intensity = 0x1p-11, .n_public = 100, .max_batch = 1e9};
    o->n_groups = 0;
    o->status = tacit_door_decide_minibatch(door, &scalars, &rule, 0, accepted, &err);
    break;
  }
  default: {
    const double far[2] = {s->size, -0.75 * s->size}, across[2] = {0.75 * s->size, s->size},
                 near[2] = {1e-13, 1e-13};
    tacit_door_product_t product = {.dim = 2,
                                    .weight = (s->which % 8 < 4 ? 1e-3 : 1e3) / s->size,
                                    .scale = s->which % 8 < 4 ? one : near,
                                    .add = {s->which % 2 ? far : none, across},
                                    .radius = {1 << 20, 1 << 20},
                                    .clip = {2 * s->size, s->which % 4 < 2 ? 2 : 2 * s->size},
                                    .most = 1,
                                    .lanes = lanes,
                                    .n_work = 64};
    tacit_accept_rule_t rule = {.kind = TACIT_ACCEPT_BARKER, .max_bound = 1};
    o->n_groups = 1, o->n_a_group = 1;
    o->status = tacit_door_decide_product(door, &product, &rule, 0, accepted, &err);
    if (o->status == TACIT_OK) { /* the log ratio again: it has not left */
      assert_ok(tacit_door_product_sum(door, &product, &o->sums[0], &err), err);
    }
  }
  }
  if (o->status != TACIT_OK && o->status != TACIT_ERR_SENSITIVITY &&
      (s->kind != PRODUCT || o->status != TACIT_ERR_ARGUMENT)) {
    fail_msg("kind %d, lie %d: %s", (int)s->kind, s->lie, err.message);
  }
  take_charge(door, counts, o, sensitivity, is_bit);
  assert_true(o->status != TACIT_OK || door->budget == NULL ||
              o->n_charged == o->n_groups); /* points, pairs, decisions: each */
  if (s->kind != PRODUCT) {
    take_sums(door, o, door->budget == NULL && spacing > 0 ? out : NULL, spacing);
  }
}

/* ---- rubbish in all that is lent: small, so that nothing looks at it as beyond a bound ---- */

static void spoil_floats(float *p, size_t n, uint64_t *z) {
  for (size_t i = 0; i < n; i++)
    p[i] = (float)(mixed(++*z) % 2001) * 1e-3f - 1;
}
static void spoil_doubles(double *p, size_t n, uint64_t *z) {
  for (size_t i = 0; i < n; i++)
    p[i] = (double)(mixed(++*z) % 2001) * 1e-3 - 1;
}
static void spoil_ints(int32_t *p, size_t n, uint64_t *z) {
  for (size_t i = 0; i < n; i++)
    p[i] = (int32_t)(mixed(++*z) % 400001) - 200000;
}
static void spoil_wholes(int64_t *p, size_t n, uint64_t *z) {
  for (size_t i = 0; i < n; i++)
    p[i] = (int64_t)(mixed(++*z) % 400001) - 200000;
}
static void spoil_pointers(double **p, size_t n, uint64_t *z) {
  for (size_t i = 0; i < n; i++)
    p[i] = (double *)(uintptr_t)((*z)++ & 8);
}

static void spoil(tacit_door_t *door, uint64_t seed) {
  for (size_t t = 0; door->workspaces != NULL && t < door->settings.n_threads; t++) {
    tacit_workspace_t *w = &door->workspaces[t];
#define SPOIL(type, name)                                                                                    \
  _Generic(w->name, float *: spoil_floats, double *: spoil_doubles, int32_t *: spoil_ints, int64_t *: spoil_wholes,                 \
           double **: spoil_pointers)(w->name, door->sizes.name, &seed);
    TACIT_LENT(SPOIL)
  }
}

/* ---- a sequence ---- */

static void run(const units_t *units, size_t from, size_t to, const sequence_t *q, const tacit_ranks_t *ranks,
                uint64_t seed, outcome_t *outcomes) {
  tacit_error_t err;
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_door_t *door;
  tacit_door_settings_t settings = {.name = "test",
                                    .n_columns = N_COLUMNS,
                                    .n_features = q->n_features,
                                    .max_unit_rows = q->has_persons ? MOST_ROWS : 1,
                                    .n_threads = q->n_threads,
                                    .ranks = ranks};
  assert_ok(tacit_budget_new(&budget, 1e6, 1e-6, q->relation, &err), err);
  assert_ok(tacit_noise_new_seeded_not_private(&noise, 3, &err), err);
  assert_ok(tacit_door_new(&door, records_of(units, from, to, q->has_persons), q->is_exposed ? NULL : budget,
                           noise, &settings, &err),
            err);
  for (size_t i = 0; i < N_STEPS; i++) {
    outcomes[i] = (outcome_t){0};
    if (q->is_spoilt) {
      spoil(door, seed + 1000003 * i);
    }
    if (ranks != NULL) { /* no rank is at another step than the others */
      ranks->sum(ranks->user, 1, &(int64_t){0});
    }
    tacit_noise_free(door->noise); /* the same coins for both neighbours */
    assert_ok(tacit_noise_new_seeded_not_private(&door->noise, i, &err), err);
    make(door, &q->steps[i], &outcomes[i]);
  }
  noise = door->noise;
  tacit_door_free(door);
  tacit_noise_free(noise);
  tacit_budget_free(budget);
}

static sequence_t any_sequence(size_t n_lies) {
  sequence_t q = {.has_persons = below(2),
                  .is_exposed = below(3) == 0,
                  .is_spoilt = below(2),
                  .n_threads = 1 + below(7),
                  .n_features = 2 * below(2)};
  q.relation = q.is_exposed || below(2) ? TACIT_RELATION_SUBSTITUTE : TACIT_RELATION_ADD_REMOVE;
  for (step_t *s = q.steps; s < q.steps + N_STEPS; s++) {
    bool is_possible;
    do {
      *s = (step_t){.kind = (kind_t)below(N_KINDS),
                    .lie = (int)below(n_lies),
                    .which = below(64),
                    .n_points = 1 + below(3),
                    .n_blocks = 1 + below(4)};
      s->lie = s->lie >= N_HARMLESS ? s->lie + N_LIES - N_HARMLESS
                                    : s->lie; /* of those that are no functions of a record, below */
      s->scale = ldexp(1, (int)below(12) - 2);
      s->size = below(2)
                    ? 1
                    : ldexp(1, 31 + (int)below(6)); /* of doubles that a record no longer moves, or too far */
      bool is_sampled = s->kind == SUBSET || s->kind == SAMPLED || s->kind == MINIBATCH,
           is_secret = s->kind == DECISION || s->kind == PRODUCT;
      is_possible = !(is_sampled && (q.has_persons || !q.is_exposed)) && !(is_secret && q.is_exposed) &&
                    !(s->kind == PRODUCT && q.has_persons);
    } while (!is_possible);
    if (below(16) == 0) {
      s->lie = N_HARMLESS + (int)below(N_LIES - N_HARMLESS);
    }
  }
  return q;
}

static double distance(const outcome_t *a, const outcome_t *b) {
  double worst = 0;
  for (size_t g = 0; g < a->n_groups; g++) {
    double square = 0;
    for (size_t i = g * a->n_a_group; i < (g + 1) * a->n_a_group; i++) {
      double apart = (double)(a->sums[i] - b->sums[i]) / a->scales[i];
      square += apart * apart;
    }
    worst = fmax(worst, sqrt(square));
  }
  return a->n_groups > 0 ? worst / a->most : 0;
}

static units_t any_units(const sequence_t *q) {
  units_t units = {.n = below(MOST_UNITS + 1), .usual = below(2) * (1 + below(20))};
  bool is_wild = below(3) == 0;
  for (size_t u = 0; u < units.n; u++) {
    any_rows(&units, u, q->has_persons ? MOST_ROWS : 1, is_wild);
  }
  return units;
}

static void test_sequences_of_releases(void **unused) {
  (void)unused;
  static units_t units, other;
  const size_t n_sequences = (size_t)(3000 * testing_multiplier_at_least(1));
  double worst[N_KINDS] = {0};
  size_t n_refused = 0;
  state = 11;
  for (size_t at = 0; at < n_sequences; at++) {
    sequence_t q = any_sequence(N_ALL_LIES - N_LIES + N_HARMLESS);
    outcome_t a[N_STEPS], b[N_STEPS];
    units = any_units(&q);
    other = units;
    if (units.n > 0 && q.relation == TACIT_RELATION_ADD_REMOVE) {
      remove_unit(&other, below(units.n));
    } else if (units.n > 0) {
      any_rows(&other, below(units.n), q.has_persons ? MOST_ROWS : 1, below(4) == 0);
    }
    run(&units, 0, units.n, &q, NULL, 2 * at, a);
    run(&other, 0, other.n, &q, NULL, 2 * at + 1, b);
    for (size_t i = 0; i < N_STEPS; i++) {
      const step_t *s = &q.steps[i];
      assert_int_equal(a[i].status, b[i].status); /* a refusal says nothing about the data */
      assert_int_equal(a[i].n_charged, b[i].n_charged);
      assert_true((a[i].n_charged > 0) == (a[i].status == TACIT_OK && !q.is_exposed));
      n_refused += a[i].status != TACIT_OK;
      double apart = a[i].status == TACIT_OK ? distance(&a[i], &b[i]) : 0;
      worst[s->kind] = fmax(worst[s->kind], apart);
      if (!(apart <= 1 + 1e-12)) {
        fail_msg("sequence %zu, step %zu: kind %d (%zu), lie %d, persons %d, exposed %d, spoilt %d, relation "
                 "%d, threads %zu: %g of what is charged",
                 at, i, (int)s->kind, s->which, s->lie, q.has_persons, q.is_exposed, q.is_spoilt,
                 (int)q.relation, q.n_threads, apart);
      }
    }
  }
  print_message("%zu steps refused; neighbours up to", n_refused);
  for (int kind = 0; kind < N_KINDS; kind++) {
    print_message(" %.3f", worst[kind]);
    assert_true(kind == MINIBATCH || worst[kind] > (kind == PRODUCT ? 0.3 : 0.9));
  }
  print_message(" of what is charged apart\n");
}

/* ---- two ranks: threads that sum what they know ---- */

enum { N_RANKS = 2 };

typedef struct meeting {
  pthread_barrier_t barrier;
  int64_t *numbers[N_RANKS];
} meeting_t;

typedef struct seat {
  meeting_t *meeting;
  size_t rank, from, to;
  const units_t *units;
  const sequence_t *sequence;
  outcome_t outcomes[N_STEPS];
} seat_t;

static void sum_over_ranks(void *user, size_t n, int64_t *numbers) {
  const seat_t *seat = user;
  meeting_t *meeting = seat->meeting;
  int64_t *total = calloc(n + 1, sizeof *total);
  meeting->numbers[seat->rank] = numbers;
  pthread_barrier_wait(&meeting->barrier);
  for (size_t i = 0; i < n * N_RANKS; i++) {
    total[i % n] += meeting->numbers[i / n][i % n];
  }
  pthread_barrier_wait(&meeting->barrier);
  memcpy(numbers, total, n * sizeof *numbers);
  free(total);
}

static void *take_seat(void *user) {
  seat_t *seat = user;
  tacit_ranks_t ranks = {.rank = seat->rank, .n_ranks = N_RANKS, .sum = sum_over_ranks, .user = seat};
  run(seat->units, seat->from, seat->to, seat->sequence, &ranks, 77 * seat->rank, seat->outcomes);
  return NULL;
}

static void test_two_ranks_sum_what_one_process_does(void **unused) {
  (void)unused;
  static units_t units;
  static seat_t seats[N_RANKS];
  const size_t n_sequences = (size_t)(200 * testing_multiplier_at_least(1));
  state = 12;
  for (size_t at = 0; at < n_sequences; at++) {
    sequence_t q = any_sequence(N_ALL_LIES - N_LIES + N_HARMLESS);
    outcome_t alone[N_STEPS];
    meeting_t meeting = {.numbers = {NULL}};
    pthread_t thread;
    for (step_t *s = q.steps; s < q.steps + N_STEPS; s++) { /* those that keep state would race */
      s->lie = s->lie >= N_HARMLESS && s->lie < N_LIES ? HONEST : s->lie;
    }
    units = any_units(&q);
    size_t middle = q.is_exposed && !q.has_persons
                        ? 0
                        : below(units.n + 1); /* minibatches need a multiple of 64 records */
    run(&units, 0, units.n, &q, NULL, at, alone);
    assert_int_equal(pthread_barrier_init(&meeting.barrier, NULL, N_RANKS), 0);
    for (size_t r = 0; r < N_RANKS; r++) {
      seats[r] = (seat_t){.meeting = &meeting,
                          .rank = r,
                          .from = r == 0 ? 0 : middle,
                          .to = r == 0 ? middle : units.n,
                          .units = &units,
                          .sequence = &q};
    }
    assert_int_equal(pthread_create(&thread, NULL, take_seat, &seats[1]), 0);
    take_seat(&seats[0]);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_barrier_destroy(&meeting.barrier);
    for (size_t r = 0; r < N_RANKS; r++) {
      for (size_t i = 0; i < N_STEPS; i++) {
        const outcome_t *o = &seats[r].outcomes[i];
        assert_int_equal(o->status, alone[i].status);
        assert_memory_equal(o->sums, alone[i].sums, o->n_groups * o->n_a_group * sizeof o->sums[0]);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sequences_of_releases),
      cmocka_unit_test(test_two_ranks_sum_what_one_process_does),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
