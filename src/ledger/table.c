/*
 * Entries as rows. What is read is checked here one value at a time: its type, its range, and that it is written
 * the one way in which it would have been.
 */
#include <string.h>

#include "ledger/ledger_internal.h"

static const uint64_t max_id = INT64_MAX, max_count = UINT64_C(1000000000000000000);

/* ---- writing ---- */

static bool bind_text(sqlite3_stmt *statement, int i, const char *text) {
  return sqlite3_bind_text(statement, i, text, -1, SQLITE_STATIC) == SQLITE_OK;
}

static bool bind_count(sqlite3_stmt *statement, int i, uint64_t value) {
  return sqlite3_bind_int64(statement, i, (sqlite3_int64)value) == SQLITE_OK;
}

/* Run a statement whose values are bound, and finalize it. */
static tacit_status_t finish(tacit_ledger_t *ledger, sqlite3_stmt *statement, bool is_bound, tacit_error_t *err) {
  bool has_row;
  tacit_status_t status = is_bound ? tacit_database_step(ledger, statement, &has_row, err) : tacit_error_memory(err);
  if (status == TACIT_OK && sqlite3_changes(ledger->db) != 1) {
    status = tacit_ledger_broken(ledger, err, "an entry cannot be written");
  }
  sqlite3_finalize(statement);
  return status;
}

static tacit_status_t write_event(tacit_ledger_t *ledger, uint64_t entry, size_t position, const tacit_event_t *event,
                                  tacit_error_t *err) {
  sqlite3_stmt *statement = NULL;
  char spec[TACIT_EVENT_TEXT_SIZE];
  tacit_status_t status = tacit_database_prepare(
      ledger, "INSERT INTO events(entry, position, count, spec, label) VALUES (?, ?, ?, ?, ?)", &statement, err);
  if (status != TACIT_OK) {
    return status;
  }
  bool ok = bind_count(statement, 1, entry) && bind_count(statement, 2, position) &&
            bind_count(statement, 3, event->count) && bind_text(statement, 4, tacit_event_format(event, spec)) &&
            bind_text(statement, 5, event->label);
  return finish(ledger, statement, ok, err);
}

static tacit_status_t write_row(tacit_ledger_t *ledger, const tacit_entry_t *entry, tacit_error_t *err) {
  sqlite3_stmt *statement = NULL;
  tacit_status_t status = tacit_database_prepare(
      ledger, "INSERT INTO entries(id, kind, spend, time, who, host, purpose, artefact, hash) "
              "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", &statement, err);
  if (status != TACIT_OK) {
    return status;
  }
  bool ok = bind_count(statement, 1, entry->id) &&
            bind_text(statement, 2, entry->is_settlement ? "settle" : "reserve") &&
            bind_count(statement, 3, entry->spend) && bind_text(statement, 4, entry->time) &&
            bind_text(statement, 5, entry->who) && bind_text(statement, 6, entry->host) &&
            bind_text(statement, 7, entry->purpose) && bind_text(statement, 8, entry->artefact) &&
            bind_text(statement, 9, entry->hash);
  return finish(ledger, statement, ok, err);
}

static tacit_status_t write_head(tacit_ledger_t *ledger, const tacit_entry_t *entry, tacit_error_t *err) {
  sqlite3_stmt *statement = NULL;
  tacit_status_t status = tacit_database_prepare(
      ledger, "UPDATE ledger SET n_entries = ?, head = ? WHERE id = 1", &statement, err);
  if (status != TACIT_OK) {
    return status;
  }
  return finish(ledger, statement, bind_count(statement, 1, entry->id) && bind_text(statement, 2, entry->hash), err);
}

tacit_status_t tacit_entry_write(tacit_ledger_t *ledger, const tacit_entry_t *entry, tacit_error_t *err) {
  tacit_status_t status = write_row(ledger, entry, err);
  if (status == TACIT_OK && !tacit_events_are_plain(entry->events, entry->n_events)) {
    status = tacit_database_run(ledger, "PRAGMA user_version=" TACIT_LEDGER_NEWEST, err);
  }
  for (size_t i = 0; i < entry->n_events && status == TACIT_OK; i++) {
    status = write_event(ledger, entry->id, i, &entry->events[i], err);
  }
  return status == TACIT_OK ? write_head(ledger, entry, err) : status;
}

/* ---- reading ---- */

/*
 * The mechanism's text must be the one that its value is written as: "sigma=20.0" was not written here. Texts that name a file are
 * none of ours, and it is not opened.
 */
static tacit_status_t parse_event(tacit_ledger_t *ledger, uint64_t entry, const char *spec, uint64_t count,
                                  const char *label, tacit_event_t *event, tacit_error_t *err) {
  char again[TACIT_EVENT_TEXT_SIZE];
  tacit_error_t reason;
  bool names_file = strncmp(spec, "pair:", 5) == 0 || strncmp(spec, "profile:", 8) == 0;
  tacit_status_t status = names_file ? tacit_error_set(&reason, TACIT_ERR_DATA, "event", "an event names a file")
                                     : tacit_event_parse(event, spec, &reason);
  if (status == TACIT_OK) {
    event->count = count;
    status = tacit_ledger_check_event(event, &reason);
  }
  if (status != TACIT_OK) {
    return tacit_ledger_broken(ledger, err, "entry %llu: %.250s", (unsigned long long)entry, reason.message);
  }
  if (strcmp(tacit_event_format(event, again), spec) != 0 || strlen(label) >= sizeof event->label) {
    return tacit_ledger_broken(ledger, err, "entry %llu: the event '%.60s' (label '%.40s') is not written as tacit does",
                               (unsigned long long)entry, spec, label);
  }
  memcpy(event->label, label, strlen(label) + 1);
  return TACIT_OK;
}

static tacit_status_t read_event(tacit_ledger_t *ledger, sqlite3_stmt *statement, tacit_entry_t *entry,
                                 tacit_error_t *err) {
  uint64_t position, count = 0;
  char *spec = NULL, *label = NULL;
  size_t n = entry->n_events;
  if (n == TACIT_LEDGER_MAX_EVENTS) {
    return tacit_ledger_broken(ledger, err, "entry %llu has more than %zu events", (unsigned long long)entry->id, n);
  }
  tacit_status_t status = tacit_column_count(ledger, statement, 0, n, n, &position, err);
  if (status == TACIT_OK) {
    status = tacit_column_count(ledger, statement, 1, 1, max_count, &count, err);
  }
  if (status == TACIT_OK) {
    status = tacit_column_text(ledger, statement, 2, &spec, err);
  }
  if (status == TACIT_OK) {
    status = tacit_column_text(ledger, statement, 3, &label, err);
  }
  tacit_event_t *events = status == TACIT_OK ? tacit_realloc(entry->events, n + 1, sizeof *events) : NULL;
  if (status == TACIT_OK && events == NULL) {
    status = tacit_error_memory(err);
  }
  if (status == TACIT_OK) {
    entry->events = events;
    status = parse_event(ledger, entry->id, spec, count, label, &events[n], err);
    entry->n_events += status == TACIT_OK;
  }
  tacit_free(spec);
  tacit_free(label);
  return status;
}

static tacit_status_t read_events(tacit_ledger_t *ledger, tacit_entry_t *entry, tacit_error_t *err) {
  sqlite3_stmt *statement = NULL;
  bool has_row = true;
  tacit_status_t status = tacit_database_prepare(
      ledger, "SELECT position, count, spec, label FROM events WHERE entry = ? ORDER BY position", &statement, err);
  if (status == TACIT_OK && !bind_count(statement, 1, entry->id)) {
    status = tacit_error_memory(err);
  }
  while (status == TACIT_OK && has_row) {
    status = tacit_database_step(ledger, statement, &has_row, err);
    if (status == TACIT_OK && has_row) {
      status = read_event(ledger, statement, entry, err);
    }
  }
  sqlite3_finalize(statement);
  return status;
}

static tacit_status_t read_kind(tacit_ledger_t *ledger, sqlite3_stmt *statement, tacit_entry_t *entry,
                                tacit_error_t *err) {
  char *kind = NULL;
  tacit_status_t status = tacit_column_text(ledger, statement, 1, &kind, err);
  if (status == TACIT_OK) {
    entry->is_settlement = strcmp(kind, "settle") == 0;
    if (!entry->is_settlement && strcmp(kind, "reserve") != 0) {
      status = tacit_ledger_broken(ledger, err, "entry %llu is of unknown kind '%.40s'",
                                   (unsigned long long)entry->id, kind);
    }
  }
  tacit_free(kind);
  return status;
}

const char tacit_entry_query[] =
    "SELECT id, kind, spend, time, who, host, purpose, artefact, hash FROM entries ORDER BY id";

tacit_status_t tacit_entry_read(tacit_ledger_t *ledger, sqlite3_stmt *statement, tacit_entry_t *entry,
                                tacit_error_t *err) {
  *entry = (tacit_entry_t){0};
  char **const texts[] = {&entry->time, &entry->who, &entry->host, &entry->purpose, &entry->artefact};
  tacit_status_t status = tacit_column_count(ledger, statement, 0, 1, max_id, &entry->id, err);
  if (status == TACIT_OK) {
    status = read_kind(ledger, statement, entry, err);
  }
  if (status == TACIT_OK) {
    status = tacit_column_count(ledger, statement, 2, 1, max_id, &entry->spend, err);
  }
  for (int i = 0; i < 5 && status == TACIT_OK; i++) {
    status = tacit_column_text(ledger, statement, 3 + i, texts[i], err);
  }
  if (status == TACIT_OK && !tacit_time_is_valid(entry->time)) {
    status = tacit_ledger_broken(ledger, err, "entry %llu has no valid time", (unsigned long long)entry->id);
  }
  if (status == TACIT_OK) {
    status = tacit_column_hash(ledger, statement, 8, entry->hash, err);
  }
  if (status == TACIT_OK) {
    status = read_events(ledger, entry, err);
  }
  if (status != TACIT_OK) {
    tacit_entry_clear(entry);
  }
  return status;
}
