/* Records that are drawn at random, each by itself. Who was drawn, and how many, is secret and does not
 * leave. */
#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/records.h"
#include "door/door_internal.h"
#include "random/noise.h"

enum { WORD_BLOCKS = 64 / TACIT_BLOCK }; /* of a word of the mask; ranges of blocks begin with a word */

static const double unit = 0x1p32; /* of a rate of one */

tacit_status_t tacit_subset_check(tacit_door_t *door, double rate, tacit_error_t *err) {
  if (!(rate > 0 && rate <= 1 && rate * unit == floor(rate * unit))) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "rate",
                           "the sampling rate must be a multiple of 2^-32, above 0 and at most 1, not %.17g",
                           rate);
  }
  if (door->noise == NULL) {
    return tacit_error_set(err, TACIT_ERR_STATE, "curator",
                           "minibatches need a source of secret randomness: open the curator with one");
  }
  if (door->unit_offsets != NULL) {
    return tacit_error_set(
        err, TACIT_ERR_STATE, "unit",
        "minibatches are drawn by record, and here a unit has several: choose a method that uses all "
        "records");
  }
  if (!door->has_aligned_ranks) {
    return tacit_error_set(err, TACIT_ERR_STATE, "ranks",
                           "for minibatches all ranks but the last must hold a multiple of %d records",
                           (int)TACIT_RANK_ALIGNMENT);
  }
  if (door->mask == NULL) {
    door->mask = tacit_alloc_zero((door->n_records + 63) / 64 + 1, sizeof *door->mask);
  }
  return door->mask != NULL ? TACIT_OK : tacit_error_memory(err);
}

/* proofs/Sums.v: subset_moves_by_one_unit_or_not_at_all */
tacit_status_t tacit_subset_draw(tacit_door_t *door, double rate, tacit_error_t *err) {
  return tacit_noise_subset(door->noise, (uint64_t)(rate * unit), door->n_records, door->mask, err);
}

/* The record's memory is on the way while others are asked for. */
void tacit_subset_ask(const tacit_door_t *door, tacit_workspace_t *w, size_t record) {
  const float *from = tacit_door_first_column(door, record);
  for (size_t j = 0; j < door->settings.n_columns; j++) {
    __builtin_prefetch(from + j * 16, 0, 2);
  }
  __builtin_prefetch(door->lane_norm + record, 0, 2);
  w->records[w->n_gathered++] = record;
}

tacit_shown_t tacit_subset_fill(const tacit_door_t *door, tacit_workspace_t *w) {
  size_t n = w->n_gathered;
  for (size_t lane = 0; lane < 16; lane++) {
    const float *from = lane < n ? tacit_door_first_column(door, w->records[lane]) : NULL;
    for (size_t j = 0; j < door->settings.n_columns; j++) {
      w->block[j * 16 + lane] = lane < n ? from[j * 16] : 0;
    }
    w->norms[lane] = lane < n ? door->lane_norm[w->records[lane]] : NAN;
  }
  w->n_gathered = 0;
  return (tacit_shown_t){w->block, w->norms, 1, SIZE_MAX};
}

/* Records are lanes of their own, so that sums do not depend on which of them share a block. */
size_t tacit_subset_show(const tacit_pass_t *pass, size_t first, size_t last, tacit_workspace_t *w) {
  const uint64_t *mask = pass->door->mask + pass->door->first_record / 64;
  size_t n = 0;
  for (size_t word = first / WORD_BLOCKS; word * WORD_BLOCKS < last; word++) {
    for (uint64_t left = mask[word]; left != 0; left &= left - 1) {
      tacit_subset_ask(pass->door, w, word * 64 + (size_t)__builtin_ctzll(left));
      n++;
      if (w->n_gathered == 16) {
        tacit_shown_t shown = tacit_subset_fill(pass->door, w);
        pass->show(pass, &shown, w);
      }
    }
  }
  if (w->n_gathered > 0) {
    tacit_shown_t shown = tacit_subset_fill(pass->door, w);
    pass->show(pass, &shown, w);
  }
  return n;
}
