#include "cli/release.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"

/* Delta that stands for none in a budget: below it no double can tell. */
static const double pure_delta = 1e-300;

static const char *const statistic_names[] = {"clamped-mean", "counts", "moments", "score"};
static const char *const mechanism_names[] = {"gaussian", "laplace", "discrete-gaussian", "discrete-laplace"};

/* ---- options ---- */

/* The place of an option's word in a list; false after printing what is wrong. */
static bool read_word(const cli_args_t *args, const char *option, const char *const *words, size_t n, size_t *place) {
  const char *text = cli_value(args, option);
  tacit_nearest_t nearest = {.name = text != NULL ? text : ""};
  tacit_text_t list = {0};
  for (size_t i = 0; i < n; i++) {
    if (text != NULL && strcmp(text, words[i]) == 0) {
      *place = i;
      tacit_text_clear(&list);
      return true;
    }
    tacit_nearest_offer(&nearest, words[i]);
    tacit_text_printf(&list, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ", words[i]);
  }
  char hint[TACIT_HINT_SIZE];
  const char *choices = list.failed ? "another word" : list.data;
  if (text == NULL) {
    cli_error(args, "option --%s is needed: %s", option, choices);
  } else {
    cli_error(args, "option --%s must be %s, not '%s'%s", option, choices, text, tacit_nearest_hint(&nearest, hint));
  }
  tacit_text_clear(&list);
  return false;
}

static int check_needed(const cli_args_t *args) {
  static const char *const needed[] = {"data", "schema", "epsilon", "out"};
  for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
    if (cli_value(args, needed[i]) == NULL) {
      cli_error(args, "option --%s is needed; see tacit release --help", needed[i]);
      return CLI_USAGE;
    }
  }
  if (access(cli_value(args, "out"), F_OK) == 0) {
    cli_error(args, "%s exists: choose another --out, or remove it", cli_value(args, "out"));
    return CLI_FAILURE;
  }
  return CLI_OK;
}

static bool has_delta(const cli_release_t *release) {
  return release->statistic.noise == TACIT_STATISTIC_GAUSSIAN || release->statistic.noise == TACIT_STATISTIC_DISCRETE_GAUSSIAN;
}

static int check_ledger_options(const cli_release_t *release) {
  const cli_args_t *args = release->args;
  if (cli_value(args, "ledger") == NULL) {
    const char *orphan = cli_is_given(args, "data-id") ? "data-id" : cli_is_given(args, "purpose") ? "purpose" : NULL;
    if (orphan != NULL) {
      cli_error(args, "--%s only goes with --ledger", orphan);
    }
    return orphan != NULL ? CLI_USAGE : CLI_OK;
  }
  if (release->is_seeded) {
    cli_error(args, "a seeded release is not private, so that no ledger can account for it: leave out --ledger");
    return CLI_USAGE;
  }
  return CLI_OK;
}

static int read_options(cli_release_t *release) {
  const cli_args_t *args = release->args;
  size_t statistic = 0, mechanism = 0;
  int status = check_needed(args);
  release->limits = tacit_curator_settings_default();
  if (status != CLI_OK) {
    return status;
  }
  if (!read_word(args, "statistic", statistic_names, 4, &statistic) ||
      !read_word(args, "mechanism", mechanism_names, 4, &mechanism) || !cli_number(args, "epsilon", 1e-6, 500, &release->epsilon) ||
      !cli_number(args, "delta", 1e-300, 0.5, &release->delta) || !cli_count(args, "seed", 0, 9007199254740992.0, &release->seed) ||
      !cli_count(args, "threads", 1, 1024, &release->limits.n_threads)) {
    return CLI_USAGE;
  }
  release->statistic.kind = (tacit_statistic_kind_t)statistic;
  release->statistic.noise = (tacit_statistic_noise_t)mechanism;
  release->mechanism = mechanism_names[mechanism];
  release->is_seeded = cli_is_given(args, "seed");
  if (has_delta(release) != cli_is_given(args, "delta")) {
    cli_error(args, has_delta(release) ? "%s noise needs a --delta far below 1 / number of rows"
                                       : "%s noise has epsilon alone: leave out --delta", release->mechanism);
    return CLI_USAGE;
  }
  return check_ledger_options(release);
}

/* ---- budget and ledger ---- */

/* The least noise that the budget allows. */
static tacit_status_t set_noise(cli_release_t *release, tacit_error_t *err) {
  double factor = 1, epsilon = release->epsilon;
  if (!has_delta(release)) {
    release->noise_multiplier = (1 + 1e-9) / epsilon;
    return TACIT_OK;
  }
  release->noise_multiplier = (1 + 1e-12) / sqrt(2 * tacit_gaussian_rho(epsilon, log(release->delta)));
  if (release->statistic.noise == TACIT_STATISTIC_GAUSSIAN) {
    return TACIT_OK;
  }
  tacit_event_t event = tacit_statistic_event(&release->statistic, release->noise_multiplier);
  tacit_status_t status = tacit_account_noise_factor(&event, 1, NULL, epsilon, release->delta, &factor, err);
  release->noise_multiplier *= factor * (1 + 1e-12);
  return status;
}

static tacit_status_t open_budget(cli_release_t *release, tacit_error_t *err) {
  double delta = has_delta(release) ? release->delta : pure_delta;
  tacit_status_t status = set_noise(release, err);
  if (status == TACIT_OK) {
    status = tacit_budget_new(&release->budget, release->epsilon, delta, TACIT_RELATION_SUBSTITUTE, err);
  }
  if (status == TACIT_OK && release->statistic.noise != TACIT_STATISTIC_GAUSSIAN) {
    tacit_event_t event = tacit_statistic_event(&release->statistic, release->noise_multiplier);
    status = tacit_budget_set_schedule(release->budget, &event, 1, err);
  }
  return status;
}

tacit_event_t cli_release_ledger_event(const cli_release_t *release) {
  tacit_event_t event = tacit_statistic_event(&release->statistic, release->noise_multiplier);
  if (!has_delta(release)) {
    double multiplier = tacit_pure_gaussian_multiplier(release->epsilon);
    event = (tacit_event_t){.kind = TACIT_EVENT_GAUSSIAN, .noise_multiplier = multiplier, .count = 1};
    snprintf(event.label, sizeof event.label, "%s, as gaussian", release->mechanism);
  }
  return event;
}

static void describe_spend(const cli_release_t *release, tacit_text_t *purpose, tacit_text_t *artefact) {
  const char *out = cli_value(release->args, "out"), *text = cli_value(release->args, "purpose");
  char folder[TACIT_LEDGER_MAX_TEXT];
  if (text != NULL) {
    tacit_text_printf(purpose, "%s", text);
  } else {
    tacit_text_printf(purpose, "release: %s", cli_value(release->args, "statistic"));
    for (size_t j = 0; j < release->statistic.n_columns; j++) {
      tacit_text_printf(purpose, " %s", release->columns[j]->name);
    }
  }
  if (out[0] != '/' && getcwd(folder, sizeof folder) != NULL) {
    tacit_text_printf(artefact, "%s/", strcmp(folder, "/") == 0 ? "" : folder);
  }
  tacit_text_printf(artefact, "%s", out);
}

static int reserve(cli_release_t *release) {
  const char *path = cli_value(release->args, "ledger");
  tacit_text_t purpose = {0}, artefact = {0};
  tacit_ledger_t *ledger = NULL;
  tacit_error_t err;
  if (path == NULL) {
    return CLI_OK;
  }
  describe_spend(release, &purpose, &artefact);
  tacit_event_t event = cli_release_ledger_event(release);
  tacit_spend_request_t request = {.data_id = cli_value(release->args, "data-id"),
                                   .relation = TACIT_RELATION_SUBSTITUTE,
                                   .purpose = purpose.data,
                                   .artefact = artefact.data,
                                   .events = &event,
                                   .n_events = 1};
  tacit_status_t status = purpose.failed || artefact.failed ? tacit_error_memory(&err) : tacit_ledger_open(&ledger, path, &err);
  if (status == TACIT_OK) {
    status = tacit_ledger_reserve(ledger, &request, &release->spend, &err);
  }
  tacit_ledger_close(ledger);
  tacit_text_clear(&purpose);
  tacit_text_clear(&artefact);
  return status == TACIT_OK ? CLI_OK : cli_fail(release->args, &err);
}

/* Lower the reservation to what was charged: all of it, or nothing. */
static void settle(const cli_release_t *release) {
  tacit_ledger_t *ledger;
  tacit_error_t err;
  size_t n;
  if (release->spend.id == 0) {
    return;
  }
  tacit_budget_events(release->budget, &n);
  tacit_event_t event = cli_release_ledger_event(release);
  tacit_status_t status = tacit_ledger_open(&ledger, cli_value(release->args, "ledger"), &err);
  if (status == TACIT_OK) {
    status = tacit_ledger_settle(ledger, &release->spend, &event, n > 0, &err);
  }
  tacit_ledger_close(ledger);
  if (status != TACIT_OK) {
    fprintf(stderr, "warning: the ledger keeps all that was reserved for this release: %s\n", err.message);
  }
}

/* ---- records ---- */

static int open_records(cli_release_t *release) {
  const char *names[CLI_RELEASE_MAX_COLUMNS];
  tacit_table_t *table;
  tacit_records_t *records = NULL;
  tacit_error_t err;
  for (size_t j = 0; j < release->statistic.n_columns; j++) {
    names[j] = release->columns[j]->name;
  }
  tacit_status_t status = tacit_table_read(&table, cli_value(release->args, "data"), release->schema, names,
                                           release->statistic.n_columns, NULL, &err);
  if (status == TACIT_OK) {
    status = tacit_table_pack(&records, table, names, release->statistic.n_columns, release->limits.n_threads,
                              cli_value(release->args, "scratch"), &err);
  }
  tacit_table_free(table);
  if (status == TACIT_OK) {
    status = release->is_seeded ? tacit_noise_new_seeded_not_private(&release->noise, release->seed, &err)
                                : tacit_noise_new(&release->noise, &err);
  }
  if (status != TACIT_OK) {
    tacit_records_free(records);
    return cli_fail(release->args, &err);
  }
  tacit_statistic_model(&release->model, &release->statistic);
  status = tacit_curator_new(&release->curator, records, &release->model, release->budget, release->noise, &release->limits, &err);
  if (status == TACIT_OK) {
    status = tacit_curator_n_units(release->curator, &release->n, &err);
  }
  if (status == TACIT_OK && release->n == 0) {
    status = tacit_error_set(&err, TACIT_ERR_DATA, "data", "%s holds no records", cli_value(release->args, "data"));
  }
  return status == TACIT_OK ? CLI_OK : cli_fail(release->args, &err);
}

static int compute(cli_release_t *release) {
  tacit_error_t err;
  size_t n_values = tacit_statistic_n_values(&release->statistic);
  release->values = tacit_alloc_zero(n_values, sizeof *release->values);
  release->scales = tacit_alloc_zero(n_values, sizeof *release->scales);
  tacit_status_t status = release->values != NULL && release->scales != NULL ? TACIT_OK : tacit_error_memory(&err);
  if (status == TACIT_OK) {
    status = tacit_curator_release_statistic(release->curator, &release->statistic, release->noise_multiplier, release->values,
                                             release->scales, &err);
  }
  settle(release);
  if (status == TACIT_OK) {
    status = cli_release_write(release, &err);
  }
  return status == TACIT_OK ? CLI_OK : cli_fail(release->args, &err);
}

static void print_release(const cli_release_t *release) {
  char numbers[3][TACIT_NUMBER_SIZE];
  size_t n_values = tacit_statistic_n_values(&release->statistic);
  printf("released: %s of %zu records, %zu value%s, %s noise\n", cli_value(release->args, "statistic"), release->n, n_values,
         n_values == 1 ? "" : "s", release->mechanism);
  if (release->is_seeded) {
    printf("NOT PRIVATE: its noise can be repeated by whoever knows the seed\n");
  } else {
    printf("cost: epsilon %s at delta %s (relation substitute, unit row)\n", tacit_number_format(release->epsilon, numbers[0]),
           tacit_number_format(release->delta, numbers[1]));
  }
  printf("written: %s; tacit infer MODEL --statistic %s --out DIR infers from it at no further cost\n",
         cli_value(release->args, "out"), cli_value(release->args, "out"));
}

static int run(const cli_args_t *args) {
  cli_release_t release = {.args = args};
  tacit_error_t err;
  int status = read_options(&release);
  status = status == CLI_OK ? cli_release_columns(&release) : status;
  if (status == CLI_OK && open_budget(&release, &err) != TACIT_OK) {
    status = cli_fail(args, &err);
  }
  status = status == CLI_OK ? open_records(&release) : status;
  status = status == CLI_OK ? reserve(&release) : status;
  status = status == CLI_OK ? compute(&release) : status;
  if (status == CLI_OK) {
    print_release(&release);
  }
  tacit_curator_free(release.curator);
  tacit_noise_free(release.noise);
  tacit_budget_free(release.budget);
  tacit_schema_free(release.schema);
  tacit_free(release.values);
  tacit_free(release.scales);
  return status;
}

static const cli_option_t options[] = {
    {"statistic", "NAME", NULL,
     "clamped-mean (mean of a column within its public bounds), counts (records in each cell of a table), moments (means, "
     "squares and products of the columns of a formula, for a linear regression) or score (the score of a logistic regression at "
     "coefficients 0, and the features' moments, which tell it elsewhere)."},
    {"column", "NAMES", NULL, "The column; for counts, columns joined by commas, the last one fastest in the result."},
    {"data", "FILE", NULL, "CSV or TSV with a header row, plain or gzipped; or a directory written by tacit import."},
    {"schema", "FILE", NULL, "YAML: what is publicly known of each column. Its bounds are where values are clamped."},
    {"out", "FILE", NULL, "The released statistic, YAML; must not exist."},
    {"mechanism", "NAME", "gaussian",
     "gaussian, laplace, discrete-gaussian or discrete-laplace; moments, score: gaussian. The discrete ones live on whole counts, or on "
     "multiples of --step."},
    {"epsilon", "E", NULL, "What the release may cost."},
    {"delta", "D", NULL, "Its delta, far below 1 / number of rows; Gaussian noise only."},
    {"step", "S", NULL, "clamped-mean under discrete noise: values are rounded to its multiples. 1 for whole numbers if not said."},
    {"threads", "N", "1", "Threads; results do not depend on it."},
    {"scratch", "DIR", NULL, "For records larger than memory: keep them in a file without a name in DIR, on a disk with room for 4 bytes a "
                             "value of the columns used and 4 a record, and as private as the data. Results do not depend on it."},
    {"ledger", "FILE", NULL, "Ledger of these data (tacit ledger init): the release is reserved there first."},
    {"data-id", "NAME", NULL, "Refuse if the ledger is of another data set."},
    {"purpose", "TEXT", NULL, "What the ledger shall say of this release; statistic and columns if not said."},
    {"seed", "N", NULL, "Repeatable noise. Noise that can be repeated protects nobody: NOT PRIVATE."}};

const cli_command_t cli_release = {
    .name = "release",
    .positionals = "[FORMULA]",
    .n_optional = 1,
    .summary = "release a statistic with noise, for tacit infer",
    .description =
        "Computes a statistic of records behind the curator, adds exact noise that makes it (epsilon, delta)-differentially "
        "private under replacing one row, and writes it as the YAML file that tacit infer reads: release and infer together are "
        "a complete private analysis, and whoever has the file can infer from it at no further cost.\n"
        "The number of records is public (relation substitute) and a row is the unit of privacy.",
    .examples = "  tacit release --statistic clamped-mean --column hours --data d.csv --schema d.yaml --mechanism laplace \\\n"
                "        --epsilon 1 --out s_dp.yaml\n"
                "  printf 'records: gaussian\\nmean: normal(40, 20)\\nsd: 12\\n' > model.yaml\n"
                "  tacit infer model.yaml --statistic s_dp.yaml --out post/\n"
                "  tacit release --statistic counts --column sex,smoker --data d.csv --schema d.yaml \\\n"
                "        --mechanism discrete-gaussian --epsilon 1 --delta 1e-6 --out counts.yaml\n"
                "  tacit release 'y ~ x1 + x2' --statistic moments --data d.csv --schema d.yaml --epsilon 1 --delta 1e-6 \\\n"
                "        --out moments.yaml\n"
                "  tacit release 'died ~ x1 + x2' --statistic score --data d.csv --schema d.yaml --epsilon 1 --delta 1e-6 \\\n"
                "        --out score.yaml\n",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .run = run};
