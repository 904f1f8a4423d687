/*
 * zCDP and Renyi conversions, for comparison: never below the exact epsilon. Every order alpha = 1 + e^x
 * gives a valid bound, so that the optimal one need not be exact.
 */
#include <float.h>
#include <math.h>

#include "account/account.h"
#include "account/account_internal.h"

double tacit_log_below(double delta) { return log(delta) * (1 + 2 * DBL_EPSILON); }

double tacit_log_above(double delta) { return log(delta) * (1 - 2 * DBL_EPSILON); }

double tacit_exp_above(double log_delta) {
  if (isinf(log_delta) && log_delta < 0) {
    return 0;
  }
  double delta = exp(log_delta) * (1 + 2 * DBL_EPSILON) + DBL_TRUE_MIN;
  return delta > 1 ? 1 : delta;
}

double tacit_zcdp_epsilon(double rho, double log_delta) {
  if (!(rho >= 0) || isnan(log_delta)) {
    return NAN;
  }
  if (log_delta >= 0 || rho <= 0) {
    return 0;
  }
  return (rho + 2 * sqrt(rho) * sqrt(-log_delta)) * (1 + 4 * DBL_EPSILON);
}

/* log delta = -(eps - rho)^2 / (4 rho) */
double tacit_zcdp_log_delta(double rho, double epsilon) {
  if (rho <= 0) {
    return -INFINITY;
  }
  if (epsilon <= rho) {
    return 0;
  }
  double root = (epsilon - rho) / (2 * sqrt(rho));
  return fmax(-root * root * (1 - 8 * DBL_EPSILON), -DBL_MAX);
}

/* Root of an increasing function of x = log(alpha - 1). */
static double order_root(double (*increasing)(double x, double rho, double other), double rho, double other) {
  double lower = -700, upper = 700;
  for (int i = 0; i < 64; i++) {
    double middle = 0.5 * (lower + upper);
    *(increasing(middle, rho, other) < 0 ? &lower : &upper) = middle;
  }
  return 0.5 * (lower + upper);
}

/* (alpha - 1)^2 times the derivative by alpha of epsilon. */
static double epsilon_condition(double x, double rho, double log_delta) {
  return rho * exp(x) * exp(x) + log1p(exp(x)) + log_delta;
}

double tacit_rdp_gaussian_epsilon(double rho, double log_delta, double *alpha) {
  if (!(rho >= 0) || isnan(log_delta)) {
    return NAN;
  }
  bool is_free = rho <= 0 || log_delta >= 0;
  if (is_free || isinf(rho) || isinf(log_delta)) {
    if (alpha != NULL) {
      *alpha = is_free ? INFINITY : NAN;
    }
    return is_free ? 0 : INFINITY;
  }
  double excess = exp(order_root(epsilon_condition, rho, log_delta));
  if (alpha != NULL) {
    *alpha = 1 + excess;
  }
  /* alpha rho + log(1 - 1/alpha) - (log delta + log alpha) / (alpha - 1), and a bound on its rounding */
  double renyi = (1 + excess) * rho, log_ratio = log1p(1 / excess), log_alpha = log1p(excess);
  double epsilon = renyi - log_ratio - (log_delta + log_alpha) / excess;
  double scale = renyi + log_ratio + (log_alpha - log_delta) / excess;
  return fmax(epsilon + 4 * DBL_EPSILON * scale, 0);
}

/* The derivative by alpha of log delta. */
static double log_delta_condition(double x, double rho, double epsilon) {
  return (1 + 2 * exp(x)) * rho - epsilon - log1p(exp(-x));
}

/* log delta = min_alpha (alpha - 1) (alpha rho - eps + log(1 - 1/alpha)) - log alpha */
double tacit_rdp_gaussian_log_delta(double rho, double epsilon) {
  if (rho <= 0) {
    return -INFINITY;
  }
  if (isinf(rho)) {
    return 0;
  }
  double excess = exp(order_root(log_delta_condition, rho, epsilon));
  double renyi = (1 + excess) * rho, log_ratio = log1p(1 / excess), log_alpha = log1p(excess);
  double log_delta = excess * (renyi - epsilon - log_ratio) - log_alpha;
  double scale = excess * (renyi + epsilon + log_ratio) + log_alpha;
  return fmax(fmin(log_delta + 4 * DBL_EPSILON * scale, 0), -DBL_MAX);
}
