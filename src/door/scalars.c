/* Sums of differences of numbers, clipped: log-likelihood ratios. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "door/door_internal.h"

typedef struct pass {
  tacit_door_t *door;
  const tacit_scalars_t *of;
} pass_t;

static void probe_values(void *user, const float *block, size_t n_blocks, void *out) {
  const tacit_probed_t *probed = user;
  const tacit_scalars_t *of = probed->contribution;
  tacit_workspace_t *w = probed->workspace;
  for (size_t i = 0; i < of->n_fresh; i++) {
    w->outs[i] = w->values + i * TACIT_DOOR_RUN_BLOCKS * 16;
  }
  of->values(of->ctx, block, n_blocks, w->work, w->outs);
  for (size_t at = 0; at < n_blocks * of->n_fresh; at++) {
    memcpy((double *)out + at * 16, w->outs[at % of->n_fresh] + at / of->n_fresh * 16, 16 * sizeof(double));
  }
}

static tacit_room_t room_of(const tacit_door_t *door, const tacit_scalars_t *of) {
  return (tacit_room_t){.work = of->n_work,
                        .values = of->n_fresh * TACIT_DOOR_RUN_BLOCKS * 16,
                        .outs = of->n_fresh,
                        .block = door->settings.n_columns * 16,
                        .lanes64 = of->n_pairs * 16,
                        .unit_sum = of->n_pairs,
                        .totals = of->n_pairs,
                        .draws = of->n_pairs,
                        .sums = of->n_pairs,
                        .message = tacit_door_message_size(of->n_pairs)};
}

tacit_status_t tacit_scalars_check(tacit_door_t *door, const tacit_scalars_t *of, tacit_error_t *err) {
  bool ok = of->is_sampled ? of->n_pairs == 1 : of->rate >= 1;
  size_t n_places = door->n_kept > 0 && !of->is_sampled ? door->n_kept : of->n_fresh;
  for (size_t i = 0; i < of->n_fresh; i++) {
    ok = ok && of->fresh_at[i] < n_places;
  }
  for (size_t k = 0; k < of->n_pairs; k++) {
    double clip = of->clips[k];
    ok = ok && of->after[k] < n_places && (of->before[k] < n_places || of->before[k] == SIZE_MAX) && clip >= 1 &&
         clip <= 0x1p51 && clip <= floor(clip);
  }
  if (!ok) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "scalars", "a scalar's clip or place is out of range");
  }
  tacit_room_t room = room_of(door, of);
  tacit_status_t status = of->is_sampled ? tacit_subset_check(door, of->rate, err) : TACIT_OK;
  if (status == TACIT_OK) {
    status = tacit_door_reserve(door, &room, err);
  }
  tacit_door_digest(door, of->points, of->n_numbers * sizeof *of->points);
  return status == TACIT_OK && of->n_fresh > 0 ? tacit_door_probe(door, probe_values, of, of->n_fresh, sizeof(double), err) : status;
}

void tacit_scalars_evaluate(const tacit_scalars_t *of, const float *block, const float *norms, size_t n, tacit_workspace_t *w) {
  of->values(of->ctx, block, n, w->work, w->outs);
  int all_count = 1;
  for (size_t lane = 0; lane < n * 16; lane++) {
    all_count &= norms[lane] <= FLT_MAX;
  }
  for (size_t lane = 0; !all_count && lane < n * 16; lane++) {
    for (size_t i = 0; i < of->n_fresh && !(norms[lane] <= FLT_MAX); i++) {
      w->outs[i][lane] = NAN;
    }
  }
}

/* Where n blocks' values of what is kept, or evaluated for this pass alone, begin; b is the first of them. */
static double *place(const tacit_door_t *door, const tacit_workspace_t *w, size_t i, size_t b) {
  return door->n_kept > 0 ? door->kept + (i * tacit_records_n_blocks(door->records) + b) * 16
                          : w->values + i * TACIT_DOOR_RUN_BLOCKS * 16;
}

static void evaluate(const pass_t *pass, tacit_workspace_t *w, size_t b, size_t n) {
  for (size_t i = 0; i < pass->of->n_fresh; i++) {
    w->outs[i] = place(pass->door, w, pass->of->fresh_at[i], b);
  }
  tacit_scalars_evaluate(pass->of, tacit_records_block(pass->door->records, b), pass->door->lane_norm + b * 16, n, w);
}

static void blocks_part(void *user, size_t first, size_t last, size_t thread) {
  const pass_t *pass = user;
  const tacit_scalars_t *of = pass->of;
  const tacit_door_t *door = pass->door;
  tacit_workspace_t *w = &door->workspaces[thread];
  for (size_t i = 0; i < of->n_pairs * 16; i++) {
    w->lanes64[i] = 0;
  }
  for (size_t b = first; b < last; b += TACIT_DOOR_RUN_BLOCKS) {
    size_t n = last - b < TACIT_DOOR_RUN_BLOCKS ? last - b : TACIT_DOOR_RUN_BLOCKS;
    evaluate(pass, w, b, n);
    for (size_t k = 0; k < of->n_pairs; k++) {
      const double *before = of->before[k] < SIZE_MAX ? place(door, w, of->before[k], b) : NULL;
      tacit_lattice_functions()->scalars(door->lane_norm + b * 16, n, before, place(door, w, of->after[k], b), of->clips[k],
                                         w->lanes64 + k * 16, &w->notes);
    }
  }
  w->notes.n_ratio += (last - first) * 16 * of->n_pairs;
  tacit_workspace_flush(w, of->n_pairs, true);
}

static double difference(const tacit_door_t *door, const tacit_workspace_t *w, const tacit_scalars_t *of, size_t k, size_t lane) {
  double before = of->before[k] < SIZE_MAX ? place(door, w, of->before[k], 0)[lane] : 0;
  double value = place(door, w, of->after[k], 0)[lane] - before;
  return fabs(value) <= DBL_MAX ? value : 0;
}

/* Whole numbers: exact below 2^53, and beyond 2^51 every clip has cut in. */
static void units_part(void *user, size_t first, size_t last, size_t thread) {
  const pass_t *pass = user;
  const tacit_scalars_t *of = pass->of;
  tacit_workspace_t *w = &pass->door->workspaces[thread];
  const size_t *offsets = pass->door->unit_offsets;
  size_t block = SIZE_MAX;
  for (size_t u = first; u < last; u++) {
    double *sums = w->unit_sum;
    for (size_t k = 0; k < of->n_pairs; k++) {
      sums[k] = 0;
    }
    for (size_t i = offsets[u]; i < offsets[u + 1]; i++) {
      if (i / 16 != block) {
        evaluate(pass, w, block = i / 16, 1);
      }
      for (size_t k = 0; k < of->n_pairs; k++) {
        sums[k] += difference(pass->door, w, of, k, i % 16);
      }
    }
    for (size_t k = 0; k < of->n_pairs; k++) {
      double clipped = fmax(fmin(sums[k], of->clips[k]), -of->clips[k]); /* a sum that is no number becomes one of the two */
      w->notes.n_ratio++;
      w->notes.n_ratio_clipped += fabs(sums[k]) > of->clips[k];
      w->totals[k] += (int64_t)nearbyint(clipped);
    }
  }
}

static void add_drawn(const void *user, size_t n, tacit_workspace_t *w) {
  const pass_t *pass = user;
  const tacit_scalars_t *of = pass->of;
  for (size_t i = 0; i < of->n_fresh; i++) {
    w->outs[i] = w->values + i * TACIT_DOOR_RUN_BLOCKS * 16;
  }
  tacit_scalars_evaluate(of, w->block, w->norms, 1, w);
  tacit_lattice_functions()->scalars(w->norms, 1, of->before[0] < SIZE_MAX ? w->outs[of->before[0]] : NULL,
                                     w->outs[of->after[0]], of->clips[0], w->lanes64, &w->notes);
  w->notes.n_ratio += n;
}

void tacit_scalars_sum(tacit_door_t *door, const tacit_scalars_t *scalars) {
  pass_t pass = {door, scalars};
  if (scalars->is_sampled) {
    tacit_subset_sum(door, 1, true, add_drawn, &pass);
    return;
  }
  bool is_by_units = door->unit_offsets != NULL;
  tacit_door_sum(door, scalars->n_pairs, is_by_units, is_by_units ? units_part : blocks_part, &pass);
}

tacit_status_t tacit_door_keep(tacit_door_t *door, size_t n_points, size_t limit, size_t *n, tacit_error_t *err) {
  size_t n_values = tacit_records_n_blocks(door->records) * 16, n_bytes;
  bool fits = !__builtin_mul_overflow(n_values, n_points * sizeof *door->kept, &n_bytes) && n_bytes <= limit;
  *n = door->n_kept;
  if (n_points <= door->n_kept) {
    return TACIT_OK;
  }
  tacit_free(door->kept);
  door->kept = NULL;
  *n = door->n_kept = 0;
  if (!fits || door->unit_offsets != NULL) {
    return TACIT_OK;
  }
  door->kept = tacit_alloc_zero(n_values * n_points, sizeof *door->kept);
  *n = door->n_kept = door->kept != NULL ? n_points : 0;
  return door->kept != NULL ? TACIT_OK : tacit_error_memory(err);
}
