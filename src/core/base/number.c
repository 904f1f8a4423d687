#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

enum { MAX_LITERAL = 63 };

static size_t digits(const char *text) {
  size_t n = 0;
  while (text[n] >= '0' && text[n] <= '9') {
    n++;
  }
  return n;
}

static size_t literal_length(const char *text) {
  size_t whole = digits(text), n = whole, fraction = 0;
  if (text[n] == '.') {
    fraction = digits(text + n + 1);
    n += 1 + fraction;
  }
  if (whole + fraction == 0) {
    return 0;
  }
  if (text[n] == 'e' || text[n] == 'E') {
    size_t sign = text[n + 1] == '+' || text[n + 1] == '-' ? 1 : 0;
    size_t exponent = digits(text + n + 1 + sign);
    n += exponent > 0 ? 1 + sign + exponent : 0;
  }
  return n;
}

/* uselocale() switches the calling thread alone, so the process's locale is left as it is. */
static locale_t enter_c_locale(locale_t *c) {
  *c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  return uselocale(*c);
}

static void leave_c_locale(locale_t c, locale_t before) {
  uselocale(before);
  if (c != (locale_t)0) {
    freelocale(c);
  }
}

static size_t add_digits(const char *text, uint64_t *number) {
  size_t n = 0;
  for (unsigned digit; (digit = (unsigned)(text[n] - '0')) <= 9; n++) {
    *number = *number * 10 + digit;
  }
  return n;
}

/*
 * Up to 18 digits over a power of ten, both exact: one rounding gives the correctly rounded value whenever
 * the digits fit into 53 bits. 0 if the literal is not of that kind.
 */
static size_t scan_exactly(const char *text, double *value) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                  1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
  uint64_t mantissa = 0;
  size_t whole = add_digits(text, &mantissa), n = whole, fraction = 0;
  if (text[n] == '.') {
    fraction = add_digits(text + n + 1, &mantissa);
    n += 1 + fraction;
  }
  if (whole + fraction == 0 || whole + fraction > 18 || text[n] == 'e' || text[n] == 'E' ||
      mantissa > (uint64_t)1 << 53) {
    return 0;
  }
  *value = fraction > 0 ? (double)mantissa / powers[fraction] : (double)mantissa;
  return n;
}

size_t tacit_number_scan(const char *text, double *value) {
  size_t n = scan_exactly(text, value);
  if (n > 0) {
    return n;
  }
  n = literal_length(text);
  *value = INFINITY;
  if (n == 0 || n > MAX_LITERAL) {
    return n;
  }
  char literal[MAX_LITERAL + 1];
  memcpy(literal, text, n);
  literal[n] = '\0';
  locale_t c, before = enter_c_locale(&c);
  *value = strtod(literal, NULL);
  leave_c_locale(c, before);
  return n;
}

double tacit_number_round_up(double x) {
  double unit = pow(10, floor(log10(x)) - 1);
  return isfinite(x) ? ceil(x / unit * (1 - 1e-9)) * unit : x;
}

const char *tacit_number_format(double value, char out[TACIT_NUMBER_SIZE]) {
  locale_t c, before = enter_c_locale(&c);
  snprintf(out, TACIT_NUMBER_SIZE, "%.10g", value);
  leave_c_locale(c, before);
  return out;
}

const char *tacit_number_exact(double value, char out[TACIT_NUMBER_SIZE]) {
  locale_t c, before = enter_c_locale(&c);
  for (int digits_used = 15; digits_used <= 17; digits_used++) {
    snprintf(out, TACIT_NUMBER_SIZE, "%.*g", digits_used, value);
    double read = strtod(out, NULL);
    if (read >= value && read <= value) {
      break;
    }
  }
  leave_c_locale(c, before);
  return out;
}

bool tacit_number_parse(const char *text, size_t n, double *value) {
  while (n > 0 && (*text == ' ' || *text == '\t')) {
    text++;
    n--;
  }
  while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t')) {
    n--;
  }
  bool is_negative = n > 0 && *text == '-';
  if (n > 0 && (*text == '-' || *text == '+')) {
    text++;
    n--;
  }
  char literal[MAX_LITERAL + 2];
  if (n == 0 || n > MAX_LITERAL) {
    return false;
  }
  memcpy(literal, text, n);
  literal[n] = '\0';
  if (tacit_number_scan(literal, value) != n) {
    return false;
  }
  *value = is_negative ? -*value : *value;
  return true;
}
