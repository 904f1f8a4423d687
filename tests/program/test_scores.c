/* Scores centred by other responses: their means, and integers that stay where they are charged for whatever a model writes. */
#include <float.h>

#include "response_testing.h"
#include "tacit/curator.h"

static tacit_records_t *records_of(size_t n, size_t n_columns, const float *x) {
  tacit_error_t err;
  tacit_records_t *records;
  double row[16];
  ok(tacit_records_new(&records, n, n_columns, &err), &err);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < n_columns; j++) {
      row[j] = (double)x[i * n_columns + j];
    }
    tacit_records_set(records, i, row);
  }
  return records;
}

/* Sums of an exposed curator: whole numbers times their spacing, without noise. */
static void sums(const tacit_record_model_t *model, const tacit_centred_point_t *point, size_t n, const float *x, size_t n_threads, double *score,
                 double *squares) {
  tacit_error_t err;
  tacit_curator_t *curator;
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  double noise_sd;
  settings.n_threads = n_threads;
  ok(tacit_curator_new_exposed(&curator, records_of(n, model->n_columns, x), model, &settings, &err), &err);
  ok(tacit_curator_release_centred_score(curator, point, 0, score, &noise_sd, &err), &err);
  ok(tacit_curator_release_centred_squares(curator, point, 0, squares, &noise_sd, &err), &err);
  tacit_curator_free(curator);
}

static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

/* At the truth they sum to 0 within 5.5 sds, however much is clipped; without the mean's being taken off they do not. */
static void test_centred_scores_have_mean_zero(void **state) {
  (void)state;
  enum { N = 4000 };
  tacit_model_t model;
  tacit_program_t *program = parsed(negbin, false, &model);
  const tacit_record_model_t *r = &model.records;
  tacit_centred_point_t point = {at, identity, 0.8, 32, 4};
  float *x = malloc(N * r->n_columns * sizeof *x), blocks[4 * 16 * 16];
  double weights[64], score[3], squares[6], again[3], again_squares[6];
  uint64_t seed = 12;
  r->made_up(r->ctx, 77, N, NULL, x);
  for (size_t i = 0; i < N; i++) {
    double u = uniform(&seed), below = 0;
    size_t y = 0;
    r->others(r->ctx, x + i * r->n_columns, at, 1, 61, blocks, weights);
    while (y < 60 && u >= (below += weights[y])) {
      y++;
    }
    lane_of(blocks + y / 16 * r->n_columns * 16, r->n_columns, y % 16, x + i * r->n_columns);
  }
  sums(r, &point, N, x, 1, score, squares);
  static const size_t diagonal[] = {0, 3, 5};
  for (size_t j = 0; j < 3; j++) {
    if (!(fabs(score[j]) < 5.5 * sqrt(squares[diagonal[j]]))) {
      fail_msg("sum %zu is %g, sd %g", j, score[j], sqrt(squares[diagonal[j]]));
    }
  }
  sums(r, &point, N, x, 3, again, again_squares);
  assert_memory_equal(score, again, sizeof score);
  assert_memory_equal(squares, again_squares, sizeof squares);
  free(x);
  tacit_program_free(program);
}

/* A model that writes anything: numbers that depend on what it is shown, of all sizes and kinds. */
static float anything(uint64_t *seed) {
  static const float special[] = {0, FLT_TRUE_MIN, FLT_MAX, -FLT_MAX, NAN, INFINITY, -INFINITY, 1e-20f, 1e9f, -4e9f, 1, -1};
  double u = uniform(seed);
  return u < 0.3 ? special[(size_t)(u / 0.3 * 12)] : (float)(8 * u - 4);
}

static uint64_t seed_of(const float *x, size_t n) {
  uint64_t seed = 1;
  for (size_t i = 0; i < n; i++) {
    uint32_t bits;
    memcpy(&bits, &x[i], sizeof bits);
    seed = seed * 0x9E3779B97F4A7C15u + bits;
  }
  return seed;
}

static void lie_others(const void *ctx, const float *record, const double *theta, uint64_t seed, size_t n, float *blocks, double *weights) {
  uint64_t own = seed_of(record, 3) + seed;
  (void)ctx, (void)theta;
  for (size_t i = 0; i < (n + 15) / 16 * 48; i++) {
    blocks[i] = anything(&own);
  }
  for (size_t i = 0; i < (n + 15) / 16 * 16; i++) {
    weights[i] = (double)anything(&own);
  }
}

static void lie_grad(const void *ctx, const float *block, size_t n_theta, const float *theta, float *out) {
  (void)ctx, (void)n_theta, (void)theta;
  for (size_t lane = 0; lane < 16; lane++) {
    float x[3] = {block[lane], block[16 + lane], block[32 + lane]};
    uint64_t seed = seed_of(x, 3);
    bool is_plain = uniform(&seed) < 0.7;
    for (size_t j = 0; j < 3; j++) {
      out[j * 16 + lane] = is_plain ? (float)(20 * uniform(&seed) - 10) : anything(&seed);
    }
  }
}

static void lie_made_up(const void *ctx, uint64_t seed, size_t n, const tacit_spread_t *spread, float *records) {
  (void)ctx, (void)seed, (void)spread;
  memset(records, 0, 3 * n * sizeof *records);
}

static void lie_log_lik(const void *ctx, const float *block, size_t n_theta, const double *theta, double *out) {
  (void)ctx, (void)block, (void)theta;
  memset(out, 0, 16 * n_theta * sizeof *out);
}

static const tacit_record_model_t liar = {.name = "liar",
                                          .dim = 3,
                                          .n_columns = 3,
                                          .grad_bound = INFINITY,
                                          .log_lik = lie_log_lik,
                                          .grad = lie_grad,
                                          .others = lie_others,
                                          .made_up = lie_made_up};

/* The whole numbers of one record: k within the ball, k k' within the squares, in exact arithmetic, and the distance of two records'. */
static void test_integers_stay_where_they_are_charged_for(void **state) {
  (void)state;
  enum { RADIUS = 1 << 22 };
  tacit_centred_point_t point = {at, identity, 3, 20, 4};
  double spacing = 1.25 * point.clip / (RADIUS - 0.5 * sqrt(3) - 1), longest = 0, furthest = 0;
  uint64_t seed = 99;
  int64_t before[3] = {0}, square_before[6] = {0};
  for (size_t trial = 0; trial < (size_t)(4000 * testing_multiplier()); trial++) {
    float x[3];
    double score[3], squares[6];
    for (size_t j = 0; j < 3; j++) {
      x[j] = (float)(2 * uniform(&seed) - 1);
    }
    sums(&liar, &point, 1, x, 1, score, squares);
    int64_t k[3], square[6], n2 = 0, off2 = 0;
    __extension__ __int128 square_off = 0;
    for (size_t j = 0; j < 3; j++) {
      k[j] = (int64_t)nearbyint(score[j] / spacing);
      n2 += k[j] * k[j];
      off2 += (k[j] - before[j]) * (k[j] - before[j]);
    }
    for (size_t i = 0, a = 0; i < 3; i++) {
      for (size_t j = i; j < 3; j++, a++) {
        square[a] = (int64_t)nearbyint(squares[a] / (spacing * spacing) / (i == j ? 1 : sqrt(2)));
        __extension__ __int128 off = square[a] - square_before[a];
        square_off += off * off * (i == j ? 1 : 2);
        assert_true(square[a] == k[i] * k[j]);
      }
    }
    assert_true(n2 <= (int64_t)RADIUS * RADIUS);
    assert_true(off2 <= 4 * (int64_t)RADIUS * RADIUS);
    __extension__ __int128 r4 = (__int128)RADIUS * RADIUS * RADIUS * RADIUS;
    assert_true(square_off <= 2 * r4);
    longest = fmax(longest, sqrt((double)n2) / RADIUS);
    furthest = fmax(furthest, sqrt((double)off2) / RADIUS);
    memcpy(before, k, sizeof before);
    memcpy(square_before, square, sizeof square_before);
  }
  assert_true(longest > 0.97); /* the bound is reached, so that a smaller one would have been found out */
  assert_true(furthest > 1.8);
}

/*
 * Moments of columns: whatever is in a record, one or another in its place moves their whole numbers by no more than is charged for, and the sum is
 * that of v v'.
 */
static void test_moments_of_columns(void **state) {
  (void)state;
  enum { RADIUS = 1 << 22 };
  static const size_t column[] = {0, 1, 2};
  static const double middle[] = {0, 1, -2}, half[] = {1, 0.5, 3}, whiten[16] = {1, 0, 0, 0, -2, 3, 0, 0, 0.5, 0, 4, 0, 1e3, 0, 0, 1};
  tacit_record_model_t model = {.name = "liar", .dim = 3, .n_columns = 3, .grad_bound = INFINITY, .log_lik = lie_log_lik, .grad = lie_grad};
  uint64_t seed = 77;
  double longest = 0;
  for (int is_whitened = 0; is_whitened < 2; is_whitened++) {
    tacit_record_columns_t columns = {3, column, middle, half, is_whitened ? whiten : NULL, 1.7};
    double bound = is_whitened ? 1.7 : 2, spacing = bound / (RADIUS - 0.5 * sqrt(4) - 1), before[10] = {0};
    for (size_t trial = 0; trial < (size_t)(2000 * testing_multiplier()); trial++) {
      tacit_error_t err;
      tacit_curator_t *curator;
      tacit_curator_settings_t settings = tacit_curator_settings_default();
      float x[3] = {anything(&seed), anything(&seed), anything(&seed)};
      double v[4], out[10], noise_sd, n2 = 0, off2 = 0, limit = sqrt(2) * RADIUS * RADIUS;
      ok(tacit_curator_new_exposed(&curator, records_of(1, 3, x), &model, &settings, &err), &err);
      ok(tacit_curator_release_column_moments(curator, &columns, 0, out, &noise_sd, &err), &err);
      tacit_curator_free(curator);
      tacit_record_columns_read(&columns, x, v);
      bool is_left_out =
          out[0] == 0 && !(fabs((double)x[0]) + fabs((double)x[1]) + fabs((double)x[2]) < 1e30); /* a record without a norm adds nothing */
      for (size_t i = 0, a = 0; i < 4; i++) {
        n2 += v[i] * v[i];
        for (size_t j = i; j < 4; j++, a++) {
          if (!(fabs(out[a] / (i == j ? 1 : sqrt(2)) - (is_left_out ? 0 : v[i] * v[j])) < 1e-5)) {
            fail_msg("%g for %g of %g %g %g", out[a], v[i] * v[j], (double)x[0], (double)x[1], (double)x[2]);
          }
          off2 += pow((out[a] - before[a]) / (spacing * spacing), 2);
        }
      }
      assert_true(n2 <= bound * bound * (1 + 1e-12));
      assert_true(sqrt(off2) <= limit * (1 + 1e-12));
      longest = fmax(longest, sqrt(off2) / limit);
      memcpy(before, out, sizeof before);
    }
  }
  assert_true(longest > 0.9);
}

static void test_refusals_charge_nothing(void **state) {
  (void)state;
  tacit_error_t err;
  tacit_model_t model;
  tacit_program_t *program = parsed(negbin, false, &model);
  tacit_curator_t *curator;
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  double out[6], noise_sd;
  float x[16];
  model.records.made_up(model.records.ctx, 1, 1, NULL, x);
  ok(tacit_curator_new_exposed(&curator, records_of(1, model.records.n_columns, x), &model.records, &settings, &err), &err);
  tacit_centred_point_t point = {at, identity, 2, 0, 4};
  assert_int_equal(tacit_curator_release_centred_score(curator, &point, 1, out, &noise_sd, &err), TACIT_ERR_ARGUMENT);
  point = (tacit_centred_point_t){at, identity, NAN, 32, 4};
  assert_int_equal(tacit_curator_release_centred_score(curator, &point, 1, out, &noise_sd, &err), TACIT_ERR_ARGUMENT);
  const size_t beyond = model.records.n_columns, none = 0;
  const double middle = 0, half = 1, nothing = 0;
  const tacit_record_columns_t wrong[] = {{0, &none, &middle, &half, NULL, 0},
                                          {1, &beyond, &middle, &half, NULL, 0},
                                          {1, &none, &middle, &nothing, NULL, 0},
                                          {1, &none, &middle, &half, identity, 0}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    assert_int_equal(tacit_curator_release_column_moments(curator, &wrong[i], 1, out, &noise_sd, &err), TACIT_ERR_ARGUMENT);
  }
  tacit_curator_free(curator);
  model.records.others = NULL;
  assert_int_equal(tacit_centred_check(&model.records, &err), TACIT_ERR_ARGUMENT);
  tacit_program_free(program);
}

/* A symmetric matrix of whole numbers, `unit` times which svec numbers are: no longer than radius^2, in exact arithmetic? *length: in that. */
static bool are_squares_within(const double *svec, double unit, int64_t radius, double *length) {
  __extension__ __int128 sum = 0;
  for (size_t i = 0, a = 0; i < 3; i++) {
    for (size_t j = i; j < 3; j++, a++) {
      __extension__ __int128 k = (int64_t)nearbyint(svec[a] / unit / (i == j ? 1 : sqrt(2)));
      sum += k * k * (i == j ? 1 : 2);
    }
  }
  __extension__ __int128 r2 = radius;
  r2 *= radius;
  *length = sqrt((double)sum) / (double)r2;
  return sum <= r2 * r2;
}

/*
 * Units of 1 to 7 rows of the same liar, all of whose rows may be as long as a row can be: the sum of the unit within the ball, squares of it, of its
 * rows and of their columns within theirs. Each bound is nearly reached by units of one row and by those of seven alike.
 */
static void test_units_of_several_rows_stay_there_too(void **state) {
  (void)state;
  enum { RADIUS = 1 << 22, MOST = 7, N_KINDS = 4 };
  static const size_t column[] = {0, 2};
  static const double middle[] = {0, 0}, half[] = {0.3, 0.5};
  tacit_centred_point_t point = {at, identity, 3, 20, 4};
  const tacit_record_columns_t columns = {2, column, middle, half, identity, 1.5};
  const double bound = 1.25 * point.clip, slack = RADIUS - 0.5 * sqrt(3 * MOST) - 1;
  const double unit[N_KINDS] = {bound / (RADIUS - 0.5 * sqrt(3) - 1), bound / slack * (bound / slack), bound / slack * (bound / slack),
                                1.5 / slack * (1.5 / slack)};
  double longest[N_KINDS][2] = {{0}};
  uint64_t seed = 7;
  for (size_t trial = 0; trial < (size_t)(3000 * testing_multiplier()); trial++) {
    tacit_error_t err;
    tacit_records_t *records;
    tacit_curator_t *curator;
    tacit_curator_settings_t settings = tacit_curator_settings_default();
    size_t k = trial % 2 == 0 ? 1 + (size_t)(uniform(&seed) * MOST) : MOST, offsets[] = {0, k};
    double out[N_KINDS][6] = {{0}}, row[3], noise_sd;
    bool are_alike = uniform(&seed) < 0.5;
    settings.max_unit_rows = MOST;
    ok(tacit_records_new(&records, k, 3, &err), &err);
    for (size_t t = 0; t < k; t++) {
      for (size_t j = 0; j < 3 && (t == 0 || !are_alike); j++) {
        row[j] = 2 * uniform(&seed) - 1;
      }
      tacit_records_set(records, t, row);
    }
    ok(tacit_records_set_units(records, offsets, 1, &err), &err);
    ok(tacit_curator_new_exposed(&curator, records, &liar, &settings, &err), &err);
    ok(tacit_curator_release_centred_score(curator, &point, 0, out[0], &noise_sd, &err), &err);
    ok(tacit_curator_release_centred_squares(curator, &point, 0, out[1], &noise_sd, &err), &err);
    ok(tacit_curator_release_centred_row_squares(curator, &point, 0, out[2], &noise_sd, &err), &err);
    ok(tacit_curator_release_column_moments(curator, &columns, 0, out[3], &noise_sd, &err), &err);
    tacit_curator_free(curator);
    int64_t n2 = 0;
    for (size_t j = 0; j < 3; j++) {
      int64_t whole = (int64_t)nearbyint(out[0][j] / unit[0]);
      n2 += whole * whole;
    }
    assert_true(n2 <= (int64_t)RADIUS * RADIUS);
    longest[0][k > 1] = fmax(longest[0][k > 1], sqrt((double)n2) / RADIUS);
    for (size_t kind = 1; kind < N_KINDS; kind++) {
      double length;
      assert_true(are_squares_within(out[kind], unit[kind], RADIUS, &length));
      longest[kind][k > 1] = fmax(longest[kind][k > 1], length);
    }
  }
  for (size_t kind = 0; kind < N_KINDS; kind++) {
    assert_true(longest[kind][0] > 0.8 && longest[kind][1] > 0.8);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_centred_scores_have_mean_zero),
      cmocka_unit_test(test_units_of_several_rows_stay_there_too),
      cmocka_unit_test(test_integers_stay_where_they_are_charged_for),
      cmocka_unit_test(test_moments_of_columns),
      cmocka_unit_test(test_refusals_charge_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
