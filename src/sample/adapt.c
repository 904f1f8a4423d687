/*
 * Tuning of the exposed hmc during warm-up: step size by dual averaging [Hoffman2014, section 3.2], diagonal
 * metric from pooled draws of two windows. Never for private methods: nothing is tuned on private data.
 */
#include <math.h>
#include <string.h>

#include "sample/sample_internal.h"

static const double target_accept = 0.8;

static void restart(tacit_adapt_t *adapt, double step_size) {
  adapt->shrink_towards = log(10 * step_size);
  adapt->error_sum = 0;
  adapt->log_step_average = log(step_size);
  adapt->n_steps = 0;
}

tacit_status_t tacit_adapt_init(tacit_adapt_t *adapt, size_t dim, double step_size, size_t n_warmup,
                                tacit_error_t *err) {
  *adapt = (tacit_adapt_t){.n_warmup = n_warmup, .step_size = step_size};
  adapt->mean = tacit_alloc_zero(dim, sizeof *adapt->mean);
  adapt->square = tacit_alloc_zero(dim, sizeof *adapt->square);
  if (adapt->mean == NULL || adapt->square == NULL) {
    return tacit_error_memory(err);
  }
  restart(adapt, step_size);
  return TACIT_OK;
}

void tacit_adapt_clear(tacit_adapt_t *adapt) {
  tacit_free(adapt->mean);
  tacit_free(adapt->square);
  *adapt = (tacit_adapt_t){0};
}

static void update_step(tacit_adapt_t *adapt, double accept) {
  enum { t0 = 10 };
  const double gamma = 0.05, kappa = 0.75;
  double t = (double)++adapt->n_steps, eta = 1 / (t + t0);
  adapt->error_sum = (1 - eta) * adapt->error_sum + eta * (target_accept - accept);
  double log_step = adapt->shrink_towards - sqrt(t) / gamma * adapt->error_sum;
  double weight = pow(t, -kappa);
  adapt->log_step_average = weight * log_step + (1 - weight) * adapt->log_step_average;
  adapt->step_size = exp(log_step);
}

/* Welford's update with every chain's state. */
static void add_states(tacit_adapt_t *adapt, const tacit_run_t *run) {
  for (size_t c = 0; c < run->n_chains; c++) {
    adapt->n_states++;
    for (size_t j = 0; j < run->dim; j++) {
      double x = run->theta[c * run->dim + j], before = x - adapt->mean[j];
      adapt->mean[j] += before / (double)adapt->n_states;
      adapt->square[j] += before * (x - adapt->mean[j]);
    }
  }
}

static void set_metric(tacit_adapt_t *adapt, tacit_run_t *run) {
  double n = (double)adapt->n_states;
  for (size_t j = 0; j < run->dim; j++) { /* shrunk towards the metric in use by 10 pseudo-draws */
    double variance = (adapt->square[j] + 10 * run->metric.inv_metric[j]) / (n + 9);
    run->metric.inv_metric[j] = variance;
    run->metric.root[j] = sqrt(variance);
  }
  memset(adapt->mean, 0, run->dim * sizeof *adapt->mean);
  memset(adapt->square, 0, run->dim * sizeof *adapt->square);
  adapt->n_states = 0;
}

void tacit_adapt_update(tacit_adapt_t *adapt, tacit_run_t *run) {
  size_t i = run->iteration + 1, n = adapt->n_warmup;
  if (i > n) {
    return;
  }
  double accept = 0;
  for (size_t c = 0; c < run->n_chains; c++) {
    accept += run->accept_prob[c] / (double)run->n_chains;
  }
  update_step(adapt, accept);
  size_t first = n / 5, middle = n / 2, last = n - n / 10;
  if (!run->metric.is_dense && i > first && i <= last) {
    add_states(adapt, run);
    if (i == middle || i == last) {
      set_metric(adapt, run);
      restart(adapt, exp(adapt->log_step_average));
    }
  }
  if (i == n) {
    adapt->step_size = exp(adapt->log_step_average);
  }
}
