/* Formulas as programs: y | cens(c) ~ a * b + poly(x, 2) + (1 | g). Not installed. */
#ifndef TACIT_PROGRAM_REGRESSION_H
#define TACIT_PROGRAM_REGRESSION_H

#include "base/number.h"
#include "formula/formula.h"
#include "program/arena.h"
#include "tacit/data.h"

enum {
  TACIT_REGRESSION_MAX_ORDER = 6,
  TACIT_REGRESSION_MAX_TERMS = 200,
  TACIT_REGRESSION_MAX_FEATURES = 1000
};

/* One number of a record that a formula makes of columns: an expression of the language, and its public
 * range. */
typedef struct tacit_feature {
  const char *code, *label;
  const char *apart; /* the label with levels in brackets, "sex[M]", where another has the same label; NULL:
                        no levels */
  double lower, upper;
} tacit_feature_t;

/* What stands for itself in a product: a column, log(x), poly(x, 2), ... */
typedef struct tacit_factor {
  const char *label; /* as R writes it */
  size_t offset;
  tacit_feature_t *features; /* of contrasts */
  size_t n_features;
  tacit_feature_t *all; /* of a column with levels: an indicator of each; else NULL */
  size_t n_all;
} tacit_factor_t;

/* (1 + x | g) */
typedef struct tacit_group {
  const tacit_column_schema_t *column;
  bool has_intercept;
  tacit_formula_term_t products[8]; /* variables are factors of the regression */
  size_t n_products;
} tacit_group_t;

typedef struct tacit_regression {
  const char *text;
  tacit_arena_t *arena;
  const tacit_schema_t *schema;
  tacit_error_t *err;
  tacit_status_t status;
  size_t position, depth;
  tacit_formula_t formula; /* what the parser of all formulas' arithmetic and names works with */
  const tacit_column_schema_t *response, *cens, *trials, *weights;
  bool is_event; /* cens is 1 where the response is known: Surv(time, status) */
  bool has_intercept;
  tacit_factor_t factors[64];
  size_t n_factors;
  tacit_formula_term_t products[TACIT_REGRESSION_MAX_TERMS]; /* variables are factors */
  size_t n_products;
  tacit_group_t groups[8];
  size_t n_groups;
  const char *offset; /* expression, or NULL */
  const char
      *names[4096]; /* of columns of the schema that the program declares, as it calls them; else NULL */
} tacit_regression_t;

/* Parse; status says how it went. */
void tacit_regression_parse(tacit_regression_t *regression);
/* The factor that begins there, a column or a call; SIZE_MAX after an error. */
size_t tacit_regression_factor(tacit_regression_t *regression, size_t begin);
/* The factor that a column is; SIZE_MAX after an error. */
size_t tacit_regression_factor_of(tacit_regression_t *regression, const tacit_column_schema_t *column);
/* The arithmetic that begins at ->position, as code; NULL after an error. */
const char *tacit_regression_arithmetic(tacit_regression_t *regression);
/* Is there something in a formula that families' own kernels never have, only programs: a bar, a dot, poly()
 * and the like? */
bool tacit_regression_is_own(const char *formula);
/* A column by name, declared from then on; NULL after an error. */
const tacit_column_schema_t *tacit_regression_column(tacit_regression_t *regression, size_t offset,
                                                     const char *name);
/* What the program calls a column that it declares. */
const char *tacit_regression_called(const tacit_regression_t *regression,
                                    const tacit_column_schema_t *column);
void tacit_regression_fail(tacit_regression_t *regression, size_t offset, const char *format, ...)
    TACIT_PRINTF(3, 4);
/* A number as it is written to the last bit, in parentheses where it is negative; as a real where it is
 * divided by. */
const char *tacit_exact(tacit_regression_t *regression, double x);
const char *tacit_exact_real(tacit_regression_t *regression, double x);

/* " (did you mean 'negbinomial'?)", or "". */
const char *tacit_program_family_hint(const char *name, char out[TACIT_HINT_SIZE]);

/* ---- lexing, for both files ---- */
void tacit_regression_skip(tacit_regression_t *regression);
bool tacit_regression_take(tacit_regression_t *regression, char c);
/* A name that stands here, taken, without backticks and package; NULL if there is none. */
const char *tacit_regression_name(tacit_regression_t *regression);

#endif
