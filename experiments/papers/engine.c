/* Runs of the library's methods, and what they cost. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "papers.h"

void must(tacit_status_t status, const tacit_error_t *err) {
  if (status != TACIT_OK) {
    fprintf(stderr, "tacit-papers: %s\n", err->message);
    exit(1);
  }
}

void *allocate(size_t n, size_t size) {
  void *memory = calloc(n > 0 ? n : 1, size);
  if (memory == NULL) {
    fprintf(stderr, "tacit-papers: out of memory\n");
    exit(1);
  }
  return memory;
}

double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

tacit_rng_t *study_rng(const run_t *run, uint64_t stream) {
  unsigned char key[32];
  uint64_t seed = 14695981039346656037u; /* of the name, so that each study has generators of its own */
  for (const char *s = run->study->name; *s != '\0'; s++) {
    seed = (seed ^ (unsigned char)*s) * 1099511628211u;
  }
  tacit_error_t err;
  tacit_rng_t *rng;
  tacit_rng_key_from_seed(key, seed);
  must(tacit_rng_new(&rng, key, stream, &err), &err);
  return rng;
}

trial_t trial_default(const char *method, uint64_t seed) {
  trial_t trial = {.method = method,
                   .settings = tacit_sampler_settings_default(),
                   .limits = tacit_curator_settings_default(),
                   .delta = 1e-6,
                   .relation = TACIT_RELATION_SUBSTITUTE,
                   .seed = seed};
  trial.settings.n_warmup = 0;
  tacit_rng_key_from_seed(trial.settings.key, seed + 1000);
  return trial;
}

typedef struct session {
  tacit_budget_t *budget;
  tacit_noise_t *noise;
  tacit_curator_t *curator;
} session_t;

static tacit_records_t *pack(const target_t *target) {
  tacit_records_t *records;
  tacit_error_t err;
  double *row = allocate(target->n_columns, sizeof *row);
  must(tacit_records_new(&records, target->n, target->n_columns, &err), &err);
  for (size_t i = 0; i < target->n; i++) {
    for (size_t j = 0; j < target->n_columns; j++) {
      row[j] = (double)target->x[i * target->n_columns + j];
    }
    tacit_records_set(records, i, row);
  }
  free(row);
  return records;
}

static session_t open_session(const target_t *target, const trial_t *trial) {
  session_t s = {.budget = NULL};
  tacit_error_t err;
  tacit_curator_settings_t limits = trial->limits;
  must(tacit_noise_new_seeded_not_private(&s.noise, trial->seed, &err), &err);
  if (tacit_method_find(trial->method)->is_private) { /* no limit: studies look at what was spent */
    must(tacit_budget_new(&s.budget, 1e12, trial->delta, trial->relation, &err), &err);
    must(tacit_curator_new(&s.curator, pack(target), &target->model->records, s.budget, s.noise, &limits,
                           &err),
         &err);
  } else {
    limits.subset_noise = s.noise;
    must(tacit_curator_new_exposed(&s.curator, pack(target), &target->model->records, &limits, &err), &err);
  }
  return s;
}

static void close_session(session_t *s) {
  tacit_curator_free(s->curator);
  tacit_noise_free(s->noise);
  tacit_budget_free(s->budget);
}

static double epsilon_of(const session_t *session, const trial_t *trial, size_t n_iterations, double width) {
  const tacit_account_options_t options = {
      .relation = trial->relation, .relative_width = width, .is_in_order = true};
  tacit_event_t *events;
  size_t n_events;
  tacit_error_t err;
  tacit_guarantee_t guarantee = {.epsilon = 0};
  must(tacit_sampler_schedule(tacit_method_find(trial->method), &trial->settings, session->curator,
                              n_iterations, &events, &n_events, &err),
       &err);
  if (n_events > 0) {
    must(tacit_account_epsilon(NULL, events, n_events, &options, trial->delta, &guarantee, &err), &err);
  }
  tacit_free(events);
  return guarantee.epsilon;
}

double trial_epsilon(const target_t *target, const trial_t *trial, size_t n_iterations) {
  session_t session = open_session(target, trial);
  double epsilon = epsilon_of(&session, trial, n_iterations, 1e-3);
  close_session(&session);
  return epsilon;
}

size_t trial_affordable(const target_t *target, const trial_t *trial, double epsilon, size_t most) {
  session_t session = open_session(target, trial);
  bool is_exact = !tacit_sampler_needs_schedule(tacit_method_find(trial->method), &trial->settings);
  size_t fits = 0, exceeds = most + 1;
  if (epsilon_of(&session, trial, most, 1e-2) <= epsilon) {
    fits = most;
  }
  while (exceeds - fits > 1 + (is_exact ? 0 : fits / 100)) {
    size_t middle = fits + (exceeds - fits) / 2;
    *(epsilon_of(&session, trial, middle, 1e-2) <= epsilon ? &fits : &exceeds) = middle;
  }
  close_session(&session);
  return fits;
}

void trial_plan(const target_t *target, trial_t *trial, double epsilon, double *inv_metric) {
  session_t session = open_session(target, trial);
  tacit_plan_t plan;
  tacit_error_t err;
  tacit_plan_request_t request = {.curator = session.curator,
                                  .parameters = &target->model->parameters,
                                  .n_units = (double)target->n,
                                  .rho = tacit_gaussian_rho(epsilon, log(trial->delta)),
                                  .epsilon = epsilon,
                                  .delta = trial->delta,
                                  .is_quick = true,
                                  .relation = trial->relation};
  must(tacit_plan(tacit_method_find(trial->method), &request, &trial->settings, inv_metric, &plan, &err),
       &err);
  close_session(&session);
}

static void set_schedule(session_t *session, const trial_t *trial) {
  const tacit_method_t *method = tacit_method_find(trial->method);
  tacit_event_t *events;
  size_t n;
  tacit_error_t err;
  if (tacit_sampler_needs_schedule(method, &trial->settings)) {
    size_t n_iterations = trial->settings.n_warmup + trial->settings.n_draws * trial->settings.thin;
    must(tacit_sampler_schedule(method, &trial->settings, session->curator, n_iterations, &events, &n, &err),
         &err);
    must(tacit_budget_set_schedule(session->budget, events, n, &err), &err);
    tacit_free(events);
  }
}

void trial_run(const target_t *target, const trial_t *trial, outcome_t *outcome) {
  session_t session = open_session(target, trial);
  tacit_sample_end_t end;
  tacit_error_t err;
  *outcome = (outcome_t){.seconds = 0};
  set_schedule(&session, trial);
  double start = seconds();
  must(tacit_sample(tacit_method_find(trial->method), session.curator, &target->model->parameters,
                    &trial->settings, &outcome->draws, &end, &err),
       &err);
  outcome->seconds = seconds() - start;
  if (end != TACIT_SAMPLE_COMPLETE) {
    fprintf(stderr, "tacit-papers: %s stopped early\n", trial->method);
    exit(1);
  }
  outcome->notes = tacit_curator_notes(session.curator);
  size_t n = outcome->draws.n_chains * (outcome->draws.n_warmup + outcome->draws.n_draws);
  for (size_t i = 0; i < n; i++) {
    outcome->accept_rate += outcome->draws.stats[i].accept_stat / (double)n;
  }
  close_session(&session);
}

void outcome_clear(outcome_t *outcome) { tacit_draws_clear(&outcome->draws); }

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double sorted_median(double *x, size_t n) {
  qsort(x, n, sizeof *x, compare);
  return n == 0 ? NAN : n % 2 == 1 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
}
