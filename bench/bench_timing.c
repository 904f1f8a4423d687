/*
 * Does time tell of secrets? Timings of two extremes, called in random order, by a two-sample test:
 * bench_timing [N timings, default 10^6]
 *
 * Noise: what a draw from a secret source and from a seeded one (which does not draw on) takes, those below a
 * quarter of an sd against those above two. Passes: a gradient release of sixteen records whose first is one
 * thing or another. Told are means of the fastest nine tenths; |z| below 5 shows nothing.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "curator/curator_internal.h"
#include "harness.h"
#include "random/noise.h"

typedef struct sample {
  double *times;
  size_t n;
} sample_t;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Mean and its squared standard error of what an interruption did not touch: a time's share above the common
 * bound is cut. */
static void moments(const sample_t *s, double most, double *mean, double *error) {
  double sum = 0, squares = 0, n = 0;
  for (size_t i = 0; i < s->n; i++) {
    if (s->times[i] <= most) {
      sum += s->times[i];
      squares += s->times[i] * s->times[i];
      n++;
    }
  }
  *mean = sum / n;
  *error = (squares / n - *mean * *mean) / n;
}

static void tell(const char *name, const sample_t *a, const sample_t *b) {
  size_t n = a->n + b->n;
  double *all = malloc(n * sizeof *all), mean[2], error[2];
  tacit_error_t err;
  if (all == NULL) {
    bench_require(tacit_error_memory(&err), &err);
  }
  for (size_t i = 0; i < n; i++) {
    all[i] = i < a->n ? a->times[i] : b->times[i - a->n];
  }
  qsort(all, n, sizeof *all, compare);
  moments(a, all[n / 10 * 9], &mean[0], &error[0]);
  moments(b, all[n / 10 * 9], &mean[1], &error[1]);
  printf("%-40s %8.1f ns, %+8.2f for the other, z %+.1f\n", name, mean[0], mean[1] - mean[0],
         (mean[1] - mean[0]) / sqrt(error[0] + error[1]));
  free(all);
}

static void open_samples(sample_t s[2], size_t n) {
  tacit_error_t err;
  for (int i = 0; i < 2; i++) {
    s[i] = (sample_t){malloc(n * sizeof *s[i].times), 0};
    if (s[i].times == NULL) {
      bench_require(tacit_error_memory(&err), &err);
    }
  }
}

static void close_samples(sample_t s[2]) {
  free(s[0].times);
  free(s[1].times);
}

static void bench_noise(const char *name, bool is_secret, size_t n) {
  tacit_error_t err;
  tacit_noise_t *noise;
  sample_t s[2];
  open_samples(s, n);
  bench_require(
      is_secret ? tacit_noise_new(&noise, &err) : tacit_noise_new_seeded_not_private(&noise, 3, &err), &err);
  for (size_t i = 0; i < n; i++) {
    int64_t draw;
    double start = now();
    bench_require(tacit_noise_rounded_gaussian(noise, 1000, 1, &draw, &err), &err);
    double took = now() - start, size = fabs((double)draw);
    if (size < 250 || size > 2000) {
      sample_t *of = &s[size > 2000];
      of->times[of->n++] = took;
    }
  }
  tell(name, &s[0], &s[1]);
  tacit_noise_free(noise);
  close_samples(s);
}

/* ---- passes ---- */

enum { n_records = 16, n_columns = 4 };

/* The gradient of half a square, which is the record itself. */
static void echo(const void *ctx, const float *block, size_t n_theta, const float *theta, float *out) {
  (void)ctx;
  for (size_t t = 0; t < n_theta; t++) {
    for (size_t j = 0; j < n_columns; j++) {
      for (size_t i = 0; i < 16; i++) {
        out[(t * n_columns + j) * 16 + i] = block[j * 16 + i] - theta[t * n_columns + j];
      }
    }
  }
}

static void no_likelihood(const void *ctx, const float *block, size_t n_theta, const double *theta,
                          double *out) {
  (void)ctx, (void)block, (void)theta;
  for (size_t i = 0; i < 16 * n_theta; i++) {
    out[i] = 0;
  }
}

typedef struct side {
  tacit_curator_t *curator;
  tacit_noise_t *noise;
  tacit_budget_t *budget;
} side_t;

static void open_side(side_t *side, const tacit_record_model_t *model, double first) {
  tacit_error_t err;
  tacit_records_t *records;
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.clip_bound_grad = 1;
  bench_require(tacit_records_new(&records, n_records, n_columns, &err), &err);
  for (size_t i = 0; i < n_records; i++) {
    const double x[n_columns] = {i == 0 ? first : 0.3, i == 0 ? first : 0.1, 0.2, -0.4};
    tacit_records_set(records, i, x);
  }
  bench_require(tacit_noise_new_seeded_not_private(&side->noise, 5, &err), &err);
  bench_require(tacit_budget_new(&side->budget, 1e15, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), &err);
  bench_require(tacit_curator_new(&side->curator, records, model, side->budget, side->noise, &settings, &err),
                &err);
}

/* Both sides draw the same noise: what differs is the first record alone. */
static void bench_pass(const char *name, double a, double b, size_t n) {
  const tacit_record_model_t model = {.name = "echo",
                                      .dim = n_columns,
                                      .n_columns = n_columns,
                                      .grad_bound = INFINITY,
                                      .log_lik = no_likelihood,
                                      .grad = echo};
  const double theta[n_columns] = {0};
  side_t sides[2];
  sample_t s[2];
  uint64_t state = 9;
  double out[n_columns];
  tacit_error_t err;
  open_samples(s, n);
  open_side(&sides[0], &model, a);
  open_side(&sides[1], &model, b);
  for (size_t i = 0; i < n; i++) {
    int first = bench_uniform(&state) < 0.5;
    for (int k = 0; k < 2; k++) {
      int which = k == 0 ? first : 1 - first;
      double start = now();
      bench_require(tacit_curator_release_gradient(sides[which].curator, 1, theta, 1, out, &err), &err);
      s[which].times[s[which].n++] = now() - start;
    }
  }
  tell(name, &s[0], &s[1]);
  for (int k = 0; k < 2; k++) {
    tacit_curator_free(sides[k].curator);
    tacit_noise_free(sides[k].noise);
    tacit_budget_free(sides[k].budget);
  }
  close_samples(s);
}

int main(int argc, char **argv) {
  size_t n = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 1000000;
  bench_noise("normal draw, seeded, small or large", false, n);
  bench_noise("normal draw, secret, small or large", true, n);
  bench_pass("gradient pass, nothing differs", 0.2, 0.2, n);
  bench_pass("gradient pass, a record clips", 0.2, 50, n);
  bench_pass("gradient pass, a record is not finite", 0.2, INFINITY, n);
  bench_pass("gradient pass, a record is denormal", 0.2, 1e-40, n);
  return 0;
}
