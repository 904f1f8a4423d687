#include <pthread.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"

/*
 * Workers sleep between passes; a pass hands out parts under one lock, so a part must be worth
 * far more than a lock (the curator's parts are some thousand records).
 */
struct tacit_pool {
  pthread_mutex_t lock;
  pthread_cond_t work, done;
  pthread_t *threads;
  size_t n_workers, n_started;
  tacit_pool_task task;
  void *user;
  size_t n_parts, next_part, n_running;
  bool quit;
};

/* Take and run parts until none is left; called and returns with the lock held. */
static void run_parts(tacit_pool_t *pool, size_t thread) {
  while (pool->next_part < pool->n_parts) {
    size_t part = pool->next_part++;
    pool->n_running++;
    tacit_pool_task task = pool->task;
    void *user = pool->user;
    pthread_mutex_unlock(&pool->lock);
    task(user, part, thread);
    pthread_mutex_lock(&pool->lock);
    pool->n_running--;
  }
  if (pool->n_running == 0) {
    pthread_cond_signal(&pool->done);
  }
}

static void *worker(void *argument) {
  tacit_pool_t *pool = argument;
  pthread_mutex_lock(&pool->lock);
  size_t thread = ++pool->n_started;
  while (!pool->quit) {
    if (pool->next_part < pool->n_parts) {
      run_parts(pool, thread);
    } else {
      pthread_cond_wait(&pool->work, &pool->lock);
    }
  }
  pthread_mutex_unlock(&pool->lock);
  return NULL;
}

tacit_status_t tacit_pool_new(tacit_pool_t **out, size_t n_threads, tacit_error_t *err) {
  *out = NULL;
  if (n_threads < 1 || n_threads > 4096) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "n_threads",
                           "the number of threads must be between 1 and 4096, not %zu", n_threads);
  }
  tacit_pool_t *pool = tacit_alloc_zero(1, sizeof *pool);
  pthread_t *threads = tacit_alloc_zero(n_threads, sizeof *threads);
  if (pool == NULL || threads == NULL) {
    tacit_free(pool);
    tacit_free(threads);
    return tacit_error_memory(err);
  }
  pool->threads = threads;
  pthread_mutex_init(&pool->lock, NULL);
  pthread_cond_init(&pool->work, NULL);
  pthread_cond_init(&pool->done, NULL);
  for (size_t i = 0; i + 1 < n_threads; i++) {
    if (pthread_create(&pool->threads[i], NULL, worker, pool) != 0) {
      tacit_pool_free(pool);
      return tacit_error_set(err, TACIT_ERR_MEMORY, "n_threads", "cannot start %zu threads", n_threads);
    }
    pool->n_workers++;
  }
  *out = pool;
  return TACIT_OK;
}

void tacit_pool_run(tacit_pool_t *pool, size_t n_parts, tacit_pool_task task, void *user) {
  if (pool->n_workers == 0 || n_parts == 1) {
    for (size_t part = 0; part < n_parts; part++) {
      task(user, part, 0);
    }
    return;
  }
  pthread_mutex_lock(&pool->lock);
  pool->task = task;
  pool->user = user;
  pool->next_part = 0;
  pool->n_parts = n_parts;
  pthread_cond_broadcast(&pool->work);
  run_parts(pool, 0);
  while (pool->n_running > 0) {
    pthread_cond_wait(&pool->done, &pool->lock);
  }
  pool->n_parts = 0;
  pool->next_part = 0;
  pthread_mutex_unlock(&pool->lock);
}

size_t tacit_pool_share(size_t n, size_t n_threads, size_t most) {
  size_t share = (n / (8 * n_threads) / 16 + 1) * 16;
  return share < most ? share : most;
}

void tacit_pool_free(tacit_pool_t *pool) {
  if (pool == NULL) {
    return;
  }
  pthread_mutex_lock(&pool->lock);
  pool->quit = true;
  pthread_cond_broadcast(&pool->work);
  pthread_mutex_unlock(&pool->lock);
  for (size_t i = 0; i < pool->n_workers; i++) {
    pthread_join(pool->threads[i], NULL);
  }
  pthread_cond_destroy(&pool->done);
  pthread_cond_destroy(&pool->work);
  pthread_mutex_destroy(&pool->lock);
  tacit_free(pool->threads);
  tacit_free(pool);
}
