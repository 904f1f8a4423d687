#include <stdio.h>

#include "cli/commands.h"
#include "tacit/sample.h"

static int run_methods(const cli_args_t *args) {
  bool as_json = cli_is_given(args, "json");
  if (as_json) {
    printf("[");
  } else {
    printf("%-22s %-8s %-6s %s\n", "method", "private", "exact", "");
  }
  for (size_t i = 0; tacit_method_get(i) != NULL; i++) {
    const tacit_method_t *method = tacit_method_get(i);
    if (as_json) { /* names and summaries are ours and hold nothing to escape */
      printf("%s{\"name\": \"%s\", \"private\": %s, \"exact\": %s, \"summary\": \"%s\"}", i > 0 ? ",\n " : "",
             method->name, method->is_private ? "true" : "false", method->is_exact ? "true" : "false",
             method->summary);
    } else {
      printf("%-22s %-8s %-6s %s\n", method->name, method->is_private ? "yes" : "no",
             method->is_exact ? "yes" : "no", method->summary);
    }
  }
  printf(as_json ? "]\n"
                 : "\nexact: the invariant distribution is the posterior as long as nothing is clipped.\n");
  return CLI_OK;
}

static const tacit_setting_t options[] = {{"json", NULL, NULL, "Print JSON.", CLI_FLAG}, {0}};

const cli_command_t cli_methods = {
    .name = "methods",
    .positionals = "",
    .summary = "list the samplers",
    .description = "Lists every method with its guarantee: private or not, exact or approximate.",
    .examples = "  tacit methods\n  tacit methods --json\n",
    .options = options,
    .run = run_methods};
