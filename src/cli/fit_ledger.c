/* A run's entry in the ledger of its data: reserved before the first release, settled after the last. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/fit.h"

static int check_options(const cli_fit_t *fit) {
  const cli_args_t *args = fit->args;
  if (cli_value(args, "ledger") == NULL) {
    const char *orphan = cli_is_given(args, "data-id") ? "data-id" : cli_is_given(args, "purpose") ? "purpose" : NULL;
    if (orphan != NULL) {
      cli_error(args, "--%s only goes with --ledger", orphan);
    }
    return orphan != NULL ? CLI_USAGE : CLI_OK;
  }
  if (fit->is_exposed || fit->is_seeded) {
    cli_error(args, "%s run is not private, so that no ledger can account for it: leave out --ledger",
              fit->is_exposed ? "an exposed" : "a seeded");
    return CLI_USAGE;
  }
  return CLI_OK;
}

int cli_fit_ledger_open(cli_fit_t *fit) {
  tacit_ledger_t *ledger;
  tacit_ledger_state_t state = {0};
  tacit_error_t err;
  int status = check_options(fit);
  const char *path = cli_value(fit->args, "ledger");
  if (status != CLI_OK || path == NULL) {
    return status;
  }
  tacit_status_t read = tacit_ledger_open(&ledger, path, &err);
  if (read == TACIT_OK) {
    read = tacit_ledger_read(ledger, &state, &err);
  }
  tacit_ledger_close(ledger);
  const char *data_id = cli_value(fit->args, "data-id");
  if (read == TACIT_OK) { /* the ledger's own, unless the user says which it should be: the reservation checks it */
    fit->data_id = tacit_strdup(data_id != NULL ? data_id : state.data_id);
    read = fit->data_id != NULL ? TACIT_OK : tacit_error_memory(&err);
  }
  tacit_ledger_state_clear(&state);
  return read == TACIT_OK ? CLI_OK : cli_fail(fit->args, &err);
}

/* All that the planned run can release, labelled as the curator labels it; owned. */
static tacit_status_t list_events(const cli_fit_t *fit, tacit_event_t **events, size_t *n, tacit_error_t *err) {
  if (fit->method->is_one_off) {
    *n = TACIT_NOISE_AWARE_N_EVENTS;
    *events = tacit_alloc(*n, sizeof **events);
    if (*events == NULL) {
      return tacit_error_memory(err);
    }
    *n = tacit_noise_aware_events(fit->family, fit->aware.rho, *events);
    return TACIT_OK;
  }
  return tacit_sampler_schedule(fit->method, &fit->settings, fit->curator, fit->plan.n_iterations, events, n, err);
}

/* What has no price that holds whatever others run: nothing was released yet. */
static tacit_status_t check_events(const tacit_event_t *events, size_t n, tacit_error_t *err) {
  char number[TACIT_NUMBER_SIZE];
  for (size_t i = 0; i < n; i++) {
    if (events[i].sampling != TACIT_SAMPLING_NONE) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "ledger",
                             "a ledger takes no Gaussian releases of minibatches (%s, sampling rate %s): no bound of "
                             "them is known that holds whatever else is run on these data; use --sampling-rate 1 or "
                             "another method (tacit methods), or leave out --ledger",
                             events[i].label, tacit_number_format(events[i].sampling_rate, number));
    }
  }
  return TACIT_OK;
}

/* Decisions and the like cost more among other runs than by themselves: say how much. */
static void print_price(const cli_fit_t *fit, const tacit_event_t *events, size_t n) {
  bool is_plain = true;
  for (size_t i = 0; i < n; i++) {
    is_plain = is_plain && events[i].kind == TACIT_EVENT_GAUSSIAN;
  }
  if (is_plain || (cli_is_given(fit->args, "quiet") && !cli_is_given(fit->args, "dry-run"))) {
    return;
  }
  fprintf(stderr, "ledger: decisions cost more among other runs than by themselves: of the ledger this run takes as "
                  "much as one with epsilon %.4g at delta %g that releases Gaussian sums\n",
          tacit_ledger_price(events, n, fit->delta), fit->delta);
}

/* The results' folder from the root of the file system: others read the ledger from elsewhere. */
static void put_artefact(tacit_text_t *text, const cli_fit_t *fit) {
  const char *out = cli_value(fit->args, "out");
  char folder[TACIT_LEDGER_MAX_TEXT];
  if (out != NULL && out[0] != '/' && getcwd(folder, sizeof folder) != NULL) {
    tacit_text_printf(text, "%s/", strcmp(folder, "/") == 0 ? "" : folder);
  }
  tacit_text_printf(text, "%s", out != NULL ? out : "");
}

static void put_purpose(tacit_text_t *text, const cli_fit_t *fit) {
  const char *purpose = cli_value(fit->args, "purpose");
  if (purpose != NULL) {
    tacit_text_printf(text, "%s", purpose);
  } else {
    tacit_text_printf(text, "%s: %s", fit->method->name, fit->args->positionals[0]);
  }
}

static tacit_status_t spend(cli_fit_t *fit, const tacit_spend_request_t *request, tacit_error_t *err) {
  tacit_ledger_t *ledger;
  tacit_status_t status = tacit_ledger_open(&ledger, cli_value(fit->args, "ledger"), err);
  if (status == TACIT_OK) {
    status = cli_is_given(fit->args, "dry-run") ? tacit_ledger_check(ledger, request, err)
                                                : tacit_ledger_reserve(ledger, request, &fit->spend, err);
  }
  tacit_ledger_close(ledger);
  return status;
}

int cli_fit_ledger_reserve(cli_fit_t *fit) {
  tacit_text_t purpose = {0}, artefact = {0};
  tacit_event_t *events = NULL;
  tacit_error_t err;
  if (fit->data_id == NULL) {
    return CLI_OK;
  }
  put_purpose(&purpose, fit);
  put_artefact(&artefact, fit);
  tacit_spend_request_t request = {.data_id = fit->data_id,
                                   .relation = tacit_budget_relation(fit->budget),
                                   .purpose = purpose.data,
                                   .artefact = artefact.data};
  tacit_status_t status =
      purpose.failed || artefact.failed ? tacit_error_memory(&err) : list_events(fit, &events, &request.n_events, &err);
  request.events = events;
  if (status == TACIT_OK) {
    status = check_events(events, request.n_events, &err);
  }
  if (status == TACIT_OK) {
    status = spend(fit, &request, &err);
  }
  if (status == TACIT_OK) {
    print_price(fit, events, request.n_events);
  }
  tacit_text_clear(&purpose);
  tacit_text_clear(&artefact);
  tacit_free(events);
  return status == TACIT_OK ? CLI_OK : cli_fail(fit->args, &err);
}

void cli_fit_ledger_settle(cli_fit_t *fit) {
  tacit_ledger_t *ledger;
  tacit_error_t err;
  size_t n;
  if (fit->spend.id == 0) {
    return;
  }
  const tacit_event_t *events = tacit_budget_events(fit->budget, &n);
  tacit_status_t status = tacit_ledger_open(&ledger, cli_value(fit->args, "ledger"), &err);
  if (status == TACIT_OK) {
    status = tacit_ledger_settle(ledger, &fit->spend, events, n, &err);
  }
  tacit_ledger_close(ledger);
  if (status != TACIT_OK) {
    fprintf(stderr, "warning: the ledger keeps all that was reserved for this run: %s\n", err.message);
  }
}
