/* Coins of acceptance rules: exact bits put together. Log ratios are whole numbers of 2^-32. */
#include <math.h>

#include "random/noise.h"

static const double unit = 0x1p32;

/* e^-exponent if `is_needed`. A secret source draws a bit either way, so that its time does not tell which
 * way it was. */
static tacit_status_t exp_bit_if(tacit_noise_t *noise, bool is_needed, uint64_t exponent, bool *bit,
                                 tacit_error_t *err) {
  bool drawn = false;
  tacit_status_t status = TACIT_OK;
  if (is_needed || tacit_noise_is_secret(noise)) {
    status = tacit_noise_exp_bit(noise, is_needed ? exponent : 0, &drawn, err);
  }
  *bit = status == TACIT_OK && (is_needed ? drawn : *bit);
  return status;
}

/* sin^2(phi0 / 2 + kappa l / 2), tan(phi0 / 2) = 2 kappa, capped; l >= 0 (docs/theory.md, section 13). */
static double arcsine_accept(double kappa, double cap, double log_ratio) {
  double angle = fmin(atan(2 * kappa) + 0.5 * kappa * log_ratio, 1.57079632679489661923), s = sin(angle);
  return fmin(s * s, cap);
}

tacit_status_t tacit_noise_arcsine_bit(tacit_noise_t *noise, double kappa, double cap, int64_t log_ratio,
                                       bool *bit, tacit_error_t *err) {
  uint64_t size = log_ratio < 0 ? -(uint64_t)log_ratio : (uint64_t)log_ratio;
  uint64_t numerator = (uint64_t)(arcsine_accept(kappa, cap, (double)size / unit) * 0x1p53);
  bool balance = true;
  tacit_status_t status = tacit_noise_ratio_bit(noise, numerator, (uint64_t)1 << 53, bit, err);
  if (status == TACIT_OK) { /* a(-l) = e^-l a(l) */
    status = exp_bit_if(noise, log_ratio < 0, size, &balance, err);
  }
  *bit = *bit && balance;
  return status;
}

tacit_status_t tacit_noise_penalty_bit(tacit_noise_t *noise, double sigma, int64_t log_ratio, bool *bit,
                                       tacit_error_t *err) {
  __extension__ typedef __int128 wide_t;
  const wide_t limit = (wide_t)1 << 62;
  int64_t draw = 0;
  tacit_status_t status = tacit_noise_rounded_gaussian(noise, sigma * unit, 1, &draw, err);
  wide_t sum = (wide_t)log_ratio + draw - (wide_t)llrint(0.5 * sigma * sigma * unit);
  *bit = status == TACIT_OK && sum >= 0;
  return status != TACIT_OK ? status
                            : exp_bit_if(noise, sum < 0,
                                         (uint64_t)(sum < -limit ? limit
                                                    : sum < 0    ? -sum
                                                                 : 0),
                                         bit, err);
}
