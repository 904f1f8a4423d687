/* The release that checks a fit: no record adds a vector longer than what is charged for; values agree with a
 * plain sum. */
#include <float.h>
#include <string.h>

#include "support.h"

enum { N_FEATURES = 3, N_BINS = 4, N_BY = 2, N_RECORDS = 300, N_VALUES = 2 * N_BINS + N_BY + 1 };

static const double cuts[] = {0.2, 0.5, 0.8}, by_cuts[] = {0.25}, theta[] = {0.2, -1.5, 0.7};
static const double count_cuts[] = {0.6, 1.2, 2.5};

static tacit_fit_point_t point_of(tacit_family_t family) {
  bool is_count = family == TACIT_FAMILY_POISSON;
  return (tacit_fit_point_t){.family = (int)family,
                             .upper = is_count ? 9 : 1,
                             .sd = 0.3,
                             .theta = theta,
                             .n_bins = N_BINS,
                             .cuts = is_count ? count_cuts : cuts,
                             .by = 1,
                             .n_by = N_BY,
                             .by_cuts = by_cuts};
}

/* Of n records in rows of N_FEATURES + 1; `curator` is exposed, so that sums are exact. */
static tacit_curator_t *open_exposed(tacit_glm_kernel_t *kernel, tacit_record_model_t *model, size_t n,
                                     const double *x) {
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  tacit_records_t *records;
  tacit_curator_t *curator;
  tacit_error_t err;
  *model = support_glm(kernel, TACIT_FAMILY_BERNOULLI, N_FEATURES, 1, 0);
  assert_ok(tacit_records_new(&records, n, N_FEATURES + 1, &err), err);
  for (size_t i = 0; i < n; i++) {
    tacit_records_set(records, i, x + i * (N_FEATURES + 1));
  }
  assert_ok(tacit_curator_new_exposed(&curator, records, model, &settings, &err), err);
  return curator;
}

static double anything(support_rng_t *rng) {
  static const double special[] = {0,         FLT_TRUE_MIN, FLT_MAX, -FLT_MAX, NAN, INFINITY,
                                   -INFINITY, 1e-20,        1e9,     -4e9,     1,   -1};
  return support_bits(rng) % 2 ? special[support_bits(rng) % 12]
                               : ldexp(support_uniform(rng, -1, 1), (int)(support_bits(rng) % 60) - 20);
}

/* In exact integers, of any floats: at most the radius, which the door also checks; and records that are none
 * do count as none alone. */
static void test_no_record_is_longer_than_what_is_charged_for(void **state) {
  (void)state;
  support_rng_t rng = {5};
  static const double steep[] = {1, 0, 0, 0, 40, 0, 0, -3, 60};
  double longest = 0, longest_shapes = 0;
  size_t n_zero = 0, n_tried = (size_t)(2000 * testing_multiplier());
  static const tacit_family_t families[] = {TACIT_FAMILY_BERNOULLI, TACIT_FAMILY_POISSON,
                                            TACIT_FAMILY_GAUSSIAN};
  for (size_t i = 0; i < n_tried; i++) {
    double record[N_FEATURES + 1], out[N_VALUES], sd[N_VALUES], square = 0;
    bool is_plain = i % 2 == 0;
    for (size_t j = 0; j <= N_FEATURES; j++) {
      record[j] = is_plain ? support_uniform(&rng, -1, 1) : anything(&rng);
    }
    record[N_FEATURES] = is_plain ? (double)(support_bits(&rng) % 10) : record[N_FEATURES];
    tacit_glm_kernel_t kernel;
    tacit_record_model_t model;
    tacit_error_t err;
    tacit_fit_point_t point = point_of(families[i % 6 / 2]);
    tacit_curator_t *curator = open_exposed(&kernel, &model, 1, record);
    assert_ok(tacit_curator_release_fit_check(curator, &point, 1, out, sd, &err), err);
    for (size_t k = 0; k < N_VALUES; k++) {
      double own = (double)(int64_t)curator->door->sums[k];
      square += own * own;
    }
    double radius = (double)(1 << 22);
    assert_true(square <= radius * radius);
    longest = fmax(longest, sqrt(square) / radius);
    n_zero += is_plain && square < 1;
    if (point.family != TACIT_FAMILY_GAUSSIAN) {
      square = 0;
      assert_ok(tacit_curator_release_residual_shapes(curator, &point, steep, 1, out, sd, &err), err);
      for (size_t k = 0; k < 2 * (N_FEATURES - 1); k++) {
        double own = (double)(int64_t)curator->door->sums[k];
        square += own * own;
      }
      assert_true(square <= radius * radius);
      longest_shapes = fmax(longest_shapes, sqrt(square) / radius);
    }
    tacit_curator_free(curator);
  }
  assert_true(longest_shapes > 0.9);
  assert_true(longest > 0.9);
  assert_int_equal(n_zero, 0);
}

/* Bernoulli by the formulas of the header; poisson by simulation-free means under the fit: residuals have
 * mean 0 where responses follow it. */
static void test_values_agree_with_a_plain_sum(void **state) {
  (void)state;
  support_rng_t rng = {6};
  double x[N_RECORDS * (N_FEATURES + 1)], expected[N_VALUES] = {0}, out[N_VALUES], sd[N_VALUES];
  for (size_t i = 0; i < N_RECORDS; i++) {
    double *record = x + i * (N_FEATURES + 1), eta = 0;
    for (size_t j = 0; j < N_FEATURES; j++) {
      record[j] = j == 0 ? 1 : (double)(float)support_uniform(&rng, -1, 1);
      eta += theta[j] * record[j];
    }
    record[N_FEATURES] = (double)(support_bits(&rng) & 1);
    double m = 1 / (1 + exp(-eta)), r = record[N_FEATURES] - m, v = m * (1 - m);
    size_t bin = (size_t)(m > cuts[0]) + (m > cuts[1]) + (m > cuts[2]);
    double of_one = fmin((1 - m) * (1 - m) / (9 * v), 1), of_zero = fmin(m * m / (9 * v), 1);
    expected[bin] += 1;
    expected[N_BINS + bin] += r;
    expected[2 * N_BINS + (record[1] > by_cuts[0])] += r;
    expected[N_VALUES - 1] += (record[N_FEATURES] > 0.5 ? of_one : of_zero) - m * of_one - (1 - m) * of_zero;
  }
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model;
  tacit_error_t err;
  tacit_fit_point_t point = point_of(TACIT_FAMILY_BERNOULLI);
  tacit_curator_t *curator = open_exposed(&kernel, &model, N_RECORDS, x);
  assert_ok(tacit_curator_release_fit_check(curator, &point, 1, out, sd, &err), err);
  for (size_t k = 0; k < N_VALUES; k++) {
    assert_close(out[k], expected[k], 1e-3);
    assert_close(sd[k], 0, 0);
  }
  tacit_curator_free(curator);
}

/* Residuals times z^2 - 1 and (z^3 - 3 z) / 2 of z = whiten x, each within [-1, 1]. */
static void test_residuals_along_features_are_plain_sums(void **state) {
  (void)state;
  static const double whiten[] = {1, 0, 0, 0.2, 1.5, 0, -0.1, 0.3, 2};
  support_rng_t rng = {8};
  double x[N_RECORDS * (N_FEATURES + 1)], expected[4] = {0}, out[4], sd;
  for (size_t i = 0; i < N_RECORDS; i++) {
    double *record = x + i * (N_FEATURES + 1), eta = 0;
    for (size_t j = 0; j < N_FEATURES; j++) {
      record[j] = j == 0 ? 1 : (double)(float)support_uniform(&rng, -1, 1);
      eta += theta[j] * record[j];
    }
    record[N_FEATURES] = (double)(support_bits(&rng) & 1);
    for (size_t j = 1; j < N_FEATURES; j++) {
      double z = whiten[j * 3] * record[0] + whiten[j * 3 + 1] * record[1] + whiten[j * 3 + 2] * record[2];
      double r = record[N_FEATURES] - 1 / (1 + exp(-eta));
      expected[2 * j - 2] += r * fmax(fmin(z * z - 1, 1), -1);
      expected[2 * j - 1] += r * fmax(fmin((z * z * z - 3 * z) / 2, 1), -1);
    }
  }
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model;
  tacit_error_t err;
  tacit_fit_point_t point = point_of(TACIT_FAMILY_BERNOULLI);
  tacit_curator_t *curator = open_exposed(&kernel, &model, N_RECORDS, x);
  assert_ok(tacit_curator_release_residual_shapes(curator, &point, whiten, 1, out, &sd, &err), err);
  for (size_t k = 0; k < 4; k++) {
    assert_close(out[k], expected[k], 1e-3);
  }
  point.family = TACIT_FAMILY_GAUSSIAN;
  assert_int_equal(tacit_curator_release_residual_shapes(curator, &point, whiten, 1, out, &sd, &err),
                   TACIT_ERR_ARGUMENT);
  tacit_curator_free(curator);
}

/*
 * Rare counts drawn from the fit: sums of residuals and of the excess are within 6 of their standard
 * deviations (chance: 10^-8 of ten sums). Without the mean that clamping leaves, the first would be 20.
 */
static void test_residuals_of_the_fit_s_own_counts_have_mean_zero(void **state) {
  (void)state;
  enum { MANY = 20000 };
  static const double rare[] = {-3.5, -0.5, 0.3};
  support_rng_t rng = {7};
  double *x = malloc(MANY * (N_FEATURES + 1) * sizeof *x), out[N_VALUES], sd[N_VALUES];
  for (size_t i = 0; i < MANY; i++) {
    double *record = x + i * (N_FEATURES + 1), eta = 0;
    for (size_t j = 0; j < N_FEATURES; j++) {
      record[j] = j == 0 ? 1 : (double)(float)support_uniform(&rng, -1, 1);
      eta += rare[j] * record[j];
    }
    double product = support_uniform(&rng, 0, 1), limit = exp(-exp(eta));
    for (record[N_FEATURES] = 0; product > limit; record[N_FEATURES]++) {
      product *= support_uniform(&rng, 0, 1);
    }
  }
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model;
  tacit_error_t err;
  tacit_fit_point_t point = point_of(TACIT_FAMILY_POISSON);
  point.theta = rare;
  tacit_curator_t *curator = open_exposed(&kernel, &model, MANY, x);
  assert_ok(tacit_curator_release_fit_check(curator, &point, 1, out, sd, &err), err);
  for (size_t k = N_BINS; k < N_VALUES; k++) {
    assert_true(fabs(out[k]) < 6 * sqrt(0.07 * MANY)); /* a count is 0 but in 7 % of records at most, and
                                                          residual and square are at most 1 */
  }
  tacit_curator_free(curator);
  free(x);
}

static void test_bad_points_are_refused(void **state) {
  (void)state;
  const double record[N_FEATURES + 1] = {1, 0, 0, 1};
  double out[N_VALUES + 2 * TACIT_FIT_MAX_BINS], sd[N_VALUES + 2 * TACIT_FIT_MAX_BINS];
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model;
  tacit_error_t err;
  tacit_curator_t *curator = open_exposed(&kernel, &model, 1, record);
  tacit_fit_point_t points[4];
  for (size_t i = 0; i < 4; i++) {
    points[i] = point_of(TACIT_FAMILY_BERNOULLI);
  }
  points[0].by = N_FEATURES;
  points[1].n_by = 0;
  points[2].upper = 3;
  const double unbounded[] = {0, NAN, 0};
  points[3].theta = unbounded;
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(tacit_curator_release_fit_check(curator, &points[i], 1, out, sd, &err),
                     TACIT_ERR_ARGUMENT);
  }
  tacit_curator_free(curator);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_record_is_longer_than_what_is_charged_for),
                                     cmocka_unit_test(test_values_agree_with_a_plain_sum),
                                     cmocka_unit_test(test_residuals_along_features_are_plain_sums),
                                     cmocka_unit_test(test_residuals_of_the_fit_s_own_counts_have_mean_zero),
                                     cmocka_unit_test(test_bad_points_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
