/* The nodes of a graph, for the engine's own files. */
#ifndef TACIT_PROGRAM_GRAPH_INTERNAL_H
#define TACIT_PROGRAM_GRAPH_INTERNAL_H

#include "program/graph.h"

enum {
  TACIT_GRAPH_MAX_TABLE = 4097, /* values of a column whose functions are looked up */
  TACIT_GRAPH_MAX_PUSH = 64     /* elements of a lookup that operations are moved into */
};

typedef struct tacit_graph_node {
  uint8_t op, rate;
  /*
   * Operands; of a list operation: DOT: a, b the places in ->lists of data and of parameters, c their number;
   * LOOKUP: a the index, b the place of c elements in ->lists, element i for the index `value` + i. COLUMN,
   * PARAMETER: a the number.
   */
  uint32_t a, b, c;
  double value; /* of a constant; the first index of a lookup */
} tacit_graph_node_t;

typedef struct tacit_graph_parameter {
  tacit_node_t node;
  char *name; /* what was declared, for messages */
} tacit_graph_parameter_t;

typedef struct tacit_graph_reported {
  char *label, *name;
  tacit_node_t value;
} tacit_graph_reported_t;

struct tacit_graph {
  tacit_graph_node_t *nodes; /* [0] is no node */
  size_t n_nodes, node_capacity, limit;
  uint32_t *lists;
  size_t n_lists, list_capacity;
  uint32_t *slots; /* hash table of nodes, n_slots a power of two; 0 is empty */
  size_t n_slots;
  tacit_graph_column_t *columns;
  size_t n_columns, column_capacity;
  size_t n_parameters;
  tacit_graph_parameter_t *parameters;
  size_t parameter_capacity;
  tacit_graph_reported_t *reported;
  size_t n_reported, reported_capacity;
  tacit_node_t record, prior; /* sums so far */
  tacit_graph_response_t response;
  size_t n_responses;
  bool keeps_responses;      /* packed records hold what responses are simulated from */
  bool keeps_columns;        /* and all columns as they are */
  bool is_followed_to_bound; /* a response that is not seen was followed up to the upper bound of its column,
                                publicly */
  tacit_status_t status;
  tacit_error_t error;
};

/* Set the status if nothing went wrong before; always TACIT_NODE_NONE. */
tacit_node_t tacit_graph_refuse(tacit_graph_t *graph, tacit_status_t status, const char *message);
/* Make *p room for n + 1 things of a size. */
bool tacit_graph_grow(tacit_graph_t *graph, void *p, size_t n, size_t *capacity, size_t size);
/* The node as it is, without simplification. */
tacit_node_t tacit_graph_intern(tacit_graph_t *graph, tacit_graph_node_t node);
/* The lookup as it is; elements, shape (n), at most at parameter rate. */
tacit_node_t tacit_graph_intern_lookup(tacit_graph_t *graph, tacit_node_t index, double first, size_t n,
                                       const tacit_node_t *elements);
/* An operation moved into the lookups among its operands, or TACIT_NODE_NONE where that is of no use (without
 * an error). */
tacit_node_t tacit_graph_push(tacit_graph_t *graph, tacit_op_t op, const tacit_node_t operand[3]);
/* The number of the first of n parameters in arithmetic progression (step *stride >= 1), or -1. */
int64_t tacit_graph_run(const tacit_graph_t *graph, const uint32_t *elements, size_t n, size_t *stride);

/* The same value without dot products and lookups, whose operands become sums, and choices of one element by
 * halving. */
tacit_node_t tacit_graph_expand(tacit_graph_t *graph, tacit_node_t root);
/* Mark what `root` is computed from, itself included; needed: (n_nodes). */
void tacit_graph_mark(const tacit_graph_t *graph, tacit_node_t root, uint8_t *needed);
/* is_infinite (n) of nodes below n: +-inf where the program says so, which is computed for each record and
 * not packed. */
void tacit_graph_infinite(const tacit_graph_t *graph, size_t n, uint8_t *is_infinite);
/* Intervals, (n_nodes, 2), of what root is computed from, each column anywhere within its bounds; false: no
 * memory. */
bool tacit_graph_bounds(const tacit_graph_t *graph, tacit_node_t root, double *range);
/* The same value, whose derived columns are 0 in branches that are not taken where they may not be finite. */
tacit_node_t tacit_graph_guard(tacit_graph_t *graph, tacit_node_t root);
/* What is left of a sum without the terms that are free of parameters; NONE: nothing. */
tacit_node_t tacit_graph_dependent(tacit_graph_t *graph, tacit_node_t sum);

/* A record and parameters for which a term is not finite: what they are by name. */
enum { TACIT_NOT_FINITE_NAMES = 3 };
typedef struct tacit_not_finite {
  tacit_op_t op; /* which operation left its domain, or the condition that chose an infinity */
  size_t n_columns, n_parameters;
  uint32_t columns[TACIT_NOT_FINITE_NAMES];
  double values[TACIT_NOT_FINITE_NAMES];
  const char *parameters[TACIT_NOT_FINITE_NAMES]; /* of the graph; none: it is so for all */
  bool has_bound, is_lower, is_closed; /* of one column: a lower or upper `bound` that would do, or, not
                                          closed, a number beyond it */
  double bound;
} tacit_not_finite_t;
/* Is there one within the bounds, as far as a search finds? Of what depends on parameters. */
bool tacit_graph_find_not_finite(tacit_graph_t *graph, tacit_node_t term, tacit_not_finite_t *found);
/* y = a x + b of a column x. */
typedef struct tacit_affine {
  uint32_t column;
  double a, b;
} tacit_affine_t;
/* Is the node of this form, a not 0? */
bool tacit_graph_affine(const tacit_graph_t *graph, tacit_node_t node, tacit_affine_t *found);

/*
 * Intervals, (n_nodes, 2), of what is needed, where each column is anywhere in its interval, box: (n_columns,
 * 2). Rounded outwards; sums of whole numbers are exact.
 */
void tacit_graph_range(const tacit_graph_t *graph, const uint8_t *needed, const double *box, double *of);

/* Value of an operation: the machine's portable lanes, so that it is the same on every processor. */
double tacit_op_value(tacit_op_t op, double a, double b, double c);

static inline const tacit_graph_node_t *tacit_graph_at(const tacit_graph_t *graph, tacit_node_t node) {
  return &graph->nodes[node];
}

#endif
