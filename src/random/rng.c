/*
 * The sampler's own moves: ChaCha20 with the stream's number as nonce, so that (key, stream) repeats, and
 * floating-point transforms of its words. Nothing here protects privacy.
 */
#include <math.h>
#include <string.h>

#include <sodium.h>

#include "base/base_internal.h"
#include "random/key.h"
#include "random/tables.h"
#include "tacit/random.h"

__extension__ typedef unsigned __int128 tacit_u128_t;

enum { RNG_WORDS = 2048, RNG_BLOCKS = RNG_WORDS * 8 / 64 };

struct tacit_rng {
  uint64_t words[RNG_WORDS];
  size_t next;
  uint64_t block; /* of the key stream, at the next refill */
  unsigned char key[TACIT_KEY_BYTES];
  unsigned char nonce[crypto_stream_chacha20_NONCEBYTES];
};

tacit_status_t tacit_rng_new(tacit_rng_t **rng, const unsigned char key[32], uint64_t stream, tacit_error_t *err) {
  *rng = NULL;
  tacit_status_t status = tacit_key_init(err);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_rng_t *made = tacit_alloc_zero(1, sizeof *made);
  if (made == NULL) {
    return tacit_error_memory(err);
  }
  memcpy(made->key, key, sizeof made->key);
  for (size_t i = 0; i < sizeof made->nonce; i++) {
    made->nonce[i] = (unsigned char)(stream >> (8 * i));
  }
  made->next = RNG_WORDS;
  *rng = made;
  return TACIT_OK;
}

tacit_status_t tacit_rng_key_from_system(unsigned char key[32], tacit_error_t *err) {
  return tacit_key_from_system(key, err);
}

void tacit_rng_key_from_seed(unsigned char key[32], uint64_t seed) {
  tacit_key_from_seed(key, "tacit sampler", seed);
}

void tacit_rng_key_wipe(unsigned char key[32]) {
  sodium_memzero(key, TACIT_KEY_BYTES);
}

void tacit_rng_free(tacit_rng_t *rng) {
  if (rng != NULL) {
    sodium_memzero(rng, sizeof *rng);
    tacit_free(rng);
  }
}

static void refill(tacit_rng_t *rng) {
  unsigned char *bytes = (unsigned char *)rng->words;
  memset(bytes, 0, sizeof rng->words);
  crypto_stream_chacha20_xor_ic(bytes, bytes, sizeof rng->words, rng->nonce, rng->block, rng->key);
  rng->block += RNG_BLOCKS;
  rng->next = 0;
}

uint64_t tacit_rng_bits(tacit_rng_t *rng) {
  if (rng->next == RNG_WORDS) {
    refill(rng);
  }
  return tacit_stream_word(rng->words[rng->next++]);
}

double tacit_rng_uniform(tacit_rng_t *rng) {
  return ((double)(tacit_rng_bits(rng) >> 12) + 0.5) * 0x1p-52;
}

double tacit_rng_exponential(tacit_rng_t *rng) {
  return -log(tacit_rng_uniform(rng));
}

/* |N(0, 1)| given that it exceeds x_1 = r: r + x where 2y > x^2, x ~ Exp(r), y ~ Exp(1) [MarsagliaTsang2000]. */
static double normal_tail(tacit_rng_t *rng) {
  double r = tacit_ziggurat_edge[1], x, y;
  do {
    x = tacit_rng_exponential(rng) / r;
    y = tacit_rng_exponential(rng);
  } while (!(2 * y > x * x));
  return r + x;
}

/* Ziggurat [MarsagliaTsang2000]: layer, sign and place are different bits of one word, hence independent. */
double tacit_rng_normal(tacit_rng_t *rng) {
  for (;;) {
    uint64_t word = tacit_rng_bits(rng);
    size_t layer = word & (TACIT_N_LAYERS - 1);
    double sign = word & TACIT_N_LAYERS ? -1.0 : 1.0;
    double x = (double)(word >> 11) * 0x1p-53 * tacit_ziggurat_edge[layer];
    if (x < tacit_ziggurat_edge[layer + 1]) {
      return sign * x;
    }
    if (layer == 0) {
      return sign * normal_tail(rng);
    }
    double low = tacit_ziggurat_density[layer], high = tacit_ziggurat_density[layer + 1];
    if (low + (high - low) * tacit_rng_uniform(rng) < exp(-0.5 * x * x)) {
      return sign * x;
    }
  }
}

void tacit_rng_normals(tacit_rng_t *rng, size_t n, double *out) {
  for (size_t i = 0; i < n; i++) {
    out[i] = tacit_rng_normal(rng);
  }
}

void tacit_rng_uniforms(tacit_rng_t *rng, size_t n, double *out) {
  for (size_t i = 0; i < n; i++) {
    out[i] = tacit_rng_uniform(rng);
  }
}

/* The high word of a 128-bit product, redrawn for the 2^64 mod n low words that would favour some results. */
uint64_t tacit_rng_below(tacit_rng_t *rng, uint64_t n) {
  tacit_u128_t product = (tacit_u128_t)tacit_rng_bits(rng) * n;
  if ((uint64_t)product < n) {
    uint64_t uneven = -n % n;
    while ((uint64_t)product < uneven) {
      product = (tacit_u128_t)tacit_rng_bits(rng) * n;
    }
  }
  return (uint64_t)(product >> 64);
}
