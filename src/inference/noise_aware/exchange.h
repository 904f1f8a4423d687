/* Sites together: what the sampler sees of each, and the draws it makes of effects that are common to them or
 * differ. */
#ifndef TACIT_NOISE_AWARE_EXCHANGE_H
#define TACIT_NOISE_AWARE_EXCHANGE_H

#include "noise_aware/noise_aware_internal.h"

/* What a kind of site can be asked; theta (d) are its coefficients. */
typedef struct tacit_aware_site_kind {
  /* Log likelihood of its releases, up to a constant. */
  double (*log_likelihood)(void *site, const double *theta);
  /* A point (d) about where that is highest; its slope (d) and Gauss-Newton precision (d, d) there. */
  void (*look)(void *site, double *at, double *slope, double *precision);
  /*
   * Of sites with parameters besides the coefficients, a residual sd and what belongs to it, which enter the
   * likelihood: begin them, and draw them given the coefficients. log_sd: log of the residual sd. NULL: there
   * are none.
   */
  void (*begin)(void *site, const double *theta, tacit_rng_t *rng);
  void (*renew)(void *site, const double *theta, tacit_rng_t *rng);
  double (*log_sd)(void *site, const double *theta, tacit_rng_t *rng);
} tacit_aware_site_kind_t;

typedef struct tacit_aware_site {
  void *of;
  double n; /* records */
} tacit_aware_site_t;

/* What is asked for. */
typedef struct tacit_aware_together {
  const tacit_aware_site_kind_t *kind;
  const tacit_aware_site_t *sites; /* (n) */
  size_t n, d;
  const tacit_parameters_t *parameters; /* log sd of residuals is the last of them, where sites have one */
  const tacit_noise_aware_settings_t *settings;
  const tacit_feature_scale_t *scales; /* (d): of the features of all sites together; of a program sd: root of
                                          what a record tells of the parameter */
  double between; /* scale of spreads between sites, in the linear predictor's unit, of a program in 1 /
                     scales.sd; 0: effects are common */
} tacit_aware_together_t;

/*
 * Chains over effects (docs/theory.md, section 18.16), into draws of tacit_aware_together_columns(): the
 * parameters at the mean effects, or at the common ones, an sd being that of all records; of effects that
 * differ, a spread for each of the d coefficients, in its unit (of the intercept: at the features' means),
 * then each site's own parameters; of common ones each site's sd, if there is one. mean (d), cov (d, d): of
 * the kept mean effects, unconstrained.
 */
TACIT_MUST_USE tacit_status_t tacit_aware_together(const tacit_aware_together_t *of, tacit_draws_t *draws,
                                                   double *mean, double *cov, tacit_error_t *err);
size_t tacit_aware_together_columns(const tacit_aware_together_t *of);

/* ---- between exchange.c, which moves, and exchange_run.c ---- */

enum { TACIT_EXCHANGE_MAX = TACIT_NOISE_AWARE_MAX_NARROW };

/* A normal by its precision's lower factor and its mean. */
typedef struct tacit_normal {
  size_t d;
  double factor[TACIT_EXCHANGE_MAX * TACIT_EXCHANGE_MAX], mean[TACIT_EXCHANGE_MAX];
} tacit_normal_t;

/* Everything of one chain; effects are phi. */
typedef struct tacit_exchange {
  const tacit_aware_together_t *of;
  size_t n, d;
  double to_theta[TACIT_EXCHANGE_MAX * TACIT_EXCHANGE_MAX]; /* theta = to_theta phi */
  double unit[TACIT_EXCHANGE_MAX];                          /* reported unit of a spread, for one of phi */
  double *linear, *precision; /* (n, d), (n, d, d): of the normal near each site's likelihood, exp(linear phi
                                 - phi precision phi / 2) */
  double *phi, *z;            /* (n, d) */
  double *reported;           /* (n_reported) of one site */
  double mu[TACIT_EXCHANGE_MAX], log_tau[TACIT_EXCHANGE_MAX];
  tacit_normal_t common; /* around which common effects move */
  size_t n_looks;
  tacit_rng_t *rng;
} tacit_exchange_t;

/* The mean is precision^-1 linear; false if the precision has no factor. */
bool tacit_exchange_normal(tacit_normal_t *q, size_t d, const double *precision, const double *linear);
void tacit_exchange_theta(const tacit_exchange_t *e, const double *phi, double *theta);
/* Log prior of mean effects. */
double tacit_exchange_prior(const tacit_exchange_t *e, const double *mu);
/* Of all sites at mu + tau z. */
double tacit_exchange_likelihood(tacit_exchange_t *e, const double *mu, const double *log_tau);
/* precision (d, d) and linear (d), zeros, <- those of common effects. */
void tacit_exchange_sum(const tacit_exchange_t *e, double *precision, double *linear);
void tacit_exchange_iterate(tacit_exchange_t *e, size_t iteration);

#endif
