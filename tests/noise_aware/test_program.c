/*
 * Programs by scores in bands: at a large budget the posterior is the non-private one, and errors that are
 * easily made are found: squares of scores taken for their slope, and rows of a person for persons.
 * experiments/program_rounds.c measures coverage.
 */
#include "program_simulation.h"

#include "noise_aware/program.h"

static program_setup_t setup(bool is_weibull, double epsilon) {
  return (program_setup_t){.is_weibull = is_weibull,
                           .n = 3000,
                           .n_draws = 400,
                           .n_chains = 2,
                           .epsilon = epsilon,
                           .delta = 1e-6,
                           .relation = TACIT_RELATION_SUBSTITUTE};
}

/*
 * Means within 0.25 sds of those without noise, sds within 8 % of theirs in the geometric mean. Seeded: no
 * chance is left.
 */
static bool is_the_posterior(const program_setup_t *s) {
  program_result_t r;
  double log_ratio = 0, most = 0;
  program_fit(s, 5, &r);
  for (size_t j = 0; j < PROGRAM_D; j++) {
    log_ratio += log(r.sd[j] / r.plain_sd[j]) / PROGRAM_D;
    most = fmax(most, fabs(r.mean[j] - r.plain_mean[j]) / r.plain_sd[j]);
  }
  return !r.is_flagged && fabs(log_ratio) < log(1.08) && most < 0.25;
}

static void test_a_large_budget_gives_the_posterior(void **state) {
  (void)state;
  for (int is_weibull = 0; is_weibull < 2; is_weibull++) {
    program_setup_t s = setup(is_weibull, 1e6);
    assert_true(is_the_posterior(&s));
  }
}

static void test_add_remove_answers_too(void **state) {
  (void)state;
  program_setup_t s = setup(false, 1e6);
  s.relation = TACIT_RELATION_ADD_REMOVE;
  assert_true(is_the_posterior(&s));
}

/* What noise drowns is refused before anything is spent. */
static void test_a_tiny_budget_is_refused(void **state) {
  (void)state;
  program_setup_t s = setup(false, 0.05);
  program_result_t r;
  s.is_to_be_refused = true;
  program_fit(&s, 5, &r);
}

/* The way from the prior's centre is found at a moderate budget, ten times of ten. */
static void test_no_fit_ends_far_away(void **state) {
  (void)state;
  for (int i = 0; i < 10; i++) {
    program_setup_t s = setup(i % 2, 2);
    program_result_t r;
    program_fit(&s, (uint64_t)(20 + i), &r);
    assert_false(r.is_flagged);
    for (size_t j = 0; j < PROGRAM_D; j++) {
      assert_true(fabs(r.mean[j] - r.theta[j]) < 6 * r.sd[j]);
    }
  }
}

/*
 * Lognormal times as Weibull ones: the answer is that of the same model without privacy, at every budget.
 * (With clipped, centred scores it was some of its sds off.) Seeded: no chance is left.
 */
static void test_a_wrong_model_has_the_answer_without_privacy(void **state) {
  (void)state;
  static const double budgets[] = {1.5, 8, 1e4};
  for (size_t b = 0; b < 3; b++) {
    double square = 0;
    for (uint64_t i = 0; i < 2; i++) {
      program_setup_t s = setup(true, budgets[b]);
      program_result_t r;
      s.n = 10000;
      s.has_other_tails = true;
      program_fit(&s, 60 + i, &r);
      assert_false(r.is_flagged);
      for (size_t j = 0; j < PROGRAM_D; j++) {
        double z = (r.mean[j] - r.plain_mean[j]) / r.sd[j];
        assert_true(fabs(z) < 3.5);
        square += z * z / (2 * PROGRAM_D);
      }
    }
    print_message("epsilon %g: mean square z %.2f\n", budgets[b], square);
    assert_true(square < 1.5);
  }
}

/* What scores change by is no mean square of theirs where the program is wrong: sds are others by a tenth,
 * and noise moves them by less than a hundredth. */
static void test_squares_are_no_slopes(void **state) {
  (void)state;
  double log_ratio = 0;
  for (int is_wrong = 0; is_wrong < 2; is_wrong++) {
    program_setup_t s = setup(true, 1e4);
    program_result_t r;
    s.n = 10000;
    s.has_other_tails = true;
    s.fault = is_wrong ? TACIT_FAULT_SQUARES_FOR_SLOPES : TACIT_FAULT_NONE;
    program_fit(&s, 60, &r);
    for (size_t j = 0; j < PROGRAM_D; j++) {
      log_ratio += (is_wrong ? -1 : 1) * log(r.sd[j]) / PROGRAM_D;
    }
  }
  assert_true(fabs(log_ratio) > 0.07);
}

/*
 * 400 persons of 1 to 12 rows that are much alike: errors at a large budget are as large as sds say. Ten runs
 * of five parameters; were these 50 errors normal and independent, their mean square would be above 2 once in
 * 10^5. Rows taken for persons give 4 to 5.
 */
static double error_of_persons(bool is_weibull, bool forgets_units, tacit_relation_t relation) {
  double square = 0;
  for (uint64_t i = 0; i < 10; i++) {
    program_setup_t s = setup(is_weibull, 1e6);
    program_result_t r;
    s.n = 400;
    s.max_rows = 12;
    s.share = 0.9;
    s.relation = relation;
    s.forgets_units = forgets_units;
    program_fit(&s, 50 + i, &r);
    assert_false(r.is_flagged);
    for (size_t j = 0; j < PROGRAM_D; j++) {
      square += (r.mean[j] - r.theta[j]) * (r.mean[j] - r.theta[j]) / (r.sd[j] * r.sd[j]) / (10 * PROGRAM_D);
    }
  }
  return square;
}

static void test_rows_of_a_person_hang_together(void **state) {
  (void)state;
  double substitute = error_of_persons(false, false, TACIT_RELATION_SUBSTITUTE),
         add_remove = error_of_persons(true, false, TACIT_RELATION_ADD_REMOVE);
  assert_true(substitute > 0.4 && substitute < 2 && add_remove > 0.4 && add_remove < 2);
  assert_true(error_of_persons(false, true, TACIT_RELATION_SUBSTITUTE) > 3);
}

/*
 * Degrees of freedom, of which 4000 records tell little at small budgets, and the residual scale trade off
 * along a curve, and the prior's mode is far off. Seeded: no chance is left.
 */
static void fit_student(double epsilon, tacit_fault_t fault, uint64_t seed, program_result_t *r) {
  program_setup_t s = setup(false, epsilon);
  s.is_student = s.is_foretold = true;
  s.n = 4000;
  s.fault = fault;
  program_fit(&s, seed, r);
}

static double error_of_scale(const program_result_t *r) { return fabs(r->mean[3] - r->theta[3]) / r->sd[3]; }

/*
 * At epsilon 2 the posterior is found where it is, as a rule (of 20 seeds 4 were flagged, and the mean square
 * error of the others was 1.8). At 1.35 it is as wide as the curve, which is said.
 */
static void test_a_curved_trade_off_is_followed_or_said(void **state) {
  (void)state;
  enum { N = 6 };
  program_result_t r;
  double square = 0, n = 0;
  for (uint64_t i = 0; i < N; i++) {
    fit_student(2, TACIT_FAULT_NONE, 80 + i, &r);
    square += r.is_flagged ? 0 : pow(error_of_scale(&r), 2);
    n += !r.is_flagged;
  }
  print_message("%g of %d answered, mean square error of the scale %.2f\n", n, N, square / n);
  assert_true(n >= 3 && square < 4 * n);
  fit_student(1.35, TACIT_FAULT_NONE, 80, &r);
  assert_true(r.is_flagged || error_of_scale(&r) < 3);
}

/* Of a normal prior with a known sd its share of the posterior's precision is the ratio of variances. Nothing
 * bent is foretold of what is not. */
static void test_the_share_of_the_prior_is_that_of_its_precision(void **state) {
  (void)state;
  program_setup_t s = setup(false, 2);
  program_result_t r;
  s.is_foretold = true;
  program_fit(&s, 7, &r);
  for (size_t j = 0; j < 4; j++) {
    assert_true(r.foretold_bend < 0.15 && fabs(r.prior_sd[j] - 2.5) < 1e-3);
    assert_true(fabs(log(r.prior_share[j] / (r.sd[j] * r.sd[j] / 6.25))) < 0.3);
  }
}

/* ---- any releases ---- */

static double flat_prior(const void *ctx, const double *theta, double *grad) {
  double sum = 0;
  for (size_t j = 0; j < *(const size_t *)ctx; j++) {
    sum -= 0.5 * theta[j] * theta[j] / 100;
    if (grad != NULL) {
      grad[j] = -theta[j] / 100;
    }
  }
  return sum;
}

/* Numbers of any size, zero and opposite ones among them. */
static double any_size(uint64_t *seed) {
  double u = uniform(seed);
  return u < 0.1 ? 0 : pow(10, 24 * uniform(seed) - 12) * (u < 0.5 ? 1 : -1);
}

/* Of the last point: slopes and scores, and what is not known of them. */
static void make_up_releases(bool is_extreme, uint64_t *seed, size_t d, tacit_program_run_t *run) {
  tacit_program_seen_t *seen = &run->seen;
  tacit_program_banded_t *bands = &run->bands;
  double n = run->n, size = is_extreme ? fabs(any_size(seed)) + 1e-6 : 0.05 * sqrt(n);
  seen->score_sd = size;
  seen->slope_sd = is_extreme ? fabs(any_size(seed)) + 1e-6 : 0.2 * n;
  seen->worst = 1;
  bands->scores.n = 1;
  bands->scores.counts[0] = is_extreme ? any_size(seed) : n;
  for (size_t j = 0; j < d; j++) {
    seen->theta[j] = is_extreme ? 10 * uniform(seed) - 5 : 0;
    seen->score[j] = is_extreme ? any_size(seed) : 0;
    bands->noise[j * (d + 1)] = size * size;
    for (size_t k = 0; k <= j; k++) {
      double x = is_extreme ? any_size(seed) : n * (j == k), y = is_extreme ? any_size(seed) : n * (j == k);
      seen->slope[j * d + k] = seen->slope[k * d + j] = x;
      bands->tails.squares[j * d + k] = bands->tails.squares[k * d + j] = y / n;
      seen->doubt[j * d + k] = seen->doubt[k * d + j] = seen->slope_sd * seen->slope_sd * (j == k ? 1 : 0.5);
      seen->steep[j * d + k] = seen->steep[k * d + j] = (j == k) * (fabs(x) + seen->slope_sd);
      seen->whiten[j * d + k] = j == k ? 0.1 + uniform(seed) : 0;
    }
  }
}

/* Whatever was released: a posterior that has a mode, a covariance and checks that are numbers. */
static void test_no_released_numbers_are_without_an_answer(void **state) {
  (void)state;
  uint64_t seed = 5;
  tacit_program_run_t *run = malloc(sizeof *run);
  for (int trial = 0; trial < 1000; trial++) {
    size_t d = 1 + (size_t)(uniform(&seed) * 6);
    tacit_parameters_t parameters = {.dim = d, .n_reported = d, .log_prior = flat_prior, .ctx = &d};
    tacit_noise_aware_settings_t settings = tacit_noise_aware_settings_default();
    tacit_error_t err = {0};
    double mode[TACIT_NOISE_AWARE_MAX_NARROW], cov[MATRIX];
    *run = (tacit_program_run_t){
        .parameters = &parameters, .settings = &settings, .n = 1 + pow(10, 6 * uniform(&seed))};
    make_up_releases(true, &seed, d, run);
    tacit_program_conclude(run);
    if (tacit_program_find_posterior(run, mode, cov, &err) != TACIT_OK) {
      fail_msg("%d: %s", trial, err.message);
    }
    for (size_t j = 0; j < d; j++) {
      assert_true(isfinite(mode[j]) && isfinite(cov[j * (d + 1)]) && cov[j * (d + 1)] > 0);
    }
    assert_false(isnan(run->said.information) || isnan(run->said.lost));
  }
  free(run);
}

/*
 * A slope that is known to 20 % widens what is far from the point of release: at e = 10 sds of sampling the
 * likelihood is not what it is where the slope is known. Mean square, by the likelihood, of truths whose
 * slopes have that noise: above 3 where it is left out.
 */
static double error_by_slopes(tacit_fault_t fault) {
  enum { N_RUNS = 400 };
  const double n = 1e4;
  uint64_t seed = 9;
  size_t d = 2;
  tacit_parameters_t parameters = {.dim = d, .n_reported = d, .log_prior = flat_prior, .ctx = &d};
  tacit_noise_aware_settings_t settings = tacit_noise_aware_settings_default();
  tacit_program_run_t *run = malloc(sizeof *run);
  double square = 0;
  TACIT_PLANT(fault);
  for (int i = 0; i < N_RUNS; i++) {
    double e[2] = {0.1, -0.05}, off[2], sum = 0, precision[4] = {0};
    *run = (tacit_program_run_t){.parameters = &parameters, .settings = &settings, .n = n};
    make_up_releases(false, &seed, d, run);
    tacit_program_seen_t *seen = &run->seen;
    double slope[3] = {n, 0, n};
    for (size_t j = 0; j < 3; j++) { /* what was released is off what is true */
      slope[j] += 0.2 * n * program_normal(&seed) * (j == 1 ? sqrt(0.5) : 1);
    }
    seen->score[0] =
        slope[0] * e[0] + slope[1] * e[1] + hypot(sqrt(n), seen->score_sd) * program_normal(&seed);
    seen->score[1] =
        slope[1] * e[0] + slope[2] * e[1] + hypot(sqrt(n), seen->score_sd) * program_normal(&seed);
    tacit_program_conclude(run);
    double mode[TACIT_NOISE_AWARE_MAX_NARROW], cov[MATRIX], truth[2],
        back[4] = {seen->whiten[0], seen->whiten[2], 0, seen->whiten[3]};
    tacit_error_t err;
    program_ok(tacit_program_find_posterior(run, mode, cov, &err), &err);
    truth[0] = back[0] * e[0] + back[1] * e[1];
    truth[1] = back[3] * e[1];
    program_ok(tacit_program_invert_positive(d, memcpy(precision, cov, sizeof precision)) ? TACIT_OK
                                                                                          : TACIT_ERR_NUMERIC,
               &err);
    for (size_t j = 0; j < d; j++) {
      off[j] = mode[j] - truth[j];
    }
    for (size_t j = 0; j < 4; j++) {
      sum += off[j / 2] * precision[j] * off[j % 2];
    }
    square += sum / (double)d / N_RUNS;
  }
  TACIT_PLANT(TACIT_FAULT_NONE);
  free(run);
  return square;
}

static void test_no_interval_is_narrower_than_what_was_released_allows(void **state) {
  (void)state;
  double sound = error_by_slopes(TACIT_FAULT_NONE), wrong = error_by_slopes(TACIT_FAULT_SLOPES_CERTAIN);
  if (!(sound < 1.6 && wrong > 3)) {
    fail_msg("%g, %g", sound, wrong);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_large_budget_gives_the_posterior),
      cmocka_unit_test(test_add_remove_answers_too),
      cmocka_unit_test(test_a_tiny_budget_is_refused),
      cmocka_unit_test(test_no_fit_ends_far_away),
      cmocka_unit_test(test_a_wrong_model_has_the_answer_without_privacy),
      cmocka_unit_test(test_squares_are_no_slopes),
      cmocka_unit_test(test_rows_of_a_person_hang_together),
      cmocka_unit_test(test_a_curved_trade_off_is_followed_or_said),
      cmocka_unit_test(test_the_share_of_the_prior_is_that_of_its_precision),
      cmocka_unit_test(test_no_released_numbers_are_without_an_answer),
      cmocka_unit_test(test_no_interval_is_narrower_than_what_was_released_allows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
