#ifndef TACIT_ACCOUNT_MOMENT_MESH_H
#define TACIT_ACCOUNT_MOMENT_MESH_H

/* What moment.c integrates, on a coarse mesh of bounds, and the step of x that is fine enough. */

#include "account/moment.h"

enum { TACIT_MOMENT_MAX_CELLS = 2048, TACIT_MOMENT_MAX_NODES = 8192, TACIT_MOMENT_N_BEYOND = 24 };

/* Everything is integrated to where the slope of the log of the integrand is at least this. */
static const double tacit_moment_reach = 10;

struct tacit_moment_work {
  /* coarse mesh: n cells of width `width`, n + 1 edges */
  size_t n;
  double width, exponent, m;
  bool is_add;
  double x[TACIT_MOMENT_MAX_CELLS + 1], log_ratio[TACIT_MOMENT_MAX_CELLS + 1],
      mean[TACIT_MOMENT_MAX_CELLS + 1];
  double density[TACIT_MOMENT_MAX_CELLS + 1]; /* log of e^(-x^2/2) r^e */
  double ceiling[TACIT_MOMENT_MAX_CELLS];     /* its largest value on a cell */
  double beyond[TACIT_MOMENT_N_BEYOND];       /* mean at 1, 2, ... to the right of the mesh */
  double log_scale;                           /* estimate of log M(c) */
  /* fine nodes, n_nodes of them, filled up with zeros to whole lanes */
  size_t n_nodes;
  double ratio[TACIT_MOMENT_MAX_NODES], mass[TACIT_MOMENT_MAX_NODES], node_mean[TACIT_MOMENT_MAX_NODES];
  double re[TACIT_MOMENT_MAX_NODES], im[TACIT_MOMENT_MAX_NODES], turn_re[TACIT_MOMENT_MAX_NODES],
      turn_im[TACIT_MOMENT_MAX_NODES];
};

typedef struct tacit_moment_point {
  double log_ratio; /* log r */
  double mean;      /* sum_k k w_k e^(...) / r = (log r)' / m */
  double noise;     /* bound of the error of log_ratio, in units of 2^-53, that of m included */
} tacit_moment_point_t;

tacit_moment_point_t tacit_moment_point(const tacit_factor_t *f, double x);
/* The mesh for the point c of the line, without ceilings. False where it would take too many cells, or
 * overflow. */
bool tacit_moment_scan(tacit_moment_work_t *work, const tacit_factor_t *f, double c, bool is_add);
void tacit_moment_raise_ceilings(tacit_moment_work_t *work, const tacit_factor_t *f);
/* The largest step found for which 2 N(a) / (e^(2 pi a / step) - 1) <= e^log_error for some a, |t| <= from.
 */
double tacit_moment_choose_step(tacit_moment_work_t *work, const tacit_factor_t *f, double from,
                                double log_error);

#endif
