/*
 * Regression without latent records: moments of clamped rows against simulated ones, the posterior against
 * least squares where nothing is clamped and noise is next to nothing, and what is refused. Calibration:
 * experiments/release_calibration.c. Errors planted to see that these tests catch them: the atom at a bound
 * left out, products of unclamped columns, a pair's slope on the wrong column; of a logistic response: the
 * covariance with its predictor left out, panels that ignore where it is steep.
 */
#include <string.h>

#include "base/memory.h"
#include "augment/augment_internal.h"
#include "testing.h"

enum { D = 3, Q = 9 };

static const double value[Q], scale[Q] = {1, 1, 1, 1, 1, 1, 1, 1, 1};

static tacit_latent_model_t model(size_t n) {
  return (tacit_latent_model_t){.kind = TACIT_LATENT_REGRESSION,
                                .n_records = n,
                                .coefficient_scale = 1,
                                .variance_shape = 2,
                                .variance_scale = 0.05,
                                .n_features = D - 1};
}

static tacit_release_t release(const double *values, const double *scales) {
  return (tacit_release_t){.kind = TACIT_RELEASE_PRODUCTS,
                           .lower = -1,
                           .upper = 1,
                           .n_values = Q,
                           .values = values,
                           .scales = scales};
}

static tacit_latent_model_t logistic_model(size_t n) {
  tacit_latent_model_t m = model(n);
  m.kind = TACIT_LATENT_LOGISTIC;
  m.coefficient_scale = 2;
  m.feature_scale = 1;
  return m;
}

static tacit_release_t logistic_release(const double *values, const double *scales) {
  tacit_release_t r = release(values, scales);
  r.kind = TACIT_RELEASE_SCORE;
  r.n_values = Q - 1;
  return r;
}

/*
 * Draw a row at parameters (intercept, slopes, log sd of each normal column on those before it, then logistic
 * coefficients); clamp; add to the sums. The response of a logistic regression, the last column, is 0 or 1;
 * returns it.
 */
static double add_row(tacit_rng_t *rng, const double *p, bool is_logistic, double *sums, double *squares) {
  double w[D], t[Q], y = 0;
  size_t k = 0, m, d = is_logistic ? D - 1 : D;
  for (size_t j = 0; j < d; j++, k += j + 1) {
    w[j] = p[k] + exp(p[k + j + 1]) * tacit_rng_normal(rng);
    for (size_t i = 0; i < j; i++) {
      w[j] += p[k + 1 + i] * w[i];
    }
  }
  if (is_logistic) {
    double eta = p[k] + p[k + 1] * w[0] + p[k + 2] * w[1];
    y = tacit_rng_uniform(rng) * (1 + exp(-eta)) < 1;
  }
  for (size_t j = 0; j < d; j++) {
    t[j] = w[j] = fmin(fmax(w[j], -1), 1);
  }
  m = d;
  for (size_t i = 0; i < d; i++) {
    for (size_t j = i; j < d; j++) {
      t[m++] = w[i] * w[j];
    }
  }
  for (size_t j = 0; is_logistic && j <= d; j++) {
    t[m++] = (y - 0.5) * (j == 0 ? 1 : w[j - 1]);
  }
  for (k = 0; k < m; k++) {
    sums[k] += t[k];
    squares[k] += t[k] * t[k];
  }
  return y;
}

static void compare_moments(bool is_logistic) {
  static const double at[][Q] = {{0, -1, 0, 0.3, -1, 0.1, 0.5, -0.4, -1.2},
                                 {0.8, -0.7, -0.5, 1.5, -2, 0.4, -1, 2, -0.5},
                                 {-1.5, -0.2, 0.9, -0.8, -3, 2, 0.1, 0.6, 0.3},
                                 {0, 0.5, 0, 0.99, -4, 0, 0, 0, -2}};
  static const double logistic_at[][Q] = {{0, -1, 0, 0.3, -1, 0.5, 2, -1},
                                          {0.8, -0.7, -0.5, 1.5, -2, -3, 8, 6},
                                          {-1.5, -0.2, 0.9, -0.8, -3, 1, 0, 0},
                                          {0.2, 0.5, 0.1, 0.99, -4, 0, -30, 25},
                                          {-0.3, -1, 0, 0.3, -1, 150, 300, -100}};
  tacit_latent_model_t m = is_logistic ? logistic_model(10) : model(10);
  tacit_release_t r = is_logistic ? logistic_release(value, scale) : release(value, scale);
  tacit_augment_settings_t settings = tacit_augment_settings_default();
  tacit_rng_key_from_seed(settings.key, 9);
  tacit_error_t err;
  tacit_chain_t chain;
  assert_ok(tacit_chain_init(&chain, &m, &r, &settings, 0, &err), err);
  for (size_t c = 0; c < (is_logistic ? 5 : 4); c++) {
    const double *p = is_logistic ? logistic_at[c] : at[c];
    double expected[Q], sums[Q] = {0}, squares[Q] = {0}, n = ceil(4e5 * testing_multiplier());
    tacit_regression_moments(&chain, p, expected);
    for (double i = 0; i < n; i++) {
      add_row(chain.rng, p, is_logistic, sums, squares);
    }
    for (size_t k = 0; k < r.n_values;
         k++) { /* 76 comparisons: six standard errors fail in less than one of 10^6 runs */
      double mean = sums[k] / n, se = sqrt(fmax(squares[k] / n - mean * mean, 1e-12) / n);
      if (!(fabs(mean - expected[k]) < 6 * se)) {
        fail_msg("case %zu, moment %zu: %.8g, simulated %.8g (%.1f standard errors)", c, k, expected[k], mean,
                 (mean - expected[k]) / se);
      }
    }
  }
  tacit_chain_clear(&chain);
}

static void test_moments_of_clamped_rows(void **state) {
  (void)state;
  compare_moments(false);
}

static void test_moments_of_a_logistic_response(void **state) {
  (void)state;
  compare_moments(true);
}

/* The mode of the logistic likelihood of N rows, and standard deviations there, by Newton's method. */
static void fit_logistic(size_t n, const double *rows, double *mode, double *sds) {
  double hessian[9], inverse[9];
  memset(mode, 0, 3 * sizeof *mode);
  for (int step = 0; step < 30; step++) {
    double gradient[3] = {0};
    memset(hessian, 0, sizeof hessian);
    for (size_t i = 0; i < n; i++) {
      const double x[3] = {1, rows[3 * i], rows[3 * i + 1]};
      double p = 1 / (1 + exp(-(mode[0] + mode[1] * x[1] + mode[2] * x[2])));
      for (size_t a = 0; a < 3; a++) {
        gradient[a] += (rows[3 * i + 2] - p) * x[a];
        for (size_t b = 0; b < 3; b++) {
          hessian[3 * a + b] += p * (1 - p) * x[a] * x[b];
        }
      }
    }
    for (size_t a = 0; a < 3; a++) { /* cofactors */
      for (size_t b = 0; b < 3; b++) {
        size_t r1 = (b + 1) % 3, r2 = (b + 2) % 3, c1 = (a + 1) % 3, c2 = (a + 2) % 3;
        inverse[3 * a + b] =
            hessian[3 * r1 + c1] * hessian[3 * r2 + c2] - hessian[3 * r1 + c2] * hessian[3 * r2 + c1];
      }
    }
    double det = hessian[0] * inverse[0] + hessian[1] * inverse[3] + hessian[2] * inverse[6];
    for (size_t a = 0; a < 3; a++) {
      mode[a] += (inverse[3 * a] * gradient[0] + inverse[3 * a + 1] * gradient[1] +
                  inverse[3 * a + 2] * gradient[2]) /
                 det;
      sds[a] = sqrt(inverse[4 * a] / det);
    }
  }
}

/*
 * Little noise: the score at 0 and the features' moments then say nearly as much as the records do, features
 * being normal. Their efficiency is not 1 (it is for coefficients of 0), so that centres are compared to two
 * sds, widths to a quarter.
 */
static void test_logistic_posterior_is_near_the_records_own(void **state) {
  (void)state;
  static const double p[Q] = {0.1, -1.2, 0, 0.3, -1.1, 0.3, 1.2, -0.8};
  enum { N = 6000 };
  tacit_rng_t *rng;
  tacit_error_t err;
  unsigned char key[32];
  double sums[Q] = {0}, squares[Q] = {0}, small[Q], mode[3], sds[3];
  double *rows = tacit_alloc(3 * N, sizeof *rows);
  assert_non_null(rows);
  tacit_rng_key_from_seed(key, 3);
  assert_ok(tacit_rng_new(&rng, key, 0, &err), err);
  for (size_t i = 0; i < N; i++) {
    double before[2] = {sums[0], sums[1]};
    rows[3 * i + 2] = add_row(rng, p, true, sums, squares);
    rows[3 * i] = sums[0] - before[0];
    rows[3 * i + 1] = sums[1] - before[1];
  }
  tacit_rng_free(rng);
  for (size_t k = 0; k < Q; k++) {
    small[k] = 0.05;
  }
  fit_logistic(N, rows, mode, sds);
  tacit_free(rows);
  tacit_latent_model_t m = logistic_model(N);
  tacit_release_t r = logistic_release(sums, small);
  tacit_augment_settings_t settings = tacit_augment_settings_default();
  tacit_augment_result_t result;
  tacit_draws_t draws;
  settings.n_chains = 1;
  settings.n_warmup = 20;
  settings.n_draws = 300;
  tacit_rng_key_from_seed(settings.key, 4);
  assert_ok(tacit_augment(&m, &r, &settings, &draws, &result, &err), err);
  assert_true(result.method == TACIT_AUGMENT_MARGINAL && !result.is_exact && draws.n_reported == 3);
  for (size_t j = 0; j < 3; j++) {
    double mean = 0, square = 0;
    for (size_t i = 0; i < 300; i++) {
      double x = tacit_draws_row(&draws, 0, 20 + i)[j];
      mean += x / 300;
      square += x * x / 300;
    }
    assert_close(mean, mode[j], 2 * sds[j]);
    assert_close(sqrt(square - mean * mean) / sds[j], 1.1, 0.35);
  }
  tacit_draws_clear(&draws);
}

static void test_posterior_is_least_squares_where_nothing_is_hidden(void **state) {
  (void)state;
  static const double p[Q] = {0.1, -1.6, 0, 0.4, -2, 0.05, 0.4, -0.3, -2.2};
  enum { N = 4000 };
  tacit_rng_t *rng;
  tacit_error_t err;
  unsigned char key[32];
  double sums[Q] = {0}, squares[Q] = {0}, small[Q];
  tacit_rng_key_from_seed(key, 3);
  assert_ok(tacit_rng_new(&rng, key, 0, &err), err);
  for (size_t i = 0; i < N; i++) {
    add_row(rng, p, false, sums, squares);
  }
  tacit_rng_free(rng);
  for (size_t k = 0; k < Q; k++) {
    small[k] = 0.02;
  }
  tacit_latent_model_t m = model(N);
  tacit_release_t r = release(sums, small);
  tacit_augment_settings_t settings = tacit_augment_settings_default();
  tacit_augment_result_t result;
  tacit_draws_t draws;
  settings.n_chains = 1;
  settings.n_warmup = 20;
  settings.n_draws = 300;
  tacit_rng_key_from_seed(settings.key, 4);
  assert_ok(tacit_augment(&m, &r, &settings, &draws, &result, &err), err);
  assert_true(result.method == TACIT_AUGMENT_MARGINAL && !result.is_exact && draws.n_reported == 4);
  /* least squares from the sums themselves: 2 features centred */
  double mx = sums[0] / N, mz = sums[1] / N, my = sums[2] / N;
  double xx = sums[3] / N - mx * mx, xz = sums[4] / N - mx * mz, xy = sums[5] / N - mx * my;
  double zz = sums[6] / N - mz * mz, zy = sums[7] / N - mz * my, yy = sums[8] / N - my * my,
         det = xx * zz - xz * xz;
  double b1 = (zz * xy - xz * zy) / det, b2 = (xx * zy - xz * xy) / det, s2 = yy - b1 * xy - b2 * zy;
  double exact[4] = {my - b1 * mx - b2 * mz, b1, b2, sqrt(s2)};
  double sds[4] = {NAN, sqrt(s2 * zz / det / N), sqrt(s2 * xx / det / N), sqrt(s2 / (2 * N))};
  sds[0] =
      sqrt(s2 / N + mx * mx * sds[1] * sds[1] + mz * mz * sds[2] * sds[2] + 2 * mx * mz * s2 * -xz / det / N);
  for (size_t j = 0; j < 4; j++) {
    double mean = 0, square = 0;
    for (size_t i = 0; i < 300; i++) {
      double x = tacit_draws_row(&draws, 0, 20 + i)[j];
      mean += x / 300;
      square += x * x / 300;
    }
    assert_close(
        mean, exact[j],
        0.6 * sds[j]); /* 300 draws: six standard errors are 0.35 and a little more; and the prior's pull */
    assert_close(sqrt(square - mean * mean) / sds[j], 1, 0.35);
  }
  tacit_draws_clear(&draws);
}

static void test_refusals(void **state) {
  (void)state;
  tacit_error_t err;
  tacit_latent_model_t m = model(10), bad = m;
  tacit_release_t r = release(value, scale), other = r;
  assert_ok(tacit_augment_validate(&m, &r, &err), err);
  bad.n_features = 0;
  assert_int_equal(tacit_augment_validate(&bad, &r, &err), TACIT_ERR_ARGUMENT);
  bad = m;
  bad.n_features = 3; /* expects 14 values */
  assert_int_equal(tacit_augment_validate(&bad, &r, &err), TACIT_ERR_ARGUMENT);
  bad = m;
  bad.coefficient_scale = NAN;
  assert_int_equal(tacit_augment_validate(&bad, &r, &err), TACIT_ERR_ARGUMENT);
  other.noise = TACIT_RELEASE_LAPLACE;
  assert_int_equal(tacit_augment_validate(&m, &other, &err), TACIT_ERR_ARGUMENT);
  other = r;
  other.upper = 2;
  assert_int_equal(tacit_augment_validate(&m, &other, &err), TACIT_ERR_ARGUMENT);
  other = r;
  other.kind = TACIT_RELEASE_SCORE;
  assert_int_equal(tacit_augment_validate(&m, &other, &err), TACIT_ERR_ARGUMENT);
  tacit_latent_model_t logistic = logistic_model(10);
  tacit_release_t score = logistic_release(value, scale);
  assert_ok(tacit_augment_validate(&logistic, &score, &err), err);
  assert_int_equal(tacit_augment_validate(&logistic, &r, &err), TACIT_ERR_ARGUMENT);
  logistic.feature_scale = 0;
  assert_int_equal(tacit_augment_validate(&logistic, &score, &err), TACIT_ERR_ARGUMENT);
  other = r;
  other.kind = TACIT_RELEASE_SUM;
  assert_int_equal(tacit_augment_validate(&m, &other, &err), TACIT_ERR_ARGUMENT);
  tacit_augment_settings_t settings = tacit_augment_settings_default();
  tacit_draws_t draws;
  settings.method = TACIT_AUGMENT_HMC;
  assert_int_equal(tacit_augment(&m, &r, &settings, &draws, NULL, &err), TACIT_ERR_ARGUMENT);
  tacit_draws_clear(&draws);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_moments_of_clamped_rows),
      cmocka_unit_test(test_moments_of_a_logistic_response),
      cmocka_unit_test(test_logistic_posterior_is_near_the_records_own),
      cmocka_unit_test(test_posterior_is_least_squares_where_nothing_is_hidden),
      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
