#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/isa.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/ranks.h"
#include "tacit/base.h"

const cli_command_t *const cli_commands[] = {
    &cli_fit,           &cli_summary,        &cli_schema_check,   &cli_schema_draft,
    &cli_import,        &cli_model_check,    &cli_model_families, &cli_model_list,
    &cli_model_write,   &cli_methods,        &cli_plan,           &cli_diagnose,
    &cli_refit,         &cli_combine,        &cli_check,          &cli_synthesize,
    &cli_predict,       &cli_contrast,       &cli_compare,        &cli_statement,
    &cli_account,       &cli_ledger_init,    &cli_ledger_show,    &cli_ledger_export,
    &cli_ledger_verify, &cli_ledger_migrate, &cli_release,        &cli_infer};
const size_t cli_n_commands = sizeof cli_commands / sizeof cli_commands[0];

static void general_help(void) {
  printf("tacit %s - Bayesian inference under differential privacy\n\nUsage: tacit COMMAND "
         "[options]\n\nCommands:\n",
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

static bool is_of_group(const cli_command_t *command, const char *group) {
  size_t n = strlen(group);
  return strncmp(command->name, group, n) == 0 && command->name[n] == ' ';
}

static bool is_group(const char *word) {
  bool found = false;
  for (size_t i = 0; i < cli_n_commands; i++) {
    found = found || is_of_group(cli_commands[i], word);
  }
  return found;
}

static void list_group(const char *group) {
  printf("tacit %s VERB, and VERB is one of\n\n", group);
  for (size_t i = 0; i < cli_n_commands; i++) {
    const cli_command_t *command = cli_commands[i];
    if (is_of_group(command, group)) {
      printf("  %-10s %s\n", command->name + strlen(group) + 1, command->summary);
    }
  }
  printf("\ntacit %s VERB --help explains one.\n", group);
}

/* "tacit ledger: say what to do: tacit ledger init, show, ... or migrate; see tacit ledger --help" */
static void ask_for_verb(const char *group) {
  size_t n = 0, n_said = 0;
  for (size_t i = 0; i < cli_n_commands; i++) {
    n += is_of_group(cli_commands[i], group);
  }
  fprintf(stderr, "tacit %s: say what to do: tacit %s ", group, group);
  for (size_t i = 0; i < cli_n_commands; i++) {
    if (is_of_group(cli_commands[i], group)) {
      n_said++;
      fprintf(stderr, "%s%s", cli_commands[i]->name + strlen(group) + 1,
              n_said + 1 < n ? ", "
              : n_said < n   ? " or "
                             : "");
    }
  }
  fprintf(stderr, "; see tacit %s --help\n", group);
}

/* What somebody may have meant by a word that is no command; NULL: nobody knows. */
static const char *instead_of(const char *word) {
  static const char *const words[][2] = {
      {"report", "fit writes report.html into its directory; tacit summary and tacit diagnose print it"},
      {"show", "tacit summary prints a fit's table"},
      {"print", "tacit summary prints a fit's table"},
      {"budget", "tacit ledger show FILE says what is left"},
      {"epsilon", "tacit plan --want-width W says which epsilon gives intervals W times as wide"},
      {"sample", "tacit fit draws from a posterior"},
      {"run", "tacit fit draws from a posterior"},
      {"lm", "tacit fit --family gaussian"},
      {"glm", "tacit fit --family NAME"}};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (strcmp(word, words[i][0]) == 0) {
      return words[i][1];
    }
  }
  return NULL;
}

static int unknown_command(int argc, char **argv) {
  if (is_group(argv[0])) {
    bool wants_help = argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
    if (wants_help) {
      list_group(argv[0]);
      return CLI_OK;
    }
    ask_for_verb(argv[0]);
    return CLI_USAGE;
  }
  const char *instead = instead_of(argv[0]);
  if (instead != NULL) {
    fprintf(stderr, "tacit: there is no command '%s': %s\n", argv[0], instead);
    return CLI_USAGE;
  }
  tacit_nearest_t nearest = {.name = argv[0]};
  for (size_t i = 0; i < cli_n_commands; i++) {
    tacit_nearest_offer(&nearest, cli_commands[i]->name);
  }
  tacit_nearest_offer(&nearest, "schema");
  tacit_nearest_offer(&nearest, "ledger");
  tacit_nearest_offer(&nearest, "model");
  char hint[TACIT_HINT_SIZE];
  fprintf(stderr, "tacit: unknown command '%s'%s; see tacit --help\n", argv[0],
          tacit_nearest_hint(&nearest, hint));
  return CLI_USAGE;
}

static int complete(int argc, char **argv) {
  if (argc != 2 || strcmp(argv[1], "bash") != 0) {
    fprintf(stderr, "tacit help: --completion knows one shell: tacit help --completion bash\n");
    return CLI_USAGE;
  }
  cli_completion();
  return CLI_OK;
}

static int help(int argc, char **argv) {
  int n_words;
  if (argc == 0) {
    general_help();
    return CLI_OK;
  }
  if (argc == 1 && strcmp(argv[0], "--man") == 0) {
    cli_man_all();
    return CLI_OK;
  }
  if (strcmp(argv[0], "--completion") == 0) {
    return complete(argc, argv);
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

static int run_main(const cli_command_t *command, int argc, char **argv) {
  for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
      cli_help(command);
      return CLI_OK;
    }
  }
  cli_args_t args;
  tacit_error_t err;
  int status = cli_ranks_open();
  if (command->reads_records) {
    cli_keep_private();
  }
  if (status == CLI_OK) {
    status = cli_parse(&args, command, argc, argv) ? CLI_OK : CLI_USAGE;
    if (status == CLI_OK && tacit_isa_check(&err) != TACIT_OK) {
      cli_error(&args, "%s", err.message);
      status = CLI_USAGE;
    }
    if (status == CLI_OK && cli_ranks() != NULL && command != &cli_fit) {
      cli_error(&args,
                "runs as one process: of the commands only tacit fit can share its work among several");
      status = CLI_USAGE;
    }
    if (status == CLI_OK && !cli_require(&args, command->required, CLI_MAX_REQUIRED)) {
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

static int start(int argc, char **argv) {
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
    printf("tacit %s\ncommit %s\ninstruction set %s\n%s\n", tacit_version(), tacit_commit(), tacit_isa_name(),
           CLI_FEATURES);
    return CLI_OK;
  }
  int n_words;
  const cli_command_t *command = find_command(argc - 1, argv + 1, &n_words);
  return command != NULL ? run_main(command, argc - 1 - n_words, argv + 1 + n_words)
                         : unknown_command(argc - 1, argv + 1);
}

int main(int argc, char **argv) {
  int status = start(argc, argv);
  if ((fflush(stdout) != 0 || ferror(stdout)) && status == CLI_OK) { /* help, too, may go to a full disk */
    fprintf(stderr, "tacit: cannot write to standard output\n");
    return CLI_FAILURE;
  }
  return status;
}
