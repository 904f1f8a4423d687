#include "formula/design_internal.h"
#include "formula/design_kernel.h"

static void clamp(size_t n, const double *restrict x, double lower, double upper, double *restrict out) {
  for (size_t i = 0; i < n; i++) {
    out[i] = tacit_design_clamp(x[i], lower, upper);
  }
}

static void scale(size_t n, const double *restrict x, const tacit_design_scaling_t *scaling,
                  double *restrict out) {
  const tacit_design_scaling_t s = *scaling;
  for (size_t i = 0; i < n; i++) {
    out[i] = tacit_design_clamp((tacit_design_clamp(x[i], s.lower, s.upper) - s.centre) / s.half, -1, 1);
  }
}

#define TABLE_NAME_(isa) tacit_design_kernel_##isa
#define TABLE_NAME(isa) TABLE_NAME_(isa)
extern const tacit_design_kernel_t TABLE_NAME(TACIT_ISA);
const tacit_design_kernel_t TABLE_NAME(TACIT_ISA) = {clamp, scale};
