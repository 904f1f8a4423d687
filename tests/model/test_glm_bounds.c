/* Generalised linear models: public scales and bounds, and likelihoods against plain formulas. */
#include "model_testing.h"

#include "formula/design_internal.h"

static void test_glm_unit_scale_follows_the_expected_information(void **state) {
  static const struct {
    const char *formula;
    tacit_family_t family;
    double known_sd, scale[5];
  } cases[] = {
      {"death ~ bmi + sex + smoker", TACIT_FAMILY_BERNOULLI, 0, {2, 3.4641016151377544, 2, 2}},
      {"count ~ bmi + sex", TACIT_FAMILY_POISSON, 0, {1, 1.7320508075688772, 1}},
      {"z ~ bmi + sex", TACIT_FAMILY_GAUSSIAN, 0, {0.25, 0.4330127018922193, 0.25, 0.7071067811865476}},
      {"z ~ bmi + sex", TACIT_FAMILY_GAUSSIAN, 5, {2, 3.4641016151377544, 2}},
      {"grp ~ bmi", TACIT_FAMILY_CATEGORICAL, 0, {2.1213203435596424, 3.6742346141747673}},
      /* age:sexM on [0, 105]: mean 38.75, E (x - 52.5)^2 = 1816.66..; 2 / sqrt(1816.66.. / 52.5^2) */
      {"death ~ age + age:sex", TACIT_FAMILY_BERNOULLI, 0, {2, 3.4641016151377544, 2.4634949440681915}},
      {"death ~ 0 + sex", TACIT_FAMILY_BERNOULLI, 0, {2.8284271247461903, 2.8284271247461903}},
  };
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    tacit_design_t *design = model_testing_design(cases[c].formula, cases[c].family);
    tacit_glm_settings_t settings = {.family = cases[c].family, .known_sd = cases[c].known_sd};
    tacit_model_t model = model_testing_model(design, &settings);
    for (size_t i = 0; i < 5 && cases[c].scale[i] > 0; i++) {
      assert_close(model.parameters.unit_scale[i], cases[c].scale[i], 1e-5 * cases[c].scale[i]);
    }
    tacit_model_clear(&model);
    tacit_design_free(design);
  }
}

static void test_glm_grad_bounds(void **state) {
  static const struct {
    const char *formula;
    tacit_family_t family;
    double bound;
  } cases[] = {{"death ~ age + sex", TACIT_FAMILY_BERNOULLI, 1.7320508075688772},
               {"grp ~ age + sex", TACIT_FAMILY_CATEGORICAL, 2.449489742783178},
               {"z ~ age", TACIT_FAMILY_GAUSSIAN, INFINITY},
               {"count ~ age", TACIT_FAMILY_POISSON, INFINITY}};
  for (size_t c = 0; c < 4; c++) {
    tacit_design_t *design = model_testing_design(cases[c].formula, cases[c].family);
    tacit_glm_settings_t settings = {.family = cases[c].family};
    tacit_model_t model = model_testing_model(design, &settings);
    assert_true(model.records.grad_bound >= cases[c].bound);
    assert_true(isinf(cases[c].bound) || model.records.grad_bound <= cases[c].bound * (1 + 1e-11));
    assert_true((model.records.ratio_bound == NULL) == isinf(cases[c].bound));
    tacit_model_clear(&model);
    tacit_design_free(design);
  }
}

/* log-likelihood of one record in plain double; categorical with n_linear + 1 classes. */
static double reference_log_lik(const tacit_model_t *model, const double *x, double y, const double *theta,
                                double sd) {
  size_t p = model->records.n_features;
  double eta[8] = {0}, total = 0, top = 0;
  for (size_t r = 0; r < model->records.n_linear; r++) {
    for (size_t j = 0; j < p; j++) {
      eta[r + 1] += x[j] * theta[r * p + j];
    }
    top = fmax(top, eta[r + 1]);
  }
  if (strcmp(model->records.name, "poisson") == 0) {
    return y * eta[1] - exp(eta[1]);
  }
  if (strcmp(model->records.name, "gaussian") == 0) {
    double s = model->records.n_extra == 1 ? exp(theta[p]) : sd, z = (y - eta[1]) / s;
    return -0.5 * z * z - log(s);
  }
  for (size_t c = 0; c <= model->records.n_linear; c++) {
    total += exp(eta[c] - top);
  }
  return eta[(size_t)y] - top - log(total);
}

static void random_record(uint64_t *rng, size_t p, double n_classes, double *x, double *y) {
  for (size_t j = 0; j < p; j++) {
    x[j] = (double)(float)model_testing_corner(rng, -1, 1);
  }
  x[0] = 1;
  *y = floor(model_testing_uniform(rng, 0, n_classes));
}

static void check_ratio_bound(const char *formula, tacit_family_t family, double n_classes) {
  tacit_design_t *design = model_testing_design(formula, family);
  tacit_glm_settings_t settings = {.family = family};
  tacit_model_t model = model_testing_model(design, &settings);
  size_t p = model.records.n_features, dim = model.records.dim;
  double theta[32], prop[32], x[16], y, largest = 0;
  uint64_t rng = 31;
  size_t n_rounds = (size_t)(100000 * testing_multiplier());
  for (size_t round = 0; round < n_rounds; round++) {
    double spread = round % 3 == 0 ? 30 : 3, step = round % 2 == 0 ? 1 : 1e-3;
    for (size_t i = 0; i < dim; i++) {
      theta[i] = model_testing_uniform(&rng, -spread, spread);
      prop[i] = theta[i] + step * model_testing_uniform(&rng, -1, 1);
    }
    random_record(&rng, p, n_classes, x, &y);
    double bound = model.records.ratio_bound(model.records.ctx, theta, prop);
    double ratio = reference_log_lik(&model, x, y, prop, 0) - reference_log_lik(&model, x, y, theta, 0);
    if (!(fabs(ratio) <= bound + 1e-12)) {
      fail_msg("%s: round %zu: ratio %.17g, bound %.17g", formula, round, ratio, bound);
    }
    largest = fmax(largest, fabs(ratio) / bound);
  }
  assert_true(largest > 0.5);
  tacit_model_clear(&model);
  tacit_design_free(design);
}

static void test_glm_ratio_bounds_are_never_exceeded(void **state) {
  check_ratio_bound("death ~ age + z + bmi", TACIT_FAMILY_BERNOULLI, 2);
  check_ratio_bound("grp ~ age + z", TACIT_FAMILY_CATEGORICAL, 3);
  check_ratio_bound("factor(stage) ~ age", TACIT_FAMILY_CATEGORICAL, 4);
}

/*
 * The worst record: x = sign(d_a - d_b), y = a, and theta with x . theta_a - x . theta_b very negative,
 * so that class b has all of the probability.
 */
static void test_glm_ratio_bounds_are_reached(void **state) {
  uint64_t rng = 32;
  for (size_t round = 0; round < 200; round++) {
    bool is_binary = round % 2 == 0;
    tacit_family_t family = is_binary ? TACIT_FAMILY_BERNOULLI : TACIT_FAMILY_CATEGORICAL;
    tacit_design_t *design = model_testing_design(is_binary ? "death ~ z + bmi" : "grp ~ z + bmi", family);
    tacit_glm_settings_t settings = {.family = family};
    tacit_model_t model = model_testing_model(design, &settings);
    size_t dim = model.records.dim, p = 3, n_classes = dim / p + 1;
    double d[6], best = 0;
    for (size_t i = 0; i < dim; i++) {
      d[i] = model_testing_uniform(&rng, -1, 1);
    }
    for (size_t a = 0; a < n_classes; a++) {
      for (size_t b = 0; b < n_classes; b++) {
        double x[3], theta[6] = {0}, prop[6], bound;
        for (size_t j = 0; j < p; j++) {
          double difference = (a > 0 ? d[(a - 1) * p + j] : 0) - (b > 0 ? d[(b - 1) * p + j] : 0);
          x[j] = difference >= 0 ? 1 : -1;
          for (size_t c = 1; c < n_classes; c++) {
            theta[(c - 1) * p + j] = (c == b ? 20 : b == 0 ? -20 : 0) * x[j];
          }
        }
        for (size_t i = 0; i < dim; i++) {
          prop[i] = theta[i] + d[i];
        }
        bound = model.records.ratio_bound(model.records.ctx, theta, prop);
        double y = (double)a;
        double ratio = reference_log_lik(&model, x, y, prop, 0) - reference_log_lik(&model, x, y, theta, 0);
        best = fmax(best, ratio / bound);
      }
    }
    assert_true(best >= 0.99 && best <= 1);
    tacit_model_clear(&model);
    tacit_design_free(design);
  }
}

static void check_kernel(const char *formula, tacit_family_t family, double known_sd, double n_values) {
  tacit_design_t *design = model_testing_design(formula, family);
  tacit_glm_settings_t settings = {.family = family, .known_sd = known_sd};
  tacit_model_t model = model_testing_model(design, &settings);
  size_t p = model.records.n_features, dim = model.records.dim;
  size_t n_out = model.records.n_linear + model.records.n_extra;
  float block[16 * 16] __attribute__((aligned(64))), theta_float[32], residual[8 * 16];
  double theta[32], log_lik[16], x[16][16], y[16], sd = known_sd / design->response_half;
  uint64_t rng = 41;
  for (size_t round = 0; round < 200; round++) {
    for (size_t i = 0; i < dim; i++) {
      theta_float[i] = (float)model_testing_uniform(&rng, -1.5, 1.5);
      theta[i] = (double)theta_float[i];
    }
    for (size_t lane = 0; lane < 16; lane++) {
      random_record(&rng, p, n_values, x[lane], &y[lane]);
      if (family == TACIT_FAMILY_GAUSSIAN) {
        y[lane] = (double)(float)model_testing_corner(&rng, -1, 1);
      }
      for (size_t j = 0; j < p; j++) {
        block[j * 16 + lane] = (float)x[lane][j];
      }
      block[p * 16 + lane] = (float)y[lane];
    }
    model.records.log_lik(model.records.ctx, block, 1, theta, log_lik);
    model.records.residual(model.records.ctx, block, 1, theta_float, residual);
    for (size_t lane = 0; lane < 16; lane++) {
      double expected = reference_log_lik(&model, x[lane], y[lane], theta, sd);
      expected += known_sd > 0 ? log(sd) : 0; /* free of theta: left out */
      double grid = family == TACIT_FAMILY_BERNOULLI ? 0x1p-34 : 0;
      assert_close(log_lik[lane], expected, grid + 1e-11 * (1 + fabs(expected)));
      for (size_t r = 0; r < n_out; r++) { /* the intercept's derivative is the residual; then sigma's */
        size_t i = r < model.records.n_linear ? r * p : dim - 1;
        double at = theta[i], h = 1e-5;
        theta[i] = at + h;
        double up = reference_log_lik(&model, x[lane], y[lane], theta, sd);
        theta[i] = at - h;
        double down = reference_log_lik(&model, x[lane], y[lane], theta, sd);
        theta[i] = at;
        double slope = (up - down) / (2 * h);
        assert_close((double)residual[r * 16 + lane], slope, 1e-5 * (1 + fabs(slope)));
      }
    }
  }
  tacit_model_clear(&model);
  tacit_design_free(design);
}

static void test_glm_kernels_match_plain_formulas(void **state) {
  check_kernel("death ~ age + z + bmi", TACIT_FAMILY_BERNOULLI, 0, 2);
  check_kernel("count ~ age + z", TACIT_FAMILY_POISSON, 0, 8);
  check_kernel("z ~ age + bmi", TACIT_FAMILY_GAUSSIAN, 0, 1);
  check_kernel("z ~ age + bmi", TACIT_FAMILY_GAUSSIAN, 1.5, 1);
  check_kernel("grp ~ age + bmi", TACIT_FAMILY_CATEGORICAL, 0, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_glm_unit_scale_follows_the_expected_information),
      cmocka_unit_test(test_glm_grad_bounds),
      cmocka_unit_test(test_glm_ratio_bounds_are_never_exceeded),
      cmocka_unit_test(test_glm_ratio_bounds_are_reached),
      cmocka_unit_test(test_glm_kernels_match_plain_formulas),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
