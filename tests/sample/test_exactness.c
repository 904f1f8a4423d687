/*
 * The invariant distribution of every sampler against closed-form posteriors: a Gaussian mean in d = 10 and
 * the banana in d = 2 (compared in the coordinates u in which it is Gaussian).
 *
 * Means, variances, all covariances and the distribution function at five points of each coordinate are
 * compared as z = (estimate - truth) / (batch-means standard error), pooled over chains; batch means make the
 * comparison account for autocorrelation. With 80 batches z is near Student's t with 79 degrees of freedom,
 * whose tail beyond 7.5 is 1e-10 (two-sided); some 2000 comparisons make a false alarm less likely than
 * 10^-6. Planted errors that it was seen to catch: a dropped and a halved penalty, a guided walk that never
 * turns, a rejected state that keeps the proposal's gradient, a last momentum step of the wrong length.
 */
#include <string.h>

#include "base/fault.h"
#include "curator/curator.h"
#include "data/records.h"
#include "formula/model.h"
#include "models/models.h"
#include "tacit/account.h"
#include "tacit/random.h"
#include "tacit/sample.h"
#include "testing.h"

enum { max_dim = 10 };

typedef struct target {
  tacit_model_t model;
  size_t dim, n;
  double obs_sd[max_dim], truth[max_dim]; /* of the data */
  double mean[max_dim], sd[max_dim];      /* of the posterior of u */
  double power;                           /* the likelihood is tempered to this power; 0 stands for 1 */
  double a;                               /* banana: u_2 = theta_2 + a theta_1^2; 0 for the Gaussian */
} target_t;

static double normal_quantile(double p) { /* bisection: the data need no more */
  double lower = -10, upper = 10;
  for (int i = 0; i < 80; i++) {
    double middle = (lower + upper) / 2;
    if (0.5 * erfc(-middle / sqrt(2)) < p) {
      lower = middle;
    } else {
      upper = middle;
    }
  }
  return (lower + upper) / 2;
}

/* Records whose coordinates are normal quantiles in different orders: exactly repeatable data. */
static tacit_records_t *make_records(const target_t *target) {
  tacit_error_t err;
  tacit_records_t *records;
  assert_ok(tacit_records_new(&records, target->n, target->dim, &err), err);
  for (size_t i = 0; i < target->n; i++) {
    double x[max_dim];
    for (size_t j = 0; j < target->dim; j++) {
      size_t rank = (i * (2 * j + 1) * 7919 + j * 31) % target->n;
      x[j] = target->truth[j] + target->obs_sd[j] * normal_quantile(((double)rank + 0.5) / (double)target->n);
    }
    tacit_records_set(records, i, x);
  }
  return records;
}

/* Conjugate posterior of u from the records as stored. */
static void set_posterior(target_t *target, double prior_var) {
  tacit_records_t *records = make_records(target);
  for (size_t j = 0; j < target->dim; j++) {
    double sum = 0;
    for (size_t i = 0; i < target->n; i++) {
      sum += (double)tacit_records_block(records, i / 16)[j * 16 + i % 16];
    }
    double power = target->power > 0 ? target->power : 1;
    double variance = target->obs_sd[j] * target->obs_sd[j] / power;
    double precision = 1 / prior_var + (double)target->n / variance;
    target->mean[j] = sum / variance / precision;
    target->sd[j] = 1 / sqrt(precision);
  }
  tacit_records_free(records);
}

static void init_gaussian(target_t *target) {
  *target = (target_t){.dim = 10, .n = 500};
  for (size_t j = 0; j < 10; j++) {
    target->obs_sd[j] = 0.5 + 0.3 * (double)j;
    target->truth[j] = 0.05 * (double)j - 0.2;
  }
  tacit_error_t err;
  assert_ok(tacit_model_init_gaussian_mean(&target->model, 10, target->obs_sd, 10, &err), err);
  set_posterior(target, 100);
}

static void init_banana(target_t *target, double power) {
  *target = (target_t){.dim = 2, .n = 500, .power = power, .a = 20, .obs_sd = {4.5, 5}, .truth = {0, 3}};
  double variance[2] = {4.5 * 4.5, 25};
  tacit_error_t err;
  assert_ok(tacit_model_init_banana(&target->model, 2, 20, 0, 0, 1000, variance, &err), err);
  set_posterior(target, 1000);
}

typedef struct options {
  const char *method;
  double noise_grad, noise_ratio, step_size, clip_grad, clip_ratio;
  size_t n_leapfrog, n_draws;
  tacit_proposal_t proposal;
  bool redraw_gradient, dense_metric, fixed_step;
} options_t;

static void run(const target_t *target, const options_t *options, uint64_t seed, tacit_draws_t *draws,
                double *accept_rate) {
  tacit_error_t err;
  const tacit_method_t *method = tacit_method_find(options->method);
  tacit_curator_settings_t limits = tacit_curator_settings_default();
  limits.temperature_power = target->power > 0 ? target->power : 1;
  tacit_curator_t *curator;
  tacit_budget_t *budget = NULL;
  tacit_noise_t *noise = NULL;
  if (method->is_private) {
    limits.clip_bound_grad = options->clip_grad;
    limits.clip_bound_ratio = options->clip_ratio;
    assert_ok(tacit_budget_new(&budget, 1e20, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), err);
    assert_ok(tacit_noise_new_seeded_not_private(&noise, seed, &err), err);
    assert_ok(tacit_curator_new(&curator, make_records(target), &target->model.records, budget, noise,
                                &limits, &err),
              err);
  } else {
    assert_ok(
        tacit_curator_new_exposed(&curator, make_records(target), &target->model.records, &limits, &err),
        err);
  }
  double metric[max_dim * max_dim] = {0}, init[2 * max_dim];
  size_t d = target->dim;
  for (size_t j = 0; j < d; j++) {
    double sd = target->sd[j];
    metric[options->dense_metric ? j * d + j : j] = sd * sd;
    init[j] = target->mean[j] + sd;
    init[d + j] = target->mean[j] - sd;
  }
  if (target->a > 0) { /* scale of theta_2 = u_2 - a u_1^2; start on the ridge */
    double s = target->sd[0], spread = sqrt(target->sd[1] * target->sd[1] + 2 * pow(20 * s * s, 2));
    metric[options->dense_metric ? d + 1 : 1] = spread * spread;
    init[1] -= 20 * init[0] * init[0];
    init[d + 1] -= 20 * init[d] * init[d];
  }
  if (options->dense_metric) { /* a correlation that is not there: the metric may be wrong, the distribution
                                  not */
    metric[1] = metric[d] = 0.3 * sqrt(metric[0] * metric[d + 1]);
  }
  tacit_sampler_settings_t settings = tacit_sampler_settings_default();
  settings.n_chains = 2;
  settings.n_warmup = options->n_draws / 10;
  settings.n_draws = options->n_draws;
  settings.step_size = options->step_size;
  settings.n_leapfrog = options->n_leapfrog;
  settings.proposal = options->proposal;
  settings.reuse_gradient = !options->redraw_gradient;
  settings.step_jitter = !options->fixed_step;
  settings.noise_multiplier_grad = options->noise_grad;
  settings.noise_multiplier_ratio = options->noise_ratio;
  settings.inv_metric = metric;
  settings.inv_metric_is_dense = options->dense_metric;
  settings.init = init;
  tacit_rng_key_from_seed(settings.key, seed + 1);
  tacit_sample_end_t end;
  assert_ok(tacit_sample(method, curator, &target->model.parameters, &settings, draws, &end, &err), err);
  assert_int_equal(end, TACIT_SAMPLE_COMPLETE);
  assert_int_equal(tacit_draws_n_kept(draws), options->n_draws);
  *accept_rate = 0;
  for (size_t i = 0; i < 2 * (draws->n_warmup + draws->n_draws); i++) {
    *accept_rate += draws->stats[i].accept_stat / (double)(2 * (draws->n_warmup + draws->n_draws));
  }
  tacit_curator_free(curator);
  tacit_noise_free(noise);
  tacit_budget_free(budget);
}

/* The quantities compared: each has expectation 0 under the posterior of the standardised z. */
static size_t n_quantities(size_t dim) { return dim * 7 + dim * (dim - 1) / 2; }

static void quantities(const double *z, size_t dim, double *out) {
  static const double cuts[5] = {-2, -1, 0, 1, 2};
  for (size_t j = 0; j < dim; j++) {
    *out++ = z[j];
    *out++ = z[j] * z[j] - 1;
    for (size_t q = 0; q < 5; q++) { /* the distribution function: a goodness-of-fit test, ESS-corrected */
      *out++ = (z[j] <= cuts[q] ? 1 : 0) - 0.5 * erfc(-cuts[q] / sqrt(2));
    }
    for (size_t k = 0; k < j; k++) {
      *out++ = z[j] * z[k];
    }
  }
}

/* Largest |mean| / (batch-means standard error) over all quantities. */
static double worst_z(const target_t *target, const tacit_draws_t *draws) {
  enum {
    n_batches = 40,
    max_quantities = 7 * max_dim + max_dim * (max_dim - 1) / 2
  }; /* batches a chain; 80 in all */
  double sum[max_quantities] = {0}, square[max_quantities] = {0}, worst = 0;
  size_t n = draws->n_draws / n_batches, n_all = n_quantities(target->dim);
  for (size_t batch = 0; batch < 2 * n_batches; batch++) {
    double mean[max_quantities] = {0}, value[max_quantities], z[max_dim];
    for (size_t i = 0; i < n; i++) {
      const double *theta =
          tacit_draws_row(draws, batch / n_batches, draws->n_warmup + batch % n_batches * n + i);
      for (size_t j = 0; j < target->dim; j++) {
        double u = theta[j] + (target->a > 0 && j == 1 ? target->a * theta[0] * theta[0] : 0);
        z[j] = (u - target->mean[j]) / target->sd[j];
      }
      quantities(z, target->dim, value);
      for (size_t q = 0; q < n_all; q++) {
        mean[q] += value[q] / (double)n;
      }
    }
    for (size_t q = 0; q < n_all; q++) {
      sum[q] += mean[q];
      square[q] += mean[q] * mean[q];
    }
  }
  for (size_t q = 0; q < n_all; q++) {
    double m = 2 * n_batches, mean = sum[q] / m, error = sqrt((square[q] / m - mean * mean) / (m - 1));
    worst = fmax(worst, fabs(mean) / error);
  }
  return worst;
}

static double check(const target_t *target, const char *label, options_t options, uint64_t seed) {
  tacit_draws_t draws;
  double accept, z;
  options.n_draws =
      (size_t)((double)options.n_draws *
               testing_multiplier_at_least(1)); /* z of batches that are too short is anything */
  run(target, &options, seed, &draws, &accept);
  z = worst_z(target, &draws);
  print_message("%-46s acceptance %.3f, worst |z| %.2f\n", label, accept, z);
  tacit_draws_clear(&draws);
  return z;
}

static const double z_limit = 7.5;
/* Large clip bounds: nothing is ever clipped in these models. */
static const double loose = 1e4;

static void test_exposed_and_noiseless_samplers_match_gaussian(void **state) {
  target_t target;
  init_gaussian(&target);
  options_t hmc = {.method = "hmc", .step_size = 0.5, .n_leapfrog = 6, .n_draws = 8000};
  assert_true(check(&target, "gaussian, hmc", hmc, 1) <= z_limit);
  hmc.dense_metric = true;
  assert_true(check(&target, "gaussian, hmc, dense metric", hmc, 2) <= z_limit);
  options_t rwmh = {.method = "rwmh", .step_size = 0.7, .n_draws = 60000, .proposal = TACIT_PROPOSAL_FULL};
  assert_true(check(&target, "gaussian, rwmh", rwmh, 3) <= z_limit);
  options_t dp = {.method = "dp-hmc",
                  .step_size = 0.5,
                  .n_leapfrog = 6,
                  .n_draws = 8000,
                  .noise_grad = 1e-4,
                  .noise_ratio = 1e-6,
                  .clip_grad = loose,
                  .clip_ratio = loose};
  assert_true(check(&target, "gaussian, dp-hmc, huge budget", dp, 4) <= z_limit);
  dp.method = "dp-penalty";
  dp.proposal = TACIT_PROPOSAL_GUIDED;
  dp.step_size = 2;
  dp.n_draws = 60000;
  assert_true(check(&target, "gaussian, dp-penalty guided, huge budget", dp, 5) <= z_limit);
  tacit_model_clear(&target.model);
}

/* Noise on the ratio with sd about 1 at a typical move, noise and clipping in the gradient. */
static options_t noisy_penalty(const target_t *target, tacit_proposal_t proposal, double step) {
  double move = step * target->sd[target->dim / 2];
  if (proposal == TACIT_PROPOSAL_FULL) {
    move *= sqrt((double)target->dim);
  }
  return (options_t){.method = "dp-penalty",
                     .step_size = step,
                     .n_draws = 60000,
                     .proposal = proposal,
                     .clip_ratio = loose,
                     .noise_ratio = 1 / (2 * loose * move)};
}

static void test_penalty_noise_leaves_posterior_exact(void **state) {
  target_t target;
  init_gaussian(&target);
  assert_true(check(&target, "gaussian, dp-penalty full", noisy_penalty(&target, TACIT_PROPOSAL_FULL, 0.7),
                    6) <= z_limit);
  assert_true(check(&target, "gaussian, dp-penalty one-component",
                    noisy_penalty(&target, TACIT_PROPOSAL_ONE_COMPONENT, 2), 7) <= z_limit);
  assert_true(check(&target, "gaussian, dp-penalty guided", noisy_penalty(&target, TACIT_PROPOSAL_GUIDED, 2),
                    8) <= z_limit);
  tacit_model_clear(&target.model);
}

static options_t noisy_hmc(const target_t *target) {
  double move = target->sd[0] * sqrt((double)target->dim);
  return (options_t){.method = "dp-hmc",
                     .step_size = 0.5,
                     .n_leapfrog = 4,
                     .n_draws = 20000,
                     .clip_grad = 2, /* well inside the spread of record gradients: clips many */
                     .clip_ratio = loose,
                     .noise_grad = 0.5 / target->sd[target->dim - 1] / 4,
                     .noise_ratio = 1 / (2 * loose * move)};
}

static void test_noisy_clipped_gradients_leave_posterior_exact(void **state) {
  target_t target;
  init_gaussian(&target);
  options_t options = noisy_hmc(&target);
  assert_true(check(&target, "gaussian, dp-hmc, reused gradients", options, 9) <= z_limit);
  options.redraw_gradient = true;
  assert_true(check(&target, "gaussian, dp-hmc, redrawn gradients", options, 10) <= z_limit);
  /* One step, precise gradients, many rejections: fails if a rejected state keeps the proposal's gradient. */
  options_t mala = {.method = "dp-hmc",
                    .step_size = 1.4,
                    .fixed_step = true,
                    .n_leapfrog = 1,
                    .n_draws = 40000,
                    .clip_grad = loose,
                    .clip_ratio = loose,
                    .noise_grad = 1e-4,
                    .noise_ratio = 1e-6};
  assert_true(check(&target, "gaussian, dp-hmc, one step", mala, 14) <= z_limit);
  tacit_model_clear(&target.model);
}

static void test_banana_is_exact(void **state) {
  target_t target;
  init_banana(&target, 1);
  options_t hmc = {.method = "hmc", .step_size = 0.3, .n_leapfrog = 12, .n_draws = 20000};
  assert_true(check(&target, "banana, hmc", hmc, 11) <= z_limit);
  options_t options = {.method = "dp-penalty",
                       .step_size = 1,
                       .n_draws = 120000,
                       .proposal = TACIT_PROPOSAL_FULL,
                       .clip_ratio = loose,
                       .noise_ratio = 1 / (2 * loose * 0.3)};
  assert_true(check(&target, "banana, dp-penalty", options, 12) <= z_limit);
  options_t dp = {.method = "dp-hmc",
                  .step_size = 0.3,
                  .n_leapfrog = 8,
                  .n_draws = 30000,
                  .clip_grad = 0.5,
                  .clip_ratio = loose,
                  .noise_grad = 3,
                  .noise_ratio = 1 / (2 * loose * 0.3)};
  assert_true(check(&target, "banana, dp-hmc", dp, 13) <= z_limit);
  tacit_model_clear(&target.model);
}

/* The tempered posterior of the banana in closed form: precision 1/prior_var + T n / obs_var. */
static void test_tempered_banana_is_exact(void **state) {
  target_t target;
  init_banana(&target, 0.25);
  options_t hmc = {.method = "hmc", .step_size = 0.2, .n_leapfrog = 12, .n_draws = 20000};
  assert_true(check(&target, "banana at power 0.25, hmc", hmc, 15) <= z_limit);
  options_t dp = {.method = "dp-hmc",
                  .step_size = 0.2,
                  .n_leapfrog = 12,
                  .n_draws = 40000,
                  .clip_grad = loose,
                  .clip_ratio = loose,
                  .noise_grad = 1e-4,
                  .noise_ratio = 1 / (2 * loose * 8)};
  assert_true(check(&target, "banana at power 0.25, dp-hmc", dp, 16) <= z_limit);
  tacit_model_clear(&target.model);
}

/* The tests above must fail for a build without the penalty: here the error is planted. */
static void test_dropped_penalty_is_caught(void **state) {
  target_t target;
  init_gaussian(&target);
  options_t penalty = noisy_penalty(&target, TACIT_PROPOSAL_FULL, 0.7), hmc = noisy_hmc(&target);
  TACIT_PLANT(TACIT_FAULT_NO_PENALTY);
  assert_true(check(&target, "planted error: dp-penalty without penalty", penalty, 6) > z_limit);
  assert_true(check(&target, "planted error: dp-hmc without penalty", hmc, 9) > z_limit);
  TACIT_PLANT(TACIT_FAULT_NONE);
  tacit_model_clear(&target.model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exposed_and_noiseless_samplers_match_gaussian),
      cmocka_unit_test(test_penalty_noise_leaves_posterior_exact),
      cmocka_unit_test(test_noisy_clipped_gradients_leave_posterior_exact),
      cmocka_unit_test(test_banana_is_exact),
      cmocka_unit_test(test_tempered_banana_is_exact),
      cmocka_unit_test(test_dropped_penalty_is_caught),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
