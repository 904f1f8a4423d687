/* Constants of the algorithm, measured on simulations (docs/theory.md, "Noise-aware regression"). */
#ifndef TACIT_NOISE_AWARE_SCHEDULE_H
#define TACIT_NOISE_AWARE_SCHEDULE_H

#include <math.h>
#include <stddef.h>

enum { TACIT_AWARE_ROUNDS = 3 };

/*
 * Shares of mu^2: moments in the cube, whitened moments, scores at three points, the information; they sum
 * to 1. The last score gives up what the number of units costs, where that is private, of counts the squares
 * of its terms, and of units of several rows the numbers of their rows, scores by these, and their squares;
 * and of few features residuals along them.
 */
static const double share_cube = 0.04, share_whitened = 0.04, share_information = 0.05, share_count = 0.01,
                    share_squares = 0.03;
static const double share_rows = 0.01, share_contrast = 0.02, share_clusters = 0.05, share_residuals = 0.05;
static const double share_score[TACIT_AWARE_ROUNDS] = {0.05, 0.12, 0.70};

/* Least radius of whitened rows in releases of matrices, in units of sqrt(d); and their noise, per record, up
 * to which it grows. */
static const double whitened_radius = 1.3, whitened_noise = 0.01;

/* Squares of scores: the square of their cap, in units of d, and their noise, per record, up to which it
 * grows. */
static const double square_cap = 16, square_noise = 0.05;

/*
 * Weight of the surrogate in records plus one: precision of a Dirichlet process around it [Ferguson1973].
 */
static const double surrogate_weight = 30;
/*
 * Of many features, a feature: entries of a matrix are independent there, and so many would make a larger
 * error than single features do that are not as they seem.
 */
static const double wide_weight = 3;

/* The metric of a round is the information plus this share of it spread as the features are. */
static const double metric_ridge = 0.05;

/*
 * The radius of a round is the largest whose variances, in units of those without privacy and summed over the
 * d parameters, exceed the best radius's by at most this: of what that one has beyond d, radius_slack, and
 * radius_more but no more than radius_most of d, up to 20 features; and radius_loss of d. Rows longer than
 * the radius have a weight, and where the model misfits, weights move the answer: precision is paid so that
 * few do (docs/theory.md, 18.8). Of many features it is not to be had: noise of that size in every dimension
 * leaves chains ways out of the mode (18.17).
 */
static const double radius_slack = 0.15, radius_more = 4, radius_most = 2, radius_loss = 0.1;

/*
 * What the variance of an early round's score may be off by, as a share of it: the surrogate's tails are
 * guessed, and without this the contrasts of rounds at large budgets, which are known next to exactly, would
 * be believed.
 */
static const double early_doubt = 0.1;

/* Noise multiplier of a release with a share of mu^2 = 2 rho. */
static inline double schedule_multiplier(double rho, double share) { return 1 / sqrt(2 * rho * share); }

#endif
