/* Logistic regression of column 2 on columns 0 and 1, features in [-1, 1], written down plainly for tests. */
#ifndef TACIT_TESTS_LOGISTIC_H
#define TACIT_TESTS_LOGISTIC_H

#include <math.h>

#include "formula/model.h"

enum { logistic_dim = 2 };

static inline double logistic_log1pexp(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }

static inline void logistic_log_lik(const void *ctx, const float *block, size_t n_theta, const double *theta,
                                    double *out) {
  (void)ctx;
  for (size_t k = 0; k < n_theta; k++) {
    for (size_t i = 0; i < 16; i++) {
      double eta = theta[2 * k] * (double)block[i] + theta[2 * k + 1] * (double)block[16 + i];
      out[16 * k + i] = (double)block[32 + i] * eta - logistic_log1pexp(eta);
    }
  }
}

static inline void logistic_residual(const void *ctx, const float *block, size_t n_theta, const float *theta,
                                     float *out) {
  (void)ctx;
  for (size_t k = 0; k < n_theta; k++) {
    for (size_t i = 0; i < 16; i++) {
      float eta = theta[2 * k] * block[i] + theta[2 * k + 1] * block[16 + i];
      out[16 * k + i] = block[32 + i] - 1 / (1 + expf(-eta));
    }
  }
}

static inline double logistic_ratio_bound(const void *ctx, const double *theta, const double *theta_prop) {
  (void)ctx;
  return (fabs(theta_prop[0] - theta[0]) + fabs(theta_prop[1] - theta[1])) * (1 + 1e-12);
}

static const tacit_record_model_t logistic = {.name = "logistic",
                                              .dim = logistic_dim,
                                              .n_columns = 3,
                                              .grad_bound = 1.41421356237309515,
                                              .ratio_bound = logistic_ratio_bound,
                                              .is_softmax = true,
                                              .log_lik = logistic_log_lik,
                                              .n_linear = 1,
                                              .n_features = 2,
                                              .residual = logistic_residual};

#endif
