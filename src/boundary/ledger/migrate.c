/*
 * An old ledger becomes one of the newest version: nothing of it changes, the unit is entered after what
 * there is, and the totals are written for the first time.
 */
#include <string.h>

#include "base/error.h"
#include "ledger/ledger_internal.h"

static tacit_status_t check_migrate(const tacit_ledger_t *ledger, const tacit_ledger_state_t *state,
                                    tacit_relation_t relation, tacit_error_t *err) {
  tacit_relation_t own = tacit_budget_relation(state->budget);
  return own == relation
             ? TACIT_OK
             : tacit_error_set(
                   err, TACIT_ERR_BUDGET, "relation",
                   "%.200s counts under relation %s, not %s: its spends cannot be counted otherwise",
                   ledger->path, tacit_relation_string(own), tacit_relation_string(relation));
}

static tacit_status_t make_tables(tacit_ledger_t *ledger, tacit_error_t *err) {
  tacit_status_t status = tacit_database_run(ledger, "PRAGMA user_version=" TACIT_LEDGER_NEWEST, err);
  for (int i = 0; i < TACIT_LEDGER_N_TABLES && status == TACIT_OK; i++) {
    if (tacit_ledger_tables[i].since > ledger->version) {
      status = tacit_database_run(ledger, tacit_ledger_tables[i].sql, err);
    }
  }
  ledger->version = TACIT_LEDGER_VERSION;
  return status;
}

static tacit_status_t migrate(tacit_ledger_t *ledger, tacit_relation_t relation, const char *unit,
                              uint64_t max_rows, tacit_error_t *err) {
  tacit_ledger_state_t state = {0};
  tacit_header_t header = {0};
  tacit_totals_t totals = {0};
  tacit_status_t status = tacit_database_begin(ledger, true, err);
  if (status != TACIT_OK) {
    return status;
  }
  status = tacit_state_read(ledger, &header, &totals, &state, err);
  TACIT_THEN(status, check_migrate(ledger, &state, relation, err));
  TACIT_THEN(status, make_tables(ledger, err));
  TACIT_THEN(status, tacit_unit_append(ledger, &header, &totals, unit, max_rows, err));
  TACIT_THEN(status, tacit_totals_create(ledger, &totals, err));
  status = tacit_database_end(ledger, status, err);
  tacit_ledger_state_clear(&state);
  tacit_header_clear(&header);
  tacit_totals_clear(&totals);
  return status;
}

/* Everything that is in the log must be good before it is carried over. */
static tacit_status_t leave_log(tacit_ledger_t *ledger, tacit_error_t *err) {
  tacit_status_t status = tacit_ledger_verify(ledger, NULL, err);
  return status == TACIT_OK ? tacit_database_use_journal(ledger, err) : status;
}

tacit_status_t tacit_ledger_migrate(const char *path, tacit_relation_t relation, const char *unit,
                                    uint64_t max_rows, tacit_error_t *err) {
  tacit_ledger_t *ledger = NULL;
  tacit_status_t status = tacit_unit_check(unit, max_rows, err);
  TACIT_THEN(status, tacit_ledger_open(&ledger, path, err));
  if (status == TACIT_OK && ledger->version == TACIT_LEDGER_VERSION) {
    status = tacit_error_set(err, TACIT_ERR_STATE, "ledger",
                             "%s is of the newest version already: nothing to do", path);
  }
  TACIT_THEN(status, leave_log(ledger, err));
  TACIT_THEN(status, migrate(ledger, relation, unit, max_rows, err));
  tacit_ledger_close(ledger);
  return status;
}
