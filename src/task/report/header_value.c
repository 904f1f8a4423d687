#include <string.h>

#include "report/report_internal.h"

/* What some reader looks for anywhere in a comment line, or strips from a value. */
static bool starts_signal(const char *s) {
  static const char *const signals[] = {"inverse mass matrix", "(Warm-up)", "(Sampling)",  "(Total)",
                                        "(Default)",           "diag_e",    "fixed_param", "Elapsed Time"};
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
    if (strncmp(s, signals[i], strlen(signals[i])) == 0) {
      return true;
    }
  }
  return false;
}

void tacit_text_header_value(tacit_text_t *text, const char *s) {
  const char *begin = s;
  for (uint32_t code; *s != '\0';) {
    size_t n = tacit_utf8_decode(s, &code);
    bool is_edge_space = code == ' ' && (s == begin || s[1] == '\0');
    bool is_invalid = code == 0xFFFD && n == 1;
    if (code < 0x20 || code == 0x7F || code == '=' || code == '%' || is_edge_space || is_invalid ||
        starts_signal(s)) {
      tacit_text_printf(text, "%%%02X", (unsigned)(unsigned char)*s);
    } else {
      tacit_text_append(text, s, n);
    }
    s += n;
  }
}

static int hex_digit(char c) {
  static const char digits[] = "0123456789ABCDEF";
  const char *found = c != '\0' ? strchr(digits, c) : NULL;
  return found != NULL ? (int)(found - digits) : -1;
}

void tacit_header_value_decode(char *s) {
  char *to = s;
  for (; *s != '\0'; s++, to++) {
    int high = s[0] == '%' ? hex_digit(s[1]) : -1;
    int low = high >= 0 ? hex_digit(s[2]) : -1;
    int byte = low >= 0 ? high * 16 + low : 0;
    if (byte != 0) { /* an encoded NUL would cut the text short: leave it as it stands */
      *to = (char)byte;
      s += 2;
    } else {
      *to = *s;
    }
  }
  *to = '\0';
}
