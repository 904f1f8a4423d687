/* Mean and variance of a clamped response as functions of its linear predictor. */
#include <math.h>

#include "formula/model.h"

static tacit_family_moments_t bernoulli(double eta) {
  double e = exp(-fabs(eta)), share = 1 / (1 + e), mean = eta < 0 ? e * share : share,
         variance = e * share * share;
  return (tacit_family_moments_t){mean, variance, variance, variance * (1 - 2 * mean)};
}

/*
 * With p_k the probabilities of Poisson(rate) and S_k = P(Y > k):
 *
 *     E min(Y, C) = sum_{k < C} S_k,    E min(Y, C)^2 = sum_{k < C} (2k + 1) S_k,    d S_k / d rate = p_k.
 */
static tacit_family_moments_t clamped_poisson(double upper, double eta) {
  double rate = exp(eta), p = exp(-rate), cumulative = 0;
  double mean = 0, square = 0, mean_slope = 0, square_slope = 0;
  for (double k = 0; k < upper; k++) {
    cumulative += p;
    double above = cumulative < 1 ? 1 - cumulative : 0;
    mean += above;
    square += (2 * k + 1) * above;
    mean_slope += p;
    square_slope += (2 * k + 1) * p;
    p *= rate / (k + 1);
  }
  mean_slope *= rate;
  square_slope *= rate;
  double variance = square - mean * mean;
  return (tacit_family_moments_t){mean, mean_slope, variance > 0 ? variance : 0,
                                  square_slope - 2 * mean * mean_slope};
}

bool tacit_family_has_moments(tacit_family_t family, double upper) {
  return (family == TACIT_FAMILY_BERNOULLI && upper == 1) || /* exact */
         (family == TACIT_FAMILY_POISSON && upper >= 1 && upper <= TACIT_FAMILY_MAX_COUNT &&
          floor(upper) == upper);
}

tacit_family_moments_t tacit_family_moments(tacit_family_t family, double upper, double eta) {
  eta = fmax(fmin(eta, 700), -700); /* beyond, every moment has reached its limit */
  return family == TACIT_FAMILY_BERNOULLI ? bernoulli(eta) : clamped_poisson(upper, fmin(eta, 7.5));
}
