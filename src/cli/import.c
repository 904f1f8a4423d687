#include <stdio.h>

#include "cli/commands.h"
#include "cli/reading.h"
#include "cli/result.h"
#include "tacit/data.h"

static void print_notes(const tacit_table_notes_t *notes) {
  fprintf(stderr,
          "FOR THE CURATOR ONLY - not covered by any privacy guarantee\n"
          "  values clamped %zu, missing values %zu, rows beyond max_rows %zu\n",
          notes->n_clamped, notes->n_missing, notes->n_rows_dropped);
}

static int run_import(const cli_args_t *args) {
  tacit_schema_t *schema;
  tacit_table_notes_t notes;
  tacit_error_t err;
  const char *out = cli_value(args, "out");
  if (tacit_schema_read(&schema, cli_value(args, "schema"), &err) != TACIT_OK) {
    return cli_fail(args, &err);
  }
  cli_reading_t reading;
  cli_reading_begin(&reading, args);
  cli_catch_signals();
  tacit_data_source_t source = cli_source(args, args->positionals[0]);
  source.watch = &reading.watch;
  tacit_status_t status = tacit_table_import_source(&source, schema, out, &notes, &err);
  cli_reading_end(&reading);
  tacit_schema_free(schema);
  if (status != TACIT_OK) {
    return cli_fail(args, &err);
  }
  printf("written: %s. PRIVATE: it holds the records, only their owner can open it; --data %s reads it\n",
         out, out);
  if (cli_is_given(args, "curator-notes")) {
    print_notes(&notes);
  }
  return CLI_OK;
}

static const tacit_setting_t options[] = {
    {"schema", "FILE", NULL, "YAML: the rules that values are checked and clamped by, once and for all.",
     CLI_TEXT},
    {"out", "DIR", NULL,
     "New directory for the columns. It is as private as FILE is, and as large as 8 bytes a value.",
     CLI_TEXT},
    CLI_SOURCE_OPTIONS,
    {"curator-notes", NULL, NULL, "Print private counts to standard error, for the holder of the data only.",
     CLI_FLAG},
    {0}};

const cli_command_t cli_import = {
    .name = "import",
    .positionals = "FILE",
    .n_positionals = 1,
    .summary = "convert a data file once, for data larger than memory",
    .description =
        "Checks every row of FILE (-: the standard input; odbc:NAME: a database) against the schema and "
        "writes all columns of the schema to a directory, one binary file each, in one pass and in memory "
        "that does not grow with the rows (but with the persons, where they are the unit of privacy). tacit "
        "fit, tacit release and tacit schema check take the directory as --data: they map the columns they "
        "need instead of reading text, and give the same results.\n"
        "The directory is PRIVATE: it holds the records, and only their owner can open it (mode 0700). It "
        "appears whole or not at all: an import that is interrupted removes what it wrote, and what one that "
        "was killed (kill -9, a power failure) left as DIR.tmp-NUMBER the next import to DIR removes. A "
        "schema that changes a column's rules needs another import. The files are for little-endian machines "
        "of 64 bits, and must not be changed while a program reads them.",
    .examples = "  tacit import flchain.csv --schema flchain.yaml --out flchain.columns/\n"
                "  psql -c 'copy visits to stdout csv header' clinic | tacit import - --schema clinic.yaml "
                "--out c.columns/\n"
                "  tacit fit 'death ~ age + sex' --family bernoulli --data flchain.columns/ --schema "
                "flchain.yaml \\\n"
                "        --epsilon 1 --delta 1e-6 --out fit/\n",
    .options = options,
    .required = {"schema", "out"},
    .reads_records = true,
    .run = run_import};
