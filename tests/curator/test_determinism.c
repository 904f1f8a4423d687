/*
 * The same integers for any number of threads, any order of the records, any number of parameter vectors in a
 * pass, and every instruction set.
 */
#include <string.h>

#include "base/isa.h"
#include "model/analytic.h"
#include "random/tally.h"
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
  assert_ok(tacit_curator_release_log_ratio(curator, n_theta, theta, theta_prop, 0, out, noise_sd, &err), err);
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

/* Bounds of the records' norms, NaN for those that do not count: by the formula, on any number of threads. */
static void test_norms_do_not_depend_on_threads(void **state) {
  (void)state;
  static const double odd[] = {NAN, INFINITY, -INFINITY, 3e38, -5e9, 4e9};
  tacit_glm_kernel_t kernel;
  tacit_record_model_t linear = support_glm(&kernel, TACIT_FAMILY_BERNOULLI, n_features, 1, 0), dense = linear;
  dense.n_linear = 0;
  tacit_error_t err;
  for (size_t n_threads = 1; n_threads <= 7; n_threads += 2) {
    for (size_t is_dense = 0; is_dense < 2; is_dense++) {
      tacit_records_t *records = support_logistic(n_records, n_features, 11);
      for (size_t i = 0, j = 0; i < n_records; i += 37, j++) { /* in each feature and in the response */
        float *value = (float *)tacit_records_block(records, i / 16) + j % (n_features + 1) * 16 + i % 16;
        *value = (float)odd[j / (n_features + 1) % (sizeof odd / sizeof odd[0])];
      }
      tacit_curator_t *curator;
      tacit_curator_settings_t settings = tacit_curator_settings_default();
      settings.n_threads = n_threads;
      assert_ok(tacit_curator_new_exposed(&curator, records, is_dense ? &dense : &linear, &settings, &err), err);
      for (size_t i = 0; i < tacit_records_n_blocks(records) * 16; i++) {
        double square = 0, sum = 0;
        for (size_t j = 0; j <= n_features; j++) {
          double x = (double)tacit_records_block(records, i / 16)[j * 16 + i % 16];
          sum += fabs(x);
          square += j < n_features ? x * x : 0;
        }
        double norm = sqrt(square) * (1 + 1e-9), found = (double)curator->door->lane_norm[i];
        bool counts = i < n_records && isfinite(sum) && (is_dense || norm <= 0x1p32);
        assert_true(counts ? found == (is_dense ? 1 : (double)nextafterf((float)norm, INFINITY)) : isnan(found));
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

/* ---- every other pass: what is released, for one seed of the noise ---- */

typedef struct releases {
  double unclipped[n_theta * dim], sampled[n_theta * dim], sampled_unclipped[n_theta * dim], sampled_ratio[n_theta];
  double moments[dim * (dim + 1) / 2], noise_sd[n_theta];
  tacit_wide_t langevin, langevin_sums[2 * dim + 1];
  tacit_curator_notes_t notes[2];
} releases_t;

static void release_exposed(releases_t *r, const tacit_record_model_t *model, const double *theta, const double *theta_prop,
                            size_t n_threads, double clip, double *sampled) {
  tacit_error_t err;
  tacit_noise_t *noise;
  tacit_curator_t *curator;
  assert_ok(tacit_noise_new_seeded_not_private(&noise, 8, &err), err);
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.n_threads = n_threads;
  settings.clip_bound_grad = settings.clip_bound_ratio = clip;
  settings.subset_noise = noise;
  assert_ok(tacit_curator_new_exposed(&curator, support_logistic(n_records, n_features, 11), model, &settings, &err), err);
  double rate = tacit_curator_sampling_rate(0.3);
  assert_ok(tacit_curator_release_sampled_gradient(curator, n_theta, theta, rate, 1, sampled, &err), err);
  if (clip > 0) {
    assert_ok(tacit_curator_release_sampled_log_ratio(curator, n_theta, theta, theta_prop, rate, 1, r->sampled_ratio,
                                                      r->noise_sd, &err), err);
    tacit_row_weighting_t rows = {NULL, 1};
    assert_ok(tacit_curator_release_second_moments(curator, &rows, 1, r->moments, r->noise_sd, &err), err);
  } else {
    assert_ok(tacit_curator_release_gradient(curator, n_theta, theta, 1, r->unclipped, &err), err);
  }
  r->notes[clip > 0] = tacit_curator_notes(curator);
  tacit_curator_free(curator);
  tacit_noise_free(noise);
}

static void decide_langevin(releases_t *r, const tacit_record_model_t *model, const double *theta, const double *theta_prop,
                            size_t n_threads) {
  tacit_error_t err;
  tacit_noise_t *noise;
  tacit_budget_t *budget;
  tacit_curator_t *curator;
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.n_threads = n_threads;
  assert_ok(tacit_noise_new_seeded_not_private(&noise, 8, &err), err);
  assert_ok(tacit_budget_new(&budget, 1e15, 1e-6, TACIT_RELATION_SUBSTITUTE, &err), err);
  assert_ok(tacit_curator_new(&curator, support_logistic(n_records, n_features, 11), model, budget, noise, &settings, &err), err);
  tacit_accept_rule_t rule = {.kind = TACIT_ACCEPT_BARKER, .max_bound = 5};
  double metric[dim], prior_grad[dim] = {0}, correction = 0;
  for (size_t j = 0; j < dim; j++) {
    metric[j] = 1;
  }
  bool bit;
  tacit_langevin_pairs_t pairs = {{1, theta, theta_prop, &correction, &bit}, prior_grad, prior_grad, metric, 0.1};
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
  size_t threads[] = {1, 2, 3, 7};
  for (size_t t = 0; t < 4; t++) {
    releases_t *r = t == 0 ? &expected : &found;
    release_exposed(r, &model, theta, theta_prop, threads[t], 1.1, r->sampled);
    release_exposed(r, &model, theta, theta_prop, threads[t], 0, r->sampled_unclipped);
    decide_langevin(r, &model, theta, theta_prop, threads[t]);
    if (t > 0) {
      assert_memory_equal(&found, &expected, sizeof found);
    }
  }
  assert_true(expected.notes[1].n_grad > 0 && expected.notes[1].n_grad_clipped > 0);
  double near_share = (double)expected.notes[1].n_grad / (n_theta * n_records);
  assert_true(near_share > 0.28 && near_share < 0.32); /* 10 standard deviations */
  assert_true(expected.langevin != 0 && expected.langevin_sums[2 * dim] != 0);
}

/* ---- instruction sets ---- */

#if defined(__x86_64__)
extern const tacit_lattice_functions_t tacit_lattice_functions_portable, tacit_lattice_functions_avx2,
    tacit_lattice_functions_avx512;
extern const tacit_grid_functions_t tacit_grid_functions_portable, tacit_grid_functions_avx2, tacit_grid_functions_avx512;

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
  const tacit_grid_functions_t *grids[3] = {&tacit_grid_functions_portable, &tacit_grid_functions_avx2, &tacit_grid_functions_avx512};
  const tacit_piece_t in_pieces[] = {{.kind = TACIT_PIECE_LINEAR, .row = 0, .n = 5},
                                     {.kind = TACIT_PIECE_LINEAR, .row = 1, .parameter = 5, .n = 5},
                                     {.kind = TACIT_PIECE_DENSE, .row = 2, .parameter = 10, .n = 2}},
                      whole = {.kind = TACIT_PIECE_DENSE, .n = 12},
                      gathered[] = {{.kind = TACIT_PIECE_GATHER, .row = 0, .parameter = 1, .column = 4, .n = 3, .stride = 2, .first = -1},
                                    {.kind = TACIT_PIECE_LINEAR, .row = 1, .parameter = 6, .column = 1, .n = 3}};
  tacit_vectors_t linear = {.n_points = 1, .dim = 12, .n_rows = 4, .n_pieces = 3, .pieces = in_pieces, .n_features = 5, .scale = 1};
  tacit_vectors_t dense = {.n_points = 1, .dim = 12, .n_rows = 12, .n_pieces = 1, .pieces = &whole, .scale = 1};
  tacit_vectors_t sparse = {.n_points = 1, .dim = 12, .n_rows = 2, .n_pieces = 2, .pieces = gathered, .n_features = 5, .scale = 1};
  support_rng_t rng = {21};
  for (int round = 0; round < 3000; round++) {
    float block[5 * 16], residual[12 * 16], norms[16];
    double log_lik[32], ends[2][3][16];
    for (size_t i = 0; i < 12 * 16; i++) {
      residual[i] = (float)(support_normal(&rng) * (round % 4 == 0 ? 1e30 : 1));
      block[i % 80] = (float)support_uniform(&rng, -1, 1);
    }
    for (size_t lane = 0; lane < 16; lane++) {
      norms[lane] = lane == 7 && round % 3 == 0 ? NAN : 2.3f;
      log_lik[lane] = support_normal(&rng) * 3;
      log_lik[16 + lane] = lane == 2 ? -INFINITY : support_normal(&rng);
    }
    tacit_lattice_t lattice = tacit_lattice_for(&linear, 1.7);
    int32_t lanes[3][12 * 16];
    int64_t lanes64[3][12 * 16], wide[3][12 * 16];
    double unclipped[3][16];
    for (size_t t = 0; t < n_tables; t++) {
      tacit_curator_notes_t notes = {0};
      memset(lanes[t], 0, sizeof lanes[t]);
      memset(lanes64[t], 0, sizeof lanes64[t]);
      const tacit_vectors_t *all[3] = {&linear, &dense, &sparse};
      for (size_t i = 0; i < 3; i++) {
        tables[t]->vectors(all[i], 5, block, norms, &lattice, residual, lanes[t], &notes);
      }
      float x[16 * 8 + 8] = {0}, turned[16 * 16 + 8] = {0};
      double sums[24] = {0};
      tables[t]->turn(5, block, norms, 8, x);
      tables[t]->turn(12, residual, norms, 16, turned);
      for (size_t i = 0; i < 3; i++) {
        tacit_own_t own = {6, 8, 16, x + 3 * 8, turned + 3 * 16, (double)lattice.scale_in, (double)lattice.scale_out};
        int64_t k[12 * 16] = {0};
        grids[t]->unit(all[i], &own, sums, NULL, &notes);
        grids[t]->unit(all[i], &own, sums, k, &notes);
        for (size_t j = 0; j < 12; j++) {
          lanes64[t][24 * i + j] += k[16 * j];
        }
      }
      grids[t]->exposed(&linear, block, norms, residual, lanes64[t]);
      for (size_t end = 0; end < 2; end++) {
        grids[t]->grid(0.7, 1, log_lik + 16 * end, 16, ends[end][t]);
        assert_memory_equal(ends[end][t], ends[end][0], sizeof ends[end][0]);
      }
      tables[t]->scalars(norms, 1, ends[0][t], ends[1][t], 0x1p31, lanes64[t], &notes);
      for (size_t lane = 0; lane < 12 * 16; lane++) {
        wide[t][lane] = (int64_t)lanes[t][lane] * (1 << (round % 4));
      }
      tables[t]->whole(norms, 12, 0x1p20, wide[t], lanes64[t]);
      grids[t]->ratio(1, log_lik, unclipped[t]);
      assert_memory_equal(lanes[t], lanes[0], sizeof lanes[0]);
      assert_memory_equal(lanes64[t], lanes64[0], sizeof lanes64[0]);
      assert_memory_equal(unclipped[t], unclipped[0], sizeof unclipped[0]);
    }
  }
}

static void test_log_odds_same_integers_on_every_instruction_set(void **state) {
  (void)state;
  support_rng_t rng = {22};
  for (int round = 0; round < 3000; round++) {
    double at[32];
    int64_t odds[3][32];
    for (size_t lane = 0; lane < 32; lane++) {
      at[lane] = rint(support_uniform(&rng, -1, 1) * 0x1p32);
    }
    for (size_t t = 0; t < 3; t++) {
      tacit_isa_limit((tacit_isa_t)t);
      tacit_log_odds(32, 0x1p33, at, odds[t]);
      for (size_t lane = 0; lane < 32; lane++) {
        assert_true(odds[t][lane] == odds[0][lane]);
        assert_close((double)odds[t][lane], 0x1p33 * atanh(at[lane] / 0x1p33), 0.501);
      }
    }
  }
}

/* One record, in the order of trapezoid_piece, a lane at a time. */
static void reference_trapezoid(size_t d, const tacit_trapezoid_t *bounds, const double *step, const int32_t *lanes,
                                double ratio, int64_t *totals) {
  double square = 0, along = 0;
  for (size_t j = 0; j < d; j++) {
    double from = lanes[j * 16], to = lanes[(d + j) * 16];
    square += (to - from) * (to - from);
    along += step[j] * (to + from);
    totals[(d + j) * 16] += (int64_t)(to + from);
  }
  double cut = bounds->change_units, factor = square > cut * cut ? cut / sqrt(square) * (1 - 0x1p-50) : 1;
  for (size_t j = 0; j < d; j++) {
    totals[j * 16] += (int64_t)(((double)lanes[(d + j) * 16] - lanes[j * 16]) * factor);
  }
  double error = rint(ratio - 0.5 * bounds->spacing * along * 0x1p32);
  totals[2 * d * 16] += (int64_t)fmax(fmin(error, bounds->error_units), -bounds->error_units);
}

static void test_langevin_kernels_same_integers_as_one_record_at_a_time(void **state) {
  (void)state;
  const tacit_grid_functions_t *tables[3] = {&tacit_grid_functions_portable};
  size_t n_tables = 1;
  if (tacit_has_avx2()) {
    tables[n_tables++] = &tacit_grid_functions_avx2;
  }
  if (tacit_has_avx512()) {
    tables[n_tables++] = &tacit_grid_functions_avx512;
  }
  enum { d = 5 };
  support_rng_t rng = {31};
  for (int round = 0; round < 3000; round++) {
    int32_t lanes[2 * d * 16];
    double step[d], ratios[16];
    tacit_trapezoid_t bounds = {0x1p-21, 2e5, ldexp(1, 24 + round % 28)};
    for (size_t i = 0; i < 2 * d * 16; i++) {
      lanes[i] = (int32_t)support_uniform(&rng, -4e5, 4e5) / (round % 2 == 0 ? 1 : 8);
    }
    for (size_t i = 0; i < 16; i++) {
      step[i % d] = support_normal(&rng);
      ratios[i] = rint(support_normal(&rng) * 0x1p32);
    }
    int64_t expected[(2 * d + 1) * 16] = {0}, found[(2 * d + 1) * 16];
    for (size_t lane = 0; lane < 16; lane++) {
      reference_trapezoid(d, &bounds, step, lanes + lane, ratios[lane], expected + lane);
    }
    for (size_t t = 0; t < n_tables; t++) {
      memset(found, 0, sizeof found);
      tables[t]->trapezoid(d, &bounds, step, lanes, ratios, found);
      assert_memory_equal(found, expected, sizeof expected);
    }
  }
}

static void check_analytic(const tacit_model_t *model, const tacit_analytic_pair_t *const pairs[3], size_t n_tables) {
  enum { n = 5 };
  support_rng_t rng = {41};
  size_t d = model->records.dim;
  for (int round = 0; round < 2000; round++) {
    float block[3 * 16], theta[n * 3], grad[3][n * 3 * 16];
    double points[n * 3], log_lik[3][n * 16];
    for (size_t i = 0; i < 3 * 16; i++) {
      block[i] = round % 7 == 0 && i == 5 ? NAN : (float)(support_normal(&rng) * (round % 5 == 0 ? 30 : 1));
    }
    for (size_t i = 0; i < n * d; i++) {
      points[i] = support_normal(&rng);
      theta[i] = (float)points[i];
    }
    for (size_t t = 0; t < n_tables; t++) {
      memset(grad[t], 0, sizeof grad[t]);
      pairs[t]->grad(model->records.ctx, block, n, theta, grad[t]);
      pairs[t]->log_lik(model->records.ctx, block, n, points, log_lik[t]);
      for (size_t i = 0; i < n * d * 16; i++) {
        assert_true(isnan(grad[t][i]) == isnan(grad[0][i]));
        assert_true(isnan(grad[0][i]) || memcmp(&grad[t][i], &grad[0][i], sizeof(float)) == 0);
      }
      for (size_t i = 0; i < n * 16; i++) {
        assert_true(isnan(log_lik[t][i]) == isnan(log_lik[0][i]));
        assert_true(isnan(log_lik[0][i]) || memcmp(&log_lik[t][i], &log_lik[0][i], sizeof(double)) == 0);
      }
    }
  }
}

static void test_paper_models_same_bits_on_every_instruction_set(void **state) {
  (void)state;
  const tacit_analytic_functions_t *tables[3] = {&tacit_analytic_functions_portable};
  size_t n_tables = 1;
  if (tacit_has_avx2()) {
    tables[n_tables++] = &tacit_analytic_functions_avx2;
  }
  if (tacit_has_avx512()) {
    tables[n_tables++] = &tacit_analytic_functions_avx512;
  }
  const double var[3] = {1.5, 0.7, 2}, prior_var[2] = {10, 1};
  tacit_model_t model;
  tacit_error_t err;
  const tacit_analytic_pair_t *pairs[3];
  for (size_t t = 0; t < n_tables; t++) {
    pairs[t] = &tables[t]->mean;
  }
  assert_ok(tacit_model_init_gaussian_mean(&model, 3, var, 1, &err), err);
  check_analytic(&model, pairs, n_tables);
  tacit_model_clear(&model);
  for (size_t t = 0; t < n_tables; t++) {
    pairs[t] = &tables[t]->banana;
  }
  assert_ok(tacit_model_init_banana(&model, 3, 0.3, -1, 0.2, 1, var, &err), err);
  check_analytic(&model, pairs, n_tables);
  tacit_model_clear(&model);
  for (size_t t = 0; t < n_tables; t++) {
    pairs[t] = &tables[t]->mixture;
  }
  assert_ok(tacit_model_init_mixture(&model, 2, prior_var, &err), err);
  check_analytic(&model, pairs, n_tables);
  tacit_model_clear(&model);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sums_do_not_depend_on_threads_or_order),
      cmocka_unit_test(test_norms_do_not_depend_on_threads),
      cmocka_unit_test(test_unit_sums_do_not_depend_on_threads),
      cmocka_unit_test(test_all_releases_do_not_depend_on_threads),
#if defined(__x86_64__)
      cmocka_unit_test(test_lattice_kernels_same_integers_on_every_instruction_set),
      cmocka_unit_test(test_log_odds_same_integers_on_every_instruction_set),
      cmocka_unit_test(test_langevin_kernels_same_integers_as_one_record_at_a_time),
      cmocka_unit_test(test_paper_models_same_bits_on_every_instruction_set),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
