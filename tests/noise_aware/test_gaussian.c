/* The parts of noise-aware linear regression against plain computations: shares, location, density. */
#include "noise_aware/gaussian.h"
#include "testing.h"

static double normal_below(double x) { return 0.5 * erfc(-x * 0.70710678118654752); }

static void test_shares_are_of_one_whole(void **state) {
  (void)state;
  for (size_t i = 0; i < 400; i++) {
    tacit_noise_aware_settings_t s = tacit_noise_aware_settings_default();
    s.family = TACIT_FAMILY_GAUSSIAN;
    s.relation = i % 2 == 0 ? TACIT_RELATION_SUBSTITUTE : TACIT_RELATION_ADD_REMOVE;
    s.n_features = 1 + i % 20;
    s.n_units = pow(10, 1 + (double)(i % 7));
    s.rho = pow(10, (double)(i % 13) - 4);
    tacit_gaussian_shares_t shares = tacit_gaussian_shares(&s);
    tacit_event_t events[TACIT_NOISE_AWARE_N_EVENTS];
    size_t n = tacit_noise_aware_events(&s, events);
    double rho = 0;
    for (size_t k = 0; k < n; k++) {
      rho += 0.5 * (double)events[k].count / (events[k].noise_multiplier * events[k].noise_multiplier);
    }
    assert_true(n >= 4 && n <= TACIT_NOISE_AWARE_N_EVENTS && shares.scores >= 0.37 && shares.scores < 0.8);
    assert_close(rho / s.rho, 1, 1e-12);
    s.relation = TACIT_RELATION_ADD_REMOVE;
    double present = tacit_gaussian_noise_ratio(&s);
    s.relation = TACIT_RELATION_SUBSTITUTE;
    assert_true(present < tacit_gaussian_noise_ratio(&s) &&
                tacit_noise_aware_is_noisy(&s) == (tacit_gaussian_noise_ratio(&s) > 2));
  }
}

/* Expected counts of a normal response, and of one with seven values, of which a fine histogram shows nothing
 * but spikes. */
static void test_a_histogram_tells_where_the_response_is(void **state) {
  (void)state;
  enum { n_cells = 256 };
  const double n = 5000, mean = 0.21, sd = 0.06;
  double counts[n_cells], spikes[n_cells] = {0}, below = 0, square = 0;
  for (size_t i = 0; i < n_cells; i++) {
    double up_to = normal_below((-1 + 2.0 * (double)(i + 1) / n_cells - mean) / sd);
    counts[i] = n * (up_to - below);
    below = up_to;
  }
  tacit_location_t at = tacit_locate(n_cells, counts, 5, n);
  assert_close(at.mean, mean, 0.02);
  assert_close(at.sd, sd, 0.02);
  assert_true(at.mean_error < 0.03 && at.log_error < 0.5);
  for (size_t k = 0; k < 7; k++) { /* as many of each: sd 2/3 */
    double y = -1 + (double)k / 3;
    spikes[(size_t)fmin((y + 1) / 2 * n_cells, n_cells - 1)] += n / 7;
    square += y * y / 7;
  }
  at = tacit_locate(n_cells, spikes, 5, n);
  assert_close(at.mean, 0, 0.2);
  assert_close(at.sd / sqrt(square), 1, 0.35);
}

/* Expected counts of a normal column. */
static void fill_normal(size_t n_cells, double n, double mean, double sd, double *counts) {
  double below = 0;
  for (size_t i = 0; i < n_cells; i++) {
    double up_to =
        i + 1 < n_cells ? normal_below((-1 + 2.0 * (double)(i + 1) / (double)n_cells - mean) / sd) : 1;
    counts[i] = n * (up_to - below);
    below = up_to;
  }
}

/* Features that fill a small part of their bounds, codes of two values most of which are one, a feature of
 * one value, two-valued ones. */
static void test_counts_tell_where_features_are(void **state) {
  (void)state;
  enum { n_cells = 128 };
  const double n = 5000;
  double counts[n_cells];
  for (double sd = 0.02; sd < 0.5; sd *= 2) {
    fill_normal(n_cells, n, -0.3, sd, counts);
    tacit_location_t at = tacit_locate_feature(n_cells, counts, 20, n);
    assert_close(at.mean, -0.3, 0.05 + 0.3 * sd);
    assert_close(at.sd / sd, 1, 0.4);
  }
  memset(counts, 0, sizeof counts); /* eight in ten at a bound, two in the middle: sd .4 */
  counts[0] = 0.8 * n;
  counts[n_cells / 2] = 0.2 * n;
  tacit_location_t at = tacit_locate_feature(n_cells, counts, 20, n);
  assert_true(at.sd > 0.24 && at.sd < 0.8); /* the first moments tell the rest */
  assert_close(at.mean, -0.8, 0.25);
  counts[0] =
      0.9 * n; /* nine in ten; of the others half stand out, and noise takes from what is beyond them */
  counts[n_cells / 2] = 0.08 * n;
  for (size_t i = 3 * n_cells / 4; i < n_cells; i++) {
    counts[i] = -0.01 * n;
  }
  at = tacit_locate_feature(n_cells, counts, 0.012 * n, n);
  assert_true(at.sd > 0.3); /* their sd is .5 */
  at = tacit_locate_two_valued(0.3 * n, 20, n);
  assert_close(at.mean, 2 * 0.3 - 1, 0.02);
  assert_close(at.sd, 2 * sqrt(0.3 * 0.7), 0.02);
  at = tacit_locate_two_valued(-40, 20, n); /* nobody: what noise says */
  assert_true(at.mean > -1 && at.mean < -0.95 && at.sd > 0.4);
}

/* A posterior of known moments: at the truth the density is highest, and theta and sigma are those of the
 * point. */
static double flat_prior(const void *ctx, const double *theta, double *grad) {
  (void)ctx, (void)theta, (void)grad;
  return 0;
}

static void test_the_density_is_highest_at_the_truth(void **state) {
  (void)state;
  enum { d = 3 };
  const tacit_parameters_t parameters = {.dim = d + 1, .log_prior = flat_prior};
  const double truth[d + 1] = {0.1, -0.3, 0.2, log(0.9)};
  tacit_linear_posterior_t *p = calloc(1, sizeof *p);
  *p = (tacit_linear_posterior_t){.d = d,
                                  .dim = d + 1,
                                  .parameters = &parameters,
                                  .scale = 0.2,
                                  .square_var = 1e-6,
                                  .before = {.var = INFINITY},
                                  .location = {.sd = 0.2, .log_error = 1}};
  for (size_t i = 0; i < d; i++) {
    p->moments[i * d + i] = p->factor[i * d + i] = 1;
    p->cov[i * d + i] = 2e-6;
    p->score[i] = truth[i];
  }
  p->square = 0.81;
  double highest = tacit_linear_log_density(p, truth), theta[d + 1];
  for (size_t i = 0; i <= d; i++) {
    for (int sign = -1; sign <= 1; sign += 2) {
      double point[d + 1];
      memcpy(point, truth, sizeof point);
      point[i] += 0.01 * sign;
      assert_true(tacit_linear_log_density(p, point) < highest - 5);
    }
  }
  assert_true(tacit_linear_unmap(p, truth, theta));
  for (size_t i = 0; i < d; i++) {
    assert_close(theta[i], 0.2 * truth[i], 1e-12);
  }
  assert_close(exp(theta[d]), 0.2 * sqrt(0.81 - 0.14), 1e-12); /* 0.14: what the step explains */
  const double beyond[d + 1] = {1, 1, 1, 0};
  assert_false(tacit_linear_unmap(p, beyond, theta));
  assert_true(tacit_linear_log_density(p, beyond) < -1e300);
  free(p);
}

/* What was known before is a t of each direction, but of that of a rare level. */
static void test_what_was_known_before_counts(void **state) {
  (void)state;
  enum { d = 3 };
  const tacit_parameters_t parameters = {.dim = d, .log_prior = flat_prior};
  const double point[d] = {0.1, -0.3, 0.2};
  tacit_linear_posterior_t *p = calloc(1, sizeof *p);
  *p = (tacit_linear_posterior_t){.d = d,
                                  .dim = d,
                                  .parameters = &parameters,
                                  .known_sd = 0.1,
                                  .scale = 0.2,
                                  .before = {.var = INFINITY, .slope_var = 0.5, .is_rare = {0, 0, true}},
                                  .location = {.sd = 0.2, .log_error = 1}};
  double gamma[d], square = 0, length = 0;
  for (size_t i = 0; i < d; i++) {
    p->moments[i * d + i] = p->factor[i * d + i] = p->before.factor[i * d + i] = p->cov[i * d + i] = 1;
    p->before.slope[i * d + i] = 2;
    p->before.theta[i] = 0.05;
    p->before.response[i] = 0.1 * (double)(i + 1);
    gamma[i] = 0.2 * point[i] - 0.05; /* theta is scale gamma: theta_1 is 0, and L is 1 */
    square += i < 2 ? pow(p->before.response[i] - 2 * gamma[i], 2) : 0;
    length += gamma[i] * gamma[i];
  }
  double without = tacit_linear_log_density(p, point), var = 0.01 + 0.5 * length;
  p->before.var = 0.01;
  assert_close(tacit_linear_log_density(p, point) - without, -3.5 * log1p(square / (5 * var)) - log(var),
               1e-9);
  free(p);
}

enum { N_COEFFICIENTS = 3 };

/* Of coefficients j: precision 1 + j; of the log sd, the parameter after them, 9. */
static void add_precision(const void *ctx, const double *theta, double *precision) {
  (void)ctx;
  (void)theta;
  for (size_t j = 0; j <= N_COEFFICIENTS; j++) {
    precision[j * (N_COEFFICIENTS + 1) + j] += j < N_COEFFICIENTS ? 1 + (double)j : 9;
  }
}

static void report_all(const void *ctx, const double *theta, double *reported) {
  (void)ctx;
  memcpy(reported, theta, (N_COEFFICIENTS + 1) * sizeof *theta);
}

/* Records that would tell 1 of each coefficient, and draws of variance 1: noise widened them by the root of
 * what prior and records would tell. The prior's precision has a row more than the coefficients. */
static void test_priors_count_where_their_coefficients_are(void **state) {
  enum { d = N_COEFFICIENTS };
  (void)state;
  tacit_evidence_t *evidence = calloc(1, sizeof *evidence);
  const tacit_parameters_t parameters = {
      .dim = d + 1, .n_reported = d + 1, .prior_precision = add_precision, .report = report_all};
  const tacit_noise_aware_settings_t settings = {.family = TACIT_FAMILY_GAUSSIAN, .evidence = evidence};
  const double mean[d] = {0}, cov[d * d] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  double precision[d * d] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  tacit_aware_noise_factors(
      &(tacit_aware_common_t){
          .d = d, .parameters = &parameters, .settings = &settings, .mean = mean, .cov = cov},
      precision);
  for (size_t j = 0; j < d; j++) {
    assert_close(evidence->noise_factor[j], sqrt(2 + (double)j), 1e-12);
  }
  free(evidence);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_shares_are_of_one_whole),
                                     cmocka_unit_test(test_a_histogram_tells_where_the_response_is),
                                     cmocka_unit_test(test_counts_tell_where_features_are),
                                     cmocka_unit_test(test_the_density_is_highest_at_the_truth),
                                     cmocka_unit_test(test_what_was_known_before_counts),
                                     cmocka_unit_test(test_priors_count_where_their_coefficients_are)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
