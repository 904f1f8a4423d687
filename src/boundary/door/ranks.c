/* Several processes: sums over the records are the only thing that they have to tell each other. */
#include "base/error.h"
#include "base/memory.h"
#include "data/records.h"
#include "door/door_internal.h"

enum { LIMB_BITS = 40 }; /* three limbs of a 128-bit sum: 2^22 ranks cannot overflow an int64 */

bool tacit_door_is_alone(const tacit_door_t *door) {
  return door->settings.ranks == NULL || door->settings.ranks->n_ranks <= 1;
}

tacit_status_t tacit_door_join_ranks(tacit_door_t *door, tacit_error_t *err) {
  const tacit_ranks_t *ranks = door->settings.ranks;
  size_t n_ranks = tacit_door_is_alone(door) ? 1 : ranks->n_ranks, rank = n_ranks > 1 ? ranks->rank : 0;
  int64_t *counts = tacit_alloc_zero(2 * n_ranks, sizeof *counts);
  if (counts == NULL) {
    return tacit_error_memory(err);
  }
  counts[rank] = (int64_t)tacit_records_n(door->records);
  counts[n_ranks + rank] = (int64_t)door->n_units;
  if (n_ranks > 1) {
    ranks->sum(ranks->user, 2 * n_ranks, counts);
  }
  door->has_aligned_ranks = true;
  for (size_t r = 0; r < n_ranks; r++) {
    door->first_record = r == rank ? door->n_records : door->first_record;
    door->has_aligned_ranks = door->has_aligned_ranks && door->n_records % TACIT_RANK_ALIGNMENT == 0;
    door->n_records += (size_t)counts[r];
    door->n_units_all += (size_t)counts[n_ranks + r];
  }
  tacit_free(counts);
  return TACIT_OK;
}

/* FNV-1a: ranks that differ in it are no longer running the same program. */
void tacit_door_digest(tacit_door_t *door, const void *bytes, size_t n) {
  const unsigned char *byte = bytes;
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; !tacit_door_is_alone(door) && i < n; i++) {
    hash = (hash ^ byte[i]) * 0x100000001b3u;
  }
  door->digest = hash >> 24; /* 40 bits: their sum over the ranks fits */
}

size_t tacit_door_message_size(size_t n_sums) { return 3 * (n_sums + TACIT_N_NOTES) + 1; }

/* proofs/Sums.v: limbs_of_ranks_are_their_sum, limbs_fit */
void tacit_door_sum_ranks(tacit_door_t *door, size_t n) {
  const tacit_wide_t base = (tacit_wide_t)1 << LIMB_BITS, mask = base - 1;
  const tacit_ranks_t *ranks = door->settings.ranks;
  if (tacit_door_is_alone(door)) {
    return;
  }
  int64_t *message = door->workspaces->message, *limbs = message;
  for (size_t i = 0; i < n; i++, limbs += 3) {
    limbs[0] = (int64_t)(door->sums[i] & mask);
    limbs[1] = (int64_t)(door->sums[i] >> LIMB_BITS & mask);
    limbs[2] = (int64_t)(door->sums[i] >> 2 * LIMB_BITS);
  }
  *limbs = (int64_t)door->digest;
  ranks->sum(ranks->user, 3 * n + 1, message);
  for (size_t i = 0; i < n; i++) {
    door->sums[i] = ((tacit_wide_t)message[3 * i + 2] * base + message[3 * i + 1]) * base + message[3 * i];
  }
  door->has_parted = door->has_parted || *limbs != (int64_t)door->digest * (int64_t)ranks->n_ranks;
}
