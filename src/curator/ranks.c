/*
 * Records spread over several processes, ranks. Every rank runs the same program with the same keys, so that all of them draw the
 * same noise and reach the same decisions; integer sums over the records are the only thing they have to tell each other.
 */
#include <string.h>

#include "curator/curator_internal.h"

enum { LIMB_BITS = 40, N_NOTES = 5 }; /* three limbs of a 128-bit sum: 2^22 ranks cannot overflow an int64 */

static bool is_alone(const tacit_curator_t *curator) {
  return curator->settings.ranks == NULL || curator->settings.ranks->n_ranks <= 1;
}

tacit_status_t tacit_curator_join_ranks(tacit_curator_t *curator, tacit_error_t *err) {
  const tacit_ranks_t *ranks = curator->settings.ranks;
  curator->first_record = 0;
  curator->n_records = tacit_records_n(curator->records);
  curator->n_units_all = curator->n_units;
  curator->has_aligned_ranks = true;
  if (is_alone(curator)) {
    return TACIT_OK;
  }
  int64_t *counts = tacit_alloc_zero(2 * ranks->n_ranks, sizeof *counts);
  if (counts == NULL) {
    return tacit_error_memory(err);
  }
  counts[ranks->rank] = (int64_t)curator->n_records;
  counts[ranks->n_ranks + ranks->rank] = (int64_t)curator->n_units;
  ranks->sum(ranks->user, 2 * ranks->n_ranks, counts);
  curator->n_records = curator->n_units_all = 0;
  bool is_aligned = true;
  for (size_t r = 0; r < ranks->n_ranks; r++) {
    curator->first_record = r == ranks->rank ? curator->n_records : curator->first_record;
    is_aligned = is_aligned && curator->n_records % TACIT_RANK_ALIGNMENT == 0;
    curator->n_records += (size_t)counts[r];
    curator->n_units_all += (size_t)counts[ranks->n_ranks + r];
  }
  curator->has_aligned_ranks = is_aligned;
  tacit_free(counts);
  return TACIT_OK;
}

/* FNV-1a of where the pass was: ranks that differ in it are no longer running the same program. */
static int64_t digest(const tacit_curator_t *curator) {
  uint64_t hash = 0xcbf29ce484222325u;
  size_t n = curator->capacity * curator->model->dim;
  for (size_t i = 0; i < 3 * n; i++) {
    uint64_t word = 0;
    if (i < n) {
      memcpy(&word, curator->theta_float + i, sizeof(float));
    } else {
      memcpy(&word, curator->pairs + (i - n), sizeof(double));
    }
    hash = (hash ^ word) * 0x100000001b3u;
  }
  return (int64_t)(hash >> 24); /* 40 bits: their sum over the ranks fits */
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

size_t tacit_curator_message_size(size_t n_sums) {
  return 3 * n_sums + N_NOTES + 1;
}

void tacit_curator_sum_ranks(tacit_curator_t *curator, size_t n_sums, tacit_curator_notes_t *notes) {
  if (is_alone(curator)) {
    return;
  }
  const tacit_ranks_t *ranks = curator->settings.ranks;
  int64_t *message = curator->message, *tail = message + 3 * n_sums, mine = digest(curator);
  uint64_t *counts[N_NOTES] = {&notes->n_grad, &notes->n_grad_clipped, &notes->n_ratio, &notes->n_ratio_clipped,
                               &notes->n_non_finite};
  for (size_t i = 0; i < n_sums; i++) {
    split(curator->sums[i], message + 3 * i);
  }
  for (size_t i = 0; i < N_NOTES; i++) {
    tail[i] = (int64_t)*counts[i];
  }
  tail[N_NOTES] = mine;
  ranks->sum(ranks->user, tacit_curator_message_size(n_sums), message);
  for (size_t i = 0; i < n_sums; i++) {
    curator->sums[i] = joined(message + 3 * i);
  }
  for (size_t i = 0; i < N_NOTES; i++) {
    *counts[i] = (uint64_t)tail[i];
  }
  curator->has_parted = curator->has_parted || tail[N_NOTES] != mine * (int64_t)ranks->n_ranks;
}

void tacit_curator_sum_numbers(tacit_curator_t *curator, size_t n, int64_t *numbers) {
  if (!is_alone(curator)) {
    curator->settings.ranks->sum(curator->settings.ranks->user, n, numbers);
  }
}
