/* Kernels on records: bounds on their acceptance, the statistic that they keep, variates and moments. */
#include "support.h"

/* ---- acceptance of records ---- */

/* Under pure epsilon-DP every record is accepted with probability at least e^-epsilon [Ju2022]. */
static void test_record_acceptance_is_bounded_by_epsilon(void **state) {
  (void)state;
  static const double counts[6] = {20, 10, 0, 5, 40, 25};
  const double epsilons[] = {0.2, 1, 4};
  for (size_t i = 0; i < 3; i++) {
    double epsilon = epsilons[i];
    scenario_t s[4];
    scenario_gaussian(&s[0], 100, 2, TACIT_RELEASE_LAPLACE, 2.5 / epsilon, 60);
    scenario_gaussian(&s[1], 100, 2, TACIT_RELEASE_DISCRETE_LAPLACE, 2.5 / epsilon, 60);
    s[1].release.step = 0.5;
    scenario_poisson(&s[2], 100, TACIT_RELEASE_DISCRETE_LAPLACE, 4 / epsilon, 150);
    scenario_table(&s[3], 100, TACIT_RELEASE_LAPLACE, 2 / epsilon, counts);
    for (size_t k = 0; k < 4; k++) {
      tacit_augment_settings_t settings = settings_for(TACIT_AUGMENT_GIBBS, 200, i);
      tacit_augment_result_t result;
      tacit_draws_t draws;
      tacit_error_t err;
      settings.n_warmup = 20;
      assert_ok(tacit_augment(&s[k].model, &s[k].release, &settings, &draws, &result, &err), err);
      assert_true(result.min_record_accept >= exp(-epsilon) * (1 - 1e-9));
      assert_true(result.min_record_accept <= exp(-epsilon) * 1.5); /* and comes near it */
      assert_true(result.record_accept > exp(-epsilon) && result.record_accept < 1);
      for (size_t row = 0; row < 220; row++) {
        double share = draws.stats[row].accept_stat;
        assert_true(share >= 0 && share <= 1);
      }
      tacit_draws_clear(&draws);
    }
  }
}

static void test_accepts_is_the_metropolis_rule(void **state) {
  (void)state;
  for (double r = -30; r <= 3; r += 0.013) {
    for (double u = 0.0005; u < 1; u += 0.0137) {
      assert_true(tacit_accepts(r, u) == (u < exp(r)));
    }
  }
}

/* Residuals that a sweep keeps up to date are those computed afresh. */
static void test_sweep_keeps_the_statistic(void **state) {
  (void)state;
  scenario_t s;
  scenario_moments(&s, 777, TACIT_RELEASE_GAUSSIAN, 5, 300, 500);
  tacit_augment_settings_t settings = settings_for(TACIT_AUGMENT_GIBBS, 1, 4);
  tacit_chain_t chain;
  tacit_error_t err;
  assert_ok(tacit_chain_init(&chain, &s.model, &s.release, &settings, 0, &err), err);
  tacit_chain_start(&chain);
  for (int i = 0; i < 20; i++) {
    double sum[2] = {0};
    tacit_chain_step(&chain);
    for (size_t k = 0; k < chain.n; k++) {
      double c = test_clamp(&s.release, chain.records[k]);
      sum[0] += c;
      sum[1] += c * c;
    }
    assert_close(chain.residual[0], s.values[0] - sum[0], 1e-9);
    assert_close(chain.residual[1], s.values[1] - sum[1], 1e-9);
  }
  tacit_chain_clear(&chain);
}

/* ---- variates and moments ---- */

static void test_log_factorial(void **state) {
  (void)state;
  for (double k = 0; k < 3000; k += 1) {
    assert_close(tacit_log_factorial(k), lgamma(k + 1), 2e-14 * (1 + lgamma(k + 1)));
  }
  assert_close(tacit_log_factorial(1e9), lgamma(1e9 + 1), 1e-5);
}

/* Mean and variance of draws within 6 standard errors, and the cumulative distribution at a few points. */
static void test_poisson_and_gamma_distributions(void **state) {
  (void)state;
  enum { N = 200000 };
  const double rates[] = {0.02, 0.7, 11, 800, 9999, 20000, 3e6};
  unsigned char key[32];
  tacit_rng_t *rng;
  tacit_error_t err;
  tacit_discrete_t distribution;
  tacit_rng_key_from_seed(key, 5);
  assert_ok(tacit_rng_new(&rng, key, 0, &err), err);
  assert_ok(tacit_discrete_init(&distribution, 1, &err), err);
  for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++) {
    double sum = 0, square = 0, rate = rates[r], below = 0, at_most = 0;
    if (rate < TACIT_POISSON_TABLE_MAX) {
      tacit_discrete_set_poisson(&distribution, rate);
    }
    for (int i = 0; i < N; i++) {
      bool has_table = rate < TACIT_POISSON_TABLE_MAX;
      double k = has_table ? tacit_discrete_draw(&distribution, tacit_rng_uniform(rng))
                           : tacit_draw_poisson(rng, rate);
      sum += k - rate;
      square += (k - rate) * (k - rate);
      below += k <= floor(rate);
    }
    for (double k = fmax(0, floor(rate) - 40 * sqrt(rate) - 5); k <= floor(rate); k += 1) {
      at_most += exp(k * log(rate) - rate - lgamma(k + 1));
    }
    double kurtosis = 2 * rate * rate + rate;
    assert_close(sum / N, 0, 6 * sqrt(rate / N));
    assert_close(square / N, rate, 6 * sqrt(kurtosis / N));
    assert_close(below / N, at_most, 6 * sqrt(0.25 / N));
  }
  const double shapes[] = {0.05, 0.5, 1, 3.7, 500};
  for (size_t r = 0; r < sizeof shapes / sizeof shapes[0]; r++) {
    double a = shapes[r], sum = 0, square = 0;
    for (int i = 0; i < N; i++) {
      double x = tacit_draw_gamma(rng, a);
      sum += x;
      square += x * x;
    }
    double fourth = a * (a + 1) * (a + 2) * (a + 3);
    assert_close(sum / N, a, 6 * sqrt(a / N));
    assert_close(square / N, a * (a + 1), 6 * sqrt(fourth / N));
  }
  tacit_discrete_clear(&distribution);
  tacit_rng_free(rng);
}

/* Slices of a standard normal and of a narrow one, whatever the width. */
static double quadratic(void *user, double x) {
  double sd = *(double *)user;
  return -0.5 * x * x / (sd * sd);
}

static void test_slice_leaves_a_normal_invariant(void **state) {
  (void)state;
  enum { N = 100000 };
  const double widths[] = {0.1, 3, 100};
  unsigned char key[32];
  tacit_rng_t *rng;
  tacit_error_t err;
  tacit_rng_key_from_seed(key, 6);
  assert_ok(tacit_rng_new(&rng, key, 0, &err), err);
  for (size_t w = 0; w < 3; w++) { /* from an exact draw, one update: independent of how fast it mixes */
    double sd = 1.5, sum = 0, square = 0, product = 0;
    for (int i = 0; i < N; i++) {
      double x = sd * tacit_rng_normal(rng), log_at = quadratic(&sd, x);
      double y = tacit_slice(quadratic, &sd, x, &log_at, widths[w], rng);
      assert_close(log_at, quadratic(&sd, y), 0);
      sum += y;
      square += y * y;
      product += y * y * y * y;
    }
    assert_close(sum / N, 0, 6 * sd / sqrt(N));
    assert_close(square / N, sd * sd, 6 * sd * sd * sqrt(2.0 / N));
    assert_close(product / N, 3 * pow(sd, 4), 6 * pow(sd, 4) * sqrt(96.0 / N));
  }
  tacit_rng_free(rng);
}

static void test_clamped_moments_match_sums(void **state) {
  (void)state;
  const double cases[][4] = {
      {0.2, 0.7, -1, 1.5}, {5, 1, -1, 1}, {-3, 0.1, -1, 2}, {0.5, 30, -1, 1}, {0, 0.01, -1, 1}};
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    enum { N = 400000 };
    double mean = cases[c][0], sd = cases[c][1], lower = cases[c][2], upper = cases[c][3];
    double sums[4] = {0}, mass = 0, moments[4];
    for (int i = 0; i < N; i++) {
      double z = -9 + 18 * (i + 0.5) / N, p = exp(-0.5 * z * z), x = fmin(fmax(mean + sd * z, lower), upper);
      mass += p;
      for (int k = 0; k < 4; k++) {
        sums[k] += p * pow(x, k + 1);
      }
    }
    tacit_clamped_normal_moments(mean, sd, lower, upper, 4, moments);
    for (int k = 0; k < 4; k++) {
      assert_close(moments[k], sums[k] / mass, 2e-9 * pow(2, k + 1));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_record_acceptance_is_bounded_by_epsilon),
      cmocka_unit_test(test_accepts_is_the_metropolis_rule),
      cmocka_unit_test(test_sweep_keeps_the_statistic),
      cmocka_unit_test(test_log_factorial),
      cmocka_unit_test(test_poisson_and_gamma_distributions),
      cmocka_unit_test(test_slice_leaves_a_normal_invariant),
      cmocka_unit_test(test_clamped_moments_match_sums),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
