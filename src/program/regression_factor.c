#include <math.h>
#include <string.h>

#include "program/regression.h"

/* What stands for itself in a formula, as expressions of the language. */

/* An expression of columns with its range; code NULL after an error. */
typedef struct {
  const char *code, *label;
  double lower, upper;
} arithmetic_t;

static arithmetic_t sum(tacit_regression_t *r);

static void hull(arithmetic_t *x, double a, double b) {
  x->lower = fmin(a, b);
  x->upper = fmax(a, b);
}

static arithmetic_t apply(tacit_regression_t *r, size_t offset, const char *name, arithmetic_t x) {
  bool is_root = strcmp(name, "sqrt") == 0, is_log = strcmp(name, "log") == 0;
  if (strcmp(name, "exp") != 0 && !is_root && !is_log) {
    tacit_regression_fail(r, offset, "no function '%s' in a formula; there are log, exp, sqrt", name);
  } else if ((is_log && !(x.lower > 0)) || (is_root && !(x.lower >= 0))) {
    tacit_regression_fail(r, offset, "%s() of values down to %g: raise the lower bound in the schema", name, x.lower);
  }
  double (*f)(double) = is_log ? log : is_root ? sqrt : exp;
  arithmetic_t result = {.code = tacit_arena_printf(r->arena, "%s(%s)", name, x.code),
                         .label = tacit_arena_printf(r->arena, "%s(%s)", name, x.label)};
  if (r->status == TACIT_OK) {
    hull(&result, f(x.lower), f(x.upper));
  }
  return result;
}

static arithmetic_t atom(tacit_regression_t *r) {
  arithmetic_t x = {0};
  tacit_regression_skip(r);
  size_t offset = r->position;
  double value;
  size_t n = tacit_number_scan(r->text + r->position, &value);
  if (n > 0) {
    r->position += n;
    return (arithmetic_t){.code = tacit_exact(r, value), .label = tacit_arena_text(r->arena, r->text + offset, n), .lower = value, .upper = value};
  }
  if (++r->depth > 60) {
    tacit_regression_fail(r, offset, "nested more than 60 deep");
    return x;
  }
  if (tacit_regression_take(r, '(')) {
    x = sum(r);
    if (r->status == TACIT_OK && !tacit_regression_take(r, ')')) {
      tacit_regression_fail(r, r->position, "expected )");
    }
    x.code = tacit_arena_printf(r->arena, "(%s)", x.code != NULL ? x.code : "");
    x.label = tacit_arena_printf(r->arena, "(%s)", x.label != NULL ? x.label : "");
  } else {
    const char *name = tacit_regression_name(r);
    if (name == NULL) {
      tacit_regression_fail(r, offset, "expected a column or a number");
    } else if (tacit_regression_take(r, '(')) {
      arithmetic_t inner = sum(r);
      if (r->status == TACIT_OK && !tacit_regression_take(r, ')')) {
        tacit_regression_fail(r, r->position, "expected )");
      }
      x = r->status == TACIT_OK ? apply(r, offset, name, inner) : x;
    } else {
      const tacit_column_schema_t *column = tacit_regression_column(r, offset, name);
      if (column != NULL && column->type == TACIT_COLUMN_CATEGORICAL) {
        tacit_regression_fail(r, offset, "'%s' has levels: there is no arithmetic with them", name);
      } else if (column != NULL) {
        x = (arithmetic_t){.code = name, .label = name, .lower = column->lower, .upper = column->upper};
      }
    }
  }
  r->depth--;
  return x;
}

/* a ^ k */
static arithmetic_t power(tacit_regression_t *r) {
  arithmetic_t x = atom(r);
  double k;
  if (r->status != TACIT_OK || !tacit_regression_take(r, '^')) {
    return x;
  }
  tacit_regression_skip(r);
  size_t offset = r->position, n = tacit_number_scan(r->text + r->position, &k);
  r->position += n;
  if (n == 0 || (x.lower < 0 && k > floor(k))) {
    tacit_regression_fail(r, offset, n == 0 ? "expected a number" : "a power of what may be negative has to be whole");
    return x;
  }
  arithmetic_t result = {.code = tacit_arena_printf(r->arena, "%s ^ %s", x.code, tacit_exact(r, k)),
                         .label = tacit_arena_printf(r->arena, "%s^%g", x.label, k)};
  hull(&result, pow(x.lower, k), pow(x.upper, k));
  if (x.lower < 0 && x.upper > 0 && fmod(k, 2) < 1e-9) {
    result.lower = 0;
  }
  return result;
}

static arithmetic_t combine(tacit_regression_t *r, char op, size_t offset, arithmetic_t a, arithmetic_t b) {
  bool is_whole = op == '/' && strncmp(a.code, "1.0 * ", 6) != 0; /* perhaps: columns of integers divide as R does it */
  arithmetic_t x = {.code = tacit_arena_printf(r->arena, is_whole ? "1.0 * %s %c %s" : "%s %c %s", a.code, op, b.code),
                    .label = tacit_arena_printf(r->arena, "%s %c %s", a.label, op, b.label)};
  if (op == '/' && b.lower <= 0 && b.upper >= 0) {
    tacit_regression_fail(r, offset, "division by what may be 0");
  }
  double corners[4] = {a.lower, a.upper, 0, 0}, low = op == '/' ? 1 / b.upper : b.lower, high = op == '/' ? 1 / b.lower : b.upper;
  if (op == '+' || op == '-') {
    x.lower = op == '+' ? a.lower + b.lower : a.lower - b.upper;
    x.upper = op == '+' ? a.upper + b.upper : a.upper - b.lower;
    return x;
  }
  for (int i = 0; i < 4; i++) {
    corners[i] = (i < 2 ? a.lower : a.upper) * (i % 2 == 0 ? low : high);
  }
  x.lower = fmin(fmin(corners[0], corners[1]), fmin(corners[2], corners[3]));
  x.upper = fmax(fmax(corners[0], corners[1]), fmax(corners[2], corners[3]));
  return x;
}

static arithmetic_t product(tacit_regression_t *r) {
  arithmetic_t x = power(r);
  for (;;) {
    size_t offset = r->position;
    char op = r->status != TACIT_OK ? '\0' : tacit_regression_take(r, '*') ? '*' : tacit_regression_take(r, '/') ? '/' : '\0';
    if (op == '\0') {
      return x;
    }
    arithmetic_t y = power(r);
    x = r->status == TACIT_OK ? combine(r, op, offset, x, y) : x;
  }
}

static arithmetic_t sum(tacit_regression_t *r) {
  arithmetic_t zero = {.code = "0", .label = ""};
  arithmetic_t x = tacit_regression_take(r, '-') ? combine(r, '-', r->position, zero, product(r)) : product(r);
  for (;;) {
    size_t offset = r->position;
    char op = r->status != TACIT_OK ? '\0' : tacit_regression_take(r, '+') ? '+' : tacit_regression_take(r, '-') ? '-' : '\0';
    if (op == '\0') {
      return x;
    }
    arithmetic_t y = product(r);
    x = r->status == TACIT_OK ? combine(r, op, offset, x, y) : x;
  }
}

/* ---- factors ---- */

static void add(tacit_regression_t *r, tacit_factor_t *factor, const char *code, const char *label, double lower, double upper) {
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
  factor->features[factor->n_features++] = (tacit_feature_t){.code = code, .label = label, .lower = lower, .upper = upper};
}

/* An indicator of each value but the reference. */
static void contrasts(tacit_regression_t *r, tacit_factor_t *factor, const tacit_column_schema_t *column, size_t reference) {
  bool is_number = column->type != TACIT_COLUMN_CATEGORICAL;
  size_t n = is_number ? (size_t)(column->upper - column->lower) + 1 : column->n_levels;
  tacit_factor_t all = {0};
  for (size_t k = 0; k < n && n <= 1000; k++) {
    double value = is_number ? column->lower + (double)k : (double)k + 1;
    const char *code = tacit_arena_printf(r->arena, "(%s == %.0f)", column->name, value);
    const char *label = is_number ? tacit_arena_printf(r->arena, "%s%.0f", factor->label, value)
                                  : tacit_arena_printf(r->arena, "%s%s", factor->label, column->levels[k]);
    add(r, &all, code, label, 0, 1);
    if (k != reference) {
      add(r, factor, code, label, 0, 1);
    }
  }
  factor->all = all.features;
  factor->n_all = all.n_features;
}

/* x mapped to [-1, 1] by its public range. */
static const char *scaled(tacit_regression_t *r, const arithmetic_t *x) {
  double half = x->upper > x->lower ? (x->upper - x->lower) / 2 : 1;
  return tacit_arena_printf(r->arena, "((%s - %s) / %s)", x->code, tacit_exact(r, (x->lower + x->upper) / 2), tacit_exact_real(r, half));
}

/* Legendre's polynomials: orthogonal over the public range. */
static void polynomial(tacit_regression_t *r, tacit_factor_t *factor, const arithmetic_t *x, size_t degree, bool is_raw) {
  const char *u = scaled(r, x), *before = "1", *now = u;
  for (size_t k = 1; k <= degree; k++) {
    const char *label = tacit_arena_printf(r->arena, "%s%zu", factor->label, k);
    if (is_raw) {
      double low = pow(x->lower, (double)k), high = pow(x->upper, (double)k);
      add(r, factor, k == 1 ? x->code : tacit_arena_printf(r->arena, "(%s) ^ %zu", x->code, k), label,
          k % 2 == 0 && x->lower < 0 && x->upper > 0 ? 0 : fmin(low, high), fmax(low, high));
      continue;
    }
    add(r, factor, now, label, -1, 1);
    const char *next = tacit_arena_printf(r->arena, "((%zu.0 * %s * %s - %zu.0 * %s) / %zu.0)", 2 * k + 1, u, now, k, before, k + 1);
    before = now;
    now = next != NULL ? next : "0";
  }
}

/* Cubic splines with knots spread evenly over the public range: natural ones are straight beyond the outer knots. */
static void spline(tacit_regression_t *r, tacit_factor_t *factor, const arithmetic_t *x, size_t df, bool is_natural) {
  const char *u = tacit_arena_printf(r->arena, "((%s - %s) / %s)", x->code, tacit_exact(r, x->lower),
                                     tacit_exact_real(r, x->upper > x->lower ? x->upper - x->lower : 1));
  for (size_t k = 1; k <= df; k++) {
    const char *label = tacit_arena_printf(r->arena, "%s%zu", factor->label, k), *code;
    if (k == 1) {
      code = u;
    } else if (is_natural) { /* [Hastie2009, section 5.2.1], knots at 0, 1/df, .., 1 */
      double knot = (double)(k - 2) / (double)df, last = (double)(df - 1) / (double)df;
      code = tacit_arena_printf(r->arena, "(fmax(%s - %s, 0) ^ 3 / %s - fmax(%s - %s, 0) ^ 3 / %s)", u, tacit_exact(r, knot),
                                tacit_exact(r, 1 - knot), u, tacit_exact(r, last), tacit_exact(r, 1 - last));
    } else if (k <= 3) {
      code = tacit_arena_printf(r->arena, "%s ^ %zu", u, k);
    } else {
      code = tacit_arena_printf(r->arena, "fmax(%s - %s, 0) ^ 3", u, tacit_exact(r, (double)(k - 3) / (double)(df - 2)));
    }
    add(r, factor, code, label, 0, 1);
  }
}

/* ", number" */
static size_t whole_argument(tacit_regression_t *r, size_t least, size_t most) {
  double x;
  size_t offset = r->position, n = 0;
  if (tacit_regression_take(r, ',')) {
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

bool tacit_regression_is_own(const char *formula) {
  static const char *const functions[] = {"poly", "ns", "bs", "scale", "relevel", "offset"}; /* the others are src/model's, too */
  bool is_own = strpbrk(formula, "|.") != NULL;
  for (const char *at = formula; *at != '\0' && !is_own;) {
    size_t n = tacit_regression_word(at);
    bool is_call = n > 0 && at[n + strspn(at + n, " ")] == '(';
    for (size_t i = 0; is_call && i < sizeof functions / sizeof functions[0]; i++) {
      is_own = is_own || (strlen(functions[i]) == n && strncmp(functions[i], at, n) == 0);
    }
    at += n > 0 ? n : 1;
  }
  return is_own;
}

static void make(tacit_regression_t *r, tacit_factor_t *factor, const char *name, size_t begin) {
  bool is_poly = strcmp(name, "poly") == 0, is_ns = strcmp(name, "ns") == 0, is_bs = strcmp(name, "bs") == 0;
  bool is_relevel = strcmp(name, "relevel") == 0, is_factor = strcmp(name, "factor") == 0;
  if (is_relevel || is_factor) {
    size_t offset = r->position;
    const char *of = tacit_regression_name(r);
    const tacit_column_schema_t *column = of != NULL ? tacit_regression_column(r, offset, of) : NULL;
    if (column == NULL || (is_relevel && column->type != TACIT_COLUMN_CATEGORICAL) || column->type == TACIT_COLUMN_NUMERIC) {
      tacit_regression_fail(r, offset, "expected a column with levels%s", is_factor ? ", or of whole numbers" : "");
      return;
    }
    size_t reference = is_relevel ? level_argument(r, column) : 0;
    factor->label = is_relevel ? column->name : factor->label;
    contrasts(r, factor, column, reference);
    return;
  }
  arithmetic_t x = sum(r);
  if (r->status != TACIT_OK) {
    return;
  }
  if (is_poly) {
    size_t degree = whole_argument(r, 1, 10);
    bool is_raw = false;
    if (tacit_regression_take(r, ',')) {
      tacit_regression_skip(r);
      is_raw = strncmp(r->text + r->position, "raw", 3) == 0;
      r->position += strcspn(r->text + r->position, ")");
    }
    polynomial(r, factor, &x, degree, is_raw);
  } else if (is_ns || is_bs) {
    spline(r, factor, &x, whole_argument(r, is_ns ? 1 : 3, 20), is_ns);
  } else if (strcmp(name, "scale") == 0) {
    add(r, factor, scaled(r, &x), NULL, -1, 1);
  } else if (strcmp(name, "I") == 0) {
    add(r, factor, tacit_arena_printf(r->arena, "(%s)", x.code), NULL, x.lower, x.upper);
  } else {
    arithmetic_t y = apply(r, begin, name, x);
    add(r, factor, y.code, NULL, y.lower, y.upper);
  }
}

size_t tacit_regression_factor(tacit_regression_t *r, size_t begin) {
  const char *name = tacit_regression_name(r);
  tacit_factor_t factor = {.offset = begin};
  if (name == NULL) {
    tacit_regression_fail(r, begin, "expected a column");
    return SIZE_MAX;
  }
  if (tacit_regression_take(r, '(')) {
    size_t end = r->position + strcspn(r->text + r->position, ")");
    factor.label = tacit_arena_text(r->arena, r->text + begin, end - begin + 1); /* nested ones are mended below */
    make(r, &factor, name, begin);
    if (r->status == TACIT_OK && !tacit_regression_take(r, ')')) {
      tacit_regression_fail(r, r->position, "expected )");
    }
    bool is_relevel = strcmp(name, "relevel") == 0;
    factor.label = is_relevel ? factor.label : tacit_arena_text(r->arena, r->text + begin, r->position - begin);
  } else {
    const tacit_column_schema_t *column = tacit_regression_column(r, begin, name);
    factor.label = name;
    if (column != NULL && column->type == TACIT_COLUMN_CATEGORICAL) {
      contrasts(r, &factor, column, 0);
    } else if (column != NULL) {
      add(r, &factor, name, NULL, column->lower, column->upper);
    }
  }
  if (r->status != TACIT_OK) {
    return SIZE_MAX;
  }
  for (size_t i = 0; i < factor.n_features; i++) {
    factor.features[i].label = factor.features[i].label != NULL ? factor.features[i].label : factor.label;
  }
  for (size_t i = 0; i < r->n_factors; i++) {
    if (strcmp(r->factors[i].label, factor.label) == 0) {
      return i;
    }
  }
  if (r->n_factors == sizeof r->factors / sizeof r->factors[0]) {
    tacit_regression_fail(r, begin, "more than 64 variables");
    return SIZE_MAX;
  }
  r->factors[r->n_factors] = factor;
  return r->n_factors++;
}
