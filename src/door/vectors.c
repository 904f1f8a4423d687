/*
 * Sums of vectors of floats: a block of 16 records at a time, where a unit is a record; else a unit's records are summed first, in
 * double and in their order, and that sum is clipped. Then a block's numbers are turned around, so that machine vectors run over
 * those of one record.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "door/door_internal.h"

typedef struct pass {
  tacit_door_t *door;
  tacit_vectors_t of; /* of the pass: all points, or one */
  tacit_lattice_t lattice;
  bool is_clipped;
} pass_t;

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static void add(const pass_t *pass, tacit_workspace_t *w, const float *block, const float *norms, const float *rows) {
  if (pass->is_clipped) {
    tacit_lattice_functions()->vectors(&pass->of, pass->door->settings.n_columns, block, norms, &pass->lattice, rows, w->lanes, &w->notes);
  } else {
    pass->of.unclipped(&pass->of, block, norms, rows, w->lanes64);
  }
}

static void blocks_part(void *user, size_t first, size_t last, size_t thread) {
  const pass_t *pass = user;
  const tacit_vectors_t *of = &pass->of;
  const tacit_door_t *door = pass->door;
  tacit_workspace_t *w = &door->workspaces[thread];
  size_t n_sums = of->n_points * of->dim, n_rows = of->n_points * of->n_rows * 16;
  memset(w->lanes, 0, n_sums * 16 * sizeof *w->lanes);
  memset(w->lanes64, 0, (pass->is_clipped ? 0 : n_sums * 16) * sizeof *w->lanes64);
  for (size_t b = first; b < last; b += of->n_blocks) {
    size_t n = least(last - b, of->n_blocks);
    of->rows(of->ctx, tacit_records_block(door->records, b), n, of->n_points, of->points, w->rows);
    for (size_t i = 0; i < n; i++) {
      add(pass, w, tacit_records_block(door->records, b + i), door->lane_norm + (b + i) * 16, w->rows + i * n_rows);
    }
  }
  w->notes.n_grad += (last - first) * 16 * of->n_points;
  tacit_workspace_flush(w, n_sums, !pass->is_clipped);
}

static void add_drawn(const void *user, size_t n, tacit_workspace_t *w) {
  const pass_t *pass = user;
  pass->of.rows(pass->of.ctx, w->block, 1, 1, pass->of.points, w->rows);
  add(pass, w, w->block, w->norms, w->rows);
  w->notes.n_grad += n;
}

/* Totals without the padding. */
static void flush_units(const tacit_vectors_t *of, tacit_workspace_t *w) {
  for (size_t k = 0, at = 0; k < of->n_points; k++) {
    for (size_t i = 0; i < of->n_pieces; at += tacit_padded(of->pieces[i++].n)) {
      const tacit_piece_t *piece = &of->pieces[i];
      for (size_t j = 0; j < piece->n; j++) {
        w->totals[k * of->dim + piece->parameter + j * (piece->kind == TACIT_PIECE_GATHER ? piece->stride : 1)] += w->lanes64[at + j];
      }
    }
  }
}

static size_t room_of_turned(size_t n) { return 16 * tacit_padded(n) + TACIT_PADDING; }

/* One unit after another, and its records in their order: its bits depend on nothing else. */
static void units_part(void *user, size_t first, size_t last, size_t thread) {
  const pass_t *pass = user;
  const tacit_vectors_t *of = &pass->of;
  const tacit_door_t *door = pass->door;
  const tacit_lattice_functions_t *kernel = tacit_lattice_functions();
  tacit_workspace_t *w = &door->workspaces[thread];
  size_t n_columns = door->settings.n_columns, n_rows = of->n_points * of->n_rows, n_sums = tacit_padded_sums(of), at = SIZE_MAX;
  tacit_turned_t x = {w->unit_x, tacit_padded(n_columns)}, rows = {w->unit_x + room_of_turned(n_columns), tacit_padded(n_rows)};
  memset(w->lanes64, 0, of->n_points * n_sums * sizeof *w->lanes64);
  memset(w->unit_sum, 0, of->n_points * n_sums * sizeof *w->unit_sum);
  for (size_t u = first; u < last; u++) {
    for (size_t i = door->unit_offsets[u], end = door->unit_offsets[u + 1], to; i < end; i = to) {
      size_t b = i / 16;
      to = least(end, 16 * (b + 1));
      if (b != at) {
        at = b;
        of->rows(of->ctx, tacit_records_block(door->records, b), 1, of->n_points, of->points, w->rows);
        kernel->turn(n_columns, tacit_records_block(door->records, b), door->lane_norm + 16 * b, &x);
        kernel->turn(n_rows, w->rows, door->lane_norm + 16 * b, &rows);
      }
      kernel->unit_add(of, &pass->lattice, i - 16 * b, to - 16 * b, &x, &rows, w->unit_sum);
    }
    for (size_t k = 0; k < of->n_points; k++) {
      kernel->unit_end(of, &pass->lattice, w->unit_sum + k * n_sums, w->lanes64 + k * n_sums, &w->notes);
    }
  }
  flush_units(of, w);
  w->notes.n_grad += (last - first) * of->n_points;
}

tacit_room_t tacit_vectors_room(const tacit_door_t *door, const tacit_vectors_t *of) {
  size_t n_sums = of->n_points * of->dim, n_rows = of->n_points * of->n_rows;
  return (tacit_room_t){.rows = n_rows * TACIT_VECTOR_BLOCKS * 16,
                        .block = door->settings.n_columns * 16,
                        .lanes = n_sums * 16,
                        .lanes64 = isfinite(of->clip) ? of->n_points * tacit_padded_sums(of) : n_sums * 16,
                        .unit_sum = of->n_points * tacit_padded_sums(of),
                        .unit_x = room_of_turned(door->settings.n_columns) + room_of_turned(n_rows),
                        .totals = n_sums,
                        .draws = n_sums,
                        .sums = n_sums,
                        .message = tacit_door_message_size(n_sums)};
}

void tacit_vectors_sum(tacit_door_t *door, const tacit_vectors_t *vectors, size_t k) {
  pass_t pass = {.door = door, .of = *vectors, .is_clipped = isfinite(vectors->clip)};
  if (pass.is_clipped) {
    pass.lattice = tacit_lattice_for(vectors, vectors->clip);
  }
  if (k < SIZE_MAX) {
    pass.of.n_points = 1;
    pass.of.points += k * vectors->dim;
    tacit_subset_sum(door, vectors->dim, !pass.is_clipped, add_drawn, &pass);
    return;
  }
  bool is_by_units = door->unit_offsets != NULL && pass.is_clipped;
  tacit_door_sum(door, vectors->n_points * vectors->dim, is_by_units, is_by_units ? units_part : blocks_part, &pass);
}

void tacit_door_round(const tacit_vectors_t *of, size_t n_columns, const float *block, const float *norms, const float *rows,
                      int32_t *lanes) {
  tacit_lattice_t lattice = tacit_lattice_for(of, of->clip);
  tacit_door_notes_t notes = {0};
  tacit_lattice_functions()->vectors(of, n_columns, block, norms, &lattice, rows, lanes, &notes);
}
