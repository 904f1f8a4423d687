#ifndef TACIT_ACCOUNT_BIT_H
#define TACIT_ACCOUNT_BIT_H

#include "account/account_internal.h"

/*
 * Accept/reject bits: the class of the pairs (Bern a(l), Bern a(l')) with |l - l'| <= sensitivity, a being
 * the acceptance probability of the event's rule (docs/theory.md, section 10).
 */

/* Acceptance probability at the log ratio lambda and its complement, both to nearly full relative precision.
 */
void tacit_bit_accept(const tacit_event_t *event, double lambda, double *accept, double *reject);

/* Pairs of Bernoulli distributions that dominate the class between them, and what they cost by order. */
typedef struct tacit_bit_class {
  const tacit_event_t *event; /* borrowed */
  double *pairs;              /* shape (n, 4): p, q, log p/q, log (1-p)/(1-q) */
  size_t n, capacity;
} tacit_bit_class_t;

/*
 * Each pair kept is worse by a share than need be, so that it covers its neighbours: fewer pairs, a looser
 * bound. The share is `spare` where the pairs cost most, and grows to `spare_far` where they cost little;
 * cells have `fineness` times their usual width, at most 1.
 */
TACIT_MUST_USE tacit_status_t tacit_bit_class_init(tacit_bit_class_t *of, const tacit_event_t *event,
                                                   double spare, double spare_far, double fineness,
                                                   tacit_error_t *err);
void tacit_bit_class_clear(tacit_bit_class_t *of);
/*
 * Upper bound of the Renyi divergence of the given order > 1 of every pair of the class, in both orders,
 * without event->rho; within 1 % of the supremum.
 */
double tacit_bit_class_renyi(const tacit_bit_class_t *of, double order);

/* rho for which the class is rho-zCDP, without event->rho; INFINITY where none is proven. */
double tacit_bit_zcdp(const tacit_event_t *event);

#endif
