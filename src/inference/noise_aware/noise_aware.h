/**
 * @file noise_aware.h
 * Noise-aware regression: a generalised linear model with canonical link from a few released scores, a linear
 * one from joint moments of rows and residuals.
 *
 * A surrogate population, calibrated to private second moments, stands for the features. Scores sum w L x (y
 * - m(x . theta_j)) are released at three points, each the mode given what was released before, with weights
 * that bound the whole contribution of a record, so that nothing is clipped; and the information once. What a
 * score at theta_j says of another theta is a function of the features, known up to the surrogate's error,
 * which is a Gaussian process. The posterior given all releases accounts for sampling, privacy noise and that
 * error; drawing from it is post-processing (docs/theory.md, "Noise-aware regression").
 */
#ifndef TACIT_NOISE_AWARE_H
#define TACIT_NOISE_AWARE_H

#include "formula/model.h"
#include "releases/releases.h"
#include "tacit/account.h"
#include "tacit/base.h"
#include "tacit/diagnose.h"
#include "tacit/draws.h"

struct tacit_curator;

/** Effects of a factor's levels, which are normal with an sd of their own. */
typedef struct tacit_level_effects {
  size_t first;    /**< feature of the second level; those of the others follow */
  size_t n_levels; /**< >= 2 */
  size_t main; /**< 0: of the intercept, features are -1 or +1; else of the slope in this feature: features
                  are it, and 0 at other levels */
} tacit_level_effects_t;

/**
 * (1 | g) and (1 + x | g): the intercept, slopes, and their effects of factors' levels, of which a
 * regression's releases tell as of any factor. Priors of all of these are flat but for that the effects r of
 * factor t are normal(0, sd_t), independent, and sd_t half student_t(3, 0, 1).
 */
typedef struct tacit_noise_aware_effects {
  const tacit_level_effects_t *factors; /**< shape (n) */
  size_t n, n_reported;
  size_t level_at;   /**< parameter that the level of all is, the intercept or the first of cut points */
  double level_sign; /**< 1, or -1: it falls as the level rises */
  /**
   * One draw, reported. theta: unconstrained parameters of the regression, intercept and slopes at effects 0
   * and the factors' coefficients of no meaning; sds: shape (n); effects: of all levels of all factors, one
   * after the other; row: shape (n_reported).
   */
  void (*report)(const void *user, const double *theta, const double *sds, const double *effects,
                 double *row);
  /** Makes the priors of the factors' coefficients, and of such slopes, flat: called when all is released. */
  void (*begin)(void *user);
  void *user;
} tacit_noise_aware_effects_t;

typedef struct tacit_noise_aware_settings {
  tacit_family_t family; /**< bernoulli, poisson or gaussian */
  double upper; /**< the response is clamped to [0, upper]; see tacit_family_has_moments(); gaussian: to [-1,
                   1] */
  double known_sd; /**< gaussian: residual sd in units of the mapped response; 0: the last parameter is its
                      log */
  const bool *is_two_valued;            /**< shape (dim): the feature is +1 or -1, publicly; NULL: none */
  const tacit_feature_makeup_t *makeup; /**< shape (dim): which features exclude each other or are products;
                                           NULL: none. Gaussian: for made-up rows */
  tacit_relation_t relation;            /**< that of the curator's budget */
  bool may_drop;     /**< records may have been left out (tacit_schema_dropping()): how many count is private
                        under substitution too */
  size_t max_rows;   /**< the most rows of a unit, publicly; 0 and 1: one */
  double n_units;    /**< gaussian: public number of units, or its public guess under add-remove: shares and
                        refusals go by it */
  size_t n_features; /**< gaussian: coefficients, the intercept included */
  double delta;      /**< gaussian: for the message of a refusal; 0: not known */
  double rho;        /**< what the releases may cost together: 1/2 mu^2 of Gaussian differential privacy */
  size_t n_chains, n_warmup, n_draws, thin;
  size_t n_threads;      /**< that chains of regressions move on; draws do not depend on it; 0 and 1: one */
  unsigned char key[32]; /**< of the surrogate and the sampler */
  /** Called before each release, while the surrogate is made (iteration 0) and after each iteration of all
   * chains; may be NULL. */
  tacit_progress_fn progress;
  void *progress_user;
  /**
   * Called once, when the features' scales are released, shape (dim), before the first mode is sought: may
   * set the prior; see tacit_model_scale_priors(). May be NULL.
   */
  void (*scaled)(void *user, const tacit_feature_scale_t *scales);
  /** Called before a curator is asked for a release: what tacit_noise_aware_serve() takes, its values not yet
   * there. May be NULL. */
  void (*asked)(void *user, const tacit_kept_release_t *request);
  /** Called when a curator has made a release and it is among `releases`: it was paid for. May be NULL. */
  void (*kept)(void *user);
  /** Called where heavy tails of the prior leave no density to climb: makes them normal. May be NULL: then
   * such a run fails. */
  void (*normal_tails)(void *user);
  void *prior_user; /**< of these */
  /**
   * A model of which centred scores and their slopes are released, at nine or twelve points (docs/theory.md,
   * section 18.13): family, upper and what is said of features count for nothing then. NULL: a regression.
   * Borrowed.
   */
  const tacit_record_model_t *records;
  double program_sampling, program_noise, program_reach; /**< of that: tacit_noise_aware_measure() */
  tacit_releases_t *releases; /**< where releases are kept as they are made, or, without a curator, taken
                                 from; borrowed, may be NULL */
  tacit_evidence_t *evidence; /**< filled by the fit; may be NULL */
  const tacit_noise_aware_effects_t *effects; /**< of a regression: draws are of them; NULL: none */
} tacit_noise_aware_settings_t;

/** Bernoulli, 4 chains of 500 + 1000 iterations. */
tacit_noise_aware_settings_t tacit_noise_aware_settings_default(void);

/**
 * The most features of bernoulli and poisson, units of one row; and of gaussian, units of several rows, sites
 * together and rows that are made up, and the most parameters of a program. Time grows with the third power
 * of the number of features of the former, from 13 on, and else with the fifth (docs/theory.md,
 * section 18.17).
 */
enum {
  TACIT_NOISE_AWARE_MAX_FEATURES = 200,
  TACIT_NOISE_AWARE_MAX_NARROW = 20,
  TACIT_NOISE_AWARE_N_EVENTS = 36
};

/**
 * The releases that a run makes, as the curator charges them: six, and of 2 to 20 features residuals along
 * them; of a gaussian four to seven, by n_units and n_features; and the number of units that count, where
 * that is private; where units may have several rows, how many they have and the squares of their scores.
 * Returns the number of events. Their order is of no meaning.
 */
size_t tacit_noise_aware_events(const tacit_noise_aware_settings_t *settings,
                                tacit_event_t events[TACIT_NOISE_AWARE_N_EVENTS]);

/**
 * Fill program_sampling, program_noise and program_reach of settings with records, by simulation on made-up
 * records at the prior's centre: what forecasts and refusals rest on. program_reach: how long scores are
 * where responses are at their bounds, in units of usual ones. program_noise is 0 where no record tells
 * anything of some parameter: the fit is refused.
 * @return TACIT_ERR_NUMERIC: no record tells anything there; TACIT_ERR_MEMORY.
 */
TACIT_MUST_USE tacit_status_t tacit_noise_aware_measure(tacit_noise_aware_settings_t *settings,
                                                        const tacit_parameters_t *parameters,
                                                        tacit_error_t *err);

/**
 * Predicted ratio of the posterior standard deviation to the non-private one, from public numbers alone:
 *
 *     sqrt(1 + f^2 c^2 dim upper^2 / (0.7 mu^2 n v)),      v the nominal variance of a response
 *
 * f = 2 under substitution, 1 under add-remove, c = 0.7 / sqrt(v). Of a gaussian (dim: features) sqrt(1 +
 * P^2), P = 6.1 sqrt(dim / (s n)) / mu the noise ratio of its last release, of share s; under add-remove mu
 * is sqrt(2) more. A floor that is nearly reached with many records, not a promise: at small budgets what the
 * surrogate does not know comes on top.
 */
double tacit_noise_aware_inflation(const tacit_noise_aware_settings_t *settings, size_t dim, double n_units);
/**
 * The same of the worst coefficient where data are as unkind as bounds allow them to be: 2 % in the rarer
 * level of a two-valued feature, a numeric feature that fills a tenth of its bounds, and of a gaussian
 * residuals that fill a tenth of the response's (or the known sd). Nothing is whitened then:
 *
 *     sqrt(1 + 4 f^2 dim upper^2 / (0.7 mu^2 n v s^2)),   s^2 = 4 (0.02) (0.98)
 *
 * An assumption with a margin, no bound. Simulated (dim 3, one to two runs each) beside it, two-valued
 * feature, bernoulli: n 8000, epsilon 1: 1.3 and 2.0 (3.7); n 1000, epsilon 3, 1, 0.4: 4.0, 5.6, 5.4 (3.8,
 * 10, 23); numeric features filling a tenth of their bounds: 1.1, 2.3, 8.6 at n 8000 and n 1000, epsilon 1,
 * 0.4. Of a gaussian, whose releases go by what earlier ones found, sqrt(1 + (3.5 P)^2), whatever the bounds.
 */
double tacit_noise_aware_inflation_poor(const tacit_noise_aware_settings_t *settings, size_t dim,
                                        double n_units);

/**
 * How many units whose scores are far longer than all others', as wrong entries' are, the noise of what
 * counts them hides from a program: 2.33 sds of it (docs/theory.md, 18.14). Of linear regressions and
 * kernels' models 0: nothing is said.
 */
double tacit_noise_aware_hidden(const tacit_noise_aware_settings_t *settings);

/**
 * Refuse a budget that buys next to nothing: a gaussian's with a noise ratio P above 4.5; of more than 20
 * features of bernoulli and poisson one at which the noise of the released information has an eigenvalue of
 * some 0.4 of the information, or that of the last score three times the variance of sampling. The message
 * names the epsilon and the number of rows at which P is 2.
 * @return TACIT_ERR_BUDGET: refused; TACIT_ERR_ARGUMENT: n_units or n_features is missing.
 */
TACIT_MUST_USE tacit_status_t tacit_noise_aware_check_budget(const tacit_noise_aware_settings_t *settings,
                                                             tacit_error_t *err);
/** Is P above 2? Then intervals are some 6 to 12 times as wide as without privacy. */
bool tacit_noise_aware_is_noisy(const tacit_noise_aware_settings_t *settings);

/**
 * By public numbers, how little the released moments will tell of the scale of a numeric feature that fills a
 * quarter of its bounds (variance v = 1/16 in half ranges). Bernoulli and poisson; 0 for gaussian. With s_1
 * and s_2 the noise, per record, of its square in the cube and whitened,
 *
 *     s_2 (1 + 0.8 s_1 / v)
 *
 * On the grid of docs/results/honesty, with each kind's own v in the place of 1/16, check `scale-unknown` was
 * raised in at most 0.05 of a kind's fits below 0.5, in up to 0.4 from there to 1.1, and above in 0.4 to 1
 * with three features, 0.1 to 0.8 with one. Falls as the budget or n_units grows.
 */
double tacit_noise_aware_scale_doubt(const tacit_noise_aware_settings_t *settings, size_t dim,
                                     double n_units);

/**
 * Of settings with records and rho: what check `bent` is likely to be, by simulation on made-up records at
 * the prior's centre.
 * @param[out] bend  INFINITY where records tell nothing there.
 */
TACIT_MUST_USE tacit_status_t tacit_noise_aware_bend(const tacit_noise_aware_settings_t *settings,
                                                     const tacit_parameters_t *parameters, double n_units,
                                                     double *bend, tacit_error_t *err);
/**
 * Fit: make the releases, then draw from the posterior given them.
 *
 * @param[in] curator     private, of a model whose feature 0 is the intercept; units of at most max_rows
 * records, gaussian of one. NULL: the releases are those of settings->releases, which an earlier run kept;
 * nothing is charged. With its settings, its key and its prior the draws are its own, bit for bit.
 * @param[in] parameters  public side of the same model: prior and reported scale; 1 to
 * TACIT_NOISE_AWARE_MAX_FEATURES coefficients, and log sigma of a gaussian with unknown sd.
 * @param[in,out] draws   initialised by the call (clear with tacit_draws_clear, also after failure); reported
 * scale. Where progress() stopped the chains, n_saved is below n_warmup + n_draws.
 * @return TACIT_ERR_ARGUMENT for settings out of range; TACIT_ERR_DATA for kept releases of another method or
 * model; TACIT_ERR_BUDGET if the budget refuses or buys next to nothing; TACIT_ERR_STATE if the curator
 * cannot make these releases; TACIT_ERR_INTERRUPTED if progress() stopped before the first iteration: nothing
 * is charged if it did so at its first call; TACIT_ERR_NUMERIC if the posterior is not a density (an improper
 * prior).
 */
TACIT_MUST_USE tacit_status_t tacit_noise_aware_fit(struct tacit_curator *curator,
                                                    const tacit_parameters_t *parameters,
                                                    const tacit_noise_aware_settings_t *settings,
                                                    tacit_draws_t *draws, tacit_error_t *err);

/**
 * Ask a curator for one release as a fit asked for it, so that a curator elsewhere sums its own records for
 * the same request. What it makes of them is nobody's: the sums are in what its ranks tell each other
 * (door/door.h).
 * @param[in] settings  of the fit; callbacks, releases and key count for nothing.
 * @param[in] request   as given to settings.asked().
 * @return TACIT_ERR_SYNTAX for a request of another method or model; else as the curator.
 */
TACIT_MUST_USE tacit_status_t tacit_noise_aware_serve(struct tacit_curator *curator,
                                                      const tacit_noise_aware_settings_t *settings,
                                                      const tacit_kept_release_t *request,
                                                      tacit_error_t *err);

/**
 * Draw from the posterior given the releases of n sites: prior times the product of all sites' likelihoods.
 * Each linear regression has a residual sd and distribution of its own, of which the prior of sigma is that
 * of each; sigma is then the sd of all records' residuals together.
 *
 * Common effects (between 0): the sites share their coefficients. Exchangeable effects: each site has its
 * own, normal around mean effects with an sd that is half-normal(0, between), independently for each
 * coefficient, on the scale of one sd of a feature of all sites together, of the difference between two
 * levels, and of the intercept at the features' means; of a gaussian in sds of the response; the prior is on
 * the mean effects.
 *
 * Columns of draws: the parameters (n_reported) at the mean or common effects; where effects differ the sds
 * between sites of the d coefficients, in their units; then for each site what is its own: all parameters
 * where effects differ, else sigma, if it is a parameter.
 *
 * Programs: what is said of effects is said of the unconstrained parameters, in units in which what a record
 * tells of each is 1; spreads are in the parameters' own units.
 *
 * @param[in] sites  shape (n), n >= 1: of each its releases, rho, relation and key, of a gaussian n_units.
 * Family, upper, two-valued features, chains and callbacks are those of the first; the prior is scaled once,
 * by the features of all sites together.
 * @return as tacit_noise_aware_fit() without a curator.
 */
TACIT_MUST_USE tacit_status_t tacit_noise_aware_combine(const tacit_noise_aware_settings_t *sites, size_t n,
                                                        double between, const tacit_parameters_t *parameters,
                                                        tacit_draws_t *draws, tacit_error_t *err);

/**
 * Rows of features as the releases of their moments tell of them: normal in shape, clamped to [-1, 1], +-1
 * where two-valued, with means and covariances drawn once from their posterior. Bernoulli and poisson.
 *
 * @param[in]  settings  family, relation, rho, is_two_valued, makeup, key and releases of the fit.
 * @param[in]  is_wanted shape (features): those to make; the others, which follow from them, are 0 in the
 * rows.
 * @param[in]  stream    of the key: rows of different streams are independent given the releases.
 * @param[out] rows      shape (n, features), the first of each 1.
 * @param[out] scales    shape (features): what the releases tell of each, and how surely; of the intercept
 * zeros.
 * @return as tacit_noise_aware_fit() without a curator.
 */
TACIT_MUST_USE tacit_status_t tacit_noise_aware_features(const tacit_noise_aware_settings_t *settings,
                                                         const bool *is_wanted, uint64_t stream, size_t n,
                                                         double *rows, tacit_feature_scale_t *scales,
                                                         tacit_error_t *err);

/** What the releases of a fit of a program tell: its parameters, and who its records are. */
typedef struct tacit_noise_aware_known {
  double *theta; /**< shape (dim): the posterior's mode, unconstrained; owned */
  double
      *axes; /**< shape (dim, dim): the rows a_k of one factor of the posterior's covariance sum a_k a_k' */
  double n_units; /**< as far as it is known */
  size_t n_records;
  uint64_t
      seed; /**< of records, as tacit_record_model_t.made_up() of any model of the same program makes them, */
  double *weights; /**< with these, shape (n_records), sum 1; owned */
} tacit_noise_aware_known_t;

/**
 * Learn from the releases kept in settings->releases, which are of a program (settings->records). Clear after
 * failure too.
 * @return as tacit_noise_aware_fit() without a curator.
 */
TACIT_MUST_USE tacit_status_t tacit_noise_aware_known(const tacit_noise_aware_settings_t *settings,
                                                      const tacit_parameters_t *parameters,
                                                      tacit_noise_aware_known_t *known, tacit_error_t *err);
void tacit_noise_aware_known_clear(tacit_noise_aware_known_t *known);

#endif
