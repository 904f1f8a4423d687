/*
 * The SQLite file: opened with everything off that a hostile file could use, errors in one sentence.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "ledger/ledger_internal.h"

static const double patience = 60, longest_nap = 0.01; /* seconds */

const tacit_ledger_table_t tacit_ledger_tables[TACIT_LEDGER_N_TABLES] = {
    {"decisions",
     "CREATE TABLE decisions(spec TEXT NOT NULL PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID", 3},
    {"entries",
     "CREATE TABLE entries(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, spend INTEGER NOT NULL, "
     "time TEXT NOT NULL, who TEXT NOT NULL, host TEXT NOT NULL, purpose TEXT NOT NULL, "
     "artefact TEXT NOT NULL, hash TEXT NOT NULL)",
     1},
    {"entries_of_spends", "CREATE INDEX entries_of_spends ON entries(spend)", 3},
    {"events",
     "CREATE TABLE events(entry INTEGER NOT NULL, position INTEGER NOT NULL, count INTEGER NOT NULL, "
     "spec TEXT NOT NULL, label TEXT NOT NULL, PRIMARY KEY(entry, position)) WITHOUT ROWID",
     1},
    {"ledger",
     "CREATE TABLE ledger(id INTEGER PRIMARY KEY, data_id TEXT NOT NULL, relation TEXT NOT NULL, "
     "epsilon TEXT NOT NULL, delta TEXT NOT NULL, created TEXT NOT NULL, n_entries INTEGER NOT NULL, "
     "head TEXT NOT NULL)",
     1},
    {"totals",
     "CREATE TABLE totals(id INTEGER PRIMARY KEY, n_spends INTEGER NOT NULL, unit TEXT NOT NULL, "
     "max_rows INTEGER NOT NULL, rho TEXT NOT NULL, counter INTEGER NOT NULL, hash TEXT NOT NULL)",
     3}};

tacit_status_t tacit_ledger_broken(const tacit_ledger_t *ledger, tacit_error_t *err, const char *format,
                                   ...) {
  char what[400];
  va_list list;
  va_start(list, format);
  vsnprintf(what, sizeof what, format, list);
  va_end(list);
  for (char *s = what; *s != '\0'; s++) { /* words of a hostile file could command the terminal */
    *s = *s >= ' ' && *s <= '~' ? *s : '?';
  }
  return tacit_error_set(err, TACIT_ERR_DATA, "ledger",
                         "%.200s: the ledger is broken: %s; nothing can be spent on it until it is restored",
                         ledger->path, what);
}

/* What a file that is no ledger, or a damaged one, or the machine around it may answer. */
tacit_status_t tacit_ledger_error(const tacit_ledger_t *ledger, int code, tacit_error_t *err) {
  const char *path = ledger->path;
  switch (code & 0xff) {
  case SQLITE_NOMEM:
    return tacit_error_memory(err);
  case SQLITE_NOTADB:
    return tacit_error_set(err, TACIT_ERR_DATA, "ledger", "%s is not a ledger; tacit ledger init makes one",
                           path);
  case SQLITE_CORRUPT:
  case SQLITE_ERROR: /* of our fixed statements: a table or a column is not what it should be */
  case SQLITE_CONSTRAINT:
    return tacit_ledger_broken(ledger, err, "%s", sqlite3_errmsg(ledger->db));
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return tacit_error_set(err, TACIT_ERR_IO, "ledger",
                           "%s is locked by another process: try again when that has ended", path);
  case SQLITE_READONLY:
  case SQLITE_PERM:
    return tacit_error_set(
        err, TACIT_ERR_IO, "ledger",
        "%s or its folder cannot be written: a spend is recorded in the ledger, with a journal beside it "
        "until it is safe",
        path);
  case SQLITE_CANTOPEN:
    return tacit_error_set(
        err, TACIT_ERR_IO, "ledger",
        "cannot open %s: it needs read access, and for a spend write access, to its folder, too (%s-journal)",
        path, path);
  default: {
    int reason = sqlite3_system_errno(ledger->db);
    return tacit_error_set(err, TACIT_ERR_IO, "ledger", "cannot read or write %s: %s", path,
                           reason != 0 ? strerror(reason) : sqlite3_errstr(code));
  }
  }
}

/* SQLite keeps its journal beside a name: of a file with two names there would be two, each with half the
 * truth. */
static tacit_status_t check_file(tacit_ledger_t *ledger, tacit_error_t *err) {
  struct stat info;
  const char *path = ledger->path;
  if (stat(path, &info) != 0) {
    return tacit_error_set(err, errno == ENOENT ? TACIT_ERR_MISSING : TACIT_ERR_IO, "ledger",
                           "cannot open the ledger %s: %s", path, strerror(errno));
  }
  if (!S_ISREG(info.st_mode)) {
    return tacit_error_set(err, TACIT_ERR_IO, "ledger", "cannot open the ledger %s: it is %s", path,
                           S_ISDIR(info.st_mode) ? "a directory" : "not a plain file");
  }
  if (info.st_size == 0) {
    return tacit_error_set(err, TACIT_ERR_DATA, "ledger",
                           "%s is empty and not a ledger; tacit ledger init makes one", path);
  }
  if (info.st_nlink > 1) {
    return tacit_error_set(
        err, TACIT_ERR_DATA, "ledger",
        "%s has %ju names (hard links), under which two processes could spend twice: remove all "
        "names but one",
        path, (uintmax_t)info.st_nlink);
  }
  if (ledger->inode != 0 && (info.st_ino != ledger->inode || info.st_dev != ledger->device)) {
    return tacit_error_set(err, TACIT_ERR_IO, "ledger", "%s was replaced by another file while it was open",
                           path);
  }
  ledger->inode = info.st_ino;
  ledger->device = info.st_dev;
  return TACIT_OK;
}

tacit_status_t tacit_database_step(tacit_ledger_t *ledger, sqlite3_stmt *statement, bool *has_row,
                                   tacit_error_t *err) {
  int code = sqlite3_step(statement);
  *has_row = code == SQLITE_ROW;
  return code == SQLITE_ROW || code == SQLITE_DONE ? TACIT_OK : tacit_ledger_error(ledger, code, err);
}

tacit_status_t tacit_database_prepare(tacit_ledger_t *ledger, const char *sql, sqlite3_stmt **statement,
                                      tacit_error_t *err) {
  int code = sqlite3_prepare_v2(ledger->db, sql, -1, statement, NULL);
  return code == SQLITE_OK ? TACIT_OK : tacit_ledger_error(ledger, code, err);
}

tacit_status_t tacit_database_run(tacit_ledger_t *ledger, const char *sql, tacit_error_t *err) {
  int code = sqlite3_exec(ledger->db, sql, NULL, NULL, NULL);
  return code == SQLITE_OK ? TACIT_OK : tacit_ledger_error(ledger, code, err);
}

tacit_status_t tacit_database_text(tacit_ledger_t *ledger, const char *sql, char **text, tacit_error_t *err) {
  sqlite3_stmt *statement = NULL;
  bool has_row = false;
  *text = NULL;
  tacit_status_t status = tacit_database_prepare(ledger, sql, &statement, err);
  TACIT_THEN(status, tacit_database_step(ledger, statement, &has_row, err));
  if (status == TACIT_OK) {
    const char *value = has_row ? (const char *)sqlite3_column_text(statement, 0) : "";
    *text = tacit_strdup(value != NULL ? value : "");
    status = *text != NULL ? TACIT_OK : tacit_error_memory(err);
  }
  sqlite3_finalize(statement);
  return status;
}

tacit_status_t tacit_column_count(tacit_ledger_t *ledger, sqlite3_stmt *statement, int i, uint64_t lower,
                                  uint64_t upper, uint64_t *value, tacit_error_t *err) {
  sqlite3_int64 number = sqlite3_column_int64(statement, i);
  if (sqlite3_column_type(statement, i) != SQLITE_INTEGER || number < 0 || (uint64_t)number < lower ||
      (uint64_t)number > upper) {
    return tacit_ledger_broken(ledger, err, "a value of %s is not a whole number from %llu to %llu",
                               sqlite3_column_name(statement, i), (unsigned long long)lower,
                               (unsigned long long)upper);
  }
  *value = (uint64_t)number;
  return TACIT_OK;
}

tacit_status_t tacit_column_text(tacit_ledger_t *ledger, sqlite3_stmt *statement, int i, char **text,
                                 tacit_error_t *err) {
  bool is_text = sqlite3_column_type(statement, i) == SQLITE_TEXT;
  const char *value = (const char *)sqlite3_column_text(statement, i);
  size_t n = (size_t)sqlite3_column_bytes(statement, i);
  if (is_text && value == NULL) {
    return tacit_error_memory(err);
  }
  if (!is_text || n > TACIT_LEDGER_MAX_TEXT || strlen(value) != n) {
    return tacit_ledger_broken(ledger, err, "a value of %s is not a text of at most %d bytes",
                               sqlite3_column_name(statement, i), TACIT_LEDGER_MAX_TEXT);
  }
  *text = tacit_strdup(value);
  return *text != NULL ? TACIT_OK : tacit_error_memory(err);
}

tacit_status_t tacit_column_hash(tacit_ledger_t *ledger, sqlite3_stmt *statement, int i,
                                 char hash[TACIT_LEDGER_HASH_SIZE], tacit_error_t *err) {
  char *text = NULL;
  tacit_status_t status = tacit_column_text(ledger, statement, i, &text, err);
  if (status == TACIT_OK && strlen(text) != TACIT_LEDGER_HASH_SIZE - 1) {
    status = tacit_ledger_broken(ledger, err, "a hash has %zu characters", strlen(text));
  }
  if (status == TACIT_OK) {
    memcpy(hash, text, TACIT_LEDGER_HASH_SIZE);
  }
  tacit_free(text);
  return status;
}

tacit_status_t tacit_database_finish(tacit_ledger_t *ledger, sqlite3_stmt *statement, bool is_bound,
                                     tacit_error_t *err) {
  bool has_row;
  tacit_status_t status =
      is_bound ? tacit_database_step(ledger, statement, &has_row, err) : tacit_error_memory(err);
  sqlite3_finalize(statement);
  return status;
}

bool tacit_bind_text(sqlite3_stmt *statement, int i, const char *text) {
  return sqlite3_bind_text(statement, i, text, -1, SQLITE_STATIC) == SQLITE_OK;
}

bool tacit_bind_count(sqlite3_stmt *statement, int i, uint64_t value) {
  return sqlite3_bind_int64(statement, i, (sqlite3_int64)value) == SQLITE_OK;
}

tacit_status_t tacit_database_counter(tacit_ledger_t *ledger, uint64_t *counter, tacit_error_t *err) {
  sqlite3_file *file = NULL;
  unsigned char bytes[4] = {0}; /* by the file format: big-endian, at offset 24 */
  int code = sqlite3_file_control(ledger->db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (code == SQLITE_OK && file != NULL && file->pMethods != NULL) {
    code = file->pMethods->xRead(file, bytes, sizeof bytes, 24);
  }
  *counter = (uint64_t)bytes[0] << 24 | (uint64_t)bytes[1] << 16 | (uint64_t)bytes[2] << 8 | bytes[3];
  return code == SQLITE_OK ? TACIT_OK : tacit_ledger_error(ledger, code, err);
}

/* ---- opening ---- */

/* Short naps, so that nobody who just came finds the file free while others sleep. */
static int wait_for_lock(void *user, int n_waits) {
  const tacit_ledger_t *ledger = user;
  double nap = 0.001 * (n_waits + 1);
  if (tacit_clock() >= ledger->deadline) {
    return 0;
  }
  tacit_sleep(nap < longest_nap ? nap : longest_nap);
  return 1;
}

/* Triggers and views could change what our statements do; checksums of pages and cells are looked at. */
static tacit_status_t harden(tacit_ledger_t *ledger, tacit_error_t *err) {
  sqlite3 *db = ledger->db;
  sqlite3_extended_result_codes(db, 1);
  sqlite3_busy_handler(db, wait_for_lock, ledger);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
  return tacit_database_run(ledger,
                            "PRAGMA synchronous=EXTRA; PRAGMA fullfsync=1; PRAGMA checkpoint_fullfsync=1; "
                            "PRAGMA cell_size_check=1; PRAGMA mmap_size=0",
                            err);
}

static tacit_status_t check_version(tacit_ledger_t *ledger, tacit_error_t *err) {
  char *application = NULL, *version = NULL;
  tacit_status_t status = tacit_database_text(ledger, "PRAGMA application_id", &application, err);
  TACIT_THEN(status, tacit_database_text(ledger, "PRAGMA user_version", &version, err));
  if (status == TACIT_OK && strcmp(application, TACIT_LEDGER_APPLICATION_ID) != 0) {
    status = tacit_error_set(err, TACIT_ERR_DATA, "ledger",
                             "%s is a database but not a ledger; tacit ledger init makes one", ledger->path);
  }
  if (status == TACIT_OK &&
      (strlen(version) != 1 || version[0] < '1' || version[0] > '0' + TACIT_LEDGER_VERSION)) {
    status = tacit_error_set(
        err, TACIT_ERR_DATA, "ledger",
        "%s is a ledger of version %.20s, this program knows versions 1 to " TACIT_LEDGER_NEWEST
        ": use the tacit that wrote to it",
        ledger->path, version);
  }
  ledger->version = status == TACIT_OK ? version[0] - '0' : 0;
  tacit_free(application);
  tacit_free(version);
  return status;
}

tacit_status_t tacit_database_use_journal(tacit_ledger_t *ledger, tacit_error_t *err) {
  char *mode = NULL;
  if (sqlite3_db_readonly(ledger->db, "main") == 1) {
    return TACIT_OK;
  }
  ledger->deadline = tacit_clock() + ledger->patience;
  tacit_status_t status = tacit_database_text(ledger, "PRAGMA journal_mode=DELETE", &mode, err);
  if (status == TACIT_OK && strcmp(mode, "delete") != 0) {
    status = tacit_error_set(err, TACIT_ERR_IO, "ledger",
                             "%s: another program keeps it open with a write-ahead log: end that first",
                             ledger->path);
  }
  tacit_free(mode);
  return status;
}

tacit_status_t tacit_database_open(tacit_ledger_t *ledger, const char *path, tacit_error_t *err) {
  tacit_text_t name = {0};
  ledger->turn.fd = -1;
  ledger->patience = patience;
  ledger->deadline = tacit_clock() + patience;
  ledger->path = tacit_strdup(path);
  tacit_status_t status = ledger->path == NULL ? tacit_error_memory(err) : check_file(ledger, err);
  /* no name is special then, as ":memory:" and "file:" are to SQLite */
  tacit_text_printf(&name, path[0] == '/' ? "%s" : "./%s", path);
  if (status == TACIT_OK && name.failed) {
    status = tacit_error_memory(err);
  }
  if (status == TACIT_OK) {
    int code = sqlite3_open_v2(name.data, &ledger->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    status = code == SQLITE_OK ? harden(ledger, err) : tacit_ledger_error(ledger, code, err);
  }
  TACIT_THEN(status, check_version(ledger, err));
  if (status == TACIT_OK && ledger->version == TACIT_LEDGER_VERSION) {
    status = tacit_database_use_journal(ledger, err);
  }
  tacit_text_clear(&name);
  return status;
}

/* ---- transactions ---- */

tacit_status_t tacit_database_begin(tacit_ledger_t *ledger, bool is_writing, tacit_error_t *err) {
  if (is_writing && sqlite3_db_readonly(ledger->db, "main") == 1) {
    return tacit_ledger_error(ledger, SQLITE_READONLY, err);
  }
  double now = tacit_clock();
  ledger->deadline = now + ledger->patience;
  if (is_writing) { /* half of the time: one that was stopped in front does not stop all others */
    tacit_turn_take(&ledger->turn, sqlite3_db_filename(ledger->db, "main"), now + 0.5 * ledger->patience);
  }
  tacit_status_t status = tacit_database_run(ledger, is_writing ? "BEGIN IMMEDIATE" : "BEGIN", err);
  if (status == TACIT_OK) {
    status = check_file(ledger, err);
    status = status == TACIT_OK ? TACIT_OK : tacit_database_end(ledger, status, err);
  } else {
    tacit_turn_give_up(&ledger->turn);
  }
  return status;
}

tacit_status_t tacit_database_end(tacit_ledger_t *ledger, tacit_status_t status, tacit_error_t *err) {
  TACIT_THEN(status, tacit_database_run(ledger, "COMMIT", err));
  if (status != TACIT_OK && sqlite3_get_autocommit(ledger->db) == 0) {
    sqlite3_exec(ledger->db, "ROLLBACK", NULL, NULL, NULL); /* the first error is the one to tell */
  }
  tacit_turn_give_up(&ledger->turn);
  return status;
}
