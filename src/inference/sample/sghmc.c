/*
 * Stochastic gradient Hamiltonian Monte Carlo with friction [Chen2014], signs as there and not as in later
 * accounts of it (docs/theory.md, section 17), with the privacy noise as part of the injected noise. Departs
 * from [Chen2014] in the order: half a drift comes before the first kick and half of one after the last.
 * Without friction (sghmc-naive) the noise of gradients heats the chain.
 */
#include <math.h>

#include "sample/stochastic.h"

/*
 * p += h (sqrt(W) G - c p) + N(0, 2 c h), of which the gradient brought h^2 W noise_sd^2 along: half of the
 * friction, e^(-c h / 2), before push and noise and half after them, with a variance of 2 sinh(c h) that
 * keeps N(0, 1). Symmetric, and stable for any c h.
 */
static void kick(tacit_run_t *run, size_t c, double h, double friction, double noise_sd) {
  double injected = friction > 0 ? tacit_stochastic_injected(run->settings, h) : 0,
         half = exp(-0.5 * friction * h);
  for (size_t j = 0; j < run->dim; j++) {
    size_t i = c * run->dim + j;
    double root = run->metric.root[j], brought = h * root * noise_sd;
    double lacking = fmax(injected - brought * brought, 0);
    double push = h * root * run->grad[i] + sqrt(lacking) * tacit_rng_normal(run->rngs[c]);
    run->momentum[i] = half * (half * run->momentum[i] + push);
  }
}

tacit_status_t tacit_step_sghmc(tacit_run_t *run, tacit_error_t *err) {
  double h = tacit_stochastic_step_size(run->settings, run->iteration);
  double friction = run->traits.move == TACIT_MOVE_SGHMC_NAIVE ? 0 : run->settings->friction;
  tacit_status_t status = TACIT_OK;
  for (size_t c = 0; c < run->n_chains; c++) {
    tacit_stochastic_momentum(run, c);
  }
  for (size_t step = 0; status == TACIT_OK && step < run->settings->n_leapfrog; step++) {
    for (size_t c = 0; c < run->n_chains; c++) {
      tacit_stochastic_drift(run, c, step > 0 ? h : 0.5 * h);
    }
    double noise_sd = tacit_stochastic_release(run, &status, err);
    for (size_t c = 0; status == TACIT_OK && c < run->n_chains; c++) {
      kick(run, c, h, friction, noise_sd);
    }
  }
  for (size_t c = 0; status == TACIT_OK && c < run->n_chains; c++) {
    tacit_stochastic_drift(run, c, 0.5 * h);
  }
  return status;
}
