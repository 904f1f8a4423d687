#include <stdio.h>

#include "cli/commands.h"
#include "cli/result.h"
#include "report/report_internal.h"
#include "tacit/report.h"

static const char *const words[] = {"note", "warning", "problem"};

static int print_json(const cli_args_t *args, const tacit_findings_t *findings) {
  tacit_text_t text = {0};
  for (size_t i = 0; i < findings->n; i++) {
    const tacit_finding_t *finding = &findings->items[i];
    tacit_text_printf(&text, "%s{\"severity\": \"%s\", \"what\": ", i > 0 ? ",\n " : "[",
                      words[finding->severity]);
    tacit_text_json_string(&text, finding->what);
    tacit_text_printf(&text, ", \"advice\": ");
    tacit_text_json_string(&text, finding->advice);
    tacit_text_printf(&text, "}");
  }
  int status = CLI_OK;
  if (text.failed) {
    cli_error(args, "out of memory");
    status = CLI_FAILURE;
  } else {
    printf("%s]\n", findings->n > 0 ? text.data : "[");
  }
  tacit_text_clear(&text);
  return status;
}

static int run_diagnose(const cli_args_t *args) {
  tacit_report_read_t read;
  tacit_findings_t findings;
  tacit_error_t err;
  int status = CLI_OK;
  if (tacit_report_read(&read, args->positionals[0], &err) != TACIT_OK ||
      tacit_diagnose_fit(&read.draws, (const char *const *)read.labels, &read.published,
                         &read.evidence.checks, &findings, &err) != TACIT_OK) {
    status = cli_fail(args, &err);
  } else {
    if (cli_is_given(args, "json")) {
      status = print_json(args, &findings);
    } else {
      cli_print_findings(stdout, &findings, findings.n, true, &read.evidence.checks);
    }
    status = status == CLI_OK && findings.worst == TACIT_SEVERITY_PROBLEM ? CLI_PROBLEMS : status;
  }
  tacit_report_read_clear(&read);
  return status;
}

static const tacit_setting_t options[] = {{"json", NULL, NULL, "Print JSON.", CLI_FLAG}, {0}};

const cli_command_t cli_diagnose = {
    .name = "diagnose",
    .positionals = "DIR",
    .n_positionals = 1,
    .summary = "say what is wrong with a fit's sampling, and what to do",
    .description =
        "Reads the draws in DIR and says in words whether the chains moved, agree, arrived, and have enough "
        "effective draws; from diagnostics.json, whether proposals were accepted, how much privacy noise the "
        "acceptance test and the gradients had, and how many moves diverged; of noise-aware, what its "
        "releases say of the features' scales, the prior's share and more, each with its statistic and "
        "threshold. All of it is released already: looking costs no privacy. Exit status 5 if something "
        "makes the results unusable. What only the holder of the data may see (how much was clipped) is "
        "shown by tacit fit --curator-notes, and nowhere else.",
    .examples = "  tacit diagnose fit/\n",
    .options = options,
    .run = run_diagnose};
