/*
 * Entries as rows. What is read is checked here one value at a time: its type, its range, and that it is
 * written the one way in which it would have been.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "ledger/ledger_internal.h"

static const uint64_t max_id = INT64_MAX, max_count = UINT64_C(1000000000000000000);

/* An UPDATE that no row matches is a ledger without its row. */
static tacit_status_t check_changes(tacit_ledger_t *ledger, tacit_error_t *err) {
  return sqlite3_changes(ledger->db) == 1 ? TACIT_OK
                                          : tacit_ledger_broken(ledger, err, "an entry cannot be written");
}

/* ---- writing ---- */

static tacit_status_t write_event(tacit_ledger_t *ledger, uint64_t entry, size_t position,
                                  const tacit_event_t *event, tacit_error_t *err) {
  sqlite3_stmt *statement = NULL;
  char spec[TACIT_EVENT_TEXT_SIZE];
  tacit_status_t status = tacit_database_prepare(
      ledger, "INSERT INTO events(entry, position, count, spec, label) VALUES (?, ?, ?, ?, ?)", &statement,
      err);
  if (status != TACIT_OK) {
    return status;
  }
  bool ok = tacit_bind_count(statement, 1, entry) && tacit_bind_count(statement, 2, position) &&
            tacit_bind_count(statement, 3, event->count) &&
            tacit_bind_text(statement, 4, tacit_event_format(event, spec)) &&
            tacit_bind_text(statement, 5, event->label);
  return tacit_database_finish(ledger, statement, ok, err);
}

static tacit_status_t write_row(tacit_ledger_t *ledger, const tacit_entry_t *entry, tacit_error_t *err) {
  sqlite3_stmt *statement = NULL;
  tacit_status_t status =
      tacit_database_prepare(ledger,
                             "INSERT INTO entries(id, kind, spend, time, who, host, purpose, artefact, hash) "
                             "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                             &statement, err);
  if (status != TACIT_OK) {
    return status;
  }
  bool ok = tacit_bind_count(statement, 1, entry->id) &&
            tacit_bind_text(statement, 2, tacit_entry_kinds[entry->kind]) &&
            tacit_bind_count(statement, 3, entry->spend) && tacit_bind_text(statement, 4, entry->time) &&
            tacit_bind_text(statement, 5, entry->who) && tacit_bind_text(statement, 6, entry->host) &&
            tacit_bind_text(statement, 7, entry->purpose) && tacit_bind_text(statement, 8, entry->artefact) &&
            tacit_bind_text(statement, 9, entry->hash);
  return tacit_database_finish(ledger, statement, ok, err);
}

static tacit_status_t write_head(tacit_ledger_t *ledger, const tacit_entry_t *entry, tacit_error_t *err) {
  sqlite3_stmt *statement = NULL;
  tacit_status_t status = tacit_database_prepare(
      ledger, "UPDATE ledger SET n_entries = ?, head = ? WHERE id = 1", &statement, err);
  if (status != TACIT_OK) {
    return status;
  }
  bool ok = tacit_bind_count(statement, 1, entry->id) && tacit_bind_text(statement, 2, entry->hash);
  status = tacit_database_finish(ledger, statement, ok, err);
  return status == TACIT_OK ? check_changes(ledger, err) : status;
}

tacit_status_t tacit_entry_write(tacit_ledger_t *ledger, const tacit_entry_t *entry, tacit_error_t *err) {
  tacit_status_t status = write_row(ledger, entry, err);
  for (size_t i = 0; i < entry->n_events && status == TACIT_OK; i++) {
    status = write_event(ledger, entry->id, i, &entry->events[i], err);
  }
  return status == TACIT_OK ? write_head(ledger, entry, err) : status;
}

/* ---- reading ---- */

/*
 * The mechanism's text must be the one that its value is written as: "sigma=20.0" was not written here. Texts
 * that name a file are none of ours, and it is not opened.
 */
tacit_status_t tacit_event_read(tacit_ledger_t *ledger, uint64_t entry, const char *spec, uint64_t count,
                                const char *label, tacit_event_t *event, tacit_error_t *err) {
  char again[TACIT_EVENT_TEXT_SIZE];
  tacit_error_t reason;
  tacit_status_t status = tacit_event_names_file(spec)
                              ? tacit_error_set(&reason, TACIT_ERR_DATA, "event", "an event names a file")
                              : tacit_event_parse(event, spec, &reason);
  if (status == TACIT_OK) {
    event->count = count;
    status = tacit_ledger_check_event(event, &reason);
  }
  if (status != TACIT_OK) {
    return tacit_ledger_broken(ledger, err, "entry %llu: %.250s", (unsigned long long)entry, reason.message);
  }
  if (strcmp(tacit_event_format(event, again), spec) != 0 || strlen(label) >= sizeof event->label) {
    return tacit_ledger_broken(ledger, err,
                               "entry %llu: the event '%.60s' (label '%.40s') is not written as tacit does",
                               (unsigned long long)entry, spec, label);
  }
  memcpy(event->label, label, strlen(label) + 1);
  return TACIT_OK;
}

static tacit_status_t read_event(tacit_entries_t *entries, tacit_entry_t *entry, tacit_error_t *err) {
  tacit_ledger_t *ledger = entries->ledger;
  sqlite3_stmt *statement = entries->events;
  uint64_t position, count = 0;
  char *spec = NULL, *label = NULL;
  size_t n = entry->n_events;
  if (n == TACIT_LEDGER_MAX_EVENTS) {
    return tacit_ledger_broken(ledger, err, "entry %llu has more than %zu events",
                               (unsigned long long)entry->id, n);
  }
  tacit_status_t status = tacit_column_count(ledger, statement, 1, n, n, &position, err);
  TACIT_THEN(status, tacit_column_count(ledger, statement, 2, 1, max_count, &count, err));
  TACIT_THEN(status, tacit_column_text(ledger, statement, 3, &spec, err));
  TACIT_THEN(status, tacit_column_text(ledger, statement, 4, &label, err));
  tacit_event_t *events = status == TACIT_OK ? tacit_realloc(entry->events, n + 1, sizeof *events) : NULL;
  if (status == TACIT_OK && events == NULL) {
    status = tacit_error_memory(err);
  }
  if (status == TACIT_OK) {
    entry->events = events;
    status = tacit_event_read(ledger, entry->id, spec, count, label, &events[n], err);
    entry->n_events += status == TACIT_OK;
  }
  tacit_free(spec);
  tacit_free(label);
  return status;
}

/* Events come in the order of entries: those at hand belong to this one, or to a later one. */
static tacit_status_t read_events(tacit_entries_t *entries, tacit_entry_t *entry, tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  while (status == TACIT_OK && entries->has_event) {
    sqlite3_int64 owner = sqlite3_column_int64(entries->events, 0);
    if (sqlite3_column_type(entries->events, 0) != SQLITE_INTEGER || owner < (sqlite3_int64)entry->id) {
      return tacit_ledger_broken(entries->ledger, err, "it holds events of no entry");
    }
    if (owner > (sqlite3_int64)entry->id) {
      return TACIT_OK;
    }
    status = read_event(entries, entry, err);
    TACIT_THEN(status, tacit_database_step(entries->ledger, entries->events, &entries->has_event, err));
  }
  return status;
}

static tacit_status_t read_kind(tacit_ledger_t *ledger, sqlite3_stmt *statement, tacit_entry_t *entry,
                                tacit_error_t *err) {
  char *kind = NULL;
  tacit_status_t status = tacit_column_text(ledger, statement, 1, &kind, err);
  size_t i = 0;
  while (status == TACIT_OK && i < 3 && strcmp(kind, tacit_entry_kinds[i]) != 0) {
    i++;
  }
  if (status == TACIT_OK && i == 3) {
    status = tacit_ledger_broken(ledger, err, "entry %llu is of unknown kind '%.40s'",
                                 (unsigned long long)entry->id, kind);
  }
  entry->kind = (tacit_entry_kind_t)i;
  tacit_free(kind);
  return status;
}

static tacit_status_t read_row(tacit_ledger_t *ledger, sqlite3_stmt *statement, tacit_entry_t *entry,
                               tacit_error_t *err) {
  char **const texts[] = {&entry->time, &entry->who, &entry->host, &entry->purpose, &entry->artefact};
  tacit_status_t status = tacit_column_count(ledger, statement, 0, 1, max_id, &entry->id, err);
  TACIT_THEN(status, read_kind(ledger, statement, entry, err));
  TACIT_THEN(status, tacit_column_count(ledger, statement, 2, entry->kind == TACIT_ENTRY_UNIT ? 0 : 1, max_id,
                                        &entry->spend, err));
  for (int i = 0; i < 5 && status == TACIT_OK; i++) {
    status = tacit_column_text(ledger, statement, 3 + i, texts[i], err);
  }
  if (status == TACIT_OK && !tacit_time_is_valid(entry->time)) {
    status = tacit_ledger_broken(ledger, err, "entry %llu has no valid time", (unsigned long long)entry->id);
  }
  return status == TACIT_OK ? tacit_column_hash(ledger, statement, 8, entry->hash, err) : status;
}

tacit_status_t tacit_entries_begin(tacit_entries_t *entries, tacit_ledger_t *ledger, uint64_t first,
                                   tacit_error_t *err) {
  *entries = (tacit_entries_t){.ledger = ledger};
  sqlite3_int64 from =
      first > 1 ? (sqlite3_int64)first : INT64_MIN; /* from the start: whatever is there, sensible or not */
  tacit_status_t status = tacit_database_prepare(ledger,
                                                 "SELECT id, kind, spend, time, who, host, purpose, "
                                                 "artefact, hash FROM entries WHERE id >= ? ORDER BY id",
                                                 &entries->rows, err);
  TACIT_THEN(
      status,
      tacit_database_prepare(
          ledger,
          "SELECT entry, position, count, spec, label FROM events WHERE entry >= ? ORDER BY entry, position",
          &entries->events, err));
  if (status == TACIT_OK && (sqlite3_bind_int64(entries->rows, 1, from) != SQLITE_OK ||
                             sqlite3_bind_int64(entries->events, 1, from) != SQLITE_OK)) {
    status = tacit_error_memory(err);
  }
  return status == TACIT_OK ? tacit_database_step(ledger, entries->events, &entries->has_event, err) : status;
}

tacit_status_t tacit_entries_next(tacit_entries_t *entries, tacit_entry_t *entry, tacit_error_t *err) {
  bool has_row;
  *entry = (tacit_entry_t){0};
  tacit_status_t status = tacit_database_step(entries->ledger, entries->rows, &has_row, err);
  if (status == TACIT_OK && !has_row) {
    return entries->has_event ? tacit_ledger_broken(entries->ledger, err, "it holds events of no entry")
                              : TACIT_OK;
  }
  TACIT_THEN(status, read_row(entries->ledger, entries->rows, entry, err));
  TACIT_THEN(status, read_events(entries, entry, err));
  if (status != TACIT_OK) {
    tacit_entry_clear(entry);
  }
  return status;
}

void tacit_entries_end(tacit_entries_t *entries) {
  sqlite3_finalize(entries->rows);
  sqlite3_finalize(entries->events);
}

/* ---- one entry ---- */

static tacit_status_t previous_hash(tacit_ledger_t *ledger, uint64_t id, const char *genesis,
                                    char hash[TACIT_LEDGER_HASH_SIZE], tacit_error_t *err) {
  sqlite3_stmt *statement = NULL;
  bool has_row = false;
  if (id == 1) {
    memcpy(hash, genesis, TACIT_LEDGER_HASH_SIZE);
    return TACIT_OK;
  }
  tacit_status_t status =
      tacit_database_prepare(ledger, "SELECT hash FROM entries WHERE id = ?", &statement, err);
  TACIT_THEN(status, tacit_bind_count(statement, 1, id - 1)
                         ? tacit_database_step(ledger, statement, &has_row, err)
                         : tacit_error_memory(err));
  TACIT_THEN(status, has_row ? tacit_column_hash(ledger, statement, 0, hash, err)
                             : tacit_ledger_broken(ledger, err, "entry %llu is missing",
                                                   (unsigned long long)(id - 1)));
  sqlite3_finalize(statement);
  return status;
}

tacit_status_t tacit_entry_find(tacit_ledger_t *ledger, uint64_t id, const char *genesis,
                                tacit_entry_t *entry, tacit_error_t *err) {
  char previous[TACIT_LEDGER_HASH_SIZE], hash[TACIT_LEDGER_HASH_SIZE] = "";
  tacit_entries_t entries;
  *entry = (tacit_entry_t){0};
  tacit_status_t status = previous_hash(ledger, id, genesis, previous, err);
  if (status != TACIT_OK) {
    return status;
  }
  status = tacit_entries_begin(&entries, ledger, id, err);
  TACIT_THEN(status, tacit_entries_next(&entries, entry, err));
  tacit_entries_end(&entries);
  if (status == TACIT_OK && entry->id == id) {
    status = tacit_entry_hash(entry, previous, hash, err);
  }
  if (status == TACIT_OK && strcmp(hash, entry->hash) != 0) {
    status = tacit_ledger_broken(ledger, err, "entry %llu was changed, or one before it removed",
                                 (unsigned long long)id);
  }
  return status;
}

tacit_status_t tacit_spend_find(tacit_ledger_t *ledger, uint64_t spend, uint64_t *entry, bool *is_settled,
                                tacit_error_t *err) {
  sqlite3_stmt *statement = NULL;
  bool has_row = true;
  *entry = 0;
  *is_settled = false;
  tacit_status_t status = tacit_database_prepare(
      ledger, "SELECT id, kind FROM entries WHERE spend = ? ORDER BY id", &statement, err);
  if (status == TACIT_OK && !tacit_bind_count(statement, 1, spend)) {
    status = tacit_error_memory(err);
  }
  while (status == TACIT_OK && has_row) {
    tacit_entry_t found = {0};
    status = tacit_database_step(ledger, statement, &has_row, err);
    if (status == TACIT_OK && has_row) {
      status = tacit_column_count(ledger, statement, 0, 1, max_id, &found.id, err);
    }
    if (status == TACIT_OK && has_row) {
      status = read_kind(ledger, statement, &found, err);
    }
    if (status == TACIT_OK && has_row) {
      *entry = found.kind == TACIT_ENTRY_RESERVE ? found.id : *entry;
      *is_settled = *is_settled || found.kind == TACIT_ENTRY_SETTLE;
    }
  }
  sqlite3_finalize(statement);
  return status;
}
