/*
 * The same integers for any number of threads, any order of the records, any number of parameter vectors in a
 * pass.
 */
#include <string.h>

#include "base/isa.h"
#include "data/records.h"
#include "support.h"

enum { n_records = 20011, n_features = 7, n_theta = 3, dim = n_features };

static tacit_records_t *shuffled_logistic(const size_t *order) {
  tacit_records_t *source = support_logistic(n_records, n_features, 11), *records;
  tacit_error_t err;
  assert_ok(tacit_records_new(&records, n_records, n_features + 1, &err), err);
  for (size_t i = 0; i < n_records; i++) {
    const float *block = tacit_records_block(source, order[i] / 16);
    double x[n_features + 1];
    for (size_t j = 0; j <= n_features; j++) {
      x[j] = (double)block[j * 16 + order[i] % 16];
    }
    tacit_records_set(records, i, x);
  }
  tacit_records_free(source);
  return records;
}

typedef struct sums {
  tacit_wide_t grad[n_theta * dim], ratio[n_theta];
} sums_t;

static sums_t sums_of(tacit_records_t *records, const tacit_record_model_t *model, size_t n_threads) {
  tacit_error_t err;
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.n_threads = n_threads;
  settings.clip_bound_grad = 1.1; /* clips some */
  settings.clip_bound_ratio = 0.5;
  settings.max_unit_rows = 10;
  tacit_curator_t *curator;
  assert_ok(tacit_curator_new_exposed(&curator, records, model, &settings, &err), err);
  support_rng_t rng = {3};
  double theta[n_theta * dim], theta_prop[n_theta * dim], out[n_theta * dim], noise_sd[n_theta];
  for (size_t i = 0; i < n_theta * dim; i++) {
    theta[i] = support_normal(&rng);
    theta_prop[i] = theta[i] + 0.1 * support_normal(&rng);
  }
  sums_t sums;
  assert_ok(tacit_curator_release_gradient(curator, n_theta, theta, 0, out, &err), err);
  memcpy(sums.grad, curator->door->sums, sizeof sums.grad);
  assert_ok(tacit_curator_release_log_ratio(curator, n_theta, theta, theta_prop, 0, out, noise_sd, &err),
            err);
  memcpy(sums.ratio, curator->door->sums, sizeof sums.ratio);
  assert_true(curator->door->notes.n_grad_clipped > 0 && curator->door->notes.n_ratio_clipped > 0);
  tacit_curator_free(curator);
  return sums;
}

static void shuffle(size_t *order, uint64_t seed) {
  support_rng_t rng = {seed};
  for (size_t i = 0; i < n_records; i++) {
    order[i] = i;
  }
  for (size_t i = n_records; i > 1 && seed != 0; i--) {
    size_t j = support_bits(&rng) % i, swap = order[i - 1];
    order[i - 1] = order[j];
    order[j] = swap;
  }
}

/* Runs of one to seven threads, on each instruction set that there is. */
enum { N_RUNS = 12 };
static size_t threads_of(size_t run) {
  static const size_t threads[] = {1, 2, 3, 7};
  return threads[run % 4];
}

static tacit_record_model_t model_for(size_t run, tacit_glm_kernel_t *kernel) {
  tacit_isa_limit((tacit_isa_t)(run / 4));
  return support_glm(kernel, TACIT_FAMILY_BERNOULLI, n_features, 1, 0);
}

static void test_sums_do_not_depend_on_threads_or_order(void **state) {
  (void)state;
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model = model_for(0, &kernel);
  size_t *order = malloc(n_records * sizeof *order);
  shuffle(order, 0);
  sums_t expected = sums_of(shuffled_logistic(order), &model, 1);
  for (size_t t = 0; t < N_RUNS; t++) {
    model = model_for(t, &kernel);
    for (uint64_t seed = 0; seed < 3; seed++) {
      shuffle(order, seed);
      sums_t sums = sums_of(shuffled_logistic(order), &model, threads_of(t));
      assert_memory_equal(&sums, &expected, sizeof sums);
    }
  }
  free(order);
}

/* Bounds of the records' norms, NaN for those that do not count: by the formula, on any number of threads. */
static void test_norms_do_not_depend_on_threads(void **state) {
  (void)state;
  static const double odd[] = {NAN, INFINITY, -INFINITY, 3e38, -5e9, 4e9};
  tacit_glm_kernel_t kernel;
  tacit_record_model_t linear = support_glm(&kernel, TACIT_FAMILY_BERNOULLI, n_features, 1, 0),
                       dense = linear;
  dense.n_linear = 0;
  tacit_error_t err;
  for (size_t t = 0; t < N_RUNS; t++) {
    size_t n_threads = threads_of(t);
    tacit_isa_limit((tacit_isa_t)(t / 4));
    for (size_t is_dense = 0; is_dense < 2; is_dense++) {
      tacit_records_t *records = support_logistic(n_records, n_features, 11);
      for (size_t i = 0, j = 0; i < n_records; i += 37, j++) { /* in each feature and in the response */
        float *value = (float *)tacit_records_block(records, i / 16) + j % (n_features + 1) * 16 + i % 16;
        *value = (float)odd[j / (n_features + 1) % (sizeof odd / sizeof odd[0])];
      }
      tacit_curator_t *curator;
      tacit_curator_settings_t settings = tacit_curator_settings_default();
      settings.n_threads = n_threads;
      assert_ok(tacit_curator_new_exposed(&curator, records, is_dense ? &dense : &linear, &settings, &err),
                err);
      for (size_t i = 0; i < tacit_records_n_blocks(records) * 16; i++) {
        double square = 0, sum = 0;
        for (size_t j = 0; j <= n_features; j++) {
          double x = (double)tacit_records_block(records, i / 16)[j * 16 + i % 16];
          sum += fabs(x);
          square += j < n_features ? x * x : 0;
        }
        double norm = sqrt(square) * (1 + 1e-9), found = (double)curator->door->lane_norm[i];
        bool counts = i < n_records && isfinite(sum) && (is_dense || norm <= 0x1p32);
        assert_true(counts ? found == (is_dense ? 1 : (double)nextafterf((float)norm, INFINITY))
                           : isnan(found));
      }
      tacit_curator_free(curator);
    }
  }
}

static void test_unit_sums_do_not_depend_on_threads(void **state) {
  (void)state;
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model = support_glm(&kernel, TACIT_FAMILY_BERNOULLI, n_features, 1, 0);
  tacit_error_t err;
  sums_t expected;
  for (size_t t = 0; t < N_RUNS; t++) {
    model = model_for(t, &kernel);
    tacit_records_t *records = support_logistic(n_records, n_features, 11);
    size_t *offsets = malloc((n_records + 1) * sizeof *offsets), n_units = 0, at = 0;
    support_rng_t rng = {9};
    for (offsets[0] = 0; at < n_records;) {
      at += 1 + support_bits(&rng) % 10;
      offsets[++n_units] = at < n_records ? at : n_records;
    }
    assert_ok(tacit_records_set_units(records, offsets, n_units, &err), err);
    free(offsets);
    sums_t sums = sums_of(records, &model, threads_of(t));
    expected = t == 0 ? sums : expected;
    assert_memory_equal(&sums, &expected, sizeof sums);
  }
}

/* ---- every other pass: what is released, for one seed of the noise ---- */

typedef struct releases {
  double unclipped[n_theta * dim], sampled[n_theta * dim], sampled_unclipped[n_theta * dim],
      sampled_ratio[n_theta];
  double moments[dim * (dim + 1) / 2], noise_sd[n_theta];
  tacit_wide_t langevin, langevin_sums[2 * dim + 1];
  tacit_curator_notes_t notes[2];
} releases_t;

static void release_exposed(releases_t *r, const tacit_record_model_t *model, const double *theta,
                            const double *theta_prop, size_t n_threads, double clip, double *sampled) {
  tacit_error_t err;
  tacit_noise_t *noise;
  tacit_curator_t *curator;
  assert_ok(tacit_noise_new_seeded_not_private(&noise, 8, &err), err);
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.n_threads = n_threads;
  settings.clip_bound_grad = settings.clip_bound_ratio = clip;
  settings.subset_noise = noise;
  assert_ok(tacit_curator_new_exposed(&curator, support_logistic(n_records, n_features, 11), model, &settings,
                                      &err),
            err);
  double rate = tacit_curator_sampling_rate(0.3);
  assert_ok(tacit_curator_release_sampled_gradient(curator, n_theta, theta, rate, 1, sampled, &err), err);
  if (clip > 0) {
    assert_ok(tacit_curator_release_sampled_log_ratio(curator, n_theta, theta, theta_prop, rate, 1,
                                                      r->sampled_ratio, r->noise_sd, &err),
              err);
    tacit_row_weighting_t rows = {NULL, 1};
    assert_ok(tacit_curator_release_second_moments(curator, &rows, 1, r->moments, r->noise_sd, &err), err);
  } else {
    assert_ok(tacit_curator_release_gradient(curator, n_theta, theta, 1, r->unclipped, &err), err);
  }
  r->notes[clip > 0] = tacit_curator_notes(curator);
  tacit_curator_free(curator);
  tacit_noise_free(noise);
}

static void decide_langevin(releases_t *r, const tacit_record_model_t *model, const double *theta,
                            const double *theta_prop, size_t n_threads) {
  tacit_error_t err;
  tacit_noise_t *noise;
  tacit_budget_t *budget;
  tacit_curator_t *curator;
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.n_threads = n_threads;
  assert_ok(tacit_noise_new_seeded_not_private(&noise, 8, &err), err);
  assert_ok(tacit_budget_new(&budget, 1e15, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), err);
  assert_ok(tacit_curator_new(&curator, support_logistic(n_records, n_features, 11), model, budget, noise,
                              &settings, &err),
            err);
  tacit_accept_rule_t rule = {.kind = TACIT_ACCEPT_BARKER, .max_bound = 5};
  double metric[dim], prior_grad[dim] = {0}, correction = 0;
  for (size_t j = 0; j < dim; j++) {
    metric[j] = 1;
  }
  bool bit;
  tacit_langevin_pairs_t pairs = {
      {1, theta, theta_prop, &correction, &bit}, prior_grad, prior_grad, metric, 0.1};
  assert_true(support_langevin(curator, &rule, &pairs, 0, &r->langevin));
  memcpy(r->langevin_sums, curator->door->sums, sizeof r->langevin_sums);
  tacit_curator_free(curator);
  tacit_budget_free(budget);
  tacit_noise_free(noise);
}

static void test_all_releases_do_not_depend_on_threads(void **state) {
  (void)state;
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model = support_glm(&kernel, TACIT_FAMILY_BERNOULLI, n_features, 1, 0);
  model.is_softmax = true;
  support_rng_t rng = {3};
  double theta[n_theta * dim], theta_prop[n_theta * dim];
  for (size_t i = 0; i < n_theta * dim; i++) {
    theta[i] = support_normal(&rng);
    theta_prop[i] = theta[i] + 0.1 * support_normal(&rng);
  }
  static releases_t expected, found;
  for (size_t t = 0; t < N_RUNS; t++) {
    model = model_for(t, &kernel);
    model.is_softmax = true;
    releases_t *r = t == 0 ? &expected : &found;
    release_exposed(r, &model, theta, theta_prop, threads_of(t), 1.1, r->sampled);
    release_exposed(r, &model, theta, theta_prop, threads_of(t), 0, r->sampled_unclipped);
    decide_langevin(r, &model, theta, theta_prop, threads_of(t));
    if (t > 0) {
      assert_memory_equal(&found, &expected, sizeof found);
    }
  }
  assert_true(expected.notes[1].n_grad > 0 && expected.notes[1].n_grad_clipped > 0);
  double near_share = (double)expected.notes[1].n_grad / (n_theta * n_records);
  assert_true(near_share > 0.28 && near_share < 0.32); /* 10 standard deviations */
  assert_true(expected.langevin != 0 && expected.langevin_sums[2 * dim] != 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sums_do_not_depend_on_threads_or_order),
      cmocka_unit_test(test_norms_do_not_depend_on_threads),
      cmocka_unit_test(test_unit_sums_do_not_depend_on_threads),
      cmocka_unit_test(test_all_releases_do_not_depend_on_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
