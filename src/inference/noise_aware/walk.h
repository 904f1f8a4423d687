/* Chains over the posterior given the releases: walk.c runs them, turns.c and trajectories.c move and tune
 * them. */
#ifndef TACIT_NOISE_AWARE_WALK_H
#define TACIT_NOISE_AWARE_WALK_H

#include "noise_aware/noise_aware_internal.h"

typedef struct walk walk_t;

/* How a chain moves: what it starts with, one iteration of chain c, which returns an acceptance, and what it
 * tunes after one of warm-up. */
typedef struct walk_moves {
  bool has_gradient;
  void (*begin)(walk_t *w);
  double (*move)(walk_t *w, size_t c, tacit_draw_stats_t *stats);
  void (*tune)(walk_t *w, size_t iteration, double accept);
} walk_moves_t;

extern const walk_moves_t tacit_walk_turns, tacit_walk_trajectories;

struct walk {
  tacit_aware_posterior_t *posterior;
  const walk_moves_t *moves;
  size_t d, n_chains, n_warmup;
  tacit_rng_t **rngs;
  tacit_aware_posterior_t **own;  /* (n_chains): what each chain evaluates; of several threads copies, as an
                                     evaluation needs a workspace */
  const tacit_quartic_t *quartic; /* what is evaluated, or NULL */
  tacit_expansion_t *const *expansions; /* the same, of the posterior and those after it */
  const double *mode;                   /* (d): where chains start from */
  double *theta, *value;                /* (n_chains, d), (n_chains): log density */
  double *factor;                       /* (d, d): L, the metric or the scale matrix of the t being L L' */
  double *mean, *square, n_states;      /* (d), (d, d), and number: of the states of a time */
  /* turns.c: the t, from the last time that it was fitted on */
  double *centre, tails; /* (d): its centre; its degrees of freedom */
  double slices;         /* share of slices among the moves */
  size_t n_moves;        /* in an iteration */
  double *n_turns,
      *n_accepted;      /* (n_chains): turns since, and the sum of their probabilities of acceptance */
  double *warm, *norms; /* (n_warmup n_chains, d), (n_warmup n_chains): states of warm-up, squared norms in
                           the coordinates of the t */
  /* trajectories.c: gradients (n_chains, d), and dual averaging */
  double *grad;
  double step_size, shrink_towards, error_sum, log_step_average, n_steps;
};

/* Where chains start: a mode, and the lower factor of the inverse precision there. */
typedef struct walk_start {
  const double *mode, *factor; /* (d), (d, d) */
} walk_start_t;

/* tacit_aware_walk() with moves of this kind. */
TACIT_MUST_USE tacit_status_t tacit_walk_run(tacit_aware_posterior_t *posterior, const walk_moves_t *moves,
                                             const walk_start_t *start, tacit_draws_t *draws, double *mean,
                                             double *cov, tacit_error_t *err);
/* The states of all chains join mean and square, or those so far are forgotten. */
void tacit_walk_add_states(walk_t *w);
void tacit_walk_forget_states(walk_t *w);

#endif
