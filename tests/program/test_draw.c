/*
 * Records from base numbers: there and back, their densities as slopes of what is turned around, whole
 * numbers by their probabilities, and what cannot be drawn.
 */
#include <math.h>
#include <string.h>

#include "program/program.h"
#include "testing.h"

static tacit_population_t *parse(const char *text) {
  tacit_population_t *p;
  tacit_error_t err;
  assert_ok(tacit_population_parse(&p, text, strlen(text), NULL, 0, &err), err);
  return p;
}

static double normal_density(double z) { return exp(-0.5 * z * z) / sqrt(2 * 3.14159265358979323846); }

/* log f(x) against the derivative of the base number by x. */
static void check_real(const char *distribution, const char *bounds) {
  char text[400];
  tacit_error_t err;
  tacit_population_workspace_t *workspace;
  double theta = 0.3, base[16], x[16], back[16], near[2][16], log_lik[16];
  snprintf(text, sizeof text,
           "data { real%s x; } parameters { real a; } model { x ~ %s; } statistic { s = sum(fmin(fmax(x, 0), "
           "1)); }",
           bounds, distribution);
  tacit_population_t *p = parse(text);
  assert_null(tacit_population_obstacle(p));
  assert_ok(tacit_population_workspace_new(&workspace, p, &err), err);
  bool is_normal = tacit_population_base_is_normal(p, 0);
  for (size_t i = 0; i < 16; i++) {
    double u = ((double)i + 0.5) / 16;
    base[i] = is_normal ? 4 * u - 2 : u;
  }
  assert_true(tacit_population_make(workspace, &theta, base, x));
  assert_true(tacit_population_unmake(workspace, &theta, x, base, back));
  tacit_population_log_lik(workspace, &theta, x, log_lik, NULL);
  for (int side = 0; side < 2; side++) {
    double moved[16];
    for (size_t i = 0; i < 16; i++) {
      moved[i] = x[i] * (1 + (side ? 1e-5 : -1e-5));
    }
    assert_true(tacit_population_unmake(workspace, &theta, moved, base, near[side]));
  }
  for (size_t i = 0; i < 16; i++) {
    double slope =
        fabs(near[1][i] - near[0][i]) / (2e-5 * fabs(x[i])) * (is_normal ? normal_density(base[i]) : 1);
    if (!(fabs(back[i] - base[i]) < 1e-12) || !(fabs(log(slope) - log_lik[i]) < 1e-6)) {
      fail_msg("%s at %.17g: base number %.17g, then %.17g; log density %.12g, slope %.12g", distribution,
               x[i], base[i], back[i], log_lik[i], log(slope));
    }
  }
  tacit_population_workspace_free(workspace);
  tacit_population_free(p);
}

static void test_draws_have_the_density_that_the_program_says(void **state) {
  static const char *const distributions[][2] = {{"normal(a, 1.3)", ""},
                                                 {"lognormal(a, 0.7)", "<lower=0>"},
                                                 {"std_normal() T[a, ]", "<lower=0.3>"},
                                                 {"cauchy(a, 2)", ""},
                                                 {"logistic(a, 0.5)", ""},
                                                 {"double_exponential(a, 2)", ""},
                                                 {"gumbel(a, 1.5)", ""},
                                                 {"uniform(a, 2)", "<lower=0, upper=2>"},
                                                 {"exponential(1 + a)", "<lower=0>"},
                                                 {"weibull(1.7, exp(a))", "<lower=0>"},
                                                 {"frechet(2.5, exp(a))", "<lower=0>"},
                                                 {"loglogistic(exp(a), 3)", "<lower=0>"},
                                                 {"gompertz(0.5, exp(a))", "<lower=0>"},
                                                 {"rayleigh(exp(a))", "<lower=0>"},
                                                 {"pareto(0.5, 2 + a)", "<lower=0.5>"},
                                                 {"pareto_type_2(0, 1.5, 2 + a)", "<lower=0>"},
                                                 {"generalized_pareto(0.3, exp(a))", "<lower=0>"},
                                                 {"normal(a, 1) T[0, ]", "<lower=0>"},
                                                 {"normal(a, 1) T[ , 2]", "<upper=2>"},
                                                 {"normal(a, 1) T[-1, 2.5]", "<lower=-1, upper=2.5>"},
                                                 {"exponential(1 + a) T[1, 3]", "<lower=1, upper=3>"},
                                                 {"gumbel(a, 1) T[0, ]", "<lower=0>"},
                                                 {"weibull(2, 1) T[ , a + 1]", "<lower=0>"}};
  for (size_t i = 0; i < sizeof distributions / sizeof distributions[0]; i++) {
    check_real(distributions[i][0], distributions[i][1]);
  }
}

/* Numbers that look at each other, in whatever order they are written; an outcome that is moved and scaled;
 * whole ones. */
static void test_records_of_several_numbers_are_made_in_order(void **state) {
  tacit_error_t err;
  tacit_population_workspace_t *workspace;
  tacit_population_t *p = parse(
      "data { int<lower=0, upper=2> k; real<lower=16> age; vector[2] x; } parameters { real a; } model { "
      "x ~ normal(a + k, 2); k ~ binomial(2, inv_logit(age / 50)); (age - 16) / 10 ~ exponential(0.5); } "
      "statistic { s = sum(fmin(age, 90)); }");
  double theta = -0.4, base[64], x[64], v[64], back[64], again[64];
  assert_null(tacit_population_obstacle(p));
  assert_ok(tacit_population_workspace_new(&workspace, p, &err), err);
  for (size_t i = 0; i < 64; i++) {
    base[i] = fmod(0.5 + 0.618033988749895 * (double)i, 1);
    v[i] = fmod(0.5 + 0.754877666246693 * (double)i, 1);
  }
  assert_true(tacit_population_make(workspace, &theta, base, x));
  for (size_t i = 0; i < 16; i++) {
    double age = 16 - 20 * log(base[16 + i]), q = 1 / (1 + exp(-age / 50)), at = base[i];
    double k = at < (1 - q) * (1 - q) ? 0 : at < 1 - q * q ? 1 : 2;
    assert_true(fabs(x[16 + i] - age) < 1e-10 && fabs(x[i] - k) < 0.5);
    assert_true(fabs(x[32 + i] - (theta + k + 2 * base[32 + i])) < 1e-12 &&
                fabs(x[48 + i] - (theta + k + 2 * base[48 + i])) < 1e-12);
  }
  assert_true(tacit_population_unmake(workspace, &theta, x, v, back));
  assert_true(tacit_population_make(workspace, &theta, back, again));
  for (size_t i = 0; i < 64; i++) {
    assert_true(fabs(again[i] - x[i]) < 1e-9 * (1 + fabs(x[i])));
    assert_true(i < 16 || fabs(back[i] - base[i]) < 1e-10);
  }
  tacit_population_workspace_free(workspace);
  tacit_population_free(p);
}

static void test_what_cannot_be_drawn_says_why(void **state) {
  static const char *const models[][2] = {
      {"x ~ gamma(2, exp(a)); y ~ normal(0, 1);", "gamma"},
      {"x ~ normal(a, 1); target += -0.5 * y * y;", "something else"},
      {"x ~ normal(a, 1);", "not every number"},
      {"x ~ normal(y + a, 1); y ~ normal(x, 1);", "look at each other"},
      {"x ~ normal(a, 1); x ~ normal(0, 1);", "several statements"},
      {"if (y > 0) x ~ normal(a, 1); else x ~ normal(-a, 1); y ~ normal(0, 1);", "not all that is said"},
      {"x * y ~ normal(a, 1); y ~ normal(0, 1);", "no number of the record"}};
  for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
    char text[400];
    snprintf(text, sizeof text,
             "data { real x; real y; } parameters { real a; } model { a ~ normal(0, 1); %s } statistic { s = "
             "sum(fmin(fmax(x, 0), 1)); }",
             models[i][0]);
    tacit_population_t *p = parse(text);
    const char *obstacle = tacit_population_obstacle(p);
    if (obstacle == NULL || strstr(obstacle, models[i][1]) == NULL) {
      fail_msg("%s: %s", models[i][0], obstacle != NULL ? obstacle : "can be drawn");
    }
    tacit_population_free(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_draws_have_the_density_that_the_program_says),
      cmocka_unit_test(test_records_of_several_numbers_are_made_in_order),
      cmocka_unit_test(test_what_cannot_be_drawn_says_why),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
