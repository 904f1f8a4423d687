#include "random/key.h"

#include <string.h>
#include <sys/random.h>

#include <sodium.h>

#include "base/base_internal.h"

tacit_status_t tacit_key_init(tacit_error_t *err) {
  if (sodium_init() < 0) {
    return tacit_error_set(err, TACIT_ERR_NOISE, NULL,
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
