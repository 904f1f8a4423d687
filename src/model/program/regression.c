#include "program/regression.h"
#include "base/error.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "formula/formula_parser.h"
#include "formula/model_text.h"
#include "program/identifier.h"

/* The terms of a formula: products of factors, groups in parentheses with a bar, an offset, what is said of
 * the response. */

void tacit_regression_fail(tacit_regression_t *r, size_t offset, const char *format, ...) {
  if (r->status == TACIT_OK) {
    char reason[384];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    r->status = tacit_caret_error(r->err, TACIT_ERR_SYNTAX, "formula", r->text, offset, "%s", reason);
  }
}

const char *tacit_exact(tacit_regression_t *r, double x) {
  char text[TACIT_NUMBER_SIZE];
  const char *copy = tacit_arena_printf(r->arena, x < 0 ? "(%s)" : "%s", tacit_number_exact(x, text));
  return copy != NULL ? copy : "0";
}

const char *tacit_exact_real(tacit_regression_t *r, double x) {
  char text[TACIT_NUMBER_SIZE];
  bool is_whole = strpbrk(tacit_number_exact(x, text), ".e") == NULL;
  const char *copy = tacit_arena_printf(r->arena, x < 0 ? "(%s%s)" : "%s%s", text, is_whole ? ".0" : "");
  return copy != NULL ? copy : "0.0";
}

void tacit_regression_skip(tacit_regression_t *r) {
  while (isspace((unsigned char)r->text[r->position])) {
    r->position++;
  }
}

bool tacit_regression_take(tacit_regression_t *r, char c) {
  tacit_regression_skip(r);
  bool is_there = r->text[r->position] == c;
  r->position += is_there;
  return is_there;
}

const char *tacit_regression_name(tacit_regression_t *r) {
  tacit_parser_t parser = {
      .formula = &r->formula, .position = r->position, .takes_any_symbol = true, .err = r->err};
  if (r->status != TACIT_OK) {
    return NULL;
  }
  tacit_regression_skip(r);
  tacit_status_t status =
      r->text[r->position] >= '0' && r->text[r->position] <= '9' ? TACIT_OK : tacit_parser_next(&parser);
  if (status != TACIT_OK) {
    r->status = status;
  }
  if (status != TACIT_OK || parser.token.kind != TACIT_TOKEN_NAME) {
    return NULL;
  }
  r->position = parser.position;
  return tacit_arena_text(r->arena, parser.token.name, parser.token.name_length);
}

/* Names that a written program has of its own, or may have. */
static bool is_own_name(const void *user, const char *name) {
  static const char *const names[] = {"eta", "Intercept_s", "cut", "shape", "sigma", "phi", "zero", "nu"};
  (void)user;
  bool is_own = strncmp(name, "b_", 2) == 0 || strncmp(name, "sd_", 3) == 0 || strncmp(name, "r_", 2) == 0 ||
                name[strlen(name) - 1] == '_';
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    is_own = is_own || strcmp(names[i], name) == 0;
  }
  return is_own;
}

const char *tacit_regression_called(const tacit_regression_t *r, const tacit_column_schema_t *column) {
  for (size_t i = 0; i < tacit_schema_n_columns(r->schema) && i < sizeof r->names / sizeof r->names[0]; i++) {
    if (tacit_schema_column(r->schema, i) == column) {
      return r->names[i];
    }
  }
  return NULL;
}

const tacit_column_schema_t *tacit_regression_column(tacit_regression_t *r, size_t offset, const char *name) {
  tacit_nearest_t nearest = {.name = name};
  for (size_t i = 0; i < tacit_schema_n_columns(r->schema) && i < sizeof r->names / sizeof r->names[0]; i++) {
    const tacit_column_schema_t *column = tacit_schema_column(r->schema, i);
    if (strcmp(column->name, name) != 0) {
      tacit_nearest_offer(&nearest, column->name);
      continue;
    }
    if (column->type == TACIT_COLUMN_ID) {
      tacit_regression_fail(r, offset, "'%s' says whose record it is: it is no variable of a model", name);
      return NULL;
    }
    if (r->names[i] == NULL) {
      r->names[i] = tacit_identifier_of(r->arena, r->schema, column, is_own_name, NULL);
    }
    if (r->names[i] == NULL && !r->arena->failed) {
      tacit_regression_fail(
          r, offset,
          "in a program '%s' would be called as another column is: rename one of them in the schema", name);
      return NULL;
    }
    return column;
  }
  char hint[TACIT_HINT_SIZE];
  tacit_regression_fail(r, offset, "no column '%s'%s", name, tacit_nearest_hint(&nearest, hint));
  return NULL;
}

/* ---- sets of products ---- */

typedef struct {
  tacit_formula_term_t items[TACIT_REGRESSION_MAX_TERMS];
  size_t n;
  bool has_one; /* the intercept is among them */
} set_t;

static bool equal(const tacit_formula_term_t *a, const tacit_formula_term_t *b) {
  return a->order == b->order && memcmp(a->variables, b->variables, a->order * sizeof a->variables[0]) == 0;
}

static void insert(tacit_regression_t *r, set_t *set, const tacit_formula_term_t *item) {
  for (size_t i = 0; i < set->n; i++) {
    if (equal(&set->items[i], item)) {
      return;
    }
  }
  if (set->n == TACIT_REGRESSION_MAX_TERMS) {
    tacit_regression_fail(r, r->position, "more than %d terms", TACIT_REGRESSION_MAX_TERMS);
    return;
  }
  set->items[set->n++] = *item;
}

static void leave_out(set_t *set, const tacit_formula_term_t *item) {
  size_t n = 0;
  for (size_t i = 0; i < set->n; i++) {
    if (!equal(&set->items[i], item)) {
      set->items[n++] = set->items[i];
    }
  }
  set->n = n;
}

/* Factors of both, each once. */
static tacit_formula_term_t times(tacit_regression_t *r, const tacit_formula_term_t *a,
                                  const tacit_formula_term_t *b) {
  tacit_formula_term_t product = *a;
  for (size_t i = 0; i < b->order; i++) {
    size_t k = 0;
    while (k < product.order && product.variables[k] < b->variables[i]) {
      k++;
    }
    if (k < product.order && product.variables[k] == b->variables[i]) {
      continue;
    }
    if (product.order == TACIT_REGRESSION_MAX_ORDER) {
      tacit_regression_fail(r, r->position, "an interaction of more than %d variables",
                            TACIT_REGRESSION_MAX_ORDER);
      return product;
    }
    memmove(product.variables + k + 1, product.variables + k,
            (product.order - k) * sizeof product.variables[0]);
    product.variables[k] = b->variables[i];
    product.order++;
  }
  return product;
}

static void multiply(tacit_regression_t *r, set_t *into, const set_t *a, const set_t *b) {
  for (size_t i = 0; i < a->n; i++) {
    for (size_t k = 0; k < b->n; k++) {
      tacit_formula_term_t product = times(r, &a->items[i], &b->items[k]);
      insert(r, into, &product);
    }
  }
}

static void insert_all(tacit_regression_t *r, set_t *into, const set_t *from) {
  for (size_t i = 0; i < from->n; i++) {
    insert(r, into, &from->items[i]);
  }
  into->has_one |= from->has_one;
}

/* ---- grammar; sets are large, and live in the arena ---- */

static void parse_sum(tacit_regression_t *r, set_t *set, bool is_top);

static set_t *new_set(tacit_regression_t *r) {
  set_t *set = tacit_arena_alloc(r->arena, 1, sizeof *set);
  if (set == NULL && r->status == TACIT_OK) {
    r->status = tacit_error_memory(r->err);
  }
  return set;
}

static const tacit_column_schema_t *named_column(tacit_regression_t *r, const char *expected) {
  tacit_regression_skip(r);
  size_t offset = r->position;
  const char *name = tacit_regression_name(r);
  if (name == NULL) {
    tacit_regression_fail(r, offset, "expected %s", expected);
    return NULL;
  }
  return tacit_regression_column(r, offset, name);
}

/* After "(terms |" */
static void parse_group(tacit_regression_t *r, const set_t *set, size_t begin) {
  tacit_regression_skip(r);
  size_t offset = r->position;
  const char *unit = tacit_schema_unit(r->schema), *name = tacit_regression_name(r);
  if (name != NULL && unit != NULL && strcmp(name, unit) == 0) {
    tacit_regression_fail(
        r, offset,
        "'%s' is the protected unit: a parameter for each of them would be learnt from that unit alone",
        unit);
    return;
  }
  const tacit_column_schema_t *column = name != NULL ? tacit_regression_column(r, offset, name) : NULL;
  if (r->status == TACIT_OK && (column == NULL || column->type != TACIT_COLUMN_CATEGORICAL)) {
    tacit_regression_fail(r, offset, "expected a column with levels in the schema");
  }
  if (r->status == TACIT_OK && (r->n_groups == 8 || set->n > 8)) {
    tacit_regression_fail(r, begin, "more than 8 groups, or terms of one");
  }
  if (r->status != TACIT_OK) {
    return;
  }
  tacit_group_t *group = &r->groups[r->n_groups++];
  *group = (tacit_group_t){.column = column, .has_intercept = set->has_one, .n_products = set->n};
  memcpy(group->products, set->items, set->n * sizeof set->items[0]);
}

/* All columns but the response and what is used already. */
static void parse_dot(tacit_regression_t *r, set_t *set) {
  size_t n = tacit_schema_n_columns(r->schema);
  for (size_t i = 0; i < n && i < sizeof r->names / sizeof r->names[0] && r->status == TACIT_OK; i++) {
    const tacit_column_schema_t *column = tacit_schema_column(r->schema, i);
    bool is_said = column == r->response || column == r->cens || column == r->trials || column == r->weights;
    if (column->type != TACIT_COLUMN_ID && !is_said) {
      tacit_formula_term_t product = {.order = 1};
      product.variables[0] = (uint16_t)tacit_regression_factor_of(r, column);
      insert(r, set, &product);
    }
  }
}

/* After "offset(" */
static void parse_offset(tacit_regression_t *r, size_t begin) {
  if (r->offset != NULL) {
    tacit_regression_fail(r, begin, "a second offset: add them in one");
    return;
  }
  r->offset = tacit_regression_arithmetic(r);
  if (r->status == TACIT_OK && !tacit_regression_take(r, ')')) {
    tacit_regression_fail(r, r->position, "expected )");
  }
}

/* Does a call of `name` begin here? Then past its parenthesis. */
static bool take_call(tacit_regression_t *r, const char *name) {
  size_t begin = r->position, n = strlen(name);
  n += strncmp(r->text + begin, "stats::", 7) == 0 ? 7 : 0;
  if (strncmp(r->text + begin + n - strlen(name), name, strlen(name)) == 0) {
    r->position += n;
    if (tacit_regression_take(r, '(')) {
      return true;
    }
  }
  r->position = begin;
  return false;
}

static void parse_atom(tacit_regression_t *r, set_t *set) {
  tacit_regression_skip(r);
  size_t begin = r->position;
  if (++r->depth > 60) {
    tacit_regression_fail(r, begin, "nested more than 60 deep");
    return;
  }
  if (tacit_regression_take(r, '(')) {
    parse_sum(r, set, false);
    if (r->status == TACIT_OK && tacit_regression_take(r, '|')) {
      parse_group(r, set, begin);
      set->n = 0;
      set->has_one = false;
    }
    if (r->status == TACIT_OK && !tacit_regression_take(r, ')')) {
      tacit_regression_fail(r, r->position, "expected )");
    }
  } else if (r->text[begin] == '.' && !tacit_formula_name_is_plain(r->text + begin, 2)) {
    r->position++;
    parse_dot(r, set);
  } else if ((r->text[begin] == '1' || r->text[begin] == '0') &&
             !isalnum((unsigned char)r->text[begin + 1])) {
    r->position++;
    set->has_one = r->text[begin] == '1';
  } else if (take_call(r, "offset")) {
    parse_offset(r, begin);
  } else {
    tacit_formula_term_t product = {.order = 1};
    product.variables[0] = (uint16_t)tacit_regression_factor(r, begin);
    if (r->status == TACIT_OK) {
      insert(r, set, &product);
    }
  }
  r->depth--;
}

/* a ^ 2, a : b, a * b from the tightest on */
static void parse_power(tacit_regression_t *r, set_t *set) {
  parse_atom(r, set);
  if (r->status != TACIT_OK || !tacit_regression_take(r, '^')) {
    return;
  }
  tacit_regression_skip(r);
  char digit = r->text[r->position];
  set_t *base = new_set(r);
  if (digit < '1' || digit > '6' || base == NULL) {
    tacit_regression_fail(r, r->position, "expected a power from 1 to 6");
    return;
  }
  r->position++;
  *base = *set;
  for (char k = '1'; k < digit && r->status == TACIT_OK; k++) {
    set_t *now = new_set(r);
    if (now != NULL) {
      *now = *set;
      multiply(r, set, now, base);
    }
  }
}

static void parse_chain(tacit_regression_t *r, set_t *set, char op) {
  void (*part)(tacit_regression_t *, set_t *) = parse_power;
  if (op == ':') {
    part(r, set);
  } else {
    parse_chain(r, set, ':');
  }
  while (r->status == TACIT_OK && tacit_regression_take(r, op)) {
    set_t *left = new_set(r), *right = new_set(r);
    if (left == NULL || right == NULL) {
      return;
    }
    *left = *set;
    if (op == ':') {
      part(r, right);
      set->n = 0;
    } else {
      parse_chain(r, right, ':');
      insert_all(r, set, right);
    }
    multiply(r, set, left, right);
  }
}

static void parse_sum(tacit_regression_t *r, set_t *set, bool is_top) {
  bool is_minus = tacit_regression_take(r, '-');
  set->has_one = true;
  for (;;) {
    set_t *term = new_set(r);
    if (term == NULL) {
      return;
    }
    tacit_regression_skip(r);
    bool is_number = r->text[r->position] == '0' || r->text[r->position] == '1',
         is_zero = r->text[r->position] == '0';
    parse_chain(r, term, '*');
    if (r->status != TACIT_OK) {
      return;
    }
    if (is_number) {
      set->has_one = is_minus ? is_zero : !is_zero;
    } else if (is_minus) {
      for (size_t i = 0; i < term->n; i++) {
        leave_out(set, &term->items[i]);
      }
    } else {
      bool has_one = set->has_one;
      insert_all(r, set, term);
      set->has_one = has_one;
    }
    is_minus = false;
    if (tacit_regression_take(r, '-')) {
      is_minus = true;
    } else if (!tacit_regression_take(r, '+')) {
      break;
    }
  }
  if (is_top && r->status == TACIT_OK && r->text[r->position] != '\0') {
    tacit_regression_fail(r, r->position, "expected +, - or the end");
  }
}

/* After "Surv(": time, status) of right-censored times, as R's survival has it: status is 1, or TRUE, or 2 of
 * 1 and 2, where the event was seen. */
static void parse_survival(tacit_regression_t *r) {
  r->response = named_column(r, "a column with times");
  if (r->status == TACIT_OK && !tacit_regression_take(r, ',')) {
    tacit_regression_fail(
        r, r->position,
        "expected Surv(time, status): status is 1 where the event was seen, 0 where the time is censored");
  }
  r->cens = r->status == TACIT_OK ? named_column(r, "a column that says whether the event was seen") : NULL;
  r->is_event = true;
  tacit_regression_skip(r);
  if (r->status == TACIT_OK && r->text[r->position] == ',') {
    tacit_regression_fail(
        r, r->position,
        "times are censored to the right here, Surv(time, status): no other type, nor an interval");
  } else if (r->status == TACIT_OK && !tacit_regression_take(r, ')')) {
    tacit_regression_fail(r, r->position, "expected )");
  }
}

/* y | cens(c) + trials(n) + weights(w) */
static void parse_response(tacit_regression_t *r) {
  if (take_call(r, "Surv") || take_call(r, "survival::Surv")) {
    parse_survival(r);
    return;
  }
  r->response = named_column(r, "a response");
  if (r->status != TACIT_OK || !tacit_regression_take(r, '|')) {
    return;
  }
  do {
    tacit_regression_skip(r);
    size_t offset = r->position;
    const char *name = tacit_regression_name(r);
    const tacit_column_schema_t **place = name == NULL                   ? NULL
                                          : strcmp(name, "cens") == 0    ? &r->cens
                                          : strcmp(name, "trials") == 0  ? &r->trials
                                          : strcmp(name, "weights") == 0 ? &r->weights
                                                                         : NULL;
    if (place == NULL || !tacit_regression_take(r, '(')) {
      tacit_regression_fail(r, offset, "after | stand cens(column), trials(column), weights(column)");
      return;
    }
    *place = named_column(r, "a column");
    if (r->status == TACIT_OK && !tacit_regression_take(r, ')')) {
      tacit_regression_fail(r, r->position, "expected )");
    }
  } while (r->status == TACIT_OK && tacit_regression_take(r, '+'));
}

void tacit_regression_parse(tacit_regression_t *r) {
  parse_response(r);
  if (r->status == TACIT_OK && !tacit_regression_take(r, '~')) {
    tacit_regression_fail(r, r->position, "expected ~ after the response");
  }
  set_t *set = r->status == TACIT_OK ? new_set(r) : NULL;
  if (set == NULL) {
    return;
  }
  parse_sum(r, set, true);
  r->has_intercept = set->has_one;
  for (size_t order = 1; order <= TACIT_REGRESSION_MAX_ORDER; order++) { /* as R orders them */
    for (size_t i = 0; i < set->n; i++) {
      if (set->items[i].order == order) {
        r->products[r->n_products++] = set->items[i];
      }
    }
  }
}
