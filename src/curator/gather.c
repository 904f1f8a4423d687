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
  if (!curator->has_aligned_ranks) {
    return tacit_error_set(err, TACIT_ERR_STATE, "ranks",
                           "for minibatches all ranks but the last must hold a multiple of %d records",
                           (int)TACIT_RANK_ALIGNMENT);
  }
  struct tacit_minibatch *of = tacit_alloc_zero(1, sizeof *of);
  if (of == NULL) {
    return tacit_error_memory(err);
  }
  size_t n_threads = curator->settings.n_threads;
  of->gathers = tacit_alloc_zero(n_threads, sizeof *of->gathers);
  of->mask = tacit_alloc_zero((curator->n_records + 63) / 64 + 1, sizeof *of->mask);
  bool ok = of->gathers != NULL && of->mask != NULL;
  for (size_t t = 0; ok && t < n_threads; t++) {
    of->gathers[t].curator = curator;
    of->gathers[t].blocks = tacit_records_block(curator->records, 0);
    of->gathers[t].block = tacit_alloc_zero(16 * curator->model->n_columns, sizeof(float));
    ok = of->gathers[t].block != NULL;
  }
  if (!ok) {
    tacit_minibatch_free(of, n_threads);
    return tacit_error_memory(err);
  }
  curator->minibatch = of;
  return TACIT_OK;
}

void tacit_minibatch_free(struct tacit_minibatch *minibatch, size_t n_threads) {
  if (minibatch == NULL) {
    return;
  }
  for (size_t t = 0; minibatch->gathers != NULL && t < n_threads; t++) {
    tacit_free(minibatch->gathers[t].block);
  }
  tacit_free(minibatch->gathers);
  tacit_free(minibatch->mask);
  tacit_free(minibatch);
}

static const float *first_column(const tacit_gather_t *gather, size_t record) {
  return gather->blocks + record / 16 * gather->curator->model->n_columns * 16 + record % 16;
}

void tacit_gather_add(tacit_gather_t *gather, size_t record) {
  const tacit_curator_t *curator = gather->curator;
  const float *from = first_column(gather, record);
  for (size_t j = 0; j < curator->model->n_columns; j++) {
    __builtin_prefetch(from + j * 16, 0, 2);
  }
  __builtin_prefetch(curator->lane_norm + record, 0, 2);
  gather->records[gather->n++] = record;
}

size_t tacit_gather_fill(tacit_gather_t *gather) {
  const tacit_curator_t *curator = gather->curator;
  size_t n = gather->n, n_columns = curator->model->n_columns;
  for (size_t lane = 0; lane < n; lane++) {
    const float *from = first_column(gather, gather->records[lane]);
    for (size_t j = 0; j < n_columns; j++) {
      gather->block[j * 16 + lane] = from[j * 16];
    }
    gather->norms[lane] = curator->lane_norm[gather->records[lane]];
  }
  for (size_t lane = n; lane < 16; lane++) {
    gather->norms[lane] = NAN;
  }
  gather->n = 0;
  return n;
}
