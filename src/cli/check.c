/* tacit check: how a fit's records lie beside its predictions, as a charged release. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "report/report_internal.h"
#include "tacit/report.h"

/* Fits that are right are flagged less than once in 10^6 checks. */
static const double flagged = 4.9;

static bool is_own(const char *name) {
  return strcmp(name, "schema") == 0 || strcmp(name, "by") == 0 || strcmp(name, "out") == 0;
}

static void print_bins(const char *title, const char *heading, const tacit_fit_check_bin_t *bins, size_t n, bool is_counts) {
  printf("%s\n%24s %9s %10s %10s %9s %6s\n", title, heading, "about", "predicted", is_counts ? "residual" : "observed", "sd", "z");
  for (size_t b = 0; b < n; b++) {
    char range[48];
    snprintf(range, sizeof range, "%.4g to %.4g", bins[b].low, bins[b].high);
    printf("%24s %9.0f %10.4g %10.4g %9.3g %6.1f\n", range, bins[b].count, bins[b].predicted, bins[b].residual + (is_counts ? 0 : bins[b].predicted), bins[b].sd,
           bins[b].residual / bins[b].sd);
  }
}

static void print_verdict(const char *what, double z) {
  printf("%s: %s (z %.1f)\n\n", what,
         z > flagged ? "the fit does not describe these records" : z > 2 ? "some sign of misfit, no more than chance can make now and then" : "nothing that noise and sampling do not explain", z);
}

static void print_check(const tacit_fit_check_t *check, bool is_counts) {
  print_bins("Calibration", "predicted mean", check->bins, check->n_bins, is_counts);
  print_verdict("calibration", check->misfit);
  if (check->n_by > 0) {
    cli_put(stdout, check->by_label);
    print_bins("", "range", check->by, check->n_by, is_counts);
    print_verdict("by term", check->by_misfit);
  }
  if (!isnan(check->excess)) {
    printf("over-dispersion: squared Pearson residuals (each at most 9) exceed what the family says by %.3g on average, sd %.2g\n", check->excess, check->excess_sd);
    print_verdict("over-dispersion", fabs(check->excess / check->excess_sd));
  }
}

static void put_number(tacit_text_t *text, const char *name, double x) {
  tacit_text_printf(text, ", \"%s\": ", name);
  tacit_text_json_number(text, x);
}

static void put_bins(tacit_text_t *text, const char *name, const tacit_fit_check_bin_t *bins, size_t n) {
  tacit_text_printf(text, ",\n  \"%s\": [", name);
  for (size_t b = 0; b < n; b++) {
    tacit_text_printf(text, "%s\n    {\"low\": ", b > 0 ? "," : "");
    tacit_text_json_number(text, bins[b].low);
    put_number(text, "high", bins[b].high);
    put_number(text, "count", bins[b].count);
    put_number(text, "predicted", bins[b].predicted);
    put_number(text, "residual", bins[b].residual);
    put_number(text, "sd", bins[b].sd);
    tacit_text_append(text, "}", 1);
  }
  tacit_text_printf(text, "\n  ]");
}

static tacit_status_t write_json(const char *out, const tacit_fit_t *fit, const tacit_fit_check_t *check, tacit_error_t *err) {
  tacit_text_t text = {0};
  tacit_guarantee_t promised = tacit_fit_promised(fit);
  tacit_text_printf(&text, "{\n  \"format\": \"tacit check\",\n  \"version\": 1,\n  \"fit\": \"%s\",\n  \"private\": %s", check->fit,
                    tacit_fit_is_private(fit) ? "true" : "false");
  put_number(&text, "epsilon", promised.epsilon);
  put_number(&text, "delta", promised.delta);
  put_number(&text, "misfit_z", check->misfit);
  put_number(&text, "by_misfit_z", check->by_misfit);
  put_number(&text, "excess", check->excess);
  put_number(&text, "excess_sd", isnan(check->excess) ? NAN : check->excess_sd);
  put_bins(&text, "calibration", check->bins, check->n_bins);
  if (check->n_by > 0) {
    tacit_text_printf(&text, ",\n  \"term\": ");
    tacit_text_json_string(&text, check->by_label);
    put_bins(&text, "by_term", check->by, check->n_by);
  }
  tacit_text_printf(&text, "\n}\n");
  tacit_status_t status = text.failed ? tacit_error_memory(err) : tacit_file_create(out, text.data, text.length, err);
  tacit_text_clear(&text);
  return status;
}

/* What the fit and its check promise together, by adding up; a ledger composes more tightly. */
static void print_total(const tacit_fit_t *fit, const char *path) {
  tacit_report_read_t read;
  tacit_error_t err;
  tacit_guarantee_t promised = tacit_fit_promised(fit);
  fputs(tacit_fit_text(fit, TACIT_FIT_TEXT_SPENT), stdout);
  if (tacit_report_read(&read, path, &err) == TACIT_OK) {
    if (read.is_private && tacit_fit_is_private(fit)) {
      printf("with the fit: at most epsilon %.6g at delta %g; a ledger of both says less\n", read.epsilon + promised.epsilon, read.delta + promised.delta);
    }
    tacit_report_read_clear(&read);
  }
}

static tacit_status_t read_all(const cli_args_t *args, tacit_fit_t **fit, tacit_error_t *err) {
  tacit_status_t status = tacit_fit_begin_check(fit, args->positionals[0], cli_value(args, "schema"), err);
  for (size_t i = 0; i < args->n_given && status == TACIT_OK; i++) {
    status = is_own(args->given[i].name) ? TACIT_OK : tacit_fit_set(*fit, args->given[i].name, args->given[i].value, err);
  }
  return status == TACIT_OK ? tacit_fit_read(*fit, NULL, err) : status;
}

static int run(const cli_args_t *args) {
  static const char *const required[] = {"data", "epsilon", "delta"};
  tacit_fit_t *fit = NULL;
  tacit_fit_check_t check;
  tacit_error_t err;
  const char *out = cli_value(args, "out");
  if (!cli_require(args, required, 3)) {
    return CLI_USAGE;
  }
  bool is_taken = out != NULL && access(out, F_OK) == 0; /* before anything is spent */
  tacit_status_t status = is_taken ? tacit_error_set(&err, TACIT_ERR_EXISTS, "out", "%s exists: choose another --out, or remove it", out) : TACIT_OK;
  if (status == TACIT_OK) {
    status = read_all(args, &fit, &err);
  }
  if (status == TACIT_OK) {
    status = tacit_fit_check(fit, cli_value(args, "by"), &check, &err);
  }
  if (status == TACIT_OK) {
    print_check(&check, !isnan(check.excess));
    print_total(fit, args->positionals[0]);
    status = out != NULL ? write_json(out, fit, &check, &err) : TACIT_OK;
  }
  if (fit != NULL) {
    fputs(tacit_fit_text(fit, TACIT_FIT_TEXT_UNSETTLED), stderr);
  }
  tacit_fit_free(fit);
  return status == TACIT_OK ? CLI_OK : cli_fail(args, &err);
}

static const cli_option_t options[] = {
    {"data", "FILE", NULL, "The fit's records, as of tacit fit."},
    {"schema", "FILE", NULL, "Must be the fit's; its own copy is taken if not said."},
    {"epsilon", "E", NULL, "Privacy budget of the check; what it buys are the sds in the table."},
    {"delta", "D", NULL, "Its delta."},
    {"by", "TERM", NULL, "Also residuals in bins of this term of the formula, for a quarter of the budget."},
    {"ledger", "FILE", NULL, "Ledger of these data, that of the fit: the check is a spend of its own there."},
    {"data-id", "NAME", NULL, "Refuse if the ledger is of another data set."},
    {"purpose", "TEXT", NULL, "What the ledger shall say; check and formula if not said."},
    {"n-public", "N", NULL, "Public nominal number of units; needed under add-remove."},
    {"threads", "N", "1", "Threads; results do not depend on it."},
    {"seed", "N", NULL, "Repeatable check. Noise that can be repeated protects nobody: NOT PRIVATE."},
    {"out", "FILE", NULL, "Write the check as JSON, too; must not exist. tacit refit DIR --check FILE puts it into a report."}};

const cli_command_t cli_check = {
    .name = "check",
    .positionals = "DIR",
    .n_positionals = 1,
    .summary = "put a fit beside its records: calibration, residuals, over-dispersion, charged",
    .description = "Predicts every record by the fit in DIR (noise-aware; bernoulli or poisson) and releases, with noise and under a budget of its own, how many "
                   "records lie in each tenth of the predictions and how far their responses are from them; with --by also in bins of a term, and for "
                   "counts whether they scatter more than Poisson. Tenths are those of the fit's own pseudo-population: cut points were released "
                   "before. sd is what noise, sampling and the posterior explain if the fit is right; z beyond 4 or so, or a verdict, is misfit. "
                   "Poisson: residuals are Pearson's, clamped to 3 either way. Small budgets see gross misfit alone: the table says how gross.",
    .examples = "  tacit check fit/ --data clinic.csv --epsilon 0.2 --delta 1e-7 --by age --ledger clinic.ledger\n",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .reads_records = true,
    .run = run};
