/*
 * Cumulative distributions of known numbers: the incomplete gamma and beta functions, by series where they
 * converge fast and by continued fractions elsewhere, as logarithms of either tail.
 */
#include "program/cumulative.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST_TERMS = 100000 };

static double log1m_exp(double x) { return x > -0.69314718055994531 ? log(-expm1(x)) : log1p(-exp(x)); }

/* tails[0] <- log P(a, x), tails[1] <- log of 1 less it. */
static void gamma_tails(double a, double x, double tails[2]) {
  double front = a * log(x) - x - lgamma(a);
  if (!(x > 0)) {
    tails[0] = -INFINITY;
    tails[1] = 0;
  } else if (x == INFINITY) {
    tails[0] = 0;
    tails[1] = -INFINITY;
  } else if (x < a + 1) { /* x^a e^-x / gamma(a + 1) (1 + x / (a + 1) + ...) */
    double term = 1, sum = 1;
    for (int k = 1; k < MOST_TERMS && term > sum * 1e-17; k++) {
      term *= x / (a + k);
      sum += term;
    }
    tails[0] = fmin(front - log(a) + log(sum), 0);
    tails[1] = log1m_exp(tails[0]);
  } else { /* Lentz's evaluation of Legendre's fraction */
    double b = x + 1 - a, c = 1 / DBL_MIN, d = 1 / b, h = d;
    for (int k = 1; k < MOST_TERMS; k++) {
      double an = -k * (k - a);
      b += 2;
      d = 1 / (an * d + b);
      c = b + an / c;
      h *= d * c;
      if (fabs(d * c - 1) < 1e-16) {
        break;
      }
    }
    tails[1] = fmin(front + log(h), 0);
    tails[0] = log1m_exp(tails[1]);
  }
}

static double beta_fraction(double a, double b, double x) {
  double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), h = d;
  for (int m = 1; m < MOST_TERMS; m++) {
    double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
           odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / (1 + even * d);
    c = 1 + even / c;
    h *= d * c;
    d = 1 / (1 + odd * d);
    c = 1 + odd / c;
    h *= d * c;
    if (fabs(d * c - 1) < 1e-16) {
      break;
    }
  }
  return h;
}

/* The same of I_x(a, b); y is 1 - x. */
static void beta_tails(double a, double b, double x, double y, double tails[2]) {
  double front = a * log(x) + b * log(y) - (lgamma(a) + lgamma(b) - lgamma(a + b));
  if (!(x > 0) || !(y > 0)) {
    tails[0] = x > 0 ? 0 : -INFINITY;
    tails[1] = x > 0 ? -INFINITY : 0;
  } else if (x < (a + 1) / (a + b + 2)) {
    tails[0] = fmin(front + log(beta_fraction(a, b, x) / a), 0);
    tails[1] = log1m_exp(tails[0]);
  } else {
    tails[1] = fmin(front + log(beta_fraction(b, a, y) / b), 0);
    tails[0] = log1m_exp(tails[1]);
  }
}

static void of_gamma(const double *x, double *tails) { gamma_tails(x[1], x[0] * x[2], tails); }
static void of_inv_gamma(const double *x, double *tails) {
  double swapped[2];
  gamma_tails(x[1], x[0] > 0 ? x[2] / x[0] : INFINITY, swapped);
  tails[0] = swapped[1];
  tails[1] = swapped[0];
}
static void of_chi_square(const double *x, double *tails) { gamma_tails(0.5 * x[1], 0.5 * x[0], tails); }
static void of_beta(const double *x, double *tails) { beta_tails(x[1], x[2], x[0], 1 - x[0], tails); }
static void of_student(const double *x, double *tails) { /* half the probability beyond |z| */
  double nu = x[1], z = (x[0] - x[2]) / x[3], share = nu / (nu + z * z), both[2];
  beta_tails(0.5 * nu, 0.5, share, z * z / (nu + z * z), both);
  double outer = both[0] - 0.69314718055994531, inner = log1m_exp(outer);
  tails[0] = z < 0 ? outer : inner;
  tails[1] = z < 0 ? inner : outer;
}

static const struct {
  const char *name;
  size_t n; /* arguments, the outcome among them; from the second, less the location, they are positive */
  void (*tails)(const double *x, double *tails);
} distributions[] = {{"gamma", 3, of_gamma},
                     {"inv_gamma", 3, of_inv_gamma},
                     {"chi_square", 2, of_chi_square},
                     {"beta", 3, of_beta},
                     {"student_t", 4, of_student}};

bool tacit_cumulative(const char *name, size_t n, const double *x, double *value) {
  for (size_t i = 0; i < sizeof distributions / sizeof distributions[0]; i++) {
    size_t m = strlen(distributions[i].name);
    bool is_lower = strcmp(name + (strncmp(name, distributions[i].name, m) == 0 ? m : 0), "_lcdf") == 0;
    bool is_upper = strcmp(name + (strncmp(name, distributions[i].name, m) == 0 ? m : 0), "_lccdf") == 0;
    if (!(is_lower || is_upper) || n != distributions[i].n) {
      continue;
    }
    double tails[2];
    if (x != NULL) {
      bool is_legal = x[1] > 0 && x[n - 1] > 0;
      distributions[i].tails(x, tails);
      *value = is_legal ? tails[is_upper] : (double)NAN;
    }
    return true;
  }
  return false;
}
