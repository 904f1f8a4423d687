/*
 * Parts of the noise-aware regression. Everything here works on releases and public numbers only; records stay behind
 * the curator. Matrices are row-major. Notation as in docs/theory.md, "Noise-aware regression".
 */
#ifndef TACIT_NOISE_AWARE_INTERNAL_H
#define TACIT_NOISE_AWARE_INTERNAL_H

#include "base/base_internal.h"
#include "tacit/curator.h"
#include "tacit/noise_aware.h"
#include "tacit/random.h"

/* ---- gaussian.c: both releases of a linear regression and draws given them; draws are initialised ---- */

TACIT_MUST_USE tacit_status_t tacit_aware_gaussian(tacit_curator_t *curator, const tacit_parameters_t *parameters,
                                                   const tacit_noise_aware_settings_t *settings, double n, tacit_draws_t *draws,
                                                   tacit_error_t *err);

/* ---- linear.c: small dense matrices ---- */

/* Lower Cholesky factor of the lower triangle of a, in place, upper triangle cleared; false if a is not positive. */
bool tacit_cholesky(size_t n, double *a);
/* x <- L^-1 x and x <- L^-T x for a lower factor L. */
void tacit_solve_lower(size_t n, const double *factor, double *x);
void tacit_solve_upper(size_t n, const double *factor, double *x);
/* inverse <- L^-1, lower triangular. */
void tacit_invert_lower(size_t n, const double *factor, double *inverse);
/* Eigenvalues and orthonormal eigenvectors (columns) of a symmetric matrix, which is destroyed; cyclic Jacobi. */
void tacit_eigen(size_t n, double *a, double *values, double *vectors);
/* Raise the eigenvalues of a symmetric matrix to at least `least`. work: 2 n^2 + n. */
void tacit_raise_eigenvalues(size_t n, double *a, double least, double *work);
/* out (n x m) <- a (n x k) b (k x m) */
void tacit_multiply(size_t n, size_t k, size_t m, const double *a, const double *b, double *out);
double tacit_dot(size_t n, const double *a, const double *b);
/* Middle of n numbers, which are reordered; 0 if there are none. */
double tacit_median(size_t n, double *values);

/* ---- population.c: pseudo-rows of given first and second moments ---- */

/* Mean and covariance of the p = d - 1 features besides the intercept, and which of them are +-1. */
typedef struct tacit_shape {
  size_t p;
  const bool *is_two_valued; /* (p) */
  double *mean;              /* (p) */
  double *cov;               /* (p, p) */
} tacit_shape_t;

/*
 * rows (n, p + 1): Gaussian rows of this shape, clamped to the cube, with a leading 1; a +-1 feature is the sign of its
 * latent normal. normals (n, p): standard normal. work: 6 p^2 + 4 p.
 */
void tacit_population(const tacit_shape_t *shape, size_t n, const double *normals, double *rows, double *work);
/* second (d, d) <- second moments of (1, z) for z of this shape. */
void tacit_second_moments(const tacit_shape_t *shape, double *second);
/* The shape whose second moments are proportional to `second`; means clamped to +-0.95. */
void tacit_shape_from(tacit_shape_t *shape, const double *second);

/* ---- surrogate.c ---- */

/* The releases of the two matrices and what follows from them. */
typedef struct tacit_surrogate {
  size_t d, n_rows, n_basis; /* n_rows: a multiple of 16 */
  double *x;           /* (d, n_rows): pseudo-rows in the cube, x_0 = 1; (n_rows, d) while they are built */
  double *weight;      /* (n_rows): omega */
  double *basis;       /* (n_rows, n_basis): Q, centred and orthonormal under omega */
  double *basis_cov;   /* (n_basis, n_basis): V_Q, uncertainty of the population means of Q */
  double *basis_shift; /* (n_basis): e_Q, the means themselves */
  double *whiten;      /* (d, d): L^-1 of the final metric */
  double radius;       /* R of the row weights in that metric */
  double *rows;        /* (d, n_rows): w x~ */
} tacit_surrogate_t;

/* Make the two releases of second moments and build the surrogate. Clear also after failure. */
TACIT_MUST_USE tacit_status_t tacit_surrogate_init(tacit_surrogate_t *surrogate, tacit_curator_t *curator,
                                                   const tacit_noise_aware_settings_t *settings, double n_units,
                                                   tacit_rng_t *rng, tacit_error_t *err);
void tacit_surrogate_clear(tacit_surrogate_t *surrogate);

/* ---- discrepancy.c: the process F / n, given the releases of F so far ---- */

enum { TACIT_MAX_FITTED = 3 };

/*
 * Conditional law of F(theta)/n: with f (d, n_rows) on the pseudo-rows and y = f columns' (d, n_columns),
 *
 *     mean = f scale,      covariance = f diag(omega) f' / weight + y quadratic y'
 */
typedef struct tacit_discrepancy {
  const tacit_surrogate_t *surrogate;
  double weight;              /* tau + 1 */
  size_t n_fitted, n_columns; /* columns: 1, n_basis of Q, d for each release */
  double *columns;  /* (n_columns, n_rows): omega times [1, Q, f_1 centred, ...] */
  double *scale;    /* (n_rows): omega_k s_k */
  double *quadratic; /* (n_columns, n_columns) */
  double *fitted;   /* (TACIT_MAX_FITTED, d, n_rows): f at the released points */
  double *released; /* (TACIT_MAX_FITTED, d): F / n */
  double noise_var[TACIT_MAX_FITTED]; /* of released */
} tacit_discrepancy_t;

TACIT_MUST_USE tacit_status_t tacit_discrepancy_init(tacit_discrepancy_t *discrepancy,
                                                     const tacit_surrogate_t *surrogate, tacit_family_t family,
                                                     tacit_error_t *err);
void tacit_discrepancy_clear(tacit_discrepancy_t *discrepancy);
/* Condition on one more release: f on the pseudo-rows, F / n and its noise variance. */
TACIT_MUST_USE tacit_status_t tacit_discrepancy_condition(tacit_discrepancy_t *discrepancy, const double *f,
                                                          const double *released, double noise_var, tacit_error_t *err);

/* ---- posterior.c ---- */

typedef struct tacit_aware_posterior {
  const tacit_surrogate_t *surrogate;
  const tacit_discrepancy_t *discrepancy;
  const tacit_parameters_t *parameters;
  const tacit_noise_aware_settings_t *settings;
  double n;
  double *response;   /* (d): T */
  double response_var; /* of its noise */
  /* workspace; after an evaluation: f (d, n_rows), cov_factor (d, d) */
  tacit_family_moments_t *moments; /* (n_rows) */
  double *f, *y, *cov, *cov_factor, *cov_inverse, *solved, *adjoint, *temporary;
  double *lines[4]; /* (n_rows) each */
} tacit_aware_posterior_t;

TACIT_MUST_USE tacit_status_t tacit_aware_posterior_init(tacit_aware_posterior_t *posterior,
                                                         const tacit_surrogate_t *surrogate,
                                                         const tacit_discrepancy_t *discrepancy,
                                                         const tacit_parameters_t *parameters,
                                                         const tacit_noise_aware_settings_t *settings, double n_units,
                                                         tacit_error_t *err);
void tacit_aware_posterior_clear(tacit_aware_posterior_t *posterior);
/* f on the pseudo-rows at theta, into posterior->f. */
void tacit_aware_posterior_fitted(tacit_aware_posterior_t *posterior, const double *theta);
/* Log density up to a constant and its gradient (d) unless NULL; -INFINITY where it is not a number. */
double tacit_aware_posterior_log_density(tacit_aware_posterior_t *posterior, const double *theta, double *grad);
/*
 * precision (d, d) <- Gauss-Newton approximation of the negative Hessian at the theta evaluated last, prior included;
 * positive semi-definite.
 */
void tacit_aware_posterior_precision(tacit_aware_posterior_t *posterior, const double *theta, double *precision);

/* ---- mode.c, walk.c ---- */

/* Move theta (d) to a mode; factor (d, d): lower factor of the inverse of the Gauss-Newton precision there. */
TACIT_MUST_USE tacit_status_t tacit_aware_mode(tacit_aware_posterior_t *posterior, double *theta, double *factor,
                                               tacit_error_t *err);
/* Hamiltonian Monte Carlo from around the mode into draws, which the caller has initialised. */
TACIT_MUST_USE tacit_status_t tacit_aware_walk(tacit_aware_posterior_t *posterior, const double *mode,
                                               const double *factor, tacit_draws_t *draws, tacit_error_t *err);

#endif
