/*
 * Clipping and rounding to integers for 16 records at a time; compiled once for each instruction set
 * (meson.build), TACIT_ISA naming the table. All of them give the same integers: every operation below is a
 * single IEEE operation or an integer one.
 */
#include <float.h>
#include <math.h>

#include "base/vector.h"
#include "curator/curator_internal.h"

TACIT_INLINE uint64_t count_lanes(vint mask) {
  return (uint64_t)__builtin_popcount(vint_bits(mask));
}

/*
 * Factor by which contributions with squared norm n2 (in units of the bound) are multiplied: scale_out within
 * the bound, scale_out / norm beyond it, 0 where the norm is not finite.
 */
TACIT_INLINE vfloat clip_factor(vfloat n2, vint valid, float scale_out, tacit_curator_notes_t *notes) {
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
TACIT_INLINE void linear_piece(const tacit_record_model_t *model, const float *block, vfloat x_norm,
                               const tacit_lattice_t *lattice, const float *residual, size_t ahead, int32_t *sums,
                               tacit_curator_notes_t *notes) {
  size_t n_linear = model->n_linear, n_extra = model->n_extra, p = model->n_features;
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

static void linear(const tacit_record_model_t *model, const float *block, const float *lane_norm,
                   const tacit_lattice_t *lattice, size_t n_theta, const float *residual, int32_t *lanes,
                   tacit_curator_notes_t *notes) {
  size_t n_rows = model->n_linear + model->n_extra;
  size_t ahead = (n_theta == 1 ? 4 : 2) * model->n_columns * 16 * sizeof *block; /* one chain is done with a block sooner */
  for (size_t k = 0; k < n_theta; k++) {
    for (size_t lane = 0; lane < 16; lane += FLOAT_LANES) {
      linear_piece(model, block + lane, vfloat_load(lane_norm + lane), lattice, residual + k * n_rows * 16 + lane,
                   k == 0 && lane == 0 ? ahead : 0, lanes + k * model->dim * 16 + lane, notes);
    }
  }
}

TACIT_INLINE void dense_piece(size_t dim, vint valid, const tacit_lattice_t *lattice, const float *grad, int32_t *sums,
                              tacit_curator_notes_t *notes) {
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

static void dense(const tacit_record_model_t *model, const float *lane_norm, const tacit_lattice_t *lattice,
                  size_t n_theta, const float *grad, int32_t *lanes, tacit_curator_notes_t *notes) {
  for (size_t k = 0; k < n_theta; k++) {
    for (size_t lane = 0; lane < 16; lane += FLOAT_LANES) {
      size_t at = k * model->dim * 16 + lane;
      dense_piece(model->dim, vfloat_load(lane_norm + lane) <= FLT_MAX, lattice, grad + at, lanes + at, notes);
    }
  }
}

/* Nearest whole number for |x| <= 2^51; ties to even. */
TACIT_INLINE vdouble nearest(vdouble x) {
  return (x + 6755399441055744.0) - 6755399441055744.0;
}

/* Lanes of records that count: their norm is a number. */
TACIT_INLINE vlong valid_lanes(const float *lane_norm) {
  return vdouble_load_floats(lane_norm) <= (double)FLT_MAX;
}

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
  add_lanes64(lanes, vdouble_nearest(x * (double)(1 << TACIT_EXPOSED_GRID_BITS)));
}

/* A product of floats, rounded to float, widened. */
TACIT_INLINE vdouble float_product(const float *a, const float *b) {
  vfloat_half x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return vdouble_from_floats(x * y);
}

TACIT_INLINE void exposed_piece(const tacit_record_model_t *model, const float *block, vlong valid, double temperature_power,
                                const float *rows, int64_t *sums) {
  size_t p = model->n_features, n_rows = model->n_linear > 0 ? model->n_linear + model->n_extra : model->dim;
  for (size_t i = 0; i < model->n_linear; i++) {
    for (size_t j = 0; j < p; j++) {
      add_exposed(sums + (i * p + j) * 16, float_product(rows + i * 16, block + j * 16), temperature_power, valid);
    }
  }
  for (size_t i = model->n_linear; i < n_rows; i++) {
    size_t j = model->n_linear * p + (i - model->n_linear);
    add_exposed(sums + j * 16, vdouble_load_floats(rows + i * 16), temperature_power, valid);
  }
}

static void exposed(const tacit_record_model_t *model, const float *block, const float *lane_norm,
                    double temperature_power, size_t n_theta, const float *rows, int64_t *lanes) {
  size_t n_rows = model->n_linear > 0 ? model->n_linear + model->n_extra : model->dim;
  for (size_t k = 0; k < n_theta; k++) {
    for (size_t lane = 0; lane < 16; lane += DOUBLE_LANES) {
      exposed_piece(model, block + lane, valid_lanes(lane_norm + lane), temperature_power, rows + k * n_rows * 16 + lane,
                    lanes + k * model->dim * 16 + lane);
    }
  }
}

/* T l on the ratio grid, saturating at +-2^18; `finite` loses the lanes where l is not. */
TACIT_INLINE vdouble on_ratio_grid(vdouble l, double temperature_power, vlong *finite) {
  *finite &= vdouble_abs(l) <= DBL_MAX;
  l = l * (temperature_power * 0x1p32);
  return nearest(vdouble_max(vdouble_min(l, vdouble_set(0x1p50)), vdouble_set(-0x1p50)));
}

static void grid(const float *lane_norm, double temperature_power, size_t n_blocks, const double *log_lik, size_t stride,
                 double *out) {
  const double scale = temperature_power * 0x1p32;
  for (size_t b = 0; b < n_blocks; b++, lane_norm += 16, log_lik += stride, out += 16) {
    bool is_plain = true; /* all count, and are finite and not saturated */
    for (size_t lane = 0; lane < 16; lane += FLOAT_LANES) {
      is_plain = is_plain && vfloat_all_at_most(vfloat_load(lane_norm + lane), vfloat_set(FLT_MAX));
    }
    for (size_t lane = 0; lane < 16; lane += DOUBLE_LANES) {
      vdouble l = vdouble_load(log_lik + lane), units = l * scale;
      if (is_plain && vdouble_all_at_most(vdouble_abs(units), vdouble_set(0x1p50))) {
        vdouble_store(out + lane, nearest(units));
        continue;
      }
      vlong finite = valid_lanes(lane_norm + lane);
      units = on_ratio_grid(l, temperature_power, &finite);
      vdouble_store(out + lane, vdouble_select(finite, units, vdouble_set(NAN)));
    }
  }
}

/* A difference that is clipped, or no number. */
TACIT_INLINE vdouble clip_ratio(const float *lane_norm, vdouble difference, vdouble clip, tacit_curator_notes_t *notes) {
  vlong finite = difference == difference, over = finite & (vdouble_abs(difference) > clip);
  notes->n_ratio_clipped += (uint64_t)__builtin_popcount(vlong_bits(over));
  notes->n_non_finite += (uint64_t)__builtin_popcount(vlong_bits(valid_lanes(lane_norm) & ~finite));
  return vdouble_select(finite, vdouble_max(vdouble_min(difference, clip), -clip), vdouble_set(0));
}

static void ratio(const float *lane_norm, size_t n_blocks, const double *before, const double *after, double most,
                  int64_t *lanes, tacit_curator_notes_t *notes) {
  const vdouble clip = vdouble_set(most);
  for (size_t lane = 0; lane < 16; lane += DOUBLE_LANES) {
    vlong sum = {0};
    for (size_t at = lane; at < n_blocks * 16; at += 16) {
      vdouble difference = vdouble_load(after + at) - vdouble_load(before + at);
      if (!vdouble_all_at_most(vdouble_abs(difference), clip)) {
        difference = clip_ratio(lane_norm + at, difference, clip, notes);
      }
      sum += vdouble_nearest(difference);
    }
    add_lanes64(lanes + lane, sum);
  }
}

/* Difference of the gridded log-likelihoods, an exact whole number below 2^52; 0 where not finite. */
TACIT_INLINE vdouble grid_ratio(const float *lane_norm, double temperature_power, const double *log_lik) {
  vlong finite = valid_lanes(lane_norm);
  vdouble before = on_ratio_grid(vdouble_load(log_lik), temperature_power, &finite);
  vdouble after = on_ratio_grid(vdouble_load(log_lik + 16), temperature_power, &finite);
  return vdouble_select(finite, after - before, vdouble_set(0));
}

static void ratio_unclipped(const float *lane_norm, double temperature_power, const double *log_lik,
                            double *out) {
  for (size_t lane = 0; lane < 16; lane += DOUBLE_LANES) {
    vdouble_store(out + lane, grid_ratio(lane_norm + lane, temperature_power, log_lik + lane));
  }
}

/* ---- units of several records ---- */

/* Four floats of each of n_rows rows, 16 apart, become four rows, `width` apart; rows past the fourth are for the next tile. */
TACIT_INLINE void turn_tile(const float *from, size_t n_rows, float *to, size_t width) {
#if defined(__x86_64__)
  const __m128 zero = _mm_setzero_ps();
  __m128 a = _mm_loadu_ps(from), b = n_rows > 1 ? _mm_loadu_ps(from + 16) : zero;
  __m128 c = n_rows > 2 ? _mm_loadu_ps(from + 32) : zero, d = n_rows > 3 ? _mm_loadu_ps(from + 48) : zero;
  _MM_TRANSPOSE4_PS(a, b, c, d);
  _mm_storeu_ps(to, a);
  _mm_storeu_ps(to + width, b);
  _mm_storeu_ps(to + 2 * width, c);
  _mm_storeu_ps(to + 3 * width, d);
#else
  for (size_t lane = 0; lane < 4; lane++) {
    for (size_t row = 0; row < 4; row++) {
      to[lane * width + row] = row < n_rows ? from[row * 16 + lane] : 0;
    }
  }
#endif
}

#if defined(__AVX2__)
/* The same for eight floats of each of eight rows. */
TACIT_INLINE void turn_large_tile(const float *from, float *to, size_t width) {
  __m256 r[8], s[8];
  for (size_t i = 0; i < 8; i++) {
    r[i] = _mm256_loadu_ps(from + i * 16);
  }
  for (size_t i = 0; i < 8; i += 4) {
    __m256 a = _mm256_unpacklo_ps(r[i], r[i + 1]), b = _mm256_unpackhi_ps(r[i], r[i + 1]);
    __m256 c = _mm256_unpacklo_ps(r[i + 2], r[i + 3]), d = _mm256_unpackhi_ps(r[i + 2], r[i + 3]);
    s[i] = _mm256_shuffle_ps(a, c, 0x44);
    s[i + 1] = _mm256_shuffle_ps(a, c, 0xEE);
    s[i + 2] = _mm256_shuffle_ps(b, d, 0x44);
    s[i + 3] = _mm256_shuffle_ps(b, d, 0xEE);
  }
  for (size_t i = 0; i < 4; i++) {
    _mm256_storeu_ps(to + i * width, _mm256_permute2f128_ps(s[i], s[i + 4], 0x20));
    _mm256_storeu_ps(to + (i + 4) * width, _mm256_permute2f128_ps(s[i], s[i + 4], 0x31));
  }
}
#endif

static unsigned valid(const float *lane_norm) {
  unsigned bits = 0;
  for (size_t lane = 0; lane < 16; lane += FLOAT_LANES) {
    bits |= vint_bits(vfloat_load(lane_norm + lane) <= FLT_MAX) << lane;
  }
  return bits;
}

static void turn(size_t n_rows, const float *rows, unsigned counted, size_t width, float *out) {
  size_t row = 0;
#if defined(__AVX2__)
  for (; row + 8 <= n_rows; row += 8) {
    turn_large_tile(rows + row * 16, out + row, width);
    turn_large_tile(rows + row * 16 + 8, out + 8 * width + row, width);
  }
#endif
  for (; row < n_rows; row += 4) {
    for (size_t lane = 0; lane < 16; lane += 4) {
      turn_tile(rows + row * 16 + lane, n_rows - row, out + lane * width + row, width);
    }
  }
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
TACIT_INLINE double unit_factor(size_t n_sums, double scale_out, double *sum, tacit_curator_notes_t *notes) {
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
                  double *sums, double *pending, int64_t *totals, tacit_curator_notes_t *notes) {
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

/* The record's share of G - G', at most change_units long, and its trapezoidal error, both of DOUBLE_LANES records. */
TACIT_INLINE void trapezoid_piece(size_t dim, const tacit_trapezoid_t *bounds, const double *step, const int32_t *from,
                                  const double *ratio, int64_t *totals) {
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
  vdouble error = vdouble_load(ratio) - along * (0.5 * bounds->spacing) * 0x1p32, clip = vdouble_set(bounds->error_units);
  add_lanes64(totals + 2 * dim * 16, vdouble_nearest(vdouble_max(vdouble_min(error, clip), -clip)));
}

static void trapezoid(size_t dim, const tacit_trapezoid_t *bounds, const double *step, const int32_t *lanes,
                      const double *ratios, int64_t *totals) {
  for (size_t lane = 0; lane < 16; lane += DOUBLE_LANES) {
    trapezoid_piece(dim, bounds, step, lanes + lane, ratios + lane, totals + lane);
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
const tacit_lattice_functions_t TABLE_NAME(TACIT_ISA) = {linear, dense, exposed, valid, turn, units, grid, ratio,
                                                          ratio_unclipped, trapezoid, log_odds};
