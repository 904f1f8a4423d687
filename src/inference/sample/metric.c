#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "sample/sample_internal.h"

/* Lower Cholesky factor of a (n, n) in place of r; false if a is not positive definite. */
static bool cholesky(const double *a, double *r, size_t n) {
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j <= i; j++) {
      double sum = a[i * n + j];
      for (size_t k = 0; k < j; k++) {
        sum -= r[i * n + k] * r[j * n + k];
      }
      if (i == j) {
        if (!(sum > 0)) {
          return false;
        }
        r[i * n + i] = sqrt(sum);
      } else {
        r[i * n + j] = sum / r[j * n + j];
      }
    }
  }
  return true;
}

static bool is_symmetric(const double *a, size_t n) {
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < i; j++) {
      double scale = sqrt(fabs(a[i * n + i] * a[j * n + j]));
      if (!(fabs(a[i * n + j] - a[j * n + i]) <= 1e-9 * scale)) {
        return false;
      }
    }
  }
  return true;
}

bool tacit_metric_factorise(tacit_metric_t *metric) {
  size_t n = metric->dim;
  if (metric->is_dense) {
    return is_symmetric(metric->inv_metric, n) && cholesky(metric->inv_metric, metric->root, n);
  }
  for (size_t j = 0; j < n; j++) {
    if (!(metric->inv_metric[j] > 0)) {
      return false;
    }
    metric->root[j] = sqrt(metric->inv_metric[j]);
  }
  return true;
}

tacit_status_t tacit_metric_init(tacit_metric_t *metric, size_t dim, const double *inv_metric, bool is_dense,
                                 tacit_error_t *err) {
  *metric = (tacit_metric_t){.dim = dim, .is_dense = is_dense && inv_metric != NULL};
  size_t n = metric->is_dense ? dim * dim : dim;
  metric->inv_metric = tacit_alloc_zero(n, sizeof *metric->inv_metric);
  metric->root = tacit_alloc_zero(n, sizeof *metric->root);
  if (metric->inv_metric == NULL || metric->root == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < n; i++) {
    metric->inv_metric[i] = inv_metric != NULL ? inv_metric[i] : 1;
  }
  if (!tacit_all_finite(metric->inv_metric, n) || !tacit_metric_factorise(metric)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "inv_metric",
                           "the inverse metric must be finite, symmetric and positive definite");
  }
  return TACIT_OK;
}

void tacit_metric_clear(tacit_metric_t *metric) {
  tacit_free(metric->inv_metric);
  tacit_free(metric->root);
  *metric = (tacit_metric_t){0};
}

void tacit_metric_momentum(const tacit_metric_t *metric, const double *z, double *p) {
  size_t n = metric->dim;
  for (size_t i = n; i-- > 0;) { /* back substitution with R' */
    double sum = z[i];
    for (size_t k = i + 1; metric->is_dense && k < n; k++) {
      sum -= metric->root[k * n + i] * p[k];
    }
    p[i] = sum / metric->root[metric->is_dense ? i * n + i : i];
  }
}

void tacit_metric_scale(const tacit_metric_t *metric, const double *z, double *x) {
  size_t n = metric->dim;
  for (size_t i = 0; i < n; i++) {
    double sum = 0;
    for (size_t k = 0; metric->is_dense && k <= i; k++) {
      sum += metric->root[i * n + k] * z[k];
    }
    x[i] = metric->is_dense ? sum : metric->root[i] * z[i];
  }
}

double tacit_metric_velocity(const tacit_metric_t *metric, const double *p, double *v) {
  size_t n = metric->dim;
  double square = 0;
  for (size_t i = 0; i < n; i++) {
    double sum = metric->is_dense ? 0 : metric->inv_metric[i] * p[i];
    for (size_t k = 0; metric->is_dense && k < n; k++) {
      sum += metric->inv_metric[i * n + k] * p[k];
    }
    v[i] = sum;
    square += sum * p[i];
  }
  return square;
}
