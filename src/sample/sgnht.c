/*
 * Stochastic gradient Nose-Hoover thermostat [Ding2014], semi-implicit: position and thermostat follow the new momentum. The
 * thermostat, applied as e^(-xi h), takes up gradient noise of unknown size, as long as it is the same in all directions (docs/theory.md, section 17).
 */
#include <math.h>

#include "sample/stochastic.h"

static void step_chain(tacit_run_t *run, size_t c, double h, double noise_sd) {
  double square = 0;
  for (size_t j = 0; j < run->dim; j++) {
    size_t i = c * run->dim + j;
    double root = run->metric.root[j], brought = h * root * noise_sd;
    double lacking = fmax(tacit_stochastic_injected(run->settings, h) - brought * brought, 0);
    run->momentum[i] = exp(-run->thermostat[c] * h) * run->momentum[i] + h * root * run->grad[i] +
                       sqrt(lacking) * tacit_rng_normal(run->rngs[c]);
    run->theta_prop[i] = run->theta[i] + h * root * run->momentum[i];
    square += run->momentum[i] * run->momentum[i];
  }
  run->thermostat[c] += h * (square / (double)run->dim - 1);
  tacit_stochastic_keep(run, c, run->momentum + c * run->dim);
  if (!run->accepted[c] || !isfinite(run->thermostat[c])) {
    run->thermostat[c] = run->settings->friction;
  }
}

tacit_status_t tacit_step_sgnht(tacit_run_t *run, tacit_error_t *err) {
  for (size_t c = 0; run->iteration == 0 && c < run->n_chains; c++) {
    tacit_stochastic_momentum(run, c);
    run->thermostat[c] = run->settings->friction;
  }
  tacit_status_t status;
  double noise_sd = tacit_stochastic_release(run, &status, err), h = tacit_stochastic_step_size(run->settings, run->iteration);
  for (size_t c = 0; status == TACIT_OK && c < run->n_chains; c++) {
    step_chain(run, c, h, noise_sd);
  }
  return status;
}
