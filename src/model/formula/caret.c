#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "formula/model_text.h"

/* With a reason of at most 383 bytes all three lines fit tacit_error_t.message. */
enum { WINDOW = 140, BEFORE = 90, REASON = 384 };

static bool is_continuation(char c) {
  return ((unsigned char)c & 0xC0) == 0x80; /* second and later bytes of a UTF-8 character */
}

/* Copy what is shown of the text; return the caret's column in characters. */
static size_t show(const char *text, size_t offset, char out[WINDOW + 8]) {
  size_t length = strlen(text);
  size_t first = 0, last = length;
  if (length > WINDOW) {
    first = offset > BEFORE ? offset - BEFORE : 0;
    last = length - first > WINDOW ? first + WINDOW : length;
    while (first < offset && is_continuation(text[first])) {
      first++;
    }
    while (last > offset && last < length && is_continuation(text[last])) {
      last--;
    }
  }
  size_t n = 0, column = 0;
  if (first > 0) {
    memcpy(out, "...", 3);
    n = column = 3;
  }
  for (size_t i = first; i < last; i++) {
    unsigned char c = (unsigned char)text[i];
    out[n++] = c < 0x20 || c == 0x7F ? ' ' : text[i];
    column += i < offset && !is_continuation(text[i]);
  }
  if (last < length) {
    memcpy(out + n, "...", 3);
    n += 3;
  }
  out[n] = '\0';
  return column;
}

tacit_status_t tacit_caret_error(tacit_error_t *err, tacit_status_t status, const char *what,
                                 const char *text, size_t offset, const char *format, ...) {
  char reason[REASON], shown[WINDOW + 8];
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  size_t column = show(text, offset, shown);
  return tacit_error_set(err, status, what, "%s: %s\n  %s\n  %*s^", what, reason, shown, (int)column, "");
}
