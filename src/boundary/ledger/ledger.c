/*
 * Opening, reading and spending. A spend is one transaction: look at the totals and check them, refuse or
 * record, commit; no other process can write in between.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "ledger/ledger_internal.h"

static const double settling_patience =
    10; /* times that of other calls: the run is over, and what it did not use is at stake */

tacit_status_t tacit_ledger_open(tacit_ledger_t **out, const char *path, tacit_error_t *err) {
  *out = NULL;
  tacit_ledger_t *ledger = tacit_alloc_zero(1, sizeof *ledger);
  if (ledger == NULL) {
    return tacit_error_memory(err);
  }
  tacit_status_t status = tacit_database_open(ledger, path, err);
  if (status != TACIT_OK) {
    tacit_ledger_close(ledger);
    return status;
  }
  *out = ledger;
  return TACIT_OK;
}

void tacit_ledger_close(tacit_ledger_t *ledger) {
  if (ledger != NULL) {
    sqlite3_close_v2(ledger->db);
    tacit_turn_give_up(&ledger->turn);
    tacit_free(ledger->path);
    tacit_free(ledger);
  }
}

void tacit_ledger_set_patience(tacit_ledger_t *ledger, double seconds) {
  ledger->patience = seconds > 0 ? seconds : 0;
}

/* ---- reading ---- */

typedef tacit_status_t (*reader_t)(tacit_ledger_t *ledger, tacit_header_t *header, tacit_totals_t *totals,
                                   tacit_ledger_state_t *state, tacit_error_t *err);

static tacit_status_t read_by(tacit_ledger_t *ledger, reader_t reader, tacit_ledger_state_t *state,
                              tacit_error_t *err) {
  tacit_header_t header = {0};
  tacit_totals_t totals = {0};
  *state = (tacit_ledger_state_t){0};
  tacit_status_t status = tacit_database_begin(ledger, false, err);
  TACIT_THEN(status, tacit_database_end(ledger, reader(ledger, &header, &totals, state, err), err));
  tacit_header_clear(&header);
  tacit_totals_clear(&totals);
  if (status != TACIT_OK) {
    tacit_ledger_state_clear(state);
  }
  return status;
}

tacit_status_t tacit_ledger_read(tacit_ledger_t *ledger, tacit_ledger_state_t *state, tacit_error_t *err) {
  return read_by(ledger, tacit_state_read, state, err);
}

tacit_status_t tacit_ledger_glance(tacit_ledger_t *ledger, tacit_ledger_state_t *state, tacit_error_t *err) {
  return read_by(ledger, tacit_state_glance, state, err);
}

tacit_status_t tacit_ledger_verify(tacit_ledger_t *ledger, tacit_ledger_state_t *state, tacit_error_t *err) {
  char *answer = NULL;
  tacit_ledger_state_t own = {0}, *wanted = state != NULL ? state : &own;
  *wanted = own;
  ledger->deadline = tacit_clock() + ledger->patience;
  tacit_status_t status = tacit_database_text(ledger, "PRAGMA integrity_check(1)", &answer, err);
  if (status == TACIT_OK && strcmp(answer, "ok") != 0) {
    status = tacit_ledger_broken(ledger, err, "%.300s", answer);
  }
  tacit_free(answer);
  TACIT_THEN(status, tacit_ledger_read(ledger, wanted, err));
  tacit_ledger_state_clear(&own);
  return status;
}

/* ---- appending ---- */

tacit_status_t tacit_entry_append(tacit_ledger_t *ledger, tacit_header_t *header, tacit_entry_t *entry,
                                  tacit_error_t *err) {
  entry->id = header->n_entries + 1;
  tacit_status_t status = tacit_entry_hash(entry, header->head, entry->hash, err);
  TACIT_THEN(status, tacit_entry_write(ledger, entry, err));
  header->n_entries = entry->id;
  memcpy(header->head, entry->hash, sizeof header->head);
  return status;
}

tacit_status_t tacit_unit_append(tacit_ledger_t *ledger, tacit_header_t *header, tacit_totals_t *totals,
                                 const char *unit, uint64_t max_rows, tacit_error_t *err) {
  tacit_entry_t entry;
  tacit_status_t status = tacit_entry_fill_unit(&entry, unit, max_rows, err);
  TACIT_THEN(status, tacit_entry_append(ledger, header, &entry, err));
  tacit_entry_clear(&entry);
  totals->unit = status == TACIT_OK ? tacit_strdup(unit) : NULL;
  totals->max_rows = max_rows;
  return status == TACIT_OK && totals->unit == NULL ? tacit_error_memory(err) : status;
}

/* ---- reserving ---- */

static tacit_status_t check_version(const tacit_ledger_t *ledger, tacit_relation_t relation, const char *unit,
                                    uint64_t max_rows, tacit_error_t *err) {
  if (ledger->version == TACIT_LEDGER_VERSION) {
    return TACIT_OK;
  }
  return tacit_error_set(
      err, TACIT_ERR_BUDGET, "ledger",
      "%.200s is an old ledger, which does not say who is protected: if all its runs were under this unit, "
      "tacit ledger migrate %.200s --relation %s --unit %.60s --max-rows %llu; if not, its total holds for "
      "nobody, and a new ledger is needed",
      ledger->path, ledger->path, tacit_relation_string(relation), unit != NULL ? unit : "UNIT",
      (unsigned long long)max_rows);
}

/* A total of spends that protect different things protects none of them. */
static tacit_status_t check_match(const tacit_ledger_t *ledger, const tacit_ledger_state_t *state,
                                  const tacit_spend_request_t *request, tacit_error_t *err) {
  tacit_relation_t relation = tacit_budget_relation(state->budget);
  if (request->data_id != NULL && !tacit_ledger_is_data_id(state->data_id, request->data_id)) {
    return tacit_error_set(
        err, TACIT_ERR_DATA, "data_id",
        "%.200s is the ledger of another data set than '%.200s'; tacit ledger show says of which",
        ledger->path, request->data_id);
  }
  tacit_status_t query = tacit_ledger_check_query(state->data_id, request->query_hash, err);
  if (query != TACIT_OK) {
    return query;
  }
  if (request->relation != relation) {
    return tacit_error_set(
        err, TACIT_ERR_BUDGET, "relation",
        "%.200s counts under relation %s, this spend under %s: say relation: %s in the schema, or make "
        "another ledger, whose total adds to this one's",
        ledger->path, tacit_relation_string(relation), tacit_relation_string(request->relation),
        tacit_relation_string(relation));
  }
  if (state->unit != NULL && strcmp(state->unit, request->unit) != 0) {
    return tacit_error_set(
        err, TACIT_ERR_BUDGET, "unit",
        "%.200s protects unit %.60s, this spend unit %.60s: say unit: %.60s in the schema, or make another "
        "ledger, whose total adds to this one's",
        ledger->path, state->unit, request->unit, state->unit);
  }
  if (state->unit != NULL && state->max_rows != request->max_rows) {
    return tacit_error_set(
        err, TACIT_ERR_BUDGET, "max_rows",
        "%.200s protects units of at most %llu rows, this spend of at most %llu: say max_rows: %llu in the "
        "schema, or make another ledger, whose total adds to this one's",
        ledger->path, (unsigned long long)state->max_rows, (unsigned long long)request->max_rows,
        (unsigned long long)state->max_rows);
  }
  return TACIT_OK;
}

static tacit_status_t record(tacit_ledger_t *ledger, tacit_header_t *header, tacit_totals_t *totals,
                             const tacit_spend_request_t *request, tacit_entry_t *entry, tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  if (totals->unit == NULL) {
    status = tacit_unit_append(ledger, header, totals, request->unit, request->max_rows, err);
  }
  entry->spend = ++totals->n_spends;
  TACIT_THEN(status, tacit_entry_append(ledger, header, entry, err));
  return status == TACIT_OK ? tacit_totals_write(ledger, totals, NULL, 0, entry->events, entry->n_events, err)
                            : status;
}

static tacit_status_t reserve_entry(tacit_ledger_t *ledger, const tacit_spend_request_t *request,
                                    tacit_entry_t *entry, bool is_rehearsal, tacit_error_t *err) {
  tacit_ledger_state_t state = {0};
  tacit_header_t header = {0};
  tacit_totals_t totals = {0};
  tacit_status_t status = tacit_database_begin(ledger, !is_rehearsal, err);
  if (status != TACIT_OK) {
    return status;
  }
  status = tacit_state_glance(ledger, &header, &totals, &state, err);
  TACIT_THEN(status, check_match(ledger, &state, request, err));
  TACIT_THEN(status, tacit_state_charge(ledger, &state, entry->events, entry->n_events, err));
  if (status == TACIT_OK && !is_rehearsal) {
    status = record(ledger, &header, &totals, request, entry, err);
  }
  status = tacit_database_end(ledger, status, err);
  tacit_ledger_state_clear(&state);
  tacit_header_clear(&header);
  tacit_totals_clear(&totals);
  return status;
}

static tacit_status_t settle(tacit_ledger_t *ledger, tacit_entry_t *entry, const char *hash,
                             tacit_error_t *err);

/*
 * A write that failed may have come through all the same, its last sync alone having failed. Nothing will be
 * released, so that nothing was spent: say so, or say that it stays.
 */
static tacit_status_t withdraw(const tacit_ledger_t *failed, const tacit_entry_t *entry,
                               tacit_status_t status, tacit_error_t *err) {
  tacit_ledger_t *ledger;
  tacit_error_t reason;
  uint64_t id;
  bool is_settled;
  tacit_entry_t nothing;
  if (tacit_ledger_open(&ledger, failed->path, &reason) != TACIT_OK) {
    return tacit_error_set(err, status, "ledger",
                           "%.300s; and it cannot be seen whether the spend was recorded: tacit ledger show",
                           reason.message);
  }
  tacit_status_t found = tacit_spend_find(ledger, entry->spend, &id, &is_settled, &reason);
  if (found == TACIT_OK && id > 0 && !is_settled) {
    found = tacit_entry_fill(&nothing, TACIT_ENTRY_SETTLE, "", "", NULL, 0, &reason);
    nothing.spend = entry->spend;
    if (found == TACIT_OK) {
      found = settle(ledger, &nothing, entry->hash, &reason);
      found = found == TACIT_ERR_ARGUMENT ? TACIT_OK : found; /* another's: this one was not recorded */
      tacit_entry_clear(&nothing);
    }
    if (found != TACIT_OK && err != NULL) {
      size_t n = strlen(err->message);
      snprintf(err->message + n, sizeof err->message - n, "; spend %llu was recorded and counts in full",
               (unsigned long long)entry->spend);
    }
  }
  tacit_ledger_close(ledger);
  return status;
}

static tacit_status_t reserve(tacit_ledger_t *ledger, const tacit_spend_request_t *request, bool is_rehearsal,
                              tacit_reservation_t *reservation, tacit_error_t *err) {
  tacit_entry_t entry;
  if (request->n_events == 0) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "n_events", "a spend needs at least one event");
  }
  tacit_status_t status = check_version(ledger, request->relation, request->unit, request->max_rows, err);
  TACIT_THEN(status, tacit_unit_check(request->unit, request->max_rows, err));
  TACIT_THEN(status, tacit_entry_fill(&entry, TACIT_ENTRY_RESERVE, request->purpose, request->artefact,
                                      request->events, request->n_events, err));
  if (status != TACIT_OK) {
    return status;
  }
  status = reserve_entry(ledger, request, &entry, is_rehearsal, err);
  if (status == TACIT_OK && !is_rehearsal) {
    reservation->id = entry.spend;
    memcpy(reservation->hash, entry.hash, sizeof reservation->hash);
  }
  if ((status == TACIT_ERR_IO || status == TACIT_ERR_MEMORY) && entry.hash[0] != '\0') {
    status = withdraw(ledger, &entry, status, err);
  }
  tacit_entry_clear(&entry);
  return status;
}

tacit_status_t tacit_ledger_reserve(tacit_ledger_t *ledger, const tacit_spend_request_t *request,
                                    tacit_reservation_t *reservation, tacit_error_t *err) {
  *reservation = (tacit_reservation_t){0};
  return reserve(ledger, request, false, reservation, err);
}

tacit_status_t tacit_ledger_check(tacit_ledger_t *ledger, const tacit_spend_request_t *request,
                                  tacit_error_t *err) {
  return reserve(ledger, request, true, NULL, err);
}

/* ---- settling ---- */

/* Another file may stand at the path by now, an older copy say: the hash tells whose spend it is. */
static tacit_status_t find_reservation(tacit_ledger_t *ledger, const tacit_header_t *header,
                                       const tacit_entry_t *entry, const char *hash, tacit_entry_t *reserved,
                                       tacit_error_t *err) {
  unsigned long long spend = entry->spend;
  uint64_t id = 0;
  bool is_settled = false;
  tacit_status_t status = tacit_spend_find(ledger, entry->spend, &id, &is_settled, err);
  if (status == TACIT_OK && id > 0) {
    status = tacit_entry_find(ledger, id, header->genesis, reserved, err);
  }
  if (status == TACIT_OK && (id == 0 || strncmp(hash, reserved->hash, TACIT_LEDGER_HASH_SIZE) != 0)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "reservation", "%s has no such spend %llu", ledger->path,
                           spend);
  }
  if (status == TACIT_OK && is_settled) {
    return tacit_error_set(err, TACIT_ERR_STATE, "id", "%s: spend %llu is settled already", ledger->path,
                           spend);
  }
  if (status == TACIT_OK &&
      !tacit_events_are_within(entry->events, entry->n_events, reserved->events, reserved->n_events)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "events",
                           "%s: spend %llu cannot be settled with more than it reserved", ledger->path,
                           spend);
  }
  return status;
}

/* The reservation's time, not the present one: when a run ended tells how long it took. */
static tacit_status_t copy_time(tacit_entry_t *entry, const tacit_entry_t *reserved, tacit_error_t *err) {
  char *time = tacit_strdup(reserved->time);
  if (time == NULL) {
    return tacit_error_memory(err);
  }
  tacit_free(entry->time);
  entry->time = time;
  return TACIT_OK;
}

static tacit_status_t settle(tacit_ledger_t *ledger, tacit_entry_t *entry, const char *hash,
                             tacit_error_t *err) {
  tacit_ledger_state_t state = {0};
  tacit_header_t header = {0};
  tacit_totals_t totals = {0};
  tacit_entry_t reserved = {0};
  tacit_status_t status = tacit_database_begin(ledger, true, err);
  if (status != TACIT_OK) {
    return status;
  }
  status = tacit_state_glance(ledger, &header, &totals, &state, err);
  TACIT_THEN(status, find_reservation(ledger, &header, entry, hash, &reserved, err));
  TACIT_THEN(status, copy_time(entry, &reserved, err));
  TACIT_THEN(status, tacit_entry_append(ledger, &header, entry, err));
  TACIT_THEN(status, tacit_totals_write(ledger, &totals, reserved.events, reserved.n_events, entry->events,
                                        entry->n_events, err));
  status = tacit_database_end(ledger, status, err);
  tacit_entry_clear(&reserved);
  tacit_ledger_state_clear(&state);
  tacit_header_clear(&header);
  tacit_totals_clear(&totals);
  return status;
}

/* A failed write may have come through: then another attempt finds the spend settled. */
static tacit_status_t settle_in_time(tacit_ledger_t *ledger, tacit_entry_t *entry, const char *hash,
                                     tacit_error_t *err) {
  double deadline = tacit_clock() + settling_patience * ledger->patience, nap = 0.01;
  tacit_status_t status = settle(ledger, entry, hash, err);
  bool is_again = status == TACIT_ERR_IO || status == TACIT_ERR_MEMORY;
  while ((status == TACIT_ERR_IO || status == TACIT_ERR_MEMORY) && tacit_clock() + nap < deadline) {
    tacit_ledger_t *fresh; /* a connection that failed may keep on failing */
    tacit_sleep(nap);
    nap = nap < 1 ? 2 * nap : nap;
    status = tacit_ledger_open(&fresh, ledger->path, err);
    if (status == TACIT_OK) {
      fresh->patience = ledger->patience;
      status = settle(fresh, entry, hash, err);
    }
    tacit_ledger_close(fresh);
  }
  return is_again && status == TACIT_ERR_STATE ? TACIT_OK : status;
}

tacit_status_t tacit_ledger_settle(tacit_ledger_t *ledger, const tacit_reservation_t *reservation,
                                   const tacit_event_t *events, size_t n_events, tacit_error_t *err) {
  tacit_entry_t entry;
  tacit_status_t status = check_version(ledger, TACIT_RELATION_SUBSTITUTE, NULL, 1, err);
  TACIT_THEN(status, tacit_entry_fill(&entry, TACIT_ENTRY_SETTLE, "", "", events, n_events, err));
  if (status != TACIT_OK) {
    return status;
  }
  entry.spend = reservation->id;
  status = settle_in_time(ledger, &entry, reservation->hash, err);
  tacit_entry_clear(&entry);
  return status;
}
