#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "tacit/data.h"

static int check_data(const cli_args_t *args, const tacit_schema_t *schema, const char *path) {
  tacit_table_t *table;
  tacit_table_notes_t notes;
  tacit_error_t err;
  if (tacit_table_read(&table, path, schema, NULL, 0, &notes, &err) != TACIT_OK) {
    return cli_fail(args, &err);
  }
  if (tacit_table_verify(table, schema, &err) != TACIT_OK) {
    tacit_table_free(table);
    return cli_fail(args, &err);
  }
  printf("ok: every row of the data keeps the schema's rules\n");
  if (cli_is_given(args, "curator-notes")) {
    size_t n_units;
    tacit_table_unit_offsets(table, &n_units);
    fprintf(stderr,
            "FOR THE CURATOR ONLY - not covered by any privacy guarantee\n"
            "  rows used %zu, units %zu, values clamped %zu, missing values replaced %zu, rows beyond max_rows %zu\n",
            tacit_table_n_rows(table), n_units, notes.n_clamped, notes.n_missing, notes.n_rows_dropped);
  }
  tacit_table_free(table);
  return CLI_OK;
}

static int check(const cli_args_t *args) {
  tacit_schema_t *schema;
  tacit_error_t err;
  if (tacit_schema_read(&schema, args->positionals[0], &err) != TACIT_OK) {
    return cli_fail(args, &err);
  }
  printf("ok: %zu columns, relation %s, unit %s\n", tacit_schema_n_columns(schema),
         tacit_relation_string(tacit_schema_relation(schema)),
         tacit_schema_unit(schema) != NULL ? tacit_schema_unit(schema) : "row");
  const char *data = cli_value(args, "data");
  int status = data != NULL ? check_data(args, schema, data) : CLI_OK;
  tacit_schema_free(schema);
  return status;
}

static int draft(const cli_args_t *args) {
  char *text;
  tacit_error_t err;
  if (tacit_schema_draft(args->positionals[0], &text, &err) != TACIT_OK) {
    return cli_fail(args, &err);
  }
  const char *out = cli_value(args, "out");
  int status = CLI_OK;
  if (out == NULL) {
    fputs(text, stdout);
  } else if (tacit_file_write(out, text, strlen(text), &err) != TACIT_OK) {
    status = cli_fail(args, &err);
  }
  tacit_text_free(text);
  return status;
}

static const cli_option_t check_options[] = {
    {"data", "FILE", NULL, "Check every row of this CSV file, or directory of tacit import, against the schema too."},
    {"curator-notes", NULL, NULL, "Print private counts to standard error, for the holder of the data only."}};

const cli_command_t cli_schema_check = {
    .name = "schema check",
    .positionals = "SCHEMA",
    .n_positionals = 1,
    .summary = "check a schema, and data against it",
    .description = "Says what is wrong with a schema, naming file, line and column, or that all is well. Errors of data "
                   "name the place, never the value; they are meant for whoever holds the file.",
    .examples = "  tacit schema check flchain.yaml\n  tacit schema check flchain.yaml --data flchain.csv\n",
    .options = check_options,
    .n_options = sizeof check_options / sizeof check_options[0],
    .run = check};

static const cli_option_t draft_options[] = {{"out", "FILE", NULL, "Write here instead of standard output."}};

const cli_command_t cli_schema_draft = {
    .name = "schema draft",
    .positionals = "FILE",
    .n_positionals = 1,
    .summary = "write a template of a schema for a CSV file",
    .description = "Writes a template with the columns of FILE and guessed types, but without bounds or levels: those must "
                   "come from public knowledge, since a bound read off private data is an unpaid release.",
    .examples = "  tacit schema draft clinic.csv --out clinic.yaml\n",
    .options = draft_options,
    .n_options = sizeof draft_options / sizeof draft_options[0],
    .run = draft};
