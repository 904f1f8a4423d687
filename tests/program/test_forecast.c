/*
 * Expectations and draws of the library's distributions against their densities, integrated here: each has a
 * mass of 1, the mean that is said, and draws that fall as it says. False alarms below 1e-9 a distribution.
 */
#include <math.h>
#include <string.h>

#include "program/forecast.h"
#include "tacit/random.h"
#include "testing.h"

enum { LANES = 16, N_DRAWS = 40000, N_POINTS = 40000, N_BINS = 40, MOST_POINTS = N_POINTS + 2 };

typedef struct distribution {
  const char *name, *args;      /* of reals a, b, c and the int n of the data, which is 7 */
  double a, b, c, lower, upper; /* where the density is integrated */
  bool is_whole, has_atom;      /* has_atom: at 0, beside a density */
  double mean;                  /* NaN: the integral's; infinite: there is none */
} distribution_t;

static const distribution_t distributions[] = {
    {"normal", "a, b", 0.7, 1.3, 0, -12, 14, false, false, NAN},
    {"lognormal", "a, b", 0.3, 0.5, 0, 0, 60, false, false, NAN},
    {"student_t", "a, b, c", 7, 0.4, 1.2, -300, 300, false, false, NAN},
    {"cauchy", "a, b", 0.4, 1.2, 0, -1e4, 1e4, false, false, INFINITY},
    {"logistic", "a, b", 0.4, 0.8, 0, -35, 35, false, false, NAN},
    {"double_exponential", "a, b", 0.4, 0.8, 0, -25, 25, false, false, NAN},
    {"gumbel", "a, b", 0.4, 0.8, 0, -5, 30, false, false, NAN},
    {"skew_normal", "a, b, c", 0.4, 0.8, 2.5, -8, 8, false, false, NAN},
    {"exp_mod_normal", "a, b, c", 0.4, 0.8, 1.5, -6, 25, false, false, NAN},
    {"exponential", "a", 0.7, 0, 0, 0, 45, false, false, NAN},
    {"gamma", "a, b", 1.8, 0.7, 0, 0, 50, false, false, NAN},
    {"inv_gamma", "a, b", 6, 4, 0, 0, 60, false, false, NAN},
    {"chi_square", "a", 4.5, 0, 0, 0, 70, false, false, NAN},
    {"weibull", "a, b", 1.6, 2.5, 0, 0, 25, false, false, NAN},
    {"frechet", "a, b", 6, 2, 0, 0, 200, false, false, NAN},
    {"loglogistic", "a, b", 2, 6, 0, 0, 200, false, false, NAN},
    {"gompertz", "a, b", 0.8, 0.3, 0, 0, 8, false, false, 0},
    {"rayleigh", "a", 1.5, 0, 0, 0, 12, false, false, NAN},
    {"pareto", "a, b", 1.5, 7, 0, 1.5, 80, false, false, NAN},
    {"pareto_type_2", "a, b, c", 0.5, 6, 8, 0.5, 150, false, false, NAN},
    {"generalized_pareto", "a, b", 0.12, 1.4, 0, 0, 250, false, false, NAN},
    {"beta", "a, b", 2.2, 3.1, 0, 0, 1, false, false, NAN},
    {"beta_proportion", "a, b", 0.3, 6, 0, 0, 1, false, false, NAN},
    {"hurdle_lognormal", "a, b, c", 0.3, 0.5, 0.35, 0, 60, false, true, NAN},
    {"hurdle_gamma", "a, b, c", 1.8, 0.7, 0.35, 0, 50, false, true, NAN},
    {"bernoulli", "a", 0.3, 0, 0, 0, 1, true, false, NAN},
    {"bernoulli_logit", "a", -0.6, 0, 0, 0, 1, true, false, NAN},
    {"bernoulli_probit", "a", -0.4, 0, 0, 0, 1, true, false, NAN},
    {"binomial", "n, a", 0.3, 0, 0, 0, 7, true, false, NAN},
    {"binomial_logit", "n * 20, a", -0.6, 0, 0, 0, 140, true, false, NAN},
    {"beta_binomial", "n * 5, a, b", 1.2, 2.3, 0, 0, 35, true, false, NAN},
    {"poisson", "a", 43, 0, 0, 0, 150, true, false, NAN},
    {"poisson_log", "a", 0.8, 0, 0, 0, 40, true, false, NAN},
    {"neg_binomial", "a, b", 3, 0.4, 0, 0, 200, true, false, NAN},
    {"neg_binomial_2", "a, b", 6, 1.7, 0, 0, 400, true, false, NAN},
    {"neg_binomial_2_log", "a, b", 3.2, 4, 0, 0, 400, true, false, NAN},
    {"geometric_logit", "a", -0.9, 0, 0, 0, 150, true, false, NAN},
    {"zero_inflated_poisson", "a, b", 4, 0.3, 0, 0, 60, true, false, NAN},
    {"zero_inflated_poisson_log", "a, b", 1.2, 0.3, 0, 0, 60, true, false, NAN},
    {"zero_inflated_neg_binomial_2_log", "a, b, c", 1.2, 2, 0.3, 0, 200, true, false, NAN},
    {"zero_inflated_binomial_logit", "n, a, b", 0.4, 0.3, 0, 0, 7, true, false, NAN},
    {"hurdle_poisson_log", "a, b", -0.5, 0.3, 0, 0, 30, true, false, NAN},
    {"hurdle_poisson_log", "a, b", 3.1, 0.3, 0, 0, 120, true, false, NAN},
    {"hurdle_neg_binomial_2_log", "a, b, c", -1.5, 0.8, 0.3, 0, 100, true, false, NAN},
    {"hurdle_neg_binomial_2_log", "a, b, c", 1.8, 1.5, 0.3, 0, 300, true, false, NAN}};

static tacit_forecast_workspace_t *open(const char *text, const distribution_t *distribution) {
  const double seven = 7;
  const tacit_program_constant_t n = {.name = "n", .values = &seven, .n = 1};
  const tacit_program_settings_t settings = {.records = "", .constants = &n, .n_constants = 1};
  tacit_forecast_t *forecast;
  tacit_error_t err;
  assert_ok(tacit_forecast_new(&forecast, text, strlen(text), &settings, &err), err);
  tacit_forecast_workspace_t *workspace = tacit_forecast_workspace_new(forecast);
  assert_non_null(workspace);
  for (size_t j = 0; j < forecast->n_parameters; j++) {
    for (size_t lane = 0; lane < LANES; lane++) {
      double value = forecast->parameters[j][0] == 'a'   ? distribution->a
                     : forecast->parameters[j][0] == 'b' ? distribution->b
                                                         : distribution->c;
      workspace->inputs[(forecast->graph->n_columns + j) * LANES + lane] = value;
    }
  }
  return workspace;
}

static void close_workspace(tacit_forecast_workspace_t *workspace) {
  tacit_forecast_t *forecast = (tacit_forecast_t *)(uintptr_t)workspace->forecast;
  tacit_forecast_workspace_free(workspace);
  tacit_forecast_free(forecast);
}

static const char parameters[] = "parameters { real a; real b; real c; }";

/* The density at x, as the expectation of a distribution of one's own. */
static double density(tacit_forecast_workspace_t *workspace, double x) {
  double columns[8], out[LANES];
  for (size_t k = 0; k < workspace->forecast->graph->n_columns; k++) {
    columns[k] = workspace->forecast->graph->columns[k].source[0] == 'x' ? x : 0;
  }
  tacit_forecast_run(workspace, TACIT_FORECAST_MEAN, columns, NULL, out);
  return out[0];
}

/* below (n + 1) <- mass below x (n); the first moment is returned. */
static double integrate(const distribution_t *distribution, size_t n, double *x, double *below) {
  char text[1000];
  snprintf(text, sizeof text,
           "functions { real w_lpdf(real y, %s x, int n, real a, real b, real c) { return normal_lpdf(y | a "
           "+ b + c, 1); } "
           "real w_mean(%s x, int n, real a, real b, real c) { return exp(%s_%s(x | %s)); } } data { int n; "
           "real y; %s x; } %s model { y ~ w(x, n, "
           "a, b, c); }",
           distribution->is_whole ? "int" : "real", distribution->is_whole ? "int" : "real",
           distribution->name, distribution->is_whole ? "lpmf" : "lpdf", distribution->args,
           distribution->is_whole ? "int<lower=0, upper=1000>" : "real<lower=-10000, upper=10000>",
           parameters);
  tacit_forecast_workspace_t *workspace = open(text, distribution);
  double step = distribution->is_whole ? 1 : (distribution->upper - distribution->lower) / (double)n,
         moment = 0;
  below[0] = distribution->has_atom ? density(workspace, 0) : 0;
  for (size_t i = 0; i < n; i++) {
    double at = distribution->lower + step * ((double)i + (distribution->is_whole ? 0 : 0.5)),
           p = density(workspace, at) * step;
    x[i] = at + (distribution->is_whole ? 0 : 0.5 * step);
    below[i + 1] = below[i] + (isfinite(p) ? p : 0);
    moment += isfinite(p) ? p * at : 0;
  }
  close_workspace(workspace);
  return moment;
}

static double next(tacit_uniforms_t *self);
typedef struct source {
  tacit_uniforms_t base;
  tacit_rng_t *rng;
} source_t;
static double next(tacit_uniforms_t *self) { return tacit_rng_uniform(((source_t *)self)->rng); }

/* Draws in bins of equal mass: chi-squared, at 6.5 standard deviations of its normal approximation
 * [Wilson-Hilferty]. */
static void check_draws(const distribution_t *distribution, const double *draws, size_t n, const double *x,
                        const double *below) {
  double statistic = 0, total = below[n];
  size_t n_bins = 0, from = 0;
  double mass = distribution->has_atom ? below[0] : 0, seen = 0;
  for (size_t i = 0; i < N_DRAWS && distribution->has_atom; i++) {
    seen += draws[i] <= 0;
  }
  if (distribution->has_atom) {
    statistic += pow(seen - mass * N_DRAWS, 2) / (mass * N_DRAWS);
    n_bins++;
  }
  for (size_t i = 0; i < n; i++) {
    mass = below[i + 1] - below[from];
    bool is_end = i + 1 == n;
    if ((mass < 1.0 / N_BINS || (total - below[i + 1]) * N_DRAWS < 5) && !is_end) {
      continue;
    }
    double low = from > 0                 ? x[from - 1]
                 : distribution->has_atom ? 0
                                          : -INFINITY,
           high = is_end ? INFINITY : x[i];
    seen = 0;
    for (size_t k = 0; k < N_DRAWS; k++) {
      seen += draws[k] > low && draws[k] <= high;
    }
    statistic += pow(seen - mass * N_DRAWS, 2) / (mass * N_DRAWS);
    n_bins++;
    from = i + 1;
  }
  double df = (double)n_bins - 1,
         limit = df > 0 ? df * pow(1 - 2 / (9 * df) + 6.5 * sqrt(2 / (9 * df)), 3) : 0;
  if (!(statistic < limit)) {
    fail_msg("%s: chi-squared %g of %g degrees of freedom", distribution->name, statistic, df);
  }
}

static void check(const distribution_t *distribution) {
  static double x[MOST_POINTS], below[MOST_POINTS], draws[N_DRAWS];
  char text[600];
  double columns[8] = {0}, out[LANES];
  size_t n = distribution->is_whole ? (size_t)(distribution->upper - distribution->lower) + 1 : N_POINTS;
  unsigned char key[32];
  source_t source = {.base = {next}};
  tacit_error_t err;
  double moment = integrate(distribution, n, x, below);
  assert_true(fabs(below[n] - 1) < (isinf(distribution->mean) ? 1e-3 : 2e-5));
  snprintf(text, sizeof text, "data { int n; %s y; } %s model { y ~ %s(%s); }",
           distribution->is_whole ? "int<lower=0, upper=1000>" : "real<lower=-10000, upper=10000>",
           parameters, distribution->name, distribution->args);
  tacit_forecast_workspace_t *workspace = open(text, distribution);
  tacit_rng_key_from_seed(key, 7);
  assert_ok(tacit_rng_new(&source.rng, key, 0, &err), err);
  bool is_known = workspace->forecast->outcomes[0].parts[TACIT_FORECAST_MEAN].way == TACIT_WAY_OUTCOME;
  assert_int_equal(is_known, isnan(distribution->mean) || isinf(distribution->mean));
  tacit_forecast_run(workspace, TACIT_FORECAST_MEAN, columns, &source.base, out);
  if (isinf(distribution->mean)) {
    assert_true(isnan(out[0]));
  } else if (!(fabs(out[0] - moment) < (is_known ? 2e-4 : 0.5) * (1 + fabs(moment)))) {
    fail_msg("%s: a mean of %.8g, integrated %.8g", distribution->name, out[0], moment);
  }
  for (size_t i = 0; i < N_DRAWS; i += LANES) {
    tacit_forecast_run(workspace, TACIT_FORECAST_DRAW, columns, &source.base, draws + i);
  }
  check_draws(distribution, draws, n, x, below);
  tacit_rng_free(source.rng);
  close_workspace(workspace);
}

static void every_distribution(void **state) {
  for (size_t i = 0; i < sizeof distributions / sizeof distributions[0]; i++) {
    check(&distributions[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_distribution)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
