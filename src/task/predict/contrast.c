/* Functions of parameters: parsed once to steps of a stack machine, run for every draw. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "formula/model_text.h"
#include "predict/predict_internal.h"

enum { MAX_STEPS = 512, MAX_DEPTH = 64 };

typedef enum op {
  OP_NUMBER,
  OP_PARAMETER,
  OP_ADD,
  OP_SUBTRACT,
  OP_MULTIPLY,
  OP_DIVIDE,
  OP_POWER,
  OP_MINUS,
  OP_EXP,
  OP_LOG,
  OP_SQRT,
  OP_INV_LOGIT
} op_t;

typedef struct step {
  op_t op;
  double number;
  size_t parameter;
} step_t;

typedef struct parser {
  const tacit_report_read_t *fit;
  const char *text;
  size_t at, depth;
  step_t steps[MAX_STEPS];
  size_t n_steps;
  tacit_error_t *err;
} parser_t;

static tacit_status_t fault(const parser_t *parser, size_t at, const char *message) {
  return tacit_caret_error(parser->err, TACIT_ERR_SYNTAX, "expression", parser->text, at, "%s", message);
}

static tacit_status_t add_step(parser_t *parser, step_t step) {
  if (parser->n_steps == MAX_STEPS) {
    return fault(parser, parser->at, "longer than 512 operations: write it in parts");
  }
  parser->steps[parser->n_steps++] = step;
  return TACIT_OK;
}

static void skip_blanks(parser_t *parser) {
  while (parser->text[parser->at] == ' ' || parser->text[parser->at] == '\t') {
    parser->at++;
  }
}

static bool accept(parser_t *parser, char symbol) {
  skip_blanks(parser);
  if (parser->text[parser->at] != symbol) {
    return false;
  }
  parser->at++;
  return true;
}

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         ((unsigned char)c & 0x80) != 0;
}

/* Does `name` stand at the place, and end there? */
static bool stands_here(const char *place, const char *name) {
  size_t n = strlen(name);
  return n > 0 && strncmp(place, name, n) == 0 && !(is_word(name[n - 1]) && is_word(place[n]));
}

/*
 * The longest label or name that stands here; its length, or 0. A label goes before a name: beside a column
 * called b_x, the coefficient of x, which has that name in Stan CSV, is written x. *other: a quantity of that
 * name is another one.
 */
static size_t find_parameter(const parser_t *parser, size_t *parameter, bool *is_other) {
  const char *place = parser->text + parser->at;
  size_t longest = 0, named = 0, by_name = 0;
  for (size_t j = 0; j < parser->fit->draws.n_reported; j++) {
    size_t n = strlen(parser->fit->labels[j]), m = strlen(parser->fit->names[j]);
    if (n > longest && stands_here(place, parser->fit->labels[j])) {
      longest = n;
      *parameter = j;
    }
    if (m > named && stands_here(place, parser->fit->names[j])) {
      named = m;
      by_name = j;
    }
  }
  *is_other = named == longest && longest > 0 && by_name != *parameter;
  *parameter = named > longest ? by_name : *parameter;
  return named > longest ? named : longest;
}

static tacit_status_t parse_sum(parser_t *parser);

/* A label in backquotes, past the first; those that have backquotes themselves need no more. */
static tacit_status_t parse_quoted(parser_t *parser) {
  size_t begin = parser->at;
  const char *end = strchr(parser->text + begin, '`');
  for (size_t j = 0; end != NULL && j < parser->fit->draws.n_reported; j++) {
    size_t n = (size_t)(end - parser->text) - begin;
    if (strlen(parser->fit->labels[j]) == n &&
        strncmp(parser->fit->labels[j], parser->text + begin, n) == 0) {
      parser->at = begin + n + 1;
      return add_step(parser, (step_t){.op = OP_PARAMETER, .parameter = j});
    }
  }
  return fault(parser, begin,
               end == NULL ? "a backquote without its second one"
                           : "no parameter has this label; see tacit summary");
}

/* A parameter that the word which begins here may mean, spelled alike. */
static const char *hint_at(const parser_t *parser, size_t begin, char out[TACIT_HINT_SIZE]) {
  char word[64];
  size_t n = 0;
  while (n + 1 < sizeof word && is_word(parser->text[begin + n])) {
    word[n] = parser->text[begin + n];
    n++;
  }
  word[n] = '\0';
  tacit_nearest_t nearest = {.name = word};
  for (size_t j = 0; j < parser->fit->draws.n_reported; j++) {
    tacit_nearest_offer(&nearest, parser->fit->labels[j]);
  }
  return tacit_nearest_hint(&nearest, out);
}

static tacit_status_t parse_function(parser_t *parser) {
  static const struct {
    const char *name;
    op_t op;
  } functions[] = {{"exp", OP_EXP}, {"log", OP_LOG}, {"sqrt", OP_SQRT}, {"inv_logit", OP_INV_LOGIT}};
  size_t begin = parser->at;
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    if (stands_here(parser->text + begin, functions[i].name)) {
      parser->at += strlen(functions[i].name);
      if (!accept(parser, '(')) {
        return fault(parser, parser->at, "expected '(' after the function");
      }
      tacit_status_t status = parse_sum(parser);
      if (status == TACIT_OK && !accept(parser, ')')) {
        status = fault(parser, parser->at, "expected ')'");
      }
      return status == TACIT_OK ? add_step(parser, (step_t){.op = functions[i].op}) : status;
    }
  }
  char hint[TACIT_HINT_SIZE], what[TACIT_HINT_SIZE + 80];
  snprintf(what, sizeof what, "no parameter, number or function%s; tacit summary lists the parameters",
           hint_at(parser, begin, hint));
  return fault(parser, begin,
               parser->text[begin] == '\0' ? "it ends where a parameter, a number or '(' is expected" : what);
}

static tacit_status_t parse_primary(parser_t *parser) {
  size_t parameter = 0, length;
  double number;
  bool is_other;
  skip_blanks(parser);
  length = find_parameter(parser, &parameter, &is_other);
  if (length == 0 && accept(parser, '(')) {
    tacit_status_t status = parse_sum(parser);
    return status != TACIT_OK || accept(parser, ')') ? status : fault(parser, parser->at, "expected ')'");
  }
  if (length == 0 && accept(parser, '`')) {
    return parse_quoted(parser);
  }
  if (length > 0 && is_other) {
    return fault(parser, parser->at,
                 "this is one parameter's label and another's name in Stan CSV: write the label in "
                 "backquotes, or the other's label");
  }
  if (length > 0) {
    parser->at += length;
    return add_step(parser, (step_t){.op = OP_PARAMETER, .parameter = parameter});
  }
  char c = parser->text[parser->at];
  length = (c >= '0' && c <= '9') || c == '.' ? tacit_number_scan(parser->text + parser->at, &number) : 0;
  if (length > 0) {
    parser->at += length;
    return add_step(parser, (step_t){.op = OP_NUMBER, .number = number});
  }
  return parse_function(parser);
}

/* -a ^ b is -(a ^ b), and a ^ b ^ c is a ^ (b ^ c). */
static tacit_status_t parse_power(parser_t *parser) {
  if (parser->depth == MAX_DEPTH) {
    return fault(parser, parser->at, "nested deeper than 64");
  }
  parser->depth++;
  bool is_negative = accept(parser, '-');
  tacit_status_t status = is_negative ? parse_power(parser) : parse_primary(parser);
  if (status == TACIT_OK && !is_negative && accept(parser, '^')) {
    status = parse_power(parser);
    TACIT_THEN(status, add_step(parser, (step_t){.op = OP_POWER}));
  }
  parser->depth--;
  return status == TACIT_OK && is_negative ? add_step(parser, (step_t){.op = OP_MINUS}) : status;
}

static tacit_status_t parse_product(parser_t *parser) {
  tacit_status_t status = parse_power(parser);
  while (status == TACIT_OK) {
    bool is_product = accept(parser, '*');
    if (!is_product && !accept(parser, '/')) {
      break;
    }
    status = parse_power(parser);
    status =
        status == TACIT_OK ? add_step(parser, (step_t){.op = is_product ? OP_MULTIPLY : OP_DIVIDE}) : status;
  }
  return status;
}

static tacit_status_t parse_sum(parser_t *parser) {
  tacit_status_t status = parse_product(parser);
  while (status == TACIT_OK) {
    bool is_sum = accept(parser, '+');
    if (!is_sum && !accept(parser, '-')) {
      break;
    }
    status = parse_product(parser);
    status = status == TACIT_OK ? add_step(parser, (step_t){.op = is_sum ? OP_ADD : OP_SUBTRACT}) : status;
  }
  return status;
}

static double binary(op_t op, double a, double b) {
  switch (op) {
  case OP_ADD:
    return a + b;
  case OP_SUBTRACT:
    return a - b;
  case OP_MULTIPLY:
    return a * b;
  case OP_DIVIDE:
    return a / b;
  default:
    return pow(a, b);
  }
}

static double unary(op_t op, double a) {
  switch (op) {
  case OP_MINUS:
    return -a;
  case OP_EXP:
    return exp(a);
  case OP_LOG:
    return log(a);
  case OP_SQRT:
    return sqrt(a);
  default:
    return a >= 0 ? 1 / (1 + exp(-a)) : exp(a) / (1 + exp(a));
  }
}

/* A stack of MAX_STEPS numbers is never left: each step adds at most one. */
static double run_contrast(const parser_t *parser, const double *draw) {
  double stack[MAX_STEPS];
  size_t n = 0;
  for (size_t i = 0; i < parser->n_steps; i++) {
    const step_t *step = &parser->steps[i];
    if (step->op == OP_NUMBER || step->op == OP_PARAMETER) {
      stack[n++] = step->op == OP_NUMBER ? step->number : draw[step->parameter];
    } else if (step->op <= OP_POWER) {
      n--;
      stack[n - 1] = binary(step->op, stack[n - 1], stack[n]);
    } else {
      stack[n - 1] = unary(step->op, stack[n - 1]);
    }
  }
  return stack[0];
}

/* A share of draws, or a quantile, of what is not there at some of them would be one of the others alone. */
static tacit_status_t run_all(const parser_t *parser, double *draws) {
  const tacit_draws_t *of = &parser->fit->draws;
  size_t n_kept = tacit_draws_n_kept(of), n = of->n_chains * n_kept, n_none = 0;
  for (size_t i = 0; i < n; i++) {
    draws[i] = run_contrast(parser, tacit_draws_row(of, i / n_kept, of->n_warmup + i % n_kept));
    n_none += isfinite(draws[i]) ? 0 : 1;
  }
  return n_none == 0 ? TACIT_OK
                     : tacit_error_set(parser->err, TACIT_ERR_ARGUMENT, "expression",
                                       "at %zu of %zu draws it is no finite number (a division by 0, a log "
                                       "or a root of what is below 0, or too large): %s",
                                       n_none, n, parser->text);
}

tacit_status_t tacit_contrast(const tacit_report_read_t *fit, const char *expression, double *draws,
                              tacit_error_t *err) {
  parser_t parser = {.fit = fit, .text = expression, .err = err};
  tacit_status_t status = tacit_predict_check_fit(fit, err);
  if (status != TACIT_OK) {
    return status;
  }
  status = parse_sum(&parser);
  skip_blanks(&parser);
  if (status == TACIT_OK && expression[parser.at] != '\0') {
    status = fault(&parser, parser.at, "expected + - * / ^ or the end");
  }
  return status == TACIT_OK ? run_all(&parser, draws) : status;
}
