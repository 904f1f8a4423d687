/*
 * Rows of a query, as they come.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "data/odbc.h"

typedef enum fetch {
  FETCH_WHOLE,
  FETCH_REAL,
  FETCH_BOOLEAN,
  FETCH_DECIMAL,
  FETCH_DATE,
  FETCH_TEXT,
  FETCH_PADDED, /* text of a fixed length: blanks at its end are none of it */
  FETCH_BYTES
} fetch_t;

typedef struct field {
  SQLSMALLINT type;
  fetch_t how;
  size_t slot; /* among the cells, from 1; 0: not wanted */
  bool wants_digits;
} field_t;

typedef struct database {
  tacit_odbc_t odbc;
  field_t *fields;
  size_t n_fields;
  tacit_cell_t *cells; /* shape (n_columns + 1): the last one is the unit's */
  tacit_text_t *texts; /* likewise: what cells borrow */
} database_t;

static fetch_t how_to_fetch(SQLSMALLINT type) {
  switch (type) {
  case SQL_TINYINT:
  case SQL_SMALLINT:
  case SQL_INTEGER:
  case SQL_BIGINT:
    return FETCH_WHOLE;
  case SQL_REAL:
  case SQL_FLOAT:
  case SQL_DOUBLE:
    return FETCH_REAL;
  case SQL_BIT:
    return FETCH_BOOLEAN;
  case SQL_NUMERIC:
  case SQL_DECIMAL:
    return FETCH_DECIMAL;
  case SQL_TYPE_DATE:
  case SQL_TYPE_TIMESTAMP:
    return FETCH_DATE;
  case SQL_BINARY:
  case SQL_VARBINARY:
  case SQL_LONGVARBINARY:
    return FETCH_BYTES;
  case SQL_CHAR:
  case SQL_WCHAR:
    return FETCH_PADDED;
  default:
    return FETCH_TEXT;
  }
}

/* ---- columns ---- */

static tacit_status_t describe_field(tacit_reader_t *reader, size_t i, tacit_error_t *err) {
  database_t *database = reader->state;
  SQLWCHAR wide[512];
  SQLSMALLINT length, digits, nullable;
  SQLULEN size;
  tacit_text_t name = {0};
  size_t place;
  bool is_new = true;
  if (!SQL_SUCCEEDED(SQLDescribeColW(database->odbc.statement, (SQLUSMALLINT)(i + 1), wide, 512, &length,
                                     &database->fields[i].type, &size, &digits, &nullable))) {
    return tacit_odbc_error(&database->odbc, "the query's columns", err);
  }
  database->fields[i].how = how_to_fetch(database->fields[i].type);
  tacit_odbc_append(&name, wide, length < 0 ? 0 : length < 511 ? (size_t)length : 511);
  tacit_status_t status = name.failed
                              ? tacit_error_memory(err)
                              : tacit_dictionary_add(&reader->header, name.data != NULL ? name.data : "",
                                                     name.length, &place, &is_new, err);
  if (status == TACIT_OK && !is_new) {
    status = tacit_error_set(
        err, TACIT_ERR_SYNTAX, "query",
        "the query names column %zu and column %zu alike: give one another name (as ...)", place + 1, i + 1);
  }
  tacit_text_clear(&name);
  return status;
}

static tacit_status_t open_query(tacit_reader_t *reader, tacit_error_t *err) {
  const tacit_data_source_t *source = &reader->source;
  SQLSMALLINT n = 0;
  char *query;
  if (source->query == NULL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "query",
                           "a database needs a query: --query 'select ...', or --query @FILE");
  }
  database_t *database = reader->state = tacit_alloc_zero(1, sizeof *database);
  if (database == NULL) {
    return tacit_error_memory(err);
  }
  tacit_status_t status = tacit_query_read(source->query, &query, err);
  TACIT_THEN(status, tacit_odbc_open(&database->odbc, source->path + strlen(tacit_odbc_prefix), err));
  TACIT_THEN(status, tacit_odbc_prepare(&database->odbc, query, &n, err));
  if (query != NULL) {
    tacit_query_hash(query, reader->query_hash);
  }
  tacit_free(query);
  database->n_fields = (size_t)n;
  database->fields =
      status == TACIT_OK ? tacit_alloc_zero(database->n_fields, sizeof *database->fields) : NULL;
  if (status == TACIT_OK && database->fields == NULL) {
    status = tacit_error_memory(err);
  }
  for (size_t i = 0; i < database->n_fields && status == TACIT_OK; i++) {
    status = describe_field(reader, i, err);
  }
  return status;
}

static tacit_status_t check_field(database_t *database, size_t slot, size_t at,
                                  const tacit_column_schema_t *schema, tacit_error_t *err) {
  field_t *field = &database->fields[at];
  field->slot = slot + 1;
  field->wants_digits = schema->type == TACIT_COLUMN_ID || tacit_cell_wants_digits(schema);
  if (field->how == FETCH_BYTES) {
    return tacit_error_set(err, TACIT_ERR_DATA, schema->name,
                           "column '%s': bytes are not read: make text or numbers of them in the query",
                           schema->name);
  }
  if (field->how == FETCH_BOOLEAN && schema->type != TACIT_COLUMN_BINARY) {
    return tacit_error_set(err, TACIT_ERR_DATA, schema->name,
                           "column '%s': true and false, where the schema wants none: make it type: binary, "
                           "or convert it in the query",
                           schema->name);
  }
  if (field->how == FETCH_DATE && field->wants_digits) {
    field->how = FETCH_TEXT;
  }
  return TACIT_OK;
}

static tacit_status_t check_fields(tacit_reader_t *reader, tacit_error_t *err) {
  database_t *database = reader->state;
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < reader->n_columns && status == TACIT_OK; i++) {
    status = check_field(database, i, reader->columns[i].field, reader->columns[i].rule.schema, err);
  }
  if (status == TACIT_OK && reader->unit_field != SIZE_MAX) {
    status = check_field(database, reader->n_columns, reader->unit_field,
                         tacit_schema_find(reader->schema, tacit_schema_unit(reader->schema)), err);
  }
  database->cells = tacit_alloc_zero(reader->n_columns + 1, sizeof *database->cells);
  database->texts = tacit_alloc_zero(reader->n_columns + 1, sizeof *database->texts);
  return status != TACIT_OK || (database->cells != NULL && database->texts != NULL) ? status
                                                                                    : tacit_error_memory(err);
}

/* ---- values ---- */

/* A text of any length, in pieces. */
static SQLRETURN get_text(database_t *database, size_t at, tacit_text_t *text, bool *is_null) {
  enum { piece = 1024 };
  SQLWCHAR wide[piece];
  SQLLEN length = 0;
  SQLRETURN code;
  text->length = 0;
  do {
    code =
        SQLGetData(database->odbc.statement, (SQLUSMALLINT)(at + 1), SQL_C_WCHAR, wide, sizeof wide, &length);
    *is_null = SQL_SUCCEEDED(code) && length == SQL_NULL_DATA;
    if (SQL_SUCCEEDED(code) && !*is_null) {
      bool is_more = length == SQL_NO_TOTAL || length >= (SQLLEN)sizeof wide;
      tacit_odbc_append(text, wide, is_more ? piece - 1 : (size_t)length / sizeof *wide);
      code = is_more ? code : SQL_NO_DATA;
    }
  } while (SQL_SUCCEEDED(code) && !*is_null && text->length <= TACIT_CELL_MAX_TEXT);
  return code == SQL_NO_DATA ? SQL_SUCCESS : code;
}

/* The digits of a decimal: a number, and text for levels and identifiers if there is nothing but zeros after
 * its point. */
static void put_decimal(tacit_cell_t *cell, const tacit_text_t *text) {
  size_t n = text->length;
  const char *point = n > 0 ? memchr(text->data, '.', n) : NULL;
  if (n == 0 || !tacit_number_parse(text->data, n, &cell->number)) {
    if (n == 3 && memcmp(text->data, "NaN", 3) == 0) {
      cell->kind = TACIT_CELL_MISSING;
    } else {
      tacit_cell_break(cell, "a decimal that is no number");
    }
    return;
  }
  cell->kind = TACIT_CELL_NUMBER;
  while (point != NULL && n > 0 && (text->data[n - 1] == '0' || text->data + n - 1 == point)) {
    n--;
    if (text->data + n == point) {
      point = NULL;
    }
  }
  cell->text = point == NULL ? text->data : NULL;
  cell->n = n;
}

static SQLRETURN get_wordy(database_t *database, size_t at, const field_t *field, tacit_cell_t *cell) {
  tacit_text_t *text = &database->texts[field->slot - 1];
  bool is_null;
  SQLRETURN code = get_text(database, at, text, &is_null);
  size_t n = text->length;
  while (field->how == FETCH_PADDED && n > 0 && text->data[n - 1] == ' ') {
    n--;
  }
  if (is_null) {
    cell->kind = TACIT_CELL_MISSING;
  } else if (field->how == FETCH_DECIMAL) {
    put_decimal(cell, text);
  } else {
    tacit_cell_text(cell, text->data != NULL ? text->data : "", n);
  }
  return code;
}

static void put_date(tacit_cell_t *cell, const SQL_TIMESTAMP_STRUCT *at) {
  double seconds = at->hour * 3600.0 + at->minute * 60.0 + at->second + at->fraction * 1e-9;
  cell->kind = TACIT_CELL_DAYS;
  cell->number = (double)tacit_days_of(at->year, at->month, at->day) + seconds / 86400;
}

static SQLRETURN get_cell(database_t *database, size_t at, const field_t *field, tacit_cell_t *cell) {
  SQLHSTMT statement = database->odbc.statement;
  SQLUSMALLINT place = (SQLUSMALLINT)(at + 1);
  SQLLEN length = 0;
  SQLRETURN code;
  SQLBIGINT number = 0;
  unsigned char bit = 0;
  double real = 0;
  SQL_TIMESTAMP_STRUCT date = {0};
  cell->text = NULL;
  switch (field->how) {
  case FETCH_WHOLE:
    code = SQLGetData(statement, place, SQL_C_SBIGINT, &number, sizeof number, &length);
    tacit_cell_whole(cell, number < 0 ? -(uint64_t)number : (uint64_t)number, number < 0,
                     field->wants_digits);
    break;
  case FETCH_REAL:
    code = SQLGetData(statement, place, SQL_C_DOUBLE, &real, sizeof real, &length);
    tacit_cell_real(cell, real, field->wants_digits);
    break;
  case FETCH_BOOLEAN:
    code = SQLGetData(statement, place, SQL_C_BIT, &bit, sizeof bit, &length);
    tacit_cell_whole(cell, bit, false, false);
    break;
  case FETCH_DATE:
    code = SQLGetData(statement, place, SQL_C_TYPE_TIMESTAMP, &date, sizeof date, &length);
    put_date(cell, &date);
    break;
  default:
    return get_wordy(database, at, field, cell);
  }
  if (length == SQL_NULL_DATA) {
    cell->kind = TACIT_CELL_MISSING;
  }
  return code;
}

/* ---- rows ---- */

static const char broke[] = "reading the query's rows broke off, and nothing was spent or written";

static tacit_status_t read_row(tacit_reader_t *reader, size_t row, tacit_room_maker make_room, void *user,
                               tacit_error_t *err) {
  database_t *database = reader->state;
  for (size_t i = 0; i < database->n_fields; i++) { /* some drivers give columns in their order alone */
    const field_t *field = &database->fields[i];
    if (field->slot > 0 && !SQL_SUCCEEDED(get_cell(database, i, field, &database->cells[field->slot - 1]))) {
      return tacit_odbc_error(&database->odbc, broke, err);
    }
    if (field->slot > 0 && database->texts[field->slot - 1].failed) {
      return tacit_error_memory(err);
    }
  }
  return tacit_reader_put(reader, database->cells, &database->cells[reader->n_columns], row, make_room, user,
                          err);
}

static tacit_status_t read_rows(tacit_reader_t *reader, tacit_room_maker make_room, void *user,
                                tacit_error_t *err) {
  enum { rows_unwatched = 1024 };
  database_t *database = reader->state;
  SQLRETURN code = SQLExecute(database->odbc.statement);
  if (!SQL_SUCCEEDED(code) && code != SQL_NO_DATA) {
    return tacit_odbc_error(&database->odbc, "the query failed, and nothing was spent or written", err);
  }
  for (size_t row = 1;; row++) {
    code = code == SQL_NO_DATA ? code : SQLFetch(database->odbc.statement);
    if (code == SQL_NO_DATA) {
      return TACIT_OK;
    }
    if (!SQL_SUCCEEDED(code)) {
      return tacit_odbc_error(&database->odbc, broke, err);
    }
    tacit_status_t status = read_row(reader, row, make_room, user, err);
    if (status == TACIT_OK && row % rows_unwatched == 0) {
      status = tacit_watch_check(reader->source.watch, err);
    }
    if (status != TACIT_OK) {
      return status;
    }
  }
}

static void close_query(tacit_reader_t *reader) {
  database_t *database = reader->state;
  tacit_odbc_close(&database->odbc);
  for (size_t i = 0; database->texts != NULL && i <= reader->n_columns; i++) {
    tacit_wipe(database->texts[i].data, database->texts[i].capacity);
    tacit_text_clear(&database->texts[i]);
  }
  tacit_free(database->fields);
  tacit_free(database->cells);
  tacit_free(database->texts);
  tacit_free(database);
}

const tacit_reader_kind_t tacit_reader_database = {
    .open = open_query, .check = check_fields, .rows = read_rows, .close = close_query};
