/* Small dense matrices, without a library: the largest has some hundred rows, and results must not depend on
 * one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "noise_aware/noise_aware_internal.h"

/* Four sums at a time: a single one would wait for each addition. */
double tacit_dot(size_t n, const double *a, const double *b) {
  double sum = 0, sums[4] = {0};
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (size_t l = 0; l < 4; l++) {
      sums[l] += a[i + l] * b[i + l];
    }
  }
  for (; i < n; i++) {
    sum += a[i] * b[i];
  }
  return sum + ((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

bool tacit_cholesky(size_t n, double *a) {
  for (size_t j = 0; j < n; j++) {
    double pivot = a[j * n + j] - tacit_dot(j, a + j * n, a + j * n);
    if (!(pivot > 0 && isfinite(pivot))) {
      return false;
    }
    a[j * n + j] = sqrt(pivot);
    for (size_t i = j + 1; i < n; i++) {
      a[i * n + j] = (a[i * n + j] - tacit_dot(j, a + i * n, a + j * n)) / a[j * n + j];
      a[j * n + i] = 0;
    }
  }
  return true;
}

void tacit_solve_lower(size_t n, const double *factor, double *x) {
  for (size_t i = 0; i < n; i++) {
    x[i] = (x[i] - tacit_dot(i, factor + i * n, x)) / factor[i * n + i];
  }
}

void tacit_solve_upper(size_t n, const double *factor, double *x) {
  for (size_t i = n; i-- > 0;) {
    x[i] /= factor[i * n + i];
    for (size_t j = 0; j < i; j++) {
      x[j] -= factor[i * n + j] * x[i];
    }
  }
}

void tacit_multiply_upper(size_t n, const double *factor, const double *v, double *out) {
  for (size_t i = 0; i < n; i++) {
    out[i] = 0;
    for (size_t j = i; j < n; j++) {
      out[i] += factor[j * n + i] * v[j];
    }
  }
}

void tacit_invert_lower(size_t n, const double *factor, double *inverse) {
  memset(inverse, 0, n * n * sizeof *inverse);
  for (size_t j = 0; j < n; j++) {
    inverse[j * n + j] = 1 / factor[j * n + j];
    for (size_t i = j + 1; i < n; i++) {
      double sum = 0;
      for (size_t k = j; k < i; k++) {
        sum += factor[i * n + k] * inverse[k * n + j];
      }
      inverse[i * n + j] = -sum / factor[i * n + i];
    }
  }
}

void tacit_invert_factored(size_t n, const double *factor, double *work, double *inverse) {
  tacit_invert_lower(n, factor, work);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < n; j++) {
      double sum = 0;
      for (size_t k = i > j ? i : j; k < n; k++) {
        sum += work[k * n + i] * work[k * n + j];
      }
      inverse[i * n + j] = sum;
    }
  }
}

/* Rotate rows and columns p < q of a, and the eigenvectors, so that a_pq vanishes [Golub2013, section 8.5].
 */
static void rotate(size_t n, double *a, double *vectors, size_t p, size_t q) {
  double apq = a[p * n + q], tau = (a[q * n + q] - a[p * n + p]) / (2 * apq);
  double t = (tau >= 0 ? 1 : -1) / (fabs(tau) + sqrt(1 + tau * tau)), c = 1 / sqrt(1 + t * t), s = t * c;
  for (size_t k = 0; k < n; k++) {
    double kp = a[k * n + p], kq = a[k * n + q];
    a[k * n + p] = c * kp - s * kq;
    a[k * n + q] = s * kp + c * kq;
  }
  for (size_t k = 0; k < n; k++) {
    double pk = a[p * n + k], qk = a[q * n + k];
    a[p * n + k] = c * pk - s * qk;
    a[q * n + k] = s * pk + c * qk;
  }
  for (size_t k = 0; k < n; k++) {
    double kp = vectors[k * n + p], kq = vectors[k * n + q];
    vectors[k * n + p] = c * kp - s * kq;
    vectors[k * n + q] = s * kp + c * kq;
  }
}

void tacit_eigen(size_t n, double *a, double *values, double *vectors) {
  enum { MAX_SWEEPS = 60 };
  memset(vectors, 0, n * n * sizeof *vectors);
  double scale = 0;
  for (size_t i = 0; i < n; i++) {
    vectors[i * n + i] = 1;
    scale = fmax(scale, fabs(a[i * n + i]));
  }
  for (size_t sweep = 0, n_rotations = 1; sweep < MAX_SWEEPS && n_rotations > 0; sweep++) {
    n_rotations = 0;
    for (size_t p = 0; p + 1 < n; p++) {
      for (size_t q = p + 1; q < n; q++) {
        if (fabs(a[p * n + q]) > 1e-15 * scale) {
          rotate(n, a, vectors, p, q);
          n_rotations++;
        }
      }
    }
  }
  for (size_t i = 0; i < n; i++) {
    values[i] = a[i * n + i];
  }
}

void tacit_raise_eigenvalues(size_t n, double *a, double least, double *work) {
  double *vectors = work, *copy = work + n * n, *values = copy + n * n;
  memcpy(copy, a, n * n * sizeof *a);
  tacit_eigen(n, copy, values, vectors);
  memset(a, 0, n * n * sizeof *a);
  for (size_t k = 0; k < n; k++) {
    double value = fmax(values[k], least);
    for (size_t i = 0; i < n; i++) {
      for (size_t j = 0; j < n; j++) {
        a[i * n + j] += value * vectors[i * n + k] * vectors[j * n + k];
      }
    }
  }
}

void tacit_multiply(size_t n, size_t k, size_t m, const double *a, const double *b, double *out) {
  memset(out, 0, n * m * sizeof *out);
  for (size_t i = 0; i < n; i++) {
    for (size_t l = 0; l < k; l++) {
      for (size_t j = 0; j < m; j++) {
        out[i * m + j] += a[i * k + l] * b[l * m + j];
      }
    }
  }
}

void tacit_sandwich(size_t n, const double *a, const double *b, double *work, double *out) {
  tacit_multiply(n, n, n, a, b, work);
  for (size_t i = 0; i < n * n; i++) {
    out[i] = tacit_dot(n, work + i / n * n, a + i % n * n);
  }
}

void tacit_take_along(size_t d, double *a, double *rest, double *to) {
  double norm = a != NULL ? sqrt(tacit_dot(d, a, a)) : 1, size = 0;
  if (!(norm > 0)) {
    return;
  }
  for (size_t i = 0; i < d && a != NULL; i++) {
    a[i] /= norm;
  }
  for (size_t i = 0; i < d * d; i++) {
    size += rest[i] * (a != NULL ? a[i / d] * a[i % d] : i / d == i % d ? 1 / (double)d : 0);
  }
  for (size_t i = 0; i < d * d; i++) {
    double part = size * (a != NULL ? a[i / d] * a[i % d] : i / d == i % d);
    rest[i] -= part;
    to[i] += part;
  }
}

tacit_shrinkage_t tacit_shrinkage(size_t d, const double *matrix, double noise_var) {
  double square = 0, n = (double)(d * (d - 1) / 2);
  for (size_t i = 0; i < d; i++) {
    square += tacit_dot(i, matrix + i * d, matrix + i * d) / n;
  }
  double own = fmax(square - noise_var, 0) + noise_var * sqrt(2 / n); /* the latter: how well that is known */
  double trust = own / (own + noise_var);
  return (tacit_shrinkage_t){trust, noise_var, trust * noise_var};
}

/* A few entries may be large where most are not: what stands out of the noise stays. */
double tacit_shrink_entry(const tacit_shrinkage_t *by, double entry) {
  static const double standing_out = 12; /* 3.5 sds, squared */
  return entry * fmax(by->trust, 1 - standing_out * by->noise_var / (entry * entry + 1e-300));
}

double tacit_median(size_t n, double *values) {
  if (n == 0) {
    return 0;
  }
  tacit_sort_numbers(n, values);
  return n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}
