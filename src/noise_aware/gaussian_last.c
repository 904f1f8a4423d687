/* The last release of a linear regression, the squares of scores, and what the posterior needs of them. */
#include "noise_aware/gaussian.h"

#include <math.h>
#include <string.h>

#include "base/fault.h"
#include "noise_aware/schedule.h"

enum { MAX = GAUSSIAN_MAX, JOINT = GAUSSIAN_JOINT };

/* Radii of the squares of scores are no larger, rows in sqrt(d). */
static const double square_rows = 1.6, square_residual = 3.5;

/* a (d, d) <- half of itself and half of its transpose. */
static void symmetrise(size_t d, double *a) {
  for (size_t i = 0; i < d; i++) {
    for (size_t j = i + 1; j < d; j++) {
      a[i * d + j] = a[j * d + i] = 0.5 * (a[i * d + j] + a[j * d + i]);
    }
  }
}

/* a (d, d) <- A a A' for lower triangular A. */
static void sandwich(size_t d, const double *lower, double *a) {
  double product[MAX * MAX];
  tacit_multiply(d, d, d, lower, a, product);
  for (size_t i = 0; i < d * d; i++) {
    a[i] = tacit_dot(d, product + i / d * d, lower + i % d * d);
  }
  symmetrise(d, a);
}

/* ---- how much the score varies ---- */

typedef struct squares {
  bool is_there;
  double moments[MAX * MAX], sd, rows, residual;
} squares_t;

static tacit_status_t release_squares(tacit_gaussian_t *g, squares_t *squares, tacit_error_t *err) {
  double released[GAUSSIAN_PACKED];
  const tacit_radii_t *radii = &g->posterior.radii;
  squares->is_there = g->shares.meat > 0;
  squares->rows = fmin(radii->rows, square_rows * sqrt((double)g->d));
  squares->residual = fmin(radii->residual, square_residual);
  if (!squares->is_there) {
    return TACIT_OK;
  }
  const tacit_aware_joint_t at = {g->d, g->inverse, &squares->rows, g->theta, &g->scale, &squares->residual};
  squares->sd = 0;
  tacit_status_t status = tacit_aware_release_residual_squares(
      g->curator, g->settings, schedule_multiplier(g->settings->rho, g->shares.meat), &at, released, &squares->sd, err);
  if (status == TACIT_OK) {
    tacit_gaussian_unpack(g->d, released, g->n, squares->moments);
    squares->sd /= g->n;
    status = tacit_aware_may_start(g->settings, err);
  }
  return status;
}

/*
 * V_M <- N times the ratio of squares to what equal variances imply, shrunk towards 1 and never below: it only widens. False where a matrix
 * that was raised is not positive after all.
 */
static bool set_shape(tacit_gaussian_t *g, const squares_t *squares, double kept_twice) {
  size_t d = g->d;
  tacit_linear_posterior_t *p = &g->posterior;
  double even[MAX * MAX], inverse[MAX * MAX], ratio[MAX * MAX];
  memcpy(p->shape, p->moments, d * d * sizeof *p->shape);
  if (!squares->is_there) {
    return true;
  }
  double part = tacit_norms_kept(&g->norms, squares->rows).twice / kept_twice;
  double second = fmax(tacit_law_second(&g->law, g->law.best, g->law.best_scale, squares->residual), 0.05), unused;
  for (size_t i = 0; i < d * d; i++) {
    bool is_diagonal = i / d == i % d;
    even[i] = part * p->moments[i];
    ratio[i] = even[i] + tacit_gaussian_shrink(squares->moments[i] / second - even[i], squares->sd / second / (is_diagonal ? 1 : sqrt(2)), 0,
                                               is_diagonal ? 0.2 : 0.12, &unused);
  }
  tacit_raise_eigenvalues(d, ratio, 0.1, g->work);
  if (!tacit_cholesky(d, even)) {
    return false;
  }
  tacit_invert_lower(d, even, inverse);
  sandwich(d, inverse, ratio);
  tacit_raise_eigenvalues(d, ratio, 1, g->work);
  if (!tacit_cholesky(d, p->shape)) {
    return false;
  }
  sandwich(d, p->shape, ratio);
  memcpy(p->shape, ratio, d * d * sizeof *ratio);
  return true;
}

/*
 * Weights enter T once and N twice: J = E w u u' is N and G = E w (1 - w) u u', of which the norms tell the trace. G lies between a part of N,
 * of rows cut whatever their direction, and what makes J of N where a rare row's whole direction is cut: N_ee = p R^2 for p R U, so that J_ee
 * is the root of N_ee if E u u' is I. Their mean, and half their difference.
 */
static void set_slope(tacit_gaussian_t *g, double cut, double cut_error) {
  size_t d = g->d;
  tacit_linear_posterior_t *p = &g->posterior;
  double *vectors = g->work, *values = vectors + d * d, *copy = values + d, trace = 0, lost = 0;
  memcpy(copy, p->moments, d * d * sizeof *copy);
  tacit_eigen(d, copy, values, vectors);
  for (size_t i = 0; i < d; i++) {
    trace += values[i];
    values[i] = fmax(sqrt(fmax(values[i], 0)) - values[i], 0);
    lost += values[i];
  }
  for (size_t i = 0; i < d * d; i++) {
    double all = cut / trace * p->moments[i], rare = 0;
    for (size_t k = 0; k < d; k++) {
      rare += values[k] * vectors[i / d * d + k] * vectors[i % d * d + k];
    }
    rare = lost > 0 ? (cut + cut_error) / lost * rare : (cut + cut_error) / trace * p->moments[i];
    p->slope[i] = p->moments[i] + 0.5 * (all + rare);
    p->doubt[i] = 0.5 * (all - rare);
  }
}

static void set_scales(tacit_gaussian_t *g) {
  const tacit_linear_posterior_t *p = &g->posterior;
  double moments[MAX * MAX], variances[MAX * MAX];
  for (size_t i = 0; i < g->d * g->d; i++) {
    moments[i] = p->moments[i] / p->kept_twice;
    variances[i] = p->variances[i] / (p->kept_twice * p->kept_twice);
  }
  for (size_t j = 1; j < g->d; j++) {
    g->scales[j] = tacit_gaussian_feature_scale(g, moments, variances, j);
  }
}

static void set_centre(tacit_linear_posterior_t *p) {
  for (size_t i = 0; i < p->d; i++) {
    p->centre[i] = 0;
    for (size_t j = i; j < p->d; j++) {
      p->centre[i] += p->factor[j * p->d + i] * p->theta[j];
    }
  }
}

/* What the posterior takes over from earlier releases. */
static void set_frame(tacit_gaussian_t *g) {
  tacit_linear_posterior_t *p = &g->posterior;
  p->d = g->d;
  p->dim = g->dim;
  p->parameters = g->parameters;
  p->known_sd = g->settings->known_sd;
  p->n = g->n;
  p->count_error = g->count_error;
  p->scale = g->scale;
  p->location = g->location;
  p->law = &g->law;
  memcpy(p->theta, g->theta, g->d * sizeof *p->theta);
  memcpy(p->factor, g->factor, g->d * g->d * sizeof *p->factor);
  set_centre(p);
}

tacit_status_t tacit_gaussian_learn_last(tacit_gaussian_t *g, tacit_error_t *err) {
  size_t d = g->d, m = d + 1;
  tacit_linear_posterior_t *p = &g->posterior;
  squares_t squares;
  tacit_status_t status = release_squares(g, &squares, err);
  if (status != TACIT_OK) {
    return status;
  }
  double joint[JOINT * JOINT], sd, unit = p->radii.residual / p->radii.rows; /* of the response, in units of scale */
  double scale = unit * g->scale, reach = p->radii.rows;
  status = tacit_gaussian_joint(g, &(tacit_aware_joint_t){d, g->inverse, &p->radii.rows, g->theta, &scale, &reach}, g->shares.last, joint,
                                &sd, err);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_kept_rows_t kept = tacit_norms_kept(&g->norms, p->radii.rows);
  sd *= TACIT_IS_PLANTED(TACIT_FAULT_HALF_NOISE) ? 0.5 : 1;
  set_frame(g);
  p->kept_twice = fmin(kept.twice / fmax(kept.whole, 1e-9), 1);
  p->kept_ratio = kept.once / fmax(kept.twice, 1e-9);
  (void)tacit_gaussian_shrink_moments(g, joint, sd, kept.twice / (double)d, p->moments, p->variances);
  for (size_t i = 0; i < d; i++) {
    p->response[i] = joint[i * m + d] * unit;
  }
  p->response_var = sd * sd / 2 * unit * unit;
  p->square = joint[d * m + d] * unit * unit;
  p->square_var = pow(sd * unit * unit, 2);
  if (TACIT_IS_PLANTED(TACIT_FAULT_NO_DISCREPANCY)) {
    memset(p->variances, 0, sizeof p->variances);
    p->radii.shift_rows = 0;
  }
  set_scales(g);
  set_slope(g, kept.once - kept.twice, kept.error);
  tacit_law_tabulate(&g->law, p->radii.residual);
  tacit_clamped_t at = tacit_law_at(&g->law, g->law.best, log(g->law.best_scale));
  p->profile_weight = p->square_var / (p->square_var + (at.fourth - at.second * at.second) / g->n);
  return set_shape(g, &squares, kept.twice) ? TACIT_OK
                                            : tacit_error_set(err, TACIT_ERR_NUMERIC, "moments",
                                                              "moments of scores are not positive; this should not happen, please report it");
}
