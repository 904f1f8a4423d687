/*
 * The posterior of many features (docs/theory.md, 18.17): what is not known of them is one symmetric matrix,
 * the error of the information in a frame, whose entries are independent and of one variance; and all rounds
 * are joined in d linear combinations.
 */
#ifndef TACIT_NOISE_AWARE_WIDE_H
#define TACIT_NOISE_AWARE_WIDE_H

#include "noise_aware/noise_aware_internal.h"

/*
 * Coordinates D = L^-T theta in which the information is near the identity, L' L = (sum omega v x x')^-1.
 * That of the records, mean g L x x' L' with g = v and less where rows are shortened, is that of the
 * pseudo-rows plus `error`, each entry of which is off by an sd of sqrt(variance).
 */
typedef struct tacit_frame {
  double *whiten, *inverse; /* (d, d): L and L^-1, lower triangular */
  double *error;            /* (d, d), symmetric */
  double variance;          /* of entries off the diagonal; on it twice that */
  double *weights, *norms;  /* (n_rows): g, and |L x|^2 */
  double doubt; /* variance of such entries, were rows at the same point weighed otherwise, for each unit of
                   the relative variance of these other weights */
} tacit_frame_t;

typedef struct tacit_wide {
  const tacit_surrogate_t *surrogate;
  const tacit_rounds_t *rounds;
  const tacit_parameters_t *parameters;
  const tacit_noise_aware_settings_t *settings;
  tacit_rng_t *rng;
  tacit_frame_t frame;
  double *whiten,
      *theta; /* (TACIT_AWARE_ROUNDS, d, d), (TACIT_AWARE_ROUNDS, d): where scores were released */
  /*
   * What is evaluated: the residual constant - n sum omega a m(x . theta) is normal with variances 1 + (rho -
   * reference) gain, rho = |away|^2, bounded, with away = centre - back residual: how far theta is from where
   * scores were released, in the frame, and no further than means of responses go.
   */
  double *rows;                                       /* (d, n_rows): a */
  double *constant, *gain, *centre, *back, reference; /* (d), (d), (d), (d, d) */
  double *residual, beyond; /* (d), bounded rho - reference at the theta evaluated last */
  double likeness; /* the least eigenvalue of what the records tell, where it is 1 of the pseudo-rows:
                      tacit_wide_learn_information(); before that INFINITY */
  bool is_off;     /* rounds are joined elsewhere than around the mode: see tacit_wide_join() */
  double *lines, *work, *memory;
} tacit_wide_t;

TACIT_MUST_USE tacit_status_t tacit_wide_init(tacit_wide_t *wide, const tacit_rounds_t *rounds,
                                              const tacit_parameters_t *parameters,
                                              const tacit_noise_aware_settings_t *settings, tacit_rng_t *rng,
                                              tacit_error_t *err);
/* The same density with a workspace of its own; the rest is borrowed. Clear also after failure. */
TACIT_MUST_USE tacit_status_t tacit_wide_copy(const tacit_wide_t *of, tacit_wide_t *own, tacit_error_t *err);
void tacit_wide_clear(tacit_wide_t *wide);

/* Log density without the prior, up to a constant; grad (d) += its gradient unless NULL. */
double tacit_wide_log_density(tacit_wide_t *wide, const double *theta, double *grad);
/* precision (d, d) += Gauss-Newton approximation at the theta evaluated last. */
void tacit_wide_add_precision(tacit_wide_t *wide, double *precision);
/* out (d) <- L^-T x */
void tacit_frame_coordinates(const tacit_frame_t *frame, size_t d, const double *x, double *out);

/* ---- wide_frame.c: the frame, from the moments before the first score, and from the information, which it
 * releases ---- */

TACIT_MUST_USE tacit_status_t tacit_wide_take_moments(tacit_wide_t *wide, const tacit_round_place_t *place,
                                                      tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_wide_learn_information(tacit_wide_t *wide,
                                                           const tacit_round_place_t *place,
                                                           tacit_error_t *err);

/* ---- wide_join.c ---- */

/* Keep where the last score of the rounds was released. */
void tacit_wide_add_round(tacit_wide_t *wide);
/* Join all rounds anew, as is best around theta where the posterior's covariance has the lower factor
 * `factor` (d, d). */
TACIT_MUST_USE tacit_status_t tacit_wide_join(tacit_wide_t *wide, const double *theta, const double *factor,
                                              tacit_error_t *err);

#endif
