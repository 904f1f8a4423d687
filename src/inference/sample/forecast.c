/*
 * What a plan can be expected to yield, for a posterior that is normal with the scale of the metric
 * (docs/theory.md, section 13.4). Guides to a choice between methods before anything is spent, not promises.
 */
#include <math.h>

#include "sample/plan.h"

/* By how much the posterior may be wider than the bounds of the features suggest: an age between 50 and 105
 * has an sd of 10, not 16. */
static const double wide_guess = 3;

static double normal_below(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }

/* Acceptance of a log ratio l by a rule, the noise of sd sigma being part of it. */
static double rule_accepts(const tacit_accept_rule_t *rule, double l) {
  double size = fabs(l), value;
  if (rule->kind == TACIT_ACCEPT_BARKER) {
    return 1 / (1 + exp(-l));
  }
  double s = sin(fmin(atan(2 * rule->kappa) + 0.5 * rule->kappa * size, asin(1)));
  value = fmin(s * s, rule->cap);
  return l < 0 ? value * exp(-size) : value;
}

/* E a(l), l ~ N(-v / 2, v): what the target alone makes of a proposal. */
static double mean_acceptance(const tacit_accept_rule_t *rule, double v) {
  double sum = 0, total = 0, sd = sqrt(v);
  for (int i = -60; i <= 60; i++) {
    double z = 0.1 * i, weight = exp(-0.5 * z * z);
    sum += weight * rule_accepts(rule, -0.5 * v + sd * z);
    total += weight;
  }
  return sum / total;
}

/* Metropolis with normal noise of variance `noise` in the ratio and its penalty: 2 Phi(-sqrt(v + noise) / 2).
 */
static double penalty_acceptance(double v, double noise) { return 2 * normal_below(-0.5 * sqrt(v + noise)); }

static double acceptance(const tacit_planner_t *planner, const tacit_plan_t *plan, double v) {
  const tacit_sampler_settings_t *s = planner->settings;
  const tacit_accept_rule_t barker = {.kind = TACIT_ACCEPT_BARKER};
  double probit = s->accept_rule.sigma * planner->factor * planner->typical_bound;
  switch (planner->traits.decision) {
  case TACIT_DECISION_RATIO:
  case TACIT_DECISION_SAMPLED_RATIO:
    return penalty_acceptance(v, plan->penalty_sd * plan->penalty_sd);
  case TACIT_DECISION_SAMPLED_BARKER: /* with a correction distribution the noise is part of Barker's rule */
    return mean_acceptance(
        &barker, v + (s->barker_test == TACIT_BARKER_PENALTY ? plan->penalty_sd * plan->penalty_sd : 0));
  case TACIT_DECISION_MINIBATCH:
    return mean_acceptance(&barker, v + 2 * planner->typical_bound);
  default:
    break;
  }
  switch (s->accept_rule.kind) {
  case TACIT_ACCEPT_PENALTY:
    return penalty_acceptance(v, s->accept_rule.sigma * s->accept_rule.sigma);
  case TACIT_ACCEPT_PROBIT:
    return penalty_acceptance(v, probit * probit);
  default:
    return mean_acceptance(&s->accept_rule, v);
  }
}

/* Effective draws of an iteration whose lag-one correlation is r. */
static double draws_for(double r) { return (1 - r) / (1 + r); }

/* Effective draws of an iteration, the posterior being `wide` times as wide as guessed. */
static double per_iteration(const tacit_planner_t *planner, const tacit_plan_t *plan, double wide) {
  const tacit_sampler_settings_t *s = planner->settings;
  double h = s->step_size / wide, d = (double)planner->dim, n_steps = (double)s->n_leapfrog;
  double damping = 0.5 * s->step_size *
                   fmin(s->friction, 1 / (s->friction * wide *
                                          wide)); /* a step's, of an oscillator of frequency 1 / wide */
  switch (planner->traits.move) {
  case TACIT_MOVE_WALK: {
    double square = h * h * (s->proposal == TACIT_PROPOSAL_FULL ? d : 1);
    return square * acceptance(planner, plan, square) / (4 * d);
  }
  case TACIT_MOVE_HAMILTONIAN: {
    double length = h * n_steps * (s->step_jitter ? 0.5 : 1), noise = plan->grad_noise_sd * s->step_size;
    double v = n_steps * noise * noise * planner->scale[0] * planner->scale[0] * d / 3;
    return draws_for(1 - acceptance(planner, plan, v) * (1 - cos(fmin(length, 3))));
  }
  case TACIT_MOVE_LANGEVIN:
    return draws_for(1 - 0.5 * h * h * acceptance(planner, plan, 0.25 * h * h * h * h * h * h * d));
  case TACIT_MOVE_SGLD:
    return draws_for(1 - 0.5 * h * h);
  case TACIT_MOVE_SGNHT:
    return draws_for(exp(-damping));
  default:
    return draws_for(exp(-n_steps * damping));
  }
}

/* Noise of a gradient times the posterior sd, root mean square over parameters; of a minibatch's, as a share
 * of the whole. */
static double gradient_noise(const tacit_planner_t *planner, double noise_sd) {
  double square = 0,
         rate = tacit_traits_is_stochastic(planner->traits) ? planner->settings->sampling_rate : 1;
  for (size_t j = 0; j < planner->dim; j++) {
    square += planner->scale[j] * planner->scale[j] / (double)planner->dim;
  }
  return noise_sd / rate * sqrt(square);
}

void tacit_plan_forecast(const tacit_planner_t *planner, tacit_plan_t *plan) {
  double kept = (double)(planner->settings->n_draws * planner->settings->thin * planner->settings->n_chains);
  plan->ess = kept * fmin(per_iteration(planner, plan, 1), 1);
  plan->ess_wide = kept * fmin(per_iteration(planner, plan, planner->is_scale_guessed ? wide_guess : 1), 1);
  plan->width = sqrt(1 + 1 / plan->ess);
  plan->grad_noise = gradient_noise(planner, plan->grad_noise_sd);
}
