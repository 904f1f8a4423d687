/* The likelihood of a sum by inversion of its characteristic function, and the normal distributions that
 * stand in for it where records are many. */
#include "support.h"

static double inverted(const scenario_t *s, double theta) {
  tacit_augment_settings_t settings = settings_for(TACIT_AUGMENT_MARGINAL, 1, 1);
  tacit_chain_t chain;
  tacit_error_t err;
  assert_ok(tacit_chain_init(&chain, &s->model, &s->release, &settings, 0, &err), err);
  assert_non_null(chain.inversion);
  double log_lik = tacit_inversion_log_lik(&chain, theta, s->model.known_sd);
  tacit_chain_clear(&chain);
  return log_lik;
}

static double test_normal_cdf(double z) { return 0.5 * erfc(-z / sqrt(2)); }

/* One clamped record under Gaussian noise in closed form; values far outside the bounds too. */
static void test_inversion_of_one_record_is_closed_form(void **state) {
  (void)state;
  const double scales[] = {0.05, 0.7, 4}, values[] = {-3, -1, 0.4, 1.5, 2.2, 6},
               means[] = {-2.5, -0.3, 0.8, 3};
  const double sds[] = {0.05, 0.8, 6},
               reference = 0.5 * log(2 * 3.14159265358979323846); /* a constant that is left out */
  for (size_t i = 0; i < 3 * 6 * 3; i++) {
    double scale = scales[i % 3], y = values[i / 3 % 6], sd = sds[i / 18];
    for (size_t m = 0; m < 4; m++) {
      scenario_t s;
      scenario_gaussian(&s, 1, sd, TACIT_RELEASE_GAUSSIAN, scale, y);
      double lower = s.release.lower, upper = s.release.upper, mean = means[m], v = sd * sd + scale * scale;
      double centre = (mean * scale * scale + y * sd * sd) / v, width = sd * scale / sqrt(v);
      double inside = exp(-0.5 * (y - mean) * (y - mean) / v) / sqrt(v) *
                      (test_normal_cdf((upper - centre) / width) - test_normal_cdf((lower - centre) / width));
      double at_bounds = test_normal_cdf((lower - mean) / sd) * exp(-0.5 * pow((y - lower) / scale, 2)) +
                         test_normal_cdf((mean - upper) / sd) * exp(-0.5 * pow((y - upper) / scale, 2));
      double expected = log(inside + at_bounds / scale), got = inverted(&s, mean);
      if (expected > -600) {
        if (!(fabs(got - expected - reference) <= 1e-9 + 1e-12 * fabs(expected))) {
          fail_msg("mean %g, sd %g, scale %g, value %g: %.12g, expected %.12g", mean, sd, scale, y,
                   got - reference, expected);
        }
      }
    }
  }
}

/* Sums of clamped Poisson records by convolution of whole numbers, from 1 to 1000 records, in the bulk and
 * beyond it. */
static void test_inversion_matches_convolution(void **state) {
  (void)state;
  static double sum[4001], next[4001];
  const size_t sizes[] = {1, 4, 60, 1000};
  for (size_t i = 0; i < 4 * 3 * 3; i++) {
    static const tacit_release_noise_t noises[] = {TACIT_RELEASE_GAUSSIAN, TACIT_RELEASE_DISCRETE_GAUSSIAN,
                                                   TACIT_RELEASE_DISCRETE_LAPLACE};
    size_t n = sizes[i % 4];
    double scale = i / 4 % 3 == 0 ? 0.6 : i / 4 % 3 == 1 ? 3 : 25, reference = NAN;
    scenario_t s;
    scenario_poisson(&s, n, noises[i / 12], scale, 0);
    double value = round(2.3 * (double)n);
    for (int m = 0; m < 3; m++) {
      double rate = m == 0 ? 2.6 : m == 1 ? 2.2 : 3.1, distribution[5], tail = 1, expected = 0;
      for (int k = 0; k < 5; k++) {
        distribution[k] = k < 4 ? exp(k * log(rate) - rate - lgamma(k + 1.0)) : tail;
        tail -= distribution[k];
      }
      memset(sum, 0, sizeof sum);
      sum[0] = 1;
      for (size_t r = 0; r < n; r++) {
        memset(next, 0, sizeof next);
        for (size_t a = 0; a <= 4 * r; a++) {
          for (size_t b = 0; b < 5; b++) {
            next[a + b] += sum[a] * distribution[b];
          }
        }
        memcpy(sum, next, sizeof sum);
      }
      s.values[0] = m == 0 ? value : s.values[0];
      for (size_t a = 0; a <= 4 * n; a++) {
        double e = s.values[0] - (double)a;
        bool is_laplace = noises[i / 12] == TACIT_RELEASE_DISCRETE_LAPLACE;
        expected += sum[a] * exp(is_laplace ? -fabs(e) / scale : -0.5 * e * e / (scale * scale));
      }
      double got = inverted(&s, rate) - log(expected);
      reference = m == 0 ? got : reference;
      if (!(fabs(got - reference) <= 1e-9)) {
        fail_msg("n %zu, noise %d, scale %g, rate %g: off by %.3g", n, (int)noises[i / 12], scale, rate,
                 got - reference);
      }
    }
  }
}

/* Records rounded to multiples of 0.5, three of them, by enumeration; a release beyond all sums. */
static void test_inversion_of_rounded_records(void **state) {
  (void)state;
  for (int far = 0; far < 2; far++) {
    double reference = 0;
    for (int m = 0; m < 4; m++) {
      scenario_t s;
      scenario_gaussian(&s, 3, 0.9, TACIT_RELEASE_DISCRETE_GAUSSIAN, 0.8, far ? 11 : 2);
      s.release.step = 0.5;
      double theta = -1 + m, p = 0, distribution[6];
      for (int k = 0; k < 6; k++) {
        distribution[k] = (k == 5 ? 1 : test_normal_cdf((-0.75 + 0.5 * k - theta) / 0.9)) -
                          (k == 0 ? 0 : test_normal_cdf((-1.25 + 0.5 * k - theta) / 0.9));
      }
      for (int abc = 0; abc < 216; abc++) {
        double e = s.values[0] + 3 - 0.5 * (abc % 6 + abc / 6 % 6 + abc / 36);
        p += distribution[abc % 6] * distribution[abc / 6 % 6] * distribution[abc / 36] *
             exp(-0.5 * e * e / 0.64);
      }
      double got = inverted(&s, theta) - log(p);
      reference = m == 0 ? got : reference;
      assert_close(got, reference, 1e-10);
    }
  }
}

/* The normal distribution of a sum of many records, near its posterior, against the exact one: noise and
 * clamping alike. */
static void test_normal_distribution_of_sums_nears_the_exact_one(void **state) {
  (void)state;
  for (int kind = 0; kind < 3; kind++) {
    scenario_t s;
    double centre = 1.2, spread = 0.006;
    if (kind == 0) {
      scenario_gaussian(&s, 40000, 1.1, TACIT_RELEASE_GAUSSIAN, 150, 0);
    } else {
      scenario_poisson(&s, 40000, kind == 1 ? TACIT_RELEASE_GAUSSIAN : TACIT_RELEASE_DISCRETE_LAPLACE, 100,
                       0);
      centre = 2.5;
      spread = 0.01;
    }
    tacit_augment_settings_t settings = settings_for(TACIT_AUGMENT_MARGINAL, 1, 1);
    tacit_chain_t chain;
    tacit_error_t err;
    assert_ok(tacit_chain_init(&chain, &s.model, &s.release, &settings, 0, &err), err);
    double best = -INFINITY; /* the value at which `centre` is likeliest */
    for (double y = 0; y < 4.0 * 40000; y += 20) {
      double here = chain.values[0];
      chain.values[0] = y;
      double at = tacit_marginal_log_lik(&chain, centre, s.model.known_sd);
      chain.values[0] = at > best ? y : here;
      best = fmax(best, at);
    }
    double lowest = INFINITY, highest = -INFINITY;
    for (int i = -2; i <= 2; i++) {
      double normal = tacit_marginal_log_lik(&chain, centre + i * spread, s.model.known_sd);
      double exact = tacit_inversion_log_lik(&chain, centre + i * spread, s.model.known_sd);
      lowest = fmin(lowest, normal - exact);
      highest = fmax(highest, normal - exact);
    }
    double drop = tacit_inversion_log_lik(&chain, centre, s.model.known_sd) -
                  tacit_inversion_log_lik(&chain, centre + 2 * spread, s.model.known_sd);
    assert_true(drop > 0.5 && drop < 8 && highest - lowest < 0.01); /* over points that span the posterior */

    tacit_chain_clear(&chain);
  }
}

/* The bivariate normal distribution of two moments, with means and covariances of clamped records summed
 * here. */
static void test_normal_distribution_of_moments(void **state) {
  (void)state;
  enum { N = 200000 };
  const double n = 500, theta[3][2] = {{0.2, 0.7}, {1.1, 0.5}, {-0.9, 1.6}};
  scenario_t s;
  scenario_moments(&s, (size_t)n, TACIT_RELEASE_GAUSSIAN, 3, 130, 300);
  tacit_augment_settings_t settings = settings_for(TACIT_AUGMENT_MARGINAL, 1, 1);
  tacit_chain_t chain;
  tacit_error_t err;
  assert_ok(tacit_chain_init(&chain, &s.model, &s.release, &settings, 0, &err), err);
  for (size_t t = 0; t < 3; t++) {
    double m[5] = {0};
    for (int i = 0; i < N; i++) {
      double z = -9 + 18 * (i + 0.5) / N, p = exp(-0.5 * z * z),
             c = test_clamp(&s.release, theta[t][0] + theta[t][1] * z);
      for (int k = 0; k < 5; k++) {
        m[k] += p * pow(c, k);
      }
    }
    double mean[2] = {m[1] / m[0], m[2] / m[0]}, scale = s.scales[0], scale2 = s.scales[1];
    double v = n * (mean[1] - mean[0] * mean[0]) + scale * scale, c = n * (m[3] / m[0] - mean[0] * mean[1]);
    double w = n * (m[4] / m[0] - mean[1] * mean[1]) + scale2 * scale2, det = v * w - c * c;
    double e = s.values[0] - n * mean[0], f = s.values[1] - n * mean[1];
    double expected = -0.5 * (w * e * e - 2 * c * e * f + v * f * f) / det - 0.5 * log(det);
    assert_close(tacit_marginal_log_lik(&chain, theta[t][0], theta[t][1]), expected, 1e-5 * fabs(expected));
  }
  tacit_chain_clear(&chain);
}

/* Laplace noise folded with a normal, against a sum over a fine grid. */
static void test_normal_distribution_under_laplace_noise(void **state) {
  (void)state;
  enum { N = 400000 };
  const double values[] = {20, 44, 60, 90}, n = 100, mean = 0.5, sd = 0.7;
  for (size_t i = 0; i < 4; i++) {
    scenario_t s;
    double moments[2], total = 0;
    scenario_gaussian(&s, (size_t)n, sd, TACIT_RELEASE_LAPLACE, 4, values[i]);
    tacit_augment_settings_t settings = settings_for(TACIT_AUGMENT_MARGINAL, 1, 1);
    tacit_chain_t chain;
    tacit_error_t err;
    assert_ok(tacit_chain_init(&chain, &s.model, &s.release, &settings, 0, &err), err);
    tacit_clamped_normal_moments(mean, sd, -1, 1.5, 2, moments);
    double spread = sqrt(n * (moments[1] - moments[0] * moments[0]));
    for (int k = 0; k < N; k++) {
      double z = -9 + 18 * (k + 0.5) / N;
      total += exp(-0.5 * z * z - fabs(values[i] - n * moments[0] - spread * z) / 4) * 18 / N /
               sqrt(2 * 3.14159265358979323846);
    }
    assert_close(tacit_marginal_log_lik(&chain, mean, sd), log(total), 1e-6);
    tacit_chain_clear(&chain);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_inversion_of_one_record_is_closed_form),
      cmocka_unit_test(test_inversion_matches_convolution),
      cmocka_unit_test(test_inversion_of_rounded_records),
      cmocka_unit_test(test_normal_distribution_of_sums_nears_the_exact_one),
      cmocka_unit_test(test_normal_distribution_of_moments),
      cmocka_unit_test(test_normal_distribution_under_laplace_noise),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
