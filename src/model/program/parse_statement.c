#include <string.h>

#include "base/error.h"
#include "program/parse_internal.h"

static tacit_stmt_t *new_statement(tacit_lexer_t *lexer, tacit_stmt_kind_t kind, size_t offset,
                                   size_t n_body) {
  tacit_stmt_t *stmt = tacit_arena_alloc(lexer->arena, 1, sizeof *stmt);
  tacit_stmt_t **body = tacit_arena_alloc(lexer->arena, n_body, sizeof *body);
  if (stmt == NULL || body == NULL) {
    if (lexer->status == TACIT_OK) {
      lexer->status = tacit_error_memory(lexer->err);
    }
    return NULL;
  }
  *stmt = (tacit_stmt_t){.kind = kind, .offset = offset, .body = body, .n_body = n_body};
  return stmt;
}

/* A statement under another: its own nesting is counted. */
static tacit_stmt_t *parse_nested(tacit_lexer_t *lexer) {
  if (!tacit_lexer_enter(lexer)) {
    return NULL;
  }
  tacit_stmt_t *stmt = tacit_parse_statement(lexer);
  lexer->depth--;
  return stmt;
}

/* for (i in a:b) body, for (x in xs) body */
static tacit_stmt_t *parse_for(tacit_lexer_t *lexer, size_t offset) {
  tacit_stmt_t *stmt = new_statement(lexer, TACIT_STMT_FOR, offset, 1);
  if (stmt == NULL) {
    return NULL;
  }
  tacit_lexer_expect(lexer, '(', "for");
  stmt->name = tacit_lexer_take_name(lexer, "the loop's variable");
  if (lexer->status == TACIT_OK && !tacit_lexer_is_name(lexer, "in")) {
    tacit_lexer_unexpected(lexer, "in");
  }
  tacit_lexer_next(lexer);
  stmt->left = tacit_parse_expr(lexer);
  if (tacit_lexer_take(lexer, ':')) {
    stmt->right = tacit_parse_expr(lexer);
  }
  tacit_lexer_expect(lexer, ')', "the loop's range");
  stmt->body[0] = lexer->status == TACIT_OK ? parse_nested(lexer) : NULL;
  return stmt->body[0] != NULL ? stmt : NULL;
}

static tacit_stmt_t *parse_if(tacit_lexer_t *lexer, size_t offset) {
  tacit_stmt_t *stmt = new_statement(lexer, TACIT_STMT_IF, offset, 2);
  if (stmt == NULL) {
    return NULL;
  }
  tacit_lexer_expect(lexer, '(', "if");
  stmt->left = tacit_parse_expr(lexer);
  tacit_lexer_expect(lexer, ')', "the condition");
  stmt->n_body = 1;
  stmt->body[0] = lexer->status == TACIT_OK ? parse_nested(lexer) : NULL;
  if (stmt->body[0] != NULL && tacit_lexer_is_name(lexer, "else")) {
    tacit_lexer_next(lexer);
    stmt->n_body = 2;
    stmt->body[1] = parse_nested(lexer);
  }
  return stmt->body[stmt->n_body - 1] != NULL ? stmt : NULL;
}

/* After the distribution's arguments: T[from, to], with either left out. */
static void parse_truncation(tacit_lexer_t *lexer, tacit_stmt_t *stmt) {
  if (!tacit_lexer_is_name(lexer, "T")) {
    return;
  }
  tacit_lexer_next(lexer);
  tacit_lexer_expect(lexer, '[', "T");
  stmt->is_truncated = true;
  if (!tacit_lexer_is(lexer, ',')) {
    stmt->from = tacit_parse_expr(lexer);
  }
  tacit_lexer_expect(lexer, ',', "the lower end of a truncation");
  if (lexer->status == TACIT_OK && !tacit_lexer_is(lexer, ']')) {
    stmt->to = tacit_parse_expr(lexer);
  }
  tacit_lexer_expect(lexer, ']', "a truncation");
}

/* What begins with an expression: an assignment, or e ~ name(args) [T[..]] */
static tacit_stmt_t *parse_assignment(tacit_lexer_t *lexer, size_t offset) {
  tacit_expr_t *left = tacit_parse_expr(lexer);
  if (left == NULL) {
    return NULL;
  }
  size_t at = lexer->offset;
  tacit_token_kind kind = lexer->kind, compound = lexer->compound;
  if (kind != TACIT_TOK_ASSIGN && kind != TACIT_TOK_ADD_ASSIGN && kind != TACIT_TOK_TILDE) {
    tacit_lexer_unexpected(lexer, "=, ~ or += after an expression");
    return NULL;
  }
  tacit_stmt_t *stmt =
      new_statement(lexer, kind == TACIT_TOK_TILDE ? TACIT_STMT_TILDE : TACIT_STMT_ASSIGN, offset, 0);
  if (stmt == NULL) {
    return NULL;
  }
  stmt->left = left;
  tacit_lexer_next(lexer);
  if (kind == TACIT_TOK_TILDE) {
    stmt->offset = lexer->offset;
    stmt->name = tacit_lexer_take_name(lexer, "a distribution");
    tacit_lexer_expect(lexer, '(', "a distribution's name");
    tacit_parse_list(lexer, ')', &stmt->args, &stmt->n_args);
    parse_truncation(lexer, stmt);
  } else {
    stmt->offset = at;
    stmt->op = kind == TACIT_TOK_ASSIGN ? TACIT_TOK_ASSIGN : compound;
    stmt->right = tacit_parse_expr(lexer);
  }
  tacit_lexer_expect(lexer, ';', "a statement");
  return stmt;
}

static tacit_stmt_t *parse_target(tacit_lexer_t *lexer, size_t offset) {
  tacit_stmt_t *stmt = new_statement(lexer, TACIT_STMT_TARGET, offset, 0);
  if (lexer->kind != TACIT_TOK_ADD_ASSIGN || lexer->compound != TACIT_TOK_ADD) {
    tacit_lexer_unexpected(lexer, "+= after target");
    return NULL;
  }
  tacit_lexer_next(lexer);
  tacit_expr_t *right = tacit_parse_expr(lexer);
  tacit_lexer_expect(lexer, ';', "a statement");
  if (stmt != NULL) {
    stmt->right = right;
  }
  return stmt;
}

static tacit_stmt_t *parse_while(tacit_lexer_t *lexer, size_t offset) {
  tacit_stmt_t *stmt = new_statement(lexer, TACIT_STMT_WHILE, offset, 1);
  if (stmt == NULL) {
    return NULL;
  }
  tacit_lexer_expect(lexer, '(', "while");
  stmt->left = tacit_parse_expr(lexer);
  tacit_lexer_expect(lexer, ')', "the condition");
  stmt->body[0] = lexer->status == TACIT_OK ? parse_nested(lexer) : NULL;
  return stmt->body[0] != NULL ? stmt : NULL;
}

/* print(...) and reject(...), whose words are of no interest. */
static tacit_stmt_t *parse_words(tacit_lexer_t *lexer, size_t offset, tacit_stmt_kind_t kind) {
  tacit_lexer_expect(lexer, '(', kind == TACIT_STMT_REJECT ? "reject" : "print");
  while (lexer->status == TACIT_OK && !tacit_lexer_is(lexer, ')')) {
    if (lexer->kind == TACIT_TOK_STRING) {
      tacit_lexer_next(lexer);
    } else if (tacit_parse_expr(lexer) == NULL) {
      return NULL;
    }
    if (!tacit_lexer_take(lexer, ',') && !tacit_lexer_is(lexer, ')')) {
      tacit_lexer_unexpected(lexer, ")");
    }
  }
  tacit_lexer_take(lexer, ')');
  tacit_lexer_expect(lexer, ';', "a statement");
  return new_statement(lexer, kind, offset, 0);
}

static tacit_stmt_t *parse_print(tacit_lexer_t *lexer, size_t offset) {
  return parse_words(lexer, offset, TACIT_STMT_SKIP);
}
static tacit_stmt_t *parse_reject(tacit_lexer_t *lexer, size_t offset) {
  return parse_words(lexer, offset, TACIT_STMT_REJECT);
}

static tacit_stmt_t *parse_return(tacit_lexer_t *lexer, size_t offset) {
  tacit_stmt_t *stmt = new_statement(lexer, TACIT_STMT_RETURN, offset, 0);
  if (stmt != NULL && !tacit_lexer_is(lexer, ';')) {
    stmt->right = tacit_parse_expr(lexer);
  }
  tacit_lexer_expect(lexer, ';', "a statement");
  return stmt;
}

tacit_stmt_t *tacit_parse_statement(tacit_lexer_t *lexer) {
  size_t offset = lexer->offset;
  if (lexer->status != TACIT_OK) {
    return NULL;
  }
  if (tacit_lexer_take(lexer, '{')) {
    return tacit_parse_block(lexer);
  }
  if (tacit_lexer_take(lexer, ';')) {
    return new_statement(lexer, TACIT_STMT_SKIP, offset, 0);
  }
  if (lexer->kind != TACIT_TOK_NAME) {
    return parse_assignment(lexer, offset);
  }
  static const char *const refused[] = {"break", "continue", "profile"};
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    if (tacit_lexer_is_name(lexer, refused[i])) {
      tacit_lexer_fail(lexer, offset,
                       "'%s' is not in the subset: a record's log-likelihood is a fixed expression",
                       refused[i]);
      return NULL;
    }
  }
  static tacit_stmt_t *(*const parsers[])(tacit_lexer_t *, size_t) = {
      parse_for, parse_if, parse_while, parse_target, parse_print, parse_reject, parse_reject, parse_return};
  static const char *const words[] = {"for",   "if",     "while",       "target",
                                      "print", "reject", "fatal_error", "return"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (tacit_lexer_is_name(lexer, words[i])) {
      tacit_lexer_next(lexer);
      return parsers[i](lexer, offset);
    }
  }
  return parse_assignment(lexer, offset);
}
