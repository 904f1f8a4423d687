/* Statements that decide what others are carried out, against the same said without them; cumulative
 * distributions against sums and integrals. */
#include "program/program.h"
#include "program_testing.h"

#include <string.h>

enum { DIM = 2, N = 16 };

static const char names[] = "xyk";

/* log_lik (N) of records at a point. */
static void densities(const char *text, double *log_lik) {
  tacit_error_t err = {0};
  tacit_program_t *program;
  tacit_model_t model;
  if (tacit_program_parse(&program, text, strlen(text), NULL, &err) != TACIT_OK ||
      tacit_program_compile(program, &model, &err) != TACIT_OK) {
    fail_msg("%s\n%s", text, err.message);
  }
  const tacit_compiled_t *p = model.records.ctx;
  size_t n_columns = p->layout.n_columns;
  double raw[3 * N], *derived = calloc(n_columns * N, sizeof *derived);
  const double theta[DIM] = {0.3, -0.7};
  float *block = calloc(n_columns * N, sizeof *block);
  for (size_t j = 0; j < p->graph->n_columns; j++) {
    size_t which = strcspn(names, p->graph->columns[j].source);
    for (size_t i = 0; i < N; i++) {
      raw[j * N + i] = which == 2   ? (double)(i % 6)
                       : which == 1 ? 0.25 * (double)i + 0.25
                                    : 0.125 * (double)(i * 5 % 16) - 1;
    }
  }
  tacit_compiled_derive(p, N, raw, derived);
  for (size_t i = 0; i < n_columns * N; i++) {
    block[i] = (float)derived[i];
  }
  model.records.log_lik(p, block, 1, theta, log_lik);
  free(derived);
  free(block);
  tacit_program_free(program);
}

static const char data[] = "data { int N; vector<lower=-1, upper=1>[N] x; vector<lower=0, upper=5>[N] y; "
                           "array[N] int<lower=0, upper=5> k; }\n"
                           "parameters { real a; real b; }\n";

static void test_what_is_carried_out(void **state) {
  static const struct {
    const char *functions, *model, *same;
  } cases[] = {
      {"real f(real x, real a) { if (x < -0.5) { return a; } else if (x < 0) return 2 * a; return a * x; }",
       "for (i in 1:N) y[i] ~ normal(f(x[i], a), exp(b));",
       "for (i in 1:N) y[i] ~ normal(x[i] < -0.5 ? a : x[i] < 0 ? 2 * a : a * x[i], exp(b));"},
      /* the first of several, out of a loop, and what follows */
      {"real f(int k, real a) { for (j in 1:4) { real z = j * a; if (k == j) return z; } return -a; }",
       "for (i in 1:N) y[i] ~ normal(f(k[i], a), exp(b));",
       "for (i in 1:N) y[i] ~ normal(k[i] >= 1 && k[i] <= 4 ? k[i] * a : -a, exp(b));"},
      {"real f(int k, real a) { for (j in {3, 5}) if (k == j) return j + a; for (j in 1:2) { for (l in 1:2) "
       "if (k == j * l) return l * a; } return 7; }",
       "for (i in 1:N) y[i] ~ normal(f(k[i], a), exp(b));",
       "for (i in 1:N) y[i] ~ normal(k[i] == 3 ? 3 + a : k[i] == 5 ? 5 + a : k[i] == 1 ? a : k[i] == 2 ? 2 * "
       "a : k[i] == 4 ? 2 * a : 7, exp(b));"},
      {"real f(real a) { int j = 0; real s = 0; while (j < 4) { j += 1; s += j * a; } return s; }",
       "y ~ normal(f(a) + b * x, 1);", "y ~ normal(10 * a + b * x, 1);"},
      {"int f(int n) { int j = 0; while (1 == 1) { j += 1; if (j * j >= n) return j; } return 0; }",
       "y ~ normal(a * f(10) + b * x, 1);", "y ~ normal(4 * a + b * x, 1);"},
      {"real f(real x, real a) { if (x > 2) reject(\"too large: \", x); return a * x; }",
       "for (i in 1:N) y[i] ~ normal(f(x[i], a), exp(b));",
       "for (i in 1:N) y[i] ~ normal(a * x[i], exp(b));"},
      {"", "for (i in 1:N) { if (y[i] > 4) reject(y[i]); y[i] ~ normal(a + b * x[i], 1); }",
       "for (i in 1:N) { if (y[i] > 4) target += negative_infinity(); y[i] ~ normal(a + b * x[i], 1); }"},
      {"", "for (i in 1:N) { if (k[i] == 0) y[i] ~ normal(a, 1); else if (k[i] > 0) y[i] ~ normal(b, 1); }",
       "for (i in 1:N) { if (k[i] == 0) y[i] ~ normal(a, 1); else y[i] ~ normal(b, 1); }"},
      {"", "y ~ normal(a + b * x, choose(5, 2));", "y ~ normal(a + b * x, 10);"},
      {"", "target += std_normal_lcdf(a * x |) + 0 * b;", "target += log_Phi(a * x) + 0 * b;"},
      {"", "for (i in 1:N) y[i] ~ normal(a + b * log_inv_logit_diff(1, x[i] - 0.5), 1);",
       "for (i in 1:N) y[i] ~ normal(a + b * log(inv_logit(1) - inv_logit(x[i] - 0.5)), 1);"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[2][2048];
    double log_lik[2][N];
    for (int side = 0; side < 2; side++) {
      snprintf(text[side], sizeof text[side], "functions { %s }\n%smodel {\n%s\n}\n", cases[i].functions,
               data, side ? cases[i].same : cases[i].model);
      densities(text[side], log_lik[side]);
    }
    for (size_t j = 0; j < N; j++) {
      bool is_same = log_lik[0][j] == log_lik[1][j] ||
                     fabs(log_lik[0][j] - log_lik[1][j]) < 1e-9 * (1 + fabs(log_lik[1][j]));
      if (!is_same) {
        fail_msg("%s%s\nrecord %zu: %.17g, not %.17g", cases[i].functions, cases[i].model, j, log_lik[0][j],
                 log_lik[1][j]);
      }
    }
  }
}

/* ---- cumulative distributions ---- */

static double reported(const char *expression) {
  char text[1024];
  tacit_error_t err = {0};
  tacit_program_t *program;
  tacit_model_t model;
  double theta = 0, values[2];
  snprintf(text, sizeof text,
           "data { real y; } parameters { real a; } model { y ~ normal(a, 1); } generated quantities { real "
           "v = %s; }",
           expression);
  if (tacit_program_parse(&program, text, strlen(text), NULL, &err) != TACIT_OK ||
      tacit_program_compile(program, &model, &err) != TACIT_OK) {
    fail_msg("%s\n%s", text, err.message);
  }
  model.parameters.report(model.parameters.ctx, &theta, values);
  tacit_program_free(program);
  return values[1];
}

/* Of 60 digits (mpmath): gammainc, betainc and sums. */
static void test_cumulative_distributions(void **state) {
  static const struct {
    const char *expression;
    double value;
  } cases[] = {
#include "cumulative_reference.h"
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    double x = reported(cases[i].expression);
    if (!(x == cases[i].value || fabs(x - cases[i].value) <= 1e-11 * fabs(cases[i].value) + 2e-14)) {
      fail_msg("%s is %.17g, not %.17g", cases[i].expression, x, cases[i].value);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_carried_out),
                                     cmocka_unit_test(test_cumulative_distributions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
