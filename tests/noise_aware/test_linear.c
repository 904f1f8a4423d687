/* Matrices, and the kernels that go over the surrogate, against plain sums. */
#include <string.h>

#include "base/isa.h"
#include "noise_aware/kernel.h"
#include "noise_aware/fixture.h"

static void random_positive(tacit_rng_t *rng, size_t n, double *a) {
  double *root = malloc(n * n * sizeof *root);
  for (size_t i = 0; i < n * n; i++) {
    root[i] = tacit_rng_normal(rng);
  }
  for (size_t i = 0; i < n * n; i++) {
    a[i] = tacit_dot(n, root + i / n * n, root + i % n * n) + (i / n == i % n ? 0.1 : 0);
  }
  free(root);
}

static void test_matrices_factor_and_invert(void **state) {
  (void)state;
  tacit_rng_t *rng = generator(1);
  for (size_t n = 0; n <= 13; n++) {
    double a[169], factor[169], inverse[169], product[169], values[13], vectors[169], x[13], b[13];
    random_positive(rng, n, a);
    memcpy(factor, a, sizeof a);
    assert_true(tacit_cholesky(n, factor));
    tacit_invert_lower(n, factor, inverse);
    tacit_multiply(n, n, n, factor, inverse, product);
    for (size_t i = 0; i < n * n; i++) {
      assert_close(tacit_dot(n, factor + i / n * n, factor + i % n * n), a[i], 1e-12 * 100);
      assert_close(product[i], i / n == i % n, 1e-9);
    }
    for (size_t i = 0; i < n; i++) {
      x[i] = tacit_rng_normal(rng);
    }
    tacit_multiply(n, n, 1, a, x, b);
    tacit_solve_lower(n, factor, b);
    tacit_solve_upper(n, factor, b);
    for (size_t i = 0; i < n; i++) {
      assert_close(b[i], x[i], 1e-8);
    }
    memcpy(factor, a, sizeof a);
    tacit_eigen(n, factor, values, vectors);
    for (size_t i = 0; i < n * n; i++) {
      double sum = 0;
      for (size_t k = 0; k < n; k++) {
        sum += values[k] * vectors[i / n * n + k] * vectors[i % n * n + k];
      }
      assert_close(sum, a[i], 1e-11);
    }
  }
  tacit_rng_free(rng);
}

static void test_raised_eigenvalues_leave_the_others(void **state) {
  (void)state;
  double a[9] = {2, 0, 0, 0, -1, 0, 0, 0, 0.25}, work[21];
  tacit_raise_eigenvalues(3, a, 0.5, work);
  const double expected[9] = {2, 0, 0, 0, 0.5, 0, 0, 0, 0.5};
  for (size_t i = 0; i < 9; i++) {
    assert_close(a[i], expected[i], 1e-14);
  }
  double indefinite[4] = {1, 2, 2, 1}, nan_matrix[1] = {NAN}, odd[3] = {3, 1, 2}, even[4] = {4, 1, 2, 3};
  assert_false(tacit_cholesky(2, indefinite));
  assert_false(tacit_cholesky(1, nan_matrix));
  assert_close(tacit_median(3, odd), 2, 0);
  assert_close(tacit_median(4, even), 2.5, 0);
  assert_close(tacit_median(0, NULL), 0, 0);
}

extern const tacit_aware_kernel_t tacit_aware_kernel_portable;

static void test_kernels_agree_with_plain_sums_to_the_last_bit_of_each_other(void **state) {
  (void)state;
  enum { n = 48, d = 5, m = 7 };
  tacit_rng_t *rng = generator(2);
  double f[d * n], c[m * n], weight[d * m], y[d * m], same[d * m], out[n], again[n], wide[d * n],
      same_wide[d * n];
  for (size_t i = 0; i < d * n; i++) {
    f[i] = tacit_rng_normal(rng);
  }
  for (size_t i = 0; i < m * n; i++) {
    c[i] = tacit_rng_normal(rng);
  }
  for (size_t i = 0; i < d * m; i++) {
    weight[i] = tacit_rng_normal(rng);
  }
  tacit_aware_kernel()->project(n, d, m, f, c, y);
  tacit_aware_kernel_portable.project(n, d, m, f, c, same);
  assert_memory_equal(y, same, sizeof y);
  for (size_t i = 0; i < d * m; i++) {
    assert_close(y[i], tacit_dot(n, f + i / m * n, c + i % m * n), 1e-12);
  }
  tacit_aware_kernel()->multiply(d, m, n, weight, c, wide);
  tacit_aware_kernel_portable.multiply(d, m, n, weight, c, same_wide);
  assert_memory_equal(wide, same_wide, sizeof wide);
  for (size_t i = 0; i < d * n; i++) {
    double sum = 0;
    for (size_t b = 0; b < m; b++) {
      sum += weight[i / n * m + b] * c[b * n + i % n];
    }
    assert_close(wide[i], sum, 1e-12);
  }
  tacit_aware_kernel()->scale(n, d, f, c, wide);
  assert_true(wide[0] == f[0] * c[0] && wide[d * n - 1] == f[d * n - 1] * c[n - 1]);
  tacit_aware_kernel()->lift(n, d, m, f, weight, c, out);
  tacit_aware_kernel_portable.lift(n, d, m, f, weight, c, again);
  assert_memory_equal(out, again, sizeof out);
  for (size_t k = 0; k < n; k++) {
    double sum = 0;
    for (size_t i = 0; i < d * m; i++) {
      sum += f[i / m * n + k] * weight[i] * c[i % m * n + k];
    }
    assert_close(out[k], sum, 1e-11);
  }
  tacit_rng_free(rng);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_matrices_factor_and_invert),
      cmocka_unit_test(test_raised_eigenvalues_leave_the_others),
      cmocka_unit_test(test_kernels_agree_with_plain_sums_to_the_last_bit_of_each_other),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
