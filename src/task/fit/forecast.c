/* What is said of a plan before anything is spent. Everything here is computed from public facts. */
#include <math.h>

#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "diagnose/diagnose.h"
#include "fit/fit_internal.h"
#include "report/doubt.h"

/* What tacit diagnose calls a problem afterwards, besides few effective draws. */
enum { draws_few = 50 };
/* Noise in the log acceptance ratio at which nearly everything is rejected. */
static const double penalty_sd_much = 4;
/* tacit_noise_aware_scale_doubt() above which most fits end with a problem, mostly `scale-unknown`:
 * docs/theory.md, 18.10. */
static const double scale_doubt_much = 1;

/* Forecast of `bent` from which on a plan speaks of it. */
static const double bend_near = 0.1;
/* Budgets that a plan looks for: up to so many times what was said, and how finely. */
static const double most_times = 16;
enum { n_halvings = 3 };

static bool has_dubious_budget(const tacit_fit_t *fit) {
  return !fit->is_exposed && tacit_budget_is_dubious(fit->epsilon, fit->delta, fit->n_planned);
}

const char *tacit_fit_scale_untold(const tacit_fit_t *fit, const tacit_noise_aware_settings_t *settings,
                                   double n_units) {
  size_t d = tacit_fit_aware_dim(fit);
  if (fit->design == NULL || tacit_noise_aware_scale_doubt(settings, d, n_units) <= scale_doubt_much) {
    return NULL;
  }
  for (size_t j = 1; j < d; j++) {
    tacit_prior_view_t view;
    bool has_prior = tacit_parameters_prior(&fit->model.parameters, j, &view);
    if (!tacit_design_is_two_valued(fit->design, j) &&
        !(has_prior && view.source.basis == TACIT_PRIOR_BASIS_TYPICAL)) {
      return tacit_design_label(fit->design, j);
    }
  }
  return NULL;
}

double tacit_fit_bend(const tacit_fit_t *fit, const tacit_noise_aware_settings_t *settings, double n_units) {
  double bend = 0;
  bool is_told = fit->design == NULL && settings->program_noise > 0 && n_units > 0 &&
                 tacit_noise_aware_bend(settings, &fit->model.parameters, n_units, &bend, NULL) == TACIT_OK;
  return is_told ? bend : 0;
}

bool tacit_fit_is_bent(double bend) { return bend > tacit_check_info(TACIT_CHECK_BENT)->threshold; }

/* The least epsilon, up to most_times as much, at which a program's fit is not forecast to be bent; INFINITY:
 * none. */
static double straight_epsilon(const tacit_fit_t *fit, tacit_noise_aware_settings_t settings,
                               double n_units) {
  double low = log(fit->epsilon), high = low + log(most_times);
  for (int i = 0; i <= n_halvings; i++) {
    double tried = i == 0 ? high : 0.5 * (low + high);
    settings.rho = tacit_gaussian_rho(exp(tried), log(fit->delta)) * TACIT_PLANNED_SHARE;
    bool is_bent = tacit_fit_is_bent(tacit_fit_bend(fit, &settings, n_units));
    if (i == 0 && is_bent) {
      return INFINITY;
    }
    *(is_bent ? &low : &high) = tried;
  }
  return exp(high);
}

static void put_bent(const tacit_fit_t *fit, const tacit_noise_aware_settings_t *settings, double n_units,
                     double bend, tacit_text_t *to) {
  double epsilon = straight_epsilon(fit, *settings, n_units);
  tacit_text_printf(
      to,
      "not at this budget: at the prior's centre %.0f records do not tell this program's parameters apart "
      "well enough (bent %.2g, at most %g), and the fit is likely to end with a problem and no intervals; ",
      n_units, bend, tacit_check_info(TACIT_CHECK_BENT)->threshold);
  tacit_text_printf(to,
                    isfinite(epsilon) ? "epsilon %.2g would do, or more records" : "more records would do",
                    tacit_number_round_up(epsilon));
  tacit_text_printf(
      to, ", or priors centred where parameters are likely (tacit model write, then tacit fit FILE.stan)\n");
}

void tacit_fit_put_untold(const tacit_fit_t *fit, const tacit_noise_aware_settings_t *settings,
                          double n_units, tacit_text_t *to) {
  double bend = tacit_fit_bend(fit, settings, n_units);
  if (tacit_fit_is_bent(bend)) {
    put_bent(fit, settings, n_units, bend, to);
  }
  const char *label = tacit_fit_scale_untold(fit, settings, n_units);
  size_t d = tacit_fit_aware_dim(fit);
  if (label != NULL) {
    double epsilon = tacit_fit_epsilon_for(tacit_noise_aware_scale_doubt, *settings, d, n_units, fit->delta,
                                           scale_doubt_much);
    tacit_text_printf(to,
                      "not at this budget: unless its values fill more than a quarter of their bounds, what "
                      "is released is likely not to tell the scale of '%s', and the fit then ends with a "
                      "problem; epsilon %.2g would do, or `typical: [low, high]` in the schema\n",
                      label, tacit_number_round_up(epsilon));
  }
}

static tacit_fit_verdict_t judge_plan(const tacit_fit_t *fit) {
  if (fit->is_exposed) {
    return TACIT_FIT_GOOD;
  }
  if (fit->method->is_one_off) {
    if (tacit_fit_is_bent(fit->bend) || tacit_fit_scale_untold(fit, &fit->aware, fit->n_planned) != NULL) {
      return TACIT_FIT_HOPELESS;
    }
    bool is_wide = fit->plan.width > TACIT_FIT_INFLATION_MUCH || tacit_noise_aware_is_noisy(&fit->aware);
    return is_wide ? TACIT_FIT_POOR : TACIT_FIT_GOOD;
  }
  if (fit->plan.ess < 1) {
    return TACIT_FIT_HOPELESS;
  }
  bool is_poor = fit->plan.ess < TACIT_FIT_ESS_HARDLY || fit->settings.n_draws < draws_few ||
                 fit->plan.penalty_sd > penalty_sd_much;
  return is_poor ? TACIT_FIT_POOR : TACIT_FIT_GOOD;
}

static tacit_fit_verdict_t judge(const tacit_fit_t *fit) {
  tacit_fit_verdict_t verdict = judge_plan(fit);
  return verdict == TACIT_FIT_GOOD && has_dubious_budget(fit) ? TACIT_FIT_POOR : verdict;
}

static const char *plural(size_t n) { return n == 1 ? "" : "s"; }

static void put_chains(const tacit_fit_t *fit, tacit_text_t *to) {
  const tacit_sampler_settings_t *s = &fit->settings;
  tacit_text_printf(to,
                    "plan: %s, %zu chain%s of %zu iterations (%zu warm-up, %zu draws kept), step size %.3g",
                    fit->method->name, s->n_chains, plural(s->n_chains), fit->plan.n_iterations, s->n_warmup,
                    s->n_draws, s->step_size);
  if (!isnan(fit->plan.grad_noise_sd)) {
    tacit_text_printf(to, "; noise multiplier of gradients %.4g", s->noise_multiplier_grad);
  }
  if (!isnan(fit->plan.penalty_sd)) {
    tacit_text_printf(to, "; of ratios %.4g", s->noise_multiplier_ratio);
  }
  if (!fit->is_exposed) {
    bool is_scheduled = tacit_budget_is_scheduled(fit->budget);
    tacit_text_printf(to, "; epsilon %.4g",
                      is_scheduled ? tacit_budget_planned(fit->budget).epsilon : fit->plan.epsilon);
  }
  tacit_text_printf(to, "\n");
  if (fit->why_not_aware[0] != '\0') {
    tacit_text_printf(to, "plan: not noise-aware: %s\n", fit->why_not_aware);
  }
}

static void put_worth(const tacit_plan_t *plan, tacit_text_t *to) {
  tacit_text_printf(to,
                    "plan: forecast: all chains are worth about %.2g independent draws, posterior means %.3g "
                    "times as uncertain as the exact ones",
                    plan->ess, plan->width);
  if (plan->ess_wide < plan->ess) {
    tacit_text_printf(
        to, ", if the posterior is as wide as the schema suggests; %.2g draws, if three times as wide",
        plan->ess_wide);
  }
  tacit_text_printf(to, "\n");
  if (!isnan(plan->penalty_sd) || !isnan(plan->grad_noise)) {
    tacit_text_printf(to, "plan: forecast: noise of a step:");
    if (!isnan(plan->penalty_sd)) {
      tacit_text_printf(to, " about %.2g in its log acceptance ratio (1 to 2 is efficient)",
                        plan->penalty_sd);
    }
    if (!isnan(plan->grad_noise)) {
      tacit_text_printf(to, "%s %.2g times a gradient one posterior sd from the mode",
                        isnan(plan->penalty_sd) ? "" : ",", plan->grad_noise);
    }
    tacit_text_printf(to, "\n");
  }
}

void tacit_fit_put_poor(const tacit_fit_t *fit, const tacit_noise_aware_settings_t *settings, double n_units,
                        tacit_text_t *to) {
  size_t d = tacit_fit_aware_dim(fit), n_two_valued = 0;
  if (fit->design == NULL) {
    tacit_text_printf(
        to,
        "plan: forecast of noise-aware: simulated at the prior's centre with columns that fill their bounds; "
        "where columns fill a small part of them, or parameters are elsewhere, it is less sure\n");
    double hidden = tacit_noise_aware_hidden(settings);
    if (hidden >= 1) {
      tacit_text_printf(to,
                        "plan: not seen at this budget: up to about %.2g wrong %s (typed wrongly, codes at a "
                        "bound), %.2g %% of them; the answer would be as if they were not there\n",
                        hidden, settings->max_rows > 1 ? "persons" : "records", 100 * hidden / n_units);
    }
    double bend = tacit_fit_bend(fit, settings, n_units);
    if (bend > bend_near && !tacit_fit_is_bent(bend)) {
      tacit_text_printf(to,
                        "plan: forecast of noise-aware: bent %.2g there, at most %g: where records tell "
                        "parameters apart less than there (degrees of freedom, of nearly normal errors) the "
                        "fit ends with a problem and no intervals\n",
                        bend, tacit_check_info(TACIT_CHECK_BENT)->threshold);
    }
    return;
  }
  for (size_t j = 1; j < d; j++) {
    n_two_valued += tacit_design_is_two_valued(fit->design, j);
  }
  const char *const assumed[] = {n_two_valued > 0 ? "a two-valued feature has 2 % in its rarer level" : NULL,
                                 n_two_valued + 1 < d ? "a feature fills a tenth of its bounds" : NULL};
  double poor = tacit_noise_aware_inflation_poor(settings, d, n_units);
  if (poor < 1.05) {
    return;
  }
  if (fit->family == TACIT_FAMILY_GAUSSIAN) {
    tacit_text_printf(
        to,
        "plan: forecast of noise-aware: that is the least; about %.*f times is usual, and more where columns "
        "fill a small part of their bounds or rows and residuals have heavy tails\n",
        poor < 10, poor);
    return;
  }
  const char *before = " if ";
  tacit_text_printf(to,
                    "plan: forecast of noise-aware: that is the least, of columns that fill their bounds; "
                    "some up to about %.*f times",
                    poor < 10, poor);
  for (size_t i = 0; i < sizeof assumed / sizeof assumed[0]; i++) {
    if (assumed[i] != NULL) {
      tacit_text_printf(to, "%s%s", before, assumed[i]);
      before = i == 0 && assumed[1] != NULL ? " or " : ", and ";
    }
  }
  tacit_text_printf(to, "%s\n", before[1] == 'i' ? "" : "; the schema leaves that open");
}

static void put_aware(const tacit_fit_t *fit, tacit_text_t *to) {
  const tacit_sampler_settings_t *s = &fit->settings;
  size_t n_releases = tacit_fit_aware_n_releases(fit);
  tacit_text_printf(to,
                    "plan: noise-aware, %zu release%s, then %zu chain%s of %zu iterations (%zu warm-up, %zu "
                    "draws kept) on them; ",
                    n_releases, plural(n_releases), s->n_chains, plural(s->n_chains), fit->plan.n_iterations,
                    s->n_warmup, s->n_draws);
  if (fit->plan.width < 1.005) {
    tacit_text_printf(to, "standard deviations may come near the non-private ones\n");
  } else {
    tacit_text_printf(to, "standard deviations at least about %.3g times the non-private ones\n",
                      fit->plan.width);
  }
  tacit_fit_put_poor(fit, &fit->aware, fit->n_planned, to);
  bool is_released = fit->design != NULL && fit->n_priors == 0 &&
                     strcmp(tacit_fit_value(fit, "prior-basis"), "released") == 0;
  if (is_released && fit->family == TACIT_FAMILY_GAUSSIAN) {
    tacit_text_printf(
        to, "plan: prior: student_t(3, 0, 0.2 to 1.25) sds of the response for one sd of a feature, "
            "Intercept student_t(3, 0, 2.5) sds around its mean at the features' means, sigma "
            "half student_t(3, 0, 2.5) sds; set after the releases\n");
  } else if (is_released) {
    tacit_text_printf(to, "plan: prior: student_t(7, 0, 1.25) for one sd of a feature, set after the second "
                          "release; Intercept student_t(7, 0, 1.5) at the features' means\n");
  }
}

void tacit_fit_put_costly_bound(const tacit_noise_aware_settings_t *settings, const char *before,
                                tacit_text_t *to) {
  if (settings->family == TACIT_FAMILY_POISSON && settings->records == NULL) {
    tacit_text_printf(to,
                      "%swidths of family poisson grow with the upper bound of the response (%g here); "
                      "family negbinomial does not pay for it\n",
                      before, settings->upper);
  }
}

static void put_warnings(const tacit_fit_t *fit, tacit_text_t *to) {
  const tacit_sampler_settings_t *s = &fit->settings;
  if (!fit->is_exposed) {
    tacit_budget_put_doubts(to, fit->epsilon, fit->delta, fit->n_planned);
  }
  if (judge_plan(fit) == TACIT_FIT_GOOD) {
    return;
  }
  if (fit->method->is_one_off) {
    if (tacit_noise_aware_is_noisy(&fit->aware)) {
      tacit_text_printf(to, "warning: with so small a budget for so few rows intervals will be many times as "
                            "wide as without privacy\n");
    } else if (fit->plan.width > TACIT_FIT_INFLATION_MUCH) {
      tacit_text_printf(to,
                        "warning: with so small a budget for so few rows intervals will be at least %.2g "
                        "times as wide as without privacy\n",
                        fit->plan.width);
      tacit_fit_put_costly_bound(&fit->aware, "warning: ", to);
    }
    if (tacit_fit_is_bent(fit->bend) || tacit_fit_scale_untold(fit, &fit->aware, fit->n_planned) != NULL) {
      tacit_text_printf(to, "warning: ");
      tacit_fit_put_untold(fit, &fit->aware, fit->n_planned, to);
    }
    return;
  }
  if (fit->plan.penalty_sd > penalty_sd_much) {
    tacit_text_printf(to, "warning: with so much noise almost every proposal will be rejected: fewer "
                          "--draws, fewer --chains or a larger budget would help\n");
  }
  if (fit->verdict == TACIT_FIT_HOPELESS) {
    tacit_text_printf(to,
                      "warning: this budget buys %zu draws a chain, and all chains together are forecast to "
                      "be worth less than one independent draw: it would be spent for nothing\n",
                      s->n_draws);
  } else if (s->n_draws < draws_few) {
    tacit_text_printf(to, "warning: this budget buys %zu draws a chain: do not expect convergence\n",
                      s->n_draws);
  } else if (fit->plan.ess < TACIT_FIT_ESS_HARDLY) {
    tacit_text_printf(to,
                      "warning: all chains are forecast to be worth %.2g independent draws: means and "
                      "intervals would be mostly luck; tacit plan compares methods\n",
                      fit->plan.ess);
  }
}

tacit_status_t tacit_fit_forecast(tacit_fit_t *fit, tacit_error_t *err) {
  tacit_text_t *to = &fit->texts[TACIT_FIT_TEXT_PLAN], *warning = &fit->texts[TACIT_FIT_TEXT_WARNING];
  tacit_text_clear(to);
  tacit_text_clear(warning);
  fit->verdict = judge(fit);
  if (fit->method->is_one_off) {
    put_aware(fit, to);
  } else {
    put_chains(fit, to);
    if (!fit->is_exposed) {
      put_worth(&fit->plan, to);
    }
  }
  if (tacit_fit_dropping(fit) != NULL) {
    tacit_text_printf(to,
                      "plan: this is for records without gaps: one with a missing value in a column such as "
                      "'%s' (missing: drop) adds nothing, and fewer records say less\n",
                      tacit_fit_dropping(fit));
  }
  put_warnings(fit, warning);
  return to->failed || warning->failed ? tacit_error_memory(err) : TACIT_OK;
}
