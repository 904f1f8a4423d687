/*
 * Private MALA whose proposal is the Gaussian mechanism (docs/theory.md, section 16): theta_prop shows the
 * sum of gradients through noise of variance step^2 W, none of it beyond what MALA adds anyway, and only the
 * decision is released besides.
 */
#include <math.h>
#include <string.h>

#include "sample/sample_internal.h"

/* theta_prop ~ N(theta + h^2 / 2 W (G + prior gradient), h^2 W); what the released gradient's noise lacks of
 * it is added. */
static void propose(tacit_run_t *run, size_t c, double noise_sd) {
  size_t d = run->dim;
  double h2 = run->step_size[c] * run->step_size[c];
  for (size_t j = 0; j < d; j++) {
    size_t i = c * d + j;
    double w = run->metric.inv_metric[j], shown = 0.5 * h2 * w * noise_sd;
    double lacking = fmax(h2 * w - shown * shown, 0);
    run->theta_prop[i] = run->theta[i] + 0.5 * h2 * w * (run->grad[i] + run->prior_grad[i]) +
                         sqrt(lacking) * tacit_rng_normal(run->rngs[c]);
  }
}

tacit_status_t tacit_step_langevin(tacit_run_t *run, tacit_error_t *err) {
  const tacit_parameters_t *parameters = run->parameters;
  size_t d = run->dim;
  double noise_sd = run->settings->noise_multiplier_grad * tacit_curator_sensitivity_factor(run->curator) *
                    tacit_curator_grad_bound(run->curator);
  tacit_status_t status = tacit_curator_release_gradient(
      run->curator, run->n_chains, run->theta, run->settings->noise_multiplier_grad, run->grad, err);
  for (size_t c = 0; status == TACIT_OK && c < run->n_chains; c++) {
    parameters->log_prior(parameters->ctx, run->theta + c * d, run->prior_grad + c * d);
    propose(run, c, noise_sd);
    double log_prior =
        parameters->log_prior(parameters->ctx, run->theta_prop + c * d, run->prior_grad_prop + c * d);
    run->correction[c] = 0;
    run->is_active[c] = tacit_all_finite(run->theta_prop + c * d, d) && isfinite(log_prior) &&
                        tacit_all_finite(run->prior_grad_prop + c * d, d);
  }
  return status == TACIT_OK ? tacit_run_accept(run, err) : status;
}
