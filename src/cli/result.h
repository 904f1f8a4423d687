#ifndef TACIT_CLI_RESULT_H
#define TACIT_CLI_RESULT_H

#include "cli/cli.h"
#include "tacit/draws.h"

/* Let SIGINT and SIGTERM be seen by cli_is_interrupted(); a second one ends the program at once. */
void cli_catch_signals(void);
bool cli_is_interrupted(void);

/* Print the table of summaries, and a warning if the chains disagree; an exit status. labels: shape (n_reported). */
int cli_print_summary(const cli_args_t *args, const tacit_draws_t *draws, const char *const *labels);

#endif
