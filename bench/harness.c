#include "harness.h"
#include "base/pool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/isa.h"

extern const bench_bound_functions_t bench_bound_portable;
#if defined(__x86_64__)
extern const bench_bound_functions_t bench_bound_avx2, bench_bound_avx512;
#endif

static const double min_seconds = 0.4;
enum { MIN_CALLS = 7, BOUND_ROUNDS = 4096 };
static volatile float sink;
static size_t n_rows;

void bench_require(tacit_status_t status, const tacit_error_t *err) {
  if (status != TACIT_OK) {
    fprintf(stderr, "bench: %s\n", err->message);
    exit(1);
  }
}

double bench_uniform(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 11) * 0x1p-53;
}

double bench_cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void keep_best(double *best, double rate) { *best = fmax(*best, rate); }

static void measure_speed(bench_speed_t *speed, const void *data, size_t n_bytes) {
  const bench_bound_functions_t *bound = TACIT_ISA_SELECT(bench_bound);
  size_t n = n_bytes / sizeof(float) / 128 * 128;
  /* Data of a few kilobytes are read several times, so that the clock does not count. */
  size_t n_sweeps = n > 0 ? (1 << 16) / n + 1 : 0;
  double start = bench_cpu_seconds();
  for (size_t s = 0; s < n_sweeps; s++) {
    sink = sink + bound->read(data, n);
  }
  keep_best(&speed->bytes,
            n > 0 ? (double)(n_sweeps * n) * sizeof(float) / (bench_cpu_seconds() - start) : 0);
  start = bench_cpu_seconds();
  sink = sink + bound->arithmetic(BOUND_ROUNDS, 0.5f);
  keep_best(&speed->flops, BOUND_ROUNDS * bound->flops_a_round / (bench_cpu_seconds() - start));
  start = bench_cpu_seconds();
  sink = sink + bound->divide(BOUND_ROUNDS, 0.5f);
  keep_best(&speed->divisions, BOUND_ROUNDS * bound->divisions_a_round / (bench_cpu_seconds() - start));
}

bench_time_t bench_measure(bench_call call, void *user, const void *data, size_t n_bytes, size_t n_threads) {
  bench_time_t best = {.seconds = INFINITY};
  call(user); /* buffers are made, pages are touched */
  double total = 0;
  for (size_t i = 0; i < MIN_CALLS || total < min_seconds; i++) {
    measure_speed(&best.speed, data, n_bytes);
    double wall = tacit_clock(), cpu = bench_cpu_seconds();
    call(user);
    double seconds = n_threads > 1 ? tacit_clock() - wall : bench_cpu_seconds() - cpu;
    best.seconds = fmin(best.seconds, seconds);
    total += seconds;
  }
  return best;
}

double bench_bound(bench_work_t work, bench_speed_t speed, double n_units) {
  double memory = work.bytes > 0 && speed.bytes > 0 ? work.bytes / speed.bytes : 0;
  return n_units * fmax(memory, fmax(work.flops / speed.flops, work.divisions / speed.divisions));
}

/* To standard error, beside the rows: which processor these are of. */
static void print_processor(void) {
  char line[256], family[64] = "", model[64] = "", name[128] = "unknown";
  FILE *file = fopen("/proc/cpuinfo", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL && line[0] != '\n') {
    (void)sscanf(line, "model name : %127[^\n]", name);
    (void)sscanf(line, "cpu family : %63[^\n]", family);
    (void)sscanf(line, "model : %63[^\n]", model);
  }
  if (file != NULL) {
    (void)fclose(file);
  }
  fprintf(stderr, "processor: %s, family %s, model %s; instruction set %s\n", name, family, model,
          tacit_isa_name());
}

void bench_begin(void) {
  print_processor();
  printf("[");
}

void bench_end(void) { printf("\n]\n"); }

static void print_number(const char *key, double value) {
  if (value > 0) {
    printf(", \"%s\": %.6g", key, value);
  } else {
    printf(", \"%s\": null", key);
  }
}

static void print_row(const char *name, const char *unit, bench_work_t work, double value, double bound,
                      double target, bool is_time) {
  printf("%s\n  {\"name\": \"%s\", \"unit\": \"%s\", \"less_is_better\": %s", n_rows++ > 0 ? "," : "", name,
         unit, is_time ? "true" : "false");
  print_number("bytes", work.bytes);
  print_number("flops", work.flops);
  print_number("divisions", work.divisions);
  print_number("bound", bound);
  print_number("value", value);
  print_number("ratio", bound > 0 ? (is_time ? bound / value : value / bound) : 0);
  print_number("target", target);
  printf("}");
  fflush(stdout);
}

void bench_print_time(const char *name, const char *unit, double n_units, bench_work_t work,
                      bench_time_t time, double target) {
  print_row(name, unit, work, time.seconds / n_units * 1e9, bench_bound(work, time.speed, 1) * 1e9, target,
            true);
}

void bench_print_value(const char *name, const char *unit, double value, double bound, double target,
                       bool is_time) {
  print_row(name, unit, (bench_work_t){0}, value, bound, target, is_time);
}
