/* Settings as a run needs them, checked against each other; each by itself was checked when it was given. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "fit/fit_internal.h"
#include "program/regression.h"

static tacit_status_t check_out(const tacit_fit_t *fit, tacit_error_t *err) {
  const char *out = tacit_fit_value(fit, "out");
  if (out != NULL && tacit_directory_is_unfinished(out)) {
    return tacit_error_set(err, TACIT_ERR_EXISTS, "out",
                           "%s exists, of a fit that did not end, or is at work: tacit refit %s draws from "
                           "what it released, and nothing more is spent; or choose another --out",
                           out, out);
  }
  return tacit_settings_check_out(&fit->given, true, err);
}

/* The method that a small budget goes furthest with; where it does not apply, tacit_fit_aware_prepare() takes
 * the other. */
static const char *default_method(tacit_fit_t *fit) {
  const char *setting = tacit_fit_chain_setting(fit);
  if (setting != NULL) {
    snprintf(fit->why_not_aware, sizeof fit->why_not_aware, "--%s is for methods that release at every step",
             setting);
  }
  return setting == NULL ? "noise-aware" : "dp-hmc";
}

static tacit_status_t read_method(tacit_fit_t *fit, tacit_error_t *err) {
  const char *name = tacit_fit_has(fit, "method") ? tacit_fit_value(fit, "method") : default_method(fit);
  fit->method = tacit_method_find(name);
  fit->is_exposed = tacit_fit_has(fit, "exposed");
  if (fit->method == NULL) {
    tacit_nearest_t nearest = {.name = name};
    for (size_t i = 0; tacit_method_get(i) != NULL; i++) {
      tacit_nearest_offer(&nearest, tacit_method_get(i)->name);
    }
    char hint[TACIT_HINT_SIZE];
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "method",
                           "unknown method '%s'%s; tacit methods lists them", name,
                           tacit_nearest_hint(&nearest, hint));
  }
  if (!fit->method->is_private && !fit->is_exposed) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "method",
        "method %s does not protect the records: say --exposed if that is meant, or use dp-hmc", name);
  }
  if (fit->method->is_private && fit->is_exposed) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "method",
                           "method %s is private and --exposed is not: use --method hmc for an exposed run",
                           name);
  }
  return TACIT_OK;
}

static tacit_status_t read_budget(tacit_fit_t *fit, tacit_error_t *err) {
  bool has_epsilon = tacit_fit_has(fit, "epsilon"), has_delta = tacit_fit_has(fit, "delta");
  if (fit->is_exposed && (has_epsilon || has_delta)) {
    const char *name = has_epsilon ? "epsilon" : "delta";
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, name,
                           "an exposed run has no budget: leave out --%s, or choose a private method", name);
  }
  if (!fit->is_exposed && (!has_epsilon || !has_delta)) {
    const char *name = has_epsilon ? "delta" : "epsilon";
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, name,
                           "a private run needs a budget: --epsilon E --delta D (missing: --%s)", name);
  }
  tacit_settings_number(&fit->given, "epsilon", &fit->epsilon);
  tacit_settings_number(&fit->given, "delta", &fit->delta);
  if (!fit->is_exposed && !(fit->delta > 0 && fit->delta < 1)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "delta", "option --delta must be above 0 and below 1");
  }
  return TACIT_OK;
}

/* The two tests of dp-barker-vcorr, and the variance that they are made for. */
static tacit_status_t read_barker_test(tacit_fit_t *fit, tacit_error_t *err) {
  const char *name = tacit_fit_value(fit, "acceptance");
  tacit_sampler_settings_t *s = &fit->settings;
  bool is_penalty = name != NULL && strcmp(name, "barker-penalty") == 0;
  if (name != NULL && !is_penalty && strcmp(name, "vcorr") != 0) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "acceptance",
                           "option --acceptance of dp-barker-vcorr must be vcorr or barker-penalty, not '%s'",
                           name);
  }
  s->barker_test = is_penalty ? TACIT_BARKER_PENALTY : TACIT_BARKER_VCORR;
  tacit_settings_number(&fit->given, "variance", &s->ratio_variance);
  if (!is_penalty && s->ratio_variance > 0 && isnan(tacit_vcorr_error(s->ratio_variance))) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "variance",
                           "option --variance must be 1, 1.25, 1.5, 1.75, 2, 2.25, 2.5 or 3, not %g; any "
                           "number goes with --acceptance barker-penalty",
                           s->ratio_variance);
  }
  return TACIT_OK;
}

static tacit_status_t read_acceptance(tacit_fit_t *fit, tacit_error_t *err) {
  static const struct {
    const char *name;
    bool is_bit;
    tacit_accept_kind_t kind;
  } rules[] = {{"penalty", false, TACIT_ACCEPT_PENALTY},
               {"penalty-bit", true, TACIT_ACCEPT_PENALTY},
               {"probit-bit", true, TACIT_ACCEPT_PROBIT},
               {"barker", true, TACIT_ACCEPT_BARKER},
               {"arcsine", true, TACIT_ACCEPT_ARCSINE}};
  const char *name = tacit_fit_value(fit, "acceptance");
  tacit_sampler_settings_t *s = &fit->settings;
  bool is_mala = strcmp(fit->method->name, "dp-mala") == 0;
  if (strcmp(fit->method->name, "dp-barker-vcorr") == 0) {
    return read_barker_test(fit, err);
  }
  if (tacit_fit_has(fit, "variance")) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "variance",
                           "--variance only goes with --method dp-barker-vcorr");
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
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "acceptance",
        "option --acceptance must be penalty, penalty-bit, probit-bit, barker or arcsine, not '%s'", name);
  }
  tacit_settings_number(&fit->given, "sigma", &s->accept_rule.sigma);
  tacit_settings_number(&fit->given, "kappa", &s->accept_rule.kappa);
  tacit_settings_number(&fit->given, "cap", &s->accept_rule.cap);
  return TACIT_OK;
}

/* What methods that are compared have too. */
static tacit_status_t read_chains(tacit_fit_t *fit, tacit_error_t *err) {
  (void)err;
  tacit_sampler_settings_t *s = &fit->settings;
  *s = tacit_sampler_settings_default();
  s->n_draws = 0; /* 0 and TACIT_WARMUP_AUTO: left to the plan */
  s->n_warmup = TACIT_WARMUP_AUTO;
  fit->limits = tacit_curator_settings_default();
  tacit_settings_count(&fit->given, "chains", &s->n_chains);
  tacit_settings_count(&fit->given, "draws", &s->n_draws);
  return TACIT_OK;
}

static tacit_status_t read_sampler(tacit_fit_t *fit, tacit_error_t *err) {
  const tacit_settings_t *given = &fit->given;
  tacit_sampler_settings_t *s = &fit->settings;
  s->step_jitter = !tacit_fit_has(fit, "no-jitter");
  s->reuse_gradient = !tacit_fit_has(fit, "no-reuse");
  s->adapt = fit->is_exposed;
  tacit_settings_count(given, "warmup", &s->n_warmup);
  tacit_settings_count(given, "thin", &s->thin);
  tacit_settings_count(given, "leapfrog", &s->n_leapfrog);
  tacit_settings_number(given, "step-size", &s->step_size);
  tacit_settings_number(given, "noise-grad", &s->noise_multiplier_grad);
  tacit_settings_number(given, "noise-ratio", &s->noise_multiplier_ratio);
  tacit_settings_number(given, "sampling-rate", &s->sampling_rate);
  tacit_settings_number(given, "friction", &s->friction);
  tacit_settings_number(given, "step-decay", &s->step_decay);
  tacit_settings_number(given, "max-batch", &s->max_batch);
  s->proposal = (tacit_proposal_t)tacit_settings_choice(given, "proposal");
  return read_acceptance(fit, err);
}

static tacit_status_t read_limits(tacit_fit_t *fit, tacit_error_t *err) {
  (void)err;
  const tacit_settings_t *given = &fit->given;
  tacit_settings_number(given, "temperature", &fit->limits.temperature_power);
  tacit_settings_count(given, "threads", &fit->limits.n_threads);
  tacit_settings_number(given, "n-public", &fit->n_public);
  tacit_settings_count(given, "seed", &fit->seed);
  fit->is_seeded = tacit_fit_has(fit, "seed");
  return TACIT_OK;
}

static tacit_status_t read_sd(tacit_fit_t *fit, tacit_error_t *err) {
  tacit_settings_number(&fit->given, "sd", &fit->known_sd);
  if (fit->known_sd > 0 && fit->family != TACIT_FAMILY_GAUSSIAN) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "sd", "--sd only goes with --family gaussian");
  }
  return TACIT_OK;
}

static tacit_status_t read_priors(tacit_fit_t *fit, tacit_error_t *err) {
  fit->priors = tacit_alloc_zero(fit->given.n_given, sizeof *fit->priors);
  if (fit->priors == NULL) {
    return tacit_error_memory(err);
  }
  const char *text;
  for (size_t i = 0; (text = tacit_settings_next(&fit->given, "prior", &i)) != NULL;) {
    tacit_error_t why;
    tacit_status_t status = tacit_prior_parse(&fit->priors[fit->n_priors], text, &why);
    if (status != TACIT_OK) {
      return tacit_error_set(err, status == TACIT_ERR_MEMORY ? status : TACIT_ERR_ARGUMENT, "prior", "%s",
                             why.message);
    }
    fit->n_priors++;
  }
  return TACIT_OK;
}

static tacit_status_t read_family(tacit_fit_t *fit, tacit_error_t *err) {
  const char *name = tacit_fit_value(fit, "family");
  tacit_error_t why;
  tacit_status_t status = tacit_fit_check_program(fit, err);
  if (status != TACIT_OK || tacit_fit_is_program(fit)) {
    fit->family =
        TACIT_FAMILY_POISSON; /* as of a family without bounds of its own: nothing is taken from it */
    return status;
  }
  if (name == NULL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "family",
                           "option --family is needed, what the response is: bernoulli (0 or 1), gaussian (a "
                           "number), poisson (a count), ...; tacit model families lists all");
  }
  if (tacit_family_parse(&fit->family, name, &why) != TACIT_OK) {
    char hint[TACIT_HINT_SIZE];
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "family",
                           "unknown family '%.64s'%s; tacit model families lists them", name,
                           tacit_program_family_hint(name, hint));
  }
  return TACIT_OK;
}

typedef tacit_status_t step_fn(tacit_fit_t *fit, tacit_error_t *err);

static tacit_status_t take(step_fn *const *steps, size_t n, tacit_fit_t *fit, tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  fit->epsilon = fit->delta = NAN;
  for (size_t i = 0; i < n && status == TACIT_OK; i++) {
    status = steps[i](fit, err);
  }
  return status;
}

tacit_status_t tacit_fit_read_common_settings(tacit_fit_t *fit, tacit_error_t *err) {
  static step_fn *const steps[] = {read_family,           read_budget, read_chains,
                                   tacit_fit_read_tuning, read_sd,     read_priors};
  return take(steps, sizeof steps / sizeof steps[0], fit, err);
}

tacit_status_t tacit_fit_read_settings(tacit_fit_t *fit, tacit_error_t *err) {
  static step_fn *const steps[] = {read_family,           read_method, read_budget, read_chains, read_sampler,
                                   tacit_fit_read_tuning, read_limits, read_sd,     read_priors};
  tacit_status_t status = take(steps, sizeof steps / sizeof steps[0], fit, err);
  TACIT_THEN(status, tacit_fit_aware_check(fit, err));
  return status == TACIT_OK ? check_out(fit, err) : status;
}
