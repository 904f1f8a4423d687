/*
 * Hamiltonian paths for normal records, in theta = (mean, log sd) and z = (x - mean) / sd: the target is
 *
 *     log p(theta) - sum z_i^2 / 2 + log g(y | sum t(mean + sd z_i)),
 *
 * whose negative Hessian at a point where all records are alike is diag(prior curvature, 1 .. 1) + sum_j w_j
 * g_j g_j' with g_j = (gradient in theta, c_j, .., c_j). On (theta, sum z / sqrt n) that is a small matrix B,
 * on the orthogonal complement the identity: sampling momenta and M^-1 p are O(n) and exact. For known sd
 * this is the image under x = mean + sd z of the arrow plus rank one of the papers, and HMC does not see
 * linear maps.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "augment/augment_internal.h"
#include "augment/path_kernel.h"

static bool is_joint(const tacit_chain_t *chain) { return chain->settings->path == TACIT_PATH_JOINT; }

static double noise_force(const tacit_chain_t *chain, size_t j, double residual) {
  double w = chain->weight[j];
  return chain->is_laplace ? (residual > 0 ? w : residual < 0 ? -w : 0) : 2 * w * residual;
}

static bool is_full(const tacit_chain_t *chain) { return chain->n_values == 2 || chain->path->dim == 2; }

static tacit_path_point_t point_at(const tacit_chain_t *chain, double mean, double sd) {
  return (tacit_path_point_t){mean, sd, chain->release->lower, chain->release->upper, is_full(chain)};
}

/* A kick by the derivative in z at the point of the last evaluation. */
static tacit_path_leap_t leap_from(const tacit_chain_t *chain, double mean, double sd, double kick) {
  const tacit_path_t *path = chain->path;
  return (tacit_path_leap_t){.before = point_at(chain, mean, sd),
                             .force = sd * path->force[0],
                             .force_c = 2 * sd * path->force[1],
                             .kick = kick};
}

/* Potential and gradient of the small coordinates from the sums. */
static void conclude(tacit_chain_t *chain, const tacit_path_sums_t *sums) {
  tacit_path_t *path = chain->path;
  const tacit_latent_model_t *model = chain->model;
  double statistic[2] = {sums->first, sums->second}, sd = exp(path->log_sd);
  double deviation = (path->mean - model->mean_location) / model->mean_scale;
  double log_density = -0.5 * deviation * deviation - 0.5 * sums->square;
  path->force[1] = 0;
  for (size_t j = 0; j < chain->n_values; j++) {
    double residual = chain->values[j] - statistic[j];
    log_density += tacit_noise_log(chain, j, residual);
    path->force[j] = noise_force(chain, j, residual);
  }
  double in_mean = path->force[0] * sums->inside + 2 * path->force[1] * sums->inside_c;
  path->gradient[0] = in_mean - deviation / model->mean_scale;
  if (path->dim == 2) {
    double inverse_variance = exp(-2 * path->log_sd);
    log_density -= 2 * model->variance_shape * path->log_sd + model->variance_scale * inverse_variance;
    path->gradient[1] = sd * (path->force[0] * sums->inside_z + 2 * path->force[1] * sums->inside_cz) -
                        2 * model->variance_shape + 2 * model->variance_scale * inverse_variance;
  }
  path->gradient[path->dim] = (sd * in_mean - sums->z) / sqrt((double)chain->n);
  path->potential = -log_density;
}

void tacit_path_evaluate(tacit_chain_t *chain, double *gradient) {
  const tacit_path_t *path = chain->path;
  double sd = exp(path->log_sd);
  tacit_path_point_t at = point_at(chain, path->mean, sd);
  tacit_path_sums_t sums;
  tacit_path_kernel()->evaluate(chain->n, &at, path->z, path->shift, &sums);
  conclude(chain, &sums);
  tacit_path_leap_t leap = leap_from(chain, path->mean, sd, 0);
  for (size_t i = 0; gradient != NULL && i < chain->n; i++) {
    double z = path->z[i] + path->shift, x = path->mean + sd * z;
    bool is_inside = x >= at.lower && x <= at.upper;
    gradient[i] = (is_inside ? leap.force + leap.force_c * x : 0) - z;
  }
}

/*
 * Joint paths: kick all momenta by leap.kick times the gradient, then drift z by leap.step times the
 * velocity, whose common part is leap.common, and evaluate there. One pass.
 */
static void advance(tacit_chain_t *chain, tacit_path_leap_t leap) {
  tacit_path_t *path = chain->path;
  tacit_path_point_t after = point_at(chain, path->mean, exp(path->log_sd));
  tacit_path_sums_t sums;
  tacit_path_kernel()->advance(chain->n, &leap, &after, path->z, path->momentum, &sums);
  conclude(chain, &sums);
}

void tacit_path_velocity(const tacit_path_t *path, const double *small, double *velocity) {
  size_t dim = path->dim + 1;
  for (size_t i = 0; i < dim; i++) {
    velocity[i] = small[i];
    for (size_t j = 0; j < i; j++) {
      velocity[i] -= path->root[i][j] * velocity[j];
    }
    velocity[i] /= path->root[i][i];
  }
  for (size_t i = dim; i-- > 0;) {
    for (size_t j = i + 1; j < dim; j++) {
      velocity[i] -= path->root[j][i] * velocity[j];
    }
    velocity[i] /= path->root[i][i];
  }
}

static void kick_small(tacit_path_t *path, double weight) {
  for (size_t i = 0; i <= path->dim; i++) {
    path->small[i] += weight * path->gradient[i];
  }
}

/* Kick by `kick`, then drift by `step`, then evaluate. */
static void kick_and_drift(tacit_chain_t *chain, double kick, double step) {
  tacit_path_t *path = chain->path;
  double velocity[TACIT_MAX_SMALL], mean = path->mean, sd = exp(path->log_sd),
                                    root_n = sqrt((double)chain->n);
  kick_small(path, kick);
  tacit_path_velocity(path, path->small, velocity);
  path->mean += step * velocity[0];
  path->log_sd += path->dim == 2 ? step * velocity[1] : 0;
  double along = velocity[path->dim];
  if (is_joint(chain)) {
    double common = (along - path->small[path->dim]) / root_n;
    tacit_path_leap_t leap = leap_from(chain, mean, sd, kick);
    leap.step = step;
    leap.common = common;
    advance(chain, leap);
  } else {
    path->shift += step * along / root_n;
    tacit_path_evaluate(chain, NULL);
  }
}

static void draw_momentum(tacit_chain_t *chain) {
  tacit_path_t *path = chain->path;
  double normal[TACIT_MAX_SMALL], mean = 0;
  tacit_rng_normals(chain->rng, path->dim + 1, normal);
  for (size_t i = 0; i <= path->dim; i++) {
    path->small[i] = 0;
    for (size_t j = 0; j <= i; j++) {
      path->small[i] += path->root[i][j] * normal[j];
    }
  }
  if (is_joint(chain)) {
    tacit_rng_normals(chain->rng, chain->n, path->momentum);
    for (size_t i = 0; i < chain->n; i++) {
      mean += path->momentum[i] / (double)chain->n;
    }
    double along = path->small[path->dim] / sqrt((double)chain->n);
    for (size_t i = 0; i < chain->n; i++) {
      path->momentum[i] += along - mean;
    }
  }
}

static double kinetic(const tacit_chain_t *chain) {
  const tacit_path_t *path = chain->path;
  double velocity[TACIT_MAX_SMALL], twice = 0, along = path->small[path->dim];
  tacit_path_velocity(path, path->small, velocity);
  for (size_t i = 0; i <= path->dim; i++) {
    twice += path->small[i] * velocity[i];
  }
  if (is_joint(chain)) {
    double squares = 0;
    for (size_t i = 0; i < chain->n; i++) {
      squares += path->momentum[i] * path->momentum[i];
    }
    twice += squares - along * along;
  }
  return 0.5 * twice;
}

/* The last half kick of a path; drift by 0 leaves z where it is. */
static void close_path(tacit_chain_t *chain, double half) {
  tacit_path_t *path = chain->path;
  kick_small(path, half);
  if (is_joint(chain)) {
    advance(chain, leap_from(chain, path->mean, exp(path->log_sd), half));
  }
}

/* Dual averaging towards an acceptance of 0.8 [Hoffman2014, section 3.2]. */
static void adapt(tacit_chain_t *chain, double accept) {
  const double gamma = 0.05, kappa = 0.75, target = 0.8;
  enum { T0 = 10 };
  tacit_path_t *path = chain->path;
  double t = (double)++path->n_adapted, eta = 1 / (t + T0);
  path->error_sum = (1 - eta) * path->error_sum + eta * (target - accept);
  double log_step = fmin(path->shrink_towards - sqrt(t) / gamma * path->error_sum, log(1.5));
  double weight = pow(t, -kappa);
  path->log_step_average = weight * log_step + (1 - weight) * path->log_step_average;
  bool is_last = chain->iteration + 1 == chain->settings->n_warmup;
  chain->step_size = exp(is_last ? path->log_step_average : log_step);
}

/* Steps to a length of pi/2 times 0.8 .. 1.2: a quarter of the period, which is 2 pi in these units. */
static size_t draw_length(tacit_chain_t *chain) {
  enum { MAX_STEPS = 1024 };
  if (chain->settings->n_leapfrog > 0) {
    return chain->settings->n_leapfrog;
  }
  double length = 1.57079632679489661923 * (0.8 + 0.4 * tacit_rng_uniform(chain->rng));
  return (size_t)fmin(ceil(length / chain->step_size), MAX_STEPS);
}

static void accept_path(tacit_chain_t *chain) {
  tacit_path_t *path = chain->path;
  chain->mean = path->mean;
  chain->sd = path->dim == 2 ? exp(path->log_sd) : chain->sd;
  for (size_t i = 0; i < chain->n; i++) {
    chain->records[i] = chain->mean + chain->sd * (path->z[i] + path->shift);
  }
  tacit_gaussian_refresh(chain);
}

void tacit_path_step(tacit_chain_t *chain) {
  tacit_path_t *path = chain->path;
  path->mean = chain->mean;
  path->log_sd = log(chain->sd);
  path->shift = 0;
  for (size_t i = 0; i < chain->n; i++) {
    path->z[i] = (chain->records[i] - chain->mean) / chain->sd;
  }
  draw_momentum(chain);
  tacit_path_evaluate(chain, NULL);
  double before = path->potential + kinetic(chain), step = chain->step_size;
  chain->n_leapfrog = draw_length(chain);
  for (size_t l = 0; l < chain->n_leapfrog; l++) {
    kick_and_drift(chain, l == 0 ? 0.5 * step : step, step);
  }
  close_path(chain, 0.5 * step);
  double log_accept =
      before - path->potential - kinetic(chain); /* NaN where the path left the numbers: rejected */
  chain->path_accept = log_accept >= 0 ? 1 : log_accept < 0 ? exp(log_accept) : 0;
  if (tacit_rng_uniform(chain->rng) < chain->path_accept) {
    accept_path(chain);
  }
  if (!(chain->settings->step_size > 0) && chain->iteration < chain->settings->n_warmup) {
    adapt(chain, chain->path_accept);
  }
}

/* ---- mass ---- */

/* Gradient of the j-th statistic in (theta, sum z / sqrt n) with its derivatives at their expectations, or
 * unclamped. */
static void expected_gradient(const tacit_chain_t *chain, size_t j, double *out) {
  double mean = chain->hat_mean, sd = chain->hat_sd, partial[3] = {1, 0, 1}, n = (double)chain->n;
  if (chain->settings->smooth_mass) {
    tacit_normal_partial_moments((chain->release->lower - mean) / sd, (chain->release->upper - mean) / sd, 3,
                                 partial);
  }
  double slope = j == 0 ? partial[0] : 2 * (mean * partial[0] + sd * partial[1]);
  double slope_z = j == 0 ? partial[1] : 2 * (mean * partial[1] + sd * partial[2]);
  out[0] = n * slope;
  out[1] = n * sd * slope_z;
  out[chain->path->dim] = sqrt(n) * sd * slope;
}

static void cholesky(tacit_path_t *path) {
  for (size_t i = 0; i <= path->dim; i++) {
    for (size_t j = 0; j <= i; j++) {
      double s = path->mass[i][j];
      for (size_t k = 0; k < j; k++) {
        s -= path->root[i][k] * path->root[j][k];
      }
      path->root[i][j] = i == j ? sqrt(s) : s / path->root[j][j];
    }
  }
}

static void set_mass(tacit_chain_t *chain) {
  tacit_path_t *path = chain->path;
  const tacit_latent_model_t *model = chain->model;
  path->mass[0][0] = 1 / (model->mean_scale * model->mean_scale);
  path->mass[1][1] = 4 * model->variance_scale / (chain->hat_sd * chain->hat_sd);
  path->mass[path->dim][path->dim] = 1;
  for (size_t j = 0; j < chain->n_values; j++) {
    /* Laplace noise has no curvature: that of the Gaussian with the same variance, 1 / (2 scale^2), stands
     * for it */
    double w = chain->weight[j], curvature = chain->is_laplace ? 0.5 * w * w : 2 * w, g[TACIT_MAX_SMALL];
    expected_gradient(chain, j, g);
    for (size_t a = 0; a <= path->dim; a++) {
      for (size_t b = 0; b <= path->dim; b++) {
        path->mass[a][b] += curvature * g[a] * g[b];
      }
    }
  }
  cholesky(path);
}

tacit_status_t tacit_path_init(tacit_chain_t *chain, tacit_error_t *err) {
  tacit_path_t *path = tacit_alloc_zero(1, sizeof *path);
  chain->path = path;
  if (path == NULL) {
    return tacit_error_memory(err);
  }
  size_t padded = (chain->n + TACIT_PATH_LANES - 1) / TACIT_PATH_LANES * TACIT_PATH_LANES;
  path->dim = chain->model->known_sd > 0 ? 1 : 2;
  path->z = tacit_alloc_zero(padded, sizeof *path->z);
  path->momentum = is_joint(chain) ? tacit_alloc_zero(padded, sizeof *path->momentum) : NULL;
  if (path->z == NULL || (is_joint(chain) && path->momentum == NULL)) {
    return tacit_error_memory(err);
  }
  set_mass(chain);
  chain->step_size = chain->settings->step_size > 0 ? chain->settings->step_size : 0.3;
  path->shrink_towards = log(3 * chain->step_size);
  path->log_step_average = log(chain->step_size);
  return TACIT_OK;
}

void tacit_path_clear(tacit_chain_t *chain) {
  if (chain->path != NULL) {
    tacit_free(chain->path->z);
    tacit_free(chain->path->momentum);
    tacit_free(chain->path);
    chain->path = NULL;
  }
}
