/* What commands that sample share: stopping on a signal, and the table on the terminal. */
#include "cli/result.h"
#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "cli/ranks.h"

#include "tacit/report.h"

/* Set by SIGINT, SIGTERM and SIGHUP: the run stops after the iteration at hand. */
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
  struct sigaction now;
  if (sigaction(SIGHUP, NULL, &now) == 0 && now.sa_handler != SIG_IGN) { /* nohup goes on */
    sigaction(SIGHUP, &action, NULL);
  }
}

void cli_keep_private(void) {
  const struct rlimit none = {0, 0};
  (void)setrlimit(RLIMIT_CORE, &none);
#if defined(PR_SET_DUMPABLE)
  if (cli_ranks() ==
      NULL) { /* several processes may hand each other their sums through each other's memory */
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  }
#endif
}

bool cli_is_interrupted(void) { return is_interrupted != 0; }

void cli_print_findings(FILE *to, const tacit_findings_t *findings, size_t most, bool is_listed,
                        const tacit_checks_t *checks) {
  static const char *const words[] = {"note", "warning", "problem"};
  char looked_at[512];
  for (size_t i = 0; i < findings->n && i < most; i++) {
    const tacit_finding_t *finding = &findings->items[i];
    fprintf(to, "%-8s ", words[finding->severity]);
    cli_put(to, finding->what);
    fprintf(to, "\n         -> %s\n", finding->advice);
  }
  if (findings->n > most) {
    fprintf(to, "         and %zu more: tacit diagnose\n", findings->n - most);
  }
  if (findings->worst == TACIT_SEVERITY_NOTE) {
    fprintf(to, "of %zu kinds of trouble that were looked for, none was seen\n",
            tacit_findings_n_looked_at(checks));
  }
  if (is_listed) {
    tacit_findings_looked_at(checks, sizeof looked_at, looked_at);
    fprintf(to, "looked for: %s\n", looked_at);
  }
}

tacit_status_t cli_table(const tacit_draws_t *draws, const char *const *labels,
                         const tacit_evidence_t *evidence, char **text, tacit_error_t *err) {
  size_t n = draws->n_reported;
  tacit_summary_t *summaries = tacit_alloc(n, sizeof *summaries);
  tacit_status_t status = summaries != NULL ? TACIT_OK : tacit_error_memory(err);
  for (size_t j = 0; j < n && status == TACIT_OK; j++) {
    status = tacit_draws_summarise_with(draws, j, evidence, &summaries[j], err);
  }
  TACIT_THEN(status, tacit_report_table(labels, summaries, n, text, err));
  tacit_free(summaries);
  return status;
}

int cli_print_summary(const cli_args_t *args, const tacit_draws_t *draws, const char *const *labels,
                      const tacit_published_t *published, const tacit_evidence_t *evidence, bool is_quiet) {
  enum { MOST = 8 };
  const tacit_checks_t *checks = evidence != NULL ? &evidence->checks : NULL;
  tacit_error_t err;
  tacit_findings_t findings;
  char *text = NULL;
  tacit_status_t status = cli_table(draws, labels, evidence, &text, &err);
  TACIT_THEN(status, tacit_diagnose_fit(draws, labels, published, checks, &findings, &err));
  if (status == TACIT_OK) {
    cli_put(stdout, is_quiet ? "" : text);
    fflush(stdout);
  }
  if (status == TACIT_OK && (!is_quiet || findings.worst > TACIT_SEVERITY_NOTE)) {
    cli_print_findings(stderr, &findings, MOST, false, checks);
  }
  tacit_report_text_free(text);
  return status == TACIT_OK ? CLI_OK : cli_fail(args, &err);
}
