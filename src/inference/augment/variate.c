/* Random variates beyond those of tacit/random.h, and a univariate slice update. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "augment/augment_internal.h"

double tacit_draw_gamma(tacit_rng_t *rng, double shape) {
  if (shape < 1) { /* a gamma of shape + 1 times U^(1/shape) */
    return tacit_draw_gamma(rng, shape + 1) * pow(tacit_rng_uniform(rng), 1 / shape);
  }
  double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
  for (;;) {
    double x = tacit_rng_normal(rng), v = 1 + c * x;
    v = v * v * v;
    if (v > 0 && log(tacit_rng_uniform(rng)) < 0.5 * x * x + d - d * v + d * log(v)) {
      return d * v;
    }
  }
}

double tacit_log_factorial(double k) {
  double x = k + 1, product = 1;
  for (; x < 12; x += 1) {
    product *= x;
  }
  double r = 1 / x, r2 = r * r; /* Stirling's series; the next term is below 2e-15 at 12 */
  double series =
      r * (1.0 / 12 - r2 * (1.0 / 360 - r2 * (1.0 / 1260 - r2 * (1.0 / 1680 - r2 * (1.0 / 1188)))));
  return (x - 0.5) * log(x) - x + 0.91893853320467274178 + series - log(product);
}

tacit_status_t tacit_discrete_init(tacit_discrete_t *distribution, size_t capacity, tacit_error_t *err) {
  distribution->capacity = capacity > TACIT_DISCRETE_MIN_CAPACITY ? capacity : TACIT_DISCRETE_MIN_CAPACITY;
  distribution->cumulative = tacit_alloc(distribution->capacity, sizeof *distribution->cumulative);
  return distribution->cumulative != NULL ? TACIT_OK : tacit_error_memory(err);
}

void tacit_discrete_clear(tacit_discrete_t *distribution) {
  tacit_free(distribution->cumulative);
  *distribution = (tacit_discrete_t){0};
}

void tacit_discrete_set(tacit_discrete_t *distribution, double first, size_t n) {
  enum { N_GUIDES = sizeof distribution->guide / sizeof distribution->guide[0] };
  distribution->first = first;
  distribution->n = n;
  for (size_t i = 1; i < n; i++) {
    distribution->cumulative[i] += distribution->cumulative[i - 1];
  }
  double total = distribution->cumulative[n - 1];
  size_t last = 0; /* the last one with a weight: rounding must not lead beyond it */
  for (size_t i = 0; i < n; i++) {
    distribution->cumulative[i] /= total;
    last = i > 0 && distribution->cumulative[i] > distribution->cumulative[i - 1] ? i : last;
  }
  for (size_t i = last; i < n; i++) {
    distribution->cumulative[i] = 1;
  }
  for (size_t g = 0, i = 0; g < N_GUIDES; g++) {
    while (distribution->cumulative[i] <= (double)g / N_GUIDES) {
      i++;
    }
    distribution->guide[g] = (uint32_t)i;
  }
}

void tacit_discrete_set_poisson(tacit_discrete_t *distribution, double rate) {
  const double least =
      1e-20; /* relative to the mode, times the width of the distribution still below 1e-17 */
  double mode = floor(rate), first = mode, p = 1; /* weight of `first`, relative to the mode's */
  while (first > 0 && p > least) {
    p *= first / rate;
    first -= 1;
  }
  size_t n = 0;
  for (double k = first; n < distribution->capacity && (k <= mode || p > least); k += 1) {
    distribution->cumulative[n++] = p;
    p *= rate / (k + 1);
  }
  tacit_discrete_set(distribution, first, n);
}

double tacit_discrete_draw(const tacit_discrete_t *distribution, double uniform) {
  size_t i =
      distribution
          ->guide[(size_t)(uniform * (double)(sizeof distribution->guide / sizeof distribution->guide[0]))];
  while (distribution->cumulative[i] <= uniform) {
    i++;
  }
  return distribution->first + (double)i;
}

double tacit_draw_poisson(tacit_rng_t *rng, double rate) {
  double b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b, log_rate = log(rate);
  double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), quick = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    double u = tacit_rng_uniform(rng) - 0.5, v = tacit_rng_uniform(rng), us = 0.5 - fabs(u);
    double k = floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= quick) {
      return k;
    }
    if (k < 0 || (us < 0.013 && v > us)) {
      continue;
    }
    if (log(v * inverse_alpha / (a / (us * us) + b)) <= k * log_rate - rate - tacit_log_factorial(k)) {
      return k;
    }
  }
}

double tacit_slice(tacit_log_density density, void *user, double x, double *log_at, double width,
                   tacit_rng_t *rng) {
  enum { MAX_STEPS = 16, MAX_SHRINKS = 200 };
  double level = *log_at + log(tacit_rng_uniform(rng));
  double left = x - width * tacit_rng_uniform(rng), right = left + width;
  size_t n_left = (size_t)tacit_rng_below(rng, MAX_STEPS), n_right = MAX_STEPS - 1 - n_left;
  for (; n_left > 0 && density(user, left) > level; n_left--) {
    left -= width;
  }
  for (; n_right > 0 && density(user, right) > level; n_right--) {
    right += width;
  }
  for (int i = 0; i < MAX_SHRINKS; i++) {
    double proposal = left + (right - left) * tacit_rng_uniform(rng), log_proposal = density(user, proposal);
    if (log_proposal >= level) {
      *log_at = log_proposal;
      return proposal;
    }
    *(proposal < x ? &left : &right) = proposal;
  }
  return x; /* the interval has shrunk to x itself */
}
