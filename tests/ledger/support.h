/* Shared by the tests of the ledger: a folder of its own, events, ledgers, and a hand that edits the file. */
#ifndef TACIT_TESTS_LEDGER_SUPPORT_H
#define TACIT_TESTS_LEDGER_SUPPORT_H

#include "testing.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/base_internal.h"
#include "ledger/ledger_internal.h"
#include "tacit/ledger.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

/* Go to a new folder, to be removed by leave_folder. */
static char folder_name[64];

static inline int enter_folder(void **state) {
  (void)state;
  snprintf(folder_name, sizeof folder_name, "/tmp/tacit-ledger-XXXXXX");
  return mkdtemp(folder_name) != NULL && chdir(folder_name) == 0 ? 0 : -1;
}

static inline int leave_folder(void **state) {
  (void)state;
  char command[100];
  snprintf(command, sizeof command, "rm -rf %s", folder_name);
  return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static inline tacit_event_t gaussian(double noise_multiplier, uint64_t count, const char *label) {
  tacit_event_t event = {.kind = TACIT_EVENT_GAUSSIAN, .noise_multiplier = noise_multiplier, .count = count};
  snprintf(event.label, sizeof event.label, "%s", label);
  return event;
}

static inline tacit_ledger_t *open_ledger(const char *path) {
  tacit_ledger_t *ledger;
  tacit_error_t err;
  assert_ok(tacit_ledger_open(&ledger, path, &err), err);
  return ledger;
}

/* A ledger in which 100 releases with noise multiplier 10 cost about epsilon 5.5 of 6. */
static inline tacit_ledger_t *new_ledger(const char *path) {
  tacit_error_t err;
  assert_ok(tacit_ledger_create(path, "trial-7", 6, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), err);
  return open_ledger(path);
}

static inline tacit_status_t reserve(tacit_ledger_t *ledger, double noise_multiplier, uint64_t count, uint64_t *id,
                                     tacit_error_t *err) {
  tacit_event_t event = gaussian(noise_multiplier, count, "gradient");
  tacit_spend_request_t request = {.purpose = "test", .artefact = "/out", .events = &event, .n_events = 1};
  tacit_reservation_t reservation;
  tacit_status_t status = tacit_ledger_reserve(ledger, &request, &reservation, err);
  *id = reservation.id;
  return status;
}

/* Settle by number, as no caller can: with the hash that the ledger has. */
static inline tacit_status_t settle(tacit_ledger_t *ledger, uint64_t id, const tacit_event_t *events, size_t n_events,
                                    tacit_error_t *err) {
  tacit_reservation_t reservation = {.id = id};
  tacit_ledger_state_t state;
  if (tacit_ledger_read(ledger, &state, err) == TACIT_OK && id >= 1 && id <= state.n_spends) {
    memcpy(reservation.hash, state.spends[id - 1].hash, sizeof reservation.hash);
  }
  tacit_ledger_state_clear(&state);
  return tacit_ledger_settle(ledger, &reservation, events, n_events, err);
}

/* What an editor of the database can do. */
static inline void edit(const char *path, const char *sql) {
  sqlite3 *db;
  char *message = NULL;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) {
    fail_msg("%s: %s", sql, message);
  }
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Reading, spending and settling refuse what the edit left, in these words among others. */
static inline void assert_edit_is_refused(const char *path, const char *sql, const char *words) {
  tacit_ledger_state_t state;
  tacit_error_t err;
  uint64_t id;
  edit(path, sql);
  tacit_ledger_t *ledger = open_ledger(path);
  if (tacit_ledger_read(ledger, &state, &err) != TACIT_ERR_DATA || strstr(err.message, words) == NULL ||
      tacit_ledger_verify(ledger, &err) != TACIT_ERR_DATA || reserve(ledger, 1e6, 1, &id, &err) != TACIT_ERR_DATA ||
      settle(ledger, 2, NULL, 0, &err) != TACIT_ERR_DATA) {
    fail_msg("%s: %s", sql, err.message);
  }
  assert_non_null(strstr(err.message, "the ledger is broken"));
  tacit_ledger_close(ledger);
}

/* Another budget and another count of the only spend's only event, by a forger who recomputes every hash. */
static inline void forge(const char *path, tacit_ledger_state_t *state, const char *epsilon, uint64_t count) {
  char genesis[TACIT_LEDGER_HASH_SIZE], sql[400];
  tacit_error_t err;
  tacit_spend_t *spend = &state->spends[0];
  tacit_entry_t entry = {.id = 1, .spend = 1, .time = spend->time, .who = spend->who, .host = spend->host,
                         .purpose = spend->purpose, .artefact = spend->artefact, .events = spend->reserved, .n_events = 1};
  spend->reserved[0].count = count;
  assert_ok(tacit_genesis_hash("trial-7", "substitute", epsilon, "1e-06", state->created, genesis, &err), err);
  assert_ok(tacit_entry_hash(&entry, genesis, entry.hash, &err), err);
  snprintf(sql, sizeof sql, "UPDATE events SET count = %llu; UPDATE ledger SET epsilon = '%s', head = '%s'; UPDATE entries SET hash = '%s'",
           (unsigned long long)count, epsilon, entry.hash, entry.hash);
  edit(path, sql);
}

#endif
