/* tacit fit: the command line, questions and progress around tacit/fit.h. */
#include "tacit/fit.h"
#include "base/pool.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/program_read.h"
#include "cli/ranks.h"
#include "cli/reading.h"
#include "cli/result.h"
#include "fit/fit_internal.h"

typedef struct watch {
  const tacit_fit_t *fit;
  tacit_fit_plan_t plan;
  double budget; /* epsilon; NaN: none */
  bool is_shown;
  double start, last;
} watch_t;

static bool watch(const tacit_progress_t *progress, void *user) {
  watch_t *w = user;
  double now = tacit_clock();
  bool is_last = progress->iteration == progress->n_iterations;
  if (w->is_shown && progress->iteration > 0 && (now - w->last > 0.1 || is_last)) {
    double left = (now - w->start) * (double)(progress->n_iterations - progress->iteration) /
                  (double)progress->iteration;
    fprintf(stderr, "\r%s: %zu of %zu iterations, acceptance %.2f", w->plan.method, progress->iteration,
            progress->n_iterations, progress->accept_rate);
    if (!isnan(w->budget)) {
      fprintf(stderr, ", epsilon %.3g of %.3g", tacit_fit_spent(w->fit).epsilon, w->budget);
    }
    fprintf(stderr, ", %.0f s left   %s", left, is_last ? "\n" : "");
    w->last = now;
  }
  return !cli_ranks_any(cli_is_interrupted());
}

/* An error of the library, unless another rank has failed and says so. */
static int fail(const cli_args_t *args, const tacit_error_t *err) {
  return cli_ranks_have_failed() ? CLI_FAILURE : cli_fail(args, err);
}

static int check_required(const cli_args_t *args) {
  static const char *const required[] = {"data", "schema"};
  const char *out = cli_value(args, "out");
  if (!cli_require(args, required, 2)) {
    return CLI_USAGE;
  }
  if (!cli_is_given(args, "dry-run") && (out == NULL || out[0] == '\0')) {
    cli_error(args, "say where the results go: --out DIR, a directory that does not exist yet");
    return CLI_USAGE;
  }
  return CLI_OK;
}

static int read_all(const cli_args_t *args, tacit_fit_t **fit) {
  tacit_error_t err;
  int required = check_required(args);
  if (required != CLI_OK) {
    return required;
  }
  tacit_status_t status = tacit_fit_new(fit, args->positionals[0], &err);
  const tacit_given_t *given;
  for (size_t i = 0; status == TACIT_OK && (given = cli_next(args, TACIT_TASK_FIT, &i)) != NULL;) {
    bool is_nowhere = strcmp(given->setting->name, "out") == 0 && cli_is_given(args, "dry-run");
    status = is_nowhere ? TACIT_OK : tacit_fit_set(*fit, given->setting->name, given->text, &err);
  }
  if (status == TACIT_OK) {
    tacit_fit_set_ranks(*fit, &(tacit_fit_ranks_t){.ranks = cli_ranks(), .is_well = cli_ranks_are_well});
    cli_reading_t reading;
    cli_reading_begin(&reading, args);
    status = tacit_fit_read_source(*fit, &(tacit_data_source_t){.watch = &reading.watch}, &err);
    cli_reading_end(&reading);
  }
  return status == TACIT_OK ? CLI_OK : fail(args, &err);
}

static void print_plan(const cli_args_t *args, const tacit_fit_t *fit, const tacit_fit_plan_t *plan) {
  bool is_quiet = cli_is_given(args, "quiet") && !cli_is_given(args, "dry-run");
  fputs(is_quiet ? "" : tacit_fit_text(fit, TACIT_FIT_TEXT_PLAN), stderr);
  fputs(is_quiet && plan->verdict != TACIT_FIT_HOPELESS ? "" : tacit_fit_text(fit, TACIT_FIT_TEXT_WARNING),
        stderr);
}

/* The first letter of the answer decides; no answer is a no. */
static bool ask(const tacit_fit_plan_t *plan, double epsilon) {
  char answer[64] = "";
  if (plan->n_releases > 0) {
    fprintf(stderr, "Spend epsilon %g for intervals at least %.2g times as wide as without privacy? [y/N] ",
            epsilon, plan->width);
  } else {
    fprintf(stderr,
            "Spend epsilon %g for what is forecast to be worth %.2g independent draws, %zu kept of each "
            "chain? [y/N] ",
            epsilon, plan->ess, plan->n_draws);
  }
  fflush(stderr);
  if (fgets(answer, sizeof answer, stdin) == NULL) {
    fputc('\n', stderr);
  }
  return tolower((unsigned char)answer[0]) == 'y';
}

/* A terminal is asked where the verdict is not good, unless --yes answers beforehand. Scripts go on, warned,
 * but where there is no hope. */
static int confirm(const cli_args_t *args, const tacit_fit_t *fit, const tacit_fit_plan_t *plan,
                   double epsilon) {
  bool is_spending = tacit_fit_is_private(fit) && !cli_is_given(args, "dry-run");
  if (!cli_is_first_rank() || !is_spending || plan->verdict == TACIT_FIT_GOOD || cli_is_given(args, "yes")) {
    return CLI_OK;
  }
  if (isatty(STDERR_FILENO) && cli_is_standard_input(cli_value(args, "data"))) {
    cli_error(args, "not started: the records came on standard input, so that the question whether to go on "
                    "cannot be answered there: say --yes, or read a file; nothing was released or charged");
    return CLI_BUDGET;
  }
  bool has_nobody = !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO);
  if (has_nobody ? plan->verdict != TACIT_FIT_HOPELESS : ask(plan, epsilon)) {
    return CLI_OK;
  }
  cli_error(args, "not started: nothing was released or charged%s",
            has_nobody ? "; --yes goes on nevertheless" : "");
  return CLI_BUDGET;
}

static int reserve(const cli_args_t *args, tacit_fit_t *fit) {
  tacit_error_t err;
  bool is_trial = cli_is_given(args, "dry-run");
  if (tacit_fit_reserve(fit, is_trial, &err) != TACIT_OK) {
    return cli_fail(args, &err);
  }
  fputs(cli_is_given(args, "quiet") && !is_trial ? "" : tacit_fit_text(fit, TACIT_FIT_TEXT_PRICE), stderr);
  return CLI_OK;
}

/* What only the holder of the data may see. */
static void print_notes(const tacit_fit_t *fit) {
  tacit_diagnostics_t diagnostics = tacit_fit_diagnose(fit);
  fprintf(stderr, "FOR THE CURATOR ONLY - not covered by the privacy guarantee\n");
  for (size_t i = 0; i < TACIT_N_DIAGNOSTICS; i++) {
    const tacit_diagnostic_info_t *info = tacit_diagnostic_info(i);
    if (info->visibility == TACIT_CURATOR_ONLY && !isnan(diagnostics.values[i])) {
      fprintf(stderr, "  %-18s %.6g  %s\n", info->name, diagnostics.values[i], info->meaning);
    }
  }
  cli_put(stderr, fit->holder_notes.length > 0 ? fit->holder_notes.data : "");
}

static void print_spent(const tacit_fit_t *fit, FILE *to) {
  fprintf(to, "\n%s", tacit_fit_text(fit, TACIT_FIT_TEXT_SPENT));
}

/* What was paid for and cannot be written is to be had all the same: the table, and what draws can be made
 * from again. */
static void print_unwritten(const cli_args_t *args, const tacit_fit_t *fit) {
  tacit_error_t err;
  char *releases = NULL;
  (void)cli_print_summary(args, tacit_fit_draws(fit), tacit_fit_labels(fit), tacit_fit_published(fit),
                          tacit_fit_evidence(fit), false);
  if (!fit->has_kept_all && tacit_fit_releases_json(fit, &releases, &err) == TACIT_OK) {
    fprintf(stderr, "what was released follows on standard output: saved as releases.json in a folder, tacit "
                    "refit FOLDER --out DIR draws from it\n");
    cli_put(stdout, releases);
  }
  tacit_free(releases);
}

static int write_result(const cli_args_t *args, tacit_fit_t *fit) {
  tacit_error_t err;
  if (!cli_is_first_rank()) {
    return CLI_OK;
  }
  if (tacit_fit_write(fit, NULL, &err) != TACIT_OK) {
    int status = cli_fail(args, &err);
    print_spent(fit, stderr);
    print_unwritten(args, fit);
    return status;
  }
  bool is_quiet = cli_is_given(args, "quiet");
  int status = cli_print_summary(args, tacit_fit_draws(fit), tacit_fit_labels(fit), tacit_fit_published(fit),
                                 tacit_fit_evidence(fit), is_quiet);
  bool is_as_asked = tacit_fit_is_private(fit) && strcmp(tacit_fit_end(fit), "interrupted") != 0;
  if (is_quiet && is_as_asked) {
    return status;
  }
  print_spent(fit, stdout);
  printf("written: %s (report.html, privacy.txt, summary.csv, draws-*.csv, run.yaml)\n",
         cli_value(args, "out"));
  return status;
}

static int sample(const cli_args_t *args, tacit_fit_t *fit, const tacit_fit_plan_t *plan, double epsilon) {
  tacit_error_t err;
  double now = tacit_clock();
  watch_t state = {.fit = fit, .plan = *plan, .budget = epsilon, .start = now, .last = now};
  state.is_shown = isatty(STDERR_FILENO) && !cli_is_given(args, "quiet");
  cli_catch_signals();
  tacit_status_t sampled = tacit_fit_run(fit, watch, &state, &err);
  bool is_interrupted = strcmp(tacit_fit_end(fit), "interrupted") == 0;
  int status;
  if (state.is_shown && strcmp(tacit_fit_end(fit), "complete") != 0) {
    fputc('\n', stderr);
  }
  fputs(cli_is_given(args, "quiet") ? "" : tacit_fit_text(fit, TACIT_FIT_TEXT_TUNED), stderr);
  if (sampled != TACIT_OK) {
    status = fail(args, &err);
    print_spent(fit, stderr);
  } else {
    status = write_result(args, fit);
  }
  if (status == CLI_OK && is_interrupted) {
    fprintf(stderr, "interrupted: %zu draws a chain were kept\n", tacit_draws_n_kept(tacit_fit_draws(fit)));
    status = CLI_INTERRUPTED;
  }
  if (cli_is_given(args, "curator-notes")) {
    print_notes(fit);
  }
  return status;
}

static int run_fit(const cli_args_t *args) {
  tacit_fit_t *fit = NULL;
  tacit_fit_plan_t plan;
  tacit_error_t err;
  double epsilon = NAN;
  if (cli_is_given(args, "print-model")) {
    return cli_formula_write(args, NULL);
  }
  int status = cli_ranks_agree(read_all(args, &fit));
  if (status == CLI_OK && tacit_fit_plan(fit, 0, &plan, &err) == TACIT_OK) {
    tacit_settings_number(&args->given, "epsilon", &epsilon);
    print_plan(args, fit, &plan);
    status = cli_ranks_agree(confirm(args, fit, &plan, epsilon));
    status = status == CLI_OK ? cli_ranks_agree(reserve(args, fit)) : status;
    if (status == CLI_OK && !cli_is_given(args, "dry-run")) {
      status = cli_ranks_agree(sample(args, fit, &plan, epsilon));
      fputs(tacit_fit_text(fit, TACIT_FIT_TEXT_UNSETTLED), stderr);
    }
  }
  tacit_fit_free(fit);
  return status;
}

const cli_command_t cli_fit = {
    .name = "fit",
    .positionals = "FORMULA|PROGRAM",
    .n_positionals = 1,
    .summary = "fit a Bayesian regression under differential privacy",
    .description =
        "Draws from the posterior of a regression. FORMULA is R's: 'y ~ a + b + a:b + log(c) + factor(d) + "
        "I(e^2)'. PROGRAM is a file with a model in Stan's language, FILE.stan (docs/language.md; tacit "
        "model check). The records stay behind the curator: what leaves is bounded, summed exactly, covered "
        "by exact Gaussian noise and charged to the budget beforehand. The directory given by --out holds "
        "the draws (Stan CSV), a summary, the privacy statement in words and JSON, the settings, and "
        "report.html. Before anything is spent, the plan is printed with a forecast from public facts. If "
        "that promises no usable chain (fewer than 20 effective draws in all, or 50 draws a chain), a "
        "terminal is asked whether to go on, unless --yes is given; a run that nobody can answer goes on "
        "with a warning, but where all chains are worth less than one draw, or most such fits end with a "
        "problem: then it says which budget would do and ends with status 4. A budget that is spent does not "
        "come back.",
    .examples =
        "  tacit fit 'death ~ age + sex + log(flc)' --family bernoulli --data flchain.csv \\\n"
        "        --schema flchain.yaml --epsilon 1 --delta 1e-6 --out fit/\n"
        "  tacit fit 'death ~ age + sex' --family bernoulli --data flchain.csv --schema flchain.yaml \\\n"
        "        --method hmc --exposed --draws 2000 --out baseline/\n",
    .reads_records = true,
    .task = TACIT_TASK_FIT,
    .run = run_fit};
