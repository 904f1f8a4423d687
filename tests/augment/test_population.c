/*
 * Records of a program: posteriors of tiny populations against sums over all tables of counts and a grid of
 * parameters, for every noise and what may be done to a value after it; and simulation-based calibration with
 * planted errors. Probabilities of cells and of the noise are written here anew, by other formulas.
 */
#include <string.h>

#include "augment/published.h"
#include "augment/support.h"
#include "program/program.h"

enum { MAX_CELLS = 6, MAX_VALUES = 8, N_GRID = 400 };

/* A population with one parameter on (from, to) of the grid, and what each cell adds to each value. */
typedef struct known {
  const char *name, *program;
  size_t n_cells, n_values;
  double adds[MAX_CELLS][MAX_VALUES];
  void (*p)(double theta, double *p);
  double (*log_prior)(double theta);
  double from, to;
} known_t;

static double upper(double z) { return 0.5 * erfc(z / sqrt(2)); }

static void p_bands(double mu, double *p) {
  p[0] = upper(mu + 0.5);
  p[2] = upper(0.8 - mu);
  p[1] = 1 - p[0] - p[2];
}
static void p_coin(double q, double *p) {
  p[0] = 1 - q;
  p[1] = q;
}
static void p_visits(double rate, double *p) {
  p[0] = exp(-rate);
  p[1] = p[0] * rate;
  p[2] = p[1] * rate / 2;
  p[3] = 1 - p[0] - p[1] - p[2];
}
static void p_waits(double rate, double *p) {
  p[1] = exp(-rate);
  p[0] = 1 - p[1];
}
/* By distance from 0: mu and -mu look alike. */
static void p_distances(double mu, double *p) {
  p[1] = upper(1 - mu) - upper(2 - mu) + upper(1 + mu) - upper(2 + mu);
  p[2] = upper(2 - mu) + upper(2 + mu);
  p[0] = 1 - p[1] - p[2];
}
/* sex 0, 1 by height below, above. */
static void p_heights(double mu, double *p) {
  for (int sex = 0; sex < 2; sex++) {
    p[2 * sex + 1] = (sex ? 0.4 : 0.6) * upper(0.5 - mu - sex);
    p[2 * sex] = (sex ? 0.4 : 0.6) - p[2 * sex + 1];
  }
}
static double prior_normal(double x) { return -0.5 * x * x / 2.25; }
static double prior_one_sided(double x) { return -0.5 * (x - 0.2) * (x - 0.2) / 2.25; }
static double prior_flat(double x) { return (void)x, 0; }
static double prior_gamma(double x) { return log(x) - x; }

#define BANDS                                                                                                \
  "data { real x; } transformed data { int<lower=0, upper=2> band = cut(x, {-0.5, 0.8}); } parameters { "    \
  "real mu; } "                                                                                              \
  "model { mu ~ normal(0, 1.5); x ~ normal(mu, 1); } statistic { s = "
#define DISTANCES                                                                                            \
  "data { real x; } transformed data { int<lower=0, upper=2> far = cut(fabs(x), {1, 2}); } parameters { "    \
  "real mu; } "                                                                                              \
  "model { mu ~ normal(0.2, 1.5); x ~ normal(mu, 1); } statistic { s = "
#define COIN                                                                                                 \
  "data { int<lower=0, upper=1> x; } parameters { real<lower=0, upper=1> q; } model { x ~ bernoulli(q); } "  \
  "statistic { s = "
#define VISITS                                                                                               \
  "data { int<lower=0> k; } transformed data { int<lower=0, upper=3> c = cut(k, {1, 2, 3}); } parameters { " \
  "real<lower=0> rate; } "                                                                                   \
  "model { rate ~ gamma(2, 1); k ~ poisson(rate); } statistic { s = "
#define WAITS                                                                                                \
  "data { real<lower=0> t; } parameters { real<lower=0> rate; } model { rate ~ gamma(2, 1); t ~ "            \
  "exponential(rate); } statistic { s = "
#define HEIGHTS                                                                                              \
  "data { int<lower=0, upper=1> sex; real h; } parameters { real mu; } model { mu ~ normal(0, 1.5); sex ~ "  \
  "bernoulli(0.4); "                                                                                         \
  "h ~ normal(mu + sex, 1); } statistic { "

static const known_t bands = {"bands", BANDS "count(band); }", 3,  3, {{1}, {0, 1}, {0, 0, 1}},
                              p_bands, prior_normal,           -7, 7};
static const known_t distances = {"distances", DISTANCES "count(far); }", 3,  3, {{1}, {0, 1}, {0, 0, 1}},
                                  p_distances, prior_one_sided,           -7, 7};
static const known_t coin = {"coin", COIN "sum(x); }", 2, 1, {{0}, {1}}, p_coin, prior_flat, 0, 1};
static const known_t visits = {"visits", VISITS "sum(c); }", 4,    1, {{0}, {1}, {2}, {3}},
                               p_visits, prior_gamma,        1e-9, 25};
static const known_t visit_counts = {
    "visit counts", VISITS "count(c); }", 4,    4, {{1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 1}},
    p_visits,       prior_gamma,          1e-9, 25};
static const known_t halves = {
    "halves", VISITS "sum(fmin(k, 3) / 2.0); }", 4, 1, {{0}, {0.5}, {1}, {1.5}}, p_visits, prior_gamma, 1e-9,
    25};
static const known_t waits = {
    "waits", WAITS "count(t > 1); }", 2, 2, {{1}, {0, 1}}, p_waits, prior_gamma, 1e-9, 25};
static const known_t heights = {"heights",
                                HEIGHTS "s = count(sex, h > 0.5); }",
                                4,
                                4,
                                {{1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 1}},
                                p_heights,
                                prior_normal,
                                -7,
                                7};
static const known_t margins = {"margins",
                                HEIGHTS "s = count(sex); tall = count(h > 0.5); }",
                                4,
                                4,
                                {{1, 0, 1}, {1, 0, 0, 1}, {0, 1, 1}, {0, 1, 0, 1}},
                                p_heights,
                                prior_normal,
                                -7,
                                7};

/* ---- the posterior by sums ---- */

typedef struct task {
  const known_t *known;
  const tacit_noisy_t *noisy; /* of values 0 .. */
  const tacit_noisy_t *of_n;
  double values[MAX_VALUES];
  double table[MAX_VALUES]
              [64]; /* likelihood of a value by its sum, in units of 1/2, where it was looked up */
} task_t;

/* Sum over tables of `left` more records in cells from `cell` on, of multinomial probability times
 * likelihood. */
static double sum_tables(const task_t *t, const double *p, size_t cell, int left, double weight,
                         double *sums) {
  double total = 0;
  if (cell + 1 == t->known->n_cells) {
    double lik = weight * pow(p[cell], left) / tgamma(left + 1.0);
    for (size_t v = 0; v < t->known->n_values; v++) {
      lik *= t->table[v][(int)nearbyint(2 * (sums[v] + left * t->known->adds[cell][v]))];
    }
    return lik;
  }
  for (int k = 0; k <= left; k++) {
    double moved[MAX_VALUES];
    for (size_t v = 0; v < t->known->n_values; v++) {
      moved[v] = sums[v] + k * t->known->adds[cell][v];
    }
    total += sum_tables(t, p, cell + 1, left - k, weight * pow(p[cell], k) / tgamma(k + 1.0), moved);
  }
  return total;
}

/* Mean and mean square of theta, and of n where it is unknown. */
static void exact(task_t *t, int n, double mean[3]) {
  double all = 0, p[MAX_CELLS], sums[MAX_VALUES] = {0};
  const known_t *k = t->known;
  memset(mean, 0, 3 * sizeof *mean);
  for (size_t v = 0; v < k->n_values; v++) {
    for (int s = 0; s < 64; s++) {
      t->table[v][s] = published_as(&t->noisy[v], t->values[v], 0.5 * s);
    }
  }
  for (int i = 0; i < N_GRID; i++) {
    double theta = k->from + (k->to - k->from) * (i + 0.5) / N_GRID, prior = exp(k->log_prior(theta));
    k->p(theta, p);
    for (int m = t->of_n != NULL ? 0 : n; m <= (t->of_n != NULL ? 10 : n); m++) {
      double weight = prior * tgamma(m + 1.0) * (t->of_n != NULL ? published_as(t->of_n, n, m) : 1);
      weight *= sum_tables(t, p, 0, m, 1, sums);
      all += weight;
      mean[0] += weight * theta;
      mean[1] += weight * theta * theta;
      mean[2] += weight * m;
    }
  }
  for (int i = 0; i < 3; i++) {
    mean[i] /= all;
  }
}

/* ---- draws ---- */

static void draw(const task_t *t, tacit_augment_method_t method, size_t n, const tacit_noisy_t *as_told,
                 size_t n_warmup, size_t n_draws, size_t thin, uint64_t seed, tacit_draws_t *draws) {
  tacit_population_t *population;
  tacit_error_t err;
  tacit_augment_settings_t s = tacit_augment_settings_default();
  tacit_published_statistic_t published[3] = {{0}};
  const tacit_group_t records = {.name = "", .n_records = t->of_n != NULL ? 0 : n};
  size_t n_statistics;
  assert_ok(tacit_population_parse(&population, t->known->program, strlen(t->known->program), NULL, 0, &err),
            err);
  const tacit_population_statistic_t *statistics = tacit_population_statistics(population, &n_statistics);
  for (size_t i = 0, v = 0; i < n_statistics; v += statistics[i++].n_values) {
    published[i] = (tacit_published_statistic_t){.statistic = i, .groups = 1, .noisy = as_told[v]};
    published[i].noisy.n_values = statistics[i].n_values;
    published[i].noisy.values = t->values + v;
  }
  double of = (double)n;
  if (t->of_n != NULL) {
    published[n_statistics] =
        (tacit_published_statistic_t){.statistic = TACIT_PUBLISHED_SIZE, .groups = 1, .noisy = *t->of_n};
    published[n_statistics].noisy.values = &of;
    published[n_statistics].noisy.n_values = 1;
  }
  s.method = method;
  s.n_chains = 2;
  s.n_warmup = n_warmup;
  s.thin = thin;
  s.n_draws = n_draws;
  tacit_rng_key_from_seed(s.key, seed);
  assert_ok(tacit_augment_population(population, 1, &records, n_statistics + (t->of_n != NULL), published, &s,
                                     draws, NULL, &err),
            err);
  tacit_population_free(population);
}

static double square(double x) { return x * x; }

/* Largest distance from the exact moments, in standard errors. */
static double distance(const task_t *t, tacit_augment_method_t method, size_t n, const tacit_noisy_t *as_told,
                       size_t n_draws, uint64_t seed) {
  tacit_draws_t draws, squares;
  tacit_summary_t summary;
  tacit_error_t err;
  double mean[3], z;
  task_t copy = *t;
  exact(&copy, (int)n, mean);
  draw(t, method, n, as_told, 400, n_draws, 1, seed, &draws);
  assert_ok(tacit_draws_summarise(&draws, 0, &summary, &err), err);
  z = summary.ess_bulk > 100 ? fabs(summary.mean - mean[0]) / summary.mcse_mean
                             : INFINITY; /* of fewer, its error is unknown */
  if (t->of_n != NULL) {
    assert_ok(tacit_draws_summarise(&draws, 1, &summary, &err), err);
    z = fmax(z, fabs(summary.mean - mean[2]) / summary.mcse_mean);
  }
  squares = draws;
  for (size_t c = 0; c < draws.n_chains; c++) {
    for (size_t i = 0; i < draws.n_warmup + draws.n_draws; i++) {
      *tacit_draws_row(&squares, c, i) = square(*tacit_draws_row(&draws, c, i));
    }
  }
  assert_ok(tacit_draws_summarise(&squares, 0, &summary, &err), err);
  z = fmax(z, fabs(summary.mean - mean[1]) / summary.mcse_mean);
  tacit_draws_clear(&draws);
  return z;
}

typedef struct agreement {
  const known_t *known;
  tacit_noisy_t distribution, of_n; /* of_n.scale 0: n is known */
  size_t n;
  double values[MAX_VALUES];
} agreement_t;

static const agreement_t agreements[] = {
    {&bands, DISTRIBUTION(GAUSSIAN, 1.5, 0, -INFINITY, INFINITY), {0}, 6, {0.3, 1.2, 5.1}},
    {&bands, DISTRIBUTION(LAPLACE, 1, 0, -INFINITY, INFINITY), {0}, 5, {3.6, -1.2, 1.1}},
    {&bands, DISTRIBUTION(DISCRETE_GAUSSIAN, 2, 0, 0, INFINITY), {0}, 8, {0, 3, 7}},
    {&bands, DISTRIBUTION(GAUSSIAN, 2, 1, 0, INFINITY), {0}, 7, {0, 0, 5}},
    {&coin, DISTRIBUTION(DISCRETE_LAPLACE, 1.5, 0, -INFINITY, INFINITY), {0}, 9, {8}},
    {&coin, DISTRIBUTION(DISCRETE_GAUSSIAN, 3, 5, 0, 10), {0}, 10, {10}},
    {&coin, DISTRIBUTION(LAPLACE, 2, 2, 0, 12), {0}, 12, {2}},
    {&visits, DISTRIBUTION(GAUSSIAN, 1, 0, 0, 9), {0}, 3, {9}},
    {&visits, DISTRIBUTION(DISCRETE_LAPLACE, 2, 0, 0, 15), {0}, 5, {15}},
    {&visit_counts, DISTRIBUTION(LAPLACE, 0.8, 0, 0, INFINITY), {0}, 6, {0, 2.3, 4.2, 0}},
    {&halves, DISTRIBUTION(LAPLACE, 0.7, 0, -INFINITY, INFINITY), {0}, 6, {2.2}},
    {&waits, DISTRIBUTION(DISCRETE_LAPLACE, 1, 3, -3, INFINITY), {0}, 7, {6, -3}},
    {&waits,
     DISTRIBUTION(GAUSSIAN, 1, 0, -INFINITY, INFINITY),
     DISTRIBUTION(DISCRETE_LAPLACE, 1, 0, 0, INFINITY),
     4,
     {1.3, 3.9}},
    {&heights, DISTRIBUTION(DISCRETE_GAUSSIAN, 1, 0, -INFINITY, INFINITY), {0}, 6, {3, 1, -1, 4}},
    {&margins, DISTRIBUTION(GAUSSIAN, 1, 1, 0, INFINITY), {0}, 6, {5, 1, 0, 6}},
    {&coin, DISTRIBUTION(GAUSSIAN, 2, 0, 0, 4), {0}, 12, {4}},
    {&coin, DISTRIBUTION(GAUSSIAN, 0.5, 5, -INFINITY, INFINITY), {0}, 12, {0}},
};

static size_t fill(task_t *t, tacit_noisy_t *distributions, const agreement_t *a) {
  *t = (task_t){.known = a->known, .noisy = distributions, .of_n = a->of_n.scale > 0 ? &a->of_n : NULL};
  memcpy(t->values, a->values, sizeof t->values);
  for (size_t v = 0; v < MAX_VALUES; v++) {
    distributions[v] = a->distribution;
  }
  return a->n;
}

/* 17 populations by at most 3 moments and two methods at 6 standard errors, whose estimates are good to some
 * percent: a false alarm in 10^6 at most. */
static void test_posteriors_of_tiny_populations_are_those_of_sums(void **state) {
  (void)state;
  size_t n_draws = (size_t)(1500 * testing_multiplier());
  n_draws = n_draws > 1000 ? n_draws : 1000;
  for (size_t i = 0; i < sizeof agreements / sizeof agreements[0]; i++) {
    static task_t t;
    tacit_noisy_t distributions[MAX_VALUES];
    size_t n = fill(&t, distributions, &agreements[i]);
    for (int of_records = 0; of_records < (t.of_n != NULL ? 1 : 2); of_records++) {
      double z = distance(&t, of_records ? TACIT_AUGMENT_GIBBS : TACIT_AUGMENT_MARGINAL, n, distributions,
                          n_draws, 10 + i);
      print_message("%-14s n = %zu, %s: %.2f standard errors\n", t.known->name, n,
                    of_records ? "records" : "cells", z);
      assert_true(z < 6);
    }
  }
}

/*
 * Records follow theta where a slice moves it, each by its own base numbers: theta alone cannot come from one
 * mode to the other, and records that repeat each other say too much. Two populations, one of two blocks, by
 * two moments at 6 standard errors. Errors planted to see that this catches them, at 11 and more: records
 * left where they were, or made at the slice's start; base numbers of the first block for all, or of the last
 * trial.
 */
static void test_records_follow_theta(void **state) {
  (void)state;
  static const agreement_t followed[] = {
      {&bands, DISTRIBUTION(GAUSSIAN, 1, 0, -INFINITY, INFINITY), {0}, 31, {8.2, 14.6, 8.1}},
      {&distances, DISTRIBUTION(GAUSSIAN, 1, 0, -INFINITY, INFINITY), {0}, 8, {3.1, 3.2, 2.0}}};
  for (size_t i = 0; i < sizeof followed / sizeof followed[0]; i++) {
    static task_t t;
    tacit_noisy_t distributions[MAX_VALUES];
    size_t n = fill(&t, distributions, &followed[i]);
    double z = distance(&t, TACIT_AUGMENT_GIBBS, n, distributions, 10000, 70 + i);
    print_message("%-14s n = %zu: %.2f standard errors\n", t.known->name, n, z);
    assert_true(z < 6);
  }
}

/* What a sampler that forgets a thing would find is told apart: the test has teeth. */
static void test_planted_errors_are_found(void **state) {
  (void)state;
  static const struct {
    size_t which;
    bool forgets_clamp, forgets_rounding, halves_noise;
  } planted[] = {{16, false, true, false}, {15, true, false, false}, {4, false, false, true}};
  size_t n_found = 0, n_planted = sizeof planted / sizeof planted[0];
  for (size_t i = 0; i < n_planted; i++) {
    static task_t t;
    tacit_noisy_t distributions[MAX_VALUES], wrong[MAX_VALUES];
    size_t n = fill(&t, distributions, &agreements[planted[i].which]);
    for (size_t v = 0; v < MAX_VALUES; v++) {
      wrong[v] = distributions[v];
      wrong[v].lower = planted[i].forgets_clamp ? -INFINITY : distributions[v].lower;
      wrong[v].upper = planted[i].forgets_clamp ? INFINITY : distributions[v].upper;
      wrong[v].rounded = planted[i].forgets_rounding ? 0 : distributions[v].rounded;
      wrong[v].scale = distributions[v].scale * (planted[i].halves_noise ? 0.5 : 1);
    }
    double z = distance(&t, TACIT_AUGMENT_MARGINAL, n, wrong, 2000, 50 + i);
    print_message("planted in %s: %.1f standard errors\n", t.known->name, z);
    n_found += z > 6;
  }
  assert_int_equal(n_found, n_planted);
}

/* ---- one statistic of two, which says one thing of two parameters ---- */

enum { N_LOGNORMAL = 7874, N_OF_Z = 60, N_OF_SIGMA = 4000 };

/*
 * Means of sigma and of mu where 1374 of 7874 records, or thereabouts, are above 4. The published counts see
 * Phi((mu - log 4) / sigma) = Phi(z) alone, so that the posterior is a likelihood in z times the prior along
 * each line of one z.
 */
static void exact_lognormal(const tacit_noisy_t *noisy, double mean[2]) {
  double all = 0;
  mean[0] = mean[1] = 0;
  for (int i = 0; i < N_OF_Z; i++) {
    double z = -1.15 + 0.45 * (i + 0.5) / N_OF_Z, p = upper(-z), lik = 0;
    for (double k = 1374 - 300; k <= 1374 + 300; k++) {
      double log_p = lgamma(N_LOGNORMAL + 1.0) - lgamma(k + 1) - lgamma(N_LOGNORMAL - k + 1) + k * log(p) +
                     (N_LOGNORMAL - k) * log1p(-p);
      lik += exp(log_p) * weight_of(noisy, noisy->values[0] - (N_LOGNORMAL - k)) *
             weight_of(noisy, noisy->values[1] - k);
    }
    for (int j = 0; j < N_OF_SIGMA; j++) {
      double sigma = 12 * (j + 0.5) / N_OF_SIGMA, mu = log(4) + z * sigma,
             weight = lik * sigma * exp(-0.5 * square(mu - 1) - sigma);
      all += weight;
      mean[0] += weight * mu;
      mean[1] += weight * sigma;
    }
  }
  mean[0] /= all;
  mean[1] /= all;
}

/* Trajectories pass distributions of no width and of a thousand decades. Four runs by two means at 6 standard
 * errors. */
static void test_one_statistic_of_two_has_the_posterior_of_quadrature(void **state) {
  (void)state;
  static const char program[] =
      "data { real<lower=0> x; } transformed data { int<lower=0, upper=3> band = cut(x, {2, 4, 8}); } "
      "parameters { real mu; "
      "real<lower=0> sigma; } model { mu ~ normal(1, 1); sigma ~ exponential(1); x ~ lognormal(mu, sigma); } "
      "statistic { table = count(band); high = count(x > 4); }";
  static const double values[] = {6499, 1377};
  const tacit_published_statistic_t published = {.statistic = 1,
                                                 .groups = 1,
                                                 .noisy = {.noise = TACIT_RELEASE_DISCRETE_LAPLACE,
                                                           .scale = 4,
                                                           .lower = -INFINITY,
                                                           .upper = INFINITY,
                                                           .n_values = 2,
                                                           .values = values}};
  const tacit_group_t records = {.name = "", .n_records = N_LOGNORMAL};
  tacit_population_t *population;
  tacit_error_t err;
  double mean[2];
  exact_lognormal(&published.noisy, mean);
  assert_ok(tacit_population_parse(&population, program, strlen(program), NULL, 0, &err), err);
  for (uint64_t seed = 1; seed <= 4; seed++) {
    tacit_augment_settings_t s = tacit_augment_settings_default();
    tacit_draws_t draws;
    s.n_chains = 2;
    s.n_warmup = 300;
    s.n_draws = 500;
    tacit_rng_key_from_seed(s.key, seed);
    assert_ok(tacit_augment_population(population, 1, &records, 1, &published, &s, &draws, NULL, &err), err);
    for (size_t j = 0; j < 2; j++) {
      tacit_summary_t summary;
      assert_ok(tacit_draws_summarise(&draws, j, &summary, &err), err);
      print_message("%s %.4f, by quadrature %.4f, standard error %.4f\n", j ? "sigma" : "mu", summary.mean,
                    mean[j], summary.mcse_mean);
      assert_true(fabs(summary.mean - mean[j]) < 6 * summary.mcse_mean);
    }
    tacit_draws_clear(&draws);
  }
  tacit_population_free(population);
}

/* ---- calibration ---- */

static double draw_noise(const tacit_noisy_t *s, tacit_rng_t *rng) {
  if (s->noise == TACIT_RELEASE_GAUSSIAN) {
    return s->scale * tacit_rng_normal(rng);
  }
  if (s->noise == TACIT_RELEASE_LAPLACE) {
    return s->scale * (tacit_rng_exponential(rng) - tacit_rng_exponential(rng));
  }
  double u = tacit_rng_uniform(rng) * mass(s, -INFINITY, INFINITY),
         e = -400; /* discrete: by its weights in turn */
  for (u -= weight_of(s, e); u > 0 && e < 400; u -= weight_of(s, e)) {
    e += 1;
  }
  return e;
}

/* Records of a parameter and what is published of them. */
static void publish(task_t *t, double theta, size_t n, tacit_rng_t *rng) {
  double p[MAX_CELLS];
  t->known->p(theta, p);
  memset(t->values, 0, sizeof t->values);
  for (size_t i = 0; i < n; i++) {
    size_t cell = 0;
    for (double u = tacit_rng_uniform(rng) - p[0]; u > 0 && cell + 1 < t->known->n_cells; u -= p[cell]) {
      cell++;
    }
    for (size_t v = 0; v < t->known->n_values; v++) {
      t->values[v] += t->known->adds[cell][v];
    }
  }
  for (size_t v = 0; v < t->known->n_values; v++) {
    const tacit_noisy_t *s = &t->noisy[v];
    double y = t->values[v] + draw_noise(s, rng);
    y = s->rounded > 0 ? s->rounded * nearbyint(y / s->rounded) : y;
    t->values[v] = fmin(fmax(y, s->lower), s->upper);
  }
}

static double draw_normal(tacit_rng_t *rng) { return 1.5 * tacit_rng_normal(rng); }
static double draw_gamma(tacit_rng_t *rng) { return tacit_rng_exponential(rng) + tacit_rng_exponential(rng); }

typedef struct setting {
  const known_t *known;
  double (*prior)(tacit_rng_t *rng);
  size_t n;
  tacit_noisy_t distribution, wrong;
} setting_t;

/* How far ranks of the true parameter among draws are from uniform, in standard errors of their mean and of
 * their mean square. */
static double unevenness(const setting_t *s, bool is_wrong, size_t n_replicates, uint64_t seed) {
  static task_t t;
  unsigned char key[32];
  tacit_rng_t *rng;
  tacit_error_t err;
  tacit_noisy_t distributions[MAX_VALUES], told[MAX_VALUES];
  double mean = 0, spread = 0, r = (double)n_replicates;
  for (size_t v = 0; v < MAX_VALUES; v++) {
    distributions[v] = s->distribution;
    told[v] = is_wrong ? s->wrong : s->distribution;
  }
  t = (task_t){.known = s->known, .noisy = distributions};
  tacit_rng_key_from_seed(key, seed);
  assert_ok(tacit_rng_new(&rng, key, 0, &err), err);
  for (size_t i = 0; i < n_replicates; i++) {
    tacit_draws_t draws;
    double theta = s->prior(rng), below = 0.5;
    publish(&t, theta, s->n, rng);
    draw(&t, TACIT_AUGMENT_MARGINAL, s->n, told, 120, 100, 3, seed + 1 + i, &draws);
    for (size_t c = 0; c < draws.n_chains; c++) {
      for (size_t k = draws.n_warmup; k < draws.n_warmup + draws.n_draws; k++) {
        below += *tacit_draws_row(&draws, c, k) < theta;
      }
    }
    double u = below / (double)(draws.n_chains * draws.n_draws + 1) - 0.5;
    mean += u / r;
    spread += u * u / r;
    tacit_draws_clear(&draws);
  }
  tacit_rng_free(rng);
  return fmax(fabs(mean) * sqrt(12 * r), fabs(spread - 1.0 / 12) * sqrt(180 * r));
}

/*
 * Simulation-based calibration [Talts2018] from prior to draws. Six statistics, each beyond 5.3 with
 * probability 1.2e-7. What is planted: noise taken for half of what it is, and values at a bound for the
 * noisy ones.
 */
static void test_ranks_of_true_parameters_are_uniform(void **state) {
  (void)state;
  static const setting_t settings[] = {
      {&visits, draw_gamma, 25, DISTRIBUTION(GAUSSIAN, 16, 0, -INFINITY, INFINITY),
       DISTRIBUTION(GAUSSIAN, 8, 0, -INFINITY, INFINITY)},
      {&coin, NULL, 40, DISTRIBUTION(LAPLACE, 4, 5, 0, 15), DISTRIBUTION(LAPLACE, 4, 5, -INFINITY, INFINITY)},
      {&bands, draw_normal, 40, DISTRIBUTION(DISCRETE_GAUSSIAN, 12, 0, 0, INFINITY),
       DISTRIBUTION(DISCRETE_GAUSSIAN, 6, 0, 0, INFINITY)}};
  size_t n = (size_t)(300 * testing_multiplier_at_least(0.4));
  for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
    setting_t s = settings[i];
    s.prior = s.prior != NULL ? s.prior : tacit_rng_uniform;
    double right = unevenness(&s, false, n, 1000 * (i + 1)), wrong = unevenness(&s, true, n, 1000 * (i + 1));
    print_message("%-8s %zu replicates: %.2f standard errors; with the planted error %.1f\n", s.known->name,
                  n, right, wrong);
    assert_true(right < 5.3);
    assert_true(wrong > 5.3);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_posteriors_of_tiny_populations_are_those_of_sums),
      cmocka_unit_test(test_records_follow_theta),
      cmocka_unit_test(test_planted_errors_are_found),
      cmocka_unit_test(test_one_statistic_of_two_has_the_posterior_of_quadrature),
      cmocka_unit_test(test_ranks_of_true_parameters_are_uniform),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
