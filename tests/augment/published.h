/* Likelihoods of published numbers, by other formulas than the library's. */
#ifndef AUGMENT_PUBLISHED_H
#define AUGMENT_PUBLISHED_H

#include <math.h>

#include "augment/augment.h"

#define DISTRIBUTION(kind, s, r, lo, up)                                                                     \
  { .noise = TACIT_RELEASE_##kind, .scale = (s), .rounded = (r), .lower = (lo), .upper = (up) }

static inline double weight_of(const tacit_noisy_t *s, double e) {
  bool is_square = s->noise == TACIT_RELEASE_GAUSSIAN || s->noise == TACIT_RELEASE_DISCRETE_GAUSSIAN;
  return is_square ? exp(-0.5 * e * e / (s->scale * s->scale)) : exp(-fabs(e) / s->scale);
}

/* P(a <= noise <= b), up to a constant of the distribution. */
static inline double mass(const tacit_noisy_t *s, double a, double b) {
  double sum = 0;
  if (s->noise == TACIT_RELEASE_DISCRETE_GAUSSIAN || s->noise == TACIT_RELEASE_DISCRETE_LAPLACE) {
    for (double e = -400; e <= 400; e++) {
      sum += e >= a && e <= b ? weight_of(s, e) : 0;
    }
    return sum;
  }
  enum { STEPS = 4000 }; /* Simpson's rule, between -40 and 40 scales, from kink to end */
  double ends[3] = {fmax(a, -40 * s->scale), fmin(fmax(0, a), b), fmin(b, 40 * s->scale)};
  for (int part = 0; part < 2; part++) {
    double h = (ends[part + 1] - ends[part]) / STEPS;
    for (int i = 0; h > 0 && i <= STEPS; i++) {
      sum += h / 3 * (i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2) * weight_of(s, ends[part] + i * h);
    }
  }
  return sum;
}

static inline double published_as(const tacit_noisy_t *s, double y, double sum) {
  bool is_discrete =
      s->noise == TACIT_RELEASE_DISCRETE_GAUSSIAN || s->noise == TACIT_RELEASE_DISCRETE_LAPLACE;
  double half = 0.5 * s->rounded - (is_discrete ? 0.25 : 0);
  if (y > s->lower && y < s->upper && !(s->rounded > 0)) {
    return weight_of(s, y - sum);
  }
  half = half > 0 ? half : is_discrete ? 0.25 : 0;
  return mass(s, y <= s->lower ? -INFINITY : y - half - sum, y >= s->upper ? INFINITY : y + half - sum);
}

#endif
