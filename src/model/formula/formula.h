/*
 * A parsed formula, before it meets a schema: variables (columns, factors, arithmetic compiled to
 * postfix code) and terms (sets of variables). Not installed.
 */
#ifndef TACIT_FORMULA_H
#define TACIT_FORMULA_H

#include "tacit/base.h"

enum {
  TACIT_FORMULA_MAX_ORDER = 16,   /* variables of one interaction */
  TACIT_FORMULA_MAX_TERMS = 4096, /* terms, and variables */
};

typedef enum tacit_formula_op {
  TACIT_OP_NUMBER,
  TACIT_OP_COLUMN,
  TACIT_OP_NEGATE,
  TACIT_OP_LOG,
  TACIT_OP_EXP,
  TACIT_OP_SQRT,
  TACIT_OP_ADD,
  TACIT_OP_SUBTRACT,
  TACIT_OP_MULTIPLY,
  TACIT_OP_DIVIDE,
  TACIT_OP_POWER,
  TACIT_OP_LESS, /* this and what follows: 1 where it holds, else 0 */
  TACIT_OP_AT_MOST,
  TACIT_OP_GREATER,
  TACIT_OP_AT_LEAST,
  TACIT_OP_EQUAL,
  TACIT_OP_UNEQUAL
} tacit_formula_op_t;

/* One step of postfix code; offset is where it stands in the formula. */
typedef struct tacit_formula_step {
  tacit_formula_op_t op;
  size_t offset;
  double number; /* TACIT_OP_NUMBER */
  size_t column; /* TACIT_OP_COLUMN: index into columns */
} tacit_formula_step_t;

typedef enum tacit_variable_kind {
  TACIT_VARIABLE_COLUMN,    /* age */
  TACIT_VARIABLE_FACTOR,    /* factor(stage) */
  TACIT_VARIABLE_ARITHMETIC /* log(flc), I(age^2) */
} tacit_variable_kind_t;

typedef struct tacit_formula_variable {
  tacit_variable_kind_t kind;
  char *label; /* as R deparses it */
  size_t offset;
  tacit_formula_step_t *steps; /* a single TACIT_OP_COLUMN unless kind is ARITHMETIC */
  size_t n_steps, capacity;
  size_t depth; /* of the stack that the steps need */
} tacit_formula_variable_t;

/* Indices of variables, increasing and distinct. */
typedef struct tacit_formula_term {
  size_t order, offset;
  uint16_t variables[TACIT_FORMULA_MAX_ORDER];
} tacit_formula_term_t;

typedef struct tacit_formula {
  char *text;
  char **columns; /* names in order of appearance */
  size_t *column_offsets;
  size_t n_columns, columns_capacity, offsets_capacity;
  tacit_formula_variable_t *variables; /* the response first */
  size_t n_variables, variables_capacity;
  tacit_formula_term_t *terms; /* as R orders them: by order, then by appearance */
  size_t n_terms, terms_capacity;
  bool has_intercept;
} tacit_formula_t;

/* Parse; errors are TACIT_ERR_SYNTAX or TACIT_ERR_MEMORY. Clear in either case. */
TACIT_MUST_USE tacit_status_t tacit_formula_parse(tacit_formula_t *formula, const char *text,
                                                  tacit_error_t *err);
void tacit_formula_clear(tacit_formula_t *formula);

/*
 * R's rule [Chambers1992, p. 38]: a factor, the variable at a position of term t, is coded by contrasts if
 * the term without it is empty or part of an earlier term, else by indicators of all its levels.
 */
bool tacit_formula_uses_contrasts(const tacit_formula_term_t *terms, size_t t, size_t position);

/* An error with a caret under byte `offset` of the formula. */
tacit_status_t tacit_formula_error(const tacit_formula_t *formula, tacit_error_t *err, tacit_status_t status,
                                   size_t offset, const char *format, ...) TACIT_PRINTF(5, 6);

#endif
