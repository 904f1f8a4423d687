/*
 * Radix-2 Fourier transforms: decimation in frequency forward and in time back, so that neither needs a
 * permutation, and simple enough for the classical error bound to be theirs.
 */
#include <float.h>
#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "account/fft.h"

static const double pi = 3.14159265358979323846;

/* exp(-2 pi i j / n), by the octant, where the argument of sine and cosine is below pi / 4 */
static void set_root(double *root, size_t j, size_t n) {
  size_t eighth = 8 * j / n; /* 0..3 for j < n / 2 */
  bool is_swapped = eighth == 1 || eighth == 2;
  double distance =
      is_swapped ? fabs((double)(4 * j) - (double)n) / 4 : (eighth == 3 ? (double)(n / 2 - j) : (double)j);
  double angle = 2 * pi * distance / (double)n, c = cos(angle), s = sin(angle);
  double cosine = is_swapped ? s : c, sine = is_swapped ? c : s;
  root[0] = 4 * j > n ? -cosine : cosine;
  root[1] = -sine;
}

tacit_status_t tacit_fft_init(tacit_fft_t *fft, unsigned log2_n, tacit_error_t *err) {
  *fft = (tacit_fft_t){.n = (size_t)1 << log2_n, .log2_n = log2_n};
  fft->roots = tacit_alloc(fft->n > 1 ? fft->n : 2, sizeof *fft->roots);
  if (fft->roots == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t j = 0; j < fft->n / 2; j++) {
    set_root(fft->roots + 2 * j, j, fft->n);
  }
  return TACIT_OK;
}

void tacit_fft_clear(tacit_fft_t *fft) {
  tacit_free(fft->roots);
  *fft = (tacit_fft_t){0};
}

/* (a, b) <- (a + b, (a - b) root) */
static inline void split(double *restrict a, double *restrict b, const double *root) {
  double re = a[0] - b[0], im = a[1] - b[1];
  a[0] += b[0];
  a[1] += b[1];
  b[0] = re * root[0] - im * root[1];
  b[1] = re * root[1] + im * root[0];
}

/* (a, b) <- (a + b conj(root), a - b conj(root)) */
static inline void merge(double *restrict a, double *restrict b, const double *root) {
  double re = b[0] * root[0] + b[1] * root[1], im = b[1] * root[0] - b[0] * root[1];
  b[0] = a[0] - re;
  b[1] = a[1] - im;
  a[0] += re;
  a[1] += im;
}

/*
 * Depth first below `cached` points, so that all further levels stay in the cache; level by level above it
 * would pass through memory log2(n) times.
 */
enum { cached = 2048 };

static void forward(const tacit_fft_t *fft, double *x, size_t n) {
  for (size_t block = n; block > 1; block /= 2) {
    size_t half = block / 2, stride = fft->n / block;
    for (size_t start = 0; start < n; start += block) {
      for (size_t j = 0; j < half; j++) {
        split(x + 2 * (start + j), x + 2 * (start + j + half), fft->roots + 2 * j * stride);
      }
    }
    if (block > cached && half <= cached) {
      for (size_t start = 0; start < n; start += half) {
        forward(fft, x + 2 * start, half);
      }
      return;
    }
  }
}

static void backward(const tacit_fft_t *fft, double *x, size_t n) {
  if (n > cached) {
    backward(fft, x, n / 2);
    backward(fft, x + n, n / 2);
  }
  for (size_t block = n > cached ? n : 2; block <= n; block *= 2) {
    size_t half = block / 2, stride = fft->n / block;
    for (size_t start = 0; start < n; start += block) {
      for (size_t j = 0; j < half; j++) {
        merge(x + 2 * (start + j), x + 2 * (start + j + half), fft->roots + 2 * j * stride);
      }
    }
  }
}

void tacit_fft_forward(const tacit_fft_t *fft, double *x) { forward(fft, x, fft->n); }

void tacit_fft_backward(const tacit_fft_t *fft, double *x) { backward(fft, x, fft->n); }

size_t tacit_fft_mirror(size_t position) {
  if (position == 0) {
    return 0;
  }
  size_t highest = (size_t)1 << (63 - __builtin_clzll((unsigned long long)position));
  return 3 * highest - 1 - position;
}

double tacit_fft_error(const tacit_fft_t *fft) {
  const double u = 0.5 * DBL_EPSILON;
  double eta = 2 * u + 4.1 * u * (1.4143 + 2 * u);
  return fft->log2_n * eta / (1 - fft->log2_n * eta);
}
