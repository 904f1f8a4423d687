#ifndef TACIT_CLI_RESULT_H
#define TACIT_CLI_RESULT_H

#include "cli/cli.h"
#include <stdio.h>

#include "tacit/diagnose.h"
#include "tacit/draws.h"

/* Let SIGINT and SIGTERM be seen by cli_is_interrupted(); a second one ends the program at once. */
void cli_catch_signals(void);
bool cli_is_interrupted(void);

/* The table of summaries, owned: tacit_report_text_free(). evidence may be NULL; labels: shape (n_reported).
 */
TACIT_MUST_USE tacit_status_t cli_table(const tacit_draws_t *draws, const char *const *labels,
                                        const tacit_evidence_t *evidence, char **text, tacit_error_t *err);
/* Print that table and what is wrong with the fit; an exit status. published and evidence may be NULL.
 * labels: shape (n_reported). */
int cli_print_summary(const cli_args_t *args, const tacit_draws_t *draws, const char *const *labels,
                      const tacit_published_t *published, const tacit_evidence_t *evidence, bool is_quiet);
/* Findings with their advice, at most `most` of them, and what was looked at if nothing is wrong. */
void cli_print_findings(FILE *to, const tacit_findings_t *findings, size_t most, bool is_listed,
                        const tacit_checks_t *checks);

#endif
