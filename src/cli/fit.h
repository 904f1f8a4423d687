/* The parts of `tacit fit`: what was asked for, what was prepared from it, the run. */
#ifndef TACIT_CLI_FIT_H
#define TACIT_CLI_FIT_H

#include "cli/cli.h"
#include "tacit/account.h"
#include "tacit/curator.h"
#include "tacit/data.h"
#include "tacit/ledger.h"
#include "tacit/model.h"
#include "tacit/noise_aware.h"
#include "tacit/random.h"
#include "tacit/report.h"
#include "tacit/sample.h"

enum { CLI_START_STEPS = 16 }; /* released gradients that --init private climbs by */

/*
 * Where a plan is poor: few effective draws, which tacit diagnose calls a problem afterwards; intervals of the noise-aware method
 * at which the prior speaks louder than the data.
 */
enum { CLI_ESS_HARDLY = 20, CLI_INFLATION_MUCH = 3 };

enum { CLI_OBSTACLE_SIZE = 256 };

/* What the plan can be expected to yield; the thresholds are those of tacit diagnose. */
typedef enum cli_verdict {
  CLI_VERDICT_GOOD = 0,
  CLI_VERDICT_POOR,    /* no usable chain, or intervals several times as wide as without privacy */
  CLI_VERDICT_HOPELESS /* all chains together not worth one draw */
} cli_verdict_t;

typedef struct cli_fit {
  const cli_args_t *args;
  /* options */
  const tacit_method_t *method;
  tacit_family_t family;
  bool is_exposed, is_seeded;
  bool is_clip_grad_open, is_clip_ratio_open; /* to be chosen by a release */
  double epsilon, delta, known_sd, n_public;
  size_t seed;
  tacit_prior_entry_t *priors;
  size_t n_priors;
  tacit_sampler_settings_t settings;
  tacit_curator_settings_t limits;
  /* prepared */
  tacit_schema_t *schema;
  tacit_design_t *design;
  tacit_model_t model;
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_curator_t *curator;
  double *inv_metric, *init;
  tacit_tuned_t tuned;
  bool *is_two_valued;               /* (n_features); of method noise-aware, as is: */
  tacit_noise_aware_settings_t aware;
  tacit_plan_t plan;
  cli_verdict_t verdict; /* on the plan */
  tacit_table_notes_t notes;
  char *data_id;  /* of the ledger; NULL: there is none */
  tacit_reservation_t spend; /* in the ledger; id 0: nothing is reserved */
} cli_fit_t;

/* Read and check every option; CLI_OK or an exit status after printing what is wrong. */
int cli_fit_options(cli_fit_t *fit, const cli_args_t *args);
/* The same for tacit plan. */
int cli_plan_options(cli_fit_t *fit, const cli_args_t *args);
/* Schema, formula, model, budget: everything that needs no record. */
int cli_fit_prepare(cli_fit_t *fit);
/* Records behind the curator, and the plan. */
int cli_fit_open(cli_fit_t *fit);
/* The first option given that only chains of releases have, or NULL. */
const char *cli_fit_chain_option(const cli_args_t *args);
/*
 * The same steps of method noise-aware: options, design, plan. A default that does not suit the schema or the formula
 * becomes dp-hmc in the second.
 */
int cli_fit_aware_options(cli_fit_t *fit);
int cli_fit_aware_prepare(cli_fit_t *fit);
int cli_fit_aware_plan(cli_fit_t *fit);
/* Why family, schema and formula do not suit the method, into `text`; false if they do. */
bool cli_fit_aware_obstacle(const cli_fit_t *fit, char text[CLI_OBSTACLE_SIZE]);
/* Settings of the method, budget excepted, where nothing stands against it. */
tacit_noise_aware_settings_t cli_fit_aware_settings(const cli_fit_t *fit);
/* What all its releases may cost together. */
double cli_fit_aware_rho(const cli_fit_t *fit);
/* The releases that it makes. */
size_t cli_fit_aware_n_releases(const cli_fit_t *fit);
/* The method that tacit fit takes by itself where it applies? */
bool cli_fit_aware_is_default(const cli_fit_t *fit);
/* Print the plan and what can be expected of it; everything printed is public. Sets the verdict. */
void cli_fit_forecast(cli_fit_t *fit);
/*
 * Is the budget to be spent on this plan? A terminal is asked where the verdict is not good, unless --yes answers beforehand; scripts
 * go on, warned. CLI_OK or an exit status after saying why not.
 */
int cli_fit_confirm(const cli_fit_t *fit);
/* Is anything tuned by releases? */
bool cli_fit_is_tuned(const cli_fit_t *fit);
/* --metric, --clip-grad, --clip-ratio, --clip-share; false after printing what is wrong. */
bool cli_fit_tuning_options(cli_fit_t *fit);
/* Bounds to plan with where releases are to choose them: what public guesses of the posterior make likely. */
void cli_fit_tuning_prepare(cli_fit_t *fit);
/* Say what the releases led to. */
void cli_fit_tuning_print(const cli_fit_t *fit);
/* Look at the ledger, if one is given. */
int cli_fit_ledger_open(cli_fit_t *fit);
/* Reserve what the plan can release, durably; with --dry-run only say whether it would fit. */
int cli_fit_ledger_reserve(cli_fit_t *fit);
/* Lower the reservation to what was charged. */
void cli_fit_ledger_settle(cli_fit_t *fit);
/* Sample, write the report, print the table. */
int cli_fit_run(cli_fit_t *fit);
void cli_fit_clear(cli_fit_t *fit);

#endif
