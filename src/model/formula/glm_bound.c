/*
 * Public bounds of |l(theta') - l(theta)| over all records with features in [-1, 1]^p. Each factor
 * 1 + 1e-12 exceeds the rounding of the sums: at most 2^-53 a term and 2^14 terms.
 */
#include <math.h>

#include "formula/glm.h"

static const double ROUND_UP = 1 + 1e-12;

/*
 * l = y eta - log(1 + e^eta) has dl/deta = y - logistic(eta) in [-1, 1], so l is 1-Lipschitz in
 * eta = x . theta, and |x . d| <= ||d||_1 for x in the cube, d = theta' - theta. The supremum over
 * theta at a given d is ||d||_1: x = sign(d), y = 1, eta -> -infinity.
 */
double tacit_glm_bernoulli_ratio_bound(const void *ctx, const double *theta, const double *theta_prop) {
  const tacit_glm_kernel_t *kernel = ctx;
  double sum = 0;
  for (size_t j = 0; j < kernel->n_features; j++) {
    sum += fabs(theta_prop[j] - theta[j]);
  }
  return sum * ROUND_UP;
}

/* ||d_a - d_b||_1 for two classes; b may be the reference, whose coefficients are zero: b == NULL. */
static double distance(size_t p, const double *theta_a, const double *prop_a, const double *theta_b,
                       const double *prop_b) {
  double sum = 0;
  for (size_t j = 0; j < p; j++) {
    double other = theta_b != NULL ? prop_b[j] - theta_b[j] : 0;
    sum += fabs((prop_a[j] - theta_a[j]) - other);
  }
  return sum;
}

/*
 * l = eta_y - log sum_c e^eta_c with eta_0 = 0. Let delta_c = x . d_c be the change of eta_c
 * (delta_0 = 0). The log-sum-exp changes by a value in [min_c delta_c, max_c delta_c], hence
 *
 *     |l(theta') - l(theta)| <= max_c delta_c - min_c delta_c = max_{a, b} x . (d_a - d_b),
 *
 * whose maximum over the cube is max_{a, b} ||d_a - d_b||_1 with d_0 = 0: attained when y = a and
 * class b holds nearly all of the probability.
 */
double tacit_glm_categorical_ratio_bound(const void *ctx, const double *theta, const double *theta_prop) {
  const tacit_glm_kernel_t *kernel = ctx;
  size_t p = kernel->n_features;
  double largest = 0;
  for (size_t a = 0; a < kernel->n_linear; a++) {
    const double *theta_a = theta + a * p, *prop_a = theta_prop + a * p;
    largest = fmax(largest, distance(p, theta_a, prop_a, NULL, NULL));
    for (size_t b = 0; b < a; b++) {
      largest = fmax(largest, distance(p, theta_a, prop_a, theta + b * p, theta_prop + b * p));
    }
  }
  return largest * ROUND_UP;
}
