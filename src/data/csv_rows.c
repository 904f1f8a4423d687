/*
 * Rows of a CSV file by the rules of the schema.
 */
#include "base/error.h"
#include "base/memory.h"
#include "data/rules.h"

enum { rows_unwatched = 1024 };

static tacit_status_t complain(const tacit_csv_t *csv, const tacit_csv_field_t *at, const char *column,
                               tacit_complaint_t what, tacit_error_t *err) {
  return tacit_csv_error(csv, at, TACIT_ERR_DATA, err, "column '%s': %s", column, what);
}

/* Whether the row is among the first max_rows of its person. */
static tacit_status_t admit(tacit_reader_t *reader, size_t *unit, bool *is_kept, tacit_error_t *err) {
  *is_kept = true;
  if (reader->unit_field == SIZE_MAX) {
    return TACIT_OK;
  }
  const tacit_csv_t *csv = reader->state;
  const tacit_csv_field_t *id = &csv->fields[reader->unit_field];
  return tacit_is_missing(id->text, id->n)
             ? complain(csv, id, tacit_schema_unit(reader->schema), tacit_complaint_no_unit, err)
             : tacit_reader_admit(reader, id->text, id->n, unit, is_kept, err);
}

static tacit_status_t read_row(tacit_reader_t *reader, tacit_room_maker make_room, void *user,
                               tacit_error_t *err) {
  const tacit_csv_t *csv = reader->state;
  size_t unit = 0;
  bool is_kept;
  if (csv->n_fields != reader->header.n_entries) {
    return tacit_csv_error(csv, &csv->fields[0], TACIT_ERR_SYNTAX, err,
                           "a row of %zu fields; the header has %zu", csv->n_fields,
                           reader->header.n_entries);
  }
  tacit_status_t status = admit(reader, &unit, &is_kept, err);
  if (status == TACIT_OK && reader->at == reader->room) {
    status = make_room(user, err);
  }
  for (size_t i = 0; i < reader->n_columns && status == TACIT_OK; i++) {
    tacit_reader_column_t *column = &reader->columns[i];
    const tacit_csv_field_t *field = &csv->fields[column->field];
    tacit_complaint_t wrong =
        tacit_rule_text(&column->rule, field->text, field->n, is_kept, &reader->values[i][reader->at]);
    status = wrong == NULL ? TACIT_OK : complain(csv, field, column->rule.schema->name, wrong, err);
  }
  if (status != TACIT_OK) {
    return status;
  }
  if (!is_kept) { /* its values obey the schema too, but only its absence is worth a note */
    reader->n_rows_dropped++;
    return TACIT_OK;
  }
  if (reader->row_units != NULL) {
    reader->row_units[reader->at] = unit;
  }
  reader->at++;
  reader->n_rows++;
  return TACIT_OK;
}

/* A line with nothing on it: tolerated at the end of the file only. */
static bool is_blank(const tacit_csv_t *csv) { return csv->n_fields == 1 && csv->fields[0].n == 0; }

static tacit_status_t csv_rows(tacit_reader_t *reader, tacit_room_maker make_room, void *user,
                               tacit_error_t *err) {
  tacit_csv_t *csv = reader->state;
  tacit_csv_field_t blank = {0};
  for (;;) {
    tacit_status_t status = tacit_csv_read(csv, err);
    if (status == TACIT_OK && csv->n_fields == 0) {
      return TACIT_OK;
    }
    if (status != TACIT_OK) {
      return status;
    }
    if (is_blank(csv) && reader->header.n_entries > 1) {
      blank = csv->fields[0];
      continue;
    }
    if (blank.line > 0) {
      return tacit_csv_error(csv, &blank, TACIT_ERR_SYNTAX, err, "an empty line among the records");
    }
    status = read_row(reader, make_room, user, err);
    if (status == TACIT_OK && (reader->n_rows + reader->n_rows_dropped) % rows_unwatched == 0) {
      status = tacit_watch_check(reader->source.watch, err);
    }
    if (status != TACIT_OK) {
      return status;
    }
  }
}

static tacit_status_t open_file(tacit_reader_t *reader, tacit_error_t *err) {
  tacit_csv_t *csv = reader->state = tacit_alloc_zero(1, sizeof *csv);
  char delimiter = '\0';
  tacit_status_t status = csv != NULL ? tacit_delimiter_parse(reader->source.delimiter, &delimiter, err)
                                      : tacit_error_memory(err);
  TACIT_THEN(status, tacit_csv_open(csv, reader->source.path, reader->source.encoding, delimiter, err));
  return status == TACIT_OK ? tacit_csv_read_header(csv, &reader->header, err) : status;
}

static tacit_status_t choose_comma(tacit_reader_t *reader, tacit_error_t *err) {
  const tacit_csv_t *csv = reader->state;
  (void)err;
  for (size_t i = 0; i < reader->n_columns; i++) {
    reader->columns[i].rule.decimal_mark = csv->separator == ';' ? &reader->decimal_mark : NULL;
  }
  return TACIT_OK;
}

static void close_file(tacit_reader_t *reader) {
  tacit_csv_close(reader->state);
  tacit_free(reader->state);
}

const tacit_reader_kind_t tacit_reader_csv = {
    .open = open_file, .check = choose_comma, .rows = csv_rows, .close = close_file};
