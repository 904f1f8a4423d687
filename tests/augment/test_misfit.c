/*
 * P-values of published numbers against tail probabilities that are summed here anew. The programs'
 * distributions hardly depend on their parameter, so that the p-value of a number is a bound of its tail,
 * times its factors: never below it, and not far above.
 */
#include <string.h>

#include "augment/published.h"
#include "augment/support.h"
#include "program/program.h"

enum { N = 40, MOST_VALUES = 3, N_LOOKS = 60 };

#define PARAMETER "parameters { real a; } model { a ~ normal(0, 1); "
#define COIN                                                                                                 \
  "data { int<lower=0, upper=1> x; } " PARAMETER                                                             \
  "x ~ bernoulli(0.3 + 1e-9 * inv_logit(a)); } statistic { s = "
#define WAITS                                                                                                \
  "data { real<lower=0> t; } " PARAMETER "t ~ exponential(1 + 1e-9 * inv_logit(a)); } statistic { s = "

static const char coin_sum[] = COIN "sum(x); }", coin_counts[] = COIN "count(x); }",
                  thirds[] = WAITS "count(t > 0.4, t > 1); }";
static const char half[] = WAITS "quantile(t, 0.5, {0.2, 0.7, 2}); }", capped[] = WAITS "sum(fmin(t, 2)); }";

static const double channel[] = {0.9, 0.1, 0.2, 0.8};

typedef struct scene {
  const char *name, *program;
  size_t n_values;
  double values[MOST_VALUES];
  double
      share; /* of records in the value that is looked at, the last but those that are left at their mean */
  size_t looked_at;
  double from, to; /* noisy numbers that are as far out, on its side */
  tacit_noisy_t distribution;
} scene_t;

#define EXACT(kind, table)                                                                                   \
  { .noise = TACIT_RELEASE_##kind, .lower = -INFINITY, .upper = INFINITY, .channel = (table) }

static const scene_t scenes[] = {
    {"gaussian", coin_sum, 1, {28}, 0.3, 0, 28, INFINITY, DISTRIBUTION(GAUSSIAN, 2, 0, -INFINITY, INFINITY)},
    {"gaussian, below",
     coin_sum,
     1,
     {-2.5},
     0.3,
     0,
     -INFINITY,
     -2.5,
     DISTRIBUTION(GAUSSIAN, 2, 0, -INFINITY, INFINITY)},
    {"laplace", coin_sum, 1, {40}, 0.3, 0, 40, INFINITY, DISTRIBUTION(LAPLACE, 2, 0, -INFINITY, INFINITY)},
    {"discrete gaussian",
     coin_sum,
     1,
     {27},
     0.3,
     0,
     27,
     INFINITY,
     DISTRIBUTION(DISCRETE_GAUSSIAN, 2, 0, -INFINITY, INFINITY)},
    {"discrete laplace",
     coin_sum,
     1,
     {31},
     0.3,
     0,
     31,
     INFINITY,
     DISTRIBUTION(DISCRETE_LAPLACE, 1, 0, -INFINITY, INFINITY)},
    {"rounded", coin_sum, 1, {30}, 0.3, 0, 27.5, INFINITY, DISTRIBUTION(GAUSSIAN, 2, 5, -INFINITY, INFINITY)},
    {"rounded whole",
     coin_sum,
     1,
     {30},
     0.3,
     0,
     29,
     INFINITY,
     DISTRIBUTION(DISCRETE_LAPLACE, 1, 3, -INFINITY, INFINITY)},
    {"at the upper bound", coin_sum, 1, {26}, 0.3, 0, 26, INFINITY, DISTRIBUTION(GAUSSIAN, 1, 0, 0, 26)},
    {"withheld",
     coin_sum,
     1,
     {NAN},
     0.3,
     0,
     -INFINITY,
     1,
     {.noise = TACIT_RELEASE_GAUSSIAN, .scale = 1, .suppressed = 1, .lower = -INFINITY, .upper = INFINITY}},
    {"counts",
     coin_counts,
     2,
     {28, 26},
     0.3,
     1,
     26,
     INFINITY,
     DISTRIBUTION(LAPLACE, 0.8, 0, -INFINITY, INFINITY)},
    {"counts as they are", coin_counts, 2, {14, 26}, 0.3, 1, 26, INFINITY, EXACT(NONE, NULL)},
    {"answers", coin_counts, 2, {10, 30}, 0.7 * 0.1 + 0.3 * 0.8, 1, 30, INFINITY, EXACT(RESPONSES, channel)},
};
enum { N_SCENES = sizeof scenes / sizeof scenes[0] };

static double p_of(const char *program, size_t n_values, const double *values,
                   const tacit_noisy_t *distribution, double n_told, tacit_augment_method_t method) {
  tacit_population_t *population;
  tacit_error_t err;
  tacit_draws_t draws;
  tacit_augment_settings_t s = tacit_augment_settings_default();
  double p[2] = {-1, -1};
  tacit_published_statistic_t published[2] = {
      {.statistic = 0, .groups = 1, .noisy = *distribution},
      {.statistic = TACIT_PUBLISHED_SIZE,
       .groups = 1,
       .noisy = DISTRIBUTION(DISCRETE_LAPLACE, 1, 0, -INFINITY, INFINITY)}};
  const tacit_group_t records = {.name = "", .n_records = n_told > 0 ? 0 : N};
  published[0].noisy.n_values = n_values;
  published[0].noisy.values = values;
  published[1].noisy.n_values = 1;
  published[1].noisy.values = &n_told;
  s.method = method;
  s.n_chains = 2;
  s.n_warmup = 20;
  s.n_draws = N_LOOKS;
  s.misfit = p;
  tacit_rng_key_from_seed(s.key, 3);
  assert_ok(tacit_population_parse(&population, program, strlen(program), NULL, 0, &err), err);
  assert_ok(tacit_augment_population(population, 1, &records, n_told > 0 ? 2 : 1, published, &s, &draws, NULL,
                                     &err),
            err);
  tacit_draws_clear(&draws);
  tacit_population_free(population);
  assert_true(p[0] >= 0 && p[0] <= 1);
  assert_true(n_told > 0 ? p[1] >= 0 && p[1] <= 1 : p[1] < 0);
  return p[0];
}

/* P(from <= number + noise <= to). */
static double tail_of(const scene_t *s) {
  bool is_exact =
      s->distribution.noise == TACIT_RELEASE_NONE || s->distribution.noise == TACIT_RELEASE_RESPONSES;
  double all = is_exact ? 1 : mass(&s->distribution, -INFINITY, INFINITY), sum = 0;
  for (int k = 0; k <= N; k++) {
    double log_p = lgamma(N + 1.0) - lgamma(k + 1.0) - lgamma(N - k + 1.0) + k * log(s->share) +
                   (N - k) * log1p(-s->share);
    double noise =
        is_exact ? (k >= s->from && k <= s->to) : mass(&s->distribution, s->from - k, s->to - k) / all;
    sum += exp(log_p) * noise;
  }
  return sum;
}

/*
 * Two sides, two as an average of p-values is one, and as many as there are values, and levels of a factor
 * but one. Bounds of tails are some ten times those. Nothing here is random but the records drawn by the one
 * method.
 */
static void test_p_values_are_tails_and_little_more(void **state) {
  (void)state;
  for (size_t i = 0; i < N_SCENES; i++) {
    const scene_t *s = &scenes[i];
    double tail = tail_of(s), factor = 4 * (s->n_values > 1 ? 2 * (double)s->n_values - 1 : 1);
    bool is_exact =
        s->distribution.noise == TACIT_RELEASE_NONE || s->distribution.noise == TACIT_RELEASE_RESPONSES;
    for (int of_records = 0; of_records < (is_exact ? 1 : 2); of_records++) {
      double p = p_of(s->program, s->n_values, s->values, &s->distribution, 0,
                      of_records ? TACIT_AUGMENT_GIBBS : TACIT_AUGMENT_MARGINAL);
      print_message("%-18s %s: tail %.2g, p / %g = %.2g\n", s->name, of_records ? "records" : "cells", tail,
                    factor, p / factor);
      assert_true(tail > 1e-14 && tail < 1e-4);
      assert_true(p >= 4 * factor * tail && p < 30 * factor * pow(tail, 0.9));
    }
  }
}

/*
 * Eight bands of equal chances, of which the lower four have 1 record each, and the others 9. None of them is
 * far out, that the lower four have 4 of 40 is; and where the table is of two halves of the bands by four,
 * what one factor says.
 */
static void test_what_is_off_together_is_found(void **state) {
  (void)state;
  static const char bands[] = WAITS "count(band); }",
                    halves[] = WAITS "count(t > 0.69314718055994531, t > 0.28768207245178093); }";
  static const double values[] = {1, 1, 1, 1, 9, 9, 9, 9}, of_halves[] = {2, 2, 0, 36};
  char program[400] = "";
  const scene_t lower = {.share = 0.5,
                         .from = -INFINITY,
                         .to = 4,
                         .distribution = DISTRIBUTION(GAUSSIAN, 1, 0, -INFINITY, INFINITY)};
  const tacit_noisy_t distribution = DISTRIBUTION(GAUSSIAN, 0.5, 0, -INFINITY, INFINITY);
  strcat(strcat(program, "data { real<lower=0> t; } transformed data { int<lower=0, upper=7> band = cut(t, "
                         "{0.13353139262452263, 0.28768207245178093, "
                         "0.47000362924573555, 0.69314718055994531, 0.98082925301172623, 1.3862943611198906, "
                         "2.0794415416798357}); } "),
         strstr(bands, "parameters"));
  double p = p_of(program, 8, values, &distribution, 0, TACIT_AUGMENT_MARGINAL), tail = tail_of(&lower),
         factor = 4 * (8 + 7);
  print_message("lower half of eight bands: tail %.2g, p / %g = %.2g\n", tail, factor, p / factor);
  assert_true(p >= 4 * factor * tail && p < 30 * factor * pow(tail, 0.9));
  const scene_t half_of_four = {.share = 0.5,
                                .from = -INFINITY,
                                .to = 4,
                                .distribution =
                                    DISTRIBUTION(GAUSSIAN, 0.70710678118654757, 0, -INFINITY, INFINITY)};
  p = p_of(halves, 4, of_halves, &distribution, 0, TACIT_AUGMENT_MARGINAL), tail = tail_of(&half_of_four),
  factor = 4 * (4 + 2);
  print_message("first factor of two: tail %.2g, p / %g = %.2g\n", tail, factor, p / factor);
  assert_true(p < 30 * factor * pow(tail, 0.9));
}

/* A sum of real numbers of mean 34.6 and sd 4.4: at its mean, and 9 and 12 sds from it. */
static void test_sums_of_reals_are_looked_at(void **state) {
  (void)state;
  const tacit_noisy_t distribution = DISTRIBUTION(LAPLACE, 1, 0, -INFINITY, INFINITY);
  const double near[] = {35}, far[] = {75}, below[] = {-20};
  assert_true(p_of(capped, 1, near, &distribution, 0, TACIT_AUGMENT_GIBBS) > 0.5);
  assert_true(p_of(capped, 1, far, &distribution, 0, TACIT_AUGMENT_GIBBS) < 1e-8);
  assert_true(p_of(capped, 1, below, &distribution, 0, TACIT_AUGMENT_GIBBS) < 1e-8);
}

/*
 * Of 40 waits 7 are below 0.2, 20 below 0.7 and 35 below 2, so that candidates are chosen with weights e^(-13
 * / scale), 1 and e^(-15 / scale), where these numbers are as expected; of others the sum over all triples is
 * taken.
 */
static double chosen(double scale, size_t which) {
  double below[3] = {-expm1(-0.2), -expm1(-0.7), -expm1(-2.0)},
         p[4] = {below[0], below[1] - below[0], below[2] - below[1], 1 - below[2]}, sum = 0;
  for (int a = 0; a <= N; a++) {
    for (int b = 0; a + b <= N; b++) {
      for (int c = 0; a + b + c <= N; c++) {
        int d = N - a - b - c;
        double log_p = lgamma(N + 1.0) - lgamma(a + 1.0) - lgamma(b + 1.0) - lgamma(c + 1.0) -
                       lgamma(d + 1.0) + a * log(p[0]) + b * log(p[1]) + c * log(p[2]) + d * log(p[3]);
        double w[3] = {exp(-fabs(a - 20.0) / scale), exp(-fabs(a + b - 20.0) / scale),
                       exp(-fabs(a + b + c - 20.0) / scale)};
        sum += exp(log_p) * w[which] / (w[0] + w[1] + w[2]);
      }
    }
  }
  return sum;
}

static void test_quantiles_are_looked_at(void **state) {
  (void)state;
  static const double candidates[] = {0.2, 0.7, 2};
  const double scale = 0.6;
  const tacit_noisy_t distribution = {
      .noise = TACIT_RELEASE_EXPONENTIAL, .scale = scale, .lower = -INFINITY, .upper = INFINITY};
  for (size_t which = 0; which < 3; which++) {
    for (int of_records = 0; of_records < 2; of_records++) {
      double p = p_of(half, 1, &candidates[which], &distribution, 0,
                      of_records ? TACIT_AUGMENT_GIBBS : TACIT_AUGMENT_MARGINAL),
             tail = chosen(scale, which);
      print_message("quantile %g %s: chosen %.2g, p / 4 = %.2g\n", candidates[which],
                    of_records ? "records" : "cells", tail, p / 4);
      assert_true(which == 1 ? p > 0.999 : p >= 4 * tail && p < 30 * pow(tail, 0.7));
    }
  }
}

/* Moved to add up, and of an unknown number of records: what fits is let be, and what does not is found. */
static void test_all_else_is_told_apart_too(void **state) {
  (void)state;
  tacit_noisy_t distribution = DISTRIBUTION(LAPLACE, 1, 0, -INFINITY, INFINITY);
  const double near[] = {27, 13}, far[] = {-5, 45}, three[] = {13.3, 0.4, 11.1, 15.2},
               not_three[] = {-17, 0, 11, 46};
  assert_true(p_of(coin_counts, 2, near, &distribution, N, TACIT_AUGMENT_MARGINAL) > 0.5);
  assert_true(p_of(coin_counts, 2, far, &distribution, N, TACIT_AUGMENT_MARGINAL) < 1e-8);
  assert_true(p_of(thirds, 4, three, &distribution, 0, TACIT_AUGMENT_MARGINAL) > 0.5);
  distribution.upper = 5; /* beyond a bound anything may be */
  assert_true(p_of(coin_sum, 1, &distribution.upper, &distribution, 0, TACIT_AUGMENT_MARGINAL) > 0.5);
  distribution.upper = INFINITY;
  distribution.adds_up = true;
  assert_true(p_of(coin_counts, 2, near, &distribution, 0, TACIT_AUGMENT_MARGINAL) > 0.5);
  assert_true(p_of(coin_counts, 2, far, &distribution, 0, TACIT_AUGMENT_MARGINAL) < 1e-8);
  assert_true(p_of(thirds, 4, not_three, &distribution, 0, TACIT_AUGMENT_MARGINAL) < 1e-6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_p_values_are_tails_and_little_more),
      cmocka_unit_test(test_what_is_off_together_is_found),
      cmocka_unit_test(test_sums_of_reals_are_looked_at),
      cmocka_unit_test(test_quantiles_are_looked_at),
      cmocka_unit_test(test_all_else_is_told_apart_too),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
