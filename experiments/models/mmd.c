#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "diagnose/diagnose_internal.h"
#include "models/models.h"

enum { MAX_POOLED = 500 };

static double square_distance(const double *a, const double *b, size_t dim) {
  double sum = 0;
  for (size_t j = 0; j < dim; j++) {
    double d = a[j] - b[j];
    sum += d * d;
  }
  return sum;
}

static double kernel(const double *a, const double *b, size_t dim, double bandwidth) {
  /* Divided twice, as the square of a small bandwidth is 0. */
  return exp(-0.5 * (square_distance(a, b, dim) / bandwidth) / bandwidth);
}

/* Point i of x followed by y. */
static const double *pooled(const double *x, size_t n_x, const double *y, size_t dim, size_t i) {
  return i < n_x ? x + i * dim : y + (i - n_x) * dim;
}

/* Median distance between pairs of up to 500 points spread evenly over the pooled samples. */
static tacit_status_t median_distance(const double *x, size_t n_x, const double *y, size_t n_y, size_t dim,
                                      double *median, tacit_error_t *err) {
  size_t n_all = n_x + n_y, n = n_all < MAX_POOLED ? n_all : MAX_POOLED;
  size_t n_pairs = n * (n - 1) / 2, k = 0;
  double *distances = tacit_alloc(n_pairs, sizeof *distances);
  tacit_ranked_t *sorted = tacit_alloc(n_pairs, sizeof *sorted);
  tacit_ranked_t *scratch = tacit_alloc(n_pairs, sizeof *scratch);
  tacit_status_t status = TACIT_OK;
  if (distances == NULL || sorted == NULL || scratch == NULL) {
    status = tacit_error_memory(err);
    goto done;
  }
  for (size_t a = 0; a < n; a++) {
    for (size_t b = 0; b < a; b++) {
      /* a n_all / n without the product, which could overflow. */
      size_t i = a * (n_all / n) + a * (n_all % n) / n, j = b * (n_all / n) + b * (n_all % n) / n;
      distances[k++] = sqrt(square_distance(pooled(x, n_x, y, dim, i), pooled(x, n_x, y, dim, j), dim));
    }
  }
  tacit_rank_sort(distances, n_pairs, sorted, scratch);
  *median = tacit_quantile_sorted(sorted, distances, n_pairs, 0.5);
  if (!(*median > 0) || !isfinite(*median)) {
    status = tacit_error_set(err, TACIT_ERR_NUMERIC, "bandwidth",
                             "the median distance between points is not a number above 0: give a bandwidth");
  }
done:
  tacit_free(distances);
  tacit_free(sorted);
  tacit_free(scratch);
  return status;
}

/* Mean of the kernel over pairs of different points of one sample. */
static double mean_within(const double *x, size_t n, size_t dim, double bandwidth) {
  double total = 0;
  for (size_t i = 1; i < n; i++) {
    double row = 0;
    for (size_t j = 0; j < i; j++) {
      row += kernel(x + i * dim, x + j * dim, dim, bandwidth);
    }
    total += row;
  }
  return total / (0.5 * (double)n * (double)(n - 1));
}

static double mean_between(const double *x, size_t n_x, const double *y, size_t n_y, size_t dim,
                           double bandwidth) {
  double total = 0;
  for (size_t i = 0; i < n_x; i++) {
    double row = 0;
    for (size_t j = 0; j < n_y; j++) {
      row += kernel(x + i * dim, y + j * dim, dim, bandwidth);
    }
    total += row;
  }
  return total / ((double)n_x * (double)n_y);
}

static bool all_finite(const double *x, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!isfinite(x[i])) {
      return false;
    }
  }
  return true;
}

tacit_status_t tacit_mmd2(const double *x, size_t n_x, const double *y, size_t n_y, size_t dim,
                          double bandwidth, double *mmd2, tacit_error_t *err) {
  *mmd2 = NAN;
  if (n_x < 2 || n_y < 2 || dim < 1) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "n_x",
                           "the discrepancy needs at least 2 points of at least 1 dimension in each sample, "
                           "not %zu and %zu of %zu",
                           n_x, n_y, dim);
  }
  if (!(bandwidth >= 0) || !isfinite(bandwidth)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "bandwidth",
                           "the bandwidth must be a number above 0, or 0 for the median distance");
  }
  if (!all_finite(x, n_x * dim) || !all_finite(y, n_y * dim)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "x", "every coordinate of the points must be finite");
  }
  if (bandwidth == 0) { /* exactly 0 is how a caller asks for the median distance */
    tacit_status_t status = median_distance(x, n_x, y, n_y, dim, &bandwidth, err);
    if (status != TACIT_OK) {
      return status;
    }
  }
  *mmd2 = mean_within(x, n_x, dim, bandwidth) + mean_within(y, n_y, dim, bandwidth) -
          2 * mean_between(x, n_x, y, n_y, dim, bandwidth);
  return TACIT_OK;
}
