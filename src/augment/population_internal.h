/* Records of a program, known by what was published of their statistics. Not installed. */
#ifndef TACIT_AUGMENT_POPULATION_INTERNAL_H
#define TACIT_AUGMENT_POPULATION_INTERNAL_H

#include "augment/augment_internal.h"
#include "tacit/program.h"

enum {
  TACIT_POPULATION_MAX_CELLS = 65536, /* and pieces of the record's range */
  TACIT_POPULATION_LANES = 16
};

/* ---- published.c: the likelihood of a published number ---- */

typedef struct tacit_noise_law {
  tacit_noisy_t as;
  double *tail; /* discrete gaussian: log sum of weights from k on, shape (n_tail); NULL where no tail is asked for */
  size_t n_tail;
} tacit_noise_law_t;

/* Check values and law; `is_integer`: the statistic is of whole numbers. `name` is for messages. */
TACIT_MUST_USE tacit_status_t tacit_noise_law_init(tacit_noise_law_t *law, const tacit_noisy_t *published, bool is_integer,
                                                   const char *name, tacit_error_t *err);
void tacit_noise_law_clear(tacit_noise_law_t *law);
/* log p(value | sum) up to a constant that depends on the law and on which way the value was published. */
double tacit_noise_law_log_lik(const tacit_noise_law_t *law, double value, double sum);

/* ---- cells.c: what the statistics tell apart ---- */

/* Where an entry of a cell adds to: a published value, and how much. */
typedef struct tacit_entry {
  uint32_t value;
  double weight;
} tacit_entry_t;

/* Part of the range of the long column, for one combination of the others, that is in one cell. */
typedef struct tacit_piece_of_range {
  double from, to;  /* real: in the coordinate s; whole numbers: the first and the last */
  uint32_t combination, cell;
} tacit_piece_of_range_t;

/* How a real number x is a function of s, which has no bounds: x' is smooth, and grows as x does. */
typedef enum tacit_stretch { TACIT_STRETCH_NONE, TACIT_STRETCH_BOTH, TACIT_STRETCH_ABOVE, TACIT_STRETCH_BELOW, TACIT_STRETCH_BETWEEN } tacit_stretch_t;

typedef struct tacit_cells {
  const struct tacit_population *population;
  size_t n_columns, long_column; /* the column that is integrated over: the real one, or the one of most values */
  bool is_real;
  tacit_stretch_t stretch; /* NONE: whole numbers */
  double lower, upper;     /* of the long column */
  double from, to;         /* of s */
  size_t n_combinations;   /* of the values of the other columns */
  tacit_piece_of_range_t *pieces;
  size_t n_pieces, piece_capacity;
  size_t n_cells, n_entries; /* entries of each cell */
  tacit_entry_t *entries;    /* (n_cells, n_entries) */
  size_t n_values;           /* published, of all statistics in turn, and of n */
} tacit_cells_t;

/* TACIT_ERR_ARGUMENT, with the reason, where there are no such cells. of_n: n is unknown, its release the last value. */
/* How many values were published, and how many of them a record adds to. */
void tacit_cells_size(tacit_cells_t *cells, const struct tacit_population *population, const tacit_noisy_t *published, bool of_n);
TACIT_MUST_USE tacit_status_t tacit_cells_init(tacit_cells_t *cells, const struct tacit_population *population,
                                               const tacit_noisy_t *published, bool of_n, tacit_error_t *err);
void tacit_cells_clear(tacit_cells_t *cells);
/* x of s, and log dx/ds. */
double tacit_cells_stretch(const tacit_cells_t *cells, double s, double *log_slope);
/* Columns of combination k, shape (n_columns), but for the long one. */
void tacit_cells_combination(const tacit_cells_t *cells, size_t k, double *x);

/* ---- law.c: probabilities of the cells ---- */

typedef enum tacit_law_outcome { TACIT_LAW_OK, TACIT_LAW_NO_NUMBER, TACIT_LAW_NOT_ONE } tacit_law_outcome_t;

typedef struct tacit_law tacit_law_t;
TACIT_MUST_USE tacit_status_t tacit_law_new(tacit_law_t **law, const tacit_cells_t *cells, tacit_error_t *err);
void tacit_law_free(tacit_law_t *law);
/*
 * log_p, shape (n_cells): log of the cells' probabilities at theta, to a relative 1e-9 each. NOT_ONE: they do not add up to 1 within 1e-8:
 * *total, what they add up to.
 */
tacit_law_outcome_t tacit_law_set(tacit_law_t *law, const double *theta, double *log_p, double *total);
/* Adds the gradient of sum_c counts[c] log p_c at the theta of the last set. */
void tacit_law_add_grad(tacit_law_t *law, const double *counts, const double *log_p, double *grad);
tacit_population_room_t *tacit_law_room(const tacit_law_t *law);

/* ---- trajectory.c: theta by Hamiltonian trajectories ---- */

/* Log density and gradient; -INFINITY outside of where it can be computed. */
typedef double (*tacit_trajectory_density)(void *user, const double *theta, double *grad);

typedef struct tacit_trajectory {
  size_t dim;
  tacit_trajectory_density density;
  void *user;
  double *theta, *grad, value; /* the point; value and grad are made by tacit_trajectory_refresh() */
  double *factor;              /* (dim, dim): lower; the metric's inverse is factor factor' */
  double *other;               /* (dim, dim): room for the next factor */
  double *mean, *square;       /* of the states since the metric was set */
  bool is_local;               /* the metric is the curvature at a point, not the spread of states: their density changes as they move */
  double *spread;              /* (dim, dim): local ones, lower factor of the states' covariance; NULL: not known yet */
  double *room;                /* (3, dim, dim): the last is where `spread` is */
  double n_states;
  double *trial, *trial_grad, *momentum, *move; /* (dim) */
  double step_size, shrink_towards, error_sum, log_step_average, n_adapted;
  size_t n_leapfrog; /* of the last trajectory */
} tacit_trajectory_t;

TACIT_MUST_USE tacit_status_t tacit_trajectory_init(tacit_trajectory_t *walk, size_t dim, tacit_trajectory_density density, void *user, tacit_error_t *err);
void tacit_trajectory_clear(tacit_trajectory_t *walk);
/* Climb from a point to about a mode; the metric is the curvature there. false: no point was found where the density is above 0. */
bool tacit_trajectory_start(tacit_trajectory_t *walk, tacit_rng_t *rng);
/* From theta as it is; the metric is the curvature there, and again at ends of windows of warm-up. */
void tacit_trajectory_start_at(tacit_trajectory_t *walk);
/* The density has changed. */
void tacit_trajectory_refresh(tacit_trajectory_t *walk);
/* One trajectory; its probability of acceptance. */
double tacit_trajectory_step(tacit_trajectory_t *walk, tacit_rng_t *rng);
/* After a step of warm-up, of iteration i of n. */
void tacit_trajectory_tune(tacit_trajectory_t *walk, double accept, size_t i, size_t n);

/* ---- population.c: chains ---- */

typedef struct tacit_latent tacit_latent_t;

typedef struct tacit_population_chain {
  const struct tacit_population_run *run;
  tacit_rng_t *rng;
  tacit_law_t *law;       /* cells; else NULL */
  tacit_latent_t *latent; /* records drawn along; else NULL */
  tacit_trajectory_t walk;
  double *counts, *log_p, *trial_log_p; /* (n_cells) */
  double *sums;                         /* (n_values): of the cells' entries times their counts */
  double n;
  size_t n_not_one; /* evaluations where the density did not integrate to 1 */
  double worst;     /* the total of the last of them */
  bool has_no_number;
  tacit_status_t status;
  tacit_error_t err;
  size_t iteration, n_saved;
  double path_accept;
  double n_proposed, n_accepted, min_log_ratio; /* records */
  bool is_complete;
} tacit_population_chain_t;

typedef struct tacit_population_run {
  const struct tacit_population *population;
  const tacit_augment_settings_t *settings;
  const tacit_noisy_t *published;
  tacit_augment_method_t method; /* MARGINAL: cells; GIBBS: records drawn along */
  tacit_cells_t cells;           /* GIBBS: no more than its n_values and n_entries */
  tacit_noise_law_t *laws; /* (n_statistics + 1), the last of n */
  uint32_t *law_of;        /* (n_values) */
  double *values;          /* (n_values) */
  size_t n_laws;
  double n_records;        /* 0: unknown */
  bool of_n;
  tacit_draws_t *draws;
  tacit_population_chain_t *chains;
  size_t round_end; /* iterations that every chain has, or is about to have */
} tacit_population_run_t;

/* latent.c: the same with records of their own. */
TACIT_MUST_USE tacit_status_t tacit_latent_new(tacit_population_chain_t *chain, tacit_error_t *err);
void tacit_latent_free(tacit_latent_t *latent);
tacit_population_room_t *tacit_latent_room(const tacit_latent_t *latent);
/* Of theta given the records: a tacit_trajectory_density. */
double tacit_latent_density(void *chain, const double *theta, double *grad);
TACIT_MUST_USE tacit_status_t tacit_latent_begin(tacit_population_chain_t *chain);
TACIT_MUST_USE tacit_status_t tacit_latent_step(tacit_population_chain_t *chain, double *accept);

/* counts.c: every cell with another one, and alone where n is unknown, given the log_p of cells. */
void tacit_counts_sweep(tacit_population_chain_t *chain);

#endif
