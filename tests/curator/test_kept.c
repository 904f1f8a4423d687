/*
 * Log-likelihoods kept between passes: the same ratios, to the last bit, as a curator that keeps none, for
 * chains that accept, reject, stand still and come back; and only what is new is evaluated.
 */
#include <string.h>

#include "base/memory.h"
#include "data/records.h"
#include "support.h"

enum { n_records = 3003, n_features = 5, n_chains = 4, n_rounds = 300 };

/* Log-likelihoods evaluated, in blocks times points. */
static size_t n_evaluated;

static void count_log_lik(const void *ctx, const float *block, size_t n_theta, const double *theta,
                          double *out) {
  n_evaluated += n_theta;
  tacit_glm_functions()->log_lik(ctx, block, n_theta, theta, out);
}

/* Some records count as zero, some have log ratios that are clipped, infinite or saturated. */
static tacit_records_t *odd_records(void) {
  tacit_records_t *records = support_logistic(n_records, n_features, 17);
  double odd[][n_features + 1] = {{NAN, 1, 1, 1, 1, 0},      {1, 0, 0, 0, 3e38, 1},
                                  {1, 1e9, 0, 0, 0, 1},      {1, 5, 5, 5, 5, 0},
                                  {1, 0, INFINITY, 0, 0, 1}, {1, 1e8, -1e8, 1e8, 1e8, 0}};
  for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
    tacit_records_set(records, 7 + 400 * i, odd[i]);
  }
  return records;
}

static tacit_curator_t *open_curator(const tacit_record_model_t *model, tacit_records_t *records,
                                     size_t n_threads, size_t limit) {
  tacit_error_t err;
  tacit_curator_t *curator;
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.n_threads = n_threads;
  settings.clip_bound_ratio = 1.1;
  settings.temperature_power = 0.75;
  assert_ok(tacit_curator_new_exposed(&curator, records, model, &settings, &err), err);
  curator->kept.limit = limit;
  return curator;
}

/* A public random walk of some chains; every so often one stands still, comes back to where it was, or meets
 * another. */
static void move(support_rng_t *rng, size_t dim, double *theta, double *previous, double *theta_prop) {
  memcpy(theta_prop, theta, n_chains * dim * sizeof *theta);
  for (size_t k = 0; k < n_chains; k++) {
    size_t at = k * dim;
    switch (support_bits(rng) % 8) {
    case 0:
      break;
    case 1:
      memcpy(theta_prop + at, previous + at, dim * sizeof *theta);
      break;
    case 2:
      memcpy(theta_prop + at, theta + (k + 1) % n_chains * dim, dim * sizeof *theta);
      break;
    default:
      theta_prop[at + support_bits(rng) % dim] += 0.3 * support_normal(rng);
      break;
    }
  }
}

/* T l on the grid, saturating. */
static double on_grid(double l, double temperature_power) {
  return rint(fmax(fmin(l * temperature_power, 0x1p18), -0x1p18) * 0x1p32);
}

/* One pair's clipped ratios, record by record. */
static double reference_ratio(const tacit_curator_t *curator, const double *theta, const double *theta_prop) {
  const tacit_record_model_t *model = curator->model;
  double clip = tacit_ratio_clip(tacit_curator_ratio_bound(curator, theta, theta_prop)), before[16],
         after[16];
  tacit_wide_t sum = 0;
  for (size_t i = 0; i < n_records; i++) {
    if (i % 16 == 0) {
      model->log_lik(model->ctx, tacit_records_block(curator->door->records, i / 16), 1, theta, before);
      model->log_lik(model->ctx, tacit_records_block(curator->door->records, i / 16), 1, theta_prop, after);
    }
    double t = curator->settings.temperature_power,
           ratio = on_grid(after[i % 16], t) - on_grid(before[i % 16], t);
    if (isfinite(curator->door->lane_norm[i]) && isfinite(before[i % 16]) && isfinite(after[i % 16])) {
      sum += (int64_t)fmax(fmin(ratio, clip), -clip);
    }
  }
  return tacit_released_value(sum, 0, 0x1p-32);
}

static void check_walk(const tacit_record_model_t *model, tacit_records_t *records[2], size_t n_threads) {
  tacit_error_t err;
  tacit_curator_t *with = open_curator(model, records[0], n_threads, TACIT_KEPT_BYTES);
  tacit_curator_t *without = open_curator(model, records[1], 1, 0);
  support_rng_t rng = {5};
  size_t dim = model->dim;
  double theta[n_chains * n_features] = {0}, previous[n_chains * n_features] = {0},
                          theta_prop[n_chains * n_features];
  double found[n_chains], expected[n_chains], noise_sd[n_chains];
  for (int round = 0; round < n_rounds; round++) {
    size_t n = round == 100 ? 1 : n_chains; /* fewer pairs now and then */
    move(&rng, dim, theta, previous, theta_prop);
    assert_ok(tacit_curator_release_log_ratio(with, n, theta, theta_prop, 0, found, noise_sd, &err), err);
    assert_ok(tacit_curator_release_log_ratio(without, n, theta, theta_prop, 0, expected, noise_sd, &err),
              err);
    assert_memory_equal(found, expected, n * sizeof *found);
    size_t k = (size_t)round % n;
    double reference = reference_ratio(without, theta + k * dim, theta_prop + k * dim);
    assert_true(found[k] >= reference && found[k] <= reference);
    for (k = 0; k < n_chains; k++) {
      if (support_bits(&rng) % 2 == 0) {
        memcpy(previous + k * dim, theta + k * dim, dim * sizeof *theta);
        memcpy(theta + k * dim, theta_prop + k * dim, dim * sizeof *theta);
      }
    }
  }
  tacit_curator_notes_t a = tacit_curator_notes(with), b = tacit_curator_notes(without);
  assert_memory_equal(&a, &b, sizeof a);
  assert_true(a.n_ratio_clipped > 0);
  assert_true(with->kept.n_points == 2 * n_chains && without->kept.n_points == 0);
  tacit_curator_free(with);
  tacit_curator_free(without);
}

static void test_kept_values_change_no_bit(void **state) {
  (void)state;
  tacit_glm_kernel_t kernel;
  tacit_record_model_t logistic = support_glm(&kernel, TACIT_FAMILY_BERNOULLI, n_features, 1, 0),
                       block_by_block = logistic;
  block_by_block.log_lik_blocks = NULL;
  for (size_t n_threads = 1; n_threads <= 3; n_threads++) {
    check_walk(&logistic, (tacit_records_t *[2]){odd_records(), odd_records()}, n_threads);
    check_walk(&block_by_block, (tacit_records_t *[2]){odd_records(), odd_records()}, n_threads);
  }
}

/* A chain's step evaluates the proposal alone, whether the last was accepted or not; a fresh pair, both ends.
 */
static void test_only_new_points_are_evaluated(void **state) {
  (void)state;
  tacit_error_t err;
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model = support_glm(&kernel, TACIT_FAMILY_BERNOULLI, n_features, 1, 0);
  model.log_lik = count_log_lik;
  model.log_lik_blocks = NULL;
  size_t n_blocks = (n_records + 15) / 16, expected;
  size_t workspace = 2 * n_blocks * 16 * sizeof(double); /* for one chain */
  const size_t limits[] = {workspace, workspace - 1};
  for (size_t l = 0; l < 2; l++) {
    tacit_curator_t *curator = open_curator(&model, odd_records(), 1, limits[l]);
    support_rng_t rng = {6};
    double theta[n_features] = {0}, theta_prop[n_features], out, noise_sd;
    n_evaluated = 0;
    for (int round = 0; round < 40; round++) {
      memcpy(theta_prop, theta, sizeof theta);
      theta_prop[round % n_features] += 0.1 * support_normal(&rng);
      assert_ok(tacit_curator_release_log_ratio(curator, 1, theta, theta_prop, 0, &out, &noise_sd, &err),
                err);
      if (support_bits(&rng) % 2 == 0) {
        memcpy(theta, theta_prop, sizeof theta);
      }
    }
    const size_t n_probed = 6; /* blocks that the door makes up for each point to evaluate */
    expected = (l == 0 ? 41 : 80) * (n_blocks + n_probed);
    assert_int_equal(n_evaluated, expected);
    tacit_curator_free(curator);
  }
}

static void test_units_of_several_records_keep_nothing(void **state) {
  (void)state;
  tacit_error_t err;
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model = support_glm(&kernel, TACIT_FAMILY_BERNOULLI, n_features, 1, 0);
  tacit_records_t *records = support_logistic(4, n_features, 1);
  assert_ok(tacit_records_set_units(records, (size_t[]){0, 3, 4}, 2, &err), err);
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.max_unit_rows = 3;
  tacit_curator_t *curator;
  assert_ok(tacit_curator_new_exposed(&curator, records, &model, &settings, &err), err);
  double theta[n_features] = {0}, theta_prop[n_features] = {1}, out, noise_sd;
  assert_ok(tacit_curator_release_log_ratio(curator, 1, theta, theta_prop, 0, &out, &noise_sd, &err), err);
  assert_int_equal(curator->kept.n_points, 0);
  tacit_curator_free(curator);
}

static void test_every_failing_allocation_is_an_error(void **state) {
  (void)state;
  tacit_error_t err;
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model = support_glm(&kernel, TACIT_FAMILY_BERNOULLI, n_features, 1, 0);
  tacit_curator_t *curator = open_curator(&model, odd_records(), 1, TACIT_KEPT_BYTES);
  double theta[n_features] = {0}, theta_prop[n_features] = {1}, out, noise_sd;
  bool has_ended = false;
  for (size_t k = 1; !has_ended; k++) {
    assert_true(k < 100);
    tacit_alloc_fail_at(k);
    tacit_status_t status =
        tacit_curator_release_log_ratio(curator, 1, theta, theta_prop, 0, &out, &noise_sd, &err);
    tacit_alloc_fail_at(0);
    has_ended = status == TACIT_OK;
    assert_true(has_ended || (status == TACIT_ERR_MEMORY && curator->kept.n_points == 0) ||
                curator->kept.n_points == 2);
  }
  assert_true(out < 0 || out > 0);
  tacit_curator_free(curator);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_kept_values_change_no_bit),
      cmocka_unit_test(test_only_new_points_are_evaluated),
      cmocka_unit_test(test_units_of_several_records_keep_nothing),
      cmocka_unit_test(test_every_failing_allocation_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
