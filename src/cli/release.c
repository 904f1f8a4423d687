/* tacit release: the command line around tacit/publish.h. */
#include "base/error.h"
#include "tacit/publish.h"

#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/reading.h"

static int run_release(const cli_args_t *args) {
  tacit_publish_t *publish;
  tacit_error_t err;
  const char *out = cli_value(args, "out");
  tacit_status_t status =
      tacit_publish_new(&publish, args->n_positionals > 0 ? args->positionals[0] : NULL, &err);
  const tacit_given_t *given;
  for (size_t i = 0; status == TACIT_OK && (given = cli_next(args, TACIT_TASK_RELEASE, &i)) != NULL;) {
    status = tacit_publish_set(publish, given->setting->name, given->text, &err);
  }
  cli_reading_t reading;
  cli_reading_begin(&reading, args);
  TACIT_THEN(status,
             tacit_publish_read_source(publish, &(tacit_data_source_t){.watch = &reading.watch}, &err));
  cli_reading_end(&reading);
  if (status == TACIT_OK) {
    fputs(tacit_publish_warnings(publish), stderr);
    status = tacit_publish_run(publish, &err);
  }
  bool is_paid = status == TACIT_OK;
  status = is_paid ? tacit_publish_write(publish, NULL, &err) : status;
  if (is_paid && status != TACIT_OK) { /* it was paid for, and is to be had all the same */
    fputs(tacit_publish_spent(publish), stderr);
    fprintf(stderr, "what was released follows on standard output: the file that could not be written\n");
    cli_put(stdout, tacit_publish_yaml(publish));
  }
  if (publish != NULL) {
    fputs(tacit_publish_unsettled(publish), stderr);
  }
  if (status == TACIT_OK) {
    const char *statistic = cli_value(args, "statistic");
    bool is_margins = statistic != NULL && strcmp(statistic, "margins") == 0;
    printf("%swritten: %s; tacit infer %s--statistic %s --out DIR infers from it at no further cost\n",
           tacit_publish_spent(publish), out, is_margins ? "" : "MODEL ", out);
  }
  tacit_publish_free(publish);
  return status == TACIT_OK ? CLI_OK : cli_fail(args, &err);
}

const cli_command_t cli_release = {
    .name = "release",
    .positionals = "[FORMULA|PROGRAM]",
    .n_optional = 1,
    .summary = "release a statistic with noise, for tacit infer",
    .description = "Computes a statistic of records behind the curator, adds exact noise that makes it "
                   "(epsilon, delta)-differentially private under replacing one row, and writes it as the "
                   "YAML file that tacit infer reads: release and infer together are a complete private "
                   "analysis, and whoever has the file can infer from it at no further cost.\n"
                   "A program of one record, FILE.stan, with a block statistic { table = count(band, sex); "
                   "total = sum(fmin(x, 10)); } (docs/language.md) is released line by line: its data are "
                   "columns of the schema by name, what a record adds is bounded by interval arithmetic over "
                   "the schema's bounds, and the file is for tacit infer FILE.stan.\n"
                   "The number of records is public (relation substitute; margins also add-remove, where it "
                   "is private) and a row is the unit of privacy.",
    .examples =
        "  tacit release --statistic clamped-mean --column hours --data d.csv --schema d.yaml --mechanism "
        "laplace \\\n"
        "        --epsilon 1 --out s_dp.yaml\n"
        "  printf 'records: gaussian\\nmean: normal(40, 20)\\nsd: 12\\n' > model.yaml\n"
        "  tacit infer model.yaml --statistic s_dp.yaml --out post/\n"
        "  tacit release --statistic counts --column sex,smoker --data d.csv --schema d.yaml \\\n"
        "        --mechanism discrete-gaussian --epsilon 1 --delta 1e-6 --out counts.yaml\n"
        "  tacit release 'y ~ x1 + x2' --statistic moments --data d.csv --schema d.yaml --epsilon 1 --delta "
        "1e-6 \\\n"
        "        --out moments.yaml\n"
        "  tacit release --statistic margins --margin sex,age_band --margin age_band,smoker --data d.csv \\\n"
        "        --schema d.yaml --mechanism discrete-gaussian --epsilon 1 --delta 1e-6 --out margins.yaml\n"
        "  tacit release 'died ~ x1 + x2' --statistic score --data d.csv --schema d.yaml --epsilon 1 --delta "
        "1e-6 \\\n"
        "        --out score.yaml\n"
        "  tacit release visits.stan --statistic total --data d.csv --schema d.yaml --epsilon 1 \\\n"
        "        --mechanism discrete-laplace --out total.yaml\n",
    .task = TACIT_TASK_RELEASE,
    .required = {"data", "schema", "epsilon", "out"},
    .reads_records = true,
    .run = run_release};
