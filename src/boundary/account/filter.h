#ifndef TACIT_ACCOUNT_FILTER_H
#define TACIT_ACCOUNT_FILTER_H

#include "account/account_internal.h"

/* The events of a budget without a schedule. */
typedef struct tacit_filter {
  tacit_exact_sum_t gaussian; /* of all events, the sum of tacit_filter_rho */
  const tacit_event_t *events,
      *last; /* shapes (n_events), (n_last): what was charged, and what is about to be */
  size_t n_events, n_last;
} tacit_filter_t;

/* The part of an event's rho that does not depend on what else there is, within 8 units of 2^-53 of it. */
double tacit_filter_rho(const tacit_event_t *event);
/* Is there another part, which does? It is the same for all events of the kind with the same distribution,
 * whatever their label and groups. */
bool tacit_filter_needs_reserve(const tacit_event_t *event);
/*
 * c such that one event of the kind (barker, arcsine, discrete Gaussian) and a Gaussian release of rho
 * `reserve` or more are dominated by a Gaussian release of c more: falling in the reserve, which may be 0;
 * INFINITY where that is too small.
 */
double tacit_filter_cost(const tacit_event_t *event, double reserve);
/*
 * rho of the Gaussian release that dominates all events together, however adaptively they are chosen, rounded
 * up. It does not depend on their order, and no event lowers it.
 */
double tacit_filter_total(const tacit_filter_t *filter);

#endif
