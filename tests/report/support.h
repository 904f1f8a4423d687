/* A run made up for the tests: autoregressive chains, a budget that was really charged, settings. */
#ifndef TACIT_TESTS_REPORT_SUPPORT_H
#define TACIT_TESTS_REPORT_SUPPORT_H

#include "testing.h"

#include <string.h>

#include "report/report.h"

enum { SUPPORT_MAX_NAMES = 64 };

typedef struct sample_run {
  tacit_report_t report;
  tacit_draws_t draws;
  tacit_budget_t *budget;
  char labels[SUPPORT_MAX_NAMES][80], names[SUPPORT_MAX_NAMES][40];
  const char *label_list[SUPPORT_MAX_NAMES], *name_list[SUPPORT_MAX_NAMES];
  double inv_metric[SUPPORT_MAX_NAMES * SUPPORT_MAX_NAMES];
} sample_run_t;

static inline double support_normal(uint64_t *state) {
  double total = -6;
  for (int k = 0; k < 12; k++) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    total += (double)(*state >> 11) * 0x1p-53;
  }
  return total;
}

static inline void support_name(sample_run_t *run, size_t j) {
  static const char *const terms[] = {"(Intercept)", "age", "sexM", "log(flc)", "I(age^2)", "age:sexM"};
  static const char *const columns[] = {"b_Intercept", "b_age",     "b_sexM",
                                        "b_log_flc",   "b_I_age_2", "b_age_sexM"};
  bool is_listed = j < sizeof terms / sizeof terms[0];
  if (is_listed) {
    snprintf(run->labels[j], sizeof run->labels[j], "%s", terms[j]);
    snprintf(run->names[j], sizeof run->names[j], "%s", columns[j]);
  } else {
    snprintf(run->labels[j], sizeof run->labels[j], "factor(centre)%zu", j);
    snprintf(run->names[j], sizeof run->names[j], "u.%zu", j - 5);
  }
  run->label_list[j] = run->labels[j];
  run->name_list[j] = run->names[j];
}

static inline void support_draws(sample_run_t *run, size_t n_chains, size_t n_warmup, size_t n_draws,
                                 size_t n) {
  tacit_error_t err;
  assert_ok(tacit_draws_init(&run->draws, n_chains, n_warmup, n_draws, n, &err), err);
  uint64_t state = 2024;
  for (size_t c = 0; c < n_chains; c++) {
    double x[SUPPORT_MAX_NAMES] = {0};
    for (size_t i = 0; i < n_warmup + n_draws; i++) {
      for (size_t j = 0; j < n; j++) {
        x[j] = 0.6 * x[j] + support_normal(&state);
        tacit_draws_row(&run->draws, c, i)[j] = (j == 0 ? -4.2 : 0.3 * (double)(j % 5)) + 0.11 * x[j];
      }
      run->draws.stats[c * (n_warmup + n_draws) + i] =
          (tacit_draw_stats_t){.log_prior = -1.5,
                               .accept_stat = x[0] > -1,
                               .step_size = 0.1 + 0.01 * (double)(i % 3),
                               .n_leapfrog = 12};
    }
  }
  run->draws.n_saved = n_warmup + n_draws;
}

static inline tacit_budget_t *support_budget(tacit_relation_t relation) {
  tacit_error_t err;
  tacit_budget_t *budget;
  assert_ok(tacit_budget_new(&budget, 8, 1e-6, relation, &err), err);
  const tacit_event_t gradient = {
      .kind = TACIT_EVENT_GAUSSIAN, .noise_multiplier = 120.5, .count = 12000, .label = "gradient"};
  const tacit_event_t ratio = {
      .kind = TACIT_EVENT_GAUSSIAN, .noise_multiplier = 80.25, .count = 4000, .label = "log-ratio"};
  assert_ok(tacit_budget_charge(budget, &gradient, &err), err);
  assert_ok(tacit_budget_charge(budget, &ratio, &err), err);
  return budget;
}

/* n_chains, n_warmup, n_draws, n_parameters; private unless is_exposed. Clear with sample_run_clear. */
static inline sample_run_t *sample_run_new(size_t n_chains, size_t n_warmup, size_t n_draws, size_t n,
                                           bool is_exposed) {
  static const tacit_report_setting_t settings[] = {{"schema", "flchain.yaml", false},
                                                    {"epsilon", "8", false},
                                                    {"delta", "1e-6", false},
                                                    {"chains", "4", true},
                                                    {"prior", "normal(0, 2.5)", false},
                                                    {"prior", "age: student_t(3, 0, 1)", false},
                                                    {"prior-scale", "scaled", true},
                                                    {"no-jitter", "false", true},
                                                    {"note", "yes", false}};
  static const char *const assumptions[] = {
      "Floating-point evaluation of a record's log-likelihood is within its "
      "documented error."};
  sample_run_t *run = calloc(1, sizeof *run);
  assert_non_null(run);
  for (size_t j = 0; j < n; j++) {
    support_name(run, j);
    run->inv_metric[j] = 0.01 * (double)(j + 1);
  }
  support_draws(run, n_chains, n_warmup, n_draws, n);
  run->budget = is_exposed ? NULL : support_budget(TACIT_RELATION_SUBSTITUTE);
  run->report = (tacit_report_t){.method = is_exposed ? "hmc" : "dp-hmc",
                                 .formula = "death ~ age + sex + log(flc)",
                                 .family = "bernoulli",
                                 .data_name = "flchain",
                                 .unit = "row",
                                 .max_rows = 1,
                                 .delta_meaning = "",
                                 .is_private = !is_exposed,
                                 .not_private_reason = is_exposed ? "exposed" : "",
                                 .is_exact = true,
                                 .budget = run->budget,
                                 .assumptions = assumptions,
                                 .n_assumptions = 1,
                                 .end = "complete",
                                 .labels = run->label_list,
                                 .names = run->name_list,
                                 .inv_metric = run->inv_metric,
                                 .metric_dim = n,
                                 .step_size = 0.125,
                                 .thin = 1,
                                 .settings = settings,
                                 .n_settings = sizeof settings / sizeof settings[0],
                                 .draws = &run->draws};
  return run;
}

static inline void sample_run_clear(sample_run_t *run) {
  tacit_draws_clear(&run->draws);
  tacit_budget_free(run->budget);
  free(run);
}

#endif
