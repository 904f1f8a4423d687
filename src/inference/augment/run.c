/* The driver: chains on threads, draws kept, rates added up. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "augment/augment_internal.h"

typedef struct run {
  const tacit_latent_model_t *model;
  const tacit_release_t *release;
  tacit_chains_t chains;
  tacit_chain_t *each; /* (n_chains) */
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
static double iterate(tacit_chain_t *chain, tacit_outcome_t *outcome, bool is_warmup) {
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
  tacit_outcome_t *outcome = &run->chains.outcomes[index];
  outcome->status = tacit_chain_init(&run->each[index], run->model, run->release, run->chains.settings, index,
                                     &outcome->err);
  if (outcome->status == TACIT_OK) {
    tacit_chain_start(&run->each[index]);
  }
}

/* The iterations of a round of one chain. */
static void advance_chain(void *user, size_t index, size_t thread) {
  (void)thread;
  const run_t *run = user;
  const tacit_augment_settings_t *s = run->chains.settings;
  tacit_chain_t *chain = &run->each[index];
  tacit_outcome_t *outcome = &run->chains.outcomes[index];
  for (; outcome->iteration < run->chains.round_end; outcome->iteration++) {
    size_t i = outcome->iteration;
    if (s->proceed != NULL && !s->proceed(index, i, s->user)) {
      break;
    }
    bool is_warmup = i < s->n_warmup;
    double share = iterate(chain, outcome, is_warmup);
    if (is_warmup || (i - s->n_warmup + 1) % s->thin == 0) {
      save(chain, run->chains.draws, index, outcome->n_saved++, share);
    }
  }
  outcome->step_size = chain->step_size;
}

/* ---- any kind of chains ---- */

static tacit_status_t first_error(const tacit_chains_t *chains, tacit_error_t *err) {
  for (size_t c = 0; c < chains->settings->n_chains; c++) {
    if (chains->outcomes[c].status != TACIT_OK) {
      if (err != NULL) {
        *err = chains->outcomes[c].err;
      }
      return chains->outcomes[c].status;
    }
  }
  return TACIT_OK;
}

static bool all_are_at(const tacit_chains_t *chains, size_t iteration) {
  bool are = true;
  for (size_t c = 0; c < chains->settings->n_chains; c++) {
    are = are && chains->outcomes[c].iteration == iteration;
  }
  return are;
}

static void run_rounds(tacit_chains_t *chains, tacit_pool_t *pool, void *run) {
  enum { ROUND = 50 };
  size_t n_iterations = chains->settings->n_warmup + chains->settings->n_draws * chains->settings->thin;
  while (chains->round_end < n_iterations && all_are_at(chains, chains->round_end)) {
    chains->round_end = n_iterations - chains->round_end < ROUND ? n_iterations : chains->round_end + ROUND;
    tacit_pool_run(pool, chains->settings->n_chains, chains->advance, run);
  }
}

static void add_up(const tacit_chains_t *chains, tacit_augment_result_t *result) {
  const tacit_augment_settings_t *s = chains->settings;
  double proposed = 0, accepted = 0, least = 0, paths = 0, n_paths = 0, n_full = 0, n_lost = 0;
  *result = (tacit_augment_result_t){.is_complete = all_are_at(chains, s->n_warmup + s->n_draws * s->thin)};
  chains->draws->n_saved = SIZE_MAX;
  for (size_t c = 0; c < s->n_chains; c++) {
    const tacit_outcome_t *o = &chains->outcomes[c];
    proposed += o->n_proposed;
    accepted += o->n_accepted;
    least = fmin(least, o->min_log_ratio);
    paths += o->path_accept;
    n_paths += (double)o->n_paths;
    n_full += (double)o->n_full;
    n_lost += (double)o->n_lost;
    result->step_size += o->step_size / (double)s->n_chains;
    chains->draws->n_saved = o->n_saved < chains->draws->n_saved ? o->n_saved : chains->draws->n_saved;
  }
  result->record_accept = proposed > 0 ? accepted / proposed : NAN;
  result->min_record_accept = proposed > 0 ? exp(least) : NAN;
  result->path_accept = n_paths > 0 ? paths / n_paths : NAN;
  result->path_lost = n_full > 0 ? n_lost / n_full : NAN;
}

tacit_status_t tacit_chains_run(tacit_chains_t *chains, void *run, tacit_augment_result_t *result,
                                tacit_error_t *err) {
  size_t n = chains->settings->n_chains, n_threads = chains->settings->n_threads;
  tacit_pool_t *pool = NULL;
  chains->outcomes = tacit_alloc_zero(n, sizeof *chains->outcomes);
  tacit_status_t status = chains->outcomes != NULL ? tacit_pool_new(&pool, n_threads < n ? n_threads : n, err)
                                                   : tacit_error_memory(err);
  if (status == TACIT_OK) {
    tacit_pool_run(pool, n, chains->begin, run);
    status = first_error(chains, err);
  }
  if (status == TACIT_OK) {
    run_rounds(chains, pool, run);
    status = first_error(chains, err);
  }
  if (status == TACIT_OK) {
    add_up(chains, result);
  } else {
    chains->draws->n_saved = 0;
  }
  tacit_pool_free(pool);
  tacit_free(chains->outcomes);
  chains->outcomes = NULL;
  return status;
}

/* ---- latent records ---- */

static tacit_status_t run_all(run_t *run, tacit_augment_result_t *result, tacit_error_t *err) {
  size_t n = run->chains.settings->n_chains;
  run->each = tacit_alloc_zero(n, sizeof *run->each);
  tacit_status_t status =
      run->each != NULL ? tacit_chains_run(&run->chains, run, result, err) : tacit_error_memory(err);
  if (status == TACIT_OK) {
    result->method = tacit_augment_choose(run->model, run->release, run->chains.settings->method);
    result->is_exact = result->method != TACIT_AUGMENT_MARGINAL ||
                       run->model->kind == TACIT_LATENT_CATEGORICAL ||
                       tacit_inversion_applies(run->model, run->release);
  }
  for (size_t c = 0; run->each != NULL && c < n; c++) {
    tacit_chain_clear(&run->each[c]);
  }
  tacit_free(run->each);
  return status;
}

tacit_status_t tacit_augment(const tacit_latent_model_t *model, const tacit_release_t *release,
                             const tacit_augment_settings_t *settings, tacit_draws_t *draws,
                             tacit_augment_result_t *result, tacit_error_t *err) {
  *draws = (tacit_draws_t){0};
  tacit_augment_result_t ignored;
  tacit_status_t status = tacit_augment_validate(model, release, err);
  TACIT_THEN(status, tacit_augment_check_settings(model, release, settings, err));
  TACIT_THEN(status, tacit_draws_init(draws, settings->n_chains, settings->n_warmup, settings->n_draws,
                                      tacit_latent_n_reported(model), err));
  if (status != TACIT_OK) {
    return status;
  }
  run_t run = {
      .model = model,
      .release = release,
      .chains = {.settings = settings, .draws = draws, .begin = begin_chain, .advance = advance_chain}};
  return run_all(&run, result != NULL ? result : &ignored, err);
}
