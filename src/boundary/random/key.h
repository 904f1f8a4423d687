/* Keys of the generators: from the operating system, or derived from a seed. */
#ifndef TACIT_RANDOM_KEY_H
#define TACIT_RANDOM_KEY_H

#include "tacit/base.h"

enum { TACIT_KEY_BYTES = 32 };

/* Make libsodium ready (it then knows the processor's vector units). */
TACIT_MUST_USE tacit_status_t tacit_key_init(tacit_error_t *err);

/* TACIT_ERR_NOISE, and key all zero, if the operating system gives no random bytes. */
TACIT_MUST_USE tacit_status_t tacit_key_from_system(unsigned char key[TACIT_KEY_BYTES], tacit_error_t *err);

/* Keys of one seed under different labels are unrelated. */
void tacit_key_from_seed(unsigned char key[TACIT_KEY_BYTES], const char *label, uint64_t seed);

/* A word of key stream: its eight bytes are read as a little-endian number on every machine. */
static inline uint64_t tacit_stream_word(uint64_t bytes) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  return __builtin_bswap64(bytes);
#else
  return bytes;
#endif
}

#endif
