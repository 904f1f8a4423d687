/*
 * Models of formulas: priors, families, designs, generalised linear models.
 */
#ifndef TACIT_FORMULA_MODEL_H
#define TACIT_FORMULA_MODEL_H

#include "tacit/base.h"
#include "tacit/model.h"

struct tacit_schema;
struct tacit_table;
struct tacit_records;

/** Free what the model owns; NULL and a zeroed model are allowed. */
void tacit_model_clear(tacit_model_t *model);

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
double tacit_prior_log_density(const tacit_prior_t *prior, double x, double *grad);

/** Precision of the normal density that touches the prior at x and is centred where it is; 0 for a flat one.
 */
double tacit_prior_precision(const tacit_prior_t *prior, double x);

/** Its standard deviation; INFINITY where it has none. */
double tacit_prior_sd(const tacit_prior_t *prior);

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
  double effect; /**< of a gaussian's response: scale of the prior of a slope for one sd of its feature, in
                    sds of the response; 0: 1.25 */
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
TACIT_MUST_USE tacit_status_t tacit_prior_parse(tacit_prior_entry_t *entry, const char *text,
                                                tacit_error_t *err);

void tacit_prior_entry_clear(tacit_prior_entry_t *entry);

/* ---- formula and design ---- */

typedef enum tacit_family {
  TACIT_FAMILY_BERNOULLI = 0,  /**< logit link */
  TACIT_FAMILY_GAUSSIAN = 1,   /**< identity link, sd known or unknown */
  TACIT_FAMILY_POISSON = 2,    /**< log link */
  TACIT_FAMILY_CATEGORICAL = 3 /**< softmax; the first level is the reference */
} tacit_family_t;

TACIT_MUST_USE tacit_status_t tacit_family_parse(tacit_family_t *family, const char *text,
                                                 tacit_error_t *err);

const char *tacit_family_string(tacit_family_t family);

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
bool tacit_family_has_moments(tacit_family_t family, double upper);

/**
 * Moments of the clamped response for a family and upper bound that have them; any finite eta. Since the mean
 * is that of the clamped response, clamping causes no bias under the model. Absolute error below 1e-12
 * upper^2.
 */
tacit_family_moments_t tacit_family_moments(tacit_family_t family, double upper, double eta);

/**
 * The design: an R formula resolved against the public schema. Public; it has never seen a record.
 *
 * Grammar: `y ~ term + term ...`; term is a product (`a:b`, `a*b` = a + b + a:b) of columns,
 * factor(c), log(x), exp(x), sqrt(x), I(arithmetic with + - * / ^ and numbers); `+ 0` or `- 1`
 * drops the intercept. Categorical columns enter as treatment contrasts against their first level.
 * Each feature's public range [lower, upper] follows from the schema by interval arithmetic.
 */
typedef struct tacit_design tacit_design_t;

TACIT_MUST_USE tacit_status_t tacit_design_new(tacit_design_t **design, const char *formula,
                                               const struct tacit_schema *schema, tacit_family_t family,
                                               tacit_error_t *err);

void tacit_design_free(tacit_design_t *design);

/** Number of features, the intercept included. */
size_t tacit_design_n_features(const tacit_design_t *design);

bool tacit_design_has_intercept(const tacit_design_t *design);

/** Label of feature j as R writes it: "Intercept", "sexM", "log(flc)", "age:sexM". Borrowed. */
const char *tacit_design_label(const tacit_design_t *design, size_t j);

/** Public range of feature j before scaling. */
void tacit_design_range(const tacit_design_t *design, size_t j, double *lower, double *upper);

/** Affine scaling of feature j: scaled = (x - centre) / half. Intercept: centre 0, half 1. */
void tacit_design_scaling(const tacit_design_t *design, size_t j, double *centre, double *half);

/** True if feature j can take the two ends of its range alone: indicators, binary columns and their products.
 */
bool tacit_design_is_two_valued(const tacit_design_t *design, size_t j);

/** What is public of how a feature follows from others. */
typedef struct tacit_feature_makeup {
  size_t factor; /**< a level of a factor, of which a row has one: the factor's first feature; 0: none */
  size_t first, second; /**< the product, before scaling, of these two features; 0: none */
  double centre, half;  /**< scaled = (value - centre) / half */
} tacit_feature_makeup_t;

tacit_feature_makeup_t tacit_design_makeup(const tacit_design_t *design, size_t j);

/** sd of feature j, before scaling, as `typical:` of its columns has it; 0 where the schema says nothing. */
double tacit_design_typical_sd(const tacit_design_t *design, size_t j);

/** Columns of the table that the formula needs, response first; shape (*n). Borrowed. */
const char *const *tacit_design_columns(const tacit_design_t *design, size_t *n);

/** Is column i of these part of a feature? No: only of the response. */
bool tacit_design_uses(const tacit_design_t *design, size_t i);

const char *tacit_design_response(const tacit_design_t *design);

/** Public range of the response: numeric bounds, 0..1, or 0..n_levels-1. */
void tacit_design_response_range(const tacit_design_t *design, double *lower, double *upper);

/** Levels of a categorical response (0 otherwise). */
size_t tacit_design_n_classes(const tacit_design_t *design);

const char *tacit_design_class_label(const tacit_design_t *design, size_t c);

/**
 * Pack a table as the records of a linear model: scaled features in [-1, 1], the response
 * (gaussian: mapped to [-1, 1] by its public bounds; else its number).
 * n_columns == n_features + 1. Units of privacy are carried over.
 */
TACIT_MUST_USE tacit_status_t tacit_design_pack(struct tacit_records **records, const tacit_design_t *design,
                                                const struct tacit_table *table, tacit_error_t *err);

/**
 * The same for part `part` of n_parts, which follow each other and together are the table: whole units, and
 * where a unit is a row, multiples of 64 rows but for the last. part < n_parts. n_threads threads (1 to 4096)
 * do the work, which does not depend on their number. The records are in memory, or in a file in the folder
 * `scratch` (tacit_records_new_in). No other rows of imported columns are looked at, and those that were
 * leave memory.
 */
TACIT_MUST_USE tacit_status_t tacit_design_pack_part(struct tacit_records **records,
                                                     const tacit_design_t *design,
                                                     const struct tacit_table *table, size_t part,
                                                     size_t n_parts, size_t n_threads, const char *scratch,
                                                     tacit_error_t *err);

/**
 * Columns that the terms need, the response aside: their number. @param[out] names shape (as many as
 * tacit_design_columns() has at most); borrowed from the design.
 */
size_t tacit_design_term_columns(const tacit_design_t *design, const char **names);

/**
 * Features of the rows of a table, in double precision and on the scale that coefficients are reported on:
 * for predictions of rows that an analyst brings. The table may lack the response. Values are held within
 * their public ranges, as in packing.
 * @param[out] features  shape (n_rows, n_features), row-major; the intercept is 1.
 * @return TACIT_ERR_UNKNOWN if the table was read without a column of the terms; TACIT_ERR_MEMORY.
 */
TACIT_MUST_USE tacit_status_t tacit_design_features(const tacit_design_t *design,
                                                    const struct tacit_table *table, double *features,
                                                    tacit_error_t *err);

/**
 * The same from columns of any origin.
 * @param[in]  columns  as tacit_design_columns(), shape (n_columns) of (n); those of the response may be
 * NULL.
 * @param[out] features shape (n, n_features).
 */
TACIT_MUST_USE tacit_status_t tacit_design_evaluate(const tacit_design_t *design,
                                                    const double *const *columns, size_t n, double *features,
                                                    tacit_error_t *err);

/* ---- generalised linear models ---- */

typedef struct tacit_glm_settings {
  tacit_family_t family;
  double known_sd; /**< gaussian: known residual sd in units of the response; 0: unknown */
  const tacit_prior_entry_t *priors;
  size_t n_priors;
  bool
      prior_on_original_scale; /**< priors given are on original-scale coefficients, not on scaled features */
} tacit_glm_settings_t;

tacit_glm_settings_t tacit_glm_settings_default(void);

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
TACIT_MUST_USE tacit_status_t tacit_model_init_glm(tacit_model_t *model, const tacit_design_t *design,
                                                   const tacit_glm_settings_t *settings, tacit_error_t *err);

/**
 * Default priors of a generalised linear model by what is known of the features' scales, scales having
 * n_features elements (that of the intercept is ignored but of a gaussian): coefficients student_t(7, 0, 1.25
 * / s), s = sd / (1 + relative_error), of two-valued features student_t(7, 0, 1.25), Intercept student_t(7,
 * 0, 1.5) at the features' means. Priors that the user gave stay. Of a gaussian the intercept's scale is the
 * response's: its mean m, an upper end Y of its sd, in place of a relative error that of m, se, and e,
 * `effect`: coefficients student_t(3, 0, e Y / s), of two-valued features student_t(3, 0, min(e / s, 1.25)
 * Y), Intercept student_t(3, m, 2.5 sqrt(Y^2 + 4 se^2)) at the features' means, sigma half student_t(3,
 * 0, 2.5 Y). No effect on other models and on family categorical.
 */
void tacit_model_scale_priors(tacit_model_t *model, const tacit_feature_scale_t *scales,
                              tacit_prior_basis_t basis);

/** Normal tails: each student_t and cauchy prior becomes a normal one of the same location and scale. */
void tacit_model_normal_tails(tacit_model_t *model);

/** The priors of n coefficients from `first` on become flat. No effect on other models. */
void tacit_model_flatten_priors(tacit_model_t *model, size_t first, size_t n);

/** Prior i of a generalised linear model, of n_reported: its distribution, and where it is from. */
typedef struct tacit_prior_view {
  tacit_prior_t prior;
  tacit_prior_source_t source;
  double unit;       /**< reported units for one of the prior's: 1 where it is given on the original scale */
  double half_range; /**< of the feature's public bounds, in its units; 0: intercept or sigma */
} tacit_prior_view_t;

/** False if the parameters are not those of a generalised linear model. */
bool tacit_parameters_prior(const tacit_parameters_t *parameters, size_t i, tacit_prior_view_t *view);

/** What prior i is a density of: u(theta), linear; weights, shape (dim), its derivatives, or NULL. Sigma is
 * not linear: NaN. */
double tacit_parameters_prior_argument(const tacit_parameters_t *parameters, size_t i, const double *theta,
                                       double *weights);

#endif
