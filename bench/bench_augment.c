/*
 * Inference from a released statistic.
 *
 *   bench_augment              record updates and leapfrog steps per second; rows of JSON (harness.h)
 *   bench_augment --scaling    cost of an iteration against n, as a table
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "augment/augment_internal.h"
#include "harness.h"
#include "tacit/account.h"

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
  p->release =
      (tacit_release_t){.lower = -1, .upper = 1, .n_values = 1, .values = p->values, .scales = p->scales};
}

static void poisson_problem(problem_t *p, size_t n) {
  *p = (problem_t){.values = {3.0 * (double)n}, .scales = {20}};
  p->model =
      (tacit_latent_model_t){.kind = TACIT_LATENT_POISSON, .n_records = n, .rate_shape = 2, .rate_rate = 1};
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
  p->release = (tacit_release_t){
      .kind = TACIT_RELEASE_COUNTS, .n_values = 16, .values = p->values, .scales = p->scales};
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

static tacit_augment_settings_t with_method(tacit_augment_method_t method, bool interweave,
                                            tacit_augment_path_t path) {
  tacit_augment_settings_t s = tacit_augment_settings_default();
  s.method = method;
  s.interweave = interweave;
  s.path = path;
  s.step_size = method == TACIT_AUGMENT_HMC ? 0.1 : 0;
  tacit_rng_key_from_seed(s.key, 1);
  return s;
}

/* A path of one chain, again and again. */
static void run_path(void *user) { tacit_chain_step(user); }

/*
 * Leapfrog steps over a million latent records: a pass reads and writes z and momentum. What a path costs
 * besides (momenta, energies) is taken out by paths of two lengths.
 */
static void print_leapfrog(void) {
  enum { N_LATENT = 1000000, LONG = 48, SHORT = 16 };
  problem_t p;
  bench_time_t times[2];
  gaussian_problem(&p, N_LATENT, 0.5, 0.2, 20, 0);
  for (int i = 0; i < 2; i++) {
    tacit_chain_t chain;
    tacit_error_t err;
    tacit_augment_settings_t s = with_method(TACIT_AUGMENT_HMC, false, TACIT_PATH_JOINT);
    s.n_leapfrog = i == 0 ? SHORT : LONG;
    s.step_size = 0.03;
    s.n_warmup = 0;
    bench_require(tacit_chain_init(&chain, &p.model, &p.release, &s, 0, &err), &err);
    tacit_chain_start(&chain);
    times[i] = bench_measure(run_path, &chain, chain.path->z, N_LATENT * sizeof(double), 1);
    tacit_chain_clear(&chain);
  }
  times[1].seconds -= times[0].seconds;
  bench_print_time("hmc leapfrog, n=1000000 latent records", "ns/record", (double)N_LATENT * (LONG - SHORT),
                   (bench_work_t){32, 2 * 25, 0}, times[1], 0);
}

/* Bound: ChaCha20's rate over the 16 random bytes of a proposal and its acceptance. */
static void print_rates(void) {
  enum { N = 10000 };
  double leaps, stream = sodium_init() >= 0 ? stream_bytes_per_second()
                                            : 0; /* its fast code is chosen by the initialisation */
  problem_t p;
  bench_begin();
  gaussian_problem(&p, N, 0.5, 0.2, 20, 0);
  tacit_augment_settings_t plain = with_method(TACIT_AUGMENT_GIBBS, false, TACIT_PATH_JOINT);
  bench_print_value("gibbs, gaussian", "records/s", N / seconds_per_iteration(&p, plain, &leaps), stream / 16,
                    1e8, false);
  plain.interweave = true;
  bench_print_value("gibbs interwoven, gaussian", "records/s", N / seconds_per_iteration(&p, plain, &leaps),
                    stream / 16, 0, false);
  for (int i = 0; i < 2; i++) {
    tacit_augment_path_t path = i == 0 ? TACIT_PATH_JOINT : TACIT_PATH_COLLECTIVE;
    double seconds = seconds_per_iteration(&p, with_method(TACIT_AUGMENT_HMC, true, path), &leaps);
    bench_print_value(i == 0 ? "hmc joint" : "hmc collective and sweep", "records*steps/s",
                      N * leaps / seconds, 0, 0, false);
  }
  poisson_problem(&p, N);
  bench_print_value("gibbs, poisson", "records/s", N / seconds_per_iteration(&p, plain, &leaps), stream / 16,
                    0, false);
  table_problem(&p, N);
  bench_print_value("gibbs, 16 cells", "records/s", N / seconds_per_iteration(&p, plain, &leaps), stream / 16,
                    0, false);
  print_leapfrog();
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
  printf("microseconds of an iteration (epsilon 1, delta 1e-5, sd of records 0.5; paths of 16 steps)\n%9s",
         "n");
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

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "--scaling") == 0) {
    print_scaling();
  } else {
    print_rates();
  }
  return 0;
}
