/*
 * Correction distributions of Barker's test: each comes as near to the logistic distribution as is said, and
 * none can come nearer. The second is by duality: for points x_k with weights m_k of absolute sum 1 and every
 * symmetric distribution of V,
 *
 *     sup |F - L| >= sum_k m_k (F(x_k) - L(x_k)) >= min_v sum_k m_k (F_v(x_k) - L(x_k)),
 *
 * F_v the distribution for V = +-v. (An asymmetric V is no better than the mean of itself and its mirror
 * image.) Errors planted: a weight or a place changed by 1 part in 50; the distribution of another variance.
 */
#include <math.h>

#include "sample/sample_internal.h"
#include "sample/vcorr.h"
#include "testing.h"
#include "vcorr_certificate.h"

static double logistic_cdf(double x) { return 1 / (1 + exp(-x)); }

static double normal_cdf(double x) { return 0.5 * erfc(-x / sqrt(2)); }

static void test_distributions_are_distributions(void **state) {
  for (size_t i = 0; i < TACIT_N_VCORR; i++) {
    const tacit_vcorr_t *distribution = &tacit_vcorr_distributions[i];
    double sum = 0;
    for (size_t k = 0; k < distribution->n; k++) {
      assert_true(distribution->atoms[k][0] >= 0 && distribution->atoms[k][1] > 0);
      sum += distribution->atoms[k][1];
    }
    assert_true(fabs(sum - 1) < 1e-12);
    assert_ptr_equal(tacit_vcorr_find(distribution->variance), distribution);
    assert_true(tacit_vcorr_error(distribution->variance) >= distribution->error &&
                tacit_vcorr_error(distribution->variance) <= distribution->error);
  }
  assert_null(tacit_vcorr_find(1.1));
  assert_true(isnan(tacit_vcorr_error(1.1)));
}

/* Smallest errors by another linear programme, to its two digits; looser where its tolerance was reached. */
static const double published[][3] = {
    {1, 0, 1.5e-7},      {1.25, 2.2e-6, 2.4e-6},   {1.5, 2.7e-5, 2.8e-5},   {1.75, 1.57e-4, 1.6e-4},
    {2, 5.8e-4, 6.0e-4}, {2.25, 1.55e-3, 1.65e-3}, {2.5, 3.45e-3, 3.55e-3}, {3, 1.25e-2, 1.35e-2}};

static void test_errors_are_what_is_said(void **state) {
  for (size_t i = 0; i < TACIT_N_VCORR; i++) {
    const tacit_vcorr_t *distribution = &tacit_vcorr_distributions[i];
    double worst = 0;
    for (int k = -80000; k <= 80000; k++) {
      double x = 5e-4 * k;
      worst =
          fmax(worst, fabs(tacit_vcorr_accept(distribution, x, distribution->variance) - logistic_cdf(x)));
    }
    print_message("C = %g: largest error %.4g\n", distribution->variance, worst);
    assert_true(worst <= distribution->error && worst >= 0.99 * distribution->error);
    assert_true(distribution->variance >= published[i][0] && distribution->variance <= published[i][0]);
    assert_true(worst > published[i][1] && worst < published[i][2]);
  }
}

static void test_no_distribution_does_better(void **state) {
  for (size_t i = 0; i < TACIT_N_VCORR; i++) {
    double total = 0, least = INFINITY, sd = sqrt(certificates[i].variance);
    assert_memory_equal(&certificates[i].variance, &tacit_vcorr_distributions[i].variance, sizeof sd);
    assert_memory_equal(&certificates[i].error, &tacit_vcorr_distributions[i].error,
                        sizeof sd); /* written by the same program */
    for (size_t k = 0; k < certificates[i].n; k++) {
      total += fabs(certificates[i].points[k][1]);
    }
    for (int j = 0; j <= 60000; j++) { /* beyond 60 all F_v are constant at these points to the last digit */
      double v = 1e-3 * j, sum = 0;
      for (size_t k = 0; k < certificates[i].n; k++) {
        double x = certificates[i].points[k][0];
        sum += certificates[i].points[k][1] *
               (0.5 * (normal_cdf((x - v) / sd) + normal_cdf((x + v) / sd)) - logistic_cdf(x));
      }
      least = fmin(least, sum);
    }
    print_message("C = %g: no distribution has an error below %.4g\n", certificates[i].variance,
                  least / total);
    assert_true(least / total > 0.96 * tacit_vcorr_distributions[i].error);
  }
}

/* P(w + N(0, C) + V > 0) in two steps: a release that has part of the variance, then what is lacking. */
static void test_lacking_variance_is_made_up_for(void **state) {
  tacit_sampler_settings_t s = {.barker_test = TACIT_BARKER_VCORR, .ratio_variance = 2};
  for (double share = 0.1; share < 1; share += 0.2) {
    for (double w = -3; w <= 3; w += 0.75) {
      double sd = sqrt(share * s.ratio_variance), sum = 0, h = 1e-2;
      for (int i = -900; i <= 900; i++) {
        double z = h * i;
        sum += h * exp(-0.5 * z * z) / sqrt(2 * acos(-1)) *
               tacit_accept_probability(&s, TACIT_DECISION_SAMPLED_BARKER, w + sd * z, sd);
      }
      assert_true(fabs(sum - tacit_vcorr_accept(tacit_vcorr_find(2), w, 2)) < 1e-12);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_distributions_are_distributions),
                                     cmocka_unit_test(test_errors_are_what_is_said),
                                     cmocka_unit_test(test_no_distribution_does_better),
                                     cmocka_unit_test(test_lacking_variance_is_made_up_for)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
