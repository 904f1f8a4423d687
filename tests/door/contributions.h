/* Units of any floats, and contributions over them that may lie: honest ones, and one kind of liar each for
 * what a contribution may do. */
#ifndef TACIT_DOOR_CONTRIBUTIONS_H
#define TACIT_DOOR_CONTRIBUTIONS_H

#include <float.h>
#include <string.h>

#include "door/door_internal.h"
#include "testing.h"

enum {
  N_COLUMNS = 4,
  MAX_UNITS = 60,
  FEW_ROWS = 5,
  MAX_ROWS = 20, /* more than a group in lanes has layers for */
  N_POINTS = 2,
  MAX_SUMS = 64
};
_Static_assert((int)MAX_ROWS > (int)TACIT_GROUP_ROWS, "some units are shown alone");

/* ---- data ---- */

static uint64_t mixed(uint64_t z) { /* SplitMix64's finaliser */
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

static uint64_t state;

static uint64_t bits(void) { return mixed(state += 0x9E3779B97F4A7C15u); }

/* Any float: sane, special, or bits drawn at random. */
static float any_float(uint64_t draw) {
  static const float special[] = {0,        -0.0f, FLT_TRUE_MIN, -FLT_TRUE_MIN, FLT_MIN, FLT_MAX,
                                  -FLT_MAX, NAN,   INFINITY,     -INFINITY,     1e30f};
  uint32_t word = (uint32_t)(draw >> 8);
  float x;
  memcpy(&x, &word, sizeof x);
  switch (draw % 4) {
  case 0:
    return special[draw / 4 % (sizeof special / sizeof special[0])];
  case 1:
    return x;
  default:
    return (float)(draw >> 40) * 0x1p-23f - 1;
  }
}

typedef struct data {
  size_t n_units, n_rows[MAX_UNITS];
  size_t usual; /* records of most units, so that they lie in lanes; 0: any */
  double rows[MAX_UNITS][MAX_ROWS][N_COLUMNS];
  bool is_left_out[MAX_UNITS][MAX_ROWS];
} data_t;

static inline void any_unit(data_t *data, size_t u, size_t max_rows, bool is_wild) {
  size_t any = max_rows > 1 ? bits() % (max_rows + 1) : 1; /* a person may have no records */
  data->n_rows[u] = data->usual > 0 && bits() % 32 != 0 ? data->usual : any;
  for (size_t t = 0; t < max_rows; t++) {
    data->is_left_out[u][t] = false;
    for (size_t j = 0; j < N_COLUMNS; j++) {
      uint64_t draw = bits();
      data->rows[u][t][j] =
          is_wild && draw % 8 == 0 ? (double)any_float(bits()) : (double)(draw >> 11) * 0x1p-52 - 1;
    }
  }
}

/* ---- contributions ---- */

typedef enum lie {
  HONEST,
  WILD, /* a function of the record alone, of any size, or no number */
  N_HARMLESS,
  NEIGHBOUR = N_HARMLESS, /* looks at the lane beside it */
  COMPANY,                /* at all lanes alike */
  LANE,                   /* at which lane it is */
  COUNTER,                /* at how often it was called */
  LAST,                   /* at the block before */
  RUN,                    /* at the next of the blocks that it is shown together */
  BESIDE,                 /* of units in lanes: at the second record of the unit beside it */
  LAYERS,                 /* at how many records its neighbours have */
  WHOLE,                  /* at the whole numbers of the unit beside it */
  GROUP,                  /* at the group before */
  N_LIES
} lie_t;

typedef struct liar {
  lie_t lie;
  size_t n_calls;
  float last, last_of_group;
  double scale; /* of what an honest one writes */
} liar_t;

static liar_t liar; /* where a contribution keeps what it must not */

static uint64_t record_hash(const float *block, size_t lane, size_t i) {
  uint64_t hash = i + 1;
  for (size_t j = 0; j < N_COLUMNS; j++) {
    uint32_t word;
    memcpy(&word, block + j * 16 + lane, sizeof word);
    hash = mixed(hash * 0x100000001b3u + word);
  }
  return hash;
}

/* Number i of a record, as the lie would have it. */
static double number(const float *block, size_t lane, size_t i) {
  double own = liar.scale * (double)block[i % N_COLUMNS * 16 + lane];
  switch (liar.lie) {
  case HONEST:
    return own;
  case WILD:
    return (double)any_float(record_hash(block, lane, i)) * (i % 3 == 0 ? 1e300 : 1);
  case NEIGHBOUR:
    return own + 100 * liar.scale * (double)block[lane ^ 1];
  case COMPANY:
    for (size_t other = 0; other < 16; other++) {
      own += liar.scale * (double)block[other];
    }
    return own;
  case LANE:
    return own * (double)lane;
  case COUNTER:
    return own + liar.scale * (double)(liar.n_calls % 7);
  case LAST:
    return own + 100 * liar.scale * (double)liar.last;
  default:
    return own;
  }
}

static void called(const float *block) {
  liar.n_calls++;
  liar.last = block[15];
}

static void float_rows(size_t n_rows, const float *block, float *rows) {
  for (size_t i = 0; i < n_rows * 16; i++) {
    rows[i] = (float)number(block, i % 16, i / 16);
  }
  called(block);
}

/* Whose rows they are. */
static void vector_rows(const void *ctx, const float *block, size_t n_blocks, size_t n_points,
                        const float *points, float *rows) {
  size_t n_rows = n_points * *(const size_t *)ctx;
  (void)points;
  for (size_t b = 0; b < n_blocks; b++) {
    float_rows(n_rows, block + b * N_COLUMNS * 16, rows + b * n_rows * 16);
    for (size_t i = 0; i < 16 && liar.lie == RUN && b + 1 < n_blocks; i++) {
      rows[b * n_rows * 16 + i] += block[(b + 1) * N_COLUMNS * 16 + i];
    }
  }
}

/* What a unit's record adds to its own sums. */
static void add_record(const tacit_vectors_t *of, const tacit_layers_t *layers, size_t point, size_t t,
                       size_t lane, double *sums) {
  const float *x = layers->x + t * layers->n_columns * 16 + lane,
              *row = layers->rows + (t * of->n_points + point) * of->n_rows * 16 + lane;
  for (const tacit_piece_t *p = of->pieces; p < of->pieces + of->n_pieces; p++) {
    size_t place = p->kind == TACIT_PIECE_GATHER
                       ? (size_t)fmax(fmin(x[p->column * 16] - p->first, (double)p->n - 1), 0)
                       : 0;
    for (size_t j = 0; j < (p->kind == TACIT_PIECE_GATHER ? 1 : p->n); j++) {
      double value = p->kind == TACIT_PIECE_LINEAR
                         ? (double)row[p->row * 16] * (double)x[(p->column + j) * 16]
                         : (double)row[(p->row + j) * 16];
      sums[(p->parameter + place * p->stride + j) * 16 + lane] += value * layers->scale;
    }
  }
}

/* The nearest that an int32_t can be. */
static int32_t nearest(double value) { return (int32_t)fmax(fmin(value, INT32_MAX), -INT32_MAX); }

/* The sums of a unit's numbers, clipped; or one that is not, is none, or is any. */
static void end_unit(const tacit_vectors_t *of, const tacit_layers_t *layers, const double *sums,
                     int32_t *k) {
  double square = 0;
  for (size_t j = 0; j < of->dim; j++) {
    square += sums[j * 16] * sums[j * 16];
  }
  uint64_t
      kind; /* of a lie: clipped; three times too long, which is less than whole numbers hold; as it came */
  memcpy(&kind, &square, sizeof kind);
  kind = liar.lie == WILD && square > 1e-200 && square <= DBL_MAX ? kind % 3 : 0;
  double factor = !(square <= DBL_MAX) ? 0
                                       : layers->most * (kind == 1 ? 3 : 1) /
                                             (kind == 1 || (square > 1 && kind == 0) ? sqrt(square) : 1);
  for (size_t j = 0; j < of->dim; j++) {
    double whole = factor > 0 ? sums[j * 16] * factor : 0;
    k[j * 16] = nearest(whole);
  }
  k[0] = kind == 2 && square > 1e6 ? INT32_MIN : k[0];
  k[0] = liar.lie == WILD && !(square <= DBL_MAX) ? 3 << 20 : k[0];
  k[0] = liar.lie == WILD && square <= 0 ? 1 << 20 : k[0]; /* also where no unit is */
}

/* As the lie would have it; `sums` and `k` of the first number of the first point. */
static void lie_of_units(const tacit_layers_t *layers, double *sums, int32_t *k) {
  for (size_t lane = 0; k == NULL && lane < 16; lane++) {
    if (liar.lie == BESIDE && layers->n > 1) {
      sums[lane] += (double)layers->x[layers->n_columns * 16 + (lane ^ 1)];
    } else if (liar.lie == LAYERS) {
      sums[lane] += 0.1 * (double)layers->n;
    } else if (liar.lie == GROUP) {
      sums[lane] += (double)liar.last_of_group;
    }
  }
  liar.last_of_group = k == NULL && liar.lie == GROUP ? layers->x[15] : liar.last_of_group;
}

static void vector_units(const tacit_vectors_t *of, const tacit_layers_t *layers, double *sums, int32_t *k,
                         tacit_door_notes_t *notes) {
  const size_t n = of->dim * 16;
  (void)notes;
  lie_of_units(layers, sums, k);
  for (size_t i = 0; k == NULL && i < of->n_points * layers->n * 16; i++) {
    size_t lane = i % 16, t = i / 16 % layers->n, point = i / 16 / layers->n;
    add_record(of, layers, point, t, lane, sums + point * n);
  }
  for (size_t i = 0; k != NULL && i < of->n_points * 16; i++) {
    end_unit(of, layers, sums + i / 16 * n + i % 16, k + i / 16 * n + i % 16);
  }
  for (size_t lane = 0; k != NULL && liar.lie == WHOLE && lane < 15; lane++) {
    k[lane] = k[lane + 1];
  }
}

/* Two predictors of two features and one number more; all kinds of pieces, two of one row and one of features
 * beyond the norm's; numbers alone. */
static const tacit_piece_t
    linear[] = {{.kind = TACIT_PIECE_LINEAR, .row = 0, .parameter = 0, .n = 2},
                {.kind = TACIT_PIECE_LINEAR, .row = 1, .parameter = 2, .n = 2},
                {.kind = TACIT_PIECE_DENSE, .row = 2, .parameter = 4, .n = 1}},
    mixed_pieces[] =
        {{.kind = TACIT_PIECE_GATHER, .row = 0, .parameter = 1, .column = 3, .n = 2, .stride = 2, .first = 1},
         {.kind = TACIT_PIECE_DENSE, .row = 1, .parameter = 0, .n = 1},
         {.kind = TACIT_PIECE_LINEAR, .row = 0, .parameter = 2, .column = 2, .n = 1},
         {.kind = TACIT_PIECE_LINEAR, .row = 2, .parameter = 4, .column = 3, .n = 1}},
    dense[] = {{.kind = TACIT_PIECE_DENSE, .n = 5}};
static const struct {
  const tacit_piece_t *pieces;
  size_t n_pieces, n_rows;
} vectors_of[] = {{linear, 3, 3}, {mixed_pieces, 4, 3}, {dense, 1, 5}};

static void scalar_values(const void *ctx, const float *block, size_t n_blocks, double *work,
                          double *const *out) {
  (void)ctx, (void)work;
  for (size_t b = 0; b < n_blocks; b++) {
    for (size_t i = 0; i < 16; i++) {
      out[0][b * 16 + i] = 0x1p20 * number(block + b * N_COLUMNS * 16, i, 0);
      out[1][b * 16 + i] = 0x1p20 * number(block + b * N_COLUMNS * 16, i, 1);
    }
    for (size_t i = 0; i < 16 && liar.lie == RUN && b + 1 < n_blocks; i++) {
      out[0][b * 16 + i] += 0x1p20 * (double)block[(b + 1) * N_COLUMNS * 16 + i];
    }
    called(block + b * N_COLUMNS * 16);
  }
}

static void product_lanes(const void *ctx, const float *block, const float *norms, void *work,
                          int64_t *lanes) {
  (void)ctx, (void)norms, (void)work;
  for (size_t i = 0; i < 5 * 16; i++) {
    double x = 0x1p19 * number(block, i % 16, i / 16);
    lanes[i] = fabs(x) < 0x1p62 ? (int64_t)x : INT64_MIN;
  }
  called(block);
}

/* Whole numbers near or beyond a shape's ends. */
static void unit_numbers(const void *ctx, size_t n_rows, const float *x, double *work, int64_t *k) {
  const tacit_door_shape_t *shape = ctx;
  (void)work;
  size_t n = tacit_door_shape_n_written(shape, n_rows);
  uint32_t first;
  memcpy(&first, x, sizeof first);
  bool is_long =
      mixed(first) % 2 ==
      0; /* of units that lie, half are too long by numbers that are each as large as they may be */
  for (size_t i = 0; i < n; i++) {
    uint32_t word;
    memcpy(&word, x + i % (n_rows * N_COLUMNS), sizeof word);
    uint64_t draw = mixed(word + 977 * i);
    int64_t most = shape->kind == TACIT_SHAPE_CELL  ? (int64_t)shape->dim
                   : shape->kind == TACIT_SHAPE_BOX ? shape->high
                                                    : shape->radius;
    bool has_blocks = shape->kind == TACIT_SHAPE_SQUARES && shape->high > 1;
    double share = shape->kind == TACIT_SHAPE_BALL || shape->kind == TACIT_SHAPE_SQUARES
                       ? 1 / sqrt((double)(has_blocks ? n / (shape->dim + 1) * shape->dim : n))
                       : 1;
    int64_t size = (int64_t)(share * (double)most);
    k[i] = draw % 2 ? size : shape->kind == TACIT_SHAPE_BOX ? shape->low : -size;
    uint64_t range = shape->dim / n; /* of cells: each of several in a range of its own, so that they rise */
    k[i] = shape->kind == TACIT_SHAPE_CELL ? 1 + (int64_t)(i * range + draw % range) : k[i];
    const int64_t wild[] = {INT64_MIN, (int64_t)draw, 0, most, 2 * most, -3 * most};
    bool is_block = has_blocks && i % (shape->dim + 1) == 0; /* where they lie, some are none */
    k[i] = is_block ? (int64_t)(draw % (uint64_t)(shape->high + (liar.lie == WILD))) -
                          (liar.lie == WILD && draw % 7 == 0)
                    : k[i];
    k[i] = liar.lie == WILD && draw % 16 < 6 ? wild[is_long ? 3 : draw % 16] : k[i];
  }
}

static bool has_lanes(const tacit_door_shape_t *shape) {
  return shape->kind == TACIT_SHAPE_BALL || (shape->kind == TACIT_SHAPE_SQUARES && shape->high <= 1);
}

/* The same of units in lanes. */
static void unit_lanes(const void *ctx, size_t n_layers, const double *n_rows, const float *x, int32_t *k) {
  const tacit_door_shape_t *shape = ctx;
  for (size_t lane = 0; lane < 16; lane++) {
    float own[(TACIT_GROUP_ROWS + 1) * N_COLUMNS] = {0};
    int64_t whole[TACIT_GROUP_ROWS * 64] = {0};
    size_t n = (size_t)n_rows[lane];
    for (size_t i = 0; i < n * N_COLUMNS; i++) {
      own[i] = x[i * 16 + lane];
    }
    if (n > 0) {
      unit_numbers(ctx, n, own, NULL, whole);
    }
    whole[0] = n == 0 && liar.lie == WILD ? shape->radius : whole[0]; /* where no unit is */
    for (size_t i = 0; i < tacit_door_shape_n_written(shape, n_layers); i++) {
      k[i * 16 + lane] = nearest((double)whole[i]);
    }
    double beside = n_layers > 1 ? 1000 * (double)x[N_COLUMNS * 16 + (lane ^ 1)] : 0;
    double more = liar.lie == BESIDE   ? beside
                  : liar.lie == LAYERS ? (double)n_layers
                  : liar.lie == GROUP  ? 1000 * (double)liar.last_of_group
                                       : 0;
    k[lane] = nearest(k[lane] + trunc(more));
  }
  for (size_t lane = 0; liar.lie == WHOLE && lane < 15; lane++) {
    k[lane] = k[lane + 1];
  }
  liar.last_of_group = liar.lie == GROUP ? x[15] : 0;
}

#endif
