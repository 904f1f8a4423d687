/* Pseudo-rows with given moments: the public stand-in for the features. */
#include <math.h>
#include <string.h>

#include "noise_aware/noise_aware_internal.h"

static const double max_mean = 0.98;
static const double max_latent_correlation = 0.98;

static double normal_cdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752); }

static double normal_density(double x) { return 0.3989422804014327 * exp(-0.5 * x * x); }

/* Inverse of normal_cdf for probabilities in [0.01, 0.99]; Newton's method approaches from the side of 0,
 * where it started. */
static double normal_quantile(double probability) {
  double x = 0;
  for (int i = 0; i < 40; i++) {
    x -= (normal_cdf(x) - probability) / normal_density(x);
  }
  return x;
}

static double clamp(double x, double bound) { return fmax(fmin(x, bound), -bound); }

/*
 * Latent correlations: between a normal and the sign of a latent normal with threshold q, P = Phi(q), the
 * correlation is phi(q) / sqrt(P (1 - P)) times the latent one; between two signs about the product of both
 * factors.
 */
static void latent_correlations(const tacit_shape_t *shape, const double *threshold, double *latent,
                                double *work) {
  size_t p = shape->p;
  double *attenuation = work;
  for (size_t j = 0; j < p; j++) {
    double share = normal_cdf(threshold[j]);
    attenuation[j] = shape->is_two_valued[j] ? normal_density(threshold[j]) / sqrt(share * (1 - share)) : 1;
  }
  for (size_t i = 0; i < p; i++) {
    for (size_t j = 0; j < p; j++) {
      double correlation = shape->cov[i * p + j] / sqrt(shape->cov[i * p + i] * shape->cov[j * p + j]);
      double value = correlation / (attenuation[i] * attenuation[j]);
      latent[i * p + j] = i == j ? 1 : clamp(value, max_latent_correlation);
    }
  }
  tacit_raise_eigenvalues(p, latent, 1e-3, work + p);
  for (size_t i = 0; i < p; i++) {
    attenuation[i] = 1 / sqrt(latent[i * p + i]);
  }
  for (size_t i = 0; i < p * p; i++) {
    latent[i] *= attenuation[i / p] * attenuation[i % p];
  }
}

void tacit_population(const tacit_shape_t *shape, size_t n, const double *normals, double *rows,
                      double *work) {
  size_t p = shape->p;
  double *latent = work, *threshold = work + p * p;
  for (size_t j = 0; j < p; j++) {
    threshold[j] = shape->is_two_valued[j] ? normal_quantile(0.5 + 0.5 * clamp(shape->mean[j], max_mean)) : 0;
  }
  latent_correlations(shape, threshold, latent, threshold + p);
  /* the factor exists: eigenvalues were raised, and a scaling keeps a matrix positive */
  bool has_factor = tacit_cholesky(p, latent);
  for (size_t k = 0; k < n; k++) {
    double *row = rows + k * (p + 1);
    row[0] = 1;
    for (size_t j = 0; j < p; j++) {
      double g = has_factor ? tacit_dot(j + 1, latent + j * p, normals + k * p) : normals[k * p + j];
      row[j + 1] = shape->is_two_valued[j] ? (g + threshold[j] > 0 ? 1 : -1)
                                           : clamp(shape->mean[j] + sqrt(shape->cov[j * p + j]) * g, 1);
    }
  }
}

void tacit_second_moments(const tacit_shape_t *shape, double *second) {
  size_t p = shape->p, d = p + 1;
  second[0] = 1;
  for (size_t i = 0; i < p; i++) {
    second[i + 1] = second[(i + 1) * d] = shape->mean[i];
    for (size_t j = 0; j < p; j++) {
      second[(i + 1) * d + j + 1] = shape->cov[i * p + j] + shape->mean[i] * shape->mean[j];
    }
  }
}

void tacit_shape_from(tacit_shape_t *shape, const double *second) {
  size_t p = shape->p, d = p + 1;
  for (size_t i = 0; i < p * p; i++) { /* of means as they are: clamped ones could leave no covariance */
    double mean_i = second[i / p + 1] / second[0], mean_j = second[i % p + 1] / second[0];
    shape->cov[i] = second[(i / p + 1) * d + i % p + 1] / second[0] - mean_i * mean_j;
  }
  for (size_t i = 0; i < p; i++) {
    shape->mean[i] = clamp(second[i + 1] / second[0], max_mean);
  }
}
