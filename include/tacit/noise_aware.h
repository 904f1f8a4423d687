/**
 * @file noise_aware.h
 * Noise-aware regression: a generalised linear model with canonical link from six releases, a linear one from two.
 *
 * The score splits into T = sum w x (y - a), released once, and F(theta) = sum w x (m(x . theta) - a), a function of the
 * features alone. A surrogate population, calibrated to private second moments, stands for the features; what it leaves
 * open about F is a Gaussian process, conditioned on releases of F at three points. The posterior of theta given all
 * releases then accounts for sampling, privacy noise and the surrogate's error; drawing from it is post-processing
 * (docs/theory.md, "Noise-aware regression").
 */
#ifndef TACIT_NOISE_AWARE_H
#define TACIT_NOISE_AWARE_H

#include "tacit/account.h"
#include "tacit/base.h"
#include "tacit/draws.h"
#include "tacit/model.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tacit_curator;

/** Errors that tests plant on purpose; each must be found by them. */
typedef enum tacit_noise_aware_fault {
  TACIT_NOISE_AWARE_SOUND = 0,
  TACIT_NOISE_AWARE_NO_DISCREPANCY,     /**< the surrogate's error is left out of the posterior; gaussian: that of the features' moments */
  TACIT_NOISE_AWARE_HALF_RESPONSE_NOISE /**< the noise of T is taken for half of what it is; gaussian: of all whitened moments */
} tacit_noise_aware_fault_t;

typedef struct tacit_noise_aware_settings {
  tacit_family_t family;     /**< bernoulli, poisson or gaussian */
  double upper;              /**< the response is clamped to [0, upper]; see tacit_family_has_moments(); gaussian: to [-1, 1] */
  double known_sd;           /**< gaussian: residual sd in units of the mapped response; 0: the last parameter is its log */
  const bool *is_two_valued; /**< shape (dim): the feature is +1 or -1, publicly; NULL: none */
  double rho;                /**< what the six releases may cost together: 1/2 mu^2 of Gaussian differential privacy */
  size_t n_chains, n_warmup, n_draws, thin;
  unsigned char key[32];     /**< of the surrogate and the sampler */
  tacit_noise_aware_fault_t fault_for_tests;
} tacit_noise_aware_settings_t;

/** Bernoulli, 4 chains of 500 + 1000 iterations. */
TACIT_API tacit_noise_aware_settings_t tacit_noise_aware_settings_default(void);

/** Up to 16 features were measured; time grows with their fifth power. */
enum { TACIT_NOISE_AWARE_MAX_FEATURES = 20, TACIT_NOISE_AWARE_N_EVENTS = 4 };

/** The releases that a run with `rho` makes, as the curator charges them: six, of a gaussian two; returns the number of events. */
TACIT_API size_t tacit_noise_aware_events(tacit_family_t family, double rho, tacit_event_t events[TACIT_NOISE_AWARE_N_EVENTS]);

/**
 * Predicted ratio of the posterior standard deviation to the non-private one, from public numbers alone:
 *
 *     sqrt(1 + 4 c^2 dim upper^2 / (0.8 mu^2 n v)),      v the nominal variance of a response
 *
 * of a gaussian c = 1.3, upper = 3.5 residual sds and v = 1 (dim: features).
 * A floor that is nearly reached with many records, not a promise: at small budgets what the surrogate does not know
 * comes on top.
 */
TACIT_API double tacit_noise_aware_inflation(const tacit_noise_aware_settings_t *settings, size_t dim, double n_units);

/**
 * Fit: make the six releases, then draw from the posterior given them.
 *
 * @param[in] curator     private, of a model whose feature 0 is the intercept; relation substitute, units of one record.
 * @param[in] parameters  public side of the same model: prior and reported scale; 1 to TACIT_NOISE_AWARE_MAX_FEATURES
 *                        coefficients, and log sigma of a gaussian with unknown sd.
 * @param[in,out] draws   initialised by the call (clear with tacit_draws_clear, also after failure); reported scale.
 * @return TACIT_ERR_ARGUMENT for settings out of range; TACIT_ERR_BUDGET if the budget refuses; TACIT_ERR_STATE if the
 *         curator cannot make these releases; TACIT_ERR_NUMERIC if the posterior is not a density (an improper prior).
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_noise_aware_fit(struct tacit_curator *curator,
                                                              const tacit_parameters_t *parameters,
                                                              const tacit_noise_aware_settings_t *settings,
                                                              tacit_draws_t *draws, tacit_error_t *err);

#ifdef __cplusplus
}
#endif
#endif
