/*
 * Clipping and rounding to integers for 16 records at a time; compiled once for each instruction set
 * (meson.build), TACIT_ISA naming the table. All of them give the same integers: every operation below is a
 * single IEEE operation or an integer one.
 */
#include <float.h>
#include <math.h>

#include "base/vector.h"
#include "base/ahead.h"
#include "door/door_internal.h"

TACIT_INLINE bool all_lanes(vmask mask) { return vmask_bits(mask) == (1u << FLOAT_LANES) - 1; }

TACIT_INLINE uint64_t count_lanes(vmask mask) { return (uint64_t)__builtin_popcount(vmask_bits(mask)); }

/*
 * Factor by which contributions with squared norm n2 (in units of the bound) are multiplied: scale_out within
 * the bound, scale_out / norm beyond it, 0 where the norm is not finite, or the record does not count.
 */
TACIT_INLINE vfloat clip_factor(vfloat n2, vmask valid, float scale_out, tacit_door_notes_t *notes) {
  vmask finite = vmask_and(valid, vfloat_at_most(n2, vfloat_set(FLT_MAX)));
  vmask over = vmask_and_not(finite, vfloat_at_most(n2, vfloat_set(1)));
  notes->n_grad_clipped += count_lanes(over);
  notes->n_non_finite += count_lanes(vmask_and_not(valid, finite));
  vfloat factor = vfloat_choose(over, scale_out / vfloat_sqrt(n2), vfloat_set(scale_out));
  return vfloat_where(finite, factor);
}

/* proofs/Shapes.v: truncation_shortens */
/* Toward zero: the norm only shrinks. */
TACIT_INLINE vint truncated(vfloat product) { return __builtin_convertvector(product, vint); }

TACIT_INLINE void add_lanes(int32_t *lanes, vfloat product) {
  vint sum;
  memcpy(&sum, lanes, sizeof sum);
  sum += truncated(product);
  memcpy(lanes, &sum, sizeof sum);
}

enum {
  N_SIDE = TACIT_BESIDE
}; /* blocks whose products are added at a time: sums are read and written once for them */

/*
 * lanes[j] += trunc(weight_i * x_ij) for all features of n <= N_SIDE blocks, `apart` floats from each other.
 * This loop waits for none of what it reads, and asks for n_ask blocks further on.
 */
TACIT_INLINE void add_products(size_t n, const float *block, size_t apart, size_t n_features,
                               const vfloat *weight, size_t n_ask, uintptr_t ask, int32_t *lanes) {
  for (size_t j = 0; j < n_features; j++) {
    vint sum;
    memcpy(&sum, lanes + j * 16, sizeof sum);
    tacit_ask(n_ask, ask, apart * sizeof *block, j);
#pragma GCC unroll 4
    for (size_t i = 0; i < n; i++) {
      sum += truncated(weight[i] * vfloat_load(block + i * apart + j * 16));
    }
    memcpy(lanes + j * 16, &sum, sizeof sum);
  }
}

TACIT_INLINE void add_products_beside(const float *block, size_t apart, size_t n_features,
                                      const vfloat *weight, tacit_ahead_t ahead, int32_t *lanes) {
  switch (ahead.n) {
  case 0:
    add_products(N_SIDE, block, apart, n_features, weight, 0, 0, lanes);
    break;
  case 1:
    add_products(N_SIDE, block, apart, n_features, weight, 1, ahead.from, lanes);
    break;
  case 2:
    add_products(N_SIDE, block, apart, n_features, weight, 2, ahead.from, lanes);
    break;
  default:
    add_products(N_SIDE, block, apart, n_features, weight, N_SIDE, ahead.from, lanes);
    break;
  }
}

/* The same of one block; x_j of an invalid lane may be NaN and is not used. */
TACIT_INLINE void add_valid_products(const float *block, size_t n_features, vfloat weight, vmask valid,
                                     int32_t *lanes) {
  for (size_t j = 0; j < n_features; j++) {
    add_lanes(lanes + j * 16, vfloat_where(valid, weight * vfloat_load(block + j * 16)));
  }
}

/* A row in lattice units; 0 where the record does not count. */
TACIT_INLINE vfloat weight_of(const float *row, const tacit_lattice_t *lattice, vfloat factor) {
  vfloat weight = (vfloat_load(row) * lattice->scale_in) * factor;
  return vfloat_where(vfloat_at_most(vfloat_set(FLT_MIN), factor), weight);
}

/* Is piece i of all features, whose norm is known? */
static bool has_known_norm(const tacit_vectors_t *of, size_t i) {
  return i < of->n_pieces && tacit_piece_is_whole(of, &of->pieces[i]);
}

/*
 * Squared norm of features, or more. As where that of all features is known, norms beyond 2^32 are none that
 * count; a square that underflows is at most the smallest normal number.
 */
TACIT_INLINE vfloat square_of_features(const tacit_piece_t *piece, const float *block) {
  vfloat square = vfloat_set(0);
  for (size_t j = 0; j < piece->n; j++) {
    vfloat x = vfloat_load(block + (piece->column + j) * 16);
    square += x * x;
  }
  return vfloat_select(square <= 0x1p64f, square + (float)piece->n * FLT_MIN, vfloat_set(INFINITY));
}

/* Squared norm in units of the bound; neighbours that are of all features share the product with that norm.
 */
TACIT_INLINE vfloat square_of_pieces(const tacit_vectors_t *of, const float *block, vfloat x_norm,
                                     float scale, const float *rows) {
  vfloat n2 = {0}, shared = {0};
  for (size_t i = 0; i < of->n_pieces; i++) {
    const tacit_piece_t *piece = &of->pieces[i];
    vfloat square = {0};
    for (size_t r = 0; r < (piece->kind == TACIT_PIECE_DENSE ? piece->n : 1); r++) {
      vfloat u = vfloat_load(rows + (piece->row + r) * 16) * scale;
      square += u * u;
    }
    if (has_known_norm(of, i)) {
      shared += square;
      square = has_known_norm(of, i + 1) ? vfloat_set(0) : shared * (x_norm * x_norm);
    } else {
      shared = vfloat_set(0);
      square = piece->kind == TACIT_PIECE_LINEAR ? square * square_of_features(piece, block) : square;
    }
    n2 += square;
  }
  return n2;
}

/* Whatever the column holds, the place is within the piece, also where floats do not know its last: a NaN's
 * is the first. */
TACIT_INLINE void add_gathered(const tacit_piece_t *piece, const float *block, vfloat weight, int32_t *sums) {
  vfloat at = vfloat_load(block + piece->column * 16) - (float)piece->first;
  vint index = __builtin_convertvector(
      vfloat_max(vfloat_min(at, vfloat_set((float)(piece->n - 1))), vfloat_set(0)), vint);
  vint whole = __builtin_convertvector(weight, vint);
  for (size_t lane = 0; lane < FLOAT_LANES; lane++) {
    size_t place = (size_t)index[lane] < piece->n ? (size_t)index[lane] : piece->n - 1;
    sums[(piece->parameter + place * piece->stride) * 16 + lane] += whole[lane];
  }
}

/* Up to N_SIDE blocks that follow each other, FLOAT_LANES records of each: where those of the first are. */
typedef struct side {
  size_t n, columns; /* n_columns * 16, from one block to the next */
  size_t rows_apart;
  const float *block, *norms, *rows;
  bool all_valid; /* all of these records count */
  vmask valid[N_SIDE];
  vfloat factor[N_SIDE];
} side_t;

/* Does the vector have the one piece that most models have? */
static bool is_predictor(const tacit_vectors_t *of) { return of->n_pieces == 1 && has_known_norm(of, 0); }

/* What clips each record; the same to the bit, without the loops, for one predictor. */
TACIT_INLINE void clip_side(const tacit_vectors_t *of, bool is_one, const tacit_lattice_t *lattice,
                            side_t *side, tacit_door_notes_t *notes) {
  side->all_valid = true;
  for (size_t i = 0; i < side->n; i++) {
    const float *rows = side->rows + i * side->rows_apart;
    vfloat x_norm = vfloat_load(side->norms + i * 16), n2;
    if (is_one) {
      vfloat u = vfloat_load(rows + of->pieces->row * 16) * lattice->scale_in;
      n2 = (u * u) * (x_norm * x_norm);
    } else {
      n2 = square_of_pieces(of, side->block + i * side->columns, x_norm, lattice->scale_in, rows);
    }
    side->valid[i] = vfloat_at_most(x_norm, vfloat_set(FLT_MAX));
    if (vfloat_all_at_most(n2, vfloat_set(1)) &&
        (is_one || all_lanes(side->valid[i]))) { /* nothing is clipped */
      side->factor[i] = vfloat_set(lattice->scale_out);
    } else {
      side->factor[i] = clip_factor(n2, side->valid[i], lattice->scale_out, notes);
      side->all_valid &= all_lanes(side->valid[i]);
    }
  }
}

TACIT_INLINE void add_linear(const tacit_piece_t *piece, const tacit_lattice_t *lattice, const side_t *side,
                             tacit_ahead_t ahead, int32_t *to) {
  const float *block = side->block + piece->column * 16;
  vfloat weight[N_SIDE];
  for (size_t i = 0; i < side->n; i++) {
    weight[i] = weight_of(side->rows + i * side->rows_apart + piece->row * 16, lattice, side->factor[i]);
  }
  if (side->all_valid && side->n == N_SIDE) {
    add_products_beside(block, side->columns, piece->n, weight, ahead, to);
    return;
  }
  for (size_t i = 0; i < side->n; i++, block += side->columns) {
    if (side->all_valid) {
      add_products(1, block, 0, piece->n, &weight[i], 0, 0, to);
    } else {
      add_valid_products(block, piece->n, weight[i], side->valid[i], to);
    }
  }
}

TACIT_INLINE void add_dense(const tacit_piece_t *piece, const tacit_lattice_t *lattice, const side_t *side,
                            int32_t *to) {
  for (size_t r = 0; r < piece->n; r++, to += 16) {
    const float *row = side->rows + (piece->row + r) * 16;
    vint sum;
    memcpy(&sum, to, sizeof sum);
    for (size_t i = 0; i < side->n; i++, row += side->rows_apart) {
      sum += truncated(weight_of(row, lattice, side->factor[i]));
    }
    memcpy(to, &sum, sizeof sum);
  }
}

/* One point, as many lanes as a machine vector has. */
TACIT_INLINE void add_side(const tacit_vectors_t *of, const tacit_lattice_t *lattice, const side_t *side,
                           tacit_ahead_t ahead, int32_t *sums) {
  for (size_t p = 0; p < of->n_pieces; p++) {
    const tacit_piece_t piece = of->pieces[p];
    int32_t *to = sums + piece.parameter * 16;
    if (piece.kind == TACIT_PIECE_LINEAR) {
      add_linear(&piece, lattice, side, ahead, to);
      ahead.n = 0;
      continue;
    }
    if (piece.kind == TACIT_PIECE_DENSE) {
      add_dense(&piece, lattice, side, to);
      continue;
    }
    for (size_t i = 0; i < side->n; i++) {
      const float *row = side->rows + i * side->rows_apart + piece.row * 16;
      add_gathered(&piece, side->block + i * side->columns, weight_of(row, lattice, side->factor[i]), sums);
    }
  }
}

static void vectors(const tacit_vectors_t *of, size_t n_columns, size_t n_blocks, const float *block,
                    const float *norms, const tacit_lattice_t *lattice, const float *rows, int32_t *lanes,
                    tacit_door_notes_t *notes) {
  const size_t n_rows = of->n_points * of->n_rows;
  const bool is_one = is_predictor(of);
  for (size_t b = 0; b < n_blocks; b += N_SIDE) {
    for (size_t k = 0; k < of->n_points; k++) {
      for (size_t lane = 0; lane < 16; lane += FLOAT_LANES) {
        side_t side = {.n = n_blocks - b < N_SIDE ? n_blocks - b : N_SIDE,
                       .columns = n_columns * 16,
                       .rows_apart = n_rows * 16,
                       .block = block + b * n_columns * 16 + lane,
                       .norms = norms + b * 16 + lane,
                       .rows = rows + (b * n_rows + k * of->n_rows) * 16 + lane};
        int32_t *sums = lanes + k * of->dim * 16 + lane;
        tacit_ahead_t ask =
            tacit_ahead(block + b * n_columns * 16, side.columns * sizeof *block, of->n_points, k,
                        16 / FLOAT_LANES, lane / FLOAT_LANES, TACIT_VECTOR_BYTES);
        if (is_one) {
          clip_side(of, true, lattice, &side, notes);
          add_linear(of->pieces, lattice, &side, ask, sums + of->pieces->parameter * 16);
        } else {
          clip_side(of, false, lattice, &side, notes);
          add_side(of, lattice, &side, ask, sums);
        }
      }
    }
  }
}

/* Lanes of records that count: their norm is a number. */
TACIT_INLINE vlong valid_lanes(const float *norms) { return vdouble_load_floats(norms) <= (double)FLT_MAX; }

TACIT_INLINE void add_lanes64(int64_t *lanes, vlong value) {
  vlong sum;
  memcpy(&sum, lanes, sizeof sum);
  sum += value;
  memcpy(lanes, &sum, sizeof sum);
}

/* A difference that is clipped, or no number. */
TACIT_INLINE vdouble clip_scalar(const float *norms, vdouble difference, vdouble clip,
                                 tacit_door_notes_t *notes) {
  vlong finite = difference == difference, over = finite & (vdouble_abs(difference) > clip);
  notes->n_ratio_clipped += (uint64_t)__builtin_popcount(vlong_bits(over));
  notes->n_non_finite += (uint64_t)__builtin_popcount(vlong_bits(valid_lanes(norms) & ~finite));
  return vdouble_select(finite, vdouble_max(vdouble_min(difference, clip), -clip), vdouble_set(0));
}

/* proofs/Decisions.v: rounding_stays_within_the_clip */
static void scalars(const float *norms, size_t n_blocks, const double *before, const double *after,
                    double most, int64_t *lanes, tacit_door_notes_t *notes) {
  const vdouble clip = vdouble_set(most);
  for (size_t lane = 0; lane < 16; lane += DOUBLE_LANES) {
    vlong sum = {0};
    for (size_t at = lane; at < n_blocks * 16; at += 16) {
      vdouble difference =
          vdouble_load(after + at) - (before != NULL ? vdouble_load(before + at) : vdouble_set(0));
      if (!vdouble_all_at_most(vdouble_abs(difference), clip)) {
        difference = clip_scalar(norms + at, difference, clip, notes);
      }
      sum += vdouble_nearest(difference);
    }
    add_lanes64(lanes + lane, sum);
  }
}

/* Squares of whole numbers are exact, or beyond every radius, which is at most 2^26. */
/* proofs/Decisions.v: the_check_in_doubles_is_exact */
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

/* The same of 16 units' vectors, in 32 bits; those too long are noted. */
/* proofs/Decisions.v: the_check_in_doubles_is_exact */
TACIT_INLINE void units_piece(size_t n, double radius, vlong counts, const int32_t *k, int32_t *lanes,
                              tacit_door_notes_t *notes) {
  vdouble square = vdouble_set(0);
  for (size_t j = 0; j < n; j++) {
    vdouble x = vdouble_from_ints(vint_half_load(k + j * 16));
    square += x * x;
  }
  vlong used = counts & (square <= radius * radius);
  notes->n_non_finite += (uint64_t)__builtin_popcount(vlong_bits(counts & ~used));
  vint_half mask = __builtin_convertvector(used, vint_half);
  for (size_t j = 0; j < n; j++) {
    vint_half sum = vint_half_load(lanes + j * 16) + (vint_half_load(k + j * 16) & mask);
    memcpy(lanes + j * 16, &sum, sizeof sum);
  }
}

static void units(size_t n_units, size_t n, double radius, const int32_t *k, int32_t *lanes,
                  tacit_door_notes_t *notes) {
  static const double place[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  for (size_t lane = 0; lane < 16; lane += DOUBLE_LANES) {
    vlong counts = vdouble_load(place + lane) < (double)n_units;
    units_piece(n, radius, counts, k + lane, lanes + lane, notes);
  }
}

/* whole <- k of units that are used, else 0; false of those too long. */
/* proofs/Decisions.v: the_check_in_doubles_is_exact */
TACIT_INLINE void check_shapes(size_t n, double radius, const double *n_rows, const int32_t *k, double *whole,
                               tacit_door_notes_t *notes) {
  vlong counts = vdouble_load(n_rows) > 0;
  vdouble square = vdouble_set(0);
  for (size_t i = 0; i < n; i++) {
    vdouble x = vdouble_from_ints(vint_half_load(k + i * 16));
    square += x * x;
    vdouble_store(whole + i * 16, x);
  }
  vlong used = counts & (square <= radius * radius);
  if (vlong_bits(~used) != 0) {
    notes->n_non_finite += (uint64_t)__builtin_popcount(vlong_bits(counts & ~used));
    for (size_t i = 0; i < n; i++) {
      vdouble_store(whole + i * 16, vdouble_select(used, vdouble_load(whole + i * 16), vdouble_set(0)));
    }
  }
}

/* A unit's sum of products is at most radius^2 <= 2^44, by Cauchy and Schwarz, of 16 groups 2^48: exact. */
/* proofs/Sums.v: products_fit */
TACIT_INLINE void add_triangle(size_t n_vectors, size_t dim, const double *whole, int64_t *lanes) {
  for (size_t i = 0; i < dim; i++) {
    for (size_t j = i; j < dim; j++, lanes += 16) {
      vdouble sum = vdouble_set(0);
      for (size_t at = 0; at < n_vectors * dim * 16; at += dim * 16) {
        sum += vdouble_load(whole + at + i * 16) * vdouble_load(whole + at + j * 16);
      }
      add_lanes64(lanes, vdouble_nearest(sum));
    }
  }
}

static void shapes(bool is_square, size_t n_groups, size_t n_vectors, size_t dim, double radius,
                   const double *n_rows, const int32_t *k, double *whole, int64_t *lanes,
                   tacit_door_notes_t *notes) {
  const size_t n = n_vectors * dim;
  for (size_t lane = 0; lane < 16; lane += DOUBLE_LANES) {
    for (size_t g = 0; g < n_groups; g++) {
      check_shapes(n, radius, n_rows + g * 16 + lane, k + g * n * 16 + lane, whole + g * n * 16 + lane,
                   notes);
    }
    if (is_square) {
      add_triangle(n_groups * n_vectors, dim, whole + lane, lanes + lane);
    }
    for (size_t i = 0; !is_square && i < n_groups * dim; i++) {
      add_lanes64(lanes + i % dim * 16 + lane, vdouble_nearest(vdouble_load(whole + i * 16 + lane)));
    }
  }
}

/* Feature norms beyond this count as zero: below it no square underflows within a clipped norm. */
static const double max_feature_norm = 0x1p32;

enum { PARTS = 16 / DOUBLE_LANES };

/* The next float after a norm, rounded up, that is at most the largest; NaN for records that do not count. */
TACIT_INLINE void store_bounds(vdouble norm, vlong counts, float *out) {
  vfloat_half rounded = vfloats_from_doubles(norm);
  uint32_t bits[DOUBLE_LANES];
  memcpy(bits, &rounded, sizeof bits);
  for (size_t lane = 0; lane < DOUBLE_LANES; lane++) {
    bits[lane] = counts[lane] ? bits[lane] + 1 : 0x7FC00000; /* a NaN */
  }
  memcpy(out, bits, sizeof bits);
}

/* No sensitivity rests on who packed the records. A feature that is not finite leaves no finite square. */
static void norms(size_t n_columns, size_t n_features, const float *block, float *out) {
  vdouble square[PARTS] = {0};
  vfloat spoilt[16 / FLOAT_LANES] = {0}; /* 0, or NaN: of the columns that are no features */
  const size_t n_ask = tacit_is_zen() ? 0 : 1, n_bytes = n_columns * 16 * sizeof *block;
  for (size_t j = 0; j < n_features; j++) {
    tacit_ask(n_ask, (uintptr_t)block + 4 * n_bytes, n_bytes, j);
    for (size_t i = 0; i < PARTS; i++) {
      vdouble x = vdouble_load_floats(block + j * 16 + i * DOUBLE_LANES);
      square[i] += x * x;
    }
  }
  for (size_t j = n_features; j < n_columns; j++) {
    for (size_t i = 0; i < 16 / FLOAT_LANES; i++) {
      vfloat x = vfloat_load(block + j * 16 + i * FLOAT_LANES);
      spoilt[i] += x - x;
    }
  }
  float faults[16];
  memcpy(faults, spoilt, sizeof faults);
  for (size_t i = 0; i < PARTS; i++) {
    vdouble norm = vdouble_sqrt(square[i]) * (1 + 1e-9);
    vlong counts = (norm <= max_feature_norm) & (vdouble_load_floats(faults + i * DOUBLE_LANES) == 0);
    store_bounds(norm, counts, out + i * DOUBLE_LANES);
  }
  for (size_t lane = 0; n_features == 0 && lane < 16; lane++) {
    out[lane] = out[lane] >= 0 ? 1 : out[lane];
  }
}

#define TABLE_NAME_(isa) tacit_lattice_functions_##isa
#define TABLE_NAME(isa) TABLE_NAME_(isa)
extern const tacit_lattice_functions_t TABLE_NAME(TACIT_ISA);
const tacit_lattice_functions_t TABLE_NAME(TACIT_ISA) = {shapes, vectors, units, scalars, whole, norms};
