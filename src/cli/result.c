/* What commands that sample share: stopping on a signal, and the table on the terminal. */
#include "cli/result.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tacit/report.h"

/* Set by SIGINT and SIGTERM: the run stops after the iteration at hand. */
static volatile sig_atomic_t is_interrupted;

static void interrupt(int signal_number) {
  (void)signal_number;
  is_interrupted = 1;
}

void cli_catch_signals(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = interrupt;
  action.sa_flags = (int)SA_RESETHAND; /* a second signal ends the program at once */
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

bool cli_is_interrupted(void) {
  return is_interrupted != 0;
}

int cli_print_summary(const cli_args_t *args, const tacit_draws_t *draws, const char *const *labels) {
  size_t n = draws->n_reported;
  tacit_error_t err;
  tacit_summary_t *summaries = tacit_alloc(n, sizeof *summaries);
  tacit_status_t status = summaries != NULL ? TACIT_OK : tacit_error_set(&err, TACIT_ERR_MEMORY, NULL, "out of memory");
  for (size_t j = 0; j < n && status == TACIT_OK; j++) {
    status = tacit_draws_summarise(draws, j, &summaries[j], &err);
  }
  char *text = NULL;
  if (status == TACIT_OK) {
    status = tacit_report_table(labels, summaries, n, &text, &err);
  }
  double worst = 0;
  for (size_t j = 0; status == TACIT_OK && j < n; j++) {
    worst = isnan(summaries[j].rhat) ? INFINITY : fmax(worst, summaries[j].rhat);
  }
  tacit_free(summaries);
  if (status != TACIT_OK) {
    return cli_fail(args, &err);
  }
  fputs(text, stdout);
  tacit_report_text_free(text);
  if (worst > 1.2) {
    fprintf(stderr, "warning: the chains do not agree (R-hat up to %.2f): intervals are not to be trusted\n", worst);
  } else if (worst > 1.05) {
    fprintf(stderr, "note: the chains agree only roughly (R-hat up to %.2f): read the last digits with care\n", worst);
  }
  return CLI_OK;
}
