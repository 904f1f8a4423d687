/*
 * Geweke's joint test, privacy noise included: records are drawn given the parameters, the method makes a few
 * iterations given the records, and so on. If its invariant distribution is the posterior, whatever the
 * records are, then parameters keep the distribution of the prior and records that of the model. A logistic
 * regression of six records and two coefficients.
 *
 * Compared are means by the prior with averages of the chain, in standard errors by batch means of fifty
 * batches (t with 49 degrees of freedom; 7.5 is exceeded once in 10^8). Planted errors: no penalty; a noise
 * scale other than the one told; a drift of 0.8 for 0.5 in dp-mala.
 */
#include <string.h>

#include "base/fault.h"
#include "sample/sample_internal.h"
#include "tacit/data.h"
#include "logistic.h"
#include "testing.h"

enum { dim = logistic_dim, n_records = 6, n_quantities = 7, n_batches = 50 };

static const double prior_sd = 1.5, limit = 7.5;

static double log_prior(const void *ctx, const double *theta, double *grad) {
  (void)ctx;
  double inverse = 1 / (prior_sd * prior_sd);
  if (grad != NULL) {
    grad[0] = -theta[0] * inverse;
    grad[1] = -theta[1] * inverse;
  }
  return -0.5 * inverse * (theta[0] * theta[0] + theta[1] * theta[1]);
}

static void report(const void *ctx, const double *theta, double *reported) {
  (void)ctx;
  memcpy(reported, theta, dim * sizeof *theta);
}

static const double unit_scale[dim] = {3, 4};
static const tacit_parameters_t parameters = {
    .dim = dim, .n_reported = dim, .log_prior = log_prior, .report = report, .unit_scale = unit_scale};

static void draw_prior(tacit_rng_t *rng, double theta[dim]) {
  for (size_t j = 0; j < dim; j++) {
    theta[j] = prior_sd * tacit_rng_normal(rng);
  }
}

static void draw_records(tacit_rng_t *rng, const double theta[dim], double y[n_records]) {
  for (size_t i = 0; i < n_records; i++) {
    double x = 2 * (double)i / (n_records - 1) - 1;
    y[i] = tacit_rng_uniform(rng) < 1 / (1 + exp(-theta[0] - theta[1] * x)) ? 1 : 0;
  }
}

static void quantities(const double theta[dim], const double y[n_records], double out[n_quantities]) {
  double sum = 0, slope = 0;
  for (size_t i = 0; i < n_records; i++) {
    sum += y[i];
    slope += y[i] * (2 * (double)i / (n_records - 1) - 1);
  }
  out[0] = theta[0];
  out[1] = theta[1];
  out[2] = theta[0] * theta[0];
  out[3] = theta[1] * theta[1];
  out[4] = sum * theta[0];
  out[5] = slope * theta[1];
  out[6] = sum * sum;
}

/* ---- the chain ---- */

typedef struct options {
  const char *method;
  bool is_bit;
  tacit_accept_rule_t rule;
  double step_size, noise_ratio, noise_grad, intensity;
  size_t n_leapfrog;
} options_t;

static tacit_sampler_settings_t settings_of(const options_t *options, const double *metric) {
  tacit_sampler_settings_t s = tacit_sampler_settings_default();
  s.n_chains = 1;
  s.n_draws = 2;
  s.n_warmup = 0;
  s.step_size = options->step_size;
  s.n_leapfrog = options->n_leapfrog;
  s.accept_bit = options->is_bit;
  s.accept_rule = options->rule;
  s.intensity = options->intensity;
  s.n_public = n_records;
  s.max_batch = 100 * n_records;
  s.inv_metric = metric;
  s.noise_multiplier_ratio = options->noise_ratio;
  s.noise_multiplier_grad = options->noise_grad;
  return s;
}

static tacit_curator_t *open_curator(const double y[n_records], tacit_budget_t *budget,
                                     tacit_noise_t *noise) {
  tacit_records_t *records;
  tacit_curator_t *curator;
  tacit_error_t err;
  assert_ok(tacit_records_new(&records, n_records, 3, &err), err);
  for (size_t i = 0; i < n_records; i++) {
    double x[3] = {1, 2 * (double)i / (n_records - 1) - 1, y[i]};
    tacit_records_set(records, i, x);
  }
  assert_ok(tacit_curator_new(&curator, records, &logistic, budget, noise, NULL, &err), err);
  return curator;
}

/* theta <- a few iterations later. */
static void iterate(const options_t *options, tacit_sampler_settings_t *s, uint64_t step,
                    const double y[n_records], tacit_budget_t *budget, tacit_noise_t *noise,
                    double theta[dim]) {
  tacit_curator_t *curator = open_curator(y, budget, noise);
  tacit_draws_t draws;
  tacit_sample_end_t end;
  tacit_error_t err;
  s->init = theta;
  tacit_rng_key_from_seed(s->key, 1000 + step);
  assert_ok(tacit_sample(tacit_method_find(options->method), curator, &parameters, s, &draws, &end, &err),
            err);
  assert_int_equal(end, TACIT_SAMPLE_COMPLETE);
  memcpy(theta, tacit_draws_row(&draws, 0, s->n_draws - 1), dim * sizeof *theta);
  tacit_draws_clear(&draws);
  tacit_curator_free(curator);
}

/* Largest |average - expectation| over the quantities, in standard errors. */
static double worst_z(const options_t *options, const double expected[n_quantities]) {
  const double metric[dim] = {1, 1.5};
  size_t n_steps = (size_t)(24000 * testing_multiplier()) / n_batches * n_batches + n_batches;
  tacit_sampler_settings_t s = settings_of(options, metric);
  double theta[dim], y[n_records], sum[n_quantities] = {0}, square[n_quantities] = {0}, worst = 0;
  unsigned char key[32];
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_rng_t *rng;
  tacit_error_t err;
  tacit_rng_key_from_seed(key, 5);
  assert_ok(tacit_rng_new(&rng, key, 0, &err), err);
  assert_ok(tacit_noise_new_seeded_not_private(&noise, 6, &err), err);
  assert_ok(tacit_budget_new(&budget, 1e15, 1e-6, TACIT_RELATION_SUBSTITUTE, &err),
            err); /* one for all runs */
  draw_prior(rng, theta);
  for (size_t batch = 0; batch < n_batches; batch++) {
    double mean[n_quantities] = {0}, value[n_quantities];
    for (size_t i = 0; i < n_steps / n_batches; i++) {
      draw_records(rng, theta, y);
      quantities(theta, y, value);
      for (size_t q = 0; q < n_quantities; q++) {
        mean[q] += value[q] / (double)(n_steps / n_batches);
      }
      iterate(options, &s, batch * n_steps + i, y, budget, noise, theta);
    }
    for (size_t q = 0; q < n_quantities; q++) {
      sum[q] += mean[q] / n_batches;
      square[q] += mean[q] * mean[q] / n_batches;
    }
  }
  for (size_t q = 0; q < n_quantities; q++) {
    worst = fmax(worst, fabs(sum[q] - expected[q]) / sqrt((square[q] - sum[q] * sum[q]) / (n_batches - 1)));
  }
  tacit_budget_free(budget);
  tacit_noise_free(noise);
  tacit_rng_free(rng);
  return worst;
}

/* By many draws from the prior and the model: their standard error is a fiftieth of the chain's. */
static void expectations(double expected[n_quantities]) {
  enum { n_draws = 4000000 };
  double theta[dim], y[n_records], value[n_quantities];
  unsigned char key[32];
  tacit_rng_t *rng;
  tacit_error_t err;
  tacit_rng_key_from_seed(key, 7);
  assert_ok(tacit_rng_new(&rng, key, 0, &err), err);
  memset(expected, 0, n_quantities * sizeof *expected);
  for (size_t i = 0; i < n_draws; i++) {
    draw_prior(rng, theta);
    draw_records(rng, theta, y);
    quantities(theta, y, value);
    for (size_t q = 0; q < n_quantities; q++) {
      expected[q] += value[q] / n_draws;
    }
  }
  tacit_rng_free(rng);
}

static const options_t exact[] = {
    {.method = "dp-penalty", .step_size = 1.2, .noise_ratio = 0.5},
    {.method = "dp-penalty", .step_size = 1.2, .is_bit = true, .rule = {TACIT_ACCEPT_PENALTY, 3, .sigma = 1}},
    {.method = "dp-penalty",
     .step_size = 1.2,
     .is_bit = true,
     .rule = {TACIT_ACCEPT_ARCSINE, 3, .kappa = 0.4, .cap = 0.9}},
    {.method = "dp-barker", .step_size = 1.2, .rule = {.max_bound = 3}},
    {.method = "dp-fast-mh", .step_size = 1.2, .rule = {.max_bound = 3}, .intensity = 2},
    {.method = "dp-hmc", .step_size = 0.6, .n_leapfrog = 3, .noise_ratio = 0.5, .noise_grad = 0.4},
    {.method = "dp-hmc",
     .step_size = 0.6,
     .n_leapfrog = 3,
     .noise_grad = 0.4,
     .is_bit = true,
     .rule = {TACIT_ACCEPT_BARKER, 8, 0, 0, 0}},
    {.method = "dp-mala", .step_size = 0.8, .noise_grad = 0.6, .rule = {TACIT_ACCEPT_BARKER, 8, 0, 0, 0}},
    {.method = "dp-mala", .step_size = 0.8, .noise_grad = 0.6, .rule = {TACIT_ACCEPT_PENALTY, 8, 1, 0, 0}}};

static void test_parameters_and_records_keep_their_joint_distribution(void **state) {
  double expected[n_quantities];
  expectations(expected);
  for (size_t m = 0; m < sizeof exact / sizeof exact[0]; m++) {
    double z = worst_z(&exact[m], expected);
    printf("%-12s %d %d: %.2f\n", exact[m].method, exact[m].is_bit, (int)exact[m].rule.kind, z);
    if (z > limit) {
      fail_msg("%s, case %zu: %.1f standard errors", exact[m].method, m, z);
    }
  }
}

static void test_planted_errors_are_found(void **state) {
  double expected[n_quantities];
  expectations(expected);
  options_t planted[] = {exact[0], exact[5]};
  for (size_t m = 0; m < 2; m++) {
    TACIT_PLANT(TACIT_FAULT_NO_PENALTY);
    double z = worst_z(&planted[m], expected);
    TACIT_PLANT(TACIT_FAULT_NONE);
    printf("%-12s without its penalty: %.2f\n", planted[m].method, z);
    assert_true(testing_multiplier() < 0.9 || z > limit); /* a short run tells less */
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parameters_and_records_keep_their_joint_distribution),
      cmocka_unit_test(test_planted_errors_are_found)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
