/* From a graph's nodes to a straight program of the machine. */
#ifndef TACIT_PROGRAM_CODE_H
#define TACIT_PROGRAM_CODE_H

#include "program/machine.h"

/* How a node comes to the program; what is not given is computed from its operands. */
typedef enum tacit_leaf_kind {
  TACIT_LEAF_COMPUTED = 0,
  TACIT_LEAF_UNIFORM,
  TACIT_LEAF_COLUMN,
  TACIT_LEAF_TABLE
} tacit_leaf_kind_t;

typedef struct tacit_leaf {
  tacit_leaf_kind_t kind;
  uint32_t number;    /* uniform or column */
  tacit_node_t index; /* table: what it is looked up by */
  uint32_t scalar, n; /* table: place and number of its entries */
  double first;       /* table: the index of its first entry */
} tacit_leaf_t;

/* Given by the caller: what a node is, the first column of a dot product, the first of its scalars. All must
 * be known for what is reached. */
typedef struct tacit_leaves {
  const void *user;
  tacit_leaf_t (*leaf)(const void *user, tacit_node_t node);
  uint32_t (*dot_column)(const void *user, tacit_node_t node);
  uint32_t (*dot_scalar)(const void *user, tacit_node_t node);
} tacit_leaves_t;

/* A program, for a machine of floats or of doubles, that writes roots[i] to output i. */
TACIT_MUST_USE tacit_status_t tacit_code_build(tacit_code_t *code, const tacit_graph_t *graph,
                                               const tacit_leaves_t *leaves, size_t n_roots,
                                               const tacit_node_t *roots, bool is_float, tacit_error_t *err);
/* Choose the steps of short operations (hold.c): before a program runs, last of all that makes it. */
void tacit_code_hold(tacit_code_t *code);
/*
 * Compute log(1 + e^a) and log(e^a + e^b) only as exactly as an output asks that is rounded to the grid of
 * ratios (docs/theory.md, 3): where together they move it by no more than four of them would (shorten.c). Of
 * doubles, with one output.
 */
TACIT_MUST_USE bool tacit_code_shorten(tacit_code_t *code);
void tacit_code_clear(tacit_code_t *code);

#endif
