/*
 * Statistics of columns: the integers that two records add are never further apart than what is charged for,
 * and worst cases attain it; what is released is the sum and noise of the scale that is said; nothing is
 * released that is not charged. Errors planted to see that these tests catch them: a sensitivity of d instead
 * of d + 1 for products, of D Q^2 + 0.98 H^2 for the score, its response in units of H instead of 2 H, of 1
 * for counts, of one margin for several, a value that is not clamped, a non-finite value that counts as a
 * bound beyond the range, the offset of the lattice left out.
 */
#include <float.h>
#include <string.h>

#include "support.h"

enum { MAX_VALUES = 64, MAX_COLUMNS = 6 };

static const double lowers[MAX_COLUMNS] = {-1, 0, -3, 1e-3, -1e6, 2},
                    uppers[MAX_COLUMNS] = {1, 80, 5, 1e-2, 1e6, 3};
static const size_t levels[MAX_COLUMNS] = {2, 3, 4, 2, 2, 2};

static double adversarial(support_rng_t *rng, size_t j, bool is_level) {
  static const double special[] = {0,        -0.0, FLT_MIN,  FLT_TRUE_MIN, -FLT_TRUE_MIN, FLT_MAX,
                                   -FLT_MAX, NAN,  INFINITY, -INFINITY,    1e-20,         0.5,
                                   -0.5,     1,    -1,       1e19};
  switch (support_bits(rng) % 5) {
  case 0:
    return special[support_bits(rng) % (sizeof special / sizeof *special)];
  case 1:
    return (double)(float)ldexp(support_uniform(rng, -1, 1), (int)(support_bits(rng) % 250) - 125);
  case 2:
    return is_level ? (double)(support_bits(rng) % 5) : lowers[j];
  case 3:
    return is_level ? (double)(support_bits(rng) % 3) : uppers[j];
  default:
    return is_level ? (double)(support_bits(rng) % 2) : support_uniform(rng, lowers[j] - 1, uppers[j] + 1);
  }
}

static const uint32_t margins[] = {3, 6, 9, 4}; /* of four columns: two of them, within each other or apart */

static bool is_of_cells(const tacit_statistic_t *s) {
  return s->kind == TACIT_STATISTIC_COUNTS || s->kind == TACIT_STATISTIC_MARGINS;
}

static size_t margin_cell(const tacit_statistic_t *s, size_t margin, const double *x) {
  size_t cell = 0, first = 0;
  for (size_t m = 0; m <= margin; m++) {
    size_t n = 1;
    cell = 0;
    for (size_t j = 0; j < s->n_columns; j++) {
      if ((s->margins[m] >> j & 1) != 0) {
        cell = cell * s->n_levels[j] + (size_t)x[j];
        n *= s->n_levels[j];
      }
    }
    first += m < margin ? n : 0;
  }
  return first + cell;
}

static const struct {
  tacit_statistic_t statistic;
  double attained; /* share of the sensitivity that the worst pair of records must reach */
} cases[] = {
    {{TACIT_STATISTIC_SUM, TACIT_STATISTIC_GAUSSIAN, 1, lowers, uppers, 0, NULL, 0, NULL, false}, 1},
    {{TACIT_STATISTIC_SUM, TACIT_STATISTIC_LAPLACE, 1, lowers + 4, uppers + 4, 0, NULL, 0, NULL, false}, 1},
    {{TACIT_STATISTIC_SUM, TACIT_STATISTIC_DISCRETE_LAPLACE, 1, lowers + 1, uppers + 1, 0.5, NULL, 0, NULL,
      false},
     1},
    {{TACIT_STATISTIC_SUM, TACIT_STATISTIC_DISCRETE_GAUSSIAN, 1, lowers + 2, uppers + 2, 1, NULL, 0, NULL,
      false},
     1},
    {{TACIT_STATISTIC_COUNTS, TACIT_STATISTIC_GAUSSIAN, 3, NULL, NULL, 0, levels, 0, NULL, false}, 1 - 1e-12},
    {{TACIT_STATISTIC_COUNTS, TACIT_STATISTIC_LAPLACE, 2, NULL, NULL, 0, levels, 0, NULL, false}, 1},
    {{TACIT_STATISTIC_COUNTS, TACIT_STATISTIC_DISCRETE_LAPLACE, 1, NULL, NULL, 0, levels + 1, 0, NULL, false},
     1},
    {{TACIT_STATISTIC_COUNTS, TACIT_STATISTIC_DISCRETE_GAUSSIAN, 2, NULL, NULL, 0, levels, 0, NULL, false},
     1 - 1e-12},
    {{TACIT_STATISTIC_PRODUCTS, TACIT_STATISTIC_GAUSSIAN, 1, lowers, uppers, 0, NULL, 0, NULL, false},
     1 - 1e-12},
    {{TACIT_STATISTIC_PRODUCTS, TACIT_STATISTIC_GAUSSIAN, 3, lowers, uppers, 0, NULL, 0, NULL, false},
     1 - 1e-12},
    {{TACIT_STATISTIC_PRODUCTS, TACIT_STATISTIC_GAUSSIAN, 5, lowers, uppers, 0, NULL, 0, NULL, false}, 0.98},
    {{TACIT_STATISTIC_SCORE, TACIT_STATISTIC_GAUSSIAN, 4, lowers, uppers, 0, NULL, 0, NULL, false},
     1 - 1e-5}, /* but for the rounding of H */
    {{TACIT_STATISTIC_SCORE, TACIT_STATISTIC_GAUSSIAN, 2, lowers, uppers, 0, NULL, 0, NULL, false}, 0.94},
    {{TACIT_STATISTIC_MARGINS, TACIT_STATISTIC_GAUSSIAN, 4, NULL, NULL, 0, levels, 4, margins, false},
     1 - 1e-12},
    {{TACIT_STATISTIC_MARGINS, TACIT_STATISTIC_DISCRETE_GAUSSIAN, 4, NULL, NULL, 0, levels, 3, margins,
      false},
     1 - 1e-12},
    {{TACIT_STATISTIC_MARGINS, TACIT_STATISTIC_GAUSSIAN, 4, NULL, NULL, 0, levels, 4, margins, true},
     1 - 1e-12},
    {{TACIT_STATISTIC_MARGINS, TACIT_STATISTIC_DISCRETE_GAUSSIAN, 4, NULL, NULL, 0, levels, 3, margins, true},
     1 - 1e-12},
};
enum { N_CASES = sizeof cases / sizeof *cases };

static void test_no_two_records_are_further_apart_than_is_charged(void **state) {
  (void)state;
  for (size_t c = 0; c < N_CASES; c++) {
    const tacit_statistic_t *s = &cases[c].statistic;
    support_rng_t rng = {100 + c};
    size_t n = tacit_statistic_n_values(s), n_pairs = (size_t)(1e5 * testing_multiplier());
    bool is_l1 = s->noise == TACIT_STATISTIC_LAPLACE || s->noise == TACIT_STATISTIC_DISCRETE_LAPLACE;
    tacit_door_shape_t shape = tacit_statistic_shape(s);
    double sensitivity =
               tacit_door_shape_sensitivity(&shape, (tacit_door_noise_t)s->noise, !s->is_add_remove),
           worst = 0;
    assert_true(n <= MAX_VALUES);
    for (size_t i = 0; i < n_pairs; i++) {
      double x[2][MAX_COLUMNS], square = 0, sum = 0;
      tacit_wide_t totals[2][MAX_VALUES] = {{0}};
      for (size_t side = 0; side < 2; side++) {
        for (size_t j = 0; j < s->n_columns;
             j++) { /* bounds as the statistic has them: columns may start further on */
          size_t column = s->lower != NULL ? (size_t)(s->lower - lowers) + j : j;
          bool is_corner = i % 2 == 0 && !is_of_cells(s);
          x[side][j] = is_corner ? (support_bits(&rng) & 1 ? uppers : lowers)[column]
                                 : adversarial(&rng, column, is_of_cells(s));
        }
        float record[MAX_COLUMNS];
        int64_t k[MAX_COLUMNS] = {0};
        bool counts = true;
        for (size_t j = 0; j < s->n_columns; j++) {
          record[j] = (float)x[side][j];
          counts = counts && isfinite(record[j]);
        }
        if (counts && !(s->is_add_remove && side > 0)) { /* else the door does not ask, or there is none */
          tacit_statistic_add(s, 1, record, NULL, k);
          assert_true(tacit_door_shape_add(&shape, 1, k, totals[side]));
        }
      }
      for (size_t k = 0; k < n; k++) {
        double apart = fabs((double)(totals[0][k] - totals[1][k])); /* exact: below 2^53 */
        square += apart * apart;
        sum += apart;
      }
      double apart = is_l1 ? sum : sqrt(square);
      assert_true(apart <= sensitivity);
      worst = fmax(worst, apart / sensitivity);
    }
    if (!(worst >= cases[c].attained)) {
      fail_msg("case %zu: worst pair attains %.17g", c, worst);
    }
  }
}

/* ---- what is released ---- */

enum { N = 300 };

/* Records uniform on half as much again as the bounds; totals: the statistic itself, in its units. */
static tacit_records_t *make_records(const tacit_statistic_t *s, double *totals) {
  support_rng_t rng = {5};
  tacit_records_t *records;
  tacit_error_t err;
  assert_ok(tacit_records_new(&records, N, s->n_columns, &err), err);
  memset(totals, 0, tacit_statistic_n_values(s) * sizeof *totals);
  bool is_score = s->kind == TACIT_STATISTIC_SCORE,
       is_of_rows = is_score || s->kind == TACIT_STATISTIC_PRODUCTS;
  size_t d = s->n_columns - is_score; /* columns that are multiplied with each other */
  for (size_t i = 0; i < N; i++) {
    double x[MAX_COLUMNS], z[MAX_COLUMNS];
    size_t cell = 0, k = d;
    for (size_t j = 0; j < s->n_columns; j++) {
      if (is_of_cells(s)) {
        x[j] = (double)(support_bits(&rng) % s->n_levels[j]);
        cell = cell * s->n_levels[j] + (size_t)x[j];
        continue;
      }
      double width = s->upper[j] - s->lower[j];
      x[j] = (double)(float)support_uniform(&rng, s->lower[j] - 0.25 * width, s->upper[j] + 0.25 * width);
      z[j] = fmin(fmax(x[j], s->lower[j]), s->upper[j]);
      z[j] = s->step > 0 ? s->step * nearbyint(z[j] / s->step) : z[j];
      if (is_score && j == d) {
        x[j] = support_bits(&rng) & 1 ? s->upper[j] : s->lower[j];
        z[j] = x[j] > s->lower[j] ? 0.5 : -0.5;
      } else if (is_of_rows) {
        z[j] = (2 * z[j] - s->lower[j] - s->upper[j]) / width;
        totals[j] += z[j];
      }
    }
    if (s->kind == TACIT_STATISTIC_COUNTS) {
      totals[cell]++;
    } else if (s->kind == TACIT_STATISTIC_MARGINS) {
      for (size_t m = 0; m < s->n_margins; m++) {
        totals[margin_cell(s, m, x)]++;
      }
    } else if (s->kind == TACIT_STATISTIC_SUM) {
      totals[0] += z[0];
    }
    for (size_t a = 0; is_of_rows && a < d; a++) {
      for (size_t b = a; b < d; b++) {
        totals[k++] += z[a] * z[b];
      }
    }
    for (size_t j = 0; is_score && j <= d; j++) {
      totals[k++] += j == 0 ? z[d] : z[j - 1] * z[d];
    }
    tacit_records_set(records, i, x);
  }
  return records;
}

typedef struct statistic_fixture {
  tacit_record_model_t model;
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_curator_t *curator;
  double totals[MAX_VALUES];
} statistic_fixture_t;

static void open_fixture(statistic_fixture_t *f, const tacit_statistic_t *s, double multiplier,
                         uint64_t count, tacit_relation_t relation) {
  tacit_error_t err;
  tacit_event_t event = tacit_statistic_event(s, multiplier);
  event.count *= count;
  assert_ok(tacit_budget_new(&f->budget, 1e6, 1e-6, relation, &err), err);
  if (event.kind != TACIT_EVENT_GAUSSIAN) {
    assert_ok(tacit_budget_set_schedule(f->budget, &event, 1, &err), err);
  }
  assert_ok(tacit_noise_new_seeded_not_private(&f->noise, 11, &err), err);
  tacit_statistic_model(&f->model, s);
  assert_ok(
      tacit_curator_new(&f->curator, make_records(s, f->totals), &f->model, f->budget, f->noise, NULL, &err),
      err);
}

static void close_fixture(statistic_fixture_t *f) {
  tacit_curator_free(f->curator);
  tacit_noise_free(f->noise);
  tacit_budget_free(f->budget);
}

/* The noise's mean is 0 and its spread is that of the scale, over many releases; then its sum is the
 * statistic. */
static void test_released_values_are_the_statistic_and_noise_of_the_scale(void **state) {
  (void)state;
  size_t n_releases = (size_t)(4000 * testing_multiplier()) + 200;
  for (size_t c = 0; c < N_CASES; c++) {
    const tacit_statistic_t *s = &cases[c].statistic;
    statistic_fixture_t f;
    tacit_error_t err;
    double out[MAX_VALUES], scales[MAX_VALUES], sum[MAX_VALUES] = {0}, square = 0;
    bool is_l1 = s->noise == TACIT_STATISTIC_LAPLACE || s->noise == TACIT_STATISTIC_DISCRETE_LAPLACE;
    size_t n_values = tacit_statistic_n_values(s);
    open_fixture(&f, s, 3, n_releases,
                 s->is_add_remove ? TACIT_RELATION_ADD_REMOVE : TACIT_RELATION_SUBSTITUTE);
    for (size_t r = 0; r < n_releases; r++) {
      assert_ok(tacit_curator_release_statistic(f.curator, s, 3, out, scales, &err), err);
      for (size_t k = 0; k < n_values; k++) {
        double e = (out[k] - f.totals[k]) / scales[k];
        sum[k] += e;
        square += e * e;
      }
    }
    double n = (double)n_releases, all = n * (double)n_values, variance = is_l1 ? 2 : 1,
           kurtosis = is_l1 ? 6 : 3;
    for (size_t k = 0; k < n_values;
         k++) { /* rounding to the lattice: 2^-17 a product, nothing to speak of else */
      assert_close(sum[k] / n, 0, 6 * sqrt(variance / n) + 1e-2);
    }
    bool is_coarse = s->noise == TACIT_STATISTIC_DISCRETE_LAPLACE && s->kind == TACIT_STATISTIC_COUNTS;
    double slack = is_coarse ? 0.01 : 1e-3; /* variance of a discrete Laplace of scale 6 */
    assert_close(square / all, variance, 6 * sqrt((kurtosis - 1) * variance * variance / all) + slack);
    size_t n_events;
    const tacit_event_t *events = tacit_budget_events(f.budget, &n_events);
    assert_true(n_events == 1 && events[0].count == tacit_statistic_event(s, 3).count * n_releases);
    close_fixture(&f);
  }
}

/* What a release is charged as costs what its noise multiplier says: 1 / m if pure, else that of the
 * Gaussian, nearly. */
static void test_events_cost_what_the_noise_is_worth(void **state) {
  (void)state;
  static const double multipliers[] = {0.5, 2, 5};
  for (size_t i = 0; i < 3 * N_CASES; i++) {
    const tacit_statistic_t *s = &cases[i / 3].statistic;
    double m = multipliers[i % 3];
    bool is_pure = s->noise == TACIT_STATISTIC_LAPLACE || s->noise == TACIT_STATISTIC_DISCRETE_LAPLACE;
    double expected = is_pure ? 1 / m : tacit_gaussian_epsilon(0.5 / (m * m), log(1e-6));
    tacit_event_t event = tacit_statistic_event(s, m);
    tacit_guarantee_t guarantee;
    tacit_error_t err;
    assert_ok(tacit_account_epsilon(NULL, &event, 1, NULL, is_pure ? 1e-100 : 1e-6, &guarantee, &err), err);
    assert_close(guarantee.epsilon, expected,
                 0.03 * expected); /* a discrete Gaussian's own steps: 2 % at sigma = 0.7 */
  }
}

static void test_refusals_release_nothing(void **state) {
  (void)state;
  const tacit_statistic_t *s = &cases[0].statistic;
  statistic_fixture_t f;
  tacit_error_t err;
  double out = 7, scale = 7, others[MAX_VALUES];
  size_t n_events;
  open_fixture(&f, s, 3, 1, TACIT_RELATION_SUBSTITUTE);
  assert_int_equal(tacit_curator_release_statistic(f.curator, s, 1e-4, &out, &scale, &err), TACIT_ERR_BUDGET);
  assert_true(out == 0 && scale == 0);
  assert_int_equal(tacit_curator_release_statistic(f.curator, s, NAN, &out, &scale, &err),
                   TACIT_ERR_ARGUMENT);
  assert_int_equal(tacit_curator_release_statistic(f.curator, &cases[N_CASES - 1].statistic, 3,
                                                   (double[MAX_VALUES]){0}, others, &err),
                   TACIT_ERR_STATE);
  tacit_budget_events(f.budget, &n_events);
  assert_int_equal(n_events, 0);
  close_fixture(&f);
  s = &cases[1].statistic; /* Laplace noise beyond its schedule */
  open_fixture(&f, s, 3, 1, TACIT_RELATION_SUBSTITUTE);
  assert_ok(tacit_curator_release_statistic(f.curator, s, 3, &out, &scale, &err), err);
  assert_int_equal(tacit_curator_release_statistic(f.curator, s, 3, &out, &scale, &err), TACIT_ERR_BUDGET);
  assert_true(out == 0 && scale == 0);
  close_fixture(&f);
  for (size_t c = N_CASES - 4; c < N_CASES; c++) { /* margins are released under their own relation only */
    s = &cases[c].statistic;
    open_fixture(&f, s, 3, 1, s->is_add_remove ? TACIT_RELATION_SUBSTITUTE : TACIT_RELATION_ADD_REMOVE);
    double values[MAX_VALUES];
    assert_int_equal(tacit_curator_release_statistic(f.curator, s, 3, values, others, &err), TACIT_ERR_STATE);
    tacit_budget_events(f.budget, &n_events);
    assert_int_equal(n_events, 0);
    close_fixture(&f);
  }
  open_fixture(&f, &cases[0].statistic, 3, 1, TACIT_RELATION_ADD_REMOVE);
  assert_int_equal(tacit_curator_release_statistic(f.curator, &cases[0].statistic, 3, &out, &scale, &err),
                   TACIT_ERR_STATE);
  close_fixture(&f);
}

static void test_statistics_out_of_range_are_refused(void **state) {
  (void)state;
  static const double reversed[] = {2}, not_a_number[] = {NAN};
  static const size_t one_level[] = {1}, too_many[] = {65536, 2};
  static const uint32_t beyond[] = {1 << 4}, nothing[] = {3, 0};
  const tacit_statistic_t bad[] = {
      {TACIT_STATISTIC_SUM, TACIT_STATISTIC_GAUSSIAN, 1, reversed, uppers, 0, NULL, 0, NULL, false},
      {TACIT_STATISTIC_SUM, TACIT_STATISTIC_GAUSSIAN, 1, not_a_number, uppers, 0, NULL, 0, NULL, false},
      {TACIT_STATISTIC_SUM, TACIT_STATISTIC_GAUSSIAN, 2, lowers, uppers, 0, NULL, 0, NULL, false},
      {TACIT_STATISTIC_SUM, TACIT_STATISTIC_GAUSSIAN, 1, lowers, uppers, 0.5, NULL, 0, NULL, false},
      {TACIT_STATISTIC_SUM, TACIT_STATISTIC_DISCRETE_GAUSSIAN, 1, lowers, uppers, 0, NULL, 0, NULL, false},
      {TACIT_STATISTIC_SUM, TACIT_STATISTIC_DISCRETE_LAPLACE, 1, lowers, uppers, 0.3, NULL, 0, NULL, false},
      {TACIT_STATISTIC_SUM, TACIT_STATISTIC_DISCRETE_LAPLACE, 1, lowers, uppers, 1e-7, NULL, 0, NULL, false},
      {TACIT_STATISTIC_COUNTS, TACIT_STATISTIC_LAPLACE, 1, NULL, NULL, 0, one_level, 0, NULL, false},
      {TACIT_STATISTIC_COUNTS, TACIT_STATISTIC_LAPLACE, 2, NULL, NULL, 0, too_many, 0, NULL, false},
      {TACIT_STATISTIC_PRODUCTS, TACIT_STATISTIC_LAPLACE, 2, lowers, uppers, 0, NULL, 0, NULL, false},
      {TACIT_STATISTIC_PRODUCTS, TACIT_STATISTIC_GAUSSIAN, 25, lowers, uppers, 0, NULL, 0, NULL, false},
      {TACIT_STATISTIC_SCORE, TACIT_STATISTIC_LAPLACE, 2, lowers, uppers, 0, NULL, 0, NULL, false},
      {TACIT_STATISTIC_SCORE, TACIT_STATISTIC_GAUSSIAN, 1, lowers, uppers, 0, NULL, 0, NULL, false},
      {TACIT_STATISTIC_MARGINS, TACIT_STATISTIC_GAUSSIAN, 4, NULL, NULL, 0, levels, 1, beyond, false},
      {TACIT_STATISTIC_MARGINS, TACIT_STATISTIC_GAUSSIAN, 4, NULL, NULL, 0, levels, 2, nothing, false},
      {TACIT_STATISTIC_MARGINS, TACIT_STATISTIC_GAUSSIAN, 4, NULL, NULL, 0, levels, 0, NULL, false},
  };
  tacit_error_t err;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(tacit_statistic_check(&bad[i], &err), TACIT_ERR_ARGUMENT);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_two_records_are_further_apart_than_is_charged),
      cmocka_unit_test(test_released_values_are_the_statistic_and_noise_of_the_scale),
      cmocka_unit_test(test_events_cost_what_the_noise_is_worth),
      cmocka_unit_test(test_refusals_release_nothing),
      cmocka_unit_test(test_statistics_out_of_range_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
