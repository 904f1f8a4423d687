/* Shared by the tests of the ledger: a folder of its own, events, ledgers, and a hand that edits the file. */
#ifndef TACIT_TESTS_LEDGER_SUPPORT_H
#define TACIT_TESTS_LEDGER_SUPPORT_H

#include "testing.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/memory.h"
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

static const tacit_ledger_terms_t trial = {
    .data_id = "trial-7", .epsilon = 6, .delta = 1e-6, .unit = "row", .max_rows = 1};

/* A ledger in which 100 releases with noise multiplier 10 cost about epsilon 5.5 of 6; its entry 1 is that of
 * the unit. */
static inline tacit_ledger_t *new_ledger(const char *path) {
  tacit_error_t err;
  assert_ok(tacit_ledger_create(path, &trial, &err), err);
  return open_ledger(path);
}

static inline tacit_spend_request_t request_of(const tacit_event_t *events, size_t n_events) {
  return (tacit_spend_request_t){.unit = "row",
                                 .max_rows = 1,
                                 .purpose = "test",
                                 .artefact = "/out",
                                 .events = events,
                                 .n_events = n_events};
}

static inline tacit_status_t reserve(tacit_ledger_t *ledger, double noise_multiplier, uint64_t count,
                                     uint64_t *id, tacit_error_t *err) {
  tacit_event_t event = gaussian(noise_multiplier, count, "gradient");
  tacit_spend_request_t request = request_of(&event, 1);
  tacit_reservation_t reservation;
  tacit_status_t status = tacit_ledger_reserve(ledger, &request, &reservation, err);
  *id = reservation.id;
  return status;
}

/* Settle by number, as no caller can: with the hash that the ledger has. */
static inline tacit_status_t settle(tacit_ledger_t *ledger, uint64_t id, const tacit_event_t *events,
                                    size_t n_events, tacit_error_t *err) {
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
      tacit_ledger_verify(ledger, NULL, &err) != TACIT_ERR_DATA ||
      reserve(ledger, 1e6, 1, &id, &err) != TACIT_ERR_DATA ||
      settle(ledger, 2, NULL, 0, &err) != TACIT_ERR_DATA) {
    fail_msg("%s: %s", sql, err.message);
  }
  assert_non_null(strstr(err.message, "the ledger is broken"));
  tacit_ledger_close(ledger);
}

/* Hashes and totals of what the file holds by now, as a forger would compute them; of at most 9 entries. */
static inline void rehash(const char *path) {
  tacit_ledger_t *ledger = open_ledger(path);
  tacit_header_t header;
  tacit_totals_t totals = {.unit = tacit_strdup("row"), .max_rows = 1};
  tacit_entries_t entries;
  tacit_entry_t list[9] = {0};
  size_t n = 0;
  tacit_error_t err;
  assert_ok(tacit_database_begin(ledger, true, &err), err);
  assert_ok(tacit_header_read(ledger, &header, &err), err);
  assert_ok(tacit_entries_begin(&entries, ledger, 0, &err), err);
  do {
    assert_ok(tacit_entries_next(&entries, &list[n], &err), err);
  } while (list[n++].id > 0);
  tacit_entries_end(&entries);
  for (size_t i = 0; i + 1 < n; i++) {
    char sql[200];
    assert_ok(tacit_entry_hash(&list[i], i == 0 ? header.genesis : list[i - 1].hash, list[i].hash, &err),
              err);
    snprintf(sql, sizeof sql, "UPDATE entries SET hash = '%s' WHERE id = %d; UPDATE ledger SET head = '%s'",
             list[i].hash, (int)i + 1, list[i].hash);
    assert_ok(tacit_database_run(ledger, sql, &err), err);
    if (list[i].kind == TACIT_ENTRY_RESERVE) { /* and none is settled */
      assert_ok(tacit_totals_add(&totals, list[i].events, list[i].n_events, &err), err);
      totals.n_spends++;
    }
  }
  for (size_t i = 0; i < n; i++) {
    tacit_entry_clear(&list[i]);
  }
  assert_ok(tacit_database_run(ledger, "DELETE FROM decisions", &err), err);
  assert_ok(tacit_totals_create(ledger, &totals, &err), err);
  assert_ok(tacit_database_end(ledger, TACIT_OK, &err), err);
  tacit_header_clear(&header);
  tacit_totals_clear(&totals);
  tacit_ledger_close(ledger);
}

/* Another budget and another count of the only spend's only event, by a forger who recomputes every hash. */
static inline void forge(const char *path, const char *epsilon, uint64_t count) {
  char sql[400];
  snprintf(sql, sizeof sql, "UPDATE events SET count = %llu; UPDATE ledger SET epsilon = '%s'",
           (unsigned long long)count, epsilon);
  edit(path, sql);
  rehash(path);
}

#endif
