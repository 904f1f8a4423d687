#include <math.h>
#include <string.h>

#include "program/lower.h"

static const tacit_value_t NOTHING = {0};

/* ---- element by element ---- */

/* The shape of a result, of scalars and one shape of containers; NULL after an error. */
static const tacit_value_t *common_shape(tacit_lower_t *lower, size_t offset, const tacit_value_t *a,
                                         const tacit_value_t *b) {
  if (a->kind == TACIT_TYPE_VOID || b->kind == TACIT_TYPE_VOID) {
    return NULL;
  }
  if (a->n_dims != 0 && b->n_dims != 0 && !tacit_value_same_shape(a, b)) {
    tacit_lower_fail(lower, offset, "the two sides differ in shape: %s and %s",
                     tacit_value_describe(lower, a), tacit_value_describe(lower, b));
    return NULL;
  }
  return a->n_dims != 0 ? a : b;
}

tacit_value_t tacit_lower_map(tacit_lower_t *lower, size_t offset, tacit_op_t op, const tacit_value_t *a,
                              const tacit_value_t *b) {
  const tacit_value_t *shape = b != NULL                    ? common_shape(lower, offset, a, b)
                               : a->kind != TACIT_TYPE_VOID ? a
                                                            : NULL;
  if (shape == NULL) {
    return NOTHING;
  }
  bool is_integer = tacit_value_is_integer(a) && (b == NULL || tacit_value_is_integer(b)) &&
                    (op == TACIT_OP_ADD || op == TACIT_OP_SUB || op == TACIT_OP_MUL || op == TACIT_OP_NEG ||
                     op == TACIT_OP_ABS || op == TACIT_OP_MIN || op == TACIT_OP_MAX || op == TACIT_OP_LESS ||
                     op == TACIT_OP_AT_MOST || op == TACIT_OP_EQUAL);
  tacit_value_t result = tacit_value_like(lower, offset, shape, is_integer);
  if (result.kind == TACIT_TYPE_INT && !is_integer) {
    result.kind = TACIT_TYPE_REAL;
  }
  for (size_t i = 0; i < result.n && result.kind != TACIT_TYPE_VOID; i++) {
    tacit_node_t right = b == NULL ? TACIT_NODE_NONE : b->nodes[b->n_dims != 0 ? i : 0];
    result.nodes[i] =
        tacit_lower_apply(lower, offset, op, a->nodes[a->n_dims != 0 ? i : 0], right, TACIT_NODE_NONE);
  }
  return result;
}

tacit_value_t tacit_lower_select(tacit_lower_t *lower, size_t offset, tacit_node_t condition,
                                 const tacit_value_t *a, const tacit_value_t *b) {
  if (a->kind == TACIT_TYPE_VOID || b->kind == TACIT_TYPE_VOID) {
    return NOTHING;
  }
  if (!tacit_value_same_shape(a, b)) {
    tacit_lower_fail(lower, offset, "the two choices differ in shape: %s and %s",
                     tacit_value_describe(lower, a), tacit_value_describe(lower, b));
    return NOTHING;
  }
  tacit_value_t result =
      tacit_value_like(lower, offset, a, tacit_value_is_integer(a) && tacit_value_is_integer(b));
  for (size_t i = 0; i < result.n && result.kind != TACIT_TYPE_VOID; i++) {
    result.nodes[i] = a->nodes[i] == b->nodes[i] ? a->nodes[i]
                                                 : tacit_lower_apply(lower, offset, TACIT_OP_SELECT,
                                                                     condition, a->nodes[i], b->nodes[i]);
  }
  return result;
}

static tacit_value_t negate_truth(tacit_lower_t *lower, size_t offset, const tacit_value_t *a) {
  tacit_value_t zero = tacit_value_number(lower, 0, true);
  return tacit_lower_map(lower, offset, TACIT_OP_EQUAL, a, &zero);
}

/* ---- linear algebra ---- */

tacit_value_t tacit_lower_transpose(tacit_lower_t *lower, size_t offset, const tacit_value_t *a) {
  if (a->n_array != 0 ||
      (a->kind != TACIT_TYPE_VECTOR && a->kind != TACIT_TYPE_ROW && a->kind != TACIT_TYPE_MATRIX)) {
    if (a->kind != TACIT_TYPE_VOID) {
      tacit_lower_fail(lower, offset, "only vectors and matrices can be transposed, not %s",
                       tacit_value_describe(lower, a));
    }
    return NOTHING;
  }
  tacit_value_t result = *a;
  if (a->kind != TACIT_TYPE_MATRIX) {
    result.kind = a->kind == TACIT_TYPE_VECTOR ? TACIT_TYPE_ROW : TACIT_TYPE_VECTOR;
    return result;
  }
  uint32_t dims[2] = {a->dims[1], a->dims[0]};
  result = tacit_value_new(lower, offset, TACIT_TYPE_MATRIX, 0, 2, dims);
  size_t rows = a->dims[0] == TACIT_AXIS ? 1 : a->dims[0],
         columns = a->dims[1] == TACIT_AXIS ? 1 : a->dims[1];
  for (size_t i = 0; i < rows && result.kind != TACIT_TYPE_VOID; i++) {
    for (size_t j = 0; j < columns; j++) {
      result.nodes[j * rows + i] = a->nodes[i * columns + j];
    }
  }
  return result;
}

tacit_value_t tacit_lower_product(tacit_lower_t *lower, size_t offset, const tacit_value_t *a,
                                  const tacit_value_t *b) {
  if (a->n_dims == 0 || b->n_dims == 0) {
    return tacit_lower_map(lower, offset, TACIT_OP_MUL, a, b);
  }
  bool is_left = a->kind == TACIT_TYPE_MATRIX || a->kind == TACIT_TYPE_ROW || a->kind == TACIT_TYPE_VECTOR;
  bool is_right = b->kind == TACIT_TYPE_MATRIX || b->kind == TACIT_TYPE_ROW || b->kind == TACIT_TYPE_VECTOR;
  uint32_t rows = a->kind == TACIT_TYPE_ROW ? 1 : a->dims[0],
           inner = a->kind == TACIT_TYPE_VECTOR ? 1 : a->dims[a->n_dims - 1];
  uint32_t middle = b->kind == TACIT_TYPE_ROW ? 1 : b->dims[0],
           columns = b->kind == TACIT_TYPE_VECTOR ? 1 : b->dims[b->n_dims - 1];
  bool is_outer = a->kind == TACIT_TYPE_VECTOR && b->kind == TACIT_TYPE_ROW;
  if (!is_left || !is_right || a->n_array != 0 || b->n_array != 0 || inner != middle ||
      (a->kind == TACIT_TYPE_VECTOR && b->kind != TACIT_TYPE_ROW) ||
      (b->kind == TACIT_TYPE_ROW && !is_outer)) {
    tacit_lower_fail(lower, offset, "%s and %s cannot be multiplied by *; .* is element by element",
                     tacit_value_describe(lower, a), tacit_value_describe(lower, b));
    return NOTHING;
  }
  if (inner == TACIT_AXIS) {
    tacit_value_t result = tacit_value_scalar(
        lower, TACIT_TYPE_REAL,
        tacit_mark_refuse(
            lower, offset,
            "this product would go over records; a record's term may look at that record alone"));
    return result;
  }
  uint32_t dims[2] = {rows, columns};
  tacit_type_kind_t kind = a->kind == TACIT_TYPE_ROW
                               ? (b->kind == TACIT_TYPE_VECTOR ? TACIT_TYPE_REAL : TACIT_TYPE_ROW)
                           : b->kind == TACIT_TYPE_VECTOR ? TACIT_TYPE_VECTOR
                                                          : TACIT_TYPE_MATRIX;
  tacit_value_t result =
      kind == TACIT_TYPE_MATRIX ? tacit_value_new(lower, offset, kind, 0, 2, dims)
      : kind == TACIT_TYPE_REAL
          ? tacit_value_new(lower, offset, kind, 0, 0, dims)
          : tacit_value_new(lower, offset, kind, 0, 1, kind == TACIT_TYPE_ROW ? dims + 1 : dims);
  size_t n_rows = rows == TACIT_AXIS ? 1 : rows, n_columns = columns == TACIT_AXIS ? 1 : columns;
  tacit_node_t *column = tacit_arena_alloc(lower->arena, inner, sizeof *column);
  if (column == NULL || !tacit_lower_step(lower, offset, n_rows * n_columns * inner)) {
    return NOTHING;
  }
  for (size_t j = 0; j < n_columns && result.kind != TACIT_TYPE_VOID; j++) {
    for (size_t k = 0; k < inner; k++) {
      column[k] = b->nodes[k * n_columns + j];
    }
    for (size_t i = 0; i < n_rows; i++) {
      const tacit_node_t *row = a->nodes + i * inner;
      tacit_node_t mark = tacit_lower_first_mark(lower, offset, inner, row);
      mark = mark != TACIT_NODE_NONE ? mark : tacit_lower_first_mark(lower, offset, inner, column);
      result.nodes[i * n_columns + j] =
          mark != TACIT_NODE_NONE ? mark : tacit_graph_dot(lower->graph, inner, row, column);
    }
  }
  return result;
}

/* ---- operators ---- */

/* Whole numbers alone: the quotient is cut towards zero, as in C. */
static tacit_value_t divide_whole(tacit_lower_t *lower, size_t offset, bool is_modulo, const tacit_value_t *a,
                                  const tacit_value_t *b) {
  double x, y;
  if (!tacit_value_constant(lower, a, &x) || !tacit_value_constant(lower, b, &y)) {
    tacit_lower_fail(
        lower, offset,
        "division of whole numbers needs numbers that are known; write 1.0 * a / b for a real quotient");
    return NOTHING;
  }
  if (y == 0) {
    tacit_lower_fail(lower, offset, "division by zero");
    return NOTHING;
  }
  return tacit_value_number(lower, is_modulo ? fmod(x, y) : trunc(x / y), true);
}

static tacit_value_t compare(tacit_lower_t *lower, size_t offset, tacit_token_kind op, const tacit_value_t *a,
                             const tacit_value_t *b) {
  bool is_swapped = op == TACIT_TOK_GREATER || op == TACIT_TOK_AT_LEAST;
  tacit_op_t node = op == TACIT_TOK_EQUAL || op == TACIT_TOK_UNEQUAL  ? TACIT_OP_EQUAL
                    : op == TACIT_TOK_LESS || op == TACIT_TOK_GREATER ? TACIT_OP_LESS
                                                                      : TACIT_OP_AT_MOST;
  if (a->n_dims != 0 || b->n_dims != 0) {
    if (a->kind != TACIT_TYPE_VOID && b->kind != TACIT_TYPE_VOID) {
      tacit_lower_fail(lower, offset, "comparisons are of single numbers");
    }
    return NOTHING;
  }
  tacit_value_t truth = tacit_lower_map(lower, offset, node, is_swapped ? b : a, is_swapped ? a : b);
  if (truth.kind != TACIT_TYPE_VOID) {
    truth.kind = TACIT_TYPE_INT;
  }
  return op == TACIT_TOK_UNEQUAL ? negate_truth(lower, offset, &truth) : truth;
}

static tacit_value_t combine_truths(tacit_lower_t *lower, size_t offset, bool is_and, const tacit_value_t *a,
                                    const tacit_value_t *b) {
  tacit_value_t no_a = negate_truth(lower, offset, a), no_b = negate_truth(lower, offset, b);
  if (no_a.kind == TACIT_TYPE_VOID || no_b.kind == TACIT_TYPE_VOID) {
    return NOTHING;
  }
  no_a.kind = no_b.kind = TACIT_TYPE_INT;
  tacit_value_t one = tacit_value_number(lower, 1, true);
  tacit_value_t yes_a = tacit_lower_map(lower, offset, TACIT_OP_SUB, &one, &no_a);
  tacit_value_t yes_b = tacit_lower_map(lower, offset, TACIT_OP_SUB, &one, &no_b);
  return tacit_lower_map(lower, offset, is_and ? TACIT_OP_MIN : TACIT_OP_MAX, &yes_a, &yes_b);
}

tacit_value_t tacit_lower_binary(tacit_lower_t *lower, size_t offset, tacit_token_kind op,
                                 const tacit_value_t *a, const tacit_value_t *b) {
  if (a->kind == TACIT_TYPE_VOID || b->kind == TACIT_TYPE_VOID) {
    return NOTHING;
  }
  bool are_whole = tacit_value_is_integer(a) && tacit_value_is_integer(b) && a->n_dims == 0 && b->n_dims == 0;
  switch (op) {
  case TACIT_TOK_OR:
  case TACIT_TOK_AND:
    return combine_truths(lower, offset, op == TACIT_TOK_AND, a, b);
  case TACIT_TOK_EQUAL:
  case TACIT_TOK_UNEQUAL:
  case TACIT_TOK_LESS:
  case TACIT_TOK_AT_MOST:
  case TACIT_TOK_GREATER:
  case TACIT_TOK_AT_LEAST:
    return compare(lower, offset, op, a, b);
  case TACIT_TOK_ADD:
    return tacit_lower_map(lower, offset, TACIT_OP_ADD, a, b);
  case TACIT_TOK_SUBTRACT:
    return tacit_lower_map(lower, offset, TACIT_OP_SUB, a, b);
  case TACIT_TOK_MULTIPLY:
    return tacit_lower_product(lower, offset, a, b);
  case TACIT_TOK_INTDIV:
  case TACIT_TOK_MODULO:
    return divide_whole(lower, offset, op == TACIT_TOK_MODULO, a, b);
  case TACIT_TOK_DIVIDE:
    if (b->n_dims != 0 && b->kind == TACIT_TYPE_MATRIX) {
      tacit_lower_fail(lower, offset, "division by a matrix is not in the subset");
      return NOTHING;
    }
    return are_whole ? divide_whole(lower, offset, false, a, b)
                     : tacit_lower_map(lower, offset, TACIT_OP_DIV, a, b);
  case TACIT_TOK_TIMES_EACH:
    return tacit_lower_map(lower, offset, TACIT_OP_MUL, a, b);
  case TACIT_TOK_DIVIDE_EACH:
    return tacit_lower_map(lower, offset, TACIT_OP_DIV, a, b);
  default:
    return tacit_lower_map(lower, offset, TACIT_OP_POW, a, b);
  }
}

/* && and || stop where the first side decides, so that the second may be senseless then. */
static tacit_value_t binary_expr(tacit_lower_t *lower, const tacit_expr_t *expr) {
  tacit_value_t a = tacit_lower_expr(lower, expr->args[0]);
  double x;
  if ((expr->op == TACIT_TOK_AND || expr->op == TACIT_TOK_OR) && tacit_value_constant(lower, &a, &x) &&
      (x != 0) == (expr->op == TACIT_TOK_OR)) {
    return tacit_value_number(lower, x != 0, true);
  }
  tacit_value_t b = tacit_lower_expr(lower, expr->args[1]);
  return tacit_lower_binary(lower, expr->offset, expr->op, &a, &b);
}

static tacit_value_t condition_expr(tacit_lower_t *lower, const tacit_expr_t *expr) {
  tacit_value_t condition = tacit_lower_expr(lower, expr->args[0]);
  int truth = tacit_lower_truth(lower, tacit_expr_begin(expr->args[0]), &condition);
  if (truth == -2) {
    return NOTHING;
  }
  if (truth >= 0) {
    return tacit_lower_expr(lower, expr->args[truth ? 1 : 2]);
  }
  tacit_value_t yes = tacit_lower_expr(lower, expr->args[1]), no = tacit_lower_expr(lower, expr->args[2]);
  return tacit_lower_select(lower, expr->offset, condition.nodes[0], &yes, &no);
}

/* { a, b }: an array of what its elements are; [ a, b ]: a row vector of numbers, a matrix of row vectors. */
static tacit_value_t listed_expr(tacit_lower_t *lower, const tacit_expr_t *expr) {
  tacit_value_t first = NOTHING, result = NOTHING;
  bool is_array = expr->kind == TACIT_EXPR_ARRAY;
  if (expr->n_args == 0) {
    uint32_t none = 0;
    return tacit_value_new(lower, expr->offset, is_array ? TACIT_TYPE_REAL : TACIT_TYPE_ROW, is_array ? 1 : 0,
                           1, &none);
  }
  for (size_t i = 0; i < expr->n_args; i++) {
    tacit_value_t item = tacit_lower_expr(lower, expr->args[i]);
    if (item.kind == TACIT_TYPE_VOID) {
      return NOTHING;
    }
    if (i == 0) {
      first = item;
      uint32_t dims[TACIT_MAX_DIMS + 1] = {(uint32_t)expr->n_args};
      memcpy(dims + 1, item.dims, sizeof item.dims);
      bool is_legal = is_array ? item.n_dims < TACIT_MAX_DIMS
                               : item.n_dims == 0 || (item.kind == TACIT_TYPE_ROW && item.n_array == 0);
      if (!is_legal) {
        tacit_lower_fail(lower, expr->offset, "[ ] holds numbers or row vectors, not %s",
                         tacit_value_describe(lower, &item));
        return NOTHING;
      }
      tacit_type_kind_t kind = is_array ? item.kind : item.n_dims == 0 ? TACIT_TYPE_ROW : TACIT_TYPE_MATRIX;
      result =
          tacit_value_new(lower, expr->offset, kind, is_array ? item.n_array + 1 : 0, item.n_dims + 1, dims);
    }
    if (result.kind == TACIT_TYPE_VOID || !tacit_value_same_shape(&first, &item)) {
      tacit_lower_fail(lower, tacit_expr_begin(expr->args[i]), "the elements differ in shape");
      return NOTHING;
    }
    if (result.kind == TACIT_TYPE_INT && item.kind == TACIT_TYPE_REAL) {
      result.kind = TACIT_TYPE_REAL;
    }
    memcpy(result.nodes + i * item.n, item.nodes, item.n * sizeof *item.nodes);
  }
  return result;
}

static tacit_value_t name_expr(tacit_lower_t *lower, const tacit_expr_t *expr) {
  const tacit_variable_t *variable = tacit_lower_find(lower, expr->name);
  if (variable != NULL) {
    return variable->value;
  }
  tacit_nearest_t nearest = {.name = expr->name};
  for (size_t i = lower->frame; i < lower->n_variables; i++) {
    tacit_nearest_offer(&nearest, lower->variables[i].name);
  }
  char hint[TACIT_HINT_SIZE];
  tacit_lower_fail(lower, expr->offset, "'%s' is not declared%s", expr->name,
                   tacit_nearest_hint(&nearest, hint));
  return NOTHING;
}

static tacit_value_t lower_kind(tacit_lower_t *lower, const tacit_expr_t *expr) {
  tacit_value_t a;
  switch (expr->kind) {
  case TACIT_EXPR_NUMBER:
    return tacit_value_number(lower, expr->number, expr->is_integer);
  case TACIT_EXPR_NAME:
    return name_expr(lower, expr);
  case TACIT_EXPR_CALL:
    return tacit_lower_call(lower, expr);
  case TACIT_EXPR_INDEX:
    return tacit_lower_index(lower, expr);
  case TACIT_EXPR_BINARY:
    return binary_expr(lower, expr);
  case TACIT_EXPR_CONDITION:
    return condition_expr(lower, expr);
  case TACIT_EXPR_ARRAY:
  case TACIT_EXPR_ROW:
    return listed_expr(lower, expr);
  case TACIT_EXPR_NEGATE:
    a = tacit_lower_expr(lower, expr->args[0]);
    return tacit_lower_map(lower, expr->offset, TACIT_OP_NEG, &a, NULL);
  case TACIT_EXPR_NOT:
    a = tacit_lower_expr(lower, expr->args[0]);
    a = a.kind != TACIT_TYPE_VOID ? negate_truth(lower, expr->offset, &a) : a;
    if (a.kind == TACIT_TYPE_REAL) {
      a.kind = TACIT_TYPE_INT;
    }
    return a;
  case TACIT_EXPR_TRANSPOSE:
    a = tacit_lower_expr(lower, expr->args[0]);
    return tacit_lower_transpose(lower, expr->offset, &a);
  case TACIT_EXPR_RANGE:
    break;
  }
  tacit_lower_fail(lower, expr->offset, "a range stands only in an index or a loop");
  return NOTHING;
}

bool tacit_lower_enter(tacit_lower_t *lower, size_t offset) {
  if (++lower->level > TACIT_PROGRAM_MAX_LEVELS && lower->status == TACIT_OK) {
    tacit_lower_fail(
        lower, offset,
        "expressions, statements and the functions that they call are more than %d deep in each other",
        TACIT_PROGRAM_MAX_LEVELS);
  }
  return lower->status == TACIT_OK;
}

tacit_value_t tacit_lower_expr(tacit_lower_t *lower, const tacit_expr_t *expr) {
  if (expr == NULL || !tacit_lower_step(lower, expr->offset, 1)) {
    return NOTHING;
  }
  tacit_value_t value = tacit_lower_enter(lower, expr->offset) ? lower_kind(lower, expr) : NOTHING;
  lower->level--;
  return value;
}

bool tacit_lower_whole(tacit_lower_t *lower, const tacit_expr_t *expr, const char *what, long *number) {
  tacit_value_t value = tacit_lower_expr(lower, expr);
  double x;
  if (value.kind == TACIT_TYPE_VOID) {
    return false;
  }
  size_t offset = tacit_expr_begin(expr);
  if (tacit_value_is_scalar(&value) && !tacit_lower_force(lower, offset, value.nodes[0])) {
    return false;
  }
  if (!tacit_value_constant(lower, &value, &x) || x != floor(x) || fabs(x) > 1e9) {
    tacit_lower_fail(lower, offset, "%s has to be a whole number that is known before the records are", what);
    return false;
  }
  *number = (long)x;
  return true;
}
