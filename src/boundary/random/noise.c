#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "base/error.h"
#include "base/memory.h"
#include "random/exact_normal.h"
#include "random/noise.h"

void tacit_noise_refill(tacit_noise_t *noise) {
  static const unsigned char nonce[crypto_stream_chacha20_NONCEBYTES] = {0};
  if (crypto_stream_chacha20((unsigned char *)noise->words, sizeof noise->words, nonce, noise->key) != 0) {
    noise->has_failed = true;
  }
  memcpy(noise->key, noise->words, sizeof noise->key);
  sodium_memzero(noise->words, sizeof noise->key);
  noise->next = NOISE_KEY_WORDS;
  noise->n_refills++;
}

static atomic_uint_least64_t n_forks = 1;
static bool can_count;

static void count_fork(void) { atomic_fetch_add(&n_forks, 1); }
static void start_counting(void) { can_count = pthread_atfork(NULL, NULL, count_fork) == 0; }

uint64_t tacit_n_forks(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  return pthread_once(&once, start_counting) == 0 && can_count ? atomic_load(&n_forks) : 0;
}

/*
 * A source without its key: the first draw refills it. In no core dump, nor, where the system allows it, in
 * swap or in the memory of a forked child.
 */
static tacit_status_t noise_alloc(tacit_noise_t **noise, bool is_secret, tacit_error_t *err) {
  *noise = tacit_grow_private(NULL, 0, 1, sizeof **noise);
  if (*noise == NULL) {
    return tacit_error_memory(err);
  }
  (void)sodium_mlock(*noise, sizeof **noise);
  tacit_wipe_on_fork(*noise, sizeof **noise);
  **noise = (tacit_noise_t){0};
  (*noise)->next = NOISE_WORDS;
  (*noise)->is_made = true;
  (*noise)->owner = getpid();
  (*noise)->n_forks = tacit_n_forks();
  (*noise)->is_secret = is_secret;
  return (*noise)->n_forks > 0 ? TACIT_OK : tacit_error_memory(err);
}

tacit_status_t tacit_noise_check_owner(const tacit_noise_t *noise, tacit_error_t *err) {
  if (!noise->is_made || noise->owner != getpid() || noise->n_forks != tacit_n_forks()) {
    return tacit_error_set(
        err, TACIT_ERR_NOISE, NULL,
        "this noise source was opened before a fork, and would repeat the noise of the parent "
        "process: open a new source in the child");
  }
  return TACIT_OK;
}

static tacit_status_t finish(tacit_noise_t **noise, tacit_status_t status) {
  if (status != TACIT_OK) {
    tacit_noise_free(*noise);
    *noise = NULL;
  }
  return status;
}

tacit_status_t tacit_noise_new(tacit_noise_t **noise, tacit_error_t *err) {
  tacit_status_t status = noise_alloc(noise, true, err);
  TACIT_THEN(status, tacit_key_from_system((*noise)->key, err));
  TACIT_THEN(status, tacit_key_init(err));
  return finish(noise, status);
}

tacit_status_t tacit_noise_new_with_key(tacit_noise_t **noise, const unsigned char key[32],
                                        tacit_error_t *err) {
  tacit_status_t status = noise_alloc(noise, true, err);
  if (status == TACIT_OK) {
    memcpy((*noise)->key, key, sizeof(*noise)->key);
    status = tacit_key_init(err);
  }
  return finish(noise, status);
}

tacit_status_t tacit_noise_new_seeded_not_private(tacit_noise_t **noise, uint64_t seed, tacit_error_t *err) {
  tacit_status_t status = noise_alloc(noise, false, err);
  TACIT_THEN(status, tacit_key_init(err));
  if (status == TACIT_OK) {
    tacit_key_from_seed((*noise)->key, "tacit noise, not private", seed);
  }
  return finish(noise, status);
}

void tacit_noise_free(tacit_noise_t *noise) {
  if (noise != NULL) {
    sodium_munlock(noise, sizeof *noise); /* wipes */
    tacit_free_private(noise, 1, sizeof *noise);
  }
}

bool tacit_noise_is_secret(const tacit_noise_t *noise) { return noise->is_secret; }

static tacit_status_t check_noise(const tacit_noise_t *noise, double sd, tacit_error_t *err) {
  if (!(sd >= 0x1p-20 && sd <= 0x1p52)) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "sd",
        "the standard deviation of rounded Gaussian noise must be a number from 2^-20 to 2^52, in "
        "units of the integer grid: choose a finer or coarser grid");
  }
  return tacit_noise_check_owner(noise, err);
}

tacit_status_t tacit_noise_rounded_gaussian(tacit_noise_t *noise, double sd, size_t n, int64_t *out,
                                            tacit_error_t *err) {
  tacit_status_t status = check_noise(noise, sd, err);
  if (status == TACIT_OK) {
    exact_scale_t scale = exact_scale(sd);
    uint64_t end = tacit_noise_end(noise, n, TACIT_NORMAL_WORK);
    for (size_t i = 0; tacit_noise_goes_on(noise, i >= n, end); i++) {
      int64_t draw = exact_rounded_normal(noise, scale, 64);
      if (i < n) {
        out[i] = draw;
      }
    }
    if (noise->has_failed) {
      status = tacit_error_set(err, TACIT_ERR_NOISE, NULL,
                               "the noise source failed and draws nothing more: open a new one");
    }
  }
  if (status != TACIT_OK && n > 0) {
    sodium_memzero(out, n * sizeof *out);
  }
  return status;
}
