/* What is said of a fit from what it released: docs/theory.md, section 18.10. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "diagnose/diagnose.h"
#include "noise_aware/noise_aware_internal.h"

/* Variance of a feature around its mean, and how uncertain that is: as the process has it for any function of
 * a row. */
static void measure(const tacit_surrogate_t *s, size_t j, double *mean, double *variance,
                    double *uncertainty) {
  size_t n = s->n_rows, q = s->n_basis;
  const double *x = s->x + j * n;
  double own = 0, shift = 0, known = 0, noise = 0;
  *mean = tacit_dot(n, s->weight, x);
  *variance = 0;
  for (size_t k = 0; k < n; k++) {
    *variance += s->weight[k] * (x[k] - *mean) * (x[k] - *mean);
  }
  if (s->is_wide) {
    *uncertainty = sqrt(2 * s->entry_variance) * *variance;
    return;
  }
  double c[TACIT_NOISE_AWARE_MAX_NARROW * (TACIT_NOISE_AWARE_MAX_NARROW + 1) / 2] = {0};
  for (size_t k = 0; k < n; k++) {
    double square = (x[k] - *mean) * (x[k] - *mean) - *variance;
    own += s->weight[k] * square * square;
    for (size_t a = 0; a < q; a++) {
      c[a] += s->weight[k] * square * s->basis[k * q + a];
    }
  }
  for (size_t a = 0; a < q; a++) {
    shift += c[a] * s->basis_shift[a];
    known += c[a] * c[a];
    noise += c[a] * tacit_dot(q, s->basis_cov + a * q, c);
  }
  *variance += shift;
  *uncertainty = sqrt(fmax(noise + (own - known) / surrogate_weight, 0));
}

void tacit_surrogate_scales(const tacit_surrogate_t *surrogate, tacit_feature_scale_t *scales) {
  scales[0] = (tacit_feature_scale_t){0};
  for (size_t j = 1; j < surrogate->d; j++) {
    double mean, variance, uncertainty;
    measure(surrogate, j, &mean, &variance, &uncertainty);
    variance = fmax(fmax(variance, uncertainty), 1e-6);
    scales[j] =
        (tacit_feature_scale_t){.mean = mean, .sd = sqrt(variance), .relative_error = uncertainty / variance};
  }
}

/* Quantile of the normal at which a chi-square of n degrees of freedom is this large [Wilson1931]. */
double tacit_chi_square_quantile(double square, double n) {
  return (cbrt(square / n) - (1 - 2 / (9 * n))) / sqrt(2 / (9 * n));
}

/* Relative error of a feature's variance, and how many sds its bounds are away, up to which a mean at an edge
 * is none to doubt. */
static const double told = 0.5, near = 8;

static void check_feature(const tacit_aware_common_t *of, size_t j, tacit_checks_t *checks) {
  const tacit_feature_scale_t *scale = &of->scales[j];
  if (of->settings->is_two_valued != NULL && of->settings->is_two_valued[j]) {
    tacit_checks_add(checks, TACIT_CHECK_RARE_LEVEL, j, (1 - fabs(scale->mean)) / of->mean_noise);
    return;
  }
  /* Rows of a linear regression are whitened by what counts of each column say, and no row is weighted: codes
   * of few values, most of them at a bound, are as good as others; long rows are not. */
  bool is_told = of->settings->family == TACIT_FAMILY_GAUSSIAN && scale->relative_error < told &&
                 1 + fabs(scale->mean) < near * scale->sd;
  tacit_checks_add(checks, TACIT_CHECK_MEAN_AT_EDGE, j, is_told ? 0 : fabs(scale->mean));
  tacit_prior_view_t view;
  if (!tacit_parameters_prior(of->parameters, j, &view) ||
      view.source.basis != TACIT_PRIOR_BASIS_TYPICAL) { /* else it is known publicly */
    tacit_checks_add(checks, TACIT_CHECK_SCALE_UNKNOWN, j, scale->relative_error);
    tacit_checks_add(checks, TACIT_CHECK_SCALE_VAGUE, j, scale->relative_error);
  }
  tacit_checks_add(checks, TACIT_CHECK_WIDE_BOUNDS, j, scale->sd);
}

/* shift (d) <- what the priors together move the mean by: Cov sum_i w_i p_i (m_i - location), p_i the
 * precision of the touching normal of prior i, which is a density of w_i . theta, at its mean m_i. */
static void find_shift(const tacit_aware_common_t *of, double *shift) {
  double weights[TACIT_NOISE_AWARE_MAX_FEATURES + 1]; /* 1: a gaussian's sd */
  size_t d = of->d;
  memset(shift, 0, d * sizeof *shift);
  for (size_t i = 0; i < d; i++) {
    tacit_prior_view_t view;
    if (tacit_parameters_prior(of->parameters, i, &view)) {
      double mean = tacit_parameters_prior_argument(of->parameters, i, of->mean, weights),
             slope = tacit_prior_precision(&view.prior, mean) * (mean - view.prior.location);
      for (size_t j = 0; j < d; j++) {
        shift[j] += slope * tacit_dot(d, of->cov + j * d, weights);
      }
    }
  }
}

void tacit_aware_check_pull(tacit_checks_t *checks, size_t term, double moved, double variance) {
  double pull = fabs(moved) / sqrt(variance);
  tacit_checks_add(checks, TACIT_CHECK_PRIOR_PULLS, term, variance <= 0 ? 0 : isnan(pull) ? INFINITY : pull);
}

/* What prior i is a density of has mean and variance over the draws; the prior's touching normal there says
 * how much of them is its. shift (d): see find_shift(). */
static void check_prior(const tacit_aware_common_t *of, const double *shift, size_t i,
                        tacit_evidence_t *result) {
  tacit_prior_view_t view;
  size_t d = of->d;
  double weights[TACIT_NOISE_AWARE_MAX_FEATURES + 1], variance = 0;
  result->prior_sd[i] = result->prior_share[i] = NAN;
  if (!tacit_parameters_prior(of->parameters, i, &view)) {
    return;
  }
  double mean = tacit_parameters_prior_argument(of->parameters, i, of->mean, weights);
  for (size_t a = 0; a < d * d; a++) {
    variance += weights[a / d] * of->cov[a] * weights[a % d];
  }
  double precision = tacit_prior_precision(&view.prior, mean), share = fmin(precision * variance, 1),
         from = mean - view.prior.location;
  double likelihood = 1 - share, effect = fabs(mean) * (i > 0 ? of->scales[i].sd : 0);
  result->prior_sd[i] = tacit_prior_sd(&view.prior) * fabs(view.unit);
  result->prior_share[i] = share;
  bool is_two_valued = of->settings->is_two_valued != NULL && of->settings->is_two_valued[i];
  if (i > 0 && !is_two_valued) {
    result->feature_sd[i] = of->scales[i].sd * fabs(view.half_range);
  }
  result->feature_mean[i] = i > 0 ? of->scales[i].mean : 1;
  tacit_aware_check_pull(&result->checks, i, tacit_dot(d, weights, shift), variance);
  tacit_checks_add(&result->checks, TACIT_CHECK_PRIOR_SHARE, i, share);
  if (i > 0 && of->settings->family != TACIT_FAMILY_GAUSSIAN) {
    tacit_checks_add(&result->checks, TACIT_CHECK_SEPARATION, i, share > 0.25 ? effect : 0);
  }
  if (likelihood > 1e-3) {
    tacit_checks_add(&result->checks, TACIT_CHECK_CONFLICT, i,
                     fabs(from) / likelihood /
                         sqrt(view.prior.scale * view.prior.scale + variance / likelihood));
  }
}

void tacit_aware_check_common(const tacit_aware_common_t *of, tacit_evidence_t *result) {
  *result = (tacit_evidence_t){.n_terms = of->d};
  for (size_t j = 1; j < of->d; j++) {
    check_feature(of, j, &result->checks);
  }
  double shift[TACIT_NOISE_AWARE_MAX_FEATURES];
  find_shift(of, shift);
  for (size_t i = 0; i < of->d; i++) {
    check_prior(of, shift, i, result);
  }
  if (of->d > 1) {
    tacit_checks_add(&result->checks, TACIT_CHECK_COLLINEAR, SIZE_MAX, of->eigenvalue);
  }
}

/* |inverse row|^2: variance of row . theta, given the inverse of the precision's lower factor. */
static double variance_along(size_t d, const double *row, const double *inverse) {
  double sum = 0;
  for (size_t k = 0; k < d; k++) {
    double part = tacit_dot(d, inverse + k * d, row);
    sum += part * part;
  }
  return sum;
}

/* row . matrix . row */
static double form(size_t d, const double *row, const double *matrix) {
  double sum = 0;
  for (size_t a = 0; a < d * d; a++) {
    sum += row[a / d] * matrix[a] * row[a % d];
  }
  return sum;
}

void tacit_aware_add_prior(const tacit_aware_common_t *of, double *precision) {
  enum { D = TACIT_NOISE_AWARE_MAX_FEATURES + 1 };
  double all[D * D] = {0}, theta[D] = {0};
  size_t d = of->d, dim = of->parameters->dim;
  memcpy(theta, of->mean, d * sizeof *theta);
  tacit_add_prior_precision(of->parameters, dim, theta, all);
  for (size_t a = 0; a < d * d; a++) {
    precision[a] += all[a / d * dim + a % d];
  }
}

void tacit_aware_noise_factors(const tacit_aware_common_t *of, double *precision) {
  enum { D = TACIT_NOISE_AWARE_MAX_FEATURES };
  tacit_evidence_t *result = of->settings->evidence;
  size_t d = of->d;
  double inverse[D * D] = {0}, theta[D + 1] = {0}, at_zero[D + 1], at[D + 1], map[D * D];
  if (result == NULL || of->parameters->n_reported < d || of->parameters->n_reported > d + 1) {
    return;
  }
  tacit_aware_add_prior(of, precision);
  if (!tacit_cholesky(d, precision)) {
    return;
  }
  tacit_invert_lower(d, precision, inverse);
  of->parameters->report(of->parameters->ctx, theta, at_zero);
  for (size_t k = 0; k < d; k++) { /* coefficients reported are linear in theta: rows of the map */
    theta[k] = 1;
    of->parameters->report(of->parameters->ctx, theta, at);
    theta[k] = 0;
    for (size_t j = 0; j < d; j++) {
      map[j * d + k] = at[j] - at_zero[j];
    }
  }
  for (size_t j = 0; j < d; j++) {
    double without = variance_along(d, map + j * d, inverse);
    result->noise_factor[j] = without > 0 ? sqrt(form(d, map + j * d, of->cov) / without) : 0;
  }
}
