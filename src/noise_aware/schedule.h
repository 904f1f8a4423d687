/* Constants of the algorithm, measured on simulations (docs/theory.md, "Noise-aware regression"). */
#ifndef TACIT_NOISE_AWARE_SCHEDULE_H
#define TACIT_NOISE_AWARE_SCHEDULE_H

#include <math.h>

/* Shares of mu^2: moments in the cube, whitened moments, the response, each of three fitted means; they sum to 1. */
static const double share_cube = 0.06, share_whitened = 0.14, share_response = 0.38, share_fitted = 0.14;

/* Radius of whitened rows in the second release, in units of sqrt(d). */
static const double whitened_radius = 1.3;

/*
 * Linear regression: share of mu^2 of the joint moments in the cube, the rest is for the whitened ones; their radius in units of
 * sqrt(d), and where residuals are clamped in units of what they may vary by.
 */
static const double share_joint_cube = 0.2, joint_radius = 1.3, joint_reach = 3.5;

/*
 * Weight of the surrogate in records plus one: precision of a Dirichlet process around it [Ferguson1973]. Sums of counts
 * depend more on rows in the tails, of which a surrogate knows less.
 */
static const double weight_bernoulli = 30, weight_poisson = 15;

/* Noise multiplier of a release with a share of mu^2 = 2 rho. */
static inline double schedule_multiplier(double rho, double share) {
  return 1 / sqrt(2 * rho * share);
}

#endif
