/*
 * The invariant distribution of every method on a logistic regression with two coefficients, whose posterior
 * is known by quadrature.
 *
 * Means, second moments and the distribution function are compared as (estimate - truth) / (batch-means
 * standard error): see test_exactness.c. Methods that are not exact are compared within the bias that
 * theory.md, section 17, gives them. Planted errors that this was seen to catch are listed at the end of the
 * file.
 */
#include <string.h>

#include "sample/sample_internal.h"
#include "tacit/data.h"
#include "logistic.h"
#include "testing.h"

enum { dim = logistic_dim, n_records = 60, n_grid = 1200 };

/* ---- prior and records ---- */

static double log_prior(const void *ctx, const double *theta, double *grad) {
  (void)ctx;
  if (grad != NULL) {
    grad[0] = -theta[0] / 4;
    grad[1] = -theta[1] / 4;
  }
  return -(theta[0] * theta[0] + theta[1] * theta[1]) / 8;
}

static void report(const void *ctx, const double *theta, double *reported) {
  (void)ctx;
  memcpy(reported, theta, dim * sizeof *theta);
}

static const double unit_scale[dim] = {3, 4};
static const tacit_parameters_t parameters = {
    .dim = dim, .n_reported = dim, .log_prior = log_prior, .report = report, .unit_scale = unit_scale};

static void record(size_t i, double x[3]) {
  x[0] = 1;
  x[1] = (double)(i * 7 % n_records) / (0.5 * n_records) - 1;
  x[2] = i % 3 == 0 || x[1] > 0.4 ? 1 : 0;
}

/* ---- its posterior ---- */

enum { n_quantities = 2 * 7 + 1 };

typedef struct truth {
  double mean[dim], sd[dim], value[n_quantities];
} truth_t;

static void quantities(const truth_t *truth, const double *theta, double *out) {
  static const double cuts[5] = {-2, -1, 0, 1, 2};
  double z[dim];
  for (size_t j = 0; j < dim; j++) {
    z[j] = (theta[j] - truth->mean[j]) / truth->sd[j];
    *out++ = z[j];
    *out++ = z[j] * z[j];
    for (size_t q = 0; q < 5; q++) {
      *out++ = z[j] <= cuts[q] ? 1 : 0;
    }
  }
  *out = z[0] * z[1];
}

static double log_posterior(const double *theta) {
  double sum = log_prior(NULL, theta, NULL), x[3];
  for (size_t i = 0; i < n_records; i++) {
    record(i, x);
    double eta = theta[0] * x[0] + theta[1] * x[1];
    sum += x[2] * eta - logistic_log1pexp(eta);
  }
  return sum;
}

/*
 * By the midpoint rule on mean +- 6 sd: first the moments, which the quantities are in units of, then all;
 * the cuts of the distribution function are then edges of cells.
 */
static void integrate(truth_t *truth, bool is_moments) {
  double total = 0, sums[n_quantities] = {0}, value[n_quantities];
  for (size_t a = 0; a < n_grid; a++) {
    for (size_t b = 0; b < n_grid; b++) {
      double theta[dim] = {truth->mean[0] + truth->sd[0] * (12 * ((double)a + 0.5) / n_grid - 6),
                           truth->mean[1] + truth->sd[1] * (12 * ((double)b + 0.5) / n_grid - 6)};
      double weight = exp(log_posterior(theta) + 30);
      quantities(truth, theta, value);
      total += weight;
      for (size_t i = 0; i < n_quantities; i++) {
        sums[i] += weight * value[i];
      }
    }
  }
  for (size_t i = 0; i < n_quantities; i++) {
    truth->value[i] = sums[i] / total;
  }
  for (size_t j = 0; is_moments && j < dim; j++) {
    double mean = truth->value[7 * j], variance = truth->value[7 * j + 1] - mean * mean;
    truth->mean[j] += truth->sd[j] * mean;
    truth->sd[j] *= sqrt(variance);
  }
}

static truth_t truth;

static int setup(void **state) {
  truth = (truth_t){.sd = {1, 1}};
  integrate(&truth, true);
  integrate(&truth, true); /* where the posterior is, and only there */
  integrate(&truth, false);
  return 0;
}

/* ---- a run ---- */

typedef struct options {
  const char *method;
  bool is_bit;
  tacit_accept_rule_t rule;
  double step_size, sampling_rate, intensity, friction, noise_ratio;
  double low, high; /* approximate methods: of the variance beside the truth */
  size_t n_leapfrog, n_draws;
  tacit_proposal_t proposal;
  tacit_barker_test_t barker_test;
  double variance;
} options_t;

static tacit_sampler_settings_t settings_of(const options_t *options, const double *metric,
                                            const double *init) {
  tacit_sampler_settings_t s = tacit_sampler_settings_default();
  s.n_chains = 2;
  s.n_draws = options->n_draws;
  s.n_warmup = options->n_draws / 10;
  s.step_size = options->step_size;
  s.n_leapfrog = options->n_leapfrog;
  s.proposal = options->proposal;
  s.accept_bit = options->is_bit;
  s.accept_rule = options->rule;
  s.sampling_rate = options->sampling_rate > 0 ? tacit_curator_sampling_rate(options->sampling_rate) : 0;
  s.intensity = options->intensity;
  s.friction = options->friction;
  s.barker_test = options->barker_test;
  s.ratio_variance = options->variance;
  s.n_public = n_records;
  s.max_batch = 100 * n_records;
  s.inv_metric = metric;
  s.init = init;
  s.noise_multiplier_ratio = 0.2;
  s.noise_multiplier_grad = 1.2;
  tacit_rng_key_from_seed(s.key, 12);
  return s;
}

static tacit_curator_t *open_curator(const options_t *options, tacit_budget_t **budget,
                                     tacit_noise_t **noise) {
  const tacit_method_t *method = tacit_method_find(options->method);
  tacit_curator_settings_t limits = tacit_curator_settings_default();
  tacit_records_t *records;
  tacit_curator_t *curator;
  tacit_error_t err;
  assert_ok(tacit_records_new(&records, n_records, 3, &err), err);
  for (size_t i = 0; i < n_records; i++) {
    double x[3];
    record(i, x);
    tacit_records_set(records, i, x);
  }
  *budget = NULL;
  assert_ok(tacit_noise_new_seeded_not_private(noise, 11, &err), err);
  if (method->is_private) {
    assert_ok(tacit_budget_new(budget, 1e15, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), err);
    assert_ok(tacit_curator_new(&curator, records, &logistic, *budget, *noise, &limits, &err), err);
  } else {
    limits.subset_noise = *noise;
    assert_ok(tacit_curator_new_exposed(&curator, records, &logistic, &limits, &err), err);
  }
  return curator;
}

static void set_schedule(const options_t *options, const tacit_sampler_settings_t *s,
                         const tacit_curator_t *curator, tacit_budget_t *budget) {
  const tacit_method_t *method = tacit_method_find(options->method);
  tacit_event_t *events;
  size_t n;
  tacit_error_t err;
  if (tacit_sampler_needs_schedule(method, s)) {
    assert_ok(tacit_sampler_schedule(method, s, curator, s->n_warmup + s->n_draws, &events, &n, &err), err);
    assert_ok(tacit_budget_set_schedule(budget, events, n, &err), err);
    tacit_free(events);
  }
}

static void run(const options_t *options, tacit_draws_t *draws, double *accept_rate) {
  double metric[dim], init[2 * dim];
  for (size_t j = 0; j < dim; j++) {
    metric[j] = truth.sd[j] * truth.sd[j];
    init[j] = truth.mean[j] + truth.sd[j];
    init[dim + j] = truth.mean[j] - truth.sd[j];
  }
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_curator_t *curator = open_curator(options, &budget, &noise);
  tacit_sampler_settings_t s = settings_of(options, metric, init);
  const tacit_method_t *method = tacit_method_find(options->method);
  if (strcmp(options->method, "dp-mala") == 0) {
    s.noise_multiplier_grad = 2 / (s.step_size * fmax(truth.sd[0], truth.sd[1]) * 2 * logistic.grad_bound);
  }
  tacit_traits_t traits = tacit_method_traits(method, &s);
  if (tacit_traits_is_stochastic(traits)) { /* all the noise that the step takes */
    double largest = fmax(metric[0], metric[1]);
    s.noise_multiplier_grad = tacit_stochastic_noise_sd(traits, &s, largest) / (2 * logistic.grad_bound);
  }
  s.noise_multiplier_ratio = options->noise_ratio > 0 ? options->noise_ratio : s.noise_multiplier_ratio;
  set_schedule(options, &s, curator, budget);
  tacit_sample_end_t end;
  tacit_error_t err;
  assert_ok(tacit_sample(method, curator, &parameters, &s, draws, &end, &err), err);
  assert_int_equal(end, TACIT_SAMPLE_COMPLETE);
  *accept_rate = 0;
  size_t n = 2 * (s.n_warmup + s.n_draws);
  for (size_t i = 0; i < n; i++) {
    *accept_rate += draws->stats[i].accept_stat / (double)n;
  }
  tacit_curator_free(curator);
  tacit_noise_free(noise);
  tacit_budget_free(budget);
}

/* Largest |estimate - truth| / standard error by batch means, and the estimates. */
static double worst_z(const tacit_draws_t *draws, double *estimate) {
  enum { n_batches = 40 };
  double sum[n_quantities] = {0}, square[n_quantities] = {0}, worst = 0;
  size_t n = draws->n_draws / n_batches;
  for (size_t batch = 0; batch < 2 * n_batches; batch++) {
    double mean[n_quantities] = {0}, value[n_quantities];
    for (size_t i = 0; i < n; i++) {
      const double *theta =
          tacit_draws_row(draws, batch / n_batches, draws->n_warmup + batch % n_batches * n + i);
      quantities(&truth, theta, value);
      for (size_t k = 0; k < n_quantities; k++) {
        mean[k] += value[k] / (double)n;
      }
    }
    for (size_t k = 0; k < n_quantities; k++) {
      sum[k] += mean[k];
      square[k] += mean[k] * mean[k];
    }
  }
  for (size_t k = 0; k < n_quantities; k++) {
    double m = sum[k] / (2 * n_batches), variance = square[k] / (2 * n_batches) - m * m;
    estimate[k] = m;
    worst = fmax(worst, fabs(m - truth.value[k]) / sqrt(variance / (2 * n_batches - 1) + 1e-12));
  }
  return worst;
}

static const options_t exact[] = {
    {.method = "dp-barker", .step_size = 1, .rule = {.max_bound = 0.8}, .n_draws = 60000},
    {.method = "dp-barker",
     .rule = {.max_bound = 1.5},
     .step_size = 1,
     .proposal = TACIT_PROPOSAL_GUIDED,
     .n_draws = 60000},
    {.method = "dp-barker",
     .rule = {.max_bound = 1.5},
     .step_size = 1,
     .proposal = TACIT_PROPOSAL_ONE_COMPONENT,
     .n_draws = 60000},
    {.method = "dp-penalty",
     .is_bit = true,
     .rule = {TACIT_ACCEPT_PENALTY, 0.8, .sigma = 1.2},
     .step_size = 1,
     .n_draws = 60000},
    {.method = "dp-penalty",
     .is_bit = true,
     .rule = {TACIT_ACCEPT_PROBIT, 0.8, .sigma = 0.4},
     .step_size = 1,
     .n_draws = 60000},
    {.method = "dp-penalty",
     .is_bit = true,
     .rule = {TACIT_ACCEPT_ARCSINE, 0.8, .kappa = 0.4, .cap = 0.9},
     .step_size = 1,
     .n_draws = 60000},
    {.method = "dp-penalty", .step_size = 1, .n_draws = 60000},
    {.method = "dp-fast-mh", .rule = {.max_bound = 0.8}, .intensity = 0.8, .step_size = 1, .n_draws = 60000},
    {.method = "dp-fast-mh-full", .rule = {.max_bound = 0.8}, .step_size = 1, .n_draws = 60000},
    {.method = "dp-hmc",
     .is_bit = true,
     .rule = {.kind = TACIT_ACCEPT_BARKER, .max_bound = 8},
     .step_size = 0.8,
     .n_leapfrog = 3,
     .n_draws = 40000},
    {.method = "dp-hmc",
     .is_bit = true,
     .rule = {TACIT_ACCEPT_PROBIT, 8, .sigma = 0.2},
     .step_size = 0.8,
     .n_leapfrog = 3,
     .n_draws = 40000},
    {.method = "dp-mala",
     .rule = {.kind = TACIT_ACCEPT_BARKER, .max_bound = 6},
     .step_size = 0.8,
     .n_draws = 60000},
    {.method = "dp-mala",
     .rule = {TACIT_ACCEPT_PENALTY, 6, .sigma = 0.25},
     .step_size = 0.8,
     .n_draws = 60000},
    {.method = "dp-barker-vcorr",
     .barker_test = TACIT_BARKER_PENALTY,
     .variance = 2,
     .noise_ratio = 0.8,
     .sampling_rate = 1,
     .rule = {.max_bound = 0.8},
     .step_size = 1,
     .n_draws = 60000},
    {.method = "dp-barker-vcorr",
     .variance = 1,
     .noise_ratio = 0.3,
     .sampling_rate = 1,
     .rule = {.max_bound = 1.5},
     .step_size = 1,
     .proposal = TACIT_PROPOSAL_GUIDED,
     .n_draws = 60000}, /* its bias is 1e-7 */
    {.method = "tunamh", .rule = {.max_bound = 0.8}, .intensity = 0.8, .step_size = 1, .n_draws = 60000},
};

static void test_exact_methods(void **state) {
  for (size_t i = 0; i < sizeof exact / sizeof exact[0]; i++) {
    options_t options = exact[i];
    double rate, estimate[n_quantities];
    tacit_draws_t draws;
    options.n_draws = (size_t)((double)options.n_draws * testing_multiplier()) / 400 * 400;
    run(&options, &draws, &rate);
    double z = worst_z(&draws, estimate);
    print_message("%s, rule %d, proposal %d: acceptance %.3f, largest z %.2f\n", options.method,
                  (int)options.rule.kind, (int)options.proposal, rate, z);
    assert_true(z < 7.5);
    assert_true(rate > 0.05);
    tacit_draws_clear(&draws);
  }
}

/* Variance beside the truth: discretisation and the heat of subsampling, (1 - q) / q of the information for a
 * step each. */
static const options_t approximate[] = {
    {.method = "dp-sgld",
     .step_size = 0.25,
     .sampling_rate = 1,
     .n_draws = 100000,
     .low = 0.97,
     .high = 1.08},
    {.method = "dp-sgld",
     .step_size = 0.25,
     .sampling_rate = 0.5,
     .n_draws = 100000,
     .low = 0.98,
     .high = 1.12},
    {.method = "dp-sghmc",
     .step_size = 0.1,
     .sampling_rate = 0.5,
     .friction = 1,
     .n_leapfrog = 10,
     .n_draws = 20000,
     .low = 0.95,
     .high = 1.1},
    {.method = "dp-sgnht",
     .step_size = 0.1,
     .sampling_rate = 0.5,
     .friction = 1,
     .n_draws = 100000,
     .low = 0.9,
     .high = 1.15},
    {.method = "sghmc",
     .step_size = 0.1,
     .sampling_rate = 0.5,
     .friction = 1,
     .n_leapfrog = 10,
     .n_draws = 20000,
     .low = 0.95,
     .high = 1.1},
    {.method = "sghmc-naive",
     .step_size = 0.1,
     .sampling_rate = 0.5,
     .friction = 1,
     .n_leapfrog = 10,
     .n_draws = 20000,
     .low = 1.005,
     .high = 1.15},
    {.method = "dp-barker-vcorr",
     .variance = 2,
     .step_size = 1,
     .sampling_rate = 0.5,
     .noise_ratio = 0.15,
     .rule = {.max_bound = 0.8},
     .n_draws = 60000,
     .low = 0.93,
     .high = 1.3},
    {.method = "dp-penalty-subsampled",
     .step_size = 1,
     .sampling_rate = 0.4,
     .noise_ratio = 0.05,
     .n_draws = 60000,
     .low = 0.93,
     .high = 1.3},
};

static void test_approximate_methods(void **state) {
  for (size_t i = 0; i < sizeof approximate / sizeof approximate[0]; i++) {
    options_t options = approximate[i];
    double rate, estimate[n_quantities];
    tacit_draws_t draws;
    run(&options, &draws, &rate);
    worst_z(&draws, estimate);
    for (size_t j = 0; j < dim; j++) {
      double mean = estimate[7 * j], variance = estimate[7 * j + 1] - mean * mean;
      print_message("%s: mean %.3f, variance %.3f; ", options.method, mean, variance);
      assert_true(fabs(mean) < 0.25);
      assert_true(variance > options.low && variance < options.high);
    }
    print_message("acceptance %.3f\n", rate);
    tacit_draws_clear(&draws);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_exact_methods),
                                     cmocka_unit_test(test_approximate_methods)};
  return cmocka_run_group_tests(tests, setup, NULL);
}

/*
 * Errors planted: the penalty of a bit left out; the arcsine rule without its balance; half of a minibatch
 * weight; its rate with the wrong sign; the quadratic term of a Langevin ratio turned around; 0.45 for 0.5 in
 * its trapezoid; a Langevin drift of 0.6 for 0.5; privacy noise on top of sgld's own; the variance of
 * sampling left out of the subsampled penalty; friction of the wrong sign; a walk whose length depends on
 * where it starts; minibatch gradients without 1 / q.
 */
