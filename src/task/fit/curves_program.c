/* The same curves of fits of programs, by the program's own expectation of its response. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "fit/fit_internal.h"
#include "program/forecast.h"
#include "program/kept.h"
#include "report/report.h"

enum { LANES = 16 };

typedef struct work {
  const tacit_fit_t *fit;
  tacit_forecast_t *forecast;
  tacit_forecast_workspace_t *workspace;
  size_t *reported; /* of each parameter, its place in a draw */
  double *row, *sorted;
} work_t;

static void clear(work_t *w) {
  tacit_forecast_workspace_free(w->workspace);
  tacit_forecast_free(w->forecast);
  tacit_free(w->reported);
  tacit_free(w->row);
  tacit_free(w->sorted);
}

/* One outcome, whose expectation is a number without draws. */
static bool has_curves(const tacit_forecast_t *f) {
  return f->n_outcomes == 1 && f->outcomes[0].parts[TACIT_FORECAST_MEAN].way == TACIT_WAY_OUTCOME;
}

static tacit_status_t make_forecast(work_t *w, tacit_error_t *err) {
  tacit_program_kept_t kept;
  tacit_status_t status = tacit_program_kept_read(&kept, tacit_fit_text(w->fit, TACIT_FIT_TEXT_PROGRAM), err);
  if (status == TACIT_OK) {
    const tacit_program_settings_t settings = tacit_program_kept_settings(&kept, w->fit->schema);
    status = tacit_forecast_new(&w->forecast, kept.text, strlen(kept.text), &settings, err);
  }
  tacit_program_kept_clear(&kept);
  return status == TACIT_ERR_DATA ? TACIT_OK : status; /* what cannot be predicted has no curve */
}

static tacit_status_t open_work(work_t *w, tacit_error_t *err) {
  const char *const *names = tacit_fit_names(w->fit);
  size_t n = w->fit->draws.n_reported, n_parameters = w->forecast->n_parameters;
  w->workspace = tacit_forecast_workspace_new(w->forecast);
  w->reported = tacit_alloc_zero(n_parameters + 1, sizeof *w->reported);
  w->row = tacit_alloc_zero(w->forecast->graph->n_columns + 1, sizeof *w->row);
  w->sorted = tacit_alloc_zero(TACIT_CURVE_DRAWS + LANES, sizeof *w->sorted);
  if (w->workspace == NULL || w->reported == NULL || w->row == NULL || w->sorted == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t j = 0; j < n_parameters; j++) {
    while (w->reported[j] < n && strcmp(names[w->reported[j]], w->forecast->parameters[j]) != 0) {
      w->reported[j]++;
    }
    if (w->reported[j] == n) {
      return tacit_error_set(err, TACIT_ERR_STATE, "draws",
                             "the draws have no parameter '%.80s' of the program",
                             w->forecast->parameters[j]);
    }
  }
  return TACIT_OK;
}

/* sorted (the number returned) <- expectations at w->row, over some of the draws. */
static size_t run_draws(work_t *w) {
  const tacit_draws_t *draws = &w->fit->draws;
  size_t n_kept = tacit_draws_n_kept(draws), all = n_kept * draws->n_chains,
         step = all / TACIT_CURVE_DRAWS + 1, n = 0;
  double *parameters = w->workspace->inputs + w->forecast->graph->n_columns * LANES;
  for (size_t first = 0; first < all; first += step * LANES) {
    size_t n_lanes = 0;
    for (size_t lane = 0; lane < LANES; lane++) {
      size_t k = first + lane * step;
      n_lanes += k < all;
      const double *row = tacit_draws_row(draws, (k < all ? k : first) / n_kept,
                                          draws->n_warmup + (k < all ? k : first) % n_kept);
      for (size_t j = 0; j < w->forecast->n_parameters; j++) {
        parameters[j * LANES + lane] = row[w->reported[j]];
      }
    }
    tacit_forecast_run(w->workspace, TACIT_FORECAST_MEAN, w->row, NULL, w->sorted + n);
    n += n_lanes;
  }
  return n;
}

/* The curve along a column of the table; false: some expectation is no number. */
static bool fill(work_t *w, size_t moving, double *x, double *low, double *middle, double *high) {
  const tacit_forecast_t *f = w->forecast;
  for (size_t i = 0; i < TACIT_CURVE_POINTS; i++) {
    for (size_t k = 0; k < f->graph->n_columns; k++) {
      const tacit_graph_column_t *column = &f->graph->columns[k];
      bool is_used = f->places[k] != SIZE_MAX;
      const tacit_column_schema_t *schema =
          is_used ? tacit_schema_find(w->fit->schema, f->columns[f->places[k]]) : NULL;
      double share = (double)i / (TACIT_CURVE_POINTS - 1);
      double value = is_used && f->places[k] != moving
                         ? tacit_forecast_column(f, k, tacit_curve_resting(schema))
                         : column->lower + share * (column->upper - column->lower);
      w->row[k] = fmin(fmax(value, column->lower), column->upper);
      x[i] = f->places[k] == moving ? w->row[k] - column->offset : x[i];
    }
    tacit_curve_band(w->sorted, run_draws(w), &low[i], &middle[i], &high[i]);
    if (!isfinite(low[i]) || !isfinite(middle[i]) || !isfinite(high[i])) {
      return false;
    }
  }
  return true;
}

static void fill_all(work_t *w, tacit_fit_curves_t *curves) {
  for (size_t c = 0; c < w->forecast->n_columns && curves->n < TACIT_CURVE_MOST; c++) {
    const tacit_column_schema_t *column = tacit_schema_find(w->fit->schema, w->forecast->columns[c]);
    double *x = curves->values + curves->n * 4 * TACIT_CURVE_POINTS;
    double *low = x + TACIT_CURVE_POINTS, *middle = low + TACIT_CURVE_POINTS,
           *high = middle + TACIT_CURVE_POINTS;
    bool is_number =
        column != NULL && (column->type == TACIT_COLUMN_NUMERIC || column->type == TACIT_COLUMN_INTEGER);
    if (is_number && fill(w, c, x, low, middle, high)) {
      curves->items[curves->n++] = (tacit_curve_t){column->name, TACIT_CURVE_POINTS, x, low, middle, high};
    }
  }
}

tacit_status_t tacit_fit_curves_of_program(const tacit_fit_t *fit, tacit_fit_curves_t *curves,
                                           tacit_error_t *err) {
  work_t w = {.fit = fit};
  tacit_status_t status = make_forecast(&w, err);
  if (status == TACIT_OK && w.forecast != NULL && has_curves(w.forecast)) {
    status = open_work(&w, err);
    if (status == TACIT_OK) {
      fill_all(&w, curves);
    }
  }
  clear(&w);
  return status;
}
