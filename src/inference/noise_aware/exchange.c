/*
 * Exchangeable effects: phi_i = mu + tau z_i, z_i standard normal, coordinate by coordinate of effects on one
 * scale (of one sd of a feature, between two levels, the intercept at the features' means); tau_j
 * half-normal. Each site's likelihood is that of its releases, noise included.
 *
 * Gibbs in both parametrisations in turn [Yu2011]: given mu and tau the sites are apart; given z, mu and tau
 * move all sites at once, which mixes where tau is small. Blocks of effects move by elliptical slices
 * [Murray2010] around the normal that likelihood and prior come near to, so that most first tries are taken;
 * spreads by slices of log tau [Neal2003]. Exact whatever that normal is.
 */
#include <math.h>
#include <string.h>

#include "noise_aware/exchange.h"

enum { D = TACIT_NOISE_AWARE_MAX_NARROW, MAX_SHRINKS = 200, MAX_STEPS_OUT = 12 };

static const double tau_width = 1, least_log_tau = -12, wider[2] = {1.2, 3};

void tacit_exchange_theta(const tacit_exchange_t *e, const double *phi, double *theta) {
  for (size_t i = 0; i < e->d; i++) {
    theta[i] = tacit_dot(e->d, e->to_theta + i * e->d, phi);
  }
}

static double likelihood(tacit_exchange_t *e, size_t site, const double *phi) {
  double theta[D];
  e->n_looks++;
  tacit_exchange_theta(e, phi, theta);
  return e->of->provider->log_likelihood(e->of->sites[site].of, theta);
}

double tacit_exchange_prior(const tacit_exchange_t *e, const double *mu) {
  const tacit_parameters_t *parameters = e->of->common.parameters;
  double theta[D + 1] = {0}; /* the prior of a log sd is a factor apart, and counts with its site */
  tacit_exchange_theta(e, mu, theta);
  return parameters->log_prior(parameters->ctx, theta, NULL);
}

/* ---- moves ---- */

bool tacit_exchange_normal(tacit_normal_t *q, size_t d, const double *precision, const double *linear) {
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
static double normal_value(const tacit_normal_t *q, const double *x) {
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

typedef double (*density_fn)(tacit_exchange_t *e, size_t which, const double *x);

/* One elliptical slice of exp(density) around q; x (d) moves. */
static void move(tacit_exchange_t *e, const tacit_normal_t *q, density_fn density, size_t which, double *x) {
  double other[D], from[D], turn = 6.283185307179586 * tacit_rng_uniform(e->rng),
                            low = turn - 6.283185307179586, high = turn;
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
static void move_tau(tacit_exchange_t *e, density_fn density, size_t j) {
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
static double tau_prior(const tacit_exchange_t *e, double log_tau) {
  double ratio = exp(log_tau) / e->of->between;
  return log_tau >= least_log_tau ? log_tau - 0.5 * ratio * ratio : -INFINITY;
}

static double site_density(tacit_exchange_t *e, size_t site, const double *phi) {
  double value = likelihood(e, site, phi);
  for (size_t j = 0; j < e->d; j++) {
    double from = (phi[j] - e->mu[j]) * exp(-e->log_tau[j]);
    value -= 0.5 * from * from;
  }
  return value;
}

static double mean_density(tacit_exchange_t *e, size_t unused, const double *mu) {
  (void)unused;
  double value = tacit_exchange_prior(e, mu);
  for (size_t i = 0; i < e->n * e->d; i++) {
    double from = (e->phi[i] - mu[i % e->d]) * exp(-e->log_tau[i % e->d]);
    value -= 0.5 * from * from;
  }
  return value;
}

static double tau_density(tacit_exchange_t *e, size_t j, const double *log_tau) {
  double value = tau_prior(e, *log_tau) - (double)e->n * *log_tau;
  for (size_t i = 0; i < e->n; i++) {
    double from = (e->phi[i * e->d + j] - e->mu[j]) * exp(-*log_tau);
    value -= 0.5 * from * from;
  }
  return value;
}

double tacit_exchange_likelihood(tacit_exchange_t *e, const double *mu, const double *log_tau) {
  double value = 0, phi[D];
  for (size_t i = 0; i < e->n && value > -INFINITY; i++) {
    for (size_t j = 0; j < e->d; j++) {
      phi[j] = mu[j] + exp(log_tau[j]) * e->z[i * e->d + j];
    }
    value += likelihood(e, i, phi);
  }
  return value;
}

static double shift_density(tacit_exchange_t *e, size_t unused, const double *mu) {
  (void)unused;
  double value = tacit_exchange_prior(e, mu);
  return value > -INFINITY ? value + tacit_exchange_likelihood(e, mu, e->log_tau) : value;
}

static double stretch_density(tacit_exchange_t *e, size_t j, const double *log_tau) {
  double all[D], value = tau_prior(e, *log_tau);
  memcpy(all, e->log_tau, e->d * sizeof *all);
  all[j] = *log_tau;
  return value > -INFINITY ? value + tacit_exchange_likelihood(e, e->mu, all) : value;
}

/* ---- an iteration ---- */

static void move_sites(tacit_exchange_t *e) {
  tacit_normal_t q;
  double precision[D * D], linear[D];
  for (size_t i = 0; i < e->n; i++) {
    memcpy(precision, e->precision + i * e->d * e->d, e->d * e->d * sizeof *precision);
    for (size_t j = 0; j < e->d; j++) {
      double weight = exp(-2 * e->log_tau[j]);
      precision[j * e->d + j] += weight;
      linear[j] = e->linear[i * e->d + j] + weight * e->mu[j];
    }
    if (tacit_exchange_normal(&q, e->d, precision, linear)) {
      move(e, &q, site_density, i, e->phi + i * e->d);
    }
  }
}

static void move_mean(tacit_exchange_t *e) {
  tacit_normal_t q;
  double precision[D * D] = {0}, linear[D] = {0};
  for (size_t j = 0; j < e->d; j++) {
    double weight = exp(-2 * e->log_tau[j]);
    precision[j * e->d + j] = (double)e->n * weight;
    for (size_t i = 0; i < e->n; i++) {
      linear[j] += weight * e->phi[i * e->d + j];
    }
  }
  if (tacit_exchange_normal(&q, e->d, precision, linear)) {
    move(e, &q, mean_density, 0, e->mu);
  }
}

/* Of common effects: the sum of all sites' normals, and a little more, about as wide as default priors, where
 * noise hides a direction. */
void tacit_exchange_sum(const tacit_exchange_t *e, double *precision, double *linear) {
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
static void shift(tacit_exchange_t *e) {
  tacit_normal_t q;
  size_t d = e->d;
  double precision[D * D] = {0}, linear[D] = {0};
  tacit_exchange_sum(e, precision, linear);
  for (size_t i = 0; i < e->n; i++) {
    for (size_t a = 0; a < d * d; a++) {
      linear[a / d] -= e->precision[i * d * d + a] * exp(e->log_tau[a % d]) * e->z[i * d + a % d];
    }
  }
  if (tacit_exchange_normal(&q, d, precision, linear)) {
    move(e, &q, shift_density, 0, e->mu);
  }
}

/* What sites have besides effects, given these. */
static void renew_sites(tacit_exchange_t *e) {
  double theta[D];
  for (size_t i = 0; i < e->n && e->of->provider->renew != NULL; i++) {
    tacit_exchange_theta(e, e->phi + i * e->d, theta);
    e->of->provider->renew(e->of->sites[i].of, theta, e->rng);
  }
}

/* Around what warm-up found, wider than that: by a little, and by much for tails. */
static void iterate_common(tacit_exchange_t *e) {
  for (size_t k = 0; k < 2; k++) {
    tacit_normal_t q = e->common;
    for (size_t a = 0; a < e->d * e->d; a++) {
      q.factor[a] /= wider[k];
    }
    move(e, &q, shift_density, 0, e->mu);
  }
  for (size_t i = 0; i < e->n; i++) {
    memcpy(e->phi + i * e->d, e->mu, e->d * sizeof *e->mu);
  }
}

static void iterate_differing(tacit_exchange_t *e, size_t iteration) {
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

void tacit_exchange_iterate(tacit_exchange_t *e, size_t iteration) {
  if (e->of->between > 0) {
    iterate_differing(e, iteration);
  } else {
    iterate_common(e);
  }
  renew_sites(e);
}
