/*
 * What a run releases, as events.
 */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "sample/sample_internal.h"

static tacit_event_t gaussian(double noise_multiplier, uint64_t count, const char *label) {
  tacit_event_t event = {.kind = TACIT_EVENT_GAUSSIAN, .noise_multiplier = noise_multiplier, .count = count};
  snprintf(event.label, sizeof event.label, "%s", label);
  return event;
}

static double rho_of(double noise_multiplier) {
  return 0.5 / (noise_multiplier * noise_multiplier) * (1 + 0x1p-50);
}

tacit_minibatch_rule_t tacit_minibatch_rule_of(const tacit_method_t *method,
                                               const tacit_sampler_settings_t *s) {
  return (tacit_minibatch_rule_t){.max_bound = s->accept_rule.max_bound,
                                  .intensity = s->intensity,
                                  .n_public = s->n_public,
                                  .max_batch = s->max_batch,
                                  .is_metropolis = !method->is_private};
}

enum { MOST_KINDS = 8 }; /* six of a start, two of an iteration; more where steps decay */

typedef struct list {
  tacit_event_t *events;
  size_t n;
} list_t;

static void add(list_t *list, tacit_event_t event, uint64_t count) {
  event.count = count;
  if (count > 0) {
    list->events[list->n++] = event;
  }
}

static void add_tuning(list_t *list, const tacit_sampler_settings_t *s) {
  add(list, gaussian(s->noise_multiplier_norms, 1, "gradient norms"), tacit_settings_tune_clips(s) ? 1 : 0);
  add(list, gaussian(s->noise_multiplier_metric, 1, "curvature"), s->tune_metric ? 1 : 0);
}

/* In the order of warm_start.c: tuning before the climb and halfway. */
static void add_start(list_t *list, const tacit_sampler_settings_t *s) {
  size_t rounds = tacit_tuning_n_rounds(s);
  uint64_t n = s->n_init_steps, half = rounds > 0 ? n / 2 : 0;
  tacit_event_t gradients = gaussian(s->noise_multiplier_init, 1, "gradient");
  if (rounds == 2) {
    add_tuning(list, s);
  }
  add(list, gradients, half);
  if (rounds > 0) {
    add_tuning(list, s);
  }
  add(list, gradients, n - half);
}

static void add_decisions(list_t *list, const tacit_method_t *method, const tacit_sampler_settings_t *s,
                          const tacit_curator_t *curator, uint64_t count) {
  tacit_traits_t traits = tacit_method_traits(method, s);
  tacit_minibatch_rule_t rule = tacit_minibatch_rule_of(method, s);
  tacit_event_t event;
  switch (traits.decision) {
  case TACIT_DECISION_RATIO:
    add(list, gaussian(s->noise_multiplier_ratio, 1, "log-ratio"), count);
    return;
  case TACIT_DECISION_SAMPLED_RATIO:
  case TACIT_DECISION_SAMPLED_BARKER:
    event = tacit_curator_sampled_event(s->sampling_rate, s->noise_multiplier_ratio);
    snprintf(event.label, sizeof event.label, "log-ratio");
    add(list, event, count);
    return;
  case TACIT_DECISION_MINIBATCH:
    add(list, tacit_curator_minibatch_event(curator, &rule), count);
    return;
  case TACIT_DECISION_LANGEVIN:
    event = tacit_curator_langevin_event(curator, &s->accept_rule, s->inv_metric, s->step_size);
    event.rho = rho_of(s->noise_multiplier_grad);
    break;
  default:
    event = tacit_curator_accept_event(curator, &s->accept_rule);
    event.rho = traits.move == TACIT_MOVE_HAMILTONIAN
                    ? (double)(s->n_leapfrog + (s->reuse_gradient ? 0 : 1)) * rho_of(s->noise_multiplier_grad)
                    : 0;
    break;
  }
  event.together = event.rho > 0 && s->n_chains > 1 ? s->n_chains : 0;
  add(list, event, count);
}

static void add_gradients(list_t *list, const tacit_method_t *method, const tacit_sampler_settings_t *s,
                          uint64_t n) {
  tacit_traits_t traits = tacit_method_traits(method, s);
  bool is_hamiltonian = traits.move == TACIT_MOVE_HAMILTONIAN, is_bit = traits.decision == TACIT_DECISION_BIT;
  uint64_t steps = s->n_leapfrog + (s->reuse_gradient ? 0 : 1), first = s->reuse_gradient ? s->n_chains : 0;
  if (is_hamiltonian) { /* with bits, only the first comes before them all */
    add(list, gaussian(s->noise_multiplier_grad, 1, "gradient"),
        first + (is_bit ? 0 : n * s->n_chains * steps));
  }
}

/* Stochastic gradients, of equal multipliers one event. */
static void add_stochastic(list_t *list, const tacit_method_t *method, const tacit_sampler_settings_t *s,
                           uint64_t n) {
  uint64_t steps = s->n_chains * tacit_stochastic_steps(tacit_method_traits(method, s), s);
  for (uint64_t t = 0; t < n; t++) {
    double multiplier = tacit_stochastic_noise(tacit_method_traits(method, s), s, t);
    tacit_event_t *last = list->n > 0 ? &list->events[list->n - 1] : NULL;
    if (last != NULL && last->noise_multiplier <= multiplier && last->noise_multiplier >= multiplier) {
      last->count += steps;
      continue;
    }
    tacit_event_t event = tacit_curator_sampled_event(s->sampling_rate, multiplier);
    snprintf(event.label, sizeof event.label, "gradient");
    add(list, event, steps);
  }
}

tacit_status_t tacit_sampler_schedule(const tacit_method_t *method, const tacit_sampler_settings_t *settings,
                                      const tacit_curator_t *curator, size_t n_iterations,
                                      tacit_event_t **events, size_t *n_events, tacit_error_t *err) {
  uint64_t count;
  bool is_stochastic = tacit_traits_is_stochastic(tacit_method_traits(method, settings));
  *events = NULL;
  *n_events = 0;
  if (!method->is_private) {
    return TACIT_OK;
  }
  if (__builtin_mul_overflow((uint64_t)n_iterations, (uint64_t)settings->n_chains, &count) ||
      __builtin_mul_overflow(count, (uint64_t)settings->n_leapfrog + 2, &count) ||
      count > (uint64_t)1 << 59) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "n_draws", "the number of releases does not fit");
  }
  list_t list = {.events =
                     tacit_alloc(MOST_KINDS + (is_stochastic && settings->step_decay > 0 ? n_iterations : 0),
                                 sizeof **events)};
  if (list.events == NULL) {
    return tacit_error_memory(err);
  }
  add_start(&list, settings);
  if (is_stochastic) {
    add_stochastic(&list, method, settings, n_iterations);
  } else {
    add_gradients(&list, method, settings, n_iterations);
    add_decisions(&list, method, settings, curator, (uint64_t)n_iterations * settings->n_chains);
  }
  *events = list.events;
  *n_events = list.n;
  return TACIT_OK;
}

bool tacit_sampler_needs_schedule(const tacit_method_t *method, const tacit_sampler_settings_t *settings) {
  return method->is_private && tacit_method_traits(method, settings).decision != TACIT_DECISION_RATIO;
}
