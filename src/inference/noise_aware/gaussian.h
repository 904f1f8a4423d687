/*
 * Linear regression: what its releases tell, and the posterior given them (docs/theory.md, 18.9). d
 * coefficients, x = (1, z) with z in
 * [-1, 1]^(d-1), y in [-1, 1]. A metric is a lower factor L of E x x'; u = L^-1 x, r = (y - x . theta_1) /
 * s_1, a record's score is u r.
 */
#ifndef TACIT_NOISE_AWARE_GAUSSIAN_H
#define TACIT_NOISE_AWARE_GAUSSIAN_H

#include "noise_aware/bands.h"
#include "noise_aware/engine.h"

enum {
  GAUSSIAN_MAX = TACIT_NOISE_AWARE_MAX_NARROW,
  GAUSSIAN_JOINT = GAUSSIAN_MAX + 1,
  GAUSSIAN_PACKED = GAUSSIAN_JOINT * (GAUSSIAN_JOINT + 1) / 2,
  GAUSSIAN_MAX_CELLS = 256 /* of the response's histogram */
};

/* ---- gaussian_plan.c: public numbers alone ---- */

/* Shares of mu^2 = 2 rho. */
typedef struct tacit_gaussian_shares {
  double count, unit_rows, contrast, columns, first, whitened, lengths, rows,
      scores; /* count, unit_rows, contrast 0: there is none; columns: of all; lengths: of rows and of scores,
               * half each
               */
} tacit_gaussian_shares_t;

tacit_gaussian_shares_t tacit_gaussian_shares(const tacit_noise_aware_settings_t *settings);
/* mu of releases whose noise is that under substitution. */
double tacit_gaussian_mu(const tacit_noise_aware_settings_t *settings);
/* P: about the noise of the last release over sampling noise, at its smallest radii. */
double tacit_gaussian_noise_ratio(const tacit_noise_aware_settings_t *settings);
double tacit_gaussian_inflation(const tacit_noise_aware_settings_t *settings, size_t dim, double n_units);
double tacit_gaussian_inflation_poor(const tacit_noise_aware_settings_t *settings, size_t dim,
                                     double n_units);
bool tacit_gaussian_is_noisy(const tacit_noise_aware_settings_t *settings);
size_t tacit_gaussian_most(const tacit_noise_aware_settings_t *settings);
bool tacit_gaussian_has_sd(const tacit_noise_aware_settings_t *settings);
TACIT_MUST_USE tacit_status_t tacit_gaussian_check(const tacit_noise_aware_settings_t *settings,
                                                   const tacit_parameters_t *parameters, tacit_error_t *err);
/* Refuses where a budget buys nothing, and says which would do. */
TACIT_MUST_USE tacit_status_t tacit_gaussian_check_budget(const tacit_noise_aware_settings_t *settings,
                                                          tacit_error_t *err);
/* Releases in order; returns their number. */
size_t tacit_gaussian_events(const tacit_noise_aware_settings_t *settings, tacit_event_t *events);

/* ---- location.c ---- */

/* Mean and sd of a column, as its histogram has them. */
typedef struct tacit_location {
  double mean, mean_error; /* mean_error: its posterior sd */
  double sd;               /* root of the mean square, mean_error^2 included */
  double square_error;     /* posterior sd of the square */
  double log_error;        /* posterior sd of log sd */
  size_t n_cells;          /* those that it was looked at in */
} tacit_location_t;

/* counts (n_cells) of equal cells of [-1, 1], n_cells a power of 2 from 8 to GAUSSIAN_MAX_CELLS; noise of
 * each; n records. */
tacit_location_t tacit_locate(size_t n_cells, const double *counts, double noise_sd, double n);
/* The same of a feature, of which mean and sd alone are asked: one of few values is no normal column. */
tacit_location_t tacit_locate_feature(size_t n_cells, const double *counts, double noise_sd, double n);
/* Of a feature that is -1 or 1 by how often it is 1; its sd is not below .45, since rows of a rare level
 * would be cut. */
tacit_location_t tacit_locate_two_valued(double count, double noise_sd, double n);

/* ---- gaussian_posterior.c ---- */

/*
 * What joint moments of whitened rows, weighted and residuals clamped, tell of the fit: response - slope
 * gamma, gamma = L' (theta - theta_0), has variance `var` + `slope_var` |gamma|^2 in each direction, what
 * clamp and weights may move included. Of columns of a rare level, whose rows have the least weight, nothing
 * is told; var INFINITY: of none.
 */
typedef struct tacit_linear_before {
  double slope[GAUSSIAN_MAX * GAUSSIAN_MAX], response[GAUSSIAN_MAX], var, slope_var;
  double factor[GAUSSIAN_MAX * GAUSSIAN_MAX], theta[GAUSSIAN_MAX]; /* L, theta_0 */
  bool is_rare[GAUSSIAN_MAX];
} tacit_linear_before_t;

/*
 * What the posterior is made of, gamma = L' (theta - theta_1) / s_1:
 *
 *     T ~ N(N gamma, C + V_N(gamma)),   S ~ N(t^2, v_S),   t^2 = sigma^2 + gamma' N gamma
 */
typedef struct tacit_linear_posterior {
  size_t d, dim; /* dim: d, and log sigma unless known */
  const tacit_parameters_t *parameters;
  double known_sd;                               /* 0: the last parameter is its log */
  double scale;                                  /* s_1 */
  double theta[GAUSSIAN_MAX];                    /* theta_1 */
  double factor[GAUSSIAN_MAX * GAUSSIAN_MAX];    /* L */
  double moments[GAUSSIAN_MAX * GAUSSIAN_MAX];   /* N = E u u', and */
  double variances[GAUSSIAN_MAX * GAUSSIAN_MAX]; /* of its entries, which are independent */
  double score[GAUSSIAN_MAX],
      cov[GAUSSIAN_MAX * GAUSSIAN_MAX]; /* T, the mean score, and C: noise, tails and sampling */
  double square, square_var;            /* S, the mean of r^2, and v_S */
  tacit_location_t location;
  double centre[GAUSSIAN_MAX]; /* L' theta_1: fitted values are (centre + scale gamma) . u */
  tacit_linear_before_t before;
  double work[2 * GAUSSIAN_MAX * GAUSSIAN_MAX + 4 * GAUSSIAN_MAX];
} tacit_linear_posterior_t;

/*
 * Log density at point (dim), up to a constant: gamma, then log t, which releases tell, where log sigma and
 * the length of gamma would be bound to each other.
 */
double tacit_linear_log_density(tacit_linear_posterior_t *posterior, const double *point);
/* gamma (d) of theta (d). */
void tacit_linear_map(const tacit_linear_posterior_t *posterior, const double *theta, double *gamma);
/* About where the likelihood of gamma (d) is highest, and its precision (d, d) there; zeros where it has
 * none. */
void tacit_linear_look(tacit_linear_posterior_t *posterior, double *gamma, double *precision);
/* theta (dim) of a point; false where there is none. */
bool tacit_linear_unmap(const tacit_linear_posterior_t *posterior, const double *point, double *theta);
/* The point (dim) of theta; false where there is none. */
bool tacit_linear_place(const tacit_linear_posterior_t *posterior, const double *theta, double *point);

/* ---- slices.c: a chain ---- */

enum { TACIT_LINEAR_MAX = GAUSSIAN_MAX + 1 };

/* Mean and products of deviations of states (dim). */
typedef struct tacit_linear_moments {
  double n, mean[TACIT_LINEAR_MAX], square[TACIT_LINEAR_MAX * TACIT_LINEAR_MAX];
} tacit_linear_moments_t;

typedef struct tacit_linear_chain {
  tacit_linear_posterior_t *p;
  tacit_rng_t *rng;
  double point[TACIT_LINEAR_MAX], trial[TACIT_LINEAR_MAX], value; /* value: log density at the point */
  double
      axes[TACIT_LINEAR_MAX * TACIT_LINEAR_MAX]; /* the rows: directions, about a standard deviation long */
  tacit_linear_moments_t states;
} tacit_linear_chain_t;

/* ---- gaussian.c, gaussian_columns.c, gaussian_moments.c, gaussian_bands.c: the releases in order ---- */

typedef struct tacit_gaussian {
  tacit_curator_t *curator;
  const tacit_parameters_t *parameters;
  const tacit_noise_aware_settings_t *settings;
  tacit_gaussian_shares_t shares;
  double n, count_error; /* units, and the relative error of their number */
  size_t d, dim;
  double kept; /* E 1/k, k the rows of a unit: of a row's variance, what its mean over them has if they
                  are independent */
  double square_weight;    /* of units of several rows, as of tacit_linear_point_t; else 0 */
  double said[BAND_CELLS]; /* units in each band of scores, if residuals were normal */
  tacit_location_t location;
  double factor[GAUSSIAN_MAX * GAUSSIAN_MAX];  /* L */
  double inverse[GAUSSIAN_MAX * GAUSSIAN_MAX]; /* L^-1 */
  double column_sd[GAUSSIAN_MAX];              /* of features, by their counts */
  double level_sd[GAUSSIAN_MAX];               /* of two-valued features, by theirs; 0 of others */
  double expected[GAUSSIAN_MAX];     /* mean squares of whitened features, as far as they are known before */
  double expected_var[GAUSSIAN_MAX]; /* relative, as far as it is that of a count */
  double theta[GAUSSIAN_MAX], scale; /* a fit, and the sd of residuals from it, its own error included */
  double explained;                  /* variance of its fitted values, its own error included */
  double entry_var; /* of the whitened moments' entries off the diagonal, on it twice that, by noise alone */
  double mean_noise, eigenvalue;     /* as of tacit_aware_common_t */
  tacit_feature_scale_t *scales;     /* (d): the site's */
  tacit_band_lengths_t rows, scores; /* lengths of u, and of u r */
  tacit_band_split_t row_bands, score_bands;
  tacit_band_tails_t tails;
  double reach; /* length of a usual row's score with a residual at the bound */
  tacit_linear_posterior_t posterior;
  tacit_linear_chain_t chain; /* of sites together: its point is that of the coefficients looked at last */
  double work[4 * GAUSSIAN_JOINT * GAUSSIAN_JOINT + 4 * GAUSSIAN_JOINT];
} tacit_gaussian_t;

/* Above 1: what lies beyond the core of scores decides, and is known too little. cov (d, d): of coefficients.
 */
double tacit_gaussian_tail_doubt(const tacit_gaussian_t *g, const double *cov);
/* Of S, relative, with what is not seen. */
double tacit_gaussian_square_error(const tacit_gaussian_t *g);
/* In which bands scores were released, in words, into the evidence. */
void tacit_gaussian_note(const tacit_gaussian_t *g, tacit_evidence_t *evidence);
/* Counts of every column: features in their own units, and the response's mean as a fit. */
TACIT_MUST_USE tacit_status_t tacit_gaussian_learn_columns(tacit_gaussian_t *g, tacit_error_t *err);
/* Joint moments of rows in units of their columns, then of whitened rows: metric, fit and scale to release
 * the rest by. */
TACIT_MUST_USE tacit_status_t tacit_gaussian_learn_first(tacit_gaussian_t *g, tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_gaussian_learn_whitened(tacit_gaussian_t *g, tacit_error_t *err);
/* Lengths of rows and of scores; rows, and scores, in bands: the posterior, and the features' scales. */
TACIT_MUST_USE tacit_status_t tacit_gaussian_learn_bands(tacit_gaussian_t *g, tacit_error_t *err);
/* Norms of rows 1 and d - 1 standard normals: E w |u|^2 and E w^2 |u|^2 of rows weighted to a radius, E |u|^2
 * being d. */
void tacit_normal_rows(size_t d, double radius, double *once, double *twice);

/* Joint moments (m, m), m = d + 1, of rows and residuals in units of scale, per record; *sd <- noise of a
 * diagonal entry, off it sqrt(2) less. */
TACIT_MUST_USE tacit_status_t tacit_gaussian_joint(tacit_gaussian_t *g, const tacit_aware_joint_t *at,
                                                   double share, double *moments, double *sd,
                                                   tacit_error_t *err);
/* Sums (svec) of d numbers over n records as a matrix of means. */
void tacit_gaussian_unpack(size_t d, const double *released, double n, double *matrix);
/* Value with a normal error, shrunk towards a guess; *variance <- what is left. */
double tacit_gaussian_shrink(double value, double sd, double guess, double guess_sd, double *variance);
/* Scale of feature j by whitened moments (d, d), of mean square 1 where the metric is right, and the
 * variances of their entries. */
tacit_feature_scale_t tacit_gaussian_feature_scale(const tacit_gaussian_t *g, const double *moments,
                                                   const double *variances, size_t j);
/* moments (d, d) <- the leading block of joint, shrunk towards what is expected times kept, eigenvalues
 * raised; least eigenvalue over its floor. */
double tacit_gaussian_shrink_moments(tacit_gaussian_t *g, const double *joint, double sd, double kept,
                                     double least, double *moments, double *variances);

/* ---- slices.c ---- */

/* Move along an axis (dim), by slice sampling with stepping out [Neal2003]. */
void tacit_linear_slice(tacit_linear_chain_t *chain, const double *axis);
/* Draws of all chains; mean (d) and cov (d, d) of the kept coefficients. */
TACIT_MUST_USE tacit_status_t tacit_linear_walk(tacit_linear_posterior_t *posterior,
                                                const tacit_noise_aware_settings_t *settings,
                                                tacit_draws_t *draws, double *mean, double *cov,
                                                tacit_error_t *err);

#endif
