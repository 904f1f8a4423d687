/*
 * Does what a run charged fit into what it reserved.
 */
#include <string.h>

#include "ledger/ledger_internal.h"

static bool is_equal(double a, double b) { return a >= b && a <= b; }

/* Whatever Gaussian releases are counted with bits, and in which groups. */
static bool is_same_event(const tacit_event_t *a, const tacit_event_t *b) {
  return a->kind == b->kind && a->sampling == b->sampling &&
         is_equal(a->noise_multiplier, b->noise_multiplier) && is_equal(a->sensitivity, b->sensitivity) &&
         is_equal(a->sigma, b->sigma) && is_equal(a->kappa, b->kappa) && is_equal(a->cap, b->cap) &&
         strcmp(a->label, b->label) == 0;
}

static uint64_t total_count(const tacit_event_t *events, size_t n_events, const tacit_event_t *like) {
  uint64_t total = 0;
  for (size_t i = 0; i < n_events; i++) {
    if (is_same_event(&events[i], like) && __builtin_add_overflow(total, events[i].count, &total)) {
      return UINT64_MAX;
    }
  }
  return total;
}

/* rho of the Gaussian releases that are counted with bits. */
static double rho_with_bits(const tacit_event_t *events, size_t n_events) {
  double rho = 0;
  for (size_t i = 0; i < n_events; i++) {
    rho += events[i].rho > 0 ? (double)events[i].count * events[i].rho : 0;
  }
  return rho;
}

bool tacit_events_are_within(const tacit_event_t *events, size_t n_events, const tacit_event_t *reserved,
                             size_t n_reserved) {
  double rho = rho_with_bits(events, n_events);
  for (size_t i = 0; i < n_events; i++) {
    const tacit_event_t *event = &events[i];
    uint64_t wanted = total_count(events, n_events, event), room = total_count(reserved, n_reserved, event);
    if (wanted == UINT64_MAX || (wanted > room && event->kind != TACIT_EVENT_GAUSSIAN)) {
      return false;
    }
    if (wanted > room && total_count(events, i, event) == 0) { /* once for all alike */
      rho += 0.5 * (double)(wanted - room) / event->noise_multiplier / event->noise_multiplier;
    }
  }
  return rho <= rho_with_bits(reserved, n_reserved) * (1 + 1e-12);
}
