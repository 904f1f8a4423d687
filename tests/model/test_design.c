/* Designs: public ranges, scaling, packing. */
#include "model_testing.h"

#include "formula/design_internal.h"

static void test_design_ranges_follow_from_the_schema(void **state) {
  static const struct {
    const char *formula, *label;
    double lower, upper;
  } cases[] = {
      {"death ~ age", "age", 50, 105},
      {"death ~ smoker", "smoker", 0, 1},
      {"death ~ grp", "grpc", 0, 1},
      {"death ~ age:sex + age", "age:sexM", 0, 105},
      {"death ~ z:grp + z", "z:grpb", -2, 3},
      {"death ~ z:bmi", "z:bmi", -120, 180},
      {"death ~ I(age^2)", "I(age^2)", 2500, 11025},
      {"death ~ I(z^2)", "I(z^2)", 0, 9},
      {"death ~ I(z^4)", "I(z^4)", 0, 81},
      {"death ~ I(z^3)", "I(z^3)", -8, 27},
      {"death ~ I(flc^-1)", "I(flc^-1)", 1.0 / 30, 1 / 0.3},
      {"death ~ I(bmi^-2)", "I(bmi^-2)", 1.0 / 3600, 0.01},
      {"death ~ I((z - 4)^-1)", "I((z - 4)^-1)", -1, -1.0 / 6},
      {"death ~ I(1/(z + 3))", "I(1/(z + 3))", 1.0 / 6, 1},
      {"death ~ I(z > 1)", "I(z > 1)", 0, 1},
      {"death ~ I((z <= 1) * 2 + age)", "I((z <= 1) * 2 + age)", 50, 107},
      {"death ~ z:I(z != 0)", "z:I(z != 0)", -2, 3},
      {"death ~ I(-z)", "I(-z)", -3, 2},
      {"death ~ I(z - bmi)", "I(z - bmi)", -62, -7},
      {"death ~ I(2 * z + 1)", "I(2 * z + 1)", -3, 7},
      {"death ~ I(z * -2)", "I(z * -2)", -6, 4},
      {"death ~ I(2^z)", "I(2^z)", 0.25, 8},
      {"death ~ I(0.5^z)", "I(0.5^z)", 0.125, 4},
      {"death ~ I(bmi^0.5)", "I(bmi^0.5)", 3.1622776601683795, 7.745966692414834},
      {"death ~ sqrt(age)", "sqrt(age)", 7.0710678118654755, 10.246950765959598},
      {"death ~ log(flc)", "log(flc)", -1.2039728043259361, 3.4011973816621555},
      {"death ~ exp(z)", "exp(z)", 0.1353352832366127, 20.085536923187668},
      {"death ~ I(2^3^z)", "I(2^3^z)", 1.0800597388923061, 134217728},
      {"death ~ I(-z^2)", "I(-z^2)", -9, 0},
      {"death ~ sqrt(z^2)", "sqrt(z^2)", 0, 3},
      {"death ~ sqrt(log(`odd name`))", "sqrt(log(`odd name`))", 0, 0.8325546111576977},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tacit_design_t *design = model_testing_design(cases[i].formula, TACIT_FAMILY_BERNOULLI);
    double lower, upper, centre, half;
    size_t j = find_label(design, cases[i].label);
    tacit_design_range(design, j, &lower, &upper);
    tacit_design_scaling(design, j, &centre, &half);
    assert_close(lower, cases[i].lower, 1e-14 * fabs(cases[i].lower));
    assert_close(upper, cases[i].upper, 1e-14 * fabs(cases[i].upper));
    assert_close(centre, (lower + upper) / 2, 1e-12);
    assert_close(half, (upper - lower) / 2, 1e-12 * half);
    tacit_design_free(design);
  }
}

/* Features by label; "" none. */
static void test_design_says_which_features_follow_from_others(void **state) {
  (void)state;
  static const struct {
    const char *formula, *label, *factor, *first, *second;
  } cases[] = {
      {"death ~ age + grp", "age", "", "", ""},
      {"death ~ age + grp", "grpc", "grpb", "", ""},
      {"death ~ grp + factor(stage)", "factor(stage)4", "factor(stage)2", "", ""},
      {"death ~ sex * age", "sexM:age", "", "age", "sexM"},
      {"death ~ grp * factor(stage)", "grpc:factor(stage)3", "", "factor(stage)3", "grpc"},
      {"death ~ sex * age * z", "sexM:age:z", "", "age:z", "sexM"},
      {"death ~ z:bmi", "z:bmi", "", "", ""},
      {"death ~ sex:grp", "sexM:grpc", "sexF:grpa", "", ""},
      {"death ~ smoker", "smoker", "", "", ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tacit_design_t *design = model_testing_design(cases[i].formula, TACIT_FAMILY_BERNOULLI);
    size_t j = find_label(design, cases[i].label);
    tacit_feature_makeup_t makeup = tacit_design_makeup(design, j);
    const size_t found[] = {makeup.factor, makeup.first, makeup.second};
    const char *const wanted[] = {cases[i].factor, cases[i].first, cases[i].second};
    for (size_t k = 0; k < 3; k++) {
      assert_string_equal(found[k] > 0 ? tacit_design_label(design, found[k]) : "", wanted[k]);
    }
    assert_close(makeup.half, design->features[j].half, 0);
    tacit_design_free(design);
  }
}

static void test_design_without_intercept_is_not_centred(void **state) {
  tacit_design_t *design = model_testing_design("z ~ 0 + age + I(-bmi) + sex", TACIT_FAMILY_GAUSSIAN);
  double centre, half;
  tacit_design_scaling(design, 0, &centre, &half);
  assert_true(centre == 0 && half == 105);
  tacit_design_scaling(design, 1, &centre, &half);
  assert_true(centre == 0 && half == 60);
  tacit_design_scaling(design, 2, &centre, &half);
  assert_true(centre == 0 && half == 1);
  assert_false(tacit_design_has_intercept(design));
  assert_true(design->response_centre == 0 && design->response_half == 3);
  tacit_design_free(design);
}

static void test_design_intercept_and_accessors(void **state) {
  tacit_design_t *design = model_testing_design("log(flc) ~ age + log(bmi)", TACIT_FAMILY_GAUSSIAN);
  double a, b;
  tacit_design_range(design, 0, &a, &b);
  assert_true(a == 1 && b == 1);
  tacit_design_scaling(design, 0, &a, &b);
  assert_true(a == 0 && b == 1);
  assert_true(tacit_design_has_intercept(design));
  assert_string_equal(tacit_design_response(design), "log(flc)");
  tacit_design_response_range(design, &a, &b);
  assert_close(a, log(0.3), 1e-14);
  assert_close(b, log(30), 1e-14);
  size_t n;
  const char *const *columns = tacit_design_columns(design, &n);
  assert_int_equal(n, 3);
  assert_string_equal(columns[0], "flc");
  assert_string_equal(columns[1], "age");
  assert_string_equal(columns[2], "bmi");
  assert_int_equal(tacit_design_n_classes(design), 0);
  tacit_design_free(design);
  tacit_design_free(NULL);
}

static void test_design_classes_of_a_categorical_response(void **state) {
  tacit_design_t *design = model_testing_design("factor(stage) ~ age", TACIT_FAMILY_CATEGORICAL);
  double lower, upper;
  assert_int_equal(tacit_design_n_classes(design), 4);
  assert_string_equal(tacit_design_class_label(design, 0), "1");
  assert_string_equal(tacit_design_class_label(design, 3), "4");
  tacit_design_response_range(design, &lower, &upper);
  assert_true(lower == 0 && upper == 3);
  tacit_design_free(design);
}

/* ---- packing ---- */

static void test_design_clamp_gives_nan_a_place(void **state) {
  assert_true(tacit_design_clamp(NAN, -1, 1) == -1);
  assert_true(tacit_design_clamp(INFINITY, -1, 1) == 1);
  assert_true(tacit_design_clamp(-INFINITY, -1, 1) == -1);
  assert_true(tacit_design_clamp(0.5, -1, 1) == 0.5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_design_ranges_follow_from_the_schema),
      cmocka_unit_test(test_design_says_which_features_follow_from_others),
      cmocka_unit_test(test_design_without_intercept_is_not_centred),
      cmocka_unit_test(test_design_intercept_and_accessors),
      cmocka_unit_test(test_design_classes_of_a_categorical_response),
      cmocka_unit_test(test_design_clamp_gives_nan_a_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
