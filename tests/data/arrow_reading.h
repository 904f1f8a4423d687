/* What tests of Arrow streams share: streams of one column, and what is read of them. */
#ifndef TACIT_TESTS_ARROW_READING_H
#define TACIT_TESTS_ARROW_READING_H

#include "arrow_testing.h"
#include "data_testing.h"

/* A column of n plain values. */
static inline column_t plain(const void *values, int64_t n) {
  return (column_t){.buffers = {NULL, values}, .n_buffers = 2, .length = n};
}

static inline column_t with_nulls(column_t column, const unsigned char *bits) {
  column.buffers[0] = bits;
  column.null_count = -1;
  return column;
}

static inline column_t text(const int32_t *offsets, const char *bytes, int64_t n) {
  return (column_t){.buffers = {NULL, offsets, bytes}, .n_buffers = 3, .length = n};
}

/* A stream of one chunk of one column. */
static inline stream_t one(const char *name, const char *format, const column_t *column) {
  return (stream_t){.names = {name},
                    .formats = {format},
                    .n_columns = 1,
                    .chunks = {{.length = column->length, .columns = column, .n_columns = 1}},
                    .n_chunks = 1};
}

static inline tacit_status_t read_watched(stream_t *stream, const char *schema_text,
                                          const tacit_stream_watch_t *watch, tacit_table_t **table,
                                          tacit_table_notes_t *notes, tacit_error_t *err) {
  tacit_schema_t *schema = schema_of(schema_text);
  struct ArrowArrayStream arrow = stream_of(stream);
  tacit_status_t status = tacit_table_read_stream(table, &arrow, schema, NULL, 0, watch, notes, err);
  tacit_schema_free(schema);
  assert_null(arrow.release);
  assert_true(is_settled(stream));
  assert_true((*table != NULL) == (status == TACIT_OK));
  return status;
}

static inline tacit_table_t *read_stream(stream_t *stream, const char *schema) {
  tacit_table_t *table;
  tacit_error_t err;
  assert_ok(read_watched(stream, schema, NULL, &table, NULL, &err), err);
  return table;
}

#define NUMERIC "columns: {x: {type: numeric, lower: -1e300, upper: 1e300, missing: 7}}"
#define INTEGER "columns: {x: {type: integer, lower: -1e300, upper: 1e300, missing: 7}}"
#define BINARY "columns: {x: {type: binary, missing: 0}}"
#define LEVELS                                                                                               \
  "columns: {x: {type: categorical, levels: ['-1', '0', '12', long enough for a view], missing: '0'}}"

#endif
