/*
 * Inference without latent records. Cells of a table: their counts are all that matters, and are drawn
 * exactly, pair by pair. Sums: exactly, by inversion.c, where that applies; else by the central limit theorem
 * the statistic of n records is N(n m(theta), n V(theta)) with the moments of clamped records, and the noise
 * is folded in exactly.
 */
#include "augment/augment_internal.h"

/* ---- the sum of records as a normal ---- */

/* Mean and covariance of t(x) of one record. */
static void poisson_moments(const tacit_chain_t *chain, double rate, double mean[2], double cov[3]) {
  double lower = chain->release->lower, upper = chain->release->upper, width = 12 * sqrt(rate) + 30;
  double first = fmax(floor(rate - width), 0), last = ceil(rate + width), mass = 0, linear = 0, square = 0;
  double p = exp(first * log(rate) - rate - tacit_log_factorial(first)),
         centre = fmin(fmax(rate, lower), upper);
  for (double k = first; k <= last; k += 1) {
    double d = fmin(fmax(k, lower), upper) - centre;
    mass += p;
    linear += p * d;
    square += p * d * d;
    p *= rate / (k + 1);
  }
  linear /= mass;
  mean[0] = centre + linear;
  cov[0] = square / mass - linear * linear;
}

static void record_moments(const tacit_chain_t *chain, double mean_or_rate, double sd, double mean[2],
                           double cov[3]) {
  double moments[4] = {0};
  if (chain->model->kind == TACIT_LATENT_POISSON) {
    poisson_moments(chain, mean_or_rate, mean, cov);
    return;
  }
  /* about the middle of the range, so that variances of clamped values do not cancel */
  double lower = chain->release->lower, upper = chain->release->upper, middle = 0.5 * (lower + upper);
  tacit_clamped_normal_moments(mean_or_rate - middle, sd, lower - middle, upper - middle,
                               chain->n_values == 2 ? 4 : 2, moments);
  double a = moments[0], v = fmax(moments[1] - a * a, 0), c = moments[2] - a * moments[1];
  mean[0] = middle + a;
  cov[0] = v;
  mean[1] = middle * middle + 2 * middle * a + moments[1]; /* of (middle + d)^2 */
  cov[1] = 2 * middle * v + c;
  cov[2] = fmax(4 * middle * middle * v + 4 * middle * c + moments[3] - moments[1] * moments[1], 0);
}

/* Log density at e of N(0, variance) plus Laplace noise of rate w. */
static double log_normal_laplace(double e, double variance, double w) {
  double sd = sqrt(variance), a = fabs(e);
  double up = 0.5 * w * w * variance - w * a + tacit_log_normal_cdf((a - w * variance) / sd);
  double down = 0.5 * w * w * variance + w * a + tacit_log_normal_cdf((-a - w * variance) / sd);
  double high = fmax(up, down), low = fmin(up, down);
  return high + log1p(exp(low - high));
}

static double log_lik(const tacit_chain_t *chain, double mean_or_rate, double sd) {
  return chain->inversion != NULL ? tacit_inversion_log_lik(chain, mean_or_rate, sd)
                                  : tacit_marginal_log_lik(chain, mean_or_rate, sd);
}

double tacit_marginal_log_lik(const tacit_chain_t *chain, double mean_or_rate, double sd) {
  double mean[2] = {0}, cov[3] = {0}, n = (double)chain->n;
  record_moments(chain, mean_or_rate, sd, mean, cov);
  double e = chain->values[0] - n * mean[0], v = n * cov[0];
  if (chain->is_laplace) {
    double tiny = 1e-12 / (chain->weight[0] * chain->weight[0]); /* records all at a bound: noise alone */
    return log_normal_laplace(e, fmax(v, tiny), chain->weight[0]);
  }
  v += tacit_noise_variance(chain, 0);
  if (chain->n_values == 1) {
    return -0.5 * (e * e / v + log(v));
  }
  double f = chain->values[1] - n * mean[1], c = n * cov[1], w = n * cov[2] + tacit_noise_variance(chain, 1);
  double slope = c / v, rest = w - slope * c, g = f - slope * e;
  return -0.5 * (e * e / v + log(v) + g * g / rest + log(rest));
}

typedef struct target {
  const tacit_chain_t *chain;
  bool moves_sd;
} target_t;

static double target_density(void *user, double at) {
  const target_t *target = user;
  const tacit_chain_t *chain = target->chain;
  const tacit_latent_model_t *model = chain->model;
  if (model->kind == TACIT_LATENT_POISSON) { /* in log rate */
    double rate = exp(at);
    return rate < 1e9 ? model->rate_shape * at - model->rate_rate * rate + log_lik(chain, rate, 0)
                      : -INFINITY;
  }
  double mean = target->moves_sd ? chain->mean : at, sd = target->moves_sd ? exp(at) : chain->sd;
  double z = (mean - model->mean_location) / model->mean_scale, log_prior = -0.5 * z * z;
  if (target->moves_sd) {
    log_prior += -2 * model->variance_shape * at - model->variance_scale * exp(-2 * at);
  }
  return log_prior + log_lik(chain, mean, sd);
}

static double slice(tacit_chain_t *chain, target_t *target, double at, double width) {
  double log_at = target_density(target, at);
  return tacit_slice(target_density, target, at, &log_at, width, chain->rng);
}

/* ---- cell counts ---- */

typedef struct pair {
  const tacit_chain_t *chain;
  size_t a, b;
  double both, log_odds;
} pair_t;

/* Distribution of the count of cell a given that of a and b together, as a step function on [0, both + 1). */
static double pair_density(void *user, double at) {
  const pair_t *pair = user;
  double k = floor(at), rest = pair->both - k;
  if (k < 0 || rest < 0) {
    return -INFINITY;
  }
  return k * pair->log_odds - tacit_log_factorial(k) - tacit_log_factorial(rest) +
         tacit_noise_log(pair->chain, pair->a, pair->chain->values[pair->a] - k) +
         tacit_noise_log(pair->chain, pair->b, pair->chain->values[pair->b] - rest);
}

static void move_pair(tacit_chain_t *chain, size_t a, size_t b) {
  const double *p = chain->cell_probabilities;
  pair_t pair = {.chain = chain, .a = a, .b = b, .both = chain->counts[a] + chain->counts[b]};
  if (!(pair.both > 0) || !(p[a] > 0) || !(p[b] > 0)) {
    return;
  }
  double share = p[a] / (p[a] + p[b]), sd = sqrt(pair.both * share * (1 - share));
  pair.log_odds = log(p[a] / p[b]);
  double at = chain->counts[a] + tacit_rng_uniform(chain->rng), log_at = pair_density(&pair, at);
  const double *scales = chain->release->scales; /* about the width of the narrowest factor */
  double width = 2 + 3 / (1 / (sd + 1) + 1 / scales[a] + 1 / scales[b]);
  double count = floor(tacit_slice(pair_density, &pair, at, &log_at, width, chain->rng));
  chain->counts[a] = count;
  chain->counts[b] = pair.both - count;
}

/* Every cell with another one, drawn at random. */
static void counts_step(tacit_chain_t *chain) {
  for (size_t a = 0; a < chain->n_cells; a++) {
    size_t b = (size_t)tacit_rng_below(chain->rng, chain->n_cells - 1);
    move_pair(chain, a, b + (b >= a));
  }
  tacit_discrete_refresh(chain);
  tacit_discrete_theta(chain);
}

void tacit_marginal_start(tacit_chain_t *chain) {
  if (tacit_latent_is_row(chain->model)) {
    tacit_regression_start(chain);
  } else if (chain->model->kind == TACIT_LATENT_GAUSSIAN) {
    tacit_gaussian_start(chain);
  } else {
    tacit_discrete_start(chain);
  }
}

void tacit_marginal_step(tacit_chain_t *chain) {
  const int n_rounds = chain->inversion != NULL ? 1 : 3; /* normal distributions cost next to nothing */
  target_t mean = {.chain = chain}, sd = {.chain = chain, .moves_sd = true};
  if (chain->model->kind == TACIT_LATENT_CATEGORICAL) {
    counts_step(chain);
    return;
  }
  if (tacit_latent_is_row(chain->model)) {
    tacit_regression_step(chain);
    return;
  }
  for (int i = 0; i < n_rounds; i++) {
    if (chain->model->kind == TACIT_LATENT_POISSON) {
      chain->rate = exp(slice(chain, &mean, log(chain->rate), tacit_slice_width(chain, 0)));
      continue;
    }
    chain->mean = slice(chain, &mean, chain->mean, tacit_slice_width(chain, 0));
    if (!(chain->model->known_sd > 0)) {
      chain->sd = exp(slice(chain, &sd, log(chain->sd), tacit_slice_width(chain, 1)));
    }
  }
}
