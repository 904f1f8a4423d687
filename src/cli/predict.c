/* tacit predict: rows that the analyst brings, or a grid over the public ranges, to predictions. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "cli/cli.h"
#include "cli/predict.h"
#include "report/report_internal.h"

typedef struct prediction {
  const tacit_predictor_t *predictor;
  tacit_prediction_kind_t kind;
  const tacit_grid_rows_t *grid; /* NULL: rows of a file */
  const tacit_new_rows_t *rows;
  tacit_text_t text;
  size_t n_outcomes;
} prediction_t;

/* A value of a row as its column's schema writes it. */
static void csv_value(prediction_t *p, size_t column, size_t row) {
  size_t n;
  const char *const *names = tacit_predictor_columns(p->predictor, &n);
  const tacit_column_schema_t *schema =
      tacit_schema_find(tacit_predictor_schema(p->predictor), names[column]);
  double x = p->rows->columns[column][row];
  if (schema->type == TACIT_COLUMN_CATEGORICAL) {
    tacit_text_csv(&p->text, schema->levels[(size_t)x]);
  } else {
    tacit_text_shortest(&p->text, x);
  }
}

/* Of a grid: which column varies, and all values of the row. */
static void grid_fields(prediction_t *p, size_t row) {
  size_t n;
  const char *const *names = tacit_predictor_columns(p->predictor, &n);
  tacit_text_csv(&p->text, names[p->grid->varied[row]]);
  tacit_text_append(&p->text, ",", 1);
  for (size_t j = 0; j < n; j++) {
    csv_value(p, j, row);
    tacit_text_append(&p->text, ",", 1);
  }
}

static void header(prediction_t *p) {
  size_t n;
  const char *const *names = tacit_predictor_columns(p->predictor, &n);
  if (p->grid != NULL) {
    tacit_text_printf(&p->text, "varies,");
    for (size_t j = 0; j < n; j++) {
      tacit_text_csv(&p->text, names[j]);
      tacit_text_append(&p->text, ",", 1);
    }
  }
  tacit_text_printf(&p->text, "%smean,sd,q5,q50,q95\n", p->n_outcomes > 1 ? "class," : "");
}

static tacit_status_t take_row(void *user, size_t row, double *draws, tacit_error_t *err) {
  prediction_t *p = user;
  size_t n = tacit_predictor_n_draws(p->predictor);
  for (size_t c = 0; c < p->n_outcomes; c++) {
    tacit_summary_t summary = tacit_prediction_summary(draws + c * n, n);
    const double fields[] = {summary.mean, summary.sd, summary.q5, summary.q50, summary.q95};
    if (p->grid != NULL) {
      grid_fields(p, row);
    }
    if (p->n_outcomes > 1) {
      tacit_text_csv(&p->text, tacit_predictor_outcome(p->predictor, p->kind, c));
      tacit_text_append(&p->text, ",", 1);
    }
    for (size_t i = 0; i < 5; i++) {
      tacit_text_shortest(&p->text, fields[i]);
      tacit_text_append(&p->text, i < 4 ? "," : "\n", 1);
    }
  }
  return p->text.failed ? tacit_error_memory(err) : TACIT_OK;
}

static tacit_status_t write_predictions(prediction_t *p, const cli_args_t *args, uint64_t seed,
                                        tacit_error_t *err) {
  p->n_outcomes = tacit_predictor_n_outcomes(p->predictor, p->kind);
  header(p);
  tacit_status_t status = tacit_predict(p->predictor, p->rows, p->kind, seed, take_row, p, err);
  if (status == TACIT_OK && tacit_predictor_note(p->predictor, p->kind)[0] != '\0') {
    fprintf(stderr, "note: %s", tacit_predictor_note(p->predictor, p->kind));
  }
  TACIT_THEN(status, cli_write(args, p->text.data, p->text.length, err));
  tacit_text_clear(&p->text);
  return status;
}

/* What the columns that do not vary are held at: where a row varies its column, all others are. */
static void say_held(prediction_t *p, size_t n_columns) {
  const char *const *names = tacit_predictor_columns(p->predictor, &n_columns);
  tacit_text_clear(&p->text);
  for (size_t j = 0; j < n_columns; j++) {
    size_t row = 0;
    while (row + 1 < p->rows->n && p->grid->varied[row] == j) {
      row++;
    }
    tacit_text_printf(&p->text, "%s%s ", j > 0 ? ", " : "", names[j]);
    csv_value(p, j, row);
  }
  if (n_columns > 1 && p->text.data != NULL) {
    fprintf(stderr,
            "note: each column varies in turn, the others held at the middle of their public bounds or their "
            "first level: %s\n",
            p->text.data);
  }
  tacit_text_clear(&p->text);
}

static tacit_status_t from_grid(prediction_t *p, const cli_args_t *args, uint64_t seed, tacit_error_t *err) {
  tacit_grid_rows_t grid;
  size_t n_columns;
  tacit_predictor_columns(p->predictor, &n_columns);
  tacit_status_t status = tacit_predictor_grid(p->predictor, 21, &grid, err);
  if (status == TACIT_OK) {
    p->grid = &grid;
    p->rows = &grid.rows;
    status = write_predictions(p, args, seed, err);
    if (status == TACIT_OK) {
      say_held(p, n_columns);
    }
    p->grid = NULL;
    p->rows = NULL;
  }
  tacit_grid_rows_clear(&grid, n_columns);
  return status;
}

static tacit_status_t from_file(prediction_t *p, const cli_args_t *args, const char *path, uint64_t seed,
                                tacit_error_t *err) {
  cli_new_rows_t rows;
  tacit_status_t status = cli_new_rows_read(&rows, p->predictor, path, err);
  if (status == TACIT_OK) {
    p->rows = &rows.rows;
    status = write_predictions(p, args, seed, err);
    p->rows = NULL;
  }
  cli_new_rows_clear(&rows);
  return status;
}

tacit_status_t cli_new_rows_read(cli_new_rows_t *rows, const tacit_predictor_t *predictor, const char *path,
                                 tacit_error_t *err) {
  size_t n;
  const char *const *names = tacit_predictor_columns(predictor, &n);
  *rows = (cli_new_rows_t){0};
  rows->columns = tacit_alloc_zero(n + 1, sizeof *rows->columns);
  if (rows->columns == NULL) {
    return tacit_error_memory(err);
  }
  if (n == 0) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "newdata",
                           "the formula has no columns: there is nothing that rows could tell");
  }
  tacit_status_t status =
      tacit_table_read(&rows->table, path, tacit_predictor_schema(predictor), names, n, NULL, err);
  for (size_t j = 0; j < n && status == TACIT_OK; j++) {
    rows->columns[j] = tacit_table_column(rows->table, names[j]);
  }
  rows->rows = (tacit_new_rows_t){rows->columns, status == TACIT_OK ? tacit_table_n_rows(rows->table) : 0};
  return status;
}

void cli_new_rows_clear(cli_new_rows_t *rows) {
  tacit_table_free(rows->table);
  tacit_free(rows->columns);
  *rows = (cli_new_rows_t){0};
}

static int run_predict(const cli_args_t *args) {
  tacit_error_t err;
  size_t seed = 0;
  if (!cli_count(args, "seed", &seed)) {
    return CLI_USAGE;
  }
  bool is_response = cli_is_given(args, "response"), is_linear = cli_is_given(args, "linear");
  if (is_response && is_linear) {
    cli_error(args, "--response and --linear exclude each other");
    return CLI_USAGE;
  }
  tacit_predictor_t *predictor;
  tacit_status_t status = tacit_predictor_new(&predictor, args->positionals[0], &err);
  if (status == TACIT_OK) {
    prediction_t prediction = {.predictor = predictor,
                               .kind = is_response ? TACIT_PREDICT_RESPONSE
                                       : is_linear ? TACIT_PREDICT_LINEAR
                                                   : TACIT_PREDICT_MEAN};
    const char *rows = cli_value(args, "newdata");
    status = strcmp(rows, "grid") == 0 ? from_grid(&prediction, args, seed, &err)
                                       : from_file(&prediction, args, rows, seed, &err);
  }
  tacit_predictor_free(predictor);
  return status == TACIT_OK ? CLI_OK : cli_fail(args, &err);
}

const cli_command_t cli_predict = {
    .name = "predict",
    .positionals = "DIR",
    .n_positionals = 1,
    .summary = "predict for rows that you bring",
    .description =
        "Reads the draws in DIR, which tacit fit wrote, and writes one row for each of yours: mean, sd and "
        "quantiles of the expected response over the draws (of classes, and of several outcomes, a row for "
        "each). Of a program, responses are what its statements `outcome ~ distribution(...)` say; of a "
        "censored time they are uncensored. Nothing here has access to a record: predictions are computed "
        "from released draws and cost no privacy. Responses are not clamped to the schema's bounds.",
    .examples =
        "  tacit predict fit/ --newdata new.csv --out predictions.csv\n  tacit predict fit/ --newdata grid\n",
    .task = TACIT_TASK_PREDICT,
    .required = {"newdata"},
    .run = run_predict};
