/* Constrained parameters: transforms of unconstrained ones, and their log Jacobians. */
#include <math.h>

#include "base/base_internal.h"
#include "program/graph_internal.h"

enum { NONE = TACIT_NODE_NONE };

static tacit_node_t unary(tacit_graph_t *g, tacit_op_t op, tacit_node_t a) { return tacit_graph_apply(g, op, a, NONE, NONE); }
static tacit_node_t binary(tacit_graph_t *g, tacit_op_t op, tacit_node_t a, tacit_node_t b) {
  return tacit_graph_apply(g, op, a, b, NONE);
}
static tacit_node_t log1p_exp(tacit_graph_t *g, tacit_node_t a) { return unary(g, TACIT_OP_LOG1P_EXP, a); }
static tacit_node_t neg(tacit_graph_t *g, tacit_node_t a) { return unary(g, TACIT_OP_NEG, a); }

static tacit_node_t unconstrained(tacit_graph_t *graph, const char *name) {
  if (graph->n_parameters >= TACIT_GRAPH_MAX_PARAMETERS) {
    return tacit_graph_refuse(graph, TACIT_ERR_ARGUMENT, "the program has more than 16384 parameters");
  }
  if (!tacit_graph_grow(graph, &graph->parameters, graph->n_parameters, &graph->parameter_capacity, sizeof *graph->parameters)) {
    return NONE;
  }
  tacit_node_t node = tacit_graph_intern(
      graph,
      (tacit_graph_node_t){.op = TACIT_OP_PARAMETER, .rate = TACIT_RATE_PARAMETER, .a = (uint32_t)graph->n_parameters});
  char *copy = tacit_strdup(name);
  if (node == NONE || copy == NULL) {
    tacit_free(copy);
    return tacit_graph_refuse(graph, TACIT_ERR_MEMORY, NULL);
  }
  graph->parameters[graph->n_parameters++] = (tacit_graph_parameter_t){node, copy};
  return node;
}

/* log of inv_logit(u) (1 - inv_logit(u)) */
static tacit_node_t log_logistic_slope(tacit_graph_t *g, tacit_node_t u) {
  return neg(g, binary(g, TACIT_OP_ADD, log1p_exp(g, u), log1p_exp(g, neg(g, u))));
}

static tacit_node_t transform(tacit_graph_t *g, tacit_constraint_t constraint, tacit_node_t u, tacit_node_t a, tacit_node_t b) {
  switch (constraint) {
    case TACIT_CONSTRAINT_LOWER:
      tacit_graph_add_prior_term(g, u);
      return binary(g, TACIT_OP_ADD, a, unary(g, TACIT_OP_EXP, u));
    case TACIT_CONSTRAINT_UPPER:
      tacit_graph_add_prior_term(g, u);
      return binary(g, TACIT_OP_SUB, b, unary(g, TACIT_OP_EXP, u));
    case TACIT_CONSTRAINT_INTERVAL: {
      tacit_node_t width = binary(g, TACIT_OP_SUB, b, a);
      tacit_graph_add_prior_term(g, binary(g, TACIT_OP_ADD, unary(g, TACIT_OP_LOG, width), log_logistic_slope(g, u)));
      return binary(g, TACIT_OP_ADD, a, binary(g, TACIT_OP_MUL, width, unary(g, TACIT_OP_INV_LOGIT, u)));
    }
    case TACIT_CONSTRAINT_AFFINE:
      tacit_graph_add_prior_term(g, unary(g, TACIT_OP_LOG, b));
      return binary(g, TACIT_OP_ADD, a, binary(g, TACIT_OP_MUL, b, u));
    default: return u;
  }
}

/* The first is u itself, or positive; each further one is log(1 + e^u) more, whose slope is inv_logit(u). */
static void ordered(tacit_graph_t *g, bool is_positive, size_t n, tacit_node_t *values) {
  for (size_t i = 0; i < n; i++) {
    tacit_node_t gap = values[i];
    if (i > 0 || is_positive) {
      gap = log1p_exp(g, values[i]);
      tacit_graph_add_prior_term(g, neg(g, log1p_exp(g, neg(g, values[i]))));
    }
    values[i] = i == 0 ? gap : binary(g, TACIT_OP_ADD, values[i - 1], gap);
  }
}

/*
 * Stick breaking: value i is z_i of what is left, z_i = inv_logit(u_i - log(n - 1 - i)), so that u = 0 is the middle. The log Jacobian
 * is the sum of log z_i + log(1 - z_i) + log(what is left).
 */
static void simplex(tacit_graph_t *g, size_t n, tacit_node_t *values) {
  tacit_node_t left = tacit_graph_constant(g, 1), log_left = tacit_graph_constant(g, 0);
  for (size_t i = 0; i + 1 < n; i++) {
    tacit_node_t u = binary(g, TACIT_OP_SUB, values[i],
                            unary(g, TACIT_OP_LOG, tacit_graph_constant(g, (double)(n - 1 - i))));
    tacit_graph_add_prior_term(g, binary(g, TACIT_OP_ADD, log_logistic_slope(g, u), log_left));
    values[i] = binary(g, TACIT_OP_MUL, left, unary(g, TACIT_OP_INV_LOGIT, u));
    left = binary(g, TACIT_OP_MUL, left, unary(g, TACIT_OP_INV_LOGIT, neg(g, u)));
    log_left = binary(g, TACIT_OP_SUB, log_left, log1p_exp(g, u));
  }
  values[n - 1] = left;
}

void tacit_graph_parameters(tacit_graph_t *graph, const char *name, tacit_constraint_t constraint, size_t n, tacit_node_t a,
                            tacit_node_t b, tacit_node_t *values) {
  bool is_simplex = constraint == TACIT_CONSTRAINT_SIMPLEX, needs_a = constraint == TACIT_CONSTRAINT_LOWER, needs_b = false;
  needs_b = constraint == TACIT_CONSTRAINT_UPPER;
  needs_a = needs_a || constraint == TACIT_CONSTRAINT_INTERVAL || constraint == TACIT_CONSTRAINT_AFFINE;
  needs_b = needs_b || constraint == TACIT_CONSTRAINT_INTERVAL || constraint == TACIT_CONSTRAINT_AFFINE;
  if ((needs_a && a == NONE) || (needs_b && b == NONE) ||
      ((tacit_graph_rate(graph, a) | tacit_graph_rate(graph, b)) & TACIT_RATE_DATA) != 0) {
    (void)tacit_graph_refuse(graph, TACIT_ERR_ARGUMENT, "a parameter's bounds may depend on earlier parameters, not on the records");
  }
  for (size_t i = 0; i < n; i++) {
    values[i] = NONE;
  }
  for (size_t i = 0; i + is_simplex < n && graph->status == TACIT_OK; i++) {
    values[i] = unconstrained(graph, name);
  }
  if (graph->status != TACIT_OK) {
    return;
  }
  if (constraint == TACIT_CONSTRAINT_ORDERED || constraint == TACIT_CONSTRAINT_POSITIVE_ORDERED) {
    ordered(graph, constraint == TACIT_CONSTRAINT_POSITIVE_ORDERED, n, values);
  } else if (is_simplex) {
    simplex(graph, n, values);
  } else {
    for (size_t i = 0; i < n; i++) {
      values[i] = transform(graph, constraint, values[i], a, b);
    }
  }
}
