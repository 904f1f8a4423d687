/* tacit infer: the command line around tacit/infer.h. */
#include "tacit/infer.h"
#include "base/error.h"
#include "base/pool.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/result.h"

typedef struct watch {
  const char *method;
  bool is_shown;
  double last;
} watch_t;

static bool watch(const tacit_progress_t *progress, void *user) {
  watch_t *w = user;
  double now = tacit_clock();
  bool is_last = progress->iteration == progress->n_iterations;
  if (w->is_shown && (now - w->last > 0.1 || is_last)) {
    fprintf(stderr, "\r%s: %zu of %zu iterations%s", w->method, progress->iteration, progress->n_iterations,
            is_last ? "\n" : "");
    w->last = now;
    w->is_shown = !is_last;
  }
  return !cli_is_interrupted();
}

static tacit_status_t read_all(const cli_args_t *args, tacit_infer_t **infer, tacit_error_t *err) {
  tacit_status_t status = tacit_infer_new(infer, args->n_positionals > 0 ? args->positionals[0] : NULL, err);
  const tacit_given_t *given;
  for (size_t i = 0; status == TACIT_OK && (given = cli_next(args, TACIT_TASK_INFER, &i)) != NULL;) {
    status = tacit_infer_set(*infer, given->setting->name, given->text, err);
  }
  return status == TACIT_OK ? tacit_infer_read(*infer, err) : status;
}

static int print_result(const cli_args_t *args, const tacit_infer_t *infer) {
  const tacit_draws_t *draws = tacit_infer_draws(infer);
  int status = cli_print_summary(args, draws, tacit_infer_labels(infer), NULL, tacit_infer_evidence(infer),
                                 cli_is_given(args, "quiet"));
  if (!cli_is_given(args, "quiet")) {
    printf("\n%s%swritten: %s (report.html, privacy.txt, summary.csv, draws-*.csv, run.yaml)\n",
           tacit_infer_text(infer, TACIT_INFER_TEXT_METHOD), tacit_infer_text(infer, TACIT_INFER_TEXT_COST),
           cli_value(args, "out"));
  }
  if (status == CLI_OK && strcmp(tacit_infer_end(infer), "interrupted") == 0) {
    fprintf(stderr, "interrupted: %zu draws a chain were kept\n", tacit_draws_n_kept(draws));
    return CLI_INTERRUPTED;
  }
  return status;
}

static int run_infer(const cli_args_t *args) {
  tacit_infer_t *infer = NULL;
  tacit_error_t err;
  tacit_status_t status = read_all(args, &infer, &err);
  if (status == TACIT_OK) {
    watch_t w = {.method = cli_value(args, "method"),
                 .is_shown = isatty(STDERR_FILENO) && !cli_is_given(args, "quiet"),
                 .last = tacit_clock()};
    fputs(tacit_infer_text(infer, TACIT_INFER_TEXT_WARNING), stderr);
    cli_catch_signals();
    status = tacit_infer_run(infer, watch, &w, &err);
  }
  TACIT_THEN(status, tacit_infer_write(infer, NULL, &err));
  int exit_status = status == TACIT_OK ? print_result(args, infer) : cli_fail(args, &err);
  tacit_infer_free(infer);
  return exit_status;
}

const cli_command_t cli_infer = {
    .name = "infer",
    .positionals = "[MODEL]",
    .n_optional = 1,
    .summary = "infer parameters from a statistic that was released with noise",
    .description =
        "Draws parameters from their posterior given a privatized statistic of records that nobody else has, "
        "noise and clamping included. It reads no records and costs no privacy.\n"
        "MODEL is YAML: records: gaussian, poisson, regression, logistic or categorical; and for gaussian "
        "mean: normal(0, 1) with sd: 0.5 (known) or variance: inverse_gamma(2, 1); for poisson rate: "
        "gamma(2, 0.5) (shape, rate); for regression coefficients: normal(0, 1) with variance: "
        "inverse_gamma(2, 0.1) (of every column given those before it, all mapped to [-1, 1] by their "
        "bounds); for logistic coefficients: normal(0, 2.5) with features: normal(0, 1) and variance: "
        "inverse_gamma(2, 0.1) (of every feature given those before it, mapped alike); for categorical "
        "levels: [a, b, c] or factors: {sex: [F, M], smoker: [no, yes]} (independent factors of a table), "
        "with probabilities: dirichlet(1).\n"
        "The statistic is YAML: statistic: mean, sum, moments (means of x and of x^2), counts, "
        "regression-moments or logistic-score (as tacit release writes them); value: a number or a list "
        "(counts: the last factor fastest); lower and upper: the clamp bounds of a record; mechanism: "
        "gaussian, classical-gaussian (scale sqrt(2 ln(1.25/delta)) sensitivity / epsilon), laplace, "
        "discrete-gaussian or discrete-laplace; and either scale: the noise's sd or scale in units of the "
        "value, or epsilon: and delta:, from which it follows by the sensitivity under replacing one record "
        "(gaussian: the smallest valid noise). sensitivity: sets another one; step: is the grid to which "
        "gaussian records were rounded under discrete noise; n: as --n.\n"
        "Or MODEL is the program of one record, FILE.stan, with a block statistic { table = count(band); "
        "total = sum(visits); } (docs/language.md). The statistic is then YAML: statistics: {table: "
        "{mechanism: geometric, scale: 2, value: [3, 17], rounded: 5, clamped: [0, inf]}}, by name, where "
        "rounded and clamped say what was done to noisy values and mechanism is gaussian, laplace, "
        "discrete-gaussian, discrete-laplace, geometric, none, randomised-response (truth: 0.75) or, of a "
        "quantile, exponential; and n: a number, or a release like these. Several --statistic are releases "
        "of the same records, or, where the files say records: NAME, of others; given: {site: 2} says what "
        "all of them have. docs/guide/infer.md has every key.\n"
        "Of margins (tacit release --statistic margins) no MODEL is needed: the records are those of the "
        "table of largest entropy; or records: table, with effects: normal(0, 2.5). tacit synthesize DIR "
        "then makes rows.",
    .examples = "  printf 'records: gaussian\\nmean: normal(0, 1)\\nsd: 0.5\\n' > model.yaml\n"
                "  printf 'statistic: mean\\nvalue: 0.31\\nlower: -1\\nupper: 1\\nmechanism: "
                "laplace\\nepsilon: 1\\n' > s_dp.yaml\n"
                "  tacit infer model.yaml --statistic s_dp.yaml --n 500 --out post/\n"
                "  tacit infer model.yaml --statistic s_dp.yaml --n 500 --method hmc --out post-hmc/\n"
                "  tacit infer model.yaml --statistic s_dp.yaml --n 500 --method hmc --path joint "
                "--step-size 0.03 \\\n"
                "        --leapfrog 20 --out as-in-the-paper/\n"
                "  tacit infer income.stan --statistic published.yaml --n 48210 --out post-income/\n"
                "  tacit summary post/\n",
    .task = TACIT_TASK_INFER,
    .required = {"out", "statistic"},
    .run = run_infer};
