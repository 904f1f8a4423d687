#include "program/derivative.h"

#include "program/graph_internal.h"

enum { NONE = TACIT_NODE_NONE };

static tacit_node_t unary(tacit_graph_t *g, tacit_op_t op, tacit_node_t a) {
  return tacit_graph_apply(g, op, a, NONE, NONE);
}
static tacit_node_t binary(tacit_graph_t *g, tacit_op_t op, tacit_node_t a, tacit_node_t b) {
  return tacit_graph_apply(g, op, a, b, NONE);
}
static tacit_node_t mul(tacit_graph_t *g, tacit_node_t a, tacit_node_t b) {
  return binary(g, TACIT_OP_MUL, a, b);
}
static tacit_node_t div_(tacit_graph_t *g, tacit_node_t a, tacit_node_t b) {
  return binary(g, TACIT_OP_DIV, a, b);
}
static tacit_node_t add(tacit_graph_t *g, tacit_node_t a, tacit_node_t b) {
  return binary(g, TACIT_OP_ADD, a, b);
}
static tacit_node_t neg(tacit_graph_t *g, tacit_node_t a) { return unary(g, TACIT_OP_NEG, a); }
static tacit_node_t number(tacit_graph_t *g, double x) { return tacit_graph_constant(g, x); }

/* factor e^(-power a^2) */
static tacit_node_t bell(tacit_graph_t *g, tacit_node_t a, double factor, double power) {
  return mul(g, unary(g, TACIT_OP_EXP, mul(g, mul(g, a, a), number(g, -power))), number(g, factor));
}

static tacit_node_t of_two(tacit_graph_t *g, const tacit_graph_node_t n, tacit_node_t node, unsigned i,
                           tacit_node_t v) {
  switch (n.op) {
  case TACIT_OP_ADD:
    return v;
  case TACIT_OP_SUB:
    return i == 0 ? v : neg(g, v);
  case TACIT_OP_MUL:
    return mul(g, v, i == 0 ? n.b : n.a);
  case TACIT_OP_DIV:
    return i == 0 ? div_(g, v, n.b) : neg(g, mul(g, v, div_(g, node, n.b)));
  case TACIT_OP_POW:
    return i == 0 ? mul(g, v,
                        mul(g, n.b, binary(g, TACIT_OP_POW, n.a, binary(g, TACIT_OP_SUB, n.b, number(g, 1)))))
                  : mul(g, v,
                        mul(g, node,
                            unary(g, TACIT_OP_LOG,
                                  binary(g, TACIT_OP_MAX, n.a, number(g, 1e-37))))); /* 0^b is flat in b */
  case TACIT_OP_LGAMMA_DIFF:
    return mul(g, v,
               i == 0 ? binary(g, TACIT_OP_DIGAMMA_DIFF, n.a, n.b)
                      : unary(g, TACIT_OP_DIGAMMA, add(g, n.a, n.b)));
  case TACIT_OP_DIGAMMA_DIFF: {
    tacit_node_t far = unary(g, TACIT_OP_TRIGAMMA, add(g, n.a, n.b));
    return mul(g, v, i == 0 ? binary(g, TACIT_OP_SUB, far, unary(g, TACIT_OP_TRIGAMMA, n.a)) : far);
  }
  case TACIT_OP_LOG_ADD_EXP: /* a weight in [0, 1]; of what is -inf, 0 */
    return mul(g, v,
               unary(g, TACIT_OP_INV_LOGIT,
                     i == 0 ? binary(g, TACIT_OP_SUB, n.a, n.b) : binary(g, TACIT_OP_SUB, n.b, n.a)));
  default:
    return number(g, 0); /* truth is flat */
  }
}

static tacit_node_t of_one(tacit_graph_t *g, tacit_op_t op, tacit_node_t node, tacit_node_t a,
                           tacit_node_t v) {
  switch (op) {
  case TACIT_OP_NEG:
    return neg(g, v);
  case TACIT_OP_ABS:
    return tacit_graph_apply(g, TACIT_OP_SELECT, binary(g, TACIT_OP_LESS, a, number(g, 0)), neg(g, v), v);
  case TACIT_OP_SQRT:
    return div_(g, mul(g, v, number(g, 0.5)), node);
  case TACIT_OP_EXP:
    return mul(g, v, node);
  case TACIT_OP_EXPM1:
    return mul(g, v, add(g, node, number(g, 1)));
  case TACIT_OP_LOG:
    return div_(g, v, a);
  case TACIT_OP_LOG1P:
    return div_(g, v, add(g, a, number(g, 1)));
  case TACIT_OP_LOG1P_EXP:
    return mul(g, v, unary(g, TACIT_OP_INV_LOGIT, a));
  case TACIT_OP_LOG1M_EXP:
    return neg(g, div_(g, v, unary(g, TACIT_OP_EXPM1, neg(g, a))));
  case TACIT_OP_INV_LOGIT:
    return mul(g, v, mul(g, node, unary(g, TACIT_OP_INV_LOGIT, neg(g, a))));
  case TACIT_OP_TANH:
    return mul(g, v, binary(g, TACIT_OP_SUB, number(g, 1), mul(g, node, node)));
  case TACIT_OP_LGAMMA:
    return mul(g, v, unary(g, TACIT_OP_DIGAMMA, a));
  case TACIT_OP_DIGAMMA:
    return mul(g, v, unary(g, TACIT_OP_TRIGAMMA, a));
  case TACIT_OP_TRIGAMMA:
    return tacit_graph_refuse(g, TACIT_ERR_ARGUMENT, "the derivative of trigamma is not known");
  case TACIT_OP_ERF:
    return mul(g, v, bell(g, a, 1.1283791670955126, 1));
  case TACIT_OP_ERFC:
    return mul(g, v, bell(g, a, -1.1283791670955126, 1));
  case TACIT_OP_PHI:
    return mul(g, v, bell(g, a, 0.39894228040143268, 0.5));
  case TACIT_OP_LOG_PHI:
    return mul(g, v, unary(g, TACIT_OP_MILLS, a));
  case TACIT_OP_MILLS:
    return neg(g, mul(g, v, mul(g, node, add(g, a, node))));
  case TACIT_OP_INV_PHI:
    return mul(g, v, bell(g, node, 2.5066282746310005, -0.5));
  case TACIT_OP_SIN:
    return mul(g, v, unary(g, TACIT_OP_COS, a));
  case TACIT_OP_COS:
    return neg(g, mul(g, v, unary(g, TACIT_OP_SIN, a)));
  case TACIT_OP_ATAN:
    return div_(g, v, add(g, mul(g, a, a), number(g, 1)));
  case TACIT_OP_RATIO1: {
    tacit_node_t twice = mul(g, unary(g, TACIT_OP_RATIO2, a), number(g, 2));
    return div_(g, mul(g, v, binary(g, TACIT_OP_SUB, number(g, 1), twice)),
                add(g, mul(g, a, a), number(g, 1)));
  }
  case TACIT_OP_RATIO2:
    return div_(g, mul(g, v, mul(g, unary(g, TACIT_OP_RATIO1, a), number(g, 2))),
                add(g, mul(g, a, a), number(g, 1)));
  default:
    return number(g, 0); /* floor */
  }
}

tacit_node_t tacit_derivative(tacit_graph_t *graph, tacit_node_t node, unsigned i, tacit_node_t adjoint,
                              tacit_node_t *at) {
  const tacit_graph_node_t n = *tacit_graph_at(graph, node);
  if (tacit_op_arity((tacit_op_t)n.op) > 1) {
    return of_two(graph, n, node, i, adjoint);
  }
  const tacit_graph_node_t a = *tacit_graph_at(graph, n.a);
  if (n.op == TACIT_OP_LOG1P && a.op == TACIT_OP_MUL &&
      a.a == a.b) { /* 2 z / (1 + z^2) never overflows, and is known to be at most 1 */
    *at = a.a;
    return mul(graph, adjoint, mul(graph, unary(graph, TACIT_OP_RATIO1, a.a), number(graph, 2)));
  }
  return of_one(graph, (tacit_op_t)n.op, node, n.a, adjoint);
}
