/* Small matrices of inference from centred scores. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "noise_aware/program.h"

/* In units in which the diagonal is 1; what rounding may have made negative is not. */
static bool invert_scaled(size_t d, double *matrix) {
  double unit[PARAMETERS], work[2 * MATRIX + PARAMETERS], factor[MATRIX];
  for (size_t j = 0; j < d; j++) {
    unit[j] = sqrt(matrix[j * (d + 1)]);
    if (!(unit[j] > 0 && unit[j] <= DBL_MAX)) {
      return false;
    }
  }
  for (size_t i = 0; i < d * d; i++) {
    factor[i] = i / d == i % d ? 1 : matrix[i] / unit[i / d] / unit[i % d];
  }
  tacit_raise_eigenvalues(d, factor, 1e-12, work);
  for (size_t j = 0; j < d; j++) {
    factor[j * (d + 1)] += 1e-12;
  }
  if (!tacit_cholesky(d, factor)) {
    return false;
  }
  tacit_invert_factored(d, factor, work, matrix);
  for (size_t i = 0; i < d * d; i++) {
    matrix[i] = matrix[i] / unit[i / d] / unit[i % d];
  }
  return true;
}

bool tacit_program_invert_positive(size_t d, double *matrix) {
  double factor[MATRIX], work[MATRIX];
  memcpy(factor, matrix, d * d * sizeof *factor);
  if (!tacit_cholesky(d, factor)) {
    return invert_scaled(d, matrix);
  }
  tacit_invert_factored(d, factor, work, matrix);
  return true;
}

void tacit_program_apply(size_t d, const double *matrix, const double *v, double *out) {
  for (size_t i = 0; i < d; i++) {
    out[i] = tacit_dot(d, matrix + i * d, v);
  }
}

void tacit_program_apply_back(size_t d, const double *matrix, const double *v, double *out) {
  for (size_t j = 0; j < d; j++) {
    out[j] = 0;
    for (size_t i = 0; i < d; i++) {
      out[j] += matrix[i * d + j] * v[i];
    }
  }
}

/* By Gauss and Jordan with pivots. */
bool tacit_program_invert(size_t d, double *a, double *inverse) {
  for (size_t i = 0; i < d * d; i++) {
    inverse[i] = i / d == i % d;
  }
  for (size_t k = 0; k < d; k++) {
    size_t pivot = k;
    for (size_t i = k + 1; i < d; i++) {
      pivot = fabs(a[i * d + k]) > fabs(a[pivot * d + k]) ? i : pivot;
    }
    double scale = a[pivot * d + k];
    if (!(fabs(scale) > 1e-300)) {
      return false;
    }
    for (size_t j = 0; j < d; j++) {
      double x = a[pivot * d + j], y = inverse[pivot * d + j];
      a[pivot * d + j] = a[k * d + j];
      inverse[pivot * d + j] = inverse[k * d + j];
      a[k * d + j] = x / scale;
      inverse[k * d + j] = y / scale;
    }
    for (size_t i = 0; i < d; i++) {
      double factor = i != k ? a[i * d + k] : 0;
      for (size_t j = 0; j < d && i != k; j++) {
        a[i * d + j] -= factor * a[k * d + j];
        inverse[i * d + j] -= factor * inverse[k * d + j];
      }
    }
  }
  return true;
}

double tacit_program_trace(size_t d, const double *matrix) {
  double sum = 0;
  for (size_t j = 0; j < d; j++) {
    sum += matrix[j * (d + 1)];
  }
  return sum;
}

void tacit_program_sandwich(size_t d, const double *a, const double *b, double *out) {
  double half[MATRIX], transposed[MATRIX];
  for (size_t i = 0; i < d * d; i++) {
    transposed[i] = a[i % d * d + i / d];
  }
  tacit_multiply(d, d, d, a, b, half);
  tacit_multiply(d, d, d, half, transposed, out);
}

bool tacit_program_ratios_between(size_t d, const double *inverse, const double *matrix, double low,
                                  double high) {
  double ratio[MATRIX], values[PARAMETERS], vectors[MATRIX];
  bool is_between = true;
  tacit_program_sandwich(d, inverse, matrix, ratio);
  tacit_eigen(d, ratio, values, vectors);
  for (size_t j = 0; j < d; j++) {
    is_between = is_between && values[j] > low && values[j] < high;
  }
  return is_between;
}
