#ifndef TACIT_ACCOUNT_INTERNAL_H
#define TACIT_ACCOUNT_INTERNAL_H

#include "base/base_internal.h"
#include "tacit/account.h"

/*
 * e^(x^2) erfc(x) for x >= 0; relative error below 4e-15 (measured against 50-digit values over [0, 1e8],
 * tests/account).
 */
double tacit_erfcx(double x);

/*
 * erfcx(a) - erfcx(a + h) for a > -1, h > 0, without cancellation for small h; relative error below 1e-14
 * (measured likewise).
 */
double tacit_erfcx_difference(double a, double h);

/* Bound on the absolute error of tacit_gaussian_log_delta, for certified rounding. */
double tacit_gaussian_log_delta_error(double rho, double epsilon);

/* Largest epsilon known to be below the exact one (the lower end of the last bracket). */
double tacit_gaussian_epsilon_lower(double rho, double log_delta);

/* A sum of non-negative terms, kept to twice the working precision. */
typedef struct tacit_exact_sum {
  double high, low;
} tacit_exact_sum_t;
void tacit_exact_sum_add(tacit_exact_sum_t *sum, double term);

/* rho of an event, within 3 units in the last place; 0 for an infinite noise multiplier. */
double tacit_event_rho(const tacit_event_t *event);
/* Certified bounds on the total of events summed by tacit_exact_sum_add. */
double tacit_rho_upper(const tacit_exact_sum_t *sum);
double tacit_rho_lower(const tacit_exact_sum_t *sum);

/* Is the event well formed: kind, multiplier > 0, count >= 1. */
TACIT_MUST_USE tacit_status_t tacit_event_check(const tacit_event_t *event, tacit_error_t *err);

#endif
