/*
 * Records in a file rather than in memory: while one part of a pass is worked on, the next is read ahead, and what is done with
 * leaves memory. Where records are in memory all of this does nothing. Contents never change, so neither do sums.
 */
#include "curator/curator_internal.h"

tacit_status_t tacit_curator_new_lane_norm(tacit_curator_t *curator, size_t n_lanes, tacit_error_t *err) {
  const char *folder = tacit_records_scratch(curator->records);
  if (folder == NULL) {
    curator->lane_norm = tacit_alloc_zero(n_lanes, sizeof *curator->lane_norm);
    return curator->lane_norm != NULL ? TACIT_OK : tacit_error_memory(err);
  }
  tacit_status_t status = tacit_mapping_scratch(&curator->lane_mapping, folder, n_lanes * sizeof *curator->lane_norm, err);
  curator->lane_norm = (float *)curator->lane_mapping.data;
  return status;
}

void tacit_curator_free_lane_norm(tacit_curator_t *curator) {
  if (tacit_records_scratch(curator->records) == NULL) {
    tacit_free(curator->lane_norm);
  }
  tacit_mapping_close(&curator->lane_mapping);
}

void tacit_curator_need(const tacit_curator_t *curator, size_t from, size_t to) {
  const size_t width = TACIT_BLOCK * sizeof *curator->lane_norm;
  if (curator->lane_mapping.data != NULL) {
    tacit_records_need(curator->records, from, to);
    tacit_mapping_need(&curator->lane_mapping, from * width, to * width);
  }
}

void tacit_curator_drop(const tacit_curator_t *curator, size_t from, size_t to) {
  const size_t width = TACIT_BLOCK * sizeof *curator->lane_norm;
  if (curator->lane_mapping.data != NULL) {
    tacit_records_drop(curator->records, from, to);
    tacit_mapping_drop(&curator->lane_mapping, from * width, to * width);
  }
}

/* A pass's task between reading ahead and giving back. */
typedef struct streamed {
  const tacit_curator_t *curator;
  tacit_pool_task task;
  void *pass;
  size_t size;      /* of a part, in blocks or units */
  bool is_by_units;
} streamed_t;

/* Where part `part` begins, in blocks. */
static size_t first_block(const streamed_t *s, size_t part) {
  size_t n_blocks = tacit_records_n_blocks(s->curator->records), n = s->is_by_units ? s->curator->n_units : n_blocks;
  size_t first = part * s->size < n ? part * s->size : n;
  return s->is_by_units ? s->curator->unit_offsets[first] / TACIT_BLOCK : first;
}

static void streamed_part(void *user, size_t part, size_t thread) {
  const streamed_t *s = user;
  size_t ahead = s->curator->settings.n_threads; /* the others are at the parts between */
  tacit_curator_need(s->curator, first_block(s, part + ahead), first_block(s, part + ahead + 1));
  s->task(s->pass, part, thread);
  tacit_curator_drop(s->curator, first_block(s, part), first_block(s, part + 1));
}

void tacit_curator_run_parts(tacit_curator_t *curator, size_t n_parts, size_t size, bool is_by_units, tacit_pool_task task,
                             void *pass) {
  streamed_t streamed = {curator, task, pass, size, is_by_units};
  if (curator->lane_mapping.data == NULL) {
    tacit_pool_run(curator->pool, n_parts, task, pass);
  } else {
    tacit_pool_run(curator->pool, n_parts, streamed_part, &streamed);
  }
}
