/* Records drawn at random, packed into blocks of 16. */
#ifndef TACIT_CURATOR_GATHER_H
#define TACIT_CURATOR_GATHER_H

#include "curator/curator_internal.h"

/* One thread's block. Records are asked for by tacit_gather_add and copied by tacit_gather_fill. */
typedef struct tacit_gather {
  const tacit_curator_t *curator;
  const float *blocks; /* of all records */
  float *block;       /* shape (n_columns, 16) */
  float norms[16];    /* NaN in the lanes not filled */
  size_t records[16]; /* asked for */
  size_t n;           /* how many */
} tacit_gather_t;

/* What minibatch releases keep between calls, made at the first. */
struct tacit_minibatch {
  tacit_gather_t *gathers; /* shape (n_threads) */
  uint64_t *mask;          /* of the records of all ranks: shape ((n_records + 63) / 64) */
};

/* TACIT_ERR_STATE without a source of secret randomness or where units have several records. */
TACIT_MUST_USE tacit_status_t tacit_minibatch_open(tacit_curator_t *curator, tacit_error_t *err);
void tacit_minibatch_free(struct tacit_minibatch *minibatch, size_t n_threads);

/* Ask for a record, at most 16: its memory is on the way while others are asked for. */
void tacit_gather_add(tacit_gather_t *gather, size_t record);
/* Copy the records asked for, and ask for none; returns how many lanes are filled. */
size_t tacit_gather_fill(tacit_gather_t *gather);

#endif
