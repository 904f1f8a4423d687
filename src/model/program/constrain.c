/* Constrained parameters: transforms of unconstrained ones, and their log Jacobians. */
#include <math.h>

#include "base/memory.h"
#include "program/graph_internal.h"

enum { NONE = TACIT_NODE_NONE };

static tacit_node_t unary(tacit_graph_t *g, tacit_op_t op, tacit_node_t a) {
  return tacit_graph_apply(g, op, a, NONE, NONE);
}
static tacit_node_t binary(tacit_graph_t *g, tacit_op_t op, tacit_node_t a, tacit_node_t b) {
  return tacit_graph_apply(g, op, a, b, NONE);
}
static tacit_node_t log1p_exp(tacit_graph_t *g, tacit_node_t a) { return unary(g, TACIT_OP_LOG1P_EXP, a); }
static tacit_node_t neg(tacit_graph_t *g, tacit_node_t a) { return unary(g, TACIT_OP_NEG, a); }

static tacit_node_t unconstrained(tacit_graph_t *graph, const char *name) {
  if (graph->n_parameters >= TACIT_GRAPH_MAX_PARAMETERS) {
    return tacit_graph_refuse(graph, TACIT_ERR_ARGUMENT, "the program has more than 16384 parameters");
  }
  if (!tacit_graph_grow(graph, &graph->parameters, graph->n_parameters, &graph->parameter_capacity,
                        sizeof *graph->parameters)) {
    return NONE;
  }
  tacit_node_t node = tacit_graph_intern(graph, (tacit_graph_node_t){.op = TACIT_OP_PARAMETER,
                                                                     .rate = TACIT_RATE_PARAMETER,
                                                                     .a = (uint32_t)graph->n_parameters});
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

static tacit_node_t transform(tacit_graph_t *g, tacit_constraint_t constraint, tacit_node_t u, tacit_node_t a,
                              tacit_node_t b) {
  switch (constraint) {
  case TACIT_CONSTRAINT_LOWER:
    tacit_graph_add_prior_term(g, u);
    return binary(g, TACIT_OP_ADD, a, unary(g, TACIT_OP_EXP, u));
  case TACIT_CONSTRAINT_UPPER:
    tacit_graph_add_prior_term(g, u);
    return binary(g, TACIT_OP_SUB, b, unary(g, TACIT_OP_EXP, u));
  case TACIT_CONSTRAINT_INTERVAL: {
    tacit_node_t width = binary(g, TACIT_OP_SUB, b, a);
    tacit_graph_add_prior_term(
        g, binary(g, TACIT_OP_ADD, unary(g, TACIT_OP_LOG, width), log_logistic_slope(g, u)));
    return binary(g, TACIT_OP_ADD, a, binary(g, TACIT_OP_MUL, width, unary(g, TACIT_OP_INV_LOGIT, u)));
  }
  case TACIT_CONSTRAINT_AFFINE:
    tacit_graph_add_prior_term(g, unary(g, TACIT_OP_LOG, b));
    return binary(g, TACIT_OP_ADD, a, binary(g, TACIT_OP_MUL, b, u));
  default:
    return u;
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
 * Stick breaking: value i is z_i of what is left, z_i = inv_logit(u_i - log(n - 1 - i)), so that u = 0 is the
 * middle. The log Jacobian is the sum of log z_i + log(1 - z_i) + log(what is left).
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

/* Helmert's: the i-th parameter moves the first i values one way and the next one back; the Jacobian is a
 * constant. As Stan's. */
static void sum_to_zero(tacit_graph_t *g, size_t n, tacit_node_t *values) {
  tacit_node_t sum = tacit_graph_constant(g, 0);
  for (size_t i = n - 1; i > 0; i--) {
    double scale = 1 / sqrt((double)i * ((double)i + 1));
    tacit_node_t w = binary(g, TACIT_OP_MUL, values[i - 1], tacit_graph_constant(g, scale));
    tacit_node_t back = binary(g, TACIT_OP_MUL, w, tacit_graph_constant(g, (double)i));
    values[i] = binary(g, TACIT_OP_SUB, sum, back);
    sum = binary(g, TACIT_OP_ADD, sum, w);
  }
  values[0] = sum;
}

/*
 * The Cholesky factor of a correlation matrix by rows: entry (i, j) is the partial correlation z = tanh(u) of
 * what the row's squares have left, and the diagonal takes the rest [LewandowskiKurowickaJoe2009]. Each
 * entry's log slope is log(1 - z^2) + log(left) / 2, and log(1 - tanh(u)^2) = log 4 + log of the logistic's
 * slope at 2 u. `free`, shape (k (k - 1) / 2), lies at the beginning of values.
 */
static void corr_cholesky(tacit_graph_t *g, size_t k, tacit_node_t *values) {
  tacit_node_t half = tacit_graph_constant(g, 0.5), two = tacit_graph_constant(g, 2),
               log_4 = tacit_graph_constant(g, log(4.0));
  size_t next =
      k * (k - 1) / 2; /* from the last row up, so that no parameter is overwritten before it is read */
  for (size_t i = k; i-- > 0;) {
    tacit_node_t *row = values + i * k, log_left = tacit_graph_constant(g, 0);
    next -= i;
    for (size_t j = 0; j < i; j++) {
      row[j] = values[next + j];
    }
    for (size_t j = 0; j < i; j++) {
      tacit_node_t log_rest =
          binary(g, TACIT_OP_ADD, log_4, log_logistic_slope(g, binary(g, TACIT_OP_MUL, two, row[j])));
      tacit_node_t log_scale = binary(g, TACIT_OP_MUL, half, log_left);
      tacit_graph_add_prior_term(g, binary(g, TACIT_OP_ADD, log_rest, log_scale));
      row[j] = binary(g, TACIT_OP_MUL, unary(g, TACIT_OP_TANH, row[j]), unary(g, TACIT_OP_EXP, log_scale));
      log_left = binary(g, TACIT_OP_ADD, log_left, log_rest);
    }
    row[i] = unary(g, TACIT_OP_EXP, binary(g, TACIT_OP_MUL, half, log_left));
    for (size_t j = i + 1; j < k; j++) {
      row[j] = tacit_graph_constant(g, 0);
    }
  }
}

/* L L' in place of L. An entry below the diagonal moves by L_jj for its own L_ij: the log Jacobian counts log
 * L_jj k - 1 - j times. */
static void corr(tacit_graph_t *g, size_t k, tacit_node_t *values) {
  for (size_t i = 0; i < k; i++) { /* above the diagonal, where L is 0 */
    for (size_t j = 0; j < i; j++) {
      tacit_node_t sum = tacit_graph_constant(g, 0);
      for (size_t m = 0; m <= j; m++) {
        sum = binary(g, TACIT_OP_ADD, sum, binary(g, TACIT_OP_MUL, values[i * k + m], values[j * k + m]));
      }
      values[j * k + i] = sum;
    }
  }
  for (size_t i = 0; i < k; i++) {
    tacit_node_t weight = tacit_graph_constant(g, (double)(k - 1 - i));
    tacit_graph_add_prior_term(g, binary(g, TACIT_OP_MUL, weight, unary(g, TACIT_OP_LOG, values[i * k + i])));
    values[i * k + i] = tacit_graph_constant(g, 1);
    for (size_t j = 0; j < i; j++) {
      values[i * k + j] = values[j * k + i];
    }
  }
}

/* Parameters that n values take. */
static size_t count_free(tacit_constraint_t constraint, size_t n) {
  switch (constraint) {
  case TACIT_CONSTRAINT_SUM_TO_ZERO:
  case TACIT_CONSTRAINT_SIMPLEX:
    return n - 1;
  case TACIT_CONSTRAINT_CORR:
  case TACIT_CONSTRAINT_CORR_CHOLESKY:
    return (n - (size_t)lround(sqrt((double)n))) / 2;
  default:
    return n;
  }
}

void tacit_graph_parameters(tacit_graph_t *graph, const char *name, tacit_constraint_t constraint, size_t n,
                            tacit_node_t a, tacit_node_t b, tacit_node_t *values) {
  bool needs_a = constraint == TACIT_CONSTRAINT_LOWER, needs_b = constraint == TACIT_CONSTRAINT_UPPER;
  needs_a = needs_a || constraint == TACIT_CONSTRAINT_INTERVAL || constraint == TACIT_CONSTRAINT_AFFINE;
  needs_b = needs_b || constraint == TACIT_CONSTRAINT_INTERVAL || constraint == TACIT_CONSTRAINT_AFFINE;
  if ((needs_a && a == NONE) || (needs_b && b == NONE) ||
      ((tacit_graph_rate(graph, a) | tacit_graph_rate(graph, b)) & TACIT_RATE_DATA) != 0) {
    (void)tacit_graph_refuse(graph, TACIT_ERR_ARGUMENT,
                             "a parameter's bounds may depend on earlier parameters, not on the records");
  }
  for (size_t i = 0; i < n; i++) {
    values[i] = NONE;
  }
  for (size_t i = 0; i < count_free(constraint, n) && graph->status == TACIT_OK; i++) {
    values[i] = unconstrained(graph, name);
  }
  if (graph->status != TACIT_OK) {
    return;
  }
  if (constraint == TACIT_CONSTRAINT_ORDERED || constraint == TACIT_CONSTRAINT_POSITIVE_ORDERED) {
    ordered(graph, constraint == TACIT_CONSTRAINT_POSITIVE_ORDERED, n, values);
  } else if (constraint == TACIT_CONSTRAINT_SIMPLEX) {
    simplex(graph, n, values);
  } else if (constraint == TACIT_CONSTRAINT_SUM_TO_ZERO) {
    sum_to_zero(graph, n, values);
  } else if (constraint == TACIT_CONSTRAINT_CORR || constraint == TACIT_CONSTRAINT_CORR_CHOLESKY) {
    size_t k = (size_t)lround(sqrt((double)n));
    corr_cholesky(graph, k, values);
    if (constraint == TACIT_CONSTRAINT_CORR) {
      corr(graph, k, values);
    }
  } else {
    for (size_t i = 0; i < n; i++) {
      values[i] = transform(graph, constraint, values[i], a, b);
    }
  }
}
