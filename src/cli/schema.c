#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "tacit/data.h"

/* Whoever checks records holds them: what was done to them, and what they may be, is for those eyes. */
static void print_holder_notes(const tacit_table_t *table, const tacit_schema_t *schema) {
  char text[512];
  const char *identifier = tacit_table_identifier(table);
  for (size_t i = 0; i < tacit_schema_n_columns(schema); i++) {
    const tacit_column_schema_t *column = tacit_schema_column(schema, i);
    tacit_column_notes_t notes = tacit_table_column_notes(table, column->name);
    tacit_column_notes_say(column, &notes, tacit_table_n_rows(table), false, text, sizeof text);
    if (text[0] != '\0') {
      fprintf(stderr, "for the holder of the data only: ");
      cli_put(stderr, text);
      fputc('\n', stderr);
    }
  }
  if (identifier[0] != '\0') {
    fprintf(stderr, "question: column '");
    cli_put(stderr, identifier);
    fprintf(stderr, "' seems to say whose record it is, and the unit is a row: if one person has several rows, each row is protected, the person "
                    "is not; then give the column type id, and say unit: and max_rows:\n");
  }
}

static int check_data(const cli_args_t *args, const tacit_schema_t *schema) {
  const tacit_data_source_t source = cli_source(args, cli_value(args, "data"));
  tacit_table_t *table;
  tacit_table_notes_t notes;
  tacit_error_t err;
  if (tacit_table_read_source(&table, &source, schema, NULL, 0, &notes, &err) != TACIT_OK) {
    return cli_fail(args, &err);
  }
  if (tacit_table_verify(table, schema, &err) != TACIT_OK) {
    tacit_table_free(table);
    return cli_fail(args, &err);
  }
  printf("ok: every row of the data keeps the schema's rules\n");
  print_holder_notes(table, schema);
  if (cli_is_given(args, "curator-notes")) {
    size_t n_units;
    tacit_table_unit_offsets(table, &n_units);
    fprintf(stderr,
            "FOR THE CURATOR ONLY - not covered by any privacy guarantee\n"
            "  rows used %zu, units %zu, values clamped %zu, missing values %zu, rows beyond max_rows %zu\n",
            tacit_table_n_rows(table), n_units, notes.n_clamped, notes.n_missing, notes.n_rows_dropped);
  }
  tacit_table_free(table);
  return CLI_OK;
}

/* From the schema alone. */
static void warn_of_constants(const tacit_schema_t *schema) {
  for (size_t i = 0; i < tacit_schema_n_columns(schema); i++) {
    const tacit_column_schema_t *column = tacit_schema_column(schema, i);
    if (column->type == TACIT_COLUMN_CATEGORICAL && column->n_levels == 1) {
      fprintf(stderr, "warning: column '");
      cli_put(stderr, column->name);
      fprintf(stderr, "' has a single level: it says nothing, and no formula takes it\n");
    }
  }
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
  warn_of_constants(schema);
  const char *data = cli_value(args, "data");
  int status = data != NULL ? check_data(args, schema) : CLI_OK;
  tacit_schema_free(schema);
  return status;
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

static const cli_option_t check_options[] = {
    {"data", "FILE", NULL, "Check every row of this file (-: the standard input; odbc:NAME: a database), or directory of tacit import, against the schema too."},
    CLI_SOURCE_OPTIONS,
    {"curator-notes", NULL, NULL, "Print private counts to standard error, for the holder of the data only."}, {0}};

const cli_command_t cli_schema_check = {
    .name = "schema check",
    .positionals = "SCHEMA",
    .n_positionals = 1,
    .summary = "check a schema, and data against it",
    .description = "Says what is wrong with a schema, naming file, line and column, or that all is well. Errors of data "
                   "name the place, never the value; they are meant for whoever holds the file.",
    .examples = "  tacit schema check flchain.yaml\n  tacit schema check flchain.yaml --data flchain.csv\n",
    .options = check_options,
    .reads_records = true,
    .run = check};

static const cli_option_t draft_options[] = {
    {"out", "FILE", NULL, "Write here instead of standard output; must not exist."},
    CLI_SOURCE_OPTIONS,
    {"header", NULL, NULL, "The first row is names, though some look like numbers, dates or values."}, {0}};

const cli_command_t cli_schema_draft = {
    .name = "schema draft",
    .positionals = "FILE",
    .n_positionals = 1,
    .summary = "write a template of a schema for a data file",
    .description = "Writes a template with the names of FILE's columns, and questions (\"?\") for type, bounds and levels: those must "
                   "come from public knowledge, since what is read off private data is an unpaid release. A first row that looks like a "
                   "record is asked about, not used for names. tacit schema check says what is still to be filled in.",
    .examples = "  tacit schema draft clinic.csv --out clinic.yaml\n",
    .options = draft_options,
    .reads_records = true,
    .run = draft};
