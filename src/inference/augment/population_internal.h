/* Records of a program, known by what was published of their statistics. Not installed. */
#ifndef TACIT_AUGMENT_POPULATION_INTERNAL_H
#define TACIT_AUGMENT_POPULATION_INTERNAL_H

#include "augment/augment_internal.h"
#include "program/program.h"

enum {
  TACIT_POPULATION_MAX_CELLS = 65536, /* and pieces of the record's range */
  TACIT_POPULATION_LANES = 16
};

/* ---- published.c: the likelihood of published numbers ---- */

/* What is known of the statistic that a distribution is of. */
typedef struct tacit_measured {
  const char *name; /* for messages */
  bool is_integer, is_count;
  const struct tacit_population_statistic *statistic; /* NULL: the number of records */
} tacit_measured_t;

typedef struct tacit_noise_distribution {
  tacit_noisy_t as;
  double *tail; /* discrete gaussian: log sum of weights from k on, shape (n_tail); NULL where no tail is
                   asked for */
  size_t n_tail;
  bool is_exact; /* sums are as published: a state always agrees */
  bool is_joint; /* values have no likelihoods of their own, but all of them together */
  size_t chosen; /* exponential: the candidate that was published */
  double quantile;
  size_t n_sums; /* that the likelihood looks at */
} tacit_noise_distribution_t;

/* Check values and distribution. */
TACIT_MUST_USE tacit_status_t tacit_noise_distribution_init(tacit_noise_distribution_t *distribution,
                                                            const tacit_noisy_t *published,
                                                            const tacit_measured_t *of, tacit_error_t *err);
void tacit_noise_distribution_clear(tacit_noise_distribution_t *distribution);
/* log p(value | sum) up to a constant that depends on the distribution and on which way the value was
 * published. */
double tacit_noise_distribution_log_lik(const tacit_noise_distribution_t *distribution, double value,
                                        double sum);

/* joint.c: a joint distribution's log p(values | sums) up to a constant; sums a and b are `more_a` and
 * `more_b` larger. workspace: shape (2 n_sums). */
typedef struct tacit_change {
  size_t a, b;
  double more_a, more_b;
} tacit_change_t;
double tacit_noise_distribution_log_joint(const tacit_noise_distribution_t *distribution,
                                          const double *values, const double *sums, tacit_change_t change,
                                          double *workspace);

/* ---- cells.c: what the statistics tell apart ---- */

/* Where an entry of a cell adds to: a published value, and how much. */
typedef struct tacit_entry {
  uint32_t value;
  double weight;
} tacit_entry_t;

/* Part of the range of the long column, for one combination of the others, that is in one cell. */
typedef struct tacit_piece_of_range {
  double from, to; /* real: in the coordinate s; whole numbers: the first and the last */
  uint32_t combination, cell;
} tacit_piece_of_range_t;

/* How a real number x is a function of s, which has no bounds: x' is smooth, and grows as x does. */
typedef enum tacit_stretch {
  TACIT_STRETCH_NONE,
  TACIT_STRETCH_BOTH,
  TACIT_STRETCH_ABOVE,
  TACIT_STRETCH_BELOW,
  TACIT_STRETCH_BETWEEN
} tacit_stretch_t;

/* A release as the cells of a group see it. */
typedef struct tacit_seen {
  const struct tacit_population_statistic *statistic; /* NULL: the number of records */
  uint32_t first;                                     /* its first sum among those of all releases */
} tacit_seen_t;

typedef struct tacit_cells {
  const tacit_table_distribution_t
      *table; /* whose cells they are; NULL: those of a program, and what follows */
  const struct tacit_population *population;
  const tacit_seen_t *seen; /* (n_seen) */
  size_t n_seen;
  const double *given; /* (n_columns), or NULL: numbers that all records have; NaN: as the program says */
  size_t n_columns,
      long_column; /* the column that is integrated over: the real one, or the one of most values */
  bool is_real;
  tacit_stretch_t stretch; /* NONE: whole numbers */
  double lower, upper;     /* of the long column */
  double from, to;         /* of s */
  size_t n_combinations;   /* of the values of the other columns */
  tacit_piece_of_range_t *pieces;
  size_t n_pieces, piece_capacity;
  size_t n_cells, n_entries; /* entries of each cell */
  tacit_entry_t *entries;    /* (n_cells, n_entries) */
} tacit_cells_t;

/* To how many sums a record adds. */
size_t tacit_seen_n_entries(const tacit_seen_t *seen, size_t n_seen);
/* TACIT_ERR_ARGUMENT, with the reason, where there are no such cells. Borrows `seen` and `given`. */
TACIT_MUST_USE tacit_status_t tacit_cells_init(tacit_cells_t *cells,
                                               const struct tacit_population *population,
                                               const tacit_seen_t *seen, size_t n_seen, const double *given,
                                               tacit_error_t *err);
/* Those of a table, which are given. */
TACIT_MUST_USE tacit_status_t tacit_cells_of_table(tacit_cells_t *cells,
                                                   const tacit_table_distribution_t *table,
                                                   const tacit_seen_t *seen, size_t n_seen,
                                                   tacit_error_t *err);
void tacit_cells_clear(tacit_cells_t *cells);
/* x of s, and log dx/ds. */
double tacit_cells_stretch(const tacit_cells_t *cells, double s, double *log_slope);
/* Columns of combination k, shape (n_columns), but for the long one. */
void tacit_cells_combination(const tacit_cells_t *cells, size_t k, double *x);

/* ---- distribution.c: probabilities of the cells ---- */

typedef enum tacit_distribution_outcome {
  TACIT_DISTRIBUTION_OK,
  TACIT_DISTRIBUTION_NO_NUMBER,
  TACIT_DISTRIBUTION_NOT_ONE
} tacit_distribution_outcome_t;

typedef struct tacit_distribution tacit_distribution_t;
TACIT_MUST_USE tacit_status_t tacit_distribution_new(tacit_distribution_t **distribution,
                                                     const tacit_cells_t *cells, tacit_error_t *err);
void tacit_distribution_free(tacit_distribution_t *distribution);
/*
 * log_p, shape (n_cells): log of the cells' probabilities at theta, to a relative 1e-9 each. NOT_ONE: they do
 * not add up to 1 within 1e-8: *total, what they add up to; NaN where it took too many panels to say.
 */
tacit_distribution_outcome_t tacit_distribution_set(tacit_distribution_t *distribution, const double *theta,
                                                    double *log_p, double *total);
/* Adds the gradient of sum_c counts[c] log p_c at the theta of the last set. */
void tacit_distribution_add_grad(tacit_distribution_t *distribution, const double *counts,
                                 const double *log_p, double *grad);
tacit_population_workspace_t *tacit_distribution_workspace(const tacit_distribution_t *distribution);

/* ---- table.c: the same of a table's cells; prior and gradient of one group's effects ---- */

void tacit_table_set(const tacit_table_distribution_t *table, const double *theta, double *log_p);
void tacit_table_add_grad(const tacit_table_distribution_t *table, const double *counts, const double *log_p,
                          double *grad);
double tacit_table_log_prior(const tacit_table_distribution_t *table, const double *theta, double *grad);
size_t tacit_table_n_values(const tacit_table_distribution_t *table);
/* Effects, shares and counts of all groups. */
size_t tacit_table_n_reported(const tacit_table_distribution_t *table, size_t n_groups);
/* Shares, then counts, of one group, from `to` on; the end of them. workspace: (n_values). */
double *tacit_table_report(const tacit_table_distribution_t *table, const double *log_p, const double *counts,
                           double *workspace, double *to);

/* ---- trajectory.c: theta by Hamiltonian trajectories ---- */

/* A trajectory is lost that is accepted with a probability below e^-10: its steps were too long for where it
 * came to. */
#define TACIT_LOST_BELOW 4.54e-5

/* Log density and gradient; -INFINITY outside of where it can be computed. */
typedef double (*tacit_trajectory_density)(void *user, const double *theta, double *grad);

typedef struct tacit_trajectory {
  size_t dim;
  tacit_trajectory_density density;
  void *user;
  double (*rest)(void *user, const double *theta); /* what the log density leaves out until a trajectory ends,
                                                      at its last point; NULL: nothing */
  double rest_value;
  double *theta, *grad, value; /* the point; value and grad are made by tacit_trajectory_refresh() */
  double *factor;              /* (dim, dim): lower; the metric's inverse is factor factor' */
  double *other;               /* (dim, dim): room for the next factor */
  double *mean, *square;       /* of the states since the metric was set */
  bool is_local; /* the metric is the curvature at a point, not the spread of states: their density changes as
                    they move */
  double *spread;    /* (dim, dim): local ones, lower factor of the states' covariance; NULL: not known yet */
  double *workspace; /* (3, dim, dim): the last is where `spread` is */
  double n_states;
  double *trial, *trial_grad, *momentum, *move; /* (dim) */
  double step_size, shrink_towards, error_sum, log_step_average, n_adapted;
  size_t n_leapfrog; /* of the last trajectory */
  double carry_width,
      n_carried; /* carry.c: of steps, in units of the states' spread; by how many it was tuned */
  double *single_width,
      *n_single; /* (values of a table's statistics): the same of moves of one value's cells; else NULL */
  bool is_short; /* the last trajectory's steps were */
  double share_short, n_made, n_lost; /* the last two: in warm-up, of those whose steps are not short */
} tacit_trajectory_t;

TACIT_MUST_USE tacit_status_t tacit_trajectory_init(tacit_trajectory_t *walk, size_t dim,
                                                    tacit_trajectory_density density, void *user,
                                                    tacit_error_t *err);
void tacit_trajectory_clear(tacit_trajectory_t *walk);
/* Climb from a point to about a mode; the metric is the curvature there. false: no point was found where the
 * density is above 0. */
bool tacit_trajectory_start(tacit_trajectory_t *walk, tacit_rng_t *rng);
/* From theta as it is; the metric is the curvature there, and again at ends of windows of warm-up. */
void tacit_trajectory_start_at(tacit_trajectory_t *walk);
/* From theta as it is, where all coordinates have about the same spread, 1, and hang little together. */
void tacit_trajectory_start_scaled(tacit_trajectory_t *walk);
/* The density has changed. */
void tacit_trajectory_refresh(tacit_trajectory_t *walk);
/* One trajectory; its probability of acceptance. */
double tacit_trajectory_step(tacit_trajectory_t *walk, tacit_rng_t *rng);
/* After a step of warm-up, of iteration i of n. */
void tacit_trajectory_tune(tacit_trajectory_t *walk, double accept, size_t i, size_t n);

/* ---- groups.c: what was published, and of which records ---- */

/* A release; its sums are first .. first + distribution.n_sums - 1 of all. */
typedef struct tacit_released {
  tacit_noise_distribution_t distribution;
  const struct tacit_population_statistic *statistic;
  uint64_t groups;
  uint32_t first;
} tacit_released_t;

/*
 * Records that releases have all or none of. Their cells (MARGINAL): those that statistics tell apart, each
 * as often as there are answers that its records may have given. Cells of a block stand one after the other;
 * counts published as they are fix how many records a block has.
 */
typedef struct tacit_population_group {
  const tacit_group_t *as;
  tacit_seen_t *seen;
  size_t n_seen;
  tacit_cells_t apart;
  size_t n_cells, n_entries;     /* entries of each cell */
  uint32_t *base;                /* (n_cells): the cell of `apart` */
  double *log_channel;           /* (n_cells): log probability of the answer */
  tacit_entry_t *entries;        /* (n_cells, n_entries) */
  const tacit_released_t *exact; /* what fixes the blocks; NULL: there is one */
  size_t n_blocks;
  size_t *block_start; /* (n_blocks + 1) */
} tacit_population_group_t;

typedef struct tacit_population_run tacit_population_run_t;

/* Releases with their distributions; groups with what they see. */
TACIT_MUST_USE tacit_status_t tacit_groups_collect(tacit_population_run_t *run, size_t n_groups,
                                                   const tacit_group_t *groups, size_t n_published,
                                                   const tacit_published_statistic_t *published,
                                                   tacit_error_t *err);
/* Cells of all groups. TACIT_ERR_ARGUMENT, field "method", where there are none. */
TACIT_MUST_USE tacit_status_t tacit_groups_cut(tacit_population_run_t *run, tacit_error_t *err);
void tacit_groups_clear(tacit_population_run_t *run);
static inline const tacit_entry_t *tacit_group_entries(const tacit_population_group_t *group, size_t cell) {
  return group->entries + cell * group->n_entries;
}

/* ---- population.c: chains ---- */

typedef struct tacit_latent tacit_latent_t;
typedef struct tacit_misfit tacit_misfit_t;

/* Of a chain: what it holds of a group. */
typedef struct tacit_population_part {
  tacit_distribution_t *distribution;
  double *counts, *trial_counts,
      *more; /* (n_cells): records of cells, now and at a trial; by how much more likely cells are there */
  double *p; /* (n_cells): of a table, probabilities while values move singly */
  bool *is_with;                       /* (n_cells): is among those that move together; else false */
  double *apart, *log_p, *trial_log_p; /* of cells that statistics tell apart: their counts, log probabilities
                                          now and at a trial */
  double n;
} tacit_population_part_t;

typedef struct tacit_population_chain {
  const tacit_population_run_t *run;
  tacit_rng_t *rng;
  tacit_population_part_t *parts; /* (n_groups): cells; else NULL */
  tacit_latent_t *latent;         /* records drawn along; else NULL */
  tacit_misfit_t *misfit;         /* NULL: it is not asked for */
  tacit_trajectory_t *walks,
      *walk; /* (n_walks): of all parameters, or of a table those of each group; the one at hand */
  size_t n_walks, from, to;  /* the groups that the parameters at hand are of */
  double *table_workspace;   /* (values of a table's statistics); programs: NULL */
  double *sums, *trial_sums; /* (n_sums) */
  double *workspace;         /* (2 n_sums): for joint distributions */
  size_t n_not_one;          /* evaluations where the density did not integrate to 1 */
  double worst;              /* the total of the last of them */
  bool has_no_number;
  tacit_outcome_t *outcome;
} tacit_population_chain_t;

struct tacit_population_run {
  const struct tacit_population *population;
  const tacit_table_distribution_t *table; /* in place of a program */
  size_t
      *value_begin; /* (values + 1): of a table, where the cells of a value of its statistics begin among */
  uint32_t *value_cells;
  tacit_augment_method_t method; /* MARGINAL: cells; GIBBS: records drawn along */
  tacit_released_t *released;    /* (n_released) */
  size_t n_released;
  uint32_t *released_of; /* (n_sums) */
  double *values;        /* (n_sums): published; a quantile's are 0 */
  size_t n_sums;
  tacit_population_group_t *groups;
  size_t n_groups, n_unknown; /* groups of unknown size */
  tacit_chains_t chains;
  tacit_population_chain_t *each; /* (n_chains) */
};

static inline const tacit_released_t *tacit_released_at(const tacit_population_run_t *run, size_t sum) {
  return &run->released[run->released_of[sum]];
}
/* Likelihood of a published number at a sum of `at`. */
static inline double tacit_released_log_lik(const tacit_population_run_t *run, size_t sum, double at) {
  return tacit_noise_distribution_log_lik(&tacit_released_at(run, sum)->distribution, run->values[sum], at);
}
/* Likelihood of a release that has a joint distribution, at sums that are changed. */
double tacit_released_log_joint(const tacit_population_chain_t *c, const tacit_released_t *r,
                                const double *sums, tacit_change_t change);

/* Log prior of theta, and its gradient or NULL. */
double tacit_population_chain_log_prior(const tacit_population_chain_t *chain, const double *theta,
                                        double *grad);
/* trial_log_p of group g at theta; false where there is none. `others`: the rest of the log density, or more:
 * whether a chain could have come there. */
bool tacit_population_set_distribution(tacit_population_chain_t *chain, size_t g, const double *theta,
                                       double others);

/* carry.c: moves of theta that take the records along; log_p of the parts are those of theta. is_tuned: in
 * warm-up. */
void tacit_carry(tacit_population_chain_t *chain, size_t n_moves, bool is_tuned);
/* Of a table: the cells of one value of its statistics become likelier or less likely together. Values are
 * drawn by lot. */
void tacit_carry_begin_singly(tacit_population_chain_t *chain);
void tacit_carry_singly(tacit_population_chain_t *chain, size_t n_moves, bool is_tuned);

/* latent.c: the same with records of their own. */
TACIT_MUST_USE tacit_status_t tacit_latent_new(tacit_population_chain_t *chain, tacit_error_t *err);
void tacit_latent_free(tacit_latent_t *latent);
tacit_population_workspace_t *tacit_latent_workspace(const tacit_latent_t *latent);
/* Of theta given the records: a tacit_trajectory_density. */
double tacit_latent_density(void *chain, const double *theta, double *grad);
TACIT_MUST_USE tacit_status_t tacit_latent_begin(tacit_population_chain_t *chain);
TACIT_MUST_USE tacit_status_t tacit_latent_step(tacit_population_chain_t *chain, double *accept);
/* n records of group g at the chain's theta, drawn anew: what each of them adds. false: some record has no
 * place. */
typedef void (*tacit_latent_take)(void *user, const tacit_entry_t *entries, size_t n_entries);
bool tacit_latent_draw(tacit_population_chain_t *chain, size_t g, tacit_rng_t *rng, size_t n,
                       tacit_latent_take take, void *user);

/* misfit.c: is what was published where the model puts it? */
TACIT_MUST_USE tacit_status_t tacit_misfit_new(tacit_misfit_t **misfit, const tacit_population_run_t *run,
                                               size_t chain, tacit_error_t *err);
void tacit_misfit_free(tacit_misfit_t *misfit);
/* At kept draw `draw` of a chain, some of which are passed over. */
void tacit_misfit_look(tacit_population_chain_t *chain, size_t draw);
/* p[i]: of release i, over all looks; shape (n_released). */
void tacit_misfit_conclude(const tacit_population_run_t *run, double *p);

/* table.c: the cells of each value of the statistics. */
TACIT_MUST_USE tacit_status_t tacit_table_list_values(tacit_population_run_t *run, tacit_error_t *err);
/* What may have been published. */
const struct tacit_population_statistic *tacit_run_statistics(const tacit_population_run_t *run);

/* counts.c: every cell of every group with another one, and alone where their number is unknown, given the
 * log_p of cells. */
void tacit_counts_sweep(tacit_population_chain_t *chain);
/* Cells apart, which the parameters look at, from the counts. */
void tacit_counts_set_apart(tacit_population_chain_t *chain, size_t g);
/* The blocks' counts, spread over their cells evenly; false: some block should have records, and has no cell.
 */
bool tacit_counts_begin(tacit_population_chain_t *chain);

#endif
