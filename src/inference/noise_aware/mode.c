/* A mode of the posterior, by ascent preconditioned with the Gauss-Newton precision. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "noise_aware/noise_aware_internal.h"

enum { MAX_ITERATIONS = 40 };

/* Lower factor of the precision at theta, which was evaluated last; a ridge is added until it is positive. */
static bool factorise(tacit_aware_posterior_t *p, const double *theta, double *precision) {
  size_t d = p->surrogate->d;
  double ridge = 0, largest = 0;
  for (int attempt = 0; attempt < 8; attempt++) {
    tacit_aware_posterior_precision(p, theta, precision);
    for (size_t i = 0; i < d; i++) {
      largest = fmax(largest, precision[i * d + i]);
      precision[i * d + i] += ridge;
    }
    if (tacit_cholesky(d, precision)) {
      return true;
    }
    ridge = ridge > 0 ? 100 * ridge : 1e-12 * largest;
  }
  return false;
}

/* Try the steps along `direction`; move theta to the best one if the density rises. */
static bool search(tacit_aware_posterior_t *p, const double *direction, double *theta, double *value) {
  static const double steps[] = {1, 0.5, 0.25, 0.1, 0.03};
  size_t d = p->surrogate->d;
  double start[TACIT_NOISE_AWARE_MAX_FEATURES], point[TACIT_NOISE_AWARE_MAX_FEATURES], before = *value;
  memcpy(start, theta, d * sizeof *start);
  for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++) {
    for (size_t j = 0; j < d; j++) {
      point[j] = start[j] + steps[s] * direction[j];
    }
    double here = tacit_aware_posterior_log_density(p, point, NULL);
    if (here > *value) {
      *value = here;
      memcpy(theta, point, d * sizeof *theta);
    }
  }
  return *value > before + 1e-9;
}

tacit_status_t tacit_aware_mode(tacit_aware_posterior_t *posterior, double *theta, double *factor,
                                tacit_error_t *err) {
  size_t d = posterior->surrogate->d;
  double direction[TACIT_NOISE_AWARE_MAX_FEATURES], *precision = factor;
  bool is_rising = true, ok = true;
  for (int i = 0; i <= MAX_ITERATIONS && ok; i++) {
    double value = tacit_aware_posterior_log_density(posterior, theta, direction);
    ok = isfinite(value) && factorise(posterior, theta, precision);
    if (!ok || !is_rising || i == MAX_ITERATIONS) {
      break;
    }
    tacit_solve_lower(d, precision, direction);
    tacit_solve_upper(d, precision, direction);
    is_rising = search(posterior, direction, theta, &value);
  }
  if (!ok) {
    return tacit_error_set(
        err, TACIT_ERR_NUMERIC, "prior",
        "the posterior given the releases has no density to climb: give every coefficient a proper prior");
  }
  /* precision = L L' has inverse U U' with U = L^-T; the lower factor of that inverse is wanted */
  tacit_invert_factored(d, precision, posterior->temporary, factor);
  for (size_t i = 0; i < d; i++) { /* more than the rounding of the sums above */
    factor[i * d + i] *= 1 + 1e-9;
  }
  return tacit_cholesky(d, factor)
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_NUMERIC, "posterior",
                               "the posterior given the releases is numerically flat or singular");
}
