/*
 * Some values of each record, for some parameter vectors: what depends on parameters alone is computed once a
 * pass, functions of one column of whole numbers are tables filled once a pass, and the rest runs over the
 * records.
 */
#ifndef TACIT_PROGRAM_KERNEL_H
#define TACIT_PROGRAM_KERNEL_H

#include "program/code.h"

/* ---- what is packed of a record ---- */

typedef struct tacit_layout {
  uint32_t *columns; /* node of each packed column, at data rate */
  size_t n_columns, capacity;
  size_t n_features; /* the first, which the longest dot product looks at */
} tacit_layout_t;

/* The packed column of a node; of n nodes that follow each other. SIZE_MAX: there is none. */
size_t tacit_layout_find(const tacit_layout_t *layout, size_t n, const uint32_t *nodes);
/* Make sure that the nodes are packed one after another. */
TACIT_MUST_USE bool tacit_layout_add(tacit_layout_t *layout, size_t n, const uint32_t *nodes);

/* ---- what is known of each node ---- */

/* Of all nodes of a graph: the one column of whole numbers that a value depends on of a record, and what it
 * costs to compute. */
typedef struct tacit_survey {
  tacit_node_t *column; /* NONE: no column; TACIT_MANY_COLUMNS */
  float *cost;
  uint8_t *is_infinite; /* may be an infinity of the program's own: not packed */
} tacit_survey_t;
#define TACIT_MANY_COLUMNS UINT32_MAX
TACIT_MUST_USE bool tacit_survey_init(tacit_survey_t *survey, const tacit_graph_t *graph);
void tacit_survey_clear(tacit_survey_t *survey);

/* ---- kernels ---- */

/* Tables of one column. */
typedef struct tacit_fill {
  tacit_node_t column;
  double first;
  size_t n_values;
  tacit_node_t *nodes; /* one a table */
  uint32_t *scalars;   /* where its entries go */
  size_t n_tables, capacity;
  tacit_code_t code;
} tacit_fill_t;

typedef struct tacit_kernel {
  const tacit_graph_t *graph;
  bool is_double;
  bool is_data;         /* derives packed columns from the graph's */
  bool is_on_grid;      /* its one root is rounded to the grid of ratios */
  tacit_leaf_t *leaves; /* (n_nodes) while it is built */
  uint32_t *dot_scalar; /* (n_nodes) while it is built */
  const tacit_layout_t *layout;
  tacit_node_t *roots;
  size_t n_roots;
  tacit_node_t *uniforms; /* nodes that are computed once a pass */
  size_t n_uniforms, uniform_capacity;
  tacit_node_t *scalars; /* where a scalar comes from; NONE: a table's */
  size_t n_scalars, scalar_capacity;
  uint32_t *inputs; /* parameters that uniforms are computed from */
  size_t n_inputs, input_capacity;
  tacit_fill_t *fills;
  size_t n_fills, fill_capacity;
  uint32_t *scalar_uniform; /* (n_scalars): the uniform a scalar is, or UINT32_MAX */
  tacit_code_t once, each;
} tacit_kernel_t;

/*
 * Find what the roots need; columns they need are added to the layout. A kernel that derives data (is_data)
 * is given the graph's own columns instead: of the layout it looks at their number alone.
 */
TACIT_MUST_USE tacit_status_t tacit_kernel_collect(tacit_kernel_t *kernel, const tacit_graph_t *graph,
                                                   const tacit_survey_t *survey, tacit_layout_t *layout,
                                                   bool is_double, bool is_data, size_t n_roots,
                                                   const tacit_node_t *roots, tacit_error_t *err);
/* Write the programs, once the layout is complete. */
TACIT_MUST_USE tacit_status_t tacit_kernel_build(tacit_kernel_t *kernel, tacit_error_t *err);
void tacit_kernel_clear(tacit_kernel_t *kernel);

/* What a thread needs to run a kernel on n_theta parameter vectors; NULL: out of memory. */
typedef struct tacit_work tacit_work_t;
tacit_work_t *tacit_work_new(const tacit_kernel_t *kernel, size_t n_theta);
void tacit_work_free(tacit_work_t *work);
/* Compute what depends on parameters alone, unless it was computed for the same ones last time. theta:
 * (n_theta, dim). */
void tacit_work_prepare(tacit_work_t *work, size_t n_theta, size_t dim, const double *theta);
/* Whether that is done already, for numbers that are doubles or floats (the other is NULL). */
bool tacit_work_is_prepared(const tacit_work_t *work, size_t n_theta, size_t dim, const double *theta,
                            const float *theta_float);
/*
 * Output o of block b for parameter vector k goes to out + b out_stride + (k n_roots + o) 16, floats or
 * doubles as the kernel is; the blocks have the layout's columns. Prepared for at least these parameter
 * vectors.
 */
void tacit_work_run(tacit_work_t *work, const float *block, size_t n_blocks, size_t n_theta,
                    size_t out_stride, void *out);
/* Of the first parameter vector prepared: (n_uniforms, 16) and (n_scalars); for benchmarks. */
void *tacit_work_uniforms(const tacit_work_t *work);
void *tacit_work_scalars(const tacit_work_t *work);

#endif
