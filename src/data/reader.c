/*
 * Reading records by the rules of the schema, one row at a time; where rows go is the caller's.
 */
#include <string.h>

#include "data/rules.h"

/* Place of a column in the header. */
static tacit_status_t find_field(const tacit_reader_t *reader, const char *name, size_t *place, tacit_error_t *err) {
  *place = tacit_dictionary_find(&reader->header, name, strlen(name));
  if (*place != SIZE_MAX) {
    return TACIT_OK;
  }
  return reader->source.path != NULL
             ? tacit_error_set(err, TACIT_ERR_UNKNOWN, name, "%s has no column '%s' in its header", reader->csv.path, name)
             : tacit_error_set(err, TACIT_ERR_UNKNOWN, name, "the data have no column '%s'", name);
}

tacit_status_t tacit_reader_no_column(const tacit_column_schema_t *schema, const char *name, tacit_error_t *err) {
  return tacit_error_set(err, TACIT_ERR_UNKNOWN, name,
                         schema == NULL ? "the schema has no column '%s'"
                                        : "column '%s' identifies the unit of privacy and holds no values",
                         name);
}

static tacit_status_t add_column(tacit_reader_t *reader, const char *name, tacit_error_t *err) {
  const tacit_column_schema_t *schema = tacit_schema_find(reader->schema, name);
  if (schema == NULL || schema->type == TACIT_COLUMN_ID) {
    return tacit_reader_no_column(schema, name, err);
  }
  tacit_reader_column_t *column = &reader->columns[reader->n_columns++];
  tacit_status_t status = tacit_rule_init(&column->rule, schema, err);
  column->rule.has_decimal_comma = reader->source.path != NULL && reader->csv.separator == ';';
  return status == TACIT_OK ? find_field(reader, name, &column->field, err) : status;
}

static tacit_status_t choose_columns(tacit_reader_t *reader, const char *const *columns, size_t n_columns,
                                     tacit_error_t *err) {
  size_t n_schema = tacit_schema_n_columns(reader->schema), most = n_columns > 0 ? n_columns : n_schema;
  tacit_status_t status = TACIT_OK;
  reader->columns = tacit_alloc_zero(most, sizeof *reader->columns);
  reader->values = tacit_alloc_zero(most, sizeof *reader->values);
  if (reader->columns == NULL || reader->values == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < most && status == TACIT_OK; i++) {
    const tacit_column_schema_t *schema = n_columns > 0 ? NULL : tacit_schema_column(reader->schema, i);
    if (schema == NULL || schema->type != TACIT_COLUMN_ID) {
      status = add_column(reader, schema == NULL ? columns[i] : schema->name, err);
    }
  }
  reader->unit_field = SIZE_MAX;
  if (status == TACIT_OK && tacit_schema_unit(reader->schema) != NULL) {
    status = find_field(reader, tacit_schema_unit(reader->schema), &reader->unit_field, err);
  }
  return status;
}

tacit_status_t tacit_reader_admit(tacit_reader_t *reader, const char *id, size_t n, size_t *unit, bool *is_kept,
                                  tacit_error_t *err) {
  return tacit_units_add(&reader->units, id, n, tacit_schema_max_rows(reader->schema), unit, is_kept, err);
}

/* ---- rows of a CSV file ---- */

enum { rows_unwatched = 1024 };

static tacit_status_t complain(const tacit_csv_t *csv, const tacit_csv_field_t *at, const char *column, tacit_complaint_t what,
                               tacit_error_t *err) {
  return tacit_csv_error(csv, at, TACIT_ERR_DATA, err, "column '%s': %s", column, what);
}

/* Whether the row is among the first max_rows of its person. */
static tacit_status_t admit(tacit_reader_t *reader, size_t *unit, bool *is_kept, tacit_error_t *err) {
  *is_kept = true;
  if (reader->unit_field == SIZE_MAX) {
    return TACIT_OK;
  }
  const tacit_csv_field_t *id = &reader->csv.fields[reader->unit_field];
  return tacit_is_missing(id->text, id->n)
             ? complain(&reader->csv, id, tacit_schema_unit(reader->schema), tacit_complaint_no_unit, err)
             : tacit_reader_admit(reader, id->text, id->n, unit, is_kept, err);
}

static tacit_status_t read_row(tacit_reader_t *reader, tacit_room_maker make_room, void *user, tacit_error_t *err) {
  const tacit_csv_t *csv = &reader->csv;
  size_t unit = 0;
  bool is_kept;
  if (csv->n_fields != reader->header.n_entries) {
    return tacit_csv_error(csv, &csv->fields[0], TACIT_ERR_SYNTAX, err,
                           "a row of %zu fields; the header has %zu", csv->n_fields, reader->header.n_entries);
  }
  tacit_status_t status = admit(reader, &unit, &is_kept, err);
  if (status == TACIT_OK && reader->at == reader->room) {
    status = make_room(user, err);
  }
  for (size_t i = 0; i < reader->n_columns && status == TACIT_OK; i++) {
    tacit_reader_column_t *column = &reader->columns[i];
    const tacit_csv_field_t *field = &csv->fields[column->field];
    tacit_complaint_t wrong = tacit_rule_text(&column->rule, field->text, field->n, is_kept, &reader->values[i][reader->at]);
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
static bool is_blank(const tacit_csv_t *csv) {
  return csv->n_fields == 1 && csv->fields[0].n == 0;
}

tacit_status_t tacit_watch_check(const tacit_stream_watch_t *watch, tacit_error_t *err) {
  return watch == NULL || watch->go_on == NULL || watch->go_on(watch->user)
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_INTERRUPTED, "data", "interrupted while reading the data: nothing was spent or written");
}

tacit_status_t tacit_check_any_rows(const tacit_schema_t *schema, size_t n_rows, const char *path, tacit_error_t *err) {
  bool is_fine = n_rows > 0 || tacit_schema_relation(schema) == TACIT_RELATION_ADD_REMOVE;
  return is_fine ? TACIT_OK : tacit_error_set(err, TACIT_ERR_DATA, path, "%s has no records: under relation substitute at least one is expected", path);
}

static tacit_status_t csv_rows(tacit_reader_t *reader, tacit_room_maker make_room, void *user, tacit_error_t *err) {
  tacit_csv_field_t blank = {0};
  for (;;) {
    tacit_status_t status = tacit_csv_read(&reader->csv, err);
    if (status == TACIT_OK && reader->csv.n_fields == 0) {
      return tacit_check_any_rows(reader->schema, reader->n_rows, reader->csv.path, err);
    }
    if (status != TACIT_OK) {
      return status;
    }
    if (is_blank(&reader->csv) && reader->header.n_entries > 1) {
      blank = reader->csv.fields[0];
      continue;
    }
    if (blank.line > 0) {
      return tacit_csv_error(&reader->csv, &blank, TACIT_ERR_SYNTAX, err, "an empty line among the records");
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

/* ---- any source ---- */

tacit_status_t tacit_reader_rows(tacit_reader_t *reader, tacit_room_maker make_room, void *user, tacit_error_t *err) {
  return reader->arrow != NULL ? tacit_arrow_rows(reader, make_room, user, err) : csv_rows(reader, make_room, user, err);
}

static tacit_status_t read_header(tacit_reader_t *reader, tacit_error_t *err) {
  if (reader->source.path == NULL) {
    return tacit_arrow_open(reader, err);
  }
  tacit_status_t status = tacit_csv_open(&reader->csv, reader->source.path, err);
  return status == TACIT_OK ? tacit_csv_read_header(&reader->csv, &reader->header, err) : status;
}

tacit_status_t tacit_reader_open(tacit_reader_t *reader, const tacit_source_t *source, const tacit_schema_t *schema,
                                 const char *const *columns, size_t n_columns, tacit_error_t *err) {
  *reader = (tacit_reader_t){.source = *source, .schema = schema};
  tacit_status_t status = read_header(reader, err);
  if (status == TACIT_OK) {
    status = choose_columns(reader, columns, n_columns, err);
  }
  return status == TACIT_OK && reader->arrow != NULL ? tacit_arrow_check(reader, err) : status;
}

tacit_table_notes_t tacit_reader_notes(const tacit_reader_t *reader) {
  tacit_table_notes_t notes = {.n_rows_dropped = reader->n_rows_dropped};
  for (size_t i = 0; i < reader->n_columns; i++) {
    notes.n_clamped += reader->columns[i].rule.n_clamped;
    notes.n_missing += reader->columns[i].rule.n_missing;
  }
  return notes;
}

void tacit_reader_clear(tacit_reader_t *reader) {
  for (size_t i = 0; i < reader->n_columns; i++) {
    tacit_rule_clear(&reader->columns[i].rule);
  }
  tacit_free(reader->columns);
  tacit_free(reader->values);
  tacit_csv_close(&reader->csv);
  tacit_arrow_close(reader->arrow);
  tacit_dictionary_clear(&reader->header);
  tacit_units_clear(&reader->units);
}
