/*
 * A trial, whose result is in docs/performance.md: features held as 16-bit integers. Prints the time of the
 * logistic gradient beside the product's in the same run, the error of the gradient, how far a posterior
 * moves when features are rounded, and the greatest contribution of a record in integers. Not part of the
 * product, nor of `run-bench`.
 */
#include "base/error.h"
#include "base/memory.h"
#include "fixed_point.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/isa.h"
#include "curator/curator_internal.h"
#include "data/records.h"
#include "door/door_internal.h"
#include "formula/glm_kernel.h"
#include "harness.h"

extern const fixed_functions_t bench_fixed_portable;
#if defined(__x86_64__)
extern const fixed_functions_t bench_fixed_avx2, bench_fixed_avx512, bench_fixed_vnni;
#endif

typedef struct trial {
  size_t n, p;
  float *x; /* (n, p): features in [-1, 1], the first 1 */
  int16_t *by_pair, *by_feature, *response, *most;
  double bound; /* of a record's gradient */
  double theta[MAX_FEATURES];
  fixed_records_t records;
  fixed_theta_t fixed_theta;
  tacit_curator_t *curator;
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model;
  double out[MAX_FEATURES];
  int64_t totals[MAX_FEATURES];
  const fixed_functions_t *functions;
} trial_t;

void *make(size_t n, size_t size) {
  tacit_error_t err;
  void *p = tacit_alloc_zero(n, size);
  if (p == NULL) {
    bench_require(tacit_error_memory(&err), &err);
  }
  return p;
}

int16_t to_fixed(double x) { return (int16_t)rint(x * FEATURE_MOST); }

double logistic(double eta) { return 1 / (1 + exp(-eta)); }

/* ---- records ---- */

static size_t pair_place(const trial_t *t, size_t i, size_t j) {
  size_t pack = i / PACK, half = i % PACK / 16;
  return ((pack * t->p / 2 + j / 2) * 2 + half) * 32 + i % 16 * 2 + j % 2;
}

/* The largest weight in units of 2^-15 with which a record stays within the bound: weight^2 |k|^2 <= (bound
 * 2^15 32767)^2. */
static int16_t most_weight(const trial_t *t, const float *x) {
  double square = 0;
  for (size_t j = 0; j < t->p; j++) {
    square += (double)to_fixed(x[j]) * to_fixed(x[j]); /* whole, below 2^53 */
  }
  double most = floor(t->bound * 32768 * FEATURE_MOST / sqrt(square) * (1 - 0x1p-50));
  return (int16_t)fmin(most, FEATURE_MOST);
}

static void open_product(trial_t *t) {
  tacit_records_t *records;
  tacit_error_t err;
  double row[MAX_FEATURES + 1];
  bench_require(tacit_records_new(&records, t->n, t->p + 1, &err), &err);
  for (size_t i = 0; i < t->n; i++) {
    for (size_t j = 0; j < t->p; j++) {
      row[j] = t->x[i * t->p + j];
    }
    row[t->p] = t->response[i];
    tacit_records_set(records, i, row);
  }
  t->kernel = (tacit_glm_kernel_t){TACIT_FAMILY_BERNOULLI, t->p, 1, 0, 0, false};
  t->model = (tacit_record_model_t){.name = "glm",
                                    .dim = t->p,
                                    .n_columns = t->p + 1,
                                    .grad_bound = sqrt((double)t->p),
                                    .log_lik = tacit_glm_functions()->log_lik,
                                    .n_linear = 1,
                                    .n_features = t->p,
                                    .residual = tacit_glm_functions()->residual,
                                    .ctx = &t->kernel};
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.clip_bound_grad = t->bound;
  settings.n_threads = 1;
  bench_require(tacit_curator_new_exposed(&t->curator, records, &t->model, &settings, &err), &err);
}

/* theta as two shorts: of a sum of p products, each below 2^15 2^15, the first must stay below 2^31, and so
 * must the second. */
static void fix_theta(const trial_t *t, fixed_theta_t *fixed) {
  double sum = 0, most = 0;
  for (size_t j = 0; j < t->p; j++) {
    sum += fabs(t->theta[j]);
    most = fmax(most, fabs(t->theta[j]));
  }
  double high = fmax(sum / (65535 - (double)t->p), most / FEATURE_MOST), low = high * (double)t->p / 32768;
  for (size_t j = 0; j < t->p; j++) {
    fixed->high[j] = (int16_t)rint(t->theta[j] / high);
    fixed->low[j] = (int16_t)rint((t->theta[j] - fixed->high[j] * high) / low);
    fixed->plain[j] = (float)(t->theta[j] / FEATURE_MOST);
  }
  fixed->scale_high = (float)(high / FEATURE_MOST);
  fixed->scale_low = (float)(low / FEATURE_MOST);
}

static trial_t *open_trial(size_t n, size_t p, double bound) {
  trial_t *t = make(1, sizeof *t);
  uint64_t state = 42;
  size_t n_packs = (n + PACK * PACKS_A_TURN - 1) / (PACK * PACKS_A_TURN) * PACKS_A_TURN,
         n_all = n_packs * PACK;
  *t = (trial_t){.n = n, .p = p, .bound = bound, .x = make(n * p, sizeof(float))};
  t->by_pair = make(n_all * p, sizeof(int16_t));
  t->by_feature = make(n_all * p, sizeof(int16_t));
  t->response = make(n_all, sizeof(int16_t));
  t->most = make(n_all, sizeof(int16_t)); /* 0 past the last record */
  for (size_t j = 0; j < p; j++) {
    t->theta[j] = 0.3 * (2 * bench_uniform(&state) - 1);
  }
  for (size_t i = 0; i < n; i++) {
    double eta = 0;
    for (size_t j = 0; j < p; j++) {
      float x = j == 0 ? 1 : (float)(2 * bench_uniform(&state) - 1);
      t->x[i * p + j] = x;
      t->by_pair[pair_place(t, i, j)] = t->by_feature[(i / 16 * p + j) * 16 + i % 16] = to_fixed(x);
      eta += x * t->theta[j];
    }
    t->response[i] = bench_uniform(&state) < logistic(eta);
    t->most[i] = most_weight(t, t->x + i * p);
  }
  t->records = (fixed_records_t){n_packs, p, t->by_pair, t->by_feature, t->response, t->most};
  fix_theta(t, &t->fixed_theta);
  open_product(t);
  return t;
}

static void close_trial(trial_t *t) {
  tacit_curator_free(t->curator);
  void *arrays[] = {t->x, t->by_pair, t->by_feature, t->response, t->most, t};
  for (size_t a = 0; a < sizeof arrays / sizeof arrays[0]; a++) {
    tacit_free(arrays[a]);
  }
}

/* ---- times ---- */

static void call_product(void *user) {
  trial_t *t = user;
  tacit_error_t err;
  bench_require(tacit_curator_release_gradient(t->curator, 1, t->theta, 0, t->out, &err), &err);
}

static void call_short(void *user) {
  trial_t *t = user;
  memset(t->totals, 0, sizeof t->totals);
  t->functions->short_weights(&t->records, &t->fixed_theta, t->totals);
}

static void call_long(void *user) {
  trial_t *t = user;
  memset(t->totals, 0, sizeof t->totals);
  t->functions->long_weights(&t->records, &t->fixed_theta, t->totals);
}

static void call_widened(void *user) {
  trial_t *t = user;
  memset(t->totals, 0, sizeof t->totals);
  t->functions->widened(&t->records, &t->fixed_theta, (float)(0x1p20 / t->bound / FEATURE_MOST), t->totals);
}

typedef struct variant {
  const char *name;
  bench_call call;
  double unit;  /* of ->totals, at bound 1; 0: ->out holds the gradient */
  double bytes; /* besides the features, a record */
  bool is_wide;
} variant_t;

static const variant_t variants[] = {
    {"floats (the product)", call_product, 0, 8, true},
    {"shorts in memory, floats in registers", call_widened, 0x1p-20, 4, false},
    {"shorts, weights of 11 bits", call_short, 1 / (2047.0 * FEATURE_MOST), 4, false},
    {"shorts, weights of 15 bits", call_long, 1 / (32767.0 * FEATURE_MOST), 4, false},
};
enum { N_VARIANTS = sizeof variants / sizeof variants[0], ROUNDS = 2 };

static void print_times(trial_t *t, const char *isa) {
  bench_time_t best[N_VARIANTS];
  for (size_t r = 0; r < ROUNDS; r++) {
    for (size_t v = 0; v < N_VARIANTS; v++) {
      const void *data =
          variants[v].is_wide ? (const void *)tacit_records_block(t->curator->door->records, 0) : t->by_pair;
      size_t n_bytes = t->n * t->p * (variants[v].is_wide ? sizeof(float) : sizeof(int16_t));
      bench_time_t time = bench_measure(variants[v].call, t, data, n_bytes, 1);
      best[v] = r == 0 || time.seconds < best[v].seconds ? time : best[v];
    }
  }
  for (size_t v = 0; v < N_VARIANTS; v++) {
    double bytes = (double)t->p * (variants[v].is_wide ? 4 : 2) + variants[v].bytes,
           ns = best[v].seconds / (double)t->n * 1e9;
    printf("%-9s n=%-8zu d=%-3zu %-38s %4.0f bytes  %6.2f ns/record (reading alone %5.2f)  %.2f times the "
           "product's speed\n",
           isa, t->n, t->p, variants[v].name, bytes, ns, bytes / best[v].speed.bytes * 1e9,
           best[0].seconds / best[v].seconds);
  }
}

/* ---- the gradient ---- */

/* In double: the sum over records and the information in each coordinate; `is_rounded`: of the rounded
 * features. */
static void exact_gradient(const trial_t *t, bool is_rounded, double *grad, double *information) {
  memset(grad, 0, t->p * sizeof *grad);
  memset(information, 0, t->p * sizeof *information);
  for (size_t i = 0; i < t->n; i++) {
    double x[MAX_FEATURES], eta = 0, square = 0;
    for (size_t j = 0; j < t->p; j++) {
      x[j] = is_rounded ? (double)to_fixed(t->x[i * t->p + j]) / FEATURE_MOST : t->x[i * t->p + j];
      eta += x[j] * t->theta[j];
      square += x[j] * x[j];
    }
    double mean = logistic(eta), r = t->response[i] - mean;
    double factor = fmin(1, t->bound / (fabs(r) * sqrt(square)));
    for (size_t j = 0; j < t->p; j++) {
      grad[j] += factor * r * x[j];
      information[j] += mean * (1 - mean) * x[j] * x[j];
    }
  }
}

/* Against the records as they are: in noise of multiplier 1, whose sd is 2 bound; and in posterior sd (of one
 * coordinate alone). */
static void print_gradient_errors(trial_t *t) {
  double exact[MAX_FEATURES], rounded[MAX_FEATURES], information[MAX_FEATURES];
  exact_gradient(t, true, rounded, information);
  exact_gradient(t, false, exact, information);
  for (size_t v = 0; v <= N_VARIANTS; v++) {
    double in_noise = 0, in_sd = 0;
    if (v < N_VARIANTS) {
      variants[v].call(t);
    }
    for (size_t j = 0; j < t->p; j++) {
      double scale = v == 1 ? t->bound : 1;
      double grad = v == N_VARIANTS         ? rounded[j]
                    : variants[v].unit == 0 ? t->out[j]
                                            : (double)t->totals[j] * variants[v].unit * scale;
      in_noise = fmax(in_noise, fabs(grad - exact[j]) / (2 * t->bound));
      in_sd = fmax(in_sd, fabs(grad - exact[j]) / sqrt(information[j]));
    }
    printf(
        "gradient error n=%zu d=%zu bound %.2f: %-38s %.2e of the noise at multiplier 1, %.2e posterior sd\n",
        t->n, t->p, t->bound, v < N_VARIANTS ? variants[v].name : "rounded features alone", in_noise, in_sd);
  }
}

/* The greatest contribution with the weights that `most` allows, over the bound; in integers. */
static void print_sensitivity(const trial_t *t) {
  __extension__ typedef unsigned __int128 wide_t;
  wide_t limit = (wide_t)(uint64_t)floor(t->bound * 32768 * FEATURE_MOST);
  double share[2] = {0, 0}, least[2] = {1, 1};
  size_t n_over = 0;
  for (size_t i = 0; i < t->n; i++) {
    uint64_t square = 0;
    for (size_t j = 0; j < t->p; j++) {
      int64_t k = to_fixed(t->x[i * t->p + j]);
      square += (uint64_t)(k * k);
    }
    for (int bits = 0; bits < 2; bits++) {
      uint64_t w = (uint64_t)(t->most[i] >> (bits == 0 ? 4 : 0)) << (bits == 0 ? 4 : 0);
      n_over += (wide_t)(w * w) * square > limit * limit;
      double reached = (double)w * sqrt((double)square) / (double)limit;
      share[bits] = fmax(share[bits], reached);
      least[bits] = fmin(least[bits], t->most[i] < FEATURE_MOST ? reached : 1);
    }
  }
  printf("sensitivity n=%zu d=%zu bound %.2f: %zu records above the bound in integers; clipped ones reach, "
         "weights of 11 bits %.5f to "
         "%.5f of it, 15 bits %.5f to %.5f\n",
         t->n, t->p, t->bound, n_over, least[0], share[0], least[1], share[1]);
}

/* ---- instruction sets ---- */

static void print_speeds(trial_t *t) {
#if defined(__x86_64__)
  static const struct {
    const char *name;
    const fixed_functions_t *functions;
    tacit_isa_t isa;
  } sets[] = {{"portable", &bench_fixed_portable, TACIT_ISA_PORTABLE},
              {"avx2", &bench_fixed_avx2, TACIT_ISA_AVX2},
              {"avx512", &bench_fixed_avx512, TACIT_ISA_AVX512},
              {"+vnni", &bench_fixed_vnni, TACIT_ISA_AVX512}};
  int64_t expected[2][MAX_FEATURES];
  for (size_t s = 0; s < sizeof sets / sizeof sets[0]; s++) {
    if ((s == 1 && !tacit_has_avx2()) || (s >= 2 && !tacit_has_avx512()) ||
        (s == 3 && !__builtin_cpu_supports("avx512vnni"))) {
      continue;
    }
    tacit_isa_limit(sets[s].isa);
    t->model.residual = tacit_glm_functions()->residual;
    t->functions = sets[s].functions;
    for (size_t v = 0; v < 2; v++) {
      variants[2 + v].call(t);
      if (s == 0) {
        memcpy(expected[v], t->totals, sizeof expected[v]);
      } else if (memcmp(expected[v], t->totals, sizeof expected[v]) != 0) {
        fprintf(stderr, "bench_fixed_point: %s gives other integers than %s\n", sets[s].name, sets[0].name);
        exit(1);
      }
    }
    print_times(t, sets[s].name);
  }
#else
  t->functions = &bench_fixed_portable;
  print_times(t, "portable");
#endif
}

static void print_all(size_t n, size_t p) {
  trial_t *t = open_trial(n, p, sqrt((double)p));
  print_speeds(t);
  print_gradient_errors(t);
  close_trial(t);
}

/* bench_fixed_point [N]: all, or times and gradients for N records alone. */
int main(int argc, char **argv) {
  if (argc > 1) {
    size_t n = strtoul(argv[1], NULL, 10);
    if (n < 1 || n > 100000000) {
      fprintf(stderr, "bench_fixed_point: argument '%s' is no number of records from 1 to 10^8\n", argv[1]);
      return 2;
    }
    print_all(n, 50);
    return 0;
  }
  for (int s = 0; s <= 4; s++) {
    print_posterior(pow(10, -s));
  }
  trial_t *t = open_trial(100000, 50, 1);
  t->functions = TACIT_ISA_SELECT(bench_fixed);
  print_gradient_errors(t);
  print_sensitivity(t);
  close_trial(t);
  print_all(1000000, 50);
  print_all(100000, 50);
  print_all(4000, 50);
  return 0;
}
