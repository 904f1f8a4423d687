/**
 * @file arrow.h
 * Records from an Arrow stream: what pandas, polars, DuckDB, pyarrow, nanoarrow and ADBC hand out without
 * writing a file.
 *
 * A stream obeys the same rules as a CSV file of the same values, and gives the same records to the last bit:
 *
 * | in the stream | is |
 * | --- | --- |
 * | null, NaN, "" and "NA" | missing, as an empty CSV field |
 * | integers, floats, decimals | values of numeric, integer and binary columns; decimals by way of their
 * digits, correctly rounded | | booleans | 0 and 1 of a binary column | | strings (utf8, large, view), plain
 * or as a dictionary | categorical, binary, identifiers; levels are the schema's, and the order and the
 * unused entries of a dictionary mean nothing | | whole numbers where the schema has levels or identifiers |
 * their decimal digits, so that 1 in CSV and in Arrow are the same level, the same person | | dates and
 * timestamps where the schema says `since:` | days since then; elsewhere refused | | times of a day, nested
 * values, bytes; text where a number is wanted | refused |
 *
 * Chunks may be of any size; offsets are honoured; rows null as a whole and two columns of one name are
 * refused. A message names row (from 1, in the order of the stream) and column, never a value.
 */
#ifndef TACIT_ARROW_H
#define TACIT_ARROW_H

#include "tacit/data.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The Arrow C data and stream interfaces, as their specification gives them:
 * https://arrow.apache.org/docs/format/CDataInterface.html */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
  const char *format;
  const char *name;
  const char *metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema **children;
  struct ArrowSchema *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void **buffers;
  struct ArrowArray **children;
  struct ArrowArray *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
  int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
  const char *(*get_last_error)(struct ArrowArrayStream *);
  void (*release)(struct ArrowArrayStream *);
  void *private_data;
};

#endif

/**
 * Read records from a stream, as tacit_table_read() does from a file.
 *
 * @param[in] stream  an unreleased stream of records (format "+s"). Taken: released exactly once, whatever is
 * returned.
 * @param[in] watch   may be NULL.
 * @return as tacit_table_read(): TACIT_ERR_DATA (a record breaks a rule, or a column is of a type that is not
 * read), TACIT_ERR_UNKNOWN (no such column), TACIT_ERR_SYNTAX (not what the Arrow specification allows, or
 * two columns of one name), TACIT_ERR_IO (the stream failed), TACIT_ERR_ARGUMENT (released already),
 * TACIT_ERR_INTERRUPTED, TACIT_ERR_MEMORY.
 */
TACIT_API TACIT_MUST_USE tacit_status_t
tacit_table_read_stream(tacit_table_t **table, struct ArrowArrayStream *stream, const tacit_schema_t *schema,
                        const char *const *columns, size_t n_columns, const tacit_stream_watch_t *watch,
                        tacit_table_notes_t *notes, tacit_error_t *err);
#ifdef __cplusplus
}
#endif
#endif
