/*
 * What the benchmark programs share. A row is one kernel: what one unit of its work must read and compute,
 * how long that takes at the speeds this core showed in the same run, and how long it took. The machine may
 * be busy with other things, so the core's speeds are measured between the calls, and the best of each
 * counts; one-thread work is timed by processor time.
 */
#ifndef TACIT_BENCH_HARNESS_H
#define TACIT_BENCH_HARNESS_H

#include "tacit/base.h"

/* What one unit of work needs at least, counted from the source. */
typedef struct bench_work {
  double bytes;     /* read from memory, each once */
  double flops;     /* lanes of float or int32 arithmetic; a double counts as two, a division not */
  double divisions; /* lanes of float division or square root; a double counts as two */
} bench_work_t;

/* A core's speed in units of bench_work_t a second; data that fits a cache is read at the speed of the cache.
 */
typedef struct bench_speed {
  double bytes, flops, divisions;
} bench_speed_t;

typedef struct bench_time {
  double seconds; /* of the fastest call */
  bench_speed_t speed;
} bench_time_t;

typedef void (*bench_call)(void *user);

/* `data`, n_bytes of it, is what the call reads: the bound of memory is measured there. May be empty. */
bench_time_t bench_measure(bench_call call, void *user, const void *data, size_t n_bytes, size_t n_threads);
/* The least time of n_units of work at these speeds. */
double bench_bound(bench_work_t work, bench_speed_t speed, double n_units);

/* Rows of one JSON array. */
void bench_begin(void);
void bench_end(void);
/* A call did n_units of work; value and bound are nanoseconds a unit. target: the most it should be, 0: none.
 */
void bench_print_time(const char *name, const char *unit, double n_units, bench_work_t work,
                      bench_time_t time, double target);
/* Any other number. bound and target 0: none; is_time: less is better. */
void bench_print_value(const char *name, const char *unit, double value, double bound, double target,
                       bool is_time);

/* Ends the program with the message. */
void bench_require(tacit_status_t status, const tacit_error_t *err);
double bench_uniform(uint64_t *state);
double bench_cpu_seconds(void);

/* One table for each instruction set (bound_isa.c). */
typedef struct bench_bound_functions {
  float (*read)(const float *data, size_t n); /* n a multiple of 128 */
  float (*arithmetic)(size_t n_rounds, float x);
  float (*divide)(size_t n_rounds, float x);
  double flops_a_round, divisions_a_round;
} bench_bound_functions_t;

#endif
