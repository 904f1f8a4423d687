/* Rows of the shared reference numbers as events. */
#ifndef TACIT_TESTS_ACCOUNT_ROWS_H
#define TACIT_TESTS_ACCOUNT_ROWS_H

#include <jansson.h>
#include <string.h>

#include "support.h"

enum { MAX_ROW_EVENTS = 2000 };

static inline double row_get(const json_t *row, const char *key, double otherwise) {
  const json_t *value = json_object_get(row, key);
  return json_is_number(value) ? json_number_value(value) : otherwise;
}

static inline const char *row_text(const json_t *row, const char *key) {
  const char *text = json_string_value(json_object_get(row, key));
  return text != NULL ? text : "";
}

static inline tacit_event_t row_event(const json_t *row) {
  const char *mechanism = row_text(row, "mechanism");
  tacit_event_t event = {.count = (uint64_t)row_get(row, "compositions", row_get(row, "count", 1)),
                         .noise_multiplier =
                             row_get(row, "sigma", row_get(row, "scale", row_get(row, "sigma_parameter", 0))),
                         .sampling_rate = row_get(row, "q", 0)};
  event.sampling = event.sampling_rate > 0 ? TACIT_SAMPLING_POISSON : TACIT_SAMPLING_NONE;
  if (strstr(mechanism, "laplace") != NULL) {
    event.kind = TACIT_EVENT_LAPLACE;
  } else if (strcmp(mechanism, "discrete_gaussian") == 0) {
    event.kind = TACIT_EVENT_DISCRETE_GAUSSIAN;
  } else if (strcmp(mechanism, "randomized_response") == 0) {
    event = (tacit_event_t){.kind = TACIT_EVENT_RANDOMIZED_RESPONSE,
                            .probability = row_get(row, "noise_parameter", 0),
                            .buckets = (uint64_t)row_get(row, "buckets", 0),
                            .count = event.count};
  }
  if (event.sampling_rate >= 1) {
    event.sampling = TACIT_SAMPLING_NONE;
    event.sampling_rate = 0;
  }
  return event;
}

/* Events of a row, shape (MAX_ROW_EVENTS); returns how many. */
static inline size_t row_events(const json_t *row, tacit_event_t *events) {
  const json_t *list = json_object_get(row, "events");
  size_t n = 0;
  if (json_is_array(list)) {
    for (; n < json_array_size(list) && n < MAX_ROW_EVENTS; n++) {
      events[n] = row_event(json_array_get(list, n));
    }
    return n;
  }
  if (strcmp(row_text(row, "mechanism"), "sghmc_schedule") ==
      0) { /* sigma_t = sqrt(2 C / (eta_t L^2)), eta_t = 3 t^(-1/3) */
    for (; n < (size_t)row_get(row, "T", 0) && n < MAX_ROW_EVENTS; n++) {
      events[n] = (tacit_event_t){.sampling = TACIT_SAMPLING_POISSON,
                                  .sampling_rate = row_get(row, "q", 0),
                                  .noise_multiplier = sqrt(2 / (3 * pow((double)(n + 1), -1. / 3) * 0.49)),
                                  .count = (uint64_t)row_get(row, "J", 0)};
    }
    return n;
  }
  events[0] = row_event(row);
  return 1;
}

typedef void (*row_check_t)(const json_t *row, const tacit_event_t *events, size_t n);

/* Call `check` for every row of a file of the shared folder, in a short test for some of them, spread evenly.
 */
static inline void for_each_row(const char *name, row_check_t check) {
  char path[4096];
  json_error_t error;
  snprintf(path, sizeof path, "%s/reference/%s.json", testing_shared(), name);
  json_t *root = json_load_file(path, 0, &error);
  assert_non_null(root);
  const json_t *rows = json_object_get(root, "rows");
  tacit_event_t *events = malloc(MAX_ROW_EVENTS * sizeof *events);
  size_t stride = (size_t)fmax(1, 1 / testing_multiplier());
  for (size_t i = 0; i < json_array_size(rows); i += stride) {
    const json_t *row = json_array_get(rows, i);
    check(row, events, row_events(row, events));
  }
  free(events);
  json_decref(root);
}

#endif
