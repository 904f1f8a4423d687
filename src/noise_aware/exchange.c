/*
 * Exchangeable effects: phi_i = mu + tau z_i, z_i standard normal, coordinate by coordinate of effects on one scale (of one sd of a feature, between two
 * levels, the intercept at the features' means); tau_j half-normal. Each site's likelihood is that of its releases, noise included.
 *
 * Gibbs in both parametrisations in turn [Yu2011]: given mu and tau the sites are apart; given z, mu and tau move all sites at once, which mixes where
 * tau is small. Blocks of effects move by elliptical slices [Murray2010] around the normal that likelihood and prior come near to, so that most first
 * tries are taken; spreads by slices of log tau [Neal2003]. Exact whatever that normal is.
 */
#include <math.h>
#include <string.h>

#include "noise_aware/exchange.h"

enum { D = TACIT_NOISE_AWARE_MAX_FEATURES, MAX_SHRINKS = 200, MAX_STEPS_OUT = 12 };

static const double tau_width = 1, least_log_tau = -12;

/* Everything of one chain; effects are phi. */
typedef struct exchange {
  const tacit_aware_site_t *sites;
  size_t n, d;
  double between;                /* scale of the half-normal */
  double to_theta[D * D];        /* theta = to_theta phi */
  double unit[D];                /* reported unit of a spread, for one of phi */
  double *linear, *precision;    /* (n, d), (n, d, d): of the normal near each site's likelihood, exp(linear phi - phi precision phi / 2) */
  double *phi, *z;               /* (n, d) */
  double mu[D], log_tau[D];
  size_t n_looks;
  tacit_rng_t *rng;
} exchange_t;

static void to_theta(const exchange_t *e, const double *phi, double *theta) {
  for (size_t i = 0; i < e->d; i++) {
    theta[i] = tacit_dot(e->d, e->to_theta + i * e->d, phi);
  }
}

static double likelihood(exchange_t *e, size_t site, const double *phi) {
  double theta[D];
  e->n_looks++;
  to_theta(e, phi, theta);
  return tacit_aware_posterior_log_likelihood(e->sites[site].posterior, theta);
}

static double prior(const exchange_t *e, const double *mu) {
  const tacit_parameters_t *parameters = e->sites->posterior->parameters;
  double theta[D];
  to_theta(e, mu, theta);
  return parameters->log_prior(parameters->ctx, theta, NULL);
}

/* ---- moves ---- */

/* A normal by its precision's lower factor and its mean. */
typedef struct normal {
  size_t d;
  double factor[D * D], mean[D];
} normal_t;

/* mean <- precision^-1 linear; false if the precision has no factor. */
static bool make_normal(normal_t *q, size_t d, const double *precision, const double *linear) {
  q->d = d;
  memcpy(q->factor, precision, d * d * sizeof *precision);
  memcpy(q->mean, linear, d * sizeof *linear);
  if (!tacit_cholesky(d, q->factor)) {
    return false;
  }
  tacit_solve_lower(d, q->factor, q->mean);
  tacit_solve_upper(d, q->factor, q->mean);
  return true;
}

/* log density up to a constant: -|L' (x - mean)|^2 / 2. */
static double normal_value(const normal_t *q, const double *x) {
  double square = 0;
  for (size_t j = 0; j < q->d; j++) {
    double along = 0;
    for (size_t i = j; i < q->d; i++) {
      along += q->factor[i * q->d + j] * (x[i] - q->mean[i]);
    }
    square += along * along;
  }
  return -0.5 * square;
}

typedef double (*density_fn)(exchange_t *e, size_t which, const double *x);

/* One elliptical slice of exp(density) around q; x (d) moves. */
static void move(exchange_t *e, const normal_t *q, density_fn density, size_t which, double *x) {
  double other[D], from[D], turn = 6.283185307179586 * tacit_rng_uniform(e->rng), low = turn - 6.283185307179586, high = turn;
  double level = density(e, which, x) - normal_value(q, x) - tacit_rng_exponential(e->rng);
  for (size_t j = 0; j < q->d; j++) {
    other[j] = tacit_rng_normal(e->rng);
    from[j] = x[j] - q->mean[j];
  }
  tacit_solve_upper(q->d, q->factor, other);
  for (int i = 0; i < MAX_SHRINKS; i++) {
    for (size_t j = 0; j < q->d; j++) {
      x[j] = q->mean[j] + from[j] * cos(turn) + other[j] * sin(turn);
    }
    if (density(e, which, x) - normal_value(q, x) > level) {
      return;
    }
    *(turn < 0 ? &low : &high) = turn;
    turn = low + (high - low) * tacit_rng_uniform(e->rng);
  }
  for (size_t j = 0; j < q->d; j++) { /* rounding alone leads here */
    x[j] = q->mean[j] + from[j];
  }
}

/* One slice of exp(density) of log tau_j, by stepping out and shrinking. */
static void move_tau(exchange_t *e, density_fn density, size_t j) {
  double *x = &e->log_tau[j], before = *x, level = density(e, j, x) - tacit_rng_exponential(e->rng);
  double low = before - tau_width * tacit_rng_uniform(e->rng), high = low + tau_width, at;
  for (int i = 0; i < MAX_STEPS_OUT && (at = low, density(e, j, &at) > level); i++) {
    low -= tau_width;
  }
  for (int i = 0; i < MAX_STEPS_OUT && (at = high, density(e, j, &at) > level); i++) {
    high += tau_width;
  }
  for (int i = 0; i < MAX_SHRINKS; i++) {
    at = low + (high - low) * tacit_rng_uniform(e->rng);
    if (density(e, j, &at) > level) {
      *x = at;
      return;
    }
    *(at < before ? &low : &high) = at;
  }
}

/* ---- what the moves are of ---- */

/* Half-normal of tau, of log tau; its floor keeps what is no different from 0 from wandering off. */
static double tau_prior(const exchange_t *e, double log_tau) {
  double ratio = exp(log_tau) / e->between;
  return log_tau >= least_log_tau ? log_tau - 0.5 * ratio * ratio : -INFINITY;
}

static double site_density(exchange_t *e, size_t site, const double *phi) {
  double value = likelihood(e, site, phi);
  for (size_t j = 0; j < e->d; j++) {
    double from = (phi[j] - e->mu[j]) * exp(-e->log_tau[j]);
    value -= 0.5 * from * from;
  }
  return value;
}

static double mean_density(exchange_t *e, size_t unused, const double *mu) {
  (void)unused;
  double value = prior(e, mu);
  for (size_t i = 0; i < e->n * e->d; i++) {
    double from = (e->phi[i] - mu[i % e->d]) * exp(-e->log_tau[i % e->d]);
    value -= 0.5 * from * from;
  }
  return value;
}

static double tau_density(exchange_t *e, size_t j, const double *log_tau) {
  double value = tau_prior(e, *log_tau) - (double)e->n * *log_tau;
  for (size_t i = 0; i < e->n; i++) {
    double from = (e->phi[i * e->d + j] - e->mu[j]) * exp(-*log_tau);
    value -= 0.5 * from * from;
  }
  return value;
}

/* All sites at mu + tau z. */
static double moved_likelihood(exchange_t *e, const double *mu, const double *log_tau) {
  double value = 0, phi[D];
  for (size_t i = 0; i < e->n && value > -INFINITY; i++) {
    for (size_t j = 0; j < e->d; j++) {
      phi[j] = mu[j] + exp(log_tau[j]) * e->z[i * e->d + j];
    }
    value += likelihood(e, i, phi);
  }
  return value;
}

static double shift_density(exchange_t *e, size_t unused, const double *mu) {
  (void)unused;
  double value = prior(e, mu);
  return value > -INFINITY ? value + moved_likelihood(e, mu, e->log_tau) : value;
}

static double stretch_density(exchange_t *e, size_t j, const double *log_tau) {
  double all[D], value = tau_prior(e, *log_tau);
  memcpy(all, e->log_tau, e->d * sizeof *all);
  all[j] = *log_tau;
  return value > -INFINITY ? value + moved_likelihood(e, e->mu, all) : value;
}

/* ---- an iteration ---- */

static void move_sites(exchange_t *e) {
  normal_t q;
  double precision[D * D], linear[D];
  for (size_t i = 0; i < e->n; i++) {
    memcpy(precision, e->precision + i * e->d * e->d, e->d * e->d * sizeof *precision);
    for (size_t j = 0; j < e->d; j++) {
      double weight = exp(-2 * e->log_tau[j]);
      precision[j * e->d + j] += weight;
      linear[j] = e->linear[i * e->d + j] + weight * e->mu[j];
    }
    if (make_normal(&q, e->d, precision, linear)) {
      move(e, &q, site_density, i, e->phi + i * e->d);
    }
  }
}

static void move_mean(exchange_t *e) {
  normal_t q;
  double precision[D * D] = {0}, linear[D] = {0};
  for (size_t j = 0; j < e->d; j++) {
    double weight = exp(-2 * e->log_tau[j]);
    precision[j * e->d + j] = (double)e->n * weight;
    for (size_t i = 0; i < e->n; i++) {
      linear[j] += weight * e->phi[i * e->d + j];
    }
  }
  if (make_normal(&q, e->d, precision, linear)) {
    move(e, &q, mean_density, 0, e->mu);
  }
}

/* Of common effects: the sum of all sites' normals, and a little more, about as wide as default priors, where noise hides a direction. */
static void sum_sites(const exchange_t *e, double *precision, double *linear) {
  size_t d = e->d;
  for (size_t i = 0; i < e->n * d * d; i++) {
    precision[i % (d * d)] += e->precision[i];
  }
  for (size_t i = 0; i < e->n * d; i++) {
    linear[i % d] += e->linear[i];
  }
  for (size_t j = 0; j < d; j++) {
    precision[j * d + j] += 0.2;
  }
}

/* The same means with the sites going along. */
static void shift(exchange_t *e) {
  normal_t q;
  size_t d = e->d;
  double precision[D * D] = {0}, linear[D] = {0};
  sum_sites(e, precision, linear);
  for (size_t i = 0; i < e->n; i++) {
    for (size_t a = 0; a < d * d; a++) {
      linear[a / d] -= e->precision[i * d * d + a] * exp(e->log_tau[a % d]) * e->z[i * d + a % d];
    }
  }
  if (make_normal(&q, d, precision, linear)) {
    move(e, &q, shift_density, 0, e->mu);
  }
}

static void iterate(exchange_t *e, size_t iteration) {
  move_sites(e);
  move_mean(e);
  for (size_t j = 0; j < e->d; j++) {
    move_tau(e, tau_density, j);
  }
  for (size_t i = 0; i < e->n * e->d; i++) {
    e->z[i] = (e->phi[i] - e->mu[i % e->d]) * exp(-e->log_tau[i % e->d]);
  }
  shift(e);
  move_tau(e, stretch_density, iteration % e->d); /* one: each look costs a look at every site */
  for (size_t i = 0; i < e->n * e->d; i++) {
    e->phi[i] = e->mu[i % e->d] + exp(e->log_tau[i % e->d]) * e->z[i];
  }
}

/* ---- beginning ---- */

/* Effects of one sd of a feature; of two levels, which are 2 apart; the intercept where features have their means. */
static void choose_scale(exchange_t *e, const tacit_feature_scale_t *scales) {
  const tacit_aware_posterior_t *first = e->sites->posterior;
  const bool *is_two_valued = first->settings->is_two_valued;
  size_t d = e->d;
  e->to_theta[0] = 1;
  for (size_t j = 1; j < d; j++) {
    double amount = is_two_valued != NULL && is_two_valued[j] ? 2 : fmax(scales[j].sd, 1e-3);
    e->to_theta[j * d + j] = 1 / amount;
    e->to_theta[j] = -scales[j].mean / amount;
  }
  double zero[D] = {0}, at[2][D];
  for (size_t j = 0; j < d; j++) { /* what is reported is linear in theta */
    double theta[D] = {0};
    theta[j] = e->to_theta[j * d + j];
    first->parameters->report(first->parameters->ctx, zero, at[0]);
    first->parameters->report(first->parameters->ctx, theta, at[1]);
    e->unit[j] = fabs(at[1][j] - at[0][j]);
  }
}

/* precision <- A' P A; linear <- A' (P mode + gradient), the likelihood's gradient there. */
static void look_at_site(exchange_t *e, size_t i) {
  const tacit_aware_site_t *site = &e->sites[i];
  size_t d = e->d;
  double at_mode[D * D] = {0}, slope[D], half[D * D], *precision = e->precision + i * d * d, *linear = e->linear + i * d;
  tacit_aware_posterior_likelihood_shape(site->posterior, site->mode, slope, at_mode);
  for (size_t a = 0; a < d; a++) {
    slope[a] += tacit_dot(d, at_mode + a * d, site->mode);
    for (size_t b = 0; b < d; b++) {
      half[a * d + b] = 0;
      for (size_t k = 0; k < d; k++) {
        half[a * d + b] += at_mode[a * d + k] * e->to_theta[k * d + b];
      }
    }
  }
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

/* Chains start with spreads from a quarter of the prior's scale to twice that, all sites where common effects would be. */
static void start(exchange_t *e, size_t chain) {
  normal_t q;
  double precision[D * D] = {0}, linear[D] = {0};
  sum_sites(e, precision, linear);
  bool is_there = make_normal(&q, e->d, precision, linear);
  for (size_t j = 0; j < e->d; j++) {
    e->mu[j] = is_there ? q.mean[j] : 0;
    e->log_tau[j] = log(e->between) + (double)(chain % 4) * 0.7 - 1.4;
  }
  for (size_t i = 0; i < e->n; i++) {
    memcpy(e->phi + i * e->d, e->mu, e->d * sizeof *e->mu);
  }
}

static void keep(exchange_t *e, size_t looks, size_t chain, size_t row, tacit_draws_t *draws) {
  const tacit_parameters_t *parameters = e->sites->posterior->parameters;
  double theta[D], *out = tacit_draws_row(draws, chain, row);
  to_theta(e, e->mu, theta);
  parameters->report(parameters->ctx, theta, out);
  for (size_t j = 0; j < e->d; j++) {
    out[parameters->n_reported + j] = exp(e->log_tau[j]) * e->unit[j];
  }
  draws->stats[chain * (draws->n_warmup + draws->n_draws) + row] =
      (tacit_draw_stats_t){.log_prior = prior(e, e->mu), .accept_stat = 1, .n_leapfrog = (double)(e->n_looks - looks)};
}

/* Sums of the kept means for mean and covariance. */
typedef struct sums {
  double n, mean[D], square[D * D];
} sums_t;

static void add(const exchange_t *e, sums_t *sums) {
  double theta[D], before[D];
  to_theta(e, e->mu, theta);
  sums->n++;
  for (size_t j = 0; j < e->d; j++) {
    before[j] = theta[j] - sums->mean[j];
    sums->mean[j] += before[j] / sums->n;
  }
  for (size_t a = 0; a < e->d * e->d; a++) {
    sums->square[a] += before[a / e->d] * (theta[a % e->d] - sums->mean[a % e->d]);
  }
}

static tacit_status_t run_chain(exchange_t *e, size_t chain, sums_t *sums, tacit_draws_t *draws, tacit_error_t *err) {
  const tacit_noise_aware_settings_t *settings = e->sites->posterior->settings;
  size_t n_iterations = draws->n_warmup + draws->n_draws * settings->thin;
  tacit_status_t status = tacit_rng_new(&e->rng, settings->key, chain, err);
  if (status == TACIT_OK) {
    start(e, chain);
  }
  for (size_t i = 0; i < n_iterations && status == TACIT_OK; i++) {
    size_t looks = e->n_looks;
    iterate(e, i);
    bool is_warm = i < draws->n_warmup;
    if (is_warm || (i + 1 - draws->n_warmup) % settings->thin == 0) {
      keep(e, looks, chain, tacit_aware_rows(draws, settings->thin, i + 1) - 1, draws);
    }
    if (!is_warm) {
      add(e, sums);
    }
    if (!tacit_aware_goes_on(settings, i, 1)) { /* chains go one after the other: half of them is no result */
      status = tacit_error_set(err, TACIT_ERR_INTERRUPTED, "progress", "interrupted: nothing was written");
    }
  }
  tacit_rng_free(e->rng);
  e->rng = NULL;
  return status;
}

tacit_status_t tacit_aware_exchange(const tacit_aware_site_t *sites, size_t n, const tacit_feature_scale_t *scales, double between,
                                    tacit_draws_t *draws, double *mean, double *cov, tacit_error_t *err) {
  size_t d = sites->posterior->surrogate->d;
  exchange_t *e = tacit_alloc_zero(1, sizeof *e);
  sums_t *sums = tacit_alloc_zero(1, sizeof *sums);
  double *memory = tacit_alloc_zero(n * d * (d + 3), sizeof *memory);
  tacit_status_t status = e != NULL && sums != NULL && memory != NULL ? TACIT_OK : tacit_error_memory(err);
  if (status == TACIT_OK) {
    *e = (exchange_t){.sites = sites, .n = n, .d = d, .between = between, .phi = memory, .z = memory + n * d, .linear = memory + 2 * n * d, .precision = memory + 3 * n * d};
    choose_scale(e, scales);
    for (size_t i = 0; i < n; i++) {
      look_at_site(e, i);
    }
  }
  for (size_t c = 0; c < draws->n_chains && status == TACIT_OK; c++) {
    status = run_chain(e, c, sums, draws, err);
  }
  if (status == TACIT_OK) {
    draws->n_saved = draws->n_warmup + draws->n_draws;
    memcpy(mean, sums->mean, d * sizeof *mean);
    for (size_t a = 0; a < d * d; a++) {
      cov[a] = 0.5 * (sums->square[a] + sums->square[a % d * d + a / d]) / fmax(sums->n - 1, 1);
    }
  }
  tacit_free(memory);
  tacit_free(sums);
  tacit_free(e);
  return status;
}
