/* A connection that reads. Not installed. */
#ifndef TACIT_DATA_ODBC_H
#define TACIT_DATA_ODBC_H

#include <sql.h>
#include <sqlext.h>

#include "data/cell.h"

typedef struct tacit_odbc {
  SQLHENV environment;
  SQLHDBC connection;
  SQLHSTMT statement;
  bool is_connected;
} tacit_odbc_t;

/* Connect by what follows "odbc:", in a transaction that reads where the database knows such; nothing of it
 * is ever in a message. */
TACIT_MUST_USE tacit_status_t tacit_odbc_open(tacit_odbc_t *odbc, const char *text, tacit_error_t *err);
/* Prepare a query, which has *n > 0 columns. */
TACIT_MUST_USE tacit_status_t tacit_odbc_prepare(tacit_odbc_t *odbc, const char *query, SQLSMALLINT *n,
                                                 tacit_error_t *err);
/* Roll back, whatever was done. */
void tacit_odbc_close(tacit_odbc_t *odbc);
/* An error of the statement, in words for its SQLSTATE: what drivers say may quote values and passwords. */
tacit_status_t tacit_odbc_error(const tacit_odbc_t *odbc, const char *what, tacit_error_t *err);

/* UTF-8 to what ODBC takes, ended by 0; owned. */
TACIT_MUST_USE tacit_status_t tacit_odbc_wide(const char *text, SQLWCHAR **wide, tacit_error_t *err);
/* n units of UTF-16 added to a text as UTF-8; what is none becomes U+FFFD. */
void tacit_odbc_append(tacit_text_t *text, const SQLWCHAR *wide, size_t n);

#endif
