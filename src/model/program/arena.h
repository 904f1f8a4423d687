/* Memory that lives as long as a program is read: many small pieces, freed together. Not installed. */
#ifndef TACIT_PROGRAM_ARENA_H
#define TACIT_PROGRAM_ARENA_H

#include "tacit/base.h"

typedef struct tacit_arena {
  struct tacit_arena_chunk *chunks;
  size_t used, total;
  bool failed; /* out of memory, or beyond the limit */
} tacit_arena_t;

enum { TACIT_ARENA_LIMIT = 1 << 28 }; /* bytes of one program */

/* n * size zeroed bytes; NULL, and `failed`, where there are none. */
void *tacit_arena_alloc(tacit_arena_t *arena, size_t n, size_t size);
/*
 * Room for one item more than n of an array in the arena: the items, elsewhere where *capacity was reached,
 * which is then larger. NULL after a failure.
 */
void *tacit_arena_grow(tacit_arena_t *arena, void *items, size_t n, size_t *capacity, size_t size);
/* Copy of n bytes, NUL-terminated. */
char *tacit_arena_text(tacit_arena_t *arena, const char *text, size_t n);
char *tacit_arena_printf(tacit_arena_t *arena, const char *format, ...) TACIT_PRINTF(2, 3);
/* Append to an array of pointers in the arena that has room for a power of two; without effect after a
 * failure. */
void tacit_list_append(tacit_arena_t *arena, void ***items, size_t *n, void *item);
void tacit_arena_clear(tacit_arena_t *arena);

#endif
