/*
 * The passes of Hamiltonian paths over all records, compiled once for each instruction set (meson.build); all
 * give the same bits, since every operation is a single IEEE one and sums go by eight lanes on all.
 */
#ifndef TACIT_AUGMENT_PATH_KERNEL_H
#define TACIT_AUGMENT_PATH_KERNEL_H

#include <stddef.h>

enum { TACIT_PATH_LANES = 8 };

/* What one pass over z sums: statistics, z^2, and derivatives of the statistics. */
typedef struct tacit_path_sums {
  double first, second;    /* t(x) */
  double z, square;        /* z and z^2 */
  double inside, inside_c; /* 1 and clamp(x) where x lies between the bounds */
  double inside_z, inside_cz;
} tacit_path_sums_t;

/* x = mean + sd z, clamped to [lower, upper]; is_full: sum also what a square, or an unknown sd, needs. */
typedef struct tacit_path_point {
  double mean, sd, lower, upper;
  int is_full;
} tacit_path_point_t;

/* A kick by `kick` times the derivative of the log density in z at `before`, then a drift by `step` times
 * (momentum + common). */
typedef struct tacit_path_leap {
  tacit_path_point_t before;
  double force, force_c; /* of the noise on x: force + force_c x, where x is inside */
  double kick, step, common;
} tacit_path_leap_t;

/* z and momenta are padded to a multiple of TACIT_PATH_LANES. */
typedef struct tacit_path_kernel {
  void (*evaluate)(size_t n, const tacit_path_point_t *at, const double *z, double shift,
                   tacit_path_sums_t *sums);
  /* Moves z and momenta, and evaluates at `after`. */
  void (*advance)(size_t n, const tacit_path_leap_t *leap, const tacit_path_point_t *after, double *z,
                  double *momenta, tacit_path_sums_t *sums);
} tacit_path_kernel_t;

/* Those for this machine's best instruction set. */
const tacit_path_kernel_t *tacit_path_kernel(void);

#endif
