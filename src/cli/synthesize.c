/* tacit synthesize: rows that nobody is, from what a fit released. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "cli/commands.h"
#include "tacit/synthesize.h"

/* FILE.json, FILE.html, then FILE; what was written goes where one cannot be. */
static tacit_status_t write_all(const char *out, const char *csv, const char *json, const char *html,
                                tacit_error_t *err) {
  static const char *const ends[] = {".json", ".html", ""};
  const char *const contents[] = {json, html, csv};
  tacit_text_t names[3] = {{0}};
  tacit_status_t status = TACIT_OK;
  size_t n = 0;
  for (; n < 3 && status == TACIT_OK; n++) {
    tacit_text_printf(&names[n], "%s%s", out, ends[n]);
    status = names[n].failed ? tacit_error_memory(err)
                             : tacit_file_create(names[n].data, contents[n], strlen(contents[n]), err);
  }
  for (size_t i = 0; i < n; i++) {
    if (status != TACIT_OK && i + 1 < n) {
      (void)remove(names[i].data);
    }
    tacit_text_clear(&names[i]);
  }
  return status;
}

static int run_synthesize(const cli_args_t *args) {
  tacit_synthesis_settings_t settings = {0};
  size_t seed = 0;
  char *csv, *json, *html;
  tacit_error_t err;
  if (!cli_count(args, "rows", &settings.n_rows) || !cli_count(args, "sets", &settings.n_sets) ||
      !cli_count(args, "seed", &seed)) {
    return CLI_USAGE;
  }
  settings.seed = seed;
  tacit_status_t status = tacit_synthesize(args->positionals[0], &settings, &csv, &json, &html, &err);
  TACIT_THEN(status, write_all(cli_value(args, "out"), csv, json, html, &err));
  if (status == TACIT_OK) {
    printf(
        "%swritten: %s, and %s.json and .html: what was released of each feature beside what the rows have\n",
        json, cli_value(args, "out"), cli_value(args, "out"));
  }
  tacit_free(csv);
  tacit_free(json);
  tacit_free(html);
  return status == TACIT_OK ? CLI_OK : cli_fail(args, &err);
}

const cli_command_t cli_synthesize = {
    .name = "synthesize",
    .positionals = "DIR",
    .n_positionals = 1,
    .summary = "rows that nobody is, from what a fit or margins released",
    .description =
        "Of a directory that tacit infer wrote from margins: rows of all their columns, exactly drawn, each "
        "set from a draw of the posterior. Else it reads releases.json and the draws in DIR, which tacit fit "
        "wrote by method noise-aware, and writes rows of the formula's columns: features from the released "
        "moments, within the schema's types, bounds and levels; responses from the posterior predictive. No "
        "record is read and nothing is spent. The first column, synthetic_set, says that rows are synthetic "
        "and which set they are of; FILE.json and FILE.html compare them with what was released, and the "
        "page says how to infer from several sets. They hold one model and the features' means and "
        "covariances, and nothing else of the records: shapes, interactions that the formula does not have, "
        "and rare cases are the model's, not the data's. A regression on one set alone is too sure of "
        "itself: make several.",
    .examples = "  tacit synthesize fit/ --rows 5000 --sets 20 --out rows.csv\n"
                "  tacit infer --statistic margins.yaml --out post/ && tacit synthesize post/ --sets 100 "
                "--out rows.csv\n",
    .task = TACIT_TASK_SYNTHESIZE,
    .required = {"out"},
    .run = run_synthesize};
