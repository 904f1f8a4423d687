/*
 * The kernels of glm_kernel.h for one instruction set; compiled once for each
 * (meson.build), TACIT_ISA naming the table.
 */
#include "base/vector.h"
#include "base/ahead.h"
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

/* Vectors of records at one parameter vector, which share its loads: as many as the registers hold four
 * partial sums of. */
enum { N_BESIDE = TACIT_VECTOR_BYTES == 64 ? 4 : 2 };

/* Of features j to j + n_terms - 1; n_ask blocks further on are asked for. */
TACIT_INLINE void add_terms(size_t n_terms, size_t n_beside, const float *const at[N_BESIDE],
                            const float *theta, size_t j, size_t n_ask, uintptr_t ask, size_t n_bytes,
                            vfloat sum[N_BESIDE][4]) {
#pragma GCC unroll 4
  for (size_t u = 0; u < n_terms; u++) {
    vfloat t = vfloat_set(theta[j + u]);
    tacit_ask(n_ask, ask, n_bytes, j + u);
#pragma GCC unroll 4
    for (size_t i = 0; i < n_beside; i++) {
      sum[i][u] += vfloat_load(at[i] + (j + u) * 16) * t;
    }
  }
}

/* To the bit what linear_predictor_float() gives for each. */
TACIT_INLINE void linear_predictors_beside(size_t n_beside, const float *const at[N_BESIDE],
                                           const float *theta, size_t p, size_t n_ask, uintptr_t ask,
                                           vfloat eta[N_BESIDE]) {
  vfloat sum[N_BESIDE][4] = {0};
  size_t j = 0, n_bytes = (p + 1) * 16 * sizeof(float);
  for (; j + 4 <= p; j += 4) {
    add_terms(4, n_beside, at, theta, j, n_ask, ask, n_bytes, sum);
  }
  for (; j < p; j++) {
    add_terms(1, n_beside, at, theta, j, n_ask, ask, n_bytes, sum);
  }
  for (size_t i = 0; i < n_beside; i++) {
    eta[i] = (sum[i][0] + sum[i][1]) + (sum[i][2] + sum[i][3]);
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

/* Of one predictor. */
TACIT_INLINE void log_lik_of(const tacit_glm_kernel_t *glm, const double *const theta[GROUP],
                             const vdouble eta[GROUP], const vdouble y[GROUP], vdouble out[GROUP]) {
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
  log_lik_of(glm, theta, eta, y, out);
}

/* Feature j at n points, to partial sum u of each. */
TACIT_INLINE void add_widened(size_t n, const float *x, const double *theta, size_t dim, size_t u,
                              vdouble sum[4][2][2]) {
  vdouble first = vdouble_load_floats(x), second = vdouble_load_floats(x + DOUBLE_LANES);
#pragma GCC unroll 4
  for (size_t k = 0; k < n; k++) {
    sum[k][0][u] += first * theta[k * dim];
    sum[k][1][u] += second * theta[k * dim];
  }
}

/* Of two vectors of records beside each other, at n points: features are widened once for all of them, which
 * on Zen 4 takes longer than the sum. To the bit what linear_predictor_double() gives for each. */
TACIT_INLINE void linear_predictors_double(size_t n, const float *at, const double *theta, size_t dim,
                                           size_t p, vdouble eta[][2]) {
  vdouble sum[4][2][2] = {0}; /* of point, vector, and features in turn */
  size_t j = 0;
  for (; j + 2 <= p; j += 2) {
    add_widened(n, at + j * 16, theta + j, dim, 0, sum);
    add_widened(n, at + (j + 1) * 16, theta + j + 1, dim, 1, sum);
  }
  if (j < p) {
    add_widened(n, at + j * 16, theta + j, dim, 0, sum);
  }
#pragma GCC unroll 4
  for (size_t k = 0; k < n; k++) {
    eta[k][0] = sum[k][0][0] + sum[k][0][1];
    eta[k][1] = sum[k][1][0] + sum[k][1][1];
  }
}

enum { N_PIECES = 2 * GROUP }; /* so many chains of operations at a time */

/* y eta - log(1 + e^eta) of N_PIECES pieces. */
TACIT_INLINE void bernoulli_log_liks(const vdouble eta[N_PIECES], const vdouble y[N_PIECES],
                                     vdouble out[N_PIECES]) {
  vdouble tail[N_PIECES];
  TACIT_EACH_OF(N_PIECES, i) { tail[i] = vdouble_abs(eta[i]); }
  vdoubles_log1p_exp_negative_of(N_PIECES, tail);
  TACIT_EACH_OF(N_PIECES, i) { out[i] = y[i] * eta[i] - (vdouble_max(eta[i], vdouble_set(0)) + tail[i]); }
}

/* Records from `at` on of those at `block`, as many vectors of them as with n points, 1, 2 or 4, make
 * N_PIECES. */
TACIT_INLINE void log_lik_points(size_t n, const tacit_glm_kernel_t *glm, const float *block, size_t at,
                                 const double *theta, size_t out_apart, double *out) {
  const size_t p = glm->n_features, dim = p + glm->n_extra, n_vectors = N_PIECES / n;
  vdouble eta[N_PIECES], y[N_PIECES], values[N_PIECES]; /* (n_vectors, n) */
  const double *thetas[N_PIECES];
#pragma GCC unroll 4
  for (size_t v = 0; v < n_vectors; v += 2) {
    size_t record = at + v * DOUBLE_LANES;
    const float *x = block + record / 16 * (p + 1) * 16 + record % 16;
    vdouble pair[4][2];
    linear_predictors_double(n, x, theta, dim, p, pair);
    TACIT_EACH_OF(2 * n, i) {
      eta[v * n + i] = pair[i % n][i / n];
      y[v * n + i] = vdouble_load_floats(x + p * 16 + i / n * DOUBLE_LANES);
      thetas[v * n + i] = theta + i % n * dim;
    }
  }
  if (glm->family == TACIT_FAMILY_BERNOULLI) {
    bernoulli_log_liks(eta, y, values);
  } else {
    log_lik_of(glm, thetas, eta, y, values);
    log_lik_of(glm, thetas + GROUP, eta + GROUP, y + GROUP, values + GROUP);
  }
  TACIT_EACH_OF(N_PIECES, i) {
    size_t record = at + i / n * DOUBLE_LANES;
    vdouble_store(out + record / 16 * out_apart + i % n * 16 + record % 16, values[i]);
  }
}

/* All blocks at point k; groups run over their vectors, the last of which fills the last group. */
static void log_lik_point(const tacit_glm_kernel_t *glm, const float *block, size_t n_blocks,
                          const double *theta, size_t out_apart, double *out) {
  const size_t n = n_blocks * 16;
  for (size_t at = 0; at < n; at += GROUP_LANES) {
    const float *blocks[GROUP];
    const double *thetas[GROUP];
    double *outs[GROUP];
    vdouble values[GROUP];
    TACIT_EACH(i) {
      size_t next = at + i * DOUBLE_LANES, record = next < n ? next : n - DOUBLE_LANES;
      blocks[i] = block + record / 16 * (glm->n_features + 1) * 16 + record % 16;
      outs[i] = out + record / 16 * out_apart + record % 16;
      thetas[i] = theta;
    }
    log_lik(glm, blocks, thetas, values);
    TACIT_EACH(i) { vdouble_store(outs[i], values[i]); }
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
static void log_lik_classes(const tacit_glm_kernel_t *glm, const float *block, size_t n_blocks,
                            size_t n_theta, const double *theta, double *out) {
  size_t dim = glm->n_linear * glm->n_features, n = n_blocks * n_theta * 16;
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

static void log_lik_blocks(const void *ctx, const float *block, size_t n_blocks, size_t n_theta,
                           const double *theta, double *out) {
  const tacit_glm_kernel_t *glm = ctx;
  const size_t dim = glm->n_features + glm->n_extra, n_pairs = n_theta / 2;
  if (glm->family == TACIT_FAMILY_CATEGORICAL) {
    log_lik_classes(glm, block, n_blocks, n_theta, theta, out);
    return;
  }
  enum {
    STEP_OF_4 = N_PIECES / 4 * DOUBLE_LANES,
    STEP_OF_2 = N_PIECES / 2 * DOUBLE_LANES,
    STEP_OF_1 = N_PIECES * DOUBLE_LANES
  };
  size_t n = n_blocks * 16, at = 0;
  for (; at + STEP_OF_2 <= n; at += STEP_OF_2) {
    size_t k = 0;
    for (; TACIT_VECTOR_BYTES == 64 && k + 4 <= 2 * n_pairs; k += 4) {
      for (size_t i = at; i < at + STEP_OF_2; i += STEP_OF_4) {
        log_lik_points(4, glm, block, i, theta + k * dim, n_theta * 16, out + k * 16);
      }
    }
    for (; k < 2 * n_pairs; k += 2) {
      log_lik_points(2, glm, block, at, theta + k * dim, n_theta * 16, out + k * 16);
    }
  }
  for (size_t k = 0; at < n && k < 2 * n_pairs; k++) { /* a block without a second */
    log_lik_point(glm, block + at / 16 * (glm->n_features + 1) * 16, 1, theta + k * dim, n_theta * 16,
                  out + (at / 16 * n_theta + k) * 16);
  }
  if (n_theta % 2 == 1) {
    const double *last = theta + 2 * n_pairs * dim;
    double *to = out + 2 * n_pairs * 16;
    for (at = 0; at + STEP_OF_1 <= n; at += STEP_OF_1) {
      log_lik_points(1, glm, block, at, last, n_theta * 16, to);
    }
    log_lik_point(glm, block + at * (glm->n_features + 1), (n - at) / 16, last, n_theta * 16,
                  to + at * n_theta);
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

/* Blocks beside each other, a group of vectors at a time, whose long chains of operations fill each other's
 * waits. */
enum { GROUP_BLOCKS = GROUP * FLOAT_LANES / 16 };

/* Of GROUP vectors, to the bit what residual_of() gives for each. */
TACIT_INLINE void residuals_of(const tacit_glm_kernel_t *glm, const float *theta, vfloat eta[GROUP],
                               const float *const at[GROUP], size_t out_apart, float *out) {
  const size_t p = glm->n_features;
  vfloat mean[GROUP];
  float *to[GROUP];
  TACIT_EACH(i) { to[i] = out + i * FLOAT_LANES / 16 * out_apart + i * FLOAT_LANES % 16; }
  if (glm->family == TACIT_FAMILY_BERNOULLI) {
    TACIT_EACH(i) { mean[i] = -eta[i]; }
    vfloats_exp(GROUP, mean);
    TACIT_EACH(i) { vfloat_store(to[i], vfloat_load(at[i] + p * 16) - 1.0f / (mean[i] + 1.0f)); }
  } else if (glm->family == TACIT_FAMILY_POISSON) {
    TACIT_EACH(i) { mean[i] = eta[i]; }
    vfloats_exp(GROUP, mean);
    TACIT_EACH(i) { vfloat_store(to[i], vfloat_load(at[i] + p * 16) - mean[i]); }
  } else {
    TACIT_EACH(i) { residual_of(glm, theta, eta[i], vfloat_load(at[i] + p * 16), to[i]); }
  }
}

TACIT_INLINE void residual_group(size_t n_beside, const tacit_glm_kernel_t *glm, const float *block,
                                 const float *theta, size_t n_ask, uintptr_t ask, size_t out_apart,
                                 float *out) {
  const size_t p = glm->n_features;
  const float *at[GROUP];
  vfloat eta[GROUP];
  TACIT_EACH(i) { at[i] = block + i * FLOAT_LANES / 16 * (p + 1) * 16 + i * FLOAT_LANES % 16; }
  for (size_t i = 0; i < GROUP; i += n_beside) {
    linear_predictors_beside(n_beside, at + i, theta, p, i == 0 ? n_ask : 0, ask, eta + i);
  }
  residuals_of(glm, theta, eta, at, out_apart, out);
}

static void residual_beside(const tacit_glm_kernel_t *glm, const float *block, const float *theta,
                            tacit_ahead_t ahead, size_t out_apart, float *out) {
  if (ahead.n == 4) {
    residual_group(N_BESIDE, glm, block, theta, 4, ahead.from, out_apart, out);
  } else if (ahead.n == 2) {
    residual_group(N_BESIDE, glm, block, theta, 2, ahead.from, out_apart, out);
  } else if (ahead.n == 1) {
    residual_group(N_BESIDE, glm, block, theta, 1, ahead.from, out_apart, out);
  } else {
    residual_group(N_BESIDE, glm, block, theta, 0, 0, out_apart, out);
  }
}

/* Blocks b to b + GROUP_BLOCKS - 1 of those at `block`. */
static void residuals_of_group(const tacit_glm_kernel_t *glm, const float *block, size_t b, size_t n_theta,
                               const float *theta, float *out) {
  const size_t n_block = (glm->n_features + 1) * 16, dim = glm->n_features + glm->n_extra,
               n_out = (1 + glm->n_extra) * 16, out_apart = n_theta * n_out,
               n_groups = TACIT_BESIDE / GROUP_BLOCKS;
  const float *at = block + b * n_block, *beside = block + b / TACIT_BESIDE * TACIT_BESIDE * n_block;
  if (tacit_reads_in_order(n_block * sizeof *at, n_theta, TACIT_VECTOR_BYTES)) {
    for (size_t k = 0; k < n_theta; k++) {
      residual_group(1, glm, at, theta + k * dim, 0, 0, out_apart, out + b * out_apart + k * n_out);
    }
    return;
  }
  for (size_t k = 0; k < n_theta; k++) {
    tacit_ahead_t ahead = {0};
    if (tacit_is_zen()) {
      ahead = tacit_ahead(beside, n_block * sizeof *at, n_theta, k, n_groups, b / GROUP_BLOCKS % n_groups,
                          TACIT_VECTOR_BYTES);
    }
    residual_beside(glm, at, theta + k * dim, ahead, out_apart, out + b * out_apart + k * n_out);
  }
}

static void residual_blocks(const void *ctx, const float *block, size_t n_blocks, size_t n_theta,
                            const float *theta, float *out) {
  const tacit_glm_kernel_t *glm = ctx;
  const size_t n_block = (glm->n_features + 1) * 16, n_out = n_theta * (glm->n_linear + glm->n_extra) * 16;
  /* Of short vectors two points at a time share more than blocks beside each other do. */
  const bool is_grouped =
      glm->family != TACIT_FAMILY_CATEGORICAL && (n_theta == 1 || TACIT_VECTOR_BYTES > 16);
  size_t b = 0;
  for (; is_grouped && b + GROUP_BLOCKS <= n_blocks; b += GROUP_BLOCKS) {
    residuals_of_group(glm, block, b, n_theta, theta, out);
  }
  for (; b < n_blocks; b++) {
    residual_all(glm, block + b * n_block, n_theta, theta, out + b * n_out);
  }
}

#define TABLE_NAME_(isa) tacit_glm_functions_##isa
#define TABLE_NAME(isa) TABLE_NAME_(isa)
const tacit_glm_functions_t TABLE_NAME(TACIT_ISA) = {log_lik_all, log_lik_blocks, residual_all,
                                                     residual_blocks};
