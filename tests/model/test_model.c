/* What a model must have: names, pointers, sizes. */
#include "model_testing.h"

#include "formula/names.h"

static void test_names_legal_unique_and_kept(void **state) {
  assert_true(tacit_name_is_legal("b_age") && tacit_name_is_legal("theta.1") &&
              tacit_name_is_legal("x.1.22"));
  assert_false(tacit_name_is_legal("") || tacit_name_is_legal("_a") || tacit_name_is_legal("a__b") ||
               tacit_name_is_legal("1a") || tacit_name_is_legal("a.b") || tacit_name_is_legal("a.") ||
               tacit_name_is_legal("a b") || tacit_name_is_legal("a,b"));
  tacit_error_t err = {0};
  tacit_names_t names;
  enum { N = 300 };
  assert_ok(tacit_names_init(&names, N, &err), err);
  for (size_t i = 0; i < N; i++) {
    static const char *const labels[] = {"\xE4\xB8\xAD", "__", "a+b", "a-b", "a_b_2"};
    assert_ok(tacit_names_add_coefficient(&names, NULL, labels[i % 5], &err), err);
    assert_true(tacit_name_is_legal(names.names[i]));
    for (size_t j = 0; j < i; j++) {
      assert_string_not_equal(names.names[i], names.names[j]);
    }
  }
  assert_string_equal(names.names[0], "b");
  assert_string_equal(names.labels[0], "\xE4\xB8\xAD");
  tacit_names_clear(&names);
}

static void test_names_keep_latin_letters_readable(void **state) {
  static const char *const pairs[][2] = {{"größe", "b_groesse"},
                                         {"Übergewicht", "b_Uebergewicht"},
                                         {"café", "b_cafe"},
                                         {"naïf:garçon", "b_naif_garcon"},
                                         {"Łódź", "b_Lodz"},
                                         {"a×b", "b_a_b"},
                                         {"œuvre", "b_oeuvre"},
                                         {"u\xCC\x88"
                                          "ber",
                                          "b_ueber"},
                                         {"e\xCC\x81t", "b_et"},
                                         {"groesse", "b_groesse_2"},
                                         {"x\xC3", "b_x"},
                                         {"αx", "b_x_2"},
                                         {"ǅ", "b"},
                                         {"žena ÿ", "b_zena_y"}};
  enum { N = sizeof pairs / sizeof pairs[0] };
  tacit_error_t err = {0};
  tacit_names_t names;
  assert_ok(tacit_names_init(&names, N, &err), err);
  for (size_t i = 0; i < N; i++) {
    assert_ok(tacit_names_add_coefficient(&names, NULL, pairs[i][0], &err), err);
    assert_string_equal(names.names[i], pairs[i][1]);
    assert_true(tacit_name_is_legal(names.names[i]));
  }
  tacit_names_clear(&names);
}

static void test_validate_names_each_fault(void **state) {
  tacit_error_t err = {0};
  tacit_design_t *design = model_testing_design("z ~ age", TACIT_FAMILY_GAUSSIAN);
  tacit_glm_settings_t settings = {.family = TACIT_FAMILY_GAUSSIAN};
  tacit_model_t good = model_testing_model(design, &settings);
#define BREAK(assignment, fault)                                                                             \
  do {                                                                                                       \
    tacit_model_t m = good;                                                                                  \
    assignment;                                                                                              \
    assert_int_equal(tacit_model_validate(&m, &err), TACIT_ERR_ARGUMENT);                                    \
    assert_string_equal(err.field, fault);                                                                   \
  } while (0)
  const char *twice[] = {"a", "b", "a"}, *illegal[] = {"a", "b", "c__"}, *hole[] = {"a", NULL, "c"};
  double scale[] = {1, NAN, 1}, zero[] = {1, 0, 1};
  BREAK(m.records.name = NULL, "records.name");
  BREAK(m.records.dim = 0, "records.dim");
  BREAK(m.records.dim = 4, "records.dim");
  BREAK(m.records.n_linear = SIZE_MAX, "records.dim");
  BREAK(m.records.n_columns = 0, "records.n_columns");
  BREAK(m.records.n_columns = 1, "records.n_features");
  BREAK(m.records.n_features = 0, "records.n_features");
  BREAK(m.records.grad_bound = NAN, "records.grad_bound");
  BREAK(m.records.grad_bound = 0, "records.grad_bound");
  BREAK(m.records.log_lik = NULL, "records.log_lik");
  BREAK(m.records.residual = NULL, "records.residual");
  BREAK(m.records.n_linear = 0, "records.grad");
  BREAK(m.parameters.dim = 2, "parameters.dim");
  BREAK(m.parameters.n_reported = 0, "parameters.n_reported");
  BREAK(m.parameters.log_prior = NULL, "parameters.log_prior");
  BREAK(m.parameters.report = NULL, "parameters.report");
  BREAK(m.parameters.unit_scale = NULL, "parameters.unit_scale");
  BREAK(m.parameters.unit_scale = scale, "parameters.unit_scale");
  BREAK(m.parameters.unit_scale = zero, "parameters.unit_scale");
  BREAK(m.parameters.labels = NULL, "parameters.labels");
  BREAK(m.parameters.labels = hole, "parameters.labels");
  BREAK(m.parameters.names = NULL, "parameters.names");
  BREAK(m.parameters.names = hole, "parameters.names");
  BREAK(m.parameters.names = twice, "parameters.names");
  BREAK(m.parameters.names = illegal, "parameters.names");
#undef BREAK
  assert_int_equal(tacit_model_validate(NULL, &err), TACIT_ERR_ARGUMENT);
  tacit_model_t zeroed = {0};
  assert_int_equal(tacit_model_validate(&zeroed, &err), TACIT_ERR_ARGUMENT);
  tacit_model_clear(&zeroed);
  tacit_model_clear(NULL);
  tacit_model_clear(&good);
  tacit_design_free(design);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names_legal_unique_and_kept),
      cmocka_unit_test(test_names_keep_latin_letters_readable),
      cmocka_unit_test(test_validate_names_each_fault),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
