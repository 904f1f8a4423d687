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
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "epsilon", "epsilon must be a finite number above 0, not %g",
                           epsilon);
  }
  if (!(delta > 0 && delta < 1)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "delta", "delta must be above 0 and below 1, not %g", delta);
  }
  tacit_budget_t *budget = tacit_alloc_zero(1, sizeof *budget);
  if (budget == NULL) {
    return tacit_error_memory(err);
  }
  budget->epsilon = epsilon;
  budget->delta = delta;
  budget->relation = relation;
  budget->rho = tacit_gaussian_rho(epsilon, log(delta) - 1e-15);
  *out = budget;
  return TACIT_OK;
}

void tacit_budget_free(tacit_budget_t *budget) {
  if (budget != NULL) {
    tacit_free(budget->events);
    tacit_free(budget);
  }
}

static tacit_status_t refuse(const tacit_budget_t *budget, const tacit_event_t *event, tacit_error_t *err) {
  double each = 0.5 / event->noise_multiplier / event->noise_multiplier;
  double room = floor(fmax(budget->rho - tacit_rho_upper(&budget->spent), 0) / each);
  return tacit_error_set(err, TACIT_ERR_BUDGET, "epsilon",
                         "the budget (epsilon %g, delta %g) has room for %.0f more releases with noise multiplier "
                         "%g, not for %llu",
                         budget->epsilon, budget->delta, room, event->noise_multiplier,
                         (unsigned long long)event->count);
}

static tacit_event_t *find_equal(tacit_budget_t *budget, const tacit_event_t *event) {
  for (size_t i = 0; i < budget->n_events; i++) {
    tacit_event_t *known = &budget->events[i];
    /* the same double, not nearly the same: only then may counts be added */
    if (known->kind == event->kind && known->noise_multiplier >= event->noise_multiplier &&
        known->noise_multiplier <= event->noise_multiplier && strcmp(known->label, event->label) == 0 &&
        known->count <= UINT64_MAX - event->count) {
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
  if (status == TACIT_OK && memchr(event->label, '\0', sizeof event->label) == NULL) {
    status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "label", "the label of an event must end within its field");
  }
  tacit_event_t *known = status == TACIT_OK ? find_equal(budget, event) : NULL;
  if (status == TACIT_OK && known == NULL) {
    status = make_room(budget, err);
  }
  if (status != TACIT_OK) {
    return status;
  }
  tacit_exact_sum_t after = budget->spent;
  tacit_exact_sum_add(&after, tacit_event_rho(event));
  if (!(tacit_rho_upper(&after) <= budget->rho)) {
    return refuse(budget, event, err);
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
  double log_delta = log(budget->delta);
  double epsilon = tacit_gaussian_epsilon(tacit_rho_upper(&budget->spent), log_delta - 1e-15);
  return (tacit_guarantee_t){
      .epsilon = fmin(epsilon, budget->epsilon), /* the filter's own guarantee */
      .epsilon_lower = tacit_gaussian_epsilon_lower(tacit_rho_lower(&budget->spent), log_delta + 1e-15),
      .delta = budget->delta,
      .method = "gaussian"};
}

const tacit_event_t *tacit_budget_events(const tacit_budget_t *budget, size_t *n) {
  *n = budget->n_events;
  return budget->events;
}
