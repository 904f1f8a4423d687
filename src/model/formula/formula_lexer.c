#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "formula/formula_parser.h"
#include "formula/model_text.h"

static bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' ||
         (unsigned char)c >= 0x80; /* any character beyond ASCII */
}

static bool is_name_part(char c) { return is_name_start(c) || (c >= '0' && c <= '9'); }

static tacit_status_t lex_number(tacit_parser_t *parser, const char *text) {
  tacit_token_t *token = &parser->token;
  token->kind = TACIT_TOKEN_NUMBER;
  token->length = tacit_number_scan(text, &token->number);
  if (!isfinite(token->number)) {
    return tacit_formula_error(parser->formula, parser->err, TACIT_ERR_SYNTAX, token->offset,
                               "this number is too large or too long; write it with fewer digits");
  }
  if (is_name_part(text[token->length])) {
    return tacit_formula_error(parser->formula, parser->err, TACIT_ERR_SYNTAX, token->offset + token->length,
                               "a number runs into a name; put an operator between them, or write "
                               "a column name that begins with a digit in `backticks`");
  }
  return TACIT_OK;
}

static tacit_status_t lex_quoted_name(tacit_parser_t *parser, const char *text) {
  tacit_token_t *token = &parser->token;
  const char *end = strchr(text + 1, '`');
  if (end == NULL || end == text + 1) {
    return tacit_formula_error(parser->formula, parser->err, TACIT_ERR_SYNTAX, token->offset,
                               "%s; write a column name between two backticks",
                               end == NULL ? "this backtick is never closed"
                                           : "there is no name in these backticks");
  }
  token->kind = TACIT_TOKEN_NAME;
  token->name = text + 1;
  token->name_length = (size_t)(end - text) - 1;
  token->length = token->name_length + 2;
  return TACIT_OK;
}

bool tacit_formula_name_is_plain(const char *name, size_t length) {
  size_t n = 0;
  while (n < length && is_name_part(name[n])) {
    n++;
  }
  bool is_number = name[0] == '.' && (length == 1 || (name[1] >= '0' && name[1] <= '9'));
  return length > 0 && n == length && is_name_start(name[0]) && !is_number;
}

/* "splines::" before a function: in R it says where the function lives, not what it does; 0: there is none.
 */
static size_t package_length(const char *text) {
  static const char *const packages[] = {"base::", "stats::", "splines::", "survival::", "brms::"};
  for (size_t i = 0; i < sizeof packages / sizeof packages[0]; i++) {
    size_t n = strlen(packages[i]);
    if (strncmp(text, packages[i], n) == 0 && is_name_start(text[n])) {
      return n;
    }
  }
  return 0;
}

static void lex_name(tacit_token_t *token, const char *text) {
  size_t package = package_length(text);
  token->kind = TACIT_TOKEN_NAME;
  token->offset += package;
  token->name = text + package;
  while (is_name_part(token->name[token->name_length])) {
    token->name_length++;
  }
  token->length = token->name_length;
}

tacit_status_t tacit_parser_next(tacit_parser_t *parser) {
  size_t offset = parser->position + strspn(parser->formula->text + parser->position, " \t\r\n");
  const char *text = parser->formula->text + offset;
  parser->token = (tacit_token_t){.offset = offset};
  tacit_status_t status = TACIT_OK;
  if (*text == '\0') {
    parser->token.kind = TACIT_TOKEN_END;
  } else if ((*text >= '0' && *text <= '9') || (*text == '.' && text[1] >= '0' && text[1] <= '9')) {
    status = lex_number(parser, text);
  } else if (*text == '`') {
    status = lex_quoted_name(parser, text);
  } else if (is_name_start(*text)) {
    lex_name(&parser->token, text);
  } else if (strchr("<>", *text) != NULL || (strchr("=!", *text) != NULL && text[1] == '=')) {
    parser->token.kind = TACIT_TOKEN_SYMBOL;
    parser->token.symbol = *text;
    parser->token.length = text[1] == '=' ? 2 : 1;
  } else if (strchr("~+-*:/^()", *text) != NULL ||
             (parser->takes_any_symbol && (unsigned char)*text > 0x20)) {
    parser->token.kind = TACIT_TOKEN_SYMBOL;
    parser->token.symbol = *text;
    parser->token.length = 1;
  } else {
    char shown[] = {*text, '\0'};
    status =
        tacit_formula_error(parser->formula, parser->err, TACIT_ERR_SYNTAX, offset,
                            "the character '%s' has no meaning in a formula; write columns joined by + : *, "
                            "and other column names in `backticks`",
                            *text < 0x20 || *text == 0x7F ? "?" : shown);
  }
  parser->position = parser->token.offset + parser->token.length;
  return status;
}

tacit_status_t tacit_parser_unexpected(tacit_parser_t *parser, const char *expected) {
  const tacit_token_t *token = &parser->token;
  char found[72];
  if (token->kind == TACIT_TOKEN_END) {
    snprintf(found, sizeof found, "the end");
  } else {
    int length = token->length > 40 ? 40 : (int)token->length;
    snprintf(found, sizeof found, "'%.*s'", length, parser->formula->text + token->offset);
  }
  return tacit_formula_error(parser->formula, parser->err, TACIT_ERR_SYNTAX, token->offset,
                             "expected %s, found %s", expected, found);
}

tacit_status_t tacit_parser_expect(tacit_parser_t *parser, char symbol, const char *context) {
  if (parser->token.symbol != symbol) {
    char expected[96];
    snprintf(expected, sizeof expected, "'%c' %s", symbol, context);
    return tacit_parser_unexpected(parser, expected);
  }
  return tacit_parser_next(parser);
}

tacit_status_t tacit_parser_enter(tacit_parser_t *parser) {
  if (parser->depth == TACIT_FORMULA_MAX_DEPTH) {
    return tacit_formula_error(parser->formula, parser->err, TACIT_ERR_SYNTAX, parser->token.offset,
                               "the formula is nested more than %d deep; simplify it",
                               (int)TACIT_FORMULA_MAX_DEPTH);
  }
  parser->depth++;
  return TACIT_OK;
}
