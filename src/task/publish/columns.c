/* Which columns a release is of, and whether the statistic suits them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "data/records.h"
#include "publish/publish_internal.h"
#include "tables/tables.h"

/* Without spaces around it. */
static void trim(const char **name, size_t *n) {
  for (; *n > 0 && (**name == ' ' || **name == '\t'); --*n) {
    ++*name;
  }
  while (*n > 0 && ((*name)[*n - 1] == ' ' || (*name)[*n - 1] == '\t')) {
    --*n;
  }
}

/* Add the column named by n bytes at `name`, spaces around it allowed. */
static tacit_status_t add_column(tacit_publish_t *publish, const char *name, size_t n, tacit_error_t *err) {
  char word[256];
  trim(&name, &n);
  snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), name);
  const tacit_column_schema_t *column = tacit_schema_find(publish->schema, word);
  if (column == NULL) {
    tacit_nearest_t nearest = {.name = word};
    char hint[TACIT_HINT_SIZE];
    for (size_t i = 0; i < tacit_schema_n_columns(publish->schema); i++) {
      tacit_nearest_offer(&nearest, tacit_schema_column(publish->schema, i)->name);
    }
    return tacit_error_set(err, TACIT_ERR_UNKNOWN, "column", "the schema has no column '%.60s'%s", word,
                           tacit_nearest_hint(&nearest, hint));
  }
  for (size_t j = 0; j < publish->statistic.n_columns; j++) {
    if (publish->columns[j] == column) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "column", "column '%s' is named twice", word);
    }
  }
  if (publish->statistic.n_columns == TACIT_PUBLISH_MAX_COLUMNS) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "column", "a release is of at most %d columns",
                           (int)TACIT_PUBLISH_MAX_COLUMNS);
  }
  publish->columns[publish->statistic.n_columns++] = column;
  return TACIT_OK;
}

/* Names between separators. */
static tacit_status_t add_columns(tacit_publish_t *publish, const char *text, char separator,
                                  tacit_error_t *err) {
  for (const char *at = text, *end;; at = end + 1) {
    end = strchr(at, separator);
    tacit_status_t status = add_column(publish, at, end != NULL ? (size_t)(end - at) : strlen(at), err);
    if (status != TACIT_OK || end == NULL) {
      return status;
    }
  }
}

/* 'y ~ x1 + x2': the features in order, then the response. */
static tacit_status_t read_formula(tacit_publish_t *publish, tacit_error_t *err) {
  const char *text = publish->formula, *statistic = tacit_publish_value(publish, "statistic");
  const char *tilde = text != NULL ? strchr(text, '~') : NULL;
  if (tilde == NULL || tacit_publish_has(publish, "column")) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "formula",
        "--statistic %s is of a formula, as in: tacit release 'y ~ x1 + x2' --statistic %s ...", statistic,
        statistic);
  }
  if (strpbrk(text, "():*^-") != NULL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "formula",
                           "moments and scores are of plain columns joined by +: put transformed ones into "
                           "the data and the schema");
  }
  tacit_status_t status = add_columns(publish, tilde + 1, '+', err);
  return status == TACIT_OK ? add_column(publish, text, (size_t)(tilde - text), err) : status;
}

/* The place of a column among those of the release; it is added if it is new. */
static tacit_status_t place_column(tacit_publish_t *publish, const char *name, size_t n, size_t *place,
                                   tacit_error_t *err) {
  trim(&name, &n);
  for (*place = 0; *place < publish->statistic.n_columns; ++*place) {
    const char *known = publish->columns[*place]->name;
    if (strlen(known) == n && strncmp(known, name, n) == 0) {
      return TACIT_OK;
    }
  }
  return add_column(publish, name, n, err);
}

/* 'sex,age_band' as bits of the columns. */
static tacit_status_t read_margin(tacit_publish_t *publish, const char *text, tacit_error_t *err) {
  uint32_t margin = 0;
  if (publish->statistic.n_margins == TACIT_PUBLISH_MAX_MARGINS) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "margin", "a release is of at most %d margins",
                           (int)TACIT_PUBLISH_MAX_MARGINS);
  }
  for (const char *at = text, *end = at; end != NULL; at = end != NULL ? end + 1 : NULL) {
    size_t place;
    end = strchr(at, ',');
    tacit_status_t status =
        place_column(publish, at, end != NULL ? (size_t)(end - at) : strlen(at), &place, err);
    if (status != TACIT_OK) {
      return status;
    }
    if ((margin >> place & 1) != 0) {
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "margin", "margin '%.60s' names a column twice", text);
    }
    margin |= UINT32_C(1) << place;
  }
  publish->margins[publish->statistic.n_margins++] = margin;
  return TACIT_OK;
}

static tacit_status_t read_margins(tacit_publish_t *publish, tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  const char *margin;
  for (size_t i = 0;
       status == TACIT_OK && (margin = tacit_settings_next(&publish->given, "margin", &i)) != NULL;) {
    status = read_margin(publish, margin, err);
  }
  publish->statistic.margins = publish->margins;
  publish->statistic.is_add_remove = publish->relation == TACIT_RELATION_ADD_REMOVE;
  if (status == TACIT_OK && publish->statistic.n_margins == 0) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "margin",
        "option --margin is needed, once for each table: --margin 'sex,age_band' --margin 'age_band,smoker'");
  }
  return status;
}

/* Margins of which no population could be inferred are refused before anything is spent on them. */
static tacit_status_t check_margins(const tacit_publish_t *publish, tacit_error_t *err) {
  const tacit_statistic_t *s = &publish->statistic;
  const char *names[TACIT_PUBLISH_MAX_COLUMNS];
  tacit_tables_t *tables = NULL;
  if (s->kind != TACIT_STATISTIC_MARGINS) {
    return TACIT_OK;
  }
  if (s->noise != TACIT_STATISTIC_GAUSSIAN && s->noise != TACIT_STATISTIC_DISCRETE_GAUSSIAN) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "mechanism",
                           "margins are released with gaussian or discrete-gaussian noise, which is what "
                           "inference from several at once takes");
  }
  for (size_t j = 0; j < s->n_columns; j++) {
    names[j] = publish->columns[j]->name;
  }
  const tacit_margins_t margins = {.n_columns = s->n_columns,
                                   .n_levels = publish->n_levels,
                                   .names = names,
                                   .n_margins = s->n_margins,
                                   .margins = s->margins};
  tacit_status_t status = tacit_tables_new(&tables, &margins, err);
  tacit_tables_free(tables);
  return status;
}

static tacit_status_t read_names(tacit_publish_t *publish, tacit_error_t *err) {
  const char *names = tacit_publish_value(publish, "column");
  bool is_margins = publish->statistic.kind == TACIT_STATISTIC_MARGINS;
  if (tacit_publish_has(publish, "margin") && !is_margins) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "margin", "--margin only goes with --statistic margins");
  }
  if (is_margins && names != NULL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "column",
                           "--statistic margins takes its columns from --margin");
  }
  if (publish->statistic.kind == TACIT_STATISTIC_PRODUCTS ||
      publish->statistic.kind == TACIT_STATISTIC_SCORE) {
    return read_formula(publish, err);
  }
  if (publish->formula != NULL) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "formula",
        "a formula only goes with --statistic moments or score: name columns with --column");
  }
  if (is_margins) {
    return read_margins(publish, err);
  }
  if (names == NULL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "column",
                           "option --column is needed: the column, or columns of a table joined by commas");
  }
  if (publish->statistic.kind == TACIT_STATISTIC_SUM && strchr(names, ',') != NULL) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "column",
        "a clamped mean is of one column: release others by further runs, each with its own budget");
  }
  return add_columns(publish, names, ',', err);
}

static bool has_numbers(const tacit_column_schema_t *column) {
  return column->type == TACIT_COLUMN_NUMERIC || column->type == TACIT_COLUMN_INTEGER ||
         column->type == TACIT_COLUMN_BINARY;
}

/* Levels or bounds of each column, as the statistic needs them. */
static tacit_status_t read_ranges(tacit_publish_t *publish, tacit_error_t *err) {
  bool is_counts =
      publish->statistic.kind == TACIT_STATISTIC_COUNTS || publish->statistic.kind == TACIT_STATISTIC_MARGINS;
  for (size_t j = 0; j < publish->statistic.n_columns; j++) {
    const tacit_column_schema_t *column = publish->columns[j];
    if (column->missing == TACIT_MISSING_DROP) {
      return tacit_error_set(err, TACIT_ERR_SCHEMA, "column",
                             "column '%s': missing: drop hides how many records count, and what is released "
                             "here is read with that number: say what a missing value counts as (missing: "
                             "%s), or fit a model, which releases the number",
                             column->name,
                             is_counts ? "LEVEL, one that stands for it" : "lower, upper or a public value");
    }
    bool is_binary = column->type == TACIT_COLUMN_BINARY,
         is_categorical = column->type == TACIT_COLUMN_CATEGORICAL;
    if (is_counts ? !is_binary && !is_categorical : !has_numbers(column)) {
      return tacit_error_set(
          err, TACIT_ERR_SCHEMA, "column", "column '%s': %s", column->name,
          is_counts ? "counts are of columns of type categorical or binary"
                    : "means, moments and scores are of columns of type numeric, integer or binary");
    }
    if (publish->statistic.kind == TACIT_STATISTIC_SCORE && j + 1 == publish->statistic.n_columns &&
        !is_binary) {
      return tacit_error_set(err, TACIT_ERR_SCHEMA, "column",
                             "column '%s': the score is of a logistic regression, whose response is of type "
                             "binary; for others release moments",
                             column->name);
    }
    publish->lower[j] = column->lower;
    publish->upper[j] = column->upper;
    publish->n_levels[j] = is_binary ? 2 : column->n_levels;
  }
  return TACIT_OK;
}

/* The lattice of discrete noise on a clamped sum: --step, or 1 for whole numbers. */
static tacit_status_t read_step(tacit_publish_t *publish, tacit_error_t *err) {
  tacit_statistic_t *s = &publish->statistic;
  bool is_discrete =
      s->noise == TACIT_STATISTIC_DISCRETE_GAUSSIAN || s->noise == TACIT_STATISTIC_DISCRETE_LAPLACE;
  bool needs_step = is_discrete && s->kind == TACIT_STATISTIC_SUM;
  if (tacit_publish_has(publish, "step") && !needs_step) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "step",
                           "--step only goes with --statistic clamped-mean and discrete noise");
  }
  if (!needs_step) {
    return TACIT_OK;
  }
  s->step = publish->columns[0]->type == TACIT_COLUMN_NUMERIC ? NAN : 1;
  tacit_settings_number(&publish->given, "step", &s->step);
  if (isnan(s->step)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "step",
                           "discrete noise on numeric column '%s' needs a --step to round values to, of "
                           "which both bounds are multiples",
                           publish->columns[0]->name);
  }
  return TACIT_OK;
}

static tacit_status_t open_schema(tacit_publish_t *publish, tacit_error_t *err) {
  char *text;
  size_t n;
  if (publish->schema != NULL) { /* given as text */
    return TACIT_OK;
  }
  tacit_status_t status = tacit_request_schema(&publish->request, &publish->given, &text, &n, err);
  TACIT_THEN(status,
             tacit_schema_parse(&publish->schema, text, n, tacit_publish_value(publish, "schema"), err));
  tacit_free(text);
  return status;
}

static tacit_status_t check_unit(tacit_publish_t *publish, tacit_error_t *err) {
  if (tacit_schema_unit(publish->schema) != NULL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "schema",
                           "a released statistic protects one row, but the schema's unit is a person: "
                           "release a table with one row a person");
  }
  publish->relation = tacit_schema_relation(publish->schema);
  if (publish->relation != TACIT_RELATION_SUBSTITUTE && publish->statistic.kind != TACIT_STATISTIC_MARGINS) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "schema",
        "a statistic is read with the number of records: the schema's relation must be substitute");
  }
  return TACIT_OK;
}

/* The statistic by its name. */
static tacit_status_t read_settings(tacit_publish_t *publish, tacit_error_t *err) {
  static const char *const names[] = {"clamped-mean", "counts", "moments", "score",
                                      "margins"}; /* as tacit_statistic_kind_t */
  const char *name = tacit_publish_value(publish, "statistic");
  tacit_nearest_t nearest = {.name = name};
  char hint[TACIT_HINT_SIZE];
  const char *of_programs = tacit_publish_has(publish, "set")      ? "set"
                            : tacit_publish_has(publish, "public") ? "public"
                                                                   : NULL;
  if (of_programs != NULL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, of_programs, "--%s goes with a program, FILE.stan",
                           of_programs);
  }
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (strcmp(names[i], name) == 0) {
      publish->statistic.kind = (tacit_statistic_kind_t)i;
      return TACIT_OK;
    }
    tacit_nearest_offer(&nearest, names[i]);
  }
  return tacit_error_set(
      err, TACIT_ERR_ARGUMENT, "statistic",
      "option --statistic must be clamped-mean, counts, moments, score or margins, not '%s'%s", name,
      tacit_nearest_hint(&nearest, hint));
}

static tacit_status_t choose(tacit_publish_t *publish, tacit_error_t *err) {
  tacit_status_t status = read_names(publish, err);
  TACIT_THEN(status, read_ranges(publish, err));
  TACIT_THEN(status, read_step(publish, err));
  publish->n_columns = publish->statistic.n_columns;
  return status;
}

static tacit_status_t pack(const tacit_publish_t *publish, const tacit_table_t *table,
                           tacit_records_t **records, tacit_error_t *err) {
  return tacit_table_pack(records, table, publish->names, publish->statistic.n_columns,
                          publish->limits.n_threads, tacit_publish_value(publish, "scratch"), err);
}

const tacit_publish_kind_t tacit_publish_of_statistic = {
    .read = read_settings, .choose = choose, .pack = pack};

tacit_status_t tacit_publish_choose_columns(tacit_publish_t *publish, tacit_error_t *err) {
  tacit_statistic_t *s = &publish->statistic;
  tacit_status_t status = open_schema(publish, err);
  TACIT_THEN(status, check_unit(publish, err));
  TACIT_THEN(status, publish->kind->choose(publish, err));
  s->lower = publish->lower;
  s->upper = publish->upper;
  s->n_levels = publish->n_levels;
  TACIT_THEN(status, tacit_statistic_check(s, err));
  return status == TACIT_OK ? check_margins(publish, err) : status;
}
