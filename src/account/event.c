#include <math.h>
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
  const char *number = value + sizeof key - 1;
  if (!tacit_number_parse(number, strlen(number), &event->noise_multiplier) ||
      !(event->noise_multiplier > 0) || isinf(event->noise_multiplier)) {
    return tacit_error_set(err, TACIT_ERR_SYNTAX, "event",
                           "event '%s': sigma (noise sd / sensitivity) must be a finite number above 0", text);
  }
  return TACIT_OK;
}
