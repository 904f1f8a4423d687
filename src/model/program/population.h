/* A population as it is made and run. Not installed. */
#ifndef TACIT_PROGRAM_POPULATION_H
#define TACIT_PROGRAM_POPULATION_H

#include "program/arena.h"
#include "program/code.h"
#include "program/graph_internal.h"
#include "program/lower.h"
#include "program/program.h"

/* The prior and log f, followed by derivatives by the parameters that they depend on; marks; what is
 * reported. */
typedef enum tacit_population_role {
  TACIT_POPULATION_LOG_LIK,
  TACIT_POPULATION_GRAD,
  TACIT_POPULATION_MARKS,
  TACIT_POPULATION_PRIOR,
  TACIT_POPULATION_REPORT,
  TACIT_POPULATION_ROLES
} tacit_population_role_t;

/* A number of the record from its base number, given those made before it. */
typedef struct tacit_population_draw {
  uint32_t column;
  bool is_integer, is_normal; /* is_normal: the base number is standard normal, else uniform */
  tacit_code_t make, unmake;  /* whole numbers: make is the log probability */
} tacit_population_draw_t;

struct tacit_population {
  tacit_arena_t arena;
  tacit_graph_t *graph;
  tacit_population_column_t *columns; /* as many as the graph's, in its order */
  tacit_population_statistic_t *statistics;
  size_t n_statistics, n_marks;
  tacit_node_t *marks; /* (n_marks) */
  uint8_t *needed;     /* (n_nodes): what the marks are computed from */
  tacit_code_t codes[TACIT_POPULATION_ROLES];
  size_t *slopes, *prior_slopes; /* the parameters that outputs 1, 2, .. are the derivatives by */
  size_t n_slopes, n_prior_slopes;
  size_t n_out, n_registers;      /* most of a code */
  tacit_population_draw_t *draws; /* in the order in which they are made */
  size_t n_draws;
  const char *not_drawn; /* why records cannot be drawn, or NULL */
};

struct tacit_population_workspace {
  const tacit_population_t *population;
  double *inputs; /* (n_columns + n_parameters, 16) */
  double *out;    /* (n_out, 16) */
  double *ranges; /* (n_nodes, 2) */
  void *registers;
  bool is_not_one; /* probabilities of whole numbers did not add up to 1 */
};

/* Codes of a graph that is complete. population.c */
TACIT_MUST_USE tacit_status_t tacit_population_build(tacit_population_t *population, tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_population_code(tacit_population_t *population, tacit_code_t *code,
                                                    size_t n, const tacit_node_t *roots, tacit_error_t *err);
/* Inputs of sixteen records; theta or x may be NULL where a code does not look at them. Outputs go to
 * workspace->out. */
void tacit_population_set(tacit_population_workspace_t *workspace, const double *theta, const double *x);
void tacit_population_execute(tacit_population_workspace_t *workspace, const tacit_code_t *code);

/* Of the statements that say how records arise, in any order. population_draw.c */
TACIT_MUST_USE tacit_status_t tacit_population_build_draws(tacit_population_t *population, size_t n,
                                                           tacit_lowered_draw_t *const *all,
                                                           tacit_error_t *err);

#endif
