#include <math.h>
#include <string.h>

#include "program/lower.h"

void tacit_lower_write(tacit_lower_t *lower, tacit_node_t *place, tacit_node_t node) {
  if (lower->n_undoing > 0) {
    tacit_undo_t *undo =
        tacit_arena_grow(lower->arena, lower->undo, lower->n_undo, &lower->undo_capacity, sizeof *undo);
    if (undo == NULL) {
      return;
    }
    lower->undo = undo;
    lower->undo[lower->n_undo++] = (tacit_undo_t){.place = place, .old = *place};
  }
  *place = node;
}

/* ---- the target ---- */

/* "y = 0 and n = 3" */
static const char *case_text(tacit_lower_t *lower, const tacit_not_finite_t *found) {
  const char *text = "";
  for (size_t i = 0; i < found->n_columns && text != NULL; i++) {
    const tacit_graph_column_t *column = &lower->graph->columns[found->columns[i]];
    bool is_level = !isnan(column->level);
    text = tacit_arena_printf(lower->arena, "%s%s%.64s%s = %.6g", text, i > 0 ? " and " : "", column->source,
                              is_level ? " is a level" : "", found->values[i]);
  }
  return text != NULL ? text : "";
}

/* A record that is not finite would count as nothing: the bounds have to exclude it. */
static void check_finite(tacit_lower_t *lower, size_t offset, tacit_node_t term) {
  tacit_not_finite_t found;
  bool is_checked = !lower->outside->is_assumed && !lower->is_forecast && !lower->has_statistics &&
                    lower->status == TACIT_OK;
  if (!is_checked || !tacit_graph_find_not_finite(lower->graph, term, &found)) {
    return;
  }
  const char *text = case_text(lower, &found);
  if (found.n_parameters > 0 && found.n_columns > 0) {
    tacit_lower_fail(lower, offset,
                     "a record where %s has density 0, or none, for some values of '%.64s', and would count "
                     "as nothing: bounds of '%.64s' have "
                     "to keep every record possible that the schema allows",
                     text, found.parameters[0], found.parameters[0]);
  } else if (found.n_parameters > 0) {
    tacit_lower_fail(lower, offset,
                     "for some values of '%.64s' no record has a density: declare it with bounds that "
                     "exclude them, such as real<lower=0>",
                     found.parameters[0]);
  } else if (found.has_bound) {
    tacit_lower_fail(lower, offset,
                     "a record where %s has a density of 0, infinity or none, and would count as nothing: %s "
                     "bound of '%.40s' has to be %s "
                     "%.6g, in the schema or the program",
                     text, found.is_lower ? "the lower" : "the upper",
                     lower->graph->columns[found.columns[0]].source,
                     found.is_closed  ? (found.is_lower ? "at least" : "at most")
                     : found.is_lower ? "above"
                                      : "below",
                     found.bound);
  } else {
    tacit_lower_fail(lower, offset,
                     "a record where %s has a density of 0, infinity or none, and would count as nothing: "
                     "bounds have to exclude it, in the "
                     "schema or the program, or an `if` that says what holds there",
                     text);
  }
}

static void add_node(tacit_lower_t *lower, size_t offset, tacit_node_t node, bool is_record) {
  if (lower->branch == NULL && is_record) {
    check_finite(lower, offset, node);
  }
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
      add_node(lower, offset, record, true);
      add_node(lower, offset, once, (tacit_lower_rate(lower, once) & TACIT_RATE_DATA) != 0);
    }
  } else if (tacit_lower_force(lower, offset, sum.nodes[0])) {
    add_node(lower, offset, sum.nodes[0],
             lower->n_record > 0 || (tacit_lower_rate(lower, sum.nodes[0]) & TACIT_RATE_DATA) != 0);
  }
}

/* ---- branches ---- */

typedef struct {
  tacit_undo_t *writes; /* place and what the branch made of it */
  size_t n;
  tacit_node_t target;
  tacit_said_t said;
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

enum { DEPTH = 6 }; /* of conditions that are looked through */

/* A condition where a column of whole numbers has a value; NaN: it looks at something else, too. */
static double at_value(const tacit_graph_t *g, tacit_node_t node, uint32_t column, double value,
                       unsigned depth) {
  const tacit_graph_node_t *n = tacit_graph_at(g, node);
  unsigned arity = tacit_op_arity((tacit_op_t)n->op);
  const uint32_t operand[3] = {n->a, n->b, n->c};
  double x[3] = {0, 0, 0};
  if (n->op == TACIT_OP_CONSTANT || n->op == TACIT_OP_COLUMN) {
    return n->op == TACIT_OP_CONSTANT ? n->value : n->a == column ? value : (double)NAN;
  }
  for (unsigned i = 0; i < arity && depth > 0; i++) {
    x[i] = at_value(g, operand[i], column, value, depth - 1);
  }
  return arity == 0 || depth == 0 || isnan(x[0]) || isnan(x[1]) || isnan(x[2])
             ? (double)NAN
             : tacit_op_value((tacit_op_t)n->op, x[0], x[1], x[2]);
}

/* The column of few whole numbers that a condition is of; false: there is none. */
static bool find_column(const tacit_graph_t *g, tacit_node_t node, unsigned depth, uint32_t *column) {
  const tacit_graph_node_t *n = tacit_graph_at(g, node);
  const uint32_t operand[3] = {n->a, n->b, n->c};
  bool is_found = n->op == TACIT_OP_COLUMN && g->columns[n->a].is_integer &&
                  g->columns[n->a].upper - g->columns[n->a].lower < 64;
  *column = is_found ? n->a : *column;
  for (unsigned i = 0; i < tacit_op_arity((tacit_op_t)n->op) && depth > 0 && !is_found; i++) {
    is_found = find_column(g, operand[i], depth - 1, column);
  }
  return is_found;
}

/* May the column have the value, as far as the conditions around say? */
static bool is_possible(const tacit_lower_t *lower, uint32_t column, double value) {
  for (size_t i = 0; i < lower->n_given; i++) {
    double x = at_value(lower->graph, lower->given[i].condition, column, value, DEPTH);
    if (!isnan(x) && (x < 0 || x > 0) != lower->given[i].holds) {
      return false;
    }
  }
  return true;
}

bool tacit_lower_narrow(const tacit_lower_t *lower, tacit_node_t node, double *from, double *to) {
  const tacit_graph_node_t *n = tacit_graph_at(lower->graph, node);
  if (lower->n_given == 0 || n->op != TACIT_OP_COLUMN || !(*to - *from < 4096)) {
    return *from <= *to;
  }
  while (*from <= *to && !is_possible(lower, n->a, *from)) {
    ++*from;
  }
  while (*from <= *to && !is_possible(lower, n->a, *to)) {
    --*to;
  }
  return *from <= *to;
}

/* A condition that the conditions around it decide, as c == 1 does not need to be asked where c is 0 or 1 and
 * not 0: 1, 0, or -1. */
static int implied(const tacit_lower_t *lower, tacit_node_t condition) {
  const tacit_graph_t *g = lower->graph;
  uint32_t column = 0;
  int truth = -2; /* no value is left so far */
  if (lower->n_given == 0 || !find_column(g, condition, DEPTH, &column)) {
    return -1;
  }
  for (double value = g->columns[column].lower; value <= g->columns[column].upper; value++) {
    double x = at_value(g, condition, column, value, DEPTH);
    if (is_possible(lower, column, value)) {
      int here = x < 0 || x > 0;
      truth = isnan(x) || (truth >= 0 && truth != here) ? -1 : here;
    }
    if (truth == -1) {
      return -1;
    }
  }
  return truth == 1 ? 1 : 0;
}

/* What the function has left to do. */
static tacit_flow_t run_rest(tacit_lower_t *lower) {
  const tacit_rest_t *all = lower->rest;
  size_t n_variables = lower->n_variables;
  tacit_variable_t *saved =
      tacit_arena_alloc(lower->arena, n_variables, sizeof *saved); /* the other branch goes on from here */
  tacit_flow_t flow = saved != NULL ? TACIT_FLOW_NEXT : TACIT_FLOW_FAILED;
  if (saved != NULL) {
    memcpy(saved, lower->variables, n_variables * sizeof *saved);
  }
  for (const tacit_rest_t *rest = all; rest != NULL && flow == TACIT_FLOW_NEXT; rest = rest->outer) {
    lower->rest = rest->outer;
    lower->n_variables = rest->n_variables;
    flow = rest->loop != NULL ? tacit_lower_steps(lower, rest) : tacit_lower_body(lower, rest->body, rest->n);
  }
  lower->rest = all;
  lower->n_variables = n_variables;
  if (saved != NULL) {
    memcpy(lower->variables, saved, n_variables * sizeof *saved);
  }
  return flow;
}

/* Carry out one branch, and then all that follows if a return needs it; undo what it wrote, but for what
 * `other` sees of it. */
static branch_t run_branch(tacit_lower_t *lower, tacit_stmt_t *body, bool is_last, const branch_t *other,
                           tacit_node_t *seen) {
  branch_t branch = {.target = tacit_lower_constant(lower, 0), .flow = TACIT_FLOW_NEXT};
  size_t begin = lower->n_undo;
  tacit_node_t *outer = lower->branch;
  tacit_value_t *returned = lower->returned;
  tacit_said_t said = lower->in_branch;
  lower->in_branch = (tacit_said_t){0};
  lower->branch = &branch.target;
  lower->returned = &branch.returned;
  lower->n_undoing++;
  lower->n_record += !lower->is_generated;
  if (body != NULL) {
    branch.flow = tacit_lower_body(lower, &body, 1);
  }
  if (branch.flow == TACIT_FLOW_NEXT && is_last) {
    branch.flow = run_rest(lower);
  }
  if (branch.flow == TACIT_FLOW_REJECTED) {
    branch.target = tacit_lower_constant(lower, -INFINITY);
  }
  lower->n_record -= !lower->is_generated;
  lower->n_undoing--;
  lower->branch = outer;
  lower->returned = returned;
  branch.said = lower->in_branch;
  branch.said.target = branch.target;
  lower->in_branch = said;
  branch.n = lower->n_undo - begin;
  branch.writes = tacit_arena_alloc(lower->arena, branch.n, sizeof *branch.writes);
  for (size_t i = 0; other != NULL && i < other->n; i++) {
    seen[i] = *other->writes[i].place;
  }
  for (size_t i = 0; branch.writes != NULL && i < branch.n; i++) {
    branch.writes[i] =
        (tacit_undo_t){.place = lower->undo[begin + i].place, .old = *lower->undo[begin + i].place};
  }
  while (lower->n_undo > begin) {
    lower->n_undo--;
    *lower->undo[lower->n_undo].place = lower->undo[lower->n_undo].old;
  }
  return branch;
}

static void merge(tacit_lower_t *lower, size_t offset, tacit_node_t condition, tacit_undo_t write,
                  tacit_node_t yes, tacit_node_t no) {
  tacit_lower_write(lower, write.place,
                    yes == no ? yes : tacit_lower_apply(lower, offset, TACIT_OP_SELECT, condition, yes, no));
}

/* A condition of the record: both branches, then a choice. Where one returns, what follows in the function is
 * part of them. */
static tacit_flow_t choose(tacit_lower_t *lower, const tacit_stmt_t *stmt, tacit_node_t condition) {
  bool is_last = lower->n_calls > 0 && has_return(stmt);
  size_t offset = tacit_expr_begin(stmt->left);
  size_t n_given = lower->n_given < TACIT_PROGRAM_MAX_DEPTH ? lower->n_given++ : lower->n_given - 1;
  lower->given[n_given].condition = condition;
  lower->given[n_given].holds = true;
  branch_t yes = run_branch(lower, stmt->body[0], is_last, NULL, NULL);
  tacit_node_t *seen = tacit_arena_alloc(lower->arena, yes.n, sizeof *seen);
  if (seen == NULL || yes.writes == NULL || lower->status != TACIT_OK) {
    return TACIT_FLOW_FAILED;
  }
  lower->given[n_given].holds = false;
  branch_t no = run_branch(lower, stmt->n_body > 1 ? stmt->body[1] : NULL, is_last, &yes, seen);
  lower->n_given = n_given;
  if (no.writes == NULL || lower->status != TACIT_OK) {
    return TACIT_FLOW_FAILED;
  }
  bool no_yes = yes.flow == TACIT_FLOW_REJECTED, no_no = no.flow == TACIT_FLOW_REJECTED;
  for (size_t i = 0; i < no.n && !no_no; i++) { /* what both write is put right below */
    merge(lower, offset, condition, no.writes[i], no_yes ? no.writes[i].old : *no.writes[i].place,
          no.writes[i].old);
  }
  for (size_t i = 0; i < yes.n && !no_yes; i++) {
    merge(lower, offset, condition, yes.writes[i], yes.writes[i].old, no_no ? yes.writes[i].old : seen[i]);
  }
  if (yes.target != no.target || yes.target != tacit_lower_constant(lower, 0)) {
    tacit_node_t term = tacit_graph_apply(lower->graph, TACIT_OP_SELECT, condition, yes.target, no.target);
    tacit_lower_join_responses(lower, condition, &yes.said, &no.said, term);
    add_node(lower, offset, term, true);
  }
  if (no_yes || no_no) {
    tacit_flow_t flow = no_yes ? no.flow : yes.flow;
    if (flow == TACIT_FLOW_RETURN) {
      *lower->returned = no_yes ? no.returned : yes.returned;
    }
    return flow;
  }
  if (!is_last) {
    return TACIT_FLOW_NEXT;
  }
  if (yes.flow != TACIT_FLOW_RETURN || no.flow != TACIT_FLOW_RETURN) {
    tacit_lower_fail(lower, stmt->offset, "a function that returns in one branch has to return in all");
    return TACIT_FLOW_FAILED;
  }
  *lower->returned = tacit_lower_select(lower, offset, condition, &yes.returned, &no.returned);
  return lower->returned->kind != TACIT_TYPE_VOID ? TACIT_FLOW_RETURN : TACIT_FLOW_FAILED;
}

static tacit_flow_t branch(tacit_lower_t *lower, const tacit_stmt_t *stmt) {
  tacit_value_t condition = tacit_lower_expr(lower, stmt->left);
  int truth = tacit_lower_truth(lower, tacit_expr_begin(stmt->left), &condition);
  if (truth == -2) {
    return TACIT_FLOW_FAILED;
  }
  truth = truth == -1 ? implied(lower, condition.nodes[0]) : truth;
  if (truth == -1) {
    return choose(lower, stmt, condition.nodes[0]);
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
    tacit_node_t before = lower->graph->record;
    bool is_call = stmt->right->kind == TACIT_EXPR_CALL && lower->called.expr == stmt->right;
    const tacit_value_t *args = lower->called.args;
    if (lower->is_forecast) {
      tacit_lower_note_target(lower, stmt->right, &value);
    }
    tacit_lower_add_target(lower, tacit_expr_begin(stmt->right), &value);
    if (is_call && lower->status == TACIT_OK) {
      tacit_lower_note_density(lower, stmt->right, args, &value, before);
    }
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

/* Records that come here have density 0: a branch says so, and the bounds have to tell that none does. */
static tacit_flow_t reject(tacit_lower_t *lower, const tacit_stmt_t *stmt) {
  if (lower->is_generated) {
    return TACIT_FLOW_NEXT;
  }
  if (lower->branch == NULL) {
    tacit_lower_fail(lower, stmt->offset, "every record comes to this statement, and would be rejected");
    return TACIT_FLOW_FAILED;
  }
  return TACIT_FLOW_REJECTED;
}

static tacit_flow_t by_kind(tacit_lower_t *lower, const tacit_stmt_t *stmt) {
  switch (stmt->kind) {
  case TACIT_STMT_DECLARE:
    tacit_lower_local(lower, stmt);
    return lower->status == TACIT_OK ? TACIT_FLOW_NEXT : TACIT_FLOW_FAILED;
  case TACIT_STMT_ASSIGN:
    return assign(lower, stmt);
  case TACIT_STMT_TILDE:
  case TACIT_STMT_TARGET:
    return target(lower, stmt);
  case TACIT_STMT_FOR:
    return tacit_lower_loop(lower, stmt);
  case TACIT_STMT_IF:
    return branch(lower, stmt);
  case TACIT_STMT_WHILE:
    return tacit_lower_while(lower, stmt);
  case TACIT_STMT_REJECT:
    return reject(lower, stmt);
  case TACIT_STMT_RETURN:
    return give_back(lower, stmt);
  case TACIT_STMT_SKIP:
    return TACIT_FLOW_NEXT;
  case TACIT_STMT_BLOCK:
    break;
  }
  if (stmt->name == NULL) {
    return tacit_lower_body(lower, stmt->body, stmt->n_body);
  }
  tacit_flow_t flow = TACIT_FLOW_NEXT;
  for (size_t i = 0; i < stmt->n_body && flow == TACIT_FLOW_NEXT; i++) { /* declarations of one type */
    flow = tacit_lower_statement(lower, stmt->body[i]);
  }
  return flow;
}

tacit_flow_t tacit_lower_statement(tacit_lower_t *lower, const tacit_stmt_t *stmt) {
  if (!tacit_lower_step(lower, stmt->offset, 1)) {
    return TACIT_FLOW_FAILED;
  }
  tacit_flow_t flow = tacit_lower_enter(lower, stmt->offset) ? by_kind(lower, stmt) : TACIT_FLOW_FAILED;
  lower->level--;
  return flow;
}

tacit_flow_t tacit_lower_body(tacit_lower_t *lower, tacit_stmt_t *const *body, size_t n) {
  size_t n_variables = lower->n_variables;
  const tacit_rest_t *outer = lower->rest;
  tacit_flow_t flow = TACIT_FLOW_NEXT;
  lower->scope++;
  for (size_t i = 0; i < n && flow == TACIT_FLOW_NEXT; i++) {
    tacit_rest_t rest = {
        .outer = outer, .body = body + i + 1, .n = n - i - 1, .n_variables = lower->n_variables};
    lower->rest = &rest;
    flow = tacit_lower_statement(lower, body[i]);
  }
  lower->rest = outer;
  lower->scope--;
  lower->n_variables = n_variables;
  return flow;
}
