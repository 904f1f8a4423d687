/*
 * Hamiltonian Monte Carlo, plain (hmc) and private (dp-hmc) [Raisa2021, Algorithm 1], with reuse of released
 * gradients: (theta, u) is the state, so that k iterations of L steps need k L + 1 gradient releases. Exact
 * whatever the distribution of the gradient noise, as long as it depends on theta alone (docs/theory.md,
 * "Gradient reuse"); departs from [Raisa2021, Algorithm 1], which redraws the first gradient of each
 * trajectory.
 */
#include <math.h>
#include <string.h>

#include "sample/sample_internal.h"

static void tally_gradient(tacit_run_t *run, const double *grad) {
  double noise_sd = run->settings->noise_multiplier_grad * tacit_curator_sensitivity_factor(run->curator) *
                    tacit_curator_grad_bound(run->curator);
  double square = 0;
  if (tacit_curator_is_exposed(run->curator) || !tacit_run_is_tallied(run)) {
    return;
  }
  for (size_t j = 0; j < run->dim; j++) {
    square += grad[j] * grad[j] / (double)run->dim;
  }
  run->tally.n_gradients++;
  run->tally.grad_square += square / (noise_sd * noise_sd);
}

/* Release gradients of the active chains at `points` into `grads`. */
static tacit_status_t release_gradients(tacit_run_t *run, const double *points, double *grads,
                                        tacit_error_t *err) {
  size_t d = run->dim, n = tacit_run_pack(run, points, run->packed_a);
  tacit_status_t status = tacit_curator_release_gradient(
      run->curator, n, run->packed_a, run->settings->noise_multiplier_grad, run->packed_b, err);
  for (size_t i = 0; status == TACIT_OK && i < n; i++) {
    memcpy(grads + run->packed_chain[i] * d, run->packed_b + i * d, d * sizeof *grads);
    tally_gradient(run, run->packed_b + i * d);
  }
  return status;
}

/* momentum += weight * step * (released gradient + prior gradient at the proposal) */
static void kick(tacit_run_t *run, size_t c, double weight) {
  size_t d = run->dim;
  double *prior_grad = run->scratch + c * d;
  run->log_prior_prop[c] =
      run->parameters->log_prior(run->parameters->ctx, run->theta_prop + c * d, prior_grad);
  for (size_t j = 0; j < d; j++) {
    run->momentum[c * d + j] += weight * run->step_size[c] * (run->grad_prop[c * d + j] + prior_grad[j]);
  }
}

/* theta_prop += step * W momentum; returns kinetic energy times two */
static double drift(tacit_run_t *run, size_t c, double weight) {
  size_t d = run->dim;
  double *velocity = run->scratch + c * d;
  double square = tacit_metric_velocity(&run->metric, run->momentum + c * d, velocity);
  for (size_t j = 0; j < d; j++) {
    run->theta_prop[c * d + j] += weight * run->step_size[c] * velocity[j];
  }
  return square;
}

static void begin_trajectory(tacit_run_t *run, size_t c) {
  size_t d = run->dim;
  double *z = run->scratch + c * d;
  for (size_t j = 0; j < d; j++) {
    z[j] = tacit_rng_normal(run->rngs[c]);
  }
  tacit_metric_momentum(&run->metric, z, run->momentum + c * d);
  memcpy(run->theta_prop + c * d, run->theta + c * d, d * sizeof *run->theta);
  memcpy(run->grad_prop + c * d, run->grad + c * d, d * sizeof *run->grad);
  run->correction[c] = 0.5 * drift(run, c, 0);
  kick(run, c, 0.5);
}

/* A trajectory that leaves the finite numbers is rejected; so is the same one run backwards. */
static void drop_overflowed(tacit_run_t *run, size_t c) {
  run->is_active[c] = run->is_active[c] && tacit_all_finite(run->theta_prop + c * run->dim, run->dim) &&
                      tacit_all_finite(run->momentum + c * run->dim, run->dim);
}

static tacit_status_t leapfrog(tacit_run_t *run, tacit_error_t *err) {
  size_t n_steps = run->settings->n_leapfrog;
  for (size_t step = 1; step <= n_steps; step++) {
    for (size_t c = 0; c < run->n_chains; c++) {
      if (run->is_active[c]) {
        drift(run, c, 1);
        drop_overflowed(run, c);
      }
    }
    tacit_status_t status = release_gradients(run, run->theta_prop, run->grad_prop, err);
    if (status != TACIT_OK) {
      return status;
    }
    for (size_t c = 0; c < run->n_chains; c++) {
      if (run->is_active[c]) {
        kick(run, c, step < n_steps ? 1 : 0.5);
      }
    }
  }
  return TACIT_OK;
}

tacit_status_t tacit_step_hamiltonian(tacit_run_t *run, tacit_error_t *err) {
  for (size_t c = 0; c < run->n_chains; c++) {
    run->is_active[c] = true;
  }
  if (!run->has_grad || !run->settings->reuse_gradient) {
    tacit_status_t status = release_gradients(run, run->theta, run->grad, err);
    if (status != TACIT_OK) {
      return status;
    }
    run->has_grad = true;
  }
  for (size_t c = 0; c < run->n_chains; c++) {
    begin_trajectory(run, c);
  }
  tacit_status_t status = leapfrog(run, err);
  if (status != TACIT_OK) {
    return status;
  }
  for (size_t c = 0; c < run->n_chains; c++) {
    run->correction[c] -= 0.5 * drift(run, c, 0);
    drop_overflowed(run, c);
  }
  status = tacit_run_accept(run, err);
  for (size_t c = 0; status == TACIT_OK && c < run->n_chains; c++) {
    if (run->accepted[c]) { /* after a rejection the old gradient stays: it belongs to the old state */
      memcpy(run->grad + c * run->dim, run->grad_prop + c * run->dim, run->dim * sizeof *run->grad);
    }
  }
  return status;
}
