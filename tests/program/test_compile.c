/* From graphs to models: derivatives against differences, kernels against formulas, the same bits whatever
 * runs them. */
#include "base/memory.h"
#include "base/isa.h"
#include "program_testing.h"

static unsigned multiplier(void) { return (unsigned)testing_multiplier_at_least(1); }

static void test_logistic(void **state) {
  enum { D = 10, BLOCKS = 5, DIM = D + 1 };
  tacit_compiled_t *p = compiled(logistic_graph(D));
  tacit_model_t model = tacit_compiled_model(p);
  assert_int_equal(tacit_model_validate(&model, NULL), TACIT_OK);
  assert_int_equal(model.records.n_columns, D + 1);
  assert_int_equal(model.records.n_features, D);
  assert_int_equal(model.records.n_rows, 1); /* the intercept's row is the slopes' */
  assert_int_equal(model.records.n_pieces, 2);
  assert_true(fabs(model.records.grad_bound / sqrt(DIM) - 1) < 2e-5);
  float *blocks = random_blocks(p, BLOCKS * 16, 1);
  double theta[2 * DIM], log_lik[BLOCKS][2][16];
  float theta_float[2 * DIM], rows[BLOCKS][2][16], grad[2][DIM][16];
  uint64_t seed = 2;
  for (size_t j = 0; j < 2 * DIM; j++) {
    theta_float[j] = (float)(3 * uniform(&seed) - 1.5);
    theta[j] = (double)theta_float[j];
  }
  model.records.log_lik_blocks(p, blocks, BLOCKS, 2, theta, &log_lik[0][0][0]);
  model.records.rows(p, blocks, BLOCKS, 2, theta_float, &rows[0][0][0]);
  for (size_t b = 0; b < BLOCKS; b++) {
    const float *x = blocks + b * (D + 1) * 16;
    model.records.grad(p, x, 2, theta_float, &grad[0][0][0]);
    for (size_t k = 0; k < 2; k++) {
      for (size_t lane = 0; lane < 16; lane++) {
        double eta = theta[k * DIM], y = (double)x[D * 16 + lane];
        for (size_t j = 0; j < D; j++) {
          eta += theta[k * DIM + 1 + j] * (double)x[j * 16 + lane];
        }
        double row = y - 1 / (1 + exp(-eta));
        /* its one log1p_exp is as exact as the grid of ratios asks: docs/theory.md, section 3 */
        assert_true(fabs(log_lik[b][k][lane] - (y * eta - log1p(exp(eta)))) <
                    0.18 * 0x1p-32 + 1e-14 * (1 + fabs(eta)));
        assert_true(fabs((double)rows[b][k][lane] - row) < 1e-6);
        assert_true(grad[k][0][lane] == rows[b][k][lane]);
        assert_true(grad[k][3][lane] == rows[b][k][lane] * x[2 * 16 + lane]);
      }
    }
  }
  double prior[DIM], value = model.parameters.log_prior(p, theta, prior),
                     expected = -0.5 * theta[0] * theta[0] / 100;
  for (size_t j = 1; j < DIM; j++) {
    expected -= 0.5 * theta[j] * theta[j] / 6.25;
    assert_true(fabs(prior[j] + theta[j] / 6.25) < 1e-15);
  }
  assert_true(fabs(value - expected) < 1e-14);
  assert_true(fabs(p->unit_scale[0] - 2) < 0.2); /* curvature 1/4 */
  free(blocks);
  tacit_compiled_free(p);
}

/* ---- random programs ---- */

typedef struct garden {
  tacit_graph_t *g;
  tacit_node_t pool[64];
  size_t n;
  uint64_t seed;
} garden_t;

static tacit_node_t pick(garden_t *t) { return t->pool[(size_t)(uniform(&t->seed) * (double)t->n)]; }

/* Somewhere between -2 and 2, smoothly. */
static tacit_node_t tame(garden_t *t, tacit_node_t x) {
  return mul(t->g, op1(t->g, TACIT_OP_TANH, x), number(t->g, 2));
}
static tacit_node_t positive(garden_t *t, tacit_node_t x) {
  return add(t->g, op1(t->g, TACIT_OP_LOG1P_EXP, tame(t, x)), number(t->g, 0.3));
}

/* An operation on operands within its domain. */
static tacit_node_t grow(garden_t *t, tacit_op_t op) {
  tacit_graph_t *g = t->g;
  tacit_node_t a = pick(t), b = pick(t), c = pick(t);
  switch (op) {
  case TACIT_OP_DIV:
    return op2(g, op, a, positive(t, b));
  case TACIT_OP_POW:
    return op2(g, op, positive(t, a), tame(t, b));
  case TACIT_OP_SQRT:
  case TACIT_OP_LOG:
  case TACIT_OP_LGAMMA:
  case TACIT_OP_DIGAMMA:
    return op1(g, op, positive(t, a));
  case TACIT_OP_LOG1P:
    return op1(g, op, op1(g, TACIT_OP_EXPM1, tame(t, a)));
  case TACIT_OP_LOG1M_EXP:
    return op1(g, op, op1(g, TACIT_OP_NEG, positive(t, a)));
  case TACIT_OP_INV_PHI:
    return op1(g, op,
               add(g, mul(g, op1(g, TACIT_OP_INV_LOGIT, tame(t, a)), number(g, 0.9)), number(g, 0.05)));
  case TACIT_OP_SELECT:
    return tacit_graph_apply(g, op, op2(g, TACIT_OP_LESS, t->pool[0], number(g, 0.3)), a, b);
  case TACIT_OP_LESS:
  case TACIT_OP_AT_MOST:
  case TACIT_OP_EQUAL:
  case TACIT_OP_FLOOR:
  case TACIT_OP_TRIGAMMA:
    return a;
  case TACIT_OP_LOOKUP:
    return tacit_graph_index(g, t->pool[2], 3, (tacit_node_t[]){a, b, c});
  case TACIT_OP_DOT: { /* of two parameters that follow each other, or of one and an expression */
    tacit_node_t other = t->pool[uniform(&t->seed) < 0.5 ? 5 : 7];
    return tacit_graph_dot(g, 2, (tacit_node_t[]){t->pool[0], t->pool[1]},
                           (tacit_node_t[]){t->pool[4], other});
  }
  default:
    return tacit_op_arity(op) == 1 ? op1(g, op, tame(t, a)) : tacit_op_arity(op) == 2 ? op2(g, op, a, b) : a;
  }
}

enum { GARDEN_DIM = 12 };

static tacit_graph_t *random_graph(uint64_t seed, size_t n_ops) {
  garden_t t = {.g = tacit_graph_new(), .seed = seed};
  tacit_graph_t *g = t.g;
  tacit_node_t z[5], c[2], free_[3];
  t.pool[0] = column(g, "x1", -1, 1, false);
  t.pool[1] = column(g, "x2", 0.5, 2, false);
  t.pool[2] = column(g, "k", 1, 3, true);
  tacit_node_t group = column(g, "g", 1, 5, true);
  parameters(g, "free", TACIT_CONSTRAINT_NONE, 3, free_);
  parameters(g, "z", TACIT_CONSTRAINT_NONE, 5, z);
  parameters(g, "c", TACIT_CONSTRAINT_ORDERED, 2, c);
  t.pool[3] = tacit_graph_index(g, group, 5, z);
  t.pool[4] = free_[0];
  t.pool[5] = free_[1];
  t.pool[6] = free_[2];
  t.pool[7] = parameter(g, "s", TACIT_CONSTRAINT_LOWER, 0.1, 0);
  t.pool[8] = parameter(g, "p", TACIT_CONSTRAINT_INTERVAL, 0, 1);
  t.pool[9] =
      tacit_graph_index(g, t.pool[2], 3, (tacit_node_t[]){c[0], c[1], op2(g, TACIT_OP_ADD, c[1], z[0])});
  t.n = 10;
  for (size_t i = 0; i < n_ops; i++) {
    tacit_op_t op = (tacit_op_t)(TACIT_OP_DOT + (int)(uniform(&t.seed) * (TACIT_OP_COUNT - TACIT_OP_DOT)));
    tacit_node_t node = grow(&t, op);
    t.pool[t.n++] = tame(&t, node);
  }
  for (size_t i = t.n - 6; i < t.n; i++) {
    tacit_graph_add_record_term(g, t.pool[i]);
  }
  tacit_graph_add_record_term(g, mul(g, t.pool[0], t.pool[4]));
  return g;
}

/* The gradient is the difference quotient of log-likelihoods, for every operation and mixtures of them. */
static void test_random_gradients(void **state) {
  double worst = 0;
  for (uint64_t seed = 1; seed <= 150 * multiplier(); seed++) {
    tacit_compiled_t *p = compiled(random_graph(seed, 14));
    size_t dim = p->graph->n_parameters;
    assert_int_equal(dim, GARDEN_DIM);
    float *blocks = random_blocks(p, 32, seed);
    double theta[GARDEN_DIM], grad[2][GARDEN_DIM][16], up[2][16], down[2][16];
    uint64_t more = seed ^ 77;
    for (size_t j = 0; j < dim; j++) {
      theta[j] = 2 * uniform(&more) - 1;
    }
    gradients_in_double(p, blocks, 2, theta, &grad[0][0][0]);
    for (size_t j = 0; j < dim; j++) {
      const double h = 2e-4;
      double middle = theta[j], slope[2][32];
      for (int s = 0; s < 2; s++) { /* Richardson: error h^4 */
        double step = s == 0 ? h : 2 * h;
        theta[j] = middle + step;
        tacit_program_log_lik_blocks(p, blocks, 2, 1, theta, up[0]);
        theta[j] = middle - step;
        tacit_program_log_lik_blocks(p, blocks, 2, 1, theta, down[0]);
        for (size_t i = 0; i < 32; i++) {
          slope[s][i] = (up[i / 16][i % 16] - down[i / 16][i % 16]) / (2 * step);
        }
      }
      theta[j] = middle;
      for (size_t i = 0; i < 32; i++) {
        double quotient = (4 * slope[0][i] - slope[1][i]) / 3, exact = grad[i / 16][j][i % 16];
        double error = fabs(quotient - exact) / (1 + fabs(exact));
        /* a kink (abs, min, max) between theta - 2h and theta + 2h makes the quotients differ from each other
         */
        if (fabs(slope[0][i] - slope[1][i]) < 1e-4 * (1 + fabs(exact))) {
          worst = fmax(worst, error);
          if (!(error < 2e-7)) { /* derived data are packed as floats, but not those in tables, which the two
                                    may not share */
            fail_msg("seed %u parameter %zu record %zu: %.12g is not %.12g", (unsigned)seed, j, i, exact,
                     quotient);
          }
        }
      }
    }
    free(blocks);
    tacit_compiled_free(p);
  }
  assert_true(worst > 0);
}

#if defined(__x86_64__)
static void test_equal_bits(void **state) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    tacit_compiled_t *p = compiled(random_graph(seed, 20));
    size_t dim = p->graph->n_parameters, n_rows = p->n_rows;
    float *blocks = random_blocks(p, 96, seed), theta_float[3 * GARDEN_DIM];
    double theta[3 * GARDEN_DIM], log_lik[2][6 * 3 * 16];
    float *rows[2];
    uint64_t more = seed;
    for (size_t j = 0; j < 3 * dim; j++) {
      theta[j] = 8 * uniform(&more) - 4;
      theta_float[j] = (float)theta[j];
    }
    rows[0] = malloc(6 * 3 * n_rows * 16 * sizeof **rows);
    rows[1] = malloc(6 * 3 * n_rows * 16 * sizeof **rows);
    for (int isa = TACIT_ISA_PORTABLE; isa <= TACIT_ISA_AVX512; isa++) {
      int which = isa == TACIT_ISA_PORTABLE ? 0 : 1;
      tacit_isa_limit((tacit_isa_t)isa);
      for (tacit_workspace_t *workspace = p->workspaces, *next; workspace != NULL;
           workspace = next) { /* nothing that another machine computed */
        next = workspace->next;
        tacit_workspace_free(workspace);
      }
      p->workspaces = NULL;
      pthread_setspecific(p->key, NULL);
      tacit_program_log_lik_blocks(p, blocks, 6, 3, theta, log_lik[which]);
      tacit_program_rows(p, blocks, 6, 3, theta_float, rows[which]);
      if (which == 1) {
        assert_memory_equal(log_lik[0], log_lik[1], sizeof log_lik[0]);
        assert_memory_equal(rows[0], rows[1], 6 * 3 * n_rows * 16 * sizeof **rows);
      }
    }
    tacit_isa_limit(TACIT_ISA_AVX512);
    double one[6 * 16]; /* one vector at a time, and one block, give the same as all at once */
    tacit_program_log_lik_blocks(p, blocks, 6, 1, theta + dim, one);
    for (size_t i = 0; i < 96; i++) {
      assert_memory_equal(&one[i], &log_lik[0][(i / 16 * 3 + 1) * 16 + i % 16], sizeof one[i]);
    }
    free(rows[0]);
    free(rows[1]);
    free(blocks);
    tacit_compiled_free(p);
  }
}
#endif

/* A branch that is not taken may have an infinite slope there: it must not be seen. */
static void test_masks(void **state) {
  tacit_graph_t *g = tacit_graph_new();
  tacit_node_t x = column(g, "x", -1, 1, false), t = column(g, "t", 0, 2, true),
               b = parameter(g, "b", TACIT_CONSTRAINT_NONE, 0, 0);
  tacit_node_t s = parameter(g, "s", TACIT_CONSTRAINT_NONE, 0, 0), eta = mul(g, x, b);
  tacit_node_t w = op1(g, TACIT_OP_EXP,
                       mul(g, x, parameter(g, "w", TACIT_CONSTRAINT_NONE, 0, 0))); /* of this branch alone */
  /* log is infinite, and sqrt's slope, where t is 0; the factor s meets both */
  tacit_node_t taken = add(g, op1(g, TACIT_OP_LOG, mul(g, t, add(g, w, op1(g, TACIT_OP_EXP, eta)))),
                           op1(g, TACIT_OP_SQRT, mul(g, t, w)));
  tacit_node_t is_positive = op2(g, TACIT_OP_LESS, number(g, 0.5), t);
  tacit_graph_add_record_term(g, mul(g, s, tacit_graph_apply(g, TACIT_OP_SELECT, is_positive, taken, eta)));
  tacit_compiled_t *p = compiled(g);
  float *blocks = random_blocks(p, 64, 3);
  double grad[4][3][16], theta[3] = {0.7, 1.3, 0.4};
  gradients_in_double(p, blocks, 4, theta, &grad[0][0][0]);
  for (size_t i = 0; i < 64 * 3; i++) {
    assert_true(isfinite(grad[i / 48][i / 16 % 3][i % 16]));
  }
  free(blocks);
  tacit_compiled_free(p);
}

/* Whatever a record holds, nothing is read out of bounds, and the records beside it have the same values to
 * the last bit. */
static void test_any_record(void **state) {
  static const float wild[] = {NAN, INFINITY, -INFINITY, 3e38f, -3e38f, 1e-44f, -1e9f, 4e9f, 0};
  for (uint64_t seed = 1; seed <= 40; seed++) {
    tacit_compiled_t *p = compiled(random_graph(seed, 16));
    size_t n_columns = p->layout.n_columns, n_rows = p->n_rows;
    float *block = random_blocks(p, 16, seed), *rows[2], theta_float[GARDEN_DIM], grad[GARDEN_DIM * 16];
    double log_lik[2][16], theta[GARDEN_DIM];
    uint64_t more = seed;
    for (size_t j = 0; j < GARDEN_DIM; j++) {
      theta[j] = 2 * uniform(&more) - 1;
      theta_float[j] = (float)theta[j];
    }
    for (int round = 0; round < 2; round++) {
      rows[round] = malloc(n_rows * 16 * sizeof **rows);
      tacit_program_log_lik(p, block, 1, theta, log_lik[round]);
      tacit_program_rows(p, block, 1, 1, theta_float, rows[round]);
      tacit_program_grad(p, block, 1, theta_float, grad);
      for (size_t i = 0; i < n_columns * 16; i += 2) { /* the even lanes */
        block[i] = wild[(size_t)(uniform(&more) * 9)];
      }
    }
    for (size_t lane = 1; lane < 16; lane += 2) {
      assert_memory_equal(&log_lik[0][lane], &log_lik[1][lane], sizeof log_lik[0][0]);
      for (size_t r = 0; r < n_rows; r++) {
        assert_memory_equal(&rows[0][r * 16 + lane], &rows[1][r * 16 + lane], sizeof **rows);
      }
    }
    free(rows[0]);
    free(rows[1]);
    free(block);
    tacit_compiled_free(p);
  }
}

/* Allocation failures are error returns, and nothing leaks. */
static void test_out_of_memory(void **state) {
  size_t n_failed = 0;
  for (size_t k = 1; k < 2000; k++) {
    tacit_graph_t *g = random_graph(5, 6);
    tacit_compiled_t *p;
    tacit_alloc_fail_at(k);
    tacit_status_t status = tacit_compile(&p, g, "test", NULL);
    tacit_alloc_fail_at(0);
    if (status == TACIT_OK) {
      tacit_compiled_free(p);
      break;
    }
    assert_int_equal(status, TACIT_ERR_MEMORY);
    n_failed++;
  }
  assert_true(n_failed > 100);
}

static void test_refusals(void **state) {
  tacit_error_t err;
  tacit_compiled_t *p;
  assert_int_equal(tacit_compile(&p, tacit_graph_new(), "empty", &err), TACIT_ERR_ARGUMENT);
  tacit_graph_t *g = tacit_graph_new();
  tacit_node_t x = column(g, "x", -1, 1, false);
  (void)parameter(g, "b", TACIT_CONSTRAINT_NONE, 0, 0);
  tacit_graph_add_record_term(g, x);
  assert_int_equal(tacit_compile(&p, g, "free of parameters", &err), TACIT_ERR_ARGUMENT);
  g = tacit_graph_new();
  tacit_graph_add_prior_term(g, column(g, "x", -1, 1, false));
  assert_int_equal(tacit_graph_status(g, &err), TACIT_ERR_ARGUMENT);
  tacit_graph_free(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_logistic),
    cmocka_unit_test(test_random_gradients),
#if defined(__x86_64__)
    cmocka_unit_test(test_equal_bits),
#endif
    cmocka_unit_test(test_any_record),
    cmocka_unit_test(test_masks),
    cmocka_unit_test(test_out_of_memory),
    cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
