/* Chains of sites together: where they begin, and what is kept of them. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "noise_aware/exchange.h"

enum { D = TACIT_EXCHANGE_MAX };

/* ---- beginning ---- */

/* Of a program's parameters, in units in which what a record tells of each is 1. */
static void choose_program_scale(tacit_exchange_t *e) {
  for (size_t j = 0; j < e->d; j++) {
    e->to_theta[j * e->d + j] = e->unit[j] = 1 / e->of->common.scales[j].sd;
  }
}

/* Effects of one sd of a feature; of two levels, which are 2 apart; the intercept where features have their
 * means. */
static void choose_scale(tacit_exchange_t *e) {
  const tacit_aware_common_t *of = &e->of->common;
  if (!e->of->provider->is_regression) {
    choose_program_scale(e);
    return;
  }
  const bool *is_two_valued = of->settings->is_two_valued;
  size_t d = e->d;
  e->to_theta[0] = 1;
  for (size_t j = 1; j < d; j++) {
    double amount = is_two_valued != NULL && is_two_valued[j] ? 2 : fmax(of->scales[j].sd, 1e-3);
    e->to_theta[j * d + j] = 1 / amount;
    e->to_theta[j] = -of->scales[j].mean / amount;
  }
  double zero[D + 1] = {0}, at[2][D + 1];
  for (size_t j = 0; j < d; j++) { /* what is reported is linear in theta */
    double theta[D + 1] = {0};
    theta[j] = e->to_theta[j * d + j];
    of->parameters->report(of->parameters->ctx, zero, at[0]);
    of->parameters->report(of->parameters->ctx, theta, at[1]);
    e->unit[j] = fabs(at[1][j] - at[0][j]);
  }
}

/* precision <- A' P A; linear <- A' (P mode + gradient), the likelihood's gradient there. */
static void look_at_site(tacit_exchange_t *e, size_t i) {
  size_t d = e->d;
  double at_mode[D * D] = {0}, mode[D], slope[D], half[D * D], *precision = e->precision + i * d * d,
                     *linear = e->linear + i * d;
  e->of->provider->look(e->of->sites[i].of, mode, slope, at_mode);
  for (size_t a = 0; a < d; a++) {
    slope[a] += tacit_dot(d, at_mode + a * d, mode);
  }
  tacit_multiply(d, d, d, at_mode, e->to_theta, half);
  for (size_t a = 0; a < d; a++) {
    linear[a] = 0;
    for (size_t k = 0; k < d; k++) {
      linear[a] += e->to_theta[k * d + a] * slope[k];
    }
    for (size_t b = 0; b < d; b++) {
      precision[a * d + b] = 0;
      for (size_t k = 0; k < d; k++) {
        precision[a * d + b] += e->to_theta[k * d + a] * half[k * d + b];
      }
    }
  }
}

/* Chains start with spreads from a quarter of the prior's scale to twice that, all sites where common effects
 * would be. False: no density there. */
static bool start(tacit_exchange_t *e, size_t chain) {
  double precision[D * D] = {0}, linear[D] = {0}, theta[D];
  tacit_exchange_sum(e, precision, linear);
  bool is_there = tacit_exchange_normal(&e->common, e->d, precision, linear);
  for (size_t j = 0; j < e->d; j++) {
    e->mu[j] = is_there ? e->common.mean[j] : 0;
    e->log_tau[j] = e->of->between > 0 ? log(e->of->between) + (double)(chain % 4) * 0.7 - 1.4 : -INFINITY;
  }
  memset(e->z, 0, e->n * e->d * sizeof *e->z);
  tacit_exchange_theta(e, e->mu, theta);
  for (size_t i = 0; i < e->n; i++) {
    memcpy(e->phi + i * e->d, e->mu, e->d * sizeof *e->mu);
    if (e->of->provider->begin != NULL) {
      e->of->provider->begin(e->of->sites[i].of, theta, e->rng);
    }
  }
  return is_there &&
         isfinite(tacit_exchange_likelihood(e, e->mu, e->log_tau) + tacit_exchange_prior(e, e->mu));
}

/* ---- keeping ---- */

static bool has_sd(const tacit_aware_common_t *of) { return of->parameters->dim > of->d; }

/* Columns of one site. */
static size_t own_columns(const tacit_aware_fit_t *of) {
  return of->common.parameters->n_reported - (of->between > 0 ? 0 : of->common.d);
}

size_t tacit_aware_together_columns(const tacit_aware_fit_t *of) {
  return of->common.parameters->n_reported + (of->between > 0 ? of->common.d : 0) + of->n * own_columns(of);
}

/* out <- a site's columns; returns its residual variance, 0 where it has none. */
static double keep_site(tacit_exchange_t *e, size_t i, double *out) {
  const tacit_aware_fit_t *of = e->of;
  const tacit_parameters_t *parameters = of->common.parameters;
  double theta[D + 1] = {0};
  tacit_exchange_theta(e, e->phi + i * e->d, theta);
  if (has_sd(&of->common)) {
    theta[e->d] = of->provider->log_sd(of->sites[i].of, theta);
  }
  parameters->report(parameters->ctx, theta, e->reported);
  memcpy(out, e->reported + parameters->n_reported - own_columns(of), own_columns(of) * sizeof *out);
  return has_sd(&of->common) ? exp(2 * theta[e->d]) : 0;
}

static void keep(tacit_exchange_t *e, size_t looks, size_t chain, size_t row, tacit_draws_t *draws) {
  const tacit_aware_fit_t *of = e->of;
  const tacit_parameters_t *parameters = of->common.parameters;
  double theta[D + 1] = {0}, *all = tacit_draws_row(draws, chain, row), *out = all + parameters->n_reported,
                   variance = 0, n = 0;
  for (size_t j = 0; j < e->d && of->between > 0; j++) {
    *out++ = exp(e->log_tau[j]) * e->unit[j];
  }
  for (size_t i = 0; i < e->n; i++, out += own_columns(of)) {
    variance += of->sites[i].count.n * keep_site(e, i, out);
    n += of->sites[i].count.n;
  }
  tacit_exchange_theta(e, e->mu, theta);
  if (has_sd(&of->common)) { /* of all records together */
    theta[e->d] = 0.5 * log(variance / n);
  }
  parameters->report(parameters->ctx, theta, all);
  draws->stats[chain * (draws->n_warmup + draws->n_draws) + row] =
      (tacit_draw_stats_t){.log_prior = tacit_exchange_prior(e, e->mu),
                           .accept_stat = 1,
                           .n_leapfrog = (double)(e->n_looks - looks)};
}

/* Sums of states for mean and covariance. */
typedef struct sums {
  double n, mean[D], square[D * D];
} sums_t;

static void add(size_t d, const double *state, sums_t *sums) {
  double before[D];
  sums->n++;
  for (size_t j = 0; j < d; j++) {
    before[j] = state[j] - sums->mean[j];
    sums->mean[j] += before[j] / sums->n;
  }
  for (size_t a = 0; a < d * d; a++) {
    sums->square[a] += before[a / d] * (state[a % d] - sums->mean[a % d]);
  }
}

static void get_cov(size_t d, const sums_t *sums, double *cov) {
  for (size_t a = 0; a < d * d; a++) {
    cov[a] = 0.5 * (sums->square[a] + sums->square[a % d * d + a / d]) / fmax(sums->n - 1, 1);
  }
}

/* The normal of common effects <- moments of the states since the last time; as it was where they are too
 * few. */
static void adapt(tacit_exchange_t *e, sums_t *states) {
  double cov[D * D], work[D * D], precision[D * D], linear[D];
  size_t d = e->d;
  tacit_normal_t found;
  get_cov(d, states, cov);
  if (states->n < 4 * (double)d + 10 || !tacit_cholesky(d, cov)) {
    return;
  }
  tacit_invert_factored(d, cov, work, precision);
  for (size_t i = 0; i < d; i++) {
    linear[i] = tacit_dot(d, precision + i * d, states->mean);
  }
  if (tacit_exchange_normal(&found, d, precision, linear)) {
    e->common = found;
  }
  *states = (sums_t){0};
}

/* ---- chains ---- */

static tacit_status_t run_chain(tacit_exchange_t *e, size_t chain, sums_t *sums, tacit_draws_t *draws,
                                tacit_error_t *err) {
  const tacit_noise_aware_settings_t *settings = e->of->common.settings;
  sums_t states = {0};
  double theta[D];
  size_t n_iterations = draws->n_warmup + draws->n_draws * settings->thin;
  tacit_status_t status = tacit_rng_new(&e->rng, settings->key, chain, err);
  if (status == TACIT_OK && !start(e, chain)) {
    status = tacit_error_set(err, TACIT_ERR_NUMERIC, "prior",
                             "the posterior given the releases has no density where its chains begin: give "
                             "every coefficient a proper prior");
  }
  for (size_t i = 0; i < n_iterations && status == TACIT_OK; i++) {
    size_t looks = e->n_looks;
    tacit_exchange_iterate(e, i);
    bool is_warm = i < draws->n_warmup;
    if (is_warm || (i + 1 - draws->n_warmup) % settings->thin == 0) {
      keep(e, looks, chain, tacit_aware_rows(draws, settings->thin, i + 1) - 1, draws);
    }
    if (is_warm) {
      add(e->d, e->mu, &states);
      if (i + 1 == draws->n_warmup / 8 || i + 1 == draws->n_warmup / 4 || i + 1 == draws->n_warmup / 2 ||
          i + 1 == draws->n_warmup) {
        adapt(e, &states);
      }
    } else {
      tacit_exchange_theta(e, e->mu, theta);
      add(e->d, theta, sums);
    }
    if (!tacit_aware_goes_on(settings, i, 1)) { /* chains go one after the other: half of them is no result */
      status = tacit_error_set(err, TACIT_ERR_INTERRUPTED, "progress", "interrupted: nothing was written");
    }
  }
  tacit_rng_free(e->rng);
  e->rng = NULL;
  return status;
}

tacit_status_t tacit_aware_together(tacit_aware_fit_t *of, tacit_error_t *err) {
  size_t n = of->n, d = of->common.d;
  tacit_draws_t *draws = of->draws;
  tacit_exchange_t *e = tacit_alloc_zero(1, sizeof *e);
  sums_t *sums = tacit_alloc_zero(1, sizeof *sums);
  double *memory = tacit_alloc_zero(n * d * (d + 3) + of->common.parameters->n_reported, sizeof *memory);
  tacit_status_t status = e != NULL && sums != NULL && memory != NULL ? TACIT_OK : tacit_error_memory(err);
  if (status == TACIT_OK) {
    *e = (tacit_exchange_t){.of = of,
                            .n = n,
                            .d = d,
                            .phi = memory,
                            .z = memory + n * d,
                            .linear = memory + 2 * n * d,
                            .precision = memory + 3 * n * d,
                            .reported = memory + n * d * (d + 3)};
    choose_scale(e);
    for (size_t i = 0; i < n; i++) {
      look_at_site(e, i);
    }
  }
  for (size_t c = 0; c < draws->n_chains && status == TACIT_OK; c++) {
    status = run_chain(e, c, sums, draws, err);
  }
  if (status == TACIT_OK) {
    draws->n_saved = draws->n_warmup + draws->n_draws;
    memcpy(of->mean, sums->mean, d * sizeof *of->mean);
    get_cov(d, sums, of->cov);
  }
  tacit_free(memory);
  tacit_free(sums);
  tacit_free(e);
  return status;
}
