/* Shared by the accounting tests. */
#ifndef TACIT_TESTS_ACCOUNT_SUPPORT_H
#define TACIT_TESTS_ACCOUNT_SUPPORT_H

#include "testing.h"

#include "account/account_internal.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static inline tacit_event_t gaussian(double sigma, uint64_t count) {
  return (tacit_event_t){.noise_multiplier = sigma, .count = count, .label = "gradient"};
}

/* Of the spelling that `tacit account --event` takes. */
static inline tacit_event_t parse(const char *spec, uint64_t count) {
  tacit_event_t event;
  tacit_error_t err;
  assert_ok(tacit_event_parse(&event, spec, &err), err);
  event.count = count;
  return event;
}

/* Uniform on [0, 1): Knuth's multiplier, high bits. */
static inline double uniform(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 11) * 0x1p-53;
}

/* 10^u, u uniform on [low, high). */
static inline double log_uniform(uint64_t *state, double low, double high) {
  return pow(10, low + (high - low) * uniform(state));
}

#endif
