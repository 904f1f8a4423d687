/**
 * @file model.h
 * Models: the likelihood of a block of records (private side) and the prior,
 * names and transforms of the parameters (public side).
 *
 * tacit_record_model_t is what the curator evaluates on records.
 * tacit_parameters_t is what samplers and reports may see; it holds nothing
 * computed from records. A tacit_model_t joins the two. Users implement their
 * own by filling these structs (examples/).
 */
#ifndef TACIT_MODEL_H
#define TACIT_MODEL_H

#include "tacit/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tacit_schema;
struct tacit_table;
struct tacit_records;
struct tacit_piece;

enum {
  TACIT_FOLLOWED_HAZARD =
      4, /**< how much hazard a record is followed for that may be censored: by the model one in 55 goes on */
  TACIT_FOLLOWED_LEAST = 16 /**< and in how many parts at least, its own time included */
};

/**
 * Likelihood of records. All functions are pure (same inputs, same bits) and
 * thread-safe; `ctx` is not modified. `block` has shape (n_columns, 16) as in
 * tacit/data.h; lanes past the last record hold zeros, their results are ignored.
 * Parameters are on the unconstrained scale.
 */
typedef struct tacit_record_model {
  const char *name;
  size_t dim;       /**< parameters, >= 1 */
  size_t n_columns; /**< float32 columns of a record, >= 1 */

  /**
   * A number B with ||grad l_i(theta)||_2 <= B for every record the schema allows and every
   * theta, or INFINITY. With a finite B nothing needs clipping.
   */
  double grad_bound;

  /**
   * sup over allowed records of |l_i(theta_prop) - l_i(theta)|, or INFINITY; public. NULL means
   * grad_bound * ||theta_prop - theta||_2.
   */
  double (*ratio_bound)(const void *ctx, const double *theta, const double *theta_prop);

  /**
   * The log-likelihood is eta_y - log sum_c e^eta_c in linear predictors eta (two classes: logistic
   * regression): along any line its gradient changes by at most grad_bound B / 4 and its third derivative is
   * at most B^3 / (6 sqrt 3), B the ratio bound of the ends.
   */
  bool is_softmax;

  /**
   * Log-likelihoods of 16 records for n_theta parameter vectors, up to terms free of theta.
   * @param theta shape (n_theta, dim);  @param out shape (n_theta, 16).
   */
  void (*log_lik)(const void *ctx, const float *block, size_t n_theta, const double *theta, double *out);

  /**
   * The same, to the last bit, for n_blocks blocks that follow each other in memory: fewer calls, each with
   * more to do at a time. NULL: log_lik is called for each block.
   * @param out shape (n_blocks, n_theta, 16).
   */
  void (*log_lik_blocks)(const void *ctx, const float *block, size_t n_blocks, size_t n_theta,
                         const double *theta, double *out);

  /**
   * Gradients of 16 records: out has shape (n_theta, dim, 16). Used when n_linear == 0.
   */
  void (*grad)(const void *ctx, const float *block, size_t n_theta, const float *theta, float *out);

  /**
   * Linear structure: when n_linear > 0 the gradient of a record with features
   * x (columns 0 .. n_features-1) is
   *
   *     d l_i / d theta[r * n_features + j] = out[r] * x_j,        r < n_linear
   *     d l_i / d theta[n_linear * n_features + e] = out[n_linear + e],   e < n_extra
   *
   * and `residual` fills out, shape (n_theta, n_linear + n_extra, 16).
   * dim == n_linear * n_features + n_extra.
   */
  size_t n_linear, n_extra, n_features;
  void (*residual)(const void *ctx, const float *block, size_t n_theta, const float *theta, float *out);
  /**
   * The same, to the last bit, for n_blocks <= 16 blocks that follow each other in memory. NULL: residual is
   * called for each.
   * @param out shape (n_blocks, n_theta, n_linear + n_extra, 16).
   */
  void (*residual_blocks)(const void *ctx, const float *block, size_t n_blocks, size_t n_theta,
                          const float *theta, float *out);

  /**
   * Pieces: a gradient in a sparse form, of use beside grad (n_linear == 0), so that what a record costs does
   * not grow with parameters that it does not touch. No two pieces share a parameter; a parameter without one
   * has gradient 0. `rows` fills out, shape (n_blocks, n_theta, n_rows, 16), for n_blocks <= 16 blocks that
   * follow each other in memory. n_pieces == 0: grad is used.
   */
  size_t n_pieces, n_rows;
  const struct tacit_piece *pieces; /**< (n_pieces), tacit/data.h */
  void (*rows)(const void *ctx, const float *block, size_t n_blocks, size_t n_theta, const float *theta,
               float *out);

  /**
   * Curvature, for metrics; both NULL if not known, else n_linear > 0 or n_pieces > 0. Minus the second
   * derivative of a record's log-likelihood, or its expectation given the features x, is about weights[r]
   * x_j^2 for theta[r * n_features + j], r < n_linear, and weights[n_linear + e] for the extra parameters; 0
   * <= weights[r] <= bound[r], which is public. Shapes (n_linear + n_extra). Of a gradient in pieces:
   * weights[j] for theta[j], x being all columns, shapes (dim).
   */
  void (*curvature_bound)(const void *ctx, const double *theta, double *bound);
  void (*curvature)(const void *ctx, const double *x, const double *theta, double *weights);

  /**
   * Other responses that a record, shape (n_columns), might have had at theta given its features, with their
   * weights: blocks, shape
   * ((n + 15) / 16, n_columns, 16), and weights, shape (16 ((n + 15) / 16)), which sum to 1 (or are all 0).
   * n_others > 0: these are all there are, n is n_others, and weights are probabilities; else draws, of which
   * n may be any number from 1: functions of the record, theta and seed. NULL where they cannot be made:
   * no_others says why ("its outcome is ...", or NULL).
   */
  size_t n_others;
  const char *no_others;
  const bool
      *of_outcome; /**< shape (n_columns): others() changes the column; NULL where there are no others */
  void (*others)(const void *ctx, const float *record, const double *theta, uint64_t seed, size_t n,
                 float *blocks, double *weights);
  /**
   * What `outcome` would hold of the same, whether it were seen (NULL: not wanted) and weights, shapes (16
   * ((n + 15) / 16)). Draws are independent of each other: others() may take its i-th from the i-th part of
   * the distribution. NULL where there are neither others nor hazards.
   */
  void (*responses)(const void *ctx, const float *record, const double *theta, uint64_t seed, size_t n,
                    double *values, bool *is_seen, double *weights);
  /**
   * Where an outcome may be censored at a time of which nothing is known (then there are no others; else
   * NULL): n + 1 pairs of the record, in lanes 2 m and 2 m + 1 of blocks, seen then and censored then, in the
   * column `outcome`. The first n at times within parts of the hazard of the model at theta, each
   * TACIT_FOLLOWED_HAZARD / n wide; the last at its own time. weights[2 m] is how much of the part the record
   * was followed for, weights[2 n] 1 if it was seen then, and within n parts; else 0. With `distribution`,
   * not NULL, weights[2 m + 1] is how much larger the hazard of that is at `distribution`. Functions of the
   * record, theta, distribution and seed; shapes as of others.
   */
  void (*hazards)(const void *ctx, const float *record, const double *theta, const double *distribution,
                  uint64_t seed, size_t n, float *blocks, double *weights);
  size_t outcome; /**< with others or hazards: the column that is the response, in increasing order of it or
                     decreasing */
  size_t seen;    /**< the column that is `unseen` where the response is only known to be at least this, else
                     another whole number; SIZE_MAX: there is    none */
  double unseen;
  /**
   * n records that are nobody's, shape (n, n_columns): each quantity of the schema evenly within what it
   * allows, and independently.
   */
  void (*made_up)(const void *ctx, uint64_t seed, size_t n, float *records);

  void *ctx;
} tacit_record_model_t;

/** The public side of a model: names, prior, transforms. */
typedef struct tacit_parameters {
  size_t dim;                /**< unconstrained parameters */
  size_t n_reported;         /**< reported quantities, on the user's scale */
  const char *const *labels; /**< shape (n_reported), as the user writes them: "log(flc)" */
  const char *const *names;  /**< shape (n_reported), Stan CSV names: "b_log_flc"; "b_groesse" of größe */

  /**
   * Log prior density on the unconstrained scale, Jacobian included, up to a constant.
   * @param[out] grad shape (dim) or NULL.
   */
  double (*log_prior)(const void *ctx, const double *theta, double *grad);
  /**
   * precision, shape (dim, dim), += the precision of the normal prior that touches the log prior at theta: C'
   * diag(w) C for factors p(u_i) of linear functions u = C theta + c, w_i = -(d log p / du_i) / (u_i -
   * location) > 0. NULL: not known.
   */
  void (*prior_precision)(const void *ctx, const double *theta, double *precision);
  /** Map unconstrained theta, shape (dim), to the reported scale, shape (n_reported). */
  void (*report)(const void *ctx, const double *theta, double *reported);

  /**
   * Public guess s_j of the posterior scale: sd of theta_j is about s_j / sqrt(n). Shape (dim).
   * Feeds default metrics and step sizes; a poor guess costs efficiency, never exactness.
   */
  const double *unit_scale;
  void *ctx;
} tacit_parameters_t;

typedef struct tacit_model {
  tacit_record_model_t records;
  tacit_parameters_t parameters;
  void (*free)(struct tacit_model *model); /**< frees both ctx; may be NULL */
} tacit_model_t;

/** Free what the model owns; NULL and a zeroed model are allowed. */
TACIT_API void tacit_model_clear(tacit_model_t *model);

/** Check that a (user's) model is complete: pointers, sizes, linear structure. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_model_validate(const tacit_model_t *model, tacit_error_t *err);

/* ---- priors ---- */

typedef enum tacit_prior_kind {
  TACIT_PRIOR_FLAT = 0, /**< density 1 on the constrained scale (improper) */
  TACIT_PRIOR_NORMAL = 1,
  TACIT_PRIOR_STUDENT_T = 2,
  TACIT_PRIOR_CAUCHY = 3
} tacit_prior_kind_t;

typedef struct tacit_prior {
  tacit_prior_kind_t kind;
  double df, location, scale; /**< df: student_t only; scale > 0 */
} tacit_prior_t;

/** Log density up to a constant and, if grad is not NULL, its derivative. */
TACIT_API double tacit_prior_log_density(const tacit_prior_t *prior, double x, double *grad);

/** Precision of the normal density that touches the prior at x and is centred where it is; 0 for a flat one.
 */
TACIT_API double tacit_prior_precision(const tacit_prior_t *prior, double x);
/** Its standard deviation; INFINITY where it has none. */
TACIT_API double tacit_prior_sd(const tacit_prior_t *prior);

/** What the scale of a prior was made from. */
typedef enum tacit_prior_basis {
  TACIT_PRIOR_BASIS_BOUNDS = 0, /**< the public bounds of the columns */
  TACIT_PRIOR_BASIS_TYPICAL,    /**< `typical:` of the schema, as public as they are */
  TACIT_PRIOR_BASIS_RELEASED,   /**< moments that were released, noise and all: post-processing */
  TACIT_PRIOR_BASIS_USER        /**< as given */
} tacit_prior_basis_t;

typedef struct tacit_prior_source {
  tacit_prior_basis_t basis;
  double released_sd,
      relative_error; /**< released: sd of the feature in [-1, 1], and how uncertain its square is; else 0 */
} tacit_prior_source_t;

/** What released moments tell of a feature in [-1, 1]. */
typedef struct tacit_feature_scale {
  double mean, sd;
  double relative_error; /**< sd of the variance over the variance */
} tacit_feature_scale_t;

/** One user-given prior: `term` is NULL for "every coefficient but the intercept". */
typedef struct tacit_prior_entry {
  char *term;
  tacit_prior_t prior;
} tacit_prior_entry_t;

/**
 * Parse "normal(0, 2.5)", "age: student_t(3, 0, 1)", "cauchy(0, 1)", "flat", "Intercept: flat".
 * On success entry->term is owned (free with tacit_prior_entry_clear). Errors put a caret under the fault.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_prior_parse(tacit_prior_entry_t *entry, const char *text,
                                                          tacit_error_t *err);
TACIT_API void tacit_prior_entry_clear(tacit_prior_entry_t *entry);

/* ---- formula and design ---- */

typedef enum tacit_family {
  TACIT_FAMILY_BERNOULLI = 0,  /**< logit link */
  TACIT_FAMILY_GAUSSIAN = 1,   /**< identity link, sd known or unknown */
  TACIT_FAMILY_POISSON = 2,    /**< log link */
  TACIT_FAMILY_CATEGORICAL = 3 /**< softmax; the first level is the reference */
} tacit_family_t;

TACIT_API TACIT_MUST_USE tacit_status_t tacit_family_parse(tacit_family_t *family, const char *text,
                                                           tacit_error_t *err);
TACIT_API const char *tacit_family_string(tacit_family_t family);

/** Of a response Y clamped to [0, upper], given its linear predictor eta. */
typedef struct tacit_family_moments {
  double mean;           /**< m(eta) = E min(Y, upper), increasing in eta */
  double slope;          /**< m'(eta) */
  double variance;       /**< Var min(Y, upper) */
  double variance_slope; /**< its derivative by eta */
} tacit_family_moments_t;

/** Largest count that a poisson response may be clamped to for tacit_family_moments(): its cost is linear in
 * it. */
enum { TACIT_FAMILY_MAX_COUNT = 500 };

/** True for bernoulli with upper 1 and for poisson with a whole number `upper` from 1 to
 * TACIT_FAMILY_MAX_COUNT. */
TACIT_API bool tacit_family_has_moments(tacit_family_t family, double upper);
/**
 * Moments of the clamped response for a family and upper bound that have them; any finite eta. Since the mean
 * is that of the clamped response, clamping causes no bias under the model. Absolute error below 1e-12
 * upper^2.
 */
TACIT_API tacit_family_moments_t tacit_family_moments(tacit_family_t family, double upper, double eta);

/**
 * The design: an R formula resolved against the public schema. Public; it has never seen a record.
 *
 * Grammar: `y ~ term + term ...`; term is a product (`a:b`, `a*b` = a + b + a:b) of columns,
 * factor(c), log(x), exp(x), sqrt(x), I(arithmetic with + - * / ^ and numbers); `+ 0` or `- 1`
 * drops the intercept. Categorical columns enter as treatment contrasts against their first level.
 * Each feature's public range [lower, upper] follows from the schema by interval arithmetic.
 */
typedef struct tacit_design tacit_design_t;

TACIT_API TACIT_MUST_USE tacit_status_t tacit_design_new(tacit_design_t **design, const char *formula,
                                                         const struct tacit_schema *schema,
                                                         tacit_family_t family, tacit_error_t *err);
TACIT_API void tacit_design_free(tacit_design_t *design);
/** Number of features, the intercept included. */
TACIT_API size_t tacit_design_n_features(const tacit_design_t *design);
TACIT_API bool tacit_design_has_intercept(const tacit_design_t *design);
/** Label of feature j as R writes it: "Intercept", "sexM", "log(flc)", "age:sexM". Borrowed. */
TACIT_API const char *tacit_design_label(const tacit_design_t *design, size_t j);
/** Public range of feature j before scaling. */
TACIT_API void tacit_design_range(const tacit_design_t *design, size_t j, double *lower, double *upper);
/** Affine scaling of feature j: scaled = (x - centre) / half. Intercept: centre 0, half 1. */
TACIT_API void tacit_design_scaling(const tacit_design_t *design, size_t j, double *centre, double *half);
/** True if feature j can take the two ends of its range alone: indicators, binary columns and their products.
 */
TACIT_API bool tacit_design_is_two_valued(const tacit_design_t *design, size_t j);
/** sd of feature j, before scaling, as `typical:` of its columns has it; 0 where the schema says nothing. */
TACIT_API double tacit_design_typical_sd(const tacit_design_t *design, size_t j);
/** Columns of the table that the formula needs, response first; shape (*n). Borrowed. */
TACIT_API const char *const *tacit_design_columns(const tacit_design_t *design, size_t *n);
/** Is column i of these part of a feature? No: only of the response. */
TACIT_API bool tacit_design_uses(const tacit_design_t *design, size_t i);
TACIT_API const char *tacit_design_response(const tacit_design_t *design);
/** Public range of the response: numeric bounds, 0..1, or 0..n_levels-1. */
TACIT_API void tacit_design_response_range(const tacit_design_t *design, double *lower, double *upper);
/** Levels of a categorical response (0 otherwise). */
TACIT_API size_t tacit_design_n_classes(const tacit_design_t *design);
TACIT_API const char *tacit_design_class_label(const tacit_design_t *design, size_t c);

/**
 * Pack a table as the records of a linear model: scaled features in [-1, 1], the response
 * (gaussian: mapped to [-1, 1] by its public bounds; else its number).
 * n_columns == n_features + 1. Units of privacy are carried over.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_design_pack(struct tacit_records **records,
                                                          const tacit_design_t *design,
                                                          const struct tacit_table *table,
                                                          tacit_error_t *err);
/**
 * The same for part `part` of n_parts, which follow each other and together are the table: whole units, and
 * where a unit is a row, multiples of 64 rows but for the last. part < n_parts. n_threads threads (1 to 4096)
 * do the work, which does not depend on their number. The records are in memory, or in a file in the folder
 * `scratch` (tacit_records_new_in). No other rows of imported columns are looked at, and those that were
 * leave memory.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_design_pack_part(struct tacit_records **records,
                                                               const tacit_design_t *design,
                                                               const struct tacit_table *table, size_t part,
                                                               size_t n_parts, size_t n_threads,
                                                               const char *scratch, tacit_error_t *err);

/**
 * Columns that the terms need, the response aside: their number. @param[out] names shape (as many as
 * tacit_design_columns() has at most); borrowed from the design.
 */
TACIT_API size_t tacit_design_term_columns(const tacit_design_t *design, const char **names);
/**
 * Features of the rows of a table, in double precision and on the scale that coefficients are reported on:
 * for predictions of rows that an analyst brings. The table may lack the response. Values are held within
 * their public ranges, as in packing.
 * @param[out] features  shape (n_rows, n_features), row-major; the intercept is 1.
 * @return TACIT_ERR_UNKNOWN if the table was read without a column of the terms; TACIT_ERR_MEMORY.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_design_features(const tacit_design_t *design,
                                                              const struct tacit_table *table,
                                                              double *features, tacit_error_t *err);
/**
 * The same from columns of any origin.
 * @param[in]  columns  as tacit_design_columns(), shape (n_columns) of (n); those of the response may be
 * NULL.
 * @param[out] features shape (n, n_features).
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_design_evaluate(const tacit_design_t *design,
                                                              const double *const *columns, size_t n,
                                                              double *features, tacit_error_t *err);

/* ---- generalised linear models ---- */

typedef struct tacit_glm_settings {
  tacit_family_t family;
  double known_sd; /**< gaussian: known residual sd in units of the response; 0: unknown */
  const tacit_prior_entry_t *priors;
  size_t n_priors;
  bool
      prior_on_original_scale; /**< priors given are on original-scale coefficients, not on scaled features */
} tacit_glm_settings_t;

TACIT_API tacit_glm_settings_t tacit_glm_settings_default(void);

/**
 * Build a generalised linear model for a design. Borrows nothing: the design may be freed.
 *
 * Default priors on the scale of features in [-1, 1] (and, for gaussian, of a response in [-1, 1]):
 * coefficients student_t(3, 0, 2.5), of two-valued features student_t(3, 0, 1.25), Intercept student_t(7,
 * 0, 1.5) (gaussian: student_t(3, 0, 2.5)) at the middle of the features' bounds, sigma half student_t(3, 0,
 * 1). tacit_model_scale_priors() replaces them. grad_bound: sqrt(n_features) for bernoulli, sqrt(2
 * n_features) for categorical, else INFINITY. Reported: coefficients (and sigma) on the original scale of the
 * data.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_model_init_glm(tacit_model_t *model,
                                                             const tacit_design_t *design,
                                                             const tacit_glm_settings_t *settings,
                                                             tacit_error_t *err);

/**
 * Default priors of a generalised linear model by what is known of the features' scales, scales having
 * n_features elements (that of the intercept is ignored but of a gaussian): coefficients student_t(7, 0, 1.25
 * / s), s = sd / (1 + relative_error), of two-valued features student_t(7, 0, 1.25), Intercept student_t(7,
 * 0, 1.5) at the features' means. Priors that the user gave stay. Of a gaussian the intercept's scale is the
 * response's: its mean m, an upper end Y of its sd, and in place of a relative error that of m, se:
 * coefficients student_t(3, 0, 1.25 Y / s), of two-valued features student_t(3, 0, 1.25 Y), Intercept
 * student_t(3, m, 2.5 sqrt(Y^2 + 4 se^2)) at the features' means, sigma half student_t(3, 0, 2.5 Y). No
 * effect on other models and on family categorical.
 */
TACIT_API void tacit_model_scale_priors(tacit_model_t *model, const tacit_feature_scale_t *scales,
                                        tacit_prior_basis_t basis);
/** Normal tails: each student_t and cauchy prior becomes a normal one of the same location and scale. */
TACIT_API void tacit_model_normal_tails(tacit_model_t *model);

/** Prior i of a generalised linear model, of n_reported: its distribution, and where it is from. */
typedef struct tacit_prior_view {
  tacit_prior_t prior;
  tacit_prior_source_t source;
  double unit;       /**< reported units for one of the prior's: 1 where it is given on the original scale */
  double half_range; /**< of the feature's public bounds, in its units; 0: intercept or sigma */
} tacit_prior_view_t;

/** False if the parameters are not those of a generalised linear model. */
TACIT_API bool tacit_parameters_prior(const tacit_parameters_t *parameters, size_t i,
                                      tacit_prior_view_t *view);
/** What prior i is a density of: u(theta), linear; weights, shape (dim), its derivatives, or NULL. Sigma is
 * not linear: NaN. */
TACIT_API double tacit_parameters_prior_argument(const tacit_parameters_t *parameters, size_t i,
                                                 const double *theta, double *weights);

/* ---- models of the papers, with closed-form posteriors ---- */

/**
 * x_i ~ N(theta, diag(sd^2)), theta ~ N(0, prior_sd^2 I). Records: n_columns == dim.
 * sd has shape (dim).
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_model_init_gaussian_mean(tacit_model_t *model, size_t dim,
                                                                       const double *sd, double prior_sd,
                                                                       tacit_error_t *err);

/**
 * Banana [Raisa2021, section 5]: with u(theta) = (theta_1, theta_2 + a (theta_1 - m)^2 + b, theta_3, ...),
 * u ~ N(0, prior_var I) and x_i ~ N(u, diag(obs_var)). dim >= 2; obs_var has shape (dim).
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_model_init_banana(tacit_model_t *model, size_t dim, double a,
                                                                double b, double m, double prior_var,
                                                                const double *obs_var, tacit_error_t *err);

/**
 * Two-component mixture of the DP-Fast MH paper [Zhang2023]:
 * x_i ~ 0.5 N(theta_1, obs_var) + 0.5 N(theta_1 + theta_2, obs_var), theta_j ~ N(0, prior_var_j).
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_model_init_mixture(tacit_model_t *model, double obs_var,
                                                                 const double prior_var[2],
                                                                 tacit_error_t *err);

#ifdef __cplusplus
}
#endif
#endif
