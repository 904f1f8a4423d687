/*
 * Records beside a public fit, in one vector of norm at most 1: which bin of predicted means a record is in,
 * how far its response is from the prediction there and in a bin of one feature, and how far the square of
 * that is from what the family says.
 *
 * With m and v mean and variance of the clamped response, r = y - m (bernoulli), or clamp((y - m) / (3 sqrt
 * v)) less its mean under the family; p = min((y - m)^2 / (9 v), 1) less its mean. Gaussian: v is the square
 * of a given sd, and the distribution normal. So |r|, |p| <= 1 and both have mean 0 under the fit, whatever
 * the features.
 */
#include "base/error.h"
#include "curator/rows.h"

#include <math.h>
#include <string.h>

static const double reach = 3;

typedef struct parts {
  double count, residual, by, square; /* weights of the blocks; squares sum to 1 */
} parts_t;

static parts_t weights_of(const tacit_fit_point_t *point) {
  double by = point->by != SIZE_MAX ? 0.25 : 0;
  return (parts_t){sqrt(0.1), sqrt(0.85 - by), sqrt(by), sqrt(0.05)};
}

size_t tacit_fit_point_n_values(const tacit_fit_point_t *point) {
  return 2 * point->n_bins + (point->by != SIZE_MAX ? point->n_by : 0) + 1;
}

static bool is_gaussian(const tacit_fit_point_t *point) { return point->family == TACIT_FAMILY_GAUSSIAN; }

/* Of min(z^2, reach^2) / reach^2, z standard normal. */
static double normal_square(void) {
  double beyond = erfc(reach / sqrt(2)), density = exp(-0.5 * reach * reach) / sqrt(6.283185307179586);
  return (1 - beyond - 2 * reach * density) / (reach * reach) + beyond;
}

static double residual_of(bool is_raw, double y, double mean, double sd) {
  return is_raw ? y - mean : fmax(fmin((y - mean) / (reach * sd), 1), -1);
}

/* Means of residual and square under the family, whose clamped counts have masses P(y) and what is left at
 * the bound. */
static void expect(const tacit_fit_point_t *point, double eta, bool is_raw, double mean, double sd,
                   double *residual, double *square) {
  if (is_gaussian(point)) {
    *residual = 0;
    *square = normal_square();
    return;
  }
  double rate = exp(fmin(eta, 700)), mass = point->family == TACIT_FAMILY_BERNOULLI ? 1 - mean : exp(-rate),
         left = 1;
  *residual = *square = 0;
  for (double y = 0; y <= point->upper; y++) {
    double p = y >= point->upper ? fmax(left, 0) : mass, z = (y - mean) / (reach * sd);
    *residual += p * residual_of(is_raw, y, mean, sd);
    *square += p * fmin(z * z, 1);
    left -= p;
    mass *= rate / (y + 1);
  }
}

size_t tacit_fit_check_bin(const double *cuts, size_t n_bins, double x) {
  size_t b = 0;
  while (b + 1 < n_bins && x > cuts[b]) {
    b++;
  }
  return b;
}

/* r of a response beside its prediction, and p. */
static double residual_at(const tacit_fit_point_t *point, double eta, double response, double *mean,
                          double *square) {
  bool is_raw = point->family == TACIT_FAMILY_BERNOULLI;
  tacit_family_moments_t m = is_gaussian(point)
                                 ? (tacit_family_moments_t){.mean = eta, .variance = point->sd * point->sd}
                                 : tacit_family_moments((tacit_family_t)point->family, point->upper, eta);
  double y = fmax(fmin(response, point->upper), is_gaussian(point) ? -1 : 0), expected, of_square;
  double sd = sqrt(fmax(m.variance, 1e-12)), z = (y - m.mean) / (reach * sd);
  expect(point, eta, is_raw, m.mean, sd, &expected, &of_square);
  *mean = m.mean;
  *square = fmax(fmin(fmin(z * z, 1) - of_square, 1), -1);
  return fmax(fmin(residual_of(is_raw, y, m.mean, sd) - expected, 1), -1);
}

static void add_check(const void *ctx, size_t n_rows, const float *records, double *work, int64_t *k) {
  const tacit_row_sum_t *sum = ctx;
  const tacit_fit_point_t *point = sum->what;
  size_t d = sum->curator->model->n_features, b = point->n_bins;
  double x[TACIT_MAX_ROW_FEATURES], v[2 * TACIT_FIT_MAX_BINS + TACIT_FIT_MAX_BINS + 1] = {0}, eta = 0, mean,
                                                                                    p;
  (void)work;
  if (n_rows == 0) {
    return;
  }
  double y = tacit_rows_get(sum, records, 0, x);
  for (size_t j = 0; j < d; j++) {
    eta += point->theta[j] * x[j];
  }
  double r = residual_at(point, eta, y, &mean, &p);
  parts_t weights = weights_of(point);
  size_t bin = tacit_fit_check_bin(point->cuts, b, mean);
  v[bin] = weights.count;
  v[b + bin] = weights.residual * r;
  if (point->by != SIZE_MAX) {
    v[2 * b + tacit_fit_check_bin(point->by_cuts, point->n_by, x[point->by])] = weights.by * r;
  }
  v[sum->dim - 1] = weights.square * p;
  tacit_rows_write(sum, 1, v, k);
}

static tacit_status_t check_point(const tacit_curator_t *curator, const tacit_fit_point_t *point,
                                  tacit_error_t *err) {
  tacit_status_t status =
      tacit_rows_check(curator, is_gaussian(point), err); /* a residual sd is known, or a parameter */
  TACIT_THEN(status, tacit_rows_check_numbers("point", point->theta, curator->model->n_features, err));
  if (status != TACIT_OK) {
    return status;
  }
  if (curator->settings.max_unit_rows > 1) {
    return tacit_error_set(err, TACIT_ERR_STATE, "unit", "a fit is checked by units of one record");
  }
  if (is_gaussian(point) ? !(point->sd > 0 && isfinite(point->sd))
                         : !tacit_family_has_moments((tacit_family_t)point->family, point->upper)) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "family",
        "a fit is checked of families bernoulli and poisson, and of gaussian with an sd above 0");
  }
  bool has_by = point->by != SIZE_MAX;
  bool ok = point->n_bins >= 1 && point->n_bins <= TACIT_FIT_MAX_BINS &&
            (!has_by || (point->by < curator->model->n_features && point->n_by >= 1 &&
                         point->n_by <= TACIT_FIT_MAX_BINS));
  return ok ? TACIT_OK
            : tacit_error_set(err, TACIT_ERR_ARGUMENT, "bins",
                              "there are 1 to %d bins, of a feature that the model has",
                              (int)TACIT_FIT_MAX_BINS);
}

tacit_status_t tacit_curator_release_fit_check(tacit_curator_t *curator, const tacit_fit_point_t *point,
                                               double noise_multiplier, double *out, double *noise_sd,
                                               tacit_error_t *err) {
  size_t n = tacit_fit_point_n_values(point), b = point->n_bins;
  parts_t weights = weights_of(point);
  double sd = 0;
  memset(out, 0, n * sizeof *out);
  memset(noise_sd, 0, n * sizeof *noise_sd);
  tacit_row_sum_t sum = {
      .curator = curator, .dim = n, .bound = 1, .what = point, .label = TACIT_FIT_CHECK_LABEL};
  tacit_status_t status = check_point(curator, point, err);
  TACIT_THEN(status, tacit_rows_release(&sum, add_check, noise_multiplier, out, &sd, err));
  for (size_t i = 0; i < n && status == TACIT_OK; i++) {
    double weight = i < b       ? weights.count
                    : i < 2 * b ? weights.residual
                    : i + 1 < n ? weights.by
                                : weights.square;
    out[i] /= weight;
    noise_sd[i] = sd / weight;
  }
  return status;
}

/* ---- residuals along each feature ---- */

typedef struct shapes_of {
  const tacit_fit_point_t *point;
  const double *whiten;
} shapes_of_t;

void tacit_fit_shapes(size_t n_features, const double *whiten, const double *x, double *shapes) {
  double z[TACIT_MAX_ROW_FEATURES];
  (void)tacit_rows_whiten(n_features, whiten, x, z);
  for (size_t j = 1; j < n_features; j++, shapes += 2) {
    shapes[0] = fmax(fmin(z[j] * z[j] - 1, 1), -1);
    shapes[1] = fmax(fmin(0.5 * z[j] * (z[j] * z[j] - 3), 1), -1);
  }
}

/* No longer than 1: there are 2 (n_features - 1) shapes, none of them above 1, and r is not either. */
static void add_shapes(const void *ctx, size_t n_rows, const float *records, double *work, int64_t *k) {
  const tacit_row_sum_t *sum = ctx;
  const shapes_of_t *of = sum->what;
  size_t d = sum->curator->model->n_features;
  double x[TACIT_MAX_ROW_FEATURES], shapes[TACIT_MAX_ROW_FEATURES], v[TACIT_MAX_ROW_FEATURES] = {0}, mean,
                                                                    square;
  (void)work;
  for (size_t t = 0; t < n_rows; t++) {
    double y = tacit_rows_get(sum, records, t, x), eta = 0;
    for (size_t j = 0; j < d; j++) {
      eta += of->point->theta[j] * x[j];
    }
    double r = residual_at(of->point, eta, y, &mean, &square);
    tacit_fit_shapes(d, of->whiten, x, shapes);
    for (size_t j = 0; j < sum->dim; j++) {
      v[j] += r * shapes[j] / (double)n_rows;
    }
  }
  tacit_rows_write(sum, 1 / sqrt((double)sum->dim), v, k);
}

tacit_status_t tacit_curator_release_residual_shapes(tacit_curator_t *curator, const tacit_fit_point_t *point,
                                                     const double *whiten, double noise_multiplier,
                                                     double *out, double *noise_sd, tacit_error_t *err) {
  size_t d = curator->model->n_features;
  const shapes_of_t of = {point, whiten};
  tacit_row_sum_t sum = {
      .curator = curator, .dim = 2 * (d - 1), .bound = 1, .what = &of, .label = "residuals along features"};
  *noise_sd = 0;
  tacit_status_t status = tacit_rows_check(curator, false, err);
  if (status == TACIT_OK && (d < 2 || sum.dim > TACIT_MAX_ROW_FEATURES)) {
    status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "features", "residuals are put beside 1 to %d features",
                             (int)TACIT_MAX_ROW_FEATURES / 2);
  }
  if (status == TACIT_OK && !tacit_family_has_moments((tacit_family_t)point->family, point->upper)) {
    status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "family",
                             "residuals are put beside features of families bernoulli and poisson");
  }
  TACIT_THEN(status, tacit_rows_check_numbers("point", point->theta, d, err));
  TACIT_THEN(status, tacit_rows_check_numbers("whitening matrix", whiten, d * d, err));
  if (status != TACIT_OK) {
    return status;
  }
  memset(out, 0, sum.dim * sizeof *out);
  status = tacit_rows_release(&sum, add_shapes, noise_multiplier, out, noise_sd, err);
  for (size_t j = 0; j < sum.dim; j++) {
    out[j] *= sqrt((double)sum.dim);
  }
  *noise_sd *= sqrt((double)sum.dim);
  return status;
}
