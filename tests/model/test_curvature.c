/* Curvature of the families: second differences of the log-likelihood agree with it, and its bound holds. */
#include "model_testing.h"

#include "formula/glm.h"

enum { p = 3, max_dim = 2 * p + 1 };

typedef struct family_case {
  tacit_glm_kernel_t kernel;
  double y;
} family_case_t;

static const family_case_t cases[] = {
    {{TACIT_FAMILY_BERNOULLI, p, 1, 0, 0, true}, 1},   {{TACIT_FAMILY_POISSON, p, 1, 0, 0, true}, 3},
    {{TACIT_FAMILY_POISSON, p, 1, 0, 0, false}, 2},    {{TACIT_FAMILY_GAUSSIAN, p, 1, 0, 0.3, true}, 0.4},
    {{TACIT_FAMILY_GAUSSIAN, p, 1, 1, 0, true}, -0.2}, {{TACIT_FAMILY_CATEGORICAL, p, 2, 0, 0, true}, 2}};

static double log_lik(const family_case_t *c, const float *block, const double *theta) {
  double out[16];
  tacit_glm_functions()->log_lik(&c->kernel, block, 1, theta, out);
  return out[0];
}

static double next(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(*state >> 11) * 0x1p-52 - 1;
}

static void check(const family_case_t *c, uint64_t *state) {
  float block[(p + 1) * 16] = {0};
  double x[p], theta[max_dim], weights[3], bound[3];
  size_t dim = c->kernel.n_linear * p + c->kernel.n_extra;
  for (size_t j = 0; j < p; j++) {
    x[j] = c->kernel.has_intercept && j == 0 ? 1 : (double)(float)next(state);
    block[j * 16] = (float)x[j];
  }
  block[p * 16] = (float)c->y;
  for (size_t j = 0; j < dim; j++) {
    theta[j] = 1.5 * next(state);
  }
  tacit_glm_curvature(&c->kernel, x, theta, weights);
  tacit_glm_curvature_bound(&c->kernel, theta, bound);
  for (size_t r = 0; r < c->kernel.n_linear + c->kernel.n_extra; r++) {
    assert_true(weights[r] >= 0 && weights[r] <= bound[r] * (1 + 1e-12));
  }
  const double h = 1e-3;
  for (size_t i = 0; i < c->kernel.n_linear * p; i++) {
    double at = theta[i], middle = log_lik(c, block, theta);
    theta[i] = at + h;
    double up = log_lik(c, block, theta);
    theta[i] = at - h;
    double second = -(up + log_lik(c, block, theta) - 2 * middle) / (h * h),
           expected = weights[i / p] * x[i % p] * x[i % p];
    theta[i] = at;
    assert_close(second, expected, 1e-5 * fmax(1, expected));
  }
  if (c->kernel.n_extra == 1) {
    assert_close(weights[1], 2, 0); /* E (d l / d log sigma)^2 */
  }
}

static void test_curvature_is_the_second_derivative_and_below_its_bound(void **state) {
  uint64_t seed = 7;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    for (int round = 0; round < 300; round++) {
      check(&cases[i], &seed);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_curvature_is_the_second_derivative_and_below_its_bound)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
