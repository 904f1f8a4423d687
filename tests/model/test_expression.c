/* Interval arithmetic against evaluation: values of random expressions lie in their public ranges. */
#include "model_testing.h"

#include "formula/expression.h"

enum { N_BOX = 4 };
static const tacit_interval_t box[N_BOX] = {{50, 105}, {0.3, 30}, {-2, 3}, {1e-3, 2e3}};
static const char *const box_names[N_BOX] = {"age", "flc", "z", "w"};

/* A random expression of the grammar; many are refused, the rest must hold. */
static void random_expression(uint64_t *rng, size_t depth, char *out, size_t size) {
  size_t used = strlen(out);
  char left[400] = "", right[400] = "";
  uint64_t kind = depth == 0 ? model_testing_bits(rng) % 3 : model_testing_bits(rng) % 15;
  if (kind < 2) {
    snprintf(out + used, size - used, "%s", box_names[model_testing_bits(rng) % N_BOX]);
    return;
  }
  if (kind == 2) {
    static const char *const numbers[] = {"1", "2", "0.5", "3", "10", "0.1", "7.25"};
    snprintf(out + used, size - used, "%s", numbers[model_testing_bits(rng) % 7]);
    return;
  }
  random_expression(rng, depth - 1, left, sizeof left);
  if (kind == 14) {
    static const char *const comparisons[] = {"<", "<=", ">", ">=", "==", "!="};
    random_expression(rng, depth - 1, right, sizeof right);
    snprintf(out + used, size - used, "((%s) %s (%s))", left, comparisons[model_testing_bits(rng) % 6],
             right);
  } else if (kind >= 11) {
    static const char *const calls[] = {"log", "exp", "sqrt"};
    snprintf(out + used, size - used, "%s(%s)", calls[kind - 11], left);
  } else if (kind == 10) {
    snprintf(out + used, size - used, "-(%s)", left);
  } else if (kind == 9) {
    static const char *const powers[] = {"2", "3", "4", "-1", "-2", "0.5", "1.5"};
    snprintf(out + used, size - used, "(%s)^%s", left, powers[model_testing_bits(rng) % 7]);
  } else {
    static const char operators[] = "+-*/+*";
    random_expression(rng, depth - 1, right, sizeof right);
    snprintf(out + used, size - used, "(%s) %c (%s)", left, operators[kind - 3], right);
  }
}

static bool check_expression(const tacit_formula_t *formula, uint64_t *rng) {
  const tacit_formula_variable_t *variable = &formula->variables[1];
  tacit_interval_t ranges[N_BOX + 1] = {{0, 1}}, range; /* column 0 is the response */
  double values[N_BOX + 1][TACIT_CHUNK], *stack = malloc(variable->depth * TACIT_CHUNK * sizeof *stack);
  const double *columns[N_BOX + 1];
  for (size_t c = 0; c < formula->n_columns; c++) {
    columns[c] = values[c];
    for (size_t b = 0; b < N_BOX; b++) {
      if (strcmp(formula->columns[c], box_names[b]) == 0) {
        ranges[c] = box[b];
      }
    }
  }
  bool is_accepted = tacit_expression_range(formula, variable, ranges, &range, NULL) == TACIT_OK;
  for (size_t round = 0; round < 4 && is_accepted; round++) {
    for (size_t c = 0; c < formula->n_columns; c++) {
      for (size_t i = 0; i < TACIT_CHUNK; i++) {
        values[c][i] = model_testing_corner(rng, ranges[c].lower, ranges[c].upper);
      }
    }
    tacit_expression_eval(variable, columns, 0, TACIT_CHUNK, stack);
    for (size_t i = 0; i < TACIT_CHUNK; i++) {
      if (!(stack[i] >= range.lower && stack[i] <= range.upper)) {
        fail_msg("%s: %.17g outside [%.17g, %.17g]", formula->text, stack[i], range.lower, range.upper);
      }
    }
  }
  free(stack);
  return is_accepted;
}

static void test_expression_values_lie_in_their_range(void **state) {
  uint64_t rng = 7;
  size_t n_accepted = 0, n_rounds = (size_t)(4000 * testing_multiplier());
  for (size_t round = 0; round < n_rounds; round++) {
    char text[1200] = "y ~ I(";
    random_expression(&rng, 1 + round % 4, text, sizeof text - 2);
    strcat(text, ")");
    tacit_formula_t formula;
    tacit_error_t err = {0};
    assert_ok(tacit_formula_parse(&formula, text, &err), err);
    n_accepted += check_expression(&formula, &rng);
    tacit_formula_clear(&formula);
  }
  assert_true(n_accepted > n_rounds / 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_expression_values_lie_in_their_range),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
