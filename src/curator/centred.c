/*
 * Centred scores of any model whose responses can be simulated:
 *
 *     v = clip(L s(theta; x, y), C) - clip(sum_m w_m clip(L s(theta; x, y_m), C), C / 4),
 *
 * y_m other responses that the record might have had at theta, w_m their weights. |v| <= 5/4 C whatever the model computes; a score that
 * is no finite number makes v zero, and counts as zero among the y_m. A unit of several rows adds the mean over them (docs/theory.md,
 * section 18.13).
 */
#include "curator/rows.h"

#include <float.h>
#include <math.h>
#include <string.h>

static size_t n_blocks_of(size_t n) { return (n + 15) / 16; }

size_t tacit_centred_n_others(const tacit_record_model_t *model, const tacit_centred_point_t *point) {
  return model->n_others > 0 ? model->n_others : point->n_simulated;
}

/* Floats of blocks and gradients, aligned within `work`, after the weights and the whitened scores. */
typedef struct room {
  double *weights, *scores; /* (16 n_blocks), (16 n_blocks, dim) */
  float *blocks, *gradient; /* (n_blocks, n_columns, 16), (dim, 16) */
} room_t;

size_t tacit_centred_n_work(const tacit_record_model_t *model, const tacit_centred_point_t *point) {
  size_t n_blocks = n_blocks_of(tacit_centred_n_others(model, point));
  return 16 * n_blocks * (1 + model->dim) + (n_blocks * model->n_columns * 16 + model->dim * 16) / 2 + 8 + model->dim / 2 + 2 * model->dim + 1;
}

static room_t room_in(const tacit_record_model_t *model, const tacit_centred_point_t *point, double *work) {
  size_t n_blocks = n_blocks_of(tacit_centred_n_others(model, point));
  room_t room = {.weights = work, .scores = work + 16 * n_blocks};
  uintptr_t free_from = (uintptr_t)(room.scores + 16 * n_blocks * model->dim);
  room.blocks = (float *)(free_from + (64 - free_from % 64) % 64);
  room.gradient = room.blocks + n_blocks * model->n_columns * 16;
  return room;
}

/* scores (n_lanes, dim) <- L s of the first lanes of a block, clipped unless is_plain; NaN where one is no finite number. */
static void whiten_block(const tacit_record_model_t *model, const tacit_centred_point_t *point, const float *block, size_t n_lanes, double clip,
                         float *gradient, double *scores) {
  size_t d = model->dim;
  float theta[TACIT_MAX_ROW_FEATURES];
  double s[TACIT_MAX_ROW_FEATURES];
  for (size_t j = 0; j < d; j++) {
    theta[j] = (float)point->theta[j];
  }
  model->grad(model->ctx, block, 1, theta, gradient);
  for (size_t lane = 0; lane < n_lanes; lane++) {
    for (size_t j = 0; j < d; j++) {
      s[j] = (double)gradient[j * 16 + lane];
    }
    double norm = sqrt(tacit_rows_whiten(d, point->whiten, s, scores + lane * d)), factor = norm > clip ? clip / norm : 1;
    for (size_t j = 0; j < d; j++) {
      scores[lane * d + j] = norm <= DBL_MAX ? scores[lane * d + j] * factor : NAN;
    }
  }
}

/* room: other responses by the model at `law`, their weights and clipped scores at the point; mean (dim) <- what is expected of these. */
static void simulate(const tacit_record_model_t *model, const tacit_centred_point_t *point, const double *law, const float *record, uint64_t seed,
                     const room_t *room, double *mean) {
  size_t d = model->dim, n = tacit_centred_n_others(model, point), n_blocks = n_blocks_of(n);
  model->others(model->ctx, record, law, seed, n, room->blocks, room->weights);
  memset(mean, 0, d * sizeof *mean);
  for (size_t b = 0; b < n_blocks; b++) {
    whiten_block(model, point, room->blocks + b * model->n_columns * 16, 16, point->clip, room->gradient, room->scores + b * 16 * d);
  }
  for (size_t i = 0; i < 16 * n_blocks; i++) {
    for (size_t j = 0; j < d && room->weights[i] > 0 && !isnan(room->scores[i * d]); j++) {
      mean[j] += room->weights[i] * room->scores[i * d + j];
    }
  }
}

/* mean (dim) <- what is expected at the point, clipped to C / 4. */
static void expect(const tacit_record_model_t *model, const tacit_centred_point_t *point, const float *record, const room_t *room, double *mean) {
  double n2 = 0, most = point->clip / 4;
  simulate(model, point, point->theta, record, point->seed, room, mean);
  for (size_t j = 0; j < model->dim; j++) {
    n2 += mean[j] * mean[j];
  }
  double factor = !(n2 <= DBL_MAX) ? 0 : n2 > most * most ? most / sqrt(n2) : 1;
  for (size_t j = 0; j < model->dim; j++) {
    mean[j] = factor > 0 ? mean[j] * factor : 0;
  }
}

/* v (dim) of one record; false if its own score is no finite number. */
static bool centre(const tacit_record_model_t *model, const tacit_centred_point_t *point, const float *record, double *work, double *v) {
  size_t d = model->dim;
  room_t room = room_in(model, point, work);
  double mean[TACIT_MAX_ROW_FEATURES];
  expect(model, point, record, &room, mean);
  for (size_t i = 0; i < model->n_columns * 16; i++) {
    room.blocks[i] = record[i / 16];
  }
  whiten_block(model, point, room.blocks, 1, point->clip, room.gradient, v);
  bool is_finite = true;
  for (size_t j = 0; j < d; j++) {
    is_finite = is_finite && isfinite(v[j]);
    v[j] -= mean[j];
  }
  return is_finite;
}

/* The mean over a unit's rows. */
static void add_centred(const void *ctx, size_t n_rows, const float *records, double *work, int64_t *k) {
  const tacit_row_sum_t *sum = ctx;
  const tacit_record_model_t *model = sum->curator->model;
  double v[TACIT_MAX_ROW_FEATURES], mean[TACIT_MAX_ROW_FEATURES] = {0};
  for (size_t t = 0; t < n_rows; t++) {
    bool is_finite = centre(model, sum->what, records + t * model->n_columns, work, v);
    for (size_t j = 0; j < sum->dim && is_finite; j++) {
      mean[j] += v[j] / (double)n_rows;
    }
  }
  tacit_rows_write(sum, 1, mean, k);
}

/* Each row by itself, for its square; the mean of these over a unit's rows. */
static void add_centred_rows(const void *ctx, size_t n_rows, const float *records, double *work, int64_t *k) {
  const tacit_row_sum_t *sum = ctx;
  const tacit_record_model_t *model = sum->curator->model;
  double v[TACIT_MAX_ROW_FEATURES];
  for (size_t t = 0; t < n_rows; t++) {
    if (centre(model, sum->what, records + t * model->n_columns, work, v)) {
      tacit_rows_write(sum, 1 / sqrt((double)n_rows), v, k + t * sum->dim);
    }
  }
}

tacit_status_t tacit_centred_check(const tacit_record_model_t *model, tacit_error_t *err) {
  if (model->others == NULL || model->made_up == NULL || model->grad == NULL || model->n_linear > 0) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "model", "centred scores need responses that can be simulated: %s",
                           model->no_others != NULL ? model->no_others : "those of this model cannot");
  }
  return model->dim <= TACIT_MAX_ROW_FEATURES
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_ARGUMENT, "model", "centred scores are of at most %d parameters", (int)TACIT_MAX_ROW_FEATURES);
}

static tacit_status_t check_point(const tacit_curator_t *curator, const tacit_centred_point_t *point, tacit_error_t *err) {
  tacit_status_t status = tacit_centred_check(curator->model, err);
  if (status == TACIT_OK && curator->settings.temperature_power < 1) {
    status = tacit_error_set(err, TACIT_ERR_STATE, "temperature", "centred scores are not tempered: leave the temperature at 1");
  }
  if (status == TACIT_OK) {
    status = tacit_curator_check_points(curator, 1, point->theta, err);
  }
  if (status == TACIT_OK) {
    status = tacit_rows_check_numbers("whitening matrix", point->whiten, curator->model->dim * curator->model->dim, err);
  }
  if (status == TACIT_OK && (point->n_simulated < 1 || point->n_simulated > 4096)) {
    status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "n_simulated", "1 to 4096 responses can be simulated for a record");
  }
  return status == TACIT_OK ? tacit_rows_check_size("clip", point->clip, err) : status;
}

static tacit_status_t release(const tacit_curator_t *curator, const tacit_centred_point_t *point, tacit_row_sum_t *sum, tacit_row_function function,
                              double noise_multiplier, double *out, double *noise_sd, tacit_error_t *err) {
  size_t d = curator->model->dim;
  sum->curator = curator;
  sum->dim = d;
  sum->bound = 1.25 * point->clip;
  sum->what = point;
  memset(out, 0, (sum->is_square ? d * (d + 1) / 2 : d) * sizeof *out);
  *noise_sd = 0;
  tacit_status_t status = check_point(curator, point, err);
  if (status != TACIT_OK) {
    return status;
  }
  sum->n_work = tacit_centred_n_work(curator->model, point);
  return tacit_rows_release(sum, function, noise_multiplier, out, noise_sd, err);
}

tacit_status_t tacit_curator_release_centred_score(tacit_curator_t *curator, const tacit_centred_point_t *point, double noise_multiplier,
                                                   double *out, double *noise_sd, tacit_error_t *err) {
  tacit_row_sum_t sum = {.label = "centred score"};
  return release(curator, point, &sum, add_centred, noise_multiplier, out, noise_sd, err);
}

tacit_status_t tacit_curator_release_centred_squares(tacit_curator_t *curator, const tacit_centred_point_t *point, double noise_multiplier,
                                                     double *out, double *noise_sd, tacit_error_t *err) {
  tacit_row_sum_t sum = {.is_square = true, .label = "squares of centred scores"};
  return release(curator, point, &sum, add_centred, noise_multiplier, out, noise_sd, err);
}

tacit_status_t tacit_curator_release_centred_row_squares(tacit_curator_t *curator, const tacit_centred_point_t *point, double noise_multiplier,
                                                         double *out, double *noise_sd, tacit_error_t *err) {
  tacit_row_sum_t sum = {.is_square = true, .label = "row squares of centred scores"};
  return release(curator, point, &sum, add_centred_rows, noise_multiplier, out, noise_sd, err);
}

void tacit_centred_expect(const tacit_record_model_t *model, const tacit_centred_point_t *point, const double *law, const float *record, double *work,
                          double *mean, double *squares, double *with_score, double *information) {
  size_t d = model->dim, n_blocks = n_blocks_of(tacit_centred_n_others(model, point));
  room_t room = room_in(model, point, work);
  tacit_centred_point_t at_law = *point;
  double centre[TACIT_MAX_ROW_FEATURES], drawn[TACIT_MAX_ROW_FEATURES], own[16 * TACIT_MAX_ROW_FEATURES];
  at_law.theta = law;
  memset(squares, 0, d * d * sizeof *squares);
  memset(with_score, 0, d * d * sizeof *with_score);
  memset(information, 0, d * d * sizeof *information);
  expect(model, point, record, &room, centre);
  /* other draws than those which the centre is the mean of */
  simulate(model, point, law, record, point->seed + (model->n_others == 0), &room, drawn);
  for (size_t j = 0; j < d; j++) {
    mean[j] = drawn[j] - centre[j];
  }
  for (size_t b = 0; b < n_blocks; b++) {
    whiten_block(model, &at_law, room.blocks + b * model->n_columns * 16, 16, INFINITY, room.gradient, own);
    for (size_t lane = 0; lane < 16; lane++) {
      const double weight = room.weights[16 * b + lane], *u = own + lane * d, *clipped = room.scores + (16 * b + lane) * d;
      for (size_t i = 0; i < d * d && weight > 0 && !isnan(u[0]) && !isnan(clipped[0]); i++) {
        squares[i] += weight * (clipped[i / d] - centre[i / d]) * (clipped[i % d] - centre[i % d]);
        with_score[i] += weight * (clipped[i / d] - centre[i / d]) * u[i % d];
        information[i] += weight * u[i / d] * u[i % d];
      }
    }
  }
}

/* ---- columns ---- */

static double radius_of(const tacit_record_columns_t *columns) {
  return columns->whiten != NULL ? columns->radius : sqrt((double)columns->n + 1);
}

void tacit_record_columns_read(const tacit_record_columns_t *columns, const float *record, double *v) {
  double z[TACIT_MAX_ROW_FEATURES] = {1}, radius = radius_of(columns);
  for (size_t j = 0; j < columns->n; j++) {
    double x = ((double)record[columns->column[j]] - columns->middle[j]) / columns->half[j];
    z[j + 1] = isnan(x) ? 0 : fmin(fmax(x, -1), 1);
  }
  double n2 = tacit_rows_whiten(columns->n + 1, columns->whiten, z, v), factor = n2 > radius * radius ? radius / sqrt(n2) : 1;
  for (size_t j = 0; j <= columns->n; j++) {
    v[j] = n2 <= DBL_MAX ? v[j] * factor : 0;
  }
}

static void add_columns(const void *ctx, size_t n_rows, const float *records, double *work, int64_t *k) {
  const tacit_row_sum_t *sum = ctx;
  double v[TACIT_MAX_ROW_FEATURES];
  (void)work;
  for (size_t t = 0; t < n_rows; t++) {
    tacit_record_columns_read(sum->what, records + t * sum->curator->model->n_columns, v);
    tacit_rows_write(sum, 1 / sqrt((double)n_rows), v, k + t * sum->dim);
  }
}

static tacit_status_t check_columns(const tacit_curator_t *curator, const tacit_record_columns_t *columns, tacit_error_t *err) {
  if (columns->n < 1 || columns->n >= TACIT_MAX_ROW_FEATURES) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "columns", "moments are of 1 to %d columns", (int)TACIT_MAX_ROW_FEATURES - 1);
  }
  for (size_t j = 0; j < columns->n; j++) {
    if (columns->column[j] >= curator->model->n_columns || !isfinite(columns->middle[j]) ||
        !(columns->half[j] >= 1e-15 && columns->half[j] <= 1e15)) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "columns", "a column is one of the records' %zu, its middle and half are finite numbers",
                             curator->model->n_columns);
    }
  }
  tacit_status_t status = TACIT_OK;
  if (columns->whiten != NULL) {
    status = tacit_rows_check_numbers("whitening matrix", columns->whiten, (columns->n + 1) * (columns->n + 1), err);
    status = status == TACIT_OK ? tacit_rows_check_size("radius", columns->radius, err) : status;
  }
  return status;
}

tacit_status_t tacit_curator_release_column_moments(tacit_curator_t *curator, const tacit_record_columns_t *columns, double noise_multiplier,
                                                    double *out, double *noise_sd, tacit_error_t *err) {
  size_t d = columns->n + 1;
  tacit_row_sum_t sum = {
      .curator = curator, .is_square = true, .dim = d, .bound = radius_of(columns), .what = columns};
  sum.label = columns->whiten != NULL ? "whitened moments of columns" : "moments of columns";
  *noise_sd = 0;
  tacit_status_t status = check_columns(curator, columns, err);
  if (status != TACIT_OK) {
    return status;
  }
  memset(out, 0, d * (d + 1) / 2 * sizeof *out);
  return tacit_rows_release(&sum, add_columns, noise_multiplier, out, noise_sd, err);
}
