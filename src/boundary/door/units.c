/*
 * Sums of whole numbers that a unit writes. It is shown a copy of its own records and nothing else: what is
 * lent is zero when a unit begins, and is cleared when it ends.
 */
#include <float.h>
#include <string.h>

#include "base/error.h"
#include "data/records.h"
#include "door/door_internal.h"

static tacit_sizes_t sizes_of(const tacit_door_t *door, const tacit_units_t *of) {
  size_t n = tacit_door_shape_n_sums(&of->shape), most_rows = door->settings.max_unit_rows;
  return (tacit_sizes_t){.own_x = (most_rows + 1) * door->settings.n_columns, /* one of zeros past the last */
                         .unit_k = tacit_door_shape_n_written(&of->shape, most_rows),
                         .work = of->n_work,
                         .totals = n + TACIT_N_NOTES,
                         .draws = n,
                         .scales = n,
                         .message = tacit_door_message_size(n)};
}

/* k <- what is written for the n records in ->own_x, which then are gone. */
static void ask(const tacit_units_t *of, size_t n_columns, size_t n, tacit_workspace_t *w) {
  memset(w->work, 0, of->n_work * sizeof *w->work);
  of->unit(of->ctx, n, w->own_x, w->work, w->unit_k);
  memset(w->own_x, 0, n * n_columns * sizeof *w->own_x);
}

/* A record at a time, as if it were a unit. */
static void probe_unit(void *user, const float *block, size_t n_blocks, void *out) {
  const tacit_probed_t *probed = user;
  const tacit_units_t *of = probed->contribution;
  tacit_workspace_t *w = probed->door->workspaces;
  size_t n_columns = probed->door->settings.n_columns, n = tacit_door_shape_n_written(&of->shape, 1);
  int64_t *answer = out;
  for (size_t i = 0; i < n_blocks * TACIT_BLOCK; i++) {
    size_t b = i / TACIT_BLOCK, lane = i % TACIT_BLOCK;
    for (size_t j = 0; j < n_columns; j++) {
      w->own_x[j] = block[(b * n_columns + j) * TACIT_BLOCK + lane];
    }
    ask(of, n_columns, 1, w);
    for (size_t j = 0; j < n; j++) {
      answer[(b * n + j) * TACIT_BLOCK + lane] = w->unit_k[j];
    }
    memset(w->unit_k, 0, n * sizeof *w->unit_k);
  }
}

tacit_status_t tacit_units_check(tacit_door_t *door, const tacit_units_t *of, tacit_door_noise_t noise,
                                 tacit_error_t *err) {
  tacit_sizes_t sizes = sizes_of(door, of);
  tacit_probed_t probed = {door, of, &sizes};
  tacit_status_t status = tacit_door_shape_check(&of->shape, noise, err);
  TACIT_THEN(status, tacit_door_reserve(door, &sizes, err));
  return TACIT_THEN(status, tacit_door_probe(&probed, probe_unit, tacit_door_shape_n_written(&of->shape, 1),
                                             TACIT_PROBE_WHOLE, err));
}

/* Those of its records that count, row by row. */
static void add(const tacit_pass_t *pass, const tacit_range_t *range, size_t u, tacit_workspace_t *w) {
  const tacit_door_t *door = pass->door;
  const tacit_units_t *of = pass->of;
  size_t n_columns = door->settings.n_columns, n = 0;
  for (size_t t = 0; t < tacit_door_n_rows(door, u); t++) {
    size_t i = tacit_door_record(door, range, u, t);
    const float *x = tacit_records_block(door->records, i / TACIT_BLOCK) + i % TACIT_BLOCK;
    bool counts = door->lane_norm[i] <= FLT_MAX;
    for (size_t j = 0; counts && j < n_columns; j++) {
      w->own_x[n * n_columns + j] = x[j * TACIT_BLOCK];
    }
    n += counts;
  }
  if (n > 0) {
    ask(of, n_columns, n, w);
    w->notes.n_non_finite += !tacit_door_shape_add(&of->shape, n, w->unit_k, w->totals);
    memset(w->unit_k, 0, tacit_door_shape_n_written(&of->shape, n) * sizeof *w->unit_k);
  }
}

void tacit_units_sum(tacit_door_t *door, const tacit_units_t *units) {
  tacit_sizes_t sizes = sizes_of(door, units);
  tacit_pass_t pass = {.door = door,
                       .of = units,
                       .sizes = &sizes,
                       .n_sums = tacit_door_shape_n_sums(&units->shape),
                       .is_by_units = true,
                       .unit = add};
  tacit_door_sum(&pass);
}
