/* tacit refit: draws given what a fit released, under another prior or another seed. */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/result.h"
#include "tacit/fit.h"

static bool watch(const tacit_progress_t *progress, void *user) {
  (void)progress;
  (void)user;
  return !cli_is_interrupted();
}

static int run(const cli_args_t *args) {
  static const char *const required[] = {"out"};
  tacit_fit_t *fit;
  tacit_error_t err;
  if (!cli_require(args, required, 1)) {
    return CLI_USAGE;
  }
  tacit_status_t status = tacit_fit_reopen(&fit, args->positionals[0], &err);
  for (size_t i = 0; i < args->n_given && status == TACIT_OK; i++) {
    status = tacit_fit_set(fit, args->given[i].name, args->given[i].value, &err);
  }
  cli_catch_signals();
  if (status == TACIT_OK) {
    status = tacit_fit_redraw(fit, watch, NULL, &err);
  }
  if (status == TACIT_OK) {
    status = tacit_fit_write(fit, NULL, &err);
  }
  int result = CLI_OK;
  if (status == TACIT_OK) {
    result = cli_print_summary(args, tacit_fit_draws(fit), tacit_fit_labels(fit), tacit_fit_published(fit), tacit_fit_evidence(fit));
    printf("\n%swritten: %s/ (report.html, privacy.txt, summary.csv, draws-*.csv, run.yaml)\n", tacit_fit_text(fit, TACIT_FIT_TEXT_SPENT),
           cli_value(args, "out"));
  }
  tacit_fit_free(fit);
  return status == TACIT_OK ? result : cli_fail(args, &err);
}

static const cli_option_t options[] = {
    {"prior", "SPEC", NULL, "As in tacit fit. May be repeated; the first replaces all of the fit's. If not said: the fit's own."},
    {"prior-scale", "SCALE", NULL, "As in tacit fit; the fit's if not said."},
    {"prior-basis", "BASIS", NULL, "As in tacit fit; the fit's if not said."},
    {"chains", "N", NULL, "As in tacit fit; the fit's if not said. So of the next three."},
    {"warmup", "N", NULL, "Iterations of each chain before the first draw is kept."},
    {"draws", "N", NULL, "Draws to keep of each chain."},
    {"thin", "N", NULL, "Keep every N-th iteration."},
    {"seed", "N", NULL, "Of the draws; the fit's own key if not said. There is no noise here that it could give away."},
    {"out", "DIR", NULL, "New directory, as of tacit fit."}};

const cli_command_t cli_refit = {
    .name = "refit",
    .positionals = "DIR",
    .n_positionals = 1,
    .summary = "draw again from what a fit released: another prior, nothing spent",
    .description = "Reads releases.json in DIR, which tacit fit wrote by method noise-aware, and draws from the posterior given those releases. No "
                   "record is read and nothing is charged: privacy.json and privacy.txt of the new directory are the fit's. Without "
                   "--prior and --seed the draws are the fit's own, bit for bit. Trying several priors and reporting the one that "
                   "pleases costs no privacy, but honesty.",
    .examples = "  tacit refit fit/ --prior 'normal(0, 1)' --out sceptical/\n  tacit compare fit/ sceptical/\n",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .run = run};
