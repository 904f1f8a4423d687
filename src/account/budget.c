/*
 * The privacy filter: charges before anything is computed, never refunds, and never passes its total.
 */
#include <math.h>
#include <string.h>

#include "account/account_internal.h"

struct tacit_budget {
  double epsilon, delta, rho;
  tacit_relation_t relation;
  tacit_exact_sum_t spent;
  tacit_event_t *events;
  size_t n_events, capacity;
};

tacit_status_t tacit_budget_new(tacit_budget_t **out, double epsilon, double delta, tacit_relation_t relation,
                                tacit_error_t *err) {
  *out = NULL;
  if (!(epsilon > 0) || isinf(epsilon)) {
    char number[TACIT_NUMBER_SIZE];
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "epsilon", "epsilon must be a finite number above 0, not %s",
                           tacit_number_format(epsilon, number));
  }
  tacit_status_t status = tacit_delta_check(delta, err);
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

void tacit_budget_free(tacit_budget_t *budget) {
  if (budget != NULL) {
    tacit_free(budget->events);
    tacit_free(budget);
  }
}

/* What would be spent with the event charged `count` times. */
static tacit_exact_sum_t spent_after(const tacit_budget_t *budget, const tacit_event_t *event, uint64_t count) {
  tacit_event_t charged = *event;
  charged.count = count;
  tacit_exact_sum_t sum = budget->spent;
  tacit_exact_sum_add(&sum, tacit_event_rho(&charged));
  return sum;
}

static bool fits(const tacit_budget_t *budget, const tacit_exact_sum_t *spent) {
  return tacit_rho_upper(spent) <= budget->rho;
}

/* event does not fit: say how many of its kind would, by the very check that a charge must pass. */
static tacit_status_t refuse(const tacit_budget_t *budget, const tacit_event_t *event, tacit_error_t *err) {
  uint64_t room = 0, excess = event->count;
  while (excess - room > 1) {
    uint64_t middle = room + (excess - room) / 2;
    tacit_exact_sum_t after = spent_after(budget, event, middle);
    *(fits(budget, &after) ? &room : &excess) = middle;
  }
  char numbers[3][TACIT_NUMBER_SIZE];
  return tacit_error_set(err, TACIT_ERR_BUDGET, "epsilon",
                         "the budget (epsilon %s, delta %s) has room for %llu more release%s with noise multiplier "
                         "%s, not for %llu",
                         tacit_number_format(budget->epsilon, numbers[0]),
                         tacit_number_format(budget->delta, numbers[1]), (unsigned long long)room,
                         room == 1 ? "" : "s", tacit_number_format(event->noise_multiplier, numbers[2]),
                         (unsigned long long)event->count);
}

static tacit_event_t *find_equal(tacit_budget_t *budget, const tacit_event_t *event) {
  for (size_t i = 0; i < budget->n_events; i++) {
    tacit_event_t *known = &budget->events[i];
    if (tacit_event_compare(known, event) == 0 && strcmp(known->label, event->label) == 0 &&
        known->count <= TACIT_MAX_COUNT - event->count) {
      return known;
    }
  }
  return NULL;
}

static tacit_status_t make_room(tacit_budget_t *budget, tacit_error_t *err) {
  if (budget->n_events < budget->capacity) {
    return TACIT_OK;
  }
  size_t capacity = budget->capacity > 0 ? 2 * budget->capacity : 8;
  tacit_event_t *events = tacit_realloc(budget->events, capacity, sizeof *events);
  if (events == NULL) {
    return tacit_error_memory(err);
  }
  budget->events = events;
  budget->capacity = capacity;
  return TACIT_OK;
}

tacit_status_t tacit_budget_charge(tacit_budget_t *budget, const tacit_event_t *event, tacit_error_t *err) {
  tacit_status_t status = tacit_event_check(event, err);
  if (status == TACIT_OK && !tacit_event_is_gaussian(event)) {
    char text[TACIT_EVENT_TEXT_SIZE];
    tacit_event_format(event, text);
    status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "event",
                             "a budget takes Gaussian releases of all records, for which adaptive choice is proven, not %s",
                             text);
  }
  if (status != TACIT_OK) {
    return status;
  }
  tacit_exact_sum_t after = spent_after(budget, event, event->count);
  if (!fits(budget, &after)) {
    return refuse(budget, event, err);
  }
  tacit_event_t *known = find_equal(budget, event);
  if (known == NULL) {
    status = make_room(budget, err);
    if (status != TACIT_OK) {
      return status;
    }
  }
  budget->spent = after;
  if (known != NULL) {
    known->count += event->count;
  } else {
    budget->events[budget->n_events++] = *event;
  }
  return TACIT_OK;
}

double tacit_budget_epsilon(const tacit_budget_t *budget) {
  return budget->epsilon;
}

double tacit_budget_delta(const tacit_budget_t *budget) {
  return budget->delta;
}

tacit_relation_t tacit_budget_relation(const tacit_budget_t *budget) {
  return budget->relation;
}

double tacit_budget_rho(const tacit_budget_t *budget) {
  return budget->rho;
}

double tacit_budget_rho_spent(const tacit_budget_t *budget) {
  return tacit_rho_upper(&budget->spent);
}

tacit_guarantee_t tacit_budget_spent(const tacit_budget_t *budget) {
  tacit_guarantee_t guarantee;
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
