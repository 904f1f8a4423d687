/* What each method would make of a budget, before a record is read. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "fit/fit_internal.h"

/* A method with one of its acceptance rules. */
typedef struct rule {
  const char *method, *acceptance;
  bool is_bit;
  tacit_accept_kind_t kind;
} rule_t;

static const rule_t rules[TACIT_FIT_N_CHOICES] = {{"noise-aware", "-", false, TACIT_ACCEPT_BARKER},
                                                  {"dp-mala", "penalty-bit", true, TACIT_ACCEPT_PENALTY},
                                                  {"dp-sgld", "-", false, TACIT_ACCEPT_BARKER},
                                                  {"dp-sghmc", "-", false, TACIT_ACCEPT_BARKER},
                                                  {"dp-sgnht", "-", false, TACIT_ACCEPT_BARKER},
                                                  {"dp-penalty", "arcsine", true, TACIT_ACCEPT_ARCSINE},
                                                  {"dp-penalty", "penalty-bit", true, TACIT_ACCEPT_PENALTY},
                                                  {"dp-penalty", "penalty", false, TACIT_ACCEPT_BARKER},
                                                  {"dp-barker", "barker", true, TACIT_ACCEPT_BARKER},
                                                  {"dp-barker-vcorr", "vcorr", false, TACIT_ACCEPT_BARKER},
                                                  {"dp-fast-mh", "barker", true, TACIT_ACCEPT_BARKER},
                                                  {"dp-hmc", "penalty", false, TACIT_ACCEPT_BARKER}};

/* Its width counts as no worse than a chain's up to this factor: it leaves quantiles free of Monte Carlo
 * error. */
static const double aware_slack = 1.1;
/* Chains worth fewer draws are not recommended. */
static const double ess_least = 4;

static const tacit_method_t *method_of(size_t i) { return tacit_method_find(rules[i].method); }

static void set_reason(tacit_fit_choice_t *choice, tacit_status_t status, const char *reason) {
  choice->status = status;
  snprintf(choice->reason, sizeof choice->reason, "%s", reason);
}

/* Of the method that releases a few sums once; its draws cost nothing, and are as many as are asked for. */
static void plan_aware(const tacit_fit_t *fit, tacit_fit_choice_t *choice) {
  char obstacle[TACIT_FIT_OBSTACLE_SIZE];
  choice->step_size = choice->penalty_sd = choice->grad_noise = choice->ess = choice->ess_wide =
      choice->width_poor = NAN;
  if (tacit_fit_aware_obstacle(fit, obstacle)) {
    set_reason(choice, TACIT_ERR_ARGUMENT, obstacle);
    return;
  }
  tacit_noise_aware_settings_t settings = tacit_fit_aware_settings(fit);
  settings.rho = tacit_fit_aware_rho(fit);
  choice->n_iterations = tacit_fit_aware_n_releases(fit);
  choice->width = tacit_noise_aware_inflation(&settings, tacit_fit_aware_dim(fit), fit->n_public);
  choice->width_poor = tacit_noise_aware_inflation_poor(&settings, tacit_fit_aware_dim(fit), fit->n_public);
  tacit_error_t refused;
  tacit_status_t status = tacit_noise_aware_check_budget(&settings, &refused);
  if (status != TACIT_OK) {
    set_reason(choice, status, refused.message);
    return;
  }
  tacit_text_t untold = {0};
  tacit_fit_put_untold(fit, &settings, fit->n_public, &untold);
  if (untold.length > 0) {
    untold.data[untold.length - 1] = '\0'; /* its newline */
    snprintf(choice->reason, sizeof choice->reason, "refused: %s", untold.data);
    choice->status = TACIT_ERR_BUDGET;
  }
  choice->status = untold.failed ? TACIT_ERR_MEMORY : choice->status;
  tacit_text_clear(&untold);
}

static void plan_chains(tacit_fit_t *fit, const rule_t *rule, const tacit_method_t *method,
                        tacit_fit_choice_t *choice) {
  tacit_plan_request_t request = {.curator = fit->curator,
                                  .parameters = &fit->model.parameters,
                                  .n_units = fit->n_public,
                                  .rho = tacit_budget_rho(fit->budget),
                                  .epsilon = fit->epsilon,
                                  .delta = fit->delta,
                                  .relation = tacit_schema_relation(fit->schema),
                                  .is_quick = true};
  tacit_sampler_settings_t settings = fit->settings;
  tacit_plan_t plan;
  tacit_error_t err;
  if (tacit_fit_check_unit(fit, method, &err) != TACIT_OK) {
    set_reason(choice, TACIT_ERR_ARGUMENT, "goes by records, and here a person has several");
    return;
  }
  settings.accept_bit = rule->is_bit;
  settings.accept_rule.kind = rule->kind;
  settings.inv_metric = NULL;
  settings.n_init_steps = TACIT_FIT_START_STEPS;
  tacit_status_t status = tacit_plan(method, &request, &settings, fit->inv_metric, &plan, &err);
  if (status != TACIT_OK) {
    set_reason(choice, status, status == TACIT_ERR_BUDGET ? "not one draw of each chain" : err.message);
    return;
  }
  choice->n_iterations = plan.n_iterations;
  choice->step_size = settings.step_size;
  choice->penalty_sd = plan.penalty_sd;
  choice->grad_noise = plan.grad_noise;
  choice->ess = plan.ess;
  choice->ess_wide = plan.ess_wide;
  choice->width = plan.width;
}

/* The chain of releases with the smallest width, or TACIT_FIT_N_CHOICES. */
static size_t best_chain(const tacit_fit_choice_t *choices, bool must_be_exact) {
  size_t best = TACIT_FIT_N_CHOICES;
  for (size_t i = 0; i < TACIT_FIT_N_CHOICES; i++) {
    bool is_one = choices[i].status == TACIT_OK && !method_of(i)->is_one_off &&
                  (method_of(i)->is_exact || !must_be_exact);
    best = is_one && (best == TACIT_FIT_N_CHOICES || choices[i].width < choices[best].width) ? i : best;
  }
  return best;
}

/* Where its intervals are not mostly the prior's, and no chain does better that has draws enough for
 * intervals. */
static bool prefers_aware(const tacit_fit_choice_t *aware, const tacit_fit_choice_t *chain) {
  bool is_usable = aware->status == TACIT_OK && aware->width <= TACIT_FIT_INFLATION_MUCH;
  return is_usable &&
         (chain == NULL || chain->ess < TACIT_FIT_ESS_HARDLY || aware->width <= aware_slack * chain->width);
}

static void advise(const tacit_fit_t *fit, const tacit_fit_choice_t *choices, tacit_text_t *to) {
  size_t aware = 0, chain = best_chain(choices, false), exact = best_chain(choices, true);
  while (!method_of(aware)->is_one_off) {
    aware++;
  }
  tacit_noise_aware_settings_t settings = {.family = TACIT_FAMILY_GAUSSIAN};
  if (choices[aware].status == TACIT_OK) {
    settings = tacit_fit_aware_settings(fit);
    settings.rho = tacit_fit_aware_rho(fit);
  }
  bool is_aware = prefers_aware(&choices[aware], chain < TACIT_FIT_N_CHOICES ? &choices[chain] : NULL);
  bool is_refused = choices[aware].status == TACIT_ERR_BUDGET;
  bool is_default = (choices[aware].status == TACIT_OK || is_refused) && tacit_fit_aware_is_default(fit);
  size_t best = is_aware ? aware : chain;
  if (!is_aware && (chain == TACIT_FIT_N_CHOICES || choices[chain].ess < ess_least)) {
    tacit_text_printf(to,
                      "None of these will do: at this budget %s is worth fewer than four independent draws",
                      choices[aware].status == TACIT_OK ? "the best chain" : "the best of them");
    if (choices[aware].status == TACIT_OK) {
      tacit_text_printf(to,
                        ", and noise-aware's intervals are at least %.2g times as wide as without privacy",
                        choices[aware].width);
    }
    tacit_text_printf(
        to,
        ". A larger epsilon, more records, fewer coefficients or tighter bounds in the schema would help.\n");
    tacit_fit_put_costly_bound(&settings, "Note: ", to);
    return;
  }
  bool has_rules = strcmp(rules[best].method, "dp-penalty") == 0;
  tacit_text_printf(to, "Recommended: --method %s%s%s%s\n", rules[best].method,
                    has_rules ? " --acceptance " : "", has_rules ? rules[best].acceptance : "",
                    is_aware && is_default ? ", which tacit fit takes by itself" : "");
  if (is_aware && tacit_fit_chain_setting(fit) != NULL) {
    tacit_text_printf(to, "It goes without --%s.\n", tacit_fit_chain_setting(fit));
  } else if (!is_aware && is_default && is_refused) {
    tacit_text_printf(to, "Say so: tacit fit takes noise-aware by itself, and refuses this.\n");
  } else if (!is_aware && is_default) {
    tacit_text_printf(to,
                      "Say so: tacit fit takes noise-aware by itself, which is forecast to be %.3g times as "
                      "wide as without privacy.\n",
                      choices[aware].width);
  }
  if (is_aware) {
    tacit_fit_put_poor(fit, &settings, fit->n_public, to);
  }
  if (!method_of(best)->is_exact && exact < TACIT_FIT_N_CHOICES) {
    tacit_text_printf(to, "It approximates; the best of the exact ones is %s (%s), worth %.3g draws.\n",
                      rules[exact].method, rules[exact].acceptance, choices[exact].ess);
  }
}

static tacit_status_t open_all(tacit_fit_t *fit, double n_units, tacit_error_t *err) {
  tacit_status_t status = tacit_fit_read_common_settings(fit, err);
  fit->n_public = n_units;
  TACIT_THEN(status, tacit_fit_prepare(fit, err));
  if (status == TACIT_OK) {
    fit->inv_metric = tacit_alloc_zero(fit->model.parameters.dim, sizeof *fit->inv_metric);
    status = fit->inv_metric != NULL ? tacit_fit_open_blank(fit, err) : tacit_error_memory(err);
  }
  return status;
}

/* A formula of groups that noise-aware takes is a regression to it and a program to chains, one of
 * categorical outcomes the other way round; *own NULL: it is the same model to all. */
static tacit_status_t open_own(const tacit_fit_t *fit, double n_units, tacit_fit_t **own,
                               tacit_error_t *err) {
  tacit_error_t why_not;
  *own = NULL;
  const char *family = tacit_fit_value(fit, "family");
  bool is_categorical = family != NULL && strcmp(family, "categorical") == 0;
  if (fit->formula == NULL || (strchr(fit->formula, '|') == NULL && !is_categorical)) {
    return TACIT_OK;
  }
  tacit_status_t status = tacit_fit_copy_settings(own, fit, err);
  TACIT_THEN(status, tacit_fit_read_common_settings(*own, err));
  if (status != TACIT_OK) {
    return status;
  }
  (*own)->method = tacit_method_find("noise-aware");
  (*own)->n_public = n_units;
  if (tacit_fit_prepare(*own, &why_not) != TACIT_OK || ((*own)->effects == NULL && (*own)->program == NULL)) {
    tacit_fit_free(*own);
    *own = NULL;
  }
  return TACIT_OK;
}

tacit_status_t tacit_fit_compare(tacit_fit_t *fit, double n_units,
                                 tacit_fit_choice_t choices[TACIT_FIT_N_CHOICES], tacit_error_t *err) {
  tacit_fit_t *copy = NULL, *own = NULL;
  tacit_text_t *advice = &fit->texts[TACIT_FIT_TEXT_ADVICE];
  memset(choices, 0, TACIT_FIT_N_CHOICES * sizeof *choices);
  tacit_status_t status = tacit_fit_check_number(n_units, err);
  TACIT_THEN(status, tacit_fit_copy_settings(&copy, fit, err));
  TACIT_THEN(status, open_all(copy, n_units, err));
  TACIT_THEN(status, open_own(fit, n_units, &own, err));
  const tacit_fit_t *aware = own != NULL ? own : copy;
  for (size_t i = 0; i < TACIT_FIT_N_CHOICES && status == TACIT_OK; i++) {
    const tacit_method_t *method = method_of(i);
    choices[i].method = rules[i].method;
    choices[i].acceptance = rules[i].acceptance;
    if (method->is_one_off) {
      plan_aware(aware, &choices[i]);
    } else {
      plan_chains(copy, &rules[i], method, &choices[i]);
    }
    status = choices[i].status == TACIT_ERR_MEMORY ? tacit_error_memory(err) : TACIT_OK;
  }
  if (status == TACIT_OK) {
    tacit_text_clear(advice);
    advise(aware, choices, advice);
    status = advice->failed ? tacit_error_memory(err) : TACIT_OK;
  }
  tacit_fit_free(own);
  tacit_fit_free(copy);
  return status;
}
