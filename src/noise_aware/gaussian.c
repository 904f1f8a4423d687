/*
 * Linear regression, release by release: each is located and scaled by those before it. The response's histogram; joint moments in the
 * cube; joint moments of whitened rows; histograms of norms and residuals, from which the last release's radii are chosen; the squares of
 * scores; joint moments again, from which the posterior is (docs/theory.md, 18.9).
 */
#include "noise_aware/gaussian.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "noise_aware/schedule.h"

/* The scale has failed where the mean square passes this share of the clamp's, or this share of residuals is beyond 5 sds. */
static const double square_most = 0.6, tail_most = 0.05;

static double multiplier(const tacit_gaussian_t *g, double share) {
  return schedule_multiplier(g->settings->rho, share);
}

/* ---- where the response is ---- */

static size_t n_cells_of(const tacit_gaussian_t *g) {
  double sd = 1 / (tacit_gaussian_mu(g->settings) * sqrt(g->shares.response)); /* of a count, over sqrt(2) */
  double bits = floor(log2(fmax(g->n / (sqrt(2) * sd) / 0.7, 1)));
  return (size_t)1 << (size_t)fmin(fmax(bits, 4), 8);
}

static tacit_status_t learn_location(tacit_gaussian_t *g, tacit_error_t *err) {
  double counts[GAUSSIAN_MAX_CELLS], edges[GAUSSIAN_MAX_CELLS], zero[GAUSSIAN_MAX] = {0}, unit = 1, noise_sd = 0;
  size_t n_cells = n_cells_of(g);
  for (size_t i = 0; i + 1 < n_cells; i++) {
    edges[i] = -1 + 2 * (double)(i + 1) / (double)n_cells;
  }
  const tacit_aware_cells_t at = {g->d, zero, &unit, NULL, n_cells - 1, edges};
  tacit_status_t status = tacit_aware_release_cells(g->curator, g->settings, multiplier(g, g->shares.response), &at, counts, &noise_sd, err);
  if (status == TACIT_OK) {
    g->location = tacit_locate(n_cells, counts, noise_sd, g->n);
  }
  return status;
}

/* ---- tails of rows and residuals ---- */

static tacit_status_t learn_norms(tacit_gaussian_t *g, tacit_error_t *err) {
  double counts[GAUSSIAN_NORM_EDGES + 1], edges[GAUSSIAN_NORM_EDGES], noise_sd = 0;
  for (size_t i = 0; i < GAUSSIAN_NORM_EDGES; i++) {
    edges[i] = tacit_norm_edges[i] * sqrt((double)g->d);
  }
  const tacit_aware_cells_t at = {g->d, NULL, NULL, g->inverse, GAUSSIAN_NORM_EDGES, edges};
  tacit_status_t status = tacit_aware_release_cells(g->curator, g->settings, multiplier(g, g->shares.tails / 2), &at, counts, &noise_sd, err);
  if (status == TACIT_OK) {
    tacit_norms_learn(&g->norms, g->d, counts, noise_sd, g->n);
  }
  return status;
}

static tacit_status_t learn_residuals(tacit_gaussian_t *g, tacit_error_t *err) {
  double counts[GAUSSIAN_RESIDUAL_EDGES + 1], edges[GAUSSIAN_RESIDUAL_EDGES], noise_sd = 0;
  memcpy(edges, tacit_residual_edges, sizeof edges);
  const tacit_aware_cells_t at = {g->d, g->theta, &g->scale, NULL, GAUSSIAN_RESIDUAL_EDGES, edges};
  tacit_status_t status = tacit_aware_release_cells(g->curator, g->settings, multiplier(g, g->shares.tails / 2), &at, counts, &noise_sd, err);
  if (status == TACIT_OK) {
    tacit_law_learn(&g->law, counts, noise_sd, g->n, g->count_error);
  }
  return status;
}

static tacit_status_t learn_tails(tacit_gaussian_t *g, tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  tacit_law_init(&g->law);
  if (g->shares.tails > 0) {
    status = learn_norms(g, err);
    if (status == TACIT_OK) {
      status = tacit_aware_may_start(g->settings, err);
    }
    if (status == TACIT_OK) {
      status = learn_residuals(g, err);
    }
  } else {
    tacit_norms_learn(&g->norms, g->d, NULL, 0, g->n);
    tacit_law_learn(&g->law, NULL, 0, g->n, g->count_error);
  }
  g->posterior.radii =
      tacit_choose_radii(&g->norms, &g->law, tacit_gaussian_mu(g->settings) * sqrt(g->shares.last), g->n);
  return status;
}

/* ---- the whole ---- */

double tacit_gaussian_scale_failure(const tacit_gaussian_t *g) {
  const tacit_linear_posterior_t *p = &g->posterior;
  double beyond = 0, most = p->radii.residual * p->radii.residual * square_most;
  for (size_t i = 0; i <= GAUSSIAN_RESIDUAL_EDGES; i++) { /* edges 2 and 20 are -5 and 5 */
    beyond += i <= 2 || i > 20 ? g->law.counts[i] : 0;
  }
  double tail = isfinite(g->law.noise_sd) ? (beyond - 2 * sqrt(6) * g->law.noise_sd) / g->n / tail_most : 0;
  return fmax(tail, (p->square - 2 * sqrt(p->square_var)) / most);
}

void tacit_gaussian_note(const tacit_gaussian_t *g, tacit_evidence_t *evidence) {
  const tacit_radii_t *radii = &g->posterior.radii;
  double sampling = g->law.sd / sqrt(g->n);
  snprintf(evidence->note, sizeof evidence->note,
           "In the last release whitened rows were weighted down to length %.2g sqrt(%zu), about %.2g of them by the released counts, and residuals "
           "clamped at %.3g sds. Intervals include what that may move where the line is not straight or errors are skewed: %.2g and, in "
           "the intercept, %.2g sampling standard deviations.",
           radii->rows / sqrt((double)g->d), g->d, tacit_norms_kept(&g->norms, radii->rows).touched, radii->residual,
           radii->shift_rows * sqrt(2 / (double)g->d) / sampling, radii->shift_intercept / sampling);
}

static void check(tacit_gaussian_t *g) {
  tacit_evidence_t *evidence = g->settings->evidence;
  double hidden, hidden_sd;
  if (evidence == NULL) {
    return;
  }
  tacit_aware_check_common(&(tacit_aware_common_t){g->d, g->parameters, g->settings, g->scales, g->mean, g->cov, g->mean_noise,
                                                   g->eigenvalue}, evidence);
  tacit_checks_add(&evidence->checks, TACIT_CHECK_SCALE_FAILED, SIZE_MAX, tacit_gaussian_scale_failure(g));
  tacit_law_hidden(&g->law, g->posterior.radii.residual, &hidden, &hidden_sd);
  if (g->dim > g->d) {
    tacit_checks_add(&evidence->checks, TACIT_CHECK_HIDDEN_TAILS, g->d, hidden);
  }
  tacit_gaussian_note(g, evidence);
}

/* n L N L' / sigma^2, N of whitened rows, as far as weights left them. */
void tacit_gaussian_add_information(const tacit_gaussian_t *g, double sigma, double *precision) {
  const tacit_linear_posterior_t *p = &g->posterior;
  size_t d = g->d;
  double product[GAUSSIAN_MAX * GAUSSIAN_MAX];
  tacit_multiply(d, d, d, p->factor, p->moments, product);
  for (size_t a = 0; a < d * d; a++) {
    precision[a] += tacit_dot(d, product + a / d * d, p->factor + a % d * d) * g->n / (sigma * sigma * p->kept_twice);
  }
}

static void compare_to_none(tacit_gaussian_t *g, const tacit_draws_t *draws) {
  size_t d = g->d, n_kept = tacit_draws_n_kept(draws), n_draws = 0;
  double theta[GAUSSIAN_MAX + 1] = {0}, unit[GAUSSIAN_MAX + 1], precision[GAUSSIAN_MAX * GAUSSIAN_MAX] = {0}, sigma = 0;
  if (g->dim > d) {
    g->parameters->report(g->parameters->ctx, theta, unit); /* sigma last, of log sigma 0 */
    for (size_t i = 0; i < draws->n_chains * n_kept; i++, n_draws++) {
      size_t row = i / n_kept * (draws->n_warmup + draws->n_draws) + draws->n_warmup + i % n_kept;
      sigma += draws->values[row * draws->n_reported + d] / unit[d];
    }
  }
  tacit_gaussian_add_information(g, n_draws > 0 ? sigma / (double)n_draws : g->posterior.known_sd, precision);
  tacit_aware_noise_factors(&(tacit_aware_common_t){g->d, g->parameters, g->settings, g->scales, g->mean, g->cov, g->mean_noise, g->eigenvalue},
                            precision);
}

tacit_status_t tacit_gaussian_learn(tacit_gaussian_t *g, tacit_curator_t *curator, const tacit_parameters_t *parameters,
                                    const tacit_noise_aware_settings_t *settings, tacit_aware_count_t count, tacit_error_t *err) {
  tacit_status_t (*const steps[])(tacit_gaussian_t *, tacit_error_t *) = {learn_location, tacit_gaussian_learn_cube,
                                                                          tacit_gaussian_learn_whitened, learn_tails,
                                                                          tacit_gaussian_learn_last};
  g->curator = curator;
  g->parameters = parameters;
  g->settings = settings;
  g->shares = tacit_gaussian_shares(settings);
  g->dim = parameters->dim;
  g->d = parameters->dim - (settings->known_sd > 0 ? 0 : 1);
  g->n = count.n;
  g->count_error = count.error;
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < sizeof steps / sizeof steps[0] && status == TACIT_OK; i++) {
    status = tacit_aware_may_start(settings, err);
    status = status == TACIT_OK ? steps[i](g, err) : status;
  }
  const tacit_location_t *at = &g->location;
  g->scales[0] = (tacit_feature_scale_t){at->mean, fmin(1, sqrt(at->sd * at->sd + 2 * at->square_error)), at->mean_error};
  return status;
}

tacit_status_t tacit_aware_gaussian(tacit_curator_t *curator, const tacit_parameters_t *parameters,
                                    const tacit_noise_aware_settings_t *settings, tacit_aware_count_t count, tacit_draws_t *draws,
                                    tacit_error_t *err) {
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
    check(g);
    compare_to_none(g, draws);
  }
  tacit_free(g);
  return status;
}
