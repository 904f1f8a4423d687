/* Loops over a column's values, compiled for each instruction set; all give the same bits. */
#ifndef TACIT_DESIGN_KERNEL_H
#define TACIT_DESIGN_KERNEL_H

#include <stddef.h>

/* x -> (x clamped to [lower, upper] - centre) / half, clamped to [-1, 1] */
typedef struct tacit_design_scaling {
  double lower, upper, centre, half;
} tacit_design_scaling_t;

typedef struct tacit_design_kernel {
  void (*clamp)(size_t n, const double *x, double lower, double upper, double *out);
  void (*scale)(size_t n, const double *x, const tacit_design_scaling_t *scaling, double *out);
} tacit_design_kernel_t;

#endif
