/* Completion for bash, from the tables that the program parses by: commands, options, and the values of
 * options that have few. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "program/program.h"
#include "tacit/sample.h"

/* Commands of two words, "schema check", are completed word by word: the first ones, each once. */
static void print_first_words(void) {
  for (size_t i = 0; i < cli_n_commands; i++) {
    size_t n = strcspn(cli_commands[i]->name, " ");
    bool is_new = true;
    for (size_t k = 0; k < i; k++) {
      is_new = is_new && !(strncmp(cli_commands[k]->name, cli_commands[i]->name, n) == 0 &&
                           strchr(" ", cli_commands[k]->name[n]) != NULL);
    }
    if (is_new) {
      printf("%.*s ", (int)n, cli_commands[i]->name);
    }
  }
  printf("help --help --version");
}

static const char *second_word(const char *name) {
  const char *space = strchr(name, ' ');
  return space != NULL ? space + 1 : NULL;
}

/* Is command i the first of those of two words that begin with the same one? */
static bool opens_group(size_t i) {
  const char *name = cli_commands[i]->name;
  bool is_first = second_word(name) != NULL;
  for (size_t k = 0; k < i; k++) {
    is_first = is_first && strncmp(cli_commands[k]->name, name, strcspn(name, " ") + 1) != 0;
  }
  return is_first;
}

/* 'schema') words='check draft' ;; of every first word that has second ones */
static void print_second_words(void) {
  for (size_t i = 0; i < cli_n_commands; i++) {
    const char *name = cli_commands[i]->name;
    size_t n = strcspn(name, " ");
    if (opens_group(i)) {
      printf("      '%.*s') words='", (int)n, name);
      for (size_t k = i; k < cli_n_commands; k++) {
        if (strncmp(cli_commands[k]->name, name, n + 1) == 0) {
          printf("%s ", second_word(cli_commands[k]->name));
        }
      }
      printf("' ;;\n");
    }
  }
}

static void print_families(void) {
  for (size_t i = 0; tacit_program_family_about(i) != NULL; i++) {
    printf("%s ", tacit_program_family_about(i)->name);
  }
}

static void print_methods(void) {
  for (size_t i = 0; tacit_method_get(i) != NULL; i++) {
    printf("%s ", tacit_method_get(i)->name);
  }
}

/* 'fit --family') words='bernoulli ...' ;; of every option whose values are few. */
static void print_values(const cli_command_t *command) {
  size_t n;
  const tacit_setting_t *options = cli_options(command, &n);
  for (size_t i = 0; i < n; i++) {
    const char *name = options[i].name;
    const char *const *choices = options[i].choices;
    bool is_family = strcmp(name, "family") == 0,
         is_method = strcmp(name, "method") == 0 && command->task == TACIT_TASK_FIT;
    if (options[i].value != NULL && (is_family || is_method || choices != NULL)) {
      printf("    '%s --%s') words='", command->name, name);
      if (choices != NULL) {
        for (; *choices != NULL; choices++) {
          printf("%s ", *choices);
        }
      } else {
        (is_family ? print_families : print_methods)();
      }
      printf("' ;;\n");
    }
  }
}

static void print_options(const cli_command_t *command) {
  size_t n;
  const tacit_setting_t *options = cli_options(command, &n);
  printf("      '%s') words='--help", command->name);
  for (size_t i = 0; i < n; i++) {
    printf(" --%s", options[i].name);
  }
  printf("' ;;\n");
}

void cli_completion(void) {
  printf("# bash completion for tacit\n"
         "_tacit() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} "
         "words=\n"
         "  [[ $before == = && $COMP_CWORD -gt 2 ]] && before=${COMP_WORDS[COMP_CWORD-2]}    # --family=ber\n"
         "  [[ $word == = ]] && before=${COMP_WORDS[COMP_CWORD-1]} word=\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    words='");
  print_first_words();
  printf("'\n  elif [ \"$COMP_CWORD\" -eq 2 ]; then\n    case $command in\n");
  print_second_words();
  printf("    esac\n  fi\n  case $command in\n");
  for (size_t i = 0; i < cli_n_commands; i++) {
    if (opens_group(i)) {
      printf("    '%.*s') command=\"$command ${COMP_WORDS[2]}\" ;;\n",
             (int)strcspn(cli_commands[i]->name, " "), cli_commands[i]->name);
    }
  }
  printf("  esac\n  [ -z \"$words\" ] && case \"$command $before\" in\n");
  for (size_t i = 0; i < cli_n_commands; i++) {
    print_values(cli_commands[i]);
  }
  printf("  esac\n  if [ -z \"$words\" ] && [[ $word == -* ]]; then\n    case $command in\n");
  for (size_t i = 0; i < cli_n_commands; i++) {
    print_options(cli_commands[i]);
  }
  printf("    esac\n  fi\n"
         "  [ -n \"$words\" ] && mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
         "}\ncomplete -o default -F _tacit tacit\n");
}
