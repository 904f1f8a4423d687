/*
 * Second moments of whitened, weighted rows: the k rows u_t of a unit, each of norm at most bound / sqrt(k),
 * are the door's shape "squares". What a unit adds is the mean over its rows of what each would add by
 * itself.
 */
#include "base/error.h"
#include "base/isa.h"
#include "curator/rows.h"

#include <float.h>
#include <math.h>
#include <string.h>

extern const tacit_rows_functions_t tacit_rows_functions_portable;
#if defined(__x86_64__)
extern const tacit_rows_functions_t tacit_rows_functions_avx2;
extern const tacit_rows_functions_t tacit_rows_functions_avx512;
#endif

const tacit_rows_functions_t *tacit_rows_functions(void) { return TACIT_ISA_SELECT(tacit_rows_functions); }

/* Rounding to the nearest whole number makes vectors longer by half a unit in each of their n numbers; 1 is
 * for what came before. */
static double spacing_of(size_t n, double bound, int64_t radius) {
  return bound / ((double)radius - 0.5 * sqrt((double)n) - 1);
}

/* Of vectors that are multiplied: noise has sd sqrt(2) radius^2 times the multiplier, and 2^51 at most. */
static int64_t radius_of(const tacit_row_sum_t *sum, double noise_multiplier) {
  bool is_fine = !sum->is_square || tacit_curator_is_exposed(sum->curator);
  double bits = is_fine ? 22 : floor(0.5 * (50 - log2(fmax(noise_multiplier, 1))));
  return (int64_t)1 << (int)fmax(fmin(bits, 22), 8);
}

/* Off the diagonal svec has sqrt(2) times the sums, whose noise is sqrt(2) less. */
static void scale_squares(size_t d, double unit, double *out) {
  for (size_t i = 0; i < d; i++) {
    *out++ *= unit;
    for (size_t j = i + 1; j < d; j++) {
      *out++ *= sqrt(2) * unit;
    }
  }
}

tacit_status_t tacit_rows_release(tacit_row_sum_t *sum, tacit_row_function function, double noise_multiplier,
                                  double *out, double *noise_sd, tacit_error_t *err) {
  const tacit_curator_t *curator = sum->curator;
  bool is_by_rows = sum->is_square && !sum->is_one_vector && sum->n_vectors == 0;
  size_t d = sum->dim, n_rows = is_by_rows           ? curator->settings.max_unit_rows
                                : sum->n_vectors > 0 ? sum->n_vectors
                                                     : 1;
  tacit_units_t units = {.shape = {.kind = sum->is_square ? TACIT_SHAPE_SQUARES : TACIT_SHAPE_BALL,
                                   .dim = d,
                                   .radius = radius_of(sum, noise_multiplier),
                                   .high = (int64_t)sum->n_blocks,
                                   .n_vectors = sum->n_vectors},
                         .unit = function,
                         .lanes = sum->lanes,
                         .ctx = sum,
                         .n_work = sum->n_work,
                         .label = sum->label};
  sum->spacing = spacing_of(n_rows * d, sum->bound, units.shape.radius);
  double unit = sum->is_square ? sum->spacing * sum->spacing : sum->spacing;
  tacit_status_t status = tacit_door_release_units(curator->door, &units, TACIT_DOOR_GAUSSIAN,
                                                   noise_multiplier, out, noise_sd, err);
  for (size_t b = 0; sum->is_square && b < (sum->n_blocks > 1 ? sum->n_blocks : 1); b++) {
    scale_squares(d, unit, out + b * d * (d + 1) / 2);
  }
  for (size_t i = 0; !sum->is_square && i < d; i++) {
    out[i] *= unit;
  }
  *noise_sd *= unit;
  return status;
}

double tacit_rows_get(const tacit_row_sum_t *sum, const float *rows, size_t t, double *x) {
  const tacit_record_model_t *model = sum->curator->model;
  const float *from = rows + t * model->n_columns;
  for (size_t j = 0; j < model->n_features; j++) {
    x[j] = (double)from[j];
  }
  return (double)from[model->n_features];
}

/* The nearest whole number, the even one of two, of at most 2^30: the sum's last bits are it. */
static int64_t nearest(double at) {
  const double shift = 0x1.8p52;
  double shifted = at + shift;
  int64_t bits, none;
  memcpy(&bits, &shifted, sizeof bits);
  memcpy(&none, &shift, sizeof none);
  return bits - none;
}

void tacit_rows_write(const tacit_row_sum_t *sum, double factor, const double *v, int64_t *k) {
  const double spacing = sum->spacing;
  const size_t n = sum->dim;
  for (size_t i = 0; i < n; i++) {
    double at = v[i] * factor / spacing;
    int64_t is_near = -(int64_t)(fabs(at) <= 0x1p30); /* else beyond every shape: the unit counts as zero */
    k[i] = (nearest(at) & is_near) | (INT64_C(1) << 30 & ~is_near);
  }
}

/* out[l] <- line i + l of L x, in the order of the columns; side by side, as each waits for its last sum. */
static inline __attribute__((always_inline)) void whiten_lines(size_t n_lines, size_t d, const double *whiten,
                                                               size_t i, const double *x, double *out) {
  enum { SIDE_BY_SIDE = 4 };
  double sums[SIDE_BY_SIDE] = {0};
  const double *lines = whiten + i * d;
  for (size_t j = 0; j <= i; j++) {
    for (size_t l = 0; l < n_lines; l++) {
      sums[l] += lines[l * d + j] * x[j];
    }
  }
  for (size_t l = 0; l < n_lines; l++) {
    for (size_t j = i + 1; j <= i + l; j++) {
      sums[l] += lines[l * d + j] * x[j];
    }
    out[l] = sums[l];
  }
}

double tacit_rows_whiten(size_t d, const double *whiten, const double *x, double *row) {
  double n2 = 0;
  size_t i = 0;
  if (whiten == NULL) {
    memcpy(row, x, d * sizeof *row);
  }
  for (; whiten != NULL && i + 4 <= d; i += 4) {
    whiten_lines(4, d, whiten, i, x, row + i);
  }
  for (; whiten != NULL && i < d; i++) {
    whiten_lines(1, d, whiten, i, x, row + i);
  }
  for (i = 0; i < d; i++) {
    n2 += row[i] * row[i];
  }
  return n2;
}

tacit_status_t tacit_rows_check(const tacit_curator_t *curator, bool may_be_extra, tacit_error_t *err) {
  const tacit_record_model_t *model = curator->model;
  if (model->n_linear != 1 || (model->n_extra != 0 && !may_be_extra) ||
      model->dim != model->n_features + model->n_extra || model->n_columns != model->n_features + 1 ||
      model->n_features > TACIT_MAX_ROW_FEATURES) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "model",
        "sums of rows need one linear predictor of at most %d features and one response, and no further "
        "parameter",
        (int)TACIT_MAX_ROW_FEATURES);
  }
  if (curator->settings.temperature_power < 1) {
    return tacit_error_set(err, TACIT_ERR_STATE, "temperature",
                           "sums of rows are not tempered: leave the temperature at 1");
  }
  return TACIT_OK;
}

tacit_status_t tacit_rows_check_numbers(const char *field, const double *values, size_t n,
                                        tacit_error_t *err) {
  for (size_t i = 0; values != NULL && i < n; i++) {
    if (!isfinite(values[i])) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, field, "a release needs finite numbers for its %s",
                             field);
    }
  }
  return TACIT_OK;
}

tacit_status_t tacit_rows_check_size(const char *field, double value, tacit_error_t *err) {
  return value >= 1e-15 && value <= 1e15
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_ARGUMENT, field, "%s must be a number between 1e-15 and 1e15",
                               field);
}

tacit_status_t tacit_rows_check_weighting(const tacit_curator_t *curator, const tacit_row_weighting_t *rows,
                                          bool may_be_extra, tacit_error_t *err) {
  size_t d = curator->model->n_features;
  tacit_status_t status = tacit_rows_check(curator, may_be_extra, err);
  TACIT_THEN(status, tacit_rows_check_numbers("whitening matrix", rows->whiten, d * d, err));
  return status == TACIT_OK ? tacit_rows_check_size("radius", rows->radius, err) : status;
}

/* ---- second moments ---- */

bool tacit_rows_write_one(const tacit_row_sum_t *sum, double radius, double n2, double factor, size_t n_rows,
                          size_t t, const double *v, int64_t *k) {
  double weight = n2 > radius * radius ? radius / sqrt(n2) : 1;
  if (!(n2 <= DBL_MAX)) {
    memset(k, 0, n_rows * sum->dim * sizeof *k);
    return false;
  }
  tacit_rows_write(sum, weight / sqrt((double)n_rows) * factor, v, k + t * sum->dim);
  return true;
}

static void add_moments(const void *ctx, size_t n_rows, const float *records, double *work, int64_t *k) {
  const tacit_row_sum_t *sum = ctx;
  const tacit_row_weighting_t *rows = sum->what;
  double x[TACIT_MAX_ROW_FEATURES], row[TACIT_MAX_ROW_FEATURES];
  (void)work;
  for (size_t t = 0; t < n_rows; t++) {
    (void)tacit_rows_get(sum, records, t, x);
    double n2 = tacit_rows_whiten(sum->dim, rows->whiten, x, row);
    if (!tacit_rows_write_one(sum, rows->radius, n2, 1, n_rows, t, row, k)) {
      return;
    }
  }
}

tacit_status_t tacit_curator_release_second_moments(tacit_curator_t *curator,
                                                    const tacit_row_weighting_t *rows,
                                                    double noise_multiplier, double *out, double *noise_sd,
                                                    tacit_error_t *err) {
  size_t d = curator->model->dim;
  tacit_row_sum_t sum = {.curator = curator,
                         .is_square = true,
                         .dim = d,
                         .bound = rows->radius,
                         .what = rows,
                         .lanes = tacit_rows_functions()->moments,
                         .label = rows->whiten == NULL ? "second moments" : "whitened second moments"};
  memset(out, 0, d * (d + 1) / 2 * sizeof *out);
  *noise_sd = 0;
  tacit_status_t status = tacit_rows_check_weighting(curator, rows, false, err);
  return status == TACIT_OK ? tacit_rows_release(&sum, add_moments, noise_multiplier, out, noise_sd, err)
                            : status;
}
