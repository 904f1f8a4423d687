/*
 * The diagonal of the curvature, from which a sampler's metric is made: coordinate (r, j) of a record is v_r
 * min(x_j^2, 1) in units of bound_r, at most 1, and a unit of at most m records a vector in the box [0,
 * m]^dim.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "curator/curator_internal.h"

typedef struct pass {
  const tacit_curator_t *curator;
  const double *theta, *bound;
  double most; /* whole numbers of a record's largest share */
} pass_t;

/* Weights that the model gives: one a predictor and further parameter; of a gradient in pieces, one a
 * parameter. */
static size_t n_weights(const tacit_record_model_t *model) {
  return model->n_pieces > 0 ? model->dim : model->n_linear + model->n_extra;
}

/* Columns that it is shown. */
static size_t n_shown(const tacit_record_model_t *model) {
  return model->n_pieces > 0 ? model->n_columns : model->n_features;
}

static int64_t quantised(const pass_t *pass, double share) {
  return share > 0 ? (int64_t)nearbyint(pass->most * fmin(share, 1)) : 0; /* NaN: 0 */
}

static void add_unit(const void *ctx, size_t n_rows, const float *records, double *work, int64_t *k) {
  const pass_t *pass = ctx;
  const tacit_record_model_t *model = pass->curator->model;
  size_t p = n_shown(model);
  double x[TACIT_MAX_ROW_FEATURES], weights[TACIT_MAX_ROW_FEATURES];
  (void)work;
  for (size_t i = 0; i < n_rows; i++) {
    for (size_t j = 0; j < p; j++) {
      x[j] = (double)records[i * model->n_columns + j];
    }
    model->curvature(model->ctx, x, pass->theta, weights);
    for (size_t r = 0; r < n_weights(model); r++) {
      double share = weights[r] / pass->bound[r];
      for (size_t j = 0; r < model->n_linear && j < p; j++) {
        k[r * p + j] += quantised(pass, share * fmin(x[j] * x[j], 1));
      }
      if (r >= model->n_linear) {
        k[model->n_linear * (p - 1) + r] += quantised(pass, share);
      }
    }
  }
}

bool tacit_curator_has_curvature(const tacit_curator_t *curator) {
  const tacit_record_model_t *model = curator->model;
  return model->curvature != NULL && model->curvature_bound != NULL &&
         n_shown(model) <= TACIT_MAX_ROW_FEATURES && n_weights(model) <= TACIT_MAX_ROW_FEATURES;
}

static tacit_status_t check_curvature(const tacit_curator_t *curator, const double *theta, double *bound,
                                      tacit_error_t *err) {
  const tacit_record_model_t *model = curator->model;
  if (!tacit_curator_has_curvature(curator)) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "model",
        "the curvature of model %s is not known, or it has more than %d features or classes", model->name,
        (int)TACIT_MAX_ROW_FEATURES);
  }
  tacit_status_t status = tacit_curator_check_points(curator, 1, theta, err);
  if (status != TACIT_OK) {
    return status;
  }
  model->curvature_bound(model->ctx, theta, bound);
  for (size_t r = 0; r < n_weights(model); r++) {
    if (!(bound[r] > 0 && bound[r] <= DBL_MAX)) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "theta",
                             "the curvature has no finite bound at this point");
    }
  }
  return TACIT_OK;
}

/* The bound that coordinate i is in units of. */
static double bound_of(const tacit_record_model_t *model, const double *bound, size_t i) {
  size_t n = model->n_linear * model->n_features;
  return i < n ? bound[i / model->n_features] : bound[model->n_linear + i - n];
}

/* A record's bits: the door takes boxes of 2^26 for a unit. */
static int bits_of(size_t max_unit_rows) {
  return (int)fmax(fmin(20, 26 - ceil(log2((double)max_unit_rows))), 0);
}

tacit_status_t tacit_curator_release_curvature(tacit_curator_t *curator, const double *theta,
                                               double noise_multiplier, double *out, double *noise_sd,
                                               tacit_error_t *err) {
  size_t dim = curator->model->dim, most_rows = curator->settings.max_unit_rows;
  double bound[TACIT_MAX_ROW_FEATURES], scale = 0;
  pass_t pass = {curator, theta, bound, ldexp(1, bits_of(most_rows))};
  tacit_units_t units = {
      .shape = {.kind = TACIT_SHAPE_BOX, .dim = dim, .high = (int64_t)pass.most * (int64_t)most_rows},
      .unit = add_unit,
      .ctx = &pass,
      .label = "curvature"};
  memset(out, 0, dim * sizeof *out);
  memset(noise_sd, 0, dim * sizeof *noise_sd);
  tacit_status_t status = check_curvature(curator, theta, bound, err);
  TACIT_THEN(status, tacit_door_release_units(curator->door, &units, TACIT_DOOR_GAUSSIAN, noise_multiplier,
                                              out, &scale, err));
  for (size_t i = 0; status == TACIT_OK && i < dim; i++) {
    double unit = curator->settings.temperature_power * bound_of(curator->model, bound, i) / pass.most;
    out[i] *= unit;
    noise_sd[i] = scale * unit;
  }
  return status;
}
