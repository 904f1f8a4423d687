#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "program/lower.h"

void tacit_lower_fail(tacit_lower_t *lower, size_t offset, const char *format, ...) {
  if (lower->status != TACIT_OK) {
    return;
  }
  char reason[384];
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  lower->status = tacit_source_error(lower->source, lower->err, TACIT_ERR_SYNTAX,
                                     lower->n_library > 0 ? lower->library_offset : offset, "%s", reason);
}

void tacit_lower_note(tacit_lower_t *lower, size_t offset, const char *format, ...) {
  char reason[384];
  tacit_error_t error;
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  tacit_status_t status = tacit_source_error(lower->source, &error, TACIT_ERR_SYNTAX, offset, "%s", reason);
  (void)status;
  void **notes = (void **)lower->notes;
  tacit_list_append(lower->arena, &notes, &lower->n_notes,
                    tacit_arena_text(lower->arena, error.message, strlen(error.message)));
  lower->notes = (char **)notes;
}

bool tacit_lower_step(tacit_lower_t *lower, size_t offset, size_t n) {
  if (lower->status != TACIT_OK) {
    return false;
  }
  if (lower->arena->failed) {
    lower->status = tacit_error_memory(lower->err);
    return false;
  }
  lower->n_steps += n;
  if (lower->n_steps > TACIT_MAX_STEPS) {
    tacit_lower_fail(lower, offset, "the program is too large: unrolled, it has more than %d steps",
                     TACIT_MAX_STEPS);
  } else if (lower->n_steps % 256 < n) {
    tacit_error_t error;
    tacit_status_t status = tacit_graph_status(lower->graph, &error);
    if (status != TACIT_OK && status != TACIT_ERR_MEMORY) {
      tacit_lower_fail(lower, offset, "%s", error.message);
    } else if (status != TACIT_OK) {
      lower->status = tacit_error_memory(lower->err);
    }
  }
  return lower->status == TACIT_OK;
}

size_t tacit_expr_begin(const tacit_expr_t *expr) {
  while (expr->kind == TACIT_EXPR_BINARY || expr->kind == TACIT_EXPR_INDEX ||
         expr->kind == TACIT_EXPR_TRANSPOSE || expr->kind == TACIT_EXPR_CONDITION ||
         (expr->kind == TACIT_EXPR_RANGE && expr->args[0] != NULL)) {
    expr = expr->args[0];
  }
  return expr->offset;
}

/* ---- values ---- */

tacit_value_t tacit_value_new(tacit_lower_t *lower, size_t offset, tacit_type_kind_t kind, unsigned n_array,
                              unsigned n_dims, const uint32_t *dims) {
  tacit_value_t value = {.kind = kind, .n_array = n_array, .n_dims = n_dims, .n = 1};
  for (unsigned i = 0; i < n_dims; i++) {
    value.dims[i] = dims[i];
    size_t extent = dims[i] == TACIT_AXIS ? 1 : dims[i];
    if (extent != 0 && value.n > TACIT_MAX_ELEMENTS / extent) {
      tacit_lower_fail(lower, offset, "more than %d elements", TACIT_MAX_ELEMENTS);
      return (tacit_value_t){0};
    }
    value.n *= extent;
  }
  value.nodes = tacit_arena_alloc(lower->arena, value.n, sizeof *value.nodes);
  return tacit_lower_step(lower, offset, 1 + value.n) && value.nodes != NULL ? value : (tacit_value_t){0};
}

tacit_value_t tacit_value_like(tacit_lower_t *lower, size_t offset, const tacit_value_t *shape,
                               bool is_integer) {
  tacit_type_kind_t kind = shape->kind == TACIT_TYPE_INT && !is_integer ? TACIT_TYPE_REAL : shape->kind;
  return tacit_value_new(lower, offset, kind, shape->n_array, shape->n_dims, shape->dims);
}

tacit_value_t tacit_value_scalar(tacit_lower_t *lower, tacit_type_kind_t kind, tacit_node_t node) {
  tacit_value_t value = {
      .kind = kind, .n = 1, .nodes = tacit_arena_alloc(lower->arena, 1, sizeof *value.nodes)};
  if (value.nodes == NULL || lower->status != TACIT_OK) {
    return (tacit_value_t){0};
  }
  value.nodes[0] = node;
  return value;
}

tacit_value_t tacit_value_number(tacit_lower_t *lower, double number, bool is_integer) {
  return tacit_value_scalar(lower, is_integer ? TACIT_TYPE_INT : TACIT_TYPE_REAL,
                            tacit_lower_constant(lower, number));
}

bool tacit_value_is_scalar(const tacit_value_t *value) {
  return value->kind != TACIT_TYPE_VOID && value->n_dims == 0;
}

bool tacit_value_is_integer(const tacit_value_t *value) { return value->kind == TACIT_TYPE_INT; }

tacit_value_t tacit_value_element(const tacit_value_t *value, size_t i) {
  tacit_value_t one = *value;
  one.nodes += value->n_dims != 0 ? i : 0;
  one.kind = value->kind == TACIT_TYPE_INT ? TACIT_TYPE_INT : TACIT_TYPE_REAL;
  one.n_dims = one.n_array = 0;
  one.n = 1;
  return one;
}

bool tacit_value_same_shape(const tacit_value_t *a, const tacit_value_t *b) {
  return a->n_dims == b->n_dims && memcmp(a->dims, b->dims, a->n_dims * sizeof a->dims[0]) == 0;
}

bool tacit_value_has_axis(const tacit_value_t *value) {
  for (unsigned i = 0; i < value->n_dims; i++) {
    if (value->dims[i] == TACIT_AXIS) {
      return true;
    }
  }
  return false;
}

const char *tacit_value_describe(tacit_lower_t *lower, const tacit_value_t *value) {
  static const char *const names[] = {"nothing", "int", "real", "vector", "row_vector", "matrix"};
  char text[160];
  size_t n = 0;
  for (unsigned i = 0; i < value->n_dims; i++) {
    char size[16];
    snprintf(size, sizeof size, value->dims[i] == TACIT_AXIS ? "N" : "%u", (unsigned)value->dims[i]);
    if (i == value->n_array) {
      n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i > 0 ? "] " : "", names[value->kind]);
    }
    n += (size_t)snprintf(text + n, sizeof text - n, "%s%s",
                          i == value->n_array ? "["
                          : i == 0            ? "array["
                                              : ",",
                          size);
  }
  if (value->n_dims == value->n_array) {
    snprintf(text + n, sizeof text - n, "%s%s", n > 0 ? "] " : "", names[value->kind]);
  } else {
    snprintf(text + n, sizeof text - n, "]");
  }
  const char *copy = tacit_arena_text(lower->arena, text, strlen(text));
  return copy != NULL ? copy : "";
}

bool tacit_value_constant(const tacit_lower_t *lower, const tacit_value_t *value, double *number) {
  return tacit_value_is_scalar(value) && value->nodes[0] < TACIT_MARK &&
         tacit_graph_is_constant(lower->graph, value->nodes[0], number);
}

/* ---- marks ---- */

const tacit_mark_t *tacit_mark_of(const tacit_lower_t *lower, tacit_node_t node) {
  return node >= TACIT_MARK ? &lower->marks[node - TACIT_MARK] : NULL;
}

tacit_node_t tacit_mark_new(tacit_lower_t *lower, tacit_mark_t mark) {
  tacit_mark_t *marks =
      tacit_arena_grow(lower->arena, lower->marks, lower->n_marks, &lower->marks_capacity, sizeof *marks);
  if (marks == NULL) {
    return TACIT_NODE_NONE;
  }
  lower->marks = marks;
  lower->marks[lower->n_marks] = mark;
  return TACIT_MARK + (tacit_node_t)lower->n_marks++;
}

tacit_node_t tacit_mark_refuse(tacit_lower_t *lower, size_t offset, const char *format, ...) {
  char reason[384];
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  return tacit_mark_new(lower,
                        (tacit_mark_t){.kind = TACIT_MARK_REFUSED,
                                       .offset = lower->n_library > 0 ? lower->library_offset : offset,
                                       .text = tacit_arena_text(lower->arena, reason, strlen(reason))});
}

tacit_node_t tacit_mark_use(tacit_lower_t *lower, size_t offset, tacit_node_t node) {
  tacit_mark_t mark = *tacit_mark_of(lower, node);
  switch (mark.kind) {
  case TACIT_MARK_UNSET: {
    tacit_node_t used = tacit_mark_refuse(lower, offset, "'%s' is used before it has a value", mark.text);
    if (used >= TACIT_MARK) {
      lower->marks[used - TACIT_MARK].is_unset = true;
    }
    return used;
  }
  case TACIT_MARK_AXIS:
    return tacit_mark_refuse(
        lower, offset, "'%s' counts records; their number and order say nothing about one record", mark.text);
  case TACIT_MARK_RECORD: {
    tacit_node_t used = tacit_mark_refuse(
        lower, offset, "'%s' is a record's number; their order says nothing about one record", mark.text);
    if (used >= TACIT_MARK) {
      lower->marks[used - TACIT_MARK].is_other = true;
    }
    return used;
  }
  case TACIT_MARK_SUM:
    return tacit_mark_refuse(lower, offset, "a sum over records can only be added to the target");
  case TACIT_MARK_REFUSED:
    break;
  }
  return node;
}

bool tacit_lower_force(tacit_lower_t *lower, size_t offset, tacit_node_t node) {
  if (node >= TACIT_MARK) {
    lower->was_size |= lower->status == TACIT_OK && (tacit_mark_of(lower, node)->kind == TACIT_MARK_UNSET ||
                                                     tacit_mark_of(lower, node)->is_unset);
    node = tacit_mark_use(lower, offset, node);
    if (node >= TACIT_MARK && lower->status == TACIT_OK) {
      const tacit_mark_t *mark = tacit_mark_of(lower, node);
      lower->was_mark = true;
      lower->status = tacit_source_error(lower->source, lower->err, TACIT_ERR_SYNTAX, mark->offset, "%s",
                                         mark->text != NULL ? mark->text : "");
    }
    return false;
  }
  return lower->status == TACIT_OK;
}

tacit_node_t tacit_lower_first_mark(tacit_lower_t *lower, size_t offset, size_t n,
                                    const tacit_node_t *nodes) {
  for (size_t i = 0; i < n; i++) {
    if (nodes[i] >= TACIT_MARK) {
      return tacit_mark_use(lower, offset, nodes[i]);
    }
  }
  return TACIT_NODE_NONE;
}

/* ---- nodes ---- */

tacit_node_t tacit_lower_constant(tacit_lower_t *lower, double number) {
  return tacit_graph_constant(lower->graph, number);
}

tacit_rate_t tacit_lower_rate(const tacit_lower_t *lower, tacit_node_t node) {
  return node >= TACIT_MARK ? TACIT_RATE_MIXED : tacit_graph_rate(lower->graph, node);
}

/* A sum over records stays one under what is linear in it. */
static tacit_node_t apply_to_sums(tacit_lower_t *lower, size_t offset, tacit_op_t op, tacit_node_t a,
                                  tacit_node_t b) {
  const tacit_mark_t *left = tacit_mark_of(lower, a), *right = tacit_mark_of(lower, b);
  bool is_left = left != NULL && left->kind == TACIT_MARK_SUM,
       is_right = right != NULL && right->kind == TACIT_MARK_SUM;
  tacit_node_t zero = tacit_lower_constant(lower, 0), other = is_left ? b : a;
  bool is_free = (is_left || left == NULL) && (is_right || right == NULL);
  bool is_scaled = (op == TACIT_OP_MUL && is_left != is_right) ||
                   (op == TACIT_OP_DIV && is_left && !is_right) || op == TACIT_OP_NEG;
  if (!is_free || !(is_scaled || op == TACIT_OP_ADD || op == TACIT_OP_SUB) ||
      (is_scaled && op != TACIT_OP_NEG && (tacit_lower_rate(lower, other) & TACIT_RATE_DATA) != 0)) {
    return tacit_mark_use(lower, offset, is_left ? a : b);
  }
  tacit_mark_t sum = {.kind = TACIT_MARK_SUM};
  tacit_node_t records[2] = {is_left     ? left->record
                             : is_scaled ? a
                                         : zero,
                             is_right    ? right->record
                             : is_scaled ? b
                                         : zero};
  tacit_node_t onces[2] = {is_left ? left->once : a, is_right ? right->once : b};
  sum.record = tacit_lower_apply(lower, offset, op, records[0], records[1], TACIT_NODE_NONE);
  sum.once = tacit_lower_apply(lower, offset, op, onces[0], onces[1], TACIT_NODE_NONE);
  return tacit_mark_new(lower, sum);
}

tacit_node_t tacit_lower_apply(tacit_lower_t *lower, size_t offset, tacit_op_t op, tacit_node_t a,
                               tacit_node_t b, tacit_node_t c) {
  tacit_node_t operands[] = {a, b, c};
  for (int i = 0; i < 3; i++) {
    const tacit_mark_t *mark = tacit_mark_of(lower, operands[i]);
    if (mark != NULL && mark->kind == TACIT_MARK_SUM) {
      return apply_to_sums(lower, offset, op, a, b);
    }
  }
  tacit_node_t mark = tacit_lower_first_mark(lower, offset, 3, operands);
  return mark != TACIT_NODE_NONE ? mark : tacit_graph_apply(lower->graph, op, a, b, c);
}

int tacit_lower_truth(tacit_lower_t *lower, size_t offset, const tacit_value_t *value) {
  if (value->kind == TACIT_TYPE_VOID) {
    return -2;
  }
  if (!tacit_value_is_scalar(value)) {
    tacit_lower_fail(lower, offset, "a condition is one number, not %s", tacit_value_describe(lower, value));
    return -2;
  }
  double number;
  if (!tacit_lower_force(lower, offset, value->nodes[0])) {
    return -2;
  }
  if (tacit_value_constant(lower, value, &number)) {
    return number != 0;
  }
  if ((tacit_lower_rate(lower, value->nodes[0]) & TACIT_RATE_PARAMETER) != 0 && !lower->is_generated &&
      lower->n_library == 0) {
    tacit_lower_fail(lower, offset,
                     "a condition may depend on data, not on parameters (the density would jump)");
    return -2;
  }
  return -1;
}
