/*
 * Clipping and rounding to integers for 16 records at a time; compiled once for each instruction set
 * (meson.build), TACIT_ISA naming the table. All of them give the same integers: every operation below is a
 * single IEEE operation or an integer one.
 */
#include <float.h>

#include "base/vector.h"
#include "curator/curator_internal.h"

TACIT_INLINE v16f root(v16f x) {
  float lanes[16];
  v16f_store(lanes, x);
  for (int i = 0; i < 16; i++) {
    lanes[i] = __builtin_sqrtf(lanes[i]);
  }
  return v16f_load(lanes);
}

/* A mask lane is 0 or -1. */
TACIT_INLINE uint64_t count_lanes(v16i mask) {
  return (uint64_t)-v16i_sum(mask);
}

TACIT_INLINE bool any_lane(v16i mask) {
  return v16i_sum(mask) != 0;
}

/*
 * Factor by which contributions with squared norm n2 (in units of the bound) are multiplied: scale_out within
 * the bound, scale_out / norm beyond it, 0 where the norm is not finite.
 */
TACIT_INLINE v16f clip_factor(v16f n2, v16i valid, float scale_out, tacit_curator_notes_t *notes) {
  v16i finite = valid & (n2 <= FLT_MAX);
  v16i over = finite & (n2 > 1.0f);
  v16f factor = v16f_set(scale_out);
  if (any_lane(over)) {
    factor = v16f_select(over, scale_out / root(n2), factor);
    notes->n_grad_clipped += count_lanes(over);
  }
  v16i bad = valid & ~finite;
  if (any_lane(bad)) {
    notes->n_non_finite += count_lanes(bad);
  }
  return v16f_select(finite, factor, v16f_set(0));
}

TACIT_INLINE void add_lanes(int32_t *lanes, v16f product) {
  v16i sum;
  memcpy(&sum, lanes, sizeof sum);
  sum += __builtin_convertvector(product, v16i); /* truncates toward zero: the norm only shrinks */
  memcpy(lanes, &sum, sizeof sum);
}

/* lanes[j] += trunc(weight * x_j) for all features; x_j of an invalid lane may be NaN and is not used. */
TACIT_INLINE void add_features(const float *block, size_t n_features, v16f weight, v16i valid, bool all_valid,
                               int32_t *lanes) {
  if (all_valid) {
    for (size_t j = 0; j < n_features; j++) {
      add_lanes(lanes + j * 16, weight * v16f_load(block + j * 16));
    }
  } else {
    for (size_t j = 0; j < n_features; j++) {
      v16f product = weight * v16f_load(block + j * 16);
      add_lanes(lanes + j * 16, v16f_select(valid, product, v16f_set(0)));
    }
  }
}

static void linear(const tacit_record_model_t *model, const float *block, const float *lane_norm,
                   const tacit_lattice_t *lattice, size_t n_theta, const float *residual, int32_t *lanes,
                   tacit_curator_notes_t *notes) {
  size_t n_linear = model->n_linear, n_extra = model->n_extra, p = model->n_features;
  v16f x_norm = v16f_load(lane_norm);
  v16i valid = x_norm <= FLT_MAX;
  bool all_valid = !any_lane(~valid);
  for (size_t k = 0; k < n_theta; k++) {
    const float *r = residual + k * (n_linear + n_extra) * 16;
    int32_t *sums = lanes + k * model->dim * 16;
    v16f n2 = {0};
    for (size_t i = 0; i < n_linear; i++) {
      v16f u = v16f_load(r + i * 16) * lattice->scale_in;
      n2 += u * u;
    }
    n2 = n2 * (x_norm * x_norm);
    for (size_t i = n_linear; i < n_linear + n_extra; i++) {
      v16f u = v16f_load(r + i * 16) * lattice->scale_in;
      n2 += u * u;
    }
    v16f factor = clip_factor(n2, valid, lattice->scale_out, notes);
    v16i used = factor != 0.0f;
    for (size_t i = 0; i < n_linear; i++) {
      v16f weight = (v16f_load(r + i * 16) * lattice->scale_in) * factor;
      weight = v16f_select(used, weight, v16f_set(0));
      add_features(block, p, weight, valid, all_valid, sums + i * p * 16);
    }
    for (size_t i = 0; i < n_extra; i++) {
      v16f weight = (v16f_load(r + (n_linear + i) * 16) * lattice->scale_in) * factor;
      add_lanes(sums + (n_linear * p + i) * 16, v16f_select(used, weight, v16f_set(0)));
    }
  }
}

static void dense(const tacit_record_model_t *model, const float *lane_norm, const tacit_lattice_t *lattice,
                  size_t n_theta, const float *grad, int32_t *lanes, tacit_curator_notes_t *notes) {
  v16i valid = v16f_load(lane_norm) <= FLT_MAX;
  for (size_t k = 0; k < n_theta; k++) {
    const float *g = grad + k * model->dim * 16;
    v16f n2 = {0};
    for (size_t j = 0; j < model->dim; j++) {
      v16f u = v16f_load(g + j * 16) * lattice->scale_in;
      n2 += u * u;
    }
    v16f factor = clip_factor(n2, valid, lattice->scale_out, notes);
    v16i used = factor != 0.0f;
    for (size_t j = 0; j < model->dim; j++) {
      v16f weight = (v16f_load(g + j * 16) * lattice->scale_in) * factor;
      add_lanes(lanes + (k * model->dim + j) * 16, v16f_select(used, weight, v16f_set(0)));
    }
  }
}

/* Nearest integer for |x| <= 2^51; ties to even. */
TACIT_INLINE v16d nearest(v16d x) {
  return (x + 6755399441055744.0) - 6755399441055744.0;
}

/* lanes += value on the exposed grid; values beyond +-2^24 saturate, NaN counts as zero. */
TACIT_INLINE void add_exposed(int64_t *lanes, v16f value, double temperature_power, v16i valid) {
  v16d x = __builtin_convertvector(v16f_select(valid & (value == value), value, v16f_set(0)), v16d);
  x = v16d_max(v16d_min(x * temperature_power, v16d_set(0x1p24)), v16d_set(-0x1p24));
  v16l sum;
  memcpy(&sum, lanes, sizeof sum);
  sum += __builtin_convertvector(nearest(x * (double)(1 << TACIT_EXPOSED_GRID_BITS)), v16l);
  memcpy(lanes, &sum, sizeof sum);
}

static void exposed(const tacit_record_model_t *model, const float *block, const float *lane_norm,
                    double temperature_power, size_t n_theta, const float *rows, int64_t *lanes) {
  v16i valid = v16f_load(lane_norm) <= FLT_MAX;
  size_t p = model->n_features, n_rows = model->n_linear > 0 ? model->n_linear + model->n_extra : model->dim;
  for (size_t k = 0; k < n_theta; k++) {
    const float *r = rows + k * n_rows * 16;
    int64_t *sums = lanes + k * model->dim * 16;
    for (size_t i = 0; i < model->n_linear; i++) {
      for (size_t j = 0; j < p; j++) {
        v16f product = v16f_load(r + i * 16) * v16f_load(block + j * 16);
        add_exposed(sums + (i * p + j) * 16, product, temperature_power, valid);
      }
    }
    for (size_t i = model->n_linear; i < n_rows; i++) {
      size_t j = model->n_linear * p + (i - model->n_linear);
      add_exposed(sums + j * 16, v16f_load(r + i * 16), temperature_power, valid);
    }
  }
}

/* T l on the ratio grid, saturating at +-2^18; `finite` loses the lanes where l is not. */
TACIT_INLINE v16d on_ratio_grid(v16d l, double temperature_power, v16l *finite) {
  *finite &= v16d_abs(l) <= DBL_MAX;
  l = v16d_max(v16d_min(l * temperature_power, v16d_set(0x1p18)), v16d_set(-0x1p18));
  return nearest(l * 0x1p32);
}

/* Difference of the gridded log-likelihoods, an exact whole number below 2^52; 0 where not finite. */
TACIT_INLINE v16d grid_ratio(const float *lane_norm, double temperature_power, const double *log_lik,
                             v16l *valid, v16l *finite) {
  *valid = __builtin_convertvector(v16f_load(lane_norm) <= FLT_MAX, v16l);
  *finite = *valid;
  v16d before = on_ratio_grid(v16d_load(log_lik), temperature_power, finite);
  v16d after = on_ratio_grid(v16d_load(log_lik + 16), temperature_power, finite);
  return v16d_select(*finite, after - before, v16d_set(0));
}

static void ratio(const float *lane_norm, double temperature_power, size_t n_pairs, const double *log_lik,
                  const double *clips, int64_t *lanes, tacit_curator_notes_t *notes) {
  for (size_t k = 0; k < n_pairs; k++) {
    v16l valid, finite;
    v16d difference = grid_ratio(lane_norm, temperature_power, log_lik + k * 32, &valid, &finite);
    v16d clip = v16d_set(clips[k]);
    v16l over = v16d_abs(difference) > clip;
    difference = v16d_max(v16d_min(difference, clip), -clip);
    v16l sum;
    memcpy(&sum, lanes + k * 16, sizeof sum);
    sum += __builtin_convertvector(difference, v16l);
    memcpy(lanes + k * 16, &sum, sizeof sum);
    notes->n_ratio_clipped += count_lanes(__builtin_convertvector(over, v16i));
    notes->n_non_finite += count_lanes(__builtin_convertvector(valid & ~finite, v16i));
  }
}

static void ratio_unclipped(const float *lane_norm, double temperature_power, const double *log_lik,
                            double *out) {
  v16l valid, finite;
  v16d_store(out, grid_ratio(lane_norm, temperature_power, log_lik, &valid, &finite));
}

#define TABLE_NAME_(isa) tacit_lattice_functions_##isa
#define TABLE_NAME(isa) TABLE_NAME_(isa)
extern const tacit_lattice_functions_t TABLE_NAME(TACIT_ISA);
const tacit_lattice_functions_t TABLE_NAME(TACIT_ISA) = {linear, dense, exposed, ratio, ratio_unclipped};
