#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "tacit/data.h"

/* Whoever checks records holds them: what was done to them, and what they may be, is for those eyes. */
static tacit_status_t check_records(const cli_args_t *args, const tacit_schema_t *schema,
                                    const tacit_data_source_t *source, tacit_schema_report_t *report,
                                    tacit_error_t *err) {
  tacit_status_t status = tacit_schema_report_records(schema, source, report, err);
  if (status != TACIT_OK) {
    return status;
  }
  printf("ok: every row of the data keeps the schema's rules\n");
  cli_put(stderr, report->for_holder);
  if (cli_is_given(args, "curator-notes")) {
    fprintf(stderr,
            "FOR THE CURATOR ONLY - not covered by any privacy guarantee\n"
            "  rows used %zu, units %zu, values clamped %zu, missing values %zu, rows beyond max_rows %zu\n",
            report->n_rows, report->n_units, report->notes.n_clamped, report->notes.n_missing,
            report->notes.n_rows_dropped);
  }
  return TACIT_OK;
}

static int check_schema(const cli_args_t *args) {
  const tacit_data_source_t source = cli_source(args, cli_value(args, "data"));
  tacit_schema_t *schema;
  tacit_schema_report_t report;
  tacit_error_t err;
  if (tacit_schema_read(&schema, args->positionals[0], &err) != TACIT_OK) {
    return cli_fail(args, &err);
  }
  tacit_status_t status = tacit_schema_report(schema, &report, &err);
  if (status == TACIT_OK) {
    cli_put(stdout, report.says);
    cli_put(stderr, report.warns);
  }
  if (status == TACIT_OK && source.path != NULL) {
    status = check_records(args, schema, &source, &report, &err);
  }
  tacit_schema_report_clear(&report);
  tacit_schema_free(schema);
  return status == TACIT_OK ? CLI_OK : cli_fail(args, &err);
}

static int draft(const cli_args_t *args) {
  char *text;
  tacit_error_t err;
  const tacit_data_source_t source = cli_source(args, args->positionals[0]);
  tacit_status_t status = tacit_schema_draft_source(&source, cli_is_given(args, "header"), &text, &err);
  if (status == TACIT_OK) {
    status = cli_write(args, text, strlen(text), &err);
    tacit_text_free(text);
  }
  return status == TACIT_OK ? CLI_OK : cli_fail(args, &err);
}

static const tacit_setting_t check_options[] = {
    {"data", "FILE", NULL,
     "Check every row of this file (-: the standard input; odbc:NAME: a database), or directory of tacit "
     "import, against the schema too.",
     CLI_TEXT},
    CLI_SOURCE_OPTIONS,
    {"curator-notes", NULL, NULL, "Print private counts to standard error, for the holder of the data only.",
     CLI_FLAG},
    {0}};

const cli_command_t cli_schema_check = {
    .name = "schema check",
    .positionals = "SCHEMA",
    .n_positionals = 1,
    .summary = "check a schema, and data against it",
    .description =
        "Says what is wrong with a schema, naming file, line and column, or that all is well. Errors of data "
        "name the place, never the value; they are meant for whoever holds the file.",
    .examples = "  tacit schema check flchain.yaml\n  tacit schema check flchain.yaml --data flchain.csv\n",
    .options = check_options,
    .reads_records = true,
    .run = check_schema};

static const tacit_setting_t draft_options[] = {
    {"out", "FILE", NULL, "Write here instead of standard output; must not exist.", CLI_TEXT},
    CLI_SOURCE_OPTIONS,
    {"header", NULL, NULL, "The first row is names, though some look like numbers, dates or values.",
     CLI_FLAG},
    {0}};

const cli_command_t cli_schema_draft = {
    .name = "schema draft",
    .positionals = "FILE",
    .n_positionals = 1,
    .summary = "write a template of a schema for a data file",
    .description = "Writes a template with the names of FILE's columns, and questions (\"?\") for type, "
                   "bounds and levels: those must come from public knowledge, since what is read off private "
                   "data is an unpaid release. A first row that looks like a record is asked about, not used "
                   "for names. tacit schema check says what is still to be filled in.",
    .examples = "  tacit schema draft clinic.csv --out clinic.yaml\n",
    .options = draft_options,
    .reads_records = true,
    .run = draft};
