/*
 * A user's own model and mechanism: Gibbs sweeps of [Ju2022, algorithm 1] over latent records, slices in
 * theta. Everything problem-specific is a function of the user's.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "augment/augment_internal.h"

typedef struct state {
  const tacit_augment_plugin_t *plugin;
  tacit_rng_t *rng;
  size_t n;
  double *theta, *trial;      /* shape (n_theta) */
  double *records, *proposal; /* shapes (n, record_size), (record_size) */
  double *residual, *moved;   /* shape (n_values): values minus the statistic of the records */
  double *before, *after;     /* shape (n_values) */
  size_t coordinate;          /* of the slice at hand */
  double n_proposed, n_accepted, min_log_ratio;
} state_t;

/* Only what is asked for is worked out: callbacks write a whole t(x). */
static void statistic_of(const state_t *s, const double *record, double *t) {
  memset(t, 0, s->plugin->n_values * sizeof *t);
  s->plugin->statistic(s->plugin->user, record, t);
}

static void refresh(state_t *s) {
  const tacit_augment_plugin_t *p = s->plugin;
  memcpy(s->residual, p->values, p->n_values * sizeof *s->residual);
  for (size_t i = 0; i < s->n; i++) {
    statistic_of(s, s->records + i * p->record_size, s->before);
    for (size_t k = 0; k < p->n_values; k++) {
      s->residual[k] -= s->before[k];
    }
  }
}

static void sweep(state_t *s) {
  const tacit_augment_plugin_t *p = s->plugin;
  double log_noise = p->log_noise(p->user, s->residual);
  for (size_t i = 0; i < s->n; i++) {
    double *record = s->records + i * p->record_size;
    p->draw_record(p->user, s->theta, s->rng, s->proposal);
    statistic_of(s, record, s->before);
    statistic_of(s, s->proposal, s->after);
    for (size_t k = 0; k < p->n_values; k++) {
      s->moved[k] = s->residual[k] + s->before[k] - s->after[k];
    }
    double log_moved = p->log_noise(p->user, s->moved), log_ratio = log_moved - log_noise;
    bool is_accepted = tacit_accepts(log_ratio, tacit_rng_uniform(s->rng));
    s->n_proposed++;
    s->min_log_ratio = fmin(s->min_log_ratio, log_ratio);
    if (is_accepted) {
      double *swap = s->residual;
      s->residual = s->moved;
      s->moved = swap;
      memcpy(record, s->proposal, p->record_size * sizeof *record);
      log_noise = log_moved;
      s->n_accepted++;
    }
  }
}

static double theta_density(void *user, double at) {
  state_t *s = user;
  memcpy(s->trial, s->theta, s->plugin->n_theta * sizeof *s->trial);
  s->trial[s->coordinate] = at;
  double density = s->plugin->log_density(s->plugin->user, s->trial, s->n, s->records);
  return isnan(density) ? -INFINITY : density;
}

static void update_theta(state_t *s) {
  for (s->coordinate = 0; s->coordinate < s->plugin->n_theta; s->coordinate++) {
    double at = s->theta[s->coordinate], log_at = theta_density(s, at);
    double width = s->plugin->width[s->coordinate] * (tacit_rng_uniform(s->rng) < 0.25 ? 8 : 1);
    s->theta[s->coordinate] = tacit_slice(theta_density, s, at, &log_at, width, s->rng);
  }
}

static tacit_status_t check_plugin(const tacit_augment_plugin_t *p, size_t n_records,
                                   const tacit_augment_settings_t *settings, tacit_error_t *err) {
  bool is_complete =
      p->draw_record != NULL && p->statistic != NULL && p->log_noise != NULL && p->log_density != NULL;
  bool ok = is_complete && p->start != NULL && p->width != NULL && p->values != NULL && p->n_theta >= 1 &&
            p->record_size >= 1 && p->n_values >= 1 && n_records >= 1;
  for (size_t j = 0; ok && j < p->n_theta; j++) {
    ok = isfinite(p->start[j]) && p->width[j] > 0 && isfinite(p->width[j]);
  }
  for (size_t k = 0; ok && k < p->n_values; k++) {
    ok = isfinite(p->values[k]);
  }
  if (!ok) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "plugin",
        "a plug-in needs all of its functions, records, finite values and start, and widths above 0");
  }
  if (settings->n_chains < 1 || settings->n_draws < 1 || settings->thin < 1) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "draws", "chains, draws and thin must be at least 1");
  }
  return TACIT_OK;
}

static tacit_status_t state_init(state_t *s, const tacit_augment_plugin_t *p, size_t n,
                                 const tacit_augment_settings_t *settings, size_t chain, tacit_error_t *err) {
  *s = (state_t){.plugin = p, .n = n};
  double **arrays[] = {&s->theta, &s->trial, &s->proposal, &s->residual, &s->moved, &s->before, &s->after};
  size_t sizes[] = {p->n_theta,  p->n_theta,  p->record_size, p->n_values,
                    p->n_values, p->n_values, p->n_values};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    *arrays[i] = tacit_alloc_zero(sizes[i], sizeof **arrays[i]);
    if (*arrays[i] == NULL) {
      return tacit_error_memory(err);
    }
  }
  size_t n_numbers;
  if (__builtin_mul_overflow(n, p->record_size, &n_numbers) ||
      (s->records = tacit_alloc_zero(n_numbers, sizeof *s->records)) == NULL) {
    return tacit_error_memory(err);
  }
  tacit_status_t status = tacit_rng_new(&s->rng, settings->key, chain, err);
  if (status != TACIT_OK) {
    return status;
  }
  for (size_t j = 0; j < p->n_theta; j++) {
    double near = p->start[j] + p->width[j] * (tacit_rng_uniform(s->rng) - 0.5);
    s->theta[j] = p->start[j];
    memcpy(s->trial, s->theta, p->n_theta * sizeof *s->trial);
    s->trial[j] = near;
    s->theta[j] = p->log_density(p->user, s->trial, 0, s->records) > -INFINITY
                      ? near
                      : p->start[j]; /* the prior's support */
  }
  for (size_t i = 0; i < n; i++) {
    p->draw_record(p->user, s->theta, s->rng, s->records + i * p->record_size);
  }
  return TACIT_OK;
}

static void state_clear(state_t *s) {
  double *arrays[] = {s->theta,    s->trial, s->records, s->proposal,
                      s->residual, s->moved, s->before,  s->after};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    tacit_free(arrays[i]);
  }
  tacit_rng_free(s->rng);
}

/* All iterations of a chain; false if it was stopped. */
static bool run_chain(state_t *s, const tacit_augment_settings_t *settings, size_t chain,
                      tacit_draws_t *draws) {
  size_t n_iterations = settings->n_warmup + settings->n_draws * settings->thin, row = 0;
  for (size_t i = 0; i < n_iterations; i++) {
    if (settings->proceed != NULL && !settings->proceed(chain, i, settings->user)) {
      draws->n_saved = row < draws->n_saved ? row : draws->n_saved;
      return false;
    }
    double accepted = s->n_accepted;
    refresh(s); /* afresh: differences round */
    sweep(s);
    update_theta(s);
    bool is_warmup = i < settings->n_warmup;
    if (is_warmup || (i - settings->n_warmup + 1) % settings->thin == 0) {
      size_t length = draws->n_warmup + draws->n_draws;
      memcpy(tacit_draws_row(draws, chain, row), s->theta, s->plugin->n_theta * sizeof *s->theta);
      draws->stats[chain * length + row] =
          (tacit_draw_stats_t){.log_prior = s->plugin->log_density(s->plugin->user, s->theta, 0, s->records),
                               .accept_stat = (s->n_accepted - accepted) / (double)s->n};
      row++;
    }
    if (i + 1 == settings->n_warmup) {
      s->n_proposed = s->n_accepted = s->min_log_ratio = 0;
    }
  }
  return true;
}

tacit_status_t tacit_augment_with_plugin(const tacit_augment_plugin_t *plugin, size_t n_records,
                                         const tacit_augment_settings_t *settings, tacit_draws_t *draws,
                                         tacit_augment_result_t *result, tacit_error_t *err) {
  *draws = (tacit_draws_t){0};
  double proposed = 0, accepted = 0, least = 0;
  bool is_complete = true;
  tacit_status_t status = check_plugin(plugin, n_records, settings, err);
  TACIT_THEN(status, tacit_draws_init(draws, settings->n_chains, settings->n_warmup, settings->n_draws,
                                      plugin->n_theta, err));
  draws->n_saved = status == TACIT_OK ? draws->n_warmup + draws->n_draws : 0;
  for (size_t chain = 0; chain < settings->n_chains && status == TACIT_OK && is_complete; chain++) {
    state_t state;
    status = state_init(&state, plugin, n_records, settings, chain, err);
    if (status == TACIT_OK) {
      is_complete = run_chain(&state, settings, chain, draws);
      proposed += state.n_proposed;
      accepted += state.n_accepted;
      least = fmin(least, state.min_log_ratio);
      draws->n_saved =
          is_complete || chain + 1 == settings->n_chains ? draws->n_saved : 0; /* later chains have nothing */
    }
    state_clear(&state);
  }
  draws->n_saved = status == TACIT_OK ? draws->n_saved : 0;
  if (result != NULL) {
    *result = (tacit_augment_result_t){.method = TACIT_AUGMENT_GIBBS,
                                       .is_exact = true,
                                       .is_complete = is_complete,
                                       .record_accept = proposed > 0 ? accepted / proposed : NAN,
                                       .min_record_accept = proposed > 0 ? exp(least) : NAN,
                                       .path_accept = NAN};
  }
  return status;
}
