/* The derivative of one operation. */
#ifndef TACIT_PROGRAM_DERIVATIVE_H
#define TACIT_PROGRAM_DERIVATIVE_H

#include "program/graph.h"

/* What a node's adjoint is: value where mask is true (NONE: always), else 0. */
typedef struct tacit_adjoint {
  tacit_node_t value, mask;
} tacit_adjoint_t;

/*
 * `adjoint` times the derivative of an arithmetic node by operand i. *at may be set to another node that the
 * operand is a function of, when the derivative is by that one.
 */
tacit_node_t tacit_derivative(tacit_graph_t *graph, tacit_node_t node, unsigned i, tacit_node_t adjoint,
                              tacit_node_t *at);

#endif
