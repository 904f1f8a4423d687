#ifndef TACIT_ACCOUNT_RENYI_H
#define TACIT_ACCOUNT_RENYI_H

#include "account/pair.h"

/*
 * Renyi and concentrated differential privacy of events of any kind with a proven bound; TACIT_ERR_ARGUMENT
 * for others. Each function is given log(delta), or epsilon and answers with log delta; the order that
 * attains the bound goes to *order.
 */
typedef struct tacit_renyi_query {
  tacit_relation_t relation;
  bool is_epsilon_given;
  double epsilon, log_delta;
  bool is_quick; /* bits a few per cent looser */
} tacit_renyi_query_t;

/* Total Renyi divergence of the events at an order > 1. */
TACIT_MUST_USE tacit_status_t tacit_renyi_total(const tacit_event_t *events, size_t n_events,
                                                tacit_relation_t relation, double order, double *total,
                                                tacit_error_t *err);
/* The improved conversion [Canonne2020, Proposition 12] over continuous orders. */
TACIT_MUST_USE tacit_status_t tacit_renyi_bound(const tacit_event_t *events, size_t n_events,
                                                const tacit_renyi_query_t *query, double *answer,
                                                double *order, tacit_error_t *err);
/* The moments accountant of Abadi et al. (2016): integer orders 2..256 and the classical conversion.
 * Gaussians only. */
TACIT_MUST_USE tacit_status_t tacit_moments_bound(const tacit_event_t *events, size_t n_events,
                                                  const tacit_renyi_query_t *query, double *answer,
                                                  double *order, tacit_error_t *err);
/* Renyi divergence of a mixture of Gaussians, the larger direction, rounded up; opposed: against its mirror
 * image, else against N(0, 1). */
double tacit_mixture_renyi(const tacit_pair_t *pair, bool is_opposed, double order);
/* Total rho of zCDP, rounded up. */
TACIT_MUST_USE tacit_status_t tacit_zcdp_total(const tacit_event_t *events, size_t n_events, double *rho,
                                               tacit_error_t *err);

#endif
