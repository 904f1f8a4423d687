/* State shared by the parts of the formula parser: lexer, arithmetic, terms. */
#ifndef TACIT_FORMULA_PARSER_H
#define TACIT_FORMULA_PARSER_H

#include "formula/formula.h"

enum { TACIT_FORMULA_MAX_DEPTH = 64 }; /* nesting; bounds the recursion */

typedef enum tacit_token_kind {
  TACIT_TOKEN_END,
  TACIT_TOKEN_NAME,
  TACIT_TOKEN_NUMBER,
  TACIT_TOKEN_SYMBOL
} tacit_token_kind_t;

typedef struct tacit_token {
  tacit_token_kind_t kind;
  char symbol;           /* TACIT_TOKEN_SYMBOL, else 0 */
  size_t offset, length; /* in the formula */
  const char *name;      /* TACIT_TOKEN_NAME, without backticks: name_length bytes */
  size_t name_length;
  double number; /* TACIT_TOKEN_NUMBER */
} tacit_token_t;

typedef struct tacit_parser {
  tacit_formula_t *formula;
  size_t position; /* of the byte after the current token */
  tacit_token_t token;
  size_t depth;
  bool takes_any_symbol; /* of formulas that say more than terms: what a comma or a bar means, the caller
                            knows */
  tacit_error_t *err;
} tacit_parser_t;

/* Read the next token into parser->token. */
TACIT_MUST_USE tacit_status_t tacit_parser_next(tacit_parser_t *parser);
/* Require the symbol and step past it; `context` ends the message: "expected ')' <context>". */
TACIT_MUST_USE tacit_status_t tacit_parser_expect(tacit_parser_t *parser, char symbol, const char *context);
/* A syntax error at the current token: "expected <expected>, found <token>". */
tacit_status_t tacit_parser_unexpected(tacit_parser_t *parser, const char *expected);
/* Enter one level of nesting, or refuse. */
TACIT_MUST_USE tacit_status_t tacit_parser_enter(tacit_parser_t *parser);

/* Can the name stand in a formula without backticks? */
bool tacit_formula_name_is_plain(const char *name, size_t length);

/* Parse arithmetic, as it stands in I(); label, steps and depth of *variable are the caller's to free, in
 * either case. */
TACIT_MUST_USE tacit_status_t tacit_parser_arithmetic(tacit_parser_t *parser,
                                                      tacit_formula_variable_t *variable);

/* Parse a variable (a column, factor(c), log(..), exp(..), sqrt(..), I(..)) and give its index. */
TACIT_MUST_USE tacit_status_t tacit_parser_variable(tacit_parser_t *parser, size_t *index);

#endif
