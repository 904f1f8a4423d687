/* Columns and variables of a formula against the public schema. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "formula/design_internal.h"
#include "formula/model_text.h"

static tacit_status_t unknown_column(const tacit_formula_t *formula, size_t column,
                                     const tacit_schema_t *schema, tacit_error_t *err) {
  tacit_nearest_t nearest = {.name = formula->columns[column]};
  for (size_t i = 0; i < tacit_schema_n_columns(schema); i++) {
    const tacit_column_schema_t *candidate = tacit_schema_column(schema, i);
    if (candidate->type != TACIT_COLUMN_ID) {
      tacit_nearest_offer(&nearest, candidate->name);
    }
  }
  if (strcmp(formula->columns[column], ".") == 0) {
    return tacit_formula_error(formula, err, TACIT_ERR_SYNTAX, formula->column_offsets[column],
                               "'.' is not expanded to all columns; name those that the model needs");
  }
  char hint[TACIT_HINT_SIZE];
  tacit_nearest_hint(&nearest, hint);
  return tacit_formula_error(formula, err, TACIT_ERR_UNKNOWN, formula->column_offsets[column],
                             "unknown column '%.64s'%s%s", formula->columns[column], hint,
                             nearest.best == NULL ? "; a column must be declared in the schema" : "");
}

static tacit_status_t find_columns(const tacit_formula_t *formula, const tacit_schema_t *schema,
                                   const tacit_column_schema_t **found, tacit_interval_t *ranges,
                                   tacit_error_t *err) {
  for (size_t i = 0; i < formula->n_columns; i++) {
    found[i] = tacit_schema_find(schema, formula->columns[i]);
    if (found[i] == NULL) {
      return unknown_column(formula, i, schema, err);
    }
    if (found[i]->type == TACIT_COLUMN_ID) {
      return tacit_formula_error(formula, err, TACIT_ERR_SCHEMA, formula->column_offsets[i],
                                 "'%.64s' identifies the unit of privacy and cannot enter a model",
                                 formula->columns[i]);
    }
    ranges[i] = found[i]->type == TACIT_COLUMN_BINARY ? (tacit_interval_t){0, 1}
                                                      : (tacit_interval_t){found[i]->lower, found[i]->upper};
  }
  return TACIT_OK;
}

static void categorical_levels(tacit_design_variable_t *variable, const tacit_column_schema_t *column) {
  variable->is_factor = true;
  variable->n_levels = column->n_levels;
  variable->levels = column->levels;
  variable->range = (tacit_interval_t){0, (double)column->n_levels - 1};
}

static tacit_status_t integer_levels(const tacit_formula_t *formula, const tacit_formula_variable_t *source,
                                     const tacit_column_schema_t *column, tacit_interval_t range,
                                     tacit_design_variable_t *variable, tacit_error_t *err) {
  if (column->type == TACIT_COLUMN_NUMERIC) {
    return tacit_formula_error(
        formula, err, TACIT_ERR_SCHEMA, source->offset,
        "'%.64s' is numeric and has no levels; declare it integer or categorical, or use it "
        "without factor()",
        column->name);
  }
  if (!(range.upper - range.lower < TACIT_DESIGN_MAX_INTEGER_LEVELS) || !(fabs(range.lower) < 0x1p53)) {
    return tacit_formula_error(
        formula, err, TACIT_ERR_SCHEMA, source->offset,
        "the public bounds of '%.64s' allow more than %d levels; tighten them, or use it "
        "without factor()",
        column->name, (int)TACIT_DESIGN_MAX_INTEGER_LEVELS);
  }
  variable->is_factor = true;
  variable->first_level = range.lower;
  variable->n_levels = (size_t)(range.upper - range.lower) + 1;
  variable->range = range;
  return TACIT_OK;
}

static tacit_status_t check_numbers(const tacit_formula_t *formula, const tacit_formula_variable_t *source,
                                    const tacit_column_schema_t *const *columns, tacit_error_t *err) {
  for (size_t s = 0; s < source->n_steps; s++) {
    const tacit_formula_step_t *step = &source->steps[s];
    if (step->op == TACIT_OP_COLUMN && columns[step->column]->type == TACIT_COLUMN_CATEGORICAL) {
      return tacit_formula_error(
          formula, err, TACIT_ERR_SCHEMA, step->offset,
          "'%.64s' is categorical and cannot enter arithmetic; use it as a term of its own",
          columns[step->column]->name);
    }
  }
  return TACIT_OK;
}

static tacit_status_t resolve_variable(const tacit_formula_t *formula, const tacit_formula_variable_t *source,
                                       const tacit_column_schema_t *const *columns,
                                       const tacit_interval_t *ranges, tacit_design_variable_t *variable,
                                       tacit_error_t *err) {
  *variable = (tacit_design_variable_t){.type = TACIT_COLUMN_NUMERIC};
  if (source->kind != TACIT_VARIABLE_ARITHMETIC) {
    size_t index = source->steps[0].column;
    variable->type = columns[index]->type;
    if (columns[index]->type == TACIT_COLUMN_CATEGORICAL) {
      categorical_levels(variable, columns[index]);
      return TACIT_OK;
    }
    if (source->kind == TACIT_VARIABLE_FACTOR) {
      return integer_levels(formula, source, columns[index], ranges[index], variable, err);
    }
    variable->range = ranges[index];
    return TACIT_OK;
  }
  tacit_status_t status = check_numbers(formula, source, columns, err);
  return status != TACIT_OK ? status : tacit_expression_range(formula, source, ranges, &variable->range, err);
}

static bool uses_column(const tacit_formula_variable_t *variable, size_t column) {
  for (size_t s = 0; s < variable->n_steps; s++) {
    if (variable->steps[s].op == TACIT_OP_COLUMN && variable->steps[s].column == column) {
      return true;
    }
  }
  return false;
}

/* Columns of the response inside the arithmetic of a term; the parser refuses the response itself. */
static tacit_status_t check_response_is_left(const tacit_formula_t *formula, tacit_error_t *err) {
  const tacit_formula_variable_t *response = &formula->variables[0];
  for (size_t v = 1; v < formula->n_variables; v++) {
    const tacit_formula_variable_t *variable = &formula->variables[v];
    for (size_t s = 0; s < variable->n_steps; s++) {
      const tacit_formula_step_t *step = &variable->steps[s];
      if (step->op == TACIT_OP_COLUMN && uses_column(response, step->column)) {
        return tacit_formula_error(formula, err, TACIT_ERR_SYNTAX, step->offset,
                                   "'%.64s' belongs to the response and cannot also be in a term",
                                   formula->columns[step->column]);
      }
    }
  }
  return TACIT_OK;
}

/* Where a number's values typically lie: its arithmetic over what the schema says of its columns. */
static tacit_status_t find_typical(const tacit_formula_t *formula,
                                   const tacit_column_schema_t *const *columns, tacit_interval_t *ranges,
                                   tacit_design_t *design, tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < formula->n_columns; i++) {
    if (columns[i]->has_typical) {
      ranges[i] = (tacit_interval_t){columns[i]->typical_low, columns[i]->typical_high};
    }
  }
  for (size_t v = 0; v < formula->n_variables && status == TACIT_OK; v++) {
    tacit_design_variable_t *variable = &design->variables[v];
    variable->typical = variable->range;
    for (size_t i = 0; i < formula->n_columns && !variable->is_factor; i++) {
      variable->has_typical =
          variable->has_typical || (columns[i]->has_typical && uses_column(&formula->variables[v], i));
    }
    if (variable->has_typical) {
      status = tacit_expression_range(formula, &formula->variables[v], ranges, &variable->typical, err);
    }
  }
  return status;
}

tacit_status_t tacit_design_resolve(tacit_design_t *design, const tacit_schema_t *schema,
                                    tacit_error_t *err) {
  const tacit_formula_t *formula = &design->formula;
  const tacit_column_schema_t **columns = tacit_alloc(formula->n_columns, sizeof *columns);
  tacit_interval_t *ranges = tacit_alloc(formula->n_columns, sizeof *ranges);
  design->variables = tacit_alloc_zero(formula->n_variables, sizeof *design->variables);
  tacit_status_t status = TACIT_OK;
  if (columns == NULL || ranges == NULL || design->variables == NULL) {
    status = tacit_error_memory(err);
  }
  TACIT_THEN(status, find_columns(formula, schema, columns, ranges, err));
  TACIT_THEN(status, check_response_is_left(formula, err));
  for (size_t i = 0; i < formula->n_variables && status == TACIT_OK; i++) {
    status = resolve_variable(formula, &formula->variables[i], columns, ranges, &design->variables[i], err);
  }
  TACIT_THEN(status, find_typical(formula, columns, ranges, design, err));
  tacit_free(columns);
  tacit_free(ranges);
  return status;
}

const char *tacit_design_level_label(const tacit_design_variable_t *variable, size_t level, char buffer[32]) {
  if (variable->levels != NULL) {
    return variable->levels[level];
  }
  snprintf(buffer, 32, "%lld", (long long)variable->first_level + (long long)level);
  return buffer;
}
