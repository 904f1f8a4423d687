/*
 * Linear regression, release by release: each is located and scaled by those before it. Counts of every
 * column; joint moments of rows in units of their columns; joint moments of whitened rows; lengths of rows
 * and of scores, by which bands are chosen; rows in bands, and scores in bands, from which the posterior is
 * (docs/theory.md, 18.9). Of units of several rows each number is the mean over a unit's rows, and first is
 * how many rows units have.
 */
#include "base/error.h"
#include "diagnose/diagnose.h"
#include "noise_aware/gaussian.h"

#include <math.h>
#include <string.h>

enum { D = GAUSSIAN_MAX, MAX_TRIES = 200 };

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

/* out (d, d) <- L middle L' */
static void put_in_frame(const tacit_gaussian_t *g, const double *middle, double *out) {
  double product[D * D];
  tacit_sandwich(g->d, g->posterior.factor, middle, product, out);
}

/* n L N L' / sigma^2, N of whitened rows: that of least squares; of units of several rows the sandwich's,
 * which has no sigma. */
static void add_least_squares(const tacit_gaussian_t *g, double sigma, double *precision) {
  double product[D * D], inner[D * D];
  bool is_by_scores = g->square_weight > 0 && weigh_by_scores(g, inner);
  double sd = is_by_scores ? g->scale : sigma;
  put_in_frame(g, is_by_scores ? inner : g->posterior.moments, product);
  for (size_t a = 0; a < g->d * g->d; a++) {
    precision[a] += product[a] * g->n / (sd * sd);
  }
}

/*
 * Somewhat more than slopes of d - 1 features that together explain what moments of whitened rows say, their
 * error included, in sds of the response. Where features are independent each has that root mean square; not
 * below what a small effect is, so that a slope beside others of no effect is not denied.
 */
static double usual_effect(const tacit_gaussian_t *g, double response_sd) {
  const double wider = 1.25, least = 0.2, most = 1.25;
  double found = sqrt(g->explained / fmax((double)g->d - 1, 1)) / response_sd;
  return fmin(fmax(wider * found, least), most);
}

/*
 * Everything but draws. By how many rows units have goes the weight of residuals beside scores, whose mean
 * square is d times something between `kept`, of independent rows, and 1, of rows that are alike: d times the
 * root of that. A larger weight costs coefficients, a smaller one the mean square of residuals.
 */
static tacit_status_t learn_features(tacit_aware_site_t *site, tacit_error_t *err) {
  tacit_status_t (*const steps[])(tacit_gaussian_t *, tacit_error_t *) = {
      tacit_gaussian_learn_columns, tacit_gaussian_learn_first, tacit_gaussian_learn_whitened,
      tacit_gaussian_learn_bands};
  tacit_gaussian_t *g = site->of;
  const tacit_noise_aware_settings_t *settings = site->settings;
  double all, root;
  g->curator = site->curator;
  g->parameters = site->parameters;
  g->settings = settings;
  g->scales = site->scales;
  g->shares = tacit_gaussian_shares(settings);
  g->dim = site->parameters->dim;
  g->d = g->dim - tacit_gaussian_has_sd(settings);
  g->n = site->count.n;
  g->count_error = site->count.error;
  tacit_aware_weigh(&site->unit_rows, 1, &all, &root);
  g->kept = root * root;
  g->square_weight = tacit_aware_has_clusters(settings) ? sqrt((double)g->d * root) : 0;
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < sizeof steps / sizeof steps[0] && status == TACIT_OK; i++) {
    status = tacit_aware_may_start(settings, err);
    TACIT_THEN(status, steps[i](g, err));
  }
  const tacit_location_t *at = &g->location;
  double sd = fmin(1, sqrt(at->sd * at->sd + 2 * at->square_error));
  site->scales[0] = (tacit_feature_scale_t){
      .mean = at->mean, .sd = sd, .relative_error = at->mean_error, .effect = usual_effect(g, sd)};
  site->mean_noise = g->mean_noise;
  site->eigenvalue = g->eigenvalue;
  return status;
}

static void scores_at(const tacit_aware_site_t *site, tacit_aware_scores_at_t *at) {
  tacit_gaussian_t *g = site->of;
  at->linear = (tacit_linear_point_t){g->d, g->inverse, g->theta, g->scale, 0};
  at->banded = (tacit_aware_banded_t){
      .of = tacit_linear_scores(&at->linear),
      .n_parts = 3,
      .parts = {{"whiten", g->d * g->d, g->inverse}, {"theta", g->d, g->theta}, {"scale", 1, &g->scale}}};
}

/* ---- the likelihood: coefficients are common to sites, or differ; a site's residuals have their own sd,
 * which is drawn given its coefficients: log t, in which they do not trade off (docs/theory.md, 18.9) ---- */

/* Its own prior of log sigma included: that of coefficients is taken off, since it counts once for all sites.
 */
static double log_likelihood(void *of, const double *theta) {
  tacit_gaussian_t *g = of;
  double at[D + 1] = {0};
  memcpy(at, theta, g->d * sizeof *at);
  tacit_linear_map(&g->posterior, theta, g->chain.point);
  double value = tacit_linear_log_density(&g->posterior, g->chain.point);
  return value - g->parameters->log_prior(g->parameters->ctx, at, NULL);
}

/* Precision of theta: (L / s) P (L / s)'. */
static void look(void *of, double *at, double *slope, double *precision) {
  tacit_linear_posterior_t *p = &((tacit_gaussian_t *)of)->posterior;
  size_t d = p->d;
  double inner[D * D], product[D * D];
  tacit_linear_look(p, at, inner);
  for (size_t i = 0; i < d; i++) {
    at[i] *= p->scale;
    slope[i] = 0;
  }
  tacit_solve_upper(d, p->factor, at);
  tacit_sandwich(d, p->factor, inner, product, precision);
  for (size_t i = 0; i < d; i++) {
    at[i] += p->theta[i];
  }
  for (size_t i = 0; i < d * d; i++) {
    precision[i] /= p->scale * p->scale;
  }
}

/* Where the coefficients leave no room for sigma, log t rises until they do. */
static void begin(void *of, const double *theta, tacit_rng_t *rng) {
  tacit_gaussian_t *g = of;
  tacit_linear_chain_t *c = &g->chain;
  *c = (tacit_linear_chain_t){.p = &g->posterior, .rng = rng};
  c->point[g->d] = 0.5 * log(c->p->square) + 0.1 * tacit_rng_normal(rng);
  for (int i = 0; i < MAX_TRIES && !isfinite(log_likelihood(of, theta)); i++) {
    c->point[g->d] += 0.1;
  }
}

static void renew(void *of, const double *theta, tacit_rng_t *rng) {
  tacit_gaussian_t *g = of;
  tacit_linear_chain_t *c = &g->chain;
  double axis[TACIT_LINEAR_MAX] = {0};
  axis[g->d] = 0.1;
  c->rng = rng;
  tacit_linear_map(c->p, theta, c->point);
  c->value = tacit_linear_log_density(c->p, c->point);
  if (g->dim > g->d) {
    tacit_linear_slice(c, axis);
  }
}

static double log_sd(void *of, const double *theta) {
  tacit_gaussian_t *g = of;
  double all[TACIT_LINEAR_MAX];
  tacit_linear_map(g->chain.p, theta, g->chain.point);
  (void)tacit_linear_unmap(g->chain.p, g->chain.point, all);
  return all[g->d];
}

/* By theta, log sigma last. */
static double log_density(void *of, const double *theta) {
  tacit_linear_posterior_t *p = &((tacit_gaussian_t *)of)->posterior;
  double point[GAUSSIAN_MAX + 1];
  return tacit_linear_place(p, theta, point)
             ? tacit_linear_log_density(p, point) -
                   2 * (p->dim > p->d ? point[p->d] + log(p->scale) - theta[p->d] : 0)
             : -INFINITY;
}

/* ---- the fit ---- */

/* Features, and first the response, whose mean's error is that of a sum; spreads are in its sds. */
static double pool(tacit_aware_fit_t *fit) {
  double error = 0, units = 0;
  tacit_aware_pool_scales(fit);
  for (size_t i = 0; i < fit->n; i++) {
    error = hypot(error, fit->sites[i].count.n * fit->sites[i].scales->relative_error);
    units += fit->sites[i].count.n;
  }
  fit->scales->relative_error = error / units;
  return fit->scales->sd;
}

/* Of one site alone: tacit_aware_together() draws others. */
static tacit_status_t draw(tacit_aware_fit_t *fit, tacit_error_t *err) {
  return tacit_linear_walk(&((tacit_gaussian_t *)fit->sites->of)->posterior, fit->common.settings, fit->draws,
                           fit->mean, fit->cov, err);
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

/* By the site's own sd: of one alone that of all. */
static bool add_information(const tacit_aware_fit_t *fit, size_t i, double *precision) {
  const tacit_gaussian_t *g = fit->sites[i].of;
  double zero[D + 1] = {0}, unit[D + 1], sigma = g->posterior.known_sd;
  if (g->dim > g->d) {
    g->parameters->report(g->parameters->ctx, zero, unit); /* sigma last, of log sigma 0 */
    sigma = mean_sd(fit->draws, g->d + (fit->is_combined ? 1 + i : 0), unit[g->d]);
  }
  add_least_squares(g, sigma, precision);
  return true;
}

/* Of scores x (y - x . theta_1) / s_1: by whitened rows and squares of scores. */
static bool find_sampling(const tacit_aware_fit_t *fit, size_t i, double *slope, double *cov) {
  const tacit_gaussian_t *g = fit->sites[i].of;
  put_in_frame(g, g->posterior.moments, slope);
  put_in_frame(g, g->tails.squares, cov);
  for (size_t a = 0; a < g->d * g->d; a++) {
    slope[a] *= g->n / g->scale;
    cov[a] *= g->n;
  }
  return true;
}

/* What is worst at a site is told of all. */
static tacit_status_t conclude(const tacit_aware_fit_t *fit, tacit_evidence_t *evidence, tacit_error_t *err) {
  const tacit_gaussian_t *first = fit->sites->of;
  double doubt = 0;
  (void)err;
  for (size_t i = 0; i < fit->n; i++) {
    doubt = fmax(doubt, tacit_gaussian_tail_doubt(fit->sites[i].of, fit->cov));
  }
  tacit_aware_check_common(&fit->common, evidence);
  tacit_checks_add(&evidence->checks, TACIT_CHECK_TAILS, SIZE_MAX, doubt);
  if (!fit->is_combined) {
    tacit_checks_add_of(&evidence->checks, TACIT_CHECK_WIDE_BOUNDS, "residuals", first->scale);
  }
  if (!fit->is_combined && first->dim > first->d) {
    tacit_checks_add(&evidence->checks, TACIT_CHECK_SIGMA_UNKNOWN, SIZE_MAX,
                     tacit_gaussian_square_error(first));
  }
  tacit_gaussian_note(first, evidence);
  return TACIT_OK;
}

/* second (d, d) <- L N L', N with its entries' errors drawn. */
static void draw_second(const tacit_gaussian_t *g, tacit_rng_t *rng, double *second) {
  size_t d = g->d;
  double moments[D * D];
  for (size_t i = 0; i < d; i++) {
    for (size_t j = 0; j <= i; j++) {
      moments[i * d + j] = moments[j * d + i] =
          g->posterior.moments[i * d + j] + sqrt(g->posterior.variances[i * d + j]) * tacit_rng_normal(rng);
    }
  }
  put_in_frame(g, moments, second);
}

static tacit_status_t draw_moments(tacit_aware_site_t *site, tacit_rng_t *rng, double *mean, double *cov,
                                   tacit_error_t *err) {
  tacit_gaussian_t *g = site->of;
  tacit_status_t status = learn_features(site, err);
  if (status == TACIT_OK) {
    double second[D * D];
    site->scales[0] = (tacit_feature_scale_t){0};
    draw_second(g, rng, second);
    tacit_shape_from(&(tacit_shape_t){.p = g->d - 1, .mean = mean, .cov = cov}, second);
  }
  return status;
}

const tacit_aware_provider_t tacit_provider_gaussian = {.events = tacit_gaussian_events,
                                                        .inflation = tacit_gaussian_inflation,
                                                        .inflation_poor = tacit_gaussian_inflation_poor,
                                                        .check_budget = tacit_gaussian_check_budget,
                                                        .is_noisy = tacit_gaussian_is_noisy,
                                                        .most = tacit_gaussian_most,
                                                        .has_sd = tacit_gaussian_has_sd,
                                                        .check = tacit_gaussian_check,
                                                        .is_regression = true,
                                                        .counts_unit_rows = true,
                                                        .size = sizeof(tacit_gaussian_t),
                                                        .learn_features = learn_features,
                                                        .scores_at = scores_at,
                                                        .log_likelihood = log_likelihood,
                                                        .look = look,
                                                        .begin = begin,
                                                        .renew = renew,
                                                        .log_sd = log_sd,
                                                        .log_density = log_density,
                                                        .pool = pool,
                                                        .draw = draw,
                                                        .add_information = add_information,
                                                        .sampling = find_sampling,
                                                        .conclude = conclude,
                                                        .draw_moments = draw_moments};
