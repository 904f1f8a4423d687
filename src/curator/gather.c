#include <math.h>
#include <string.h>

#include "curator/gather.h"

tacit_status_t tacit_minibatch_open(tacit_curator_t *curator, tacit_error_t *err) {
  if (curator->noise == NULL) {
    return tacit_error_set(err, TACIT_ERR_STATE, "curator",
                           "minibatches need a source of secret randomness: open the curator with one");
  }
  if (curator->unit_offsets != NULL) {
    return tacit_error_set(err, TACIT_ERR_STATE, "unit",
                           "minibatches are drawn by record, and here a unit has several: choose a method that uses all "
                           "records");
  }
  if (curator->minibatch != NULL) {
    return TACIT_OK;
  }
  struct tacit_minibatch *of = tacit_alloc_zero(1, sizeof *of);
  if (of == NULL) {
    return tacit_error_memory(err);
  }
  of->gather.curator = curator;
  of->gather.block = tacit_alloc_zero(16 * curator->model->n_columns, sizeof *of->gather.block);
  of->mask = tacit_alloc_zero((tacit_records_n(curator->records) + 63) / 64 + 1, sizeof *of->mask);
  if (of->gather.block == NULL || of->mask == NULL) {
    tacit_minibatch_free(of);
    return tacit_error_memory(err);
  }
  tacit_gather_clear(&of->gather);
  curator->minibatch = of;
  return TACIT_OK;
}

void tacit_minibatch_free(struct tacit_minibatch *minibatch) {
  if (minibatch != NULL) {
    tacit_free(minibatch->gather.block);
    tacit_free(minibatch->mask);
    tacit_free(minibatch);
  }
}

void tacit_gather_clear(tacit_gather_t *gather) {
  gather->n = 0;
  for (size_t lane = 0; lane < 16; lane++) {
    gather->norms[lane] = NAN;
  }
}

void tacit_gather_add(tacit_gather_t *gather, size_t record) {
  const tacit_curator_t *curator = gather->curator;
  const float *from = tacit_records_block(curator->records, record / 16) + record % 16;
  float *to = gather->block + gather->n;
  for (size_t j = 0; j < curator->model->n_columns; j++) {
    to[j * 16] = from[j * 16];
  }
  gather->norms[gather->n++] = curator->lane_norm[record];
}
