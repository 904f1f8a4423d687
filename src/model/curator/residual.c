/*
 * Residuals of a public linear fit: moments jointly with whitened rows, and counts of residuals or of a
 * feature by public edges. Rows are weighted, w = min(1, R/|u|), residuals clamped to +-H and not weighted:
 * |(w u, r)|^2 <= R^2 + H^2. A unit of several records adds the mean over them: of counts, the share of its
 * records in every cell, which is a vector no longer than 1.
 */
#include "base/error.h"
#include "curator/rows.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { COUNT_BITS = 22, MAX_CELLS = 1024 };

typedef struct linear {
  const tacit_row_weighting_t *rows;
  const tacit_row_residual_t *residual;
} linear_t;

/* NaN where the record is none. */
static double residual_of(const tacit_row_residual_t *residual, const double *x, double y) {
  for (size_t j = 0; j < residual->n_features; j++) {
    y -= residual->theta[j] * x[j];
  }
  return y / residual->scale;
}

static double clamped(const tacit_row_residual_t *residual, const double *x, double y) {
  double r = residual_of(residual, x, y);
  return isnan(r) ? r : fmax(fmin(r, residual->reach), -residual->reach);
}

/* row (d) <- w u; false if it is no finite number. */
static bool weighted_row(const tacit_row_weighting_t *rows, size_t d, const double *x, double *row) {
  double n2 = tacit_rows_whiten(d, rows->whiten, x, row),
         weight = n2 > rows->radius * rows->radius ? rows->radius / sqrt(n2) : 1;
  for (size_t j = 0; j < d; j++) {
    row[j] *= weight;
  }
  return n2 <= DBL_MAX;
}

static void add_joint(const void *ctx, size_t n_rows, const float *records, double *work, int64_t *k) {
  const tacit_row_sum_t *sum = ctx;
  const linear_t *linear = sum->what;
  size_t d = sum->dim - 1;
  double x[TACIT_MAX_ROW_FEATURES], row[TACIT_MAX_ROW_FEATURES + 1];
  (void)work;
  for (size_t t = 0; t < n_rows; t++) {
    double y = tacit_rows_get(sum, records, t, x);
    if (!weighted_row(linear->rows, d, x, row)) {
      memset(k, 0, n_rows * sum->dim * sizeof *k);
      return;
    }
    row[d] = clamped(linear->residual, x, y);
    tacit_rows_write(sum, 1 / sqrt((double)n_rows), row, k + t * sum->dim);
  }
}

/* ---- what may be asked for ---- */

static tacit_status_t check_residual(const tacit_curator_t *curator, const tacit_row_residual_t *residual,
                                     tacit_error_t *err) {
  if (residual->n_features != curator->model->n_features) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "residual",
                           "a residual needs a parameter for each of the model's %zu features",
                           curator->model->n_features);
  }
  tacit_status_t status = tacit_rows_check_numbers("residual", residual->theta, residual->n_features, err);
  return status == TACIT_OK ? tacit_rows_check_size("scale", residual->scale, err) : status;
}

static tacit_status_t check_linear(const tacit_curator_t *curator, const linear_t *linear,
                                   tacit_error_t *err) {
  tacit_status_t status = tacit_rows_check_weighting(curator, linear->rows, true, err);
  TACIT_THEN(status, check_residual(curator, linear->residual, err));
  return status == TACIT_OK ? tacit_rows_check_size("reach", linear->residual->reach, err) : status;
}

static tacit_status_t release(tacit_row_sum_t *sum, tacit_row_function function, double noise_multiplier,
                              double *out, double *noise_sd, tacit_error_t *err) {
  memset(out, 0, sum->dim * (sum->dim + 1) / 2 * sizeof *out);
  *noise_sd = 0;
  sum->is_square = true;
  tacit_status_t status = check_linear(sum->curator, sum->what, err);
  return status == TACIT_OK ? tacit_rows_release(sum, function, noise_multiplier, out, noise_sd, err)
                            : status;
}

tacit_status_t tacit_curator_release_joint_moments(tacit_curator_t *curator,
                                                   const tacit_row_weighting_t *rows,
                                                   const tacit_row_residual_t *residual,
                                                   double noise_multiplier, double *out, double *noise_sd,
                                                   tacit_error_t *err) {
  linear_t linear = {rows, residual};
  tacit_row_sum_t sum = {.curator = curator,
                         .dim = curator->model->n_features + 1,
                         .bound = sqrt(rows->radius * rows->radius + residual->reach * residual->reach),
                         .what = &linear,
                         .label = rows->whiten == NULL ? "joint moments" : "whitened joint moments"};
  return release(&sum, add_joint, noise_multiplier, out, noise_sd, err);
}

/* ---- counts ---- */

typedef struct counts {
  const tacit_row_sum_t *sum;
  const tacit_row_cells_t *cells;
} counts_t;

/* 1 more than the place of record t's value among the edges; 0: it is no number. */
static size_t cell_of(const counts_t *counts, const float *records, size_t t) {
  const tacit_row_cells_t *cells = counts->cells;
  double x[TACIT_MAX_ROW_FEATURES], y = tacit_rows_get(counts->sum, records, t, x);
  size_t low = 0, high = cells->n_edges;
  double value = cells->residual != NULL ? residual_of(cells->residual, x, y) : x[cells->feature];
  while (low < high) { /* low <- number of edges that value is not below */
    size_t middle = (low + high) / 2;
    *(value >= cells->edges[middle] ? &low : &high) = value >= cells->edges[middle] ? middle + 1 : middle;
  }
  return isnan(value) ? 0 : low + 1;
}

static void add_cell(const void *ctx, size_t n_rows, const float *records, double *work, int64_t *k) {
  (void)n_rows, (void)work;
  k[0] = (int64_t)cell_of(ctx, records, 0);
}

static void add_shares(const void *ctx, size_t n_rows, const float *records, double *work, int64_t *k) {
  const tacit_row_sum_t *sum = ctx;
  const counts_t *counts = sum->what;
  size_t n = sum->dim;
  memset(work, 0, n * sizeof *work);
  for (size_t t = 0; t < n_rows; t++) {
    size_t cell = cell_of(counts, records, t);
    if (cell > 0) {
      work[cell - 1] += 1 / (double)n_rows;
    }
  }
  tacit_rows_write(sum, 1, work, k);
}

static tacit_status_t check_cells(const tacit_curator_t *curator, const tacit_row_cells_t *cells,
                                  tacit_error_t *err) {
  bool is_rising = cells->n_edges >= 1 && cells->n_edges < MAX_CELLS;
  for (size_t i = 1; is_rising && i < cells->n_edges; i++) {
    is_rising = cells->edges[i] > cells->edges[i - 1];
  }
  if (!is_rising) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "edges", "counts need 1 to %d rising edges",
                           MAX_CELLS - 1);
  }
  tacit_status_t status = tacit_rows_check_numbers("edges", cells->edges, cells->n_edges, err);
  TACIT_THEN(status, tacit_rows_check(curator, true, err));
  if (status == TACIT_OK && cells->residual == NULL && cells->feature >= curator->model->n_features) {
    status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "feature", "feature %zu is not one of the model's %zu",
                             cells->feature, curator->model->n_features);
  }
  return status == TACIT_OK && cells->residual != NULL ? check_residual(curator, cells->residual, err)
                                                       : status;
}

static tacit_status_t release_cells(const counts_t *counts, double noise_multiplier, double *out,
                                    double *noise_sd, tacit_error_t *err) {
  const tacit_row_sum_t *sum = counts->sum;
  tacit_units_t units = {.shape = {.kind = TACIT_SHAPE_CELL, .dim = sum->dim, .radius = 1 << COUNT_BITS},
                         .unit = add_cell,
                         .ctx = counts,
                         .label = sum->label};
  tacit_status_t status = tacit_door_release_units(sum->curator->door, &units, TACIT_DOOR_GAUSSIAN,
                                                   noise_multiplier, out, noise_sd, err);
  for (size_t k = 0; k < sum->dim; k++) {
    out[k] = ldexp(out[k], -COUNT_BITS);
  }
  *noise_sd = ldexp(*noise_sd, -COUNT_BITS);
  return status;
}

tacit_status_t tacit_curator_release_cells(tacit_curator_t *curator, const tacit_row_cells_t *cells,
                                           double noise_multiplier, double *out, double *noise_sd,
                                           tacit_error_t *err) {
  tacit_row_sum_t sum = {.curator = curator,
                         .dim = cells->n_edges + 1,
                         .bound = 1,
                         .n_work = cells->n_edges + 1,
                         .label = cells->residual != NULL ? "counts of residuals" : "counts of features"};
  counts_t counts = {&sum, cells};
  *noise_sd = 0;
  tacit_status_t status = check_cells(curator, cells, err);
  if (status != TACIT_OK) {
    return status;
  }
  if (!tacit_door_has_units(curator->door)) {
    return release_cells(&counts, noise_multiplier, out, noise_sd, err);
  }
  sum.what = &counts;
  return tacit_rows_release(&sum, add_shares, noise_multiplier, out, noise_sd, err);
}
