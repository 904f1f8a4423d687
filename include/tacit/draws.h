/**
 * @file draws.h
 * Draws of several chains, as samplers write them and diagnostics read them.
 */
#ifndef TACIT_DRAWS_H
#define TACIT_DRAWS_H

#include "tacit/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Columns per draw that describe the sampler; every one a public value or computed from releases only. */
typedef struct tacit_draw_stats {
  double log_prior;   /**< lp__ of the prior alone (public) */
  double accept_stat; /**< 1 if accepted, else 0, or a share of several moves: a function of releases */
  double step_size;   /**< noise-aware, up to 12 coefficients: the angle of a turn, in radians */
  double n_leapfrog;  /**< the same: evaluations of the density */
} tacit_draw_stats_t;

/** Sums over the iterations after warm-up of all chains; every one computed from releases and public values
 * only. */
typedef struct tacit_sampler_tally {
  uint64_t n_moves;                 /**< proposed */
  uint64_t n_decisions, n_accepted; /**< of methods that decide on moves; else 0 */
  uint64_t
      n_divergent; /**< moves that left the finite numbers or were too far for any release: rejected unseen */
  uint64_t n_ratios;
  double ratio_noise;   /**< sum over the ratios of the variance of the noise in them */
  uint64_t n_gradients; /**< released for trajectories under noise */
  double grad_square;   /**< sum over those of their mean square over coordinates, in units of the noise's
                           variance */
} tacit_sampler_tally_t;

/**
 * values: shape (n_chains, n_warmup + n_draws, n_reported), row-major; stats: the same without the
 * last axis. Rows 0 .. n_warmup-1 are warm-up. n_saved counts the rows filled in every chain
 * (a run that stops early leaves n_saved < n_warmup + n_draws).
 */
typedef struct tacit_draws {
  size_t n_chains, n_warmup, n_draws, n_reported, n_saved;
  double *values;
  tacit_draw_stats_t *stats;
  tacit_sampler_tally_t tally; /**< of tacit_sample(); zeros from elsewhere */
} tacit_draws_t;

/** What a sampler reports while it runs; every field is public. */
typedef struct tacit_progress {
  size_t iteration, n_iterations; /**< warm-up included */
  double accept_rate;             /**< over all chains so far */
} tacit_progress_t;

/** Return false to stop after the current iteration; draws so far are kept. */
typedef bool (*tacit_progress_fn)(const tacit_progress_t *progress, void *user);

TACIT_API TACIT_MUST_USE tacit_status_t tacit_draws_init(tacit_draws_t *draws, size_t n_chains,
                                                         size_t n_warmup, size_t n_draws, size_t n_reported,
                                                         tacit_error_t *err);
TACIT_API void tacit_draws_clear(tacit_draws_t *draws);

/** Number of draws after warm-up that were saved. */
static inline size_t tacit_draws_n_kept(const tacit_draws_t *draws) {
  return draws->n_saved > draws->n_warmup ? draws->n_saved - draws->n_warmup : 0;
}

/** Pointer to row `row` (warm-up included) of chain `chain`, shape (n_reported). */
static inline double *tacit_draws_row(const tacit_draws_t *draws, size_t chain, size_t row) {
  return draws->values + (chain * (draws->n_warmup + draws->n_draws) + row) * draws->n_reported;
}

#ifdef __cplusplus
}
#endif
#endif
