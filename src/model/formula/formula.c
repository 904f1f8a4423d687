/*
 * Terms of a formula:
 *
 *   formula     := variable '~' sum
 *   sum         := ['+' | '-'] cross (('+' | '-') cross)*    0 and 1 stand for the intercept
 *   cross       := interaction ('*' interaction)*            a * b = a + b + a:b
 *   interaction := primary (':' primary)*                    term by term
 *   primary     := variable | '(' sum ')'
 *
 * [Wilkinson1973], as in R.
 */
#include "formula/formula.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "formula/formula_parser.h"
#include "formula/model_text.h"

typedef struct term_list {
  tacit_formula_term_t *terms;
  size_t n, capacity;
} term_list_t;

static bool same_term(const tacit_formula_term_t *a, const tacit_formula_term_t *b) {
  return a->order == b->order && memcmp(a->variables, b->variables, a->order * sizeof a->variables[0]) == 0;
}

static tacit_status_t too_many_terms(tacit_parser_t *parser, size_t offset) {
  return tacit_formula_error(parser->formula, parser->err, TACIT_ERR_SYNTAX, offset,
                             "more than %d terms; write fewer interactions", (int)TACIT_FORMULA_MAX_TERMS);
}

/* Append unless it is there already: a term counts once, as in R. */
static tacit_status_t add_term(tacit_parser_t *parser, term_list_t *list, const tacit_formula_term_t *term) {
  for (size_t i = 0; i < list->n; i++) {
    if (same_term(&list->terms[i], term)) {
      return TACIT_OK;
    }
  }
  if (list->n == TACIT_FORMULA_MAX_TERMS) {
    return too_many_terms(parser, term->offset);
  }
  void *terms = tacit_grow(list->terms, list->n, &list->capacity, sizeof *term);
  if (terms == NULL) {
    return tacit_error_memory(parser->err);
  }
  list->terms = terms;
  list->terms[list->n++] = *term;
  return TACIT_OK;
}

static tacit_status_t add_all(tacit_parser_t *parser, term_list_t *list, const term_list_t *more) {
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < more->n && status == TACIT_OK; i++) {
    status = add_term(parser, list, &more->terms[i]);
  }
  return status;
}

/* Merge two increasing lists of variables; a:a is a. */
static tacit_status_t interact(tacit_parser_t *parser, const tacit_formula_term_t *a,
                               const tacit_formula_term_t *b, tacit_formula_term_t *product) {
  *product = (tacit_formula_term_t){.offset = a->offset};
  for (size_t i = 0, j = 0; i < a->order || j < b->order;) {
    if (product->order == TACIT_FORMULA_MAX_ORDER) {
      return tacit_formula_error(parser->formula, parser->err, TACIT_ERR_SYNTAX, a->offset,
                                 "an interaction of more than %d variables", (int)TACIT_FORMULA_MAX_ORDER);
    }
    bool take_a = j == b->order || (i < a->order && a->variables[i] <= b->variables[j]);
    uint16_t variable = take_a ? a->variables[i] : b->variables[j];
    j += j < b->order && b->variables[j] == variable;
    i += take_a;
    product->variables[product->order++] = variable;
  }
  return TACIT_OK;
}

/* Products, many of which may be one term, that are formed before the formula counts as too long. */
enum { MAX_PRODUCTS = 4 * TACIT_FORMULA_MAX_TERMS };

/* Every a with every b. */
static tacit_status_t add_products(tacit_parser_t *parser, term_list_t *list, const term_list_t *a,
                                   const term_list_t *b) {
  tacit_status_t status = TACIT_OK;
  if (b->n > MAX_PRODUCTS / a->n) {
    return too_many_terms(parser, b->terms[0].offset);
  }
  for (size_t i = 0; i < a->n; i++) {
    for (size_t j = 0; j < b->n && status == TACIT_OK; j++) {
      tacit_formula_term_t product;
      status = interact(parser, &a->terms[i], &b->terms[j], &product);
      TACIT_THEN(status, add_term(parser, list, &product));
    }
  }
  return status;
}

static tacit_status_t parse_sum(tacit_parser_t *parser, term_list_t *list, bool is_top);

static tacit_status_t parse_primary(tacit_parser_t *parser, term_list_t *list) {
  size_t offset = parser->token.offset;
  if (parser->token.symbol != '(') {
    size_t variable;
    tacit_status_t status = tacit_parser_variable(parser, &variable);
    if (status == TACIT_OK && variable == 0) {
      return tacit_formula_error(parser->formula, parser->err, TACIT_ERR_SYNTAX, offset,
                                 "'%.64s' is the response and cannot also be a term",
                                 parser->formula->variables[0].label);
    }
    tacit_formula_term_t term = {.order = 1, .offset = offset};
    term.variables[0] = (uint16_t)(status == TACIT_OK ? variable : 0);
    return status != TACIT_OK ? status : add_term(parser, list, &term);
  }
  tacit_status_t status = tacit_parser_enter(parser);
  if (status != TACIT_OK) {
    return status;
  }
  status = tacit_parser_next(parser);
  TACIT_THEN(status, parse_sum(parser, list, false));
  TACIT_THEN(status, tacit_parser_expect(parser, ')', "or an operator"));
  parser->depth--;
  return status;
}

/* Operands joined by `symbol`; with `keep_operands` the operands themselves stay (a * b). */
static tacit_status_t parse_joined(tacit_parser_t *parser, term_list_t *list, char symbol, bool keep_operands,
                                   tacit_status_t (*operand)(tacit_parser_t *, term_list_t *)) {
  tacit_status_t status = operand(parser, list);
  while (status == TACIT_OK && parser->token.symbol == symbol) {
    term_list_t right = {0}, joined = {0};
    status = tacit_parser_next(parser);
    TACIT_THEN(status, operand(parser, &right));
    if (status == TACIT_OK && keep_operands) {
      status = add_all(parser, &joined, list);
    }
    if (status == TACIT_OK && keep_operands) {
      status = add_all(parser, &joined, &right);
    }
    TACIT_THEN(status, add_products(parser, &joined, list, &right));
    tacit_free(right.terms);
    tacit_free(list->terms);
    *list = joined;
  }
  return status;
}

static tacit_status_t parse_interaction(tacit_parser_t *parser, term_list_t *list) {
  return parse_joined(parser, list, ':', false, parse_primary);
}

static tacit_status_t parse_cross(tacit_parser_t *parser, term_list_t *list) {
  tacit_status_t status = parse_joined(parser, list, '*', true, parse_interaction);
  char symbol = parser->token.symbol;
  if (status == TACIT_OK && (symbol == '^' || symbol == '/')) {
    return tacit_formula_error(parser->formula, parser->err, TACIT_ERR_SYNTAX, parser->token.offset,
                               "'%c' is arithmetic, which needs I(): write I(x%c2), not x%c2", symbol, symbol,
                               symbol);
  }
  if (status == TACIT_OK && symbol != '\0' && strchr("<>=!", symbol) != NULL) {
    return tacit_formula_error(parser->formula, parser->err, TACIT_ERR_SYNTAX, parser->token.offset,
                               "a comparison needs I(): write I(x > 2), not x > 2");
  }
  return status;
}

/* `+ 0`, `- 1`, `+ 1` or `- 0`: the current token is the number. */
static tacit_status_t parse_intercept(tacit_parser_t *parser, bool is_minus) {
  parser->formula->has_intercept = (parser->token.number > 0) != is_minus;
  tacit_status_t status = tacit_parser_next(parser);
  char symbol = parser->token.symbol;
  if (status == TACIT_OK && parser->token.kind != TACIT_TOKEN_END && symbol != '+' && symbol != '-') {
    return tacit_parser_unexpected(parser, "'+', '-' or the end after 0 or 1");
  }
  return status;
}

static bool is_intercept_number(const tacit_token_t *token) {
  return token->kind == TACIT_TOKEN_NUMBER &&
         (token->number == 0.0 || token->number == 1.0); /* exact literals */
}

static tacit_status_t parse_addend(tacit_parser_t *parser, term_list_t *list, bool is_minus, bool is_top) {
  if (is_intercept_number(&parser->token)) {
    return is_top ? parse_intercept(parser, is_minus)
                  : tacit_parser_unexpected(parser,
                                            "a column or a function (write + 0 outside the parentheses)");
  }
  if (is_minus) {
    return tacit_parser_unexpected(parser, "1 after '-' (only the intercept can be removed)");
  }
  term_list_t addend = {0};
  tacit_status_t status = parse_cross(parser, &addend);
  TACIT_THEN(status, add_all(parser, list, &addend));
  tacit_free(addend.terms);
  return status;
}

static tacit_status_t parse_sum(tacit_parser_t *parser, term_list_t *list, bool is_top) {
  tacit_status_t status = TACIT_OK;
  char sign = parser->token.symbol;
  if (sign == '+' || sign == '-') {
    status = tacit_parser_next(parser);
  }
  while (status == TACIT_OK) {
    status = parse_addend(parser, list, sign == '-', is_top);
    sign = parser->token.symbol;
    if (status != TACIT_OK || (sign != '+' && sign != '-')) {
      break;
    }
    status = tacit_parser_next(parser);
  }
  return status;
}

/* Main effects before interactions, otherwise as written: the order of R's terms(). */
static tacit_status_t sort_terms(tacit_parser_t *parser, const term_list_t *list) {
  tacit_formula_t *formula = parser->formula;
  formula->terms = tacit_alloc(list->n, sizeof formula->terms[0]);
  if (formula->terms == NULL) {
    return tacit_error_memory(parser->err);
  }
  for (size_t order = 1; order <= TACIT_FORMULA_MAX_ORDER; order++) {
    for (size_t i = 0; i < list->n; i++) {
      if (list->terms[i].order == order) {
        formula->terms[formula->n_terms++] = list->terms[i];
      }
    }
  }
  return TACIT_OK;
}

static tacit_status_t parse_sides(tacit_parser_t *parser, term_list_t *list) {
  size_t response;
  tacit_status_t status = tacit_parser_next(parser);
  if (status == TACIT_OK && parser->token.symbol == '~') {
    return tacit_formula_error(parser->formula, parser->err, TACIT_ERR_SYNTAX, parser->token.offset,
                               "there is no response; write it to the left of '~'");
  }
  TACIT_THEN(status, tacit_parser_variable(parser, &response));
  TACIT_THEN(status, tacit_parser_expect(parser, '~', "between the response and its terms"));
  TACIT_THEN(status, parse_sum(parser, list, true));
  if (status == TACIT_OK && parser->token.kind != TACIT_TOKEN_END) {
    return tacit_parser_unexpected(
        parser, parser->token.kind == TACIT_TOKEN_NAME
                    ? "'+', '*', ':' or the end (a column's name that has a blank stands in `backticks`)"
                    : "'+', '*', ':' or the end");
  }
  return status;
}

tacit_status_t tacit_formula_parse(tacit_formula_t *formula, const char *text, tacit_error_t *err) {
  *formula = (tacit_formula_t){.has_intercept = true};
  formula->text = tacit_strdup(text);
  if (formula->text == NULL) {
    return tacit_error_memory(err);
  }
  tacit_parser_t parser = {.formula = formula, .err = err};
  term_list_t list = {0};
  tacit_status_t status = parse_sides(&parser, &list);
  TACIT_THEN(status, sort_terms(&parser, &list));
  if (status == TACIT_OK && formula->n_terms == 0 && !formula->has_intercept) {
    status = tacit_formula_error(formula, err, TACIT_ERR_SYNTAX, strlen(text),
                                 "neither a term nor an intercept is left; add a column");
  }
  tacit_free(list.terms);
  return status;
}

/* Are the variables of a term, but for one, part of another? */
static bool is_within(const tacit_formula_term_t *term, size_t left_out, const tacit_formula_term_t *outer) {
  for (size_t i = 0, j = 0; i < term->order; i++) {
    if (i == left_out) {
      continue;
    }
    while (j < outer->order && outer->variables[j] < term->variables[i]) {
      j++;
    }
    if (j == outer->order || outer->variables[j] != term->variables[i]) {
      return false;
    }
  }
  return true;
}

bool tacit_formula_uses_contrasts(const tacit_formula_term_t *terms, size_t t, size_t position) {
  bool uses = terms[t].order == 1;
  for (size_t earlier = 0; earlier < t && !uses; earlier++) {
    uses = is_within(&terms[t], position, &terms[earlier]);
  }
  return uses;
}

void tacit_formula_clear(tacit_formula_t *formula) {
  for (size_t i = 0; i < formula->n_columns; i++) {
    tacit_free(formula->columns[i]);
  }
  for (size_t i = 0; i < formula->n_variables; i++) {
    tacit_free(formula->variables[i].label);
    tacit_free(formula->variables[i].steps);
  }
  tacit_free(formula->columns);
  tacit_free(formula->column_offsets);
  tacit_free(formula->variables);
  tacit_free(formula->terms);
  tacit_free(formula->text);
  *formula = (tacit_formula_t){0};
}

tacit_status_t tacit_formula_error(const tacit_formula_t *formula, tacit_error_t *err, tacit_status_t status,
                                   size_t offset, const char *format, ...) {
  char reason[384];
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  return tacit_caret_error(err, status, "formula", formula->text, offset, "%s", reason);
}
