/*
 * Events in the vocabulary of Google's dp_accounting library, by its own JSON form of them
 * (DpEvent.to_named_tuple): another implementation can recompute the guarantee.
 */
#include <math.h>

#include "base/error.h"
#include "base/number.h"
#include "base/text.h"
#include "account/account_internal.h"

static void number(tacit_text_t *text, const char *key, double value) {
  char digits[TACIT_NUMBER_SIZE];
  tacit_text_printf(text, ", \"%s\": %s", key, tacit_number_exact(value, digits));
}

static void open_class(tacit_text_t *text, const char *name) {
  tacit_text_printf(text, "{\"module_name\": \"dp_accounting.dp_event\", \"class_name\": \"%s\"", name);
}

static bool put_mechanism(tacit_text_t *text, const tacit_event_t *event) {
  switch (event->kind) {
  case TACIT_EVENT_GAUSSIAN:
    open_class(text, "GaussianDpEvent");
    number(text, "noise_multiplier", event->noise_multiplier);
    break;
  case TACIT_EVENT_LAPLACE:
    open_class(text, "LaplaceDpEvent");
    number(text, "noise_multiplier", event->noise_multiplier);
    break;
  case TACIT_EVENT_DISCRETE_GAUSSIAN:
    open_class(text, "ZCDpEvent"); /* it knows no discrete Gaussian: the zCDP that bounds it [Canonne2020] */
    number(text, "rho", 0.5 / event->noise_multiplier / event->noise_multiplier * (1 + 0x1p-50));
    number(text, "xi", 0);
    break;
  case TACIT_EVENT_RANDOMIZED_RESPONSE:
    open_class(text, "RandomizedResponseDpEvent");
    number(text, "noise_parameter", event->probability);
    number(text, "num_buckets", (double)event->buckets);
    break;
  default:
    return false;
  }
  tacit_text_printf(text, "}");
  return true;
}

/* Shares of records go as counts out of 10^9: the class knows no other form. */
static bool put_sampled(tacit_text_t *text, const tacit_event_t *event) {
  switch (event->sampling) {
  case TACIT_SAMPLING_NONE:
    return put_mechanism(text, event);
  case TACIT_SAMPLING_POISSON:
    open_class(text, "PoissonSampledDpEvent");
    number(text, "sampling_probability", event->sampling_rate);
    break;
  case TACIT_SAMPLING_WITHOUT_REPLACEMENT:
    open_class(text, "SampledWithoutReplacementDpEvent");
    number(text, "source_dataset_size", 1e9);
    number(text, "sample_size", ceil(event->sampling_rate * 1e9));
    break;
  default:
    return false;
  }
  tacit_text_printf(text, ", \"event\": ");
  bool is_known = put_mechanism(text, event);
  tacit_text_printf(text, "}");
  return is_known;
}

static bool put_counted(tacit_text_t *text, const tacit_event_t *event) {
  open_class(text, "SelfComposedDpEvent");
  tacit_text_printf(text, ", \"event\": ");
  bool is_known = put_sampled(text, event);
  tacit_text_printf(text, ", \"count\": %llu}", (unsigned long long)event->count);
  return is_known;
}

tacit_status_t tacit_events_json(const tacit_event_t *events, size_t n_events, char **json,
                                 tacit_error_t *err) {
  *json = NULL;
  tacit_status_t status = tacit_events_check(events, n_events, err);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_text_t text = {0};
  open_class(&text, "ComposedDpEvent");
  tacit_text_printf(&text, ", \"events\": [");
  for (size_t i = 0; i < n_events; i++) {
    tacit_text_printf(&text, "%s\n  ", i > 0 ? "," : "");
    if (!put_counted(&text, &events[i])) {
      char name[TACIT_EVENT_TEXT_SIZE];
      tacit_event_format(&events[i], name);
      tacit_text_clear(&text);
      return tacit_error_set(err, TACIT_ERR_ARGUMENT, "event", "dp_accounting has no event for %s", name);
    }
  }
  tacit_text_printf(&text, "]}");
  return tacit_text_take(&text, TACIT_OK, json, err);
}
