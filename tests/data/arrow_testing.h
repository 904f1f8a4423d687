/* Arrow streams by hand: chunks of columns that count how often each was released. */
#ifndef TACIT_TESTS_ARROW_TESTING_H
#define TACIT_TESTS_ARROW_TESTING_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tacit/arrow.h"

enum { ARROW_COLUMNS = 8, ARROW_BUFFERS = 5, ARROW_CHUNKS = 8 };

/* A column of one chunk. Buffers are borrowed. */
typedef struct column {
  const void *buffers[ARROW_BUFFERS];
  int64_t n_buffers, length, offset, null_count;
  const struct column *dictionary;
} column_t;

typedef struct chunk {
  int64_t length, offset, null_count;
  const void *validity;
  const column_t *columns; /* shape (n_columns) */
  int64_t n_columns;
} chunk_t;

typedef struct stream {
  const char *names[ARROW_COLUMNS], *formats[ARROW_COLUMNS],
      *dictionaries[ARROW_COLUMNS]; /* NULL: no dictionary */
  int64_t n_columns;
  chunk_t chunks[ARROW_CHUNKS];
  size_t n_chunks;
  int code_at_schema; /* not 0: get_schema fails with it */
  size_t fails_at;    /* get_next number k from 1 fails with EIO; 0: never */
  const char *says;
  const char *root; /* the format of the whole; NULL: "+s" */
  /* what happened */
  size_t n_next;
  int n_streams_released, n_schemas_open, n_arrays_open, n_released_twice;
} stream_t;

static void release_schema(struct ArrowSchema *schema) {
  stream_t *stream = schema->private_data;
  for (int64_t i = 0; i < schema->n_children; i++) {
    if (schema->children[i]->release != NULL) {
      schema->children[i]->release(schema->children[i]);
    }
    free(schema->children[i]);
  }
  free(schema->children);
  if (schema->dictionary != NULL) {
    schema->dictionary->release(schema->dictionary);
    free(schema->dictionary);
  }
  stream->n_schemas_open--;
  schema->release = NULL;
}

static void make_schema(stream_t *stream, const char *format, const char *name, struct ArrowSchema *out) {
  *out =
      (struct ArrowSchema){.format = format, .name = name, .release = release_schema, .private_data = stream};
  stream->n_schemas_open++;
}

static int get_schema(struct ArrowArrayStream *self, struct ArrowSchema *out) {
  stream_t *stream = self->private_data;
  if (stream->code_at_schema != 0) {
    return stream->code_at_schema;
  }
  make_schema(stream, stream->root != NULL ? stream->root : "+s", "", out);
  out->n_children = stream->n_columns;
  out->children = calloc((size_t)stream->n_columns + 1, sizeof *out->children);
  for (int64_t i = 0; i < stream->n_columns; i++) {
    out->children[i] = malloc(sizeof **out->children);
    make_schema(stream, stream->formats[i], stream->names[i], out->children[i]);
    if (stream->dictionaries[i] != NULL) {
      out->children[i]->dictionary = malloc(sizeof **out->children);
      make_schema(stream, stream->dictionaries[i], NULL, out->children[i]->dictionary);
    }
  }
  return 0;
}

static void release_array(struct ArrowArray *array) {
  stream_t *stream = array->private_data;
  for (int64_t i = 0; i < array->n_children; i++) {
    if (array->children[i] != NULL) {
      array->children[i]->release(array->children[i]);
      free(array->children[i]);
    }
  }
  free(array->children);
  if (array->dictionary != NULL) {
    array->dictionary->release(array->dictionary);
    free(array->dictionary);
  }
  stream->n_arrays_open--;
  array->release = NULL;
}

static void make_array(stream_t *stream, const column_t *column, struct ArrowArray *out) {
  *out = (struct ArrowArray){.length = column->length,
                             .offset = column->offset,
                             .null_count = column->null_count,
                             .n_buffers = column->n_buffers,
                             .buffers = (const void **)(uintptr_t)column->buffers,
                             .release = release_array,
                             .private_data = stream};
  stream->n_arrays_open++;
  if (column->dictionary != NULL) {
    out->dictionary = malloc(sizeof *out);
    make_array(stream, column->dictionary, out->dictionary);
  }
}

static int get_next(struct ArrowArrayStream *self, struct ArrowArray *out) {
  stream_t *stream = self->private_data;
  size_t k = stream->n_next++;
  if (stream->fails_at == k + 1) {
    return EIO;
  }
  if (k >= stream->n_chunks) {
    out->release = NULL;
    return 0;
  }
  const chunk_t *chunk = &stream->chunks[k];
  column_t all = {.buffers = {chunk->validity},
                  .n_buffers = 1,
                  .length = chunk->length,
                  .offset = chunk->offset,
                  .null_count = chunk->null_count};
  make_array(stream, &all, out);
  out->buffers = (const void **)(uintptr_t)&chunk->validity;
  out->n_children = chunk->n_columns;
  out->children = calloc((size_t)chunk->n_columns + 1, sizeof *out->children);
  for (int64_t i = 0; i < chunk->n_columns; i++) {
    out->children[i] = malloc(sizeof **out->children);
    make_array(stream, &chunk->columns[i], out->children[i]);
  }
  return 0;
}

static const char *get_last_error(struct ArrowArrayStream *self) {
  return ((stream_t *)self->private_data)->says;
}

static void release_stream(struct ArrowArrayStream *self) {
  stream_t *stream = self->private_data;
  stream->n_released_twice += stream->n_streams_released > 0;
  stream->n_streams_released++;
  self->release = NULL;
}

/* A stream to be read from its beginning. */
static inline struct ArrowArrayStream stream_of(stream_t *stream) {
  stream->n_next = 0;
  stream->n_streams_released = 0;
  return (struct ArrowArrayStream){.get_schema = get_schema,
                                   .get_next = get_next,
                                   .get_last_error = get_last_error,
                                   .release = release_stream,
                                   .private_data = stream};
}

/* Everything was released, and once. */
static inline bool is_settled(const stream_t *stream) {
  return stream->n_streams_released == 1 && stream->n_released_twice == 0 && stream->n_schemas_open == 0 &&
         stream->n_arrays_open == 0;
}

#endif
