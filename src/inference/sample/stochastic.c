/*
 * What the samplers without an acceptance test share: steps and noise by iteration, and the released gradient
 * of a minibatch. The noise that such a sampler adds anyway is the privacy noise; where that is less than it
 * needs, it adds the rest.
 */
#include <math.h>
#include <string.h>

#include "sample/stochastic.h"

uint64_t tacit_stochastic_steps(tacit_traits_t traits, const tacit_sampler_settings_t *settings) {
  bool has_trajectories = traits.move == TACIT_MOVE_SGHMC || traits.move == TACIT_MOVE_SGHMC_NAIVE;
  return has_trajectories ? settings->n_leapfrog : 1;
}

double tacit_stochastic_step_size(const tacit_sampler_settings_t *settings, uint64_t t) {
  double decay = settings->step_decay;
  return settings->step_size * (decay > 0 ? pow((double)t + 1, -decay) : 1);
}

double tacit_stochastic_injected(const tacit_sampler_settings_t *settings, double h) {
  return 2 * sinh(settings->friction * h);
}

/* sgld: 2 q / (h sqrt w); the others: q sqrt(injected variance) / (h sqrt w). */
static double noise_sd(tacit_traits_t traits, const tacit_sampler_settings_t *settings, double h,
                       double largest) {
  double root = traits.move == TACIT_MOVE_SGLD ? 2 : sqrt(tacit_stochastic_injected(settings, h));
  return settings->sampling_rate * root / (h * sqrt(largest));
}

double tacit_stochastic_noise_sd(tacit_traits_t traits, const tacit_sampler_settings_t *settings,
                                 double largest) {
  return noise_sd(traits, settings, settings->step_size, largest);
}

/*
 * As steps shrink, what they add grows beside the gradient, and the privacy noise with it; in steps of 1 %,
 * the rest being added as other noise, so that a long schedule has few kinds of releases.
 */
double tacit_stochastic_noise(tacit_traits_t traits, const tacit_sampler_settings_t *settings, uint64_t t) {
  double growth = noise_sd(traits, settings, tacit_stochastic_step_size(settings, t), 1) /
                  noise_sd(traits, settings, settings->step_size, 1);
  return settings->noise_multiplier_grad * pow(1.01, floor(log(growth) / log(1.01) + 1e-9));
}

double tacit_stochastic_release(tacit_run_t *run, tacit_status_t *status, tacit_error_t *err) {
  const tacit_sampler_settings_t *s = run->settings;
  double multiplier = tacit_stochastic_noise(run->traits, s, run->iteration), q = s->sampling_rate;
  size_t d = run->dim;
  *status = tacit_curator_release_sampled_gradient(run->curator, run->n_chains, run->theta, q, multiplier,
                                                   run->grad, err);
  for (size_t c = 0; *status == TACIT_OK && c < run->n_chains; c++) {
    run->log_prior[c] =
        run->parameters->log_prior(run->parameters->ctx, run->theta + c * d, run->scratch + c * d);
    for (size_t j = 0; j < d; j++) {
      run->grad[c * d + j] = run->grad[c * d + j] / q + run->scratch[c * d + j];
    }
  }
  bool is_exposed = tacit_curator_is_exposed(run->curator);
  return is_exposed ? 0
                    : multiplier * tacit_curator_sensitivity_factor(run->curator) *
                          tacit_curator_grad_bound(run->curator) / q;
}

void tacit_stochastic_keep(tacit_run_t *run, size_t c, double *momentum) {
  size_t d = run->dim;
  double log_prior = run->parameters->log_prior(run->parameters->ctx, run->theta_prop + c * d, NULL);
  run->accepted[c] = tacit_all_finite(run->theta_prop + c * d, d) && isfinite(log_prior) &&
                     (momentum == NULL || tacit_all_finite(momentum, d));
  if (run->accepted[c]) {
    memcpy(run->theta + c * d, run->theta_prop + c * d, d * sizeof *run->theta);
    run->log_prior[c] = log_prior;
  } else if (momentum != NULL) {
    memset(momentum, 0, d * sizeof *momentum);
  }
}

void tacit_stochastic_momentum(tacit_run_t *run, size_t c) {
  for (size_t j = 0; j < run->dim; j++) {
    run->momentum[c * run->dim + j] = tacit_rng_normal(run->rngs[c]);
  }
}

void tacit_stochastic_drift(tacit_run_t *run, size_t c, double h) {
  for (size_t j = 0; j < run->dim; j++) {
    size_t i = c * run->dim + j;
    run->theta_prop[i] = run->theta[i] + h * run->metric.root[j] * run->momentum[i];
  }
  tacit_stochastic_keep(run, c, run->momentum + c * run->dim);
}
