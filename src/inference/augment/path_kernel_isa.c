/* The kernels of path_kernel.h for one instruction set, TACIT_ISA naming the table. */
#include "augment/path_kernel.h"
#include "base/vector.h"

enum { PIECES = TACIT_PATH_LANES / DOUBLE_LANES };
#define EACH_PIECE(k) _Pragma("GCC unroll 4") for (size_t k = 0; k < PIECES; k++)

typedef struct lanes {
  vdouble first[PIECES], second[PIECES], z[PIECES], square[PIECES];
  vdouble inside[PIECES], inside_c[PIECES], inside_z[PIECES], inside_cz[PIECES];
} lanes_t;

TACIT_INLINE double total(const vdouble x[PIECES]) {
  double lane[TACIT_PATH_LANES];
  memcpy(lane, x, sizeof lane);
  return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

static void finish(const lanes_t *lanes, tacit_path_sums_t *sums) {
  *sums = (tacit_path_sums_t){.first = total(lanes->first),
                              .second = total(lanes->second),
                              .z = total(lanes->z),
                              .square = total(lanes->square),
                              .inside = total(lanes->inside),
                              .inside_c = total(lanes->inside_c),
                              .inside_z = total(lanes->inside_z),
                              .inside_cz = total(lanes->inside_cz)};
}

/* Piece k of eight records; present: 1, or 0 for padding, whose z is 0. */
TACIT_INLINE void add_point(lanes_t *sums, size_t k, vdouble z, vdouble present, const tacit_path_point_t *at,
                            bool is_full) {
  vdouble x = at->mean + at->sd * z;
  vlong below = x<at->lower, above = x> at->upper;
  vdouble c = vdouble_select(below, vdouble_set(at->lower), vdouble_select(above, vdouble_set(at->upper), x));
  vdouble inside = (vdouble)(~(below | above) & (vlong)present);
  sums->first[k] += present * c;
  sums->z[k] += z;
  sums->square[k] += z * z;
  sums->inside[k] += inside;
  if (is_full) {
    sums->second[k] += present * (c * c);
    sums->inside_c[k] += inside * c;
    sums->inside_z[k] += inside * z;
    sums->inside_cz[k] += inside * c * z;
  }
}

TACIT_INLINE void evaluate_as(size_t n, const tacit_path_point_t *at, const double *z, double shift,
                              bool is_full, tacit_path_sums_t *out) {
  lanes_t sums = {0};
  size_t i = 0;
  for (; i + TACIT_PATH_LANES <= n; i += TACIT_PATH_LANES) {
    EACH_PIECE(k) {
      add_point(&sums, k, vdouble_load(z + i + k * DOUBLE_LANES) + shift, vdouble_set(1), at, is_full);
    }
  }
  if (i < n) {
    double present[TACIT_PATH_LANES] = {0};
    for (size_t lane = 0; i + lane < n; lane++) {
      present[lane] = 1;
    }
    EACH_PIECE(k) {
      vdouble is_there = vdouble_load(present + k * DOUBLE_LANES);
      add_point(&sums, k, is_there * (vdouble_load(z + i + k * DOUBLE_LANES) + shift), is_there, at, is_full);
    }
  }
  finish(&sums, out);
}

static void evaluate(size_t n, const tacit_path_point_t *at, const double *z, double shift,
                     tacit_path_sums_t *sums) {
  at->is_full ? evaluate_as(n, at, z, shift, true, sums) : evaluate_as(n, at, z, shift, false, sums);
}

/* Derivative of the log density in z. */
TACIT_INLINE vdouble gradient(const tacit_path_leap_t *leap, vdouble z, bool is_full) {
  const tacit_path_point_t *at = &leap->before;
  vdouble x = at->mean + at->sd * z;
  vlong outside = (x < at->lower) | (x > at->upper);
  vdouble force = is_full ? leap->force + leap->force_c * x : vdouble_set(leap->force);
  return (vdouble)(~outside & (vlong)force) - z;
}

TACIT_INLINE void advance_piece(lanes_t *sums, size_t k, const tacit_path_leap_t *leap,
                                const tacit_path_point_t *after, double *zs, double *momenta, vdouble present,
                                bool is_full) {
  vdouble z = vdouble_load(zs),
          momentum = vdouble_load(momenta) + leap->kick * (present * gradient(leap, z, is_full));
  z += present * (leap->step * (momentum + leap->common));
  vdouble_store(momenta, momentum);
  vdouble_store(zs, z);
  add_point(sums, k, z, present, after, is_full);
}

TACIT_INLINE void advance_as(size_t n, const tacit_path_leap_t *leap, const tacit_path_point_t *after,
                             double *z, double *momenta, bool is_full, tacit_path_sums_t *out) {
  lanes_t sums = {0};
  size_t i = 0;
  for (; i + TACIT_PATH_LANES <= n; i += TACIT_PATH_LANES) {
    EACH_PIECE(k) {
      size_t at = i + k * DOUBLE_LANES;
      advance_piece(&sums, k, leap, after, z + at, momenta + at, vdouble_set(1), is_full);
    }
  }
  if (i < n) {
    double present[TACIT_PATH_LANES] = {0};
    for (size_t lane = 0; i + lane < n; lane++) {
      present[lane] = 1;
    }
    EACH_PIECE(k) {
      size_t at = i + k * DOUBLE_LANES;
      advance_piece(&sums, k, leap, after, z + at, momenta + at, vdouble_load(present + k * DOUBLE_LANES),
                    is_full);
    }
  }
  finish(&sums, out);
}

static void advance(size_t n, const tacit_path_leap_t *leap, const tacit_path_point_t *after, double *z,
                    double *momenta, tacit_path_sums_t *sums) {
  after->is_full ? advance_as(n, leap, after, z, momenta, true, sums)
                 : advance_as(n, leap, after, z, momenta, false, sums);
}

#define TABLE_NAME_(isa) tacit_path_kernel_##isa
#define TABLE_NAME(isa) TABLE_NAME_(isa)
const tacit_path_kernel_t TABLE_NAME(TACIT_ISA) = {evaluate, advance};
