/*
 * What a field of a CSV file looks like, for messages that name what was found instead of what was expected.
 * Values are never in them.
 */
#include <string.h>

#include "base/number.h"
#include "data/data_internal.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* How many of the bytes from `at` on are digits (or letters), at most `most`. */
static size_t run_look(const char *text, size_t n, size_t at, bool (*is)(char), size_t most) {
  size_t length = 0;
  while (at + length < n && length < most && is(text[at + length])) {
    length++;
  }
  return length;
}

/* 31.12.1999, 12/31/99, 1999-12-31, 31-Dec-1999, with or without a time; 23:59. */
static bool is_date(const char *text, size_t n) {
  size_t at = run_look(text, n, 0, is_digit, 4);
  if (at == 0 || at == n) {
    return false;
  }
  char separator = text[at++];
  if (separator == ':') {
    return at <= 3 && run_look(text, n, at, is_digit, 2) == 2 && (at + 2 == n || text[at + 2] == ':');
  }
  size_t digits = run_look(text, n, at, is_digit, 2), letters = run_look(text, n, at, is_letter, 9);
  at += digits > 0 ? digits : letters;
  bool is_month = digits > 0 || letters >= 3;
  if (strchr("-/.", separator) == NULL || separator == '\0' || !is_month || at >= n ||
      text[at++] != separator) {
    return false;
  }
  size_t year = run_look(text, n, at, is_digit, 4);
  at += year;
  return year > 0 &&
         (at == n || ((text[at] == ' ' || text[at] == 'T') && run_look(text, n, at + 1, is_digit, 2) > 0));
}

static bool is_word(const char *text, size_t n, const char *const *words, size_t n_words) {
  for (size_t i = 0; i < n_words; i++) {
    if (strlen(words[i]) == n && memcmp(text, words[i], n) == 0) {
      return true;
    }
  }
  return false;
}

/* A number but for its comma, or with commas or points between thousands as well. */
static bool is_comma_number(const char *text, size_t n) {
  char plain[64];
  size_t length = 0, n_commas = 0;
  for (size_t i = 0; i < n && length < sizeof plain; i++) {
    n_commas += text[i] == ',';
    if (text[i] != ',' && text[i] != '.') {
      plain[length++] = text[i];
    }
  }
  double value;
  return n_commas > 0 && n < sizeof plain && tacit_number_parse(plain, length, &value);
}

tacit_look_t tacit_look(const char *text, size_t n) {
  static const char *const truths[] = {"TRUE", "FALSE", "True", "False", "true", "false", "T",
                                       "yes",  "no",    "Yes",  "No",    "YES",  "NO"};
  static const char *const missings[] = {"NaN",  "nan",  "N/A",  "n/a",  "#N/A", "na",
                                         "null", "NULL", "None", "none", "."};
  double value;
  if (tacit_is_missing(text, n) || is_word(text, n, missings, sizeof missings / sizeof missings[0])) {
    return TACIT_LOOK_MISSING;
  }
  if (tacit_number_parse(text, n, &value)) {
    return TACIT_LOOK_NUMBER;
  }
  if (is_comma_number(text, n)) {
    return TACIT_LOOK_COMMA;
  }
  if (is_word(text, n, truths, sizeof truths / sizeof truths[0])) {
    return TACIT_LOOK_TRUTH;
  }
  return is_date(text, n) ? TACIT_LOOK_DATE : TACIT_LOOK_TEXT;
}

const char *tacit_look_string(tacit_look_t look) {
  static const char *const words[] = {"text",           "a number",      "a number with a comma",
                                      "a date or time", "true or false", "a missing value"};
  return words[look];
}
