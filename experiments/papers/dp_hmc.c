/* [Raisa2021, section 5]: targets, settings, measures. */
#include <stdlib.h>
#include <string.h>

#include "diagnose/diagnose.h"
#include "dp_hmc.h"
#include "models/models.h"

/* ---- targets ---- */

static void draw_exact(const problem_t *p, tacit_rng_t *rng, double *theta) {
  for (size_t j = 0; j < p->dim; j++) {
    theta[j] = p->mean[j] + p->sd[j] * tacit_rng_normal(rng);
  }
  if (p->is_banana) {
    theta[1] -= 20 * theta[0] * theta[0];
  }
}

/* Records, and the conjugate posterior of u from the records as stored. */
static void simulate(problem_t *p, tacit_rng_t *rng) {
  double sum[most_dim] = {0};
  float *x = allocate((size_t)n_records * p->dim, sizeof *x);
  for (size_t i = 0; i < n_records; i++) {
    for (size_t j = 0; j < p->dim; j++) {
      x[i * p->dim + j] = (float)(p->truth[j] + p->obs_sd[j] * tacit_rng_normal(rng));
      sum[j] += (double)x[i * p->dim + j];
    }
  }
  for (size_t j = 0; j < p->dim; j++) {
    double variance = p->obs_sd[j] * p->obs_sd[j], precision = 1 / p->prior_var + n_records / variance;
    p->mean[j] = sum[j] / variance / precision;
    p->sd[j] = 1 / sqrt(precision);
    p->metric[j] = 1 / precision;
  }
  for (size_t i = 0; i < n_exact; i++) {
    draw_exact(p, rng, p->exact + i * p->dim);
  }
  p->target = (target_t){.name = p->is_banana ? "banana" : "gaussian",
                         .model = &p->model,
                         .n = n_records,
                         .n_columns = p->dim,
                         .x = x};
}

problem_t *open_problem(const run_t *run, bool is_banana) {
  problem_t *p = allocate(1, sizeof *p);
  tacit_rng_t *rng = study_rng(run, is_banana);
  tacit_error_t err;
  p->is_banana = is_banana;
  p->dim = is_banana ? 2 : 10;
  p->truth[1] = 3;
  p->prior_var = is_banana ? 1000 : 10000;
  if (is_banana) {
    const double variances[2] = {2000, 2500};
    p->obs_sd[0] = sqrt(variances[0]);
    p->obs_sd[1] = sqrt(variances[1]);
    must(tacit_model_init_banana(&p->model, 2, 20, 0, 0, p->prior_var, variances, &err), &err);
  } else { /* the paper draws variances from a gamma distribution of shape 1/2 that is not printed: these have
              its spread */
    for (size_t j = 0; j < p->dim; j++) {
      p->obs_sd[j] = sqrt(0.05 * pow(38, (double)j / 9));
    }
    must(tacit_model_init_gaussian_mean(&p->model, p->dim, p->obs_sd, sqrt(p->prior_var), &err), &err);
  }
  simulate(p, rng);
  tacit_rng_free(rng);
  return p;
}

void close_problem(problem_t *p) {
  free((void *)p->target.x);
  tacit_model_clear(&p->model);
  free(p);
}

double exact_mean(const problem_t *p, size_t j) {
  bool is_bent = p->is_banana && j == 1;
  return p->mean[j] - (is_bent ? 20 * (p->mean[0] * p->mean[0] + p->sd[0] * p->sd[0]) : 0);
}

/* ---- settings ---- */

/*
 * "paper": the authors' programs; DP-SGLD and DP-SGNHT with the noise that makes them sample the posterior.
 * eta of those programs is per record: DP-SGLD's drift eta / n is h^2 / 2 here, DP-SGNHT's step is eta / n.
 */
const setting_t on_banana[n_settings] = {
    {"dp-hmc", "paper", false, 0.006, 0.05, 0.1, 0.55, 0.1, 25, TACIT_PROPOSAL_FULL, false, 0, 0},
    {"dp-penalty", "paper", false, 0.06, 0, 0.15, 0, 0.17, 0, TACIT_PROPOSAL_FULL, false, 0, 0},
    {"dp-sgld", "paper", false, 0.004472136, 0.2, 0, 0, 0, 1, TACIT_PROPOSAL_FULL, false, 0.01, 0},
    {"dp-sgnht", "paper", false, 0.001, 0.2, 0, 0, 0, 1, TACIT_PROPOSAL_FULL, false, 0.01, 50},
    {"dp-hmc", "ours", true, 0.06, 0.15, 0.1, 0.55, 0.1, 25, TACIT_PROPOSAL_FULL, true, 0, 0},
    {"dp-penalty", "ours", true, 0.8, 0, 0.1, 0, 0.17, 0, TACIT_PROPOSAL_FULL, true, 0, 0},
    {"dp-sgld", "ours", false, 0.007, 0.6, 0, 0, 0, 1, TACIT_PROPOSAL_FULL, false, 1, 0},
    {"dp-sgnht", "ours", false, 0.007, 0.6, 0, 0, 0, 1, TACIT_PROPOSAL_FULL, false, 1, 10},
};
const setting_t on_gaussian[n_settings] = {
    {"dp-hmc", "paper", false, 0.00015, 10, 6, 0.25, 0.1, 12, TACIT_PROPOSAL_FULL, false, 0, 0},
    {"dp-penalty", "paper", false, 0.0007, 0, 10, 0, 0.05, 0, TACIT_PROPOSAL_FULL, false, 0, 0},
    {"dp-sgld", "paper", false, 0.0004, 15, 0, 0, 0, 1, TACIT_PROPOSAL_FULL, false, 0.01, 0},
    {"dp-sgnht", "paper", false, 0.000002, 12, 0, 0, 0, 1, TACIT_PROPOSAL_FULL, false, 0.01, 30},
    {"dp-hmc", "ours", false, 0.0004, 12, 6, 0.5, 0.1, 8, TACIT_PROPOSAL_FULL, true, 0, 0},
    {"dp-penalty", "ours", false, 0.001, 0, 6, 0, 0.06, 0, TACIT_PROPOSAL_FULL, true, 0, 0},
    {"dp-sgld", "ours", true, 0.4, 12, 0, 0, 0, 1, TACIT_PROPOSAL_FULL, false, 1, 0},
    {"dp-sgnht", "ours", true, 0.1, 12, 0, 0, 0, 1, TACIT_PROPOSAL_FULL, false, 1, 1},
};
bool is_stochastic(const setting_t *s) { return s->rate > 0; }

/* The noise that a step needs anyway, taken as privacy noise (docs/theory.md, section 17). */
static double own_noise(const setting_t *s, double largest) {
  double injected = strcmp(s->method, "dp-sgld") == 0 ? 4 : -expm1(-2 * s->friction * s->step);
  return s->rate * sqrt(injected) / (s->step * sqrt(largest)) / (2 * s->clip_grad);
}

trial_t trial_of(const problem_t *p, const setting_t *s, size_t n_runs, uint64_t seed) {
  trial_t t = trial_default(s->method, seed);
  t.delta = 0.1 / n_records;
  t.settings.n_chains = n_chains * n_runs;
  t.settings.step_size = s->step;
  t.settings.n_leapfrog = s->n_leapfrog;
  t.settings.proposal = s->proposal;
  t.settings.reuse_gradient = s->reuse_gradient;
  t.settings.sampling_rate = is_stochastic(s) ? tacit_curator_sampling_rate(s->rate) : 0;
  t.settings.friction = s->friction;
  t.settings.inv_metric = s->is_scaled ? p->metric : NULL;
  t.settings.noise_multiplier_grad = is_stochastic(s) ? own_noise(s, s->is_scaled ? p->metric[p->dim - 1] : 1)
                                                      : s->tau_grad * sqrt(n_records);
  t.settings.noise_multiplier_ratio = s->tau_ratio * sqrt(n_records);
  t.limits.clip_bound_grad = s->clip_grad;
  t.limits.clip_bound_ratio = s->clip_ratio;
  return t;
}

double posterior_sd(const problem_t *p, size_t j) {
  bool is_bent = p->is_banana && j == 1; /* 20 u_1^2 varies with 20 sqrt(2) sd^2, and with the mean */
  return is_bent ? sqrt(pow(p->sd[1], 2) + 800 * pow(p->sd[0], 4) + pow(40 * p->mean[0] * p->sd[0], 2))
                 : p->sd[j];
}

double *starts(const problem_t *p, tacit_rng_t *rng, size_t n) {
  double *init = allocate(n * p->dim, sizeof *init);
  for (size_t i = 0; i < n * p->dim; i++) {
    init[i] = p->truth[i % p->dim] + posterior_sd(p, i % p->dim) * tacit_rng_normal(rng);
  }
  return init;
}

/* ---- measures ---- */

score_t score_of(const problem_t *p, const tacit_draws_t *draws, size_t first_chain, size_t k) {
  size_t kept = k - k / 2, total = kept * n_chains, n = total < n_exact ? total : n_exact;
  double *sample = allocate(n * p->dim, sizeof *sample), mean[most_dim] = {0}, mmd2;
  for (size_t i = 0; i < total; i++) {
    const double *theta = tacit_draws_row(draws, first_chain + i / kept, k / 2 + i % kept);
    for (size_t j = 0; j < p->dim; j++) {
      mean[j] += theta[j] / (double)total;
    }
  }
  for (size_t i = 0; i < n; i++) {
    size_t at = i * total / n;
    memcpy(sample + i * p->dim, tacit_draws_row(draws, first_chain + at / kept, k / 2 + at % kept),
           p->dim * sizeof *sample);
  }
  tacit_error_t err;
  must(tacit_mmd2(sample, n, p->exact, n_exact, p->dim, 0, &mmd2, &err), &err);
  free(sample);
  score_t score = {.mmd = sqrt(fabs(mmd2))};
  for (size_t j = 0; j < p->dim; j++) {
    score.mean_error += pow(mean[j] - exact_mean(p, j), 2);
  }
  score.mean_error = sqrt(score.mean_error);
  return score;
}
