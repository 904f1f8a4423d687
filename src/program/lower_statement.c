#include <string.h>

#include "program/lower.h"

void tacit_lower_write(tacit_lower_t *lower, tacit_node_t *place, tacit_node_t node) {
  if (lower->n_undoing > 0) {
    tacit_undo_t *undo = tacit_arena_grow(lower->arena, lower->undo, lower->n_undo, &lower->undo_capacity, sizeof *undo);
    if (undo == NULL) {
      return;
    }
    lower->undo = undo;
    lower->undo[lower->n_undo++] = (tacit_undo_t){.place = place, .old = *place};
  }
  *place = node;
}

/* ---- the target ---- */

static void add_node(tacit_lower_t *lower, tacit_node_t node, bool is_record) {
  if (lower->branch != NULL) {
    *lower->branch = tacit_graph_apply(lower->graph, TACIT_OP_ADD, *lower->branch, node, TACIT_NODE_NONE);
  } else if (is_record) {
    tacit_graph_add_record_term(lower->graph, node);
  } else {
    tacit_graph_add_prior_term(lower->graph, node);
  }
}

void tacit_lower_add_target(tacit_lower_t *lower, size_t offset, const tacit_value_t *value) {
  tacit_value_t sum = value->kind == TACIT_TYPE_VOID ? *value : tacit_lower_sum(lower, offset, value);
  if (sum.kind == TACIT_TYPE_VOID) {
    return;
  }
  const tacit_mark_t *mark = tacit_mark_of(lower, sum.nodes[0]);
  if (mark != NULL && mark->kind == TACIT_MARK_SUM) {
    tacit_node_t record = mark->record, once = mark->once;
    if (lower->n_record > 0) {
      tacit_lower_fail(lower, offset, "this goes over all records for each record");
    } else if (tacit_lower_force(lower, offset, record) && tacit_lower_force(lower, offset, once)) {
      add_node(lower, record, true);
      add_node(lower, once, (tacit_lower_rate(lower, once) & TACIT_RATE_DATA) != 0);
    }
  } else if (tacit_lower_force(lower, offset, sum.nodes[0])) {
    add_node(lower, sum.nodes[0], lower->n_record > 0 || (tacit_lower_rate(lower, sum.nodes[0]) & TACIT_RATE_DATA) != 0);
  }
}

/* ---- branches ---- */

typedef struct {
  tacit_undo_t *writes; /* place and what the branch made of it */
  size_t n;
  tacit_node_t target;
  tacit_flow_t flow;
  tacit_value_t returned;
} branch_t;

static bool has_return(const tacit_stmt_t *stmt) {
  if (stmt == NULL || stmt->kind == TACIT_STMT_RETURN) {
    return stmt != NULL;
  }
  for (size_t i = 0; i < stmt->n_body; i++) {
    if (has_return(stmt->body[i])) {
      return true;
    }
  }
  return false;
}

/* Carry out one branch, and then what follows if a return needs it; undo what it wrote, but for what `kept` of the other branch sees. */
static branch_t run_branch(tacit_lower_t *lower, tacit_stmt_t *body, tacit_stmt_t *const *rest, size_t n_rest, const branch_t *other,
                           tacit_node_t *seen) {
  branch_t branch = {.target = tacit_lower_constant(lower, 0), .flow = TACIT_FLOW_NEXT};
  size_t begin = lower->n_undo;
  tacit_node_t *outer = lower->branch;
  tacit_value_t *returned = lower->returned;
  lower->branch = &branch.target;
  lower->returned = &branch.returned;
  lower->n_undoing++;
  lower->n_record += !lower->is_generated;
  if (body != NULL) {
    branch.flow = tacit_lower_body(lower, &body, 1);
  }
  if (branch.flow == TACIT_FLOW_NEXT && n_rest > 0) {
    branch.flow = tacit_lower_body(lower, rest, n_rest);
  }
  lower->n_record -= !lower->is_generated;
  lower->n_undoing--;
  lower->branch = outer;
  lower->returned = returned;
  branch.n = lower->n_undo - begin;
  branch.writes = tacit_arena_alloc(lower->arena, branch.n, sizeof *branch.writes);
  for (size_t i = 0; other != NULL && i < other->n; i++) {
    seen[i] = *other->writes[i].place;
  }
  for (size_t i = 0; branch.writes != NULL && i < branch.n; i++) {
    branch.writes[i] = (tacit_undo_t){.place = lower->undo[begin + i].place, .old = *lower->undo[begin + i].place};
  }
  while (lower->n_undo > begin) {
    lower->n_undo--;
    *lower->undo[lower->n_undo].place = lower->undo[lower->n_undo].old;
  }
  return branch;
}

static void merge(tacit_lower_t *lower, size_t offset, tacit_node_t condition, tacit_undo_t write, tacit_node_t yes, tacit_node_t no) {
  tacit_lower_write(lower, write.place,
                    yes == no ? yes : tacit_lower_apply(lower, offset, TACIT_OP_SELECT, condition, yes, no));
}

/* A condition of the record: both branches, then a choice. `is_last` is set where what follows has been carried out, too. */
static tacit_flow_t choose(tacit_lower_t *lower, const tacit_stmt_t *stmt, tacit_node_t condition, tacit_stmt_t *const *rest,
                           size_t n_rest, bool *is_last) {
  *is_last = has_return(stmt);
  size_t n_more = *is_last ? n_rest : 0, offset = tacit_expr_begin(stmt->left);
  branch_t yes = run_branch(lower, stmt->body[0], rest, n_more, NULL, NULL);
  tacit_node_t *seen = tacit_arena_alloc(lower->arena, yes.n, sizeof *seen);
  if (seen == NULL || yes.writes == NULL || lower->status != TACIT_OK) {
    return TACIT_FLOW_FAILED;
  }
  branch_t no = run_branch(lower, stmt->n_body > 1 ? stmt->body[1] : NULL, rest, n_more, &yes, seen);
  if (no.writes == NULL || lower->status != TACIT_OK) {
    return TACIT_FLOW_FAILED;
  }
  for (size_t i = 0; i < no.n; i++) { /* what both write is put right below */
    merge(lower, offset, condition, no.writes[i], *no.writes[i].place, no.writes[i].old);
  }
  for (size_t i = 0; i < yes.n; i++) {
    merge(lower, offset, condition, yes.writes[i], yes.writes[i].old, seen[i]);
  }
  if (yes.target != no.target || yes.target != tacit_lower_constant(lower, 0)) {
    add_node(lower, tacit_graph_apply(lower->graph, TACIT_OP_SELECT, condition, yes.target, no.target), true);
  }
  if (!*is_last) {
    return TACIT_FLOW_NEXT;
  }
  if (yes.flow != TACIT_FLOW_RETURN || no.flow != TACIT_FLOW_RETURN) {
    tacit_lower_fail(lower, stmt->offset, "a function that returns in one branch has to return in all");
    return TACIT_FLOW_FAILED;
  }
  *lower->returned = tacit_lower_select(lower, offset, condition, &yes.returned, &no.returned);
  return lower->returned->kind != TACIT_TYPE_VOID ? TACIT_FLOW_RETURN : TACIT_FLOW_FAILED;
}

static tacit_flow_t branch(tacit_lower_t *lower, const tacit_stmt_t *stmt, tacit_stmt_t *const *rest, size_t n_rest, bool *is_last) {
  tacit_value_t condition = tacit_lower_expr(lower, stmt->left);
  int truth = tacit_lower_truth(lower, tacit_expr_begin(stmt->left), &condition);
  if (truth == -2) {
    return TACIT_FLOW_FAILED;
  }
  if (truth == -1) {
    return choose(lower, stmt, condition.nodes[0], rest, n_rest, is_last);
  }
  size_t taken = truth ? 0 : 1;
  return taken < stmt->n_body ? tacit_lower_body(lower, &stmt->body[taken], 1) : TACIT_FLOW_NEXT;
}

/* ---- statements ---- */

static tacit_flow_t assign(tacit_lower_t *lower, const tacit_stmt_t *stmt) {
  tacit_value_t value = tacit_lower_expr(lower, stmt->right);
  if (stmt->op != TACIT_TOK_ASSIGN) {
    tacit_value_t old = tacit_lower_expr(lower, stmt->left);
    value = tacit_lower_binary(lower, stmt->offset, stmt->op, &old, &value);
  }
  tacit_lower_assign(lower, stmt->left, tacit_expr_begin(stmt->right), &value);
  return lower->status == TACIT_OK ? TACIT_FLOW_NEXT : TACIT_FLOW_FAILED;
}

static tacit_flow_t target(tacit_lower_t *lower, const tacit_stmt_t *stmt) {
  if (lower->block != TACIT_BLOCK_MODEL) {
    tacit_lower_fail(lower, stmt->offset, "only the block 'model' adds to the target");
  } else if (stmt->kind == TACIT_STMT_TILDE) {
    tacit_lower_tilde(lower, stmt);
  } else {
    memset(&lower->said, 0, sizeof lower->said);
    tacit_value_t value = tacit_lower_expr(lower, stmt->right);
    if (lower->is_forecast) {
      tacit_lower_note_target(lower, &value);
    }
    tacit_lower_add_target(lower, tacit_expr_begin(stmt->right), &value);
  }
  return lower->status == TACIT_OK ? TACIT_FLOW_NEXT : TACIT_FLOW_FAILED;
}

static tacit_flow_t give_back(tacit_lower_t *lower, const tacit_stmt_t *stmt) {
  if (lower->n_calls == 0) {
    tacit_lower_fail(lower, stmt->offset, "'return' stands only in a function");
    return TACIT_FLOW_FAILED;
  }
  if (stmt->right != NULL) {
    *lower->returned = tacit_lower_expr(lower, stmt->right);
  }
  return lower->status == TACIT_OK ? TACIT_FLOW_RETURN : TACIT_FLOW_FAILED;
}

static tacit_flow_t statement(tacit_lower_t *lower, const tacit_stmt_t *stmt, tacit_stmt_t *const *rest, size_t n_rest, bool *is_last) {
  if (!tacit_lower_step(lower, stmt->offset, 1)) {
    return TACIT_FLOW_FAILED;
  }
  switch (stmt->kind) {
    case TACIT_STMT_DECLARE:
      tacit_lower_local(lower, stmt);
      return lower->status == TACIT_OK ? TACIT_FLOW_NEXT : TACIT_FLOW_FAILED;
    case TACIT_STMT_ASSIGN: return assign(lower, stmt);
    case TACIT_STMT_TILDE:
    case TACIT_STMT_TARGET: return target(lower, stmt);
    case TACIT_STMT_FOR: return tacit_lower_loop(lower, stmt);
    case TACIT_STMT_IF: return branch(lower, stmt, rest, n_rest, is_last);
    case TACIT_STMT_RETURN: return give_back(lower, stmt);
    case TACIT_STMT_SKIP: return TACIT_FLOW_NEXT;
    case TACIT_STMT_BLOCK: break;
  }
  if (stmt->name == NULL) {
    return tacit_lower_body(lower, stmt->body, stmt->n_body);
  }
  tacit_flow_t flow = TACIT_FLOW_NEXT;
  for (size_t i = 0; i < stmt->n_body && flow == TACIT_FLOW_NEXT; i++) { /* declarations of one type */
    flow = statement(lower, stmt->body[i], NULL, 0, is_last);
  }
  return flow;
}

tacit_flow_t tacit_lower_statement(tacit_lower_t *lower, const tacit_stmt_t *stmt) {
  bool is_last = false;
  return statement(lower, stmt, NULL, 0, &is_last);
}

tacit_flow_t tacit_lower_body(tacit_lower_t *lower, tacit_stmt_t *const *body, size_t n) {
  size_t n_variables = lower->n_variables;
  tacit_flow_t flow = TACIT_FLOW_NEXT;
  bool is_last = false;
  lower->scope++;
  for (size_t i = 0; i < n && flow == TACIT_FLOW_NEXT && !is_last; i++) {
    flow = statement(lower, body[i], body + i + 1, n - i - 1, &is_last);
  }
  lower->scope--;
  lower->n_variables = n_variables;
  return flow;
}
