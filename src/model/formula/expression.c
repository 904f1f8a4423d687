#include "formula/expression.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "formula/model_text.h"

typedef struct range_context {
  const tacit_formula_t *formula;
  const tacit_interval_t *columns;
  const tacit_formula_variable_t *variable;
  tacit_error_t *err;
} range_context_t;

/* "'flc' has public bounds [0, 60]" for a bare column, else "its argument ranges over [..]". */
static tacit_status_t domain_error(const range_context_t *context, const tacit_formula_step_t *step,
                                   tacit_interval_t x, const char *what, const char *wanted) {
  char lower[TACIT_NUMBER_SIZE], upper[TACIT_NUMBER_SIZE];
  tacit_number_format(x.lower, lower);
  tacit_number_format(x.upper, upper);
  const tacit_formula_step_t *before = step > context->variable->steps ? step - 1 : step;
  if (before->op == TACIT_OP_COLUMN) {
    return tacit_formula_error(
        context->formula, context->err, TACIT_ERR_SCHEMA, step->offset,
        "%s, but the public bounds of '%s' are [%s, %s]; give it tighter bounds in the "
        "schema (%s)",
        what, context->formula->columns[before->column], lower, upper, wanted);
  }
  return tacit_formula_error(context->formula, context->err, TACIT_ERR_SCHEMA, step->offset,
                             "%s, but by the public bounds of its columns the argument ranges over [%s, %s]; "
                             "give them tighter bounds in the schema (%s)",
                             what, lower, upper, wanted);
}

/* One ulp outwards; an exact zero stays, since log, exp and pow never err in sign. */
static tacit_interval_t widen(tacit_interval_t x) {
  return (tacit_interval_t){x.lower == 0 ? 0 : nextafter(x.lower, -INFINITY),
                            x.upper == 0 ? 0 : nextafter(x.upper, INFINITY)};
}

static tacit_interval_t hull(const double *values, size_t n) {
  tacit_interval_t x = {values[0], values[0]};
  for (size_t i = 1; i < n; i++) {
    x.lower = fmin(x.lower, values[i]);
    x.upper = fmax(x.upper, values[i]);
  }
  return x;
}

tacit_interval_t tacit_interval_multiply(tacit_interval_t x, tacit_interval_t y) {
  return hull((double[]){x.lower * y.lower, x.lower * y.upper, x.upper * y.lower, x.upper * y.upper}, 4);
}

static bool contains_zero(tacit_interval_t x) { return x.lower <= 0 && x.upper >= 0; }

/* Squares by one multiplication, correctly rounded; pow() is within one ulp. */
static double power(double x, double y) { return y == 2.0 ? x * x : pow(x, y); }

static tacit_status_t range_function(const range_context_t *context, const tacit_formula_step_t *step,
                                     tacit_interval_t *x) {
  switch (step->op) {
  case TACIT_OP_NEGATE:
    *x = (tacit_interval_t){-x->upper, -x->lower};
    return TACIT_OK;
  case TACIT_OP_LOG:
    if (!(x->lower > 0)) {
      return domain_error(context, step, *x, "log needs values above 0", "a lower bound above 0");
    }
    *x = widen((tacit_interval_t){log(x->lower), log(x->upper)});
    return TACIT_OK;
  case TACIT_OP_SQRT:
    if (!(x->lower >= 0)) {
      return domain_error(context, step, *x, "sqrt needs values of at least 0",
                          "a lower bound of at least 0");
    }
    *x = (tacit_interval_t){sqrt(x->lower), sqrt(x->upper)};
    return TACIT_OK;
  default: /* TACIT_OP_EXP */
    *x = widen((tacit_interval_t){exp(x->lower), exp(x->upper)});
    return TACIT_OK;
  }
}

/* x^y: for a constant y monotone on either side of 0; for x > 0 monotone in x and in y. */
static tacit_status_t range_power(const range_context_t *context, const tacit_formula_step_t *step,
                                  tacit_interval_t y, tacit_interval_t *x) {
  bool is_constant = y.lower == y.upper, is_whole = is_constant && y.lower == nearbyint(y.lower);
  if (is_whole && y.lower < 0 && contains_zero(*x)) {
    return domain_error(context, step, *x, "a negative power divides by its base", "bounds that leave 0 out");
  }
  if (!is_whole && !(y.lower > 0 ? x->lower >= 0 : x->lower > 0)) {
    return domain_error(context, step, *x, "a power that is not a whole number needs a base above 0",
                        "a lower bound above 0");
  }
  double values[5] = {power(x->lower, y.lower), power(x->upper, y.lower), power(x->lower, y.upper),
                      power(x->upper, y.upper), 0};
  bool has_interior_zero = is_whole && fmod(y.lower, 2) == 0 && y.lower > 0 && contains_zero(*x);
  *x = hull(values, has_interior_zero ? 5 : 4);
  if (!(is_constant && (y.lower == 1.0 || y.lower == 2.0))) {
    *x = widen(*x);
  }
  return TACIT_OK;
}

double tacit_expression_compare(tacit_formula_op_t op, double x, double y) {
  if (isnan(x) || isnan(y)) {
    return NAN;
  }
  switch (op) {
  case TACIT_OP_LESS:
    return x < y;
  case TACIT_OP_AT_MOST:
    return x <= y;
  case TACIT_OP_GREATER:
    return x > y;
  case TACIT_OP_AT_LEAST:
    return x >= y;
  case TACIT_OP_EQUAL:
    return x == y; /* exactly, as it is written */
  default:
    return x != y;
  }
}

/* One that all values within the bounds decide alike tells nothing, and is not what was meant. */
static tacit_status_t range_comparison(const range_context_t *context, const tacit_formula_step_t *step,
                                       tacit_interval_t y, tacit_interval_t *x) {
  bool is_beside = x->upper < y.lower || y.upper < x->lower;
  bool is_decided = step->op == TACIT_OP_EQUAL || step->op == TACIT_OP_UNEQUAL
                        ? is_beside || (x->lower == x->upper && y.lower == y.upper)
                        : tacit_expression_compare(step->op, x->lower, y.upper) ==
                              tacit_expression_compare(step->op, x->upper, y.lower);
  *x = (tacit_interval_t){0, 1};
  return !is_decided
             ? TACIT_OK
             : tacit_formula_error(
                   context->formula, context->err, TACIT_ERR_SCHEMA, step->offset,
                   "within the public bounds of its columns this comparison always comes out the same");
}

static tacit_status_t range_binary(const range_context_t *context, const tacit_formula_step_t *step,
                                   tacit_interval_t y, tacit_interval_t *x) {
  switch (step->op) {
  case TACIT_OP_ADD:
    *x = (tacit_interval_t){x->lower + y.lower, x->upper + y.upper};
    return TACIT_OK;
  case TACIT_OP_SUBTRACT:
    *x = (tacit_interval_t){x->lower - y.upper, x->upper - y.lower};
    return TACIT_OK;
  case TACIT_OP_MULTIPLY:
    *x = tacit_interval_multiply(*x, y);
    return TACIT_OK;
  case TACIT_OP_DIVIDE:
    if (contains_zero(y)) {
      return domain_error(context, step, y, "a divisor must not reach 0", "bounds that leave 0 out");
    }
    *x = hull((double[]){x->lower / y.lower, x->lower / y.upper, x->upper / y.lower, x->upper / y.upper}, 4);
    return TACIT_OK;
  case TACIT_OP_POWER:
    return range_power(context, step, y, x);
  default:
    return range_comparison(context, step, y, x);
  }
}

static tacit_status_t range_step(const range_context_t *context, const tacit_formula_step_t *step,
                                 tacit_interval_t *stack, size_t *height) {
  tacit_status_t status = TACIT_OK;
  if (step->op == TACIT_OP_NUMBER) {
    stack[(*height)++] = (tacit_interval_t){step->number, step->number};
  } else if (step->op == TACIT_OP_COLUMN) {
    stack[(*height)++] = context->columns[step->column];
  } else if (step->op < TACIT_OP_ADD) {
    status = range_function(context, step, &stack[*height - 1]);
  } else {
    (*height)--;
    status = range_binary(context, step, stack[*height], &stack[*height - 1]);
  }
  tacit_interval_t top = stack[*height - 1];
  if (status == TACIT_OK && !(isfinite(top.lower) && isfinite(top.upper))) {
    return tacit_formula_error(
        context->formula, context->err, TACIT_ERR_SCHEMA, step->offset,
        "by the public bounds of its columns this overflows; give them tighter bounds in "
        "the schema");
  }
  return status;
}

tacit_status_t tacit_expression_range(const tacit_formula_t *formula,
                                      const tacit_formula_variable_t *variable,
                                      const tacit_interval_t *columns, tacit_interval_t *range,
                                      tacit_error_t *err) {
  tacit_interval_t *stack = tacit_alloc(variable->depth, sizeof *stack);
  if (stack == NULL) {
    return tacit_error_memory(err);
  }
  range_context_t context = {formula, columns, variable, err};
  size_t height = 0;
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < variable->n_steps && status == TACIT_OK; i++) {
    status = range_step(&context, &variable->steps[i], stack, &height);
  }
  if (status == TACIT_OK) {
    *range = stack[0];
  }
  tacit_free(stack);
  return status;
}

static void eval_function(tacit_formula_op_t op, size_t n, double *x) {
  switch (op) {
  case TACIT_OP_NEGATE:
    for (size_t i = 0; i < n; i++)
      x[i] = -x[i];
    break;
  case TACIT_OP_LOG:
    for (size_t i = 0; i < n; i++)
      x[i] = log(x[i]);
    break;
  case TACIT_OP_SQRT:
    for (size_t i = 0; i < n; i++)
      x[i] = sqrt(x[i]);
    break;
  default: /* TACIT_OP_EXP */
    for (size_t i = 0; i < n; i++)
      x[i] = exp(x[i]);
    break;
  }
}

static void eval_binary(tacit_formula_op_t op, size_t n, double *x, const double *y) {
  switch (op) {
  case TACIT_OP_ADD:
    for (size_t i = 0; i < n; i++)
      x[i] += y[i];
    break;
  case TACIT_OP_SUBTRACT:
    for (size_t i = 0; i < n; i++)
      x[i] -= y[i];
    break;
  case TACIT_OP_MULTIPLY:
    for (size_t i = 0; i < n; i++)
      x[i] *= y[i];
    break;
  case TACIT_OP_DIVIDE:
    for (size_t i = 0; i < n; i++)
      x[i] /= y[i];
    break;
  case TACIT_OP_POWER:
    for (size_t i = 0; i < n; i++)
      x[i] = power(x[i], y[i]);
    break;
  default:
    for (size_t i = 0; i < n; i++)
      x[i] = tacit_expression_compare(op, x[i], y[i]);
    break;
  }
}

void tacit_expression_eval(const tacit_formula_variable_t *variable, const double *const *columns,
                           size_t first, size_t n, double *stack) {
  size_t height = 0;
  for (size_t s = 0; s < variable->n_steps; s++) {
    const tacit_formula_step_t *step = &variable->steps[s];
    double *next = stack + height * TACIT_CHUNK;
    if (step->op == TACIT_OP_NUMBER) {
      for (size_t i = 0; i < n; i++)
        next[i] = step->number;
      height++;
    } else if (step->op == TACIT_OP_COLUMN) {
      memcpy(next, columns[step->column] + first, n * sizeof *next);
      height++;
    } else if (step->op < TACIT_OP_ADD) {
      eval_function(step->op, n, next - TACIT_CHUNK);
    } else {
      eval_binary(step->op, n, next - 2 * TACIT_CHUNK, next - TACIT_CHUNK);
      height--;
    }
  }
}
