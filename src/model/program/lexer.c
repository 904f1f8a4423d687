#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "formula/model_text.h"
#include "program/parse_internal.h"

void tacit_source_place(const tacit_source_t *source, size_t offset, size_t *line, size_t *column) {
  size_t begin = 0;
  *line = 1;
  for (size_t i = 0; i < offset && i < source->length; i++) {
    if (source->text[i] == '\n') {
      ++*line;
      begin = i + 1;
    }
  }
  *column = offset - begin + 1;
}

tacit_status_t tacit_source_error(const tacit_source_t *source, tacit_error_t *err, tacit_status_t status,
                                  size_t offset, const char *format, ...) {
  char reason[384], what[32], text[4096];
  size_t line, column, n = 0;
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  tacit_source_place(source, offset, &line, &column);
  size_t begin = offset + 1 - column, from = column > 2000 ? begin + column - 2000 : begin;
  while (n + 1 < sizeof text && from + n < source->length && source->text[from + n] != '\n' &&
         source->text[from + n] != '\r') {
    text[n] = source->text[from + n];
    n++;
  }
  text[n] = '\0';
  snprintf(what, sizeof what, "line %zu", line);
  return tacit_caret_error(err, status, what, text, offset - from < n ? offset - from : n, "%s", reason);
}

void tacit_lexer_fail(tacit_lexer_t *lexer, size_t offset, const char *format, ...) {
  if (lexer->status == TACIT_OK) {
    char reason[384];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    lexer->status = tacit_source_error(lexer->source, lexer->err, TACIT_ERR_SYNTAX, offset, "%s", reason);
  }
  lexer->kind = TACIT_TOK_END;
  lexer->symbol = '\0';
}

/* Past spaces and comments; false after an unclosed comment. */
static bool skip_space(tacit_lexer_t *lexer) {
  const char *text = lexer->source->text;
  size_t n = lexer->source->length, i = lexer->position;
  i += i == 0 && n >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0
           ? 3
           : 0; /* a mark of the encoding, which editors write */
  for (;;) {
    while (i < n && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r')) {
      i++;
    }
    if (i + 8 < n && strncmp(text + i, "#include", 8) == 0) {
      tacit_lexer_fail(lexer, i, "#include names another text, which is not read: put it here in its place");
      return false;
    }
    bool is_line = i < n && (text[i] == '#' || (text[i] == '/' && i + 1 < n && text[i + 1] == '/'));
    if (is_line) {
      while (i < n && text[i] != '\n') {
        i++;
      }
    } else if (i + 1 < n && text[i] == '/' && text[i + 1] == '*') {
      size_t begin = i;
      for (i += 2; i + 1 < n && !(text[i] == '*' && text[i + 1] == '/'); i++) {
      }
      if (i + 1 >= n) {
        tacit_lexer_fail(lexer, begin, "a comment is not closed: expected */");
        return false;
      }
      i += 2;
    } else {
      lexer->position = i;
      return true;
    }
  }
}

/* A number as the language writes it: 1, 1., .5, 1e-3; the digits' own dot before * or / belongs to the
 * operator. */
static void scan_number(tacit_lexer_t *lexer) {
  const char *text = lexer->source->text + lexer->position;
  size_t left = lexer->source->length - lexer->position, n = 0;
  char buffer[64];
  bool is_real = false;
  while (n < left && isdigit((unsigned char)text[n])) {
    n++;
  }
  if (n < left && text[n] == '.' &&
      !(n + 1 < left && strchr("*/^", text[n + 1]) != NULL && text[n + 1] != '\0')) {
    is_real = true;
    for (n++; n < left && isdigit((unsigned char)text[n]); n++) {
    }
  }
  if (n < left && (text[n] == 'e' || text[n] == 'E')) {
    size_t m = n + 1 + (n + 1 < left && (text[n + 1] == '-' || text[n + 1] == '+'));
    if (m < left && isdigit((unsigned char)text[m])) {
      is_real = true;
      for (n = m; n < left && isdigit((unsigned char)text[n]); n++) {
      }
    }
  }
  if (n >= sizeof buffer - 2) {
    tacit_lexer_fail(lexer, lexer->position, "a number of more than 60 characters");
    return;
  }
  /* The scanner of base wants digits on both sides of the point. */
  size_t k = 0;
  for (size_t i = 0; i < n; i++) {
    if (text[i] == '.' && k == 0) {
      buffer[k++] = '0';
    }
    buffer[k++] = text[i];
    if (text[i] == '.' && !(i + 1 < n && isdigit((unsigned char)text[i + 1]))) {
      buffer[k++] = '0';
    }
    if (k >= sizeof buffer - 2) {
      break;
    }
  }
  buffer[k] = '\0';
  double value;
  if (tacit_number_scan(buffer, &value) != k || !isfinite(value) || (!is_real && value > 2147483647.0)) {
    tacit_lexer_fail(lexer, lexer->position, "this number is too large");
    return;
  }
  lexer->kind = is_real ? TACIT_TOK_REAL : TACIT_TOK_INTEGER;
  lexer->number = value;
  lexer->length = n;
}

typedef struct {
  const char *text;
  tacit_token_kind kind, compound;
} operator_t;

/* Longer ones before those that they begin with. */
static const operator_t operators[] = {{".*=", TACIT_TOK_ADD_ASSIGN, TACIT_TOK_TIMES_EACH},
                                       {"./=", TACIT_TOK_ADD_ASSIGN, TACIT_TOK_DIVIDE_EACH},
                                       {"%/%", TACIT_TOK_INTDIV, TACIT_TOK_END},
                                       {"<-", TACIT_TOK_ASSIGN, TACIT_TOK_END},
                                       {"+=", TACIT_TOK_ADD_ASSIGN, TACIT_TOK_ADD},
                                       {"-=", TACIT_TOK_ADD_ASSIGN, TACIT_TOK_SUBTRACT},
                                       {"*=", TACIT_TOK_ADD_ASSIGN, TACIT_TOK_MULTIPLY},
                                       {"/=", TACIT_TOK_ADD_ASSIGN, TACIT_TOK_DIVIDE},
                                       {"||", TACIT_TOK_OR, TACIT_TOK_END},
                                       {"&&", TACIT_TOK_AND, TACIT_TOK_END},
                                       {"==", TACIT_TOK_EQUAL, TACIT_TOK_END},
                                       {"!=", TACIT_TOK_UNEQUAL, TACIT_TOK_END},
                                       {"<=", TACIT_TOK_AT_MOST, TACIT_TOK_END},
                                       {">=", TACIT_TOK_AT_LEAST, TACIT_TOK_END},
                                       {".*", TACIT_TOK_TIMES_EACH, TACIT_TOK_END},
                                       {"./", TACIT_TOK_DIVIDE_EACH, TACIT_TOK_END},
                                       {".^", TACIT_TOK_POWER_EACH, TACIT_TOK_END},
                                       {"<", TACIT_TOK_LESS, TACIT_TOK_END},
                                       {">", TACIT_TOK_GREATER, TACIT_TOK_END},
                                       {"+", TACIT_TOK_ADD, TACIT_TOK_END},
                                       {"-", TACIT_TOK_SUBTRACT, TACIT_TOK_END},
                                       {"*", TACIT_TOK_MULTIPLY, TACIT_TOK_END},
                                       {"/", TACIT_TOK_DIVIDE, TACIT_TOK_END},
                                       {"%", TACIT_TOK_MODULO, TACIT_TOK_END},
                                       {"^", TACIT_TOK_POWER, TACIT_TOK_END},
                                       {"=", TACIT_TOK_ASSIGN, TACIT_TOK_END},
                                       {"~", TACIT_TOK_TILDE, TACIT_TOK_END}};

static void scan_operator(tacit_lexer_t *lexer) {
  const char *text = lexer->source->text + lexer->position;
  size_t left = lexer->source->length - lexer->position;
  for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
    size_t n = strlen(operators[i].text);
    if (n <= left && strncmp(text, operators[i].text, n) == 0) {
      lexer->kind = operators[i].kind;
      lexer->compound = operators[i].compound;
      lexer->length = n;
      return;
    }
  }
  if (text[0] != '\0' && strchr("(){}[],;:?|!'", text[0]) != NULL) {
    lexer->kind = TACIT_TOK_SYMBOL;
    lexer->symbol = text[0];
    lexer->length = 1;
    return;
  }
  unsigned char c = (unsigned char)text[0];
  if (c >= 0x20 && c < 0x7F) {
    tacit_lexer_fail(lexer, lexer->position, "the character '%c' has no meaning here", text[0]);
  } else {
    tacit_lexer_fail(lexer, lexer->position,
                     "a character that is no ASCII has no meaning outside of comments");
  }
}

static void scan_string(tacit_lexer_t *lexer) {
  const char *text = lexer->source->text + lexer->position;
  size_t left = lexer->source->length - lexer->position, n = 1;
  while (n < left && text[n] != '"' && text[n] != '\n') {
    n++;
  }
  if (n >= left || text[n] != '"') {
    tacit_lexer_fail(lexer, lexer->position, "a text is not closed: expected \"");
    return;
  }
  lexer->kind = TACIT_TOK_STRING;
  lexer->length = n + 1;
}

void tacit_lexer_next(tacit_lexer_t *lexer) {
  if (lexer->kind != TACIT_TOK_END) {
    lexer->last_end = lexer->offset + lexer->length;
  }
  lexer->kind = TACIT_TOK_END;
  lexer->symbol = '\0';
  lexer->length = 0;
  if (lexer->status != TACIT_OK || !skip_space(lexer)) {
    return;
  }
  lexer->offset = lexer->position;
  if (lexer->position >= lexer->source->length) {
    return;
  }
  const char *text = lexer->source->text + lexer->position;
  size_t left = lexer->source->length - lexer->position;
  if (isalpha((unsigned char)text[0])) {
    size_t n = 1;
    while (n < left && (isalnum((unsigned char)text[n]) || text[n] == '_')) {
      n++;
    }
    lexer->kind = TACIT_TOK_NAME;
    lexer->length = n;
    lexer->name = tacit_arena_text(lexer->arena, text, n);
    if (lexer->name == NULL) {
      lexer->status = tacit_error_memory(lexer->err);
      lexer->kind = TACIT_TOK_END;
    }
  } else if (isdigit((unsigned char)text[0]) ||
             (text[0] == '.' && left > 1 && isdigit((unsigned char)text[1]))) {
    scan_number(lexer);
  } else if (text[0] == '"') {
    scan_string(lexer);
  } else {
    scan_operator(lexer);
  }
  lexer->position += lexer->length;
}

bool tacit_lexer_is(const tacit_lexer_t *lexer, char symbol) {
  return lexer->kind == TACIT_TOK_SYMBOL && lexer->symbol == symbol;
}

bool tacit_lexer_is_name(const tacit_lexer_t *lexer, const char *name) {
  return lexer->kind == TACIT_TOK_NAME && strcmp(lexer->name, name) == 0;
}

bool tacit_lexer_take(tacit_lexer_t *lexer, char symbol) {
  bool is_there = tacit_lexer_is(lexer, symbol);
  if (is_there) {
    tacit_lexer_next(lexer);
  }
  return is_there;
}

void tacit_lexer_expect(tacit_lexer_t *lexer, char symbol, const char *after) {
  if (lexer->status == TACIT_OK && !tacit_lexer_take(lexer, symbol)) {
    tacit_lexer_fail(lexer, symbol == ';' ? lexer->last_end : lexer->offset, "expected '%c' after %s", symbol,
                     after);
  }
}

void tacit_lexer_unexpected(tacit_lexer_t *lexer, const char *expected) {
  if (lexer->kind == TACIT_TOK_END) {
    tacit_lexer_fail(lexer, lexer->last_end, "the text ends where %s was expected", expected);
  } else {
    tacit_lexer_fail(lexer, lexer->offset, "expected %s, not '%.*s'", expected,
                     (int)(lexer->length < 40 ? lexer->length : 40), lexer->source->text + lexer->offset);
  }
}

const char *tacit_lexer_take_name(tacit_lexer_t *lexer, const char *expected) {
  if (lexer->kind != TACIT_TOK_NAME) {
    tacit_lexer_unexpected(lexer, expected);
    return NULL;
  }
  const char *name = lexer->name;
  if (strstr(name, "__") != NULL) {
    tacit_lexer_fail(lexer, lexer->offset, "a name must not hold '__', which Stan's own columns end with");
    return NULL;
  }
  tacit_lexer_next(lexer);
  return name;
}

bool tacit_lexer_enter(tacit_lexer_t *lexer) {
  if (lexer->status == TACIT_OK && ++lexer->depth > TACIT_PROGRAM_MAX_DEPTH) {
    tacit_lexer_fail(lexer, lexer->offset, "nested more than %d deep", TACIT_PROGRAM_MAX_DEPTH);
  }
  return lexer->status == TACIT_OK;
}
