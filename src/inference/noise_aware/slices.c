/* Chains on a linear regression's posterior: slices along axes that warm-up adapts, which leaves the
 * posterior as it is once they are fixed. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/memory.h"
#include "noise_aware/gaussian.h"

enum { MAX = TACIT_LINEAR_MAX, MAX_STEPS = 50 };

/* Width of a first interval, in axes. */
static const double first_width = 3;

static void add_state(size_t dim, const double *state, tacit_linear_moments_t *m) {
  double before[MAX];
  m->n++;
  for (size_t i = 0; i < dim; i++) {
    before[i] = state[i] - m->mean[i];
    m->mean[i] += before[i] / m->n;
  }
  for (size_t i = 0; i < dim * dim; i++) {
    m->square[i] += before[i / dim] * (state[i % dim] - m->mean[i % dim]);
  }
}

static void get_cov(size_t dim, const tacit_linear_moments_t *m, double *cov) {
  for (size_t i = 0; i < dim * dim; i++) {
    cov[i] = 0.5 * (m->square[i] + m->square[i % dim * dim + i / dim]) / fmax(m->n - 1, 1);
  }
}

static double along(tacit_linear_chain_t *c, const double *axis, double distance) {
  for (size_t i = 0; i < c->p->dim; i++) {
    c->trial[i] = c->point[i] + distance * axis[i];
  }
  return tacit_linear_log_density(c->p, c->trial);
}

void tacit_linear_slice(tacit_linear_chain_t *c, const double *axis) {
  double level = c->value + log(tacit_rng_uniform(c->rng));
  double low = -first_width * tacit_rng_uniform(c->rng), high = low + first_width, x = 0, value = c->value;
  for (int i = 0; i < MAX_STEPS && along(c, axis, low) > level; i++) {
    low -= first_width;
  }
  for (int i = 0; i < MAX_STEPS && along(c, axis, high) > level; i++) {
    high += first_width;
  }
  for (bool is_found = false; !is_found;) { /* 0 is in the slice: the interval shrinks to it at last */
    x = low + (high - low) * tacit_rng_uniform(c->rng);
    value = along(c, axis, x);
    is_found = value >= level || !(high - low > 1e-12);
    *(x < 0 ? &low : &high) = x;
  }
  if (value >= level) {
    memcpy(c->point, c->trial, c->p->dim * sizeof *c->point);
    c->value = value;
  }
}

/* Axes <- columns of the factor of the states' covariance. */
static void adapt(tacit_linear_chain_t *c) {
  size_t dim = c->p->dim;
  double cov[MAX * MAX];
  get_cov(dim, &c->states, cov);
  for (size_t i = 0; i < dim; i++) {
    cov[i * dim + i] *= 1.0001;
  }
  if (c->states.n < 2 * (double)dim || !tacit_cholesky(dim, cov)) { /* too few: they count at the next time */
    return;
  }
  for (size_t i = 0; i < dim * dim; i++) {
    c->axes[i] = cov[i % dim * dim + i / dim];
  }
  c->states = (tacit_linear_moments_t){0};
}

/* Around theta_1 and the mean square there; overdispersed. */
static void start(tacit_linear_chain_t *c) {
  const tacit_linear_posterior_t *p = c->p;
  memset(c->axes, 0, sizeof c->axes);
  memset(c->point, 0, sizeof c->point);
  for (size_t i = 0; i < p->dim; i++) {
    c->axes[i * p->dim + i] =
        i < p->d ? fmin(sqrt(p->cov[i * p->d + i]), 2) : fmin(sqrt(p->square_var) / p->square / 2, 0.5);
  }
  if (p->dim > p->d) {
    c->point[p->d] = 0.5 * log(p->square);
  }
  for (size_t i = 0; i < p->dim; i++) {
    c->trial[i] = c->point[i] + 2 * c->axes[i * p->dim + i] * tacit_rng_normal(c->rng);
  }
  c->value = tacit_linear_log_density(c->p, c->trial);
  if (isfinite(c->value)) {
    memcpy(c->point, c->trial, p->dim * sizeof *c->point);
  } else {
    c->value = tacit_linear_log_density(c->p, c->point);
  }
}

static tacit_status_t open_chain(tacit_linear_chain_t *c, tacit_linear_posterior_t *p,
                                 const tacit_noise_aware_settings_t *settings, size_t index,
                                 tacit_error_t *err) {
  c->p = p;
  tacit_status_t status = tacit_rng_new(&c->rng, settings->key, index, err);
  if (status != TACIT_OK) {
    return status;
  }
  start(c);
  return isfinite(c->value)
             ? TACIT_OK
             : tacit_error_set(
                   err, TACIT_ERR_NUMERIC, "prior",
                   "the posterior given the releases has no density: give every coefficient a proper prior");
}

/* Row of a chain's draws <- the state. */
static void keep(tacit_linear_chain_t *c, size_t index, size_t row, tacit_linear_moments_t *kept,
                 tacit_draws_t *draws) {
  const tacit_linear_posterior_t *p = c->p;
  double theta[MAX];
  (void)tacit_linear_unmap(p, c->point, theta); /* its density is not 0 */
  for (size_t j = 0; j < p->d && TACIT_IS_PLANTED(TACIT_FAULT_HALF_AS_WIDE); j++) {
    theta[j] = 0.5 * (p->theta[j] + theta[j]);
  }
  p->parameters->report(p->parameters->ctx, theta, tacit_draws_row(draws, index, row));
  draws->stats[index * (draws->n_warmup + draws->n_draws) + row] = (tacit_draw_stats_t){
      .log_prior = p->parameters->log_prior(p->parameters->ctx, theta, NULL), .accept_stat = 1};
  if (row >= draws->n_warmup) {
    add_state(p->d, theta, kept);
  }
}

static void iterate(tacit_linear_chain_t *c, size_t index, size_t done, size_t thin,
                    tacit_linear_moments_t *kept, tacit_draws_t *draws) {
  size_t n_warmup = draws->n_warmup;
  for (size_t a = 0; a < c->p->dim; a++) {
    tacit_linear_slice(c, c->axes + a * c->p->dim);
  }
  if (done <= n_warmup) {
    add_state(c->p->dim, c->point, &c->states);
    if (done == n_warmup / 4 || done == n_warmup / 2 || done == n_warmup) {
      adapt(c);
    }
  }
  if (done <= n_warmup || (done - n_warmup) % thin == 0) {
    keep(c, index, tacit_aware_rows(draws, thin, done) - 1, kept, draws);
  }
}

/* All chains side by side, so that what is done when somebody interrupts is the same of each. */
tacit_status_t tacit_linear_walk(tacit_linear_posterior_t *posterior,
                                 const tacit_noise_aware_settings_t *settings, tacit_draws_t *draws,
                                 double *mean, double *cov, tacit_error_t *err) {
  size_t thin = settings->thin, n_chains = draws->n_chains,
         n_iterations = draws->n_warmup + draws->n_draws * thin;
  tacit_linear_chain_t *chains = tacit_alloc_zero(n_chains, sizeof *chains);
  tacit_linear_moments_t kept = {0};
  tacit_status_t status = chains != NULL ? TACIT_OK : tacit_error_memory(err);
  for (size_t c = 0; c < n_chains && status == TACIT_OK; c++) {
    status = open_chain(&chains[c], posterior, settings, c, err);
  }
  bool goes_on = status == TACIT_OK;
  for (size_t i = 0; i < n_iterations && goes_on; i++) {
    for (size_t c = 0; c < n_chains; c++) {
      iterate(&chains[c], c, i + 1, thin, &kept, draws);
    }
    draws->n_saved = tacit_aware_rows(draws, thin, i + 1);
    goes_on = tacit_aware_goes_on(settings, i + 1, 1);
  }
  memcpy(mean, kept.mean, posterior->d * sizeof *mean);
  get_cov(posterior->d, &kept, cov);
  for (size_t c = 0; chains != NULL && c < n_chains; c++) {
    tacit_rng_free(chains[c].rng);
  }
  tacit_free(chains);
  return status;
}
