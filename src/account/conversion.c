/*
 * zCDP and Renyi conversions, for comparison: never below the exact epsilon.
 */
#include <math.h>

#include "account/account_internal.h"

double tacit_zcdp_epsilon(double rho, double log_delta) {
  if (!(rho >= 0) || isnan(log_delta)) {
    return NAN;
  }
  double epsilon = log_delta >= 0 || rho <= 0 ? 0 : rho + 2 * sqrt(rho * -log_delta);
  return epsilon * (1 + 1e-15);
}

/* The improved conversion at one order alpha = 1 + e^x: a valid epsilon whatever the order. */
static double epsilon_at(double rho, double log_delta, double x) {
  double excess = exp(x), alpha = 1 + excess;
  double log_ratio = x < 30 ? x - log1p(excess) : -exp(-x); /* log(1 - 1/alpha) */
  return alpha * rho + log_ratio - (log_delta + log1p(excess)) / excess;
}

double tacit_rdp_gaussian_epsilon(double rho, double log_delta, double *alpha) {
  if (!(rho >= 0) || isnan(log_delta)) {
    return NAN;
  }
  if (rho <= 0 || log_delta >= 0) {
    if (alpha != NULL) {
      *alpha = INFINITY;
    }
    return 0;
  }
  /* Near x0 = log sqrt(log(1/delta) / rho), the zCDP order; search around it, then narrow down. */
  double best = 0.5 * log(-log_delta / rho), step = 0.25;
  double value = epsilon_at(rho, log_delta, best);
  for (int i = -80; i <= 80; i++) {
    double x = 0.5 * log(-log_delta / rho) + 0.25 * i;
    if (epsilon_at(rho, log_delta, x) < value) {
      best = x;
      value = epsilon_at(rho, log_delta, x);
    }
  }
  while (step > 1e-9) {
    double left = epsilon_at(rho, log_delta, best - step), right = epsilon_at(rho, log_delta, best + step);
    if (left < value || right < value) {
      best += left < right ? -step : step;
      value = fmin(left, right);
    } else {
      step *= 0.5;
    }
  }
  if (alpha != NULL) {
    *alpha = 1 + exp(best);
  }
  return fmax(value, 0) * (1 + 1e-13);
}
