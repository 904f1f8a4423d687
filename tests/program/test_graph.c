/* Hash-consing, identities and limits of graphs. */
#include <math.h>
#include <string.h>

#include "testing.h"

#include "program/graph_internal.h"

enum { NONE = TACIT_NODE_NONE };

static tacit_node_t op1(tacit_graph_t *g, tacit_op_t op, tacit_node_t a) {
  return tacit_graph_apply(g, op, a, NONE, NONE);
}
static tacit_node_t op2(tacit_graph_t *g, tacit_op_t op, tacit_node_t a, tacit_node_t b) {
  return tacit_graph_apply(g, op, a, b, NONE);
}
static tacit_node_t number(tacit_graph_t *g, double x) { return tacit_graph_constant(g, x); }

static tacit_node_t column(tacit_graph_t *g, const char *name, double lower, double upper, bool is_integer) {
  tacit_graph_column_t column = {
      .source = name, .level = (double)NAN, .lower = lower, .upper = upper, .is_integer = is_integer};
  return tacit_graph_column(g, &column);
}

static void test_equal_expressions_are_one_node(void **state) {
  tacit_graph_t *g = tacit_graph_new();
  tacit_node_t p[3], x = column(g, "x", -1, 1, false), y = column(g, "y", 0, 9, true);
  tacit_graph_parameters(g, "p", TACIT_CONSTRAINT_NONE, 3, NONE, NONE, p);
  assert_int_equal(x, column(g, "x", -1, 1, false));
  assert_int_not_equal(x, column(g, "x", -1, 2, false));
  assert_int_equal(op2(g, TACIT_OP_ADD, x, y), op2(g, TACIT_OP_ADD, y, x));
  assert_int_equal(op2(g, TACIT_OP_MUL, p[0], x), op2(g, TACIT_OP_MUL, x, p[0]));
  assert_int_equal(tacit_graph_dot(g, 2, (tacit_node_t[]){x, y}, p),
                   tacit_graph_dot(g, 2, p, (tacit_node_t[]){x, y}));
  assert_int_not_equal(tacit_graph_dot(g, 2, (tacit_node_t[]){x, y}, p),
                       tacit_graph_dot(g, 2, (tacit_node_t[]){x, y}, p + 1));
  assert_int_equal(tacit_graph_rate(g, op2(g, TACIT_OP_ADD, x, p[0])), TACIT_RATE_MIXED);
  assert_int_equal(tacit_graph_status(g, NULL), TACIT_OK);
  tacit_graph_free(g);
}

static void test_identities(void **state) {
  tacit_graph_t *g = tacit_graph_new();
  tacit_node_t p[2], x = column(g, "x", -1, 1, false);
  tacit_graph_parameters(g, "p", TACIT_CONSTRAINT_NONE, 2, NONE, NONE, p);
  tacit_node_t m = op2(g, TACIT_OP_MUL, x, p[0]), one = number(g, 1);
  assert_int_equal(op1(g, TACIT_OP_NEG, op1(g, TACIT_OP_NEG, m)), m);
  assert_int_equal(op1(g, TACIT_OP_LOG, op1(g, TACIT_OP_EXP, m)), m);
  assert_int_equal(op2(g, TACIT_OP_SUB, op2(g, TACIT_OP_ADD, m, p[1]), m), p[1]);
  assert_int_equal(op1(g, TACIT_OP_LOG, op2(g, TACIT_OP_ADD, one, op1(g, TACIT_OP_EXP, m))),
                   op1(g, TACIT_OP_LOG1P_EXP, m));
  assert_int_equal(
      op2(g, TACIT_OP_DIV, one, op2(g, TACIT_OP_ADD, one, op1(g, TACIT_OP_EXP, op1(g, TACIT_OP_NEG, m)))),
      op1(g, TACIT_OP_INV_LOGIT, m));
  assert_int_equal(op2(g, TACIT_OP_POW, m, number(g, 2)), op2(g, TACIT_OP_MUL, m, m));
  assert_int_equal(op2(g, TACIT_OP_MUL, m, op1(g, TACIT_OP_RATIO1, m)), op1(g, TACIT_OP_RATIO2, m));
  double value;
  assert_true(tacit_graph_is_constant(g, op2(g, TACIT_OP_SUB, m, m), &value) && value == 0);
  assert_true(tacit_graph_is_constant(g, op2(g, TACIT_OP_MUL, number(g, 3), number(g, 4)), &value) &&
              value == 12);
  /* uniform factors are computed once a pass */
  tacit_node_t twice = op2(g, TACIT_OP_MUL, op2(g, TACIT_OP_MUL, x, p[0]), p[1]);
  assert_int_equal(twice, op2(g, TACIT_OP_MUL, x, op2(g, TACIT_OP_MUL, p[0], p[1])));
  tacit_graph_free(g);
}

/* Elements that differ by a parameter's number alone are gathered; cut points become a table. */
static void test_index(void **state) {
  tacit_graph_t *g = tacit_graph_new();
  enum { GROUPS = 200 };
  tacit_node_t mu, tau, z[GROUPS], alpha[GROUPS], c[4], group = column(g, "g", 1, GROUPS, true),
                                                        y = column(g, "y", 1, 5, true);
  tacit_graph_parameters(g, "mu", TACIT_CONSTRAINT_NONE, 1, NONE, NONE, &mu);
  tacit_graph_parameters(g, "tau", TACIT_CONSTRAINT_LOWER, 1, number(g, 0), NONE, &tau);
  tacit_graph_parameters(g, "z", TACIT_CONSTRAINT_NONE, GROUPS, NONE, NONE, z);
  for (size_t i = 0; i < GROUPS; i++) {
    alpha[i] = op2(g, TACIT_OP_ADD, mu, op2(g, TACIT_OP_MUL, tau, z[i]));
  }
  tacit_node_t expected =
      op2(g, TACIT_OP_ADD, mu, op2(g, TACIT_OP_MUL, tau, tacit_graph_index(g, group, GROUPS, z)));
  assert_int_equal(tacit_graph_index(g, group, GROUPS, alpha), expected);
  assert_int_equal(tacit_graph_index(g, number(g, 7), GROUPS, alpha), alpha[6]);
  tacit_graph_parameters(g, "c", TACIT_CONSTRAINT_ORDERED, 4, NONE, NONE, c);
  tacit_node_t high[5] = {c[0], c[1], c[2], c[3], number(g, INFINITY)};
  tacit_node_t low[5] = {number(g, -INFINITY), c[0], c[1], c[2], c[3]};
  tacit_node_t gap =
      op1(g, TACIT_OP_LOG1M_EXP,
          op2(g, TACIT_OP_SUB, tacit_graph_index(g, y, 5, low), tacit_graph_index(g, y, 5, high)));
  const tacit_graph_node_t *table = tacit_graph_at(g, gap);
  assert_int_equal(table->op, TACIT_OP_LOOKUP);
  double value;
  assert_true(tacit_graph_is_constant(g, g->lists[table->b], &value) &&
              value == 0); /* P(y <= c_1) has no lower end */
  /* 1 - e^-log(1 + e^u) = inv_logit(u): no cancellation is left */
  tacit_node_t u = tacit_graph_at(g, tacit_graph_at(g, c[1])->a == c[0] ? tacit_graph_at(g, c[1])->b
                                                                        : tacit_graph_at(g, c[1])->a)
                       ->a;
  assert_int_equal(g->lists[table->b + 1],
                   op1(g, TACIT_OP_NEG, op1(g, TACIT_OP_LOG1P_EXP, op1(g, TACIT_OP_NEG, u))));
  assert_int_equal(tacit_graph_status(g, NULL), TACIT_OK);
  tacit_graph_free(g);
}

static void test_limits(void **state) {
  tacit_graph_t *g = tacit_graph_new();
  tacit_node_t p;
  tacit_graph_parameters(g, "p", TACIT_CONSTRAINT_NONE, 1, NONE, NONE, &p);
  for (size_t i = 0; i < TACIT_GRAPH_MAX_FRONT && p != NONE; i++) {
    p = op1(g, TACIT_OP_SIN, p);
  }
  tacit_error_t err;
  assert_int_equal(p, NONE);
  assert_int_equal(tacit_graph_status(g, &err), TACIT_ERR_ARGUMENT);
  assert_non_null(strstr(err.message, "65536"));
  assert_int_equal(op1(g, TACIT_OP_EXP, p), NONE);
  tacit_graph_free(g);
  g = tacit_graph_new();
  tacit_graph_parameters(g, "p", TACIT_CONSTRAINT_NONE, 1, NONE, NONE, &p);
  assert_int_equal(column(g, "x", 0, INFINITY, false), NONE);
  assert_int_equal(tacit_graph_status(g, &err), TACIT_ERR_ARGUMENT);
  tacit_graph_free(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_equal_expressions_are_one_node),
      cmocka_unit_test(test_identities),
      cmocka_unit_test(test_index),
      cmocka_unit_test(test_limits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
