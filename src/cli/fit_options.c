#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/fit.h"

static int check_out(const cli_fit_t *fit) {
  const char *out = cli_value(fit->args, "out");
  struct stat info;
  if (cli_is_given(fit->args, "dry-run")) {
    return CLI_OK;
  }
  if (out == NULL || out[0] == '\0') {
    cli_error(fit->args, "say where the results go: --out DIR, a directory that does not exist yet");
    return CLI_USAGE;
  }
  if (lstat(out, &info) == 0) {
    cli_error(fit->args, "%s exists: choose another --out, or remove it", out);
    return CLI_FAILURE;
  }
  char *parent = tacit_strdup(out);
  if (parent == NULL) {
    cli_error(fit->args, "out of memory");
    return CLI_FAILURE;
  }
  size_t n = strlen(parent);
  while (n > 1 && parent[n - 1] == '/') {
    parent[--n] = '\0';
  }
  char *slash = strrchr(parent, '/');
  const char *folder = slash == NULL ? "." : slash == parent ? "/" : parent;
  if (slash != NULL && slash != parent) {
    *slash = '\0';
  }
  bool ok = stat(folder, &info) == 0 && S_ISDIR(info.st_mode) && access(folder, W_OK) == 0;
  if (!ok) {
    cli_error(fit->args, "cannot create %s: %s is not a directory one can write to", out, folder);
  }
  tacit_free(parent);
  return ok ? CLI_OK : CLI_FAILURE;
}

/* Where it applies, the method that a small budget goes furthest with. */
static const char *default_method(const cli_fit_t *fit) {
  bool is_aware = cli_fit_aware_is_default(fit) && cli_fit_chain_option(fit->args) == NULL;
  return is_aware ? "noise-aware" : "dp-hmc";
}

static int read_method(cli_fit_t *fit) {
  const char *name = cli_is_given(fit->args, "method") ? cli_value(fit->args, "method") : default_method(fit);
  fit->method = tacit_method_find(name);
  fit->is_exposed = cli_is_given(fit->args, "exposed");
  if (fit->method == NULL) {
    tacit_nearest_t nearest = {.name = name};
    for (size_t i = 0; tacit_method_get(i) != NULL; i++) {
      tacit_nearest_offer(&nearest, tacit_method_get(i)->name);
    }
    char hint[TACIT_HINT_SIZE];
    cli_error(fit->args, "unknown method '%s'%s; tacit methods lists them", name,
              tacit_nearest_hint(&nearest, hint));
    return CLI_USAGE;
  }
  if (!fit->method->is_private && !fit->is_exposed) {
    cli_error(fit->args, "method %s does not protect the records: say --exposed if that is meant, or use dp-hmc",
              name);
    return CLI_USAGE;
  }
  if (fit->method->is_private && fit->is_exposed) {
    cli_error(fit->args, "method %s is private and --exposed is not: use --method hmc for an exposed run", name);
    return CLI_USAGE;
  }
  return CLI_OK;
}

static int read_budget(cli_fit_t *fit) {
  const cli_args_t *args = fit->args;
  bool has_epsilon = cli_is_given(args, "epsilon"), has_delta = cli_is_given(args, "delta");
  if (fit->is_exposed && (has_epsilon || has_delta)) {
    cli_error(args, "an exposed run has no budget: leave out --%s, or choose a private method",
              has_epsilon ? "epsilon" : "delta");
    return CLI_USAGE;
  }
  if (!fit->is_exposed && (!has_epsilon || !has_delta)) {
    cli_error(args, "a private run needs a budget: --epsilon E --delta D (missing: --%s)",
              has_epsilon ? "delta" : "epsilon");
    return CLI_USAGE;
  }
  if (!cli_number(args, "epsilon", 0, 1e12, &fit->epsilon) || !cli_number(args, "delta", 0, 1, &fit->delta)) {
    return CLI_USAGE;
  }
  if (!fit->is_exposed && !(fit->epsilon > 0)) {
    cli_error(args, "option --epsilon must be above 0");
    return CLI_USAGE;
  }
  if (!fit->is_exposed && !(fit->delta > 0 && fit->delta < 1)) {
    cli_error(args, "option --delta must be above 0 and below 1");
    return CLI_USAGE;
  }
  return CLI_OK;
}

static bool read_proposal(cli_fit_t *fit) {
  const char *name = cli_value(fit->args, "proposal");
  static const char *const names[] = {"full", "one-component", "guided"};
  for (int i = 0; i < 3; i++) {
    if (strcmp(name, names[i]) == 0) {
      fit->settings.proposal = (tacit_proposal_t)i;
      return true;
    }
  }
  cli_error(fit->args, "option --proposal must be full, one-component or guided, not '%s'", name);
  return false;
}

/* The two tests of dp-barker-vcorr, and the variance that they are made for. */
static bool read_barker_test(cli_fit_t *fit) {
  const char *name = cli_value(fit->args, "acceptance");
  tacit_sampler_settings_t *s = &fit->settings;
  bool is_penalty = name != NULL && strcmp(name, "barker-penalty") == 0;
  if (name != NULL && !is_penalty && strcmp(name, "vcorr") != 0) {
    cli_error(fit->args, "option --acceptance of dp-barker-vcorr must be vcorr or barker-penalty, not '%s'", name);
    return false;
  }
  s->barker_test = is_penalty ? TACIT_BARKER_PENALTY : TACIT_BARKER_VCORR;
  if (!cli_number(fit->args, "variance", 1e-3, 1000, &s->ratio_variance)) {
    return false;
  }
  if (!is_penalty && s->ratio_variance > 0 && isnan(tacit_vcorr_error(s->ratio_variance))) {
    cli_error(fit->args, "option --variance must be 1, 1.25, 1.5, 1.75, 2, 2.25, 2.5 or 3, not %g; any number goes with "
                         "--acceptance barker-penalty", s->ratio_variance);
    return false;
  }
  return true;
}

static bool read_acceptance(cli_fit_t *fit) {
  static const struct {
    const char *name;
    bool is_bit;
    tacit_accept_kind_t kind;
  } rules[] = {{"penalty", false, TACIT_ACCEPT_PENALTY},
               {"penalty-bit", true, TACIT_ACCEPT_PENALTY},
               {"probit-bit", true, TACIT_ACCEPT_PROBIT},
               {"barker", true, TACIT_ACCEPT_BARKER},
               {"arcsine", true, TACIT_ACCEPT_ARCSINE}};
  const char *name = cli_value(fit->args, "acceptance");
  tacit_sampler_settings_t *s = &fit->settings;
  bool is_mala = strcmp(fit->method->name, "dp-mala") == 0;
  if (strcmp(fit->method->name, "dp-barker-vcorr") == 0) {
    return read_barker_test(fit);
  }
  if (cli_is_given(fit->args, "variance")) {
    cli_error(fit->args, "--variance only goes with --method dp-barker-vcorr");
    return false;
  }
  if (name == NULL) { /* the method's own */
    s->accept_rule.kind = is_mala ? TACIT_ACCEPT_PENALTY : TACIT_ACCEPT_BARKER;
  }
  bool is_found = name == NULL;
  for (size_t i = 0; !is_found && i < sizeof rules / sizeof rules[0]; i++) {
    if (strcmp(name, rules[i].name) == 0) {
      s->accept_bit = rules[i].is_bit;
      s->accept_rule.kind = rules[i].kind;
      is_found = true;
    }
  }
  if (!is_found) {
    cli_error(fit->args, "option --acceptance must be penalty, penalty-bit, probit-bit, barker or arcsine, not '%s'", name);
    return false;
  }
  tacit_accept_rule_t *rule = &s->accept_rule;
  return cli_number(fit->args, "sigma", 1e-6, 1e4, &rule->sigma) && cli_number(fit->args, "kappa", 0.05, 2, &rule->kappa) &&
         cli_number(fit->args, "cap", 1e-3, 0.999, &rule->cap);
}

static int read_sampler(cli_fit_t *fit) {
  const cli_args_t *args = fit->args;
  tacit_sampler_settings_t *s = &fit->settings;
  *s = tacit_sampler_settings_default();
  s->n_draws = 0; /* 0 and TACIT_WARMUP_AUTO: left to the plan */
  s->n_warmup = TACIT_WARMUP_AUTO;
  s->step_jitter = !cli_is_given(args, "no-jitter");
  s->reuse_gradient = !cli_is_given(args, "no-reuse");
  s->adapt = fit->is_exposed;
  bool ok = cli_count(args, "chains", 1, 1000, &s->n_chains) && cli_count(args, "draws", 1, 1e9, &s->n_draws) &&
            cli_count(args, "warmup", 0, 1e9, &s->n_warmup) && cli_count(args, "thin", 1, 1e9, &s->thin) &&
            cli_count(args, "leapfrog", 1, 1e6, &s->n_leapfrog) &&
            cli_number(args, "step-size", 1e-12, 1e12, &s->step_size) &&
            cli_number(args, "noise-grad", 1e-9, 1e8, &s->noise_multiplier_grad) &&
            cli_number(args, "noise-ratio", 1e-9, 1e8, &s->noise_multiplier_ratio) &&
            cli_number(args, "sampling-rate", 0x1p-32, 1, &s->sampling_rate) &&
            cli_number(args, "friction", 1e-6, 1e6, &s->friction) && cli_number(args, "step-decay", 0, 1, &s->step_decay) &&
            cli_number(args, "max-batch", 1, 1e18, &s->max_batch) && read_proposal(fit) && read_acceptance(fit);
  return ok ? CLI_OK : CLI_USAGE;
}

static int read_limits(cli_fit_t *fit) {
  const cli_args_t *args = fit->args;
  tacit_curator_settings_t *limits = &fit->limits;
  *limits = tacit_curator_settings_default();
  bool ok = cli_fit_tuning_options(fit) && cli_number(args, "temperature", 1e-9, 1, &limits->temperature_power) &&
            cli_count(args, "threads", 1, 1024, &limits->n_threads) &&
            cli_number(args, "sd", 1e-300, 1e300, &fit->known_sd) &&
            cli_number(args, "n-public", 1, 1e18, &fit->n_public) &&
            cli_count(args, "seed", 0, 9007199254740992.0, &fit->seed);
  fit->is_seeded = cli_is_given(args, "seed");
  if (ok && fit->known_sd > 0 && strcmp(cli_value(args, "family"), "gaussian") != 0) {
    cli_error(args, "--sd only goes with --family gaussian");
    return CLI_USAGE;
  }
  return ok ? CLI_OK : CLI_USAGE;
}

static int read_priors(cli_fit_t *fit) {
  const cli_args_t *args = fit->args;
  const char *scale = cli_value(args, "prior-scale");
  if (strcmp(scale, "scaled") != 0 && strcmp(scale, "original") != 0) {
    cli_error(args, "option --prior-scale must be scaled or original, not '%s'", scale);
    return CLI_USAGE;
  }
  fit->priors = tacit_alloc_zero(args->n_given, sizeof *fit->priors);
  if (fit->priors == NULL) {
    cli_error(args, "out of memory");
    return CLI_FAILURE;
  }
  for (size_t i = 0; i < args->n_given; i++) {
    tacit_error_t err;
    if (strcmp(args->given[i].option->name, "prior") != 0) {
      continue;
    }
    if (tacit_prior_parse(&fit->priors[fit->n_priors], args->given[i].value, &err) != TACIT_OK) {
      cli_error(args, "%s", err.message);
      return CLI_USAGE;
    }
    fit->n_priors++;
  }
  return CLI_OK;
}

static int check_required(const cli_fit_t *fit, const char *const *required, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (cli_value(fit->args, required[i]) == NULL) {
      cli_error(fit->args, "option --%s is needed; see tacit %s --help", required[i], fit->args->command->name);
      return CLI_USAGE;
    }
  }
  return CLI_OK;
}

static int read_family(cli_fit_t *fit) {
  tacit_error_t err;
  if (tacit_family_parse(&fit->family, cli_value(fit->args, "family"), &err) != TACIT_OK) {
    cli_error(fit->args, "%s", err.message);
    return CLI_USAGE;
  }
  return CLI_OK;
}

int cli_plan_options(cli_fit_t *fit, const cli_args_t *args) {
  static const char *const required[] = {"family", "schema", "n"};
  *fit = (cli_fit_t){.args = args, .epsilon = NAN, .delta = NAN};
  tacit_sampler_settings_t *s = &fit->settings;
  *s = tacit_sampler_settings_default();
  s->n_draws = 0;
  s->n_warmup = TACIT_WARMUP_AUTO;
  fit->limits = tacit_curator_settings_default();
  int status = check_required(fit, required, 3);
  if (status == CLI_OK) {
    status = read_family(fit);
  }
  if (status == CLI_OK) {
    status = read_budget(fit);
  }
  bool ok = status == CLI_OK && cli_number(args, "n", 1, 1e18, &fit->n_public) &&
            cli_count(args, "chains", 1, 1000, &s->n_chains) && cli_count(args, "draws", 1, 1e9, &s->n_draws) &&
            cli_fit_tuning_options(fit);
  return status != CLI_OK ? status : ok ? CLI_OK : CLI_USAGE;
}

int cli_fit_options(cli_fit_t *fit, const cli_args_t *args) {
  static const char *const required[] = {"family", "data", "schema"};
  *fit = (cli_fit_t){.args = args, .epsilon = NAN, .delta = NAN};
  if (check_required(fit, required, 3) != CLI_OK) {
    return CLI_USAGE;
  }
  int (*const steps[])(cli_fit_t *) = {read_family, read_method, read_budget, read_sampler, read_limits, read_priors,
                                      cli_fit_aware_options};
  for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
    int status = steps[i](fit);
    if (status != CLI_OK) {
      return status;
    }
  }
  return check_out(fit);
}
