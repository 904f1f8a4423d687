#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/ranks.h"
#include "tacit/base.h"

const cli_command_t *const cli_commands[] = {&cli_fit,          &cli_summary,      &cli_schema_check,
                                             &cli_schema_draft, &cli_import,       &cli_methods,      &cli_plan,         &cli_diagnose,     &cli_account,
                                             &cli_ledger_init,  &cli_ledger_show,  &cli_ledger_export,
                                             &cli_ledger_verify, &cli_release,     &cli_infer};
const size_t cli_n_commands = sizeof cli_commands / sizeof cli_commands[0];

static void general_help(void) {
  printf("tacit %s - Bayesian inference under differential privacy\n\nUsage: tacit COMMAND [options]\n\nCommands:\n",
         tacit_version());
  for (size_t i = 0; i < cli_n_commands; i++) {
    printf("  %-14s %s\n", cli_commands[i]->name, cli_commands[i]->summary);
  }
  printf("\ntacit COMMAND --help explains a command and shows examples.\n"
         "Other: --version, help --man COMMAND (roff), help --completion bash\n");
}

/* The command that argv begins with; *n_words is how many words its name has. */
static const cli_command_t *find_command(int argc, char **argv, int *n_words) {
  for (size_t i = 0; i < cli_n_commands; i++) {
    const char *name = cli_commands[i]->name, *second = strchr(name, ' ');
    size_t n = second != NULL ? (size_t)(second - name) : strlen(name);
    bool first_matches = strlen(argv[0]) == n && strncmp(argv[0], name, n) == 0;
    if (first_matches && (second == NULL || (argc > 1 && strcmp(argv[1], second + 1) == 0))) {
      *n_words = second != NULL ? 2 : 1;
      return cli_commands[i];
    }
  }
  return NULL;
}

static int unknown_command(int argc, char **argv) {
  if (strcmp(argv[0], "schema") == 0) {
    bool wants_help = argc > 1 && strcmp(argv[1], "--help") == 0;
    fprintf(wants_help ? stdout : stderr, "tacit schema: say what to do: tacit schema check SCHEMA [--data FILE], "
                                          "or tacit schema draft FILE\n");
    return wants_help ? CLI_OK : CLI_USAGE;
  }
  if (strcmp(argv[0], "ledger") == 0) {
    bool wants_help = argc > 1 && strcmp(argv[1], "--help") == 0;
    fprintf(wants_help ? stdout : stderr,
            "tacit ledger: say what to do: tacit ledger init, show, export or verify LEDGER; see tacit ledger init --help\n");
    return wants_help ? CLI_OK : CLI_USAGE;
  }
  tacit_nearest_t nearest = {.name = argv[0]};
  for (size_t i = 0; i < cli_n_commands; i++) {
    tacit_nearest_offer(&nearest, cli_commands[i]->name);
  }
  tacit_nearest_offer(&nearest, "schema");
  tacit_nearest_offer(&nearest, "ledger");
  char hint[TACIT_HINT_SIZE];
  fprintf(stderr, "tacit: unknown command '%s'%s; see tacit --help\n", argv[0], tacit_nearest_hint(&nearest, hint));
  return CLI_USAGE;
}

static int help(int argc, char **argv) {
  int n_words;
  if (argc == 0) {
    general_help();
    return CLI_OK;
  }
  if (argc == 2 && strcmp(argv[0], "--completion") == 0 && strcmp(argv[1], "bash") == 0) {
    cli_completion();
    return CLI_OK;
  }
  bool wants_man = argc > 1 && strcmp(argv[0], "--man") == 0;
  const cli_command_t *command = find_command(argc - wants_man, argv + wants_man, &n_words);
  if (command == NULL) {
    return unknown_command(argc - wants_man, argv + wants_man);
  }
  if (wants_man) {
    cli_man(command);
  } else {
    cli_help(command);
  }
  return CLI_OK;
}

static int run(const cli_command_t *command, int argc, char **argv) {
  for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
      cli_help(command);
      return CLI_OK;
    }
  }
  cli_args_t args;
  int status = cli_ranks_open();
  if (status == CLI_OK) {
    status = cli_parse(&args, command, argc, argv) ? CLI_OK : CLI_USAGE;
    if (status == CLI_OK && cli_ranks() != NULL && command != &cli_fit) {
      cli_error(&args, "runs as one process: of the commands only tacit fit can share its work among several");
      status = CLI_USAGE;
    }
    if (status == CLI_OK) {
      status = cli_finish(&args, command->run(&args));
    }
    cli_args_clear(&args);
  }
  cli_ranks_close();
  return status;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    general_help();
    return CLI_USAGE;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
    return help(0, NULL);
  }
  if (strcmp(argv[1], "help") == 0) {
    return help(argc - 2, argv + 2);
  }
  if (strcmp(argv[1], "--version") == 0) {
    printf("tacit %s\n", tacit_version());
    return CLI_OK;
  }
  int n_words;
  const cli_command_t *command = find_command(argc - 1, argv + 1, &n_words);
  return command != NULL ? run(command, argc - 1 - n_words, argv + 1 + n_words) : unknown_command(argc - 1, argv + 1);
}
