/*
 * Sums of vectors of floats: a block of 16 records at a time, where a unit is a record. Else the contribution
 * is shown a copy of a unit's own records and of what it wrote for them, and clips their sum itself; that its
 * whole numbers are short enough is checked. What is lent is zero when a unit begins, and is cleared when it
 * ends.
 */
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

/* Numbers of a block's records, turned; past the last of each may be read. */
static size_t size_of_turned(size_t n) { return 16 * tacit_door_padded(n) + TACIT_DOOR_PADDING; }

static bool is_by_units(const tacit_door_t *door, const tacit_vectors_t *of) {
  return door->unit_offsets != NULL && isfinite(of->clip);
}

static size_t n_unit_sums(const tacit_vectors_t *of) {
  return of->n_points * (of->dim + of->n_pieces * TACIT_DOOR_PADDING);
}

static tacit_sizes_t sizes_of(const tacit_door_t *door, const tacit_vectors_t *of) {
  size_t n_sums = of->n_points * of->dim, n_rows = of->n_points * of->n_rows,
         n_columns = door->settings.n_columns;
  bool by_units = is_by_units(door, of), is_clipped = isfinite(of->clip);
  size_t turned = by_units ? size_of_turned(n_columns) + size_of_turned(n_rows) : 0;
  return (tacit_sizes_t){.rows = n_rows * of->n_blocks * 16,
                         .block = n_columns * 16,
                         .lanes = is_clipped && !by_units ? n_sums * 16 : 0,
                         .lanes64 = by_units     ? n_sums
                                    : is_clipped ? 0
                                                 : n_sums * 16,
                         .unit_sum = by_units ? n_unit_sums(of) : 0,
                         .unit_x = turned,
                         .own_x = turned,
                         .unit_k = by_units ? n_sums : 0,
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
      of->n_features != door->settings.n_features || (of->unit == NULL && door->unit_offsets != NULL)) {
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
  tacit_own_t own; /* of no record */
} clipped_t;

static clipped_t clipped_for(const tacit_door_t *door, const tacit_vectors_t *of) {
  clipped_t clipped = {.of = *of};
  if (isfinite(of->clip)) {
    clipped.lattice = tacit_lattice_for(of, of->clip);
    clipped.own = (tacit_own_t){.x_width = tacit_door_padded(door->settings.n_columns),
                                .rows_width = tacit_door_padded(of->n_points * of->n_rows),
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

static void turn(const tacit_pass_t *pass, const tacit_shown_t *shown, tacit_workspace_t *w) {
  const clipped_t *clipped = pass->of;
  const tacit_vectors_t *of = &clipped->of;
  size_t n_columns = pass->door->settings.n_columns;
  ask(of, shown->block, 1, w->rows);
  tacit_lattice_functions()->turn(n_columns, shown->block, shown->norms, clipped->own.x_width, w->unit_x);
  tacit_lattice_functions()->turn(of->n_points * of->n_rows, w->rows, shown->norms, clipped->own.rows_width,
                                  w->unit_x + size_of_turned(n_columns));
}

static void add_unit(const tacit_pass_t *pass, size_t u, size_t b, size_t from, size_t to,
                     tacit_workspace_t *w) {
  const clipped_t *clipped = pass->of;
  const size_t x_size = size_of_turned(pass->door->settings.n_columns);
  tacit_own_t own = clipped->own;
  size_t n_x = (to - from) * own.x_width, n_rows = (to - from) * own.rows_width;
  tacit_door_notes_t notes = {0};
  (void)u, (void)b;
  own.n = to - from;
  own.x = w->own_x;
  own.rows = w->own_x + x_size;
  memcpy(w->own_x, w->unit_x + from * own.x_width, n_x * sizeof *w->own_x);
  memcpy(w->own_x + x_size, w->unit_x + x_size + from * own.rows_width, n_rows * sizeof *w->own_x);
  clipped->of.unit(&clipped->of, &own, w->unit_sum, NULL, &notes);
  memset(w->own_x, 0, n_x * sizeof *w->own_x);
  memset(w->own_x + x_size, 0, n_rows * sizeof *w->own_x);
}

/* The notes of other units are not shown either. */
static void finish_unit(const clipped_t *clipped, tacit_workspace_t *w) {
  const tacit_vectors_t *of = &clipped->of;
  tacit_door_notes_t notes = {0};
  of->unit(of, &clipped->own, w->unit_sum, w->unit_k, &notes);
  w->notes.n_grad_clipped += notes.n_grad_clipped;
  w->notes.n_non_finite += notes.n_non_finite;
  memset(w->unit_sum, 0, n_unit_sums(of) * sizeof *w->unit_sum);
}

/* Whole numbers are in the ball (lemma 1.1), or dropped. */
static void end_unit(const tacit_pass_t *pass, size_t u, bool is_last, tacit_workspace_t *w) {
  const clipped_t *clipped = pass->of;
  const size_t dim = clipped->of.dim;
  (void)u, (void)is_last;
  finish_unit(clipped, w);
  for (size_t at = 0; at < pass->n_sums; at += dim) {
    bool is_inside = tacit_door_is_in_ball(w->unit_k + at, dim, (int64_t)clipped->lattice.radius);
    w->notes.n_non_finite += !is_inside;
    for (size_t i = at; is_inside && i < at + dim; i++) {
      w->lanes64[i] += w->unit_k[i];
    }
  }
  memset(w->unit_k, 0, pass->n_sums * sizeof *w->unit_k);
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
                       .n_lanes = by_units ? 1 : 16,
                       .n_blocks = of.n_blocks,
                       .is_wide = by_units || !is_clipped,
                       .is_drawn = is_drawn,
                       .is_by_units = by_units,
                       .n_noted = of.n_points,
                       .show = by_units ? turn : add_blocks,
                       .unit_add = add_unit,
                       .unit_end = end_unit};
  tacit_door_sum(&pass);
}

/* ---- the probe ---- */

static void probe_rows(void *user, const float *block, size_t n_blocks, void *out) {
  ask(((tacit_probed_t *)user)->contribution, block, n_blocks, out);
}

/* A record at a time, as if it were a unit. */
static void probe_unit(void *user, const float *block, size_t n_blocks, void *out) {
  static const float all_count[16];
  const tacit_probed_t *probed = user;
  tacit_workspace_t *w = probed->door->workspaces;
  clipped_t clipped = clipped_for(probed->door, probed->contribution);
  tacit_pass_t pass = {.door = probed->door, .of = &clipped};
  size_t n = clipped.of.n_points * clipped.of.dim;
  int64_t *answer = out;
  for (size_t b = 0; b < n_blocks; b++, answer += n * 16) {
    tacit_shown_t shown = {block + b * probed->door->settings.n_columns * 16, all_count, 1, SIZE_MAX};
    turn(&pass, &shown, w);
    for (size_t lane = 0; lane < 16; lane++) {
      add_unit(&pass, lane, b, lane, lane + 1, w);
      finish_unit(&clipped, w);
      for (size_t i = 0; i < n; i++) {
        answer[i * 16 + lane] = w->unit_k[i];
      }
      memset(w->unit_k, 0, n * sizeof *w->unit_k);
    }
  }
}

static tacit_status_t probe(tacit_door_t *door, const tacit_vectors_t *of, const tacit_sizes_t *sizes,
                            tacit_error_t *err) {
  const tacit_probed_t probed = {door, of, sizes};
  tacit_status_t status =
      tacit_door_probe(&probed, probe_rows, of->n_points * of->n_rows, sizeof(float), err);
  return status == TACIT_OK && is_by_units(door, of)
             ? tacit_door_probe(&probed, probe_unit, of->n_points * of->dim, sizeof(int64_t), err)
             : status;
}

void tacit_door_round(const tacit_vectors_t *of, size_t n_columns, const float *block, const float *norms,
                      const float *rows, int32_t *lanes) {
  tacit_lattice_t lattice = tacit_lattice_for(of, of->clip);
  tacit_door_notes_t notes = {0};
  tacit_lattice_functions()->vectors(of, n_columns, 1, block, norms, &lattice, rows, lanes, &notes);
}
