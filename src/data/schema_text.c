/*
 * Names and texts as YAML.
 */
#include <string.h>

#include "data/schema_internal.h"

/* YAML wants keys beyond 1024 characters marked by ?; an escape is six for one byte. */
enum { longest_simple_key = 128 };

/* Equal but for the case of ASCII letters, in any locale; `word` is of lower-case letters. */
static bool is_word(const char *name, const char *word) {
  while (*word != '\0' && (*name | 0x20) == *word) {
    name++;
    word++;
  }
  return *name == '\0' && *word == '\0';
}

/* A letter, then letters, digits and underscores, and no word that some reader of YAML takes for a truth
 * value. */
static bool is_plain(const char *name) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  static const char *const words[] = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (is_word(name, words[i])) {
      return false;
    }
  }
  return name[0] != '\0' && name[strspn(name, letters)] == '\0' && strspn(name, letters + 52) == 0;
}

/* Characters that YAML takes as they are inside quotes [YAML 1.1, c-printable], and which do not end a line.
 */
static bool is_printable(uint32_t code) {
  if (code < 0xA0) {
    return code >= 0x20 && code < 0x7F;
  }
  return code != 0x2028 && code != 0x2029 && code != 0xFEFF && code != 0xFFFE && code != 0xFFFF;
}

void tacit_schema_append_text(tacit_text_t *text, const char *name, size_t n) {
  if (is_plain(name)) {
    tacit_text_append(text, name, n);
    return;
  }
  tacit_text_append(text, "\"", 1);
  for (size_t i = 0, length; i < n; i += length) {
    uint32_t code = 0;
    length = tacit_data_utf8_decode(name + i, n - i, &code);
    if (code == '"' || code == '\\') {
      tacit_text_printf(text, "\\%c", name[i]);
    } else if (is_printable(code)) {
      tacit_text_append(text, name + i, length);
    } else {
      tacit_text_printf(text, "\\u%04X", (unsigned)code);
    }
  }
  tacit_text_append(text, "\"", 1);
}

void tacit_schema_append_key(tacit_text_t *text, const char *indent, const char *name) {
  size_t n = strlen(name);
  bool is_long = n > longest_simple_key;
  tacit_text_printf(text, is_long ? "%s? " : "%s", indent);
  tacit_schema_append_text(text, name, n);
  if (is_long) {
    tacit_text_printf(text, "\n%s", indent);
  }
}
