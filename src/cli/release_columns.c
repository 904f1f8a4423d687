/* Which columns a release is of, and whether the statistic suits them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/release.h"

static int usage(const cli_release_t *release, const char *message) {
  cli_error(release->args, "%s", message);
  return CLI_USAGE;
}

/* Add the column named by n bytes at `name`, spaces around it allowed. */
static int add_column(cli_release_t *release, const char *name, size_t n) {
  char word[256];
  while (n > 0 && (*name == ' ' || *name == '\t')) {
    name++, n--;
  }
  while (n > 0 && (name[n - 1] == ' ' || name[n - 1] == '\t')) {
    n--;
  }
  snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), name);
  const tacit_column_schema_t *column = tacit_schema_find(release->schema, word);
  if (column == NULL) {
    tacit_nearest_t nearest = {.name = word};
    char hint[TACIT_HINT_SIZE];
    for (size_t i = 0; i < tacit_schema_n_columns(release->schema); i++) {
      tacit_nearest_offer(&nearest, tacit_schema_column(release->schema, i)->name);
    }
    cli_error(release->args, "the schema has no column '%.60s'%s", word, tacit_nearest_hint(&nearest, hint));
    return CLI_BAD_DATA;
  }
  for (size_t j = 0; j < release->statistic.n_columns; j++) {
    if (release->columns[j] == column) {
      cli_error(release->args, "column '%s' is named twice", word);
      return CLI_USAGE;
    }
  }
  if (release->statistic.n_columns == CLI_RELEASE_MAX_COLUMNS) {
    cli_error(release->args, "a release is of at most %d columns", (int)CLI_RELEASE_MAX_COLUMNS);
    return CLI_USAGE;
  }
  release->columns[release->statistic.n_columns++] = column;
  return CLI_OK;
}

/* Names between separators. */
static int add_columns(cli_release_t *release, const char *text, char separator) {
  int status = CLI_OK;
  for (const char *at = text; status == CLI_OK; at++) {
    const char *end = strchr(at, separator);
    size_t n = end != NULL ? (size_t)(end - at) : strlen(at);
    status = add_column(release, at, n);
    if (end == NULL) {
      break;
    }
    at = end;
  }
  return status;
}

/* 'y ~ x1 + x2': the features in order, then the response. */
static int read_formula(cli_release_t *release) {
  const cli_args_t *args = release->args;
  const char *text = args->n_positionals > 0 ? args->positionals[0] : NULL;
  const char *tilde = text != NULL ? strchr(text, '~') : NULL;
  if (tilde == NULL || cli_is_given(args, "column")) {
    cli_error(args, "--statistic %s is of a formula, as in: tacit release 'y ~ x1 + x2' --statistic %s ...",
              cli_value(args, "statistic"), cli_value(args, "statistic"));
    return CLI_USAGE;
  }
  if (strpbrk(text, "():*^-") != NULL) {
    return usage(release, "moments and scores are of plain columns joined by +: put transformed ones into the data and the schema");
  }
  int status = add_columns(release, tilde + 1, '+');
  return status == CLI_OK ? add_column(release, text, (size_t)(tilde - text)) : status;
}

static int read_names(cli_release_t *release) {
  const cli_args_t *args = release->args;
  const char *names = cli_value(args, "column");
  if (release->statistic.kind == TACIT_STATISTIC_PRODUCTS || release->statistic.kind == TACIT_STATISTIC_SCORE) {
    return read_formula(release);
  }
  if (args->n_positionals > 0) {
    return usage(release, "a formula only goes with --statistic moments or score: name columns with --column");
  }
  if (names == NULL) {
    return usage(release, "option --column is needed: the column, or columns of a table joined by commas");
  }
  if (release->statistic.kind == TACIT_STATISTIC_SUM && strchr(names, ',') != NULL) {
    return usage(release, "a clamped mean is of one column: release others by further runs, each with its own budget");
  }
  return add_columns(release, names, ',');
}

static bool has_numbers(const tacit_column_schema_t *column) {
  return column->type == TACIT_COLUMN_NUMERIC || column->type == TACIT_COLUMN_INTEGER || column->type == TACIT_COLUMN_BINARY;
}

/* Levels or bounds of each column, as the statistic needs them. */
static int read_ranges(cli_release_t *release) {
  bool is_counts = release->statistic.kind == TACIT_STATISTIC_COUNTS;
  for (size_t j = 0; j < release->statistic.n_columns; j++) {
    const tacit_column_schema_t *column = release->columns[j];
    bool is_binary = column->type == TACIT_COLUMN_BINARY, is_categorical = column->type == TACIT_COLUMN_CATEGORICAL;
    if (is_counts ? !is_binary && !is_categorical : !has_numbers(column)) {
      cli_error(release->args, "column '%s': %s", column->name,
                is_counts ? "counts are of columns of type categorical or binary"
                          : "means, moments and scores are of columns of type numeric, integer or binary");
      return CLI_BAD_DATA;
    }
    if (release->statistic.kind == TACIT_STATISTIC_SCORE && j + 1 == release->statistic.n_columns && !is_binary) {
      cli_error(release->args, "column '%s': the score is of a logistic regression, whose response is of type binary; for others "
                               "release moments", column->name);
      return CLI_BAD_DATA;
    }
    release->lower[j] = column->lower;
    release->upper[j] = column->upper;
    release->n_levels[j] = is_binary ? 2 : column->n_levels;
  }
  return CLI_OK;
}

/* The lattice of discrete noise on a clamped sum: --step, or 1 for whole numbers. */
static int read_step(cli_release_t *release) {
  tacit_statistic_t *s = &release->statistic;
  bool is_discrete = s->noise == TACIT_STATISTIC_DISCRETE_GAUSSIAN || s->noise == TACIT_STATISTIC_DISCRETE_LAPLACE;
  bool needs_step = is_discrete && s->kind == TACIT_STATISTIC_SUM;
  if (cli_is_given(release->args, "step") && !needs_step) {
    return usage(release, "--step only goes with --statistic clamped-mean and discrete noise");
  }
  if (!needs_step) {
    return CLI_OK;
  }
  s->step = release->columns[0]->type == TACIT_COLUMN_NUMERIC ? NAN : 1;
  if (!cli_number(release->args, "step", 1e-12, 1e12, &s->step)) {
    return CLI_USAGE;
  }
  if (isnan(s->step)) {
    cli_error(release->args, "discrete noise on numeric column '%s' needs a --step to round values to, of which both bounds are "
                             "multiples",
              release->columns[0]->name);
    return CLI_USAGE;
  }
  return CLI_OK;
}

int cli_release_columns(cli_release_t *release) {
  tacit_error_t err;
  tacit_statistic_t *s = &release->statistic;
  if (tacit_schema_read(&release->schema, cli_value(release->args, "schema"), &err) != TACIT_OK) {
    return cli_fail(release->args, &err);
  }
  if (tacit_schema_unit(release->schema) != NULL) {
    return usage(release, "a released statistic protects one row, but the schema's unit is a person: release a table with one "
                          "row a person");
  }
  if (tacit_schema_relation(release->schema) != TACIT_RELATION_SUBSTITUTE) {
    return usage(release, "a statistic is read with the number of records: the schema's relation must be substitute");
  }
  int status = read_names(release);
  status = status == CLI_OK ? read_ranges(release) : status;
  status = status == CLI_OK ? read_step(release) : status;
  s->lower = release->lower;
  s->upper = release->upper;
  s->n_levels = release->n_levels;
  return status != CLI_OK || tacit_statistic_check(s, &err) == TACIT_OK ? status : cli_fail(release->args, &err);
}
