/* Chains over the posterior of tables. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "augment/population_internal.h"
#include "tables/tables_internal.h"
#include "tacit/random.h"

static const double SWAMPED = 0.8;

typedef struct chain {
  tacit_tables_point_t point;
  tacit_trajectory_t walk;
  tacit_rng_t *rng;
} chain_t;

typedef struct run {
  const tacit_tables_target_t *target;
  tacit_chains_t chains;
  chain_t *each; /* (n_chains) */
} run_t;

static tacit_status_t begin(const run_t *run, chain_t *c, size_t index, tacit_error_t *err) {
  enum { N_TRIES = 60 };
  const tacit_tables_target_t *t = run->target;
  tacit_status_t status = tacit_rng_new(&c->rng, run->chains.settings->key, index, err);
  TACIT_THEN(status, tacit_tables_point_init(&c->point, t, err));
  TACIT_THEN(status, tacit_trajectory_init(&c->walk, t->dim, tacit_tables_density, &c->point, err));
  if (status != TACIT_OK) {
    return status;
  }
  c->walk.rest = tacit_tables_rest;
  double far = 1.5; /* chains begin apart */
  for (int k = 0; k < N_TRIES && !(k > 0 && c->walk.value > -INFINITY); k++, far *= 0.7) {
    for (size_t j = 0; j < t->dim; j++) {
      c->walk.theta[j] = far * tacit_rng_normal(c->rng);
    }
    tacit_trajectory_start_scaled(&c->walk);
  }
  return c->walk.value > -INFINITY
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_NUMERIC, "statistic", "a chain found no place to begin");
}

static void begin_task(void *user, size_t index, size_t thread) {
  const run_t *run = user;
  tacit_outcome_t *o = &run->chains.outcomes[index];
  (void)thread;
  o->status = begin(run, &run->each[index], index, &o->err);
}

/* theta at the chain's point, whatever was evaluated last; and n. */
static void keep(const run_t *run, chain_t *c, size_t index, size_t at, double accept) {
  const tacit_tables_target_t *t = run->target;
  tacit_draws_t *draws = run->chains.draws;
  double *row = tacit_draws_row(draws, index, at), prior = 0;
  (void)tacit_tables_density(&c->point, c->walk.theta, c->walk.move);
  memcpy(row, c->point.theta, t->n_effects * sizeof *row);
  for (size_t j = 0; j < t->n_effects; j++) {
    prior -= 0.5 * row[j] * row[j] / (t->release->prior_sd * t->release->prior_sd);
  }
  if (t->dim > t->n_effects) {
    row[t->n_effects] = c->point.n;
  }
  draws->stats[index * (draws->n_warmup + draws->n_draws) + at] =
      (tacit_draw_stats_t){.log_prior = prior,
                           .accept_stat = accept,
                           .step_size = c->walk.step_size,
                           .n_leapfrog = (double)c->walk.n_leapfrog};
}

static void advance(void *user, size_t index, size_t thread) {
  const run_t *run = user;
  const tacit_augment_settings_t *s = run->chains.settings;
  chain_t *c = &run->each[index];
  tacit_outcome_t *o = &run->chains.outcomes[index];
  (void)thread;
  for (; o->iteration < run->chains.round_end; o->iteration++) {
    size_t i = o->iteration;
    if (s->proceed != NULL && !s->proceed(index, i, s->user)) {
      break;
    }
    double accept = tacit_trajectory_step(&c->walk, c->rng);
    if (i < s->n_warmup) {
      tacit_trajectory_tune(&c->walk, accept, i, s->n_warmup);
    } else {
      o->path_accept += accept;
      o->n_paths++;
    }
    if (i < s->n_warmup || (i - s->n_warmup + 1) % s->thin == 0) {
      keep(run, c, index, o->n_saved++, accept);
    }
  }
  o->step_size = c->walk.step_size;
}

static void find(const run_t *run, tacit_tables_findings_t *findings) {
  const tacit_tables_target_t *t = run->target;
  const tacit_draws_t *d = run->chains.draws;
  size_t n = tacit_draws_n_kept(d);
  *findings = (tacit_tables_findings_t){.contradiction = t->contradiction, .n_sparse = t->n_sparse};
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

static tacit_status_t run_all(run_t *run, tacit_augment_result_t *result, tacit_tables_findings_t *findings,
                              tacit_error_t *err) {
  size_t n = run->chains.settings->n_chains;
  run->each = tacit_alloc_zero(n, sizeof *run->each);
  tacit_status_t status =
      run->each != NULL ? tacit_chains_run(&run->chains, run, result, err) : tacit_error_memory(err);
  if (status == TACIT_OK) {
    result->method = TACIT_AUGMENT_MARGINAL;
    find(run, findings);
  }
  for (size_t c = 0; run->each != NULL && c < n; c++) {
    tacit_trajectory_clear(&run->each[c].walk);
    tacit_tables_point_clear(&run->each[c].point);
    tacit_rng_free(run->each[c].rng);
  }
  tacit_free(run->each);
  return status;
}

tacit_status_t tacit_tables_infer(const tacit_tables_t *tables, const tacit_noisy_margins_t *release,
                                  const tacit_augment_settings_t *settings, tacit_draws_t *draws,
                                  tacit_augment_result_t *result, tacit_tables_findings_t *findings,
                                  tacit_error_t *err) {
  tacit_tables_target_t target;
  tacit_augment_result_t no_result;
  tacit_tables_findings_t no_findings;
  *draws = (tacit_draws_t){0};
  if (settings->n_chains < 1 || settings->n_draws < 1 || settings->thin < 1 || settings->n_threads < 1) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "draws",
                           "chains, draws, thin and threads must be at least 1");
  }
  tacit_status_t status = tacit_tables_target_init(&target, tables, release, err);
  TACIT_THEN(status, tacit_draws_init(draws, settings->n_chains, settings->n_warmup, settings->n_draws,
                                      target.dim, err));
  if (status == TACIT_OK) {
    run_t run = {.target = &target,
                 .chains = {.settings = settings, .draws = draws, .begin = begin_task, .advance = advance}};
    status =
        run_all(&run, result != NULL ? result : &no_result, findings != NULL ? findings : &no_findings, err);
  }
  tacit_tables_target_clear(&target);
  return status;
}
