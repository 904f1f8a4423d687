/* Units of several rows in sums over weighted rows: each row has its own weight, by the unit's number of
 * rows; and how many rows units have. */
#include <string.h>

#include "data/records.h"
#include "support.h"

enum { d = 3, n_units = 400, max_unit = 6, n_products = d * (d + 1) / 2 };

static const double whiten[d * d] = {1.5, 0, 0, 0.4, 2, 0, -0.3, 0.2, 1}, theta[d] = {0.3, -0.8, 0.5};
static const double radius = 1.1, cap = 0.9;

static void make_data(double *data, size_t *offsets) {
  support_rng_t rng = {5};
  size_t at = 0;
  for (size_t u = 0; u < n_units; u++) {
    size_t rows = 1 + support_bits(&rng) % max_unit;
    offsets[u] = at;
    for (size_t t = 0; t < rows; t++, at++) {
      double *x = data + at * (d + 1);
      for (size_t j = 0; j < d; j++) {
        x[j] = j == 0 ? 1 : (double)(float)support_uniform(&rng, -1, 1);
      }
      x[d] = (double)(support_bits(&rng) & 1);
    }
  }
  offsets[n_units] = at;
}

static tacit_curator_t *open_exposed(const double *data, const size_t *offsets,
                                     const tacit_record_model_t *model) {
  tacit_error_t err;
  tacit_records_t *records;
  tacit_curator_t *curator;
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  settings.max_unit_rows = max_unit;
  assert_ok(tacit_records_new(&records, offsets[n_units], d + 1, &err), err);
  for (size_t i = 0; i < offsets[n_units]; i++) {
    tacit_records_set(records, i, data + i * (d + 1));
  }
  assert_ok(tacit_records_set_units(records, offsets, n_units, &err), err);
  assert_ok(tacit_curator_new_exposed(&curator, records, model, &settings, &err), err);
  return curator;
}

static double predict(const double *x, double *u) {
  double eta = 0;
  for (size_t i = 0; i < d; i++) {
    u[i] = 0;
    for (size_t j = 0; j <= i; j++) {
      u[i] += whiten[i * d + j] * x[j];
    }
    eta += theta[i] * x[i];
  }
  return 1 / (1 + exp(-eta));
}

static void add_product(const double *u, double factor, double *out) {
  for (size_t i = 0, p = 0; i < d; i++) {
    for (size_t j = i; j < d; j++, p++) {
      out[p] += factor * (i == j ? 1 : sqrt(2)) * u[i] * u[j];
    }
  }
}

/* By the definitions in curator/curator.h. */
static void define(const double *data, const size_t *offsets, double *score, double *squares, double *moments,
                   double *information) {
  for (size_t u = 0; u < n_units; u++) {
    double psi[d] = {0}, k = (double)(offsets[u + 1] - offsets[u]);
    for (size_t t = offsets[u]; t < offsets[u + 1]; t++) {
      const double *x = data + t * (d + 1);
      double row[d], p = predict(x, row), norm = sqrt(row[0] * row[0] + row[1] * row[1] + row[2] * row[2]),
                     v = p * (1 - p);
      double weight = fmin(1, radius / (norm * fmax(p, 1 - p))) / k, of_row = fmin(1, radius / norm),
             of_sd = fmin(1, radius / (norm * sqrt(v)));
      for (size_t j = 0; j < d; j++) {
        psi[j] += weight * row[j] * (x[d] - p);
      }
      add_product(row, of_row * of_row / k, moments);
      add_product(row, of_sd * of_sd * v / k, information);
    }
    double length = sqrt(psi[0] * psi[0] + psi[1] * psi[1] + psi[2] * psi[2]),
           shortened = fmin(1, cap / length);
    add_product(psi, shortened * shortened, squares);
    for (size_t j = 0; j < d; j++) {
      score[j] += psi[j];
    }
  }
}

static void check_same(size_t n, const double *released, const double *defined) {
  for (size_t i = 0; i < n; i++) {
    assert_close(released[i], defined[i], 1e-3 * sqrt((double)n_units)); /* roundings to the lattice */
  }
}

static void test_units_are_summed_by_their_definition(void **state) {
  (void)state;
  static double data[n_units * max_unit * (d + 1)];
  size_t offsets[n_units + 1];
  double score[d] = {0}, squares[n_products] = {0}, moments[n_products] = {0}, information[n_products] = {0},
         out[n_products], sd;
  tacit_error_t err;
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model = support_glm(&kernel, TACIT_FAMILY_BERNOULLI, d, 1, 0);
  make_data(data, offsets);
  define(data, offsets, score, squares, moments, information);
  tacit_curator_t *curator = open_exposed(data, offsets, &model);
  const tacit_score_point_t point = {TACIT_FAMILY_BERNOULLI, 1, theta, whiten, radius, cap};
  const tacit_row_weighting_t rows = {whiten, radius};
  assert_ok(tacit_curator_release_score(curator, &point, 1, out, &sd, &err), err);
  check_same(d, out, score);
  assert_ok(tacit_curator_release_score_squares(curator, &point, 1, out, &sd, &err), err);
  check_same(n_products, out, squares);
  assert_ok(tacit_curator_release_information(curator, &point, 1, out, &sd, &err), err);
  check_same(n_products, out, information);
  assert_ok(tacit_curator_release_second_moments(curator, &rows, 1, out, &sd, &err), err);
  check_same(n_products, out, moments);
  tacit_curator_free(curator);
}

/* Each unit is in one cell, by its number of rows; cells that do not rise, or do not begin at 1, are refused.
 */
static void test_units_are_counted_by_their_rows(void **state) {
  (void)state;
  static double data[n_units * max_unit * (d + 1)];
  static const size_t first[] = {1, 2, 4}, bad[][2] = {{2, 3}, {1, 1}, {0, 1}};
  size_t offsets[n_units + 1];
  double out[3], expected[3] = {0}, sd;
  tacit_error_t err;
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model = support_glm(&kernel, TACIT_FAMILY_BERNOULLI, d, 1, 0);
  make_data(data, offsets);
  for (size_t u = 0; u < n_units; u++) {
    size_t rows = offsets[u + 1] - offsets[u];
    expected[rows >= 4 ? 2 : rows >= 2 ? 1 : 0]++;
  }
  tacit_curator_t *curator = open_exposed(data, offsets, &model);
  assert_ok(tacit_curator_release_unit_rows(curator, 3, first, 1, out, &sd, &err), err);
  for (size_t i = 0; i < 3; i++) {
    assert_close(out[i], expected[i], 0);
  }
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(tacit_curator_release_unit_rows(curator, 2, bad[i], 1, out, &sd, &err),
                     TACIT_ERR_ARGUMENT);
    assert_string_equal(err.field, "first");
  }
  assert_int_equal(tacit_curator_release_unit_rows(curator, 0, first, 1, out, &sd, &err), TACIT_ERR_ARGUMENT);
  tacit_curator_free(curator);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_units_are_summed_by_their_definition),
                                     cmocka_unit_test(test_units_are_counted_by_their_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
