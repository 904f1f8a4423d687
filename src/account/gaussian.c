/*
 * The exact composition of Gaussian mechanisms and its inverses (docs/theory.md, section 1).
 */
#include <float.h>
#include <math.h>

#include "account/account_internal.h"

/* a and h = b - a of the formula: a = (eps - rho) / (2 sqrt rho), h = sqrt rho. */
static double lower_argument(double rho, double epsilon) {
  return (epsilon - rho) / (2 * sqrt(rho));
}

double tacit_gaussian_log_delta(double rho, double epsilon) {
  if (!(rho >= 0) || !(epsilon >= 0)) {
    return NAN;
  }
  if (rho <= 0 || (isinf(epsilon) && !isinf(rho))) {
    return -INFINITY;
  }
  if (isinf(rho)) {
    return isinf(epsilon) ? NAN : 0;
  }
  double a = lower_argument(rho, epsilon), h = sqrt(rho);
  if (a > -1) {
    if (isinf(a * a)) {
      return -INFINITY;
    }
    return -a * a + log(0.5 * tacit_erfcx_difference(a, h));
  }
  /* a <= -1 means h > 2: 1 - delta = (erfc(-a) + e^(-a^2) erfcx(a + h)) / 2 is small and positive */
  return log1p(-0.5 * (erfc(-a) + exp(-a * a) * tacit_erfcx(a + h)));
}

double tacit_gaussian_log_delta_error(double rho, double epsilon) {
  double a = lower_argument(rho, epsilon);
  /* the formula itself; a has relative error 4 units in the last place, a^2 twice that */
  return 1e-13 + 16 * DBL_EPSILON * a * a;
}

static double log_delta_upper(double rho, double epsilon) {
  double log_delta = tacit_gaussian_log_delta(rho, epsilon);
  if (isinf(log_delta)) {
    /* rho == 0, or a^2 beyond the range of doubles: delta is below every positive double's logarithm */
    return rho <= 0 ? -INFINITY : -DBL_MAX;
  }
  return log_delta + tacit_gaussian_log_delta_error(rho, epsilon);
}

double tacit_gaussian_delta(double rho, double epsilon) {
  double log_delta = log_delta_upper(rho, epsilon);
  if (isnan(log_delta)) {
    return NAN;
  }
  double delta = exp(log_delta);
  delta = delta > 0 ? delta * (1 + 4 * DBL_EPSILON) : rho > 0 ? DBL_TRUE_MIN : 0;
  return delta < 1 ? delta : 1;
}

/* Bracket of the least epsilon with log_delta_upper <= log_delta; false if there is none. */
static bool bracket_epsilon(double rho, double log_delta, double *lower, double *upper) {
  *lower = 0;
  *upper = 0;
  if (log_delta_upper(rho, 0) <= log_delta) {
    return true;
  }
  *upper = (rho + 2 * sqrt(rho * -log_delta)) * (1 + 1e-9) + DBL_MIN;
  while (!(log_delta_upper(rho, *upper) <= log_delta)) { /* zCDP bounds it but for rounding */
    *lower = *upper;
    *upper *= 2;
    if (!(*upper <= DBL_MAX)) {
      return false;
    }
  }
  for (int i = 0; i < 2100 && *upper - *lower > 1e-14 * *upper; i++) {
    double middle = *lower > 0 && *upper / *lower > 4 ? sqrt(*lower) * sqrt(*upper) : 0.5 * (*lower + *upper);
    if (!(middle > *lower && middle < *upper)) {
      break;
    }
    *(log_delta_upper(rho, middle) <= log_delta ? upper : lower) = middle;
  }
  return true;
}

double tacit_gaussian_epsilon(double rho, double log_delta) {
  if (!(rho >= 0) || isnan(log_delta)) {
    return NAN;
  }
  if (rho <= 0 || log_delta >= 0) {
    return 0;
  }
  double lower, upper;
  return !isinf(rho) && !isinf(log_delta) && bracket_epsilon(rho, log_delta, &lower, &upper) ? upper : INFINITY;
}

double tacit_gaussian_epsilon_lower(double rho, double log_delta) {
  if (!(rho > 0) || !(log_delta < 0)) {
    return 0;
  }
  /* Where the evaluated log delta exceeds log_delta by twice its error, the true one exceeds it too. */
  double epsilon = tacit_gaussian_epsilon(rho, log_delta);
  if (isinf(epsilon)) {
    return 0;
  }
  double step = 1e-13 * epsilon;
  while (epsilon > 0) {
    double log_true = tacit_gaussian_log_delta(rho, epsilon) - tacit_gaussian_log_delta_error(rho, epsilon);
    if (log_true > log_delta) {
      return epsilon;
    }
    epsilon -= step;
    step *= 2;
  }
  return 0;
}

double tacit_gaussian_rho(double epsilon, double log_delta) {
  if (!(epsilon >= 0) || isnan(log_delta)) {
    return NAN;
  }
  if (log_delta >= 0 || isinf(epsilon)) {
    return INFINITY;
  }
  if (isinf(log_delta)) {
    return 0;
  }
  double lower = 0, upper = DBL_MIN;
  while (log_delta_upper(upper, epsilon) <= log_delta) {
    lower = upper;
    upper *= 4;
    if (!(upper <= DBL_MAX)) {
      return lower;
    }
  }
  while (upper - lower > DBL_EPSILON * lower) {
    double middle = 0.5 * (lower + upper);
    if (!(middle > lower && middle < upper)) {
      break;
    }
    *(log_delta_upper(middle, epsilon) <= log_delta ? &lower : &upper) = middle;
  }
  return lower;
}
