/*
 * Linear regression: what its releases tell, and the posterior given them (docs/theory.md, 18.9). d coefficients, x = (1, z) with z in
 * [-1, 1]^(d-1), y in [-1, 1]. A metric is a lower factor L of E x x'; u = L^-1 x, w = min(1, R/|u|), residuals are clamped to +-c.
 */
#ifndef TACIT_NOISE_AWARE_GAUSSIAN_H
#define TACIT_NOISE_AWARE_GAUSSIAN_H

#include "noise_aware/noise_aware_internal.h"

enum {
  GAUSSIAN_MAX = TACIT_NOISE_AWARE_MAX_NARROW,
  GAUSSIAN_JOINT = GAUSSIAN_MAX + 1,
  GAUSSIAN_PACKED = GAUSSIAN_JOINT * (GAUSSIAN_JOINT + 1) / 2,
  GAUSSIAN_MAX_CELLS = 256,   /* of the response's histogram */
  GAUSSIAN_NORM_EDGES = 14,   /* of |u|/sqrt(d) */
  GAUSSIAN_RESIDUAL_EDGES = 23,
  GAUSSIAN_SHAPES = 19,
  GAUSSIAN_SCALES = 36,
  GAUSSIAN_LEVELS = 90,
  GAUSSIAN_GRID = 1201
};

/* ---- gaussian_plan.c: public numbers alone ---- */

/* Shares of mu^2 = 2 rho. */
typedef struct tacit_gaussian_shares {
  double count, response, cube, whitened, tails, meat, last; /* 0: there is no such release */
} tacit_gaussian_shares_t;

tacit_gaussian_shares_t tacit_gaussian_shares(const tacit_noise_aware_settings_t *settings);
/* mu of releases whose noise is that under substitution. */
double tacit_gaussian_mu(const tacit_noise_aware_settings_t *settings);
/* P: about the noise of the last release over sampling noise, at its smallest radii. */
double tacit_gaussian_noise_ratio(const tacit_noise_aware_settings_t *settings);
/* Refuses where a budget buys nothing, and says which would do. */
TACIT_MUST_USE tacit_status_t tacit_gaussian_check(const tacit_noise_aware_settings_t *settings, tacit_error_t *err);
/* Releases in order; returns their number. */
size_t tacit_gaussian_events(const tacit_noise_aware_settings_t *settings, tacit_event_t *events);

/* ---- location.c ---- */

/* Mean and sd of the response, as its histogram has them. */
typedef struct tacit_location {
  double mean, mean_error;    /* mean_error: its posterior sd */
  double sd;                  /* root of the mean square, mean_error^2 included */
  double square_error;        /* posterior sd of the square */
  double log_error;           /* posterior sd of log sd */
} tacit_location_t;

/* counts (n_cells) of equal cells of [-1, 1], n_cells a power of 2 from 8 to GAUSSIAN_MAX_CELLS; noise of each; n records. */
tacit_location_t tacit_locate(size_t n_cells, const double *counts, double noise_sd, double n);

/* ---- law.c: how residuals are distributed ---- */

/* Shapes of less weight are not looked at. */
static const double tacit_least_shape = 1e-6;

extern const double tacit_residual_edges[GAUSSIAN_RESIDUAL_EDGES];

/*
 * A dictionary of shapes of unit variance, and the posterior over shape and scale given a histogram of residuals. Tables are of residuals
 * t e clamped to +-c, e of a shape, at level log t.
 */
typedef struct tacit_law {
  double x[GAUSSIAN_GRID];
  double mass[GAUSSIAN_SHAPES][GAUSSIAN_GRID];
  double weight[GAUSSIAN_SHAPES][GAUSSIAN_SCALES]; /* posterior */
  double profile[GAUSSIAN_SHAPES][GAUSSIAN_SCALES]; /* log likelihood of the histogram, 0 at each shape's best scale */
  double scale[GAUSSIAN_SCALES];
  double counts[GAUSSIAN_RESIDUAL_EDGES + 1], noise_sd, n;
  double shape_weight[GAUSSIAN_SHAPES], shape_scale[GAUSSIAN_SHAPES]; /* posterior weight of each, and mean of its scale */
  double sd;           /* posterior mean of the scale, from .2 to 1 */
  size_t best;         /* likeliest shape, */
  double best_scale;   /* and its scale */
  double second[GAUSSIAN_SHAPES][GAUSSIAN_LEVELS], inside[GAUSSIAN_SHAPES][GAUSSIAN_LEVELS], fourth[GAUSSIAN_SHAPES][GAUSSIAN_LEVELS];
} tacit_law_t;

/* Shapes. */
void tacit_law_init(tacit_law_t *law);
/* counts NULL: none were released. count_error: relative error of n. */
void tacit_law_learn(tacit_law_t *law, const double *counts, double noise_sd, double n, double count_error);
/* The profile of a shape at level log t. */
double tacit_law_profile(const tacit_law_t *law, size_t shape, double level);
/* Mean and sd of E r^2 / E clamp(r, c)^2 - 1: what clamping at c hides of the variance. */
void tacit_law_hidden(const tacit_law_t *law, double c, double *mean, double *sd);
/* Mean and sd of the difference of mean exceedances beyond +c and -c. */
void tacit_law_asymmetry(const tacit_law_t *law, double c, double *mean, double *sd);
/* Fill the tables for clamping at c, of shapes that are looked at. */
void tacit_law_tabulate(tacit_law_t *law, double c);
/* E clamp^2, P(inside), E clamp^4 at level log t. */
typedef struct tacit_clamped {
  double second, inside, fourth;
} tacit_clamped_t;
tacit_clamped_t tacit_law_at(const tacit_law_t *law, size_t shape, double level);
/* E clamp(s e, c)^2 of a shape. */
double tacit_law_second(const tacit_law_t *law, size_t shape, double s, double c);

/* ---- radii.c: how far rows and residuals of the last release may reach ---- */

extern const double tacit_norm_edges[GAUSSIAN_NORM_EDGES];

/* Where rows of d features are: share[k] at norm radius[k]. */
typedef struct tacit_norms {
  size_t d;
  double share[GAUSSIAN_NORM_EDGES + 1], radius[GAUSSIAN_NORM_EDGES + 1];
  double error[GAUSSIAN_NORM_EDGES + 1]; /* posterior sd of a share */
} tacit_norms_t;

/* Norms of rows 1 and d - 1 standard normals, on a fine grid: E |u|^2 = d, E w |u|^2, E w^2 |u|^2. */
void tacit_normal_rows(size_t d, double radius, double *once, double *twice);
/* counts NULL: none were released, and rows are taken for normal. */
void tacit_norms_learn(tacit_norms_t *norms, size_t d, const double *counts, double noise_sd, double n);
/* E |u|^2, E w |u|^2, E w^2 |u|^2, and sd of the difference of these two; E (1 - w) |u| and share of rows touched. */
typedef struct tacit_kept {
  double whole, once, twice, error, cut, touched;
} tacit_kept_rows_t;
tacit_kept_rows_t tacit_norms_kept(const tacit_norms_t *norms, double radius);

typedef struct tacit_radii {
  double rows, residual;      /* R, c */
  double shift_rows;          /* b': sd of what weights may shift in each entry of T, from misfit */
  double shift_intercept;     /* bc': the same of the clamp, in the intercept */
  double asymmetry;           /* D(c) */
} tacit_radii_t;

/* mu_last: mu times the root of the last release's share. */
tacit_radii_t tacit_choose_radii(const tacit_norms_t *norms, const tacit_law_t *law, double mu_last, double n);

/* ---- gaussian_posterior.c ---- */

/* What the posterior is made of: T, S and what they depend on, with residuals in units of `scale`. */
typedef struct tacit_linear_posterior {
  size_t d, dim;                    /* dim: d, and log sigma unless known */
  const tacit_parameters_t *parameters;
  double known_sd;                  /* 0: the last parameter is its log */
  double n, count_error;            /* count_error: relative error of n */
  double scale;                     /* s1 */
  double theta[GAUSSIAN_MAX];       /* theta_1 */
  double factor[GAUSSIAN_MAX * GAUSSIAN_MAX];     /* L */
  double moments[GAUSSIAN_MAX * GAUSSIAN_MAX];    /* N, and */
  double variances[GAUSSIAN_MAX * GAUSSIAN_MAX];  /* of its entries */
  double shape[GAUSSIAN_MAX * GAUSSIAN_MAX];      /* V_M */
  double slope[GAUSSIAN_MAX * GAUSSIAN_MAX], doubt[GAUSSIAN_MAX * GAUSSIAN_MAX]; /* J, and half the difference of its ends */
  double kept_ratio, kept_twice;    /* k1/k2, k2: E w |u|^2, and E w^2 |u|^2 over E |u|^2 */
  double response[GAUSSIAN_MAX], response_var;   /* T, v_T */
  double square, square_var;        /* S, v_S */
  double profile_weight;            /* of the residuals' histogram in sigma: privacy noise's share in the variance of S */
  tacit_radii_t radii;
  tacit_location_t location;
  double centre[GAUSSIAN_MAX];      /* L' theta_1: fitted values are (centre + scale gamma) . u */
  const tacit_law_t *law;
  double work[2 * GAUSSIAN_MAX * GAUSSIAN_MAX + 4 * GAUSSIAN_MAX];
} tacit_linear_posterior_t;

/*
 * Log density at point (dim), up to a constant: gamma = L' (theta - theta_1) / scale, then log t, which releases tell, where log sigma and the
 * length of gamma would be bound to each other.
 */
double tacit_linear_log_density(tacit_linear_posterior_t *posterior, const double *point, size_t shape);
/* gamma (d) of theta (d). */
void tacit_linear_map(const tacit_linear_posterior_t *posterior, const double *theta, double *gamma);
/* About where the likelihood of gamma (d) is highest, and its precision (d, d) there; zeros where it has none. */
void tacit_linear_look(tacit_linear_posterior_t *posterior, double *gamma, double *precision);
/* theta (dim) of a point; false where there is none. */
bool tacit_linear_unmap(const tacit_linear_posterior_t *posterior, const double *point, double *theta);
/* What clamping hides of sigma^2 at a point, as a share, 1 at most. */
double tacit_linear_hidden(const tacit_linear_posterior_t *posterior, const double *point, size_t shape);

/* ---- gaussian.c, gaussian_moments.c, gaussian_last.c: the releases in order ---- */

typedef struct tacit_gaussian {
  tacit_curator_t *curator;
  const tacit_parameters_t *parameters;
  const tacit_noise_aware_settings_t *settings;
  tacit_gaussian_shares_t shares;
  double n, count_error;                       /* records, and the relative error of their number */
  size_t d, dim;
  tacit_location_t location;
  double factor[GAUSSIAN_MAX * GAUSSIAN_MAX];  /* L */
  double inverse[GAUSSIAN_MAX * GAUSSIAN_MAX]; /* L^-1 */
  double theta[GAUSSIAN_MAX], scale;           /* a fit, and the sd of residuals from it, its own error included */
  double mean_noise, eigenvalue;               /* as of tacit_aware_common_t */
  tacit_feature_scale_t scales[GAUSSIAN_MAX];
  tacit_law_t law;
  tacit_norms_t norms;
  tacit_linear_posterior_t posterior;
  double mean[GAUSSIAN_MAX], cov[GAUSSIAN_MAX * GAUSSIAN_MAX];
  double work[4 * GAUSSIAN_JOINT * GAUSSIAN_JOINT + 4 * GAUSSIAN_JOINT];
} tacit_gaussian_t;

/* Everything but draws: all releases in order. */
TACIT_MUST_USE tacit_status_t tacit_gaussian_learn(tacit_gaussian_t *g, tacit_curator_t *curator, const tacit_parameters_t *parameters,
                                                   const tacit_noise_aware_settings_t *settings, tacit_aware_count_t count, tacit_error_t *err);
/* Above 1: the scale of residuals failed, as sure as two sds of the noise make it. */
double tacit_gaussian_scale_failure(const tacit_gaussian_t *g);
/* precision (d, d) += that of least squares of the same records, residuals of this sd. */
void tacit_gaussian_add_information(const tacit_gaussian_t *g, double sigma, double *precision);
/* What the last release weighted and clamped, in words, into the evidence. */
void tacit_gaussian_note(const tacit_gaussian_t *g, tacit_evidence_t *evidence);
/* Joint moments in the cube: a first metric, fit and scale. */
TACIT_MUST_USE tacit_status_t tacit_gaussian_learn_cube(tacit_gaussian_t *g, tacit_error_t *err);
/* Joint moments of whitened rows: metric, fit and scale to release the rest by. */
TACIT_MUST_USE tacit_status_t tacit_gaussian_learn_whitened(tacit_gaussian_t *g, tacit_error_t *err);
/* The last release, and the squares of scores: the posterior, and the features' scales. */
TACIT_MUST_USE tacit_status_t tacit_gaussian_learn_last(tacit_gaussian_t *g, tacit_error_t *err);

/* Joint moments (m, m), m = d + 1, of rows and residuals in units of scale, per record; *sd <- noise of a diagonal entry, off it sqrt(2) less. */
TACIT_MUST_USE tacit_status_t tacit_gaussian_joint(tacit_gaussian_t *g, const tacit_aware_joint_t *at, double share, double *moments,
                                                   double *sd, tacit_error_t *err);
/* Sums (svec) of d numbers over n records as a matrix of means. */
void tacit_gaussian_unpack(size_t d, const double *released, double n, double *matrix);
/* Value with a normal error, shrunk towards a guess; *variance <- what is left. */
double tacit_gaussian_shrink(double value, double sd, double guess, double guess_sd, double *variance);
/* Scale of feature j by whitened moments (d, d), of mean square 1 where the metric is right, and the variances of their entries. */
tacit_feature_scale_t tacit_gaussian_feature_scale(const tacit_gaussian_t *g, const double *moments, const double *variances, size_t j);
/* moments (d, d) <- the leading block of joint, shrunk towards kept I, eigenvalues raised; least eigenvalue over its floor. */
double tacit_gaussian_shrink_moments(tacit_gaussian_t *g, const double *joint, double sd, double kept, double *moments, double *variances);

/* ---- slices.c ---- */

enum { TACIT_LINEAR_MAX = GAUSSIAN_MAX + 1 };

/* Mean and products of deviations of states (dim). */
typedef struct tacit_linear_moments {
  double n, mean[TACIT_LINEAR_MAX], square[TACIT_LINEAR_MAX * TACIT_LINEAR_MAX];
} tacit_linear_moments_t;

typedef struct tacit_linear_chain {
  tacit_linear_posterior_t *p;
  tacit_rng_t *rng;
  size_t shape;
  double point[TACIT_LINEAR_MAX], trial[TACIT_LINEAR_MAX], value; /* value: log density at the point */
  double axes[TACIT_LINEAR_MAX * TACIT_LINEAR_MAX];               /* the rows: directions, about a standard deviation long */
  tacit_linear_moments_t states;
} tacit_linear_chain_t;

/* Move along an axis (dim), by slice sampling with stepping out [Neal2003]. */
void tacit_linear_slice(tacit_linear_chain_t *chain, const double *axis);
/* Draw the shape of residuals given the rest. */
void tacit_linear_draw_shape(tacit_linear_chain_t *chain);
/* theta (dim) of the chain's point, log sigma uncertain by what was extrapolated. */
void tacit_linear_state(const tacit_linear_chain_t *chain, double *theta);

/* Draws of all chains; mean (d) and cov (d, d) of the kept coefficients. */
TACIT_MUST_USE tacit_status_t tacit_linear_walk(tacit_linear_posterior_t *posterior, const tacit_noise_aware_settings_t *settings,
                                                tacit_draws_t *draws, double *mean, double *cov, tacit_error_t *err);

#endif
