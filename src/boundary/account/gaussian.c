/*
 * The exact composition of Gaussian mechanisms and its inverses (docs/theory.md, section 1).
 *
 * Certified direction. tacit_gaussian_log_delta carries a bound on its own error, from the rounding of each
 * step and the measured errors of erfcx. The inverses bisect on value plus bound (or minus, for lower
 * bounds), which decides every comparison on the safe side, and return the safe end of the last bracket.
 */
#include <float.h>
#include <math.h>

#include "account/account.h"
#include "account/account_internal.h"

static const double unit = 0.5 * DBL_EPSILON;

typedef struct estimate {
  double value, error; /* |value - truth| <= error */
} estimate_t;

/* a >= 0: log delta = -a^2 + log([erfcx(a) - erfcx(a + h)] / 2). */
static double log_delta_right(double a, double h) {
  double slope = tacit_erfcx_slope(a, h), difference = h * slope;
  double log_half = difference >= DBL_MIN ? log(0.5 * difference) : log(h) + log(0.5 * slope);
  return log_half - a * a;
}

/* a <= 0, near 0: delta = erf(|a|) + e^(-a^2) [erfcx(|a|) - erfcx(|a| + w)] / 2, w = h - 2|a| = eps / h >= 0.
 */
static double log_delta_middle(double distance, double width) {
  return log(erf(distance) + 0.5 * exp(-distance * distance) * width * tacit_erfcx_slope(distance, width));
}

/* a < 0: 1 - delta = e^(-a^2) [erfcx(|a|) + erfcx(b)] / 2. */
static double log_delta_left(double distance, double b) {
  return log1p(-0.5 * exp(-distance * distance) * (tacit_erfcx(distance) + tacit_erfcx(b)));
}

/*
 * a, from three roundings, is within 3 units, so a^2 within 7; the factor beside e^(-a^2) is within 1e-14;
 * each sum adds a unit of the result. The bounds are twice that. Left of -1/2, |d log delta| <= 2 |log delta|
 * times the relative error of 1 - delta.
 */
static estimate_t log_delta_estimate(double rho, double epsilon) {
  if (!(rho >= 0) || !(epsilon >= 0) || (isinf(rho) && isinf(epsilon))) {
    return (estimate_t){NAN, NAN};
  }
  if (rho <= 0 || isinf(epsilon)) {
    return (estimate_t){-INFINITY, 0};
  }
  if (isinf(rho)) {
    return (estimate_t){0, 0};
  }
  double h = sqrt(rho), a = (epsilon - rho) / (2 * h), square = a * a;
  if (isinf(square)) {
    return a > 0 ? (estimate_t){-INFINITY, 0} : (estimate_t){0, DBL_MIN};
  }
  double error = 2e-14 + 16 * unit * square;
  if (a < -0.5) {
    double value = log_delta_left(-a, (epsilon + rho) / (2 * h));
    return (estimate_t){value, -value * 2 * error + DBL_MIN};
  }
  double value = a >= 0 ? log_delta_right(a, h) : log_delta_middle(-a, epsilon / h);
  return (estimate_t){value, error - 4 * unit * value};
}

double tacit_gaussian_log_delta(double rho, double epsilon) { return log_delta_estimate(rho, epsilon).value; }

double tacit_gaussian_log_delta_error(double rho, double epsilon) {
  return log_delta_estimate(rho, epsilon).error;
}

double tacit_gaussian_log_delta_upper(double rho, double epsilon) {
  estimate_t log_delta = log_delta_estimate(rho, epsilon);
  if (isnan(log_delta.value) || rho <= 0 || isinf(epsilon)) {
    return log_delta.value;
  }
  if (isinf(log_delta.value)) {
    return -DBL_MAX; /* a^2 beyond the doubles */
  }
  return fmin(log_delta.value + log_delta.error, 0);
}

static double log_delta_lower(double rho, double epsilon) {
  estimate_t log_delta = log_delta_estimate(rho, epsilon);
  return log_delta.value - log_delta.error;
}

double tacit_gaussian_delta(double rho, double epsilon) {
  return tacit_exp_above(tacit_gaussian_log_delta_upper(rho, epsilon));
}

/*
 * bound(rho, epsilon), decreasing in epsilon, is above target at *lower and not above it at *upper: narrow
 * the bracket to a unit in the last place. Far below its upper end, a root is sought by orders of magnitude.
 */
static void narrow(double (*bound)(double rho, double epsilon), double rho, double target, double *lower,
                   double *upper) {
  for (int i = 0; i < 200 && *upper - *lower > DBL_EPSILON * *upper; i++) {
    double middle =
        *lower > 0 && *upper / *lower > 4 ? sqrt(*lower) * sqrt(*upper) : *lower + 0.5 * (*upper - *lower);
    *(bound(rho, middle) <= target ? upper : lower) = middle;
  }
}

double tacit_gaussian_epsilon(double rho, double log_delta) {
  if (!(rho >= 0) || isnan(log_delta)) {
    return NAN;
  }
  if (rho <= 0 || tacit_gaussian_log_delta_upper(rho, 0) <= log_delta) {
    return 0;
  }
  double lower = 0, upper = tacit_zcdp_epsilon(rho, log_delta) * (1 + 1e-9) + DBL_MIN;
  while (upper <= DBL_MAX && !(tacit_gaussian_log_delta_upper(rho, upper) <= log_delta)) {
    lower = upper; /* zCDP bounds the true epsilon, not the error of the evaluation */
    upper *= 2;
  }
  if (!(upper <= DBL_MAX)) {
    return INFINITY;
  }
  narrow(tacit_gaussian_log_delta_upper, rho, log_delta, &lower, &upper);
  return upper;
}

double tacit_gaussian_epsilon_lower(double rho, double log_delta) {
  double lower = 0, upper = tacit_gaussian_epsilon(rho, log_delta);
  if (!(upper > 0 && upper <= DBL_MAX) || !(log_delta_lower(rho, 0) > log_delta)) {
    return 0;
  }
  narrow(log_delta_lower, rho, log_delta, &lower, &upper);
  return lower;
}

/* Start of the search for rho: zCDP's conversion solved for it, and pi delta^2 from delta(eps) <= sqrt(rho /
 * pi). */
static double rho_guess(double epsilon, double log_delta) {
  double root = epsilon / (sqrt(epsilon - log_delta) + sqrt(-log_delta));
  return fmax(fmax(fmin(root * root, DBL_MAX), 3 * exp(2 * log_delta)) * (1 - 1e-9), DBL_MIN);
}

double tacit_gaussian_rho(double epsilon, double log_delta) {
  if (!(epsilon >= 0) || isnan(log_delta)) {
    return NAN;
  }
  if (log_delta >= 0 || isinf(epsilon)) {
    return INFINITY;
  }
  double lower = isinf(log_delta) ? 0 : rho_guess(epsilon, log_delta);
  while (lower > 0 && !(tacit_gaussian_log_delta_upper(lower, epsilon) <= log_delta)) {
    lower = lower > DBL_MIN ? fmax(0.5 * lower, DBL_MIN) : 0;
  }
  if (lower <= 0) {
    return 0;
  }
  double upper = 2 * lower;
  while (upper <= DBL_MAX && tacit_gaussian_log_delta_upper(upper, epsilon) <= log_delta) {
    lower = upper;
    upper *= 2;
  }
  if (!(upper <= DBL_MAX)) {
    return lower; /* no number is twice as large: a bracket that ends at infinity cannot be narrowed */
  }
  while (upper - lower > DBL_EPSILON * lower) {
    double middle = lower + 0.5 * (upper - lower);
    *(tacit_gaussian_log_delta_upper(middle, epsilon) <= log_delta ? &lower : &upper) = middle;
  }
  return lower;
}

/*
 * The trade-off function of epsilon-DP is a polygon with vertices (0, 1), (a, a), (1, 0), a = 1 / (1 +
 * e^epsilon). That of the Gaussian is convex and passes through its ends: it lies below the polygon as soon
 * as it does at the middle vertex, where Phi(Phi^-1(1 - a) - mu) = a for mu = 2 Phi^-1(1 - a).
 */
double tacit_pure_gaussian_multiplier(double epsilon) {
  if (!(epsilon > 0 && epsilon <= 700)) {
    return NAN;
  }
  double tail = 1 / (1 + exp(epsilon)), low = 0, high = 40;
  for (int i = 0; i < 200; i++) {
    double z = 0.5 * (low + high);
    *(0.5 * erfc(z * 0.70710678118654752440) > tail ? &low : &high) = z;
  }
  return 0.5 / high * (1 - 1e-9);
}
