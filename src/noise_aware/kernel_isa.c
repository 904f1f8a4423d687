/* See kernel.h; TACIT_ISA names the table (meson.build). */
#include "noise_aware/kernel.h"

#include <string.h>

/* Four lanes: compilers keep wider vectors on the stack where the machine has none. Sixteen pseudo-rows are four of them. */
typedef double v4d __attribute__((vector_size(32)));

#define INLINE static inline __attribute__((always_inline))

INLINE v4d load(const double *p) {
  v4d v;
  memcpy(&v, p, sizeof v);
  return v;
}

INLINE double sum_lanes(const v4d sums[4]) {
  v4d all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  return (all[0] + all[1]) + (all[2] + all[3]);
}

static void project(size_t n, size_t d, size_t m, const double *f, const double *c, double *out) {
  for (size_t b = 0; b < m; b++) {
    const double *line = c + b * n;
    size_t i = 0;
    for (; i + 2 <= d; i += 2) { /* two at a time share the loads of c */
      const double *f0 = f + i * n, *f1 = f0 + n;
      v4d first[4] = {{0}}, second[4] = {{0}};
      for (size_t k = 0; k < n; k += 16) {
        for (size_t part = 0; part < 4; part++) {
          v4d x = load(line + k + 4 * part);
          first[part] += load(f0 + k + 4 * part) * x;
          second[part] += load(f1 + k + 4 * part) * x;
        }
      }
      out[i * m + b] = sum_lanes(first);
      out[(i + 1) * m + b] = sum_lanes(second);
    }
    for (; i < d; i++) {
      v4d only[4] = {{0}};
      for (size_t k = 0; k < n; k += 16) {
        for (size_t part = 0; part < 4; part++) {
          only[part] += load(f + i * n + k + 4 * part) * load(line + k + 4 * part);
        }
      }
      out[i * m + b] = sum_lanes(only);
    }
  }
}

static void lift(size_t n, size_t d, size_t m, const double *rows, const double *weight, const double *c, double *out) {
  for (size_t k = 0; k < n; k += 16) {
    v4d total[4] = {{0}};
    for (size_t i = 0; i < d; i++) {
      v4d inner[4] = {{0}};
      for (size_t b = 0; b < m; b++) {
        for (size_t part = 0; part < 4; part++) {
          inner[part] += weight[i * m + b] * load(c + b * n + k + 4 * part);
        }
      }
      for (size_t part = 0; part < 4; part++) {
        total[part] += inner[part] * load(rows + i * n + k + 4 * part);
      }
    }
    memcpy(out + k, total, sizeof total);
  }
}

#define TABLE_NAME_(isa) tacit_aware_kernel_##isa
#define TABLE_NAME(isa) TABLE_NAME_(isa)
extern const tacit_aware_kernel_t TABLE_NAME(TACIT_ISA);
const tacit_aware_kernel_t TABLE_NAME(TACIT_ISA) = {project, lift};
