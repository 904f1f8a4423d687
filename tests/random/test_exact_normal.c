/*
 * The exact normal deviate from inside: its table, its rare branches with scripted digits, and its
 * distribution with digits of 4 bits, of which a sixteenth are ties. Errors planted to see that these tests
 * catch them: a tie that is not extended, an extension of y that does not reach x, a wrong word deep in the
 * table, a boundary decided by 64 bits.
 */
#include <string.h>

#include "random/exact_normal.h"
#include "rounded_gaussian.h"

static tacit_noise_t *seeded(uint64_t seed) {
  tacit_error_t err;
  tacit_noise_t *noise;
  assert_ok(tacit_noise_new_seeded_not_private(&noise, seed, &err), err);
  tacit_noise_refill(noise);
  return noise;
}

/* Let the source's next digits be these; its later ones stay random. */
static void script(tacit_noise_t *noise, const uint64_t *digits, size_t n, unsigned width) {
  tacit_noise_refill(noise);
  noise->has_failed = false;
  for (size_t i = 0; i < n; i++) {
    noise->words[noise->next + i] = tacit_stream_word(digits[i] << (64 - width));
  }
}

/* ---- the table ---- */

/* A number in [0, 2^64): 640 bits of fraction, least significant word first. */
enum { FRACTION_WORDS = 10 };
typedef struct fixed {
  uint64_t word[FRACTION_WORDS + 1];
} fixed_t;

static fixed_t fixed_sum(fixed_t a, const fixed_t *b) {
  tacit_u128_t carry = 0;
  for (size_t i = 0; i <= FRACTION_WORDS; i++) {
    carry += (tacit_u128_t)a.word[i] + b->word[i];
    a.word[i] = (uint64_t)carry;
    carry >>= 64;
  }
  return a;
}

static fixed_t fixed_difference(fixed_t a, const fixed_t *b) {
  uint64_t borrow = 0;
  for (size_t i = 0; i <= FRACTION_WORDS; i++) {
    tacit_u128_t difference = (tacit_u128_t)a.word[i] - b->word[i] - borrow;
    a.word[i] = (uint64_t)difference;
    borrow = (uint64_t)(difference >> 64) & 1;
  }
  return a;
}

static fixed_t fixed_product(const fixed_t *a, const fixed_t *b) {
  uint64_t full[2 * FRACTION_WORDS + 2] = {0};
  for (size_t i = 0; i <= FRACTION_WORDS; i++) {
    tacit_u128_t carry = 0;
    for (size_t j = 0; j <= FRACTION_WORDS; j++) {
      carry += (tacit_u128_t)a->word[i] * b->word[j] + full[i + j];
      full[i + j] = (uint64_t)carry;
      carry >>= 64;
    }
    full[i + FRACTION_WORDS + 1] = (uint64_t)carry;
  }
  fixed_t product;
  memcpy(product.word, full + FRACTION_WORDS, sizeof product.word);
  return product;
}

static fixed_t fixed_quotient(fixed_t a, uint64_t divisor) {
  tacit_u128_t rest = 0;
  for (size_t i = FRACTION_WORDS + 1; i-- > 0;) {
    rest = rest << 64 | a.word[i];
    a.word[i] = (uint64_t)(rest / divisor);
    rest %= divisor;
  }
  return a;
}

static fixed_t fixed_one(void) { return (fixed_t){.word = {[FRACTION_WORDS] = 1}}; }

/* exp(-1/2) by its series. */
static fixed_t fixed_exp_minus_half(void) {
  fixed_t sum = fixed_one(), term = sum;
  for (uint64_t j = 1; j < 120; j++) {
    term = fixed_quotient(term, 2 * j);
    sum = j & 1 ? fixed_difference(sum, &term) : fixed_sum(sum, &term);
  }
  return sum;
}

/* F = S_k/S lies in [T, T + 2^-512) exactly if 0 <= S_k - T S < 2^-512 S. */
static void test_integer_part_cdf_matches_integer_arithmetic(void **state) {
  enum { N = 31 };
  fixed_t q = fixed_exp_minus_half(), q2 = fixed_product(&q, &q), power = q, weight = fixed_one(), partial[N];
  partial[0] = weight;
  for (size_t k = 1; k < N; k++) {
    weight = fixed_product(&weight, &power); /* exp(-k^2/2) = exp(-(k - 1)^2/2) exp(-(2k - 1)/2) */
    power = fixed_product(&power, &q2);
    partial[k] = fixed_sum(partial[k - 1], &weight);
  }
  const fixed_t *whole = &partial[N - 1];
  for (size_t k = 0; k < TACIT_N_INTEGER_PARTS; k++) {
    fixed_t entry = {{0}}, gap;
    for (size_t i = 0; i < TACIT_CDF_WORDS; i++) {
      entry.word[FRACTION_WORDS - 1 - i] = tacit_integer_part_cdf[i][k];
    }
    entry = fixed_product(&entry, whole);
    gap = fixed_difference(partial[k], &entry);
    /* 2^-512 S: S is 1.75, and the lowest two of ten words are below 2^-512. */
    for (size_t i = 3; i <= FRACTION_WORDS; i++) {
      assert_true(gap.word[i] == 0);
    }
    assert_true(gap.word[2] < whole->word[FRACTION_WORDS] || (gap.word[2] == whole->word[FRACTION_WORDS] &&
                                                              gap.word[1] < whole->word[FRACTION_WORDS - 1]));
  }
}

/* ---- rare branches, with scripted digits ---- */

/* The least k with u < F(k), by comparison with each whole entry; -1 if 512 bits do not tell. */
static int reference_integer_part(const uint64_t u[TACIT_CDF_WORDS]) {
  for (int k = 0; k < TACIT_N_INTEGER_PARTS; k++) {
    size_t i = 0;
    while (i < TACIT_CDF_WORDS && u[i] == tacit_integer_part_cdf[i][k]) {
      i++;
    }
    if (i == TACIT_CDF_WORDS) {
      return -1;
    }
    if (u[i] < tacit_integer_part_cdf[i][k]) {
      return k;
    }
  }
  return -1;
}

static void check_integer_part(tacit_noise_t *noise, const uint64_t u[TACIT_CDF_WORDS]) {
  int expected = reference_integer_part(u);
  script(noise, u, TACIT_CDF_WORDS, 64);
  unsigned k = exact_integer_part(noise, 64);
  assert_true(noise->has_failed == (expected < 0));
  assert_int_equal(k, expected < 0 ? 0 : expected);

  uint64_t nibbles[16 * TACIT_CDF_WORDS];
  for (size_t i = 0; i < 16 * TACIT_CDF_WORDS; i++) {
    nibbles[i] = u[i / 16] >> (60 - 4 * (i % 16)) & 15;
  }
  script(noise, nibbles, 16 * TACIT_CDF_WORDS, 4);
  k = exact_integer_part(noise, 4);
  assert_true(noise->has_failed == (expected < 0));
  assert_int_equal(k, expected < 0 ? 0 : expected);
}

static void test_integer_part_is_decided_at_every_digit(void **state) {
  tacit_noise_t *noise = seeded(11);
  for (size_t k = 0; k < TACIT_N_INTEGER_PARTS; k++) {
    uint64_t u[TACIT_CDF_WORDS];
    for (size_t i = 0; i < TACIT_CDF_WORDS; i++) {
      u[i] = tacit_integer_part_cdf[i][k];
    }
    check_integer_part(noise, u); /* F(k) to the last digit: undecided */
    for (size_t i = 0; i < TACIT_CDF_WORDS; i++) {
      uint64_t kept = u[i];
      u[i] = kept - (kept > 0);
      check_integer_part(noise, u);
      u[i] = kept + (kept < UINT64_MAX);
      check_integer_part(noise, u);
      u[i] = kept;
    }
  }
  noise->has_failed = false;
  tacit_noise_free(noise);
}

/* a and b alike in `depth` digits: the digits are drawn in turn, and kept. */
static void check_comparison(tacit_noise_t *noise, unsigned depth, uint64_t last_a, uint64_t last_b,
                             unsigned width) {
  uint64_t digits[2 * EXACT_BITS / EXACT_MIN_WIDTH];
  unsigned n_digits = EXACT_BITS / width;
  for (unsigned i = 0; i < n_digits; i++) {
    digits[2 * i] = i < depth ? 9 : last_a;
    digits[2 * i + 1] = i < depth ? 9 : last_b;
  }
  script(noise, digits, 2 * n_digits, width);
  exact_uniform_t a, b;
  exact_draw_uniform(noise, &a, width);
  exact_draw_uniform(noise, &b, width);
  bool less = exact_less(noise, &a, &b, width);
  assert_true(noise->has_failed == (depth >= n_digits));
  assert_true(less == (depth < n_digits && last_a < last_b));
  assert_int_equal(a.n, depth < n_digits ? depth + 1 : n_digits);
  assert_int_equal(b.n, a.n);
  /* Asked again, the same digits answer, and none is drawn. */
  size_t next = noise->next;
  noise->has_failed = false;
  assert_true(exact_less(noise, &a, &b, width) == less);
  assert_true(exact_less(noise, &b, &a, width) == (depth < n_digits && !less));
  assert_true(noise->next == next);
}

static void test_comparison_extends_ties_to_every_depth_and_fails_closed(void **state) {
  tacit_noise_t *noise = seeded(12);
  const unsigned widths[] = {4, 64};
  for (size_t w = 0; w < 2; w++) {
    for (unsigned depth = 0; depth <= EXACT_BITS / widths[w]; depth++) {
      check_comparison(noise, depth, 3, 4, widths[w]);
      check_comparison(noise, depth, 15, 0, widths[w]);
    }
  }
  tacit_noise_free(noise);
}

/* x at 64 bits, then these digits: which integer does mantissa (k + x) 2^-shift round to? */
static uint64_t round_scripted(tacit_noise_t *noise, exact_scale_t scale, unsigned k,
                               const uint64_t digits[8], unsigned width) {
  uint64_t parts[EXACT_BITS / EXACT_MIN_WIDTH];
  unsigned per_word = 64 / width;
  for (unsigned i = 0; i < 8 * per_word; i++) {
    parts[i] = digits[i / per_word] << (i % per_word * width) >> (64 - width);
  }
  script(noise, parts, 8 * per_word, width);
  exact_uniform_t x;
  exact_draw_uniform(noise, &x, width);
  return exact_round(noise, scale, k, &x, width);
}

/*
 * Digits of the x for which mantissa (k + x) 2^-shift = q + 1/2 exactly, by long division; the number of them
 * that are followed by something.
 */
static unsigned boundary_digits(exact_scale_t scale, unsigned k, uint64_t q, uint64_t digits[8]) {
  tacit_u128_t rest =
      ((tacit_u128_t)(2 * q + 1) << (scale.shift - 1)) - ((tacit_u128_t)(k * scale.mantissa) << 64);
  unsigned n_open = 0;
  for (size_t i = 0; i < 8; i++) {
    digits[i] = (uint64_t)(rest / scale.mantissa);
    rest = rest % scale.mantissa << 64;
    n_open += rest != 0;
  }
  return n_open;
}

static void check_boundary(tacit_noise_t *noise, exact_scale_t scale, unsigned k, uint64_t q,
                           unsigned width) {
  uint64_t digits[8], changed[8];
  unsigned n_open = boundary_digits(scale, k, q, digits);
  uint64_t at = round_scripted(noise, scale, k, digits, width);
  assert_true(noise->has_failed == (n_open == 8));
  assert_true(n_open == 8 || at == q + 1);
  for (unsigned i = 0; i < 8; i++) {
    memcpy(changed, digits, sizeof changed);
    if (digits[i] < UINT64_MAX) {
      changed[i] = digits[i] + 1;
      memset(changed + i + 1, 0, (7 - i) * sizeof *changed);
      assert_true(round_scripted(noise, scale, k, changed, width) == q + 1 && !noise->has_failed);
    }
    if (digits[i] > 0) {
      changed[i] = digits[i] - 1;
      memset(changed + i + 1, 0xff, (7 - i) * sizeof *changed);
      assert_true(round_scripted(noise, scale, k, changed, width) == q && !noise->has_failed);
    }
  }
}

static void test_rounding_boundary_is_decided_at_every_digit(void **state) {
  tacit_noise_t *noise = seeded(13), *choice = seeded(14);
  for (int trial = 0; trial < 3000; trial++) {
    uint64_t mantissa = (uint64_t)1 << 52 | tacit_noise_word(choice) >> 12;
    if (trial % 8 == 0) {
      mantissa &= ~(uint64_t)0 << (trial / 8 % 53);
    }
    exact_scale_t scale = {.mantissa = mantissa, .shift = (unsigned)(64 + exact_choice(choice, 56))};
    unsigned k = (unsigned)exact_choice(choice, TACIT_N_INTEGER_PARTS);
    /* Boundaries from sd k to sd (k + 1); there is none for many a small sd. */
    tacit_u128_t low = (tacit_u128_t)(k * mantissa) << 64, width = (tacit_u128_t)mantissa << 64;
    tacit_u128_t half = (tacit_u128_t)1 << (scale.shift - 1);
    uint64_t first = (uint64_t)((low + half) >> scale.shift),
             end = (uint64_t)((low + width + half) >> scale.shift);
    if (first == end) {
      continue;
    }
    check_boundary(noise, scale, k, first + tacit_noise_word(choice) % (end - first), trial % 2 ? 64 : 4);
  }
  noise->has_failed = false;
  tacit_noise_free(noise);
  tacit_noise_free(choice);
}

/* Against the product in extended precision, whose error is far below the slack. */
static void test_rounded_product_is_within_half_of_the_product(void **state) {
  tacit_noise_t *noise = seeded(15), *choice = seeded(16);
  for (int trial = 0; trial < 200000; trial++) {
    int power = (int)exact_choice(choice, 72) - 20;
    double sd = ldexp(1 + (double)(tacit_noise_word(choice) >> 12) * 0x1p-52, power);
    unsigned k = (unsigned)exact_choice(choice, TACIT_N_INTEGER_PARTS);
    uint64_t digits[8] = {0};
    digits[0] = trial % 5 == 0 ? 0 : trial % 5 == 1 ? UINT64_MAX : tacit_noise_word(choice);
    uint64_t rounded = round_scripted(noise, exact_scale(sd), k, digits, 64);
    long double product = (long double)sd * ((long double)k + (long double)digits[0] * 0x1p-64L);
    assert_true(fabsl((long double)rounded - product) <= 0.5L + 1e-18L * product);
  }
  tacit_noise_free(noise);
  tacit_noise_free(choice);
}

static void test_scale_is_the_exact_double(void **state) {
  const double sds[] = {0x1p-20, 0x1p52, 1, 3.7, 1.0 / 3, 0x1.fffffffffffffp51, 0x1.0000000000001p-20};
  for (size_t i = 0; i < sizeof sds / sizeof sds[0]; i++) {
    exact_scale_t scale = exact_scale(sds[i]);
    assert_true(scale.mantissa >= (uint64_t)1 << 52 && scale.mantissa < (uint64_t)1 << 53 &&
                scale.shift >= 64);
    assert_true(ldexp((double)scale.mantissa, 64 - (int)scale.shift) == sds[i]);
  }
}

/* ---- distributions ---- */

static void test_integer_part_has_its_probabilities_with_narrow_digits(void **state) {
  double counts[TACIT_N_INTEGER_PARTS] = {0}, n = 2e6 * testing_multiplier(), total = 0, statistic = 0,
         left = n;
  tacit_noise_t *noise = seeded(17);
  for (double i = 0; i < n; i++) {
    counts[exact_integer_part(noise, 4)]++;
  }
  for (int k = 0; k < 30; k++) {
    total += exp(-0.5 * k * k);
  }
  for (int k = 0; k < 4; k++) {
    double expected = n * exp(-0.5 * k * k) / total;
    statistic += (counts[k] - expected) * (counts[k] - expected) / expected;
    left -= expected;
  }
  double rest = n - counts[0] - counts[1] - counts[2] - counts[3];
  statistic += (rest - left) * (rest - left) / left;
  assert_probable(chi_square_p(statistic, 4), "integer part");
  assert_false(noise->has_failed);
  tacit_noise_free(noise);
}

/* integral of exp(-t (2k + t)/2) over (0, x), with k = parameter. */
static double fraction_integral(double x, double k) {
  return sqrt(acos(-1.0) / 2) * exp(0.5 * k * k) * (erfc(k / sqrt(2)) - erfc((k + x) / sqrt(2)));
}

static double fraction_cdf(double x, double k) { return fraction_integral(x, k) / fraction_integral(1, k); }

static double as_double(tacit_noise_t *noise, exact_uniform_t *x, unsigned width) {
  double value = 0, unit = 1;
  for (unsigned i = 0; i < 48 / width + 1; i++) {
    unit = ldexp(unit, -(int)width);
    value += (double)exact_digit(noise, x, i, width) * unit;
  }
  return value;
}

EXACT_INLINE void check_fraction(tacit_noise_t *noise, unsigned k, unsigned width) {
  enum { N = 200000 };
  static double kept[N];
  size_t n_kept = 0;
  for (size_t i = 0; i < N; i++) {
    exact_uniform_t x;
    if (exact_fraction(noise, k, &x, width)) {
      kept[n_kept++] = as_double(noise, &x, width);
    }
  }
  assert_false(noise->has_failed);
  assert_probable(normal_p(binomial_z((double)n_kept, N, fraction_integral(1, k))), "k %u, width %u", k,
                  width);
  assert_probable(kolmogorov_p(kept, n_kept, fraction_cdf, k), "k %u, width %u", k, width);
}

/* The distribution given the integer part, and with it the tail as far out as 27 sd. */
static void test_fraction_has_its_distribution_given_the_integer_part(void **state) {
  tacit_noise_t *noise = seeded(18);
  const unsigned parts[] = {0, 1, 2, 3, 5, 8, 13, 26};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    check_fraction(noise, parts[i], 64);
    check_fraction(noise, parts[i], 4);
  }
  tacit_noise_free(noise);
}

static void test_rounded_distribution_is_the_same_with_narrow_digits(void **state) {
  const double sds[] = {0.5, 3.7, 1000, 0x1p31};
  size_t n = (size_t)(2e6 * testing_multiplier());
  int64_t *draws = malloc(n * sizeof *draws);
  assert_non_null(draws);
  tacit_noise_t *noise = seeded(19);
  for (size_t s = 0; s < sizeof sds / sizeof sds[0]; s++) {
    exact_scale_t scale = exact_scale(sds[s]);
    for (size_t i = 0; i < n; i++) {
      draws[i] = exact_rounded_normal(noise, scale, 4);
    }
    cells_t cells = cells_make(sds[s], (double)n);
    assert_probable(cells_p(&cells, draws, n), "sd %g", sds[s]);
  }
  assert_false(noise->has_failed);
  tacit_noise_free(noise);
  free(draws);
}

static void test_choice_is_uniform(void **state) {
  tacit_noise_t *noise = seeded(20);
  for (uint64_t m = 2; m <= 54; m += 13) {
    double counts[64] = {0}, statistic = 0;
    enum { N = 200000 };
    for (int i = 0; i < N; i++) {
      uint64_t choice = exact_choice(noise, m);
      assert_true(choice < m);
      counts[choice]++;
    }
    for (size_t j = 0; j < m; j++) {
      double expected = (double)N / (double)m;
      statistic += (counts[j] - expected) * (counts[j] - expected) / expected;
    }
    assert_probable(chi_square_p(statistic, (double)m - 1), "m %g", (double)m);
  }
  /* 2^64 mod 6 = 4: words whose products by 6 end in 0 (0), 2 (2^64/6 rounded up) are redrawn, 4 (2^65/6) is
   * not. */
  const uint64_t words[] = {0, 0x2aaaaaaaaaaaaaab, 0, 0x5555555555555556};
  script(noise, words, 4, 64);
  size_t before = noise->next;
  assert_true(exact_choice(noise, 6) == 2);
  assert_true(noise->next - before == 4);
  tacit_noise_free(noise);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_integer_part_cdf_matches_integer_arithmetic),
      cmocka_unit_test(test_integer_part_is_decided_at_every_digit),
      cmocka_unit_test(test_comparison_extends_ties_to_every_depth_and_fails_closed),
      cmocka_unit_test(test_rounding_boundary_is_decided_at_every_digit),
      cmocka_unit_test(test_rounded_product_is_within_half_of_the_product),
      cmocka_unit_test(test_scale_is_the_exact_double),
      cmocka_unit_test(test_integer_part_has_its_probabilities_with_narrow_digits),
      cmocka_unit_test(test_fraction_has_its_distribution_given_the_integer_part),
      cmocka_unit_test(test_rounded_distribution_is_the_same_with_narrow_digits),
      cmocka_unit_test(test_choice_is_uniform),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
