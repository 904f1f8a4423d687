#include "base/memory.h"
#include "program/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK = 1 << 16 };

typedef struct tacit_arena_chunk {
  struct tacit_arena_chunk *next;
  size_t capacity;
  _Alignas(16) unsigned char bytes[];
} chunk_t;

void *tacit_arena_alloc(tacit_arena_t *arena, size_t n, size_t size) {
  if (arena->failed || (size != 0 && n > TACIT_ARENA_LIMIT / size)) {
    arena->failed = true;
    return NULL;
  }
  size_t bytes = (n * size + 15) / 16 * 16 + (n * size == 0 ? 16 : 0);
  if (arena->chunks == NULL || arena->chunks->capacity - arena->used < bytes) {
    size_t capacity = bytes > CHUNK ? bytes : CHUNK;
    chunk_t *chunk =
        arena->total + capacity <= TACIT_ARENA_LIMIT ? tacit_alloc(1, sizeof *chunk + capacity) : NULL;
    if (chunk == NULL) {
      arena->failed = true;
      return NULL;
    }
    *chunk = (chunk_t){.next = arena->chunks, .capacity = capacity};
    arena->chunks = chunk;
    arena->used = 0;
    arena->total += capacity;
  }
  void *p = arena->chunks->bytes + arena->used;
  arena->used += bytes;
  return memset(p, 0, bytes);
}

void *tacit_arena_grow(tacit_arena_t *arena, void *items, size_t n, size_t *capacity, size_t size) {
  if (n < *capacity) {
    return items;
  }
  size_t larger = *capacity == 0 ? 64 : 2 * *capacity;
  void *more = tacit_arena_alloc(arena, larger, size);
  if (more != NULL && n > 0) {
    memcpy(more, items, n * size);
  }
  *capacity = more != NULL ? larger : *capacity;
  return more;
}

char *tacit_arena_text(tacit_arena_t *arena, const char *text, size_t n) {
  char *copy = tacit_arena_alloc(arena, n + 1, 1);
  if (copy != NULL && n > 0) {
    memcpy(copy, text, n);
  }
  return copy;
}

char *tacit_arena_printf(tacit_arena_t *arena, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  char *text = n >= 0 ? tacit_arena_alloc(arena, (size_t)n + 1, 1) : NULL;
  if (text != NULL) {
    vsnprintf(text, (size_t)n + 1, format, again);
  }
  va_end(again);
  return text;
}

void tacit_list_append(tacit_arena_t *arena, void ***items, size_t *n, void *item) {
  if ((*n & (*n - 1)) == 0) { /* 0 or a power of two: full */
    void **more = tacit_arena_alloc(arena, *n == 0 ? 1 : 2 * *n, sizeof *more);
    if (more == NULL) {
      return;
    }
    if (*n > 0) {
      memcpy(more, *items, *n * sizeof *more);
    }
    *items = more;
  }
  (*items)[(*n)++] = item;
}

void tacit_arena_clear(tacit_arena_t *arena) {
  while (arena->chunks != NULL) {
    chunk_t *next = arena->chunks->next;
    tacit_free(arena->chunks);
    arena->chunks = next;
  }
  *arena = (tacit_arena_t){0};
}
