/* Shared by dp-sgld, dp-sghmc, dp-sgnht and their exposed baselines. */
#ifndef TACIT_SAMPLE_STOCHASTIC_H
#define TACIT_SAMPLE_STOCHASTIC_H

#include "sample/sample_internal.h"

/*
 * run->grad <- noisy unbiased estimates of the log posterior's gradients at run->theta, from a minibatch of
 * each chain's own. Returns the sd of their privacy noise.
 */
double tacit_stochastic_release(tacit_run_t *run, tacit_status_t *status, tacit_error_t *err);
/*
 * Variance of the noise that, between two halves of a friction over a step of length h, gives back what they
 * take, in units of the metric: e^(-c h) (e^(-c h) + v) = 1 for v = 2 sinh(c h).
 */
double tacit_stochastic_injected(const tacit_sampler_settings_t *settings, double h);
/* theta <- theta_prop, unless it left the finite numbers: then the chain stays, and its momentum, if any, is
 * set to zero. */
void tacit_stochastic_keep(tacit_run_t *run, size_t c, double *momentum);
/* momentum ~ N(0, I): positions are theta / sqrt(W). */
void tacit_stochastic_momentum(tacit_run_t *run, size_t c);
/* theta += h sqrt(W) momentum, if that is finite. */
void tacit_stochastic_drift(tacit_run_t *run, size_t c, double h);

#endif
