/* Arithmetic of a formula: public range by interval arithmetic, values over a chunk of rows. */
#ifndef TACIT_EXPRESSION_H
#define TACIT_EXPRESSION_H

#include "formula/formula.h"

typedef struct tacit_interval {
  double lower, upper;
} tacit_interval_t;

/* Range of a product, by its four corners. */
tacit_interval_t tacit_interval_multiply(tacit_interval_t x, tacit_interval_t y);

/*
 * Range of a variable over the box of column ranges (indexed as formula->columns), finite. An
 * argument that can leave a function's domain is TACIT_ERR_SCHEMA with a caret under the function.
 *
 * Every value that tacit_expression_eval computes from columns inside their ranges lies in it: + - * /
 * sqrt and squares are correctly rounded, so evaluation is monotone where the exact operation is
 * and the extremes are at the corners that are computed here; log, exp and other powers, whose
 * rounding may break monotonicity in the last place, are widened by one ulp.
 */
TACIT_MUST_USE tacit_status_t tacit_expression_range(const tacit_formula_t *formula,
                                                     const tacit_formula_variable_t *variable,
                                                     const tacit_interval_t *columns, tacit_interval_t *range,
                                                     tacit_error_t *err);

enum { TACIT_CHUNK = 128 }; /* rows evaluated together */

/*
 * Values of rows first .. first+n-1, n <= TACIT_CHUNK, in stack[0..n-1]; `stack` holds
 * variable->depth * TACIT_CHUNK numbers.
 */
void tacit_expression_eval(const tacit_formula_variable_t *variable, const double *const *columns,
                           size_t first, size_t n, double *stack);

/* Does a comparison hold? 1 or 0; NaN where a side is none, as of a missing value: such a record must not
 * count. */
double tacit_expression_compare(tacit_formula_op_t op, double x, double y);

#endif
