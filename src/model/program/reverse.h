/* Derivatives, as nodes of the same graph. */
#ifndef TACIT_PROGRAM_REVERSE_H
#define TACIT_PROGRAM_REVERSE_H

#include "program/graph.h"
#include "tacit/data.h"

/* A part of a gradient: the derivative by some parameters is a row, times what a record says. */
typedef struct tacit_slope {
  tacit_piece_kind_t kind;
  tacit_node_t row;
  size_t parameter;   /* the first */
  size_t n, stride;   /* linear: features; gather: parameters, and how far one is from the next */
  uint32_t data;      /* linear: place in ->lists of the n features */
  tacit_node_t index; /* gather: of whole numbers */
  double first;       /* its value for the first parameter */
} tacit_slope_t;

typedef struct tacit_gradient {
  tacit_slope_t *slopes; /* no two of the same parameter */
  size_t n_slopes, capacity;
} tacit_gradient_t;

/*
 * The gradient of a node by all parameters; those that are not named have derivative 0. Derivatives of the
 * branch of a condition that is not taken count as 0 whatever they are: they are masked where they meet a
 * parameter, not where the branches part, so that 0 is never multiplied by an infinity.
 */
TACIT_MUST_USE tacit_status_t tacit_reverse(tacit_graph_t *graph, tacit_node_t root,
                                            tacit_gradient_t *gradient, tacit_error_t *err);
void tacit_gradient_clear(tacit_gradient_t *gradient);

#endif
