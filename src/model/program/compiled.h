/* A compiled program, for the engine's own files. */
#ifndef TACIT_PROGRAM_COMPILED_H
#define TACIT_PROGRAM_COMPILED_H

#include <pthread.h>

#include "program/graph_internal.h"
#include "program/kernel.h"
#include "program/compile.h"
#include "program/reverse.h"

typedef enum tacit_role {
  TACIT_ROLE_LOG_LIK,
  TACIT_ROLE_ROWS,
  TACIT_ROLE_RESPONSE,
  TACIT_ROLE_PRIOR,
  TACIT_ROLE_REPORT,
  TACIT_ROLE_DATA,
  TACIT_ROLE_COUNT
} tacit_role_t;

/* What a thread works with. */
typedef struct tacit_workspace {
  tacit_work_t *work[TACIT_ROLE_COUNT];
  double *theta; /* (capacity, dim) */
  float *rows;   /* (capacity, n_rows, 16) */
  float *raw;    /* (n_columns of the graph, 16) */
  float *block;  /* (n packed columns, 16) */
  double *out;   /* outputs of what runs once: (most roots, 16) */
  size_t capacity;
  struct tacit_workspace *next;
} tacit_workspace_t;

/* Where other responses of a record come from (response.c). */
typedef struct tacit_response {
  const char *obstacle;                          /* why there are none; NULL: there are */
  const struct tacit_distribution *distribution; /* NULL: of whole numbers, all of which are gone through */
  tacit_affine_t value, seen;
  bool is_censored, is_at_random; /* at_random: at times of which nothing is known */
  size_t n_values;                /* of whole numbers */
  bool *is_derived;               /* (n packed columns): depends on the response */
  size_t *packed;                 /* (n columns of the graph): where it is packed, SIZE_MAX: it is not */
} tacit_response_t;

struct tacit_compiled {
  char *name;
  tacit_graph_t *graph;
  tacit_layout_t layout, raw; /* packed columns; the graph's own, of which only the number is used */
  tacit_kernel_t kernels[TACIT_ROLE_COUNT];
  tacit_gradient_t record_gradient, prior_gradient;
  tacit_node_t record_root;
  tacit_response_t response;
  tacit_piece_t *pieces;
  size_t n_pieces, n_rows;
  tacit_node_t *rows; /* (n_rows) */
  const char **sources;
  size_t n_sources;
  const char **labels, **names;
  double *unit_scale;
  double *row_bound;    /* (n_rows) */
  double *column_bound; /* (n_columns): sup |x| of a packed column */
  double grad_bound;
  pthread_key_t key;
  bool has_key;
  pthread_mutex_t lock; /* of the list of workspaces, and of the spare one */
  tacit_workspace_t *workspaces, *spare;
};

/*
 * Room for n_theta parameter vectors until it is given back: the calling thread's own, or, out of memory, the
 * spare one, which serves one vector at a time.
 */
tacit_workspace_t *tacit_workspace_take(const tacit_compiled_t *program, size_t n_theta, bool *is_spare);
void tacit_workspace_give_back(const tacit_compiled_t *program, bool is_spare);
tacit_workspace_t *tacit_workspace_new(const tacit_compiled_t *program, size_t n_theta);
void tacit_workspace_free(tacit_workspace_t *workspace);

/* bound.c: ->row_bound, ->column_bound, ->grad_bound. */
TACIT_MUST_USE tacit_status_t tacit_compiled_bound(tacit_compiled_t *program, tacit_error_t *err);

/* records.c: ->unit_scale. */
TACIT_MUST_USE tacit_status_t tacit_compiled_scale(tacit_compiled_t *program, tacit_error_t *err);

/*
 * response.c. Find out what other responses can be made from: packs what they need, and says what the kernel
 * of the response computes, roots (4), returning their number.
 */
TACIT_MUST_USE tacit_status_t tacit_response_prepare(tacit_compiled_t *program, size_t *n_roots,
                                                     tacit_node_t *roots, tacit_error_t *err);
/* Once the layout is complete. */
TACIT_MUST_USE tacit_status_t tacit_response_settle(tacit_compiled_t *program, tacit_error_t *err);
void tacit_response_clear(tacit_response_t *response);
void tacit_program_others(const void *ctx, const float *record, const double *theta, uint64_t seed, size_t n,
                          float *blocks, double *weights);
void tacit_program_hazards(const void *ctx, const float *record, const double *theta,
                           const double *distribution, uint64_t seed, size_t n, float *blocks,
                           double *weights);
void tacit_program_responses(const void *ctx, const float *record, const double *theta, uint64_t seed,
                             size_t n, double *values, bool *is_seen, double *weights);
void tacit_program_made_up(const void *ctx, uint64_t seed, size_t n, float *records);

/* evaluate.c: the functions of models. */
void tacit_program_log_lik(const void *ctx, const float *block, size_t n_theta, const double *theta,
                           double *out);
void tacit_program_log_lik_blocks(const void *ctx, const float *block, size_t n_blocks, size_t n_theta,
                                  const double *theta, double *out);
void tacit_program_grad(const void *ctx, const float *block, size_t n_theta, const float *theta, float *out);
void tacit_program_rows(const void *ctx, const float *block, size_t n_blocks, size_t n_theta,
                        const float *theta, float *out);
double tacit_program_ratio_bound(const void *ctx, const double *theta, const double *theta_prop);
void tacit_program_curvature_bound(const void *ctx, const double *theta, double *bound);
void tacit_program_curvature(const void *ctx, const double *x, const double *theta, double *weights);
double tacit_program_log_prior(const void *ctx, const double *theta, double *grad);
void tacit_program_report(const void *ctx, const double *theta, double *reported);

#endif
