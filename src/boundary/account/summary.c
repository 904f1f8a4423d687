/*
 * What a sequence of releases costs in other words than one epsilon and one delta: the privacy profile, the
 * Renyi curve, Gaussian differential privacy.
 */
#include <float.h>
#include <math.h>

#include "account/account.h"
#include "account/filter.h"
#include "account/renyi.h"
#include "base/error.h"

/* ---- the privacy profile ---- */

tacit_status_t tacit_account_profile(const tacit_event_t *events, size_t n_events,
                                     const tacit_account_options_t *options, size_t n_points,
                                     tacit_profile_point_t *points, tacit_error_t *err) {
  tacit_guarantee_t guarantee;
  if (n_points < 2) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "points", "a profile needs 2 points or more, not %zu",
                           n_points);
  }
  tacit_status_t status = tacit_account_epsilon(NULL, events, n_events, options, 1e-12, &guarantee, err);
  if (status == TACIT_OK && isinf(guarantee.epsilon)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "profile",
                           "no epsilon holds at delta 1e-12: there is no curve to show");
  }
  double high = guarantee.epsilon > 0 ? guarantee.epsilon : 1;
  for (size_t i = 0; status == TACIT_OK && i < n_points; i++) {
    double epsilon = high * (double)i / (double)(n_points - 1);
    status = tacit_account_delta(NULL, events, n_events, options, epsilon, &guarantee, err);
    points[i] = (tacit_profile_point_t){epsilon, guarantee.delta, guarantee.delta_lower};
  }
  return status;
}

/* ---- the Renyi curve ---- */

static tacit_status_t check_all(const tacit_event_t *events, size_t n_events, tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; status == TACIT_OK && i < n_events; i++) {
    status = tacit_event_check_limits(&events[i], err);
  }
  return status;
}

tacit_status_t tacit_account_renyi(const tacit_event_t *events, size_t n_events,
                                   const tacit_account_options_t *options, double order, double *divergence,
                                   tacit_error_t *err) {
  *divergence = INFINITY;
  if (!(order > 1 && order <= 1e6)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "order",
                           "the order of a Renyi divergence must be above 1 and at most 1e6, not %g", order);
  }
  tacit_status_t status = check_all(events, n_events, err);
  tacit_relation_t relation = options != NULL ? options->relation : TACIT_RELATION_SUBSTITUTE;
  return status == TACIT_OK ? tacit_renyi_total(events, n_events, relation, order, divergence, err) : status;
}

/* ---- Gaussian differential privacy ---- */

/* The epsilon of an event that is pure; NaN for others. */
static double pure_epsilon(const tacit_event_t *event) {
  if (event->sampling != TACIT_SAMPLING_NONE) {
    return NAN;
  }
  switch (event->kind) {
  case TACIT_EVENT_LAPLACE:
  case TACIT_EVENT_DISCRETE_LAPLACE:
    return 1 / event->noise_multiplier;
  case TACIT_EVENT_APPROXIMATE:
    return event->delta > 0 ? NAN : event->epsilon;
  case TACIT_EVENT_EXPONENTIAL:
    return event->epsilon;
  case TACIT_EVENT_RANDOMIZED_RESPONSE: {
    double other = event->probability / (double)event->buckets;
    return log((1 - event->probability + other) / other);
  }
  default:
    return NAN;
  }
}

static tacit_status_t add_event(tacit_filter_t *filter, const tacit_event_t *event, tacit_error_t *err) {
  char text[TACIT_EVENT_TEXT_SIZE];
  double epsilon = pure_epsilon(event),
         multiplier = tacit_pure_gaussian_multiplier(epsilon * (1 + 8 * DBL_EPSILON));
  if (tacit_event_is_free(event)) {
    return TACIT_OK;
  }
  if (multiplier > 0) {
    const tacit_event_t gaussian = {.noise_multiplier = multiplier, .count = event->count};
    tacit_exact_sum_add(&filter->gaussian, tacit_event_rho(&gaussian));
    return TACIT_OK;
  }
  if (tacit_event_is_bare(event) || tacit_filter_check(event, err) != TACIT_OK) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "event",
        "no Gaussian release is known that dominates %s: ask for --delta, --epsilon or --renyi",
        tacit_event_format(event, text));
  }
  tacit_exact_sum_add(&filter->gaussian, tacit_filter_rho(event));
  return TACIT_OK;
}

tacit_status_t tacit_account_gdp(const tacit_event_t *events, size_t n_events, double *mu,
                                 tacit_error_t *err) {
  tacit_filter_t filter = {.events = events, .n_events = n_events};
  *mu = INFINITY;
  tacit_status_t status = check_all(events, n_events, err);
  for (size_t i = 0; status == TACIT_OK && i < n_events; i++) {
    status = add_event(&filter, &events[i], err);
  }
  if (status == TACIT_OK) {
    *mu = sqrt(2 * tacit_filter_total(&filter)) * (1 + 2 * DBL_EPSILON);
  }
  return status;
}
