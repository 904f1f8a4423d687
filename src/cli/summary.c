#include <stdio.h>

#include "cli/commands.h"
#include "cli/result.h"
#include "tacit/report.h"

static int print_json(const cli_args_t *args, const tacit_report_read_t *read) {
  tacit_error_t err;
  char *text;
  if (tacit_report_summary_json(read, &text, &err) != TACIT_OK) {
    return cli_fail(args, &err);
  }
  printf("%s\n", text);
  tacit_report_text_free(text);
  return CLI_OK;
}

static int print_table(const cli_args_t *args, const tacit_report_read_t *read) {
  tacit_error_t err;
  char *text;
  if (cli_table(&read->draws, (const char *const *)read->labels, &read->evidence, &text, &err) != TACIT_OK) {
    return cli_fail(args, &err);
  }
  cli_put(stdout, text);
  tacit_report_text_free(text);
  printf("\n%zu chain%s of %zu draws; ", read->draws.n_chains, read->draws.n_chains == 1 ? "" : "s",
         tacit_draws_n_kept(&read->draws));
  if (read->is_post_processing) {
    printf("computed from a released statistic alone, at no further privacy cost\n");
  } else if (read->is_private) {
    printf("(epsilon %.6g, delta %g)-differentially private\n", read->epsilon, read->delta);
  } else {
    printf("NOT PRIVATE\n");
  }
  return CLI_OK;
}

static int run_summary(const cli_args_t *args) {
  tacit_report_read_t read;
  tacit_error_t err;
  int status;
  if (tacit_report_read(&read, args->positionals[0], &err) != TACIT_OK) {
    status = cli_fail(args, &err);
  } else {
    status = cli_is_given(args, "json") ? print_json(args, &read) : print_table(args, &read);
  }
  tacit_report_read_clear(&read);
  return status;
}

static const tacit_setting_t options[] = {{"json", NULL, NULL, "Print JSON.", CLI_FLAG}, {0}};

const cli_command_t cli_summary = {
    .name = "summary",
    .positionals = "DIR",
    .n_positionals = 1,
    .summary = "summarise the draws of a fit",
    .description =
        "Reads the draws in DIR and prints mean, standard deviation, quantiles, Monte Carlo error, effective "
        "sample sizes and R-hat of each parameter. Draws are released already: summaries cost no privacy.",
    .examples = "  tacit summary fit/\n  tacit summary fit/ --json\n",
    .options = options,
    .run = run_summary};
