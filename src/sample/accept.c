/*
 * Decisions on proposals, in all the ways that methods have.
 */
#include <math.h>
#include <string.h>

#include "sample/sample_internal.h"

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

static void move(tacit_run_t *run, size_t c) {
  size_t d = run->dim;
  run->accepted[c] = true;
  run->log_prior[c] = run->log_prior_prop[c];
  memcpy(run->theta + c * d, run->theta_prop + c * d, d * sizeof *run->theta);
}

static tacit_status_t release_ratios(tacit_run_t *run, size_t n, tacit_error_t *err) {
  const tacit_sampler_settings_t *s = run->settings;
  if (run->traits.decision == TACIT_DECISION_SAMPLED_RATIO) {
    return tacit_curator_release_sampled_log_ratio(run->curator, n, run->packed_a, run->packed_b, s->sampling_rate,
                                                   s->noise_multiplier_ratio, run->log_ratio, run->noise_sd, err);
  }
  return tacit_curator_release_log_ratio(run->curator, n, run->packed_a, run->packed_b, s->noise_multiplier_ratio,
                                         run->log_ratio, run->noise_sd, err);
}

static tacit_status_t decide_by_ratios(tacit_run_t *run, size_t n, tacit_error_t *err) {
  tacit_status_t status = release_ratios(run, n, err);
  for (size_t i = 0; status == TACIT_OK && i < n; i++) {
    size_t c = run->packed_chain[i];
    if (tacit_run_is_tallied(run)) {
      run->tally.n_ratios++;
      run->tally.ratio_noise += run->noise_sd[i] * run->noise_sd[i];
    }
    double penalty = run->settings->drop_penalty_for_tests ? 0 : 0.5 * run->noise_sd[i] * run->noise_sd[i];
    double log_accept =
        run->log_ratio[i] + run->log_prior_prop[c] - run->log_prior[c] + run->correction[c] - penalty;
    run->accept_prob[c] = log_accept < 0 ? exp(log_accept) : log_accept >= 0 ? 1 : 0;
    if (log(tacit_rng_uniform(run->rngs[c])) < log_accept) {
      move(run, c);
    }
  }
  return status;
}

/* Gradients of the prior, packed over the places of the proposals' own. */
static tacit_status_t decide_langevin(tacit_run_t *run, const tacit_accept_pairs_t *pairs, tacit_error_t *err) {
  size_t d = run->dim;
  for (size_t i = 0; i < pairs->n; i++) {
    size_t c = run->packed_chain[i];
    memmove(run->prior_grad + i * d, run->prior_grad + c * d, d * sizeof *run->prior_grad);
    memmove(run->prior_grad_prop + i * d, run->prior_grad_prop + c * d, d * sizeof *run->prior_grad);
  }
  tacit_langevin_pairs_t langevin = {*pairs, run->prior_grad, run->prior_grad_prop, run->metric.inv_metric,
                                     run->settings->step_size};
  return tacit_curator_release_langevin_accept(run->curator, &run->settings->accept_rule, &langevin, err);
}

static tacit_status_t decide_by_bits(tacit_run_t *run, size_t n, tacit_error_t *err) {
  for (size_t i = 0; i < n; i++) {
    size_t c = run->packed_chain[i];
    run->log_ratio[i] = run->correction[c] + run->log_prior_prop[c] - run->log_prior[c];
  }
  const tacit_accept_pairs_t pairs = {n, run->packed_a, run->packed_b, run->log_ratio, run->packed_accepted};
  tacit_minibatch_rule_t rule = tacit_minibatch_rule_of(run->method, run->settings);
  tacit_status_t status;
  switch (run->traits.decision) {
    case TACIT_DECISION_MINIBATCH: status = tacit_curator_release_minibatch_accept(run->curator, &rule, &pairs, err); break;
    case TACIT_DECISION_LANGEVIN: status = decide_langevin(run, &pairs, err); break;
    default: status = tacit_curator_release_accept(run->curator, &run->settings->accept_rule, &pairs, err); break;
  }
  for (size_t i = 0; status == TACIT_OK && i < n; i++) {
    size_t c = run->packed_chain[i];
    if (pairs.accepted[i]) {
      run->accept_prob[c] = 1;
      move(run, c);
    }
  }
  return status;
}

tacit_status_t tacit_run_accept(tacit_run_t *run, tacit_error_t *err) {
  bool is_by_ratio =
      run->traits.decision == TACIT_DECISION_RATIO || run->traits.decision == TACIT_DECISION_SAMPLED_RATIO;
  if (is_by_ratio) {
    drop_hopeless(run);
  }
  size_t n = tacit_run_pack(run, run->theta, run->packed_a);
  tacit_run_pack(run, run->theta_prop, run->packed_b);
  memset(run->accepted, 0, run->n_chains * sizeof *run->accepted);
  memset(run->accept_prob, 0, run->n_chains * sizeof *run->accept_prob);
  for (size_t i = 0; i < n; i++) {
    size_t c = run->packed_chain[i];
    run->log_prior_prop[c] =
        run->parameters->log_prior(run->parameters->ctx, run->theta_prop + c * run->dim, NULL);
  }
  return is_by_ratio ? decide_by_ratios(run, n, err) : decide_by_bits(run, n, err);
}
