#include <string.h>

#include "base/error.h"
#include "program/parse_internal.h"

static tacit_expr_t *new_expr(tacit_lexer_t *lexer, tacit_expr_kind_t kind, size_t offset, size_t n_args) {
  tacit_expr_t *expr = tacit_arena_alloc(lexer->arena, 1, sizeof *expr);
  tacit_expr_t **args = n_args > 0 ? tacit_arena_alloc(lexer->arena, n_args, sizeof *args) : NULL;
  if (expr == NULL || (n_args > 0 && args == NULL)) {
    if (lexer->status == TACIT_OK) {
      lexer->status = tacit_error_memory(lexer->err);
    }
    return NULL;
  }
  *expr = (tacit_expr_t){.kind = kind, .offset = offset, .n_args = n_args, .args = args};
  return expr;
}

/* Once its operands are there; NULL where it is or would be too high. */
static tacit_expr_t *measured(tacit_lexer_t *lexer, tacit_expr_t *expr) {
  for (size_t i = 0; expr != NULL && i < expr->n_args; i++) {
    size_t under = expr->args[i] != NULL ? expr->args[i]->height : 0;
    expr->height = under + 1 > expr->height ? under + 1 : expr->height;
  }
  if (expr != NULL && expr->height > TACIT_PROGRAM_MAX_HEIGHT) {
    tacit_lexer_fail(lexer, expr->offset,
                     "more than %d operations in a row: give parts of this names, as variables",
                     TACIT_PROGRAM_MAX_HEIGHT);
    return NULL;
  }
  return expr;
}

/* NULL where an operand is. */
static tacit_expr_t *new_node(tacit_lexer_t *lexer, tacit_expr_kind_t kind, size_t offset, size_t n_args,
                              tacit_expr_t *a, tacit_expr_t *b) {
  tacit_expr_t *expr = a != NULL && (n_args < 2 || b != NULL) ? new_expr(lexer, kind, offset, n_args) : NULL;
  if (expr != NULL) {
    expr->args[0] = a;
    if (n_args > 1) {
      expr->args[1] = b;
    }
  }
  return measured(lexer, expr);
}

void tacit_parse_list(tacit_lexer_t *lexer, char closing, tacit_expr_t ***args, size_t *n) {
  void **items = NULL;
  *n = 0;
  if (!tacit_lexer_take(lexer, closing)) {
    do {
      tacit_expr_t *item = tacit_parse_expr(lexer);
      if (item == NULL) {
        return;
      }
      tacit_list_append(lexer->arena, &items, n, item);
      /* The bar between an outcome and its parameters, of which there may be none. */
    } while (
        *n < TACIT_PROGRAM_MAX_ARGS &&
        (tacit_lexer_take(lexer, ',') || (tacit_lexer_take(lexer, '|') && !tacit_lexer_is(lexer, closing))));
    tacit_lexer_expect(lexer, closing, "the last of these");
  }
  *args = (tacit_expr_t **)items;
}

static tacit_expr_t *parse_listed(tacit_lexer_t *lexer, tacit_expr_kind_t kind, size_t offset, char closing,
                                  const char *name) {
  tacit_expr_t *expr = new_expr(lexer, kind, offset, 0);
  if (expr == NULL) {
    return NULL;
  }
  expr->name = name;
  tacit_parse_list(lexer, closing, &expr->args, &expr->n_args);
  return lexer->status == TACIT_OK ? measured(lexer, expr) : NULL;
}

static tacit_expr_t *parse_primary(tacit_lexer_t *lexer) {
  size_t offset = lexer->offset;
  if (lexer->kind == TACIT_TOK_INTEGER || lexer->kind == TACIT_TOK_REAL) {
    tacit_expr_t *expr = new_expr(lexer, TACIT_EXPR_NUMBER, offset, 0);
    if (expr != NULL) {
      expr->number = lexer->number;
      expr->is_integer = lexer->kind == TACIT_TOK_INTEGER;
    }
    tacit_lexer_next(lexer);
    return expr;
  }
  if (tacit_lexer_take(lexer, '(')) {
    tacit_expr_t *inner = tacit_parse_expr(lexer);
    tacit_lexer_expect(lexer, ')', "an expression in parentheses");
    return inner;
  }
  if (tacit_lexer_take(lexer, '{')) {
    return parse_listed(lexer, TACIT_EXPR_ARRAY, offset, '}', NULL);
  }
  if (tacit_lexer_take(lexer, '[')) {
    return parse_listed(lexer, TACIT_EXPR_ROW, offset, ']', NULL);
  }
  const char *name = tacit_lexer_take_name(lexer, "a value");
  if (name == NULL) {
    return NULL;
  }
  if (tacit_lexer_take(lexer, '(')) {
    return parse_listed(lexer, TACIT_EXPR_CALL, offset, ')', name);
  }
  tacit_expr_t *expr = new_expr(lexer, TACIT_EXPR_NAME, offset, 0);
  if (expr != NULL) {
    expr->name = name;
  }
  return expr;
}

/* One index: e, e:, :e, e:e, :, or nothing, which is all. */
static tacit_expr_t *parse_index(tacit_lexer_t *lexer) {
  size_t offset = lexer->offset;
  tacit_expr_t *lo = NULL, *hi = NULL;
  bool is_empty = tacit_lexer_is(lexer, ',') || tacit_lexer_is(lexer, ']');
  if (!is_empty && !tacit_lexer_is(lexer, ':')) {
    lo = tacit_parse_expr(lexer);
    if (lo == NULL || !tacit_lexer_is(lexer, ':')) {
      return lo;
    }
  }
  if (tacit_lexer_take(lexer, ':') && !tacit_lexer_is(lexer, ',') && !tacit_lexer_is(lexer, ']')) {
    hi = tacit_parse_expr(lexer);
  }
  tacit_expr_t *range = lexer->status == TACIT_OK ? new_expr(lexer, TACIT_EXPR_RANGE, offset, 2) : NULL;
  if (range != NULL) {
    range->args[0] = lo;
    range->args[1] = hi;
  }
  return measured(lexer, range);
}

static tacit_expr_t *parse_postfix(tacit_lexer_t *lexer) {
  tacit_expr_t *expr = parse_primary(lexer);
  while (expr != NULL && lexer->status == TACIT_OK) {
    size_t offset = lexer->offset;
    if (tacit_lexer_take(lexer, '\'')) {
      expr = new_node(lexer, TACIT_EXPR_TRANSPOSE, offset, 1, expr, NULL);
    } else if (tacit_lexer_take(lexer, '[')) {
      void **items = NULL;
      size_t n = 0;
      tacit_list_append(lexer->arena, &items, &n, expr);
      do {
        tacit_expr_t *index = parse_index(lexer);
        if (index == NULL) {
          return NULL;
        }
        tacit_list_append(lexer->arena, &items, &n, index);
      } while (n < 16 && tacit_lexer_take(lexer, ','));
      tacit_lexer_expect(lexer, ']', "an index");
      expr = new_expr(lexer, TACIT_EXPR_INDEX, offset, 0);
      if (expr != NULL) {
        expr->args = (tacit_expr_t **)items;
        expr->n_args = n;
      }
      expr = measured(lexer, expr);
    } else {
      break;
    }
  }
  return lexer->status == TACIT_OK ? expr : NULL;
}

static tacit_expr_t *parse_unary(tacit_lexer_t *lexer);

/* a ^ b, from the right; its right side may have a sign. */
static tacit_expr_t *parse_power(tacit_lexer_t *lexer) {
  tacit_expr_t *base = parse_postfix(lexer);
  tacit_token_kind op = lexer->kind;
  if (base == NULL || (op != TACIT_TOK_POWER && op != TACIT_TOK_POWER_EACH)) {
    return base;
  }
  size_t offset = lexer->offset;
  tacit_lexer_next(lexer);
  tacit_expr_t *expr = new_node(lexer, TACIT_EXPR_BINARY, offset, 2, base, parse_unary(lexer));
  if (expr != NULL) {
    expr->op = op;
  }
  return expr;
}

static tacit_expr_t *parse_unary(tacit_lexer_t *lexer) {
  size_t offset = lexer->offset;
  bool is_not = tacit_lexer_is(lexer, '!');
  tacit_expr_t *expr = NULL;
  if (!tacit_lexer_enter(lexer)) {
    return NULL;
  }
  if (is_not || lexer->kind == TACIT_TOK_SUBTRACT) {
    tacit_lexer_next(lexer);
    expr = new_node(lexer, is_not ? TACIT_EXPR_NOT : TACIT_EXPR_NEGATE, offset, 1, parse_unary(lexer), NULL);
  } else if (lexer->kind == TACIT_TOK_ADD) {
    tacit_lexer_next(lexer);
    expr = parse_unary(lexer);
  } else {
    expr = parse_power(lexer);
  }
  lexer->depth--;
  return expr;
}

/* How tightly a binary operator binds; 0: it is none. */
static int precedence(tacit_token_kind op) {
  switch (op) {
  case TACIT_TOK_OR:
    return 1;
  case TACIT_TOK_AND:
    return 2;
  case TACIT_TOK_EQUAL:
  case TACIT_TOK_UNEQUAL:
    return 3;
  case TACIT_TOK_LESS:
  case TACIT_TOK_AT_MOST:
  case TACIT_TOK_GREATER:
  case TACIT_TOK_AT_LEAST:
    return 4;
  case TACIT_TOK_ADD:
  case TACIT_TOK_SUBTRACT:
    return 5;
  case TACIT_TOK_MULTIPLY:
  case TACIT_TOK_DIVIDE:
  case TACIT_TOK_INTDIV:
  case TACIT_TOK_MODULO:
  case TACIT_TOK_TIMES_EACH:
  case TACIT_TOK_DIVIDE_EACH:
    return 6;
  default:
    return 0;
  }
}

static tacit_expr_t *parse_binary(tacit_lexer_t *lexer, int least) {
  tacit_expr_t *left = parse_unary(lexer);
  for (;;) {
    tacit_token_kind op = lexer->kind;
    size_t offset = lexer->offset;
    int level = precedence(op);
    if (left == NULL || lexer->status != TACIT_OK || level < least || level == 0) {
      return lexer->status == TACIT_OK ? left : NULL;
    }
    tacit_lexer_next(lexer);
    if (!tacit_lexer_enter(lexer)) {
      return NULL;
    }
    left = new_node(lexer, TACIT_EXPR_BINARY, offset, 2, left, parse_binary(lexer, level + 1));
    lexer->depth--;
    if (left != NULL) {
      left->op = op;
    }
  }
}

tacit_expr_t *tacit_parse_bound(tacit_lexer_t *lexer) { return parse_binary(lexer, 5); }

tacit_expr_t *tacit_parse_expr(tacit_lexer_t *lexer) {
  if (!tacit_lexer_enter(lexer)) {
    return NULL;
  }
  tacit_expr_t *expr = parse_binary(lexer, 1);
  size_t offset = lexer->offset;
  if (expr != NULL && tacit_lexer_take(lexer, '?')) {
    tacit_expr_t *yes = tacit_parse_expr(lexer);
    tacit_lexer_expect(lexer, ':', "the first choice");
    tacit_expr_t *no = yes != NULL && lexer->status == TACIT_OK ? tacit_parse_expr(lexer) : NULL;
    tacit_expr_t *choice = no != NULL ? new_expr(lexer, TACIT_EXPR_CONDITION, offset, 3) : NULL;
    if (choice != NULL) {
      choice->args[0] = expr;
      choice->args[1] = yes;
      choice->args[2] = no;
    }
    expr = measured(lexer, choice);
  }
  lexer->depth--;
  return lexer->status == TACIT_OK ? expr : NULL;
}
