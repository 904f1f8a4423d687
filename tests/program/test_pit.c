/*
 * Where responses lie among those that a program says: by hand; even under the program, of values, draws and
 * censored times; never longer than what is charged for, whatever a model writes; units of several rows.
 */
#include <float.h>

#include "curator/curator.h"
#include "curator/curator_internal.h"
#include "data/records.h"
#include "door/door_internal.h"
#include "program/program.h"
#include "testing.h"

enum {
  CELLS = TACIT_PIT_CELLS,
  N_BINS = 3,
  N_BY = 2,
  N_VALUES = CELLS + 2 * N_BINS + N_BY,
  MOST_COLUMNS = 16
};

static void ok(tacit_status_t status, const tacit_error_t *err) {
  if (status != TACIT_OK) {
    fail_msg("%s", err->message);
  }
}

static tacit_program_t *parsed(const char *text, tacit_model_t *model) {
  tacit_error_t err = {0};
  tacit_program_t *program;
  tacit_program_settings_t settings = {
      .records = "", .keeps_responses = true, .keeps_columns = true, .is_followed_to_bound = true};
  ok(tacit_program_parse(&program, text, strlen(text), &settings, &err), &err);
  ok(tacit_program_compile(program, model, &err), &err);
  assert_true(model->records.n_columns <= MOST_COLUMNS);
  return program;
}

static double uniform(uint64_t *seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return ((double)(*seed >> 12) + 0.5) * 0x1p-52;
}

static const double cuts[N_BINS - 1] = {0.8, 1.6}, by_cuts[N_BY - 1] = {0.25}, factors[] = {1};

static tacit_pit_point_t point_of(const double *theta, const size_t *column) {
  return (tacit_pit_point_t){.theta = theta,
                             .n_simulated = 31,
                             .seed = 5,
                             .n_bins = N_BINS,
                             .cuts = cuts,
                             .n_by = N_BY,
                             .by_cuts = by_cuts,
                             .n_columns = 1,
                             .columns = column,
                             .factors = factors};
}

/* Units of max_rows rows each; sums without noise, and what the door had of them in whole numbers. */
static void release(const tacit_record_model_t *model, const tacit_pit_point_t *point, size_t n,
                    size_t max_rows, const float *x, size_t n_threads, double *out, double *whole) {
  tacit_error_t err;
  tacit_records_t *records;
  tacit_curator_t *curator;
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  double row[MOST_COLUMNS], sd[N_VALUES];
  settings.n_threads = n_threads;
  settings.max_unit_rows = max_rows;
  ok(tacit_records_new(&records, n, model->n_columns, &err), &err);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < model->n_columns; j++) {
      row[j] = (double)x[i * model->n_columns + j];
    }
    tacit_records_set(records, i, row);
  }
  if (max_rows > 1) {
    size_t *offsets = malloc((n / max_rows + 1) * sizeof *offsets);
    for (size_t u = 0; u <= n / max_rows; u++) {
      offsets[u] = u * max_rows;
    }
    ok(tacit_records_set_units(records, offsets, n / max_rows, &err), &err);
    free(offsets);
  }
  ok(tacit_curator_new_exposed(&curator, records, model, &settings, &err), &err);
  ok(tacit_curator_release_pit(curator, point, 0, out, sd, &err), &err);
  for (size_t k = 0; k < N_VALUES && whole != NULL; k++) {
    whole[k] = (double)(int64_t)curator->door->sums[k];
  }
  tacit_curator_free(curator);
}

/* P(1) = 1 / (1 + e^-a): no is the interval [0, 1 - p], yes [1 - p, 1]. */
static void test_answers_by_hand(void **state) {
  (void)state;
  tacit_model_t model;
  tacit_program_t *program =
      parsed("data { real<lower=-1, upper=1> x; int<lower=0, upper=1> y; } parameters { real a; real b; }\n"
             "model { a ~ normal(0, 1); b ~ normal(0, 1); y ~ bernoulli_logit(a + b * x); }",
             &model);
  const double theta[] = {log(0.65 / 0.35), 0}, p = 0.65;
  size_t column, n_columns = model.records.n_columns;
  double factor, offset, out[N_VALUES];
  assert_int_equal(tacit_program_packed(program, "none", 1, &column, &factor, &offset), 0);
  assert_int_equal(tacit_program_packed(program, "x", 1, &column, &factor, &offset), 1);
  tacit_pit_point_t point = point_of(theta, &column);
  float *records = malloc(200 * n_columns * sizeof *records);
  model.records.made_up(model.records.ctx, 3, 200, records);
  double expected[N_VALUES] = {0};
  for (size_t i = 0; i < 200; i++) {
    bool is_yes = records[i * n_columns + model.records.outcome] > 0.5f;
    double lo = is_yes ? 1 - p : 0, hi = is_yes ? 1 : 1 - p;
    for (size_t c = 0; c < CELLS; c++) {
      expected[c] +=
          fmax(fmin(hi, (double)(c + 1) / CELLS) - fmax(lo, (double)c / CELLS), 0) / (hi - lo) - 0.1;
    }
    expected[CELLS] += 1; /* all are predicted .65 */
    expected[CELLS + N_BINS] += lo + hi - 1;
    expected[CELLS + 2 * N_BINS + (records[i * n_columns + column] > 0.25f)] += lo + hi - 1;
  }
  release(&model.records, &point, 200, 1, records, 1, out, NULL);
  for (size_t k = 0; k < N_VALUES; k++) {
    assert_true(fabs(out[k] - expected[k]) < 1e-3);
  }
  double of_units[N_VALUES]; /* units add the means of their rows */
  release(&model.records, &point, 200, 4, records, 1, of_units, NULL);
  for (size_t k = 0; k < N_VALUES; k++) {
    assert_true(fabs(of_units[k] - expected[k] / 4) < 1e-3);
  }
  free(records);
  tacit_program_free(program);
}

/* With responses at bounds, and nothing else moved. */
static void test_records_at_bounds(void **state) {
  (void)state;
  enum { N = 64 };
  tacit_model_t model;
  tacit_program_t *program = parsed(
      "data { real<lower=-1, upper=1> x; real<lower=0.5, upper=40> y; } parameters { real a; real b; }\n"
      "model { a ~ normal(0, 1); b ~ normal(0, 1); y ~ lognormal(a + b * x, 1); }",
      &model);
  size_t n_columns = model.records.n_columns;
  float usual[N * 8], at_bounds[N * 8];
  double lowest = INFINITY, highest = -INFINITY;
  assert_true(n_columns <= 8);
  model.records.made_up(model.records.ctx, 3, N, usual);
  model.records.made_up(model.records.ctx, 3 | TACIT_AT_BOUNDS, N, at_bounds);
  for (size_t i = 0; i < N * n_columns; i++) {
    size_t k = i % n_columns;
    if (k ==
        model.records.outcome) { /* lower, lower, upper, upper: each is both among even records and not */
      bool is_upper = i / n_columns / 2 % 2;
      lowest = is_upper ? lowest : fmin(lowest, at_bounds[i]);
      highest = is_upper ? fmax(highest, at_bounds[i]) : highest;
      assert_true(at_bounds[i] == at_bounds[(is_upper ? 2 : 0) * n_columns + k]);
    } else if (!model.records.of_outcome[k]) {
      assert_true(at_bounds[i] == usual[i]);
    }
  }
  assert_true(lowest < highest);
  for (size_t i = 0; i < N; i++) {
    double y = usual[i * n_columns + model.records.outcome];
    assert_true(y >= lowest && y <= highest);
  }
  tacit_program_free(program);
}

/* Records of nobody, with a response by the model at theta. */
static float *simulated(const tacit_record_model_t *model, const double *theta, size_t n, uint64_t seed) {
  size_t n_others = model->n_others > 0 ? model->n_others : 16, n_blocks = (n_others + 15) / 16;
  float *x = malloc(n * model->n_columns * sizeof *x),
        *blocks = aligned_alloc(64, n_blocks * model->n_columns * 16 * sizeof *blocks);
  double *weights = malloc(n_blocks * 16 * sizeof *weights);
  model->made_up(model->ctx, seed << 20, n, x);
  for (size_t i = 0; i < n; i++) {
    double u = uniform(&seed), below = 0;
    size_t pick = 0;
    model->others(model->ctx, x + i * model->n_columns, theta, seed, n_others, blocks, weights);
    while (pick + 1 < n_others && u >= (below += weights[pick])) {
      pick++;
    }
    for (size_t j = 0; j < model->n_columns; j++) {
      x[i * model->n_columns + j] = blocks[(pick / 16 * model->n_columns + j) * 16 + pick % 16];
    }
  }
  free(blocks);
  free(weights);
  return x;
}

/*
 * Sums of 40 000 records are 0 within 5.8 sds, which chance exceeds 7 times in 10^9 (of 54 sums 4 in 10^7);
 * variances of shares are at most .09, of residuals 1/3. With the interval's lower end for both, sums of
 * counts are 40 sds off; by draws from parts of the distribution, those of the outer cells 5 to 8.
 */
static void test_places_are_even_under_the_program(void **state) {
  (void)state;
  enum { N = 40000 };
  static const struct {
    const char *text;
    double theta[3];
  } cases[] = {{"data { real<lower=-1, upper=1> x; int<lower=0, upper=30> y; } parameters { real a; real b; "
                "real<lower=0> phi; }\n"
                "model { a ~ normal(0, 1); b ~ normal(0, 1); phi ~ gamma(2, 1); y ~ neg_binomial_2_log(a + b "
                "* x, phi); }",
                {0.3, 0.5, 0.7}},
               {"data { real<lower=-1, upper=1> x; real<lower=-3, upper=3> y; } parameters { real a; real b; "
                "real<lower=0> s; }\n"
                "model { a ~ normal(0, 1); b ~ normal(0, 1); s ~ gamma(2, 1); y ~ normal(a + b * x, s); }",
                {1, 0.5, 0.2}},
               {"data { real<lower=-1, upper=1> x; real<lower=0.001, upper=2> t; int<lower=0, upper=1> over; "
                "} parameters { real a; real b; "
                "real<lower=0> k; }\n"
                "model { a ~ normal(0, 1); b ~ normal(0, 1); k ~ gamma(2, 1); censored_right(t, 1 - over) ~ "
                "weibull(k, exp(a + b * x)); }",
                {0.5, 0.5, 0.3}}};
  for (size_t i = 0; i < 3; i++) {
    tacit_model_t model;
    tacit_program_t *program = parsed(cases[i].text, &model);
    size_t column;
    double factor, offset, out[N_VALUES], again[N_VALUES];
    assert_int_equal(tacit_program_packed(program, "x", 1, &column, &factor, &offset), 1);
    tacit_pit_point_t point = point_of(cases[i].theta, &column);
    float *x = simulated(&model.records, cases[i].theta, N, 7 + i);
    release(&model.records, &point, N, 1, x, 1, out, NULL);
    for (size_t k = 0; k < N_VALUES; k++) {
      bool is_count = k >= CELLS && k < CELLS + N_BINS;
      if (!is_count && !(fabs(out[k]) < 5.8 * sqrt(N * (k < CELLS ? 0.09 : 1.0 / 3)))) {
        fail_msg("program %zu: sum %zu is %g", i, k, out[k]);
      }
    }
    assert_true(fabs(out[CELLS] + out[CELLS + 1] + out[CELLS + 2] - N) < 1);
    release(&model.records, &point, N, 1, x, 3, again, NULL);
    assert_memory_equal(out, again, sizeof out);
    free(x);
    tacit_program_free(program);
  }
}

/* Responses of a program whose errors are wider than it says are at both ends, and only there. */
static void test_more_spread_is_seen(void **state) {
  (void)state;
  enum { N = 20000 };
  tacit_model_t model;
  tacit_program_t *program = parsed("data { real<lower=-9, upper=9> y; } parameters { real a; real<lower=0> "
                                    "s; } model { a ~ normal(0, 1); s ~ gamma(2, 1); y ~ normal(a, s); }",
                                    &model);
  const double wide[] = {0.2, 0.3}, narrow[] = {0.2, 0};
  static const size_t none = 0;
  double out[N_VALUES];
  tacit_pit_point_t point = point_of(narrow, &none);
  point.n_columns = 0;
  float *x = simulated(&model.records, wide, N, 3);
  release(&model.records, &point, N, 1, x, 1, out, NULL);
  double beyond = 2 * 0.5 * erfc(1.2815515655446004 / exp(0.3) / sqrt(2)) / 2 *
                  N; /* of a normal distribution, beyond the tenth of a narrower one */
  assert_true(fabs(out[0] + 0.1 * N - beyond) < 0.1 * beyond &&
              fabs(out[9] + 0.1 * N - beyond) < 0.1 * beyond && out[4] < -0.01 * N);
  free(x);
  tacit_program_free(program);
}

/* ---- models that lie ---- */

static double anything(uint64_t *seed) {
  static const double special[] = {0,         DBL_TRUE_MIN, DBL_MAX, -DBL_MAX, NAN, INFINITY,
                                   -INFINITY, 1e-20,        1e9,     -4e9,     1,   -1};
  double u = uniform(seed);
  return u < 0.3 ? special[(size_t)(u / 0.3 * 12)] : 4 * u - 2;
}

static void lie(const void *ctx, const float *record, const double *theta, uint64_t seed, size_t n,
                double *values, bool *is_seen, double *weights) {
  uint32_t bits;
  memcpy(&bits, record, sizeof bits);
  uint64_t own = bits + seed;
  bool is_wild = uniform(&own) < 0.5;
  (void)ctx, (void)theta;
  for (size_t i = 0; i < (n + 15) / 16 * 16; i++) {
    values[i] = is_wild ? anything(&own) : (double)i;
    weights[i] = is_wild ? anything(&own) : i == 0;
    if (is_seen != NULL) {
      is_seen[i] = uniform(&own) < 0.5;
    }
  }
}

static void no_log_lik(const void *ctx, const float *block, size_t n_theta, const double *theta,
                       double *out) {
  (void)ctx, (void)block, (void)theta;
  memset(out, 0, 16 * n_theta * sizeof *out);
}

/* In exact integers: within the ball, which is reached; units of three rows, too. */
static void test_no_unit_is_longer_than_what_is_charged_for(void **state) {
  (void)state;
  static const size_t column = 1;
  static const double theta[] = {0};
  uint64_t seed = 11;
  double longest = 0;
  for (size_t trial = 0; trial < (size_t)(4000 * testing_multiplier()); trial++) {
    tacit_record_model_t liar = {.name = "liar",
                                 .dim = 1,
                                 .n_columns = 3,
                                 .grad_bound = INFINITY,
                                 .log_lik = no_log_lik,
                                 .responses = lie,
                                 .seen = trial % 3 == 0 ? 2 : SIZE_MAX,
                                 .n_others = trial % 2 == 0 ? 20 : 0};
    size_t max_rows = trial % 5 == 0 ? 3 : 1;
    static float x[9];
    double out[N_VALUES], whole[N_VALUES], square = 0, radius = 1 << 22;
    for (size_t j = 0; j < 9; j++) {
      x[j] = j % 3 == 0 && trial % 4 < 2 ? (float)(30 * uniform(&seed) - 5) : (float)anything(&seed);
    }
    tacit_pit_point_t point = point_of(theta, &column);
    release(&liar, &point, max_rows, max_rows, x, 1, out, whole);
    for (size_t k = 0; k < N_VALUES; k++) {
      square += whole[k] * whole[k];
    }
    assert_true(square <= radius * radius);
    longest = fmax(longest, sqrt(square) / radius);
  }
  assert_true(longest > 0.999 && longest <= 1);
}

static void test_bad_points_are_refused(void **state) {
  (void)state;
  static const size_t column = 1, beyond = 3;
  static const double theta[] = {0}, unbounded[] = {NAN};
  tacit_record_model_t liar = {.name = "liar",
                               .dim = 1,
                               .n_columns = 3,
                               .grad_bound = INFINITY,
                               .log_lik = no_log_lik,
                               .responses = lie,
                               .seen = SIZE_MAX};
  tacit_record_model_t dumb = liar;
  dumb.responses = NULL;
  tacit_pit_point_t points[6];
  for (size_t i = 0; i < 6; i++) {
    points[i] = point_of(theta, &column);
  }
  points[0].n_bins = 0;
  points[1].n_by = TACIT_FIT_MAX_BINS + 1;
  points[2].columns = &beyond;
  points[3].theta = unbounded;
  points[4].n_simulated = 0;
  for (size_t i = 0; i < 6; i++) {
    tacit_error_t err;
    tacit_records_t *records;
    tacit_curator_t *curator;
    tacit_curator_settings_t settings = tacit_curator_settings_default();
    double out[CELLS + 3 * TACIT_FIT_MAX_BINS + 1], sd[CELLS + 3 * TACIT_FIT_MAX_BINS + 1];
    const double row[] = {0, 0, 1};
    ok(tacit_records_new(&records, 1, 3, &err), &err);
    tacit_records_set(records, 0, row);
    ok(tacit_curator_new_exposed(&curator, records, i < 5 ? &liar : &dumb, &settings, &err), &err);
    assert_int_equal(tacit_curator_release_pit(curator, &points[i], 1, out, sd, &err), TACIT_ERR_ARGUMENT);
    tacit_curator_free(curator);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_answers_by_hand),
                                     cmocka_unit_test(test_records_at_bounds),
                                     cmocka_unit_test(test_places_are_even_under_the_program),
                                     cmocka_unit_test(test_more_spread_is_seen),
                                     cmocka_unit_test(test_no_unit_is_longer_than_what_is_charged_for),
                                     cmocka_unit_test(test_bad_points_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
