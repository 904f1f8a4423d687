/*
 * The kernels of glm_kernel.h for one instruction set; compiled once for each
 * (meson.build), TACIT_ISA naming the table.
 */
#include "base/vector.h"
#include "formula/glm_kernel_internal.h"
#include "formula/pieces.h"

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

/* The same of two parameter vectors so far apart, which share the features. */
TACIT_INLINE void linear_predictors_float(const float *block, const float *theta, size_t apart, size_t p,
                                          vfloat eta[2]) {
  vfloat sum[2][4] = {0};
  size_t j = 0;
  for (; j + 4 <= p; j += 4) {
    for (size_t u = 0; u < 4; u++) {
      vfloat x = vfloat_load(block + (j + u) * 16);
      sum[0][u] += x * theta[j + u];
      sum[1][u] += x * theta[apart + j + u];
    }
  }
  for (; j < p; j++) {
    vfloat x = vfloat_load(block + j * 16);
    sum[0][0] += x * theta[j];
    sum[1][0] += x * theta[apart + j];
  }
  for (size_t k = 0; k < 2; k++) {
    eta[k] = (sum[k][0] + sum[k][1]) + (sum[k][2] + sum[k][3]);
  }
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
TACIT_INLINE void bernoulli_log_lik(const vdouble eta[GROUP], const vdouble y[GROUP], vdouble out[GROUP]) {
  vdouble tail[GROUP];
  TACIT_EACH(i) { tail[i] = vdouble_abs(eta[i]); }
  vdoubles_log1p_exp_negative(tail);
  TACIT_EACH(i) { out[i] = y[i] * eta[i] - (vdouble_max(eta[i], vdouble_set(0)) + tail[i]); }
}

/*
 * eta_y - log(1 + sum_c e^eta_c), in one pass over the classes: `top` is the running maximum and
 * `sum` the sum scaled by e^-top.
 */
TACIT_INLINE void categorical_log_lik(const tacit_glm_kernel_t *glm, const float *const block[GROUP],
                                      const double *const theta[GROUP], const vdouble y[GROUP],
                                      vdouble out[GROUP]) {
  vdouble top[GROUP], sum[GROUP], chosen[GROUP], down[GROUP], up[GROUP];
  TACIT_EACH(i) {
    top[i] = chosen[i] = vdouble_set(0);
    sum[i] = vdouble_set(1);
  }
  for (size_t c = 0; c < glm->n_linear; c++) {
    TACIT_EACH(i) {
      vdouble eta = linear_predictor_double(block[i], theta[i] + c * glm->n_features, glm->n_features);
      vdouble higher = vdouble_max(eta, top[i]);
      down[i] = top[i] - higher;
      up[i] = eta - higher;
      top[i] = higher;
      chosen[i] = vdouble_select(y[i] == (double)(c + 1), eta, chosen[i]);
    }
    vdoubles_exp(down);
    vdoubles_exp(up);
    TACIT_EACH(i) { sum[i] = sum[i] * down[i] + up[i]; }
  }
  vdoubles_log(sum);
  TACIT_EACH(i) { out[i] = chosen[i] - top[i] - sum[i]; }
}

TACIT_INLINE void gaussian_log_lik(const tacit_glm_kernel_t *glm, const double *const theta[GROUP],
                                   const vdouble eta[GROUP], const vdouble y[GROUP], vdouble out[GROUP]) {
  vdouble log_sd[GROUP], inverse_sd[GROUP];
  TACIT_EACH(i) {
    log_sd[i] = vdouble_set(glm->n_extra == 1 ? theta[i][glm->n_features] : 0);
    inverse_sd[i] = glm->n_extra == 1 ? -log_sd[i] : vdouble_set(1 / glm->known_sd);
  }
  if (glm->n_extra == 1) {
    vdoubles_exp(inverse_sd);
  }
  TACIT_EACH(i) {
    vdouble z = (y[i] - eta[i]) * inverse_sd[i];
    out[i] = z * z * -0.5 - log_sd[i];
  }
}

/* GROUP pieces, each DOUBLE_LANES records at the place that block[i] points at and a parameter vector of its
 * own. */
TACIT_INLINE void log_lik(const tacit_glm_kernel_t *glm, const float *const block[GROUP],
                          const double *const theta[GROUP], vdouble out[GROUP]) {
  size_t p = glm->n_features;
  vdouble y[GROUP], eta[GROUP];
  TACIT_EACH(i) { y[i] = vdouble_load_floats(block[i] + p * 16); }
  if (glm->family == TACIT_FAMILY_CATEGORICAL) {
    categorical_log_lik(glm, block, theta, y, out);
    return;
  }
  TACIT_EACH(i) { eta[i] = linear_predictor_double(block[i], theta[i], p); }
  if (glm->family == TACIT_FAMILY_BERNOULLI) {
    bernoulli_log_lik(eta, y, out);
  } else if (glm->family == TACIT_FAMILY_POISSON) {
    TACIT_EACH(i) { out[i] = eta[i]; }
    vdoubles_exp(out);
    TACIT_EACH(i) { out[i] = y[i] * eta[i] - out[i]; }
  } else {
    gaussian_log_lik(glm, theta, eta, y, out);
  }
}

static void residual_categorical(const tacit_glm_kernel_t *glm, const float *block, const float *theta,
                                 vfloat y, float *out) {
  vfloat top = {0};
  size_t c = 0;
  for (; c + 1 < glm->n_linear; c += 2) {
    vfloat eta[2];
    linear_predictors_float(block, theta + c * glm->n_features, glm->n_features, glm->n_features, eta);
    vfloat_store(out + c * 16, eta[0]);
    vfloat_store(out + (c + 1) * 16, eta[1]);
    top = vfloat_max(eta[1], vfloat_max(eta[0], top));
  }
  if (c < glm->n_linear) {
    vfloat eta = linear_predictor_float(block, theta + c * glm->n_features, glm->n_features);
    vfloat_store(out + c * 16, eta);
    top = vfloat_max(eta, top);
  }
  vfloat sum = vfloat_exp_negative(-top);
  for (c = 0; c < glm->n_linear; c++) {
    vfloat weight = vfloat_exp_negative(vfloat_load(out + c * 16) - top);
    vfloat_store(out + c * 16, weight);
    sum += weight;
  }
  vfloat inverse = 1.0f / sum;
  for (c = 0; c < glm->n_linear; c++) {
    vfloat chosen = vfloat_select(y == (float)(c + 1), vfloat_set(1), vfloat_set(0));
    vfloat_store(out + c * 16, chosen - vfloat_load(out + c * 16) * inverse);
  }
}

/* What a linear predictor leaves of the response, by the family's link. */
TACIT_INLINE void residual_of(const tacit_glm_kernel_t *glm, const float *theta, vfloat eta, vfloat y,
                              float *out) {
  if (glm->family == TACIT_FAMILY_BERNOULLI) {
    vfloat_store(out, y - 1.0f / (vfloat_exp(-eta) + 1.0f));
  } else if (glm->family == TACIT_FAMILY_POISSON) {
    vfloat_store(out, y - vfloat_exp(eta));
  } else {
    bool has_sd = glm->n_extra == 1;
    vfloat inverse_sd =
        has_sd ? vfloat_exp(vfloat_set(-theta[glm->n_features])) : vfloat_set((float)(1 / glm->known_sd));
    vfloat z = (y - eta) * inverse_sd;
    vfloat_store(out, z * inverse_sd);
    if (has_sd) {
      vfloat_store(out + 16, z * z - 1.0f);
    }
  }
}

/* FLOAT_LANES records, `block` and `out` pointing at the first. */
static void residual(const tacit_glm_kernel_t *glm, const float *block, const float *theta, float *out) {
  size_t p = glm->n_features;
  vfloat y = vfloat_load(block + p * 16);
  if (glm->family == TACIT_FAMILY_CATEGORICAL) {
    residual_categorical(glm, block, theta, y, out);
  } else {
    residual_of(glm, theta, linear_predictor_float(block, theta, p), y, out);
  }
}

/* Of two parameter vectors, and families with one predictor. */
static void residuals(const tacit_glm_kernel_t *glm, const float *block, const float *theta, float *out) {
  size_t p = glm->n_features, dim = p + glm->n_extra;
  vfloat y = vfloat_load(block + p * 16), eta[2];
  linear_predictors_float(block, theta, dim, p, eta);
  residual_of(glm, theta, eta[0], y, out);
  residual_of(glm, theta + dim, eta[1], y, out + (1 + glm->n_extra) * 16);
}

/* Groups run over the pieces of all blocks and parameter vectors. */
static void log_lik_blocks(const void *ctx, const float *block, size_t n_blocks, size_t n_theta,
                           const double *theta, double *out) {
  const tacit_glm_kernel_t *glm = ctx;
  size_t dim = glm->n_linear * glm->n_features + glm->n_extra, n = n_blocks * n_theta * 16;
  tacit_pieces_t pieces = tacit_pieces(block, glm->n_features + 1, n_blocks, theta, dim, n_theta, out);
  for (size_t at = 0; at < n; at += GROUP_LANES) {
    const float *blocks[GROUP];
    const double *thetas[GROUP];
    double *outs[GROUP];
    vdouble values[GROUP];
    TACIT_EACH(i) { tacit_pieces_next(&pieces, &blocks[i], &thetas[i], &outs[i]); }
    log_lik(glm, blocks, thetas, values);
    TACIT_EACH(i) { vdouble_store(outs[i], values[i]); }
  }
}

static void log_lik_all(const void *ctx, const float *block, size_t n_theta, const double *theta,
                        double *out) {
  log_lik_blocks(ctx, block, 1, n_theta, theta, out);
}

static void residual_all(const void *ctx, const float *block, size_t n_theta, const float *theta,
                         float *out) {
  const tacit_glm_kernel_t *glm = ctx;
  size_t dim = glm->n_linear * glm->n_features + glm->n_extra;
  size_t n_out = glm->n_linear + glm->n_extra, k = 0;
  for (; glm->family != TACIT_FAMILY_CATEGORICAL && k + 1 < n_theta; k += 2) {
    for (size_t lane = 0; lane < 16; lane += FLOAT_LANES) {
      residuals(glm, block + lane, theta + k * dim, out + k * n_out * 16 + lane);
    }
  }
  for (; k < n_theta; k++) {
    for (size_t lane = 0; lane < 16; lane += FLOAT_LANES) {
      residual(glm, block + lane, theta + k * dim, out + k * n_out * 16 + lane);
    }
  }
}

#define TABLE_NAME_(isa) tacit_glm_functions_##isa
#define TABLE_NAME(isa) TABLE_NAME_(isa)
const tacit_glm_functions_t TABLE_NAME(TACIT_ISA) = {log_lik_all, log_lik_blocks, residual_all};
