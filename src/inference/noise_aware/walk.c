/* Sampling from the posterior given the releases, which is public: everything may be tuned. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/fault.h"
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
 * What is evaluated is the polynomial of quartic.c, or covariances by expansion, if log densities are then
 * off by no more than this: an sd over states of warm-up, N_COMPARED of each chain, by which means are off by
 * no more than that of their sd; and, where these are further_out times as far from the centre, at the most
 * or by a share of how far the density has fallen there. Once all is drawn the same is asked of what was, to
 * see chains that left: of some draws, few enough to allow them an sd of twice as much, and of the one of
 * each chain that is furthest out.
 */
enum { N_COMPARED = 8, LEAST_WARMUP = 100 };
static const double most_apart = 0.02, further_out = 1.5, most_apart_far = 0.5, share_far = 0.05;

/* How far below the mode's, in log density, a chain may start; and a coordinate's share on top. */
static const double start_drop = 20;

/* state (d) <- that of chain c. */
static void take_state(const walk_t *w, size_t c, double *state) {
  memcpy(state, w->theta + c * w->d, w->d * sizeof *state);
  for (size_t j = 0; j < w->d && TACIT_IS_PLANTED(TACIT_FAULT_HALF_AS_WIDE); j++) {
    state[j] = 0.5 * (w->centre[j] + state[j]);
  }
}

void tacit_walk_add_states(walk_t *w) {
  for (size_t c = 0; c < w->n_chains; c++) {
    double before[TACIT_NOISE_AWARE_MAX_FEATURES], theta[TACIT_NOISE_AWARE_MAX_FEATURES];
    take_state(w, c, theta);
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
  double theta[TACIT_NOISE_AWARE_MAX_FEATURES];
  take_state(w, c, theta);
  parameters->report(parameters->ctx, theta, tacit_draws_row(draws, c, row));
  tacit_draw_stats_t *kept = &draws->stats[c * (draws->n_warmup + draws->n_draws) + row];
  *kept = *stats;
  kept->log_prior = parameters->log_prior(parameters->ctx, theta, NULL);
}

/* ---- what chains evaluate in the place of the log density ---- */

/* Where warm-up is long enough to tell whether anything may. */
static bool may_approximate(const tacit_aware_posterior_t *p, const walk_moves_t *moves, size_t n_warmup) {
  return !moves->has_gradient && p->density == NULL && p->wide == NULL && n_warmup >= LEAST_WARMUP &&
         p->surrogate->d <= TACIT_AWARE_MOST_EXPANDED;
}

static size_t count_sites(const tacit_aware_posterior_t *p) {
  return p == NULL ? 0 : 1 + count_sites(p->next);
}

typedef struct approximations {
  tacit_expansion_t **expansions; /* of the posterior and those after it */
  tacit_quartic_t *quartic;
} approximations_t;

/* By one or the other, or where both are NULL what is exact. */
static void approximate(tacit_aware_posterior_t *p, const tacit_quartic_t *quartic,
                        tacit_expansion_t *const *expansions) {
  p->quartic = quartic;
  for (size_t i = 0; p != NULL; p = p->next, i++) {
    p->expansion = expansions != NULL ? expansions[i] : NULL;
  }
}

static void close_approximations(approximations_t *a, tacit_aware_posterior_t *posterior) {
  for (size_t i = 0; a->expansions != NULL && i < count_sites(posterior); i++) {
    tacit_expansion_free(a->expansions[i]);
  }
  tacit_free(a->expansions);
  tacit_quartic_free(a->quartic);
}

/* The quartic is made of the density by expansion. */
static tacit_status_t open_approximations(approximations_t *a, tacit_aware_posterior_t *posterior,
                                          const walk_start_t *from, tacit_error_t *err) {
  a->expansions = tacit_alloc_zero(count_sites(posterior), sizeof *a->expansions);
  tacit_status_t status = a->expansions != NULL ? TACIT_OK : tacit_error_memory(err);
  tacit_aware_posterior_t *p = posterior;
  for (size_t i = 0; p != NULL && status == TACIT_OK; p = p->next, i++) {
    status = tacit_expansion_new(&a->expansions[i], p, from->mode, from->factor, err);
  }
  approximate(posterior, NULL, a->expansions);
  TACIT_THEN(status, tacit_quartic_new(&a->quartic, posterior, from->mode, from->factor, err));
  approximate(posterior, NULL, NULL);
  return status;
}

/* Exact log densities less approximate ones at states of each chain: at usual ones, and far out. */
typedef struct comparison {
  const walk_t *w;
  size_t n, n_far;    /* states of a chain */
  double allowed;     /* sd over the usual ones */
  double *theta;      /* (n_chains, n + n_far, d) */
  double *difference; /* (n_chains, n + n_far): of those far out, over what is allowed there */
} comparison_t;

static void compare_chain(void *user, size_t c, size_t thread) {
  const comparison_t *of = user;
  const walk_t *w = of->w;
  tacit_aware_posterior_t *own = w->own[c];
  size_t n = of->n + of->n_far;
  (void)thread;
  double top = tacit_aware_posterior_log_density(own, w->mode, NULL);
  for (size_t i = c * n; i < (c + 1) * n; i++) {
    const double *theta = of->theta + i * w->d;
    double taken = tacit_aware_posterior_log_density(own, theta, NULL);
    approximate(own, NULL, NULL);
    double exact = tacit_aware_posterior_log_density(own, theta, NULL);
    approximate(own, w->quartic, w->expansions);
    of->difference[i] =
        (exact - taken) / (i % n < of->n ? 1 : fmax(most_apart_far, share_far * (top - exact)));
  }
}

/* Is the approximate density as good as the exact one there? Not if it is no number. */
static bool is_good(const comparison_t *of) {
  size_t n = of->n + of->n_far, n_all = of->w->n_chains * n;
  double n_near = (double)(of->w->n_chains * of->n), mean = 0, square = 0, furthest = 0;
  for (size_t i = 0; i < n_all; i++) {
    mean += i % n < of->n ? of->difference[i] / n_near : 0;
  }
  for (size_t i = 0; i < n_all; i++) {
    double apart = of->difference[i] - mean;
    if (i % n < of->n) {
      square += apart * apart / n_near;
    } else {
      furthest = fmax(furthest, isfinite(of->difference[i]) ? fabs(of->difference[i]) : INFINITY);
    }
  }
  return square <= of->allowed * of->allowed && furthest <= 1;
}

static tacit_status_t open_comparison(comparison_t *of, const walk_t *w, size_t n, size_t n_far,
                                      double allowed, tacit_error_t *err) {
  size_t n_all = w->n_chains * (n + n_far);
  *of = (comparison_t){w, n, n_far, allowed, tacit_alloc_zero(n_all * (w->d + 1), sizeof *of->theta), NULL};
  of->difference = of->theta != NULL ? of->theta + n_all * w->d : NULL;
  return of->theta != NULL ? TACIT_OK : tacit_error_memory(err);
}

/* States of the later half of warm-up, and further out. */
static tacit_status_t compare_warm(const walk_t *w, tacit_pool_t *pool, bool *good, tacit_error_t *err) {
  comparison_t of;
  tacit_status_t status = open_comparison(&of, w, N_COMPARED, N_COMPARED / 2, most_apart, err);
  if (status != TACIT_OK) {
    return status;
  }
  for (size_t k = 0; k < w->n_chains * (of.n + of.n_far); k++) {
    size_t c = k / (of.n + of.n_far), i = k % (of.n + of.n_far), of_n = i < of.n ? i : 2 * (i - of.n);
    size_t iteration = w->n_warmup / 2 + of_n * (w->n_warmup - w->n_warmup / 2) / N_COMPARED;
    const double *state = w->warm + (iteration * w->n_chains + c) * w->d;
    for (size_t j = 0; j < w->d; j++) {
      of.theta[k * w->d + j] = w->centre[j] + (i < of.n ? 1 : further_out) * (state[j] - w->centre[j]);
    }
  }
  tacit_pool_run(pool, w->n_chains, compare_chain, &of);
  *good = is_good(&of);
  tacit_free(of.theta);
  return TACIT_OK;
}

/* For the end: of each chain states at even distances, and the one that is furthest from the centre. share:
 * of all draws, so far. furthest (n_chains). */
static void see(const comparison_t *seen, double share, double *furthest) {
  const walk_t *w = seen->w;
  for (size_t c = 0; c < w->n_chains; c++) {
    const double *theta = w->theta + c * w->d;
    double *kept = seen->theta + c * (seen->n + seen->n_far) * w->d, from[TACIT_NOISE_AWARE_MAX_FEATURES];
    for (size_t j = 0; j < w->d; j++) {
      from[j] = theta[j] - w->centre[j];
    }
    tacit_solve_lower(w->d, w->factor, from);
    double square = tacit_dot(w->d, from, from);
    if (square >= furthest[c]) {
      furthest[c] = square;
      memcpy(kept + seen->n * w->d, theta, w->d * sizeof *theta);
    }
    for (size_t i = (size_t)(share * (double)seen->n); i < seen->n; i++) {
      memcpy(kept + i * w->d, theta, w->d * sizeof *theta);
    }
  }
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

/* All chains once. */
static double iterate(walk_t *w, tacit_pool_t *pool, const step_t *step, size_t i, tacit_draws_t *draws) {
  size_t thin = w->posterior->settings->thin, row = tacit_aware_rows(draws, thin, i + 1) - 1;
  bool is_kept = i < w->n_warmup || (i + 1 - w->n_warmup) % thin == 0;
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
  draws->n_saved = tacit_aware_rows(draws, thin, i + 1);
  return accept;
}

/* *good: false where what is evaluated turns out not to do, and all must be drawn anew. seen, furthest: as in
 * see(). */
static tacit_status_t iterate_all(walk_t *w, tacit_pool_t *pool, const step_t *step, const comparison_t *seen,
                                  double *furthest, tacit_draws_t *draws, bool *good, tacit_error_t *err) {
  size_t n_after = draws->n_draws * w->posterior->settings->thin, n_iterations = w->n_warmup + n_after;
  bool goes_on = true, is_approximate = w->quartic != NULL || w->expansions != NULL;
  double accepted = 0;
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < n_iterations && goes_on; i++) {
    if (i == w->n_warmup) { /* from here on mean and square are of what is kept */
      status = is_approximate ? compare_warm(w, pool, good, err) : TACIT_OK;
      if (status != TACIT_OK || !*good) {
        return status;
      }
      tacit_walk_forget_states(w);
    }
    accepted += iterate(w, pool, step, i, draws);
    if (is_approximate && i >= w->n_warmup) {
      see(seen, (double)(i - w->n_warmup) / (double)n_after, furthest);
    }
    goes_on = tacit_aware_goes_on(w->posterior->settings, i + 1, accepted / (double)(i + 1));
  }
  if (is_approximate && draws->n_saved > w->n_warmup) {
    tacit_pool_run(pool, w->n_chains, compare_chain, (void *)(uintptr_t)seen);
    *good = is_good(seen);
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

static tacit_status_t run_walk(walk_t *w, tacit_draws_t *draws, bool *good, tacit_error_t *err) {
  enum { N_SEEN = 4 };
  tacit_pool_t *pool = NULL;
  comparison_t seen = {0};
  step_t step = {.w = w,
                 .stats = tacit_alloc_zero(w->n_chains, sizeof *step.stats),
                 .accept = tacit_alloc_zero(2 * w->n_chains, sizeof *step.accept)};
  tacit_status_t status = step.stats != NULL && step.accept != NULL ? TACIT_OK : tacit_error_memory(err);
  TACIT_THEN(status, open_comparison(&seen, w, N_SEEN, 1, 2 * most_apart, err));
  TACIT_THEN(status, tacit_pool_new(&pool, has_copies(w) ? w->posterior->settings->n_threads : 1, err));
  TACIT_THEN(status, iterate_all(w, pool, &step, &seen, step.accept + w->n_chains, draws, good, err));
  tacit_pool_free(pool);
  tacit_free(seen.theta);
  tacit_free(step.stats);
  tacit_free(step.accept);
  return status;
}

static tacit_status_t walk(tacit_aware_posterior_t *posterior, const walk_moves_t *moves,
                           const walk_start_t *from, const approximations_t *by, bool *good,
                           tacit_draws_t *draws, double *mean, double *cov, tacit_error_t *err) {
  size_t d = posterior->surrogate->d, n = draws->n_chains;
  walk_t w = {.posterior = posterior,
              .moves = moves,
              .quartic = by->quartic,
              .expansions = by->expansions,
              .mode = from->mode,
              .d = d,
              .n_chains = n,
              .n_warmup = draws->n_warmup};
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
  for (size_t c = 0; c < n && status == TACIT_OK; c++) {
    approximate(w.own[c], w.quartic, w.expansions);
    status = start(&w, c, from->mode, err);
  }
  TACIT_THEN(status, run_walk(&w, draws, good, err));
  if (status == TACIT_OK) {
    memcpy(mean, w.mean, d * sizeof *mean);
    for (size_t i = 0; i < d * d; i++) {
      cov[i] = 0.5 * (w.square[i] + w.square[i % d * d + i / d]) / fmax(w.n_states - 1, 1);
    }
  }
  for (size_t c = 0; w.rngs != NULL && c < n; c++) {
    tacit_rng_free(w.rngs[c]);
  }
  approximate(posterior, NULL, NULL);
  close_own(&w);
  tacit_free(w.rngs);
  tacit_free(memory);
  return status;
}

tacit_status_t tacit_walk_run(tacit_aware_posterior_t *posterior, const walk_moves_t *moves,
                              const walk_start_t *from, tacit_draws_t *draws, double *mean, double *cov,
                              tacit_error_t *err) {
  approximations_t made = {0};
  bool good = false, may = may_approximate(posterior, moves, draws->n_warmup);
  tacit_status_t status = may ? open_approximations(&made, posterior, from, err) : TACIT_OK;
  const approximations_t all[] = {{.quartic = made.quartic}, {.expansions = made.expansions}, {0}};
  for (size_t i = may ? 0 : 2; !good && status == TACIT_OK; i++) {
    good = true;
    status = walk(posterior, moves, from, &all[i], &good, draws, mean, cov, err);
  }
  close_approximations(&made, posterior);
  return status;
}

tacit_status_t tacit_aware_walk(tacit_aware_posterior_t *posterior, const double *mode, const double *factor,
                                tacit_draws_t *draws, double *mean, double *cov, tacit_error_t *err) {
  const walk_moves_t *moves =
      posterior->surrogate->d > MOST_TURNED ? &tacit_walk_trajectories : &tacit_walk_turns;
  return tacit_walk_run(posterior, moves, &(walk_start_t){mode, factor}, draws, mean, cov, err);
}
