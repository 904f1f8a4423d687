/*
 * Distributions of several published numbers at once: a quantile that the exponential mechanism chose, and
 * counts under Laplace noise that were moved by one amount so that they add up. [docs/theory.md, 12.14]
 */
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "augment/population_internal.h"

static double sum_at(const double *sums, size_t i, tacit_change_t change) {
  return sums[i] + (i == change.a ? change.more_a : 0) + (i == change.b ? change.more_b : 0);
}

/* Sums are the numbers of records below the first candidate, from it to the second, and so on. */
static double log_chosen(const tacit_noise_distribution_t *distribution, const double *sums,
                         tacit_change_t change, double *score) {
  size_t m = distribution->n_sums - 1;
  double n = 0, below = 0, most = -INFINITY, sum = 0;
  for (size_t i = 0; i <= m; i++) {
    n += sum_at(sums, i, change);
  }
  for (size_t j = 0; j < m; j++) {
    below += sum_at(sums, j, change);
    score[j] = -fabs(below - distribution->quantile * n) / distribution->as.scale;
    most = fmax(most, score[j]);
  }
  for (size_t j = 0; j < m; j++) {
    sum += exp(score[j] - most);
  }
  return score[distribution->chosen] - most - log(sum);
}

/* log of the integral of e^(at + slope (u - from)) over an interval of length `length`, at `at` in its
 * beginning. */
static double log_piece(double at, double slope, double length) {
  double x = slope * length;
  return at + log(length) +
         (fabs(x) > 1e-8 ? (x > 0 ? x + log(-expm1(-x) / x) : log(expm1(x) / x)) : 0.5 * x);
}

/*
 * Values are sums + e - shift, and the shift is whatever it takes: log of the integral over u of prod_i
 * exp(-|r_i + u| / scale), r = values - sums. Between two of the points -r_i the exponent is linear.
 */
static double log_moved(const tacit_noise_distribution_t *distribution, const double *values,
                        const double *sums, tacit_change_t change, double *kink) {
  size_t n = distribution->n_sums;
  double *log_part = kink + n, total = 0;
  for (size_t i = 0; i < n; i++) {
    kink[i] = (sum_at(sums, i, change) - values[i]) / distribution->as.scale;
  }
  tacit_sort_numbers(n, kink);
  double at = 0, slope = (double)n; /* of the exponent, before the first kink */
  for (size_t i = 0; i < n; i++) {
    at -= kink[i] - kink[0];
  }
  double last = at, most = -INFINITY;
  for (size_t i = 0; i + 1 < n; i++) {
    double length = kink[i + 1] - kink[i];
    slope -= 2;
    log_part[i] = length > 0 ? log_piece(last, slope, length) : -INFINITY;
    last += slope * length;
    most = fmax(most, log_part[i]);
  }
  double ends[2] = {at - log((double)n), last - log((double)n)};
  most = fmax(most, fmax(ends[0], ends[1]));
  for (size_t i = 0; i + 1 < n; i++) {
    total += exp(log_part[i] - most);
  }
  return most + log(total + exp(ends[0] - most) + exp(ends[1] - most));
}

double tacit_noise_distribution_log_joint(const tacit_noise_distribution_t *distribution,
                                          const double *values, const double *sums, tacit_change_t change,
                                          double *workspace) {
  return distribution->as.noise == TACIT_RELEASE_EXPONENTIAL
             ? log_chosen(distribution, sums, change, workspace)
             : log_moved(distribution, values, sums, change, workspace);
}

double tacit_released_log_joint(const tacit_population_chain_t *c, const tacit_released_t *r,
                                const double *sums, tacit_change_t change) {
  return tacit_noise_distribution_log_joint(&r->distribution, c->run->values + r->first, sums + r->first,
                                            change, c->workspace);
}
