/*
 * Inference from a released statistic.
 *
 *   bench_augment              record updates and leapfrog steps per second; rows of JSON (harness.h)
 *   bench_augment --scaling    cost of an iteration against n, as a table
 *   bench_augment --figure2 [REPEATS]   effective draws of the mean per second of each method, over privacy, n and spread
 *   bench_augment --cell EPSILON N RATIO [REPEATS]   one row of that
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "augment/augment_internal.h"
#include "harness.h"
#include "tacit/account.h"
#include "tacit/diagnose.h"

static const double min_seconds = 0.4;

static double stream_bytes_per_second(void) {
  static unsigned char bytes[1 << 14];
  unsigned char nonce[crypto_stream_chacha20_NONCEBYTES] = {0}, key[crypto_stream_chacha20_KEYBYTES] = {0};
  double start = bench_cpu_seconds(), seconds, total = 0;
  do {
    crypto_stream_chacha20(bytes, sizeof bytes, nonce, key);
    key[0] ^= bytes[0];
    total += (double)sizeof bytes;
    seconds = bench_cpu_seconds() - start;
  } while (seconds < min_seconds);
  return total / seconds;
}

typedef struct problem {
  tacit_latent_model_t model;
  tacit_release_t release;
  double values[16], scales[16], concentration[16];
  size_t n_levels;
} problem_t;

/* Releases as the curator's own data would have given them. */
static void gaussian_problem(problem_t *p, size_t n, double sd, double mean, double scale, double noise) {
  *p = (problem_t){.values = {(double)n * mean + noise}, .scales = {scale}};
  p->model = (tacit_latent_model_t){.n_records = n, .mean_scale = 1, .known_sd = sd};
  p->release = (tacit_release_t){.lower = -1, .upper = 1, .n_values = 1, .values = p->values, .scales = p->scales};
}

static void poisson_problem(problem_t *p, size_t n) {
  *p = (problem_t){.values = {3.0 * (double)n}, .scales = {20}};
  p->model = (tacit_latent_model_t){.kind = TACIT_LATENT_POISSON, .n_records = n, .rate_shape = 2, .rate_rate = 1};
  p->release = (tacit_release_t){.upper = 20, .n_values = 1, .values = p->values, .scales = p->scales};
}

static void table_problem(problem_t *p, size_t n) {
  *p = (problem_t){.n_levels = 16};
  for (size_t j = 0; j < 16; j++) {
    p->values[j] = (double)n / 16;
    p->scales[j] = 5;
    p->concentration[j] = 1;
  }
  p->model = (tacit_latent_model_t){.kind = TACIT_LATENT_CATEGORICAL,
                                    .n_records = n,
                                    .n_factors = 1,
                                    .n_levels = &p->n_levels,
                                    .concentration = p->concentration};
  p->release =
      (tacit_release_t){.kind = TACIT_RELEASE_COUNTS, .n_values = 16, .values = p->values, .scales = p->scales};
}

/* Seconds of an iteration; *n_leaps: leapfrog steps of an iteration. */
static double seconds_per_iteration(const problem_t *p, tacit_augment_settings_t settings, double *n_leaps) {
  tacit_chain_t chain;
  tacit_error_t err;
  settings.n_warmup = 0;
  bench_require(tacit_chain_init(&chain, &p->model, &p->release, &settings, 0, &err), &err);
  tacit_chain_start(&chain);
  tacit_chain_step(&chain);
  double start = bench_cpu_seconds(), seconds, n = 0;
  *n_leaps = 0;
  do {
    tacit_chain_step(&chain);
    n += 1;
    *n_leaps += (double)chain.n_leapfrog;
    seconds = bench_cpu_seconds() - start;
  } while (seconds < min_seconds);
  *n_leaps /= n;
  tacit_chain_clear(&chain);
  return seconds / n;
}

static tacit_augment_settings_t with_method(tacit_augment_method_t method, bool interweave, tacit_augment_path_t path) {
  tacit_augment_settings_t s = tacit_augment_settings_default();
  s.method = method;
  s.interweave = interweave;
  s.path = path;
  s.step_size = method == TACIT_AUGMENT_HMC ? 0.1 : 0;
  tacit_rng_key_from_seed(s.key, 1);
  return s;
}

/* Bound: ChaCha20's rate over the 16 random bytes of a proposal and its acceptance. */
static void print_rates(void) {
  enum { N = 10000 };
  double leaps, stream = sodium_init() >= 0 ? stream_bytes_per_second() : 0; /* its fast code is chosen by the initialisation */
  problem_t p;
  bench_begin();
  gaussian_problem(&p, N, 0.5, 0.2, 20, 0);
  tacit_augment_settings_t plain = with_method(TACIT_AUGMENT_GIBBS, false, TACIT_PATH_JOINT);
  bench_print_value("gibbs, gaussian", "records/s", N / seconds_per_iteration(&p, plain, &leaps), stream / 16, 1e8, false);
  plain.interweave = true;
  bench_print_value("gibbs interwoven, gaussian", "records/s", N / seconds_per_iteration(&p, plain, &leaps), stream / 16, 0, false);
  for (int i = 0; i < 2; i++) {
    tacit_augment_path_t path = i == 0 ? TACIT_PATH_JOINT : TACIT_PATH_COLLECTIVE;
    double seconds = seconds_per_iteration(&p, with_method(TACIT_AUGMENT_HMC, true, path), &leaps);
    bench_print_value(i == 0 ? "hmc joint" : "hmc collective and sweep", "records*steps/s", N * leaps / seconds, 0, 0, false);
  }
  poisson_problem(&p, N);
  bench_print_value("gibbs, poisson", "records/s", N / seconds_per_iteration(&p, plain, &leaps), stream / 16, 0, false);
  table_problem(&p, N);
  bench_print_value("gibbs, 16 cells", "records/s", N / seconds_per_iteration(&p, plain, &leaps), stream / 16, 0, false);
  bench_end();
}

/* ---- tables ---- */

typedef struct column {
  const char *name;
  tacit_augment_method_t method;
  bool interweave;
  tacit_augment_path_t path;
  bool is_paper; /* step 0.03, 20 steps, mass with unclamped derivatives */
} column_t;

static const column_t columns[] = {{"gibbs", TACIT_AUGMENT_GIBBS, false, TACIT_PATH_JOINT, false},
                                   {"interwoven", TACIT_AUGMENT_GIBBS, true, TACIT_PATH_JOINT, false},
                                   {"hmc paper", TACIT_AUGMENT_HMC, true, TACIT_PATH_JOINT, true},
                                   {"hmc joint", TACIT_AUGMENT_HMC, true, TACIT_PATH_JOINT, false},
                                   {"collective", TACIT_AUGMENT_HMC, true, TACIT_PATH_COLLECTIVE, false},
                                   {"marginal", TACIT_AUGMENT_MARGINAL, true, TACIT_PATH_JOINT, false}};
enum { N_COLUMNS = sizeof columns / sizeof columns[0] };

static tacit_augment_settings_t settings_of(const column_t *column) {
  tacit_augment_settings_t s = with_method(column->method, column->interweave, column->path);
  s.step_size = column->is_paper ? 0.03 : 0;
  s.n_leapfrog = column->is_paper ? 20 : 0;
  s.smooth_mass = !column->is_paper;
  return s;
}

static void print_scaling(void) {
  printf("microseconds of an iteration (epsilon 1, delta 1e-5, sd of records 0.5; paths of 16 steps)\n%9s", "n");
  for (int c = 0; c < N_COLUMNS; c++) {
    printf(" %11s", columns[c].name);
  }
  for (double n = 100; n <= 1e6; n *= 10) {
    problem_t p;
    gaussian_problem(&p, (size_t)n, 0.5, 0.2, 2 / sqrt(2 * tacit_gaussian_rho(1, log(1e-5))), 0);
    printf("\n%9.0f", n);
    for (int c = 0; c < N_COLUMNS; c++) {
      double leaps;
      tacit_augment_settings_t s = settings_of(&columns[c]);
      s.step_size = columns[c].method == TACIT_AUGMENT_HMC && !columns[c].is_paper ? 0.1 : s.step_size;
      printf(" %11.4g", 1e6 * seconds_per_iteration(&p, s, &leaps));
      fflush(stdout);
    }
  }
  printf("\n");
}

/* Effective draws of the mean per processor second. */
static double ess_per_second(const problem_t *p, const column_t *column, uint64_t seed, double *accept) {
  tacit_augment_settings_t s = settings_of(column);
  tacit_augment_result_t result;
  tacit_draws_t draws;
  tacit_summary_t summary;
  tacit_error_t err;
  s.n_chains = 1;
  s.n_warmup = 500;
  s.n_draws = 5000;
  tacit_rng_key_from_seed(s.key, seed);
  double start = bench_cpu_seconds();
  bench_require(tacit_augment(&p->model, &p->release, &s, &draws, &result, &err), &err);
  double seconds = bench_cpu_seconds() - start;
  bench_require(tacit_draws_summarise(&draws, 0, &summary, &err), &err);
  tacit_draws_clear(&draws);
  *accept = column->method == TACIT_AUGMENT_HMC ? result.path_accept : result.record_accept;
  return summary.ess_bulk / seconds;
}

/* The grid of the papers' comparison: theta ~ N(0, 1), records N(theta, ratio) clamped to [-1, 1], their mean released. */
static void print_cell(double epsilon, size_t n, double ratio, size_t n_repeats) {
  double rates[N_COLUMNS] = {0}, accepts[N_COLUMNS] = {0};
  double scale = 2 / sqrt(2 * tacit_gaussian_rho(epsilon, log(1e-5)));
  for (size_t r = 0; r < n_repeats; r++) {
    unsigned char key[32];
    tacit_rng_t *rng;
    tacit_error_t err;
    problem_t p;
    tacit_rng_key_from_seed(key, 100 + r);
    bench_require(tacit_rng_new(&rng, key, 0, &err), &err);
    double theta = tacit_rng_normal(rng), sum = scale * tacit_rng_normal(rng);
    for (size_t i = 0; i < n; i++) {
      sum += fmax(-1, fmin(1, theta + sqrt(ratio) * tacit_rng_normal(rng)));
    }
    tacit_rng_free(rng);
    gaussian_problem(&p, n, sqrt(ratio), 0, scale, sum);
    for (int c = 0; c < N_COLUMNS; c++) {
      double accept;
      rates[c] += ess_per_second(&p, &columns[c], 7 + r, &accept) / (double)n_repeats;
      accepts[c] += accept / (double)n_repeats;
    }
  }
  printf("%7g %5zu %5g", epsilon, n, ratio);
  for (int c = 0; c < N_COLUMNS; c++) {
    printf(" %11.0f", rates[c]);
  }
  printf("   %.2f %.2f %.2f %.2f\n", accepts[0], accepts[2], accepts[3], accepts[4]);
  fflush(stdout);
}

static void print_heading(size_t n_repeats) {
  printf("effective draws of the mean per processor second, warm-up included (5000 iterations, %zu repeats);\n"
         "acceptance of records (gibbs) and paths (hmc paper, hmc joint, collective)\n%7s %5s %5s",
         n_repeats, "epsilon", "n", "ratio");
  for (int c = 0; c < N_COLUMNS; c++) {
    printf(" %11s", columns[c].name);
  }
  printf("   acceptance\n");
}

static void print_figure2(size_t n_repeats) {
  static const double epsilons[] = {0.1, 0.3, 1, 3, 10}, ratios[] = {0.01, 0.1, 0.5, 1, 2, 5, 10};
  static const size_t sizes[] = {100, 500, 1000};
  print_heading(n_repeats);
  for (size_t e = 0; e < 5; e++) {
    for (size_t i = 0; i < 3; i++) {
      for (size_t r = 0; r < 7; r++) {
        print_cell(epsilons[e], sizes[i], ratios[r], n_repeats);
      }
    }
  }
}

/* Argument i, a number above 0; 1 if it is not there. */
static double argument(int argc, char **argv, int i) {
  double value = argc > i ? strtod(argv[i], NULL) : 1;
  return value > 0 ? value : 1;
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "--scaling") == 0) {
    print_scaling();
  } else if (argc > 1 && strcmp(argv[1], "--figure2") == 0) {
    print_figure2((size_t)argument(argc, argv, 2));
  } else if (argc > 4 && strcmp(argv[1], "--cell") == 0) {
    print_heading((size_t)argument(argc, argv, 5));
    print_cell(argument(argc, argv, 2), (size_t)argument(argc, argv, 3), argument(argc, argv, 4),
               (size_t)argument(argc, argv, 5));
  } else {
    print_rates();
  }
  return 0;
}
