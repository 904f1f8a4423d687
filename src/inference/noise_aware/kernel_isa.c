/* See kernel.h; TACIT_ISA names the table (meson.build). */
#include "noise_aware/kernel.h"

#include <string.h>

/* As many lanes as the machine has: compilers keep wider vectors on the stack. Sixteen pseudo-rows are so
 * many of them. */
#ifdef __AVX512F__
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
enum { ROWS = LANES / 2, PARTS = 16 / LANES, TILE = 32 };
typedef double vec __attribute__((vector_size(LANES * sizeof(double))));

#define INLINE static inline __attribute__((always_inline))

INLINE vec load(const double *p) {
  vec v;
  memcpy(&v, p, sizeof v);
  return v;
}

INLINE double sum_lanes(const vec sums[PARTS]) {
  double all[16];
  memcpy(all, sums, sizeof all);
  for (size_t i = 0; i < 4; i++) {
    all[i] = (all[i] + all[4 + i]) + (all[8 + i] + all[12 + i]);
  }
  return (all[0] + all[1]) + (all[2] + all[3]);
}

/* Some lines of f at a time share the loads of c. */
INLINE void project_lines(size_t n_lines, size_t n, size_t m, const double *f, const double *line,
                          double *out) {
  vec sums[ROWS][PARTS] = {{{0}}};
  for (size_t k = 0; k < n; k += 16) {
    for (size_t part = 0; part < PARTS; part++) {
      vec x = load(line + k + LANES * part);
      for (size_t i = 0; i < n_lines; i++) {
        sums[i][part] += load(f + i * n + k + LANES * part) * x;
      }
    }
  }
  for (size_t i = 0; i < n_lines; i++) {
    out[i * m] = sum_lanes(sums[i]);
  }
}

/* Lines of f from `first` on, with line b of c. */
INLINE void project_from(size_t first, size_t n, size_t d, size_t m, size_t b, const double *f,
                         const double *c, double *out) {
  size_t i = first;
  for (; i + ROWS <= d; i += ROWS) {
    project_lines(ROWS, n, m, f + i * n, c + b * n, out + i * m + b);
  }
  for (; i < d; i++) {
    project_lines(1, n, m, f + i * n, c + b * n, out + i * m + b);
  }
}

static void project(size_t n, size_t d, size_t m, const double *f, const double *c, double *out) {
  for (size_t b = 0; b < m; b++) {
    project_from(0, n, d, m, b, f, c, out);
  }
}

static void project_lower(size_t n, size_t d, const double *f, const double *c, double *out) {
  for (size_t b = 0; b < d; b++) {
    project_from(b / ROWS * ROWS, n, d, d, b, f, c, out);
  }
}

static void lift(size_t n, size_t d, size_t m, const double *rows, const double *weight, const double *c,
                 double *out) {
  for (size_t k = 0; k < n; k += 16) {
    vec total[PARTS] = {{0}};
    for (size_t i = 0; i < d; i++) {
      vec inner[PARTS] = {{0}};
      for (size_t b = 0; b < m; b++) {
        for (size_t part = 0; part < PARTS; part++) {
          inner[part] += weight[i * m + b] * load(c + b * n + k + LANES * part);
        }
      }
      for (size_t part = 0; part < PARTS; part++) {
        total[part] += inner[part] * load(rows + i * n + k + LANES * part);
      }
    }
    memcpy(out + k, total, sizeof total);
  }
}

static void scale(size_t n, size_t d, const double *rows, const double *line, double *out) {
  for (size_t i = 0; i < d; i++) {
    for (size_t k = 0; k < n; k++) {
      out[i * n + k] = rows[i * n + k] * line[k];
    }
  }
}

/* A tile of a row stays in registers. */
INLINE void multiply_tile(size_t width, size_t k, size_t m, const double *a, const double *b, double *out) {
  double sums[TILE] = {0};
  for (size_t l = 0; l < k; l++) {
    for (size_t j = 0; j < width; j++) {
      sums[j] += a[l] * b[l * m + j];
    }
  }
  memcpy(out, sums, width * sizeof *out);
}

static void multiply(size_t n, size_t k, size_t m, const double *a, const double *b, double *out) {
  size_t whole = m / TILE * TILE;
  for (size_t j = 0; j < whole; j += TILE) {
    for (size_t i = 0; i < n; i++) {
      multiply_tile(TILE, k, m, a + i * k, b + j, out + i * m + j);
    }
  }
  for (size_t i = 0; i < n && whole < m; i++) {
    multiply_tile(m - whole, k, m, a + i * k, b + whole, out + i * m + whole);
  }
}

#define TABLE_NAME_(isa) tacit_aware_kernel_##isa
#define TABLE_NAME(isa) TABLE_NAME_(isa)
extern const tacit_aware_kernel_t TABLE_NAME(TACIT_ISA);
const tacit_aware_kernel_t TABLE_NAME(TACIT_ISA) = {project, project_lower, lift, scale, multiply};
