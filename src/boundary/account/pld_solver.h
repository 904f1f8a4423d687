#ifndef TACIT_ACCOUNT_PLD_SOLVER_H
#define TACIT_ACCOUNT_PLD_SOLVER_H

/* What the three parts of the composition by grids share: where to look (explore), what is there (compose),
 * what it says (pld.c). */

#include "account/fft.h"
#include "account/grid.h"
#include "account/pld.h"

enum { TACIT_PLD_MAX_LOG2_POINTS = 22, TACIT_PLD_MAX_POINTS = 1 << 21 };

/* What is asked: delta at epsilon, or epsilon at delta. */
typedef struct tacit_pld_query {
  bool is_epsilon_given;
  double epsilon, log_delta;
} tacit_pld_query_t;

typedef struct tacit_pld_range {
  double low, high;
} tacit_pld_range_t;

typedef struct tacit_pld_solver {
  const tacit_composition_t *composition;
  tacit_pld_query_t query;
  double total_count;
  double width;              /* relative, of the bracket asked for */
  tacit_pld_range_t *ranges; /* of each pair's losses, shape (n_pairs) */
  tacit_grid_t *grids;       /* coarse, for the choice of tilt and window, shape (n_pairs) */
  double tilt, epsilon;      /* c, and the epsilon around which it is right */
  double log_delta;          /* estimate there */
  double step, low, high;    /* of the composed losses */
  double margin;             /* of the Chernoff bounds; log */
  double drift;              /* allowed to the lower distribution of each use */
  double orders[2];          /* of the Chernoff bounds of the mass below low and above high */
  double log_mass;           /* K(c) of the composed upper distribution */
  double log_tail[2];        /* K(order) of the same, or of the lower one if that is larger */
  double window_error;       /* bound of the tilted mass outside [low, high] */
  double rounding;           /* bound of the error of the composed tilted masses, in Euclidean norm */
  double log_noise;          /* bound of the relative error common to the masses */
  double loss_noise;         /* bound of the rounding of the losses of all steps together */
  double target;             /* log delta that is left to finite losses, where delta is given */
  double log_finite,
      log_raise; /* log of the product of 1 - mass at an infinite loss; of the sums of masses that exceed 1 */
  double log_lower, log_ratio;     /* of the lower distributions: log of the product of finite masses, of all
                                      masses over those */
  double infinite, infinite_lower; /* mass at an infinite loss, from above and below */
  tacit_fft_t fft;
  double *work, *upper, *lower; /* shape (N, 2) each; upper and lower accumulate the transforms' product */
} tacit_pld_solver_t;

typedef struct tacit_cumulant {
  double value, slope, curve; /* K, K', K'' of the composition */
} tacit_cumulant_t;

/* Add count times the cumulants of a grid's masses, tilted by s. */
void tacit_pld_add_cumulant(tacit_cumulant_t *total, const tacit_grid_t *grid, const double *masses,
                            double count, double s);
/* Ranges, coarse grids, tilt, and the epsilon and delta around which it is right. */
TACIT_MUST_USE tacit_status_t tacit_pld_explore(tacit_pld_solver_t *solver, tacit_error_t *err);
/* A margin for which what lies outside of the window may weigh 1e-5 of the width asked for. */
double tacit_pld_first_margin(const tacit_pld_solver_t *solver);
/* low, high, orders: beyond them the tilted mass is at most e^-margin. */
void tacit_pld_set_window(tacit_pld_solver_t *solver);
void tacit_pld_clear_grids(tacit_pld_solver_t *solver);
/* Window, grids of the solver's step, and their composed tilted masses in `work`, with what bounds their
 * errors. */
TACIT_MUST_USE tacit_status_t tacit_pld_compose(tacit_pld_solver_t *solver, tacit_error_t *err);

#endif
