/* What `tacit account` was asked about. */
#ifndef TACIT_CLI_ACCOUNT_H
#define TACIT_CLI_ACCOUNT_H

#include "cli/cli.h"
#include "tacit/account.h"

/* Events made once, and events made in every iteration. */
typedef struct account_plan {
  tacit_event_t *once, *each; /* shapes (n_once), (n_each); owned, with their curves */
  size_t n_once, n_each;
  uint64_t iterations; /* 0: not said */
  tacit_account_options_t options;
  bool has_relation;
} account_plan_t;

/* Read a plan from YAML; what is wrong comes as FILE:LINE:COLUMN. Clear it whatever the outcome. */
TACIT_MUST_USE tacit_status_t account_plan_read(account_plan_t *plan, const char *path, tacit_error_t *err);
void account_plan_clear(account_plan_t *plan);
TACIT_MUST_USE tacit_status_t account_plan_append(tacit_event_t **events, size_t *n,
                                                  const tacit_event_t *event, tacit_error_t *err);

/* Events in all: once, and each with its count times the iterations; shape (*n), freed by tacit_free, curves
 * borrowed. */
TACIT_MUST_USE tacit_status_t account_plan_events(const account_plan_t *plan, tacit_event_t **events,
                                                  size_t *n, tacit_error_t *err);

/* Write delta as a function of epsilon, up to where it is 1e-12, as CSV and as SVG; a NULL path is left out.
 */
TACIT_MUST_USE tacit_status_t account_curve_write(const tacit_event_t *events, size_t n_events,
                                                  const tacit_account_options_t *options, const char *csv,
                                                  const char *svg, tacit_error_t *err);

#endif
