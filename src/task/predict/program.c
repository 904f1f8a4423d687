/* Predictions of fits of programs: which reported draw is which parameter, rows as the program's columns,
 * sixteen draws at a time. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/records.h"
#include "data/schema_internal.h"
#include "predict/predict_internal.h"
#include "program/kept.h"

enum { LANES = 16 };

/* ---- opening ---- */

/* The reported value that each of the program's parameters is. */
static tacit_status_t find_parameters(tacit_predictor_t *p, tacit_error_t *err) {
  const tacit_forecast_t *f = p->forecast;
  p->coefficient = tacit_alloc(f->n_parameters + 1, sizeof *p->coefficient);
  for (size_t j = 0; j < f->n_parameters && p->coefficient != NULL; j++) {
    const char *name = f->parameters[j] != NULL ? f->parameters[j] : "";
    size_t i = 0;
    while (i < p->fit.draws.n_reported && strcmp(p->fit.names[i], name) != 0) {
      i++;
    }
    if (i == p->fit.draws.n_reported) {
      return tacit_error_set(err, TACIT_ERR_DATA, "draws",
                             "the draws have no parameter '%.80s' of the program: are they of this fit?",
                             name);
    }
    p->coefficient[j] = i;
  }
  p->n_draws = p->fit.draws.n_chains * tacit_draws_n_kept(&p->fit.draws);
  return p->coefficient != NULL ? TACIT_OK : tacit_error_memory(err);
}

/* Rows have the columns that predictions look at, within the bounds that the program has for them. */
static tacit_status_t make_schema(tacit_predictor_t *p, const tacit_schema_t *schema, tacit_error_t *err) {
  const tacit_forecast_t *f = p->forecast;
  p->n_features = f->graph->n_columns;
  p->n_names = f->n_columns;
  p->names = tacit_alloc(f->n_columns + 1, sizeof *p->names);
  if (p->names == NULL) {
    return tacit_error_memory(err);
  }
  memcpy(p->names, f->columns, f->n_columns * sizeof *p->names);
  tacit_status_t status = tacit_schema_for_new_rows(&p->schema, schema, p->names, p->n_names, err);
  for (size_t k = 0; k < f->graph->n_columns && status == TACIT_OK; k++) {
    const tacit_graph_column_t *column = &f->graph->columns[k];
    if (f->places[k] != SIZE_MAX && isnan(column->level)) {
      tacit_schema_narrow(p->schema, column->source, column->lower - column->offset,
                          column->upper - column->offset);
    }
  }
  return status;
}

/* What is said of expectations that are means of draws. */
static tacit_status_t write_note(tacit_predictor_t *p, tacit_error_t *err) {
  for (size_t i = 0; i < p->forecast->n_outcomes; i++) {
    const tacit_forecast_outcome_t *o = &p->forecast->outcomes[i];
    if (o->parts[TACIT_FORECAST_MEAN].way == TACIT_WAY_DISTRIBUTION) {
      tacit_text_printf(
          &p->note,
          "the expected '%s' is a mean of %d draws for each draw of the parameters (%s%s has no expectation "
          "in the library): %.0f %% of the response's own sd are added to the spread of the expected "
          "response, and its mean is off by that over the root of the draws\n",
          o->name, TACIT_FORECAST_INNER, o->has_from || o->has_to ? "truncated " : "", o->distribution_name,
          100 / sqrt(TACIT_FORECAST_INNER));
    }
  }
  return p->note.failed ? tacit_error_memory(err) : TACIT_OK;
}

tacit_status_t tacit_predictor_open_program(tacit_predictor_t *p, const tacit_schema_t *schema,
                                            tacit_error_t *err) {
  tacit_program_kept_t kept;
  tacit_status_t status = tacit_program_kept_read(&kept, p->fit.program, err);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_program_settings_t settings = tacit_program_kept_settings(&kept, schema);
  status = tacit_forecast_new(&p->forecast, kept.text, strlen(kept.text), &settings, err);
  tacit_program_kept_clear(&kept);
  TACIT_THEN(status, make_schema(p, schema, err));
  TACIT_THEN(status, find_parameters(p, err));
  TACIT_THEN(status, write_note(p, err));
  if (status == TACIT_OK) {
    p->workspace = tacit_forecast_workspace_new(p->forecast);
    p->quantities = tacit_alloc((p->forecast->n_quantities[TACIT_FORECAST_MEAN] +
                                 p->forecast->n_quantities[TACIT_FORECAST_LINEAR] +
                                 p->forecast->n_quantities[TACIT_FORECAST_DRAW]) *
                                    LANES,
                                sizeof *p->quantities);
    status = p->workspace != NULL && p->quantities != NULL ? TACIT_OK : tacit_error_memory(err);
  }
  return status;
}

void tacit_predictor_close_program(tacit_predictor_t *p) {
  tacit_forecast_workspace_free(p->workspace);
  tacit_forecast_free(p->forecast);
  tacit_free(p->quantities);
  tacit_text_clear(&p->note);
}

/* ---- what quantities are ---- */

static size_t n_outcomes(const tacit_predictor_t *p, tacit_prediction_kind_t kind) {
  return p->forecast->n_quantities[kind];
}

static const char *outcome(tacit_predictor_t *p, tacit_prediction_kind_t kind, size_t quantity) {
  const tacit_forecast_t *f = p->forecast;
  size_t own, n = f->n_quantities[kind];
  const tacit_forecast_outcome_t *o = tacit_forecast_of(f, (tacit_forecast_kind_t)kind, quantity, &own);
  size_t n_own = o->parts[kind].n_quantities;
  bool is_class = o->n_classes > 0 && (n_own == o->n_classes || n_own + 1 == o->n_classes);
  const char *class = is_class ? o->classes[own + (n_own < o->n_classes)] : "";
  if (f->n_outcomes == 1) {
    return n > 1 ? class : "";
  }
  const char *name = is_class ? tacit_arena_printf(&p->forecast->arena, "%s: %s", o->name, class) : o->name;
  return name != NULL ? name : "";
}

static bool is_drawn(const tacit_predictor_t *p, tacit_prediction_kind_t kind) {
  bool is_any = kind == TACIT_PREDICT_RESPONSE;
  for (size_t i = 0; i < p->forecast->n_outcomes; i++) {
    is_any = is_any || p->forecast->outcomes[i].parts[kind].way == TACIT_WAY_DISTRIBUTION;
  }
  return is_any;
}

static tacit_status_t check(const tacit_predictor_t *p, tacit_prediction_kind_t kind, tacit_error_t *err) {
  static const char *const of[] = {"the expectation", "the linear predictor"}, *const of_ending[] = {
                                                                                   "mean", "linear"};
  for (size_t i = 0; i < p->forecast->n_outcomes; i++) {
    const tacit_forecast_outcome_t *o = &p->forecast->outcomes[i];
    if (o->parts[kind].way == TACIT_WAY_UNKNOWN) {
      return kind == TACIT_PREDICT_RESPONSE
                 ? tacit_error_set(
                       err, TACIT_ERR_DATA, "program",
                       "draws of '%s' are not known: its distribution '%s' is not one that can be drawn from",
                       o->name, o->distribution_name)
                 : tacit_error_set(err, TACIT_ERR_DATA, "program",
                                   "%s of '%s' is not known: the distribution '%s' has no function %s_%s(), "
                                   "which the program may define",
                                   of[kind], o->name, o->distribution_name, o->distribution_name,
                                   of_ending[kind]);
    }
  }
  return TACIT_OK;
}

/* ---- rows ---- */

static tacit_status_t make_features(const tacit_predictor_t *p, const tacit_new_rows_t *rows,
                                    double *features, tacit_error_t *err) {
  const tacit_forecast_t *f = p->forecast;
  for (size_t i = 0; i < rows->n; i++) {
    for (size_t k = 0; k < p->n_features; k++) {
      const tacit_graph_column_t *column = &f->graph->columns[k];
      double x = f->places[k] != SIZE_MAX ? tacit_forecast_column(f, k, rows->columns[f->places[k]][i])
                                          : column->lower;
      double rounding = 1e-12 * (fabs(column->lower) + fabs(column->upper));
      if (!(x >= column->lower - rounding && x <= column->upper + rounding)) {
        return tacit_error_set(err, TACIT_ERR_DATA, column->source,
                               "row %zu: column '%s' is %g, and the program takes it from %g to %g", i + 1,
                               column->source, x - column->offset, column->lower - column->offset,
                               column->upper - column->offset);
      }
      features[i * p->n_features + k] = x;
    }
  }
  return TACIT_OK;
}

typedef struct source {
  tacit_uniforms_t base;
  tacit_rng_t *rng;
} source_t;

static double next(tacit_uniforms_t *self) { return tacit_rng_uniform(((source_t *)self)->rng); }

static void predict_row(const tacit_predictor_t *p, const double *features, tacit_prediction_kind_t kind,
                        tacit_rng_t *rng, double *draws) {
  const tacit_forecast_t *f = p->forecast;
  double *parameters = p->workspace->inputs + f->graph->n_columns * LANES;
  source_t source = {{next}, rng};
  for (size_t first = 0; first < p->n_draws; first += LANES) {
    size_t n = p->n_draws - first < LANES ? p->n_draws - first : LANES;
    for (size_t lane = 0; lane < LANES; lane++) {
      const double *draw = tacit_predictor_draw(p, first + (lane < n ? lane : 0));
      for (size_t j = 0; j < f->n_parameters; j++) {
        parameters[j * LANES + lane] = draw[p->coefficient[j]];
      }
    }
    tacit_forecast_run(p->workspace, (tacit_forecast_kind_t)kind, features, &source.base, p->quantities);
    for (size_t q = 0; q < f->n_quantities[kind]; q++) {
      memcpy(draws + q * p->n_draws + first, p->quantities + q * LANES, n * sizeof *draws);
    }
  }
}

static tacit_status_t check_row(const tacit_predictor_t *p, tacit_prediction_kind_t kind, size_t row,
                                const double *draws, tacit_error_t *err) {
  const tacit_forecast_t *f = p->forecast;
  for (size_t i = 0; i < f->n_quantities[kind] * p->n_draws; i++) {
    size_t own;
    if (!isnan(draws[i])) {
      continue;
    }
    const tacit_forecast_outcome_t *o =
        tacit_forecast_of(f, (tacit_forecast_kind_t)kind, i / p->n_draws, &own);
    bool is_class = o->parts[kind].way == TACIT_WAY_CLASSES;
    return tacit_error_set(
        err, TACIT_ERR_DATA, "program",
        is_class
            ? "row %zu: the probabilities of '%s' within its bounds do not add up to 1 under some draw (%s)"
        : kind == TACIT_PREDICT_MEAN
            ? "row %zu: the expectation of '%s' does not exist under some draw (%s): take the linear "
              "predictor or responses"
            : "row %zu: '%s' is no number under some draw, or its truncation leaves next to nothing (%s)",
        row + 1, o->name, o->distribution_name);
  }
  return TACIT_OK;
}

const tacit_predictor_kind_t tacit_predictor_of_program = {.n_outcomes = n_outcomes,
                                                           .outcome = outcome,
                                                           .is_drawn = is_drawn,
                                                           .check = check,
                                                           .features = make_features,
                                                           .row = predict_row,
                                                           .check_row = check_row};
