/* Sums of differences of numbers, clipped: log-likelihood ratios. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/records.h"
#include "door/door_internal.h"

/* Functions of n_blocks blocks, to where ->outs says; what is not written is zero. */
static void ask(const tacit_scalars_t *of, const float *block, size_t n_blocks, tacit_workspace_t *w) {
  for (size_t i = 0; i < of->n_fresh; i++) {
    memset(w->outs[i], 0, n_blocks * 16 * sizeof *w->outs[i]);
  }
  memset(w->work, 0, of->n_work * sizeof *w->work);
  of->values(of->ctx, block, n_blocks, w->work, w->outs);
}

static void probe_values(void *user, const float *block, size_t n_blocks, void *out) {
  const tacit_probed_t *probed = user;
  const tacit_scalars_t *of = probed->contribution;
  tacit_workspace_t *w = probed->door->workspaces;
  for (size_t i = 0; i < of->n_fresh; i++) {
    w->outs[i] = w->values + i * TACIT_DOOR_RUN_BLOCKS * 16;
  }
  ask(of, block, n_blocks, w);
  for (size_t at = 0; at < n_blocks * of->n_fresh; at++) {
    memcpy((double *)out + at * 16, w->outs[at % of->n_fresh] + at / of->n_fresh * 16, 16 * sizeof(double));
  }
}

static tacit_sizes_t sizes_of(const tacit_door_t *door, const tacit_scalars_t *of) {
  return (tacit_sizes_t){.work = of->n_work,
                         .values = of->n_fresh * TACIT_DOOR_RUN_BLOCKS * 16,
                         .outs = of->n_fresh,
                         .block = TACIT_DOOR_RUN_BLOCKS * door->settings.n_columns * 16,
                         .lanes64 = of->n_pairs * 16,
                         .unit_sum = of->n_pairs * 16,
                         .totals = of->n_pairs + TACIT_N_NOTES,
                         .draws = of->n_pairs,
                         .scales = of->n_pairs,
                         .message = tacit_door_message_size(of->n_pairs)};
}

tacit_status_t tacit_scalars_check(tacit_door_t *door, const tacit_scalars_t *of, tacit_error_t *err) {
  if (of->n_pairs > TACIT_MAX_NUMBERS || of->n_fresh > TACIT_MAX_NUMBERS || of->n_work > (size_t)1 << 40) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "scalars",
        "more scalars, or more memory for them, than is provided for: at most %d at a time",
        (int)TACIT_MAX_NUMBERS);
  }
  bool ok = of->is_sampled ? of->n_pairs == 1 : of->rate >= 1;
  size_t n_places = door->n_kept > 0 && !of->is_sampled ? door->n_kept : of->n_fresh;
  for (size_t i = 0; i < of->n_fresh; i++) {
    ok = ok && of->fresh_at[i] < n_places;
  }
  for (size_t k = 0; k < of->n_pairs; k++) {
    double clip = of->clips[k];
    ok = ok && of->after[k] < n_places && (of->before[k] < n_places || of->before[k] == SIZE_MAX) &&
         clip >= 1 && clip <= 0x1p51 && clip <= floor(clip);
  }
  if (!ok) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "scalars", "a scalar's clip or place is out of range");
  }
  tacit_sizes_t sizes = sizes_of(door, of);
  tacit_probed_t probed = {.door = door, .contribution = of, .sizes = &sizes};
  tacit_status_t status = of->is_sampled ? tacit_subset_check(door, of->rate, err) : TACIT_OK;
  TACIT_THEN(status, tacit_door_reserve(door, &sizes, err));
  tacit_door_digest(door, of->points, of->n_numbers * sizeof *of->points);
  return status == TACIT_OK && of->n_fresh > 0
             ? tacit_door_probe(&probed, probe_values, of->n_fresh, TACIT_PROBE_DOUBLES, err)
             : status;
}

/* Of what is kept, or evaluated for this pass alone. */
double *tacit_scalars_place(const tacit_door_t *door, const tacit_workspace_t *w, size_t i, size_t at) {
  return door->n_kept > 0 && at < SIZE_MAX
             ? door->kept + (i * tacit_records_n_blocks(door->records) + at) * 16
             : w->values + i * TACIT_DOOR_RUN_BLOCKS * 16;
}

void tacit_scalars_evaluate(const tacit_door_t *door, const tacit_scalars_t *of, const tacit_shown_t *shown,
                            tacit_workspace_t *w) {
  for (size_t i = 0; i < of->n_fresh; i++) {
    w->outs[i] = tacit_scalars_place(door, w, of->fresh_at[i], shown->at);
  }
  ask(of, shown->block, shown->n, w);
  bool all_count = tacit_door_all_count(shown->norms, shown->n);
  for (size_t lane = 0; !all_count && lane < shown->n * 16; lane++) {
    for (size_t i = 0; i < of->n_fresh && !(shown->norms[lane] <= FLT_MAX); i++) {
      tacit_scalars_place(door, w, of->fresh_at[i], shown->at)[lane] = NAN;
    }
  }
}

static const double *before(const tacit_door_t *door, const tacit_scalars_t *of, size_t k, size_t at,
                            const tacit_workspace_t *w) {
  return of->before[k] < SIZE_MAX ? tacit_scalars_place(door, w, of->before[k], at) : NULL;
}

static void add_blocks(const tacit_pass_t *pass, const tacit_shown_t *shown, tacit_workspace_t *w) {
  const tacit_scalars_t *of = pass->of;
  tacit_scalars_evaluate(pass->door, of, shown, w);
  for (size_t k = 0; k < of->n_pairs; k++) {
    tacit_lattice_functions()->scalars(shown->norms, shown->n, before(pass->door, of, k, shown->at, w),
                                       tacit_scalars_place(pass->door, w, of->after[k], shown->at),
                                       of->clips[k], w->lanes64 + k * 16, &w->notes);
  }
}

/* ---- units of several records: a unit is a lane, with the sum of its records ---- */

static void evaluate(const tacit_pass_t *pass, const tacit_shown_t *shown, tacit_workspace_t *w) {
  tacit_scalars_evaluate(pass->door, pass->of, shown, w);
}

/* Whole numbers: exact below 2^53, and beyond 2^51 every clip has cut in. */
static void add_group(const tacit_pass_t *pass, const tacit_shown_t *shown, size_t at, size_t n,
                      tacit_workspace_t *w) {
  const tacit_scalars_t *of = pass->of;
  for (size_t k = 0; k < of->n_pairs; k++) {
    const double *after = tacit_scalars_place(pass->door, w, of->after[k], shown->at) + at * 16,
                 *less = before(pass->door, of, k, shown->at, w);
    double *sum = w->unit_sum + k * 16;
    for (size_t i = 0; i < n * 16; i++) {
      double value = after[i] - (less != NULL ? less[at * 16 + i] : 0);
      sum[i % 16] += fabs(value) <= DBL_MAX ? value : 0;
    }
  }
}

static void end_group(const tacit_pass_t *pass, size_t n_units, tacit_workspace_t *w) {
  static const float all_count[16];
  const tacit_scalars_t *of = pass->of;
  (void)n_units; /* the others' sums are 0 */
  for (size_t k = 0; k < of->n_pairs; k++) {
    tacit_lattice_functions()->scalars(all_count, 1, NULL, w->unit_sum + k * 16, of->clips[k],
                                       w->lanes64 + k * 16, &w->notes);
    memset(w->unit_sum + k * 16, 0, 16 * sizeof *w->unit_sum);
  }
}

void tacit_scalars_sum(tacit_door_t *door, const tacit_scalars_t *of) {
  bool is_by_units = door->unit_offsets != NULL;
  tacit_sizes_t sizes = sizes_of(door, of);
  tacit_pass_t pass = {.door = door,
                       .of = of,
                       .sizes = &sizes,
                       .n_sums = of->n_pairs,
                       .n_lanes = 16,
                       .n_blocks = TACIT_DOOR_RUN_BLOCKS,
                       .is_wide = true,
                       .is_drawn = of->is_sampled,
                       .is_by_units = is_by_units,
                       .is_scalar = true,
                       .n_noted = of->n_pairs,
                       .show = is_by_units ? evaluate : add_blocks,
                       .group_add = add_group,
                       .group_end = end_group};
  tacit_door_sum(&pass);
}

tacit_status_t tacit_door_keep(tacit_door_t *door, size_t n_points, size_t limit, size_t *n,
                               tacit_error_t *err) {
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
