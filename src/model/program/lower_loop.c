#include <string.h>

#include "program/lower.h"

/* Variables from outside of a body that it gives values to: what they hold must not pass from record to
 * record. */
static void refuse_assigned(tacit_lower_t *lower, const tacit_stmt_t *stmt, size_t n_outer, size_t offset) {
  for (size_t i = 0; i < stmt->n_body; i++) {
    if (stmt->body[i] != NULL) {
      refuse_assigned(lower, stmt->body[i], n_outer, offset);
    }
  }
  if (stmt->kind != TACIT_STMT_ASSIGN) {
    return;
  }
  const tacit_expr_t *left = stmt->left;
  while (left->kind == TACIT_EXPR_INDEX) {
    left = left->args[0];
  }
  const tacit_variable_t *variable =
      left->kind == TACIT_EXPR_NAME ? tacit_lower_find(lower, left->name) : NULL;
  if (variable == NULL || (size_t)(variable - lower->variables) >= n_outer ||
      tacit_value_has_axis(&variable->value)) {
    return;
  }
  tacit_node_t mark = tacit_mark_refuse(
      lower, left->offset, "'%s' would go over records; a record's term may look at that record alone",
      variable->name);
  for (size_t i = 0; i < variable->value.n; i++) {
    tacit_lower_write(lower, &variable->value.nodes[i], mark);
  }
}

/* for (n in 1:N): what is done to each record, once. */
static tacit_flow_t record_loop(tacit_lower_t *lower, const tacit_stmt_t *stmt, const tacit_value_t *item,
                                bool is_whole) {
  if (lower->record_loop != NULL) {
    tacit_lower_fail(lower, stmt->offset,
                     "a loop over records within another would look at pairs of records");
    return TACIT_FLOW_FAILED;
  }
  size_t n_variables = lower->n_variables;
  refuse_assigned(lower, stmt, n_variables, stmt->offset);
  bool is_skipped = !is_whole && lower->block != TACIT_BLOCK_MODEL;
  tacit_flow_t flow = TACIT_FLOW_NEXT;
  tacit_variable_t *variable = is_skipped ? NULL : tacit_lower_declare(lower, stmt->name, stmt->offset, item);
  if (variable != NULL) {
    variable->is_loop = variable->is_local = true;
    lower->record_loop = stmt->name;
    lower->n_record++;
    flow = tacit_lower_body(lower, stmt->body, 1);
    lower->n_record--;
    lower->record_loop = NULL;
    lower->n_variables = n_variables;
    refuse_assigned(lower, stmt, n_variables, stmt->offset);
  }
  if (!is_whole && lower->block == TACIT_BLOCK_MODEL) {
    tacit_lower_fail(lower, stmt->offset, "a loop over records has to go over all of them, from 1 to '%s'",
                     lower->axis);
  }
  return lower->status == TACIT_OK ? flow : TACIT_FLOW_FAILED;
}

/* One step of a loop that is unrolled. */
static tacit_flow_t step(tacit_lower_t *lower, const tacit_stmt_t *stmt, const tacit_value_t *item) {
  size_t n_variables = lower->n_variables;
  tacit_variable_t *variable = tacit_lower_declare(lower, stmt->name, stmt->offset, item);
  if (variable == NULL) {
    return TACIT_FLOW_FAILED;
  }
  variable->is_loop = variable->is_local = true;
  tacit_flow_t flow = tacit_lower_body(lower, stmt->body, 1);
  lower->n_variables = n_variables;
  return flow;
}

static bool few_steps(tacit_lower_t *lower, const tacit_stmt_t *stmt, double n) {
  if (n > TACIT_MAX_LOOP) {
    tacit_lower_fail(lower, stmt->offset,
                     "the loop%s%s%s has %.0f steps; loops are unrolled, and have at most %d",
                     stmt->name != NULL ? " of '" : "", stmt->name != NULL ? stmt->name : "",
                     stmt->name != NULL ? "'" : "", n, TACIT_MAX_LOOP);
  }
  return n <= TACIT_MAX_LOOP;
}

tacit_flow_t tacit_lower_steps(tacit_lower_t *lower, const tacit_rest_t *rest) {
  const tacit_rest_t *outer = lower->rest;
  tacit_flow_t flow = TACIT_FLOW_NEXT;
  for (double i = rest->next; i <= rest->last && flow == TACIT_FLOW_NEXT; i++) {
    tacit_value_t item;
    if (rest->all == NULL) {
      item = tacit_value_number(lower, i, true);
    } else {
      item = *rest->all;
      item.nodes += (size_t)i * item.n;
    }
    tacit_rest_t left = {.outer = outer,
                         .loop = rest->loop,
                         .all = rest->all,
                         .next = i + 1,
                         .last = rest->last,
                         .n_variables = lower->n_variables};
    lower->rest = &left;
    flow = item.kind != TACIT_TYPE_VOID ? step(lower, rest->loop, &item) : TACIT_FLOW_FAILED;
  }
  lower->rest = outer;
  return flow;
}

/* for (x in xs): x is each part of the first dimension. */
static tacit_flow_t each(tacit_lower_t *lower, const tacit_stmt_t *stmt) {
  tacit_value_t all = tacit_lower_expr(lower, stmt->left), item = all;
  if (all.kind == TACIT_TYPE_VOID) {
    return TACIT_FLOW_FAILED;
  }
  if (all.n_dims == 0 || (all.n_array == 0 && all.kind == TACIT_TYPE_MATRIX)) {
    tacit_lower_fail(lower, tacit_expr_begin(stmt->left),
                     "a loop goes over a range a:b, a vector or an array");
    return TACIT_FLOW_FAILED;
  }
  memmove(item.dims, item.dims + 1, sizeof item.dims - sizeof item.dims[0]);
  item.n_dims--;
  item.n_array -= item.n_array > 0;
  item.kind = all.n_array == 0 ? TACIT_TYPE_REAL : item.kind;
  if (all.dims[0] == TACIT_AXIS) {
    return record_loop(lower, stmt, &item, true);
  }
  if (!few_steps(lower, stmt, all.dims[0])) {
    return TACIT_FLOW_FAILED;
  }
  item.n = all.dims[0] > 0 ? all.n / all.dims[0] : 0;
  return tacit_lower_steps(lower,
                           &(tacit_rest_t){.loop = stmt, .all = &item, .last = (double)all.dims[0] - 1});
}

/* Ends of a loop that are no numbers: the record axis, or what is refused. */
static tacit_flow_t marked_range(tacit_lower_t *lower, const tacit_stmt_t *stmt, const tacit_value_t *from,
                                 const tacit_value_t *to) {
  const tacit_mark_t *end = tacit_mark_of(lower, to->nodes[0]);
  double first;
  if (end != NULL && end->kind == TACIT_MARK_AXIS) {
    tacit_value_t item = tacit_value_scalar(
        lower, TACIT_TYPE_INT,
        tacit_mark_new(lower, (tacit_mark_t){.kind = TACIT_MARK_RECORD, .text = stmt->name}));
    return record_loop(lower, stmt, &item, tacit_value_constant(lower, from, &first) && first == 1);
  }
  if (lower->block != TACIT_BLOCK_MODEL) { /* what it gives values to is not to be used */
    refuse_assigned(lower, stmt, lower->n_variables, stmt->offset);
    return TACIT_FLOW_NEXT;
  }
  const tacit_expr_t *marked = end != NULL ? stmt->right : stmt->left;
  tacit_lower_force(lower, tacit_expr_begin(marked), end != NULL ? to->nodes[0] : from->nodes[0]);
  return TACIT_FLOW_FAILED;
}

tacit_flow_t tacit_lower_loop(tacit_lower_t *lower, const tacit_stmt_t *stmt) {
  if (stmt->right == NULL) {
    return each(lower, stmt);
  }
  tacit_value_t from = tacit_lower_expr(lower, stmt->left), to = tacit_lower_expr(lower, stmt->right);
  if (tacit_value_is_scalar(&from) && tacit_value_is_scalar(&to) &&
      (from.nodes[0] >= TACIT_MARK || to.nodes[0] >= TACIT_MARK)) {
    return marked_range(lower, stmt, &from, &to);
  }
  double first, last;
  if (from.kind == TACIT_TYPE_VOID || to.kind == TACIT_TYPE_VOID) {
    return TACIT_FLOW_FAILED;
  }
  if (from.kind != TACIT_TYPE_INT || to.kind != TACIT_TYPE_INT ||
      !tacit_value_constant(lower, &from, &first) || !tacit_value_constant(lower, &to, &last)) {
    tacit_lower_fail(
        lower, stmt->offset,
        "the ends of the loop of '%s' have to be whole numbers that are known before the records are",
        stmt->name);
    return TACIT_FLOW_FAILED;
  }
  if (!few_steps(lower, stmt, last - first + 1)) {
    return TACIT_FLOW_FAILED;
  }
  return tacit_lower_steps(lower, &(tacit_rest_t){.loop = stmt, .next = first, .last = last});
}

/* while (..) of what is known: as often as it holds. */
tacit_flow_t tacit_lower_while(tacit_lower_t *lower, const tacit_stmt_t *stmt) {
  const tacit_rest_t *outer = lower->rest,
                     again = {.outer = outer,
                              .body = &(tacit_stmt_t *){(tacit_stmt_t *)(uintptr_t)stmt},
                              .n = 1,
                              .n_variables = lower->n_variables};
  tacit_flow_t flow = TACIT_FLOW_NEXT;
  for (size_t i = 0; flow == TACIT_FLOW_NEXT; i++) {
    tacit_value_t condition = tacit_lower_expr(lower, stmt->left);
    int truth = tacit_lower_truth(lower, tacit_expr_begin(stmt->left), &condition);
    if (truth == -1) {
      tacit_lower_fail(lower, tacit_expr_begin(stmt->left),
                       "the condition of 'while' has to be known before the records are");
    }
    if (truth != 1 || !few_steps(lower, stmt, (double)i + 1)) {
      flow = lower->status == TACIT_OK ? flow : TACIT_FLOW_FAILED;
      break;
    }
    lower->rest = &again;
    flow = tacit_lower_body(lower, stmt->body, 1);
  }
  lower->rest = outer;
  return flow;
}
