/*
 * The table: columns in memory, or mapped from what tacit import wrote (columns.c).
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/collect.h"
#include "data/records.h"
#include "data/table.h"

void tacit_table_free(tacit_table_t *table) {
  if (table == NULL) {
    return;
  }
  for (size_t i = 0; table->columns != NULL && i < table->n_columns; i++) {
    tacit_free(table->columns[i].name);
    tacit_free_private(table->columns[i].owned, table->columns[i].room, sizeof(double));
    tacit_mapping_close(&table->columns[i].mapping);
  }
  tacit_free(table->columns);
  tacit_free(table->owned_offsets);
  tacit_mapping_close(&table->offsets_mapping);
  tacit_dictionary_clear(&table->ids);
  tacit_free(table);
}

const char *tacit_table_query_hash(const tacit_table_t *table) { return table->query_hash; }

void tacit_table_drop_columns(tacit_table_t *table) {
  for (size_t i = 0; i < table->n_columns; i++) {
    tacit_table_column_t *column = &table->columns[i];
    tacit_free_private(column->owned, column->room, sizeof(double));
    tacit_mapping_close(&column->mapping);
    column->values = column->owned = NULL;
    column->room = 0;
  }
  tacit_dictionary_clear(&table->ids);
  table->is_dropped = true;
}

const char *tacit_table_unit_id(const tacit_table_t *table, size_t unit, size_t *n) {
  const tacit_dictionary_entry_t *entry = unit < table->ids.n_entries ? &table->ids.entries[unit] : NULL;
  *n = entry != NULL ? entry->length : 0;
  return entry != NULL ? table->ids.texts.data + entry->start : NULL;
}

size_t tacit_table_n_rows(const tacit_table_t *table) { return table->n_rows; }

static const tacit_table_column_t *find(const tacit_table_t *table, const char *name) {
  for (size_t i = 0; i < table->n_columns; i++) {
    if (strcmp(table->columns[i].name, name) == 0) {
      return &table->columns[i];
    }
  }
  return NULL;
}

const double *tacit_table_column(const tacit_table_t *table, const char *name) {
  static const double nothing = 0; /* of a column without rows */
  const tacit_table_column_t *column = find(table, name);
  return column == NULL ? NULL : table->n_rows > 0 || table->is_dropped ? column->values : &nothing;
}

size_t tacit_table_gaps(const tacit_table_t *table, const char *const *names, size_t n_names,
                        const double **gaps) {
  size_t n = 0;
  for (size_t j = 0; j < n_names; j++) {
    const tacit_table_column_t *column = find(table, names[j]);
    if (column != NULL && column->has_gaps) {
      gaps[n++] = column->values;
    }
  }
  return n;
}

tacit_column_notes_t tacit_table_column_notes(const tacit_table_t *table, const char *name) {
  const tacit_table_column_t *column = find(table, name);
  return column != NULL ? column->notes : (tacit_column_notes_t){0};
}

const size_t *tacit_table_unit_offsets(const tacit_table_t *table, size_t *n_units) {
  *n_units = table->unit_offsets != NULL ? table->n_units : table->n_rows;
  return table->unit_offsets;
}

void tacit_table_need(const tacit_table_t *table, size_t from, size_t to) {
  for (size_t i = 0; i < table->n_columns; i++) {
    tacit_mapping_need(&table->columns[i].mapping, from * sizeof(double), to * sizeof(double));
  }
}

void tacit_table_drop(const tacit_table_t *table, size_t from, size_t to) {
  for (size_t i = 0; i < table->n_columns; i++) {
    tacit_mapping_drop(&table->columns[i].mapping, from * sizeof(double), to * sizeof(double));
  }
}

tacit_status_t tacit_table_new(tacit_table_t **out, const char *const *names, size_t n_columns,
                               tacit_error_t *err) {
  tacit_table_t *table = *out = tacit_alloc_zero(1, sizeof *table);
  if (table == NULL) {
    return tacit_error_memory(err);
  }
  table->columns = tacit_alloc_zero(n_columns, sizeof *table->columns);
  bool ok = table->columns != NULL;
  for (; ok && table->n_columns < n_columns; table->n_columns++) {
    table->columns[table->n_columns].name = tacit_strdup(names[table->n_columns]);
    ok = table->columns[table->n_columns].name != NULL;
  }
  return ok ? TACIT_OK : tacit_error_memory(err);
}

/* ---- from a file or a stream ---- */

/* A table that grows. */
typedef struct growing {
  tacit_table_t *table;
  tacit_reader_t reader;
  uint64_t *unit_of_row; /* NULL: the unit is a row */
} growing_t;

tacit_status_t tacit_table_make_room(tacit_table_t *table, tacit_reader_t *reader, size_t room,
                                     tacit_error_t *err) {
  for (size_t i = 0; i < reader->n_columns; i++) {
    tacit_table_column_t *column = &table->columns[i];
    double *values = tacit_grow_private(column->owned, column->room, room, sizeof *values);
    if (values == NULL) {
      return tacit_error_memory(err);
    }
    column->values = column->owned = reader->values[i] = values;
    column->room = room;
  }
  reader->room = room;
  return TACIT_OK;
}

static tacit_status_t grow(void *user, tacit_error_t *err) {
  growing_t *growing = user;
  tacit_reader_t *reader = &growing->reader;
  size_t room = reader->room > 0 ? reader->room + reader->room / 2 : 1024;
  if (reader->unit_field != SIZE_MAX) {
    uint64_t *units = tacit_realloc(growing->unit_of_row, room, sizeof *units);
    if (units == NULL) {
      return tacit_error_memory(err);
    }
    growing->unit_of_row = reader->row_units = units;
  }
  return tacit_table_make_room(growing->table, reader, room, err);
}

/* Bring the rows of each unit together. */
static tacit_status_t group(growing_t *growing, tacit_error_t *err) {
  tacit_units_t *units = &growing->reader.units;
  tacit_table_t *table = growing->table;
  table->n_units = units->ids.n_entries;
  tacit_status_t status = tacit_units_offsets(units, &table->owned_offsets, err);
  table->unit_offsets = table->owned_offsets;
  size_t *next = tacit_alloc(table->n_units, sizeof *next);
  double *sorted = tacit_alloc(table->n_rows, sizeof *sorted);
  if (status == TACIT_OK && (next == NULL || sorted == NULL)) {
    status = tacit_error_memory(err);
  }
  for (size_t i = 0; status == TACIT_OK && table->n_rows > 0 && i < table->n_columns; i++) {
    double *values = table->columns[i].owned;
    memcpy(next, table->unit_offsets, table->n_units * sizeof *next);
    for (size_t r = 0; r < table->n_rows; r++) {
      sorted[next[growing->unit_of_row[r]]++] = values[r];
    }
    memcpy(values, sorted, table->n_rows * sizeof *values);
  }
  table->ids = units->ids;
  units->ids = (tacit_dictionary_t){0};
  tacit_free(sorted);
  tacit_free(next);
  return status;
}

tacit_status_t tacit_table_of_reader(tacit_table_t **table, const tacit_reader_t *reader,
                                     tacit_error_t *err) {
  const char **names = tacit_alloc(reader->n_columns, sizeof *names);
  if (names == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < reader->n_columns; i++) {
    names[i] = reader->columns[i].rule.schema->name;
  }
  tacit_status_t status = tacit_table_new(table, names, reader->n_columns, err);
  for (size_t i = 0; status == TACIT_OK && i < reader->n_columns; i++) {
    (*table)->columns[i].has_gaps = reader->columns[i].rule.schema->missing == TACIT_MISSING_DROP;
  }
  tacit_free(names);
  return status;
}

void tacit_table_note(tacit_table_t *table, const tacit_reader_t *reader) {
  for (size_t i = 0; i < table->n_columns; i++) {
    const tacit_rule_t *rule = &reader->columns[i].rule;
    table->columns[i].notes = (tacit_column_notes_t){rule->n_clamped, rule->n_far, rule->n_missing};
  }
  tacit_reader_find_identifier(reader, table->identifier);
  memcpy(table->query_hash, reader->query_hash, sizeof table->query_hash);
}

static tacit_status_t read_source(tacit_table_t **table, const tacit_data_source_t *source,
                                  const tacit_schema_t *schema, const char *const *columns, size_t n_columns,
                                  tacit_table_notes_t *notes, tacit_error_t *err) {
  growing_t growing = {0};
  tacit_status_t status = tacit_reader_open(&growing.reader, source, schema, columns, n_columns, err);
  TACIT_THEN(status, tacit_table_of_reader(&growing.table, &growing.reader, err));
  TACIT_THEN(status, tacit_reader_rows(&growing.reader, grow, &growing, err));
  *table = growing.table;
  if (status == TACIT_OK) {
    (*table)->n_rows = growing.reader.n_rows;
  }
  if (status == TACIT_OK && growing.reader.unit_field != SIZE_MAX) {
    status = group(&growing, err);
  }
  if (status == TACIT_OK) {
    tacit_table_note(*table, &growing.reader);
  }
  *notes = tacit_reader_notes(&growing.reader);
  tacit_free(growing.unit_of_row);
  tacit_reader_clear(&growing.reader);
  return status;
}

/* What was seen is told, and what was read is kept, only if all went well. */
static tacit_status_t settle(tacit_status_t status, tacit_table_t **table, const tacit_table_notes_t *seen,
                             tacit_table_notes_t *notes) {
  if (status != TACIT_OK) {
    tacit_table_free(*table);
    *table = NULL;
  } else if (notes != NULL) {
    *notes = *seen;
  }
  return status;
}

tacit_status_t tacit_table_read_source(tacit_table_t **table, const tacit_data_source_t *source,
                                       const tacit_schema_t *schema, const char *const *columns,
                                       size_t n_columns, tacit_table_notes_t *notes, tacit_error_t *err) {
  tacit_table_notes_t seen = {0};
  *table = NULL;
  tacit_status_t status = tacit_data_source_check(source, err);
  TACIT_THEN(status, source->path != NULL && tacit_is_directory(source->path)
                         ? tacit_columns_open(table, source->path, schema, columns, n_columns, &seen, err)
                         : read_source(table, source, schema, columns, n_columns, &seen, err));
  tacit_arrow_release(source->stream);
  return settle(status, table, &seen, notes);
}

tacit_status_t tacit_table_read(tacit_table_t **table, const char *path, const tacit_schema_t *schema,
                                const char *const *columns, size_t n_columns, tacit_table_notes_t *notes,
                                tacit_error_t *err) {
  return tacit_table_read_source(table, &(tacit_data_source_t){.path = path}, schema, columns, n_columns,
                                 notes, err);
}

tacit_status_t tacit_table_read_stream(tacit_table_t **table, struct ArrowArrayStream *stream,
                                       const tacit_schema_t *schema, const char *const *columns,
                                       size_t n_columns, const tacit_stream_watch_t *watch,
                                       tacit_table_notes_t *notes, tacit_error_t *err) {
  return tacit_table_read_source(table, &(tacit_data_source_t){.stream = stream, .watch = watch}, schema,
                                 columns, n_columns, notes, err);
}
