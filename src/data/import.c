/*
 * From CSV or a stream to a directory of columns, in one pass and little memory: values are collected by
 * column and added to its file as they fill a buffer. Where units are persons, rows are first written in the
 * order of the file, then brought together.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/directory.h"
#include "base/error.h"
#include "base/memory.h"
#include "data/columns.h"

enum { BUFFER = 1 << 13 }; /* values: 64 KiB a column */

typedef struct import {
  tacit_directory_t dir;
  tacit_reader_t reader;
  double *buffers; /* shape (n_columns, BUFFER) */
  uint64_t *units; /* shape (BUFFER); NULL: the unit is a row */
} import_t;

static const char order_name[] =
    "order.tmp"; /* the person of each row, in the order of the file; then its place */

static const char *unsorted_name(size_t column, char out[TACIT_COLUMN_FILE_SIZE]) {
  snprintf(out, TACIT_COLUMN_FILE_SIZE, "rows-%zu.tmp", column + 1);
  return out;
}

/* Add what the buffers hold to the files. */
static tacit_status_t flush(void *user, tacit_error_t *err) {
  import_t *import = user;
  tacit_status_t status = TACIT_OK;
  size_t n = import->reader.at;
  char name[TACIT_COLUMN_FILE_SIZE];
  for (size_t i = 0; i < import->reader.n_columns && status == TACIT_OK; i++) {
    (void)(import->units != NULL ? unsorted_name(i, name) : tacit_column_file(i, name));
    status =
        tacit_directory_append(&import->dir, name, import->buffers + i * BUFFER, n * sizeof(double), err);
  }
  if (status == TACIT_OK && import->units != NULL) {
    status = tacit_directory_append(&import->dir, order_name, import->units, n * sizeof(uint64_t), err);
  }
  import->reader.at = 0;
  return status;
}

/* ---- persons ---- */

/* Open a file made before, of n words; or make it. */
static tacit_status_t map(import_t *import, const char *name, bool is_new, size_t n, tacit_mapping_t *mapping,
                          tacit_error_t *err) {
  tacit_status_t status = tacit_directory_name(&import->dir, name, err);
  if (status != TACIT_OK) {
    return status;
  }
  const char *path = import->dir.file.data;
  return is_new ? tacit_mapping_create(mapping, path, n * sizeof(double), err)
                : tacit_mapping_open(mapping, path, n * sizeof(double), err);
}

/* Move the values of one column to where their persons' rows are. Rows near each other stay near each other
 * in most files. */
static tacit_status_t scatter(const import_t *import, const size_t *offsets, size_t *next,
                              const tacit_mapping_t mappings[3], tacit_error_t *err) {
  const uint64_t *units = (const uint64_t *)mappings[0].data;
  const double *from = (const double *)mappings[1].data;
  double *to = (double *)mappings[2].data;
  tacit_status_t status = TACIT_OK;
  memcpy(next, offsets, import->reader.units.ids.n_entries * sizeof *next);
  for (size_t first = 0; first < import->reader.n_rows && status == TACIT_OK; first += BUFFER) {
    size_t last = import->reader.n_rows - first < BUFFER ? import->reader.n_rows : first + BUFFER;
    for (size_t r = first; r < last; r++) {
      to[next[units[r]]++] = from[r];
    }
    tacit_mapping_drop(&mappings[0], first * sizeof(double), last * sizeof(double));
    tacit_mapping_drop(&mappings[1], first * sizeof(double), last * sizeof(double));
    tacit_mapping_drop(&mappings[2], 0, mappings[2].size);
    status = tacit_watch_check(import->reader.source.watch, err);
  }
  return status;
}

/* The file named last, which holds records. */
static tacit_status_t remove_file(const import_t *import, tacit_error_t *err) {
  const char *path = import->dir.file.data;
  return unlink(path) == 0
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_IO, path, "cannot remove %s: %s", path, strerror(errno));
}

static tacit_status_t group_column(import_t *import, size_t column, const size_t *offsets, size_t *next,
                                   tacit_error_t *err) {
  tacit_mapping_t mappings[3] = {0}; /* units, values as they came, values as they stay */
  char old[TACIT_COLUMN_FILE_SIZE], new[TACIT_COLUMN_FILE_SIZE];
  size_t n = import->reader.n_rows;
  tacit_status_t status = map(import, order_name, false, n, &mappings[0], err);
  TACIT_THEN(status, map(import, unsorted_name(column, old), false, n, &mappings[1], err));
  if (status == TACIT_OK) {
    status = remove_file(import, err); /* its room, once it is no longer mapped */
  }
  TACIT_THEN(status, map(import, tacit_column_file(column, new), true, n, &mappings[2], err));
  TACIT_THEN(status, scatter(import, offsets, next, mappings, err));
  for (size_t i = 0; i < 3; i++) {
    tacit_mapping_close(&mappings[i]);
  }
  return status;
}

static tacit_status_t group(import_t *import, tacit_error_t *err) {
  size_t n = import->reader.units.ids.n_entries, *offsets = NULL, *next = tacit_alloc(n, sizeof *next);
  tacit_status_t status =
      next != NULL ? tacit_units_offsets(&import->reader.units, &offsets, err) : tacit_error_memory(err);
  for (size_t i = 0; i < import->reader.n_columns && status == TACIT_OK; i++) {
    status = group_column(import, i, offsets, next, err);
  }
  TACIT_THEN(status, tacit_directory_append(&import->dir, TACIT_OFFSETS_NAME, offsets,
                                            (n + 1) * sizeof *offsets, err));
  TACIT_THEN(status, tacit_directory_sync(&import->dir, TACIT_OFFSETS_NAME, err));
  TACIT_THEN(status, tacit_directory_name(&import->dir, order_name, err));
  TACIT_THEN(status, remove_file(import, err));
  tacit_free(offsets);
  tacit_free(next);
  return status;
}

/* ---- the whole ---- */

static tacit_status_t write_manifest(import_t *import, const tacit_schema_t *schema, tacit_error_t *err) {
  const tacit_reader_t *reader = &import->reader;
  size_t n = reader->n_columns, *counts = tacit_alloc(2 * n, sizeof *counts);
  if (counts == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < n; i++) {
    counts[i] = reader->columns[i].rule.n_clamped;
    counts[n + i] = reader->columns[i].rule.n_missing;
  }
  tacit_manifest_t manifest = {.n_rows = reader->n_rows,
                               .n_units = reader->units.ids.n_entries,
                               .n_rows_dropped = reader->n_rows_dropped,
                               .n_clamped = counts,
                               .n_missing = counts + n,
                               .n_columns = n};
  memcpy(manifest.query_hash, reader->query_hash, sizeof manifest.query_hash);
  tacit_text_t text = {0};
  tacit_manifest_append(&text, &manifest, schema);
  tacit_status_t status = tacit_directory_open(&import->dir, TACIT_MANIFEST_NAME, err);
  TACIT_THEN(status, tacit_directory_put(&import->dir, &text, err));
  TACIT_THEN(status, tacit_directory_close(&import->dir, err));
  tacit_text_clear(&text);
  tacit_free(counts);
  return status;
}

static tacit_status_t read_rows(import_t *import, const tacit_data_source_t *source,
                                const tacit_schema_t *schema, tacit_error_t *err) {
  tacit_status_t status = tacit_reader_open(&import->reader, source, schema, NULL, 0, err);
  if (status != TACIT_OK) {
    return status;
  }
  bool has_units = tacit_schema_unit(schema) != NULL;
  import->buffers = tacit_alloc(import->reader.n_columns, BUFFER * sizeof *import->buffers);
  import->units = has_units ? tacit_alloc(BUFFER, sizeof *import->units) : NULL;
  if (import->buffers == NULL || (has_units && import->units == NULL)) {
    return tacit_error_memory(err);
  }
  for (size_t i = 0; i < import->reader.n_columns; i++) {
    import->reader.values[i] = import->buffers + i * BUFFER;
  }
  import->reader.row_units = import->units;
  import->reader.room = BUFFER;
  status = tacit_reader_rows(&import->reader, flush, import, err);
  return status == TACIT_OK ? flush(import, err) : status;
}

static tacit_status_t write_columns(import_t *import, const tacit_data_source_t *source,
                                    const tacit_schema_t *schema, tacit_error_t *err) {
  char name[TACIT_COLUMN_FILE_SIZE];
  tacit_status_t status = read_rows(import, source, schema, err);
  if (status == TACIT_OK && import->units != NULL) {
    status = group(import, err);
  }
  for (size_t i = 0; i < import->reader.n_columns && status == TACIT_OK; i++) {
    status = tacit_watch_check(import->reader.source.watch, err);
    TACIT_THEN(status, tacit_directory_sync(&import->dir, tacit_column_file(i, name), err));
  }
  TACIT_THEN(status, write_manifest(import, schema, err));
  return status == TACIT_OK ? tacit_directory_commit(&import->dir, err) : status;
}

/* Nothing of the records may be left without a word. */
static tacit_status_t clear(import_t *import, const char *directory, tacit_status_t status,
                            tacit_error_t *err) {
  tacit_text_t path = {0};
  tacit_text_append(&path, import->dir.temporary.data != NULL ? import->dir.temporary.data : directory,
                    import->dir.temporary.length);
  if (!tacit_directory_clear(&import->dir)) {
    status = tacit_error_set(err, status, "out", "cannot remove %s, which holds records: remove it",
                             path.failed ? directory : path.data);
  }
  tacit_text_clear(&path);
  tacit_reader_clear(&import->reader);
  tacit_free(import->buffers);
  tacit_free(import->units);
  return status;
}

static tacit_status_t import_rows(const tacit_data_source_t *source, const tacit_schema_t *schema,
                                  const char *directory, tacit_table_notes_t *notes, tacit_error_t *err) {
  import_t import = {.dir = tacit_directory_none};
  tacit_status_t status = tacit_columns_check_machine(err);
  TACIT_THEN(status, tacit_directory_begin(&import.dir, directory, true, err));
  TACIT_THEN(status, write_columns(&import, source, schema, err));
  if (status == TACIT_OK && notes != NULL) {
    *notes = tacit_reader_notes(&import.reader);
  }
  return clear(&import, directory, status, err);
}

tacit_status_t tacit_table_import_source(const tacit_data_source_t *source, const tacit_schema_t *schema,
                                         const char *directory, tacit_table_notes_t *notes,
                                         tacit_error_t *err) {
  tacit_status_t status = import_rows(source, schema, directory, notes, err);
  tacit_arrow_release(source->stream);
  return status;
}

tacit_status_t tacit_table_import(const char *path, const tacit_schema_t *schema, const char *directory,
                                  tacit_table_notes_t *notes, tacit_error_t *err) {
  return tacit_table_import_source(&(tacit_data_source_t){.path = path}, schema, directory, notes, err);
}
