/*
 * Scores of a public point, the information there, how many units there are and how many rows they have.
 *
 * With m the mean of the clamped response, a = C/2 and q(x) = (C/2 + |m(x . theta) - a|) / C, no response in
 * [0, C] is further than q C from m. The weight w_t = min(1, R / (|L x_t| q_t)) / k of a row of a unit of k
 * rows therefore keeps sum_t w_t L x_t (y_t - m_t), a mean over rows, within R C for every record and any
 * number of rows, and nothing is clipped. It depends on features and k alone, so that the score keeps mean 0
 * at the truth, and on no other row, so that what is expected of it follows from how rows are distributed. A
 * unit counts once, whatever its number of rows is and whatever R is: where numbers of rows tell something of
 * responses, the budget has no part in what is estimated.
 */
#include "base/error.h"
#include "curator/rows.h"

#include <float.h>
#include <math.h>
#include <string.h>

static tacit_family_moments_t moments_at(const tacit_score_point_t *point, size_t d, const double *x) {
  double eta = 0;
  for (size_t j = 0; j < d; j++) {
    eta += point->theta[j] * x[j];
  }
  return tacit_family_moments((tacit_family_t)point->family, point->upper, eta);
}

/* |L x| q of a row, and the row itself. */
static double reach_of(const tacit_score_point_t *point, size_t d, const double *x, double mean,
                       double *row) {
  double n2 = tacit_rows_whiten(d, point->whiten, x, row);
  return sqrt(n2) * (0.5 + fabs(mean - 0.5 * point->upper) / point->upper);
}

/* score (d) <- a unit's; false if it is no finite number. */
static bool score_of(const tacit_row_sum_t *sum, size_t n_rows, const float *records, double *score) {
  const tacit_score_point_t *point = sum->what;
  size_t d = sum->dim;
  double x[TACIT_MAX_ROW_FEATURES], row[TACIT_MAX_ROW_FEATURES];
  memset(score, 0, d * sizeof *score);
  for (size_t t = 0; t < n_rows; t++) {
    double y = tacit_rows_get(sum, records, t, x), mean = moments_at(point, d, x).mean;
    double reach = reach_of(point, d, x, mean, row),
           weight = (reach > point->radius ? point->radius / reach : 1) / (double)n_rows;
    if (!(reach <= DBL_MAX)) {
      return false;
    }
    double residual = fmax(fmin(y, point->upper), 0) - mean;
    for (size_t j = 0; j < d; j++) {
      score[j] += row[j] * residual * weight;
    }
  }
  return true;
}

static void add_score(const void *ctx, size_t n_rows, const float *records, double *work, int64_t *k) {
  double score[TACIT_MAX_ROW_FEATURES];
  (void)work;
  if (score_of(ctx, n_rows, records, score)) {
    tacit_rows_write(ctx, 1, score, k);
  }
}

/* For its outer product, which shows what a unit's responses share: shortened to the cap. */
static void add_score_squares(const void *ctx, size_t n_rows, const float *records, double *work,
                              int64_t *k) {
  const tacit_row_sum_t *sum = ctx;
  double score[TACIT_MAX_ROW_FEATURES], n2 = 0;
  (void)work;
  if (!score_of(sum, n_rows, records, score)) {
    return;
  }
  for (size_t j = 0; j < sum->dim; j++) {
    n2 += score[j] * score[j];
  }
  tacit_rows_write(sum, n2 > sum->bound * sum->bound ? sum->bound / sqrt(n2) : 1, score, k);
}

/* The rows sqrt(v) L x of a unit, weighted; see rows.c. */
static void add_information(const void *ctx, size_t n_rows, const float *records, double *work, int64_t *k) {
  const tacit_row_sum_t *sum = ctx;
  const tacit_score_point_t *point = sum->what;
  double x[TACIT_MAX_ROW_FEATURES], row[TACIT_MAX_ROW_FEATURES];
  (void)work;
  for (size_t t = 0; t < n_rows; t++) {
    (void)tacit_rows_get(sum, records, t, x);
    double variance = moments_at(point, sum->dim, x).variance,
           n2 = variance * tacit_rows_whiten(sum->dim, point->whiten, x, row);
    if (!tacit_rows_write_one(sum, point->radius, n2, sqrt(variance), n_rows, t, row, k)) {
      return;
    }
  }
}

static void add_one(const void *ctx, size_t n_rows, const float *records, double *work, int64_t *k) {
  (void)ctx, (void)n_rows, (void)records, (void)work;
  k[0] = 1 << 22;
}

/* What cells of numbers of rows are asked for. */
typedef struct sizes {
  size_t n;
  const size_t *first; /* (n): the least number of rows of each cell; the first is 1 */
} sizes_t;

static void add_size(const void *ctx, size_t n_rows, const float *records, double *work, int64_t *k) {
  const sizes_t *sizes = ctx;
  size_t cell = sizes->n;
  (void)records, (void)work;
  while (cell > 0 && sizes->first[cell - 1] > n_rows) {
    cell--;
  }
  k[0] = (int64_t)cell;
}

static tacit_status_t check_point(const tacit_curator_t *curator, const tacit_score_point_t *point,
                                  tacit_error_t *err) {
  size_t d = curator->model->n_features;
  tacit_status_t status = tacit_rows_check(curator, false, err);
  TACIT_THEN(status, tacit_curator_check_points(curator, 1, point->theta, err));
  TACIT_THEN(status, tacit_rows_check_numbers("whitening matrix", point->whiten, d * d, err));
  TACIT_THEN(status, tacit_rows_check_size("radius", point->radius, err));
  if (status == TACIT_OK && point->cap != 0) {
    status = tacit_rows_check_size("cap", point->cap, err);
  }
  if (status == TACIT_OK && !tacit_family_has_moments((tacit_family_t)point->family, point->upper)) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "family",
        "means are known for bernoulli with upper bound 1 and for poisson with a whole number from 1 to "
        "%d as its upper bound",
        (int)TACIT_FAMILY_MAX_COUNT);
  }
  return status;
}

static tacit_status_t release(const tacit_curator_t *curator, const tacit_score_point_t *point,
                              tacit_row_sum_t *sum, tacit_row_function function, double noise_multiplier,
                              double *out, double *noise_sd, tacit_error_t *err) {
  size_t d = curator->model->dim;
  memset(out, 0, (sum->is_square ? d * (d + 1) / 2 : d) * sizeof *out);
  *noise_sd = 0;
  sum->curator = curator;
  sum->dim = d;
  sum->what = point;
  tacit_status_t status = check_point(curator, point, err);
  return status == TACIT_OK ? tacit_rows_release(sum, function, noise_multiplier, out, noise_sd, err)
                            : status;
}

/* v (d) <- the mean of L x (y - m) over a unit's rows. */
static void add_family_score(const void *ctx, size_t n_rows, const float *records, double *work, double *v) {
  const tacit_family_point_t *point = ctx;
  size_t d = point->n_features;
  double x[TACIT_MAX_ROW_FEATURES], row[TACIT_MAX_ROW_FEATURES];
  (void)work;
  for (size_t t = 0; t < n_rows; t++) {
    const float *from = records + t * (d + 1);
    for (size_t j = 0; j < d; j++) {
      x[j] = (double)from[j];
    }
    double y = fmax(fmin((double)from[d], point->at->upper), 0),
           residual = (y - moments_at(point->at, d, x).mean) / (double)n_rows;
    (void)tacit_rows_whiten(d, point->at->whiten, x, row);
    for (size_t j = 0; j < d; j++) {
      v[j] += row[j] * residual;
    }
  }
}

tacit_banded_t tacit_family_scores(const tacit_family_point_t *point) {
  return (tacit_banded_t){
      .name = "scores", .dim = point->n_features, .vectors = add_family_score, .ctx = point};
}

tacit_status_t tacit_family_check(const tacit_curator_t *curator, const tacit_family_point_t *point,
                                  tacit_error_t *err) {
  tacit_status_t status = check_point(curator, point->at, err);
  return status != TACIT_OK || point->n_features == curator->model->n_features
             ? status
             : tacit_error_set(err, TACIT_ERR_ARGUMENT, "model",
                               "scores are of another model than the curator's records");
}

tacit_status_t tacit_curator_release_score(tacit_curator_t *curator, const tacit_score_point_t *point,
                                           double noise_multiplier, double *out, double *noise_sd,
                                           tacit_error_t *err) {
  tacit_row_sum_t sum = {.bound = point->radius * point->upper,
                         .lanes = tacit_rows_functions()->score,
                         .label = "weighted score"};
  return release(curator, point, &sum, add_score, noise_multiplier, out, noise_sd, err);
}

tacit_status_t tacit_curator_release_information(tacit_curator_t *curator, const tacit_score_point_t *point,
                                                 double noise_multiplier, double *out, double *noise_sd,
                                                 tacit_error_t *err) {
  tacit_row_sum_t sum = {.is_square = true,
                         .bound = point->radius,
                         .lanes = tacit_rows_functions()->information,
                         .label = "information"};
  return release(curator, point, &sum, add_information, noise_multiplier, out, noise_sd, err);
}

tacit_status_t tacit_curator_release_score_squares(tacit_curator_t *curator, const tacit_score_point_t *point,
                                                   double noise_multiplier, double *out, double *noise_sd,
                                                   tacit_error_t *err) {
  double bound = point->radius * point->upper;
  tacit_row_sum_t sum = {.is_square = true,
                         .bound = point->cap > 0 ? fmin(point->cap, bound) : bound,
                         .lanes = tacit_rows_functions()->score_squares,
                         .label = "squares of scores"};
  return release(curator, point, &sum, add_score_squares, noise_multiplier, out, noise_sd, err);
}

tacit_status_t tacit_curator_release_count(tacit_curator_t *curator, double noise_multiplier, double *out,
                                           double *noise_sd, tacit_error_t *err) {
  tacit_units_t units = {.shape = {.kind = TACIT_SHAPE_BOX, .dim = 1, .high = 1 << 22},
                         .unit = add_one,
                         .label = "number of units"};
  tacit_status_t status = tacit_door_release_units(curator->door, &units, TACIT_DOOR_GAUSSIAN,
                                                   noise_multiplier, out, noise_sd, err);
  *out *= 0x1p-22;
  *noise_sd *= 0x1p-22;
  return status;
}

tacit_status_t tacit_curator_release_unit_rows(tacit_curator_t *curator, size_t n, const size_t *first,
                                               double noise_multiplier, double *out, double *noise_sd,
                                               tacit_error_t *err) {
  const sizes_t sizes = {n, first};
  tacit_units_t units = {.shape = {.kind = TACIT_SHAPE_CELL, .dim = n, .radius = 1 << 22},
                         .unit = add_size,
                         .ctx = &sizes,
                         .label = "numbers of rows"};
  *noise_sd = 0;
  bool is_rising = n >= 1 && n <= TACIT_UNIT_ROWS_MAX_CELLS && first[0] == 1;
  for (size_t i = 1; is_rising && i < n; i++) {
    is_rising = first[i] > first[i - 1];
  }
  if (!is_rising) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "first",
                           "numbers of rows are counted in 1 to %d rising cells, the first from 1 on",
                           (int)TACIT_UNIT_ROWS_MAX_CELLS);
  }
  tacit_status_t status = tacit_door_release_units(curator->door, &units, TACIT_DOOR_GAUSSIAN,
                                                   noise_multiplier, out, noise_sd, err);
  for (size_t i = 0; i < n; i++) {
    out[i] *= 0x1p-22;
  }
  *noise_sd *= 0x1p-22;
  return status;
}
