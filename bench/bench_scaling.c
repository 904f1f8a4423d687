/*
 * Cost against the number of records where memory ends, and against the number of processes. Prints rows of
 * JSON (harness.h).
 *
 *     bench_scaling                        10^5 to 10^8 records, a block of 10^6 in memory at a time
 *     mpirun -n R bench_scaling --ranks    a build with MPI: each rank has its share of 2^20 records
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/error.h"
#include "cli/launcher.h"
#include "curator/curator_internal.h"
#include "door/door_internal.h"
#include "harness.h"
#include "formula/glm_kernel.h"

enum { D = 10, BATCH = 1000000, N_SHARED = 1 << 20, N_REPEATS = 9, N_SUMS = 200 };

typedef struct scale {
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model;
  tacit_curator_t *curator;
  double theta[16 * 64], out[16 * 64];
  uint64_t state;
} scale_t;

/* Features uniform on [-1, 1] but the first, which is 1. */
static tacit_records_t *make_records(scale_t *s, size_t n, size_t p) {
  tacit_records_t *records;
  tacit_error_t err;
  double x[65];
  bench_require(tacit_records_new(&records, n, p + 1, &err), &err);
  for (size_t i = 0; i < n; i++) {
    x[0] = 1;
    for (size_t j = 1; j < p; j++) {
      x[j] = 2 * bench_uniform(&s->state) - 1;
    }
    x[p] = bench_uniform(&s->state) < 0.3;
    tacit_records_set(records, i, x);
  }
  return records;
}

static void open_curator(scale_t *s, tacit_records_t *records, size_t p, const tacit_ranks_t *ranks) {
  tacit_error_t err;
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  s->kernel = (tacit_glm_kernel_t){TACIT_FAMILY_BERNOULLI, p, 1, 0, 0, false};
  s->model = (tacit_record_model_t){.name = "glm",
                                    .dim = p,
                                    .n_columns = p + 1,
                                    .grad_bound = sqrt((double)p),
                                    .log_lik = tacit_glm_functions()->log_lik,
                                    .n_linear = 1,
                                    .n_features = p,
                                    .residual = tacit_glm_functions()->residual,
                                    .residual_blocks = tacit_glm_functions()->residual_blocks,
                                    .ctx = &s->kernel};
  settings.clip_bound_grad = sqrt((double)p);
  settings.n_threads = 1;
  settings.ranks = ranks;
  bench_require(tacit_curator_new_exposed(&s->curator, records, &s->model, &settings, &err), &err);
  for (size_t i = 0; i < 16 * p; i++) {
    s->theta[i] = 0.02 * (double)(i % 7) - 0.06;
  }
}

static void gradient(scale_t *s, size_t n_theta) {
  tacit_error_t err;
  bench_require(tacit_curator_release_gradient(s->curator, n_theta, s->theta, 0, s->out, &err), &err);
}

static double peak_megabytes(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_maxrss / 1024;
}

/* ---- more records than memory: made, summed and forgotten, a block at a time ---- */

static void stream(scale_t *s, size_t n) {
  double total[D] = {0}, summing = 0, opening = 0;
  for (size_t done = 0; done < n; done += BATCH) {
    tacit_records_t *records = make_records(s, n - done < BATCH ? n - done : BATCH, D);
    double start = bench_cpu_seconds();
    open_curator(s, records, D, NULL);
    double opened = bench_cpu_seconds();
    gradient(s, 1);
    summing += bench_cpu_seconds() - opened;
    opening += opened - start;
    for (size_t j = 0; j < D; j++) {
      total[j] += s->out[j];
    }
    tacit_curator_free(s->curator);
  }
  char name[96];
  snprintf(name, sizeof name, "streamed logistic gradient, n=%.0e d=%d K=1", (double)n, D);
  bench_print_value(name, "ns/record", summing / (double)n * 1e9, 0, 0, true);
  snprintf(name, sizeof name, "the same, n=%.0e: opening the blocks", (double)n);
  bench_print_value(name, "ns/record", opening / (double)n * 1e9, 0, 0, true);
  snprintf(name, sizeof name, "the same, n=%.0e: peak memory so far", (double)n);
  bench_print_value(name, "MB", peak_megabytes(), 0, 0, true);
  if (!(fabs(total[0]) <= (double)n)) {
    fprintf(stderr, "bench_scaling: a sum of %zu residuals is %g\n", n, total[0]);
    exit(1);
  }
}

/* ---- several processes ---- */

/* What a rank spends in summing over the ranks, waiting included, is taken out of its time. */
typedef struct watch {
  tacit_ranks_t ranks; /* as MPI has it */
  double cpu_seconds;
} watch_t;

static void watched_sum(void *user, size_t n, int64_t *numbers) {
  watch_t *watch = user;
  double start = bench_cpu_seconds();
  watch->ranks.sum(watch->ranks.user, n, numbers);
  watch->cpu_seconds += bench_cpu_seconds() - start;
}

/* The largest of the ranks' values, on all of them. */
static double most_of_ranks(const tacit_ranks_t *ranks, double value) {
  int64_t *all = calloc(ranks->n_ranks, sizeof *all);
  tacit_error_t err;
  if (all == NULL) {
    bench_require(tacit_error_memory(&err), &err);
  }
  all[ranks->rank] = (int64_t)(value * 1e12);
  ranks->sum(ranks->user, ranks->n_ranks, all);
  for (size_t r = 0; r < ranks->n_ranks; r++) {
    value = fmax(value, (double)all[r] * 1e-12);
  }
  free(all);
  return value;
}

static double time_share(scale_t *s, watch_t *watch, const tacit_ranks_t *ranks, size_t p, size_t n_theta) {
  size_t n = N_SHARED / watch->ranks.n_ranks;
  s->state = watch->ranks.rank + 1;
  open_curator(s, make_records(s, n, p), p, ranks);
  double best = INFINITY;
  for (size_t i = 0; i <= N_REPEATS; i++) {
    watch->cpu_seconds = 0;
    double start = bench_cpu_seconds();
    gradient(s, n_theta);
    best = i == 0 ? best : fmin(best, bench_cpu_seconds() - start - watch->cpu_seconds);
  }
  tacit_curator_free(s->curator);
  return most_of_ranks(&watch->ranks, best);
}

/* One sum over the ranks by the clock, the best of many: the others of the machine must leave all ranks a
 * core at once. */
static double time_sum(const tacit_ranks_t *ranks, size_t n) {
  int64_t *numbers = calloc(n, sizeof *numbers);
  double best = INFINITY;
  for (size_t i = 0; numbers != NULL && i < N_SUMS; i++) {
    double start = tacit_clock();
    ranks->sum(ranks->user, n, numbers);
    best = fmin(best, tacit_clock() - start);
  }
  free(numbers);
  return most_of_ranks(ranks, best);
}

static void measure_ranks(scale_t *s, watch_t *watch) {
  static const size_t points[][2] = {{10, 1}, {10, 4}, {50, 1}, {50, 4}};
  tacit_ranks_t ranks = {watch->ranks.rank, watch->ranks.n_ranks, watched_sum, watch};
  for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
    size_t p = points[i][0], n_theta = points[i][1], n_numbers = tacit_door_message_size(p * n_theta);
    double share = time_share(s, watch, watch->ranks.n_ranks > 1 ? &ranks : NULL, p, n_theta);
    double sum = watch->ranks.n_ranks > 1 ? time_sum(&watch->ranks, n_numbers) : 0;
    if (watch->ranks.rank == 0) {
      char name[128];
      snprintf(name, sizeof name, "%zu ranks, n=%d d=%zu K=%zu: the slowest rank's share",
               watch->ranks.n_ranks, N_SHARED, p, n_theta);
      bench_print_value(name, "ms", share * 1e3, 0, 0, true);
      if (watch->ranks.n_ranks > 1) {
        snprintf(name, sizeof name, "%zu ranks, %zu numbers summed", watch->ranks.n_ranks, n_numbers);
        bench_print_value(name, "us", sum * 1e6, 0, 0, true);
      }
    }
  }
}

static void sum_alone(void *user, size_t n, int64_t *numbers) { (void)user, (void)n, (void)numbers; }

int main(int argc, char **argv) {
  static scale_t s;
  s.state = 1;
  if (argc > 1 && strcmp(argv[1], "--ranks") == 0) {
    watch_t watch = {{0, 1, sum_alone, NULL}, 0};
    bool has_mpi = cli_mpi_open(&watch.ranks);
    if (watch.ranks.rank == 0) {
      bench_begin();
    }
    measure_ranks(&s, &watch);
    if (watch.ranks.rank == 0) {
      bench_end();
    }
    if (has_mpi) {
      cli_mpi_close();
    }
    return 0;
  }
  bench_begin();
  for (size_t n = 100000; n <= 100000000; n *= 10) {
    stream(&s, n);
  }
  bench_end();
  return 0;
}
