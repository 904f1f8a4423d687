/**
 * @file augment.h
 * Bayesian inference from a statistic that was released with privacy noise.
 *
 * The records x_1 .. x_n are unknown; known are their distribution f(x | theta), the prior p(theta), and
 *
 *     y = sum_i t(x_i) + noise,      t(x) = clamp(x) | (clamp(x), clamp(x)^2) | indicator of a cell |
 * products of columns
 *
 * so that the target is p(theta, x | y), proportional to p(theta) prod f(x_i | theta) g(y | sum t(x_i)).
 * Everything here is post-processing of y and of public settings: it costs no privacy.
 */
#ifndef TACIT_AUGMENT_H
#define TACIT_AUGMENT_H

#include "tacit/base.h"
#include "tacit/draws.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tacit_rng;

/** How to sample. */
typedef enum tacit_augment_method {
  /** MARGINAL where it is exact (gaussian: above 1000 records), above 20000 records where it applies; else
     GIBBS. */
  TACIT_AUGMENT_AUTO = 0,
  /**
   * Each record is proposed from the model and accepted by the noise's likelihood ratio [Ju2022]; theta from
   * its conditional distribution. For gaussian records, interwoven with moves of theta that carry all records
   * along [YuMeng2011].
   */
  TACIT_AUGMENT_GIBBS = 1,
  /** Hamiltonian trajectories; gaussian records under Gaussian or Laplace noise. See tacit_augment_path_t. */
  TACIT_AUGMENT_HMC = 2,
  /**
   * No latent records: cost free of n. Exact for counts (by slice sampling of the cells' counts) and for a
   * sum under Gaussian or discrete noise (its likelihood by Fourier inversion; counts and rounded records of
   * at most 4097 values). Else, Laplace noise, moments, products or a score, approximate: the sums are normal
   * with the exact mean and covariance of clamped records (error of order 1/sqrt(n)).
   */
  TACIT_AUGMENT_MARGINAL = 3
} tacit_augment_method_t;

/** What a Hamiltonian trajectory moves. */
typedef enum tacit_augment_path {
  TACIT_PATH_COLLECTIVE = 0, /**< theta and the records' mean; a Gibbs sweep then moves the records */
  TACIT_PATH_JOINT = 1       /**< theta and every record, no sweep */
} tacit_augment_path_t;

typedef struct tacit_augment_settings {
  tacit_augment_method_t method;
  size_t n_chains, n_warmup, n_draws, thin; /**< n_draws are kept, each after `thin` iterations */
  bool interweave;           /**< GIBBS of gaussian records: moves that carry the records along */
  tacit_augment_path_t path; /**< HMC */
  bool smooth_mass;          /**< HMC: expected derivative of the clamp in the mass, not 1 */
  double step_size;          /**< HMC: > 0 fixed; 0: dual averaging during warm-up */
  size_t n_leapfrog;         /**< HMC: > 0 fixed; 0: length around pi/2, jittered by 20 % */
  unsigned char key[32];     /**< of the random moves, tacit/random.h */
  size_t n_threads;          /**< chains at a time; results do not depend on it */
  /**
   * Called before each iteration of each chain, from its thread; false stops the run. May be NULL.
   * Draws that every chain has are kept.
   */
  bool (*proceed)(size_t chain, size_t iteration, void *user);
  void *user;
  /**
   * Records of a program: room for a p-value of each published statistic, shape (n_published): how probable
   * is it, at draws of theta, that what the model would have published is as far out? At most alpha with
   * probability at most alpha where the model is right. NaN: not known. NULL: it is not asked for. Draws do
   * not depend on it. [docs/theory.md, 12.16]
   */
  double *misfit;
} tacit_augment_settings_t;

/** AUTO, 4 chains of 1000 + 1000, interwoven, collective paths, smooth mass, 1 thread. */
TACIT_API tacit_augment_settings_t tacit_augment_settings_default(void);

/** How a run went; rates are over iterations after warm-up and all chains. */
typedef struct tacit_augment_result {
  tacit_augment_method_t method; /**< the one used, never AUTO */
  bool is_exact;    /**< the chain's invariant distribution is the posterior, not an approximation of it */
  bool is_complete; /**< false: stopped by `proceed` */
  double record_accept;     /**< share of record proposals accepted; NaN if there were none */
  double min_record_accept; /**< least acceptance probability of a record, >= exp(-epsilon) under pure
                               epsilon-DP */
  double path_accept;       /**< mean acceptance probability of trajectories; NaN if there were none */
  double path_lost;         /**< records of a program: share of those of full steps that were accepted with a
                               probability below e^-10; else NaN */
  double step_size;         /**< of trajectories, mean over chains; 0 if there were none */
  size_t n_cells;           /**< records of a program: cells whose counts stand for them; else 0 */
} tacit_augment_result_t;

/**
 * A model and a mechanism of one's own: records of record_size numbers with distribution f(x | theta), and
 * released values y = sum_i t(x_i) + noise. Borrows its arrays. Functions must be pure but for the generator
 * they are given.
 */
typedef struct tacit_augment_plugin {
  size_t n_theta, record_size, n_values; /**< each >= 1 */
  const double *start;  /**< shape (n_theta): within the prior's support; chains begin near it */
  const double *width;  /**< shape (n_theta), > 0: about the posterior's standard deviations; sets how fast,
                           not where, chains go */
  const double *values; /**< y, shape (n_values) */
  /** record <- a draw from f(. | theta), shape (record_size). */
  void (*draw_record)(void *user, const double *theta, struct tacit_rng *rng, double *record);
  /** t <- t(record), shape (n_values), clamping included; t is zero on entry. */
  void (*statistic)(void *user, const double *record, double *t);
  /** Log density, up to a constant, of the noise at y - sum_i t(x_i), shape (n_values). */
  double (*log_noise)(void *user, const double *residual);
  /**
   * log p(theta) + sum_i log f(x_i | theta), up to a constant; -INFINITY outside the support.
   * records: shape (n, record_size), n may be 0.
   */
  double (*log_density)(void *user, const double *theta, size_t n, const double *records);
  void *user;
} tacit_augment_plugin_t;

/**
 * Draw theta from p(theta | y): sweeps of records proposed from f and accepted by the noise's ratio [Ju2022,
 * algorithm 1], then a slice update of each element of theta. Exact; mixes slowly where the noise is far
 * wider than what records vary by. Of the settings it takes chains (one after the other), warm-up, draws,
 * thin, key and proceed.
 *
 * @param[out] draws   initialised by the call; shape of a row (n_theta). A run that is stopped keeps draws
 * only if all chains have some.
 * @param[out] result  may be NULL.
 * @return TACIT_ERR_ARGUMENT for a plug-in that is not complete.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_augment_with_plugin(
    const tacit_augment_plugin_t *plugin, size_t n_records, const tacit_augment_settings_t *settings,
    tacit_draws_t *draws, tacit_augment_result_t *result, tacit_error_t *err);
#ifdef __cplusplus
}
#endif
#endif
