/**
 * @file model.h
 * Models: the likelihood of a block of records (private side) and the prior,
 * names and transforms of the parameters (public side).
 *
 * tacit_record_model_t is what the curator evaluates on records.
 * tacit_parameters_t is what samplers and reports may see; it holds nothing
 * computed from records. A tacit_model_t joins the two. Users implement their
 * own by filling these structs (examples/). At the end: the families of a fit, and
 * the program that a formula stands for.
 */
#ifndef TACIT_MODEL_H
#define TACIT_MODEL_H

#include "tacit/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tacit_schema;
struct tacit_piece;

enum {
  TACIT_FOLLOWED_HAZARD =
      4, /**< how much hazard a record is followed for that may be censored: by the model one in 55 goes on */
  TACIT_FOLLOWED_LEAST = 16 /**< and in how many parts at least, its own time included */
};

/** A bit of the seed of records that are nobody's: see tacit_record_model_t.made_up. */
#define TACIT_AT_BOUNDS (UINT64_C(1) << 63)

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
   * allows, and independently. With the bit TACIT_AT_BOUNDS in seed the same records, but for responses,
   * which are at their lower bound and at their upper one in turn.
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

/** Check that a (user's) model is complete: pointers, sizes, linear structure. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_model_validate(const tacit_model_t *model, tacit_error_t *err);

/**
 * Write the program of a formula, as R and brms write them: products, powers, '.', poly, ns, bs, scale,
 * relevel, factor, offset, (1 | g), and `y | cens(c)`, trials, weights; docs/language.md says what they mean
 * here.
 *
 * @param[out] text  returns owned, tacit_free().
 * @return TACIT_ERR_SYNTAX with a caret; TACIT_ERR_ARGUMENT for a family that is none.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_program_of_formula(char **text, const char *formula,
                                                                 const char *family,
                                                                 const struct tacit_schema *schema,
                                                                 tacit_error_t *err);

/** Families that programs are written for, NULL from the end on. */
TACIT_API const char *tacit_program_family(size_t i);

/** What a family is, for people. */
typedef struct tacit_family_about {
  const char *name;
  const char *response; /**< what the schema must say of it: "a count" */
  const char *link;     /**< what the linear predictor is of its mean, or of what it names: "log" */
  const char *summary;  /**< one line */
} tacit_family_about_t;

/** All families of a fit, in the order of tacit_program_family(), NULL from the end on. */
TACIT_API const tacit_family_about_t *tacit_program_family_about(size_t i);

/** The family that a name most likely means, "negbinomial" of "negative binomial", "ordinal" cumulative; NULL
 * where nobody can tell. */
TACIT_API const char *tacit_program_family_meant(const char *name);

#ifdef __cplusplus
}
#endif
#endif
