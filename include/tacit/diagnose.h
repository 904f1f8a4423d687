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
  double prior_sd,
      prior_share;    /**< of its prior, and the prior's share in the posterior precision; NaN: not known */
  double q2_5, q97_5; /**< ends of a 95 % interval */
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

typedef enum tacit_severity {
  TACIT_SEVERITY_NOTE = 0,
  TACIT_SEVERITY_WARNING,
  TACIT_SEVERITY_PROBLEM
} tacit_severity_t;

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

/* ---- checks of what a fit rests on: statistics that are public or released ---- */

/** All checks. */
typedef enum tacit_check_id {
  TACIT_CHECK_FAR = 0,
  TACIT_CHECK_MEAN_AT_EDGE,
  TACIT_CHECK_SCALE_UNKNOWN,
  TACIT_CHECK_PRIOR_PULLS,
  TACIT_CHECK_SEPARATION,
  TACIT_CHECK_NORMAL_TAILS,
  TACIT_CHECK_TAILS,
  TACIT_CHECK_LAST_STEP,
  TACIT_CHECK_INFORMATION,
  TACIT_CHECK_LOST,
  TACIT_CHECK_WRONG_MEAN,
  TACIT_CHECK_UNLIKE,
  TACIT_CHECK_ASTRAY,
  TACIT_CHECK_SIGMA_UNKNOWN,
  TACIT_CHECK_PRIOR_SHARE,
  TACIT_CHECK_CONFLICT,
  TACIT_CHECK_FEW_POSITIVES,
  TACIT_CHECK_RARE_LEVEL,
  TACIT_CHECK_SCALE_VAGUE,
  TACIT_CHECK_WIDE_BOUNDS,
  TACIT_CHECK_COLLINEAR,
  TACIT_CHECK_BENT,
  TACIT_CHECK_MARGINS_CONTRADICT,
  TACIT_CHECK_EFFECTS_SWAMPED,
  TACIT_CHECK_CELLS_SPARSE,
  TACIT_CHECK_NOISE_COARSE,
  TACIT_CHECK_STATISTIC_CONTRADICTS,
  TACIT_CHECK_STATISTIC_MISFITS,
  TACIT_CHECK_TRAJECTORIES_LOST,
  TACIT_CHECK_NARROW,
  TACIT_CHECK_UNSEEN,
  TACIT_CHECK_MORE_ROWS,
  TACIT_CHECK_RARE_LEVELS,
  TACIT_N_CHECKS
} tacit_check_id_t;

enum { TACIT_MAX_CHECKS = 2048 };

/** One statistic; term: the reported quantity that it is about, or SIZE_MAX: the whole fit, or `subject`, if
 * that is not empty. */
typedef struct tacit_check {
  tacit_check_id_t id;
  size_t term;
  double statistic;
  char subject[40]; /**< "table", a published statistic */
} tacit_check_t;

typedef struct tacit_checks {
  size_t n;
  tacit_check_t items[TACIT_MAX_CHECKS];
} tacit_checks_t;

/** True if one of them says that there must be no intervals: the fit ended far from where its releases lead.
 */
TACIT_API bool tacit_checks_forbid_intervals(const tacit_checks_t *checks);

enum { TACIT_MAX_EVIDENCE = 256 };

/** What a fit tells of itself besides its draws; all of it functions of releases. */
typedef struct tacit_evidence {
  tacit_checks_t checks;
  char note[400];                         /**< a sentence on what was weighted and clamped; empty: none */
  size_t n_terms;                         /**< reported quantities that it knows */
  double prior_sd[TACIT_MAX_EVIDENCE];    /**< of the reported quantity; INFINITY: none; NaN: not known */
  double prior_share[TACIT_MAX_EVIDENCE]; /**< of the prior in its posterior precision; NaN: not known */
  double feature_sd[TACIT_MAX_EVIDENCE];  /**< released sd of the feature that it multiplies, in its units; 0:
                                             two-valued, or not known */
  double feature_mean[TACIT_MAX_EVIDENCE]; /**< released mean of that feature, its range being [-1, 1] */
  double noise_factor[TACIT_MAX_EVIDENCE]; /**< posterior sd over what it would be, were records of the same
                                              features seen without noise; 0: not known */
} tacit_evidence_t;

/** The same as tacit_draws_summarise(), with what the evidence adds; where it forbids intervals sd and
 * quantiles are NaN. NULL: nothing. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_draws_summarise_with(const tacit_draws_t *draws, size_t j,
                                                                   const tacit_evidence_t *evidence,
                                                                   tacit_summary_t *summary,
                                                                   tacit_error_t *err);

/* ---- diagnostics of a run, sorted by who may see them ---- */

typedef enum tacit_visibility {
  TACIT_PUBLISHABLE = 0, /**< a function of releases and public values: costs nothing, may stand anywhere */
  TACIT_CURATOR_ONLY = 1 /**< computed from records without noise: for the holder of the data alone */
} tacit_visibility_t;

/** All diagnostics; those that may be published come first. */
typedef enum tacit_diagnostic {
  TACIT_DIAGNOSTIC_ACCEPT_RATE = 0,
  TACIT_DIAGNOSTIC_RATIO_NOISE_VARIANCE,
  TACIT_DIAGNOSTIC_GRADIENT_SIGNAL,
  TACIT_DIAGNOSTIC_DIVERGENT_SHARE,
  TACIT_DIAGNOSTIC_CLIP_GRAD,
  TACIT_DIAGNOSTIC_CLIP_RATIO,
  TACIT_N_PUBLISHABLE,
  TACIT_DIAGNOSTIC_GRADIENTS_CLIPPED = TACIT_N_PUBLISHABLE,
  TACIT_DIAGNOSTIC_RATIOS_CLIPPED,
  TACIT_DIAGNOSTIC_NOT_FINITE,
  TACIT_DIAGNOSTIC_VALUES_CLAMPED,
  TACIT_DIAGNOSTIC_VALUES_REPLACED,
  TACIT_DIAGNOSTIC_ROWS_DROPPED,
  TACIT_N_DIAGNOSTICS
} tacit_diagnostic_t;

typedef struct tacit_diagnostic_info {
  const char *name; /**< as in diagnostics.json */
  tacit_visibility_t visibility;
  const char *meaning;
} tacit_diagnostic_info_t;

/** The table row of a diagnostic; NULL beyond the last. */
TACIT_API const tacit_diagnostic_info_t *tacit_diagnostic_info(size_t i);

/** Everything that is known of a run; NaN: not known. Never handed to what writes artefacts, which takes the
 * next type. */
typedef struct tacit_diagnostics {
  double values[TACIT_N_DIAGNOSTICS];
} tacit_diagnostics_t;

/** What may be published: there is no place for anything else. */
typedef struct tacit_published {
  double values[TACIT_N_PUBLISHABLE];
} tacit_published_t;

/**
 * All that is wrong with a fit, in one list, problems first: what the terminal, tacit diagnose and the report
 * all say. published and checks may be NULL.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_diagnose_fit(const tacit_draws_t *draws,
                                                           const char *const *labels,
                                                           const struct tacit_published *published,
                                                           const tacit_checks_t *checks,
                                                           tacit_findings_t *findings, tacit_error_t *err);

/** What was looked at, for those in whom nothing wrong was seen: "R-hat, effective draws, ..."; at most n
 * bytes, the end included. */
TACIT_API void tacit_findings_looked_at(const tacit_checks_t *checks, size_t n, char *text);

/** How many kinds of trouble that were. */
TACIT_API size_t tacit_findings_n_looked_at(const tacit_checks_t *checks);
#ifdef __cplusplus
}
#endif
#endif
