#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formula/expression.h"
#include "formula/formula_parser.h"
#include "program/regression.h"

/* What stands for itself in a formula, as expressions of the language. */

/* An expression of columns with its range; code NULL after an error. */
typedef struct {
  const char *code, *label;
  double lower, upper;
} arithmetic_t;

/* ---- arithmetic: parsed and bounded as that of all formulas, then written ---- */

/* How tightly an operation binds, and so where parentheses go. */
enum { COMPARISON, SUM, PRODUCT, POWER, ATOM };

typedef struct {
  const char *code;
  int binds;
} piece_t;

static const char *enclosed(tacit_regression_t *r, piece_t piece, int least) {
  const char *code = piece.code != NULL ? piece.code : "";
  return piece.binds >= least ? code : tacit_arena_printf(r->arena, "(%s)", code);
}

static piece_t write_binary(tacit_regression_t *r, tacit_formula_op_t op, piece_t a, piece_t b) {
  static const char *const comparisons[] = {"<",  "<=", ">",
                                            ">=", "==", "!="}; /* in the order of the operations */
  if (op >= TACIT_OP_LESS) {
    return (piece_t){tacit_arena_printf(r->arena, "%s %s %s", enclosed(r, a, SUM),
                                        comparisons[op - TACIT_OP_LESS], enclosed(r, b, SUM)),
                     COMPARISON};
  }
  bool is_sum = op == TACIT_OP_ADD || op == TACIT_OP_SUBTRACT, is_power = op == TACIT_OP_POWER;
  char sign = op == TACIT_OP_ADD        ? '+'
              : op == TACIT_OP_SUBTRACT ? '-'
              : op == TACIT_OP_MULTIPLY ? '*'
              : op == TACIT_OP_DIVIDE   ? '/'
                                        : '^';
  int binds = is_sum ? SUM : is_power ? POWER : PRODUCT;
  const char *left = enclosed(r, a, is_power ? ATOM : binds),
             *right = enclosed(r, b, is_power ? ATOM : binds + 1);
  bool is_whole = op == TACIT_OP_DIVIDE &&
                  strncmp(left, "1.0 * ", 6) != 0; /* perhaps: columns of integers divide as R does it */
  return (piece_t){tacit_arena_printf(r->arena, "%s%s %c %s", is_whole ? "1.0 * " : "", left, sign, right),
                   binds};
}

static piece_t write_unary(tacit_regression_t *r, tacit_formula_op_t op, piece_t a) {
  if (op == TACIT_OP_NEGATE) {
    return (piece_t){tacit_arena_printf(r->arena, "-%s", enclosed(r, a, POWER)), SUM};
  }
  const char *name = op == TACIT_OP_LOG ? "log" : op == TACIT_OP_EXP ? "exp" : "sqrt";
  return (piece_t){tacit_arena_printf(r->arena, "%s(%s)", name, a.code), ATOM};
}

static const char *write_steps(tacit_regression_t *r, const tacit_formula_variable_t *variable,
                               const char *const *codes) {
  piece_t *stack = tacit_arena_alloc(r->arena, variable->depth + 1, sizeof *stack);
  size_t n = 0;
  for (size_t i = 0; i < variable->n_steps && stack != NULL; i++) {
    const tacit_formula_step_t *step = &variable->steps[i];
    if (step->op == TACIT_OP_NUMBER || step->op == TACIT_OP_COLUMN) {
      stack[n++] =
          (piece_t){step->op == TACIT_OP_NUMBER ? tacit_exact(r, step->number) : codes[step->column], ATOM};
    } else if (step->op < TACIT_OP_ADD) {
      stack[n - 1] = write_unary(r, step->op, stack[n - 1]);
    } else {
      n--;
      stack[n - 1] = write_binary(r, step->op, stack[n - 1], stack[n]);
    }
  }
  return stack != NULL ? enclosed(r, stack[0], ATOM) : NULL;
}

/* codes, ranges (n_columns of the parser's formula) <- of the columns that the variable looks at. */
static void find_columns(tacit_regression_t *r, const tacit_formula_variable_t *variable, const char **codes,
                         tacit_interval_t *ranges) {
  for (size_t i = 0; i < variable->n_steps && r->status == TACIT_OK; i++) {
    const tacit_formula_step_t *step = &variable->steps[i];
    if (step->op != TACIT_OP_COLUMN) {
      continue;
    }
    const tacit_column_schema_t *column =
        tacit_regression_column(r, step->offset, r->formula.columns[step->column]);
    if (column != NULL && column->type == TACIT_COLUMN_CATEGORICAL) {
      tacit_regression_fail(r, step->offset, "'%s' has levels: there is no arithmetic with them",
                            column->name);
    } else if (column != NULL) {
      bool is_binary = column->type == TACIT_COLUMN_BINARY;
      codes[step->column] = tacit_regression_called(r, column);
      ranges[step->column] =
          is_binary ? (tacit_interval_t){0, 1} : (tacit_interval_t){column->lower, column->upper};
    }
  }
}

static arithmetic_t write(tacit_regression_t *r, const tacit_formula_variable_t *variable) {
  const char **codes = tacit_arena_alloc(r->arena, r->formula.n_columns + 1, sizeof *codes);
  tacit_interval_t *ranges = tacit_arena_alloc(r->arena, r->formula.n_columns + 1, sizeof *ranges),
                   range = {0};
  arithmetic_t x = {0};
  if (codes == NULL || ranges == NULL) {
    return x;
  }
  find_columns(r, variable, codes, ranges);
  if (r->status == TACIT_OK) {
    r->status = tacit_expression_range(&r->formula, variable, ranges, &range, r->err);
  }
  if (r->status == TACIT_OK) {
    x = (arithmetic_t){.label = tacit_arena_text(r->arena, variable->label, strlen(variable->label)),
                       .lower = range.lower,
                       .upper = range.upper};
    x.code = write_steps(r, variable, codes);
  }
  return x;
}

static tacit_parser_t parser_at(tacit_regression_t *r, size_t position) {
  return (tacit_parser_t){
      .formula = &r->formula, .position = position, .takes_any_symbol = true, .err = r->err};
}

static arithmetic_t arithmetic(tacit_regression_t *r) {
  tacit_parser_t parser = parser_at(r, r->position);
  tacit_formula_variable_t variable = {0};
  arithmetic_t x = {0};
  r->status = r->status == TACIT_OK ? tacit_parser_next(&parser) : r->status;
  r->status = r->status == TACIT_OK ? tacit_parser_arithmetic(&parser, &variable) : r->status;
  if (r->status == TACIT_OK) {
    r->position = parser.token.offset;
    x = write(r, &variable);
  }
  tacit_free(variable.label);
  tacit_free(variable.steps);
  return x;
}

const char *tacit_regression_arithmetic(tacit_regression_t *r) { return arithmetic(r).code; }

/* ---- factors ---- */

static void add(tacit_regression_t *r, tacit_factor_t *factor, const tacit_feature_t *feature) {
  if (factor->n_features % 16 == 0) {
    tacit_feature_t *more = tacit_arena_alloc(r->arena, factor->n_features + 16, sizeof *more);
    if (more == NULL) {
      return;
    }
    if (factor->n_features > 0) {
      memcpy(more, factor->features, factor->n_features * sizeof *more);
    }
    factor->features = more;
  }
  factor->features[factor->n_features++] = *feature;
}

/* An indicator of each value but the reference. */
static void contrasts(tacit_regression_t *r, tacit_factor_t *factor, const tacit_column_schema_t *column,
                      size_t reference) {
  bool is_number = column->type != TACIT_COLUMN_CATEGORICAL, is_binary = column->type == TACIT_COLUMN_BINARY;
  double first = is_binary ? 0 : column->lower, last = is_binary ? 1 : column->upper;
  size_t n = is_number ? (size_t)(last - first) + 1 : column->n_levels;
  tacit_factor_t all = {0};
  if (n < 2 || n > 1000) {
    tacit_regression_fail(r, factor->offset,
                          n < 2 ? "'%s' has a single level and so is constant; drop it"
                                : "the public bounds of '%s' allow more than 1000 levels; tighten them",
                          column->name);
  }
  for (size_t k = 0; k < n && r->status == TACIT_OK; k++) {
    char number[32];
    double value = is_number ? first + (double)k : (double)k + 1;
    snprintf(number, sizeof number, "%.0f", value);
    const char *level = is_number ? number : column->levels[k];
    const tacit_feature_t feature = {
        .code = tacit_arena_printf(r->arena, "(%s == %s)", tacit_regression_called(r, column), number),
        .label = tacit_arena_printf(r->arena, "%s%s", factor->label, level),
        .apart = tacit_arena_printf(r->arena, "%s[%s]", factor->label, level),
        .upper = 1};
    add(r, &all, &feature);
    if (k != reference) {
      add(r, factor, &feature);
    }
  }
  factor->all = all.features;
  factor->n_all = all.n_features;
}

static void add_number(tacit_regression_t *r, tacit_factor_t *factor, const char *code, const char *label,
                       double lower, double upper) {
  add(r, factor, &(tacit_feature_t){.code = code, .label = label, .lower = lower, .upper = upper});
}

/* x mapped to [-1, 1] by its public range. */
static const char *scaled(tacit_regression_t *r, const arithmetic_t *x) {
  double half = x->upper > x->lower ? (x->upper - x->lower) / 2 : 1;
  return tacit_arena_printf(r->arena, "((%s - %s) / %s)", x->code, tacit_exact(r, (x->lower + x->upper) / 2),
                            tacit_exact_real(r, half));
}

/* Legendre's polynomials: orthogonal over the public range. */
static void polynomial(tacit_regression_t *r, tacit_factor_t *factor, const arithmetic_t *x, size_t degree,
                       bool is_raw) {
  const char *u = scaled(r, x), *before = "1", *now = u;
  for (size_t k = 1; k <= degree; k++) {
    const char *label = tacit_arena_printf(r->arena, "%s%zu", factor->label, k);
    if (is_raw) {
      double low = pow(x->lower, (double)k), high = pow(x->upper, (double)k);
      add_number(r, factor, k == 1 ? x->code : tacit_arena_printf(r->arena, "(%s) ^ %zu", x->code, k), label,
                 k % 2 == 0 && x->lower < 0 && x->upper > 0 ? 0 : fmin(low, high), fmax(low, high));
      continue;
    }
    add_number(r, factor, now, label, -1, 1);
    const char *next = tacit_arena_printf(r->arena, "((%zu.0 * %s * %s - %zu.0 * %s) / %zu.0)", 2 * k + 1, u,
                                          now, k, before, k + 1);
    before = now;
    now = next != NULL ? next : "0";
  }
}

/* Cubic splines with knots spread evenly over the public range: natural ones are straight beyond the outer
 * knots. */
static void spline(tacit_regression_t *r, tacit_factor_t *factor, const arithmetic_t *x, size_t df,
                   bool is_natural) {
  const char *u = tacit_arena_printf(r->arena, "((%s - %s) / %s)", x->code, tacit_exact(r, x->lower),
                                     tacit_exact_real(r, x->upper > x->lower ? x->upper - x->lower : 1));
  for (size_t k = 1; k <= df; k++) {
    const char *label = tacit_arena_printf(r->arena, "%s%zu", factor->label, k), *code;
    if (k == 1) {
      code = u;
    } else if (is_natural) { /* [Hastie2009, section 5.2.1], knots at 0, 1/df, .., 1 */
      double knot = (double)(k - 2) / (double)df, last = (double)(df - 1) / (double)df;
      code = tacit_arena_printf(r->arena, "(fmax(%s - %s, 0) ^ 3 / %s - fmax(%s - %s, 0) ^ 3 / %s)", u,
                                tacit_exact(r, knot), tacit_exact(r, 1 - knot), u, tacit_exact(r, last),
                                tacit_exact(r, 1 - last));
    } else if (k <= 3) {
      code = tacit_arena_printf(r->arena, "%s ^ %zu", u, k);
    } else {
      code = tacit_arena_printf(r->arena, "fmax(%s - %s, 0) ^ 3", u,
                                tacit_exact(r, (double)(k - 3) / (double)(df - 2)));
    }
    add_number(r, factor, code, label, 0, 1);
  }
}

/* "raw = TRUE", past ',' */
static bool raw_argument(tacit_regression_t *r) {
  const char *name = tacit_regression_name(r), *value;
  size_t offset = r->position;
  bool is_named = name != NULL && tacit_regression_take(r, '=');
  value = is_named ? tacit_regression_name(r) : NULL;
  bool is_true = value != NULL && (strcmp(value, "TRUE") == 0 || strcmp(value, "T") == 0);
  bool is_false = value != NULL && (strcmp(value, "FALSE") == 0 || strcmp(value, "F") == 0);
  if (r->status == TACIT_OK && !(is_named && strcmp(name, "raw") == 0 && (is_true || is_false))) {
    tacit_regression_fail(r, offset, "expected raw = TRUE");
  }
  return is_true;
}

/* ", number", or ", df = number" */
static size_t whole_argument(tacit_regression_t *r, size_t least, size_t most) {
  double x;
  size_t offset = r->position, n = 0;
  if (tacit_regression_take(r, ',')) {
    tacit_regression_skip(r);
    size_t name = strncmp(r->text + r->position, "degree", 6) == 0 ? 6
                  : strncmp(r->text + r->position, "df", 2) == 0   ? 2
                                                                   : 0;
    r->position += name;
    if (name > 0 && !tacit_regression_take(r, '=')) {
      tacit_regression_fail(r, r->position, "expected =");
    }
    tacit_regression_skip(r);
    n = tacit_number_scan(r->text + r->position, &x);
    r->position += n;
  }
  if (n == 0 || !(x >= (double)least && x <= (double)most) || x > floor(x)) {
    tacit_regression_fail(r, offset, "expected a whole number from %zu to %zu after a comma", least, most);
    return least;
  }
  return (size_t)x;
}

/* ", "b"" of relevel: the place of a level */
static size_t level_argument(tacit_regression_t *r, const tacit_column_schema_t *column) {
  size_t offset = r->position;
  if (tacit_regression_take(r, ',')) {
    tacit_regression_skip(r);
    if (strncmp(r->text + r->position, "ref", 3) == 0) {
      r->position += 3;
      tacit_regression_take(r, '=');
    }
    tacit_regression_skip(r);
    char quote = r->text[r->position];
    const char *end = quote == '"' || quote == '\'' ? strchr(r->text + r->position + 1, quote) : NULL;
    size_t n = end != NULL ? (size_t)(end - r->text) - r->position - 1 : 0;
    for (size_t k = 0; end != NULL && k < column->n_levels; k++) {
      if (strlen(column->levels[k]) == n && strncmp(column->levels[k], r->text + r->position + 1, n) == 0) {
        r->position += n + 2;
        return k;
      }
    }
  }
  tacit_regression_fail(r, offset, "expected one of the levels of '%s' in quotes", column->name);
  return 0;
}

/* Length of the letters, digits and '_' that a text begins with. */
static size_t word_length(const char *text) {
  size_t n = 0;
  while (isalpha((unsigned char)text[n]) || (n > 0 && (isdigit((unsigned char)text[n]) || text[n] == '_'))) {
    n++;
  }
  return n;
}

bool tacit_regression_is_own(const char *formula) {
  static const char *const functions[] = {
      "poly", "ns", "bs", "scale", "relevel", "offset", "Surv"}; /* the others are src/model/formula's, too */
  bool is_own = strpbrk(formula, "|.") != NULL;
  for (const char *at = formula; *at != '\0' && !is_own;) {
    size_t n = word_length(at);
    bool is_call = n > 0 && at[n + strspn(at + n, " ")] == '(';
    for (size_t i = 0; is_call && i < sizeof functions / sizeof functions[0]; i++) {
      is_own = is_own || (strlen(functions[i]) == n && strncmp(functions[i], at, n) == 0);
    }
    at += n > 0 ? n : 1;
  }
  return is_own;
}

/* A label as R writes a column: in backticks where it needs them. */
static const char *label_of(tacit_regression_t *r, const char *name) {
  return tacit_formula_name_is_plain(name, strlen(name)) ? name : tacit_arena_printf(r->arena, "`%s`", name);
}

/* After "relevel(" */
static void make_releveled(tacit_regression_t *r, tacit_factor_t *factor) {
  size_t offset = r->position;
  const char *of = tacit_regression_name(r);
  const tacit_column_schema_t *column = of != NULL ? tacit_regression_column(r, offset, of) : NULL;
  if (column == NULL || column->type != TACIT_COLUMN_CATEGORICAL) {
    tacit_regression_fail(r, offset, "expected a column with levels");
    return;
  }
  factor->label = label_of(r, column->name);
  contrasts(r, factor, column, level_argument(r, column));
}

/* After the name and its parenthesis. */
static void make(tacit_regression_t *r, tacit_factor_t *factor, const char *name) {
  bool is_poly = strcmp(name, "poly") == 0, is_ns = strcmp(name, "ns") == 0,
       is_scale = strcmp(name, "scale") == 0;
  arithmetic_t x = arithmetic(r);
  if (r->status != TACIT_OK || x.code == NULL) {
    return;
  }
  if (is_scale) {
    factor->label = tacit_arena_printf(r->arena, "scale(%s)", x.label);
    add_number(r, factor, scaled(r, &x), NULL, -1, 1);
    return;
  }
  size_t n = whole_argument(r, is_poly || is_ns ? 1 : 3, is_poly ? 10 : 20);
  bool is_raw = false;
  if (is_poly && tacit_regression_take(r, ',')) {
    is_raw = raw_argument(r);
  }
  factor->label =
      tacit_arena_printf(r->arena, is_raw ? "%s(%s, %zu, raw = TRUE)" : "%s(%s, %zu)", name, x.label, n);
  if (is_poly) {
    polynomial(r, factor, &x, n, is_raw);
  } else {
    spline(r, factor, &x, n, is_ns);
  }
}

/* A column, factor(column), I(..), log(..) and the like, as families' own kernels read them. */
static void make_variable(tacit_regression_t *r, tacit_factor_t *factor, size_t begin) {
  tacit_parser_t parser = parser_at(r, begin);
  size_t index;
  r->status = tacit_parser_next(&parser);
  r->status = r->status == TACIT_OK ? tacit_parser_variable(&parser, &index) : r->status;
  if (r->status != TACIT_OK) {
    return;
  }
  const tacit_formula_variable_t *variable = &r->formula.variables[index];
  r->position = parser.token.offset;
  factor->label = tacit_arena_text(r->arena, variable->label, strlen(variable->label));
  if (variable->kind == TACIT_VARIABLE_ARITHMETIC) {
    arithmetic_t x = write(r, variable);
    add_number(r, factor, x.code, NULL, x.lower, x.upper);
    return;
  }
  const tacit_formula_step_t *step = &variable->steps[0];
  const tacit_column_schema_t *column =
      tacit_regression_column(r, step->offset, r->formula.columns[step->column]);
  bool is_factor = variable->kind == TACIT_VARIABLE_FACTOR;
  if (column != NULL && is_factor && column->type == TACIT_COLUMN_NUMERIC) {
    tacit_regression_fail(r, begin, "expected a column with levels, or of whole numbers");
  } else if (column != NULL && (is_factor || column->type == TACIT_COLUMN_CATEGORICAL)) {
    contrasts(r, factor, column, 0);
  } else if (column != NULL) {
    bool is_binary = column->type == TACIT_COLUMN_BINARY;
    add_number(r, factor, tacit_regression_called(r, column), NULL, is_binary ? 0 : column->lower,
               is_binary ? 1 : column->upper);
  }
}

/* The place of a factor among those of the regression; each label once. */
static size_t take_factor(tacit_regression_t *r, tacit_factor_t *factor) {
  if (r->status != TACIT_OK) {
    return SIZE_MAX;
  }
  for (size_t i = 0; i < factor->n_features; i++) {
    factor->features[i].label = factor->features[i].label != NULL ? factor->features[i].label : factor->label;
  }
  for (size_t i = 0; i < r->n_factors && factor->label != NULL; i++) {
    if (strcmp(r->factors[i].label, factor->label) == 0) {
      return i;
    }
  }
  if (r->n_factors == sizeof r->factors / sizeof r->factors[0] || factor->label == NULL) {
    tacit_regression_fail(r, factor->offset, "more than 64 variables");
    return SIZE_MAX;
  }
  r->factors[r->n_factors] = *factor;
  return r->n_factors++;
}

size_t tacit_regression_factor_of(tacit_regression_t *r, const tacit_column_schema_t *column) {
  tacit_factor_t factor = {.label = label_of(r, column->name), .offset = r->position};
  bool is_binary = column->type == TACIT_COLUMN_BINARY;
  if (tacit_regression_column(r, r->position, column->name) == NULL) {
    return SIZE_MAX;
  }
  if (column->type == TACIT_COLUMN_CATEGORICAL) {
    contrasts(r, &factor, column, 0);
  } else {
    add_number(r, &factor, tacit_regression_called(r, column), NULL, is_binary ? 0 : column->lower,
               is_binary ? 1 : column->upper);
  }
  return take_factor(r, &factor);
}

size_t tacit_regression_factor(tacit_regression_t *r, size_t begin) {
  static const char *const own[] = {"poly", "ns", "bs", "scale", "relevel"};
  tacit_factor_t factor = {.offset = begin};
  r->position = begin;
  const char *name = tacit_regression_name(r);
  bool is_call = name != NULL && tacit_regression_take(r, '('), is_own = false;
  for (size_t i = 0; i < sizeof own / sizeof own[0] && is_call; i++) {
    is_own = is_own || strcmp(own[i], name) == 0;
  }
  if (name == NULL) {
    tacit_regression_fail(r, begin, "expected a column");
  } else if (!is_own) {
    make_variable(r, &factor, begin);
  } else if (strcmp(name, "relevel") == 0) {
    make_releveled(r, &factor);
  } else {
    make(r, &factor, name);
  }
  if (is_own && r->status == TACIT_OK && !tacit_regression_take(r, ')')) {
    tacit_regression_fail(r, r->position, "expected )");
  }
  return take_factor(r, &factor);
}
