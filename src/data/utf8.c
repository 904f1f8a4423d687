#include "data/data_internal.h"

size_t tacit_data_utf8_decode(const char *text, size_t n, uint32_t *code) {
  /* Smallest code point of each length: a shorter spelling exists below it [Unicode 15, table 3-7]. */
  static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const unsigned char *s = (const unsigned char *)text;
  if (n == 0) {
    return 0;
  }
  if (s[0] < 0x80) {
    *code = s[0];
    return 1;
  }
  size_t length = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
  if (s[0] < 0xC2 || s[0] > 0xF4 || length > n) {
    return 0;
  }
  uint32_t value = s[0] & (0x7Fu >> length);
  for (size_t k = 1; k < length; k++) {
    if ((s[k] & 0xC0) != 0x80) {
      return 0;
    }
    value = value << 6 | (s[k] & 0x3Fu);
  }
  bool is_surrogate = value >= 0xD800 && value <= 0xDFFF;
  *code = value;
  return value < smallest[length] || is_surrogate || value > 0x10FFFF ? 0 : length;
}

bool tacit_is_utf8(const char *text, size_t n) {
  uint32_t code;
  for (size_t i = 0, length; i < n; i += length) {
    length = tacit_data_utf8_decode(text + i, n - i, &code);
    if (length == 0) {
      return false;
    }
  }
  return true;
}
