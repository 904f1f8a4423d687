/* Items counted at random as often as what they are worth says: exact coins of decisions by minibatch. Not
 * installed. */
#ifndef TACIT_RANDOM_TALLY_H
#define TACIT_RANDOM_TALLY_H

#include "random/noise.h"

enum {
  TACIT_TALLY_BATCH = 1024
}; /* items asked for at a time, so that the source of noise is checked once for all */

/* x (n) <- what n <= TACIT_TALLY_BATCH items are worth: whole numbers of 2^-32, at most b in size. */
typedef void (*tacit_tally_function)(void *user, size_t n, const uint64_t *items, double *x);

/*
 * Item i < n is counted Poisson(a + (b - x_i) / 2) times and adds log((a + (b + x_i) / 2) / (a + (b - x_i) /
 * 2)) each time; a, b > 0 in units of 2^-32, at most 2^40. Only items that might be counted are asked for, n
 * (a + b) of them in the mean, one as often as drawn. *sum <- in units of 2^-32, moved to +-2^62 beyond.
 * Errors: as tacit_noise_rounded_gaussian().
 */
TACIT_MUST_USE tacit_status_t tacit_noise_tally(tacit_noise_t *noise, uint64_t n, int64_t a, int64_t b,
                                                tacit_tally_function function, void *user, int64_t *sum,
                                                tacit_error_t *err);
/* log((most + x) / (most - x)) in units of 2^-32, odd in x to the last bit; |x| < most. n is a multiple
 * of 32. */
typedef void tacit_log_odds_function(size_t n, double most, const double *x, int64_t *out);
tacit_log_odds_function tacit_log_odds;

#endif
