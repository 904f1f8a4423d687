/* From counts to a lower bound of epsilon. */
#include <stdlib.h>

#include "audit.h"

/* Continued fraction of the incomplete beta function, DLMF 8.17.22, by the modified Lentz method. */
static double beta_fraction(double a, double b, double x) {
  static const double tiny = 1e-300;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  d = 1 / (fabs(d) < tiny ? tiny : d);
  double value = d;
  for (int m = 1; m < 2000; m++) {
    double k = m, step = 1;
    for (int odd = 0; odd < 2; odd++) {
      double term = odd ? -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1))
                        : k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k));
      d = 1 + term * d;
      d = 1 / (fabs(d) < tiny ? tiny : d);
      c = 1 + term / c;
      c = fabs(c) < tiny ? tiny : c;
      step = c * d;
      value *= step;
    }
    if (fabs(step - 1) < 1e-14) {
      break;
    }
  }
  return value;
}

/* P(Beta(a, b) <= x). */
static double beta_distribution(double a, double b, double x) {
  if (!(x > 0 && x < 1)) {
    return x > 0 ? 1 : 0;
  }
  double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                   : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double binomial_lower(double successes, double n, double alpha) {
  double low = 0, high = successes / n;
  for (int i = 0; successes > 0 && i < 60; i++) {
    double middle = 0.5 * (low + high);
    *(beta_distribution(successes, n - successes + 1, middle) <= alpha ? &low : &high) = middle;
  }
  return low;
}

double binomial_upper(double successes, double n, double alpha) {
  return 1 - binomial_lower(n - successes, n, alpha);
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* How many of x, sorted, are at least t. */
static double count_from(const double *x, size_t n, double t) {
  size_t low = 0, high = n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (x[middle] < t) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return (double)(n - low);
}

static double bound_from(double p, double q, double n, double delta, double alpha) {
  double least = binomial_lower(p, n, 0.5 * alpha) - delta;
  return least > 0 ? fmax(log(least / binomial_upper(q, n, 0.5 * alpha)), 0) : 0;
}

enum { TRIAL = 4 }; /* one run in so many is spent on the choice of the threshold */

/*
 * The threshold t by which "p at least t" bounds epsilon best, were the other runs, TRIAL - 1 times as many,
 * like these; arrays sorted.
 */
static double best_threshold(const double *p, const double *q, size_t n, double delta, double alpha,
                             double *best) {
  enum { n_candidates = 60 };
  double threshold = INFINITY, more = TRIAL - 1;
  *best = -1;
  for (size_t i = 0; i < 2 * n_candidates; i++) {
    double share = ((double)(i / 2) + 0.5) / n_candidates;
    double t = (i % 2 ? p : q)[n - 1 - (size_t)(share * share * (double)n)]; /* densest in the upper tail */
    double bound =
        bound_from(more * count_from(p, n, t), more * count_from(q, n, t), more * (double)n, delta, alpha);
    if (bound > *best) {
      *best = bound;
      threshold = t;
    }
  }
  return threshold;
}

double epsilon_lower_bound(double *evidence[2], size_t n, double delta, double alpha) {
  size_t n_trial = n / TRIAL, n_rest = n - n_trial;
  double most = -1, judged = 0;
  for (int turned = 0; turned < 2; turned++) { /* the other way round, evidence changes its sign */
    for (int side = 0; side < 2; side++) {
      for (size_t i = 0; turned && i < n; i++) {
        evidence[side][i] = -evidence[side][i];
      }
      qsort(evidence[side], n_trial, sizeof(double), compare);
      qsort(evidence[side] + n_trial, n_rest, sizeof(double), compare);
    }
    const double *p = evidence[turned], *q = evidence[!turned];
    double expected, t = best_threshold(p, q, n_trial, delta, alpha, &expected);
    if (expected > most) {
      most = expected;
      judged = bound_from(count_from(p + n_trial, n_rest, t), count_from(q + n_trial, n_rest, t),
                          (double)n_rest, delta, alpha);
    }
  }
  return judged;
}

static double hockey_stick(const double *p, const double *q, size_t n, double epsilon) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += fmax(p[i] - exp(epsilon) * q[i], 0);
  }
  return sum;
}

double epsilon_of_distributions(const double *p, const double *q, size_t n, double delta) {
  double low = 0, high = 100;
  for (int i = 0; i < 60; i++) {
    double middle = 0.5 * (low + high);
    bool holds = fmax(hockey_stick(p, q, n, middle), hockey_stick(q, p, n, middle)) <= delta;
    *(holds ? &high : &low) = middle;
  }
  return low;
}
