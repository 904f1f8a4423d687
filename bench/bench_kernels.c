/*
 * Full passes over the records: clipped gradients and log-likelihood ratios of every family, against what
 * they must read and compute. Prints rows of JSON (harness.h).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "curator/curator.h"
#include "curator/curator_internal.h"
#include "data/records.h"
#include "door/door_internal.h"
#include "formula/glm_kernel.h"
#include "formula/model.h"
#include "harness.h"
#include "models/models.h"

/* PASS_STEP: ratios of a chain's steps, the log-likelihoods of one end being kept. PASS_NORMS: what opening a
 * curator computes. PASS_UNITS: of persons of 4 rows; PASS_MIXED: of 1 to 8. */
typedef enum pass_kind {
  PASS_GRADIENT,
  PASS_RATIO,
  PASS_STEP,
  PASS_UNITS,
  PASS_MIXED,
  PASS_NORMS
} pass_kind_t;

typedef struct pass_case {
  const char *name;
  tacit_family_t family;
  size_t n, n_features, n_linear, n_theta, n_threads;
  pass_kind_t kind;
} pass_case_t;

typedef struct run {
  tacit_curator_t *curator;
  size_t n_theta;
  double *theta, *theta_prop, *out, *noise_sd;
  pass_kind_t kind;
} run_t;

static void call(void *user) {
  run_t *run = user;
  tacit_error_t err;
  if (run->kind == PASS_NORMS) {
    tacit_door_measure_records(run->curator->door);
  } else if (run->kind == PASS_RATIO || run->kind == PASS_STEP) {
    run->theta_prop[0] += 0x1p-20;
    bench_require(tacit_curator_release_log_ratio(run->curator, run->n_theta, run->theta, run->theta_prop, 0,
                                                  run->out, run->noise_sd, &err),
                  &err);
  } else {
    bench_require(tacit_curator_release_gradient(run->curator, run->n_theta, run->theta, 0, run->out, &err),
                  &err);
  }
}

/* Features uniform on [-1, 1] but the first, which is 1; a response that every family can have. */
static tacit_records_t *make_records(size_t n, size_t n_columns, size_t n_levels) {
  tacit_records_t *records;
  tacit_error_t err;
  uint64_t state = 42;
  bench_require(tacit_records_new(&records, n, n_columns, &err), &err);
  double *x = calloc(n_columns, sizeof *x);
  for (size_t i = 0; x != NULL && i < n; i++) {
    for (size_t j = 0; j < n_columns; j++) {
      x[j] = j == 0 ? 1 : 2 * bench_uniform(&state) - 1;
    }
    if (n_levels > 0) {
      x[n_columns - 1] = floor((double)n_levels * bench_uniform(&state));
    }
    tacit_records_set(records, i, x);
  }
  free(x);
  return records;
}

static run_t open_run(tacit_records_t *records, const tacit_record_model_t *model, const pass_case_t *c) {
  tacit_error_t err;
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.clip_bound_grad = sqrt((double)model->dim);
  settings.clip_bound_ratio = 2 * sqrt((double)model->dim);
  settings.n_threads = c->n_threads;
  settings.max_unit_rows = c->kind == PASS_UNITS ? 4 : c->kind == PASS_MIXED ? 8 : 1;
  run_t run = {.n_theta = c->n_theta, .kind = c->kind};
  bench_require(tacit_curator_new_exposed(&run.curator, records, model, &settings, &err), &err);
  run.curator->kept.limit = c->kind == PASS_STEP ? TACIT_KEPT_BYTES : 0;
  size_t n = c->n_theta * model->dim;
  double **arrays[] = {&run.theta, &run.theta_prop, &run.out, &run.noise_sd};
  for (size_t a = 0; a < 4; a++) {
    *arrays[a] = calloc(n, sizeof(double));
    if (*arrays[a] == NULL) {
      bench_require(tacit_error_memory(&err), &err);
    }
  }
  for (size_t i = 0; i < n; i++) {
    run.theta[i] = 0.02 * (double)(i % 7) - 0.06;
    run.theta_prop[i] = run.theta[i] + 0.01;
  }
  return run;
}

static void close_run(run_t *run) {
  tacit_curator_free(run->curator);
  free(run->theta);
  free(run->theta_prop);
  free(run->out);
  free(run->noise_sd);
}

static void measure(tacit_records_t *records, const tacit_record_model_t *model, const pass_case_t *c,
                    bench_work_t work) {
  size_t n = tacit_records_n(records),
         n_bytes = tacit_records_n_blocks(records) * 64 * tacit_records_n_columns(records);
  run_t run = open_run(records, model, c);
  bench_time_t time = bench_measure(call, &run, tacit_records_block(records, 0), n_bytes, c->n_threads);
  char name[128];
  snprintf(name, sizeof name, "%s, n=%zu d=%zu K=%zu%s", c->name, n, model->dim, c->n_theta,
           c->n_threads > 1 ? " 2 threads" : "");
  work.flops /= (double)c->n_threads;
  bench_print_time(name, "ns/record", (double)n, work, time, 0);
  close_run(&run);
}

/* ---- linear models ---- */

enum {
  EXP_FLOPS = 25,
  DOUBLE_EXP_FLOPS = 74,
  DOUBLE_LOG1P_EXP_FLOPS = 72
}; /* base/vector.h, a double counting as two */

/* Link and clipping: flops and divisions of one record's residual. */
static bench_work_t link_work(const pass_case_t *c) {
  double l = (double)c->n_linear;
  switch (c->family) {
  case TACIT_FAMILY_BERNOULLI:
    return (bench_work_t){0, EXP_FLOPS + 3, 1};
  case TACIT_FAMILY_POISSON:
    return (bench_work_t){0, EXP_FLOPS + 1, 0};
  case TACIT_FAMILY_GAUSSIAN:
    return (bench_work_t){0, 3, 0};
  default:
    return (bench_work_t){0, (EXP_FLOPS + 6) * l + EXP_FLOPS, 1};
  }
}

/* Predictors: a product and a sum a feature; integers: a product, a conversion and a sum. Features, response,
 * norm. */
static bench_work_t gradient_work(const pass_case_t *c) {
  double l = (double)c->n_linear, p = (double)c->n_features, k = (double)c->n_theta;
  bench_work_t link = link_work(c);
  return (bench_work_t){4 * (p + 2), k * (5 * l * p + link.flops + 5 * l), k * link.divisions};
}

/* In double: a conversion, a product and a sum a feature, for both ends or the one that is not kept. */
static bench_work_t ratio_work(const pass_case_t *c) {
  double l = (double)c->n_linear, p = (double)c->n_features, k = (double)c->n_theta, link = 0, divisions = 0;
  double ends = c->kind == PASS_STEP ? 1 : 2, kept = c->kind == PASS_STEP ? 16 * k : 0;
  switch (c->family) {
  case TACIT_FAMILY_BERNOULLI:
    link = DOUBLE_LOG1P_EXP_FLOPS, divisions = 2;
    break;
  case TACIT_FAMILY_POISSON:
    link = DOUBLE_EXP_FLOPS;
    break;
  case TACIT_FAMILY_CATEGORICAL:
    link = 2 * DOUBLE_EXP_FLOPS * l;
    break;
  default:
    break;
  }
  return (bench_work_t){4 * (p + 2) + kept, ends * k * (6 * l * p + link), ends * k * divisions};
}

/* A conversion, a product and a sum a feature in double, a test for what is not finite; then a root, and the
 * next float. */
static bench_work_t norms_work(const pass_case_t *c) {
  double p = (double)c->n_features;
  return (bench_work_t){4 * (p + 2), 6 * p + 3 * (p + 1) + 10, 2};
}

static bench_work_t work_of(const pass_case_t *c) {
  bool is_ratio = c->kind == PASS_RATIO || c->kind == PASS_STEP;
  return c->kind == PASS_NORMS ? norms_work(c) : is_ratio ? ratio_work(c) : gradient_work(c);
}

static void make_persons(tacit_records_t *records, const pass_case_t *c) {
  tacit_error_t err;
  uint64_t state = 7;
  size_t n_units = 0, *offsets = calloc(c->n + 1, sizeof *offsets);
  bench_require(offsets != NULL ? TACIT_OK : tacit_error_memory(&err), &err);
  while (offsets[n_units] < c->n) {
    size_t n_rows = c->kind == PASS_UNITS ? 4 : 1 + (size_t)(8 * bench_uniform(&state)),
           left = c->n - offsets[n_units];
    offsets[n_units + 1] = offsets[n_units] + (n_rows < left ? n_rows : left);
    n_units++;
  }
  bench_require(tacit_records_set_units(records, offsets, n_units, &err), &err);
  free(offsets);
}

static void bench_linear(const pass_case_t *c) {
  tacit_glm_kernel_t kernel = {c->family, c->n_features, c->n_linear, 0, c->family == TACIT_FAMILY_GAUSSIAN,
                               false};
  tacit_record_model_t model = {.name = "glm",
                                .dim = c->n_linear * c->n_features,
                                .n_columns = c->n_features + 1,
                                .grad_bound = 1e6,
                                .log_lik = tacit_glm_functions()->log_lik,
                                .log_lik_blocks = tacit_glm_functions()->log_lik_blocks,
                                .n_linear = c->n_linear,
                                .n_features = c->n_features,
                                .residual = tacit_glm_functions()->residual,
                                .residual_blocks = tacit_glm_functions()->residual_blocks,
                                .ctx = &kernel};
  tacit_records_t *records = make_records(c->n, c->n_features + 1, c->n_linear + 1);
  if (c->kind == PASS_UNITS || c->kind == PASS_MIXED) {
    make_persons(records, c);
  }
  measure(records, &model, c, work_of(c));
}

/* ---- models of the papers ---- */

static void bench_analytic(const char *name, tacit_model_t *model, size_t n, size_t n_theta, pass_kind_t kind,
                           bench_work_t work) {
  pass_case_t c = {.name = name, .n_theta = n_theta, .n_threads = 1, .kind = kind};
  work.flops *= (double)n_theta;
  work.divisions *= (double)n_theta;
  work.bytes = 4 * ((double)model->records.n_columns + 1) + (kind == PASS_STEP ? 16 * (double)n_theta : 0);
  measure(make_records(n, model->records.n_columns, 0), &model->records, &c, work);
}

static void bench_paper_models(void) {
  tacit_error_t err;
  tacit_model_t banana, mean, mixture;
  double ones[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, prior_var[2] = {10, 1};
  bench_require(tacit_model_init_banana(&banana, 2, 1, 0, 0, 1, ones, &err), &err);
  bench_require(tacit_model_init_gaussian_mean(&mean, 10, ones, 1, &err), &err);
  bench_require(tacit_model_init_mixture(&mixture, 2, prior_var, &err), &err);
  /* A gradient: 2 operations a coordinate; its integers: 3 for the norm, 4 for weight, conversion and sum. */
  bench_analytic("banana gradient", &banana, 100000, 4, PASS_GRADIENT, (bench_work_t){0, 2 * 9 + 2, 0});
  bench_analytic("gaussian mean gradient", &mean, 100000, 4, PASS_GRADIENT, (bench_work_t){0, 10 * 9, 0});
  bench_analytic("mixture gradient", &mixture, 50000, 4, PASS_GRADIENT,
                 (bench_work_t){0, 2 * 7 + EXP_FLOPS + 14, 1});
  /* Both ends in double, 3 operations a coordinate, then about 10 for the grid. */
  bench_analytic("banana log ratio", &banana, 100000, 4, PASS_RATIO,
                 (bench_work_t){0, 2 * (2 * 4 * 2 + 14), 0});
  bench_analytic("gaussian mean log ratio", &mean, 100000, 4, PASS_RATIO,
                 (bench_work_t){0, 2 * (2 * 4 * 10 + 14), 0});
  bench_analytic("mixture log ratio", &mixture, 50000, 1, PASS_RATIO,
                 (bench_work_t){0, 2 * (DOUBLE_LOG1P_EXP_FLOPS + 2 * 10 + 14), 4});
  bench_analytic("mixture log ratio, one end kept", &mixture, 50000, 1, PASS_STEP,
                 (bench_work_t){0, DOUBLE_LOG1P_EXP_FLOPS + 2 * 10 + 2 * 10, 2});
  tacit_model_clear(&banana);
  tacit_model_clear(&mean);
  tacit_model_clear(&mixture);
}

/* Cost of the logistic gradient against records, parameters, chains and threads. */
static void bench_scaling(void) {
  static const size_t points[][4] = {
      {1000, 10, 1, 1},     {10000, 10, 1, 1},    {100000, 10, 1, 1}, {1000000, 10, 1, 1},
      {10000000, 10, 1, 1}, /* n */
      {10000, 2, 1, 1},     {10000, 20, 1, 1},    {10000, 50, 1, 1},  {10000, 100, 1, 1},
      {10000, 200, 1, 1}, /* d */
      {4000, 500, 1, 1},    {4000, 1000, 1, 1},   {1000000, 2, 1, 1}, {1000000, 50, 1, 1},
      {200000, 200, 1, 1},  {100000, 1000, 1, 1}, {10000, 10, 2, 1},  {10000, 10, 4, 1},
      {10000, 10, 8, 1},    {10000, 10, 16, 1}, /* K */
      {10000, 50, 2, 1},    {10000, 50, 4, 1},    {10000, 50, 8, 1},  {10000, 50, 16, 1},
      {1000000, 50, 4, 1},  {1000000, 50, 16, 1}, {200000, 50, 4, 2}, {200000, 50, 4, 1}}; /* threads */
  for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
    const size_t *at = points[i];
    bench_linear(&(pass_case_t){"logistic gradient", TACIT_FAMILY_BERNOULLI, at[0], at[1], 1, at[2], at[3],
                                PASS_GRADIENT});
  }
}

/* bench_kernels --scaling, or bench_kernels [TEXT]: only the linear models whose name contains it. */
int main(int argc, char **argv) {
  const tacit_family_t logistic = TACIT_FAMILY_BERNOULLI;
  const pass_case_t cases[] = {
      {"logistic gradient", logistic, 1000000, 50, 1, 1, 1, PASS_GRADIENT},
      {"logistic gradient", logistic, 1000000, 50, 1, 4, 1, PASS_GRADIENT},
      {"logistic gradient", logistic, 1000000, 50, 1, 4, 2, PASS_GRADIENT},
      {"logistic gradient", logistic, 100000, 10, 1, 1, 1, PASS_GRADIENT},
      {"logistic gradient", logistic, 100000, 10, 1, 4, 1, PASS_GRADIENT},
      {"softmax gradient, 5 classes", TACIT_FAMILY_CATEGORICAL, 200000, 20, 4, 1, 1, PASS_GRADIENT},
      {"poisson gradient", TACIT_FAMILY_POISSON, 200000, 20, 1, 1, 1, PASS_GRADIENT},
      {"linear gradient", TACIT_FAMILY_GAUSSIAN, 200000, 20, 1, 1, 1, PASS_GRADIENT},
      {"logistic gradient, persons of 4 rows", logistic, 100000, 10, 1, 1, 1, PASS_UNITS},
      {"logistic gradient, persons of 1 to 8 rows", logistic, 100000, 10, 1, 1, 1, PASS_MIXED},
      {"logistic gradient, persons of 1 to 8 rows", logistic, 100000, 10, 1, 4, 1, PASS_MIXED},
      {"logistic gradient, persons of 1 to 8 rows", logistic, 100000, 50, 1, 1, 1, PASS_MIXED},
      {"logistic log ratio", logistic, 100000, 10, 1, 1, 1, PASS_RATIO},
      {"logistic log ratio, one end kept", logistic, 100000, 10, 1, 1, 1, PASS_STEP},
      {"logistic log ratio", logistic, 1000000, 50, 1, 4, 1, PASS_RATIO},
      {"softmax log ratio, 5 classes", TACIT_FAMILY_CATEGORICAL, 100000, 10, 4, 1, 1, PASS_RATIO},
      {"poisson log ratio", TACIT_FAMILY_POISSON, 100000, 10, 1, 1, 1, PASS_RATIO},
      {"linear log ratio", TACIT_FAMILY_GAUSSIAN, 100000, 10, 1, 1, 1, PASS_RATIO},
      {"norms of the records", logistic, 1000000, 10, 1, 1, 1, PASS_NORMS},
      {"norms of the records", logistic, 1000000, 10, 1, 1, 2, PASS_NORMS},
  };
  bench_begin();
  if (argc > 1 && strcmp(argv[1], "--scaling") == 0) {
    bench_scaling();
    bench_end();
    return 0;
  }
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    if (argc < 2 || strstr(cases[i].name, argv[1]) != NULL) {
      bench_linear(&cases[i]);
    }
  }
  if (argc < 2) {
    bench_paper_models();
  }
  bench_end();
  return 0;
}
