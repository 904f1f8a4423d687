/*
 * Tail probabilities for the statistical tests. A test fails where one is below IMPROBABLE: with fewer than
 * 200 of them, a correct build fails for less than one in 10^6 choices of the seeds.
 */
#ifndef TACIT_TESTS_RANDOM_STATISTICS_H
#define TACIT_TESTS_RANDOM_STATISTICS_H

#include "testing.h"

#define IMPROBABLE 5e-9

#define assert_probable(p, ...)                                                                              \
  do {                                                                                                       \
    double p_ = (p);                                                                                         \
    if (!(p_ >= IMPROBABLE)) {                                                                               \
      print_error("%s = %.3g: ", #p, p_);                                                                    \
      fail_msg(__VA_ARGS__);                                                                                 \
    }                                                                                                        \
  } while (0)

/* Q(a, x) = Gamma(a, x)/Gamma(a): the series of 1 - Q below a + 1, Lentz's continued fraction above. */
static inline double upper_gamma(double a, double x) {
  if (!(x > 0)) {
    return 1;
  }
  double front = exp(a * log(x) - x - lgamma(a));
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (double j = a + 1; term > 1e-17 * sum; j++) {
      term *= x / j;
      sum += term;
    }
    return 1 - front * sum;
  }
  double b = x + 1 - a, c = 1e300, d = 1 / b, fraction = d;
  for (int j = 1; j < 100000; j++) {
    double coefficient = -j * (j - a);
    b += 2;
    d = 1 / (coefficient * d + b);
    c = b + coefficient / c;
    fraction *= c * d;
    if (fabs(c * d - 1) < 1e-15) {
      break;
    }
  }
  return front * fraction;
}

static inline double chi_square_p(double statistic, double n_freedom) {
  return upper_gamma(n_freedom / 2, statistic / 2);
}

/* Two-sided. */
static inline double normal_p(double z) { return erfc(fabs(z) / sqrt(2)); }

/* Two-sided, for a count that is nearly Poisson. */
static inline double poisson_p(double count, double mean) {
  double at_most = upper_gamma(count + 1, mean);
  double at_least = count > 0 ? 1 - upper_gamma(count, mean) : 1;
  return fmin(1, 2 * fmin(at_most, at_least));
}

static inline double binomial_z(double count, double n, double p) {
  return (count - n * p) / sqrt(n * p * (1 - p));
}

static inline int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Kolmogorov-Smirnov against cdf; sorts x. */
static inline double kolmogorov_p(double *x, size_t n, double (*cdf)(double x, double parameter),
                                  double parameter) {
  qsort(x, n, sizeof *x, compare_doubles);
  double distance = 0;
  for (size_t i = 0; i < n; i++) {
    double f = cdf(x[i], parameter);
    distance = fmax(distance, fmax(f - (double)i / (double)n, (double)(i + 1) / (double)n - f));
  }
  double root = sqrt((double)n), lambda = (root + 0.12 + 0.11 / root) * distance, p = 0;
  if (lambda < 0.3) {
    return 1; /* within 1e-4, where the alternating series no longer converges */
  }
  for (int j = 1; j <= 100; j++) {
    p += (j & 1 ? 2 : -2) * exp(-2.0 * j * j * lambda * lambda);
  }
  return fmin(1, fmax(p, 0));
}

#endif
