/*
 * Bounds of gradients and log-likelihood ratios, beside the largest that a search finds: never exceeded, and
 * where they are of use not far above. TACIT_TEST_MULTIPLIER scales the search; search_bounds has 10^7 points
 * a model, of many more models.
 */
#include "bound_search.h"

static void test_bounds(void **state) {
  size_t n_points =
      (size_t)(12000 * testing_multiplier_at_least(1)); /* with fewer points the search comes near no bound */
  tacit_schema_t *schema;
  (void)state;
  assert_int_equal(tacit_schema_parse(&schema, BOUNDED_SCHEMA, strlen(BOUNDED_SCHEMA), "schema", NULL),
                   TACIT_OK);
  for (size_t i = 0; i < N_BOUNDED; i++) {
    tacit_program_t *program;
    tacit_model_t model;
    tacit_error_t err;
    tacit_program_settings_t settings = {.schema = schema};
    if (tacit_program_parse(&program, BOUNDED[i].text, strlen(BOUNDED[i].text), &settings, &err) !=
            TACIT_OK ||
        tacit_program_compile(program, &model, &err) != TACIT_OK) {
      fail_msg("%s: %s", BOUNDED[i].name, err.message);
    }
    search_found_t found = search_bounds(program->compiled, n_points, 5 + i);
    double bound = model.records.grad_bound;
    print_message("%s: bound %.4g, found %.4g; rows to %.3f, ratios to %.3f of their bound\n",
                  BOUNDED[i].name, bound, found.norm, found.largest[SEARCHED_ROW],
                  found.largest[SEARCHED_RATIO]);
    assert_true(search_holds(&found));
    assert_true(BOUNDED[i].at_most == 0 ? isinf(bound) : bound <= BOUNDED[i].at_most * found.norm);
    tacit_program_free(program);
  }
  tacit_schema_free(schema);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bounds)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
