/* Chains over the posterior of tables. */
#include <string.h>

#include "augment/population_internal.h"
#include "tables/tables_internal.h"
#include "tacit/random.h"

static const double SWAMPED = 0.8;

typedef struct chain {
  tacit_tables_point_t point;
  tacit_trajectory_t walk;
  tacit_rng_t *rng;
  tacit_status_t status;
  tacit_error_t err;
  size_t iteration, n_saved;
  double path_accept;
  bool is_complete;
} chain_t;

typedef struct run {
  const tacit_augment_settings_t *settings;
  const tacit_tables_target_t *target;
  tacit_draws_t *draws;
  chain_t *chains;
  size_t round_end;
} run_t;

static tacit_status_t begin(const run_t *run, chain_t *c, size_t index) {
  enum { N_TRIES = 60 };
  const tacit_tables_target_t *t = run->target;
  tacit_status_t status = tacit_rng_new(&c->rng, run->settings->key, index, &c->err);
  status = status == TACIT_OK ? tacit_tables_point_init(&c->point, t, &c->err) : status;
  status = status == TACIT_OK ? tacit_trajectory_init(&c->walk, t->dim, tacit_tables_density, &c->point, &c->err) : status;
  if (status != TACIT_OK) {
    return status;
  }
  double far = 1.5; /* chains begin apart */
  for (int k = 0; k < N_TRIES && !(k > 0 && c->walk.value > -INFINITY); k++, far *= 0.7) {
    for (size_t j = 0; j < t->dim; j++) {
      c->walk.theta[j] = far * tacit_rng_normal(c->rng);
    }
    c->walk.rest = tacit_tables_rest;
    tacit_trajectory_start_scaled(&c->walk);
  }
  return c->walk.value > -INFINITY ? TACIT_OK : tacit_error_set(&c->err, TACIT_ERR_NUMERIC, "statistic", "a chain found no place to begin");
}

static void begin_task(void *user, size_t index, size_t thread) {
  run_t *run = user;
  (void)thread;
  run->chains[index].status = begin(run, &run->chains[index], index);
}

/* theta at the chain's point, whatever was evaluated last; and n. */
static void keep(const run_t *run, chain_t *c, size_t index, double accept) {
  const tacit_tables_target_t *t = run->target;
  tacit_draws_t *draws = run->draws;
  double *row = tacit_draws_row(draws, index, c->n_saved), prior = 0;
  (void)tacit_tables_density(&c->point, c->walk.theta, c->walk.move);
  memcpy(row, c->point.theta, t->n_effects * sizeof *row);
  for (size_t j = 0; j < t->n_effects; j++) {
    prior -= 0.5 * row[j] * row[j] / (t->release->prior_sd * t->release->prior_sd);
  }
  if (t->dim > t->n_effects) {
    row[t->n_effects] = c->point.n;
  }
  draws->stats[index * (draws->n_warmup + draws->n_draws) + c->n_saved++] =
      (tacit_draw_stats_t){.log_prior = prior, .accept_stat = accept, .step_size = c->walk.step_size, .n_leapfrog = (double)c->walk.n_leapfrog};
}

static void advance(void *user, size_t index, size_t thread) {
  run_t *run = user;
  const tacit_augment_settings_t *s = run->settings;
  chain_t *c = &run->chains[index];
  (void)thread;
  for (; c->iteration < run->round_end; c->iteration++) {
    size_t i = c->iteration;
    if (s->proceed != NULL && !s->proceed(index, i, s->user)) {
      return;
    }
    double accept = tacit_trajectory_step(&c->walk, c->rng);
    if (i < s->n_warmup) {
      tacit_trajectory_tune(&c->walk, accept, i, s->n_warmup);
    }
    c->path_accept += i < s->n_warmup ? 0 : accept;
    if (i < s->n_warmup || (i - s->n_warmup + 1) % s->thin == 0) {
      keep(run, c, index, accept);
    }
  }
  c->is_complete = run->round_end == s->n_warmup + s->n_draws * s->thin;
}

static bool goes_on(const void *user, size_t chain) {
  const run_t *run = user;
  return run->chains[chain].iteration == run->round_end;
}

static tacit_status_t first_error(const run_t *run, tacit_error_t *err) {
  for (size_t c = 0; c < run->settings->n_chains; c++) {
    if (run->chains[c].status != TACIT_OK) {
      if (err != NULL) {
        *err = run->chains[c].err;
      }
      return run->chains[c].status;
    }
  }
  return TACIT_OK;
}

static void conclude(const run_t *run, tacit_augment_result_t *result) {
  const tacit_augment_settings_t *s = run->settings;
  double n_paths = 0;
  *result = (tacit_augment_result_t){.method = TACIT_AUGMENT_MARGINAL, .is_complete = true, .record_accept = NAN, .min_record_accept = NAN};
  run->draws->n_saved = SIZE_MAX;
  for (size_t c = 0; c < s->n_chains; c++) {
    const chain_t *chain = &run->chains[c];
    n_paths += chain->iteration > s->n_warmup ? (double)(chain->iteration - s->n_warmup) : 0;
    result->path_accept += chain->path_accept;
    result->step_size += chain->walk.step_size / (double)s->n_chains;
    result->is_complete = result->is_complete && chain->is_complete;
    run->draws->n_saved = chain->n_saved < run->draws->n_saved ? chain->n_saved : run->draws->n_saved;
  }
  result->path_accept = n_paths > 0 ? result->path_accept / n_paths : NAN;
}

static void find(const run_t *run, tacit_tables_findings_t *findings) {
  const tacit_tables_target_t *t = run->target;
  const tacit_draws_t *d = run->draws;
  size_t n = tacit_draws_n_kept(d);
  *findings = (tacit_tables_findings_t){.contradiction = t->contradiction, .n_sparse = (size_t)t->n_sparse};
  for (size_t j = 0; j < t->n_effects && n > 0; j++) {
    double mean = 0, square = 0, count = 0;
    for (size_t c = 0; c < d->n_chains; c++) {
      for (size_t i = 0; i < n; i++) {
        double x = tacit_draws_row(d, c, d->n_warmup + i)[j], off = x - mean;
        mean += off / ++count;
        square += off * (x - mean);
      }
    }
    findings->n_swamped += sqrt(square / count) > SWAMPED * t->release->prior_sd;
  }
}

static tacit_status_t run_all(run_t *run, tacit_augment_result_t *result, tacit_tables_findings_t *findings, tacit_error_t *err) {
  const tacit_augment_settings_t *s = run->settings;
  tacit_pool_t *pool = NULL;
  run->chains = tacit_alloc_zero(s->n_chains, sizeof *run->chains);
  tacit_status_t status = run->chains != NULL ? tacit_pool_new(&pool, s->n_threads < s->n_chains ? s->n_threads : s->n_chains, err) : tacit_error_memory(err);
  if (status == TACIT_OK) {
    tacit_pool_run(pool, s->n_chains, begin_task, run);
    status = first_error(run, err);
  }
  if (status == TACIT_OK) {
    tacit_augment_rounds(s, pool, &run->round_end, advance, goes_on, run);
    conclude(run, result);
    find(run, findings);
  }
  tacit_pool_free(pool);
  for (size_t c = 0; run->chains != NULL && c < s->n_chains; c++) {
    tacit_trajectory_clear(&run->chains[c].walk);
    tacit_tables_point_clear(&run->chains[c].point);
    tacit_rng_free(run->chains[c].rng);
  }
  tacit_free(run->chains);
  return status;
}

tacit_status_t tacit_tables_infer(const tacit_tables_t *tables, const tacit_noisy_margins_t *release, const tacit_augment_settings_t *settings,
                                  tacit_draws_t *draws, tacit_augment_result_t *result, tacit_tables_findings_t *findings, tacit_error_t *err) {
  tacit_tables_target_t target;
  tacit_augment_result_t no_result;
  tacit_tables_findings_t no_findings;
  *draws = (tacit_draws_t){0};
  if (settings->n_chains < 1 || settings->n_draws < 1 || settings->thin < 1 || settings->n_threads < 1) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "draws", "chains, draws, thin and threads must be at least 1");
  }
  tacit_status_t status = tacit_tables_target_init(&target, tables, release, err);
  status = status == TACIT_OK ? tacit_draws_init(draws, settings->n_chains, settings->n_warmup, settings->n_draws, target.dim, err) : status;
  if (status == TACIT_OK) {
    run_t run = {.settings = settings, .target = &target, .draws = draws};
    status = run_all(&run, result != NULL ? result : &no_result, findings != NULL ? findings : &no_findings, err);
  }
  tacit_tables_target_clear(&target);
  return status;
}
