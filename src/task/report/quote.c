/* Text in the quoting of each format. */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "report/report_internal.h"

size_t tacit_utf8_decode(const char *s, uint32_t *code) {
  const unsigned char *u = (const unsigned char *)s;
  static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
  size_t n = u[0] < 0x80                   ? 1
             : u[0] >= 0xF0 && u[0] < 0xF8 ? 4
             : u[0] >= 0xE0 && u[0] < 0xF0 ? 3
             : u[0] >= 0xC0 && u[0] < 0xE0 ? 2
                                           : 0;
  uint32_t value = n == 1 ? u[0] : n == 2 ? u[0] & 0x1F : n == 3 ? u[0] & 0x0F : u[0] & 0x07;
  bool ok = n > 0;
  for (size_t i = 1; ok && i < n; i++) {
    ok = (u[i] & 0xC0) == 0x80; /* the terminating NUL ends the loop too */
    value = value << 6 | (u[i] & 0x3F);
  }
  ok = ok && value >= least[n] && value <= 0x10FFFF && !(value >= 0xD800 && value <= 0xDFFF);
  *code = ok ? value : 0xFFFD;
  return ok ? n : 1;
}

void tacit_text_utf8(tacit_text_t *text, uint32_t code) {
  char bytes[4];
  size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  static const unsigned char lead[5] = {0, 0, 0xC0, 0xE0, 0xF0};
  for (size_t i = n - 1; i > 0; i--) {
    bytes[i] = (char)(0x80 | (code & 0x3F));
    code >>= 6;
  }
  bytes[0] = (char)(lead[n] | code);
  tacit_text_append(text, bytes, n);
}

/* Columns of a code point: 0 for combining marks, 2 for East Asian wide ones. */
static size_t code_width(uint32_t code) {
  static const struct {
    uint32_t first, last;
    size_t width;
  } ranges[] = {{0x0300, 0x036F, 0},   {0x200B, 0x200F, 0},  {0x20D0, 0x20FF, 0}, {0xFE00, 0xFE0F, 0},
                {0x1100, 0x115F, 2},   {0x2E80, 0x303E, 2},  {0x3041, 0xA4CF, 2}, {0xAC00, 0xD7A3, 2},
                {0xF900, 0xFAFF, 2},   {0xFE30, 0xFE6F, 2},  {0xFF00, 0xFF60, 2}, {0xFFE0, 0xFFE6, 2},
                {0x1F300, 0x1FAFF, 2}, {0x20000, 0x3FFFD, 2}};
  for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
    if (code >= ranges[i].first && code <= ranges[i].last) {
      return ranges[i].width;
    }
  }
  return 1;
}

size_t tacit_utf8_width(const char *s) {
  size_t width = 0;
  uint32_t code;
  for (; *s != '\0'; s += tacit_utf8_decode(s, &code)) {
    tacit_utf8_decode(s, &code);
    width += code_width(code);
  }
  return width;
}

/* What a line of text, JSON or YAML must not hold as it stands. */
static bool is_control(uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029 || code == 0xFEFF ||
         code == 0xFFFE || code == 0xFFFF;
}

/* The double-quoted string that JSON and YAML share. */
void tacit_text_json_string(tacit_text_t *text, const char *s) {
  tacit_text_append(text, "\"", 1);
  for (uint32_t code; *s != '\0';) {
    s += tacit_utf8_decode(s, &code);
    if (code == '"' || code == '\\') {
      tacit_text_append(text, "\\", 1);
      tacit_text_utf8(text, code);
    } else if (is_control(code)) {
      tacit_text_printf(text, "\\u%04x", (unsigned)code);
    } else {
      tacit_text_utf8(text, code);
    }
  }
  tacit_text_append(text, "\"", 1);
}

void tacit_text_json_number(tacit_text_t *text, double x) {
  if (isfinite(x)) {
    tacit_text_shortest(text, x);
  } else {
    tacit_text_append(text, "null", 4);
  }
}

void tacit_text_json_field(tacit_text_t *text, const char *name, double x) {
  tacit_text_printf(text, ", \"%s\": ", name);
  tacit_text_json_number(text, x);
}

void tacit_text_html(tacit_text_t *text, const char *s) { tacit_text_html_cut(text, s, SIZE_MAX); }

void tacit_text_html_cut(tacit_text_t *text, const char *s, size_t max_width) {
  size_t width = 0, total = max_width == SIZE_MAX ? 0 : tacit_utf8_width(s);
  size_t room = total > max_width ? max_width - 1 : SIZE_MAX;
  for (uint32_t code; *s != '\0';) {
    s += tacit_utf8_decode(s, &code);
    width += code_width(code);
    if (width > room) {
      tacit_text_utf8(text, 0x2026);
      return;
    }
    switch (code) {
    case '&':
      tacit_text_printf(text, "&amp;");
      break;
    case '<':
      tacit_text_printf(text, "&lt;");
      break;
    case '>':
      tacit_text_printf(text, "&gt;");
      break;
    case '"':
      tacit_text_printf(text, "&quot;");
      break;
    case '\'':
      tacit_text_printf(text, "&#39;");
      break;
    default:
      tacit_text_utf8(text, is_control(code) ? ' ' : code);
    }
  }
}

void tacit_text_plain(tacit_text_t *text, const char *s) {
  for (uint32_t code; *s != '\0';) {
    s += tacit_utf8_decode(s, &code);
    tacit_text_utf8(text, is_control(code) ? ' ' : code);
  }
}

/* [-+]digits[.digits][e[-+]digits], with no needless leading zero (YAML 1.1 reads 010 as octal). */
static bool is_decimal_number(const char *s) {
  s += *s == '-' || *s == '+';
  if (!isdigit((unsigned char)s[0]) || (s[0] == '0' && isdigit((unsigned char)s[1]))) {
    return false;
  }
  s += strspn(s, "0123456789");
  if (*s == '.') {
    s += 1 + strspn(s + 1, "0123456789");
  }
  if (*s == 'e' || *s == 'E') {
    s++;
    s += *s == '-' || *s == '+';
    if (!isdigit((unsigned char)*s)) {
      return false;
    }
    s += strspn(s, "0123456789");
  }
  return *s == '\0';
}

/* Words that need no quotes in YAML 1.1 or 1.2 and mean themselves. */
static bool is_plain_word(const char *s) {
  static const char *const reserved[] = {"y", "n", "yes", "no", "on", "off", "null", "nan", "inf"};
  for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
    if (strcasecmp(s, reserved[i]) == 0) {
      return false;
    }
  }
  bool is_start = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z');
  return is_start &&
         s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-")] == '\0';
}

void tacit_text_yaml_string(tacit_text_t *text, const char *s) { tacit_text_json_string(text, s); }

void tacit_text_yaml_scalar(tacit_text_t *text, const char *s) {
  if (is_decimal_number(s) || is_plain_word(s)) {
    tacit_text_append(text, s, strlen(s));
  } else {
    tacit_text_yaml_string(text, s);
  }
}

void tacit_text_csv(tacit_text_t *text, const char *words) {
  bool is_plain = strpbrk(words, ",\"\r\n") == NULL;
  tacit_text_append(text, "\"", is_plain ? 0 : 1);
  for (const char *c = words; *c != '\0'; c++) {
    tacit_text_append(text, "\"\"", *c == '"' ? 2 : 0);
    tacit_text_append(text, c, *c == '"' ? 0 : 1);
  }
  tacit_text_append(text, "\"", is_plain ? 0 : 1);
}
