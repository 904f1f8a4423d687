/* Settings, planning, early ends, the metric and the jitter. */
#include <string.h>

#include "base/memory.h"
#include "models/models.h"
#include "sample/sample_internal.h"
#include "tacit/account.h"
#include "tacit/data.h"
#include "testing.h"

enum { dim = 3, n_records = 500 };

typedef struct fixture {
  tacit_model_t model;
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_curator_t *curator;
} fixture_t;

static void open_fixture(fixture_t *f, double epsilon, double clip) {
  tacit_error_t err;
  double sd[dim] = {1, 1, 1};
  tacit_records_t *records;
  *f = (fixture_t){0};
  assert_ok(tacit_model_init_gaussian_mean(&f->model, dim, sd, 10, &err), err);
  assert_ok(tacit_records_new(&records, n_records, dim, &err), err);
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.clip_bound_grad = settings.clip_bound_ratio = clip;
  if (epsilon > 0) {
    assert_ok(tacit_budget_new(&f->budget, epsilon, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), err);
    assert_ok(tacit_noise_new(&f->noise, &err), err);
    assert_ok(
        tacit_curator_new(&f->curator, records, &f->model.records, f->budget, f->noise, &settings, &err),
        err);
  } else {
    assert_ok(tacit_curator_new_exposed(&f->curator, records, &f->model.records, NULL, &err), err);
  }
}

static void close_fixture(fixture_t *f) {
  tacit_curator_free(f->curator);
  tacit_noise_free(f->noise);
  tacit_budget_free(f->budget);
  tacit_model_clear(&f->model);
}

static tacit_status_t plan_of(fixture_t *f, const char *name, tacit_sampler_settings_t *settings,
                              double *metric, tacit_plan_t *plan, tacit_error_t *err) {
  tacit_plan_request_t request = {.curator = f->curator,
                                  .parameters = &f->model.parameters,
                                  .n_units = n_records,
                                  .rho = f->budget != NULL ? tacit_budget_rho(f->budget) : INFINITY,
                                  .epsilon = f->budget != NULL ? tacit_budget_epsilon(f->budget) : INFINITY,
                                  .delta = 1e-6,
                                  .is_quick = true};
  return tacit_plan(tacit_method_find(name), &request, settings, metric, plan, err);
}

/* The bound that a proposal must keep is for steps in the units of the metric, whoever gave it: else most are
 * rejected unseen. */
static void test_bounds_of_proposals_follow_the_metric(void **state) {
  double bounds[4];
  for (size_t k = 0; k < 4; k++) {
    fixture_t f;
    open_fixture(&f, 20, 1);
    tacit_sampler_settings_t settings = tacit_sampler_settings_default();
    double metric[dim * dim] = {0}, scale = k == 1 ? 1.0 / n_records : 9.0 / n_records;
    tacit_plan_t plan;
    tacit_error_t err;
    settings.n_warmup = settings.n_draws = 0;
    settings.step_size = 0.1;
    settings.proposal = TACIT_PROPOSAL_FULL;
    settings.inv_metric = k > 0 ? metric : NULL;
    settings.inv_metric_is_dense = k == 3;
    for (size_t j = 0; j < dim; j++) {
      metric[k == 3 ? j * dim + j : j] = scale;
    }
    assert_ok(plan_of(&f, "dp-barker", &settings, metric, &plan, &err), err);
    bounds[k] = settings.accept_rule.max_bound;
    close_fixture(&f);
  }
  assert_true(bounds[0] > 0 &&
              fabs(bounds[1] - bounds[0]) < 1e-12 * bounds[0]); /* the guess is the metric of unit scales */
  assert_true(fabs(bounds[2] - 3 * bounds[1]) < 1e-9 * bounds[1] &&
              fabs(bounds[3] - bounds[2]) < 1e-9 * bounds[2]);
}

static void test_planned_run_spends_its_budget_and_no_more(void **state) {
  const char *names[] = {"dp-hmc", "dp-penalty"};
  for (size_t m = 0; m < 2; m++) {
    for (size_t given = 0; given < 3; given++) {
      fixture_t f;
      open_fixture(&f, 20, 1);
      tacit_sampler_settings_t settings = tacit_sampler_settings_default();
      settings.n_warmup = TACIT_WARMUP_AUTO;
      settings.n_draws = given == 1 ? 40 : 0;
      settings.noise_multiplier_ratio = given == 2 ? 9 : 0;
      settings.n_chains = 3;
      double metric[dim];
      tacit_plan_t plan;
      tacit_error_t err;
      assert_ok(plan_of(&f, names[m], &settings, metric, &plan, &err), err);
      assert_true(plan.n_iterations == settings.n_warmup + settings.n_draws * settings.thin);
      assert_true(plan.rho <= tacit_budget_rho(f.budget));
      assert_true(given != 1 || settings.n_draws == 40);
      assert_true(given == 2 || plan.rho >= 0.9 * tacit_budget_rho(f.budget));
      tacit_draws_t draws;
      tacit_sample_end_t end;
      assert_ok(tacit_sample(tacit_method_find(names[m]), f.curator, &f.model.parameters, &settings, &draws,
                             &end, &err),
                err);
      assert_int_equal(end, TACIT_SAMPLE_COMPLETE);
      assert_close(tacit_budget_rho_spent(f.budget) / plan.rho, 1, 1e-9);
      tacit_event_t *planned;
      size_t n_planned, n_charged;
      assert_ok(tacit_sampler_schedule(tacit_method_find(names[m]), &settings, f.curator, plan.n_iterations,
                                       &planned, &n_planned, &err),
                err);
      const tacit_event_t *charged = tacit_budget_events(f.budget, &n_charged);
      uint64_t sums[2][2] = {{0}};
      for (size_t i = 0; i < n_planned + n_charged; i++) {
        const tacit_event_t *event = i < n_planned ? &planned[i] : &charged[i - n_planned];
        sums[i < n_planned][strcmp(event->label, "gradient") == 0] += event->count;
      }
      assert_int_equal(sums[0][0], sums[1][0]);
      assert_int_equal(sums[0][1], sums[1][1]);
      tacit_free(planned);
      tacit_draws_clear(&draws);
      close_fixture(&f);
    }
  }
}

static void test_plan_refuses_what_cannot_be_done(void **state) {
  fixture_t f;
  double metric[dim];
  tacit_plan_t plan;
  tacit_error_t err;
  tacit_sampler_settings_t settings = tacit_sampler_settings_default();
  settings.n_warmup = TACIT_WARMUP_AUTO;
  settings.n_draws = 0;
  settings.noise_multiplier_ratio = 0.01;
  open_fixture(&f, 0.01, 1);
  assert_int_equal(plan_of(&f, "dp-penalty", &settings, metric, &plan, &err), TACIT_ERR_BUDGET);
  close_fixture(&f);
  open_fixture(&f, 1, 0);
  settings = tacit_sampler_settings_default();
  assert_int_equal(plan_of(&f, "dp-penalty", &settings, metric, &plan, &err), TACIT_ERR_SENSITIVITY);
  assert_int_equal(plan_of(&f, "dp-hmc", &settings, metric, &plan, &err), TACIT_ERR_SENSITIVITY);
  assert_true(tacit_budget_rho_spent(f.budget) <= 0);
  close_fixture(&f);
}

static tacit_sampler_settings_t small_run(void) {
  tacit_sampler_settings_t settings = tacit_sampler_settings_default();
  settings.n_chains = 2;
  settings.n_warmup = 5;
  settings.n_draws = 10;
  settings.thin = 3;
  settings.step_size = 0.05;
  settings.n_leapfrog = 2;
  settings.noise_multiplier_grad = settings.noise_multiplier_ratio = 3;
  return settings;
}

static void test_sample_rejects_bad_settings(void **state) {
  fixture_t f;
  open_fixture(&f, 5, 1);
  const tacit_method_t *method = tacit_method_find("dp-hmc");
  tacit_draws_t draws;
  tacit_sample_end_t end;
  tacit_error_t err;
  double bad_metric[dim] = {1, 0, 1}, bad_dense[dim * dim] = {1, 2, 0, 2, 1, 0, 0, 0, 1},
         bad_init[2 * dim] = {NAN};
  for (int fault = 0; fault < 10; fault++) {
    tacit_sampler_settings_t s = small_run();
    switch (fault) {
    case 0:
      s.n_chains = 0;
      break;
    case 1:
      s.n_draws = 0;
      break;
    case 2:
      s.thin = SIZE_MAX / 2;
      break;
    case 3:
      s.step_size = NAN;
      break;
    case 4:
      s.n_leapfrog = 0;
      break;
    case 5:
      s.noise_multiplier_grad = 0;
      break;
    case 6:
      s.noise_multiplier_ratio = NAN;
      break;
    case 7:
      s.inv_metric = bad_metric;
      break;
    case 8:
      s.inv_metric = bad_dense;
      s.inv_metric_is_dense = true;
      break;
    default:
      s.init = bad_init;
      break;
    }
    assert_int_equal(tacit_sample(method, f.curator, &f.model.parameters, &s, &draws, &end, &err),
                     TACIT_ERR_ARGUMENT);
    tacit_draws_clear(&draws);
  }
  tacit_sampler_settings_t s = small_run();
  assert_int_equal(
      tacit_sample(tacit_method_find("hmc"), f.curator, &f.model.parameters, &s, &draws, &end, &err),
      TACIT_ERR_ARGUMENT); /* an unprotected method on a private curator */
  assert_true(tacit_budget_rho_spent(f.budget) <= 0);
  close_fixture(&f);
}

static bool stop_at_ten(const tacit_progress_t *progress, void *user) {
  *(size_t *)user = progress->iteration;
  return progress->iteration < 11;
}

static void test_early_ends_keep_the_draws_so_far(void **state) {
  fixture_t f;
  open_fixture(&f, 60, 1);
  tacit_draws_t draws;
  tacit_sample_end_t end;
  tacit_error_t err;
  tacit_sampler_settings_t s = small_run();
  size_t seen = 0;
  s.progress = stop_at_ten;
  s.progress_user = &seen;
  const tacit_method_t *method = tacit_method_find("dp-penalty");
  assert_ok(tacit_sample(method, f.curator, &f.model.parameters, &s, &draws, &end, &err), err);
  assert_int_equal(end, TACIT_SAMPLE_INTERRUPTED);
  assert_int_equal(seen, 11);
  assert_int_equal(tacit_draws_n_kept(&draws), 2); /* iterations 8 and 11 */
  tacit_draws_clear(&draws);
  s.progress = NULL;
  s.n_draws = 100000;
  assert_ok(tacit_sample(method, f.curator, &f.model.parameters, &s, &draws, &end, &err), err);
  assert_int_equal(end, TACIT_SAMPLE_BUDGET);
  assert_true(tacit_budget_spent(f.budget).epsilon <= 60);
  assert_true(tacit_draws_n_kept(&draws) < 100000);
  tacit_draws_clear(&draws);
  close_fixture(&f);
}

static void test_same_key_same_draws_for_exposed_runs(void **state) {
  tacit_draws_t draws[2];
  for (int i = 0; i < 2; i++) {
    fixture_t f;
    open_fixture(&f, 0, 0);
    tacit_sampler_settings_t s = small_run();
    s.adapt = true;
    s.n_warmup = 50;
    tacit_rng_key_from_seed(s.key, 5);
    tacit_sample_end_t end;
    tacit_error_t err;
    assert_ok(
        tacit_sample(tacit_method_find("hmc"), f.curator, &f.model.parameters, &s, &draws[i], &end, &err),
        err);
    close_fixture(&f);
  }
  assert_memory_equal(draws[0].values, draws[1].values, 2 * 60 * dim * sizeof(double));
  assert_true(memcmp(tacit_draws_row(&draws[0], 0, 59), tacit_draws_row(&draws[0], 1, 59), sizeof(double)) !=
              0);
  tacit_draws_clear(&draws[0]);
  tacit_draws_clear(&draws[1]);
}

static void test_failed_allocations_leak_nothing(void **state) {
  for (size_t k = 1; k < 200; k++) {
    fixture_t f;
    open_fixture(&f, 50, 1);
    tacit_sampler_settings_t s = small_run();
    tacit_draws_t draws;
    tacit_sample_end_t end;
    tacit_error_t err;
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
}

/* momentum ~ N(0, W^-1), scale ~ N(0, W): checked through the matrices themselves, column by column. */
static void test_metric_factors_are_consistent(void **state) {
  double w[dim * dim] = {2, 0.5, 0.1, 0.5, 1, -0.3, 0.1, -0.3, 0.7}, cov[dim * dim] = {0};
  tacit_metric_t metric;
  tacit_error_t err;
  assert_ok(tacit_metric_init(&metric, dim, w, true, &err), err);
  double momentum[dim][dim];
  for (size_t c = 0; c < dim; c++) {
    double z[dim] = {0}, x[dim], v[dim];
    z[c] = 1;
    tacit_metric_scale(&metric, z, x);
    for (size_t i = 0; i < dim * dim; i++) {
      cov[i] += x[i / dim] * x[i % dim];
    }
    tacit_metric_momentum(&metric, z, momentum[c]);
    assert_close(tacit_metric_velocity(&metric, momentum[c], v), 1, 1e-13); /* p' W p = z' z */
  }
  for (size_t i = 0; i < dim * dim; i++) {
    assert_close(cov[i], w[i], 1e-14);
  }
  tacit_metric_clear(&metric);
}

static void test_halton_points_fill_the_interval(void **state) {
  for (int block = 0; block < 64; block++) {
    int seen[64] = {0};
    for (uint64_t i = 0; i < 64; i++) {
      double h = tacit_halton(i + 64 * (uint64_t)block, 0.013);
      assert_true(h >= 0 && h < 1);
      seen[(int)(64 * (h - 0.013 + 1) + 1e-9) % 64]++;
    }
    for (int i = 0; i < 64; i++) {
      assert_int_equal(seen[i], 1);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bounds_of_proposals_follow_the_metric),
      cmocka_unit_test(test_planned_run_spends_its_budget_and_no_more),
      cmocka_unit_test(test_plan_refuses_what_cannot_be_done),
      cmocka_unit_test(test_sample_rejects_bad_settings),
      cmocka_unit_test(test_early_ends_keep_the_draws_so_far),
      cmocka_unit_test(test_same_key_same_draws_for_exposed_runs),
      cmocka_unit_test(test_failed_allocations_leak_nothing),
      cmocka_unit_test(test_metric_factors_are_consistent),
      cmocka_unit_test(test_halton_points_fill_the_interval),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
