/* Cliques, margins and effects, and what is computed with them. Not installed. */
#ifndef TACIT_TABLES_INTERNAL_H
#define TACIT_TABLES_INTERNAL_H

#include <math.h>

#include "tables/tables.h"

/* Cells of a set of columns are numbered with its last column fastest; sets of columns are bits. */

typedef struct tacit_clique {
  uint32_t columns, separator; /* shared with the parent; root: none */
  size_t n_cells, first;       /* first of its cells among those of all cliques */
  size_t n_separator, first_separator;
  size_t parent;          /* a clique before this one */
  uint32_t *to_separator; /* (n_cells): the separator's cell */
  uint32_t *from_parent;  /* (the parent's n_cells): the same of the parent's cells; root: NULL */
} tacit_clique_t;

typedef struct tacit_margin {
  uint32_t columns;
  size_t n_cells, first, clique;
  uint32_t *to_margin; /* (cells of the clique): the margin's cell */
} tacit_margin_t;

typedef struct tacit_effect {
  uint32_t columns;
  size_t cell; /* of its columns */
} tacit_effect_t;

/* A sparse matrix from effects to the margins' cells, by rows: cells. */
typedef struct tacit_sparse {
  size_t *begin; /* (n_cells + 1) */
  uint32_t *effect;
  double *value;
} tacit_sparse_t;

struct tacit_tables {
  size_t n_columns, n_levels[TACIT_TABLES_MAX_COLUMNS];
  tacit_clique_t *cliques; /* parents before children, the root first */
  size_t n_cliques, n_clique_cells, n_separator_cells, largest;
  tacit_margin_t *margins;
  size_t n_margins, n_cells;
  tacit_effect_t *effects;
  size_t n_effects;
  tacit_sparse_t loads;  /* T: log potentials of cells are T theta; each effect is in one margin alone */
  tacit_sparse_t counts; /* S: expected counts are S s + n 1{all first levels}, s being those of the effects;
                            by inclusion and exclusion */
};

static inline bool tacit_tables_has(uint32_t columns, size_t j) { return (columns >> j & 1) != 0; }

/* ---- graph.c ---- */

double tacit_tables_count(const tacit_tables_t *tables, uint32_t columns);
/* to (cells of `from`) <- the cell of `columns`, a part of `from`. */
void tacit_tables_map(const tacit_tables_t *tables, uint32_t from, uint32_t columns, uint32_t *to);
TACIT_MUST_USE tacit_status_t tacit_tables_grow_tree(tacit_tables_t *tables, const tacit_margins_t *margins,
                                                     tacit_error_t *err);

/* ---- effects.c ---- */

TACIT_MUST_USE tacit_status_t tacit_tables_find_effects(tacit_tables_t *tables, tacit_error_t *err);
/* Cells of `columns` among those whose levels are `from` or more: levels (n_columns) of one, others
 * untouched; and back. */
void tacit_tables_split(const tacit_tables_t *tables, uint32_t columns, size_t cell, size_t from,
                        size_t *levels);
size_t tacit_tables_join(const tacit_tables_t *tables, uint32_t columns, const size_t *levels, size_t from);
/* cells <- matrix times effects; effects <- its transpose times cells. */
void tacit_sparse_times(const tacit_sparse_t *matrix, size_t n_cells, const double *effects, double *cells);
void tacit_sparse_turned(const tacit_sparse_t *matrix, size_t n_cells, size_t n_effects, const double *cells,
                         double *effects);

/* ---- product.c: sums over cliques at a point ---- */

typedef struct tacit_tables_workspace {
  double *given, *p; /* (n_clique_cells): of a clique's cell given the separator's; its own */
  double *separator; /* (n_separator_cells): probabilities */
  double *tangent, *tangent_separator;
  double *message;     /* (n_separator_cells) */
  double *cells;       /* (n_cells): probabilities of the margins' cells */
  double *mean;        /* (n_effects): of the effects */
  double *load, *move; /* (n_cells) */
  double log_partition;
} tacit_tables_workspace_t;

TACIT_MUST_USE tacit_status_t tacit_tables_workspace_init(tacit_tables_workspace_t *workspace,
                                                          const tacit_tables_t *tables, tacit_error_t *err);
void tacit_tables_workspace_clear(tacit_tables_workspace_t *workspace);
/* ->log_partition, ->cells, ->mean at theta. */
void tacit_tables_product(const tacit_tables_t *tables, tacit_tables_workspace_t *workspace,
                          const double *theta);
/* out (n_effects) <- covariance of the effects' indicators times v, at the point of the last product. */
void tacit_tables_covariance_times(const tacit_tables_t *tables, tacit_tables_workspace_t *workspace,
                                   const double *v, double *out);
/* out (n_effects, n_effects) <- that covariance; unit (n_effects): workspace. */
void tacit_tables_covariance(const tacit_tables_t *tables, tacit_tables_workspace_t *workspace, double *unit,
                             double *out);

/* ---- matrix.c: (n, n), row by row ---- */

/* The lower triangle <- Cholesky factor; false where it is not positive definite. */
bool tacit_matrix_factorise(size_t n, double *matrix);
/* x <- factor^-1 x; x <- factor^-T x. */
void tacit_matrix_forward(size_t n, const double *factor, double *x);
void tacit_matrix_backward(size_t n, const double *factor, double *x);
/* out <- (factor factor')^-1, symmetric. */
void tacit_matrix_invert(size_t n, const double *factor, double *out);
double tacit_matrix_log_determinant(size_t n, const double *factor);
double tacit_matrix_dot(size_t n, const double *a, const double *b);
/* out <- matrix x. */
void tacit_matrix_times(size_t n, const double *matrix, const double *x, double *out);

/* ---- posterior.c ---- */

/*
 * theta in the coordinates phi of the fitted counts: theta = phi - S' W (y - n p(phi)). A chain moves in z,
 * (phi, n) = centre + spread z.
 */
typedef struct tacit_tables_target {
  const tacit_tables_t *tables;
  const tacit_noisy_margins_t *release;
  size_t n_effects, dim; /* dim: and n, where it is unknown */
  double *weight;        /* (n_cells): 1 / variance of the noise */
  double *noise; /* (n_effects, n_effects): covariance of the noise in the effects' counts as the margins tell
                    them together */
  double *counts;          /* (n_effects): these counts, at n_start records */
  double *centre, *spread; /* (dim), (dim, dim) */
  double *slope;           /* (dim): of tacit_tables_determinant() in (phi, n) at the centre */
  double n_start, n_sd;    /* as the margins tell it, where it is unknown */
  double contradiction;    /* as in the findings */
  size_t n_sparse;
} tacit_tables_target_t;

/* A place where the density is evaluated: one for each chain. */
typedef struct tacit_tables_point {
  const tacit_tables_target_t *target;
  tacit_tables_workspace_t fitted, model; /* at phi, at theta */
  double *at, *in_at;                     /* (n_effects + 1): (phi, n); the gradient in them */
  double *theta, *grad, *effects;         /* (n_effects): theta, the gradient in it, workspace */
  double *cells;                          /* (n_cells) */
  double *matrix;                         /* (n_effects, n_effects) */
  double n;
} tacit_tables_point_t;

TACIT_MUST_USE tacit_status_t tacit_tables_point_init(tacit_tables_point_t *point,
                                                      const tacit_tables_target_t *target,
                                                      tacit_error_t *err);
void tacit_tables_point_clear(tacit_tables_point_t *point);
/* Log density at ->at, but for the determinant's; grad (dim) in (phi, n). Fills ->theta, ->grad and ->n. */
double tacit_tables_density_at(tacit_tables_point_t *point, double *grad);
/* ->matrix <- lower factor of noise + n Sigma(phi) at the point of the last evaluation; half the log of its
 * determinant. */
double tacit_tables_determinant(tacit_tables_point_t *point);
/* The same in z, of a tacit_trajectory_t: the determinant's slope at the centre, and then the rest of it. */
double tacit_tables_density(void *point, const double *z, double *grad);
double tacit_tables_rest(void *point, const double *z);

/* ---- mode.c ---- */

/* Find the mode, the spread about it, and what is wrong with the release. Clear also after failure. */
TACIT_MUST_USE tacit_status_t tacit_tables_target_init(tacit_tables_target_t *target,
                                                       const tacit_tables_t *tables,
                                                       const tacit_noisy_margins_t *release,
                                                       tacit_error_t *err);
void tacit_tables_target_clear(tacit_tables_target_t *target);

#endif
