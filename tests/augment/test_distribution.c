/*
 * Probabilities of the cells that statistics tell apart, against closed forms, and their gradient against
 * differences of these: real records of a normal distribution in bands, whole numbers of a Poisson
 * distribution, two columns at once. Nothing here is random.
 */
#include <stdio.h>
#include <string.h>

#include "augment/population_internal.h"
#include "support.h"

enum { MAX_VALUES = 4 };

typedef struct setting {
  tacit_population_t *population;
  tacit_seen_t seen[2];
  tacit_cells_t cells;
  tacit_distribution_t *distribution;
  double log_p[16];
} setting_t;

static void open(setting_t *s, const char *program) {
  tacit_error_t err;
  size_t n_statistics;
  uint32_t first = 0;
  assert_ok(tacit_population_parse(&s->population, program, strlen(program), NULL, 0, &err), err);
  const tacit_population_statistic_t *statistics = tacit_population_statistics(s->population, &n_statistics);
  for (size_t i = 0; i < n_statistics; i++) {
    s->seen[i] = (tacit_seen_t){.statistic = &statistics[i], .first = first};
    first += (uint32_t)statistics[i].n_values;
  }
  assert_ok(tacit_cells_init(&s->cells, s->population, s->seen, n_statistics, NULL, &err), err);
  assert_ok(tacit_distribution_new(&s->distribution, &s->cells, &err), err);
}

static void close(setting_t *s) {
  tacit_distribution_free(s->distribution);
  tacit_cells_clear(&s->cells);
  tacit_population_free(s->population);
}

/* expected <- what a record adds to each value on average; the order of cells does not matter. */
static void expect(setting_t *s, double theta, double *expected) {
  double total;
  memset(expected, 0, MAX_VALUES * sizeof *expected);
  assert_int_equal(tacit_distribution_set(s->distribution, &theta, s->log_p, &total), TACIT_DISTRIBUTION_OK);
  for (size_t c = 0; c < s->cells.n_cells; c++) {
    for (size_t e = 0; e < s->cells.n_entries; e++) {
      const tacit_entry_t *entry = &s->cells.entries[c * s->cells.n_entries + e];
      expected[entry->value] += exp(s->log_p[c]) * entry->weight;
    }
  }
}

static double upper(double z) { return 0.5 * erfc(z / sqrt(2)); }

static void test_bands_of_a_normal_distribution_are_those_of_erfc(void **state) {
  (void)state;
  static const double means[] = {0, 0.3, -2, 6, -9};
  setting_t s;
  double p[MAX_VALUES];
  open(&s, "data { real x; } transformed data { int<lower=0, upper=2> band = cut(x, {-0.5, 0.8}); } "
           "parameters { real mu; } "
           "model { mu ~ normal(0, 1.5); x ~ normal(mu, 1); } statistic { s = count(band); }");
  for (size_t i = 0; i < sizeof means / sizeof means[0]; i++) {
    double mu = means[i],
           expected[3] = {upper(mu + 0.5), upper(-0.5 - mu) - upper(0.8 - mu), upper(0.8 - mu)};
    expect(&s, mu, p);
    for (size_t k = 0; k < 3; k++) {
      double slack = k == 1 ? 1e-14 : 0; /* the difference's own rounding */
      assert_true(fabs(p[k] - expected[k]) <= 1e-8 * expected[k] + slack);
    }
  }
  close(&s);
}

static void test_two_columns_have_the_distribution_of_both(void **state) {
  (void)state;
  setting_t s;
  double p[MAX_VALUES];
  open(&s, "data { int<lower=0, upper=1> sex; real h; } parameters { real mu; } model { mu ~ normal(0, 1.5); "
           "sex ~ bernoulli(0.4); "
           "h ~ normal(mu + sex, 1); } statistic { s = count(sex, h > 0.5); }");
  for (double mu = -3; mu <= 3; mu += 0.75) {
    expect(&s, mu, p);
    for (int sex = 0; sex < 2; sex++) {
      double share = sex ? 0.4 : 0.6, above = share * upper(0.5 - mu - sex);
      assert_true(fabs(p[2 * sex + 1] - above) <= 1e-8 * above);
      assert_true(fabs(p[2 * sex] - (share - above)) <= 1e-8);
    }
  }
  close(&s);
}

static void test_whole_numbers_are_summed(void **state) {
  (void)state;
  setting_t s;
  double p[MAX_VALUES];
  open(&s, "data { int<lower=0> k; } transformed data { int<lower=0, upper=3> c = cut(k, {1, 2, 3}); } "
           "parameters { real rate; } "
           "model { rate ~ normal(0, 1); k ~ poisson(exp(rate)); } statistic { s = count(c); }");
  for (double theta = -2; theta <= 3; theta += 0.5) {
    double rate = exp(theta),
           expected[4] = {exp(-rate), rate * exp(-rate), 0.5 * rate * rate * exp(-rate), 1};
    expected[3] -= expected[0] + expected[1] + expected[2];
    expect(&s, theta, p);
    for (size_t k = 0; k < 4; k++) {
      assert_true(fabs(p[k] - expected[k]) <= 1e-8 * expected[k] + 1e-14);
    }
  }
  close(&s);
}

static void test_gradient_is_that_of_the_probabilities(void **state) {
  (void)state;
  static const double counts[3] = {7, 2, 11};
  setting_t s;
  open(&s, "data { real x; } transformed data { int<lower=0, upper=2> band = cut(x, {-0.5, 0.8}); } "
           "parameters { real mu; } "
           "model { mu ~ normal(0, 1.5); x ~ normal(mu, 1); } statistic { s = count(band); }");
  for (double mu = -4; mu <= 4; mu += 0.8) {
    double total, grad = 0, value[2], step = 1e-5;
    for (int side = 0; side < 2; side++) {
      double at = mu + (side ? step : -step);
      assert_int_equal(tacit_distribution_set(s.distribution, &at, s.log_p, &total), TACIT_DISTRIBUTION_OK);
      value[side] = counts[0] * s.log_p[0] + counts[1] * s.log_p[1] + counts[2] * s.log_p[2];
    }
    assert_int_equal(tacit_distribution_set(s.distribution, &mu, s.log_p, &total), TACIT_DISTRIBUTION_OK);
    tacit_distribution_add_grad(s.distribution, counts, s.log_p, &grad);
    double difference = (value[1] - value[0]) / (2 * step);
    assert_true(fabs(grad - difference) <=
                1e-3 + 1e-4 * fabs(difference)); /* a probability may be off by 1e-9, over the step */
  }
  close(&s);
}

/* Distributions from next to a point to hundreds of decades wide, whose mode is at a cut, at a border of
 * panels, or anywhere. */
static void test_narrow_and_wide_distributions_are_found(void **state) {
  (void)state;
  static const char *const at[] = {"log(4)", "2", "2.4081",
                                   "-0.3"}; /* where the cut is in units of log sd from the mode */
  char program[400];
  double p[MAX_VALUES];
  for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
    setting_t s;
    snprintf(program, sizeof program,
             "data { real<lower=0> x; } parameters { real t; } model { t ~ normal(0, 1); x ~ lognormal(%s, "
             "exp(t)); } "
             "statistic { s = count(x > exp(%s)); }",
             at[i], at[i]);
    open(&s, program);
    for (double t = -13; t <= 4; t += 0.5) {
      expect(&s, t, p);
      assert_true(fabs(p[0] - 0.5) < 1e-6 &&
                  fabs(p[1] - 0.5) < 1e-6); /* the cut lies where it is to 1e-12, the narrowest sd is 2e-6 */
    }
    close(&s);
  }
}

/* A distribution of sd 5e-10, about whose panel two rules agree by chance: 9e-8 too much is found at first.
 */
static void test_panels_that_agree_by_chance_are_halved(void **state) {
  (void)state;
  setting_t s;
  double p[MAX_VALUES];
  open(
      &s,
      "data { real<lower=0> x; } transformed data { int<lower=0, upper=3> band = cut(x, {1, 3, 9}); } "
      "parameters { real t; } "
      "model { t ~ normal(0, 1); x ~ lognormal(1.370489671844715, exp(t)); } statistic { s = count(band); }");
  expect(&s, -22.870787266732869, p);
  assert_true(fabs(p[2] - 1) < 1e-8 && p[0] + p[1] + p[3] < 1e-8);
  close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bands_of_a_normal_distribution_are_those_of_erfc),
                                     cmocka_unit_test(test_two_columns_have_the_distribution_of_both),
                                     cmocka_unit_test(test_whole_numbers_are_summed),
                                     cmocka_unit_test(test_gradient_is_that_of_the_probabilities),
                                     cmocka_unit_test(test_narrow_and_wide_distributions_are_found),
                                     cmocka_unit_test(test_panels_that_agree_by_chance_are_halved)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
