/* A program's scores as they are, u = A s(t; x, y), neither clipped nor less what is expected of them; and
 * their slopes. For releases by bands. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "curator/centred.h"

/* v (dim) <- the mean of u over a unit's records. A score that is no finite number makes it none. */
static void add_scores(const void *ctx, size_t n_rows, const float *records, double *work, double *v) {
  const tacit_program_point_t *point = ctx;
  const tacit_record_model_t *model = point->model;
  size_t d = model->dim, n_columns = model->n_columns;
  double *u = work, norm;
  uintptr_t free_from = (uintptr_t)(u + d);
  float *block = (float *)(free_from + (64 - free_from % 64) % 64), *gradient = block + 16 * n_columns;
  for (size_t t = 0; t < n_rows; t++) {
    for (size_t i = 0; i < 16 * n_columns; i++) {
      block[i] = records[t * n_columns + i / 16];
    }
    tacit_centred_whiten(model, &point->at, block, 1, gradient, u, &norm);
    for (size_t j = 0; j < d; j++) {
      v[j] += isnan(norm) ? NAN : u[j] / (double)n_rows;
    }
  }
}

tacit_banded_t tacit_program_scores(const tacit_program_point_t *point) {
  return (tacit_banded_t){.name = "scores",
                          .dim = point->model->dim,
                          .vectors = add_scores,
                          .ctx = point,
                          .n_work =
                              point->model->dim + 8 + 8 * (point->model->n_columns + point->model->dim)};
}

/* v (dim, dim) <- vectors whose squares sum to the mean of J over a unit's records. */
static void add_slopes(const void *ctx, size_t n_rows, const float *records, double *work, double *v) {
  const tacit_program_point_t *point = ctx;
  tacit_centred_point_t at = point->at;
  size_t d = point->model->dim;
  double *slope = work, *mean = work + d * d;
  at.most = DBL_MAX;
  memset(mean, 0, d * d * sizeof *mean);
  for (size_t t = 0; t < n_rows; t++) {
    tacit_centred_slope(point->model, &at, records + t * point->model->n_columns, mean + d * d, slope);
    for (size_t i = 0; i < d * d; i++) {
      mean[i] += slope[i] / (double)n_rows;
    }
  }
  tacit_centred_factor(d, mean);
  for (size_t i = 0; i < d * d; i++) {
    v[i] = i % d >= i / d ? mean[i % d * d + i / d] : 0;
  }
}

tacit_banded_t tacit_program_slopes(const tacit_program_point_t *point) {
  size_t d = point->model->dim;
  return (tacit_banded_t){.name = "slopes",
                          .dim = d,
                          .n_vectors = d,
                          .vectors = add_slopes,
                          .ctx = point,
                          .n_work = 2 * d * d + tacit_centred_n_work(point->model, &point->at)};
}

tacit_status_t tacit_program_point_check(const tacit_curator_t *curator, const tacit_program_point_t *point,
                                         tacit_error_t *err) {
  size_t d = curator->model->dim;
  bool is_its = point->model->dim == d && point->model->n_columns == curator->model->n_columns;
  tacit_status_t status = !is_its ? tacit_error_set(err, TACIT_ERR_ARGUMENT, "model",
                                                    "scores are of another model than the curator's records")
                                  : tacit_centred_check(curator->model, err);
  TACIT_THEN(status, tacit_curator_check_points(curator, 1, point->at.theta, err));
  TACIT_THEN(status, tacit_rows_check_numbers("whitening matrix", point->at.whiten, d * d, err));
  return status == TACIT_OK ? tacit_rows_check_size("clip", point->at.clip, err) : status;
}
