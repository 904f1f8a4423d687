/*
 * A compiled record program: what tacit_graph_t says, as a model for curators and samplers. Public, but for
 * what it is called with.
 */
#ifndef TACIT_PROGRAM_COMPILE_H
#define TACIT_PROGRAM_COMPILE_H

#include "formula/model.h"
#include "program/graph.h"
#include "tacit/data.h"

typedef struct tacit_compiled tacit_compiled_t;

/*
 * Differentiate, bound and translate a graph, which is the program's from then on, also on failure. `name` is
 * for messages; copied. TACIT_ERR_ARGUMENT: the graph's own error, or no parameter, no record term that
 * depends on parameters, nothing reported.
 */
TACIT_MUST_USE tacit_status_t tacit_compile(tacit_compiled_t **program, tacit_graph_t *graph,
                                            const char *name, tacit_error_t *err);
void tacit_compiled_free(tacit_compiled_t *program);

/* The model; it borrows the program. Its records have the columns that tacit_compiled_pack() writes. */
tacit_model_t tacit_compiled_model(const tacit_compiled_t *program);

/* As tacit_program_packed(). */
size_t tacit_compiled_packed(const tacit_compiled_t *program, const char *source, size_t most,
                             size_t *columns, double *factors, double *offset);

/*
 * Pack part `part` of n_parts of a table's rows, as tacit_design_pack_part() does: columns by name, moved
 * into their bounds, and what is derived from them, once. Units of privacy are carried over.
 * TACIT_ERR_UNKNOWN: the table was read without a column.
 */
TACIT_MUST_USE tacit_status_t tacit_compiled_pack_part(tacit_records_t **records,
                                                       const tacit_compiled_t *program,
                                                       const tacit_table_t *table, size_t part,
                                                       size_t n_parts, size_t n_threads, const char *scratch,
                                                       tacit_error_t *err);
/*
 * The packed columns, shape (n_columns of the model, n), of n records whose columns, as the graph declares
 * them, are x, shape (n_columns of the graph, n).
 */
void tacit_compiled_derive(const tacit_compiled_t *program, size_t n, const double *x, double *packed);

/* ---- bounds (bound.c) ---- */

/*
 * sup over records that the schema allows and parameters of ||gradient||, rounded outwards; INFINITY where
 * none was found. of_piece, shape (n_pieces) or NULL: sup of each piece's norm.
 */
double tacit_compiled_grad_bound(const tacit_compiled_t *program, double *of_piece);

#endif
