/* Dense symmetric matrices, row by row: sums run along rows, which are contiguous. */
#include "tables/tables_internal.h"

double tacit_matrix_dot(size_t n, const double *a, const double *b) {
  double sum[4] = {0, 0, 0, 0}, rest = 0; /* four sums in a fixed order: quick, and the same everywhere */
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    sum[0] += a[i] * b[i];
    sum[1] += a[i + 1] * b[i + 1];
    sum[2] += a[i + 2] * b[i + 2];
    sum[3] += a[i + 3] * b[i + 3];
  }
  for (; i < n; i++) {
    rest += a[i] * b[i];
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]) + rest;
}

void tacit_matrix_times(size_t n, const double *matrix, const double *x, double *out) {
  for (size_t i = 0; i < n; i++) {
    out[i] = tacit_matrix_dot(n, matrix + i * n, x);
  }
}

bool tacit_matrix_factorise(size_t n, double *m) {
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j <= i; j++) {
      double rest = m[i * n + j] - tacit_matrix_dot(j, m + i * n, m + j * n);
      if (i == j && !(rest > 0 && isfinite(rest))) {
        return false;
      }
      m[i * n + j] = i == j ? sqrt(rest) : rest / m[j * n + j];
    }
  }
  return true;
}

void tacit_matrix_forward(size_t n, const double *factor, double *x) {
  for (size_t i = 0; i < n; i++) {
    x[i] = (x[i] - tacit_matrix_dot(i, factor + i * n, x)) / factor[i * n + i];
  }
}

void tacit_matrix_backward(size_t n, const double *factor, double *x) {
  for (size_t i = n; i-- > 0;) {
    x[i] /= factor[i * n + i];
    for (size_t j = 0; j < i; j++) {
      x[j] -= factor[i * n + j] * x[i];
    }
  }
}

void tacit_matrix_invert(size_t n, const double *factor, double *out) {
  for (size_t i = 0; i < n; i++) { /* row i: column i of the inverse, which is symmetric */
    double *row = out + i * n;
    for (size_t j = 0; j < n; j++) {
      row[j] = i == j ? 1 : 0;
    }
    tacit_matrix_forward(n, factor, row);
    tacit_matrix_backward(n, factor, row);
  }
}

double tacit_matrix_log_determinant(size_t n, const double *factor) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += log(factor[i * n + i]);
  }
  return 2 * sum;
}
