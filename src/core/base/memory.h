/* Allocation: overflow-checked; a size of zero gives a valid pointer; NULL on failure. Not installed. */
#ifndef TACIT_BASE_MEMORY_H
#define TACIT_BASE_MEMORY_H

#include "tacit/base.h"

void *tacit_alloc(size_t n, size_t size);      /* uninitialised */
void *tacit_alloc_zero(size_t n, size_t size); /* zeroed, 64-byte aligned */
/* arrays[i] <- sizes[i] zeros, one array behind the other in one block: that of all n, to be freed as a
 * whole. */
double *tacit_alloc_arrays(size_t n, double **const *arrays, const size_t *sizes);
/*
 * As tacit_alloc_zero, for records: in no core dump. From 8 MiB on nothing has been written there yet, so
 * that on a machine with several memory nodes a page comes to be at the thread that first writes to it. Freed
 * by tacit_free_pages with the same numbers alone.
 */
void *tacit_alloc_pages(size_t n, size_t size);
void tacit_free_pages(void *p, size_t n, size_t size);
void *tacit_realloc(void *p, size_t n, size_t size); /* of tacit_alloc only */
/*
 * Room for one item more than n, of which *capacity have room: the items, perhaps elsewhere, and *capacity;
 * NULL, and nothing moved, if memory is out.
 */
TACIT_MUST_USE void *tacit_grow(void *items, size_t n, size_t *capacity, size_t size);
/* An array of records that grows, in no core dump: from nothing (p NULL), or from n_old > 0. Freed with the
 * same numbers alone. */
void *tacit_grow_private(void *p, size_t n_old, size_t n, size_t size);
void tacit_free_private(void *p, size_t n, size_t size);
/* Of memory from tacit_grow_private: a forked child finds zeros there, where the system knows how. */
void tacit_wipe_on_fork(void *p, size_t n);
/* Zeros that no compiler leaves out; p may be NULL. */
void tacit_wipe(void *p, size_t n);
char *tacit_strdup(const char *text);
/* Test hook: the k-th allocation from now (1-based) fails once; 0 switches it off. */
void tacit_alloc_fail_at(size_t k);

#endif
