/*
 * What takes nearly all of the time, compiled once for each instruction set; all give the same bits, since
 * every operation is a single IEEE one and the order of sums is written down. n is a multiple of 16; arrays
 * hold one line of n pseudo-rows for each index.
 */
#ifndef TACIT_NOISE_AWARE_KERNEL_H
#define TACIT_NOISE_AWARE_KERNEL_H

#include <stddef.h>

typedef struct tacit_aware_kernel {
  /* out (d, m) <- f c' for f (d, n) and c (m, n) */
  void (*project)(size_t n, size_t d, size_t m, const double *f, const double *c, double *out);
  /* The same of f and c (d, n), lower triangle alone; what is above it is anything. */
  void (*project_lower)(size_t n, size_t d, const double *f, const double *c, double *out);
  /* out (n) <- sum_ib rows_ik weight_ib c_bk for rows (d, n), weight (d, m) and c (m, n) */
  void (*lift)(size_t n, size_t d, size_t m, const double *rows, const double *weight, const double *c,
               double *out);
  /* out (d, n) <- each row of rows (d, n) times line (n) */
  void (*scale)(size_t n, size_t d, const double *rows, const double *line, double *out);
  /* out (n, m) <- a (n, k) b (k, m), of any sizes */
  void (*multiply)(size_t n, size_t k, size_t m, const double *a, const double *b, double *out);
} tacit_aware_kernel_t;

/* Those for this machine's best instruction set. */
const tacit_aware_kernel_t *tacit_aware_kernel(void);

#endif
