/* Metrics: in which rows are weighted, and how much of a parameter the prior holds. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "noise_aware/noise_aware_internal.h"

enum { N_AROUND = 40 };

/* Variance of a response before anything is known of it. */
static double nominal_variance(const tacit_noise_aware_settings_t *settings) {
  return settings->family == TACIT_FAMILY_BERNOULLI ? 0.15 : 1;
}

double tacit_weigh_row(size_t d, const double *whiten, const double *x, double radius, double *out) {
  double n2 = 0;
  for (size_t i = 0; i < d; i++) {
    out[i] = tacit_dot(i + 1, whiten + i * d, x);
    n2 += out[i] * out[i];
  }
  double weight = n2 > radius * radius ? radius / sqrt(n2) : 1;
  for (size_t i = 0; i < d; i++) {
    out[i] *= weight;
  }
  return sqrt(n2);
}

double tacit_cube_norm(size_t d, const double *whiten) {
  double square = 0;
  for (size_t i = 0; i < d; i++) {
    double most = 0;
    for (size_t j = 0; j <= i; j++) {
      most += fabs(whiten[i * d + j]);
    }
    square += most * most;
  }
  return sqrt(square) * (1 + 1e-9);
}

double tacit_matrix_radius(size_t d, const double *whiten, double n, double multiplier) {
  double least = whitened_radius * sqrt((double)d), most = tacit_cube_norm(d, whiten);
  double quiet = sqrt(whitened_noise * n / (sqrt(2) * multiplier));
  return fmin(fmax(least, quiet), fmax(most, 1e-6));
}

/* eta (n_rows) <- x . theta */
static void predict(const tacit_surrogate_t *s, const double *theta, double *eta) {
  memset(eta, 0, s->n_rows * sizeof *eta);
  for (size_t i = 0; i < s->d; i++) {
    for (size_t k = 0; k < s->n_rows; k++) {
      eta[k] += theta[i] * s->x[i * s->n_rows + k];
    }
  }
}

void tacit_round_spread(const tacit_surrogate_t *s, const tacit_noise_aware_settings_t *settings,
                        const double *theta, double *spread) {
  predict(s, theta, spread);
  for (size_t k = 0; k < s->n_rows; k++) {
    spread[k] = tacit_family_moments(settings->family, settings->upper, spread[k]).mean - settings->upper / 2;
  }
}

/* mean_var <- Var(y | x) averaged over points around theta, as far away as the truth may be. */
static void average_variance(const tacit_surrogate_t *s, const tacit_round_place_t *place, double *eta,
                             double *mean_var) {
  size_t d = s->d;
  double point[TACIT_NOISE_AWARE_MAX_FEATURES], z[TACIT_NOISE_AWARE_MAX_FEATURES];
  memset(mean_var, 0, s->n_rows * sizeof *mean_var);
  for (int a = 0; a < N_AROUND; a++) {
    for (size_t j = 0; j < d; j++) {
      z[j] = tacit_rng_normal(place->rng);
    }
    for (size_t j = 0; j < d; j++) {
      point[j] = place->theta[j] + tacit_dot(j + 1, place->factor + j * d, z);
    }
    predict(s, point, eta);
    for (size_t k = 0; k < s->n_rows; k++) {
      mean_var[k] +=
          tacit_family_moments(place->settings->family, place->settings->upper, eta[k]).variance / N_AROUND;
    }
  }
}

tacit_status_t tacit_round_metric(const tacit_surrogate_t *s, const tacit_round_place_t *place,
                                  double *whiten, double *mean_var, tacit_error_t *err) {
  size_t d = s->d, n = s->n_rows;
  double *memory = tacit_alloc_zero(n + d * d, sizeof *memory), mean = 0;
  if (memory == NULL) {
    return tacit_error_memory(err);
  }
  double *weighted = memory, *metric = memory + n;
  double nominal = nominal_variance(place->settings);
  if (place->factor == NULL) {
    for (size_t k = 0; k < n; k++) {
      mean_var[k] = nominal;
    }
    for (size_t i = 0; i < d * d; i++) {
      metric[i] = nominal * s->second[i];
    }
  } else {
    average_variance(s, place, weighted, mean_var);
    for (size_t k = 0; k < n; k++) {
      mean += mean_var[k] / (double)n;
    }
    for (size_t i = 0; i < d; i++) {
      for (size_t k = 0; k < n; k++) {
        weighted[k] = s->weight[k] * mean_var[k] * s->x[i * n + k];
      }
      for (size_t j = 0; j <= i; j++) {
        metric[i * d + j] = tacit_dot(n, weighted, s->x + j * n) + metric_ridge * mean * s->second[i * d + j];
      }
    }
  }
  double largest = 0, ridge = 0;
  bool ok = false;
  for (size_t i = 0; i < d; i++) {
    largest = fmax(largest, metric[i * d + i]);
  }
  double *factor = tacit_alloc(d * d, sizeof *factor);
  for (int attempt = 0; factor != NULL && attempt < 8 && !ok; attempt++) {
    memcpy(factor, metric, d * d * sizeof *factor);
    for (size_t i = 0; i < d; i++) {
      factor[i * d + i] += ridge;
    }
    ok = tacit_cholesky(d, factor);
    ridge = ridge > 0 ? 100 * ridge : 1e-12 * largest + 1e-30;
  }
  if (ok) {
    tacit_invert_lower(d, factor, whiten);
  }
  tacit_free(memory);
  bool has_memory = factor != NULL;
  tacit_free(factor);
  return ok ? TACIT_OK
         : !has_memory
             ? tacit_error_memory(err)
             : tacit_error_set(err, TACIT_ERR_NUMERIC, "metric", "the metric of a round is not positive");
}

/* The same by central differences for priors that do not tell, with eigenvalues raised to 0. */
static void add_prior_hessian(const tacit_parameters_t *parameters, size_t d, const double *theta,
                              double *precision) {
  enum { most = TACIT_NOISE_AWARE_MAX_FEATURES };
  double hessian[most * most], work[2 * most * most + most], point[most + 1], above[most + 1],
      below[most + 1];
  memcpy(point, theta, d * sizeof *point);
  for (size_t j = 0; j < d; j++) {
    const double h = 1e-4 * (1 + fabs(theta[j]));
    point[j] = theta[j] + h;
    parameters->log_prior(parameters->ctx, point, above);
    point[j] = theta[j] - h;
    parameters->log_prior(parameters->ctx, point, below);
    point[j] = theta[j];
    for (size_t i = 0; i < d; i++) {
      hessian[i * d + j] = (below[i] - above[i]) / (2 * h);
    }
  }
  for (size_t i = 0; i < d; i++) {
    for (size_t j = 0; j < i; j++) {
      hessian[i * d + j] = hessian[j * d + i] = 0.5 * (hessian[i * d + j] + hessian[j * d + i]);
    }
  }
  tacit_raise_eigenvalues(d, hessian, 0, work);
  for (size_t i = 0; i < d * d; i++) {
    precision[i] += hessian[i];
  }
}

void tacit_add_prior_precision(const tacit_parameters_t *parameters, size_t d, const double *theta,
                               double *precision) {
  if (parameters->prior_precision != NULL) {
    parameters->prior_precision(parameters->ctx, theta, precision);
  } else {
    add_prior_hessian(parameters, d, theta, precision);
  }
}
