/*
 * Stochastic gradient Langevin dynamics with the privacy noise as its own [Wang2015; Li2019; docs/theory.md,
 * section 17]: theta += h^2 / 2 W G + N(0, h^2 W). Invariant distribution: the posterior up to O(h^2), the
 * heat of subsampling and clipping.
 */
#include <math.h>

#include "sample/stochastic.h"

tacit_status_t tacit_step_sgld(tacit_run_t *run, tacit_error_t *err) {
  tacit_status_t status;
  double noise_sd = tacit_stochastic_release(run, &status, err),
         h = tacit_stochastic_step_size(run->settings, run->iteration);
  for (size_t c = 0; status == TACIT_OK && c < run->n_chains; c++) {
    for (size_t j = 0; j < run->dim; j++) {
      size_t i = c * run->dim + j;
      double w = run->metric.inv_metric[j], shown = 0.5 * h * h * w * noise_sd;
      run->theta_prop[i] = run->theta[i] + 0.5 * h * h * w * run->grad[i] +
                           sqrt(fmax(h * h * w - shown * shown, 0)) * tacit_rng_normal(run->rngs[c]);
    }
    tacit_stochastic_keep(run, c, NULL);
  }
  return status;
}
