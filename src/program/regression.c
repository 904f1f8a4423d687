#include "program/regression.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "model/model_text.h"

/* The terms of a formula: products of factors, groups in parentheses with a bar, an offset, what is said of the response. */

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

size_t tacit_regression_word(const char *text) {
  size_t n = 0;
  while (isalpha((unsigned char)text[n]) || (n > 0 && (isdigit((unsigned char)text[n]) || text[n] == '_'))) {
    n++;
  }
  return n;
}

const char *tacit_regression_name(tacit_regression_t *r) {
  tacit_regression_skip(r);
  const char *text = r->text + r->position;
  size_t n = tacit_regression_word(text);
  r->position += n;
  return n > 0 ? tacit_arena_text(r->arena, text, n) : NULL;
}

const tacit_column_schema_t *tacit_regression_column(tacit_regression_t *r, size_t offset, const char *name) {
  tacit_nearest_t nearest = {.name = name};
  for (size_t i = 0; i < tacit_schema_n_columns(r->schema) && i < sizeof r->is_used; i++) {
    const tacit_column_schema_t *column = tacit_schema_column(r->schema, i);
    if (strcmp(column->name, name) == 0) {
      if (column->type == TACIT_COLUMN_ID) {
        tacit_regression_fail(r, offset, "'%s' says whose record it is: it is no variable of a model", name);
        return NULL;
      }
      r->is_used[i] = true;
      return column;
    }
    tacit_nearest_offer(&nearest, column->name);
  }
  char hint[TACIT_HINT_SIZE];
  tacit_regression_fail(r, offset, "no column '%s'%s", name, tacit_nearest_hint(&nearest, hint));
  return NULL;
}

/* ---- sets of products ---- */

typedef struct {
  tacit_product_t items[TACIT_REGRESSION_MAX_TERMS];
  size_t n;
  bool has_one; /* the intercept is among them */
} set_t;

static bool equal(const tacit_product_t *a, const tacit_product_t *b) {
  return a->order == b->order && memcmp(a->factors, b->factors, a->order * sizeof a->factors[0]) == 0;
}

static void insert(tacit_regression_t *r, set_t *set, const tacit_product_t *item) {
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

static void leave_out(set_t *set, const tacit_product_t *item) {
  size_t n = 0;
  for (size_t i = 0; i < set->n; i++) {
    if (!equal(&set->items[i], item)) {
      set->items[n++] = set->items[i];
    }
  }
  set->n = n;
}

/* Factors of both, each once. */
static tacit_product_t times(tacit_regression_t *r, const tacit_product_t *a, const tacit_product_t *b) {
  tacit_product_t product = *a;
  for (size_t i = 0; i < b->order; i++) {
    size_t k = 0;
    while (k < product.order && product.factors[k] < b->factors[i]) {
      k++;
    }
    if (k < product.order && product.factors[k] == b->factors[i]) {
      continue;
    }
    if (product.order == TACIT_REGRESSION_MAX_ORDER) {
      tacit_regression_fail(r, r->position, "an interaction of more than %d variables", TACIT_REGRESSION_MAX_ORDER);
      return product;
    }
    memmove(product.factors + k + 1, product.factors + k, (product.order - k) * sizeof product.factors[0]);
    product.factors[k] = b->factors[i];
    product.order++;
  }
  return product;
}

static void multiply(tacit_regression_t *r, set_t *into, const set_t *a, const set_t *b) {
  for (size_t i = 0; i < a->n; i++) {
    for (size_t k = 0; k < b->n; k++) {
      tacit_product_t product = times(r, &a->items[i], &b->items[k]);
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
    tacit_regression_fail(r, offset, "'%s' is the protected unit: a parameter for each of them would be learnt from that unit alone", unit);
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
  size_t n = tacit_schema_n_columns(r->schema), position = r->position;
  const char *text = r->text;
  for (size_t i = 0; i < n && i < sizeof r->is_used && r->status == TACIT_OK; i++) {
    const tacit_column_schema_t *column = tacit_schema_column(r->schema, i);
    bool is_said = column == r->response || column == r->cens || column == r->trials || column == r->weights;
    if (column->type == TACIT_COLUMN_ID || is_said) {
      continue;
    }
    r->text = column->name;
    r->position = 0;
    tacit_product_t product = {.order = 1};
    size_t factor = tacit_regression_factor(r, 0);
    product.factors[0] = (uint16_t)factor;
    if (r->status == TACIT_OK && r->text[r->position] != '\0') {
      tacit_regression_fail(r, 0, "the column's name cannot stand in a program: name the columns in place of '.'");
    }
    insert(r, set, &product);
  }
  r->text = text;
  r->position = position;
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
  } else if (r->text[begin] == '.') {
    r->position++;
    parse_dot(r, set);
  } else if (r->text[begin] == '1' || r->text[begin] == '0') {
    r->position++;
    set->has_one = r->text[begin] == '1';
  } else if (strncmp(r->text + begin, "offset(", 7) == 0) {
    r->position += 6;
    size_t end = begin + 7, level = 1;
    while (r->text[end] != '\0' && (level -= r->text[end] == ')', level += r->text[end] == '(', level > 0)) {
      end++;
    }
    const char *inner = tacit_arena_printf(r->arena, "I%.*s", (int)(end - begin - 6 + 1), r->text + begin + 6), *text = r->text;
    if (inner != NULL && r->offset == NULL) {
      r->text = inner;
      r->position = 0;
      size_t factor = tacit_regression_factor(r, 0);
      r->text = text;
      r->offset = factor != SIZE_MAX ? r->factors[factor].features[0].code : NULL;
      r->n_factors -= factor != SIZE_MAX && factor + 1 == r->n_factors;
    } else if (inner != NULL) {
      tacit_regression_fail(r, begin, "a second offset: add them in one");
    }
    r->position = end + 1;
  } else {
    tacit_product_t product = {.order = 1};
    product.factors[0] = (uint16_t)tacit_regression_factor(r, begin);
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
    bool is_number = r->text[r->position] == '0' || r->text[r->position] == '1', is_zero = r->text[r->position] == '0';
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

/* y | cens(c) + trials(n) + weights(w) */
static void parse_response(tacit_regression_t *r) {
  r->response = named_column(r, "a response");
  if (r->status != TACIT_OK || !tacit_regression_take(r, '|')) {
    return;
  }
  do {
    tacit_regression_skip(r);
    size_t offset = r->position;
    const char *name = tacit_regression_name(r);
    const tacit_column_schema_t **place = name == NULL                      ? NULL
                                          : strcmp(name, "cens") == 0     ? &r->cens
                                          : strcmp(name, "trials") == 0   ? &r->trials
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
