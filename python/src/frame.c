/*
 * An Arrow stream of one chunk over buffers of Python objects. They are held by the stream, which is released
 * with the GIL.
 */
#include "core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BUFFERS = 3 };

typedef struct column {
  char *name, *format;
  int64_t n_rows;
  Py_buffer buffers[MOST_BUFFERS];
  bool is_held[MOST_BUFFERS];
  const void *pointers[MOST_BUFFERS];
  int64_t n_buffers;
} column_t;

typedef struct frame {
  column_t *columns;
  size_t n_columns;
  struct ArrowSchema *schemas, **schema_pointers;
  struct ArrowArray *arrays, **array_pointers;
  const void *no_bitmap;
  bool is_done;
} frame_t;

static void free_frame(frame_t *frame) {
  for (size_t i = 0; frame->columns != NULL && i < frame->n_columns; i++) {
    for (size_t j = 0; j < MOST_BUFFERS; j++) {
      if (frame->columns[i].is_held[j]) {
        PyBuffer_Release(&frame->columns[i].buffers[j]);
      }
    }
    free(frame->columns[i].name);
    free(frame->columns[i].format);
  }
  free(frame->columns);
  free(frame->schemas);
  free(frame->schema_pointers);
  free(frame->arrays);
  free(frame->array_pointers);
  free(frame);
}

/* Schemas and arrays borrow from the stream, which outlives them. */
static void release_schema(struct ArrowSchema *schema) { schema->release = NULL; }

static void release_array(struct ArrowArray *array) { array->release = NULL; }

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
  frame_t *frame = stream->private_data;
  for (size_t i = 0; i < frame->n_columns; i++) {
    frame->schemas[i] = (struct ArrowSchema){.format = frame->columns[i].format,
                                             .name = frame->columns[i].name,
                                             .flags = ARROW_FLAG_NULLABLE,
                                             .release = release_schema};
    frame->schema_pointers[i] = &frame->schemas[i];
  }
  *out = (struct ArrowSchema){.format = "+s",
                              .name = "",
                              .n_children = (int64_t)frame->n_columns,
                              .children = frame->schema_pointers,
                              .release = release_schema};
  return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
  frame_t *frame = stream->private_data;
  *out = (struct ArrowArray){0};
  if (frame->is_done) {
    return 0;
  }
  frame->is_done = true;
  for (size_t i = 0; i < frame->n_columns; i++) {
    column_t *column = &frame->columns[i];
    frame->arrays[i] = (struct ArrowArray){.length = column->n_rows,
                                           .null_count = column->pointers[0] != NULL ? -1 : 0,
                                           .n_buffers = column->n_buffers,
                                           .buffers = column->pointers,
                                           .release = release_array};
    frame->array_pointers[i] = &frame->arrays[i];
  }
  *out = (struct ArrowArray){.length = frame->n_columns > 0 ? frame->columns[0].n_rows : 0,
                             .n_buffers = 1,
                             .buffers = &frame->no_bitmap,
                             .n_children = (int64_t)frame->n_columns,
                             .children = frame->array_pointers,
                             .release = release_array};
  return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream) {
  (void)stream;
  return NULL;
}

static void release_stream(struct ArrowArrayStream *stream) {
  PyGILState_STATE state = PyGILState_Ensure();
  free_frame(stream->private_data);
  PyGILState_Release(state);
  stream->release = NULL;
}

/* Bytes that a buffer of a column must have at least; texts are checked by their offsets. */
static Py_ssize_t least_size(const column_t *column, size_t j) {
  Py_ssize_t n = (Py_ssize_t)column->n_rows;
  if (j == 0 || column->format[0] == 'b') {
    return (n + 7) / 8;
  }
  switch (column->format[0]) {
  case 'U':
    return j == 1 ? 8 * (n + 1) : 0;
  case 'g':
  case 'l':
  case 'L':
    return 8 * n;
  case 'f':
  case 'i':
  case 'I':
    return 4 * n;
  case 's':
  case 'S':
  case 'e':
    return 2 * n;
  case 't':
    return (strncmp(column->format, "tdD", 3) == 0 ? 4 : 8) * n; /* dates, times */
  default:
    return n;
  }
}

static bool hold_buffer(column_t *column, size_t j, PyObject *object) {
  if (object == Py_None) {
    return j == 0 || column->n_rows == 0;
  }
  if (PyObject_GetBuffer(object, &column->buffers[j], PyBUF_SIMPLE) != 0) {
    return false;
  }
  column->is_held[j] = true;
  column->pointers[j] = column->buffers[j].buf;
  return column->buffers[j].len >= least_size(column, j);
}

/* Offsets of a text column end within its bytes. */
static bool is_text_whole(const column_t *column) {
  int64_t last = 0;
  if (column->format[0] != 'U' || column->n_rows == 0) {
    return true;
  }
  memcpy(&last, (const char *)column->pointers[1] + 8 * column->n_rows, sizeof last);
  return last >= 0 && last <= (column->is_held[2] ? column->buffers[2].len : 0);
}

static bool fill_column(column_t *column, PyObject *item) {
  const char *name, *format;
  Py_ssize_t n_rows;
  PyObject *buffers;
  if (!PyArg_ParseTuple(item, "ssnO!", &name, &format, &n_rows, &PyTuple_Type, &buffers)) {
    return false;
  }
  column->name = strdup(name);
  column->format = strdup(format);
  column->n_rows = n_rows;
  column->n_buffers = PyTuple_Size(buffers);
  bool ok = column->name != NULL && column->format != NULL && n_rows >= 0 && column->n_buffers >= 2 &&
            column->n_buffers <= MOST_BUFFERS;
  for (size_t j = 0; ok && j < (size_t)column->n_buffers; j++) {
    ok = hold_buffer(column, j, PyTuple_GetItem(buffers, (Py_ssize_t)j));
  }
  return ok && is_text_whole(column);
}

bool core_stream_of_columns(PyObject *columns, struct ArrowArrayStream *stream) {
  Py_ssize_t n = PyList_Size(columns);
  frame_t *frame = n < 0 ? NULL : calloc(1, sizeof *frame);
  if (frame == NULL) {
    return n < 0 ? false : (PyErr_NoMemory(), false);
  }
  size_t room = (size_t)n + 1;
  frame->n_columns = (size_t)n;
  frame->columns = calloc(room, sizeof *frame->columns);
  frame->schemas = calloc(room, sizeof *frame->schemas);
  frame->schema_pointers = calloc(room, sizeof *frame->schema_pointers);
  frame->arrays = calloc(room, sizeof *frame->arrays);
  frame->array_pointers = calloc(room, sizeof *frame->array_pointers);
  bool ok = frame->columns != NULL && frame->schemas != NULL && frame->schema_pointers != NULL &&
            frame->arrays != NULL && frame->array_pointers != NULL;
  for (Py_ssize_t i = 0; ok && i < n; i++) {
    ok = fill_column(&frame->columns[i], PyList_GetItem(columns, i));
  }
  if (!ok) {
    free_frame(frame);
    if (PyErr_Occurred() == NULL) {
      PyErr_SetString(PyExc_ValueError, "a column's buffers are too short for its rows");
    }
    return false;
  }
  *stream = (struct ArrowArrayStream){.get_schema = get_schema,
                                      .get_next = get_next,
                                      .get_last_error = get_last_error,
                                      .release = release_stream,
                                      .private_data = frame};
  return true;
}
