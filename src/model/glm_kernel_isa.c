/*
 * The kernels of glm_kernel.h for one instruction set; compiled once for each
 * (meson.build), TACIT_ISA naming the table.
 */
#include "base/vector.h"
#include "model/glm_kernel_internal.h"

/* Four partial sums hide the latency of the additions; their order is fixed, so results repeat. */
TACIT_INLINE vfloat linear_predictor_float(const float *block, const float *theta, size_t p) {
  vfloat sum[4] = {0};
  size_t j = 0;
  for (; j + 4 <= p; j += 4) {
    for (size_t u = 0; u < 4; u++) {
      sum[u] += vfloat_load(block + (j + u) * 16) * theta[j + u];
    }
  }
  for (; j < p; j++) {
    sum[0] += vfloat_load(block + j * 16) * theta[j];
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

TACIT_INLINE vdouble linear_predictor_double(const float *block, const double *theta, size_t p) {
  vdouble sum[2] = {0};
  size_t j = 0;
  for (; j + 2 <= p; j += 2) {
    for (size_t u = 0; u < 2; u++) {
      sum[u] += vdouble_load_floats(block + (j + u) * 16) * theta[j + u];
    }
  }
  if (j < p) {
    sum[0] += vdouble_load_floats(block + j * 16) * theta[j];
  }
  return sum[0] + sum[1];
}

/* y eta - log(1 + e^eta), without cancellation for large |eta| */
TACIT_INLINE vdouble bernoulli_log_lik(vdouble eta, vdouble y) {
  vdouble softplus = vdouble_max(eta, vdouble_set(0)) + vdouble_log1p_unit(vdouble_exp(-vdouble_abs(eta)));
  return y * eta - softplus;
}

/*
 * eta_y - log(1 + sum_c e^eta_c), in one pass over the classes: `top` is the running maximum and
 * `sum` the sum scaled by e^-top.
 */
TACIT_INLINE vdouble categorical_log_lik(const tacit_glm_kernel_t *glm, const float *block,
                                      const double *theta, vdouble y) {
  vdouble top = {0}, sum = vdouble_set(1), chosen = {0};
  for (size_t c = 0; c < glm->n_linear; c++) {
    vdouble eta = linear_predictor_double(block, theta + c * glm->n_features, glm->n_features);
    vdouble higher = vdouble_max(eta, top);
    sum = sum * vdouble_exp(top - higher) + vdouble_exp(eta - higher);
    top = higher;
    chosen = vdouble_select(y == (double)(c + 1), eta, chosen);
  }
  double total[DOUBLE_LANES];
  vdouble_store(total, sum);
  for (size_t lane = 0; lane < DOUBLE_LANES; lane++) {
    total[lane] = __builtin_log(total[lane]);
  }
  return chosen - top - vdouble_load(total);
}

/* DOUBLE_LANES records, `block` and `out` pointing at the first. */
static void log_lik(const tacit_glm_kernel_t *glm, const float *block, const double *theta, double *out) {
  size_t p = glm->n_features;
  vdouble y = vdouble_load_floats(block + p * 16);
  switch (glm->family) {
    case TACIT_FAMILY_BERNOULLI:
      vdouble_store(out, bernoulli_log_lik(linear_predictor_double(block, theta, p), y));
      break;
    case TACIT_FAMILY_POISSON: {
      vdouble eta = linear_predictor_double(block, theta, p);
      vdouble_store(out, y * eta - vdouble_exp(eta));
      break;
    }
    case TACIT_FAMILY_GAUSSIAN: {
      double log_sd = glm->n_extra == 1 ? theta[p] : __builtin_log(glm->known_sd);
      vdouble z = (y - linear_predictor_double(block, theta, p)) * __builtin_exp(-log_sd);
      vdouble_store(out, z * z * -0.5 - log_sd);
      break;
    }
    case TACIT_FAMILY_CATEGORICAL:
      vdouble_store(out, categorical_log_lik(glm, block, theta, y));
      break;
  }
}

static void residual_categorical(const tacit_glm_kernel_t *glm, const float *block, const float *theta,
                                 vfloat y, float *out) {
  vfloat top = {0};
  for (size_t c = 0; c < glm->n_linear; c++) {
    vfloat eta = linear_predictor_float(block, theta + c * glm->n_features, glm->n_features);
    vfloat_store(out + c * 16, eta);
    top = vfloat_max(eta, top);
  }
  vfloat sum = vfloat_exp(-top);
  for (size_t c = 0; c < glm->n_linear; c++) {
    vfloat weight = vfloat_exp(vfloat_load(out + c * 16) - top);
    vfloat_store(out + c * 16, weight);
    sum += weight;
  }
  vfloat inverse = 1.0f / sum;
  for (size_t c = 0; c < glm->n_linear; c++) {
    vfloat chosen = vfloat_select(y == (float)(c + 1), vfloat_set(1), vfloat_set(0));
    vfloat_store(out + c * 16, chosen - vfloat_load(out + c * 16) * inverse);
  }
}

/* FLOAT_LANES records, `block` and `out` pointing at the first. */
static void residual(const tacit_glm_kernel_t *glm, const float *block, const float *theta, float *out) {
  size_t p = glm->n_features;
  vfloat y = vfloat_load(block + p * 16);
  switch (glm->family) {
    case TACIT_FAMILY_BERNOULLI: {
      vfloat eta = linear_predictor_float(block, theta, p);
      vfloat_store(out, y - 1.0f / (vfloat_exp(-eta) + 1.0f));
      break;
    }
    case TACIT_FAMILY_POISSON:
      vfloat_store(out, y - vfloat_exp(linear_predictor_float(block, theta, p)));
      break;
    case TACIT_FAMILY_GAUSSIAN: {
      float inverse_sd = glm->n_extra == 1 ? __builtin_expf(-theta[p]) : (float)(1 / glm->known_sd);
      vfloat z = (y - linear_predictor_float(block, theta, p)) * inverse_sd;
      vfloat_store(out, z * inverse_sd);
      if (glm->n_extra == 1) {
        vfloat_store(out + 16, z * z - 1.0f);
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
    for (size_t lane = 0; lane < 16; lane += DOUBLE_LANES) {
      log_lik(glm, block + lane, theta + k * dim, out + k * 16 + lane);
    }
  }
}

static void residual_all(const void *ctx, const float *block, size_t n_theta, const float *theta,
                         float *out) {
  const tacit_glm_kernel_t *glm = ctx;
  size_t dim = glm->n_linear * glm->n_features + glm->n_extra;
  size_t n_out = glm->n_linear + glm->n_extra;
  for (size_t k = 0; k < n_theta; k++) {
    for (size_t lane = 0; lane < 16; lane += FLOAT_LANES) {
      residual(glm, block + lane, theta + k * dim, out + k * n_out * 16 + lane);
    }
  }
}

#define TABLE_NAME_(isa) tacit_glm_functions_##isa
#define TABLE_NAME(isa) TABLE_NAME_(isa)
const tacit_glm_functions_t TABLE_NAME(TACIT_ISA) = {log_lik_all, residual_all};
