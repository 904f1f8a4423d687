/*
 * Tuning by releases: clip bounds from a histogram of gradient norms, a diagonal metric from the curvature.
 * Everything here is a function of releases that the schedule lists and the budget has paid for. What they
 * tell changes bounds, metric and step, never the cost: noise multipliers and numbers of releases stay as
 * planned (docs/theory.md, section 19).
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "sample/plan.h"

bool tacit_settings_tune_clips(const tacit_sampler_settings_t *s) {
  return s->tune_clip_grad || s->tune_clip_ratio;
}

bool tacit_settings_are_tuned(const tacit_sampler_settings_t *s) {
  return s->tune_metric || tacit_settings_tune_clips(s);
}

size_t tacit_tuning_n_rounds(const tacit_sampler_settings_t *s) {
  return !tacit_settings_are_tuned(s) ? 0 : s->n_init_steps > 0 ? 2 : 1;
}

tacit_status_t tacit_tuning_check(const tacit_method_t *method, const tacit_sampler_settings_t *s,
                                  const tacit_curator_t *curator, tacit_error_t *err) {
  tacit_traits_t traits = tacit_method_traits(method, s);
  bool can_be_tuned =
      method->is_private && (traits.move == TACIT_MOVE_WALK || traits.move == TACIT_MOVE_HAMILTONIAN);
  if (!tacit_settings_are_tuned(s)) {
    return TACIT_OK;
  }
  if (!can_be_tuned) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "method",
        "method %s cannot be tuned by releases, as its cost depends on metric and bounds: use dp-hmc or a "
        "random walk such as dp-penalty",
        method->name);
  }
  if (s->tune_metric && !tacit_curator_has_curvature(curator)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "tune_metric",
                           "the curvature of this model is not known, or has no bound: give a metric");
  }
  if (tacit_settings_tune_clips(s) && !(s->clip_share > 0 && s->clip_share < 1)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "clip_share",
                           "the share to be clipped must be above 0 and below 1");
  }
  return TACIT_OK;
}

double tacit_tuning_clip(const double *counts, double share) {
  double total = 0, above = 0;
  size_t k = TACIT_NORM_CELLS - 1;
  for (size_t i = 0; i < TACIT_NORM_CELLS; i++) {
    total += counts[i];
  }
  double best = tacit_norm_edge(TACIT_NORM_CELLS - 2);
  for (; k > 0; k--) { /* above: noisy number beyond edge k - 1 */
    above += counts[k];
    best = above <= share * total ? tacit_norm_edge(k - 1) : best;
  }
  return best;
}

double tacit_tuning_curvature(double released, double noise_sd, double guess) {
  double s2 = noise_sd * noise_sd, g2 = guess * guess;
  double mean = (released * g2 + guess * s2) / (g2 + s2), sd = noise_sd * guess / sqrt(g2 + s2);
  return fmax(mean, sd);
}

/* What a step costs in noise: the ratio bound of a typical move, and the noise that gradients kick with. */
typedef struct effort {
  double bound, kick;
} effort_t;

static double variance(const tacit_metric_t *metric, size_t j) {
  return metric->inv_metric[metric->is_dense ? j * metric->dim + j : j];
}

static tacit_status_t measure(const tacit_run_t *run, effort_t *effort, tacit_error_t *err) {
  double *scale = tacit_alloc(run->dim, sizeof *scale), square = 0;
  if (scale == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t j = 0; j < run->dim; j++) {
    scale[j] = sqrt(variance(&run->metric, j));
    square += scale[j] * scale[j];
  }
  const tacit_plan_request_t request = {.curator = run->curator};
  tacit_planner_t planner = {
      .request = &request, .settings = run->own, .scale = scale, .dim = run->dim, .traits = run->traits};
  tacit_status_t status = tacit_plan_typical_bound(&planner, err);
  *effort = (effort_t){planner.typical_bound, tacit_curator_grad_bound(run->curator) * sqrt(square)};
  tacit_free(scale);
  return status;
}

static tacit_status_t tune_clips(tacit_run_t *run, const double *theta, tacit_error_t *err) {
  const tacit_sampler_settings_t *s = run->settings;
  double counts[TACIT_NORM_CELLS], noise_sd;
  if (!tacit_settings_tune_clips(s)) {
    return TACIT_OK;
  }
  tacit_status_t status =
      tacit_curator_release_norms(run->curator, theta, s->noise_multiplier_norms, counts, &noise_sd, err);
  if (status != TACIT_OK) {
    return status;
  }
  double clip = tacit_tuning_clip(counts, s->clip_share);
  return tacit_curator_set_clip_bounds(run->curator, s->tune_clip_grad ? clip : 0,
                                       s->tune_clip_ratio ? clip : 0, err);
}

/* Minus the second derivative of the log prior by parameter j, where it is positive; by differences of its
 * gradient. */
static void prior_curvature(tacit_run_t *run, const double *theta, double *out) {
  size_t d = run->dim;
  double *at = run->packed_b, *grad = run->prior_grad;
  for (size_t j = 0; j < d; j++) {
    double step = 0.5 * sqrt(variance(&run->planned_metric, j)), slope = 0;
    memcpy(at, theta, d * sizeof *at);
    for (int side = -1; side <= 1; side += 2) {
      at[j] = theta[j] + side * step;
      run->parameters->log_prior(run->parameters->ctx, at, grad);
      slope -= side * grad[j] / (2 * step);
    }
    out[j] = slope > 0 && isfinite(slope) ? slope : 0;
  }
}

/*
 * A climb that goes on from here must not run away: before it, no curvature is taken to be smaller than
 * guessed, as it may grow on the way (a residual sd that falls).
 */
static tacit_status_t tune_metric(tacit_run_t *run, const double *theta, bool is_last, tacit_error_t *err) {
  size_t d = run->dim;
  double *work = tacit_alloc_zero(4 * d, sizeof *work);
  if (work == NULL) {
    return tacit_error_memory(err);
  }
  double *inverse = work, *noise_sd = work + d, *prior = work + 2 * d, *origin = work + 3 * d;
  double noise_multiplier = run->settings->noise_multiplier_metric;
  tacit_status_t status =
      tacit_curator_release_curvature(run->curator, theta, noise_multiplier, inverse, noise_sd, err);
  if (status ==
      TACIT_ERR_ARGUMENT) { /* a climb that noise has led to where no bound is finite: nothing was charged */
    theta = origin;
    status = tacit_curator_release_curvature(run->curator, theta, noise_multiplier, inverse, noise_sd, err);
  }
  if (status == TACIT_OK) {
    prior_curvature(run, theta, prior);
    for (size_t j = 0; j < d; j++) {
      double guess = 1 / variance(&run->planned_metric, j),
             used = tacit_tuning_curvature(inverse[j], noise_sd[j], guess);
      inverse[j] = 1 / (prior[j] + (is_last ? used : fmax(used, guess)));
    }
    tacit_metric_clear(&run->metric);
    status = tacit_metric_init(&run->metric, d, inverse, false, err);
  }
  tacit_free(work);
  return status;
}

static tacit_status_t shorten_step(tacit_run_t *run, tacit_error_t *err) {
  effort_t now;
  tacit_status_t status = measure(run, &now, err);
  if (status == TACIT_OK && run->settings->tune_step) {
    double shrink = fmin(1, run->planned_bound / now.bound);
    bool uses_gradients = run->traits.move == TACIT_MOVE_HAMILTONIAN;
    run->own->step_size *= uses_gradients ? fmin(shrink, run->planned_kick / now.kick) : shrink;
  }
  return status;
}

tacit_status_t tacit_run_tune(tacit_run_t *run, const double *theta, bool is_last, tacit_error_t *err) {
  tacit_status_t status = tune_clips(run, theta, err);
  if (status == TACIT_OK && run->settings->tune_metric) {
    status = tune_metric(run, theta, is_last, err);
  }
  return status == TACIT_OK && is_last ? shorten_step(run, err) : status;
}

tacit_status_t tacit_run_tuning_begin(tacit_run_t *run, tacit_error_t *err) {
  effort_t planned = {0};
  tacit_status_t status = measure(run, &planned, err);
  run->planned_bound = planned.bound;
  run->planned_kick = planned.kick;
  TACIT_THEN(status, tacit_metric_init(&run->planned_metric, run->dim, run->metric.inv_metric,
                                       run->metric.is_dense, err));
  return status;
}

void tacit_run_tuning_end(const tacit_run_t *run) {
  tacit_tuned_t *tuned = run->settings->tuned;
  if (tuned == NULL) {
    return;
  }
  tuned->step_size = run->settings->step_size;
  tuned->clip_grad = run->settings->tune_clip_grad ? tacit_curator_grad_bound(run->curator) : NAN;
  tuned->clip_ratio = run->settings->tune_clip_ratio ? tacit_curator_clip_ratio(run->curator) : NAN;
  for (size_t j = 0; run->settings->tune_metric && tuned->inv_metric != NULL && j < run->dim; j++) {
    tuned->inv_metric[j] = run->metric.inv_metric[j];
  }
}
