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

TACIT_INLINE uint64_t count_lanes(vint mask) { return (uint64_t)__builtin_popcount(vint_bits(mask)); }

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

/* proofs/Shapes.v: truncation_shortens */
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
 * lanes[j] += trunc(weight * x_j) for all features; x_j of an invalid lane may be NaN and is not used. Blocks
 * follow each other in memory, and this loop waits for none of what it reads: here the block that is `ahead`
 * bytes further on is asked for, a line for each that is worked on, since a core waits when it has asked for
 * too many at once. An address past the last block does no harm; 0: nothing is asked for.
 */
TACIT_INLINE void add_features(const float *block, size_t n_features, vfloat weight, vint valid,
                               bool all_valid, size_t ahead, int32_t *lanes) {
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

/* A row in lattice units; 0 where the record does not count. */
TACIT_INLINE vfloat weight_of(const float *row, const tacit_lattice_t *lattice, vfloat factor) {
  vfloat weight = (vfloat_load(row) * lattice->scale_in) * factor;
  return vfloat_select(factor != 0.0f, weight, vfloat_set(0));
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

/* One point, as many lanes as a machine vector has: block, rows and sums point at the first. */
TACIT_INLINE void add_pieces(const tacit_vectors_t *of, const float *block, vfloat x_norm,
                             const tacit_lattice_t *lattice, const float *rows, size_t ahead, int32_t *sums,
                             tacit_door_notes_t *notes) {
  vint valid = x_norm <= FLT_MAX;
  bool all_valid = vint_bits(~valid) == 0;
  vfloat n2 = square_of_pieces(of, block, x_norm, lattice->scale_in, rows);
  vfloat factor = clip_factor(n2, valid, lattice->scale_out, notes);
  for (size_t i = 0; i < of->n_pieces; i++) {
    const tacit_piece_t piece = of->pieces[i];
    const float *row = rows + piece.row * 16;
    int32_t *to = sums + piece.parameter * 16;
    if (piece.kind == TACIT_PIECE_LINEAR) {
      add_features(block + piece.column * 16, piece.n, weight_of(row, lattice, factor), valid, all_valid,
                   ahead, to);
      ahead = 0;
    } else if (piece.kind == TACIT_PIECE_GATHER) {
      add_gathered(&piece, block, weight_of(row, lattice, factor), sums);
    }
    for (size_t r = 0; piece.kind == TACIT_PIECE_DENSE && r < piece.n; r++) {
      add_lanes(to + r * 16, weight_of(row + r * 16, lattice, factor));
    }
  }
}

/* The same, to the bit, of the one piece that most models have, without the loops. */
TACIT_INLINE void add_predictor(const tacit_piece_t *piece, const float *block, vfloat x_norm,
                                const tacit_lattice_t *lattice, const float *row, size_t ahead, int32_t *sums,
                                tacit_door_notes_t *notes) {
  vint valid = x_norm <= FLT_MAX;
  vfloat u = vfloat_load(row) * lattice->scale_in,
         factor = clip_factor((u * u) * (x_norm * x_norm), valid, lattice->scale_out, notes);
  add_features(block, piece->n, weight_of(row, lattice, factor), valid, vint_bits(~valid) == 0, ahead, sums);
}

static void vectors(const tacit_vectors_t *of, size_t n_columns, const float *block, const float *norms,
                    const tacit_lattice_t *lattice, const float *rows, int32_t *lanes,
                    tacit_door_notes_t *notes) {
  size_t ahead = (of->n_points == 1 ? 16 : 8) * n_columns * 16 *
                 sizeof *block; /* one chain is done with a block sooner */
  bool is_predictor = of->n_pieces == 1 && has_known_norm(of, 0);
  for (size_t k = 0; k < of->n_points; k++, ahead = 0) {
    for (size_t lane = 0; lane < 16; lane += FLOAT_LANES) {
      vfloat x_norm = vfloat_load(norms + lane);
      const float *at = rows + k * of->n_rows * 16 + lane;
      int32_t *sums = lanes + k * of->dim * 16 + lane;
      size_t ask = lane == 0 ? ahead : 0;
      if (is_predictor) {
        add_predictor(of->pieces, block + lane, x_norm, lattice, at + of->pieces->row * 16, ask,
                      sums + of->pieces->parameter * 16, notes);
      } else {
        add_pieces(of, block + lane, x_norm, lattice, at, ask, sums, notes);
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

/* Units of several records: a record's numbers follow each other. */
static void turn(size_t n_rows, const float *rows, const float *norms, size_t width, float *out) {
  vfloats_turn(n_rows, rows, width, out);
  for (size_t lane = 0; lane < 16; lane++) {
    if (!(norms[lane] <= FLT_MAX)) {
      memset(out + lane * width, 0, width * sizeof *out);
    }
  }
}

#define TABLE_NAME_(isa) tacit_lattice_functions_##isa
#define TABLE_NAME(isa) TABLE_NAME_(isa)
extern const tacit_lattice_functions_t TABLE_NAME(TACIT_ISA);
const tacit_lattice_functions_t TABLE_NAME(TACIT_ISA) = {vectors, turn, scalars, whole};
