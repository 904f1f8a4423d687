/* What centred scores of outcomes that are simulated (centred.c) and of censored ones (followed.c) share. */
#ifndef TACIT_CURATOR_CENTRED_H
#define TACIT_CURATOR_CENTRED_H

#include "curator/rows.h"

/* Floats of blocks and gradients, aligned within `work`, after weights, whitened scores and their lengths. */
typedef struct tacit_centred_workspace {
  double *weights, *scores,
      *norms;    /* (16 n_blocks), (16 n_blocks, dim), (16 n_blocks): NaN where a score is no finite number */
  double *slope; /* (dim, dim) */
  float *blocks, *gradient; /* (n_blocks, n_columns, 16), (dim, 16) */
} tacit_centred_workspace_t;

tacit_centred_workspace_t tacit_centred_workspace(const tacit_record_model_t *model,
                                                  const tacit_centred_point_t *point, double *work);
/* a (d, d), positive semi-definite <- its lower factor, a column of zeros where nothing is left. */
void tacit_centred_factor(size_t d, double *a);
/* scores (n_lanes, dim) <- A s of the first lanes of a block, norms <- how long they are. */
void tacit_centred_whiten(const tacit_record_model_t *model, const tacit_centred_point_t *point,
                          const float *block, size_t n_lanes, float *gradient, double *scores, double *norms);

/*
 * Of a record whose outcome may be censored at a time of which nothing is known (followed.c): score (dim) <-
 * v, or NULL; slope (dim, dim) <- its J, or NULL; zero where they are no finite numbers. distribution (dim):
 * score
 * <- what is expected of it by the model there, followed as long; NULL: its own.
 */
void tacit_followed_record(const tacit_record_model_t *model, const tacit_centred_point_t *point,
                           const double *distribution, const float *record, double *work, double *slope,
                           double *score);

#endif
