/*
 * The program's own small framework: a table of options for each command, that of its task where it has one,
 * feeds parsing, help, man pages and completion. No mathematics here.
 */
#ifndef TACIT_CLI_H
#define TACIT_CLI_H

#include <stdio.h>

#include "settings/settings.h"
#include "tacit/fit.h"

enum {
  CLI_OK = 0,
  CLI_FAILURE = 1,
  CLI_USAGE = 2,
  CLI_BAD_DATA = 3,
  CLI_BUDGET = 4,
  CLI_PROBLEMS = 5,
  CLI_INTERRUPTED = 130
};

/* What an option of a command without a task is. */
#define CLI_TEXT "", TACIT_SETTING_TEXT, 0, 0, NULL
#define CLI_FLAG "", TACIT_SETTING_FLAG, 0, 0, NULL
#define CLI_NUMBER(lower, upper) "", TACIT_SETTING_NUMBER, lower, upper, NULL

enum { CLI_MAX_REQUIRED = 4 };

typedef struct cli_args cli_args_t;

typedef struct cli_command {
  const char *name;        /* "fit", "schema check" */
  const char *positionals; /* as in the synopsis: "FORMULA" */
  size_t n_positionals;    /* needed; up to n_optional more may follow */
  size_t n_optional;
  const char *summary;
  const char *description;        /* paragraphs for help and man page */
  const char *examples;           /* lines */
  const tacit_setting_t *options; /* up to one without a name; NULL: those of the task, if there is one */
  tacit_task_t task;
  const char *required[CLI_MAX_REQUIRED]; /* options */
  bool reads_records;
  int (*run)(const cli_args_t *args);
} cli_command_t;

struct cli_args {
  const cli_command_t *command;
  tacit_settings_t given; /* the command's options; in the order of the command line, not checked */
  const char **positionals;
  size_t n_positionals;
};

extern const cli_command_t *const cli_commands[];
extern const size_t cli_n_commands;

/* Parse argv into args (clear with cli_args_clear); false after printing what is wrong. */
bool cli_parse(cli_args_t *args, const cli_command_t *command, int argc, char **argv);
void cli_args_clear(cli_args_t *args);

/* Of commands that read records, beside where they are. */
#define CLI_SOURCE_OPTIONS                                                                                   \
  {"query", "SQL", NULL, "Of a database: a query that begins with select; @FILE: the one in FILE.",          \
   CLI_TEXT},                                                                                                \
      {"catalog", "FILE", NULL, "Of a SAS file: the catalogue (.sas7bcat) of its value labels.", CLI_TEXT},  \
      {"encoding", "NAME", NULL,                                                                             \
       "Of text in a file that does not say it rightly: latin1, windows-1252, utf-16 ...", CLI_TEXT},        \
  {                                                                                                          \
    "delimiter", "CHAR", NULL,                                                                               \
        "What stands between fields of CSV, ',', ';', '|' or tab, if the header row does not show it.",      \
        CLI_TEXT                                                                                             \
  }
/* Records at `path` as these options say. */
tacit_data_source_t cli_source(const cli_args_t *args, const char *path);
/* Text to the file that --out names, which must not exist; to standard output if it is not given. */
TACIT_MUST_USE tacit_status_t cli_write(const cli_args_t *args, const char *text, size_t n,
                                        tacit_error_t *err);

/* "tacit NAME [options] POSITIONALS". */
enum { CLI_USAGE_SIZE = 160 };
void cli_usage(const cli_command_t *command, char out[CLI_USAGE_SIZE]);

/* The options of a command, shape (*n). */
const tacit_setting_t *cli_options(const cli_command_t *command, size_t *n);
/* Are all of these given, up to one that is NULL? False after printing which one is not. */
bool cli_require(const cli_args_t *args, const char *const *names, size_t n);
/* The next option that is the task's from place *i on, which moves behind it; NULL: no more. What is the
 * command's own, of kind TACIT_SETTING_PROGRAM or unknown to the task, is left out. */
const tacit_given_t *cli_next(const cli_args_t *args, tacit_task_t task, size_t *i);
/* Set all of those that are a fit's. */
TACIT_MUST_USE tacit_status_t cli_set_fit(const cli_args_t *args, tacit_fit_t *fit, tacit_error_t *err);
/* Do records come from there: "-", "/dev/stdin"? */
bool cli_is_standard_input(const char *path);

static inline bool cli_is_given(const cli_args_t *args, const char *name) {
  return tacit_settings_has(&args->given, name);
}
/* Last value given, else the default, else NULL. */
static inline const char *cli_value(const cli_args_t *args, const char *name) {
  return tacit_settings_text(&args->given, name);
}
/* Value as a number in the option's range; false after printing what is wrong. Absent without default: *x
 * unchanged. */
bool cli_number(const cli_args_t *args, const char *name, double *x);
/* The same for whole numbers. */
bool cli_count(const cli_args_t *args, const char *name, size_t *n);

/* Print a text that may come from anybody's file: what a terminal would act upon is shown, as \x1b. */
void cli_put(FILE *to, const char *text);
/* Print "tacit COMMAND: message" to standard error, in the same way. */
void cli_error(const cli_args_t *args, const char *format, ...) TACIT_PRINTF(2, 3);
/* Print an error of the library and return the exit status that stands for it. */
int cli_fail(const cli_args_t *args, const tacit_error_t *err);

/* What standard output swallowed without complaint is no success: flush and check it. */
int cli_finish(const cli_args_t *args, int status);

/* Keep what is in memory to this process: no core dump, no debugger of the same user. Before records or keys
 * are read. */
void cli_keep_private(void);

void cli_help(const cli_command_t *command);
void cli_man(const cli_command_t *command);
/* tacit(1): all commands. */
void cli_man_all(void);
void cli_completion(void);

#endif
