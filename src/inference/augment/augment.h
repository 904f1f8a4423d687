/*
 * Inference from a statistic that was released, with the library's own models and mechanisms.
 */
#ifndef TACIT_AUGMENT_AUGMENT_H
#define TACIT_AUGMENT_AUGMENT_H

#include "tacit/augment.h"
#include "tacit/base.h"
#include "tacit/draws.h"

struct tacit_population;

struct tacit_population_statistic;

/** Distribution of a record. */
typedef enum tacit_latent_kind {
  TACIT_LATENT_GAUSSIAN =
      0, /**< N(mean, sd^2); mean ~ N(mean_location, mean_scale^2), variance known or inverse gamma */
  TACIT_LATENT_POISSON = 1, /**< Poisson(rate); rate ~ Gamma(rate_shape, rate_rate) */
  TACIT_LATENT_REGRESSION =
      3, /**< a normal row of features and a response, linear given them; columns mapped to [-1, 1] */
  /** A normal row of features, mapped to [-1, 1], and a binary response: P(1) is logistic in the features,
     unclamped. */
  TACIT_LATENT_LOGISTIC = 4,
  TACIT_LATENT_CATEGORICAL =
      2 /**< a cell of a table; its factors are independent, each with Dirichlet probabilities */
} tacit_latent_kind_t;

/**
 * Distribution of the records and prior. Borrows its arrays. Fields that a kind does not have are ignored.
 * A saturated table is one factor whose levels are the cells.
 */
typedef struct tacit_latent_model {
  tacit_latent_kind_t kind;
  size_t n_records;                      /**< public, 1 .. 2^31 - 1 */
  double mean_location, mean_scale;      /**< mean_scale > 0 */
  double known_sd;                       /**< > 0; 0: unknown */
  double variance_shape, variance_scale; /**< density v^(-shape - 1) exp(-scale / v), both > 0 */
  double rate_shape, rate_rate;          /**< both > 0 */
  /**
   * Regression: of the response on the features, and of each feature on those before it, all with the same
   * priors on the mapped scale: intercepts and slopes N(0, coefficient_scale^2), residual variances inverse
   * gamma as above. Logistic: the coefficients N(0, coefficient_scale^2); intercepts and slopes of the
   * features N(0, feature_scale^2).
   */
  double coefficient_scale, feature_scale; /**< > 0 */
  size_t n_features;                       /**< 1 .. 20 */
  size_t n_factors;                        /**< >= 1 */
  const size_t *n_levels;      /**< shape (n_factors), each >= 2; the product, number of cells, <= 65536 */
  const double *concentration; /**< Dirichlet parameters of all factors in turn, each > 0 */
} tacit_latent_model_t;

/** What was summed over the records. */
typedef enum tacit_release_kind {
  TACIT_RELEASE_SUM = 0,     /**< of clamp(x): 1 value; gaussian and poisson */
  TACIT_RELEASE_MOMENTS = 1, /**< of clamp(x) and of clamp(x)^2: 2 values; gaussian */
  /** Of z_j, then of z_i z_j, i <= j, row by row; z_j in [-1, 1] is a clamped column, the response last;
     regression. */
  TACIT_RELEASE_PRODUCTS = 3,
  /** Of the features as above, and then of (y - 1/2) (1, z_1 .. z_d), y being 0 or 1; logistic. */
  TACIT_RELEASE_SCORE = 4,
  TACIT_RELEASE_COUNTS = 2 /**< records in each cell, the last factor fastest; categorical */
} tacit_release_kind_t;

/** Noise of each value, independent. The discrete distributions live on the multiples of `step`. */
typedef enum tacit_release_noise {
  TACIT_RELEASE_GAUSSIAN = 0,          /**< density of exp(-e^2 / (2 scale^2)) */
  TACIT_RELEASE_LAPLACE = 1,           /**< density of exp(-|e| / scale) */
  TACIT_RELEASE_DISCRETE_GAUSSIAN = 2, /**< weights exp(-e^2 / (2 scale^2)) [Canonne2020] */
  TACIT_RELEASE_DISCRETE_LAPLACE = 3,  /**< weights exp(-|e| / scale) */
  /* Of records of a program alone (tacit_noisy_t). */
  TACIT_RELEASE_NONE = 4, /**< counts as they are */
  TACIT_RELEASE_RESPONSES =
      5, /**< counts of answers: each record gave the cell it is in, or another, by `channel` */
  TACIT_RELEASE_EXPONENTIAL = 6 /**< of a quantile: candidate c with weight exp(-|#{x < c} - q n| / scale) */
} tacit_release_noise_t;

/** What was released. Borrows its arrays. */
typedef struct tacit_release {
  tacit_release_kind_t kind;
  tacit_release_noise_t noise;
  double lower, upper; /**< clamp bounds of a record, lower < upper, finite; whole numbers for poisson */
  double
      step; /**< gaussian records, discrete noise: clamped records were rounded to multiples of it; else 0 */
  size_t n_values;
  const double *values; /**< sums over the records (not means), shape (n_values) */
  const double *scales; /**< noise scales of those sums, > 0, shape (n_values) */
} tacit_release_t;

/**
 * Quantities reported: gaussian mean (and sd), poisson rate, categorical probabilities of all factors in
 * turn; regression intercept, slopes and residual sd, on the mapped scale; logistic intercept and slopes.
 */
size_t tacit_latent_n_reported(const tacit_latent_model_t *model);

/** Check a model and a release and that they fit; the message says how to mend them. */
TACIT_MUST_USE tacit_status_t tacit_augment_validate(const tacit_latent_model_t *model,
                                                     const tacit_release_t *release, tacit_error_t *err);

/**
 * Draw theta from p(theta | y).
 *
 * @param[out] draws   initialised by the call (clear with tacit_draws_clear, also after failure). stats:
 * log_prior, and the share of records accepted in the sweep, or the trajectory's acceptance probability.
 * @param[out] result  may be NULL.
 * @return TACIT_ERR_ARGUMENT for settings, models or releases out of range, or a method that does not apply.
 *
 * Cost of an iteration: GIBBS about 10 ns a record; HMC about 1 ns a record and leapfrog
 * step; MARGINAL free of n, 2 to 100 microseconds. No allocation in an iteration.
 */
TACIT_MUST_USE tacit_status_t tacit_augment(const tacit_latent_model_t *model, const tacit_release_t *release,
                                            const tacit_augment_settings_t *settings, tacit_draws_t *draws,
                                            tacit_augment_result_t *result, tacit_error_t *err);

/**
 * How numbers were released: noise of this distribution was added, then the result was rounded to a multiple
 * of `rounded`, then moved to the nearer of [lower, upper] if it was outside, then withheld if it was below
 * `suppressed`. The likelihood is that of what was published: a value at a bound is a tail, a rounded one an
 * interval, one that was withheld all that is below.
 */
typedef struct tacit_noisy {
  tacit_release_noise_t noise;
  double scale;        /**< > 0, but for NONE and RESPONSES; discrete distributions: on the whole numbers */
  double rounded;      /**< 0: it was not rounded */
  double lower, upper; /**< infinite: it was not moved; else multiples of `rounded` */
  double suppressed;   /**< values below it are not shown, and NaN here; 0: all are shown */
  /** Counts under GAUSSIAN or LAPLACE noise: at last all values were moved by one amount, so that they add up
   * to the number of records. */
  bool adds_up;
  const double *channel; /**< RESPONSES: shape (n_values, n_values), row by row: probabilities of each answer
                            of a record in a cell */
  size_t n_values;       /**< those of the statistic */
  const double *values;
} tacit_noisy_t;

/** In place of a statistic: how many records there are. */
#define TACIT_PUBLISHED_SIZE SIZE_MAX

/** A statistic of some of the records, as it was published. */
typedef struct tacit_published_statistic {
  size_t statistic; /**< its number among the population's, or TACIT_PUBLISHED_SIZE */
  uint64_t groups;  /**< bit g: the records of group g are in it; not 0 */
  tacit_noisy_t noisy;
} tacit_published_statistic_t;

/** Records of one distribution, which releases have all or none of. */
typedef struct tacit_group {
  const char *name;    /**< for messages */
  size_t n_records;    /**< public, below 2^31; 0: unknown, with a flat prior, which a release of their number
                          goes with */
  const double *given; /**< shape (n_columns): numbers that all of them have, public; NaN: as the program
                          says. NULL: none. */
} tacit_group_t;

enum { TACIT_MAX_GROUPS = 64 };

/**
 * Draw theta from p(theta | y) for groups of records of a program (program/program.h), given what was
 * published of their statistics. Groups are independent given theta; the same statistic of the same records
 * may have been published any number of times.
 *
 * MARGINAL, which AUTO stands for where it applies: theta and the number of records in each cell, a cell
 * being what the statistics tell apart. For records with at most one real number, the others whole numbers of
 * finitely many values, and statistics that are constant in cells. Cell probabilities by quadrature over the
 * record's distribution, counts by exact slices, theta by Hamiltonian trajectories; cost free of n.
 * [docs/theory.md, 12.12] GIBBS, for AUTO where there are no cells: each record drawn along, of programs
 * whose records can be drawn (tacit_population_obstacle()), n known; cost linear in n, some microsecond a
 * record and iteration. [docs/theory.md, 12.13]
 *
 * @param[out] draws   as tacit_augment(); numbers of records that are unknown are reported last, in the order
 * of their groups.
 * @param[out] result  as tacit_augment().
 * @return TACIT_ERR_ARGUMENT for a method that does not apply, values that the release cannot have, or a
 * density that does not integrate to 1.
 */
TACIT_MUST_USE tacit_status_t tacit_augment_population(const struct tacit_population *population,
                                                       size_t n_groups, const tacit_group_t *groups,
                                                       size_t n_published,
                                                       const tacit_published_statistic_t *published,
                                                       const tacit_augment_settings_t *settings,
                                                       tacit_draws_t *draws, tacit_augment_result_t *result,
                                                       tacit_error_t *err);

enum { TACIT_TABLE_SHARE = 1, TACIT_TABLE_COUNT = 2, TACIT_TABLE_MAX_CELLS = 65536 };

/**
 * A distribution of records that are cells of a table: log p(cell) is the sum of the cell's effects, up to
 * what makes the cells add up to 1; effects are normal(0, prior_sd) beforehand, of each group of records its
 * own. Borrows its arrays.
 */
typedef struct tacit_table_distribution {
  size_t n_cells; /**< 1 to 65536; those that no record can be in are left out */
  size_t n_effects;
  const size_t
      *begin; /**< (n_cells + 1): the effects of cell c are effect[begin[c]] to effect[begin[c + 1] - 1] */
  const uint32_t *effect;
  double prior_sd;     /**< > 0 */
  size_t n_statistics; /**< tables of counts, of what may have been published */
  const struct tacit_population_statistic *statistics;
  const uint32_t *value; /**< (n_statistics, n_cells): the value of a statistic that counts a cell */
  /**
   * (values of all statistics + 1): the probability of a value's cells, all by one factor e^a, is moved by a
   * move_sign[i] in effects move_effect[i], i from move_begin[v] to move_begin[v + 1] - 1. Chains go along
   * these directions too.
   */
  const size_t *move_begin;
  const uint32_t *move_effect;
  const double *move_sign;
  const uint8_t *reported; /**< (values of all statistics): TACIT_TABLE_SHARE | TACIT_TABLE_COUNT, what is
                              reported of each */
} tacit_table_distribution_t;

/**
 * As tacit_augment_population() by MARGINAL, the only method: exact. A group of unknown size needs no release
 * of its number, since every record is counted.
 *
 * @param[out] draws  effects of each group in turn; unknown numbers of records; of each group the
 * probabilities of values of statistics that are to be reported, then how many records they count.
 */
TACIT_MUST_USE tacit_status_t tacit_augment_table(const tacit_table_distribution_t *table, size_t n_groups,
                                                  const tacit_group_t *groups, size_t n_published,
                                                  const tacit_published_statistic_t *published,
                                                  const tacit_augment_settings_t *settings,
                                                  tacit_draws_t *draws, tacit_augment_result_t *result,
                                                  tacit_error_t *err);
#endif
