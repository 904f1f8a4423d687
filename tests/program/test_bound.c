/*
 * Bounds of gradients and log-likelihood ratios, beside the largest that a search finds: never exceeded, and where they are of use not far
 * above. TACIT_TEST_MULTIPLIER scales the search; the long suite runs 10^7 points a model.
 */
#include "program/language.h"
#include "program_testing.h"
#include "tacit/data.h"

typedef struct bounded {
  const char *name, *text;
  double at_most; /* of bound / largest found; 0: no bound is to be found */
} bounded_t;

static const char SCHEMA[] = "columns:\n  y: {type: binary}\n  k: {type: integer, lower: 0, upper: 20}\n"
                             "  v: {type: integer, lower: 1, upper: 5}\n  g: {type: integer, lower: 1, upper: 30}\n"
                             "  t: {type: numeric, lower: 0.01, upper: 14}\n  r: {type: numeric, lower: -5, upper: 5}\n"
                             "  x1: {type: numeric, lower: -1, upper: 1}\n  x2: {type: numeric, lower: -1, upper: 1}\n"
                             "  x3: {type: numeric, lower: 0, upper: 2}\n";

#define X "vector[3] x; "
static const bounded_t MODELS[] = {
    {"logistic", "data { " X "int y; } parameters { real a; vector[3] b; } model { y ~ bernoulli_logit(a + dot_product(x, b)); }", 1.3},
    {"ordered", "data { " X "int v; } parameters { vector[3] b; ordered[4] c; } model { v ~ ordered_logistic(dot_product(x, b), c); }", 4},
    {"groups", "data { " X "int y; int g; } parameters { vector[3] b; vector[30] alpha; } model { y ~ bernoulli_logit(alpha[g] + dot_product(x, b)); }", 1.3},
    {"student", "data { " X "real r; } parameters { vector[3] b; } model { r ~ student_t(4, dot_product(x, b), 0.5); }", 1.5},
    {"bounded scale", "data { " X "real r; } parameters { vector<lower=-1, upper=1>[3] b; real<lower=0.5, upper=2> s; } model { r ~ normal(dot_product(x, b), s); }", 8},
    {"binomial, bounded", "data { int k; real x1; } parameters { real a; real b; } model { k ~ binomial_logit(20, a + b * x1); }", 1.3},
    {"negative binomial, bounded",
     "data { int k; real x1; } parameters { real<lower=-1, upper=1> a; real<lower=0.5, upper=4> phi; } model { k ~ neg_binomial_2_log(a * x1, phi); }", 8},
    {"sine", "data { real r; } parameters { real m; } model { r ~ normal(exp(-2 * sin(m)), 1); }", 5},
    {"poisson", "data { int k; real x1; } parameters { real a; } model { k ~ poisson_log(a * x1); }", 0},
    {"normal", "data { real r; } parameters { real m; real<lower=0> s; } model { r ~ normal(m, s); }", 0},
};

static double largest_norm(const tacit_record_model_t *model, const float *block, const float *theta, float *grad) {
  double largest = 0;
  model->grad(model->ctx, block, 1, theta, grad);
  for (size_t lane = 0; lane < 16; lane++) {
    double square = 0;
    for (size_t j = 0; j < model->dim; j++) {
      square += (double)grad[j * 16 + lane] * (double)grad[j * 16 + lane];
    }
    largest = fmax(largest, sqrt(square));
  }
  return largest;
}

/* Random points, corners of the columns' ranges, parameters of all sizes; half of the points are near the best so far. */
static double search(const tacit_compiled_t *p, size_t n_blocks, uint64_t seed, double *worst_ratio) {
  tacit_model_t model = tacit_compiled_model(p);
  size_t dim = model.records.dim, n_raw = p->graph->n_columns, n_columns = p->layout.n_columns;
  double *raw = malloc(n_raw * 16 * sizeof *raw), *packed = malloc(n_columns * 16 * sizeof *packed), largest = 0, l[2][16];
  double *theta = malloc(2 * dim * sizeof *theta);
  float *block = aligned_alloc(64, n_columns * 16 * sizeof *block), *at = malloc(dim * sizeof *at), *best = calloc(dim, sizeof *best);
  float *grad = malloc(dim * 16 * sizeof *grad);
  for (size_t b = 0; b < n_blocks; b++) {
    bool is_near = uniform(&seed) < 0.5;
    double size = pow(10, 3 * uniform(&seed) - 1.5);
    for (size_t i = 0; i < n_raw * 16; i++) {
      const tacit_graph_column_t *c = &p->graph->columns[i / 16];
      double u = uniform(&seed), width = c->upper - c->lower;
      u = uniform(&seed) < 0.5 ? floor(u * 2) : u;
      raw[i] = c->is_integer ? c->lower + fmin(floor(u * (width + 1)), width) : c->lower + u * width;
    }
    tacit_compiled_derive(p, 16, raw, packed);
    for (size_t i = 0; i < n_columns * 16; i++) {
      block[i] = (float)packed[i];
    }
    for (size_t j = 0; j < dim; j++) {
      double step = size * (2 * uniform(&seed) - 1) * (uniform(&seed) < 0.3 ? 10 : 1);
      at[j] = (float)(is_near ? (double)best[j] + 0.1 * step : step);
      theta[j] = (double)at[j];
      theta[dim + j] = theta[j] + 0.2 * size * (2 * uniform(&seed) - 1);
    }
    double norm = largest_norm(&model.records, block, at, grad);
    if (norm > largest) {
      largest = norm;
      memcpy(best, at, dim * sizeof *at);
    }
    if (model.records.ratio_bound != NULL) {
      double bound = model.records.ratio_bound(model.records.ctx, theta, theta + dim);
      model.records.log_lik(model.records.ctx, block, 2, theta, l[0]);
      for (size_t lane = 0; lane < 16; lane++) {
        *worst_ratio = fmax(*worst_ratio, fabs(l[1][lane] - l[0][lane]) / bound);
      }
    }
  }
  free(raw);
  free(packed);
  free(theta);
  free(block);
  free(at);
  free(best);
  free(grad);
  return largest;
}

static void test_bounds(void **state) {
  size_t n_blocks = (size_t)(700 * testing_multiplier_at_least(1)); /* with fewer points the search comes near no bound */
  tacit_schema_t *schema;
  assert_int_equal(tacit_schema_parse(&schema, SCHEMA, strlen(SCHEMA), "schema", NULL), TACIT_OK);
  for (size_t i = 0; i < sizeof MODELS / sizeof MODELS[0]; i++) {
    tacit_program_t *program;
    tacit_model_t model;
    tacit_error_t err;
    tacit_program_settings_t settings = {.schema = schema};
    if (tacit_program_parse(&program, MODELS[i].text, strlen(MODELS[i].text), &settings, &err) != TACIT_OK ||
        tacit_program_compile(program, &model, &err) != TACIT_OK) {
      fail_msg("%s: %s", MODELS[i].name, err.message);
    }
    double ratio = 0, bound = model.records.grad_bound, found = search(program->compiled, n_blocks, 5 + i, &ratio);
    print_message("%s: bound %.4g, found %.4g; ratios to %.3f of their bound\n", MODELS[i].name, bound, found, ratio);
    assert_true(found <= bound && ratio <= 1);
    assert_true(MODELS[i].at_most == 0 ? isinf(bound) : bound <= MODELS[i].at_most * found);
    tacit_program_free(program);
  }
  tacit_schema_free(schema);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bounds)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
