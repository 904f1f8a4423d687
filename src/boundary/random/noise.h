/*
 * Draws of privacy noise: the door alone makes them.
 */
#ifndef TACIT_RANDOM_NOISE_H
#define TACIT_RANDOM_NOISE_H

#include "tacit/base.h"
#include "tacit/random.h"

/**
 * Draw independent integers distributed exactly as round(N(0, sd^2)):
 *
 *     P(K = k) = Phi((k + 1/2)/sd) - Phi((k - 1/2)/sd)            for the real number sd
 *
 * No floating-point approximation enters: a lazily refined exact normal deviate
 * [Karney2016, Algorithm N] is multiplied by sd in integer arithmetic until the
 * integer nearest to the product is decided.
 *
 * @param[in]  sd   finite, 2^-20 <= sd <= 2^52; the double is taken as an exact real number.
 * @param[in]  n    number of draws, >= 0.
 * @param[out] out  shape (n). Set to zero on failure.
 * @return TACIT_ERR_ARGUMENT outside the range of sd; TACIT_ERR_NOISE if random bits fail (the source then
 * fails for good) or in a forked child.
 */
TACIT_MUST_USE tacit_status_t tacit_noise_rounded_gaussian(tacit_noise_t *noise, double sd, size_t n,
                                                           int64_t *out, tacit_error_t *err);

/**
 * Draw independent integers distributed exactly as round(L), L of density exp(-|x| / scale) / (2 scale):
 *
 *     P(0) = 1 - e^(-1 / (2 scale)),     P(k) = sinh(1 / (2 scale)) e^(-|k| / scale)
 *
 * so that an integer plus this noise is the rounding of that integer plus Laplace noise. By comparisons of
 * whole numbers alone.
 *
 * @param[in]  scale  1 <= scale <= 2^52; the double is taken as an exact real number.
 * @param[out] out    shape (n). Set to zero on failure. Errors: as tacit_noise_rounded_gaussian().
 */
TACIT_MUST_USE tacit_status_t tacit_noise_rounded_laplace(tacit_noise_t *noise, double scale, size_t n,
                                                          int64_t *out, tacit_error_t *err);

/** The same with weights e^(-|k| / scale) [Canonne2020, algorithm 2]; 2^-8 <= scale <= 2^52. */
TACIT_MUST_USE tacit_status_t tacit_noise_discrete_laplace(tacit_noise_t *noise, double scale, size_t n,
                                                           int64_t *out, tacit_error_t *err);

/**
 * The same with weights e^(-k^2 / (2 s^2)) [Canonne2020, algorithm 3]; s^2 is sigma^2 rounded up to a
 * fraction, by a relative 2^-45 at most. 2^-4 <= sigma <= 2^26.
 */
TACIT_MUST_USE tacit_status_t tacit_noise_discrete_gaussian(tacit_noise_t *noise, double sigma, size_t n,
                                                            int64_t *out, tacit_error_t *err);

/*
 * Secret bits, counts and subsets with exact probabilities, by comparisons of whole numbers alone. Errors of
 * all: as above.
 */

/** A bit that is true with probability numerator / denominator; denominator > 0, numerator <= denominator. */
TACIT_MUST_USE tacit_status_t tacit_noise_ratio_bit(tacit_noise_t *noise, uint64_t numerator,
                                                    uint64_t denominator, bool *bit, tacit_error_t *err);

/** A bit that is true with probability exp(-exponent / 2^32) [Canonne2020a, Algorithm 1]. */
TACIT_MUST_USE tacit_status_t tacit_noise_exp_bit(tacit_noise_t *noise, uint64_t exponent, bool *bit,
                                                  tacit_error_t *err);

/** A bit that is true with probability 1 / (1 + exp(-log_odds / 2^32)). */
TACIT_MUST_USE tacit_status_t tacit_noise_logistic_bit(tacit_noise_t *noise, int64_t log_odds, bool *bit,
                                                       tacit_error_t *err);

/**
 * A bit that is true with probability min(1, exp(l + N(0, sigma^2) - sigma^2 / 2)), l = log_ratio / 2^32, |l|
 * <= 2^30; the noise is rounded to a multiple of 2^-32. sigma as for tacit_noise_rounded_gaussian(), in units
 * of 2^-32.
 */
TACIT_MUST_USE tacit_status_t tacit_noise_penalty_bit(tacit_noise_t *noise, double sigma, int64_t log_ratio,
                                                      bool *bit, tacit_error_t *err);

/** The same with probability a(l) of docs/theory.md, section 13: kappa from 0.05 to 2, cap above 0 and at
 * most 0.999. */
TACIT_MUST_USE tacit_status_t tacit_noise_arcsine_bit(tacit_noise_t *noise, double kappa, double cap,
                                                      int64_t log_ratio, bool *bit, tacit_error_t *err);

/** n such bits of their own numerators, shape (n), and one denominator. */
TACIT_MUST_USE tacit_status_t tacit_noise_ratio_bits(tacit_noise_t *noise, size_t n,
                                                     const uint64_t *numerators, uint64_t denominator,
                                                     bool *bits, tacit_error_t *err);

/** n integers uniform on 0 .. limit - 1; limit > 0. */
TACIT_MUST_USE tacit_status_t tacit_noise_below(tacit_noise_t *noise, uint64_t limit, size_t n, uint64_t *out,
                                                tacit_error_t *err);

/**
 * A subset of n elements, each in it independently with probability rate / 2^32.
 * @param[in]  rate at most 2^32.
 * @param[out] mask shape ((n + 63) / 64): bit i % 64 of word i / 64; bits past the last are 0.
 */
TACIT_MUST_USE tacit_status_t tacit_noise_subset(tacit_noise_t *noise, uint64_t rate, size_t n,
                                                 uint64_t *mask, tacit_error_t *err);

/** A Poisson number with mean mean / 2^32, any, in time that grows with it [Duchon2016]; or by its
 * distribution function. */
TACIT_MUST_USE tacit_status_t tacit_noise_poisson(tacit_noise_t *noise, uint64_t mean, uint64_t *out,
                                                  tacit_error_t *err);
#endif
