/*
 * Stochastic gradient Nose-Hoover thermostat. Departs from [Ding2014] in being symmetric: half steps of
 * position and thermostat before the kick and after it, and half of the friction, e^(-xi h / 2), on either
 * side of push and noise: its bias is of second order in h, not of first. The thermostat takes up gradient
 * noise of unknown size, as long as it is the same in all directions (docs/theory.md, section 17).
 */
#include <math.h>

#include "sample/stochastic.h"

static void adapt(tacit_run_t *run, size_t c, double h) {
  double square = 0;
  for (size_t j = 0; j < run->dim; j++) {
    square += run->momentum[c * run->dim + j] * run->momentum[c * run->dim + j];
  }
  run->thermostat[c] += h * (square / (double)run->dim - 1);
}

static void kick(tacit_run_t *run, size_t c, double h, double noise_sd) {
  double half = exp(-0.5 * run->thermostat[c] * h);
  for (size_t j = 0; j < run->dim; j++) {
    size_t i = c * run->dim + j;
    double root = run->metric.root[j], brought = h * root * noise_sd;
    double lacking = fmax(tacit_stochastic_injected(run->settings, h) - brought * brought, 0);
    double push = h * root * run->grad[i] + sqrt(lacking) * tacit_rng_normal(run->rngs[c]);
    run->momentum[i] = half * (half * run->momentum[i] + push);
  }
}

tacit_status_t tacit_step_sgnht(tacit_run_t *run, tacit_error_t *err) {
  for (size_t c = 0; run->iteration == 0 && c < run->n_chains; c++) {
    tacit_stochastic_momentum(run, c);
    run->thermostat[c] = run->settings->friction;
  }
  tacit_status_t status;
  double h = tacit_stochastic_step_size(run->settings, run->iteration);
  for (size_t c = 0; c < run->n_chains; c++) {
    tacit_stochastic_drift(run, c, 0.5 * h);
    adapt(run, c, 0.5 * h);
  }
  double noise_sd = tacit_stochastic_release(run, &status, err);
  for (size_t c = 0; status == TACIT_OK && c < run->n_chains; c++) {
    kick(run, c, h, noise_sd);
    adapt(run, c, 0.5 * h);
    tacit_stochastic_drift(run, c, 0.5 * h);
    if (!run->accepted[c] || !isfinite(run->thermostat[c])) {
      run->thermostat[c] = run->settings->friction;
    }
  }
  return status;
}
