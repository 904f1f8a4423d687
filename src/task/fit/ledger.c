/* A run's entry in the ledger of its data: reserved before the first release, settled after the last. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "fit/fit_internal.h"

tacit_status_t tacit_fit_open_ledger(tacit_fit_t *fit, tacit_error_t *err) {
  tacit_ledger_t *ledger;
  tacit_ledger_state_t state = {0};
  const char *path = tacit_fit_value(fit, "ledger"), *data_id = tacit_fit_value(fit, "data-id");
  if (!tacit_fit_is_first_rank(fit)) {
    return TACIT_OK;
  }
  const char *not_private = fit->is_exposed ? "an exposed" : fit->is_seeded ? "a seeded" : NULL;
  tacit_status_t status = tacit_request_check_ledger(&fit->request, &fit->given, not_private, err);
  if (status != TACIT_OK || path == NULL) {
    return status;
  }
  status = tacit_ledger_open(&ledger, path, err);
  TACIT_THEN(status, tacit_ledger_glance(ledger, &state, err));
  tacit_ledger_close(ledger);
  if (status == TACIT_OK && fit->request.query != NULL) {
    /* Before it is run; the reservation checks imports, too. */
    status = tacit_ledger_check_query(state.data_id, fit->request.query_hash, err);
  }
  if (status == TACIT_OK) {
    /* The ledger's own, unless the user says which it should be: the reservation checks it. */
    fit->data_id = tacit_strdup(data_id != NULL ? data_id : state.data_id);
    status = fit->data_id != NULL ? TACIT_OK : tacit_error_memory(err);
  }
  tacit_ledger_state_clear(&state);
  return status;
}

/* All that the planned run can release, labelled as the curator labels it; owned. */
static tacit_status_t list_events(const tacit_fit_t *fit, tacit_event_t **events, size_t *n,
                                  tacit_error_t *err) {
  if (fit->checked != NULL) {
    *n = 1;
    *events = tacit_alloc(1, sizeof **events);
    if (*events == NULL) {
      return tacit_error_memory(err);
    }
    **events = tacit_fit_check_event(fit);
    return TACIT_OK;
  }
  if (fit->method->is_one_off) {
    *n = TACIT_NOISE_AWARE_N_EVENTS;
    *events = tacit_alloc(*n, sizeof **events);
    if (*events == NULL) {
      return tacit_error_memory(err);
    }
    *n = tacit_noise_aware_events(&fit->aware, *events);
    return TACIT_OK;
  }
  return tacit_sampler_schedule(fit->method, &fit->settings, fit->curator, fit->plan.n_iterations, events, n,
                                err);
}

/* What has no price that holds whatever others run: nothing was released yet. */
static tacit_status_t check_events(const tacit_event_t *events, size_t n, tacit_error_t *err) {
  char number[TACIT_NUMBER_SIZE];
  for (size_t i = 0; i < n; i++) {
    if (events[i].sampling != TACIT_SAMPLING_NONE) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "ledger",
                             "a ledger takes no Gaussian releases of minibatches (%s, sampling rate %s): no "
                             "bound of them is known that holds whatever else is run on these data; use "
                             "--sampling-rate 1 or another method (tacit methods), or leave out --ledger",
                             events[i].label, tacit_number_format(events[i].sampling_rate, number));
    }
  }
  return TACIT_OK;
}

/* Decisions and the like cost more among other runs than by themselves: say how much. */
static void say_price(tacit_fit_t *fit, const tacit_event_t *events, size_t n) {
  bool is_plain = true;
  for (size_t i = 0; i < n; i++) {
    is_plain = is_plain && events[i].kind == TACIT_EVENT_GAUSSIAN;
  }
  tacit_text_clear(&fit->texts[TACIT_FIT_TEXT_PRICE]);
  if (!is_plain) {
    tacit_text_printf(&fit->texts[TACIT_FIT_TEXT_PRICE],
                      "ledger: decisions cost more among other runs than by themselves: of the ledger this "
                      "run takes as much as one with epsilon %.4g at delta %g that releases Gaussian sums\n",
                      tacit_ledger_price(events, n, fit->delta), fit->delta);
  }
}

static tacit_status_t reserve(tacit_fit_t *fit, bool is_trial, tacit_error_t *err) {
  tacit_text_t purpose = {0};
  tacit_event_t *events = NULL;
  tacit_text_printf(&purpose, "%s: %s", fit->checked != NULL ? "check" : fit->method->name, fit->formula);
  const char *unit = tacit_schema_unit(fit->schema);
  tacit_spend_request_t spend = {.data_id = fit->data_id,
                                 .relation = tacit_budget_relation(fit->budget),
                                 .unit = unit != NULL ? unit : "row",
                                 .max_rows = tacit_schema_max_rows(fit->schema)};
  tacit_status_t status =
      purpose.failed ? tacit_error_memory(err) : list_events(fit, &events, &spend.n_events, err);
  spend.events = events;
  TACIT_THEN(status, check_events(events, spend.n_events, err));
  TACIT_THEN(status, tacit_request_reserve(&fit->request, &fit->given, purpose.data, spend, is_trial, err));
  if (status == TACIT_OK) {
    say_price(fit, events, spend.n_events);
  }
  tacit_text_clear(&purpose);
  tacit_free(events);
  return status;
}

tacit_status_t tacit_fit_reserve(tacit_fit_t *fit, bool is_trial, tacit_error_t *err) {
  if (fit->stage != TACIT_FIT_STAGE_READ) {
    return tacit_error_set(err, TACIT_ERR_STATE, "ledger", "%s",
                           fit->stage < TACIT_FIT_STAGE_READ
                               ? "there is no plan to reserve for: read the records first"
                               : "this run was reserved already");
  }
  tacit_status_t status = is_trial ? TACIT_OK : tacit_fit_claim_folder(fit, err);
  if (status == TACIT_OK && fit->data_id != NULL) {
    status = reserve(fit, is_trial, err);
  }
  if (status != TACIT_OK) {
    tacit_fit_leave_folder(fit);
  }
  if (status == TACIT_OK && !is_trial) {
    fit->stage = TACIT_FIT_STAGE_RESERVED;
  }
  return status;
}

void tacit_fit_settle(tacit_fit_t *fit) {
  size_t n;
  if (fit->budget != NULL) {
    const tacit_event_t *events = tacit_budget_events(fit->budget, &n);
    tacit_request_settle(&fit->request, &fit->given, events, n, &fit->texts[TACIT_FIT_TEXT_UNSETTLED]);
  }
}
