/* Graphs by hand, and gradients of them in double. */
#ifndef TACIT_PROGRAM_TESTING_H
#define TACIT_PROGRAM_TESTING_H

#include "program/compiled.h"
#include "testing.h"

enum { NONE = TACIT_NODE_NONE };

static inline tacit_node_t op1(tacit_graph_t *g, tacit_op_t op, tacit_node_t a) {
  return tacit_graph_apply(g, op, a, NONE, NONE);
}
static inline tacit_node_t op2(tacit_graph_t *g, tacit_op_t op, tacit_node_t a, tacit_node_t b) {
  return tacit_graph_apply(g, op, a, b, NONE);
}
static inline tacit_node_t add(tacit_graph_t *g, tacit_node_t a, tacit_node_t b) {
  return op2(g, TACIT_OP_ADD, a, b);
}
static inline tacit_node_t sub(tacit_graph_t *g, tacit_node_t a, tacit_node_t b) {
  return op2(g, TACIT_OP_SUB, a, b);
}
static inline tacit_node_t mul(tacit_graph_t *g, tacit_node_t a, tacit_node_t b) {
  return op2(g, TACIT_OP_MUL, a, b);
}
static inline tacit_node_t number(tacit_graph_t *g, double x) { return tacit_graph_constant(g, x); }

static inline tacit_node_t column(tacit_graph_t *g, const char *name, double lower, double upper,
                                  bool is_integer) {
  tacit_graph_column_t c = {
      .source = name, .level = (double)NAN, .lower = lower, .upper = upper, .is_integer = is_integer};
  return tacit_graph_column(g, &c);
}

/* n features "x1" .. in [-1, 1]. */
static inline void features(tacit_graph_t *g, size_t n, tacit_node_t *x) {
  for (size_t j = 0; j < n; j++) {
    char name[16];
    snprintf(name, sizeof name, "x%zu", j + 1);
    x[j] = column(g, name, -1, 1, false);
  }
}

static inline tacit_node_t parameter(tacit_graph_t *g, const char *name, tacit_constraint_t constraint,
                                     double a, double b) {
  tacit_node_t value;
  tacit_graph_parameters(g, name, constraint, 1, number(g, a), number(g, b), &value);
  tacit_graph_report(g, name, name, value);
  return value;
}

static inline void parameters(tacit_graph_t *g, const char *name, tacit_constraint_t constraint, size_t n,
                              tacit_node_t *values) {
  tacit_graph_parameters(g, name, constraint, n, NONE, NONE, values);
  for (size_t i = 0; i < n; i++) {
    char label[48];
    snprintf(label, sizeof label, "%s.%zu", name, i + 1);
    tacit_graph_report(g, label, label, values[i]);
  }
}

static inline tacit_node_t normal_prior(tacit_graph_t *g, tacit_node_t x, double sd) {
  tacit_node_t term = mul(g, mul(g, x, x), number(g, -0.5 / (sd * sd)));
  tacit_graph_add_prior_term(g, term);
  return term;
}

static inline tacit_compiled_t *compiled(tacit_graph_t *g) {
  tacit_compiled_t *program = NULL;
  tacit_error_t err = {0};
  if (tacit_compile(&program, g, "test", &err) != TACIT_OK) {
    fail_msg("%s", err.message);
  }
  return program;
}

/* logistic regression: alpha + x beta, a response y */
static inline tacit_graph_t *logistic_graph(size_t d) {
  tacit_graph_t *g = tacit_graph_new();
  tacit_node_t x[128], beta[128];
  features(g, d, x);
  tacit_node_t y = column(g, "y", 0, 1, true), alpha = parameter(g, "alpha", TACIT_CONSTRAINT_NONE, 0, 0);
  parameters(g, "beta", TACIT_CONSTRAINT_NONE, d, beta);
  normal_prior(g, alpha, 10);
  for (size_t j = 0; j < d; j++) {
    normal_prior(g, beta[j], 2.5);
  }
  tacit_node_t eta = add(g, alpha, tacit_graph_dot(g, d, x, beta));
  tacit_graph_add_record_term(g, sub(g, mul(g, y, eta), op1(g, TACIT_OP_LOG1P_EXP, eta)));
  return g;
}

/* Numbers in [0, 1) that depend on the seed alone. */
static inline double uniform(uint64_t *seed) {
  *seed += 0x9E3779B97F4A7C15u;
  uint64_t x = *seed;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

/* n records (a multiple of 16) drawn from the columns' ranges, as blocks of the packed columns; freed with
 * free(). */
static inline float *random_blocks(const tacit_compiled_t *p, size_t n, uint64_t seed) {
  size_t n_raw = p->graph->n_columns, n_columns = p->layout.n_columns;
  double *raw = malloc((n_raw * n + 1) * sizeof *raw), *derived = malloc(n_columns * n * sizeof *derived);
  float *blocks = aligned_alloc(64, n_columns * n * sizeof *blocks);
  assert_true(raw != NULL && derived != NULL && blocks != NULL);
  for (size_t i = 0; i < n_raw * n; i++) {
    const tacit_graph_column_t *c = &p->graph->columns[i / n];
    double u = uniform(&seed), width = c->upper - c->lower;
    raw[i] = c->is_integer ? c->lower + floor(u * (width + 1)) : c->lower + u * width;
  }
  tacit_compiled_derive(p, n, raw, derived);
  for (size_t i = 0; i < n_columns * n; i++) {
    blocks[(i % n / 16 * n_columns + i / n) * 16 + i % n % 16] = (float)derived[i];
  }
  free(raw);
  free(derived);
  return blocks;
}

/* Gradients in double of n_blocks blocks, shape (n_blocks, dim, 16), by the same nodes as the program's rows.
 */
static inline void gradients_in_double(const tacit_compiled_t *p, const float *blocks, size_t n_blocks,
                                       const double *theta, double *out) {
  tacit_survey_t survey;
  tacit_kernel_t kernel;
  size_t dim = p->graph->n_parameters, n_rows = p->n_rows, n_columns = p->layout.n_columns;
  assert_true(tacit_survey_init(&survey, p->graph));
  tacit_layout_t layout = p->layout;
  assert_int_equal(
      tacit_kernel_collect(&kernel, p->graph, &survey, &layout, true, false, n_rows, p->rows, NULL),
      TACIT_OK);
  assert_int_equal(layout.n_columns, n_columns);
  assert_int_equal(tacit_kernel_build(&kernel, NULL), TACIT_OK);
  tacit_work_t *work = tacit_work_new(&kernel, 1);
  double *rows = aligned_alloc(64, n_blocks * n_rows * 16 * sizeof *rows);
  tacit_work_prepare(work, 1, dim, theta);
  tacit_work_run(work, blocks, n_blocks, 1, n_rows * 16, rows);
  memset(out, 0, n_blocks * dim * 16 * sizeof *out);
  for (size_t i = 0; i < n_blocks * p->n_pieces * 16; i++) {
    size_t b = i / (p->n_pieces * 16), lane = i % 16;
    const tacit_piece_t *piece = &p->pieces[i / 16 % p->n_pieces];
    double row = rows[(b * n_rows + piece->row) * 16 + lane], *to = out + b * dim * 16 + lane;
    const float *x = blocks + b * n_columns * 16 + lane;
    if (piece->kind == TACIT_PIECE_GATHER) {
      double k = fmin(fmax((double)x[piece->column * 16] - piece->first, 0), (double)piece->n - 1);
      to[(piece->parameter + (size_t)k * piece->stride) * 16] = row;
    }
    for (size_t j = 0; piece->kind != TACIT_PIECE_GATHER && j < piece->n; j++) {
      to[(piece->parameter + j) * 16] =
          row * (piece->kind == TACIT_PIECE_LINEAR ? (double)x[(piece->column + j) * 16] : 1);
    }
  }
  free(rows);
  tacit_work_free(work);
  tacit_kernel_clear(&kernel);
  tacit_survey_clear(&survey);
}

#endif
