/* Expressions of many operands: sums, dot products, elements chosen by data. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "program/graph_internal.h"

enum { NONE = TACIT_NODE_NONE, MAX_DEPTH = 48 };

/* A copy, since nodes move when more are made. */
static tacit_graph_node_t at(const tacit_graph_t *graph, tacit_node_t node) { return graph->nodes[node]; }

static tacit_node_t binary(tacit_graph_t *graph, tacit_op_t op, tacit_node_t a, tacit_node_t b) {
  return tacit_graph_apply(graph, op, a, b, NONE);
}

tacit_node_t tacit_graph_sum(tacit_graph_t *graph, size_t n, const tacit_node_t *terms) {
  if (n == 0) {
    return tacit_graph_constant(graph, 0);
  }
  if (n == 1) {
    return terms[0];
  }
  return binary(graph, TACIT_OP_ADD, tacit_graph_sum(graph, n / 2, terms),
                tacit_graph_sum(graph, n - n / 2, terms + n / 2));
}

tacit_node_t tacit_graph_log_sum_exp(tacit_graph_t *graph, size_t n, const tacit_node_t *terms) {
  if (n == 0) {
    return tacit_graph_constant(graph, -INFINITY);
  }
  if (n == 1) {
    return terms[0];
  }
  tacit_node_t x = tacit_graph_log_sum_exp(graph, n / 2, terms),
               y = tacit_graph_log_sum_exp(graph, n - n / 2, terms + n / 2);
  return binary(graph, TACIT_OP_LOG_ADD_EXP, x, y);
}

/* The place in ->lists of room for n more nodes, or SIZE_MAX. */
static size_t more_lists(tacit_graph_t *graph, size_t n) {
  size_t first = graph->n_lists;
  if (first + n > UINT32_MAX / 2 ||
      !tacit_graph_grow(graph, &graph->lists, first + n, &graph->list_capacity, sizeof *graph->lists)) {
    (void)tacit_graph_refuse(graph, TACIT_ERR_MEMORY, NULL);
    return SIZE_MAX;
  }
  graph->n_lists += n;
  return first;
}

/* Intern a node whose list begins at `first`, which is given back where the node is not new. */
static tacit_node_t intern_list(tacit_graph_t *graph, tacit_graph_node_t node, size_t first) {
  size_t before = graph->n_nodes;
  tacit_node_t number = tacit_graph_intern(graph, node);
  if (graph->n_nodes == before) {
    graph->n_lists = first;
  }
  return number;
}

/* ---- dot products ---- */

/* Can a[i] b[i] be one operation's term: a at data rate, b at parameter rate? */
static bool is_dot_term(const tacit_graph_t *graph, tacit_node_t a, tacit_node_t b) {
  return at(graph, a).rate == TACIT_RATE_DATA && at(graph, b).rate == TACIT_RATE_PARAMETER;
}

tacit_node_t tacit_graph_dot(tacit_graph_t *graph, size_t n, const tacit_node_t *a, const tacit_node_t *b) {
  tacit_node_t rest = tacit_graph_constant(graph, 0);
  size_t n_dot = 0;
  for (size_t i = 0; i < n; i++) {
    if (a[i] == NONE || b[i] == NONE) {
      return NONE;
    }
    bool is_term = is_dot_term(graph, a[i], b[i]) || is_dot_term(graph, b[i], a[i]);
    n_dot += is_term;
    if (!is_term) {
      rest = binary(graph, TACIT_OP_ADD, rest, binary(graph, TACIT_OP_MUL, a[i], b[i]));
    }
  }
  if (rest == NONE || n_dot == 0) {
    return rest;
  }
  size_t first = more_lists(graph, 2 * n_dot);
  if (first == SIZE_MAX) {
    return NONE;
  }
  uint32_t *data = graph->lists + first, *parameters = data + n_dot;
  for (size_t i = 0, k = 0; i < n; i++) {
    if (is_dot_term(graph, a[i], b[i]) || is_dot_term(graph, b[i], a[i])) {
      bool in_order = is_dot_term(graph, a[i], b[i]);
      data[k] = in_order ? a[i] : b[i];
      parameters[k++] = in_order ? b[i] : a[i];
    }
  }
  tacit_graph_node_t node = {.op = TACIT_OP_DOT,
                             .rate = TACIT_RATE_MIXED,
                             .a = (uint32_t)first,
                             .b = (uint32_t)(first + n_dot),
                             .c = (uint32_t)n_dot};
  return binary(graph, TACIT_OP_ADD, intern_list(graph, node, first), rest);
}

/* ---- elements chosen by data ---- */

tacit_node_t tacit_graph_intern_lookup(tacit_graph_t *graph, tacit_node_t index, double lower, size_t n,
                                       const tacit_node_t *elements) {
  unsigned rate = at(graph, index).rate;
  bool all_same = true;
  for (size_t i = 0; i < n; i++) {
    if (elements[i] == NONE) {
      return NONE;
    }
    rate |= at(graph, elements[i]).rate;
    all_same = all_same && elements[i] == elements[0];
  }
  if (all_same) {
    return elements[0];
  }
  size_t first = more_lists(graph, n);
  if (first == SIZE_MAX) {
    return NONE;
  }
  memcpy(graph->lists + first, elements, n * sizeof *elements);
  return intern_list(graph,
                     (tacit_graph_node_t){.op = TACIT_OP_LOOKUP,
                                          .rate = (uint8_t)rate,
                                          .a = index,
                                          .b = (uint32_t)first,
                                          .c = (uint32_t)n,
                                          .value = lower},
                     first);
}

int64_t tacit_graph_run(const tacit_graph_t *graph, const uint32_t *elements, size_t n, size_t *stride) {
  for (size_t i = 0; i < n; i++) {
    if (at(graph, elements[i]).op != TACIT_OP_PARAMETER) {
      return -1;
    }
  }
  uint32_t first = at(graph, elements[0]).a, second = n > 1 ? at(graph, elements[1]).a : first + 1;
  if (second <= first) {
    return -1;
  }
  *stride = second - first;
  for (size_t i = 2; i < n; i++) {
    if (at(graph, elements[i]).a != first + i * *stride) {
      return -1;
    }
  }
  return first;
}

typedef struct unify {
  tacit_graph_t *graph;
  tacit_node_t index;
  double lower;
  size_t n;
} unify_t;

/* The one operand position of all elements. */
static tacit_node_t *operands(const unify_t *u, const tacit_node_t *elements, unsigned which) {
  tacit_node_t *out = tacit_alloc(u->n, sizeof *out);
  for (size_t i = 0; out != NULL && i < u->n; i++) {
    const tacit_graph_node_t node = at(u->graph, elements[i]);
    out[i] = which == 0 ? node.a : which == 1 ? node.b : node.c;
  }
  return out;
}

/*
 * Elements that differ by the number of a parameter only become one expression of a gathered parameter:
 * alpha[g] with alpha_k = mu + tau z_k is mu + tau z[g]. NONE where they differ otherwise; *found tells
 * whether a parameter was gathered.
 */
static tacit_node_t unify(const unify_t *u, const tacit_node_t *elements, unsigned depth, bool *found) {
  const tacit_graph_node_t first = at(u->graph, elements[0]);
  bool all_same = true, same_op = true, all_constant = true;
  for (size_t i = 0; i < u->n; i++) {
    all_same = all_same && elements[i] == elements[0];
    same_op = same_op && at(u->graph, elements[i]).op == first.op;
    all_constant = all_constant && at(u->graph, elements[i]).op == TACIT_OP_CONSTANT;
  }
  size_t stride;
  if (all_same) {
    return elements[0];
  }
  if (tacit_graph_run(u->graph, elements, u->n, &stride) >= 0) {
    *found = true;
    return tacit_graph_intern_lookup(u->graph, u->index, u->lower, u->n, elements);
  }
  if (all_constant) {
    return tacit_graph_intern_lookup(u->graph, u->index, u->lower, u->n, elements);
  }
  tacit_op_t op = (tacit_op_t)first.op;
  if (!same_op || tacit_op_arity(op) == 0 || depth == 0) {
    return NONE;
  }
  tacit_node_t result[3] = {NONE, NONE, NONE};
  for (unsigned which = 0; which < tacit_op_arity(op); which++) {
    tacit_node_t *list = operands(u, elements, which);
    if (list == NULL) {
      return tacit_graph_refuse(u->graph, TACIT_ERR_MEMORY, NULL);
    }
    result[which] = unify(u, list, depth - 1, found);
    tacit_free(list);
    if (result[which] == NONE) {
      return NONE;
    }
  }
  return tacit_graph_apply(u->graph, op, result[0], result[1], result[2]);
}

/* index - 1 clamped is the element; the index a column of whole numbers, or a whole number more. */
static bool of_column(const tacit_graph_t *graph, tacit_node_t index, tacit_node_t *column, double *offset) {
  tacit_graph_node_t node = at(graph, index);
  *column = index;
  *offset = 0;
  if (node.op == TACIT_OP_ADD && at(graph, node.b).op == TACIT_OP_CONSTANT) {
    *column = node.a;
    *offset = at(graph, node.b).value;
  }
  node = at(graph, *column);
  return node.op == TACIT_OP_COLUMN && graph->columns[node.a].is_integer &&
         graph->columns[node.a].upper - graph->columns[node.a].lower < TACIT_GRAPH_MAX_TABLE;
}

static tacit_node_t lookup(tacit_graph_t *graph, tacit_node_t index, double lower, size_t n,
                           const tacit_node_t *elements) {
  bool found = false;
  unify_t u = {graph, index, lower, n};
  tacit_node_t unified = n > 1 ? unify(&u, elements, MAX_DEPTH, &found) : NONE;
  return unified != NONE && found    ? unified
         : graph->status == TACIT_OK ? tacit_graph_intern_lookup(graph, index, lower, n, elements)
                                     : NONE;
}

/* The same elements, numbered by the values of a column. */
static tacit_node_t lookup_by_column(tacit_graph_t *graph, tacit_node_t column, double offset, size_t n,
                                     const tacit_node_t *elements) {
  const tacit_graph_column_t *c = &graph->columns[at(graph, column).a];
  size_t n_values = (size_t)(c->upper - c->lower) + 1;
  double lower = c->lower;
  tacit_node_t *chosen = tacit_alloc(n_values, sizeof *chosen);
  if (chosen == NULL) {
    return tacit_graph_refuse(graph, TACIT_ERR_MEMORY, NULL);
  }
  for (size_t i = 0; i < n_values; i++) {
    double k = lower + (double)i + offset;
    chosen[i] = elements[k <= 1 ? 0 : k >= (double)n ? n - 1 : (size_t)k - 1];
  }
  tacit_node_t node = lookup(graph, column, lower, n_values, chosen);
  tacit_free(chosen);
  return node;
}

tacit_node_t tacit_graph_index(tacit_graph_t *graph, tacit_node_t index, size_t n,
                               const tacit_node_t *elements) {
  bool is_uniform = true;
  if (index == NONE || n == 0 || n > UINT32_MAX / 4) {
    return NONE;
  }
  for (size_t i = 0; i < n; i++) {
    if (elements[i] == NONE) {
      return NONE;
    }
    is_uniform = is_uniform && at(graph, elements[i]).rate <= TACIT_RATE_PARAMETER;
  }
  double k, offset;
  tacit_node_t column;
  if (tacit_graph_is_constant(graph, index, &k)) {
    return elements[!(k > 1) ? 0 : k >= (double)n ? n - 1 : (size_t)k - 1];
  }
  if ((at(graph, index).rate & TACIT_RATE_PARAMETER) != 0) {
    return tacit_graph_refuse(graph, TACIT_ERR_ARGUMENT, "an index may depend on data, not on parameters");
  }
  if (is_uniform) {
    return of_column(graph, index, &column, &offset) ? lookup_by_column(graph, column, offset, n, elements)
                                                     : lookup(graph, index, 1, n, elements);
  }
  tacit_node_t chosen = elements[n - 1];
  for (size_t i = n - 1; i-- > 0;) {
    tacit_node_t here = binary(graph, TACIT_OP_AT_MOST, index, tacit_graph_constant(graph, (double)(i + 1)));
    chosen = tacit_graph_apply(graph, TACIT_OP_SELECT, here, elements[i], chosen);
  }
  return chosen;
}

/* ---- operations on what was chosen ---- */

/* Lookups whose elements are not just parameters one after another: those are gathered, and their gradient
 * is. */
static bool is_table(const tacit_graph_t *graph, tacit_node_t node) {
  const tacit_graph_node_t n = at(graph, node);
  size_t stride;
  return n.op == TACIT_OP_LOOKUP && n.rate == TACIT_RATE_MIXED && n.c <= TACIT_GRAPH_MAX_PUSH &&
         tacit_graph_run(graph, graph->lists + n.b, n.c, &stride) < 0;
}

/* What an expression is where the column has a value; NONE where it looks at anything else. */
static tacit_node_t at_value(tacit_graph_t *graph, tacit_node_t node, const tacit_graph_node_t *table,
                             size_t i, unsigned depth) {
  const tacit_graph_node_t n = at(graph, node);
  if (n.rate <= TACIT_RATE_PARAMETER) {
    return node;
  }
  if (node == table->a) {
    return tacit_graph_constant(graph, table->value + (double)i);
  }
  if (n.op == TACIT_OP_LOOKUP && n.a == table->a && n.c == table->c && n.value == table->value) {
    return is_table(graph, node) || n.rate == TACIT_RATE_DATA ? graph->lists[n.b + i] : NONE;
  }
  if (tacit_op_arity((tacit_op_t)n.op) == 0 || depth == 0 || n.rate == TACIT_RATE_MIXED) {
    return NONE;
  }
  tacit_node_t operand[3] = {n.a, n.b, n.c};
  for (unsigned k = 0; k < tacit_op_arity((tacit_op_t)n.op); k++) {
    operand[k] = at_value(graph, operand[k], table, i, depth - 1);
    if (operand[k] == NONE) {
      return NONE;
    }
  }
  return tacit_graph_apply(graph, (tacit_op_t)n.op, operand[0], operand[1], operand[2]);
}

tacit_node_t tacit_graph_push(tacit_graph_t *graph, tacit_op_t op, const tacit_node_t operand[3]) {
  unsigned arity = tacit_op_arity(op);
  tacit_graph_node_t table = {0};
  for (unsigned k = 0; k < arity; k++) {
    if (is_table(graph, operand[k])) {
      table = at(graph, operand[k]);
    }
  }
  tacit_node_t elements[TACIT_GRAPH_MAX_PUSH];
  if (table.op != TACIT_OP_LOOKUP) {
    return NONE;
  }
  for (size_t i = 0; i < table.c; i++) {
    tacit_node_t value[3] = {NONE, NONE, NONE};
    for (unsigned k = 0; k < arity; k++) {
      value[k] = at_value(graph, operand[k], &table, i, 8);
      if (value[k] == NONE) {
        return NONE;
      }
    }
    elements[i] = tacit_graph_apply(graph, op, value[0], value[1], value[2]);
  }
  return tacit_graph_intern_lookup(graph, table.a, table.value, table.c, elements);
}
