/*
 * Help, man pages (mdoc-free roff) and shell completion, all from the same tables.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "tacit/base.h"

static const char *const exit_statuses =
    "0 success; 1 failure (files, memory); 2 usage; 3 bad data, schema or formula; 4 the budget refuses; 5 "
    "diagnose found a problem; 130 interrupted, draws so far written";

static const char *const instruction_set =
    "portable, avx2 or avx512: the instructions that records are summed with, instead of the widest that "
    "this processor has. Results are the same, to the last bit; only the time changes. Any other value, or "
    "one that the processor lacks, is refused (exit status 2). tacit --version says what is used. It holds "
    "for the libraries of C, Python and R, too, which read it once.";

enum { WIDTH = 78 };

/* Print words wrapped at WIDTH columns behind an indent; `at` is the current column. Returns where the last
 * line ends. */
static size_t wrap(const char *text, size_t indent, size_t at) {
  while (*text != '\0') {
    size_t n = strcspn(text, " \n");
    if (at + n + 1 > WIDTH && at > indent) {
      printf("\n%*s", (int)indent, "");
      at = indent;
    }
    printf("%s%.*s", at > indent ? " " : "", (int)n, text);
    at += n + (at > indent ? 1 : 0);
    text += n;
    if (*text == '\n') {
      printf("\n%*s", (int)indent, "");
      at = indent;
    }
    text += *text != '\0';
  }
  return at;
}

void cli_usage(const cli_command_t *command, char out[CLI_USAGE_SIZE]) {
  size_t n_options;
  cli_options(command, &n_options);
  snprintf(out, CLI_USAGE_SIZE, "tacit %s%s%s%s", command->name, n_options > 0 ? " [options]" : "",
           command->positionals[0] != '\0' ? " " : "", command->positionals);
}

void cli_help(const cli_command_t *command) {
  size_t n_options;
  const tacit_setting_t *options = cli_options(command, &n_options);
  char usage[CLI_USAGE_SIZE];
  cli_usage(command, usage);
  printf("tacit %s - %s\n\nUsage: %s\n\n", command->name, command->summary, usage);
  wrap(command->description, 0, 0);
  printf("\n");
  if (n_options > 0) {
    printf("\nOptions:\n");
  }
  for (size_t i = 0; i < n_options; i++) {
    const tacit_setting_t *option = &options[i];
    int n = printf("  --%s%s%s", option->name, option->value != NULL ? " " : "",
                   option->value != NULL ? option->value : "");
    printf(n < 26 ? "%*s" : "\n%*s", n < 26 ? 26 - n : 26, "");
    size_t at = wrap(option->help, 26, 26);
    if (option->fallback != NULL) {
      printf(at + strlen(option->fallback) + 12 > WIDTH ? "\n%*s" : " ", 26, "");
      printf("(default: %s)", option->fallback);
    }
    printf("\n");
  }
  printf("\nExamples:\n%s\nExit status: ", command->examples);
  wrap(exit_statuses, 0, 13);
  printf("\n");
}

/* Escape what roff would read as a request or an escape. */
static void roff(const char *text) {
  bool at_line_start = true;
  for (; *text != '\0'; text++) {
    if (*text == '\\') {
      printf("\\e");
    } else if (*text == '-') {
      printf("\\-");
    } else if ((*text == '.' || *text == '\'') && at_line_start) {
      printf("\\&%c", *text);
    } else {
      putchar(*text);
    }
    at_line_start = *text == '\n';
  }
}

void cli_man(const cli_command_t *command) {
  char title[64];
  size_t n_options;
  const tacit_setting_t *options = cli_options(command, &n_options);
  snprintf(title, sizeof title, "tacit-%s", command->name);
  for (char *s = title; *s != '\0'; s++) {
    *s = *s == ' ' ? '-' : *s;
  }
  printf(".TH \"%s\" 1 \"\" \"tacit %s\" \"User commands\"\n.SH NAME\n", title, tacit_version());
  roff(title);
  printf(" \\- ");
  roff(command->summary);
  printf("\n.SH SYNOPSIS\n.B tacit %s\n", command->name);
  printf(n_options > 0 ? "[options]\n" : "");
  if (command->positionals[0] != '\0') {
    printf(".I ");
    roff(command->positionals);
    printf("\n");
  }
  printf(".SH DESCRIPTION\n");
  roff(command->description);
  printf(n_options > 0 ? "\n.SH OPTIONS\n" : "\n");
  for (size_t i = 0; i < n_options; i++) {
    const tacit_setting_t *option = &options[i];
    printf(".TP\n\\fB\\-\\-");
    roff(option->name);
    printf("\\fR");
    if (option->value != NULL) {
      printf(" \\fI");
      roff(option->value);
      printf("\\fR");
    }
    printf("\n");
    roff(option->help);
    if (option->fallback != NULL) {
      printf(" Default: ");
      roff(option->fallback);
      printf(".");
    }
    printf("\n");
  }
  printf(".SH EXAMPLES\n.nf\n");
  roff(command->examples);
  printf(".fi\n");
  if (command->reads_records) {
    printf(".SH ENVIRONMENT\n.TP\n.B TACIT_INSTRUCTION_SET\n");
    roff(instruction_set);
    printf("\n");
  }
  printf(".SH EXIT STATUS\n");
  roff(exit_statuses);
  printf(".\n");
}

void cli_man_all(void) {
  printf(".TH \"TACIT\" 1 \"\" \"tacit %s\" \"User commands\"\n.SH NAME\ntacit \\- Bayesian inference under "
         "differential privacy\n"
         ".SH SYNOPSIS\n.B tacit\n.I COMMAND\n[options]\n.SH COMMANDS\n",
         tacit_version());
  for (size_t i = 0; i < cli_n_commands; i++) {
    printf(".TP\n.B ");
    roff(cli_commands[i]->name);
    printf("\n");
    roff(cli_commands[i]->summary);
    printf("\n");
  }
  printf(".SH FILES\n.TP\n.I schema\nYAML: what is publicly known of each column; see \n.BR tacit\\-schema "
         "(5).\n.TP\n.I fit/\n"
         "What a fit writes: draws\\-1.csv ... (Stan CSV), summary.csv, privacy.json, privacy.txt, run.yaml, "
         "diagnostics.json, report.html.\n.SH ENVIRONMENT\n.TP\n.B TACIT_INSTRUCTION_SET\n");
  roff(instruction_set);
  printf("\n.SH EXIT STATUS\n");
  roff(exit_statuses);
  printf(".\n.SH SEE ALSO\n");
  for (size_t i = 0; i < cli_n_commands; i++) {
    char name[64];
    snprintf(name, sizeof name, "tacit-%s", cli_commands[i]->name);
    for (char *c = name; *c != '\0'; c++) {
      *c = *c == ' ' ? '-' : *c;
    }
    printf(".BR ");
    roff(name);
    printf(" (1)%s\n", i + 1 < cli_n_commands ? "," : "");
  }
}
