/*
 * What a spend costs and what is left for it.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "account/account.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "ledger/ledger_internal.h"

static double rho_left(const tacit_budget_t *budget) {
  double left = (tacit_budget_rho(budget) - tacit_budget_rho_spent(budget)) * (1 - 1e-12);
  return left > 0 ? left : 0;
}

double tacit_ledger_epsilon_left(const tacit_ledger_state_t *state) {
  double left = rho_left(state->budget),
         log_delta = log(tacit_budget_delta(state->budget)) * (1 + 8 * DBL_EPSILON);
  if (!(left > 0)) {
    return 0;
  }
  double epsilon = tacit_gaussian_epsilon(left, log_delta), step = 1e-12;
  while (tacit_gaussian_rho(epsilon, log_delta) > left && step < 1) {
    epsilon *= 1 - step;
    step *= 2;
  }
  return step < 1 ? epsilon : 0;
}

/* Five digits, rounded down: what the message offers must fit. */
static double few_digits_below(double x) {
  if (!(x > 0)) {
    return 0;
  }
  double scale = pow(10, 4 - floor(log10(x)));
  return floor(x * scale * (1 - 1e-12)) / scale;
}

/* ", or for N releases" of a kind; empty where that is not the question, as of one alone. */
static void offer_releases(char *text, size_t size, const tacit_budget_t *budget, const tacit_event_t *events,
                           size_t n_events) {
  size_t n_fixed;
  const tacit_event_t *fixed = tacit_budget_events(budget, &n_fixed);
  char number[TACIT_NUMBER_SIZE];
  tacit_event_t one = events[0];
  uint64_t room;
  one.count = 1;
  text[0] = '\0';
  if (n_events == 1 && events[0].count > 1 && tacit_events_are_plain(&one, 1) &&
      tacit_events_are_plain(fixed, n_fixed) &&
      tacit_account_max_repetitions(fixed, n_fixed, &one, 1, NULL, tacit_budget_epsilon(budget),
                                    tacit_budget_delta(budget), &room, NULL) == TACIT_OK) {
    snprintf(text, size, ", or for %llu release%s with noise multiplier %s (not %llu)",
             (unsigned long long)room, room == 1 ? "" : "s",
             tacit_number_format(one.noise_multiplier, number), (unsigned long long)events[0].count);
  }
}

/* As totals will count them. */
static tacit_status_t charge(tacit_budget_t *budget, const tacit_event_t *events, size_t n_events,
                             tacit_error_t *err) {
  tacit_event_t *kinds = tacit_alloc(n_events, sizeof *kinds);
  if (kinds == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < n_events; i++) {
    kinds[i] = tacit_totals_kind(&events[i]);
  }
  tacit_status_t status = tacit_budget_charge_all(budget, kinds, n_events, err);
  tacit_free(kinds);
  return status;
}

double tacit_ledger_price(const tacit_event_t *events, size_t n_events, double delta) {
  tacit_budget_t *budget;
  double epsilon = INFINITY;
  if (tacit_budget_new(&budget, 1e12, delta, TACIT_RELATION_SUBSTITUTE, NULL) == TACIT_OK) {
    epsilon =
        charge(budget, events, n_events, NULL) == TACIT_OK ? tacit_budget_spent(budget).epsilon : INFINITY;
  }
  tacit_budget_free(budget);
  return epsilon;
}

static tacit_status_t refuse_price(const tacit_ledger_t *ledger, const tacit_budget_t *budget,
                                   double epsilon_left, const tacit_event_t *events, size_t n_events,
                                   tacit_error_t *err) {
  char numbers[4][TACIT_NUMBER_SIZE], more[160];
  double epsilon = tacit_budget_epsilon(budget), delta = tacit_budget_delta(budget);
  if (tacit_events_are_plain(events, n_events)) {
    offer_releases(more, sizeof more, budget, events, n_events);
  } else {
    snprintf(more, sizeof more, ", and here this one is as dear as a Gaussian run with epsilon %s",
             tacit_number_format(tacit_ledger_price(events, n_events, delta), numbers[3]));
  }
  return tacit_error_set(
      err, TACIT_ERR_BUDGET, "ledger",
      "the ledger %.200s (epsilon %s, delta %s for all runs together) has no room for this spend; it "
      "has room for one with epsilon %s at that delta%s",
      ledger->path, tacit_number_format(epsilon, numbers[0]), tacit_number_format(delta, numbers[1]),
      tacit_number_format(few_digits_below(epsilon_left), numbers[2]), more);
}

tacit_status_t tacit_state_charge(const tacit_ledger_t *ledger, tacit_ledger_state_t *state,
                                  const tacit_event_t *events, size_t n_events, tacit_error_t *err) {
  double epsilon_left = tacit_ledger_epsilon_left(state);
  tacit_status_t status = charge(state->budget, events, n_events, err);
  return status == TACIT_ERR_BUDGET ? refuse_price(ledger, state->budget, epsilon_left, events, n_events, err)
                                    : status;
}
