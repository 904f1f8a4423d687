/*
 * Settings from public information: what a budget buys before anything is spent.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "sample/plan.h"

/* Noise in the log acceptance ratio that buys most: the penalty method's acceptance at the mode times
 * the iterations that the budget allows, 2 Phi(-s/2) s^2, is largest near s = 2. */
static const double target_penalty_sd = 2;
/* A Hamiltonian move is dear, so fewer of them are wasted. */
static const double target_penalty_sd_hamiltonian = 1.2;
/* Variance of the energy error that gradient noise may add over a trajectory. */
static const double target_energy_variance = 1;
/* Shares of the budget: for a start by released gradients; for the curvature; for counts of gradient norms.
 */
static const double start_share = 0.08, metric_share = 0.04, norms_share = 0.02;

enum { exposed_draws = 1000, exposed_warmup = 1000 };

static bool is_hamiltonian(const tacit_planner_t *planner) {
  return planner->traits.move == TACIT_MOVE_HAMILTONIAN;
}

/*
 * Length of a random walk's move in posterior sds: with noisy ratios the usual 2.4; where the cost grows with
 * the square of the length, shorter, as is best at about 8 iterations for each independent draw that the
 * budget buys (docs/theory.md, section 13).
 */
static double walk_length(tacit_decision_t decision, const tacit_accept_rule_t *rule) {
  if (decision == TACIT_DECISION_RATIO || decision == TACIT_DECISION_SAMPLED_RATIO) {
    return 2.4;
  }
  return decision == TACIT_DECISION_BIT && rule->kind != TACIT_ACCEPT_BARKER ? 1.1 : 0.75;
}

static void default_moves(tacit_planner_t *planner) {
  tacit_sampler_settings_t *s = planner->settings;
  if (is_hamiltonian(planner)) {
    s->n_leapfrog = s->n_leapfrog > 0 ? s->n_leapfrog : s->adapt ? 12 : 3;
    s->step_size = s->step_size > 0 ? s->step_size : s->adapt ? 0.5 : 0.7;
  } else if (planner->traits.move == TACIT_MOVE_WALK && !(s->step_size > 0)) {
    double step = walk_length(planner->traits.decision, &s->accept_rule);
    s->step_size = s->proposal == TACIT_PROPOSAL_FULL ? step / sqrt((double)planner->dim) : step;
  }
}

tacit_status_t tacit_plan_typical_bound(tacit_planner_t *planner, tacit_error_t *err) {
  const tacit_sampler_settings_t *s = planner->settings;
  size_t d = planner->dim;
  double *move = tacit_alloc_zero(2 * d, sizeof *move);
  if (move == NULL) {
    return tacit_error_memory(err);
  }
  double *origin = move + d, square = 0;
  bool is_single = planner->traits.move == TACIT_MOVE_WALK && s->proposal != TACIT_PROPOSAL_FULL;
  double length = s->step_size;
  if (is_hamiltonian(planner)) { /* jitter halves the mean step; a long trajectory ends sqrt(2) sd away */
    length = fmin(s->step_size * (double)s->n_leapfrog * (s->step_jitter ? 0.5 : 1), 1.4);
  }
  for (size_t j = 0; j < d; j++) {
    move[j] = length * planner->scale[j];
    if (is_single) {
      double bound = tacit_curator_public_ratio_bound(planner->request->curator, origin, move);
      square += bound * bound / (double)d;
      move[j] = 0;
    }
  }
  double bound =
      is_single ? sqrt(square) : tacit_curator_public_ratio_bound(planner->request->curator, origin, move);
  tacit_free(move);
  planner->typical_bound = bound;
  if (!isfinite(bound)) {
    return tacit_error_set(
        err, TACIT_ERR_SENSITIVITY, "clip_bound_ratio",
        "one record's log-likelihood ratio has no bound in this model: give a clip bound for "
        "ratios (--clip-ratio)");
  }
  return TACIT_OK;
}

/* Noise multipliers at which noise has its target size. */
static void target_noise(const tacit_planner_t *planner, double *grad, double *ratio) {
  const tacit_sampler_settings_t *s = planner->settings;
  double penalty_sd = is_hamiltonian(planner) ? target_penalty_sd_hamiltonian : target_penalty_sd;
  *ratio = penalty_sd / (planner->factor * planner->typical_bound);
  *grad = INFINITY;
  if (is_hamiltonian(planner)) {
    /* energy variance = L E[step^2] noise_sd^2 sum_j scale_j^2; the jittered step has E[step^2] = step^2/3 */
    double scale2 = 0, step2 = s->step_size * s->step_size * (s->step_jitter ? 1.0 / 3 : 1);
    for (size_t j = 0; j < planner->dim; j++) {
      scale2 += planner->scale[j] * planner->scale[j];
    }
    double noise_sd = sqrt(target_energy_variance / ((double)s->n_leapfrog * step2 * scale2));
    *grad = noise_sd / (planner->factor * planner->grad_bound);
  }
}

static double cost_of(double n_releases, double noise_multiplier) {
  return n_releases > 0 ? n_releases / (2 * noise_multiplier * noise_multiplier) : 0;
}

/* rho of n iterations of every chain. */
static double cost(const tacit_planner_t *planner, double n) {
  const tacit_sampler_settings_t *s = planner->settings;
  double chains = (double)s->n_chains, n_grad = 0;
  if (is_hamiltonian(planner)) {
    n_grad = s->reuse_gradient ? n * (double)s->n_leapfrog + 1 : n * ((double)s->n_leapfrog + 1);
  }
  return cost_of(chains * n_grad, s->noise_multiplier_grad) + cost_of(chains * n, s->noise_multiplier_ratio);
}

/*
 * Most iterations that rho pays for, found from the linear cost; a hair less, so that rounding cannot refuse,
 * but more than fit_noise() fits to, so that rounding cannot lose the last iteration either.
 */
static double affordable(const tacit_planner_t *planner) {
  double fixed = cost(planner, 0), slope = cost(planner, 1) - fixed;
  double n = floor((planner->rho * (1 - 5e-10) - fixed) / slope);
  return n > 0 ? n : 0;
}

/* Fill the noise multipliers that the user left open so that n iterations use up the budget. */
static void fit_noise(const tacit_planner_t *planner, double n, bool open_grad, bool open_ratio) {
  tacit_sampler_settings_t *s = planner->settings;
  double grad, ratio;
  target_noise(planner, &grad, &ratio);
  s->noise_multiplier_grad = open_grad ? grad : s->noise_multiplier_grad;
  s->noise_multiplier_ratio = open_ratio ? ratio : s->noise_multiplier_ratio;
  if (n <= 0 || !(open_grad || open_ratio)) {
    return;
  }
  double total = cost(planner, n), given = 0, saved_grad = s->noise_multiplier_grad,
         saved_ratio = s->noise_multiplier_ratio;
  if (!open_grad || !open_ratio) {
    s->noise_multiplier_grad = open_grad ? INFINITY : saved_grad;
    s->noise_multiplier_ratio = open_ratio ? INFINITY : saved_ratio;
    given = cost(planner, n);
  }
  double left = planner->rho * TACIT_PLANNED_SHARE - given;
  double stretch = left > 0 ? sqrt((total - given) / left) : 1;
  s->noise_multiplier_grad = open_grad ? saved_grad * stretch : saved_grad;
  s->noise_multiplier_ratio = open_ratio ? saved_ratio * stretch : saved_ratio;
}

static void split_iterations(tacit_sampler_settings_t *s, double n) {
  size_t total = (size_t)n;
  if (s->n_warmup == TACIT_WARMUP_AUTO) {
    s->n_warmup = total / 4 > 0 ? total / 4 : 1;
  }
  if (s->n_warmup >= total) {
    s->n_warmup = total - 1;
  }
  size_t draws = (total - s->n_warmup) / s->thin;
  if (s->n_draws == 0 || s->n_draws > draws) {
    s->n_draws = draws;
  }
}

double tacit_plan_wanted(const tacit_sampler_settings_t *s) {
  if (s->n_draws == 0) {
    return 0;
  }
  double warmup = s->n_warmup == TACIT_WARMUP_AUTO ? (double)(s->n_draws * s->thin) / 3 : (double)s->n_warmup;
  return (double)s->n_draws * (double)s->thin + floor(warmup);
}

tacit_status_t tacit_plan_split(tacit_sampler_settings_t *s, double n, tacit_plan_t *plan,
                                tacit_error_t *err) {
  if (n < (double)s->thin || n < 1) {
    return tacit_error_set(err, TACIT_ERR_BUDGET, "epsilon",
                           "the budget does not pay for one draw of each of %zu chains with these settings: "
                           "raise epsilon or the noise, or run fewer chains",
                           s->n_chains);
  }
  split_iterations(s, n);
  if (s->n_draws == 0) {
    s->n_draws = 1;
    s->n_warmup = (size_t)n - s->thin;
  }
  plan->n_iterations = s->n_warmup + s->n_draws * s->thin;
  return TACIT_OK;
}

tacit_status_t tacit_plan_check_grad_bound(const tacit_planner_t *planner, tacit_error_t *err) {
  if (isfinite(planner->grad_bound)) {
    return TACIT_OK;
  }
  return tacit_error_set(err, TACIT_ERR_SENSITIVITY, "clip_bound_grad",
                         "one record's gradient has no bound in this model: give a clip bound for gradients "
                         "(--clip-grad)");
}

tacit_status_t tacit_plan_gaussian(tacit_planner_t *planner, tacit_plan_t *plan, tacit_error_t *err) {
  tacit_sampler_settings_t *s = planner->settings;
  tacit_status_t status = tacit_plan_typical_bound(planner, err);
  if (status == TACIT_OK && is_hamiltonian(planner)) {
    status = tacit_plan_check_grad_bound(planner, err);
  }
  if (status != TACIT_OK) {
    return status;
  }
  bool open_ratio = !(s->noise_multiplier_ratio > 0);
  bool open_grad = is_hamiltonian(planner) && !(s->noise_multiplier_grad > 0);
  double wanted = tacit_plan_wanted(s);
  fit_noise(planner, wanted, open_grad, open_ratio);
  double n = affordable(planner);
  if (n > TACIT_MAX_PLANNED && wanted == 0) { /* 0 is "not given": spend the rest on less noise */
    wanted = TACIT_MAX_PLANNED;
    fit_noise(planner, wanted, open_grad, open_ratio);
    n = affordable(planner);
  }
  n = wanted > 0 && wanted < n ? wanted : n;
  status = tacit_plan_split(s, n, plan, err);
  if (status != TACIT_OK) {
    return status;
  }
  plan->rho = cost(planner, (double)plan->n_iterations) + planner->request->rho - planner->rho;
  plan->epsilon = tacit_gaussian_epsilon(plan->rho, log(planner->request->delta));
  plan->penalty_sd = s->noise_multiplier_ratio * planner->factor * planner->typical_bound;
  plan->grad_noise_sd =
      is_hamiltonian(planner) ? s->noise_multiplier_grad * planner->factor * planner->grad_bound : NAN;
  return TACIT_OK;
}

static double multiplier_for(double n_releases, double rho) { return sqrt(n_releases / (2 * rho)); }

/* Releases that tune, of small shares of the budget. After the start, whose steps say how many there are. */
static void plan_tuning(tacit_planner_t *planner) {
  tacit_sampler_settings_t *s = planner->settings;
  double rounds = (double)tacit_tuning_n_rounds(s), rho = planner->request->rho;
  double n_metric = s->tune_metric ? rounds : 0, n_norms = tacit_settings_tune_clips(s) ? rounds : 0;
  s->tune_step = !planner->is_step_given;
  if (n_metric > 0 && !(s->noise_multiplier_metric > 0)) {
    s->noise_multiplier_metric = multiplier_for(n_metric, metric_share * rho);
  }
  if (n_norms > 0 && !(s->noise_multiplier_norms > 0)) {
    s->noise_multiplier_norms = multiplier_for(n_norms, norms_share * rho);
  }
  planner->rho -= cost_of(n_metric, s->noise_multiplier_metric) + cost_of(n_norms, s->noise_multiplier_norms);
}

/* A start that takes a small share of the budget; what it leaves is for the iterations. */
static void plan_start(tacit_planner_t *planner) {
  tacit_sampler_settings_t *s = planner->settings;
  if (s->n_init_steps == 0 || !planner->method->is_private || !isfinite(planner->grad_bound)) {
    s->n_init_steps = 0;
    return;
  }
  double n = (double)s->n_init_steps;
  if (!(s->noise_multiplier_init > 0)) {
    s->noise_multiplier_init = sqrt(n / (2 * start_share * planner->rho));
  }
  planner->rho -= n / (2 * s->noise_multiplier_init * s->noise_multiplier_init);
}

/* scale <- posterior sds to expect, those of the metric: what the public facts of the data suggest where the
 * user gives none. */
static tacit_status_t set_scale(const tacit_plan_request_t *request, tacit_sampler_settings_t *settings,
                                double *scale, double *inv_metric, tacit_error_t *err) {
  size_t d = request->parameters->dim;
  tacit_metric_t metric;
  if (settings->inv_metric == NULL) { /* else the array may hold the user's own */
    for (size_t j = 0; j < d; j++) {
      inv_metric[j] = pow(request->parameters->unit_scale[j], 2) / request->n_units;
    }
    settings->inv_metric = inv_metric;
    settings->inv_metric_is_dense = false;
  }
  tacit_status_t status =
      tacit_metric_init(&metric, d, settings->inv_metric, settings->inv_metric_is_dense, err);
  for (size_t j = 0; status == TACIT_OK && j < d; j++) {
    scale[j] = sqrt(metric.inv_metric[metric.is_dense ? j * d + j : j]);
  }
  tacit_metric_clear(&metric);
  return status;
}

tacit_status_t tacit_plan(const tacit_method_t *method, const tacit_plan_request_t *request,
                          tacit_sampler_settings_t *settings, double *inv_metric, tacit_plan_t *plan,
                          tacit_error_t *err) {
  *plan =
      (tacit_plan_t){.penalty_sd = NAN, .grad_noise_sd = NAN, .grad_noise = NAN, .rho = NAN, .epsilon = NAN};
  size_t d = request->parameters->dim;
  tacit_status_t status = tacit_method_check(method, err);
  if (status != TACIT_OK) {
    return status;
  }
  if (!(request->n_units > 0) || settings->n_chains < 1 || settings->thin < 1) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "n_units",
                           "planning needs a positive number of units, chains and thin");
  }
  status = tacit_tuning_check(method, settings, request->curator, err);
  if (status != TACIT_OK) {
    return status;
  }
  double *scale = tacit_alloc(d, sizeof *scale);
  if (scale == NULL) {
    return tacit_error_memory(err);
  }
  bool is_scale_guessed = settings->inv_metric == NULL;
  status = set_scale(request, settings, scale, inv_metric, err);
  if (status != TACIT_OK) {
    tacit_free(scale);
    return status;
  }
  tacit_planner_t planner = {.method = method,
                             .request = request,
                             .rho = request->rho,
                             .settings = settings,
                             .scale = scale,
                             .dim = d,
                             .traits = tacit_method_traits(method, settings),
                             .is_step_given = settings->step_size > 0,
                             .is_scale_guessed = is_scale_guessed,
                             .is_ratio_noise_given = settings->noise_multiplier_ratio > 0,
                             .factor = tacit_curator_sensitivity_factor(request->curator),
                             .grad_bound = tacit_curator_grad_bound(request->curator)};
  default_moves(&planner);
  plan_start(&planner);
  if (method->is_private) {
    plan_tuning(&planner);
  }
  status = tacit_plan_minibatch(&planner, err);
  if (status == TACIT_OK && method->is_private) {
    status = tacit_sampler_needs_schedule(method, settings) ? tacit_plan_scheduled(&planner, plan, err)
                                                            : tacit_plan_gaussian(&planner, plan, err);
    if (status == TACIT_OK) {
      tacit_plan_forecast(&planner, plan);
    }
  } else if (status == TACIT_OK) {
    settings->n_draws = settings->n_draws > 0 ? settings->n_draws : exposed_draws;
    settings->n_warmup = settings->n_warmup == TACIT_WARMUP_AUTO ? exposed_warmup : settings->n_warmup;
    plan->n_iterations = settings->n_warmup + settings->n_draws * settings->thin;
  }
  tacit_free(scale);
  return status;
}
