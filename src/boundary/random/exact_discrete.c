/*
 * Laplace and discrete noise with exact distributions, by comparisons of whole numbers alone [Canonne2020,
 * algorithms 1 to 3]. A scale is the exact value of its double, t / 2^j with whole t < 2^53.
 */
#include <string.h>

#include <sodium.h>

#include "base/error.h"
#include "random/exact_normal.h"
#include "random/noise.h"

static bool ratio_bit(tacit_noise_t *noise, uint64_t numerator, uint64_t denominator) {
  return exact_choice(noise, denominator) < numerator;
}

/* A number uniform on 0 .. m - 1, by rejection of those beyond. */
static tacit_u128_t wide_choice(tacit_noise_t *noise, tacit_u128_t m) {
  if (m <= UINT64_MAX) {
    return exact_choice(noise, (uint64_t)m);
  }
  uint64_t mask = UINT64_MAX >> __builtin_clzll((uint64_t)(m >> 64));
  tacit_u128_t choice;
  do {
    choice = (tacit_u128_t)(tacit_noise_word(noise) & mask) << 64 | tacit_noise_word(noise);
  } while (choice >= m);
  return choice;
}

/*
 * e^-(numerator / denominator), numerator <= denominator: the length of a run of Bernoulli(numerator /
 * (denominator k)), k = 1, 2, ..., is even. The two factors are drawn apart, so that their product need not
 * fit.
 */
static bool short_exp_bit(tacit_noise_t *noise, tacit_u128_t numerator, tacit_u128_t denominator) {
  uint64_t k = 1;
  while (wide_choice(noise, denominator) < numerator && (k == 1 || ratio_bit(noise, 1, k))) {
    k++;
  }
  return k % 2 == 1;
}

static bool exp_bit(tacit_noise_t *noise, tacit_u128_t numerator, tacit_u128_t denominator) {
  for (; numerator > denominator; numerator -= denominator) {
    if (!short_exp_bit(noise, 1, 1)) {
      return false;
    }
  }
  return short_exp_bit(noise, numerator, denominator);
}

/* scale = t / 2^shift */
typedef struct exact_ratio {
  uint64_t t;
  unsigned shift;
} exact_ratio_t;

static exact_ratio_t take_apart(double scale) {
  int exponent;
  uint64_t mantissa = (uint64_t)ldexp(frexp(scale, &exponent), 53);
  return (exact_ratio_t){mantissa, (unsigned)(53 - exponent)};
}

/* k >= 0 with probability proportional to e^-(k / scale). */
static uint64_t geometric(tacit_noise_t *noise, exact_ratio_t scale) {
  enum { MOST = 1000 }; /* probability e^-1000: the source then fails for good */
  uint64_t u, v = 0;
  do {
    u = exact_choice(noise, scale.t);
  } while (!short_exp_bit(noise, u, scale.t));
  while (v < MOST && short_exp_bit(noise, 1, 1)) {
    v++;
  }
  noise->has_failed = noise->has_failed || v == MOST;
  return (u + scale.t * v) >> scale.shift;
}

static int64_t discrete_laplace(tacit_noise_t *noise, exact_ratio_t scale) {
  for (;;) {
    bool is_negative = tacit_noise_coin(noise);
    int64_t magnitude = (int64_t)geometric(noise, scale);
    if (magnitude > 0 || !is_negative) { /* zero has one sign only */
      return is_negative ? -magnitude : magnitude;
    }
    if (noise->has_failed) {
      return 0;
    }
  }
}

/* |round(E)| >= k where E, exponential, is at least k - 1/2. */
static int64_t rounded_laplace(tacit_noise_t *noise, exact_ratio_t scale) {
  if (!exp_bit(noise, (tacit_u128_t)1 << scale.shift, (tacit_u128_t)2 * scale.t)) {
    return 0;
  }
  int64_t magnitude = 1 + (int64_t)geometric(noise, scale);
  return tacit_noise_coin(noise) ? -magnitude : magnitude;
}

/* sigma^2 = v / w, and t = floor(sigma) + 1; w t^2 <= 2^55. */
typedef struct exact_variance {
  uint64_t v, w, t;
} exact_variance_t;

static exact_variance_t exact_variance(double sigma) {
  exact_variance_t variance = {.t = (uint64_t)sigma + 1};
  variance.w = 1;
  while (2 * variance.w * variance.t * variance.t <= (uint64_t)1 << 55) {
    variance.w *= 2;
  }
  /* up, so that the noise is never less than asked for; 2^-50 exceeds the rounding of the product */
  variance.v = (uint64_t)ceil(sigma * sigma * (double)variance.w * (1 + 0x1p-50));
  return variance;
}

/* Discrete Laplace of scale t, kept with probability exp(-(|y| - sigma^2 / t)^2 / (2 sigma^2)) [Canonne2020,
 * algorithm 3]. */
static int64_t discrete_gaussian(tacit_noise_t *noise, exact_variance_t of) {
  while (!noise->has_failed) {
    int64_t y = discrete_laplace(noise, (exact_ratio_t){of.t, 0});
    uint64_t size = y < 0 ? -(uint64_t)y : (uint64_t)y;
    if (size > 60 * of.t) { /* would be kept with probability below e^-1700 */
      continue;
    }
    uint64_t at = size * of.t * of.w, gap = at > of.v ? at - of.v : of.v - at;
    if (exp_bit(noise, (tacit_u128_t)gap * gap, (tacit_u128_t)(2 * of.v) * (of.w * of.t * of.t))) {
      return y;
    }
  }
  return 0;
}

static tacit_status_t check_exact_discrete(const tacit_noise_t *noise, double scale, double least,
                                           double most, tacit_error_t *err) {
  if (!(scale >= least && scale <= most)) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "scale",
        "the scale of this noise must be a number from %g to %g, in units of the integer grid: choose a "
        "finer or coarser grid",
        least, most);
  }
  return tacit_noise_check_owner(noise, err);
}

static tacit_status_t finish(const tacit_noise_t *noise, tacit_status_t status, size_t n, int64_t *out,
                             tacit_error_t *err) {
  if (status == TACIT_OK && noise->has_failed) {
    status = tacit_error_set(err, TACIT_ERR_NOISE, NULL,
                             "the noise source failed and draws nothing more: open a new one");
  }
  if (status != TACIT_OK && n > 0) {
    sodium_memzero(out, n * sizeof *out);
  }
  return status;
}

tacit_status_t tacit_noise_rounded_laplace(tacit_noise_t *noise, double scale, size_t n, int64_t *out,
                                           tacit_error_t *err) {
  tacit_status_t status = check_exact_discrete(noise, scale, 1, 0x1p52, err);
  uint64_t end = tacit_noise_end(noise, n, TACIT_LAPLACE_WORK);
  for (size_t i = 0; status == TACIT_OK && tacit_noise_goes_on(noise, i >= n, end); i++) {
    int64_t draw = rounded_laplace(noise, take_apart(scale));
    if (i < n) {
      out[i] = draw;
    }
  }
  return finish(noise, status, n, out, err);
}

tacit_status_t tacit_noise_discrete_laplace(tacit_noise_t *noise, double scale, size_t n, int64_t *out,
                                            tacit_error_t *err) {
  tacit_status_t status = check_exact_discrete(noise, scale, 0x1p-8, 0x1p52, err);
  uint64_t end = tacit_noise_end(noise, n, TACIT_DISCRETE_WORK);
  for (size_t i = 0; status == TACIT_OK && tacit_noise_goes_on(noise, i >= n, end); i++) {
    int64_t draw = discrete_laplace(noise, take_apart(scale));
    if (i < n) {
      out[i] = draw;
    }
  }
  return finish(noise, status, n, out, err);
}

tacit_status_t tacit_noise_discrete_gaussian(tacit_noise_t *noise, double sigma, size_t n, int64_t *out,
                                             tacit_error_t *err) {
  tacit_status_t status = check_exact_discrete(noise, sigma, 0x1p-4, 0x1p26, err);
  uint64_t end = tacit_noise_end(noise, n, TACIT_DISCRETE_WORK);
  for (size_t i = 0; status == TACIT_OK && tacit_noise_goes_on(noise, i >= n, end); i++) {
    int64_t draw = discrete_gaussian(noise, exact_variance(sigma));
    if (i < n) {
      out[i] = draw;
    }
  }
  return finish(noise, status, n, out, err);
}
