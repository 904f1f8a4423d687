/*
 * Chains over a posterior of two coefficients against sums over a grid: means and variances of the draws.
 * Thresholds are six Monte Carlo standard errors by the chains' own effective sizes, a false alarm of 1e-8
 * over other seeds. Errors that were planted and caught: the t left out of the judgement of a move, its scale
 * drawn with d degrees of freedom too few, trajectories judged without the density.
 */
#include "noise_aware/fixture.h"
#include "noise_aware/quartic.h"
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

/* Turns on a quartic that is another once warm-up is over, where no state of warm-up tells. */
static size_t n_moves_seen;

static double move_and_spoil(walk_t *w, size_t c, tacit_draw_stats_t *stats) {
  if (w->quartic != NULL && n_moves_seen++ == w->n_warmup * w->n_chains) {
    w->quartic->terms[0] *= 2; /* z_0^2 */
  }
  return tacit_walk_turns.move(w, c, stats);
}

static void test_draws_are_compared_at_the_end(void **state) {
  (void)state;
  walk_moves_t moves = tacit_walk_turns;
  moves.move = move_and_spoil;
  n_moves_seen = 0;
  check(&moves, 1, 4000);
  assert_int_equal(n_moves_seen, 4 * (300 + 4000)); /* to the end of all draws, and no second time */
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

/* ---- the polynomial of the log likelihood ---- */

enum { Q = 4 };

/* A posterior of four coefficients on its covariance by expansion, and the polynomial of that. */
typedef struct quartic_fixture {
  fixture_t f;
  double mode[Q], factor[Q * Q];
  tacit_expansion_t *expansion;
  tacit_quartic_t *quartic;
} quartic_fixture_t;

static void open_quartic(quartic_fixture_t *q) {
  tacit_error_t err;
  *q = (quartic_fixture_t){0};
  open_fixture(&q->f, TACIT_FAMILY_BERNOULLI, 1, Q, 1);
  release_rounds(&q->f, TACIT_AWARE_ROUNDS);
  assert_ok(tacit_aware_mode(&q->f.posterior, q->mode, q->factor, &err), err);
  assert_ok(tacit_expansion_new(&q->expansion, &q->f.posterior, q->mode, q->factor, &err), err);
  q->f.posterior.expansion = q->expansion;
  assert_ok(tacit_quartic_new(&q->quartic, &q->f.posterior, q->mode, q->factor, &err), err);
}

static void close_quartic(quartic_fixture_t *q) {
  tacit_quartic_free(q->quartic);
  tacit_expansion_free(q->expansion);
  close_fixture(&q->f);
}

/* The log likelihood at z, or the polynomial's; of either what the polynomial stands for. */
static double value_at(quartic_fixture_t *q, const double *z, bool is_quartic) {
  double theta[Q];
  for (size_t i = 0; i < Q; i++) {
    theta[i] = q->mode[i] + tacit_dot(i + 1, q->factor + i * Q, z);
  }
  return is_quartic ? tacit_quartic_value(q->quartic, theta)
                    : tacit_aware_posterior_likelihood(&q->f.posterior, theta, NULL);
}

static double polynomial_at(quartic_fixture_t *q, const double *z, bool is_quartic) {
  return q->quartic->kappa *
         (1 - exp((q->quartic->constant - value_at(q, z, is_quartic)) / q->quartic->kappa));
}

/* Sums over signs +-1 of sign^odd P, and of its slope along c, at sign step (e_a + e_b), or sign step e_a. */
static double at_ends(quartic_fixture_t *q, bool is_quartic, bool is_odd, double step, size_t a, size_t b) {
  double sum = 0;
  for (int sign = -1; sign <= 1; sign += 2) {
    double z[Q] = {0};
    z[a] = z[b] = sign * step;
    sum += (is_odd ? sign : 1) * polynomial_at(q, z, is_quartic);
  }
  return sum;
}

static double slope_at_ends(quartic_fixture_t *q, bool is_quartic, bool is_odd, double step, size_t a,
                            size_t b, size_t c) {
  static const double h = 1e-3;
  double sum = 0;
  for (int sign = -1; sign <= 1; sign += 2) {
    double up[Q] = {0}, down[Q] = {0};
    up[a] = up[b] = down[a] = down[b] = sign * step;
    up[c] += h;
    down[c] -= h;
    double slope = (polynomial_at(q, up, is_quartic) - polynomial_at(q, down, is_quartic)) / (2 * h);
    sum += (is_odd ? sign : 1) * slope;
  }
  return sum;
}

/* What the nodes tell is what the polynomial has there: values and slopes along, and across, of every axis
 * and every pair. */
static void test_a_quartic_is_the_log_likelihood_at_its_nodes(void **state) {
  (void)state;
  quartic_fixture_t q;
  open_quartic(&q);
  assert_close(value_at(&q, (double[Q]){0}, true), value_at(&q, (double[Q]){0}, false), 1e-9);
  for (size_t a = 0; a < Q; a++) {
    for (size_t b = 0; b <= a; b++) {
      double step = a == b ? 2 : 1.5;
      assert_close(at_ends(&q, true, false, step, a, b), at_ends(&q, false, false, step, a, b), 1e-7);
      for (size_t c = 0; c < Q; c++) {
        bool is_across = c != a && c != b;
        if (a == b || is_across) {
          assert_close(slope_at_ends(&q, true, true, step, a, b, c),
                       slope_at_ends(&q, false, true, step, a, b, c), 1e-5);
        }
        if (a == b) {
          assert_close(slope_at_ends(&q, true, false, step, a, b, c),
                       slope_at_ends(&q, false, false, step, a, b, c), 1e-5);
        }
      }
    }
  }
  for (size_t left = 0; left < Q; left++) { /* third derivatives by three axes are means of three */
    double sums[2] = {0};
    for (size_t i = 0; i < 6; i++) {
      size_t a = (left + 1 + i % 3) % Q, b = (left + 1 + (i + 1) % 3) % Q, c = (left + 1 + (i + 2) % 3) % Q;
      sums[i / 3] += slope_at_ends(&q, i < 3, false, 1.5, a, b, c);
    }
    assert_close(sums[0], sums[1], 1e-5);
  }
  close_quartic(&q);
}

/* Off the nodes it is near, and far out it falls: no polynomial's rise is taken for a likelihood's. */
static void test_a_quartic_is_near_the_log_likelihood(void **state) {
  (void)state;
  quartic_fixture_t q;
  open_quartic(&q);
  for (size_t round = 0; round < 50; round++) {
    double z[Q], far[Q], further[Q];
    for (size_t j = 0; j < Q; j++) {
      z[j] = tacit_rng_normal(q.f.rng);
      far[j] = 1e3 * z[j];
      further[j] = 1.01e3 * z[j];
    }
    assert_close(value_at(&q, z, true), value_at(&q, z, false), 0.1);
    assert_true(value_at(&q, far, true) > value_at(&q, further, true) + 1);
  }
  close_quartic(&q);
}

static void test_a_quartic_that_rises_falls_further_out(void **state) {
  (void)state;
  double centre = 0, inverse = 1, slope = 0, terms[3 * 32] = {[0] = -0.5, [2 * 32] = 0.1};
  const tacit_quartic_t q = {1, 1, 32, 0, 1e6, &centre, &inverse, &slope, terms};
  double end = 3.5, far = 50;
  assert_close(tacit_quartic_value(&q, &end), -0.5 * end * end + 0.1 * pow(end, 4), 0.01);
  assert_close(tacit_quartic_value(&q, &far), tacit_quartic_value(&q, &end) - 46.5, 1e-9);
}

static void test_the_gradient_by_expansion_is_that_of_the_value(void **state) {
  (void)state;
  quartic_fixture_t q;
  open_quartic(&q);
  for (size_t j = 0; j < Q; j++) {
    double theta[Q], grad[Q] = {0}, h = 1e-4;
    for (size_t i = 0; i < Q; i++) {
      theta[i] = q.mode[i] + q.factor[i * Q + i] * (i % 2 == 0 ? 1 : -0.5);
    }
    (void)tacit_aware_posterior_likelihood(&q.f.posterior, theta, grad);
    theta[j] += h;
    double up = tacit_aware_posterior_likelihood(&q.f.posterior, theta, NULL);
    theta[j] -= 2 * h;
    double down = tacit_aware_posterior_likelihood(&q.f.posterior, theta, NULL);
    assert_close(grad[j], (up - down) / (2 * h), 1e-4 * (1 + fabs(grad[j])));
  }
  close_quartic(&q);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_turns_sample_the_posterior),
                                     cmocka_unit_test(test_draws_are_compared_at_the_end),
                                     cmocka_unit_test(test_trajectories_sample_the_posterior),
                                     cmocka_unit_test(test_an_expansion_is_near_the_covariance),
                                     cmocka_unit_test(test_a_quartic_is_the_log_likelihood_at_its_nodes),
                                     cmocka_unit_test(test_a_quartic_is_near_the_log_likelihood),
                                     cmocka_unit_test(test_a_quartic_that_rises_falls_further_out),
                                     cmocka_unit_test(test_the_gradient_by_expansion_is_that_of_the_value)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
