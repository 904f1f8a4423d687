/* tacit check: how a fit's records lie beside its predictions, as a charged release. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "cli/commands.h"
#include "tacit/fit.h"

static tacit_status_t read_all(const cli_args_t *args, tacit_fit_t **fit, tacit_error_t *err) {
  tacit_status_t status = tacit_fit_begin_check(fit, args->positionals[0], cli_value(args, "schema"), err);
  TACIT_THEN(status, cli_set_fit(args, *fit, err));
  return status == TACIT_OK ? tacit_fit_read(*fit, NULL, err) : status;
}

static tacit_status_t show(const tacit_fit_t *fit, const tacit_fit_check_t *check, const char *out,
                           tacit_error_t *err) {
  char *text = NULL, *json = NULL;
  tacit_status_t status = tacit_fit_check_text(fit, check, &text, err);
  if (status == TACIT_OK) {
    cli_put(stdout, text);
    status = out != NULL ? tacit_fit_check_json(fit, check, &json, err) : TACIT_OK;
  }
  if (json != NULL) {
    status = tacit_file_create(out, json, strlen(json), err);
    if (status != TACIT_OK) { /* it was paid for, and is to be had all the same */
      fprintf(stderr, "the file that could not be written follows on standard output\n");
      cli_put(stdout, json);
    }
  }
  tacit_free(text);
  tacit_free(json);
  return status;
}

static int run_check(const cli_args_t *args) {
  tacit_fit_t *fit = NULL;
  tacit_fit_check_t check;
  tacit_error_t err;
  tacit_status_t status = tacit_settings_check_out(&args->given, false, &err);
  TACIT_THEN(status, read_all(args, &fit, &err));
  TACIT_THEN(status, tacit_fit_check(fit, cli_value(args, "by"), &check, &err));
  TACIT_THEN(status, show(fit, &check, cli_value(args, "out"), &err));
  if (fit != NULL) {
    fputs(tacit_fit_text(fit, TACIT_FIT_TEXT_UNSETTLED), stderr);
  }
  tacit_fit_free(fit);
  return status == TACIT_OK ? CLI_OK : cli_fail(args, &err);
}

const cli_command_t cli_check = {
    .name = "check",
    .positionals = "DIR",
    .n_positionals = 1,
    .summary = "put a fit beside its records: calibration, residuals, shape, over-dispersion, charged",
    .description =
        "Predicts every record by the fit in DIR (noise-aware) and releases, with noise and under a budget "
        "of its own, how many records lie in each tenth of the predictions and how far their responses are "
        "from them; with --by also in bins of a term, and for counts whether they scatter more than Poisson, "
        "of linear regressions whether errors are normal and of the fit's sigma. Tenths are those of the "
        "fit's own pseudo-population: cut points were released before. sd is what noise, sampling and the "
        "posterior explain if the fit is right; z beyond 4 or so, or a verdict, is misfit. Poisson: "
        "residuals are Pearson's, clamped to 3 either way; gaussian: in the response's unit, clamped to 3 "
        "sigma. Programs, and families that are programs: of the fit's distribution of each response the "
        "share of responses in each tenth, 10 % if the fit is right (Shape), and residuals from -1 to 1 by "
        "tenths of the predictions and, with --by, of a column that the program looks at. Small budgets see "
        "gross misfit alone: the table says how gross.",
    .examples =
        "  tacit check fit/ --data clinic.csv --epsilon 0.2 --delta 1e-7 --by age --ledger clinic.ledger\n",
    .task = TACIT_TASK_CHECK,
    .required = {"data", "epsilon", "delta"},
    .reads_records = true,
    .run = run_check};
