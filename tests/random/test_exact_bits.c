/*
 * Bits, subsets and Poisson numbers: their distributions on seeded draws. Errors planted to see that these
 * tests catch them: the parity of a run turned around, the fraction of an exponent dropped, the digits of a
 * rate read lowest first, a Poisson number without its thinned part, an entry of the Poisson table off by 16
 * units, a tie decided one entry late.
 */
#include <string.h>

#include "random/noise.h"
#include "random/noise_internal.h"
#include "random/tables.h"
#include "random/tally.h"
#include "statistics.h"
#include "testing.h"

static tacit_noise_t *noise;

static int setup(void **state) {
  tacit_error_t err;
  return tacit_noise_new_seeded_not_private(&noise, 77, &err) == TACIT_OK ? 0 : 1;
}

static int teardown(void **state) {
  tacit_noise_free(noise);
  return 0;
}

static void assert_share(double count, double n, double p) {
  double sd = sqrt(n * p * (1 - p));
  if (fabs(count - n * p) > 5.5 * sd + 1) {
    fail_msg("%g of %g, expected a share of %g", count, n, p);
  }
}

static void test_bits(void **state) {
  static const double exponents[] = {0, 1e-3, 0.3, 1, 1.7, 4.25};
  size_t n = (size_t)(3e5 * testing_multiplier());
  tacit_error_t err;
  for (size_t i = 0; i < 6; i++) {
    uint64_t x = (uint64_t)(exponents[i] * 0x1p32);
    double exps = 0, up = 0, down = 0, ratio = 0;
    for (size_t j = 0; j < n; j++) {
      bool bit;
      assert_ok(tacit_noise_exp_bit(noise, x, &bit, &err), err);
      exps += bit;
      assert_ok(tacit_noise_logistic_bit(noise, (int64_t)x, &bit, &err), err);
      up += bit;
      assert_ok(tacit_noise_logistic_bit(noise, -(int64_t)x, &bit, &err), err);
      down += bit;
      assert_ok(tacit_noise_ratio_bit(noise, i, 7, &bit, &err), err);
      ratio += bit;
    }
    double count = (double)n;
    assert_share(exps, count, exp(-exponents[i]));
    assert_share(up, count, 1 / (1 + exp(-exponents[i])));
    assert_share(down, count, 1 / (1 + exp(exponents[i])));
    assert_share(ratio, count, (double)i / 7);
  }
  bool bit;
  assert_ok(tacit_noise_exp_bit(noise, UINT64_MAX, &bit, &err), err);
  assert_false(bit);
  assert_ok(tacit_noise_logistic_bit(noise, INT64_MIN, &bit, &err), err);
  assert_false(bit);
}

static void test_subsets(void **state) {
  static const uint64_t rates[] = {0, 1, 0x28f5c28, 0x80000000, 0xfffffff0, 0x100000000};
  enum { n = 100 };
  size_t repeats = (size_t)(4e4 * testing_multiplier());
  tacit_error_t err;
  for (size_t r = 0; r < 6; r++) {
    double p = (double)rates[r] * 0x1p-32, total = 0, together = 0, of[n] = {0};
    for (size_t k = 0; k < repeats; k++) {
      uint64_t mask[2];
      assert_ok(tacit_noise_subset(noise, rates[r], n, mask, &err), err);
      assert_true(mask[1] >> (n - 64) == 0);
      for (size_t i = 0; i < n; i++) {
        bool is_in = mask[i / 64] >> i % 64 & 1;
        of[i] += is_in;
        total += is_in;
        together += is_in && (mask[(i + 1) % n / 64] >> (i + 1) % n % 64 & 1);
      }
    }
    double m = (double)repeats;
    assert_share(total, m * n, p);
    for (size_t i = 0; i < n; i++) {
      assert_share(of[i], m, p);
    }
    assert_true(fabs(together - m * n * p * p) <= 5.5 * sqrt(3 * m * n * p * p) + 1); /* neighbours overlap */
  }
}

static void test_poisson(void **state) {
  static const double means[] = {0, 0.01, 0.75, 1, 3.5, 40};
  size_t n = (size_t)(2e5 * testing_multiplier());
  tacit_error_t err;
  for (size_t m = 0; m < 6; m++) {
    double counts[8] = {0}, sum = 0, squares = 0;
    for (size_t k = 0; k < n; k++) {
      uint64_t number;
      assert_ok(tacit_noise_poisson(noise, (uint64_t)(means[m] * 0x1p32), &number, &err), err);
      counts[number < 8 ? number : 7] += number < 8;
      sum += (double)number;
      squares += ((double)number - means[m]) * ((double)number - means[m]);
    }
    double p = exp(-means[m]), count = (double)n;
    for (int k = 0; k < 8; k++) {
      assert_share(counts[k], count, p);
      p *= means[m] / (k + 1);
    }
    assert_true(fabs(sum - count * means[m]) <= 5.5 * sqrt(count * means[m]) + 1);
    double fourth = means[m] * (1 + 3 * means[m]) - means[m] * means[m];
    assert_true(fabs(squares - count * means[m]) <= 6 * sqrt(count * fourth) + 1);
  }
}

/*
 * Means that a million records and more lead to are drawn, too; false alarms below 1e-7. Seen to catch a mean
 * whose whole part was drawn from 1/32 on.
 */
static void test_large_poisson(void **state) {
  enum { n = 8 };
  const double mean = 0x1p24 + 32.5;
  double sum = 0, squares = 0;
  tacit_error_t err;
  for (size_t i = 0; i < n; i++) {
    uint64_t number;
    assert_ok(tacit_noise_poisson(noise, (uint64_t)(mean * 0x1p32), &number, &err), err);
    sum += (double)number - mean;
    squares += ((double)number - mean) * ((double)number - mean) / mean;
  }
  assert_true(fabs(sum) <= 5.5 * sqrt(n * mean));
  assert_true(squares > 0.05 && squares < 55); /* chi-squared with 8 degrees of freedom */
}

/* out <- a m - b c for 512-bit numbers, most significant word first; wraps. */
static void weigh(const uint64_t a[8], uint64_t m, const uint64_t b[8], uint64_t c, uint64_t out[8]) {
  __extension__ typedef __int128 wide_t;
  wide_t carry = 0;
  for (int i = 7; i >= 0; i--) {
    carry += (wide_t)a[i] * m - (wide_t)b[i] * c;
    out[i] = (uint64_t)carry;
    carry >>= 64;
  }
}

/* k p_k = 16 p_{k-1} to a few units of 2^-512 and a sum of one leave only one distribution. */
static void test_poisson_table(void **state) {
  uint64_t before[8] = {0}, mass[2][8];
  for (size_t k = 0; k < TACIT_N_POISSON; k++) {
    uint64_t at[8], difference[8];
    for (size_t i = 0; i < 8; i++) {
      at[i] = tacit_poisson_cdf[i][k];
    }
    weigh(at, 1, before, 1, mass[k % 2]);
    memcpy(before, at, sizeof at);
    weigh(mass[k % 2], k, mass[1 - k % 2], 16, difference);
    bool is_negative = difference[0] >> 63;
    for (size_t i = 0; k > 0 && i < 7; i++) {
      assert_true(difference[i] == (is_negative ? UINT64_MAX : 0));
    }
    assert_true(k == 0 || (is_negative ? -difference[7] : difference[7]) <= k + 16);
  }
  for (size_t i = 0; i < 8; i++) {
    assert_true(before[i] == UINT64_MAX);
  }
}

/* Words scripted at every entry of the table and beside it, to every depth. */
static void test_poisson_is_decided_at_every_digit(void **state) {
  tacit_noise_t *source;
  tacit_error_t err;
  assert_ok(tacit_noise_new_seeded_not_private(&source, 9, &err), err);
  for (size_t k = 0; k < TACIT_N_POISSON; k++) {
    for (size_t depth = 0; depth < TACIT_CDF_WORDS; depth++) {
      for (int side = -1; side <= 1; side++) {
        uint64_t u[8], expected = 0;
        for (size_t i = 0; i < 8; i++) {
          u[i] = tacit_poisson_cdf[i][k];
        }
        u[depth] += (uint64_t)side; /* may wrap: another number as good as any */
        while (expected < TACIT_N_POISSON) {
          size_t i = 0;
          while (i < 8 && u[i] == tacit_poisson_cdf[i][expected]) {
            i++;
          }
          if (i == 8 || u[i] < tacit_poisson_cdf[i][expected]) {
            expected = i == 8 ? TACIT_N_POISSON : expected;
            break;
          }
          expected++;
        }
        source->next = NOISE_WORDS - 8;
        for (size_t i = 0; i < 8; i++) {
          source->words[source->next + i] = tacit_stream_word(u[i]);
        }
        source->has_failed = false;
        uint64_t found = tacit_poisson_sixteen(source);
        assert_true(source->has_failed == (expected >= TACIT_N_POISSON));
        assert_true(found == (source->has_failed ? 0 : expected));
      }
    }
  }
  source->has_failed = false;
  tacit_noise_free(source);
}

static void test_numbers_below(void **state) {
  size_t n = (size_t)(1e5 * testing_multiplier());
  double counts[11] = {0};
  tacit_error_t err;
  for (size_t i = 0; i < n; i++) {
    uint64_t k;
    assert_ok(tacit_noise_below(noise, 11, 1, &k, &err), err);
    assert_true(k < 11);
    counts[k]++;
  }
  for (size_t k = 0; k < 11; k++) {
    assert_share(counts[k], (double)n, 1.0 / 11);
  }
}

/* What five items are worth, as tacit_noise_tally() asks for it. */
static const double worth[] = {-0.9, -0.3, 0, 0.5, 0.95};

static void tell_worth(void *user, size_t n, const uint64_t *items, double *x) {
  for (size_t i = 0; i < n; i++) {
    x[i] = worth[items[i]] * 0x1p32;
  }
}

/*
 * A sum over records counted each at its own rate: its mean, its variance, and E exp(sum) = exp(sum of x), by
 * which decisions are balanced [Zhang2020]. Seen to catch all records counted at the rate of one that is
 * worth nothing.
 */
static void test_tallies(void **state) {
  const double a = 0.25, b = 1;
  size_t n = (size_t)(1e5 * testing_multiplier());
  double mean = 0, variance = 0, fourth = 0, all = 0;
  for (size_t i = 0; i < 5; i++) {
    double up = a + 0.5 * (b + worth[i]), down = a + 0.5 * (b - worth[i]), each = log(up / down);
    mean += down * each;
    variance += down * each * each;
    fourth += down * each * each * each * each;
    all += worth[i];
  }
  double first = 0, second = 0, growth = 0, growths = 0, count = (double)n;
  tacit_error_t err;
  for (size_t k = 0; k < n; k++) {
    int64_t units;
    assert_ok(tacit_noise_tally(noise, 5, (int64_t)(a * 0x1p32), (int64_t)(b * 0x1p32), tell_worth, NULL,
                                &units, &err),
              err);
    double sum = (double)units * 0x1p-32, e = exp(sum - all);
    first += sum - mean;
    second += (sum - mean) * (sum - mean) - variance;
    growth += e - 1;
    growths += (e - 1) * (e - 1);
  }
  assert_true(fabs(first) <= 5.5 * sqrt(count * variance));
  assert_true(fabs(second) <= 6 * sqrt(count * (fourth + 2 * variance * variance)));
  assert_true(fabs(growth) <= 6 * sqrt(growths));
}

static void test_bad_arguments(void **state) {
  bool bit;
  uint64_t number, mask[1];
  tacit_error_t err;
  assert_int_equal(tacit_noise_ratio_bit(noise, 2, 1, &bit, &err), TACIT_ERR_ARGUMENT);
  assert_int_equal(tacit_noise_ratio_bit(noise, 0, 0, &bit, &err), TACIT_ERR_ARGUMENT);
  assert_int_equal(tacit_noise_below(noise, 0, 1, &number, &err), TACIT_ERR_ARGUMENT);
  assert_int_equal(tacit_noise_subset(noise, 0x100000001, 1, mask, &err), TACIT_ERR_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bits),          cmocka_unit_test(test_subsets),
      cmocka_unit_test(test_poisson),       cmocka_unit_test(test_large_poisson),
      cmocka_unit_test(test_poisson_table), cmocka_unit_test(test_poisson_is_decided_at_every_digit),
      cmocka_unit_test(test_numbers_below), cmocka_unit_test(test_tallies),
      cmocka_unit_test(test_bad_arguments)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
