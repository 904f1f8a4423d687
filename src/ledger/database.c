/*
 * The SQLite file: opened with everything off that a hostile file could use, errors in one sentence.
 */
#define _XOPEN_SOURCE 700 /* for realpath */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger/ledger_internal.h"

enum { PATIENCE_MS = 30000 };

const tacit_ledger_table_t tacit_ledger_tables[TACIT_LEDGER_N_TABLES] = {
    {"entries", "CREATE TABLE entries(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, spend INTEGER NOT NULL, "
                "time TEXT NOT NULL, who TEXT NOT NULL, host TEXT NOT NULL, purpose TEXT NOT NULL, "
                "artefact TEXT NOT NULL, hash TEXT NOT NULL)"},
    {"events", "CREATE TABLE events(entry INTEGER NOT NULL, position INTEGER NOT NULL, count INTEGER NOT NULL, "
               "spec TEXT NOT NULL, label TEXT NOT NULL, PRIMARY KEY(entry, position)) WITHOUT ROWID"},
    {"ledger", "CREATE TABLE ledger(id INTEGER PRIMARY KEY, data_id TEXT NOT NULL, relation TEXT NOT NULL, "
               "epsilon TEXT NOT NULL, delta TEXT NOT NULL, created TEXT NOT NULL, n_entries INTEGER NOT NULL, "
               "head TEXT NOT NULL)"}};

tacit_status_t tacit_ledger_broken(const tacit_ledger_t *ledger, tacit_error_t *err, const char *format, ...) {
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
    case SQLITE_NOMEM: return tacit_error_memory(err);
    case SQLITE_NOTADB:
      return tacit_error_set(err, TACIT_ERR_DATA, "ledger", "%s is not a ledger; tacit ledger init makes one", path);
    case SQLITE_CORRUPT:
    case SQLITE_ERROR:    /* of our fixed statements: a table or a column is not what it should be */
    case SQLITE_CONSTRAINT: return tacit_ledger_broken(ledger, err, "%s", sqlite3_errmsg(ledger->db));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return tacit_error_set(err, TACIT_ERR_IO, "ledger",
                             "%s is locked by another process: try again when that has ended", path);
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return tacit_error_set(err, TACIT_ERR_IO, "ledger",
                             "%s or its folder cannot be written: a ledger in use keeps a log beside it, and a spend "
                             "is recorded in both", path);
    case SQLITE_CANTOPEN:
      return tacit_error_set(err, TACIT_ERR_IO, "ledger",
                             "cannot open %s: it needs read access, and its folder write access for %s-wal and %s-shm",
                             path, path, path);
    default: {
      int reason = sqlite3_system_errno(ledger->db);
      return tacit_error_set(err, TACIT_ERR_IO, "ledger", "cannot read or write %s: %s", path,
                             reason != 0 ? strerror(reason) : sqlite3_errstr(code));
    }
  }
}

/* SQLite keeps its log beside a name: of a file with two names there would be two, each with half the truth. */
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
    return tacit_error_set(err, TACIT_ERR_DATA, "ledger", "%s is empty and not a ledger; tacit ledger init makes one",
                           path);
  }
  if (info.st_nlink > 1) {
    return tacit_error_set(err, TACIT_ERR_DATA, "ledger",
                           "%s has %ju names (hard links), under which two processes could spend twice: remove all "
                           "names but one", path, (uintmax_t)info.st_nlink);
  }
  if (ledger->inode != 0 && (info.st_ino != ledger->inode || info.st_dev != ledger->device)) {
    return tacit_error_set(err, TACIT_ERR_IO, "ledger", "%s was replaced by another file while it was open", path);
  }
  ledger->inode = info.st_ino;
  ledger->device = info.st_dev;
  return TACIT_OK;
}

tacit_status_t tacit_database_step(tacit_ledger_t *ledger, sqlite3_stmt *statement, bool *has_row, tacit_error_t *err) {
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
  if (status == TACIT_OK) {
    status = tacit_database_step(ledger, statement, &has_row, err);
  }
  if (status == TACIT_OK) {
    const char *value = has_row ? (const char *)sqlite3_column_text(statement, 0) : "";
    *text = tacit_strdup(value != NULL ? value : "");
    status = *text != NULL ? TACIT_OK : tacit_error_memory(err);
  }
  sqlite3_finalize(statement);
  return status;
}

tacit_status_t tacit_column_count(tacit_ledger_t *ledger, sqlite3_stmt *statement, int i, uint64_t lower, uint64_t upper,
                                  uint64_t *value, tacit_error_t *err) {
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

/* Triggers and views could change what our statements do; checksums of pages and cells are looked at. */
static tacit_status_t harden(tacit_ledger_t *ledger, tacit_error_t *err) {
  sqlite3 *db = ledger->db;
  sqlite3_extended_result_codes(db, 1);
  sqlite3_busy_timeout(db, PATIENCE_MS);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
  return tacit_database_run(ledger, "PRAGMA synchronous=FULL; PRAGMA fullfsync=1; PRAGMA checkpoint_fullfsync=1; "
                                    "PRAGMA cell_size_check=1; PRAGMA mmap_size=0", err);
}

static tacit_status_t check_version(tacit_ledger_t *ledger, tacit_error_t *err) {
  char *application = NULL, *version = NULL;
  tacit_status_t status = tacit_database_text(ledger, "PRAGMA application_id", &application, err);
  if (status == TACIT_OK) {
    status = tacit_database_text(ledger, "PRAGMA user_version", &version, err);
  }
  if (status == TACIT_OK && strcmp(application, TACIT_LEDGER_APPLICATION_ID) != 0) {
    status = tacit_error_set(err, TACIT_ERR_DATA, "ledger",
                             "%s is a database but not a ledger; tacit ledger init makes one", ledger->path);
  }
  if (status == TACIT_OK && strcmp(version, TACIT_LEDGER_VERSION) != 0 && strcmp(version, TACIT_LEDGER_NEWEST) != 0) {
    status = tacit_error_set(err, TACIT_ERR_DATA, "ledger",
                             "%s is a ledger of version %.20s, this program knows versions " TACIT_LEDGER_VERSION
                             " and " TACIT_LEDGER_NEWEST ": use the tacit that wrote to it", ledger->path, version);
  }
  tacit_free(application);
  tacit_free(version);
  return status;
}

/* Reading works in any mode; spends are written to a log that many processes may share. */
static tacit_status_t check_mode(tacit_ledger_t *ledger, tacit_error_t *err) {
  char *mode = NULL;
  if (sqlite3_db_readonly(ledger->db, "main") == 1) {
    return TACIT_OK;
  }
  tacit_status_t status = tacit_database_text(ledger, "PRAGMA journal_mode=WAL", &mode, err);
  if (status == TACIT_OK && strcmp(mode, "wal") != 0) {
    status = tacit_error_set(err, TACIT_ERR_IO, "ledger",
                             "%s: this file system cannot share a ledger between processes (write-ahead log): keep it "
                             "on a local disk", ledger->path);
  }
  tacit_free(mode);
  return status;
}

static bool is_writable(const char *path) {
  tacit_text_t folder = {0};
  const char *slash = strrchr(path, '/');
  tacit_text_append(&folder, slash == NULL ? "." : path, slash == NULL || slash == path ? 1 : (size_t)(slash - path));
  bool answer = !folder.failed && access(path, W_OK) == 0 && access(folder.data, W_OK) == 0;
  tacit_text_clear(&folder);
  return answer;
}

/*
 * Who may only read leaves nothing beside the file, which would lock out those who may write, and needs no folder to
 * write to: without a log there is nothing to share. Should a spend begin meanwhile, the chain of hashes tells.
 * The name is one of SQLite's URIs then, in which some characters have a meaning.
 */
static bool name_for_reader(const char *path, tacit_text_t *name) {
  tacit_text_t log = {0};
  char *real = realpath(path, NULL);
  tacit_text_printf(&log, "%s-wal", real != NULL ? real : "");
  bool is_alone = real != NULL && !log.failed && !is_writable(real) && access(log.data, F_OK) != 0;
  if (is_alone) {
    tacit_text_printf(name, "file:");
    for (const char *s = real; *s != '\0'; s++) {
      tacit_text_printf(name, strchr("%?#", *s) != NULL ? "%%%02x" : "%c", (unsigned char)*s);
    }
    tacit_text_printf(name, "?immutable=1");
  }
  free(real); /* the C library's, not ours */
  tacit_text_clear(&log);
  return is_alone;
}

static int open_flags(const char *path, tacit_text_t *name) {
  if (name_for_reader(path, name)) {
    return SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
  }
  /* no name is special then, as ":memory:" and "file:" are to SQLite */
  tacit_text_printf(name, path[0] == '/' ? "%s" : "./%s", path);
  return SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
}

tacit_status_t tacit_database_open(tacit_ledger_t *ledger, const char *path, tacit_error_t *err) {
  tacit_text_t name = {0};
  ledger->path = tacit_strdup(path);
  tacit_status_t status = ledger->path == NULL ? tacit_error_memory(err) : check_file(ledger, err);
  int flags = status == TACIT_OK ? open_flags(path, &name) : 0;
  if (status == TACIT_OK && name.failed) {
    status = tacit_error_memory(err);
  }
  if (status == TACIT_OK) {
    int code = sqlite3_open_v2(name.data, &ledger->db, flags, NULL);
    status = code == SQLITE_OK ? harden(ledger, err) : tacit_ledger_error(ledger, code, err);
  }
  if (status == TACIT_OK) {
    status = check_version(ledger, err);
  }
  if (status == TACIT_OK) {
    status = check_mode(ledger, err);
  }
  tacit_text_clear(&name);
  return status;
}

tacit_status_t tacit_database_begin(tacit_ledger_t *ledger, bool is_writing, tacit_error_t *err) {
  if (is_writing && sqlite3_db_readonly(ledger->db, "main") == 1) {
    return tacit_ledger_error(ledger, SQLITE_READONLY, err);
  }
  tacit_status_t status = tacit_database_run(ledger, is_writing ? "BEGIN IMMEDIATE" : "BEGIN", err);
  if (status == TACIT_OK) {
    status = check_file(ledger, err);
    status = status == TACIT_OK ? TACIT_OK : tacit_database_end(ledger, status, err);
  }
  return status;
}

tacit_status_t tacit_database_end(tacit_ledger_t *ledger, tacit_status_t status, tacit_error_t *err) {
  if (status == TACIT_OK) {
    status = tacit_database_run(ledger, "COMMIT", err);
  }
  if (status != TACIT_OK && sqlite3_get_autocommit(ledger->db) == 0) {
    sqlite3_exec(ledger->db, "ROLLBACK", NULL, NULL, NULL); /* the first error is the one to tell */
  }
  return status;
}
