/*
 * The text of a query: one statement that reads, as far as its text shows. That it cannot write rests on the
 * database (odbc.c).
 */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/data_internal.h"

enum { max_query = 1 << 20 };

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

/* The first byte that is neither blank nor of a comment. */
static const char *skip_comments(const char *text) {
  for (;;) {
    if (is_space(*text)) {
      text++;
    } else if (strncmp(text, "--", 2) == 0) {
      text += strcspn(text, "\n");
    } else if (strncmp(text, "/*", 2) == 0 && strstr(text + 2, "*/") != NULL) {
      text = strstr(text + 2, "*/") + 2;
    } else {
      return text;
    }
  }
}

static bool begins_with(const char *text, const char *word) {
  size_t n = strlen(word);
  for (size_t i = 0; i < n; i++) {
    if ((text[i] | 0x20) != word[i]) {
      return false;
    }
  }
  return is_space(text[n]) || text[n] == '(' || text[n] == '*' || text[n] == '"' || text[n] == '/' ||
         text[n] == '-' || text[n] == '\'';
}

static tacit_status_t check_query(char *text, tacit_error_t *err) {
  static const char *const words[] = {"select", "with", "values", "table"};
  size_t n = strlen(text);
  while (n > 0 && (is_space(text[n - 1]) || (text[n - 1] == ';' && memchr(text, ';', n - 1) == NULL))) {
    text[--n] = '\0';
  }
  const char *first = skip_comments(text);
  if (*first == '\0') {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "query",
                           "the query is empty: expected one that begins with select");
  }
  if (strchr(text, ';') != NULL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "query",
                           "the query must be one statement: a semicolon stands at its end or nowhere (in a "
                           "text, write chr(59) or char(59))");
  }
  bool reads = *first == '(';
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    reads = reads || begins_with(first, words[i]);
  }
  if (!reads) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "query",
                           "expected a query that reads: it must begin with select, with, values or table");
  }
  return tacit_is_utf8(text, n)
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_ARGUMENT, "query", "the query is not valid UTF-8");
}

tacit_status_t tacit_query_read(const char *query, char **text, tacit_error_t *err) {
  size_t n;
  *text = NULL;
  tacit_status_t status = TACIT_OK;
  if (query[0] == '@') {
    status = tacit_file_read(query + 1, max_query, text, &n, err);
    if (status == TACIT_OK && strlen(*text) != n) {
      status = tacit_error_set(err, TACIT_ERR_ARGUMENT, "query",
                               "%s holds a NUL byte: expected a query as text", query + 1);
    }
  } else {
    *text = tacit_strdup(query);
    status = *text != NULL ? TACIT_OK : tacit_error_memory(err);
  }
  TACIT_THEN(status, check_query(*text, err));
  if (status != TACIT_OK) {
    tacit_free(*text);
    *text = NULL;
  }
  return status;
}

void tacit_query_hash(const char *text, char hash[TACIT_QUERY_HASH_SIZE]) {
  unsigned char bytes[crypto_hash_sha256_BYTES];
  crypto_hash_sha256(bytes, (const unsigned char *)text, strlen(text));
  sodium_bin2hex(hash, TACIT_QUERY_HASH_SIZE, bytes, sizeof bytes);
}
