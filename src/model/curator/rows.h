/* Rows of a unit's records: whitened, weighted, and handed to the door in whole numbers. */
#ifndef TACIT_CURATOR_ROWS_H
#define TACIT_CURATOR_ROWS_H

#include "curator/curator_internal.h"

/* As tacit_units_t.lanes, ctx being the tacit_row_sum_t. */
typedef void (*tacit_row_lanes)(const void *ctx, size_t n_layers, const double *n_rows, const float *x,
                                int32_t *k);

/* A release of vectors or of their squares. */
typedef struct tacit_row_sum {
  const tacit_curator_t *curator;
  bool is_square; /* sum_t v_t v_t' is released, as svec, of vectors sum_t |v_t|^2 <= bound^2; else the unit's
                     vector, <= bound */
  size_t dim;
  size_t n_vectors; /* of squares, as tacit_door_shape_t has it */
  double bound;
  double spacing;  /* of whole numbers; set by tacit_rows_release() */
  size_t n_blocks; /* of squares: more than 1, and what is written of a vector begins with the number of its
                      block; else 0 */
  bool is_one_vector; /* of squares: a unit has one, however many records */
  const void *what;
  const char *label;     /* of the event */
  size_t n_work;         /* numbers of scratch that the function is given */
  tacit_row_lanes lanes; /* the same function of 16 units, or NULL */
} tacit_row_sum_t;

/* Those of rows.c, score.c and centred.c, one table for each instruction set (rows_isa.c). */
typedef struct tacit_rows_functions {
  tacit_row_lanes score, score_squares, moments, information;
  /* rows (n_lanes, d) <- A x of the first lanes of x (d, 16), A (d, d); norms <- how long they are, NaN: no
   * finite number */
  void (*whiten)(size_t d, const double *a, const float *x, size_t n_lanes, double *rows, double *norms);
  /* squares (d, d), lower triangle <- sum_i k_i u_i u_i' of those with k_i > 0; u (n, d) */
  void (*add_squares)(size_t d, size_t n, const double *k, const double *u, double *squares);
} tacit_rows_functions_t;
const tacit_rows_functions_t *tacit_rows_functions(void);

/* As tacit_units_t.unit, ctx being the tacit_row_sum_t. */
typedef void (*tacit_row_function)(const void *ctx, size_t n_rows, const float *x, double *work, int64_t *k);
TACIT_MUST_USE tacit_status_t tacit_rows_release(tacit_row_sum_t *sum, tacit_row_function function,
                                                 double noise_multiplier, double *out, double *noise_sd,
                                                 tacit_error_t *err);
/* x (n_features) <- the features of row t of the rows that a unit has; returns its response. */
double tacit_rows_get(const tacit_row_sum_t *sum, const float *rows, size_t t, double *x);
/* row (d) <- whiten x, lower triangular, NULL: the identity; returns the squared norm. */
double tacit_rows_whiten(size_t d, const double *whiten, const double *x, double *row);
/* k (dim) <- factor v in whole numbers. */
void tacit_rows_write(const tacit_row_sum_t *sum, double factor, const double *v, int64_t *k);
/*
 * Row t of a unit of n_rows, factor v with |factor v|^2 = n2, weighted to a norm of at most radius /
 * sqrt(n_rows). False where n2 is no finite number: then all of k, (n_rows, dim), is 0.
 */
bool tacit_rows_write_one(const tacit_row_sum_t *sum, double radius, double n2, double factor, size_t n_rows,
                          size_t t, const double *v, int64_t *k);

/* One linear predictor and one response, temperature 1; may_be_extra: a parameter beside the coefficients
 * does no harm. */
TACIT_MUST_USE tacit_status_t tacit_rows_check(const tacit_curator_t *curator, bool may_be_extra,
                                               tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_rows_check_weighting(const tacit_curator_t *curator,
                                                         const tacit_row_weighting_t *rows, bool may_be_extra,
                                                         tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_rows_check_numbers(const char *field, const double *values, size_t n,
                                                       tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_rows_check_size(const char *field, double value, tacit_error_t *err);

#endif
