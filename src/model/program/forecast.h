/*
 * A program's outcomes as they are expected of a record and of parameters, for predictions: in double
 * precision, by the program's own expressions. It knows no record: rows and draws are given to it. Not
 * installed.
 */
#ifndef TACIT_PROGRAM_FORECAST_H
#define TACIT_PROGRAM_FORECAST_H

#include "program/arena.h"
#include "program/code.h"
#include "program/distribution.h"
#include "program/graph_internal.h"
#include "program/program.h"

/* As tacit_prediction_kind_t. */
typedef enum tacit_forecast_kind {
  TACIT_FORECAST_MEAN,
  TACIT_FORECAST_LINEAR,
  TACIT_FORECAST_DRAW,
  TACIT_FORECAST_KINDS
} tacit_forecast_kind_t;

/* Draws that an expectation is the mean of, for each draw of the parameters, where the library has none. */
enum { TACIT_FORECAST_INNER = 200 };

/* How quantities of an outcome come from its numbers. */
typedef enum tacit_forecast_way {
  TACIT_WAY_UNKNOWN,
  TACIT_WAY_NUMBER,      /* as they are */
  TACIT_WAY_OUTCOME,     /* in the unit of the outcome, which is a x + b of a column */
  TACIT_WAY_CLASSES,     /* log probabilities */
  TACIT_WAY_DISTRIBUTION /* arguments of a distribution, and the ends of its truncation */
} tacit_forecast_way_t;

typedef struct tacit_forecast_part {
  tacit_forecast_way_t way;
  size_t first, n; /* its numbers among all of the kind */
  size_t n_quantities;
} tacit_forecast_part_t;

typedef struct tacit_forecast_outcome {
  const char *name, *distribution_name;
  const tacit_distribution_t *distribution; /* NULL: draws are not known */
  tacit_affine_t of;
  size_t n_classes;
  const char **classes; /* (n_classes): levels, or numbers */
  bool has_from, has_to;
  tacit_forecast_part_t parts[TACIT_FORECAST_KINDS];
} tacit_forecast_outcome_t;

typedef struct tacit_forecast {
  tacit_arena_t arena;
  tacit_graph_t *graph;
  tacit_forecast_outcome_t *outcomes;
  size_t n_outcomes;
  size_t n_parameters;     /* values under their constraints */
  const char **parameters; /* (n_parameters): as they are reported, "mu.1" */
  const char **columns;    /* (n_columns): of the table, each once, that predictions look at */
  size_t n_columns;
  size_t *places; /* of each column of the graph among those, or SIZE_MAX */
  tacit_code_t codes[TACIT_FORECAST_KINDS];
  size_t n_numbers[TACIT_FORECAST_KINDS], n_quantities[TACIT_FORECAST_KINDS], n_registers;
} tacit_forecast_t;

/* As tacit_program_parse(). TACIT_ERR_DATA: the program does not say how its outcomes arise. */
TACIT_MUST_USE tacit_status_t tacit_forecast_new(tacit_forecast_t **forecast, const char *text, size_t n,
                                                 const tacit_program_settings_t *settings,
                                                 tacit_error_t *err);
void tacit_forecast_free(tacit_forecast_t *forecast);
/* Codes of what the kinds' numbers are, roots (n_numbers) of each. forecast.c */
TACIT_MUST_USE tacit_status_t tacit_forecast_build(tacit_forecast_t *forecast,
                                                   tacit_node_t *const roots[TACIT_FORECAST_KINDS],
                                                   tacit_error_t *err);

/* The outcome of a quantity, and which of its own. */
const tacit_forecast_outcome_t *tacit_forecast_of(const tacit_forecast_t *forecast,
                                                  tacit_forecast_kind_t kind, size_t quantity, size_t *own);
/* What column k of the graph is where the table has x. */
double tacit_forecast_column(const tacit_forecast_t *forecast, size_t k, double x);

/* What a thread works with. */
typedef struct tacit_forecast_workspace {
  const tacit_forecast_t *forecast;
  double *inputs; /* (n_columns of the graph + n_parameters, 16) */
  double *out, *numbers;
  void *registers;
} tacit_forecast_workspace_t;
tacit_forecast_workspace_t *tacit_forecast_workspace_new(
    const tacit_forecast_t *forecast); /* NULL: out of memory */
void tacit_forecast_workspace_free(tacit_forecast_workspace_t *workspace);
/*
 * Quantities (n_quantities, 16) of a record x, (n_columns of the graph), for the sixteen draws in
 * workspace->inputs from its columns on. `uniforms` may be NULL where no quantity is drawn. NaN: there is no
 * such number, or draws came to no end.
 */
void tacit_forecast_run(tacit_forecast_workspace_t *workspace, tacit_forecast_kind_t kind, const double *x,
                        tacit_uniforms_t *uniforms, double *quantities);

#endif
