/*
 * Records of a program drawn along: posteriors of tiny populations with sums of reals, several statistics and
 * several columns, against convolutions of the distribution of one record on a grid, for a grid of
 * parameters. The distributions are written here anew, by their distribution functions.
 */
#include <string.h>

#include "augment/published.h"
#include "augment/support.h"
#include "program/program.h"

enum { MOST_RECORDS = 8, GRID = 50, MOST_SUM = 2 * GRID * MOST_RECORDS + 1 };

/*
 * A record adds t in [0, most] to the sum and is in cell 0 or 1, whose number may be released along.
 * below(theta, cell, s): P(t <= s, cell) for 0 <= s < most; share(theta, cell): P(cell).
 */
typedef struct population {
  const char *name, *program;
  size_t dim, n_theta[2];
  double from[2], to[2], most;
  double (*below)(const double *theta, int cell, double s);
  double (*share)(const double *theta, int cell);
  double (*log_prior)(const double *theta);
} population_t;

static double phi(double z) { return 0.5 * erfc(-z / sqrt(2)); }

#define CLAMPED                                                                                              \
  "data { real x; } parameters { real mu; } model { mu ~ normal(0, 1.5); x ~ normal(mu, 1); } "              \
  "statistic { total = sum(fmin(fmax(x, 0), 2)); high = count(x > 0.5); }"
static double clamped_below(const double *mu, int cell, double s) {
  return cell == 0 ? phi(fmin(s, 0.5) - *mu) : fmax(phi(s - *mu) - phi(0.5 - *mu), 0);
}
static double clamped_share(const double *mu, int cell) {
  return cell == 0 ? phi(0.5 - *mu) : phi(*mu - 0.5);
}

#define TWO_REALS                                                                                            \
  "data { real a; real<lower=0> b; } parameters { real mu; } model { mu ~ normal(0, 1.5); a ~ normal(mu, "   \
  "1); b ~ exponential(1); } "                                                                               \
  "statistic { total = sum(fmin(fmax(a + b, 0), 3)); }"
static double two_reals_below(const double *mu, int cell, double s) {
  return (void)cell, phi(s - *mu) - exp(0.5 - (s - *mu)) * phi(s - *mu - 1);
}
static double whole(const double *theta, int cell) { return (void)theta, cell == 0 ? 1 : 0; }

#define INCOME                                                                                               \
  "data { real<lower=0> x; } parameters { real mu; real<lower=0> sigma; } model { mu ~ normal(0, 1); sigma " \
  "~ exponential(1); "                                                                                       \
  "x ~ lognormal(mu, sigma); } statistic { total = sum(fmin(x, 2)); }"
static double income_below(const double *theta, int cell, double s) {
  return (void)cell, phi((log(s) - theta[0]) / theta[1]);
}

#define HEIGHTS                                                                                              \
  "data { real<lower=0> h; int<lower=0, upper=1> sex; } parameters { real mu; } model { mu ~ normal(0, "     \
  "1.5); "                                                                                                   \
  "h ~ normal(mu + sex, 1) T[0, ]; sex ~ bernoulli(0.4); } statistic { total = sum(fmin(h, 2)); women = "    \
  "count(sex); }"
static double heights_below(const double *mu, int cell, double s) {
  double middle = *mu + cell;
  return (cell ? 0.4 : 0.6) * (phi(s - middle) - phi(-middle)) / phi(middle);
}
static double heights_share(const double *mu, int cell) { return (void)mu, cell ? 0.4 : 0.6; }

#define COSTS                                                                                                \
  "data { int<lower=0> k; real<lower=0> cost; } parameters { real<lower=0> rate; } model { rate ~ gamma(2, " \
  "1); k ~ poisson(rate); "                                                                                  \
  "cost ~ weibull(2, 1); } statistic { total = sum(fmin(k * cost, 4)); any = count(k > 0); }"
static double costs_below(const double *rate, int cell, double s) {
  double p = exp(-*rate), sum = 0;
  for (int k = 1; k < 60 && cell == 1; k++) {
    p *= *rate / k;
    sum += p * -expm1(-(s / k) * (s / k));
  }
  return cell == 0 ? p : sum;
}
static double costs_share(const double *rate, int cell) { return cell == 0 ? exp(-*rate) : -expm1(-*rate); }

static double prior_normal(const double *x) { return -0.5 * *x * *x / 2.25; }
static double prior_gamma(const double *x) { return log(*x) - *x; }
static double prior_income(const double *x) { return -0.5 * x[0] * x[0] - x[1]; }

static const population_t clamped = {"clamped",     CLAMPED,       1,           {120, 1}, {-7}, {7}, 2,
                                     clamped_below, clamped_share, prior_normal};
static const population_t two_reals = {"two reals", TWO_REALS,       1,     {120, 1},    {-7}, {7},
                                       3,           two_reals_below, whole, prior_normal};
static const population_t income = {"income", INCOME,       2,     {40, 50},    {-4, 0}, {4, 8},
                                    2,        income_below, whole, prior_income};
static const population_t heights = {"heights",     HEIGHTS,       1,           {120, 1}, {-7}, {7}, 2,
                                     heights_below, heights_share, prior_normal};
static const population_t costs = {"costs", COSTS, 1,           {120, 1},    {1e-9},
                                   {14},    4,     costs_below, costs_share, prior_gamma};

typedef struct agreement {
  const population_t *population;
  size_t n;
  tacit_noisy_t sum, count; /* count.scale 0: it was not released */
  double total, high;
} agreement_t;

#define NONE                                                                                                 \
  { 0 }
static const agreement_t agreements[] = {
    {&clamped, 4, DISTRIBUTION(GAUSSIAN, 0.7, 0, -INFINITY, INFINITY),
     DISTRIBUTION(DISCRETE_LAPLACE, 1, 0, -INFINITY, INFINITY), 3.1, 4},
    {&clamped, 3, DISTRIBUTION(LAPLACE, 2, 0, 0, INFINITY), DISTRIBUTION(GAUSSIAN, 1, 1, 0, INFINITY), 0, 2},
    {&two_reals, 5, DISTRIBUTION(LAPLACE, 1, 0.5, -INFINITY, INFINITY), NONE, 6.5, 0},
    {&income, 4, DISTRIBUTION(GAUSSIAN, 0.5, 0, -INFINITY, INFINITY), NONE, 4.4, 0},
    {&heights, 4, DISTRIBUTION(GAUSSIAN, 0.6, 0, 0, 6), DISTRIBUTION(DISCRETE_GAUSSIAN, 1, 0, 0, INFINITY), 6,
     1},
    {&costs, 3, DISTRIBUTION(LAPLACE, 1.5, 0, -INFINITY, INFINITY),
     DISTRIBUTION(DISCRETE_LAPLACE, 1.5, 3, -INFINITY, INFINITY), 5.7, 3},
};
enum { N_AGREEMENTS = sizeof agreements / sizeof agreements[0] };

/* ---- the posterior by convolutions ---- */

typedef struct distribution {
  double lik[MOST_SUM], of_count[MOST_RECORDS + 1];
  double p[MOST_RECORDS + 1][MOST_SUM],
      next[MOST_RECORDS + 1][MOST_SUM]; /* of how many are in cell 1, and the sum in half steps */
} distribution_t;

static double likelihood(const agreement_t *a, distribution_t *l, const double *theta) {
  const population_t *of = a->population;
  double step = of->most / GRID, mass[2][2 * GRID + 1] = {{0}};
  for (int cell = 0; cell < 2; cell++) { /* at the ends, and in the middle of each step */
    double before = of->below(theta, cell, 0);
    mass[cell][0] = of->share(theta, cell) > 0 ? before : 0;
    for (int k = 0; k + 1 < GRID && of->share(theta, cell) > 0; k++) {
      double at = of->below(theta, cell, (k + 1) * step);
      mass[cell][2 * k + 1] = at - before;
      before = at;
    }
    double edge = of->share(theta, cell) > 0 ? of->below(theta, cell, of->most * (1 - 1e-12)) : 0;
    mass[cell][2 * GRID - 1] = of->share(theta, cell) > 0 ? edge - before : 0;
    mass[cell][2 * GRID] = of->share(theta, cell) - edge;
  }
  memset(l->p, 0, sizeof l->p);
  l->p[0][0] = 1;
  for (size_t i = 0; i < a->n; i++) {
    memset(l->next, 0, sizeof l->next);
    for (size_t c = 0; c <= i; c++) {
      for (size_t s = 0; s <= 2 * GRID * i; s++) {
        for (int cell = 0; cell < 2 && l->p[c][s] > 0; cell++) {
          for (size_t k = 0; k <= 2 * GRID; k++) {
            l->next[c + (size_t)cell][s + k] += l->p[c][s] * mass[cell][k];
          }
        }
      }
    }
    memcpy(l->p, l->next, sizeof l->p);
  }
  double total = 0;
  for (size_t c = 0; c <= a->n; c++) {
    for (size_t s = 0; s <= 2 * GRID * a->n; s++) {
      total += l->p[c][s] * l->of_count[c] * l->lik[s];
    }
  }
  return total;
}

/* Means and mean squares of theta. */
static void exact(const agreement_t *a, double mean[4]) {
  static distribution_t l;
  const population_t *of = a->population;
  double all = 0;
  for (size_t s = 0; s <= 2 * GRID * a->n; s++) {
    l.lik[s] = published_as(&a->sum, a->total, 0.5 * (double)s * of->most / GRID);
  }
  for (size_t c = 0; c <= a->n; c++) {
    l.of_count[c] = a->count.scale > 0
                        ? published_as(&a->count, a->high, (double)c) *
                              published_as(&a->count, (double)a->n - a->high, (double)(a->n - c))
                        : 1;
  }
  memset(mean, 0, 4 * sizeof *mean);
  for (size_t i = 0; i < of->n_theta[0] * of->n_theta[1]; i++) {
    double theta[2];
    for (size_t j = 0; j < 2; j++) {
      size_t k = j == 0 ? i / of->n_theta[1] : i % of->n_theta[1];
      theta[j] = of->from[j] + (of->to[j] - of->from[j]) * ((double)k + 0.5) / (double)of->n_theta[j];
    }
    double weight = exp(of->log_prior(theta)) * likelihood(a, &l, theta);
    all += weight;
    for (size_t j = 0; j < of->dim; j++) {
      mean[2 * j] += weight * theta[j];
      mean[2 * j + 1] += weight * theta[j] * theta[j];
    }
  }
  for (int k = 0; k < 4; k++) {
    mean[k] /= all;
  }
}

/* ---- draws ---- */

static void draw(const agreement_t *a, const tacit_noisy_t *sum, bool interweave, size_t n_draws,
                 uint64_t seed, tacit_draws_t *draws) {
  tacit_population_t *population;
  tacit_error_t err;
  tacit_augment_settings_t s = tacit_augment_settings_default();
  tacit_augment_result_t result;
  double counts[2] = {(double)a->n - a->high, a->high};
  tacit_published_statistic_t published[2] = {{.groups = 1, .noisy = *sum},
                                              {.statistic = 1, .groups = 1, .noisy = a->count}};
  const tacit_group_t records = {.name = "", .n_records = a->n};
  published[0].noisy.n_values = 1;
  published[0].noisy.values = &a->total;
  published[1].noisy.n_values = 2;
  published[1].noisy.values = counts;
  assert_ok(tacit_population_parse(&population, a->population->program, strlen(a->population->program), NULL,
                                   0, &err),
            err);
  assert_null(tacit_population_obstacle(population));
  s.n_chains = 2;
  s.n_warmup = 400;
  s.n_draws = n_draws;
  s.interweave = interweave;
  tacit_rng_key_from_seed(s.key, seed);
  assert_ok(tacit_augment_population(population, 1, &records, a->count.scale > 0 ? 2 : 1, published, &s,
                                     draws, &result, &err),
            err);
  assert_int_equal(result.method, TACIT_AUGMENT_GIBBS);
  tacit_population_free(population);
}

/* Largest distance from the exact moments, in standard errors. */
static double distance(const agreement_t *a, const tacit_noisy_t *sum, bool interweave, size_t n_draws,
                       uint64_t seed) {
  tacit_draws_t draws;
  tacit_summary_t summary;
  tacit_error_t err;
  double mean[4], z = 0;
  exact(a, mean);
  draw(a, sum, interweave, n_draws, seed, &draws);
  for (size_t k = 0; k < 2 * a->population->dim; k++) {
    for (size_t c = 0; k % 2 == 1 && c < draws.n_chains; c++) {
      for (size_t i = 0; i < draws.n_warmup + draws.n_draws; i++) {
        double *at = &tacit_draws_row(&draws, c, i)[k / 2];
        *at *= *at;
      }
    }
    assert_ok(tacit_draws_summarise(&draws, k / 2, &summary, &err), err);
    z = fmax(z, fabs(summary.mean - mean[k]) / summary.mcse_mean);
  }
  tacit_draws_clear(&draws);
  return z;
}

/* 7 runs by at most 4 moments at 6 standard errors, whose estimates are good to some percent: a false alarm
 * in 10^6 at most. */
static void test_posteriors_of_tiny_populations_are_those_of_convolutions(void **state) {
  (void)state;
  size_t n_draws = (size_t)(1500 * testing_multiplier_at_least(0.6));
  for (size_t i = 0; i < N_AGREEMENTS; i++) {
    const agreement_t *a = &agreements[i];
    double z = distance(a, &a->sum, true, a->population->dim * a->population->dim * n_draws, 10 + i);
    print_message("%-10s n = %zu: %.2f standard errors\n", a->population->name, a->n, z);
    assert_true(z < 6);
  }
  double z = distance(&agreements[0], &agreements[0].sum, false, n_draws, 30);
  print_message("%-10s n = %zu, plain: %.2f standard errors\n", agreements[0].population->name,
                agreements[0].n, z);
  assert_true(z < 6);
}

/* A sampler that is told less than was done to the sum is told apart. */
static void test_planted_errors_are_found(void **state) {
  (void)state;
  tacit_noisy_t no_clamp = agreements[4].sum, narrow = agreements[0].sum, no_rounding = agreements[2].sum;
  no_clamp.lower = -INFINITY;
  no_clamp.upper = INFINITY;
  narrow.scale *= 0.5;
  no_rounding.scale *= 0.5;
  no_rounding.rounded = 0;
  double z[] = {distance(&agreements[4], &no_clamp, true, 3000, 40),
                distance(&agreements[0], &narrow, true, 3000, 41),
                distance(&agreements[2], &no_rounding, true, 3000, 42)};
  for (size_t i = 0; i < 3; i++) {
    print_message("planted: %.1f standard errors\n", z[i]);
    assert_true(z[i] > 6);
  }
}

/*
 * Sums without bounds: no interval of x has one value, though all have the same infinite ones. y of mean n mu
 * and variance n + scale^2 is conjugate to mu; three programs at 6 standard errors.
 */
static void test_unbounded_sums_are_drawn_along(void **state) {
  (void)state;
  enum { N_RECORDS = 60 };
  static const char *const sums[] = {"x", "fmax(x, -50)", "log(exp(x))"};
  const double y = 45, scale = 11, noise = N_RECORDS + scale * scale,
               precision = 1 + N_RECORDS * N_RECORDS / noise;
  for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++) {
    char program[300];
    tacit_population_t *population;
    tacit_error_t err;
    tacit_draws_t draws;
    tacit_summary_t summary;
    tacit_augment_result_t result;
    tacit_augment_settings_t s = tacit_augment_settings_default();
    const tacit_group_t records = {.name = "", .n_records = N_RECORDS};
    tacit_published_statistic_t published = {.groups = 1,
                                             .noisy = DISTRIBUTION(GAUSSIAN, scale, 0, -INFINITY, INFINITY)};
    published.noisy.values = &y;
    published.noisy.n_values = 1;
    s.n_chains = 2;
    s.n_warmup = 200;
    tacit_rng_key_from_seed(s.key, 60 + i);
    snprintf(program, sizeof program,
             "data { real x; } parameters { real mu; } model { mu ~ normal(0, 1); x ~ normal(mu, 1); } "
             "statistic { s = sum(%s); }",
             sums[i]);
    assert_ok(tacit_population_parse(&population, program, strlen(program), NULL, 0, &err), err);
    assert_ok(tacit_augment_population(population, 1, &records, 1, &published, &s, &draws, &result, &err),
              err);
    assert_int_equal(result.method, TACIT_AUGMENT_GIBBS);
    assert_ok(tacit_draws_summarise(&draws, 0, &summary, &err), err);
    print_message("sum(%s): mean %.3f, exactly %.3f; sd %.3f, exactly %.3f\n", sums[i], summary.mean,
                  N_RECORDS * y / noise / precision, summary.sd, 1 / sqrt(precision));
    assert_true(fabs(summary.mean - N_RECORDS * y / noise / precision) < 6 * summary.mcse_mean);
    assert_true(fabs(summary.sd * sqrt(precision) - 1) < 0.25);
    tacit_draws_clear(&draws);
    tacit_population_free(population);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_posteriors_of_tiny_populations_are_those_of_convolutions),
      cmocka_unit_test(test_planted_errors_are_found),
      cmocka_unit_test(test_unbounded_sums_are_drawn_along),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
