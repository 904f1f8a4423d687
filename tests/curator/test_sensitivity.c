/*
 * The integers that are actually summed never exceed the bound that is charged for: over random and
 * adversarial records, for the linear and the dense kernel, for units of several records; and worst cases
 * come close to it.
 */
#include <float.h>
#include <string.h>

#include "data/records.h"
#include "support.h"

enum { max_dim = 512 };

/* A value an adversary might put into a float column. */
static float adversarial(support_rng_t *rng) {
  static const float special[] = {0,   -0.0f,    FLT_MIN,   FLT_TRUE_MIN, -FLT_TRUE_MIN, FLT_MAX, -FLT_MAX,
                                  NAN, INFINITY, -INFINITY, 1e-20f,       1e19f,         -1e19f,  1e25f,
                                  1,   -1};
  switch (support_bits(rng) % 4) {
  case 0:
    return special[support_bits(rng) % (sizeof special / sizeof special[0])];
  case 1:
    return (float)support_normal(rng);
  case 2:
    return (float)ldexp(support_uniform(rng, -1, 1), (int)(support_bits(rng) % 250) - 125);
  default: {
    uint32_t bits = (uint32_t)support_bits(rng);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
  }
  }
}

static const tacit_wide_t limit = (tacit_wide_t)1 << (2 * TACIT_LATTICE_BITS);

/* Largest ||k||^2 over the 16 lanes of one theta, checked against the limit. */
static double check_lanes(const int32_t *lanes, size_t dim) {
  double worst = 0;
  for (size_t lane = 0; lane < 16; lane++) {
    tacit_wide_t square = 0;
    for (size_t j = 0; j < dim; j++) {
      square += (tacit_wide_t)lanes[j * 16 + lane] * lanes[j * 16 + lane];
    }
    assert_true(square <= limit);
    worst = fmax(worst, (double)square / (double)limit);
  }
  return worst;
}

/* Lanes' norms as the curator computes them: through a curator holding just this block. */
static void lane_norms(const float *block, const tacit_record_model_t *model, float *norms) {
  tacit_error_t err;
  tacit_records_t *records;
  assert_ok(tacit_records_new(&records, 16, model->n_columns, &err), err);
  double x[max_dim + 1];
  for (size_t lane = 0; lane < 16; lane++) {
    for (size_t j = 0; j < model->n_columns; j++) {
      x[j] = (double)block[j * 16 + lane];
    }
    tacit_records_set(records, lane, x);
  }
  tacit_curator_t *curator;
  assert_ok(tacit_curator_new_exposed(&curator, records, model, NULL, &err), err);
  memcpy(norms, curator->door->lane_norm, 16 * sizeof *norms);
  tacit_curator_free(curator);
}

static void check_linear(size_t p, size_t n_linear, size_t n_extra, size_t n_blocks, double *worst) {
  tacit_record_model_t model = {.name = "adversarial",
                                .dim = n_linear * p + n_extra,
                                .n_columns = p,
                                .n_linear = n_linear,
                                .n_extra = n_extra,
                                .n_features = p};
  const tacit_lattice_functions_t *kernel = tacit_lattice_functions();
  support_rng_t rng = {p * 31 + n_linear * 7 + n_extra};
  float *block = calloc(p * 16, sizeof *block),
        *residual = calloc((n_linear + n_extra) * 16, sizeof *residual);
  int32_t *lanes = calloc(model.dim * 16, sizeof *lanes);
  for (size_t b = 0; b < n_blocks; b++) {
    /* Kinds of block: sane features with wild residuals, all adversarial, one-hot features. */
    size_t kind = b % 3, hot = support_bits(&rng) % p;
    double bound = ldexp(1, (int)(support_bits(&rng) % 40) - 20);
    for (size_t i = 0; i < p * 16; i++) {
      block[i] = kind == 0   ? (float)support_uniform(&rng, -1, 1)
                 : kind == 1 ? adversarial(&rng)
                             : (float)(i / 16 == hot);
    }
    for (size_t i = 0; i < (n_linear + n_extra) * 16; i++) {
      residual[i] = b % 5 == 0 ? (float)(support_normal(&rng) * bound) : adversarial(&rng);
    }
    float norms[16];
    lane_norms(block, &model, norms);
    tacit_piece_t list[5] = {[4] = {.kind = TACIT_PIECE_DENSE}};
    for (size_t i = 0; i < n_linear; i++) {
      list[i] = (tacit_piece_t){.kind = TACIT_PIECE_LINEAR, .row = i, .parameter = i * p, .n = p};
    }
    list[n_linear] =
        (tacit_piece_t){.kind = TACIT_PIECE_DENSE, .row = n_linear, .parameter = n_linear * p, .n = n_extra};
    tacit_vectors_t of = {.n_points = 1,
                          .dim = model.dim,
                          .n_rows = n_linear + n_extra,
                          .n_pieces = n_linear + (n_extra > 0),
                          .pieces = list,
                          .n_features = p,
                          .scale = 1};
    tacit_lattice_t lattice = tacit_lattice_for(&of, bound);
    tacit_door_notes_t notes = {0};
    memset(lanes, 0, model.dim * 16 * sizeof *lanes);
    kernel->vectors(&of, p, 1, block, norms, &lattice, residual, lanes, &notes);
    *worst = fmax(*worst, check_lanes(lanes, model.dim));
  }
  free(block);
  free(residual);
  free(lanes);
}

static void check_dense(size_t dim, size_t n_blocks, double *worst) {
  const tacit_piece_t whole = {.kind = TACIT_PIECE_DENSE, .n = dim};
  tacit_vectors_t of = {
      .n_points = 1, .dim = dim, .n_rows = dim, .n_pieces = 1, .pieces = &whole, .scale = 1};
  const tacit_lattice_functions_t *kernel = tacit_lattice_functions();
  support_rng_t rng = {dim};
  float *grad = calloc(dim * 16, sizeof *grad), norms[16], block[16] = {0};
  int32_t *lanes = calloc(dim * 16, sizeof *lanes);
  for (size_t b = 0; b < n_blocks; b++) {
    double bound = ldexp(1, (int)(support_bits(&rng) % 40) - 20);
    for (size_t i = 0; i < dim * 16; i++) {
      grad[i] = b % 2 == 0 ? (float)(support_normal(&rng) * bound) : adversarial(&rng);
    }
    for (size_t lane = 0; lane < 16; lane++) {
      norms[lane] = b % 7 == 0 && lane > 10 ? NAN : 1;
    }
    tacit_lattice_t lattice = tacit_lattice_for(&of, bound);
    tacit_door_notes_t notes = {0};
    memset(lanes, 0, dim * 16 * sizeof *lanes);
    kernel->vectors(&of, 0, 1, block, norms, &lattice, grad, lanes, &notes);
    *worst = fmax(*worst, check_lanes(lanes, dim));
    for (size_t lane = 11; b % 7 == 0 && lane < 16; lane++) {
      for (size_t j = 0; j < dim; j++) {
        assert_int_equal(lanes[j * 16 + lane], 0);
      }
    }
  }
  free(grad);
  free(lanes);
}

/* All kinds of pieces: of all features, of some, gathered, dense; two rows serve two pieces each. */
static void check_pieces(size_t p, size_t n_blocks, double *worst) {
  const tacit_lattice_functions_t *kernel = tacit_lattice_functions();
  size_t q = p > 3 ? p / 2 : 1, dim = p + q + 2 * 5 + 2;
  const tacit_piece_t list[] = {
      {.kind = TACIT_PIECE_LINEAR, .row = 0, .parameter = 0, .column = 0, .n = p},
      {.kind = TACIT_PIECE_LINEAR, .row = 1, .parameter = p, .column = p + 1 - q, .n = q},
      {.kind = TACIT_PIECE_GATHER,
       .row = 0,
       .parameter = p + q,
       .column = p,
       .n = 5,
       .stride = 2,
       .first = 1},
      {.kind = TACIT_PIECE_DENSE, .row = 1, .parameter = p + q + 10, .n = 1},
      {.kind = TACIT_PIECE_DENSE, .row = 2, .parameter = p + q + 11, .n = 1},
  };
  tacit_record_model_t model = {
      .name = "adversarial", .dim = dim, .n_columns = p + 1, .n_features = p, .n_pieces = 5};
  tacit_vectors_t of = {
      .n_points = 1, .dim = dim, .n_pieces = 5, .n_rows = 3, .pieces = list, .n_features = p, .scale = 1};
  support_rng_t rng = {p * 77};
  float *block = calloc((p + 1) * 16, sizeof *block), rows[3 * 16], norms[16];
  int32_t *lanes = calloc(dim * 16, sizeof *lanes);
  for (size_t b = 0; b < n_blocks; b++) {
    double bound = ldexp(1, (int)(support_bits(&rng) % 40) - 20);
    for (size_t i = 0; i < (p + 1) * 16; i++) {
      block[i] = b % 2 == 0 ? (float)support_uniform(&rng, -1, i / 16 == p ? 6 : 1) : adversarial(&rng);
    }
    for (size_t i = 0; i < 3 * 16; i++) {
      rows[i] = b % 3 == 0 ? (float)(support_normal(&rng) * bound) : adversarial(&rng);
    }
    lane_norms(block, &model, norms);
    tacit_lattice_t lattice = tacit_lattice_for(&of, bound);
    tacit_door_notes_t notes = {0};
    memset(lanes, 0, dim * 16 * sizeof *lanes);
    kernel->vectors(&of, p + 1, 1, block, norms, &lattice, rows, lanes, &notes);
    *worst = fmax(*worst, check_lanes(lanes, dim));
  }
  free(block);
  free(lanes);
}

static void test_contributions_never_exceed_bound_and_reach_it(void **state) {
  (void)state;
  double worst_linear = 0, worst_dense = 0, worst_pieces = 0, m = testing_multiplier();
  size_t dims[] = {1, 2, 5, 17, 64, 512};
  size_t n_records = 0;
  for (size_t i = 0; i < 6; i++) {
    size_t n_blocks = (size_t)(m * (dims[i] > 100 ? 1500 : 9000));
    check_linear(dims[i], 1, 0, n_blocks, &worst_linear);
    check_linear(dims[i], 1, 1, n_blocks / 3, &worst_linear);
    check_linear(dims[i], 4, 0, n_blocks / 3, &worst_linear);
    check_dense(dims[i], n_blocks, &worst_dense);
    check_pieces(dims[i], n_blocks / 3, &worst_pieces);
    n_records += 16 * (n_blocks + 3 * (n_blocks / 3) + n_blocks);
  }
  print_message("%zu records; largest integer norm / bound: linear %.6f, dense %.6f, in pieces %.6f\n",
                n_records, sqrt(worst_linear), sqrt(worst_dense), sqrt(worst_pieces));
  assert_true(sqrt(worst_linear) >= 0.99 && sqrt(worst_dense) >= 0.99 && sqrt(worst_pieces) >= 0.99);
}

/* A confident, wrong prediction at a corner of the feature box uses up the logistic model's own bound. */
static void test_logistic_corner_reaches_model_bound(void **state) {
  (void)state;
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model = support_glm(&kernel, TACIT_FAMILY_BERNOULLI, 8, 1, 0);
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.clip_bound_grad = model.grad_bound;
  tacit_error_t err;
  tacit_records_t *records;
  assert_ok(tacit_records_new(&records, 1, 9, &err), err);
  double x[9] = {1, 1, 1, 1, 1, 1, 1, 1, 0}, theta[8], sum[8], norm = 0;
  for (size_t j = 0; j < 8; j++) {
    theta[j] = 100;
  }
  tacit_records_set(records, 0, x);
  tacit_curator_t *curator;
  assert_ok(tacit_curator_new_exposed(&curator, records, &model, &settings, &err), err);
  assert_ok(tacit_curator_release_gradient(curator, 1, theta, 0, sum, &err), err);
  tacit_curator_free(curator);
  for (size_t j = 0; j < 8; j++) {
    norm += sum[j] * sum[j];
  }
  assert_true(sqrt(norm) <= sqrt(8) && sqrt(norm) >= 0.99 * sqrt(8));
}

static void test_antipodal_neighbours_reach_both_sensitivities(void **state) {
  (void)state;
  tacit_record_model_t model = support_echo();
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.clip_bound_grad = 0.7;
  settings.clip_bound_ratio = 0.2;
  tacit_error_t err;
  double theta[3] = {0}, theta_prop[3] = {5, 0, 0}, sums[2][3], ratio[2], noise_sd;
  for (int side = 0; side < 2; side++) {
    tacit_records_t *records;
    assert_ok(tacit_records_new(&records, 1, 3, &err), err);
    double sign = side == 0 ? 1 : -1, x[3] = {sign * 30, sign * 1e4, sign * -2};
    tacit_records_set(records, 0, x);
    tacit_curator_t *curator;
    assert_ok(tacit_curator_new_exposed(&curator, records, &model, &settings, &err), err);
    assert_ok(tacit_curator_release_gradient(curator, 1, theta, 0, sums[side], &err), err);
    assert_ok(
        tacit_curator_release_log_ratio(curator, 1, theta, theta_prop, 0, &ratio[side], &noise_sd, &err),
        err);
    tacit_curator_free(curator);
  }
  double distance = 0;
  for (size_t j = 0; j < 3; j++) {
    distance += (sums[0][j] - sums[1][j]) * (sums[0][j] - sums[1][j]);
  }
  distance = sqrt(distance);
  assert_true(distance <= 2 * 0.7 && distance >= 0.99 * 2 * 0.7);
  double c = 0.2 * 5;
  assert_true(ratio[0] - ratio[1] <= 2 * (c + 1e-8) && ratio[0] - ratio[1] >= 0.99 * 2 * c);
}

/* A person with many rows moves the sums no more than the bound, rows of any kind. */
static void test_unit_contribution_is_clipped_as_a_whole(void **state) {
  (void)state;
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model = support_glm(&kernel, TACIT_FAMILY_POISSON, 4, 1, 0);
  support_rng_t rng = {5};
  tacit_error_t err;
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.max_unit_rows = 40;
  settings.clip_bound_grad = 1.5;
  double worst = 0;
  for (int round = 0; round < (int)(3000 * testing_multiplier()); round++) {
    size_t n = 1 + support_bits(&rng) % 40, offsets[2] = {0, n};
    tacit_records_t *records;
    assert_ok(tacit_records_new(&records, n, 5, &err), err);
    for (size_t i = 0; i < n; i++) {
      double x[5];
      for (size_t j = 0; j < 5; j++) {
        x[j] = round % 2 == 0 ? support_normal(&rng) : (double)adversarial(&rng);
      }
      tacit_records_set(records, i, x);
    }
    assert_ok(tacit_records_set_units(records, offsets, 1, &err), err);
    tacit_curator_t *curator;
    assert_ok(tacit_curator_new_exposed(&curator, records, &model, &settings, &err), err);
    double theta[4], out[4];
    for (size_t j = 0; j < 4; j++) {
      theta[j] = support_normal(&rng);
    }
    assert_ok(tacit_curator_release_gradient(curator, 1, theta, 0, out, &err), err);
    tacit_wide_t square = 0;
    for (size_t j = 0; j < 4; j++) {
      square += curator->door->sums[j] * curator->door->sums[j];
    }
    assert_true(square <= limit);
    worst = fmax(worst, (double)square / (double)limit);
    tacit_curator_free(curator);
  }
  assert_true(sqrt(worst) >= 0.99);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_contributions_never_exceed_bound_and_reach_it),
      cmocka_unit_test(test_logistic_corner_reaches_model_bound),
      cmocka_unit_test(test_antipodal_neighbours_reach_both_sensitivities),
      cmocka_unit_test(test_unit_contribution_is_clipped_as_a_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
