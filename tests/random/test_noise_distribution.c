/*
 * The distribution of the rounded Gaussian, on seeded draws. Errors planted to see that these tests catch
 * them: a standard deviation off by 0.3 %, a geometric integer part (steps N2 left out), a wrong probability
 * of a step in Algorithm B, truncation instead of rounding, a sign with probability 0.501, a tail cut at 4
 * sd.
 */
#include <string.h>

#include "random/noise.h"
#include "rounded_gaussian.h"

static const double sds[] = {0.5, 1, 3.7, 1000, 0x1p20, 0x1p31};
enum { N_SDS = sizeof sds / sizeof sds[0] };

typedef struct sample {
  size_t n;
  int64_t *draws[N_SDS];
} sample_t;

static int setup(void **state) {
  sample_t *sample = calloc(1, sizeof *sample);
  assert_non_null(sample);
  sample->n = (size_t)(4e6 * testing_multiplier());
  tacit_error_t err;
  tacit_noise_t *noise;
  assert_ok(tacit_noise_new_seeded_not_private(&noise, 20240517, &err), err);
  for (size_t s = 0; s < N_SDS; s++) {
    sample->draws[s] = malloc(sample->n * sizeof(int64_t));
    assert_non_null(sample->draws[s]);
    assert_ok(tacit_noise_rounded_gaussian(noise, sds[s], sample->n, sample->draws[s], &err), err);
  }
  tacit_noise_free(noise);
  *state = sample;
  return 0;
}

static int teardown(void **state) {
  sample_t *sample = *state;
  for (size_t s = 0; s < N_SDS; s++) {
    free(sample->draws[s]);
  }
  free(sample);
  return 0;
}

static void test_cells_have_exact_probabilities(void **state) {
  const sample_t *sample = *state;
  for (size_t s = 0; s < N_SDS; s++) {
    cells_t cells = cells_make(sds[s], (double)sample->n);
    assert_probable(cells_p(&cells, sample->draws[s], sample->n), "sd %g, %d cells", sds[s], cells.n);
  }
}

static void test_tails_beyond_3_to_6_sd_have_exact_probabilities(void **state) {
  const sample_t *sample = *state;
  for (size_t s = 0; s < N_SDS; s++) {
    for (int beyond = 3; beyond <= 6; beyond++) {
      int64_t bound = (int64_t)ceil(beyond * sds[s]);
      double count = 0;
      for (size_t i = 0; i < sample->n; i++) {
        count += llabs(sample->draws[s][i]) >= bound;
      }
      assert_probable(poisson_p(count, 2 * at_least(bound, sds[s]) * (double)sample->n),
                      "sd %g, beyond %d sd: %g draws", sds[s], beyond, count);
    }
  }
}

/* Central moments of the rounded distribution, summed over its cells where those are few, else those of N(0,
 * sd^2 + 1/12). */
static void rounded_moments(double sd, double *m2, double *m4) {
  *m2 = sd * sd + 1.0 / 12;
  *m4 = 3 * sd * sd * sd * sd + sd * sd / 2 + 1.0 / 80;
  if (sd < 2) {
    *m2 = *m4 = 0;
    for (int k = 1; k < 40; k++) {
      double p = 2 * (at_least(k, sd) - at_least(k + 1, sd)), square = (double)k * k;
      *m2 += square * p;
      *m4 += square * square * p;
    }
  }
}

static void test_mean_variance_and_sign_match_the_rounded_distribution(void **state) {
  const sample_t *sample = *state;
  double n = (double)sample->n, all_positive = 0, all_nonzero = 0;
  for (size_t s = 0; s < N_SDS; s++) {
    double m2, m4, sum = 0, squares = 0, positive = 0, negative = 0;
    rounded_moments(sds[s], &m2, &m4);
    for (size_t i = 0; i < sample->n; i++) {
      double x = (double)sample->draws[s][i];
      sum += x;
      squares += x * x;
      positive += x > 0;
      negative += x < 0;
    }
    assert_probable(normal_p(sum / sqrt(n * m2)), "mean, sd %g", sds[s]);
    assert_probable(normal_p((squares - n * m2) / sqrt(n * (m4 - m2 * m2))), "variance, sd %g", sds[s]);
    assert_probable(normal_p(binomial_z(positive, positive + negative, 0.5)), "sign, sd %g", sds[s]);
    all_positive += positive;
    all_nonzero += positive + negative;
  }
  assert_probable(normal_p(binomial_z(all_positive, all_nonzero, 0.5)), "sign, all sd");
}

static void test_consecutive_draws_are_uncorrelated(void **state) {
  const sample_t *sample = *state;
  for (size_t s = 0; s < N_SDS; s++) {
    double m2, m4;
    rounded_moments(sds[s], &m2, &m4);
    for (size_t lag = 1; lag <= 2; lag++) {
      double values = 0, squares = 0, n = (double)(sample->n - lag);
      for (size_t i = lag; i < sample->n; i++) {
        double x = (double)sample->draws[s][i - lag], y = (double)sample->draws[s][i];
        values += x * y;
        squares += (x * x - m2) * (y * y - m2);
      }
      assert_probable(normal_p(values / (m2 * sqrt(n))), "values, sd %g, lag %zu", sds[s], lag);
      assert_probable(normal_p(squares / ((m4 - m2 * m2) * sqrt(n))), "squares, sd %g, lag %zu", sds[s], lag);
    }
  }
}

/* For draws that are hardly ever zero, each is followed by one of the other sign with probability 1/2. */
static void test_runs_of_signs_change_half_of_the_time(void **state) {
  const sample_t *sample = *state;
  for (size_t s = 3; s < N_SDS; s++) {
    double changes = 0, pairs = 0;
    for (size_t i = 1; i < sample->n; i++) {
      int64_t x = sample->draws[s][i - 1], y = sample->draws[s][i];
      if (x != 0 && y != 0) {
        pairs++;
        changes += (x < 0) != (y < 0);
      }
    }
    assert_probable(normal_p(binomial_z(changes, pairs, 0.5)), "sd %g", sds[s]);
  }
}

/* The bits far below sd are uniform up to exp(-2 pi^2 sd^2/2^16), by Poisson's summation formula. */
static void test_low_bits_are_uniform_and_independent_of_the_next(void **state) {
  const sample_t *sample = *state;
  for (size_t s = 3; s < N_SDS; s++) {
    static double single[256], pair[256];
    double n = (double)sample->n, expected = n / 256, expected_pair = (n - 1) / 256;
    double statistic = 0, statistic_pair = 0;
    memset(single, 0, sizeof single);
    memset(pair, 0, sizeof pair);
    for (size_t i = 0; i < sample->n; i++) {
      single[sample->draws[s][i] & 255]++;
      if (i > 0) {
        pair[(sample->draws[s][i - 1] & 15) << 4 | (sample->draws[s][i] & 15)]++;
      }
    }
    for (int j = 0; j < 256; j++) {
      statistic += (single[j] - expected) * (single[j] - expected) / expected;
      statistic_pair += (pair[j] - expected_pair) * (pair[j] - expected_pair) / expected_pair;
    }
    assert_probable(chi_square_p(statistic, 255), "low byte, sd %g", sds[s]);
    assert_probable(chi_square_p(statistic_pair, 255), "low four bits of neighbours, sd %g", sds[s]);
  }
}

static void test_source_keyed_by_the_system_has_the_same_distribution(void **state) {
  const sample_t *sample = *state;
  tacit_error_t err;
  tacit_noise_t *noise;
  size_t n = sample->n / 8;
  int64_t *draws = malloc(n * sizeof *draws);
  assert_non_null(draws);
  assert_ok(tacit_noise_new(&noise, &err), err);
  assert_ok(tacit_noise_rounded_gaussian(noise, 17.25, n, draws, &err), err);
  cells_t cells = cells_make(17.25, (double)n);
  assert_probable(cells_p(&cells, draws, n), "sd 17.25");
  tacit_noise_free(noise);
  free(draws);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cells_have_exact_probabilities),
      cmocka_unit_test(test_tails_beyond_3_to_6_sd_have_exact_probabilities),
      cmocka_unit_test(test_mean_variance_and_sign_match_the_rounded_distribution),
      cmocka_unit_test(test_consecutive_draws_are_uncorrelated),
      cmocka_unit_test(test_runs_of_signs_change_half_of_the_time),
      cmocka_unit_test(test_low_bits_are_uniform_and_independent_of_the_next),
      cmocka_unit_test(test_source_keyed_by_the_system_has_the_same_distribution),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
