/* What method noise-aware takes and refuses, and its plan. */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "fit/fit_internal.h"

static const char not_categorical[] = "method noise-aware takes a categorical outcome by the program of its "
                                      "family, of up to %d parameters; use --method dp-hmc or dp-penalty";

static const char nothing_told[] = "method noise-aware cannot begin, since at the prior's centre records "
                                   "tell nothing of some parameter: leave out terms that say the same as "
                                   "others; priors that put all outcomes at a bound (--prior) do it, too";

static const char cannot_drop[] = "method noise-aware cannot leave out some rows of a unit (missing: drop of "
                                  "'%s'): use --method dp-hmc or dp-penalty";

/* Of a regression its features, of a program its parameters. */
size_t tacit_fit_aware_dim(const tacit_fit_t *fit) {
  return fit->design != NULL ? tacit_design_n_features(fit->design) : fit->model.parameters.dim;
}

const char *tacit_fit_chain_setting(const tacit_fit_t *fit) {
  static const char *const names[] = {
      "clip-grad",  "clip-ratio", "noise-grad", "noise-ratio", "step-size",     "leapfrog",
      "proposal",   "no-jitter",  "no-reuse",   "metric-file", "init",          "temperature",
      "acceptance", "sigma",      "kappa",      "cap",         "sampling-rate", "variance",
      "friction",   "step-decay", "max-batch",  "metric",      "clip-share"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (tacit_fit_has(fit, names[i])) {
      return names[i];
    }
  }
  return NULL;
}

/* Settings of chains of releases have no meaning here, and silence about them would mislead. */
tacit_status_t tacit_fit_aware_check(const tacit_fit_t *fit, tacit_error_t *err) {
  if (!fit->method->is_one_off) {
    return TACIT_OK;
  }
  const char *name = tacit_fit_chain_setting(fit);
  if (name != NULL) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, name,
        "--%s is for methods that release at every step; leave it out, or use --method dp-hmc or dp-penalty",
        name);
  }
  return TACIT_OK;
}

bool tacit_fit_aware_is_default(const tacit_fit_t *fit) {
  return fit->design == NULL || fit->family != TACIT_FAMILY_CATEGORICAL;
}

/* Nobody asked for it by name, and here it is not taken: why, for whoever runs this. */
static void fall_back(tacit_fit_t *fit, const char *why) {
  fit->method = tacit_method_find("dp-hmc");
  snprintf(fit->why_not_aware, sizeof fit->why_not_aware, "%.*s", (int)sizeof fit->why_not_aware - 1, why);
}

static bool has_program_obstacle(const tacit_fit_t *fit, char text[TACIT_FIT_OBSTACLE_SIZE]) {
  const tacit_record_model_t *records = &fit->model.records;
  if (records->others == NULL && records->hazards == NULL) {
    snprintf(text, TACIT_FIT_OBSTACLE_SIZE,
             "method noise-aware simulates a program's outcomes, and here it cannot: %s; use --method dp-hmc "
             "or dp-penalty",
             records->no_others != NULL ? records->no_others : "it is not known how they arise");
  } else if (tacit_schema_unit(fit->schema) != NULL && tacit_fit_dropping(fit) != NULL) {
    snprintf(text, TACIT_FIT_OBSTACLE_SIZE, cannot_drop, tacit_fit_dropping(fit));
  } else if (records->dim > TACIT_NOISE_AWARE_MAX_NARROW) {
    snprintf(text, TACIT_FIT_OBSTACLE_SIZE,
             "the program has %zu parameters; method noise-aware takes at most %d: use --method dp-hmc or "
             "dp-penalty",
             records->dim, (int)TACIT_NOISE_AWARE_MAX_NARROW);
  } else {
    return false;
  }
  return true;
}

bool tacit_fit_aware_obstacle(const tacit_fit_t *fit, char text[TACIT_FIT_OBSTACLE_SIZE]) {
  double lower, upper;
  if (fit->design == NULL) {
    return has_program_obstacle(fit, text);
  }
  size_t d = tacit_design_n_features(fit->design);
  tacit_design_response_range(fit->design, &lower, &upper);
  bool is_wide = fit->family != TACIT_FAMILY_GAUSSIAN && tacit_schema_max_rows(fit->schema) <= 1;
  int most = is_wide ? TACIT_NOISE_AWARE_MAX_FEATURES : TACIT_NOISE_AWARE_MAX_NARROW;
  if (fit->family == TACIT_FAMILY_CATEGORICAL) {
    snprintf(text, TACIT_FIT_OBSTACLE_SIZE, not_categorical, (int)TACIT_NOISE_AWARE_MAX_NARROW);
  } else if (tacit_schema_unit(fit->schema) != NULL && tacit_fit_dropping(fit) != NULL) {
    snprintf(text, TACIT_FIT_OBSTACLE_SIZE, cannot_drop, tacit_fit_dropping(fit));
  } else if (!tacit_design_has_intercept(fit->design)) {
    snprintf(text, TACIT_FIT_OBSTACLE_SIZE,
             "method noise-aware needs an intercept: leave out '+ 0' or '- 1', or fit the program of tacit "
             "model write");
  } else if (d > (size_t)most) {
    snprintf(text, TACIT_FIT_OBSTACLE_SIZE,
             "the formula has %zu features, the intercept included; method noise-aware takes at most %d%s", d,
             most,
             is_wide                                ? ""
             : fit->family == TACIT_FAMILY_GAUSSIAN ? " of family gaussian"
                                                    : " where a unit may have several rows");
  } else if (fit->family != TACIT_FAMILY_GAUSSIAN && !tacit_family_has_moments(fit->family, upper)) {
    snprintf(text, TACIT_FIT_OBSTACLE_SIZE,
             "method noise-aware needs an upper bound of the response between 1 and %d, and noise grows with "
             "it; the schema says %g",
             (int)TACIT_FAMILY_MAX_COUNT, upper);
  } else {
    return false;
  }
  return true;
}

tacit_noise_aware_settings_t tacit_fit_aware_settings(const tacit_fit_t *fit) {
  tacit_noise_aware_settings_t settings = tacit_noise_aware_settings_default();
  double lower, upper;
  settings.relation = tacit_schema_relation(fit->schema);
  settings.n_units = fit->n_planned > 0 ? fit->n_planned : fit->n_public;
  settings.n_features = tacit_fit_aware_dim(fit);
  settings.delta = fit->delta;
  settings.may_drop = tacit_fit_dropping(fit) != NULL;
  settings.max_rows = tacit_schema_max_rows(fit->schema);
  if (fit->design == NULL) {
    settings.records = &fit->model.records;
    settings.program_sampling = fit->aware.program_sampling;
    settings.program_noise = fit->aware.program_noise;
    settings.program_reach = fit->aware.program_reach;
    return settings;
  }
  tacit_design_response_range(fit->design, &lower, &upper);
  settings.family = fit->family;
  settings.upper = upper;
  settings.known_sd =
      fit->known_sd > 0 ? 2 * fit->known_sd / (upper - lower) : 0; /* the response is mapped to [-1, 1] */
  return settings;
}

/* What forecasts rest on. */
static tacit_status_t measure(tacit_fit_t *fit, tacit_error_t *err) {
  fit->aware = tacit_fit_aware_settings(fit);
  return tacit_noise_aware_measure(&fit->aware, &fit->model.parameters, err);
}

tacit_status_t tacit_fit_aware_prepare(tacit_fit_t *fit, tacit_error_t *err) {
  char text[TACIT_FIT_OBSTACLE_SIZE];
  if (fit->method == NULL) { /* methods are compared */
    tacit_status_t status =
        fit->design != NULL || tacit_fit_aware_obstacle(fit, text) ? TACIT_OK : measure(fit, err);
    return status == TACIT_ERR_NUMERIC ? TACIT_OK
                                       : status; /* program_noise is 0: the method's line says why */
  }
  if (!fit->method->is_one_off) {
    return TACIT_OK;
  }
  bool is_asked = tacit_fit_has(fit, "method"), is_barred = tacit_fit_aware_obstacle(fit, text);
  if (is_barred && is_asked) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "method", "%s", text);
  }
  if (is_barred) {
    fall_back(fit, text);
    return TACIT_OK;
  }
  if (fit->design == NULL &&
      (fit->n_of > 0 || fit->checked != NULL || fit->is_part)) { /* forecasts are for the fit that spends */
    fit->aware = tacit_fit_aware_settings(fit);
    return TACIT_OK;
  }
  if (fit->design == NULL) {
    tacit_status_t status = measure(fit, err);
    if (is_asked || (status == TACIT_OK && fit->aware.program_noise > 0) || status == TACIT_ERR_MEMORY) {
      return status;
    }
    fall_back(fit, status == TACIT_OK ? nothing_told : err->message);
    return TACIT_OK;
  }
  size_t d = tacit_design_n_features(fit->design);
  fit->is_two_valued = tacit_alloc_zero(d, sizeof *fit->is_two_valued);
  fit->makeup = tacit_alloc_zero(d, sizeof *fit->makeup);
  if (fit->is_two_valued == NULL || fit->makeup == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t j = 0; j < d; j++) {
    fit->is_two_valued[j] = tacit_design_is_two_valued(fit->design, j);
    fit->makeup[j] = tacit_design_makeup(fit->design, j);
  }
  fit->aware = tacit_fit_aware_settings(fit);
  fit->aware.makeup = fit->makeup;
  fit->aware.is_two_valued = fit->is_two_valued;
  return TACIT_OK;
}

/* Less what rounding of the charges could add. */
double tacit_fit_aware_rho(const tacit_fit_t *fit) {
  return tacit_budget_rho(fit->budget) * TACIT_PLANNED_SHARE;
}

size_t tacit_fit_aware_n_releases(const tacit_fit_t *fit) {
  tacit_event_t events[TACIT_NOISE_AWARE_N_EVENTS];
  tacit_noise_aware_settings_t settings = tacit_fit_aware_settings(fit);
  settings.rho = tacit_fit_aware_rho(fit);
  size_t n = tacit_noise_aware_events(&settings, events), sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += (size_t)events[i].count;
  }
  return sum;
}

tacit_status_t tacit_fit_aware_plan(tacit_fit_t *fit, double n_units, tacit_error_t *err) {
  tacit_sampler_settings_t *s = &fit->settings;
  s->n_warmup = s->n_warmup == TACIT_WARMUP_AUTO ? fit->aware.n_warmup : s->n_warmup;
  s->n_draws = s->n_draws > 0 ? s->n_draws : fit->aware.n_draws;
  fit->aware.rho = tacit_fit_aware_rho(fit);
  fit->aware.n_units = n_units;
  fit->aware.n_chains = s->n_chains;
  fit->aware.n_threads = fit->limits.n_threads;
  fit->aware.n_warmup = s->n_warmup;
  fit->aware.n_draws = s->n_draws;
  fit->aware.thin = s->thin;
  fit->settings.inv_metric = NULL;
  fit->plan.n_iterations = s->n_warmup + s->n_draws * s->thin;
  fit->plan.width = tacit_noise_aware_inflation(&fit->aware, tacit_fit_aware_dim(fit), n_units);
  if (fit->checked != NULL || (fit->design == NULL && fit->n_of > 0)) { /* nothing is fitted by this budget */
    return TACIT_OK;
  }
  tacit_status_t status = tacit_noise_aware_check_budget(&fit->aware, err);
  fit->bend = status == TACIT_OK ? tacit_fit_bend(fit, &fit->aware, n_units) : 0;
  return status;
}
