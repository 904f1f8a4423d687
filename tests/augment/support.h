/* Models and releases that the tests share, and their own simulation of records and releases. */
#ifndef AUGMENT_SUPPORT_H
#define AUGMENT_SUPPORT_H

#include <string.h>

#include "augment/augment_internal.h"
#include "tacit/diagnose.h"
#include "testing.h"

typedef struct scenario {
  const char *name;
  tacit_latent_model_t model;
  tacit_release_t release;
  double values[8], scales[8];
  size_t levels[2];
  double concentration[8];
} scenario_t;

/* n records N(mean, sd^2) clamped to [-1, 1.5]; sd 0: unknown. */
static inline void scenario_gaussian(scenario_t *s, size_t n, double sd, tacit_release_noise_t noise,
                                     double scale, double sum) {
  *s = (scenario_t){.name = "gaussian"};
  s->model = (tacit_latent_model_t){.kind = TACIT_LATENT_GAUSSIAN,
                                    .n_records = n,
                                    .mean_location = 0.3,
                                    .mean_scale = 1.2,
                                    .known_sd = sd,
                                    .variance_shape = 4,
                                    .variance_scale = 2};
  s->release =
      (tacit_release_t){.kind = TACIT_RELEASE_SUM, .noise = noise, .lower = -1, .upper = 1.5, .n_values = 1};
  s->values[0] = sum;
  s->scales[0] = scale;
  s->release.values = s->values;
  s->release.scales = s->scales;
}

static inline void scenario_moments(scenario_t *s, size_t n, tacit_release_noise_t noise, double scale,
                                    double sum, double square) {
  scenario_gaussian(s, n, 0, noise, scale, sum);
  s->release.kind = TACIT_RELEASE_MOMENTS;
  s->release.n_values = 2;
  s->values[1] = square;
  s->scales[1] = 1.3 * scale;
}

static inline void scenario_poisson(scenario_t *s, size_t n, tacit_release_noise_t noise, double scale,
                                    double sum) {
  *s = (scenario_t){.name = "poisson"};
  s->model =
      (tacit_latent_model_t){.kind = TACIT_LATENT_POISSON, .n_records = n, .rate_shape = 3, .rate_rate = 1.5};
  s->release =
      (tacit_release_t){.kind = TACIT_RELEASE_SUM, .noise = noise, .lower = 0, .upper = 4, .n_values = 1};
  s->values[0] = sum;
  s->scales[0] = scale;
  s->release.values = s->values;
  s->release.scales = s->scales;
}

/* A 2 x 3 table of two independent factors. */
static inline void scenario_table(scenario_t *s, size_t n, tacit_release_noise_t noise, double scale,
                                  const double counts[6]) {
  static const double concentration[5] = {1.5, 2, 1, 0.8, 2.5};
  *s = (scenario_t){.name = "table"};
  s->levels[0] = 2;
  s->levels[1] = 3;
  memcpy(s->concentration, concentration, sizeof concentration);
  s->model = (tacit_latent_model_t){.kind = TACIT_LATENT_CATEGORICAL,
                                    .n_records = n,
                                    .n_factors = 2,
                                    .n_levels = s->levels,
                                    .concentration = s->concentration};
  s->release = (tacit_release_t){.kind = TACIT_RELEASE_COUNTS, .noise = noise, .n_values = 6};
  for (size_t j = 0; j < 6; j++) {
    s->values[j] = counts[j];
    s->scales[j] = scale;
  }
  s->release.values = s->values;
  s->release.scales = s->scales;
}

static inline tacit_augment_settings_t settings_for(tacit_augment_method_t method, size_t n_draws,
                                                    uint64_t seed) {
  tacit_augment_settings_t s = tacit_augment_settings_default();
  s.method = method;
  s.n_draws = n_draws;
  s.n_warmup = 500;
  tacit_rng_key_from_seed(s.key, seed);
  return s;
}

static inline double test_clamp(const tacit_release_t *release, double x) {
  return fmin(fmax(x, release->lower), release->upper);
}

/* One noise of the release's distribution, drawn by other means than the library's. */
static inline double test_noise(const tacit_release_t *release, size_t j, tacit_rng_t *rng) {
  double scale = release->scales[j];
  double step = release->step > 0 ? release->step : 1;
  switch (release->noise) {
  case TACIT_RELEASE_GAUSSIAN:
    return scale * sqrt(-2 * log(tacit_rng_uniform(rng))) * cos(6.283185307179586 * tacit_rng_uniform(rng));
  case TACIT_RELEASE_LAPLACE:
    return scale * (log(tacit_rng_uniform(rng)) - log(tacit_rng_uniform(rng)));
  default: { /* by inversion over +-60 multiples of the step */
    double total = 0, at, u;
    bool is_gaussian = release->noise == TACIT_RELEASE_DISCRETE_GAUSSIAN;
    for (int pass = 0; pass < 2; pass++) {
      u = pass == 0 ? INFINITY : total * tacit_rng_uniform(rng);
      total = pass == 0 ? 0 : total;
      double sum = 0;
      for (int k = -60; k <= 60; k++) {
        at = k * step;
        sum += exp(is_gaussian ? -0.5 * at * at / (scale * scale) : -fabs(at) / scale);
        if (sum > u) {
          return at;
        }
      }
      total = sum;
    }
    return 0;
  }
  }
}

#endif
