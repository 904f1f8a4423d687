/*
 * The filter of budgets without a schedule: what events of several kinds cost when each may be chosen by the
 * outcomes of those before (docs/theory.md, section 9.11).
 *
 * Gaussian releases cost their rho, which is exact. Decisions and lattice noise have distributions with gaps,
 * and cost about their rho only as long as a Gaussian release of some rho r, the reserve, is still to come:
 * c(r), falling in r. A reserve that is never spent is as good, so that the total is the least over r of r +
 * sum c(r). Without one, decisions cost pi / 2 times as much.
 */
#include <float.h>
#include <math.h>

#include "account/account.h"
#include "account/filter.h"
#include "base/error.h"

/* rho of the Gaussian of which the bit is a post-processing; INFINITY for rules without noise. */
static double noise_rho(const tacit_event_t *event) {
  bool is_noisy = event->kind == TACIT_EVENT_PENALTY_BIT || event->kind == TACIT_EVENT_PROBIT_BIT;
  double shift = event->sensitivity / event->sigma;
  return is_noisy ? 0.5 * shift * shift * (1 + 8 * DBL_EPSILON) : INFINITY;
}

/* How fast the log odds of the capped arcsine rule can move with the log ratio, rounded up. */
static double arcsine_slope(double kappa, double cap) {
  double bend = fmax(2 / kappa * (asin(sqrt(cap)) - atan(2 * kappa)), 0); /* log ratio where the cap begins */
  double below = fmax(1 + kappa * kappa, 1 / (1 - cap * exp(-bend)));
  return fmax(fmax(below, 0.5 + 2 * kappa * kappa), kappa / sqrt(cap * (1 - cap))) * (1 + 1e-6);
}

/* Do all of the event's costs depend on the reserve? */
static bool needs_reserve(const tacit_event_t *event) {
  return event->kind == TACIT_EVENT_BARKER_BIT || event->kind == TACIT_EVENT_ARCSINE_BIT ||
         event->kind == TACIT_EVENT_DISCRETE_GAUSSIAN;
}

static double lattice_sd(const tacit_event_t *event) {
  return event->noise_multiplier * (event->sensitivity > 0 ? event->sensitivity : 1);
}

tacit_status_t tacit_filter_check(const tacit_event_t *event, tacit_error_t *err) {
  char text[TACIT_EVENT_TEXT_SIZE];
  tacit_status_t status = tacit_event_check(event, err);
  if (status != TACIT_OK || tacit_event_is_free(event)) {
    return status;
  }
  if (event->sampling != TACIT_SAMPLING_NONE) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "event",
        "releases of subsampled records (%s) can be added up in a schedule of their own alone, not "
        "with what others choose later: no bound of them is known that holds then; use all records",
        tacit_event_format(event, text));
  }
  if (event->kind == TACIT_EVENT_DISCRETE_GAUSSIAN && !(lattice_sd(event) > 1)) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "event",
        "discrete Gaussian noise can be added up with other releases if its sd is above 1 step, "
        "not %s; use gaussian noise",
        tacit_event_format(event, text));
  }
  if (!tacit_event_is_gaussian(event) && !tacit_event_is_bit(event) &&
      event->kind != TACIT_EVENT_DISCRETE_GAUSSIAN) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "event",
        "Gaussian releases of all records, decisions and discrete Gaussian releases can be added up "
        "when they are chosen one after another, not %s",
        tacit_event_format(event, text));
  }
  return TACIT_OK;
}

double tacit_filter_rho(const tacit_event_t *event) {
  if (tacit_event_is_free(event)) {
    return 0;
  }
  if (tacit_event_is_gaussian(event)) {
    return tacit_event_rho(event);
  }
  double each = event->rho * (1 + 8 * DBL_EPSILON) + (needs_reserve(event) ? 0 : noise_rho(event));
  return tacit_event_is_bit(event) && each > 0 ? fmax((double)tacit_event_whole_count(event) * each, DBL_MIN)
                                               : 0;
}

bool tacit_filter_needs_reserve(const tacit_event_t *event) {
  return needs_reserve(event) && !tacit_event_is_free(event);
}

/* ---- what depends on the reserve ---- */

/* c(r) = r g / (1 - g), 2 r g being the largest variance of the loss given what the reserve's noise leaves of
 * it. */
static double decision_cost(double range, double reserve) {
  const double without = 1.57079632679489661923 * (1 + 1e-12);
  double least = 0.125 * range * range, share = least / reserve;
  return least * (share <= 0.3 ? fmin(1 / (1 - share), without) : without);
}

static double lattice_cost(const tacit_event_t *event, double reserve) {
  double sd = lattice_sd(event), rho = 0.5 / event->noise_multiplier / event->noise_multiplier;
  double steps = sd * sd * reserve / (rho + reserve), more = 80 * steps * exp(-19.7 * steps);
  return steps >= 1 && more * rho <= 0.01 * reserve ? rho * (1 + more) / (1 - more * rho / reserve)
                                                    : INFINITY;
}

double tacit_filter_cost(const tacit_event_t *event, double reserve) {
  if (event->kind == TACIT_EVENT_DISCRETE_GAUSSIAN) {
    return lattice_cost(event, reserve);
  }
  double slope = event->kind == TACIT_EVENT_ARCSINE_BIT ? arcsine_slope(event->kappa, event->cap) : 1;
  return decision_cost(slope * event->sensitivity, reserve);
}

/* The same where the reserve is large: a scale to search from. */
static double least_cost(const tacit_event_t *event) {
  return event->kind == TACIT_EVENT_DISCRETE_GAUSSIAN
             ? 0.5 / event->noise_multiplier / event->noise_multiplier
             : tacit_filter_cost(event, INFINITY);
}

static double total_at(const tacit_filter_t *filter, double reserve) {
  tacit_exact_sum_t sum = filter->gaussian;
  tacit_exact_sum_add(&sum, reserve);
  for (size_t i = 0; i < filter->n_events + filter->n_last; i++) {
    const tacit_event_t *event =
        i < filter->n_events ? &filter->events[i] : &filter->last[i - filter->n_events];
    if (tacit_filter_needs_reserve(event)) {
      double each = tacit_filter_cost(event, reserve);
      if (!(each <= DBL_MAX)) {
        return INFINITY;
      }
      tacit_exact_sum_add(&sum, fmax((double)event->count * each, DBL_MIN));
    }
  }
  return tacit_rho_upper(&sum) * (1 + 1e-12);
}

/* The least and the sum of what events would cost beside a large reserve; 0 if none needs any. */
static double cost_scales(const tacit_filter_t *filter, double *least) {
  double sum = 0;
  *least = INFINITY;
  for (size_t i = 0; i < filter->n_events + filter->n_last; i++) {
    const tacit_event_t *event =
        i < filter->n_events ? &filter->events[i] : &filter->last[i - filter->n_events];
    if (tacit_filter_needs_reserve(event)) {
      double each = fmax(least_cost(event), DBL_MIN);
      *least = fmin(*least, each);
      sum += fmax((double)event->count * each, DBL_MIN);
    }
  }
  return sum;
}

/*
 * Every reserve gives a valid total, so the search need not be exact: none, then a grid whose ends are far
 * from the best, then golden section around the best of the grid.
 */
double tacit_filter_total(const tacit_filter_t *filter) {
  const double golden = 0.61803398874989484820, spacing = 0.25;
  double least, sum = cost_scales(filter, &least);
  if (!(sum > 0)) {
    return tacit_rho_upper(&filter->gaussian);
  }
  double best = total_at(filter, 0), at = log(least), end = fmin(log(sum), 690) + 12;
  for (double x = log(least) - 16; x < end; x += spacing) {
    double total = total_at(filter, exp(x));
    at = total < best ? x : at;
    best = fmin(best, total);
  }
  double low = at - spacing, high = at + spacing;
  double left = high - golden * (high - low), right = low + golden * (high - low);
  double at_left = total_at(filter, exp(left)), at_right = total_at(filter, exp(right));
  while (high - low > 1e-7) {
    best = fmin(best, fmin(at_left, at_right));
    if (at_left < at_right) {
      high = right, right = left, at_right = at_left;
      left = high - golden * (high - low);
      at_left = total_at(filter, exp(left));
    } else {
      low = left, left = right, at_left = at_right;
      right = low + golden * (high - low);
      at_right = total_at(filter, exp(right));
    }
  }
  return best;
}
