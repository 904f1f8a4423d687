/* Rows over the public ranges, and what changing one column does on average. */
#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "predict/predict_internal.h"

/* ---- rows over the public ranges ---- */

static const tacit_column_schema_t *column_of(const tacit_predictor_t *p, size_t i) {
  return tacit_schema_find(p->schema, p->names[i]);
}

static bool has_levels(const tacit_column_schema_t *column) {
  return column->type == TACIT_COLUMN_CATEGORICAL || column->type == TACIT_COLUMN_BINARY;
}

static size_t n_values(const tacit_column_schema_t *column, size_t n_points) {
  if (column->type == TACIT_COLUMN_CATEGORICAL) {
    return column->n_levels;
  }
  double whole = column->type == TACIT_COLUMN_NUMERIC ? INFINITY : column->upper - column->lower + 1;
  return whole < (double)n_points ? (size_t)whole : n_points;
}

static double value_at(const tacit_column_schema_t *column, size_t k, size_t n) {
  if (column->type == TACIT_COLUMN_CATEGORICAL) {
    return (double)k;
  }
  double x =
      n > 1 ? column->lower + (column->upper - column->lower) * ((double)k / (double)(n - 1)) : column->lower;
  return column->type == TACIT_COLUMN_NUMERIC ? x : round(x);
}

static double middle(const tacit_column_schema_t *column) {
  double x = column->lower + (column->upper - column->lower) / 2;
  return has_levels(column) ? 0 : column->type == TACIT_COLUMN_INTEGER ? floor(x) : x;
}

void tacit_grid_rows_clear(tacit_grid_rows_t *grid, size_t n_columns) {
  for (size_t j = 0; grid->rows.columns != NULL && j < n_columns; j++) {
    tacit_free((double *)(uintptr_t)grid->rows.columns[j]);
  }
  tacit_free((void *)(uintptr_t)grid->rows.columns);
  tacit_free(grid->varied);
  *grid = (tacit_grid_rows_t){0};
}

static tacit_status_t alloc_grid(tacit_grid_rows_t *grid, size_t n_columns, double ***columns,
                                 tacit_error_t *err) {
  *columns = tacit_alloc_zero(n_columns + 1, sizeof **columns);
  grid->rows.columns = (const double *const *)*columns;
  grid->varied = tacit_alloc(grid->rows.n + 1, sizeof *grid->varied);
  bool ok = *columns != NULL && grid->varied != NULL;
  for (size_t j = 0; ok && j < n_columns; j++) {
    ok = ((*columns)[j] = tacit_alloc(grid->rows.n, sizeof(double))) != NULL;
  }
  return ok ? TACIT_OK : tacit_error_memory(err);
}

tacit_status_t tacit_predictor_grid(const tacit_predictor_t *p, size_t n_points, tacit_grid_rows_t *grid,
                                    tacit_error_t *err) {
  *grid = (tacit_grid_rows_t){0};
  if (n_points < 2) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "n_points", "a grid needs at least 2 points");
  }
  for (size_t j = 0; j < p->n_names; j++) {
    grid->rows.n += n_values(column_of(p, j), n_points);
  }
  double **columns;
  tacit_status_t status = alloc_grid(grid, p->n_names, &columns, err);
  if (status != TACIT_OK) {
    tacit_grid_rows_clear(grid, p->n_names);
    return status;
  }
  size_t row = 0;
  for (size_t varied = 0; varied < p->n_names; varied++) {
    size_t n = n_values(column_of(p, varied), n_points);
    for (size_t k = 0; k < n; k++, row++) {
      grid->varied[row] = varied;
      for (size_t j = 0; j < p->n_names; j++) {
        const tacit_column_schema_t *column = column_of(p, j);
        columns[j][row] = j == varied ? value_at(column, k, n) : middle(column);
      }
    }
  }
  return TACIT_OK;
}

/* ---- average effects ---- */

/* The rows with one column changed; average expected responses are added to `draws` times `weight`. */
static tacit_status_t add_average(const tacit_predictor_t *p, const tacit_new_rows_t *rows, size_t column,
                                  const double *values, double weight, const double *row_weights,
                                  double *draws, tacit_error_t *err) {
  const double **columns = tacit_alloc(p->n_names, sizeof *columns);
  size_t n_all = tacit_predictor_n_outcomes(p, TACIT_PREDICT_MEAN) * p->n_draws;
  double *features = NULL, *one = tacit_alloc(n_all, sizeof *one);
  tacit_status_t status = columns != NULL && one != NULL ? TACIT_OK : tacit_error_memory(err);
  if (status == TACIT_OK) {
    for (size_t j = 0; j < p->n_names; j++) {
      columns[j] = j == column ? values : rows->columns[j];
    }
    status = tacit_predictor_features(p, &(tacit_new_rows_t){columns, rows->n}, &features, err);
  }
  TACIT_THEN(status, p->kind->check(p, TACIT_PREDICT_MEAN, err));
  for (size_t i = 0; i < rows->n && status == TACIT_OK; i++) {
    double factor = weight / (double)rows->n / (row_weights != NULL ? row_weights[i] : 1);
    status = tacit_predictor_row(p, features, TACIT_PREDICT_MEAN, i, NULL, one, err);
    for (size_t k = 0; k < n_all; k++) {
      draws[k] += factor * one[k];
    }
  }
  tacit_free(features);
  tacit_free(one);
  tacit_free(columns);
  return status;
}

tacit_status_t tacit_average_effect(const tacit_predictor_t *p, const tacit_new_rows_t *rows, size_t column,
                                    size_t level, double *draws, tacit_error_t *err) {
  const tacit_column_schema_t *schema = column_of(p, column);
  size_t n_all = tacit_predictor_n_outcomes(p, TACIT_PREDICT_MEAN) * p->n_draws;
  if (p->kind->is_drawn(p, TACIT_PREDICT_MEAN)) {
    return tacit_error_set(err, TACIT_ERR_DATA, "effect",
                           "average effects need an expectation that is no mean of draws: the outcome's "
                           "distribution has none in the library");
  }
  if (rows->n == 0) {
    return tacit_error_set(err, TACIT_ERR_DATA, "rows", "an average needs at least one row");
  }
  double *low = tacit_alloc(3 * rows->n, sizeof *low), *high = low != NULL ? low + rows->n : NULL;
  if (low == NULL) {
    return tacit_error_memory(err);
  }
  double *widths = has_levels(schema) ? NULL : low + 2 * rows->n,
         half = 5e-5 * (schema->upper - schema->lower);
  for (size_t i = 0; i < rows->n; i++) {
    double x = rows->columns[column][i];
    low[i] = widths != NULL ? fmax(x - half, schema->lower) : 0;
    high[i] = widths != NULL ? fmin(x + half, schema->upper) : (double)level;
    if (widths != NULL) {
      widths[i] = high[i] - low[i];
    }
  }
  for (size_t k = 0; k < n_all; k++) {
    draws[k] = 0;
  }
  tacit_status_t status = add_average(p, rows, column, high, 1, widths, draws, err);
  TACIT_THEN(status, add_average(p, rows, column, low, -1, widths, draws, err));
  tacit_free(low);
  return status;
}
