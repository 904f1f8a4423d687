/*
 * The same integers for any number of threads, any order of the records, any number of parameter vectors in a
 * pass, and every instruction set.
 */
#include <string.h>

#include "base/isa.h"
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
  settings.max_unit_rows = 10;
  tacit_curator_t *curator;
  assert_ok(tacit_curator_new_exposed(&curator, records, model, &settings, &err), err);
  assert_ok(tacit_curator_reserve(curator, n_theta, &err), err);
  support_rng_t rng = {3};
  for (size_t k = 0; k < n_theta; k++) {
    for (size_t j = 0; j < dim; j++) {
      double theta = support_normal(&rng), theta_prop = theta + 0.1 * support_normal(&rng);
      curator->theta_float[k * dim + j] = (float)theta;
      curator->pairs[2 * k * dim + j] = theta;
      curator->pairs[(2 * k + 1) * dim + j] = theta_prop;
    }
    curator->clips[k] = 0x1p29;
  }
  sums_t sums;
  tacit_curator_sum_gradients(curator, n_theta, settings.clip_bound_grad);
  memcpy(sums.grad, curator->sums, sizeof sums.grad);
  tacit_curator_sum_ratios(curator, n_theta);
  memcpy(sums.ratio, curator->sums, sizeof sums.ratio);
  assert_true(curator->notes.n_grad_clipped > 0 && curator->notes.n_ratio_clipped > 0);
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

static void test_sums_do_not_depend_on_threads_or_order(void **state) {
  (void)state;
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model = support_glm(&kernel, TACIT_FAMILY_BERNOULLI, n_features, 1, 0);
  size_t *order = malloc(n_records * sizeof *order);
  shuffle(order, 0);
  sums_t expected = sums_of(shuffled_logistic(order), &model, 1);
  size_t threads[] = {1, 2, 3, 7};
  for (size_t t = 0; t < 4; t++) {
    for (uint64_t seed = 0; seed < 3; seed++) {
      shuffle(order, seed);
      sums_t sums = sums_of(shuffled_logistic(order), &model, threads[t]);
      assert_memory_equal(&sums, &expected, sizeof sums);
    }
  }
  free(order);
}

static void test_unit_sums_do_not_depend_on_threads(void **state) {
  (void)state;
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model = support_glm(&kernel, TACIT_FAMILY_BERNOULLI, n_features, 1, 0);
  tacit_error_t err;
  sums_t expected;
  size_t threads[] = {1, 2, 3, 7};
  for (size_t t = 0; t < 4; t++) {
    tacit_records_t *records = support_logistic(n_records, n_features, 11);
    size_t *offsets = malloc((n_records + 1) * sizeof *offsets), n_units = 0, at = 0;
    support_rng_t rng = {9};
    for (offsets[0] = 0; at < n_records;) {
      at += 1 + support_bits(&rng) % 10;
      offsets[++n_units] = at < n_records ? at : n_records;
    }
    assert_ok(tacit_records_set_units(records, offsets, n_units, &err), err);
    free(offsets);
    sums_t sums = sums_of(records, &model, threads[t]);
    expected = t == 0 ? sums : expected;
    assert_memory_equal(&sums, &expected, sizeof sums);
  }
}

#if defined(__x86_64__)
extern const tacit_lattice_functions_t tacit_lattice_functions_portable, tacit_lattice_functions_avx2,
    tacit_lattice_functions_avx512;

static void test_lattice_kernels_same_integers_on_every_instruction_set(void **state) {
  (void)state;
  const tacit_lattice_functions_t *tables[3] = {&tacit_lattice_functions_portable};
  size_t n_tables = 1;
  if (tacit_has_avx2()) {
    tables[n_tables++] = &tacit_lattice_functions_avx2;
  }
  if (tacit_has_avx512()) {
    tables[n_tables++] = &tacit_lattice_functions_avx512;
  }
  tacit_record_model_t linear = {.dim = 12, .n_columns = 5, .n_linear = 2, .n_extra = 2, .n_features = 5};
  tacit_record_model_t dense = {.dim = 12, .n_columns = 5};
  support_rng_t rng = {21};
  for (int round = 0; round < 3000; round++) {
    float block[5 * 16], residual[12 * 16], norms[16];
    double log_lik[32], clips[1] = {0x1p31};
    for (size_t i = 0; i < 12 * 16; i++) {
      residual[i] = (float)(support_normal(&rng) * (round % 4 == 0 ? 1e30 : 1));
      block[i % 80] = (float)support_uniform(&rng, -1, 1);
    }
    for (size_t lane = 0; lane < 16; lane++) {
      norms[lane] = lane == 7 && round % 3 == 0 ? NAN : 2.3f;
      log_lik[lane] = support_normal(&rng) * 3;
      log_lik[16 + lane] = lane == 2 ? -INFINITY : support_normal(&rng);
    }
    tacit_lattice_t lattice = tacit_lattice_for(&linear, 1, 1.7);
    int32_t lanes[3][12 * 16];
    int64_t lanes64[3][12 * 16];
    double unclipped[3][16];
    for (size_t t = 0; t < n_tables; t++) {
      tacit_curator_notes_t notes = {0};
      memset(lanes[t], 0, sizeof lanes[t]);
      memset(lanes64[t], 0, sizeof lanes64[t]);
      tables[t]->linear(&linear, block, norms, &lattice, 1, residual, lanes[t], &notes);
      tables[t]->dense(&dense, norms, &lattice, 1, residual, lanes[t], &notes);
      tables[t]->exposed(&linear, block, norms, 0.5, 1, residual, lanes64[t]);
      tables[t]->ratio(norms, 1, 1, log_lik, clips, lanes64[t], &notes);
      tables[t]->ratio_unclipped(norms, 1, log_lik, unclipped[t]);
      assert_memory_equal(lanes[t], lanes[0], sizeof lanes[0]);
      assert_memory_equal(lanes64[t], lanes64[0], sizeof lanes64[0]);
      assert_memory_equal(unclipped[t], unclipped[0], sizeof unclipped[0]);
    }
  }
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sums_do_not_depend_on_threads_or_order),
      cmocka_unit_test(test_unit_sums_do_not_depend_on_threads),
#if defined(__x86_64__)
      cmocka_unit_test(test_lattice_kernels_same_integers_on_every_instruction_set),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
