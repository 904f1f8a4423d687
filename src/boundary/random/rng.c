/*
 * The sampler's own moves: ChaCha20 with the stream's number as nonce, so that (key, stream) repeats, and
 * floating-point transforms of its words. Nothing here protects privacy.
 */
#include <math.h>
#include <string.h>

#include <sodium.h>

#include "base/error.h"
#include "base/memory.h"
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

tacit_status_t tacit_rng_new(tacit_rng_t **rng, const unsigned char key[32], uint64_t stream,
                             tacit_error_t *err) {
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

void tacit_rng_key_wipe(unsigned char key[32]) { sodium_memzero(key, TACIT_KEY_BYTES); }

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

static inline uint64_t bits(tacit_rng_t *rng) {
  if (rng->next == RNG_WORDS) {
    refill(rng);
  }
  return tacit_stream_word(rng->words[rng->next++]);
}

/* By a signed integer, which processors convert in one instruction. */
static inline double to_double(uint64_t below_2_53) { return (double)(int64_t)below_2_53; }

static inline double to_uniform(uint64_t word) { return (to_double(word >> 12) + 0.5) * 0x1p-52; }

static inline double uniform(tacit_rng_t *rng) { return to_uniform(bits(rng)); }

uint64_t tacit_rng_bits(tacit_rng_t *rng) { return bits(rng); }

double tacit_rng_uniform(tacit_rng_t *rng) { return uniform(rng); }

double tacit_rng_exponential(tacit_rng_t *rng) { return -log(uniform(rng)); }

/* |N(0, 1)| given that it exceeds x_1 = r: r + x where 2y > x^2, x ~ Exp(r), y ~ Exp(1) [MarsagliaTsang2000].
 */
static double normal_tail(tacit_rng_t *rng) {
  double r = tacit_ziggurat_edge[1], x, y;
  do {
    x = tacit_rng_exponential(rng) / r;
    y = tacit_rng_exponential(rng);
  } while (!(2 * y > x * x));
  return r + x;
}

/* What is not below the next layer's edge, of a layer's word; redrawn from the beginning where it is
 * rejected. */
static __attribute__((noinline)) double normal_rest(tacit_rng_t *rng, uint64_t word) {
  for (;;) {
    size_t layer = word & (TACIT_N_LAYERS - 1);
    double sign = word & TACIT_N_LAYERS ? -1.0 : 1.0;
    double x = to_double(word >> 11) * 0x1p-53 * tacit_ziggurat_edge[layer];
    if (x < tacit_ziggurat_edge[layer + 1]) {
      return sign * x;
    }
    if (layer == 0) {
      return sign * normal_tail(rng);
    }
    double low = tacit_ziggurat_density[layer], high = tacit_ziggurat_density[layer + 1];
    if (low + (high - low) * uniform(rng) < exp(-0.5 * x * x)) {
      return sign * x;
    }
    word = bits(rng);
  }
}

/* Ziggurat [MarsagliaTsang2000]: layer, sign and place are different bits of one word, hence independent. */
static inline double normal(tacit_rng_t *rng) {
  static const double signs[2] = {0x1p-53, -0x1p-53};
  uint64_t word = bits(rng);
  size_t layer = word & (TACIT_N_LAYERS - 1);
  double place = to_double(word >> 11), x = place * 0x1p-53 * tacit_ziggurat_edge[layer];
  if (__builtin_expect(x < tacit_ziggurat_edge[layer + 1], 1)) {
    return place * signs[word / TACIT_N_LAYERS & 1] * tacit_ziggurat_edge[layer];
  }
  return normal_rest(rng, word);
}

double tacit_rng_normal(tacit_rng_t *rng) { return normal(rng); }

void tacit_rng_normals(tacit_rng_t *rng, size_t n, double *out) {
  for (size_t i = 0; i < n; i++) {
    out[i] = normal(rng);
  }
}

void tacit_rng_uniforms(tacit_rng_t *rng, size_t n, double *out) {
  while (n > 0) {
    if (rng->next == RNG_WORDS) {
      refill(rng);
    }
    size_t some = n < RNG_WORDS - rng->next ? n : RNG_WORDS - rng->next;
    const uint64_t *words = rng->words + rng->next;
    for (size_t i = 0; i < some; i++) {
      out[i] = to_uniform(tacit_stream_word(words[i]));
    }
    rng->next += some;
    out += some;
    n -= some;
  }
}

void tacit_rng_halves(tacit_rng_t *rng, size_t n, uint32_t *out) {
  for (size_t i = 0; i + 1 < n; i += 2) {
    uint64_t word = bits(rng);
    out[i] = (uint32_t)word;
    out[i + 1] = (uint32_t)(word >> 32);
  }
  if (n % 2 == 1) {
    out[n - 1] = (uint32_t)bits(rng);
  }
}

/* The high word of a 128-bit product, redrawn for the 2^64 mod n low words that would favour some results. */
uint64_t tacit_rng_below(tacit_rng_t *rng, uint64_t n) {
  tacit_u128_t product = (tacit_u128_t)bits(rng) * n;
  if ((uint64_t)product < n) {
    uint64_t uneven = -n % n;
    while ((uint64_t)product < uneven) {
      product = (tacit_u128_t)bits(rng) * n;
    }
  }
  return (uint64_t)(product >> 64);
}
