/*
 * A start that is paid for: a few steps of the heavy ball [Polyak1964] on released gradients, common to all
 * chains, then the mean of the last of them. Each chain starts at a draw of its own around it. Releases that
 * tune the sampler are made before it and halfway.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "sample/sample_internal.h"

/*
 * v = 0.7 v + 0.3 W G, theta += v: stable for a curvature up to 11 times what the metric says, and quick down
 * to a tenth of it.
 */
static const double ascent = 0.3, inertia = 0.7;

/* x <- W g */
static void precondition(const tacit_metric_t *metric, const double *g, double *x) {
  size_t d = metric->dim;
  for (size_t i = 0; i < d; i++) {
    x[i] = metric->is_dense ? 0 : metric->inv_metric[i] * g[i];
    for (size_t j = 0; metric->is_dense && j < d; j++) {
      x[i] += metric->inv_metric[i * d + j] * g[j];
    }
  }
}

static void climb(tacit_run_t *run, double *theta, const double *grad, double *velocity) {
  size_t d = run->dim;
  double *prior_grad = run->prior_grad, *step = run->scratch;
  run->parameters->log_prior(run->parameters->ctx, theta, prior_grad);
  for (size_t j = 0; j < d; j++) {
    prior_grad[j] += grad[j];
  }
  precondition(&run->metric, prior_grad, step);
  for (size_t j = 0; j < d; j++) {
    velocity[j] = inertia * velocity[j] + (isfinite(step[j]) ? ascent * step[j] : 0);
    theta[j] += velocity[j];
  }
}

static void disperse(tacit_run_t *run, const double *centre) {
  size_t d = run->dim;
  for (size_t c = 0; c < run->n_chains; c++) {
    double *z = run->momentum + c * d, *move = run->scratch + c * d, *theta = run->theta + c * d;
    for (size_t j = 0; j < d; j++) {
      z[j] = tacit_rng_normal(run->rngs[c]);
    }
    tacit_metric_scale(&run->metric, z, move);
    for (size_t j = 0; j < d; j++) {
      theta[j] = centre[j] + move[j];
    }
    run->log_prior[c] = run->parameters->log_prior(run->parameters->ctx, theta, NULL);
    if (!isfinite(run->log_prior[c])) {
      memcpy(theta, centre, d * sizeof *theta);
      run->log_prior[c] = run->parameters->log_prior(run->parameters->ctx, theta, NULL);
    }
  }
}

/* Steps first .. last - 1 from theta; the mean of those from `kept` on is added up. */
static tacit_status_t climb_steps(tacit_run_t *run, double *theta, size_t first, size_t last, size_t kept,
                                  tacit_error_t *err) {
  const tacit_sampler_settings_t *s = run->settings;
  size_t d = run->dim;
  double *grad = run->packed_b, *mean = run->theta_prop, *velocity = run->momentum;
  tacit_status_t status = TACIT_OK;
  memset(velocity, 0, d * sizeof *velocity);
  for (size_t i = first; status == TACIT_OK && i < last; i++) {
    status = tacit_curator_release_gradient(run->curator, 1, theta, s->noise_multiplier_init, grad, err);
    if (status == TACIT_OK) {
      climb(run, theta, grad, velocity);
    }
    for (size_t j = 0; j < d && i >= kept; j++) {
      mean[j] += theta[j] / (double)(s->n_init_steps - kept);
    }
  }
  return status;
}

static tacit_status_t start(tacit_run_t *run, bool is_tuned, tacit_error_t *err) {
  size_t d = run->dim, n = run->settings->n_init_steps, kept = n - (n + 2) / 3, half = is_tuned ? n / 2 : 0;
  double *theta = run->packed_a, *mean = run->theta_prop;
  tacit_status_t status = TACIT_OK;
  memcpy(theta, run->theta, d * sizeof *theta);
  memset(mean, 0, d * sizeof *mean);
  if (is_tuned && n > 0) {
    status = tacit_run_tune(run, theta, false, err);
  }
  TACIT_THEN(status, climb_steps(run, theta, 0, half, kept, err));
  if (status == TACIT_OK && is_tuned) {
    if (!tacit_all_finite(theta, d)) { /* the climb ran away */
      memcpy(theta, run->theta, d * sizeof *theta);
    }
    status = tacit_run_tune(run, theta, true, err);
  }
  TACIT_THEN(status, climb_steps(run, theta, half, n, kept, err));
  if (status == TACIT_OK && n > 0 && tacit_all_finite(mean, d)) {
    disperse(run, mean);
  }
  return status;
}

tacit_status_t tacit_run_warm_start(tacit_run_t *run, tacit_error_t *err) {
  const tacit_sampler_settings_t *s = run->settings;
  bool is_tuned = tacit_settings_are_tuned(s);
  tacit_status_t status = is_tuned ? tacit_run_tuning_begin(run, err) : TACIT_OK;
  if (status == TACIT_OK && (is_tuned || s->n_init_steps > 0)) {
    status = start(run, is_tuned, err);
  }
  if (status == TACIT_OK && is_tuned) {
    tacit_run_tuning_end(run);
  }
  return status;
}
