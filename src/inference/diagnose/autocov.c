/*
 * Autocovariance by the Wiener-Khinchin relation. Only the mean over series is needed, which saves most
 * of the transforms: two real series travel as one complex one (the real part of the autocovariance of
 * x + iy is that of x plus that of y), power spectra are added up, and one transform goes back. A few lags
 * are summed as they are.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "diagnose/diagnose_internal.h"

tacit_status_t tacit_autocov_init(tacit_autocov_t *work, size_t n, tacit_error_t *err) {
  *work = (tacit_autocov_t){.n = n, .n_fft = 2};
  while (work->n_fft < 2 * n) {
    work->n_fft *= 2;
  }
  work->wave = tacit_alloc(work->n_fft, sizeof(double));
  work->signal = tacit_alloc(work->n_fft, 2 * sizeof(double));
  work->power = tacit_alloc(work->n_fft, sizeof(double));
  if (work->wave == NULL || work->signal == NULL || work->power == NULL) {
    tacit_autocov_clear(work);
    return tacit_error_memory(err);
  }
  return TACIT_OK;
}

void tacit_autocov_clear(tacit_autocov_t *work) {
  tacit_free(work->wave);
  tacit_free(work->signal);
  tacit_free(work->power);
  *work = (tacit_autocov_t){0};
}

static void fill_wave(tacit_autocov_t *work) {
  const double two_pi = 6.283185307179586476925;
  for (size_t k = 0; k < work->n_fft / 2; k++) {
    double angle = two_pi * (double)k / (double)work->n_fft;
    work->wave[2 * k] = cos(angle);
    work->wave[2 * k + 1] = sin(angle);
  }
  work->has_wave = true;
}

/* Decimation in frequency: natural order in, bit-reversed order out. */
static void transform_to_reversed(double *z, size_t n, const double *wave) {
  for (size_t half = n / 2, stride = 1; half >= 1; half /= 2, stride *= 2) {
    for (size_t block = 0; block < n; block += 2 * half) {
      double *a = z + 2 * block, *b = a + 2 * half;
      for (size_t k = 0; k < half; k++) {
        double c = wave[2 * k * stride], s = wave[2 * k * stride + 1];
        double re = a[2 * k] - b[2 * k], im = a[2 * k + 1] - b[2 * k + 1];
        a[2 * k] += b[2 * k];
        a[2 * k + 1] += b[2 * k + 1];
        b[2 * k] = re * c - im * s;
        b[2 * k + 1] = re * s + im * c;
      }
    }
  }
}

/* Decimation in time: bit-reversed order in, natural order out; no pass is spent on reordering. */
static void transform_from_reversed(double *z, size_t n, const double *wave) {
  for (size_t half = 1, stride = n / 2; half < n; half *= 2, stride /= 2) {
    for (size_t block = 0; block < n; block += 2 * half) {
      double *a = z + 2 * block, *b = a + 2 * half;
      for (size_t k = 0; k < half; k++) {
        double c = wave[2 * k * stride], s = wave[2 * k * stride + 1];
        double re = b[2 * k] * c - b[2 * k + 1] * s, im = b[2 * k] * s + b[2 * k + 1] * c;
        b[2 * k] = a[2 * k] - re;
        b[2 * k + 1] = a[2 * k + 1] - im;
        a[2 * k] += re;
        a[2 * k + 1] += im;
      }
    }
  }
}

static void add_power(tacit_autocov_t *work, const double *x, double mean_x, const double *y, double mean_y) {
  double *z = work->signal;
  for (size_t i = 0; i < work->n; i++) {
    z[2 * i] = x[i] - mean_x;
    z[2 * i + 1] = y != NULL ? y[i] - mean_y : 0;
  }
  for (size_t i = 2 * work->n; i < 2 * work->n_fft; i++) {
    z[i] = 0;
  }
  transform_to_reversed(z, work->n_fft, work->wave);
  for (size_t i = 0; i < work->n_fft; i++) {
    work->power[i] += z[2 * i] * z[2 * i] + z[2 * i + 1] * z[2 * i + 1];
  }
}

void tacit_autocov_first(const double *x, const double *mean, size_t n_series, size_t n, size_t n_lags,
                         double *acov) {
  memset(acov, 0, n_lags * sizeof *acov);
  for (size_t c = 0; c < n_series; c++) {
    const double *series = x + c * n;
    for (size_t t = 0; t < n_lags; t++) {
      double sums[4] = {0};
      size_t i = 0;
      for (; i + 4 <= n - t; i += 4) { /* a single sum would wait for each addition */
        for (size_t k = 0; k < 4; k++) {
          sums[k] += (series[i + k] - mean[c]) * (series[i + t + k] - mean[c]);
        }
      }
      for (; i < n - t; i++) {
        sums[0] += (series[i] - mean[c]) * (series[i + t] - mean[c]);
      }
      acov[t] += ((sums[0] + sums[1]) + (sums[2] + sums[3])) / ((double)n * (double)n_series);
    }
  }
}

void tacit_autocov_mean(tacit_autocov_t *work, const double *x, const double *mean, size_t n_series,
                        double *acov) {
  if (!work->has_wave) {
    fill_wave(work);
  }
  for (size_t i = 0; i < work->n_fft; i++) {
    work->power[i] = 0;
  }
  for (size_t c = 0; c < n_series; c += 2) {
    bool has_pair = c + 1 < n_series;
    add_power(work, x + c * work->n, mean[c], has_pair ? x + (c + 1) * work->n : NULL,
              has_pair ? mean[c + 1] : 0);
  }
  /* The spectrum is real, so the sign of the exponent does not matter for the real part. */
  for (size_t i = 0; i < work->n_fft; i++) {
    work->signal[2 * i] = work->power[i];
    work->signal[2 * i + 1] = 0;
  }
  transform_from_reversed(work->signal, work->n_fft, work->wave);
  double scale = 1 / ((double)work->n_fft * (double)work->n * (double)n_series);
  for (size_t t = 0; t < work->n; t++) {
    acov[t] = work->signal[2 * t] * scale;
  }
}
