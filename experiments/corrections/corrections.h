/*
 * The frame of the corrections experiment: a case is one error of one paper, its rows are numbers that show
 * the paper's version beside the corrected one, and every row asserts what it shows.
 */
#ifndef CORRECTIONS_H
#define CORRECTIONS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tacit/account.h"
#include "tacit/base.h"
#include "tacit/random.h"

/* A column that a row has nothing for: no quantity here is minus infinity, while some published ones are not
 * numbers. */
#define NONE (-INFINITY)

/* Standard errors that a correct mean leaves with probability 2e-9, or 7e-9 with 256 batch means (Student,
 * 255). */
static const double z_limit = 6;

typedef struct run run_t;

typedef struct correction_case {
  const char *name;   /* of the experiment, --only NAME */
  const char *place;  /* in the source: "Theorem 2", "code" */
  const char *claim;  /* what the source says */
  const char *fault;  /* what is wrong with it, and what holds instead */
  const char *theory; /* section of docs/theory.md */
  void (*run)(run_t *run);
} correction_case_t;

/* All cases of one source; key as in docs/references.md. */
typedef struct source {
  const char *key;
  const correction_case_t *cases;
  size_t n_cases;
} source_t;

extern const source_t source_dp_hmc, source_thesis, source_sghmc, source_dp_fast_mh, source_privatized;

typedef struct row {
  const source_t *source;
  const correction_case_t *of;
  char quantity[256], verdict[32];
  double paper, ours, expected;
  bool confirmed, has_figure; /* the latter in a case's last row */
} row_t;

struct run {
  bool quick;
  const char *out; /* folder */
  const source_t *source;
  const correction_case_t *current;
  bool has_figure; /* whether the current case has written one */
  row_t *rows;
  size_t n_rows;
};

/* ---- rows (output.c): `format` names the quantity, `verdict` is printed if the row's assertion holds ----
 */

/* Ours is within `tolerance` of the expected value and the paper's is not (or is NONE). */
__attribute__((format(printf, 7, 8))) void expect_value(run_t *run, double paper, double ours,
                                                        double expected, double tolerance,
                                                        const char *verdict, const char *format, ...);
/* Ours is at most the bound and the paper's above it. */
__attribute__((format(printf, 6, 7))) void expect_bound(run_t *run, double paper, double ours, double bound,
                                                        const char *verdict, const char *format, ...);
/* Any other assertion. */
__attribute__((format(printf, 7, 8))) void expect_that(run_t *run, bool holds, double paper, double ours,
                                                       double expected, const char *verdict,
                                                       const char *format, ...);

void write_csv(const run_t *run);
void write_markdown(const run_t *run);

/* ---- moments of chains that reuse gradients, against exact ones, and of one that does so wrongly
 * (gradient_reuse.c) ---- */

void expect_reuse_moments(run_t *run);

/* ---- figures (figure.c) ---- */

typedef struct curve {
  const char *label;
  const double *x, *y; /* shape (n); points that are not finite break the line */
  size_t n;
} curve_t;

typedef struct figure {
  const char *title, *x_label, *y_label;
  bool log_y;
  curve_t curves[4];
  size_t n_curves;
} figure_t;

/* Write CASE.svg, for the current case. */
void write_figure(run_t *run, const figure_t *figure);

/* ---- numerical helpers (numeric.c) ---- */

/* Stop with a message if a call failed: the program has no other use for an error. */
void must(tacit_status_t status, const tacit_error_t *err);
void *allocate(size_t n, size_t size);
FILE *open_output(const run_t *run, const char *name, const char *suffix);

typedef double (*function_t)(double x, const void *ctx);
typedef double (*acceptance_t)(double log_ratio);

double normal_cdf(double x);
double logistic(double w);   /* Barker's rule */
double metropolis(double w); /* min(1, e^w) */
double poisson_pmf(uint64_t k, double mean);

/* Composite Gauss-Legendre rule, 8 points a panel. */
double integrate(function_t f, const void *ctx, double lower, double upper, size_t n_panels);
/* Root of f in [lower, upper], where f changes sign, to the last bits. */
double bisect(function_t f, const void *ctx, double lower, double upper);
/* E a(w + sigma z - penalty), z ~ N(0, 1), by quadrature split where a has its kink. */
double noisy_acceptance(acceptance_t a, double w, double sigma, double penalty);
/* A(w) / (e^w A(-w)) of the same with penalty sigma^2/2: 1 where detailed balance holds. */
double balance_ratio(acceptance_t a, double w, double sigma);

/* Largest P(S) - e^epsilon Q(S) over outcomes S and both directions, of bits with probabilities p and q of a
 * one. */
double bit_delta(double p, double q, double epsilon);

/* Stationary distribution of the n x n kernel (row-major, rows summing to 1), by elimination. */
void stationary(size_t n, const double *kernel, double *distribution);
double total_variation(size_t n, const double *p, const double *q);
/* Solve the n x n system a x = b in place; a and b are overwritten, b with the solution. */
void solve(size_t n, double *a, double *b);

/* Stationary covariance (v11, v12, v22) of z' = A z + noise of covariance N in two dimensions; INFINITY
 * without one. */
void stationary_covariance(const double a[4], const double noise[3], double v[3]);

/* Generator of the current case: the same in every run. */
tacit_rng_t *case_rng(const run_t *run, uint64_t stream);

/* Mean and standard error of a correlated series by 256 batch means. */
typedef struct series {
  double sum[256], n;
  uint64_t batch_length;
} series_t;
void series_init(series_t *series, uint64_t n_total);
void series_add(series_t *series, double x);
double series_mean(const series_t *series);
double series_error(const series_t *series);

/* A pair of densities on the line, for accounting that shares nothing with the library's. */
typedef struct density_pair {
  double (*p)(double x, const void *ctx), (*q)(double x, const void *ctx);
  const void *ctx;
  double lower, upper; /* all but a negligible mass lies between */
} density_pair_t;

/* delta(epsilon) of one use: integral of (p - e^epsilon q)+. */
double pair_delta(const density_pair_t *pair, double epsilon);

/* Epsilon of n_pairs pairs, pair i used count times each, by losses on a grid and Fourier transforms. */
double composed_epsilon(const density_pair_t *pairs, size_t n_pairs, uint64_t count, double delta);

/* Epsilon of the library's events. */
double library_epsilon(const tacit_event_t *events, size_t n_events, tacit_relation_t relation, double delta,
                       const char *accountant);
double library_delta(const tacit_event_t *events, size_t n_events, tacit_relation_t relation, double epsilon);

#endif
