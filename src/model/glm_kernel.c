#include "model/glm_kernel.h"

#include "base/isa.h"
#include "model/glm_kernel_internal.h"

void tacit_glm_log_lik(const void *ctx, const float *block, size_t n_theta, const double *theta,
                       double *out) {
  TACIT_ISA_SELECT(tacit_glm_functions)->log_lik(ctx, block, n_theta, theta, out);
}

void tacit_glm_residual(const void *ctx, const float *block, size_t n_theta, const float *theta,
                        float *out) {
  TACIT_ISA_SELECT(tacit_glm_functions)->residual(ctx, block, n_theta, theta, out);
}
