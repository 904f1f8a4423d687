/*
 * What contributions write, for 16 records at a time: log-likelihoods on the grid of ratios, the vectors of
 * exposed curators and of units of several records, a Langevin step's errors. Nothing here is trusted.
 * Compiled once for each instruction set (meson.build); all give the same bits.
 */
#include <float.h>
#include <math.h>

#include "base/vector.h"
#include "curator/curator_internal.h"

TACIT_INLINE void add_lanes64(int64_t *lanes, vlong value) {
  vlong sum;
  memcpy(&sum, lanes, sizeof sum);
  sum += value;
  memcpy(lanes, &sum, sizeof sum);
}

/* lanes += value on the exposed grid; values beyond +-2^24 saturate, NaN counts as zero. */
TACIT_INLINE void add_exposed(int64_t *lanes, vdouble value, double temperature_power, vlong valid) {
  vdouble x = vdouble_select(valid & (value == value), value, vdouble_set(0));
  x = vdouble_max(vdouble_min(x * temperature_power, vdouble_set(0x1p24)), vdouble_set(-0x1p24));
  add_lanes64(lanes, vdouble_nearest(x * 0x1p24));
}

/* A product of floats, rounded to float, widened. */
TACIT_INLINE vdouble float_product(const float *a, const float *b) {
  vfloat_half x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return vdouble_from_floats(x * y);
}

TACIT_INLINE void exposed_pieces(const tacit_vectors_t *of, const float *block, vlong valid,
                                 double temperature_power, const float *rows, int64_t *sums) {
  for (size_t i = 0; i < of->n_pieces; i++) {
    const tacit_piece_t *piece = &of->pieces[i];
    const float *row = rows + piece->row * 16;
    for (size_t j = 0; piece->kind == TACIT_PIECE_DENSE && j < piece->n; j++) {
      add_exposed(sums + (piece->parameter + j) * 16, vdouble_load_floats(row + j * 16), temperature_power,
                  valid);
    }
    for (size_t j = 0; piece->kind == TACIT_PIECE_LINEAR && j < piece->n; j++) {
      add_exposed(sums + (piece->parameter + j) * 16, float_product(row, block + (piece->column + j) * 16),
                  temperature_power, valid);
    }
    if (piece->kind == TACIT_PIECE_GATHER) {
      _Alignas(64) int64_t gained[DOUBLE_LANES] = {0};
      add_exposed(gained, vdouble_load_floats(row), temperature_power, valid);
      for (size_t lane = 0; lane < DOUBLE_LANES; lane++) {
        float at = block[piece->column * 16 + lane] - (float)piece->first, most = (float)(piece->n - 1);
        size_t k = at > 0 ? (size_t)(at < most ? at : most) : 0;
        sums[(piece->parameter + k * piece->stride) * 16 + lane] += gained[lane];
      }
    }
  }
}

static void exposed(const tacit_vectors_t *of, const float *block, const float *norms, const float *rows,
                    int64_t *lanes) {
  for (size_t k = 0; k < of->n_points; k++) {
    for (size_t lane = 0; lane < 16; lane += DOUBLE_LANES) {
      vlong valid = vdouble_load_floats(norms + lane) <= (double)FLT_MAX;
      exposed_pieces(of, block + lane, valid, of->scale, rows + k * of->n_rows * 16 + lane,
                     lanes + k * of->dim * 16 + lane);
    }
  }
}

/* T l on the ratio grid, saturating at +-2^18; `finite` loses the lanes where l is not. */
TACIT_INLINE vdouble on_ratio_grid(vdouble l, double temperature_power, vlong *finite) {
  *finite &= vdouble_abs(l) <= DBL_MAX;
  l = l * (temperature_power * 0x1p32);
  return vdouble_whole(vdouble_max(vdouble_min(l, vdouble_set(0x1p50)), vdouble_set(-0x1p50)));
}

static void grid(double temperature_power, size_t n_blocks, const double *log_lik, size_t stride,
                 double *out) {
  const double scale = temperature_power * 0x1p32;
  for (size_t b = 0; b < n_blocks; b++, log_lik += stride, out += 16) {
    for (size_t lane = 0; lane < 16; lane += DOUBLE_LANES) {
      vdouble l = vdouble_load(log_lik + lane), units = l * scale;
      if (vdouble_all_at_most(vdouble_abs(units), vdouble_set(0x1p50))) { /* finite, and not saturated */
        vdouble_store(out + lane, vdouble_whole(units));
        continue;
      }
      vlong finite = l == l;
      units = on_ratio_grid(l, temperature_power, &finite);
      vdouble_store(out + lane, vdouble_select(finite, units, vdouble_set(NAN)));
    }
  }
}

/* Difference of the gridded log-likelihoods, an exact whole number below 2^52; 0 where not finite. */
TACIT_INLINE vdouble grid_ratio(double temperature_power, const double *log_lik) {
  vdouble l = vdouble_load(log_lik);
  vlong finite = l == l;
  vdouble before = on_ratio_grid(l, temperature_power, &finite);
  vdouble after = on_ratio_grid(vdouble_load(log_lik + 16), temperature_power, &finite);
  return vdouble_select(finite, after - before, vdouble_set(0));
}

static void ratio(double temperature_power, const double *log_lik, double *out) {
  for (size_t lane = 0; lane < 16; lane += DOUBLE_LANES) {
    vdouble_store(out + lane, grid_ratio(temperature_power, log_lik + lane));
  }
}

/* The record's share of G - G', at most change_units long, and its trapezoidal error, both of DOUBLE_LANES
 * records. */
TACIT_INLINE void trapezoid_piece(size_t dim, const tacit_trapezoid_t *bounds, const double *step,
                                  const int32_t *from, const double *ratio, int64_t *totals) {
  const int32_t *to = from + dim * 16;
  vdouble square = vdouble_set(0), along = vdouble_set(0), factor = vdouble_set(1);
  for (size_t j = 0; j < dim; j++) {
    vint_half before = vint_half_load(from + j * 16), after = vint_half_load(to + j * 16);
    vdouble change = vdouble_from_ints(after - before);
    square += change * change;
    along += vdouble_from_ints(after + before) * step[j];
    add_lanes64(totals + (dim + j) * 16, vlong_from_ints(after + before));
  }
  vlong over = square > bounds->change_units * bounds->change_units;
  if (vlong_bits(over) != 0) {
    factor = vdouble_select(over, bounds->change_units / vdouble_sqrt(square) * (1 - 0x1p-50), factor);
  }
  for (size_t j = 0; j < dim; j++) {
    vint_half change = vint_half_load(to + j * 16) - vint_half_load(from + j * 16);
    vint_half clipped = __builtin_convertvector(vdouble_from_ints(change) * factor, vint_half);
    add_lanes64(totals + j * 16, vlong_from_ints(clipped));
  }
  vdouble error = vdouble_load(ratio) - along * (0.5 * bounds->spacing) * 0x1p32,
          clip = vdouble_set(bounds->error_units);
  add_lanes64(totals + 2 * dim * 16, vdouble_nearest(vdouble_max(vdouble_min(error, clip), -clip)));
}

static void trapezoid(size_t dim, const tacit_trapezoid_t *bounds, const double *step, const int32_t *lanes,
                      const double *ratios, int64_t *totals) {
  for (size_t lane = 0; lane < 16; lane += DOUBLE_LANES) {
    trapezoid_piece(dim, bounds, step, lanes + lane, ratios + lane, totals + lane);
  }
}

/* ---- units of several records, a unit a lane: their vectors are summed in double, in the records' order,
 * and
 * ---- clipped then ---- */

enum {
  PARTIAL = 8,    /* sums of a square: on every instruction set these, added in one order */
  MOST_LAYERS = 4 /* at a time */
};

/* sums (n, 16) += weights times x, n_layers times n floats, `apart` from one layer to the next. */
TACIT_INLINE void add_layers(size_t n_layers, size_t n, const float *x, size_t apart, const vdouble *weights,
                             double *sums) {
  for (size_t j = 0; j < n; j++) {
    vdouble value = vdouble_load(sums + j * 16);
#pragma GCC unroll 4
    for (size_t i = 0; i < n_layers; i++) {
      value += vdouble_load_floats(x + i * apart + j * 16) * weights[i];
    }
    vdouble_store(sums + j * 16, value);
  }
}

static void add_weighted(size_t n_layers, size_t n, const float *x, size_t apart, const vdouble *weights,
                         double *sums) {
  switch (n_layers) {
  case 1:
    add_layers(1, n, x, apart, weights, sums);
    break;
  case 2:
    add_layers(2, n, x, apart, weights, sums);
    break;
  case 3:
    add_layers(3, n, x, apart, weights, sums);
    break;
  default:
    add_layers(MOST_LAYERS, n, x, apart, weights, sums);
    break;
  }
}

static void add_gathered(const tacit_piece_t *piece, size_t n, const float *x, size_t apart,
                         const vdouble *weights, double *sums) {
  for (size_t i = 0; i < n * DOUBLE_LANES; i++) {
    size_t t = i / DOUBLE_LANES, lane = i % DOUBLE_LANES;
    float at = x[t * apart + piece->column * 16 + lane] - (float)piece->first, most = (float)(piece->n - 1);
    size_t k = at > 0 ? (size_t)(at < most ? at : most) : 0;
    sums[(piece->parameter + k * piece->stride) * 16 + lane] += weights[t][lane];
  }
}

/* A piece of n <= MOST_LAYERS layers of DOUBLE_LANES units. */
TACIT_INLINE void add_piece(const tacit_piece_t *piece, size_t n, const float *x, size_t x_apart,
                            const float *rows, size_t rows_apart, double scale, double *sums) {
  vdouble weights[MOST_LAYERS];
  for (size_t i = 0; i < n; i++) {
    weights[i] = piece->kind == TACIT_PIECE_DENSE ? vdouble_set(scale)
                                                  : vdouble_load_floats(rows + i * rows_apart) * scale;
  }
  if (piece->kind == TACIT_PIECE_LINEAR) {
    add_weighted(n, piece->n, x + piece->column * 16, x_apart, weights, sums + piece->parameter * 16);
  } else if (piece->kind == TACIT_PIECE_DENSE) {
    add_weighted(n, piece->n, rows, rows_apart, weights, sums + piece->parameter * 16);
  } else {
    add_gathered(piece, n, x, x_apart, weights, sums);
  }
}

static void units_add(const tacit_vectors_t *of, const tacit_layers_t *layers, double *sums) {
  const size_t rows_apart = of->n_points * of->n_rows * 16, x_apart = layers->n_columns * 16;
  for (size_t at = 0; at < layers->n; at += MOST_LAYERS) {
    size_t n = layers->n - at < MOST_LAYERS ? layers->n - at : MOST_LAYERS;
    const float *x = layers->x + at * x_apart, *rows = layers->rows + at * rows_apart;
    for (size_t i = 0; i < of->n_points * of->n_pieces; i++) {
      const tacit_piece_t *piece = &of->pieces[i % of->n_pieces];
      size_t k = i / of->n_pieces;
      for (size_t lane = 0; lane < 16; lane += DOUBLE_LANES) {
        add_piece(piece, n, x + lane, x_apart, rows + (k * of->n_rows + piece->row) * 16 + lane, rows_apart,
                  layers->scale, sums + k * of->dim * 16 + lane);
      }
    }
  }
}

static size_t stride_of(const tacit_piece_t *piece) {
  return piece->kind == TACIT_PIECE_GATHER ? piece->stride : 1;
}

TACIT_INLINE vdouble square_of_units(const tacit_vectors_t *of, const double *sums) {
  vdouble q[PARTIAL] = {0};
  for (size_t i = 0; i < of->n_pieces; i++) {
    const size_t n = of->pieces[i].n, stride = stride_of(&of->pieces[i]) * 16;
    const double *at = sums + of->pieces[i].parameter * 16;
    size_t j = 0;
    for (; j + PARTIAL <= n; j += PARTIAL) {
#pragma GCC unroll 8
      for (size_t l = 0; l < PARTIAL; l++) {
        vdouble x = vdouble_load(at + (j + l) * stride);
        q[l] += x * x;
      }
    }
#pragma GCC unroll 8
    for (size_t l = 0; l < PARTIAL; l++) {
      if (j + l < n) {
        vdouble x = vdouble_load(at + (j + l) * stride);
        q[l] += x * x;
      }
    }
  }
  return ((q[0] + q[4]) + (q[2] + q[6])) + ((q[1] + q[5]) + (q[3] + q[7]));
}

/* One point of DOUBLE_LANES units; truncated toward zero, at most 2^20. */
TACIT_INLINE void end_units(const tacit_vectors_t *of, double most, const double *sums, int32_t *k,
                            tacit_door_notes_t *notes) {
  vdouble square = square_of_units(of, sums), one = vdouble_set(1);
  vlong finite = square <= DBL_MAX, over = finite & (square > one);
  vdouble factor =
      vlong_bits(over) == 0 ? vdouble_set(most) : most / vdouble_select(over, vdouble_sqrt(square), one);
  notes->n_non_finite += (uint64_t)__builtin_popcount(vlong_bits(~finite));
  notes->n_grad_clipped += (uint64_t)__builtin_popcount(vlong_bits(over));
#pragma GCC unroll 2
  for (size_t j = 0; j < of->dim; j++) {
    vdouble whole = vdouble_select(finite, vdouble_load(sums + j * 16) * factor, vdouble_set(0));
    vint_half truncated = __builtin_convertvector(whole, vint_half);
    memcpy(k + j * 16, &truncated, sizeof truncated);
  }
}

static void units(const tacit_vectors_t *of, const tacit_layers_t *layers, double *sums, int32_t *k,
                  tacit_door_notes_t *notes) {
  if (k == NULL) {
    units_add(of, layers, sums);
    return;
  }
  for (size_t at = 0; at < of->n_points * of->dim * 16; at += of->dim * 16) {
    for (size_t lane = 0; lane < 16; lane += DOUBLE_LANES) {
      end_units(of, layers->most, sums + at + lane, k + at + lane, notes);
    }
  }
}

#define TABLE_NAME_(isa) tacit_grid_functions_##isa
#define TABLE_NAME(isa) TABLE_NAME_(isa)
extern const tacit_grid_functions_t TABLE_NAME(TACIT_ISA);
const tacit_grid_functions_t TABLE_NAME(TACIT_ISA) = {exposed, grid, ratio, trapezoid, units};
