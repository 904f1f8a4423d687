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

size_t cli_n_options(const cli_command_t *command) {
  size_t n = 0;
  if (command->settings != NULL) {
    command->settings(&n);
    return n;
  }
  while (command->options != NULL && command->options[n].name != NULL) {
    n++;
  }
  return n;
}

cli_option_t cli_option(const cli_command_t *command, size_t i) {
  size_t n;
  if (command->settings == NULL) {
    return command->options[i];
  }
  const tacit_setting_t *setting = &command->settings(&n)[i];
  return (cli_option_t){
      .name = setting->name, .metavar = setting->value, .fallback = setting->fallback, .help = setting->help};
}

static bool find_option(const cli_command_t *command, const char *name, size_t n, cli_option_t *option,
                        tacit_nearest_t *nearest) {
  for (size_t i = 0; i < cli_n_options(command); i++) {
    *option = cli_option(command, i);
    if (strlen(option->name) == n && strncmp(option->name, name, n) == 0) {
      return true;
    }
    tacit_nearest_offer(nearest, option->name);
  }
  return false;
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
  snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), word);
  tacit_nearest_t nearest = {.name = name};
  cli_option_t option;
  if (!find_option(args->command, word, n, &option, &nearest)) {
    return unknown_option(args, argv[*at], nearest.best);
  }
  const char *value = NULL;
  if (option.metavar == NULL && equals != NULL) {
    cli_error(args, "option --%s takes no value", option.name);
    return false;
  }
  if (option.metavar != NULL) {
    value = equals != NULL ? equals + 1 : *at + 1 < argc ? argv[++*at] : NULL;
    if (value == NULL) {
      cli_error(args, "option --%s needs a value: --%s %s", option.name, option.name, option.metavar);
      return false;
    }
  }
  args->given[args->n_given++] = (cli_given_t){option.name, value};
  return true;
}

bool cli_parse(cli_args_t *args, const cli_command_t *command, int argc, char **argv) {
  *args = (cli_args_t){.command = command};
  args->given = tacit_alloc((size_t)argc, sizeof *args->given);
  args->positionals = tacit_alloc((size_t)argc, sizeof *args->positionals);
  if (args->given == NULL || args->positionals == NULL) {
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
    cli_error(args, "expected %s%s; usage: tacit %s [options] %s",
              args->n_positionals < command->n_positionals ? "" : "only ",
              most > 0 ? command->positionals : "options", command->name, command->positionals);
    return false;
  }
  return true;
}

void cli_args_clear(cli_args_t *args) {
  tacit_free(args->given);
  tacit_free(args->positionals);
  *args = (cli_args_t){0};
}

bool cli_is_given(const cli_args_t *args, const char *name) {
  for (size_t i = 0; i < args->n_given; i++) {
    if (strcmp(args->given[i].name, name) == 0) {
      return true;
    }
  }
  return false;
}

const char *cli_value(const cli_args_t *args, const char *name) {
  for (size_t i = args->n_given; i-- > 0;) {
    if (strcmp(args->given[i].name, name) == 0) {
      return args->given[i].value;
    }
  }
  for (size_t i = 0; i < cli_n_options(args->command); i++) {
    cli_option_t option = cli_option(args->command, i);
    if (strcmp(option.name, name) == 0) {
      return option.fallback;
    }
  }
  return NULL;
}

bool cli_require(const cli_args_t *args, const char *const *names, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (cli_value(args, names[i]) == NULL) {
      cli_error(args, "option --%s is needed; see tacit %s --help", names[i], args->command->name);
      return false;
    }
  }
  return true;
}

bool cli_number(const cli_args_t *args, const char *name, double lower, double upper, double *x) {
  const char *text = cli_value(args, name);
  if (text == NULL) {
    return true;
  }
  double value;
  if (!tacit_number_parse(text, strlen(text), &value) || !(value >= lower && value <= upper)) {
    char low[TACIT_NUMBER_SIZE], high[TACIT_NUMBER_SIZE];
    cli_error(args, "option --%s must be a number between %s and %s, not '%s'", name,
              tacit_number_format(lower, low), tacit_number_format(upper, high), text);
    return false;
  }
  *x = value;
  return true;
}

bool cli_count(const cli_args_t *args, const char *name, double lower, double upper, size_t *n) {
  double value = NAN;
  if (!cli_number(args, name, lower, upper, &value)) {
    return false;
  }
  if (isnan(value)) {
    return true;
  }
  if (value != floor(value)) {
    cli_error(args, "option --%s must be a whole number, not '%s'", name, cli_value(args, name));
    return false;
  }
  *n = (size_t)value;
  return true;
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
