#ifndef TACIT_ACCOUNT_INTERNAL_H
#define TACIT_ACCOUNT_INTERNAL_H

#include "tacit/account.h"

/* ---- functions: relative errors measured against 50-digit values (tests/account) ---- */

/* e^(x^2) erfc(x) for x >= 0; relative error below 1e-15. */
double tacit_erfcx(double x);
/* (erfcx(a) - erfcx(a + h)) / h for a, h >= 0, its limit -erfcx'(a) at h = 0; relative error below 2e-15. */
double tacit_erfcx_slope(double a, double h);

/* ---- the Gaussian profile and the conversions ---- */

/* Bound on the absolute error of tacit_gaussian_log_delta(rho, epsilon). */
double tacit_gaussian_log_delta_error(double rho, double epsilon);
/* An epsilon not above the least that holds at (rho, log_delta): the counterpart of tacit_gaussian_epsilon.
 */
double tacit_gaussian_epsilon_lower(double rho, double log_delta);
/* Upper bounds of log delta at epsilon by the three methods; 0 where a bound says nothing, -INFINITY for rho
 * == 0. */
double tacit_gaussian_log_delta_upper(double rho, double epsilon);
double tacit_zcdp_log_delta(double rho, double epsilon);
double tacit_rdp_gaussian_log_delta(double rho, double epsilon);

/* log(delta), rounded so that it is certainly below or above, and back, rounded up and at most 1. */
double tacit_log_below(double delta);
double tacit_log_above(double delta);
double tacit_exp_above(double log_delta);

/* ---- sums of rho ---- */

/* A sum of non-negative terms, kept to twice the working precision. */
typedef struct tacit_exact_sum {
  double high, low;
} tacit_exact_sum_t;
void tacit_exact_sum_add(tacit_exact_sum_t *sum, double term);

/* rho of a Gaussian event within 4 units of 2^-53, but at least DBL_MIN; 0 for an infinite noise multiplier.
 */
double tacit_event_rho(const tacit_event_t *event);
/* Certified bounds on the total of events summed by tacit_exact_sum_add. */
double tacit_rho_upper(const tacit_exact_sum_t *sum);
double tacit_rho_lower(const tacit_exact_sum_t *sum);

/* ---- arguments ---- */

/* The largest count of an event. */
#define TACIT_MAX_COUNT UINT64_C(1000000000000000000)

/* Is the event well formed: kind known, multiplier > 0, 1 <= count <= TACIT_MAX_COUNT, label terminated. */
TACIT_MUST_USE tacit_status_t tacit_event_check(const tacit_event_t *event, tacit_error_t *err);
/* The same, noise and rates of 0 allowed: of what they cost accountants may be asked, but no budget takes
 * them. */
TACIT_MUST_USE tacit_status_t tacit_event_check_limits(const tacit_event_t *event, tacit_error_t *err);
/* Does the event cost nothing, its noise being infinite or its rate 0? */
bool tacit_event_is_free(const tacit_event_t *event);
/* Is its cost governed by a noise_multiplier; and is that 0, with records to be seen? */
bool tacit_event_is_scaled(const tacit_event_t *event);
bool tacit_event_is_bare(const tacit_event_t *event);
/* Is it an accept/reject bit, or a Gaussian release of all records? */
bool tacit_event_is_bit(const tacit_event_t *event);
bool tacit_event_is_gaussian(const tacit_event_t *event);
/* Bits that are made after the Gaussian releases of all of them: `together`, or 1 where that is nothing to
 * them. */
uint64_t tacit_event_group(const tacit_event_t *event);
/* The count with an unfinished group as a whole one: its Gaussian releases come before any of its bits. */
uint64_t tacit_event_whole_count(const tacit_event_t *event);
/* An order of mechanisms, whatever their counts and labels; 0 for the same one. */
int tacit_event_compare(const tacit_event_t *left, const tacit_event_t *right);
/* Is delta in (0, 1). */
TACIT_MUST_USE tacit_status_t tacit_delta_check(double delta, tacit_error_t *err);
/* Is epsilon finite and not negative. */
TACIT_MUST_USE tacit_status_t tacit_epsilon_check(double epsilon, tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_events_check(const tacit_event_t *events, size_t n_events,
                                                 tacit_error_t *err);
/* Gaussian releases of all records, or free ones, and nothing else? */
bool tacit_events_are_gaussian(const tacit_event_t *events, size_t n_events);

/* ---- questions about other counts, epsilons or deltas of the same events: what bits take long for is kept
 * from one to the next ---- */

typedef struct tacit_followed tacit_followed_t;
/* Steps of bits that were followed; starts as {NULL}. */
typedef struct tacit_bellman {
  tacit_followed_t *first;
} tacit_bellman_t;
void tacit_bellman_clear(tacit_bellman_t *bellman);
/* tacit_account_epsilon() and tacit_account_delta(), the same answers; bellman: NULL keeps nothing. */
TACIT_MUST_USE tacit_status_t tacit_account_epsilon_again(tacit_bellman_t *bellman,
                                                          const tacit_accountant_t *accountant,
                                                          const tacit_event_t *events, size_t n_events,
                                                          const tacit_account_options_t *options,
                                                          double delta, tacit_guarantee_t *guarantee,
                                                          tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_account_delta_again(tacit_bellman_t *bellman,
                                                        const tacit_accountant_t *accountant,
                                                        const tacit_event_t *events, size_t n_events,
                                                        const tacit_account_options_t *options,
                                                        double epsilon, tacit_guarantee_t *guarantee,
                                                        tacit_error_t *err);

/* ---- what users give: CSV files with the header "p,q", "epsilon,delta" or "weight,shift" ---- */

TACIT_MUST_USE tacit_status_t tacit_curve_read_pair(tacit_curve_t **curve, const char *path,
                                                    tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_curve_read_profile(tacit_curve_t **curve, const char *path,
                                                       tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_curve_read_mixture(tacit_curve_t **curve, const char *path,
                                                       tacit_error_t *err);
void tacit_curve_free(tacit_curve_t *curve);

#endif
