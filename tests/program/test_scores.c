/*
 * Scores centred by other responses: their means, their slopes, and integers that stay where they are charged
 * for whatever a model writes.
 */
#include <float.h>

#include "curator/curator.h"
#include "data/records.h"
#include "response_testing.h"

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
static void sums(const tacit_record_model_t *model, const tacit_centred_point_t *point, size_t n,
                 const float *x, size_t n_threads, double *score, double *slope) {
  tacit_error_t err;
  tacit_curator_t *curator;
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  double noise_sd;
  settings.n_threads = n_threads;
  ok(tacit_curator_new_exposed(&curator, records_of(n, model->n_columns, x), model, &settings, &err), &err);
  ok(tacit_curator_release_centred_score(curator, point, 0, score, &noise_sd, &err), &err);
  ok(tacit_curator_release_centred_slope(curator, point, 0, slope, &noise_sd, &err), &err);
  tacit_curator_free(curator);
}

static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

/* At the truth they sum to 0 within 5.5 sds, however much is clipped; without the mean's being taken off they
 * do not. */
static void test_centred_scores_have_mean_zero(void **state) {
  (void)state;
  enum { N = 4000 };
  tacit_model_t model;
  tacit_program_t *program = parsed(negbin, false, &model);
  const tacit_record_model_t *r = &model.records;
  tacit_centred_point_t point = {at, identity, 0.8, 4, 32, 4};
  float *x = malloc(N * r->n_columns * sizeof *x), blocks[4 * 16 * 16];
  double weights[64], score[3], slope[6], again[3], again_slope[6];
  uint64_t seed = 12;
  r->made_up(r->ctx, 77, N, x);
  for (size_t i = 0; i < N; i++) {
    double u = uniform(&seed), below = 0;
    size_t y = 0;
    r->others(r->ctx, x + i * r->n_columns, at, 1, 61, blocks, weights);
    while (y < 60 && u >= (below += weights[y])) {
      y++;
    }
    lane_of(blocks + y / 16 * r->n_columns * 16, r->n_columns, y % 16, x + i * r->n_columns);
  }
  sums(r, &point, N, x, 1, score, slope);
  static const size_t diagonal[] = {0, 3, 5};
  for (size_t j = 0; j < 3; j++) {
    if (!(fabs(score[j]) < 5.5 * sqrt(slope[diagonal[j]]))) { /* the variance of v is below w J */
      fail_msg("sum %zu is %g, sd at most %g", j, score[j], sqrt(slope[diagonal[j]]));
    }
  }
  sums(r, &point, N, x, 3, again, again_slope);
  assert_memory_equal(score, again, sizeof score);
  assert_memory_equal(slope, again_slope, sizeof slope);
  free(x);
  tacit_program_free(program);
}

/* A model that writes anything: numbers that depend on what it is shown, of all sizes and kinds. */
static float anything(uint64_t *seed) {
  static const float special[] = {0,         FLT_TRUE_MIN, FLT_MAX, -FLT_MAX, NAN, INFINITY,
                                  -INFINITY, 1e-20f,       1e9f,    -4e9f,    1,   -1};
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

static void lie_others(const void *ctx, const float *record, const double *theta, uint64_t seed, size_t n,
                       float *blocks, double *weights) {
  uint64_t own = seed_of(record, 3) + seed;
  (void)ctx, (void)theta;
  for (size_t i = 0; i < (n + 15) / 16 * 48; i++) {
    blocks[i] = anything(&own);
  }
  double one = uniform(&own) < 0.5
                   ? 0.3 * uniform(&own)
                   : 0; /* a single one of some weight leaves the record's own score as long as it is */
  for (size_t i = 0; i < (n + 15) / 16 * 16; i++) {
    weights[i] = one > 0 ? (i == 0 ? one : 0) : (double)anything(&own);
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

static void lie_made_up(const void *ctx, uint64_t seed, size_t n, float *records) {
  (void)ctx, (void)seed;
  memset(records, 0, 3 * n * sizeof *records);
}

static void lie_log_lik(const void *ctx, const float *block, size_t n_theta, const double *theta,
                        double *out) {
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

static void lie_hazards(const void *ctx, const float *record, const double *theta, const double *distribution,
                        uint64_t seed, size_t n, float *blocks, double *weights) {
  uint64_t own = seed_of(record, 3) + seed;
  (void)ctx, (void)theta, (void)distribution;
  size_t n_lanes = (2 * n + 2 + 15) / 16 * 16;
  bool is_mild = uniform(&own) < 0.6;
  for (size_t i = 0; i < 3 * n_lanes; i++) {
    blocks[i] = is_mild ? (float)(4 * uniform(&own)) : anything(&own);
  }
  for (size_t i = 0; i < n_lanes; i++) {
    weights[i] = is_mild ? uniform(&own) / 4 : (double)anything(&own);
  }
  weights[2 * n] = uniform(&own) < 0.7;
}

static const tacit_record_model_t liar_followed = {.name = "liar",
                                                   .dim = 3,
                                                   .n_columns = 3,
                                                   .grad_bound = INFINITY,
                                                   .log_lik = lie_log_lik,
                                                   .grad = lie_grad,
                                                   .hazards = lie_hazards,
                                                   .made_up = lie_made_up};

/* A symmetric matrix of whole numbers, `unit` times which svec numbers are: no longer than radius^2, in exact
 * arithmetic? *length: in that. */
static bool are_squares_within(const double *svec, const double *before, double unit, int64_t radius,
                               int most, double *length) {
  __extension__ __int128 sum = 0;
  for (size_t i = 0, a = 0; i < 3; i++) {
    for (size_t j = i; j < 3; j++, a++) {
      __extension__ __int128 k =
          (int64_t)nearbyint((svec[a] - (before != NULL ? before[a] : 0)) / unit / (i == j ? 1 : sqrt(2)));
      sum += k * k * (i == j ? 1 : 2);
    }
  }
  __extension__ __int128 r2 = radius;
  r2 *= radius;
  *length = sqrt((double)sum) / (double)r2;
  return sum <= most * r2 * r2;
}

enum { RADIUS = 1 << 22, MOST_ROWS = 7 };
typedef enum what { SCORE, SLOPE, SCORES_BAND, SLOPES_BAND, N_KINDS } what_t;
/* Radii of two bands, between which lengths of the liar's vectors lie. */
static const double radii[] = {2, 6};

/* Those of one unit of k rows, without noise; `unit`: of their whole numbers. */
static void release_all(const tacit_record_model_t *of, size_t k, double (*rows)[3],
                        const tacit_centred_point_t *point, double out[N_KINDS][12], double unit[N_KINDS]) {
  tacit_error_t err;
  tacit_records_t *records;
  tacit_curator_t *curator;
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  size_t offsets[] = {0, k};
  const tacit_program_point_t program = {of, *point};
  const tacit_banded_t scores = tacit_program_scores(&program), slopes = tacit_program_slopes(&program);
  const tacit_bands_t bands = {2, radii, false};
  double noise_sd, slack = RADIUS - 0.5 * sqrt(3) - 1, of_slopes = RADIUS - 0.5 * sqrt(9) - 1;
  settings.max_unit_rows = MOST_ROWS;
  ok(tacit_records_new(&records, k, 3, &err), &err);
  for (size_t t = 0; t < k; t++) {
    tacit_records_set(records, t, rows[t]);
  }
  ok(tacit_records_set_units(records, offsets, 1, &err), &err);
  ok(tacit_curator_new_exposed(&curator, records, of, &settings, &err), &err);
  ok(tacit_curator_release_centred_score(curator, point, 0, out[SCORE], &noise_sd, &err), &err);
  ok(tacit_curator_release_centred_slope(curator, point, 0, out[SLOPE], &noise_sd, &err), &err);
  ok(tacit_curator_release_bands(curator, &scores, &bands, 0, out[SCORES_BAND], &noise_sd, &err), &err);
  ok(tacit_curator_release_bands(curator, &slopes, &bands, 0, out[SLOPES_BAND], &noise_sd, &err), &err);
  tacit_curator_free(curator);
  unit[SCORE] = 1.25 * point->clip / slack;
  unit[SLOPE] = point->most / (of_slopes * of_slopes);
  unit[SCORES_BAND] = 1 / (slack * slack);
  unit[SLOPES_BAND] = 1 / (of_slopes * of_slopes);
}

/*
 * Of units of 1 to 7 rows of a model that lies: scores within the ball, slopes and what is in bands within
 * theirs and no further apart than sqrt(2) of it, in exact arithmetic, whatever the model says, a unit in one
 * band alone; and each bound is nearly reached, so that a smaller one would have been found out. most,
 * opposite: what shares of the bound, and of twice that, records and neighbours at least come to.
 */
static void check_integers(const tacit_record_model_t *model, double most, double opposite) {
  const tacit_centred_point_t point = {at, identity, 3, 20, 20, 4};
  double longest[N_KINDS] = {0}, furthest[N_KINDS] = {0}, before[N_KINDS][12] = {{0}};
  uint64_t seed = 99;
  for (size_t trial = 0; trial < (size_t)(4000 * fmax(0.5, testing_multiplier())); trial++) {
    double rows[MOST_ROWS][3], out[N_KINDS][12] = {{0}}, unit[N_KINDS], length;
    size_t k = trial % 2 == 0 ? 1 : 1 + (size_t)(uniform(&seed) * MOST_ROWS);
    bool are_alike = uniform(&seed) < 0.5;
    for (size_t i = 0; i < 3 * k; i++) {
      rows[i / 3][i % 3] = are_alike && i >= 3 ? rows[0][i % 3] : (double)(float)(2 * uniform(&seed) - 1);
    }
    release_all(model, k, rows, &point, out, unit);
    int64_t n2 = 0, off2 = 0;
    for (size_t j = 0; j < 3; j++) {
      int64_t whole = (int64_t)nearbyint(out[SCORE][j] / unit[SCORE]),
              off = (int64_t)nearbyint((out[SCORE][j] - before[SCORE][j]) / unit[SCORE]);
      n2 += whole * whole;
      off2 += off * off;
    }
    assert_true(n2 <= (int64_t)RADIUS * RADIUS && off2 <= 4 * (int64_t)RADIUS * RADIUS);
    longest[SCORE] = fmax(longest[SCORE], sqrt((double)n2) / RADIUS);
    furthest[SCORE] = fmax(furthest[SCORE], sqrt((double)off2) / RADIUS / 2);
    for (what_t of = SLOPE; of < N_KINDS; of++) {
      size_t n_bands = of == SLOPE ? 1 : 2, n_held = 0;
      double apart = 0;
      for (size_t b = 0; b < n_bands; b++) {
        assert_true(are_squares_within(out[of] + 6 * b, NULL, unit[of], RADIUS, 1, &length));
        longest[of] = fmax(longest[of], length);
        n_held += length > 0;
        assert_true(are_squares_within(out[of] + 6 * b, before[of] + 6 * b, unit[of], RADIUS, 2, &length));
        apart += length * length;
      }
      assert_true(n_held <= 1 && apart <= 2 * (1 + 1e-12));
      furthest[of] = fmax(furthest[of], sqrt(apart / 2));
    }
    memcpy(before, out, sizeof before);
  }
  for (what_t of = 0; of < N_KINDS; of++) {
    if (!(longest[of] > most && furthest[of] > opposite)) {
      fail_msg("%d: %g, %g", (int)of, longest[of], furthest[of]);
    }
  }
}

static void test_integers_stay_where_they_are_charged_for(void **state) {
  (void)state;
  check_integers(&liar, 0.9, 0.75);
}

/* The same of a model that lies of when a record is censored. */
static void test_integers_of_censored_records_stay(void **state) {
  (void)state;
  check_integers(&liar_followed, 0.8, 0.55);
}

/*
 * What the expected score changes by where the truth moves is the slope that is released, however much is
 * clipped: exactly, for it is a function of the record's own columns.
 */
static void test_slopes_are_those_of_scores(void **state) {
  (void)state;
  enum { N = 50 };
  static const double whiten[9] = {1.2, 0.3, -0.4, 0.1, 0.8, 0.2, 0, -0.5, 1.1};
  tacit_model_t model;
  tacit_program_t *program = parsed(negbin, false, &model);
  const tacit_record_model_t *r = &model.records;
  const tacit_centred_point_t points[] = {{at, whiten, 100, 1e3, 32, 4}, {at, whiten, 0.8, 0.4, 32, 4}};
  float *x = malloc(N * r->n_columns * sizeof *x);
  double *work = malloc(tacit_centred_n_work(r, points) * sizeof *work), slope[9], low[3], high[3],
         distribution[3];
  const double h = 1e-4;
  r->made_up(r->ctx, 5, N, x);
  for (size_t i = 0; i < 2 * N; i++) {
    const tacit_centred_point_t *point = &points[i % 2];
    const float *record = x + i / 2 * r->n_columns;
    tacit_centred_slope(r, point, record, work, slope);
    for (size_t j = 0; j < 3; j++) { /* along A' e_j */
      for (size_t k = 0; k < 3; k++) {
        distribution[k] = at[k] + h * whiten[j * 3 + k];
      }
      tacit_centred_expect(r, point, distribution, record, work, high);
      for (size_t k = 0; k < 3; k++) {
        distribution[k] = at[k] - h * whiten[j * 3 + k];
      }
      tacit_centred_expect(r, point, distribution, record, work, low);
      for (size_t k = 0; k < 3; k++) {
        double told = (high[k] - low[k]) / (2 * h);
        if (!(fabs(told - slope[k * 3 + j]) <
              1e-3 * (0.01 + fabs(slope[k * 3 + k]) + fabs(slope[j * 3 + j])))) {
          fail_msg("%g for %g", slope[k * 3 + j], told);
        }
      }
    }
  }
  free(x);
  free(work);
  tacit_program_free(program);
}

static const char times[] =
    "data { real<lower=-1, upper=1> x; real<lower=0.001, upper=20> y; int<lower=0, upper=1> seen; }\n"
    "parameters { real a; real b; real k; }\n"
    "model { a ~ normal(0, 1); b ~ normal(0, 1); k ~ normal(0, 1); censored_right(y, seen) ~ weibull(exp(k), "
    "exp(a + b * x)); }\n";

/*
 * Records (n, n_columns) by the program at theta, censored at times that depend on x; or, is_informative, a
 * quarter of those who would be seen next are censored just before.
 */
static void censor(const tacit_record_model_t *r, const double *theta, bool is_informative, size_t n,
                   float *x) {
  uint64_t seed = 31;
  r->made_up(r->ctx, 77, n, x);
  for (size_t i = 0; i < n; i++) {
    float *record = x + i * r->n_columns, blocks[2 * 16 * 16];
    double own = 0, weights[32];
    for (size_t j = 0; j < r->n_columns; j++) { /* x is what does not change with the outcome */
      own = r->of_outcome[j] ? own : (double)record[j];
    }
    double t = exp(theta[0] + theta[1] * own) * pow(-log1p(-uniform(&seed)), exp(-theta[2]));
    double c = own > 0 ? 4 * uniform(&seed) : -1.5 * log1p(-uniform(&seed));
    c = is_informative && uniform(&seed) < 0.25 ? fmin(c, 0.999 * t) : c;
    record[r->outcome] = (float)fmax(fmin(fmin(t, c), 20), 0.001);
    record[r->seen] = (float)(t <= c && t < 20);
    r->hazards(r->ctx, record, theta, NULL, 1, 15, blocks,
               weights); /* columns that the program derives: as of the pair at its own time */
    lane_of(blocks + r->n_columns * 16, r->n_columns, t <= c && t < 20 ? 14 : 15, record);
  }
}

/*
 * Censored at times of which nothing is known, scores sum to 0 at the truth, within 5.5 sds, however much is
 * clipped; to their slope elsewhere; and not to 0 where being censored tells of what would have come.
 */
static void test_scores_of_censored_records(void **state) {
  (void)state;
  enum { N = 4000 };
  static const double near[] = {0.76, -0.4, 0.3};
  tacit_model_t model;
  tacit_program_t *program = parsed(times, false, &model);
  const tacit_record_model_t *r = &model.records;
  static const size_t diagonal[] = {0, 3, 5};
  float *x = malloc(N * r->n_columns * sizeof *x);
  const tacit_centred_point_t points[] = {
      {at, identity, 100, 1e3, 32, 4}, {at, identity, 2, 4, 32, 4}, {at, identity, 0.5, 0.5, 32, 4}};
  double *work = malloc(tacit_centred_n_work(r, points) * sizeof *work), slope[9];
  double score[3], own_slope[6], other[6], again[3], moved[3];
  for (size_t i = 0; i < 3; i++) {
    double away[3] = {0}, told[3] = {0}, furthest = 0;
    censor(r, at, false, N, x);
    sums(r, &points[i], N, x, 1, score, own_slope);
    sums(r, &points[i], N, x, 3, again, other);
    assert_memory_equal(score, again, sizeof score);
    for (size_t k = 0; k < N; k++) {
      tacit_centred_slope(r, &points[i], x + k * r->n_columns, work, slope);
      for (size_t j = 0; j < 3; j++) {
        told[j] += slope[3 * j];
      }
    }
    censor(r, near, false, N, x);
    sums(r, &points[i], N, x, 1, moved, other);
    censor(r, at, true, N, x);
    sums(r, &points[i], N, x, 1, again, other);
    for (size_t j = 0; j < 3; j++) {
      double sd = sqrt(own_slope[diagonal[j]]); /* v varies by no more than J */
      away[j] = told[j] * (near[0] - at[0]);
      if (!(fabs(score[j]) < 5.5 * sd && fabs(moved[j] - away[j]) < 5.5 * sd + 0.1 * fabs(away[j]))) {
        fail_msg("sums %zu at clip %g are %g, %g for %g, sd %g", j, points[i].clip, score[j], moved[j],
                 away[j], sd);
      }
      furthest = fmax(furthest, fabs(again[j]) / sd);
    }
    assert_true(furthest > (i < 2 ? 5.5 : 3)); /* of strong clips J is far above the variance */
  }
  free(x);
  free(work);
  tacit_program_free(program);
}

/* Their slope is what is expected of them by another distribution of the same records, followed as long;
 * parts are small, as that takes a time for a part. */
static void test_slopes_of_censored_records(void **state) {
  (void)state;
  enum { N = 150 };
  tacit_model_t model;
  tacit_program_t *program = parsed(times, false, &model);
  const tacit_record_model_t *r = &model.records;
  const tacit_centred_point_t points[] = {{at, identity, 100, 1e3, 400, 4}, {at, identity, 1, 1, 400, 4}};
  float *x = malloc(N * r->n_columns * sizeof *x);
  double *work = malloc(tacit_centred_n_work(r, points) * sizeof *work), slope[9], high[3], low[3];
  censor(r, at, false, N, x);
  for (size_t i = 0; i < 2; i++) {
    double told[9] = {0}, expected[9] = {0};
    for (size_t k = 0; k < N; k++) {
      tacit_centred_slope(r, &points[i], x + k * r->n_columns, work, slope);
      for (size_t j = 0; j < 3; j++) {
        double distribution[3] = {at[0], at[1], at[2]};
        distribution[j] += 1e-3;
        tacit_centred_expect(r, &points[i], distribution, x + k * r->n_columns, work, high);
        distribution[j] -= 2e-3;
        tacit_centred_expect(r, &points[i], distribution, x + k * r->n_columns, work, low);
        for (size_t m = 0; m < 3; m++) {
          told[3 * m + j] += slope[3 * m + j];
          expected[3 * m + j] += (high[m] - low[m]) / 2e-3;
        }
      }
    }
    for (size_t j = 0; j < 9; j++) {
      if (!(fabs(told[j] - expected[j]) < 0.03 * sqrt(told[j / 3 * 4] * told[j % 3 * 4]))) {
        fail_msg("%zu at clip %g: %g for %g", j, points[i].clip, told[j], expected[j]);
      }
    }
  }
  free(x);
  free(work);
  tacit_program_free(program);
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
  model.records.made_up(model.records.ctx, 1, 1, x);
  ok(tacit_curator_new_exposed(&curator, records_of(1, model.records.n_columns, x), &model.records, &settings,
                               &err),
     &err);
  tacit_centred_point_t point = {at, identity, 2, 10, 0, 4};
  assert_int_equal(tacit_curator_release_centred_score(curator, &point, 1, out, &noise_sd, &err),
                   TACIT_ERR_ARGUMENT);
  point = (tacit_centred_point_t){at, identity, NAN, 10, 32, 4};
  assert_int_equal(tacit_curator_release_centred_score(curator, &point, 1, out, &noise_sd, &err),
                   TACIT_ERR_ARGUMENT);
  point = (tacit_centred_point_t){at, identity, 2, 0, 32, 4};
  assert_int_equal(tacit_curator_release_centred_slope(curator, &point, 1, out, &noise_sd, &err),
                   TACIT_ERR_ARGUMENT);
  tacit_curator_free(curator);
  model.records.others = NULL;
  assert_int_equal(tacit_centred_check(&model.records, &err), TACIT_ERR_ARGUMENT);
  tacit_program_free(program);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_centred_scores_have_mean_zero),
      cmocka_unit_test(test_integers_stay_where_they_are_charged_for),
      cmocka_unit_test(test_integers_of_censored_records_stay),
      cmocka_unit_test(test_scores_of_censored_records),
      cmocka_unit_test(test_slopes_of_censored_records),
      cmocka_unit_test(test_slopes_are_those_of_scores),
      cmocka_unit_test(test_refusals_charge_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
