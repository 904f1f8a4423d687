/*
 * A start that is paid for: a few steps of the heavy ball [Polyak1964] on released gradients, common to all chains, then the mean
 * of the last of them. Each chain starts at a draw of its own around it.
 */
#include <math.h>
#include <string.h>

#include "sample/sample_internal.h"

/*
 * v = 0.7 v + 0.3 W G, theta += v: stable for a curvature up to 11 times what the metric says, and quick down to a tenth of
 * it.
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

tacit_status_t tacit_run_warm_start(tacit_run_t *run, tacit_error_t *err) {
  const tacit_sampler_settings_t *s = run->settings;
  size_t d = run->dim, n = s->n_init_steps, last = (n + 2) / 3;
  double *theta = run->packed_a, *grad = run->packed_b, *mean = run->theta_prop, *velocity = run->momentum;
  tacit_status_t status = TACIT_OK;
  if (n == 0) {
    return TACIT_OK;
  }
  memcpy(theta, run->theta, d * sizeof *theta);
  memset(mean, 0, d * sizeof *mean);
  memset(velocity, 0, d * sizeof *velocity);
  for (size_t i = 0; status == TACIT_OK && i < n; i++) {
    status = tacit_curator_release_gradient(run->curator, 1, theta, s->noise_multiplier_init, grad, err);
    if (status == TACIT_OK) {
      climb(run, theta, grad, velocity);
    }
    for (size_t j = 0; j < d && i >= n - last; j++) {
      mean[j] += theta[j] / (double)last;
    }
  }
  if (status == TACIT_OK && tacit_all_finite(mean, d)) {
    disperse(run, mean);
  }
  return status;
}
