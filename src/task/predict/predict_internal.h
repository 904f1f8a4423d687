/* Shared by the files of this module. Not installed. */
#ifndef TACIT_PREDICT_INTERNAL_H
#define TACIT_PREDICT_INTERNAL_H

#include "base/text.h"
#include "formula/model.h"
#include "program/forecast.h"
#include "tacit/predict.h"
#include "tacit/random.h"

/* What fits of a formula's own kernels (predict.c) and of programs (program.c) are predicted from by. */
typedef struct tacit_predictor_kind {
  size_t (*n_outcomes)(const tacit_predictor_t *predictor, tacit_prediction_kind_t kind);
  const char *(*outcome)(tacit_predictor_t *predictor, tacit_prediction_kind_t kind, size_t outcome);
  /* Are random numbers needed? */
  bool (*is_drawn)(const tacit_predictor_t *predictor, tacit_prediction_kind_t kind);
  /* TACIT_ERR_DATA: a quantity of this kind is not known. */
  tacit_status_t (*check)(const tacit_predictor_t *predictor, tacit_prediction_kind_t kind,
                          tacit_error_t *err);
  /* Features of rows, shape (rows->n, n_features); TACIT_ERR_DATA: a value is beyond the program's bounds. */
  tacit_status_t (*features)(const tacit_predictor_t *predictor, const tacit_new_rows_t *rows,
                             double *features, tacit_error_t *err);
  /* Predictions of one row from its features, shape (n_outcomes, n_draws); rng may be NULL if not needed. */
  void (*row)(const tacit_predictor_t *predictor, const double *features, tacit_prediction_kind_t kind,
              tacit_rng_t *rng, double *draws);
  /* TACIT_ERR_DATA: a draw of the row is no number. NULL: all are. */
  tacit_status_t (*check_row)(const tacit_predictor_t *predictor, tacit_prediction_kind_t kind, size_t row,
                              const double *draws, tacit_error_t *err);
} tacit_predictor_kind_t;

extern const tacit_predictor_kind_t tacit_predictor_of_formula, tacit_predictor_of_program;

struct tacit_predictor {
  const tacit_predictor_kind_t *kind;
  tacit_report_read_t fit;
  bool is_borrowed; /* the fit */
  tacit_family_t family;
  tacit_schema_t *schema; /* of rows that an analyst brings */
  tacit_design_t *design;
  const double **columns; /* as tacit_design_columns(), those of rows to come; work space */
  size_t *place;          /* of each of those columns among the rows' columns, or SIZE_MAX: the response's */
  const char **names;     /* of the rows' columns, shape (n_names) */
  size_t n_names, n_features, n_linear; /* n_linear: linear predictors */
  size_t
      *coefficient; /* reported quantity of feature j of linear predictor r, shape (n_linear, n_features) */
  size_t sigma;     /* reported quantity, or SIZE_MAX */
  double known_sd;
  size_t n_draws;
  /* of a program; else NULL. Then features are the columns of its graph, and ->coefficient has the reported
   * quantity of each parameter */
  tacit_forecast_t *forecast;
  tacit_forecast_workspace_t *workspace;
  double *quantities; /* work space, (quantities, 16) */
  tacit_text_t note;
};

/* TACIT_ERR_DATA where a check forbids intervals: what is computed from such draws would hide that. */
TACIT_MUST_USE tacit_status_t tacit_predict_check_fit(const tacit_report_read_t *fit, tacit_error_t *err);
/* *value <- a setting that is a number, of the run that `path` is the directory of (run.yaml); as it was
 * where there is none. */
TACIT_MUST_USE tacit_status_t tacit_read_setting(const char *path, const char *setting, double *value,
                                                 tacit_error_t *err);
/* A kept draw, shape (n_reported). */
const double *tacit_predictor_draw(const tacit_predictor_t *predictor, size_t i);

/* program.c */
TACIT_MUST_USE tacit_status_t tacit_predictor_open_program(tacit_predictor_t *predictor,
                                                           const tacit_schema_t *schema, tacit_error_t *err);
void tacit_predictor_close_program(tacit_predictor_t *predictor);

/* Features of rows, shape (rows->n, n_features). */
TACIT_MUST_USE tacit_status_t tacit_predictor_features(const tacit_predictor_t *predictor,
                                                       const tacit_new_rows_t *rows, double **features,
                                                       tacit_error_t *err);
/* Predictions of one row; TACIT_ERR_DATA: a draw of it is no number. */
TACIT_MUST_USE tacit_status_t tacit_predictor_row(const tacit_predictor_t *predictor, const double *features,
                                                  tacit_prediction_kind_t kind, size_t row, tacit_rng_t *rng,
                                                  double *draws, tacit_error_t *err);
/* One response under draw i, from a row's features; not of classes. */
double tacit_predictor_respond(const tacit_predictor_t *predictor, const double *features, size_t i,
                               tacit_rng_t *rng);

#endif
