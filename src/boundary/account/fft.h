#ifndef TACIT_ACCOUNT_FFT_H
#define TACIT_ACCOUNT_FFT_H

#include "tacit/base.h"

/* A complex Fourier transform of n = 2^log2_n points, with its table of roots of unity. */
typedef struct tacit_fft {
  size_t n;
  unsigned log2_n;
  double *roots; /* shape (n / 2, 2): exp(-2 pi i j / n) */
} tacit_fft_t;

/* TACIT_ERR_MEMORY only. */
TACIT_MUST_USE tacit_status_t tacit_fft_init(tacit_fft_t *fft, unsigned log2_n, tacit_error_t *err);
void tacit_fft_clear(tacit_fft_t *fft);

/* x, shape (n, 2), <- sum_j x_j exp(-2 pi i j k / n), in bit-reversed order of k. */
void tacit_fft_forward(const tacit_fft_t *fft, double *x);
/* The inverse times n, from bit-reversed to natural order. */
void tacit_fft_backward(const tacit_fft_t *fft, double *x);
/*
 * In bit-reversed order, the position of frequency -k where `position` is that of k. Zero is its own.
 */
size_t tacit_fft_mirror(size_t position);

/*
 * Bound of ||computed - exact||_2 / ||exact||_2 of either direction [Higham2002, Theorem 24.2]: radix 2,
 * roots within an error of 2 units.
 */
double tacit_fft_error(const tacit_fft_t *fft);

#endif
