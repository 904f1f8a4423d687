/*
 * Linear regression, release by release: each is located and scaled by those before it. Counts of every
 * column; joint moments of rows in units of their columns; joint moments of whitened rows; lengths of rows
 * and of scores, by which bands are chosen; rows in bands, and scores in bands, from which the posterior is
 * (docs/theory.md, 18.9). Of units of several rows each number is the mean over a unit's rows, and first is
 * how many rows units have.
 */
#include "base/error.h"
#include "base/memory.h"
#include "diagnose/diagnose.h"
#include "noise_aware/effects.h"
#include "noise_aware/gaussian.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void check_gaussian(tacit_gaussian_t *g) {
  tacit_evidence_t *evidence = g->settings->evidence;
  if (evidence == NULL) {
    return;
  }
  tacit_aware_check_common(&(tacit_aware_common_t){g->d, g->parameters, g->settings, g->scales, g->mean,
                                                   g->cov, g->mean_noise, g->eigenvalue},
                           evidence);
  tacit_checks_add(&evidence->checks, TACIT_CHECK_TAILS, SIZE_MAX, tacit_gaussian_tail_doubt(g, g->cov));
  tacit_checks_add_of(&evidence->checks, TACIT_CHECK_WIDE_BOUNDS, "residuals", g->scale);
  if (g->dim > g->d) {
    tacit_checks_add(&evidence->checks, TACIT_CHECK_SIGMA_UNKNOWN, SIZE_MAX, tacit_gaussian_square_error(g));
  }
  tacit_gaussian_note(g, evidence);
}

/* inner (d, d) <- N M^-1 N: N of whitened rows, M of scores. False where M is not positive. */
static bool weigh_by_scores(const tacit_gaussian_t *g, double *inner) {
  size_t d = g->d;
  const double *moments = g->posterior.moments;
  double factor[GAUSSIAN_MAX * GAUSSIAN_MAX], half[GAUSSIAN_MAX * GAUSSIAN_MAX];
  memcpy(factor, g->tails.squares, d * d * sizeof *factor);
  if (!tacit_cholesky(d, factor)) {
    return false;
  }
  memcpy(half, moments, d * d * sizeof *half);
  for (size_t j = 0; j < d; j++) { /* row j: factor^-1 of column j of N */
    tacit_solve_lower(d, factor, half + j * d);
  }
  for (size_t a = 0; a < d * d; a++) {
    inner[a] = tacit_dot(d, half + a / d * d, half + a % d * d);
  }
  return true;
}

/* n L N L' / sigma^2, N of whitened rows; of units of several rows the sandwich's, which has no sigma. */
void tacit_gaussian_add_information(const tacit_gaussian_t *g, double sigma, double *precision) {
  const tacit_linear_posterior_t *p = &g->posterior;
  size_t d = g->d;
  double product[GAUSSIAN_MAX * GAUSSIAN_MAX], inner[GAUSSIAN_MAX * GAUSSIAN_MAX];
  bool is_by_scores = g->square_weight > 0 && weigh_by_scores(g, inner);
  double sd = is_by_scores ? g->scale : sigma;
  tacit_multiply(d, d, d, p->factor, is_by_scores ? inner : p->moments, product);
  for (size_t a = 0; a < d * d; a++) {
    precision[a] += tacit_dot(d, product + a / d * d, p->factor + a % d * d) * g->n / (sd * sd);
  }
}

static void compare_to_none(tacit_gaussian_t *g, const tacit_draws_t *draws) {
  size_t d = g->d, n_kept = tacit_draws_n_kept(draws), n_draws = 0;
  double theta[GAUSSIAN_MAX + 1] = {0}, unit[GAUSSIAN_MAX + 1], precision[GAUSSIAN_MAX * GAUSSIAN_MAX] = {0},
                              sigma = 0;
  if (g->dim > d) {
    g->parameters->report(g->parameters->ctx, theta, unit); /* sigma last, of log sigma 0 */
    for (size_t i = 0; i < draws->n_chains * n_kept; i++, n_draws++) {
      size_t row = i / n_kept * (draws->n_warmup + draws->n_draws) + draws->n_warmup + i % n_kept;
      sigma += draws->values[row * draws->n_reported + d] / unit[d];
    }
  }
  tacit_gaussian_add_information(g, n_draws > 0 ? sigma / (double)n_draws : g->posterior.known_sd, precision);
  tacit_aware_noise_factors(&(tacit_aware_common_t){g->d, g->parameters, g->settings, g->scales, g->mean,
                                                    g->cov, g->mean_noise, g->eigenvalue},
                            precision);
}

/* How many rows units have, and by it the weight of residuals beside scores, whose mean square is d times
 * something between `kept`, of independent rows, and 1, of rows that are alike: d times the root of that. A
 * larger weight costs coefficients, a smaller one the mean square of residuals. */
static tacit_status_t learn_rows(tacit_gaussian_t *g, tacit_aware_count_t count, tacit_error_t *err) {
  tacit_unit_rows_t rows;
  double all, root;
  tacit_status_t status = tacit_aware_learn_rows(g->curator, g->settings, count, &rows, err);
  tacit_aware_weigh(&rows, 1, &all, &root);
  g->kept = root * root;
  g->square_weight = tacit_aware_has_clusters(g->settings) ? sqrt((double)g->d * root) : 0;
  return status;
}

tacit_status_t tacit_gaussian_learn(tacit_gaussian_t *g, tacit_curator_t *curator,
                                    const tacit_parameters_t *parameters,
                                    const tacit_noise_aware_settings_t *settings, tacit_aware_count_t count,
                                    tacit_error_t *err) {
  tacit_status_t (*const steps[])(tacit_gaussian_t *, tacit_error_t *) = {
      tacit_gaussian_learn_columns, tacit_gaussian_learn_first, tacit_gaussian_learn_whitened,
      tacit_gaussian_learn_bands};
  g->curator = curator;
  g->parameters = parameters;
  g->settings = settings;
  g->shares = tacit_gaussian_shares(settings);
  g->dim = parameters->dim;
  g->d = parameters->dim - (settings->known_sd > 0 ? 0 : 1);
  g->n = count.n;
  g->count_error = count.error;
  tacit_status_t status = learn_rows(g, count, err);
  for (size_t i = 0; i < sizeof steps / sizeof steps[0] && status == TACIT_OK; i++) {
    status = tacit_aware_may_start(settings, err);
    TACIT_THEN(status, steps[i](g, err));
  }
  const tacit_location_t *at = &g->location;
  g->scales[0] = (tacit_feature_scale_t){at->mean, fmin(1, sqrt(at->sd * at->sd + 2 * at->square_error)),
                                         at->mean_error};
  return status;
}

/* By theta, log sigma last. */
static double log_density(void *posterior, const double *theta) {
  tacit_linear_posterior_t *p = posterior;
  double point[GAUSSIAN_MAX + 1];
  return tacit_linear_place(p, theta, point)
             ? tacit_linear_log_density(p, point) -
                   2 * (p->dim > p->d ? point[p->d] + log(p->scale) - theta[p->d] : 0)
             : -INFINITY;
}

/* mean and cov (dim, dim) of theta, log sigma taken to be independent of the others. */
static void moments(const tacit_gaussian_t *g, const tacit_draws_t *draws, double *mean, double *cov) {
  size_t d = g->d, dim = g->dim, n_kept = tacit_draws_n_kept(draws), n = 0;
  double theta[GAUSSIAN_MAX + 1] = {0}, unit[GAUSSIAN_MAX + 1], square = 0;
  memcpy(mean, g->mean, d * sizeof *mean);
  for (size_t i = 0; i < d * d; i++) {
    cov[i / d * dim + i % d] = g->cov[i];
  }
  if (dim == d) {
    return;
  }
  g->parameters->report(g->parameters->ctx, theta, unit);
  for (size_t i = 0; i < draws->n_chains * n_kept; i++) {
    size_t row = i / n_kept * (draws->n_warmup + draws->n_draws) + draws->n_warmup + i % n_kept;
    double log_sigma = log(draws->values[row * draws->n_reported + d] / unit[d]), from = log_sigma - mean[d];
    mean[d] += from / (double)++n;
    square += from * (log_sigma - mean[d]);
  }
  cov[d * dim + d] = n > 1 ? square / (double)(n - 1) : 1;
}

static tacit_status_t draw_effects(tacit_gaussian_t *g, tacit_draws_t *draws, tacit_error_t *err) {
  double mean[GAUSSIAN_MAX + 1] = {0}, cov[(GAUSSIAN_MAX + 1) * (GAUSSIAN_MAX + 1)] = {0};
  moments(g, draws, mean, cov);
  return tacit_effects_walk(
      &(tacit_effects_start_t){g->dim, mean, cov, log_density, &g->posterior, g->parameters, g->settings},
      draws, err);
}

tacit_status_t tacit_aware_gaussian(tacit_curator_t *curator, const tacit_parameters_t *parameters,
                                    const tacit_noise_aware_settings_t *settings, tacit_aware_count_t count,
                                    tacit_draws_t *draws, tacit_error_t *err) {
  tacit_gaussian_t *g = tacit_alloc_zero(1, sizeof *g);
  if (g == NULL) {
    return tacit_error_memory(err);
  }
  tacit_status_t status = tacit_gaussian_learn(g, curator, parameters, settings, count, err);
  if (status == TACIT_OK) {
    if (settings->scaled != NULL) {
      settings->scaled(settings->prior_user, g->scales);
    }
    status = tacit_linear_walk(&g->posterior, settings, draws, g->mean, g->cov, err);
  }
  if (status == TACIT_OK) {
    check_gaussian(g);
    compare_to_none(g, draws);
  }
  if (settings->effects != NULL) {
    TACIT_THEN(status, draw_effects(g, draws, err));
  }
  tacit_free(g);
  return status;
}
