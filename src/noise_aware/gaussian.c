/*
 * Linear regression with normal errors from two releases of joint second moments of features and response: in the cube, which tells
 * a metric and a first fit, and whitened, of rows and of residuals from that fit. The features' moments N are then unknowns like the
 * parameters: nothing else is assumed of the features. With u the whitened row, w its weight, r = (y - x . theta_0) k the
 * residual, clamped to +-R, gamma = k L' (theta - theta_0) and tau = k sigma, given the features
 *
 *     T = mean w^2 u r    ~ kappa N gamma            + noise of sampling and of privacy,
 *     S = mean w^2 r^2    ~ kappa gamma' N gamma + N_00 q(tau) + noise,
 *
 * kappa = P(|tau Z| < R), q(tau) = E clamp(tau Z)^2: exact where gamma is small beside tau, which a clamp at 3.5 of what residuals are
 * thought to vary by makes harmless else (docs/theory.md, section 18.9).
 */
#include <math.h>
#include <string.h>

#include "noise_aware/noise_aware_internal.h"
#include "noise_aware/schedule.h"

enum { MAX = TACIT_NOISE_AWARE_MAX_FEATURES + 1, MAX_PACKED = MAX * (MAX + 1) / 2, N_NODES = 2000 };

typedef struct gaussian {
  tacit_curator_t *curator;
  const tacit_parameters_t *parameters;
  const tacit_noise_aware_settings_t *settings;
  size_t d, dim;   /* features; parameters: and log sigma if it is unknown */
  double n, last_share; /* records that count; share of mu^2 of the second release */
  /* from the first release */
  double fit[MAX], spread;              /* theta_0, and what residuals from it may vary by */
  double factor[MAX * MAX];             /* L, lower */
  double inverse[MAX * MAX];            /* its inverse */
  /* from the second */
  double radius, scale;                 /* R; k */
  double moments[MAX * MAX];            /* N */
  double variances[MAX * MAX];          /* of its entries */
  double response[MAX], square;         /* T, S */
  double response_var, square_var;      /* of their privacy noise */
  double kept, kept_twice;              /* E w^2 u^2 and E w^4 u^2 over E u^2, for a normal row */
  double work[8 * MAX * MAX];
} gaussian_t;

/* ---- the first release ---- */

/* Posterior mean and variance of an entry of a matrix of means, with a normal prior. */
static double shrink(double released, double noise_sd, double prior_mean, double prior_sd, double *variance) {
  double trust = prior_sd * prior_sd / (prior_sd * prior_sd + noise_sd * noise_sd);
  *variance = trust * noise_sd * noise_sd;
  return prior_mean + trust * (released - prior_mean);
}

/* Second moments of (1, z, y), entries shrunk to public guesses; variances, shape (d + 1, d + 1). */
static void guess_moments(const gaussian_t *g, const double *released, double noise_sd, double *second, double *variances) {
  size_t m = g->d + 1;
  for (size_t i = 0, k = 0; i < m; i++) {
    for (size_t j = i; j < m; j++, k++) {
      bool is_square = i == j, is_mean = i == 0;
      bool is_known = is_square && (i == 0 || (i < g->d && g->settings->is_two_valued != NULL && g->settings->is_two_valued[i]));
      double root = is_square ? 1 : sqrt(2), variance;
      double value = shrink(released[k] / root / g->n, noise_sd / root / g->n, is_square ? 1.0 / 3 : 0,
                            is_square ? 0.25 : is_mean ? 0.5 : 0.3, &variance);
      second[i * m + j] = second[j * m + i] = is_known ? 1 : value;
      variances[i * m + j] = variances[j * m + i] = is_known ? 0 : variance;
    }
  }
}

static double median_off_diagonal(size_t m, const double *variances, double *work) {
  size_t n = 0;
  for (size_t i = 0; i < m; i++) {
    for (size_t j = i + 1; j < m; j++) {
      work[n++] = variances[i * m + j];
    }
  }
  return tacit_median(n, work);
}

/* Metric of the features, fit of the response and spread of its residuals, from the joint factor of (1, z, y). */
static tacit_status_t set_fit(gaussian_t *g, const double *second, const double *variances, tacit_error_t *err) {
  size_t d = g->d, m = d + 1;
  double *joint = g->work, uncertain = 0, size = 1;
  memcpy(joint, second, m * m * sizeof *joint);
  if (!tacit_cholesky(m, joint)) {
    return tacit_error_set(err, TACIT_ERR_NUMERIC, "moments",
                           "the noisy second moments could not be made a covariance matrix; this should not happen, please "
                           "report it");
  }
  for (size_t i = 0; i < d; i++) {
    memcpy(g->factor + i * d, joint + i * m, d * sizeof *joint);
    g->fit[i] = joint[d * m + i];
  }
  tacit_solve_upper(d, g->factor, g->fit); /* (L^-T) l: the regression of y on x */
  tacit_invert_lower(d, g->factor, g->inverse);
  for (size_t i = 0; i < d; i++) {
    size += g->fit[i] * g->fit[i];
  }
  for (size_t i = 0; i < d; i++) { /* x . error of the fit, over the features */
    for (size_t j = 0; j <= i; j++) {
      uncertain += g->inverse[i * d + j] * g->inverse[i * d + j] * variances[j * m + d] * size;
    }
  }
  g->spread = fmin(sqrt(joint[d * m + d] * joint[d * m + d] + uncertain), 2);
  return TACIT_OK;
}

static tacit_status_t learn_in_cube(gaussian_t *g, tacit_error_t *err) {
  size_t d = g->d, m = d + 1;
  double released[MAX_PACKED], second[MAX * MAX], variances[MAX * MAX], mean[MAX], noise_sd, zero[MAX] = {0};
  double radius = sqrt((double)d) * (1 + 1e-12), scale = 1, reach = 1;
  const tacit_aware_joint_t at = {d, NULL, &radius, zero, &scale, &reach};
  tacit_status_t status = tacit_aware_release_joint_moments(
      g->curator, g->settings, schedule_multiplier(g->settings->rho, share_joint_cube), &at, released, &noise_sd, err);
  if (status != TACIT_OK) {
    return status;
  }
  guess_moments(g, released, noise_sd, second, variances);
  tacit_shape_t shape = {.p = d, .mean = mean, .cov = g->work};
  double *work = g->work + m * m, noise = 0.5 * sqrt(median_off_diagonal(m, variances, work) * (double)d);
  tacit_shape_from(&shape, second);
  tacit_raise_eigenvalues(d, shape.cov, fmin(0.3, fmax(3e-4, noise)), work);
  tacit_second_moments(&shape, second);
  return set_fit(g, second, variances, err);
}

/* ---- the second release ---- */

/* Shares of second moments that weights keep if a whitened row is 1 and d - 1 standard normals. */
static void set_kept(gaussian_t *g) {
  double p = (double)g->d - 1, reach = 10 + sqrt(p), whole = 0, once = 0, twice = 0;
  for (int i = 0; i < N_NODES; i++) {
    double t = reach * (i + 0.5) / N_NODES, square = 1 + t * t;
    double density = p > 0 ? exp((p - 1) * log(t) - 0.5 * t * t) : i == 0, weight = fmin(1, g->radius * g->radius / square);
    whole += density * square;
    once += density * square * weight;
    twice += density * square * weight * weight;
  }
  g->kept = once / whole;
  g->kept_twice = twice / once;
}

static tacit_status_t learn_whitened(gaussian_t *g, tacit_error_t *err) {
  size_t d = g->d;
  double released[MAX_PACKED], noise_sd;
  g->radius = joint_radius * sqrt((double)d);
  g->scale = g->radius / (joint_reach * g->spread);
  double scale = 1 / g->scale, reach = g->radius;
  const tacit_aware_joint_t at = {d, g->inverse, &g->radius, g->fit, &scale, &reach};
  tacit_status_t status = tacit_aware_release_joint_moments(
      g->curator, g->settings, schedule_multiplier(g->settings->rho, g->last_share), &at, released, &noise_sd, err);
  if (status != TACIT_OK) {
    return status;
  }
  set_kept(g);
  tacit_noise_aware_fault_t fault = g->settings->fault_for_tests;
  noise_sd *= fault == TACIT_NOISE_AWARE_HALF_NOISE ? 0.5 : 1;
  for (size_t i = 0, k = 0; i <= d; i++) {
    for (size_t j = i; j <= d; j++, k++) {
      double root = i == j ? 1 : sqrt(2), value = released[k] / root / g->n, sd = noise_sd / root / g->n;
      if (j < d) {
        g->moments[i * d + j] = g->moments[j * d + i] =
            shrink(value, sd, i == j ? g->kept : 0, i == j ? 0.6 : 0.4, &g->variances[i * d + j]);
        g->variances[i * d + j] *= fault == TACIT_NOISE_AWARE_NO_DISCREPANCY ? 0 : 1;
        g->variances[j * d + i] = g->variances[i * d + j];
      } else if (i < d) {
        g->response[i] = value;
        g->response_var = sd * sd;
      } else {
        g->square = value;
        g->square_var = sd * sd;
      }
    }
  }
  double noise = 0.5 * sqrt(median_off_diagonal(d, g->variances, g->work) * (double)d);
  tacit_raise_eigenvalues(d, g->moments, fmax(0.05, fmin(0.5, noise)), g->work);
  return TACIT_OK;
}

/* ---- the posterior ---- */

/* P(|tau Z| < R), and the second and fourth moments of tau Z clamped to +-R. */
static void clamped_moments(double tau, double reach, double *inside, double *second, double *fourth) {
  double a = reach / tau, density = 0.3989422804014327 * exp(-0.5 * a * a), t2 = tau * tau, r2 = reach * reach;
  *inside = erf(a * 0.70710678118654752);
  *second = t2 * (*inside - 2 * a * density) + r2 * (1 - *inside);
  *fourth = t2 * t2 * (3 * *inside - 2 * density * (a * a * a + 3 * a)) + r2 * r2 * (1 - *inside);
}

/* cov += variance g g' for what entry (i, j) of N contributes to T and S; rows of cov: T, then S. */
static void add_entry(const gaussian_t *g, size_t i, size_t j, const double *gamma, double inside, double second, double *cov) {
  size_t m = g->d + 1, at[3] = {i, j, g->d};
  double part[3] = {inside * gamma[j], i == j ? 0 : inside * gamma[i], inside * gamma[i] * gamma[j] * (i == j ? 1 : 2)};
  part[2] += i == 0 && j == 0 ? second : 0;
  double variance = g->variances[i * g->d + j];
  for (size_t a = 0; a < 3; a++) {
    for (size_t b = 0; b < 3; b++) {
      cov[at[a] * m + at[b]] += variance * part[a] * part[b];
    }
  }
}

/* Log density of T and S at gamma and tau, up to a constant. */
static double log_likelihood(gaussian_t *g, const double *gamma, double tau) {
  size_t d = g->d, m = d + 1;
  double *cov = g->work, *moved = cov + m * m, *rest = moved + m, inside, second, fourth, square = 0, log_density = 0;
  clamped_moments(tau, g->radius, &inside, &second, &fourth);
  for (size_t i = 0; i < d; i++) {
    moved[i] = tacit_dot(d, g->moments + i * d, gamma);
    square += gamma[i] * moved[i];
    rest[i] = g->response[i] - inside * moved[i];
  }
  rest[d] = g->square - inside * square - g->moments[0] * second;
  memset(cov, 0, m * m * sizeof *cov);
  double share = fmin(g->kept_twice, 1) / g->n;
  for (size_t i = 0; i < d; i++) {
    for (size_t j = 0; j < d; j++) {
      cov[i * m + j] = share * second * g->moments[i * d + j] + (i == j ? g->response_var : 0);
    }
    cov[d * m + i] = cov[i * m + d] = 2 * share * second * moved[i];
  }
  cov[d * m + d] = share * ((fourth - second * second) * g->moments[0] + 4 * second * square) + g->square_var;
  for (size_t i = 0; i < d; i++) {
    for (size_t j = i; j < d; j++) {
      add_entry(g, i, j, gamma, inside, second, cov);
    }
  }
  if (!tacit_cholesky(m, cov)) {
    return -INFINITY;
  }
  tacit_solve_lower(m, cov, rest);
  for (size_t i = 0; i < m; i++) {
    log_density -= 0.5 * rest[i] * rest[i] + log(cov[i * m + i]);
  }
  return log_density;
}

/* theta of a point (gamma, log tau). */
static void unmap(const gaussian_t *g, const double *point, double *theta) {
  size_t d = g->d;
  for (size_t i = 0; i < d; i++) {
    theta[i] = point[i] / g->scale;
  }
  tacit_solve_upper(d, g->factor, theta);
  for (size_t i = 0; i < d; i++) {
    theta[i] += g->fit[i];
  }
  if (g->dim > d) {
    theta[d] = point[d] - log(g->scale);
  }
}

static double log_density(gaussian_t *g, const double *point) {
  double theta[MAX], tau = g->dim > g->d ? exp(point[g->d]) : g->scale * g->settings->known_sd;
  if (!(tau > 1e-9 * g->radius && tau < 1e9 * g->radius)) {
    return -INFINITY;
  }
  unmap(g, point, theta);
  double value = g->parameters->log_prior(g->parameters->ctx, theta, NULL) + log_likelihood(g, point, tau);
  return isnan(value) ? -INFINITY : value;
}

/* ---- chains: slices along axes that warm-up adapts, which leaves the posterior as it is once they are fixed ---- */

typedef struct chain {
  gaussian_t *g;
  tacit_rng_t *rng;
  double point[MAX], trial[MAX], value;
  double axes[MAX * MAX];               /* the rows: directions, about a standard deviation long */
  double mean[MAX], square[MAX * MAX], n_states;
} chain_t;

static double along(chain_t *c, const double *axis, double distance) {
  for (size_t i = 0; i < c->g->dim; i++) {
    c->trial[i] = c->point[i] + distance * axis[i];
  }
  return log_density(c->g, c->trial);
}

/* Slice sampling with stepping out [Neal2003]. */
static void slice(chain_t *c, const double *axis) {
  enum { MAX_STEPS = 50 };
  const double width = 3;
  double level = c->value + log(tacit_rng_uniform(c->rng));
  double low = -width * tacit_rng_uniform(c->rng), high = low + width, x = 0, value = c->value;
  for (int i = 0; i < MAX_STEPS && along(c, axis, low) > level; i++) {
    low -= width;
  }
  for (int i = 0; i < MAX_STEPS && along(c, axis, high) > level; i++) {
    high += width;
  }
  for (bool is_found = false; !is_found;) { /* 0 is in the slice: the interval shrinks to it at last */
    x = low + (high - low) * tacit_rng_uniform(c->rng);
    value = along(c, axis, x);
    is_found = value >= level || !(high - low > 1e-12);
    *(x < 0 ? &low : &high) = x;
  }
  if (value >= level) {
    memcpy(c->point, c->trial, c->g->dim * sizeof *c->point);
    c->value = value;
  }
}

static void add_state(chain_t *c) {
  size_t dim = c->g->dim;
  double before[MAX];
  c->n_states++;
  for (size_t i = 0; i < dim; i++) {
    before[i] = c->point[i] - c->mean[i];
    c->mean[i] += before[i] / c->n_states;
  }
  for (size_t i = 0; i < dim * dim; i++) {
    c->square[i] += before[i / dim] * (c->point[i % dim] - c->mean[i % dim]);
  }
}

/* Axes <- columns of the factor of the states' covariance. */
static void adapt(chain_t *c) {
  size_t dim = c->g->dim;
  double cov[MAX * MAX];
  for (size_t i = 0; i < dim * dim; i++) {
    size_t mirrored = i % dim * dim + i / dim;
    cov[i] = 0.5 * (c->square[i] + c->square[mirrored]) / c->n_states * (i == mirrored ? 1.0001 : 1);
  }
  if (c->n_states >= 4 * (double)dim && tacit_cholesky(dim, cov)) {
    for (size_t i = 0; i < dim * dim; i++) {
      c->axes[i] = cov[i % dim * dim + i / dim];
    }
  }
  memset(c->square, 0, sizeof c->square);
  memset(c->mean, 0, sizeof c->mean);
  c->n_states = 0;
}

/* At the first fit or, by a step of regression, near the mode; overdispersed. */
static void start(chain_t *c) {
  gaussian_t *g = c->g;
  size_t d = g->d;
  double tau = fmin(fmax(sqrt(fmax(g->square, 0) / g->moments[0]), 0.05 * g->radius / joint_reach), g->radius), factor[MAX * MAX];
  double noise = sqrt(g->response_var + tau * tau / g->n);
  memset(c->axes, 0, sizeof c->axes);
  memcpy(factor, g->moments, d * d * sizeof *factor);
  memcpy(c->point, g->response, d * sizeof *c->point);
  if (tacit_cholesky(d, factor)) { /* its eigenvalues were raised */
    tacit_solve_lower(d, factor, c->point);
    tacit_solve_upper(d, factor, c->point);
  }
  for (size_t i = 0; i < g->dim; i++) {
    c->axes[i * g->dim + i] = i < d ? noise : 0.1;
  }
  if (g->dim > d) {
    c->point[d] = log(tau);
  }
  for (size_t i = 0; i < g->dim; i++) {
    c->trial[i] = c->point[i] + 2 * c->axes[i * g->dim + i] * tacit_rng_normal(c->rng);
  }
  c->value = log_density(g, c->trial);
  if (isfinite(c->value)) {
    memcpy(c->point, c->trial, g->dim * sizeof *c->point);
  } else {
    c->value = log_density(g, c->point);
  }
}

static void keep(const chain_t *c, size_t index, size_t row, tacit_draws_t *draws) {
  const tacit_parameters_t *parameters = c->g->parameters;
  double theta[MAX];
  unmap(c->g, c->point, theta);
  parameters->report(parameters->ctx, theta, tacit_draws_row(draws, index, row));
  draws->stats[index * (draws->n_warmup + draws->n_draws) + row] =
      (tacit_draw_stats_t){.log_prior = parameters->log_prior(parameters->ctx, theta, NULL), .accept_stat = 1};
}

static tacit_status_t open_chain(chain_t *c, gaussian_t *g, size_t index, tacit_error_t *err) {
  c->g = g;
  tacit_status_t status = tacit_rng_new(&c->rng, g->settings->key, index, err);
  if (status != TACIT_OK) {
    return status;
  }
  start(c);
  return isfinite(c->value)
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_NUMERIC, "prior",
                               "the posterior given the releases has no density: give every coefficient a proper prior");
}

static void iterate(chain_t *c, size_t index, size_t done, tacit_draws_t *draws) {
  size_t n_warmup = draws->n_warmup, thin = c->g->settings->thin;
  for (size_t a = 0; a < c->g->dim; a++) {
    slice(c, c->axes + a * c->g->dim);
  }
  if (done <= n_warmup) {
    add_state(c);
    if (done == n_warmup / 4 || done == n_warmup / 2 || done == n_warmup) {
      adapt(c);
    }
  }
  if (done <= n_warmup || (done - n_warmup) % thin == 0) {
    keep(c, index, tacit_aware_rows(draws, thin, done) - 1, draws);
  }
}

/* All chains side by side, so that what is done when somebody interrupts is the same of each. */
static tacit_status_t run_chains(gaussian_t *g, tacit_draws_t *draws, tacit_error_t *err) {
  size_t thin = g->settings->thin, n_chains = draws->n_chains, n_iterations = draws->n_warmup + draws->n_draws * thin;
  chain_t *chains = tacit_alloc_zero(n_chains, sizeof *chains);
  tacit_status_t status = chains != NULL ? TACIT_OK : tacit_error_memory(err);
  for (size_t c = 0; c < n_chains && status == TACIT_OK; c++) {
    status = open_chain(&chains[c], g, c, err);
  }
  bool goes_on = status == TACIT_OK;
  for (size_t i = 0; i < n_iterations && goes_on; i++) {
    for (size_t c = 0; c < n_chains; c++) {
      iterate(&chains[c], c, i + 1, draws);
    }
    draws->n_saved = tacit_aware_rows(draws, thin, i + 1);
    goes_on = tacit_aware_goes_on(g->settings, i + 1, 1);
  }
  for (size_t c = 0; chains != NULL && c < n_chains; c++) {
    tacit_rng_free(chains[c].rng);
  }
  tacit_free(chains);
  return status;
}

tacit_status_t tacit_aware_gaussian(tacit_curator_t *curator, const tacit_parameters_t *parameters,
                                    const tacit_noise_aware_settings_t *settings, double n, double last_share, tacit_draws_t *draws,
                                    tacit_error_t *err) {
  gaussian_t *g = tacit_alloc_zero(1, sizeof *g);
  if (g == NULL) {
    return tacit_error_memory(err);
  }
  g->curator = curator;
  g->parameters = parameters;
  g->settings = settings;
  g->dim = parameters->dim;
  g->d = parameters->dim - (settings->known_sd > 0 ? 0 : 1);
  g->n = n;
  g->last_share = last_share;
  tacit_status_t (*const steps[])(gaussian_t *, tacit_error_t *) = {learn_in_cube, learn_whitened};
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < 2 && status == TACIT_OK; i++) {
    status = tacit_aware_may_start(settings, err);
    status = status == TACIT_OK ? steps[i](g, err) : status;
  }
  if (status == TACIT_OK) {
    status = run_chains(g, draws, err);
  }
  tacit_free(g);
  return status;
}
