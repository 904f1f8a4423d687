/*
 * Shared by the samplers: chain states, the metric, the acceptance rule. Samplers see public values and
 * releases only; nothing here may include tacit/data.h (tests/base/test_includes.py checks it).
 */
#ifndef TACIT_SAMPLE_INTERNAL_H
#define TACIT_SAMPLE_INTERNAL_H

#include "curator/curator.h"
#include "formula/model.h"
#include "tacit/random.h"
#include "tacit/sample.h"

/* Inverse mass matrix W: unit, diagonal or dense, with what momenta and random walks need. */
typedef struct tacit_metric {
  size_t dim;
  bool is_dense;
  double *inv_metric; /* (dim) or (dim, dim) */
  double *root;       /* diagonal: sqrt(W), (dim); dense: lower Cholesky factor R of W, (dim, dim) */
} tacit_metric_t;

TACIT_MUST_USE tacit_status_t tacit_metric_init(tacit_metric_t *metric, size_t dim, const double *inv_metric,
                                                bool is_dense, tacit_error_t *err);
/* ->root from ->inv_metric; false, with the root spoilt, if that is not positive definite. */
bool tacit_metric_factorise(tacit_metric_t *metric);
void tacit_metric_clear(tacit_metric_t *metric);
/* p <- R^-T z ~ N(0, W^-1) for z ~ N(0, I) */
void tacit_metric_momentum(const tacit_metric_t *metric, const double *z, double *p);
/* x <- R z ~ N(0, W) */
void tacit_metric_scale(const tacit_metric_t *metric, const double *z, double *x);
/* v <- W p; returns p' W p */
double tacit_metric_velocity(const tacit_metric_t *metric, const double *p, double *v);

/*
 * Base-2 Halton (van der Corput) point number i, shifted by `shift` modulo 1: jitter of step sizes that does
 * not depend on the state [Raisa2021, section 4].
 */
double tacit_halton(uint64_t i, double shift);

/* State of the tuning of the exposed hmc. */
typedef struct tacit_adapt {
  size_t n_warmup, n_steps, n_states;
  size_t window, window_end; /* of states that the next metric is made of */
  double step_size;          /* to use next */
  double shrink_towards, error_sum, log_step_average;
  double *mean, *square; /* (dim), and as the metric: sums of squares about the mean */
  double *before;        /* (dim) */
} tacit_adapt_t;

struct tacit_run;
/* A diagonal metric of few parameters becomes a dense one, since posteriors are rarely independent. */
TACIT_MUST_USE tacit_status_t tacit_adapt_init(tacit_adapt_t *adapt, tacit_metric_t *metric, double step_size,
                                               size_t n_warmup, tacit_error_t *err);
void tacit_adapt_clear(tacit_adapt_t *adapt);
/* After an iteration of warm-up: next step size, and at the ends of windows, each twice as long as the one
 * before, a new metric. */
void tacit_adapt_update(tacit_adapt_t *adapt, struct tacit_run *run);

/* How a method moves, and how it decides. */
typedef enum tacit_move {
  TACIT_MOVE_WALK,
  TACIT_MOVE_HAMILTONIAN,
  TACIT_MOVE_LANGEVIN,
  TACIT_MOVE_SGLD,
  TACIT_MOVE_SGHMC,
  TACIT_MOVE_SGHMC_NAIVE,
  TACIT_MOVE_SGNHT
} tacit_move_t;

typedef enum tacit_decision {
  TACIT_DECISION_NONE,         /* stochastic gradients: every move is made */
  TACIT_DECISION_RATIO_OR_BIT, /* as the settings say; not returned by tacit_method_traits() */
  TACIT_DECISION_RATIO,
  TACIT_DECISION_BIT,
  TACIT_DECISION_SAMPLED_RATIO,
  TACIT_DECISION_SAMPLED_BARKER,
  TACIT_DECISION_MINIBATCH,
  TACIT_DECISION_LANGEVIN
} tacit_decision_t;

typedef struct tacit_traits {
  tacit_move_t move;
  tacit_decision_t decision;
} tacit_traits_t;

tacit_traits_t tacit_method_traits(const tacit_method_t *method, const tacit_sampler_settings_t *settings);
bool tacit_traits_is_stochastic(tacit_traits_t traits);
/* Are noisy log ratios released? From minibatches? */
bool tacit_decision_is_by_ratio(tacit_decision_t decision);
bool tacit_decision_is_sampled_ratio(tacit_decision_t decision);
/* Does an iteration's work depend on how many records a random subset has, which is secret? */
bool tacit_method_is_by_minibatch(const tacit_method_t *method, const tacit_sampler_settings_t *settings);
tacit_minibatch_rule_t tacit_minibatch_rule_of(const tacit_method_t *method,
                                               const tacit_sampler_settings_t *settings);

/* Stochastic gradients: releases in an iteration; step and noise multiplier of iteration t, from 0. */
uint64_t tacit_stochastic_steps(tacit_traits_t traits, const tacit_sampler_settings_t *settings);
double tacit_stochastic_step_size(const tacit_sampler_settings_t *settings, uint64_t t);
double tacit_stochastic_noise(tacit_traits_t traits, const tacit_sampler_settings_t *settings, uint64_t t);
/*
 * Largest sd of the noise in a released gradient that the noise a step adds anyway covers in every
 * coordinate, the largest inverse metric being `largest`.
 */
double tacit_stochastic_noise_sd(tacit_traits_t traits, const tacit_sampler_settings_t *settings,
                                 double largest);

/* One run: all chains in lockstep. Arrays have shape (n_chains, dim) unless said. */
typedef struct tacit_run {
  const tacit_method_t *method;
  const tacit_sampler_settings_t *settings; /* same as own */
  tacit_sampler_settings_t *own;            /* tuning changes the step */
  tacit_traits_t traits;
  double planned_bound, planned_kick; /* effort of a step as planned; see tune.c */
  tacit_metric_t planned_metric;      /* where there is tuning */
  tacit_curator_t *curator;
  const tacit_parameters_t *parameters;
  tacit_metric_t metric;
  tacit_sampler_tally_t tally;
  size_t n_chains, dim, iteration;
  bool is_adapting;
  tacit_adapt_t adapt;

  tacit_rng_t **rngs; /* (n_chains) */
  double *theta, *theta_prop;
  double *log_prior, *log_prior_prop; /* (n_chains) */
  double *log_ratio, *noise_sd;       /* (n_chains) */
  double *correction;                 /* (n_chains): public part of the log acceptance ratio */
  double *step_size, *jitter_shift;   /* (n_chains) */
  double *accept_prob;                /* (n_chains) */
  bool *accepted, *is_active;         /* (n_chains); inactive: the proposal overflowed and is rejected */

  /* Hamiltonian moves */
  double *grad, *grad_prop; /* released log-likelihood gradients */
  double *momentum, *scratch;
  bool has_grad;

  /* component-wise walks: the component that moves, and the guided walk's directions +-1 */
  size_t *component; /* (n_chains) */
  double *direction;

  double *thermostat;                   /* (n_chains): of the Nose-Hoover sampler */
  double *prior_grad, *prior_grad_prop; /* Langevin moves */

  /* the active chains, packed for a release: (n_chains), (n_chains, dim) */
  size_t *packed_chain;
  bool *packed_accepted;
  double *packed_a, *packed_b;
} tacit_run_t;

/* One iteration of every chain: fills theta_prop, decides accepted, updates the state. */
typedef tacit_status_t (*tacit_step_fn)(tacit_run_t *run, tacit_error_t *err);
tacit_status_t tacit_step_random_walk(tacit_run_t *run, tacit_error_t *err);
tacit_status_t tacit_step_hamiltonian(tacit_run_t *run, tacit_error_t *err);
tacit_status_t tacit_step_langevin(tacit_run_t *run, tacit_error_t *err);
tacit_status_t tacit_step_sgld(tacit_run_t *run, tacit_error_t *err);
tacit_status_t tacit_step_sghmc(tacit_run_t *run, tacit_error_t *err);
tacit_status_t tacit_step_sgnht(tacit_run_t *run, tacit_error_t *err);

/* Move the starts by released gradients, if the settings say so. */
TACIT_MUST_USE tacit_status_t tacit_run_warm_start(tacit_run_t *run, tacit_error_t *err);

/*
 * tune.c. Times that releases tune a run: 0, 1 or 2. The smallest edge of the grid beyond which at most
 * `share` of the noisy counts are; the last, if there is none. The curvature to use for a released one, given
 * a public guess of it: what a normal distribution with mean and sd `guess` becomes, no smaller than its own
 * sd, so that noise makes no curvature vanish.
 */
bool tacit_settings_tune_clips(const tacit_sampler_settings_t *settings);
bool tacit_settings_are_tuned(const tacit_sampler_settings_t *settings);
size_t tacit_tuning_n_rounds(const tacit_sampler_settings_t *settings);
TACIT_MUST_USE tacit_status_t tacit_tuning_check(const tacit_method_t *method,
                                                 const tacit_sampler_settings_t *settings,
                                                 const tacit_curator_t *curator, tacit_error_t *err);
double tacit_tuning_clip(const double *counts, double share);
double tacit_tuning_curvature(double released, double noise_sd, double guess);
/* Note what the plan counts on; choose clip bounds and metric at a point, the last time also the step;
 * report. */
TACIT_MUST_USE tacit_status_t tacit_run_tuning_begin(tacit_run_t *run, tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_run_tune(tacit_run_t *run, const double *theta, bool is_last,
                                             tacit_error_t *err);
void tacit_run_tuning_end(const tacit_run_t *run);

/* Is this iteration one that the tally is of? */
bool tacit_run_is_tallied(const tacit_run_t *run);

/* Number of active chains; their indices into packed_chain and their rows of `rows` into `packed`. */
size_t tacit_run_pack(tacit_run_t *run, const double *rows, double *packed);

/*
 * Probability that a proposal is accepted given its log acceptance ratio, in which there is noise of sd
 * noise_sd: min(1, exp(noisy_ratio - noise_sd^2 / 2)) [docs/theory.md, "Penalty"], or what barker_test says.
 */
double tacit_accept_probability(const tacit_sampler_settings_t *settings, tacit_decision_t decision,
                                double noisy_ratio, double noise_sd);

/* Does the noise of a release leave room in the variance that Barker's test is made for? Other decisions
 * pass. */
TACIT_MUST_USE tacit_status_t tacit_barker_check(tacit_traits_t traits, const tacit_curator_t *curator,
                                                 const tacit_sampler_settings_t *s, tacit_error_t *err);

/*
 * Decide on theta -> theta_prop of the active chains in the method's way, `correction` being the public part
 * of the log acceptance ratio without the prior, and move.
 */
TACIT_MUST_USE tacit_status_t tacit_run_accept(tacit_run_t *run, tacit_error_t *err);

/* Refuse a method that is no Markov chain over releases. */
TACIT_MUST_USE tacit_status_t tacit_method_check(const tacit_method_t *method, tacit_error_t *err);

bool tacit_all_finite(const double *x, size_t n);

#endif
