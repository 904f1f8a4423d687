#include "report/doubt.h"

static const double epsilon_much = 20;

static bool is_delta_much(double delta, double n_units) { return delta * n_units >= 1; }

bool tacit_budget_is_dubious(double epsilon, double delta, double n_units) {
  return epsilon > epsilon_much || is_delta_much(delta, n_units);
}

void tacit_budget_put_doubts(tacit_text_t *to, double epsilon, double delta, double n_units) {
  if (epsilon > epsilon_much) {
    tacit_text_printf(to,
                      "warning: epsilon %.4g is a factor of e^%.4g between what can be known with and "
                      "without a person's record: that rules out next to nothing\n",
                      epsilon, epsilon);
  }
  if (is_delta_much(delta, n_units)) {
    tacit_text_printf(to,
                      "warning: delta %.3g is no less than one in the number of units (%.4g): it would allow "
                      "to publish one of them as it is; far below that is meant\n",
                      delta, n_units);
  }
}
