/* Constrained parameters: they obey their constraint, and the prior gains the log Jacobian, beside
 * determinants of differences. */
#include "program_testing.h"

enum { MOST = 4, SIDE = 3, SQUARE = SIDE * SIDE };

static double determinant(size_t n, double a[MOST][MOST]) {
  double det = 1;
  for (size_t k = 0; k < n; k++) {
    size_t pivot = k;
    for (size_t i = k + 1; i < n; i++) {
      pivot = fabs(a[i][k]) > fabs(a[pivot][k]) ? i : pivot;
    }
    for (size_t j = 0; j < n; j++) {
      double swap = a[k][j];
      a[k][j] = a[pivot][j];
      a[pivot][j] = swap;
    }
    det *= pivot == k ? a[k][k] : -a[k][k];
    for (size_t i = k + 1; i < n; i++) {
      double factor = a[i][k] / a[k][k];
      for (size_t j = k; j < n; j++) {
        a[i][j] -= factor * a[k][j];
      }
    }
  }
  return fabs(det);
}

static bool is_square(tacit_constraint_t constraint) { return constraint >= TACIT_CONSTRAINT_CORR; }

/* Of L, or of R's Cholesky factor: rows of length 1, a positive diagonal, zeros above it. */
static bool is_factor(bool is_whole, const double *x) {
  double l[SIDE][SIDE] = {{0}};
  for (size_t i = 0; i < SIDE; i++) {
    double squares = 0;
    for (size_t j = 0; j <= i; j++) {
      double rest = x[i * SIDE + j];
      for (size_t m = 0; m < j && is_whole; m++) {
        rest -= l[i][m] * l[j][m];
      }
      l[i][j] = !is_whole ? rest : i == j ? sqrt(rest) : rest / l[j][j];
      squares += l[i][j] * l[i][j];
    }
    for (size_t j = i + 1; j < SIDE; j++) {
      if (x[i * SIDE + j] != (is_whole ? x[j * SIDE + i] : 0)) {
        return false;
      }
    }
    if (!(l[i][i] > 0) || fabs(squares - 1) > 1e-9) {
      return false;
    }
  }
  return true;
}

static bool obeys(tacit_constraint_t constraint, size_t n, const double *x) {
  double sum = 0;
  if (is_square(constraint)) {
    return is_factor(constraint == TACIT_CONSTRAINT_CORR, x);
  }
  for (size_t i = 0; i < n; i++) {
    bool ok = constraint == TACIT_CONSTRAINT_LOWER              ? x[i] > -0.5
              : constraint == TACIT_CONSTRAINT_UPPER            ? x[i] < 2
              : constraint == TACIT_CONSTRAINT_INTERVAL         ? x[i] > -0.5 && x[i] < 2
              : constraint == TACIT_CONSTRAINT_ORDERED          ? i == 0 || x[i] > x[i - 1]
              : constraint == TACIT_CONSTRAINT_POSITIVE_ORDERED ? x[i] > (i == 0 ? 0 : x[i - 1])
              : constraint == TACIT_CONSTRAINT_SIMPLEX          ? x[i] > 0
                                                                : true;
    if (!ok) {
      return false;
    }
    sum += x[i];
  }
  if (constraint == TACIT_CONSTRAINT_SUM_TO_ZERO) {
    return fabs(sum) < 1e-12;
  }
  return constraint != TACIT_CONSTRAINT_SIMPLEX || fabs(sum - 1) < 1e-12;
}

static void check(tacit_constraint_t constraint) {
  tacit_graph_t *g = tacit_graph_new();
  tacit_node_t values[SQUARE], x = column(g, "x", -1, 1, false);
  size_t n = is_square(constraint) ? SQUARE : MOST;
  static const size_t plain[] = {0, 1, 2, 3}, lower_part[] = {SIDE, 2 * SIDE, 2 * SIDE + 1};
  const size_t *free_ones = is_square(constraint) ? lower_part : plain;
  tacit_graph_parameters(g, "p", constraint, n, number(g, -0.5), number(g, 2), values);
  for (size_t i = 0; i < n; i++) {
    char name[8];
    snprintf(name, sizeof name, "p.%zu", i + 1);
    tacit_graph_report(g, name, name, values[i]);
    tacit_graph_add_record_term(g, mul(g, x, values[i]));
  }
  tacit_compiled_t *p = compiled(g);
  tacit_model_t model = tacit_compiled_model(p);
  size_t dim = model.records.dim; /* a simplex's is one less, a square's what lies below the diagonal */
  uint64_t seed = (uint64_t)constraint + 3;
  for (int round = 0; round < 20; round++) {
    double u[MOST], at[SQUARE], up[SQUARE], down[SQUARE], jacobian[MOST][MOST], grad[MOST];
    const double h = 1e-4;
    for (size_t j = 0; j < dim; j++) {
      u[j] = (is_square(constraint) ? 3 : 6) * (uniform(&seed) - 0.5);
    }
    model.parameters.report(model.parameters.ctx, u, at);
    assert_true(obeys(constraint, n, at));
    if (constraint == TACIT_CONSTRAINT_SUM_TO_ZERO) { /* lengths stay as they are */
      double squares = 0;
      for (size_t i = 0; i < n; i++) {
        squares += at[i] * at[i] - (i < dim ? u[i] * u[i] : 0);
      }
      assert_true(fabs(squares) < 1e-9);
      continue;
    }
    double log_prior = model.parameters.log_prior(model.parameters.ctx, u, grad);
    for (size_t j = 0; j < dim; j++) {
      double middle = u[j];
      u[j] = middle + h;
      model.parameters.report(model.parameters.ctx, u, up);
      double above = model.parameters.log_prior(model.parameters.ctx, u, NULL);
      u[j] = middle - h;
      model.parameters.report(model.parameters.ctx, u, down);
      double below = model.parameters.log_prior(model.parameters.ctx, u, NULL);
      u[j] = middle;
      assert_true(fabs((above - below) / (2 * h) - grad[j]) < 1e-6);
      for (size_t i = 0; i < dim; i++) {
        jacobian[i][j] = (up[free_ones[i]] - down[free_ones[i]]) / (2 * h);
      }
    }
    assert_true(fabs(log(determinant(dim, jacobian)) - log_prior) < 1e-6);
  }
  tacit_compiled_free(p);
}

static void test_jacobians(void **state) {
  for (int constraint = TACIT_CONSTRAINT_NONE; constraint <= TACIT_CONSTRAINT_CORR_CHOLESKY; constraint++) {
    check((tacit_constraint_t)constraint);
  }
}

/* A bound that depends on an earlier parameter; one that depends on records is refused. */
static void test_bounds_of_bounds(void **state) {
  tacit_graph_t *g = tacit_graph_new();
  tacit_node_t low = parameter(g, "low", TACIT_CONSTRAINT_NONE, 0, 0), high, x = column(g, "x", -1, 1, false);
  tacit_graph_parameters(g, "high", TACIT_CONSTRAINT_LOWER, 1, low, NONE, &high);
  tacit_graph_report(g, "high", "high", high);
  tacit_graph_add_record_term(g, mul(g, x, high));
  tacit_compiled_t *p = compiled(g);
  double u[2] = {1.25, -0.5}, reported[2], grad[2];
  tacit_program_report(p, u, reported);
  assert_true(fabs(reported[1] - (1.25 + exp(-0.5))) < 1e-14);
  assert_true(fabs(tacit_program_log_prior(p, u, grad) + 0.5) < 1e-15 && fabs(grad[1] - 1) < 1e-15);
  tacit_compiled_free(p);
  g = tacit_graph_new();
  tacit_graph_parameters(g, "p", TACIT_CONSTRAINT_LOWER, 1, column(g, "x", -1, 1, false), NONE, &high);
  assert_int_equal(tacit_graph_status(g, NULL), TACIT_ERR_ARGUMENT);
  tacit_graph_free(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_jacobians),
                                     cmocka_unit_test(test_bounds_of_bounds)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
