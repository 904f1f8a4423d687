/*
 * Passes over the records: on threads, over ranks, through memory or a file. Whole numbers are added, which is associative: sums
 * depend neither on the number of threads or ranks, nor on the order of blocks or records.
 */
#include <string.h>

#include "door/door_internal.h"

enum { LIMB_BITS = 40, N_NOTES = 5 }; /* three limbs of a 128-bit sum: 2^22 ranks cannot overflow an int64 */

/* ---- ranges of blocks or units; where records are in a file, the next are read ahead and those done with leave memory ---- */

typedef struct ranges {
  const tacit_door_t *door;
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
  const size_t *offsets = r->door->unit_offsets;
  return !r->is_by_units ? first : (offsets != NULL ? offsets[first] : first) / TACIT_BLOCK;
}

void tacit_door_drop(const tacit_door_t *door, size_t from, size_t to) {
  const size_t width = TACIT_BLOCK * sizeof *door->lane_norm;
  if (door->lane_mapping.data != NULL) {
    tacit_records_drop(door->records, from, to);
    tacit_mapping_drop(&door->lane_mapping, from * width, to * width);
  }
}

static void range_part(void *user, size_t part, size_t thread) {
  const ranges_t *r = user;
  const tacit_door_t *door = r->door;
  const size_t width = TACIT_BLOCK * sizeof *door->lane_norm, ahead = door->settings.n_threads; /* others are between */
  if (door->lane_mapping.data != NULL) {
    size_t from = first_block(r, part + ahead), to = first_block(r, part + ahead + 1);
    tacit_records_need(door->records, from, to);
    tacit_mapping_need(&door->lane_mapping, from * width, to * width);
  }
  r->task(r->pass, begin_of(r, part), begin_of(r, part + 1), thread);
  tacit_door_drop(door, first_block(r, part), first_block(r, part + 1));
}

void tacit_door_run_ranges(tacit_door_t *door, bool is_by_units, tacit_range_task task, void *pass) {
  size_t n = is_by_units ? door->n_units : tacit_records_n_blocks(door->records);
  size_t most = is_by_units ? TACIT_BLOCK * TACIT_PART_BLOCKS : TACIT_PART_BLOCKS;
  ranges_t ranges = {door, task, pass, n, tacit_pool_share(n, door->settings.n_threads, most), is_by_units};
  tacit_pool_run(door->pool, (n + ranges.size - 1) / ranges.size, range_part, &ranges);
}

/* ---- ranks: sums over the records are the only thing that they have to tell each other ---- */

static bool is_alone(const tacit_door_t *door) {
  return door->settings.ranks == NULL || door->settings.ranks->n_ranks <= 1;
}

tacit_status_t tacit_door_join_ranks(tacit_door_t *door, tacit_error_t *err) {
  const tacit_ranks_t *ranks = door->settings.ranks;
  door->n_records = tacit_records_n(door->records);
  door->n_units_all = door->n_units;
  door->has_aligned_ranks = true;
  if (is_alone(door)) {
    return TACIT_OK;
  }
  int64_t *counts = tacit_alloc_zero(2 * ranks->n_ranks, sizeof *counts);
  if (counts == NULL) {
    return tacit_error_memory(err);
  }
  counts[ranks->rank] = (int64_t)door->n_records;
  counts[ranks->n_ranks + ranks->rank] = (int64_t)door->n_units;
  ranks->sum(ranks->user, 2 * ranks->n_ranks, counts);
  door->n_records = door->n_units_all = 0;
  for (size_t r = 0; r < ranks->n_ranks; r++) {
    door->first_record = r == ranks->rank ? door->n_records : door->first_record;
    door->has_aligned_ranks = door->has_aligned_ranks && door->n_records % TACIT_RANK_ALIGNMENT == 0;
    door->n_records += (size_t)counts[r];
    door->n_units_all += (size_t)counts[ranks->n_ranks + r];
  }
  tacit_free(counts);
  return TACIT_OK;
}

/* FNV-1a: ranks that differ in it are no longer running the same program. */
void tacit_door_digest(tacit_door_t *door, const void *bytes, size_t n) {
  const unsigned char *byte = bytes;
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; !is_alone(door) && i < n; i++) {
    hash = (hash ^ byte[i]) * 0x100000001b3u;
  }
  door->digest = hash >> 24; /* 40 bits: their sum over the ranks fits */
}

static void split(tacit_wide_t sum, int64_t limbs[3]) {
  const tacit_wide_t mask = ((tacit_wide_t)1 << LIMB_BITS) - 1;
  limbs[0] = (int64_t)(sum & mask);
  limbs[1] = (int64_t)(sum >> LIMB_BITS & mask);
  limbs[2] = (int64_t)(sum >> 2 * LIMB_BITS);
}

static tacit_wide_t joined(const int64_t limbs[3]) {
  const tacit_wide_t base = (tacit_wide_t)1 << LIMB_BITS;
  return ((tacit_wide_t)limbs[2] * base + limbs[1]) * base + limbs[0];
}

size_t tacit_door_message_size(size_t n_sums) {
  return 3 * n_sums + N_NOTES + 1;
}

static void sum_ranks(tacit_door_t *door, size_t n_sums, tacit_door_notes_t *notes) {
  if (is_alone(door)) {
    return;
  }
  const tacit_ranks_t *ranks = door->settings.ranks;
  int64_t *message = door->message, *tail = message + 3 * n_sums, mine = (int64_t)door->digest;
  uint64_t *counts[N_NOTES] = {&notes->n_grad, &notes->n_grad_clipped, &notes->n_ratio, &notes->n_ratio_clipped,
                               &notes->n_non_finite};
  for (size_t i = 0; i < n_sums; i++) {
    split(door->sums[i], message + 3 * i);
  }
  for (size_t i = 0; i < N_NOTES; i++) {
    tail[i] = (int64_t)*counts[i];
  }
  tail[N_NOTES] = mine;
  ranks->sum(ranks->user, tacit_door_message_size(n_sums), message);
  for (size_t i = 0; i < n_sums; i++) {
    door->sums[i] = joined(message + 3 * i);
  }
  for (size_t i = 0; i < N_NOTES; i++) {
    *counts[i] = (uint64_t)tail[i];
  }
  door->has_parted = door->has_parted || tail[N_NOTES] != mine * (int64_t)ranks->n_ranks;
}

/* ---- a pass ---- */

void tacit_workspace_flush(tacit_workspace_t *workspace, size_t n, bool is_wide) {
  for (size_t i = 0; i < n; i++) {
    int64_t sum = 0;
    for (size_t lane = 0; lane < 16; lane++) {
      sum += is_wide ? workspace->lanes64[i * 16 + lane] : workspace->lanes[i * 16 + lane];
    }
    workspace->totals[i] += sum;
  }
}

static void add_notes(tacit_door_notes_t *to, const tacit_door_notes_t *notes) {
  to->n_grad += notes->n_grad;
  to->n_grad_clipped += notes->n_grad_clipped;
  to->n_ratio += notes->n_ratio;
  to->n_ratio_clipped += notes->n_ratio_clipped;
  to->n_non_finite += notes->n_non_finite;
}

void tacit_door_sum(tacit_door_t *door, size_t n_sums, bool is_by_units, tacit_range_task task, void *pass) {
  tacit_door_notes_t notes = {0};
  for (size_t t = 0; t < door->settings.n_threads; t++) {
    memset(door->workspaces[t].totals, 0, n_sums * sizeof *door->workspaces[t].totals);
    door->workspaces[t].notes = notes;
  }
  tacit_door_run_ranges(door, is_by_units, task, pass);
  memset(door->sums, 0, n_sums * sizeof *door->sums);
  for (size_t t = 0; t < door->settings.n_threads; t++) {
    for (size_t i = 0; i < n_sums; i++) {
      door->sums[i] += door->workspaces[t].totals[i];
    }
    add_notes(&notes, &door->workspaces[t].notes);
  }
  sum_ranks(door, n_sums, &notes);
  add_notes(&door->notes, &notes);
}
