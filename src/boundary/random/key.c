#include "random/key.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <sodium.h>

#include "base/error.h"

/*
 * libsodium asks the system for random bytes when it is initialised, and ends the process where that refuses.
 * While this thread initialises it, it asks us instead, and is told to go on; whether it may is then for the
 * caller to hear. Others are served as ever.
 */
static struct stand_in {
  pthread_t thread;
  bool has_failed;
} stand_in;

static void stand_in_bytes(void *const bytes, const size_t n) {
  for (size_t at = 0; at < n; at += 256) {
    if (getentropy((char *)bytes + at, n - at < 256 ? n - at : 256) != 0) {
      if (!pthread_equal(pthread_self(), stand_in.thread)) {
        abort(); /* as libsodium itself does: another user of it must not go on with bytes that are not random
                  */
      }
      sodium_memzero(bytes, n);
      stand_in.has_failed = true;
      return;
    }
  }
}

static uint32_t stand_in_word(void) {
  uint32_t word;
  stand_in_bytes(&word, sizeof word);
  return word;
}

static const char *stand_in_name(void) { return "getentropy"; }

static int init_sodium(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static bool is_ready;
  static randombytes_implementation implementation = {
      .implementation_name = stand_in_name, .random = stand_in_word, .buf = stand_in_bytes};
  pthread_mutex_lock(&lock);
  if (!is_ready) {
    stand_in = (struct stand_in){.thread = pthread_self()};
    randombytes_set_implementation(&implementation);
    is_ready = sodium_init() >= 0 && !stand_in.has_failed;
    randombytes_set_implementation(&randombytes_sysrandom_implementation);
  }
  bool ok = is_ready;
  pthread_mutex_unlock(&lock);
  return ok ? 0 : -1;
}

tacit_status_t tacit_key_init(tacit_error_t *err) {
  if (init_sodium() < 0) {
    return tacit_error_set(
        err, TACIT_ERR_NOISE, NULL,
        "libsodium's generator cannot be initialised, so nothing random can be drawn: check "
        "that the process may read the operating system's generator (/dev/urandom)");
  }
  return TACIT_OK;
}

/*
 * The bytes are asked for before libsodium is initialised, and not through it: its own call ends the
 * process when the operating system refuses.
 */
tacit_status_t tacit_key_from_system(unsigned char key[TACIT_KEY_BYTES], tacit_error_t *err) {
  if (getentropy(key, TACIT_KEY_BYTES) != 0) {
    sodium_memzero(key, TACIT_KEY_BYTES);
    return tacit_error_set(err, TACIT_ERR_NOISE, NULL,
                           "the operating system's generator gave no random bytes for a key: check that the "
                           "process may call getentropy()");
  }
  return TACIT_OK;
}

void tacit_key_from_seed(unsigned char key[TACIT_KEY_BYTES], const char *label, uint64_t seed) {
  unsigned char bytes[8];
  for (size_t i = 0; i < sizeof bytes; i++) {
    bytes[i] = (unsigned char)(seed >> (8 * i));
  }
  crypto_generichash(key, TACIT_KEY_BYTES, bytes, sizeof bytes, (const unsigned char *)label, strlen(label));
}
