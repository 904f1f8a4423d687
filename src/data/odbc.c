/*
 * Connections by ODBC that cannot write: no autocommit, always rolled back, and read-only by the database's
 * own word where it has one. ODBC's read-only mode alone is not enough: drivers were seen to run DELETE under
 * it.
 */
#include "base/error.h"
#include "base/memory.h"
#include "data/odbc.h"

#include <stdio.h>
#include <string.h>

/* ---- text ---- */

tacit_status_t tacit_odbc_wide(const char *text, SQLWCHAR **wide, tacit_error_t *err) {
  size_t n = strlen(text), at = 0;
  *wide = tacit_alloc(n + 1, sizeof **wide);
  if (*wide == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0, length; i < n; i += length) {
    uint32_t code = 0xFFFD;
    length = tacit_data_utf8_decode(text + i, n - i, &code);
    length = length > 0 ? length : 1;
    if (code >= 0x10000) {
      (*wide)[at++] = (SQLWCHAR)(0xD800 + ((code - 0x10000) >> 10));
      code = 0xDC00 + ((code - 0x10000) & 0x3FF);
    }
    (*wide)[at++] = (SQLWCHAR)code;
  }
  (*wide)[at] = 0;
  return TACIT_OK;
}

void tacit_odbc_append(tacit_text_t *text, const SQLWCHAR *wide, size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint32_t code = wide[i];
    if (code >= 0xD800 && code < 0xDC00 && i + 1 < n && wide[i + 1] >= 0xDC00 && wide[i + 1] < 0xE000) {
      code = 0x10000 + ((code - 0xD800) << 10) + (wide[++i] - 0xDC00u);
    } else if (code >= 0xD800 && code < 0xE000) {
      code = 0xFFFD;
    }
    char bytes[4];
    size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t k = length; k-- > 1; code >>= 6) {
      bytes[k] = (char)(0x80 | (code & 0x3F));
    }
    static const unsigned char marks[] = {0, 0, 0xC0, 0xE0, 0xF0};
    bytes[0] = (char)(marks[length] | code);
    tacit_text_append(text, bytes, length);
  }
}

/* ---- errors ---- */

/* By SQLSTATE, or its class: the longest that fits. */
static const struct {
  const char *state, *words;
} states[] = {{"IM002", "there is no data source of this name (odbcinst -q -s lists them)"},
              {"IM003", "its ODBC driver cannot be loaded: is it installed?"},
              {"IM004", "its ODBC driver does not start"},
              {"01000", "its ODBC driver cannot be loaded: is it installed?"},
              {"28", "it does not accept user and password"},
              {"08001", "it cannot be reached, or does not accept user and password"},
              {"08", "the connection was lost or refused"},
              {"57P", "the database was shut down"},
              {"57014", "the database gave up: its time limit was reached, or somebody cancelled"},
              {"HYT", "it did not answer in time"},
              {"25006", "it would write, and nothing may be written"},
              {"42501", "this user may not read what it asks for"},
              {"42S02", "it names a table that is not there"},
              {"42P01", "it names a table that is not there"},
              {"42S22", "it names a column that is not there"},
              {"42703", "it names a column that is not there"},
              {"42", "the database does not understand it: a slip in the SQL, a name that is not there, or "
                     "no right to read it"},
              {"22", "a value cannot be computed or converted in one of the rows"},
              {"40", "the database ended the transaction because of others: try again"},
              {"53", "the database has no memory or disk space for it"},
              {"0A", "it asks for what the database does not do where it only reads"},
              {"07", "it has parameters (?), for which there are no values"}};

static tacit_status_t fail(SQLSMALLINT kind, SQLHANDLE handle, const char *what, tacit_error_t *err) {
  SQLWCHAR wide[8] = {0}, ignored[8];
  SQLINTEGER native;
  SQLSMALLINT length;
  char state[6] = "";
  const char *words = "the database or its driver gave up";
  if (SQL_SUCCEEDED(SQLGetDiagRecW(kind, handle, 1, wide, &native, ignored, 8, &length))) {
    for (size_t i = 0; i < 5; i++) {
      state[i] = (char)(wide[i] < 0x80 ? wide[i] : '?');
    }
  }
  size_t best = 0;
  for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
    size_t n = strlen(states[i].state);
    if (n > best && strncmp(state, states[i].state, n) == 0) {
      best = n;
      words = states[i].words;
    }
  }
  return tacit_error_set(err, TACIT_ERR_IO, "data", "%s: %s%s%s%s", what, words,
                         state[0] != '\0' ? " (SQLSTATE " : "", state, state[0] != '\0' ? ")" : "");
}

tacit_status_t tacit_odbc_error(const tacit_odbc_t *odbc, const char *what, tacit_error_t *err) {
  return fail(SQL_HANDLE_STMT, odbc->statement, what, err);
}

/* ---- connecting ---- */

static bool is_like(const char *text, const char *word) {
  size_t n = strlen(word);
  for (; *text != '\0'; text++) {
    size_t i = 0;
    while (i < n && (text[i] | 0x20) == word[i]) {
      i++;
    }
    if (i == n) {
      return true;
    }
  }
  return false;
}

/*
 * What drivers need to hand rows out as they come, to make no file, and to write no log. SQLite's keeps all
 * rows of a transaction in memory: it has none, and rests on query_only.
 */
static const struct {
  const char *driver, *more;
} drivers[] = {{"psqlodbc", ";UseDeclareFetch=1;Fetch=4096;BoolsAsChar=0;Debug=0;CommLog=0"},
               {"postgresql", ";UseDeclareFetch=1;Fetch=4096;BoolsAsChar=0;Debug=0;CommLog=0"},
               {"sqlite", ";StepAPI=1;NoTXN=1;NoCreat=1"}};

/* The driver of a named source, or "". */
static void find_driver(SQLHENV environment, const char *name, size_t n, char *driver, size_t size) {
  SQLCHAR source[256], what[256];
  SQLSMALLINT length, other;
  SQLUSMALLINT direction = SQL_FETCH_FIRST;
  driver[0] = '\0';
  while (SQL_SUCCEEDED(
      SQLDataSources(environment, direction, source, sizeof source, &length, what, sizeof what, &other))) {
    direction = SQL_FETCH_NEXT;
    if (strlen((const char *)source) == n && memcmp(source, name, n) == 0) {
      snprintf(driver, size, "%s", (const char *)what);
      return;
    }
  }
}

/* "clinic" is "DSN=clinic". */
static void put_connection(tacit_text_t *to, SQLHENV environment, const char *text) {
  char driver[256];
  const char *dsn = strncmp(text, "DSN=", 4) == 0 || strncmp(text, "dsn=", 4) == 0 ? text + 4
                    : strchr(text, '=') == NULL                                    ? text
                                                                                   : "";
  find_driver(environment, dsn, strcspn(dsn, ";"), driver, sizeof driver);
  tacit_text_printf(to, "%s%s", strchr(text, '=') == NULL ? "DSN=" : "", text);
  for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++) {
    if (is_like(dsn[0] != '\0' ? driver : text, drivers[i].driver)) {
      tacit_text_printf(to, "%s", drivers[i].more);
      return;
    }
  }
}

static tacit_status_t connect_to(tacit_odbc_t *odbc, const char *text, tacit_error_t *err) {
  tacit_text_t full = {0};
  SQLWCHAR *wide = NULL;
  SQLSMALLINT length;
  put_connection(&full, odbc->environment, text);
  tacit_status_t status = full.failed ? tacit_error_memory(err) : tacit_odbc_wide(full.data, &wide, err);
  if (status == TACIT_OK) {
    odbc->is_connected = SQL_SUCCEEDED(
        SQLDriverConnectW(odbc->connection, NULL, wide, SQL_NTS, NULL, 0, &length, SQL_DRIVER_NOPROMPT));
    status = odbc->is_connected
                 ? TACIT_OK
                 : fail(SQL_HANDLE_DBC, odbc->connection, "cannot connect to the database", err);
  }
  if (wide != NULL) {
    tacit_wipe(wide, (full.length + 1) * sizeof *wide);
  }
  tacit_free(wide);
  tacit_wipe(full.data, full.capacity);
  tacit_text_clear(&full);
  return status;
}

static SQLPOINTER whole(SQLULEN value) { return (SQLPOINTER)value; }

/* Statements that make all that follows read-only, and times UTC. */
static const struct {
  const char *database, *statements[2];
} read_only[] = {{"PostgreSQL", {"SET TRANSACTION READ ONLY", "SET TIME ZONE 'UTC'"}},
                 {"SQLite", {"PRAGMA query_only = ON"}},
                 {"MySQL", {"SET SESSION TRANSACTION READ ONLY", "SET time_zone = '+00:00'"}},
                 {"MariaDB", {"SET SESSION TRANSACTION READ ONLY", "SET time_zone = '+00:00'"}},
                 {"Oracle", {"SET TRANSACTION READ ONLY"}}};

static tacit_status_t forbid_writing(tacit_odbc_t *odbc, tacit_error_t *err) {
  char name[64] = "";
  SQLSMALLINT length;
  if (!SQL_SUCCEEDED(SQLGetInfo(odbc->connection, SQL_DBMS_NAME, name, sizeof name, &length))) {
    return fail(SQL_HANDLE_DBC, odbc->connection, "cannot ask the database what it is", err);
  }
  for (size_t i = 0; i < sizeof read_only / sizeof *read_only; i++) {
    for (size_t k = 0;
         k < 2 && strcmp(name, read_only[i].database) == 0 && read_only[i].statements[k] != NULL; k++) {
      SQLWCHAR *wide;
      tacit_status_t status = tacit_odbc_wide(read_only[i].statements[k], &wide, err);
      if (status != TACIT_OK) {
        return status;
      }
      SQLRETURN code = SQLExecDirectW(odbc->statement, wide, SQL_NTS);
      tacit_free(wide);
      if (!SQL_SUCCEEDED(code) && code != SQL_NO_DATA) {
        return tacit_odbc_error(odbc, "the database did not agree to reading alone", err);
      }
      SQLFreeStmt(odbc->statement, SQL_CLOSE);
    }
  }
  return TACIT_OK;
}

tacit_status_t tacit_odbc_open(tacit_odbc_t *odbc, const char *text, tacit_error_t *err) {
  enum { patience = 30 }; /* seconds */
  *odbc = (tacit_odbc_t){0};
  if (text[0] == '\0') {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "data",
                           "no data source is named: odbc:NAME, or odbc:DSN=NAME");
  }
  if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &odbc->environment)) ||
      !SQL_SUCCEEDED(SQLSetEnvAttr(odbc->environment, SQL_ATTR_ODBC_VERSION, whole(SQL_OV_ODBC3), 0)) ||
      !SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_DBC, odbc->environment, &odbc->connection))) {
    return tacit_error_memory(err);
  }
  SQLSetConnectAttr(odbc->connection, SQL_ATTR_TRACE, whole(SQL_OPT_TRACE_OFF), 0);
  SQLSetConnectAttr(odbc->connection, SQL_ATTR_LOGIN_TIMEOUT, whole(patience), 0);
  SQLSetConnectAttr(odbc->connection, SQL_ATTR_ACCESS_MODE, whole(SQL_MODE_READ_ONLY), 0);
  tacit_status_t status = connect_to(odbc, text, err);
  if (status == TACIT_OK && !SQL_SUCCEEDED(SQLSetConnectAttr(odbc->connection, SQL_ATTR_AUTOCOMMIT,
                                                             whole(SQL_AUTOCOMMIT_OFF), 0))) {
    status = fail(SQL_HANDLE_DBC, odbc->connection,
                  "the database has no transactions that can be rolled back", err);
  }
  if (status == TACIT_OK &&
      !SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_STMT, odbc->connection, &odbc->statement))) {
    status = tacit_error_memory(err);
  }
  if (status == TACIT_OK) { /* or SQLite's driver keeps all rows */
    SQLSetStmtAttr(odbc->statement, SQL_ATTR_CURSOR_TYPE, whole(SQL_CURSOR_FORWARD_ONLY), 0);
  }
  return status == TACIT_OK ? forbid_writing(odbc, err) : status;
}

tacit_status_t tacit_odbc_prepare(tacit_odbc_t *odbc, const char *query, SQLSMALLINT *n, tacit_error_t *err) {
  SQLWCHAR *wide;
  tacit_status_t status = tacit_odbc_wide(query, &wide, err);
  if (status != TACIT_OK) {
    return status;
  }
  SQLRETURN code = SQLPrepareW(odbc->statement, wide, SQL_NTS);
  tacit_free(wide);
  if (!SQL_SUCCEEDED(code) || !SQL_SUCCEEDED(SQLNumResultCols(odbc->statement, n))) {
    return tacit_odbc_error(odbc, "the query", err);
  }
  return *n > 0 ? TACIT_OK
                : tacit_error_set(
                      err, TACIT_ERR_ARGUMENT, "query",
                      "the query has no result columns: it was not run; expected one that reads, select ...");
}

void tacit_odbc_close(tacit_odbc_t *odbc) {
  if (odbc->statement != NULL) {
    SQLFreeHandle(SQL_HANDLE_STMT, odbc->statement);
  }
  if (odbc->is_connected) {
    SQLEndTran(SQL_HANDLE_DBC, odbc->connection, SQL_ROLLBACK);
    SQLDisconnect(odbc->connection);
  }
  if (odbc->connection != NULL) {
    SQLFreeHandle(SQL_HANDLE_DBC, odbc->connection);
  }
  if (odbc->environment != NULL) {
    SQLFreeHandle(SQL_HANDLE_ENV, odbc->environment);
  }
  *odbc = (tacit_odbc_t){0};
}
