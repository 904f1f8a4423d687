/* Whether two programs say the same of records: what was released given one of them can then be read by the
 * other, whose prior may differ. */
#include <sodium.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "program/compiled.h"
#include "program/language.h"

enum { DIGEST = 16 };

typedef struct digest {
  unsigned char bytes[DIGEST];
} digest_t;

/* Of every node what it means, by that of its operands, which stand before it; NULL: out of memory. */
typedef struct digests {
  const tacit_graph_t *graph;
  digest_t *of; /* (n_nodes) */
} digests_t;

typedef crypto_generichash_state state_t;

static void put(state_t *state, const void *bytes, size_t n) {
  (void)crypto_generichash_update(state, bytes, n);
}

static void put_node(state_t *state, const digests_t *d, tacit_node_t node) {
  put(state, d->of[node].bytes, DIGEST);
}

static void put_list(state_t *state, const digests_t *d, size_t at, size_t n) {
  for (size_t i = 0; i < n; i++) {
    put_node(state, d, d->graph->lists[at + i]);
  }
}

static void put_column(state_t *state, const tacit_graph_column_t *column) {
  const double numbers[] = {column->offset, column->level, column->lower, column->upper, column->is_integer};
  put(state, column->source, strlen(column->source) + 1);
  put(state, numbers, sizeof numbers);
}

/* Operands of what commutes stand in the order in which their nodes were made, which other statements change.
 */
static void put_operands(state_t *state, const digests_t *d, const tacit_graph_node_t *n) {
  unsigned arity = tacit_op_arity((tacit_op_t)n->op);
  tacit_node_t operand[3] = {n->a, n->b, n->c};
  bool commutes = n->op == TACIT_OP_ADD || n->op == TACIT_OP_MUL || n->op == TACIT_OP_EQUAL;
  if (commutes && memcmp(d->of[n->a].bytes, d->of[n->b].bytes, DIGEST) > 0) {
    operand[0] = n->b;
    operand[1] = n->a;
  }
  for (unsigned i = 0; i < arity; i++) {
    put_node(state, d, operand[i]);
  }
}

static digest_t digest_of(const digests_t *d, const tacit_graph_node_t *n) {
  state_t state;
  digest_t digest;
  (void)crypto_generichash_init(&state, NULL, 0, DIGEST);
  put(&state, &n->op, sizeof n->op);
  if (n->op == TACIT_OP_CONSTANT) {
    put(&state, &n->value, sizeof n->value);
  } else if (n->op == TACIT_OP_COLUMN) {
    put_column(&state, &d->graph->columns[n->a]);
  } else if (n->op == TACIT_OP_PARAMETER) {
    put(&state, &n->a, sizeof n->a);
  } else if (n->op == TACIT_OP_DOT) {
    put_list(&state, d, n->a, n->c);
    put_list(&state, d, n->b, n->c);
  } else if (n->op == TACIT_OP_LOOKUP) {
    put(&state, &n->value, sizeof n->value);
    put_node(&state, d, n->a);
    put_list(&state, d, n->b, n->c);
  } else {
    put_operands(&state, d, n);
  }
  (void)crypto_generichash_final(&state, digest.bytes, DIGEST);
  return digest;
}

static bool digest_all(digests_t *d, const tacit_graph_t *graph) {
  *d = (digests_t){graph, tacit_alloc_zero(graph->n_nodes, sizeof *d->of)};
  for (tacit_node_t i = 1; d->of != NULL && i < graph->n_nodes; i++) {
    d->of[i] = digest_of(d, tacit_graph_at(graph, i));
  }
  return d->of != NULL;
}

static bool are_same(const digests_t *a, tacit_node_t of_a, const digests_t *b, tacit_node_t of_b) {
  return memcmp(a->of[of_a].bytes, b->of[of_b].bytes, DIGEST) == 0;
}

/* How outcomes arise. */
static bool have_same_outcomes(const digests_t *a, const digests_t *b) {
  const tacit_graph_response_t *x = &a->graph->response, *y = &b->graph->response;
  bool same = a->graph->n_responses == b->graph->n_responses &&
              strcmp(x->distribution, y->distribution) == 0 && x->n_args == y->n_args &&
              are_same(a, x->value, b, y->value) && are_same(a, x->density, b, y->density) &&
              are_same(a, x->seen, b, y->seen) &&
              a->graph->is_followed_to_bound == b->graph->is_followed_to_bound;
  for (size_t i = 0; same && i < x->n_args; i++) {
    same = are_same(a, x->args[i], b, y->args[i]);
  }
  return same;
}

/* The packed columns, and the quantities of the schema that they are made from: releases are about them in
 * their order. */
static bool have_same_columns(const tacit_compiled_t *p, const digests_t *a, const tacit_compiled_t *q,
                              const digests_t *b) {
  bool same = p->layout.n_columns == q->layout.n_columns && p->n_sources == q->n_sources;
  for (size_t j = 0; same && j < p->layout.n_columns; j++) {
    same = are_same(a, p->layout.columns[j], b, q->layout.columns[j]);
  }
  for (size_t s = 0; same && s < p->n_sources; s++) {
    same = strcmp(p->sources[s], q->sources[s]) == 0;
  }
  return same;
}

static tacit_status_t compare(const tacit_compiled_t *p, const digests_t *a, const tacit_compiled_t *q,
                              const digests_t *b, tacit_error_t *err) {
  const char *what = p->graph->n_parameters != q->graph->n_parameters  ? "other parameters"
                     : !are_same(a, p->record_root, b, q->record_root) ? "another likelihood of a record"
                     : !have_same_outcomes(a, b)                       ? "another distribution of the outcome"
                     : !have_same_columns(p, a, q, b)                  ? "the columns in another order"
                                                                       : NULL;
  return what == NULL ? TACIT_OK
                      : tacit_error_set(err, TACIT_ERR_DATA, "program",
                                        "the programs are not the same but for the prior: one has %s", what);
}

tacit_status_t tacit_program_compare_records(const tacit_program_t *a, const tacit_program_t *b,
                                             tacit_error_t *err) {
  digests_t of_a, of_b = {0};
  bool ok = digest_all(&of_a, a->compiled->graph) && digest_all(&of_b, b->compiled->graph);
  tacit_status_t status = ok ? compare(a->compiled, &of_a, b->compiled, &of_b, err) : tacit_error_memory(err);
  tacit_free(of_a.of);
  tacit_free(of_b.of);
  return status;
}
