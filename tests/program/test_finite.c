/* Records that the public bounds allow have a finite density, or the program is refused: cases of both, and
 * what is packed of branches. */
#include "program/program.h"
#include "program_testing.h"
#include "tacit/data.h"

#include <string.h>

static const char schema_text[] = "columns:\n"
                                  "  x: {type: numeric, lower: -1, upper: 1}\n"
                                  "  y: {type: numeric, lower: 0, upper: 20}\n"
                                  "  p: {type: numeric, lower: 0, upper: 1}\n"
                                  "  t: {type: numeric, lower: 0.5, upper: 20}\n"
                                  "  n: {type: integer, lower: 0, upper: 20}\n"
                                  "  k: {type: integer, lower: 0, upper: 20}\n"
                                  "  c: {type: binary}\n";
static const char head[] = "data { int N; vector[N] x; vector[N] y; vector[N] p; vector[N] t; array[N] int "
                           "n; array[N] int k; array[N] int<lower=0, upper=1> c; }\n"
                           "parameters { real mu; real<lower=0> s; real<lower=0, upper=1> h; real<lower=20> "
                           "wide; real u; }\nmodel {\n";

static tacit_status_t parse(tacit_program_t **program, const char *model, tacit_error_t *err) {
  char text[2048];
  tacit_schema_t *schema;
  tacit_error_t why;
  assert_ok(tacit_schema_parse(&schema, schema_text, sizeof schema_text - 1, "test", &why), why);
  snprintf(text, sizeof text,
           "%smu ~ normal(0, 1); s ~ exponential(1); u ~ normal(0, 1); wide ~ exponential(0.1);\n%s\n}\n",
           head, model);
  tacit_program_settings_t settings = {.schema = schema};
  tacit_status_t status = tacit_program_parse(program, text, strlen(text), &settings, err);
  tacit_schema_free(schema);
  return status;
}

static void test_bounds_have_to_exclude_what_has_no_density(void **state) {
  static const struct {
    const char *model, *said; /* NULL: fine */
  } cases[] = {
      {"y ~ gamma(s, 2);", "where y = 0 has a density of 0, infinity or none, and would count as nothing: "
                           "the lower bound of 'y' has to be above 0,"},
      {"y ~ lognormal(mu, s);", "the lower bound of 'y' has to be above 0,"},
      {"y ~ weibull(s, 2);", "the lower bound of 'y' has to be above 0,"},
      {"y ~ inv_gaussian(s, 2);", "the lower bound of 'y' has to be above 0,"},
      {"p ~ beta(s, 2);", "the lower bound of 'p' has to be above 0,"},
      {"x ~ lognormal(mu, s);", "where x = -1 has a density of 0, infinity or none, and would count as "
                                "nothing: the lower bound of 'x' has to be above 0,"},
      {"x ~ exponential(s);", "the lower bound of 'x' has to be at least 0,"},
      {"n ~ bernoulli(h);", "the upper bound of 'n' has to be at most 1,"},
      {"for (i in 1:N) x[i] ~ normal(mu, s) T[0, ];", "the lower bound of 'x' has to be at least 0,"},
      {"y ~ normal(mu + log(y), s);", "the lower bound of 'y' has to be above 0,"},
      {"x ~ normal(mu / y, s);", "the lower bound of 'y' has to be above 0,"},
      {"c ~ bernoulli(h * p);", "the lower bound of 'p' has to be above 0,"},
      {"x ~ normal(mu, s * x);", "the lower bound of 'x' has to be above 0,"},
      {"y ~ uniform(0, s);", "has density 0, or none, for some values of 's'"},
      {"t ~ lognormal(mu - h, s); target += lognormal_lpdf(t - h | mu, s);",
       "has density 0, or none, for some values of 'h'"},
      {"x ~ normal(mu, u);", "for some values of 'u' no record has a density: declare it with bounds"},
      {"k ~ poisson(u);", "for some values of 'u' no record has a density"},
      {"for (i in 1:N) { if (c[i] == 1) target += weibull_lpdf(y[i] | s, 2); else target += "
       "weibull_lccdf(y[i] | s, 2); }",
       "where y = 0"},
      {"y ~ exponential(s);", NULL},
      {"t ~ gamma(s, 2);", NULL},
      {"target += lognormal_lpdf(t - 0.5 * h | mu, s);", NULL},
      {"y ~ uniform(0, wide);", NULL},
      {"k ~ poisson(s);", NULL},
      {"k ~ binomial(n, h);",
       NULL}, /* k <= n is no bound that a schema has: such records have the score that they have */
      {"k ~ beta_binomial(n, s, s);", NULL},
      {"for (i in 1:N) x[i] ~ normal(mu, s) T[-2, 3];", NULL},
      {"for (i in 1:N) y[i] ~ normal(mu, s) T[0, ];", NULL},
      {"for (i in 1:N) { if (y[i] == 0) target += log(h); else target += log1m(h) + lognormal_lpdf(y[i] | "
       "mu, s); }",
       NULL},
      {"y ~ hurdle_gamma(s, 2, h);", NULL},
      {"for (i in 1:N) { if (x[i] <= 0) target += log(h); else { if (c[i] == 1) x[i] ~ gamma(s, 2); else "
       "x[i] ~ lognormal(mu, s); } }",
       NULL},
      {"for (i in 1:N) target += log_mix(h, y[i] == 0 ? 0 : negative_infinity(), normal_lpdf(y[i] | mu, s));",
       NULL},
      {"for (i in 1:N) target += log_mix(h, normal_lpdf(y[i] | mu, s), y[i] == 0 ? 0 : negative_infinity());",
       NULL},
      {"x ~ normal(mu, sqrt(1 - x .* x + 0.1));", NULL}, /* intervals alone do not tell: no record is found */
      {"x ~ normal(mu + sqrt(1 - x .* x), s);", NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tacit_program_t *program = NULL;
    tacit_error_t err = {0};
    bool is_fine = parse(&program, cases[i].model, &err) == TACIT_OK;
    if (cases[i].said == NULL ? !is_fine : is_fine || strstr(err.message, cases[i].said) == NULL) {
      fail_msg("%s\nexpected: %s\n%s", cases[i].model, cases[i].said != NULL ? cases[i].said : "fine",
               err.message);
    }
    tacit_program_free(program);
  }
}

/* Records at the corners of two branches: packed values and gradients are finite, and gradients are those of
 * the density. */
static void test_branches_that_are_not_taken_are_safe(void **state) {
  static const char *const models[] = {
      "for (i in 1:N) { if (y[i] == 0) target += log(h); else target += log1m(h) + lognormal_lpdf(y[i] | mu, "
      "s); }",
      "y ~ hurdle_gamma(s, 2, h);",
      "for (i in 1:N) target += log_mix(h, y[i] == 0 ? 0 : negative_infinity(), y[i] == 0 ? normal_lpdf(x[i] "
      "| u, 1) : lognormal_lpdf(y[i] | mu, s));",
      "for (i in 1:N) target += log_mix(h, normal_lpdf(y[i] | mu, s), y[i] == 0 ? 0 : negative_infinity());",
      "for (i in 1:N) { if (p[i] > 0 && p[i] < 1) p[i] ~ beta(s, 2); else target += bernoulli_lpmf(c[i] | h) "
      "+ 0 * mu; }",
      "for (i in 1:N) { real m = y[i] > 0 ? mu * pow(y[i], h) + u / y[i] : mu; x[i] ~ normal(m, s); }",
      "for (i in 1:N) x[i] ~ normal(mu * pow(y[i], s), s);"};
  static const double records[][7] = {/* x y p t n k c */ {0.3, 0, 0, 1, 2, 3, 1},
                                      {-1, 2.5, 0.25, 3, 0, 0, 0},
                                      {1, 0, 1, 20, 20, 20, 0},
                                      {0, 20, 0.5, 0.5, 1, 1, 1}};
  enum { N = 4, DIM = 5 };
  for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
    tacit_program_t *program;
    tacit_model_t model;
    tacit_error_t err;
    assert_ok(parse(&program, models[m], &err), err);
    assert_ok(tacit_program_compile(program, &model, &err), err);
    const tacit_compiled_t *p = model.records.ctx;
    size_t n_raw = p->graph->n_columns, n_columns = p->layout.n_columns;
    double raw[7 * N], *derived = calloc(n_columns * N, sizeof *derived),
                       theta[DIM] = {0.2, -0.3, 0.4, 0.1, 0.5}, lik[16], up[16], down[16];
    float *block = calloc(n_columns * 16, sizeof *block), grad[DIM][16], theta_float[DIM];
    for (size_t j = 0; j < n_raw; j++) {
      size_t which = strcspn("xyptnkc", p->graph->columns[j].source);
      for (size_t i = 0; i < N; i++) {
        raw[j * N + i] = records[i][which];
      }
    }
    tacit_compiled_derive(p, N, raw, derived);
    for (size_t j = 0; j < n_columns; j++) {
      for (size_t i = 0; i < 16; i++) {
        block[j * 16 + i] = (float)derived[j * N + i % N];
        assert_true(isfinite(block[j * 16 + i]));
      }
    }
    for (size_t j = 0; j < DIM; j++) {
      theta_float[j] = (float)theta[j];
      theta[j] = (double)theta_float[j];
    }
    model.records.log_lik(p, block, 1, theta, lik);
    model.records.grad(p, block, 1, theta_float, &grad[0][0]);
    for (size_t j = 0; j < DIM; j++) {
      const double step = 1e-5;
      theta[j] += step;
      model.records.log_lik(p, block, 1, theta, up);
      theta[j] -= 2 * step;
      model.records.log_lik(p, block, 1, theta, down);
      theta[j] += step;
      for (size_t i = 0; i < N; i++) {
        double slope = (up[i] - down[i]) / (2 * step);
        assert_true(isfinite(lik[i]));
        if (!(fabs((double)grad[j][i] - slope) < 1e-4 * (1 + fabs(slope)))) {
          fail_msg("%s\nrecord %zu, parameter %zu: %g, by differences %g", models[m], i, j,
                   (double)grad[j][i], slope);
        }
      }
    }
    free(derived);
    free(block);
    tacit_program_free(program);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bounds_have_to_exclude_what_has_no_density),
                                     cmocka_unit_test(test_branches_that_are_not_taken_are_safe)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
