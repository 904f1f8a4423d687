/*
 * The whole road from a file to a posterior, against reference draws: the mode and curvature of
 * log_prior + sum log_lik of a logistic regression with n = 7874 agree with the posterior's means and
 * sds (Laplace's approximation errs by O(1/sqrt(n)) sd).
 */
#include "data/records.h"
#include "model_testing.h"

enum { DIM = 4 };

static const char schema_text[] = "columns:\n"
                                  "  age: {type: integer, lower: 50, upper: 105}\n"
                                  "  sex: {type: categorical, levels: [F, M]}\n"
                                  "  flc: {type: numeric, lower: 0.1, upper: 100}\n"
                                  "  death: {type: binary}\n";

/* reference/posteriors/flchain_logistic.json: Intercept, age, sexM, log(flc) */
static const double reference_mean[DIM] = {-10.960255, 0.13153598, 0.42030415, 0.93233919};
static const double reference_sd[DIM] = {0.25475153, 0.0035419465, 0.063102497, 0.075846376};

/* Gradient of the log posterior by records' residuals and the prior. */
static void gradient(const tacit_model_t *model, const tacit_records_t *records, const double *theta,
                     double *grad) {
  model->parameters.log_prior(model->parameters.ctx, theta, grad);
  float theta_float[DIM], residual[16];
  for (size_t j = 0; j < DIM; j++) {
    theta_float[j] = (float)theta[j];
  }
  for (size_t i = 0; i < tacit_records_n(records); i++) {
    const float *block = tacit_records_block(records, i / 16);
    if (i % 16 == 0) {
      model->records.residual(model->records.ctx, block, 1, theta_float, residual);
    }
    for (size_t j = 0; j < DIM; j++) {
      grad[j] += (double)residual[i % 16] * (double)block[j * 16 + i % 16];
    }
  }
}

/* Solve a x = b by elimination with pivots on the diagonal: a is positive definite. */
static void solve(double a[DIM][DIM], const double *b, double *x) {
  double m[DIM][DIM + 1];
  for (size_t i = 0; i < DIM; i++) {
    memcpy(m[i], a[i], sizeof a[i]);
    m[i][DIM] = b[i];
  }
  for (size_t k = 0; k < DIM; k++) {
    for (size_t i = 0; i < DIM; i++) {
      double factor = i == k ? 0 : m[i][k] / m[k][k];
      for (size_t j = k; j <= DIM; j++) {
        m[i][j] -= factor * m[k][j];
      }
    }
  }
  for (size_t i = 0; i < DIM; i++) {
    x[i] = m[i][DIM] / m[i][i];
  }
}

static void precision(const tacit_model_t *model, const tacit_records_t *records, const double *theta,
                      double a[DIM][DIM]) {
  double up[DIM], down[DIM], moved[DIM];
  for (size_t j = 0; j < DIM; j++) {
    memcpy(moved, theta, sizeof moved);
    moved[j] = theta[j] + 0x1p-7;
    gradient(model, records, moved, up);
    moved[j] = theta[j] - 0x1p-7;
    gradient(model, records, moved, down);
    for (size_t i = 0; i < DIM; i++) {
      a[i][j] = (down[i] - up[i]) * 0x1p6;
    }
  }
}

static void check_mode(const tacit_model_t *model, const tacit_records_t *records) {
  double theta[DIM] = {0}, grad[DIM], step[DIM], a[DIM][DIM], reported[DIM], origin[DIM], zero[DIM] = {0};
  for (size_t iteration = 0; iteration < 20; iteration++) {
    gradient(model, records, theta, grad);
    precision(model, records, theta, a);
    solve(a, grad, step);
    for (size_t j = 0; j < DIM; j++) {
      theta[j] += step[j];
    }
  }
  model->parameters.report(model->parameters.ctx, theta, reported);
  model->parameters.report(model->parameters.ctx, zero, origin);
  for (size_t r = 0; r < DIM; r++) { /* report is linear: row r of its matrix gives the variance */
    double row[DIM], scaled[DIM], variance = 0;
    for (size_t j = 0; j < DIM; j++) {
      double unit[DIM] = {0}, image[DIM];
      unit[j] = 1;
      model->parameters.report(model->parameters.ctx, unit, image);
      row[j] = image[r] - origin[r];
    }
    solve(a, row, scaled);
    for (size_t j = 0; j < DIM; j++) {
      variance += row[j] * scaled[j];
    }
    assert_close(reported[r], reference_mean[r], 0.1 * reference_sd[r]);
    assert_close(sqrt(variance), reference_sd[r], 0.03 * reference_sd[r]);
  }
}

static void test_logistic_mode_and_curvature_match_the_reference(void **state) {
  if (testing_shared() == NULL) {
    skip();
  }
  char path[4096];
  snprintf(path, sizeof path, "%s/data/flchain.csv", testing_shared());
  static const char *const priors[] = {"normal(0, 2.5)", "Intercept: normal(0, 20)"};
  tacit_prior_entry_t entries[2];
  tacit_error_t err = {0};
  for (size_t e = 0; e < 2; e++) {
    assert_ok(tacit_prior_parse(&entries[e], priors[e], &err), err);
  }
  tacit_schema_t *schema;
  tacit_design_t *design;
  tacit_table_t *table;
  tacit_records_t *records;
  tacit_model_t model;
  size_t n_columns;
  assert_ok(tacit_schema_parse(&schema, schema_text, sizeof schema_text - 1, "flchain", &err), err);
  assert_ok(tacit_design_new(&design, "death ~ age + sex + log(flc)", schema, TACIT_FAMILY_BERNOULLI, &err),
            err);
  const char *const *columns = tacit_design_columns(design, &n_columns);
  assert_ok(tacit_table_read(&table, path, schema, columns, n_columns, NULL, &err), err);
  assert_ok(tacit_design_pack(&records, design, table, &err), err);
  assert_int_equal(tacit_records_n(records), 7874);
  tacit_glm_settings_t settings = {
      .family = TACIT_FAMILY_BERNOULLI, .priors = entries, .n_priors = 2, .prior_on_original_scale = true};
  assert_ok(tacit_model_init_glm(&model, design, &settings, &err), err);
  check_mode(&model, records);
  tacit_model_clear(&model);
  tacit_records_free(records);
  tacit_table_free(table);
  tacit_design_free(design);
  tacit_schema_free(schema);
  for (size_t e = 0; e < 2; e++) {
    tacit_prior_entry_clear(&entries[e]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_logistic_mode_and_curvature_match_the_reference),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
