/* Sums of whole numbers that a unit writes, shown its own records and no others. */
#include <float.h>
#include <string.h>

#include "door/door_internal.h"

typedef struct pass {
  tacit_door_t *door;
  const tacit_units_t *of;
} pass_t;

static void units_part(void *user, size_t first, size_t last, size_t thread) {
  const pass_t *pass = user;
  const tacit_door_t *door = pass->door;
  const tacit_units_t *of = pass->of;
  tacit_workspace_t *w = &door->workspaces[thread];
  const size_t *offsets = door->unit_offsets, n_columns = door->settings.n_columns;
  for (size_t u = first; u < last; u++) {
    size_t n = 0, end = offsets != NULL ? offsets[u + 1] : u + 1;
    for (size_t i = offsets != NULL ? offsets[u] : u; i < end; i++) {
      const float *from = tacit_records_block(door->records, i / TACIT_BLOCK) + i % TACIT_BLOCK;
      for (size_t j = 0; door->lane_norm[i] <= FLT_MAX && j < n_columns; j++) {
        w->unit_x[n * n_columns + j] = from[j * TACIT_BLOCK];
      }
      n += door->lane_norm[i] <= FLT_MAX;
    }
    if (n > 0) {
      memset(w->lanes64, 0, tacit_door_shape_n_written(&of->shape, n) * sizeof *w->lanes64);
      of->unit(of->ctx, n, w->unit_x, w->work, w->lanes64);
      w->notes.n_non_finite += !tacit_door_shape_add(&of->shape, n, w->lanes64, w->totals);
    }
  }
}

void tacit_units_sum(tacit_door_t *door, const tacit_units_t *units) {
  pass_t pass = {door, units};
  tacit_door_sum(door, tacit_door_shape_n_sums(&units->shape), true, units_part, &pass);
}
