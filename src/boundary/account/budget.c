/*
 * The privacy filter: charges before anything is computed, never refunds, and never passes its total.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "account/account.h"
#include "account/filter.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"

/* Where charges stand in a schedule. */
typedef struct schedule {
  tacit_event_t *events;  /* shape (n); counts: what is left */
  tacit_event_t *planned; /* shape (n): as it was set */
  size_t n, at;
  tacit_guarantee_t guarantee; /* of all */
  /* within the group of bits at hand */
  uint64_t n_bits;
  tacit_exact_sum_t rho;
} schedule_t;

struct tacit_budget {
  double epsilon, delta, rho;
  tacit_relation_t relation;
  schedule_t schedule;              /* n == 0: none */
  tacit_exact_sum_t spent_gaussian; /* what does not depend on what else there is */
  double spent;                     /* rho of all together */
  tacit_event_t *events;
  size_t n_events, capacity;
  size_t *slots; /* shape (n_slots), a power of two */
  size_t n_slots;
};

static tacit_status_t check_totals(double epsilon, double delta, tacit_error_t *err) {
  if (!(epsilon > 0) || isinf(epsilon)) {
    char number[TACIT_NUMBER_SIZE];
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "epsilon",
                           "epsilon must be a finite number above 0, not %s",
                           tacit_number_format(epsilon, number));
  }
  return tacit_delta_check(delta, err);
}

tacit_status_t tacit_budget_new(tacit_budget_t **out, double epsilon, double delta, tacit_relation_t relation,
                                tacit_error_t *err) {
  *out = NULL;
  tacit_status_t status = check_totals(epsilon, delta, err);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_budget_t *budget = tacit_alloc_zero(1, sizeof *budget);
  if (budget == NULL) {
    return tacit_error_memory(err);
  }
  budget->epsilon = epsilon;
  budget->delta = delta;
  budget->relation = relation;
  budget->rho = tacit_gaussian_rho(epsilon, tacit_log_below(delta));
  *out = budget;
  return TACIT_OK;
}

static tacit_status_t check_schedule(const tacit_budget_t *budget, schedule_t *schedule, tacit_error_t *err) {
  const tacit_account_options_t options = {.relation = budget->relation, .is_in_order = true};
  char numbers[4][TACIT_NUMBER_SIZE];
  for (size_t i = 0; i < schedule->n; i++) {
    if (schedule->events[i].curve != NULL) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "event",
                             "a schedule holds no pairs or profiles from files");
    }
  }
  tacit_status_t status = tacit_account_epsilon(NULL, schedule->events, schedule->n, &options, budget->delta,
                                                &schedule->guarantee, err);
  if (status == TACIT_OK && !(schedule->guarantee.epsilon <= budget->epsilon)) {
    return tacit_error_set(
        err, TACIT_ERR_BUDGET, "epsilon",
        "the schedule costs epsilon %s at delta %s, above the budget's %s: fewer iterations, more noise or "
        "a larger epsilon",
        tacit_number_format(schedule->guarantee.epsilon, numbers[0]),
        tacit_number_format(budget->delta, numbers[1]), tacit_number_format(budget->epsilon, numbers[2]));
  }
  return status;
}

tacit_status_t tacit_budget_set_schedule(tacit_budget_t *budget, const tacit_event_t *events, size_t n_events,
                                         tacit_error_t *err) {
  if (budget->n_events > 0) {
    return tacit_error_set(err, TACIT_ERR_STATE, "budget", "a schedule must be set before the first charge");
  }
  if (n_events == 0) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "events", "a schedule needs at least one event");
  }
  schedule_t schedule = {.events = tacit_alloc(2 * n_events, sizeof *events), .n = n_events};
  if (schedule.events == NULL) {
    return tacit_error_memory(err);
  }
  schedule.planned = schedule.events + n_events;
  memcpy(schedule.events, events, n_events * sizeof *events);
  memcpy(schedule.planned, events, n_events * sizeof *events);
  tacit_status_t status = check_schedule(budget, &schedule, err);
  tacit_free(status == TACIT_OK ? budget->schedule.events : schedule.events);
  budget->schedule = status == TACIT_OK ? schedule : budget->schedule;
  return status;
}

void tacit_budget_free(tacit_budget_t *budget) {
  if (budget != NULL) {
    tacit_free(budget->schedule.events);
    tacit_free(budget->events);
    tacit_free(budget->slots);
    tacit_free(budget);
  }
}

/* What would be spent with the events charged as well; *gaussian: the part of it that is a sum. */
static double spent_after(const tacit_budget_t *budget, const tacit_event_t *events, size_t n_events,
                          tacit_exact_sum_t *gaussian) {
  *gaussian = budget->spent_gaussian;
  for (size_t i = 0; i < n_events; i++) {
    tacit_exact_sum_add(gaussian, tacit_filter_rho(&events[i]));
  }
  const tacit_filter_t filter = {*gaussian, budget->events, events, budget->n_events, n_events};
  return tacit_filter_total(&filter);
}

/* event does not fit: say how many of its kind would, by the very check that a charge must pass. */
static tacit_status_t refuse_budget(const tacit_budget_t *budget, const tacit_event_t *event,
                                    tacit_error_t *err) {
  uint64_t room = 0, excess = event->count;
  tacit_event_t fewer = *event;
  tacit_exact_sum_t gaussian;
  while (excess - room > 1) {
    fewer.count = room + (excess - room) / 2;
    *(spent_after(budget, &fewer, 1, &gaussian) <= budget->rho ? &room : &excess) = fewer.count;
  }
  char numbers[3][TACIT_NUMBER_SIZE], what[TACIT_EVENT_TEXT_SIZE + 8];
  if (tacit_event_is_gaussian(event)) {
    snprintf(what, sizeof what, "with noise multiplier %s",
             tacit_number_format(event->noise_multiplier, numbers[2]));
  } else {
    char text[TACIT_EVENT_TEXT_SIZE];
    snprintf(what, sizeof what, "of %s", tacit_event_format(event, text));
  }
  return tacit_error_set(
      err, TACIT_ERR_BUDGET, "epsilon",
      "the budget (epsilon %s, delta %s) has room for %llu more release%s %s, not for %llu",
      tacit_number_format(budget->epsilon, numbers[0]), tacit_number_format(budget->delta, numbers[1]),
      (unsigned long long)room, room == 1 ? "" : "s", what, (unsigned long long)event->count);
}

/* ---- charged events, equal ones merged: found by a table of hashes, whose slots hold positions from 1 ----
 */

static uint64_t mix(uint64_t hash, const void *bytes, size_t n) {
  for (size_t i = 0; i < n; i++) { /* FNV-1a */
    hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(1099511628211);
  }
  return hash;
}

/* Of what tells mechanisms apart most often; equal events have equal ones. */
static uint64_t hash_of(const tacit_event_t *event) {
  const double values[] = {event->noise_multiplier + 0.0, event->sensitivity + 0.0, event->rho + 0.0,
                           event->sigma + 0.0};
  uint64_t hash = mix(UINT64_C(14695981039346656037) + (uint64_t)event->kind, values, sizeof values);
  hash = mix(hash, event->label, strlen(event->label));
  return hash ^ hash >> 32;
}

/* The slot of an event like this one, or the empty one where it belongs. */
static size_t slot_of(const tacit_budget_t *budget, const tacit_event_t *event) {
  size_t slot = (size_t)hash_of(event) & (budget->n_slots - 1);
  while (budget->slots[slot] != 0) {
    const tacit_event_t *known = &budget->events[budget->slots[slot] - 1];
    if (tacit_event_compare(known, event) == 0 && strcmp(known->label, event->label) == 0 &&
        known->count <= TACIT_MAX_COUNT - event->count) {
      break;
    }
    slot = (slot + 1) & (budget->n_slots - 1);
  }
  return slot;
}

/* For n more events, with half of the slots empty. */
static tacit_status_t make_room(tacit_budget_t *budget, size_t n, tacit_error_t *err) {
  size_t capacity = budget->capacity > 0 ? budget->capacity : 8, needed = budget->n_events + n;
  if (needed <= budget->capacity) {
    return TACIT_OK;
  }
  while (capacity < needed) {
    capacity *= 2;
  }
  tacit_event_t *events = tacit_realloc(budget->events, capacity, sizeof *events);
  budget->events = events != NULL ? events : budget->events;
  size_t *slots = events != NULL ? tacit_alloc_zero(2 * capacity, sizeof *slots) : NULL;
  if (slots == NULL) {
    return tacit_error_memory(err);
  }
  tacit_free(budget->slots);
  budget->slots = slots;
  budget->n_slots = 2 * capacity;
  budget->capacity = capacity;
  size_t n_events = budget->n_events;
  for (budget->n_events = 0; budget->n_events < n_events;) {
    slots[slot_of(budget, &budget->events[budget->n_events])] = budget->n_events + 1;
    budget->n_events++;
  }
  return TACIT_OK;
}

/* After make_room. */
static void note_event(tacit_budget_t *budget, const tacit_event_t *event) {
  size_t *position = &budget->slots[slot_of(budget, event)];
  if (*position > 0) {
    budget->events[*position - 1].count += event->count;
    return;
  }
  budget->events[budget->n_events++] = *event;
  *position = budget->n_events;
}

/* ---- schedules ---- */

static bool is_same_kind(const tacit_event_t *left, const tacit_event_t *right) {
  tacit_event_t a = *left, b = *right;
  a.rho = b.rho = 0;
  a.together = b.together = 0;
  return tacit_event_compare(&a, &b) == 0;
}

/* The next group of the bits at hand, if it was begun; what it had left is forfeited. */
static void next_group(schedule_t *schedule) {
  tacit_event_t *event = &schedule->events[schedule->at];
  uint64_t group = tacit_event_group(event);
  event->count -= group < event->count ? group : event->count;
  schedule->n_bits = 0;
  schedule->rho = (tacit_exact_sum_t){0, 0};
}

static void next_event(schedule_t *schedule) {
  schedule->at++;
  schedule->n_bits = 0;
  schedule->rho = (tacit_exact_sum_t){0, 0};
}

/* Into the group at hand; the last may be smaller than the others, and then takes less. */
static bool add_rho(schedule_t *schedule, const tacit_event_t *charge) {
  const tacit_event_t *event = &schedule->events[schedule->at];
  uint64_t whole = tacit_event_group(event), group = whole < event->count ? whole : event->count;
  tacit_exact_sum_t after = schedule->rho;
  tacit_exact_sum_add(&after, tacit_event_rho(charge));
  if (event->count == 0 || !(tacit_rho_upper(&after) <= (double)group * event->rho * (1 + 64 * 0x1p-53))) {
    return false;
  }
  schedule->rho = after;
  return true;
}

/* A Gaussian charge comes before the bits of its group; bits may have been forgone. */
static bool take_rho(schedule_t *schedule, const tacit_event_t *charge) {
  const tacit_event_t *event = &schedule->events[schedule->at];
  if (!tacit_event_is_bit(event) || !tacit_event_is_gaussian(charge) || !(event->rho > 0)) {
    return false;
  }
  if (schedule->n_bits == 0 && add_rho(schedule, charge)) {
    return true;
  }
  next_group(schedule);
  return add_rho(schedule, charge);
}

static bool take_bits(schedule_t *schedule, const tacit_event_t *charge) {
  tacit_event_t *event = &schedule->events[schedule->at];
  uint64_t group = tacit_event_group(event);
  if (!tacit_event_is_bit(charge) || !is_same_kind(event, charge) || charge->rho > 0) {
    return false;
  }
  if (!(event->rho > 0)) { /* nothing but bits: groups do not matter */
    bool fits = charge->count <= event->count;
    event->count -= fits ? charge->count : 0;
    return fits;
  }
  if (schedule->n_bits + charge->count > group) {
    next_group(schedule);
  }
  if (charge->count > group || charge->count > event->count) {
    return false;
  }
  schedule->n_bits += charge->count;
  return true;
}

static bool take(schedule_t *schedule, const tacit_event_t *charge) {
  tacit_event_t *event = &schedule->events[schedule->at];
  if (tacit_event_is_bit(event)) {
    return take_rho(schedule, charge) || take_bits(schedule, charge);
  }
  bool fits =
      !tacit_event_is_bit(charge) && tacit_event_compare(event, charge) == 0 && charge->count <= event->count;
  event->count -= fits ? charge->count : 0;
  return fits;
}

/* A refused charge passes nothing over. */
static tacit_status_t follow_schedule(tacit_budget_t *budget, const tacit_event_t *charge,
                                      tacit_error_t *err) {
  schedule_t *schedule = &budget->schedule;
  const schedule_t before = *schedule;
  while (schedule->at < schedule->n) {
    tacit_event_t event = schedule->events[schedule->at];
    if (take(schedule, charge)) {
      return TACIT_OK;
    }
    schedule->events[schedule->at] = event;
    next_event(schedule);
  }
  *schedule = before;
  char text[TACIT_EVENT_TEXT_SIZE];
  return tacit_error_set(err, TACIT_ERR_BUDGET, "event", "the schedule has no room for %llu more of %s",
                         (unsigned long long)charge->count, tacit_event_format(charge, text));
}

/* ---- charges ---- */

static tacit_status_t charge_schedule(tacit_budget_t *budget, const tacit_event_t *event,
                                      tacit_error_t *err) {
  tacit_status_t status = tacit_event_check(event, err);
  TACIT_THEN(status, make_room(budget, 1, err));
  TACIT_THEN(status, follow_schedule(budget, event, err));
  if (status == TACIT_OK) {
    note_event(budget, event);
  }
  return status;
}

tacit_status_t tacit_budget_charge(tacit_budget_t *budget, const tacit_event_t *event, tacit_error_t *err) {
  return tacit_budget_is_scheduled(budget) ? charge_schedule(budget, event, err)
                                           : tacit_budget_charge_all(budget, event, 1, err);
}

tacit_status_t tacit_budget_charge_all(tacit_budget_t *budget, const tacit_event_t *events, size_t n_events,
                                       tacit_error_t *err) {
  if (tacit_budget_is_scheduled(budget)) {
    return tacit_error_set(err, TACIT_ERR_STATE, "budget", "a schedule is charged one event at a time");
  }
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < n_events && status == TACIT_OK; i++) {
    status = tacit_filter_check(&events[i], err);
  }
  if (status != TACIT_OK || n_events == 0) {
    return status;
  }
  tacit_exact_sum_t gaussian;
  double after = spent_after(budget, events, n_events, &gaussian);
  if (!(after <= budget->rho)) {
    return n_events == 1 ? refuse_budget(budget, events, err)
                         : tacit_error_set(err, TACIT_ERR_BUDGET, "epsilon",
                                           "these %zu events exceed the budget", n_events);
  }
  status = make_room(budget, n_events, err);
  if (status == TACIT_OK) {
    for (size_t i = 0; i < n_events; i++) {
      note_event(budget, &events[i]);
    }
    budget->spent_gaussian = gaussian;
    budget->spent = after;
  }
  return status;
}

tacit_guarantee_t tacit_budget_planned(const tacit_budget_t *budget) { return budget->schedule.guarantee; }

tacit_guarantee_t tacit_budget_promised(const tacit_budget_t *budget) {
  return tacit_budget_is_scheduled(budget)
             ? budget->schedule.guarantee
             : (tacit_guarantee_t){budget->epsilon, budget->delta, 0, 0, 0, "filter"};
}

const tacit_event_t *tacit_budget_schedule(const tacit_budget_t *budget, size_t *n) {
  *n = budget->schedule.n;
  return budget->schedule.planned;
}

bool tacit_budget_is_scheduled(const tacit_budget_t *budget) { return budget->schedule.n > 0; }

double tacit_budget_epsilon(const tacit_budget_t *budget) { return budget->epsilon; }

double tacit_budget_delta(const tacit_budget_t *budget) { return budget->delta; }

tacit_relation_t tacit_budget_relation(const tacit_budget_t *budget) { return budget->relation; }

double tacit_budget_rho(const tacit_budget_t *budget) {
  return tacit_budget_is_scheduled(budget) ? NAN : budget->rho;
}

double tacit_budget_rho_spent(const tacit_budget_t *budget) {
  return tacit_budget_is_scheduled(budget) ? NAN : budget->spent;
}

tacit_guarantee_t tacit_budget_spent(const tacit_budget_t *budget) {
  tacit_guarantee_t guarantee;
  if (tacit_budget_is_scheduled(budget) && budget->n_events > 0) {
    return budget->schedule.guarantee;
  }
  if (!tacit_events_are_gaussian(budget->events, budget->n_events)) {
    double epsilon = tacit_gaussian_epsilon(budget->spent, tacit_log_below(budget->delta));
    return (tacit_guarantee_t){fmin(epsilon, budget->epsilon), budget->delta, 0, 0, 0, "filter"};
  }
  /* cannot fail: the budget's delta and every charged event were checked */
  tacit_status_t status =
      tacit_account_epsilon(NULL, budget->events, budget->n_events, NULL, budget->delta, &guarantee, NULL);
  (void)status;
  guarantee.epsilon = fmin(guarantee.epsilon, budget->epsilon); /* the filter's own guarantee */
  return guarantee;
}

const tacit_event_t *tacit_budget_events(const tacit_budget_t *budget, size_t *n) {
  *n = budget->n_events;
  return budget->events;
}
