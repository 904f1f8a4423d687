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

/* A place on the way: theta (d), log density and gradient (d) there. */
typedef struct place {
  double theta[TACIT_NOISE_AWARE_MAX_FEATURES], value, grad[TACIT_NOISE_AWARE_MAX_FEATURES];
} place_t;

static void look(tacit_aware_posterior_t *p, place_t *place) {
  place->value = tacit_aware_posterior_log_density(p, place->theta, place->grad);
}

static void step(size_t d, const place_t *from, double length, const double *direction, place_t *to) {
  for (size_t j = 0; j < d; j++) {
    to->theta[j] = from->theta[j] + length * direction[j];
  }
}

/* Of shorter steps along `direction` and `to`, which is a whole one, move `from` to the best if the density
 * rises there. */
static void search(tacit_aware_posterior_t *p, const double *direction, place_t *to, place_t *from) {
  static const double steps[] = {0.5, 0.25, 0.1, 0.03};
  place_t start = *from, best = to->value > from->value ? *to : *from;
  for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++) {
    step(p->surrogate->d, &start, steps[s], direction, to);
    to->value = tacit_aware_posterior_log_density(p, to->theta, NULL);
    best = to->value > best.value ? *to : best;
  }
  *from = best;
  look(p, from); /* what comes next takes it as evaluated last */
}

/* A whole step where the density rises by a fair part of what its slope promises; does it rise? */
static bool climb(tacit_aware_posterior_t *p, const double *direction, place_t *at) {
  static const double fair = 0.4, negligible = 1e-9; /* half of it where the density is a parabola */
  double before = at->value, promised = tacit_dot(p->surrogate->d, direction, at->grad);
  if (!(promised > negligible)) {
    return false;
  }
  place_t to;
  step(p->surrogate->d, at, 1, direction, &to);
  look(p, &to);
  if (to.value >= before + fair * promised) {
    *at = to;
  } else {
    search(p, direction, &to, at);
  }
  return at->value > before + negligible;
}

tacit_status_t tacit_aware_mode(tacit_aware_posterior_t *posterior, double *theta, double *factor,
                                tacit_error_t *err) {
  size_t d = posterior->surrogate->d;
  double direction[TACIT_NOISE_AWARE_MAX_FEATURES], *precision = factor;
  place_t at;
  memcpy(at.theta, theta, d * sizeof *theta);
  look(posterior, &at);
  bool is_rising = true, ok = isfinite(at.value);
  for (int i = 0; i <= MAX_ITERATIONS && ok; i++) {
    ok = factorise(posterior, at.theta, precision);
    if (!ok || !is_rising || i == MAX_ITERATIONS) {
      break;
    }
    memcpy(direction, at.grad, d * sizeof *direction);
    tacit_solve_lower(d, precision, direction);
    tacit_solve_upper(d, precision, direction);
    is_rising = climb(posterior, direction, &at);
    ok = isfinite(at.value);
  }
  memcpy(theta, at.theta, d * sizeof *theta);
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
