#ifndef TACIT_ACCOUNT_GRID_H
#define TACIT_ACCOUNT_GRID_H

#include "account/pair.h"

/*
 * Two discrete pairs on the losses (first + i) step, i = 0..n-1: `upper` dominates the pair, `lower` is
 * dominated by it. Masses are those under P. `infinite` belongs to upper, infinite_lower to lower.
 */
typedef struct tacit_grid {
  double step;
  int64_t first;
  size_t n;
  double *upper, *lower; /* shape (n) */
  double infinite, infinite_lower;
  double loss_error; /* bound of the rounding of a loss */
} tacit_grid_t;

/*
 * Losses outside [low, high] are treated on the safe side: for upper, those below are raised to low, and what
 * exceeds high becomes infinite; for lower both are left out.
 *
 * Where the distribution begins within a cell, lower either begins with the next one, or has more of Q than Q
 * has, by no more than `drift`: the losses of a composition then drift by that much each time.
 */
TACIT_MUST_USE tacit_status_t tacit_grid_init(tacit_grid_t *grid, const tacit_pair_t *pair, double step,
                                              double low, double high, double drift, tacit_error_t *err);
void tacit_grid_clear(tacit_grid_t *grid);

#endif
