/*
 * Sums of vectors of floats: a block of 16 records at a time, where a unit is a record. Else the contribution
 * is shown 16 units at a time, a unit a lane, and what it wrote for their records, and clips their sums
 * itself; that each lane's whole numbers are short enough is checked. What is lent is zero when a group
 * begins, and is cleared when it ends.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "door/door_internal.h"

/* ---- what is asked for ---- */

static bool is_within(size_t from, size_t n, size_t most) { return n <= most && from <= most - n; }

/* Pieces lie within the rows, columns and numbers that there are, and no two share a number: else their norm
 * would not be the vector's. */
static bool check_pieces(const tacit_door_t *door, const tacit_vectors_t *of, uint8_t *is_taken) {
  bool ok = true;
  for (size_t i = 0; ok && i < of->n_pieces; i++) {
    const tacit_piece_t *piece = &of->pieces[i];
    bool is_gather = piece->kind == TACIT_PIECE_GATHER, is_dense = piece->kind == TACIT_PIECE_DENSE;
    size_t n = piece->n, stride = is_gather ? piece->stride : 1,
           n_columns = is_dense    ? 0
                       : is_gather ? 1
                                   : n,
           last;
    ok = piece->kind <= TACIT_PIECE_GATHER && n >= 1 && n <= of->dim && stride >= 1 &&
         isfinite(piece->first) && is_within(piece->row, is_dense ? n : 1, of->n_rows) &&
         is_within(piece->column, n_columns, door->settings.n_columns) &&
         !__builtin_mul_overflow(n - 1, stride, &last) && last < of->dim &&
         is_within(piece->parameter, last + 1, of->dim);
    for (size_t j = 0; ok && j < n; j++) {
      ok = !is_taken[piece->parameter + j * stride];
      is_taken[piece->parameter + j * stride] = 1;
    }
  }
  return ok;
}

static tacit_status_t check_all_pieces(const tacit_door_t *door, const tacit_vectors_t *of,
                                       tacit_error_t *err) {
  uint8_t *is_taken = tacit_alloc_zero(of->dim, sizeof *is_taken);
  tacit_status_t status =
      is_taken == NULL ? tacit_error_memory(err)
      : check_pieces(door, of, is_taken)
          ? TACIT_OK
          : tacit_error_set(err, TACIT_ERR_ARGUMENT, "vectors",
                            "the pieces of the model %s overlap, or lie outside of its records or vectors",
                            door->settings.name);
  tacit_free(is_taken);
  return status;
}

static bool is_by_units(const tacit_door_t *door, const tacit_vectors_t *of) {
  return door->unit_offsets != NULL && isfinite(of->clip);
}

static tacit_sizes_t sizes_of(const tacit_door_t *door, const tacit_vectors_t *of) {
  size_t n_sums = of->n_points * of->dim, n_rows = of->n_points * of->n_rows,
         n_columns = door->settings.n_columns;
  bool by_units = is_by_units(door, of), is_clipped = isfinite(of->clip);
  return (tacit_sizes_t){.rows = n_rows * of->n_blocks * 16,
                         .block = n_columns * (by_units ? of->n_blocks : 1) * 16,
                         .lanes = is_clipped ? n_sums * 16 : 0,
                         .lanes64 = is_clipped ? 0 : n_sums * 16,
                         .unit_sum = by_units ? n_sums * 16 : 0,
                         .group_k = by_units ? n_sums * 16 : 0,
                         .totals = n_sums + TACIT_N_NOTES,
                         .draws = n_sums,
                         .scales = n_sums,
                         .message = tacit_door_message_size(n_sums)};
}

static tacit_status_t probe(tacit_door_t *door, const tacit_vectors_t *of, const tacit_sizes_t *sizes,
                            tacit_error_t *err);

tacit_status_t tacit_vectors_check(tacit_door_t *door, const tacit_vectors_t *of, tacit_error_t *err) {
  size_t most = TACIT_MAX_NUMBERS;
  if (of->dim > most || of->n_points > most || of->n_rows > most || of->n_pieces > most) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "vectors",
        "the model %s asks for vectors of %zu numbers at %zu points: at most %zu of either are provided for",
        door->settings.name, of->dim, of->n_points, most);
  }
  if (of->dim == 0 || of->n_blocks < 1 || of->n_blocks > TACIT_VECTOR_BLOCKS || !(of->scale > 0) ||
      of->n_features != door->settings.n_features || (of->units == NULL && door->unit_offsets != NULL)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "vectors",
                           "the model %s does not say what its vectors are made of", door->settings.name);
  }
  bool is_clip = of->clip >= 0x1p-60 && of->clip <= 0x1p60;
  if (!is_clip && (door->budget != NULL || of->unclipped == NULL)) {
    return tacit_error_set(err, TACIT_ERR_SENSITIVITY, "clip_bound_grad",
                           "the gradient of model %s has no bound of its own: give a clip bound for it",
                           door->settings.name);
  }
  tacit_sizes_t sizes = sizes_of(door, of);
  tacit_status_t status =
      of->rate < 1 || !(of->rate <= 1) ? tacit_subset_check(door, of->rate, err) : TACIT_OK;
  TACIT_THEN(status, tacit_door_reserve(door, &sizes, err));
  TACIT_THEN(status, check_all_pieces(door, of, err));
  return TACIT_THEN(status, probe(door, of, &sizes, err));
}

/* ---- a pass: of all points, or one ---- */

typedef struct clipped {
  tacit_vectors_t of;
  tacit_lattice_t lattice;
  tacit_layers_t none; /* layers */
} clipped_t;

static clipped_t clipped_for(const tacit_door_t *door, const tacit_vectors_t *of) {
  clipped_t clipped = {.of = *of};
  if (isfinite(of->clip)) {
    clipped.lattice = tacit_lattice_for(of, of->clip);
    clipped.none = (tacit_layers_t){.n_columns = door->settings.n_columns,
                                    .scale = (double)clipped.lattice.scale_in,
                                    .most = (double)clipped.lattice.scale_out};
  }
  return clipped;
}

/* What is not written is zero. */
static void ask(const tacit_vectors_t *of, const float *block, size_t n_blocks, float *rows) {
  memset(rows, 0, n_blocks * of->n_points * of->n_rows * 16 * sizeof *rows);
  of->rows(of->ctx, block, n_blocks, of->n_points, of->points, rows);
}

static void add_blocks(const tacit_pass_t *pass, const tacit_shown_t *shown, tacit_workspace_t *w) {
  const clipped_t *clipped = pass->of;
  const tacit_vectors_t *of = &clipped->of;
  size_t n_columns = pass->door->settings.n_columns;
  ask(of, shown->block, shown->n, w->rows);
  if (!pass->is_wide) {
    tacit_lattice_functions()->vectors(of, n_columns, shown->n, shown->block, shown->norms, &clipped->lattice,
                                       w->rows, w->lanes, &w->notes);
    return;
  }
  for (size_t i = 0; i < shown->n; i++) {
    of->unclipped(of, shown->block + i * n_columns * 16, shown->norms + i * 16,
                  w->rows + i * of->n_points * of->n_rows * 16, w->lanes64);
  }
}

/* ---- units of several records ---- */

/* Nothing is left of what was written for a copy's lanes without a record that counts. */
static void show_layers(const tacit_pass_t *pass, const tacit_shown_t *shown, tacit_workspace_t *w) {
  const tacit_vectors_t *of = &((const clipped_t *)pass->of)->of;
  const size_t n_rows = of->n_points * of->n_rows;
  ask(of, shown->block, shown->n, w->rows);
  for (size_t i = 0; shown->at == SIZE_MAX && i < shown->n * 16; i++) {
    for (size_t r = 0; !(shown->norms[i] <= FLT_MAX) && r < n_rows; r++) {
      w->rows[(i / 16 * n_rows + r) * 16 + i % 16] = 0;
    }
  }
}

/* Their notes are those of the units that were added. */
static void add_group(const tacit_pass_t *pass, const tacit_shown_t *shown, size_t at, size_t n,
                      tacit_workspace_t *w) {
  const clipped_t *clipped = pass->of;
  const tacit_vectors_t *of = &clipped->of;
  tacit_layers_t layers = clipped->none;
  tacit_door_notes_t notes = {0};
  layers.n = n;
  layers.x = shown->block + at * layers.n_columns * 16;
  layers.rows = w->rows + at * of->n_points * of->n_rows * 16;
  of->units(of, &layers, w->unit_sum, NULL, &notes);
}

/* ->group_k <- whole numbers; the notes of other groups are not shown either. */
static void finish_group(const clipped_t *clipped, tacit_workspace_t *w) {
  const tacit_vectors_t *of = &clipped->of;
  tacit_door_notes_t notes = {0};
  of->units(of, &clipped->none, w->unit_sum, w->group_k, &notes);
  w->notes.n_grad_clipped += notes.n_grad_clipped;
  w->notes.n_non_finite += notes.n_non_finite;
  memset(w->unit_sum, 0, of->n_points * of->dim * 16 * sizeof *w->unit_sum);
}

/* Whole numbers are in the ball (lemma 1.1), or dropped. */
static void end_group(const tacit_pass_t *pass, size_t n_units, tacit_workspace_t *w) {
  const clipped_t *clipped = pass->of;
  const size_t dim = clipped->of.dim;
  finish_group(clipped, w);
  for (size_t at = 0; at < pass->n_sums; at += dim) {
    tacit_lattice_functions()->units(n_units, dim, clipped->lattice.radius, w->group_k + at * 16,
                                     w->lanes + at * 16, &w->notes);
  }
  memset(w->group_k, 0, pass->n_sums * 16 * sizeof *w->group_k);
}

void tacit_vectors_sum(tacit_door_t *door, const tacit_vectors_t *vectors, size_t k) {
  bool is_clipped = isfinite(vectors->clip), is_drawn = k < SIZE_MAX, by_units = is_by_units(door, vectors);
  tacit_vectors_t of = *vectors;
  if (is_drawn) {
    of.n_points = 1;
    of.points += k * of.dim;
  }
  clipped_t clipped = clipped_for(door, &of);
  tacit_sizes_t sizes = sizes_of(door, &of);
  tacit_pass_t pass = {.door = door,
                       .of = &clipped,
                       .sizes = &sizes,
                       .n_sums = of.n_points * of.dim,
                       .n_lanes = 16,
                       .n_blocks = of.n_blocks,
                       .is_wide = !is_clipped,
                       .is_drawn = is_drawn,
                       .is_by_units = by_units,
                       .n_noted = of.n_points,
                       .show = by_units ? show_layers : add_blocks,
                       .group_add = add_group,
                       .group_end = end_group};
  tacit_door_sum(&pass);
}

/* ---- the probe ---- */

static void probe_rows(void *user, const float *block, size_t n_blocks, void *out) {
  ask(((tacit_probed_t *)user)->contribution, block, n_blocks, out);
}

/* Made-up groups: a unit's records are those of its lane, their columns moved on from one to the next. */
enum { PROBE_ROWS = 3 };

/* The block, its columns moved on by t; nothing past a unit's last record. */
static void fill_layer(const float *block, size_t n_columns, size_t t, float *layer) {
  for (size_t j = 0; j < n_columns; j++) {
    memcpy(layer + j * 16, block + (j + t) % n_columns * 16, 16 * sizeof *layer);
  }
  if (t >= PROBE_ROWS) {
    memset(layer, 0, n_columns * 16 * sizeof *layer);
  }
}

/*
 * answers (2 n, 16) <- what units of one record add, and of PROBE_ROWS, with another number of layers behind
 * them at every call: a unit must not see how many records its neighbours have.
 */
static void probe_group(tacit_probed_t *probed, size_t n_rows, const float *block, int64_t *answers) {
  tacit_door_t *door = probed->door;
  const tacit_sizes_t *sizes = probed->sizes;
  tacit_workspace_t *w = door->workspaces;
  clipped_t clipped = clipped_for(door, probed->contribution);
  tacit_pass_t pass = {.door = door, .of = &clipped};
  const size_t n_columns = door->settings.n_columns, n = clipped.of.n_points * clipped.of.dim,
               n_layers = n_rows + probed->n_calls++ % 4 * clipped.of.n_blocks / 2;
  for (size_t t = 0; t < n_layers; t += clipped.of.n_blocks) {
    tacit_shown_t shown = {w->block, w->norms,
                           n_layers - t < clipped.of.n_blocks ? n_layers - t : clipped.of.n_blocks, SIZE_MAX};
    for (size_t i = 0; i < shown.n; i++) {
      fill_layer(block, n_columns, t + i < n_rows ? t + i : PROBE_ROWS, w->block + i * n_columns * 16);
      for (size_t lane = 0; lane < 16; lane++) {
        w->norms[i * 16 + lane] = t + i < n_rows ? 1 : NAN;
      }
    }
    show_layers(&pass, &shown, w);
    add_group(&pass, &shown, 0, shown.n, w);
  }
  finish_group(&clipped, w);
  for (size_t i = 0; i < n * 16; i++) {
    answers[i] = w->group_k[i];
  }
  memset(w->group_k, 0, sizes->group_k * sizeof *w->group_k);
}

static void probe_units(void *user, const float *block, size_t n_blocks, void *out) {
  tacit_probed_t *probed = user;
  const tacit_vectors_t *of = probed->contribution;
  const size_t n = of->n_points * of->dim * 16;
  int64_t *answers = out;
  for (size_t b = 0; b < n_blocks; b++, answers += 2 * n) {
    const float *own = block + b * probed->door->settings.n_columns * 16;
    probe_group(probed, 1, own, answers);
    probe_group(probed, PROBE_ROWS, own, answers + n);
  }
}

static tacit_status_t probe(tacit_door_t *door, const tacit_vectors_t *of, const tacit_sizes_t *sizes,
                            tacit_error_t *err) {
  tacit_probed_t probed = {.door = door, .contribution = of, .sizes = sizes};
  tacit_status_t status =
      tacit_door_probe(&probed, probe_rows, of->n_points * of->n_rows, TACIT_PROBE_FLOATS, err);
  return status == TACIT_OK && is_by_units(door, of)
             ? tacit_door_probe(&probed, probe_units, 2 * of->n_points * of->dim, TACIT_PROBE_WHOLE, err)
             : status;
}

void tacit_door_round(const tacit_vectors_t *of, size_t n_columns, const float *block, const float *norms,
                      const float *rows, int32_t *lanes) {
  tacit_lattice_t lattice = tacit_lattice_for(of, of->clip);
  tacit_door_notes_t notes = {0};
  tacit_lattice_functions()->vectors(of, n_columns, 1, block, norms, &lattice, rows, lanes, &notes);
}
