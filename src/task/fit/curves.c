/* The expected response along each numeric column, for the report: from draws and public ranges, no record.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/sort.h"
#include "fit/fit_internal.h"
#include "report/report.h"

enum { N_POINTS = TACIT_CURVE_POINTS, MOST_DRAWS = TACIT_CURVE_DRAWS, MOST_CURVES = TACIT_CURVE_MOST };

void tacit_fit_curves_clear(tacit_fit_curves_t *curves) {
  tacit_free(curves->items);
  tacit_free(curves->values);
  *curves = (tacit_fit_curves_t){0};
}

/* The middle of what is typical or of its bounds, the reference level. */
double tacit_curve_resting(const tacit_column_schema_t *column) {
  bool is_number = column->type == TACIT_COLUMN_NUMERIC || column->type == TACIT_COLUMN_INTEGER;
  double low = column->has_typical ? column->typical_low : column->lower,
         high = column->has_typical ? column->typical_high : column->upper;
  double middle = low / 2 + high / 2;
  return !is_number ? 0 : column->type == TACIT_COLUMN_INTEGER ? round(middle) : middle;
}

/* features (N_POINTS, d): along column `moving`. Terms that do not move are where the released means are. */
static tacit_status_t fill_features(const tacit_fit_t *fit, size_t moving, double *columns, double *x,
                                    double *features, tacit_error_t *err) {
  size_t n_columns, d = tacit_design_n_features(fit->design);
  const char *const *names = tacit_design_columns(fit->design, &n_columns);
  const double **at = tacit_alloc_zero(n_columns, sizeof *at);
  if (at == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t c = 0; c < n_columns; c++) {
    const tacit_column_schema_t *column = tacit_schema_find(fit->schema, names[c]);
    for (size_t i = 0; i < N_POINTS; i++) {
      double share = (double)i / (N_POINTS - 1);
      columns[c * N_POINTS + i] =
          c == moving ? column->lower + share * (column->upper - column->lower) : tacit_curve_resting(column);
    }
    at[c] = columns + c * N_POINTS;
  }
  memcpy(x, columns + moving * N_POINTS, N_POINTS * sizeof *x);
  tacit_status_t status = tacit_design_evaluate(fit->design, at, N_POINTS, features, err);
  for (size_t j = 1; j < d && status == TACIT_OK; j++) {
    double centre, half;
    bool moves = false;
    for (size_t i = 1; i < N_POINTS; i++) {
      moves = moves || fabs(features[i * d + j] - features[j]) > 0;
    }
    tacit_design_scaling(fit->design, j, &centre, &half);
    for (size_t i = 0; i < N_POINTS && !moves && j < fit->evidence.n_terms; i++) {
      features[i * d + j] = centre + half * fit->evidence.feature_mean[j];
    }
  }
  tacit_free(at);
  return status;
}

static double expected(tacit_family_t family, double eta) {
  return family == TACIT_FAMILY_BERNOULLI ? 1 / (1 + exp(-eta))
         : family == TACIT_FAMILY_POISSON ? exp(eta)
                                          : eta;
}

void tacit_curve_band(double *values, size_t n, double *low, double *middle, double *high) {
  tacit_sort_numbers(n, values);
  *low = values[n / 20];
  *middle = values[n / 2];
  *high = values[n - 1 - n / 20];
}

/* low, middle, high (N_POINTS) <- quantiles over some of the draws. */
static void fill_band(const tacit_fit_t *fit, const double *features, double *sorted, double *low,
                      double *middle, double *high) {
  const tacit_draws_t *draws = &fit->draws;
  size_t d = tacit_design_n_features(fit->design), n_kept = tacit_draws_n_kept(draws),
         all = n_kept * draws->n_chains, step = all / MOST_DRAWS + 1;
  for (size_t i = 0; i < N_POINTS; i++) {
    size_t n = 0;
    for (size_t k = 0; k < all; k += step) {
      const double *row = tacit_draws_row(draws, k / n_kept, draws->n_warmup + k % n_kept);
      double eta = 0;
      for (size_t j = 0; j < d; j++) {
        eta += row[j] * features[i * d + j];
      }
      sorted[n++] = expected(fit->family, eta);
    }
    tacit_curve_band(sorted, n, &low[i], &middle[i], &high[i]);
  }
}

/* Columns of the terms that are numbers; the response comes first among a design's. */
static bool is_drawn(const tacit_fit_t *fit, const char *name) {
  const tacit_column_schema_t *column = tacit_schema_find(fit->schema, name);
  return strcmp(name, tacit_design_response(fit->design)) != 0 && column != NULL &&
         (column->type == TACIT_COLUMN_NUMERIC || column->type == TACIT_COLUMN_INTEGER);
}

tacit_status_t tacit_fit_curves(const tacit_fit_t *fit, tacit_fit_curves_t *curves, tacit_error_t *err) {
  size_t n_columns, d;
  *curves = (tacit_fit_curves_t){0};
  bool has_none = fit->program == NULL && (fit->design == NULL || fit->family == TACIT_FAMILY_CATEGORICAL);
  if (has_none || tacit_draws_n_kept(&fit->draws) == 0) {
    return TACIT_OK;
  }
  curves->items = tacit_alloc_zero(MOST_CURVES, sizeof *curves->items);
  curves->values = tacit_alloc_zero(MOST_CURVES * 4 * N_POINTS, sizeof *curves->values);
  bool ok = curves->items != NULL && curves->values != NULL;
  if (ok && (fit->program != NULL || fit->effects != NULL)) {
    return tacit_fit_curves_of_program(fit, curves, err);
  }
  const char *const *names = tacit_design_columns(fit->design, &n_columns);
  d = tacit_design_n_features(fit->design);
  double *work = tacit_alloc_zero(N_POINTS * (n_columns + d) + MOST_DRAWS + 1, sizeof *work);
  tacit_status_t status = ok && work != NULL ? TACIT_OK : tacit_error_memory(err);
  for (size_t c = 0; c < n_columns && curves->n < MOST_CURVES && status == TACIT_OK; c++) {
    if (is_drawn(fit, names[c])) {
      double *columns = work, *features = work + N_POINTS * n_columns, *sorted = features + N_POINTS * d,
             *x = curves->values + curves->n * 4 * N_POINTS;
      double *low = x + N_POINTS, *middle = low + N_POINTS, *high = middle + N_POINTS;
      status = fill_features(fit, c, columns, x, features, err);
      if (status == TACIT_OK) {
        fill_band(fit, features, sorted, low, middle, high);
        curves->items[curves->n++] = (tacit_curve_t){names[c], N_POINTS, x, low, middle, high};
      }
    }
  }
  tacit_free(work);
  return status;
}

/* "age from 50 to 105; sex F (reference), M" */
tacit_status_t tacit_fit_describe_columns(const tacit_fit_t *fit, tacit_text_t *to, tacit_error_t *err) {
  size_t n = 0;
  const char *const *names = tacit_fit_used(fit, &n);
  for (size_t c = 0; c < n; c++) {
    const tacit_column_schema_t *column = tacit_schema_find(fit->schema, names[c]);
    tacit_text_printf(to, "%s%s", c > 0 ? "; " : "", names[c]);
    if (column == NULL || column->type == TACIT_COLUMN_ID) {
      continue;
    }
    if (column->type == TACIT_COLUMN_BINARY) {
      tacit_text_printf(to, " 0 or 1");
    } else if (column->type != TACIT_COLUMN_CATEGORICAL) {
      tacit_text_printf(to, " from %.6g to %.6g", column->lower, column->upper);
    }
    for (size_t k = 0; k < column->n_levels && column->type == TACIT_COLUMN_CATEGORICAL; k++) {
      tacit_text_printf(to, "%s%s%s", k > 0 ? ", " : " ", column->levels[k], k == 0 ? " (reference)" : "");
    }
  }
  return to->failed ? tacit_error_memory(err) : TACIT_OK;
}
