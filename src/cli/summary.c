#include <stdio.h>

#include "cli/commands.h"
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
  size_t n = read->draws.n_reported;
  tacit_summary_t *summaries = tacit_alloc(n, sizeof *summaries);
  tacit_status_t status = TACIT_OK;
  if (summaries == NULL) {
    cli_error(args, "out of memory");
    return CLI_FAILURE;
  }
  for (size_t j = 0; j < n && status == TACIT_OK; j++) {
    status = tacit_draws_summarise_with(&read->draws, j, &read->evidence, &summaries[j], &err);
  }
  if (status == TACIT_OK) {
    status = tacit_report_table((const char *const *)read->labels, summaries, n, &text, &err);
  }
  tacit_free(summaries);
  if (status != TACIT_OK) {
    return cli_fail(args, &err);
  }
  cli_put(stdout, text);
  tacit_report_text_free(text);
  printf("\n%zu chain%s of %zu draws; ", read->draws.n_chains, read->draws.n_chains == 1 ? "" : "s", tacit_draws_n_kept(&read->draws));
  if (read->is_post_processing) {
    printf("computed from a released statistic alone, at no further privacy cost\n");
  } else if (read->is_private) {
    printf("(epsilon %.6g, delta %g)-differentially private\n", read->epsilon, read->delta);
  } else {
    printf("NOT PRIVATE\n");
  }
  return CLI_OK;
}

static int run(const cli_args_t *args) {
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

static const cli_option_t options[] = {{"json", NULL, NULL, "Print JSON."}};

const cli_command_t cli_summary = {
    .name = "summary",
    .positionals = "DIR",
    .n_positionals = 1,
    .summary = "summarise the draws of a fit",
    .description = "Reads the draws in DIR and prints mean, standard deviation, quantiles, Monte Carlo error, effective "
                   "sample sizes and R-hat of each parameter. Draws are released already: summaries cost no privacy.",
    .examples = "  tacit summary fit/\n  tacit summary fit/ --json\n",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .run = run};
