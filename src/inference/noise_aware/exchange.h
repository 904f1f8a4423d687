/* Sites together: effects that are common to them or differ. exchange.c moves chains, exchange_run.c begins
 * and keeps them. */
#ifndef TACIT_NOISE_AWARE_EXCHANGE_H
#define TACIT_NOISE_AWARE_EXCHANGE_H

#include "noise_aware/engine.h"

enum { TACIT_EXCHANGE_MAX = TACIT_NOISE_AWARE_MAX_NARROW };

/* A normal by its precision's lower factor and its mean. */
typedef struct tacit_normal {
  size_t d;
  double factor[TACIT_EXCHANGE_MAX * TACIT_EXCHANGE_MAX], mean[TACIT_EXCHANGE_MAX];
} tacit_normal_t;

/* Everything of one chain; effects are phi. */
typedef struct tacit_exchange {
  tacit_aware_fit_t *of;
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
