/**
 * @file tables.h
 * A population of categorical columns that is known by noisy tables of its margins.
 *
 * Of all distributions with given margins the one of largest entropy has no interactions but those that the
 * margins show:
 *
 *     p(x | theta) = exp(sum_e theta_e 1{x has the levels of e} - A(theta))
 *
 * where an effect e is a set of columns that some margin holds, at levels that are not their first. So theta
 * is unique: one number for each such set and combination of levels. A and the margins are exact, by sums
 * over the cliques of a junction tree. [Raisa2023; docs/theory.md, 12.15] Everything here is computed from
 * public values and releases: it reads no record and costs no privacy.
 */
#ifndef TACIT_TABLES_H
#define TACIT_TABLES_H

#include "augment/augment.h"
#include "tacit/base.h"
#include "tacit/draws.h"

struct tacit_rng;

enum {
  TACIT_TABLES_MAX_COLUMNS = 30,
  TACIT_TABLES_MAX_MARGINS = 500,
  TACIT_TABLES_MAX_CELLS = 100000, /**< of a clique of the junction tree */
  TACIT_TABLES_MAX_EFFECTS = 1000  /**< matrices of so many rows are factorised in every iteration */
};

/** Which tables there are; borrows its arrays. */
typedef struct tacit_margins {
  size_t n_columns;         /**< 1 to 30, each in some margin */
  const size_t *n_levels;   /**< (n_columns), each >= 2 */
  const char *const *names; /**< (n_columns), for messages; NULL: column numbers from 1 */
  size_t n_margins;         /**< 1 to 500, no two alike */
  const uint32_t *margins;  /**< (n_margins): bit j is column j */
} tacit_margins_t;

typedef struct tacit_tables tacit_tables_t;

/**
 * Find the effects, and a junction tree by elimination (the smaller of those that least cells and least
 * fill-in give).
 * @return TACIT_ERR_ARGUMENT for margins out of range, a clique of more than 10^5 cells, or more than 1000
 * effects; *tables is NULL then.
 */
TACIT_MUST_USE tacit_status_t tacit_tables_new(tacit_tables_t **tables, const tacit_margins_t *margins,
                                               tacit_error_t *err);
void tacit_tables_free(tacit_tables_t *tables);
size_t tacit_tables_n_effects(const tacit_tables_t *tables);
/** Cells of all margins, one margin after another; within one the last column is the fastest. */
size_t tacit_tables_n_cells(const tacit_tables_t *tables);
/** Cells of the largest clique. */
size_t tacit_tables_largest_clique(const tacit_tables_t *tables);
/** Effect i: its columns, and levels (n_columns), 0 of columns that it does not have. */
uint32_t tacit_tables_effect(const tacit_tables_t *tables, size_t i, size_t *levels);

/**
 * What of the effects makes cell `cell` of the margins' cells, and no other of its margin, likelier: effects
 * and signs (tacit_tables_n_effects()), +1 or -1, by inclusion and exclusion. @return how many they are.
 */
size_t tacit_tables_cell_effects(const tacit_tables_t *tables, size_t cell, uint32_t *effects, double *signs);

/**
 * A(theta), and the probabilities of the margins' cells.
 * @param[in]  theta  (tacit_tables_n_effects()), finite.
 * @param[out] cells  (tacit_tables_n_cells()), or NULL.
 * Cost: linear in the cells of all cliques, times the margins that each holds.
 */
TACIT_MUST_USE tacit_status_t tacit_tables_evaluate(const tacit_tables_t *tables, const double *theta,
                                                    double *log_partition, double *cells, tacit_error_t *err);
/** Draw rows, exactly: levels (n_rows, n_columns), each from 0. Clique by clique, each given the columns that
 * it shares with those before. */
TACIT_MUST_USE tacit_status_t tacit_tables_draw(const tacit_tables_t *tables, const double *theta,
                                                size_t n_rows, struct tacit_rng *rng, uint16_t *levels,
                                                tacit_error_t *err);

/** What was released. Borrows its arrays. */
typedef struct tacit_noisy_margins {
  const double
      *values; /**< (tacit_tables_n_cells()): counts with Gaussian or discrete Gaussian noise, independent */
  const double *scales; /**< its standard deviations, each > 0 */
  double n_records;     /**< public; 0: unknown, with a flat prior, and reported after theta */
  double prior_sd;      /**< theta is normal around 0 with this sd, independently; > 0 */
} tacit_noisy_margins_t;

/** What is to be said beside the draws. */
typedef struct tacit_tables_findings {
  double contradiction; /**< p-value of the differences between margins that should agree, given their noise;
                           1 where none overlap */
  size_t n_swamped; /**< effects whose posterior sd is above 0.8 of the prior's: the noise leaves nothing of
                       them */
  size_t n_sparse;  /**< cells of margins with fewer than 5 records expected under noise of sd below 2: the
                       posterior is approximate there */
} tacit_tables_findings_t;

/**
 * Draw theta from its posterior given noisy margins.
 *
 * The counts behind the noise are integrated out by Laplace's method in saddlepoint form, which is exact
 * without noise and where noise prevails, and off by O(1 / count) between; theta moves by Hamiltonian
 * trajectories in the coordinates of the fitted counts. [docs/theory.md, 12.15]
 *
 * @param[in]  settings  of tacit_augment(): chains, warm-up, draws, thin, key, threads and proceed.
 * @param[out] draws     initialised by the call; of theta, and n where it is unknown.
 * @param[out] result, findings  may be NULL.
 * @return TACIT_ERR_ARGUMENT for values out of range; TACIT_ERR_NUMERIC if no mode is found.
 *
 * Cost of an iteration, K effects, C cells of cliques: some 10 C for each leapfrog step, then K C + K^3 / 3.
 */
TACIT_MUST_USE tacit_status_t tacit_tables_infer(const tacit_tables_t *tables,
                                                 const tacit_noisy_margins_t *release,
                                                 const tacit_augment_settings_t *settings,
                                                 tacit_draws_t *draws, tacit_augment_result_t *result,
                                                 tacit_tables_findings_t *findings, tacit_error_t *err);

/**
 * The p-value of the differences between margins that should agree, given Gaussian noise
 * (tacit_tables_findings_t), by least squares. Cost: cubic in the effects.
 */
TACIT_MUST_USE tacit_status_t tacit_tables_contradiction(const tacit_tables_t *tables,
                                                         const tacit_noisy_margins_t *release, double *p,
                                                         tacit_error_t *err);

#endif
