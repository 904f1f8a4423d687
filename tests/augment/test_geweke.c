/*
 * Geweke's joint distribution test [Geweke2004]: (theta, x, y) drawn forward from prior, model and noise,
 * against a chain that alternates y given x (by this file's own clamp and noise) with one iteration of a
 * kernel. Any error in the kernel moves the chain's distribution of (theta, x, y). Means of bounded functions
 * are compared; limits of 6 standard errors, with chains of batches of independent length, raise fewer than
 * one false alarm in 1e6 runs of this file.
 */
#include "support.h"

enum { N_FUNCTIONS = 8, N_BATCHES = 60, FORWARD = 200000 };

typedef struct state {
  double theta[5]; /* as reported */
  double statistic[6], value[6];
} state_t;

/* Bounded functions of the state: smooth steps, so that heavy tails of priors do no harm. */
static void functions(const scenario_t *s, const state_t *at, double *f) {
  double e = at->value[0] - at->statistic[0], scale = s->scales[0], n = (double)s->model.n_records;
  double a = at->theta[0], b = at->theta[s->model.kind == TACIT_LATENT_CATEGORICAL ? 2 : 1];
  f[0] = tanh(a);
  f[1] = tanh(a * a);
  f[2] = tanh(2 * b - 1);
  f[3] = tanh(e / scale);
  f[4] = tanh(e * e / (scale * scale));
  f[5] = tanh(at->statistic[0] / n);
  f[6] = tanh(a) * tanh(at->value[0] / n);
  f[7] = tanh(a) * tanh(e / scale);
}

static double test_gamma(tacit_rng_t *rng,
                         double shape) { /* integer and half-integer shapes: sums of exponentials */
  double sum = 0, z = tacit_rng_normal(rng);
  for (; shape >= 1; shape -= 1) {
    sum -= log(tacit_rng_uniform(rng));
  }
  return sum + (shape > 0 ? 0.5 * z * z : 0);
}

static double test_poisson(tacit_rng_t *rng, double rate) {
  double k = 0, sum = -log(tacit_rng_uniform(rng));
  for (; sum < rate; k++) {
    sum -= log(tacit_rng_uniform(rng));
  }
  return k;
}

static void add_statistic(const scenario_t *s, double x, double *statistic) {
  double c = test_clamp(&s->release, x);
  c = s->release.step > 0 ? s->release.step * floor(c / s->release.step + 0.5) : c;
  statistic[0] += c;
  statistic[1] += c * c;
}

static void add_noise(const scenario_t *s, state_t *at, tacit_rng_t *rng) {
  for (size_t j = 0; j < s->release.n_values; j++) {
    at->value[j] = at->statistic[j] + test_noise(&s->release, j, rng);
  }
}

static void forward_table(const scenario_t *s, state_t *at, tacit_rng_t *rng) {
  double total[2] = {0};
  for (size_t j = 0; j < 5; j++) {
    at->theta[j] = test_gamma(rng, s->concentration[j]);
    total[j < 2 ? 0 : 1] += at->theta[j];
  }
  for (size_t j = 0; j < 5; j++) {
    at->theta[j] /= total[j < 2 ? 0 : 1];
  }
  for (size_t i = 0; i < s->model.n_records; i++) {
    double u = tacit_rng_uniform(rng), v = tacit_rng_uniform(rng);
    size_t row = u < at->theta[0] ? 0 : 1;
    size_t column = v < at->theta[2] ? 0 : v < at->theta[2] + at->theta[3] ? 1 : 2;
    at->statistic[row * 3 + column] += 1;
  }
}

static void forward(const scenario_t *s, state_t *at, tacit_rng_t *rng) {
  const tacit_latent_model_t *m = &s->model;
  *at = (state_t){.theta = {0}};
  if (m->kind == TACIT_LATENT_CATEGORICAL) {
    forward_table(s, at, rng);
  } else if (m->kind == TACIT_LATENT_POISSON) {
    at->theta[0] = test_gamma(rng, m->rate_shape) / m->rate_rate;
  } else {
    at->theta[0] = m->mean_location + m->mean_scale * tacit_rng_normal(rng);
    at->theta[1] =
        m->known_sd > 0 ? m->known_sd : sqrt(m->variance_scale / test_gamma(rng, m->variance_shape));
  }
  for (size_t i = 0; m->kind != TACIT_LATENT_CATEGORICAL && i < m->n_records; i++) {
    bool is_poisson = m->kind == TACIT_LATENT_POISSON;
    add_statistic(
        s, is_poisson ? test_poisson(rng, at->theta[0]) : at->theta[0] + at->theta[1] * tacit_rng_normal(rng),
        at->statistic);
  }
  add_noise(s, at, rng);
}

/* The state of a chain, its statistic computed here from the chain's records. */
static void read_chain(const scenario_t *s, const tacit_chain_t *chain, state_t *at) {
  *at = (state_t){.theta = {0}};
  tacit_chain_report(chain, at->theta);
  at->theta[1] = s->model.kind == TACIT_LATENT_GAUSSIAN ? chain->sd : at->theta[1];
  for (size_t i = 0; i < chain->n; i++) {
    if (s->model.kind == TACIT_LATENT_GAUSSIAN) {
      add_statistic(s, chain->records[i], at->statistic);
    } else if (s->model.kind == TACIT_LATENT_POISSON) {
      add_statistic(s, (double)chain->levels[i], at->statistic);
    } else if (chain->levels != NULL) {
      at->statistic[chain->levels[i]] += 1;
    }
  }
  for (size_t c = 0; chain->method == TACIT_AUGMENT_MARGINAL && c < chain->n_cells; c++) {
    at->statistic[c] = chain->counts[c];
  }
}

static void joint_test(const scenario_t *s, tacit_augment_settings_t settings, size_t batch,
                       const char *what) {
  double direct[N_FUNCTIONS] = {0}, direct2[N_FUNCTIONS] = {0}, mean[N_FUNCTIONS] = {0},
         mean2[N_FUNCTIONS] = {0};
  tacit_chain_t chain;
  tacit_error_t err;
  tacit_rng_t *rng;
  state_t at;
  assert_ok(tacit_rng_new(&rng, settings.key, 1000, &err), err);
  for (size_t i = 0; i < FORWARD; i++) {
    double f[N_FUNCTIONS];
    forward(s, &at, rng);
    functions(s, &at, f);
    for (size_t k = 0; k < N_FUNCTIONS; k++) {
      direct[k] += f[k] / FORWARD;
      direct2[k] += f[k] * f[k] / FORWARD;
    }
  }
  settings.n_warmup = 0;
  assert_ok(tacit_chain_init(&chain, &s->model, &s->release, &settings, 0, &err), err);
  tacit_chain_start(&chain);
  batch = (size_t)((double)batch * testing_multiplier());
  for (size_t b = 0; b < N_BATCHES + 1; b++) { /* the first is warm-up */
    double sum[N_FUNCTIONS] = {0}, f[N_FUNCTIONS];
    for (size_t i = 0; i < batch; i++) {
      read_chain(s, &chain, &at);
      add_noise(s, &at, rng);
      for (size_t j = 0; j < s->release.n_values; j++) {
        chain.values[j] = at.value[j] / chain.unit;
      }
      tacit_chain_refresh(&chain);
      functions(s, &at, f); /* theta, x and the y drawn from that x */
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
    /* 6.5: Student's t with 59 degrees of freedom has heavier tails than the normal */
    if (!(fabs(mean[k] - direct[k]) <= 6.5 * error + 1e-12)) {
      fail_msg("%s, function %zu: chain %.5f, forward %.5f, standard error %.2g", what, k, mean[k], direct[k],
               error);
    }
  }
  tacit_chain_clear(&chain);
  tacit_rng_free(rng);
}

static tacit_augment_settings_t kernel(tacit_augment_method_t method, bool interweave,
                                       tacit_augment_path_t path, uint64_t seed) {
  tacit_augment_settings_t s = settings_for(method, 1, seed);
  s.interweave = interweave;
  s.path = path;
  s.step_size = method == TACIT_AUGMENT_HMC ? 0.6 : 0; /* long enough for rejections to matter */
  return s;
}

static void all_kernels(const scenario_t *s, uint64_t seed, size_t batch) {
  joint_test(s, kernel(TACIT_AUGMENT_GIBBS, false, TACIT_PATH_JOINT, seed), 2 * batch, "gibbs, plain");
  joint_test(s, kernel(TACIT_AUGMENT_GIBBS, true, TACIT_PATH_JOINT, seed + 1), batch, "gibbs");
  joint_test(s, kernel(TACIT_AUGMENT_HMC, true, TACIT_PATH_COLLECTIVE, seed + 2), batch, "hmc, collective");
  joint_test(s, kernel(TACIT_AUGMENT_HMC, true, TACIT_PATH_JOINT, seed + 3), batch, "hmc, joint");
}

static void test_gaussian_known_sd(void **state) {
  (void)state;
  scenario_t s;
  scenario_gaussian(&s, 5, 0.9, TACIT_RELEASE_GAUSSIAN, 1.1, 1);
  all_kernels(&s, 1, 12000);
  scenario_gaussian(&s, 7, 0.9, TACIT_RELEASE_LAPLACE, 0.9, 1);
  all_kernels(&s, 11, 12000);
}

static void test_gaussian_unknown_sd(void **state) {
  (void)state;
  scenario_t s;
  scenario_gaussian(&s, 5, 0, TACIT_RELEASE_GAUSSIAN, 1.1, 1);
  all_kernels(&s, 21, 8000);
  scenario_moments(&s, 6, TACIT_RELEASE_LAPLACE, 1.2, 1, 4);
  all_kernels(&s, 31, 8000);
}

static void test_lattice(void **state) {
  (void)state;
  scenario_t s;
  scenario_gaussian(&s, 5, 0.9, TACIT_RELEASE_DISCRETE_GAUSSIAN, 1.1, 1);
  s.release.step = 0.25;
  joint_test(&s, kernel(TACIT_AUGMENT_GIBBS, true, TACIT_PATH_JOINT, 41), 4000, "gibbs, lattice");
}

static void test_discrete(void **state) {
  (void)state;
  static const double counts[6] = {1, 1, 1, 1, 1, 0};
  scenario_t s;
  scenario_poisson(&s, 5, TACIT_RELEASE_DISCRETE_LAPLACE, 1.5, 10);
  joint_test(&s, kernel(TACIT_AUGMENT_GIBBS, true, TACIT_PATH_JOINT, 51), 8000, "gibbs, poisson");
  scenario_table(&s, 5, TACIT_RELEASE_GAUSSIAN, 0.8, counts);
  for (size_t j = 0; j < 5; j++) {
    s.concentration[j] = 0.5 * (double)(j + 1);
  }
  joint_test(&s, kernel(TACIT_AUGMENT_GIBBS, true, TACIT_PATH_JOINT, 61), 8000, "gibbs, table");
  joint_test(&s, kernel(TACIT_AUGMENT_MARGINAL, true, TACIT_PATH_JOINT, 71), 8000, "counts, table");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_gaussian_known_sd),
                                     cmocka_unit_test(test_gaussian_unknown_sd),
                                     cmocka_unit_test(test_lattice), cmocka_unit_test(test_discrete)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
