/*
 * Log-likelihoods and gradients of the papers' models for one instruction set; compiled once for each
 * (meson.build), TACIT_ISA naming the table. Blocks, `out` and their pieces as in tacit_record_model_t.
 */
#include "base/vector.h"
#include "models/analytic.h"
#include "formula/pieces.h"

/* sum_j -(x_j - u_j)^2 / (2 obs_var_j) for DOUBLE_LANES records; u is theta, bent or not */
TACIT_INLINE vdouble normal_log_lik(const tacit_analytic_t *model, const float *block, const double *theta,
                                    bool is_bent) {
  vdouble sum = vdouble_set(0);
  for (size_t j = 0; j < model->dim; j++) {
    vdouble x =
        vdouble_load_floats(block + j * 16) - (is_bent ? tacit_banana_bend(model, theta, j) : theta[j]);
    sum -= x * x * (0.5 * model->inv_obs_var[j]);
  }
  return sum;
}

static void mean_log_lik(const void *ctx, const float *block, size_t n_theta, const double *theta,
                         double *out) {
  const tacit_analytic_t *model = ctx;
  for (size_t k = 0; k < n_theta; k++) {
    for (size_t lane = 0; lane < 16; lane += DOUBLE_LANES) {
      vdouble_store(out + k * 16 + lane, normal_log_lik(model, block + lane, theta + k * model->dim, false));
    }
  }
}

/* d l / d u_j = (x_j - u_j) / obs_var_j */
TACIT_INLINE void normal_grad(const float *block, float u, float inv_var, float *out) {
  for (size_t lane = 0; lane < 16; lane += FLOAT_LANES) {
    vfloat_store(out + lane, (vfloat_load(block + lane) - u) * inv_var);
  }
}

static void mean_grad(const void *ctx, const float *block, size_t n_theta, const float *theta, float *out) {
  const tacit_analytic_t *model = ctx;
  for (size_t k = 0; k < n_theta; k++) {
    for (size_t j = 0; j < model->dim; j++) {
      size_t at = k * model->dim + j;
      normal_grad(block + j * 16, theta[at], (float)model->inv_obs_var[j], out + at * 16);
    }
  }
}

static void banana_log_lik(const void *ctx, const float *block, size_t n_theta, const double *theta,
                           double *out) {
  const tacit_analytic_t *model = ctx;
  for (size_t k = 0; k < n_theta; k++) {
    for (size_t lane = 0; lane < 16; lane += DOUBLE_LANES) {
      vdouble_store(out + k * 16 + lane, normal_log_lik(model, block + lane, theta + k * model->dim, true));
    }
  }
}

/* theta_1 also moves u_2, at the rate 2 a (theta_1 - m). */
static void banana_grad(const void *ctx, const float *block, size_t n_theta, const float *theta, float *out) {
  const tacit_analytic_t *model = ctx;
  for (size_t k = 0; k < n_theta; k++) {
    const float *t = theta + k * model->dim;
    float *g = out + k * model->dim * 16;
    float a = (float)model->a, offset = t[0] - (float)model->m;
    for (size_t j = 0; j < model->dim; j++) {
      float u = j == 1 ? t[1] + a * offset * offset + (float)model->b : t[j];
      normal_grad(block + j * 16, u, (float)model->inv_obs_var[j], g + j * 16);
    }
    for (size_t lane = 0; lane < 16; lane += FLOAT_LANES) {
      vfloat_store(g + lane, vfloat_load(g + lane) + vfloat_load(g + 16 + lane) * (2 * a * offset));
    }
  }
}

/* log(e^-p + e^-q) = log(1 + e^-|p - q|) - min(p, q), p and q minus the exponents of the two components. */
static void mixture_log_lik_blocks(const void *ctx, const float *block, size_t n_blocks, size_t n_theta,
                                   const double *theta, double *out) {
  const tacit_analytic_t *model = ctx;
  double half_inv_var = 0.5 * model->inv_obs_var[0];
  size_t n = n_blocks * n_theta * 16;
  tacit_pieces_t pieces = tacit_pieces(block, 1, n_blocks, theta, 2, n_theta, out);
  for (size_t at = 0; at < n; at += GROUP_LANES) {
    vdouble least[GROUP], tail[GROUP];
    double *outs[GROUP];
    TACIT_EACH(i) {
      const float *lanes;
      const double *t;
      tacit_pieces_next(&pieces, &lanes, &t, &outs[i]);
      vdouble x = vdouble_load_floats(lanes), first = x - t[0], second = x - (t[0] + t[1]);
      vdouble p = first * first * half_inv_var, q = second * second * half_inv_var;
      least[i] = vdouble_min(p, q);
      tail[i] = vdouble_abs(p - q);
    }
    vdoubles_log1p_exp_negative(tail);
    TACIT_EACH(i) { vdouble_store(outs[i], tail[i] - least[i]); }
  }
}

static void mixture_log_lik(const void *ctx, const float *block, size_t n_theta, const double *theta,
                            double *out) {
  mixture_log_lik_blocks(ctx, block, 1, n_theta, theta, out);
}

/* With w the probability of the second component: d l / d theta_2 = w (x - theta_1 - theta_2) / v. */
static void mixture_grad(const void *ctx, const float *block, size_t n_theta, const float *theta,
                         float *out) {
  const tacit_analytic_t *model = ctx;
  float inv_var = (float)model->inv_obs_var[0];
  for (size_t k = 0; k < n_theta; k++) {
    for (size_t lane = 0; lane < 16; lane += FLOAT_LANES) {
      vfloat x = vfloat_load(block + lane);
      vfloat first = x - theta[2 * k], second = x - (theta[2 * k] + theta[2 * k + 1]);
      vfloat w = 1.0f / (1.0f + vfloat_exp((second * second - first * first) * (0.5f * inv_var)));
      vfloat d_second = w * second * inv_var;
      vfloat_store(out + 2 * k * 16 + lane, (1.0f - w) * first * inv_var + d_second);
      vfloat_store(out + (2 * k + 1) * 16 + lane, d_second);
    }
  }
}

#define TABLE_NAME_(isa) tacit_analytic_functions_##isa
#define TABLE_NAME(isa) TABLE_NAME_(isa)
const tacit_analytic_functions_t TABLE_NAME(TACIT_ISA) = {
    {mean_log_lik, NULL, mean_grad},
    {banana_log_lik, NULL, banana_grad},
    {mixture_log_lik, mixture_log_lik_blocks, mixture_grad}};
