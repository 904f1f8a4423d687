/* The table of settings, and what tacit_fit_set() makes of names and texts. */
#include "fit/fixture.h"
#include "settings/settings.h"

static tacit_fit_t *blank(void) {
  tacit_fit_t *fit;
  tacit_error_t err;
  assert_ok(tacit_fit_new(&fit, "y ~ x", &err), err);
  return fit;
}

/* Every setting says what it is, and its default is one of its own texts. */
static void test_the_table_is_whole(void **state) {
  size_t n;
  const tacit_setting_t *table = tacit_fit_settings(&n);
  tacit_fit_t *fit = blank();
  tacit_error_t err;
  assert_true(n > 40);
  for (size_t i = 0; i < n; i++) {
    const tacit_setting_t *s = &table[i];
    bool is_flag = s->kind == TACIT_SETTING_FLAG || s->kind == TACIT_SETTING_PROGRAM;
    assert_true(s->help[0] != '\0' && s->group[0] != '\0' && strpbrk(s->name, "_ ") == NULL);
    assert_true((s->value == NULL) == is_flag);
    assert_true((s->choices != NULL) == (s->kind == TACIT_SETTING_CHOICE));
    if (s->kind == TACIT_SETTING_NUMBER || s->kind == TACIT_SETTING_COUNT || s->kind == TACIT_SETTING_BOUND) {
      assert_true(s->lower < s->upper);
    }
    for (size_t k = 0; k < i; k++) {
      assert_string_not_equal(s->name, table[k].name);
    }
    if (s->fallback != NULL) {
      assert_ok(tacit_fit_set(fit, s->name, s->fallback, &err), err);
    }
  }
  tacit_fit_free(fit);
}

/* Rows of one name stand side by side in the table of all tasks: none has two of them. Ranges hold defaults.
 */
static void test_no_task_has_a_name_twice(void **state) {
  for (tacit_task_t task = TACIT_TASK_FIT; task < TACIT_N_TASKS; task++) {
    tacit_settings_t settings = tacit_settings_for(task);
    tacit_error_t err;
    assert_true(settings.n_table > 3);
    for (size_t i = 0; i < settings.n_table; i++) {
      const tacit_setting_t *s = &settings.table[i];
      bool is_number = s->kind == TACIT_SETTING_NUMBER || s->kind == TACIT_SETTING_COUNT;
      assert_ptr_equal(tacit_settings_find(&settings, s->name), s);
      assert_true(s->help[0] != '\0' && (!is_number || s->lower < s->upper));
      if (is_number) {
        assert_ok(tacit_settings_check(&settings, s->name, &err), err);
      }
    }
  }
}

/* A name, a text, and what is said of them: status, field and message. */
static const struct {
  const char *name, *text;
  tacit_status_t status;
  const char *field, *message;
} cases[] = {
    {"dleta", "1", TACIT_ERR_UNKNOWN, "dleta", "no setting 'dleta' (did you mean 'delta'?)"},
    {"", "1", TACIT_ERR_UNKNOWN, "", "no setting ''"},
    {"clip_grad", "0.5", TACIT_OK, "", ""},
    {"clip-grad", "private", TACIT_OK, "", ""},
    {"clip-grad", "privat", TACIT_ERR_ARGUMENT, "clip-grad",
     "option --clip-grad must be a number between 1e-15 and 1e+15, not 'privat'"},
    {"clip_", "1", TACIT_ERR_UNKNOWN, "clip_", "no setting 'clip_'"},
    {"epsilon", "-1", TACIT_ERR_ARGUMENT, "epsilon",
     "option --epsilon must be a number between 1e-12 and 1e+12, not '-1'"},
    {"epsilon", "0", TACIT_ERR_ARGUMENT, "epsilon",
     "option --epsilon must be a number between 1e-12 and 1e+12, not '0'"},
    {"epsilon", "nan", TACIT_ERR_ARGUMENT, "epsilon",
     "option --epsilon must be a number between 1e-12 and 1e+12, not 'nan'"},
    {"epsilon", "0x1", TACIT_ERR_ARGUMENT, "epsilon",
     "option --epsilon must be a number between 1e-12 and 1e+12, not '0x1'"},
    {"chains", "2.5", TACIT_ERR_ARGUMENT, "chains", "option --chains must be a whole number, not '2.5'"},
    {"chains", NULL, TACIT_ERR_ARGUMENT, "chains", "option --chains needs a value: --chains N"},
    {"proposal", "half", TACIT_ERR_ARGUMENT, "proposal",
     "option --proposal must be full, one-component or guided, not 'half'"},
    {"prior-scale", "x", TACIT_ERR_ARGUMENT, "prior-scale",
     "option --prior-scale must be scaled or original, not 'x'"},
    {"exposed", NULL, TACIT_OK, "", ""},
    {"exposed", "false", TACIT_OK, "", ""},
    {"exposed", "no", TACIT_ERR_ARGUMENT, "exposed", "option --exposed is true or false, not 'no'"},
    {"quiet", NULL, TACIT_ERR_ARGUMENT, "quiet", "option --quiet is of the program alone"}};

static void test_names_and_texts_are_checked_at_once(void **state) {
  tacit_fit_t *fit = blank();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    tacit_error_t err = {0};
    assert_int_equal(tacit_fit_set(fit, cases[i].name, cases[i].text, &err), cases[i].status);
    if (cases[i].status != TACIT_OK) {
      assert_string_equal(err.message, cases[i].message);
      assert_string_equal(err.field, cases[i].field);
      assert_int_equal(err.status, cases[i].status);
    }
  }
  tacit_fit_free(fit);
}

/* What goes together is looked at when the records are read; then settings are settled. */
static void test_what_does_not_go_together_is_refused_before_anything_is_read(void **state) {
  static const struct {
    const char *settings[12], *field;
  } wrong[] = {
      {{"epsilon", "1", "delta", "1e-6", NULL}, "family"},
      {{"family", "bernuli", "epsilon", "1", "delta", "1e-6", NULL}, "family"},
      {{"family", "bernoulli", "epsilon", "1", NULL}, "delta"},
      {{"family", "bernoulli", "epsilon", "1", "delta", "0", NULL}, "delta"},
      {{"family", "bernoulli", "epsilon", "1", "delta", "1", NULL}, "delta"},
      {{"family", "bernoulli", "exposed", "true", "epsilon", "1", "method", "hmc", NULL}, "epsilon"},
      {{"family", "bernoulli", "epsilon", "1", "delta", "1e-6", "method", "hmc", NULL}, "method"},
      {{"family", "bernoulli", "epsilon", "1", "delta", "1e-6", "sd", "1", NULL}, "sd"},
      {{"family", "bernoulli", "epsilon", "1", "delta", "1e-6", "prior", "norml(0, 1)", NULL}, "prior"},
      {{"family", "bernoulli", "epsilon", "1", "delta", "1e-6", "method", "noise-aware", "leapfrog", "3",
        NULL},
       "leapfrog"},
      {{"family", "bernoulli", "epsilon", "1", "delta", "1e-6", "clip-share", "0.1", NULL}, "clip-share"},
      {{"family", "bernoulli", "epsilon", "1", "delta", "1e-6", "data-id", "d", NULL}, "data-id"},
      {{"family", "bernoulli", "epsilon", "1", "delta", "1e-6", "out", "/tmp", NULL}, "out"}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    tacit_error_t err = {0};
    tacit_fit_t *fit = fixture_new("y ~ x", fixture_columns, wrong[i].settings);
    assert_true(tacit_fit_read(fit, "/nowhere/at/all.csv", &err) != TACIT_OK);
    assert_string_equal(err.field, wrong[i].field);
    assert_int_equal(tacit_fit_set(fit, "epsilon", "1", &err), TACIT_ERR_STATE);
    assert_int_equal(tacit_fit_read(fit, "/nowhere", &err), TACIT_ERR_STATE);
    assert_int_equal(tacit_fit_run(fit, NULL, NULL, &err), TACIT_ERR_STATE);
    assert_null(tacit_fit_draws(fit));
    assert_false(tacit_fit_spent(fit).epsilon > 0);
    tacit_fit_free(fit);
  }
  tacit_fit_free(NULL);
}

/* What the schema asks, the other settings being in order. */
static void test_what_a_schema_does_not_go_with_is_refused(void **state) {
  static const char *const bernoulli[] = {"family", "bernoulli", "epsilon",     "1", "delta",
                                          "1e-6",   "method",    "noise-aware", NULL};
  static const char *const gaussian[] = {"family", "gaussian", "epsilon",     "1", "delta",
                                         "1e-6",   "method",   "noise-aware", NULL};
  static const char units[] = "unit: id\nmax_rows: 3\ncolumns:\n  id: {type: id}\n  y: {type: binary}\n  x: "
                              "{type: numeric, lower: -1, upper: 1, missing: drop}\n";
  const struct {
    const char *formula, *const *settings, *schema, *field;
  } wrong[] = {{"y ~ x", bernoulli, fixture_private_number, "n-public"},
               {"x ~ y", gaussian, units, "method"}};
  for (size_t i = 0; i < 2; i++) {
    tacit_error_t err = {0};
    tacit_fit_t *fit = fixture_new(wrong[i].formula, wrong[i].schema, wrong[i].settings);
    assert_int_equal(tacit_fit_read(fit, "/nowhere/at/all.csv", &err), TACIT_ERR_ARGUMENT);
    assert_string_equal(err.field, wrong[i].field);
    tacit_fit_free(fit);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_table_is_whole), cmocka_unit_test(test_no_task_has_a_name_twice),
      cmocka_unit_test(test_names_and_texts_are_checked_at_once),
      cmocka_unit_test(test_what_does_not_go_together_is_refused_before_anything_is_read),
      cmocka_unit_test(test_what_a_schema_does_not_go_with_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
