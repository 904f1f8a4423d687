/* What a release costs: its noise, its budget, and its entry in a ledger. */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "publish/publish_internal.h"

/* Delta that stands for none in a budget: below it no double can tell. */
static const double pure_delta = 1e-300;

bool tacit_publish_has_delta(const tacit_publish_t *publish) {
  return publish->statistic.noise == TACIT_STATISTIC_GAUSSIAN ||
         publish->statistic.noise == TACIT_STATISTIC_DISCRETE_GAUSSIAN;
}

/* The least noise that the budget allows. */
static tacit_status_t set_noise(tacit_publish_t *publish, tacit_error_t *err) {
  double factor = 1, epsilon = publish->epsilon;
  if (!tacit_publish_has_delta(publish)) {
    publish->noise_multiplier = (1 + 1e-9) / epsilon;
    return TACIT_OK;
  }
  publish->noise_multiplier = (1 + 1e-12) / sqrt(2 * tacit_gaussian_rho(epsilon, log(publish->delta)));
  if (publish->statistic.noise == TACIT_STATISTIC_GAUSSIAN) {
    return TACIT_OK;
  }
  tacit_event_t event = tacit_statistic_event(&publish->statistic, publish->noise_multiplier);
  tacit_status_t status = tacit_account_noise_factor(&event, 1, NULL, epsilon, publish->delta, &factor, err);
  publish->noise_multiplier *= factor * (1 + 1e-12);
  return status;
}

tacit_status_t tacit_publish_open_budget(tacit_publish_t *publish, tacit_error_t *err) {
  double delta = tacit_publish_has_delta(publish) ? publish->delta : pure_delta;
  tacit_status_t status = set_noise(publish, err);
  TACIT_THEN(status, tacit_budget_new(&publish->budget, publish->epsilon, delta, publish->relation, err));
  if (status == TACIT_OK && publish->statistic.noise != TACIT_STATISTIC_GAUSSIAN) {
    tacit_event_t event = tacit_statistic_event(&publish->statistic, publish->noise_multiplier);
    status = tacit_budget_set_schedule(publish->budget, &event, 1, err);
  }
  return status;
}

static tacit_event_t ledger_event(const tacit_publish_t *publish) {
  tacit_event_t event = tacit_statistic_event(&publish->statistic, publish->noise_multiplier);
  if (!tacit_publish_has_delta(publish)) {
    double multiplier = tacit_pure_gaussian_multiplier(publish->epsilon);
    event = (tacit_event_t){.kind = TACIT_EVENT_GAUSSIAN, .noise_multiplier = multiplier, .count = 1};
    snprintf(event.label, sizeof event.label, "%s, as gaussian", publish->mechanism);
  }
  return event;
}

tacit_status_t tacit_publish_reserve(tacit_publish_t *publish, tacit_error_t *err) {
  tacit_text_t purpose = {0};
  if (tacit_publish_value(publish, "ledger") == NULL) {
    return TACIT_OK;
  }
  tacit_text_printf(&purpose, "release: %s", tacit_publish_what(publish));
  for (size_t j = 0; j < publish->n_columns; j++) {
    tacit_text_printf(&purpose, " %s", publish->columns[j]->name);
  }
  tacit_event_t event = ledger_event(publish);
  const tacit_spend_request_t spend = {.data_id = tacit_publish_value(publish, "data-id"),
                                       .relation = publish->relation,
                                       .unit = "row",
                                       .max_rows = 1,
                                       .events = &event,
                                       .n_events = 1};
  tacit_status_t status = purpose.failed ? tacit_error_memory(err)
                                         : tacit_request_reserve(&publish->request, &publish->given,
                                                                 purpose.data, spend, false, err);
  tacit_text_clear(&purpose);
  return status;
}

void tacit_publish_settle(tacit_publish_t *publish) {
  size_t n;
  tacit_budget_events(publish->budget, &n);
  tacit_event_t event = ledger_event(publish);
  tacit_request_settle(&publish->request, &publish->given, &event, n > 0, &publish->unsettled);
}
