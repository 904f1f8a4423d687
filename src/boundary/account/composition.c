/*
 * From events to the pairs that are composed: all unsampled Gaussians are one pair, equal events one with
 * their total count.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "account/account.h"
#include "account/composition.h"
#include "account/contour.h"
#include "base/error.h"
#include "base/memory.h"

typedef struct pairs {
  tacit_pair_t *pairs; /* shape (n) */
  size_t n;
} pairs_t;

static void pairs_clear(pairs_t *pairs) {
  for (size_t i = 0; i < pairs->n; i++) {
    tacit_pair_clear(&pairs->pairs[i]);
  }
  tacit_free(pairs->pairs);
}

static int compare(const void *left, const void *right) { return tacit_event_compare(left, right); }

/* Events to compose, sorted, equal ones merged and free ones left out; the plain Gaussians' rho apart. */
static tacit_status_t collect(const tacit_event_t *events, size_t n_events, tacit_event_t **kept,
                              size_t *n_kept, tacit_exact_sum_t *rho, tacit_error_t *err) {
  *n_kept = 0;
  *rho = (tacit_exact_sum_t){0, 0};
  *kept = tacit_alloc(n_events > 0 ? n_events : 1, sizeof **kept);
  if (*kept == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < n_events; i++) {
    if (tacit_event_is_gaussian(&events[i])) {
      tacit_exact_sum_add(rho, tacit_event_rho(&events[i]));
    } else if (!tacit_event_is_free(&events[i])) {
      (*kept)[(*n_kept)++] = events[i];
    }
  }
  qsort(*kept, *n_kept, sizeof **kept, compare);
  size_t n = 0;
  for (size_t i = 0; i < *n_kept; i++) {
    tacit_event_t *last = n > 0 ? &(*kept)[n - 1] : NULL;
    if (last != NULL && tacit_event_compare(last, &(*kept)[i]) == 0 &&
        last->count <= TACIT_MAX_COUNT - (*kept)[i].count) {
      last->count += (*kept)[i].count;
    } else {
      (*kept)[n++] = (*kept)[i];
    }
  }
  *n_kept = n;
  return TACIT_OK;
}

static tacit_status_t pairs_init(pairs_t *pairs, const tacit_event_t *events, size_t n_events,
                                 tacit_relation_t relation, tacit_direction_t direction, tacit_error_t *err) {
  *pairs = (pairs_t){.pairs = tacit_alloc_zero(n_events + 1, sizeof *pairs->pairs)};
  if (pairs->pairs == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < n_events; i++) {
    tacit_status_t status = tacit_pair_init(&pairs->pairs[i], &events[i], relation, direction, err);
    if (status != TACIT_OK) {
      pairs_clear(pairs);
      return status;
    }
    pairs->n++;
  }
  return TACIT_OK;
}

typedef struct query {
  bool is_epsilon_given;
  double value; /* epsilon or log delta */
} query_t;

/* Gaussians alone need no grid. */
static tacit_bracket_t gaussian_bracket(double rho, query_t query) {
  double value = query.value;
  if (!(rho > 0)) {
    return query.is_epsilon_given ? (tacit_bracket_t){-INFINITY, -INFINITY} : (tacit_bracket_t){0, 0};
  }
  if (query.is_epsilon_given) {
    double log_delta = tacit_gaussian_log_delta(rho, value),
           error = tacit_gaussian_log_delta_error(rho, value);
    return (tacit_bracket_t){log_delta - error, tacit_gaussian_log_delta_upper(rho, value)};
  }
  double slack = 4 * DBL_EPSILON * fabs(value);
  return (tacit_bracket_t){tacit_gaussian_epsilon_lower(rho, value + slack),
                           tacit_gaussian_epsilon(rho, value - slack)};
}

static bool is_narrow(const tacit_bracket_t *found, bool is_epsilon_given, double width) {
  double between = found->upper - found->lower; /* both may be -INFINITY: no chance at all */
  return !(between > width * (is_epsilon_given ? 1 : found->upper)) && !isinf(between);
}

/* By inverting the composed moment generating function, where that is cheap; else a bracket that says
 * nothing. */
static tacit_status_t ask_contour(const tacit_event_t *events, size_t n_events, tacit_relation_t relation,
                                  tacit_direction_t direction, query_t query, tacit_bracket_t *found,
                                  tacit_error_t *err) {
  *found = query.is_epsilon_given ? (tacit_bracket_t){-INFINITY, 0} : (tacit_bracket_t){0, INFINITY};
  if (!tacit_contour_applies(events, n_events, relation)) {
    return TACIT_OK;
  }
  return query.is_epsilon_given
             ? tacit_contour_log_delta(events, n_events, direction, query.value, found, err)
             : tacit_contour_epsilon(events, n_events, direction, query.value, found, err);
}

static tacit_status_t ask_grid(const tacit_event_t *events, size_t n_events, tacit_relation_t relation,
                               tacit_direction_t direction, query_t query, double width,
                               tacit_bracket_t *found, tacit_error_t *err) {
  pairs_t pairs;
  tacit_status_t status = pairs_init(&pairs, events, n_events, relation, direction, err);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_composition_t composition = {pairs.pairs, pairs.n};
  status = query.is_epsilon_given ? tacit_pld_log_delta(&composition, query.value, width, found, err)
                                  : tacit_pld_epsilon(&composition, query.value, width, found, err);
  pairs_clear(&pairs);
  return status;
}

static tacit_status_t ask_direction(const tacit_event_t *events, size_t n_events, tacit_relation_t relation,
                                    tacit_direction_t direction, query_t query, double width,
                                    tacit_bracket_t *found, tacit_error_t *err) {
  tacit_bracket_t other = {.lower = -INFINITY, .upper = INFINITY}; /* says nothing, should the grid fail */
  tacit_status_t status = ask_contour(events, n_events, relation, direction, query, found, err);
  if (status != TACIT_OK || is_narrow(found, query.is_epsilon_given, width)) {
    return status;
  }
  status = ask_grid(events, n_events, relation, direction, query, width, &other, err);
  found->lower = fmax(found->lower, other.lower);
  found->upper = fmin(found->upper, other.upper);
  return status;
}

/* The worse of two directions: of the second, first roughly whether it can be the worse. */
static tacit_status_t ask_both(const tacit_event_t *events, size_t n_events,
                               const tacit_account_options_t *options, tacit_direction_t remove,
                               tacit_direction_t add, query_t query, tacit_bracket_t *worst,
                               tacit_error_t *err) {
  double width = options->relative_width > 0 ? options->relative_width : 1e-3;
  tacit_status_t status =
      ask_direction(events, n_events, options->relation, remove, query, width, worst, err);
  bool is_directed = remove == TACIT_DIRECTION_REMOVE_ATTAINED;
  for (size_t i = 0; i < n_events; i++) {
    is_directed = is_directed || tacit_event_is_directed(&events[i], options->relation);
  }
  if (status != TACIT_OK || !is_directed) {
    return status;
  }
  tacit_bracket_t other;
  status = ask_direction(events, n_events, options->relation, add, query, 0.1, &other, err);
  if (status == TACIT_OK && !(other.upper <= worst->lower)) {
    status = ask_direction(events, n_events, options->relation, add, query, width, &other, err);
  }
  worst->lower = fmax(worst->lower, other.lower);
  worst->upper = fmax(worst->upper, other.upper);
  return status;
}

/* Where no data sets have the pairs that dominate, the lower end is of others, that two data sets have. */
static tacit_status_t ask_directions(const tacit_event_t *events, size_t n_events,
                                     const tacit_account_options_t *options, query_t query,
                                     tacit_bracket_t *worst, tacit_error_t *err) {
  tacit_bracket_t attained;
  tacit_status_t status =
      ask_both(events, n_events, options, TACIT_DIRECTION_REMOVE, TACIT_DIRECTION_ADD, query, worst, err);
  bool is_attained = true;
  for (size_t i = 0; i < n_events; i++) {
    is_attained = is_attained && tacit_event_is_attained(&events[i], options->relation);
  }
  if (status != TACIT_OK || is_attained) {
    return status;
  }
  status = ask_both(events, n_events, options, TACIT_DIRECTION_REMOVE_ATTAINED, TACIT_DIRECTION_ADD_ATTAINED,
                    query, &attained, err);
  worst->lower = fmin(attained.lower, worst->upper);
  return status;
}

/* All plain Gaussians as one release, its noise rounded down; there is room for it in place of them. */
static void add_gaussian(tacit_event_t *kept, size_t *n_kept, double rho) {
  if (rho > 0) {
    kept[(*n_kept)++] =
        (tacit_event_t){.noise_multiplier = sqrt(0.5 / rho) * (1 - 2 * DBL_EPSILON), .count = 1};
  }
}

static tacit_status_t ask(const tacit_event_t *events, size_t n_events,
                          const tacit_account_options_t *options, query_t query, tacit_bracket_t *worst,
                          tacit_error_t *err) {
  tacit_event_t *kept;
  size_t n_kept;
  tacit_exact_sum_t sum;
  tacit_status_t status = collect(events, n_events, &kept, &n_kept, &sum, err);
  if (status != TACIT_OK) {
    return status;
  }
  if (n_kept == 0) {
    *worst = gaussian_bracket(tacit_rho_upper(&sum), query);
  } else {
    add_gaussian(kept, &n_kept, tacit_rho_upper(&sum));
    status = ask_directions(kept, n_kept, options, query, worst, err);
  }
  tacit_free(kept);
  worst->lower -= isfinite(worst->lower) ? 1e-13 * fabs(worst->lower)
                                         : 0; /* rho was rounded up, by less than 1e-14 of itself */
  return status;
}

tacit_status_t tacit_composition_epsilon(const tacit_event_t *events, size_t n_events,
                                         const tacit_account_options_t *options, double log_delta,
                                         tacit_bracket_t *epsilon, tacit_error_t *err) {
  return ask(events, n_events, options, (query_t){false, log_delta}, epsilon, err);
}

/* Can the loss of some event be as large as one likes? Then no delta is 0. */
static bool is_unbounded(const tacit_event_t *events, size_t n_events) {
  for (size_t i = 0; i < n_events; i++) {
    bool is_normal = events[i].kind == TACIT_EVENT_GAUSSIAN ||
                     events[i].kind == TACIT_EVENT_DISCRETE_GAUSSIAN ||
                     events[i].kind == TACIT_EVENT_GAUSSIAN_MIXTURE;
    if (is_normal && !tacit_event_is_free(&events[i])) {
      return true;
    }
  }
  return false;
}

/* Losses add up, and the largest of all together is that of every one at its largest. */
tacit_status_t tacit_composition_pure(const tacit_event_t *events, size_t n_events, tacit_relation_t relation,
                                      double *epsilon, tacit_error_t *err) {
  double total[2] = {0, 0};
  *epsilon = is_unbounded(events, n_events) ? INFINITY : 0;
  for (size_t i = 0; i < n_events && *epsilon <= 0; i++) {
    for (int side = 0; side < 2 && !tacit_event_is_free(&events[i]); side++) {
      tacit_pair_t pair;
      tacit_status_t status = tacit_pair_init(&pair, &events[i], relation, (tacit_direction_t)side, err);
      if (status != TACIT_OK) {
        return status;
      }
      total[side] +=
          pair.infinite > 0 ? INFINITY : (double)pair.count * fmax(pair.max_loss, 0) * (1 + 8 * DBL_EPSILON);
      tacit_pair_clear(&pair);
    }
  }
  *epsilon = fmax(*epsilon, fmax(total[0], total[1]) * (1 + (double)n_events * DBL_EPSILON));
  return TACIT_OK;
}

/* Where masses vanish below the doubles, the bound is the least of these. */
tacit_status_t tacit_composition_log_delta(const tacit_event_t *events, size_t n_events,
                                           const tacit_account_options_t *options, double epsilon,
                                           tacit_bracket_t *log_delta, tacit_error_t *err) {
  tacit_status_t status = ask(events, n_events, options, (query_t){true, epsilon}, log_delta, err);
  if (status == TACIT_OK && isinf(log_delta->upper) && log_delta->upper < 0 &&
      is_unbounded(events, n_events)) {
    log_delta->upper = log(DBL_TRUE_MIN);
  }
  return status;
}
