/*
 * Sums of vectors of floats: a block of 16 records at a time, where a unit is a record; else a unit's records are summed first, in
 * double and in their order, and that sum is clipped. Then a block's features are turned around, so that machine vectors run over
 * the numbers of one record.
 */
#include <math.h>
#include <string.h>

#include "door/door_internal.h"

typedef struct pass {
  tacit_door_t *door;
  tacit_vectors_t of; /* of the pass: all points, or one */
  tacit_lattice_t lattice;
  bool is_clipped;
} pass_t;

/* Numbers of a record and point that `rows` writes. */
static size_t n_rows_of(const tacit_vectors_t *of) {
  return of->n_linear > 0 ? of->n_linear + of->n_extra : of->dim;
}

static void add(const pass_t *pass, tacit_workspace_t *w, const float *block, const float *norms, const float *rows) {
  const tacit_lattice_functions_t *kernel = tacit_lattice_functions();
  const tacit_vectors_t *of = &pass->of;
  if (!pass->is_clipped) {
    of->unclipped(of, block, norms, rows, w->lanes64);
  } else if (of->n_linear > 0) {
    kernel->linear(of, pass->door->settings.n_columns, of->n_points, block, norms, &pass->lattice, rows, w->lanes, &w->notes);
  } else {
    kernel->dense(of, of->n_points, norms, &pass->lattice, rows, w->lanes, &w->notes);
  }
}

/* The same in pieces. */
static void add_pieces(const pass_t *pass, tacit_workspace_t *w, const float *block, const float *norms, const float *rows) {
  const tacit_vectors_t *of = &pass->of;
  size_t n_features = pass->door->settings.n_features;
  if (pass->is_clipped) {
    tacit_lattice_functions()->pieces(of, n_features, pass->door->settings.n_columns, block, norms, &pass->lattice, rows, w->lanes, &w->notes);
  } else {
    of->unclipped(of, block, norms, rows, w->lanes64);
  }
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static void pieces_part(const pass_t *pass, size_t first, size_t last, tacit_workspace_t *w) {
  const tacit_vectors_t *of = &pass->of;
  const tacit_door_t *door = pass->door;
  size_t n_near = TACIT_PIECE_BYTES / (door->settings.n_columns * TACIT_BLOCK * sizeof(float));
  size_t at_a_time = least(n_near > 2 ? n_near : 2, TACIT_PIECE_BLOCKS), n_rows = of->n_points * of->n_rows * 16;
  for (size_t b = first; b < last; b += at_a_time) {
    size_t n = least(last - b, at_a_time);
    of->blocks(of->ctx, tacit_records_block(door->records, b), n, of->n_points, of->points, w->rows);
    for (size_t i = 0; i < n; i++) {
      add_pieces(pass, w, tacit_records_block(door->records, b + i), door->lane_norm + (b + i) * 16, w->rows + i * n_rows);
    }
  }
}

static void blocks_part(void *user, size_t first, size_t last, size_t thread) {
  const pass_t *pass = user;
  const tacit_vectors_t *of = &pass->of;
  const tacit_door_t *door = pass->door;
  tacit_workspace_t *w = &door->workspaces[thread];
  size_t n_sums = of->n_points * of->dim, n_rows = of->n_points * n_rows_of(of) * 16, n_blocks = last - first;
  memset(w->lanes, 0, n_sums * 16 * sizeof *w->lanes);
  memset(w->lanes64, 0, (pass->is_clipped ? 0 : n_sums * 16) * sizeof *w->lanes64);
  size_t at_a_time = of->n_linear > 1 ? TACIT_ROW_BLOCKS : 1;
  if (of->n_pieces > 0) {
    pieces_part(pass, first, last, w);
    first = last;
  }
  for (size_t b = first; b < last; b += at_a_time) {
    size_t n = last - b < at_a_time ? last - b : at_a_time;
    for (size_t i = 0; i < n; i++) {
      of->rows(of->ctx, tacit_records_block(door->records, b + i), of->n_points, of->points, w->rows + i * n_rows);
    }
    for (size_t i = 0; i < n; i++) {
      add(pass, w, tacit_records_block(door->records, b + i), door->lane_norm + (b + i) * 16, w->rows + i * n_rows);
    }
  }
  w->notes.n_grad += n_blocks * 16 * of->n_points;
  tacit_workspace_flush(w, n_sums, !pass->is_clipped);
}

static void add_drawn(const void *user, size_t n, tacit_workspace_t *w) {
  const pass_t *pass = user;
  pass->of.rows(pass->of.ctx, w->block, 1, pass->of.points, w->rows);
  add(pass, w, w->block, w->norms, w->rows);
  w->notes.n_grad += n;
}

/* ---- units of several records ---- */

static size_t padded(size_t n) {
  return (n + TACIT_UNIT_ALIGNMENT - 1) / TACIT_UNIT_ALIGNMENT * TACIT_UNIT_ALIGNMENT;
}

/* Numbers in the sum of a unit's records, padding included. */
static size_t unit_n_sums(const tacit_vectors_t *of) {
  return of->n_linear > 0 ? of->n_linear * padded(of->n_features) + padded(of->n_extra) : padded(of->dim);
}

/*
 * at <- the units with records in block b, from *unit on and before `last`; *unit becomes the first that begins in a later block,
 * or the one that goes on there. Units without records are passed over: their sums are zero.
 */
static void find_units(const tacit_door_t *door, size_t b, size_t *unit, size_t last, tacit_unit_block_t *at) {
  const size_t *offsets = door->unit_offsets;
  size_t u = *unit, n = 0, start = b * 16, end = start + 16;
  bool continues = false;
  at->is_continued = offsets[u] < start;
  for (; u < last && offsets[u] < end && !continues; u += !continues) {
    size_t from = offsets[u] > start ? offsets[u] : start, to = offsets[u + 1];
    if (from < to) {
      continues = to > end;
      at->begins[n++] = from - start;
      at->begins[n] = continues ? 16 : to - start;
    }
  }
  *unit = u;
  at->n_units = n;
  at->continues = continues;
}

/* Add a block's records to their units. */
static void add_to_units(const pass_t *pass, tacit_workspace_t *w, const float *block, const tacit_unit_block_t *at) {
  static const float ones[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  const tacit_lattice_functions_t *kernel = tacit_lattice_functions();
  const tacit_vectors_t *of = &pass->of;
  size_t n_rows = n_rows_of(of);
  if (of->n_linear > 0) {
    kernel->turn(of->n_features, block, at->valid, at->width, w->unit_x);
  }
  for (size_t k = 0; k < of->n_points; k++) {
    const float *rows = w->rows + k * n_rows * 16;
    if (of->n_linear == 0) {
      kernel->turn(n_rows, rows, at->valid, at->width, w->unit_x);
    }
    kernel->units(at, &pass->lattice, of->n_linear > 0 ? rows : ones, w->unit_weights, w->unit_sum,
                  w->unit_sum + (16 + k) * at->n_sums, w->lanes64 + k * at->n_sums, &w->notes);
  }
}

/* Totals without the padding. */
static void flush_units(const tacit_vectors_t *of, tacit_workspace_t *w) {
  size_t p = of->n_linear > 0 ? of->n_features : of->dim, n_products = of->n_linear * p;
  for (size_t i = 0; i < of->n_points * of->dim; i++) {
    size_t j = i % of->dim;
    bool is_extra = of->n_linear > 0 && j >= n_products;
    size_t at = is_extra ? of->n_linear * padded(p) + j - n_products : j / p * padded(p) + j % p;
    w->totals[i] += w->lanes64[i / of->dim * unit_n_sums(of) + at];
  }
}

/* One record after another: a unit's bits depend on nothing else. */
static void units_part(void *user, size_t first, size_t last, size_t thread) {
  const pass_t *pass = user;
  const tacit_vectors_t *of = &pass->of;
  const tacit_door_t *door = pass->door;
  tacit_workspace_t *w = &door->workspaces[thread];
  bool is_linear = of->n_linear > 0;
  tacit_unit_block_t at = {.n_linear = is_linear ? of->n_linear : 1,
                           .n_extra = is_linear ? of->n_extra : 0,
                           .width = padded(is_linear ? of->n_features : of->dim),
                           .n_sums = unit_n_sums(of),
                           .x = w->unit_x};
  memset(w->lanes64, 0, of->n_points * at.n_sums * sizeof *w->lanes64);
  w->notes.n_grad += (last - first) * of->n_points;
  size_t end = door->unit_offsets[last], unit = first;
  for (size_t b = door->unit_offsets[first] / 16; b * 16 < end; b++) {
    const float *block = tacit_records_block(door->records, b);
    find_units(door, b, &unit, last, &at);
    at.valid = tacit_lattice_functions()->valid(door->lane_norm + b * 16);
    of->rows(of->ctx, block, of->n_points, of->points, w->rows);
    add_to_units(pass, w, block, &at);
  }
  flush_units(of, w);
}

/* ---- the sum ---- */

tacit_room_t tacit_vectors_room(const tacit_door_t *door, const tacit_vectors_t *of) {
  size_t n_sums = of->n_points * of->dim, unit_sums = unit_n_sums(of);
  bool is_exposed = !isfinite(of->clip);
  size_t n_rows = n_rows_of(of) * TACIT_ROW_BLOCKS, n_piece_rows = of->n_pieces > 0 ? of->n_rows * TACIT_PIECE_BLOCKS : 0;
  tacit_room_t room = {.rows = of->n_points * (n_rows > n_piece_rows ? n_rows : n_piece_rows) * 16,
                       .block = door->settings.n_columns * 16,
                       .lanes = n_sums * 16,
                       .lanes64 = is_exposed ? n_sums * 16 : 0,
                       .totals = n_sums,
                       .draws = n_sums,
                       .sums = n_sums,
                       .message = tacit_door_message_size(n_sums)};
  if (door->unit_offsets != NULL) {
    room.lanes64 = is_exposed ? room.lanes64 : of->n_points * unit_sums;
    room.unit_sum = (16 + of->n_points) * unit_sums;
    room.unit_weights = (n_rows_of(of) + 1) * 16;
    room.unit_x = unit_sums * 16;
  }
  return room;
}

void tacit_vectors_sum(tacit_door_t *door, const tacit_vectors_t *vectors, size_t k) {
  pass_t pass = {.door = door, .of = *vectors, .is_clipped = isfinite(vectors->clip)};
  bool is_by_units = door->unit_offsets != NULL && pass.is_clipped;
  if (is_by_units || k < SIZE_MAX) {
    pass.of.n_pieces = 0;
  }
  if (pass.is_clipped) {
    pass.lattice = tacit_lattice_for(&pass.of, vectors->clip);
  }
  if (k < SIZE_MAX) {
    pass.of.n_points = 1;
    pass.of.points += k * vectors->dim;
    tacit_subset_sum(door, vectors->dim, !pass.is_clipped, add_drawn, &pass);
    return;
  }
  tacit_door_sum(door, vectors->n_points * vectors->dim, is_by_units, is_by_units ? units_part : blocks_part, &pass);
}

void tacit_door_round(const tacit_vectors_t *of, size_t n_columns, const float *block, const float *norms, const float *rows,
                      int32_t *lanes) {
  tacit_lattice_t lattice = tacit_lattice_for(of, of->clip);
  tacit_door_notes_t notes = {0};
  tacit_lattice_functions()->linear(of, n_columns, of->n_points, block, norms, &lattice, rows, lanes, &notes);
}
