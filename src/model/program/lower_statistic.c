/* The block 'statistic': name = sum(expression); name = count(int, ..); name = quantile(x, q, {candidates});
 * what others released of the records. */
#include <math.h>
#include <string.h>

#include "program/lower.h"

enum { MAX_CELLS = 65536 };

static bool is_call(const tacit_expr_t *expr, const char *name) {
  return expr != NULL && expr->kind == TACIT_EXPR_CALL && strcmp(expr->name, name) == 0;
}

/* A number of the record at hand, free of parameters. */
static bool is_of_record(tacit_lower_t *lower, const tacit_expr_t *expr, tacit_node_t node) {
  if (!tacit_lower_force(lower, tacit_expr_begin(expr), node)) {
    return false;
  }
  if (tacit_lower_rate(lower, node) != TACIT_RATE_DATA) {
    tacit_lower_fail(lower, tacit_expr_begin(expr),
                     (tacit_lower_rate(lower, node) & TACIT_RATE_PARAMETER) != 0
                         ? "a statistic is summed over records: it must not depend on parameters"
                         : "this does not look at the record");
    return false;
  }
  return true;
}

static void lower_sum(tacit_lower_t *lower, const tacit_expr_t *call, tacit_lowered_statistic_t *statistic) {
  if (call->n_args != 1) {
    tacit_lower_fail(lower, call->offset, "sum() of a statistic takes one expression");
    return;
  }
  tacit_value_t value = tacit_lower_expr(lower, call->args[0]);
  statistic->n = value.n;
  statistic->nodes = value.nodes;
  statistic->is_integer = tacit_value_is_integer(&value);
  for (size_t i = 0; value.kind != TACIT_TYPE_VOID && i < value.n; i++) {
    if (!is_of_record(lower, call->args[0], value.nodes[i])) {
      return;
    }
  }
}

static bool known(tacit_lower_t *lower, const tacit_expr_t *bound, double *x) {
  tacit_value_t value = bound != NULL ? tacit_lower_expr(lower, bound) : (tacit_value_t){0};
  return value.kind != TACIT_TYPE_VOID && tacit_value_constant(lower, &value, x) && isfinite(*x);
}

static bool is_comparison(const tacit_expr_t *expr) {
  return expr->kind == TACIT_EXPR_NOT ||
         (expr->kind == TACIT_EXPR_BINARY && expr->op >= TACIT_TOK_OR && expr->op <= TACIT_TOK_AT_LEAST);
}

/* The values that a number of a cell may have. */
static bool find_range(tacit_lower_t *lower, const tacit_expr_t *arg, double *first, double *last,
                       const char **factor) {
  const tacit_variable_t *variable = arg->kind == TACIT_EXPR_NAME ? tacit_lower_find(lower, arg->name) : NULL;
  *factor = arg->kind == TACIT_EXPR_NAME ? arg->name : "true";
  *first = 0;
  *last = 1;
  if (is_comparison(arg)) {
    return true;
  }
  if (variable == NULL || variable->declared == NULL ||
      !known(lower, variable->declared->type.lower, first) ||
      !known(lower, variable->declared->type.upper, last)) {
    tacit_lower_fail(lower, tacit_expr_begin(arg),
                     "count() has to know which cells there are: give it the name of an int declared with "
                     "lower and upper, or a comparison");
    return false;
  }
  return true;
}

static void lower_count(tacit_lower_t *lower, const tacit_expr_t *call,
                        tacit_lowered_statistic_t *statistic) {
  double n_cells = 1;
  statistic->is_count = statistic->is_integer = true;
  statistic->n = call->n_args;
  statistic->nodes = tacit_arena_alloc(lower->arena, call->n_args, sizeof *statistic->nodes);
  statistic->factors = tacit_arena_alloc(lower->arena, call->n_args, sizeof *statistic->factors);
  statistic->first = tacit_arena_alloc(lower->arena, call->n_args, sizeof *statistic->first);
  statistic->extents = tacit_arena_alloc(lower->arena, call->n_args, sizeof *statistic->extents);
  if (lower->arena->failed) {
    return;
  }
  if (call->n_args == 0) {
    tacit_lower_fail(lower, call->offset,
                     "count() takes the ints that make a cell: count(band), count(band, sex)");
  }
  for (size_t i = 0; i < call->n_args && lower->status == TACIT_OK; i++) {
    const tacit_expr_t *arg = call->args[i];
    tacit_value_t value = tacit_lower_expr(lower, arg);
    double last;
    if (value.kind == TACIT_TYPE_VOID) {
      return;
    }
    if (!tacit_value_is_scalar(&value) || value.kind != TACIT_TYPE_INT) {
      tacit_lower_fail(lower, tacit_expr_begin(arg), "count() takes ints; this is %s",
                       tacit_value_describe(lower, &value));
    } else if (is_of_record(lower, arg, value.nodes[0]) &&
               find_range(lower, arg, &statistic->first[i], &last, &statistic->factors[i])) {
      n_cells *= fmax(last - statistic->first[i] + 1, 0);
      if (!(n_cells >= 1 && n_cells <= MAX_CELLS)) {
        tacit_lower_fail(lower, tacit_expr_begin(arg), "count() makes 1 to %d cells, not %g", MAX_CELLS,
                         n_cells);
        return;
      }
      statistic->nodes[i] = value.nodes[0];
      statistic->extents[i] = (size_t)(last - statistic->first[i]) + 1;
    }
  }
}

/* How many candidates are at most x tells all that a quantile is chosen by. */
static void lower_quantile(tacit_lower_t *lower, const tacit_expr_t *call,
                           tacit_lowered_statistic_t *statistic) {
  if (call->n_args != 3) {
    tacit_lower_fail(
        lower, call->offset,
        "quantile() takes a number, a share and the candidates: quantile(income, 0.5, {1e4, 2e4, 3e4})");
    return;
  }
  tacit_value_t share = tacit_lower_expr(lower, call->args[1]),
                candidates = tacit_lower_expr(lower, call->args[2]);
  if (share.kind == TACIT_TYPE_VOID || candidates.kind == TACIT_TYPE_VOID) {
    return;
  }
  if (!tacit_value_constant(lower, &share, &statistic->quantile) ||
      !(statistic->quantile > 0 && statistic->quantile < 1)) {
    tacit_lower_fail(lower, tacit_expr_begin(call->args[1]),
                     "the share of a quantile is a known number between 0 and 1");
    return;
  }
  tacit_expr_t *cut = tacit_arena_alloc(lower->arena, 1, sizeof *cut);
  tacit_expr_t **args = tacit_arena_alloc(lower->arena, 2, sizeof *args);
  statistic->candidates = tacit_arena_alloc(lower->arena, candidates.n, sizeof *statistic->candidates);
  statistic->nodes = tacit_arena_alloc(lower->arena, 1, sizeof *statistic->nodes);
  statistic->factors = tacit_arena_alloc(lower->arena, 1, sizeof *statistic->factors);
  statistic->first = tacit_arena_alloc(lower->arena, 1, sizeof *statistic->first);
  statistic->extents = tacit_arena_alloc(lower->arena, 1, sizeof *statistic->extents);
  if (lower->arena->failed) {
    return;
  }
  for (size_t i = 0; i < candidates.n; i++) {
    tacit_value_t one = {.kind = TACIT_TYPE_REAL, .n = 1, .nodes = &candidates.nodes[i]};
    double *at = &statistic->candidates[i];
    if (!tacit_value_constant(lower, &one, at) || !isfinite(*at) || (i > 0 && !(*at > at[-1])) ||
        candidates.n >= MAX_CELLS) {
      tacit_lower_fail(lower, tacit_expr_begin(call->args[2]),
                       "the candidates of a quantile are known numbers that rise, fewer than %d", MAX_CELLS);
      return;
    }
  }
  args[0] = call->args[0];
  args[1] = call->args[2];
  *cut = *call;
  cut->name = "cut";
  cut->args = args;
  cut->n_args = 2;
  tacit_value_t value = tacit_lower_expr(lower, cut);
  if (value.kind == TACIT_TYPE_VOID || !is_of_record(lower, call->args[0], value.nodes[0])) {
    return;
  }
  statistic->nodes[0] = value.nodes[0];
  statistic->factors[0] = "quantile";
  statistic->extents[0] = candidates.n + 1;
  statistic->is_quantile = statistic->is_count = statistic->is_integer = true;
  statistic->n = 1;
}

void tacit_lower_statistic(tacit_lower_t *lower, const tacit_stmt_t *stmt) {
  bool is_line =
      stmt->kind == TACIT_STMT_ASSIGN && stmt->op == TACIT_TOK_ASSIGN && stmt->left->kind == TACIT_EXPR_NAME;
  tacit_lowered_statistic_t *statistic = tacit_arena_alloc(lower->arena, 1, sizeof *statistic);
  if (statistic == NULL) {
    return;
  }
  static const struct {
    const char *name;
    void (*lower)(tacit_lower_t *lower, const tacit_expr_t *call, tacit_lowered_statistic_t *statistic);
  } all[] = {{"sum", lower_sum}, {"count", lower_count}, {"quantile", lower_quantile}};
  size_t which = 0, n = sizeof all / sizeof all[0];
  while (which < n && is_line && !is_call(stmt->right, all[which].name)) {
    which++;
  }
  if (!is_line || which == n) {
    tacit_lower_fail(lower, stmt->offset,
                     "the block 'statistic' holds lines `name = sum(expression);`, `name = count(int, ..);` "
                     "and `name = quantile(x, q, {candidates});`");
    return;
  }
  statistic->name = stmt->left->name;
  for (size_t i = 0; i < lower->n_statistics; i++) {
    if (strcmp(lower->statistics[i]->name, statistic->name) == 0) {
      tacit_lower_fail(lower, stmt->offset, "'%s' is given twice", statistic->name);
      return;
    }
  }
  all[which].lower(lower, stmt->right, statistic);
  void **statistics = (void **)lower->statistics;
  tacit_list_append(lower->arena, &statistics, &lower->n_statistics, statistic);
  lower->statistics = (tacit_lowered_statistic_t **)statistics;
}
