/*
 * A data frame as an Arrow stream of one chunk. Doubles and integers are borrowed; factors become
 * dictionaries whose first entry stands for R's counting from 1; missing integers, logicals and texts get a
 * bitmap. Memory is R's own (R_alloc): free when .Call returns.
 */
#include "tacit_r.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { MOST_BUFFERS = 3 };

typedef struct column {
  struct ArrowSchema schema, entries_schema;
  struct ArrowArray array, entries;
  const void *buffers[MOST_BUFFERS], *entries_buffers[MOST_BUFFERS];
} column_t;

typedef struct frame {
  column_t *columns;
  R_xlen_t n_columns, n_rows;
  struct ArrowSchema **schemas;
  struct ArrowArray **arrays;
  const void *no_bitmap;
  bool is_done;
} frame_t;

/* Everything is R's, or the stream's. */
static void release_schema(struct ArrowSchema *schema) { schema->release = NULL; }

static void release_array(struct ArrowArray *array) { array->release = NULL; }

static void release_stream(struct ArrowArrayStream *stream) { stream->release = NULL; }

static const char *get_last_error(struct ArrowArrayStream *stream) {
  (void)stream;
  return NULL;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
  frame_t *frame = stream->private_data;
  *out = (struct ArrowSchema){.format = "+s",
                              .name = "",
                              .n_children = frame->n_columns,
                              .children = frame->schemas,
                              .release = release_schema};
  return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
  frame_t *frame = stream->private_data;
  *out = (struct ArrowArray){0};
  if (!frame->is_done) {
    *out = (struct ArrowArray){.length = frame->n_rows,
                               .n_buffers = 1,
                               .buffers = &frame->no_bitmap,
                               .n_children = frame->n_columns,
                               .children = frame->arrays,
                               .release = release_array};
    frame->is_done = true;
  }
  return 0;
}

static void set_bit(unsigned char *bits, R_xlen_t i) {
  bits[i / 8] = (unsigned char)(bits[i / 8] | 1u << i % 8);
}

static unsigned char *new_bits(R_xlen_t n) {
  size_t size = (size_t)n / 8 + 1;
  return memset(R_alloc(size, 1), 0, size);
}

/* Where integers, logicals or factors are there. */
static const void *bitmap_of_integers(const int *values, R_xlen_t n) {
  unsigned char *bits = new_bits(n);
  for (R_xlen_t i = 0; i < n; i++) {
    if (values[i] != NA_INTEGER) {
      set_bit(bits, i);
    }
  }
  return bits;
}

static const void *bitmap_of_long_integers(const double *values, R_xlen_t n) {
  unsigned char *bits = new_bits(n);
  for (R_xlen_t i = 0; i < n; i++) {
    int64_t value;
    memcpy(&value, &values[i], sizeof value);
    if (value != INT64_MIN) {
      set_bit(bits, i);
    }
  }
  return bits;
}

/* Buffers of texts, after `n_before` empty ones. */
static void put_texts(SEXP texts, R_xlen_t n_before, const void *buffers[MOST_BUFFERS]) {
  R_xlen_t n = XLENGTH(texts);
  int64_t *offsets = (int64_t *)(void *)R_alloc((size_t)(n + n_before) + 1, sizeof *offsets), length = 0;
  unsigned char *bits = new_bits(n + n_before);
  for (R_xlen_t i = 0; i <= n_before; i++) {
    offsets[i] = 0;
  }
  for (R_xlen_t i = 0; i < n; i++) {
    SEXP text = STRING_ELT(texts, i);
    length += text == NA_STRING ? 0 : (int64_t)strlen(Rf_translateCharUTF8(text));
    offsets[n_before + i + 1] = length;
  }
  char *bytes = R_alloc((size_t)length + 1, 1);
  for (R_xlen_t i = 0; i < n; i++) {
    SEXP text = STRING_ELT(texts, i);
    int64_t from = offsets[n_before + i];
    if (text != NA_STRING) {
      memcpy(bytes + from, Rf_translateCharUTF8(text), (size_t)(offsets[n_before + i + 1] - from));
      set_bit(bits, n_before + i);
    }
  }
  buffers[0] = bits;
  buffers[1] = offsets;
  buffers[2] = bytes;
}

/* Days (of a Date) or seconds since 1970 as microseconds, and where they are there. */
static void put_times(SEXP values, double microseconds, const void *buffers[MOST_BUFFERS]) {
  R_xlen_t n = XLENGTH(values);
  int64_t *out = (int64_t *)(void *)R_alloc((size_t)n + 1, sizeof *out);
  unsigned char *bits = new_bits(n);
  for (R_xlen_t i = 0; i < n; i++) {
    double value = TYPEOF(values) == INTSXP
                       ? (INTEGER_RO(values)[i] == NA_INTEGER ? NA_REAL : INTEGER_RO(values)[i])
                       : REAL_RO(values)[i];
    double scaled = round(value * microseconds);
    bool is_there = fabs(scaled) < 9e18; /* what int64 holds; NaN is not there */
    out[i] = is_there ? (int64_t)scaled : 0;
    if (is_there) {
      set_bit(bits, i);
    }
  }
  buffers[0] = bits;
  buffers[1] = out;
}

static const void *bits_of(const int *values, R_xlen_t n) {
  unsigned char *bits = new_bits(n);
  for (R_xlen_t i = 0; i < n; i++) {
    if (values[i] == TRUE) {
      set_bit(bits, i);
    }
  }
  return bits;
}

static void put_factor(column_t *column, SEXP values) {
  SEXP levels = Rf_getAttrib(values, R_LevelsSymbol);
  put_texts(levels, 1, column->entries_buffers);
  column->entries_schema = (struct ArrowSchema){.format = "U", .release = release_schema};
  column->schema.dictionary = &column->entries_schema;
  column->entries = (struct ArrowArray){.length = XLENGTH(levels) + 1,
                                        .null_count = -1,
                                        .n_buffers = 3,
                                        .buffers = column->entries_buffers,
                                        .release = release_array};
  column->array.dictionary = &column->entries;
}

static const char *format_of(SEXP values) {
  bool is_number = TYPEOF(values) == REALSXP || TYPEOF(values) == INTSXP;
  if (is_number && (Rf_inherits(values, "Date") || Rf_inherits(values, "POSIXct"))) {
    return "tsu:";
  }
  switch (TYPEOF(values)) {
  case REALSXP:
    return Rf_inherits(values, "integer64") ? "l" : "g";
  case INTSXP:
    return "i";
  case LGLSXP:
    return "b";
  case STRSXP:
    return "U";
  case RAWSXP:
    return "z";
  default:
    return "+l"; /* lists and what else R has: refused by the library */
  }
}

static void put_column(column_t *column, SEXP values, const char *name) {
  R_xlen_t n = Rf_xlength(values);
  const char *format = format_of(values);
  column->schema = (struct ArrowSchema){
      .format = format, .name = name, .flags = ARROW_FLAG_NULLABLE, .release = release_schema};
  column->array = (struct ArrowArray){
      .length = n, .null_count = -1, .n_buffers = 2, .buffers = column->buffers, .release = release_array};
  switch (*format) {
  case 'g':
    column->buffers[1] = REAL_RO(values);
    break;
  case 'l':
    column->buffers[0] = bitmap_of_long_integers(REAL_RO(values), n);
    column->buffers[1] = REAL_RO(values);
    break;
  case 'i':
    column->buffers[0] = bitmap_of_integers(INTEGER_RO(values), n);
    column->buffers[1] = INTEGER_RO(values);
    if (Rf_isFactor(values)) {
      put_factor(column, values);
    }
    break;
  case 'b':
    column->buffers[0] = bitmap_of_integers(LOGICAL_RO(values), n);
    column->buffers[1] = bits_of(LOGICAL_RO(values), n);
    break;
  case 't':
    put_times(values, Rf_inherits(values, "Date") ? 86400e6 : 1e6, column->buffers);
    break;
  case 'U':
    put_texts(values, 0, column->buffers);
    column->array.n_buffers = 3;
    break;
  default:
    break;
  }
}

const char *r_stream_of(SEXP columns, struct ArrowArrayStream *stream) {
  SEXP names = Rf_getAttrib(columns, R_NamesSymbol);
  frame_t *frame = (frame_t *)(void *)R_alloc(1, sizeof *frame);
  size_t n = (size_t)XLENGTH(columns);
  *frame = (frame_t){.n_columns = XLENGTH(columns), .n_rows = n > 0 ? Rf_xlength(VECTOR_ELT(columns, 0)) : 0};
  frame->columns = memset(R_alloc(n + 1, sizeof *frame->columns), 0, (n + 1) * sizeof *frame->columns);
  frame->schemas = (struct ArrowSchema **)(void *)R_alloc(n + 1, sizeof *frame->schemas);
  frame->arrays = (struct ArrowArray **)(void *)R_alloc(n + 1, sizeof *frame->arrays);
  for (size_t i = 0; i < n; i++) {
    SEXP values = VECTOR_ELT(columns, (R_xlen_t)i);
    if (Rf_xlength(values) != frame->n_rows || Rf_getAttrib(values, R_DimSymbol) != R_NilValue) {
      return "the columns of the data must be vectors of one length";
    }
    put_column(&frame->columns[i], values, Rf_translateCharUTF8(STRING_ELT(names, (R_xlen_t)i)));
    frame->schemas[i] = &frame->columns[i].schema;
    frame->arrays[i] = &frame->columns[i].array;
  }
  *stream = (struct ArrowArrayStream){.get_schema = get_schema,
                                      .get_next = get_next,
                                      .get_last_error = get_last_error,
                                      .release = release_stream,
                                      .private_data = frame};
  return NULL;
}
