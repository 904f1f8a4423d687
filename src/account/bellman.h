#ifndef TACIT_ACCOUNT_BELLMAN_H
#define TACIT_ACCOUNT_BELLMAN_H

#include "account/pld.h"

/*
 * Certified upper bounds of what `event`, an accept/reject bit with its Gaussian releases, costs when made event->count times,
 * by dynamic programming over the likelihood ratio in blocks (docs/theory.md, section 10.5): the least epsilon with
 * delta(epsilon) <= exp(log_delta), and log delta(epsilon).
 */
TACIT_MUST_USE tacit_status_t tacit_bellman_epsilon(const tacit_event_t *event, double log_delta, double *epsilon,
                                                    tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_bellman_log_delta(const tacit_event_t *event, double epsilon, double *log_delta,
                                                      tacit_error_t *err);

#endif
