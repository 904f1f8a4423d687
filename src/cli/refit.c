/* tacit refit and tacit combine: draws given what one fit, or several, released. */
#include <stdio.h>
#include <string.h>

#include "base/directory.h"
#include "base/error.h"
#include "cli/commands.h"
#include "cli/result.h"
#include "tacit/fit.h"

enum { MAX_SITES = 64 };

static bool watch(const tacit_progress_t *progress, void *user) {
  (void)progress;
  (void)user;
  return !cli_is_interrupted();
}

/* Settings, draws, report, summary of a fit that was opened with `status`; takes it. */
static int draw(const cli_args_t *args, tacit_fit_t *fit, tacit_status_t status, tacit_error_t *err) {
  int result;
  TACIT_THEN(status, cli_set_fit(args, fit, err));
  cli_catch_signals();
  TACIT_THEN(status, tacit_fit_redraw(fit, watch, NULL, err));
  TACIT_THEN(status, tacit_fit_write(fit, NULL, err));
  if (status == TACIT_OK) {
    result = cli_print_summary(args, tacit_fit_draws(fit), tacit_fit_labels(fit), tacit_fit_published(fit),
                               tacit_fit_evidence(fit), false);
    printf("\n%swritten: %s (report.html, privacy.txt, summary.csv, draws-*.csv, run.yaml)\n",
           tacit_fit_text(fit, TACIT_FIT_TEXT_SPENT),
           cli_value(args, "out") != NULL ? cli_value(args, "out") : args->positionals[0]);
  } else {
    result = cli_fail(args, err);
  }
  tacit_fit_free(fit);
  return result;
}

static int run_refit(const cli_args_t *args) {
  static const char *const required[] = {"out"};
  tacit_fit_t *fit = NULL;
  tacit_error_t err;
  bool has_own_folder = tacit_directory_is_unfinished(args->positionals[0]); /* of a fit that did not end */
  if (!has_own_folder && !cli_require(args, required, 1)) {
    return CLI_USAGE;
  }
  tacit_status_t status = tacit_fit_reopen(&fit, args->positionals[0], &err);
  if (cli_is_given(args, "check")) {
    TACIT_THEN(status, tacit_fit_show_check(fit, cli_value(args, "check"), &err));
  }
  return draw(args, fit, status, &err);
}

static int run_combine(const cli_args_t *args) {
  tacit_fit_t *fit = NULL;
  tacit_error_t err;
  double between = 0;
  if (!cli_number(args, "between-sd", &between)) {
    return CLI_USAGE;
  }
  bool is_exchangeable = cli_is_given(args, "exchangeable");
  if (!is_exchangeable && cli_is_given(args, "between-sd")) {
    cli_error(args, "--between-sd goes with --exchangeable");
    return CLI_USAGE;
  }
  tacit_status_t status =
      tacit_fit_combine(&fit, args->positionals, args->n_positionals, cli_is_given(args, "disjoint"), &err);
  if (is_exchangeable) {
    TACIT_THEN(status, tacit_fit_set_exchangeable(fit, between, &err));
  }
  return draw(args, fit, status, &err);
}

const cli_command_t cli_refit = {
    .name = "refit",
    .positionals = "DIR",
    .n_positionals = 1,
    .summary = "draw again from what a fit released: another prior, nothing spent",
    .description = "Reads releases.json in DIR, which tacit fit wrote by method noise-aware, and draws from "
                   "the posterior given those releases. No record is read and nothing is charged: "
                   "privacy.json and privacy.txt of the new directory are the fit's. Without --prior and "
                   "--seed the draws are the fit's own, bit for bit. Trying several priors and reporting the "
                   "one that pleases costs no privacy, but honesty. A fit that was stopped after its "
                   "releases, or that met a full disk, left them in DIR: tacit refit DIR ends it.",
    .examples =
        "  tacit refit fit/ --prior 'normal(0, 1)' --out sceptical/\n  tacit compare fit/ sceptical/\n"
        "  tacit refit fit/ --program edited.stan --out other-prior/\n  tacit refit fit/ --check check.json "
        "--out checked/\n",
    .task = TACIT_TASK_REFIT,
    .run = run_refit};

const cli_command_t cli_combine = {
    .name = "combine",
    .positionals = "SITE SITE [SITE ...]",
    .n_positionals = 2,
    .n_optional = MAX_SITES - 2,
    .summary = "one posterior from the releases of several sites",
    .description =
        "Each site fits the same model to its own records, under its own ledger, and hands over its "
        "directory or its releases.json: no record and no secret is shared. The posterior is one prior times "
        "the likelihoods of all sites' releases, with coefficients that are the same at every site or, with "
        "--exchangeable, differ from site to site; posteriors are never multiplied, which would count the "
        "prior once a site. Sites with another formula, family, schema or relation are refused, and so are "
        "fits by chains, which keep no releases. Where effects differ between sites, intervals of common "
        "ones are too narrow: put the sites' own fits side by side (tacit compare), or take --exchangeable. "
        "Of linear regressions each site has a sigma of its own. Nothing is spent: what the sites promised, "
        "they promised together (epsilons add up; --disjoint: the largest).",
    .examples = "  tacit combine north/ south/ east/releases.json --disjoint --out all/\n"
                "  tacit combine north/ south/ east/ west/ --disjoint --exchangeable --out all/\n",
    .task = TACIT_TASK_COMBINE,
    .required = {"out"},
    .run = run_combine};
