/*
 * A new ledger: complete and synced under a temporary name before it gets its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "ledger/ledger_internal.h"

enum { MAX_ATTEMPTS = 100 };

static tacit_status_t fail(const char *path, int reason, tacit_error_t *err) {
  return tacit_error_set(err, reason == ENOENT ? TACIT_ERR_MISSING : TACIT_ERR_IO, "ledger",
                         "cannot make the ledger %s: %s", path, strerror(reason));
}

static tacit_status_t exists(const char *path, const char *ending, tacit_error_t *err) {
  return tacit_error_set(err, TACIT_ERR_EXISTS, "ledger",
                         "%s%s exists and is not overwritten: choose another name%s", path, ending,
                         ending[0] == '\0' ? "" : ", or remove it if no ledger of this name is left");
}

/* SQLite would take a log or a journal that another ledger of this name left behind for this one's. */
static tacit_status_t check_absent(const char *path, tacit_error_t *err) {
  static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
  for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
    tacit_text_t name = {0};
    tacit_text_printf(&name, "%s%s", path, endings[i]);
    bool is_there = !name.failed && tacit_file_exists(name.data), failed = name.failed;
    tacit_text_clear(&name);
    if (failed) {
      return tacit_error_memory(err);
    }
    if (is_there) {
      return exists(path, endings[i], err);
    }
  }
  return TACIT_OK;
}

/* ---- contents ---- */

static tacit_status_t check_create(const tacit_ledger_terms_t *terms, tacit_error_t *err) {
  tacit_budget_t *budget;
  if (terms->data_id == NULL || terms->data_id[0] == '\0' || strlen(terms->data_id) > TACIT_LEDGER_MAX_TEXT) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "data_id",
                           "the data set needs a name, its data id, of 1 to %d bytes", TACIT_LEDGER_MAX_TEXT);
  }
  if (terms->relation != TACIT_RELATION_SUBSTITUTE && terms->relation != TACIT_RELATION_ADD_REMOVE) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "relation",
                           "the relation must be substitute or add-remove");
  }
  tacit_status_t status =
      terms->unit != NULL ? tacit_unit_check(terms->unit, terms->max_rows, err) : TACIT_OK;
  if (status == TACIT_OK) { /* checks both numbers */
    status = tacit_budget_new(&budget, terms->epsilon, terms->delta, terms->relation, err);
    tacit_budget_free(budget);
  }
  return status;
}

static tacit_status_t insert(tacit_ledger_t *ledger, const tacit_ledger_terms_t *terms, tacit_error_t *err) {
  sqlite3_stmt *statement = NULL;
  bool ok = true;
  char epsilon[TACIT_NUMBER_SIZE], delta[TACIT_NUMBER_SIZE], created[TACIT_TIME_SIZE],
      head[TACIT_LEDGER_HASH_SIZE];
  const char *const values[] = {terms->data_id,
                                tacit_relation_string(terms->relation),
                                tacit_number_exact(terms->epsilon, epsilon),
                                tacit_number_exact(terms->delta, delta),
                                created,
                                head};
  tacit_time_now(created);
  tacit_status_t status = tacit_genesis_hash(values[0], values[1], values[2], values[3], created, head, err);
  TACIT_THEN(status,
             tacit_database_prepare(
                 ledger,
                 "INSERT INTO ledger(id, n_entries, data_id, relation, epsilon, delta, created, head) "
                 "VALUES (1, 0, ?, ?, ?, ?, ?, ?)",
                 &statement, err));
  if (status != TACIT_OK) {
    return status;
  }
  for (int i = 0; i < 6; i++) {
    ok = ok && tacit_bind_text(statement, i + 1, values[i]);
  }
  return tacit_database_finish(ledger, statement, ok, err);
}

static tacit_status_t begin_chain(tacit_ledger_t *ledger, const tacit_ledger_terms_t *terms,
                                  tacit_error_t *err) {
  tacit_header_t header = {0};
  tacit_totals_t totals = {0};
  tacit_status_t status = tacit_header_read(ledger, &header, err);
  if (status == TACIT_OK && terms->unit != NULL) {
    status = tacit_unit_append(ledger, &header, &totals, terms->unit, terms->max_rows, err);
  }
  TACIT_THEN(status, tacit_totals_create(ledger, &totals, err));
  tacit_header_clear(&header);
  tacit_totals_clear(&totals);
  return status;
}

static tacit_status_t fill(tacit_ledger_t *ledger, const tacit_ledger_terms_t *terms, tacit_error_t *err) {
  tacit_status_t status =
      tacit_database_run(ledger,
                         "PRAGMA synchronous=EXTRA; PRAGMA application_id=" TACIT_LEDGER_APPLICATION_ID
                         "; PRAGMA user_version=" TACIT_LEDGER_NEWEST "; BEGIN",
                         err);
  for (int i = 0; i < TACIT_LEDGER_N_TABLES && status == TACIT_OK; i++) {
    status = tacit_database_run(ledger, tacit_ledger_tables[i].sql, err);
  }
  TACIT_THEN(status, insert(ledger, terms, err));
  TACIT_THEN(status, begin_chain(ledger, terms, err));
  return status == TACIT_OK ? tacit_database_run(ledger, "COMMIT", err) : status;
}

static tacit_status_t write_database(const char *path, const char *shown, const tacit_ledger_terms_t *terms,
                                     tacit_error_t *err) {
  tacit_text_t name = {0};
  tacit_text_printf(&name, path[0] == '/' ? "%s" : "./%s", path);
  tacit_ledger_t ledger = {.path = tacit_strdup(shown), .version = TACIT_LEDGER_VERSION, .turn.fd = -1};
  tacit_status_t status = name.failed || ledger.path == NULL ? tacit_error_memory(err) : TACIT_OK;
  if (status == TACIT_OK) {
    int code = sqlite3_open_v2(name.data, &ledger.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    status = code == SQLITE_OK ? fill(&ledger, terms, err) : tacit_ledger_error(&ledger, code, err);
  }
  if (sqlite3_close(ledger.db) != SQLITE_OK && status == TACIT_OK) {
    status = fail(shown, EIO, err);
  }
  tacit_free(ledger.path);
  tacit_text_clear(&name);
  return status;
}

/* ---- names ---- */

static int sync_path(const char *path, int flags) {
  int fd = open(path, flags | O_CLOEXEC);
  if (fd < 0) {
    return errno;
  }
  int reason = fsync(fd) == 0 || (errno == EINVAL && (flags & O_DIRECTORY)) ? 0 : errno;
  close(fd);
  return reason;
}

static tacit_status_t sync_folder_of(const char *path, tacit_error_t *err) {
  const char *slash = strrchr(path, '/');
  tacit_text_t folder = {0};
  tacit_text_append(&folder, slash == NULL ? "." : path,
                    slash == NULL || slash == path ? 1 : (size_t)(slash - path));
  int reason = folder.failed ? ENOMEM : sync_path(folder.data, O_RDONLY | O_DIRECTORY);
  tacit_text_clear(&folder);
  return reason == 0 ? TACIT_OK : fail(path, reason, err);
}

/* An empty file claims a name that was free, whoever else makes a ledger now. Names of `temporary` are tried.
 */
static int claim(const char *path) {
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) {
    return errno;
  }
  return close(fd) == 0 ? 0 : errno;
}

static tacit_status_t claim_temporary(const char *path, tacit_text_t *temporary, tacit_error_t *err) {
  int reason = EEXIST;
  for (int attempt = 0; attempt < MAX_ATTEMPTS && reason == EEXIST; attempt++) {
    temporary->length = 0;
    tacit_text_printf(temporary, "%s.tmp-%ld-%d", path, (long)getpid(), attempt);
    if (temporary->failed) {
      return tacit_error_memory(err);
    }
    reason = claim(temporary->data);
  }
  return reason == 0 ? TACIT_OK : fail(path, reason, err);
}

static tacit_status_t give_name(const char *temporary, const char *path, tacit_error_t *err) {
  int reason = sync_path(temporary, O_RDONLY);
  if (reason != 0) {
    return fail(path, reason, err);
  }
  reason = claim(path);
  if (reason == EEXIST) {
    return exists(path, "", err);
  }
  if (reason == 0 && rename(temporary, path) != 0) {
    reason = errno;
    unlink(path);
  }
  return reason == 0 ? sync_folder_of(path, err) : fail(path, reason, err);
}

tacit_status_t tacit_ledger_create(const char *path, const tacit_ledger_terms_t *terms, tacit_error_t *err) {
  tacit_text_t temporary = {0};
  tacit_status_t status = check_create(terms, err);
  TACIT_THEN(status, check_absent(path, err));
  TACIT_THEN(status, claim_temporary(path, &temporary, err));
  if (status == TACIT_OK) {
    status = write_database(temporary.data, path, terms, err);
    TACIT_THEN(status, give_name(temporary.data, path, err));
    static const char *const endings[] = {"", "-journal", "-wal", "-shm"};
    size_t n = temporary.length;
    for (size_t i = 0; i < 4 && status != TACIT_OK && !temporary.failed; i++) {
      temporary.length = n;
      tacit_text_printf(&temporary, "%s", endings[i]);
      if (!temporary.failed) {
        unlink(temporary.data);
      }
    }
  }
  tacit_text_clear(&temporary);
  return status;
}
