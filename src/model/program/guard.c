/*
 * Derived columns are computed when records are packed, whichever branch a record takes: log(y) of `y == 0 ?
 * a : f(log(y))` would be packed as -inf where y is 0, and a record that is not finite counts as nothing.
 * What only one branch needs is 0 in the other.
 */
#include <math.h>

#include "base/memory.h"
#include "program/graph_internal.h"

enum { NONE = TACIT_NODE_NONE };

typedef struct guard {
  tacit_graph_t *graph;
  size_t n; /* nodes that there were */
  uint8_t *
      is_at_risk; /* (n): a derived column that the bounds do not keep finite, or what is computed from one */
  uint8_t *infinite; /* (n): not packed */
} guard_t;

/* An infinity that the program names is no accident; what adds to it or chooses it is computed for each
 * record, not packed. */
void tacit_graph_infinite(const tacit_graph_t *graph, size_t n, uint8_t *is_infinite) {
  for (tacit_node_t i = 1; i < n; i++) {
    const tacit_graph_node_t *node = tacit_graph_at(graph, i);
    bool passes_on = node->op == TACIT_OP_ADD || node->op == TACIT_OP_SUB || node->op == TACIT_OP_NEG;
    is_infinite[i] =
        (node->op == TACIT_OP_CONSTANT && isinf(node->value)) ||
        (passes_on && (is_infinite[node->a] || (node->op != TACIT_OP_NEG && is_infinite[node->b]))) ||
        (node->op == TACIT_OP_SELECT && (is_infinite[node->b] || is_infinite[node->c]));
  }
}

/* In the order of nodes, operands first. */
static void find_risks(guard_t *guard, const double *range) {
  const tacit_graph_t *g = guard->graph;
  for (tacit_node_t i = 1; i < guard->n; i++) {
    const tacit_graph_node_t *n = tacit_graph_at(g, i);
    bool is_list = n->op == TACIT_OP_DOT || n->op == TACIT_OP_LOOKUP, below = false;
    if (n->rate <= TACIT_RATE_PARAMETER) {
      continue;
    }
    if (n->rate == TACIT_RATE_DATA && !guard->infinite[i]) {
      guard->is_at_risk[i] = !(isfinite(range[2 * i]) && isfinite(range[2 * i + 1]));
      continue;
    }
    const uint32_t operand[3] = {n->a, n->b, n->c};
    for (unsigned k = 0; !is_list && k < tacit_op_arity((tacit_op_t)n->op); k++) {
      below |= guard->is_at_risk[operand[k]] != 0;
    }
    below |= n->op == TACIT_OP_LOOKUP && guard->is_at_risk[n->a];
    for (uint32_t k = 0; n->op == TACIT_OP_DOT && k < n->c; k++) {
      below |= guard->is_at_risk[g->lists[n->a + k]] != 0;
    }
    guard->is_at_risk[i] = below;
  }
}

static tacit_node_t select_(tacit_graph_t *g, tacit_node_t condition, tacit_node_t yes, tacit_node_t no) {
  return tacit_graph_apply(g, TACIT_OP_SELECT, condition, yes, no);
}

static tacit_node_t guarded(guard_t *guard, tacit_node_t root, tacit_node_t where);

/* A choice by data: each side where it is chosen. */
static tacit_node_t of_choice(guard_t *guard, const tacit_graph_node_t n, tacit_node_t condition,
                              tacit_node_t where) {
  tacit_graph_t *g = guard->graph;
  tacit_node_t zero = tacit_graph_constant(g, 0);
  tacit_node_t here = where == NONE ? condition : select_(g, condition, where, zero);
  tacit_node_t there = where == NONE ? tacit_graph_apply(g, TACIT_OP_EQUAL, condition, zero, NONE)
                                     : select_(g, condition, zero, where);
  tacit_node_t yes = guarded(guard, n.b, here), no = guarded(guard, n.c, there);
  return select_(g, condition, yes, no);
}

static tacit_node_t of_list(guard_t *guard, const tacit_graph_node_t n, const tacit_node_t *moved) {
  tacit_graph_t *g = guard->graph;
  tacit_node_t *lists = tacit_alloc(2 * (size_t)n.c, sizeof *lists), result = NONE;
  if (lists == NULL) {
    return tacit_graph_refuse(g, TACIT_ERR_MEMORY, NULL);
  }
  for (uint32_t k = 0; k < n.c; k++) {
    lists[k] = moved[g->lists[n.b + k]];
    lists[n.c + k] = n.op == TACIT_OP_DOT ? moved[g->lists[n.a + k]] : NONE;
  }
  result = n.op == TACIT_OP_DOT ? tacit_graph_dot(g, n.c, lists + n.c, lists)
                                : tacit_graph_intern_lookup(g, moved[n.a], n.value, n.c, lists);
  tacit_free(lists);
  return result;
}

/* The same value as root's where `where` is true (NONE: everywhere), and finite columns elsewhere. */
static tacit_node_t guarded(guard_t *guard, tacit_node_t root, tacit_node_t where) {
  tacit_graph_t *g = guard->graph;
  if (!guard->is_at_risk[root] || g->status != TACIT_OK) {
    return root;
  }
  uint8_t *needed = tacit_alloc_zero(root + 1, sizeof *needed);
  tacit_node_t *moved = tacit_alloc_zero(root + 1, sizeof *moved), result = NONE;
  if (needed == NULL || moved == NULL) {
    (void)tacit_graph_refuse(g, TACIT_ERR_MEMORY, NULL);
  } else {
    tacit_graph_mark(g, root, needed);
    for (tacit_node_t i = 1; i <= root && g->status == TACIT_OK; i++) {
      const tacit_graph_node_t n = *tacit_graph_at(g, i);
      unsigned arity = tacit_op_arity((tacit_op_t)n.op);
      if (!needed[i] || !guard->is_at_risk[i]) {
        moved[i] = i;
      } else if (n.rate == TACIT_RATE_DATA && !guard->infinite[i]) {
        moved[i] = where == NONE ? i : select_(g, where, i, tacit_graph_constant(g, 0));
      } else if (n.op == TACIT_OP_SELECT && tacit_graph_rate(g, n.a) == TACIT_RATE_DATA) {
        moved[i] = of_choice(guard, n, moved[n.a], where);
      } else if (arity == 0) {
        moved[i] = of_list(guard, n, moved);
      } else {
        moved[i] = tacit_graph_apply(g, (tacit_op_t)n.op, moved[n.a], arity > 1 ? moved[n.b] : NONE,
                                     arity > 2 ? moved[n.c] : NONE);
      }
    }
    result = g->status == TACIT_OK ? moved[root] : NONE;
  }
  tacit_free(needed);
  tacit_free(moved);
  return result;
}

bool tacit_graph_bounds(const tacit_graph_t *graph, tacit_node_t root, double *range) {
  uint8_t *needed = tacit_alloc_zero(graph->n_nodes, sizeof *needed);
  double *box = tacit_alloc(2 * graph->n_columns, sizeof *box);
  bool ok = needed != NULL && box != NULL;
  for (size_t i = 0; ok && i < graph->n_columns; i++) {
    box[2 * i] = graph->columns[i].lower;
    box[2 * i + 1] = graph->columns[i].upper;
  }
  if (ok) {
    tacit_graph_mark(graph, root, needed);
    tacit_graph_range(graph, needed, box, range);
  }
  tacit_free(needed);
  tacit_free(box);
  return ok;
}

tacit_node_t tacit_graph_guard(tacit_graph_t *graph, tacit_node_t root) {
  size_t n = graph->n_nodes;
  guard_t guard = {.graph = graph, .n = n};
  guard.is_at_risk = tacit_alloc_zero(n, sizeof *guard.is_at_risk);
  guard.infinite = tacit_alloc_zero(n, sizeof *guard.infinite);
  double *range = tacit_alloc_zero(2 * n, sizeof *range);
  tacit_node_t result = NONE;
  if (guard.is_at_risk == NULL || guard.infinite == NULL || range == NULL ||
      !tacit_graph_bounds(graph, root, range)) {
    (void)tacit_graph_refuse(graph, TACIT_ERR_MEMORY, NULL);
  } else {
    tacit_graph_infinite(graph, n, guard.infinite);
    find_risks(&guard, range);
    result = guarded(&guard, root, NONE);
  }
  tacit_free(guard.is_at_risk);
  tacit_free(guard.infinite);
  tacit_free(range);
  return result;
}
