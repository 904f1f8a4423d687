/*
 * Hamiltonian Monte Carlo. Chains share step size (dual averaging [Hoffman2014, section 3.2]) and metric
 * during warm-up; both are fixed afterwards.
 */
#include <math.h>
#include <string.h>

#include "noise_aware/walk.h"

enum { MAX_LEAPFROG = 4 };

static const double target_accept = 0.8;

static void restart(walk_t *w) {
  w->shrink_towards = log(2 * w->step_size);
  w->error_sum = w->n_steps = 0;
  w->log_step_average = log(w->step_size);
}

static void update_step(walk_t *w, double accept) {
  double t = ++w->n_steps, eta = 1 / (t + 10), weight = pow(t, -0.75);
  w->error_sum = (1 - eta) * w->error_sum + eta * (target_accept - accept);
  double log_step = fmin(w->shrink_towards - sqrt(t) / 0.05 * w->error_sum, log(2));
  w->log_step_average = weight * log_step + (1 - weight) * w->log_step_average;
  w->step_size = exp(log_step);
}

/* Metric <- covariance of the states, shrunk towards the one in use as if that were d + 10 states. */
static void update_metric(walk_t *w) {
  size_t d = w->d;
  double old = (double)d + 10, *cov = w->square, *factor = w->factor;
  for (size_t i = 0; i < d; i++) {
    for (size_t j = 0; j <= i; j++) {
      double now = tacit_dot(j + 1, factor + i * d, factor + j * d);
      cov[i * d + j] = (0.5 * (cov[i * d + j] + cov[j * d + i]) + old * now) / (w->n_states + old);
    }
  }
  if (tacit_cholesky(d, cov)) {
    memcpy(factor, cov, d * d * sizeof *factor);
  }
  tacit_walk_forget_states(w);
  restart(w);
}

/* point += scale L v for v (d). */
static void move(const walk_t *w, double scale, const double *v, double *point) {
  for (size_t i = 0; i < w->d; i++) {
    point[i] += scale * tacit_dot(i + 1, w->factor + i * w->d, v);
  }
}

/* momentum += scale L' grad: the gradient in the coordinates in which the metric is the identity. */
static void kick(const walk_t *w, double scale, const double *grad, double *momentum) {
  for (size_t i = 0; i < w->d; i++) {
    for (size_t j = 0; j <= i; j++) {
      momentum[j] += scale * w->factor[i * w->d + j] * grad[i];
    }
  }
}

/* One trajectory of chain c with one to four steps; returns the acceptance probability. */
static double trajectory(walk_t *w, size_t c, tacit_draw_stats_t *stats) {
  size_t d = w->d, n_leapfrog = 1 + (size_t)tacit_rng_below(w->rngs[c], MAX_LEAPFROG);
  double momentum[TACIT_NOISE_AWARE_MAX_FEATURES], point[TACIT_NOISE_AWARE_MAX_FEATURES],
      grad[TACIT_NOISE_AWARE_MAX_FEATURES], *theta = w->theta + c * d;
  double size = w->step_size * (0.8 + 0.4 * tacit_rng_uniform(w->rngs[c])), kinetic = 0, value = w->value[c];
  memcpy(point, theta, d * sizeof *point);
  memcpy(grad, w->grad + c * d, d * sizeof *grad);
  for (size_t j = 0; j < d; j++) {
    momentum[j] = tacit_rng_normal(w->rngs[c]);
    kinetic += 0.5 * momentum[j] * momentum[j];
  }
  for (size_t l = 0; l < n_leapfrog && isfinite(value); l++) {
    kick(w, 0.5 * size, grad, momentum);
    move(w, size, momentum, point);
    value = tacit_aware_posterior_log_density(w->own[c], point, grad);
    if (isfinite(value)) {
      kick(w, 0.5 * size, grad, momentum);
    }
  }
  double log_accept = value - w->value[c] + kinetic - 0.5 * tacit_dot(d, momentum, momentum);
  double accept = log_accept < 0 ? exp(log_accept) : log_accept >= 0 ? 1 : 0;
  bool is_accepted = tacit_rng_uniform(w->rngs[c]) < accept;
  if (is_accepted) {
    memcpy(theta, point, d * sizeof *theta);
    memcpy(w->grad + c * d, grad, d * sizeof *grad);
    w->value[c] = value;
  }
  *stats =
      (tacit_draw_stats_t){.accept_stat = is_accepted, .step_size = size, .n_leapfrog = (double)n_leapfrog};
  return accept;
}

static void tune(walk_t *w, size_t iteration, double accept) {
  size_t first = w->n_warmup / 8, middle = w->n_warmup / 3, last = w->n_warmup - w->n_warmup / 8,
         done = iteration + 1;
  update_step(w, accept);
  if (done > first && done <= last) {
    tacit_walk_add_states(w);
    if (done == middle || done == last) {
      update_metric(w);
    }
  }
  if (done == w->n_warmup) {
    w->step_size = exp(w->log_step_average);
  }
}

static void begin(walk_t *w) {
  w->step_size = 1;
  restart(w);
}

const walk_moves_t tacit_walk_trajectories = {true, begin, trajectory, tune};
