/* How much of what is reported is the prior's: of a quantity with slopes w in the parameters by w' P^-1 w,
 * prior, and w' C w, posterior. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "diagnose/diagnose.h"
#include "noise_aware/program.h"

/* slopes (n_reported, d) <- of what is reported at theta, by differences. */
static tacit_status_t find_slopes(const tacit_parameters_t *of, const double *theta, double *slopes,
                                  tacit_error_t *err) {
  const double h = 0x1p-12;
  double point[TACIT_NOISE_AWARE_MAX_NARROW], *high = tacit_alloc_zero(2 * of->n_reported, sizeof *high);
  if (high == NULL) {
    return tacit_error_memory(err);
  }
  double *low = high + of->n_reported;
  memcpy(point, theta, of->dim * sizeof *point);
  for (size_t j = 0; j < of->dim; j++) {
    point[j] = theta[j] + h;
    of->report(of->ctx, point, high);
    point[j] = theta[j] - h;
    of->report(of->ctx, point, low);
    point[j] = theta[j];
    for (size_t i = 0; i < of->n_reported; i++) {
      slopes[i * of->dim + j] = (high[i] - low[i]) / (2 * h);
    }
  }
  tacit_free(high);
  return TACIT_OK;
}

static double variance(size_t d, const double *cov, const double *slope) {
  double by[TACIT_NOISE_AWARE_MAX_NARROW];
  tacit_program_apply(d, cov, slope, by);
  return tacit_dot(d, slope, by);
}

/* cov (d, d) <- of the normal that touches the prior at theta; false: there is none. */
static bool touch(const tacit_parameters_t *of, const double *theta, double *cov) {
  tacit_program_prior_precision(of, theta, cov);
  return tacit_program_invert_positive(of->dim, cov);
}

/* cov (d, d) <- of the posterior at theta if nothing but sampling were unknown; false: there is none. */
static bool know_all(const tacit_program_run_t *run, const double *theta, double *cov) {
  size_t d = run->parameters->dim;
  double prior[MATRIX];
  tacit_program_in_theta(&run->own, run->own.at[0].slope, cov);
  tacit_program_prior_precision(run->parameters, theta, prior);
  for (size_t i = 0; i < d * d; i++) {
    cov[i] += prior[i];
  }
  return tacit_program_invert_positive(d, cov);
}

/* By how many posterior sds the prior moves what is reported beyond what it would without noise: w' (C - C_0)
 * g / (w' C w)^1/2, g the prior's slope. */
static void add_pulls(const tacit_program_run_t *run, const double *theta, const double *cov,
                      const double *slopes, tacit_evidence_t *evidence) {
  const tacit_parameters_t *of = run->parameters;
  double grad[TACIT_NOISE_AWARE_MAX_NARROW], shift[TACIT_NOISE_AWARE_MAX_NARROW],
      usual[TACIT_NOISE_AWARE_MAX_NARROW] = {0}, known[MATRIX];
  (void)tacit_program_prior_density(of, theta, grad, NULL);
  tacit_program_apply(of->dim, cov, grad, shift);
  if (know_all(run, theta, known)) {
    tacit_program_apply(of->dim, known, grad, usual);
  }
  for (size_t j = 0; j < of->dim; j++) {
    shift[j] -= usual[j];
  }
  for (size_t i = 0; i < evidence->n_terms; i++) {
    const double *slope = slopes + i * of->dim;
    tacit_aware_check_pull(&evidence->checks, i, tacit_dot(of->dim, slope, shift),
                           variance(of->dim, cov, slope));
  }
}

/* How far the mean of draws is from the mode, in the sds of its normal, root mean square over axes: where
 * slopes are known badly a prior may call draws to where nothing released tells, and all else is looked at
 * here. */
static double find_astray(size_t d, const double *mode, const double *cov, const double *mean) {
  double factor[MATRIX], off[TACIT_NOISE_AWARE_MAX_NARROW];
  memcpy(factor, cov, d * d * sizeof *factor);
  if (!tacit_cholesky(d, factor)) {
    return INFINITY;
  }
  for (size_t j = 0; j < d; j++) {
    off[j] = mean[j] - mode[j];
  }
  tacit_solve_lower(d, factor, off);
  return sqrt(tacit_dot(d, off, off) / (double)d);
}

/* Shares by the prior where the posterior is, and how far it pulls; sds by the prior where it is highest
 * itself. */
tacit_status_t tacit_program_share(const tacit_program_run_t *run, const double *mean,
                                   tacit_evidence_t *evidence, tacit_error_t *err) {
  const tacit_parameters_t *of = run->parameters;
  double mode[TACIT_NOISE_AWARE_MAX_NARROW], centre[TACIT_NOISE_AWARE_MAX_NARROW] = {0}, cov[MATRIX],
                                             prior[MATRIX];
  double *slopes = tacit_alloc_zero(of->n_reported * of->dim, sizeof *slopes);
  tacit_status_t status =
      slopes != NULL ? tacit_program_find_posterior(run, mode, cov, err) : tacit_error_memory(err);
  TACIT_THEN(status, find_slopes(of, mode, slopes, err));
  if (status == TACIT_OK) {
    double off = find_astray(of->dim, mode, cov, mean);
    tacit_checks_add(&evidence->checks, TACIT_CHECK_ASTRAY, SIZE_MAX, isnan(off) ? INFINITY : off);
    add_pulls(run, mode, cov, slopes, evidence);
  }
  if (status == TACIT_OK && touch(of, mode, prior)) {
    for (size_t i = 0; i < evidence->n_terms; i++) {
      evidence->prior_share[i] = fmin(
          variance(of->dim, cov, slopes + i * of->dim) / variance(of->dim, prior, slopes + i * of->dim), 1);
      tacit_checks_add(&evidence->checks, TACIT_CHECK_PRIOR_SHARE, i, evidence->prior_share[i]);
    }
  }
  tacit_program_climb(of->dim, tacit_program_prior_density, of, centre);
  TACIT_THEN(status, find_slopes(of, centre, slopes, err));
  if (status == TACIT_OK && touch(of, centre, prior)) {
    for (size_t i = 0; i < evidence->n_terms; i++) {
      evidence->prior_sd[i] = sqrt(variance(of->dim, prior, slopes + i * of->dim));
    }
  }
  tacit_free(slopes);
  return status;
}
