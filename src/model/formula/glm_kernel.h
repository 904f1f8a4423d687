/*
 * Vector kernels of the generalised linear models: log-likelihoods in double,
 * residuals in float, for blocks of 16 records. Not installed.
 */
#ifndef TACIT_GLM_KERNEL_H
#define TACIT_GLM_KERNEL_H

#include "formula/model.h"

/*
 * Context of the functions. Features are columns 0 .. n_features-1 of a block, the response is
 * column n_features. theta: n_linear blocks of n_features coefficients, then log sigma if
 * n_extra == 1 (gaussian with unknown sd, in scaled units).
 */
typedef struct tacit_glm_kernel {
  tacit_family_t family;
  size_t n_features, n_linear, n_extra;
  double known_sd;    /* gaussian, scaled units; 0 if unknown */
  bool has_intercept; /* feature 0 is 1 */
} tacit_glm_kernel_t;

/*
 * Functions of a record model, with a tacit_glm_kernel_t as context. log_lik: poisson drops -log(y!),
 * gaussian -log(2 pi)/2 and a known -log(sd). residual: d l / d eta_r for r < n_linear, then d l / d log
 * sigma.
 */
typedef struct tacit_glm_functions {
  void (*log_lik)(const void *ctx, const float *block, size_t n_theta, const double *theta, double *out);
  void (*log_lik_blocks)(const void *ctx, const float *block, size_t n_blocks, size_t n_theta,
                         const double *theta, double *out);
  void (*residual)(const void *ctx, const float *block, size_t n_theta, const float *theta, float *out);
  void (*residual_blocks)(const void *ctx, const float *block, size_t n_blocks, size_t n_theta,
                          const float *theta, float *out);
} tacit_glm_functions_t;

/* Those for this machine's best instruction set. */
const tacit_glm_functions_t *tacit_glm_functions(void);

#endif
