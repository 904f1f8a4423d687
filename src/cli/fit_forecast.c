/* What `tacit fit` says before it spends, and when it asks. Everything here is computed from public facts. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/fit.h"

/* What tacit diagnose calls a problem afterwards, besides few effective draws. */
enum { draws_few = 50 };
/* Noise in the log acceptance ratio at which nearly everything is rejected. */
static const double penalty_sd_much = 4;

static cli_verdict_t judge(const cli_fit_t *fit) {
  if (fit->is_exposed) {
    return CLI_VERDICT_GOOD;
  }
  if (fit->method->is_one_off) {
    return fit->plan.width > CLI_INFLATION_MUCH ? CLI_VERDICT_POOR : CLI_VERDICT_GOOD;
  }
  if (fit->plan.ess < 1) {
    return CLI_VERDICT_HOPELESS;
  }
  bool is_poor = fit->plan.ess < CLI_ESS_HARDLY || fit->settings.n_draws < draws_few || fit->plan.penalty_sd > penalty_sd_much;
  return is_poor ? CLI_VERDICT_POOR : CLI_VERDICT_GOOD;
}

static void print_chains(const cli_fit_t *fit) {
  const tacit_sampler_settings_t *s = &fit->settings;
  fprintf(stderr, "plan: %s, %zu chains of %zu iterations (%zu warm-up, %zu draws kept), step size %.3g",
          fit->method->name, s->n_chains, fit->plan.n_iterations, s->n_warmup, s->n_draws, s->step_size);
  if (!isnan(fit->plan.grad_noise_sd)) {
    fprintf(stderr, "; noise multiplier of gradients %.4g", s->noise_multiplier_grad);
  }
  if (!isnan(fit->plan.penalty_sd)) {
    fprintf(stderr, "; of ratios %.4g", s->noise_multiplier_ratio);
  }
  if (!fit->is_exposed) {
    bool is_scheduled = tacit_budget_is_scheduled(fit->budget);
    fprintf(stderr, "; epsilon %.4g", is_scheduled ? tacit_budget_planned(fit->budget).epsilon : fit->plan.epsilon);
  }
  fputc('\n', stderr);
}

static void print_worth(const tacit_plan_t *plan) {
  fprintf(stderr, "plan: forecast: all chains are worth about %.2g independent draws, posterior means %.3g times as uncertain as the "
                  "exact ones", plan->ess, plan->width);
  if (plan->ess_wide < plan->ess) {
    fprintf(stderr, ", if the posterior is as wide as the schema suggests; %.2g draws, if three times as wide", plan->ess_wide);
  }
  fputc('\n', stderr);
  if (!isnan(plan->penalty_sd) || !isnan(plan->grad_noise)) {
    fprintf(stderr, "plan: forecast: noise of a step:");
    if (!isnan(plan->penalty_sd)) {
      fprintf(stderr, " about %.2g in its log acceptance ratio (1 to 2 is efficient)", plan->penalty_sd);
    }
    if (!isnan(plan->grad_noise)) {
      fprintf(stderr, "%s %.2g times a gradient one posterior sd from the mode", isnan(plan->penalty_sd) ? "" : ",", plan->grad_noise);
    }
    fputc('\n', stderr);
  }
}

static void print_aware(const cli_fit_t *fit) {
  const tacit_sampler_settings_t *s = &fit->settings;
  fprintf(stderr, "plan: noise-aware, %zu releases, then %zu chains of %zu iterations (%zu warm-up, %zu draws kept) on them; "
                  "standard deviations at least about %.3g times the non-private ones\n",
          cli_fit_aware_n_releases(fit), s->n_chains, fit->plan.n_iterations, s->n_warmup, s->n_draws, fit->plan.width);
}

static void print_warnings(const cli_fit_t *fit) {
  const tacit_sampler_settings_t *s = &fit->settings;
  if (fit->verdict == CLI_VERDICT_GOOD) {
    return;
  }
  if (fit->method->is_one_off) {
    fprintf(stderr, "warning: with so small a budget for so few rows the prior will speak louder than the data\n");
    return;
  }
  if (fit->plan.penalty_sd > penalty_sd_much) {
    fprintf(stderr, "warning: with so much noise almost every proposal will be rejected: fewer --draws, fewer --chains "
                    "or a larger budget would help\n");
  }
  if (fit->verdict == CLI_VERDICT_HOPELESS) {
    fprintf(stderr, "warning: this budget buys %zu draws a chain, and all chains together are forecast to be worth less than one "
                    "independent draw: it would be spent for nothing\n", s->n_draws);
  } else if (s->n_draws < draws_few) {
    fprintf(stderr, "warning: this budget buys %zu draws a chain: do not expect convergence\n", s->n_draws);
  } else if (fit->plan.ess < CLI_ESS_HARDLY) {
    fprintf(stderr, "warning: all chains are forecast to be worth %.2g independent draws: means and intervals would be mostly luck; "
                    "tacit plan compares methods\n", fit->plan.ess);
  }
}

void cli_fit_forecast(cli_fit_t *fit) {
  fit->verdict = judge(fit);
  if (cli_is_given(fit->args, "quiet") && !cli_is_given(fit->args, "dry-run")) {
    if (fit->verdict == CLI_VERDICT_HOPELESS) {
      print_warnings(fit);
    }
    return;
  }
  if (fit->method->is_one_off) {
    print_aware(fit);
  } else {
    print_chains(fit);
    if (!fit->is_exposed) {
      print_worth(&fit->plan);
    }
  }
  print_warnings(fit);
}

/* The first letter of the answer decides; no answer is a no. */
static bool ask(const cli_fit_t *fit) {
  char answer[64] = "";
  if (fit->method->is_one_off) {
    fprintf(stderr, "Spend epsilon %g for intervals at least %.2g times as wide as without privacy? [y/N] ", fit->epsilon,
            fit->plan.width);
  } else {
    fprintf(stderr, "Spend epsilon %g for what is forecast to be worth %.2g independent draws, %zu kept of each chain? [y/N] ",
            fit->epsilon, fit->plan.ess, fit->settings.n_draws);
  }
  fflush(stderr);
  if (fgets(answer, sizeof answer, stdin) == NULL) {
    fputc('\n', stderr);
  }
  return tolower((unsigned char)answer[0]) == 'y';
}

int cli_fit_confirm(const cli_fit_t *fit) {
  bool is_spending = !fit->is_exposed && !fit->is_seeded && !cli_is_given(fit->args, "dry-run");
  if (!is_spending || fit->verdict == CLI_VERDICT_GOOD || cli_is_given(fit->args, "yes")) {
    return CLI_OK;
  }
  if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO) || ask(fit)) {
    return CLI_OK;
  }
  cli_error(fit->args, "not started: nothing was released or charged");
  return CLI_BUDGET;
}
