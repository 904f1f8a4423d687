/*
 * Sums of vectors of floats: a block of 16 records at a time, where a unit is a record. Else the contribution is shown a unit's own records and
 * what it wrote for them, and clips their sum itself; that its whole numbers are short enough is checked.
 */
#include <math.h>
#include <string.h>

#include "door/door_internal.h"

/* ---- what is asked for ---- */

static void probe_rows(void *user, const float *block, size_t n_blocks, void *out) {
  const tacit_vectors_t *of = ((tacit_probed_t *)user)->contribution;
  of->rows(of->ctx, block, n_blocks, of->n_points, of->points, out);
}

static bool is_within(size_t from, size_t n, size_t most) { return n <= most && from <= most - n; }

/* Pieces lie within the rows, columns and numbers that there are, and no two share a number: else their norm would not be the vector's. */
static bool check_pieces(const tacit_door_t *door, const tacit_vectors_t *of, uint8_t *is_taken) {
  bool ok = true;
  for (size_t i = 0; ok && i < of->n_pieces; i++) {
    const tacit_piece_t *piece = &of->pieces[i];
    bool is_gather = piece->kind == TACIT_PIECE_GATHER, is_dense = piece->kind == TACIT_PIECE_DENSE;
    size_t n = piece->n, stride = is_gather ? piece->stride : 1, n_columns = is_dense ? 0 : is_gather ? 1 : n, last;
    ok = piece->kind <= TACIT_PIECE_GATHER && n >= 1 && n <= of->dim && stride >= 1 && isfinite(piece->first) &&
         is_within(piece->row, is_dense ? n : 1, of->n_rows) && is_within(piece->column, n_columns, door->settings.n_columns) &&
         !__builtin_mul_overflow(n - 1, stride, &last) && last < of->dim && is_within(piece->parameter, last + 1, of->dim);
    for (size_t j = 0; ok && j < n; j++) {
      ok = !is_taken[piece->parameter + j * stride];
      is_taken[piece->parameter + j * stride] = 1;
    }
  }
  return ok;
}

static tacit_status_t check_all_pieces(const tacit_door_t *door, const tacit_vectors_t *of, tacit_error_t *err) {
  uint8_t *is_taken = tacit_alloc_zero(of->dim, sizeof *is_taken);
  tacit_status_t status = is_taken == NULL                        ? tacit_error_memory(err)
                          : check_pieces(door, of, is_taken) ? TACIT_OK
                                                             : tacit_error_set(err, TACIT_ERR_ARGUMENT, "vectors",
                                                                               "the pieces of the model %s overlap, or lie outside of its records or vectors",
                                                                               door->settings.name);
  tacit_free(is_taken);
  return status;
}

static size_t room_of_turned(size_t n) { return 16 * tacit_door_padded(n) + TACIT_DOOR_PADDING; }

tacit_status_t tacit_vectors_check(tacit_door_t *door, const tacit_vectors_t *of, tacit_error_t *err) {
  if (of->dim == 0 || of->n_blocks < 1 || of->n_blocks > TACIT_VECTOR_BLOCKS || !(of->scale > 0) || of->n_features != door->settings.n_features ||
      (of->unit == NULL && door->unit_offsets != NULL)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "vectors", "the model %s does not say what its vectors are made of",
                           door->settings.name);
  }
  bool is_clip = of->clip >= 0x1p-60 && of->clip <= 0x1p60;
  if (!is_clip && (door->budget != NULL || of->unclipped == NULL)) {
    return tacit_error_set(err, TACIT_ERR_SENSITIVITY, "clip_bound_grad",
                           "the gradient of model %s has no bound of its own: give a clip bound for it", door->settings.name);
  }
  size_t n_sums = of->n_points * of->dim, n_rows = of->n_points * of->n_rows;
  tacit_room_t room = {.rows = n_rows * TACIT_VECTOR_BLOCKS * 16,
                       .block = door->settings.n_columns * 16,
                       .lanes = n_sums * 16,
                       .lanes64 = 2 * n_sums * 16,
                       .unit_sum = of->n_points * (of->dim + of->n_pieces * TACIT_DOOR_PADDING),
                       .unit_x = room_of_turned(door->settings.n_columns) + room_of_turned(n_rows),
                       .totals = n_sums + TACIT_N_NOTES,
                       .draws = n_sums,
                       .scales = n_sums,
                       .message = tacit_door_message_size(n_sums)};
  tacit_status_t status = of->rate < 1 || !(of->rate <= 1) ? tacit_subset_check(door, of->rate, err) : TACIT_OK;
  TACIT_THEN(status, tacit_door_reserve(door, &room, err));
  TACIT_THEN(status, check_all_pieces(door, of, err));
  return TACIT_THEN(status, tacit_door_probe(door, probe_rows, of, of->n_points * of->n_rows, sizeof(float), err));
}

/* ---- a pass: of all points, or one ---- */

typedef struct clipped {
  tacit_vectors_t of;
  tacit_lattice_t lattice;
  tacit_own_t own; /* of no record */
} clipped_t;

static void add_blocks(const tacit_pass_t *pass, const tacit_shown_t *shown, tacit_workspace_t *w) {
  const clipped_t *clipped = pass->of;
  const tacit_vectors_t *of = &clipped->of;
  size_t n_columns = pass->door->settings.n_columns;
  of->rows(of->ctx, shown->block, shown->n, of->n_points, of->points, w->rows);
  for (size_t i = 0; i < shown->n; i++) {
    const float *block = shown->block + i * n_columns * 16, *norms = shown->norms + i * 16, *rows = w->rows + i * of->n_points * of->n_rows * 16;
    if (pass->is_wide) {
      of->unclipped(of, block, norms, rows, w->lanes64);
    } else {
      tacit_lattice_functions()->vectors(of, n_columns, block, norms, &clipped->lattice, rows, w->lanes, &w->notes);
    }
  }
}

/* ---- units of several records ---- */

static void turn(const tacit_pass_t *pass, const tacit_shown_t *shown, tacit_workspace_t *w) {
  const clipped_t *clipped = pass->of;
  const tacit_vectors_t *of = &clipped->of;
  size_t n_columns = pass->door->settings.n_columns;
  of->rows(of->ctx, shown->block, 1, of->n_points, of->points, w->rows);
  tacit_lattice_functions()->turn(n_columns, shown->block, shown->norms, clipped->own.x_width, w->unit_x);
  tacit_lattice_functions()->turn(of->n_points * of->n_rows, w->rows, shown->norms, clipped->own.rows_width, w->unit_x + room_of_turned(n_columns));
}

static void add_unit(const tacit_pass_t *pass, size_t u, size_t b, size_t from, size_t to, tacit_workspace_t *w) {
  const clipped_t *clipped = pass->of;
  tacit_own_t own = clipped->own;
  (void)u, (void)b;
  own.n = to - from;
  own.x = w->unit_x + from * own.x_width;
  own.rows = w->unit_x + room_of_turned(pass->door->settings.n_columns) + from * own.rows_width;
  clipped->of.unit(&clipped->of, &own, w->unit_sum, NULL, &w->notes);
}

/* A unit's whole numbers are a lane of sixteen units; those too long are dropped. What is at hand is after the totals. */
static void end_unit(const tacit_pass_t *pass, size_t u, bool is_last, tacit_workspace_t *w) {
  static const float all_count[16];
  const clipped_t *clipped = pass->of;
  const tacit_vectors_t *of = &clipped->of;
  int64_t *k = w->lanes64 + pass->n_sums * 16;
  of->unit(of, &clipped->own, w->unit_sum, k + u % 16, &w->notes);
  for (size_t at = 0; (u % 16 == 15 || is_last) && at < pass->n_sums * 16; at += of->dim * 16) {
    tacit_lattice_functions()->whole(all_count, of->dim, clipped->lattice.radius, k + at, w->lanes64 + at);
    memset(k + at, 0, of->dim * 16 * sizeof *k);
  }
}

void tacit_vectors_sum(tacit_door_t *door, const tacit_vectors_t *vectors, size_t k) {
  bool is_clipped = isfinite(vectors->clip), is_drawn = k < SIZE_MAX, is_by_units = door->unit_offsets != NULL && is_clipped;
  clipped_t clipped = {.of = *vectors};
  if (is_clipped) {
    clipped.lattice = tacit_lattice_for(vectors, vectors->clip);
    clipped.own = (tacit_own_t){.x_width = tacit_door_padded(door->settings.n_columns),
                                .rows_width = tacit_door_padded(vectors->n_points * vectors->n_rows),
                                .scale = (double)clipped.lattice.scale_in, .most = (double)clipped.lattice.scale_out};
  }
  if (is_drawn) {
    clipped.of.n_points = 1;
    clipped.of.points += k * vectors->dim;
  }
  tacit_pass_t pass = {.door = door, .of = &clipped, .n_sums = clipped.of.n_points * vectors->dim, .n_lanes = 16,
                       .n_blocks = vectors->n_blocks, .is_wide = is_by_units || !is_clipped, .is_drawn = is_drawn, .is_by_units = is_by_units,
                       .n_noted = clipped.of.n_points, .show = is_by_units ? turn : add_blocks, .unit_add = add_unit, .unit_end = end_unit};
  tacit_door_sum(&pass);
}

void tacit_door_round(const tacit_vectors_t *of, size_t n_columns, const float *block, const float *norms, const float *rows,
                      int32_t *lanes) {
  tacit_lattice_t lattice = tacit_lattice_for(of, of->clip);
  tacit_door_notes_t notes = {0};
  tacit_lattice_functions()->vectors(of, n_columns, block, norms, &lattice, rows, lanes, &notes);
}
