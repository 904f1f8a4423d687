/*
 * Variables of a formula. Arithmetic is compiled by recursive descent to postfix code:
 *
 *   sum     := product (('+' | '-') product)*
 *   product := unary (('*' | '/') unary)*
 *   unary   := '-' unary | power
 *   power   := primary ('^' unary)?        right-associative, binds closer than unary minus
 *   primary := number | column | function '(' sum ')' | '(' sum (comparison sum)? ')'
 *
 * The label is rebuilt from the tokens with the spacing of R's deparse(): I(a + b * c^2).
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "formula/formula_parser.h"
#include "formula/model_text.h"

typedef struct arithmetic {
  tacit_parser_t *parser;
  tacit_formula_variable_t *variable;
  tacit_text_t *label;
} arithmetic_t;

typedef struct arithmetic_function {
  const char *name;
  tacit_formula_op_t op;
} arithmetic_function_t;

static const arithmetic_function_t functions[] = {
    {"log", TACIT_OP_LOG}, {"exp", TACIT_OP_EXP}, {"sqrt", TACIT_OP_SQRT}};
enum { N_FUNCTIONS = sizeof functions / sizeof functions[0] };

static bool token_is(const tacit_token_t *token, const char *name) {
  return strlen(name) == token->name_length && memcmp(token->name, name, token->name_length) == 0;
}

static const arithmetic_function_t *find_function(const tacit_token_t *token) {
  for (size_t i = 0; i < N_FUNCTIONS; i++) {
    if (token_is(token, functions[i].name)) {
      return &functions[i];
    }
  }
  return NULL;
}

static tacit_status_t unknown_function(tacit_parser_t *parser, const tacit_token_t *token) {
  char name[64], hint[TACIT_HINT_SIZE];
  size_t length = token->name_length < sizeof name ? token->name_length : sizeof name - 1;
  memcpy(name, token->name, length);
  name[length] = '\0';
  static const char *const others[][2] = {
      {"C", "the levels of a column are those of the schema: factor(x), or x alone where it is categorical"},
      {"cut",
       "ranges are compared, I(x > 40) + I(x > 60), or are levels of a column that is made before the fit"},
      {"ifelse", "a comparison is 1 where it holds and else 0: I(x > 40)"},
      {"as.factor", "factor(x)"},
      {"as.numeric", "the type of a column is the schema's"},
      {"log2", "I(log(x) / log(2))"},
      {"log10", "I(log(x) / log(10))"},
      {"log1p", "log(x + 1)"},
      {"mo", "an ordered predictor is its levels, or a number that stands for them"},
      {"cbind", "of successes and trials write successes | trials(n)"},
      {"np.log", "log(x)"},
      {"np.exp", "exp(x)"},
      {"np.sqrt", "sqrt(x)"},
      {"center", "scale(x), by the public bounds"},
      {"standardize", "scale(x), by the public bounds"},
      {"s", "a spline with a stated number of terms: ns(x, 4)"},
      {"te", "splines of single columns and their products: ns(x, 4) * ns(z, 4)"}};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    if (strcmp(name, others[i][0]) == 0) {
      return tacit_formula_error(parser->formula, parser->err, TACIT_ERR_SYNTAX, token->offset,
                                 "there is no %s() here: %s", name, others[i][1]);
    }
  }
  tacit_nearest_t nearest = {.name = name};
  for (size_t i = 0; i < N_FUNCTIONS; i++) {
    tacit_nearest_offer(&nearest, functions[i].name);
  }
  tacit_nearest_offer(&nearest, "factor");
  return tacit_formula_error(
      parser->formula, parser->err, TACIT_ERR_SYNTAX, token->offset,
      "unknown function '%s'%s; there are factor, log, exp, sqrt and I, poly, ns, bs, scale and relevel",
      name, tacit_nearest_hint(&nearest, hint));
}

static void append(tacit_text_t *label, const char *text) { tacit_text_append(label, text, strlen(text)); }

/* In backticks if and only if it needs them, as R deparses it: one column has one label. */
static void append_name(tacit_text_t *label, const tacit_token_t *token) {
  bool is_plain = tacit_formula_name_is_plain(token->name, token->name_length);
  tacit_text_append(label, "`", !is_plain);
  tacit_text_append(label, token->name, token->name_length);
  tacit_text_append(label, "`", !is_plain);
}

static tacit_status_t intern_column(tacit_parser_t *parser, const tacit_token_t *token, size_t *index) {
  tacit_formula_t *formula = parser->formula;
  for (size_t i = 0; i < formula->n_columns; i++) {
    if (token_is(token, formula->columns[i])) {
      *index = i;
      return TACIT_OK;
    }
  }
  void *columns =
      tacit_grow(formula->columns, formula->n_columns, &formula->columns_capacity, sizeof(char *));
  formula->columns = columns != NULL ? columns : formula->columns;
  void *offsets =
      tacit_grow(formula->column_offsets, formula->n_columns, &formula->offsets_capacity, sizeof(size_t));
  formula->column_offsets = offsets != NULL ? offsets : formula->column_offsets;
  char *name = columns != NULL && offsets != NULL ? tacit_alloc(token->name_length + 1, 1) : NULL;
  if (name == NULL) {
    return tacit_error_memory(parser->err);
  }
  memcpy(name, token->name, token->name_length);
  name[token->name_length] = '\0';
  *index = formula->n_columns++;
  formula->columns[*index] = name;
  formula->column_offsets[*index] = token->offset;
  return TACIT_OK;
}

static tacit_status_t emit(arithmetic_t *a, tacit_formula_step_t step) {
  tacit_formula_variable_t *variable = a->variable;
  void *steps = tacit_grow(variable->steps, variable->n_steps, &variable->capacity, sizeof step);
  if (steps == NULL) {
    return tacit_error_memory(a->parser->err);
  }
  variable->steps = steps;
  variable->steps[variable->n_steps++] = step;
  return TACIT_OK;
}

static tacit_status_t emit_column(arithmetic_t *a, const tacit_token_t *token) {
  tacit_formula_step_t step = {.op = TACIT_OP_COLUMN, .offset = token->offset};
  tacit_status_t status = intern_column(a->parser, token, &step.column);
  append_name(a->label, token);
  return status != TACIT_OK ? status : emit(a, step);
}

static tacit_status_t parse_sum(arithmetic_t *a);
static tacit_status_t parse_unary(arithmetic_t *a);

/* What the token compares by; false: by nothing. */
static bool find_comparison(const tacit_token_t *token, tacit_formula_op_t *op, const char **label) {
  static const struct {
    char symbol;
    size_t length;
    tacit_formula_op_t op;
    const char *label;
  } comparisons[] = {{'<', 1, TACIT_OP_LESS, " < "},    {'<', 2, TACIT_OP_AT_MOST, " <= "},
                     {'>', 1, TACIT_OP_GREATER, " > "}, {'>', 2, TACIT_OP_AT_LEAST, " >= "},
                     {'=', 2, TACIT_OP_EQUAL, " == "},  {'!', 2, TACIT_OP_UNEQUAL, " != "}};
  for (size_t i = 0; i < sizeof comparisons / sizeof comparisons[0]; i++) {
    if (token->symbol == comparisons[i].symbol && token->length == comparisons[i].length) {
      *op = comparisons[i].op;
      *label = comparisons[i].label;
      return true;
    }
  }
  return false;
}

/* sum (comparison sum)? */
static tacit_status_t parse_comparison(arithmetic_t *a) {
  tacit_status_t status = parse_sum(a);
  tacit_formula_step_t step = {.offset = a->parser->token.offset};
  const char *label;
  if (status != TACIT_OK || !find_comparison(&a->parser->token, &step.op, &label)) {
    return status;
  }
  append(a->label, label);
  status = tacit_parser_next(a->parser);
  TACIT_THEN(status, parse_sum(a));
  return status == TACIT_OK ? emit(a, step) : status;
}

/* '(' comparison ')', the parenthesis being the current token. */
static tacit_status_t parse_parenthesis(arithmetic_t *a, const char *context) {
  append(a->label, "(");
  tacit_status_t status = tacit_parser_expect(a->parser, '(', context);
  TACIT_THEN(status, parse_comparison(a));
  append(a->label, ")");
  return status != TACIT_OK ? status : tacit_parser_expect(a->parser, ')', "or an operator");
}

static tacit_status_t parse_call(arithmetic_t *a, const tacit_token_t *name) {
  const arithmetic_function_t *function = find_function(name);
  if (function == NULL && (token_is(name, "factor") || token_is(name, "I"))) {
    return tacit_formula_error(
        a->parser->formula, a->parser->err, TACIT_ERR_SYNTAX, name->offset,
        "%.*s() cannot stand inside arithmetic; %s", (int)name->name_length, name->name,
        token_is(name, "I") ? "plain parentheses do" : "a factor is a term of its own");
  }
  if (function == NULL) {
    return unknown_function(a->parser, name);
  }
  append(a->label, function->name);
  tacit_status_t status = parse_parenthesis(a, "after the function's name");
  return status != TACIT_OK ? status
                            : emit(a, (tacit_formula_step_t){.op = function->op, .offset = name->offset});
}

static tacit_status_t parse_primary(arithmetic_t *a) {
  tacit_parser_t *parser = a->parser;
  tacit_token_t token = parser->token;
  if (token.symbol == '(') {
    return parse_parenthesis(a, "here");
  }
  if (token.kind != TACIT_TOKEN_NAME && token.kind != TACIT_TOKEN_NUMBER) {
    return tacit_parser_unexpected(parser, "a column, a number, a function or '('");
  }
  tacit_status_t status = tacit_parser_next(parser);
  if (status != TACIT_OK) {
    return status;
  }
  if (token.kind == TACIT_TOKEN_NUMBER) {
    tacit_text_append(a->label, parser->formula->text + token.offset, token.length);
    return emit(
        a, (tacit_formula_step_t){.op = TACIT_OP_NUMBER, .offset = token.offset, .number = token.number});
  }
  return parser->token.symbol == '(' ? parse_call(a, &token) : emit_column(a, &token);
}

static tacit_status_t parse_power(arithmetic_t *a) {
  tacit_status_t status = parse_primary(a);
  if (status != TACIT_OK || a->parser->token.symbol != '^') {
    return status;
  }
  size_t offset = a->parser->token.offset;
  append(a->label, "^");
  status = tacit_parser_next(a->parser);
  TACIT_THEN(status, parse_unary(a));
  return status != TACIT_OK ? status
                            : emit(a, (tacit_formula_step_t){.op = TACIT_OP_POWER, .offset = offset});
}

/* Every recursion passes here, so the depth is counted here. */
static tacit_status_t parse_unary(arithmetic_t *a) {
  tacit_status_t status = tacit_parser_enter(a->parser);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_token_t token = a->parser->token;
  if (token.symbol == '-') {
    append(a->label, "-");
    status = tacit_parser_next(a->parser);
    TACIT_THEN(status, parse_unary(a));
    if (status == TACIT_OK) {
      status = emit(a, (tacit_formula_step_t){.op = TACIT_OP_NEGATE, .offset = token.offset});
    }
  } else {
    status = parse_power(a);
  }
  a->parser->depth--;
  return status;
}

typedef struct binary_operator {
  char symbol;
  tacit_formula_op_t op;
  const char *label;
} binary_operator_t;

/* operand (operator operand)*, left-associative, with two operators of one precedence. */
static tacit_status_t parse_chain(arithmetic_t *a, const binary_operator_t operators[2],
                                  tacit_status_t (*operand)(arithmetic_t *)) {
  tacit_status_t status = operand(a);
  while (status == TACIT_OK) {
    tacit_token_t token = a->parser->token;
    const binary_operator_t *binary = token.symbol == operators[0].symbol   ? &operators[0]
                                      : token.symbol == operators[1].symbol ? &operators[1]
                                                                            : NULL;
    if (binary == NULL) {
      break;
    }
    append(a->label, binary->label);
    status = tacit_parser_next(a->parser);
    TACIT_THEN(status, operand(a));
    if (status == TACIT_OK) {
      status = emit(a, (tacit_formula_step_t){.op = binary->op, .offset = token.offset});
    }
  }
  return status;
}

static tacit_status_t parse_product(arithmetic_t *a) {
  static const binary_operator_t operators[2] = {{'*', TACIT_OP_MULTIPLY, " * "},
                                                 {'/', TACIT_OP_DIVIDE, "/"}};
  return parse_chain(a, operators, parse_unary);
}

static tacit_status_t parse_sum(arithmetic_t *a) {
  static const binary_operator_t operators[2] = {{'+', TACIT_OP_ADD, " + "}, {'-', TACIT_OP_SUBTRACT, " - "}};
  return parse_chain(a, operators, parse_product);
}

static tacit_status_t parse_factor(arithmetic_t *a) {
  tacit_parser_t *parser = a->parser;
  append(a->label, "factor(");
  tacit_status_t status = tacit_parser_expect(parser, '(', "after factor");
  if (status != TACIT_OK) {
    return status;
  }
  tacit_token_t column = parser->token;
  if (column.kind != TACIT_TOKEN_NAME) {
    return tacit_parser_unexpected(parser, "one column name");
  }
  status = emit_column(a, &column);
  TACIT_THEN(status, tacit_parser_next(parser));
  append(a->label, ")");
  return status != TACIT_OK ? status : tacit_parser_expect(parser, ')', "after the column");
}

/* The current token is '(' and `name` stands before it. */
static tacit_status_t parse_variable_call(arithmetic_t *a, const tacit_token_t *name) {
  if (token_is(name, "factor")) {
    a->variable->kind = TACIT_VARIABLE_FACTOR;
    return parse_factor(a);
  }
  a->variable->kind = TACIT_VARIABLE_ARITHMETIC;
  if (token_is(name, "I")) {
    append(a->label, "I");
    return parse_parenthesis(a, "after I");
  }
  return parse_call(a, name);
}

static size_t stack_depth(const tacit_formula_variable_t *variable) {
  size_t height = 0, depth = 0;
  for (size_t i = 0; i < variable->n_steps; i++) {
    tacit_formula_op_t op = variable->steps[i].op;
    if (op == TACIT_OP_NUMBER || op == TACIT_OP_COLUMN) {
      height++;
    } else if (op >= TACIT_OP_ADD) {
      height--;
    }
    depth = height > depth ? height : depth;
  }
  return depth;
}

static tacit_status_t intern_variable(tacit_parser_t *parser, tacit_formula_variable_t *variable,
                                      size_t *index) {
  tacit_formula_t *formula = parser->formula;
  for (size_t i = 0; i < formula->n_variables; i++) {
    if (strcmp(formula->variables[i].label, variable->label) == 0) {
      *index = i;
      return TACIT_OK;
    }
  }
  if (formula->n_variables > TACIT_FORMULA_MAX_TERMS) {
    return tacit_formula_error(formula, parser->err, TACIT_ERR_SYNTAX, variable->offset,
                               "more than %d variables", (int)TACIT_FORMULA_MAX_TERMS);
  }
  void *variables =
      tacit_grow(formula->variables, formula->n_variables, &formula->variables_capacity, sizeof *variable);
  if (variables == NULL) {
    return tacit_error_memory(parser->err);
  }
  formula->variables = variables;
  variable->depth = stack_depth(variable);
  *index = formula->n_variables++;
  formula->variables[*index] = *variable;
  *variable = (tacit_formula_variable_t){0};
  return TACIT_OK;
}

tacit_status_t tacit_parser_arithmetic(tacit_parser_t *parser, tacit_formula_variable_t *variable) {
  tacit_text_t label = {0};
  arithmetic_t a = {parser, variable, &label};
  *variable = (tacit_formula_variable_t){.kind = TACIT_VARIABLE_ARITHMETIC, .offset = parser->token.offset};
  tacit_status_t status = parse_sum(&a);
  variable->label = label.data;
  variable->depth = stack_depth(variable);
  return status == TACIT_OK && label.failed ? tacit_error_memory(parser->err) : status;
}

tacit_status_t tacit_parser_variable(tacit_parser_t *parser, size_t *index) {
  tacit_token_t name = parser->token;
  if (name.kind != TACIT_TOKEN_NAME) {
    return tacit_parser_unexpected(parser, name.kind == TACIT_TOKEN_NUMBER
                                               ? "a column or a function (of numbers only 0 and 1, for the "
                                                 "intercept, may stand between + and -)"
                                               : "a column or a function");
  }
  tacit_formula_variable_t variable = {.kind = TACIT_VARIABLE_COLUMN, .offset = name.offset};
  tacit_text_t label = {0};
  arithmetic_t a = {parser, &variable, &label};
  tacit_status_t status = tacit_parser_next(parser);
  TACIT_THEN(status, parser->token.symbol == '(' ? parse_variable_call(&a, &name) : emit_column(&a, &name));
  if (status == TACIT_OK && label.failed) {
    status = tacit_error_memory(parser->err);
  }
  variable.label = label.data;
  TACIT_THEN(status, intern_variable(parser, &variable, index));
  tacit_free(variable.label);
  tacit_free(variable.steps);
  return status;
}
