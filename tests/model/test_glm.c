/* Generalised linear models: names, transforms, priors, errors. */
#include "base/memory.h"
#include "model_testing.h"

#include "formula/design_internal.h"

static void test_glm_names_and_labels(void **state) {
  static const struct {
    const char *formula;
    tacit_family_t family;
    size_t n;
    const char *labels[10], *names[10];
  } cases[] = {
      {"death ~ age*sex + log(flc)",
       TACIT_FAMILY_BERNOULLI,
       5,
       {"Intercept", "age", "sexM", "log(flc)", "age:sexM"},
       {"b_Intercept", "b_age", "b_sexM", "b_log_flc", "b_age_sexM"}},
      {"z ~ I(age^2) + `odd name`",
       TACIT_FAMILY_GAUSSIAN,
       4,
       {"Intercept", "I(age^2)", "`odd name`", "sigma"},
       {"b_Intercept", "b_I_age_2", "b_odd_name", "sigma"}},
      {"count ~ I(z + 1) + I(z - 1) + I(z * 1)",
       TACIT_FAMILY_POISSON,
       4,
       {"Intercept", "I(z + 1)", "I(z - 1)", "I(z * 1)"},
       {"b_Intercept", "b_I_z_1", "b_I_z_1_2", "b_I_z_1_3"}},
      {"grp ~ age",
       TACIT_FAMILY_CATEGORICAL,
       4,
       {"[b] Intercept", "[b] age", "[c] Intercept", "[c] age"},
       {"b_b_Intercept", "b_b_age", "b_c_Intercept", "b_c_age"}},
  };
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    tacit_design_t *design = model_testing_design(cases[c].formula, cases[c].family);
    tacit_glm_settings_t settings = tacit_glm_settings_default();
    settings.family = cases[c].family;
    tacit_model_t model = model_testing_model(design, &settings);
    tacit_design_free(design); /* nothing is borrowed */
    assert_int_equal(model.parameters.n_reported, cases[c].n);
    for (size_t i = 0; i < cases[c].n; i++) {
      assert_string_equal(model.parameters.labels[i], cases[c].labels[i]);
      assert_string_equal(model.parameters.names[i], cases[c].names[i]);
    }
    tacit_model_clear(&model);
  }
}

/* Features of a raw record of `log(flc)*sex + I(z^2) + bmi`, in the order of the design. */
static void raw_features(bool has_intercept, const double *r, double *x) {
  double flc = log(r[0]), male = r[1];
  size_t j = 0;
  if (has_intercept) {
    x[j++] = 1;
  }
  x[j++] = flc;
  if (!has_intercept) {
    x[j++] = 1 - male;
  }
  x[j++] = male;
  x[j++] = r[2] * r[2];
  x[j++] = r[3];
  x[j++] = flc * male;
}

/* Scaled predictor, mapped back by the response's range, against reported coefficients on raw features. */
static void check_predictions(const char *formula, tacit_family_t family, bool has_intercept,
                              double known_sd) {
  tacit_design_t *design = model_testing_design(formula, family);
  tacit_glm_settings_t settings = tacit_glm_settings_default();
  settings.family = family;
  settings.known_sd = known_sd;
  tacit_model_t model = model_testing_model(design, &settings);
  size_t p = tacit_design_n_features(design), dim = model.parameters.dim;
  size_t n_classes = tacit_design_n_classes(design), n_linear = n_classes > 0 ? n_classes - 1 : 1;
  assert_int_equal(dim, n_linear * p + (family == TACIT_FAMILY_GAUSSIAN && known_sd == 0));
  double theta[64], beta[64], raw[16];
  uint64_t rng = 21;
  for (size_t round = 0; round < 500; round++) {
    for (size_t i = 0; i < dim; i++) {
      theta[i] = model_testing_uniform(&rng, -3, 3);
    }
    model.parameters.report(model.parameters.ctx, theta, beta);
    double record[] = {model_testing_corner(&rng, 0.3, 30), (double)(model_testing_bits(&rng) % 2),
                       model_testing_corner(&rng, -2, 3), model_testing_corner(&rng, 10, 60)};
    raw_features(has_intercept, record, raw);
    for (size_t r = 0; r < n_linear; r++) {
      double scaled = 0, original = 0;
      for (size_t j = 0; j < p; j++) {
        double centre, half;
        tacit_design_scaling(design, j, &centre, &half);
        scaled += theta[r * p + j] * (raw[j] - centre) / half;
        original += beta[r * p + j] * raw[j];
      }
      assert_close(original, design->response_centre + design->response_half * scaled, 1e-9);
    }
    if (dim > n_linear * p) {
      assert_close(beta[dim - 1], design->response_half * exp(theta[dim - 1]), 1e-10);
    }
  }
  tacit_model_clear(&model);
  tacit_design_free(design);
}

static void test_glm_report_predicts_as_the_scaled_model(void **state) {
  check_predictions("death ~ log(flc)*sex + I(z^2) + bmi", TACIT_FAMILY_BERNOULLI, true, 0);
  check_predictions("death ~ 0 + log(flc)*sex + I(z^2) + bmi", TACIT_FAMILY_BERNOULLI, false, 0);
  check_predictions("age ~ log(flc)*sex + I(z^2) + bmi", TACIT_FAMILY_GAUSSIAN, true, 0);
  check_predictions("age ~ 0 + log(flc)*sex + I(z^2) + bmi", TACIT_FAMILY_GAUSSIAN, false, 0);
  check_predictions("age ~ log(flc)*sex + I(z^2) + bmi", TACIT_FAMILY_GAUSSIAN, true, 4);
  check_predictions("count ~ log(flc)*sex + I(z^2) + bmi", TACIT_FAMILY_POISSON, true, 0);
  check_predictions("factor(stage) ~ log(flc)*sex + I(z^2) + bmi", TACIT_FAMILY_CATEGORICAL, true, 0);
}

/* ---- priors ---- */

static void parse_priors(const char *const *texts, size_t n, tacit_prior_entry_t *entries) {
  for (size_t i = 0; i < n; i++) {
    tacit_error_t err = {0};
    assert_ok(tacit_prior_parse(&entries[i], texts[i], &err), err);
  }
}

static void check_prior_gradient(const tacit_model_t *model, uint64_t *rng) {
  size_t dim = model->parameters.dim;
  double theta[64], grad[64];
  for (size_t round = 0; round < 50; round++) {
    for (size_t i = 0; i < dim; i++) {
      theta[i] = model_testing_uniform(rng, -2, 2);
    }
    double value = model->parameters.log_prior(model->parameters.ctx, theta, grad);
    assert_true(value == model->parameters.log_prior(model->parameters.ctx, theta, NULL));
    for (size_t i = 0; i < dim; i++) {
      double at = theta[i], h = 1e-5;
      theta[i] = at + h;
      double up = model->parameters.log_prior(model->parameters.ctx, theta, NULL);
      theta[i] = at - h;
      double down = model->parameters.log_prior(model->parameters.ctx, theta, NULL);
      theta[i] = at;
      assert_close(grad[i], (up - down) / (2 * h), 1e-5 * (1 + fabs(grad[i])));
    }
  }
}

static void test_glm_prior_gradients_match_differences(void **state) {
  static const char *const texts[] = {"student_t(4, 0.5, 2)", "log(flc): cauchy(0, 1)",
                                      "Intercept: normal(3, 20)", "sexM: flat", "sigma: normal(1, 2)"};
  static const struct {
    const char *formula;
    tacit_family_t family;
  } cases[] = {{"death ~ log(flc)*sex + bmi", TACIT_FAMILY_BERNOULLI},
               {"z ~ log(flc)*sex + bmi", TACIT_FAMILY_GAUSSIAN},
               {"grp ~ log(flc)*sex + bmi", TACIT_FAMILY_CATEGORICAL},
               {"z ~ 0 + log(flc)*sex + bmi", TACIT_FAMILY_GAUSSIAN}};
  tacit_prior_entry_t entries[5];
  parse_priors(texts, 5, entries);
  uint64_t rng = 22;
  for (size_t c = 0; c < 8; c++) {
    tacit_glm_settings_t settings = tacit_glm_settings_default();
    tacit_family_t family = cases[c / 2].family;
    tacit_prior_entry_t used[5];
    for (size_t e = 0; e < 5; e++) { /* Intercept only where there is one, sigma only in gaussian */
      bool is_known = (e != 2 || c / 2 != 3) && (e != 4 || family == TACIT_FAMILY_GAUSSIAN);
      if (is_known) {
        used[settings.n_priors++] = entries[e];
      }
    }
    settings.family = family;
    settings.priors = used;
    settings.prior_on_original_scale = c % 2 == 1;
    tacit_design_t *design = model_testing_design(cases[c / 2].formula, family);
    tacit_model_t model = model_testing_model(design, &settings);
    check_prior_gradient(&model, &rng);
    tacit_model_clear(&model);
    tacit_design_free(design);
  }
  for (size_t e = 0; e < 5; e++) {
    tacit_prior_entry_clear(&entries[e]);
  }
}

/* On the original scale the prior of theta is that of the reported values, sigma's Jacobian apart. */
static void test_glm_prior_on_original_scale_is_that_of_the_report(void **state) {
  static const char *const texts[] = {"student_t(4, 0.5, 2)", "log(flc): cauchy(0, 1)",
                                      "Intercept: normal(3, 20)", "sigma: normal(1, 2)"};
  tacit_prior_entry_t entries[4];
  parse_priors(texts, 4, entries);
  tacit_glm_settings_t settings = {.family = TACIT_FAMILY_GAUSSIAN, .priors = entries, .n_priors = 4};
  tacit_design_t *design = model_testing_design("z ~ log(flc) + bmi", TACIT_FAMILY_GAUSSIAN);
  const size_t of[] = {2, 1, 0, 3}; /* the entry of Intercept, log(flc), bmi, sigma */
  uint64_t rng = 23;
  for (int original = 0; original < 2; original++) {
    settings.prior_on_original_scale = original == 1;
    tacit_model_t model = model_testing_model(design, &settings);
    for (size_t round = 0; round < 200; round++) {
      double theta[4], value[4], expected = 0;
      for (size_t i = 0; i < 4; i++) {
        theta[i] = value[i] = model_testing_uniform(&rng, -2, 2);
      }
      value[3] = exp(theta[3]);
      if (original == 1) {
        model.parameters.report(model.parameters.ctx, theta, value);
      }
      for (size_t i = 0; i < 4; i++) {
        expected += tacit_prior_log_density(&entries[of[i]].prior, value[i], NULL);
      }
      assert_close(model.parameters.log_prior(model.parameters.ctx, theta, NULL), expected + theta[3], 1e-10);
    }
    tacit_model_clear(&model);
  }
  tacit_design_free(design);
  for (size_t e = 0; e < 4; e++) {
    tacit_prior_entry_clear(&entries[e]);
  }
}

static void test_glm_default_priors(void **state) {
  tacit_design_t *design = model_testing_design("z ~ age", TACIT_FAMILY_GAUSSIAN);
  tacit_glm_settings_t settings = {.family = TACIT_FAMILY_GAUSSIAN};
  tacit_model_t model = model_testing_model(design, &settings);
  double origin[] = {0, 0, 0}, theta[] = {3, 2, 0.5};
  double change = model.parameters.log_prior(model.parameters.ctx, theta, NULL) -
                  model.parameters.log_prior(model.parameters.ctx, origin, NULL);
  double sigma = exp(0.5);
  /* student_t(3, 0, 2.5) twice; sigma half student_t(3, 0, 1) */
  assert_close(change,
               -2 * log1p(9 / 6.25 / 3) - 2 * log1p(4 / 6.25 / 3) -
                   2 * (log1p(sigma * sigma / 3) - log1p(1.0 / 3)) + 0.5,
               1e-13);
  tacit_model_clear(&model);
  tacit_prior_entry_t flat = {.term = (char *)(uintptr_t) "sigma", .prior = {TACIT_PRIOR_FLAT, 0, 0, 1}};
  settings.priors = &flat;
  settings.n_priors = 1;
  model = model_testing_model(design, &settings); /* density 1 on sigma is e^u on u = log sigma */
  double u[] = {0, 0, 1.7};
  assert_close(model.parameters.log_prior(model.parameters.ctx, u, NULL), 1.7, 1e-14);
  tacit_model_clear(&model);
  tacit_design_free(design);
}

/*
 * Default priors by `typical:` and by released scales, at a point, against their formulas; a prior of the
 * user's stays. Ten times the scale of one is 2 and more off in log density here.
 */
static void test_glm_priors_follow_scales(void **state) {
  static const char text[] =
      "columns:\n  y: {type: binary}\n  a: {type: numeric, lower: 0, upper: 100, typical: [20, 53]}\n"
      "  b: {type: numeric, lower: -1, upper: 1}\n  c: {type: numeric, lower: -1, upper: 1}\n";
  tacit_error_t err;
  tacit_schema_t *schema;
  tacit_design_t *design;
  char term[] = "c";
  tacit_prior_entry_t user = {.term = term, .prior = {TACIT_PRIOR_NORMAL, 0, 1, 0.5}};
  tacit_glm_settings_t settings = {.family = TACIT_FAMILY_BERNOULLI, .priors = &user, .n_priors = 1};
  assert_ok(tacit_schema_parse(&schema, text, sizeof text - 1, "test", &err), err);
  assert_ok(tacit_design_new(&design, "y ~ a + b + c", schema, TACIT_FAMILY_BERNOULLI, &err), err);
  tacit_model_t model = model_testing_model(design, &settings);
  double theta[] = {0.5, 2, -3, 1.5}, precision[16] = {0};
  /* a: sd 10 of a half range 50 is 0.2, mean (36.5 - 50) / 50 = -0.27; b: released */
  tacit_prior_t intercept = {TACIT_PRIOR_STUDENT_T, 7, 0, 1.5},
                a = {TACIT_PRIOR_STUDENT_T, 3, 0, 2.5 / (1.65 * 0.2)}, b = {TACIT_PRIOR_STUDENT_T, 3, 0, 2.5};
  double expected = tacit_prior_log_density(&intercept, 0.5 - 0.27 * 2, NULL) +
                    tacit_prior_log_density(&a, 2, NULL) + tacit_prior_log_density(&b, -3, NULL) +
                    tacit_prior_log_density(&user.prior, 1.5, NULL);
  assert_close(model.parameters.log_prior(model.parameters.ctx, theta, NULL), expected, 1e-12);
  const tacit_feature_scale_t scales[] = {
      {0, 0, 0, 0}, {0.9, 0.9, 0.9, 0}, {0.4, 0.25, 0.5, 0}, {-0.1, 0.3, 0.1, 0}};
  tacit_model_scale_priors(&model, scales, TACIT_PRIOR_BASIS_RELEASED);
  a = (tacit_prior_t){TACIT_PRIOR_STUDENT_T, 7, 0, 1.25 / 0.2};
  b = (tacit_prior_t){TACIT_PRIOR_STUDENT_T, 7, 0, 1.25 * 1.5 / 0.25};
  double u = 0.5 - 0.27 * 2 + 0.4 * -3 - 0.1 * 1.5;
  expected = tacit_prior_log_density(&intercept, u, NULL) + tacit_prior_log_density(&a, 2, NULL) +
             tacit_prior_log_density(&b, -3, NULL) + tacit_prior_log_density(&user.prior, 1.5, NULL);
  assert_close(model.parameters.log_prior(model.parameters.ctx, theta, NULL), expected, 1e-12);
  model.parameters.prior_precision(model.parameters.ctx, theta, precision);
  double w = tacit_prior_precision(&intercept, u);
  assert_close(precision[0], w, 1e-14);
  assert_close(precision[2 * 4 + 1], w * 0.4 * -0.27, 1e-14);
  assert_close(precision[3 * 4 + 3], w * 0.01 + 1 / 0.25, 1e-12);
  assert_close(w, 8 / (7 * 2.25 + u * u), 1e-14);
  tacit_model_normal_tails(&model);
  tacit_prior_view_t view;
  assert_true(tacit_parameters_prior(&model.parameters, 1, &view) && view.prior.kind == TACIT_PRIOR_NORMAL &&
              view.source.basis == TACIT_PRIOR_BASIS_TYPICAL);
  tacit_model_clear(&model);
  tacit_design_free(design);
  tacit_schema_free(schema);
}

/* Of a gaussian by the effect of one sd: half the difference between levels is more where one is rare, and
 * not above what it is where nothing is known. */
static void test_priors_of_a_gaussian_follow_effects(void **state) {
  (void)state;
  static const char text[] = "columns:\n  y: {type: numeric, lower: -1, upper: 1}\n  even: {type: binary}\n"
                             "  rare: {type: binary}\n  b: {type: numeric, lower: -1, upper: 1}\n";
  tacit_error_t err;
  tacit_schema_t *schema;
  tacit_design_t *design;
  tacit_glm_settings_t settings = {.family = TACIT_FAMILY_GAUSSIAN};
  assert_ok(tacit_schema_parse(&schema, text, sizeof text - 1, "test", &err), err);
  assert_ok(tacit_design_new(&design, "y ~ even + rare + b", schema, TACIT_FAMILY_GAUSSIAN, &err), err);
  tacit_model_t model = model_testing_model(design, &settings);
  const double effects[] = {0, 0.5},
               wanted[][3] = {{1.25, 1.25, 1.25 * 1.5 / 0.25}, {0.5 / 0.8, 1.25, 0.5 * 1.5 / 0.25}};
  for (size_t e = 0; e < 2; e++) {
    const tacit_feature_scale_t scales[] = {
        {0, 0.2, 0, effects[e]}, {0.6, 0.8, 0, 0}, {-0.97, 0.24, 0, 0}, {0, 0.25, 0.5, 0}};
    tacit_model_scale_priors(&model, scales, TACIT_PRIOR_BASIS_RELEASED);
    for (size_t j = 0; j < 3; j++) {
      tacit_prior_view_t view;
      assert_true(tacit_parameters_prior(&model.parameters, 1 + j, &view));
      assert_close(view.prior.scale, 0.2 * wanted[e][j], 1e-12);
      assert_close(view.prior.df, 3, 0);
    }
  }
  tacit_model_clear(&model);
  tacit_design_free(design);
  tacit_schema_free(schema);
}

/* ---- errors ---- */

static void expect_refusal(const tacit_design_t *design, const tacit_glm_settings_t *settings,
                           tacit_status_t status, const char *fragment) {
  tacit_error_t err = {0};
  tacit_model_t model;
  assert_int_equal(tacit_model_init_glm(&model, design, settings, &err), status);
  if (strstr(err.message, fragment) == NULL) {
    fail_msg("no '%s' in: %s", fragment, err.message);
  }
  assert_null(model.parameters.ctx);
  tacit_model_clear(&model);
}

static void test_glm_settings_are_checked(void **state) {
  tacit_design_t *design = model_testing_design("death ~ age*sex", TACIT_FAMILY_BERNOULLI);
  tacit_glm_settings_t settings = {.family = TACIT_FAMILY_GAUSSIAN};
  expect_refusal(design, &settings, TACIT_ERR_ARGUMENT, "family bernoulli");
  settings = (tacit_glm_settings_t){.family = TACIT_FAMILY_BERNOULLI, .known_sd = 1};
  expect_refusal(design, &settings, TACIT_ERR_ARGUMENT, "known_sd is for family gaussian");
  settings.known_sd = NAN;
  expect_refusal(design, &settings, TACIT_ERR_ARGUMENT, "known_sd must be finite");
  settings.known_sd = -1;
  expect_refusal(design, &settings, TACIT_ERR_ARGUMENT, "known_sd must be finite");
  char term[] = "aeg";
  tacit_prior_entry_t entry = {.term = term, .prior = {TACIT_PRIOR_NORMAL, 0, 0, 1}};
  settings = (tacit_glm_settings_t){.family = TACIT_FAMILY_BERNOULLI, .priors = &entry, .n_priors = 1};
  expect_refusal(design, &settings, TACIT_ERR_UNKNOWN,
                 "'aeg' is not in the model (did you mean 'age'?); there are "
                 "'Intercept', 'age', 'sexM', 'age:sexM'");
  char sigma[] = "sigma";
  entry.term = sigma;
  expect_refusal(design, &settings, TACIT_ERR_UNKNOWN, "'sigma' is not in the model");
  entry.term = NULL;
  const tacit_prior_t bad[] = {{TACIT_PRIOR_NORMAL, 0, 0, 0},    {TACIT_PRIOR_NORMAL, 0, 0, NAN},
                               {TACIT_PRIOR_NORMAL, 0, NAN, 1},  {TACIT_PRIOR_NORMAL, 0, 0, INFINITY},
                               {TACIT_PRIOR_STUDENT_T, 0, 0, 1}, {TACIT_PRIOR_STUDENT_T, NAN, 0, 1},
                               {(tacit_prior_kind_t)7, 1, 0, 1}};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    entry.prior = bad[i];
    expect_refusal(design, &settings, TACIT_ERR_ARGUMENT, "a prior needs");
  }
  tacit_design_free(design);
}

static void test_glm_every_failing_allocation_is_an_error(void **state) {
  tacit_design_t *design =
      model_testing_design("grp ~ age*sex + I(z + 1) + I(z - 1)", TACIT_FAMILY_CATEGORICAL);
  tacit_glm_settings_t settings = {.family = TACIT_FAMILY_CATEGORICAL};
  bool has_ended = false;
  for (size_t k = 1; !has_ended; k++) {
    assert_true(k < 1000);
    tacit_error_t err = {0};
    tacit_model_t model;
    tacit_alloc_fail_at(k);
    tacit_status_t status = tacit_model_init_glm(&model, design, &settings, &err);
    tacit_alloc_fail_at(0);
    has_ended = status == TACIT_OK;
    assert_true(has_ended || (status == TACIT_ERR_MEMORY && model.free == NULL));
    tacit_model_clear(&model);
  }
  tacit_design_free(design);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_glm_names_and_labels),
      cmocka_unit_test(test_glm_report_predicts_as_the_scaled_model),
      cmocka_unit_test(test_glm_prior_gradients_match_differences),
      cmocka_unit_test(test_glm_prior_on_original_scale_is_that_of_the_report),
      cmocka_unit_test(test_glm_default_priors),
      cmocka_unit_test(test_glm_priors_follow_scales),
      cmocka_unit_test(test_priors_of_a_gaussian_follow_effects),
      cmocka_unit_test(test_glm_settings_are_checked),
      cmocka_unit_test(test_glm_every_failing_allocation_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
