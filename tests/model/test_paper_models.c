/* Gaussian mean, banana and mixture: closed forms, gradients, posteriors. */
#include "base/memory.h"
#include "model_testing.h"
#include "models/models.h"

enum { MAX_DIM = 12, N_BLOCKS = 4 };

typedef struct records {
  size_t n_columns;
  float blocks[N_BLOCKS][MAX_DIM * 16] __attribute__((aligned(64)));
} records_t;

static records_t random_records(size_t n_columns, uint64_t *rng) {
  records_t records = {.n_columns = n_columns};
  for (size_t b = 0; b < N_BLOCKS; b++) {
    for (size_t i = 0; i < n_columns * 16; i++) {
      records.blocks[b][i] = (float)model_testing_corner(rng, -4, 4);
    }
  }
  return records;
}

static double at(const records_t *records, size_t i, size_t j) {
  return (double)records->blocks[i / 16][j * 16 + i % 16];
}

/* Log posterior: prior and all records, by the model's own functions. */
static double log_post(const tacit_model_t *model, const records_t *records, const double *theta) {
  double sum = model->parameters.log_prior(model->parameters.ctx, theta, NULL), out[16];
  for (size_t b = 0; b < N_BLOCKS; b++) {
    model->records.log_lik(model->records.ctx, records->blocks[b], 1, theta, out);
    for (size_t lane = 0; lane < 16; lane++) {
      sum += out[lane];
    }
  }
  return sum;
}

/* Gradients of records and of the prior against central differences; two thetas at once. */
static void check_gradients(const tacit_model_t *model, uint64_t *rng) {
  size_t dim = model->records.dim;
  records_t records = random_records(model->records.n_columns, rng);
  float theta_float[2 * MAX_DIM], grad[2 * MAX_DIM * 16];
  double theta[2 * MAX_DIM], up[32], down[32], prior_grad[MAX_DIM];
  for (size_t round = 0; round < 50; round++) {
    for (size_t i = 0; i < 2 * dim; i++) {
      theta_float[i] = (float)model_testing_uniform(rng, -2, 2);
      theta[i] = (double)theta_float[i];
    }
    const float *block = records.blocks[round % N_BLOCKS];
    model->records.grad(model->records.ctx, block, 2, theta_float, grad);
    model->parameters.log_prior(model->parameters.ctx, theta, prior_grad);
    for (size_t i = 0; i < dim; i++) {
      double h = 1e-5, first = theta[i], second = theta[dim + i];
      theta[i] = first + h;
      theta[dim + i] = second + h;
      model->records.log_lik(model->records.ctx, block, 2, theta, up);
      double prior_up = model->parameters.log_prior(model->parameters.ctx, theta, NULL);
      theta[i] = first - h;
      theta[dim + i] = second - h;
      model->records.log_lik(model->records.ctx, block, 2, theta, down);
      double prior_down = model->parameters.log_prior(model->parameters.ctx, theta, NULL);
      theta[i] = first;
      theta[dim + i] = second;
      double prior_slope = (prior_up - prior_down) / (2 * h);
      assert_close(prior_grad[i], prior_slope, 1e-5 * (1 + fabs(prior_slope)));
      for (size_t k = 0; k < 32; k++) {
        double slope = (up[k] - down[k]) / (2 * h);
        assert_close((double)grad[(k / 16 * dim + i) * 16 + k % 16], slope, 2e-4 * (1 + fabs(slope)));
      }
    }
  }
}

static void check_public_side(const tacit_model_t *model) {
  tacit_error_t err = {0};
  assert_ok(tacit_model_validate(model, &err), err);
  double theta[MAX_DIM], reported[MAX_DIM];
  for (size_t j = 0; j < model->parameters.dim; j++) {
    char label[32], name[32];
    snprintf(label, sizeof label, "theta[%zu]", j + 1);
    snprintf(name, sizeof name, "theta.%zu", j + 1);
    assert_string_equal(model->parameters.labels[j], label);
    assert_string_equal(model->parameters.names[j], name);
    theta[j] = 0.1 * (double)j - 0.3;
  }
  model->parameters.report(model->parameters.ctx, theta, reported);
  assert_memory_equal(theta, reported, model->parameters.dim * sizeof theta[0]);
  assert_true(isinf(model->records.grad_bound) && model->records.ratio_bound == NULL);
}

/* Posterior of independent normal means: precision 1/v0 + n/v, mean (sum x / v) / precision. */
static double conjugate_log_post(const records_t *records, size_t j, double obs_var, double prior_var,
                                 double u) {
  double precision = 1 / prior_var + N_BLOCKS * 16 / obs_var, sum = 0;
  for (size_t i = 0; i < N_BLOCKS * 16; i++) {
    sum += at(records, i, j);
  }
  double mean = sum / obs_var / precision;
  return -0.5 * precision * (u - mean) * (u - mean);
}

static void test_gaussian_mean_posterior_is_conjugate(void **state) {
  double sd[10];
  uint64_t rng = 51;
  for (size_t j = 0; j < 10; j++) {
    sd[j] = 0.5 + 0.3 * (double)j;
  }
  for (size_t dim = 1; dim <= 10; dim += 9) {
    tacit_model_t model;
    tacit_error_t err = {0};
    assert_ok(tacit_model_init_gaussian_mean(&model, dim, sd, 3, &err), err);
    check_public_side(&model);
    check_gradients(&model, &rng);
    records_t records = random_records(dim, &rng);
    double origin[10] = {0}, theta[10], expected = 0;
    for (size_t j = 0; j < dim; j++) {
      theta[j] = model_testing_uniform(&rng, -2, 2);
      expected += conjugate_log_post(&records, j, sd[j] * sd[j], 9, theta[j]) -
                  conjugate_log_post(&records, j, sd[j] * sd[j], 9, 0);
      assert_true(model.parameters.unit_scale[j] == sd[j]);
    }
    assert_close(log_post(&model, &records, theta) - log_post(&model, &records, origin), expected, 1e-9);
    tacit_model_clear(&model);
  }
}

static void test_banana_posterior_is_a_bent_normal(void **state) {
  const double obs_var[] = {20, 2.5, 1.5, 4}, prior_var = 1000, a = 20, b = 0.7, m = 0.3;
  uint64_t rng = 52;
  for (size_t dim = 2; dim <= 4; dim += 2) {
    tacit_model_t model;
    tacit_error_t err = {0};
    assert_ok(tacit_model_init_banana(&model, dim, a, b, m, prior_var, obs_var, &err), err);
    check_public_side(&model);
    check_gradients(&model, &rng);
    records_t records = random_records(dim, &rng);
    double previous_actual = 0, previous_expected = 0;
    for (size_t round = 0; round < 100; round++) {
      double theta[4], expected = 0;
      for (size_t j = 0; j < dim; j++) {
        theta[j] = model_testing_uniform(&rng, -1.5, 1.5);
      }
      for (size_t j = 0; j < dim; j++) {
        double u = j == 1 ? theta[1] + a * (theta[0] - m) * (theta[0] - m) + b : theta[j];
        expected += conjugate_log_post(&records, j, obs_var[j], prior_var, u);
      }
      double actual = log_post(&model, &records, theta);
      if (round > 0) {
        double tolerance = 1e-10 * (fabs(actual) + fabs(previous_actual));
        assert_close(actual - previous_actual, expected - previous_expected, tolerance);
      }
      previous_actual = actual;
      previous_expected = expected;
    }
    tacit_model_clear(&model);
  }
}

static void test_mixture_matches_its_density(void **state) {
  const double prior_var[2] = {10, 1}, obs_var = 2;
  tacit_model_t model;
  tacit_error_t err = {0};
  assert_ok(tacit_model_init_mixture(&model, obs_var, prior_var, &err), err);
  check_public_side(&model);
  uint64_t rng = 53;
  check_gradients(&model, &rng);
  records_t records = random_records(1, &rng);
  for (size_t round = 0; round < 100; round++) {
    double theta[2] = {model_testing_uniform(&rng, -3, 3), model_testing_uniform(&rng, -3, 3)}, out[16];
    model.records.log_lik(model.records.ctx, records.blocks[0], 1, theta, out);
    for (size_t i = 0; i < 16; i++) {
      double x = at(&records, i, 0), p = x - theta[0], q = x - theta[0] - theta[1];
      double density = exp(-p * p / (2 * obs_var)) + exp(-q * q / (2 * obs_var));
      assert_close(out[i], log(density), 0x1p-34 + 1e-13 * (1 + fabs(out[i])));
    }
    double prior = -theta[0] * theta[0] / 20 - theta[1] * theta[1] / 2;
    assert_close(model.parameters.log_prior(model.parameters.ctx, theta, NULL), prior, 1e-13);
  }
  tacit_model_clear(&model);
}

/* Far from both components the density underflows; its logarithm and gradient must not. */
static void test_mixture_far_record_is_finite(void **state) {
  const double prior_var[2] = {10, 1}, theta[2] = {0, 1};
  const float theta_float[2] = {0, 1};
  tacit_model_t model;
  tacit_error_t err = {0};
  assert_ok(tacit_model_init_mixture(&model, 2, prior_var, &err), err);
  float block[16] __attribute__((aligned(64))) = {1000, -1000}, grad[32];
  double out[16];
  model.records.log_lik(model.records.ctx, block, 1, theta, out);
  model.records.grad(model.records.ctx, block, 1, theta_float, grad);
  assert_close(out[0], -999.0 * 999 / 4, 1e-6);
  assert_close(out[1], -250000, 1e-6);
  assert_close((double)grad[0], 499.5, 1e-2);
  assert_close((double)grad[16], 499.5, 1e-2);
  assert_close((double)grad[1], -500, 1e-2);
  assert_close((double)grad[17], 0, 1e-2);
  tacit_model_clear(&model);
}

static void test_paper_models_check_their_arguments(void **state) {
  const double ok[] = {1, 2}, bad[] = {1, NAN}, zero[] = {0, 1}, infinite[] = {INFINITY, 1};
  tacit_model_t model;
  tacit_error_t err = {0};
  assert_int_equal(tacit_model_init_gaussian_mean(&model, 0, ok, 1, &err), TACIT_ERR_ARGUMENT);
  assert_int_equal(tacit_model_init_gaussian_mean(&model, 2, bad, 1, &err), TACIT_ERR_ARGUMENT);
  assert_string_equal(err.field, "sd");
  assert_int_equal(tacit_model_init_gaussian_mean(&model, 2, zero, 1, &err), TACIT_ERR_ARGUMENT);
  assert_int_equal(tacit_model_init_gaussian_mean(&model, 2, ok, -1, &err), TACIT_ERR_ARGUMENT);
  assert_string_equal(err.field, "prior_sd");
  assert_int_equal(tacit_model_init_banana(&model, 1, 1, 0, 0, 1, ok, &err), TACIT_ERR_ARGUMENT);
  assert_int_equal(tacit_model_init_banana(&model, 2, NAN, 0, 0, 1, ok, &err), TACIT_ERR_ARGUMENT);
  assert_int_equal(tacit_model_init_banana(&model, 2, 1, INFINITY, 0, 1, ok, &err), TACIT_ERR_ARGUMENT);
  assert_int_equal(tacit_model_init_banana(&model, 2, 1, 0, 0, 0, ok, &err), TACIT_ERR_ARGUMENT);
  assert_string_equal(err.field, "prior_var");
  assert_int_equal(tacit_model_init_banana(&model, 2, 1, 0, 0, 1, infinite, &err), TACIT_ERR_ARGUMENT);
  assert_string_equal(err.field, "obs_var");
  assert_int_equal(tacit_model_init_mixture(&model, 0, ok, &err), TACIT_ERR_ARGUMENT);
  assert_int_equal(tacit_model_init_mixture(&model, 1, zero, &err), TACIT_ERR_ARGUMENT);
  assert_null(model.free);
}

static tacit_status_t init_model(tacit_model_t *model, int which, tacit_error_t *err) {
  const double variances[] = {1, 2, 3};
  switch (which) {
  case 0:
    return tacit_model_init_gaussian_mean(model, 3, variances, 1, err);
  case 1:
    return tacit_model_init_banana(model, 3, 1, 0, 0, 1, variances, err);
  default:
    return tacit_model_init_mixture(model, 1, variances, err);
  }
}

static void test_paper_models_every_failing_allocation_is_an_error(void **state) {
  for (int which = 0; which < 3; which++) {
    bool has_ended = false;
    for (size_t k = 1; !has_ended; k++) {
      assert_true(k < 100);
      tacit_model_t model;
      tacit_error_t err = {0};
      tacit_alloc_fail_at(k);
      tacit_status_t status = init_model(&model, which, &err);
      tacit_alloc_fail_at(0);
      has_ended = status == TACIT_OK;
      assert_true(has_ended || (status == TACIT_ERR_MEMORY && err.status == status && model.free == NULL));
      tacit_model_clear(&model);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gaussian_mean_posterior_is_conjugate),
      cmocka_unit_test(test_banana_posterior_is_a_bent_normal),
      cmocka_unit_test(test_mixture_matches_its_density),
      cmocka_unit_test(test_mixture_far_record_is_finite),
      cmocka_unit_test(test_paper_models_check_their_arguments),
      cmocka_unit_test(test_paper_models_every_failing_allocation_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
