/*
 * Rows of an Arrow stream by the rules of the schema: column by column within runs of rows, so that types are
 * looked at once, yet what is refused first is what a reader of rows would refuse first.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/arrow_value.h"

enum { RUN = 4096 }; /* rows */

typedef struct arrow_column {
  tacit_arrow_type_t type;   /* of values; of the dictionary's, if there is one */
  tacit_arrow_type_t places; /* of the places in the dictionary */
  bool has_dictionary;
} arrow_column_t;

typedef struct tacit_arrow {
  struct ArrowSchema schema;
  arrow_column_t *columns; /* by place in the stream; only those that are asked for are filled in */
  struct ArrowArray chunk;
  size_t n_seen; /* rows of the chunks before */
  bool is_kept[RUN];
  uint64_t units[RUN];
} tacit_arrow_t;

static tacit_arrow_t *state_of(const tacit_reader_t *reader) { return reader->state; }

void tacit_arrow_release(struct ArrowArrayStream *stream) {
  if (stream != NULL && stream->release != NULL) {
    stream->release(stream);
    stream->release = NULL;
  }
}

static void release_chunk(tacit_arrow_t *arrow) {
  if (arrow->chunk.release != NULL) {
    arrow->chunk.release(&arrow->chunk);
  }
  arrow->chunk = (struct ArrowArray){0};
}

static void close_stream(tacit_reader_t *reader) {
  tacit_arrow_t *arrow = reader->state;
  if (arrow == NULL) {
    return;
  }
  release_chunk(arrow);
  if (arrow->schema.release != NULL) {
    arrow->schema.release(&arrow->schema);
  }
  tacit_free(arrow->columns);
  tacit_free(arrow);
}

/* ---- errors: of fixed words, names and places ---- */

static tacit_status_t malformed(tacit_error_t *err, const char *column, const char *what) {
  return tacit_error_set(err, TACIT_ERR_SYNTAX, column, "the data are no valid Arrow stream: %s%s%s%s",
                         column[0] != '\0' ? "column '" : "", column, column[0] != '\0' ? "': " : "", what);
}

/* The stream's own words may quote a value: they go to whoever watches, and nowhere else. */
static tacit_status_t failed(const tacit_reader_t *reader, int code, tacit_error_t *err) {
  struct ArrowArrayStream *stream = reader->source.stream;
  const tacit_stream_watch_t *watch = reader->source.watch;
  const char *said = stream->get_last_error != NULL ? stream->get_last_error(stream) : NULL;
  if (said != NULL && watch != NULL && watch->said != NULL) {
    watch->said(watch->user, said);
  }
  return tacit_error_set(err, TACIT_ERR_IO, "data", "the data's Arrow stream failed: %s", strerror(code));
}

static tacit_status_t wrong_in(const tacit_reader_t *reader, size_t row, const char *column,
                               tacit_status_t status, const char *what, tacit_error_t *err) {
  return tacit_error_set(err, status, column, "row %zu, column '%s': %s", state_of(reader)->n_seen + row + 1,
                         column, what);
}

/* ---- the stream's schema ---- */

static tacit_status_t read_names(tacit_reader_t *reader, tacit_error_t *err) {
  const struct ArrowSchema *schema = &state_of(reader)->schema;
  if (schema->format == NULL || strcmp(schema->format, "+s") != 0) {
    return malformed(err, "", "it has no columns (a table or a data frame has)");
  }
  if (schema->n_children < 0 || (schema->n_children > 0 && schema->children == NULL)) {
    return malformed(err, "", "a schema without its columns");
  }
  for (int64_t i = 0; i < schema->n_children; i++) {
    const struct ArrowSchema *child = schema->children[i];
    const char *name = child == NULL ? NULL : child->name == NULL ? "" : child->name;
    size_t place;
    bool is_new;
    if (name == NULL || child->format == NULL) {
      return malformed(err, "", "a column without a format");
    }
    if (!tacit_is_utf8(name, strlen(name))) {
      return malformed(err, "", "a column's name is not UTF-8");
    }
    tacit_status_t status = tacit_dictionary_add(&reader->header, name, strlen(name), &place, &is_new, err);
    if (status != TACIT_OK) {
      return status;
    }
    if (!is_new) {
      return tacit_error_set(err, TACIT_ERR_SYNTAX, name,
                             "the data name column %zu and column %zu alike: '%s'", place + 1, (size_t)i + 1,
                             name);
    }
  }
  return TACIT_OK;
}

static tacit_status_t open_stream(tacit_reader_t *reader, tacit_error_t *err) {
  struct ArrowArrayStream *stream = reader->source.stream;
  if (stream == NULL || stream->release == NULL || stream->get_schema == NULL || stream->get_next == NULL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "data",
                           "the Arrow stream was released or read before: ask for a new one");
  }
  tacit_arrow_t *arrow = reader->state = tacit_alloc_zero(1, sizeof *arrow);
  if (arrow == NULL) {
    return tacit_error_memory(err);
  }
  int code = stream->get_schema(stream, &arrow->schema);
  if (code != 0) {
    arrow->schema.release = NULL; /* nothing was handed over */
    return failed(reader, code, err);
  }
  return arrow->schema.release != NULL ? read_names(reader, err)
                                       : malformed(err, "", "a schema that is released already");
}

/* ---- which types go where; refused before a row is read ---- */

static const char *type_complaint(const arrow_column_t *column, tacit_column_type_t wanted, bool is_since) {
  bool is_text = column->type.kind == TACIT_ARROW_TEXT || column->type.kind == TACIT_ARROW_VIEW;
  switch (column->type.kind) {
  case TACIT_ARROW_DAYS:
  case TACIT_ARROW_SECONDS:
    if (!is_since) {
      return "dates and times are read where the schema says since: DATE, a public date: they are numbers of "
             "days then";
    }
    break;
  case TACIT_ARROW_TIME:
    return "times of a day and durations are not read: make a number of them";
  case TACIT_ARROW_NESTED:
    return "lists, structures and encoded runs are not read: give each part a plain column of its own";
  case TACIT_ARROW_BYTES:
    return "bytes are not read: make text or numbers of them";
  case TACIT_ARROW_WIDE:
    return "decimals of 256 bits are not read: make decimals of 128 bits or floats of them";
  case TACIT_ARROW_UNKNOWN:
    return "a type that is not read: make numbers, text or booleans of it";
  default:
    break;
  }
  if (is_text && !is_since && (wanted == TACIT_COLUMN_NUMERIC || wanted == TACIT_COLUMN_INTEGER)) {
    return "text, where the schema wants a number: convert it";
  }
  if (column->type.kind == TACIT_ARROW_BOOLEAN && wanted != TACIT_COLUMN_BINARY) {
    return "true and false, where the schema wants none: make it type: binary, or convert it";
  }
  return NULL;
}

static tacit_status_t check_type(const tacit_reader_t *reader, size_t field, tacit_column_type_t wanted,
                                 bool is_since, tacit_error_t *err) {
  const struct ArrowSchema *schema = state_of(reader)->schema.children[field];
  const char *name = schema->name != NULL ? schema->name : "";
  arrow_column_t *column = &state_of(reader)->columns[field];
  *column = (arrow_column_t){.type = tacit_arrow_type_of(schema->format),
                             .has_dictionary = schema->dictionary != NULL};
  if (column->has_dictionary) {
    column->places = column->type;
    column->type = tacit_arrow_type_of(schema->dictionary->format);
    if ((column->places.kind != TACIT_ARROW_SIGNED && column->places.kind != TACIT_ARROW_UNSIGNED) ||
        schema->dictionary->dictionary != NULL) {
      return malformed(err, name, "a dictionary whose places are no whole numbers");
    }
  }
  const char *complaint = type_complaint(column, wanted, is_since);
  return complaint == NULL ? TACIT_OK
                           : tacit_error_set(err, TACIT_ERR_DATA, name, "column '%s': %s", name, complaint);
}

static tacit_status_t check_types(tacit_reader_t *reader, tacit_error_t *err) {
  state_of(reader)->columns = tacit_alloc_zero(reader->header.n_entries, sizeof *state_of(reader)->columns);
  tacit_status_t status = state_of(reader)->columns != NULL ? TACIT_OK : tacit_error_memory(err);
  for (size_t i = 0; i < reader->n_columns && status == TACIT_OK; i++) {
    const tacit_column_schema_t *schema = reader->columns[i].rule.schema;
    status = check_type(reader, reader->columns[i].field, schema->type, schema->has_since, err);
  }
  return status == TACIT_OK && reader->unit_field != SIZE_MAX
             ? check_type(reader, reader->unit_field, TACIT_COLUMN_ID, false, err)
             : status;
}

/* ---- for a template ---- */

/* The kind of values by the stream's types: no chunk is asked for, and of categories not even their names. */
static void describe(const tacit_reader_t *reader, size_t field, tacit_text_t *text) {
  static const char *const kinds[] = {[TACIT_ARROW_BOOLEAN] = "true or false",
                                      [TACIT_ARROW_SIGNED] = "whole numbers",
                                      [TACIT_ARROW_UNSIGNED] = "whole numbers",
                                      [TACIT_ARROW_FLOAT] = "numbers",
                                      [TACIT_ARROW_DECIMAL] = "numbers",
                                      [TACIT_ARROW_TEXT] = "text",
                                      [TACIT_ARROW_VIEW] = "text",
                                      [TACIT_ARROW_DAYS] = "dates",
                                      [TACIT_ARROW_SECONDS] = "dates and times"};
  const struct ArrowSchema *schema = state_of(reader)->schema.children[field];
  bool is_coded = schema->dictionary != NULL && schema->dictionary->format != NULL;
  tacit_arrow_kind_t kind = tacit_arrow_type_of(is_coded ? schema->dictionary->format : schema->format).kind;
  if ((size_t)kind < sizeof kinds / sizeof kinds[0] && kinds[kind] != NULL) {
    tacit_text_printf(text, "   # %s%s", kinds[kind], is_coded ? ", in categories" : "");
  }
}

/* ---- chunks ---- */

static tacit_status_t check_column(const tacit_reader_t *reader, size_t field, const char *name,
                                   tacit_error_t *err) {
  const tacit_arrow_t *arrow = reader->state;
  const arrow_column_t *column = &arrow->columns[field];
  const struct ArrowArray *array = arrow->chunk.children[field];
  const char *what = tacit_arrow_broken(array, column->has_dictionary ? &column->places : &column->type);
  if (what == NULL && array->length - arrow->chunk.offset < arrow->chunk.length) {
    what = "a column shorter than the table";
  }
  if (what == NULL && column->has_dictionary) {
    what = tacit_arrow_broken(array->dictionary, &column->type);
  }
  return what == NULL ? TACIT_OK : malformed(err, name, what);
}

static tacit_status_t check_chunk(const tacit_reader_t *reader, tacit_error_t *err) {
  const struct ArrowArray *chunk = &state_of(reader)->chunk;
  if (chunk->n_children != state_of(reader)->schema.n_children || chunk->length < 0 || chunk->offset < 0 ||
      (chunk->n_children > 0 && chunk->children == NULL) || chunk->n_buffers != 1) {
    return malformed(err, "", "a chunk that does not agree with the schema");
  }
  if (chunk->null_count > 0 && (chunk->buffers == NULL || chunk->buffers[0] == NULL)) {
    return malformed(err, "", "an array of nulls without a bitmap that says where");
  }
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < reader->n_columns && status == TACIT_OK; i++) {
    status = check_column(reader, reader->columns[i].field, reader->columns[i].rule.schema->name, err);
  }
  return status == TACIT_OK && reader->unit_field != SIZE_MAX
             ? check_column(reader, reader->unit_field, tacit_schema_unit(reader->schema), err)
             : status;
}

/* Element i of the stream's column `field`. */
static void look(const tacit_arrow_t *arrow, size_t field, size_t row, bool wants_digits,
                 tacit_cell_t *cell) {
  const arrow_column_t *column = &arrow->columns[field];
  const struct ArrowArray *array = arrow->chunk.children[field];
  int64_t i = arrow->chunk.offset + (int64_t)row;
  if (!column->has_dictionary) {
    tacit_arrow_value(array, &column->type, i, wants_digits, cell);
    return;
  }
  if (tacit_arrow_is_null(array, i)) {
    cell->kind = TACIT_CELL_MISSING;
    return;
  }
  int64_t place = tacit_arrow_index(array, &column->places, i);
  if (place < 0 || place >= array->dictionary->length) {
    cell->kind = TACIT_CELL_BROKEN;
    cell->broken = "a place beyond the end of its dictionary";
    return;
  }
  tacit_arrow_value(array->dictionary, &column->type, place, wants_digits, cell);
}

/* ---- rows ---- */

/* Values of rows from .. from + *n - 1; at the first that is refused, *n <- the rows before it. */
static tacit_status_t read_column(tacit_reader_t *reader, tacit_reader_column_t *column, double *values,
                                  size_t from, size_t *n, tacit_error_t *err) {
  const tacit_arrow_t *arrow = reader->state;
  const tacit_column_schema_t *schema = column->rule.schema;
  bool wants_digits = tacit_cell_wants_digits(schema);
  tacit_cell_t cell;
  size_t kept = 0;
  for (size_t i = 0; i < *n; i++) {
    look(arrow, column->field, from + i, wants_digits, &cell);
    bool is_broken = cell.kind == TACIT_CELL_BROKEN;
    double value = 0;
    tacit_complaint_t wrong =
        is_broken ? cell.broken : tacit_cell_apply(&column->rule, &cell, arrow->is_kept[i], &value);
    if (wrong != NULL) {
      *n = i;
      return wrong_in(reader, from + i, schema->name, is_broken ? TACIT_ERR_SYNTAX : TACIT_ERR_DATA, wrong,
                      err);
    }
    values[kept] = value;
    kept += arrow->is_kept[i];
  }
  return TACIT_OK;
}

static tacit_status_t admit(tacit_reader_t *reader, size_t row, uint64_t *unit, bool *is_kept,
                            tacit_error_t *err) {
  const char *name = tacit_schema_unit(reader->schema);
  tacit_cell_t cell;
  look(reader->state, reader->unit_field, row, true, &cell);
  if (cell.kind == TACIT_CELL_BROKEN) {
    return wrong_in(reader, row, name, TACIT_ERR_SYNTAX, cell.broken, err);
  }
  tacit_complaint_t what = tacit_cell_no_person(&cell);
  if (what != NULL) {
    return wrong_in(reader, row, name, TACIT_ERR_DATA, what, err);
  }
  size_t place = 0;
  tacit_status_t status = tacit_reader_admit(reader, cell.text, cell.n, &place, is_kept, err);
  *unit = place;
  return status;
}

/* Whether rows are there, whose they are, and whether they are kept; at the first that is refused, *n <- the
 * rows before it. */
static tacit_status_t admit_run(tacit_reader_t *reader, size_t from, size_t *n, tacit_error_t *err) {
  tacit_arrow_t *arrow = reader->state;
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < *n && status == TACIT_OK; i++) {
    arrow->is_kept[i] = true;
    if (tacit_arrow_is_null(&arrow->chunk, (int64_t)(from + i))) {
      status = tacit_error_set(err, TACIT_ERR_DATA, "data", "row %zu: a row that is null as a whole",
                               arrow->n_seen + from + i + 1);
    } else if (reader->unit_field != SIZE_MAX) {
      status = admit(reader, from + i, &arrow->units[i], &arrow->is_kept[i], err);
    }
    if (status != TACIT_OK) {
      *n = i;
    }
  }
  return status;
}

/* Rows from .. from + n - 1 of the chunk, for which there is room. Among what is refused, the first in the
 * order of rows is told. */
static tacit_status_t read_run(tacit_reader_t *reader, size_t from, size_t n, tacit_error_t *err) {
  const tacit_arrow_t *arrow = reader->state;
  tacit_status_t status = admit_run(reader, from, &n, err);
  for (size_t i = 0; i < reader->n_columns; i++) {
    tacit_status_t now =
        read_column(reader, &reader->columns[i], reader->values[i] + reader->at, from, &n, err);
    status = now != TACIT_OK ? now : status;
  }
  if (status != TACIT_OK) {
    return status;
  }
  size_t before = reader->at;
  for (size_t i = 0; i < n; i++) {
    if (reader->row_units != NULL && arrow->is_kept[i]) {
      reader->row_units[reader->at] = arrow->units[i];
    }
    reader->at += arrow->is_kept[i];
  }
  reader->n_rows += reader->at - before;
  reader->n_rows_dropped += n - (reader->at - before);
  return TACIT_OK;
}

static tacit_status_t read_chunk(tacit_reader_t *reader, tacit_room_maker make_room, void *user,
                                 tacit_error_t *err) {
  tacit_status_t status = check_chunk(reader, err);
  size_t length = (size_t)state_of(reader)->chunk.length, n = 0;
  for (size_t from = 0; from < length && status == TACIT_OK; from += n) {
    status = tacit_watch_check(reader->source.watch, err);
    if (status == TACIT_OK && reader->at == reader->room) {
      status = make_room(user, err);
    }
    n = length - from < RUN ? length - from : RUN;
    n = n < reader->room - reader->at ? n : reader->room - reader->at;
    TACIT_THEN(status, read_run(reader, from, n, err));
  }
  state_of(reader)->n_seen += length;
  return status;
}

static tacit_status_t stream_rows(tacit_reader_t *reader, tacit_room_maker make_room, void *user,
                                  tacit_error_t *err) {
  tacit_arrow_t *arrow = reader->state;
  struct ArrowArrayStream *stream = reader->source.stream;
  for (;;) {
    tacit_status_t status = tacit_watch_check(reader->source.watch, err);
    if (status != TACIT_OK) {
      return status;
    }
    int code = stream->get_next(stream, &arrow->chunk);
    if (code != 0) {
      arrow->chunk.release = NULL;
      return failed(reader, code, err);
    }
    if (arrow->chunk.release == NULL) {
      return TACIT_OK;
    }
    status = read_chunk(reader, make_room, user, err);
    release_chunk(arrow);
    if (status != TACIT_OK) {
      return status;
    }
  }
}

const tacit_reader_kind_t tacit_reader_arrow = {.open = open_stream,
                                                .check = check_types,
                                                .rows = stream_rows,
                                                .describe = describe,
                                                .close = close_stream};
