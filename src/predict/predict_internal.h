/* Shared by the files of this module. Not installed. */
#ifndef TACIT_PREDICT_INTERNAL_H
#define TACIT_PREDICT_INTERNAL_H

#include "base/base_internal.h"
#include "tacit/model.h"
#include "tacit/predict.h"
#include "tacit/random.h"

struct tacit_predictor {
  tacit_report_read_t fit;
  bool is_borrowed; /* the fit */
  tacit_family_t family;
  tacit_schema_t *schema; /* of rows that an analyst brings */
  tacit_design_t *design;
  const double **columns; /* as tacit_design_columns(), those of rows to come; work space */
  size_t *place;          /* of each of those columns among the rows' columns, or SIZE_MAX: the response's */
  const char **names;     /* of the rows' columns, shape (n_names) */
  size_t n_names, n_features, n_linear; /* n_linear: linear predictors */
  size_t *coefficient;    /* reported quantity of feature j of linear predictor r, shape (n_linear, n_features) */
  size_t sigma;           /* reported quantity, or SIZE_MAX */
  double known_sd;
  size_t n_draws;
};

/* Features of rows, shape (rows->n, n_features). */
TACIT_MUST_USE tacit_status_t tacit_predictor_features(const tacit_predictor_t *predictor, const tacit_new_rows_t *rows,
                                                       double **features, tacit_error_t *err);
/* Predictions of one row from its features, shape (n_outcomes, n_draws); rng may be NULL but for responses. */
void tacit_predictor_row(const tacit_predictor_t *predictor, const double *features, tacit_prediction_kind_t kind, tacit_rng_t *rng,
                         double *draws);

/* One response under draw i, from a row's features; not of classes. */
double tacit_predictor_respond(const tacit_predictor_t *predictor, const double *features, size_t i, tacit_rng_t *rng);

#endif
