/* A program as it was written: the tree that the parser makes and lowering walks. Not installed. */
#ifndef TACIT_PROGRAM_AST_H
#define TACIT_PROGRAM_AST_H

#include "program/arena.h"

typedef enum tacit_token {
  TACIT_TOK_END,
  TACIT_TOK_NAME,
  TACIT_TOK_INTEGER,
  TACIT_TOK_REAL,
  TACIT_TOK_STRING,
  TACIT_TOK_SYMBOL, /* ( ) { } [ ] , ; : ? | ! ' */
  TACIT_TOK_TILDE,
  TACIT_TOK_ASSIGN,     /* = */
  TACIT_TOK_ADD_ASSIGN, /* the compound ones: += -= *= /= .*= ./= */
  TACIT_TOK_OR,         /* from here on binary operators */
  TACIT_TOK_AND,
  TACIT_TOK_EQUAL,
  TACIT_TOK_UNEQUAL,
  TACIT_TOK_LESS,
  TACIT_TOK_AT_MOST,
  TACIT_TOK_GREATER,
  TACIT_TOK_AT_LEAST,
  TACIT_TOK_ADD,
  TACIT_TOK_SUBTRACT,
  TACIT_TOK_MULTIPLY,
  TACIT_TOK_DIVIDE,
  TACIT_TOK_INTDIV, /* %/% */
  TACIT_TOK_MODULO,
  TACIT_TOK_TIMES_EACH, /* .* */
  TACIT_TOK_DIVIDE_EACH,
  TACIT_TOK_POWER,
  TACIT_TOK_POWER_EACH
} tacit_token_kind;

typedef enum tacit_expr_kind {
  TACIT_EXPR_NUMBER,
  TACIT_EXPR_NAME,
  TACIT_EXPR_CALL,  /* name(args) */
  TACIT_EXPR_INDEX, /* args[0][args[1], ...] */
  TACIT_EXPR_RANGE, /* lo:hi as an index; either end may be NULL */
  TACIT_EXPR_NEGATE,
  TACIT_EXPR_NOT,
  TACIT_EXPR_TRANSPOSE,
  TACIT_EXPR_BINARY,
  TACIT_EXPR_CONDITION, /* args[0] ? args[1] : args[2] */
  TACIT_EXPR_ARRAY,     /* { ... } */
  TACIT_EXPR_ROW        /* [ ... ] */
} tacit_expr_kind_t;

typedef struct tacit_expr {
  tacit_expr_kind_t kind;
  tacit_token_kind op; /* BINARY */
  bool is_integer;     /* NUMBER */
  double number;
  const char *name; /* NAME, CALL */
  size_t offset;    /* where it stands: of an operator, the operator */
  size_t height;    /* of the tree: what goes over it by recursion goes so deep */
  size_t n_args;
  struct tacit_expr **args;
} tacit_expr_t;

typedef enum tacit_type_kind {
  TACIT_TYPE_VOID, /* of functions alone */
  TACIT_TYPE_INT,
  TACIT_TYPE_REAL,
  TACIT_TYPE_VECTOR,
  TACIT_TYPE_ROW,
  TACIT_TYPE_MATRIX,
  TACIT_TYPE_ORDERED,
  TACIT_TYPE_POSITIVE_ORDERED,
  TACIT_TYPE_SIMPLEX,
  TACIT_TYPE_SUM_TO_ZERO,
  TACIT_TYPE_CORR,         /* a correlation matrix */
  TACIT_TYPE_CORR_CHOLESKY /* its Cholesky factor */
} tacit_type_kind_t;

/* A declared type; in a function's head sizes are NULL and n_array counts them. */
typedef struct tacit_type {
  tacit_type_kind_t kind;
  size_t n_array, n_sizes; /* sizes: those of the array, then the type's own */
  tacit_expr_t **sizes;
  tacit_expr_t *lower, *upper, *shift, *multiplier;
} tacit_type_t;

typedef enum tacit_stmt_kind {
  TACIT_STMT_DECLARE,
  TACIT_STMT_ASSIGN,
  TACIT_STMT_TILDE,
  TACIT_STMT_TARGET,
  TACIT_STMT_FOR,
  TACIT_STMT_IF,
  TACIT_STMT_BLOCK,
  TACIT_STMT_RETURN,
  TACIT_STMT_WHILE,
  TACIT_STMT_REJECT,
  TACIT_STMT_SKIP /* ; and print() */
} tacit_stmt_kind_t;

typedef struct tacit_stmt {
  tacit_stmt_kind_t kind;
  size_t offset;
  const char *name;    /* DECLARE, TILDE (the distribution), FOR */
  tacit_type_t type;   /* DECLARE */
  tacit_token_kind op; /* ASSIGN: TACIT_TOK_ASSIGN, or the operator of a compound one */
  tacit_expr_t *left;  /* ASSIGN, TILDE; FOR: lower end; IF, WHILE: condition */
  tacit_expr_t
      *right; /* ASSIGN, DECLARE, TARGET, RETURN; FOR: upper end, NULL: each of `left`. May be NULL */
  tacit_expr_t **args; /* TILDE */
  size_t n_args;
  bool is_truncated; /* TILDE: T[from, to] */
  tacit_expr_t *from, *to;
  struct tacit_stmt **body; /* FOR, WHILE: 1; IF: 1 or 2; BLOCK: all */
  size_t n_body;
} tacit_stmt_t;

typedef struct tacit_function {
  const char *name;
  size_t offset;
  tacit_type_t result;
  size_t n_args;
  tacit_type_t *arg_types;
  const char **arg_names;
  tacit_stmt_t *body;
  const struct tacit_source *source;
  struct tacit_function *next;
} tacit_function_t;

typedef enum tacit_block {
  TACIT_BLOCK_FUNCTIONS,
  TACIT_BLOCK_DATA,
  TACIT_BLOCK_TRANSFORMED_DATA,
  TACIT_BLOCK_PARAMETERS,
  TACIT_BLOCK_TRANSFORMED_PARAMETERS,
  TACIT_BLOCK_MODEL,
  TACIT_BLOCK_GENERATED,
  TACIT_BLOCK_STATISTIC,
  TACIT_BLOCKS
} tacit_block_t;

/* A text and its tree; everything is in the arena, the text is the caller's. */
typedef struct tacit_source {
  const char *text;
  size_t length;
  bool is_library;                    /* functions alone, without a frame */
  tacit_function_t *functions;        /* the last first */
  tacit_stmt_t *blocks[TACIT_BLOCKS]; /* NULL where absent */
} tacit_source_t;

enum {
  TACIT_PROGRAM_MAX_TEXT = 1 << 20,
  TACIT_PROGRAM_MAX_DEPTH = 200,   /* nesting of expressions and statements; bounds the recursion */
  TACIT_PROGRAM_MAX_HEIGHT = 1000, /* operations in a row, a + b + c ..., or in each other; likewise */
  TACIT_PROGRAM_MAX_LEVELS = 2000, /* of these, of functions that are called from each other, too */
  TACIT_PROGRAM_MAX_ARGS = 4096
};

/* Parse a program, or the library. TACIT_ERR_SYNTAX, TACIT_ERR_MEMORY. */
TACIT_MUST_USE tacit_status_t tacit_source_parse(tacit_source_t *source, tacit_arena_t *arena,
                                                 const char *text, size_t length, bool is_library,
                                                 tacit_error_t *err);
/* "line L: reason", the line and a caret under byte `offset`. */
tacit_status_t tacit_source_error(const tacit_source_t *source, tacit_error_t *err, tacit_status_t status,
                                  size_t offset, const char *format, ...) TACIT_PRINTF(5, 6);
/* 1-based line and column of a byte. */
void tacit_source_place(const tacit_source_t *source, size_t offset, size_t *line, size_t *column);

#endif
