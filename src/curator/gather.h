/* Records drawn at random, packed into blocks of 16. */
#ifndef TACIT_CURATOR_GATHER_H
#define TACIT_CURATOR_GATHER_H

#include "curator/curator_internal.h"

typedef struct tacit_gather {
  const tacit_curator_t *curator;
  float *block;    /* shape (n_columns, 16) */
  float norms[16]; /* NaN in the lanes not filled */
  size_t n;        /* lanes filled */
} tacit_gather_t;

/* What minibatch releases keep between calls, made at the first. */
struct tacit_minibatch {
  tacit_gather_t gather;
  uint64_t *mask; /* shape ((n_records + 63) / 64) */
};

/* TACIT_ERR_STATE without a source of secret randomness or where units have several records. */
TACIT_MUST_USE tacit_status_t tacit_minibatch_open(tacit_curator_t *curator, tacit_error_t *err);
void tacit_minibatch_free(struct tacit_minibatch *minibatch);

void tacit_gather_clear(tacit_gather_t *gather);
void tacit_gather_add(tacit_gather_t *gather, size_t record);

#endif
