/* The driver: chains on threads, draws kept, rates added up. */
#include <string.h>

#include "augment/augment_internal.h"

/* What a chain leaves behind. */
typedef struct outcome {
  tacit_status_t status;
  tacit_error_t err;
  size_t n_saved;
  bool is_complete;
  double n_proposed, n_accepted, min_log_ratio, path_accept, step_size;
  size_t n_paths;
} outcome_t;

typedef struct run {
  const tacit_latent_model_t *model;
  const tacit_release_t *release;
  const tacit_augment_settings_t *settings;
  tacit_draws_t *draws;
  outcome_t *outcomes;
  tacit_chain_t *chains;
  size_t round_end; /* iterations that every chain has, or is about to have */
} run_t;

static void save(const tacit_chain_t *chain, tacit_draws_t *draws, size_t index, size_t row, double share) {
  tacit_chain_report(chain, tacit_draws_row(draws, index, row));
  bool has_path = chain->method == TACIT_AUGMENT_HMC;
  draws->stats[index * (draws->n_warmup + draws->n_draws) + row] =
      (tacit_draw_stats_t){.log_prior = tacit_chain_log_prior(chain),
                           .accept_stat = has_path ? chain->path_accept : share,
                           .step_size = chain->step_size,
                           .n_leapfrog = (double)chain->n_leapfrog};
}

/* One iteration; the share of its records that were accepted, 1 where none was proposed. */
static double iterate(tacit_chain_t *chain, outcome_t *outcome, bool is_warmup) {
  chain->n_proposed = chain->n_accepted = chain->min_log_ratio = 0;
  tacit_chain_step(chain);
  if (!is_warmup) {
    outcome->n_proposed += chain->n_proposed;
    outcome->n_accepted += chain->n_accepted;
    outcome->min_log_ratio = fmin(outcome->min_log_ratio, chain->min_log_ratio);
    outcome->path_accept += chain->path_accept;
    outcome->n_paths += chain->method == TACIT_AUGMENT_HMC;
  }
  return chain->n_proposed > 0 ? chain->n_accepted / chain->n_proposed : 1;
}

static void begin_chain(void *user, size_t index, size_t thread) {
  (void)thread;
  const run_t *run = user;
  outcome_t *outcome = &run->outcomes[index];
  outcome->status = tacit_chain_init(&run->chains[index], run->model, run->release, run->settings, index, &outcome->err);
  if (outcome->status == TACIT_OK) {
    tacit_chain_start(&run->chains[index]);
  }
}

/* The iterations of a round of one chain. */
static void advance_chain(void *user, size_t index, size_t thread) {
  (void)thread;
  const run_t *run = user;
  const tacit_augment_settings_t *s = run->settings;
  tacit_chain_t *chain = &run->chains[index];
  outcome_t *outcome = &run->outcomes[index];
  for (size_t i = chain->iteration; i < run->round_end; i++) {
    if (s->proceed != NULL && !s->proceed(index, i, s->user)) {
      return;
    }
    bool is_warmup = i < s->n_warmup;
    double share = iterate(chain, outcome, is_warmup);
    if (is_warmup || (i - s->n_warmup + 1) % s->thin == 0) {
      save(chain, run->draws, index, outcome->n_saved++, share);
    }
  }
  outcome->is_complete = run->round_end == s->n_warmup + s->n_draws * s->thin;
  outcome->step_size = chain->step_size;
}

void tacit_augment_rounds(const tacit_augment_settings_t *settings, tacit_pool_t *pool, size_t *round_end, tacit_pool_task advance,
                          bool (*goes_on)(const void *run, size_t chain), void *run) {
  enum { ROUND = 50 };
  size_t n_iterations = settings->n_warmup + settings->n_draws * settings->thin;
  bool is_on = true;
  while (is_on && *round_end < n_iterations) {
    *round_end = n_iterations - *round_end < ROUND ? n_iterations : *round_end + ROUND;
    tacit_pool_run(pool, settings->n_chains, advance, run);
    for (size_t c = 0; c < settings->n_chains; c++) {
      is_on = is_on && goes_on(run, c);
    }
  }
}

static bool is_at_end(const void *user, size_t chain) {
  const run_t *run = user;
  return run->chains[chain].iteration == run->round_end;
}

static tacit_status_t conclude(const run_t *run, tacit_augment_result_t *result, tacit_error_t *err) {
  double proposed = 0, accepted = 0, least = 0, paths = 0, n_paths = 0, step = 0;
  size_t n_chains = run->settings->n_chains;
  *result = (tacit_augment_result_t){.method = tacit_augment_choose(run->model, run->release, run->settings->method),
                                     .is_complete = true};
  run->draws->n_saved = SIZE_MAX;
  for (size_t c = 0; c < n_chains; c++) {
    const outcome_t *o = &run->outcomes[c];
    if (o->status != TACIT_OK) {
      run->draws->n_saved = 0;
      if (err != NULL) {
        *err = o->err;
      }
      return o->status;
    }
    proposed += o->n_proposed;
    accepted += o->n_accepted;
    least = fmin(least, o->min_log_ratio);
    paths += o->path_accept;
    n_paths += (double)o->n_paths;
    step += o->step_size / (double)n_chains;
    result->is_complete = result->is_complete && o->is_complete;
    run->draws->n_saved = o->n_saved < run->draws->n_saved ? o->n_saved : run->draws->n_saved;
  }
  result->is_exact = result->method != TACIT_AUGMENT_MARGINAL || run->model->kind == TACIT_LATENT_CATEGORICAL ||
                     tacit_inversion_applies(run->model, run->release);
  result->record_accept = proposed > 0 ? accepted / proposed : NAN;
  result->min_record_accept = proposed > 0 ? exp(least) : NAN;
  result->path_accept = n_paths > 0 ? paths / n_paths : NAN;
  result->step_size = step;
  return TACIT_OK;
}

static bool all_begun(const run_t *run) {
  for (size_t c = 0; c < run->settings->n_chains; c++) {
    if (run->outcomes[c].status != TACIT_OK) {
      return false;
    }
  }
  return true;
}

static tacit_status_t run_all(run_t *run, tacit_augment_result_t *result, tacit_error_t *err) {
  tacit_pool_t *pool = NULL;
  const tacit_augment_settings_t *s = run->settings;
  run->outcomes = tacit_alloc_zero(s->n_chains, sizeof *run->outcomes);
  run->chains = tacit_alloc_zero(s->n_chains, sizeof *run->chains);
  tacit_status_t status = run->outcomes != NULL && run->chains != NULL ? TACIT_OK : tacit_error_memory(err);
  if (status == TACIT_OK) {
    status = tacit_pool_new(&pool, s->n_threads < s->n_chains ? s->n_threads : s->n_chains, err);
  }
  if (status == TACIT_OK) {
    tacit_pool_run(pool, s->n_chains, begin_chain, run);
    if (all_begun(run)) {
      tacit_augment_rounds(run->settings, pool, &run->round_end, advance_chain, is_at_end, run);
    }
    status = conclude(run, result, err);
  }
  tacit_pool_free(pool);
  for (size_t c = 0; run->chains != NULL && c < s->n_chains; c++) {
    tacit_chain_clear(&run->chains[c]);
  }
  tacit_free(run->chains);
  tacit_free(run->outcomes);
  return status;
}

tacit_status_t tacit_augment(const tacit_latent_model_t *model, const tacit_release_t *release,
                             const tacit_augment_settings_t *settings, tacit_draws_t *draws,
                             tacit_augment_result_t *result, tacit_error_t *err) {
  *draws = (tacit_draws_t){0};
  tacit_augment_result_t ignored;
  tacit_status_t status = tacit_augment_validate(model, release, err);
  if (status == TACIT_OK) {
    status = tacit_augment_check_settings(model, release, settings, err);
  }
  if (status == TACIT_OK) {
    status = tacit_draws_init(draws, settings->n_chains, settings->n_warmup, settings->n_draws,
                              tacit_latent_n_reported(model), err);
  }
  if (status != TACIT_OK) {
    return status;
  }
  run_t run = {.model = model, .release = release, .settings = settings, .draws = draws};
  return run_all(&run, result != NULL ? result : &ignored, err);
}
