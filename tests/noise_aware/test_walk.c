/*
 * Chains over a posterior of two coefficients against sums over a grid: means and variances of the draws.
 * Thresholds are six Monte Carlo standard errors by the chains' own effective sizes, a false alarm of 1e-8
 * over other seeds. Errors that were planted and caught: the t left out of the judgement of a move, its scale
 * drawn with d degrees of freedom too few, trajectories judged without the density.
 */
#include "noise_aware/fixture.h"
#include "noise_aware/walk.h"

enum { D = 2, GRID = 121 };

/* mean, variance (D) of the reported coefficients and the kurtosis that the standard error of a variance
 * rests on. */
typedef struct distribution {
  double mean[D], variance[D], kurtosis[D];
} distribution_t;

static void integrate(fixture_t *f, const double *mode, const double *factor, distribution_t *distribution) {
  static double weight[GRID * GRID], reported[GRID * GRID][D];
  const tacit_parameters_t *parameters = &f->model.parameters;
  double highest = tacit_aware_posterior_log_density(&f->posterior, mode, NULL), total = 0;
  for (size_t i = 0; i < GRID * GRID; i++) {
    double u = -18 + 0.3 * (double)(i / GRID), v = -18 + 0.3 * (double)(i % GRID);
    double theta[D] = {mode[0] + factor[0] * u, mode[1] + factor[2] * u + factor[3] * v};
    weight[i] = exp(tacit_aware_posterior_log_density(&f->posterior, theta, NULL) - highest);
    parameters->report(parameters->ctx, theta, reported[i]);
    total += weight[i];
  }
  for (size_t j = 0; j < D; j++) {
    double mean = 0, square = 0, fourth = 0;
    for (size_t i = 0; i < GRID * GRID; i++) {
      mean += weight[i] / total * reported[i][j];
    }
    for (size_t i = 0; i < GRID * GRID; i++) {
      double from = (reported[i][j] - mean) * (reported[i][j] - mean);
      square += weight[i] / total * from;
      fourth += weight[i] / total * from * from;
    }
    distribution->mean[j] = mean;
    distribution->variance[j] = square;
    distribution->kurtosis[j] = fourth / (square * square);
  }
}

static void check(const walk_moves_t *moves, double epsilon, size_t n_draws) {
  fixture_t f;
  tacit_error_t err;
  tacit_draws_t draws;
  distribution_t distribution;
  double mode[D] = {0}, factor[D * D], mean[D], cov[D * D];
  open_fixture(&f, TACIT_FAMILY_BERNOULLI, 1, D, epsilon);
  release_rounds(&f, TACIT_AWARE_ROUNDS);
  assert_ok(tacit_aware_mode(&f.posterior, mode, factor, &err), err);
  integrate(&f, mode, factor, &distribution);
  assert_ok(tacit_draws_init(&draws, 4, 300, n_draws, f.model.parameters.n_reported, &err), err);
  assert_ok(tacit_walk_run(&f.posterior, moves, &(walk_start_t){mode, factor}, &draws, mean, cov, &err), err);
  for (size_t j = 0; j < D; j++) {
    tacit_summary_t s;
    assert_ok(tacit_draws_summarise(&draws, j, &s, &err), err);
    double least = fmin(s.ess_bulk, s.ess_tail), spread = sqrt((distribution.kurtosis[j] - 1) / least);
    assert_true(least > 0.08 * (double)(4 * n_draws)); /* .086 at epsilon .1 */
    assert_close(s.mean, distribution.mean[j], 6 * sqrt(distribution.variance[j] / least));
    assert_close(s.sd * s.sd / distribution.variance[j], 1, 6 * spread);
  }
  tacit_draws_clear(&draws);
  close_fixture(&f);
}

static void test_turns_sample_the_posterior(void **state) {
  (void)state;
  check(&tacit_walk_turns, 1, 4000);
  check(&tacit_walk_turns, 0.1, 4000); /* far from normal */
}

static void test_trajectories_sample_the_posterior(void **state) {
  (void)state;
  check(&tacit_walk_trajectories, 1, 1000);
}

/* Far from the mode, where a covariance by expansion is another, draws are those of the posterior still:
 * above, at epsilon .1. Where it does, it is near: at the mode itself it is the covariance, and a sd away
 * next to it. */
static void test_an_expansion_is_near_the_covariance(void **state) {
  (void)state;
  fixture_t f;
  tacit_error_t err;
  tacit_expansion_t *expansion;
  double mode[D] = {0}, factor[D * D], cov[D * TACIT_AWARE_ROUNDS * D * TACIT_AWARE_ROUNDS] = {0};
  size_t width = D * TACIT_AWARE_ROUNDS;
  open_fixture(&f, TACIT_FAMILY_BERNOULLI, 1, D, 1);
  release_rounds(&f, TACIT_AWARE_ROUNDS);
  assert_ok(tacit_aware_mode(&f.posterior, mode, factor, &err), err);
  assert_ok(tacit_expansion_new(&expansion, &f.posterior, mode, factor, &err), err);
  for (size_t step = 0; step < 5; step++) { /* 0 and, for each sign of both coordinates, a sd of each */
    double z[D] = {step == 0 ? 0 : step % 2 == 1 ? 1 : -1, step == 0 ? 0 : step > 2 ? 1 : -1};
    double theta[D] = {mode[0] + factor[0] * z[0], mode[1] + factor[2] * z[0] + factor[3] * z[1]};
    tacit_expansion_covariance(expansion, theta, cov);
    tacit_aware_posterior_covariance(&f.posterior, theta);
    for (size_t i = 0; i < width; i++) {
      for (size_t j = 0; j <= i; j++) {
        double scale = sqrt(f.posterior.cov[i * width + i] * f.posterior.cov[j * width + j]);
        assert_close(cov[i * width + j], f.posterior.cov[i * width + j], (step == 0 ? 1e-12 : 0.01) * scale);
      }
    }
  }
  tacit_expansion_free(expansion);
  close_fixture(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_turns_sample_the_posterior),
                                     cmocka_unit_test(test_trajectories_sample_the_posterior),
                                     cmocka_unit_test(test_an_expansion_is_near_the_covariance)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
