/* Features of rows as they are, for predictions: on the scale that coefficients are reported on, in double
 * precision. */
#include "base/error.h"
#include "base/memory.h"
#include "formula/design_internal.h"

bool tacit_design_uses(const tacit_design_t *design, size_t column) {
  const tacit_formula_t *formula = &design->formula;
  for (size_t v = 1; v < formula->n_variables; v++) {
    for (size_t s = 0; s < formula->variables[v].n_steps; s++) {
      const tacit_formula_step_t *step = &formula->variables[v].steps[s];
      if (step->op == TACIT_OP_COLUMN && step->column == column) {
        return true;
      }
    }
  }
  return false;
}

size_t tacit_design_term_columns(const tacit_design_t *design, const char **names) {
  size_t n = 0;
  for (size_t i = 0; i < design->formula.n_columns; i++) {
    if (tacit_design_uses(design, i)) {
      names[n++] = design->formula.columns[i];
    }
  }
  return n;
}

/* Values of the variables of one row; the response is variable 0 and is not looked at. */
static void eval_row(const tacit_design_t *design, const double *const *columns, size_t row, double *stack,
                     double *values) {
  for (size_t v = 1; v < design->formula.n_variables; v++) {
    tacit_interval_t range = design->variables[v].range;
    tacit_expression_eval(&design->formula.variables[v], columns, row, 1, stack);
    values[v] = tacit_design_clamp(stack[0], range.lower, range.upper);
  }
}

static double eval_feature(const tacit_design_feature_t *feature, const double *values) {
  double product = 1;
  for (size_t k = 0; k < feature->n_parts; k++) {
    double value = values[feature->parts[k].variable];
    product *= !feature->parts[k].is_indicator    ? value
               : value == feature->parts[k].level ? 1
                                                  : 0; /* levels are exact */
  }
  return tacit_design_clamp(product, feature->lower, feature->upper);
}

static size_t depth_of(const tacit_design_t *design) {
  size_t depth = 1;
  for (size_t v = 0; v < design->formula.n_variables; v++) {
    depth = design->formula.variables[v].depth > depth ? design->formula.variables[v].depth : depth;
  }
  return depth;
}

tacit_status_t tacit_design_evaluate(const tacit_design_t *design, const double *const *columns, size_t n,
                                     double *features, tacit_error_t *err) {
  double *values = tacit_alloc(design->formula.n_variables, sizeof *values);
  double *stack = tacit_alloc(depth_of(design) * TACIT_CHUNK, sizeof *stack);
  tacit_status_t status = values != NULL && stack != NULL ? TACIT_OK : tacit_error_memory(err);
  for (size_t row = 0; status == TACIT_OK && row < n; row++) {
    eval_row(design, columns, row, stack, values);
    for (size_t j = 0; j < design->n_features; j++) {
      features[row * design->n_features + j] = eval_feature(&design->features[j], values);
    }
  }
  tacit_free(stack);
  tacit_free(values);
  return status;
}

tacit_status_t tacit_design_features(const tacit_design_t *design, const tacit_table_t *table,
                                     double *features, tacit_error_t *err) {
  const tacit_formula_t *formula = &design->formula;
  const double **columns = tacit_alloc_zero(formula->n_columns, sizeof *columns);
  tacit_status_t status = columns != NULL ? TACIT_OK : tacit_error_memory(err);
  for (size_t i = 0; i < formula->n_columns && status == TACIT_OK; i++) {
    columns[i] = tacit_table_column(table, formula->columns[i]);
    if (columns[i] == NULL && tacit_design_uses(design, i)) {
      status = tacit_error_set(err, TACIT_ERR_UNKNOWN, formula->columns[i],
                               "the formula needs column '%.64s', which the table was read without",
                               formula->columns[i]);
    }
  }
  TACIT_THEN(status, tacit_design_evaluate(design, columns, tacit_table_n_rows(table), features, err));
  tacit_free(columns);
  return status;
}
