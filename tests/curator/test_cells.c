/* Counts of cells: which cell a record is in, and the noise of the counts. */
#include "data/records.h"
#include "row_testing.h"

enum { max_rows = 5 };

static size_t cell_of(double value) {
  size_t cell = 0;
  while (cell < n_cells - 1 && value >= edges[cell]) {
    cell++;
  }
  return cell;
}

/* The cell of one record among the integers, n_cells: none. It must hold the whole worth of a record, and no
 * other anything. */
static size_t counted_in(const tacit_row_cells_t *cells, size_t d, const double *record) {
  tacit_error_t err;
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model = support_glm(&kernel, TACIT_FAMILY_BERNOULLI, d, 1, 0);
  tacit_curator_t *curator;
  double values[n_cells], sd;
  size_t found = n_cells;
  assert_ok(tacit_curator_new_exposed(&curator, records_of(1, d + 1, record), &model, NULL, &err), err);
  assert_ok(tacit_curator_release_cells(curator, cells, 1, values, &sd, &err), err);
  for (size_t i = 0; i < n_cells; i++) {
    int64_t count = (int64_t)curator->door->sums[i];
    assert_true(count == 0 || (count == 1 << 22 && found == n_cells));
    found = count != 0 ? i : found;
  }
  tacit_curator_free(curator);
  return found;
}

/* Whatever a record holds it is in one cell or in none, so that a substitution moves two counts by one; and
 * in the right one. */
static void test_a_record_is_in_one_cell_or_none(void **state) {
  (void)state;
  enum { d = 3 };
  support_rng_t rng = {31};
  const double theta[d] = {0.2, -1, 0.5};
  const tacit_row_residual_t residual = {theta, d, 0.7, 1};
  size_t seen[2][n_cells + 1] = {{0}};
  for (size_t i = 0; i < (size_t)(1500 * testing_multiplier_at_least(0.5)); i++) {
    double x[d + 1], r;
    any_record(&rng, d, 1, x);
    bool is_plain = true;
    for (size_t j = 0; j <= d; j++) {
      x[j] = (double)(float)x[j];
      is_plain = is_plain && fabs(x[j]) < 1e9; /* rounding to the cell's side is not what is asked here */
    }
    r = (x[d] - theta[0] * x[0] - theta[1] * x[1] - theta[2] * x[2]) / 0.7;
    for (size_t k = 0; k < 2; k++) {
      tacit_row_cells_t cells = {k == 0 ? &residual : NULL, 2, n_cells - 1, edges};
      size_t cell = counted_in(&cells, d, x), expected = cell_of(k == 0 ? r : x[2]);
      assert_true(!is_plain || cell == expected);
      seen[k][cell]++;
    }
  }
  for (size_t k = 0; k < 2; k++) {
    for (size_t cell = 0; cell <= n_cells; cell++) {
      assert_true(seen[k][cell] > 0);
    }
  }
}

/* The shares of a unit's records in cells, as multiples of a record's worth. */
static void shares_of(const tacit_row_cells_t *cells, size_t d, size_t n_rows, const double *records,
                      double *shares) {
  tacit_error_t err;
  tacit_glm_kernel_t kernel;
  tacit_record_model_t model = support_glm(&kernel, TACIT_FAMILY_BERNOULLI, d, 1, 0);
  tacit_curator_settings_t settings = tacit_curator_settings_default();
  tacit_curator_t *curator;
  size_t offsets[2] = {0, n_rows};
  double sd;
  settings.max_unit_rows = max_rows;
  tacit_records_t *owned = records_of(n_rows, d + 1, records);
  assert_ok(tacit_records_set_units(owned, offsets, 1, &err), err);
  assert_ok(tacit_curator_new_exposed(&curator, owned, &model, &settings, &err), err);
  assert_ok(tacit_curator_release_cells(curator, cells, 1, shares, &sd, &err), err);
  tacit_curator_free(curator);
}

/* A unit adds the share of its records in each cell: no further than 2 from any other, and no longer than 1;
 * were every record counted whole, by as many times as there are. */
static void test_a_unit_adds_shares_of_its_records(void **state) {
  (void)state;
  enum { d = 2 };
  support_rng_t rng = {33};
  double furthest = 0;
  for (size_t i = 0; i < (size_t)(400 * testing_multiplier_at_least(0.5)); i++) {
    const tacit_row_cells_t cells = {NULL, 1, n_cells - 1, edges};
    double x[max_rows * (d + 1)], shares[2][n_cells], apart = 0;
    for (size_t k = 0; k < 2; k++) {
      size_t n_rows = 1 + support_bits(&rng) % max_rows, n[n_cells] = {0};
      double all = pow(10, support_uniform(&rng, -1, 1)) * support_normal(&rng), length = 0;
      for (size_t t = 0; t < n_rows; t++) {
        x[t * (d + 1)] = 1;
        x[t * (d + 1) + 1] = (double)(float)(i % 2 == 0 ? all : 3 * support_normal(&rng));
        x[t * (d + 1) + d] = 1;
        n[cell_of(x[t * (d + 1) + 1])]++;
      }
      shares_of(&cells, d, n_rows, x, shares[k]);
      for (size_t c = 0; c < n_cells; c++) {
        assert_close(shares[k][c], (double)n[c] / (double)n_rows, 1e-6);
        length += shares[k][c] * shares[k][c];
      }
      assert_true(length <= 1 + 1e-6);
    }
    for (size_t c = 0; c < n_cells; c++) {
      apart += pow(shares[0][c] - shares[1][c], 2);
    }
    furthest = fmax(furthest, sqrt(apart));
  }
  assert_true(furthest <= sqrt(2) + 1e-6 && furthest > 1.4);
}

/*
 * Noise of counts against the multiplier times sqrt(2): as in check_noise(), 3000 releases of 6 counts, false
 * alarm 2e-9.
 */
static void test_noise_of_counts_is_what_was_charged(void **state) {
  (void)state;
  fixture_t f;
  tacit_error_t err;
  tacit_row_cells_t cells = {NULL, 0, n_cells - 1, edges};
  double exact[n_cells], out[n_cells], sd, square = 0, n = 3000 * n_cells;
  tacit_curator_t *exposed;
  open_private(&f, 40, 3, 1e6, TACIT_RELATION_SUBSTITUTE, NULL);
  assert_ok(tacit_curator_new_exposed(&exposed, support_logistic(40, 3, 4), &f.model, NULL, &err), err);
  assert_ok(tacit_curator_release_cells(exposed, &cells, 1, exact, &sd, &err), err);
  tacit_curator_free(exposed);
  for (size_t i = 0; i < 3000; i++) {
    assert_ok(tacit_curator_release_cells(f.curator, &cells, 0.7, out, &sd, &err), err);
    assert_close(sd, 0.7 * sqrt(2), 1e-4);
    for (size_t k = 0; k < n_cells; k++) {
      square += (out[k] - exact[k]) * (out[k] - exact[k]) / (sd * sd);
    }
  }
  assert_close(square, n, 6 * sqrt(2 * n));
  close_private(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_record_is_in_one_cell_or_none),
      cmocka_unit_test(test_a_unit_adds_shares_of_its_records),
      cmocka_unit_test(test_noise_of_counts_is_what_was_charged),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
