#ifndef TACIT_ACCOUNT_PLD_H
#define TACIT_ACCOUNT_PLD_H

#include "account/pair.h"

/* A composition of pairs; shape (n_pairs), each `count` times. */
typedef struct tacit_composition {
  const tacit_pair_t *pairs;
  size_t n_pairs;
} tacit_composition_t;

typedef struct tacit_bracket {
  double lower, upper;
} tacit_bracket_t;

/*
 * Certified bracket of the least epsilon >= 0 with delta(epsilon) <= exp(log_delta), by privacy loss
 * distributions on a grid. The grid is refined until upper - lower <= width * upper, as long as 2^22 points
 * suffice.
 */
TACIT_MUST_USE tacit_status_t tacit_pld_epsilon(const tacit_composition_t *composition, double log_delta,
                                                double width, tacit_bracket_t *epsilon, tacit_error_t *err);
/* Certified bracket of log delta(epsilon); the lower end may be -INFINITY. */
TACIT_MUST_USE tacit_status_t tacit_pld_log_delta(const tacit_composition_t *composition, double epsilon,
                                                  double width, tacit_bracket_t *log_delta,
                                                  tacit_error_t *err);

#endif
