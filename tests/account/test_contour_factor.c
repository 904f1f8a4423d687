/* A factor of a contour integral on a line: its values against whole moments and sums, with the errors that
 * it states. */
#include "support.h"

#include <string.h>

#include "account/moment.h"

enum { n_line = 240, n_short = 40 };

typedef struct walked {
  tacit_exact_sum_t sums[2 * n_line];
  double error[n_line];
  tacit_product_t product;
} walked_t;

static bool walk(walked_t *w, const tacit_factor_t *factor, const tacit_line_t *line,
                 tacit_moment_work_t *work) {
  memset(w, 0, sizeof *w);
  w->product = (tacit_product_t){.log_abs = w->sums, .phase = w->sums + n_line, .error = w->error};
  return tacit_moment_multiply(&w->product, factor, line, 1e9, work);
}

static double sum_of(tacit_exact_sum_t sum) { return sum.high + sum.low; }

/* log E r^n for whole n: a binomial sum. */
static double log_whole_moment(const tacit_factor_t *f, int n) {
  double sum = 0;
  for (int j = 0; j <= n; j++) {
    double log_binomial = lgamma(n + 1) - lgamma(j + 1) - lgamma(n - j + 1);
    sum += exp(log_binomial + j * log(f->rate) + (n - j) * log1p(-f->rate) + 0.5 * j * (j - 1) * f->m * f->m);
  }
  return log(sum);
}

/* For rate 1, M(s) = exp(m^2 s (s + 1) / 2); at whole points a binomial sum; and beyond the line no more than
 * the bound. */
static void test_factors(void **state) {
  static walked_t near, away;
  uint64_t seed = 41;
  tacit_moment_work_t *work = tacit_moment_work_new();
  assert_non_null(work);
  double tightest = INFINITY;
  for (int i = 0; i < (int)(500 * testing_multiplier()); i++) {
    tacit_factor_t f = {
        .m = log_uniform(&seed, -1, 0.3), .rate = log_uniform(&seed, -3, 0), .count = 1, .top = 1};
    int whole = 1 + (int)(5 * uniform(&seed));
    bool is_add = i % 2;
    tacit_line_t line = {.c = whole,
                         .step = ldexp(floor(log_uniform(&seed, 2, 4)), -10),
                         .n = n_line,
                         .is_add = is_add,
                         .tolerance = 1e-13};
    f.rate = i % 5 == 0 ? 1 : f.rate;
    f.top = i % 5 == 1 ? 6 : 1;
    if (!walk(&away, &f, &line, work)) {
      continue;
    }
    double at_zero = sum_of(away.sums[0]);
    if (i % 5 == 0) {
      for (size_t j = 0; j < n_line && away.error[j] < 1e-6; j++) {
        double t = (double)j * line.step, rho = 0.5 * f.m * f.m;
        assert_close(sum_of(away.sums[j]), rho * (line.c * (line.c + 1) - t * t), away.error[j]);
        assert_close(cos(sum_of(away.sums[n_line + j]) - rho * t * (2 * line.c + 1)), 1,
                     away.error[j] + 1e-13);
      }
    } else if (f.top == 1 && !is_add) {
      assert_close(at_zero, log_whole_moment(&f, whole + 1), away.error[0] + 1e-13);
    }
    line.n = n_short;
    assert_true(walk(&near, &f, &line, work));
    assert_true(near.product.decay <= 0);
    for (size_t j = n_short; j < n_line && away.error[j] < 1e-3; j++) {
      double gap = near.product.decay - (sum_of(away.sums[j]) - at_zero);
      assert_true(gap >= -away.error[j] - away.error[0]);
      tightest = fmin(tightest, gap / (1e-3 + fabs(near.product.decay)));
    }
  }
  tacit_moment_work_free(work);
  print_message("decay: closest to its bound %.2g of it\n", tightest);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_factors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
