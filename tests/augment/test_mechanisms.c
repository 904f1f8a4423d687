/*
 * Mechanisms of records of a program, and releases of several groups of records: posteriors of tiny
 * populations against sums over all tables of counts and a grid of one parameter. Likelihoods are written
 * here anew: answers by going through the records, moved counts by an integral over the move. What a sampler
 * that is told something else would find is told apart.
 */
#include <string.h>

#include "augment/population_internal.h"
#include "augment/published.h"
#include "augment/support.h"

enum { MAX_CELLS = 4, MAX_VALUES = 4, MAX_RELEASES = 3, MAX_GROUPS = 3, N_GRID = 400, MAX_TABLES = 30000 };

typedef struct release {
  size_t statistic;
  uint64_t groups;
  tacit_noisy_t distribution; /* with quantiles: `scale` alone */
  double values[MAX_VALUES];
  double truth; /* of answers */
} release_t;

/* A statistic of a program: what each cell adds to each of its sums; of quantiles the cells' bands. */
typedef struct measure {
  size_t n_sums, n_values;
  double adds[MAX_CELLS][MAX_VALUES];
  double quantile;
  double candidates[MAX_VALUES];
} measure_t;

typedef struct scene {
  const char *name, *program;
  size_t n_cells, n_groups, n[MAX_GROUPS];
  measure_t measures[2];
  void (*p)(double theta, size_t group, double *p);
  double given[MAX_GROUPS]; /* of the program's first column; 0: none */
  size_t n_releases;
  release_t releases[MAX_RELEASES];
  bool has_records; /* may be drawn along as well */
} scene_t;

static double upper(double z) { return 0.5 * erfc(z / sqrt(2)); }

static void p_bands(double mu, size_t group, double *p) {
  (void)group;
  p[0] = upper(mu + 0.5);
  p[2] = upper(0.8 - mu);
  p[1] = 1 - p[0] - p[2];
}
static void p_sites(double mu, size_t group, double *p) {
  p[1] = upper(-mu * (group == 0 ? 1 : 2));
  p[0] = 1 - p[1];
}

#define BANDS(statistics)                                                                                    \
  "data { real x; } transformed data { int<lower=0, upper=2> band = cut(x, {-0.5, 0.8}); } parameters { "    \
  "real mu; } "                                                                                              \
  "model { mu ~ normal(0, 1.5); x ~ normal(mu, 1); } statistic { " statistics " }"
#define TABLE                                                                                                \
  {                                                                                                          \
    .n_sums = 3, .n_values = 3, .adds = { {1}, {0, 1}, {0, 0, 1} }                                           \
  }
#define HALF                                                                                                 \
  {                                                                                                          \
    .n_sums = 3, .n_values = 1, .adds = {{1}, {0, 1}, {0, 0, 1}}, .quantile = 0.4, .candidates = {           \
      -0.5,                                                                                                  \
      0.8                                                                                                    \
    }                                                                                                        \
  }

static const scene_t scenes[] = {
    {"answers",
     BANDS("s = count(band);"),
     3,
     1,
     {7},
     {TABLE},
     p_bands,
     {0},
     1,
     {{0, 1, {.noise = TACIT_RELEASE_RESPONSES}, {1, 2, 4}, 0.6}},
     false},
    {"counts without noise",
     BANDS("s = count(band);"),
     3,
     1,
     {6},
     {TABLE},
     p_bands,
     {0},
     1,
     {{0, 1, {.noise = TACIT_RELEASE_NONE}, {0, 2, 4}, 0}},
     false},
    {"answers and a noisy table",
     BANDS("s = count(band);"),
     3,
     1,
     {5},
     {TABLE},
     p_bands,
     {0},
     2,
     {{0, 1, {.noise = TACIT_RELEASE_RESPONSES}, {0, 1, 4}, 0.5},
      {0, 1, DISTRIBUTION(LAPLACE, 1, 0, -INFINITY, INFINITY), {1.2, 3.1, 0.4}, 0}},
     false},
    {"quantile",
     BANDS("s = quantile(x, 0.4, {-0.5, 0.8});"),
     3,
     1,
     {9},
     {HALF},
     p_bands,
     {0},
     1,
     {{0, 1, {.noise = TACIT_RELEASE_EXPONENTIAL, .scale = 0.5}, {0.8}, 0}},
     true},
    {"quantile and a table",
     BANDS("s = quantile(x, 0.4, {-0.5, 0.8}); t = count(band);"),
     3,
     1,
     {6},
     {HALF, TABLE},
     p_bands,
     {0},
     2,
     {{0, 1, {.noise = TACIT_RELEASE_EXPONENTIAL, .scale = 0.7}, {-0.5}, 0},
      {1, 1, DISTRIBUTION(DISCRETE_LAPLACE, 1.5, 0, 0, INFINITY), {2, 0, 4}, 0}},
     true},
    {"withheld",
     BANDS("s = count(band);"),
     3,
     1,
     {8},
     {TABLE},
     p_bands,
     {0},
     1,
     {{0,
       1,
       {.noise = TACIT_RELEASE_LAPLACE, .scale = 1, .lower = -INFINITY, .upper = INFINITY, .suppressed = 3},
       {NAN, 3.4, 4.1},
       0}},
     true},
    {"rounded and withheld",
     BANDS("s = count(band);"),
     3,
     1,
     {9},
     {TABLE},
     p_bands,
     {0},
     1,
     {{0,
       1,
       {.noise = TACIT_RELEASE_DISCRETE_GAUSSIAN,
        .scale = 1.5,
        .rounded = 3,
        .lower = 0,
        .upper = INFINITY,
        .suppressed = 3},
       {NAN, NAN, 6},
       0}},
     true},
    {"made to add up",
     BANDS("s = count(band);"),
     3,
     1,
     {7},
     {TABLE},
     p_bands,
     {0},
     1,
     {{0,
       1,
       {.noise = TACIT_RELEASE_LAPLACE, .scale = 0.6, .lower = -INFINITY, .upper = INFINITY, .adds_up = true},
       {2.5, -1, 5.5},
       0}},
     true},
    {"made to add up, gaussian",
     BANDS("s = count(band);"),
     3,
     1,
     {7},
     {TABLE},
     p_bands,
     {0},
     1,
     {{0,
       1,
       {.noise = TACIT_RELEASE_GAUSSIAN,
        .scale = 1.2,
        .lower = -INFINITY,
        .upper = INFINITY,
        .adds_up = true},
       {2.5, -1, 5.5},
       0}},
     true},
    {"published twice",
     BANDS("s = count(band);"),
     3,
     1,
     {6},
     {TABLE},
     p_bands,
     {0},
     2,
     {{0, 1, DISTRIBUTION(LAPLACE, 2, 0, -INFINITY, INFINITY), {0.3, 1.2, 5.1}, 0},
      {0, 1, DISTRIBUTION(GAUSSIAN, 1, 1, 0, INFINITY), {0, 4, 3}, 0}},
     true},
    {"two groups",
     BANDS("s = count(band);"),
     3,
     2,
     {5, 4},
     {TABLE},
     p_bands,
     {0},
     2,
     {{0, 1, DISTRIBUTION(LAPLACE, 1, 0, -INFINITY, INFINITY), {0.3, 1.2, 3.1}, 0},
      {0, 2, DISTRIBUTION(DISCRETE_GAUSSIAN, 1, 0, 0, INFINITY), {3, 1, 0}, 0}},
     true},
    {"overlap",
     BANDS("s = count(band);"),
     3,
     3,
     {2, 3, 2},
     {TABLE},
     p_bands,
     {0},
     2,
     {{0, 3, DISTRIBUTION(LAPLACE, 1, 0, -INFINITY, INFINITY), {0.3, 1.2, 3.1}, 0},
      {0, 6, DISTRIBUTION(GAUSSIAN, 0.8, 0, -INFINITY, INFINITY), {3.2, 1.1, 0.5}, 0}},
     true},
    {"two sites",
     "data { int<lower=1, upper=2> site; real x; } parameters { real mu; } model { mu ~ normal(0, 1.5); x ~ "
     "normal(mu * site, 1); } statistic { s = count(x > 0); }",
     2,
     2,
     {4, 5},
     {{.n_sums = 2, .n_values = 2, .adds = {{1}, {0, 1}}}},
     p_sites,
     {1, 2},
     2,
     {{0, 1, DISTRIBUTION(LAPLACE, 1, 0, -INFINITY, INFINITY), {3.3, 1.2}, 0},
      {0, 2, {.noise = TACIT_RELEASE_RESPONSES}, {2, 3}, 0.8}},
     false},
};

/* ---- likelihoods ---- */

static double lik_of_noise(const tacit_noisy_t *distribution, double y, double sum) {
  bool is_discrete = distribution->noise == TACIT_RELEASE_DISCRETE_GAUSSIAN ||
                     distribution->noise == TACIT_RELEASE_DISCRETE_LAPLACE;
  double below = distribution->suppressed - 0.5 * distribution->rounded - sum;
  return !isnan(y) ? published_as(distribution, y, sum)
                   : mass(distribution, -INFINITY, is_discrete ? below - 0.25 : below);
}

/* P(answers | records in cells): records in turn, over all answers that there may have been so far. */
static double lik_of_answers(const release_t *r, size_t k, const double *sums) {
  static double now[9][9][9], next[9][9][9];
  memset(now, 0, sizeof now);
  now[0][0][0] = 1;
  for (size_t cell = 0; cell < k; cell++) {
    for (int i = 0; i < (int)sums[cell]; i++) {
      memset(next, 0, sizeof next);
      for (int a = 0; a < 8; a++) {
        for (int b = 0; b < 8; b++) {
          for (int c = 0; c < 8; c++) {
            double other = (1 - r->truth) / (double)(k - 1);
            next[a + 1][b][c] += now[a][b][c] * (cell == 0 ? r->truth : other);
            next[a][b + 1][c] += now[a][b][c] * (cell == 1 ? r->truth : other);
            next[a][b][c + 1] += k > 2 ? now[a][b][c] * (cell == 2 ? r->truth : other) : 0;
          }
        }
      }
      memcpy(now, next, sizeof now);
    }
  }
  return now[(int)r->values[0]][(int)r->values[1]][k > 2 ? (int)r->values[2] : 0];
}

/* The integral over moves, by a sum. */
static double lik_of_moved(const tacit_noisy_t *distribution, const double *values, size_t k,
                           const double *sums) {
  double total = 0;
  for (double move = -40; move <= 40; move += 1.0 / 1024) {
    double product = 1;
    for (size_t v = 0; v < k; v++) {
      product *= weight_of(distribution, values[v] - sums[v] + move);
    }
    total += product / 1024;
  }
  return total;
}

static double lik_of_chosen(const measure_t *m, double scale, double chosen, const double *sums) {
  double below = 0, n = 0, all = 0, its = 0;
  for (size_t v = 0; v < m->n_sums; v++) {
    n += sums[v];
  }
  for (size_t j = 0; j + 1 < m->n_sums; j++) {
    below += sums[j];
    double weight = exp(-fabs(below - m->quantile * n) / scale);
    all += weight;
    its += fabs(m->candidates[j] - chosen) > 0 ? 0 : weight;
  }
  return its / all;
}

static double lik_of(const scene_t *s, const release_t *r, double counts[MAX_GROUPS][MAX_CELLS]) {
  const measure_t *m = &s->measures[r->statistic];
  double sums[MAX_VALUES] = {0}, lik = 1;
  for (size_t g = 0; g < s->n_groups; g++) {
    for (size_t c = 0; c < s->n_cells && (r->groups >> g & 1) != 0; c++) {
      for (size_t v = 0; v < m->n_sums; v++) {
        sums[v] += counts[g][c] * m->adds[c][v];
      }
    }
  }
  if (r->distribution.noise == TACIT_RELEASE_RESPONSES) {
    return lik_of_answers(r, m->n_sums, sums);
  }
  if (r->distribution.noise == TACIT_RELEASE_EXPONENTIAL) {
    return lik_of_chosen(m, r->distribution.scale, r->values[0], sums);
  }
  if (r->distribution.adds_up) {
    return lik_of_moved(&r->distribution, r->values, m->n_sums, sums);
  }
  for (size_t v = 0; v < m->n_sums; v++) {
    lik *= r->distribution.noise == TACIT_RELEASE_NONE
               ? (fabs(sums[v] - r->values[v]) > 0 ? 0 : 1)
               : lik_of_noise(&r->distribution, r->values[v], sums[v]);
  }
  return lik;
}

/* ---- the posterior by sums ---- */

typedef struct tables {
  double counts[MAX_TABLES][MAX_GROUPS][MAX_CELLS], lik[MAX_TABLES];
  size_t n;
} tables_t;

static void list_tables(const scene_t *s, tables_t *t, double counts[MAX_GROUPS][MAX_CELLS], size_t g,
                        size_t cell, double left) {
  if (g == s->n_groups) {
    assert_true(t->n < MAX_TABLES);
    t->lik[t->n] = 1;
    for (size_t i = 0; i < s->n_releases; i++) {
      t->lik[t->n] *= lik_of(s, &s->releases[i], counts);
    }
    memcpy(t->counts[t->n++], counts, sizeof t->counts[0]);
    return;
  }
  bool is_last = cell + 1 == s->n_cells;
  for (double k = is_last ? left : 0; k <= left; k++) {
    counts[g][cell] = k;
    list_tables(s, t, counts, is_last ? g + 1 : g, is_last ? 0 : cell + 1,
                is_last ? (double)s->n[g + 1 < MAX_GROUPS ? g + 1 : g] : left - k);
  }
}

static void exact(const scene_t *s, double mean[2]) {
  static tables_t t;
  double counts[MAX_GROUPS][MAX_CELLS] = {{0}}, all = 0, p[MAX_CELLS];
  t.n = 0;
  list_tables(s, &t, counts, 0, 0, (double)s->n[0]);
  mean[0] = mean[1] = 0;
  for (int i = 0; i < N_GRID; i++) {
    double theta = -7 + 14 * (i + 0.5) / N_GRID, weight = 0, log_p[MAX_GROUPS][MAX_CELLS];
    for (size_t g = 0; g < s->n_groups; g++) {
      s->p(theta, g, p);
      for (size_t c = 0; c < s->n_cells; c++) {
        log_p[g][c] = p[c];
      }
    }
    for (size_t k = 0; k < t.n; k++) {
      double product = t.lik[k];
      for (size_t g = 0; g < s->n_groups; g++) {
        for (size_t c = 0; c < s->n_cells; c++) {
          product *= pow(log_p[g][c], t.counts[k][g][c]) / tgamma(t.counts[k][g][c] + 1);
        }
      }
      weight += product;
    }
    weight *= exp(-0.5 * theta * theta / 2.25);
    all += weight;
    mean[0] += weight * theta;
    mean[1] += weight * theta * theta;
  }
  mean[0] /= all;
  mean[1] /= all;
}

/* ---- draws ---- */

static void draw(const scene_t *s, tacit_augment_method_t method, size_t n_draws, uint64_t seed,
                 tacit_draws_t *draws) {
  tacit_population_t *population;
  tacit_error_t err;
  tacit_augment_settings_t settings = tacit_augment_settings_default();
  tacit_published_statistic_t published[MAX_RELEASES];
  tacit_group_t groups[MAX_GROUPS];
  double channel[MAX_RELEASES][MAX_VALUES * MAX_VALUES], given[MAX_GROUPS][2];
  assert_ok(tacit_population_parse(&population, s->program, strlen(s->program), NULL, 0, &err), err);
  for (size_t i = 0; i < s->n_releases; i++) {
    const release_t *r = &s->releases[i];
    size_t k = s->measures[r->statistic].n_values;
    published[i] = (tacit_published_statistic_t){
        .statistic = r->statistic, .groups = r->groups, .noisy = r->distribution};
    tacit_noisy_t *noisy = &published[i].noisy;
    noisy->n_values = k;
    noisy->values = r->values;
    noisy->channel = channel[i];
    if (!(noisy->lower < noisy->upper)) {
      noisy->lower = -INFINITY;
      noisy->upper = INFINITY;
    }
    for (size_t j = 0; j < k * k; j++) {
      channel[i][j] = j / k == j % k ? r->truth : (1 - r->truth) / (double)(k - 1);
    }
  }
  for (size_t g = 0; g < s->n_groups; g++) {
    given[g][0] = s->given[g];
    given[g][1] = NAN;
    groups[g] = (tacit_group_t){.name = "", .n_records = s->n[g], .given = s->given[g] > 0 ? given[g] : NULL};
  }
  settings.method = method;
  settings.n_chains = 2;
  settings.n_warmup = 400;
  settings.n_draws = n_draws;
  tacit_rng_key_from_seed(settings.key, seed);
  assert_ok(tacit_augment_population(population, s->n_groups, groups, s->n_releases, published, &settings,
                                     draws, NULL, &err),
            err);
  tacit_population_free(population);
}

/* Largest distance of mean and mean square from those of `truth`, in standard errors. */
static double distance(const scene_t *truth, const scene_t *told, tacit_augment_method_t method,
                       size_t n_draws, uint64_t seed) {
  tacit_draws_t draws;
  tacit_summary_t summary;
  tacit_error_t err;
  double mean[2], z;
  exact(truth, mean);
  draw(told, method, n_draws, seed, &draws);
  assert_ok(tacit_draws_summarise(&draws, 0, &summary, &err), err);
  z = fabs(summary.mean - mean[0]) / summary.mcse_mean;
  for (size_t c = 0; c < draws.n_chains; c++) {
    for (size_t i = 0; i < draws.n_warmup + draws.n_draws; i++) {
      *tacit_draws_row(&draws, c, i) *= *tacit_draws_row(&draws, c, i);
    }
  }
  assert_ok(tacit_draws_summarise(&draws, 0, &summary, &err), err);
  z = fmax(z, fabs(summary.mean - mean[1]) / summary.mcse_mean);
  tacit_draws_clear(&draws);
  return z;
}

/* 13 scenes by two moments and at most two methods at 6 standard errors, whose estimates are good to some
 * percent: a false alarm in 10^6 at most. */
static void test_posteriors_are_those_of_sums(void **state) {
  (void)state;
  size_t n_draws = (size_t)(3000 * testing_multiplier());
  n_draws = n_draws > 1500 ? n_draws : 1500;
  for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
    for (int of_records = 0; of_records < (scenes[i].has_records ? 2 : 1); of_records++) {
      double z = distance(&scenes[i], &scenes[i], of_records ? TACIT_AUGMENT_GIBBS : TACIT_AUGMENT_MARGINAL,
                          n_draws, 10 + i);
      print_message("%-26s %s: %.2f standard errors\n", scenes[i].name, of_records ? "records" : "cells", z);
      assert_true(z < 6);
    }
  }
}

/* ---- planted errors ---- */

static void forget_lies(scene_t *s) { s->releases[0].truth = 0.9; }
static void take_another_share(scene_t *s) { s->program = BANDS("s = quantile(x, 0.8, {-0.5, 0.8});"); }
static void take_withheld_for_zero(scene_t *s) {
  s->releases[0].distribution.suppressed = s->releases[0].values[0] = 0;
}
static void forget_move(scene_t *s) { s->releases[0].distribution.adds_up = false; }
static void take_groups_for_one(scene_t *s) {
  s->n_groups = 1;
  s->n[0] = 5;
  s->releases[1].groups = 1;
}
static void swap_sites(scene_t *s) {
  s->given[0] = 2;
  s->given[1] = 1;
}

static void test_planted_errors_are_found(void **state) {
  (void)state;
  static const struct {
    const char *name;
    size_t scene;
    void (*plant)(scene_t *s);
  } planted[] = {
      {"answers taken for truer", 0, forget_lies},         {"another quantile", 3, take_another_share},
      {"withheld taken for 0", 5, take_withheld_for_zero}, {"move forgotten", 7, forget_move},
      {"groups taken for one", 10, take_groups_for_one},   {"sites swapped", 12, swap_sites}};
  for (size_t i = 0; i < sizeof planted / sizeof planted[0]; i++) {
    scene_t wrong = scenes[planted[i].scene];
    planted[i].plant(&wrong);
    double z = distance(&scenes[planted[i].scene], &wrong, TACIT_AUGMENT_MARGINAL, 8000, 70 + i);
    print_message("planted, %s: %.1f standard errors\n", planted[i].name, z);
    assert_true(z > 6);
  }
}

/* ---- the distributions themselves, which nothing is random in ---- */

static void test_a_move_is_integrated_over(void **state) {
  (void)state;
  static const double values[4] = {3.2, -0.7, 1.1, 6.4}, sums[][4] = {{3, 0, 1, 6},
                                                                      {10, 0, 0, 0},
                                                                      {2.5, 2.5, 2.5, 2.5},
                                                                      {3.2, -0.7, 1.1, 6.4},
                                                                      {0, 1, 2, 7}};
  double workspace[8];
  for (size_t i = 0; i < 5; i++) {
    for (double scale = 0.5; scale < 4; scale *= 2) {
      tacit_noise_distribution_t distribution = {
          .as = {.noise = TACIT_RELEASE_LAPLACE, .scale = scale, .adds_up = true},
          .is_joint = true,
          .n_sums = 4};
      const tacit_change_t none = {.a = SIZE_MAX, .b = SIZE_MAX},
                           change = {.a = 1, .b = 3, .more_a = -1, .more_b = 1};
      double changed[4] = {sums[i][0], sums[i][1] - 1, sums[i][2], sums[i][3] + 1};
      double log_scale = log(scale); /* the distribution is of u in units of the scale */
      assert_close(tacit_noise_distribution_log_joint(&distribution, values, sums[i], none, workspace) +
                       log_scale,
                   log(lik_of_moved(&distribution.as, values, 4, sums[i])), 2e-5);
      assert_close(tacit_noise_distribution_log_joint(&distribution, values, sums[i], change, workspace) +
                       log_scale,
                   log(lik_of_moved(&distribution.as, values, 4, changed)), 2e-5);
    }
  }
}

static void test_impossible_releases_are_refused(void **state) {
  (void)state;
  static const struct {
    scene_t scene;
    const char *message;
  } wrong[] = {
      {{"",
        BANDS("s = count(band);"),
        3,
        1,
        {7},
        {TABLE},
        NULL,
        {0},
        1,
        {{0, 1, {.noise = TACIT_RELEASE_NONE}, {1, 2, 3}, 0}},
        false},
       "add up to 6, and there are 7 records"},
      {{"",
        BANDS("s = count(band);"),
        3,
        1,
        {6},
        {TABLE},
        NULL,
        {0},
        2,
        {{0, 1, {.noise = TACIT_RELEASE_NONE}, {1, 2, 3}, 0},
         {0, 1, {.noise = TACIT_RELEASE_RESPONSES}, {1, 2, 3}, 0.5}},
        false},
       "publish them as one"},
      {{"",
        BANDS("s = count(band);"),
        3,
        2,
        {3, 3},
        {TABLE},
        NULL,
        {0},
        1,
        {{0, 3, {.noise = TACIT_RELEASE_NONE}, {1, 2, 3}, 0}},
        false},
       "of one group"},
      {{"",
        BANDS("s = count(band);"),
        3,
        2,
        {3, 3},
        {TABLE},
        NULL,
        {0},
        1,
        {{0, 1, DISTRIBUTION(LAPLACE, 1, 0, -INFINITY, INFINITY), {1, 2, 3}, 0}},
        false},
       "nothing was published of the records"},
      {{"",
        BANDS("s = quantile(x, 0.4, {-0.5, 0.8});"),
        3,
        1,
        {6},
        {HALF},
        NULL,
        {0},
        1,
        {{0, 1, {.noise = TACIT_RELEASE_EXPONENTIAL, .scale = 1}, {0.5}, 0}},
        false},
       "none of the quantile's candidates"},
      {{"",
        BANDS("s = quantile(x, 0.4, {-0.5, 0.8});"),
        3,
        1,
        {6},
        {HALF},
        NULL,
        {0},
        1,
        {{0, 1, DISTRIBUTION(LAPLACE, 1, 0, -INFINITY, INFINITY), {0.8}, 0}},
        false},
       "by mechanism exponential"},
      {{"",
        BANDS("s = count(band);"),
        3,
        1,
        {6},
        {TABLE},
        NULL,
        {0},
        1,
        {{0, 1, {.noise = TACIT_RELEASE_LAPLACE, .scale = 1, .adds_up = true}, {1, 2, 4}, 0}},
        false},
       "add up to 7, and there are 6"},
      {{"",
        BANDS("s = count(band);"),
        3,
        1,
        {6},
        {TABLE},
        NULL,
        {0},
        1,
        {{0, 1, {.noise = TACIT_RELEASE_RESPONSES}, {1, 2, 3}, 1.5}},
        false},
       "lie in [0, 1]"},
      {{"",
        BANDS("s = count(band);"),
        3,
        1,
        {6},
        {TABLE},
        NULL,
        {0},
        1,
        {{0, 1, {.noise = TACIT_RELEASE_LAPLACE, .scale = 1, .suppressed = 3}, {2, 4, 5}, 0}},
        false},
       "are said to be withheld"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    const scene_t *s = &wrong[i].scene;
    tacit_population_t *population;
    tacit_published_statistic_t published[2];
    tacit_augment_settings_t settings = tacit_augment_settings_default();
    tacit_draws_t draws;
    tacit_error_t err;
    double channel[MAX_VALUES * MAX_VALUES];
    tacit_group_t groups[2] = {{.name = "a", .n_records = s->n[0]}, {.name = "b", .n_records = s->n[1]}};
    assert_ok(tacit_population_parse(&population, s->program, strlen(s->program), NULL, 0, &err), err);
    for (size_t k = 0; k < s->n_releases; k++) {
      published[k] = (tacit_published_statistic_t){
          .statistic = 0, .groups = s->releases[k].groups, .noisy = s->releases[k].distribution};
      published[k].noisy.n_values = s->measures[0].n_values;
      published[k].noisy.values = s->releases[k].values;
      published[k].noisy.channel = channel;
      published[k].noisy.lower = -INFINITY;
      published[k].noisy.upper = INFINITY;
      for (size_t j = 0; j < 9; j++) {
        channel[j] = j % 4 == 0 ? s->releases[k].truth : (1 - s->releases[k].truth) / 2;
      }
    }
    assert_int_equal(tacit_augment_population(population, s->n_groups, groups, s->n_releases, published,
                                              &settings, &draws, NULL, &err),
                     TACIT_ERR_ARGUMENT);
    if (strstr(err.message, wrong[i].message) == NULL) {
      fail_msg("%zu: %s", i, err.message);
    }
    tacit_draws_clear(&draws);
    tacit_population_free(population);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_posteriors_are_those_of_sums),
      cmocka_unit_test(test_planted_errors_are_found),
      cmocka_unit_test(test_a_move_is_integrated_over),
      cmocka_unit_test(test_impossible_releases_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
