/* What the budget buys, with the records' curator or with a blank one. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "fit/fit_internal.h"

tacit_status_t tacit_fit_open_blank(tacit_fit_t *fit, tacit_error_t *err) {
  tacit_records_t *records;
  tacit_status_t status = tacit_records_new(&records, 1, fit->model.records.n_columns, err);
  if (status == TACIT_OK) {
    fit->limits.max_unit_rows = tacit_schema_max_rows(fit->schema);
    status = fit->is_exposed
                 ? tacit_curator_new_exposed(&fit->curator, records, &fit->model.records, &fit->limits, err)
                 : tacit_curator_new(&fit->curator, records, &fit->model.records, fit->budget, fit->noise,
                                     &fit->limits, err);
  }
  return status;
}

/* The whole run is charged for in advance where its releases are not all Gaussian. */
static tacit_status_t set_schedule(tacit_fit_t *fit, tacit_error_t *err) {
  tacit_event_t *events;
  size_t n;
  if (!tacit_sampler_needs_schedule(fit->method, &fit->settings)) {
    return TACIT_OK;
  }
  tacit_status_t status = tacit_sampler_schedule(fit->method, &fit->settings, fit->curator,
                                                 fit->plan.n_iterations, &events, &n, err);
  TACIT_THEN(status, tacit_budget_set_schedule(fit->budget, events, n, err));
  tacit_free(events);
  return status;
}

/* What is refused by the first release, after earlier steps were paid for, is refused before. */
tacit_status_t tacit_fit_check_unit(const tacit_fit_t *fit, const tacit_method_t *method,
                                    tacit_error_t *err) {
  static const char *const by_record[] = {
      "dp-mala",         "dp-fast-mh", "dp-sgld", "dp-sghmc",   "dp-sgnht", "dp-penalty-subsampled",
      "dp-barker-vcorr", "tunamh",     "sghmc",   "sghmc-naive"};
  if (tacit_schema_unit(fit->schema) == NULL) {
    return TACIT_OK;
  }
  for (size_t i = 0; i < sizeof by_record / sizeof by_record[0]; i++) {
    if (strcmp(method->name, by_record[i]) == 0) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "method",
                             "method %s goes by records, and here a person has several: use dp-hmc, "
                             "dp-penalty or dp-barker, or a table with one row a person",
                             method->name);
    }
  }
  return TACIT_OK;
}

/* After the sentence in err. */
static tacit_status_t add_road(tacit_error_t *err, tacit_status_t status, const char *road) {
  if (err != NULL) {
    size_t n = strlen(err->message);
    snprintf(err->message + n, sizeof err->message - n, "; %s", road);
  }
  return status;
}

/* The least of a row of budgets that would pay; planning without decisions takes no time. */
static double epsilon_that_pays(const tacit_fit_t *fit, tacit_plan_request_t request,
                                const tacit_sampler_settings_t *before) {
  for (double epsilon = fit->epsilon; epsilon < 1e6 && fit->epsilon > 0; epsilon *= 1.2) {
    tacit_sampler_settings_t settings = *before;
    tacit_plan_t plan;
    request.epsilon = epsilon;
    request.rho = tacit_gaussian_rho(epsilon, log(fit->delta)) * TACIT_PLANNED_SHARE;
    if (tacit_plan(fit->method, &request, &settings, fit->inv_metric, &plan, NULL) == TACIT_OK) {
      return epsilon;
    }
  }
  return NAN;
}

/* A plan that fails says where the road is. */
static tacit_status_t point_on(const tacit_fit_t *fit, const tacit_plan_request_t *request,
                               const tacit_sampler_settings_t *before, tacit_status_t status,
                               tacit_error_t *err) {
  char text[TACIT_FIT_OBSTACLE_SIZE], road[128];
  bool has_alternative = fit->design != NULL && !fit->is_exposed && !tacit_fit_aware_obstacle(fit, text);
  if (status == TACIT_ERR_SENSITIVITY && has_alternative) {
    return add_road(err, status, "or --method noise-aware, which needs none");
  }
  if (status == TACIT_ERR_SENSITIVITY && fit->why_not_aware[0] != '\0' && err != NULL) {
    tacit_error_t of_chains = *err;
    return tacit_error_set(err, status, of_chains.field, "%s; of chains: %s", fit->why_not_aware,
                           of_chains.message);
  }
  if (status != TACIT_ERR_BUDGET || fit->is_exposed) {
    return status;
  }
  if (has_alternative) {
    return add_road(err, status, "or --method noise-aware, which does with less");
  }
  bool is_default = fit->design != NULL && tacit_fit_aware_is_default(fit) &&
                    tacit_schema_unit(fit->schema) == NULL &&
                    tacit_schema_relation(fit->schema) == TACIT_RELATION_SUBSTITUTE;
  if (is_default && !tacit_design_has_intercept(fit->design)) {
    return add_road(err, status, "with an intercept (drop the `0 +`) method noise-aware does with less");
  }
  double epsilon =
      tacit_sampler_needs_schedule(fit->method, before) ? NAN : epsilon_that_pays(fit, *request, before);
  if (isnan(epsilon)) {
    return status;
  }
  snprintf(road, sizeof road,
           "epsilon %.3g would pay for one draw of each, a usable chain takes several times that: tacit plan",
           epsilon);
  return add_road(err, status, road);
}

tacit_status_t tacit_fit_make_plan(tacit_fit_t *fit, double n_units, tacit_error_t *err) {
  size_t n;
  tacit_status_t fits = tacit_fit_check_unit(fit, fit->method, err);
  if (fits != TACIT_OK) {
    return fits;
  }
  if (!(n_units > 0)) {
    tacit_status_t status = tacit_curator_n_units(fit->curator, &n, err);
    if (status != TACIT_OK) {
      return status;
    }
    n_units = (double)n;
  }
  fit->n_planned = n_units;
  if (fit->method->is_one_off) {
    tacit_status_t status = tacit_fit_aware_plan(fit, n_units, err);
    return status == TACIT_OK ? tacit_fit_forecast(fit, err) : status;
  }
  tacit_plan_request_t request = {.curator = fit->curator,
                                  .parameters = &fit->model.parameters,
                                  .n_units = n_units,
                                  .rho = fit->budget != NULL ? tacit_budget_rho(fit->budget) : INFINITY,
                                  .epsilon = fit->epsilon,
                                  .delta = fit->delta,
                                  .relation = tacit_schema_relation(fit->schema)};
  const tacit_sampler_settings_t before = fit->settings;
  tacit_status_t status = tacit_plan(fit->method, &request, &fit->settings, fit->inv_metric, &fit->plan, err);
  if (status != TACIT_OK) {
    return point_on(fit, &request, &before, status, err);
  }
  status = set_schedule(fit, err);
  return status == TACIT_OK ? tacit_fit_forecast(fit, err) : status;
}

static tacit_fit_plan_t describe(const tacit_fit_t *fit) {
  bool is_one_off = fit->method->is_one_off;
  const tacit_plan_t *plan = &fit->plan;
  double epsilon = plan->epsilon;
  if (fit->budget != NULL && (is_one_off || tacit_budget_is_scheduled(fit->budget))) {
    epsilon = is_one_off ? fit->epsilon : tacit_budget_planned(fit->budget).epsilon;
  }
  return (tacit_fit_plan_t){.method = fit->method->name,
                            .n_chains = fit->settings.n_chains,
                            .n_iterations = plan->n_iterations,
                            .n_warmup = fit->settings.n_warmup,
                            .n_draws = fit->settings.n_draws,
                            .n_releases = is_one_off ? tacit_fit_aware_n_releases(fit) : 0,
                            .step_size = is_one_off ? NAN : fit->settings.step_size,
                            .penalty_sd = is_one_off ? NAN : plan->penalty_sd,
                            .grad_noise = is_one_off ? NAN : plan->grad_noise,
                            .ess = is_one_off ? NAN : plan->ess,
                            .ess_wide = is_one_off ? NAN : plan->ess_wide,
                            .width = plan->width,
                            .epsilon = epsilon,
                            .verdict = fit->verdict};
}

tacit_status_t tacit_fit_copy_settings(tacit_fit_t **copy, const tacit_fit_t *fit, tacit_error_t *err) {
  tacit_status_t status = tacit_fit_new(copy, fit->formula, err);
  for (size_t i = 0; i < fit->given.n_given && status == TACIT_OK; i++) {
    status = tacit_fit_set(*copy, fit->given.given[i].setting->name, fit->given.given[i].text, err);
  }
  if (status == TACIT_OK && fit->schema_text != NULL) {
    status = tacit_fit_set_schema(*copy, fit->schema_text, fit->schema_length, fit->schema_name, err);
  }
  return status;
}

tacit_status_t tacit_fit_check_number(double n_units, tacit_error_t *err) {
  return n_units >= 1 && n_units <= 1e18
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_ARGUMENT, "n",
                               "a plan without records needs their number, from 1 to 1e18");
}

static tacit_status_t plan_blank(tacit_fit_t *fit, double n_units, tacit_error_t *err) {
  tacit_status_t (*const steps[])(tacit_fit_t *, tacit_error_t *) = {
      tacit_fit_prepare, tacit_fit_read_metric, tacit_fit_read_init, tacit_fit_open_blank};
  tacit_status_t status = tacit_fit_read_settings(fit, err);
  if (status == TACIT_OK && !(fit->n_public > 0)) {
    fit->n_public = n_units;
  }
  for (size_t i = 0; i < sizeof steps / sizeof steps[0] && status == TACIT_OK; i++) {
    status = steps[i](fit, err);
  }
  return status == TACIT_OK ? tacit_fit_make_plan(fit, fit->n_public, err) : status;
}

tacit_status_t tacit_fit_plan(tacit_fit_t *fit, double n_units, tacit_fit_plan_t *plan, tacit_error_t *err) {
  tacit_fit_t *copy = NULL;
  *plan = (tacit_fit_plan_t){0};
  if (fit->stage >= TACIT_FIT_STAGE_READ && fit->stage != TACIT_FIT_STAGE_FAILED) {
    *plan = describe(fit);
    return TACIT_OK;
  }
  tacit_status_t status = tacit_fit_check_number(n_units, err);
  TACIT_THEN(status, tacit_fit_copy_settings(&copy, fit, err));
  TACIT_THEN(status, plan_blank(copy, n_units, err));
  if (status == TACIT_OK) {
    *plan = describe(copy);
    for (int i = TACIT_FIT_TEXT_PLAN; i <= TACIT_FIT_TEXT_WARNING; i++) {
      tacit_text_clear(&fit->texts[i]);
      fit->texts[i] = copy->texts[i];
      copy->texts[i] = (tacit_text_t){0};
    }
  }
  tacit_fit_free(copy);
  return status;
}
