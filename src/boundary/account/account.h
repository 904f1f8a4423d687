/*
 * Accounts from within the boundary.
 */
#ifndef TACIT_ACCOUNT_ACCOUNT_H
#define TACIT_ACCOUNT_ACCOUNT_H

#include "tacit/account.h"

/**
 * Gaussian composition with total rho = sum count / (2 noise_multiplier^2), exact
 * [Sommer2019; Raisa2021, Theorem 3.5]:
 *
 *     delta(eps) = 1/2 [ erfc((eps - rho)/(2 sqrt rho)) - e^eps erfc((eps + rho)/(2 sqrt rho)) ]
 *
 * Natural logarithm of delta, stable down to log delta = -1e6 and below.
 * @param rho >= 0;  @param epsilon >= 0.  NaN outside the domain; -INFINITY for rho == 0.
 */
double tacit_gaussian_log_delta(double rho, double epsilon);

/** zCDP conversion epsilon = rho + 2 sqrt(rho log(1/delta)) [BunSteinke2016, Proposition 1.3]. */
double tacit_zcdp_epsilon(double rho, double log_delta);

/** Accountant i, or NULL past the last. */
const tacit_accountant_t *tacit_accountant_get(size_t i);

/**
 * Can a budget without a schedule take events of this kind: Gaussian and discrete Gaussian releases of all
 * records (the latter with an sd above one step), and bits? TACIT_ERR_ARGUMENT says why not.
 */
TACIT_MUST_USE tacit_status_t tacit_filter_check(const tacit_event_t *event, tacit_error_t *err);

/** Charge several events of a budget without a schedule, all or none: in time proportional to their number.
 */
TACIT_MUST_USE tacit_status_t tacit_budget_charge_all(tacit_budget_t *budget, const tacit_event_t *events,
                                                      size_t n_events, tacit_error_t *err);

#endif
