/* What `tacit fit --method noise-aware` takes and refuses, and its plan. */
#include <math.h>
#include <stdio.h>

#include "cli/fit.h"

static const char not_categorical[] =
    "method noise-aware is for family bernoulli, gaussian or poisson; for %s use --method dp-hmc or dp-penalty";

const char *cli_fit_chain_option(const cli_args_t *args) {
  static const char *const names[] = {"clip-grad", "clip-ratio", "noise-grad",  "noise-ratio", "step-size",   "leapfrog",
                                      "proposal",  "no-jitter",  "no-reuse",    "metric-file", "init",        "temperature",
                                      "n-public",    "acceptance", "sigma",      "kappa",       "cap",
                                      "sampling-rate", "variance", "friction", "step-decay", "max-batch",
                                      "metric", "clip-share"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (cli_is_given(args, names[i])) {
      return names[i];
    }
  }
  return NULL;
}

/* Options of chains of releases have no meaning here, and silence about them would mislead. */
int cli_fit_aware_options(cli_fit_t *fit) {
  if (!fit->method->is_one_off) {
    return CLI_OK;
  }
  if (fit->family == TACIT_FAMILY_CATEGORICAL) {
    cli_error(fit->args, not_categorical, tacit_family_string(fit->family));
    return CLI_USAGE;
  }
  const char *name = cli_fit_chain_option(fit->args);
  if (name != NULL) {
    cli_error(fit->args, "--%s is for methods that release at every step; leave it out, or use --method dp-hmc or "
                         "dp-penalty", name);
  }
  return name != NULL ? CLI_USAGE : CLI_OK;
}

bool cli_fit_aware_is_default(const cli_fit_t *fit) {
  return fit->family == TACIT_FAMILY_BERNOULLI || fit->family == TACIT_FAMILY_GAUSSIAN;
}

bool cli_fit_aware_obstacle(const cli_fit_t *fit, char text[CLI_OBSTACLE_SIZE]) {
  size_t d = tacit_design_n_features(fit->design);
  double lower, upper;
  tacit_design_response_range(fit->design, &lower, &upper);
  if (fit->family == TACIT_FAMILY_CATEGORICAL) {
    snprintf(text, CLI_OBSTACLE_SIZE, not_categorical, tacit_family_string(fit->family));
  } else if (tacit_schema_relation(fit->schema) != TACIT_RELATION_SUBSTITUTE) {
    snprintf(text, CLI_OBSTACLE_SIZE, "method noise-aware uses the number of rows, which relation add-remove keeps private: use "
                                 "relation substitute, or --method dp-hmc or dp-penalty");
  } else if (tacit_schema_unit(fit->schema) != NULL) {
    snprintf(text, CLI_OBSTACLE_SIZE, "method noise-aware protects one row, not all rows of a unit as the schema asks: use "
                                 "--method dp-hmc or dp-penalty");
  } else if (!tacit_design_has_intercept(fit->design)) {
    snprintf(text, CLI_OBSTACLE_SIZE, "method noise-aware needs an intercept: leave out '+ 0' or '- 1'");
  } else if (d > TACIT_NOISE_AWARE_MAX_FEATURES) {
    snprintf(text, CLI_OBSTACLE_SIZE, "the formula has %zu features, the intercept included; method noise-aware takes at most %d",
             d, (int)TACIT_NOISE_AWARE_MAX_FEATURES);
  } else if (fit->family != TACIT_FAMILY_GAUSSIAN && !tacit_family_has_moments(fit->family, upper)) {
    snprintf(text, CLI_OBSTACLE_SIZE, "method noise-aware needs an upper bound of the response between 1 and %d, and noise grows "
                                 "with it; the schema says %g",
             (int)TACIT_FAMILY_MAX_COUNT, upper);
  } else {
    return false;
  }
  return true;
}

tacit_noise_aware_settings_t cli_fit_aware_settings(const cli_fit_t *fit) {
  tacit_noise_aware_settings_t settings = tacit_noise_aware_settings_default();
  double lower, upper;
  tacit_design_response_range(fit->design, &lower, &upper);
  settings.family = fit->family;
  settings.upper = upper;
  settings.known_sd = fit->known_sd > 0 ? 2 * fit->known_sd / (upper - lower) : 0; /* the response is mapped to [-1, 1] */
  return settings;
}

int cli_fit_aware_prepare(cli_fit_t *fit) {
  char text[CLI_OBSTACLE_SIZE];
  if (fit->method == NULL || !fit->method->is_one_off) { /* tacit plan names none */
    return CLI_OK;
  }
  if (cli_fit_aware_obstacle(fit, text)) {
    if (!cli_is_given(fit->args, "method")) {
      fit->method = tacit_method_find("dp-hmc");
      return CLI_OK;
    }
    cli_error(fit->args, "%s", text);
    return CLI_USAGE;
  }
  size_t d = tacit_design_n_features(fit->design);
  fit->is_two_valued = tacit_alloc_zero(d, sizeof *fit->is_two_valued);
  if (fit->is_two_valued == NULL) {
    cli_error(fit->args, "out of memory");
    return CLI_FAILURE;
  }
  for (size_t j = 0; j < d; j++) {
    fit->is_two_valued[j] = tacit_design_is_two_valued(fit->design, j);
  }
  fit->aware = cli_fit_aware_settings(fit);
  fit->aware.is_two_valued = fit->is_two_valued;
  return CLI_OK;
}

/* Less what rounding of the charges could add. */
double cli_fit_aware_rho(const cli_fit_t *fit) {
  return tacit_budget_rho(fit->budget) * (1 - 1e-9);
}

size_t cli_fit_aware_n_releases(const cli_fit_t *fit) {
  tacit_event_t events[TACIT_NOISE_AWARE_N_EVENTS];
  size_t n = tacit_noise_aware_events(fit->family, cli_fit_aware_rho(fit), events), sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += (size_t)events[i].count;
  }
  return sum;
}

int cli_fit_aware_plan(cli_fit_t *fit) {
  tacit_sampler_settings_t *s = &fit->settings;
  tacit_error_t err;
  size_t n;
  s->n_warmup = s->n_warmup == TACIT_WARMUP_AUTO ? fit->aware.n_warmup : s->n_warmup;
  s->n_draws = s->n_draws > 0 ? s->n_draws : fit->aware.n_draws;
  if (tacit_curator_n_units(fit->curator, &n, &err) != TACIT_OK) {
    return cli_fail(fit->args, &err);
  }
  fit->aware.rho = cli_fit_aware_rho(fit);
  fit->aware.n_chains = s->n_chains;
  fit->aware.n_warmup = s->n_warmup;
  fit->aware.n_draws = s->n_draws;
  fit->aware.thin = s->thin;
  fit->settings.inv_metric = NULL;
  fit->plan.n_iterations = s->n_warmup + s->n_draws * s->thin;
  fit->plan.width = tacit_noise_aware_inflation(&fit->aware, tacit_design_n_features(fit->design), (double)n);
  cli_fit_forecast(fit);
  return CLI_OK;
}
