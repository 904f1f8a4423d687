/*
 * Clipping and rounding to integers for 16 records at a time; compiled once for each instruction set
 * (meson.build), TACIT_ISA naming the table. All of them give the same integers: every operation below is a
 * single IEEE operation or an integer one.
 */
#include <float.h>
#include <math.h>

#include "base/turn.h"
#include "base/vector.h"
#include "door/door_internal.h"

TACIT_INLINE uint64_t count_lanes(vint mask) {
  return (uint64_t)__builtin_popcount(vint_bits(mask));
}

/*
 * Factor by which contributions with squared norm n2 (in units of the bound) are multiplied: scale_out within
 * the bound, scale_out / norm beyond it, 0 where the norm is not finite.
 */
TACIT_INLINE vfloat clip_factor(vfloat n2, vint valid, float scale_out, tacit_door_notes_t *notes) {
  vint finite = valid & (n2 <= FLT_MAX);
  vint over = finite & (n2 > 1.0f);
  vfloat factor = vfloat_set(scale_out);
  if (vint_bits(over) != 0) {
    factor = vfloat_select(over, scale_out / vfloat_sqrt(n2), factor);
    notes->n_grad_clipped += count_lanes(over);
  }
  vint bad = valid & ~finite;
  if (vint_bits(bad) != 0) {
    notes->n_non_finite += count_lanes(bad);
  }
  return vfloat_select(finite, factor, vfloat_set(0));
}

TACIT_INLINE void add_lanes(int32_t *lanes, vfloat product) {
  vint sum;
  memcpy(&sum, lanes, sizeof sum);
  sum += __builtin_convertvector(product, vint); /* truncates toward zero: the norm only shrinks */
  memcpy(lanes, &sum, sizeof sum);
}

TACIT_INLINE void ask_for(const float *block, size_t ahead) {
  __builtin_prefetch((const void *)((uintptr_t)block + ahead), 0, 2);
}

/*
 * lanes[j] += trunc(weight * x_j) for all features; x_j of an invalid lane may be NaN and is not used. Blocks follow each other in memory, and
 * this loop waits for none of what it reads: here the block that is `ahead` bytes further on is asked for, a line for each that is worked on,
 * since a core waits when it has asked for too many at once. An address past the last block does no harm; 0: nothing is asked for.
 */
TACIT_INLINE void add_features(const float *block, size_t n_features, vfloat weight, vint valid, bool all_valid, size_t ahead,
                               int32_t *lanes) {
  if (!all_valid) {
    for (size_t j = 0; j < n_features; j++) {
      vfloat product = weight * vfloat_load(block + j * 16);
      add_lanes(lanes + j * 16, vfloat_select(valid, product, vfloat_set(0)));
    }
  } else if (ahead > 0) {
    for (size_t j = 0; j < n_features; j++) {
      ask_for(block + j * 16, ahead);
      add_lanes(lanes + j * 16, weight * vfloat_load(block + j * 16));
    }
  } else {
    for (size_t j = 0; j < n_features; j++) {
      add_lanes(lanes + j * 16, weight * vfloat_load(block + j * 16));
    }
  }
}

/* The same for two classes, which share their features, and valid records. */
TACIT_INLINE void add_features_twice(const float *block, size_t n_features, const vfloat weight[2], size_t ahead, int32_t *lanes) {
  int32_t *lanes2 = lanes + n_features * 16;
  for (size_t j = 0; j < n_features; j++) {
    vfloat x = vfloat_load(block + j * 16);
    ask_for(block + j * 16, ahead);
    add_lanes(lanes + j * 16, weight[0] * x);
    add_lanes(lanes2 + j * 16, weight[1] * x);
  }
}

/* A residual in lattice units; 0 where the record does not count. */
TACIT_INLINE vfloat linear_weight(const float *residual, const tacit_lattice_t *lattice, vfloat factor) {
  vfloat weight = (vfloat_load(residual) * lattice->scale_in) * factor;
  return vfloat_select(factor != 0.0f, weight, vfloat_set(0));
}

/* One piece of the lanes for one parameter vector; block, residual and sums point at its first lane. */
TACIT_INLINE void linear_piece(const tacit_vectors_t *of, const float *block, vfloat x_norm,
                               const tacit_lattice_t *lattice, const float *residual, size_t ahead, int32_t *sums,
                               tacit_door_notes_t *notes) {
  size_t n_linear = of->n_linear, n_extra = of->n_extra, p = of->n_features;
  vint valid = x_norm <= FLT_MAX;
  bool all_valid = vint_bits(~valid) == 0;
  vfloat n2 = {0};
  for (size_t i = 0; i < n_linear; i++) {
    vfloat u = vfloat_load(residual + i * 16) * lattice->scale_in;
    n2 += u * u;
  }
  n2 = n2 * (x_norm * x_norm);
  for (size_t i = n_linear; i < n_linear + n_extra; i++) {
    vfloat u = vfloat_load(residual + i * 16) * lattice->scale_in;
    n2 += u * u;
  }
  vfloat factor = clip_factor(n2, valid, lattice->scale_out, notes);
  for (size_t i = 0; i < n_linear; i++, ahead = 0) {
    vfloat weight[2] = {linear_weight(residual + i * 16, lattice, factor)};
    int32_t *at = sums + i * p * 16;
    if (all_valid && i + 1 < n_linear) {
      weight[1] = linear_weight(residual + ++i * 16, lattice, factor);
      add_features_twice(block, p, weight, ahead, at);
    } else {
      add_features(block, p, weight[0], valid, all_valid, ahead, at);
    }
  }
  for (size_t i = n_linear; i < n_linear + n_extra; i++) {
    add_lanes(sums + (n_linear * (p - 1) + i) * 16, linear_weight(residual + i * 16, lattice, factor));
  }
}

static void linear(const tacit_vectors_t *of, size_t n_columns, size_t n_points, const float *block, const float *norms,
                   const tacit_lattice_t *lattice, const float *rows, int32_t *lanes, tacit_door_notes_t *notes) {
  size_t n_rows = of->n_linear + of->n_extra;
  size_t ahead = (n_points == 1 ? 4 : 2) * n_columns * 16 * sizeof *block; /* one chain is done with a block sooner */
  for (size_t k = 0; k < n_points; k++) {
    for (size_t lane = 0; lane < 16; lane += FLOAT_LANES) {
      linear_piece(of, block + lane, vfloat_load(norms + lane), lattice, rows + k * n_rows * 16 + lane,
                   k == 0 && lane == 0 ? ahead : 0, lanes + k * of->dim * 16 + lane, notes);
    }
  }
}

/* ---- pieces ---- */

/*
 * Squared norm of what a row is multiplied by, or more: the norm of all features is known, that of others is not. As there, norms beyond
 * 2^32 are none that count; a square that underflows is at most the smallest normal number.
 */
TACIT_INLINE vfloat piece_square(const tacit_piece_t *piece, size_t n_features, const float *block, vfloat x_norm) {
  vfloat square = vfloat_set(1);
  if (piece->kind == TACIT_PIECE_LINEAR && piece->column == 0 && piece->n == n_features) {
    square = x_norm * x_norm;
  } else if (piece->kind == TACIT_PIECE_LINEAR) {
    square = vfloat_set(0);
    for (size_t j = 0; j < piece->n; j++) {
      vfloat x = vfloat_load(block + (piece->column + j) * 16);
      square += x * x;
    }
    square = vfloat_select(square <= 0x1p64f, square + (float)piece->n * FLT_MIN, vfloat_set(INFINITY));
  }
  return square;
}

/* Whatever the column holds, the place is within the piece: a NaN's is the first. */
TACIT_INLINE void add_gathered(const tacit_piece_t *piece, const float *block, vfloat weight, int32_t *sums) {
  vfloat at = vfloat_load(block + piece->column * 16) - (float)piece->first;
  vint index = __builtin_convertvector(vfloat_max(vfloat_min(at, vfloat_set((float)(piece->n - 1))), vfloat_set(0)), vint);
  vint whole = __builtin_convertvector(weight, vint);
  for (size_t lane = 0; lane < FLOAT_LANES; lane++) {
    sums[(piece->parameter + (size_t)index[lane] * piece->stride) * 16 + lane] += whole[lane];
  }
}

TACIT_INLINE void pieces_part(const tacit_vectors_t *of, size_t n_features, const float *block, vfloat x_norm, const tacit_lattice_t *lattice,
                              const float *rows, size_t ahead, int32_t *sums, tacit_door_notes_t *notes) {
  vint valid = x_norm <= FLT_MAX;
  bool all_valid = vint_bits(~valid) == 0;
  vfloat n2 = {0};
  for (size_t i = 0; i < of->n_pieces; i++) {
    vfloat u = vfloat_load(rows + of->pieces[i].row * 16) * lattice->scale_in;
    n2 += (u * u) * piece_square(&of->pieces[i], n_features, block, x_norm);
  }
  vfloat factor = clip_factor(n2, valid, lattice->scale_out, notes);
  for (size_t i = 0; i < of->n_pieces; i++) {
    const tacit_piece_t piece = of->pieces[i];
    vfloat weight = linear_weight(rows + piece.row * 16, lattice, factor);
    if (piece.kind == TACIT_PIECE_LINEAR) {
      add_features(block + piece.column * 16, piece.n, weight, valid, all_valid, ahead, sums + piece.parameter * 16);
      ahead = 0;
    } else if (piece.kind == TACIT_PIECE_GATHER) {
      add_gathered(&piece, block, weight, sums);
    } else {
      add_lanes(sums + piece.parameter * 16, weight);
    }
  }
}

/* One piece of all features is what `linear` is for. */
static bool is_one_predictor(const tacit_vectors_t *of, size_t n_features) {
  return of->n_pieces == 1 && of->pieces->kind == TACIT_PIECE_LINEAR && of->pieces->column == 0 && of->pieces->n == n_features;
}

static void pieces(const tacit_vectors_t *of, size_t n_features, size_t n_columns, const float *block, const float *norms,
                   const tacit_lattice_t *lattice, const float *rows, int32_t *lanes, tacit_door_notes_t *notes) {
  size_t ahead = (of->n_points == 1 ? 16 : 8) * n_columns * 16 * sizeof *block;
  bool is_one = is_one_predictor(of, n_features);
  tacit_vectors_t one = {.n_linear = 1, .n_features = n_features};
  for (size_t k = 0; k < of->n_points; k++) {
    for (size_t lane = 0; lane < 16; lane += FLOAT_LANES) {
      vfloat x_norm = vfloat_load(norms + lane);
      const float *at = rows + k * of->n_rows * 16 + lane;
      size_t ask = k == 0 && lane == 0 ? ahead : 0;
      int32_t *sums = lanes + k * of->dim * 16 + lane;
      if (is_one) {
        linear_piece(&one, block + lane, x_norm, lattice, at + of->pieces->row * 16, ask, sums + of->pieces->parameter * 16, notes);
      } else {
        pieces_part(of, n_features, block + lane, x_norm, lattice, at, ask, sums, notes);
      }
    }
  }
}

TACIT_INLINE void dense_piece(size_t dim, vint valid, const tacit_lattice_t *lattice, const float *grad, int32_t *sums,
                              tacit_door_notes_t *notes) {
  vfloat n2 = {0};
  for (size_t j = 0; j < dim; j++) {
    vfloat u = vfloat_load(grad + j * 16) * lattice->scale_in;
    n2 += u * u;
  }
  vfloat factor = clip_factor(n2, valid, lattice->scale_out, notes);
  vint used = factor != 0.0f;
  for (size_t j = 0; j < dim; j++) {
    vfloat weight = (vfloat_load(grad + j * 16) * lattice->scale_in) * factor;
    add_lanes(sums + j * 16, vfloat_select(used, weight, vfloat_set(0)));
  }
}

static void dense(const tacit_vectors_t *of, size_t n_points, const float *norms, const tacit_lattice_t *lattice,
                  const float *rows, int32_t *lanes, tacit_door_notes_t *notes) {
  for (size_t k = 0; k < n_points; k++) {
    for (size_t lane = 0; lane < 16; lane += FLOAT_LANES) {
      size_t at = k * of->dim * 16 + lane;
      dense_piece(of->dim, vfloat_load(norms + lane) <= FLT_MAX, lattice, rows + at, lanes + at, notes);
    }
  }
}

/* Lanes of records that count: their norm is a number. */
TACIT_INLINE vlong valid_lanes(const float *norms) {
  return vdouble_load_floats(norms) <= (double)FLT_MAX;
}

TACIT_INLINE void add_lanes64(int64_t *lanes, vlong value) {
  vlong sum;
  memcpy(&sum, lanes, sizeof sum);
  sum += value;
  memcpy(lanes, &sum, sizeof sum);
}

/* A difference that is clipped, or no number. */
TACIT_INLINE vdouble clip_scalar(const float *norms, vdouble difference, vdouble clip, tacit_door_notes_t *notes) {
  vlong finite = difference == difference, over = finite & (vdouble_abs(difference) > clip);
  notes->n_ratio_clipped += (uint64_t)__builtin_popcount(vlong_bits(over));
  notes->n_non_finite += (uint64_t)__builtin_popcount(vlong_bits(valid_lanes(norms) & ~finite));
  return vdouble_select(finite, vdouble_max(vdouble_min(difference, clip), -clip), vdouble_set(0));
}

static void scalars(const float *norms, size_t n_blocks, const double *before, const double *after, double most, int64_t *lanes,
                    tacit_door_notes_t *notes) {
  const vdouble clip = vdouble_set(most);
  for (size_t lane = 0; lane < 16; lane += DOUBLE_LANES) {
    vlong sum = {0};
    for (size_t at = lane; at < n_blocks * 16; at += 16) {
      vdouble difference = vdouble_load(after + at) - (before != NULL ? vdouble_load(before + at) : vdouble_set(0));
      if (!vdouble_all_at_most(vdouble_abs(difference), clip)) {
        difference = clip_scalar(norms + at, difference, clip, notes);
      }
      sum += vdouble_nearest(difference);
    }
    add_lanes64(lanes + lane, sum);
  }
}

/* Squares of whole numbers are exact, or beyond every radius, which is at most 2^26. */
TACIT_INLINE void whole_piece(size_t n, double radius, vlong counts, const int64_t *lanes, int64_t *totals) {
  vdouble square = vdouble_set(0);
  for (size_t j = 0; j < n; j++) {
    vlong k;
    memcpy(&k, lanes + j * 16, sizeof k);
    vdouble x = __builtin_convertvector(k, vdouble);
    square += x * x;
  }
  vlong used = counts & (square <= radius * radius);
  for (size_t j = 0; j < n; j++) {
    vlong k;
    memcpy(&k, lanes + j * 16, sizeof k);
    add_lanes64(totals + j * 16, k & used);
  }
}

static void whole(const float *norms, size_t n, double radius, const int64_t *lanes, int64_t *totals) {
  for (size_t lane = 0; lane < 16; lane += DOUBLE_LANES) {
    whole_piece(n, radius, valid_lanes(norms + lane), lanes + lane, totals + lane);
  }
}

/* ---- units of several records ---- */

static unsigned valid(const float *norms) {
  unsigned bits = 0;
  for (size_t lane = 0; lane < 16; lane += FLOAT_LANES) {
    bits |= vint_bits(vfloat_load(norms + lane) <= FLT_MAX) << lane;
  }
  return bits;
}

static void turn(size_t n_rows, const float *rows, unsigned counted, size_t width, float *out) {
  vfloats_turn(n_rows, rows, width, out);
  for (size_t lane = 0; counted != 0xFFFF && lane < 16; lane++) {
    if (!(counted >> lane & 1)) {
      memset(out + lane * width, 0, width * sizeof *out);
    }
  }
}

enum { UNIT_VECTORS = TACIT_UNIT_ALIGNMENT / DOUBLE_LANES };

/* Residuals of 16 records in units of the bound, 0 for those that do not count. */
TACIT_INLINE void unit_weights(const float *residual, double scale, unsigned counted, double *weights) {
  for (size_t lane = 0; lane < 16; lane += DOUBLE_LANES) {
    vdouble_store(weights + lane, vdouble_load_floats(residual + lane) * scale);
  }
  for (size_t lane = 0; counted != 0xFFFF && lane < 16; lane++) {
    weights[lane] = counted >> lane & 1 ? weights[lane] : 0;
  }
}

/* n_vectors of unit_add, a constant. */
TACIT_INLINE void unit_add_vectors(size_t n_vectors, size_t from, size_t to, size_t width, const float *x, const double *weights,
                                   const double *before, double *sum) {
  vdouble value[2 * UNIT_VECTORS];
  for (size_t v = 0; v < n_vectors; v++) {
    value[v] = before != NULL ? vdouble_load(before + v * DOUBLE_LANES) : vdouble_set(0);
  }
  for (size_t lane = from; lane < to; lane++) {
    for (size_t v = 0; v < n_vectors; v++) {
      value[v] += vdouble_load_floats(x + lane * width + v * DOUBLE_LANES) * weights[lane];
    }
  }
  for (size_t v = 0; v < n_vectors; v++) {
    vdouble_store(sum + v * DOUBLE_LANES, value[v]);
  }
}

/* sum, shape (width), is what it was `before` (NULL: 0) plus weight times x of the records from .. to - 1, one after another. */
TACIT_INLINE void unit_add(size_t from, size_t to, size_t width, const float *x, const double *weights, const double *before,
                           double *sum) {
  size_t j = 0;
  for (; j + 2 * TACIT_UNIT_ALIGNMENT <= width; j += 2 * TACIT_UNIT_ALIGNMENT) {
    unit_add_vectors(2 * UNIT_VECTORS, from, to, width, x + j, weights, before != NULL ? before + j : NULL, sum + j);
  }
  if (j < width) {
    unit_add_vectors(UNIT_VECTORS, from, to, width, x + j, weights, before != NULL ? before + j : NULL, sum + j);
  }
}

/* The parameters that no feature multiplies. */
TACIT_INLINE void unit_add_extra(size_t from, size_t to, size_t n_extra, const double *weights, const double *before, double *sum) {
  for (size_t e = 0; e < n_extra; e++) {
    double value = before != NULL ? before[e] : 0;
    for (size_t lane = from; lane < to; lane++) {
      value += weights[e * 16 + lane];
    }
    sum[e] = value;
  }
}

/* Eight partial sums on every instruction set, added in one order, so that all round alike. */
TACIT_INLINE double unit_square(size_t width, const double *sum) {
  vdouble square[UNIT_VECTORS] = {0};
  double q[DOUBLE_LANES];
  for (size_t j = 0; j < width; j += TACIT_UNIT_ALIGNMENT) {
    for (size_t v = 0; v < UNIT_VECTORS; v++) {
      vdouble x = vdouble_load(sum + j + v * DOUBLE_LANES);
      square[v] += x * x;
    }
  }
  for (size_t half = UNIT_VECTORS / 2; half > 0; half /= 2) {
    for (size_t v = 0; v < half; v++) {
      square[v] += square[v + half];
    }
  }
  vdouble_store(q, square[0]);
#pragma GCC unroll 8
  for (size_t half = DOUBLE_LANES / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (size_t i = 0; i < half; i++) {
      q[i] += q[i + half];
    }
  }
  return q[0];
}

/* What a unit's sum is multiplied by; one that is not finite becomes 0. */
TACIT_INLINE double unit_factor(size_t n_sums, double scale_out, double *sum, tacit_door_notes_t *notes) {
  double square = unit_square(n_sums, sum), factor = scale_out;
  if (!(square <= DBL_MAX)) {
    notes->n_non_finite++;
    memset(sum, 0, n_sums * sizeof *sum);
  } else if (square > 1) {
    notes->n_grad_clipped++;
    factor /= sqrt(square);
  }
  return factor;
}

static void units(const tacit_unit_block_t *at, const tacit_lattice_t *lattice, const float *residual, double *weights,
                  double *sums, double *pending, int64_t *totals, tacit_door_notes_t *notes) {
  size_t n_linear = at->n_linear, width = at->width, n_sums = at->n_sums, n_ends = at->n_units - at->continues;
  double factors[16];
  for (size_t r = 0; r < n_linear + at->n_extra; r++) {
    unit_weights(residual + r * 16, (double)lattice->scale_in, at->valid, weights + r * 16);
  }
  for (size_t u = 0; u < at->n_units; u++) {
    size_t from = at->begins[u], to = at->begins[u + 1];
    const double *before = u == 0 && at->is_continued ? pending : NULL;
    double *sum = sums + u * n_sums;
    for (size_t r = 0; r < n_linear; r++) {
      unit_add(from, to, width, at->x, weights + r * 16, before != NULL ? before + r * width : NULL, sum + r * width);
    }
    if (at->n_extra > 0) {
      unit_add_extra(from, to, at->n_extra, weights + n_linear * 16, before != NULL ? before + n_linear * width : NULL,
                     sum + n_linear * width);
    }
  }
  for (size_t u = 0; u < n_ends; u++) {
    factors[u] = unit_factor(n_sums, (double)lattice->scale_out, sums + u * n_sums, notes);
  }
  for (size_t j = 0; n_ends > 0 && j < n_sums; j += DOUBLE_LANES) {
    vlong total = {0};
    for (size_t u = 0; u < n_ends; u++) { /* truncated toward zero; at most 2^20 */
      vint_half whole = __builtin_convertvector(vdouble_load(sums + u * n_sums + j) * factors[u], vint_half);
      total += vlong_from_ints(whole);
    }
    add_lanes64(totals + j, total);
  }
  if (at->continues) {
    memcpy(pending, sums + n_ends * n_sums, n_sums * sizeof *sums);
  }
}

static void log_odds(size_t n, double most, const double *x, int64_t *out) {
  for (size_t at = 0; at < n; at += GROUP_LANES) { /* the last group may repeat its last piece */
    vdouble value[GROUP], ratio[GROUP];
    size_t place[GROUP];
    TACIT_EACH(i) {
      place[i] = at + i * DOUBLE_LANES < n ? at + i * DOUBLE_LANES : n - DOUBLE_LANES;
      value[i] = vdouble_load(x + place[i]);
      vdouble size = vdouble_abs(value[i]);
      ratio[i] = (most + size) / (most - size);
    }
    vdoubles_log(ratio);
    TACIT_EACH(i) {
      vlong units = vdouble_nearest(ratio[i] * 0x1p32), sign = value[i] < 0.0;
      units = (units ^ sign) - sign;
      memcpy(out + place[i], &units, sizeof units);
    }
  }
}

#define TABLE_NAME_(isa) tacit_lattice_functions_##isa
#define TABLE_NAME(isa) TABLE_NAME_(isa)
extern const tacit_lattice_functions_t TABLE_NAME(TACIT_ISA);
const tacit_lattice_functions_t TABLE_NAME(TACIT_ISA) = {linear, pieces, dense, valid, turn, units, scalars, whole, log_odds};
