/*
 * theta by Hamiltonian trajectories: a dense metric from the states of warm-up, step size by dual averaging
 * [HoffmanGelman2014, section 3.2], lengths around a quarter of a period. It starts near a mode that a
 * quasi-Newton climb found, in the curvature there.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "augment/population_internal.h"

enum { MOST_LEAPFROG = 64, MOST_SHORT = 16, N_TRIES = 100, N_CLIMBS = 200 };
static const double TARGET = 0.8;
/*
 * One in eight has steps shorter by up to 2^6 where the posterior narrows, so that others are lost, and the
 * chain is kept from there: where in warm-up more than a share LOST of them are accepted with a probability
 * below e^-10.
 */
static const double SHARE_SHORT = 0.125, SHORTEST = 6, LOST = 0.002;

tacit_status_t tacit_trajectory_init(tacit_trajectory_t *w, size_t dim, tacit_trajectory_density density,
                                     void *user, tacit_error_t *err) {
  *w = (tacit_trajectory_t){.dim = dim, .density = density, .user = user, .step_size = 0.5};
  double **arrays[] = {&w->theta, &w->grad,       &w->factor,   &w->other, &w->mean,     &w->square,
                       &w->trial, &w->trial_grad, &w->momentum, &w->move,  &w->workspace};
  size_t sizes[] = {dim, dim, dim * dim, dim * dim, dim, dim * dim, dim, dim, dim, dim, 3 * dim * dim};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    *arrays[i] = tacit_alloc_zero(sizes[i], sizeof **arrays[i]);
    if (*arrays[i] == NULL) {
      return tacit_error_memory(err);
    }
  }
  return TACIT_OK;
}

void tacit_trajectory_clear(tacit_trajectory_t *w) {
  double *arrays[] = {w->theta,     w->grad,         w->factor,     w->other,    w->mean,
                      w->square,    w->trial,        w->trial_grad, w->momentum, w->move,
                      w->workspace, w->single_width, w->n_single};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    tacit_free(arrays[i]);
  }
  *w = (tacit_trajectory_t){0};
}

static double dot(size_t n, const double *a, const double *b) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += a[i] * b[i];
  }
  return sum;
}

void tacit_trajectory_refresh(tacit_trajectory_t *w) {
  w->value = w->density(w->user, w->theta, w->grad);
  w->rest_value = w->rest != NULL && w->value > -INFINITY ? w->rest(w->user, w->theta) : 0;
}

/* Lower Cholesky factor of a symmetric matrix; false where it is not positive definite. */
static bool factorise(size_t n, const double *matrix, double *factor) {
  memset(factor, 0, n * n * sizeof *factor);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j <= i; j++) {
      double rest = matrix[i * n + j] - dot(j, factor + i * n, factor + j * n);
      if (i == j && !(rest > 0 && isfinite(rest))) {
        return false;
      }
      factor[i * n + j] = i == j ? sqrt(rest) : rest / factor[j * n + j];
    }
  }
  return true;
}

static void reset_step(tacit_trajectory_t *w) {
  w->shrink_towards = log(10 * w->step_size);
  w->error_sum = w->log_step_average = w->n_adapted = 0;
}

static void reset_states(tacit_trajectory_t *w) {
  memset(w->mean, 0, w->dim * sizeof *w->mean);
  memset(w->square, 0, w->dim * w->dim * sizeof *w->square);
  w->n_states = 0;
}

/* ---- the start ---- */

/* The best of random points, uniform on (-2, 2) as Stan's are. */
static bool find_point(tacit_trajectory_t *w, tacit_rng_t *rng) {
  w->value = -INFINITY;
  for (int i = 0, n_found = 0; i < N_TRIES && n_found < 20; i++) {
    for (size_t j = 0; j < w->dim; j++) {
      w->trial[j] = 4 * tacit_rng_uniform(rng) - 2;
    }
    double value = w->density(w->user, w->trial, w->trial_grad);
    n_found += value > -INFINITY;
    if (value > w->value) {
      w->value = value;
      memcpy(w->theta, w->trial, w->dim * sizeof *w->theta);
      memcpy(w->grad, w->trial_grad, w->dim * sizeof *w->grad);
    }
  }
  return w->value > -INFINITY;
}

/* BFGS in `square`, an approximation of the inverse of the curvature. */
static void update_curvature(tacit_trajectory_t *w, const double *step, const double *change) {
  size_t n = w->dim;
  double *h = w->square, *hy = w->momentum, sy = dot(n, step, change);
  if (!(sy > 1e-12 * sqrt(dot(n, step, step) * dot(n, change, change)))) {
    return;
  }
  for (size_t i = 0; i < n; i++) {
    hy[i] = dot(n, h + i * n, change);
  }
  double yhy = dot(n, change, hy);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < n; j++) {
      h[i * n + j] += (1 + yhy / sy) * step[i] * step[j] / sy - (hy[i] * step[j] + step[i] * hy[j]) / sy;
    }
  }
}

/* One step uphill; false at the top. */
static bool climb(tacit_trajectory_t *w, bool is_first) {
  size_t n = w->dim;
  double *step = w->mean, *change = w->move;
  for (size_t i = 0; i < n; i++) {
    step[i] =
        is_first ? w->grad[i] / fmax(1, sqrt(dot(n, w->grad, w->grad))) : dot(n, w->square + i * n, w->grad);
  }
  double rise = dot(n, step, w->grad), value = -INFINITY, length = sqrt(dot(n, step, step)),
         far = length > 2 ? 2 / length : 1;
  if (!(rise > 1e-6)) {
    return false;
  }
  for (int k = 0; k < 40 && !(value >= w->value + 1e-4 * far * rise); k++, far *= 0.5) {
    for (size_t i = 0; i < n; i++) {
      w->trial[i] = w->theta[i] + far * step[i];
    }
    value = w->density(w->user, w->trial, w->trial_grad);
  }
  if (!(value > w->value)) {
    return false;
  }
  for (size_t i = 0; i < n; i++) {
    step[i] = w->trial[i] - w->theta[i];
    change[i] = w->grad[i] - w->trial_grad[i]; /* of minus the log density */
  }
  for (size_t i = 0; is_first && i < n; i++) {
    w->square[i * n + i] = fmax(dot(n, step, change), 1e-12) / fmax(dot(n, change, change), 1e-12);
  }
  update_curvature(w, step, change);
  memcpy(w->theta, w->trial, n * sizeof *w->theta);
  memcpy(w->grad, w->trial_grad, n * sizeof *w->grad);
  w->value = value;
  return true;
}

static void set_identity(tacit_trajectory_t *w, double *matrix) {
  memset(matrix, 0, w->dim * w->dim * sizeof *matrix);
  for (size_t i = 0; i < w->dim; i++) {
    matrix[i * w->dim + i] = 1;
  }
}

bool tacit_trajectory_start(tacit_trajectory_t *w, tacit_rng_t *rng) {
  if (!find_point(w, rng)) {
    return false;
  }
  set_identity(w, w->square);
  for (int i = 0; i < N_CLIMBS && climb(w, i == 0); i++) {
  }
  if (!factorise(w->dim, w->square, w->factor)) {
    set_identity(w, w->factor);
  }
  double mode = w->value, far = 1;
  for (int k = 0; k < 30; k++, far *= 0.5) { /* about the mode, not at it: chains begin apart */
    for (size_t i = 0; i < w->dim; i++) {
      w->momentum[i] = tacit_rng_normal(rng);
    }
    for (size_t i = 0; i < w->dim; i++) {
      w->trial[i] = w->theta[i] + far * 1.5 * dot(i + 1, w->factor + i * w->dim, w->momentum);
    }
    if (w->density(w->user, w->trial, w->trial_grad) > mode - 10 - (double)w->dim) {
      memcpy(w->theta, w->trial, w->dim * sizeof *w->theta);
      break;
    }
  }
  tacit_trajectory_refresh(w);
  reset_states(w);
  reset_step(w);
  return true;
}

/* ---- a density that changes as states move ---- */

/* inverse <- (factor factor')^-1; workspace: (n, n). */
static void invert(size_t n, const double *factor, double *workspace, double *inverse) {
  memset(workspace, 0, n * n * sizeof *workspace);
  for (size_t j = 0; j < n; j++) {
    for (size_t i = j; i < n; i++) {
      double sum = i == j ? 1 : 0;
      for (size_t k = j; k < i; k++) {
        sum -= factor[i * n + k] * workspace[k * n + j];
      }
      workspace[i * n + j] = sum / factor[i * n + i];
    }
  }
  for (size_t i = 0; i < n * n; i++) {
    inverse[i] = 0;
    for (size_t k = 0; k < n; k++) {
      inverse[i] += workspace[k * n + i / n] * workspace[k * n + i % n];
    }
  }
}

/* The metric is the curvature at theta, by differences of gradients; it stays as it was where that is not
 * positive. */
static void set_curvature(tacit_trajectory_t *w) {
  const double step = 1e-4;
  size_t n = w->dim;
  double *matrix = w->workspace, *work = w->workspace + n * n;
  for (size_t j = 0; j < n; j++) {
    memcpy(w->trial, w->theta, n * sizeof *w->trial);
    w->trial[j] = w->theta[j] + step;
    double above = w->density(w->user, w->trial, w->move);
    w->trial[j] = w->theta[j] - step;
    if (!(above > -INFINITY) || !(w->density(w->user, w->trial, w->trial_grad) > -INFINITY)) {
      return;
    }
    for (size_t i = 0; i < n; i++) {
      matrix[i * n + j] = (w->trial_grad[i] - w->move[i]) / (2 * step);
    }
  }
  for (size_t i = 0; i < n * n; i++) {
    work[i] = 0.5 * (matrix[i] + matrix[i % n * n + i / n]);
  }
  if (factorise(n, work, w->other)) {
    invert(n, w->other, work, matrix);
    memcpy(work, w->factor, n * n * sizeof *work);
    if (!factorise(n, matrix, w->factor)) {
      memcpy(w->factor, work, n * n * sizeof *work);
    }
  }
}

void tacit_trajectory_start_at(tacit_trajectory_t *w) {
  w->is_local = true;
  set_identity(w, w->factor);
  set_curvature(w);
  tacit_trajectory_refresh(w);
  reset_states(w);
  reset_step(w);
}

void tacit_trajectory_start_scaled(tacit_trajectory_t *w) {
  set_identity(w, w->factor);
  tacit_trajectory_refresh(w);
  reset_states(w);
  reset_step(w);
}

/* ---- trajectories ---- */

/* momentum += half step_size L' grad: momenta are in the coordinates where the metric is the identity. */
static void push(tacit_trajectory_t *w, double half, const double *grad) {
  memset(w->move, 0, w->dim * sizeof *w->move);
  for (size_t i = 0; i < w->dim; i++) { /* row by row, as the factor is in memory */
    const double *row = w->factor + i * w->dim;
    for (size_t j = 0; j <= i; j++) {
      w->move[j] += row[j] * grad[i];
    }
  }
  for (size_t j = 0; j < w->dim; j++) {
    w->momentum[j] += half * w->move[j];
  }
}

double tacit_trajectory_step(tacit_trajectory_t *w, tacit_rng_t *rng) {
  size_t n = w->dim;
  for (size_t i = 0; i < n; i++) {
    w->momentum[i] = tacit_rng_normal(rng);
  }
  double energy = w->value - 0.5 * dot(n, w->momentum, w->momentum),
         length = 1.5707963267948966 * (0.5 + tacit_rng_uniform(rng));
  w->is_short = tacit_rng_uniform(rng) < w->share_short;
  double step = w->step_size * (w->is_short ? exp2(-SHORTEST * tacit_rng_uniform(rng)) : 1), value = w->value;
  double n_steps = fmin(fmax(1, nearbyint(length / step)), w->is_short ? MOST_SHORT : MOST_LEAPFROG);
  w->n_leapfrog = (size_t)n_steps;
  memcpy(w->trial, w->theta, n * sizeof *w->trial);
  memcpy(w->trial_grad, w->grad, n * sizeof *w->trial_grad);
  for (size_t k = 0; k < w->n_leapfrog && value > -INFINITY; k++) {
    push(w, 0.5 * step, w->trial_grad);
    for (size_t i = 0; i < n; i++) {
      w->move[i] = dot(i + 1, w->factor + i * n, w->momentum);
    }
    for (size_t i = 0; i < n; i++) {
      w->trial[i] += step * w->move[i];
    }
    value = w->density(w->user, w->trial, w->trial_grad);
    push(w, 0.5 * step, w->trial_grad);
  }
  double rest = w->rest != NULL && value > -INFINITY ? w->rest(w->user, w->trial) : 0;
  double log_ratio = value + rest - w->rest_value - 0.5 * dot(n, w->momentum, w->momentum) - energy;
  double accept = isnan(log_ratio) || !(value > -INFINITY) ? 0 : fmin(1, exp(log_ratio));
  if (tacit_rng_uniform(rng) < accept) {
    memcpy(w->theta, w->trial, n * sizeof *w->theta);
    memcpy(w->grad, w->trial_grad, n * sizeof *w->grad);
    w->value = value;
    w->rest_value = rest;
  }
  return accept;
}

/* ---- warm-up ---- */

static void add_state(tacit_trajectory_t *w) {
  size_t n = w->dim;
  w->n_states++;
  for (size_t i = 0; i < n; i++) {
    w->move[i] = w->theta[i] - w->mean[i];
    w->mean[i] += w->move[i] / w->n_states;
  }
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < n; j++) {
      w->square[i * n + j] += w->move[i] * (w->theta[j] - w->mean[j]);
    }
  }
}

/* The covariance of the states, drawn a little towards its own diagonal. */
static void set_metric(tacit_trajectory_t *w) {
  size_t n = w->dim;
  double share = w->n_states / (w->n_states + 5 + (double)n);
  for (size_t i = 0; i < n * n; i++) {
    w->square[i] /= w->n_states - 1;
  }
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < i; j++) {
      w->square[i * n + j] = w->square[j * n + i] =
          share * 0.5 * (w->square[i * n + j] + w->square[j * n + i]);
    }
  }
  if (w->is_local) {
    w->spread = factorise(n, w->square, w->workspace + 2 * n * n) ? w->workspace + 2 * n * n : NULL;
    set_curvature(w);
  } else if (factorise(n, w->square, w->other)) {
    double *factor = w->factor;
    w->factor = w->other;
    w->other = factor;
  }
  reset_states(w);
}

/* Dual averaging of the step size. */
static void adapt(tacit_trajectory_t *w, double accept) {
  w->n_adapted++;
  w->error_sum += TARGET - accept;
  double log_step = w->shrink_towards - sqrt(w->n_adapted) / 0.05 * w->error_sum / (w->n_adapted + 10),
         weight = pow(w->n_adapted, -0.75);
  w->log_step_average = weight * log_step + (1 - weight) * w->log_step_average;
  w->step_size = fmin(exp(log_step), 2);
}

void tacit_trajectory_tune(tacit_trajectory_t *w, double accept, size_t i, size_t n) {
  if (!w->is_short) {
    adapt(w, accept);
    w->n_made += i >= n / 4;
    w->n_lost += i >= n / 4 && accept < TACIT_LOST_BELOW;
    w->share_short = w->n_lost > LOST * w->n_made ? SHARE_SHORT : 0;
  }
  if (i >= n / 10) {
    add_state(w);
  }
  bool is_window = i + 1 == n / 4 || i + 1 == n / 2 || i + 1 == 9 * n / 10;
  if (is_window && w->n_states > 10 + (double)w->dim) {
    set_metric(w);
    w->step_size = fmin(exp(w->log_step_average), 1);
    reset_step(w);
  }
  if (i + 1 == n) {
    w->step_size = fmin(exp(w->log_step_average), 2);
  }
}
