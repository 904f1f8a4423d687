/*
 * Bits, counts and subsets whose probabilities are exact: everything is a comparison of whole numbers.
 */
#include <string.h>

#include "base/error.h"
#include "random/exact_normal.h"
#include "random/noise.h"
#include "random/tables.h"

/* One in units of log odds, rates and means. */
static const uint64_t one = (uint64_t)1 << 32;

static tacit_status_t finish(const tacit_noise_t *noise, tacit_error_t *err) {
  return noise->has_failed ? tacit_error_set(err, TACIT_ERR_NOISE, NULL,
                                             "the noise source failed and draws nothing more: open a new one")
                           : TACIT_OK;
}

static bool ratio_bit(tacit_noise_t *noise, uint64_t numerator, uint64_t denominator) {
  return exact_choice(noise, denominator) < numerator;
}

/* e^-(x / 2^32), x <= 2^32: the length of a run of Bernoulli(x / k), k = 1, 2, ..., is even [Canonne2020a,
 * Algorithm 1]. */
static bool short_exp_bit(tacit_noise_t *noise, uint64_t x) {
  uint64_t k = 1;
  while (ratio_bit(noise, x, one * k)) {
    k++;
  }
  return k % 2 == 1;
}

static bool exp_bit(tacit_noise_t *noise, uint64_t x) {
  for (; x > one; x -= one) {
    if (!short_exp_bit(noise, one)) {
      return false;
    }
  }
  return short_exp_bit(noise, x);
}

/* 1 with weight 1/2, 0 with weight e^-x / 2. */
static bool logistic_bit(tacit_noise_t *noise, uint64_t x) {
  for (;;) {
    if (tacit_noise_coin(noise)) {
      return true;
    }
    if (exp_bit(noise, x)) {
      return false;
    }
  }
}

tacit_status_t tacit_noise_ratio_bits(tacit_noise_t *noise, size_t n, const uint64_t *numerators,
                                      uint64_t denominator, bool *bits, tacit_error_t *err) {
  memset(bits, 0, n * sizeof *bits);
  tacit_status_t status = tacit_noise_check_owner(noise, err);
  for (size_t i = 0; status == TACIT_OK && i < n; i++) {
    if (denominator == 0 || numerators[i] > denominator) {
      memset(bits, 0, n * sizeof *bits);
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "numerator", "a probability is a fraction from 0 to 1");
    }
    bits[i] = ratio_bit(noise, numerators[i], denominator);
  }
  return status == TACIT_OK ? finish(noise, err) : status;
}

tacit_status_t tacit_noise_ratio_bit(tacit_noise_t *noise, uint64_t numerator, uint64_t denominator,
                                     bool *bit, tacit_error_t *err) {
  return tacit_noise_ratio_bits(noise, 1, &numerator, denominator, bit, err);
}

tacit_status_t tacit_noise_exp_bit(tacit_noise_t *noise, uint64_t exponent, bool *bit, tacit_error_t *err) {
  *bit = false;
  tacit_status_t status = tacit_noise_check_owner(noise, err);
  if (status == TACIT_OK) {
    uint64_t end = tacit_noise_end(noise, 1, TACIT_BIT_WORK);
    *bit = exp_bit(noise, exponent);
    while (tacit_noise_goes_on(noise, true, end)) {
      (void)exp_bit(noise, one);
    }
    status = finish(noise, err);
  }
  return status;
}

tacit_status_t tacit_noise_logistic_bit(tacit_noise_t *noise, int64_t log_odds, bool *bit,
                                        tacit_error_t *err) {
  *bit = false;
  tacit_status_t status = tacit_noise_check_owner(noise, err);
  if (status == TACIT_OK) {
    uint64_t size = log_odds < 0 ? -(uint64_t)log_odds : (uint64_t)log_odds;
    uint64_t end = tacit_noise_end(noise, 1, TACIT_BIT_WORK);
    *bit = logistic_bit(noise, size) == (log_odds >= 0);
    while (tacit_noise_goes_on(noise, true, end)) {
      (void)logistic_bit(noise, one);
    }
    status = finish(noise, err);
  }
  return status;
}

tacit_status_t tacit_noise_below(tacit_noise_t *noise, uint64_t limit, size_t n, uint64_t *out,
                                 tacit_error_t *err) {
  memset(out, 0, n * sizeof *out);
  tacit_status_t status = tacit_noise_check_owner(noise, err);
  if (status != TACIT_OK) {
    return status;
  }
  if (limit == 0) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "limit", "no number is below 0");
  }
  for (size_t i = 0; i < n; i++) {
    out[i] = exact_choice(noise, limit);
  }
  return finish(noise, err);
}

/*
 * 64 Bernoulli(rate / 2^32) bits: the binary digits of 64 uniform numbers are compared with those of the
 * rate, highest first, until all have differed.
 */
static uint64_t subset_word(tacit_noise_t *noise, uint32_t rate) {
  uint64_t below = 0, tied = UINT64_MAX;
  for (int i = 31; i >= 0 && tied != 0; i--) {
    uint64_t digits = tacit_noise_word(noise);
    if (rate >> i & 1) {
      below |= tied & ~digits;
      tied &= digits;
    } else {
      tied &= ~digits;
    }
  }
  return below;
}

tacit_status_t tacit_noise_subset(tacit_noise_t *noise, uint64_t rate, size_t n, uint64_t *mask,
                                  tacit_error_t *err) {
  size_t n_words = (n + 63) / 64;
  memset(mask, 0, n_words * sizeof *mask);
  tacit_status_t status = tacit_noise_check_owner(noise, err);
  if (status != TACIT_OK) {
    return status;
  }
  if (rate > one) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "rate", "a sampling rate is at most 1");
  }
  for (size_t i = 0; i < n_words; i++) {
    mask[i] = rate == one ? UINT64_MAX : subset_word(noise, (uint32_t)rate);
  }
  if (n % 64 != 0) {
    mask[n_words - 1] &= ((uint64_t)1 << n % 64) - 1;
  }
  return finish(noise, err);
}

/*
 * Poisson(1): the number of fixed points of a uniform permutation that grows without end
 * [Duchon2016, "Preserving the number of cycles of length k in a growing uniform permutation"].
 */
static uint64_t poisson_one(tacit_noise_t *noise) {
  uint64_t n = 1, guard = 0, k = 1;
  for (;;) {
    uint64_t i = exact_choice(noise, n + 1);
    if (i == n) {
      k++;
    } else if (i >= guard) {
      k--;
      guard = n + 1;
    } else {
      return k;
    }
    n++;
  }
}

/* The least j >= k with u < F(j), where the first word of u is that of F(k): its further words are drawn as
 * they are needed. */
static uint64_t poisson_tied(tacit_noise_t *noise, uint64_t first, size_t k) {
  uint64_t u[TACIT_CDF_WORDS] = {first};
  size_t n_drawn = 1;
  for (; k < TACIT_N_POISSON; k++) {
    size_t i = 0;
    for (; i < TACIT_CDF_WORDS; i++) {
      if (i == n_drawn) {
        u[n_drawn++] = tacit_noise_word(noise);
      }
      if (u[i] != tacit_poisson_cdf[i][k]) {
        break;
      }
    }
    if (i == TACIT_CDF_WORDS) {
      break;
    }
    if (u[i] < tacit_poisson_cdf[i][k]) {
      return k;
    }
  }
  noise->has_failed = true;
  return 0;
}

/* Poisson(16), by inversion of its distribution function to 512 bits; fails where they do not decide. */
uint64_t tacit_poisson_sixteen(tacit_noise_t *noise) {
  const uint64_t *cdf = tacit_poisson_cdf[0];
  uint64_t u = tacit_noise_word(noise);
  size_t k = 0; /* entries below u: all before k, none from k + n */
  for (size_t n = TACIT_N_POISSON - 1; n > 0;) {
    size_t half = (n + 1) / 2;
    k += cdf[k + half - 1] < u ? half : 0;
    n -= half;
  }
  return __builtin_expect(cdf[k] == u, 0) ? poisson_tied(noise, u, k) : k;
}

tacit_status_t tacit_noise_poisson(tacit_noise_t *noise, uint64_t mean, uint64_t *out, tacit_error_t *err) {
  *out = 0;
  tacit_status_t status = tacit_noise_check_owner(noise, err);
  if (status != TACIT_OK) {
    return status;
  }
  for (uint64_t i = 0; i < mean / one / TACIT_POISSON_MEAN && !noise->has_failed;
       i++) { /* a sum of Poisson numbers is one */
    *out += tacit_poisson_sixteen(noise);
  }
  for (uint64_t i = 0; i < mean / one % TACIT_POISSON_MEAN; i++) {
    *out += poisson_one(noise);
  }
  for (uint64_t k = mean % one > 0 ? poisson_one(noise) : 0; k > 0; k--) { /* thinned */
    *out += ratio_bit(noise, mean % one, one);
  }
  return finish(noise, err);
}
