/* tacit statement: the page about a fit, or about a data set by its ledger, that an officer signs. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "tacit/report.h"

static bool ends_in(const char *path, const char *end) {
  size_t n = strlen(path), m = strlen(end);
  return n > m && strcmp(path + n - m, end) == 0;
}

/* By the end of its name; false after saying what is wrong. */
static bool kind_of(const cli_args_t *args, bool is_of_ledger, tacit_page_kind_t *kind) {
  const char *out = cli_value(args, "out");
  bool is_json = out != NULL && ends_in(out, ".json");
  *kind = is_json                                ? TACIT_PAGE_JSON
          : out != NULL && ends_in(out, ".html") ? TACIT_PAGE_HTML
                                                 : TACIT_PAGE_TEXT;
  if (is_json && !is_of_ledger) {
    cli_error(
        args,
        "an entry for a registry, .json, is of a ledger: give --ledger; of a fit there are .html and .txt");
    return false;
  }
  if (out != NULL && !is_json && *kind == TACIT_PAGE_TEXT && !ends_in(out, ".txt")) {
    cli_error(args, "--out must end in .html or .txt%s, which says what is written, not '%s'",
              is_of_ledger ? " or .json" : "", out);
    return false;
  }
  return true;
}

static int run_statement(const cli_args_t *args) {
  const char *ledger = cli_value(args, "ledger");
  tacit_page_kind_t kind;
  char *text;
  tacit_error_t err;
  if ((ledger != NULL) == (args->n_positionals > 0)) {
    cli_error(args, ledger != NULL
                        ? "give a fit's directory or --ledger, not both"
                        : "of what? Give a fit's directory, or --ledger LEDGER for all runs on a data set");
    return CLI_USAGE;
  }
  if (!kind_of(args, ledger != NULL, &kind)) {
    return CLI_USAGE;
  }
  tacit_status_t status = ledger != NULL ? tacit_report_ledger_page(ledger, kind, &text, &err)
                                         : tacit_report_statement_page(args->positionals[0],
                                                                       kind == TACIT_PAGE_HTML, &text, &err);
  if (status == TACIT_OK) {
    status = cli_write(args, text, strlen(text), &err);
    tacit_report_text_free(text);
  }
  return status == TACIT_OK ? CLI_OK : cli_fail(args, &err);
}

static const tacit_setting_t options[] = {
    {"ledger", "LEDGER", NULL,
     "In place of DIR: of all runs on a data set, those to come included, from its ledger.", CLI_TEXT},
    {"out", "FILE", NULL,
     "Write there: a page if it ends in .html, text if in .txt, an entry for a registry if in .json "
     "(--ledger alone); must not exist. Text on standard output if not given.",
     CLI_TEXT},
    {0}};

const cli_command_t cli_statement = {
    .name = "statement",
    .positionals = "[DIR]",
    .n_positionals = 0,
    .n_optional = 1,
    .summary = "write the page about a fit, or about a data set, that a privacy officer signs",
    .description =
        "One page in the terms of NIST SP 800-226: the claim and what it means in chances, mechanism and "
        "composition, trust model, what is outside, schema, ledger, version, how to check it, and a place to "
        "sign. From the files of the fit alone: neither records nor a ledger are needed. The releases listed "
        "are composed again, and a claim that they exceed is refused. With --ledger it is of a data set: "
        "what its ledger promises for all runs together, and every run; the ledger is verified. The entry "
        "for a registry (.json) says the same without names of people, machines and files; purposes are in "
        "it as they were typed.",
    .examples = "  tacit statement fit/\n  tacit statement fit/ --out statement.html\n  tacit statement "
                "--ledger clinic.ledger --out clinic.html\n"
                "  tacit statement --ledger clinic.ledger --out clinic.json\n",
    .options = options,
    .run = run_statement};
