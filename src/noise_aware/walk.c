/*
 * Hamiltonian Monte Carlo on the posterior given the releases, which is public: everything may be tuned. Chains share step
 * size (dual averaging [Hoffman2014, section 3.2]) and metric during warm-up; both are fixed afterwards.
 */
#include <math.h>
#include <string.h>

#include "noise_aware/noise_aware_internal.h"

enum { MAX_LEAPFROG = 4, START_HALVINGS = 30 };

/* How far below the mode's, in log density, a chain may start; and a coordinate's share on top. */
static const double start_drop = 20;

static const double target_accept = 0.8;

typedef struct walk {
  tacit_aware_posterior_t *posterior;
  size_t d, n_chains, n_warmup;
  tacit_rng_t **rngs;
  double *theta, *grad, *value; /* (n_chains, d), (n_chains, d), (n_chains) */
  double *factor;               /* (d, d): lower factor of the metric */
  double *mean, *square;        /* (d), (d, d): of the states since the last metric */
  double n_states;
  /* dual averaging */
  double step_size, shrink_towards, error_sum, log_step_average, n_steps;
} walk_t;

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

static void add_states(walk_t *w) {
  for (size_t c = 0; c < w->n_chains; c++) {
    double before[TACIT_NOISE_AWARE_MAX_FEATURES];
    const double *theta = w->theta + c * w->d;
    w->n_states++;
    for (size_t j = 0; j < w->d; j++) {
      before[j] = theta[j] - w->mean[j];
      w->mean[j] += before[j] / w->n_states;
    }
    for (size_t i = 0; i < w->d * w->d; i++) {
      w->square[i] += before[i / w->d] * (theta[i % w->d] - w->mean[i % w->d]);
    }
  }
}

static void forget_states(walk_t *w) {
  memset(w->square, 0, w->d * w->d * sizeof *w->square);
  memset(w->mean, 0, w->d * sizeof *w->mean);
  w->n_states = 0;
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
  forget_states(w);
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
static double step(walk_t *w, size_t c, tacit_draw_stats_t *stats) {
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
    value = tacit_aware_posterior_log_density(w->posterior, point, grad);
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
  *stats = (tacit_draw_stats_t){
      .accept_stat = is_accepted, .step_size = size, .n_leapfrog = (double)n_leapfrog};
  return accept;
}

static void keep(const walk_t *w, size_t c, size_t row, const tacit_draw_stats_t *stats, tacit_draws_t *draws) {
  const tacit_parameters_t *parameters = w->posterior->parameters;
  const double *theta = w->theta + c * w->d;
  parameters->report(parameters->ctx, theta, tacit_draws_row(draws, c, row));
  tacit_draw_stats_t *kept = &draws->stats[c * (draws->n_warmup + draws->n_draws) + row];
  *kept = *stats;
  kept->log_prior = parameters->log_prior(parameters->ctx, theta, NULL);
}

static void tune(walk_t *w, size_t iteration, double accept) {
  size_t first = w->n_warmup / 8, middle = w->n_warmup / 3, last = w->n_warmup - w->n_warmup / 8, done = iteration + 1;
  update_step(w, accept);
  if (done > first && done <= last) {
    add_states(w);
    if (done == middle || done == last) {
      update_metric(w);
    }
  }
  if (done == w->n_warmup) {
    w->step_size = exp(w->log_step_average);
  }
}

static void iterate(walk_t *w, tacit_draws_t *draws) {
  size_t thin = w->posterior->settings->thin, n_iterations = w->n_warmup + draws->n_draws * thin;
  double accepted = 0;
  bool goes_on = true;
  for (size_t i = 0; i < n_iterations && goes_on; i++) {
    if (i == w->n_warmup) { /* from here on mean and square are of what is kept */
      forget_states(w);
    }
    bool is_kept = i < w->n_warmup || (i + 1 - w->n_warmup) % thin == 0;
    size_t row = tacit_aware_rows(draws, thin, i + 1) - 1;
    double accept = 0;
    for (size_t c = 0; c < w->n_chains; c++) {
      tacit_draw_stats_t stats;
      accept += step(w, c, &stats) / (double)w->n_chains;
      if (is_kept) {
        keep(w, c, row, &stats, draws);
      }
    }
    if (i < w->n_warmup) {
      tune(w, i, accept);
    } else {
      add_states(w);
    }
    accepted += accept;
    draws->n_saved = tacit_aware_rows(draws, thin, i + 1);
    goes_on = tacit_aware_goes_on(w->posterior->settings, i + 1, accepted / (double)(i + 1));
  }
}

/*
 * Start a chain from the normal approximation at the mode, or as far on the way there as the density is not far below the mode's: where
 * tails are heavy or the posterior is skewed a chain may not come back from there.
 */
static tacit_status_t start(walk_t *w, size_t c, const double *mode, tacit_error_t *err) {
  const tacit_noise_aware_settings_t *settings = w->posterior->settings;
  tacit_status_t status = tacit_rng_new(&w->rngs[c], settings->key, c, err);
  if (status != TACIT_OK) {
    return status;
  }
  double z[TACIT_NOISE_AWARE_MAX_FEATURES], *theta = w->theta + c * w->d;
  for (size_t j = 0; j < w->d; j++) {
    z[j] = tacit_rng_normal(w->rngs[c]);
  }
  double highest = tacit_aware_posterior_log_density(w->posterior, mode, NULL), far = 1;
  bool is_near = false;
  for (int i = 0; i <= START_HALVINGS && !is_near; i++, far *= i == START_HALVINGS ? 0 : 0.5) {
    memcpy(theta, mode, w->d * sizeof *theta);
    move(w, far, z, theta);
    w->value[c] = tacit_aware_posterior_log_density(w->posterior, theta, w->grad + c * w->d);
    is_near = w->value[c] > highest - start_drop - (double)w->d;
  }
  return TACIT_OK;
}

tacit_status_t tacit_aware_walk(tacit_aware_posterior_t *posterior, const double *mode, const double *factor,
                                tacit_draws_t *draws, double *mean, double *cov, tacit_error_t *err) {
  size_t d = posterior->surrogate->d, n = draws->n_chains;
  walk_t w = {.posterior = posterior, .d = d, .n_chains = n, .n_warmup = draws->n_warmup, .step_size = 1};
  w.rngs = tacit_alloc_zero(n, sizeof *w.rngs);
  double *memory = tacit_alloc_zero(2 * n * d + n + 2 * d * d + d, sizeof *memory);
  tacit_status_t status = w.rngs != NULL && memory != NULL ? TACIT_OK : tacit_error_memory(err);
  if (status == TACIT_OK) {
    w.theta = memory;
    w.grad = w.theta + n * d;
    w.value = w.grad + n * d;
    w.factor = w.value + n;
    w.square = w.factor + d * d;
    w.mean = w.square + d * d;
    memcpy(w.factor, factor, d * d * sizeof *factor);
    restart(&w);
  }
  for (size_t c = 0; c < n && status == TACIT_OK; c++) {
    status = start(&w, c, mode, err);
  }
  if (status == TACIT_OK) {
    iterate(&w, draws);
    memcpy(mean, w.mean, d * sizeof *mean);
    for (size_t i = 0; i < d * d; i++) {
      cov[i] = 0.5 * (w.square[i] + w.square[i % d * d + i / d]) / fmax(w.n_states - 1, 1);
    }
  }
  for (size_t c = 0; w.rngs != NULL && c < n; c++) {
    tacit_rng_free(w.rngs[c]);
  }
  tacit_free(w.rngs);
  tacit_free(memory);
  return status;
}
