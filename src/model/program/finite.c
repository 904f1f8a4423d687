/*
 * Can the density of a record be 0 or infinite within the public bounds? Such a record would count as
 * nothing. Intervals tell terms that are finite everywhere; of others columns and parameters are tried,
 * corners first, until one is found that is not. What was found is a case, not a suspicion: nothing is
 * refused for what intervals do not see. A number that only overflows is none.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "program/graph_internal.h"

enum { NONE = TACIT_NODE_NONE, MAX_WORK = 1 << 22, MAX_POINTS = 600, N_PARAMETERS = 4 };

typedef struct search {
  tacit_graph_t *graph;
  size_t n; /* nodes up to the term */
  uint8_t *needed, *infinite;
  double *x, *theta, *value; /* (n_columns), (n_parameters), (n) */
  tacit_node_t *stack;
  uint8_t *seen;
} search_t;

/* ---- values ---- */

static double evaluate(const search_t *s, tacit_node_t node) {
  const tacit_graph_node_t *n = tacit_graph_at(s->graph, node);
  const uint32_t *lists = s->graph->lists;
  double sum = 0;
  switch (n->op) {
  case TACIT_OP_CONSTANT:
    return n->value;
  case TACIT_OP_COLUMN:
    return s->x[n->a];
  case TACIT_OP_PARAMETER:
    return s->theta[n->a];
  case TACIT_OP_ADD:
    return s->value[n->a] + s->value[n->b];
  case TACIT_OP_SUB:
    return s->value[n->a] - s->value[n->b];
  case TACIT_OP_MUL:
    return s->value[n->a] * s->value[n->b];
  case TACIT_OP_DOT:
    for (uint32_t i = 0; i < n->c; i++) {
      sum += s->value[lists[n->a + i]] * s->value[lists[n->b + i]];
    }
    return sum;
  case TACIT_OP_LOOKUP:
    return s->value[lists[n->b + (uint32_t)fmin(fmax(s->value[n->a] - n->value, 0), n->c - 1.0)]];
  default:
    return tacit_op_value((tacit_op_t)n->op, s->value[n->a], s->value[n->b], s->value[n->c]);
  }
}

/* Operands that a value at hand comes from: of a choice the chosen one. */
static unsigned live_operands(const search_t *s, tacit_node_t node, tacit_node_t out[3]) {
  const tacit_graph_node_t *n = tacit_graph_at(s->graph, node);
  if (n->op == TACIT_OP_SELECT) {
    out[0] = n->a;
    out[1] = s->value[n->a] < 0 || s->value[n->a] > 0 ? n->b : n->c;
    return 2;
  }
  if (n->op == TACIT_OP_LOOKUP) {
    out[0] = n->a;
    out[1] = s->graph->lists[n->b + (uint32_t)fmin(fmax(s->value[n->a] - n->value, 0), n->c - 1.0)];
    return 2;
  }
  out[0] = n->a;
  out[1] = n->b;
  out[2] = n->c;
  return tacit_op_arity((tacit_op_t)n->op);
}

/* Did this operation leave its domain, its operands being finite? Rounding and overflow are no such thing. */
static bool is_outside(const search_t *s, tacit_node_t node) {
  const double slack = 1e-6;
  const tacit_graph_node_t *n = tacit_graph_at(s->graph, node);
  double a = s->value[n->a];
  bool is_derived = n->rate == TACIT_RATE_DATA;
  switch (n->op) {
  case TACIT_OP_CONSTANT:
    return !isfinite(n->value);
  case TACIT_OP_LOG:
    return is_derived ? !(a > 0) : a < -slack || a == 0;
  case TACIT_OP_LOG1P:
    return is_derived ? !(a > -1) : a < -1 - slack;
  case TACIT_OP_LOG1M_EXP:
    return is_derived ? !(a < 0) : a > slack;
  case TACIT_OP_SQRT:
    return a < -slack;
  case TACIT_OP_POW:
    return isnan(s->value[node]) || (is_derived && a == 0);
  case TACIT_OP_DIV:
    return s->value[n->b] == 0;
  case TACIT_OP_INV_PHI:
    return is_derived ? !(a > 0 && a < 1) : a < -slack || a > 1 + slack;
  default:
    return false;
  }
}

/* The operation that makes a value infinite or no number; NONE where it only overflows. */
static tacit_node_t cause_of(const search_t *s, tacit_node_t node) {
  for (;;) {
    tacit_node_t operand[3], next = NONE;
    unsigned n = live_operands(s, node, operand);
    for (unsigned i = 0; i < n; i++) {
      next = isfinite(s->value[operand[i]]) ? next : operand[i];
    }
    if (next == NONE) {
      return is_outside(s, node) ? node : NONE;
    }
    node = next;
  }
}

/* What is wrong at the point at hand: with the term, or with a derived column that it needs here. */
static tacit_node_t fault(const search_t *s, tacit_node_t root) {
  size_t n_stack = 0;
  tacit_node_t found = isfinite(s->value[root]) ? NONE : cause_of(s, root);
  memset(s->seen, 0, s->n);
  s->stack[n_stack++] = root;
  s->seen[root] = 1;
  while (n_stack > 0 && found == NONE) {
    tacit_node_t node = s->stack[--n_stack], operand[3];
    const tacit_graph_node_t *n = tacit_graph_at(s->graph, node);
    if (n->rate == TACIT_RATE_DATA && !s->infinite[node]) {
      found = isfinite(s->value[node]) ? NONE : cause_of(s, node);
      continue;
    }
    unsigned k = n->op == TACIT_OP_DOT ? 0 : live_operands(s, node, operand);
    for (unsigned i = 0; i < k; i++) {
      if (s->seen[operand[i]] == 0 && (tacit_graph_rate(s->graph, operand[i]) & TACIT_RATE_DATA) != 0) {
        s->seen[operand[i]] = 1;
        s->stack[n_stack++] = operand[i];
      }
    }
    for (uint32_t i = 0; n->op == TACIT_OP_DOT && i < n->c && found == NONE; i++) {
      tacit_node_t x = s->graph->lists[n->a + i];
      found = isfinite(s->value[x]) ? NONE : cause_of(s, x);
    }
  }
  return found;
}

/* ---- points ---- */

static double mixed(size_t i, size_t j) {
  uint64_t x = (uint64_t)(i + 1) * 0x9E3779B97F4A7C15u ^ (uint64_t)(j + 1) * 0xD1B54A32D192ED03u;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

/* A number of the column: its bounds, 0, 1, the middle, or any. */
static double pick(const tacit_graph_column_t *c, size_t which, double u) {
  double x = which == 0   ? c->lower
             : which == 1 ? c->upper
             : which == 2 ? 0
             : which == 3 ? 1
             : which == 4 ? 0.5 * (c->lower + c->upper)
                          : c->lower + u * (c->upper - c->lower);
  return fmin(fmax(c->is_integer ? nearbyint(x) : x, c->lower), c->upper);
}

/* All columns low, high and in the middle; each by itself through its values, others in the middle; then any.
 */
static void choose_columns(const search_t *s, size_t point) {
  const tacit_graph_t *g = s->graph;
  size_t n_alone = g->n_columns < 20 ? g->n_columns * 5 : 100;
  for (size_t j = 0; j < g->n_columns; j++) {
    const tacit_graph_column_t *c = &g->columns[j];
    bool is_alone = point >= 5 && point < 5 + n_alone && (point - 5) / 5 == j;
    size_t which = point < 5             ? point
                   : is_alone            ? (point - 5) % 5
                   : point < 5 + n_alone ? 4
                                         : (size_t)(8 * mixed(point, j));
    s->x[j] = pick(c, which, mixed(point + 977, j));
  }
  for (size_t j = 0; j < g->n_columns; j++) { /* indicators of one column: its levels exclude each other */
    for (size_t k = 0; k < j && !isnan(g->columns[j].level); k++) {
      bool is_same = !isnan(g->columns[k].level) && strcmp(g->columns[k].source, g->columns[j].source) == 0;
      s->x[j] = is_same && s->x[k] > 0 ? 0 : s->x[j];
    }
  }
}

/* Where nothing is known of them, and ordinary distances from there. */
static void choose_parameters(const search_t *s, size_t point, size_t turn) {
  for (size_t j = 0; j < s->graph->n_parameters; j++) {
    s->theta[j] =
        turn == 0 ? 0 : (turn == 1 ? 3 : 1) * (2 * mixed(point + turn * 7919, j) - 1) * (turn == 3 ? 2 : 1);
  }
}

/* Names of the columns and parameters that a cause depends on, where a choice led there those of its
 * condition. */
static void describe(const search_t *s, tacit_node_t root, tacit_node_t cause, tacit_not_finite_t *found) {
  const tacit_graph_t *g = s->graph;
  memset(s->seen, 0, s->n);
  if (tacit_graph_at(g, cause)->op == TACIT_OP_CONSTANT) {
    for (tacit_node_t i = root; i > 0;
         i--) { /* of the choices of this constant, the condition of the one nearest to the root */
      tacit_node_t operand[3];
      bool is_choice =
          s->needed[i] && (tacit_graph_at(g, i)->op == TACIT_OP_SELECT) && live_operands(s, i, operand) == 2;
      if (is_choice && operand[1] == cause) {
        cause = operand[0];
        break;
      }
    }
  }
  found->op = (tacit_op_t)tacit_graph_at(g, cause)->op;
  tacit_graph_mark(g, cause, s->seen);
  for (tacit_node_t i = 1; i <= cause; i++) {
    const tacit_graph_node_t *n = tacit_graph_at(g, i);
    if (s->seen[i] && n->op == TACIT_OP_COLUMN && found->n_columns < TACIT_NOT_FINITE_NAMES) {
      found->columns[found->n_columns] = n->a;
      found->values[found->n_columns++] = s->x[n->a];
    }
    const char *name = s->seen[i] && n->op == TACIT_OP_PARAMETER ? g->parameters[n->a].name : NULL;
    bool is_new = name != NULL && found->n_parameters < TACIT_NOT_FINITE_NAMES;
    for (size_t k = 0; k < found->n_parameters && is_new; k++) {
      is_new = strcmp(found->parameters[k], name) != 0;
    }
    if (is_new) {
      found->parameters[found->n_parameters++] = name;
    }
  }
}

/* ---- the bound that would do ---- */

static tacit_node_t fault_here(const search_t *s, tacit_node_t root) {
  for (tacit_node_t i = 1; i < s->n; i++) {
    s->value[i] = s->needed[i] ? evaluate(s, i) : 0;
  }
  return fault(s, root);
}

/* Where along column j, from the number at hand, faults end; NaN: none of a few other numbers is without one.
 */
static double good_end(const search_t *s, tacit_node_t root, size_t j) {
  const tacit_graph_column_t *c = &s->graph->columns[j];
  double bad = s->x[j], start = bad, good = NAN;
  for (size_t which = 0; which < 5; which++) {
    double x = s->x[j] = pick(c, which, 0);
    bool is_nearer = isnan(good) || fabs(x - bad) < fabs(good - bad);
    good = is_nearer && fault_here(s, root) == NONE ? x : good;
  }
  for (int turn = 0; turn < 60 && !isnan(good); turn++) {
    double x = s->x[j] = 0.5 * (good + bad);
    if (fault_here(s, root) == NONE) {
      good = x;
    } else {
      bad = x;
    }
  }
  s->x[j] = start;
  return c->is_integer                               ? (good > bad ? ceil(good) : floor(good))
         : fabs(good) < 1e-9 * (c->upper - c->lower) ? 0
                                                     : good;
}

/*
 * What holds for all parameters is the columns' alone, and of one column there is a bound that would do;
 * where that moves with the parameters it is theirs. False: no fault after all, but a number that rounds to 0
 * for these parameters alone.
 */
static bool finish(search_t *s, tacit_node_t root, size_t point, bool is_edge, tacit_not_finite_t *found) {
  bool is_always = found->n_columns > 0, is_fixed = true;
  double first = NAN;
  for (size_t turn = 0; turn < N_PARAMETERS && is_always && (found->n_parameters > 0 || turn == 0); turn++) {
    choose_parameters(s, point, turn);
    is_always = fault_here(s, root) != NONE;
    double end = is_always && found->n_columns == 1 ? good_end(s, root, found->columns[0]) : (double)NAN;
    is_fixed = is_fixed && (turn == 0 || isnan(first) == isnan(end)) &&
               !(fabs(end - first) > 1e-4 * (1 + fabs(first)));
    first = turn == 0 ? end : first;
  }
  found->n_parameters = is_always && is_fixed ? 0 : found->n_parameters;
  found->has_bound = is_always && is_fixed && !isnan(first);
  if (found->has_bound) {
    size_t j = found->columns[0];
    const tacit_graph_column_t *c = &s->graph->columns[j];
    found->is_lower = s->x[j] < 0.5 * (c->lower + c->upper) ? first >= s->x[j] : first > s->x[j];
    s->x[j] = found->bound = fabs(first) < 1e-4 * (c->upper - c->lower) ? 0 : first;
    found->is_closed = fault_here(s, root) == NONE;
  }
  return is_always || !is_edge;
}

/* ---- what needs no search ---- */

static bool is_suspect(const search_t *s, const double *range) {
  for (tacit_node_t i = 1; i < s->n; i++) {
    const tacit_graph_node_t *n = tacit_graph_at(s->graph, i);
    bool has_operands = tacit_op_arity((tacit_op_t)n->op) > 0;
    double low = has_operands ? range[2 * n->a] : 0, high = has_operands ? range[2 * n->a + 1] : 0;
    if (!s->needed[i]) {
      continue;
    }
    bool is_scale = n->op == TACIT_OP_DIV && tacit_graph_rate(s->graph, n->b) <= TACIT_RATE_PARAMETER &&
                    range[2 * n->b] >= 0;
    bool is_far = n->rate == TACIT_RATE_DATA && !(isfinite(range[2 * i]) && isfinite(range[2 * i + 1]));
    bool is_domain = n->op == TACIT_OP_LOG || n->op == TACIT_OP_SQRT || n->op == TACIT_OP_POW ? !(low >= 0)
                     : n->op == TACIT_OP_LOG1P                                                ? !(low >= -1)
                     : n->op == TACIT_OP_LOG1M_EXP                                            ? !(high <= 0)
                     : n->op == TACIT_OP_INV_PHI ? !(low >= 0 && high <= 1)
                     : n->op == TACIT_OP_DIV ? !(range[2 * n->b] > 0 || range[2 * n->b + 1] < 0 || is_scale)
                                             : s->infinite[i] && n->op == TACIT_OP_SELECT;
    if (is_far || is_domain) {
      return true;
    }
  }
  return false;
}

static bool look(search_t *s, tacit_node_t root, tacit_not_finite_t *found) {
  size_t n_needed = 0;
  for (size_t i = 0; i < s->n; i++) {
    n_needed += s->needed[i];
  }
  size_t n_points = MAX_WORK / N_PARAMETERS / n_needed;
  n_points = n_points > MAX_POINTS ? MAX_POINTS : n_points < 5 ? 5 : n_points;
  for (size_t point = 0; point < n_points; point++) {
    choose_columns(s, point);
    for (size_t turn = 0; turn < N_PARAMETERS; turn++) {
      choose_parameters(s, point, turn);
      tacit_node_t cause = fault_here(s, root);
      if (cause != NONE) {
        const tacit_graph_node_t *n = tacit_graph_at(s->graph, cause);
        bool is_edge = n->rate != TACIT_RATE_DATA &&
                       ((n->op == TACIT_OP_LOG && s->value[n->a] == 0) || n->op == TACIT_OP_DIV);
        *found = (tacit_not_finite_t){0};
        describe(s, root, cause, found);
        if (finish(s, root, point, is_edge, found)) {
          return true;
        }
      }
    }
  }
  return false;
}

bool tacit_graph_find_not_finite(tacit_graph_t *graph, tacit_node_t term, tacit_not_finite_t *found) {
  tacit_node_t root = graph->status == TACIT_OK ? tacit_graph_dependent(graph, term) : NONE;
  *found = (tacit_not_finite_t){0};
  root = root == NONE && graph->status == TACIT_OK && tacit_graph_rate(graph, term) == TACIT_RATE_DATA ? term
                                                                                                       : root;
  if (root == NONE) {
    return false;
  }
  search_t s = {.graph = graph, .n = (size_t)root + 1};
  s.needed = tacit_alloc_zero(s.n, 1);
  s.infinite = tacit_alloc_zero(s.n, 1);
  s.seen = tacit_alloc_zero(s.n, 1);
  s.x = tacit_alloc_zero(graph->n_columns, sizeof *s.x);
  s.theta = tacit_alloc_zero(graph->n_parameters, sizeof *s.theta);
  s.value = tacit_alloc_zero(s.n, sizeof *s.value);
  s.stack = tacit_alloc(s.n, sizeof *s.stack);
  double *range = tacit_alloc_zero(2 * graph->n_nodes, sizeof *range);
  bool ok = s.needed != NULL && s.infinite != NULL && s.seen != NULL && s.x != NULL && s.theta != NULL &&
            s.value != NULL && s.stack != NULL && range != NULL && tacit_graph_bounds(graph, root, range);
  bool is_found = false;
  if (ok) {
    tacit_graph_mark(graph, root, s.needed);
    tacit_graph_infinite(graph, s.n, s.infinite);
    is_found = is_suspect(&s, range) && look(&s, root, found);
  } else {
    (void)tacit_graph_refuse(graph, TACIT_ERR_MEMORY, NULL);
  }
  tacit_free(s.needed);
  tacit_free(s.infinite);
  tacit_free(s.seen);
  tacit_free(s.x);
  tacit_free(s.theta);
  tacit_free(s.value);
  tacit_free(s.stack);
  tacit_free(range);
  return is_found;
}
