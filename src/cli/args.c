#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "cli/cli.h"
#include "report/report_internal.h"

/* What a terminal would act upon, or show in another order than it stands: the two sets of controls, and
 * those of direction. */
static bool is_command(uint32_t code) {
  return (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7F && code < 0xA0) ||
         (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

void cli_put(FILE *to, const char *text) {
  for (uint32_t code; *text != '\0';) {
    size_t n = tacit_utf8_decode(text, &code);
    if (is_command(code) || (code == 0xFFFD && n == 1)) {
      for (size_t i = 0; i < n; i++) {
        fprintf(to, "\\x%02x", (unsigned char)text[i]);
      }
    } else {
      fwrite(text, 1, n, to);
    }
    text += n;
  }
}

void cli_error(const cli_args_t *args, const char *format, ...) {
  tacit_text_t text = {0};
  va_list list;
  va_start(list, format);
  tacit_text_vprintf(&text, format, list);
  va_end(list);
  fprintf(stderr, "tacit %s: ", args->command->name);
  cli_put(stderr, text.failed ? "out of memory" : text.data);
  fputc('\n', stderr);
  tacit_text_clear(&text);
}

int cli_fail(const cli_args_t *args, const tacit_error_t *err) {
  cli_error(args, "%s", err->message);
  switch (err->status) {
  case TACIT_ERR_ARGUMENT:
  case TACIT_ERR_SENSITIVITY:
  case TACIT_ERR_STATE:
    return CLI_USAGE;
  case TACIT_ERR_SYNTAX:
  case TACIT_ERR_SCHEMA:
  case TACIT_ERR_DATA:
  case TACIT_ERR_UNKNOWN:
    return CLI_BAD_DATA;
  case TACIT_ERR_BUDGET:
    return CLI_BUDGET;
  case TACIT_ERR_INTERRUPTED:
    return CLI_INTERRUPTED;
  default:
    return CLI_FAILURE;
  }
}

int cli_finish(const cli_args_t *args, int status) {
  if ((fflush(stdout) != 0 || ferror(stdout)) && status == CLI_OK) {
    cli_error(args, "cannot write to standard output");
    return CLI_FAILURE;
  }
  return status;
}

const tacit_setting_t *cli_options(const cli_command_t *command, size_t *n) {
  *n = 0;
  if (command->options == NULL) {
    return tacit_settings_of(command->task, n);
  }
  while (command->options[*n].name != NULL) {
    ++*n;
  }
  return command->options;
}

static bool unknown_option(cli_args_t *args, const char *name, const char *best) {
  char hint[96] = "";
  if (best != NULL) {
    snprintf(hint, sizeof hint, " (did you mean --%s?)", best);
  }
  cli_error(args, "unknown option '%s'%s; see tacit %s --help", name, hint, args->command->name);
  return false;
}

/* One word that begins with "--"; may take the next word as its value. */
static bool parse_option(cli_args_t *args, int argc, char **argv, int *at) {
  const char *word = argv[*at] + 2, *equals = strchr(word, '=');
  size_t n = equals != NULL ? (size_t)(equals - word) : strlen(word);
  char name[TACIT_HINT_SIZE];
  tacit_error_t err;
  snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), word);
  tacit_nearest_t nearest = {.name = name};
  const tacit_setting_t *option = n < sizeof name ? tacit_settings_find(&args->given, name) : NULL;
  for (size_t i = 0; option == NULL && i < args->given.n_table; i++) {
    tacit_nearest_offer(&nearest, args->given.table[i].name);
  }
  if (option == NULL) {
    return unknown_option(args, argv[*at], nearest.best);
  }
  const char *value = "true";
  if (option->value == NULL && equals != NULL) {
    cli_error(args, "option --%s takes no value", option->name);
    return false;
  }
  if (option->value != NULL) {
    value = equals != NULL ? equals + 1 : *at + 1 < argc ? argv[++*at] : NULL;
    if (value == NULL) {
      cli_error(args, "option --%s needs a value: --%s %s", option->name, option->name, option->value);
      return false;
    }
  }
  if (tacit_settings_add(&args->given, option, value, &err) != TACIT_OK) {
    cli_error(args, "%s", err.message);
    return false;
  }
  return true;
}

bool cli_parse(cli_args_t *args, const cli_command_t *command, int argc, char **argv) {
  *args = (cli_args_t){.command = command};
  args->given.table = cli_options(command, &args->given.n_table);
  args->positionals = tacit_alloc((size_t)argc, sizeof *args->positionals);
  if (args->positionals == NULL) {
    cli_error(args, "out of memory");
    return false;
  }
  bool only_positionals = false;
  for (int i = 0; i < argc; i++) {
    if (!only_positionals && strcmp(argv[i], "--") == 0) {
      only_positionals = true;
    } else if (!only_positionals && strncmp(argv[i], "--", 2) == 0) {
      if (!parse_option(args, argc, argv, &i)) {
        return false;
      }
    } else if (!only_positionals && argv[i][0] == '-' && argv[i][1] != '\0') {
      return unknown_option(args, argv[i], NULL);
    } else {
      args->positionals[args->n_positionals++] = argv[i];
    }
  }
  size_t most = command->n_positionals + command->n_optional;
  if (args->n_positionals < command->n_positionals || args->n_positionals > most) {
    char usage[CLI_USAGE_SIZE];
    cli_usage(command, usage);
    cli_error(args, "expected %s%s; usage: %s", args->n_positionals < command->n_positionals ? "" : "only ",
              most > 0 ? command->positionals : "options", usage);
    return false;
  }
  return true;
}

void cli_args_clear(cli_args_t *args) {
  tacit_settings_clear(&args->given);
  tacit_free(args->positionals);
  *args = (cli_args_t){0};
}

bool cli_require(const cli_args_t *args, const char *const *names, size_t n) {
  for (size_t i = 0; i < n && names[i] != NULL; i++) {
    if (cli_value(args, names[i]) == NULL) {
      cli_error(args, "option --%s is needed; see tacit %s --help", names[i], args->command->name);
      return false;
    }
  }
  return true;
}

const tacit_given_t *cli_next(const cli_args_t *args, tacit_task_t task, size_t *i) {
  const tacit_settings_t of_task = tacit_settings_for(task);
  while (*i < args->given.n_given) {
    const tacit_given_t *given = &args->given.given[(*i)++];
    const tacit_setting_t *setting = tacit_settings_find(&of_task, given->setting->name);
    if (setting != NULL && setting->kind != TACIT_SETTING_PROGRAM &&
        given->setting->kind != TACIT_SETTING_PROGRAM) {
      return given;
    }
  }
  return NULL;
}

tacit_status_t cli_set_fit(const cli_args_t *args, tacit_fit_t *fit, tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  const tacit_given_t *given;
  for (size_t i = 0; status == TACIT_OK && (given = cli_next(args, TACIT_TASK_FIT, &i)) != NULL;) {
    status = tacit_fit_set(fit, given->setting->name, given->text, err);
  }
  return status;
}

bool cli_number(const cli_args_t *args, const char *name, double *x) {
  tacit_error_t err;
  if (tacit_settings_check(&args->given, name, &err) != TACIT_OK) {
    cli_error(args, "%s", err.message);
    return false;
  }
  tacit_settings_number(&args->given, name, x);
  return true;
}

bool cli_count(const cli_args_t *args, const char *name, size_t *n) {
  double value = (double)*n;
  bool ok = cli_number(args, name, &value);
  *n = (size_t)value;
  return ok;
}

tacit_data_source_t cli_source(const cli_args_t *args, const char *path) {
  return (tacit_data_source_t){.path = path,
                               .query = cli_value(args, "query"),
                               .catalog = cli_value(args, "catalog"),
                               .encoding = cli_value(args, "encoding"),
                               .delimiter = cli_value(args, "delimiter")};
}

tacit_status_t cli_write(const cli_args_t *args, const char *text, size_t n, tacit_error_t *err) {
  const char *out = cli_value(args, "out");
  if (out != NULL) {
    return tacit_file_create(out, text, n, err);
  }
  fwrite(text, 1, n, stdout);
  return TACIT_OK;
}

bool cli_is_standard_input(const char *path) {
  struct stat data, input;
  return strcmp(path, "-") == 0 ||
         (stat(path, &data) == 0 && !S_ISREG(data.st_mode) && fstat(STDIN_FILENO, &input) == 0 &&
          data.st_dev == input.st_dev && data.st_ino == input.st_ino);
}
