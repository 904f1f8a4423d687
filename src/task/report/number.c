#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report_internal.h"

enum { MAX_NUMBER = 512 };

/* Append what printf made, its decimal separator (of any length, in any locale) replaced by a point. */
static void append_pointed(tacit_text_t *text, const char *formatted) {
  bool in_separator = false;
  for (const char *s = formatted; *s != '\0'; s++) {
    bool is_part = strchr("0123456789+-eEnNaAiIfF", *s) != NULL;
    if (is_part) {
      tacit_text_append(text, s, 1);
    } else if (!in_separator) {
      tacit_text_append(text, ".", 1);
    }
    in_separator = !is_part;
  }
}

void tacit_text_number(tacit_text_t *text, double x, int digits) {
  char buffer[MAX_NUMBER];
  if (isnan(x)) { /* C may write "-nan" */
    tacit_text_append(text, "nan", 3);
    return;
  }
  snprintf(buffer, sizeof buffer, "%.*g", digits, x);
  append_pointed(text, buffer);
}

/* Words for what has no digits. */
static bool append_special(tacit_text_t *text, double x) {
  if (isfinite(x)) {
    return false;
  }
  tacit_text_printf(text, isnan(x) ? "NA" : x > 0 ? "Inf" : "-Inf");
  return true;
}

void tacit_text_fixed(tacit_text_t *text, double x, int decimals) {
  char buffer[MAX_NUMBER];
  if (append_special(text, x)) {
    return;
  }
  snprintf(buffer, sizeof buffer, "%.*f", decimals, x);
  bool is_zero = strspn(buffer, "-0.,") == strlen(buffer);
  append_pointed(text, is_zero && buffer[0] == '-' ? buffer + 1 : buffer);
}

void tacit_text_shortest(tacit_text_t *text, double x) {
  char buffer[MAX_NUMBER];
  int digits = 15;
  do {
    snprintf(buffer, sizeof buffer, "%.*g", digits, x);
  } while (digits++ < 17 && strtod(buffer, NULL) != x); /* equal exactly: that is what is asked */
  tacit_text_number(text, x, digits - 1);
}

void tacit_text_number_up(tacit_text_t *text, double x, int digits) {
  char buffer[MAX_NUMBER];
  double candidate = x;
  double step = pow(10, -digits);
  /* printf and strtod speak the same locale, whichever it is. */
  for (int i = 0; i < 64; i++) {
    snprintf(buffer, sizeof buffer, "%.*g", digits, candidate);
    if (!(strtod(buffer, NULL) < x)) {
      break;
    }
    candidate += candidate * step + 0x1p-1074;
  }
  append_pointed(text, buffer);
}

static int magnitude(double x) { return (int)floor(log10(fabs(x))); }

void tacit_text_significant(tacit_text_t *text, double x, int digits) {
  if (append_special(text, x)) {
    return;
  }
  int m = fabs(x) > 0 ? magnitude(x) : 0;
  if (m < -4 || m > 6) {
    tacit_text_number(text, x, digits);
  } else {
    int decimals = digits - 1 - m;
    tacit_text_fixed(text, x, decimals > 0 ? decimals : 0);
  }
}

void tacit_text_estimate(tacit_text_t *text, double x, double sd) {
  if (!isfinite(x) || !isfinite(sd) || !(sd > 0)) {
    tacit_text_significant(text, x, 4);
    return;
  }
  int decimals = 2 - magnitude(sd);
  if (decimals >= -4 && decimals <= 6 && fabs(x) < 1e9) {
    tacit_text_fixed(text, x, decimals > 0 ? decimals : 0);
    return;
  }
  int digits = 3 + (fabs(x) > sd ? magnitude(x) - magnitude(sd) : 0);
  tacit_text_number(text, x, digits < 12 ? digits : 12);
}
