/*
 * Linear regressions of several sites. Coefficients are common, or differ; a site's residuals have their own
 * sd, which is drawn given its coefficients: log t, in which they do not trade off (docs/theory.md, 18.9).
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "diagnose/diagnose.h"
#include "noise_aware/gaussian.h"
#include "noise_aware/sites.h"

enum { D = GAUSSIAN_MAX, MAX_TRIES = 200 };

typedef struct linear_site {
  tacit_gaussian_t g;
  tacit_linear_chain_t chain; /* its point is that of the coefficients looked at last */
} linear_site_t;

/* ---- one of them, as the sampler asks ---- */

/* Its own prior of log sigma included: that of coefficients is taken off, since it counts once for all sites.
 */
static double log_likelihood(void *site, const double *theta) {
  linear_site_t *s = site;
  double at[D + 1] = {0};
  memcpy(at, theta, s->g.d * sizeof *at);
  tacit_linear_map(&s->g.posterior, theta, s->chain.point);
  double value = tacit_linear_log_density(&s->g.posterior, s->chain.point);
  return value - s->g.parameters->log_prior(s->g.parameters->ctx, at, NULL);
}

/* Precision of theta: (L / s) P (L / s)'. */
static void look(void *site, double *at, double *slope, double *precision) {
  tacit_linear_posterior_t *p = &((linear_site_t *)site)->g.posterior;
  size_t d = p->d;
  double inner[D * D], product[D * D];
  tacit_linear_look(p, at, inner);
  for (size_t i = 0; i < d; i++) {
    at[i] *= p->scale;
    slope[i] = 0;
  }
  tacit_solve_upper(d, p->factor, at);
  tacit_multiply(d, d, d, p->factor, inner, product);
  for (size_t i = 0; i < d; i++) {
    at[i] += p->theta[i];
  }
  for (size_t i = 0; i < d * d; i++) {
    precision[i] = tacit_dot(d, product + i / d * d, p->factor + i % d * d) / (p->scale * p->scale);
  }
}

/* Where the coefficients leave no room for sigma, log t rises until they do. */
static void begin(void *site, const double *theta, tacit_rng_t *rng) {
  linear_site_t *s = site;
  tacit_linear_chain_t *c = &s->chain;
  *c = (tacit_linear_chain_t){.p = &s->g.posterior, .rng = rng};
  c->point[s->g.d] = 0.5 * log(c->p->square) + 0.1 * tacit_rng_normal(rng);
  for (int i = 0; i < MAX_TRIES && !isfinite(log_likelihood(site, theta)); i++) {
    c->point[s->g.d] += 0.1;
  }
}

static void renew(void *site, const double *theta, tacit_rng_t *rng) {
  linear_site_t *s = site;
  tacit_linear_chain_t *c = &s->chain;
  double axis[TACIT_LINEAR_MAX] = {0};
  axis[s->g.d] = 0.1;
  c->rng = rng;
  tacit_linear_map(c->p, theta, c->point);
  c->value = tacit_linear_log_density(c->p, c->point);
  if (s->g.dim > s->g.d) {
    tacit_linear_slice(c, axis);
  }
}

static double log_sd(void *site, const double *theta, tacit_rng_t *rng) {
  linear_site_t *s = site;
  double all[TACIT_LINEAR_MAX];
  (void)rng;
  tacit_linear_map(s->chain.p, theta, s->chain.point);
  (void)tacit_linear_unmap(s->chain.p, s->chain.point, all);
  return all[s->g.d];
}

static const tacit_aware_site_kind_t linear = {log_likelihood, look, begin, renew, log_sd};

/* ---- all of them ---- */

/* Of n sites. */
typedef struct linear_sites {
  linear_site_t *sites;
  tacit_aware_site_t *as;
  const tacit_feature_scale_t **scales;
  double *n;
} linear_sites_t;

static void clear(linear_sites_t *all) {
  tacit_free(all->sites);
  tacit_free(all->as);
  tacit_free(all->scales);
  tacit_free(all->n);
}

static tacit_status_t learn(linear_sites_t *all, const tacit_noise_aware_settings_t *settings,
                            const tacit_aware_together_t *together, tacit_error_t *err) {
  *all = (linear_sites_t){
      tacit_alloc_zero(together->n, sizeof *all->sites), tacit_alloc(together->n, sizeof *all->as),
      tacit_alloc(together->n, sizeof *all->scales), tacit_alloc(together->n, sizeof *all->n)};
  bool ok = all->sites != NULL && all->as != NULL && all->scales != NULL && all->n != NULL;
  tacit_status_t status = ok ? TACIT_OK : tacit_error_memory(err);
  for (size_t i = 0; i < together->n && status == TACIT_OK; i++) {
    tacit_gaussian_t *g = &all->sites[i].g;
    tacit_aware_count_t count;
    status = tacit_aware_learn_count(NULL, &settings[i], &count, err);
    TACIT_THEN(status, tacit_gaussian_learn(g, NULL, together->parameters, &settings[i], count, err));
    all->as[i] = (tacit_aware_site_t){&all->sites[i], g->n};
    all->scales[i] = g->scales;
    all->n[i] = g->n;
  }
  return status;
}

/* Features, and first the response, whose mean's error is that of a sum. */
static void pool(const linear_sites_t *all, size_t n, size_t d, tacit_feature_scale_t *pooled) {
  double error = 0, units = 0;
  tacit_aware_pool_scales(all->scales, all->n, n, d, pooled);
  for (size_t i = 0; i < n; i++) {
    error = hypot(error, all->n[i] * all->scales[i]->relative_error);
    units += all->n[i];
  }
  pooled->relative_error = error / units;
}

/* Mean over the draws of a reported column, in units of it at 0. */
static double mean_sd(const tacit_draws_t *draws, size_t column, double unit) {
  size_t n_kept = tacit_draws_n_kept(draws), n = n_kept * draws->n_chains;
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += tacit_draws_row(draws, i / n_kept, draws->n_warmup + i % n_kept)[column] / unit;
  }
  return sum / (double)n;
}

/* Least squares of all sites' records, each with its own sd. */
static void compare_to_none(const linear_sites_t *all, const tacit_aware_together_t *of,
                            const tacit_aware_common_t *common, const tacit_draws_t *draws) {
  double precision[D * D] = {0}, zero[D + 1] = {0}, unit[D + 1];
  of->parameters->report(of->parameters->ctx, zero, unit);
  for (size_t i = 0; i < of->n; i++) {
    const tacit_gaussian_t *g = &all->sites[i].g;
    double sd = g->dim > g->d ? mean_sd(draws, g->d + 1 + i, unit[g->d]) : g->posterior.known_sd;
    tacit_gaussian_add_information(g, sd, precision);
  }
  tacit_aware_noise_factors(common, precision);
}

/* What is worst at a site is told of all. */
static void check_gaussian_sites(const linear_sites_t *all, const tacit_aware_together_t *of,
                                 const double *mean, const double *cov, const tacit_draws_t *draws) {
  double mean_noise = 0, units = 0, eigenvalue = INFINITY, doubt = 0;
  tacit_evidence_t *evidence = of->settings->evidence;
  for (size_t i = 0; i < of->n; i++) {
    const tacit_gaussian_t *g = &all->sites[i].g;
    mean_noise = hypot(mean_noise, g->n * g->mean_noise);
    units += g->n;
    eigenvalue = fmin(eigenvalue, g->eigenvalue);
    doubt = fmax(doubt, tacit_gaussian_tail_doubt(g, cov));
  }
  if (evidence == NULL) {
    return;
  }
  const tacit_aware_common_t common = {of->d, of->parameters,     of->settings, of->scales, mean,
                                       cov,   mean_noise / units, eigenvalue};
  tacit_aware_check_common(&common, evidence);
  tacit_checks_add(&evidence->checks, TACIT_CHECK_TAILS, SIZE_MAX, doubt);
  tacit_gaussian_note(&all->sites[0].g, evidence);
  if (!(of->between > 0)) { /* else intervals are wide by what sites differ */
    compare_to_none(all, of, &common, draws);
  }
}

tacit_status_t tacit_gaussian_combine(const tacit_noise_aware_settings_t *settings,
                                      tacit_aware_together_t *together, tacit_feature_scale_t *scales,
                                      tacit_draws_t *draws, tacit_error_t *err) {
  linear_sites_t all;
  double mean[D] = {0}, cov[D * D] = {0};
  tacit_status_t status = learn(&all, settings, together, err);
  if (status == TACIT_OK) {
    pool(&all, together->n, together->d, scales);
    together->kind = &linear;
    together->sites = all.as;
    together->between *= scales[0].sd; /* in sds of the response */
    if (settings->scaled != NULL) {
      settings->scaled(settings->prior_user, scales);
    }
    status = tacit_aware_together(together, draws, mean, cov, err);
  }
  if (status == TACIT_OK) {
    check_gaussian_sites(&all, together, mean, cov, draws);
  }
  clear(&all);
  return status;
}
