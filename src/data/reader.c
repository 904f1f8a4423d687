/*
 * Reading records by the rules of the schema, one row at a time; where rows go is the caller's.
 */
#include <math.h>
#include <string.h>

#include "data/data_internal.h"

/* Place of a column in the header. */
static tacit_status_t find_field(const tacit_reader_t *reader, const char *name, size_t *place, tacit_error_t *err) {
  *place = tacit_dictionary_find(&reader->header, name, strlen(name));
  if (*place == SIZE_MAX) {
    return tacit_error_set(err, TACIT_ERR_UNKNOWN, name, "%s has no column '%s' in its header", reader->csv.path,
                           name);
  }
  return TACIT_OK;
}

/* The levels by text; their places are those in the schema, which holds no level twice. */
static tacit_status_t index_levels(tacit_dictionary_t *levels, const tacit_column_schema_t *schema,
                                   tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < schema->n_levels && status == TACIT_OK; i++) {
    size_t place;
    bool is_new;
    status = tacit_dictionary_add(levels, schema->levels[i], strlen(schema->levels[i]), &place, &is_new, err);
  }
  return status;
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
  *column = (tacit_reader_column_t){.schema = schema};
  tacit_status_t status = index_levels(&column->levels, schema, err);
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

static tacit_status_t missing(tacit_reader_t *reader, tacit_reader_column_t *column,
                              const tacit_csv_field_t *field, double *value, tacit_error_t *err) {
  const tacit_column_schema_t *schema = column->schema;
  if (schema->missing == TACIT_MISSING_ERROR) {
    return tacit_csv_error(&reader->csv, field, TACIT_ERR_DATA, err,
                           "column '%s': a missing value (the schema says missing: error)", schema->name);
  }
  column->n_missing += reader->is_kept;
  *value = schema->missing_value;
  return TACIT_OK;
}

static tacit_status_t read_level(tacit_reader_t *reader, const tacit_reader_column_t *column,
                                 const tacit_csv_field_t *field, double *value, tacit_error_t *err) {
  size_t level = tacit_dictionary_find(&column->levels, field->text, field->n);
  if (level == SIZE_MAX) {
    return tacit_csv_error(&reader->csv, field, TACIT_ERR_DATA, err,
                           "column '%s': not one of the levels in the schema", column->schema->name);
  }
  *value = (double)level;
  return TACIT_OK;
}

static bool read_boolean(const tacit_csv_field_t *field, double *value) {
  if (tacit_number_parse(field->text, field->n, value)) {
    return *value == 0 || *value == 1; /* exactly */
  }
  bool is_true = field->n == 4 && memcmp(field->text, "TRUE", 4) == 0;
  *value = is_true;
  return is_true || (field->n == 5 && memcmp(field->text, "FALSE", 5) == 0);
}

static bool is_nan_text(const tacit_csv_field_t *field) {
  return field->n == 3 && (memcmp(field->text, "NaN", 3) == 0 || memcmp(field->text, "nan", 3) == 0);
}

/* "Inf" with an optional sign, in either case: a number out of any range. */
static bool is_infinite_text(const tacit_csv_field_t *field, double *value) {
  size_t sign = field->n > 0 && (*field->text == '-' || *field->text == '+') ? 1 : 0;
  const char *rest = field->text + sign;
  if (field->n != sign + 3 || (memcmp(rest, "Inf", 3) != 0 && memcmp(rest, "inf", 3) != 0)) {
    return false;
  }
  *value = sign == 1 && *field->text == '-' ? -INFINITY : INFINITY;
  return true;
}

static tacit_status_t read_number(tacit_reader_t *reader, tacit_reader_column_t *column,
                                  const tacit_csv_field_t *field, double *value, tacit_error_t *err) {
  const tacit_column_schema_t *schema = column->schema;
  if (is_nan_text(field)) {
    return missing(reader, column, field, value, err);
  }
  if (!tacit_number_parse(field->text, field->n, value) && !is_infinite_text(field, value)) {
    return tacit_csv_error(&reader->csv, field, TACIT_ERR_DATA, err, "column '%s': expected a number",
                           schema->name);
  }
  if (schema->type == TACIT_COLUMN_INTEGER && isfinite(*value) && *value != floor(*value)) {
    return tacit_csv_error(&reader->csv, field, TACIT_ERR_DATA, err, "column '%s': expected a whole number",
                           schema->name);
  }
  if (*value >= schema->lower && *value <= schema->upper) {
    return TACIT_OK;
  }
  if (schema->out_of_range == TACIT_RANGE_ERROR) {
    return tacit_csv_error(&reader->csv, field, TACIT_ERR_DATA, err,
                           "column '%s': outside its bounds (the schema says out_of_range: error)", schema->name);
  }
  column->n_clamped += reader->is_kept;
  *value = *value < schema->lower ? schema->lower : schema->upper;
  return TACIT_OK;
}

static tacit_status_t read_value(tacit_reader_t *reader, tacit_reader_column_t *column, double *value,
                                 tacit_error_t *err) {
  const tacit_column_schema_t *schema = column->schema;
  const tacit_csv_field_t *field = &reader->csv.fields[column->field];
  if (tacit_is_missing(field->text, field->n)) {
    return missing(reader, column, field, value, err);
  }
  if (schema->type == TACIT_COLUMN_CATEGORICAL) {
    return read_level(reader, column, field, value, err);
  }
  if (schema->type == TACIT_COLUMN_BINARY) {
    return read_boolean(field, value)
               ? TACIT_OK
               : tacit_csv_error(&reader->csv, field, TACIT_ERR_DATA, err, "column '%s': expected 0 or 1",
                                 schema->name);
  }
  return read_number(reader, column, field, value, err);
}

/* Whether the row is among the first max_rows of its person. */
static tacit_status_t admit(tacit_reader_t *reader, tacit_error_t *err) {
  reader->is_kept = true;
  if (reader->unit_field == SIZE_MAX) {
    return TACIT_OK;
  }
  const tacit_csv_field_t *id = &reader->csv.fields[reader->unit_field];
  if (tacit_is_missing(id->text, id->n)) {
    return tacit_csv_error(&reader->csv, id, TACIT_ERR_DATA, err, "column '%s': a row without its unit of privacy",
                           tacit_schema_unit(reader->schema));
  }
  return tacit_units_add(&reader->units, id->text, id->n, tacit_schema_max_rows(reader->schema), &reader->unit, &reader->is_kept,
                         err);
}

static tacit_status_t read_row(tacit_reader_t *reader, tacit_room_maker make_room, void *user, tacit_error_t *err) {
  const tacit_csv_t *csv = &reader->csv;
  if (csv->n_fields != reader->header.n_entries) {
    return tacit_csv_error(csv, &csv->fields[0], TACIT_ERR_SYNTAX, err,
                           "a row of %zu fields; the header has %zu", csv->n_fields, reader->header.n_entries);
  }
  tacit_status_t status = admit(reader, err);
  if (status == TACIT_OK && reader->at == reader->room) {
    status = make_room(user, err);
  }
  for (size_t i = 0; i < reader->n_columns && status == TACIT_OK; i++) {
    status = read_value(reader, &reader->columns[i], &reader->values[i][reader->at], err);
  }
  if (status != TACIT_OK) {
    return status;
  }
  if (!reader->is_kept) { /* its values obey the schema too, but only its absence is worth a note */
    reader->n_rows_dropped++;
    return TACIT_OK;
  }
  if (reader->row_units != NULL) {
    reader->row_units[reader->at] = reader->unit;
  }
  reader->at++;
  reader->n_rows++;
  return TACIT_OK;
}

/* A line with nothing on it: tolerated at the end of the file only. */
static bool is_blank(const tacit_csv_t *csv) {
  return csv->n_fields == 1 && csv->fields[0].n == 0;
}

tacit_status_t tacit_reader_rows(tacit_reader_t *reader, tacit_room_maker make_room, void *user, tacit_error_t *err) {
  tacit_csv_field_t blank = {0};
  for (;;) {
    tacit_status_t status = tacit_csv_read(&reader->csv, err);
    if (status == TACIT_OK && reader->csv.n_fields == 0 && reader->n_rows == 0) {
      return tacit_error_set(err, TACIT_ERR_DATA, reader->csv.path, "%s has a header but no records", reader->csv.path);
    }
    if (status != TACIT_OK || reader->csv.n_fields == 0) {
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
    if (status != TACIT_OK) {
      return status;
    }
  }
}

tacit_status_t tacit_reader_open(tacit_reader_t *reader, const char *path, const tacit_schema_t *schema,
                                 const char *const *columns, size_t n_columns, tacit_error_t *err) {
  *reader = (tacit_reader_t){.schema = schema};
  tacit_status_t status = tacit_csv_open(&reader->csv, path, err);
  if (status == TACIT_OK) {
    status = tacit_csv_read_header(&reader->csv, &reader->header, err);
  }
  return status == TACIT_OK ? choose_columns(reader, columns, n_columns, err) : status;
}

tacit_table_notes_t tacit_reader_notes(const tacit_reader_t *reader) {
  tacit_table_notes_t notes = {.n_rows_dropped = reader->n_rows_dropped};
  for (size_t i = 0; i < reader->n_columns; i++) {
    notes.n_clamped += reader->columns[i].n_clamped;
    notes.n_missing += reader->columns[i].n_missing;
  }
  return notes;
}

void tacit_reader_clear(tacit_reader_t *reader) {
  for (size_t i = 0; i < reader->n_columns; i++) {
    tacit_dictionary_clear(&reader->columns[i].levels);
  }
  tacit_free(reader->columns);
  tacit_free(reader->values);
  tacit_csv_close(&reader->csv);
  tacit_dictionary_clear(&reader->header);
  tacit_units_clear(&reader->units);
}
