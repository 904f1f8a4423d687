/*
 * What samplers ask of the curator: minibatch passes, decisions, whole iterations, and the share of an
 * iteration that is spent in passes over the records. Prints rows of JSON (harness.h).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "curator/curator_internal.h"
#include "data/records.h"
#include "door/door_internal.h"
#include "formula/glm_kernel.h"
#include "harness.h"
#include "models/models.h"
#include "tacit/sample.h"

typedef struct box {
  tacit_model_t model;
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_curator_t *curator;
  double *theta, *theta_prop, *out;
  double rate;
  size_t n_iterations;
} box_t;

static double *zeros(size_t n) {
  tacit_error_t err;
  double *x = calloc(n, sizeof *x);
  if (x == NULL) {
    bench_require(tacit_error_memory(&err), &err);
  }
  return x;
}

/* Approximately normal records: sums of four uniforms. */
static tacit_records_t *make_records(size_t n, size_t n_columns, bool is_regression) {
  tacit_records_t *records;
  tacit_error_t err;
  uint64_t state = 7;
  bench_require(tacit_records_new(&records, n, n_columns, &err), &err);
  double *x = zeros(n_columns);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < n_columns; j++) {
      double u = bench_uniform(&state), normal = 0;
      for (int k = 0; k < 4; k++) {
        normal += sqrt(3) * (bench_uniform(&state) - 0.5);
      }
      x[j] = !is_regression ? normal : j + 1 == n_columns ? u < 0.3 : j == 0 ? 1 : 2 * u - 1;
    }
    tacit_records_set(records, i, x);
  }
  free(x);
  return records;
}

static tacit_model_t logistic(size_t p) {
  static tacit_glm_kernel_t kernel;
  kernel = (tacit_glm_kernel_t){TACIT_FAMILY_BERNOULLI, p, 1, 0, 0, false};
  tacit_model_t model = {0};
  model.records = (tacit_record_model_t){.name = "glm",
                                         .dim = p,
                                         .n_columns = p + 1,
                                         .grad_bound = sqrt((double)p),
                                         .is_softmax = true,
                                         .log_lik = tacit_glm_functions()->log_lik,
                                         .log_lik_blocks = tacit_glm_functions()->log_lik_blocks,
                                         .n_linear = 1,
                                         .n_features = p,
                                         .residual = tacit_glm_functions()->residual,
                                         .residual_blocks = tacit_glm_functions()->residual_blocks,
                                         .ctx = &kernel};
  return model;
}

static void open_box(box_t *box, tacit_records_t *records, double clip, bool is_exposed, size_t n_threads) {
  tacit_error_t err;
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.clip_bound_grad = settings.clip_bound_ratio = clip;
  settings.n_threads = n_threads;
  bench_require(tacit_noise_new_seeded_not_private(&box->noise, 5, &err), &err);
  bench_require(tacit_budget_new(&box->budget, 1e15, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), &err);
  settings.subset_noise = is_exposed ? box->noise : NULL;
  if (is_exposed) {
    bench_require(tacit_curator_new_exposed(&box->curator, records, &box->model.records, &settings, &err),
                  &err);
  } else {
    bench_require(tacit_curator_new(&box->curator, records, &box->model.records, box->budget, box->noise,
                                    &settings, &err),
                  &err);
  }
  box->theta = zeros(16 * box->model.records.dim);
  box->theta_prop = zeros(16 * box->model.records.dim);
  box->out = zeros(16 * box->model.records.dim);
}

static void close_box(box_t *box) {
  tacit_curator_free(box->curator);
  tacit_noise_free(box->noise);
  tacit_budget_free(box->budget);
  free(box->theta);
  free(box->theta_prop);
  free(box->out);
  if (box->model.free != NULL) {
    tacit_model_clear(&box->model);
  }
}

static bench_time_t measure(box_t *box, bench_call call, size_t n_threads) {
  const tacit_records_t *records = box->curator->door->records;
  size_t n_bytes = tacit_records_n_blocks(records) * 64 * tacit_records_n_columns(records);
  return bench_measure(call, box, tacit_records_block(records, 0), n_bytes, n_threads);
}

/* ---- minibatch gradients ---- */

static void sampled_gradient(void *user) {
  box_t *box = user;
  tacit_error_t err;
  bench_require(
      tacit_curator_release_sampled_gradient(box->curator, 1, box->theta, box->rate, 1, box->out, &err),
      &err);
}

/* One record of sixteen is drawn from a block now and then, so that each of its columns costs a line of 64
 * bytes. */
static void bench_minibatch(size_t n, size_t p) {
  box_t box = {.model = logistic(p), .rate = tacit_curator_sampling_rate(0.01)};
  open_box(&box, make_records(n, p + 1, true), 1, true, 1);
  bench_work_t work = {64 * ((double)p + 2), 5 * (double)p + 40, 1};
  char name[96];
  snprintf(name, sizeof name, "minibatch gradient, q=0.01 n=%zu d=%zu", n, p);
  bench_print_time(name, "ns/drawn record", 0.01 * (double)n, work, measure(&box, sampled_gradient, 1), 0);
  close_box(&box);
}

/* ---- decisions by minibatch: TunaMH ---- */

enum { N_DECISIONS = 64 };

static void tuna_decisions(void *user) {
  box_t *box = user;
  tacit_minibatch_rule_t rule = {
      .max_bound = 0.0101, .intensity = 0.01, .n_public = 50000, .max_batch = 50000};
  double correction = 0;
  bool accepted;
  tacit_error_t err;
  tacit_accept_pairs_t pairs = {1, box->theta, box->theta_prop, &correction, &accepted};
  for (int i = 0; i < N_DECISIONS; i++) {
    bench_require(tacit_curator_release_minibatch_accept(box->curator, &rule, &pairs, &err), &err);
  }
}

static void bench_tuna(void) {
  const double prior_var[2] = {10, 1};
  box_t box = {0};
  tacit_error_t err;
  bench_require(tacit_model_init_mixture(&box.model, 2, prior_var, &err), &err);
  open_box(&box, make_records(50000, 1, false), 2, true, 1);
  box.theta_prop[0] = 0.005;
  bench_time_t time = measure(&box, tuna_decisions, 1);
  bench_print_value("dp-fast-mh, N=50000, batch of 1000: 4000 iterations", "s",
                    time.seconds / N_DECISIONS * 4000, 0, 0.1, true);
  /* A line of 64 bytes and a norm; both ends in double; a word for the place and one for the bit. */
  bench_work_t work = {128, 2 * 106, 4};
  bench_print_time("dp-fast-mh decision", "ns/candidate", 1000.0 * N_DECISIONS, work, time, 0);
  close_box(&box);
}

/* ---- decisions on Langevin proposals ---- */

static void langevin(void *user) {
  box_t *box = user;
  size_t dim = box->model.records.dim;
  tacit_accept_rule_t rule = {.kind = TACIT_ACCEPT_BARKER, .max_bound = 4};
  double metric[64], grad[64] = {0}, workspace[TACIT_LANGEVIN_WORKSPACE * 64], correction = 0;
  bool accepted;
  for (size_t j = 0; j < dim; j++) {
    metric[j] = 1;
  }
  tacit_langevin_pairs_t pairs = {
      {1, box->theta, box->theta_prop, &correction, &accepted}, grad, grad, metric, 0.1};
  tacit_langevin_work_t work;
  tacit_door_product_t product;
  tacit_wide_t log_ratio;
  tacit_error_t err;
  (void)tacit_langevin_product(box->curator, &rule, &pairs, 0, workspace, &work, &product);
  bench_require(tacit_door_product_sum(box->curator->door, &product, &log_ratio, &err), &err);
}

static void bench_langevin(size_t n, size_t p, size_t n_threads) {
  tacit_error_t err;
  box_t box = {.model = logistic(p)};
  open_box(&box, make_records(n, p + 1, true), 0, false, n_threads);
  bench_require(tacit_curator_reserve(box.curator, 3, &err), &err);
  for (size_t j = 0; j < p; j++) {
    box.theta_prop[j] = 0.02;
  }
  /* Two gradients, two log-likelihoods, then sums of changes in double: about 12 operations a coordinate. */
  double d = (double)p;
  bench_work_t work = {4 * (d + 2), 2 * (5 * d + 40) + 2 * (6 * d + 73) + 24 * d, 6};
  work.flops /= (double)n_threads;
  char name[96];
  snprintf(name, sizeof name, "langevin decision, n=%zu d=%zu%s", n, p, n_threads > 1 ? " 2 threads" : "");
  bench_print_time(name, "ns/record", (double)n, work, measure(&box, langevin, n_threads), 0);
  close_box(&box);
}

/* ---- whole runs ---- */

typedef struct setting {
  const char *name, *method;
  size_t n_records, n_chains, n_leapfrog, n_draws;
  double clip;
} setting_t;

typedef struct run {
  box_t box;
  const setting_t *setting;
  tacit_sampler_settings_t sampler;
} run_t;

static void sample(void *user) {
  run_t *run = user;
  tacit_draws_t draws;
  tacit_sample_end_t end;
  tacit_error_t err;
  bench_require(tacit_sample(tacit_method_find(run->setting->method), run->box.curator,
                             &run->box.model.parameters, &run->sampler, &draws, &end, &err),
                &err);
  tacit_draws_clear(&draws);
}

/* The passes over the records that `sample` makes, alone. */
static void passes(void *user) {
  run_t *run = user;
  tacit_curator_t *curator = run->box.curator;
  size_t n_chains = run->setting->n_chains, n_grad = run->setting->n_draws * run->setting->n_leapfrog;
  for (size_t i = 0; i < n_grad + (n_grad > 0); i++) {
    tacit_vectors_t vectors = tacit_gradient_vectors(curator, n_chains, 1);
    tacit_vectors_sum(curator->door, &vectors, SIZE_MAX);
  }
  for (size_t i = 0; i < run->setting->n_draws; i++) {
    for (size_t k = 0; k < n_chains; k++) {
      curator->pairs[(2 * k + 1) * curator->model->dim] += 0x1p-20; /* a proposal not seen before */
    }
    tacit_scalars_t scalars = tacit_ratio_scalars(curator, n_chains);
    tacit_scalars_sum(curator->door, &scalars);
  }
}

static void bench_run(const setting_t *setting, tacit_model_t model, double iterations, const char *name,
                      double target) {
  run_t run = {.box = {.model = model}, .setting = setting, .sampler = tacit_sampler_settings_default()};
  size_t dim = model.records.dim;
  open_box(&run.box, make_records(setting->n_records, model.records.n_columns, false), setting->clip, false,
           1);
  run.sampler.n_chains = setting->n_chains;
  run.sampler.n_warmup = 0;
  run.sampler.n_draws = setting->n_draws;
  run.sampler.n_leapfrog = setting->n_leapfrog;
  run.sampler.step_size = 1e-3;
  run.sampler.noise_multiplier_grad = run.sampler.noise_multiplier_ratio = 10;
  double inv_metric[16];
  for (size_t j = 0; j < dim; j++) {
    inv_metric[j] = 1;
  }
  run.sampler.inv_metric = inv_metric;
  bench_time_t all = measure(&run.box, sample, 1), alone = measure(&run.box, passes, 1);
  if (iterations > 0) {
    bench_print_value(name, "s", all.seconds * iterations / (double)setting->n_draws, 0, target, true);
  }
  char text[128];
  snprintf(text, sizeof text, "%s: share of time in passes", setting->name);
  bench_print_value(text, "", fmin(alone.seconds / all.seconds, 1), 1, 0.95, false);
  snprintf(text, sizeof text, "%s: iterations", setting->name);
  bench_print_value(text, "1/s", (double)setting->n_draws / all.seconds,
                    (double)setting->n_draws / alone.seconds, 0, false);
  close_box(&run.box);
}

static void bench_hamiltonian(void) {
  tacit_error_t err;
  tacit_model_t banana, mean;
  const double ones[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  bench_require(tacit_model_init_banana(&banana, 2, 1, 0, 0, 1, ones, &err), &err);
  bench_require(tacit_model_init_gaussian_mean(&mean, 10, ones, 1, &err), &err);
  bench_run(&(setting_t){"dp-hmc, banana n=100000 L=25 4 chains", "dp-hmc", 100000, 4, 25, 4, 4}, banana, 0,
            NULL, 0);
  bench_run(&(setting_t){"dp-hmc, gaussian d=10 n=100000 L=12 4 chains", "dp-hmc", 100000, 4, 12, 4, 4}, mean,
            0, NULL, 0);
}

static void bench_random_walk(void) {
  tacit_error_t err;
  tacit_model_t mixture;
  const double prior_var[2] = {10, 1};
  bench_require(tacit_model_init_mixture(&mixture, 2, prior_var, &err), &err);
  bench_run(&(setting_t){"dp-penalty, mixture N=50000", "dp-penalty", 50000, 1, 0, 200, 2}, mixture, 1e4,
            "dp-penalty, mixture N=50000: 10000 iterations", 1);
}

/* bench_passes --dp-hmc: only the runs that have peers (peers/dp_hmc_jax.py). */
int main(int argc, char **argv) {
  bench_begin();
  if (argc > 1 && strcmp(argv[1], "--dp-hmc") == 0) {
    bench_hamiltonian();
    bench_end();
    return 0;
  }
  bench_minibatch(1000000, 50);
  bench_minibatch(100000, 10);
  bench_tuna();
  bench_langevin(100000, 10, 1);
  bench_langevin(100000, 10, 2);
  bench_hamiltonian();
  bench_random_walk();
  bench_end();
  return 0;
}
