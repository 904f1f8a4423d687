/*
 * Decisions on proposals, in all the ways that methods have.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "sample/sample_internal.h"
#include "sample/vcorr.h"

/*
 * Proposals so far away that noise would drown any log ratio are rejected without a release. The rule is
 * symmetric in the two points and public, so the chain stays exact; it spares the budget after a divergent
 * trajectory. So are those that would need more noise than the variance that a correction distribution is
 * for.
 */
static void drop_hopeless(tacit_run_t *run) {
  static const double max_noise_sd = 1e5;
  double per_bound = run->settings->noise_multiplier_ratio * tacit_curator_sensitivity_factor(run->curator);
  bool is_capped = run->traits.decision == TACIT_DECISION_SAMPLED_BARKER;
  for (size_t c = 0; c < run->n_chains && !tacit_curator_is_exposed(run->curator); c++) {
    const double *from = run->theta + c * run->dim, *to = run->theta_prop + c * run->dim;
    double bound = run->is_active[c] ? tacit_curator_ratio_bound(run->curator, from, to) : 0;
    /* an infinite bound at a finite distance is a missing clip bound, which the release refuses */
    run->is_active[c] = run->is_active[c] && (isinf(bound) || per_bound * bound <= max_noise_sd) &&
                        !(is_capped && bound > run->settings->accept_rule.max_bound);
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
  if (tacit_decision_is_sampled_ratio(run->traits.decision)) {
    return tacit_curator_release_sampled_log_ratio(run->curator, n, run->packed_a, run->packed_b,
                                                   s->sampling_rate, s->noise_multiplier_ratio,
                                                   run->log_ratio, run->noise_sd, err);
  }
  return tacit_curator_release_log_ratio(run->curator, n, run->packed_a, run->packed_b,
                                         s->noise_multiplier_ratio, run->log_ratio, run->noise_sd, err);
}

tacit_status_t tacit_barker_check(tacit_traits_t traits, const tacit_curator_t *curator,
                                  const tacit_sampler_settings_t *s, tacit_error_t *err) {
  bool is_vcorr = s->barker_test == TACIT_BARKER_VCORR;
  if (traits.decision != TACIT_DECISION_SAMPLED_BARKER) {
    return TACIT_OK;
  }
  if (!(s->ratio_variance > 0 && s->ratio_variance <= 1000) ||
      (is_vcorr && tacit_vcorr_find(s->ratio_variance) == NULL)) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "ratio_variance",
        is_vcorr
            ? "a correction distribution is known for variance 1, 1.25, 1.5, 1.75, 2, 2.25, 2.5 or 3, not %g"
            : "the variance of the noise in the log ratio must be above 0 and at most 1000, not %g",
        s->ratio_variance);
  }
  double noise_sd = s->noise_multiplier_ratio * tacit_curator_sensitivity_factor(curator) *
                    tacit_curator_sampled_ratio_bound(s->sampling_rate, s->accept_rule.max_bound);
  if (!(noise_sd <= sqrt(s->ratio_variance) * (1 + 1e-12))) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "noise_multiplier_ratio",
        "noise of sd %.4g in the log ratio is more than the variance %g allows: shorter steps or a smaller "
        "noise multiplier are needed",
        noise_sd, s->ratio_variance);
  }
  return TACIT_OK;
}

/* Barker's test: of the ratio less its penalty, or with a correction distribution and what noise is lacking.
 */
static double barker_probability(const tacit_sampler_settings_t *s, double noisy_ratio, double variance) {
  if (s->barker_test == TACIT_BARKER_VCORR) {
    return tacit_vcorr_accept(tacit_vcorr_find(s->ratio_variance), noisy_ratio,
                              fmax(s->ratio_variance - variance, 0));
  }
  return 1 / (1 + exp((TACIT_IS_PLANTED(TACIT_FAULT_NO_PENALTY) ? 0 : 0.5 * variance) - noisy_ratio));
}

double tacit_accept_probability(const tacit_sampler_settings_t *s, tacit_decision_t decision,
                                double noisy_ratio, double noise_sd) {
  double variance = noise_sd * noise_sd;
  if (isnan(noisy_ratio) || decision == TACIT_DECISION_SAMPLED_BARKER) {
    return isnan(noisy_ratio) ? 0 : barker_probability(s, noisy_ratio, variance);
  }
  double log_accept = noisy_ratio - (TACIT_IS_PLANTED(TACIT_FAULT_NO_PENALTY) ? 0 : 0.5 * variance);
  return log_accept < 0 ? exp(log_accept) : 1;
}

static tacit_status_t decide_by_ratios(tacit_run_t *run, size_t n, tacit_error_t *err) {
  tacit_status_t status = release_ratios(run, n, err);
  for (size_t i = 0; status == TACIT_OK && i < n; i++) {
    size_t c = run->packed_chain[i];
    if (tacit_run_is_tallied(run)) {
      run->tally.n_ratios++;
      run->tally.ratio_noise += run->noise_sd[i] * run->noise_sd[i];
    }
    double ratio = run->log_ratio[i] + run->log_prior_prop[c] - run->log_prior[c] + run->correction[c];
    run->accept_prob[c] =
        tacit_accept_probability(run->settings, run->traits.decision, ratio, run->noise_sd[i]);
    if (tacit_rng_uniform(run->rngs[c]) < run->accept_prob[c]) {
      move(run, c);
    }
  }
  return status;
}

/* Gradients of the prior, packed over the places of the proposals' own. */
static tacit_status_t decide_langevin(tacit_run_t *run, const tacit_accept_pairs_t *pairs,
                                      tacit_error_t *err) {
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
  case TACIT_DECISION_MINIBATCH:
    status = tacit_curator_release_minibatch_accept(run->curator, &rule, &pairs, err);
    break;
  case TACIT_DECISION_LANGEVIN:
    status = decide_langevin(run, &pairs, err);
    break;
  default:
    status = tacit_curator_release_accept(run->curator, &run->settings->accept_rule, &pairs, err);
    break;
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
  bool is_by_ratio = tacit_decision_is_by_ratio(run->traits.decision);
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
