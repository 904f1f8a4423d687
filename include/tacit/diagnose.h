/**
 * @file diagnose.h
 * Convergence diagnostics and summaries [Vehtari2021], and distances between samples.
 */
#ifndef TACIT_DIAGNOSE_H
#define TACIT_DIAGNOSE_H

#include "tacit/base.h"
#include "tacit/draws.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Summary of one scalar quantity; NaN where it is undefined (constant or fewer than 4 draws per chain). */
typedef struct tacit_summary {
  double mean, sd, mcse_mean, q5, q50, q95, ess_bulk, ess_tail, rhat;
} tacit_summary_t;

/**
 * Summarise n_chains chains of n_draws draws each: rank-normalised split R-hat (the larger of bulk and
 * folded), bulk and tail effective sample sizes, MCSE of the mean [Vehtari2021, equations 10-15].
 * @param[in] x  shape (n_chains, n_draws), row-major.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_summarise(const double *x, size_t n_chains, size_t n_draws,
                                                        tacit_summary_t *summary, tacit_error_t *err);

/** Summarise reported quantity j of the kept draws. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_draws_summarise(const tacit_draws_t *draws, size_t j,
                                                              tacit_summary_t *summary, tacit_error_t *err);

typedef enum tacit_severity { TACIT_SEVERITY_NOTE = 0, TACIT_SEVERITY_WARNING, TACIT_SEVERITY_PROBLEM } tacit_severity_t;

enum { TACIT_MAX_FINDINGS = 64 };

/** What was seen, and what to do about it. */
typedef struct tacit_finding {
  tacit_severity_t severity;
  char what[160], advice[160];
} tacit_finding_t;

typedef struct tacit_findings {
  size_t n;
  tacit_severity_t worst;
  tacit_finding_t items[TACIT_MAX_FINDINGS];
} tacit_findings_t;

/**
 * Look for what makes draws unusable: chains that do not move, disagree, drift, or have few effective draws
 * [Vehtari2021]. A function of the draws alone: publishable where they are.
 * @param[in] labels shape (draws->n_reported).
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_diagnose(const tacit_draws_t *draws, const char *const *labels,
                                                       tacit_findings_t *findings, tacit_error_t *err);

/**
 * Squared maximum mean discrepancy, unbiased, Gaussian kernel exp(-||x-y||^2 / (2 s^2))
 * [Gretton2012, Lemma 6].
 * @param[in] x, y  shapes (n_x, dim), (n_y, dim).
 * @param[in] bandwidth  s > 0; 0: the median distance of up to 500 pooled points.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_mmd2(const double *x, size_t n_x, const double *y, size_t n_y,
                                                   size_t dim, double bandwidth, double *mmd2,
                                                   tacit_error_t *err);

#ifdef __cplusplus
}
#endif
#endif
