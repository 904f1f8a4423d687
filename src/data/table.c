/*
 * Reading records into columns by the rules of the schema.
 */
#include <math.h>
#include <string.h>

#include "data/data_internal.h"

typedef struct tacit_table_column {
  const tacit_column_schema_t *schema; /* borrowed while reading */
  char *name;
  double *values;
  tacit_dictionary_t levels;
  size_t field; /* place in a CSV record */
} tacit_table_column_t;

struct tacit_table {
  tacit_table_column_t *columns;
  size_t n_columns, n_rows, capacity;
  size_t *unit_offsets;
  size_t n_units;
};

typedef struct tacit_reader {
  tacit_csv_t csv;
  const tacit_schema_t *schema;
  tacit_table_t *table;
  tacit_table_notes_t notes;
  tacit_dictionary_t header; /* names of the fields */
  size_t unit_field;         /* SIZE_MAX: the unit is a row */
  tacit_units_t units;
} tacit_reader_t;

void tacit_table_free(tacit_table_t *table) {
  if (table == NULL) {
    return;
  }
  for (size_t i = 0; table->columns != NULL && i < table->n_columns; i++) {
    tacit_free(table->columns[i].name);
    tacit_free(table->columns[i].values);
    tacit_dictionary_clear(&table->columns[i].levels);
  }
  tacit_free(table->columns);
  tacit_free(table->unit_offsets);
  tacit_free(table);
}

size_t tacit_table_n_rows(const tacit_table_t *table) {
  return table->n_rows;
}

const double *tacit_table_column(const tacit_table_t *table, const char *name) {
  for (size_t i = 0; i < table->n_columns; i++) {
    if (strcmp(table->columns[i].name, name) == 0) {
      return table->columns[i].values;
    }
  }
  return NULL;
}

const size_t *tacit_table_unit_offsets(const tacit_table_t *table, size_t *n_units) {
  *n_units = table->unit_offsets != NULL ? table->n_units : table->n_rows;
  return table->unit_offsets;
}

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

static tacit_status_t add_column(tacit_reader_t *reader, const char *name, tacit_error_t *err) {
  const tacit_column_schema_t *schema = tacit_schema_find(reader->schema, name);
  if (schema == NULL || schema->type == TACIT_COLUMN_ID) {
    return tacit_error_set(err, TACIT_ERR_UNKNOWN, name,
                           schema == NULL ? "the schema has no column '%s'"
                                          : "column '%s' identifies the unit of privacy and holds no values",
                           name);
  }
  tacit_table_t *table = reader->table;
  tacit_table_column_t *column = &table->columns[table->n_columns];
  *column = (tacit_table_column_t){.schema = schema, .name = tacit_strdup(name)};
  if (column->name == NULL) {
    return tacit_error_memory(err);
  }
  table->n_columns++;
  tacit_status_t status = index_levels(&column->levels, schema, err);
  return status == TACIT_OK ? find_field(reader, name, &column->field, err) : status;
}

static tacit_status_t choose_columns(tacit_reader_t *reader, const char *const *columns, size_t n_columns,
                                     tacit_error_t *err) {
  size_t n_schema = tacit_schema_n_columns(reader->schema), most = n_columns > 0 ? n_columns : n_schema;
  tacit_status_t status = TACIT_OK;
  reader->table->columns = tacit_alloc_zero(most, sizeof *reader->table->columns);
  if (reader->table->columns == NULL) {
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

static tacit_status_t missing(tacit_reader_t *reader, const tacit_column_schema_t *column,
                              const tacit_csv_field_t *field, double *value, tacit_error_t *err) {
  if (column->missing == TACIT_MISSING_ERROR) {
    return tacit_csv_error(&reader->csv, field, TACIT_ERR_DATA, err,
                           "column '%s': a missing value (the schema says missing: error)", column->name);
  }
  reader->notes.n_missing++;
  *value = column->missing_value;
  return TACIT_OK;
}

static tacit_status_t read_level(tacit_reader_t *reader, const tacit_table_column_t *column,
                                 const tacit_csv_field_t *field, double *value, tacit_error_t *err) {
  size_t level = tacit_dictionary_find(&column->levels, field->text, field->n);
  if (level == SIZE_MAX) {
    return tacit_csv_error(&reader->csv, field, TACIT_ERR_DATA, err,
                           "column '%s': not one of the levels in the schema", column->name);
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

static tacit_status_t read_number(tacit_reader_t *reader, const tacit_column_schema_t *column,
                                  const tacit_csv_field_t *field, double *value, tacit_error_t *err) {
  if (is_nan_text(field)) {
    return missing(reader, column, field, value, err);
  }
  if (!tacit_number_parse(field->text, field->n, value) && !is_infinite_text(field, value)) {
    return tacit_csv_error(&reader->csv, field, TACIT_ERR_DATA, err, "column '%s': expected a number",
                           column->name);
  }
  if (column->type == TACIT_COLUMN_INTEGER && isfinite(*value) && *value != floor(*value)) {
    return tacit_csv_error(&reader->csv, field, TACIT_ERR_DATA, err, "column '%s': expected a whole number",
                           column->name);
  }
  if (*value >= column->lower && *value <= column->upper) {
    return TACIT_OK;
  }
  if (column->out_of_range == TACIT_RANGE_ERROR) {
    return tacit_csv_error(&reader->csv, field, TACIT_ERR_DATA, err,
                           "column '%s': outside its bounds (the schema says out_of_range: error)", column->name);
  }
  reader->notes.n_clamped++;
  *value = *value < column->lower ? column->lower : column->upper;
  return TACIT_OK;
}

static tacit_status_t read_value(tacit_reader_t *reader, const tacit_table_column_t *column, double *value,
                                 tacit_error_t *err) {
  const tacit_column_schema_t *schema = column->schema;
  const tacit_csv_field_t *field = &reader->csv.fields[column->field];
  if (tacit_is_missing(field->text, field->n)) {
    return missing(reader, schema, field, value, err);
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
  return read_number(reader, schema, field, value, err);
}

static tacit_status_t grow(tacit_table_t *table, tacit_error_t *err) {
  if (table->n_rows < table->capacity) {
    return TACIT_OK;
  }
  size_t capacity = table->capacity > 0 ? table->capacity + table->capacity / 2 : 1024;
  for (size_t i = 0; i < table->n_columns; i++) {
    double *values = tacit_realloc(table->columns[i].values, capacity, sizeof *values);
    if (values == NULL) {
      return tacit_error_memory(err);
    }
    table->columns[i].values = values;
  }
  table->capacity = capacity;
  return TACIT_OK;
}

/* Whether the row is among the first max_rows of its person. */
static tacit_status_t admit(tacit_reader_t *reader, bool *is_kept, tacit_error_t *err) {
  *is_kept = true;
  if (reader->unit_field == SIZE_MAX) {
    return TACIT_OK;
  }
  const tacit_csv_field_t *id = &reader->csv.fields[reader->unit_field];
  if (tacit_is_missing(id->text, id->n)) {
    return tacit_csv_error(&reader->csv, id, TACIT_ERR_DATA, err, "column '%s': a row without its unit of privacy",
                           tacit_schema_unit(reader->schema));
  }
  return tacit_units_add(&reader->units, id->text, id->n, tacit_schema_max_rows(reader->schema), is_kept, err);
}

static tacit_status_t read_row(tacit_reader_t *reader, tacit_error_t *err) {
  const tacit_csv_t *csv = &reader->csv;
  tacit_table_t *table = reader->table;
  tacit_table_notes_t before = reader->notes;
  bool is_kept;
  if (csv->n_fields != reader->header.n_entries) {
    return tacit_csv_error(csv, &csv->fields[0], TACIT_ERR_SYNTAX, err,
                           "a row of %zu fields; the header has %zu", csv->n_fields, reader->header.n_entries);
  }
  tacit_status_t status = admit(reader, &is_kept, err);
  if (status == TACIT_OK) {
    status = grow(table, err);
  }
  for (size_t i = 0; i < table->n_columns && status == TACIT_OK; i++) {
    const tacit_table_column_t *column = &table->columns[i];
    status = read_value(reader, column, &column->values[table->n_rows], err);
  }
  if (is_kept) {
    table->n_rows += status == TACIT_OK;
  } else { /* its values obey the schema too, but only its absence is worth a note */
    reader->notes = before;
    reader->notes.n_rows_dropped++;
  }
  return status;
}

/* A line with nothing on it: tolerated at the end of the file only. */
static bool is_blank(const tacit_csv_t *csv) {
  return csv->n_fields == 1 && csv->fields[0].n == 0;
}

static tacit_status_t read_rows(tacit_reader_t *reader, tacit_error_t *err) {
  tacit_csv_field_t blank = {0};
  for (;;) {
    tacit_status_t status = tacit_csv_read(&reader->csv, err);
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
    status = read_row(reader, err);
    if (status != TACIT_OK) {
      return status;
    }
  }
}

/* Bring the rows of each unit together. */
static tacit_status_t group(tacit_reader_t *reader, tacit_error_t *err) {
  tacit_table_t *table = reader->table;
  if (reader->unit_field == SIZE_MAX) {
    return TACIT_OK;
  }
  size_t *order;
  tacit_status_t status = tacit_units_group(&reader->units, &order, &table->unit_offsets, &table->n_units, err);
  double *sorted = status == TACIT_OK ? tacit_alloc(table->n_rows, sizeof *sorted) : NULL;
  if (status == TACIT_OK && sorted == NULL) {
    status = tacit_error_memory(err);
  }
  for (size_t i = 0; status == TACIT_OK && i < table->n_columns; i++) {
    double *values = table->columns[i].values;
    for (size_t r = 0; r < table->n_rows; r++) {
      sorted[r] = values[order[r]];
    }
    memcpy(values, sorted, table->n_rows * sizeof *values);
  }
  tacit_free(sorted);
  tacit_free(order);
  return status;
}

tacit_status_t tacit_table_read(tacit_table_t **out, const char *path, const tacit_schema_t *schema,
                                const char *const *columns, size_t n_columns, tacit_table_notes_t *notes,
                                tacit_error_t *err) {
  *out = NULL;
  tacit_reader_t reader = {.schema = schema, .table = tacit_alloc_zero(1, sizeof *reader.table)};
  if (reader.table == NULL) {
    return tacit_error_memory(err);
  }
  tacit_status_t status = tacit_csv_open(&reader.csv, path, err);
  if (status == TACIT_OK) {
    status = tacit_csv_read_header(&reader.csv, &reader.header, err);
  }
  if (status == TACIT_OK) {
    status = choose_columns(&reader, columns, n_columns, err);
  }
  if (status == TACIT_OK) {
    status = read_rows(&reader, err);
  }
  if (status == TACIT_OK && reader.table->n_rows == 0) {
    status = tacit_error_set(err, TACIT_ERR_DATA, path, "%s has a header but no records", path);
  }
  if (status == TACIT_OK) {
    status = group(&reader, err);
  }
  tacit_csv_close(&reader.csv);
  tacit_dictionary_clear(&reader.header);
  tacit_units_clear(&reader.units);
  if (status != TACIT_OK) {
    tacit_table_free(reader.table);
    return status;
  }
  if (notes != NULL) {
    *notes = reader.notes;
  }
  *out = reader.table;
  return TACIT_OK;
}
