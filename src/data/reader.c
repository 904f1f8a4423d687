/*
 * Reading records by the rules of the schema, from any source; where rows go is the caller's.
 */
#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/rules.h"

/* Place of a column in the header. */
static tacit_status_t find_field(const tacit_reader_t *reader, const char *name, size_t *place,
                                 tacit_error_t *err) {
  *place = tacit_dictionary_find(&reader->header, name, strlen(name));
  if (*place != SIZE_MAX) {
    return TACIT_OK;
  }
  bool is_one = reader->kind == &tacit_reader_csv && reader->header.n_entries == 1;
  return reader->source.path != NULL
             ? tacit_error_set(err, TACIT_ERR_UNKNOWN, name, "%s has no column '%s' in its header%s",
                               tacit_data_source_name(&reader->source), name,
                               is_one ? ", which is one column: --delimiter says what stands between fields"
                                      : "")
             : tacit_error_set(err, TACIT_ERR_UNKNOWN, name, "the data have no column '%s'", name);
}

tacit_status_t tacit_reader_no_column(const tacit_column_schema_t *schema, const char *name,
                                      tacit_error_t *err) {
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
  column->rule.is_of_new_rows = tacit_schema_is_of_new_rows(reader->schema);
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

tacit_status_t tacit_reader_admit(tacit_reader_t *reader, const char *id, size_t n, size_t *unit,
                                  bool *is_kept, tacit_error_t *err) {
  return tacit_units_add(&reader->units, id, n, tacit_schema_max_rows(reader->schema), unit, is_kept, err);
}

tacit_status_t tacit_watch_check(const tacit_stream_watch_t *watch, tacit_error_t *err) {
  return watch == NULL || watch->go_on == NULL || watch->go_on(watch->user)
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_INTERRUPTED, "data",
                               "interrupted while reading the data: nothing was spent or written");
}

tacit_status_t tacit_check_any_rows(const tacit_schema_t *schema, size_t n_rows, const char *path,
                                    tacit_error_t *err) {
  bool is_fine = n_rows > 0 || tacit_schema_relation(schema) == TACIT_RELATION_ADD_REMOVE;
  return is_fine
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_DATA, path,
                               tacit_schema_is_of_new_rows(schema)
                                   ? "%s has no rows below its header"
                                   : "%s has no records: under relation substitute at least one is expected",
                               path);
}

/* ---- any source ---- */

bool tacit_data_source_is_query(const tacit_data_source_t *source) {
  return source->path != NULL && strncmp(source->path, tacit_odbc_prefix, strlen(tacit_odbc_prefix)) == 0;
}

bool tacit_data_source_is_stream(const tacit_data_source_t *source) {
  struct stat info;
  return source->path == NULL || strcmp(source->path, "-") == 0 || tacit_data_source_is_query(source) ||
         (stat(source->path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode));
}

const char *tacit_data_source_name(const tacit_data_source_t *source) {
  return source->path == NULL                 ? "the stream"
         : tacit_data_source_is_query(source) ? "the query"
         : strcmp(source->path, "-") == 0     ? "standard input"
                                              : source->path;
}

bool tacit_has_ending(const char *path, const char *ending) {
  size_t n = strlen(path), length = strlen(ending);
  bool is_same = n > length;
  for (size_t i = 0; i < length && is_same; i++) {
    is_same = tolower((unsigned char)path[n - length + i]) == ending[i];
  }
  return is_same;
}

const tacit_reader_kind_t *tacit_reader_kind_of(const tacit_data_source_t *source) {
  return source->path == NULL                 ? &tacit_reader_arrow
         : tacit_data_source_is_query(source) ? &tacit_reader_database
         : tacit_is_stat_file(source->path)   ? &tacit_reader_stat
                                              : &tacit_reader_csv;
}

tacit_status_t tacit_reader_rows(tacit_reader_t *reader, tacit_room_maker make_room, void *user,
                                 tacit_error_t *err) {
  tacit_status_t status = reader->kind->rows(reader, make_room, user, err);
  return status == TACIT_OK ? tacit_check_any_rows(reader->schema, reader->n_rows,
                                                   tacit_data_source_name(&reader->source), err)
                            : status;
}

bool tacit_is_sas_file(const char *path) {
  return tacit_has_ending(path, ".sas7bdat") || tacit_has_ending(path, ".xpt");
}

tacit_status_t tacit_data_source_check(const tacit_data_source_t *source, tacit_error_t *err) {
  struct stat info;
  const tacit_reader_kind_t *kind = tacit_reader_kind_of(source);
  bool is_directory = source->path != NULL && stat(source->path, &info) == 0 && S_ISDIR(info.st_mode);
  bool is_text = (kind == &tacit_reader_csv && !is_directory) ||
                 (kind == &tacit_reader_stat && !tacit_has_ending(source->path, ".por"));
  if (source->catalog != NULL && !(kind == &tacit_reader_stat && tacit_is_sas_file(source->path))) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "catalog",
                           "--catalog only goes with a SAS file, .sas7bdat or .xpt");
  }
  if (source->encoding != NULL && !is_text) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "encoding",
        "--encoding only goes with CSV, SAS, SPSS (.sav) and Stata files: nothing else leaves it open");
  }
  if (source->delimiter != NULL && (kind != &tacit_reader_csv || is_directory)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "delimiter",
                           "--delimiter only goes with CSV: nothing else has any");
  }
  return source->encoding != NULL ? tacit_encoding_check(source->encoding, err) : TACIT_OK;
}

tacit_status_t tacit_reader_begin(tacit_reader_t *reader, const tacit_data_source_t *source,
                                  tacit_error_t *err) {
  *reader = (tacit_reader_t){.source = *source, .kind = tacit_reader_kind_of(source)};
  tacit_status_t status = tacit_data_source_check(source, err);
  return status == TACIT_OK ? reader->kind->open(reader, err) : status;
}

tacit_status_t tacit_reader_open(tacit_reader_t *reader, const tacit_data_source_t *source,
                                 const tacit_schema_t *schema, const char *const *columns, size_t n_columns,
                                 tacit_error_t *err) {
  tacit_status_t status = tacit_reader_begin(reader, source, err);
  reader->schema = schema;
  TACIT_THEN(status, choose_columns(reader, columns, n_columns, err));
  return status == TACIT_OK && reader->kind->check != NULL ? reader->kind->check(reader, err) : status;
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
  if (reader->state != NULL && reader->kind->close != NULL) {
    reader->kind->close(reader);
  }
  tacit_dictionary_clear(&reader->header);
  tacit_units_clear(&reader->units);
}
