/* The parts of `tacit release`: what is asked for, the noise that the budget buys, the ledger, and the file. */
#ifndef TACIT_CLI_RELEASE_H
#define TACIT_CLI_RELEASE_H

#include "cli/cli.h"
#include "tacit/account.h"
#include "tacit/curator.h"
#include "tacit/data.h"
#include "tacit/ledger.h"
#include "tacit/model.h"
#include "tacit/random.h"

enum { CLI_RELEASE_MAX_COLUMNS = 24 };

typedef struct cli_release {
  const cli_args_t *args;
  const char *mechanism; /* as written: "discrete-laplace" */
  double epsilon, delta; /* delta 0: pure */
  bool is_seeded;
  size_t seed, n;
  tacit_curator_settings_t limits;
  tacit_schema_t *schema;
  const tacit_column_schema_t *columns[CLI_RELEASE_MAX_COLUMNS]; /* moments, score: the response last */
  double lower[CLI_RELEASE_MAX_COLUMNS], upper[CLI_RELEASE_MAX_COLUMNS];
  size_t n_levels[CLI_RELEASE_MAX_COLUMNS];
  tacit_statistic_t statistic;
  double noise_multiplier;
  tacit_record_model_t model;
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_curator_t *curator;
  double *values, *scales;
  tacit_reservation_t spend; /* id 0: nothing is reserved */
} cli_release_t;

/* Statistic, columns and bounds, from options and schema; an exit status. */
int cli_release_columns(cli_release_t *release);
/* Write what was released in the form that `tacit infer --statistic` reads. */
tacit_status_t cli_release_write(const cli_release_t *release, tacit_error_t *err);
/* The event that a ledger adds up for the release. */
tacit_event_t cli_release_ledger_event(const cli_release_t *release);

#endif
