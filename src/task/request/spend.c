/* What a task costs in the ledger of its data. */
#include "base/error.h"
#include "request/request.h"

tacit_status_t tacit_request_check_ledger(const tacit_request_t *request, const tacit_settings_t *given,
                                          const char *not_private, tacit_error_t *err) {
  if (tacit_settings_text(given, "ledger") != NULL) {
    return not_private == NULL
               ? TACIT_OK
               : tacit_error_set(
                     err, TACIT_ERR_ARGUMENT, "ledger",
                     "%s %s is not private, so that no ledger can account for it: leave out --ledger",
                     not_private, request->what);
  }
  const char *orphan = tacit_settings_has(given, "data-id")   ? "data-id"
                       : tacit_settings_has(given, "purpose") ? "purpose"
                                                              : NULL;
  return orphan == NULL
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_ARGUMENT, orphan, "--%s only goes with --ledger", orphan);
}

tacit_status_t tacit_request_reserve(tacit_request_t *request, const tacit_settings_t *given,
                                     const char *purpose, tacit_spend_request_t spend, bool is_trial,
                                     tacit_error_t *err) {
  const char *out = tacit_settings_text(given, "out");
  tacit_ledger_t *ledger = NULL;
  tacit_text_t artefact = {0};
  tacit_text_put_path(&artefact, out != NULL ? out : "");
  spend.query_hash = request->query_hash;
  spend.purpose = tacit_settings_has(given, "purpose") ? tacit_settings_text(given, "purpose") : purpose;
  spend.artefact = artefact.data;
  tacit_status_t status = artefact.failed
                              ? tacit_error_memory(err)
                              : tacit_ledger_open(&ledger, tacit_settings_text(given, "ledger"), err);
  TACIT_THEN(status, is_trial ? tacit_ledger_check(ledger, &spend, err)
                              : tacit_ledger_reserve(ledger, &spend, &request->spend, err));
  tacit_ledger_close(ledger);
  tacit_text_clear(&artefact);
  return status;
}

void tacit_request_settle(const tacit_request_t *request, const tacit_settings_t *given,
                          const tacit_event_t *events, size_t n, tacit_text_t *warning) {
  tacit_ledger_t *ledger;
  tacit_error_t err;
  if (request->spend.id == 0) {
    return;
  }
  tacit_status_t status = tacit_ledger_open(&ledger, tacit_settings_text(given, "ledger"), &err);
  TACIT_THEN(status, tacit_ledger_settle(ledger, &request->spend, events, n, &err));
  tacit_ledger_close(ledger);
  if (status != TACIT_OK) {
    tacit_text_printf(warning, "warning: the ledger keeps all that was reserved for this %s: %s\n",
                      request->what, err.message);
  }
}
