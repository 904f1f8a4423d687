/*
 * What weights of rows may have moved (docs/theory.md, section 18.8): a weighted score has another target
 * than the plain one where the model's mean is wrong. Sums of residuals times simple functions of each
 * feature, released at the mode, say how wrong it is; what that moves follows.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "noise_aware/noise_aware_internal.h"
#include "noise_aware/schedule.h"

/* How large, in residuals, the functions' coefficients are expected to be. */
static const double wrong_by = 0.3;

/* As a normal quantile: residuals are off what the model says. */
static const double is_seen = 2.58;

enum { MOST = 2 * (TACIT_NOISE_AWARE_MAX_NARROW - 1) };

/* Of the surrogate's rows: shapes (m), variance of r, and y - m in units of r. */
typedef struct row {
  double shapes[MOST], variance, unit;
} row_t;

static row_t row_of(const tacit_rounds_t *r, const tacit_noise_aware_settings_t *settings,
                    const double *theta, const double *whiten, size_t k) {
  const tacit_surrogate_t *s = r->surrogate;
  double x[TACIT_NOISE_AWARE_MAX_NARROW], eta = 0;
  row_t row;
  for (size_t j = 0; j < s->d; j++) {
    x[j] = s->x[j * s->n_rows + k];
    eta += theta[j] * x[j];
  }
  tacit_fit_shapes(s->d, whiten, x, row.shapes);
  tacit_family_moments_t m = tacit_family_moments(settings->family, settings->upper, eta), varied = m;
  tacit_rounds_disperse(r, &varied);
  bool is_raw = settings->family == TACIT_FAMILY_BERNOULLI; /* r: y - m, or a third of it in sds */
  row.unit = is_raw ? 1 : 3 * sqrt(fmax(m.variance, 1e-12));
  row.variance = fmin(varied.variance / (row.unit * row.unit), 1);
  return row;
}

/* Share of its whole score that row k of the last round adds, and how long that is. */
static double weight_of(const tacit_rounds_t *r, size_t k, double *length) {
  const tacit_surrogate_t *s = r->surrogate;
  size_t d = s->d, n = s->n_rows;
  const double *rows = r->rows + (r->n_rounds - 1) * d * n;
  double whole = 0, weighted = 0;
  for (size_t i = 0; i < d; i++) {
    double sum = 0;
    for (size_t j = 0; j <= i; j++) {
      sum += r->last_whiten[i * d + j] * s->x[j * n + k];
    }
    whole += sum * sum;
    weighted += rows[i * n + k] * rows[i * n + k];
  }
  *length = sqrt(whole);
  return whole > 0 ? fmin(sqrt(weighted / whole), 1) : 1;
}

/* coefficients (m) <- of functions that residuals follow, by their sums; returns how surely there are any, as
 * a normal quantile. */
static double learn_wrong(size_t m, const double *gram, const double *variance, const double *sums,
                          double *coefficients) {
  double cov[MOST * MOST], both[MOST * MOST], solved[MOST];
  memcpy(cov, variance, m * m * sizeof *cov);
  tacit_multiply(m, m, m, gram, gram, both);
  for (size_t i = 0; i < m * m; i++) {
    both[i] = variance[i] + wrong_by * wrong_by * both[i];
  }
  if (!tacit_cholesky(m, cov) || !tacit_cholesky(m, both)) {
    memset(coefficients, 0, m * sizeof *coefficients);
    return 0;
  }
  memcpy(solved, sums, m * sizeof *solved);
  tacit_solve_lower(m, cov, solved);
  double quantile = tacit_chi_square_quantile(tacit_dot(m, solved, solved), (double)m);
  memcpy(solved, sums, m * sizeof *solved);
  tacit_solve_lower(m, both, solved);
  tacit_solve_upper(m, both, solved);
  for (size_t i = 0; i < m; i++) {
    coefficients[i] = wrong_by * wrong_by * tacit_dot(m, gram + i * m, solved);
  }
  return quantile;
}

/* What the last score lacks of the whole one's, at most, in sds of it. */
static double moved_by(const tacit_rounds_t *r, const tacit_noise_aware_settings_t *settings,
                       const double *theta, const double *whiten, const double *sums, double noise_sd) {
  const tacit_surrogate_t *s = r->surrogate;
  size_t m = 2 * (s->d - 1);
  double gram[MOST * MOST] = {0}, variance[MOST * MOST] = {0}, coefficients[MOST], moved = 0, spread = 0,
                     length;
  for (size_t k = 0; k < s->n_rows; k++) {
    row_t row = row_of(r, settings, theta, whiten, k);
    for (size_t i = 0; i < m * m; i++) {
      double product = r->n * s->weight[k] * row.shapes[i / m] * row.shapes[i % m];
      gram[i] += product;
      variance[i] += product * row.variance;
    }
  }
  for (size_t i = 0; i < m; i++) {
    variance[i * (m + 1)] += noise_sd * noise_sd;
  }
  double quantile = learn_wrong(m, gram, variance, sums, coefficients);
  for (size_t k = 0; k < s->n_rows; k++) {
    row_t row = row_of(r, settings, theta, whiten, k);
    double weight = weight_of(r, k, &length), n = r->n * s->weight[k];
    moved += n * (1 - weight) * length * row.unit * fabs(tacit_dot(m, row.shapes, coefficients));
    spread += n * weight * weight * length * length * row.unit * row.unit * row.variance / (double)s->d;
  }
  return quantile > is_seen ? moved / sqrt(spread + r->noise_var[r->n_rounds - 1]) : 0;
}

tacit_status_t tacit_rounds_look_at_residuals(tacit_rounds_t *rounds, const tacit_round_place_t *place,
                                              tacit_error_t *err) {
  enum { D = TACIT_NOISE_AWARE_MAX_NARROW };
  const tacit_surrogate_t *s = rounds->surrogate;
  const tacit_releases_t *kept = place->settings->releases;
  size_t d = s->d;
  double theta[D], second[D * D], whiten[D * D] = {0}, work[2 * D * D + D], sums[MOST], noise_sd;
  if (place->curator == NULL && kept->n_taken == kept->n) { /* of a build that did not release them */
    return TACIT_OK;
  }
  memcpy(theta, place->theta, d * sizeof *theta);
  memcpy(second, s->second, d * d * sizeof *second);
  tacit_raise_eigenvalues(d, second, 1e-6, work);
  if (tacit_cholesky(d, second)) {
    tacit_invert_lower(d, second, whiten);
  }
  tacit_status_t status = tacit_aware_may_start(place->settings, err);
  TACIT_THEN(status,
             tacit_aware_release_residual_shapes(place->curator, place->settings,
                                                 schedule_multiplier(place->settings->rho, place->share),
                                                 theta, whiten, sums, &noise_sd, err));
  if (status == TACIT_OK) {
    rounds->moved = moved_by(rounds, place->settings, theta, whiten, sums, noise_sd);
  }
  return status;
}
