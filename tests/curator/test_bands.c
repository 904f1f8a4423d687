/* Bands of lengths: in which a unit is, what it adds there, how far neighbours are apart, and that noise is
 * what was charged. */
#include "data/records.h"
#include "row_testing.h"

enum { D = 3, MAX_UNIT = 4, N_BANDS = 4, N = D + 2, N_PACKED = N * (N + 1) / 2 };

static const double whiten[D * D] = {1, 0, 0, 0.5, 2, 0, -1, 0.3, 1.5}, theta[D] = {0.2, -1, 0.5},
                               radii[N_BANDS] = {0.7, 1.5, 3, 12}, square_weight = 0.6;

/* Whole numbers of an exposed release of one unit, as multiples of the square of the spacing. */
typedef struct sums {
  size_t n;
  double at[N_BANDS * N_PACKED];
} sums_t;

static void open_units(tacit_curator_t **curator, size_t n_rows, size_t max_rows, const double *x) {
  static tacit_glm_kernel_t kernel;
  static tacit_record_model_t model;
  tacit_error_t err;
  size_t offsets[2] = {0, n_rows};
  model = support_glm(&kernel, TACIT_FAMILY_BERNOULLI, D, 1, 0);
  tacit_records_t *records = records_of(n_rows, D + 1, x);
  if (max_rows > 1) {
    assert_ok(tacit_records_set_units(records, offsets, 1, &err), err);
  }
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.max_unit_rows = max_rows;
  assert_ok(tacit_curator_new_exposed(curator, records, &model, &settings, &err), err);
}

static sums_t sums_of(const tacit_linear_point_t *point, bool is_score, bool has_count, size_t n_rows,
                      size_t max_rows, const double *x) {
  tacit_error_t err;
  tacit_curator_t *curator;
  tacit_banded_t of = is_score ? tacit_linear_scores(point) : tacit_linear_rows(point);
  tacit_bands_t bands = {N_BANDS, radii, has_count};
  sums_t sums = {.n = tacit_bands_n_values(&bands, of.dim)};
  double sd;
  open_units(&curator, n_rows, max_rows, x);
  assert_ok(tacit_linear_check(curator, point, &err), err);
  assert_ok(tacit_curator_release_bands(curator, &of, &bands, 1, sums.at, &sd, &err), err);
  tacit_curator_free(curator);
  return sums;
}

/* By hand: u and r of each record, the unit's vectors, its band and what it adds. */
static sums_t by_hand(bool is_score, bool has_count, size_t n_rows, size_t max_rows, const double *x) {
  double v[MAX_UNIT][N] = {{0}}, square = 0, squares = 0, w[MAX_UNIT][N];
  size_t dim = D + (size_t)(is_score && max_rows > 1), n = is_score ? 1 : n_rows, m = dim + has_count;
  for (size_t t = 0; t < n_rows; t++) {
    const double *z = x + t * (D + 1);
    double r = (z[D] - theta[0] * z[0] - theta[1] * z[1] - theta[2] * z[2]) / 0.7;
    squares += r * r;
    for (size_t a = 0; a < D; a++) {
      double u = 0;
      for (size_t b = 0; b <= a; b++) {
        u += whiten[a * D + b] * z[b];
      }
      v[is_score ? 0 : t][a] += u * (is_score ? r : 1);
    }
  }
  for (size_t i = 0; i < MAX_UNIT * D; i++) {
    v[i / D][i % D] /= is_score ? (double)n_rows : sqrt((double)n_rows);
  }
  v[0][D] = is_score && max_rows > 1 ? square_weight * sqrt(squares / (double)n_rows) : 0;
  for (size_t t = 0; t < n; t++) {
    for (size_t a = 0; a < dim; a++) {
      square += v[t][a] * v[t][a];
    }
  }
  size_t l = 0, i = 0;
  while (l + 1 < N_BANDS && sqrt(square) > radii[l]) {
    l++;
  }
  sums_t sums = {.n = N_BANDS * (m * (m + 1) / 2)};
  for (size_t t = 0; t < n; t++) {
    w[t][0] = t == 0;
    for (size_t a = 0; a < dim; a++) {
      w[t][has_count + a] = v[t][a] / fmax(radii[l], sqrt(square));
    }
  }
  for (size_t a = 0; a < m; a++) {
    for (size_t b = a; b < m; b++, i++) {
      for (size_t t = 0; t < n; t++) {
        sums.at[l * (m * (m + 1) / 2) + i] += w[t][a] * w[t][b] * (a == b ? 1 : sqrt(2));
      }
    }
  }
  return sums;
}

static void any_unit(support_rng_t *rng, size_t n_rows, double size, double *x) {
  for (size_t i = 0; i < n_rows * (D + 1); i++) {
    x[i] = (double)(float)(size * support_normal(rng));
  }
}

static void test_a_unit_is_in_the_band_of_its_length(void **state) {
  (void)state;
  support_rng_t rng = {41};
  bool has_seen[N_BANDS] = {false};
  for (size_t i = 0; i < 400; i++) {
    bool is_score = i & 1, has_count = i & 2, has_units = i & 4;
    size_t max_rows = has_units ? MAX_UNIT : 1, n_rows = 1 + i / 8 % max_rows;
    const tacit_linear_point_t point = {D, whiten, theta, 0.7, has_units ? square_weight : 0};
    double x[MAX_UNIT * (D + 1)];
    any_unit(&rng, n_rows, pow(10, support_uniform(&rng, -1, 1)), x);
    sums_t got = sums_of(&point, is_score, has_count, n_rows, max_rows, x),
           expected = by_hand(is_score, has_count, n_rows, max_rows, x);
    assert_int_equal(got.n, expected.n);
    for (size_t k = 0; k < got.n; k++) {
      assert_close(got.at[k], expected.at[k], 1e-5);
      has_seen[k / (got.n / N_BANDS)] |= fabs(expected.at[k]) > 0;
    }
  }
  for (size_t l = 0; l < N_BANDS; l++) {
    assert_true(has_seen[l]);
  }
}

/* Whatever records hold: |A - B|, and |A|, are at most what is charged, for any number of records; and come
 * near it. */
static void test_neighbours_are_no_further_apart_than_is_charged(void **state) {
  (void)state;
  support_rng_t rng = {43};
  double worst = 0;
  for (size_t i = 0; i < (size_t)(1500 * testing_multiplier_at_least(0.5)); i++) {
    bool is_score = i & 1, has_count = i & 2, has_units = i & 4;
    size_t max_rows = has_units ? MAX_UNIT : 1;
    double bound = has_count ? 2 : 1, apart = 0, size = 0, x[2][MAX_UNIT * (D + 1)];
    const tacit_linear_point_t point = {D, whiten, theta, 0.7, has_units ? square_weight : 0};
    sums_t sums[2];
    for (size_t k = 0; k < 2; k++) {
      size_t n_rows = 1 + support_bits(&rng) % max_rows;
      for (size_t t = 0; t < n_rows; t++) {
        any_record(&rng, D, 1, x[k] + t * (D + 1));
      }
      sums[k] = sums_of(&point, is_score, has_count, n_rows, max_rows, x[k]);
    }
    for (size_t k = 0; k < sums[0].n; k++) {
      apart += pow(sums[0].at[k] - sums[1].at[k], 2);
      size += pow(sums[0].at[k], 2);
    }
    assert_true(sqrt(apart) <= sqrt(2) * bound * (1 + 1e-5) &&
                sqrt(size) <= bound * (1 + 1e-5)); /* rounded; whole numbers: door-property */
    worst = fmax(worst, sqrt(apart) / (sqrt(2) * bound));
  }
  assert_true(worst > 0.95);
}

static void test_counts_are_of_lengths(void **state) {
  (void)state;
  support_rng_t rng = {47};
  for (size_t i = 0; i < 200; i++) {
    tacit_error_t err;
    tacit_curator_t *curator;
    bool is_score = i & 1, has_units = i & 2;
    const tacit_linear_point_t point = {D, whiten, theta, 0.7, has_units ? square_weight : 0};
    size_t max_rows = has_units ? MAX_UNIT : 1, n_rows = 1 + i / 4 % max_rows, found = SIZE_MAX;
    double x[MAX_UNIT * (D + 1)], counts[N_BANDS + 1], sd;
    any_unit(&rng, n_rows, pow(10, support_uniform(&rng, -1, 1)), x);
    open_units(&curator, n_rows, max_rows, x);
    tacit_banded_t of = is_score ? tacit_linear_scores(&point) : tacit_linear_rows(&point);
    assert_ok(tacit_curator_release_lengths(curator, &of, N_BANDS, radii, 1, counts, &sd, &err), err);
    tacit_curator_free(curator);
    sums_t sums = by_hand(is_score, true, n_rows, max_rows, x);
    for (size_t l = 0; l <= N_BANDS; l++) {
      found = counts[l] > 0.5 ? l : found;
      assert_true(fabs(counts[l]) < 1e-9 || fabs(counts[l] - 1) < 1e-9);
    }
    assert_close(sums.at[(found < N_BANDS ? found : N_BANDS - 1) * (sums.n / N_BANDS)], 1, 1e-12);
  }
}

/* As in check_noise(): 500 releases of 40 numbers, false alarm 2e-9. */
static void test_noise_is_what_was_charged(void **state) {
  (void)state;
  fixture_t f;
  tacit_error_t err;
  const tacit_linear_point_t point = {D, whiten, theta, 0.7, 0};
  tacit_banded_t of = tacit_linear_scores(&point);
  tacit_bands_t bands = {N_BANDS, radii, true};
  enum { n_values = N_BANDS * (D + 1) * (D + 2) / 2, n = 500 };
  double exact[n_values], out[n_values], sd, square = 0;
  tacit_curator_t *exposed;
  open_private(&f, 40, D, 1e6, TACIT_RELATION_SUBSTITUTE, NULL);
  assert_ok(tacit_curator_new_exposed(&exposed, support_logistic(40, D, 4), &f.model, NULL, &err), err);
  assert_ok(tacit_curator_release_bands(exposed, &of, &bands, 1, exact, &sd, &err), err);
  tacit_curator_free(exposed);
  for (size_t i = 0; i < n; i++) {
    assert_ok(tacit_curator_release_bands(f.curator, &of, &bands, 0.7, out, &sd, &err), err);
    assert_close(sd, 0.7 * 2 * sqrt(2), 1e-4);
    for (size_t k = 0; k < n_values; k++) {
      square += pow((out[k] - exact[k]) / sd, 2);
    }
  }
  assert_close(square, n * n_values, 6 * sqrt(2.0 * n * n_values));
  close_private(&f);
}

/* sums (1 + 2 D) <- count, sums of a vector and squares of its elements, of a unit's contrast. */
static void contrast_of(const tacit_banded_t *of, double radius, size_t n_rows, const double *x,
                        double *sums) {
  const double first[3] = {1, 2, 4}, weights[3] = {-1, 0.25, 0.5};
  const tacit_contrast_t contrast = {of, radius, 3, first, weights};
  const tacit_banded_t contrasts = tacit_contrasts(&contrast);
  const tacit_bands_t band = {1, &radius, true};
  double out[(D + 1) * (D + 2) / 2], sd;
  tacit_error_t err;
  tacit_curator_t *curator;
  open_units(&curator, n_rows, MAX_UNIT, x);
  assert_ok(tacit_contrast_check(&contrast, &err), err);
  assert_ok(tacit_curator_release_bands(curator, &contrasts, &band, 1, out, &sd, &err), err);
  sums[0] = out[0];
  for (size_t j = 0, diagonal = D + 1; j < D; diagonal += D - j, j++) {
    sums[1 + j] = out[1 + j] / sqrt(2) * radius;
    sums[1 + D + j] = out[diagonal] * radius * radius;
  }
  tacit_curator_free(curator);
}

/* A unit's mean score, of a line or of a logistic regression, shortened and then weighted by its rows. */
static void test_contrasts_weigh_scores_by_numbers_of_rows(void **state) {
  (void)state;
  const double weight_of[MAX_UNIT + 1] = {0, -1, 0.25, 0.25, 0.5};
  const tacit_linear_point_t line = {D, whiten, theta, 0.7, 0};
  const tacit_score_point_t at = {TACIT_FAMILY_BERNOULLI, 1, theta, whiten, 1, 0};
  const tacit_family_point_t logistic = {&at, D};
  support_rng_t rng = {7};
  size_t n_shortened = 0, n = 200;
  for (size_t i = 0; i < n; i++) {
    bool is_line = i & 1;
    size_t n_rows = 1 + i / 2 % MAX_UNIT;
    double x[MAX_UNIT * (D + 1)], v[D] = {0}, sums[1 + 2 * D], square = 0, radius = 1;
    any_unit(&rng, n_rows, 1, x);
    for (size_t t = 0; t < n_rows; t++) {
      double *z = x + t * (D + 1), eta = theta[0] * z[0] + theta[1] * z[1] + theta[2] * z[2];
      z[D] = is_line ? z[D] : z[D] > 0;
      double residual = is_line ? (z[D] - eta) / 0.7 : z[D] - 1 / (1 + exp(-eta));
      for (size_t a = 0; a < D * D; a++) {
        v[a / D] += whiten[a] * z[a % D] * residual / (double)n_rows;
      }
    }
    for (size_t j = 0; j < D; j++) {
      square += v[j] * v[j];
    }
    double factor = weight_of[n_rows] * fmin(1, radius / sqrt(square));
    n_shortened += square > radius * radius;
    const tacit_banded_t of = is_line ? tacit_linear_scores(&line) : tacit_family_scores(&logistic);
    contrast_of(&of, radius, n_rows, x, sums);
    assert_close(sums[0], 1, 1e-5);
    for (size_t j = 0; j < D; j++) {
      assert_close(sums[1 + j], factor * v[j], 1e-4);
      assert_close(sums[1 + D + j], factor * factor * v[j] * v[j], 1e-4);
    }
  }
  assert_true(n_shortened > n / 4 && n_shortened < 3 * n / 4);
}

static void test_what_cannot_be_asked_for_is_refused(void **state) {
  (void)state;
  fixture_t f;
  tacit_error_t err;
  double out[n_cells], sd, falling[2] = {2, 1}, none[D] = {NAN};
  open_private(&f, 40, D, 1e6, TACIT_RELATION_SUBSTITUTE, NULL);
  tacit_linear_point_t point = {D, whiten, theta, 0.7, 0};
  tacit_banded_t of = tacit_linear_scores(&point);
  assert_int_equal(
      tacit_curator_release_bands(f.curator, &of, &(tacit_bands_t){2, falling, true}, 1, out, &sd, &err),
      TACIT_ERR_ARGUMENT);
  assert_int_equal(tacit_curator_release_lengths(f.curator, &of, 0, radii, 1, out, &sd, &err),
                   TACIT_ERR_ARGUMENT);
  point.theta = none;
  assert_int_equal(tacit_linear_check(f.curator, &point, &err), TACIT_ERR_ARGUMENT);
  point = (tacit_linear_point_t){D + 1, whiten, theta, 0.7, 0};
  assert_int_equal(tacit_linear_check(f.curator, &point, &err), TACIT_ERR_ARGUMENT);
  const double cells[2] = {1, 2}, weights[2] = {-1, 1}, most[2] = {-1, 1.1}, late[2] = {2, 3};
  const struct {
    double radius;
    size_t n;
    const double *first, *weights;
  } wrong[] = {{0, 2, cells, weights}, {1, 2, cells, most}, {1, 2, late, weights}, {1, 0, cells, weights}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    const tacit_contrast_t contrast = {&of, wrong[i].radius, wrong[i].n, wrong[i].first, wrong[i].weights};
    assert_int_equal(tacit_contrast_check(&contrast, &err), TACIT_ERR_ARGUMENT);
  }
  close_private(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_unit_is_in_the_band_of_its_length),
      cmocka_unit_test(test_neighbours_are_no_further_apart_than_is_charged),
      cmocka_unit_test(test_counts_are_of_lengths),
      cmocka_unit_test(test_noise_is_what_was_charged),
      cmocka_unit_test(test_contrasts_weigh_scores_by_numbers_of_rows),
      cmocka_unit_test(test_what_cannot_be_asked_for_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
