/*
 * Events as people write them, and what makes one well formed.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "account/account_internal.h"

tacit_status_t tacit_event_check(const tacit_event_t *event, tacit_error_t *err) {
  char number[TACIT_NUMBER_SIZE];
  switch (event->kind) {
    case TACIT_EVENT_GAUSSIAN: break;
    default:
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "kind", "event of unknown kind %d; known: 0 (gaussian)",
                             (int)event->kind);
  }
  if (!(event->noise_multiplier > 0)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "sigma",
                           "the noise multiplier of an event must be above 0, not %s",
                           tacit_number_format(event->noise_multiplier, number));
  }
  if (event->count < 1 || event->count > TACIT_MAX_COUNT) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "count", "the count of an event must be from 1 to 1e18, not %llu",
                           (unsigned long long)event->count);
  }
  if (memchr(event->label, '\0', sizeof event->label) == NULL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "label",
                           "the label of an event must end with a zero byte within its %zu bytes",
                           sizeof event->label);
  }
  return TACIT_OK;
}

/* Echoed in messages: enough of a wrong text to recognise it. */
#define SHOWN "event '%.60s'"

static tacit_status_t parse_sigma(double *sigma, const char *value, size_t n, const char *text,
                                  tacit_error_t *err) {
  if (*sigma > 0) {
    return tacit_error_set(err, TACIT_ERR_SYNTAX, "event", SHOWN ": sigma is given twice", text);
  }
  if (!tacit_number_parse(value, n, sigma) || !(*sigma > 0) || isinf(*sigma)) {
    return tacit_error_set(err, TACIT_ERR_SYNTAX, "event",
                           SHOWN ": sigma (noise sd / sensitivity) must be a finite number above 0", text);
  }
  return TACIT_OK;
}

/* One "key=value" of a Gaussian event, n bytes at `at`. */
static tacit_status_t parse_field(tacit_event_t *event, const char *at, size_t n, const char *text,
                                  tacit_error_t *err) {
  static const char key[] = "sigma";
  size_t n_key = strcspn(at, "=,");
  if (n_key == n) {
    return tacit_error_set(err, TACIT_ERR_SYNTAX, "event",
                           SHOWN ": expected gaussian:sigma=NOISE_MULTIPLIER, as in gaussian:sigma=20", text);
  }
  if (n_key != sizeof key - 1 || strncmp(at, key, n_key) != 0) {
    return tacit_error_set(err, TACIT_ERR_UNKNOWN, "event",
                           SHOWN ": unknown key '%.*s'; a gaussian event has the key sigma, as in gaussian:sigma=20",
                           text, n_key < 30 ? (int)n_key : 30, at);
  }
  return parse_sigma(&event->noise_multiplier, at + n_key + 1, n - n_key - 1, text, err);
}

tacit_status_t tacit_event_parse(tacit_event_t *event, const char *text, tacit_error_t *err) {
  static const char gaussian[] = "gaussian";
  *event = (tacit_event_t){.kind = TACIT_EVENT_GAUSSIAN, .count = 1};
  size_t n = strcspn(text, ":");
  if (n != sizeof gaussian - 1 || strncmp(text, gaussian, n) != 0) {
    return tacit_error_set(err, TACIT_ERR_UNKNOWN, "event",
                           SHOWN ": unknown mechanism; known: gaussian:sigma=NOISE_MULTIPLIER", text);
  }
  const char *at = text + n;
  do { /* at the colon or comma before a field, or at the end of "gaussian" alone */
    at += *at != '\0';
    n = strcspn(at, ",");
    tacit_status_t status = parse_field(event, at, n, text, err);
    if (status != TACIT_OK) {
      return status;
    }
    at += n;
  } while (*at == ',');
  return TACIT_OK;
}

const char *tacit_event_format(const tacit_event_t *event, char text[TACIT_EVENT_TEXT_SIZE]) {
  char number[TACIT_NUMBER_SIZE];
  snprintf(text, TACIT_EVENT_TEXT_SIZE, "gaussian:sigma=%s",
           tacit_number_format_exactly(event->noise_multiplier, number));
  return text;
}
