/*
 * tacit_graph_apply(): identities of real numbers, applied as nodes are made. Each holds wherever both sides
 * are defined; none changes which parameters a value depends on but by what does not matter to it.
 */
#include <math.h>

#include "program/graph_internal.h"

enum { NONE = TACIT_NODE_NONE };

typedef struct simplify {
  tacit_graph_t *graph;
  tacit_op_t op;
  tacit_node_t a, b, c;
} simplify_t;

/* A copy, since nodes move when more are made. */
static tacit_graph_node_t at(const tacit_graph_t *graph, tacit_node_t node) { return graph->nodes[node]; }
static bool is(const tacit_graph_t *graph, tacit_node_t node, tacit_op_t op) {
  return at(graph, node).op == op;
}
static bool is_value(const tacit_graph_t *graph, tacit_node_t node, double value) {
  return is(graph, node, TACIT_OP_CONSTANT) && at(graph, node).value == value;
}
static bool is_infinite(const tacit_graph_t *graph, tacit_node_t node) {
  return is(graph, node, TACIT_OP_CONSTANT) && isinf(at(graph, node).value);
}
static bool is_mixed(const tacit_graph_t *graph, tacit_node_t node) {
  return at(graph, node).rate == TACIT_RATE_MIXED;
}
static bool is_uniform(const tacit_graph_t *graph, tacit_node_t node) {
  return at(graph, node).rate <= TACIT_RATE_PARAMETER;
}

static tacit_node_t unary(tacit_graph_t *graph, tacit_op_t op, tacit_node_t a) {
  return tacit_graph_apply(graph, op, a, NONE, NONE);
}
static tacit_node_t binary(tacit_graph_t *graph, tacit_op_t op, tacit_node_t a, tacit_node_t b) {
  return tacit_graph_apply(graph, op, a, b, NONE);
}

static tacit_node_t add(tacit_graph_t *g, tacit_node_t a, tacit_node_t b) {
  if (is_value(g, a, 0) || is_infinite(g, b)) {
    return b;
  }
  if (is_value(g, b, 0)) {
    return a;
  }
  if (a == b) {
    return binary(g, TACIT_OP_MUL, a, tacit_graph_constant(g, 2));
  }
  if (is(g, b, TACIT_OP_NEG)) {
    return binary(g, TACIT_OP_SUB, a, at(g, b).a);
  }
  if (is(g, a, TACIT_OP_NEG)) {
    return binary(g, TACIT_OP_SUB, b, at(g, a).a);
  }
  if (is(g, a, TACIT_OP_SUB) && at(g, a).b == b) { /* (x - b) + b */
    return at(g, a).a;
  }
  if (is(g, b, TACIT_OP_SUB) && at(g, b).b == a) {
    return at(g, b).a;
  }
  for (int turn = 0; turn < 2; turn++) { /* u + (v + m), u and v uniform: u + v is computed once a pass */
    tacit_node_t u = turn == 0 ? a : b, m = turn == 0 ? b : a;
    if (is_uniform(g, u) && is_mixed(g, m) && is(g, m, TACIT_OP_ADD) && is_uniform(g, at(g, m).b)) {
      return binary(g, TACIT_OP_ADD, at(g, m).a, binary(g, TACIT_OP_ADD, u, at(g, m).b));
    }
  }
  return NONE;
}

static tacit_node_t sub(tacit_graph_t *g, tacit_node_t a, tacit_node_t b) {
  if (a == b) {
    return tacit_graph_constant(g, 0);
  }
  if (is_value(g, b, 0) || is_infinite(g, a)) {
    return a;
  }
  if (is_value(g, a, 0)) {
    return unary(g, TACIT_OP_NEG, b);
  }
  if (is(g, b, TACIT_OP_CONSTANT)) {
    return binary(g, TACIT_OP_ADD, a, tacit_graph_constant(g, -at(g, b).value));
  }
  if (is(g, b, TACIT_OP_NEG)) {
    return binary(g, TACIT_OP_ADD, a, at(g, b).a);
  }
  if (is(g, a, TACIT_OP_ADD) && at(g, a).a == b) { /* (b + x) - b */
    return at(g, a).b;
  }
  if (is(g, a, TACIT_OP_ADD) && at(g, a).b == b) {
    return at(g, a).a;
  }
  if (is(g, b, TACIT_OP_ADD) && (at(g, b).a == a || at(g, b).b == a)) { /* a - (a + x) */
    return unary(g, TACIT_OP_NEG, at(g, b).a == a ? at(g, b).b : at(g, b).a);
  }
  if (is(g, b, TACIT_OP_SUB) && at(g, b).a == a) { /* a - (a - x) */
    return at(g, b).b;
  }
  if (is(g, a, TACIT_OP_NEG)) { /* -x - b */
    return unary(g, TACIT_OP_NEG, binary(g, TACIT_OP_ADD, at(g, a).a, b));
  }
  return NONE;
}

static tacit_node_t mul(tacit_graph_t *g, tacit_node_t a, tacit_node_t b) {
  for (int turn = 0; turn < 2; turn++) {
    tacit_node_t x = turn == 0 ? a : b, y = turn == 0 ? b : a;
    if (is_value(g, x, 0)) {
      return x;
    }
    if (is_value(g, x, 1)) {
      return y;
    }
    if (is_value(g, x, -1)) {
      return unary(g, TACIT_OP_NEG, y);
    }
    if (is(g, x, TACIT_OP_NEG)) {
      return is(g, y, TACIT_OP_CONSTANT)
                 ? binary(g, TACIT_OP_MUL, at(g, x).a, tacit_graph_constant(g, -at(g, y).value))
                 : unary(g, TACIT_OP_NEG, binary(g, TACIT_OP_MUL, at(g, x).a, y));
    }
    if (is(g, y, TACIT_OP_RATIO1) && at(g, y).a == x) { /* x (x / (1 + x^2)) */
      return unary(g, TACIT_OP_RATIO2, x);
    }
    if (is(g, x, TACIT_OP_DIV) && is_value(g, at(g, x).a, 1) && at(g, x).b == y) { /* (1 / y) y */
      return at(g, x).a;
    }
    if (is_uniform(g, x) && is(g, y, TACIT_OP_MUL) && is_uniform(g, at(g, y).b) &&
        !is_uniform(g, at(g, y).a)) {
      return binary(g, TACIT_OP_MUL, at(g, y).a, binary(g, TACIT_OP_MUL, x, at(g, y).b));
    }
  }
  if (is(g, a, TACIT_OP_EXP) && is(g, b, TACIT_OP_EXP) && a != b) {
    const tacit_node_t x = at(g, a).a, y = at(g, b).a;
    if (is(g, x, TACIT_OP_NEG) && at(g, x).a == y) {
      return tacit_graph_constant(g, 1);
    }
  }
  return NONE;
}

static tacit_node_t div_(tacit_graph_t *g, tacit_node_t a, tacit_node_t b) {
  if (a == b) {
    return tacit_graph_constant(g, 1);
  }
  if (is_value(g, b, 1) || is_value(g, a, 0)) {
    return a;
  }
  if (is(g, b, TACIT_OP_EXP)) { /* a / e^x */
    return binary(g, TACIT_OP_MUL, a, unary(g, TACIT_OP_EXP, unary(g, TACIT_OP_NEG, at(g, b).a)));
  }
  if (is(g, a, TACIT_OP_NEG)) {
    return unary(g, TACIT_OP_NEG, binary(g, TACIT_OP_DIV, at(g, a).a, b));
  }
  if (is(g, a, TACIT_OP_MUL) && (at(g, a).a == b || at(g, a).b == b)) {
    return at(g, a).a == b ? at(g, a).b : at(g, a).a;
  }
  if (is_value(g, a, 1) && is(g, b, TACIT_OP_ADD)) { /* 1 / (1 + e^x) */
    tacit_node_t x = at(g, b).a, y = at(g, b).b;
    if (is_value(g, y, 1) && is(g, x, TACIT_OP_EXP)) {
      return unary(g, TACIT_OP_INV_LOGIT, unary(g, TACIT_OP_NEG, at(g, x).a));
    }
  }
  bool is_late = is_mixed(g, a) && is_uniform(g, b); /* the reciprocal is computed once a pass */
  if (is_late && !is_value(g, a, 1)) {
    return binary(g, TACIT_OP_MUL, a, binary(g, TACIT_OP_DIV, tacit_graph_constant(g, 1), b));
  }
  return NONE;
}

static tacit_node_t power(tacit_graph_t *g, tacit_node_t a, tacit_node_t b) {
  double exponent;
  if (!tacit_graph_is_constant(g, b, &exponent)) {
    return NONE;
  }
  if (exponent == 0) {
    return tacit_graph_constant(g, 1);
  }
  if (exponent == 0.5) {
    return unary(g, TACIT_OP_SQRT, a);
  }
  if (exponent == floor(exponent) && fabs(exponent) <= 8) {
    tacit_node_t product = a;
    for (double i = 1; i < fabs(exponent); i++) {
      product = binary(g, TACIT_OP_MUL, product, a);
    }
    return exponent > 0 ? product : binary(g, TACIT_OP_DIV, tacit_graph_constant(g, 1), product);
  }
  return NONE;
}

/* For certain; constrained parameters are made so. */
static bool is_positive(const tacit_graph_t *g, tacit_node_t node, unsigned depth) {
  const tacit_graph_node_t n = at(g, node);
  switch (n.op) {
  case TACIT_OP_CONSTANT:
    return n.value > 0 && isfinite(n.value);
  case TACIT_OP_EXP:
  case TACIT_OP_LOG1P_EXP:
  case TACIT_OP_INV_LOGIT:
    return true;
  case TACIT_OP_SQRT:
    return depth > 0 && is_positive(g, n.a, depth - 1);
  case TACIT_OP_ADD:
  case TACIT_OP_MUL:
  case TACIT_OP_DIV:
    return depth > 0 && is_positive(g, n.a, depth - 1) && is_positive(g, n.b, depth - 1);
  default:
    return false;
  }
}

/* log(1 + x) */
static tacit_node_t log_one_plus(tacit_graph_t *g, tacit_node_t x) {
  if (is(g, x, TACIT_OP_EXP)) {
    return unary(g, TACIT_OP_LOG1P_EXP, at(g, x).a);
  }
  if (is(g, x, TACIT_OP_MUL)) { /* u z^2 = (z sqrt(u))^2, whose slope is known to be bounded */
    const tacit_graph_node_t product = at(g, x), z2 = at(g, product.a);
    if (z2.op == TACIT_OP_MUL && z2.a == z2.b && is_uniform(g, product.b) && is_positive(g, product.b, 8)) {
      tacit_node_t z = binary(g, TACIT_OP_MUL, z2.a, unary(g, TACIT_OP_SQRT, product.b));
      return unary(g, TACIT_OP_LOG1P, binary(g, TACIT_OP_MUL, z, z));
    }
  }
  if (is(g, x, TACIT_OP_NEG) && is(g, at(g, x).a, TACIT_OP_EXP)) {
    return unary(g, TACIT_OP_LOG1M_EXP, at(g, at(g, x).a).a);
  }
  if (is(g, x, TACIT_OP_NEG) && is(g, at(g, x).a, TACIT_OP_INV_LOGIT)) { /* log(1 - 1 / (1 + e^-y)) */
    return unary(g, TACIT_OP_NEG, unary(g, TACIT_OP_LOG1P_EXP, at(g, at(g, x).a).a));
  }
  return NONE;
}

static tacit_node_t logarithm(tacit_graph_t *g, tacit_node_t x) {
  const tacit_graph_node_t n = at(g, x);
  switch (n.op) {
  case TACIT_OP_EXP:
    return n.a;
  case TACIT_OP_PHI:
    return unary(g, TACIT_OP_LOG_PHI, n.a);
  case TACIT_OP_INV_LOGIT:
    return unary(g, TACIT_OP_NEG, unary(g, TACIT_OP_LOG1P_EXP, unary(g, TACIT_OP_NEG, n.a)));
  case TACIT_OP_SQRT:
    return binary(g, TACIT_OP_MUL, unary(g, TACIT_OP_LOG, n.a), tacit_graph_constant(g, 0.5));
  case TACIT_OP_ADD:
    return is_value(g, n.b, 1) ? log_one_plus(g, n.a) : NONE;
  case TACIT_OP_SUB:
    return is_value(g, n.a, 1) ? log_one_plus(g, unary(g, TACIT_OP_NEG, n.b)) : NONE;
  case TACIT_OP_DIV:
    return is_value(g, n.a, 1) ? unary(g, TACIT_OP_NEG, unary(g, TACIT_OP_LOG, n.b)) : NONE;
  default:
    return NONE;
  }
}

static tacit_node_t negation(tacit_graph_t *g, tacit_node_t x) {
  const tacit_graph_node_t n = at(g, x);
  if (n.op == TACIT_OP_NEG) {
    return n.a;
  }
  if (n.op == TACIT_OP_SUB) {
    return binary(g, TACIT_OP_SUB, n.b, n.a);
  }
  if (n.op == TACIT_OP_MUL && is(g, n.b, TACIT_OP_CONSTANT)) {
    return binary(g, TACIT_OP_MUL, n.a, tacit_graph_constant(g, -at(g, n.b).value));
  }
  return NONE;
}

static tacit_node_t one_operand(tacit_graph_t *g, tacit_op_t op, tacit_node_t x) {
  const tacit_graph_node_t n = at(g, x);
  switch (op) {
  case TACIT_OP_NEG:
    return negation(g, x);
  case TACIT_OP_LOG:
    return logarithm(g, x);
  case TACIT_OP_LOG1P:
    return log_one_plus(g, x);
  case TACIT_OP_EXP:
    return n.op == TACIT_OP_LOG ? n.a : NONE;
  case TACIT_OP_ABS:
    return n.op == TACIT_OP_ABS || n.op == TACIT_OP_EXP ? x : NONE;
  case TACIT_OP_SQRT:
    return n.op == TACIT_OP_MUL && n.a == n.b ? unary(g, TACIT_OP_ABS, n.a) : NONE;
  case TACIT_OP_LOG1M_EXP: /* log(1 - e^-log(1 + e^y)) */
    if (n.op == TACIT_OP_NEG && is(g, n.a, TACIT_OP_LOG1P_EXP)) {
      return unary(g, TACIT_OP_NEG, unary(g, TACIT_OP_LOG1P_EXP, unary(g, TACIT_OP_NEG, at(g, n.a).a)));
    }
    return NONE;
  default:
    return NONE;
  }
}

/* What a column is packed as: a float, so the bounds as they are rounded. */
static bool known_range(const tacit_graph_t *g, tacit_node_t node, double *low, double *high) {
  const tacit_graph_node_t n = at(g, node);
  if (n.op == TACIT_OP_COLUMN) {
    const tacit_graph_column_t *c = &g->columns[n.a];
    *low = fmin(c->lower, (double)(float)c->lower);
    *high = fmax(c->upper, (double)(float)c->upper);
    return true;
  }
  tacit_affine_t of;
  if (n.rate == TACIT_RATE_DATA && tacit_graph_affine(g, node, &of)) {
    const tacit_graph_column_t *c = &g->columns[of.column];
    double x = of.a * c->lower + of.b, y = of.a * c->upper + of.b;
    double slack =
        of.b < 0 || of.b > 0 ? 1e-6 * (fabs(x) + fabs(y)) : 0; /* of a multiple the sign is exact */
    *low = fmin(x, y) - fmax(slack, 1e-6 * fabs(fmin(x, y)));
    *high = fmax(x, y) + fmax(slack, 1e-6 * fabs(fmax(x, y)));
    return true;
  }
  *low = *high = n.value;
  if (n.op != TACIT_OP_CONSTANT && is_positive(g, node, 8)) {
    *low = 0;
    *high = INFINITY;
    return true;
  }
  return n.op == TACIT_OP_CONSTANT && !isnan(n.value);
}

/* Conditions that public bounds decide. */
static tacit_node_t comparison(tacit_graph_t *g, tacit_op_t op, tacit_node_t a, tacit_node_t b) {
  double a_low, a_high, b_low, b_high;
  if (a == b && op != TACIT_OP_LESS) {
    return tacit_graph_constant(g, 1);
  }
  if (!known_range(g, a, &a_low, &a_high) || !known_range(g, b, &b_low, &b_high)) {
    return NONE;
  }
  bool must = op == TACIT_OP_LESS ? a_high < b_low : op == TACIT_OP_AT_MOST ? a_high <= b_low : false;
  bool cannot = op == TACIT_OP_LESS      ? a_low >= b_high
                : op == TACIT_OP_AT_MOST ? a_low > b_high
                                         : a_high < b_low || b_high < a_low;
  return must || cannot ? tacit_graph_constant(g, must) : NONE;
}

static tacit_node_t select_(tacit_graph_t *g, tacit_node_t condition, tacit_node_t yes, tacit_node_t no) {
  double truth;
  if (tacit_graph_is_constant(g, condition, &truth)) {
    return truth != 0 ? yes : no;
  }
  if (yes == no) {
    return yes;
  }
  if (is(g, yes, TACIT_OP_SELECT) && at(g, yes).a == condition) {
    return tacit_graph_apply(g, TACIT_OP_SELECT, condition, at(g, yes).b, no);
  }
  if (is(g, no, TACIT_OP_SELECT) && at(g, no).a == condition) {
    return tacit_graph_apply(g, TACIT_OP_SELECT, condition, yes, at(g, no).c);
  }
  return NONE;
}

static tacit_node_t simplified(const simplify_t *s) {
  switch (s->op) {
  case TACIT_OP_ADD:
    return add(s->graph, s->a, s->b);
  case TACIT_OP_SUB:
    return sub(s->graph, s->a, s->b);
  case TACIT_OP_MUL:
    return mul(s->graph, s->a, s->b);
  case TACIT_OP_DIV:
    return div_(s->graph, s->a, s->b);
  case TACIT_OP_POW:
    return power(s->graph, s->a, s->b);
  case TACIT_OP_MIN:
  case TACIT_OP_MAX:
    return s->a == s->b ? s->a : NONE;
  case TACIT_OP_LGAMMA_DIFF:
  case TACIT_OP_DIGAMMA_DIFF:
    return is_value(s->graph, s->b, 0) ? s->b : NONE;
  case TACIT_OP_LESS:
  case TACIT_OP_AT_MOST:
  case TACIT_OP_EQUAL:
    return comparison(s->graph, s->op, s->a, s->b);
  case TACIT_OP_LOG_ADD_EXP:
    return is_value(s->graph, s->a, -INFINITY) ? s->b : is_value(s->graph, s->b, -INFINITY) ? s->a : NONE;
  case TACIT_OP_SELECT:
    return select_(s->graph, s->a, s->b, s->c);
  default:
    return s->b == NONE ? one_operand(s->graph, s->op, s->a) : NONE;
  }
}

static bool commutes(tacit_op_t op) {
  return op == TACIT_OP_ADD || op == TACIT_OP_MUL || op == TACIT_OP_EQUAL || op == TACIT_OP_LOG_ADD_EXP;
}

/* What is known earlier comes second, and of the same rate what was made later. */
static bool is_out_of_order(const tacit_graph_t *graph, tacit_node_t a, tacit_node_t b) {
  int rate_a = at(graph, a).rate, rate_b = at(graph, b).rate;
  return rate_a != rate_b ? rate_a < rate_b : a > b;
}

tacit_node_t tacit_graph_apply(tacit_graph_t *graph, tacit_op_t op, tacit_node_t a, tacit_node_t b,
                               tacit_node_t c) {
  tacit_node_t operand[3] = {a, b, c};
  unsigned arity = tacit_op_arity(op), rate = 0;
  bool all_constant = true;
  if (arity == 0) {
    return tacit_graph_refuse(graph, TACIT_ERR_ARGUMENT, "no such operation");
  }
  for (unsigned i = 0; i < 3; i++) {
    if ((operand[i] == NONE) != (i >= arity) || operand[i] >= graph->n_nodes) {
      return tacit_graph_refuse(graph, TACIT_ERR_ARGUMENT, "an operation has another number of operands");
    }
    rate |= at(graph, operand[i]).rate;
    all_constant = all_constant && (i >= arity || is(graph, operand[i], TACIT_OP_CONSTANT));
  }
  if (all_constant) {
    double value[3] = {at(graph, a).value, at(graph, b).value, at(graph, c).value};
    return tacit_graph_constant(graph, tacit_op_value(op, value[0], value[1], value[2]));
  }
  if (commutes(op) && is_out_of_order(graph, a, b)) {
    operand[0] = b;
    operand[1] = a;
  }
  tacit_node_t node = simplified(&(simplify_t){graph, op, operand[0], operand[1], c});
  if (node == NONE && graph->status == TACIT_OK) {
    node = tacit_graph_push(graph, op, operand);
  }
  if (node != NONE || graph->status != TACIT_OK) {
    return node;
  }
  return tacit_graph_intern(
      graph, (tacit_graph_node_t){
                 .op = (uint8_t)op, .rate = (uint8_t)rate, .a = operand[0], .b = operand[1], .c = c});
}
