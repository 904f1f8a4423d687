/*
 * Releases for tuning: the integers that are actually summed differ by no more than what is charged for, over
 * adversarial records, units and models, and worst cases come close to it; values agree with plain
 * arithmetic; noise is what was charged.
 */
#include <float.h>
#include <string.h>

#include "data/records.h"
#include "formula/glm.h"
#include "support.h"

enum { max_rows = 4, max_features = 6, max_dim = 2 * max_features + 1 };

static tacit_record_model_t curved(tacit_glm_kernel_t *kernel, tacit_family_t family, size_t p,
                                   size_t n_linear, size_t n_extra) {
  tacit_record_model_t model = support_glm(kernel, family, p, n_linear, n_extra);
  kernel->has_intercept = true;
  model.curvature_bound = tacit_glm_curvature_bound;
  model.curvature = tacit_glm_curvature;
  return model;
}

static float adversarial(support_rng_t *rng) {
  static const float special[] = {0,         FLT_TRUE_MIN, FLT_MAX, -FLT_MAX, NAN, INFINITY,
                                  -INFINITY, 1e-20f,       1e9f,    -4e9f,    1,   -1};
  switch (support_bits(rng) % 3) {
  case 0:
    return special[support_bits(rng) % (sizeof special / sizeof special[0])];
  case 1:
    return (float)support_normal(rng);
  default:
    return (float)ldexp(support_uniform(rng, -1, 1), (int)(support_bits(rng) % 200) - 100);
  }
}

/* One unit of up to max_rows records: vertices of the cube, or anything a float can hold. */
static tacit_curator_t *any_unit(support_rng_t *rng, const tacit_record_model_t *model, bool is_single) {
  tacit_error_t err;
  tacit_records_t *records;
  size_t n = is_single ? 1 : 1 + support_bits(rng) % max_rows, offsets[2] = {0, n},
         kind = support_bits(rng) % 3;
  assert_ok(tacit_records_new(&records, n, model->n_columns, &err), err);
  for (size_t i = 0; i < n; i++) {
    double x[max_features + 1];
    for (size_t j = 0; j < model->n_columns; j++) {
      x[j] = kind == 0 ? 1 : kind == 1 ? support_uniform(rng, -1, 1) : (double)adversarial(rng);
    }
    tacit_records_set(records, i, x);
  }
  if (!is_single) {
    assert_ok(tacit_records_set_units(records, offsets, 1, &err), err);
  }
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.max_unit_rows = is_single ? 1 : max_rows;
  tacit_curator_t *curator;
  assert_ok(tacit_curator_new_exposed(&curator, records, model, &settings, &err), err);
  return curator;
}

/* The integers that one unit adds to a curvature; false if the point has no bound. */
static bool curvature_integers(support_rng_t *rng, const tacit_record_model_t *model, const double *theta,
                               bool is_single, int64_t *out) {
  tacit_error_t err;
  double values[max_dim], sd[max_dim];
  tacit_curator_t *curator = any_unit(rng, model, is_single);
  tacit_status_t status = tacit_curator_release_curvature(curator, theta, 1, values, sd, &err);
  for (size_t i = 0; status == TACIT_OK && i < model->dim; i++) {
    out[i] = (int64_t)curator->door->sums[i];
  }
  tacit_curator_free(curator);
  return status == TACIT_OK;
}

/* Squared lengths and distance of the integers of two units, against the sensitivity m 2^20 sqrt(dim). */
static void check_curvatures(const tacit_record_model_t *model, size_t n_pairs, double least) {
  support_rng_t rng = {model->dim * 3 + model->n_linear};
  double theta[max_dim], worst = 0;
  for (size_t pair = 0; pair < n_pairs; pair++) {
    bool is_single = pair % 2 == 0;
    double limit = ldexp((double)model->dim, 2 * 20) * (is_single ? 1 : max_rows * max_rows);
    int64_t a[max_dim], b[max_dim];
    for (size_t j = 0; j < model->dim; j++) {
      theta[j] = pair % 3 == 0 ? 0 : 2 * support_normal(&rng);
    }
    if (!curvature_integers(&rng, model, theta, is_single, a) ||
        !curvature_integers(&rng, model, theta, is_single, b)) {
      continue;
    }
    double square = 0, length = 0;
    for (size_t i = 0; i < model->dim; i++) {
      square += (double)(a[i] - b[i]) * (double)(a[i] - b[i]);
      length += (double)a[i] * (double)a[i];
    }
    assert_true(square <= limit && length <= limit);
    worst = fmax(worst, sqrt(fmax(square, length) / limit));
  }
  if (!(worst >= least)) {
    fail_msg("%s, %zu parameters: the worst pair reaches only %g of the bound", model->name, model->dim,
             worst);
  }
}

/* A model that does not keep what it promises. */
static void lying_curvature(const void *ctx, const double *x, const double *theta, double *weights) {
  (void)ctx, (void)theta;
  weights[0] = x[1] > 0.5 ? NAN : x[1] > 0 ? -1e30 : x[1] > -0.5 ? 1e30 : INFINITY;
}

static void test_no_pair_of_units_exceeds_the_sensitivity_of_a_curvature(void **state) {
  (void)state;
  tacit_glm_kernel_t kernel;
  size_t n = (size_t)(3000 * testing_multiplier());
  tacit_record_model_t model = curved(&kernel, TACIT_FAMILY_BERNOULLI, 4, 1, 0);
  check_curvatures(&model, n, 0.99);
  model = curved(&kernel, TACIT_FAMILY_GAUSSIAN, 5, 1, 1);
  check_curvatures(&model, n, 0.99);
  model = curved(&kernel, TACIT_FAMILY_POISSON, 3, 1, 0);
  check_curvatures(&model, n, 0.99);
  model = curved(&kernel, TACIT_FAMILY_CATEGORICAL, 6, 2, 0);
  check_curvatures(&model, n, 0.85);
  model = curved(&kernel, TACIT_FAMILY_BERNOULLI, 4, 1, 0);
  model.curvature = lying_curvature;
  check_curvatures(&model, n, 0.6);
}

static void test_no_pair_of_units_exceeds_the_sensitivity_of_a_histogram(void **state) {
  (void)state;
  tacit_glm_kernel_t kernel;
  tacit_record_model_t models[3] = {support_glm(&kernel, TACIT_FAMILY_POISSON, 4, 1, 0), support_echo(),
                                    support_echo()};
  support_rng_t rng = {3};
  tacit_error_t err;
  size_t n_apart = 0, cells = 0;
  uint64_t seen = 0;
  for (size_t pair = 0; pair < (size_t)(6000 * testing_multiplier()); pair++) {
    const tacit_record_model_t *model = &models[pair % 3];
    double theta[4], counts[2][TACIT_NORM_CELLS], sd, square = 0;
    for (size_t j = 0; j < model->dim; j++) {
      theta[j] = support_normal(&rng);
    }
    for (int side = 0; side < 2; side++) {
      tacit_curator_t *curator = any_unit(&rng, model, pair % 2 == 0);
      assert_ok(tacit_curator_release_norms(curator, theta, 1, counts[side], &sd, &err), err);
      tacit_wide_t total = 0;
      for (size_t k = 0; k < TACIT_NORM_CELLS; k++) {
        tacit_wide_t count = curator->door->sums[k];
        assert_true(count == 0 || count == (tacit_wide_t)1 << 20);
        total += count;
        seen |= count > 0 ? UINT64_C(1) << k : 0;
      }
      assert_true(total <= (tacit_wide_t)1 << 20);
      tacit_curator_free(curator);
    }
    for (size_t k = 0; k < TACIT_NORM_CELLS; k++) {
      square += (counts[0][k] - counts[1][k]) * (counts[0][k] - counts[1][k]);
    }
    assert_true(square <= 2);
    n_apart += square > 1.5;
  }
  for (size_t k = 0; k < TACIT_NORM_CELLS; k++) {
    cells += seen >> k & 1;
  }
  assert_true(testing_multiplier() < 1 || (n_apart > 1000 && cells > 40)); /* a short run sees less */
}

/* ---- values ---- */

static void test_values_agree_with_plain_arithmetic_on_any_number_of_threads(void **state) {
  (void)state;
  enum { n = 40000, p = 3 };
  tacit_glm_kernel_t kernel;
  tacit_error_t err;
  tacit_record_model_t model = curved(&kernel, TACIT_FAMILY_BERNOULLI, p, 1, 0);
  const double theta[p] = {0.3, -1, 2};
  double curvature[p] = {0}, counts[TACIT_NORM_CELLS] = {0}, out[TACIT_NORM_CELLS], sd[TACIT_NORM_CELLS];
  tacit_records_t *records = support_logistic(n, p, 9);
  for (size_t i = 0; i < n; i++) {
    const float *block = tacit_records_block(records, i / 16);
    double eta = 0, square = 0;
    for (size_t j = 0; j < p; j++) {
      double x = (double)block[j * 16 + i % 16];
      eta += theta[j] * x;
      square += x * x;
    }
    double mean = 1 / (1 + exp(-eta)),
           norm = 0.5 * fabs((double)block[p * 16 + i % 16] - mean) * sqrt(square);
    for (size_t j = 0; j < p; j++) {
      double x = (double)block[j * 16 + i % 16];
      curvature[j] += 0.5 * mean * (1 - mean) * x * x;
    }
    size_t k = 0;
    while (norm > tacit_norm_edge(k)) {
      k++;
    }
    counts[k]++;
  }
  assert_true(tacit_norm_edge(0) == 0x1p-8 && tacit_norm_edge(47) > 45000 && isinf(tacit_norm_edge(48)));
  for (size_t threads = 1; threads <= 3; threads++) {
    tacit_curator_settings_t settings = tacit_curator_settings_default();
    settings.n_threads = threads;
    settings.temperature_power = 0.5;
    tacit_curator_t *curator;
    assert_ok(tacit_curator_new_exposed(&curator, support_logistic(n, p, 9), &model, &settings, &err), err);
    assert_ok(tacit_curator_release_curvature(curator, theta, 1, out, sd, &err), err);
    for (size_t j = 0; j < p; j++) {
      assert_close(out[j], curvature[j], n * 0x1p-23);
    }
    assert_ok(tacit_curator_release_norms(curator, theta, 1, out, sd, &err), err);
    for (size_t k = 0; k < TACIT_NORM_CELLS; k++) {
      assert_close(out[k], counts[k], 3); /* float32 may put a norm next to an edge into the next cell */
    }
    tacit_curator_free(curator);
  }
  tacit_records_free(records);
}

/* ---- charge and noise ---- */

static void open_curved(fixture_t *f, double epsilon, tacit_relation_t relation, size_t rows) {
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.max_unit_rows = rows;
  f->model = curved(&f->kernel, TACIT_FAMILY_BERNOULLI, 3, 1, 0);
  open_model(f, 40, 3, epsilon, relation, &settings);
}

/*
 * Noise of 2000 releases against what is announced, and that against multiplier times sensitivity: the sum of
 * squares of n normals is within 6 of its own standard deviations of n but for 2e-9.
 */
static void check_noise(tacit_relation_t relation, size_t rows) {
  fixture_t f;
  tacit_error_t err;
  const double theta[3] = {0.5, 1, -1};
  double exact_curvature[3], exact_counts[TACIT_NORM_CELLS], out[TACIT_NORM_CELLS], sd[3], count_sd;
  open_curved(&f, 1e6, relation, rows);
  tacit_curator_t *exposed;
  assert_ok(tacit_curator_new_exposed(&exposed, support_logistic(40, 3, 4), &f.model, NULL, &err), err);
  assert_ok(tacit_curator_release_curvature(exposed, theta, 1, exact_curvature, sd, &err), err);
  assert_ok(tacit_curator_release_norms(exposed, theta, 1, exact_counts, &count_sd, &err), err);
  tacit_curator_free(exposed);
  double curvature_square = 0, count_square = 0;
  for (size_t i = 0; i < 2000; i++) {
    assert_ok(tacit_curator_release_curvature(f.curator, theta, 0.7, out, sd, &err), err);
    for (size_t j = 0; j < 3; j++) {
      assert_close(sd[j] / (0.7 * sqrt(3) * 0.25 * (double)rows), 1, 1e-12);
      curvature_square += (out[j] - exact_curvature[j]) * (out[j] - exact_curvature[j]) / (sd[j] * sd[j]);
    }
    assert_ok(tacit_curator_release_norms(f.curator, theta, 0.7, out, &count_sd, &err), err);
    assert_close(count_sd / (relation == TACIT_RELATION_SUBSTITUTE ? 0.7 * sqrt(2) : 0.7), 1, 1e-12);
    for (size_t k = 0; k < TACIT_NORM_CELLS; k++) {
      count_square += (out[k] - exact_counts[k]) * (out[k] - exact_counts[k]) / (count_sd * count_sd);
    }
  }
  assert_close(curvature_square, 6000, 6 * sqrt(2 * 6000.0));
  assert_close(count_square, 2000 * TACIT_NORM_CELLS, 6 * sqrt(4000.0 * TACIT_NORM_CELLS));
  size_t n_events, total = 0;
  const tacit_event_t *events = tacit_budget_events(f.budget, &n_events);
  for (size_t i = 0; i < n_events; i++) {
    assert_int_equal(events[i].kind, TACIT_EVENT_GAUSSIAN);
    assert_close(events[i].noise_multiplier, 0.7, 0);
    total += events[i].count;
  }
  assert_int_equal(total, 4000);
  close_private(&f);
}

static void test_noise_is_what_was_charged(void **state) {
  (void)state;
  check_noise(TACIT_RELATION_SUBSTITUTE, 1);
  check_noise(TACIT_RELATION_ADD_REMOVE, 1);
  check_noise(TACIT_RELATION_SUBSTITUTE, 3);
}

static void test_what_cannot_be_released_is_refused(void **state) {
  (void)state;
  fixture_t f;
  tacit_error_t err;
  double theta[3] = {0}, out[TACIT_NORM_CELLS], sd[3];
  open_curved(&f, 0.01, TACIT_RELATION_SUBSTITUTE, 1);
  for (int what = 0; what < 2; what++) {
    memset(out, 1, sizeof out);
    tacit_status_t status = what == 0 ? tacit_curator_release_curvature(f.curator, theta, 1, out, sd, &err)
                                      : tacit_curator_release_norms(f.curator, theta, 1, out, sd, &err);
    assert_int_equal(status, TACIT_ERR_BUDGET);
    for (size_t j = 0; j < (what == 0 ? 3 : TACIT_NORM_CELLS); j++) {
      assert_true(out[j] == 0);
    }
  }
  assert_true(tacit_budget_rho_spent(f.budget) == 0);
  theta[1] = NAN;
  assert_int_equal(tacit_curator_release_curvature(f.curator, theta, 1e4, out, sd, &err), TACIT_ERR_ARGUMENT);
  assert_int_equal(tacit_curator_release_norms(f.curator, theta, 1e4, out, sd, &err), TACIT_ERR_ARGUMENT);
  theta[1] = 0;
  assert_int_equal(tacit_curator_release_curvature(f.curator, theta, 0, out, sd, &err), TACIT_ERR_ARGUMENT);
  f.model.curvature = NULL;
  assert_int_equal(tacit_curator_release_curvature(f.curator, theta, 1e4, out, sd, &err), TACIT_ERR_ARGUMENT);
  assert_int_equal(tacit_curator_set_clip_bounds(f.curator, -1, 0, &err), TACIT_ERR_ARGUMENT);
  assert_int_equal(tacit_curator_set_clip_bounds(f.curator, 0, NAN, &err), TACIT_ERR_ARGUMENT);
  close_private(&f);
}

/* Clip bounds that change hold for the releases that follow: noise grows with them, the charge does not. */
static void test_clip_bounds_can_be_replaced(void **state) {
  (void)state;
  fixture_t f;
  tacit_error_t err;
  open_curved(&f, 1e6, TACIT_RELATION_SUBSTITUTE, 1);
  const double a[3] = {0}, b[3] = {0.5, 0, 0};
  assert_ok(tacit_curator_set_clip_bounds(f.curator, 0.25, 0.125, &err), err);
  assert_close(tacit_curator_grad_bound(f.curator), 0.25, 0);
  assert_close(tacit_curator_ratio_bound(f.curator, a, b), 0.0625, 1e-12);
  assert_ok(tacit_curator_set_clip_bounds(f.curator, 0, 0.5, &err), err);
  assert_close(tacit_curator_grad_bound(f.curator), 0.25, 0);
  assert_close(tacit_curator_clip_ratio(f.curator), 0.5, 0);
  double out, sd;
  assert_ok(tacit_curator_release_log_ratio(f.curator, 1, a, b, 2, &out, &sd, &err), err);
  assert_close(sd, 2 * 2 * 0.25, 1e-8);
  assert_ok(tacit_curator_set_clip_bounds(f.curator, 100, 100, &err), err);
  assert_close(tacit_curator_grad_bound(f.curator), sqrt(3), 1e-9); /* the model's own stays */
  close_private(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_pair_of_units_exceeds_the_sensitivity_of_a_curvature),
      cmocka_unit_test(test_no_pair_of_units_exceeds_the_sensitivity_of_a_histogram),
      cmocka_unit_test(test_values_agree_with_plain_arithmetic_on_any_number_of_threads),
      cmocka_unit_test(test_noise_is_what_was_charged),
      cmocka_unit_test(test_what_cannot_be_released_is_refused),
      cmocka_unit_test(test_clip_bounds_can_be_replaced),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
