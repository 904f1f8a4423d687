/* A pool of threads, and a clock. Not installed. */
#ifndef TACIT_BASE_POOL_H
#define TACIT_BASE_POOL_H

#include "tacit/base.h"

/*
 * A pool of n_threads - 1 workers and the caller. tacit_pool_run calls task(user, part, thread) for every
 * part in 0 .. n_parts-1, in any order, and returns when all are done; `thread` in 0 .. n_threads-1 names
 * the thread that runs it, so that each can have its own workspace.
 */
typedef struct tacit_pool tacit_pool_t;
typedef void (*tacit_pool_task)(void *user, size_t part, size_t thread);
TACIT_MUST_USE tacit_status_t tacit_pool_new(tacit_pool_t **pool, size_t n_threads, tacit_error_t *err);
void tacit_pool_run(tacit_pool_t *pool, size_t n_parts, tacit_pool_task task, void *user);
void tacit_pool_free(tacit_pool_t *pool);
/* How many of n things to make a part: few enough to share among threads, enough to be worth it. A multiple
 * of 16, at most `most`. */
size_t tacit_pool_share(size_t n, size_t n_threads, size_t most);

/* Seconds of a monotonic clock. */
double tacit_clock(void);

#endif
