#ifndef TACIT_ACCOUNT_CONTOUR_H
#define TACIT_ACCOUNT_CONTOUR_H

#include "account/pld.h"

/*
 * Certified brackets for compositions of Gaussian releases, unsampled or (add-remove) Poisson sampled with or
 * without multiplicities, by numerical inversion of the composed moment generating function: fast and narrow
 * for many compositions. Where too few compositions of a small rate, or too large a tilt, make that too
 * costly, the bracket is trivial: 0 and INFINITY for epsilon, -INFINITY and 0 for log delta.
 */
bool tacit_contour_applies(const tacit_event_t *events, size_t n, tacit_relation_t relation);

/* The least epsilon >= 0 with delta(epsilon) <= exp(log_delta). The events are well formed and
 * tacit_contour_applies. */
TACIT_MUST_USE tacit_status_t tacit_contour_epsilon(const tacit_event_t *events, size_t n,
                                                    tacit_direction_t direction, double log_delta,
                                                    tacit_bracket_t *epsilon, tacit_error_t *err);
/* log delta(epsilon), epsilon >= 0 */
TACIT_MUST_USE tacit_status_t tacit_contour_log_delta(const tacit_event_t *events, size_t n,
                                                      tacit_direction_t direction, double epsilon,
                                                      tacit_bracket_t *log_delta, tacit_error_t *err);
/* The same, but planned to be exact to e^-digits only: with few of them the bounds of the errors can be seen
 * at work. */
TACIT_MUST_USE tacit_status_t tacit_contour_log_delta_planned(const tacit_event_t *events, size_t n,
                                                              tacit_direction_t direction, double epsilon,
                                                              double digits, tacit_bracket_t *log_delta,
                                                              tacit_error_t *err);

#endif
