/*
 * The chain driver: checks the settings, prepares the chains, runs iterations, keeps draws.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "sample/sample_internal.h"

tacit_sampler_settings_t tacit_sampler_settings_default(void) {
  return (tacit_sampler_settings_t){.n_chains = 4,
                                    .n_warmup = 1000,
                                    .n_draws = 1000,
                                    .thin = 1,
                                    .step_jitter = true,
                                    .proposal = TACIT_PROPOSAL_GUIDED,
                                    .reuse_gradient = true,
                                    .clip_share = 0.01};
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

static tacit_status_t check_noise(const tacit_method_t *method, tacit_traits_t traits,
                                  const tacit_sampler_settings_t *s, tacit_error_t *err) {
  bool uses_ratio = tacit_decision_is_by_ratio(traits.decision);
  bool uses_grad = traits.move != TACIT_MOVE_WALK;
  if (method->is_private &&
      ((uses_ratio && !(s->noise_multiplier_ratio > 0)) || (uses_grad && !(s->noise_multiplier_grad > 0)))) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "noise_multiplier",
                           "a private method needs noise multipliers above 0");
  }
  bool is_sampled = tacit_decision_is_sampled_ratio(traits.decision) || tacit_traits_is_stochastic(traits);
  if (is_sampled && !(s->sampling_rate > 0 && s->sampling_rate <= 1)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "sampling_rate",
                           "the sampling rate must be above 0 and at most 1");
  }
  if (s->inv_metric_is_dense && (traits.move == TACIT_MOVE_LANGEVIN || tacit_traits_is_stochastic(traits))) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "inv_metric", "method %s takes a diagonal metric",
                           method->name);
  }
  return TACIT_OK;
}

static tacit_status_t check_settings(const tacit_method_t *method, const tacit_curator_t *curator,
                                     const tacit_sampler_settings_t *s, tacit_error_t *err) {
  tacit_status_t status = tacit_method_check(method, err);
  TACIT_THEN(status, check_counts(s, err));
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
  tacit_traits_t traits = tacit_method_traits(method, s);
  bool has_steps = traits.move == TACIT_MOVE_HAMILTONIAN || tacit_traits_is_stochastic(traits);
  if (has_steps && tacit_stochastic_steps(traits, s) * s->n_leapfrog < 1 && traits.move != TACIT_MOVE_SGLD &&
      traits.move != TACIT_MOVE_SGNHT) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "n_leapfrog",
                           "the number of leapfrog steps must be at least 1");
  }
  status = tacit_tuning_check(method, s, curator, err);
  TACIT_THEN(status, check_noise(method, traits, s, err));
  return status == TACIT_OK ? tacit_barker_check(traits, curator, s, err) : status;
}

bool tacit_run_is_tallied(const tacit_run_t *run) { return run->iteration >= run->settings->n_warmup; }

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

static void run_clear(tacit_run_t *run) {
  for (size_t c = 0; run->rngs != NULL && c < run->n_chains; c++) {
    tacit_rng_free(run->rngs[c]);
  }
  double *arrays[] = {run->theta,        run->theta_prop, run->log_prior,  run->log_prior_prop,
                      run->log_ratio,    run->noise_sd,   run->correction, run->step_size,
                      run->jitter_shift, run->grad,       run->grad_prop,  run->momentum,
                      run->scratch,      run->direction,  run->packed_a,   run->packed_b,
                      run->accept_prob,  run->thermostat, run->prior_grad, run->prior_grad_prop};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    tacit_free(arrays[i]);
  }
  tacit_free(run->rngs);
  tacit_free(run->accepted);
  tacit_free(run->packed_accepted);
  tacit_free(run->is_active);
  tacit_free(run->component);
  tacit_free(run->packed_chain);
  tacit_metric_clear(&run->metric);
  tacit_metric_clear(&run->planned_metric);
  tacit_adapt_clear(&run->adapt);
}

static tacit_status_t allocate(tacit_run_t *run, tacit_error_t *err) {
  size_t n = run->n_chains, all = n * run->dim;
  double **per_chain[] = {&run->log_prior,    &run->log_prior_prop, &run->log_ratio,
                          &run->noise_sd,     &run->correction,     &run->step_size,
                          &run->jitter_shift, &run->accept_prob,    &run->thermostat};
  double **per_value[] = {&run->theta,    &run->theta_prop, &run->grad,           &run->grad_prop,
                          &run->momentum, &run->scratch,    &run->direction,      &run->packed_a,
                          &run->packed_b, &run->prior_grad, &run->prior_grad_prop};
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
  run->packed_accepted = tacit_alloc_zero(n, sizeof *run->packed_accepted);
  run->is_active = tacit_alloc_zero(n, sizeof *run->is_active);
  run->component = tacit_alloc_zero(n, sizeof *run->component);
  run->packed_chain = tacit_alloc_zero(n, sizeof *run->packed_chain);
  ok = ok && run->rngs != NULL && run->accepted != NULL && run->packed_accepted != NULL &&
       run->is_active != NULL && run->component != NULL && run->packed_chain != NULL;
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
                               const tacit_parameters_t *parameters, tacit_sampler_settings_t *settings,
                               tacit_error_t *err) {
  *run = (tacit_run_t){.method = method,
                       .settings = settings,
                       .own = settings,
                       .traits = tacit_method_traits(method, settings),
                       .curator = curator,
                       .parameters = parameters,
                       .n_chains = settings->n_chains,
                       .dim = parameters->dim,
                       .is_adapting = settings->adapt && tacit_curator_is_exposed(curator)};
  run->is_adapting = run->is_adapting && !tacit_traits_is_stochastic(run->traits);
  if (parameters->dim != tacit_curator_dim(curator)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "parameters",
                           "the prior has %zu parameters, the likelihood %zu", parameters->dim,
                           tacit_curator_dim(curator));
  }
  tacit_status_t status = allocate(run, err);
  TACIT_THEN(status, tacit_metric_init(&run->metric, run->dim, settings->inv_metric,
                                       settings->inv_metric_is_dense, err));
  if (status == TACIT_OK && run->is_adapting) {
    status = tacit_adapt_init(&run->adapt, &run->metric, settings->step_size, settings->n_warmup, err);
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
  bool is_jittered = run->traits.move == TACIT_MOVE_HAMILTONIAN && run->settings->step_jitter;
  for (size_t c = 0; c < run->n_chains; c++) {
    run->step_size[c] =
        step_size * (is_jittered ? tacit_halton(run->iteration + 1, run->jitter_shift[c]) : 1);
  }
}

static void tally_move(tacit_run_t *run, size_t c) {
  bool decides = run->traits.decision != TACIT_DECISION_NONE;
  if (tacit_run_is_tallied(run)) {
    run->tally.n_moves++;
    run->tally.n_decisions += decides;
    run->tally.n_accepted += decides && run->accepted[c];
    run->tally.n_divergent += decides ? !run->is_active[c] : !run->accepted[c];
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
      tally_move(run, c);
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

static const tacit_step_fn steps[] = {
    [TACIT_MOVE_WALK] = tacit_step_random_walk,  [TACIT_MOVE_HAMILTONIAN] = tacit_step_hamiltonian,
    [TACIT_MOVE_LANGEVIN] = tacit_step_langevin, [TACIT_MOVE_SGLD] = tacit_step_sgld,
    [TACIT_MOVE_SGHMC] = tacit_step_sghmc,       [TACIT_MOVE_SGHMC_NAIVE] = tacit_step_sghmc,
    [TACIT_MOVE_SGNHT] = tacit_step_sgnht};

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
  tacit_sampler_settings_t own = *settings;
  status = run_init(&run, method, curator, parameters, &own, err);
  TACIT_THEN(status, tacit_draws_init(draws, settings->n_chains, settings->n_warmup, settings->n_draws,
                                      parameters->n_reported, err));
  TACIT_THEN(status, tacit_run_warm_start(&run, err));
  if (status == TACIT_OK) {
    status = iterate(&run, steps[run.traits.move], draws, end, err);
    draws->tally = run.tally;
  }
  run_clear(&run);
  return status;
}
