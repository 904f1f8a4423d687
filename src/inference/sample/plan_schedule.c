/*
 * Plans of runs that are paid for by a schedule: steps and noise at which the method is efficient, then as
 * many iterations as the accountant allows; where fewer were asked for, larger steps, where more, smaller
 * ones.
 */
#include <math.h>

#include "base/error.h"
#include "sample/plan.h"

/* Noise in the log acceptance ratio of a subsampled penalty test. */
static const double subsampled_penalty_sd = 1.5;
/* C of [Heikkila2019]. */
static const double published_ratio_variance = 2;
/* Bits of trajectories: the ratio bound that is charged for, beside a typical trajectory's. */
static const double trajectory_reach = 1.5;
static const double mala_sigma = 0.25;

static bool is_walk_by_bit(const tacit_planner_t *planner) {
  return planner->traits.move == TACIT_MOVE_WALK && (planner->traits.decision == TACIT_DECISION_BIT ||
                                                     planner->traits.decision == TACIT_DECISION_MINIBATCH);
}

static double largest_metric(const tacit_planner_t *planner) {
  double most = 0;
  size_t d = planner->dim;
  for (size_t j = 0; j < d; j++) {
    most = fmax(most, planner->settings->inv_metric[planner->settings->inv_metric_is_dense ? j * d + j : j]);
  }
  return most;
}

static void default_rule(tacit_planner_t *planner) {
  tacit_accept_rule_t *rule = &planner->settings->accept_rule;
  if (planner->traits.decision == TACIT_DECISION_LANGEVIN && !(rule->sigma > 0)) {
    rule->sigma = mala_sigma;
  }
  rule->sigma = rule->sigma > 0 ? rule->sigma : 1.8;
  rule->kappa = rule->kappa > 0 ? rule->kappa : 0.3;
  rule->cap = rule->cap > 0 ? rule->cap : 0.9;
}

/* What follows from the step size: bounds and noise of this method. */
static tacit_status_t derive(tacit_planner_t *planner, tacit_error_t *err) {
  tacit_sampler_settings_t *s = planner->settings;
  tacit_status_t status = TACIT_OK;
  double d = (double)planner->dim, largest = largest_metric(planner);
  if (planner->traits.decision != TACIT_DECISION_NONE) {
    status = tacit_plan_typical_bound(planner, err);
  }
  if (status == TACIT_OK && planner->traits.decision == TACIT_DECISION_LANGEVIN) {
    tacit_event_t event =
        tacit_curator_langevin_event(planner->request->curator, &s->accept_rule, s->inv_metric, s->step_size);
    if (isinf(event.sensitivity)) {
      return tacit_error_set(err, TACIT_ERR_SENSITIVITY, "method",
                             "method dp-mala needs bounds that are known for families bernoulli and "
                             "categorical alone: use dp-hmc here");
    }
  }
  if (is_walk_by_bit(planner)) {
    s->accept_rule.max_bound = planner->typical_bound;
    s->intensity = s->intensity > 0 ? s->intensity : planner->typical_bound;
  } else if (planner->traits.decision == TACIT_DECISION_LANGEVIN) {
    s->accept_rule.max_bound = planner->typical_bound * (0.8 + 1.8 / sqrt(d));
    s->noise_multiplier_grad = 2 / (s->step_size * sqrt(largest) * planner->factor * planner->grad_bound);
  } else if (planner->traits.move == TACIT_MOVE_HAMILTONIAN) {
    s->accept_rule.max_bound = trajectory_reach * planner->typical_bound;
  } else if (planner->traits.decision == TACIT_DECISION_SAMPLED_BARKER) {
    s->accept_rule.max_bound = planner->typical_bound;
    if (!planner->is_ratio_noise_given) { /* all of the variance, by the noise of a release */
      double share = tacit_curator_sampled_ratio_bound(s->sampling_rate, planner->typical_bound);
      s->noise_multiplier_ratio = sqrt(s->ratio_variance) / (planner->factor * share);
    }
  } else if (planner->traits.decision == TACIT_DECISION_SAMPLED_RATIO && !(s->noise_multiplier_ratio > 0)) {
    double q = s->sampling_rate, c = planner->typical_bound;
    s->noise_multiplier_ratio =
        subsampled_penalty_sd / (planner->factor * (c / q + (1 - q) * c * c / (2 * q * q)));
  } else if (planner->traits.decision == TACIT_DECISION_NONE && !(s->noise_multiplier_grad > 0)) {
    s->noise_multiplier_grad =
        tacit_stochastic_noise_sd(planner->traits, s, largest) / (planner->factor * planner->grad_bound);
  }
  return status;
}

static tacit_status_t epsilon_of(const tacit_planner_t *planner, size_t n, double *epsilon,
                                 tacit_error_t *err) {
  const tacit_account_options_t options = {
      .relation = planner->request->relation, .is_quick = planner->request->is_quick, .is_in_order = true};
  tacit_event_t *events;
  size_t n_events;
  tacit_guarantee_t guarantee = {.epsilon = INFINITY};
  tacit_status_t status = tacit_sampler_schedule(planner->method, planner->settings,
                                                 planner->request->curator, n, &events, &n_events, err);
  TACIT_THEN(status, tacit_account_epsilon(NULL, events, n_events, &options, planner->request->delta,
                                           &guarantee, err));
  tacit_free(events);
  *epsilon = guarantee.epsilon;
  return status;
}

/* Events of one iteration repeat: all but the first gradients of Hamiltonian moves. */
static tacit_status_t affordable(const tacit_planner_t *planner, double *n, tacit_error_t *err) {
  const tacit_account_options_t options = {
      .relation = planner->request->relation, .is_quick = planner->request->is_quick, .is_in_order = true};
  const tacit_plan_request_t *request = planner->request;
  tacit_event_t *events;
  size_t n_events;
  uint64_t k = 0;
  tacit_status_t status = tacit_sampler_schedule(planner->method, planner->settings, request->curator, 1,
                                                 &events, &n_events, err);
  TACIT_THEN(status, tacit_account_max_repetitions(events, n_events - 1, events + n_events - 1, 1, &options,
                                                   request->epsilon, request->delta, &k, err));
  tacit_free(events);
  *n = (double)k;
  if (status == TACIT_ERR_BUDGET) {
    *n = 0;
    status = TACIT_OK;
  }
  return status;
}

/* Steps that shrink make every iteration another event: doubling, then bisection, of the whole schedule. */
static tacit_status_t affordable_decaying(const tacit_planner_t *planner, double *n, tacit_error_t *err) {
  size_t fits = 0, exceeds = TACIT_MAX_PLANNED + 1;
  tacit_status_t status = TACIT_OK;
  bool is_bracketed = false;
  while (status == TACIT_OK && exceeds - fits > 1 + fits / 100) {
    size_t middle = is_bracketed || 2 * fits >= exceeds ? fits + (exceeds - fits) / 2
                    : fits > 0                          ? 2 * fits
                                                        : 16;
    double epsilon;
    status = epsilon_of(planner, middle, &epsilon, err);
    is_bracketed = is_bracketed || !(epsilon <= planner->request->epsilon);
    *(epsilon <= planner->request->epsilon ? &fits : &exceeds) = middle;
  }
  *n = (double)fits;
  return status;
}

static tacit_status_t count_iterations(const tacit_planner_t *planner, double *n, tacit_error_t *err) {
  return planner->settings->step_decay > 0 && planner->traits.decision == TACIT_DECISION_NONE
             ? affordable_decaying(planner, n, err)
             : affordable(planner, n, err);
}

static double default_step(const tacit_planner_t *planner) {
  switch (planner->traits.move) {
  case TACIT_MOVE_LANGEVIN:
    return 0.25;
  case TACIT_MOVE_SGLD:
    return 0.4;
  default:
    return planner->settings->step_size > 0 ? planner->settings->step_size : 0.1;
  }
}

/* Does the user leave the step to the plan, and does a smaller one cost less? */
static bool can_trade_steps(const tacit_planner_t *planner) {
  return !planner->is_step_given && planner->traits.move != TACIT_MOVE_HAMILTONIAN &&
         planner->traits.decision != TACIT_DECISION_SAMPLED_RATIO;
}

static tacit_status_t plan_hamiltonian(tacit_planner_t *planner, tacit_plan_t *plan, tacit_error_t *err) {
  /* first as if the ratio were released: its noise, or what takes its place, shares the budget with the
   * gradients */
  tacit_sampler_settings_t *s = planner->settings;
  tacit_status_t status = tacit_plan_gaussian(planner, plan, err);
  s->accept_rule.sigma = s->accept_rule.sigma > 0 ? s->accept_rule.sigma : s->noise_multiplier_ratio;
  return status;
}

static tacit_status_t search(tacit_planner_t *planner, bool can_trade, double wanted, double *n,
                             tacit_error_t *err) {
  tacit_sampler_settings_t *s = planner->settings;
  tacit_status_t status = TACIT_OK;
  double goal = wanted > 0 ? wanted : TACIT_MAX_PLANNED;
  for (int i = 0; i < 5 && status == TACIT_OK; i++) {
    status = derive(planner, err);
    TACIT_THEN(status, count_iterations(planner, n, err));
    bool is_short = wanted > 0 && *n < wanted;
    if (status != TACIT_OK || !can_trade || !is_short) {
      break;
    }
    s->step_size *=
        0.98 * sqrt(fmax(*n, 0.2) / goal); /* the cost of an iteration falls with the square of the step */
  }
  *n = fmin(*n, goal);
  return status;
}

tacit_status_t tacit_plan_scheduled(tacit_planner_t *planner, tacit_plan_t *plan, tacit_error_t *err) {
  tacit_sampler_settings_t *s = planner->settings;
  double wanted = tacit_plan_wanted(s), n = 0;
  tacit_status_t status = TACIT_OK;
  s->step_size = s->step_size > 0 ? s->step_size : default_step(planner);
  if (planner->traits.move != TACIT_MOVE_WALK) {
    status = tacit_plan_check_grad_bound(planner, err);
  }
  if (status == TACIT_OK && planner->traits.move == TACIT_MOVE_HAMILTONIAN) {
    status = plan_hamiltonian(planner, plan, err);
  }
  default_rule(planner);
  TACIT_THEN(status, search(planner, can_trade_steps(planner), wanted, &n, err));
  TACIT_THEN(status, tacit_barker_check(planner->traits, planner->request->curator, s, err));
  TACIT_THEN(status, tacit_plan_split(s, n, plan, err));
  if (status == TACIT_OK) {
    plan->rho = NAN;
    plan->penalty_sd = planner->traits.decision == TACIT_DECISION_SAMPLED_RATIO    ? subsampled_penalty_sd
                       : planner->traits.decision == TACIT_DECISION_SAMPLED_BARKER ? sqrt(s->ratio_variance)
                                                                                   : NAN;
    plan->grad_noise_sd = planner->traits.move != TACIT_MOVE_WALK
                              ? s->noise_multiplier_grad * planner->factor * planner->grad_bound
                              : NAN;
  }
  return status;
}

tacit_status_t tacit_plan_minibatch(tacit_planner_t *planner, tacit_error_t *err) {
  tacit_sampler_settings_t *s = planner->settings;
  bool is_stochastic = planner->traits.decision == TACIT_DECISION_NONE;
  (void)err;
  if (is_stochastic || tacit_decision_is_sampled_ratio(planner->traits.decision)) {
    s->sampling_rate = tacit_curator_sampling_rate(s->sampling_rate > 0 ? s->sampling_rate : 0.1);
    s->friction = s->friction > 0 ? s->friction : 1;
  }
  if (planner->traits.decision == TACIT_DECISION_SAMPLED_BARKER && !(s->ratio_variance > 0)) {
    s->ratio_variance = published_ratio_variance;
  }
  if (is_stochastic) {
    s->n_leapfrog = s->n_leapfrog > 0 ? s->n_leapfrog : 10;
  }
  if (is_stochastic && !planner->method->is_private) {
    s->step_size = s->step_size > 0 ? s->step_size : 0.1;
  }
  s->n_public = s->n_public > 0 ? s->n_public : planner->request->n_units;
  s->max_batch = s->max_batch > 0 ? s->max_batch : planner->request->n_units;
  if (planner->traits.decision == TACIT_DECISION_MINIBATCH && !planner->method->is_private) {
    tacit_status_t status = tacit_plan_typical_bound(planner, err);
    s->accept_rule.max_bound = 4 * planner->typical_bound;
    s->intensity = s->intensity > 0 ? s->intensity : planner->typical_bound;
    return status;
  }
  return TACIT_OK;
}
