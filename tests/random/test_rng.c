/*
 * The generator of the sampler's own moves. Errors planted to see that these tests catch them: one wrong edge
 * of the ziggurat, wedges always accepted, the tail without its rejection, a uniform of 53 bits, a biased
 * integer.
 */
#include <string.h>

#include <sodium.h>

#include "base/memory.h"
#include "random/tables.h"
#include "statistics.h"
#include "tacit/random.h"

static tacit_rng_t *rng_of_seed(uint64_t seed, uint64_t stream) {
  unsigned char key[32];
  tacit_error_t err;
  tacit_rng_t *rng;
  tacit_rng_key_from_seed(key, seed);
  assert_ok(tacit_rng_new(&rng, key, stream, &err), err);
  return rng;
}

/* RFC 8439, appendix A.1: vectors 1 and 2 (blocks 0 and 1), and 5, whose nonce is this stream's number. */
static void test_bits_match_chacha20_test_vectors(void **state) {
  const unsigned char key[32] = {0};
  tacit_error_t err;
  tacit_rng_t *rng;
  assert_ok(tacit_rng_new(&rng, key, 0, &err), err);
  assert_true(tacit_rng_bits(rng) == 0x903df1a0ade0b876);
  assert_true(tacit_rng_bits(rng) == 0x28bd8653e56a5d40);
  for (int i = 2; i < 8; i++) {
    tacit_rng_bits(rng);
  }
  assert_true(tacit_rng_bits(rng) == 0x7a385155bee7079f);
  tacit_rng_free(rng);
  assert_ok(tacit_rng_new(&rng, key, 0x0200000000000000, &err), err);
  assert_true(tacit_rng_bits(rng) == 0x3736d58c374dc6c2);
  assert_true(tacit_rng_bits(rng) == 0xcd3f93efb904e24a);
  tacit_rng_free(rng);
}

static void test_bits_continue_the_key_stream_across_refills(void **state) {
  enum { N = 7000 };
  static unsigned char expected[8 * N];
  unsigned char key[32], nonce[8] = {0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01};
  tacit_rng_key_from_seed(key, 9);
  crypto_stream_chacha20(expected, sizeof expected, nonce, key);
  tacit_rng_t *rng = rng_of_seed(9, 0x0102030405060708);
  for (size_t i = 0; i < N; i++) {
    uint64_t word = tacit_rng_bits(rng);
    for (size_t j = 0; j < 8; j++) {
      assert_true((unsigned char)(word >> (8 * j)) == expected[8 * i + j]);
    }
  }
  tacit_rng_free(rng);
}

static void test_key_and_stream_repeat_and_others_differ(void **state) {
  tacit_rng_t *a = rng_of_seed(1, 5), *b = rng_of_seed(1, 5), *c = rng_of_seed(1, 6), *d = rng_of_seed(2, 5);
  for (int i = 0; i < 5000; i++) {
    double x = tacit_rng_normal(a);
    assert_true(x == tacit_rng_normal(b)); /* bit for bit: the same computation */
    assert_true(x != tacit_rng_normal(c));
    assert_true(x != tacit_rng_normal(d));
  }
  tacit_rng_free(a);
  tacit_rng_free(b);
  tacit_rng_free(c);
  tacit_rng_free(d);

  unsigned char key[32], other[32];
  tacit_error_t err;
  assert_ok(tacit_rng_key_from_system(key, &err), err);
  assert_ok(tacit_rng_key_from_system(other, &err), err);
  assert_memory_not_equal(key, other, sizeof key);
}

/* Odd multiples of 2^-53: exact doubles, symmetric about 1/2, and never 0 or 1. */
static void test_uniforms_are_the_middles_of_equal_cells(void **state) {
  tacit_rng_t *rng = rng_of_seed(104, 0), *bits = rng_of_seed(104, 0);
  for (int i = 0; i < 100000; i++) {
    double u = tacit_rng_uniform(rng), scaled = u * 0x1p53;
    assert_true(u > 0 && u < 1);
    assert_true(fmod(scaled, 2) == 1);
    assert_true((uint64_t)scaled >> 1 == tacit_rng_bits(bits) >> 12);
  }
  tacit_rng_free(rng);
  tacit_rng_free(bits);
}

static double cdf_uniform(double x, double unused) {
  (void)unused;
  return x;
}

static double cdf_normal(double x, double unused) {
  (void)unused;
  return 0.5 * erfc(-x / sqrt(2));
}

static double cdf_exponential(double x, double unused) {
  (void)unused;
  return -expm1(-x);
}

static double cdf_exponential_beyond(double x, double start) { return -expm1(start - x); }

/* N(0, 1) given that it exceeds start. */
static double cdf_normal_beyond(double x, double start) {
  return 1 - erfc(x / sqrt(2)) / erfc(start / sqrt(2));
}

static void test_variates_pass_kolmogorov_smirnov(void **state) {
  const struct {
    const char *name;
    double (*draw)(tacit_rng_t *rng);
    double (*cdf)(double x, double parameter);
  } cases[] = {{"uniform", tacit_rng_uniform, cdf_uniform},
               {"normal", tacit_rng_normal, cdf_normal},
               {"exponential", tacit_rng_exponential, cdf_exponential}};
  size_t n = (size_t)(2e6 * testing_multiplier());
  double *x = malloc(n * sizeof *x);
  assert_non_null(x);
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    tacit_rng_t *rng = rng_of_seed(100, c);
    for (size_t i = 0; i < n; i++) {
      x[i] = cases[c].draw(rng);
    }
    assert_probable(kolmogorov_p(x, n, cases[c].cdf, 0), "%s", cases[c].name);
    tacit_rng_free(rng);
  }
  free(x);
}

/* Kolmogorov-Smirnov sees little of the tails: these are tested alone, their counts and their shapes. */
static void test_tails_have_the_right_mass_and_shape(void **state) {
  size_t n = (size_t)(2e7 * testing_multiplier()), n_normal = 0, n_exponential = 0, capacity = n / 100;
  double *normal = malloc(capacity * sizeof *normal), *exponential = malloc(capacity * sizeof *exponential);
  assert_true(normal != NULL && exponential != NULL);
  double start_normal = 3, start_exponential = 6, squares = 0, fourths = 0, negative = 0;
  const double far[] = {4, 4.5, 5, 5.5};
  double n_far[4] = {0};
  tacit_rng_t *rng = rng_of_seed(101, 0);
  for (size_t i = 0; i < n; i++) {
    double z = tacit_rng_normal(rng), e = tacit_rng_exponential(rng);
    squares += z * z;
    fourths += z * z * z * z;
    negative += z < 0;
    for (size_t j = 0; j < 4 && fabs(z) > far[j]; j++) {
      n_far[j]++;
    }
    if (fabs(z) > start_normal && n_normal < capacity) {
      normal[n_normal++] = fabs(z);
    }
    if (e > start_exponential && n_exponential < capacity) {
      exponential[n_exponential++] = e;
    }
  }
  double count = (double)n;
  assert_probable(normal_p((squares - count) / sqrt(2 * count)), "variance");
  assert_probable(normal_p((fourths - 3 * count) / sqrt(96 * count)), "fourth moment");
  assert_probable(normal_p(binomial_z(negative, count, 0.5)), "sign");
  assert_probable(normal_p(binomial_z((double)n_normal, count, erfc(start_normal / sqrt(2)))), "normal tail");
  assert_probable(normal_p(binomial_z((double)n_exponential, count, exp(-start_exponential))),
                  "exponential tail");
  for (size_t j = 0; j < 4; j++) {
    assert_probable(poisson_p(n_far[j], count * erfc(far[j] / sqrt(2))), "beyond %g", far[j]);
  }
  assert_probable(kolmogorov_p(normal, n_normal, cdf_normal_beyond, start_normal), "normal tail");
  assert_probable(kolmogorov_p(exponential, n_exponential, cdf_exponential_beyond, start_exponential),
                  "exponential tail");
  tacit_rng_free(rng);
  free(normal);
  free(exponential);
}

/* Against the exact distribution on cells as wide as the ziggurat's layers, where a wrong edge or wedge would
 * show. */
static void test_normal_has_exact_probabilities_between_ziggurat_edges(void **state) {
  double counts[TACIT_N_LAYERS] = {0}, statistic = 0;
  size_t n = (size_t)(8e6 * testing_multiplier());
  tacit_rng_t *rng = rng_of_seed(102, 0);
  for (size_t i = 0; i < n; i++) {
    double x = fabs(tacit_rng_normal(rng));
    size_t low = 0, high = TACIT_N_LAYERS; /* edge[low] > x >= edge[high], the zeroth standing for infinity */
    while (high - low > 1) {
      size_t middle = (low + high) / 2;
      if (x < tacit_ziggurat_edge[middle]) {
        low = middle;
      } else {
        high = middle;
      }
    }
    counts[low]++;
  }
  for (size_t j = 0; j < TACIT_N_LAYERS; j++) {
    double above = j == 0 ? 0 : erfc(tacit_ziggurat_edge[j] / sqrt(2));
    double expected = (double)n * (erfc(tacit_ziggurat_edge[j + 1] / sqrt(2)) - above);
    statistic += (counts[j] - expected) * (counts[j] - expected) / expected;
  }
  assert_probable(chi_square_p(statistic, TACIT_N_LAYERS - 1), "normal");
  tacit_rng_free(rng);
}

static void test_ziggurat_layers_have_equal_areas(void **state) {
  const double *x = tacit_ziggurat_edge, *f = tacit_ziggurat_density, r = x[1];
  double area = r * exp(-0.5 * r * r) + sqrt(acos(-1.0) / 2) * erfc(r / sqrt(2));
  assert_close(x[0] * exp(-0.5 * r * r), area, 1e-15 * area * 8);
  for (size_t i = 0; i <= TACIT_N_LAYERS; i++) {
    assert_close(f[i], exp(-0.5 * x[i] * x[i]), 4e-16);
  }
  for (size_t i = 1; i < TACIT_N_LAYERS; i++) {
    assert_true(x[i + 1] < x[i]);
    assert_close(x[i] * (f[i + 1] - f[i]), area, 1e-15);
  }
  assert_true(x[TACIT_N_LAYERS] == 0 && f[TACIT_N_LAYERS] == 1);
}

static void test_below_is_uniform_for_small_and_huge_n(void **state) {
  tacit_rng_t *rng = rng_of_seed(103, 0);
  const uint64_t sizes[] = {2, 3, 7, 10, 256, 1000};
  for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
    double counts[1000] = {0}, statistic = 0, n = 5e5 * testing_multiplier();
    for (double i = 0; i < n; i++) {
      uint64_t value = tacit_rng_below(rng, sizes[s]);
      assert_true(value < sizes[s]);
      counts[value]++;
    }
    double total = 0;
    for (size_t j = 0; j < sizes[s]; j++) {
      total += counts[j];
    }
    for (size_t j = 0; j < sizes[s]; j++) {
      double expected = total / (double)sizes[s];
      statistic += (counts[j] - expected) * (counts[j] - expected) / expected;
    }
    assert_probable(chi_square_p(statistic, (double)sizes[s] - 1), "n %g", (double)sizes[s]);
  }
  /* With n = 3 * 2^62 an unredrawn product would fall on multiples of 3 with probability 1/2, not 1/3. */
  double multiples = 0, n = 3e5 * testing_multiplier();
  for (double i = 0; i < n; i++) {
    uint64_t value = tacit_rng_below(rng, (uint64_t)3 << 62);
    assert_true(value < (uint64_t)3 << 62);
    multiples += value % 3 == 0;
  }
  assert_probable(normal_p(binomial_z(multiples, ceil(n), 1.0 / 3)), "n 3 * 2^62");
  for (int i = 0; i < 100; i++) {
    assert_true(tacit_rng_below(rng, 1) == 0);
    assert_true(tacit_rng_below(rng, UINT64_MAX) < UINT64_MAX);
  }
  tacit_rng_free(rng);
}

static void test_failed_allocation_gives_no_generator(void **state) {
  const unsigned char key[32] = {0};
  tacit_error_t err;
  tacit_rng_t *rng = (tacit_rng_t *)&err;
  tacit_alloc_fail_at(1);
  assert_int_equal(tacit_rng_new(&rng, key, 0, &err), TACIT_ERR_MEMORY);
  assert_null(rng);
  tacit_alloc_fail_at(0);
  tacit_rng_free(rng);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bits_match_chacha20_test_vectors),
      cmocka_unit_test(test_bits_continue_the_key_stream_across_refills),
      cmocka_unit_test(test_key_and_stream_repeat_and_others_differ),
      cmocka_unit_test(test_uniforms_are_the_middles_of_equal_cells),
      cmocka_unit_test(test_variates_pass_kolmogorov_smirnov),
      cmocka_unit_test(test_tails_have_the_right_mass_and_shape),
      cmocka_unit_test(test_normal_has_exact_probabilities_between_ziggurat_edges),
      cmocka_unit_test(test_ziggurat_layers_have_equal_areas),
      cmocka_unit_test(test_below_is_uniform_for_small_and_huge_n),
      cmocka_unit_test(test_failed_allocation_gives_no_generator),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
