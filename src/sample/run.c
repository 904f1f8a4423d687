/*
 * The chain driver: checks the settings, prepares the chains, runs iterations, keeps draws.
 */
#include <math.h>
#include <string.h>

#include "sample/sample_internal.h"

tacit_sampler_settings_t tacit_sampler_settings_default(void) {
  return (tacit_sampler_settings_t){.n_chains = 4,
                                    .n_warmup = 1000,
                                    .n_draws = 1000,
                                    .thin = 1,
                                    .step_jitter = true,
                                    .proposal = TACIT_PROPOSAL_GUIDED,
                                    .reuse_gradient = true};
}

bool tacit_all_finite(const double *x, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!isfinite(x[i])) {
      return false;
    }
  }
  return true;
}

double tacit_halton(uint64_t i, double shift) {
  double point = 0, weight = 0.5;
  for (; i > 0; i >>= 1, weight *= 0.5) {
    point += (double)(i & 1) * weight;
  }
  point += shift;
  return point >= 1 ? point - 1 : point;
}

static tacit_status_t check_counts(const tacit_sampler_settings_t *s, tacit_error_t *err) {
  if (s->n_chains < 1 || s->n_chains > 10000) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "n_chains",
                           "the number of chains must be between 1 and 10000, not %zu", s->n_chains);
  }
  size_t n_iterations;
  if (s->n_draws < 1 || s->thin < 1 || __builtin_mul_overflow(s->n_draws, s->thin, &n_iterations) ||
      __builtin_add_overflow(n_iterations, s->n_warmup, &n_iterations)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "n_draws",
                           "draws and thin must be at least 1, and warm-up + draws * thin must fit");
  }
  return TACIT_OK;
}

static tacit_status_t check_settings(const tacit_method_t *method, const tacit_curator_t *curator,
                                     const tacit_sampler_settings_t *s, tacit_error_t *err) {
  tacit_status_t status = tacit_method_check(method, err);
  if (status == TACIT_OK) {
    status = check_counts(s, err);
  }
  if (status != TACIT_OK) {
    return status;
  }
  if (method->is_private == tacit_curator_is_exposed(curator)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "method",
                           method->is_private ? "method %s needs a private curator"
                                              : "method %s is not private: it needs an exposed curator",
                           method->name);
  }
  if (!(s->step_size > 0) || !isfinite(s->step_size)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "step_size", "the step size must be a number above 0");
  }
  if (tacit_method_is_hamiltonian(method) && s->n_leapfrog < 1) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "n_leapfrog",
                           "the number of leapfrog steps must be at least 1");
  }
  if (method->is_private && (!(s->noise_multiplier_ratio > 0) ||
                             (tacit_method_is_hamiltonian(method) && !(s->noise_multiplier_grad > 0)))) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "noise_multiplier",
                           "a private method needs noise multipliers above 0");
  }
  return TACIT_OK;
}

tacit_status_t tacit_sampler_cost(const tacit_method_t *method, const tacit_sampler_settings_t *settings,
                                  size_t n_iterations, tacit_sampler_cost_t *cost, tacit_error_t *err) {
  *cost = (tacit_sampler_cost_t){0};
  tacit_status_t status = tacit_method_check(method, err);
  if (status != TACIT_OK) {
    return status;
  }
  uint64_t per_chain = 0;
  bool overflow = false;
  if (tacit_method_is_hamiltonian(method)) {
    uint64_t steps = settings->n_leapfrog + (settings->reuse_gradient ? 0 : 1);
    overflow = __builtin_mul_overflow(n_iterations, steps, &per_chain) ||
               __builtin_add_overflow(per_chain, settings->reuse_gradient ? 1 : 0, &per_chain);
  }
  overflow = overflow || __builtin_mul_overflow(per_chain, settings->n_chains, &cost->n_gradients) ||
             __builtin_mul_overflow(n_iterations, settings->n_chains, &cost->n_ratios);
  if (overflow) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "n_draws", "the number of releases does not fit");
  }
  return TACIT_OK;
}

size_t tacit_run_pack(tacit_run_t *run, const double *rows, double *packed) {
  size_t n = 0;
  for (size_t c = 0; c < run->n_chains; c++) {
    if (run->is_active[c]) {
      memcpy(packed + n * run->dim, rows + c * run->dim, run->dim * sizeof *packed);
      run->packed_chain[n++] = c;
    }
  }
  return n;
}

/*
 * Proposals so far away that noise would drown any log ratio are rejected without a release. The rule is symmetric
 * in the two points and public, so the chain stays exact; it spares the budget after a divergent trajectory.
 */
static void drop_hopeless(tacit_run_t *run) {
  static const double max_noise_sd = 1e5;
  double per_bound = run->settings->noise_multiplier_ratio * tacit_curator_sensitivity_factor(run->curator);
  for (size_t c = 0; c < run->n_chains && !tacit_curator_is_exposed(run->curator); c++) {
    const double *from = run->theta + c * run->dim, *to = run->theta_prop + c * run->dim;
    double bound = run->is_active[c] ? tacit_curator_ratio_bound(run->curator, from, to) : 0;
    /* an infinite bound at a finite distance is a missing clip bound, which the release refuses */
    run->is_active[c] = run->is_active[c] && (isinf(bound) || per_bound * bound <= max_noise_sd);
  }
}

tacit_status_t tacit_run_accept(tacit_run_t *run, tacit_error_t *err) {
  drop_hopeless(run);
  size_t n = tacit_run_pack(run, run->theta, run->packed_a);
  tacit_run_pack(run, run->theta_prop, run->packed_b);
  tacit_status_t status =
      tacit_curator_release_log_ratio(run->curator, n, run->packed_a, run->packed_b,
                                      run->settings->noise_multiplier_ratio, run->log_ratio, run->noise_sd, err);
  if (status != TACIT_OK) {
    return status;
  }
  memset(run->accepted, 0, run->n_chains * sizeof *run->accepted);
  memset(run->accept_prob, 0, run->n_chains * sizeof *run->accept_prob);
  for (size_t i = 0; i < n; i++) {
    size_t c = run->packed_chain[i], d = run->dim;
    double penalty = run->settings->drop_penalty_for_tests ? 0 : 0.5 * run->noise_sd[i] * run->noise_sd[i];
    run->log_prior_prop[c] =
        run->parameters->log_prior(run->parameters->ctx, run->theta_prop + c * d, NULL);
    double log_accept =
        run->log_ratio[i] + run->log_prior_prop[c] - run->log_prior[c] + run->correction[c] - penalty;
    run->accept_prob[c] = log_accept < 0 ? exp(log_accept) : log_accept >= 0 ? 1 : 0;
    if (log(tacit_rng_uniform(run->rngs[c])) < log_accept) {
      run->accepted[c] = true;
      run->log_prior[c] = run->log_prior_prop[c];
      memcpy(run->theta + c * d, run->theta_prop + c * d, d * sizeof *run->theta);
    }
  }
  return TACIT_OK;
}

static void run_clear(tacit_run_t *run) {
  for (size_t c = 0; run->rngs != NULL && c < run->n_chains; c++) {
    tacit_rng_free(run->rngs[c]);
  }
  double *arrays[] = {run->theta,     run->theta_prop,   run->log_prior, run->log_prior_prop, run->log_ratio,
                      run->noise_sd,  run->correction,   run->step_size, run->jitter_shift,   run->grad,
                      run->grad_prop, run->momentum,     run->scratch,   run->direction,      run->packed_a,
                      run->packed_b,  run->accept_prob};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    tacit_free(arrays[i]);
  }
  tacit_free(run->rngs);
  tacit_free(run->accepted);
  tacit_free(run->is_active);
  tacit_free(run->component);
  tacit_free(run->packed_chain);
  tacit_metric_clear(&run->metric);
  tacit_adapt_clear(&run->adapt);
}

static tacit_status_t allocate(tacit_run_t *run, tacit_error_t *err) {
  size_t n = run->n_chains, all = n * run->dim;
  double **per_chain[] = {&run->log_prior, &run->log_prior_prop, &run->log_ratio,   &run->noise_sd,
                          &run->correction, &run->step_size,     &run->jitter_shift, &run->accept_prob};
  double **per_value[] = {&run->theta,    &run->theta_prop, &run->grad,     &run->grad_prop, &run->momentum,
                          &run->scratch,  &run->direction,  &run->packed_a, &run->packed_b};
  bool ok = true;
  for (size_t i = 0; i < sizeof per_chain / sizeof per_chain[0]; i++) {
    *per_chain[i] = tacit_alloc_zero(n, sizeof(double));
    ok = ok && *per_chain[i] != NULL;
  }
  for (size_t i = 0; i < sizeof per_value / sizeof per_value[0]; i++) {
    *per_value[i] = tacit_alloc_zero(all, sizeof(double));
    ok = ok && *per_value[i] != NULL;
  }
  run->rngs = tacit_alloc_zero(n, sizeof *run->rngs);
  run->accepted = tacit_alloc_zero(n, sizeof *run->accepted);
  run->is_active = tacit_alloc_zero(n, sizeof *run->is_active);
  run->component = tacit_alloc_zero(n, sizeof *run->component);
  run->packed_chain = tacit_alloc_zero(n, sizeof *run->packed_chain);
  ok = ok && run->rngs != NULL && run->accepted != NULL && run->is_active != NULL && run->component != NULL &&
       run->packed_chain != NULL;
  return ok ? TACIT_OK : tacit_error_memory(err);
}

static tacit_status_t start_chain(tacit_run_t *run, size_t c, tacit_error_t *err) {
  size_t d = run->dim;
  tacit_status_t status = tacit_rng_new(&run->rngs[c], run->settings->key, c, err);
  if (status != TACIT_OK) {
    return status;
  }
  if (run->settings->init != NULL) {
    memcpy(run->theta + c * d, run->settings->init + c * d, d * sizeof *run->theta);
  }
  run->log_prior[c] = run->parameters->log_prior(run->parameters->ctx, run->theta + c * d, NULL);
  if (!tacit_all_finite(run->theta + c * d, d) || !isfinite(run->log_prior[c])) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "init",
                           "chain %zu starts where the prior density is zero or not finite", c + 1);
  }
  run->jitter_shift[c] = tacit_rng_uniform(run->rngs[c]);
  for (size_t j = 0; j < d; j++) {
    run->direction[c * d + j] = tacit_rng_bits(run->rngs[c]) & 1 ? 1 : -1;
  }
  return TACIT_OK;
}

static tacit_status_t run_init(tacit_run_t *run, const tacit_method_t *method, tacit_curator_t *curator,
                               const tacit_parameters_t *parameters, const tacit_sampler_settings_t *settings,
                               tacit_error_t *err) {
  *run = (tacit_run_t){.settings = settings,
                       .curator = curator,
                       .parameters = parameters,
                       .n_chains = settings->n_chains,
                       .dim = parameters->dim,
                       .is_hamiltonian = tacit_method_is_hamiltonian(method),
                       .is_adapting = settings->adapt && tacit_curator_is_exposed(curator)};
  if (parameters->dim != tacit_curator_dim(curator)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "parameters",
                           "the prior has %zu parameters, the likelihood %zu", parameters->dim,
                           tacit_curator_dim(curator));
  }
  tacit_status_t status = allocate(run, err);
  if (status == TACIT_OK) {
    status = tacit_metric_init(&run->metric, run->dim, settings->inv_metric, settings->inv_metric_is_dense, err);
  }
  if (status == TACIT_OK && run->is_adapting) {
    status = tacit_adapt_init(&run->adapt, run->dim, settings->step_size, settings->n_warmup, err);
  }
  for (size_t c = 0; c < run->n_chains && status == TACIT_OK; c++) {
    status = start_chain(run, c, err);
  }
  return status;
}

static void keep(const tacit_run_t *run, tacit_draws_t *draws, size_t row) {
  for (size_t c = 0; c < run->n_chains; c++) {
    run->parameters->report(run->parameters->ctx, run->theta + c * run->dim, tacit_draws_row(draws, c, row));
    draws->stats[c * (draws->n_warmup + draws->n_draws) + row] =
        (tacit_draw_stats_t){.log_prior = run->log_prior[c],
                             .accept_stat = run->accepted[c] ? 1 : 0,
                             .step_size = run->step_size[c],
                             .n_leapfrog = (double)run->settings->n_leapfrog};
  }
  draws->n_saved = row + 1;
}

/* Step sizes of this iteration: public, and independent of the state. */
static void set_step_sizes(tacit_run_t *run) {
  double step_size = run->is_adapting ? run->adapt.step_size : run->settings->step_size;
  bool is_jittered = run->is_hamiltonian && run->settings->step_jitter;
  for (size_t c = 0; c < run->n_chains; c++) {
    run->step_size[c] = step_size * (is_jittered ? tacit_halton(run->iteration + 1, run->jitter_shift[c]) : 1);
  }
}

static tacit_status_t iterate(tacit_run_t *run, tacit_step_fn step, tacit_draws_t *draws,
                              tacit_sample_end_t *end, tacit_error_t *err) {
  const tacit_sampler_settings_t *s = run->settings;
  size_t n_iterations = s->n_warmup + s->n_draws * s->thin;
  uint64_t n_accepted = 0;
  for (run->iteration = 0; run->iteration < n_iterations; run->iteration++) {
    set_step_sizes(run);
    tacit_status_t status = step(run, err);
    if (status == TACIT_ERR_BUDGET) {
      *end = TACIT_SAMPLE_BUDGET;
      return TACIT_OK;
    }
    if (status != TACIT_OK) {
      return status;
    }
    for (size_t c = 0; c < run->n_chains; c++) {
      n_accepted += run->accepted[c];
    }
    if (run->is_adapting) {
      tacit_adapt_update(&run->adapt, run);
    }
    size_t i = run->iteration, done = i + 1;
    if (i < s->n_warmup) {
      keep(run, draws, i);
    } else if ((done - s->n_warmup) % s->thin == 0) {
      keep(run, draws, s->n_warmup + (done - s->n_warmup) / s->thin - 1);
    }
    tacit_progress_t progress = {done, n_iterations, (double)n_accepted / (double)(done * run->n_chains)};
    if (s->progress != NULL && !s->progress(&progress, s->progress_user)) {
      *end = TACIT_SAMPLE_INTERRUPTED;
      return TACIT_OK;
    }
  }
  return TACIT_OK;
}

tacit_status_t tacit_sample(const tacit_method_t *method, tacit_curator_t *curator,
                            const tacit_parameters_t *parameters, const tacit_sampler_settings_t *settings,
                            tacit_draws_t *draws, tacit_sample_end_t *end, tacit_error_t *err) {
  *draws = (tacit_draws_t){0};
  *end = TACIT_SAMPLE_COMPLETE;
  tacit_status_t status = check_settings(method, curator, settings, err);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_run_t run;
  status = run_init(&run, method, curator, parameters, settings, err);
  if (status == TACIT_OK) {
    status = tacit_draws_init(draws, settings->n_chains, settings->n_warmup, settings->n_draws,
                              parameters->n_reported, err);
  }
  if (status == TACIT_OK) {
    tacit_step_fn step = run.is_hamiltonian ? tacit_step_hamiltonian : tacit_step_random_walk;
    status = iterate(&run, step, draws, end, err);
  }
  run_clear(&run);
  return status;
}
