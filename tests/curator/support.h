/* Data sets and models the curator's tests share. */
#ifndef TACIT_CURATOR_SUPPORT_H
#define TACIT_CURATOR_SUPPORT_H

#include "curator/curator_internal.h"
#include "door/door_internal.h"
#include "formula/glm_kernel.h"
#include "testing.h"

/* SplitMix64: repeatable test inputs, unrelated to the library's generators. */
typedef struct support_rng {
  uint64_t state;
} support_rng_t;

static inline uint64_t support_bits(support_rng_t *rng) {
  uint64_t z = (rng->state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

static inline double support_uniform(support_rng_t *rng, double lower, double upper) {
  return lower + (upper - lower) * ((double)(support_bits(rng) >> 11) * 0x1p-53);
}

static inline double support_normal(support_rng_t *rng) {
  double u = support_uniform(rng, 1e-12, 1), v = support_uniform(rng, 0, 6.283185307179586);
  return sqrt(-2 * log(u)) * cos(v);
}

/* A linear record model over p features with a response in column p; *kernel must outlive it. */
static inline tacit_record_model_t support_glm(tacit_glm_kernel_t *kernel, tacit_family_t family, size_t p,
                                               size_t n_linear, size_t n_extra) {
  *kernel = (tacit_glm_kernel_t){family, p, n_linear, n_extra, n_extra == 0 ? 0.5 : 0, false};
  return (tacit_record_model_t){.name = "glm",
                                .dim = n_linear * p + n_extra,
                                .n_columns = p + 1,
                                .grad_bound = family == TACIT_FAMILY_BERNOULLI ? sqrt((double)p) : INFINITY,
                                .log_lik = tacit_glm_functions()->log_lik,
                                .log_lik_blocks = tacit_glm_functions()->log_lik_blocks,
                                .n_linear = n_linear,
                                .n_extra = n_extra,
                                .n_features = p,
                                .residual = tacit_glm_functions()->residual,
                                .residual_blocks = tacit_glm_functions()->residual_blocks,
                                .ctx = kernel};
}

/* A model whose gradient is the record itself, three numbers, and whose log-likelihood is theta_1 x_1. */
static inline void support_echo_grad(const void *ctx, const float *block, size_t n_theta, const float *theta,
                                     float *out) {
  (void)ctx;
  (void)theta;
  for (size_t i = 0; i < n_theta * 48; i++) {
    out[i] = block[i % 48];
  }
}

static inline void support_echo_log_lik(const void *ctx, const float *block, size_t n_theta,
                                        const double *theta, double *out) {
  (void)ctx;
  for (size_t i = 0; i < n_theta * 16; i++) {
    out[i] = theta[i / 16 * 3] * (double)block[i % 16];
  }
}

static inline tacit_record_model_t support_echo(void) {
  return (tacit_record_model_t){.name = "echo",
                                .dim = 3,
                                .n_columns = 3,
                                .grad_bound = INFINITY,
                                .log_lik = support_echo_log_lik,
                                .grad = support_echo_grad};
}

/* What decides on a Langevin pair, secret; false if public facts reject it. */
static inline bool support_langevin(tacit_curator_t *curator, const tacit_accept_rule_t *rule,
                                    const tacit_langevin_pairs_t *pairs, size_t k, tacit_wide_t *value) {
  tacit_error_t err;
  tacit_langevin_work_t work;
  tacit_door_product_t product;
  assert_ok(tacit_curator_reserve(curator, 2, &err), err);
  double *workspace = calloc(TACIT_LANGEVIN_WORKSPACE * curator->model->dim, sizeof *workspace);
  bool is_near = tacit_langevin_product(curator, rule, pairs, k, workspace, &work, &product);
  *value = 0;
  if (is_near) {
    assert_ok(tacit_door_product_sum(curator->door, &product, value, &err), err);
    *value += tacit_log_ratio_units(work.correction);
  }
  free(workspace);
  return is_near;
}

/* n logistic records: features uniform on [-1, 1] but the first, which is 1; response from a coin. */
static inline tacit_records_t *support_logistic(size_t n, size_t p, uint64_t seed) {
  support_rng_t rng = {seed};
  tacit_error_t err;
  tacit_records_t *records;
  assert_ok(tacit_records_new(&records, n, p + 1, &err), err);
  double x[600];
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < p; j++) {
      x[j] = j == 0 ? 1 : support_uniform(&rng, -1, 1);
    }
    x[p] = support_uniform(&rng, 0, 1) < 0.3;
    tacit_records_set(records, i, x);
  }
  return records;
}

/* A curator of simulated records with a budget, for tests of what is charged and how noisy releases are. */
typedef struct fixture {
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model;
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_curator_t *curator;
} fixture_t;

/* f->model is set before. */
static inline void open_model(fixture_t *f, size_t n, size_t p, double epsilon, tacit_relation_t relation,
                              const tacit_curator_settings_t *settings) {
  tacit_error_t err;
  assert_ok(tacit_budget_new(&f->budget, epsilon, 1e-6, relation, &err), err);
  assert_ok(tacit_noise_new(&f->noise, &err), err);
  assert_ok(tacit_curator_new(&f->curator, support_logistic(n, p, 4), &f->model, f->budget, f->noise,
                              settings, &err),
            err);
}

static inline void open_private(fixture_t *f, size_t n, size_t p, double epsilon, tacit_relation_t relation,
                                const tacit_curator_settings_t *settings) {
  f->model = support_glm(&f->kernel, TACIT_FAMILY_BERNOULLI, p, 1, 0);
  open_model(f, n, p, epsilon, relation, settings);
}

static inline void close_private(fixture_t *f) {
  tacit_curator_free(f->curator);
  tacit_noise_free(f->noise);
  tacit_budget_free(f->budget);
}

#endif
