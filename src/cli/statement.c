/* tacit statement: the page about a fit that an officer signs. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "tacit/report.h"

static bool ends_in(const char *path, const char *end) {
  size_t n = strlen(path), m = strlen(end);
  return n > m && strcmp(path + n - m, end) == 0;
}

static int run(const cli_args_t *args) {
  const char *out = cli_value(args, "out");
  char *text;
  tacit_error_t err;
  if (out != NULL && !ends_in(out, ".html") && !ends_in(out, ".txt")) {
    cli_error(args, "--out must end in .html or .txt, which says what is written, not '%s'", out);
    return CLI_USAGE;
  }
  tacit_status_t status = tacit_report_statement_page(args->positionals[0], out != NULL && ends_in(out, ".html"), &text, &err);
  if (status != TACIT_OK) {
    return cli_fail(args, &err);
  }
  if (out != NULL) {
    status = tacit_file_create(out, text, strlen(text), &err);
  } else {
    fputs(text, stdout);
  }
  tacit_report_text_free(text);
  return status == TACIT_OK ? CLI_OK : cli_fail(args, &err);
}

static const cli_option_t options[] = {
    {"out", "FILE", NULL, "Write there: a page if it ends in .html, text if in .txt; must not exist. Text on standard output if not given."},
};

const cli_command_t cli_statement = {
    .name = "statement",
    .positionals = "DIR",
    .n_positionals = 1,
    .summary = "write the page about a fit that a privacy officer signs",
    .description = "One page in the terms of NIST SP 800-226: the claim and what it means in chances, mechanism and composition, trust model, what is "
                   "outside, schema, ledger, version, how to check it, and a place to sign. From the files of the fit alone: neither records "
                   "nor a ledger are needed. The releases listed are composed again, and a claim that they exceed is refused.",
    .examples = "  tacit statement fit/\n  tacit statement fit/ --out statement.html\n",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .run = run};
