/* Sums of whole numbers that a unit writes, shown its own records and no others. */
#include <float.h>
#include <string.h>

#include "door/door_internal.h"

tacit_status_t tacit_units_check(tacit_door_t *door, const tacit_units_t *of, tacit_door_noise_t noise, tacit_error_t *err) {
  size_t n = tacit_door_shape_n_sums(&of->shape), most_rows = door->settings.max_unit_rows;
  tacit_room_t room = {.unit_x = most_rows * door->settings.n_columns,
                       .lanes64 = tacit_door_shape_n_written(&of->shape, most_rows),
                       .work = of->n_work,
                       .totals = n + TACIT_N_NOTES,
                       .draws = n,
                       .scales = n,
                       .message = tacit_door_message_size(n)};
  tacit_status_t status = tacit_door_shape_check(&of->shape, noise, err);
  return TACIT_THEN(status, tacit_door_reserve(door, &room, err));
}

/* Those that count, row by row. */
static void add(const tacit_pass_t *pass, size_t u, size_t b, size_t from, size_t to, tacit_workspace_t *w) {
  const tacit_door_t *door = pass->door;
  size_t n_columns = door->settings.n_columns;
  (void)u;
  for (size_t lane = from; lane < to; lane++) {
    const float *x = tacit_records_block(door->records, b) + lane;
    bool counts = door->lane_norm[b * TACIT_BLOCK + lane] <= FLT_MAX;
    for (size_t j = 0; counts && j < n_columns; j++) {
      w->unit_x[w->n_unit_rows * n_columns + j] = x[j * TACIT_BLOCK];
    }
    w->n_unit_rows += counts;
  }
}

static void end(const tacit_pass_t *pass, size_t u, bool is_last, tacit_workspace_t *w) {
  const tacit_units_t *of = pass->of;
  size_t n = w->n_unit_rows;
  (void)u, (void)is_last;
  if (n > 0) {
    memset(w->lanes64, 0, tacit_door_shape_n_written(&of->shape, n) * sizeof *w->lanes64);
    of->unit(of->ctx, n, w->unit_x, w->work, w->lanes64);
    w->notes.n_non_finite += !tacit_door_shape_add(&of->shape, n, w->lanes64, w->totals);
  }
  w->n_unit_rows = 0;
}

void tacit_units_sum(tacit_door_t *door, const tacit_units_t *units) {
  tacit_pass_t pass = {.door = door, .of = units, .n_sums = tacit_door_shape_n_sums(&units->shape), .is_by_units = true, .unit_add = add, .unit_end = end};
  tacit_door_sum(&pass);
}
