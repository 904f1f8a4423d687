/* What `tacit fit --method noise-aware` takes and refuses, and its plan. */
#include <math.h>
#include <stdio.h>

#include "cli/fit.h"

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
    cli_error(fit->args, "method noise-aware is for family bernoulli, gaussian or poisson; for %s use --method dp-hmc or dp-penalty",
              tacit_family_string(fit->family));
    return CLI_USAGE;
  }
  const char *name = cli_fit_chain_option(fit->args);
  if (name != NULL) {
    cli_error(fit->args, "--%s is for methods that release at every step; leave it out, or use --method dp-hmc or "
                         "dp-penalty", name);
  }
  return name != NULL ? CLI_USAGE : CLI_OK;
}

enum { MAX_OBSTACLE = 256 };

/* Why schema and formula do not suit the method, into `text`; false if they do. */
static bool find_obstacle(const cli_fit_t *fit, double upper, char text[MAX_OBSTACLE]) {
  size_t d = tacit_design_n_features(fit->design);
  if (tacit_schema_relation(fit->schema) != TACIT_RELATION_SUBSTITUTE) {
    snprintf(text, MAX_OBSTACLE, "method noise-aware uses the number of rows, which relation add-remove keeps private: use "
                                 "relation substitute, or --method dp-hmc or dp-penalty");
  } else if (tacit_schema_unit(fit->schema) != NULL) {
    snprintf(text, MAX_OBSTACLE, "method noise-aware protects one row, not all rows of a unit as the schema asks: use "
                                 "--method dp-hmc or dp-penalty");
  } else if (!tacit_design_has_intercept(fit->design)) {
    snprintf(text, MAX_OBSTACLE, "method noise-aware needs an intercept: leave out '+ 0' or '- 1'");
  } else if (d > TACIT_NOISE_AWARE_MAX_FEATURES) {
    snprintf(text, MAX_OBSTACLE, "the formula has %zu features, the intercept included; method noise-aware takes at most %d",
             d, (int)TACIT_NOISE_AWARE_MAX_FEATURES);
  } else if (fit->family != TACIT_FAMILY_GAUSSIAN && !tacit_family_has_moments(fit->family, upper)) {
    snprintf(text, MAX_OBSTACLE, "method noise-aware needs an upper bound of the response between 1 and %d, and noise grows "
                                 "with it; the schema says %g",
             (int)TACIT_FAMILY_MAX_COUNT, upper);
  } else {
    return false;
  }
  return true;
}

int cli_fit_aware_prepare(cli_fit_t *fit) {
  double lower, upper;
  char text[MAX_OBSTACLE];
  if (fit->method == NULL || !fit->method->is_one_off) { /* tacit plan names none */
    return CLI_OK;
  }
  tacit_design_response_range(fit->design, &lower, &upper);
  if (find_obstacle(fit, upper, text)) {
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
  fit->aware = tacit_noise_aware_settings_default();
  fit->aware.family = fit->family;
  fit->aware.upper = upper;
  fit->aware.known_sd = fit->known_sd > 0 ? 2 * fit->known_sd / (upper - lower) : 0; /* the response is mapped to [-1, 1] */
  fit->aware.is_two_valued = fit->is_two_valued;
  return CLI_OK;
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
  fit->aware.rho = tacit_budget_rho(fit->budget) * (1 - 1e-9); /* less what rounding of six charges could add */
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
