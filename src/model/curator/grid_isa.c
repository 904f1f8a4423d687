/*
 * What contributions write, for 16 records at a time: log-likelihoods on the grid of ratios, the vectors of
 * exposed curators and of units of several records, a Langevin step's errors. Nothing here is trusted.
 * Compiled once for each instruction set (meson.build); all give the same bits.
 */
#include <float.h>
#include <math.h>

#include "base/vector.h"
#include "curator/curator_internal.h"

/* Nearest whole number for |x| <= 2^51; ties to even. */
TACIT_INLINE vdouble nearest(vdouble x) { return (x + 6755399441055744.0) - 6755399441055744.0; }

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
  return nearest(vdouble_max(vdouble_min(l, vdouble_set(0x1p50)), vdouble_set(-0x1p50)));
}

static void grid(double temperature_power, size_t n_blocks, const double *log_lik, size_t stride,
                 double *out) {
  const double scale = temperature_power * 0x1p32;
  for (size_t b = 0; b < n_blocks; b++, log_lik += stride, out += 16) {
    for (size_t lane = 0; lane < 16; lane += DOUBLE_LANES) {
      vdouble l = vdouble_load(log_lik + lane), units = l * scale;
      if (vdouble_all_at_most(vdouble_abs(units), vdouble_set(0x1p50))) { /* finite, and not saturated */
        vdouble_store(out + lane, nearest(units));
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

/* ---- units of several records: their vectors are summed in double, in the records' order, and clipped then
 * ---- */

enum { PADDING = TACIT_DOOR_PADDING };

/* The pieces' numbers follow each other, each piece's padded: what is added to the padding is not looked at.
 */
static size_t n_padded(const tacit_vectors_t *of) {
  size_t n = 0;
  for (size_t i = 0; i < of->n_pieces; i++) {
    n += tacit_door_padded(of->pieces[i].n);
  }
  return n;
}

/* sum (padded n) += weight times x of n_own records; no row: scale times x. */
TACIT_INLINE void unit_numbers(size_t n, size_t n_own, const float *x, size_t width, const float *row,
                               size_t row_width, double scale, double *sum) {
  for (size_t j = 0; j < n; j += PADDING) {
    double value[PADDING];
    memcpy(value, sum + j, sizeof value);
    for (size_t i = 0; i < n_own; i++) {
      double weight = row != NULL ? (double)row[i * row_width] * scale : scale;
      for (size_t l = 0; l < PADDING; l++) {
        value[l] += (double)x[i * width + j + l] * weight;
      }
    }
    memcpy(sum + j, value, sizeof value);
  }
}

static void unit_add(const tacit_vectors_t *of, const tacit_own_t *own, double *sum) {
  for (size_t k = 0; k < of->n_points; k++) {
    for (size_t i = 0; i < of->n_pieces; sum += tacit_door_padded(of->pieces[i++].n)) {
      const tacit_piece_t piece = of->pieces[i];
      const float *row = own->rows + k * of->n_rows + piece.row;
      if (piece.kind == TACIT_PIECE_LINEAR) {
        unit_numbers(piece.n, own->n, own->x + piece.column, own->x_width, row, own->rows_width, own->scale,
                     sum);
      } else if (piece.kind == TACIT_PIECE_DENSE) {
        unit_numbers(piece.n, own->n, row, own->rows_width, NULL, 0, own->scale, sum);
      }
      for (size_t r = 0; piece.kind == TACIT_PIECE_GATHER && r < own->n; r++) {
        float at = own->x[r * own->x_width + piece.column] - (float)piece.first, most = (float)(piece.n - 1);
        sum[at > 0 ? (size_t)(at < most ? at : most) : 0] += (double)row[r * own->rows_width] * own->scale;
      }
    }
  }
}

/*
 * In eight partial sums, added in one order: every instruction set rounds alike. What was added to the
 * padding is masked, not cleared: a vector that is read just after a part of it was written waits for the
 * write.
 */
TACIT_INLINE double unit_square(const tacit_vectors_t *of, const double *sum) {
  double q[PADDING] = {0};
  for (size_t i = 0; i < of->n_pieces; sum += tacit_door_padded(of->pieces[i++].n)) {
    for (size_t j = 0; j < of->pieces[i].n; j += PADDING) {
      size_t left = of->pieces[i].n - j;
      for (size_t l = 0; l < PADDING; l++) {
        double x = l < left ? sum[j + l] : 0;
        q[l] += x * x;
      }
    }
  }
  return ((q[0] + q[4]) + (q[2] + q[6])) + ((q[1] + q[5]) + (q[3] + q[7]));
}

/* One point. */
static void unit_end(const tacit_vectors_t *of, const tacit_own_t *own, const double *sum, int64_t *k,
                     tacit_door_notes_t *notes) {
  double square = unit_square(of, sum), factor = own->most / (square > 1 ? sqrt(square) : 1);
  bool is_finite = square <= DBL_MAX;
  notes->n_non_finite += !is_finite;
  notes->n_grad_clipped += is_finite && square > 1;
  const double *at = sum;
  for (size_t i = 0; is_finite && i < of->n_pieces; at += tacit_door_padded(of->pieces[i++].n)) {
    const tacit_piece_t piece = of->pieces[i];
    size_t stride = piece.kind == TACIT_PIECE_GATHER ? piece.stride : 1;
    int64_t *to = k + piece.parameter;
    for (size_t j = 0; j < piece.n; j++) {
      to[j * stride] = (int32_t)(at[j] * factor); /* truncated toward zero; at most 2^20 */
    }
  }
}

static void unit(const tacit_vectors_t *of, const tacit_own_t *own, double *sums, int64_t *k,
                 tacit_door_notes_t *notes) {
  if (k == NULL) {
    unit_add(of, own, sums);
  } else {
    size_t n_sums = n_padded(of);
    for (size_t point = 0; point < of->n_points; point++) {
      unit_end(of, own, sums + point * n_sums, k + point * of->dim, notes);
    }
  }
}

#define TABLE_NAME_(isa) tacit_grid_functions_##isa
#define TABLE_NAME(isa) TABLE_NAME_(isa)
extern const tacit_grid_functions_t TABLE_NAME(TACIT_ISA);
const tacit_grid_functions_t TABLE_NAME(TACIT_ISA) = {exposed, grid, ratio, trapezoid, unit};
