/*
 * The curator from within the library: each release, what it is charged as, and what is public about it.
 */
#ifndef TACIT_CURATOR_CURATOR_H
#define TACIT_CURATOR_CURATOR_H

#include "door/door.h"
#include "tacit/base.h"
#include "tacit/curator.h"

struct tacit_record_model;
bool tacit_curator_is_exposed(const tacit_curator_t *curator);

size_t tacit_curator_dim(const tacit_curator_t *curator);

/** Number of units if it is public (substitute, or exposed), else TACIT_ERR_STATE. */
TACIT_MUST_USE tacit_status_t tacit_curator_n_units(const tacit_curator_t *curator, size_t *n,
                                                    tacit_error_t *err);

/** L2 bound on one unit's gradient contribution; INFINITY if exposed without clipping. */
double tacit_curator_grad_bound(const tacit_curator_t *curator);

/** Clip bound on ratios per unit of distance; 0: none but the model's own. */
double tacit_curator_clip_ratio(const tacit_curator_t *curator);

/** Bound c on one unit's log-likelihood ratio between two public points; INFINITY if none. */
double tacit_curator_ratio_bound(const tacit_curator_t *curator, const double *theta,
                                 const double *theta_prop);

/** The same, but for an exposed curator the bound that a private one would have. */
double tacit_curator_public_ratio_bound(const tacit_curator_t *curator, const double *theta,
                                        const double *theta_prop);

/** Sensitivity in units of a bound: 2 under substitution, 1 under add-remove. */
double tacit_curator_sensitivity_factor(const tacit_curator_t *curator);

/** True if ratio bounds come from the model itself, so that no ratio is ever clipped. */
bool tacit_curator_ratio_is_unclipped(const tacit_curator_t *curator);

/* ---- releases ---- */

/**
 * Release noisy sums of clipped per-unit gradients at n_theta points, in one pass over the data:
 *
 *     out[k] = sum_i clip_b(T grad l_i(theta_k)) + N(0, (noise_multiplier * f * b)^2 I)
 *
 * b = tacit_curator_grad_bound, f = tacit_curator_sensitivity_factor; each point is charged as one
 * Gaussian event. Values are multiples of the lattice spacing b 2^-m.
 *
 * @param[in]  theta  shape (n_theta, dim), finite.
 * @param[in]  noise_multiplier  > 0; ignored if exposed.
 * @param[out] out    shape (n_theta, dim); zero on failure.
 * @return TACIT_ERR_BUDGET: refused, nothing computed; TACIT_ERR_NOISE; TACIT_ERR_ARGUMENT.
 */
TACIT_MUST_USE tacit_status_t tacit_curator_release_gradient(tacit_curator_t *curator, size_t n_theta,
                                                             const double *theta, double noise_multiplier,
                                                             double *out, tacit_error_t *err);

/**
 * Release noisy sums of clipped per-unit log-likelihood ratios for n_theta pairs, in one pass:
 *
 *     out[k] = sum_i clip_c(T l_i(theta_prop_k) - T l_i(theta_k)) + N(0, noise_sd[k]^2)
 *
 * c = tacit_curator_ratio_bound(theta_k, theta_prop_k); noise_sd[k] = noise_multiplier * f * c.
 * Each l_i is first rounded to a public grid, so ratios are differences of a potential and the
 * chain is exact for a posterior that differs by at most 3 n g / 4 in log density (docs/theory.md).
 * A pair with theta_prop == theta yields exactly 0 with noise_sd 0 and is not charged.
 *
 * @param[out] out, noise_sd  shape (n_theta); zero on failure.
 */
TACIT_MUST_USE tacit_status_t tacit_curator_release_log_ratio(tacit_curator_t *curator, size_t n_theta,
                                                              const double *theta, const double *theta_prop,
                                                              double noise_multiplier, double *out,
                                                              double *noise_sd, tacit_error_t *err);

/**
 * Whitened, weighted rows: a record's features x enter as w u with u = whiten x and w = min(1, radius /
 * ||u||_2), so that no row has a norm above `radius`. Weights that depend on x alone leave an estimating
 * equation unbiased [Mallows1975].
 */
typedef struct tacit_row_weighting {
  const double *whiten; /**< lower triangular, shape (dim, dim), row-major, finite; NULL: the identity */
  double radius;        /**< finite, > 0 */
} tacit_row_weighting_t;

/** Most features of a model whose rows are released in this way. */
enum { TACIT_MAX_ROW_FEATURES = 256 };

/**
 * Release the noisy matrix of second moments of the weighted rows, as the vector of its upper triangle with
 * off-diagonal entries times sqrt(2), row by row (svec: an isometry for the Frobenius norm):
 *
 *     out = svec(sum_i w_i^2 u_i u_i') + N(0, noise_sd^2 I)
 *
 * A unit of several records has one weight, w = min(1, radius / (sum_t |u_t|^2)^1/2). Sensitivity: sqrt(2)
 * radius^2 under substitution, radius^2 under add-remove, for any number of records a unit (docs/theory.md,
 * "Noise-aware regression"); charged as one Gaussian event. This and the following releases need one linear
 * predictor and temperature 1.
 *
 * @param[in]  noise_multiplier  noise_sd over the sensitivity; 2^-30 to 2^28; ignored if exposed.
 * @param[out] out       shape (dim (dim + 1) / 2); zero on failure.
 * @param[out] noise_sd  standard deviation of the noise in each element; 0 if exposed.
 * @return TACIT_ERR_BUDGET: refused, nothing computed; TACIT_ERR_NOISE; TACIT_ERR_ARGUMENT; TACIT_ERR_STATE:
 * tempered.
 */
TACIT_MUST_USE tacit_status_t tacit_curator_release_second_moments(tacit_curator_t *curator,
                                                                   const tacit_row_weighting_t *rows,
                                                                   double noise_multiplier, double *out,
                                                                   double *noise_sd, tacit_error_t *err);

/** A public point at which scores are released, and how rows are weighted there. */
typedef struct tacit_score_point {
  int family;           /**< a tacit_family_t that, with `upper`, has tacit_family_moments() */
  double upper;         /**< the response is clamped to [0, upper] */
  const double *theta;  /**< shape (dim), finite */
  const double *whiten; /**< L: lower triangular, shape (dim, dim), row-major, finite; NULL: the identity */
  double radius;        /**< R, from 1e-15 to 1e15 */
  double cap; /**< of squares of scores: a longer psi is shortened to it; from 1e-15 to 1e15, or 0: none is */
} tacit_score_point_t;

/**
 * Release the weighted score out = sum w L x (y - m(x . theta)) + N(0, noise_sd^2 I), summed over records, y
 * clamped to [0, upper]. With q(x) = 1/2 + |m(x . theta) - upper / 2| / upper the largest possible |y - m| /
 * upper, the weight of a row of a unit of k rows is w = min(1, R / (|L x| q)) / k: no unit adds more than R
 * upper in norm, nothing is clipped, and the score keeps mean 0 at the truth since w depends on features and
 * k alone. Sensitivity: 2 R upper under substitution, R upper under add-remove. Shape (dim); everything else
 * as above.
 */
TACIT_MUST_USE tacit_status_t tacit_curator_release_score(tacit_curator_t *curator,
                                                          const tacit_score_point_t *point,
                                                          double noise_multiplier, double *out,
                                                          double *noise_sd, tacit_error_t *err);

/**
 * Release the information out = svec(sum t t') + N(0, noise_sd^2 I), t = w sqrt(v) L x / sqrt(k) with v =
 * Var(y | x) at theta, k the rows of the unit and w = min(1, R / |sqrt(v) L x|); from features alone.
 * Sensitivity and shape as of the second moments.
 */
TACIT_MUST_USE tacit_status_t tacit_curator_release_information(tacit_curator_t *curator,
                                                                const tacit_score_point_t *point,
                                                                double noise_multiplier, double *out,
                                                                double *noise_sd, tacit_error_t *err);

/**
 * Release out = svec(sum_u psi_u psi_u') + N(0, noise_sd^2 I), psi_u what unit u adds to
 * tacit_curator_release_score(): the variance of that sum as the records themselves show it, dependence
 * within units included. With b = R upper, or the point's cap where that is less: sensitivity sqrt(2) b^2
 * under substitution, b^2 under add-remove.
 */
TACIT_MUST_USE tacit_status_t tacit_curator_release_score_squares(tacit_curator_t *curator,
                                                                  const tacit_score_point_t *point,
                                                                  double noise_multiplier, double *out,
                                                                  double *noise_sd, tacit_error_t *err);

/** A public point at which scores of any model are released, less what is expected of them there. */
typedef struct tacit_centred_point {
  const double *theta;  /**< t: shape (dim), finite */
  const double *whiten; /**< A: shape (dim, dim), row-major, finite */
  double clip;          /**< C, from 1e-15 to 1e15 */
  double most;          /**< K, from 1e-15 to 1e15 */
  size_t n_simulated; /**< responses simulated for a record, where the model has not a few to go through; 1 to
                         4096 */
  uint64_t seed;      /**< public, of these */
} tacit_centred_point_t;

/**
 * Release out = sum v + N(0, noise_sd^2 I), shape (dim), over units, v the mean over a unit's records of w (k
 * u - c), with s the gradient of the record's log-likelihood, y_m and p_m as tacit_record_model_t.others
 * gives them, and
 *
 *     u = A s(t; x, y), k = min(1, C / |u|), c = sum_m p_m k_m u_m, J = sum_m p_m k_m u_m u_m', w = min(1, K
 * / tr J, C/4 / |c|): mean 0 at the truth given x, however much is clipped. |v| <= 5/4 C, so that the
 * sensitivity is 5/2 C under substitution, 5/4 C under add-remove. A score that is no finite number counts as
 * zero.
 */
TACIT_MUST_USE tacit_status_t tacit_curator_release_centred_score(tacit_curator_t *curator,
                                                                  const tacit_centred_point_t *point,
                                                                  double noise_multiplier, double *out,
                                                                  double *noise_sd, tacit_error_t *err);

/**
 * Release out = svec(sum w J) + N(0, noise_sd^2 I), shape (dim (dim + 1) / 2), over units, means over a
 * unit's records: d E sum v / d e at t + A' e. It is a function of x alone. Positive, and tr w J <= K: the
 * sensitivity is sqrt(2) K under substitution, K under add-remove.
 */
TACIT_MUST_USE tacit_status_t tacit_curator_release_centred_slope(tacit_curator_t *curator,
                                                                  const tacit_centred_point_t *point,
                                                                  double noise_multiplier, double *out,
                                                                  double *noise_sd, tacit_error_t *err);

/** TACIT_ERR_ARGUMENT, with the reason, for models whose responses cannot be simulated or that have too many
 * parameters. */
TACIT_MUST_USE tacit_status_t tacit_centred_check(const struct tacit_record_model *model, tacit_error_t *err);

/** How many other responses a record has at the point. */
size_t tacit_centred_n_others(const struct tacit_record_model *model, const tacit_centred_point_t *point);

/** Numbers of scratch for the next two. */
size_t tacit_centred_n_work(const struct tacit_record_model *model, const tacit_centred_point_t *point);

/** slope (dim, dim) <- w J of a public record, shape (n_columns). */
void tacit_centred_slope(const struct tacit_record_model *model, const tacit_centred_point_t *point,
                         const float *record, double *work, double *slope);

/** mean (dim) <- E v at the point of a public record, responses by the model at `distribution`, shape (dim).
 */
void tacit_centred_expect(const struct tacit_record_model *model, const tacit_centred_point_t *point,
                          const double *distribution, const float *record, double *work, double *mean);

/** shares (n_edges + 1) += weight times how likely |u| of a public record is to be in each cell that rising
 * edges part, responses by the model at the point; false, and nothing is added, where they cannot be
 * simulated. */
bool tacit_centred_lengths(const struct tacit_record_model *model, const tacit_centred_point_t *point,
                           const float *record, double *work, size_t n_edges, const double *edges,
                           double weight, double *shares);

/**
 * Vectors by which units are told apart and that they add, each in the **band** that its length lies in
 * (docs/theory.md, 18.20): a score of any model, or the rows of a linear one. The length of a unit is (sum_t
 * |v_t|^2)^1/2 over its vectors.
 */
typedef struct tacit_banded {
  const char *name; /**< what vectors are, up to 16 letters: "scores"; releases are charged as "bands of
                       scores" and "lengths of scores" */
  size_t dim;       /**< numbers of a vector; 1 to TACIT_MAX_ROW_FEATURES */
  bool is_by_rows;  /**< a unit has a vector for each of its records; else n_vectors, 0: one */
  size_t n_vectors;
  /**
   * v, zero on entry, (n_rows, dim) or (dim), of a unit's n_rows >= 1 records, (n_rows, n_columns). A
   * function of these and of public values alone; may be called from several threads, each with its own work
   * (n_work).
   */
  void (*vectors)(const void *ctx, size_t n_rows, const float *records, double *work, double *v);
  const void *ctx;
  size_t n_work;
} tacit_banded_t;

enum { TACIT_MAX_BANDS = 64 };

/** Radii that divide lengths: band l has (radii[l - 1], radii[l]]; what is longer than the last is shortened
 * to it. */
typedef struct tacit_bands {
  size_t n;            /**< 1 to TACIT_MAX_BANDS */
  const double *radii; /**< shape (n), rising, from 1e-15 to 1e15 */
  bool has_count; /**< a further number, 1 in the first vector of a unit and 0 in others, comes first: then
                     every band has its count and its sum */
} tacit_bands_t;

/** Numbers that are released. */
size_t tacit_bands_n_values(const tacit_bands_t *bands, size_t dim);

/**
 * Release, of each band l, svec(sum w w') + N(0, noise_sd^2 I) over the vectors of the units in it, w = v /
 * radii[l], or with has_count w = (1, v / radii[l]): count; sqrt(2) times the sum over radii[l]; squares.
 * Bands follow each other in out. A unit lies in one band, where sum_t |w_t|^2 is at most B = 1, or 2:
 * sensitivity sqrt(2) B under substitution, B under add-remove, however many bands there are, and for any
 * number of records. A unit whose vectors are no finite numbers counts as zero. Charged as one Gaussian
 * event.
 * @param[out] out  shape (tacit_bands_n_values()); untouched where the arguments are refused, else zero on
 * failure.
 */
TACIT_MUST_USE tacit_status_t tacit_curator_release_bands(tacit_curator_t *curator, const tacit_banded_t *of,
                                                          const tacit_bands_t *bands, double noise_multiplier,
                                                          double *out, double *noise_sd, tacit_error_t *err);

/**
 * Release counts of units by length: out[k] = number with edges[k - 1] < length <= edges[k] + N(0,
 * noise_sd^2), first and last cell open; n_edges from 1 to 1023. Sensitivity sqrt(2) under substitution, 1
 * under add-remove.
 * @param[out] out  shape (n_edges + 1); untouched where the arguments are refused, else zero on failure.
 */
TACIT_MUST_USE tacit_status_t tacit_curator_release_lengths(tacit_curator_t *curator,
                                                            const tacit_banded_t *of, size_t n_edges,
                                                            const double *edges, double noise_multiplier,
                                                            double *out, double *noise_sd,
                                                            tacit_error_t *err);

/** A public linear fit: of a record (x, y) u = whiten x and r = (y - x . theta) / scale. Borrows. */
typedef struct tacit_linear_point {
  size_t n_features;    /**< d: the model's, which has one response besides */
  const double *whiten; /**< L: lower triangular, shape (d, d), finite */
  const double *theta;  /**< shape (d), finite */
  double scale;         /**< from 1e-15 to 1e15 */
  double square_weight; /**< w: 0, or from 1e-15 to 1e15 */
} tacit_linear_point_t;

/** The rows u_t / sqrt(k) of units of k records; their scores, means over t of u_t r_t, and, where w > 0,
 * last w times the root of the mean of r_t^2. Dimensions d, and d or d + 1. */
tacit_banded_t tacit_linear_rows(const tacit_linear_point_t *point);

tacit_banded_t tacit_linear_scores(const tacit_linear_point_t *point);

/** TACIT_ERR_ARGUMENT, with the reason, for a point that is none of the curator's model. */
TACIT_MUST_USE tacit_status_t tacit_linear_check(const tacit_curator_t *curator,
                                                 const tacit_linear_point_t *point, tacit_error_t *err);

/** Scores of a public point of a regression that has means, tacit_family_moments(): of a unit the mean over
 * its rows of L x (y - m), without weights; radius and cap are not looked at. Dimension d. */
typedef struct tacit_family_point {
  const tacit_score_point_t *at;
  size_t n_features; /**< d: the model's, which has one response besides */
} tacit_family_point_t;

tacit_banded_t tacit_family_scores(const tacit_family_point_t *point);

/** TACIT_ERR_ARGUMENT, with the reason, for a point that is none of the curator's model. */
TACIT_MUST_USE tacit_status_t tacit_family_check(const tacit_curator_t *curator,
                                                 const tacit_family_point_t *point, tacit_error_t *err);

/**
 * Scores of units by how many rows they have (docs/theory.md, 18.15): one vector of a unit, shortened to
 * `radius`, times the weight of the cell that its number of rows lies in. Borrows.
 */
typedef struct tacit_contrast {
  const tacit_banded_t *of; /**< of one vector a unit */
  double radius;            /**< from 1e-15 to 1e15 */
  size_t n;
  const double *first,
      *weights; /**< shape (n): the least number of rows of each cell, 1 and rising; from -1 to
                   1 */
} tacit_contrast_t;

tacit_banded_t tacit_contrasts(const tacit_contrast_t *contrast);
TACIT_MUST_USE tacit_status_t tacit_contrast_check(const tacit_contrast_t *contrast, tacit_error_t *err);

/** A program at a public point. Borrows. */
typedef struct tacit_program_point {
  const struct tacit_record_model *model;
  tacit_centred_point_t at; /**< of scores: theta and whiten alone; of slopes K is not looked at */
} tacit_program_point_t;

/** Scores u = A s of units, means over their records, dimension dim: neither clipped nor centred. A unit with
 * a score that is no finite number counts as zero. */
tacit_banded_t tacit_program_scores(const tacit_program_point_t *point);

/** Slopes of units, means over their records of J = sum_m p_m k_m u_m u_m', as dim vectors whose squares sum
 * to it: the length of a unit is (tr J)^1/2. */
tacit_banded_t tacit_program_slopes(const tacit_program_point_t *point);

/** TACIT_ERR_ARGUMENT, with the reason, for a point that is none of the curator's model. */
TACIT_MUST_USE tacit_status_t tacit_program_point_check(const tacit_curator_t *curator,
                                                        const tacit_program_point_t *point,
                                                        tacit_error_t *err);

/** Release out[0] = number of units + N(0, noise_sd^2), for relation add-remove. Sensitivity 1. */
TACIT_MUST_USE tacit_status_t tacit_curator_release_count(tacit_curator_t *curator, double noise_multiplier,
                                                          double *out, double *noise_sd, tacit_error_t *err);

enum { TACIT_UNIT_ROWS_MAX_CELLS = 64 };

/**
 * Release how many rows units have: out[i] = number of units with first[i] to first[i + 1] - 1 rows (the last
 * cell: and more) + N(0, noise_sd^2). Rows beyond the most that a unit may have are not counted. Sensitivity
 * sqrt(2) under substitution, 1 under add-remove.
 * @param[in]  n      cells, 1 to TACIT_UNIT_ROWS_MAX_CELLS.  @param[in] first  shape (n), rising, first[0]
 * = 1.
 * @param[out] out    shape (n); zero on failure, untouched where the arguments are refused.  @param[out]
 * noise_sd  of each count.
 */
TACIT_MUST_USE tacit_status_t tacit_curator_release_unit_rows(tacit_curator_t *curator, size_t n,
                                                              const size_t *first, double noise_multiplier,
                                                              double *out, double *noise_sd,
                                                              tacit_error_t *err);

/** The residual r of a public linear fit: (y - x . theta) / scale, clamped to [-reach, reach]. */
typedef struct tacit_row_residual {
  const double *theta; /**< shape (n_features), finite */
  size_t n_features;   /**< that of the model */
  double scale, reach; /**< from 1e-15 to 1e15 */
} tacit_row_residual_t;

/**
 * As tacit_curator_release_second_moments(), of v = (w u, r): svec(sum_i v_i v_i') with one more row and
 * column; the residual is not weighted. A unit adds the mean over its records. |v|^2 <= radius^2 + reach^2 =
 * B, so sensitivity sqrt(2) B under substitution, B under add-remove, for any theta, scale and metric. The
 * model may have a parameter beside its coefficients (a gaussian's sd). Shape ((n_features + 1) (n_features +
 * 2) / 2).
 */
TACIT_MUST_USE tacit_status_t tacit_curator_release_joint_moments(tacit_curator_t *curator,
                                                                  const tacit_row_weighting_t *rows,
                                                                  const tacit_row_residual_t *residual,
                                                                  double noise_multiplier, double *out,
                                                                  double *noise_sd, tacit_error_t *err);

/** What is counted in cells: the residual (not clamped: reach is ignored), or where that is NULL a feature.
 */
typedef struct tacit_row_cells {
  const tacit_row_residual_t *residual;
  size_t feature;      /**< its place, from 0 */
  size_t n_edges;      /**< 1 to 1023 */
  const double *edges; /**< shape (n_edges), rising, finite */
} tacit_row_cells_t;

/**
 * Release noisy counts of records between public edges: out[k] = number of records with edges[k - 1] <= value
 * < edges[k] + N(0, noise_sd^2), the first and last cell open. Where units may have several records, each
 * adds the share of its own in every cell. Sensitivity under substitution sqrt(2), with such units 2; under
 * add-remove 1.
 * @param[out] out shape (n_edges + 1); zero on failure, untouched where the arguments are refused.
 * @param[out] noise_sd of each count.
 */
TACIT_MUST_USE tacit_status_t tacit_curator_release_cells(tacit_curator_t *curator,
                                                          const tacit_row_cells_t *cells,
                                                          double noise_multiplier, double *out,
                                                          double *noise_sd, tacit_error_t *err);

/* ---- how well a public fit fits ---- */

/** The bin of x, 0 to n_bins - 1: how many of the cuts, shape (n_bins - 1), ascending, are below it. For
 * releases, and what is expected of them. */
size_t tacit_fit_check_bin(const double *cuts, size_t n_bins, double x);

#define TACIT_FIT_CHECK_LABEL "check of a fit"

/** A fit that records are put beside; public, or computed from releases. Borrows its arrays. */
typedef struct tacit_fit_point {
  int family;          /**< a tacit_family_t that, with `upper`, has tacit_family_moments(); or gaussian */
  double upper;        /**< the response is clamped to [0, upper], of a gaussian to [-1, 1] */
  double sd;           /**< gaussian: of residuals, finite and > 0, the response being mapped to [-1, 1] */
  const double *theta; /**< shape (features), finite */
  size_t n_bins;       /**< of predicted means, 1 to TACIT_FIT_MAX_BINS */
  const double *cuts;  /**< between them, rising, shape (n_bins - 1) */
  size_t by, n_by; /**< a feature whose bins have residuals of their own, and how many; by SIZE_MAX: none */
  const double *by_cuts; /**< shape (n_by - 1), in the feature's scaled units */
} tacit_fit_point_t;

/** Numbers released: n_bins counts, n_bins sums of residuals, n_by sums of residuals (if any), the excess of
 * squares. */
size_t tacit_fit_point_n_values(const tacit_fit_point_t *point);

/**
 * Release, in one Gaussian event, how records lie beside a fit: counts by bin of the predicted mean; there,
 * and by bin of a feature, sums of residuals r; and the sum of p. Of bernoulli r = y - m, else clamp((y - m)
 * / (3 sqrt v), +-1) less its mean under the fit; p = min((y - m)^2 / (9 v), 1) less its mean. A unit's
 * numbers, weighted so that their squares sum to at most 1, are the door's shape "ball": sensitivity 2 under
 * substitution, 1 under add-remove, of the weighted numbers (docs/theory.md, "Private checks").
 *
 * @param[out] out, noise_sd  shape (tacit_fit_point_n_values()): sums over records and the sd of the noise in
 * each; zero on failure.
 * @return as tacit_curator_release_score(); TACIT_ERR_STATE where a unit has several records.
 */
TACIT_MUST_USE tacit_status_t tacit_curator_release_fit_check(tacit_curator_t *curator,
                                                              const tacit_fit_point_t *point,
                                                              double noise_multiplier, double *out,
                                                              double *noise_sd, tacit_error_t *err);

/** shapes (2 (n_features - 1)) <- of each feature but the first, z = whiten x: z^2 - 1 and (z^3 - 3 z) / 2,
 * each clamped to [-1, 1]. */
void tacit_fit_shapes(size_t n_features, const double *whiten, const double *x, double *shapes);

/**
 * Release out = sum of r times the shapes of its features + N(0, noise_sd^2 I), shape (2 (n_features - 1)),
 * over units, means over a unit's records; r as in tacit_curator_release_fit_check(), whose family, upper and
 * theta alone are read. Mean 0 where the fit is right. whiten: shape (n_features, n_features), lower
 * triangular. With m numbers the sensitivity is 2 sqrt(m) under substitution, sqrt(m) under add-remove.
 *
 * @return as tacit_curator_release_score().
 */
TACIT_MUST_USE tacit_status_t tacit_curator_release_residual_shapes(tacit_curator_t *curator,
                                                                    const tacit_fit_point_t *point,
                                                                    const double *whiten,
                                                                    double noise_multiplier, double *out,
                                                                    double *noise_sd, tacit_error_t *err);

/**
 * What records are put beside where responses are simulated (tacit_record_model_t.others): a program at a
 * point. Everything here is public. Borrows its arrays. A record is in a bin by its prediction, the mean of
 * its other responses (where they are draws, the median of some), and in one by a quantity of its own.
 */
typedef struct tacit_pit_point {
  const double *theta;   /**< shape (dim), unconstrained, finite */
  size_t n_simulated;    /**< responses drawn for a record, 1 to 4096; ignored where all are gone through */
  uint64_t seed;         /**< of draws: with it they are a function of the record */
  size_t n_bins;         /**< of predictions, 1 to TACIT_FIT_MAX_BINS */
  const double *cuts;    /**< between them, rising, shape (n_bins - 1) */
  size_t n_by;           /**< bins of the quantity sum factors[i] column[i]; 0: there is none */
  const double *by_cuts; /**< shape (n_by - 1) */
  size_t n_columns;      /**< of records that it is made of */
  const size_t *columns;
  const double *factors;
} tacit_pit_point_t;

enum { TACIT_PIT_SIMULATED = 127 };

/** Numbers released: TACIT_PIT_CELLS excesses, n_bins counts, n_bins and n_by sums of residuals. */
size_t tacit_pit_n_values(const tacit_pit_point_t *point);

/**
 * Release, in one Gaussian event, where records' responses lie among those that the program says they might
 * have had at theta. Of a record [lo, hi] is what the program gives to responses below its own, and to those
 * up to it; of a censored one hi is 1. What is summed: the share of that interval in each tenth of [0, 1],
 * less 1/10; by bin of the prediction 1 and r = lo + hi - 1; by bin of the quantity r. Under the program,
 * whatever the features, shares and r have mean 0. A unit adds the mean over its rows. Its numbers, weighted
 * so that their squares sum to at most 1, are the door's shape "ball": sensitivity 2 under substitution, 1
 * under add-remove (docs/theory.md, section 23). A record of which the program says nothing counts as none.
 *
 * @param[out] out, noise_sd  shape (tacit_pit_n_values()): sums over units and the sd of the noise in each;
 * zero on failure.
 * @return as tacit_curator_release_score(); TACIT_ERR_ARGUMENT for a model without other responses.
 */
TACIT_MUST_USE tacit_status_t tacit_curator_release_pit(tacit_curator_t *curator,
                                                        const tacit_pit_point_t *point,
                                                        double noise_multiplier, double *out,
                                                        double *noise_sd, tacit_error_t *err);

/** Of records that are nobody's: what a response by the program at another point would add on average. */
typedef struct tacit_pit_expected {
  double prediction, quantity;
  double shares[TACIT_PIT_CELLS],
      squares[TACIT_PIT_CELLS * TACIT_PIT_CELLS]; /**< less 1/10; mean products of these */
  double residual, residual_square;
} tacit_pit_expected_t;

/** Numbers of scratch for the following. */
size_t tacit_pit_n_work(const struct tacit_record_model *model, const tacit_pit_point_t *point);

/**
 * Mean numbers of a record with these features, responses by the model at each of n distributions, shape (n,
 * dim), put beside those at the point; drawn by the same numbers for all. @param work shape
 * (tacit_pit_n_work()).  @param[out] expected shape (n).
 */
void tacit_pit_expect(const struct tacit_record_model *model, const tacit_pit_point_t *point, size_t n,
                      const double *distributions, const float *record, double *work,
                      tacit_pit_expected_t *expected);

/* ---- statistics for tuning a sampler: metric and clip bounds ---- */

/**
 * Release the noisy diagonal of the curvature of the (tempered) log-likelihood at a point, from the features
 * alone:
 *
 *     out[r p + j] = T sum_i v_r(x_i, theta) min(x_ij^2, 1) + N(0, noise_sd[r p + j]^2),     v_r as in
 * tacit_record_model_t.curvature
 *
 * and T sum_i v_r + N for the extra parameters. In units of the public bound of v_r, a unit of at most m
 * records adds a vector in the box [0, m]^dim, so that neighbours are at most m sqrt(dim) apart in L2 under
 * either relation; charged as one Gaussian event (docs/theory.md, section 19).
 *
 * @param[in]  theta  shape (dim), finite.  @param[in] noise_multiplier  2^-30 to 2^28; ignored if exposed.
 * @param[out] out, noise_sd  shape (dim); zero on failure.
 * @return TACIT_ERR_BUDGET: refused, nothing computed; TACIT_ERR_NOISE; TACIT_ERR_ARGUMENT: also for models
 * whose curvature is not known.
 */
TACIT_MUST_USE tacit_status_t tacit_curator_release_curvature(tacit_curator_t *curator, const double *theta,
                                                              double noise_multiplier, double *out,
                                                              double *noise_sd, tacit_error_t *err);

/** Is the curvature of its model known? */
bool tacit_curator_has_curvature(const tacit_curator_t *curator);

/** Cells of the public grid of gradient norms: cell k ends at tacit_norm_edge(k) = 2^(k/2 - 8), the last has
 * no end. */
enum { TACIT_NORM_CELLS = 49 };

double tacit_norm_edge(size_t k);

/**
 * Release noisy counts of units by the norm of their (tempered, unclipped) gradient at a point:
 *
 *     out[k] = number of units with norm in (tacit_norm_edge(k - 1), tacit_norm_edge(k)] + N(0, noise_sd^2)
 *
 * A norm that is no finite number is in no cell. Replacing a unit moves at most two counts by one, adding one
 * a single count: sensitivity sqrt(2) and 1. Charged as one Gaussian event.
 *
 * @param[in]  theta  shape (dim), finite.  @param[in] noise_multiplier  2^-30 to 2^28; ignored if exposed.
 * @param[out] out shape (TACIT_NORM_CELLS); zero on failure.  @param[out] noise_sd  of each count.
 */
TACIT_MUST_USE tacit_status_t tacit_curator_release_norms(tacit_curator_t *curator, const double *theta,
                                                          double noise_multiplier, double *out,
                                                          double *noise_sd, tacit_error_t *err);

/**
 * Replace clip bounds for the releases to come: public values, or functions of releases. 0 keeps the present
 * one. The noise of later releases follows; their charge is by multiplier and does not change.
 */
TACIT_MUST_USE tacit_status_t tacit_curator_set_clip_bounds(tacit_curator_t *curator, double grad,
                                                            double ratio, tacit_error_t *err);

/* ---- statistics of columns, for inference from what is released ---- */

typedef enum tacit_statistic_kind {
  TACIT_STATISTIC_SUM = 0, /**< sum of one column clamped to [lower, upper]: 1 value */
  TACIT_STATISTIC_COUNTS =
      1, /**< records in each cell of a table of columns of levels, the last column fastest */
  /** Sums of z_j, then of z_i z_j for i <= j row by row; z_j in [-1, 1] is column j clamped and mapped. */
  TACIT_STATISTIC_PRODUCTS = 2,
  /**
   * Of d features and a binary response, the last column: sums of z_j, then of z_i z_j as above, for the
   * features alone; then of (y - 1/2) (1, z_1 .. z_d), the score of a logistic regression at coefficients 0.
   * y is 1 at the upper bound, 0 at the lower one.
   */
  TACIT_STATISTIC_SCORE = 3,
  /** Records in each cell of several tables at once, one table after another; each is of some of the columns,
     the last one fastest. */
  TACIT_STATISTIC_MARGINS = 4
} tacit_statistic_kind_t;

/** Noise of each value, independent; distributions as in random/noise.h and augment/augment.h. */
typedef enum tacit_statistic_noise {
  TACIT_STATISTIC_GAUSSIAN = 0,
  TACIT_STATISTIC_LAPLACE = 1,
  TACIT_STATISTIC_DISCRETE_GAUSSIAN = 2, /**< on the multiples of `step`, or on counts */
  TACIT_STATISTIC_DISCRETE_LAPLACE = 3
} tacit_statistic_noise_t;

/** What to release; everything here is public. Borrows its arrays. */
typedef struct tacit_statistic {
  tacit_statistic_kind_t kind;
  tacit_statistic_noise_t noise; /**< products and score: gaussian only */
  size_t n_columns; /**< sum: 1; counts: up to 16; products: up to 24; score: 2 to 24; margins: up to 30 */
  const double *lower, *upper; /**< shape (n_columns); all but counts */
  double step; /**< sum under discrete noise: values are rounded to multiples of it, as both bounds are; else
                  0 */
  const size_t
      *n_levels; /**< counts, margins: shape (n_columns), each >= 2; records hold level indices from 0 */
  size_t n_margins;
  const uint32_t *margins; /**< margins: shape (n_margins), bit j is column j */
  bool is_add_remove;      /**< margins: neighbours have a record more or less, instead of another one */
} tacit_statistic_t;

TACIT_MUST_USE tacit_status_t tacit_statistic_check(const tacit_statistic_t *statistic, tacit_error_t *err);

/** Number of values released. */
size_t tacit_statistic_n_values(const tacit_statistic_t *statistic);

/** Fill the model that a curator is opened with for a statistic: columns alone. Borrows the statistic. */
void tacit_statistic_model(struct tacit_record_model *model, const tacit_statistic_t *statistic);

/**
 * The event that a release is charged as, under relation substitute (margins: or as they say).
 * noise_multiplier is the noise's scale over the sensitivity, L2 for Gaussian noise, L1 for Laplace noise
 * (which then has epsilon = 1 / noise_multiplier).
 */
struct tacit_event tacit_statistic_event(const tacit_statistic_t *statistic, double noise_multiplier);

/**
 * Release a statistic. The curator must be private and opened with tacit_statistic_model(); units of one
 * record, relation substitute (margins: as they say). But for Gaussian noise the budget must have been given
 * the event as its schedule (tacit_budget_set_schedule()).
 *
 * @param[in]  noise_multiplier  2^-30 to 2^28, and such that the noise can be drawn (random/noise.h).
 * @param[out] out          sums over the records, shape (tacit_statistic_n_values()); zero on failure.
 * @param[out] noise_scales scale of the noise of each value, in the same units; same shape, zero on failure.
 * @return TACIT_ERR_BUDGET: refused, nothing computed; TACIT_ERR_ARGUMENT; TACIT_ERR_STATE; TACIT_ERR_NOISE.
 */
TACIT_MUST_USE tacit_status_t tacit_curator_release_statistic(tacit_curator_t *curator,
                                                              const tacit_statistic_t *statistic,
                                                              double noise_multiplier, double *out,
                                                              double *noise_scales, tacit_error_t *err);

/* ---- minibatches: who is drawn stays secret ---- */

/** The multiple of 2^-32 nearest to a sampling rate in (0, 1], at least 2^-32: the rates that can be drawn
 * exactly. */
double tacit_curator_sampling_rate(double rate);

/** The event that a release with sampling rate and noise multiplier is charged as; public. */
struct tacit_event tacit_curator_sampled_event(double rate, double noise_multiplier);

/**
 * As tacit_curator_release_gradient(), of records each drawn with probability rate, anew for every point:
 * unscaled sums over the records drawn, so that out / rate estimates the sum over all. Each point is one
 * Poisson-sampled Gaussian event.
 * @param rate a multiple of 2^-32 in (0, 1].
 * @return TACIT_ERR_STATE where a unit has several records, or an exposed curator has no subset_noise.
 */
TACIT_MUST_USE tacit_status_t tacit_curator_release_sampled_gradient(tacit_curator_t *curator, size_t n_theta,
                                                                     const double *theta, double rate,
                                                                     double noise_multiplier, double *out,
                                                                     tacit_error_t *err);

/**
 * Noisy estimates of sum_i r_i - Var / 2, Var the variance of sampling, from records each drawn with
 * probability q = rate: sum over them of psi(clip_c(r_i)), psi(r) = r / q - (1 - q) r^2 / (2 q^2), so that
 * adding nothing more but -noise_sd^2 / 2 makes the penalty test nearly exact as long as the sampling noise
 * is nearly normal (docs/theory.md, section 14). noise_sd[k] = noise_multiplier * f * |psi(-c)|. Each pair is
 * one Poisson-sampled Gaussian event.
 */
TACIT_MUST_USE tacit_status_t tacit_curator_release_sampled_log_ratio(tacit_curator_t *curator,
                                                                      size_t n_theta, const double *theta,
                                                                      const double *theta_prop, double rate,
                                                                      double noise_multiplier, double *out,
                                                                      double *noise_sd, tacit_error_t *err);

/** |psi(-c)| of the above for pairs of ratio bound c, c rounded up as it is there: noise_sd over
 * noise_multiplier * f. */
double tacit_curator_sampled_ratio_bound(double rate, double ratio_bound);

/* ---- decisions: only the bit leaves ---- */

/** The event that one decision is charged as; public. */
struct tacit_event tacit_curator_accept_event(const tacit_curator_t *curator,
                                              const tacit_accept_rule_t *rule);

/** Proposals to decide on. */
typedef struct tacit_accept_pairs {
  size_t n;
  const double *theta, *theta_prop; /**< shape (n, dim), finite */
  const double
      *correction; /**< shape (n): the public part of the log acceptance ratio; not finite: rejected unseen */
  bool *accepted;  /**< shape (n), out; false on failure */
} tacit_accept_pairs_t;

/**
 * Decide on proposals with log acceptance ratio sum_i clip_c(T l_i(theta_prop_k) - T l_i(theta_k)) +
 * correction_k, in one pass; c = tacit_curator_ratio_bound. Each decision is one event; the ratio never
 * leaves. Needs a private curator with a budget for a schedule (tacit_budget_set_schedule). A pair without a
 * move is accepted, and not charged.
 */
TACIT_MUST_USE tacit_status_t tacit_curator_release_accept(tacit_curator_t *curator,
                                                           const tacit_accept_rule_t *rule,
                                                           const tacit_accept_pairs_t *pairs,
                                                           tacit_error_t *err);

/** Expected number of records that a decision with ratio bound b and intensity a looks at. */
double tacit_curator_minibatch_size(double n, double bound, double intensity);

/** The event that one decision is charged as: bounded range b (2 + b / a) under substitution, b (1 + b / a)
 * under add-remove. */
struct tacit_event tacit_curator_minibatch_event(const tacit_curator_t *curator,
                                                 const tacit_minibatch_rule_t *rule);

/**
 * Decide on proposals as tacit_curator_release_accept() with Barker's rule does, by looking at about n (a +
 * b) records drawn at random: as exact [Zhang2020], at a cost between 1 and (2 + b / a) / 2 times that of
 * looking at all (docs/theory.md, section 15).
 * @return TACIT_ERR_STATE where a unit has several records, or an exposed curator has no subset_noise.
 */
TACIT_MUST_USE tacit_status_t tacit_curator_release_minibatch_accept(tacit_curator_t *curator,
                                                                     const tacit_minibatch_rule_t *rule,
                                                                     const tacit_accept_pairs_t *pairs,
                                                                     tacit_error_t *err);

/**
 * A Langevin proposal: what is public of it. theta_prop is N(theta + step^2 / 2 W (G(theta) + prior
 * gradient), step^2 W), with W = diag(inv_metric), G the sum of gradients; G itself was released with the
 * privacy noise that the proposal shows.
 */
typedef struct tacit_langevin_pairs {
  tacit_accept_pairs_t pairs;                 /**< correction: log prior ratio */
  const double *prior_grad, *prior_grad_prop; /**< shape (n, dim) */
  const double *inv_metric;                   /**< shape (dim) */
  double step;
} tacit_langevin_pairs_t;

/** The event that one decision on a Langevin proposal is charged as; sensitivity INFINITY where the model has
 * no bounds for it. */
struct tacit_event tacit_curator_langevin_event(const tacit_curator_t *curator,
                                                const tacit_accept_rule_t *rule, const double *inv_metric,
                                                double step);

/**
 * Decide on Langevin proposals (MALA). With s = theta_prop - theta the log acceptance ratio is a sum over
 * records of errors of the trapezoidal rule, l_i' - l_i - s . (g_i + g_i') / 2, at most 0.0081 B^3 each, and
 * step^2 / 8 (G - G') W (G + G'), G with the prior's: so its sensitivity falls with step^3, not with step
 * (docs/theory.md, section 16). Both factors of the last term are clipped in the norm of W a little beyond
 * their usual size, and each record's share of G - G' at its bound. rule.max_bound is the largest B, ratio
 * bound of a pair; pairs beyond it are rejected unseen. Rules barker and penalty only.
 * @return TACIT_ERR_SENSITIVITY for models without the bounds: they are known for bernoulli and categorical,
 * unclipped and of one record a unit.
 */
TACIT_MUST_USE tacit_status_t tacit_curator_release_langevin_accept(tacit_curator_t *curator,
                                                                    const tacit_accept_rule_t *rule,
                                                                    const tacit_langevin_pairs_t *langevin,
                                                                    tacit_error_t *err);

/* ---- for the curator's own eyes ---- */

/** PRIVATE, see there. */
typedef tacit_door_notes_t tacit_curator_notes_t;

tacit_curator_notes_t tacit_curator_notes(const tacit_curator_t *curator);
#endif
