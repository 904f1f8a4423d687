/*
 * Records in a file rather than in memory: while one part of a pass is worked on, the next is read ahead, and what is done with
 * leaves memory. Where records are in memory reading ahead and giving back do nothing. Contents never change, so neither do sums.
 */
#include "curator/curator_internal.h"

tacit_status_t tacit_curator_new_lane_norm(tacit_curator_t *curator, size_t n_lanes, tacit_error_t *err) {
  const char *folder = tacit_records_scratch(curator->records);
  if (folder == NULL) {
    curator->lane_norm = tacit_alloc_pages(n_lanes, sizeof *curator->lane_norm);
    return curator->lane_norm != NULL ? TACIT_OK : tacit_error_memory(err);
  }
  tacit_status_t status = tacit_mapping_scratch(&curator->lane_mapping, folder, n_lanes * sizeof *curator->lane_norm, err);
  curator->lane_norm = (float *)curator->lane_mapping.data;
  return status;
}

void tacit_curator_free_lane_norm(tacit_curator_t *curator) {
  if (tacit_records_scratch(curator->records) == NULL) {
    size_t n_lanes = tacit_records_n_blocks(curator->records) * TACIT_BLOCK;
    tacit_free_pages(curator->lane_norm, n_lanes, sizeof *curator->lane_norm);
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

/* A pass over ranges of blocks or units. */
typedef struct ranges {
  const tacit_curator_t *curator;
  tacit_range_task task;
  void *pass;
  size_t n, size; /* of all, and of a range, in blocks or units */
  bool is_by_units;
} ranges_t;

/* Where range `part` begins. */
static size_t begin_of(const ranges_t *r, size_t part) {
  return part * r->size < r->n ? part * r->size : r->n;
}

/* The same in blocks. */
static size_t first_block(const ranges_t *r, size_t part) {
  size_t first = begin_of(r, part);
  const size_t *offsets = r->curator->unit_offsets;
  return !r->is_by_units ? first : (offsets != NULL ? offsets[first] : first) / TACIT_BLOCK;
}

static void range_part(void *user, size_t part, size_t thread) {
  const ranges_t *r = user;
  size_t ahead = r->curator->settings.n_threads; /* the others are at the ranges between */
  tacit_curator_need(r->curator, first_block(r, part + ahead), first_block(r, part + ahead + 1));
  r->task(r->pass, begin_of(r, part), begin_of(r, part + 1), thread);
  tacit_curator_drop(r->curator, first_block(r, part), first_block(r, part + 1));
}

void tacit_curator_run_ranges(tacit_curator_t *curator, bool is_by_units, tacit_range_task task, void *pass) {
  size_t n = is_by_units ? curator->n_units : tacit_records_n_blocks(curator->records);
  size_t most = is_by_units ? TACIT_BLOCK * TACIT_PART_BLOCKS : TACIT_PART_BLOCKS;
  ranges_t ranges = {curator, task, pass, n, tacit_pool_share(n, curator->settings.n_threads, most), is_by_units};
  tacit_pool_run(curator->pool, (n + ranges.size - 1) / ranges.size, range_part, &ranges);
}
