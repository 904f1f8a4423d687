#include <math.h>
#include <string.h>

#include "program/lower.h"

tacit_variable_t *tacit_lower_find(tacit_lower_t *lower, const char *name) {
  for (size_t i = lower->n_variables; i-- > lower->frame;) {
    if (strcmp(lower->variables[i].name, name) == 0) {
      return &lower->variables[i];
    }
  }
  return NULL;
}

tacit_variable_t *tacit_lower_declare(tacit_lower_t *lower, const char *name, size_t offset,
                                      const tacit_value_t *value) {
  if (lower->status != TACIT_OK || value->kind == TACIT_TYPE_VOID) {
    return NULL;
  }
  if (tacit_lower_find(lower, name) != NULL) {
    tacit_lower_fail(lower, offset, "'%s' is declared twice", name);
    return NULL;
  }
  tacit_variable_t *variables = tacit_arena_grow(lower->arena, lower->variables, lower->n_variables,
                                                 &lower->variables_capacity, sizeof *variables);
  if (variables == NULL) {
    return NULL;
  }
  lower->variables = variables;
  tacit_variable_t *variable = &lower->variables[lower->n_variables++];
  *variable = (tacit_variable_t){.name = name,
                                 .block = lower->block,
                                 .is_local = lower->scope > 0 || lower->n_calls > 0,
                                 .value = *value};
  return variable;
}

bool tacit_lower_dims(tacit_lower_t *lower, const tacit_type_t *type, uint32_t dims[TACIT_MAX_DIMS]) {
  bool has_axis = false;
  for (size_t i = 0; i < type->n_sizes; i++) {
    const tacit_expr_t *size = type->sizes[i];
    tacit_value_t value = tacit_lower_expr(lower, size);
    const tacit_mark_t *mark = tacit_value_is_scalar(&value) ? tacit_mark_of(lower, value.nodes[0]) : NULL;
    long n = 0;
    if (mark != NULL && mark->kind == TACIT_MARK_AXIS) {
      if (has_axis) {
        tacit_lower_fail(lower, tacit_expr_begin(size), "this holds something for each pair of records");
        return false;
      }
      has_axis = true;
      dims[i] = TACIT_AXIS;
      continue;
    }
    if (value.kind == TACIT_TYPE_VOID || !tacit_lower_whole(lower, size, "a size", &n)) {
      return false;
    }
    if (n < 0 || n > TACIT_MAX_ELEMENTS) {
      tacit_lower_fail(lower, tacit_expr_begin(size), "a size of %ld: expected 0 to %d", n,
                       TACIT_MAX_ELEMENTS);
      return false;
    }
    dims[i] = (uint32_t)n;
  }
  return true;
}

/* A container of the declared type, elements NONE. */
static tacit_value_t declared_value(tacit_lower_t *lower, const tacit_stmt_t *stmt) {
  uint32_t dims[TACIT_MAX_DIMS];
  tacit_type_kind_t kind = stmt->type.kind >= TACIT_TYPE_CORR    ? TACIT_TYPE_MATRIX
                           : stmt->type.kind > TACIT_TYPE_MATRIX ? TACIT_TYPE_VECTOR
                                                                 : stmt->type.kind;
  if (!tacit_lower_dims(lower, &stmt->type, dims)) {
    return (tacit_value_t){0};
  }
  return tacit_value_new(lower, stmt->offset, kind, (unsigned)stmt->type.n_array,
                         (unsigned)stmt->type.n_sizes, dims);
}

/* "2.3" for place k; the record axis has no index. Stan counts the first index fastest where
 * `is_column_major`. */
static const char *index_text(tacit_lower_t *lower, const tacit_value_t *value, size_t k,
                              const char *separator) {
  size_t indices[TACIT_MAX_DIMS];
  for (unsigned i = value->n_dims; i-- > 0;) {
    size_t extent = value->dims[i] == TACIT_AXIS ? 1 : value->dims[i];
    indices[i] = k % extent + 1;
    k /= extent;
  }
  const char *text = "";
  for (unsigned i = 0; i < value->n_dims && text != NULL; i++) {
    if (value->dims[i] != TACIT_AXIS) {
      text = tacit_arena_printf(lower->arena, "%s%s%zu", text, text[0] != '\0' ? separator : "", indices[i]);
    }
  }
  return text != NULL ? text : "";
}

/* A bound that is a number; `fallback` where there is none. */
static double known_bound(tacit_lower_t *lower, const tacit_expr_t *bound, double fallback) {
  if (bound == NULL) {
    return fallback;
  }
  tacit_value_t value = tacit_lower_expr(lower, bound);
  double x;
  return tacit_value_constant(lower, &value, &x) ? x : fallback;
}

static bool is_record_datum(tacit_lower_t *lower, const tacit_stmt_t *stmt, const tacit_value_t *value) {
  return tacit_value_has_axis(value) ||
         (lower->axis == NULL && lower->outside->is_column(lower->outside->user, stmt));
}

static tacit_node_t datum(tacit_lower_t *lower, const tacit_stmt_t *stmt, const tacit_value_t *value,
                          size_t i, bool is_column, double bounds[2]) {
  const tacit_outside_t *outside = lower->outside;
  double x;
  if (!is_column) {
    if (!outside->constant(outside->user, stmt, i, value->n, &x)) {
      return TACIT_NODE_NONE;
    }
    if (x < bounds[0] || x > bounds[1]) {
      tacit_lower_fail(lower, stmt->offset, "'%s' is given as %g, outside of its bounds %g to %g", stmt->name,
                       x, bounds[0], bounds[1]);
    }
    if (stmt->type.kind == TACIT_TYPE_INT && x != floor(x)) {
      tacit_lower_fail(lower, stmt->offset, "'%s' is an int, and is given as %g", stmt->name, x);
    }
    return tacit_lower_constant(lower, x);
  }
  double lower_bound = bounds[0], upper_bound = bounds[1];
  tacit_node_t node =
      outside->column(outside->user, stmt, index_text(lower, value, i, "."), i, &lower_bound, &upper_bound);
  if (stmt->type.kind == TACIT_TYPE_INT && node != TACIT_NODE_NONE) {
    tacit_index_range_t *range = tacit_arena_alloc(lower->arena, 1, sizeof *range);
    if (range != NULL) {
      *range = (tacit_index_range_t){.node = node, .lower = lower_bound, .upper = upper_bound};
      void **ranges = (void **)lower->ranges;
      tacit_list_append(lower->arena, &ranges, &lower->n_ranges, range);
      lower->ranges = (tacit_index_range_t **)ranges;
    }
  }
  return node;
}

bool tacit_lower_index_fits(const tacit_lower_t *lower, tacit_node_t node, uint32_t extent) {
  for (size_t i = 0; i < lower->n_ranges; i++) {
    const tacit_index_range_t *range = lower->ranges[i];
    if (range->node == node) {
      double from = range->lower, to = range->upper;
      if (!tacit_lower_narrow(lower, node, &from, &to)) {
        return true;
      }
      bool is_below = to <= extent;
      /* Sizes that are assumed, too, do not have to fit to a declared bound. */
      return lower->outside->is_assumed ? is_below || lower->axis != NULL : is_below && from >= 1;
    }
  }
  return true; /* computed from columns: moved into the range when it is used */
}

void tacit_lower_data(tacit_lower_t *lower, const tacit_stmt_t *stmt) {
  if (stmt->kind == TACIT_STMT_BLOCK && stmt->name != NULL) {
    for (size_t i = 0; i < stmt->n_body; i++) {
      tacit_lower_data(lower, stmt->body[i]);
    }
    return;
  }
  if (stmt->kind != TACIT_STMT_DECLARE || stmt->right != NULL) {
    tacit_lower_fail(lower, stmt->offset, "the block 'data' holds declarations alone");
    return;
  }
  if (lower->axis != NULL && strcmp(stmt->name, lower->axis) == 0) {
    tacit_value_t axis = tacit_value_scalar(
        lower, TACIT_TYPE_INT,
        tacit_mark_new(lower, (tacit_mark_t){.kind = TACIT_MARK_AXIS, .text = stmt->name}));
    tacit_lower_declare(lower, stmt->name, stmt->offset, &axis);
    return;
  }
  tacit_value_t value = declared_value(lower, stmt);
  double bounds[2] = {known_bound(lower, stmt->type.lower, -INFINITY),
                      known_bound(lower, stmt->type.upper, INFINITY)};
  if (stmt->type.kind > TACIT_TYPE_MATRIX && tacit_value_has_axis(&value)) {
    tacit_lower_fail(lower, stmt->offset, "a datum of records is an int, a real, a vector or a matrix");
  }
  bool is_column = value.kind != TACIT_TYPE_VOID && is_record_datum(lower, stmt, &value);
  for (size_t i = 0; i < value.n && lower->status == TACIT_OK; i++) {
    value.nodes[i] = datum(lower, stmt, &value, i, is_column, bounds);
  }
  tacit_variable_t *variable = tacit_lower_declare(lower, stmt->name, stmt->offset, &value);
  if (variable != NULL) {
    variable->declared = stmt;
  }
}

/* ---- parameters ---- */

/* The bound of element i; an infinite one is none. */
static tacit_node_t bound_of(tacit_lower_t *lower, const tacit_expr_t *expr, const tacit_value_t *bound,
                             size_t i) {
  if (expr == NULL) {
    return TACIT_NODE_NONE;
  }
  tacit_node_t node = bound->nodes[bound->n_dims != 0 ? i : 0];
  double x;
  if (!tacit_lower_force(lower, tacit_expr_begin(expr), node) ||
      (tacit_graph_is_constant(lower->graph, node, &x) && isinf(x))) {
    return TACIT_NODE_NONE;
  }
  if ((tacit_lower_rate(lower, node) & TACIT_RATE_DATA) != 0) {
    tacit_lower_fail(lower, tacit_expr_begin(expr), "a parameter's bounds must not depend on records");
  }
  return node;
}

/* n values under the bounds of the first of them. */
static void constrain(tacit_lower_t *lower, const tacit_stmt_t *stmt, const tacit_value_t bounds[4],
                      size_t first, size_t n, tacit_node_t *values) {
  const tacit_type_t *type = &stmt->type;
  const tacit_expr_t *exprs[4] = {type->lower, type->upper, type->shift, type->multiplier};
  tacit_node_t nodes[4];
  for (int i = 0; i < 4; i++) {
    nodes[i] = bound_of(lower, exprs[i], &bounds[i], first);
  }
  tacit_constraint_t constraint = TACIT_CONSTRAINT_NONE;
  if (lower->is_forecast) { /* draws are of the values under their constraints */
    tacit_graph_parameters(lower->graph, stmt->name, constraint, n, TACIT_NODE_NONE, TACIT_NODE_NONE, values);
    return;
  }
  tacit_node_t a = nodes[0], b = nodes[1];
  switch (type->kind) {
  case TACIT_TYPE_ORDERED:
    constraint = TACIT_CONSTRAINT_ORDERED;
    break;
  case TACIT_TYPE_POSITIVE_ORDERED:
    constraint = TACIT_CONSTRAINT_POSITIVE_ORDERED;
    break;
  case TACIT_TYPE_SIMPLEX:
    constraint = TACIT_CONSTRAINT_SIMPLEX;
    break;
  case TACIT_TYPE_SUM_TO_ZERO:
    constraint = TACIT_CONSTRAINT_SUM_TO_ZERO;
    break;
  case TACIT_TYPE_CORR:
    constraint = TACIT_CONSTRAINT_CORR;
    break;
  case TACIT_TYPE_CORR_CHOLESKY:
    constraint = TACIT_CONSTRAINT_CORR_CHOLESKY;
    break;
  default:
    if (type->shift != NULL || type->multiplier != NULL) {
      constraint = TACIT_CONSTRAINT_AFFINE;
      a = nodes[2] != TACIT_NODE_NONE ? nodes[2] : tacit_lower_constant(lower, 0);
      b = nodes[3] != TACIT_NODE_NONE ? nodes[3] : tacit_lower_constant(lower, 1);
    } else if (a != TACIT_NODE_NONE) {
      constraint = b != TACIT_NODE_NONE ? TACIT_CONSTRAINT_INTERVAL : TACIT_CONSTRAINT_LOWER;
    } else if (b != TACIT_NODE_NONE) {
      constraint = TACIT_CONSTRAINT_UPPER;
    }
  }
  bool is_joint = type->kind > TACIT_TYPE_MATRIX;
  if (is_joint) {
    a = b = TACIT_NODE_NONE;
  }
  double x, y;
  if (constraint == TACIT_CONSTRAINT_INTERVAL && tacit_graph_is_constant(lower->graph, a, &x) &&
      tacit_graph_is_constant(lower->graph, b, &y) && !(x < y)) {
    tacit_lower_fail(lower, stmt->offset, "the bounds of '%s' leave nothing between %g and %g", stmt->name, x,
                     y);
  }
  if (lower->status == TACIT_OK) {
    tacit_graph_parameters(lower->graph, stmt->name, constraint, n, a, b, values);
  }
}

void tacit_lower_parameter(tacit_lower_t *lower, const tacit_stmt_t *stmt) {
  if (stmt->kind == TACIT_STMT_BLOCK && stmt->name != NULL) {
    for (size_t i = 0; i < stmt->n_body; i++) {
      tacit_lower_parameter(lower, stmt->body[i]);
    }
    return;
  }
  if (stmt->kind != TACIT_STMT_DECLARE || stmt->right != NULL) {
    tacit_lower_fail(lower, stmt->offset, "the block 'parameters' holds declarations alone");
    return;
  }
  if (stmt->type.kind == TACIT_TYPE_INT) {
    tacit_lower_fail(lower, stmt->offset,
                     "a parameter is no int: sum over its values in the target, by log_mix or log_sum_exp");
    return;
  }
  tacit_value_t value = declared_value(lower, stmt), bounds[4] = {{0}};
  if (value.kind == TACIT_TYPE_VOID) {
    return;
  }
  const tacit_expr_t *exprs[4] = {stmt->type.lower, stmt->type.upper, stmt->type.shift,
                                  stmt->type.multiplier};
  for (size_t i = 0; i < stmt->type.n_sizes && lower->status == TACIT_OK; i++) {
    if (value.dims[i] == TACIT_AXIS) {
      tacit_lower_fail(lower, tacit_expr_begin(stmt->type.sizes[i]),
                       "'%s' counts records; their number and order say nothing about one record",
                       lower->axis);
    }
  }
  bool is_even = true; /* all elements have the same bounds */
  for (int i = 0; i < 4; i++) {
    if (exprs[i] != NULL) {
      bounds[i] = tacit_lower_expr(lower, exprs[i]);
      is_even &= bounds[i].n_dims == 0;
      if (bounds[i].n_dims != 0 && bounds[i].n != value.n) {
        tacit_lower_fail(lower, tacit_expr_begin(exprs[i]), "a bound is one number, or one for each element");
      }
      if (bounds[i].kind == TACIT_TYPE_VOID) {
        return;
      }
    }
  }
  bool is_joint = stmt->type.kind > TACIT_TYPE_MATRIX;
  size_t joint = is_joint ? value.dims[value.n_dims - 1] : is_even ? value.n : 1;
  joint *= stmt->type.kind >= TACIT_TYPE_CORR ? joint : 1;
  if (lower->status == TACIT_OK && is_joint && joint == 0) {
    tacit_lower_fail(lower, stmt->offset, "'%s' has no elements", stmt->name);
  }
  for (size_t i = 0; i < value.n && lower->status == TACIT_OK; i += joint) {
    constrain(lower, stmt, bounds, i, joint, value.nodes + i);
  }
  tacit_variable_t *variable = tacit_lower_declare(lower, stmt->name, stmt->offset, &value);
  if (variable != NULL) {
    variable->declared = stmt;
  }
}

/* ---- all other blocks ---- */

void tacit_lower_local(tacit_lower_t *lower, const tacit_stmt_t *stmt) {
  tacit_value_t value = declared_value(lower, stmt);
  if (value.kind == TACIT_TYPE_VOID) {
    return;
  }
  tacit_node_t unset = tacit_mark_new(lower, (tacit_mark_t){.kind = TACIT_MARK_UNSET, .text = stmt->name});
  for (size_t i = 0; i < value.n; i++) {
    value.nodes[i] = unset;
  }
  tacit_variable_t *variable = tacit_lower_declare(lower, stmt->name, stmt->offset, &value);
  if (variable == NULL) {
    return;
  }
  variable->declared = stmt;
  if (stmt->right != NULL) {
    tacit_value_t right = tacit_lower_expr(lower, stmt->right);
    tacit_expr_t left = {.kind = TACIT_EXPR_NAME, .name = stmt->name, .offset = stmt->offset};
    tacit_lower_assign(lower, &left, tacit_expr_begin(stmt->right), &right);
  }
}

/* May the variable be reported, a function of parameters and public numbers alone? Else *why says what stands
 * against it. */
static bool is_public(tacit_lower_t *lower, const tacit_variable_t *variable, const char **why) {
  *why = "it has a value for each record";
  if (tacit_value_has_axis(&variable->value)) {
    return false;
  }
  for (size_t i = 0; i < variable->value.n; i++) {
    tacit_node_t node = variable->value.nodes[i];
    const tacit_mark_t *mark = tacit_mark_of(lower, node);
    if (mark != NULL) {
      mark = tacit_mark_of(lower, tacit_mark_use(lower, variable->declared->offset, node));
      *why = mark != NULL && mark->text != NULL ? mark->text : "";
      return false;
    }
    if ((tacit_lower_rate(lower, node) & TACIT_RATE_DATA) != 0) {
      *why = "it is computed from columns";
      return false;
    }
  }
  return true;
}

/* Stan's order: the first index fastest, those of the array included. */
static void report_variable(tacit_lower_t *lower, const tacit_variable_t *variable) {
  const tacit_value_t *value = &variable->value;
  for (size_t k = 0; k < value->n; k++) {
    size_t rest = k, flat = 0, indices[TACIT_MAX_DIMS];
    for (unsigned i = 0; i < value->n_dims; i++) {
      indices[i] = rest % value->dims[i];
      rest /= value->dims[i];
    }
    for (unsigned i = 0; i < value->n_dims; i++) {
      flat = flat * value->dims[i] + indices[i];
    }
    const char *dots = index_text(lower, value, flat, "."), *commas = index_text(lower, value, flat, ",");
    const char *name =
        value->n_dims > 0 ? tacit_arena_printf(lower->arena, "%s.%s", variable->name, dots) : variable->name;
    const char *label = value->n_dims > 0 ? tacit_arena_printf(lower->arena, "%s[%s]", variable->name, commas)
                                          : variable->name;
    if (name != NULL && label != NULL) {
      tacit_graph_report(lower->graph, label, name, value->nodes[flat]);
    }
  }
}

void tacit_lower_report(tacit_lower_t *lower, size_t first) {
  for (size_t i = first; i < lower->n_variables && lower->status == TACIT_OK; i++) {
    const char *why;
    if (is_public(lower, &lower->variables[i], &why)) {
      report_variable(lower, &lower->variables[i]);
    } else if (lower->is_generated) {
      tacit_lower_note(
          lower, lower->variables[i].declared->offset,
          "'%s' is not computed: generated quantities may name parameters and public inputs alone; here %s",
          lower->variables[i].name, why);
    }
  }
}
