/**
 * @file predict.h
 * What follows from a fit that was written: predictions for rows that the analyst brings, and functions of
 * parameters. Everything here is computed from released draws and public schemas; there is no way to a
 * record.
 */
#ifndef TACIT_PREDICT_H
#define TACIT_PREDICT_H

#include "tacit/base.h"
#include "tacit/data.h"
#include "tacit/diagnose.h"
#include "tacit/report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- predictions ---- */

typedef struct tacit_predictor tacit_predictor_t;

typedef enum tacit_prediction_kind {
  TACIT_PREDICT_MEAN = 0, /**< expected response: probability, mean, rate; one for each class. Of a censored
                             response: of the uncensored one */
  TACIT_PREDICT_LINEAR,   /**< linear predictor, on the scale of its link; of each class but the first, which
                             has 0 */
  TACIT_PREDICT_RESPONSE  /**< one response simulated for each draw; of classes, an indicator for each */
} tacit_prediction_kind_t;

/**
 * Open the fit in a directory that tacit fit wrote (draws, and schema.yaml with the formula's columns; of
 * programs program.stan, which must be as it was fitted). A program's outcomes are what its statements
 * `outcome ~ distribution(...)` say, or target += of one density each; several are predicted beside each
 * other. TACIT_ERR_DATA: the fit is of neither, or the program does not say how its outcomes arise.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_predictor_new(tacit_predictor_t **predictor, const char *path,
                                                            tacit_error_t *err);
/**
 * The same of a fit in memory, which is borrowed: draws, labels, names, formula and family, or the program
 * that was kept; nothing else of it is looked at. The schema is copied. known_sd: the residual sd of a
 * gaussian fit that was given one; else it is not used.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_predictor_of(tacit_predictor_t **predictor,
                                                           const tacit_report_read_t *fit,
                                                           const tacit_schema_t *schema, double known_sd,
                                                           tacit_error_t *err);
TACIT_API void tacit_predictor_free(tacit_predictor_t *predictor);
/** The fit; borrowed. */
TACIT_API const tacit_report_read_t *tacit_predictor_fit(const tacit_predictor_t *predictor);
/** Columns that a row must have, shape (*n), and their schema: no persons, nothing clamped; what is missing
 * is its public value, or refused. Borrowed. */
TACIT_API const char *const *tacit_predictor_columns(const tacit_predictor_t *predictor, size_t *n);
TACIT_API const tacit_schema_t *tacit_predictor_schema(const tacit_predictor_t *predictor);
/** Quantities a row has: 1, or the number of classes, or of outcomes. Class c's label, or the outcome's ("y",
 * "y: low"), or "" where there is one quantity. */
TACIT_API size_t tacit_predictor_n_outcomes(const tacit_predictor_t *predictor, tacit_prediction_kind_t kind);
TACIT_API const char *tacit_predictor_outcome(const tacit_predictor_t *predictor,
                                              tacit_prediction_kind_t kind, size_t outcome);
/** What is to be said of predictions of this kind, of lines that end with a newline: expectations that are
 * means of draws. Mostly "". Borrowed. */
TACIT_API const char *tacit_predictor_note(const tacit_predictor_t *predictor, tacit_prediction_kind_t kind);
/** Draws of all chains together. */
TACIT_API size_t tacit_predictor_n_draws(const tacit_predictor_t *predictor);

/** Rows to predict for: columns in the order of tacit_predictor_columns(), each of shape (n): numbers, 0/1,
 * or indices of levels. */
typedef struct tacit_new_rows {
  const double *const *columns;
  size_t n;
} tacit_new_rows_t;

/**
 * Draws of the predictions for each row, handed over row by row: draws has shape (n_outcomes, n_draws),
 * chains one after another, and may be changed. TACIT_PREDICT_RESPONSE takes a seed; responses of one seed
 * are the same. Poisson responses are those of the model: they are not clamped to the schema's upper bound.
 */
typedef tacit_status_t (*tacit_prediction_fn)(void *user, size_t row, double *draws, tacit_error_t *err);
TACIT_API TACIT_MUST_USE tacit_status_t tacit_predict(const tacit_predictor_t *predictor,
                                                      const tacit_new_rows_t *rows,
                                                      tacit_prediction_kind_t kind, uint64_t seed,
                                                      tacit_prediction_fn take, void *user,
                                                      tacit_error_t *err);

/** mean, sd, q5, q50, q95 of n draws, as tacit summary computes them; the draws are sorted. The rest of the
 * summary is NaN. */
TACIT_API tacit_summary_t tacit_prediction_summary(double *draws, size_t n);

/**
 * Rows over the public ranges: each column in turn takes n_points values from bound to bound (all whole
 * numbers, all levels, where those are fewer) while the others stay at the middle of their bounds, or at
 * their first level.
 * @param[out] values  owned (tacit_grid_rows_clear()), columns as above.
 * @param[out] varied  which column varies in each row, shape (rows->n); owned with them.
 */
typedef struct tacit_grid_rows {
  tacit_new_rows_t rows;
  size_t *varied;
} tacit_grid_rows_t;
TACIT_API TACIT_MUST_USE tacit_status_t tacit_predictor_grid(const tacit_predictor_t *predictor,
                                                             size_t n_points, tacit_grid_rows_t *grid,
                                                             tacit_error_t *err);
TACIT_API void tacit_grid_rows_clear(tacit_grid_rows_t *grid, size_t n_columns);

/**
 * What changing one column does, averaged over a population of rows, for each draw: of levels, the expected
 * response of each level less that of the first; of numbers, its derivative, by central differences of 1e-4
 * of the public range. TACIT_ERR_DATA for an outcome whose expectation is a mean of draws.
 * @param[in]  level  of a column of levels: 1 .. n_levels - 1; else 0.
 * @param[out] draws  shape (n_outcomes, n_draws).
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_average_effect(const tacit_predictor_t *predictor,
                                                             const tacit_new_rows_t *rows, size_t column,
                                                             size_t level, double *draws, tacit_error_t *err);

/**
 * The same of a column by its name, comparison by comparison, and of each by class: "sex: M - F", "ill: 1 -
 * 0", "age: slope", "[b] age: slope". draws: shape (n_draws); they and the label are borrowed, draws may be
 * changed.
 * @return TACIT_ERR_UNKNOWN where the formula has no such column; what `take` returns.
 */
typedef tacit_status_t (*tacit_effect_fn)(void *user, const char *label, double *draws, tacit_error_t *err);
TACIT_API TACIT_MUST_USE tacit_status_t tacit_average_effects(const tacit_predictor_t *predictor,
                                                              const tacit_new_rows_t *rows, const char *name,
                                                              tacit_effect_fn take, void *user,
                                                              tacit_error_t *err);

/* ---- functions of parameters ---- */

/**
 * Evaluate "a - b", "2 * age", "exp(log(flc))" for every draw. Parameters are named by their labels, or their
 * names in Stan CSV; a label is taken before a function of the same spelling, and may stand in backquotes.
 * Grammar: + - * / ^, parentheses, numbers, exp, log, sqrt, inv_logit. Errors put a caret under the fault.
 * @param[out] draws  shape (n_chains, n_kept).
 * @return TACIT_ERR_ARGUMENT where it is no finite number at some draws.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_contrast(const tacit_report_read_t *fit, const char *expression,
                                                       double *draws, tacit_error_t *err);

/** What the exponential of a coefficient is in the fit's family: "an odds ratio", "a rate ratio"; "" where
 * the family is not known, as of a program.
 */
TACIT_API const char *tacit_ratio_of(const tacit_report_read_t *fit);

#ifdef __cplusplus
}
#endif
#endif
