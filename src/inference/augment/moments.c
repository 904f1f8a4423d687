/* Moments of normal records clamped to [lower, upper]. */
#include "augment/augment_internal.h"

static double normal_density(double z) { return exp(-0.5 * z * z) * 0.39894228040143267794; }

static double normal_cdf(double z) { return 0.5 * erfc(-z * 0.70710678118654752440); }

double tacit_log_normal_cdf(double z) {
  if (z > -36) {
    return log(0.5 * erfc(-z * 0.70710678118654752440));
  }
  double r = 1 / (z * z); /* asymptotic series: the next term is below 1e-12 */
  return -0.5 * z * z - log(-z) - 0.91893853320467274178 + log1p(-r * (1 - r * (3 - r * (15 - 105 * r))));
}

/* By parts: I_k = (k - 1) I_(k-2) + lower^(k-1) phi(lower) - upper^(k-1) phi(upper). */
void tacit_normal_partial_moments(double lower, double upper, size_t n, double *partial) {
  double at_lower = normal_density(lower), at_upper = normal_density(upper);
  for (size_t k = 0; k < n; k++) {
    if (k == 0) { /* in the tail that does not cancel */
      partial[0] =
          lower > 0 ? normal_cdf(-lower) - normal_cdf(-upper) : normal_cdf(upper) - normal_cdf(lower);
    } else {
      partial[k] = (k > 1 ? (double)(k - 1) * partial[k - 2] : 0) + at_lower - at_upper;
      at_lower *= lower;
      at_upper *= upper;
    }
  }
}

void tacit_clamped_normal_moments(double mean, double sd, double lower, double upper, size_t n,
                                  double *moments) {
  static const double binomial[5][5] = {{1}, {1, 1}, {1, 2, 1}, {1, 3, 3, 1}, {1, 4, 6, 4, 1}};
  double a = (lower - mean) / sd, b = (upper - mean) / sd, partial[5];
  tacit_normal_partial_moments(a, b, n + 1, partial);
  double low = normal_cdf(a), high = normal_cdf(-b);
  for (size_t k = 1; k <= n; k++) {
    double inside = 0;
    for (size_t j = 0; j <= k; j++) {
      inside += binomial[k][j] * pow(mean, (double)(k - j)) * pow(sd, (double)j) * partial[j];
    }
    moments[k - 1] = pow(lower, (double)k) * low + inside + pow(upper, (double)k) * high;
  }
}
