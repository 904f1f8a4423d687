/*
 * Release of the diagonal of the curvature, from which a sampler's metric is made. Like all releases, it is described as an event,
 * charged, and only then computed; noise is added to an exact integer.
 *
 * Coordinate (r, j) of a record's contribution is k = round(2^20 v_r min(x_j^2, 1) / bound_r), clamped to 0 .. 2^20 as an integer:
 * whatever a record holds, its vector lies in the box [0, 2^20]^dim. A unit of at most m records, or none, adds a vector in the
 * box [0, m 2^20]^dim, whose diameter is m 2^20 sqrt(dim). That is the sensitivity under substitution, and the length of the
 * longest vector, which is the sensitivity under add-remove, is the same. No slack: the integers are clamped, not their sources.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "curator/curator_internal.h"

static const double most = 1 << TACIT_TUNING_BITS;

static tacit_wide_t quantised(double share) {
  return share > 0 ? (tacit_wide_t)nearbyint(most * fmin(share, 1)) : 0; /* NaN: 0 */
}

static void add_record(const tacit_record_model_t *model, const double *theta, const double *bound, const double *x,
                       double *weights, tacit_wide_t *totals) {
  size_t p = model->n_features;
  model->curvature(model->ctx, x, theta, weights);
  for (size_t r = 0; r < model->n_linear; r++) {
    for (size_t j = 0; j < p; j++) {
      totals[r * p + j] += quantised(weights[r] / bound[r] * fmin(x[j] * x[j], 1));
    }
  }
  for (size_t e = 0; e < model->n_extra; e++) {
    totals[model->n_linear * p + e] += quantised(weights[model->n_linear + e] / bound[model->n_linear + e]);
  }
}

void tacit_curvature_add(const tacit_curator_t *curator, const double *theta, const double *bound, size_t first, size_t last,
                         tacit_wide_t *totals) {
  const tacit_record_model_t *model = curator->model;
  const size_t *offsets = curator->unit_offsets;
  double x[TACIT_MAX_ROW_FEATURES], weights[TACIT_MAX_ROW_FEATURES];
  size_t begin = offsets != NULL ? offsets[first] : first, end = offsets != NULL ? offsets[last] : last;
  for (size_t i = begin; i < end; i++) {
    const float *block = tacit_records_block(curator->records, i / TACIT_BLOCK);
    if (!(curator->lane_norm[i] <= FLT_MAX)) {
      continue;
    }
    for (size_t j = 0; j < model->n_features; j++) {
      x[j] = (double)block[j * TACIT_BLOCK + i % TACIT_BLOCK];
    }
    add_record(model, theta, bound, x, weights, totals);
  }
}

typedef struct pass {
  tacit_curator_t *curator;
  const double *theta, *bound;
} pass_t;

static void curvature_part(void *user, size_t first, size_t last, size_t thread) {
  const pass_t *pass = user;
  tacit_curvature_add(pass->curator, pass->theta, pass->bound, first, last, pass->curator->workspaces[thread].totals);
}

bool tacit_curator_has_curvature(const tacit_curator_t *curator) {
  const tacit_record_model_t *model = curator->model;
  return model->curvature != NULL && model->curvature_bound != NULL && model->n_features <= TACIT_MAX_ROW_FEATURES &&
         model->n_linear + model->n_extra <= TACIT_MAX_ROW_FEATURES;
}

static tacit_status_t check(const tacit_curator_t *curator, const double *theta, double *bound, tacit_error_t *err) {
  const tacit_record_model_t *model = curator->model;
  if (!tacit_curator_has_curvature(curator)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "model",
                           "the curvature of model %s is not known, or it has more than %d features or classes", model->name,
                           (int)TACIT_MAX_ROW_FEATURES);
  }
  tacit_status_t status = tacit_curator_check_points(curator, 1, theta, err);
  if (status != TACIT_OK) {
    return status;
  }
  model->curvature_bound(model->ctx, theta, bound);
  for (size_t r = 0; r < model->n_linear + model->n_extra; r++) {
    if (!(bound[r] > 0 && bound[r] <= DBL_MAX)) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "theta", "the curvature has no finite bound at this point");
    }
  }
  return TACIT_OK;
}

/* The bound that coordinate i is in units of. */
static double bound_of(const tacit_record_model_t *model, const double *bound, size_t i) {
  size_t n = model->n_linear * model->n_features;
  return i < n ? bound[i / model->n_features] : bound[model->n_linear + i - n];
}

tacit_status_t tacit_curator_release_curvature(tacit_curator_t *curator, const double *theta, double noise_multiplier, double *out,
                                               double *noise_sd, tacit_error_t *err) {
  size_t dim = curator->model->dim;
  double bound[TACIT_MAX_ROW_FEATURES], temperature = curator->settings.temperature_power;
  double lattice_sd = noise_multiplier * most * sqrt((double)dim) * (1 + 0x1p-50) * (double)curator->settings.max_unit_rows;
  memset(out, 0, dim * sizeof *out);
  memset(noise_sd, 0, dim * sizeof *noise_sd);
  tacit_status_t status = check(curator, theta, bound, err);
  if (status == TACIT_OK) {
    status = tacit_curator_check_noise(curator, noise_multiplier, err);
  }
  if (status == TACIT_OK) {
    status = tacit_curator_reserve(curator, 1, err);
  }
  if (status == TACIT_OK) {
    status = tacit_curator_charge(curator, noise_multiplier, 1, "curvature", err);
  }
  if (status == TACIT_OK) {
    status = tacit_curator_draw_noise(curator, lattice_sd, dim, curator->draws, err);
  }
  if (status != TACIT_OK) {
    return status;
  }
  pass_t pass = {curator, theta, bound};
  tacit_curator_sum_units(curator, dim, curvature_part, &pass);
  for (size_t i = 0; i < dim; i++) {
    double unit = temperature * bound_of(curator->model, bound, i) / most;
    out[i] = tacit_released_value(curator->sums[i], curator->draws[i], unit);
    noise_sd[i] = curator->is_exposed ? 0 : lattice_sd * unit;
  }
  return TACIT_OK;
}
