/* Tuning by releases: what is made of them, that they are charged as planned, and that bad scales are found.
 */
#include <string.h>

#include "base/memory.h"
#include "formula/glm.h"
#include "sample/sample_internal.h"
#include "tacit/data.h"
#include "testing.h"

enum { dim = 3, n_records = 4000 };

static const double sd = 0.02, width[dim] = {1, 0.2, 1}, truth[dim] = {0.1, 0.5, -0.2};

/* ---- from counts to a bound, from a release to a curvature ---- */

static void test_clip_is_the_smallest_edge_with_few_beyond(void **state) {
  double counts[TACIT_NORM_CELLS] = {0};
  counts[10] = 900;
  counts[20] = 95;
  counts[30] = 5;
  assert_close(tacit_tuning_clip(counts, 0.01), tacit_norm_edge(20), 0);
  assert_close(tacit_tuning_clip(counts, 0.2), tacit_norm_edge(10), 0);
  assert_close(tacit_tuning_clip(counts, 0.001), tacit_norm_edge(30), 0);
  counts[40] = -30; /* noise beyond the last norm does not lead away from it */
  assert_close(tacit_tuning_clip(counts, 0.01), tacit_norm_edge(20), 0);
  double none[TACIT_NORM_CELLS];
  for (size_t k = 0; k < TACIT_NORM_CELLS; k++) {
    none[k] = k == TACIT_NORM_CELLS - 1 ? 100 : -2;
  }
  assert_close(tacit_tuning_clip(none, 0.01), tacit_norm_edge(TACIT_NORM_CELLS - 2), 0);
}

static void test_curvature_stays_positive_whatever_the_noise(void **state) {
  assert_close(tacit_tuning_curvature(50, 1e-9, 7), 50, 1e-9); /* no noise: as released */
  assert_close(tacit_tuning_curvature(50, 1e9, 7), 7, 1e-6);   /* nothing but noise: as guessed */
  assert_close(tacit_tuning_curvature(4, 2, 2), 3, 1e-12);
  for (double released = -1e6; released <= 1e6; released += 999) {
    for (double noise = 1e-6; noise < 1e9; noise *= 7) {
      double used = tacit_tuning_curvature(released, noise, 10);
      assert_true(used > 0 && used >= 0.99 * noise * 10 / sqrt(noise * noise + 100));
    }
  }
}

/* ---- runs ---- */

typedef struct fixture {
  tacit_glm_kernel_t kernel;
  tacit_model_t model;
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_curator_t *curator;
} fixture_t;

static double log_prior(const void *ctx, const double *theta, double *grad) {
  double sum = 0;
  (void)ctx;
  for (size_t j = 0; j < dim; j++) {
    sum -= 0.5 * theta[j] * theta[j];
    if (grad != NULL) {
      grad[j] = -theta[j];
    }
  }
  return sum;
}

static void report(const void *ctx, const double *theta, double *reported) {
  (void)ctx;
  memcpy(reported, theta, dim * sizeof *theta);
}

/* Regression with known sd; residuals are quantiles of the normal distribution, so that nothing here is
 * random but noise. */
static tacit_records_t *records(double sum_squares[dim]) {
  tacit_error_t err;
  tacit_records_t *all;
  assert_ok(tacit_records_new(&all, n_records, dim + 1, &err), err);
  memset(sum_squares, 0, dim * sizeof *sum_squares);
  for (size_t i = 0; i < n_records; i++) {
    double u = fmod((double)i * 0.6180339887498949, 1), v = fmod((double)i * 0.7548776662466927, 1),
           noise = 0;
    double x[dim + 1] = {1, width[1] * (2 * u - 1), width[2] * (2 * v - 1)};
    for (int k = 0; k < 12; k++) {
      noise += fmod((double)(i * 12 + (size_t)k) * 0.5698402909980532, 1) - 0.5;
    }
    for (size_t j = 0; j < dim; j++) {
      x[dim] += truth[j] * x[j];
      sum_squares[j] += x[j] * x[j];
    }
    x[dim] += sd * noise;
    tacit_records_set(all, i, x);
  }
  return all;
}

static void open_fixture(fixture_t *f, double epsilon, double sum_squares[dim]) {
  static const double unit_scale[dim] = {0.25, 0.25, 0.25};
  tacit_error_t err;
  *f = (fixture_t){.kernel = {TACIT_FAMILY_GAUSSIAN, dim, 1, 0, sd, true}};
  f->model.records = (tacit_record_model_t){.name = "regression",
                                            .dim = dim,
                                            .n_columns = dim + 1,
                                            .grad_bound = INFINITY,
                                            .log_lik = tacit_glm_functions()->log_lik,
                                            .n_linear = 1,
                                            .n_features = dim,
                                            .residual = tacit_glm_functions()->residual,
                                            .curvature_bound = tacit_glm_curvature_bound,
                                            .curvature = tacit_glm_curvature,
                                            .ctx = &f->kernel};
  f->model.parameters = (tacit_parameters_t){
      .dim = dim, .n_reported = dim, .log_prior = log_prior, .report = report, .unit_scale = unit_scale};
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.clip_bound_grad = settings.clip_bound_ratio = 15;
  assert_ok(tacit_budget_new(&f->budget, epsilon, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), err);
  assert_ok(tacit_noise_new(&f->noise, &err), err);
  assert_ok(tacit_curator_new(&f->curator, records(sum_squares), &f->model.records, f->budget, f->noise,
                              &settings, &err),
            err);
}

static void close_fixture(fixture_t *f) {
  tacit_curator_free(f->curator);
  tacit_noise_free(f->noise);
  tacit_budget_free(f->budget);
}

static tacit_sampler_settings_t tuned_settings(void) {
  tacit_sampler_settings_t s = tacit_sampler_settings_default();
  s.n_warmup = TACIT_WARMUP_AUTO;
  s.n_draws = 0;
  s.n_chains = 2;
  s.n_init_steps = 16;
  s.tune_metric = s.tune_clip_grad = s.tune_clip_ratio = true;
  return s;
}

static tacit_status_t plan(fixture_t *f, const char *method, tacit_sampler_settings_t *s, double *metric,
                           tacit_plan_t *plan, tacit_error_t *err) {
  const tacit_plan_request_t request = {.curator = f->curator,
                                        .parameters = &f->model.parameters,
                                        .n_units = n_records,
                                        .rho = tacit_budget_rho(f->budget),
                                        .epsilon = tacit_budget_epsilon(f->budget),
                                        .delta = 1e-6};
  return tacit_plan(tacit_method_find(method), &request, s, metric, plan, err);
}

/* Events of the schedule with those of equal multiplier and label joined, as a budget keeps them. */
static void compare_events(const tacit_event_t *planned, size_t n_planned, const tacit_event_t *made,
                           size_t n_made) {
  uint64_t total = 0, total_made = 0;
  for (size_t i = 0; i < n_planned; i++) {
    uint64_t count = 0, count_made = 0;
    for (size_t k = 0; k < n_planned; k++) {
      bool is_same = planned[k].noise_multiplier == planned[i].noise_multiplier &&
                     strcmp(planned[k].label, planned[i].label) == 0;
      count += is_same ? planned[k].count : 0;
    }
    for (size_t k = 0; k < n_made; k++) {
      bool is_same = made[k].noise_multiplier == planned[i].noise_multiplier &&
                     strcmp(made[k].label, planned[i].label) == 0;
      count_made += is_same ? made[k].count : 0;
    }
    assert_int_equal(count, count_made);
    total += planned[i].count;
  }
  for (size_t k = 0; k < n_made; k++) {
    total_made += made[k].count;
  }
  assert_int_equal(total, total_made);
}

static void run_tuned(const char *method, bool is_bit, size_t n_init) {
  fixture_t f;
  tacit_error_t err;
  double sum_squares[dim], metric[dim], found[dim];
  tacit_tuned_t tuned = {.inv_metric = found};
  tacit_plan_t planned;
  tacit_draws_t draws;
  tacit_sample_end_t end;
  tacit_event_t *events;
  size_t n_events, n_made;
  open_fixture(&f, 30, sum_squares);
  tacit_sampler_settings_t s = tuned_settings();
  s.n_init_steps = n_init;
  s.tuned = &tuned;
  s.accept_bit = is_bit;
  s.accept_rule.kind = TACIT_ACCEPT_PENALTY;
  assert_ok(plan(&f, method, &s, metric, &planned, &err), err);
  assert_ok(tacit_sampler_schedule(tacit_method_find(method), &s, f.curator, planned.n_iterations, &events,
                                   &n_events, &err),
            err);
  if (is_bit) {
    assert_ok(tacit_budget_set_schedule(f.budget, events, n_events, &err), err);
  }
  assert_ok(tacit_sample(tacit_method_find(method), f.curator, &f.model.parameters, &s, &draws, &end, &err),
            err);
  const tacit_event_t *made = tacit_budget_events(f.budget, &n_made);
  if (!is_bit) {
    assert_int_equal(end, TACIT_SAMPLE_COMPLETE);
    assert_close(tacit_budget_rho_spent(f.budget) / planned.rho, 1, 1e-9);
    compare_events(events, n_events, made, n_made);
  }
  assert_true(tacit_budget_spent(f.budget).epsilon <= 30);
  for (size_t j = 0; j < dim; j++) { /* half of the smallest is 9 sds of the noise in it */
    double exact = 1 / (sum_squares[j] / (sd * sd) + 1);
    assert_true(found[j] > 0.5 * exact && found[j] < 2 * exact);
  }
  assert_true(tuned.clip_grad >= 50 && tuned.clip_grad <= 1e4 && tuned.clip_ratio == tuned.clip_grad);
  assert_true(tuned.step_size > 0 && tuned.step_size <= s.step_size);
  tacit_draws_clear(&draws);
  tacit_free(events);
  close_fixture(&f);
}

static void test_bad_scales_are_found_and_paid_for_as_planned(void **state) {
  run_tuned("dp-penalty", false, 16);
  run_tuned("dp-hmc", false, 16);
  run_tuned("dp-penalty", false, 0);
  run_tuned("dp-penalty", true, 16);
}

/*
 * Acceptance of moves of 2.4 posterior sds: about 0.4 by the tuned metric. By the planned one they are 30 sds
 * long. Neither bound is passed by chance: 800 moves of two chains.
 */
static double acceptance(bool is_tuned) {
  fixture_t f;
  tacit_error_t err;
  double sum_squares[dim], metric[dim];
  tacit_plan_t planned;
  tacit_draws_t draws;
  tacit_sample_end_t end;
  open_fixture(&f, 200, sum_squares);
  tacit_sampler_settings_t s = tuned_settings();
  s.tune_metric = is_tuned;
  s.n_draws = 400;
  s.step_size = 2.4; /* given, so that it stays */
  assert_ok(plan(&f, "dp-penalty", &s, metric, &planned, &err), err);
  assert_ok(
      tacit_sample(tacit_method_find("dp-penalty"), f.curator, &f.model.parameters, &s, &draws, &end, &err),
      err);
  double rate = (double)draws.tally.n_accepted / (double)draws.tally.n_decisions;
  tacit_draws_clear(&draws);
  close_fixture(&f);
  return rate;
}

static void test_a_tuned_metric_lets_a_chain_move(void **state) {
  assert_true(acceptance(true) > 0.2 && acceptance(false) < 0.1);
}

static void test_what_cannot_be_tuned_is_refused(void **state) {
  static const char *const methods[] = {"dp-mala", "dp-sgld", "rwmh"};
  fixture_t f;
  tacit_error_t err;
  double sum_squares[dim], metric[dim];
  tacit_plan_t planned;
  open_fixture(&f, 30, sum_squares);
  for (size_t i = 0; i < 3; i++) {
    tacit_sampler_settings_t s = tuned_settings();
    assert_int_equal(plan(&f, methods[i], &s, metric, &planned, &err), TACIT_ERR_ARGUMENT);
  }
  tacit_sampler_settings_t s = tuned_settings();
  s.clip_share = 1;
  assert_int_equal(plan(&f, "dp-hmc", &s, metric, &planned, &err), TACIT_ERR_ARGUMENT);
  s = tuned_settings();
  f.model.records.curvature = NULL;
  assert_int_equal(plan(&f, "dp-hmc", &s, metric, &planned, &err), TACIT_ERR_ARGUMENT);
  close_fixture(&f);
}

static void test_failed_allocations_leak_nothing(void **state) {
  for (size_t k = 1; k < 300; k++) {
    fixture_t f;
    tacit_error_t err;
    double sum_squares[dim], metric[dim];
    tacit_plan_t planned;
    tacit_draws_t draws;
    tacit_sample_end_t end;
    open_fixture(&f, 30, sum_squares);
    tacit_sampler_settings_t s = tuned_settings();
    s.n_draws = 2;
    assert_ok(plan(&f, "dp-hmc", &s, metric, &planned, &err), err);
    tacit_alloc_fail_at(k);
    tacit_status_t status =
        tacit_sample(tacit_method_find("dp-hmc"), f.curator, &f.model.parameters, &s, &draws, &end, &err);
    tacit_alloc_fail_at(0);
    assert_true(status == TACIT_OK || status == TACIT_ERR_MEMORY);
    tacit_draws_clear(&draws);
    close_fixture(&f);
    if (status == TACIT_OK) {
      return;
    }
  }
  fail_msg("the run allocates without end");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_clip_is_the_smallest_edge_with_few_beyond),
      cmocka_unit_test(test_curvature_stays_positive_whatever_the_noise),
      cmocka_unit_test(test_bad_scales_are_found_and_paid_for_as_planned),
      cmocka_unit_test(test_a_tuned_metric_lets_a_chain_move),
      cmocka_unit_test(test_what_cannot_be_tuned_is_refused),
      cmocka_unit_test(test_failed_allocations_leak_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
