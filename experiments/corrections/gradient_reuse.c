/* Moments of chains that reuse their last gradient: a target that is not Gaussian, gradients clipped and
 * noisy. */
#include <math.h>

#include "corrections.h"

static double log_target(double q) { return -q * q * q * q / 4 - q * q / 4 + 0.3 * q; }

static double clipped_gradient(double q, tacit_rng_t *rng) {
  double g = -q * q * q - q / 2 + 0.3;
  return fmax(fmin(g, 1.5), -1.5) + 2 * tacit_rng_normal(rng);
}

typedef struct variant {
  bool reuse, penalty,
      keep_new; /* keep_new: the planted error of keeping the last gradient after a rejection */
} variant_t;

static void sample_target(const variant_t *variant, tacit_rng_t *rng, uint64_t n, series_t moments[2]) {
  enum { n_leapfrog = 3 };
  double q = 0, u = clipped_gradient(q, rng), noise_sd = variant->penalty ? 1.0 : 0.0;
  series_init(&moments[0], n);
  series_init(&moments[1], n);
  for (uint64_t i = 0; i < n; i++) {
    double step = 0.9 * tacit_rng_uniform(rng), p = tacit_rng_normal(rng), end = q;
    double current = variant->reuse ? u : clipped_gradient(q, rng), kinetic = p * p / 2;
    for (int j = 0; j < n_leapfrog; j++) {
      p += step / 2 * current;
      end += step * p;
      current = clipped_gradient(end, rng);
      p += step / 2 * current;
    }
    double w = log_target(end) - log_target(q) + kinetic - p * p / 2 + noise_sd * tacit_rng_normal(rng);
    bool accept = tacit_rng_uniform(rng) < metropolis(w - noise_sd * noise_sd / 2);
    q = accept ? end : q;
    u = accept || variant->keep_new ? current : u;
    series_add(&moments[0], q);
    series_add(&moments[1], q * q);
  }
}

static double moment_integrand(double q, const void *ctx) {
  return pow(q, *(const int *)ctx) * exp(log_target(q));
}

static double exact_moment(int power) {
  int zero = 0;
  return integrate(moment_integrand, &power, -6, 6, 400) / integrate(moment_integrand, &zero, -6, 6, 400);
}

static void expect_moments(run_t *run, const variant_t *variant, uint64_t stream, const char *what) {
  series_t moments[2];
  tacit_rng_t *rng = case_rng(run, stream);
  sample_target(variant, rng, run->quick ? 8000000 : 80000000, moments);
  tacit_rng_free(rng);
  for (int k = 0; k < 2; k++) {
    double tolerance = z_limit * series_error(&moments[k]), exact = exact_moment(k + 1),
           mean = series_mean(&moments[k]);
    if (!variant->keep_new) {
      expect_value(run, NONE, mean, exact, tolerance, "exact", "E theta^%d, %s (within %.2g)", k + 1, what,
                   tolerance);
    } else if (k == 1) { /* the check has power: the planted error is seen */
      expect_that(run, fabs(mean - exact) > tolerance, mean, NONE, exact, "biased",
                  "E theta^2, %s (within %.2g)", what, tolerance);
    }
  }
}

void expect_reuse_moments(run_t *run) {
  expect_moments(run, &(variant_t){.reuse = false, .penalty = true}, 1, "gradient redrawn as printed");
  expect_moments(run, &(variant_t){.reuse = true, .penalty = true}, 2, "last gradient reused");
  expect_moments(run, &(variant_t){.reuse = true, .penalty = true, .keep_new = true}, 3,
                 "control: the proposal's gradient kept after a rejection");
}
