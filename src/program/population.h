/* A population as it is made and run. Not installed. */
#ifndef TACIT_PROGRAM_POPULATION_H
#define TACIT_PROGRAM_POPULATION_H

#include "program/arena.h"
#include "program/code.h"
#include "program/graph_internal.h"
#include "tacit/program.h"

/* The prior and log f, followed by derivatives by the parameters that they depend on; marks; what is reported. */
typedef enum tacit_population_role { TACIT_POPULATION_LOG_LIK, TACIT_POPULATION_GRAD, TACIT_POPULATION_MARKS, TACIT_POPULATION_PRIOR, TACIT_POPULATION_REPORT, TACIT_POPULATION_ROLES } tacit_population_role_t;

struct tacit_population {
  tacit_arena_t arena;
  tacit_graph_t *graph;
  tacit_population_column_t *columns; /* as many as the graph's, in its order */
  tacit_population_statistic_t *statistics;
  size_t n_statistics, n_marks;
  tacit_node_t *marks;  /* (n_marks) */
  uint8_t *needed;      /* (n_nodes): what the marks are computed from */
  tacit_code_t codes[TACIT_POPULATION_ROLES];
  size_t *slopes, *prior_slopes; /* the parameters that outputs 1, 2, .. are the derivatives by */
  size_t n_slopes, n_prior_slopes;
  size_t n_out; /* most outputs of a code */
};

/* Codes of a graph that is complete. population.c */
TACIT_MUST_USE tacit_status_t tacit_population_build(tacit_population_t *population, tacit_error_t *err);

#endif
