/*
 * Sums of whole numbers that a unit writes. It is shown a copy of its own records and nothing else: what is
 * lent is zero when a unit begins, and is cleared when it ends.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "data/records.h"
#include "door/door_internal.h"

static tacit_sizes_t sizes_of(const tacit_door_t *door, const tacit_units_t *of) {
  size_t n = tacit_door_shape_n_sums(&of->shape), most_rows = door->settings.max_unit_rows,
         n_columns = door->settings.n_columns,
         n_laned = of->lanes != NULL ? TACIT_GROUP_ROWS * tacit_door_shape_n_written(&of->shape, 1) * 16 : 0;
  return (tacit_sizes_t){.own_x = (most_rows + 1) * n_columns, /* one of zeros past the last */
                         .unit_k = tacit_door_shape_n_written(&of->shape, most_rows),
                         .block = of->lanes != NULL ? TACIT_GROUP_ROWS * n_columns * 16 : 0,
                         .group_k = n_laned,
                         .values = n_laned,
                         .lanes64 = of->lanes != NULL ? n * 16 : 0,
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

/* Layers at .. at + n - 1 of those shown: k and n_rows of one group. */
static void ask_lanes(const tacit_units_t *of, const tacit_shown_t *shown, size_t at, size_t n,
                      size_t n_columns, double *n_rows, int32_t *k) {
  memset(n_rows, 0, 16 * sizeof *n_rows);
  for (size_t i = at * 16; i < (at + n) * 16; i++) {
    n_rows[i % 16] += shown->norms[i] <= FLT_MAX;
  }
  of->lanes(of->ctx, n, n_rows, shown->block + at * n_columns * 16, k);
}

enum { PROBE_ROWS = 3 };

/*
 * Made-up units of 2 or 3 rows by their first number, of which each is the block with its columns moved on;
 * with other numbers of empty layers behind them at every call: a unit must not see its neighbours' lengths.
 */
static void probe_lanes(void *user, const float *block, size_t n_blocks, void *out) {
  tacit_probed_t *probed = user;
  const tacit_units_t *of = probed->contribution;
  tacit_workspace_t *w = probed->door->workspaces;
  const size_t n_columns = probed->door->settings.n_columns,
               n = tacit_door_shape_n_written(&of->shape, PROBE_ROWS);
  int64_t *answer = out;
  for (size_t b = 0; b < n_blocks; b++, answer += n * 16, block += n_columns * 16) {
    tacit_shown_t shown = {w->block, w->norms, PROBE_ROWS + probed->n_calls++ % 4, SIZE_MAX};
    double n_rows[16];
    for (size_t i = 0; i < shown.n * n_columns * 16; i++) {
      size_t t = i / (n_columns * 16), j = i / 16 % n_columns, lane = i % 16;
      bool is_there = t < (block[lane] > 0.5F ? PROBE_ROWS : PROBE_ROWS - 1);
      w->block[i] = is_there ? block[(j + t) % n_columns * 16 + lane] : 0;
      w->norms[t * 16 + lane] = is_there ? 1 : NAN;
    }
    ask_lanes(of, &shown, 0, shown.n, n_columns, n_rows, w->group_k);
    for (size_t i = 0; i < n * 16; i++) {
      answer[i] = w->group_k[i];
    }
    memset(w->group_k, 0, probed->sizes->group_k * sizeof *w->group_k);
  }
}

static tacit_status_t check_lanes(tacit_door_t *door, const tacit_units_t *of, tacit_probed_t *probed,
                                  tacit_error_t *err) {
  bool is_square = of->shape.kind == TACIT_SHAPE_SQUARES;
  if (of->lanes == NULL) {
    return TACIT_OK;
  }
  if (!(is_square && of->shape.high <= 1) && of->shape.kind != TACIT_SHAPE_BALL) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "lanes",
                           "the model %s asks for units in lanes of a shape that has none",
                           door->settings.name);
  }
  return tacit_door_probe(probed, probe_lanes, tacit_door_shape_n_written(&of->shape, PROBE_ROWS),
                          TACIT_PROBE_WHOLE, err);
}

tacit_status_t tacit_units_check(tacit_door_t *door, const tacit_units_t *of, tacit_door_noise_t noise,
                                 tacit_error_t *err) {
  tacit_sizes_t sizes = sizes_of(door, of);
  tacit_probed_t probed = {.door = door, .contribution = of, .sizes = &sizes};
  tacit_status_t status = tacit_door_shape_check(&of->shape, noise, err);
  TACIT_THEN(status, tacit_door_reserve(door, &sizes, err));
  TACIT_THEN(status, tacit_door_probe(&probed, probe_unit, tacit_door_shape_n_written(&of->shape, 1),
                                      TACIT_PROBE_WHOLE, err));
  return TACIT_THEN(status, check_lanes(door, of, &probed, err));
}

/* Those of its records that count, row by row. */
static void add(const tacit_pass_t *pass, const tacit_range_t *range, size_t u, tacit_workspace_t *w) {
  const tacit_door_t *door = pass->door;
  const tacit_units_t *of = pass->of;
  size_t n_columns = door->settings.n_columns, n = 0;
  for (size_t t = 0; t < tacit_door_n_rows(door, u); t++) {
    size_t i = tacit_door_record(door, range, u, t);
    const float *x = tacit_door_first_column(door, i);
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

/* Groups of n_rows layers each; their number of numbers is at most what one of TACIT_GROUP_ROWS rows has. */
static void add_run(const tacit_pass_t *pass, const tacit_shown_t *shown, size_t n_rows,
                    tacit_workspace_t *w) {
  const tacit_units_t *of = pass->of;
  const size_t n_groups = shown->n / n_rows, n = tacit_door_shape_n_written(&of->shape, n_rows);
  double counts[TACIT_GROUP_ROWS * 16];
  for (size_t g = 0; g < n_groups; g++) {
    ask_lanes(of, shown, g * n_rows, n_rows, pass->door->settings.n_columns, counts + g * 16,
              w->group_k + g * n * 16);
  }
  tacit_lattice_functions()->shapes(of->shape.kind == TACIT_SHAPE_SQUARES, n_groups, n / of->shape.dim,
                                    of->shape.dim, (double)of->shape.radius, counts, w->group_k, w->values,
                                    w->lanes64, &w->notes);
  memset(w->group_k, 0, n_groups * n * 16 * sizeof *w->group_k);
}

static void add_group(const tacit_pass_t *pass, const tacit_shown_t *shown, size_t at, size_t n,
                      tacit_workspace_t *w) {
  (void)at; /* it is all that is shown */
  add_run(pass, shown, n, w);
}

void tacit_units_sum(tacit_door_t *door, const tacit_units_t *units) {
  tacit_sizes_t sizes = sizes_of(door, units);
  tacit_pass_t pass = {.door = door,
                       .of = units,
                       .sizes = &sizes,
                       .n_sums = tacit_door_shape_n_sums(&units->shape),
                       .is_by_units = true,
                       .n_lanes = units->lanes != NULL ? 16 : 0,
                       .n_blocks = TACIT_GROUP_ROWS,
                       .is_wide = true,
                       .group_add = units->lanes != NULL ? add_group : NULL,
                       .run_add = add_run,
                       .unit = add};
  tacit_door_sum(&pass);
}
