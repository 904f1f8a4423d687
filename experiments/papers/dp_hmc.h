/* What the studies of [Raisa2021] share: targets, settings, starts, measures. */
#ifndef PAPERS_DP_HMC_H
#define PAPERS_DP_HMC_H

#include "papers.h"

enum { n_records = 100000, n_chains = 4, n_exact = 1000, most_dim = 10 };

typedef struct problem {
  target_t target;
  tacit_model_t model;
  size_t dim;
  bool is_banana;
  double obs_sd[most_dim], truth[most_dim], prior_var;
  /* posterior: of u = (theta_1, theta_2 + 20 theta_1^2) for the banana */
  double mean[most_dim], sd[most_dim], metric[most_dim];
  double exact[n_exact * most_dim]; /* draws */
} problem_t;

problem_t *open_problem(const run_t *run, bool is_banana);
void close_problem(problem_t *p);
/* Posterior mean of theta itself. */
double exact_mean(const problem_t *p, size_t j);
/* Posterior standard deviation of theta_j. */
double posterior_sd(const problem_t *p, size_t j);

typedef struct setting {
  const char *method, *source;
  bool is_scaled; /* steps in units of the posterior's sds instead of the parameters' */
  /* noise multipliers over sqrt(n), as the authors give them */
  double step, clip_grad, clip_ratio, tau_grad, tau_ratio;
  size_t n_leapfrog;
  tacit_proposal_t proposal;
  bool reuse_gradient;
  double rate, friction;
} setting_t;

/* "dp-hmc", "dp-penalty", "dp-sgld", "dp-sgnht" as published, then the same four with settings of our own. */
enum { n_settings = 8 };
extern const setting_t on_banana[n_settings], on_gaussian[n_settings];

bool is_stochastic(const setting_t *s);
/* n_runs repeats of four chains in lockstep. */
trial_t trial_of(const problem_t *p, const setting_t *s, size_t n_runs, uint64_t seed);
/*
 * Starts of n chains: the true parameters moved by posterior sds, as in the paper; with real records such a
 * start would have to be public or paid for. Freed by the caller.
 */
double *starts(const problem_t *p, tacit_rng_t *rng, size_t n);

typedef struct score {
  double mmd, mean_error; /* the latter in posterior sds of u */
} score_t;

/* Of the second half of the first k draws of four chains. */
score_t score_of(const problem_t *p, const tacit_draws_t *draws, size_t first_chain, size_t k);

#endif
