/*
 * Parts of the noise-aware regression. Everything here works on releases and public numbers only; records
 * stay behind the curator. Matrices are row-major. Notation as in docs/theory.md, "Noise-aware regression".
 */
#ifndef TACIT_NOISE_AWARE_INTERNAL_H
#define TACIT_NOISE_AWARE_INTERNAL_H

#include "curator/curator.h"
#include "noise_aware/noise_aware.h"
#include "noise_aware/schedule.h"
#include "tacit/random.h"

/* ---- fit.c: is the caller content to go on, `done` iterations of each chain being done? ---- */

bool tacit_aware_goes_on(const tacit_noise_aware_settings_t *settings, size_t done, double accept_rate);
/* The same before the first iteration: TACIT_ERR_INTERRUPTED if not. */
TACIT_MUST_USE tacit_status_t tacit_aware_may_start(const tacit_noise_aware_settings_t *settings,
                                                    tacit_error_t *err);
/* Rows of draws that `done` iterations fill. */
static inline size_t tacit_aware_rows(const tacit_draws_t *draws, size_t thin, size_t done) {
  return done <= draws->n_warmup ? done : draws->n_warmup + (done - draws->n_warmup) / thin;
}

/* Units that count, and the relative error (sd) of that number: 0 where it is public. */
typedef struct tacit_aware_count {
  double n, error;
} tacit_aware_count_t;
/* provider.c: is the number of units that count private? */
bool tacit_aware_is_count_private(const tacit_noise_aware_settings_t *settings);
/* ---- clusters.c: units of several rows ---- */

enum { TACIT_AWARE_ROW_CELLS = 64 };
/* How many rows units have. */
typedef struct tacit_unit_rows {
  size_t n;
  double rows[TACIT_AWARE_ROW_CELLS],
      share[TACIT_AWARE_ROW_CELLS]; /* (n): rows of a cell's units, their share of all units */
} tacit_unit_rows_t;
bool tacit_aware_has_clusters(const tacit_noise_aware_settings_t *settings);
/* Where units may have several rows, release how many; else one, publicly. */
TACIT_MUST_USE tacit_status_t tacit_aware_learn_rows(tacit_curator_t *curator,
                                                     const tacit_noise_aware_settings_t *settings,
                                                     tacit_aware_count_t count, tacit_unit_rows_t *rows,
                                                     tacit_error_t *err);
/*
 * With the weight min(1, reach) / k of each of the k rows of a unit, expected sums over k rows of the weight
 * and, root of, its square. reach: the radius over |L x| q.
 */
void tacit_aware_weigh(const tacit_unit_rows_t *rows, double reach, double *sum, double *root);

/* ---- source.c: releases, made by a curator and kept in settings->releases if that is set; without a
 * curator, taken from there ---- */

/* Features; the number of units, where it is public; sensitivity in units of a bound. */
size_t tacit_aware_n_features(const tacit_curator_t *curator, const tacit_noise_aware_settings_t *settings);
TACIT_MUST_USE tacit_status_t tacit_aware_n_units(tacit_curator_t *curator,
                                                  const tacit_noise_aware_settings_t *settings, double *n,
                                                  tacit_error_t *err);
double tacit_aware_factor(const tacit_noise_aware_settings_t *settings);

/* Where a release is made: public. What was kept puts its own there: it was made at that point, wherever one
 * would make it now. */
typedef struct tacit_aware_point {
  double *theta, *whiten, *radius; /* (d), (d, d), (1) */
  double *cap;                     /* (1), of squares of scores; else NULL */
} tacit_aware_point_t;
typedef struct tacit_aware_joint {
  size_t n_features;
  double *whiten;                         /* (d, d), or NULL */
  double *radius, *theta, *scale, *reach; /* of tacit_row_weighting_t and tacit_row_residual_t; theta (d) */
} tacit_aware_joint_t;

/* As the releases of curator/curator.h; whiten NULL: in the cube. */
TACIT_MUST_USE tacit_status_t tacit_aware_release_moments(tacit_curator_t *curator,
                                                          const tacit_noise_aware_settings_t *settings,
                                                          double multiplier, double *whiten, double *radius,
                                                          double *out, double *noise_sd, tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_aware_release_score(tacit_curator_t *curator,
                                                        const tacit_noise_aware_settings_t *settings,
                                                        double multiplier, const tacit_aware_point_t *at,
                                                        double *out, double *noise_sd, tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_aware_release_score_squares(tacit_curator_t *curator,
                                                                const tacit_noise_aware_settings_t *settings,
                                                                double multiplier,
                                                                const tacit_aware_point_t *at, double *out,
                                                                double *noise_sd, tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_aware_release_information(tacit_curator_t *curator,
                                                              const tacit_noise_aware_settings_t *settings,
                                                              double multiplier,
                                                              const tacit_aware_point_t *at, double *out,
                                                              double *noise_sd, tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_aware_release_count(tacit_curator_t *curator,
                                                        const tacit_noise_aware_settings_t *settings,
                                                        double multiplier, double *n, double *noise_sd,
                                                        tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_aware_release_unit_rows(tacit_curator_t *curator,
                                                            const tacit_noise_aware_settings_t *settings,
                                                            double multiplier, size_t n, const size_t *first,
                                                            double *out, double *noise_sd,
                                                            tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_aware_release_joint_moments(tacit_curator_t *curator,
                                                                const tacit_noise_aware_settings_t *settings,
                                                                double multiplier,
                                                                const tacit_aware_joint_t *at, double *out,
                                                                double *noise_sd, tacit_error_t *err);

/* theta (d), whiten (d, d), out (2 (d - 1)). */
TACIT_MUST_USE tacit_status_t tacit_aware_release_residual_shapes(
    tacit_curator_t *curator, const tacit_noise_aware_settings_t *settings, double multiplier, double *theta,
    double *whiten, double *out, double *noise_sd, tacit_error_t *err);

/* Of counts: residuals from theta (d) in units of scale, or where theta is NULL a feature, by its place;
 * edges (n_edges). */
typedef struct tacit_aware_cells {
  size_t n_features;
  double *theta, *scale, *feature;
  size_t n_edges;
  double *edges;
} tacit_aware_cells_t;
TACIT_MUST_USE tacit_status_t tacit_aware_release_cells(tacit_curator_t *curator,
                                                        const tacit_noise_aware_settings_t *settings,
                                                        double multiplier, const tacit_aware_cells_t *at,
                                                        double *out, double *noise_sd, tacit_error_t *err);

/* Vectors in bands, and the public point at which they are what they are: its parts, as kept. Of bands and of
 * lengths; without a curator of.vectors is not asked. */
typedef struct tacit_aware_banded {
  tacit_banded_t of;
  size_t n_parts; /* less than TACIT_RELEASE_MAX_PARTS */
  tacit_release_part_t parts[TACIT_RELEASE_MAX_PARTS - 1];
} tacit_aware_banded_t;
TACIT_MUST_USE tacit_status_t tacit_aware_release_lengths(tacit_curator_t *curator,
                                                          const tacit_noise_aware_settings_t *settings,
                                                          double multiplier, const tacit_aware_banded_t *at,
                                                          size_t n_edges, double *edges, double *out,
                                                          double *noise_sd, tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_aware_release_bands(tacit_curator_t *curator,
                                                        const tacit_noise_aware_settings_t *settings,
                                                        double multiplier, const tacit_aware_banded_t *at,
                                                        size_t n, double *radii, bool has_count, double *out,
                                                        double *noise_sd, tacit_error_t *err);

/* A point of centred scores, as tacit_centred_point_t: theta (d), whiten (d, d). */
typedef struct tacit_aware_centred {
  double *theta, *whiten, *clip, *most;
  size_t n_simulated;
  uint64_t seed;
} tacit_aware_centred_t;
typedef enum tacit_aware_centred_kind {
  TACIT_CENTRED_SCORE, /* out (d) */
  TACIT_CENTRED_SLOPE  /* svec */
} tacit_aware_centred_kind_t;
TACIT_MUST_USE tacit_status_t tacit_aware_release_centred(tacit_curator_t *curator,
                                                          const tacit_noise_aware_settings_t *settings,
                                                          tacit_aware_centred_kind_t kind, double multiplier,
                                                          const tacit_aware_centred_t *at, double *out,
                                                          double *noise_sd, tacit_error_t *err);

/* ---- linear.c: small dense matrices ---- */

/* Lower Cholesky factor of the lower triangle of a, in place, upper triangle cleared; false if a is not
 * positive. */
bool tacit_cholesky(size_t n, double *a);
/* x <- L^-1 x and x <- L^-T x for a lower factor L. */
void tacit_solve_lower(size_t n, const double *factor, double *x);
void tacit_solve_upper(size_t n, const double *factor, double *x);
/* out (n) <- L' v. */
void tacit_multiply_upper(size_t n, const double *factor, const double *v, double *out);
/* inverse <- L^-1, lower triangular. */
void tacit_invert_lower(size_t n, const double *factor, double *inverse);
/* inverse <- L^-T L^-1, which is symmetric. work: n^2. */
void tacit_invert_factored(size_t n, const double *factor, double *work, double *inverse);
/* Eigenvalues and orthonormal eigenvectors (columns) of a symmetric matrix, which is destroyed; cyclic
 * Jacobi. */
void tacit_eigen(size_t n, double *a, double *values, double *vectors);
/* Raise the eigenvalues of a symmetric matrix to at least `least`. work: 2 n^2 + n. */
void tacit_raise_eigenvalues(size_t n, double *a, double least, double *work);
/* out (n x m) <- a (n x k) b (k x m) */
void tacit_multiply(size_t n, size_t k, size_t m, const double *a, const double *b, double *out);
/* out (n, n), which may be b, <- a b a'. work: n^2. */
void tacit_sandwich(size_t n, const double *a, const double *b, double *work, double *out);
double tacit_dot(size_t n, const double *a, const double *b);
/* Middle of n numbers, which are reordered; 0 if there are none. */
double tacit_median(size_t n, double *values);

/* ---- population.c: pseudo-rows of given first and second moments ---- */

/* Mean and covariance of the p = d - 1 features besides the intercept, and what is public of them. */
typedef struct tacit_shape {
  size_t p;
  const bool *is_two_valued;            /* (p) */
  const tacit_feature_makeup_t *makeup; /* (p), of features 1 to p; NULL: none */
  double *mean;                         /* (p) */
  double *cov;                          /* (p, p) */
  size_t n_each; /* so many rows have each value of a two-valued feature, at least, however rare */
} tacit_shape_t;

/* Does column j of a shape have two values that rows are given, rather than the product of other columns? */
bool tacit_shape_is_two_valued(const tacit_shape_t *shape, size_t j);
/*
 * rows (n, p + 1): Gaussian rows of this shape, clamped to the cube, with a leading 1; a +-1 feature is the
 * sign of its latent normal, a level of a factor only where no level before it is, and a product is one.
 * normals (n, p): standard normal. work: 6 p^2 + 4 p.
 */
void tacit_population(const tacit_shape_t *shape, size_t n, const double *normals, double *rows,
                      double *work);
/* second (d, d) <- second moments of (1, z) for z of this shape. */
void tacit_second_moments(const tacit_shape_t *shape, double *second);
/* The shape whose second moments are proportional to `second`; means clamped to +-0.98, of two-valued
 * features to what 5 of 10 000 records have. */
void tacit_shape_from(tacit_shape_t *shape, const double *second);

/* ---- surrogate.c ---- */

/* The releases of the two matrices and what follows from them. */
typedef struct tacit_surrogate {
  size_t d, n_rows, n_basis; /* n_rows: a multiple of 16 */
  double *x;             /* (d, n_rows): pseudo-rows in the cube, x_0 = 1; (n_rows, d) while they are built */
  double *weight;        /* (n_rows): omega */
  double *basis;         /* (n_rows, n_basis): Q, centred and orthonormal under omega */
  double *basis_cov;     /* (n_basis, n_basis): V_Q, uncertainty of the population means of Q */
  double *basis_shift;   /* (n_basis): e_Q, the means themselves */
  double *second;        /* (d, d): second moments of the shape */
  double mean_noise;     /* sd of the noise of a feature's mean in the first release */
  double eigenvalue;     /* least one of the second release, over its floor */
  bool is_wide;          /* of many features: no basis; then what is uncertain is */
  double entry_variance; /* of entries of the whitened second moments, off the diagonal; on it twice that */
} tacit_surrogate_t;

/* Move what lies along a (d), which is made a unit vector, or along the identity (a NULL), from one symmetric
 * matrix to another. */
void tacit_take_along(size_t d, double *a, double *rest, double *to);
/* Entries of a symmetric matrix, released with independent noise, shrunk towards 0 by how much they vary
 * beyond that. */
typedef struct tacit_shrinkage {
  double trust, noise_var,
      variance; /* share kept of an entry; variances of what is off the diagonal, before and after */
} tacit_shrinkage_t;
tacit_shrinkage_t tacit_shrinkage(size_t d, const double *matrix, double noise_var);
double tacit_shrink_entry(const tacit_shrinkage_t *by, double entry);

/* Weighted pseudo-rows while they are built or after: feature j of row k is x[k * by_row + j * by_feature].
 */
typedef struct tacit_rows {
  const tacit_noise_aware_settings_t *settings;
  size_t n, d, by_row, by_feature;
  const double *x, *weight;
} tacit_rows_t;
/*
 * is_in (n) <- the rows that have a rare value: the rarer one of feature g < d, which has two; for g >= d
 * those that have none of the levels of the factor whose first feature is g - d, or those that have one. g <
 * 2 d. False: there is no such value, no row has it, or it is not rare.
 */
bool tacit_rare_rows(const tacit_rows_t *rows, size_t g, bool *is_in);
/* A value is rare which less than this share of rows has. */
extern const double tacit_rare_share;

/* Make the two releases of second moments and build the surrogate. Clear also after failure. */
TACIT_MUST_USE tacit_status_t tacit_surrogate_init(tacit_surrogate_t *surrogate, tacit_curator_t *curator,
                                                   const tacit_noise_aware_settings_t *settings,
                                                   tacit_aware_count_t count, bool is_wide, tacit_rng_t *rng,
                                                   tacit_error_t *err);
void tacit_surrogate_clear(tacit_surrogate_t *surrogate);

/* out <- whiten x scaled down to the radius; returns the norm before. */
double tacit_weigh_row(size_t d, const double *whiten, const double *x, double radius, double *out);
/* No row of the cube has a larger norm. */
double tacit_cube_norm(size_t d, const double *whiten);
/* Radius of whitened rows in a release of a matrix: as large as its noise allows. */
double tacit_matrix_radius(size_t d, const double *whiten, double n, double multiplier);

/* ---- rounds.c: the scores released so far, and what is known of them at any theta ---- */

/*
 * Stacked over rounds j, with u = w_j L_j x and f = u (m_theta - m_theta_j) on the pseudo-rows, the released
 * scores have
 *
 *     mean n (sum omega f + c e),   covariance n sum omega v u u' + n^2 [c V c' + (Cov f - c c') / weight] +
 * noise,   c = Cov(f, Q),
 *
 * Q the surrogate's basis and, once the information is released, what that adds to it; V and e of their
 * population means. Where n is released, the covariance has (error mean) (error mean)' on top.
 *
 * Units of several rows (clusters.c): x is a row of a unit, u = W_1 L x with W_1 the weights expected of a
 * unit's rows together, u' in the covariance's first term U = W_2^1/2 L x, W_2 the sum of their squares, and
 * what the rows of a unit share is added: `clustered`.
 */
typedef struct tacit_rounds {
  const tacit_surrogate_t *surrogate;
  double n, n_error, weight;       /* n_error: relative, of n */
  size_t n_rounds, n_columns;      /* columns: 1 and those of Q */
  double *columns;                 /* (n_columns, n_rows): omega times [1, Q] */
  double *basis_cov, *basis_shift; /* V, e */
  double *scale;                   /* (n_rows): omega (1 + Q . e), so that the mean is n f scale */
  double *quadratic; /* (n_columns, n_columns): diag(-1 / weight, V - I / weight) + error^2 (1, e) (1, e)' */
  tacit_unit_rows_t unit_rows;
  double *rows;      /* (TACIT_AWARE_ROUNDS d, n_rows): u */
  double *sampled;   /* the same, U; where units have one row, rows itself */
  double *clustered; /* (TACIT_AWARE_ROUNDS d, TACIT_AWARE_ROUNDS d); NULL where units have one row */
  double *spread;    /* (TACIT_AWARE_ROUNDS, n_rows): m_theta_j - upper / 2 */
  double *released;  /* (TACIT_AWARE_ROUNDS d) */
  double *doubt;     /* (TACIT_AWARE_ROUNDS d, d): blocks of what an early round's covariance may be off by */
  double noise_var[TACIT_AWARE_ROUNDS], radius[TACIT_AWARE_ROUNDS],
      touched[TACIT_AWARE_ROUNDS]; /* touched: share of rows with w < 1 */
  double count_noise;              /* sd of the noise in the last score's number of records of an outcome */
  double last_theta[TACIT_NOISE_AWARE_MAX_FEATURES],
      last_whiten[TACIT_NOISE_AWARE_MAX_FEATURES * TACIT_NOISE_AWARE_MAX_FEATURES];
  double excess, excess_square; /* a, b of dispersion.c */
  double moved; /* what weights may have moved, in sds of the last score: residual_shapes.c; 0: nothing that
                   is seen */
} tacit_rounds_t;

TACIT_MUST_USE tacit_status_t tacit_rounds_init(tacit_rounds_t *rounds, const tacit_surrogate_t *surrogate,
                                                tacit_aware_count_t count, const tacit_unit_rows_t *unit_rows,
                                                tacit_error_t *err);
void tacit_rounds_clear(tacit_rounds_t *rounds);
/* scale and quadratic from columns, V and e. */
void tacit_rounds_fill(tacit_rounds_t *rounds);

/* What a release of a round needs: where it is made, and what is known there. */
typedef struct tacit_round_place {
  tacit_curator_t *curator;
  const tacit_noise_aware_settings_t *settings;
  const tacit_parameters_t *parameters;
  tacit_rng_t *rng;
  const double *theta; /* (d): the point */
  const double
      *factor; /* (d, d): lower factor of the posterior's covariance there; NULL: before anything is known */
  double share;
} tacit_round_place_t;

/* Release the score at a point, with the radius that is best by what is known. */
TACIT_MUST_USE tacit_status_t tacit_rounds_release(tacit_rounds_t *rounds, const tacit_round_place_t *place,
                                                   tacit_error_t *err);
/* Release the information at a point; Q, V and e gain what it tells. */
TACIT_MUST_USE tacit_status_t tacit_rounds_learn_information(tacit_rounds_t *rounds,
                                                             const tacit_round_place_t *place,
                                                             tacit_error_t *err);
/* dispersion.c: release the squares of the last score's terms; counts then vary as these show. place->theta:
 * the mode since. */
TACIT_MUST_USE tacit_status_t tacit_rounds_learn_dispersion(tacit_rounds_t *rounds,
                                                            const tacit_round_place_t *place,
                                                            tacit_error_t *err);
/* clusters.c: release the squares of the last score, unit by unit; what rows of a unit share joins the
 * covariance. place->theta: the mode since. */
TACIT_MUST_USE tacit_status_t tacit_rounds_learn_clusters(tacit_rounds_t *rounds,
                                                          const tacit_round_place_t *place,
                                                          tacit_error_t *err);
/* residual_shapes.c: release residuals along features; moved <- by them. place->theta: the mode since. */
TACIT_MUST_USE tacit_status_t tacit_rounds_look_at_residuals(tacit_rounds_t *rounds,
                                                             const tacit_round_place_t *place,
                                                             tacit_error_t *err);
/* Moments of a response that varies so. */
void tacit_rounds_disperse(const tacit_rounds_t *rounds, tacit_family_moments_t *moments);
/* metric.c: whiten (d, d) <- inverse Cholesky factor of the expected information around the point; mean_var
 * (n_rows) that of rows. */
TACIT_MUST_USE tacit_status_t tacit_round_metric(const tacit_surrogate_t *s, const tacit_round_place_t *place,
                                                 double *whiten, double *mean_var, tacit_error_t *err);
/* spread (n_rows) <- mean response - upper / 2 at theta. */
void tacit_round_spread(const tacit_surrogate_t *s, const tacit_noise_aware_settings_t *settings,
                        const double *theta, double *spread);
/* precision (d, d) += that of the prior's touching normal at theta. */
void tacit_add_prior_precision(const tacit_parameters_t *parameters, size_t d, const double *theta,
                               double *precision);

/* ---- posterior.c ---- */

typedef struct tacit_expansion tacit_expansion_t;
typedef struct tacit_quartic tacit_quartic_t;
typedef struct tacit_aware_posterior {
  /* Another density than that of scores, log density of `of` at theta and its gradient (d) unless NULL: of
   * the rest only parameters, settings and the surrogate's size count then. NULL: none. */
  double (*density)(const void *of, const double *theta, double *grad);
  const void *of;
  struct tacit_wide *wide; /* NULL: of few features; else only prior and temporary (d, d) count besides */
  struct tacit_aware_posterior
      *next; /* the releases of another site: their likelihood counts too; NULL: there is none */
  const tacit_surrogate_t *surrogate;
  const tacit_rounds_t *rounds;
  const tacit_parameters_t *parameters;
  const tacit_noise_aware_settings_t *settings;
  const tacit_expansion_t *expansion; /* of the covariance; NULL: none */
  const tacit_quartic_t *quartic; /* of the likelihood of this and all next, where no gradient is asked for */
  /* workspace, D = d n_rounds; after an evaluation: cov_factor (D, D) */
  tacit_family_moments_t *moments; /* (n_rows) */
  double *f, *y, *cov, *cov_factor, *cov_inverse, *solved, *adjoint, *temporary;
  double *spread;                        /* (TACIT_AWARE_ROUNDS, n_rows): m_theta - m_theta_j */
  double *lines[3 + TACIT_AWARE_ROUNDS]; /* (n_rows) each */
} tacit_aware_posterior_t;

TACIT_MUST_USE tacit_status_t tacit_aware_posterior_init(tacit_aware_posterior_t *posterior,
                                                         const tacit_rounds_t *rounds,
                                                         const tacit_parameters_t *parameters,
                                                         const tacit_noise_aware_settings_t *settings,
                                                         tacit_error_t *err);
void tacit_aware_posterior_clear(tacit_aware_posterior_t *posterior);
/* Log density up to a constant and its gradient (d) unless NULL; -INFINITY where it is not a number. */
double tacit_aware_posterior_log_density(tacit_aware_posterior_t *posterior, const double *theta,
                                         double *grad);
/* Log likelihood of the releases of this and all `next`; grad (d) += its gradient unless NULL. What is no
 * number has none. */
double tacit_aware_posterior_likelihood(tacit_aware_posterior_t *posterior, const double *theta,
                                        double *grad);
/* n^2: what the process adds to C is by the surrogate's means, and counts so often. */
double tacit_aware_discrepancy_weight(const tacit_aware_posterior_t *posterior);
/* cov <- C(theta), lower triangle, itself. */
void tacit_aware_posterior_covariance(tacit_aware_posterior_t *posterior, const double *theta);
/*
 * precision (d, d) <- Gauss-Newton approximation of the negative Hessian at the theta evaluated last, prior
 * included; positive semi-definite.
 */
void tacit_aware_posterior_precision(tacit_aware_posterior_t *posterior, const double *theta,
                                     double *precision);

/* Of the releases of this site alone, prior and those of `next` left out: log likelihood; its gradient (d)
 * and Gauss-Newton precision (d, d). */
double tacit_aware_posterior_log_likelihood(tacit_aware_posterior_t *posterior, const double *theta);
void tacit_aware_posterior_likelihood_shape(tacit_aware_posterior_t *posterior, const double *theta,
                                            double *grad, double *precision);

/* ---- expansion.c ---- */

/*
 * The covariance C(theta) of the scores of one site as a polynomial of the second degree in coordinates in
 * which the posterior is about standard normal: it changes slowly there, and to sum it over pseudo-rows takes
 * nearly all of the time of an evaluation. Means stay what they are. Whoever takes it compares it with what
 * it stands for (walk.c).
 */
enum { TACIT_AWARE_MOST_EXPANDED = 12 }; /* features */
TACIT_MUST_USE tacit_status_t tacit_expansion_new(tacit_expansion_t **expansion,
                                                  tacit_aware_posterior_t *posterior, const double *mode,
                                                  const double *factor, tacit_error_t *err);
void tacit_expansion_free(tacit_expansion_t *expansion);
/* out (D) <- the scores less their means, of mean responses (n_rows). */
void tacit_expansion_residual(const tacit_expansion_t *expansion, const double *means, double *out);
/* out (n_rows) <- alpha' of how the means of the scores change with mean responses, for alpha (D). */
void tacit_expansion_along(const tacit_expansion_t *expansion, const double *alpha, double *out);
/* cov (D, D) <- it, lower triangle. */
void tacit_expansion_covariance(const tacit_expansion_t *expansion, const double *theta, double *cov);
/* grad (d) += the derivative by theta of sum_ij slope_ij C_ij, slope (D, D) symmetric. */
void tacit_expansion_add_slope(const tacit_expansion_t *expansion, const double *theta, const double *slope,
                               double *grad);

/* ---- quartic.c, quartic_fit.c ---- */

/*
 * The log likelihood itself, of all sites together, as a function of a polynomial of the fourth degree: a
 * sixtieth of the time of an expansion's. Whoever takes it compares it with what it stands for (walk.c).
 */
TACIT_MUST_USE tacit_status_t tacit_quartic_new(tacit_quartic_t **quartic, tacit_aware_posterior_t *posterior,
                                                const double *mode, const double *factor, tacit_error_t *err);
void tacit_quartic_free(tacit_quartic_t *quartic);
double tacit_quartic_value(const tacit_quartic_t *quartic, const double *theta);

/* ---- mode.c, walk.c ---- */

/* Move theta (d) to a mode; factor (d, d): lower factor of the inverse of the Gauss-Newton precision there.
 */
TACIT_MUST_USE tacit_status_t tacit_aware_mode(tacit_aware_posterior_t *posterior, double *theta,
                                               double *factor, tacit_error_t *err);
/*
 * Chains from around the mode into draws, which the caller has initialised; mean (d) and cov (d, d) of the
 * kept states on the unconstrained scale.
 */
TACIT_MUST_USE tacit_status_t tacit_aware_walk(tacit_aware_posterior_t *posterior, const double *mode,
                                               const double *factor, tacit_draws_t *draws, double *mean,
                                               double *cov, tacit_error_t *err);

/* ---- checks.c ---- */

/* Quantile of the normal at which a chi-square of n degrees of freedom is this large. */
double tacit_chi_square_quantile(double square, double n);

/* scales (d) <- what the surrogate tells of each feature; that of the intercept is 0, 0, 0. */
void tacit_surrogate_scales(const tacit_surrogate_t *surrogate, tacit_feature_scale_t *scales);

/* What checks of every family look at. */
typedef struct tacit_aware_common {
  size_t d;
  const tacit_parameters_t *parameters;
  const tacit_noise_aware_settings_t *settings;
  const tacit_feature_scale_t *scales;
  const double *mean, *cov; /* (d), (d, d): of the draws */
  double mean_noise;        /* sd of the noise of a feature's mean in the first release */
  double eigenvalue;        /* least one of the whitened second moments, over its floor */
} tacit_aware_common_t;

/* How far priors move a term, in sds of its variance; none of a term that is known. */
void tacit_aware_check_pull(tacit_checks_t *checks, size_t term, double moved, double variance);
/* result <- the checks of features and priors, and the prior beside the posterior. */
void tacit_aware_check_common(const tacit_aware_common_t *common, tacit_evidence_t *result);

/* precision (d, d) += the prior's at the posterior mean. */
void tacit_aware_add_prior(const tacit_aware_common_t *common, double *precision);
/*
 * settings->evidence <- by how much noise widened each coefficient's posterior. precision (d, d): information
 * of the same records without noise; overwritten.
 */
void tacit_aware_noise_factors(const tacit_aware_common_t *common, double *precision);

#endif
