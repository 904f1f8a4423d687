/* Sampling from the posterior given the releases, which is public: everything may be tuned. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "noise_aware/walk.h"
#include "noise_aware/wide.h"

/*
 * Up to so many coefficients a t is near the posterior. Beyond, where the process is wide in many directions,
 * turns are seldom accepted (0.02 to 0.25 at 20).
 */
enum { MOST_TURNED = 12, START_HALVINGS = 30 };

/*
 * Covariances are taken by expansion if log densities are then off by no more than this: an sd over states of
 * warm-up, N_COMPARED of each chain, by which means are off by no more than that of their sd; and at the most
 * where these are further_out times as far from the centre.
 */
enum { N_COMPARED = 8, LEAST_WARMUP = 100 };
static const double most_apart = 0.02, further_out = 1.5, most_apart_far = 0.5;

/* How far below the mode's, in log density, a chain may start; and a coordinate's share on top. */
static const double start_drop = 20;

void tacit_walk_add_states(walk_t *w) {
  for (size_t c = 0; c < w->n_chains; c++) {
    double before[TACIT_NOISE_AWARE_MAX_FEATURES];
    const double *theta = w->theta + c * w->d;
    w->n_states++;
    for (size_t j = 0; j < w->d; j++) {
      before[j] = theta[j] - w->mean[j];
      w->mean[j] += before[j] / w->n_states;
    }
    for (size_t i = 0; i < w->d * w->d; i++) {
      w->square[i] += before[i / w->d] * (theta[i % w->d] - w->mean[i % w->d]);
    }
  }
}

void tacit_walk_forget_states(walk_t *w) {
  memset(w->square, 0, w->d * w->d * sizeof *w->square);
  memset(w->mean, 0, w->d * sizeof *w->mean);
  w->n_states = 0;
}

static void keep(const walk_t *w, size_t c, size_t row, const tacit_draw_stats_t *stats,
                 tacit_draws_t *draws) {
  const tacit_parameters_t *parameters = w->posterior->parameters;
  const double *theta = w->theta + c * w->d;
  parameters->report(parameters->ctx, theta, tacit_draws_row(draws, c, row));
  tacit_draw_stats_t *kept = &draws->stats[c * (draws->n_warmup + draws->n_draws) + row];
  *kept = *stats;
  kept->log_prior = parameters->log_prior(parameters->ctx, theta, NULL);
}

/* ---- covariances by expansion ---- */

/* Where warm-up is long enough to tell whether they may be. */
static bool may_expand(const tacit_aware_posterior_t *p, const walk_moves_t *moves, size_t n_warmup) {
  return !moves->has_gradient && p->density == NULL && p->wide == NULL && n_warmup >= LEAST_WARMUP &&
         p->surrogate->d <= TACIT_AWARE_MOST_EXPANDED;
}

static size_t count_sites(const tacit_aware_posterior_t *p) {
  return p == NULL ? 0 : 1 + count_sites(p->next);
}

/* expansions NULL: what is evaluated is exact. */
static void expand(tacit_aware_posterior_t *p, tacit_expansion_t *const *expansions) {
  for (size_t i = 0; p != NULL; p = p->next, i++) {
    p->expansion = expansions != NULL ? expansions[i] : NULL;
  }
}

static tacit_status_t open_expansions(walk_t *w, const walk_start_t *from, tacit_error_t *err) {
  w->expansions = tacit_alloc_zero(count_sites(w->posterior), sizeof *w->expansions);
  tacit_status_t status = w->expansions != NULL ? TACIT_OK : tacit_error_memory(err);
  tacit_aware_posterior_t *p = w->posterior;
  for (size_t i = 0; p != NULL && status == TACIT_OK; p = p->next, i++) {
    status = tacit_expansion_new(&w->expansions[i], p, from->mode, from->factor, err);
  }
  for (size_t c = 0; c < w->n_chains && status == TACIT_OK; c++) {
    expand(w->own[c], w->expansions);
  }
  return status;
}

static void close_expansions(walk_t *w) {
  expand(w->posterior, NULL);
  for (size_t i = 0; w->expansions != NULL && i < count_sites(w->posterior); i++) {
    tacit_expansion_free(w->expansions[i]);
  }
  tacit_free(w->expansions);
}

typedef struct comparison {
  const walk_t *w;
  double *apart, *far; /* (n_chains, N_COMPARED): log densities, exact less by expansion */
} comparison_t;

static double difference(const comparison_t *of, size_t c, const double *theta) {
  tacit_aware_posterior_t *own = of->w->own[c];
  double by_expansion = tacit_aware_posterior_log_density(own, theta, NULL);
  expand(own, NULL);
  double exact = tacit_aware_posterior_log_density(own, theta, NULL);
  expand(own, of->w->expansions);
  return exact - by_expansion;
}

/* At states of the later half of warm-up, and further out. */
static void compare_chain(void *user, size_t c, size_t thread) {
  const comparison_t *of = user;
  const walk_t *w = of->w;
  (void)thread;
  for (size_t i = 0; i < N_COMPARED; i++) {
    size_t iteration = w->n_warmup / 2 + i * (w->n_warmup - w->n_warmup / 2) / N_COMPARED;
    const double *theta = w->warm + (iteration * w->n_chains + c) * w->d;
    double further[TACIT_AWARE_MOST_EXPANDED];
    for (size_t j = 0; j < w->d; j++) {
      further[j] = w->centre[j] + further_out * (theta[j] - w->centre[j]);
    }
    of->apart[c * N_COMPARED + i] = difference(of, c, theta);
    of->far[c * N_COMPARED + i] = difference(of, c, further);
  }
}

/* Is the density by expansion as good as the exact one where the chains go? */
static tacit_status_t compare(const walk_t *w, tacit_pool_t *pool, bool *is_good, tacit_error_t *err) {
  size_t n = w->n_chains * N_COMPARED;
  double *memory = tacit_alloc(2 * n, sizeof *memory), mean = 0, square = 0, furthest = 0;
  if (memory == NULL) {
    return tacit_error_memory(err);
  }
  comparison_t of = {w, memory, memory + n};
  tacit_pool_run(pool, w->n_chains, compare_chain, &of);
  for (size_t i = 0; i < n; i++) {
    mean += of.apart[i] / (double)n;
  }
  for (size_t i = 0; i < n; i++) {
    square += (of.apart[i] - mean) * (of.apart[i] - mean) / (double)n;
    furthest = fmax(furthest, isfinite(of.far[i]) ? fabs(of.far[i] - mean) : INFINITY);
  }
  *is_good = square <= most_apart * most_apart && furthest <= most_apart_far; /* not if it is no number */
  tacit_free(memory);
  return TACIT_OK;
}

/* ---- an iteration of all chains, on threads: each has a generator, a state and a workspace of its own ----
 */

typedef struct step {
  walk_t *w;
  tacit_draw_stats_t *stats; /* (n_chains) */
  double *accept;            /* (n_chains) */
} step_t;

static void move_chain(void *user, size_t c, size_t thread) {
  const step_t *step = user;
  (void)thread;
  step->accept[c] = step->w->moves->move(step->w, c, &step->stats[c]);
}

static void free_own(tacit_aware_posterior_t *own) {
  if (own != NULL) {
    free_own(own->next);
    if (own->wide != NULL) {
      tacit_wide_clear(own->wide);
      tacit_free(own->wide);
    }
    tacit_aware_posterior_clear(own);
    tacit_free(own);
  }
}

/* *own <- a posterior of the same releases, of several sites all of them, with a workspace of its own. */
static tacit_status_t copy(const tacit_aware_posterior_t *of, tacit_aware_posterior_t **own,
                           tacit_error_t *err) {
  *own = tacit_alloc_zero(1, sizeof **own);
  if (*own == NULL) {
    return tacit_error_memory(err);
  }
  if (of->wide != NULL) {
    **own = (tacit_aware_posterior_t){
        .surrogate = of->surrogate, .parameters = of->parameters, .settings = of->settings};
    (*own)->wide = tacit_alloc_zero(1, sizeof *(*own)->wide);
    return (*own)->wide != NULL ? tacit_wide_copy(of->wide, (*own)->wide, err) : tacit_error_memory(err);
  }
  tacit_status_t status = tacit_aware_posterior_init(*own, of->rounds, of->parameters, of->settings, err);
  return status == TACIT_OK && of->next != NULL ? copy(of->next, &(*own)->next, err) : status;
}

/* Of programs chains move one after another. */
static bool has_copies(const walk_t *w) {
  const tacit_aware_posterior_t *p = w->posterior;
  return p->settings->n_threads > 1 && w->n_chains > 1 && p->density == NULL;
}

static void close_own(walk_t *w) {
  for (size_t c = 1; w->own != NULL && has_copies(w) && c < w->n_chains; c++) {
    free_own(w->own[c]);
  }
  tacit_free(w->own);
}

static tacit_status_t open_own(walk_t *w, tacit_error_t *err) {
  w->own = tacit_alloc_zero(w->n_chains, sizeof *w->own);
  tacit_status_t status = w->own != NULL ? TACIT_OK : tacit_error_memory(err);
  for (size_t c = 0; c < w->n_chains && status == TACIT_OK; c++) {
    w->own[c] = w->posterior;
    status = c > 0 && has_copies(w) ? copy(w->posterior, &w->own[c], err) : TACIT_OK;
  }
  return status;
}

/* *is_good: false where covariances by expansion turn out not to do, and all must be drawn anew. */
static tacit_status_t iterate(walk_t *w, tacit_pool_t *pool, const step_t *step, tacit_draws_t *draws,
                              bool *is_good, tacit_error_t *err) {
  size_t thin = w->posterior->settings->thin, n_iterations = w->n_warmup + draws->n_draws * thin;
  double accepted = 0;
  bool goes_on = true;
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < n_iterations && goes_on; i++) {
    if (i == w->n_warmup && w->expansions != NULL) {
      status = compare(w, pool, is_good, err);
      if (status != TACIT_OK || !*is_good) {
        break;
      }
    }
    if (i == w->n_warmup) { /* from here on mean and square are of what is kept */
      tacit_walk_forget_states(w);
    }
    bool is_kept = i < w->n_warmup || (i + 1 - w->n_warmup) % thin == 0;
    size_t row = tacit_aware_rows(draws, thin, i + 1) - 1;
    double accept = 0;
    tacit_pool_run(pool, w->n_chains, move_chain, (void *)(uintptr_t)step);
    for (size_t c = 0; c < w->n_chains; c++) {
      accept += step->accept[c] / (double)w->n_chains;
      if (is_kept) {
        keep(w, c, row, &step->stats[c], draws);
      }
    }
    if (i < w->n_warmup) {
      w->moves->tune(w, i, accept);
    } else {
      tacit_walk_add_states(w);
    }
    accepted += accept;
    draws->n_saved = tacit_aware_rows(draws, thin, i + 1);
    goes_on = tacit_aware_goes_on(w->posterior->settings, i + 1, accepted / (double)(i + 1));
  }
  return status;
}

/*
 * Start a chain from the normal approximation at the mode, or as far on the way there as the density is not
 * far below the mode's: where tails are heavy or the posterior is skewed a chain may not come back from
 * there.
 */
static tacit_status_t start(walk_t *w, size_t c, const double *mode, tacit_error_t *err) {
  const tacit_noise_aware_settings_t *settings = w->posterior->settings;
  double *grad = w->moves->has_gradient ? w->grad + c * w->d : NULL;
  tacit_status_t status = tacit_rng_new(&w->rngs[c], settings->key, c, err);
  if (status != TACIT_OK) {
    return status;
  }
  double z[TACIT_NOISE_AWARE_MAX_FEATURES], *theta = w->theta + c * w->d;
  for (size_t j = 0; j < w->d; j++) {
    z[j] = tacit_rng_normal(w->rngs[c]);
  }
  double highest = tacit_aware_posterior_log_density(w->posterior, mode, NULL), far = 1;
  bool is_near = false;
  for (int i = 0; i <= START_HALVINGS && !is_near; i++, far *= i == START_HALVINGS ? 0 : 0.5) {
    memcpy(theta, mode, w->d * sizeof *theta);
    for (size_t j = 0; j < w->d; j++) {
      theta[j] += far * tacit_dot(j + 1, w->factor + j * w->d, z);
    }
    w->value[c] = tacit_aware_posterior_log_density(w->posterior, theta, grad);
    is_near = w->value[c] > highest - start_drop - (double)w->d;
  }
  return TACIT_OK;
}

static tacit_status_t run_walk(walk_t *w, tacit_draws_t *draws, bool *is_good, tacit_error_t *err) {
  tacit_pool_t *pool = NULL;
  step_t step = {.w = w,
                 .stats = tacit_alloc_zero(w->n_chains, sizeof *step.stats),
                 .accept = tacit_alloc_zero(w->n_chains, sizeof *step.accept)};
  tacit_status_t status = step.stats != NULL && step.accept != NULL ? TACIT_OK : tacit_error_memory(err);
  TACIT_THEN(status, tacit_pool_new(&pool, has_copies(w) ? w->posterior->settings->n_threads : 1, err));
  TACIT_THEN(status, iterate(w, pool, &step, draws, is_good, err));
  tacit_pool_free(pool);
  tacit_free(step.stats);
  tacit_free(step.accept);
  return status;
}

static tacit_status_t walk(tacit_aware_posterior_t *posterior, const walk_moves_t *moves,
                           const walk_start_t *from, bool is_expanded, bool *is_good, tacit_draws_t *draws,
                           double *mean, double *cov, tacit_error_t *err) {
  size_t d = posterior->surrogate->d, n = draws->n_chains;
  walk_t w = {.posterior = posterior, .moves = moves, .d = d, .n_chains = n, .n_warmup = draws->n_warmup};
  w.rngs = tacit_alloc_zero(n, sizeof *w.rngs);
  size_t n_warm = n * draws->n_warmup;
  double *memory = tacit_alloc_zero(2 * n * d + 3 * n + 2 * d * d + 2 * d + n_warm * (d + 1), sizeof *memory);
  tacit_status_t status = w.rngs != NULL && memory != NULL ? TACIT_OK : tacit_error_memory(err);
  if (status == TACIT_OK) {
    w.theta = memory;
    w.grad = w.theta + n * d;
    w.value = w.grad + n * d;
    w.factor = w.value + n;
    w.square = w.factor + d * d;
    w.mean = w.square + d * d;
    w.centre = w.mean + d;
    w.warm = w.centre + d;
    w.norms = w.warm + n_warm * d;
    w.n_turns = w.norms + n_warm;
    w.n_accepted = w.n_turns + n;
    memcpy(w.factor, from->factor, d * d * sizeof *w.factor);
    memcpy(w.centre, from->mode, d * sizeof *w.centre);
    w.moves->begin(&w);
  }
  TACIT_THEN(status, open_own(&w, err));
  if (is_expanded) {
    TACIT_THEN(status, open_expansions(&w, from, err));
  }
  for (size_t c = 0; c < n && status == TACIT_OK; c++) {
    status = start(&w, c, from->mode, err);
  }
  TACIT_THEN(status, run_walk(&w, draws, is_good, err));
  if (status == TACIT_OK) {
    memcpy(mean, w.mean, d * sizeof *mean);
    for (size_t i = 0; i < d * d; i++) {
      cov[i] = 0.5 * (w.square[i] + w.square[i % d * d + i / d]) / fmax(w.n_states - 1, 1);
    }
  }
  for (size_t c = 0; w.rngs != NULL && c < n; c++) {
    tacit_rng_free(w.rngs[c]);
  }
  close_expansions(&w);
  close_own(&w);
  tacit_free(w.rngs);
  tacit_free(memory);
  return status;
}

tacit_status_t tacit_walk_run(tacit_aware_posterior_t *posterior, const walk_moves_t *moves,
                              const walk_start_t *from, tacit_draws_t *draws, double *mean, double *cov,
                              tacit_error_t *err) {
  bool is_expanded = may_expand(posterior, moves, draws->n_warmup), is_good = true;
  tacit_status_t status = walk(posterior, moves, from, is_expanded, &is_good, draws, mean, cov, err);
  return status == TACIT_OK && !is_good ? walk(posterior, moves, from, false, &is_good, draws, mean, cov, err)
                                        : status;
}

tacit_status_t tacit_aware_walk(tacit_aware_posterior_t *posterior, const double *mode, const double *factor,
                                tacit_draws_t *draws, double *mean, double *cov, tacit_error_t *err) {
  const walk_moves_t *moves =
      posterior->surrogate->d > MOST_TURNED ? &tacit_walk_trajectories : &tacit_walk_turns;
  return tacit_walk_run(posterior, moves, &(walk_start_t){mode, factor}, draws, mean, cov, err);
}
