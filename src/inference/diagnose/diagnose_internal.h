/* Parts of the summaries that are tested on their own. Not installed. */
#ifndef TACIT_DIAGNOSE_INTERNAL_H
#define TACIT_DIAGNOSE_INTERNAL_H

#include "diagnose/diagnose.h"

/*
 * Inverse of the standard normal distribution function [Wichura1988, AS 241 PPND16]; relative error below
 * 2e-15 for p in [1e-300, 1 - 2^-53]. -INFINITY at 0, INFINITY at 1, NaN outside [0, 1].
 */
double tacit_normal_quantile(double p);

/* A value and where it came from; what sorting moves. */
typedef struct tacit_ranked {
  uint64_t key; /* monotone in the value; -0 and 0 are equal */
  uint64_t index;
} tacit_ranked_t;

/*
 * Sort x (shape n, no NaN) ascending, stably. `sorted` and `scratch` have shape (n); the result is in
 * `sorted`. Equal values have equal keys.
 */
void tacit_rank_sort(const double *x, size_t n, tacit_ranked_t *sorted, tacit_ranked_t *scratch);

/* folded <- |x - centre| in order, of x in order. folded: shape (n), not sorted. */
void tacit_rank_fold(const double *x, size_t n, double centre, const tacit_ranked_t *sorted,
                     tacit_ranked_t *folded);

/*
 * z <- normal scores of the ranks of sorted values, z = Phi^-1((r - 3/8) / (n + 1/4)), ties by their average
 * rank [Vehtari2021, equation 14].
 */
void tacit_rank_normal_scores(size_t n, const tacit_ranked_t *sorted, double *z);

/* Quantile of sorted values, linear between order statistics (type 7 of R, the default of numpy). n >= 1. */
double tacit_quantile_sorted(const tacit_ranked_t *sorted, const double *x, size_t n, double p);

/* Autocovariances of several series of one length, by FFT. */
typedef struct tacit_autocov {
  size_t n;       /* length of a series */
  size_t n_fft;   /* power of two >= 2 n, so that no lag wraps around */
  double *wave;   /* cos, sin of 2 pi k / n_fft, k < n_fft / 2, interleaved */
  double *signal; /* complex, shape (n_fft) */
  double *power;  /* shape (n_fft) */
  bool has_wave;
} tacit_autocov_t;

TACIT_MUST_USE tacit_status_t tacit_autocov_init(tacit_autocov_t *work, size_t n, tacit_error_t *err);
void tacit_autocov_clear(tacit_autocov_t *work);

/*
 * Mean over series of the biased autocovariance at lags 0 .. n-1:
 *
 *     acov[t] = 1/m sum_c 1/n sum_{i < n-t} (x_ci - mean_c)(x_c,i+t - mean_c)
 *
 * x: shape (n_series, n). mean: shape (n_series), the means of the series. acov: shape (n).
 */
void tacit_autocov_mean(tacit_autocov_t *work, const double *x, const double *mean, size_t n_series,
                        double *acov);

/* The same at lags 0 .. n_lags - 1 < n, by summing; acov: shape (n_lags). */
void tacit_autocov_first(const double *x, const double *mean, size_t n_series, size_t n, size_t n_lags,
                         double *acov);

/*
 * Effective sample size of series of equal length [Vehtari2021, equations 10 and 11] with Geyer's initial
 * monotone sequence. x: shape (n_series, work->n), work->n >= 2. means and acov are scratch of shapes
 * (n_series) and (work->n). NaN if all values are equal.
 */
double tacit_ess(tacit_autocov_t *work, const double *x, size_t n_series, double *means, double *acov);

/*
 * Potential scale reduction of series of length n >= 2 [Vehtari2021, equations 1-4]: sqrt((B/W + n - 1)/n).
 * INFINITY if each series is constant but they differ, NaN if all values are equal.
 */
double tacit_rhat(const double *x, size_t n_series, size_t n, double *means);

/* Mean of n >= 1 values of modulus at most 1, to within a few ulps of the largest: a second pass corrects. */
double tacit_mean(const double *x, size_t n);
/* Sum of squares about a mean, less what the error of the mean added. */
double tacit_sum_squares(const double *x, size_t n, double mean);

/* Add a finding; where there are TACIT_MAX_FINDINGS, in place of one that weighs less, if there is one. */
void tacit_findings_say(tacit_findings_t *findings, tacit_severity_t severity, const char *advice,
                        const char *format, ...) TACIT_PRINTF(4, 5);

#endif
