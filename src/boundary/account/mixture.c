/*
 * Renyi divergence of mixtures of Gaussians: of a user's own, and of one record in the place of another in
 * Poisson samples (docs/theory.md, section 9.7).
 */
#include <float.h>
#include <math.h>

#include "account/renyi.h"

enum { max_points = 100000 };

/* The integrand N(x; 0, 1) g(x)^up g(-x)^down, g the mixture's density by that of N(0, 1). */
typedef struct integrand {
  const tacit_pair_t *pair;
  double up, down;
} integrand_t;

static double log_value(const integrand_t *f, double x) {
  double slope, value = f->up * tacit_pair_log_mixture(f->pair, x, &slope) - 0.5 * x * x;
  return f->down < 0 ? value + f->down * tacit_pair_log_mixture(f->pair, -x, &slope) : value;
}

/*
 * Step of the trapezoidal rule. At height v the terms of g have phases within 2 t = v (s_max - s_min) of each
 * other, so that |g| lies between cos t and 1 times its value on the line, and is not 0 for t < pi / 2: the
 * rule errs by 2 B / (e^(2 pi v / h) - 1) of the value, B = e^(v^2 / 2) cos(t)^-n, n the sum of negative
 * powers [Trefethen2014, Theorem 5.1]; here 1e-17.
 */
static double step(const integrand_t *f, double spread) {
  const double pi = 3.14159265358979323846;
  double negative = fmax(-f->up, 0) + fmax(-f->down, 0), angle = fmin(1.2, 6 / sqrt(1 + negative));
  double height = spread > 0 ? fmin(2 * angle / spread, 9) : 9;
  return 2 * pi * height / (41 + 0.5 * height * height - negative * log(cos(0.5 * height * spread)));
}

/*
 * The slope of the logarithm is c - x, c within [low, high]: beyond them the integrand falls as N(0, 1) does,
 * and 9.5 further on 1e-19 of it are left. INFINITY where that takes too many points.
 */
static double log_integral(const integrand_t *f) {
  const tacit_pair_t *pair = f->pair;
  double least = pair->shifts[0], most = pair->shifts[pair->n_weights - 1], h = step(f, most - least);
  double low = fmin(f->up * least, f->up * most) - f->down * least,
         high = fmax(f->up * least, f->up * most) - f->down * most;
  double peak = -INFINITY, total = 0, points = (high - low + 19) / h;
  if (!(points <= max_points)) {
    return INFINITY;
  }
  for (int pass = 0; pass < 2; pass++) {
    for (double i = floor((low - 9.5) / h); i * h <= high + 9.5; i++) {
      double term = log_value(f, i * h);
      peak = pass == 0 ? fmax(peak, term) : peak;
      total += pass == 1 ? exp(term - peak) : 0;
    }
  }
  double farthest = fmax(fabs(low), fabs(high)) + 10, powers = fabs(f->up) + fabs(f->down);
  double rounding = 8 * DBL_EPSILON * (4 + farthest * farthest + powers * (8 + most * farthest));
  return peak + log(total * h) - 0.91893853320467274178 + rounding + powers * pair->weight_error;
}

double tacit_mixture_renyi(const tacit_pair_t *pair, bool is_opposed, double order) {
  const double rounded = 4e-15; /* what weights lack by rounding alone */
  if (pair->infinite > rounded) {
    return INFINITY;
  }
  double most = pair->n_weights > 0 ? pair->shifts[pair->n_weights - 1]
                                    : pair->m; /* no weights: every record is drawn */
  double apart = is_opposed && pair->n_weights > 0 ? 2 * most : most;
  double largest = 0.5 * order * apart * apart * (1 + 8 * DBL_EPSILON);
  if (pair->n_weights == 0) {
    return largest;
  }
  const integrand_t sides[] = {{pair, order, is_opposed ? 1 - order : 0}, {pair, 1 - order, 0}};
  double worst = 0;
  for (size_t side = 0; side < (is_opposed ? 1 : 2);
       side++) { /* one record for another: the same both ways */
    worst = fmax(worst, log_integral(&sides[side]) / (order - 1));
  }
  return fmin(worst, largest); /* mixing never hurts */
}
