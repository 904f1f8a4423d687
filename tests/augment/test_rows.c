/*
 * Regressions with latent rows. Geweke's joint test [Geweke2004]: parameters, rows and release drawn forward
 * from prior, model and noise, by this file's own code, against a chain that alternates the release given the
 * rows with an iteration; then the posterior against the one without rows. Limits of the joint test: 6.5
 * standard errors of 60 batches, 88 comparisons, fewer than one false alarm in 1e6 runs. Errors planted to
 * see that these tests catch them: a proposal that is always accepted, sums that forget the clamp, a variance
 * drawn with n - 1, a slope that is drawn without its prior, u not renewed with the coefficients, a path that
 * leaves the rows behind, the prior of log sd taken for that of the variance.
 */
#include <string.h>

#include "augment/regression.h"
#include "tacit/diagnose.h"
#include "testing.h"

enum { MAX_Q = 9, MAX_N = 200, N_BATCHES = 60, FORWARD = 200000, N_FUNCTIONS = 11 };

typedef struct scene {
  tacit_latent_model_t model;
  tacit_release_t release;
  double values[MAX_Q], scales[MAX_Q];
  size_t d, q;
} scene_t;

static void set_scene(scene_t *s, bool is_logistic, size_t n, double noise) {
  *s = (scene_t){.d = is_logistic ? 1 : 2, .q = is_logistic ? 4 : 5};
  s->model = (tacit_latent_model_t){.kind = is_logistic ? TACIT_LATENT_LOGISTIC : TACIT_LATENT_REGRESSION,
                                    .n_records = n,
                                    .coefficient_scale = is_logistic ? 1.5 : 0.8,
                                    .feature_scale = 0.6,
                                    .variance_shape = 3,
                                    .variance_scale = 1,
                                    .n_features = 1};
  s->release = (tacit_release_t){.kind = is_logistic ? TACIT_RELEASE_SCORE : TACIT_RELEASE_PRODUCTS,
                                 .lower = -1,
                                 .upper = 1,
                                 .n_values = s->q,
                                 .values = s->values,
                                 .scales = s->scales};
  for (size_t k = 0; k < s->q; k++) {
    s->scales[k] = noise * (k % 2 == 0 ? 1 : 1.3);
  }
}

static bool is_logistic(const scene_t *s) { return s->model.kind == TACIT_LATENT_LOGISTIC; }

static double bound(double x) { return fmin(fmax(x, -1), 1); }

/* sums += what a row adds: x the feature, y the response. */
static void add_row(const scene_t *s, double x, double y, double *sums) {
  double z = bound(x), w = bound(y);
  if (is_logistic(s)) {
    const double t[] = {z, z * z, y - 0.5, (y - 0.5) * z};
    for (size_t k = 0; k < 4; k++) {
      sums[k] += t[k];
    }
    return;
  }
  const double t[] = {z, w, z * z, z * w, w * w};
  for (size_t k = 0; k < 5; k++) {
    sums[k] += t[k];
  }
}

static double inverse_gamma_sd(const scene_t *s, tacit_rng_t *rng) { /* of a whole shape */
  double gamma = 0;
  for (double k = 0; k < s->model.variance_shape; k++) {
    gamma -= log(tacit_rng_uniform(rng));
  }
  return sqrt(s->model.variance_scale / gamma);
}

/* theta: feature's mean, feature's log sd, intercept, slope, and log sd of a linear regression. */
static void forward(const scene_t *s, tacit_rng_t *rng, double *theta, double *sums) {
  double features = is_logistic(s) ? s->model.feature_scale : s->model.coefficient_scale;
  theta[0] = features * tacit_rng_normal(rng);
  theta[1] = log(inverse_gamma_sd(s, rng));
  theta[2] = s->model.coefficient_scale * tacit_rng_normal(rng);
  theta[3] = s->model.coefficient_scale * tacit_rng_normal(rng);
  theta[4] = is_logistic(s) ? 0 : log(inverse_gamma_sd(s, rng));
  memset(sums, 0, MAX_Q * sizeof *sums);
  for (size_t i = 0; i < s->model.n_records; i++) {
    double x = theta[0] + exp(theta[1]) * tacit_rng_normal(rng), mean = theta[2] + theta[3] * x;
    double y = is_logistic(s) ? tacit_rng_uniform(rng) < 1 / (1 + exp(-mean))
                              : mean + exp(theta[4]) * tacit_rng_normal(rng);
    add_row(s, x, y, sums);
  }
}

/* The chain's parameters, in its own order, and sums of its rows. */
static void read_chain(const scene_t *s, const tacit_chain_t *chain, double *theta, double *sums) {
  memcpy(theta, chain->regression->at, s->q * sizeof *theta);
  theta[4] = is_logistic(s) ? 0 : theta[4];
  memset(sums, 0, MAX_Q * sizeof *sums);
  for (size_t i = 0; i < chain->n; i++) {
    const double *x = chain->rows->x + i * s->d;
    add_row(s, x[0], is_logistic(s) ? chain->rows->y[i] : x[1], sums);
  }
}

static void add_noise(const scene_t *s, const double *sums, double *values, tacit_rng_t *rng) {
  for (size_t k = 0; k < s->q; k++) {
    values[k] = sums[k] + s->scales[k] * sqrt(-2 * log(tacit_rng_uniform(rng))) *
                              cos(6.283185307179586 * tacit_rng_uniform(rng));
  }
}

/* Bounded functions of parameters, sums and release. */
static void functions(const scene_t *s, const double *theta, const double *sums, const double *values,
                      double *f) {
  double n = (double)s->model.n_records, e = (values[2] - sums[2]) / s->scales[2];
  for (size_t k = 0; k < 5; k++) {
    f[k] = tanh(theta[k]);
  }
  f[5] = tanh(e);
  f[6] = tanh(e * e);
  f[7] = tanh(theta[3]) * tanh(3 * values[3] / n);
  f[8] = tanh(3 * sums[3] / n);
  f[9] = tanh(sums[2] / n) * tanh(theta[1]);
  f[10] = tanh(theta[2]) * tanh(3 * sums[is_logistic(s) ? 2 : 1] / n);
}

static void joint_test(const scene_t *s, bool interweave, uint64_t seed, size_t batch) {
  double direct[N_FUNCTIONS] = {0}, direct2[N_FUNCTIONS] = {0}, mean[N_FUNCTIONS] = {0},
         mean2[N_FUNCTIONS] = {0};
  double theta[MAX_Q], sums[MAX_Q], values[MAX_Q], f[N_FUNCTIONS];
  tacit_augment_settings_t settings = tacit_augment_settings_default();
  tacit_chain_t chain;
  tacit_error_t err;
  tacit_rng_t *rng;
  settings.method = TACIT_AUGMENT_GIBBS;
  settings.interweave = interweave;
  tacit_rng_key_from_seed(settings.key, seed);
  assert_ok(tacit_rng_new(&rng, settings.key, 1000, &err), err);
  for (size_t i = 0; i < FORWARD; i++) {
    forward(s, rng, theta, sums);
    add_noise(s, sums, values, rng);
    functions(s, theta, sums, values, f);
    for (size_t k = 0; k < N_FUNCTIONS; k++) {
      direct[k] += f[k] / FORWARD;
      direct2[k] += f[k] * f[k] / FORWARD;
    }
  }
  assert_ok(tacit_chain_init(&chain, &s->model, &s->release, &settings, 0, &err), err);
  tacit_chain_start(&chain);
  batch = (size_t)((double)batch * testing_multiplier());
  for (size_t b = 0; b < N_BATCHES + 1; b++) { /* the first is warm-up */
    double sum[N_FUNCTIONS] = {0};
    for (size_t i = 0; i < batch; i++) {
      read_chain(s, &chain, theta, sums);
      add_noise(s, sums, chain.values, rng);
      functions(s, theta, sums, chain.values, f);
      tacit_chain_refresh(&chain);
      tacit_chain_step(&chain);
      for (size_t k = 0; k < N_FUNCTIONS; k++) {
        sum[k] += f[k] / (double)batch;
      }
    }
    for (size_t k = 0; b > 0 && k < N_FUNCTIONS; k++) {
      mean[k] += sum[k] / N_BATCHES;
      mean2[k] += sum[k] * sum[k] / N_BATCHES;
    }
  }
  for (size_t k = 0; k < N_FUNCTIONS; k++) {
    double error = sqrt((direct2[k] - direct[k] * direct[k]) / FORWARD +
                        (mean2[k] - mean[k] * mean[k]) / (N_BATCHES - 1));
    if (!(fabs(mean[k] - direct[k]) <= 6.5 * error + 1e-12)) {
      fail_msg("%s, function %zu: chain %.5f, forward %.5f, standard error %.2g",
               is_logistic(s) ? "logistic" : "linear", k, mean[k], direct[k], error);
    }
  }
  tacit_chain_clear(&chain);
  tacit_rng_free(rng);
}

static void test_joint_distribution_of_a_linear_regression(void **state) {
  (void)state;
  scene_t s;
  set_scene(&s, false, 5, 0.5);
  joint_test(&s, true, 1, 2500);
  joint_test(&s, false, 2, 8000);
}

static void test_joint_distribution_of_a_logistic_regression(void **state) {
  (void)state;
  scene_t s;
  set_scene(&s, true, 5, 0.5);
  joint_test(&s, true, 3, 2500);
  joint_test(&s, false, 4, 6000);
}

/* ---- with rows and without ---- */

static void summarise(const scene_t *s, tacit_augment_method_t method, double *mean, double *sd, double *se) {
  tacit_augment_settings_t settings = tacit_augment_settings_default();
  tacit_augment_result_t result;
  tacit_draws_t draws;
  tacit_error_t err;
  settings.method = method;
  settings.n_chains = 2;
  settings.n_warmup = 100;
  settings.n_draws = 1000;
  tacit_rng_key_from_seed(settings.key, 5);
  assert_ok(tacit_augment(&s->model, &s->release, &settings, &draws, &result, &err), err);
  assert_true(result.is_exact == (method == TACIT_AUGMENT_GIBBS));
  for (size_t j = 0; j < draws.n_reported; j++) {
    tacit_summary_t summary;
    assert_ok(tacit_draws_summarise(&draws, j, &summary, &err), err);
    mean[j] = summary.mean;
    sd[j] = summary.sd;
    se[j] = summary.mcse_mean;
  }
  tacit_draws_clear(&draws);
}

/* Noise about as wide as what the records vary by; the error of the normal distribution of sums is far below
 * an sd at n = 200. */
static void test_rows_and_no_rows_agree(void **state) {
  (void)state;
  static const double linear[] = {0.1, -0.8, 0.2, 0.5, -1.2}, logistic[] = {0.1, -0.8, -0.4, 1.2, 0};
  for (int kind = 0; kind < 2; kind++) {
    scene_t s;
    tacit_rng_t *rng;
    tacit_error_t err;
    unsigned char key[32];
    double sums[MAX_Q] = {0}, mean[2][MAX_Q], sd[2][MAX_Q], se[2][MAX_Q];
    const double *theta = kind == 0 ? linear : logistic;
    set_scene(&s, kind == 1, MAX_N, 4);
    tacit_rng_key_from_seed(key, 6);
    assert_ok(tacit_rng_new(&rng, key, 0, &err), err);
    for (size_t i = 0; i < MAX_N; i++) {
      double x = theta[0] + exp(theta[1]) * tacit_rng_normal(rng), eta = theta[2] + theta[3] * x;
      add_row(&s, x,
              kind == 1 ? tacit_rng_uniform(rng) < 1 / (1 + exp(-eta))
                        : eta + exp(theta[4]) * tacit_rng_normal(rng),
              sums);
    }
    add_noise(&s, sums, s.values, rng);
    tacit_rng_free(rng);
    summarise(&s, TACIT_AUGMENT_GIBBS, mean[0], sd[0], se[0]);
    summarise(&s, TACIT_AUGMENT_MARGINAL, mean[1], sd[1], se[1]);
    for (size_t j = 0; j < tacit_latent_n_reported(&s.model); j++) {
      assert_close(mean[0][j], mean[1][j], 6 * hypot(se[0][j], se[1][j]) + 0.1 * sd[1][j]);
      assert_close(sd[0][j] / sd[1][j], 1, 0.25);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_joint_distribution_of_a_linear_regression),
      cmocka_unit_test(test_joint_distribution_of_a_logistic_regression),
      cmocka_unit_test(test_rows_and_no_rows_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
