/*
 * Making, opening, reading and spending. A spend is one transaction: read everything and check it, refuse or record,
 * commit; no other process can write in between.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger/ledger_internal.h"

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
    tacit_free(ledger->path);
    tacit_free(ledger);
  }
}

void tacit_ledger_set_patience(tacit_ledger_t *ledger, double seconds) {
  double ms = seconds * 1000;
  sqlite3_busy_timeout(ledger->db, ms > 1e9 ? 1000000000 : ms > 0 ? (int)ms : 0);
}

tacit_status_t tacit_ledger_read(tacit_ledger_t *ledger, tacit_ledger_state_t *state, tacit_error_t *err) {
  *state = (tacit_ledger_state_t){0};
  tacit_status_t status = tacit_database_begin(ledger, false, err);
  if (status == TACIT_OK) {
    status = tacit_database_end(ledger, tacit_state_read(ledger, state, err), err);
  }
  if (status != TACIT_OK) {
    tacit_ledger_state_clear(state);
  }
  return status;
}

tacit_status_t tacit_ledger_verify(tacit_ledger_t *ledger, tacit_error_t *err) {
  char *answer = NULL;
  tacit_ledger_state_t state;
  tacit_status_t status = tacit_database_text(ledger, "PRAGMA integrity_check(1)", &answer, err);
  if (status == TACIT_OK && strcmp(answer, "ok") != 0) {
    status = tacit_ledger_broken(ledger, err, "%.300s", answer);
  }
  tacit_free(answer);
  if (status == TACIT_OK) {
    status = tacit_ledger_read(ledger, &state, err);
    tacit_ledger_state_clear(&state);
  }
  return status;
}

/* ---- spending ---- */

static tacit_status_t append(tacit_ledger_t *ledger, const tacit_ledger_state_t *state, tacit_entry_t *entry,
                             tacit_error_t *err) {
  entry->id = state->n_entries + 1;
  tacit_status_t status = tacit_entry_hash(entry, state->head, entry->hash, err);
  return status == TACIT_OK ? tacit_entry_write(ledger, entry, err) : status;
}

static tacit_status_t check_match(const tacit_ledger_t *ledger, const tacit_ledger_state_t *state,
                                  const tacit_spend_request_t *request, tacit_error_t *err) {
  tacit_relation_t relation = tacit_budget_relation(state->budget);
  if (request->data_id != NULL && strcmp(request->data_id, state->data_id) != 0) {
    return tacit_error_set(err, TACIT_ERR_DATA, "data_id",
                           "%.200s is the ledger of another data set than '%.200s'; tacit ledger show says of which",
                           ledger->path, request->data_id);
  }
  if (request->relation != relation) {
    return tacit_error_set(err, TACIT_ERR_DATA, "relation",
                           "%.200s counts under relation %s, this spend under %s: give the ledger of these data",
                           ledger->path, tacit_relation_string(relation), tacit_relation_string(request->relation));
  }
  return TACIT_OK;
}

static tacit_status_t reserve_entry(tacit_ledger_t *ledger, const tacit_spend_request_t *request,
                                    tacit_entry_t *entry, bool is_rehearsal, tacit_error_t *err) {
  tacit_ledger_state_t state = {0};
  tacit_status_t status = tacit_database_begin(ledger, !is_rehearsal, err);
  if (status != TACIT_OK) {
    return status;
  }
  status = tacit_state_read(ledger, &state, err);
  if (status == TACIT_OK) {
    status = check_match(ledger, &state, request, err);
  }
  if (status == TACIT_OK) {
    status = tacit_state_charge(ledger, &state, entry->events, entry->n_events, err);
  }
  if (status == TACIT_OK && !is_rehearsal) {
    entry->spend = state.n_spends + 1;
    status = append(ledger, &state, entry, err);
  }
  status = tacit_database_end(ledger, status, err);
  tacit_ledger_state_clear(&state);
  return status;
}

/* The log beside the file holds the newest entries: carry them over, so that a copy of the file alone has them. */
static void fold_log(tacit_ledger_t *ledger) {
  sqlite3_wal_checkpoint_v2(ledger->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL); /* another time if busy */
}

static tacit_status_t reserve(tacit_ledger_t *ledger, const tacit_spend_request_t *request, bool is_rehearsal,
                              tacit_reservation_t *reservation, tacit_error_t *err) {
  tacit_entry_t entry;
  if (request->n_events == 0) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "n_events", "a spend needs at least one event");
  }
  tacit_status_t status =
      tacit_entry_fill(&entry, request->purpose, request->artefact, request->events, request->n_events, err);
  if (status != TACIT_OK) {
    return status;
  }
  status = reserve_entry(ledger, request, &entry, is_rehearsal, err);
  if (status == TACIT_OK && !is_rehearsal) {
    reservation->id = entry.spend;
    memcpy(reservation->hash, entry.hash, sizeof reservation->hash);
    fold_log(ledger);
  }
  tacit_entry_clear(&entry);
  return status;
}

tacit_status_t tacit_ledger_reserve(tacit_ledger_t *ledger, const tacit_spend_request_t *request,
                                    tacit_reservation_t *reservation, tacit_error_t *err) {
  *reservation = (tacit_reservation_t){0};
  return reserve(ledger, request, false, reservation, err);
}

tacit_status_t tacit_ledger_check(tacit_ledger_t *ledger, const tacit_spend_request_t *request, tacit_error_t *err) {
  return reserve(ledger, request, true, NULL, err);
}

/* Another file may stand at the path by now, an older copy say: the hash tells whose spend it is. */
static tacit_status_t check_settlement(const tacit_ledger_t *ledger, const tacit_ledger_state_t *state,
                                       const tacit_entry_t *entry, const char *hash, tacit_error_t *err) {
  unsigned long long id = entry->spend;
  if (id < 1 || id > state->n_spends || strncmp(hash, state->spends[id - 1].hash, TACIT_LEDGER_HASH_SIZE) != 0) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "reservation", "%s has no such spend %llu", ledger->path, id);
  }
  const tacit_spend_t *spend = &state->spends[id - 1];
  if (spend->is_settled) {
    return tacit_error_set(err, TACIT_ERR_STATE, "id", "%s: spend %llu is settled already", ledger->path, id);
  }
  if (!tacit_events_are_within(entry->events, entry->n_events, spend->reserved, spend->n_reserved)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "events",
                           "%s: spend %llu cannot be settled with more than it reserved", ledger->path, id);
  }
  return TACIT_OK;
}

tacit_status_t tacit_ledger_settle(tacit_ledger_t *ledger, const tacit_reservation_t *reservation,
                                   const tacit_event_t *events, size_t n_events, tacit_error_t *err) {
  tacit_entry_t entry;
  tacit_ledger_state_t state = {0};
  tacit_status_t status = tacit_entry_fill(&entry, "", "", events, n_events, err);
  if (status != TACIT_OK) {
    return status;
  }
  entry.is_settlement = true;
  entry.spend = reservation->id;
  status = tacit_database_begin(ledger, true, err);
  if (status == TACIT_OK) {
    status = tacit_state_read(ledger, &state, err);
    if (status == TACIT_OK) {
      status = check_settlement(ledger, &state, &entry, reservation->hash, err);
    }
    if (status == TACIT_OK) {
      status = append(ledger, &state, &entry, err);
    }
    status = tacit_database_end(ledger, status, err);
  }
  if (status == TACIT_OK) {
    fold_log(ledger);
  }
  tacit_ledger_state_clear(&state);
  tacit_entry_clear(&entry);
  return status;
}
