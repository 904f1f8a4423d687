/* State shared by the parts of the parser. Not installed. */
#ifndef TACIT_PROGRAM_PARSE_INTERNAL_H
#define TACIT_PROGRAM_PARSE_INTERNAL_H

#include "program/ast.h"

typedef struct tacit_lexer {
  tacit_source_t *source;
  tacit_arena_t *arena;
  tacit_error_t *err;
  tacit_status_t status; /* after the first error nothing is read, and tokens are END */
  size_t position;       /* after the current token */
  size_t depth;
  /* the current token */
  tacit_token_kind kind;
  char symbol;
  tacit_token_kind compound; /* ADD_ASSIGN and its like: the operator */
  const char *name;          /* NAME, in the arena */
  double number;
  size_t offset, length;
  size_t last_end; /* where the token before it ended */
} tacit_lexer_t;

void tacit_lexer_next(tacit_lexer_t *lexer);
/* Is the current token this symbol or name? */
bool tacit_lexer_is(const tacit_lexer_t *lexer, char symbol);
bool tacit_lexer_is_name(const tacit_lexer_t *lexer, const char *name);
/* Take the symbol if it is there. */
bool tacit_lexer_take(tacit_lexer_t *lexer, char symbol);
/* It has to be there; `after` ends the message "expected 'x' after ...". */
void tacit_lexer_expect(tacit_lexer_t *lexer, char symbol, const char *after);
/* What stands here was not expected. */
void tacit_lexer_unexpected(tacit_lexer_t *lexer, const char *expected);
void tacit_lexer_fail(tacit_lexer_t *lexer, size_t offset, const char *format, ...) TACIT_PRINTF(3, 4);
/* The name that stands here, taken; NULL after an error. */
const char *tacit_lexer_take_name(tacit_lexer_t *lexer, const char *expected);
/* One level deeper; false, with an error, beyond the limit. */
bool tacit_lexer_enter(tacit_lexer_t *lexer);

/* NULL after an error. */
tacit_expr_t *tacit_parse_expr(tacit_lexer_t *lexer);
/* An operand without comparison operators, as bounds in < > are. */
tacit_expr_t *tacit_parse_bound(tacit_lexer_t *lexer);
/* Comma-separated, to the closing symbol, which is taken. */
void tacit_parse_list(tacit_lexer_t *lexer, char closing, tacit_expr_t ***args, size_t *n);
tacit_stmt_t *tacit_parse_statement(tacit_lexer_t *lexer);
/* Declarations and statements to the closing brace, which is taken. */
tacit_stmt_t *tacit_parse_block(tacit_lexer_t *lexer);
/* Does a type begin here? Types that are not in the subset are an error. */
bool tacit_parse_is_type(tacit_lexer_t *lexer);
/* A type in a function's head: "array[,] real", "data vector"; its name is the next token. */
void tacit_parse_argument_type(tacit_lexer_t *lexer, tacit_type_t *type);

#endif
