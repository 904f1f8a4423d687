#ifndef TACIT_ACCOUNT_FILTER_H
#define TACIT_ACCOUNT_FILTER_H

#include "account/account_internal.h"

/* What was charged to a budget without a schedule, and what is about to be. */
typedef struct tacit_filter {
  tacit_exact_sum_t gaussian;  /* of all events, by tacit_filter_add_gaussian */
  const tacit_event_t *events; /* shape (n_events) */
  size_t n_events;
  const tacit_event_t *last; /* one more, or NULL */
} tacit_filter_t;

/* Add the part of an event's rho that does not depend on what else there is. */
void tacit_filter_add_gaussian(tacit_exact_sum_t *sum, const tacit_event_t *event);
/*
 * c such that one event of the kind (barker, arcsine, discrete Gaussian) and a Gaussian release of rho `reserve` or
 * more are dominated by a Gaussian release of c more: falling in the reserve, which may be 0; INFINITY where that is too small.
 */
double tacit_filter_cost(const tacit_event_t *event, double reserve);
/*
 * rho of the Gaussian release that dominates all events together, however adaptively they are chosen, rounded up. It
 * does not depend on their order, and no event lowers it.
 */
double tacit_filter_total(const tacit_filter_t *filter);

#endif
