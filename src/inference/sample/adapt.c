/*
 * Tuning of the exposed hmc during warm-up: step size by dual averaging [Hoffman2014, section 3.2], the
 * metric from pooled draws of windows that double. Never for private methods: nothing is tuned on private
 * data.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "sample/sample_internal.h"

static const double target_accept = 0.8;
enum { MOST_DENSE = 100 }; /* parameters of a dense metric */

static void restart(tacit_adapt_t *adapt, double step_size) {
  adapt->shrink_towards = log(10 * step_size);
  adapt->error_sum = 0;
  adapt->log_step_average = log(step_size);
  adapt->n_steps = 0;
}

/* The same metric as a matrix. */
static tacit_status_t make_dense(tacit_metric_t *metric, tacit_error_t *err) {
  size_t n = metric->dim;
  double *matrix = tacit_alloc_zero(n * n, sizeof *matrix), *root = tacit_alloc_zero(n * n, sizeof *root);
  if (matrix == NULL || root == NULL) {
    tacit_free(matrix);
    tacit_free(root);
    return tacit_error_memory(err);
  }
  for (size_t j = 0; j < n; j++) {
    matrix[j * n + j] = metric->inv_metric[j];
    root[j * n + j] = metric->root[j];
  }
  tacit_metric_clear(metric);
  *metric = (tacit_metric_t){.dim = n, .is_dense = true, .inv_metric = matrix, .root = root};
  return TACIT_OK;
}

tacit_status_t tacit_adapt_init(tacit_adapt_t *adapt, tacit_metric_t *metric, double step_size,
                                size_t n_warmup, tacit_error_t *err) {
  *adapt = (tacit_adapt_t){.n_warmup = n_warmup, .step_size = step_size};
  size_t dim = metric->dim;
  if (!metric->is_dense && dim <= MOST_DENSE) {
    tacit_status_t status = make_dense(metric, err);
    if (status != TACIT_OK) {
      return status;
    }
  }
  adapt->mean = tacit_alloc_zero(dim, sizeof *adapt->mean);
  adapt->before = tacit_alloc_zero(dim, sizeof *adapt->before);
  adapt->square = tacit_alloc_zero(metric->is_dense ? dim * dim : dim, sizeof *adapt->square);
  if (adapt->mean == NULL || adapt->before == NULL || adapt->square == NULL) {
    return tacit_error_memory(err);
  }
  adapt->window = n_warmup / 40 > 20 ? n_warmup / 40 : 20;
  adapt->window_end = n_warmup / 20 + adapt->window;
  restart(adapt, step_size);
  return TACIT_OK;
}

void tacit_adapt_clear(tacit_adapt_t *adapt) {
  tacit_free(adapt->mean);
  tacit_free(adapt->before);
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
  size_t dim = run->dim;
  for (size_t c = 0; c < run->n_chains; c++) {
    const double *theta = run->theta + c * dim;
    adapt->n_states++;
    for (size_t j = 0; j < dim; j++) {
      adapt->before[j] = theta[j] - adapt->mean[j];
      adapt->mean[j] += adapt->before[j] / (double)adapt->n_states;
    }
    for (size_t j = 0; j < dim; j++) {
      double after = theta[j] - adapt->mean[j];
      for (size_t k = 0; run->metric.is_dense && k < dim; k++) {
        adapt->square[j * dim + k] += adapt->before[k] * after;
      }
      adapt->square[j] += run->metric.is_dense ? 0 : adapt->before[j] * after;
    }
  }
}

/* Shrunk towards the metric in use by 10 pseudo-draws. */
static void set_metric(tacit_adapt_t *adapt, tacit_run_t *run) {
  size_t dim = run->dim, size = run->metric.is_dense ? dim * dim : dim;
  double n = (double)adapt->n_states;
  for (size_t i = 0; i < size; i++) {
    run->metric.inv_metric[i] = (adapt->square[i] + 10 * run->metric.inv_metric[i]) / (n + 9);
  }
  for (size_t i = 0; run->metric.is_dense && i < dim; i++) { /* to the last bit */
    for (size_t j = 0; j < i; j++) {
      run->metric.inv_metric[j * dim + i] = run->metric.inv_metric[i * dim + j];
    }
  }
  if (!tacit_metric_factorise(&run->metric)) { /* rounding: the variances alone */
    for (size_t i = 0; run->metric.is_dense && i < size; i++) {
      run->metric.inv_metric[i] *= i % (dim + 1) == 0;
    }
    if (!tacit_metric_factorise(&run->metric)) {
      for (size_t i = 0; i < dim; i++) {
        run->metric.inv_metric[run->metric.is_dense ? i * (dim + 1) : i] = 1;
      }
      bool ok = tacit_metric_factorise(&run->metric);
      (void)ok; /* of ones */
    }
  }
  memset(adapt->mean, 0, dim * sizeof *adapt->mean);
  memset(adapt->square, 0, size * sizeof *adapt->square);
  adapt->n_states = 0;
}

void tacit_adapt_update(tacit_adapt_t *adapt, tacit_run_t *run) {
  size_t i = run->iteration + 1, n = adapt->n_warmup, first = n / 20, last = n - n / 10;
  if (i > n) {
    return;
  }
  double accept = 0;
  for (size_t c = 0; c < run->n_chains; c++) {
    accept += run->accept_prob[c] / (double)run->n_chains;
  }
  update_step(adapt, accept);
  bool is_given = run->settings->inv_metric_is_dense; /* by the user: kept */
  if (!is_given && i > first && i <= last) {
    add_states(adapt, run);
    if (i == last || (i >= adapt->window_end && i + 2 * adapt->window <= last)) {
      set_metric(adapt, run);
      restart(adapt, exp(adapt->log_step_average));
      adapt->window *= 2;
      adapt->window_end = i + adapt->window;
    }
  }
  if (i == n) {
    adapt->step_size = exp(adapt->log_step_average);
  }
}
