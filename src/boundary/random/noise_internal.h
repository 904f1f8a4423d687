/*
 * The generator of privacy noise: ChaCha20 with fast key erasure. Each refill replaces the key by the first
 * 32 bytes of the stream that the key produced, and every word is wiped as it is handed out, so that neither
 * this object nor a copy of its memory tells which noise was drawn before.
 */
#ifndef TACIT_NOISE_INTERNAL_H
#define TACIT_NOISE_INTERNAL_H

#include <sys/types.h>

#include "random/key.h"
#include "tacit/random.h"

enum {
  NOISE_KEY_WORDS = TACIT_KEY_BYTES / 8,
  NOISE_WORDS = NOISE_KEY_WORDS + 2048 /* a refill: the next key, then 16 KiB to draw from */
};

struct tacit_noise {
  uint64_t words[NOISE_WORDS];
  size_t next; /* words before this one are wiped */
  uint64_t n_refills;
  uint64_t coins;
  unsigned n_coins;
  unsigned char key[TACIT_KEY_BYTES];
  /* A forked child holds the same key, and would repeat its parent's noise. Its copy is wiped by the system;
   * and it is known by these. */
  bool is_made;
  pid_t owner;      /* which a child in another namespace of processes may share */
  uint64_t n_forks; /* before this source was made: tacit_n_forks() */
  bool is_secret;
  bool has_failed; /* for good: whatever fails once draws nothing more */
};

/* How often this process was made by a fork, it and those that it comes from; 0: forks cannot be counted. */
uint64_t tacit_n_forks(void);
/* Was it made by this process? */
TACIT_MUST_USE tacit_status_t tacit_noise_check_owner(const tacit_noise_t *noise, tacit_error_t *err);
/* Replace the key and fill the words; sets has_failed if the stream cannot be had. */
void tacit_noise_refill(tacit_noise_t *noise);

/* A Poisson number of mean TACIT_POISSON_MEAN (tables.h). */
uint64_t tacit_poisson_sixteen(tacit_noise_t *noise);

static inline uint64_t tacit_noise_word(tacit_noise_t *noise) {
  if (__builtin_expect(noise->next == NOISE_WORDS, 0)) {
    tacit_noise_refill(noise);
  }
  uint64_t word = noise->words[noise->next];
  noise->words[noise->next++] = 0;
  return tacit_stream_word(word);
}

static inline uint64_t tacit_noise_coin(tacit_noise_t *noise) {
  if (noise->n_coins == 0) {
    noise->coins = tacit_noise_word(noise);
    noise->n_coins = 64;
  }
  uint64_t coin = noise->coins & 1;
  noise->coins >>= 1;
  noise->n_coins--;
  return coin;
}

/*
 * The time of a draw tells of its value: a large one takes more words. So every call draws on, for nothing,
 * until it took as many words as its n draws need all but with probability 2^-80: `rest` + n `each`. With s =
 * 80 log 2 / rest that is Chernoff's bound wherever E exp(s W) <= exp(s each), W a draw's words;
 * tests/random/test_work.c holds each kind to it. Seeded sources protect nobody and stop when they are done.
 */
typedef struct tacit_noise_work {
  uint64_t rest, each;
} tacit_noise_work_t;

static const tacit_noise_work_t TACIT_NORMAL_WORK = {640, 12}, TACIT_BIT_WORK = {640, 12},
                                TACIT_LAPLACE_WORK = {640, 20}, TACIT_DISCRETE_WORK = {6144, 64};

static inline uint64_t tacit_noise_n_words(const tacit_noise_t *noise) {
  return noise->n_refills * (NOISE_WORDS - NOISE_KEY_WORDS) + noise->next;
}

static inline uint64_t tacit_noise_end(const tacit_noise_t *noise, size_t n, tacit_noise_work_t work) {
  return noise->is_secret ? tacit_noise_n_words(noise) + work.rest + work.each * (uint64_t)n : 0;
}

static inline bool tacit_noise_goes_on(const tacit_noise_t *noise, bool is_done, uint64_t end) {
  return !noise->has_failed && (!is_done || tacit_noise_n_words(noise) < end);
}

#endif
