/* See kernel.h; TACIT_ISA names the table (meson.build). */
#include "noise_aware/kernel.h"

#include <string.h>

/* As many lanes as the machine has: compilers keep wider vectors on the stack. Sixteen pseudo-rows are so
 * many of them. Sums of a tile of lines by lines fit its registers. */
#ifdef __AVX512F__
enum { LANES = 8, ROWS = 4, COLUMNS = 4 };
#else
enum { LANES = 4, ROWS = 2, COLUMNS = 4 };
#endif
enum { PARTS = 16 / LANES, WIDTH = 4 };
typedef double vec __attribute__((vector_size(LANES * sizeof(double))));

#define INLINE static inline __attribute__((always_inline))

INLINE vec load(const double *p) {
  vec v;
  memcpy(&v, p, sizeof v);
  return v;
}

INLINE double sum_lanes(double all[16]) {
  for (size_t i = 0; i < 4; i++) {
    all[i] = (all[i] + all[4 + i]) + (all[8 + i] + all[12 + i]);
  }
  return (all[0] + all[1]) + (all[2] + all[3]);
}

/* Some lines of f with some of c: a part of the sixteen at a time, so that all sums stay in registers. */
INLINE void project_tile(size_t n_rows, size_t n_columns, size_t n, size_t m, const double *f,
                         const double *c, double *out) {
  double all[ROWS * COLUMNS][16];
  for (size_t part = 0; part < PARTS; part++) {
    vec sums[ROWS][COLUMNS] = {{{0}}};
    for (size_t k = LANES * part; k < n; k += 16) {
      for (size_t i = 0; i < n_rows; i++) {
        vec row = load(f + i * n + k);
        for (size_t b = 0; b < n_columns; b++) {
          sums[i][b] += row * load(c + b * n + k);
        }
      }
    }
    for (size_t i = 0; i < n_rows * n_columns; i++) {
      memcpy(all[i] + LANES * part, &sums[i / n_columns][i % n_columns], sizeof(vec));
    }
  }
  for (size_t i = 0; i < n_rows * n_columns; i++) {
    out[i / n_columns * m + i % n_columns] = sum_lanes(all[i]);
  }
}

/* Lines of f from `first` on, with some of c, of which this is the first. */
INLINE void project_from(size_t first, size_t n_columns, size_t n, size_t d, size_t m, const double *f,
                         const double *c, double *out) {
  size_t i = first;
  for (; i + ROWS <= d; i += ROWS) {
    project_tile(ROWS, n_columns, n, m, f + i * n, c, out + i * m);
  }
  for (; i < d; i++) {
    project_tile(1, n_columns, n, m, f + i * n, c, out + i * m);
  }
}

static void project(size_t n, size_t d, size_t m, const double *f, const double *c, double *out) {
  size_t b = 0;
  for (; b + COLUMNS <= m; b += COLUMNS) {
    project_from(0, COLUMNS, n, d, m, f, c + b * n, out + b);
  }
  for (; b < m; b++) {
    project_from(0, 1, n, d, m, f, c + b * n, out + b);
  }
}

static void project_lower(size_t n, size_t d, const double *f, const double *c, double *out) {
  size_t b = 0;
  for (; b + COLUMNS <= d; b += COLUMNS) {
    project_from(b / ROWS * ROWS, COLUMNS, n, d, d, f, c + b * n, out + b);
  }
  for (; b < d; b++) {
    project_from(b / ROWS * ROWS, 1, n, d, d, f, c + b * n, out + b);
  }
}

/* total (width vectors) += some of rows, from k on, times as many rows of weight by c. */
INLINE void lift_tile(size_t n_rows, size_t width, size_t n, size_t m, const double *rows,
                      const double *weight, const double *c, vec total[WIDTH]) {
  vec sums[ROWS][WIDTH] = {{{0}}};
  for (size_t b = 0; b < m; b++) {
    for (size_t i = 0; i < n_rows; i++) {
      for (size_t j = 0; j < width; j++) {
        sums[i][j] += weight[i * m + b] * load(c + b * n + LANES * j);
      }
    }
  }
  for (size_t i = 0; i < n_rows; i++) {
    for (size_t j = 0; j < width; j++) {
      total[j] += sums[i][j] * load(rows + i * n + LANES * j);
    }
  }
}

INLINE void lift_lines(size_t width, size_t n, size_t d, size_t m, const double *rows, const double *weight,
                       const double *c, double *out) {
  vec total[WIDTH] = {{0}};
  size_t i = 0;
  for (; i + ROWS <= d; i += ROWS) {
    lift_tile(ROWS, width, n, m, rows + i * n, weight + i * m, c, total);
  }
  for (; i < d; i++) {
    lift_tile(1, width, n, m, rows + i * n, weight + i * m, c, total);
  }
  memcpy(out, total, width * sizeof *total);
}

static void lift(size_t n, size_t d, size_t m, const double *rows, const double *weight, const double *c,
                 double *out) {
  size_t k = 0;
  for (; k + WIDTH * LANES <= n; k += WIDTH * LANES) {
    lift_lines(WIDTH, n, d, m, rows + k, weight, c + k, out + k);
  }
  for (; k < n; k += 16) {
    lift_lines(PARTS, n, d, m, rows + k, weight, c + k, out + k);
  }
}

static void scale(size_t n, size_t d, const double *rows, const double *line, double *out) {
  for (size_t i = 0; i < d; i++) {
    for (size_t k = 0; k < n; k++) {
      out[i * n + k] = rows[i * n + k] * line[k];
    }
  }
}

/* Rows of a by WIDTH vectors of columns of b, which stay in registers. */
INLINE void multiply_tile(size_t n_rows, size_t k, size_t m, const double *a, const double *b, double *out) {
  vec sums[ROWS][WIDTH] = {{{0}}};
  for (size_t l = 0; l < k; l++) {
    for (size_t i = 0; i < n_rows; i++) {
      for (size_t j = 0; j < WIDTH; j++) {
        sums[i][j] += a[i * k + l] * load(b + l * m + LANES * j);
      }
    }
  }
  for (size_t i = 0; i < n_rows; i++) {
    memcpy(out + i * m, sums[i], sizeof sums[i]);
  }
}

/* Columns of b that fill no tile. */
static void multiply_rest(size_t width, size_t n, size_t k, size_t m, const double *a, const double *b,
                          double *out) {
  for (size_t i = 0; i < n; i++) {
    double sums[WIDTH * LANES] = {0};
    for (size_t l = 0; l < k; l++) {
      for (size_t j = 0; j < width; j++) {
        sums[j] += a[i * k + l] * b[l * m + j];
      }
    }
    memcpy(out + i * m, sums, width * sizeof *out);
  }
}

static void multiply(size_t n, size_t k, size_t m, const double *a, const double *b, double *out) {
  size_t whole = m / (WIDTH * LANES) * (WIDTH * LANES);
  for (size_t j = 0; j < whole; j += WIDTH * LANES) {
    size_t i = 0;
    for (; i + ROWS <= n; i += ROWS) {
      multiply_tile(ROWS, k, m, a + i * k, b + j, out + i * m + j);
    }
    for (; i < n; i++) {
      multiply_tile(1, k, m, a + i * k, b + j, out + i * m + j);
    }
  }
  if (whole < m) {
    multiply_rest(m - whole, n, k, m, a, b + whole, out + whole);
  }
}

#define TABLE_NAME_(isa) tacit_aware_kernel_##isa
#define TABLE_NAME(isa) TABLE_NAME_(isa)
extern const tacit_aware_kernel_t TABLE_NAME(TACIT_ISA);
const tacit_aware_kernel_t TABLE_NAME(TACIT_ISA) = {project, project_lower, lift, scale, multiply};
