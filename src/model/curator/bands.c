/*
 * Releases by bands: a unit's vectors are divided by the radius of the band that their joint length lies in,
 * and squared there. Bands are blocks of the door's squares, so that a unit, which lies in one, costs no more
 * than if there were no other. Lengths can also be counted. What vectors are is asked of a function; those of
 * a public linear fit are here.
 */
#include "base/error.h"
#include "curator/rows.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COUNT_BITS = 22, MAX_CELLS = 1024 };

typedef struct banded_sum {
  tacit_row_sum_t sum;
  char label[32];
  const tacit_banded_t *of;
  const tacit_bands_t *bands;
  size_t n_edges;
  const double *edges;
} banded_sum_t;

/* v <- vectors of a unit, *n of them; their joint length, NaN if there is none. What is left of work is
 * scratch. */
static double length_of(const tacit_banded_t *of, size_t n_rows, const float *records, double *work,
                        size_t *n) {
  double n2 = 0;
  *n = of->is_by_rows ? n_rows : of->n_vectors > 0 ? of->n_vectors : 1;
  size_t size = *n * of->dim;
  memset(work, 0, size * sizeof *work);
  of->vectors(of->ctx, n_rows, records, work + size, work);
  for (size_t i = 0; i < size; i++) {
    n2 += work[i] * work[i];
  }
  return n2 <= DBL_MAX ? sqrt(n2) : NAN;
}

/* Number of rising edges that lie below a length. */
static size_t place_of(size_t n, const double *edges, double length) {
  size_t low = 0, high = n;
  while (low < high) {
    size_t middle = (low + high) / 2;
    *(length > edges[middle] ? &low : &high) = length > edges[middle] ? middle + 1 : middle;
  }
  return low;
}

static void add_to_band(const void *ctx, size_t n_rows, const float *records, double *work, int64_t *k) {
  const banded_sum_t *s = ctx;
  const tacit_bands_t *bands = s->bands;
  size_t n, dim = s->of->dim, has_number = s->sum.n_blocks > 1;
  double length = length_of(s->of, n_rows, records, work, &n), w[TACIT_MAX_ROW_FEATURES + 1];
  if (isnan(length)) {
    return;
  }
  size_t l = place_of(bands->n - 1, bands->radii, length);
  double factor = 1 / fmax(bands->radii[l], length);
  for (size_t t = 0; t < n; t++, k += has_number + s->sum.dim) {
    w[0] = t == 0;
    for (size_t j = 0; j < dim; j++) {
      w[bands->has_count + j] = factor * work[t * dim + j];
    }
    if (has_number) {
      k[0] = (int64_t)l;
    }
    tacit_rows_write(&s->sum, 1, w, k + has_number);
  }
}

static void add_to_cell(const void *ctx, size_t n_rows, const float *records, double *work, int64_t *k) {
  const banded_sum_t *s = ctx;
  size_t n;
  double length = length_of(s->of, n_rows, records, work, &n);
  k[0] = isnan(length) ? 0 : (int64_t)place_of(s->n_edges, s->edges, length) + 1;
}

/* ---- what may be asked for ---- */

static tacit_status_t check_bands(const tacit_curator_t *curator, const tacit_banded_t *of, size_t n,
                                  size_t most, const double *edges, tacit_error_t *err) {
  bool is_rising = n >= 1 && n <= most;
  for (size_t i = 0; is_rising && i < n; i++) {
    is_rising = edges[i] >= 1e-15 && edges[i] <= 1e15 && (i == 0 || edges[i] > edges[i - 1]);
  }
  if (!is_rising) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "edges",
                           "lengths are divided by 1 to %zu rising numbers between 1e-15 and 1e15", most);
  }
  if (of->dim < 1 || of->dim > TACIT_MAX_ROW_FEATURES) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "dim", "vectors in bands have 1 to %d numbers",
                           (int)TACIT_MAX_ROW_FEATURES);
  }
  return curator->settings.temperature_power < 1
             ? tacit_error_set(err, TACIT_ERR_STATE, "temperature",
                               "releases by bands are not tempered: leave the temperature at 1")
             : TACIT_OK;
}

static size_t n_work_of(const tacit_curator_t *curator, const tacit_banded_t *of) {
  size_t n = of->is_by_rows ? curator->settings.max_unit_rows : of->n_vectors > 0 ? of->n_vectors : 1;
  return of->n_work + of->dim * n;
}

size_t tacit_bands_n_values(const tacit_bands_t *bands, size_t dim) {
  size_t d = dim + bands->has_count;
  return bands->n * (d * (d + 1) / 2);
}

tacit_status_t tacit_curator_release_bands(tacit_curator_t *curator, const tacit_banded_t *of,
                                           const tacit_bands_t *bands, double noise_multiplier, double *out,
                                           double *noise_sd, tacit_error_t *err) {
  banded_sum_t s = {.sum = {.curator = curator,
                            .is_square = true,
                            .dim = of->dim + bands->has_count,
                            .bound = bands->has_count ? sqrt(2) : 1,
                            .n_blocks = bands->n > 1 ? bands->n : 0,
                            .n_vectors = of->n_vectors,
                            .is_one_vector = !of->is_by_rows && of->n_vectors == 0,
                            .n_work = n_work_of(curator, of),
                            .label = s.label},
                    .of = of,
                    .bands = bands};
  *noise_sd = 0;
  snprintf(s.label, sizeof s.label, "bands of %s", of->name);
  tacit_status_t status = check_bands(curator, of, bands->n, TACIT_MAX_BANDS, bands->radii, err);
  return status == TACIT_OK ? tacit_rows_release(&s.sum, add_to_band, noise_multiplier, out, noise_sd, err)
                            : status;
}

tacit_status_t tacit_curator_release_lengths(tacit_curator_t *curator, const tacit_banded_t *of,
                                             size_t n_edges, const double *edges, double noise_multiplier,
                                             double *out, double *noise_sd, tacit_error_t *err) {
  banded_sum_t s = {.of = of, .n_edges = n_edges, .edges = edges};
  *noise_sd = 0;
  snprintf(s.label, sizeof s.label, "lengths of %s", of->name);
  tacit_status_t status = check_bands(curator, of, n_edges, MAX_CELLS - 1, edges, err);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_units_t units = {.shape = {.kind = TACIT_SHAPE_CELL, .dim = n_edges + 1, .radius = 1 << COUNT_BITS},
                         .unit = add_to_cell,
                         .ctx = &s,
                         .n_work = n_work_of(curator, of),
                         .label = s.label};
  status = tacit_door_release_units(curator->door, &units, TACIT_DOOR_GAUSSIAN, noise_multiplier, out,
                                    noise_sd, err);
  for (size_t k = 0; k <= n_edges; k++) {
    out[k] = ldexp(out[k], -COUNT_BITS);
  }
  *noise_sd = ldexp(*noise_sd, -COUNT_BITS);
  return status;
}

/* ---- of a public linear fit ---- */

/* x (d) <- the features of row t of a unit; returns its response. */
static double get(const tacit_linear_point_t *point, const float *records, size_t t, double *x) {
  const float *from = records + t * (point->n_features + 1);
  for (size_t j = 0; j < point->n_features; j++) {
    x[j] = (double)from[j];
  }
  return (double)from[point->n_features];
}

static void add_rows(const void *ctx, size_t n_rows, const float *records, double *work, double *v) {
  const tacit_linear_point_t *point = ctx;
  size_t d = point->n_features;
  double x[TACIT_MAX_ROW_FEATURES];
  (void)work;
  for (size_t t = 0; t < n_rows; t++) {
    (void)get(point, records, t, x);
    (void)tacit_rows_whiten(d, point->whiten, x, v + t * d);
  }
  for (size_t i = 0; i < n_rows * d && n_rows > 1; i++) {
    v[i] /= sqrt((double)n_rows);
  }
}

static void add_score(const void *ctx, size_t n_rows, const float *records, double *work, double *v) {
  const tacit_linear_point_t *point = ctx;
  size_t d = point->n_features;
  double x[TACIT_MAX_ROW_FEATURES], row[TACIT_MAX_ROW_FEATURES], squares = 0;
  (void)work;
  for (size_t t = 0; t < n_rows; t++) {
    double r = get(point, records, t, x);
    for (size_t j = 0; j < d; j++) {
      r -= point->theta[j] * x[j];
    }
    r /= point->scale;
    (void)tacit_rows_whiten(d, point->whiten, x, row);
    for (size_t j = 0; j < d; j++) {
      v[j] += row[j] * r;
    }
    squares += r * r;
  }
  for (size_t j = 0; j < d && n_rows > 1; j++) {
    v[j] /= (double)n_rows;
  }
  if (point->square_weight > 0) {
    v[d] = point->square_weight * sqrt(squares / (double)n_rows);
  }
}

tacit_banded_t tacit_linear_rows(const tacit_linear_point_t *point) {
  return (tacit_banded_t){
      .name = "rows", .dim = point->n_features, .is_by_rows = true, .vectors = add_rows, .ctx = point};
}

tacit_banded_t tacit_linear_scores(const tacit_linear_point_t *point) {
  return (tacit_banded_t){.name = "scores",
                          .dim = point->n_features + (point->square_weight > 0),
                          .vectors = add_score,
                          .ctx = point};
}

tacit_status_t tacit_linear_check(const tacit_curator_t *curator, const tacit_linear_point_t *point,
                                  tacit_error_t *err) {
  size_t d = curator->model->n_features;
  tacit_status_t status = tacit_rows_check(curator, true, err);
  if (status == TACIT_OK && point->n_features != d) {
    status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "residual",
                             "a residual needs a parameter for each of the model's %zu features", d);
  }
  TACIT_THEN(status, tacit_rows_check_numbers("whitening matrix", point->whiten, d * d, err));
  TACIT_THEN(status, tacit_rows_check_numbers("residual", point->theta, d, err));
  if (point->square_weight != 0) {
    TACIT_THEN(status, tacit_rows_check_size("weight of squares", point->square_weight, err));
  }
  return status == TACIT_OK ? tacit_rows_check_size("scale", point->scale, err) : status;
}
