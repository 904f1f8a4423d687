/* Shared by the files of this module. Not installed. */
#ifndef TACIT_SYNTHESIZE_INTERNAL_H
#define TACIT_SYNTHESIZE_INTERNAL_H

#include "predict/predict_internal.h"
#include "tacit/synthesize.h"

enum { TACIT_SYNTHESIS_MAX_SETS = 1000, TACIT_SYNTHESIS_MAX_ROWS = 100000000 };

/* How to infer from several sets; the paragraph is left open. */
void tacit_synthesis_rules(size_t n_sets, tacit_text_t *text);

/* ---- tables.c: of a directory that tacit infer wrote from noisy margins ---- */

TACIT_MUST_USE tacit_status_t tacit_synthesis_is_of_tables(const char *path, bool *is_so, tacit_error_t *err);
/* Texts are cleared by the caller, also after failure; html NULL: not wanted. */
TACIT_MUST_USE tacit_status_t tacit_synthesize_tables(const char *path,
                                                      const tacit_synthesis_settings_t *settings,
                                                      tacit_text_t *csv, tacit_text_t *json,
                                                      tacit_text_t *html, tacit_error_t *err);

/*
 * Columns from features: a column is found from the features that are its alone. One of them rises or falls
 * with it, or, where there are few values, all of them together tell which it is.
 */
typedef struct tacit_inverse {
  const tacit_predictor_t *predictor;
  size_t n_columns, n_features;
  bool *is_used; /* (n_features): what columns are made from; the others follow from the columns */
  struct tacit_inverse_column {
    size_t feature;   /* that rises or falls with the column; SIZE_MAX: by pattern */
    double direction; /* 1 or -1 */
    size_t n_values;
    double *values;   /* (n_values) */
    double *patterns; /* (n_values, n_features): scaled features at each value */
    bool *is_own;     /* (n_features) */
  } * columns;
} tacit_inverse_t;

/* @return TACIT_ERR_ARGUMENT for a column that features do not tell. Clear also after failure. */
TACIT_MUST_USE tacit_status_t tacit_inverse_init(tacit_inverse_t *inverse, const tacit_predictor_t *predictor,
                                                 tacit_error_t *err);
void tacit_inverse_clear(tacit_inverse_t *inverse);
/*
 * columns[c] (n) <- values of n rows from scaled features (n, n_features); is_exact (n): no combination of
 * levels stood for none and was replaced by the nearest.
 */
TACIT_MUST_USE tacit_status_t tacit_inverse_columns(const tacit_inverse_t *inverse, size_t n,
                                                    const double *features, double *const *columns,
                                                    bool *is_exact, tacit_error_t *err);

#endif
