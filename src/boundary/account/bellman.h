#ifndef TACIT_ACCOUNT_BELLMAN_H
#define TACIT_ACCOUNT_BELLMAN_H

#include "account/pld.h"

/*
 * Certified upper bounds of what events cost that are made in the order listed: accept/reject bits with their
 * Gaussian releases, by dynamic programming over the likelihood ratio in blocks (docs/theory.md,
 * section 10.5), and Gaussian releases of all records. The least epsilon with delta(epsilon) <=
 * exp(log_delta), and log delta(epsilon). TACIT_ERR_ARGUMENT for other events and for bits too fine or too
 * coarse to be followed. A width below 1e-3 makes covering and grid finer in proportion; 0 stands for 1e-3.
 * What `bellman` keeps of earlier questions changes the time that an answer takes, not the answer.
 */
TACIT_MUST_USE tacit_status_t tacit_bellman_epsilon(tacit_bellman_t *bellman, const tacit_event_t *events,
                                                    size_t n, double log_delta, double width, double *epsilon,
                                                    tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_bellman_log_delta(tacit_bellman_t *bellman, const tacit_event_t *events,
                                                      size_t n, double epsilon, double width,
                                                      double *log_delta, tacit_error_t *err);

#endif
