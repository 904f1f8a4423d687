/*
 * The kernels of glm_kernel.h for one instruction set; compiled once for each
 * (meson.build), TACIT_ISA naming the table.
 */
#include "base/vector.h"
#include "model/glm_kernel_internal.h"

/* Four partial sums hide the latency of the additions; their order is fixed, so results repeat. */
TACIT_INLINE v16f linear_predictor_float(const float *block, const float *theta, size_t p) {
  v16f sum[4] = {0};
  size_t j = 0;
  for (; j + 4 <= p; j += 4) {
    for (size_t u = 0; u < 4; u++) {
      sum[u] += v16f_load(block + (j + u) * 16) * theta[j + u];
    }
  }
  for (; j < p; j++) {
    sum[0] += v16f_load(block + j * 16) * theta[j];
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

TACIT_INLINE v16d linear_predictor_double(const float *block, const double *theta, size_t p) {
  v16d sum[2] = {0};
  size_t j = 0;
  for (; j + 2 <= p; j += 2) {
    for (size_t u = 0; u < 2; u++) {
      sum[u] += __builtin_convertvector(v16f_load(block + (j + u) * 16), v16d) * theta[j + u];
    }
  }
  if (j < p) {
    sum[0] += __builtin_convertvector(v16f_load(block + j * 16), v16d) * theta[j];
  }
  return sum[0] + sum[1];
}

/* y eta - log(1 + e^eta), without cancellation for large |eta| */
TACIT_INLINE v16d bernoulli_log_lik(v16d eta, v16d y) {
  v16d softplus = v16d_max(eta, v16d_set(0)) + v16d_log1p_unit(v16d_exp(-v16d_abs(eta)));
  return y * eta - softplus;
}

/*
 * eta_y - log(1 + sum_c e^eta_c), in one pass over the classes: `top` is the running maximum and
 * `sum` the sum scaled by e^-top.
 */
TACIT_INLINE v16d categorical_log_lik(const tacit_glm_kernel_t *glm, const float *block,
                                      const double *theta, v16d y) {
  v16d top = {0}, sum = v16d_set(1), chosen = {0};
  for (size_t c = 0; c < glm->n_linear; c++) {
    v16d eta = linear_predictor_double(block, theta + c * glm->n_features, glm->n_features);
    v16d higher = v16d_max(eta, top);
    sum = sum * v16d_exp(top - higher) + v16d_exp(eta - higher);
    top = higher;
    chosen = v16d_select(y == (double)(c + 1), eta, chosen);
  }
  double total[16];
  v16d_store(total, sum);
  for (size_t lane = 0; lane < 16; lane++) {
    total[lane] = __builtin_log(total[lane]);
  }
  return chosen - top - v16d_load(total);
}

static void log_lik(const tacit_glm_kernel_t *glm, const float *block, const double *theta, double *out) {
  size_t p = glm->n_features;
  v16d y = __builtin_convertvector(v16f_load(block + p * 16), v16d);
  switch (glm->family) {
    case TACIT_FAMILY_BERNOULLI:
      v16d_store(out, bernoulli_log_lik(linear_predictor_double(block, theta, p), y));
      break;
    case TACIT_FAMILY_POISSON: {
      v16d eta = linear_predictor_double(block, theta, p);
      v16d_store(out, y * eta - v16d_exp(eta));
      break;
    }
    case TACIT_FAMILY_GAUSSIAN: {
      double log_sd = glm->n_extra == 1 ? theta[p] : __builtin_log(glm->known_sd);
      v16d z = (y - linear_predictor_double(block, theta, p)) * __builtin_exp(-log_sd);
      v16d_store(out, z * z * -0.5 - log_sd);
      break;
    }
    case TACIT_FAMILY_CATEGORICAL:
      v16d_store(out, categorical_log_lik(glm, block, theta, y));
      break;
  }
}

static void residual_categorical(const tacit_glm_kernel_t *glm, const float *block, const float *theta,
                                 v16f y, float *out) {
  v16f top = {0};
  for (size_t c = 0; c < glm->n_linear; c++) {
    v16f eta = linear_predictor_float(block, theta + c * glm->n_features, glm->n_features);
    v16f_store(out + c * 16, eta);
    top = v16f_max(eta, top);
  }
  v16f sum = v16f_exp(-top);
  for (size_t c = 0; c < glm->n_linear; c++) {
    v16f weight = v16f_exp(v16f_load(out + c * 16) - top);
    v16f_store(out + c * 16, weight);
    sum += weight;
  }
  v16f inverse = 1.0f / sum;
  for (size_t c = 0; c < glm->n_linear; c++) {
    v16f chosen = v16f_select(y == (float)(c + 1), v16f_set(1), v16f_set(0));
    v16f_store(out + c * 16, chosen - v16f_load(out + c * 16) * inverse);
  }
}

static void residual(const tacit_glm_kernel_t *glm, const float *block, const float *theta, float *out) {
  size_t p = glm->n_features;
  v16f y = v16f_load(block + p * 16);
  switch (glm->family) {
    case TACIT_FAMILY_BERNOULLI: {
      v16f eta = linear_predictor_float(block, theta, p);
      v16f_store(out, y - 1.0f / (v16f_exp(-eta) + 1.0f));
      break;
    }
    case TACIT_FAMILY_POISSON:
      v16f_store(out, y - v16f_exp(linear_predictor_float(block, theta, p)));
      break;
    case TACIT_FAMILY_GAUSSIAN: {
      float inverse_sd = glm->n_extra == 1 ? __builtin_expf(-theta[p]) : (float)(1 / glm->known_sd);
      v16f z = (y - linear_predictor_float(block, theta, p)) * inverse_sd;
      v16f_store(out, z * inverse_sd);
      if (glm->n_extra == 1) {
        v16f_store(out + 16, z * z - 1.0f);
      }
      break;
    }
    case TACIT_FAMILY_CATEGORICAL:
      residual_categorical(glm, block, theta, y, out);
      break;
  }
}

static void log_lik_all(const void *ctx, const float *block, size_t n_theta, const double *theta,
                        double *out) {
  const tacit_glm_kernel_t *glm = ctx;
  size_t dim = glm->n_linear * glm->n_features + glm->n_extra;
  for (size_t k = 0; k < n_theta; k++) {
    log_lik(glm, block, theta + k * dim, out + k * 16);
  }
}

static void residual_all(const void *ctx, const float *block, size_t n_theta, const float *theta,
                         float *out) {
  const tacit_glm_kernel_t *glm = ctx;
  size_t dim = glm->n_linear * glm->n_features + glm->n_extra;
  size_t n_out = glm->n_linear + glm->n_extra;
  for (size_t k = 0; k < n_theta; k++) {
    residual(glm, block, theta + k * dim, out + k * n_out * 16);
  }
}

#define TABLE_NAME_(isa) tacit_glm_functions_##isa
#define TABLE_NAME(isa) TABLE_NAME_(isa)
const tacit_glm_functions_t TABLE_NAME(TACIT_ISA) = {log_lik_all, residual_all};
