/* The same integers, and the same bits of the papers' models, on every instruction set. */
#include <math.h>
#include <string.h>

#include "base/isa.h"
#include "curator/rows.h"
#include "models/analytic.h"
#include "models/models.h"
#include "random/tally.h"
#include "support.h"

extern const tacit_lattice_functions_t tacit_lattice_functions_portable, tacit_lattice_functions_avx2,
    tacit_lattice_functions_avx512;
extern const tacit_grid_functions_t tacit_grid_functions_portable, tacit_grid_functions_avx2,
    tacit_grid_functions_avx512;

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
  const tacit_grid_functions_t *grids[3] = {&tacit_grid_functions_portable, &tacit_grid_functions_avx2,
                                            &tacit_grid_functions_avx512};
  const tacit_piece_t in_pieces[] = {{.kind = TACIT_PIECE_LINEAR, .row = 0, .n = 5},
                                     {.kind = TACIT_PIECE_LINEAR, .row = 1, .parameter = 5, .n = 5},
                                     {.kind = TACIT_PIECE_DENSE, .row = 2, .parameter = 10, .n = 2}},
                      whole = {.kind = TACIT_PIECE_DENSE, .n = 12},
                      gathered[] = {
                          {.kind = TACIT_PIECE_GATHER,
                           .row = 0,
                           .parameter = 1,
                           .column = 4,
                           .n = 3,
                           .stride = 2,
                           .first = -1},
                          {.kind = TACIT_PIECE_LINEAR, .row = 1, .parameter = 6, .column = 1, .n = 3}};
  tacit_vectors_t linear = {
      .n_points = 1, .dim = 12, .n_rows = 4, .n_pieces = 3, .pieces = in_pieces, .n_features = 5, .scale = 1};
  tacit_vectors_t dense = {
      .n_points = 1, .dim = 12, .n_rows = 12, .n_pieces = 1, .pieces = &whole, .scale = 1};
  tacit_vectors_t sparse = {
      .n_points = 1, .dim = 12, .n_rows = 2, .n_pieces = 2, .pieces = gathered, .n_features = 5, .scale = 1};
  support_rng_t rng = {21};
  for (int round = 0; round < 3000; round++) {
    enum { n_layers = 3 };
    float block[5 * 16], residual[12 * 16], norms[16], layers[n_layers * 12 * 16];
    uint64_t n_non_finite[3];
    double log_lik[32], ends[2][3][16];
    for (size_t i = 0; i < 12 * 16; i++) {
      residual[i] = (float)(support_normal(&rng) * (round % 4 == 0 ? 1e30 : 1));
      block[i % 80] = (float)support_uniform(&rng, -1, 1);
    }
    for (size_t i = 0; i < n_layers * 12 * 16; i++) {
      layers[i] = (float)(support_normal(&rng) * (round % 4 == 0 && i % 101 == 0 ? 1e30 : 0.4));
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
        tables[t]->vectors(all[i], 5, 1, block, norms, &lattice, residual, lanes[t], &notes);
      }
      for (size_t i = 0; i < 3; i++) {
        tacit_layers_t group = {
            n_layers, 5, layers, layers, (double)lattice.scale_in, (double)lattice.scale_out};
        double sums[12 * 16] = {0};
        int32_t k[12 * 16] = {0};
        grids[t]->units(all[i], &group, sums, NULL, &notes);
        grids[t]->units(all[i], &group, sums, k, &notes);
        k[round % 192] *= round % 5 == 0 ? 3 : 1; /* some are too long */
        tables[t]->units(16 - (size_t)round % 3, 12, 0x1p20, k, lanes[t], &notes);
        n_non_finite[t] = notes.n_non_finite;
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
      assert_true(n_non_finite[t] == n_non_finite[0]);
    }
  }
}

/* Blocks, rows and norms at random; some lanes do not count and hold NaN, some vectors are long, some of no
 * finite length. */
static void fill_blocks(size_t n_blocks, size_t n_columns, size_t n_rows, float *blocks, float *norms,
                        float *rows, support_rng_t *rng) {
  double size = support_uniform(rng, 0, 1) < 0.5 ? 0.1 : 3;
  for (size_t i = 0; i < n_blocks * n_rows * 16; i++) {
    rows[i] = (float)(support_normal(rng) * (i % 1013 == 0 ? 1e30 : size));
  }
  for (size_t i = 0; i < n_blocks * 16; i++) {
    bool counts = size < 1 || support_uniform(rng, 0, 1) < 0.98;
    double square = 0;
    for (size_t j = 0; j < n_columns; j++) {
      float *x = &blocks[(i / 16 * n_columns + j) * 16 + i % 16];
      *x = counts || j % 2 == 0 ? (float)support_normal(rng) : NAN;
      square += (double)*x * (double)*x;
    }
    norms[i] = counts ? (float)(sqrt(square) * 1.000001) : NAN;
  }
}

/* On every instruction set as on the first, one by one; the notes too. */
static void check_blocks(const tacit_vectors_t *of, size_t n_columns, size_t n_blocks, support_rng_t *rng) {
  const tacit_lattice_functions_t *tables[3] = {&tacit_lattice_functions_portable};
  size_t n_tables = 1, n_rows = of->n_points * of->n_rows, n_lanes = of->n_points * of->dim * 16;
  if (tacit_has_avx2()) {
    tables[n_tables++] = &tacit_lattice_functions_avx2;
  }
  if (tacit_has_avx512()) {
    tables[n_tables++] = &tacit_lattice_functions_avx512;
  }
  float *blocks = calloc(n_blocks * n_columns * 16, sizeof *blocks),
        *norms = calloc(n_blocks * 16, sizeof *norms), *rows = calloc(n_blocks * n_rows * 16, sizeof *rows);
  int32_t *one_by_one = calloc(n_lanes, sizeof *one_by_one), *lanes = calloc(n_lanes, sizeof *lanes);
  tacit_lattice_t lattice = tacit_lattice_for(of, 2.5);
  tacit_door_notes_t expected = {0};
  fill_blocks(n_blocks, n_columns, n_rows, blocks, norms, rows, rng);
  for (size_t b = 0; b < n_blocks; b++) {
    tables[0]->vectors(of, n_columns, 1, blocks + b * n_columns * 16, norms + b * 16, &lattice,
                       rows + b * n_rows * 16, one_by_one, &expected);
  }
  for (size_t t = 0; t < n_tables; t++) {
    tacit_door_notes_t notes = {0};
    memset(lanes, 0, n_lanes * sizeof *lanes);
    tables[t]->vectors(of, n_columns, n_blocks, blocks, norms, &lattice, rows, lanes, &notes);
    assert_memory_equal(lanes, one_by_one, n_lanes * sizeof *lanes);
    assert_memory_equal(&notes, &expected, sizeof notes);
  }
  free(blocks);
  free(norms);
  free(rows);
  free(one_by_one);
  free(lanes);
}

static void test_blocks_together_same_integers_as_one_by_one(void **state) {
  (void)state;
  support_rng_t rng = {23};
  for (int round = 0; round < 400; round++) {
    size_t p = 1 + support_bits(&rng) % 40, n_points = 1 + support_bits(&rng) % 5,
           n_blocks = 1 + support_bits(&rng) % 16;
    const tacit_piece_t
        one = {.kind = TACIT_PIECE_LINEAR, .n = p},
        many[] = {{.kind = TACIT_PIECE_LINEAR, .row = 0, .n = p},
                  {.kind = TACIT_PIECE_LINEAR, .row = 1, .parameter = p, .n = p},
                  {.kind = TACIT_PIECE_DENSE, .row = 2, .parameter = 2 * p, .n = 2},
                  {.kind = TACIT_PIECE_GATHER,
                   .row = 4,
                   .parameter = 2 * p + 2,
                   .column = p,
                   .n = 3,
                   .stride = 2,
                   .first = -1},
                  {.kind = TACIT_PIECE_LINEAR, .row = 5, .parameter = 2 * p + 7, .column = p, .n = 1}};
    tacit_vectors_t predictor = {.n_points = n_points,
                                 .dim = p,
                                 .n_rows = 1,
                                 .n_pieces = 1,
                                 .pieces = &one,
                                 .n_features = p,
                                 .scale = 1};
    tacit_vectors_t pieces = {.n_points = n_points,
                              .dim = 2 * p + 8,
                              .n_rows = 6,
                              .n_pieces = 5,
                              .pieces = many,
                              .n_features = p,
                              .scale = 1};
    check_blocks(&predictor, p, n_blocks, &rng);
    check_blocks(&pieces, p + 1, n_blocks, &rng);
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
static void reference_trapezoid(size_t d, const tacit_trapezoid_t *bounds, const double *step,
                                const int32_t *lanes, double ratio, int64_t *totals) {
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

static void check_analytic(const tacit_model_t *model, const tacit_analytic_pair_t *const pairs[3],
                           size_t n_tables) {
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

/* Scores, whitened, and their squares: a lane by itself, in the order of its numbers. */
static void test_scores_are_whitened_as_one_by_one_on_every_instruction_set(void **state) {
  (void)state;
  enum { MOST = 40 };
  support_rng_t rng = {41};
  for (int round = 0; round < 2000; round++) {
    size_t d = 1 + support_bits(&rng) % MOST, n = 1 + support_bits(&rng) % 16;
    double a[MOST * MOST], k[16], expected[16 * MOST], norms[16], squares[MOST * MOST] = {0};
    float x[16 * MOST];
    for (size_t i = 0; i < d * d; i++) {
      a[i] = support_normal(&rng);
    }
    for (size_t i = 0; i < 16 * d; i++) {
      x[i] = (float)support_normal(&rng) * (round % 4 == 0 && i % 37 == 5 ? INFINITY : 1e3f);
    }
    for (size_t l = 0; l < n; l++) {
      double n2 = 0, *u = expected + l * d;
      for (size_t i = 0; i < d; i++) {
        u[i] = 0;
        for (size_t j = 0; j < d; j++) {
          u[i] += a[i * d + j] * (double)x[j * 16 + l];
        }
        n2 += u[i] * u[i];
      }
      norms[l] = sqrt(n2);
      k[l] = isfinite(n2) ? fmax(support_normal(&rng), 0) : 0;
      for (size_t i = 0; i < d * d && k[l] > 0; i++) {
        squares[i] += i % d <= i / d ? k[l] * u[i / d] * u[i % d] : 0;
      }
    }
    for (int isa = TACIT_ISA_PORTABLE; isa <= TACIT_ISA_AVX512; isa++) {
      double rows[16 * MOST], lengths[16], sums[MOST * MOST] = {0};
      tacit_isa_limit((tacit_isa_t)isa);
      tacit_rows_functions()->whiten(d, a, x, n, rows, lengths);
      tacit_rows_functions()->add_squares(d, n, k, rows, sums);
      for (size_t l = 0; l < n; l++) {
        assert_true(isfinite(norms[l]) ? lengths[l] == norms[l] : isnan(lengths[l]));
        assert_true(!isfinite(norms[l]) || memcmp(rows + l * d, expected + l * d, d * sizeof *rows) == 0);
      }
      assert_memory_equal(sums, squares, d * d * sizeof *sums);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_scores_are_whitened_as_one_by_one_on_every_instruction_set),
      cmocka_unit_test(test_lattice_kernels_same_integers_on_every_instruction_set),
      cmocka_unit_test(test_blocks_together_same_integers_as_one_by_one),
      cmocka_unit_test(test_log_odds_same_integers_on_every_instruction_set),
      cmocka_unit_test(test_langevin_kernels_same_integers_as_one_record_at_a_time),
      cmocka_unit_test(test_paper_models_same_bits_on_every_instruction_set),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
