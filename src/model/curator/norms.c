/* A histogram of the units' gradient norms on a public grid, from which clip bounds are chosen: a unit is in
 * one cell, or in none. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "curator/curator_internal.h"

enum { COUNT_BITS = 20 };

double tacit_norm_edge(size_t k) { return k + 1 < TACIT_NORM_CELLS ? exp2(0.5 * (double)k - 8) : INFINITY; }

static size_t cell_of(double norm) {
  size_t k = 0;
  while (norm > tacit_norm_edge(k)) {
    k++;
  }
  return k;
}

/* sum (dim) += the gradient of a record in lane `lane` of block, its rows in `rows`. */
static void add_gradient(const tacit_record_model_t *model, const float *block, const float *rows,
                         size_t lane, double *sum) {
  size_t p = model->n_features;
  for (size_t j = 0; j < model->dim; j++) {
    size_t row = model->n_linear == 0      ? j
                 : j < model->n_linear * p ? j / p
                                           : model->n_linear + j - model->n_linear * p;
    double factor = j < model->n_linear * p ? (double)block[j % p * TACIT_BLOCK + lane] : 1;
    sum[j] += (double)rows[row * TACIT_BLOCK + lane] * factor;
  }
}

/* work: the sum (dim), then as floats a block of records and its rows. */
static void add_unit(const void *ctx, size_t n_rows, const float *records, double *work, int64_t *k) {
  const tacit_curator_t *curator = ctx;
  const tacit_record_model_t *model = curator->model;
  size_t n_columns = model->n_columns;
  double *sum = work, square = 0;
  float *block = (float *)(work + model->dim), *rows = block + n_columns * TACIT_BLOCK;
  memset(work, 0, model->dim * sizeof *work + n_columns * TACIT_BLOCK * sizeof *block);
  for (size_t first = 0; first < n_rows; first += TACIT_BLOCK) {
    size_t n = n_rows - first < TACIT_BLOCK ? n_rows - first : TACIT_BLOCK;
    for (size_t i = 0; i < n * n_columns; i++) {
      block[i % n_columns * TACIT_BLOCK + i / n_columns] = records[first * n_columns + i];
    }
    (model->n_linear > 0 ? model->residual : model->grad)(model->ctx, block, 1, curator->theta_float, rows);
    for (size_t lane = 0; lane < n; lane++) {
      add_gradient(model, block, rows, lane, sum);
    }
  }
  for (size_t j = 0; j < model->dim; j++) {
    square += sum[j] * sum[j];
  }
  k[0] = square <= DBL_MAX ? (int64_t)cell_of(curator->settings.temperature_power * sqrt(square)) + 1 : 0;
}

tacit_status_t tacit_curator_release_norms(tacit_curator_t *curator, const double *theta,
                                           double noise_multiplier, double *out, double *noise_sd,
                                           tacit_error_t *err) {
  const tacit_record_model_t *model = curator->model;
  tacit_units_t units = {
      .shape = {.kind = TACIT_SHAPE_CELL, .dim = TACIT_NORM_CELLS, .radius = 1 << COUNT_BITS},
      .unit = add_unit,
      .ctx = curator,
      .n_work = model->dim + (model->n_columns + model->dim) * TACIT_BLOCK / 2,
      .label = "gradient norms"};
  memset(out, 0, TACIT_NORM_CELLS * sizeof *out);
  *noise_sd = 0;
  tacit_status_t status = tacit_curator_check_points(curator, 1, theta, err);
  TACIT_THEN(status, tacit_curator_reserve(curator, 1, err));
  for (size_t j = 0; status == TACIT_OK && j < model->dim; j++) {
    curator->theta_float[j] = (float)theta[j];
  }
  TACIT_THEN(status, tacit_door_release_units(curator->door, &units, TACIT_DOOR_GAUSSIAN, noise_multiplier,
                                              out, noise_sd, err));
  for (size_t k = 0; k < TACIT_NORM_CELLS; k++) {
    out[k] = ldexp(out[k], -COUNT_BITS);
  }
  *noise_sd = ldexp(*noise_sd, -COUNT_BITS);
  return status;
}
