/**
 * @file curator.h
 * The privacy boundary. A curator owns the records; releases are all that ever
 * leaves it. Each release, in this order: describes itself as an event, is
 * charged to the budget (a refusal is an ordinary status and computes nothing),
 * computes an exact integer sum of clipped contributions, adds exact noise.
 */
#ifndef TACIT_CURATOR_H
#define TACIT_CURATOR_H

#include "tacit/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tacit_records;
struct tacit_record_model;
struct tacit_budget;
struct tacit_noise;

typedef struct tacit_curator tacit_curator_t;

typedef struct tacit_curator_settings {
  /**
   * L2 bound on one unit's gradient contribution. 0: the model's own bound (an error if it has
   * none and the curator is private). A bound below the model's own clips.
   */
  double clip_bound_grad;
  /**
   * Bound on one unit's log-likelihood ratio per unit of ||theta_prop - theta||_2.
   * 0: the model's own ratio bound.
   */
  double clip_bound_ratio;
  double temperature_power; /**< T in [0, 1]: l_i is replaced by T l_i; default 1 */
  size_t max_unit_rows;     /**< most records of one unit (schema max_rows); default 1 */
  size_t n_threads;         /**< >= 1; results do not depend on it; default 1 */
} tacit_curator_settings_t;

TACIT_API tacit_curator_settings_t tacit_curator_settings_default(void);

/**
 * Open a private curator. Takes the records (freed with the curator, and on failure); borrows
 * model, budget and noise, which must outlive it.
 * @return TACIT_ERR_SENSITIVITY if no bound on a unit's contribution is known: say clip_bound_grad.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_curator_new(tacit_curator_t **curator,
                                                          struct tacit_records *records,
                                                          const struct tacit_record_model *model,
                                                          struct tacit_budget *budget,
                                                          struct tacit_noise *noise,
                                                          const tacit_curator_settings_t *settings,
                                                          tacit_error_t *err);

/**
 * Open an exposed curator: no noise, no charge, NOT PRIVATE. For baselines, tests, public data.
 * Clip bounds apply only where they are given (> 0).
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_curator_new_exposed(tacit_curator_t **curator,
                                                                  struct tacit_records *records,
                                                                  const struct tacit_record_model *model,
                                                                  const tacit_curator_settings_t *settings,
                                                                  tacit_error_t *err);
TACIT_API void tacit_curator_free(tacit_curator_t *curator);

/* ---- public facts ---- */

/** False for an exposed curator and for one whose noise is not secret. */
TACIT_API bool tacit_curator_is_private(const tacit_curator_t *curator);
TACIT_API bool tacit_curator_is_exposed(const tacit_curator_t *curator);
TACIT_API size_t tacit_curator_dim(const tacit_curator_t *curator);
/** Number of units if it is public (substitute, or exposed), else TACIT_ERR_STATE. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_curator_n_units(const tacit_curator_t *curator, size_t *n,
                                                              tacit_error_t *err);
/** L2 bound on one unit's gradient contribution; INFINITY if exposed without clipping. */
TACIT_API double tacit_curator_grad_bound(const tacit_curator_t *curator);
/** Bound c on one unit's log-likelihood ratio between two public points; INFINITY if none. */
TACIT_API double tacit_curator_ratio_bound(const tacit_curator_t *curator, const double *theta,
                                           const double *theta_prop);
/** Sensitivity in units of a bound: 2 under substitution, 1 under add-remove. */
TACIT_API double tacit_curator_sensitivity_factor(const tacit_curator_t *curator);
/** True if ratio bounds come from the model itself, so that no ratio is ever clipped. */
TACIT_API bool tacit_curator_ratio_is_unclipped(const tacit_curator_t *curator);

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
TACIT_API TACIT_MUST_USE tacit_status_t tacit_curator_release_gradient(tacit_curator_t *curator,
                                                                       size_t n_theta, const double *theta,
                                                                       double noise_multiplier, double *out,
                                                                       tacit_error_t *err);

/**
 * Release noisy sums of clipped per-unit log-likelihood ratios for n_theta pairs, in one pass:
 *
 *     out[k] = sum_i clip_c(T l_i(theta_prop_k) - T l_i(theta_k)) + N(0, noise_sd[k]^2)
 *
 * c = tacit_curator_ratio_bound(theta_k, theta_prop_k); noise_sd[k] = noise_multiplier * f * c.
 * Each l_i is first rounded to a public grid, so ratios are differences of a potential and the
 * chain is exact for a posterior that differs by at most n g / 2 in log density (docs/theory.md).
 * A pair with theta_prop == theta yields exactly 0 with noise_sd 0 and is not charged.
 *
 * @param[out] out, noise_sd  shape (n_theta); zero on failure.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_curator_release_log_ratio(
    tacit_curator_t *curator, size_t n_theta, const double *theta, const double *theta_prop,
    double noise_multiplier, double *out, double *noise_sd, tacit_error_t *err);

/**
 * Whitened, weighted rows: a record's features x enter as w u with u = whiten x and w = min(1, radius / ||u||_2), so that
 * no row has a norm above `radius`. Weights that depend on x alone leave an estimating equation unbiased [Mallows1975].
 */
typedef struct tacit_row_weighting {
  const double *whiten; /**< lower triangular, shape (dim, dim), row-major, finite; NULL: the identity */
  double radius;        /**< finite, > 0 */
} tacit_row_weighting_t;

/** Most features of a model whose rows are released in this way. */
enum { TACIT_MAX_ROW_FEATURES = 64 };

/**
 * Release the noisy matrix of second moments of the weighted rows, as the vector of its upper triangle with off-diagonal
 * entries times sqrt(2), row by row (svec: an isometry for the Frobenius norm):
 *
 *     out = svec(sum_i w_i^2 u_i u_i') + N(0, noise_sd^2 I)
 *
 * Sensitivity (substitution): ||u u' - v v'||_F <= sqrt(2) radius^2 (docs/theory.md, "Noise-aware regression"); charged as
 * one Gaussian event. This and the next two releases need one linear predictor, units of one record, temperature 1 and
 * relation substitute.
 *
 * @param[in]  noise_multiplier  noise_sd over the sensitivity; 2^-30 to 2^28; ignored if exposed.
 * @param[out] out       shape (dim (dim + 1) / 2); zero on failure.
 * @param[out] noise_sd  standard deviation of the noise in each element; 0 if exposed.
 * @return TACIT_ERR_BUDGET: refused, nothing computed; TACIT_ERR_NOISE; TACIT_ERR_ARGUMENT; TACIT_ERR_STATE: units of several
 *         records, tempered, or relation add-remove.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_curator_release_second_moments(tacit_curator_t *curator,
                                                                             const tacit_row_weighting_t *rows,
                                                                             double noise_multiplier, double *out,
                                                                             double *noise_sd, tacit_error_t *err);

/**
 * Release out = sum_i w_i u_i (y_i - upper / 2) + N(0, noise_sd^2 I), the response clamped to [0, upper]. Sensitivity
 * (substitution): upper radius. Shape (dim); everything else as above.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_curator_release_response(tacit_curator_t *curator,
                                                                       const tacit_row_weighting_t *rows, double upper,
                                                                       double noise_multiplier, double *out,
                                                                       double *noise_sd, tacit_error_t *err);

/** A public function of a row: what is fitted to its response. */
typedef struct tacit_fitted_mean {
  int family;           /**< a tacit_family_t that, with `upper`, has tacit_family_moments() */
  double upper;
  const double *theta;  /**< shape (dim), finite */
  double reach;         /**< t > 0: m(x . theta) - upper / 2 is clamped to [-t, t] */
} tacit_fitted_mean_t;

/**
 * Release out = sum_i w_i u_i (m(x_i . theta) - upper / 2) + N(0, noise_sd^2 I): a function of the features alone.
 * Sensitivity (substitution): 2 reach radius. Shape (dim); everything else as above.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_curator_release_fitted(tacit_curator_t *curator,
                                                                     const tacit_row_weighting_t *rows,
                                                                     const tacit_fitted_mean_t *fitted,
                                                                     double noise_multiplier, double *out,
                                                                     double *noise_sd, tacit_error_t *err);

/* ---- for the curator's own eyes ---- */

/** What was clipped; PRIVATE: print it to the curator's terminal only, never to an artefact. */
typedef struct tacit_curator_notes {
  uint64_t n_grad, n_grad_clipped;   /**< contributions seen and clipped over all gradient releases */
  uint64_t n_ratio, n_ratio_clipped;
  uint64_t n_non_finite;             /**< contributions counted as zero */
} tacit_curator_notes_t;

TACIT_API tacit_curator_notes_t tacit_curator_notes(const tacit_curator_t *curator);

#ifdef __cplusplus
}
#endif
#endif
