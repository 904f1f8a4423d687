/*
 * A pass over the records: on threads, over ranks, by blocks of 16, by units, or over those drawn. Whole
 * numbers are added, which is associative: sums depend neither on the number of threads or ranks, nor on the
 * order of blocks or records.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "data/records.h"
#include "door/door_internal.h"

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* ---- ranges of blocks or units; where records are in a file, the next are read ahead and those done with
 * leave memory ---- */

typedef struct ranges {
  const tacit_door_t *door;
  tacit_range_task task;
  const void *pass;
  size_t n, size; /* of all, and of a range, in blocks or units */
  bool is_by_units;
} ranges_t;

/* Where range `part` begins, in blocks. */
static size_t first_block(const ranges_t *r, size_t part) {
  size_t first = least(part * r->size, r->n);
  const size_t *offsets = r->door->unit_offsets;
  return !r->is_by_units ? first : (offsets != NULL ? offsets[first] : first) / TACIT_BLOCK;
}

static void range_part(void *user, size_t part, size_t thread) {
  const ranges_t *r = user;
  size_t ahead = part + r->door->settings.n_threads; /* others are between */
  tacit_records_need(r->door->records, first_block(r, ahead), first_block(r, ahead + 1));
  r->task(r->pass, part * r->size, least((part + 1) * r->size, r->n), thread);
  tacit_records_drop(r->door->records, first_block(r, part), first_block(r, part + 1));
}

void tacit_door_run_ranges(const tacit_door_t *door, bool is_by_units, tacit_range_task task,
                           const void *pass) {
  size_t n = is_by_units ? door->n_units : tacit_records_n_blocks(door->records);
  ranges_t ranges = {door, task, pass, n, tacit_door_range_size(door, is_by_units), is_by_units};
  tacit_pool_run(door->pool, (n + ranges.size - 1) / ranges.size, range_part, &ranges);
}

/* ---- what is shown of a range; how many records or units it has ---- */

static tacit_shown_t shown_of(const tacit_door_t *door, size_t b, size_t n) {
  return (tacit_shown_t){tacit_records_block(door->records, b), door->lane_norm + b * TACIT_BLOCK, n, b};
}

static size_t show_blocks(const tacit_pass_t *pass, size_t first, size_t last, tacit_workspace_t *w) {
  for (size_t b = first; b < last; b += pass->n_blocks) {
    tacit_shown_t shown = shown_of(pass->door, b, least(last - b, pass->n_blocks));
    pass->show(pass, &shown, w);
  }
  return (last - first) * TACIT_BLOCK;
}

/* ---- units in groups of up to 16, layer by layer: those of their t-th records ---- */

bool tacit_door_all_count(const float *norms, size_t n_blocks) {
  int ok = 1;
  for (size_t i = 0; i < n_blocks * 16; i++) {
    ok &= norms[i] <= FLT_MAX;
  }
  return ok != 0;
}

/* A record that counts becomes a lane of a layer. */
static bool copy_record(const tacit_door_t *door, size_t record, float *norm, float *to) {
  const float *from = tacit_door_first_column(door, record);
  if (!(door->lane_norm[record] <= FLT_MAX)) {
    return false;
  }
  for (size_t j = 0; j < door->settings.n_columns; j++) {
    to[j * 16] = from[j * 16];
  }
  *norm = door->lane_norm[record];
  return true;
}

/* Those of records t .. t + n_layers - 1 of units u .. u + n - 1 that count, copied: 0 behind them. */
static tacit_shown_t gather(const tacit_pass_t *pass, const tacit_range_t *r, size_t u, size_t n, size_t t,
                            size_t n_layers, tacit_workspace_t *w) {
  const tacit_door_t *door = pass->door;
  const size_t n_layer = door->settings.n_columns * 16;
  memset(w->block, 0, n_layers * n_layer * sizeof *w->block);
  for (size_t i = 0; i < n_layers * 16; i++) {
    w->norms[i] = NAN;
  }
  for (size_t lane = 0; lane < n; lane++) {
    size_t end = least(tacit_door_n_rows(door, u + lane), t + n_layers);
    for (size_t i = t, layer = 0; i < end; i++) {
      layer += copy_record(door, tacit_door_record(door, r, u + lane, i), w->norms + layer * 16 + lane,
                           w->block + layer * n_layer + lane);
    }
  }
  return (tacit_shown_t){w->block, w->norms, n_layers, SIZE_MAX};
}

/* Where they lie, if they lie in lanes and all count; else copies. */
static tacit_shown_t layers_of(const tacit_pass_t *pass, const tacit_range_t *r, size_t u, size_t n, size_t t,
                               size_t n_layers, tacit_workspace_t *w) {
  if (u - r->first < r->n_laned) {
    size_t b = tacit_door_record(pass->door, r, u, t) / 16;
    if (tacit_door_all_count(pass->door->lane_norm + b * 16, n_layers)) {
      return shown_of(pass->door, b, n_layers);
    }
  }
  return gather(pass, r, u, n, t, n_layers, w);
}

static void show(const tacit_pass_t *pass, const tacit_shown_t *shown, tacit_workspace_t *w) {
  if (pass->show != NULL) {
    pass->show(pass, shown, w);
  }
}

static void end_group(const tacit_pass_t *pass, size_t n_units, tacit_workspace_t *w) {
  if (pass->group_end != NULL) {
    pass->group_end(pass, n_units, w);
  }
}

static void show_group(const tacit_pass_t *pass, const tacit_range_t *r, size_t u, size_t n,
                       tacit_workspace_t *w) {
  size_t n_rows = 0;
  for (size_t i = u; i < u + n; i++) {
    size_t own = tacit_door_n_rows(pass->door, i);
    n_rows = own > n_rows ? own : n_rows;
  }
  for (size_t t = 0; t < n_rows; t += pass->n_blocks) {
    size_t n_layers = least(n_rows - t, pass->n_blocks);
    tacit_shown_t shown = layers_of(pass, r, u, n, t, n_layers, w);
    show(pass, &shown, w);
    pass->group_add(pass, &shown, 0, n_layers, w);
  }
  end_group(pass, n, w);
}

/* Groups of n_rows records each that lie in lanes, one after another, shown at once; how many units. */
static size_t show_run(const tacit_pass_t *pass, const tacit_range_t *r, size_t u, size_t n_rows,
                       tacit_workspace_t *w) {
  size_t n_groups = 0, end = r->first + r->n_laned, b = tacit_door_record(pass->door, r, u, 0) / 16;
  while (u + 16 * n_groups < end && (n_groups + 1) * n_rows <= pass->n_blocks &&
         tacit_door_n_rows(pass->door, u + 16 * n_groups) == n_rows) {
    n_groups++;
  }
  if (n_groups < 2 || !tacit_door_all_count(pass->door->lane_norm + b * 16, n_groups * n_rows)) {
    show_group(pass, r, u, 16, w);
    return 16;
  }
  tacit_shown_t shown = shown_of(pass->door, b, n_groups * n_rows);
  show(pass, &shown, w);
  if (pass->run_add != NULL) {
    pass->run_add(pass, &shown, n_rows, w);
    return 16 * n_groups;
  }
  for (size_t i = 0; i < n_groups; i++) {
    pass->group_add(pass, &shown, i * n_rows, n_rows, w);
    end_group(pass, 16, w);
  }
  return 16 * n_groups;
}

/* Not in groups; of a unit's own number of records, so that its neighbours have no part in how it is shown.
 */
static bool is_alone(const tacit_pass_t *pass, size_t u) {
  return pass->unit != NULL && (pass->group_add == NULL || tacit_door_n_rows(pass->door, u) > pass->n_blocks);
}

static size_t show_units(const tacit_pass_t *pass, size_t first, size_t last, tacit_workspace_t *w) {
  const tacit_range_t r = tacit_door_range(pass->door, first, last);
  for (size_t u = first, n; u < last; u += n) {
    n = 1;
    if (is_alone(pass, u)) {
      pass->unit(pass, &r, u, w);
    } else if (u - first < r.n_laned) {
      n = show_run(pass, &r, u, tacit_door_n_rows(pass->door, u), w);
    } else {
      while (n < 16 && u + n < last && !is_alone(pass, u + n)) {
        n++;
      }
      show_group(pass, &r, u, n, w);
    }
  }
  return last - first;
}

_Static_assert((int64_t)TACIT_PART_BLOCKS << TACIT_LATTICE_BITS <= INT32_MAX,
               "a lane of 32 bits holds what a part adds");
_Static_assert((int64_t)TACIT_PART_BLOCKS <= INT64_MAX >> 51, "a lane of 64 bits holds what a part adds");

/* proofs/Sums.v: lanes_fit, lanes_of_32_bits_fit_in_64, totals_fit */
/* Lanes are added to the totals: 2^14 numbers of 32 bits fit into 64, and those of 64 into 128. */
static void flush(const tacit_pass_t *pass, tacit_workspace_t *w) {
  for (size_t i = 0, at = 0; i < pass->n_sums; i++) {
    int64_t narrow = 0;
    for (size_t end = at + pass->n_lanes; at < end; at++) {
      if (pass->is_wide) {
        w->totals[i] += w->lanes64[at];
      } else {
        narrow += w->lanes[at];
      }
    }
    w->totals[i] += narrow;
  }
}

static void sum_range(const void *of, size_t first, size_t last, size_t thread) {
  const tacit_pass_t *pass = of;
  tacit_workspace_t *w = &pass->door->workspaces[thread];
  tacit_door_clear(w, pass->sizes);
  size_t n_shown = (pass->is_drawn      ? tacit_subset_show
                    : pass->is_by_units ? show_units
                                        : show_blocks)(pass, first, last, w);
  *(pass->is_scalar ? &w->notes.n_ratio : &w->notes.n_grad) += n_shown * pass->n_noted;
  flush(pass, w);
}

/* proofs/Sums.v: sum_in_any_order, sum_of_parts */
/* The notes are summed as the sums are, after them. */
void tacit_door_sum(const tacit_pass_t *pass) {
  tacit_door_t *door = pass->door;
  uint64_t notes[TACIT_N_NOTES], all[TACIT_N_NOTES];
  size_t n = pass->n_sums;
  for (size_t t = 0; t < door->settings.n_threads; t++) {
    memset(door->workspaces[t].totals, 0, (n + TACIT_N_NOTES) * sizeof *door->workspaces[t].totals);
    door->workspaces[t].notes = (tacit_door_notes_t){0};
  }
  tacit_door_run_ranges(door, pass->is_by_units, sum_range, pass);
  for (size_t t = 0; t < door->settings.n_threads; t++) {
    memcpy(notes, &door->workspaces[t].notes, sizeof notes);
    for (size_t i = 0; t > 0 && i < n; i++) {
      door->sums[i] += door->workspaces[t].totals[i];
    }
    for (size_t i = 0; i < TACIT_N_NOTES; i++) {
      door->sums[n + i] += (tacit_wide_t)notes[i];
    }
  }
  tacit_door_sum_ranks(door, n + TACIT_N_NOTES);
  memcpy(all, &door->notes, sizeof all);
  for (size_t i = 0; i < TACIT_N_NOTES; i++) {
    all[i] += (uint64_t)door->sums[n + i];
  }
  memcpy(&door->notes, all, sizeof all);
}
