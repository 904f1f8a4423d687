/**
 * @file random.h
 * Randomness, in two types that the compiler keeps apart.
 *
 * tacit_noise_t draws privacy noise: integers distributed exactly as a rounded
 * Gaussian, from a ChaCha20 generator keyed by the operating system.
 * tacit_rng_t draws the sampler's own moves (momenta, proposals, uniforms) as
 * doubles. Neither is thread-safe: one object, one thread at a time.
 */
#ifndef TACIT_RANDOM_H
#define TACIT_RANDOM_H

#include "tacit/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Source of privacy noise. Opaque; wiped when freed. A forked child holds a copy that would repeat its
 * parent's noise: there it refuses to draw (TACIT_ERR_NOISE), and the child opens its own.
 */
typedef struct tacit_noise tacit_noise_t;

/**
 * Open a noise source keyed by the operating system's generator.
 * @return TACIT_ERR_NOISE if the generator cannot be initialised; *noise is then NULL.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_noise_new(tacit_noise_t **noise, tacit_error_t *err);

/**
 * Open a noise source with a key made by tacit_rng_key_from_system(): for processes that share the records
 * and must draw the same noise (tacit_ranks_t). Whoever knows the key can subtract the noise; it is as secret
 * as the records. The caller wipes it.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_noise_new_with_key(tacit_noise_t **noise,
                                                                 const unsigned char key[32],
                                                                 tacit_error_t *err);

/**
 * Open a noise source whose noise anyone who knows the seed can subtract: for
 * tests and repeatable demonstrations only. Whatever uses it is NOT PRIVATE,
 * and tacit_noise_is_secret() says so.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_noise_new_seeded_not_private(tacit_noise_t **noise,
                                                                           uint64_t seed, tacit_error_t *err);

/** Wipe and free; NULL is allowed. */
TACIT_API void tacit_noise_free(tacit_noise_t *noise);

/** True if the key came from the operating system, or from tacit_noise_new_with_key()'s caller. */
TACIT_API bool tacit_noise_is_secret(const tacit_noise_t *noise);

/** Generator for the sampler's own moves. Opaque. */
typedef struct tacit_rng tacit_rng_t;

/**
 * Open stream number `stream` of the generator with the given 32-byte key.
 * Streams of one key are independent; the same (key, stream) repeats.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_rng_new(tacit_rng_t **rng, const unsigned char key[32],
                                                      uint64_t stream, tacit_error_t *err);

/** Fill a key from the operating system's generator. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_rng_key_from_system(unsigned char key[32], tacit_error_t *err);

/** Derive a key from a seed (repeatable runs). */
TACIT_API void tacit_rng_key_from_seed(unsigned char key[32], uint64_t seed);

/** Overwrite a key that is no longer needed. */
TACIT_API void tacit_rng_key_wipe(unsigned char key[32]);

TACIT_API void tacit_rng_free(tacit_rng_t *rng);

TACIT_API uint64_t tacit_rng_bits(tacit_rng_t *rng);

/** Draw from Uniform(0, 1), never 0 or 1: (k + 1/2) 2^-52 for a 52-bit k (with 53 bits, the last would be 1).
 */
TACIT_API double tacit_rng_uniform(tacit_rng_t *rng);

/** Draw from N(0, 1), accurate to double rounding in the body and to 8 sd and beyond in the tails. */
TACIT_API double tacit_rng_normal(tacit_rng_t *rng);

/** Draw n of them, the same numbers as n single draws, without the cost of n calls. @param[out] out shape
 * (n). */
TACIT_API void tacit_rng_normals(tacit_rng_t *rng, size_t n, double *out);

/** Draw n from Uniform(0, 1), the same numbers as n single draws. @param[out] out shape (n). */
TACIT_API void tacit_rng_uniforms(tacit_rng_t *rng, size_t n, double *out);

/** Draw n independent words of 32 bits. */
TACIT_API void tacit_rng_halves(tacit_rng_t *rng, size_t n, uint32_t *out);

/** Draw from Exp(1). */
TACIT_API double tacit_rng_exponential(tacit_rng_t *rng);

/** Draw an integer uniform on 0 .. n-1 without modulo bias; n >= 1. */
TACIT_API uint64_t tacit_rng_below(tacit_rng_t *rng, uint64_t n);

/* ---- decisions (theorem 3): only a bit leaves; sums are log ratios in units of 2^-32 ---- */

/** How a proposal with log acceptance ratio l is accepted; all are balanced, a(l) = e^l a(-l). */
typedef enum tacit_accept_kind {
  TACIT_ACCEPT_BARKER = 0, /**< 1 / (1 + e^-l), no noise */
  TACIT_ACCEPT_PENALTY,    /**< min(1, exp(l + N(0, sigma^2) - sigma^2 / 2)) */
  TACIT_ACCEPT_PROBIT, /**< the same with a sigma for each pair: rule.sigma times its own sensitivity f c */
  TACIT_ACCEPT_ARCSINE /**< sin^2 of an angle linear in l, capped: the rule of least information
                          (docs/theory.md) */
} tacit_accept_kind_t;

typedef struct tacit_accept_rule {
  tacit_accept_kind_t kind;
  double max_bound; /**< largest clip, in log ratios: what every bit is charged for */
  double sigma;     /**< penalty, probit */
  double kappa;     /**< arcsine: the square root of the information, from 0.05 to 2 */
  double cap;       /**< arcsine: the largest acceptance, at most 0.999 */
} tacit_accept_rule_t;

#ifdef __cplusplus
}
#endif
#endif
