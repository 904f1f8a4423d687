#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "account/account_internal.h"

tacit_status_t tacit_event_check(const tacit_event_t *event, tacit_error_t *err) {
  if (event->kind != TACIT_EVENT_GAUSSIAN) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "kind", "unknown kind of event");
  }
  if (!(event->noise_multiplier > 0)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "sigma",
                           "the noise multiplier of an event must be above 0, not %g", event->noise_multiplier);
  }
  if (event->count < 1) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "count", "the count of an event must be at least 1");
  }
  return TACIT_OK;
}

double tacit_event_rho(const tacit_event_t *event) {
  if (isinf(event->noise_multiplier)) {
    return 0;
  }
  /* in this order, so that a tiny multiplier does not underflow when squared */
  return 0.5 * (double)event->count / event->noise_multiplier / event->noise_multiplier;
}

void tacit_exact_sum_add(tacit_exact_sum_t *sum, double term) {
  double total = sum->high + term;
  if (isinf(total)) {
    *sum = (tacit_exact_sum_t){INFINITY, 0};
    return;
  }
  double virtual_term = total - sum->high; /* Knuth's two-sum */
  sum->low += (sum->high - (total - virtual_term)) + (term - virtual_term);
  sum->high = total;
}

/* Terms are within 4 units of 2^-53, their compensated sum within one more: 16 covers all. */
double tacit_rho_upper(const tacit_exact_sum_t *sum) {
  return (sum->high + sum->low) * (1 + 16 * 0x1p-53);
}

double tacit_rho_lower(const tacit_exact_sum_t *sum) {
  return (sum->high + sum->low) * (1 - 16 * 0x1p-53);
}

/*
 * A number in C-locale spelling, whatever the locale: digits and one point are gathered by hand, the value is
 * integer mantissa times a power of ten in extended precision.
 */
static bool parse_number(const char *text, double *value) {
  long double mantissa = 0;
  int exponent = 0, n_digits = 0;
  bool seen_point = false;
  for (; (*text >= '0' && *text <= '9') || (*text == '.' && !seen_point); text++) {
    if (*text == '.') {
      seen_point = true;
      continue;
    }
    mantissa = mantissa * 10 + (*text - '0');
    exponent -= seen_point ? 1 : 0;
    n_digits++;
  }
  if (n_digits == 0 || n_digits > 300) {
    return false;
  }
  if (*text == 'e' || *text == 'E') {
    char *end;
    errno = 0;
    long power = strtol(text + 1, &end, 10);
    if (end == text + 1 || errno != 0 || power > 1000 || power < -1000) {
      return false;
    }
    exponent += (int)power;
    text = end;
  }
  *value = (double)(mantissa * powl(10, exponent));
  return *text == '\0' && isfinite(*value);
}

tacit_status_t tacit_event_parse(tacit_event_t *event, const char *text, tacit_error_t *err) {
  *event = (tacit_event_t){.kind = TACIT_EVENT_GAUSSIAN, .count = 1};
  static const char prefix[] = "gaussian", key[] = "sigma=";
  size_t n = strcspn(text, ":");
  if (n != sizeof prefix - 1 || strncmp(text, prefix, n) != 0) {
    return tacit_error_set(err, TACIT_ERR_UNKNOWN, "event",
                           "event '%s': unknown mechanism; known: gaussian:sigma=NOISE_MULTIPLIER", text);
  }
  const char *value = text[n] == ':' ? text + n + 1 : "";
  if (strncmp(value, key, sizeof key - 1) != 0) {
    return tacit_error_set(err, TACIT_ERR_SYNTAX, "event",
                           "event '%s': expected gaussian:sigma=NOISE_MULTIPLIER, as in gaussian:sigma=20", text);
  }
  if (!parse_number(value + sizeof key - 1, &event->noise_multiplier) || !(event->noise_multiplier > 0)) {
    return tacit_error_set(err, TACIT_ERR_SYNTAX, "event",
                           "event '%s': sigma (noise sd / sensitivity) must be a finite number above 0", text);
  }
  return TACIT_OK;
}
